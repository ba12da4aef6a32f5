"""Searches and searching agents: a search decides from a belief, an agent plays by it.

Most searches are a ``Search``: any function of (rng, belief). ``hanabi_search_plugin.upgrade``
makes an agent of one. The abstract classes are for searches that need more: one agent for all seats
(``TeamSearch``), something kept from move to move (``WrapsBelief``), or the blueprint's values
(``CutsRollouts``).
"""

from __future__ import annotations

import copy
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import numpy as np

from hanabi_search_plugin.core.belief import Belief, require_view
from hanabi_search_plugin.core.errors import (
    ConfigError,
    ContractError,
    IllegalActionError,
    UnsupportedError,
)
from hanabi_search_plugin.core.game import (
    BoolArray,
    Event,
    FloatArray,
    Game,
    IntArray,
    View,
    same_game,
)
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.core.reprs import blueprint_repr
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams, require_streams
from hanabi_search_plugin.core.words import an, counted

_logger = logging.getLogger("hanabi_search_plugin")


class Search(Protocol):
    """A function of (rng, belief) that makes one decision; the object is its configuration."""

    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult: ...


def require_asked(rng: object, belief: object) -> None:
    """Raises UnsupportedError unless a search is given a generator and a belief, in this order;
    and as ``require_to_move``."""
    if not (isinstance(rng, np.random.Generator) and isinstance(belief, Belief)):
        raise UnsupportedError(
            "a search is called with (rng, belief), a np.random.Generator and a Belief, got "
            f"({type(rng).__name__}, {type(belief).__name__})"
        )
    require_to_move(belief)


def require_deciding(belief: object, rng: object, kind: type, what: str) -> None:
    """Raises UnsupportedError unless ``decide`` is given one entry of the agent's memory, which is
    of ``kind``, and a generator, in this order."""
    if isinstance(belief, kind) and isinstance(rng, np.random.Generator):
        return
    swapped = isinstance(rng, kind) and isinstance(belief, np.random.Generator)
    raise UnsupportedError(
        f"an agent is asked by decide(belief, rng), belief {what}, an entry of the agent's memory "
        "as memory[0] is, and rng a np.random.Generator, got "
        f"({type(belief).__name__}, {type(rng).__name__}){': swap them' if swapped else ''}"
    )


def require_memory(memory: object, view: View) -> None:
    """Raises UnsupportedError for what is no list, ContractError unless it has one entry for each
    world of ``view``, all of them of the seat that sees it.

    ``memory`` is that of an agent whose entries have a view of their own.
    """
    require_view(view)
    if not isinstance(memory, list):
        raise UnsupportedError(
            "expected the agent's memory, a list of one entry for each world as agent.start(view) "
            f"and agent.observe(view, event, memory) give it, got {an(_kind(memory))}"
        )
    if len(memory) != len(view):
        raise ContractError(
            f"expected a memory with one entry for each of {counted(len(view), 'world')} of the "
            f"view, got {len(memory)}"
        )
    for entry in memory:
        if entry.view.player != view.player:
            raise ContractError(
                f"expected the view of seat {entry.view.player}, whose memory is given, got one "
                f"of seat {view.player}"
            )


def require_latest(memory: object, view: View) -> None:
    """Raises as ``require_memory``, and ContractError unless each entry has seen what ``view``
    shows: whose turn it is, and what there is to see."""
    require_memory(memory, view)
    assert isinstance(memory, list)
    for entry, seen, turn in zip(memory, view.keys(), view.current_player, strict=True):
        if entry.view.current_player[0] != turn or entry.view.keys()[0] != seen:
            raise ContractError(
                "expected the view that the memory was updated with last, got another: "
                "observe(view, event, memory) follows every move, own and others' alike"
            )


def require_event(event: object, view: View) -> None:
    """Raises UnsupportedError for what is no event, ContractError unless it has as many worlds as
    ``view``."""
    if not isinstance(event, Event):
        raise UnsupportedError(
            "an agent observes (view, event, memory), an Event as worlds.step(actions) returns "
            f"it, got {an(_kind(event))}"
        )
    if len(event) != len(view):
        raise ContractError(
            f"expected an event of {counted(len(view), 'world')}, as the view, got {len(event)}"
        )


def _kind(value: object) -> str:
    return type(value).__name__


def require_to_move(belief: Belief) -> None:
    """Raises IllegalActionError where the seat of a belief has no decision to make."""
    if not belief.view.legal.any():
        raise IllegalActionError(f"seat {belief.seat} is not to move, so there is no decision")


def require_no_search(policies: Sequence[Any]) -> None:
    """Raises ConfigError for a policy that searches, where one is asked for thousands of moves."""
    for policy in policies:
        if isinstance(policy, SearchAgent):
            raise ConfigError(
                f"policy must be one that does not search, got {policy!r}: beliefs and rollouts "
                "ask a blueprint for thousands of moves, and for their probabilities"
            )


class TeamSearch(ABC):
    """A search that all seats make together; it brings an agent of its own."""

    @abstractmethod
    def agent(self, game: Game, blueprint: Blueprint, epsilon: float) -> SearchAgent:
        """The agent that plays every seat.

        Its beliefs assume that a player moves at random with probability ``epsilon``.
        """


class WrapsBelief(ABC):
    """A search that wraps the seat's belief at the start of a game, to keep more beside it."""

    @property
    @abstractmethod
    def assumes_blueprint(self) -> bool:
        """True if the others' moves are evidence, by the blueprint, in the wrapped belief."""

    @abstractmethod
    def wrap(self, belief: Belief) -> Belief:
        """The belief that this search needs, made of the seat's belief at its first view."""

    @abstractmethod
    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
        """One decision, from a belief that ``wrap`` made and every event since has updated."""


def reads_moves(search: object) -> bool:
    """Are the others' moves evidence, by the blueprint, in the belief that this search has?"""
    return not isinstance(search, WrapsBelief) or search.assumes_blueprint


class CutsRollouts(ABC):
    """A search that can truncate its rollouts and take the blueprint's values for the rest."""

    depth: int | None  #: moves of a rollout before it is cut; None: to the end of the game


class SmallSteps(ABC):
    """A search that stays so close to the blueprint that all seats may search at once.

    Their beliefs take the others to play the blueprint, softened alike.
    """

    @abstractmethod
    def softening_of(self, policy: Policy) -> float:
        """The share of a uniform policy that is mixed into one of the blueprint's."""


MakeBelief = Callable[[Blueprint, View], Belief]
"""Makes a seat's belief at the start of a game, from the blueprint and the seat's first view."""


class FitsGames(ABC):
    """A search, or what makes beliefs, for some games and not for others; ``upgrade`` asks it."""

    @abstractmethod
    def require_fit(self, game: Game, blueprint: Blueprint) -> None:
        """Raises UnsupportedError, with the way out, where no seat of the game can have it."""


class NamesPolicies(ABC):
    """A search, or what makes beliefs, whose policies may be given by name.

    ``upgrade`` loads them for its game.
    """

    @abstractmethod
    def with_policies(self, load: Callable[[str], Policy]) -> Self:
        """The same with ``load(name)`` in place of each name."""


def require_same_game(policies: Blueprint, game: Game) -> None:
    """Raises UnsupportedError where one of the policies searches another game than ``game``."""
    for policy in policies:
        if isinstance(policy, SearchAgent) and not same_game(policy.game, game):
            raise UnsupportedError(
                f"expected an agent for {game!r}, got one for {policy.game!r}"
                f"{_defined_again(type(policy.game), type(game))}"
            )


def require_belief_of(game: Game, belief: Belief | PublicBelief) -> None:
    """Raises UnsupportedError for a belief of another game than ``game``."""
    if not same_game(belief.game, game):
        raise UnsupportedError(
            f"expected a belief for {game!r}, got one for {belief.game!r}"
            f"{_defined_again(type(belief.game), type(game))}"
        )


def require_belief_over(blueprint: Blueprint, belief: Belief) -> None:
    """Raises UnsupportedError for a belief over policies of other classes than ``blueprint``'s.

    Nothing cheap tells apart two policies of one class.
    """
    for own, other in zip(blueprint, belief.blueprint, strict=True):
        if type(own) is not type(other):
            raise UnsupportedError(
                f"expected a belief over {blueprint_repr(blueprint)}, the agent's blueprint, got "
                f"one over {blueprint_repr(belief.blueprint)}"
                f"{_defined_again(type(other), type(own))}"
            )


def _defined_again(old: type, new: type) -> str:
    """How a message ends where a class was defined twice, as by a notebook's cell."""
    if old is new or (old.__module__, old.__qualname__) != (new.__module__, new.__qualname__):
        return ""
    return f": the class {new.__name__} was defined again since, so make the agent anew"


class SearchAgent(Policy):
    """A policy that decides by search over a blueprint; it can stand wherever a policy can.

    Its memory is a list with one entry per world of the batch. The agent itself keeps no result:
    ``decide`` returns the SearchResult of a decision, and ``act`` plays its action. What plays one
    seat of one game (``evaluation.seat.SeatedPolicy`` and the agents of the wrappers) keeps the
    latest one as ``last_result``. In a loop of your own, at seat 0:

        rng = np.random.default_rng(7)
        worlds = game.deal(rng, 1)
        memory = agent.start(worlds.view(0))
        while not worlds.terminal[0]:
            action = worlds.legal.argmax(axis=1)  # what the others play
            if worlds.current_player[0] == 0:
                result = agent.decide(memory[0], rng)
                action = np.array([result.action])
            event = worlds.step(action).seen_by(0, game)
            memory = agent.observe(worlds.view(0), event, memory)

    ``OneGame`` does this for games of policies.

    * ``game``: the game it plays
    * ``blueprint``: what each seat is taken to play, one policy a seat
    * ``deterministic``: False: the search takes its randomness from the stream of ``act``
    * ``searches_jointly``: True if the seats take each other's search into account
    * ``entries_have_views``: True if each entry of the memory has the latest ``view`` of its world:
      then ``act`` checks that it is given this view
    """

    game: Game
    blueprint: Blueprint
    deterministic = False
    searches_jointly = False
    entries_have_views = False

    @property
    def assumes_blueprint(self) -> bool:
        """True if its beliefs assume, without any doubt, that the others play the blueprint."""
        return not self.searches_jointly

    def for_all_seats(self) -> SearchAgent:
        """The agent to seat everywhere, where several such agents in one game would be unsound.

        That is this one if its beliefs do not assume the others to play the blueprint. Raises
        ConfigError where there is none.
        """
        if not self.assumes_blueprint or self.game.num_players == 1:
            return self
        raise ConfigError(
            f"{self!r} cannot sit at every seat, since its belief takes the others to play the "
            "blueprint: let one seat search, as in evaluate(game, (policy, agent), ...), or all "
            "together, by upgrade(policy, game, JointSparta())"
        )

    def require_belief(self) -> None:
        """Raise UnsupportedError where no belief can be begun, if that is known without a deal."""

    def warn_of_recovery(self, seat: int, *, ran_out: bool = False) -> None:
        """Log a warning, the first time, that a belief of this agent had to drop its evidence.

        ``ran_out``: none of its samples showed what the seat sees, whatever policies play.
        """
        if "_warned" in vars(self):
            return
        object.__setattr__(self, "_warned", True)  # agents are mostly frozen dataclasses
        if ran_out:
            _logger.warning(
                "the particles of seat %d ran out: none of them shows what it sees, so %r dealt "
                "new ones and dropped the evidence of moves (said once an evaluation, which "
                "counts recovered_moves): take more particles, or the game's own belief "
                "(belief=None)",
                seat,
                self,
            )
            return
        silent = {  # what may be stochastic and not say so
            repr(policy): None
            for p, policy in enumerate(self.blueprint)
            if p != seat and type(policy).probabilities is Policy.probabilities
        }
        remedy = (
            "it takes all seats to search jointly, so seat it everywhere, as evaluate(game, agent) "
            "does, or let one seat search alone, by upgrade(policy, game, Sparta())"
            if self.searches_jointly
            else "give the policies that the others really play, an epsilon or uncertainty of "
            "0.05, say, or, where they search, agent.for_all_seats()"
        )
        _logger.warning(
            "a partner of seat %d made a move that %r rules out, so of its belief was left what "
            "the seat has seen (said once an evaluation, which counts recovered_moves): %s%s",
            seat,
            self,
            remedy,
            "".join(
                f"; if {name} ever moves in another way in the same position, check_policy(game, "
                "policy) tells why: it keeps a memory on self, which start and observe should "
                "return, or observe changed the memory it was given, in place of returning a new "
                "one, or it draws its moves: then it lacks probabilities(view, legal, memory), and "
                "must set deterministic = False"
                for name in silent
            ),
        )

    def warn_again(self) -> None:
        """Let ``warn_of_recovery`` log once more, as for another evaluation."""
        vars(self).pop("_warned", None)

    def without_warnings(self) -> Self:
        """A copy that ``warn_of_recovery`` does not warn of: for checks, whose random moves are
        those of no policy."""
        quiet = copy.copy(self)
        object.__setattr__(quiet, "_warned", True)
        return quiet

    @abstractmethod
    def decide(self, belief: Any, rng: np.random.Generator) -> SearchResult:
        """Make one decision, from one entry of the memory: a belief, or what holds one."""

    def require_memory(self, memory: Memory, view: View) -> None:
        """Raise where ``memory`` does not belong to ``view``.

        Where ``entries_have_views``, UnsupportedError for what is no list, and ContractError unless
        it has one entry for each world, which has seen what ``view`` shows. Otherwise nothing is
        checked.
        """
        if self.entries_have_views:
            require_latest(memory, view)

    def decide_all(self, memory: Memory, rng: Streams) -> list[SearchResult]:
        """[B] one decision per world. One draw of each world's stream seeds its search."""
        require_streams(rng, len(memory))
        rng.uniform()
        return [
            self.decide(entry, np.random.default_rng(int(seed)))
            for entry, seed in zip(memory, rng.state, strict=True)
        ]

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        """Raises UnsupportedError: it would take searches without number."""
        raise UnsupportedError(
            f"{self!r} searches anew for each move and has no probabilities: "
            "agent.decide(memory[0], rng) gives a SearchResult with the mean of every move, and "
            "agent.blueprint[seat] has the probabilities of the policy that is searched over"
        )

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        self.require_memory(memory, view)
        results = self.decide_all(memory, rng)
        return np.array([result.action for result in results], dtype=np.int64)
