"""Information set Monte Carlo tree search, and RIS-MCTS (Goodman 2019, arXiv:1902.06075).

Each iteration draws a world from the belief (Algorithm 1, line 3), descends the tree by the upper
confidence bound, adds one node, lets the blueprint play the world to its end (or a guide estimate
its value), and adds to each move passed its mover's own return. The searches differ in whose
observations tell nodes apart, and in the world that a player finds when it is to move:

* ``SoIsmcts``: one tree, of what the searching seat sees;
* ``MoIsmcts``: one tree for each player, of what that player sees, descended together (Cowling,
  Powley and Whitehouse 2012). If every move is seen by all, they are one and the same tree;
* ``RisMcts``: as MoIsmcts, but what a player other than the root cannot see is redrawn before it
  moves (ENTERNODE) and restored, as far as possible, after it (EXITNODE), so that what the root
  knows does not leak into the moves of others. One tree if every move is seen by all.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np

from hanabi_search_plugin.algorithms.guided import Guided
from hanabi_search_plugin.algorithms.search_tree import Node, Nodes, Tree
from hanabi_search_plugin.core.agent import FitsGames, WrapsBelief, require_asked
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.capabilities import Redeterminizes
from hanabi_search_plugin.core.error_places import asking
from hanabi_search_plugin.core.errors import ConfigError, ContractError, UnsupportedError
from hanabi_search_plugin.core.game import NOBODY, Event, Game, View, Worlds
from hanabi_search_plugin.core.objective import OBJECTIVE, Objective, require_objective, utility
from hanabi_search_plugin.core.policy import (
    Blueprint,
    EstimatingGuide,
    Guide,
    Memory,
    RedrawingGuide,
    moves_of,
    observes,
    take,
)
from hanabi_search_plugin.core.reprs import settings_repr
from hanabi_search_plugin.core.require import (
    require_choice,
    require_flag,
    require_integers,
    require_positive,
    require_positive_or_0,
)
from hanabi_search_plugin.core.result import Reason, SearchResult
from hanabi_search_plugin.core.rollout import observe_all, play_on
from hanabi_search_plugin.core.settings import NamedOptions, described, setting
from hanabi_search_plugin.core.streams import Stream, Streams
from hanabi_search_plugin.core.tree import GrownTree, GrowsTrees, MoveStats, TreeSettings
from hanabi_search_plugin.core.walk import Walk, walks
from hanabi_search_plugin.core.watching import report_rollouts

Final = Literal["visits", "value"]
Leaves = Literal["rollouts", "estimates"]

ROUND = 100  # iterations whose worlds are drawn at once
TIMED_BATCH = 5  # iterations between two looks at the clock
DRAWS_AT_ONCE = 8  # random numbers of an iteration that are made in one batch with the others'


class _GuideOptions(NamedOptions):
    """Knows the options of the command line that are a guide in Python."""

    def __new__(cls, *unnamed: Any, **given: Any) -> Self:
        for name in ("rules", "convention", "evaluation"):
            if name in given:
                raise ConfigError(
                    f"{cls.__name__} has no {name}: its guide proposes moves, as in "
                    f"{cls.__name__}(guide=RuleAgent([PlaySafe(), TellRandomly()])) or "
                    'guide=load_policy("evalfn", game)'
                )
        return super().__new__(cls, *unnamed, **given)


@dataclass(frozen=True, kw_only=True, repr=False)
class TreeSearch(FitsGames, WrapsBelief, _GuideOptions):
    """What all tree searches share: ``MoIsmcts(iterations=1_000)(rng, belief)`` is one decision.

    It stops after ``iterations`` or ``seconds``, whichever comes first, and may be stopped after
    any round of ``results``. With ``seconds`` decisions depend on the machine's speed; without, the
    same ``rng`` gives the same decision. ``exploration`` is the constant C of equation 1, for
    returns scaled by the game's range to 0 .. 1 (0.1: paper, IV-C). ``depth`` limits the moves in
    the tree.

    ``nodes="moves"`` is open loop: only moves branch, not the outcomes of chance nor what others
    hide. With ``"observations"`` everything that an observer can see branches.

    ``guide`` restricts every node to the moves it proposes (if it proposes none, to the legal
    ones). If it estimates them, too (``EstimatingGuide``), all of them enter a node at once, each
    as if it had been tried ``prior_visits`` times. With ``leaves="estimates"`` (the paper's -NR) an
    iteration ends there, and the estimate of the best new move is backed up in place of a return.
    ``evidence=False``, as in the paper, draws worlds from all that the seat's observations allow;
    True, from its belief given that the others play the blueprint. With ``by_convention`` the guide
    redraws hidden information by its conventions (``RedrawingGuide``; the paper's program).

    ``SoIsmcts``, ``MoIsmcts`` and ``RisMcts`` are for agents of rules. Over a blueprint with
    conventions of its own, such as SmartBot, they play much worse by default than the blueprint
    does: their trees have others move as they like, and read nothing into their moves. Use
    ``Sparta`` there.

    The move played is the one with the most visits (of equals the best), or with the highest mean
    (``final="value"``). Raises ConfigError for settings out of range; when called, UnsupportedError
    where the game lacks what the search needs, and ContractError for a belief without the memory of
    the guide: ``wrap`` makes one with it.
    """

    iterations: int | None = setting(1_000, "Worlds that the tree of a decision is made of.")
    seconds: float | None = setting(
        None, "Stop a decision after this long, too: then results depend on the machine's speed."
    )
    exploration: float = setting(0.1, "The constant C of a tree, of the range of returns.")
    depth: int | None = setting(
        None, "Moves in a tree before its rollouts; None: as many as it comes to have."
    )
    nodes: Nodes = setting(
        "moves", "What tells the nodes of a tree apart: moves, or all that an observer sees."
    )
    final: Final = setting("visits", "The move to play has the most visits, or the highest value.")
    guide: Guide | None = setting(None, "What proposes the moves that a tree looks at; None: all.")
    prior_visits: int = setting(1, "Visits that a guide's estimate of a move counts as.")
    leaves: Leaves = setting(
        "rollouts", "What values a leaf of a tree: rollouts, or the guide's estimates."
    )
    evidence: bool = setting(False, "Take the others' moves as evidence of what they see.")
    objective: Objective = setting("score", OBJECTIVE)
    by_convention: bool = setting(
        False,
        "Draw what is hidden by the guide's convention, too, not by what has been shown alone.",
    )

    def __post_init__(self) -> None:
        optional = [name for name in ("iterations", "depth") if getattr(self, name) is not None]
        require_integers(self, (*optional, "prior_visits"), 1)
        if self.seconds is not None:
            require_positive("seconds", self.seconds)
        if self.iterations is None and self.seconds is None:
            raise ConfigError("a decision must end by iterations or seconds, got neither")
        require_positive_or_0("exploration", self.exploration)
        require_flag("evidence", self.evidence)
        require_flag("by_convention", self.by_convention)
        require_objective(self.objective, cut=not self._rolls_out)
        for name, kind in (("nodes", Nodes), ("final", Final), ("leaves", Leaves)):
            require_choice(name, getattr(self, name), get_args(kind))
        if self.guide is not None and not isinstance(self.guide, Guide):
            raise ConfigError(
                "guide must be a policy that proposes moves, as RuleAgent([PlaySafe()]) and "
                f'load_policy("evalfn", game) are, got {self.guide!r}'
            )
        if self.by_convention and (self.evidence or not isinstance(self.guide, RedrawingGuide)):
            raise ConfigError(
                "by_convention needs a guide that redraws, and evidence=False, got "
                f"{self.guide!r} and evidence={self.evidence}"
            )
        if not self._rolls_out and not isinstance(self.guide, EstimatingGuide):
            raise ConfigError(
                f"guide must be a policy that estimates moves where leaves are estimates, got "
                f"{self.guide!r}"
            )

    def __repr__(self) -> str:
        return settings_repr(self, "iterations")

    # ----------------------------------------------------------------- what the searches differ in

    redeterminizes: ClassVar[bool] = False  #: True if hidden parts are redrawn before others' moves
    predicts: ClassVar[bool] = False  #: True if others move by the blueprint, outside the tree

    @abstractmethod
    def tree(self, game: Game, seat: int) -> Tree:
        """An empty tree for a decision of ``seat``."""

    def enter(self, worlds: Worlds, player: int, guide_memory: Memory, rng: Streams) -> Worlds:
        """ENTERNODE, where it ``redeterminizes``: the worlds in which ``player`` moves."""
        return worlds

    def leave(self, worlds: Worlds, player: int, saved: Worlds, rng: Streams) -> Worlds | None:
        """EXITNODE, the same: the worlds to go on with, None to end the iteration."""
        return worlds

    # ---------------------------------------------------------------------------------- a decision

    @property
    def assumes_blueprint(self) -> bool:
        return self.evidence

    @property
    def _rolls_out(self) -> bool:
        return self.leaves == "rollouts"

    def require_fit(self, game: Game, blueprint: Blueprint) -> None:
        """See ``FitsGames``."""
        if not self._rolls_out and game.rewards != "identical":
            raise UnsupportedError(
                f"leaves must be rollouts where rewards are not identical, as in {game.name}: a "
                "guide estimates the mover's alone"
            )

    def wrap(self, belief: Belief) -> Guided:
        return Guided.start(belief, self.guide, self.evidence)

    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
        """Decide for ``belief.seat``, which is to move. Takes what ``results`` takes."""
        for decision in self._decisions(rng, belief):
            last = decision
        return last()

    def results(self, rng: np.random.Generator, belief: Belief) -> Iterator[SearchResult]:
        """Yield the decision so far, after every round of iterations; at least once.

        Takes one draw from ``rng`` for the blueprint's own move, then what ``grow`` takes.
        """
        for decision in self._decisions(rng, belief):
            yield decision()

    def _decisions(
        self, rng: np.random.Generator, belief: Belief
    ) -> Iterator[Callable[[], SearchResult]]:
        """Yield, after every round, a function that gives the decision so far."""
        require_asked(rng, belief)
        self.require_fit(belief.game, belief.blueprint)
        started = time.monotonic()
        policy = belief.blueprint[belief.seat]
        base = int(moves_of(policy, belief.view, belief.memory, Streams.spawn(rng, 1))[0])
        considered = self._moves(belief.view, self._guide_memory(belief))
        if len(considered) == 1:
            yield partial(_result, belief, {}, considered[0], base)
            return
        for tree in self.grow(rng, belief):
            out_of_time = self.seconds is not None and time.monotonic() - started >= self.seconds
            if out_of_time or tree.iterations == self.iterations or tree.iterations % ROUND == 0:
                yield partial(self._decided, belief, tree, base)
            if out_of_time:
                return

    def _decided(self, belief: Belief, tree: Tree | GrownTree, base: int) -> SearchResult:
        moves = tree.moves() if isinstance(tree, GrownTree) else tree.root(belief.view).moves
        return _result(belief, moves, self._choose(moves), base, tree)

    def grow(self, rng: np.random.Generator, belief: Belief) -> Iterator[Tree | GrownTree]:
        """Yield the tree, always the same object, after every few iterations.

        Takes from ``rng``, for each ROUND of iterations, what ``belief.sample`` takes and one draw
        per iteration.
        """
        tree = self._grown_by_game(belief) or self.tree(belief.game, belief.seat)
        guide_memory = self._guide_memory(belief)
        batch = ROUND if self.seconds is None else TIMED_BATCH
        while self.iterations is None or tree.iterations < self.iterations:
            n = ROUND if self.iterations is None else min(ROUND, self.iterations - tree.iterations)
            worlds, memories = belief.sample(rng, n)
            streams = Streams.spawn(rng, n)
            for first in range(0, n, batch):
                rows = np.arange(first, min(first + batch, n))
                some = tuple(take(memory, rows) for memory in memories)
                if isinstance(tree, GrownTree):
                    tree.grow(worlds.select(rows), some, streams.select(rows))
                else:
                    self._iterations(
                        tree, belief, worlds.select(rows), some, guide_memory, streams.select(rows)
                    )
                report_rollouts(len(rows))
                yield tree

    def _grown_by_game(self, belief: Belief) -> GrownTree | None:
        """The game's compiled tree for this search, if it has one: the same tree in less time."""
        game = belief.game
        if not isinstance(game, GrowsTrees) or self.nodes != "moves" or self.objective != "score":
            return None
        settings = TreeSettings(
            redeterminize=self.redeterminizes,
            by_convention=self.by_convention,
            predict=self.predicts,
            exploration=self.exploration * span(game),
            depth=self.depth,
            guide=self.guide,
            guide_memory=self._guide_memory(belief),
            prior_visits=self.prior_visits,
            rollouts=self._rolls_out,
        )
        return game.start_tree(belief.seat, belief.blueprint, settings)

    def _iterations(
        self,
        tree: Tree,
        belief: Belief,
        worlds: Worlds,
        memories: tuple[Memory, ...],
        guide_memory: Memory,
        rng: Streams,
    ) -> None:
        """One iteration in each of B worlds."""
        if self.by_convention:
            worlds = self._redraw(worlds, belief.seat, guide_memory, rng)
        empty = all(memory is None for memory in memories)
        each = zip(walks(worlds), rng.singles(DRAWS_AT_ONCE), strict=True)
        for b, (walk, stream) in enumerate(each):
            own = memories if empty else tuple(take(memory, np.array([b])) for memory in memories)
            self._iterate(tree, belief, walk, own, guide_memory, stream)

    def _iterate(
        self,
        tree: Tree,
        belief: Belief,
        walk: Walk,
        memories: tuple[Memory, ...],
        guide_memory: Memory,
        rng: Stream,
    ) -> None:
        """One iteration in one world (lines 4 to 16 of Algorithm 1)."""
        game, guide, blueprint = belief.game, self.guide, belief.blueprint
        exploration, most = self.exploration * span(game), self.depth
        rolls_out, has_memory = self._rolls_out, any(map(observes, blueprint))
        places = tree.start(walk)
        path: list[tuple[MoveStats, int]] = []
        consistent = True  # False once EXITNODE finds no world to go on with
        while consistent and walk.player != NOBODY:
            player = walk.player
            node = tree.node(places, walk)
            if (path and not node.reached and rolls_out) or len(path) == most:
                node.reached = True
                break
            redrawn = self.redeterminizes and player != belief.seat
            saved = walk.worlds() if redrawn else None
            if saved is not None:
                walk = self._entered(saved, player, guide_memory, rng)
            actions, entered = self._open(node, walk, guide_memory)
            action = node.select(actions, exploration, rng)
            path.append((node.moves[action], player))
            walk.step(action)
            if entered and not rolls_out:
                break
            if saved is not None:
                with rng.batch() as streams:
                    restored = self.leave(walk.worlds(), player, saved, streams)
                consistent = restored is not None
                if restored is not None:
                    (walk,) = walks(restored)
            if has_memory:
                moved = np.array([player]), np.array([action])
                memories = observe_all(walk.worlds(), *moved, blueprint, memories)
            if guide is not None:
                event = Event(np.array([player]), np.array([action])).seen_by(belief.seat, game)
                guide_memory = guide.observe(walk.worlds().view(belief.seat), event, guide_memory)
            places = tree.after(places, player, action, walk)
        if rolls_out or walk.player == NOBODY:
            returns = play_on(walk, blueprint, memories, rng)
            if self.objective != "score":
                returns = utility(self.objective, np.array(returns), game).tolist()
        else:
            returns = [path[-1][0].mean] * game.num_players
        for move, player in path:
            move.add(returns[player])
        tree.iterations += 1
        tree.depth = max(tree.depth, len(path))

    def _open(self, node: Node, walk: Walk, guide_memory: Memory) -> tuple[Sequence[int], bool]:
        """The moves to select from at ``node``; True if the guide's estimates entered it."""
        if self.guide is None:
            return walk.legal(), False
        view = walk.worlds().view(walk.player)
        actions = self._moves(view, guide_memory)
        return actions, self._enter_priors(node, actions, view, guide_memory)

    def _entered(self, worlds: Worlds, player: int, guide_memory: Memory, rng: Stream) -> Walk:
        with rng.batch() as streams:
            (walk,) = walks(self.enter(worlds, player, guide_memory, streams))
        return walk

    def _redraw(self, worlds: Worlds, player: int, guide_memory: Memory, rng: Streams) -> Worlds:
        assert isinstance(self.guide, RedrawingGuide)
        return self.guide.redraw(worlds, player, guide_memory, rng)

    def _moves(self, view: View, guide_memory: Memory) -> list[int]:
        """The moves to consider: those that the guide proposes, or all legal ones."""
        legal = view.legal
        if self.guide is None:
            return np.flatnonzero(legal[0]).tolist()
        with asking(self.guide, view.player):
            proposed = np.asarray(self.guide.proposed(view, legal, guide_memory))
            if proposed.shape != legal.shape or (proposed & ~legal).any():
                raise ContractError(
                    f"{self.guide!r} must propose legal actions as bool {legal.shape}, got "
                    f"{proposed.dtype} of shape {proposed.shape}: {proposed.tolist()}"
                )
        proposed = proposed[0]
        return np.flatnonzero(proposed if proposed.any() else legal[0]).tolist()

    def _enter_priors(
        self, node: Node, actions: list[int], view: View, guide_memory: Memory
    ) -> bool:
        """Enter moves new to the node with the guide's estimates; True if there were any."""
        missing = [a for a in actions if a not in node.moves]
        if not missing or not isinstance(self.guide, EstimatingGuide):
            return False
        with asking(self.guide, view.player):
            expected = np.asarray(self.guide.estimates(view, view.legal, guide_memory))[0]
            if not np.isfinite(expected[missing]).all():
                raise ContractError(
                    f"{self.guide!r} must estimate the actions {missing} by finite numbers, got "
                    f"{expected[missing].tolist()}"
                )
        for a in missing:
            node.moves[a] = MoveStats.prior(self.prior_visits, float(expected[a]))
        return True

    def _guide_memory(self, belief: Belief) -> Memory:
        if self.guide is None:
            return None
        if isinstance(belief, Guided) and belief.guide is self.guide:
            return belief.guide_memory
        raise ContractError(
            f"expected a belief made by this search's wrap, for its guide, got "
            f"{type(belief).__name__}"
        )

    def _choose(self, moves: dict[int, MoveStats]) -> int:
        tried = [a for a in sorted(moves) if moves[a].visits > 0]
        if self.final == "value":
            return max(tried, key=lambda a: (moves[a].mean, moves[a].visits))
        return max(tried, key=lambda a: (moves[a].visits, moves[a].mean))


@described
@dataclass(frozen=True, kw_only=True, repr=False)
class SoIsmcts(TreeSearch):
    """Single-observer IS-MCTS: nodes are what the searching seat has seen, whoever is to move.

    Moves of others that look the same to it lead to the same node. See ``TreeSearch``.

    Over a bot with conventions, such as SmartBot, use ``Sparta``: ``TreeSearch`` says why.
    """

    def tree(self, game: Game, seat: int) -> Tree:
        return Tree(game, (seat,), (0,) * game.num_players, self.nodes)


@described
@dataclass(frozen=True, kw_only=True, repr=False)
class MoIsmcts(TreeSearch):
    """Multiple-observer IS-MCTS: nodes are what the player to move has seen. See ``TreeSearch``.

    Over a bot with conventions, such as SmartBot, use ``Sparta``: ``TreeSearch`` says why.
    """

    def tree(self, game: Game, seat: int) -> Tree:
        return _of_all(game, self.nodes)


@described
@dataclass(frozen=True, kw_only=True, repr=False)
class RisMcts(TreeSearch):
    """Re-determinizing IS-MCTS, for games that declare ``Redeterminizes``. See ``TreeSearch``.

    If the hidden parts cannot be restored, the iteration ends in the world it has come to.

    Over a bot with conventions, such as SmartBot, use ``Sparta``: ``TreeSearch`` says why.
    """

    redeterminizes = True

    def require_fit(self, game: Game, blueprint: Blueprint) -> None:
        super().require_fit(game, blueprint)
        if not isinstance(game, Redeterminizes):
            raise UnsupportedError(
                f"RIS-MCTS draws hidden information anew, which {game.name} cannot (it does not "
                "declare Redeterminizes): MoIsmcts() searches a tree there, too"
            )

    def tree(self, game: Game, seat: int) -> Tree:
        if game.public_actions and self.nodes == "moves":
            return Tree(game, (seat,), (0,) * game.num_players, self.nodes)
        return _of_all(game, self.nodes)

    def enter(self, worlds: Worlds, player: int, guide_memory: Memory, rng: Streams) -> Worlds:
        assert isinstance(worlds.game, Redeterminizes)
        if self.by_convention:
            return self._redraw(worlds, player, guide_memory, rng)
        return worlds.game.redeterminize(worlds, player, rng)

    def leave(self, worlds: Worlds, player: int, saved: Worlds, rng: Streams) -> Worlds | None:
        assert isinstance(worlds.game, Redeterminizes)
        return worlds.game.restore(worlds, player, saved, rng)


def _of_all(game: Game, nodes: Nodes) -> Tree:
    """One tree for each player."""
    players = tuple(range(game.num_players))
    return Tree(game, players, players, nodes)


def span(game: Game) -> float:
    """The range of returns, in score points: the unit of ``exploration``."""
    return game.return_range[1] - game.return_range[0]


def _result(
    belief: Belief,
    moves: dict[int, MoveStats],
    action: int,
    base: int,
    tree: Tree | GrownTree | None = None,
) -> SearchResult:
    actions = np.flatnonzero(belief.view.legal[0])
    stats = [moves.get(a, MoveStats()) for a in actions.tolist()]
    mean = np.array([move.mean for move in stats])
    stderr = np.array([move.stderr for move in stats])
    best, at = (int(np.searchsorted(actions, a)) for a in (action, base))
    reason: Reason = "blueprint_best" if action == base else "tree_choice"
    return SearchResult(
        action=action,
        blueprint_action=base,
        reason=reason if tree is not None else "single_move",
        actions=actions,
        mean=mean,
        stderr=stderr,
        count=np.array([move.visits for move in stats]),
        gain=0.0 if best == at else float(mean[best] - mean[at]),
        gain_stderr=0.0 if best == at else float(np.hypot(stderr[best], stderr[at])),
        rollouts=0 if tree is None else tree.iterations,
        belief_size=belief.size,
        likelihoods=belief.likelihoods,
        note="; ".join(belief.caveats()),
        depth=None if tree is None else tree.depth,
    )
