"""Searching seats in AEC environments other than Hanabi, and parallel ones."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv
from pettingzoo.utils import parallel_to_aec
from shimmy import OpenSpielCompatibilityV0

from hanabi_search_plugin import MoIsmcts, Sparta, UniformPolicy, upgrade
from hanabi_search_plugin.beliefs import Particles
from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.wrappers._pettingzoo_games import bare
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, Redealt, as_bot
from hanabi_search_plugin.wrappers.pettingzoo import (
    AECAdapter,
    AECGame,
    AECSeatAgent,
    DeterministicAECGame,
    RecordMoves,
    RlcardAdapter,
    ShimmyAdapter,
)
from hanabi_search_plugin.wrappers.pettingzoo import (
    env as hanabi_env,
)

QUICK = Sparta(rollouts=60, min_rollouts=5)


def shimmy_leduc() -> OpenSpielCompatibilityV0:
    return OpenSpielCompatibilityV0(game_name="leduc_poker")


def leduc_of(kind: str) -> tuple[Any, AECGame]:
    """A way to make the environment, and its game."""
    if kind == "shimmy":
        make, adapter, most = shimmy_leduc, ShimmyAdapter(), 13.0
    else:
        pytest.importorskip("rlcard")
        pytest.importorskip("pygame")
        from pettingzoo.classic import leduc_holdem_v4

        make, adapter, most = leduc_holdem_v4.env, RlcardAdapter(), 7.0
    game = AECGame(
        make, adapter, return_range=(-most, most), max_length=12, rewards="zero_sum",
        public_actions=False,
    )  # fmt: skip
    return make, game


def play(env: RecordMoves, seats: dict[str, AECSeatAgent], seed: int) -> dict[str, float]:
    rng, earned = np.random.default_rng(seed), dict.fromkeys(env.possible_agents, 0.0)
    env.reset(seed=seed)
    for name in env.agent_iter():
        _, reward, termination, truncation, _ = env.last()
        earned[name] += reward
        if termination or truncation:
            env.step(None)
        elif name in seats:
            env.step(seats[name].act())
        else:
            mask = env.game.adapter.mask(bare(env), name)
            env.step(int(rng.choice(np.flatnonzero(mask))))
    return earned


@pytest.mark.parametrize("kind", ["shimmy", "rlcard"])
def test_leduc_is_searched_by_observations(kind: str) -> None:
    make, game = leduc_of(kind)
    env = RecordMoves(make(), game)
    agent = upgrade(UniformPolicy(), game, QUICK, belief=Particles(40))
    seat = AECSeatAgent(agent, env, "player_1")
    for seed in range(3):
        play(env, {"player_1": seat}, seed)
    assert seat.last_result is not None and seat.last_result.rollouts > 0
    with pytest.raises(IllegalActionError, match="over"):
        seat.act()


@pytest.mark.parametrize("kind", ["shimmy", "rlcard"])
def test_a_seat_sees_nothing_of_the_other(kind: str) -> None:
    """The other's card changes nothing of a first decision, and is nowhere in the history."""
    make, game = leduc_of(kind)
    decided: dict[bytes, set[tuple[bytes, int]]] = {}
    for seed in range(12):
        env = RecordMoves(make(), game)
        env.reset(seed=seed)
        seat = AECSeatAgent(
            upgrade(UniformPolicy(), game, QUICK, belief=Particles(40)), env, env.agent_selection
        )
        (view,) = seat.history.views
        other = 1 - seat.seat
        mine, theirs = (env.record.moments[0].seen[p].tobytes() for p in (seat.seat, other))
        assert view._states[0].seen[other].size == 0 and view._states[0].state is None
        decided.setdefault(bytes([seat.seat]) + mine, set()).add((theirs, seat.act()))
    assert any(len({theirs for theirs, _ in found}) > 1 for found in decided.values())
    assert all(len({action for _, action in found}) == 1 for found in decided.values())


def test_bots_play_in_shimmys_environment() -> None:
    """Games with too many deals for particles: a bot reads what its seat has seen of the state.

    Shimmy counts dealt cards as moves, so that it truncates spades after the bids.
    """
    env = OpenSpielCompatibilityV0(game_name="spades")
    game = OpenSpielGame("spades")
    bot = as_bot(upgrade(UniformPolicy(), game, MoIsmcts(iterations=5), belief=Redealt()), game, 0)
    rng, searched = np.random.default_rng(0), 0
    env.reset(seed=3)
    for name in env.agent_iter():
        _, _, termination, truncation, info = env.last()
        if termination or truncation:
            assert truncation and not env.unwrapped.game_state.is_terminal()
            env.step(None)
        elif name == "player_0":
            env.step(bot.step(env.unwrapped.game_state))
            searched += bot.last_result is not None
        else:
            env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
    assert searched == 1


def test_others_are_refused() -> None:
    _, game = leduc_of("shimmy")
    with pytest.raises(UnsupportedError, match="RecordMoves"):
        AECSeatAgent(UniformPolicy(), shimmy_leduc(), 0)
    with pytest.raises(ConfigError, match="seat must be"):
        AECSeatAgent(UniformPolicy(), RecordMoves(shimmy_leduc(), game), 7)
    with pytest.raises(ConfigError, match="must search"):
        AECSeatAgent(
            upgrade(UniformPolicy(), leduc_of("shimmy")[1], QUICK, belief=Particles(50)),
            RecordMoves(shimmy_leduc(), game),
            0,
        )
    with pytest.raises(ConfigError, match="agents"):
        RecordMoves(hanabi_env(players=3), game)


class Matching(ParallelEnv):  # type: ignore[misc]
    """Both choose at once, four times; equal choices pay what was chosen, others nothing."""

    metadata = {"name": "matching", "is_parallelizable": True, "render_modes": []}  # noqa: RUF012
    render_mode = None

    def __init__(self) -> None:
        self.possible_agents = ["a", "b"]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        return spaces.Box(0, 3, (3,), np.int64)

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(3)

    def _seen(self) -> dict[str, Any]:
        return {agent: np.array([self.turn, *self.before]) for agent in self.possible_agents}

    def _infos(self) -> dict[str, Any]:
        return {agent: {"action_mask": np.ones(3, np.int8)} for agent in self.possible_agents}

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.agents, self.turn, self.before = self.possible_agents[:], 0, (0, 0)
        return self._seen(), self._infos()

    def step(self, actions: dict[str, int]) -> Any:
        self.before, self.turn = (actions["a"], actions["b"]), self.turn + 1
        paid = float(actions["a"]) * (actions["a"] == actions["b"])
        over = {agent: self.turn == 4 for agent in self.possible_agents}
        no = dict.fromkeys(self.possible_agents, False)
        reward = dict.fromkeys(self.possible_agents, paid)
        self.agents = [] if self.turn == 4 else self.agents
        return self._seen(), reward, over, no, self._infos()


class Parallel(AECAdapter):
    """A parallel environment in ``parallel_to_aec``, whose agents choose one after another."""

    def snapshot(self, env: Any) -> Any:
        inner = env.env
        kept = inner.agents[:], inner.turn, inner.before
        return kept, copy.deepcopy((env._observations, env._actions, env._agent_selector))

    def restore(self, env: Any, state: Any) -> None:
        (agents, env.env.turn, env.env.before), outer = state
        env.env.agents = agents[:]
        env._observations, env._actions, env._agent_selector = copy.deepcopy(outer)


def test_a_parallel_environment_is_searched_in_turns() -> None:
    """Nobody sees the other's pending choice; the same agent then plays the parallel one."""
    game = DeterministicAECGame(
        parallel_to_aec(Matching()), Parallel(), return_range=(0, 8), max_length=8,
        rewards="identical", public_actions=False,
    )  # fmt: skip
    env = RecordMoves(parallel_to_aec(Matching()), game)
    agent = upgrade(UniformPolicy(), game, Sparta(rollouts=400, threshold=0.0))
    seats = {name: AECSeatAgent(agent, env, name) for name in ("a", "b")}
    assert play(env, seats, 0) == {"a": 8.0, "b": 8.0}
    moment = env.record.moments[1]  # a has chosen, b is to choose
    assert moment.mover == 1 and (moment.seen[1] == env.record.moments[0].seen[1]).all()
    assert seats["b"].history.events[0].action[0] == -1
