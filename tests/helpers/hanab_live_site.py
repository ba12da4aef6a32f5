"""A fake hanab.live with one table: what it says on connection, and how it answers a bot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from tests.helpers.hanab_live_table import FakeTable

Message = tuple[str, Any]
NUMBER = 31
OPTIONS = {
    "startingPlayer": 0, "variantID": 0, "variantName": "No Variant", "timed": False,
    "timeBase": 0, "timePerTurn": 0, "speedrun": False, "cardCycle": False, "deckPlays": False,
    "emptyClues": False, "oneExtraCard": False, "oneLessCard": False, "allOrNothing": False,
    "detrimentalCharacters": False,
}  # fmt: skip


class FakeSite:
    """Seats the bot at ``seat`` beside people, who move by ``others(worlds)``.

    ``heard`` are the bot's messages. The game starts when it has joined.
    """

    def __init__(
        self, table: FakeTable, seat: int, others: Callable[[HanabiWorlds], int], **options: Any
    ) -> None:
        self.table, self.seat, self.others = table, seat, others
        self.options = OPTIONS | {"numPlayers": table.config.players} | options
        self.bot = "Bot-Tess"
        self.people = [f"Ann{i}" for i in range(table.config.players - 1)]
        self.heard: list[Message] = []
        self.actions: list[int] = []  # of the whole game
        self.started = False

    def lobby(self, **changes: Any) -> Message:
        """The table as the lobby shows it."""
        table = {
            "id": NUMBER, "name": "a table", "passwordProtected": False, "joined": False,
            "numPlayers": len(self.people), "owned": False, "running": False, "timed": False,
            "variant": self.options["variantName"], "sharedReplay": False, "progress": 0,
            "players": self.people, "spectators": [],
        }  # fmt: skip
        return "table", table | changes

    def private(self, text: str, who: str = "Ann0") -> Message:
        fields = {"msg": text, "who": who, "recipient": self.bot, "room": "", "server": False}
        return "chat", fields

    def opening(self) -> list[Message]:
        """What is said to the bot before it says anything; an invitation comes last."""
        seated = [NUMBER] if self.started else []
        other = self.lobby(id=7, running=True, players=["Zed"])[1]
        public = self.private("/join")[1] | {"recipient": "", "room": "lobby"}
        return [
            ("welcome", {"username": self.bot, "playingAtTables": seated}),
            ("tableList", [other, self.lobby()[1]]),
            ("user", {"userID": 1, "name": "Zed"}),
            ("chat", public),
            *([] if self.started else [self.private("/join")]),
        ]

    def hear(self, command: str, data: Any) -> list[Message]:
        """The answer to a message of the bot."""
        self.heard.append((command, data))
        assert command == "chatPM" or data["tableID"] == NUMBER
        return list(getattr(self, f"_hear_{command}")(data))

    def _hear_chatPM(self, data: Any) -> list[Message]:
        return []

    def _hear_tableLeave(self, data: Any) -> list[Message]:
        return [("left", {"tableID": NUMBER})]

    def _hear_tableJoin(self, data: Any) -> list[Message]:
        self.started = True
        players = [*self.people, self.bot]
        start = ("tableStart", {"tableID": NUMBER, "replay": False})
        return [("joined", {"tableID": NUMBER}), self.lobby(players=players), start]

    def _hear_tableReattend(self, data: Any) -> list[Message]:
        return [("tableStart", {"tableID": NUMBER, "replay": False})]

    def _hear_getGameInfo1(self, data: Any) -> list[Message]:
        names = list(self.people)
        names.insert(self.seat, self.bot)
        about = {"tableID": NUMBER, "playerNames": names, "ourPlayerIndex": self.seat}
        flags = {"spectating": False, "replay": False, "sharedReplay": False, "paused": False}
        return [("init", about | flags | {"options": self.options})]

    def _hear_getGameInfo2(self, data: Any) -> list[Message]:
        heard = len(self.table.told)
        told = {"tableID": NUMBER, "list": self.table.seen_by(self.seat)}
        return [("gameActionList", told), ("yourTurn", {"tableID": NUMBER}), *self._people(heard)]

    def _hear_loaded(self, data: Any) -> list[Message]:
        return []

    def _hear_action(self, data: Any) -> list[Message]:
        heard = len(self.table.told)
        assert self.table.mover == self.seat
        self._play(self.table.action_of(data))
        return self._people(heard)

    def _hear_tableUnattend(self, data: Any) -> list[Message]:
        return [("tableGone", {"tableID": NUMBER})]

    def _play(self, action: int) -> None:
        self.actions.append(action)
        self.table.play(action)

    def _people(self, heard: int) -> list[Message]:
        """The people's moves up to the bot's turn, and everything that was not yet told."""
        while not self.table.over and self.table.mover != self.seat:
            self._play(self.others(self.table.worlds))
        told = self.table.seen_by(self.seat, heard)
        messages = [("gameAction", {"tableID": NUMBER, "action": action}) for action in told]
        if self.table.over:
            end = {"tableID": NUMBER, "databaseID": 123}
            messages += [("tableGone", end), ("finishOngoingGame", end), ("databaseID", end)]
        return messages
