"""Goodman, "Re-determinizing MCTS in Hanabi", CoG 2019 (arXiv:1902.06075): its Tables I, III and
IV, and the sweep of its constant C; Table VI has a file of its own.

All seats search alike. Budgets are iterations, two for each of the paper's milliseconds.
"""

from __future__ import annotations

from typing import Literal

from hanabi_search_plugin.algorithms.ismcts import MoIsmcts, RisMcts
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import TABLE_II
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.reproduce.plan import Published, Row, Run, Table
from hanabi_search_plugin.reproduce.ris_mcts_table_6 import TABLE_6

PER_MILLISECOND = 2  # iterations: the cap of the author's program
MILLISECONDS = (100, 300, 1_000, 3_000)  # the paper's columns
C = 0.1

Algorithm = Literal["MO-ISMCTS", "RIS-MCTS"]
# With the convention: c; only in hints to the next player; only in rules, not in hands drawn.
Moves = Literal["all", "rules", "rules-c", "rules-c-next", "rules-c-hints"]

_SEARCHES = {"MO-ISMCTS": MoIsmcts, "RIS-MCTS": RisMcts}
_GUIDES: dict[Moves, RuleAgent | None] = {
    "all": None,
    "rules": RuleAgent(TABLE_II, name="table-2"),
    "rules-c": RuleAgent(TABLE_II, convention="any-giver", name="table-2"),
    "rules-c-next": RuleAgent(TABLE_II, convention="previous-player", name="table-2"),
    "rules-c-hints": RuleAgent(TABLE_II, convention="any-giver", name="table-2"),
}

# Everywhere 100 %, almost never, and none.
_SAYS_NOTHING = ("searched", "perfect", "likelihoods")
_BUDGETS = "Iterations stand for the paper's times, 2 for a millisecond."


def _run(
    algorithm: Algorithm,
    moves: Moves,
    rollouts: str,
    iterations: int,
    *,
    players: int = 4,
    exploration: float = C,
) -> Run:
    name = f"{algorithm.lower()}-{players}p-{moves}-{rollouts}-{iterations}"
    search = _SEARCHES[algorithm](
        iterations=iterations,
        exploration=exploration,
        guide=_GUIDES[moves],
        by_convention=moves in ("rules-c", "rules-c-next"),
    )
    return Run(
        name=name if exploration == C else f"{name}-x{exploration:g}",
        policy=rollouts,
        config=HanabiConfig(players=players, bomb="keep"),
        search=search,
        seats=tuple(range(players)),
    )


def _budgets(
    label: str,
    algorithm: Algorithm,
    moves: Moves,
    rollouts: str,
    published: tuple[tuple[float, float], ...],
    depths: tuple[float | None, ...] = (None, None, None, None),
) -> tuple[Row, ...]:
    """The rows of one line of Table I or III. ``published``: mean and standard error by budget."""
    return tuple(
        Row(
            label=f"{label}, {rollouts} rollouts, {PER_MILLISECOND * time:,}",
            run=_run(algorithm, moves, rollouts, PER_MILLISECOND * time),
            published=Published(mean=mean, sem=sem, depth=depth),
        )
        for time, (mean, sem), depth in zip(MILLISECONDS, published, depths, strict=True)
    )


TABLE_1 = Table(
    name="ris-mcts-table-1",
    title="Table I: 4-player Hanabi, all moves, by iterations",
    rows=(
        *_budgets(
            *("MO-ISMCTS", "MO-ISMCTS", "all", "random"),
            ((3.87, 0.09), (3.94, 0.10), (3.88, 0.10), (3.94, 0.10)),
        ),
        *_budgets(
            *("MO-ISMCTS", "MO-ISMCTS", "all", "vdb"),
            ((11.40, 0.13), (14.53, 0.09), (16.79, 0.08), (18.36, 0.08)),
        ),
        *_budgets(
            *("RIS-MCTS", "RIS-MCTS", "all", "random"),
            ((4.28, 0.15), (4.21, 0.14), (4.61, 0.15), (5.21, 0.14)),
            (3.2, None, None, 5.2),
        ),
        *_budgets(
            *("RIS-MCTS", "RIS-MCTS", "all", "vdb"),
            ((11.90, 0.12), (14.85, 0.10), (16.85, 0.08), (18.48, 0.07)),
            (2.5, None, None, 3.8),
        ),
    ),
    note=_BUDGETS,
    hidden=_SAYS_NOTHING,
)


_READINGS: dict[str, Moves] = {
    "of the next player": "rules-c-next",
    "in the rules alone": "rules-c-hints",
}


def _otherwise(label: str, moves: Moves, rollouts: str, mean: float, sem: float) -> Row:
    """At 1,000 ms, another reading of what the convention says, and to whom."""
    return Row(
        label=f"RIS-MCTS + C {label}, {rollouts} rollouts, 2,000",
        run=_run("RIS-MCTS", moves, rollouts, 2_000),
        published=Published(mean=mean, sem=sem),
    )


TABLE_3 = Table(
    name="ris-mcts-table-3",
    title="Table III: 4-player Hanabi, nine rules, by iterations",
    rows=(
        *_budgets(
            *("MO-ISMCTS", "MO-ISMCTS", "rules", "random"),
            ((9.49, 0.11), (10.09, 0.11), (10.54, 0.10), (10.67, 0.10)),
        ),
        *_budgets(
            *("MO-ISMCTS", "MO-ISMCTS", "rules", "vdb"),
            ((7.12, 0.09), (7.85, 0.09), (8.30, 0.09), (8.97, 0.10)),
        ),
        *_budgets(
            *("RIS-MCTS", "RIS-MCTS", "rules", "random"),
            ((17.43, 0.10), (17.93, 0.08), (18.06, 0.08), (18.14, 0.07)),
            (6.7, None, None, 11.0),
        ),
        *_budgets(
            *("RIS-MCTS", "RIS-MCTS", "rules", "vdb"),
            ((17.41, 0.07), (18.31, 0.07), (19.41, 0.06), (19.84, 0.06)),
            (4.9, None, None, 7.7),
        ),
        *_budgets(
            *("RIS-MCTS + C", "RIS-MCTS", "rules-c", "random"),
            ((19.40, 0.07), (19.67, 0.08), (19.84, 0.07), (19.76, 0.07)),
        ),
        *_budgets(
            *("RIS-MCTS + C", "RIS-MCTS", "rules-c", "vdb"),
            ((17.86, 0.07), (19.11, 0.06), (20.20, 0.06), (20.81, 0.06)),
        ),
        *(
            _otherwise(label, moves, rollouts, mean, sem)
            for label, moves in _READINGS.items()
            for rollouts, mean, sem in (("random", 19.84, 0.07), ("vdb", 20.20, 0.06))
        ),
    ),
    note=f"{_BUDGETS} C: a hint of any giver that touches one card says that it can be played; so "
    "rules read it, and so hands are drawn.",
    hidden=_SAYS_NOTHING,
)

# Table IV, by players from 2; ours: the blueprint that is the published agent.
_OTHERS: tuple[tuple[str, tuple[float | None, ...], str | None], ...] = (
    ("Ozawa et al. 2015", (15.9, None, None, None), None),
    ("Van den Bergh 2015", (13.8, 17.7, 17.2, 16.3), "vdb"),
    ("Cox et al. 2015", (None, None, None, 24.7), None),
    ("Bouzy 2017", (15.9, 17.9, 19.7, 19.2), None),
    ("Bouzy Expectimax 2017", (19.0, 20.4, 21.1, 20.4), None),
    ("Canaan et al. 2018", (20.1, 19.6, 19.4, 18.3), None),
    ("Foerster et al. 2018", (23.9, None, None, None), None),
    ("Bard et al. 2019", (22.7, 20.2, 21.6, 16.8), None),
    ("WTFWThat", (19.5, 24.2, 24.8, 24.9), "hatbot"),
    ("SmartBot", (23.0, 23.1, 22.2, 20.3), "smartbot"),
)

_SECONDS = {1: 0.2, 10: 0.3}  # of a move: the paper's standard error
_RIS: tuple[tuple[str, Moves, str, dict[int, tuple[float, ...]]], ...] = (
    ("RIS-MCTS", "rules", "random", {1: (17.7, 18.6, 18.1, 17.0), 10: (17.9, 18.9, 18.2, 17.1)}),
    (
        *("RIS-MCTS + C", "rules-c", "random"),
        {1: (20.4, 19.9, 19.8, 18.8), 10: (20.6, 19.8, 19.7, 18.5)},
    ),
    (
        *("RIS-MCTS + vdb", "rules", "vdb"),
        {1: (18.3, 20.2, 19.4, 18.4), 10: (20.0, 21.0, 20.2, 19.3)},
    ),
    (
        *("RIS-MCTS + vdb + C", "rules-c", "vdb"),
        {1: (19.6, 20.8, 20.2, 19.3), 10: (20.5, 22.0, 21.3, 20.0)},
    ),
)


def _other(label: str, players: int, mean: float, policy: str | None) -> Row:
    run = None
    if policy is not None:
        config = HanabiConfig(players=players, bomb="keep")
        run = Run(name=f"{policy}-{players}p-keep", policy=policy, config=config)
    return Row(label=f"{label}, {players} players", run=run, published=Published(mean=mean))


TABLE_4 = Table(
    name="ris-mcts-table-4",
    title="Table IV: 2 to 5 players, nine rules",
    rows=(
        *(
            _other(label, players, mean, policy)
            for label, means, policy in _OTHERS
            for players, mean in enumerate(means, start=2)
            if mean is not None
        ),
        *(
            Row(
                label=f"{label} ({seconds}s), {players} players",
                run=_run(
                    *("RIS-MCTS", moves, rollouts, 1_000 * PER_MILLISECOND * seconds),
                    players=players,
                ),
                published=Published(mean=mean, sem=_SECONDS[seconds]),
            )
            for label, moves, rollouts, by_seconds in _RIS
            for seconds, means in by_seconds.items()
            for players, mean in enumerate(means, start=2)
        ),
    ),
    note=f"{_BUDGETS} The rollouts are random but where it says vdb. The paper's results of "
    "others are those that they published.",
    hidden=_SAYS_NOTHING,
)

_SWEPT: tuple[tuple[str, Algorithm, Moves], ...] = (
    ("MO-ISMCTS, all moves", "MO-ISMCTS", "all"),
    ("RIS-MCTS, all moves", "RIS-MCTS", "all"),
    ("RIS-MCTS + C, nine rules", "RIS-MCTS", "rules-c"),
)

C_SWEEP = Table(
    name="ris-mcts-c-sweep",
    title="The sweep of C: 4-player Hanabi, vdb rollouts, 2,000 iterations",
    rows=tuple(
        Row(
            label=f"{label}, C = {exploration:g}",
            run=_run(algorithm, moves, "vdb", 2_000, exploration=exploration),
        )
        for label, algorithm, moves in _SWEPT
        for exploration in (0.03, 0.1, 0.3, 1.0, 3.0)
    ),
    note="The paper found 0.1 to be best for both searches, and gives no scores.",
    hidden=_SAYS_NOTHING,
)

PLANS = (TABLE_1, TABLE_3, TABLE_4, TABLE_6, C_SWEEP)
