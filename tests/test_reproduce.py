"""Published tables and figures, measured again: on a tiny game, and what the papers say as data."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from hanabi_search_plugin import cli_reproduce
from hanabi_search_plugin.algorithms.ismcts import RisMcts
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.blueprints.agents import RuleAgent
from hanabi_search_plugin.blueprints.evalfn import EvalFn, shipped
from hanabi_search_plugin.blueprints.rulebook import SHIPPED_EVALUATION, TABLE_II
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.hanabi.config import HanabiConfig
from hanabi_search_plugin.reproduce import report, ris_mcts, sparta
from hanabi_search_plugin.reproduce.measure import by_turn
from hanabi_search_plugin.reproduce.plan import Curve, Figure, Published, Row, Run, Table

TINY = HanabiConfig(colors=2, ranks=2, hand_size=2)
SEARCH = Sparta(rollouts=200, min_rollouts=10)
SEARCHED = Run(name="tiny-single", config=TINY, search=SEARCH, seats=(1,))
BOTH = Run(name="tiny-both", config=TINY, search=SEARCH, seats=(0, 1), uncertainty=0.1)
JOINT = Run(
    name="tiny-joint",
    config=TINY,
    search=JointSparta(max_range=50, rollouts=200, min_rollouts=10),
    seats=(0, 1),
)
SMALLER = Run(name="tiny-20", config=TINY, search=Sparta(rollouts=20), seats=(1,))
TABLE = Table(
    name="tiny-table",
    title="A table",
    rows=(
        Row(label="absent", run=None, published=Published(mean=3.5, sem=0.01, perfect=0.6)),
        Row(label="alone", run=Run(name="tiny", config=TINY), published=Published(mean=3.0)),
        Row(label="searched", run=SEARCHED, published=Published(mean=3.2, rollouts=2e3)),
        Row(label="both", run=BOTH, bound=-12.0),
        Row(label="as both", run=JOINT),
    ),
    note="A note.",
)
TURNS = Figure(
    name="tiny-turns", title="Turns", kind="turns", curves=(Curve(label="one", runs=(SEARCHED,)),)
)
BUDGETS = Figure(
    name="tiny-budgets",
    title="Budgets",
    kind="budgets",
    curves=(Curve(label="one", runs=(SMALLER, SEARCHED)),),
)
COSTS = Figure(name="tiny-costs", title="Costs", kind="costs", curves=BUDGETS.curves)


@pytest.fixture(autouse=True)
def tiny_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_reproduce, "PLANS", (TABLE, TURNS, BUDGETS, COSTS))


def run(name: str, out: Path, games: int = 3) -> Result:
    line = ["reproduce", name, "--games", str(games), "--out", str(out)]
    return CliRunner().invoke(app, line)


def content(name: str, out: Path, games: int = 3) -> dict[str, Any]:
    result = run(name, out, games)
    assert result.exit_code == 0, (result.output, result.exception)
    loaded = json.loads((out / f"{name}.json").read_text())
    assert isinstance(loaded, dict)
    return loaded


def scores(out: Path, name: str) -> list[tuple[str, int, float]]:
    lines = (out / "games" / f"{name}-seed7.jsonl").read_text().splitlines()[1:]
    return sorted((g["side"], g["game"], g["score"]) for g in map(json.loads, lines))


def test_a_table_shows_ours_beside_the_papers(tmp_path: Path) -> None:
    result = run("tiny-table", tmp_path / "new" / "folder")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("A table; 3 games a searched row, seed 7")
    (absent,) = (line for line in lines if line.startswith("absent"))
    assert "not in this package" in absent and "3.50 ± 0.01" in absent and "60.0%" in absent
    (searched,) = (line for line in lines if line.startswith("searched "))
    assert "3.20" in searched and "2.0e+03" in searched
    assert "A note." in lines
    made = json.loads((tmp_path / "new" / "folder" / "tiny-table.json").read_text())
    absent, alone, single, both, joint = made["rows"]
    assert absent["measured"] is None and absent["run"] is None
    assert alone["measured"]["games"] == 300 and "gain" not in alone["measured"]
    measured = single["measured"]
    assert measured["games"] == 3 and measured["rollouts_per_game"] > 100
    assert measured["gain"] == pytest.approx(measured["mean"] - measured["blueprint_mean"])
    assert measured["likelihoods_per_game"] > 0 and measured["cpu_seconds_per_game"] > 0
    assert 0.3 < measured["searched_share"] < 0.7 and both["measured"]["searched_share"] == 1
    assert 0.5 < joint["measured"]["searched_share"] <= 1
    assert single["run"]["search"]["rollouts"] == 200 and both["run"]["uncertainty"] == 0.1
    assert single["published"]["rollouts"] == 2e3


def test_finished_games_are_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, more = tmp_path / "few", tmp_path / "more"
    content("tiny-table", few)
    kept = scores(few, "tiny-single")
    longer, fresh = content("tiny-table", few, 5), content("tiny-table", more, 5)
    assert set(kept) < set(scores(few, "tiny-single")) and len(kept) == 6
    assert scores(few, "tiny-single") == scores(more, "tiny-single")
    for name in ("mean", "gain", "rollouts_per_game", "searched_share"):
        assert longer["rows"][2]["measured"][name] == fresh["rows"][2]["measured"][name]
    other = Run(name="tiny-single", config=TINY, search=Sparta(rollouts=100), seats=(1,))
    changed = Table(name="tiny-table", title="", rows=(Row(label="", run=other),))
    monkeypatch.setattr(cli_reproduce, "PLANS", (changed,))
    refused = run("tiny-table", few)
    assert refused.exit_code == 2 and "search.rollouts is 200 there" in refused.stderr


def test_a_table_grows_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = ["reproduce", "tiny-table", "--games", "2", "--out", str(tmp_path), "--only"]
    first = CliRunner().invoke(app, [*line, "searched"])
    assert "not measured" in first.stdout
    assert first.stdout.count("not in this package") == 1
    assert not (tmp_path / "games" / "tiny-both-seed7.jsonl").exists()
    assert CliRunner().invoke(app, [*line, "both"]).exit_code == 0
    rows = json.loads((tmp_path / "tiny-table.json").read_text())["rows"]
    assert [row["measured"] is not None for row in rows] == [False, False, True, True, False]
    lines = (tmp_path / "tiny-table.json").read_text().splitlines()
    assert [json.loads(line.rstrip(",")) for line in lines if '"label"' in line] == rows
    assert rows[4]["run"] == "tiny-joint" and rows[2]["run"]["name"] == "tiny-single"
    other = dataclasses.replace(BOTH, uncertainty=0.2)
    rows = (Row(label="searched", run=SEARCHED), Row(label="both", run=other))
    changed = Table(name="tiny-table", title="", rows=rows)
    monkeypatch.setattr(cli_reproduce, "PLANS", (changed,))
    assert CliRunner().invoke(app, [*line, "searched"]).exit_code == 0
    rows = json.loads((tmp_path / "tiny-table.json").read_text())["rows"]
    assert [row["measured"] is not None for row in rows] == [True, False]  # another line-up
    monkeypatch.setattr(cli_reproduce, "PLANS", (TABLE,))
    refused = CliRunner().invoke(app, [*line, "nobody"])
    assert refused.exit_code == 2
    assert "only must be a part of one of absent; alone; searched; both; " in refused.stderr


def test_an_interrupted_table_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_reproduce, "measure", lambda *arguments: {"interrupted": True})
    assert run("tiny-table", tmp_path).exit_code == 130
    assert not (tmp_path / "tiny-table.json").exists()


def test_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    turns, again = content("tiny-turns", tmp_path, 4), content("tiny-turns", tmp_path, 4)
    assert turns == again
    (curve,) = turns["curves"]
    assert [point["x"] for point in curve["points"]] == list(range(2, 41))  # seat 1 moves second
    assert all(point["games"] == 4 for point in curve["points"])
    budgets = content("tiny-budgets", tmp_path, 4)
    small, large = budgets["curves"][0]["points"]
    assert 0 < small["x"] <= 20 < large["x"] <= 200
    assert small["games"] == 4 and small["run"] == "tiny-20"
    costs = content("tiny-costs", tmp_path, 4)["curves"][0]["points"]
    assert [point["x"] for point in costs] == [p["cpu_seconds_per_game"] for p in (small, large)]
    # After every game's end what counts is the score, which both have.
    assert curve["points"][-1]["mean"] == large["mean"]
    for name in ("tiny-turns", "tiny-budgets", "tiny-costs"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("tiny-turns", tmp_path / "out")
    assert result.exit_code == 2
    assert result.stderr == (
        "hanabi-search: a figure needs Matplotlib, which is not installed: "
        "pip install 'hanabi-search-plugin[plots]'\n"
    )
    assert not (tmp_path / "out").exists()


def test_predictions_by_turn() -> None:
    lines = [
        {"score": 3.0, "moves": 5, "predicted": [[1, 2.5], [3, 2.75]]},
        {"score": 4.0, "moves": 2, "predicted": []},
    ]
    expected = [[], [2.5], [2.5, 4.0], [2.75, 4.0], [2.75, 4.0], [3.0, 4.0], [3.0, 4.0]]
    assert by_turn(lines)[:7] == expected


def test_markdown_leaves_empty_columns_out() -> None:
    row = {"label": "a", "published": None, "bound": None, "run": {}}
    row |= {"measured": {"games": 2, "mean": 1.5}}
    assert list(report.markdown({"rows": [row]})) == [
        "|  | games | ours |",
        "|---|---|---|",
        "| a | 2 | 1.50 |",
    ]


TREES = Table(
    name="tiny-trees",
    title="Trees",
    rows=(
        Row(
            label="grown",
            run=Run(
                name="tiny-ris",
                policy="random",
                config=dataclasses.replace(TINY, life_tokens=1, bomb="keep"),
                search=RisMcts(iterations=5),
                seats=(0, 1),
            ),
            published=Published(mean=2.0, sem=0.1, depth=3.2),
        ),
    ),
    hidden=("perfect",),
)


def test_trees_and_lost_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_reproduce, "PLANS", (TREES,))
    made = content("tiny-trees", tmp_path, 8)
    measured = made["rows"][0]["measured"]
    lines = (tmp_path / "games" / "tiny-ris-seed7.jsonl").read_text().splitlines()[1:]
    games = [game for game in map(json.loads, lines) if game["side"] == "policies"]
    assert sum(g["score"] for g in games if g["lives_left"] == 0) > 0
    assert measured["mean"] == np.mean([g["score"] for g in games])
    assert measured["lost_as_zero"]["mean"] == np.mean(
        [g["score"] if g["lives_left"] else 0 for g in games]
    )
    assert measured["depth"] > 1
    assert measured["depth"] == pytest.approx(np.mean([g["depth"] for g in games]))
    names, (cells,) = report.headings(made), report.rows(made)
    assert "perfect" not in names
    assert cells[names.index("depth")] == f"{measured['depth']:.1f}"
    assert cells[names.index("depth, paper")] == "3.2"
    assert cells[names.index("ours, bomb 0")].startswith(f"{measured['lost_as_zero']['mean']:.2f}")
    assert cells[names.index("ours")].startswith(f"{measured['mean']:.2f}")


def test_the_papers_tables_are_sound() -> None:
    plans = (*sparta.PLANS, *ris_mcts.PLANS)
    names = [plan.name for plan in plans]
    assert len(set(names)) == len(names) and "sparta-figure-3" in names
    runs: dict[str, Run] = {}
    for plan in plans:
        bomb = "keep" if plan in ris_mcts.PLANS else "zero"
        if isinstance(plan, Table):
            found = [row.run for row in plan.rows if row.run is not None]
            assert len({row.label for row in plan.rows}) == len(plan.rows)
            for row in plan.rows:
                assert row.published or row.bound or plan is ris_mcts.C_SWEEP
        else:
            found = [run for curve in plan.curves for run in curve.runs]
        for one in found:
            assert runs.setdefault(one.name, one) == one  # one file of games, one line-up
            assert one.config.bomb == bomb and (one.search is None) == (one.seats == ())
    for one in runs.values():
        game, policies = one.line_up()
        assert len(policies) == game.num_players > max(one.seats, default=0)
    assert len(runs) > 100


def test_tables_of_ris_mcts_share_games() -> None:
    one, three, four, six, sweep = (
        {row.label: row for row in table.rows} for table in ris_mcts.PLANS
    )
    best = three["RIS-MCTS + C, vdb rollouts, 2,000"]
    assert best.published == Published(mean=20.20, sem=0.06) and best.run is not None
    search = best.run.search
    assert isinstance(search, RisMcts) and isinstance(search.guide, RuleAgent)
    assert (search.iterations, search.exploration, search.evidence) == (2_000, 0.1, False)
    assert search.guide.rules == TABLE_II and search.guide.convention == "any-giver"
    assert best.run.policy == "vdb" and best.run.seats == (0, 1, 2, 3)
    assert four["RIS-MCTS + vdb + C (1s), 4 players"].run == best.run
    assert sweep["RIS-MCTS + C, nine rules, C = 0.1"].run == best.run
    plain = sweep["MO-ISMCTS, all moves, C = 0.1"].run
    assert plain is not None and plain == one["MO-ISMCTS, vdb rollouts, 2,000"].run
    long = four["RIS-MCTS + vdb (10s), 2 players"].run
    assert long is not None and isinstance(long.search, RisMcts)
    assert long.search.iterations == 20_000 and long.config.players == 2
    brief = six["RIS-MCTS-NR (3), twelve rules, 60, 4 players"].run
    assert brief is not None and isinstance(brief.search, RisMcts)
    assert brief.search.leaves == "estimates" and isinstance(brief.search.guide, EvalFn)
    assert brief.search.guide.rules == SHIPPED_EVALUATION
    assert brief.search.guide.network is shipped("evalfn-3")


def test_the_documented_tables_are_those_measured() -> None:
    documentation = pytest.importorskip("benchmarks.reproduced_pages")
    for page in documentation.PAGES:
        assert page.made_anew() == page.path.read_text()
        for plan in page.plans:
            assert f"<!-- {plan.name} -->" in page.path.read_text()
