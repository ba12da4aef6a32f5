"""Other AEC environments as games that can be searched, by a small adapter that you write.

A search tries moves and takes them back, which AEC environments cannot. Write an ``AECAdapter``
(how to keep the state of your environment, and how to put it back), and ``AECGame`` does the rest:

    class TicTacToe(AECAdapter):
        def snapshot(self, env):
            return list(env.board.squares), copy.deepcopy(env._agent_selector)

        def restore(self, env, state):
            squares, selector = state
            env.board.squares, env._agent_selector = list(squares), copy.deepcopy(selector)

    game = DeterministicAECGame(tictactoe_v3.env(), TicTacToe(), return_range=(-1, 1), max_length=9,
                                rewards="zero_sum", public_actions=True)

Then see that ``testing.check_game(game)`` passes. Every world is a snapshot, and every step a step
of the environment, so this is for small games. Letters: B worlds, A actions, P players.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import BaseWrapper

from hanabi_search_plugin.core.capabilities import Enumerable
from hanabi_search_plugin.core.errors import ConfigError, ContractError, UnsupportedError
from hanabi_search_plugin.core.game import (
    NOBODY,
    BoolArray,
    FloatArray,
    IntArray,
    Rewards,
    Worlds,
    require_said,
)
from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.core.state_list import StateGame, StateList, StateView, StateWorlds

BOOKKEEPING = ("agents", "agent_selection", "rewards", "_cumulative_rewards", "terminations",
               "truncations", "infos")  # fmt: skip


class AECAdapter(ABC):
    """How to keep the state of an environment and put it back. ``env`` is the bare one.

    Agents, agent selection, rewards, terminations, truncations and infos, which every AEC
    environment has, are kept for you.
    """

    @abstractmethod
    def snapshot(self, env: Any) -> Any:
        """Return all other state that ``step`` and ``observe`` read, random generators included.

        Later steps of the environment must not change it: copy what is mutable.
        """

    @abstractmethod
    def restore(self, env: Any, state: Any) -> None:
        """Put a snapshot back. It is used again, so later steps must not change it."""

    def observe(self, env: Any, agent: str) -> Any:
        """An array of all that ``agent`` sees now, and of nothing that is hidden from it."""
        seen = env.observe(agent)
        return seen["observation"] if isinstance(seen, Mapping) else seen

    def mask(self, env: Any, agent: str) -> Any:
        """[A] the legal actions of ``agent``, which is to move; by default its "action_mask".

        Raises UnsupportedError where neither observation nor infos have one.
        """
        seen = env.observe(agent)
        source = seen if isinstance(seen, Mapping) else env.infos[agent]
        if "action_mask" not in source:
            raise UnsupportedError(
                f"{env} shows no action_mask in observation or infos: override AECAdapter.mask"
            )
        return source["action_mask"]


@dataclass(frozen=True)
class Position:
    """The state of one world, and what is asked of it."""

    state: Any  # what AECGame keeps, and the adapter's snapshot
    mover: int  # NOBODY where the game is over
    returns: tuple[float, ...]  # [P]
    legal: BoolArray  # [A] of the mover
    seen: tuple[NDArray[Any], ...]  # [P]


class AECView(StateView):
    """What one player sees of a batch of positions; its one encoding is "observation"."""

    game: AECGame

    def shown(self, encoding: str) -> NDArray[Any]:
        seen = [position.seen[self.player] for position in self._states]
        return np.stack(seen) if seen else np.empty((0,))

    def keys(self) -> Sequence[Hashable]:
        return [
            (position.mover, legal.tobytes(), position.seen[self.player].tobytes())
            for position, legal in zip(self._states, self.legal, strict=True)
        ]


class AECWorlds(StateWorlds):
    """A batch of positions. The chance stream of a world is the environment's own generator."""

    game: AECGame

    def play(self, actions: IntArray) -> None:
        moves = zip(self.states, actions.tolist(), strict=True)
        after = [self.game.after(position, action) for position, action in moves]
        self.states = StateList(self.game, after)

    def select(self, index: IntArray | BoolArray) -> AECWorlds:
        return AECWorlds(self.game, self.states.take(index))

    def view(self, player: int) -> AECView:
        return AECView(self.game, player, self.states)


class AECGame(StateGame):
    """A game made of an AEC environment, in which searches try moves.

    ``env`` is the environment, or a function that makes one. Give a function where agents are to be
    copied or pickled in mid-game and the environment does not survive a copy, as Shimmy's, which
    forget their ``config``. ``return_range`` is the lowest and highest sum of rewards of a player,
    ``max_length`` the moves of the longest game. ``public_actions`` is True if all players see all
    actions; False is always safe. All players must have the same ``Discrete`` actions, and must end
    together. Raises UnsupportedError for another environment, ConfigError for bad parameters.
    """

    encodings = ("observation",)

    def __init__(
        self,
        env: AECEnv[Any, Any, Any] | Callable[[], AECEnv[Any, Any, Any]],
        adapter: AECAdapter,
        *,
        return_range: tuple[float, float],
        max_length: int,
        rewards: Rewards,
        public_actions: bool,
    ) -> None:
        if not isinstance(adapter, AECAdapter):
            raise ConfigError(f"expected an AECAdapter, got {adapter!r}")
        if max_length < 1 or return_range[0] > return_range[1]:
            raise ConfigError(
                "max_length must be at least 1 and return_range in order, "
                f"got {max_length} and {return_range}"
            )
        require_choice("rewards", rewards, get_args(Rewards))
        self._make = None if isinstance(env, AECEnv) or not callable(env) else env
        made = env if self._make is None else self._make()
        if not isinstance(made, AECEnv):
            raise ConfigError(f"expected an AECEnv or a function that makes one, got {env!r}")
        self._env, self.adapter = bare(made), adapter
        self.players = tuple(self._env.possible_agents)
        spaces_of = [self._env.action_space(agent) for agent in self.players]
        first = spaces_of[0]
        if not isinstance(first, spaces.Discrete) or first.start != 0:
            raise UnsupportedError(f"actions must be Discrete from 0, got {first}")
        if any(space != first for space in spaces_of):
            raise UnsupportedError(f"all players must have the same actions, got {spaces_of}")
        self.name = str(made)
        self.num_players = len(self.players)
        self.num_actions = int(first.n)
        self.return_range = (float(return_range[0]), float(return_range[1]))
        self.max_length = max_length
        self.rewards = rewards
        self.public_actions = public_actions

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._make is not None:
            del state["_env"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._make is not None:
            self._env = bare(self._make())
            self._env.reset(seed=0)  # a snapshot is put back into an environment that has begun

    def deal(self, rng: np.random.Generator, n: int) -> AECWorlds:
        """n games, each begun by ``env.reset(seed=...)``. Takes one draw a world from ``rng``."""
        return self._dealt(rng.integers(0, 2**31, size=n))

    def deal_some(self, rng: np.random.Generator, n: int, rows: IntArray) -> AECWorlds:
        return self._dealt(rng.integers(0, 2**31, size=n)[rows])

    def _dealt(self, seeds: IntArray) -> AECWorlds:
        positions = []
        for seed in seeds.tolist():
            self._env.reset(seed=seed)
            positions.append(self._position((0.0,) * self.num_players))
        return AECWorlds(self, positions)

    def action_to_string(self, player: int, action: int) -> str:
        require_said(player, action, self)
        return f"{self.players[player]} plays {action}"

    def current_player(self, state: Position) -> int:
        return state.mover

    def legal_mask(self, state: Position) -> BoolArray:
        return state.legal

    def returns(self, state: Position) -> Sequence[float]:
        return state.returns

    def after(self, position: Position, action: int) -> Position:
        """The position that a legal action leads to."""
        kept, state = position.state
        for name, value in copy.deepcopy(kept).items():
            setattr(self._env, name, value)
        self.adapter.restore(self._env, state)
        self._env.step(action)
        got = [float(self._env.rewards[agent]) for agent in self.players]
        return self._position(tuple(a + b for a, b in zip(position.returns, got, strict=True)))

    def _position(self, returns: tuple[float, ...]) -> Position:
        """Where the environment is now."""
        env = self._env
        missing = [name for name in BOOKKEEPING if not hasattr(env, name)]
        if missing:
            raise UnsupportedError(
                f"{self.name} must have what every AEC environment has after reset, "
                f"got no {', '.join(missing)}"
            )
        ended = {env.terminations[agent] or env.truncations[agent] for agent in self.players}
        if len(ended) > 1:
            raise UnsupportedError(f"players of {self.name} do not end together")
        legal = np.zeros(self.num_actions, dtype=np.bool_)
        mover = NOBODY
        if not ended.pop():
            mover = self.players.index(env.agent_selection)
            mask = np.asarray(self.adapter.mask(env, env.agent_selection))
            if mask.shape != legal.shape or not mask.any():
                raise ContractError(
                    f"the mask of {env.agent_selection} must have {self.num_actions} elements, "
                    f"one of them true, got {mask!r}"
                )
            legal = np.asarray(mask, dtype=np.bool_)
        kept = {name: copy.deepcopy(getattr(env, name)) for name in BOOKKEEPING}
        seen = tuple(np.array(self.adapter.observe(env, agent)) for agent in self.players)
        return Position((kept, self.adapter.snapshot(env)), mover, returns, legal, seen)


class DeterministicAECGame(AECGame, Enumerable):
    """An AEC environment without any chance: exact beliefs, and so any search, work at once."""

    def deals(self) -> tuple[AECWorlds, FloatArray]:
        return self.deal(np.random.default_rng(0), 1), np.ones(1)

    def branch(self, worlds: Worlds, actions: IntArray) -> tuple[AECWorlds, IntArray, FloatArray]:
        everything = np.arange(len(worlds))
        after = _ours(worlds).select(everything)
        after.step(actions)
        return after, everything, np.ones(len(worlds))

    def concat(self, parts: Sequence[Worlds]) -> AECWorlds:
        return AECWorlds(self, [at for part in parts for at in _ours(part).states])

    def reseed(self, worlds: Worlds, rng: np.random.Generator) -> AECWorlds:
        return _ours(worlds).select(np.arange(len(worlds)))


def bare(env: Any) -> Any:
    """An environment without the wrappers around it; a parallel one in ``parallel_to_aec`` stays
    there."""
    while isinstance(env, BaseWrapper):
        env = env.env
    return env


def _ours(worlds: Worlds) -> AECWorlds:
    if not isinstance(worlds, AECWorlds):
        raise UnsupportedError(f"expected AECWorlds, got {type(worlds).__name__}")
    return worlds
