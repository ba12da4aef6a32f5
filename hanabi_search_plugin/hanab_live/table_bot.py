"""What a bot of hanab.live says and does, message by message; the connection is somebody else's.

It sits down where somebody asks it to by the private message ``/join``, at one table at a time, and
nowhere else; ``/leave`` of the same person takes it away before the game begins. It plays by what
its own seat is told (``FollowedGame``), and leaves the table when the game is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import HanabiSearchError, RecordError
from hanabi_search_plugin.core.plain_json import short
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.evaluation.seat import SeatedPolicy
from hanabi_search_plugin.hanab_live.followed_game import FollowedGame, integer
from hanabi_search_plugin.hanabi.files.hanab_live_json import (
    NAMES,
    VARIANTS,
    config_of,
    first_player_of,
)
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

MakePolicy = Callable[[HanabiGame, int], Policy]
"""What plays a seat of a game. Raises HanabiSearchError where nothing does."""

Message = tuple[str, dict[str, Any]]  # command and data

HELP = "Write /join when you sit at a table that has not begun, /leave to send me away from it."
_OF_A_GAME = ("init", "gameActionList", "gameAction")  # without which it cannot play on
_ABOUT_PLAYERS = ("numPlayers", "variantID", "variantName")


@dataclass
class _Seat:
    """A running game, and who plays in it."""

    followed: FollowedGame
    policy: SeatedPolicy


@dataclass
class TableBot:
    """``receive`` takes a message of the site and returns those to be sent.

    ``rng`` is for the moves, ``say`` takes lines for the one who runs the bot.
    """

    make_policy: MakePolicy
    rng: np.random.Generator
    say: Callable[[str], None]
    name: str = ""  # as the site spells it
    finished: int = 0  # games
    _tables: dict[int, Mapping[str, Any]] = field(default_factory=dict)  # of the lobby
    _table: int | None = None  # where it sits
    _inviter: str = ""
    _seat: _Seat | None = None

    def receive(self, command: str, data: Any) -> list[Message]:
        """React to a message. Those of unknown commands and of other tables change nothing.

        Where a table cannot be followed, or played at, the bot says why and leaves it.
        """
        react = getattr(self, f"_on_{command}", None) if command.isalpha() else None
        if react is None:
            return []
        try:
            return list(react(_Fields(data)))
        except HanabiSearchError as error:
            self.say(f"{command}: {error}")
            return self._excuse(str(error)) if command in _OF_A_GAME else []

    # ---------------------------------------------------------------------------------- lobby

    def _on_welcome(self, data: _Fields) -> list[Message]:
        self.name = data.text("username")
        tables = data.get("playingAtTables") or []
        if not isinstance(tables, list) or not tables:
            return []
        self._table = _Fields({"tableID": tables[0]}).integer("tableID")
        return [("tableReattend", {"tableID": self._table})]  # it was interrupted

    def _on_warning(self, data: _Fields) -> list[Message]:
        self.say(f"the site warns: {short(data.get('warning'))}")
        if self._table is not None and self._seat is None:
            players = self._tables.get(self._table, {}).get("players")
            if isinstance(players, list) and self.name not in players:
                self._stand_up()  # it was not let in
        return []

    def _on_error(self, data: _Fields) -> list[Message]:
        self.say(f"the site says: {short(data.get('error'))}")
        return []

    def _on_table(self, data: _Fields) -> list[Message]:
        self._tables[data.integer("id")] = data.fields
        return []

    def _on_tableList(self, data: _Fields) -> list[Message]:
        for one in data.whole if isinstance(data.whole, list) else []:
            self._on_table(_Fields(one))
        return []

    def _on_tableGone(self, data: _Fields) -> list[Message]:
        gone = data.integer("tableID")
        self._tables.pop(gone, None)
        if gone == self._table and self._seat is None:
            self._table = None
        return []

    def _on_left(self, data: _Fields) -> list[Message]:
        if data.integer("tableID") == self._table:
            self._stand_up()
        return []

    def _on_chat(self, data: _Fields) -> list[Message]:
        who, text = data.text("who"), data.text("msg")
        if data.get("recipient") != self.name or who == self.name or not text.startswith("/"):
            return []
        if text == "/join":
            return self._join(who)
        if text == "/leave":
            if self._table is None or self._seat is not None or who != self._inviter:
                return [_reply(who, "I sit at no table that you could send me away from.")]
            return [("tableLeave", {"tableID": self._table})]
        return [_reply(who, HELP)]

    def _join(self, who: str) -> list[Message]:
        if self._table is not None:
            return [_reply(who, "I sit at a table already: please ask again later.")]
        for number, table in self._tables.items():
            players = table.get("players")
            waits = not table.get("running") and not table.get("sharedReplay")
            if not waits or not isinstance(players, list) or who not in players:
                continue
            if len(players) >= len(NAMES):
                return [_reply(who, f"I play with at most {len(NAMES)} players.")]
            if table.get("variant") not in VARIANTS:
                return [_reply(who, f"I play {', '.join(VARIANTS)}.")]
            if table.get("passwordProtected"):
                return [_reply(who, "Your table has a password, and I have none.")]
            self._table, self._inviter = number, who
            self.say(f"invited to table {number} by {who}")
            return [("tableJoin", {"tableID": number})]
        return [_reply(who, "Please sit down at a table first: I come to where you sit.")]

    # ----------------------------------------------------------------------------------- game

    def _on_tableStart(self, data: _Fields) -> list[Message]:
        if not self._mine(data) or data.get("replay"):
            return []
        return [("getGameInfo1", {"tableID": self._table})]

    def _on_init(self, data: _Fields) -> list[Message]:
        if not self._mine(data) or data.get("replay") or data.get("spectating"):
            return []
        names, options = data.get("playerNames"), data.get("options")
        if not isinstance(names, list) or not isinstance(options, dict):
            raise RecordError("a game must have playerNames and options, got none")
        rules = {k: v for k, v in options.items() if k not in _ABOUT_PLAYERS}
        rules["variant"] = options.get("variantName")
        config = config_of(rules, len(names), "the table")
        seat = data.integer("ourPlayerIndex")
        if not 0 <= seat < len(names):
            raise RecordError(f"ourPlayerIndex must be a seat of {len(names)}, got {seat}")
        followed = FollowedGame(config, seat, first_player_of(rules, config, "the table"))
        policy = SeatedPolicy(self.make_policy(followed.game, seat))
        self._seat = _Seat(followed, policy)
        self.say(f"a game of {len(names)} begins, seat {seat}")
        return [("getGameInfo2", {"tableID": self._table})]

    def _on_gameActionList(self, data: _Fields) -> list[Message]:
        if not self._mine(data) or self._seat is None:
            return []
        actions = data.get("list")
        if not isinstance(actions, list):
            raise RecordError(f"list must be a list, got {short(actions)}")
        for action in actions:
            self._seat.followed.take(_Fields(action).fields)
        return [("loaded", {"tableID": self._table}), *self._move()]

    def _on_gameAction(self, data: _Fields) -> list[Message]:
        if not self._mine(data) or self._seat is None or self._seat.followed.history is None:
            return []
        action = _Fields(data.get("action")).fields
        self._seat.followed.take(action)
        # A turn begins when the table says so: before that it may still say that the game is over.
        return self._move() if action.get("type") == "turn" else []

    def _on_databaseID(self, data: _Fields) -> list[Message]:
        return self._leave(data)

    def _on_finishOngoingGame(self, data: _Fields) -> list[Message]:
        return self._leave(data)

    def _leave(self, data: _Fields) -> list[Message]:
        """The game is over and kept: every table becomes a replay then, which is left."""
        if not self._mine(data) or self._seat is None:
            return []
        table = self._table
        self._stand_up()
        self.finished += 1
        self.say(f"the game is over, number {data.get('databaseID')} of the site")
        return [("tableUnattend", {"tableID": table})]

    def _move(self) -> list[Message]:
        assert self._seat is not None
        followed, policy = self._seat.followed, self._seat.policy
        if not followed.to_move:
            return []
        assert followed.history is not None
        policy.follow(followed.history)
        action = policy.act(followed.view, self.rng)
        return [("action", {"tableID": self._table} | followed.message_of(action))]

    # -------------------------------------------------------------------------------- helpers

    def _mine(self, data: _Fields) -> bool:
        return self._table is not None and data.get("tableID") == self._table

    def _stand_up(self) -> None:
        self._table, self._seat, self._inviter = None, None, ""

    def _excuse(self, why: str) -> list[Message]:
        table, who = self._table, self._inviter
        self._stand_up()
        replies = [_reply(who, f"I cannot play on: {why}")] if who else []
        return [*replies, ("tableUnattend", {"tableID": table})]


class _Fields:
    """The data of a message. Raises RecordError where a field is not of its kind."""

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.fields: Mapping[str, Any] = whole if isinstance(whole, dict) else {}

    def get(self, name: str) -> Any:
        return self.fields.get(name)

    def integer(self, name: str) -> int:
        return integer(self.fields, name)

    def text(self, name: str) -> str:
        value = self.get(name)
        if not isinstance(value, str):
            raise RecordError(f"{name} must be a text, got {short(value)}")
        return value


def _reply(who: str, text: str) -> Message:
    return "chatPM", {"msg": text, "recipient": who, "room": "lobby"}
