"""Upgrade a blueprint by search: the agent that keeps a private belief at a seat."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from hanabi_search_plugin.beliefs import exact
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.beliefs.particles import Particles
from hanabi_search_plugin.core.agent import (
    CutsRollouts,
    FitsGames,
    MakeBelief,
    NamesPolicies,
    Search,
    SearchAgent,
    SmallSteps,
    TeamSearch,
    WrapsBelief,
    reads_moves,
    require_belief_of,
    require_belief_over,
    require_deciding,
    require_event,
    require_memory,
    require_no_search,
    require_to_move,
)
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.call_checks import (
    parameter_names,
    require_belief_call,
    require_search_call,
)
from hanabi_search_plugin.core.error_places import noting_source
from hanabi_search_plugin.core.errors import ConfigError, ContractError
from hanabi_search_plugin.core.game import Event, Game, View, require_game
from hanabi_search_plugin.core.near_names import near_names
from hanabi_search_plugin.core.policy import (
    Blueprint,
    Memory,
    Policy,
    lacks_probabilities,
    require_combinations,
    without_probabilities,
)
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.core.reprs import agent_repr, search_repr
from hanabi_search_plugin.core.require import class_given, require_share
from hanabi_search_plugin.core.result import SearchResult, require_result, words_of
from hanabi_search_plugin.core.rollout import require_values_of_some_seat
from hanabi_search_plugin.core.settings import named_arguments
from hanabi_search_plugin.named_beliefs import load_belief
from hanabi_search_plugin.named_searches import SEARCHES, load_search
from hanabi_search_plugin.registry import AnyBlueprint, blueprint_of, load_policy


@dataclass(frozen=True)
class BeliefAgent(SearchAgent):
    """An agent that assumes the others to play the blueprint. Its memory is a list of beliefs.

    More than one such agent in a game breaks that assumption (SPARTA, Table 4); see
    ``for_all_seats``.
    """

    game: Game
    blueprint: Blueprint
    search: Search
    epsilon: float = 0.0  # probability that a partner moves at random, in the game's own belief
    belief: MakeBelief | None = None  # None: the game's own
    uncertainty: float = 0.0  # weight of worlds where a partner would have moved otherwise

    entries_have_views = True

    def __post_init__(self) -> None:
        for name in ("epsilon", "uncertainty"):
            value = getattr(self, name)
            require_share(name, value)
            if self.belief is not None and value != 0.0:
                raise ConfigError(
                    f"{name} must be 0 where a belief is given, which has its own, got {value}"
                )

    def __repr__(self) -> str:
        return agent_repr(self, self.search, self.blueprint, self.game)

    @property
    def assumes_blueprint(self) -> bool:
        doubts = isinstance(self.belief, Learned) and self.belief.uncertainty > 0.0
        if self.epsilon > 0.0 or self.uncertainty > 0.0 or doubts:
            return False
        if isinstance(self.search, SmallSteps):
            return False
        return reads_moves(self.search)

    def for_all_seats(self) -> SearchAgent:
        """See ``SearchAgent``.

        SPARTA searches jointly where the game and the blueprint allow it at a bearable price
        (``algorithms.team``). Elsewhere each seat searches by itself, with an ``uncertainty`` of
        0.05 and a threshold of 0.2 where it is not set (SPARTA, Table 4). A search of
        ``SmallSteps`` needs no more than beliefs softened by its own ``softening``. A ``Learned``
        belief doubts as the game's own. Raises ConfigError for an agent with another belief of its
        own, and for one that explains no moves.
        """
        if isinstance(self.search, SmallSteps) and self.belief is None and not self.epsilon:
            soft = max(self.search.softening_of(policy) for policy in self.blueprint)
            return replace(self, epsilon=soft) if soft else self
        if not self.assumes_blueprint or self.game.num_players == 1:
            return self
        from hanabi_search_plugin.algorithms import team  # the core loads no algorithms

        if isinstance(self.belief, Learned) and self.belief.explain:
            belief = self.belief.doubting(team.UNCERTAINTY)
            return replace(self, search=team.doubtful_search(self.search), belief=belief)
        if self.belief is not None:
            return super().for_all_seats()
        joint = team.joint_search(self.search, self.game, self.blueprint)
        if joint is not None:
            return joint.agent(self.game, self.blueprint, self.epsilon)
        search = team.doubtful_search(self.search)
        return replace(self, search=search, uncertainty=team.UNCERTAINTY)

    def require_belief(self) -> None:
        if self.belief is not None:
            return
        exact.require_exact(self.game, epsilon=self.epsilon)
        silent = [policy for policy in self.blueprint if lacks_probabilities(policy)]
        every_seat_has_one = len(silent) > 1  # for a partner
        if every_seat_has_one and reads_moves(self.search) and self.epsilon < 1:
            raise without_probabilities(silent[0])

    def start(self, view: View) -> Memory:
        rows = [view.select(np.array([b])) for b in range(len(view))]
        if self.belief is not None:
            with noting_source(partial(search_repr, self.belief)):
                beliefs = [self._made(self.belief(self.blueprint, row)) for row in rows]
        else:
            doubt = {"epsilon": self.epsilon, "uncertainty": self.uncertainty}
            beliefs = [
                exact.private_belief(self.game, self.blueprint, row, **doubt) for row in rows
            ]
        if isinstance(self.search, WrapsBelief):
            beliefs = [self.search.wrap(belief) for belief in beliefs]
        return beliefs

    def _made(self, belief: object) -> Belief:
        if not isinstance(belief, Belief):
            raise ContractError(
                f"{search_repr(self.belief)}, which is given as belief, must make a Belief of "
                f"(blueprint, view), got {belief!r}"
            )
        return belief

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        require_memory(memory, view)
        require_event(event, view)
        after = []
        for b, belief in enumerate(memory):
            row = np.array([b])
            after.append(belief.update(event.select(row), view.select(row)))
            if after[-1].recovered > belief.recovered:
                self.warn_of_recovery(view.player, ran_out=after[-1].ran_out)
        return after

    def decide(self, belief: Belief, rng: np.random.Generator) -> SearchResult:
        """One decision from one belief: an entry of what ``start`` and ``observe`` give.

        Raises UnsupportedError for what are no belief and generator, for a belief of another game
        and, where ``belief`` is None, over policies of other classes; IllegalActionError where the
        seat is not to move, ContractError for a search that returns what is no result. Randomness
        is the search's.
        """
        require_deciding(belief, rng, Belief, "one belief")
        require_belief_of(self.game, belief)
        if self.belief is None:  # one of its own may take the partners for others
            require_belief_over(self.blueprint, belief)
        require_to_move(belief)
        with noting_source(partial(search_repr, self.search)):
            found = self.search(rng, belief)
        result = require_result(self.search, found, belief.view.legal[0])
        words = result.words or words_of(self.game, belief.seat, result.actions)
        return replace(result, words=words, recovered=belief.recovered > 0)


def _option_of_a_search(name: str) -> str:
    """How a message ends about an argument of ``upgrade`` that is an option of a search."""
    of: dict[str, str] = {}  # each option's first search
    for entry in SEARCHES.values():
        for one in fields(entry.make):
            of.setdefault(one.name, entry.make.__name__)
    near = near_names(name, of)[:1]
    return "".join(f": a search has options, as in {of[one]}({one}=...)" for one in near)


@named_arguments(_option_of_a_search)
def upgrade(
    policy: AnyBlueprint,
    game: Game | None = None,
    search: Search | TeamSearch | str | None = None,
    *,
    epsilon: float = 0.0,
    uncertainty: float = 0.0,
    belief: MakeBelief | str | None = None,
) -> SearchAgent:
    """An agent that plays ``policy`` upgraded by ``search``; None: ``Sparta()``.

    ``policy`` is what everybody plays, or a tuple of one policy a seat; a name stands for what
    ``load_policy`` gives, also within ``search`` and ``belief``. A search's name, as "lbs", stands
    for that search with its defaults. A ``TeamSearch`` is for an agent that
    sits at every seat, any other for one at one seat: ``agent.for_all_seats()`` is what to seat
    everywhere, which ``evaluate(game, agent)`` does.

    The belief is the game's own, in which partners move at random with probability ``epsilon`` and
    worlds that do not explain a partner's move keep a share ``uncertainty`` of their weight (see
    ``private_belief``; the paper's way to let several seats search independently); or what
    ``belief`` makes of (blueprint, first view): ``Particles(...)`` where worlds are too many to
    list, ``Learned(...)``, ``UnknownPartners(...)``. A belief's name is one of the command
    line: "exact" (None), "particles", which takes ``epsilon``, "grounded", or that of a model as
    ``load_belief_model`` knows it; the last two take ``uncertainty``.

    Raises UnsupportedError for a wrong number of policies, for what is no Policy or no Game, and
    where game and policies alone tell that no seat can be searched for: ``belief`` or ``search``
    does not fit the game, the game has too many deals to list and ``belief`` is None, partners are
    stochastic and do not give their probabilities, or rollouts are to be cut short by values that
    no policy has; ContractError for a game that lacks a setting, for a search that takes other
    arguments than (rng, belief), a belief's maker than (blueprint, view), and for values that
    combine in no way that there is, ConfigError for no game, what is no search, a policy that
    searches itself, an epsilon or an uncertainty outside 0 to 1 or with a belief, or where a
    TeamSearch is given what it cannot use.
    """
    _require_game(game, policy, search)
    assert game is not None
    blueprint = blueprint_of(policy, game)
    require_no_search(blueprint)
    require_combinations(blueprint)
    if isinstance(belief, str):
        belief = load_belief(belief, game, epsilon=epsilon, uncertainty=uncertainty)
        epsilon = 0.0 if isinstance(belief, Particles) else epsilon
        uncertainty = 0.0 if isinstance(belief, Learned) else uncertainty
    if isinstance(belief, Learned):
        belief = belief.loaded(game)
    if isinstance(search, str):
        search = load_search(search)
    _require_belief_maker(belief)
    load = partial(_load_unless_blueprints, policy, blueprint, game)
    if isinstance(belief, NamesPolicies):
        belief = belief.with_policies(partial(load, what="candidates"))
    if isinstance(search, NamesPolicies):
        search = search.with_policies(partial(load, what="continuation"))
    if search is None:
        from hanabi_search_plugin.algorithms.sparta import Sparta  # the core loads no algorithms

        search = Sparta()
    _require_search(search)
    cuts = isinstance(search, CutsRollouts) and search.depth is not None
    if cuts and not isinstance(belief, NamesPolicies):
        require_values_of_some_seat(blueprint, game)
    if isinstance(search, TeamSearch):
        _require_nothing_beside_team(belief, uncertainty)
        team = search.agent(game, blueprint, epsilon)
        team.require_belief()
        return team
    require_search_call(search)
    if belief is not None:
        require_belief_call(belief)
    for part in (belief, search):
        if isinstance(part, FitsGames):
            part.require_fit(game, blueprint)
    agent = BeliefAgent(game, blueprint, search, epsilon, belief, uncertainty)
    agent.require_belief()
    return agent


def _require_game(game: Game | None, policy: object, search: object) -> None:
    """Raises as ``upgrade`` for what is no game, and for none."""
    if game is None:
        raise ConfigError(
            "game must be given, the one that is played, as in "
            f"upgrade({'smartbot' if isinstance(policy, Game) else policy!r}, "
            "HanabiGame(players=2)), got none"
        )
    require_game(game, policy, search, call="upgrade(policy, game, search)")


def _load_unless_blueprints(
    policy: AnyBlueprint, blueprint: Blueprint, game: Game, name: str, what: str = "policy"
) -> Policy:
    """The policy of a name: the blueprint's own object where ``policy`` names the same."""
    named = (policy,) * game.num_players if isinstance(policy, str | Policy) else policy
    own = {part: each for part, each in zip(named, blueprint, strict=True) if isinstance(part, str)}
    return own[name] if name in own else load_policy(name, game, what=what)


def _require_belief_maker(belief: object) -> None:
    """Raises ConfigError for a search, and for what is not called."""
    if isinstance(belief, TeamSearch) or parameter_names(belief) == ["rng", "belief"]:
        raise ConfigError(
            f"belief must make one, got the search {search_repr(belief)}: upgrade(policy, game, "
            f"{search_repr(belief)})"
        )
    if isinstance(belief, type) or not (belief is None or callable(belief)):
        given = class_given(belief) if isinstance(belief, type) else repr(belief)
        raise ConfigError(
            "belief must make one, as Particles(1_000) and Learned(model) do, or be None for the "
            f"game's own, got {given}"
        )


def _require_search(search: object) -> None:
    """Raises ConfigError for what is not called, and for what makes beliefs."""
    if isinstance(search, type) or not (callable(search) or isinstance(search, TeamSearch)):
        given = class_given(search) if isinstance(search, type) else repr(search)
        raise ConfigError(f"search must be a search, as Sparta() is, got {given}")
    if parameter_names(search) == ["blueprint", "view"]:
        raise ConfigError(
            f"search must be a search, as Sparta() is, got {search_repr(search)}, which makes "
            f"beliefs: upgrade(policy, game, Sparta(), belief={search_repr(search)})"
        )


def _require_nothing_beside_team(belief: object, uncertainty: float) -> None:
    """Raises ConfigError for what a TeamSearch cannot use."""
    if belief is not None:
        raise ConfigError("belief must be None where all seats search together")
    if uncertainty != 0.0:
        raise ConfigError(
            f"uncertainty must be 0 where all seats search together, got {uncertainty}"
        )


@named_arguments()
def private_belief(
    game: Game,
    policy: AnyBlueprint,
    view: View,
    *,
    epsilon: float = 0.0,
    uncertainty: float = 0.0,
) -> Belief:
    """The private belief of ``view.player`` at the start of a game, before any event.

    ``policy`` is what everybody plays, or a tuple of one policy a seat; a name stands for what
    ``load_policy`` gives. ``view`` is that seat's first view, a batch of one, as
    ``worlds.view(seat)`` gives it. ``beliefs.exact.private_belief`` documents the rest. Raises
    ConfigError for a policy that searches. No randomness.
    """
    require_game(game, policy, call="private_belief(game, policy, view)")
    blueprint = blueprint_of(policy, game)
    require_no_search(blueprint)
    return exact.private_belief(game, blueprint, view, epsilon=epsilon, uncertainty=uncertainty)


@named_arguments()
def public_belief(
    game: Game, policy: AnyBlueprint, view: View, *, epsilon: float = 0.0
) -> PublicBelief:
    """The public belief at the start of a game, kept by ``view.player``.

    Parameters and errors are as in ``private_belief``.
    """
    require_game(game, policy, call="public_belief(game, policy, view)")
    blueprint = blueprint_of(policy, game)
    require_no_search(blueprint)
    return exact.public_belief(game, blueprint, view, epsilon=epsilon)
