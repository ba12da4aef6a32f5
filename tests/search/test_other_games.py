"""The benchmark on other games: its page, its blueprints, and the solver of small Hanabi."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from hanabi_search_plugin import (
    HanabiConfig,
    HanabiGame,
    Particles,
    UniformPolicy,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.core import rollout as rollouts
from hanabi_search_plugin.core.rollout import action_values, rollout, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.testing import check_agent, check_game
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

benchmarks = pytest.importorskip("benchmarks.other_games")

from benchmarks import dec_pomdps, joint_policy_search
from benchmarks.hanabi_optimum import Optimum
from benchmarks.openspiel_profile import SMALL, Tape, measure
from benchmarks.other_games_blueprints import Solved

BOXES = "turn_based_simultaneous_game(game=coop_box_pushing(horizon=2))"


def test_the_documented_tables_are_those_measured() -> None:
    text = Path(benchmarks.PAGE).read_text()
    for measured in (benchmarks, dec_pomdps, joint_policy_search):
        assert measured.page(text) == text


def small(**options: int) -> HanabiConfig:
    return HanabiConfig(
        **{"colors": 1, "ranks": 3, "hand_size": 1, "information_tokens": 1, "life_tokens": 1}
        | options
    )


def every_deck(config: HanabiConfig) -> np.ndarray:
    cards = [card for card, n in enumerate(config.copies * config.colors) for _ in range(n)]
    return np.array(sorted(set(itertools.permutations(cards))))


@pytest.mark.parametrize("options", [{}, {"life_tokens": 2}])
def test_the_best_joint_policy_scores_what_was_solved(options: dict[str, int]) -> None:
    """On every deck of the engine, each equally likely; and no bot scores more."""
    config = small(**options)
    game, optimum = HanabiGame(config), Optimum(config)
    worlds = game.from_decks(every_deck(config))

    def score(policy) -> float:
        blueprint = (policy, policy)
        rng = Streams(np.zeros(len(worlds), dtype=np.uint64))
        ended = rollout(worlds, blueprint, start_memories(worlds, blueprint), rng)
        return float(ended.returns[:, 0].mean())

    assert score(Solved(optimum)) == pytest.approx(optimum.value)
    for name in ("smartbot", "iggi", "cautious", "hatbot"):
        assert score(load_policy(name, HanabiGame(config))) <= optimum.value + 1e-9


def test_more_tokens_are_never_worse() -> None:
    values = [Optimum(small(information_tokens=n)).value for n in (0, 1, 2)]
    assert values[0] < values[1] < values[2] < 3
    assert Optimum(small(ranks=2)).value == 2  # one colour of two ranks can always be won


def test_moves_that_are_pending_stay_hidden() -> None:
    """A simultaneous game turn by turn: seat 1 sees the same whatever seat 0 has just chosen."""
    game = OpenSpielGame(BOXES)
    check_game(game, games=2)
    worlds = game.deal(np.random.default_rng(0), 1).select(np.zeros(4, dtype=np.int64))
    event = worlds.step(np.arange(4)).seen_by(1, game)
    assert len(set(event.action.tolist())) == 1
    assert len(set(worlds.view(1).keys())) == 1
    assert len(set(worlds.view(0).keys())) == 4
    agent = upgrade(
        UniformPolicy(), game, search=Sparta(rollouts=40, min_rollouts=10, round_size=10),
        belief=lambda blueprint, view: ParticleBelief.start(
            game, blueprint, view, particles=30, rng=np.random.default_rng(0)
        ),
    )  # fmt: skip
    check_agent(game, agent)


def test_values_do_not_depend_on_what_is_played_together(monkeypatch: pytest.MonkeyPatch) -> None:
    game, blueprint = OpenSpielGame("leduc_poker"), (UniformPolicy(), UniformPolicy())
    worlds = game.deal(np.random.default_rng(0), 7)
    actions = np.flatnonzero(worlds.legal[0])
    values = []
    for together in (1, 14, 1_000):
        monkeypatch.setattr(rollouts, "LOCKSTEP", together)
        streams = Streams.spawn(np.random.default_rng(1), 7)
        memories = start_memories(worlds, blueprint)
        values.append(action_values(worlds, actions, blueprint, memories, 0, streams))
    assert np.array_equal(values[0], values[1]) and np.array_equal(values[0], values[2])
    assert len(set(values[0].ravel().tolist())) > 2


@pytest.mark.parametrize("name", [n for n in benchmarks.SETTINGS if not n.startswith("hanabi")])
def test_blueprints_play_their_games(name: str) -> None:
    setting = benchmarks.SETTINGS[name]
    for label, make in setting.blueprints.items():
        if "episodes" in label:
            continue  # training takes too long for a test
        policy = make()
        worlds = setting.game.deal(np.random.default_rng(0), 10)
        rng = Streams.spawn(np.random.default_rng(1), 10)
        ended = rollout(worlds, (policy,) * 2, start_memories(worlds, (policy,) * 2), rng)
        assert len(ended.alive) == 0, label


def test_the_profile_makes_the_calls_again() -> None:
    import pyspiel

    before = pyspiel.State.child
    row = measure(SMALL, 200, 1)
    assert pyspiel.State.child is before
    assert row["calls"] > 200 * 20 and row["calls_seconds"] > 0
    game = pyspiel.load_game("kuhn_poker")
    root, tape = game.new_initial_state(), Tape()
    with tape.running():
        state = root.child(2).clone()
        state.apply_action(0)
        assert state.legal_actions() == [0, 1]
    assert [len(run.calls) for run in tape.runs] == [1, 1, 2] and tape.calls == 4
    assert [run.done for run in tape.runs] == [[], [1], [2]]
    assert tape.again() >= 0 and root.history() == []


def test_a_belief_over_backgammon_stays_small():
    """Two dice have two orders, which nobody sees: they are one outcome."""
    game = OpenSpielGame("backgammon")
    rng = np.random.default_rng(0)
    worlds, blueprint = game.deal(rng, 1), (UniformPolicy(),) * 2
    belief = private_belief(game, blueprint, worlds.view(0))
    assert np.isclose(game.deals()[1].sum(), 1.0)
    for _ in range(10):
        event = worlds.step(np.array([rng.choice(np.flatnonzero(worlds.legal[0]))]))
        belief = belief.update(event, worlds.view(0))
        assert belief.size == 1


@pytest.mark.parametrize("name", ["phantom_ttt", "dark_hex(num_rows=2,num_cols=2)"])
@pytest.mark.parametrize("belief", [None, Particles(200)], ids=str)
def test_games_whose_mover_follows_from_what_is_hidden(name: str, belief: Particles | None) -> None:
    """A move onto a taken cell fails, and is made again: only the mover sees that it may."""
    game = OpenSpielGame(name)
    check_agent(game, upgrade("uniform", game, Sparta(rollouts=20, min_rollouts=1), belief=belief))
