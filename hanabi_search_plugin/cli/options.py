"""Options of the command line, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_GAME = "Game"
_WHO = "Who plays"
_SEARCH = "Search"
_RUN = "Run"
_OUT = "Output"

# The game. Ranges are checked by HanabiConfig, which names them.
GameName = Annotated[
    str,
    typer.Option(
        "--game",
        metavar="NAME",
        help="hanabi, or a plugin's game with options of its own: NAME:option=value.",
        rich_help_panel=_GAME,
    ),
]
Players = Annotated[int, typer.Option(help="Seats.", rich_help_panel=_GAME)]
Colors = Annotated[int, typer.Option(help="Colours.", rich_help_panel=_GAME)]
Ranks = Annotated[int, typer.Option(help="Ranks of a colour.", rich_help_panel=_GAME)]
HandSize = Annotated[
    int,
    typer.Option(
        help="Cards a hand; 0: the rule book's, 5 for 2 and 3 players, else 4.",
        rich_help_panel=_GAME,
    ),
]
InformationTokens = Annotated[
    int, typer.Option(help="Hints, at the start and at most.", rich_help_panel=_GAME)
]
LifeTokens = Annotated[int, typer.Option(help="Lives.", rich_help_panel=_GAME)]
RandomStart = Annotated[
    bool,
    typer.Option(
        "--random-start-player",
        help="Draw who starts.",
        rich_help_panel=_GAME,
    ),
]
ObservationKind = Annotated[
    str,
    typer.Option(
        "--observation-type",
        metavar="KIND",
        help="minimal, card_knowledge or seer, as OpenSpiel's.",
        rich_help_panel=_GAME,
    ),
]
BombOption = Annotated[
    str,
    typer.Option(
        "--bomb",
        metavar="RULE",
        help="The score when the last life is lost: zero, keep the points, or minus_one.",
        rich_help_panel=_GAME,
    ),
]

# Who plays.
PolicyName = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="NAME[,NAME...]",
        help="One policy for every seat, or one a seat; see `hanabi-search list`.",
        rich_help_panel=_WHO,
    ),
]
SeatNames = Annotated[
    str | None,
    typer.Option(
        "--seats",
        metavar="NAME,NAME...",
        help="Who sits where: human or a policy's name, one a seat (default: --policy).",
        rich_help_panel=_WHO,
    ),
]

# The search. Ranges are checked by the search, which names them.
SearchName = Annotated[
    str,
    typer.Option(
        "--search",
        metavar="NAME",
        help="sparta, joint-sparta, lbs, mo-ismcts, ris-mcts, predictor, none or a plugin's.",
        rich_help_panel=_SEARCH,
    ),
]
BeliefName = Annotated[
    str | None,
    typer.Option(
        "--belief",
        metavar="NAME",
        help="Where sparta and lbs draw worlds from: exact, grounded, a learned model of "
        "`hanabi-search list` or a file of `hanabi-search train belief`. Default: exact; for lbs "
        "the model of --policy.",
        rich_help_panel=_SEARCH,
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain/--no-explain",
        help="Of a learned belief: leave out what the partners' moves rule out, and list worlds "
        "where they are few; off as in the LBS paper.",
        rich_help_panel=_SEARCH,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        help="Moves of a rollout before the policy's values stand for the rest (of a tree: before "
        "its rollouts); 0: to the end. Default: 16 for lbs, else to the end.",
        rich_help_panel=_SEARCH,
    ),
]
SearchSeats = Annotated[
    str | None,
    typer.Option(
        metavar="SEAT[,SEAT...]",
        help="Seats that search, counted from 0, or all. Default: 1, or all in a joint search.",
        rich_help_panel=_SEARCH,
    ),
]
Rollouts = Annotated[
    int,
    typer.Option(help="Budget of a decision, shared by the legal moves.", rich_help_panel=_SEARCH),
]
Iterations = Annotated[
    int, typer.Option(help="Worlds that a tree of a decision is made of.", rich_help_panel=_SEARCH)
]
Exploration = Annotated[
    float,
    typer.Option(help="The constant C of a tree, of the range of scores.", rich_help_panel=_SEARCH),
]
RulesName = Annotated[
    str,
    typer.Option(
        "--rules",
        metavar="NAME",
        help="Moves that a tree looks at: all, or those of table-2 (the nine rules of the paper), "
        "shipped-2018, shipped-2019, shipped-evaluation, or numbers as in '2|3|9'.",
        rich_help_panel=_SEARCH,
    ),
]
ConventionName = Annotated[
    str,
    typer.Option(
        "--convention",
        metavar="KIND",
        help="What these rules take a hint that touches one card for: off, any-giver or "
        "previous-player.",
        rich_help_panel=_SEARCH,
    ),
]
ByConvention = Annotated[
    bool,
    typer.Option(
        help="Draw hands as this convention has them, not by what hints say alone.",
        rich_help_panel=_SEARCH,
    ),
]
EvaluationName = Annotated[
    str,
    typer.Option(
        "--evaluation",
        metavar="NAME",
        help="Estimates of these moves, as priors: evalfn-1, evalfn-2, evalfn-3, a file of "
        "`hanabi-search train`, or none.",
        rich_help_panel=_SEARCH,
    ),
]
LeavesKind = Annotated[
    str,
    typer.Option(
        "--leaves",
        metavar="KIND",
        help="What values a leaf of a tree: rollouts, or the estimates.",
        rich_help_panel=_SEARCH,
    ),
]
Seconds = Annotated[
    float | None,
    typer.Option(
        help="Stop a decision after this long, too (then results depend on the machine's speed).",
        rich_help_panel=_SEARCH,
    ),
]
Threshold = Annotated[
    float,
    typer.Option(
        help="Score points that a move must gain over the blueprint's.", rich_help_panel=_SEARCH
    ),
]
PruningName = Annotated[
    str,
    typer.Option(
        "--pruning",
        metavar="KIND",
        help="How moves are dropped early: paired differences, independent means, or off.",
        rich_help_panel=_SEARCH,
    ),
]
Deviations = Annotated[
    float,
    typer.Option(
        help="Standard errors by which a dropped move is behind.", rich_help_panel=_SEARCH
    ),
]
MinRollouts = Annotated[
    int,
    typer.Option(help="Rollouts of a move before any is dropped.", rich_help_panel=_SEARCH),
]
RoundSize = Annotated[
    int,
    typer.Option(
        help="Worlds between two looks at which moves are behind; more once there are many.",
        rich_help_panel=_SEARCH,
    ),
]
Candidates = Annotated[
    int | None,
    typer.Option(
        help="Try only so many moves, those that the policy likes best. Default: all.",
        rich_help_panel=_SEARCH,
    ),
]
Reallocate = Annotated[
    bool,
    typer.Option(
        "--reallocate/--no-reallocate",
        help="Give what a dropped move did not use to the others.",
        rich_help_panel=_SEARCH,
    ),
]
MaxRange = Annotated[
    int,
    typer.Option(
        help="Private histories that a joint search goes through to understand one move.",
        rich_help_panel=_SEARCH,
    ),
]
Epsilon = Annotated[
    float,
    typer.Option(
        help="Probability, in the belief, that a partner moves at random.",
        rich_help_panel=_SEARCH,
    ),
]
Uncertainty = Annotated[
    float,
    typer.Option(
        help="Share of its weight that a world keeps, in the belief, in which a partner would have "
        "moved otherwise; for several searching seats.",
        rich_help_panel=_SEARCH,
    ),
]

PartnerNames = Annotated[
    str | None,
    typer.Option(
        "--partners",
        metavar="NAME[,NAME...]",
        help="What the others may play as far as a searching seat knows, which learns from their "
        "moves: policies, or mixed-track (the paper's list). Default: it knows --policy.",
        rich_help_panel=_SEARCH,
    ),
]
LikelihoodsName = Annotated[
    str,
    typer.Option(
        "--likelihoods",
        metavar="NAME",
        help="How a partner's move tells of its policy: exact, asked of each policy; learned, the "
        "paper's network for mixed-track; or a file of `hanabi-search train partners`.",
        rich_help_panel=_SEARCH,
    ),
]
Favourite = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The partner that all others are improbable beside, before any move: the paper's "
        "prior. Default: all are equally probable.",
        rich_help_panel=_SEARCH,
    ),
]

# The run and its files.
Games = Annotated[int, typer.Option(help="Games to play.", rich_help_panel=_RUN)]
Seed = Annotated[
    int, typer.Option(help="Decides on decks and all other chance.", rich_help_panel=_RUN)
]
Threads = Annotated[
    int, typer.Option(help="Threads; results do not depend on them.", rich_help_panel=_RUN)
]
# Commands read the context: there older versions of typer leave texts without a path_type.
Resume = Annotated[
    Path | None,
    typer.Option(
        path_type=Path,
        metavar="FILE",
        help="Keep finished games in FILE, and go on with those already there.",
        rich_help_panel=_RUN,
    ),
]
JsonFile = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Write results, parameters, seed and versions; - is the standard output.",
        rich_help_panel=_OUT,
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        path_type=Path,
        metavar="FILE",
        help="Write every searched decision: JSON lines.",
        rich_help_panel=_OUT,
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(
        path_type=Path,
        metavar="FILE",
        help="Write the games (JSON lines, .gz too); `hanabi-search replay` reads them.",
        rich_help_panel=_OUT,
    ),
]
