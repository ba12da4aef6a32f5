"""No page is told what its seat does not see: every message of whole games is read.

In one game after the other the cards that a seat cannot see, its own hand and the rest of the deck,
are exchanged for others that fit what it has seen. Whatever its page is told must stay the same, to
the letter.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, SmartBot, Sparta, upgrade
from hanabi_search_plugin.core.game import BoolArray, IntArray, View
from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation import live_game
from hanabi_search_plugin.evaluation.match import deal_game
from hanabi_search_plugin.hanabi.files.recorded_positions import Candidates
from hanabi_search_plugin.serving import live_table
from hanabi_search_plugin.serving.live_table import LiveTable, TablePlan
from hanabi_search_plugin.serving.page_messages import PageMessage
from hanabi_search_plugin.serving.workers import Workers

GAME = HanabiGame(players=3, colors=3, ranks=3, hand_size=3, information_tokens=4, bomb="keep")
SEED = 1_234_567_891  # a number that is nowhere else
SMALL = Sparta(rollouts=60, min_rollouts=5)


class Steady(Policy):
    """Plays its oldest card, whatever it sees."""

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        return np.full(len(view), GAME.config.hand_size)


class Pages:
    """Writes down all that a seat's page is told.

    But for how far its own search for advice is, which is told by the clock.
    """

    def __init__(self) -> None:
        self.told: list[str] = []

    def tell(self, message: dict[str, Any]) -> None:
        if message["kind"] == "advice_progress":
            assert message.keys() == {"kind", "rollouts"}
        else:
            self.told.append(json.dumps(message))


def plan(policies: tuple[Policy, ...], people: tuple[int, ...], search: str | None) -> TablePlan:
    return TablePlan(
        game=GAME,
        policies=policies,
        names=tuple("human" if seat in people else "bot" for seat in range(3)),
        people=people,
        searches=tuple(None if seat in people else search for seat in range(3)),
        adviser=upgrade(SmartBot(), GAME, SMALL, uncertainty=0.1),
        advice="sparta, 60 rollouts",
        candidates=lambda: Candidates(((SmartBot(),),) * 3, (("smartbot",),) * 3),
    )


STEADY = plan((SmartBot(), SmartBot(), Steady()), (0, 1), None)


@pytest.fixture
def deal(monkeypatch: pytest.MonkeyPatch) -> Callable[[tuple[int, ...]], None]:
    """Has tables deal a given deck, whatever their seed."""

    def deal(deck: tuple[int, ...]) -> None:
        def dealt(game: HanabiGame, seed: int, index: int) -> Any:
            return game.from_decks([deck]), deal_game(game, seed, index)[1]

        monkeypatch.setattr(live_game, "deal_game", dealt)
        monkeypatch.setattr(live_table, "deal_game", dealt)

    return deal


async def settled(table: LiveTable, workers: Workers) -> None:
    """Until nobody but people can move."""
    while table._policies is not None and not table._policies.done():
        await asyncio.wait([table._policies])
    while table._advice:
        await asyncio.sleep(0.001)


async def told(
    plan: TablePlan, seat: int, actions: list[int], *, advice: bool = False, back: bool = False
) -> list[str]:
    """All that the page of ``seat`` is told while people play these moves of the whole table."""
    workers = Workers(1)
    workers.ready.add(repr((plan.game, plan.policies, plan.adviser)))
    table, page = LiveTable(plan, workers, SEED, clock=lambda: 0.0), Pages()
    try:
        for person in plan.people:
            table.join(person, page if person == seat else Pages())
        await settled(table, workers)
        while table.live.number < len(actions):
            mover, number = table.live.mover, table.live.number
            await table.hear(mover, PageMessage(kind="move", turn=number, action=actions[number]))
            await settled(table, workers)
        number = table.live.number
        if advice and not table.live.over and table.live.mover == seat:
            await table.hear(seat, PageMessage(kind="advise", turn=number))
            await settled(table, workers)
        if back and not table.live.over and table.live.last_own_turn(seat) is not None:
            await table.hear(seat, PageMessage(kind="take_back", turn=number))
            await settled(table, workers)
        if not table.live.over:
            await table.hear(1, PageMessage(kind="stop", turn=table.live.number))
            await settled(table, workers)
        if table.live.actions and advice:
            await table.hear(0, PageMessage(kind="analyse", turn=table.live.number))
            while not table.analysis:
                await asyncio.sleep(0.002)
            await asyncio.sleep(0)
        return page.told
    finally:
        table.close()
        workers.close()


def run(work: Coroutine[Any, Any, list[str]]) -> list[str]:
    return asyncio.run(work)


def random_game(seed: int) -> tuple[tuple[int, ...], list[int]]:
    """A deck, and the moves of a game with Steady at seat 2."""
    rng = np.random.default_rng(seed)
    worlds = GAME.deal(rng, 1)
    deck = tuple(worlds.rows[0, -GAME.config.deck_size :].tolist())
    actions: list[int] = []
    while not worlds.terminal[0]:
        legal = np.flatnonzero(worlds.legal[0])
        hints = legal[legal >= 2 * GAME.config.hand_size]
        action = int(rng.choice(hints if len(hints) and rng.random() < 0.6 else legal))
        if worlds.current_player[0] == 2:
            action = GAME.config.hand_size
        actions.append(action)
        worlds.step(np.array([action]))
    return deck, actions


def exchanged(
    deck: tuple[int, ...], actions: list[int], seat: int, rng: np.random.Generator
) -> Iterator[tuple[int, ...]]:
    """Decks that ``seat`` cannot tell from this one after these moves; its hand differs in each."""
    worlds = GAME.from_decks([deck])
    hand, drawn = list(range(9))[3 * seat : 3 * seat + 3], 9
    for action in actions:
        mover = int(worlds.current_player[0])
        worlds.step(np.array([action]))
        if action < 2 * GAME.config.hand_size:
            if mover == seat:
                hand.pop(action % GAME.config.hand_size)
                hand += [drawn] if drawn < len(deck) else []
            drawn = min(drawn + 1, len(deck))
    start = GAME.hand_slots(seat).start + 9
    words = worlds.rows[0, start : start + len(hand)].tolist()  # colours, and ranks from bit 5 on
    hidden = [*hand, *range(drawn, len(deck))]
    for _ in range(300):
        other = list(deck)
        for place, card in zip(hidden, rng.permutation([deck[one] for one in hidden]), strict=True):
            other[place] = int(card)
        fits = all(
            word >> other[order] // 3 & word >> other[order] % 3 + 5 & 1
            for order, word in zip(hand, words, strict=True)
        )
        if fits and [other[order] for order in hand] != [deck[order] for order in hand]:
            yield tuple(other)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("seat", [0, 1])
def test_a_page_is_told_the_same_whatever_its_seat_does_not_see(
    deal: Callable[[tuple[int, ...]], None], seat: int, seed: int
) -> None:
    deck, actions = random_game(seed)
    rng, compared = np.random.default_rng(seed), 0
    people_move = [number for number in range(len(actions)) if number % 3 != 2]  # not Steady
    for moves in (*people_move[::3], len(actions)):
        for other in list(exchanged(deck, actions[:moves], seat, rng))[:2]:
            heard = []
            for one in (deck, other):
                deal(one)
                heard.append(run(told(STEADY, seat, actions[:moves], advice=True, back=True)))
            assert heard[0] == heard[1] and len(heard[0]) > moves
            compared += 1
    assert compared >= 5


def test_exchanged_decks_are_told_apart_by_who_sees_them(
    deal: Callable[[tuple[int, ...]], None],
) -> None:
    """The test above could fail: another seat is told of the difference."""
    deck, actions = random_game(0)
    other = next(exchanged(deck, actions[:4], 0, np.random.default_rng(0)))
    heard = []
    for one in (deck, other):
        deal(one)
        heard.append(run(told(STEADY, 1, actions[:4])))
    assert heard[0] != heard[1]


def test_a_page_is_told_the_same_while_a_search_thinks(
    deal: Callable[[tuple[int, ...]], None],
) -> None:
    searching = upgrade(SmartBot(), GAME, SMALL, uncertainty=0.1)
    table = plan((searching, SmartBot(), SmartBot()), (1, 2), "sparta, 60 rollouts")
    deck, _ = random_game(1)
    heard = []
    for one in (deck, next(exchanged(deck, [], 1, np.random.default_rng(1)))):
        deal(one)
        messages = run(told(table, 1, []))
        moved = next(n for n, text in enumerate(messages) if '"kind": "turns"' in text)
        heard.append(messages[:moved])
    assert heard[0] == heard[1] and any('"search": "sparta' in text for text in heard[0])


# What a message may be made of. A name that is not here has to be thought about first.
NAMES = {
    "game": "kind game format config players colors ranks hand_size information_tokens life_tokens "
    "copies seed searched policies seat score finished actions type slot target color rank cards "
    "turns",
    "turns": "kind from turns cards",
    "turn": "mover points possible information lives deck fireworks discards hands hints beliefs "
    "move search action card scored touched",
    "state": "kind turn people seat here moves readying thinking search seconds usual advising "
    "advice can_take_back stopped ended score lost broken analysing turns of analysed",
    "advice": "kind turn search belief action blueprint_action gain gain_stderr reason belief_size "
    "depth note lost lost_stderr mistake moves mean stderr count dropped slots hands exact "
    "recovered",
}


def names_in(value: Any) -> set[str]:
    """All names of objects within a JSON value."""
    if isinstance(value, dict):
        return set(value).union(*map(names_in, value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("seed", range(3))
def test_messages_hold_no_card_that_the_seat_has_not_seen(seed: int) -> None:
    searching = upgrade(SmartBot(), GAME, SMALL, uncertainty=0.1)
    table = plan((SmartBot(), searching, SmartBot()), (0, 2), "sparta, 60 rollouts")
    messages = [json.loads(text) for text in run(_played_by_a_bot(table, seed))]
    kinds = {message["kind"] for message in messages}
    assert kinds >= {"game", "turns", "state", "advice"}
    turns: list[Any] = []
    for message in messages:
        allowed = NAMES[message["kind"]]
        if message["kind"] in ("game", "turns"):
            allowed += " " + NAMES["turn"]
        assert names_in(message) <= set(allowed.split()), message
        assert str(SEED) not in json.dumps(message)
        if message["kind"] not in ("game", "turns"):
            continue
        content = message["game"] if message["kind"] == "game" else message
        turns[content.get("from", 0) :] = content["turns"]
        assert message["kind"] == "turns" or content["seed"] is None
        now, cards = turns[-1], content["cards"]
        assert len(cards) == GAME.config.deck_size - now["deck"]
        for seat, hand in enumerate(now["hands"]):
            assert all((cards[order] is None) == (seat == 0) for order in hand)
        for turn in turns:
            assert turn["search"] is None and turn["beliefs"] == [None] * 3


async def _played_by_a_bot(table: TablePlan, seed: int) -> list[str]:
    """What the page of seat 0 is told in a game that people play at random, taking advice."""
    workers, rng = Workers(1), np.random.default_rng(seed)
    live, page = LiveTable(table, workers, SEED, clock=lambda: 0.0), Pages()
    try:
        live.join(0, page)
        live.join(2, Pages())
        await settled(live, workers)
        while not live.live.over:
            mover, turn = live.live.mover, live.live.number
            if mover == 0 and rng.random() < 0.4:
                await live.hear(0, PageMessage(kind="advise", turn=turn))
                await settled(live, workers)
            action = int(rng.choice(np.flatnonzero(live.live.worlds.legal[0])))
            await live.hear(mover, PageMessage(kind="move", turn=turn, action=action))
            await settled(live, workers)
        return page.told
    finally:
        live.close()
        workers.close()


def test_a_page_of_another_seat_learns_nothing_of_advice() -> None:
    async def both() -> list[str]:
        workers = Workers(1)
        table = LiveTable(replace(STEADY), workers, SEED, clock=lambda: 0.0)
        own, other = Pages(), Pages()
        try:
            table.join(0, own)
            table.join(1, other)
            await settled(table, workers)
            before = len(other.told)
            await table.hear(0, PageMessage(kind="advise", turn=0))
            await settled(table, workers)
            assert any('"kind": "advice"' in text for text in own.told)
            return other.told[before:]
        finally:
            table.close()
            workers.close()

    for text in run(both()):
        state = json.loads(text)
        assert state["kind"] == "state" and not state["advising"]
