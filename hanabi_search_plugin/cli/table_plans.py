"""Tables for a browser: of the options of a command, and of what a form asks for.

A form is filled in by whoever has the server's address, so it names policies and searches of lists,
and budgets below limits: nothing in it can name a file.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.cli.analyse_command import PARTNERS, SLIPS
from hanabi_search_plugin.cli.line_ups import (
    HUMAN,
    PEOPLES_DOUBT,
    LineUp,
    adviser,
    line_up,
    named_belief,
)
from hanabi_search_plugin.cli.option_names import known_policies
from hanabi_search_plugin.cli.page_beliefs import named_shown_belief
from hanabi_search_plugin.cli.searches import SEARCHES, ChosenSearch, make_search
from hanabi_search_plugin.cli.table_options import BeliefChoice, GameChoice, Seating
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.policy import Blueprint, Policy, has_values
from hanabi_search_plugin.core.require import require_choice, require_integer
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.seating import without_search
from hanabi_search_plugin.hanabi.bots.compiled import CompiledBot
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.files.recorded_positions import Candidates
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.named_beliefs import EXACT
from hanabi_search_plugin.named_searches import NONE
from hanabi_search_plugin.networks.catalogue import SHOWN, belief_models, own_beliefs
from hanabi_search_plugin.registry import bidders, blueprint_of, load_policies, networks, policies
from hanabi_search_plugin.registry import policy_names as listed
from hanabi_search_plugin.serving.live_table import TablePlan
from hanabi_search_plugin.serving.page_messages import SeatWish, TableWish

BUDGETS = {"rollouts": 100_000, "iterations": 100_000}  # that a form may set, and the most of each
MOST_ADVICE = BUDGETS["rollouts"]
SHARES = 20  # a move is dropped after this part of a small budget: there are about as many moves
VARIANTS = (
    *("colors", "ranks", "hand_size", "information_tokens", "life_tokens"),
    *("random_start_player", "bomb"),
)  # settings of the game in a form, beside the number of seats


def plan_of_options(
    game: GameChoice,
    table: Seating,
    chosen: ChosenSearch,
    beliefs: BeliefChoice,
    shown: str = EXACT,
) -> TablePlan:
    """The table of a command's options; see ``line_up``. ``shown``: the belief of its analysis.

    Raises ConfigError, also for a table without a person.
    """
    who = line_up(game.load(), table, chosen, beliefs)
    searches = {seat: chosen for seat in who.searching}
    search = chosen.search if isinstance(chosen.search, Sparta) else Sparta()
    return _plan(who, searches, replace(search, threads=1), shown)


def plan_of_wish(wish: TableWish) -> TablePlan:
    """The table that a form asks for. Raises ConfigError where it is none of those offered."""
    for name in wish.config:
        require_choice("a setting of the game", name, VARIANTS)
    config = HanabiConfig(players=len(wish.seats), **wish.config)
    game, offered = HanabiGame(config), offered_policies()
    for seat in wish.seats:
        require_choice("policy", seat.policy, offered)
    require_integer("advice", wish.advice, 1, MOST_ADVICE)
    require_choice("belief", wish.belief, offered_beliefs())
    advice = {"rollouts": wish.advice}
    if wish.seed is not None:
        require_integer("seed", wish.seed, 0)
    people = tuple(p for p, seat in enumerate(wish.seats) if seat.who == "person")
    searches = {p: _search_of(seat) for p, seat in enumerate(wish.seats)}
    chosen = {p: one for p, one in searches.items() if one.search is not None and p not in people}
    blueprint = blueprint_of([seat.policy for seat in wish.seats], game)
    seated, names = list(blueprint), [seat.policy for seat in wish.seats]
    for p, one in chosen.items():
        if one.name == "lbs":
            _require_values(blueprint, wish)
        belief = named_belief(blueprint, game, wish.seats[p].policy, one, BeliefChoice())
        sure = belief is not None or not ({*people, *chosen} - {p})
        doubt = 0.0 if sure else PEOPLES_DOUBT
        seated[p] = upgrade(blueprint, game, one.search, belief=belief, uncertainty=doubt)
        names[p] += f"+{one.name}"
    for p in people:
        names[p] = HUMAN
    who = LineUp(game, tuple(seated), tuple(names), tuple(names), people, tuple(chosen))
    advises = _search_of(SeatWish(who="policy", policy="", search="sparta", options=advice))
    assert isinstance(advises.search, Sparta)
    return _plan(who, chosen, advises.search, wish.belief)


def choices() -> dict[str, Any]:
    """What the form offers."""
    about = {entry.name: entry.description for entry in (*policies(), *networks())}
    return {
        "policies": [
            {"name": name, "about": about.get(name, "of a plugin")} for name in offered_policies()
        ],
        "searches": [
            {"name": name, "about": SEARCHES[name].what, "budget": _budget(name)}
            for name in offered_searches()
        ],
        "beliefs": offered_beliefs(),
        "most": BUDGETS | {"advice": MOST_ADVICE},
        "advice": Sparta().rollouts,
    }


def offered_policies() -> tuple[str, ...]:
    """Policies that a form may name: those with a name of their own, which is no file's."""
    unfit = {"network", *(entry.name for entry in bidders())}
    return tuple(name for name in known_policies() if name not in unfit)


def offered_searches() -> tuple[str, ...]:
    """Searches that a form may name: those that sit at one seat, beside people."""
    return tuple(name for name, one in SEARCHES.items() if one.make is not JointSparta)


def offered_beliefs() -> tuple[str, ...]:
    """Beliefs that a form may name for its analysis: those that are no file's."""
    return (*SHOWN, *belief_models(), *own_beliefs())


def _budget(name: str) -> dict[str, Any]:
    """What a search spends on a decision."""
    own = SEARCHES[name].settings
    budget = next(one for one in BUDGETS if one in own)
    return {"name": budget, "default": own[budget].default}


def _search_of(seat: SeatWish) -> ChosenSearch:
    require_choice("search", seat.search, (NONE, *offered_searches()))
    if seat.who == "person" and (seat.search != NONE or seat.options):
        raise ConfigError(f"a person's seat must have no search, got {seat.search!r}")
    for name, value in seat.options.items():
        require_choice("an option of a search", name, tuple(BUDGETS))
        require_integer(name, value, 1, BUDGETS[name])
    options = dict(seat.options)
    named = SEARCHES.get(seat.search)
    if "rollouts" in options and named is not None and "min_rollouts" in named.settings:
        usual = named.settings["min_rollouts"].default
        options["min_rollouts"] = min(usual, max(1, options["rollouts"] // SHARES))
    return make_search(seat.search, options, 1)


def _require_values(blueprint: Blueprint, wish: TableWish) -> None:
    """LBS cuts rollouts by the values of all seats. Raises ConfigError where one has none."""
    for policy, seat in zip(blueprint, wish.seats, strict=True):
        if not has_values(policy):
            raise ConfigError(
                "policy must be a network with values at every seat where lbs searches, also where "
                f"people are taken for it, got {seat.policy}"
            )


# ---------------------------------------------------------------------------------------- of both


def _plan(who: LineUp, searches: dict[int, ChosenSearch], advises: Sparta, shown: str) -> TablePlan:
    if not who.people:
        raise ConfigError("seats must have a person, human, to look at the table, got none")
    game = who.hanabi()
    if game.config.observation_type != "card_knowledge":
        raise ConfigError(
            f"observation-type must be card_knowledge at a table for people, got "
            f"{game.config.observation_type!r}"
        )
    words = tuple(
        _in_words(searches[seat]) if seat in searches else None for seat in range(game.num_players)
    )
    advice = ChosenSearch("sparta", advises)
    return TablePlan(
        game=game,
        policies=who.policies,
        names=who.names,
        people=who.people,
        searches=words,
        adviser=adviser(who, advice),
        advice=_in_words(advice),
        candidates=partial(_candidates, who, game),
        belief=named_shown_belief(shown, game),
    )


def _in_words(chosen: ChosenSearch) -> str:
    """A search and its budget: "sparta, 1,000 rollouts"."""
    for name in BUDGETS:
        budget = getattr(chosen.search, name, None)
        if isinstance(budget, int):
            return f"{chosen.name}, {counted(budget, name.removesuffix('s'))}"
    return chosen.name


def _candidates(who: LineUp, game: HanabiGame) -> Candidates:
    """Whom an analysis takes the seats for: bots for what they are, people for one of several."""
    several, names = load_policies(PARTNERS, game), listed(PARTNERS)
    found: list[tuple[tuple[Policy, ...], tuple[str, ...]]] = []
    for seat, policy in enumerate(without_search(who.policies)):
        if seat in who.people or not isinstance(policy, CompiledBot):
            found.append((several, names))
        else:
            found.append(((policy,), (who.names[seat].partition("+")[0],)))
    return Candidates(tuple(one for one, _ in found), tuple(one for _, one in found), SLIPS)
