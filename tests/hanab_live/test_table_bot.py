"""The bot at a table of a fake site: whom it follows, what it plays, and when it leaves."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, SmartBot, Sparta, upgrade
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Event
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.evaluation.seat import SeatedPolicy
from hanabi_search_plugin.hanab_live.table_bot import HELP, TableBot
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from tests.helpers.hanab_live_site import NUMBER, FakeSite
from tests.helpers.hanab_live_table import FakeTable
from tests.helpers.hanabi_play import random_legal

TWO = HanabiConfig(players=2)


def smartbot(game: HanabiGame, seat: int) -> Policy:
    return SmartBot()


class Bot(TableBot):
    """A bot that keeps what it says."""

    def __init__(self, make_policy: Any = smartbot) -> None:
        self.said: list[str] = []
        super().__init__(make_policy, np.random.default_rng(0), self.said.append)


class SmartTable(FakeTable):
    """A table at which people play SmartBot: ``smart`` moves for whoever is to move."""

    def __init__(self, config: HanabiConfig, seed: int) -> None:
        self.seats: list[SeatedPolicy] = []
        super().__init__(config, seed)
        for seat in range(config.players):
            self.seats.append(SeatedPolicy(SmartBot()))
            self.seats[seat].start(self.worlds.view(seat))

    def play(self, action: int) -> None:
        event = Event(np.array([self.mover]), np.array([action]))
        super().play(action)
        for seat, policy in enumerate(self.seats):
            policy.observe(self.worlds.view(seat), event)

    def smart(self, worlds: HanabiWorlds) -> int:
        return self.seats[self.mover].act(worlds.view(self.mover), RNG)


RNG = np.random.default_rng(0)


def anything(worlds: HanabiWorlds) -> int:
    return int(random_legal(worlds, RNG)[0])


def pump(site: FakeSite, bot: TableBot, *, at_most: int = 10_000) -> None:
    """Carry messages to and fro until nobody has more to say."""
    waiting = deque(site.opening())
    for _ in range(at_most):
        if not waiting:
            return
        for out in bot.receive(*waiting.popleft()):
            waiting.extend(site.hear(*out))


def commands(site: FakeSite) -> list[str]:
    return [command for command, _ in site.heard]


# ------------------------------------------------------------------------------------- playing


@pytest.mark.parametrize(("players", "seat"), [(2, 0), (2, 1), (3, 2)])
def test_a_game_is_the_one_that_the_policy_plays_here(players: int, seat: int) -> None:
    config = HanabiConfig(players=players)
    table = SmartTable(config, 5)
    game = HanabiGame(config)
    worlds = game.from_decks([table.deck])
    played = self_play(worlds, (SmartBot(),) * players, Streams.spawn(RNG, 1))
    site, bot = FakeSite(table, seat, table.smart), Bot()
    pump(site, bot)
    assert site.actions == played.actions[0].tolist() and table.over
    names = commands(site)
    assert names[:4] == ["tableJoin", "getGameInfo1", "getGameInfo2", "loaded"]
    assert set(names[4:-1]) == {"action"} and names[-1] == "tableUnattend"
    assert bot.finished == 1 and bot.said[-1] == "the game is over, number 123 of the site"


def test_a_search_plays_with_people_of_whom_it_knows_nothing() -> None:
    def sparta(game: HanabiGame, seat: int) -> Policy:
        return upgrade("smartbot", game, Sparta(rollouts=20), uncertainty=0.1)

    site, bot = FakeSite(FakeTable(TWO, 4), 1, anything), Bot(sparta)
    pump(site, bot)
    assert site.table.over and bot.finished == 1


@pytest.mark.parametrize(
    ("config", "options"),
    [
        (HanabiConfig(players=3, colors=3), {"variantName": "3 Suits"}),
        (HanabiConfig(players=4, hand_size=5), {"oneExtraCard": True}),
        (HanabiConfig(players=2, hand_size=4), {"oneLessCard": True, "startingPlayer": 1}),
    ],
)
def test_rules_are_those_of_the_table(config: HanabiConfig, options: dict[str, Any]) -> None:
    table = FakeTable(config, 6, options.get("startingPlayer", 0))
    seen: list[HanabiConfig] = []

    def policy(game: HanabiGame, seat: int) -> Policy:
        seen.append(game.config)
        return SmartBot()

    site, bot = FakeSite(table, 1, anything, **options), Bot(policy)
    pump(site, bot)
    assert table.over and bot.finished == 1 and seen == [config]


def test_a_bot_that_was_interrupted_goes_on() -> None:
    table = SmartTable(TWO, 5)
    site, bot = FakeSite(table, 0, table.smart), Bot()
    pump(site, bot, at_most=200)
    before = len(site.actions)
    assert before > 4 and not table.over
    again = Bot()
    pump(site, again)
    assert table.over and again.finished == 1
    whole = self_play(
        HanabiGame(TWO).from_decks([table.deck]), (SmartBot(),) * 2, Streams.spawn(RNG, 1)
    )
    assert site.actions == whole.actions[0].tolist()


# --------------------------------------------------------------------------------- invitations


def quiet_site(**options: Any) -> FakeSite:
    return FakeSite(FakeTable(TWO, 1), 0, anything, **options)


def after_opening(site: FakeSite) -> Bot:
    """A bot that has heard the opening but for the invitation."""
    bot = Bot()
    for message in site.opening()[:-1]:
        assert bot.receive(*message) == []
    return bot


def test_nobody_is_joined_unasked() -> None:
    site = quiet_site()
    bot = after_opening(site)  # somebody wrote /join to all
    own = site.private("/join")[1] | {"who": site.bot}
    for message in (
        site.lobby(),
        ("chat", own),
        ("tableStart", {"tableID": NUMBER}),
        site.private("hi"),
    ):
        assert bot.receive(*message) == []
    assert bot.receive(*site.private("/join")) == [("tableJoin", {"tableID": NUMBER})]


@pytest.mark.parametrize(
    ("table", "who", "says"),
    [
        ({}, "Zed", "Please sit down at a table first"),
        ({"running": True}, "Ann0", "Please sit down at a table first"),
        ({"sharedReplay": True}, "Ann0", "Please sit down at a table first"),
        ({"players": ["Ann0", *"bcde"]}, "Ann0", "I play with at most 5 players."),
        ({"variant": "Pink (5 Suits)"}, "Ann0", "I play No Variant, 4 Suits, 3 Suits."),
        ({"passwordProtected": True}, "Ann0", "Your table has a password, and I have none."),
    ],
)
def test_an_invitation_is_declined_with_the_reason(
    table: dict[str, Any], who: str, says: str
) -> None:
    site = quiet_site()
    bot = after_opening(site)
    bot.receive(*site.lobby(**table))
    ((command, data),) = bot.receive(*site.private("/join", who))
    assert command == "chatPM" and data["recipient"] == who and data["msg"].startswith(says)


def test_one_table_at_a_time_and_away_again() -> None:
    site = quiet_site()
    bot = after_opening(site)
    bot.receive(*site.private("/join"))
    ((_, data),) = bot.receive(*site.private("/join", "Ann1"))
    assert data["msg"].startswith("I sit at a table already")
    ((_, data),) = bot.receive(*site.private("/leave", "Zed"))
    assert data["msg"].startswith("I sit at no table")
    ((_, data),) = bot.receive(*site.private("/dance"))
    assert data["msg"] == HELP
    assert bot.receive(*site.private("/leave")) == [("tableLeave", {"tableID": NUMBER})]
    bot.receive("left", {"tableID": NUMBER})
    assert bot.receive(*site.private("/join")) == [("tableJoin", {"tableID": NUMBER})]
    bot.receive("tableGone", {"tableID": NUMBER})
    bot.receive(*site.lobby())
    assert bot.receive(*site.private("/join")) == [("tableJoin", {"tableID": NUMBER})]
    bot.receive("warning", {"warning": "You cannot join a game that you have been kicked from."})
    assert bot.said[-1].startswith('the site warns: "You cannot join')
    assert bot.receive(*site.private("/join")) == [("tableJoin", {"tableID": NUMBER})]


# -------------------------------------------------------------------------------------- trouble


def test_rules_that_are_not_ours_are_left_with_the_reason() -> None:
    site = quiet_site(emptyClues=True)
    bot = Bot()
    pump(site, bot)
    assert commands(site) == ["tableJoin", "getGameInfo1", "chatPM", "tableUnattend"]
    why = "the table: option emptyClues must be off, got true"
    assert site.heard[2][1] == {
        "msg": f"I cannot play on: {why}", "recipient": "Ann0", "room": "lobby",
    }  # fmt: skip
    assert bot.said[-1] == f"init: {why}"


def test_a_policy_that_cannot_play_there_says_so() -> None:
    def none(game: HanabiGame, seat: int) -> Policy:
        raise ConfigError("hatbot must have 3 players or more, got 2")

    site, bot = quiet_site(), Bot(none)
    pump(site, bot)
    assert "hatbot must have 3 players" in site.heard[2][1]["msg"]
    assert commands(site)[-1] == "tableUnattend"


def test_a_table_that_cannot_be_followed_is_left() -> None:
    site, bot = quiet_site(), Bot()
    waiting = deque(site.opening())
    sent: list[Any] = []
    while waiting:
        command, data = waiting.popleft()
        if command == "gameActionList":
            data = data | {"list": data["list"][1:]}  # a card is missing
        for out in bot.receive(command, data):
            sent.append(out[0])
            waiting.extend(site.hear(*out))
    assert sent[-2:] == ["chatPM", "tableUnattend"]
    assert bot.said[-1].startswith("gameActionList: a draw must be of card 0 by player 0")


@pytest.mark.parametrize("data", [None, [], {}, {"tableID": "x"}, 5, {"list": 3}, [3]])
def test_no_message_breaks_it(data: Any) -> None:
    bot = Bot()
    for command in (
        "welcome", "warning", "error", "table", "tableList", "tableGone", "left", "chat", "init",
        "tableStart", "gameActionList", "gameAction", "databaseID", "finishOngoingGame", "no_such",
        "__init__", "",
    ):  # fmt: skip
        assert bot.receive(command, data) == []
