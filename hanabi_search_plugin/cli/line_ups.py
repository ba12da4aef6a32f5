"""Who plays what: policies by name, searches over some of them, people at some seats."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from typing import Any

from hanabi_search_plugin.algorithms.joint_sparta import JointAgent
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.beliefs.particles import Particles
from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners, favouring
from hanabi_search_plugin.cli.games import game_options
from hanabi_search_plugin.cli.searches import OPTIONS, ChosenSearch, require_no_search
from hanabi_search_plugin.cli.table_options import EXACT, BeliefChoice, Seating
from hanabi_search_plugin.core.agent import (
    MakeBelief,
    Search,
    SearchAgent,
    TeamSearch,
    reads_moves,
)
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.core.reprs import changed
from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.core.rollout import can_cut
from hanabi_search_plugin.evaluation.seating import say_seated, without_search
from hanabi_search_plugin.hanabi.beliefs.learned_partners import LearnedPartners, named_recogniser
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.named_beliefs import DRAWN, load_belief
from hanabi_search_plugin.networks.catalogue import belief_models, own_belief
from hanabi_search_plugin.registry import blueprint_of, load_policies, policy_names

HUMAN = "human"
PEOPLES_DOUBT = 0.1  # that a person plays the policy that stands in for it
EVERYBODY = "all"
OF_SEARCHES = {"search_seats", "trace", *OPTIONS, *(one.name for one in fields(BeliefChoice))}
"""The parameters of commands that a search alone reads."""


@dataclass(frozen=True)
class LineUp:
    """Who plays what. A person's seat holds the policy that stands in for it in beliefs."""

    game: Game
    policies: Blueprint
    names: tuple[str, ...]  # one a seat, for people
    short_names: tuple[str, ...]  # the same for narrow places: a searching seat's search
    people: tuple[int, ...] = ()  # seats
    searching: tuple[int, ...] = ()  # seats

    def hanabi(self) -> HanabiGame:
        """The game, where it is native Hanabi. Raises ConfigError for another."""
        if not isinstance(self.game, HanabiGame):
            raise ConfigError(f"recorded games and boards are of hanabi, got {self.game!r}")
        return self.game


def line_up(game: Game, seating: Seating, chosen: ChosenSearch, beliefs: BeliefChoice) -> LineUp:
    """The policies at the table, by the options of a command. Raises ConfigError.

    People leave the policy that beliefs take them for. So where one sits there and no option of
    beliefs is set, exact beliefs of searching seats doubt it.
    """
    names = per_seat(seating.policy, game.num_players, "policy")
    if chosen.search is None:
        require_no_search(_of_search(seating, beliefs))
    people: list[int] = []
    if seating.seats is not None:
        sitting = per_seat(seating.seats, game.num_players, "seats")
        if seating.seats.strip() == HUMAN:  # one person, and not one everywhere
            sitting = [HUMAN, *names[1:]]
        people = [seat for seat, name in enumerate(sitting) if name == HUMAN]
        names = [names[s] if name == HUMAN else name for s, name in enumerate(sitting)]
    what = "policy" if seating.seats is None else f"seats ({HUMAN}, or a policy)"
    policies = list(blueprint_of(names, game, what=what))
    searching: list[int] = []
    if chosen.search is not None:
        doubt = PEOPLES_DOUBT if people and beliefs == BeliefChoice() else 0.0
        agent = _agent(tuple(policies), game, seating.policy, chosen, beliefs, doubt)
        searching = _searching(
            seating.search_seats, game.num_players, people, together=agent.searches_jointly
        )
        if seating.search_seats == EVERYBODY:
            agent, chosen = _of_everybody(agent, chosen)
        for seat in searching:
            if seat in people and agent.searches_jointly:
                raise ConfigError(
                    f"{chosen.name} searches at every seat, and seat {seat} is a person's"
                )
            if seat in people:
                raise ConfigError(f"search-seats must leave out seat {seat}, a person's")
            policies[seat] = agent
            names[seat] = f"{names[seat]}+{chosen.name}"
    for seat in people:
        names[seat] = HUMAN
    short = tuple(chosen.name if s in searching else name for s, name in enumerate(names))
    return LineUp(game, tuple(policies), tuple(names), short, tuple(people), tuple(searching))


def _of_search(seating: Seating, beliefs: BeliefChoice) -> dict[str, Any]:
    """The options that only a search reads and that are not at their defaults."""
    given = changed(beliefs)
    if seating.search_seats is not None:
        given = {"search_seats": seating.search_seats} | given
    return given


def _agent(
    policies: Blueprint,
    game: Game,
    policy: str,
    chosen: ChosenSearch,
    beliefs: BeliefChoice,
    doubt: float,
) -> SearchAgent:
    """What a searching seat plays: it knows the others' policies, or learns them (--partners)."""
    search, names = chosen.search, beliefs.partners
    assert search is not None
    belief = named_belief(policies, game, policy, chosen, beliefs)
    epsilon = 0.0 if isinstance(belief, Particles) else beliefs.epsilon  # which have their own
    uncertainty = 0.0 if isinstance(belief, Learned) else beliefs.uncertainty
    if names is None:
        for name, usual in (("likelihoods", EXACT), ("favourite", None)):
            if getattr(beliefs, name) != usual:
                raise ConfigError(f"{name} needs partners, got {getattr(beliefs, name)!r}")
        if belief is not None or isinstance(search, TeamSearch):  # which have their own
            doubt = 0.0
        return upgrade(
            policies, game, search, belief=belief,
            epsilon=epsilon, uncertainty=uncertainty or doubt,
        )  # fmt: skip
    if belief is not None:
        raise ConfigError(
            f"partners cannot be learned by the belief {beliefs.belief or policy}, got {names!r}"
        )
    if not _takes_beliefs(search):
        raise ConfigError(f"partners is not an option of {chosen.name}, got {names!r}")
    return upgrade(policies, game, search, belief=partners_of(beliefs, game))


def _takes_beliefs(search: Search | TeamSearch) -> bool:
    """Can another belief than the game's be given to it?

    A search by all seats has its own; to others, moves of partners are no evidence.
    """
    return reads_moves(search) and not isinstance(search, TeamSearch)


def adviser(who: LineUp, chosen: ChosenSearch) -> SearchAgent:
    """What tells people what it would play: SPARTA over the policies that stand in for them.

    With ``--search sparta`` it has that search's options. People and searching seats leave their
    policies, so beside others of them worlds keep some weight in which they would have.
    """
    search = chosen.search if isinstance(chosen.search, Sparta) else Sparta()
    leave = len(who.people) > 1 or bool(who.searching)
    doubt = PEOPLES_DOUBT if leave else 0.0
    return upgrade(without_search(who.policies), who.game, search, uncertainty=doubt)


def _of_everybody(agent: SearchAgent, chosen: ChosenSearch) -> tuple[SearchAgent, ChosenSearch]:
    """What plays where all seats search, and its search. Raises ConfigError where none can."""
    try:
        seated = agent.for_all_seats()
    except ConfigError:
        raise ConfigError(
            f"search-seats must be one seat where {chosen.name} has a belief that takes the others "
            f"to play the policy, got {EVERYBODY!r}: joint-sparta searches at all seats"
        ) from None
    if seated is not agent:
        say_seated(agent, seated)
        if isinstance(seated, JointAgent):
            chosen = ChosenSearch("joint-sparta", seated.search)
        else:  # so that results show it, as where settings like seconds rule joint search out
            chosen = ChosenSearch(f"{chosen.name} in doubt", chosen.search)
    return seated, chosen


def partners_of(beliefs: BeliefChoice, game: Game) -> MakeBelief:
    """What learns who the others are, from ``--partners`` and the options that belong to it."""
    assert beliefs.partners is not None
    names = policy_names(beliefs.partners)
    candidates = load_policies(beliefs.partners, game, what="partners")
    prior = None
    if beliefs.favourite is not None:
        require_choice("favourite", beliefs.favourite, names)
        prior = favouring(names.index(beliefs.favourite), len(names))
    if beliefs.likelihoods == EXACT:
        return UnknownPartners(
            candidates, prior, epsilon=beliefs.epsilon, uncertainty=beliefs.uncertainty
        )
    for name in ("epsilon", "uncertainty"):
        if getattr(beliefs, name) != 0.0:
            raise ConfigError(
                f"{name} must be 0 where likelihoods are not exact, got {getattr(beliefs, name)}"
            )
    return LearnedPartners(candidates, named_recogniser(beliefs.likelihoods, names), prior)


def named_belief(
    blueprint: Blueprint, game: Game, policy: str, chosen: ChosenSearch, beliefs: BeliefChoice
) -> MakeBelief | None:
    """What --belief names; None: the game's own. ``policy`` is the name of ``blueprint``."""
    name = beliefs.belief
    if name is None and chosen.name == "lbs" and beliefs.partners is None:
        name = policy
        if name not in belief_models() and own_belief(name, game) is None:
            cut = getattr(chosen.search, "depth", None) is not None
            raise ConfigError(_without_model(game, name, cut and not can_cut(blueprint)))
    name = EXACT if name is None else name
    drawn = name.partition(":")[0] in (EXACT, *DRAWN)
    assert chosen.search is not None
    if not (drawn or _takes_beliefs(chosen.search)):
        raise ConfigError(f"belief is not an option of {chosen.name}, got {name!r}")
    return load_belief(
        name,
        game,
        explain=beliefs.explain,
        epsilon=beliefs.epsilon,
        uncertainty=beliefs.uncertainty,
    )


_NOT_TRAINED = ("random_start_player", "observation_type", "bomb")  # no options of `train belief`


def _without_model(game: Game, policy: str, without_values: bool) -> str:
    """What to do where no belief model of ``policy``'s games is there."""
    message = (
        f"belief must be given where there is no model of {policy}'s games: --belief exact or "
        "--belief grounded do without"
    )
    if without_values:
        message += f", with --depth 0, since {policy} has no values to cut rollouts short by"
    if not isinstance(game, HanabiGame):
        return message
    words = ["hanabi-search", "train", "belief", "--policy", policy, "--out", "runs/belief"]
    words += game_options(game.config, without=_NOT_TRAINED)
    return (
        f"{message}; `{shlex.join(words)}` makes one, which is --belief "
        "runs/belief/model.safetensors"
    )


def per_seat(text: str, players: int, parameter: str) -> list[str]:
    """One name a seat, of one for all or of one a seat. Raises ConfigError for another number."""
    parts = [name.strip() for name in text.split(",")]
    if len(parts) not in (1, players):
        raise ConfigError(f"{parameter} must be one name or {players}, one a seat, got {text!r}")
    return parts * players if len(parts) == 1 else parts


def _searching(text: str | None, players: int, people: list[int], *, together: bool) -> list[int]:
    """The seats that search: by default the first that no person has, counted from 1 on; or all
    where they search together."""
    everybody = list(range(players))
    if text is None:
        free = [seat for seat in (*everybody[1:], 0) if seat not in people]
        return everybody if together else free[:1] or [1]
    if text == EVERYBODY:
        return everybody
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) < players for part in parts):
        raise ConfigError(f"search-seats must be seats from 0 to {players - 1}, got {text!r}")
    seats = sorted({int(part) for part in parts})
    if len(seats) < len(parts):
        raise ConfigError(f"search-seats must name each seat once, got {text!r}")
    if together and seats != everybody:
        raise ConfigError(
            f"search-seats must be all {players}, which search together, got {text!r}"
        )
    return seats
