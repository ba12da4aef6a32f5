"""Command lines out of the declarations of the commands: good, bad and absurd values by type."""

from __future__ import annotations

import inspect
import random
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

import typer

from benchmarks.fuzz_samples import FILES, READERS
from hanabi_search_plugin.cli.command_line import app, imported
from hanabi_search_plugin.cli.every_command import with_common_options
from hanabi_search_plugin.cli.option_groups import with_options

INTEGERS = (
    "0", "1", "2", "3", "-1", "-0", "5", "7", "100", "1025", "99999", "2147483648", "10000000",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775809",
    "-99999999", "1" + "0" * 30, "1.5", "1e3", "nan", "", " ", "x", "0x10", "1_000", "\uff11",
    "+3", "1" * 5000, "None", "true", "1,2",
)  # fmt: skip
NUMBERS = (
    "0", "0.5", "1", "0.05", "2", "-1", "-0.0", "1e-300", "1e300", "1e400", "nan", "inf", "-inf",
    "", "x", "0x1p3", "1,5", "1e", "9" * 400, "1_0.0",
)  # fmt: skip
TEXTS = (
    "", " ", "x", ",", ",,", ":", "::", "=", "a=b", "-", "--", "-1", "none", "None", "*", "%s",
    "{}", "{0}", "[red]x", "[/]", "[/red]", "\\", "'", '"', "a\nb", "\x1b[31mred", "\u202e",
    "\x9b1m", "\U0001f0a0", "\udcff", "e\u0301", "\u2028", "a" * 300, "b" * 20_000,
    "smartbot,", ",smartbot", "smartbot,smartbot,smartbot", "vdb:strict", "vdb:convention=",
    "vdb:convention=x:strict=true", "smartbot:x=1", "network", "network:file=", "network:x=1",
    "network:file=missing", "evalfn:network=missing.safetensors", "openspiel:", "openspiel:x",
    "openspiel:hanabi(", "openspiel:leduc_poker(players=3)", "openspiel:leduc_poker(players=-1)",
    "openspiel:leduc_poker(players=x)", "openspiel:tic_tac_toe", "openspiel:kuhn_poker()",
    "openspiel:hanabi(players=99)", "openspiel:hanabi(colors=2,ranks=2,hand_size=2,players=2)",
    "openspiel:uniform_random", "particles", "particles:particles=0", "particles:particles=-5",
    "particles:particles=99999999999999", "particles:seed=x", "grounded", "table-2", "2|3|9",
    "2||9", "999", "-1|2", "any-giver", "previous-player", "evalfn-1", "exact", "learned",
    "mixed-track",
    "human,smartbot", "human,human", "human", "0", "1", "0,1", "all", "0,0", "5", "-1,0", "1,x",
    "cpu", "cuda", "cuda:99", "meta", "mps", "cpu:7", "xla", "masks", "advised-masks",
    "openspiel:universal_poker", "openspiel:chess", "openspiel:go(board_size=1000000)",
    "openspiel:negotiation", "openspiel:euchre",
)  # fmt: skip
SETS = (
    "hidden=8", "hidden=0", "hidden=-1", "hidden=1.5", "hidden=true", "hidden=null", "hidden=[8]",
    "hidden=1e400", "hidden=NaN", "hidden=99999999999", "hidden=99999999999999999999", "hidden='8'",
    "hidden=", "=8", "=", "x", "lstm_layers=0", "lstm_layers=100000000", "encoding=x", "scorer=3",
    "encoding=1", "listener=smartbot", "listener=x", "listener=3", "context=0", "depth=100000000",
    "hidden=" + "[" * 3000, "config=1", "self=1", "players=3", "decoder=0", "embedding=2",
    "deeper=true", "deeper=x", "cell=-1", "hidden=100000",
)  # fmt: skip
PATHS = (
    "out.json", "out", "out/a.json", "missing/a.json", ".", "", "-", "out.jsonl.gz", "loop",
    "folder", "[red]x[/].json", "\x1b[31m.json", "\udcff.json", "\u202e.json", "a b.json",
    "a" * 300, "file/inside", "text.txt", "{}.json", "%s", "~", "-x", "readonly/a.json", "dangling",
    "nowhere/../x.json", "x" * 5000, "/dev/zero", "/dev/full", "/dev/null",
)  # fmt: skip
STDIN = (
    b"", b"\n\n\n", b"0\n" * 60, b"play 0\ndiscard 1\nhint 1 red\n?\nhelp\nundo\nwhy\n",
    b"\xff\xfe", b"quit\n", b"\x1b[A\x1b[31m\n", b"p0\nd0\nh1r\n" * 20, b"a" * 100_000, b"[0, 1]",
    b"[[1",
    b"[" * 90_000, b"{}", b"null", b"[1e999]", b'[["a"]]', b"[[0.5]]", b"[]", b"[[]]",
    b"\x93NUMPY", b"[NaN]",
    b"[1, [2]]", b"[true]", b"[99999999999999999999999]",
)  # fmt: skip

SHORT = {
    "games": ("1", "2"), "iterations": ("1", "2"), "rollouts": ("10", "30"), "min_rollouts": ("2",),
    "colors": ("1", "2"), "ranks": ("2", "3"), "hand_size": ("1", "2"),
    "evaluation_games": ("0", "1"), "moves": ("2",), "batch": ("2", "4"),
    "steps": ("1",), "players": ("2", "3"),
    "options": ("hidden=8",), "policy": ("random", "smartbot", "vdb"), "passes": ("1",),
}  # fmt: skip
"""Values that keep a run short, for options of these names; none needs any."""
SLOW = ("bench", "compile", "demo", "reproduce", "train evalfn", "train partners")
"""Commands that have no short run: seldom."""


@dataclass(frozen=True)
class Option:
    """One option or argument of a command."""

    name: str
    flags: tuple[str, ...]  # empty: an argument
    off: tuple[str, ...]  # flags that turn it off
    kinds: tuple[str, ...]  # of values: "int", "float", "bool", "str", "Path"
    several: bool
    required: bool
    file: bool
    choices: tuple[str, ...]  # that its help or a shell's completion names


@dataclass(frozen=True)
class Command:
    """One command, with all its options."""

    name: str
    options: tuple[Option, ...]


@dataclass
class Case:
    """What one run is given. ``samples``: those that it names, whole or damaged."""

    words: list[str]
    stdin: bytes = b""
    samples: dict[str, bool] = field(default_factory=dict)  # by name: is it damaged?
    kind: str = "line"


def commands() -> list[Command]:
    """Every command of the program, read off the declarations of its options."""
    return [_command(name, named) for name, named in _leaves(typer.main.get_command(app), ())]


def _leaves(group: Any, above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from _leaves(one, (*above, name))
        else:
            yield " ".join((*above, name)), one


def _command(name: str, named: Any) -> Command:
    click = imported(named)
    declared = inspect.signature(with_common_options(with_options(named.callback()))).parameters
    context = typer.Context(click)
    options = []
    for one in click.params:
        if one.name not in declared:  # --help
            continue
        annotation = declared[one.name].annotation
        kind = get_args(annotation)[0]
        kinds = {
            part.__name__
            for part in (kind, *get_args(kind), *(x for y in get_args(kind) for x in get_args(y)))
            if isinstance(part, type)
        }
        metavar = one.metavar or ""
        offered = [item.value for item in one.shell_complete(context, "")]
        file = "Path" in kinds or metavar.strip("[]").split()[:1] in (["FILE"], ["DIR"])
        argument = one.param_type_name == "argument"
        options.append(
            Option(
                name=one.name,
                flags=() if argument else tuple(one.opts),
                off=tuple(one.secondary_opts),
                kinds=tuple(sorted(kinds & {"int", "float", "bool", "str", "Path"})),
                several=bool(getattr(one, "multiple", False)) or one.nargs == -1,
                required=bool(one.required),
                file=file,
                choices=tuple(
                    dict.fromkeys([*metavar.split("|")[: 9 * ("|" in metavar)], *offered])
                ),
            )
        )
    return Command(name, tuple(options))


def line_case(rng: random.Random, known: list[Command]) -> Case:
    """A command line of one command: short by itself, with some options of any values."""
    command = rng.choice(known)
    if command.name in SLOW and rng.random() < 0.8:
        command = rng.choice(known)
    case = Case(command.name.split())
    if rng.random() < 0.02:
        return _odd_line(rng, case)
    chosen = {
        one.name
        for one in rng.sample(
            command.options, min(len(command.options), rng.choice((0, 1, 1, 2, 3, 8)))
        )
    }
    late: list[str] = []
    for one in command.options:
        if one.name in SHORT and not (one.name in chosen and rng.random() < 0.8):
            if one.name != "hand_size" or rng.random() < 0.8:
                _add(case.words, late, one, rng.choice(SHORT[one.name]))
        elif one.name in chosen or (one.required and rng.random() < 0.95):
            for _ in range(rng.choice((1, 1, 2, 3)) if one.several else 1):
                if one.kinds == ("bool",):
                    case.words.append(rng.choice((*one.flags, *one.off)))
                else:
                    _add(case.words, late, one, _value(rng, one, case))
    if rng.random() < 0.03:
        late.append(rng.choice(TEXTS))
    if late and rng.random() < 0.5:
        case.words += ["--"] * (rng.random() < 0.3) + late
    else:
        case.words += late
    if command.name in ("play", "decode"):
        case.stdin = rng.choice(STDIN)
    return case


def _add(words: list[str], late: list[str], one: Option, value: str) -> None:
    if not one.flags:
        late.append(value)
    elif len(value) % 3 == 1:
        words.append(f"{one.flags[0]}={value}")
    else:
        words.extend((one.flags[0], value))


def _odd_line(rng: random.Random, case: Case) -> Case:
    """What is no command line of a command."""
    case.words = rng.choice(
        (
            [], ["train"], ["--version"], ["--help"], [*case.words, "--help"], [*case.words, "-h"],
            [rng.choice(TEXTS)], ["train", rng.choice(TEXTS)], [*case.words, rng.choice(TEXTS)],
            ["-" + rng.choice(TEXTS)],
            [*case.words, "--" + rng.choice(TEXTS)], ["--debug"], ["--"], [*case.words, "--debug"],
        )
    )  # fmt: skip
    return case


def _value(rng: random.Random, one: Option, case: Case) -> str:
    if one.file and rng.random() < 0.9:
        if rng.random() < 0.4:
            name = rng.choice((*FILES.values(), *READERS))
            case.samples[name] = rng.random() < 0.5
            return name
        return rng.choice(PATHS)
    if one.choices and rng.random() < 0.6:
        value = rng.choice(one.choices)
        return value if rng.random() < 0.8 else _misspelt(rng, value)
    if one.several and "str" in one.kinds and rng.random() < 0.8:
        return rng.choice(SETS)
    if "int" in one.kinds and rng.random() < 0.9:
        return rng.choice(INTEGERS)
    if "float" in one.kinds and rng.random() < 0.9:
        return rng.choice(NUMBERS)
    if rng.random() < 0.15:
        name = rng.choice((*FILES.values(), *READERS))
        case.samples[name] = rng.random() < 0.5
        return rng.choice((name, f"network:file={name}", f"evalfn:network={name}"))
    return rng.choice(TEXTS)


def _misspelt(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return rng.choice(
        (text[:at] + text[at + 1 :], text[:at] + "x" + text[at:], text.upper(), f"{text},")
    )


def file_case(rng: random.Random) -> Case:
    """A command line that reads a damaged sample, with all else as it should be."""
    name = rng.choice(list(READERS))
    case = Case([], kind=name)
    line = rng.choice(READERS[name])
    for word in shlex.split(line):
        if word.startswith("{") and word[1:-1] in FILES:
            case.samples.setdefault(FILES[word[1:-1]], False)
        named = {key: file for key, file in FILES.items()}
        case.words.append(word.format(**named, **{"in": name}))
    case.samples[name] = True
    if rng.random() < 0.1:
        case.words.append(rng.choice(("--quiet", "--json=-", "--seed=1", "--debug")))
    return case


def case_of(seed: int, number: int, known: list[Command]) -> tuple[Case, random.Random]:
    """Case ``number`` of a seed, whatever came before; and the chance that damages its samples."""
    rng = random.Random(f"{seed}:{number}")
    return (line_case(rng, known) if rng.random() < 0.55 else file_case(rng)), rng
