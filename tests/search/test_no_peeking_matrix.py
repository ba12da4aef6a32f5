"""No peeking: every search and belief in every ecosystem, for 2 to 5 players.

The rows are what the package names: the searches of the command line and of ``algorithms``, and the
beliefs of its faces. The columns are the ``ECOSYSTEMS``, which must use all that the faces have for
agents. What cannot go together says so itself, by a typed error, and is skipped for that reason.
"""

from __future__ import annotations

import importlib.util
import inspect
import pkgutil
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from shimmy import OpenSpielCompatibilityV0

import hanabi_search_plugin as package
from hanabi_search_plugin import algorithms, hanabi, wrappers
from hanabi_search_plugin.beliefs.particles import Particles
from hanabi_search_plugin.cli.searches import SEARCHES
from hanabi_search_plugin.core.agent import TeamSearch
from hanabi_search_plugin.core.capabilities import Enumerable
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.testing import check_agent
from hanabi_search_plugin.wrappers.dpomdp import load_dpomdp
from hanabi_search_plugin.wrappers.openspiel import (
    OpenSpielDealtGame,
    OpenSpielGame,
    load_game,
    sorted_deck,
)
from hanabi_search_plugin.wrappers.pettingzoo import AECGame, DeterministicAECGame
from tests.helpers.ecosystems import (
    ECOSYSTEMS,
    Ecosystem,
    OwnHand,
    by_play_game,
    without_wall,
)
from tests.helpers.made_policies import MADE
from tests.helpers.small_agents import (
    BELIEFS,
    BUDGETS,
    FULL,
    KINDS,
    PLAYERS,
    SMALL,
    agent_of,
    search_of,
    tried,
)
from tests.helpers.twins import Peeked, check_decisions
from tests.wrappers.test_pettingzoo_games import OpenSpiel, TicTacToe


def test_every_search_of_the_package_is_a_row() -> None:
    faces = {getattr(algorithms, name) for name in algorithms.__all__}
    assert {search.make for search in SEARCHES.values()} == faces


@pytest.mark.parametrize("name", SEARCHES)
def test_every_search_has_a_small_budget(name: str) -> None:
    assert set(SEARCHES[name].settings) & set(BUDGETS), f"name what bounds {name} in BUDGETS"


def test_every_belief_of_the_faces_is_a_row() -> None:
    exported = {name: getattr(face, name) for face in (package, hanabi) for name in face.__all__}
    classes = {name: thing for name, thing in exported.items() if inspect.isclass(thing)}
    made = {name for name, thing in classes.items() if takes(thing) == ["blueprint", "view"]}
    assert made == set(BELIEFS)


def takes(kind: type) -> list[str]:
    """The parameters of the calls of an object of this class."""
    call = next((vars(base)["__call__"] for base in kind.__mro__ if "__call__" in vars(base)), None)
    return list(inspect.signature(call).parameters)[1:] if inspect.isfunction(call) else []


# --------------------------------------------------------------------------------- the columns


def exports() -> dict[str, Any]:
    """All that the public modules of ``wrappers`` have for users, as "module.name"."""
    found = {}
    for module in pkgutil.iter_modules(wrappers.__path__):
        if module.name.startswith("_"):
            continue
        try:
            face = import_module(f"{wrappers.__name__}.{module.name}")
        except ImportError:  # an extra that is not installed
            continue
        own = [n for n, v in vars(face).items() if getattr(v, "__module__", "") == face.__name__]
        for name in getattr(face, "__all__", [n for n in own if n == n.lower()]):
            found[f"{module.name}.{name}"] = getattr(face, name)
    return found


def kind_of(export: Any) -> str:
    """What a face offers, by what it takes and makes."""
    if inspect.isclass(export) and issubclass(export, Game):
        return "a game"
    if not callable(export):
        return "else"
    signature = inspect.signature(export)
    if any("AnyPolicy" in str(each.annotation) for each in signature.parameters.values()):
        return "asks"
    made = str(signature.return_annotation)
    return "a policy" if "Policy" in made else "a game" if made.endswith("SpielGame") else "else"


ELSE = {
    "dpomdp.DecPomdp", "dpomdp.load_dpomdp", "dpomdp.load_game",
    "gymnasium.ID", "gymnasium.ILLEGAL_REWARD", "gymnasium.MaskInObservation",
    "openspiel.Redealt", "openspiel.config_of", "openspiel.from_state", "openspiel.history_of",
    "openspiel.hypothetical_state", "openspiel.initial_state", "openspiel.other_deals",
    "openspiel.sorted_deck", "openspiel.spiel_of", "openspiel.to_state", "pettingzoo.AECAdapter",
    "pettingzoo.RecordMoves",
    "pettingzoo.RecordObservations", "pettingzoo.RlcardAdapter", "pettingzoo.ShimmyAdapter",
    "pettingzoo.env", "pettingzoo.hanabi_config", "pettingzoo.raw_env", "ray.Ray",
}  # fmt: skip
"""Exports that neither ask an agent nor make a game or a policy."""

OF_OTHER_GAMES = {"pettingzoo.AECSeatAgent"}
"""Those that ask agents in other games than Hanabi: tests/wrappers/test_pettingzoo_any_seat.py."""

MADE_THERE = {"openspiel.SpielBot", "openspiel.SpielPolicy", "openspiel.SpielRLAgent"}
"""What ``as_bot``, ``as_spiel_policy`` and ``as_rl_agent`` make, by which they are tried."""


def test_everything_that_the_wrappers_export_has_its_place() -> None:
    found: dict[str, set[str]] = {}
    for name, export in exports().items():
        found.setdefault(kind_of(export), set()).add(name)
    installed = ELSE if importlib.util.find_spec("ray") else ELSE - {"ray.Ray"}
    assert found.pop("else") == installed
    used = {name for ecosystem in ECOSYSTEMS for name in ecosystem.uses}
    used -= ELSE | {"hanabi_search_plugin.evaluate"}
    assert found.pop("asks") == used | OF_OTHER_GAMES | MADE_THERE
    assert found.pop("a game") == {game.uses for game in GAMES}
    assert found.pop("a policy") <= set(MADE)
    assert not found


# ---------------------------------------------------------------------- games and policies made


@dataclass(frozen=True)
class MadeGame:
    """A game that a wrapper makes."""

    name: str
    uses: str
    make: Callable[[int], Game]  # for so many players


TIGER = Path(__file__).parents[2] / "examples" / "dec_tiger.dpomdp"


def by_shimmy(players: int) -> AECGame:
    def make() -> Any:
        return OpenSpielCompatibilityV0(game_name="kuhn_poker", config={"players": players})

    rules = make()._env
    return AECGame(
        make, OpenSpiel(), return_range=(rules.min_utility(), rules.max_utility()),
        max_length=rules.max_game_length(), rewards="zero_sum", public_actions=True,
    )  # fmt: skip


def tic_tac_toe(players: int) -> DeterministicAECGame:
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("pygame") is None:  # which draws the board, no more
            patch.setitem(sys.modules, "pygame", types.ModuleType("pygame"))
        from pettingzoo.classic import tictactoe_v3

        return DeterministicAECGame(
            tictactoe_v3.env(), TicTacToe(), return_range=(-1, 1), max_length=9,
            rewards="zero_sum", public_actions=True,
        )  # fmt: skip


GAMES = (
    MadeGame(
        "kuhn poker", "openspiel.OpenSpielGame",
        lambda players: OpenSpielGame(f"kuhn_poker(players={players})"),
    ),
    MadeGame(
        "kuhn poker, dealt", "openspiel.OpenSpielDealtGame",
        lambda players: OpenSpielDealtGame(f"kuhn_poker(players={players})"),
    ),
    MadeGame(
        "hanabi of OpenSpiel", "openspiel.OpenSpielGame",
        lambda players: OpenSpielGame(
            f"hanabi(players={players},colors=2,ranks=2,hand_size=1,max_life_tokens=1)"
        ),
    ),
    MadeGame(
        "goofspiel", "openspiel.load_game",
        lambda players: load_game(
            f"goofspiel(players={players},num_cards=3,imp_info=true,points_order=descending)"
        ),
    ),
    MadeGame("a Dec-POMDP", "dpomdp.DecPomdpGame", lambda players: load_dpomdp(TIGER, 2)),
    MadeGame("kuhn poker by Shimmy", "pettingzoo.AECGame", by_shimmy),
    MadeGame("tic-tac-toe", "pettingzoo.DeterministicAECGame", tic_tac_toe),
)  # fmt: skip


MORE_SLOWLY = [2, *(pytest.param(players, marks=pytest.mark.slow) for players in PLAYERS[1:])]


@pytest.mark.parametrize("made", GAMES, ids=lambda made: made.name)
@pytest.mark.parametrize("players", MORE_SLOWLY)
@pytest.mark.parametrize("name", SEARCHES)
def test_searches_of_other_games(name: str, made: MadeGame, players: int) -> None:
    game = made.make(players)
    if game.num_players != players:
        pytest.skip(f"{made.name} is for {game.num_players} players")
    belief = None if isinstance(game, Enumerable) else Particles(8)
    try:
        agent = package.upgrade(UniformPolicy(), game, tried(search_of(name)), belief=belief)
        check_agent(game, agent)
    except (ConfigError, UnsupportedError) as error:
        pytest.skip(f"refused: {error}")


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("name", MADE)
def test_policies_that_are_made_of_others(name: str, players: int) -> None:
    game = SMALL[players]
    policy = MADE[name](game)
    check_decisions(by_play_game(policy, game), game)
    check_decisions(by_play_game(agent_of("sparta", game, policy), game), game, asked=2)


# ---------------------------------------------------------------------------------- the matrix


def check_kind(kind: str, ecosystem: Ecosystem, game: HanabiGame, asked: int) -> None:
    """Skips where the search, the belief or the ecosystem refuses that game."""
    try:
        decide = ecosystem.asks(agent_of(kind, game), game)
        check_decisions(decide, game, forced=ecosystem.forced, asked=asked)
    except (ConfigError, UnsupportedError) as error:
        pytest.skip(f"refused: {error}")


ECOSYSTEM = pytest.mark.parametrize("ecosystem", ECOSYSTEMS, ids=lambda e: e.name)
KIND = pytest.mark.parametrize("kind", KINDS)


@ECOSYSTEM
@pytest.mark.parametrize("players", PLAYERS)
@KIND
def test_matrix(kind: str, ecosystem: Ecosystem, players: int) -> None:
    check_kind(kind, ecosystem, SMALL[players], 2)


@pytest.mark.slow
@ECOSYSTEM
@pytest.mark.parametrize("players", PLAYERS)
@KIND
def test_matrix_of_full_games(kind: str, ecosystem: Ecosystem, players: int) -> None:
    check_kind(kind, ecosystem, FULL[players], 4)


@ECOSYSTEM
@KIND
def test_nothing_is_refused_for_every_number_of_players(kind: str, ecosystem: Ecosystem) -> None:
    def accepted(game: HanabiGame) -> bool:
        try:
            decide = ecosystem.asks(agent_of(kind, game), game)
            decide(tuple(sorted_deck(game)), [], 0)
        except (ConfigError, UnsupportedError):
            return False
        return True

    assert any(accepted(game) for game in SMALL.values())


@ECOSYSTEM
@pytest.mark.parametrize("players", PLAYERS)
def test_what_peeks_is_caught_in_every_ecosystem(ecosystem: Ecosystem, players: int) -> None:
    game = SMALL[players]
    try:
        decide = ecosystem.peeks(game)
        with pytest.raises(Peeked):
            for seed in range(4):
                check_decisions(decide, game, seed, forced=ecosystem.forced)
    except UnsupportedError as error:
        pytest.skip(f"refused: {error}")


TEAMS = {name for name, search in SEARCHES.items() if issubclass(search.make, TeamSearch)}
BY_VIEWS = [kind for kind in KINDS if kind not in TEAMS]
"""A team searches by what is public, so a wall that shows a seat its hand may change nothing."""


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("kind", BY_VIEWS)
def test_every_search_is_caught_behind_a_broken_wall(kind: str, players: int) -> None:
    """Its views show the own hand, by which its blueprint plays."""
    game = SMALL[players]
    try:
        decide = without_wall(agent_of(kind, game, OwnHand()), game)
        with pytest.raises(Peeked):
            for seed in range(4):
                check_decisions(decide, game, seed)
    except UnsupportedError as error:
        pytest.skip(f"refused: {error}")
