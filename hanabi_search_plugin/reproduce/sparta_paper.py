"""Lerer, Hu, Foerster and Brown, "Improving Policies via Search in Cooperative Partially Observable
Games", AAAI 2020: its tables, figures 2 and 3, and the bound of its theorem.

A row whose blueprint joins the package takes one line: give it a ``Run`` in place of None.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.reproduce.plan import Curve, Figure, Plan, Published, Row, Run, Table

BUDGET = 10_000  # rollouts of a decision: what the authors' program takes
# Paired pruning in place of the paper's; no threshold in standard errors.
PAIRED: dict[str, Any] = {
    "rollouts": BUDGET, "pruning": "paired", "min_rollouts": 100, "round_size": 100,
}  # fmt: skip
SEARCH: dict[str, Any] = PAIRED | {"errors": 0.0}


def _paper(mean: float, sem: float | None, perfect: float | None, **more: Any) -> Published:
    """``perfect`` in percent, as printed."""
    return Published(
        mean=mean, sem=sem, perfect=None if perfect is None else round(perfect / 100, 6), **more
    )


# The last seat searches, as in the authors' program.
SINGLE = Run(name="smartbot-2p-single", search=Sparta(**SEARCH), seats=(1,))


def _joint(max_range: int) -> Run:
    search = JointSparta(max_range=max_range, **PAIRED)
    return Run(name=f"smartbot-2p-joint-{max_range}", search=search, seats=(0, 1))


def _alone(policy: str, players: int) -> Run:
    return Run(name=f"{policy}-{players}p", policy=policy, config=HanabiConfig(players=players))


def _last_seat(policy: str, players: int, name: str, search: Sparta) -> Run:
    alone = _alone(policy, players)
    return replace(alone, name=f"{alone.name}-{name}", search=search, seats=(players - 1,))


# A rollout over a network costs a hundred times one over a bot.
OVER_NETWORKS = Sparta(rollouts=1_000)


def _by_players(
    policy: str, name: str, search: Sparta, figures: dict[int, tuple[Published, Published]]
) -> tuple[Row, ...]:
    """Two rows for each number of players: without a search, and with it at the last seat."""
    return tuple(
        row
        for players, (without, searched) in figures.items()
        for row in (
            Row(label=f"{players} players", run=_alone(policy, players), published=without),
            Row(
                label=f"{players} players, single-agent",
                run=_last_seat(policy, players, name, search),
                published=searched,
            ),
        )
    )


TABLE_1 = Table(
    name="sparta-table-1",
    title="Table 1: 2-player Hanabi",
    rows=(
        Row(label="ACHA", run=None, published=_paper(22.73, 0.12, 15.1)),
        Row(label="BAD", run=None, published=_paper(23.92, 0.01, 58.6)),
        Row(
            label="SmartBot",
            run=Run(name="smartbot-2p"),
            published=_paper(22.99, 0.001, 29.6),
        ),
        Row(
            label="SmartBot, single-agent",
            run=SINGLE,
            published=_paper(24.21, 0.002, 59.1, likelihoods=2e6),  # footnote 5
        ),
        Row(
            label="SmartBot, multi-agent",
            run=_joint(2_000),
            published=_paper(24.46, 0.01, 64.8),
        ),
        Row(
            label="CloneBot",
            run=Run(name="clonebot-2p", policy="clonebot"),
            published=_paper(23.32, 0.001, 40.6),
        ),
        Row(
            label="CloneBot, single-agent",
            run=replace(SINGLE, name="clonebot-2p-single", policy="clonebot"),
            published=_paper(24.37, 0.02, 64.6),
        ),
        Row(label="DQN", run=None, published=_paper(23.45, 0.01, 46.8)),
        Row(label="DQN, single-agent", run=None, published=_paper(24.30, 0.02, 63.5)),
        Row(label="DQN, multi-agent", run=None, published=_paper(24.49, 0.02, 67.7)),
        Row(
            label="beliefnet in SAD's place",
            run=_alone("beliefnet", 2),
            published=_paper(24.08, 0.01, 56.1),
        ),
        Row(
            label="beliefnet in SAD's place, single-agent",
            run=_last_seat("beliefnet", 2, "sparta", OVER_NETWORKS),
            published=_paper(24.53, 0.01, 71.1),
        ),
        Row(label="SAD, multi-agent", run=None, published=_paper(24.61, 0.01, 75.5)),
    ),
    note="Multi-agent search with a max range of 2,000. Over beliefnet, 1,000 rollouts a decision.",
)

_TABLE_2 = {  # players: no search, single-agent search
    2: (_paper(24.08, 0.01, 56.1), _paper(24.53, 0.01, 71.1)),
    3: (_paper(23.99, 0.01, 50.4), _paper(24.61, 0.01, 74.5)),
    4: (_paper(23.81, 0.01, 41.5), _paper(24.49, 0.01, 64.2)),
    5: (_paper(23.01, 0.01, 13.9), _paper(23.91, 0.01, 32.9)),
}

TABLE_2 = Table(
    name="sparta-table-2",
    title="Table 2: beliefnet in SAD's place, 2 to 5 players",
    rows=_by_players("beliefnet", "sparta", OVER_NETWORKS, _TABLE_2),
    note="The paper's figures are SAD's; 1,000 rollouts a decision, the paper's 10,000.",
)

_TABLE_3 = {  # max range: mean, standard error, share of moves searched, rollouts a game
    0: (24.21, 0.002, 0.500, 1.5e5),
    80: (24.30, 0.02, 0.562, 3.0e6),
    400: (24.40, 0.02, 0.651, 1.3e7),
    2_000: (24.46, 0.01, 0.772, 5.2e7),
    10_000: (24.48, 0.01, 0.860, 1.8e8),
}

TABLE_3 = Table(
    name="sparta-table-3",
    title="Table 3: multi-agent search over SmartBot by max range",
    rows=tuple(
        Row(
            label=f"max range {max_range:,}",
            run=_joint(max_range),
            published=_paper(mean, sem, None, searched=searched, rollouts=rollouts),
        )
        for max_range, (mean, sem, searched, rollouts) in _TABLE_3.items()
    ),
    note="With a max range of 0 nobody but the first to search does.",
)

_TABLE_4 = {  # uncertainty: mean by threshold
    0.05: {0.0: 14.41, 0.1: 23.62, 0.2: 24.18, 0.5: 24.02},
    0.1: {0.0: 14.22, 0.1: 23.48, 0.2: 24.12, 0.5: 24.01},
    0.2: {0.0: 13.69, 0.1: 22.41, 0.2: 23.57, 0.5: 23.83},
}

TABLE_4 = Table(
    name="sparta-table-4",
    title="Table 4: independent search of both seats over SmartBot",
    rows=tuple(
        Row(
            label=f"uncertainty {uncertainty:g}, threshold {threshold:g}",
            run=Run(
                name=f"smartbot-2p-independent-u{uncertainty}-t{threshold}",
                search=Sparta(**SEARCH, threshold=threshold),
                seats=(0, 1),
                uncertainty=uncertainty,
            ),
            published=_paper(mean, None, None),
        )
        for uncertainty, by_threshold in _TABLE_4.items()
        for threshold, mean in by_threshold.items()
    ),
    note="Each seat takes the other for SmartBot; the paper gives no errors.",
)

_TABLE_5 = {  # players: no search, single-agent search
    2: (_paper(19.45, 0.001, 0.28), _paper(22.78, 0.02, 10.0)),
    3: (_paper(24.20, 0.01, 49.1), _paper(24.83, 0.006, 85.9)),
    4: (_paper(24.83, 0.01, 87.2), _paper(24.96, 0.003, 96.4)),
    5: (_paper(24.89, 0.00, 91.5), _paper(24.94, 0.004, 95.5)),
}


TABLE_5 = Table(
    name="sparta-table-5",
    title="Table 5: the hat bot, 2 to 5 players",
    rows=_by_players("hatbot", "single", Sparta(**SEARCH), _TABLE_5),
    note="The paper's figures without search are another version's of the bot; its program's own "
    "bot, which ours follows move by move, scores 19.99, 24.25, 24.85 and 24.89.",
)

FIGURE_2 = Figure(
    name="sparta-figure-2",
    title="Figure 2: score predicted by the search, by turn",
    kind="turns",
    curves=(
        Curve(label="SmartBot, single-agent", runs=(SINGLE,)),
        Curve(label="SmartBot, multi-agent", runs=(_joint(2_000),)),
    ),
    note="Between its searches a game counts with its last prediction, after its end with its "
    "score.",
)

_SETTINGS: dict[str, dict[str, Any]] = {
    "off-0": {"pruning": "off", "threshold": 0.0},
    "off-0.05": {"pruning": "off", "threshold": 0.05},
    "independent-0": {"pruning": "independent", "threshold": 0.0, "reallocate": False},
    "independent-0.05": {"pruning": "independent", "threshold": 0.05, "reallocate": False},
    "paired-0.05": {"pruning": "paired", "threshold": 0.05, "reallocate": False},
}

BUDGETS = (400, 1_600, 6_400, 12_800)  # rollouts of a decision


def _single(setting: str, rollouts: int) -> Run:
    search = Sparta(**SEARCH | {"rollouts": rollouts} | _SETTINGS[setting])
    return Run(name=f"smartbot-2p-single-{setting}-{rollouts}", search=search, seats=(1,))


FIGURE_3 = Figure(
    name="sparta-figure-3",
    title="Figure 3: threshold and pruning, by rollouts a searched move",
    kind="budgets",
    curves=tuple(
        Curve(label=label, runs=tuple(_single(setting, n) for n in BUDGETS))
        for setting, label in (
            ("off-0", "no pruning, threshold 0"),
            ("off-0.05", "no pruning, threshold 0.05"),
            ("independent-0", "the paper's pruning, threshold 0"),
            ("independent-0.05", "the paper's pruning, threshold 0.05"),
            ("paired-0.05", "paired pruning, threshold 0.05"),
        )
    ),
    note="What a dropped move did not use goes to nobody, as in the authors' program. No move is "
    "dropped before each has had 100 rollouts, which budgets below some 2,000 do not reach.",
)

# 2 players: at most 42 plays and discards, each of which pays for at most one hint, and 8 hints
# besides; returns from 0 to 25; 5 plays, 5 discards and 10 hints.
MOVES, SPREAD, ACTIONS = 92, 25, 20

THEOREM = Table(
    name="sparta-theorem",
    title="The theorem's bound beside the gain, by rollouts N of a decision",
    rows=tuple(
        Row(
            label=f"N = {n:,}",
            run=_single("off-0", n),
            bound=-2 * MOVES * SPREAD * ACTIONS * n**-0.5,
        )
        for n in (100, *BUDGETS)
    ),
    note=f"SmartBot, single-agent, no pruning, threshold 0. Bound: -2 T D |A| / sqrt(N) with "
    f"T = {MOVES} moves, D = {SPREAD} points and |A| = {ACTIONS} actions.",
)

PLANS: tuple[Plan, ...] = (
    *(TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5),
    *(FIGURE_2, FIGURE_3, THEOREM),
)
