"""``hanabi-search compare``: result files beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from hanabi_search_plugin.cli import options as option
from hanabi_search_plugin.cli import result_files, terminal
from hanabi_search_plugin.cli.fitted_table import FittedTable
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.evaluation.comparison import HEADINGS, ResultGames, read_results
from hanabi_search_plugin.evaluation.comparison import compare as compare_games
from hanabi_search_plugin.evaluation.provenance import versions


def compare(
    *,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE FILE...",
            help="Results of `evaluate --json` or `reproduce`, or games that --resume has kept. "
            "The others are compared with the first.",
        ),
    ],
    json_file: option.JsonFile = None,
) -> None:
    """Read the files, and print how much more the others score than the first."""
    if len(files) < 2:
        raise ConfigError(f"compare takes at least two files, got {files[0]}")
    result_files.check_files(json=json_file)
    console = terminal.open_console(json_file)
    first, *others = (read_results(file) for file in files)
    groups = [(base, _partners(base, first, others)) for base in first]
    compared = [
        (base, [compare_games(base, one) for one in found]) for base, found in groups if found
    ]
    if not compared:
        raise ConfigError(f"files must have labels in common, got none of {files[0]} in the others")
    short = _short_names([str(file) for file in files])
    rows = [
        (_labelled(games, short), *row[1:])
        for base, found in compared
        for games, row in ((base, base.row), *((one.other, one.row) for one in found))
    ]
    console.print(FittedTable(HEADINGS, rows))
    notes = [f"{name} is {path}" for path, name in short.items() if name != path]
    notes += [line for _, found in compared for one in found for line in one.notes]
    for line in dict.fromkeys(notes):
        console.print(line, markup=False, soft_wrap=True)
    content = {
        "command": "compare",
        "files": [str(file) for file in files],
        "comparisons": [one.to_dict() for _, found in compared for one in found],
        "versions": versions(),
    }
    result_files.write_json(json_file, content)


def _short_names(paths: list[str]) -> dict[str, str]:
    """The file's name for each path, with a number where several have the same one."""
    names = {path: Path(path).name for path in paths}
    often = Counter(names.values())
    seen: Counter[str] = Counter()
    for path, name in names.items():
        if often[name] > 1:
            seen[name] += 1
            names[path] = f"{name} ({seen[name]})"
    return names


def _labelled(games: ResultGames, short: Mapping[str, str]) -> str:
    name = short[games.path]
    return f"{name}: {games.label}" if games.label else name


def _partners(
    base: ResultGames, first: list[ResultGames], others: list[list[ResultGames]]
) -> list[ResultGames]:
    """What is compared with ``base``: of each file the only line-up, or that of the same label."""
    found = []
    for other in others:
        if (len(first) == 1) != (len(other) == 1):
            raise ConfigError(
                f"files must hold as many line-ups, got {len(first)} in {base.path} and "
                f"{len(other)} in another"
            )
        found += [one for one in other if len(other) == 1 or one.label == base.label]
    return found
