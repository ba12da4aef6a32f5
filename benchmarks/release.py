"""Is the package ready to be released? (CONTRIBUTING.md)

python -m benchmarks.release python3.11 python3.12 python3.13

Builds the source distribution and the wheel of this folder, checks what they say of themselves
(twine) and how large the wheel is, and installs it into a fresh environment of each Python that is
named, away from this folder: there it plays the demo, evaluates a search and judges a position.
Needs the extra ``release``, and the network for the dependencies.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from hanabi_search_plugin import __version__

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 15_000_000  # bytes of the wheel

# What the core of the package does, without PyTorch and other extras.
PROGRAM = """
import hanabi_search_plugin as package
from hanabi_search_plugin import HanabiGame, Sparta, evaluate, upgrade
from hanabi_search_plugin.judge import Judge, observation_text, play_games

assert package.__version__ == {version!r}, package.__version__
assert {root!r} not in package.__file__, package.__file__
game = HanabiGame(players=2)
agent = upgrade("smartbot", game, Sparta(rollouts=200))
print(evaluate(game, ("smartbot", agent), games=2, seed=7))
record = next(play_games(game, "smartbot", 1, seed=1))
text = observation_text(game.config, game.from_decks([record.deck]).rows[0], 0)
print(Judge("smartbot", rollouts=100)(text))
"""

app = CommandLine(__doc__)
console = Console(highlight=False)


@app.command()
def check(
    pythons: Annotated[list[str], typer.Argument(help="Interpreters, one or more.")],
    keep: Annotated[Path | None, typer.Option(help="Put what was built here.")] = None,
) -> None:
    """Build, check, install and run. Ends with 1 where something is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder, "dist")
        _run([sys.executable, "-m", "build", "--outdir", str(built), str(ROOT)], ROOT)
        files = sorted(map(str, built.iterdir()))
        _run([sys.executable, "-m", "twine", "check", "--strict", *files], ROOT)
        wheel = next(built.glob("*.whl"))
        size = wheel.stat().st_size
        names = zipfile.ZipFile(wheel).namelist()
        _say(f"{wheel.name}: {size / 1e6:.1f} MB, {len(names)} files")
        if size > LARGEST:
            _fail(f"the wheel must have at most {LARGEST / 1e6:.0f} MB")
        if any(name.split("/")[0] in ("tests", "benchmarks", "docs") for name in names):
            _fail("the wheel must hold the package alone")
        for number, python in enumerate(pythons):
            _install_and_run(python, wheel, Path(folder, f"env-{number}"))
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            for file in built.iterdir():
                (keep / file.name).write_bytes(file.read_bytes())
    _say(f"{__version__} is ready")


def _install_and_run(python: str, wheel: Path, folder: Path) -> None:
    """In an environment of its own, with a cache of kernels of its own."""
    began = time.monotonic()
    _run([python, "-m", "venv", str(folder)], folder.parent)
    own = str(folder / "bin" / "python")
    pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, str(wheel)], folder)
    installed = time.monotonic()
    _run([str(folder / "bin" / "hanabi-search"), "--version"], folder)
    _run([str(folder / "bin" / "hanabi-search"), "demo", "--rollouts", "200"], folder)
    line = "evaluate --policy smartbot --search sparta --search-seats 1 --games 2 --rollouts 200"
    _run([str(folder / "bin" / "hanabi-search"), *line.split()], folder)
    _run([own, "-c", PROGRAM.format(version=__version__, root=str(ROOT))], folder)
    _say(
        f"{python}: installed in {installed - began:.0f} s, ran in "
        f"{time.monotonic() - installed:.0f} s"
    )


def _run(command: list[str], folder: Path) -> None:
    """A command, whose output is shown where it fails."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        command,
        cwd=folder,
        env=clean | {"XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        console.print(done.stdout, done.stderr, markup=False)
        _fail(f"{' '.join(command)[:200]} ended with {done.returncode}")


def _say(text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)


def _fail(text: str) -> None:
    _say(text)
    raise typer.Exit(1)


if __name__ == "__main__":
    app()
