"""Native Hanabi as a PettingZoo AEC environment, in place of ``pettingzoo.classic.hanabi_v5``.

It has the parameters, agents, actions, spaces, observations, masks and rewards of ``hanabi_v5``. It
is faster and mends some faults, which ``raw_env`` lists.
Letters: P players, A actions, N elements of an observation.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError
from hanabi_search_plugin.core.settings import named_arguments, settings_of
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.encoding import observation_size
from hanabi_search_plugin.hanabi.engine.layout import TURN
from hanabi_search_plugin.hanabi.engine.single_game import REWARD_SHIFT, advance, setup, show
from hanabi_search_plugin.hanabi.engine.text import action_in_words, why_illegal
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers._render import RENDER_MODES, check_render_mode, rendered

AgentID = str


DEALT_AT_ONCE = 32  # games, where resets without a seed follow each other: a deal costs a call


def env(*given: Any, **parameters: Any) -> Any:
    """Make a ``raw_env`` in the wrappers that ``hanabi_v5.env`` has.

    Parameters are those of ``raw_env``. An illegal move ends the game with -1 for the player who
    made it. A lost game counts 0 here, always, as in ``hanabi_v5`` (``bomb="zero"`` of
    ``HanabiConfig``). An action outside the space and calls out of order raise PettingZoo's errors.
    Raises ConfigError as ``raw_env``.
    """
    wrapped = _TerminateIllegal(raw_env(*given, **parameters), illegal_reward=-1)
    return _OrderEnforcing(wrappers.AssertOutOfBoundsWrapper(wrapped))


def _one(name: str, ours: int | None, theirs: int | None) -> int:
    """A parameter that has two names, by either of them, or its default."""
    if ours is not None and theirs is not None:
        raise ConfigError(f"{name} and max_{name} are one parameter: expected one, got both")
    given = theirs if ours is None else ours
    default: int = settings_of(HanabiConfig)[name].default
    return default if given is None else given


class raw_env(AECEnv):  # type: ignore[misc]  # untyped; the name is PettingZoo's
    """Hanabi, one player at a time.

    Parameters are those of ``hanabi_v5``, within the ranges of ``HanabiConfig``. ``hand_size`` 0 is
    the rule book's: 5 cards for 2 and 3 players, else 4. ``max_information_tokens`` (8) and
    ``max_life_tokens`` (3) may be named as in ``HanabiConfig``, ``information_tokens`` and
    ``life_tokens``. A lost game counts 0, always (``bomb="zero"`` of ``HanabiConfig``). Raises
    ConfigError for bad parameters.

    It differs from ``hanabi_v5`` in this:

    * with ``random_start_player``, the player who begins is the one who is asked to move
    * ``reset(seed=...)`` makes that game and all games that follow reproducible
    * copies by pickle and deepcopy keep the game and go on identically
    * the observations after the last move show it
    * an illegal action raises IllegalActionError
    * the table is rendered with all hands open: "human" prints it in colour after every step,
      "ansi" returns it as a text, "rgb_array" as a picture, uint8 [height, width, 3] (it needs
      Pillow, the extra ``render``)
    """

    #: what PettingZoo reads: how it can be rendered, its name, that it has no parallel form
    metadata = {  # noqa: RUF012  # as PettingZoo declares it
        "render_modes": list(RENDER_MODES),
        "name": "hanabi_v5",
        "is_parallelizable": False,
        "render_fps": 2,
    }

    @named_arguments()
    def __init__(
        self,
        colors: int = 5,
        ranks: int = 5,
        players: int = 2,
        hand_size: int = 0,
        max_information_tokens: int | None = None,
        max_life_tokens: int | None = None,
        observation_type: Any = "card_knowledge",
        random_start_player: bool = False,
        render_mode: str | None = None,
        *,
        information_tokens: int | None = None,
        life_tokens: int | None = None,
    ) -> None:
        super().__init__()
        check_render_mode(render_mode)
        self.config = HanabiConfig(
            players=players,
            colors=colors,
            ranks=ranks,
            hand_size=hand_size,
            information_tokens=_one(
                "information_tokens", information_tokens, max_information_tokens
            ),
            life_tokens=_one("life_tokens", life_tokens, max_life_tokens),
            random_start_player=random_start_player,
            observation_type=observation_type,
        )
        self.render_mode = render_mode
        self.possible_agents = [f"player_{p}" for p in range(players)]
        self.agents: list[AgentID]  # there from the first reset on, as all that changes
        size = observation_size(self.config)
        self.action_spaces: dict[AgentID, spaces.Space[Any]] = {
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
        self._setup = setup(self.config)
        self._size, self._num_actions = size, self.config.num_actions
        self._row = self._game.template[None]  # [1, W]
        self._no_rewards = dict.fromkeys(self.possible_agents, 0.0)
        self._dealt: list[NDArray[np.int32]] = []  # [1, W] each, the games to come
        self._seen: dict[AgentID, NDArray[np.float64]] = {}  # observations of this moment

    def __repr__(self) -> str:
        return f"<raw_env of {self._game!r}>"

    def observation_space(self, agent: AgentID) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: AgentID) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    @property
    def observation_vector_dim(self) -> tuple[int, ...]:
        """The shape of an observation, (N,)."""
        return (self._size,)

    @property
    def legal_moves(self) -> list[int]:
        """The ids of the moves that the agent to move may make."""
        mask = self.infos[self.agent_selection]["action_mask"]
        return [int(action) for action in np.flatnonzero(mask)]

    @property
    def all_moves(self) -> list[int]:
        """The ids of all moves, 0 .. A - 1."""
        return list(range(self._num_actions))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new game.

        ``options["deck"]`` sets the deck: the identities of all cards, the first dealt first.
        ``options["first_player"]`` says who begins. Other options are ignored, as PettingZoo asks.
        Raises ConfigError for a deck or a player that cannot be.
        """
        if seed is not None:
            self._rng = np.random.default_rng(seed)
            self._dealt = []
        if not self._dealt:
            games = 1 if seed is not None else DEALT_AT_ONCE
            self._dealt = list(self._game.deal(self._rng, games).rows[::-1, None])
        row = self._dealt.pop().copy()
        if options:
            row = self._chosen(row, options)
        self._row = row
        self.agents = self.possible_agents[:]
        self.rewards = self._no_rewards.copy()
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {"action_mask": self._no_moves()} for agent in self.agents}
        self._skip_agent_selection = None
        # Two a move, made at once.
        self._masks = iter(np.zeros((2 * self._game.max_length, self._num_actions), np.int8))
        self._seen = {}
        self.agent_selection = self.possible_agents[row[0, TURN]]
        self._look(self.agent_selection)

    def step(self, action: Any) -> None:
        if not self.move(action):
            raise IllegalActionError(self._explain(action))

    def move(self, action: Any) -> bool:
        """Play an action as ``step`` does. Returns False, and changes nothing, if it is illegal."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return True
        try:
            chosen = operator.index(action)
        except TypeError:
            return False
        mask, observation = next(self._masks), np.empty(self._size)
        code = advance(self._setup, self._row, chosen, mask, observation)
        if code < 0:
            self._masks = iter([mask, *self._masks])  # nothing was written
            return False
        reward, turn = (code >> 3) - REWARD_SHIFT, (code & 7) - 1
        self._cumulative_rewards[agent] = 0.0
        self.rewards = self._no_rewards.copy()
        if reward:
            for name in self.agents:
                self.rewards[name] = float(reward)
                self._cumulative_rewards[name] += reward
        infos = self.infos
        infos[agent] = {"action_mask": next(self._masks)}
        if turn < 0:
            self.terminations = dict.fromkeys(self.agents, True)
            turn = 0
        self.agent_selection = following = self.possible_agents[turn]
        infos[following] = {"action_mask": mask}
        self._seen = {following: observation}
        if self.render_mode == "human":
            self.render()
        return True

    def observe(self, agent: AgentID) -> dict[str, Any]:
        seen = self._seen.get(agent)
        if seen is None:
            seen = self._look(agent)
        info = self.infos.get(agent)
        mask = self._no_moves() if info is None else info["action_mask"]
        return {"observation": seen, "action_mask": mask}

    def render(self) -> str | NDArray[np.uint8] | None:
        """Return the table (modes "ansi" and "rgb_array"), or print it ("human").

        Raises UnsupportedError for a picture without Pillow.
        """
        return rendered(self.render_mode, self.config, self._row[0])

    def close(self) -> None:
        pass

    def _chosen(self, row: NDArray[np.int32], options: dict[str, Any]) -> NDArray[np.int32]:
        """A game of the deck and first player that are asked for, else those of ``row``."""
        if "deck" in options:
            row = self._game.from_decks([options["deck"]], int(row[0, TURN])).rows
        if "first_player" in options:
            first = options["first_player"]
            if first not in range(self.config.players):
                raise ConfigError(
                    f"first_player must be from 0 to {self.config.players - 1}, got {first!r}"
                )
            row[0, TURN] = first
        return row

    def _look(self, agent: AgentID) -> NDArray[np.float64]:
        """The observation of ``agent``; its mask goes into the infos where it is to move."""
        mask, observation = np.empty(self._num_actions, np.int8), np.empty(self._size)
        seat = self._seats[agent]
        if show(self._setup, self._row, seat, mask, observation) == seat:
            self.infos[agent] = {"action_mask": mask}
        self._seen[agent] = observation
        return observation

    def _no_moves(self) -> NDArray[np.int8]:
        return np.zeros(self._num_actions, np.int8)

    def _explain(self, action: Any) -> str:
        try:
            chosen, row = operator.index(action), self._row[0]
        except TypeError:
            return f"an action must be from 0 to {self._num_actions - 1}, got {action!r}"
        known = 0 <= chosen < self._num_actions
        words = action_in_words(self.config, int(row[TURN]), chosen) if known else str(chosen)
        return f'action "{words}" is not legal: {why_illegal(self.config, row, chosen)}'


env.__signature__ = inspect.signature(raw_env).replace(return_annotation="Any")  # type: ignore[attr-defined]


# ---------------------------------------------------------------------- the wrappers of PettingZoo
#
# A wrapper looks up what it does not have in the one below it, at some microseconds a name, and
# three of them ask for a lot. So the outer one goes to the environment itself, which knows what is
# legal; a move that is not takes the long way, where PettingZoo's wrappers say what is wrong.


def _from_below(name: str) -> property:
    # Where the environment has no such attribute yet, the wrapper's own lookup goes on.
    return property(operator.attrgetter(f"_below.{name}"))


class _TerminateIllegal(wrappers.TerminateIllegalWrapper):  # type: ignore[misc]
    def step(self, action: Any) -> None:
        self._prev_obs = None  # it may be of an earlier moment: not every step comes by here
        super().step(action)


class _OrderEnforcing(wrappers.OrderEnforcingWrapper):  # type: ignore[misc]
    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self._below = env.unwrapped

    def __repr__(self) -> str:
        return f"<env of {self._below._game!r}>"

    agents = _from_below("agents")
    agent_selection = _from_below("agent_selection")
    rewards = _from_below("rewards")
    terminations = _from_below("terminations")
    truncations = _from_below("truncations")
    infos = _from_below("infos")
    _cumulative_rewards = _from_below("_cumulative_rewards")

    def step(self, action: Any) -> None:
        if self._has_reset and self._below.agents and self._below.move(action):
            self._has_updated = True
        else:
            super().step(action)

    def last(self, observe: bool = True) -> Any:
        return self._below.last(observe) if self._has_reset else super().last(observe)

    def observe(self, agent: AgentID) -> Any:
        return self._below.observe(agent) if self._has_reset else super().observe(agent)

    def __str__(self) -> str:
        return str(self.env)
