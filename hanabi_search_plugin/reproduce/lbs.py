"""Hu, Lerer, Brown and Foerster, "Learned Belief Search: Efficiently Improving Policies in
Partially Observable Settings", 2021: tables 1 and 2, and figure 4.

Its blueprints were learned by reinforcement, on 40 cores and 3 GPUs. Ours imitates SmartBot, and
stands beside the one it is closest to in strength.
"""

from __future__ import annotations

from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.reproduce.plan import Curve, Figure, Plan, Published, Row, Run, Table

BUDGET = 10_000  # rollouts of a decision
POLICY = "smartnet"  # and the belief model of its games


def _paper(mean: float, sem: float | None, seconds: float | None) -> Published:
    return Published(mean=mean, sem=sem, seconds=seconds)


BLUEPRINT = Run(name=f"{POLICY}-2p", policy=POLICY)
SPARTA = Run(name=f"{POLICY}-2p-sparta", policy=POLICY, search=Sparta(rollouts=BUDGET), seats=(1,))


def _lbs(depth: int | None) -> Run:
    return Run(
        name=f"{POLICY}-2p-lbs-{depth or 'end'}",
        policy=POLICY,
        search=Lbs(rollouts=BUDGET, depth=depth),
        seats=(1,),
        belief=POLICY,
    )


TABLE_1 = Table(
    name="lbs-table-1",
    title="Table 1: blueprint, SPARTA and LBS at depth 16, by cards in a hand",
    rows=(
        Row(label="5 cards", run=BLUEPRINT, published=_paper(24.08, 0.01, None)),
        Row(label="5 cards, SPARTA", run=SPARTA, published=_paper(24.52, 0.01, 215)),
        Row(label="5 cards, LBS", run=_lbs(16), published=_paper(24.48, 0.01, 47)),
        Row(label="6 cards", run=None, published=_paper(24.57, 0.01, None)),
        Row(label="6 cards, SPARTA", run=None, published=_paper(24.82, 0.01, 1747)),
        Row(label="6 cards, LBS", run=None, published=_paper(24.76, 0.01, 42)),
        Row(label="7 cards", run=None, published=_paper(23.67, 0.02, None)),
        Row(label="7 cards, LBS", run=None, published=_paper(24.26, 0.01, 58)),
    ),
    note="Ours is another blueprint. The paper's seconds are of 5 cores and a GPU.",
)

_TABLE_2: dict[int | None, tuple[float, float, int]] = {  # depth: mean, standard error, seconds
    None: (23.95, 0.02, 121),
    32: (24.01, 0.02, 84),
    16: (24.04, 0.02, 47),
    8: (24.03, 0.02, 25),
    4: (23.95, 0.02, 14),
    2: (23.81, 0.02, 9),
    1: (23.69, 0.02, 6),
}

TABLE_2 = Table(
    name="lbs-table-2",
    title="Table 2: LBS by depth; the paper's blueprint of medium strength",
    rows=(
        Row(label="blueprint", run=BLUEPRINT, published=_paper(22.99, 0.03, None)),
        Row(label="SPARTA", run=SPARTA, published=_paper(24.16, 0.02, 215)),
        *(
            Row(
                label=f"LBS, depth {depth or 'to the end'}",
                run=_lbs(depth),
                published=_paper(*published),
            )
            for depth, published in _TABLE_2.items()
        ),
    ),
    note="Ours is another blueprint. The paper's seconds are of 5 cores and a GPU, and of its "
    "strong blueprint.",
)

QUALITIES = ("learned", "grounded", "exact")

FIGURE_4 = Figure(
    name="lbs-figure-4",
    title="Figure 4: cross entropy a card of the true hand, by turn",
    kind="beliefs",
    curves=tuple(Curve(label=label, runs=(_lbs(16),)) for label in QUALITIES),
    note="In games of the blueprint, at the turns of seat 1. All three are of whole hands, divided "
    "by their cards; the paper's exact belief is of single cards. Exact: of those decisions at "
    "which it could be held in memory.",
)

PLANS: tuple[Plan, ...] = (TABLE_1, TABLE_2, FIGURE_4)
