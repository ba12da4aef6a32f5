"""The judge: a policy, a set of partners, and how much to spend on a position."""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args, overload

import numpy as np

from hanabi_search_plugin.beliefs.mixture import Mixture
from hanabi_search_plugin.beliefs.unknown_partners import MixtureBelief
from hanabi_search_plugin.core.agent import require_no_search
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import (
    ConfigError,
    HanabiSearchError,
    RecordError,
    UnsupportedError,
)
from hanabi_search_plugin.core.game import Game, History, View
from hanabi_search_plugin.core.objective import Objective, require_objective
from hanabi_search_plugin.core.policy import Blueprint, Policy
from hanabi_search_plugin.core.require import (
    require_choice,
    require_integer,
    require_positive,
    require_share,
)
from hanabi_search_plugin.core.settings import NamedOptions
from hanabi_search_plugin.core.words import an
from hanabi_search_plugin.evaluation.executor import Executor, Place, require_executor
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.engine.config import Bomb, HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.hanabi.files.analysis import move_values
from hanabi_search_plugin.hanabi.files.recorded_positions import Candidates, follow
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.judge.seat_histories import (
    from_the_deal,
    history_of_game,
    history_of_texts,
)
from hanabi_search_plugin.judge.verdict import Evidence, Verdict, verdict_of
from hanabi_search_plugin.registry import (
    AnyBlueprint,
    AnyPolicy,
    blueprint_of,
    policy_of,
    require_known,
)

_logger = logging.getLogger("hanabi_search_plugin")

Position = str | Sequence[str] | View | History | RecordedGame | tuple[RecordedGame, int]
"""What a judge takes: see ``Judge.__call__``."""

PLAYERS = range(2, 6)  # of a game
Errors = Literal["raise", "coerce"]
"""What becomes of a position that cannot be judged; as pandas has it."""

BOMBS = ("zero", "keep", "minus_one")


@dataclass(frozen=True)
class Judge(NamedOptions):
    """Values every legal move of a position, given what its player could know.

    ``policy`` is what everybody plays, or a tuple of one a seat; names, too. The player follows it
    after the judged move. The others play it, or one of ``partners``, of which their moves tell;
    and a random legal move with probability ``epsilon``. Each move is tried in ``rollouts`` worlds
    of the player's belief, the same for all, and dropped early where it is far behind
    (``hanabi.files.analysis.move_values``).

    ``objective`` as ``Sparta``'s: what points are. ``scale``: points of regret that divide a reward
    by e. ``config``: the game that texts are of, where it is not the standard one; ``bomb``: how a
    lost last life counts in texts, and in games that do not say. A verdict depends on the position
    and ``seed`` alone.

    Raises ConfigError for numbers out of range and names that are not known, UnsupportedError for
    what is no policy and a wrong number of them; where there is no ``config``, at the first
    position for policies that do not play its game.
    """

    policy: AnyBlueprint = "smartbot"
    partners: Sequence[AnyPolicy] | None = None
    rollouts: int = 1_000
    epsilon: float = 0.0
    objective: Objective = "score"
    scale: float = 1.0
    config: HanabiConfig | None = None
    bomb: Bomb = "zero"
    seed: int = 0
    _tables: dict[HanabiConfig, _Table] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if isinstance(self.policy, Game):
            raise UnsupportedError(
                "arguments must come as in Judge(policy, config=game.config), got "
                f"{an(type(self.policy).__name__)} in the place of the policy"
            )
        require_integer("rollouts", self.rollouts, 4)
        require_integer("seed", self.seed, 0)
        require_share("epsilon", self.epsilon)
        require_objective(self.objective)
        require_positive("scale", self.scale)
        require_choice("bomb", self.bomb, BOMBS)
        if self.config is not None and not isinstance(self.config, HanabiConfig):
            way = ": write game.config" if isinstance(self.config, HanabiGame) else ""
            raise ConfigError(f"config must be a HanabiConfig, or None, got {self.config!r}{way}")
        if self.partners is not None:
            listed = isinstance(self.partners, Sequence) and not isinstance(self.partners, str)
            if not (listed and self.partners):
                raise ConfigError(
                    f"partners must be a list of policies, or None, got {self.partners!r}"
                )
            require_known(self.partners, what="partners")
        require_known(self.policy)
        own = [self.policy] if isinstance(self.policy, str | Policy) else self.policy
        require_no_search([*own, *(self.partners or ())])
        if self.config is not None:
            self._table(self.config)
        elif not isinstance(self.policy, str | Policy) and len(self.policy) not in PLAYERS:
            raise UnsupportedError(
                f"expected a policy, or one for each of {PLAYERS[0]} to {PLAYERS[-1]} seats, got "
                f"{len(self.policy)}"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Without the loaded policies, which workers load for themselves."""
        return vars(self) | {"_tables": {}}

    def __call__(
        self,
        position: Position,
        *,
        moves: Sequence[Any] | None = None,
        turn: int | None = None,
    ) -> Verdict:
        """The verdict on one position.

        * text: an observation of OpenSpiel's Hanabi (``observation_string``) or of this package
          (``View.describe``), of the player to move; the belief holds all hands that it allows;
        * a list of texts: that player's observations before every move of the game, in turn, the
          last before its own; ``moves`` between them, where the texts leave them open;
        * a ``RecordedGame``: before the move number ``turn``, from 0, or where the record stops;
          what its player did not see is not read;
        * a ``View`` or a ``History`` of native Hanabi.

        Where all moves since the deal are known, the belief is the exact one; the verdict says so.
        Raises RecordError for what cannot be read, ConfigError where nobody is to move.
        """
        if isinstance(position, RecordedGame):
            bomb = position.bomb or self.bomb
            history = history_of_game(replace(position, bomb=bomb), turn)
        elif turn is not None or (moves is not None and isinstance(position, View | History)):
            raise ConfigError("turn is for recorded games, and moves are for lists of texts")
        elif isinstance(position, History):
            history = position
        elif isinstance(position, View):
            history = History(position.player, (position,))
        elif isinstance(position, str):
            history = history_of_texts([position], moves, self.config, self.bomb)
        elif isinstance(position, Sequence) and all(isinstance(each, str) for each in position):
            history = history_of_texts(
                [str(each) for each in position], moves, self.config, self.bomb
            )
        else:
            raise RecordError(
                f"a position must be text, a list of texts, a View, a History or a RecordedGame, "
                f"got {_cut(position)}"
            )
        return self._verdict(
            self._belief(history), whole=from_the_deal(history), alone=not history.events
        )

    def game(self, record: RecordedGame) -> list[Verdict]:
        """[T] the verdicts on every move of a recorded game. Raises RecordError."""
        if not isinstance(record, RecordedGame):
            raise RecordError(f"a game must be a RecordedGame, got {_cut(record)}")
        bomb = record.bomb or self.bomb
        record = replace(record, bomb=bomb)
        table = self._table(replace(record.config, bomb=bomb, random_start_player=False))
        return [
            self._verdict(position.belief, whole=True, alone=False)
            for position in follow(record, table.candidates, table.blueprint)
            if position.action is not None
        ]

    @overload
    def many(
        self,
        positions: Iterable[Position],
        *,
        threads: int | None = ...,
        executor: Executor | None = ...,
        errors: Literal["raise"] = ...,
    ) -> list[Verdict]: ...

    @overload
    def many(
        self,
        positions: Iterable[Position],
        *,
        threads: int | None = ...,
        executor: Executor | None = ...,
        errors: Literal["coerce"],
    ) -> list[Verdict | None]: ...

    def many(
        self,
        positions: Iterable[Position],
        *,
        threads: int | None = None,
        executor: Executor | None = None,
        errors: Errors = "raise",
    ) -> list[Verdict] | list[Verdict | None]:
        """The verdicts on many positions, in order; a tuple (record, turn) is one, too.

        ``threads`` None: as many as this process has cores. They, or the ``executor`` in their
        place, change no verdict. ``errors="raise"`` raises the first error, which names the
        position's number. With ``"coerce"``, as in pandas, None stands where a position cannot be
        judged, so that the list is as long as ``positions``; how many these are, and what is wrong
        with the first, is logged as a warning.
        """
        require_choice("errors", errors, get_args(Errors))
        if isinstance(positions, str):
            raise ConfigError(
                f"positions must be a list of positions, got one text: [{_cut(positions)}]"
            )
        if not isinstance(positions, Iterable):
            raise ConfigError(f"positions must be a list of positions, got {positions!r}")
        if executor is None:
            executor = Threads(len(os.sched_getaffinity(0)) if threads is None else threads)
        require_executor(executor)
        if errors == "raise":
            return list(self.each(positions, executor))
        found = list(executor.map(self._one_or_error, enumerate(positions)))
        bad = [one for one in found if isinstance(one, HanabiSearchError)]
        if bad:
            _logger.warning("%d of %d verdicts are None: %s", len(bad), len(found), bad[0])
        return [None if isinstance(one, HanabiSearchError) else one for one in found]

    def each(self, positions: Iterable[Position], executor: Executor) -> Iterator[Verdict]:
        """As ``many``, one after the other: positions are read as verdicts are taken."""
        yield from executor.map(self._one, enumerate(positions))

    def _one_or_error(self, numbered: tuple[int, Any], place: Place) -> Verdict | HanabiSearchError:
        try:
            return self._one(numbered, place)
        except HanabiSearchError as error:
            return error

    def _one(self, numbered: tuple[int, Any], place: Place) -> Verdict:
        number, position = numbered
        try:
            if (
                isinstance(position, tuple)
                and len(position) == 2
                and isinstance(position[0], RecordedGame)
            ):
                return self(position[0], turn=position[1])
            return self(position)
        except HanabiSearchError as error:
            raise type(error)(f"position {number}: {error}") from None

    # ------------------------------------------------------------------------------ parts

    def _belief(self, history: History) -> Belief:
        """The belief of ``history.seat`` at its end."""
        view = history.views[0]
        if not isinstance(view, HanabiView):
            raise ConfigError(f"a view must be one of native Hanabi, got {view!r}")
        if len(view) != 1:
            raise ConfigError(
                f"a position is one world, got a view of {len(view)}: "
                "view.select(np.array([0])) is the first of them"
            )
        table = self._table(view.game.config)
        known = tuple(
            policy if seat == history.seat else table.candidates.partner(seat)
            for seat, policy in enumerate(table.blueprint)
        )
        belief = HandBelief.start(table.rules, known, view)
        for event, after in zip(history.events, history.views[1:], strict=True):
            belief = belief.update(event, after)
        mixed = any(isinstance(policy, Mixture) for policy in known)
        return MixtureBelief(belief) if mixed else belief

    def _verdict(self, belief: Belief, *, whole: bool, alone: bool) -> Verdict:
        view = belief.view
        assert isinstance(view, HanabiView)
        if not view.legal.any():
            raise ConfigError(
                f"the position must be one in which its reader, player {view.player}, is to move"
            )
        config = view.game.config
        rng = np.random.default_rng([self.seed, zlib.crc32(view.rows.tobytes())])
        values = move_values(rng, belief, self.rollouts, objective=self.objective)
        return verdict_of(
            config,
            view.player,
            values,
            self.scale,
            belief=_evidence(belief, whole, alone),
            belief_size=belief.size,
            note="; ".join(belief.caveats()),
        )

    def _table(self, config: HanabiConfig) -> _Table:
        if config not in self._tables:
            rules = HanabiGame(config)
            blueprint = blueprint_of(self.policy, rules)
            if self.partners is None:
                policies: tuple[tuple[Policy, ...], ...] = tuple((each,) for each in blueprint)
            else:
                policies = (tuple(policy_of(each, rules) for each in self.partners),) * len(
                    blueprint
                )
            names = tuple(tuple(map(repr, each)) for each in policies)
            self._tables[config] = _Table(
                rules, blueprint, Candidates(policies, names, self.epsilon)
            )
        return self._tables[config]


_SHOWN = 60  # characters of what is refused


def _cut(given: object) -> str:
    shown = repr(given)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


@dataclass(frozen=True)
class _Table:
    """Whom a judge takes the players for, in one game."""

    rules: HanabiGame
    blueprint: Blueprint
    candidates: Candidates


def _evidence(belief: Belief, whole: bool, alone: bool) -> Evidence:
    if alone and not whole:
        return "hints"
    if not whole:
        return "partial"
    if belief.recovered:
        return "recovered"
    return "exact" if belief.exact else "sample"
