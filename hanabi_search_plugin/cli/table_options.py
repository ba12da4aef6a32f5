"""Options of who plays what: the game, its seats, the search at some of them, and their beliefs."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import typer

from hanabi_search_plugin.cli.games import HANABI, load_game
from hanabi_search_plugin.cli.option_groups import Fields
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.settings import setting
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig

EXACT = "exact"


@dataclass(frozen=True, kw_only=True)
class GameChoice:
    """Native Hanabi by its configuration, or another game by its name.

    Raises ConfigError where another game is set by options of Hanabi.
    """

    game: str = setting(
        HANABI,
        "hanabi, a game of OpenSpiel, as 'openspiel:leduc_poker(players=3)', a Dec-POMDP, as "
        "'dpomdp:FILE(horizon=4)', or another of ours or of a plugin with options of its own, "
        "NAME:option=value, as bridge:dealer=0.",
        metavar="NAME",
    )
    config: HanabiConfig = setting(HanabiConfig, "Game")

    def __post_init__(self) -> None:
        for one in fields(HanabiConfig):
            value, usual = getattr(self.config, one.name), getattr(HanabiConfig(), one.name)
            if self.game != HANABI and value != usual:
                raise ConfigError(
                    f"{one.name.replace('_', '-')} is an option of hanabi, got {value!r} for "
                    f"{self.game}, whose own follow its name, as in openspiel:NAME(option=value) "
                    "and, of a plugin, NAME:option=value"
                )

    def load(self) -> Game:
        """The game. Raises as ``load_game``."""
        return load_game(self.game, self.config)


@dataclass(frozen=True, kw_only=True)
class Seating:
    """Who sits where, and which seats search."""

    policy: str = setting(
        "smartbot",
        "One policy for every seat, or one a seat; see `hanabi-search list`.",
        metavar="NAME[,NAME...]",
    )
    seats: str | None = setting(
        None,
        "Who sits where: human or a policy's name, one a seat; human alone is you at seat 0 beside "
        "--policy. Default: you at seat 0 and bots; "
        "for `play` --policy everywhere where it is given.",
        metavar="NAME,NAME...",
    )
    search_seats: str | None = setting(
        None,
        "Seats that search, counted from 0, as they are told; or all, and then what is sound "
        "there: sparta becomes joint-sparta, or doubts its partners. Default: 1, or what people "
        "leave; all in a joint search; of `hanabi-search record` one a game, in turn.",
        metavar="SEAT[,SEAT...]",
    )


@dataclass(frozen=True, kw_only=True)
class BeliefChoice:
    """Where a searching seat draws worlds from, and what it knows of the others."""

    belief: str | None = setting(
        None,
        "Where sparta, lbs, mds, pomcp and plugins' searches draw worlds from: exact; particles "
        "(for games with too many worlds to list; particles:particles=5000 for more); seatwise, "
        "for hidden hands, as in bridge; redealt, for card games of OpenSpiel; grounded, a learned "
        "model of `hanabi-search list` or a file of `hanabi-search train belief`. Default: exact; "
        "for lbs the model of --policy.",
        metavar="NAME",
    )
    explain: bool = setting(
        True,
        "Of a learned belief: leave out what the partners' moves rule out, and list worlds where "
        "they are few; off as in the LBS paper.",
    )
    epsilon: float = setting(0.0, "Probability, in the belief, that a partner moves at random.")
    uncertainty: float = setting(
        0.0,
        "Share of its weight that a world keeps, in the belief, in which a partner would have "
        "moved otherwise; for several searching seats.",
    )
    partners: str | None = setting(
        None,
        "What the others may play as far as a searching seat knows, which learns from their moves: "
        "policies, or mixed-track (the paper's list). Default: it knows --policy.",
        metavar="NAME[,NAME...]",
    )
    likelihoods: str = setting(
        EXACT,
        "How a partner's move tells of its policy: exact, asked of each policy; learned, the "
        "paper's network for mixed-track; or a file of `hanabi-search train partners`.",
        metavar="NAME",
    )
    favourite: str | None = setting(
        None,
        "The partner that all others are improbable beside, before any move: the paper's prior. "
        "Default: all are equally probable.",
        metavar="NAME",
    )


def seating(*without: str) -> Fields:
    """The options of ``Seating``."""
    return Fields(Seating, panel="Who plays", without=without)


def beliefs(*without: str) -> Fields:
    """The options of ``BeliefChoice``."""
    return Fields(BeliefChoice, panel="Search", without=without)


def the_game(*without: str) -> Fields:
    """The options of ``GameChoice``."""
    return Fields(GameChoice, panel="Game", without=without)


def given_options(context: typer.Context) -> set[str]:
    """The names of the options that are not left at their defaults."""

    def is_default(name: str) -> bool:
        source = context.get_parameter_source(name)
        return source is not None and source.name == "DEFAULT"

    return {name for name in context.params if not is_default(name)}


def set_table(given: set[str], table: Seating, game: GameChoice) -> tuple[Seating, GameChoice]:
    """Who plays where nobody is named, and how many players where only the names say so.

    ``given`` are the options that are not at their defaults.
    """
    if not given & {"seats", "policy"}:
        bots = ["smartbot"] * (game.config.players - 1)
        table = replace(table, seats=",".join(["human", *bots]))
    named = len((table.seats or table.policy).split(","))
    if named > 1 and "players" not in given:
        hand_size = game.config.hand_size if "hand_size" in given else 0  # the rule book's
        config = replace(game.config, players=named, hand_size=hand_size)
        game = replace(game, config=config)
    return table, game
