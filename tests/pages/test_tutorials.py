"""Every notebook runs as it stands, and shows what a run of its own cells has shown."""

from __future__ import annotations

import copy
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

for module in ("nbclient", "ipykernel", "matplotlib", "PIL"):
    pytest.importorskip(module, reason=f"notebooks need {module}")

import nbformat
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from benchmarks.tutorials import ROOT, TUTORIALS, digest, executed, figures, load, noise

NOTEBOOKS = pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)


def code_of(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds_of(notebook: NotebookNode) -> list[str]:
    """The MIME types that the cells show."""
    outputs = [output for cell in code_of(notebook) for output in cell.outputs]
    return [kind for output in outputs for kind in sorted(output.get("data", {}))]


@NOTEBOOKS
def test_it_runs_and_shows_what_is_stored(path: Path) -> None:
    stored = load(path)
    trains = re.search(
        "^(import|from) torch|networks", "\n".join(c.source for c in code_of(stored)), re.M
    )
    if trains and find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    fresh = executed(stored)
    assert kinds_of(fresh) == kinds_of(stored)
    if not trains:  # what a training learns differs in the last digits between processors
        assert figures(fresh) == figures(stored)


@NOTEBOOKS
def test_what_is_stored_comes_from_its_cells(path: Path) -> None:
    notebook = load(path)
    cells = code_of(notebook)
    assert notebook.metadata.source == digest(notebook.cells), "python -m benchmarks.tutorials"
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert figures(notebook)
    assert "image/png" in kinds_of(notebook)
    assert not noise(notebook)


@NOTEBOOKS
def test_it_holds_nothing_of_the_machine_that_ran_it(path: Path) -> None:
    notebook = load(path)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info", "source"}
    assert notebook.metadata.language_info == {"name": "python"}
    assert not [cell.metadata for cell in notebook.cells if cell.metadata]
    assert not re.search(r"/(home|root|tmp|work|Users)/", path.read_text(encoding="utf-8"))


@NOTEBOOKS
def test_what_it_links_to_is_there(path: Path) -> None:
    text = "\n".join(cell.source for cell in load(path).cells if cell.cell_type == "markdown")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert links
    assert not [link for link in links if not (path.parent / link).exists()]


def test_every_tutorial_is_listed() -> None:
    page = (ROOT / "docs" / "tutorials" / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[[^]]+\]\((\S+)\) \|", page, re.MULTILINE)
    assert rows == [path.name for path in TUTORIALS]
    assert re.findall(r"^\w+$", page, re.MULTILINE) == [path.stem for path in TUTORIALS]


def small(*sources: str) -> NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in sources])


def test_an_error_is_not_swallowed() -> None:
    with pytest.raises(CellExecutionError, match="broken"):
        executed(small("raise ValueError('broken')"))


def test_another_figure_is_seen_and_a_time_is_not() -> None:
    first = executed(
        small("print('score 1\\nCPU seconds 2')\nimport sys\nprint('hm', file=sys.stderr)")
    )
    assert figures(first) == ["score 1"]
    assert noise(first) == "hm\n"
    second = copy.deepcopy(first)
    second.cells[0].source += "\n1"
    assert digest(second.cells) != digest(first.cells)
