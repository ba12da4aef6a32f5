"""Thousands of games of native Hanabi as one Gymnasium vector environment.

``gymnasium.make_vec("HanabiSearch/Hanabi-v0", num_envs=4096)`` makes it once
``wrappers.gymnasium`` is imported. Letters: N games, P players, A actions, E elements of an
observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.hanabi.engine.encoding import encode
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.hanabi.engine.text import why_illegal
from hanabi_search_plugin.registry import AnyPolicy
from hanabi_search_plugin.wrappers._gymnasium_env import (
    ILLEGAL_REWARD,
    check_parameters,
    game_of,
    load_partners,
    observation_space,
)

DRAWN_AT_ONCE = 64  # games a generator draws the seeds of: a call costs more than a number

Bools = NDArray[np.bool_]
Result = tuple[NDArray[Any], NDArray[np.float64], Bools, Bools, dict[str, Any]]


class HanabiVectorEnv(VectorEnv[Any, Any, Any]):
    """N games stepped together, each the game that ``HanabiEnv`` plays with the same seed.

    Parameters are those of ``HanabiEnv``, and these. ``encoding=None`` gives observations without
    elements, for an encoder of your own that reads ``view()``. ``autoreset_mode`` says how a game
    begins after one that has ended, as Gymnasium names it:

    * NEXT_STEP: the next step begins it, and ignores the action
    * SAME_STEP: the same step begins it; ``info["final_obs"]`` and ``info["final_info"]`` have the
      last observation and info of the game that has ended
    * DISABLED: ``reset(options={"reset_mask": which})`` begins it

    ``info["action_mask"]`` is int8 [N, A]. Where a game has just ended it is empty, but under
    SAME_STEP. Where the partners lose a game before the seat's first turn, it is empty, too, and
    the next action, whatever it is, ends the game. Compiled bots as partners are stepped in one
    compiled loop, others act for all games at once; what searching partners have found is not kept.

    Raises ConfigError for bad parameters, UnsupportedError for partners that are no policies.
    Copies by pickle and deepcopy keep all games.
    """

    def __init__(
        self,
        num_envs: int = 1,
        players: int = 2,
        seat: int = 0,
        partners: AnyPolicy | tuple[AnyPolicy, ...] = "smartbot",
        encoding: str | None = "openspiel",
        illegal: Literal["end", "raise"] = "end",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        **parameters: Any,
    ) -> None:
        num_envs = require_integer("num_envs", num_envs, 1)
        self.game = game_of(players, parameters, HanabiVectorEnv)
        check_parameters(self.game, seat, illegal)
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            modes = ", ".join(mode.value for mode in AutoresetMode)
            raise ConfigError(
                f"autoreset_mode must be one of {modes}, got {autoreset_mode!r}"
            ) from None
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.num_envs, self.seat, self.encoding, self.illegal = num_envs, seat, encoding, illegal
        self.partners = load_partners(self.game, seat, partners)
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.single_observation_space = (
            spaces.Box(0, 1, (0,), np.uint8)
            if encoding is None
            else observation_space(self.game, encoding)
        )
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._tables = self.game.tables(seat, self.partners, num_envs)
        self._rngs: list[np.random.Generator] = []
        self._drawn = np.zeros((num_envs, DRAWN_AT_ONCE, 2), dtype=np.uint64)  # of decks, partners
        self._used = np.full(num_envs, DRAWN_AT_ONCE)  # how many of them
        self._over = np.ones(num_envs, dtype=np.bool_)
        self._legal = np.zeros((num_envs, self.game.num_actions), dtype=np.bool_)  # [N, A]

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin all games, or those of ``options["reset_mask"]`` (bool [N]).

        A number s as ``seed`` seeds game i with s + i, a sequence each game with its own. Without a
        seed, games go on drawing from the ones they had. Raises ConfigError for bad options and a
        wrong number of seeds.
        """
        which = self._reset_mask(options)
        first = not self._rngs
        if first and not which.all():
            raise ConfigError("reset_mask must hold for all games at the first reset, got some")
        seeds = self._seeds(seed)
        for i in np.flatnonzero(which).tolist():
            if first:
                self._rngs.append(seeding.np_random(seeds[i])[0])
            elif seeds[i] is not None:
                self._rngs[i] = seeding.np_random(seeds[i])[0]
                self._used[i] = DRAWN_AT_ONCE
        self._begin(which)
        return self._observations(), self._masks(which)

    def step(self, actions: Any) -> Result:
        """Play one action of the seat in every game.

        Raises IllegalActionError before the first reset, for anything but N integers, for a game
        that is over (DISABLED), and for an illegal action with ``illegal="raise"``. Then no game
        has moved.
        """
        if not self._rngs:
            raise IllegalActionError("expected running games: call reset() first")
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or chosen.dtype.kind not in "iu":
            raise IllegalActionError(
                f"expected {self.num_envs} whole numbers, got {chosen.dtype} of shape "
                f"{chosen.shape}"
            )
        chosen = chosen.astype(np.int64)
        again = self._over.copy()  # games that begin in this step
        if again.any() and self.autoreset_mode is AutoresetMode.DISABLED:
            raise IllegalActionError(
                f"game {again.argmax()} is over: reset it by options={{'reset_mask': which}}"
            )
        stuck = ~self._legal.any(axis=1) & ~again  # lost before the seat's first turn
        known = (chosen >= 0) & (chosen < self.game.num_actions)
        legal = self._legal[np.arange(self.num_envs), np.where(known, chosen, 0)] & known
        wrong = ~(legal | again | stuck)
        info = self._refused(np.flatnonzero(wrong), chosen)
        rewards = self._tables.move(legal & ~again, chosen)
        rewards[wrong] = ILLEGAL_REWARD
        terminated = (self._tables.worlds.terminal | wrong) & ~again
        self._over = terminated.copy()
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            again = terminated
            if again.any():
                info = self._finals(again, info)
        if again.any():
            self._begin(again)
        observations = self._observations()
        every = np.ones(self.num_envs, dtype=np.bool_)
        return observations, rewards, terminated, ~every, info | self._masks(every)

    def action_masks(self) -> Bools:
        """[N, A] the legal actions of the seat. sb3-contrib looks for a method of this name."""
        return self._legal.copy()

    def view(self) -> HanabiView:
        """What the seat sees of all games."""
        return self._tables.worlds.view(self.seat)

    # ------------------------------------------------------------------------------------- within

    def _begin(self, which: Bools) -> None:
        for i in np.flatnonzero(which & (self._used == DRAWN_AT_ONCE)).tolist():
            shape = self._drawn[i].shape
            self._drawn[i] = self._rngs[i].integers(0, 2**64, size=shape, dtype=np.uint64)
            self._used[i] = 0
        drawn = self._drawn[np.arange(self.num_envs), self._used % DRAWN_AT_ONCE]  # [N, 2]
        self._used[which] += 1
        decks, streams = np.ascontiguousarray(drawn.T)
        self._tables.begin(which, decks, streams)
        self._over[which] = False

    def _observations(self) -> NDArray[Any]:
        self._legal = self._tables.worlds.legal
        return self._encoded(self._tables.worlds.rows)

    def _encoded(self, rows: NDArray[np.int32]) -> NDArray[Any]:
        if self.encoding is None:
            return np.empty((len(rows), 0), dtype=np.uint8)
        return np.ascontiguousarray(encode(self.game.config, rows, self.seat, self.encoding))

    def _masks(self, which: Bools) -> dict[str, Any]:
        """The masks of the games ``which`` [N], as an info."""
        mask = self._tables.worlds.legal & which[:, None]
        return {"action_mask": mask.astype(np.int8), "_action_mask": which.copy()}

    def _finals(self, which: Bools, info: dict[str, Any]) -> dict[str, Any]:
        """The info of a step that begins games again, with the last of those that have ended."""
        observations = np.full(self.num_envs, None, dtype=object)
        index = np.flatnonzero(which)
        for i, last in zip(index, self._encoded(self._tables.worlds.rows[index]), strict=True):
            observations[i] = last
        return {
            "final_obs": observations,
            "_final_obs": which.copy(),
            "final_info": info | self._masks(which),
            "_final_info": which.copy(),
        }

    def _refused(self, index: NDArray[np.int64], actions: NDArray[np.int64]) -> dict[str, Any]:
        """The info of illegal actions at ``index``. Raises IllegalActionError with "raise"."""
        if len(index) == 0:
            return {}
        reasons = np.full(self.num_envs, None, dtype=object)
        for i in index.tolist():
            reason = why_illegal(self.game.config, self._tables.worlds.rows[i], int(actions[i]))
            reasons[i] = f"action {actions[i]} is not legal: {reason}"
            if self.illegal == "raise":
                raise IllegalActionError(f"in game {i} {reasons[i]}")
        return {"illegal": reasons, "_illegal": np.isin(np.arange(self.num_envs), index)}

    def _reset_mask(self, options: dict[str, Any] | None) -> Bools:
        """[N] the games to begin."""
        given = dict(options or {})
        mask = given.pop("reset_mask", None)
        if given:
            raise ConfigError(f"options may have a reset_mask, got {', '.join(given)}")
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise ConfigError(
                f"reset_mask must be bool [{self.num_envs}] and hold for one game at least, got "
                f"{mask.dtype} of shape {mask.shape}"
            )
        return mask

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        """A seed a game."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + i for i in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ConfigError(f"seed must be one or {self.num_envs} of them, got {len(seed)}")
        return list(seed)
