"""Options of the commands are the fields of frozen settings: one default, one text, one place."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import typer
from typer.models import OptionInfo
from typer.testing import CliRunner

from hanabi_search_plugin import JointSparta, Lbs, Mds, MoIsmcts, Predictor, RisMcts, Sparta
from hanabi_search_plugin.algorithms import Pomcp
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.cli.cluster_options import ClusterChoice
from hanabi_search_plugin.cli.command_line import imported
from hanabi_search_plugin.cli.every_command import COMMON
from hanabi_search_plugin.cli.option_groups import Fields, group_of
from hanabi_search_plugin.cli.searches import (
    OPTIONS,
    SEARCHES,
    GuideSettings,
    SearchOptions,
    make_search,
)
from hanabi_search_plugin.cli.table_options import BeliefChoice, GameChoice, Seating
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.learning.evalfn_training import EvalfnTraining, Stage
from hanabi_search_plugin.learning.partner_training import PartnerTraining
from hanabi_search_plugin.networks.training.training_settings import (
    BeliefSettings,
    Cloning,
    CriticSettings,
    Distillation,
    SelfPlay,
)

ROOT = Path(__file__).resolve().parents[2]

_SEARCHES = [Sparta, JointSparta, Lbs, Mds, Pomcp, MoIsmcts, RisMcts, Predictor, GuideSettings]
_TABLE = [*_SEARCHES, HanabiConfig, Seating, BeliefChoice]
SETTINGS: dict[str, list[Any]] = {
    "demo": [Sparta, Seating],
    "play": _TABLE,
    "serve": _TABLE,
    "evaluate": [*_TABLE, GameChoice, ClusterChoice],
    "record": [*_TABLE, ClusterChoice],
    "reproduce": [ClusterChoice],
    "judge": [HanabiConfig, GameChoice, ClusterChoice],
    "decode": [HanabiConfig],
    "train distill": [Distillation, HanabiConfig, ClusterChoice],
    "train clone": [Cloning, ClusterChoice],
    "train rl": [SelfPlay, HanabiConfig, ClusterChoice],
    "train critic": [CriticSettings, HanabiConfig, ClusterChoice],
    "train belief": [BeliefSettings, HanabiConfig, ClusterChoice],
    "train evalfn": [Stage, EvalfnTraining, ClusterChoice],
    "train partners": [PartnerTraining, ClusterChoice],
}
"""What the options of each command set."""

NOT_OFFERED = {
    "reproduce": set(),
    "demo": {*(f.name for f in fields(Sparta))} - {"rollouts", "threads"} | {"policy", "seats"},
    "play": {"guide"},
    "serve": {"guide", "observation_type"},
    "evaluate": {"guide", "seats", "config"},
    "record": {"guide", "seats", "random_start_player", "observation_type"}
    | {"partners", "likelihoods", "favourite"},
    "judge": {"chunk_size", "config", "game", "random_start_player", "observation_type"},
    "decode": {"random_start_player", "bomb"},
    "train distill": {"chunk_size", "config", "random_start_player", "observation_type", "bomb"},
    "train clone": {"chunk_size"},
    "train rl": {"chunk_size", "config", "random_start_player", "observation_type"},
    "train critic": {"chunk_size", "config", "random_start_player", "observation_type", "bomb"},
    "train belief": {"chunk_size", "random_start_player", "observation_type", "bomb"},
    "train evalfn": {"chunk_size", "stages", "configs"},
    "train partners": {"chunk_size", "configs"},
}
"""Fields that a command has no option for."""


def _commands() -> dict[str, tuple[Callable[..., None], Any]]:
    """The function of every command, and the command with its options."""
    program: Any = typer.main.get_command(app)
    groups = {"": program, "train ": program.commands["train"]}
    return {
        prefix + name: (named.callback(), imported(named))
        for prefix, group in groups.items()
        for name, named in group.commands.items()
        if not hasattr(named, "commands")
    }


COMMANDS = _commands()


def _fields(name: str, option: str) -> list[Field[Any]]:
    kinds = [kind for kind in SETTINGS.get(name, ()) if (kind, option) != (JointSparta, "seed")]
    return [one for kind in kinds for one in fields(kind) if one.name == option]


def _default(one: Field[Any]) -> Any:
    return one.default if one.default_factory is MISSING else one.default_factory()


def _options(command: Any) -> dict[str, Any]:
    return {one.name: one for one in command.params if one.param_type_name == "option"}


def _by_hand(function: Callable[..., None]) -> dict[str, OptionInfo]:
    """Options that no settings stand behind, by name."""
    kinds = get_type_hints(function, include_extras=True)
    found = {}
    for name in inspect.signature(function).parameters:
        for carried in get_args(kinds[name])[1:] if hasattr(kinds[name], "__metadata__") else ():
            if isinstance(carried, OptionInfo):
                found[name] = carried
    return found


@pytest.mark.parametrize("name", SETTINGS)
def test_defaults_and_texts_are_those_of_the_settings(name: str) -> None:
    function, command = COMMANDS[name]
    seen = set()
    for option, shown in _options(command).items():
        own = _fields(name, option)
        if not own:
            continue
        seen.add(option)
        texts = {one.metadata["text"] for one in own}
        defaults = {repr(_default(one)) for one in own}
        if name == "train evalfn" and option in {f.name for f in fields(Stage)}:
            defaults = {",".join(f"{getattr(s, option):g}" for s in EvalfnTraining().stages)}
            assert {shown.default} == defaults
        elif name == "train partners" and option == "partners":
            assert shown.default == "mixed-track"  # MIXED_TRACK; see below
        elif name == "decode" or len(defaults) > 1 or defaults == {"{}"}:
            assert shown.default is None, option
        elif defaults == {repr(MISSING)}:
            assert shown.required, option
        else:
            assert {repr(shown.default)} == defaults, option
        assert all(text and text in shown.help for text in texts), option
        if len(texts) == 1 and len(defaults) == 1:
            (text,) = texts  # followed by the searches that have it
            assert shown.help == text or shown.help.startswith(f"{text} ("), option
    offered = {one.name for kind in SETTINGS[name] for one in fields(kind)}
    assert offered - seen - NOT_OFFERED[name] - _by_hand(function).keys() <= {"seed", "threads"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_of_settings_or_declared_by_hand(name: str) -> None:
    function, command = COMMANDS[name]
    by_hand = _by_hand(function)
    for option in _options(command):
        named = option in by_hand or option in COMMON or option in ("search", "help")
        assert named or _fields(name, option), option
    for kind in get_type_hints(function, include_extras=True).values():
        group = group_of(kind)
        assert group is None or not group.settings().keys() & by_hand.keys()


def test_no_option_is_declared_twice_by_hand() -> None:
    declared = defaultdict(set)
    for function, _ in COMMANDS.values():
        for name, info in _by_hand(function).items():
            declared[name, info.help].add(id(info))
    assert len(declared) > 15
    assert [name for name, infos in declared.items() if len(infos) > 1] == []


def test_settings_left_alone_are_the_defaults() -> None:
    group = SearchOptions()
    usual = {name: one.default for name, one in group.settings().items()}
    for name, search in SEARCHES.items():
        assert group.make(usual | {"search": name}).search == search.make(), name
    for kind in (Distillation, SelfPlay, CriticSettings, BeliefSettings, HanabiConfig):
        fields_ = Fields(kind)
        assert fields_.make({n: s.default for n, s in fields_.settings().items()}) == kind()
    assert describe(PartnerTraining())["partners"][:2] == ["random", "cautious"]


def test_the_command_line_plays_the_settings_of_python() -> None:
    line = ["evaluate", "--search", "sparta", "--colors", "1", "--ranks", "1", "--games", "1"]
    result = CliRunner().invoke(app, [*line, "--hand-size", "1", "--json", "-"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["policies"][1]["search"] == describe(Sparta())


def _other(value: Any) -> Any:
    """A value that an option does not have by default."""
    if isinstance(value, bool):
        return not value
    return "other" if isinstance(value, str) else 7 if value is None else value + 7


@pytest.mark.parametrize("name", SEARCHES)
def test_options_of_another_search_are_refused(name: str) -> None:
    others = OPTIONS.keys() - SEARCHES[name].settings.keys()
    assert others
    for option in others:
        flag = option.replace("_", "-")
        with pytest.raises(ConfigError, match=rf"^{flag} is not an option of {name}, got "):
            make_search(name, {option: _other(OPTIONS[option].default)}, threads=1)


def test_each_search_has_its_own_depth() -> None:
    def depth(name: str, given: int | None) -> Any:
        return make_search(name, {"depth": given}, threads=1).search.depth  # type: ignore[union-attr]

    assert (depth("lbs", None), depth("lbs", 0), depth("lbs", 3)) == (16, None, 3)
    assert (depth("sparta", None), depth("sparta", 0), depth("ris-mcts", 3)) == (None, None, 3)
    assert "lbs: 16; 0 stands for None" in OPTIONS["depth"].text


def test_evidence_is_on_by_default_where_the_search_says_so() -> None:
    found = [make_search("predictor", {"evidence": e}, 1).search for e in (None, False, True)]
    assert [search.evidence for search in found] == [True, False, True]  # type: ignore[union-attr]


def test_values_are_checked_by_the_settings_in_one_line() -> None:
    for line, says in {
        "train distill --out x --architecture tree": "architecture must be one of masks, public-",
        "train clone --out x --data y --objective z": "objective must be one of reward, cross-e",
        "train critic --out x --noise 2": "noise must be from 0 to 1, got 2.0",
        "train belief --out x --keep 0": "keep must be an integer of at least 1, got 0",
        "train rl --out x --set hidden": "set must be NAME=VALUE, got 'hidden'",
        "train rl --out x --lenient 2": "lenient must be from 0 to 1, got 2.0",
        "train clone --out x": "Missing option '--data'",
        "evaluate --search ris-mcts --nodes all": "nodes must be one of moves, observations",
        "evaluate --search predictor --prior-visits 0": "prior_visits must be an integer of at",
        "evaluate --search sparta --continuation nobody --games 1": "continuation must be one of ",
        "evaluate --search sparta --continuation piers, --games 1": "continuation must be names",
        "evaluate --search mds --continuation piers": "continuation is not an option of mds",
        "decode --players 9 -": "expected numbers as JSON or NPY",
    }.items():
        result = CliRunner().invoke(app, line.split(), input="x")
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1), (line, result.output)
        assert says in result.stderr, line


def _loaded_by(line: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    code = (
        "import json, sys\n"
        "from hanabi_search_plugin.cli import app\n"
        f"app({line.split()!r}, standalone_mode=False)\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "line", ["--help", "train --help", "evaluate --help", "train rl --help", "list"]
)
def test_help_needs_no_pytorch(line: str) -> None:
    assert _loaded_by(line) & {"torch", "open_spiel"} == set()


@pytest.mark.parametrize("line", ["--help", "train --help"])
def test_the_list_of_commands_imports_none_of_them(line: str) -> None:
    assert _loaded_by(line) & {"numpy", "numba"} == set()
