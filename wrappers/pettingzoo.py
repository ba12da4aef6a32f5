"""Native Hanabi as a PettingZoo AEC environment, a drop-in for ``pettingzoo.classic.hanabi_v5``.

The same parameters, agents, actions, spaces, observations, masks and rewards; only faster, and
without some of its faults: ``raw_env`` says which. Agents for either environment are in
``pettingzoo_agents``, searches in other AEC environments in ``pettingzoo_games``.
Letters: P players, A actions, N elements of an observation, W words of a row.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from hanabi_search_plugin.errors import ConfigError, IllegalActionError
from hanabi_search_plugin.hanabi.config import HanabiConfig
from hanabi_search_plugin.hanabi.encoding import observation_size
from hanabi_search_plugin.hanabi.game import HanabiGame
from hanabi_search_plugin.hanabi.layout import TURN
from hanabi_search_plugin.hanabi.one_game import REWARD_SHIFT, advance, encoding_tables, show
from hanabi_search_plugin.hanabi.text import action_in_words, describe, why_illegal

AgentID = str


def env(**parameters: Any) -> Any:
    """``raw_env`` in the wrappers that ``hanabi_v5.env`` has: an illegal move ends the game with
    -1 for who made it, an action outside the space and calls out of order raise."""
    wrapped = _TerminateIllegal(raw_env(**parameters), illegal_reward=-1)
    return _OrderEnforcing(_AssertOutOfBounds(wrapped))


class raw_env(AECEnv):  # type: ignore[misc]  # untyped; the name is PettingZoo's
    """Hanabi, one player at a time.

    Parameters are those of ``hanabi_v5``, within the ranges of ``HanabiConfig``; ``hand_size`` 0 is
    the rule book's (5 cards for 2 and 3 players, else 4). Raises ConfigError.

    Unlike ``hanabi_v5``: a random first player is the one who is asked to move; games after
    ``reset(seed=...)`` are reproducible to the last, however often ``reset()`` follows; pickle and
    deepcopy keep the game and go on identically; observations after the last move show it; an
    illegal action raises IllegalActionError; the one render mode is "ansi", a text.
    """

    metadata = {  # noqa: RUF012  # as PettingZoo declares it
        "render_modes": ["ansi"],
        "name": "hanabi_v5",
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        colors: int = 5,
        ranks: int = 5,
        players: int = 2,
        hand_size: int = 0,
        max_information_tokens: int = 8,
        max_life_tokens: int = 3,
        observation_type: Any = "card_knowledge",
        random_start_player: bool = False,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        if render_mode not in (None, "ansi"):
            raise ConfigError(f"render_mode must be None or ansi, got {render_mode!r}")
        self.config = HanabiConfig(
            players=players,
            colors=colors,
            ranks=ranks,
            hand_size=hand_size,
            information_tokens=max_information_tokens,
            life_tokens=max_life_tokens,
            random_start_player=random_start_player,
            observation_type=observation_type,
        )
        self.render_mode = render_mode
        self.possible_agents = [f"player_{p}" for p in range(players)]
        self.agents: list[AgentID]  # there from the first reset on, as all that changes
        size = observation_size(self.config)
        self.action_spaces = {
            agent: spaces.Discrete(self.config.num_actions) for agent in self.possible_agents
        }
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(-np.inf, np.inf, (size,), np.float64),
                    "action_mask": spaces.Box(0, 1, (self.config.num_actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self._game = HanabiGame(self.config)
        self._seats = {agent: p for p, agent in enumerate(self.possible_agents)}
        self._rng = np.random.default_rng()
        self._tables, self._spread = encoding_tables(self.config)
        self._dims = self._game.dims
        self._minimal = observation_type == "minimal"
        self._seer = observation_type == "seer"
        self._size, self._num_actions = size, self.config.num_actions
        self._words = np.empty((1, (size + 63) // 64), dtype=np.int64)  # scratch of the encoder
        self._row = self._game.template[None].copy()  # [1, W]
        self._seen: dict[AgentID, NDArray[np.float64]] = {}  # observations of this moment

    def observation_space(self, agent: AgentID) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: AgentID) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    @property
    def observation_vector_dim(self) -> tuple[int, ...]:
        return (self._size,)

    @property
    def legal_moves(self) -> list[int]:
        mask = self.infos[self.agent_selection]["action_mask"]
        return [int(action) for action in np.flatnonzero(mask)]

    @property
    def all_moves(self) -> list[int]:
        return list(range(self._num_actions))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new game.

        ``options`` may have a ``"deck"``, the identities of all its cards, first dealt first, and
        a ``"first_player"``; others are ignored, as PettingZoo asks. Raises ConfigError.
        """
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        options = options or {}
        worlds = self._game.deal(self._rng, 1)
        if "deck" in options:
            worlds = self._game.from_decks([options["deck"]], int(worlds.rows[0, TURN]))
        if "first_player" in options:
            first = options["first_player"]
            if first not in range(self.config.players):
                raise ConfigError(
                    f"first_player must be from 0 to {self.config.players - 1}, got {first!r}"
                )
            worlds.rows[0, TURN] = first
        self._row = worlds.rows
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"action_mask": self._no_moves()} for agent in self.agents}
        self._skip_agent_selection = None
        self._seen = {}
        self.agent_selection = self.possible_agents[self._row[0, TURN]]
        self._look(self.agent_selection)

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        try:
            chosen = operator.index(action)
        except TypeError:
            raise IllegalActionError(
                f"an action must be from 0 to {self._num_actions - 1}, got {action!r}"
            ) from None
        mask = np.empty(self._num_actions, np.int8)
        observation = np.empty(self._size)
        code = advance(
            self._dims, self._tables, self._spread, self._row, self._words, chosen,
            self._minimal, self._seer, mask, observation,
        )  # fmt: skip
        if code < 0:
            raise IllegalActionError(self._explain(chosen))
        reward, turn = float((code >> 3) - REWARD_SHIFT), (code & 7) - 1
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict.fromkeys(self.agents, reward)
        if reward:
            for name in self.agents:
                self._cumulative_rewards[name] += reward
        infos = self.infos
        infos[agent] = {"action_mask": self._no_moves()}
        if turn < 0:
            self.terminations = dict.fromkeys(self.agents, True)
            turn = 0
        self.agent_selection = following = self.possible_agents[turn]
        infos[following] = {"action_mask": mask}
        self._seen = {following: observation}

    def observe(self, agent: AgentID) -> dict[str, Any]:
        seen = self._seen.get(agent)
        if seen is None:
            seen = self._look(agent)
        info = self.infos.get(agent)
        mask = self._no_moves() if info is None else info["action_mask"]
        return {"observation": seen, "action_mask": mask}

    def render(self) -> str | None:
        """The board as a text, all hands open; None without a render mode."""
        return describe(self.config, self._row[0]) if self.render_mode == "ansi" else None

    def close(self) -> None:
        pass

    def _look(self, agent: AgentID) -> NDArray[np.float64]:
        """The observation of ``agent``; its mask goes into the infos where it is to move."""
        mask = np.empty(self._num_actions, np.int8)
        observation = np.empty(self._size)
        seat = self._seats[agent]
        turn = show(
            self._dims, self._tables, self._spread, self._row, self._words, seat,
            self._minimal, self._seer, mask, observation,
        )  # fmt: skip
        if turn == seat:
            self.infos[agent] = {"action_mask": mask}
        self._seen[agent] = observation
        return observation

    def _no_moves(self) -> NDArray[np.int8]:
        return np.zeros(self._num_actions, np.int8)

    def _explain(self, action: int) -> str:
        row = self._row[0]
        known = 0 <= action < self._num_actions
        words = action_in_words(self.config, int(row[TURN]), action) if known else str(action)
        return f'action "{words}" is not legal: {why_illegal(self.config, row, action)}'


# ---------------------------------------------------------------------- the wrappers of PettingZoo
#
# A wrapper looks up what it does not have in the one below it, at some microseconds a name. These
# ask the environment itself. Where it has no such attribute yet, the wrapper's own lookup goes on.


def _from_below(name: str) -> property:
    return property(lambda wrapper: getattr(wrapper._below, name))


class _Direct(wrappers.BaseWrapper):  # type: ignore[misc]  # PettingZoo is untyped
    def __init__(self, env: Any, **options: Any) -> None:
        super().__init__(env, **options)
        self._below = env.unwrapped

    agents = _from_below("agents")
    agent_selection = _from_below("agent_selection")
    rewards = _from_below("rewards")
    terminations = _from_below("terminations")
    truncations = _from_below("truncations")
    infos = _from_below("infos")
    _cumulative_rewards = _from_below("_cumulative_rewards")

    def action_space(self, agent: AgentID) -> spaces.Space[Any]:
        space: spaces.Space[Any] = self._below.action_space(agent)
        return space


class _TerminateIllegal(_Direct, wrappers.TerminateIllegalWrapper):  # type: ignore[misc]
    pass


class _AssertOutOfBounds(_Direct, wrappers.AssertOutOfBoundsWrapper):  # type: ignore[misc]
    pass


class _OrderEnforcing(_Direct, wrappers.OrderEnforcingWrapper):  # type: ignore[misc]
    def __str__(self) -> str:
        return str(self.env)
