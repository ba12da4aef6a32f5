"""Execute the notebooks of docs/tutorials and store what they show.

python -m benchmarks.tutorials                  # all of them: some minutes
python -m benchmarks.tutorials 01 04            # those whose names begin so

Cells are the source, edited by hand; outputs and metadata are written here. ``source`` in the
metadata is a digest of the cells that the outputs come from.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

from hanabi_search_plugin.atomic_files import atomic_write

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = tuple(sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")))
SECONDS = 600  # for a cell, on a busy machine
TIMES = re.compile(r"seconds|memory|compil", re.IGNORECASE)  # lines that differ from run to run


def load(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def executed(notebook: NotebookNode) -> NotebookNode:
    """The same cells with the outputs of a run, in an empty folder and an interpreter of its own.

    Raises nbclient's CellExecutionError for a cell that fails.
    """
    cells = [_bare(cell) for cell in notebook.cells]
    with tempfile.TemporaryDirectory() as folder:
        fresh = nbformat.v4.new_notebook(cells=cells, metadata=_metadata(cells))
        client = NotebookClient(
            fresh,
            timeout=SECONDS,
            kernel_name="python3",
            record_timing=False,
            config=Config(
                {"KernelManager": {"transport": "ipc", "ip": str(Path(folder, "kernel"))}}
            ),
            resources={"metadata": {"path": folder}},
        )
        paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        home = {"IPYTHONDIR": str(Path(folder, ".ipython"))}  # no history is kept
        client.execute(env=os.environ | home | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"})
    fresh.metadata = _metadata(cells)  # the kernel adds its versions
    return fresh


def digest(cells: list[NotebookNode]) -> str:
    """Of the code, in order."""
    code = "\0".join(cell.source for cell in cells if cell.cell_type == "code")
    return hashlib.sha256(code.encode()).hexdigest()


def figures(notebook: NotebookNode) -> list[str]:
    """What the code cells say in words and numbers, line by line; times are left out."""
    return [
        line
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        for text in _texts(output)
        for line in text.replace("</tr>", "</tr>\n").splitlines()
        if not TIMES.search(line)
    ]


def noise(notebook: NotebookNode) -> str:
    """What the cells said on the standard error."""
    return "".join(
        output.text
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.output_type == "stream" and output.name == "stderr"
    )


def _texts(output: NotebookNode) -> Iterator[str]:
    if output.output_type == "stream" and output.name == "stdout":
        yield output.text
    for kind, text in sorted(output.get("data", {}).items()):
        if kind.startswith("text/"):
            yield text


def _bare(cell: NotebookNode) -> NotebookNode:
    """The cell without outputs, counts and whatever an editor left in its metadata."""
    if cell.cell_type == "code":
        return nbformat.v4.new_code_cell(cell.source, id=cell.id)
    return nbformat.v4.new_markdown_cell(cell.source, id=cell.id)


def _metadata(cells: list[NotebookNode]) -> NotebookNode:
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    fields: dict[str, Any] = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return nbformat.from_dict(fields | {"source": digest(cells)})


def main() -> None:
    parser = argparse.ArgumentParser(description="Execute the tutorials and store their outputs.")
    parser.add_argument("begins", nargs="*", metavar="NAME", help="how a name begins; none: all")
    begins = tuple(parser.parse_args().begins)
    chosen = [path for path in TUTORIALS if not begins or path.name.startswith(begins)]
    if not chosen:
        parser.error(f"no notebook of docs/tutorials begins with {' or '.join(begins)}")
    for path in chosen:
        start = time.perf_counter()
        notebook = executed(load(path))
        if said := noise(notebook):
            parser.exit(1, f"{path.name} is not stored, since it writes to stderr:\n{said}")
        with atomic_write(path) as file:
            file.write((nbformat.writes(notebook) + "\n").encode())
        print(f"{path.name}: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
