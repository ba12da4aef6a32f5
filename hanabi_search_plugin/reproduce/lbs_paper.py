"""Hu, Lerer, Brown and Foerster, "Learned Belief Search: Efficiently Improving Policies in
Partially Observable Settings", 2021: tables 1 and 2, figures 3 to 6, and both seats searching.

Its blueprints were learned by reinforcement, on 40 cores and 3 GPUs. Ours stand beside those that
they are closest to: ``rlnet`` beside the medium one, ``beliefnet`` beside the strong one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.algorithms.mds import Mds
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.beliefs.learned_belief import MAX_LISTED, MAX_LISTED_IN_DOUBT
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.reproduce.plan import (
    Curve,
    Figure,
    Plan,
    Published,
    Row,
    Run,
    Table,
    Training,
)

MEDIUM, STRONG = "rlnet", "beliefnet"  # policies, and the beliefs of their games
ROLLOUTS = 1_000  # of a decision: a tenth of the paper's, on a processor
# Over ``rlnet`` moves that are clearly behind go early; over ``beliefnet`` today's defaults hold.
BUDGET: dict[str, Any] = {
    "rollouts": ROLLOUTS, "min_rollouts": 25, "round_size": 100, "threshold": 0.25, "errors": 0.0,
    "pruning": "paired",
}  # fmt: skip
BUDGETS: dict[str, dict[str, Any]] = {MEDIUM: BUDGET, STRONG: {"rollouts": ROLLOUTS}}
NOTE = (
    "1,000 rollouts a decision, the paper's 10,000; other blueprints. The paper's seconds are of 5 "
    "cores and a GPU"
)

CARDS = {  # in a hand: the game
    5: HanabiConfig(),
    6: HanabiConfig(hand_size=6),
    7: HanabiConfig(hand_size=7, information_tokens=4),
}


def _paper(mean: float, sem: float | None, seconds: float | None) -> Published:
    return Published(mean=mean, sem=sem, seconds=seconds)


def _name(policy: str, cards: int) -> str:
    return f"{policy}-2p" if cards == 5 else f"{policy}-2p-{cards}-cards"


def _alone(policy: str, cards: int = 5) -> Run:
    return Run(name=_name(policy, cards), policy=policy, config=CARDS[cards])


def _sparta(policy: str, cards: int = 5) -> Run:
    return Run(
        name=f"{_name(policy, cards)}-sparta",
        policy=policy,
        config=CARDS[cards],
        search=Sparta(**BUDGETS[policy]),
        seats=(1,),
    )


def _lbs(policy: str, depth: int | None, cards: int = 5, *, rollouts: int = ROLLOUTS) -> Run:
    """As the paper's over ``rlnet``. Over ``beliefnet`` its own belief, in hands that explain the
    partner's moves and are listed where they are few."""
    less = "" if rollouts == ROLLOUTS else f"-{rollouts}"
    own = policy == STRONG
    return Run(
        name=f"{_name(policy, cards)}-lbs-{depth or 'end'}{less}",
        policy=policy,
        config=CARDS[cards],
        search=Lbs(depth=depth, **BUDGETS[policy] | {"rollouts": rollouts}),
        seats=(1,),
        belief=policy,
        explain=own,
        listed=MAX_LISTED if own else None,
    )


# About a tenth of what SPARTA costs: 20 worlds for each of the moves, in one batch.
FRUGAL = Run(
    name=f"{_name(MEDIUM, 5)}-lbs-12-240-of-12",
    policy=MEDIUM,
    search=Lbs(depth=12, **BUDGET | {"rollouts": 240, "min_rollouts": 20, "candidates": 12}),
    seats=(1,),
    belief=MEDIUM,
)
EXPLAINED = replace(FRUGAL, name=f"{FRUGAL.name}-explained", explain=True)
# Ten worlds for each of the moves, then as many as are left for those that one standard error of
# their difference does not put behind.
DROPPING = replace(
    EXPLAINED,
    name=f"{_name(MEDIUM, 5)}-lbs-10-240-dropping",
    search=Lbs(
        depth=10, rollouts=240, min_rollouts=10, round_size=40, deviations=1.0, threshold=0.15,
        candidates=12,
    ),
)  # fmt: skip


def _few(rollouts: int, worlds: int, then: int, threshold: float = 0.15, depth: int = 12) -> Lbs:
    return Lbs(
        depth=depth, rollouts=rollouts, min_rollouts=worlds, round_size=then, deviations=1.0,
        threshold=threshold, candidates=8,
    )  # fmt: skip


def _listing(rollouts: int, worlds: int, then: int, listed: int) -> Run:
    """The moves that the blueprint likes best, so many worlds, and then so many at a time for what
    is left; in hands that are listed where there are at most so many."""
    search = _few(rollouts, worlds, then)
    name = f"{_name(MEDIUM, 5)}-lbs-12-{rollouts}-listed"
    drawn = _lbs(MEDIUM, search.depth)
    return replace(drawn, name=name, search=search, explain=True, listed=listed)


LISTING = _listing(160, 10, 20, 2_000)
WIDER = _listing(200, 12, 25, 100_000)
# The same for ``beliefnet``, whose values are closer: fewer moves of a rollout, a lower threshold.
TENTH = {
    cards: replace(
        _lbs(STRONG, 8, cards, rollouts=200),
        search=_few(200, 12, 25, threshold=0.1, depth=8),
    )
    for cards in CARDS
}

TABLE_1 = Table(
    name="lbs-table-1",
    title="Table 1: blueprint, SPARTA and LBS at depth 16, by cards in a hand",
    rows=(
        Row(label="5 cards", run=_alone(STRONG), published=_paper(24.08, 0.01, None)),
        Row(label="5 cards, SPARTA", run=_sparta(STRONG), published=_paper(24.52, 0.01, 215)),
        Row(label="5 cards, LBS", run=_lbs(STRONG, 16), published=_paper(24.48, 0.01, 47)),
        Row(label="5 cards, LBS, depth 8, 200 rollouts", run=TENTH[5]),
        Row(label="6 cards", run=_alone(STRONG, 6), published=_paper(24.57, 0.01, None)),
        Row(label="6 cards, SPARTA", run=_sparta(STRONG, 6), published=_paper(24.82, 0.01, 1747)),
        Row(label="6 cards, LBS", run=_lbs(STRONG, 16, 6), published=_paper(24.76, 0.01, 42)),
        Row(label="6 cards, LBS, depth 8, 200 rollouts", run=TENTH[6]),
        Row(label="7 cards", run=_alone(STRONG, 7), published=_paper(23.67, 0.02, None)),
        Row(label="7 cards, SPARTA", run=_sparta(STRONG, 7)),
        Row(label="7 cards, LBS", run=_lbs(STRONG, 16, 7), published=_paper(24.26, 0.01, 58)),
        Row(label="7 cards, LBS, depth 8, 200 rollouts", run=TENTH[7]),
    ),
    note=f"{NOTE}. With 7 cards it could not hold the exact belief; ours is of a sample of hands.",
)

_DEPTHS: dict[int | None, int] = {None: 121, 32: 84, 16: 47, 8: 25, 4: 14, 2: 9, 1: 6}  # seconds
_TABLE_2: dict[str, tuple[tuple[float, float], ...]] = {  # blueprint, SPARTA, and LBS by depth
    MEDIUM: (
        *((22.99, 0.03), (24.16, 0.02)),
        *((23.95, 0.02), (24.01, 0.02), (24.04, 0.02), (24.03, 0.02)),
        *((23.95, 0.02), (23.81, 0.02), (23.69, 0.02)),
    ),
    STRONG: (
        *((24.08, 0.01), (24.52, 0.01)),
        *((24.42, 0.01), (24.45, 0.01), (24.48, 0.01), (24.43, 0.01)),
        *((24.41, 0.01), (24.35, 0.01), (24.26, 0.02)),
    ),
}


def _searches(policy: str) -> tuple[tuple[str, Run, int | None], ...]:
    """Label, run and the paper's seconds: the blueprint, SPARTA, and LBS by depth."""
    return (
        ("", _alone(policy), None),
        (", SPARTA", _sparta(policy), 215),
        *(
            (f", LBS, {f'depth {depth}' if depth else 'to the end'}", _lbs(policy, depth), seconds)
            for depth, seconds in _DEPTHS.items()
        ),
    )


TABLE_2 = Table(
    name="lbs-table-2",
    title="Table 2: LBS by depth, over a medium and a strong blueprint",
    rows=(
        *(
            Row(label=f"{policy}{label}", run=run, published=_paper(*published, seconds))
            for policy in (MEDIUM, STRONG)
            for (label, run, seconds), published in zip(
                _searches(policy), _TABLE_2[policy], strict=True
            )
        ),
        Row(
            label=f"{MEDIUM}, LBS, depth 12, 240 rollouts of 12 moves",
            run=FRUGAL,
            than=f"{MEDIUM}, SPARTA",
        ),
        Row(
            label=f"{MEDIUM}, LBS, the same, hands that explain the partner's moves",
            run=EXPLAINED,
            than=f"{MEDIUM}, SPARTA",
        ),
        Row(
            label=f"{MEDIUM}, LBS, depth 10, 240 rollouts, moves dropped after 10",
            run=DROPPING,
            than=f"{MEDIUM}, SPARTA",
        ),
        Row(
            label=f"{MEDIUM}, LBS, depth 12, 160 rollouts, up to 2,000 hands listed",
            run=LISTING,
            than=f"{MEDIUM}, SPARTA",
        ),
        Row(
            label=f"{MEDIUM}, LBS, depth 12, 200 rollouts, up to 100,000 hands listed",
            run=WIDER,
            than=f"{MEDIUM}, SPARTA",
        ),
        Row(
            label=f"{STRONG}, LBS, depth 8, 200 rollouts",
            run=TENTH[5],
            than=f"{STRONG}, LBS, depth 8",
        ),
    ),
    note=f"{NOTE}, and of its strong blueprint.",
)

FIGURE_3 = Figure(
    name="lbs-figure-3",
    title="Figure 3: score by the CPU seconds of a game",
    kind="costs",
    curves=tuple(
        Curve(label=f"{policy}{', 6 cards' * (cards == 6)}, {label}", runs=runs)
        for policy, cards in ((MEDIUM, 5), (STRONG, 5), (STRONG, 6))
        for label, runs in (
            ("LBS", tuple(_lbs(policy, depth, cards) for depth in reversed(_DEPTHS))),
            ("SPARTA", (_sparta(policy, cards),)),
        )
    ),
    note="From left to right LBS at depth 1, 2, 4, 8, 16, 32 and to the end. " + NOTE + ".",
)

QUALITIES = ("learned", "grounded", "exact")
IMITATION = "smartnet"
IMITATED = replace(
    _lbs(MEDIUM, 16), name=f"{_name(IMITATION, 5)}-lbs-16", policy=IMITATION, belief=IMITATION
)

FIGURE_4 = Figure(
    name="lbs-figure-4",
    title="Figure 4: cross entropy a card of the true hand, by turn",
    kind="beliefs",
    curves=tuple(Curve(label=label, runs=(IMITATED,)) for label in QUALITIES),
    note="In games of the blueprint, at the turns of seat 1. All three are of whole hands, divided "
    "by their cards; the paper's exact belief is of single cards. Exact: of those decisions at "
    "which it could be held in memory.",
)

MINUTES = 10  # of one idle core, for the blueprint and its belief model together
A_MINUTE = Training(blueprint=35, belief=22)  # rounds
TO_THE_END = Lbs(  # values play no part
    depth=None, rollouts=160, min_rollouts=20, round_size=40, deviations=1.0, threshold=0.25,
    candidates=4,
)  # fmt: skip


def _learned(minutes: int, search: Lbs | None) -> Run:
    """A blueprint that had so many minutes, and its belief model the rest."""
    rounds = A_MINUTE.blueprint * minutes, A_MINUTE.belief * (MINUTES - minutes)
    return Run(
        name=f"learned-{minutes}-of-{MINUTES}{'-lbs-end' if search else ''}",
        policy="",
        search=search,
        seats=() if search is None else (1,),
        explain=True,
        training=Training(blueprint=rounds[0], belief=rounds[1]),
    )


_MINUTES = tuple(range(2, MINUTES, 2))

FIGURE_5 = Figure(
    name="lbs-figure-5",
    title=f"Figure 5: {MINUTES} minutes of one core, for blueprint and belief model",
    kind="splits",
    curves=tuple(
        Curve(label=label, runs=tuple(_learned(minutes, search) for minutes in _MINUTES))
        for label, search in (("blueprint", None), ("LBS to the end", TO_THE_END))
    ),
    note="Networks from nothing, trained by this command. A minute is 35 rounds of self-play, or "
    "22 of belief learning. 160 rollouts of 4 moves, in hands that explain the partner's moves. "
    "The paper: 24 hours, 10,000 rollouts.",
    ticks=tuple(f"{minutes}|{MINUTES - minutes}" for minutes in _MINUTES),
    axis="minutes for the blueprint | for the belief model",
)

_SPLIT = {depth: 16_000 // depth for depth in (1, 2, 4, 8, 16, 32)}  # rollouts

FIGURE_6 = Figure(
    name="lbs-figure-6",
    title="Figure 6: depth against rollouts, their product fixed",
    kind="splits",
    curves=tuple(
        Curve(
            label=policy,
            runs=tuple(_lbs(policy, depth, rollouts=number) for depth, number in _SPLIT.items()),
        )
        for policy in (MEDIUM, STRONG)
    ),
    note="16,000 moves of rollouts a decision, the paper's 128,000; other blueprints.",
    ticks=tuple(f"{depth}|{number:,}" for depth, number in _SPLIT.items()),
    axis="depth | rollouts a decision",
)

_ONE = "one seat"

_DRAWN = replace(TENTH[5], name=f"{TENTH[5].name}-drawn", explain=False, listed=None)  # the paper's

BOTH_SEATS = Table(
    name="lbs-both-seats",
    title="Section 6.1: LBS by both seats, each of which takes the other to play the blueprint",
    rows=(
        Row(label=_ONE, run=_DRAWN, published=_paper(24.48, 0.01, None)),
        Row(
            label="both seats",
            run=replace(_DRAWN, name=f"{_DRAWN.name}-both", seats=(0, 1)),
            published=_paper(24.34, 0.02, None),
            than=_ONE,
        ),
    ),
    note="Depth 8 and 200 rollouts a decision, hands drawn whatever the other's moves say; the "
    "paper: depth 16 and 10,000. Another blueprint.",
)

_DOUBT = replace(
    TENTH[5],
    seats=(0, 1),
    uncertainty=0.05,
    listed=MAX_LISTED_IN_DOUBT,  # doubt rules no hand out, so that listing more asks too much
)

IN_DOUBT = Table(
    name="lbs-both-seats-in-doubt",
    title="LBS by both seats, whose beliefs doubt that the other plays the blueprint",
    rows=(
        Row(label=_ONE, run=TENTH[5]),
        *(
            Row(
                label=f"both seats in doubt, threshold {threshold:g}",
                run=replace(
                    _DOUBT,
                    name=f"{TENTH[5].name}-doubt-{threshold:g}",
                    search=_few(200, 12, 25, threshold=threshold, depth=8),
                ),
                than=_ONE,
            )
            for threshold in (0.1, 0.2)
        ),
        Row(
            label="both seats by Mds",
            run=replace(
                _DOUBT,
                name=f"{_name(STRONG, 5)}-mds-8-200-doubt",
                search=Mds(depth=8, rollouts=200, eta=14.0, greedy=True),
            ),
            than=_ONE,
        ),
    ),
    note="Depth 8 and 200 rollouts a decision at each searching seat; uncertainty 0.05. The paper "
    "has no such search.",
)

PLANS: tuple[Plan, ...] = (
    TABLE_1,
    TABLE_2,
    BOTH_SEATS,
    IN_DOUBT,
    FIGURE_3,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
)
