"""Result files beside each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.evaluation.comparison import compare, read_results

SMALL = ["--colors", "2", "--ranks", "2", "--hand-size", "2"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def evaluated(path: Path, *arguments: object, policy: str = "smartbot") -> dict[str, Any]:
    line = ["evaluate", *SMALL, "--policy", policy, "--games", 30, "--json", path, *arguments]
    result = run(*line)
    assert result.exit_code == 0, result.output
    content = json.loads(path.read_text())
    assert isinstance(content, dict)
    return content


def compared(*files: Path) -> list[dict[str, Any]]:
    result = run("compare", *files, "--json", "-")
    assert result.exit_code == 0, (result.output, result.exception)
    content = json.loads(result.stdout)
    assert content["command"] == "compare" and content["files"] == [*map(str, files)]
    assert "hanabi-search-plugin" in content["versions"]
    found = content["comparisons"]
    assert isinstance(found, list)
    return found


def test_the_same_decks_are_paired(tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    base, other = evaluated(a, policy="random"), evaluated(b)
    (found,) = compared(a, b)
    more = np.array(other["scores"]) - np.array(base["scores"])
    assert found["pairs"] == 30 and found["unpaired_because"] is None and found["note"] is None
    assert found["difference"] == pytest.approx(more.mean())
    assert found["sem"] == pytest.approx(more.std(ddof=1) / np.sqrt(30))
    assert found["better"] == (more > 0).mean() and found["worse"] == (more < 0).mean()
    assert found["better"] > found["worse"]
    assert (found["base"]["path"], found["base"]["mean"]) == (str(a), base["mean"])
    shown = run("compare", a, b).stdout
    assert f"{more.mean():+.3f} +- {found['sem']:.3f}" in " ".join(shown.split())
    assert f"{100 * found['better']:.1f} %" in shown and "not paired" not in shown


def test_long_paths_stand_below_the_table_and_are_never_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folders = [tmp_path / f"a-folder-with-quite-a-long-name-{n}" for n in (1, 2)]
    for folder in folders:
        folder.mkdir()
        evaluated(folder / "results.json", policy="random")
    files = [folder / "results.json" for folder in folders]
    lines = run("compare", *files).stdout.splitlines()
    for number, file in enumerate(files, start=1):
        assert any(line.startswith(f"results.json ({number})  ") for line in lines)
        assert f"results.json ({number}) is {file}" in lines
    assert all(len(line) <= 80 for line in lines if " is " not in line)


def test_only_common_games_are_paired(tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    base, other = evaluated(a, policy="random"), evaluated(b)
    kept = [1, 4, 7]
    other |= {"numbers": kept, "scores": [other["scores"][i] for i in kept], "games": 3}
    b.write_text(json.dumps(other))
    (found,) = compared(a, b)
    more = [score - base["scores"][i] for i, score in zip(kept, other["scores"], strict=True)]
    assert found["pairs"] == 3 and found["difference"] == pytest.approx(np.mean(more))


def test_other_decks_are_not_paired_and_it_says_so(tmp_path: Path) -> None:
    a, b, c = (tmp_path / f"{name}.json" for name in "abc")
    base, other = evaluated(a, policy="random"), evaluated(b, "--seed", 8)
    evaluated(c, "--life-tokens", 2)
    found, third = compared(a, b, c)
    assert (found["pairs"], found["better"], found["worse"]) == (0, None, None)
    assert found["difference"] == pytest.approx(other["mean"] - base["mean"])
    assert found["sem"] == pytest.approx(np.hypot(base["sem"], other["sem"]))
    assert found["unpaired_because"] == f"seed is 0 in {a}, 8 in {b}"
    assert third["unpaired_because"] == f"life_tokens of the game is 3 in {a}, 2 in {c}"
    shown = run("compare", a, b, c).stdout
    assert f"{b} is not paired: seed is 0 in {a}, 8 in {b}\n" in shown
    assert " none " in shown


def test_what_a_lost_game_counts_is_said_and_decks_stay_paired(tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    evaluated(a, policy="random"), evaluated(b, "--bomb", "keep", policy="random")
    (found,) = compared(a, b)
    assert found["pairs"] == 30 and found["worse"] == 0 < found["better"]
    assert found["note"] == f"bomb is zero in {a}, keep in {b}"
    assert "the scores may count differently: bomb is zero" in run("compare", a, b).stdout


def test_results_of_older_versions(tmp_path: Path) -> None:
    """They had no numbers: whole ones are paired, interrupted ones not."""
    a, b, c = (tmp_path / f"{name}.json" for name in "abc")
    content = evaluated(a)
    for name in ("format", "numbers"):
        del content[name]
    b.write_text(json.dumps(content, indent=2))
    c.write_text(json.dumps(content | {"requested_games": 40}))
    whole, part = compared(a, b, c)
    assert whole["pairs"] == 30 and whole["difference"] == 0
    assert part["pairs"] == 0
    assert part["unpaired_because"] == f"{c} does not have the scores of numbered games"
    documented = Path(__file__).parents[2] / "docs" / "results"
    files = [documented / f"sparta-smartbot-2p{name}.json" for name in ("-paired", "-16000")]
    (found,) = compared(*files)
    assert found["pairs"] == 500 and abs(found["difference"]) < 0.1  # docs/results/sparta.md


def test_kept_games_are_results_too(tmp_path: Path) -> None:
    a, kept = tmp_path / "a.json", tmp_path / "run.jsonl"
    base = evaluated(a, "--resume", kept)
    with kept.open("a") as file:
        file.write('{"side":"policies","ga')  # a line that is being written
    (found,) = compared(a, kept)
    assert found["pairs"] == found["other"]["games"] == 30 and found["difference"] == 0
    assert found["other"]["mean"] == pytest.approx(base["mean"])


def test_reproduced_tables_are_compared_label_by_label(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.json" for name in ("a", "b")]
    for number, file in enumerate(files):
        measured = {"games": 200, "mean": 22.0 + number, "sem": 0.3}
        rows = [
            {"label": "SmartBot", "measured": measured},
            {"label": f"row {number}", "measured": measured},
            {"label": "absent", "measured": None},
        ]
        point = {"x": 3, "games": 10, "mean": 2.0 + number, "sem": 0.4}
        curves = [{"label": "curve", "points": [point]}]
        content = {"command": "reproduce", "seed": 7, "rows": rows, "curves": curves}
        file.write_text(json.dumps(content))
    row, point = compared(*files)
    assert (row["base"]["label"], row["difference"], row["pairs"]) == ("SmartBot", 1.0, 0)
    assert row["sem"] == pytest.approx(np.hypot(0.3, 0.3))
    assert "does not have the scores of numbered games" in row["unpaired_because"]
    assert point["other"]["label"] == "curve, 3"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "expected results of `evaluate --json`"),
        ("[1]", "expected results of"),
        ('{"games": 3}', "expected results of"),
        ('{"format": "hanabi-search-plugin evaluation 1"}', "expected results of"),
    ],
)
def test_other_files_get_one_line(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(RecordError, match=says):
        read_results(path)
    refused = run("compare", path, path)
    assert (
        refused.exit_code == 2 and refused.stderr.count("\n") == 1 and str(path) in refused.stderr
    )


def test_a_newer_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    content = evaluated(path)
    path.write_text(json.dumps(content | {"format": "hanabi-search-plugin results 2"}))
    with pytest.raises(RecordError, match="this version reads 'hanabi-search-plugin results 1'"):
        read_results(path)


def test_bad_files_are_refused_in_one_line(tmp_path: Path) -> None:
    a, table = tmp_path / "a.json", tmp_path / "table.json"
    evaluated(a)
    row = {"label": "x", "measured": {"games": 1, "mean": 1.0, "sem": None}}
    content = {"command": "reproduce", "seed": 7, "rows": [row, row | {"label": "y"}]}
    table.write_text(json.dumps(content))
    for files, says in (
        ((a,), "compare takes at least two files"),
        ((a, table), "files must hold as many line-ups, got 1 in"),
        ((a, tmp_path / "gone.json"), "gone.json: No such file"),
    ):
        refused = run("compare", *files)
        assert refused.exit_code == 2 and says in refused.stderr, refused.stderr
        assert refused.stderr.count("\n") == 1 and refused.stdout == ""


def test_one_pair_has_no_standard_error(tmp_path: Path) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    evaluated(a, "--games", 1), evaluated(b, "--games", 1, policy="random")
    (base,), (other,) = read_results(a), read_results(b)
    found = compare(base, other)
    assert found.pairs == 1 and found.sem is None and found.difference is not None
    assert run("compare", a, b).exit_code == 0
