"""Bots of compiled routines: choices left to chance, routines called by address, mixed tables."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from hanabi_search_plugin import (
    HanabiGame,
    SmartBot,
    Sparta,
    Streams,
    UniformPolicy,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.rollout import action_values, observe_all, start_memories
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.hanabi.bots.compiled import CompiledBot, Routines, scripts_of
from hanabi_search_plugin.hanabi.bots.script import (
    COIN,
    DISCARD_ANY,
    LEGAL_ANY,
    PARAMS,
    SCRIPT,
    SILENT,
    TELL_ANY,
    cards_held,
)
from hanabi_search_plugin.hanabi.engine.layout import LAST_ACTION, LAST_PLAYER, TURN, hand_size
from hanabi_search_plugin.hanabi.search import compiled_rollouts
from hanabi_search_plugin.jit import routine
from hanabi_search_plugin.testing import check_policy

GAMES = [
    {"players": 2},
    {"players": 5},
    {"players": 3, "colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 4},
]


@routine
def always(dims: Any, row: Any, memory: Any, script: Any) -> int:
    return script[PARAMS]


@routine
def mirror(dims: Any, row: Any, memory: Any, script: Any) -> int:
    """Play a slot that depends on all moves so far."""
    return hand_size(dims) + memory[0] % cards_held(dims, row, row[TURN])


@routine
def count(dims: Any, row: Any, seat: int, memory: Any, script: Any) -> bool:
    memory[0] += row[LAST_ACTION]
    memory[1] = 10 * seat + row[LAST_PLAYER]
    return False


@routine
def count_for_all(dims: Any, row: Any, memory: Any, script: Any) -> bool:
    return False  # seats count alike but write themselves down


def choosing(code: int) -> CompiledBot:
    """A bot that always answers with one code."""
    return CompiledBot("always", Routines(always), parameters=(code,), deterministic=code == SILENT)


@pytest.mark.parametrize("parameters", GAMES, ids=str)
@pytest.mark.parametrize("code", [TELL_ANY, LEGAL_ANY, SILENT, "coin"])
def test_choices_come_out_as_often_as_their_probabilities_say(
    parameters: dict[str, Any], code: int | str
) -> None:
    game = HanabiGame(**parameters)
    rng = np.random.default_rng(0)
    h = game.config.hand_size
    bot = choosing(-(COIN + COIN * h + h + 1) if code == "coin" else int(code))
    worlds = game.deal(rng, 1)
    view = worlds.view(0)
    chance = bot.probabilities(view, view.legal, None)[0]
    assert chance.sum() == pytest.approx(1.0)
    assert (chance[~view.legal[0]] == 0.0).all()
    if code == "coin":
        assert chance[[h, h + 1]].tolist() == [0.5, 0.5]
    many = worlds.select(np.zeros(4000, dtype=np.int64)).view(0)
    actions = bot.act(many, many.legal, None, Streams.spawn(rng, 4000))
    found = np.bincount(actions, minlength=game.num_actions) / 4000
    assert np.abs(found - chance).max() < 4 * np.sqrt(0.25 / 4000)


def test_a_random_hint_follows_the_cards_of_the_next_player() -> None:
    game = HanabiGame(players=3)
    worlds = game.from_decks([[0] * 3 + [5, 6] + [1] * 2 + [2] * 2 + [24] + _rest()])
    chance = choosing(TELL_ANY).probabilities(worlds.view(0), worlds.legal, None)[0]
    expected = np.zeros(game.num_actions)
    hints = 2 * game.config.hand_size
    expected[hints] = 0.4  # four of five cards are of the first colour
    expected[hints + 4] = 0.1
    expected[hints + 10 + 1] = expected[hints + 10 + 2] = 0.2  # two twos, two threes, a five
    expected[hints + 10 + 4] = 0.1
    assert chance == pytest.approx(expected)


def _rest() -> list[int]:
    """The standard deck less 0 0 0 5 6 1 1 2 2 24, in order."""
    copies = np.tile([3, 2, 2, 2, 1], 5)
    for card in [0, 0, 0, 5, 6, 1, 1, 2, 2, 24]:
        copies[card] -= 1
    return np.repeat(np.arange(25), copies).tolist()


def test_discards_at_random_leave_no_other_move() -> None:
    game = HanabiGame(players=2, information_tokens=3)
    worlds = game.deal(np.random.default_rng(0), 50)
    streams = Streams(np.arange(50, dtype=np.uint64))
    worlds.step(choosing(TELL_ANY).act(worlds.view(0), worlds.legal, None, streams))
    chance = choosing(DISCARD_ANY).probabilities(worlds.view(1), worlds.legal, None)
    assert (chance[:, :5] == 0.2).all() and (chance[:, 5:] == 0.0).all()


def bots(players: int) -> list[Policy]:
    counting = CompiledBot("mirror", Routines(mirror, count, count_for_all), words=2)
    own = [counting, choosing(LEGAL_ANY), SmartBot(), UniformPolicy(), counting]
    return own[:players]


@pytest.mark.parametrize("players", [2, 3, 5])
def test_any_mix_is_rolled_out_as_it_plays_move_by_move(players: int) -> None:
    """Bots with memories of different lengths, and without."""
    game = HanabiGame(players=players, bomb="keep")
    rng = np.random.default_rng(players)
    for blueprint in (tuple(bots(players)), (bots(1)[0],) * players):
        worlds = game.deal(rng, 60)
        streams = Streams.spawn(rng, 60)
        memories = start_memories(worlds, blueprint)
        scripts = scripts_of(blueprint, game)
        assert scripts is not None
        ends = compiled_rollouts.play_out(worlds, scripts, memories, streams)
        assert ends.returns.tolist() == self_play(worlds, blueprint, streams).returns.tolist()
        actions = np.flatnonzero(worlds.legal.all(axis=0))[:3]
        plain = action_values(worlds, actions, blueprint, memories, 0, streams)
        compiled = action_values(worlds, actions, blueprint, memories, 0, streams, threads=2)
        assert compiled.tolist() == plain.tolist()


def test_a_silent_bot_resigns_or_plays_the_lowest_legal_action() -> None:
    game = HanabiGame(players=2, bomb="keep")
    worlds = game.deal(np.random.default_rng(0), 20)
    blueprint = (choosing(SILENT),) * 2
    scripts = scripts_of(blueprint, game)
    assert scripts is not None
    streams = Streams(np.zeros(20, dtype=np.uint64))
    stopped = compiled_rollouts.play_out(worlds, scripts, (None, None), streams, resign=True)
    assert (stopped.rows == worlds.rows).all()
    played = compiled_rollouts.play_out(worlds, scripts, (None, None), streams)
    assert (played.rows[:, TURN] == -1).all()


@pytest.mark.parametrize("parameters", GAMES, ids=str)
def test_contract(parameters: dict[str, Any]) -> None:
    check_policy(HanabiGame(**parameters), CompiledBot("mirror", Routines(mirror, count), words=2))
    check_policy(HanabiGame(**parameters), choosing(LEGAL_ANY))


@pytest.mark.parametrize("code", [0, 63, 10_000, -5, -(10**6)])
def test_an_illegal_action_is_an_error(code: int) -> None:
    game = HanabiGame(players=2)  # no discard at the start
    worlds = game.deal(np.random.default_rng(0), 3)
    bot, streams = choosing(code), Streams(np.zeros(3, dtype=np.uint64))
    with pytest.raises(IllegalActionError, match="compiled bot"):
        bot.act(worlds.view(0), worlds.legal, None, streams)
    with pytest.raises(IllegalActionError, match="compiled bot"):
        action_values(worlds, np.array([5]), (bot, bot), (None, None), 0, streams)


def test_what_is_not_a_routine_is_refused() -> None:
    @njit  # type: ignore[untyped-decorator]
    def jitted(dims: Any, row: Any, memory: Any, script: Any) -> int:
        return 5

    game = HanabiGame(players=2)
    view = game.deal(np.random.default_rng(0), 1).view(0)
    streams = Streams(np.zeros(1, dtype=np.uint64))
    with pytest.raises(UnsupportedError, match="@routine"):
        bot = CompiledBot("plain", Routines(lambda dims, row, memory, script: 5))
        bot.act(view, view.legal, None, streams)
    assert CompiledBot("jitted", Routines(jitted)).act(view, view.legal, None, streams) == [5]
    with pytest.raises(ConfigError, match="parameters"):
        CompiledBot("long", Routines(always), parameters=(0,) * (SCRIPT - PARAMS + 1))
    with pytest.raises(TypeError, match="called by kernels"):
        always(None, None, None, None)


IN_ANOTHER_PROCESS = """
import pickle, sys
import numpy as np
agent, beliefs = pickle.load(open(sys.argv[1], "rb"))
print(agent.decide(beliefs[0], np.random.default_rng(7)).to_dict())
"""


@pytest.mark.parametrize("name", ["smartbot", "hatbot-b", "vdb:strict:convention=any-giver"])
def test_agents_are_copied_and_pickled_in_mid_game(name: str, tmp_path: Path) -> None:
    """They go on identically, in another process too: no address travels."""
    game = HanabiGame(players=2, colors=2, ranks=3, hand_size=3)
    policy = load_policy(name, game)
    agent = upgrade(policy, game, search=Sparta(rollouts=200, min_rollouts=10))
    worlds = game.deal(np.random.default_rng(3), 1)
    memories = start_memories(worlds, (policy, agent))
    for _ in range(3):
        actions = np.flatnonzero(worlds.legal[0])[-1:]
        event = worlds.step(actions)
        memories = observe_all(worlds, event.player, event.action, (policy, agent), memories)
    expected = agent.decide(memories[1][0], np.random.default_rng(7)).to_dict()
    again, copied = copy.deepcopy((agent, memories[1]))
    assert again.decide(copied[0], np.random.default_rng(7)).to_dict() == expected
    file = tmp_path / "agent.pickle"
    file.write_bytes(pickle.dumps((agent, memories[1])))
    run = [sys.executable, "-c", IN_ANOTHER_PROCESS, str(file)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(expected)
