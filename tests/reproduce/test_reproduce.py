"""Published tables and figures, measured again: on a tiny game, and what the papers say as data."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from hanabi_search_plugin.algorithms.ismcts import RisMcts
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.cli import app, measuring, reproduction
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.evaluation.journal import Checkpoint
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.hanabi.bots.evalfn import EvalFn, shipped
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import SHIPPED_EVALUATION, TABLE_II
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.registry import networks
from hanabi_search_plugin.reproduce import (
    forecast,
    lbs_paper,
    measured_beliefs,
    report,
    ris_mcts_paper,
    sparta_paper,
)
from hanabi_search_plugin.reproduce.measure import Effort, by_turn
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


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables as in a pipe, whatever the width of the terminal that runs the tests."""
    monkeypatch.delenv("COLUMNS", raising=False)


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
SPLITS = Figure(
    name="tiny-splits",
    title="Splits",
    kind="splits",
    curves=BUDGETS.curves,
    ticks=("1|20", "1|200"),
    axis="plies | rollouts",
)


@pytest.fixture(autouse=True)
def tiny_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduction, "PLANS", (TABLE, TURNS, BUDGETS, COSTS, SPLITS))


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


def test_rows_are_compared_game_by_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wider = HanabiConfig(colors=2, ranks=3, hand_size=2)
    one, both = (
        Run(name=f"wider-{len(seats)}", config=wider, search=SEARCH, seats=seats)
        for seats in ((1,), (0, 1))
    )
    table = Table(
        name="pair",
        title="",
        rows=(
            Row(label="one", run=one),
            Row(label="both", run=both, than="one"),
            Row(label="nobody", run=Run(name="wider", config=wider)),
        ),
    )
    monkeypatch.setattr(reproduction, "PLANS", (table,))
    made = content("pair", tmp_path, 8)
    measured = made["rows"][1]["measured"]
    kept = [
        {game: score for side, game, score in scores(tmp_path, run.name) if side == "policies"}
        for run in (both, one)
    ]
    more = np.array([kept[0][i] - kept[1][i] for i in range(8)])
    assert more.any()
    paired = measured["paired"]
    assert paired["games"] == 8 and paired["mean"] == pytest.approx(more.mean())
    assert paired["sem"] == pytest.approx(more.std(ddof=1) / np.sqrt(8))
    cell = report.rows(made)[1][report.headings(made).index("on the same decks")]
    assert cell == f"{more.mean():+.2f} ± {paired['sem']:.2f} than one"
    # Measured alone it is compared with what is there of the other row.
    line = ["reproduce", "pair", "--games", "8", "--only", "both", "--out"]
    assert CliRunner().invoke(app, [*line, str(tmp_path)]).exit_code == 0
    again = json.loads((tmp_path / "pair.json").read_text())["rows"][1]["measured"]
    assert again["paired"] == paired
    # What was compared stays so where its games are no longer kept.
    (tmp_path / "games").rename(tmp_path / "elsewhere")
    other = [*line[:4], "--only", "nobody", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, other).exit_code == 0
    before = json.loads((tmp_path / "pair.json").read_text())["rows"]
    assert before[1]["measured"] == again and before[2]["measured"]["games"] == 800
    # It is not where the row was played anew without the other's games,
    (tmp_path / "anew").mkdir()
    (tmp_path / "anew" / "pair.json").write_bytes((tmp_path / "pair.json").read_bytes())
    fewer = ["reproduce", "pair", "--games", "6", "--only", "both", "--out"]
    assert CliRunner().invoke(app, [*fewer, str(tmp_path / "anew")]).exit_code == 0
    anew = json.loads((tmp_path / "anew" / "pair.json").read_text())["rows"]
    assert anew[1]["measured"]["games"] == 6 and "paired" not in anew[1]["measured"]
    # nor where the other row is set otherwise since.
    changed = dataclasses.replace(one, search=dataclasses.replace(SEARCH, threshold=0.5))
    rows = (Row(label="one", run=changed), *table.rows[1:])
    monkeypatch.setattr(reproduction, "PLANS", (dataclasses.replace(table, rows=rows),))
    assert CliRunner().invoke(app, other).exit_code == 0
    since = json.loads((tmp_path / "pair.json").read_text())["rows"]
    assert since[0]["measured"] is None and "paired" not in since[1]["measured"]
    assert since[1]["measured"]["mean"] == again["mean"]
    assert CliRunner().invoke(app, [*line, str(tmp_path / "fresh")]).exit_code == 0
    alone = json.loads((tmp_path / "fresh" / "pair.json").read_text())["rows"][1]["measured"]
    assert alone["mean"] == measured["mean"] and "paired" not in alone


def test_help_names_every_plan() -> None:
    shown = " ".join(CliRunner().invoke(app, ["reproduce", "--help"]).stdout.split())
    for name in ("tiny-table", "tiny-turns", "tiny-budgets", "tiny-costs", "tiny-splits"):
        assert name in shown


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
    monkeypatch.setattr(reproduction, "PLANS", (changed,))
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
    monkeypatch.setattr(reproduction, "PLANS", (changed,))
    assert CliRunner().invoke(app, [*line, "searched"]).exit_code == 0
    rows = json.loads((tmp_path / "tiny-table.json").read_text())["rows"]
    assert [row["measured"] is not None for row in rows] == [True, False]  # another line-up
    monkeypatch.setattr(reproduction, "PLANS", (TABLE,))
    refused = CliRunner().invoke(app, [*line, "nobody"])
    assert refused.exit_code == 2
    assert "only must be a part of one of absent; alone; searched; both; " in refused.stderr


def test_an_interrupt_shows_and_writes_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content("tiny-table", tmp_path)
    whole = (tmp_path / "tiny-table.json").read_text()
    measured = measuring.measure

    def stopped(run: Run, *arguments: Any) -> Any:
        if run is JOINT:
            raise KeyboardInterrupt
        return measured(run, *arguments) | {"interrupted": run is SEARCHED}

    costs = forecast._costs() | {"tiny": 1e-6, "tiny-both": 1.0, "tiny-joint": 2.0}
    for last, seconds in ((SEARCHED, 1.5), (JOINT, 3.0)):
        cost = {"tiny-single": seconds}
        monkeypatch.setattr(forecast, "_costs", lambda cost=cost: costs | cost)
        monkeypatch.setattr(measuring, "measure", stopped)
        result = run("tiny-table", tmp_path / "new" / last.name)
        assert result.exit_code == 130
        folder = tmp_path / "new" / last.name
        made = json.loads((folder / "tiny-table.partial.json").read_text())
        assert made["interrupted"] and not (folder / "tiny-table.json").exists()
        there = {row["label"] for row in made["rows"] if row["measured"]}
        assert there == {"alone", "both"} | ({"searched"} if last is SEARCHED else set())
        assert re.search(r"^as both +not measured", result.stdout, re.MULTILINE)
        command = (
            f"hanabi-search reproduce tiny-table --games 3 --seed 7 --threads 1 --out {folder}"
        )
        assert result.stderr.endswith(f"{command}\n")
    # What the command then finishes takes the place of the part; a whole result is not lost to one.
    monkeypatch.setattr(measuring, "measure", measured)
    content("tiny-table", folder)
    assert not (folder / "tiny-table.partial.json").exists()
    monkeypatch.setattr(measuring, "measure", stopped)
    assert run("tiny-table", tmp_path).exit_code == 130
    assert (tmp_path / "tiny-table.json").read_text() == whole


@pytest.mark.parametrize("kind", ["turns", "beliefs"])
def test_an_interrupted_figure_has_its_finished_games(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C comes while the third game is written."""
    append, written = Checkpoint.append, []

    def appended(checkpoint: Checkpoint, line: dict[str, Any]) -> None:
        append(checkpoint, line)
        written.append(line)
        if len(written) == 4:  # the header, too
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "append", appended)
    if kind == "beliefs":
        pytest.importorskip("torch")
        monkeypatch.setattr(
            measured_beliefs, "load_belief_model", lambda name, game: Grounded(game)
        )
        monkeypatch.setattr(forecast, "lacking", lambda runs: {})
        curve = Curve(label="grounded", runs=(dataclasses.replace(SEARCHED, belief="grounded"),))
    else:
        curve = TURNS.curves[0]
    figure = Figure(name="tiny-stopped", title="", kind=kind, curves=(curve,))
    monkeypatch.setattr(reproduction, "PLANS", (figure,))
    result = run("tiny-stopped", tmp_path, 9)
    assert result.exit_code == 130, (result.output, result.exception)
    made = json.loads((tmp_path / "tiny-stopped.partial.json").read_text())
    assert max(point["games"] for point in made["curves"][0]["points"]) == 3
    assert "grounded" in result.stdout or "one" in result.stdout


NETWORK = Run(name="net", policy="smartnet")


def without_torch(monkeypatch: pytest.MonkeyPatch, *rows: Row) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    table = Table(name="mixed", title="Mixed", rows=(Row(label="net", run=NETWORK), *rows))
    monkeypatch.setattr(reproduction, "PLANS", (table,))


def test_rows_that_lack_something_are_marked_and_the_others_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = Run(name="tiny", config=TINY)
    without_torch(monkeypatch, Row(label="alone", run=alone))
    result = run("mixed", tmp_path)
    assert result.exit_code == 0
    assert re.search(r"^net +a network needs PyTorch *$", result.stdout, re.MULTILINE)
    assert (
        'not measured: net: a network needs PyTorch: pip install -e ".[torch]" in a clone of '
        "hanabi-search-plugin (a smaller way: docs/start/install.md)\n"
    ) in result.stdout
    lacking, measured = json.loads((tmp_path / "mixed.json").read_text())["rows"]
    assert lacking["measured"] is None and "needs PyTorch" in lacking["obstacle"]
    assert measured["measured"]["games"] == 300 and "obstacle" not in measured


def test_what_is_asked_for_and_lacks_something_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = (
        'hanabi-search: net: a network needs PyTorch: pip install -e ".[torch]" in a clone of '
        "hanabi-search-plugin (a smaller way: docs/start/install.md)\n"
    )
    without_torch(monkeypatch, Row(label="alone", run=Run(name="tiny", config=TINY)))
    line = ["reproduce", "mixed", "--games", "3", "--out", str(tmp_path / "out"), "--only", "net"]
    refused = CliRunner().invoke(app, line)
    assert (refused.exit_code, refused.stderr, refused.stdout) == (2, says, "")
    without_torch(monkeypatch, Row(label="absent", run=None))  # nothing that could be measured
    refused = CliRunner().invoke(app, line[:-2])
    assert (refused.exit_code, refused.stderr) == (2, says)
    assert not (tmp_path / "out").exists()


def test_a_missing_file_is_found_before_anything_is_measured(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    gone = Run(name="gone", policy=f"network:file={tmp_path / 'gone.safetensors'}")
    found = forecast.lacking([gone, SEARCHED])
    assert list(found) == ["gone"] and "gone.safetensors" in found["gone"]


def test_the_cheapest_come_first_and_the_table_stays_the_papers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = {"tiny": 1e-4, "tiny-single": 0.4, "tiny-joint": 0.2}  # of one nothing is known
    monkeypatch.setattr(forecast, "_costs", lambda: costs)
    result = run("tiny-table", tmp_path)
    before = re.findall(r"^\d of 4: .* to play, .*$", result.stderr, re.MULTILINE)
    assert before == [
        "1 of 4: alone: 300 games to play, about 0.0 s of CPU time",
        "2 of 4: as both: 3 games to play, about 0.6 s of CPU time",
        "3 of 4: searched: 3 games to play, about 1.2 s of CPU time",
        "4 of 4: both: 3 games to play, of unknown cost",
    ]
    assert len(re.findall(r"^\d of 4: \d\.\d\d .*in 3 games, ", result.stderr, re.MULTILINE)) == 3
    labels = [line.split("  ")[0] for line in result.stdout.splitlines()[2:7]]
    assert labels == ["absent", "alone", "searched", "both", "as both"]
    again = run("tiny-table", tmp_path, 5).stderr
    assert "searched: 2 games to play" in again
    assert "searched: finished" in run("tiny-table", tmp_path, 5).stderr


def test_a_dry_run_says_what_it_would_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_torch(
        monkeypatch, Row(label="alone", run=Run(name="tiny")), Row(label="searched", run=SEARCHED)
    )
    costs = {"bot": 0.01, "network": 1.0, "tiny-single": 30.0}
    monkeypatch.setattr(forecast, "_costs", lambda: costs)
    line = ["reproduce", "mixed", "--games", "3", "--out", str(tmp_path / "out"), "--dry-run"]
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 0 and not (tmp_path / "out").exists()
    title, _, alone, searched, net, missing = result.stdout.splitlines()
    assert title == "2 measurements, about 93 s of CPU time in all"
    assert alone.split() == ["alone", "300", "0.01", "3.0", "s"]
    assert searched.split() == ["searched", "3", "30", "90", "s"]
    assert net.split() == ["net", "missing"] and len(net) < 80
    assert missing.startswith("missing: net: a network needs PyTorch: pip install")


def test_a_table_without_anything_to_measure_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = Row(label="DQN", run=None, published=Published(mean=23.45))
    plan = Table(name="theirs", title="Of others", rows=(elsewhere,))
    monkeypatch.setattr(reproduction, "PLANS", (plan,))
    line = ["reproduce", "theirs", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, line)
    assert result.exit_code == 2 and result.stdout == "" and not (tmp_path / "out").exists()
    assert "theirs: nothing of it can be measured: " in result.stderr
    dry = CliRunner().invoke(app, [*line, "--dry-run"])
    assert dry.exit_code == 0 and dry.stdout.startswith("nothing to measure: ")


def test_points_of_a_curve_are_named_by_what_tells_them_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduction, "PLANS", (*sparta_paper.PLANS, *lbs_paper.PLANS))

    def labels(name: str) -> str:
        line = ["reproduce", name, "--out", str(tmp_path), "--dry-run"]
        return CliRunner().invoke(app, line).stdout

    assert "no pruning, threshold 0: 12,800 rollouts " in labels("sparta-figure-3")
    assert ": depth 16 " in labels("lbs-figure-3")


def test_a_broken_pytorch_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "half_a_torch.py").write_text("raise ImportError('libcudart.so.12: cannot open')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UnsupportedError, match=r"is installed: libcudart\.so\.12: cannot") as told:
        require_extra("torch", "a network", "half_a_torch")
    assert "pip install" not in str(told.value)

    def broken(run: Run) -> None:
        raise OSError("libomp.so: bad header")

    monkeypatch.setattr(Run, "line_up", broken)
    assert forecast.lacking([NETWORK]) == {"net": "libomp.so: bad header"}


def test_games_of_this_machine_say_what_one_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecast, "_costs", lambda: {"tiny-single": 30.0, "bot": 0.0})
    content("tiny-table", tmp_path, 6)
    ahead = forecast.forecast(SEARCHED, Effort(10, 7, Threads(), tmp_path / "games"))
    lines = (tmp_path / "games" / "tiny-single-seed7.jsonl").read_text().splitlines()[1:]
    seconds = [g["cpu_seconds"] for g in map(json.loads, lines) if g["side"] == "policies"]
    assert ahead.games == 4 and ahead.seconds == pytest.approx(np.mean(seconds))
    few = forecast.forecast(SEARCHED, Effort(4, 7, Threads(), tmp_path / "games"))
    assert (few.games, few.seconds) == (0, 30.0)


def test_every_row_of_the_papers_has_a_cost() -> None:
    costs = pytest.importorskip("benchmarks.reproduction_costs")
    assert json.loads(costs.FILE.read_text()) == costs.all_costs()
    for one in costs._searched():
        assert costs.all_costs()[one.name] > 0


@pytest.mark.parametrize("width", [60, 80])
def test_narrow_terminals_lose_no_column(tmp_path: Path, width: int) -> None:
    line = ["reproduce", "tiny-table", "--games", "2", "--out", str(tmp_path)]
    narrow = {"COLUMNS": str(width), "TTY_COMPATIBLE": "1", "NO_COLOR": "1"}
    result = CliRunner().invoke(app, line, env=narrow)
    assert result.exit_code == 0, result.exception
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", result.stdout).replace("\r", "\n")
    lines = [row.rstrip() for row in shown[shown.index("A table") :].splitlines()]
    assert [row for row in lines if len(row) > width] == []
    made = json.loads((tmp_path / "tiny-table.json").read_text())
    for cell in (*report.headings(made), *(c for row in report.rows(made) for c in row)):
        assert all(word in shown for word in cell.split()), cell
    assert sum(row.startswith("searched ") and "3.20" in row for row in lines) == 1


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
    splits = content("tiny-splits", tmp_path, 4)
    points = splits["curves"][0]["points"]
    assert [point["x"] for point in points] == [0, 1] and splits["ticks"] == ["1|20", "1|200"]
    assert [point["mean"] for point in points] == [small["mean"], large["mean"]]
    assert report.headings(splits) == ["curve", "plies | rollouts", "score", "games"]
    assert [cells[1] for cells in report.rows(splits)] == ["1|20", "1|200"]
    # After every game's end what counts is the score, which both have.
    assert curve["points"][-1]["mean"] == large["mean"]
    for name in ("tiny-turns", "tiny-budgets", "tiny-costs", "tiny-splits"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_trains_its_networks_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("torch")
    from hanabi_search_plugin.networks.training.training_run import TrainingRun
    from hanabi_search_plugin.reproduce import trained_rows

    small = {"hidden": 16, "context": 8, "scorer": 8}
    sizes = {"games": 8, "moves": 4, "batch": 16, "options": small}
    monkeypatch.setattr(trained_rows, "BLUEPRINT", trained_rows.BLUEPRINT | sizes)
    monkeypatch.setattr(trained_rows, "BELIEF", {"games": 4, "steps": 2, "batch": 4})
    monkeypatch.setattr(trained_rows, "BELIEF_NETWORK", {"hidden": 8, "decoder": 8, "embedding": 4})
    rounds: list[str] = []
    iterate = TrainingRun.iterate

    def counted(run: TrainingRun) -> dict[str, float]:
        rounds.append(run.folder.name)
        return iterate(run)

    monkeypatch.setattr(TrainingRun, "iterate", counted)
    search = Lbs(depth=None, rollouts=20, min_rollouts=5)
    curves = tuple(
        Curve(
            label=label,
            runs=tuple(
                Run(
                    name=f"{label}-{first}",
                    policy="",
                    config=TINY,
                    search=wanted,
                    seats=() if wanted is None else (1,),
                    training=Training(blueprint=first, belief=3 - first),
                )
                for first in (1, 2)
            ),
        )
        for label, wanted in (("alone", None), ("searched", search))
    )
    figure = Figure(
        name="tiny-budget", title="", kind="splits", curves=curves, ticks=("1|2", "2|1"), axis="m"
    )
    monkeypatch.setattr(reproduction, "PLANS", (figure,))
    first = content("tiny-budget", tmp_path, 2)
    names = ["blueprint-1", "blueprint-2", "belief-2-of-blueprint-1", "belief-1-of-blueprint-2"]
    assert sorted(rounds) == sorted([names[0], *names[1:2] * 2, *names[2:3] * 2, names[3]])
    assert {path.name for path in (tmp_path / "networks").iterdir()} == set(names)
    alone, searched = (curve["points"] for curve in first["curves"])
    for one, other in zip(alone, searched, strict=True):
        assert one["games"] == 200 and other["games"] == 2 and other["rollouts_per_game"] > 0
    again = content("tiny-budget", tmp_path, 2)
    assert len(rounds) == 6
    assert again["curves"][1]["points"][0]["mean"] == searched[0]["mean"]


@pytest.mark.parametrize("name", ["tiny-turns", "tiny-budgets", "tiny-splits"])
def test_a_figure_without_matplotlib(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run(name, tmp_path)
    assert result.exit_code == 0
    assert (
        "numbers alone, since a figure needs Matplotlib: "
        'pip install -e ".[plots]" in a clone of hanabi-search-plugin\n'
    ) in result.stderr
    made = json.loads((tmp_path / f"{name}.json").read_text())
    for cells in report.rows(made):
        assert re.search(" +".join(map(re.escape, cells)), result.stdout)
    assert not (tmp_path / f"{name}.png").exists()


def test_beliefs_by_turn_and_range() -> None:
    """A game counts once in a range, whatever turns it has there; what is missing, nowhere."""
    told = {"learned": 1.0, "grounded": 2.0}
    lines = [
        {"turns": [{"turn": 0, **told, "exact": None}, {"turn": 2, **told, "exact": 0.5}]},
        {"turns": [{"turn": 2, "learned": 3.0, "grounded": 3.5, "exact": 3.5}]},
        {"turns": [{"turn": 11, **told, "exact": None}]},
    ]
    assert [(p["x"], p["mean"], p["games"]) for p in measured_beliefs.by_turn(lines, "exact")] == [
        (3, 2, 2)
    ]
    ranges = {one["turns"]: one for one in measured_beliefs.by_range(lines, "learned")}
    assert set(ranges) == {"all", "1-10", "11-25"}
    assert ranges["all"]["mean"] == pytest.approx(5 / 3) and ranges["all"]["games"] == 3
    assert ranges["1-10"]["mean"] == 2 and ranges["1-10"]["known"]["mean"] == 0.75
    (exact,) = (one for one in measured_beliefs.by_range(lines, "exact") if one["turns"] == "all")
    assert (exact["mean"], exact["known"]["mean"], exact["games"]) == (2, 0.75, 2)
    figure = {"kind": "beliefs", "curves": [{"label": "learned", "ranges": [ranges["all"]]}]}
    assert report.headings(figure)[:3] == ["belief", "turns", "nats a card"]
    assert report.rows(figure)[0][:2] == ["learned", "all"]


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


def test_markdown_keeps_bars_in_their_cells() -> None:
    point = {"x": 0, "mean": 1.5, "sem": 0.5, "games": 2}
    curve = {"label": "a", "points": [point]}
    figure = {"kind": "splits", "curves": [curve], "ticks": ["1|8"], "axis": "depth | rollouts"}
    assert list(report.markdown(figure))[1:] == [
        "|---|---|---|---|",
        r"| a | 1\|8 | 1.50 ± 0.50 | 2 |",
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
    monkeypatch.setattr(reproduction, "PLANS", (TREES,))
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


def runs_of(plan: Plan) -> list[Run]:
    if isinstance(plan, Table):
        return [row.run for row in plan.rows if row.run is not None]
    return [run for curve in plan.curves for run in curve.runs]


def test_the_papers_tables_are_sound() -> None:
    plans = (*sparta_paper.PLANS, *ris_mcts_paper.PLANS, *lbs_paper.PLANS)
    names = [plan.name for plan in plans]
    assert len(set(names)) == len(names) and "sparta-figure-3" in names
    runs: dict[str, Run] = {}
    for plan in plans:
        bomb = "keep" if plan in ris_mcts_paper.PLANS else "zero"
        if isinstance(plan, Table):
            labels = {row.label for row in plan.rows}
            assert len(labels) == len(plan.rows)
            for row in plan.rows:
                ours = (
                    lbs_paper.FRUGAL,
                    lbs_paper.EXPLAINED,
                    lbs_paper.DROPPING,
                    lbs_paper.LISTING,
                    lbs_paper.WIDER,
                    lbs_paper.TENTH[5],
                )
                without_paper = (ris_mcts_paper.C_SWEEP, lbs_paper.TABLE_1, lbs_paper.IN_DOUBT)
                ours_alone = row.run in ours or plan in without_paper
                assert row.published or row.bound or ours_alone
                assert row.than is None or row.than in labels - {row.label}
        elif plan.kind == "splits":
            assert all(len(curve.runs) == len(plan.ticks) for curve in plan.curves)
        for one in runs_of(plan):
            assert runs.setdefault(one.name, one) == one  # one file of games, one line-up
            assert one.config.bomb == bomb and (one.search is None) == (one.seats == ())
    assert len(runs) > 100


@pytest.mark.parametrize("plans", [sparta_paper.PLANS, ris_mcts_paper.PLANS, lbs_paper.PLANS])
def test_the_papers_tables_have_their_line_ups(plans: tuple[Plan, ...]) -> None:
    if plans is lbs_paper.PLANS:
        pytest.importorskip("torch")
    needing_torch = () if find_spec("torch") else {entry.name for entry in networks()}
    for one in {run.name: run for plan in plans for run in runs_of(plan)}.values():
        if one.training is None and one.policy not in needing_torch:
            game, policies = one.line_up()
            assert len(policies) == game.num_players > max(one.seats, default=0)


def test_the_splits_of_lbs_share_a_budget() -> None:
    for curve in lbs_paper.FIGURE_6.curves:
        for run, tick in zip(curve.runs, lbs_paper.FIGURE_6.ticks, strict=True):
            assert isinstance(run.search, Lbs) and run.search.depth is not None
            assert run.search.depth * run.search.rollouts == 16_000
            assert tick == f"{run.search.depth}|{run.search.rollouts:,}"
    a_minute = lbs_paper.A_MINUTE
    for curve in lbs_paper.FIGURE_5.curves:
        for run, tick in zip(curve.runs, lbs_paper.FIGURE_5.ticks, strict=True):
            blueprint, belief = map(int, tick.split("|"))
            assert run.training == Training(
                blueprint=blueprint * a_minute.blueprint, belief=belief * a_minute.belief
            )
            assert blueprint + belief == lbs_paper.MINUTES and blueprint > 0 and belief > 0


def test_tables_of_ris_mcts_share_games() -> None:
    one, three, four, six, sweep = (
        {row.label: row for row in table.rows} for table in ris_mcts_paper.PLANS
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
