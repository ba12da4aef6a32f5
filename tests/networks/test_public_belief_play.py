"""Compiled rollouts of ``public-belief`` networks: the very games that are played view by view."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hanabi_search_plugin import HanabiConfig, HanabiGame, Streams
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.core.rollout import Rollout, action_values, rollout, start_memories
from hanabi_search_plugin.hanabi.engine.layout import LAST_ACTION
from hanabi_search_plugin.networks.nets import public_belief_on_cpu
from hanabi_search_plugin.networks.network_policies import EstimatingPolicy, NetworkPolicy
from tests.networks.test_public_belief import TINY, network_of

CONFIGS = [
    HanabiConfig(),
    HanabiConfig(hand_size=6),
    HanabiConfig(players=3),
    HanabiConfig(players=3, hand_size=6, colors=4),
    HanabiConfig(players=4, colors=3, ranks=3, hand_size=3, random_start_player=True),
    TINY,
]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@contextmanager
def view_by_view() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NetworkPolicy, "play_rollouts", lambda *_: None)
        yield


def games(config: HanabiConfig, n: int = 40, moves: int = 3) -> tuple[Any, ...]:
    """Worlds after some moves, the team, its memories and streams; some worlds may be over."""
    game = HanabiGame(config)
    team = (EstimatingPolicy(network_of(config)),) * config.players
    worlds = game.deal(np.random.default_rng(3), n)
    streams = Streams.spawn(np.random.default_rng(4), n)
    uniform = (UniformPolicy(),) * config.players
    memories = start_memories(worlds, team)
    for _ in range(moves):
        ahead = rollout(worlds, uniform, (None,) * config.players, streams, depth=1)
        worlds, streams = ahead.worlds, ahead.rng
        last = memories[0][ahead.alive]
        memories = tuple(team[0].observe(worlds.view(0), None, last) for _ in team)  # type: ignore[arg-type]
    return worlds, team, memories, streams


def same(found: Rollout, expected: Rollout) -> None:
    np.testing.assert_array_equal(found.returns, expected.returns)
    np.testing.assert_array_equal(found.alive, expected.alive)
    np.testing.assert_array_equal(found.worlds.rows, expected.worlds.rows)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(found.rng.state, expected.rng.state)
    for mine, plain in zip(found.memories, expected.memories, strict=True):
        np.testing.assert_array_equal(mine, plain)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_every_move_is_the_one_of_the_plain_path(config: HanabiConfig) -> None:
    """After any number of moves worlds, memories and returns are the same bit for bit."""
    given = games(config)
    moved = set()
    for depth in (0, 1, 2, 7, None):
        found = rollout(*given, depth=depth)
        with view_by_view():
            same(found, rollout(*given, depth=depth))
        moved |= set(found.worlds.rows[:, LAST_ACTION].tolist()) if depth else set()  # type: ignore[attr-defined]
    assert len(moved) > 2, "different moves were played"


def test_worlds_do_not_meet_in_a_batch() -> None:
    worlds, team, memories, streams = games(HanabiConfig())
    whole = rollout(worlds, team, memories, streams).returns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(public_belief_on_cpu, "BATCH", 7)
        np.testing.assert_array_equal(rollout(worlds, team, memories, streams).returns, whole)
    order = np.random.default_rng(0).permutation(len(worlds))
    given = tuple(memory[order] for memory in memories)
    mixed = rollout(worlds.select(order), team, given, streams.select(order))
    np.testing.assert_array_equal(mixed.returns, whole[order])


def test_what_was_given_is_left_as_it_was() -> None:
    worlds, team, memories, streams = games(TINY)
    before = worlds.rows.copy(), memories[0].copy(), streams.state.copy()
    rollout(worlds, team, memories, streams)
    for now, then in zip((worlds.rows, memories[0], streams.state), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("depth", [None, 4])
def test_values_of_moves_are_those_of_the_plain_path(depth: int | None) -> None:
    worlds, team, memories, streams = games(TINY, moves=0)
    seat = int(worlds.current_player[0])
    actions = np.flatnonzero(worlds.legal.all(0))
    given = worlds, actions, team, memories, seat, streams
    found = action_values(*given, depth=depth)
    with view_by_view():
        np.testing.assert_array_equal(found, action_values(*given, depth=depth))
    assert np.ptp(found) > 0


def test_other_teams_are_played_view_by_view() -> None:
    worlds, team, memories, streams = games(TINY)
    policy = team[0]
    other = NetworkPolicy(policy.network)
    by_chance = NetworkPolicy(policy.network, temperature=1.0)
    for blueprint in ((policy, other), (by_chance,) * 2, (policy, UniformPolicy())):
        assert policy.play_rollouts(worlds, blueprint, memories, streams, None) is None
    assert by_chance.play_rollouts(worlds, (by_chance,) * 2, memories, streams, None) is None


def test_a_network_of_another_game_or_without_numbers_is_refused() -> None:
    worlds, team, memories, streams = games(TINY)
    with pytest.raises(UnsupportedError, match="cannot play one with"):
        elsewhere = HanabiGame(HanabiConfig()).deal(np.random.default_rng(0), 2)
        rollout(elsewhere, team, memories, streams)
    network = network_of(TINY)
    with torch.no_grad():
        network.value.bias.fill_(0.0)
        network.kinds.bias.fill_(torch.nan)
    policy = NetworkPolicy(network)
    with pytest.raises(ContractError, match="must give logits that are numbers"):
        rollout(worlds, (policy, policy), memories, streams)
