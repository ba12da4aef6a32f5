"""Plugins: two small packages, installed by pip for real, and used by name in another process."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "tests" / "plugins"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that pip has installed both packages into."""
    folder = tmp_path_factory.mktemp("plugins")
    sources = shutil.copytree(PACKAGES, folder / "sources")  # building leaves files behind
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--target", folder / "site"]
    done = subprocess.run(
        [*pip, *offline, sources / "tiny", sources / "faulty"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


def python(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(installed)])
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )


def command(installed: Path, line: str) -> subprocess.CompletedProcess[str]:
    return python(installed, "-m", "hanabi_search_plugin", *line.split())


def evaluated(installed: Path, line: str) -> dict[str, Any]:
    """What ``evaluate`` writes."""
    done = command(installed, f"evaluate {line} --json -")
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    return content


def test_a_game_a_policy_and_a_search_are_played_by_name(installed: Path) -> None:
    content = evaluated(
        installed,
        "--game which-number:numbers=4 --policy lowest:highest,lowest --games 40 "
        "--search first-best:rollouts=200",
    )
    assert content["game"]["name"] == "which-number"
    assert content["policies"][1]["search"] == {"type": "FirstBest", "rollouts": 200}
    assert content["blueprint_mean"] < 0.5  # always 0
    assert content["requested_games"] == content["games"] == 40


def test_a_search_takes_a_learned_belief_by_name(installed: Path) -> None:
    content = evaluated(
        installed,
        "--policy iggi --colors 2 --ranks 2 --hand-size 2 --games 2 --seed 1 "
        "--search first-best:rollouts=40 --belief grounded",
    )
    assert content["policies"][1]["belief"]["type"] == "Learned"


def test_the_template_is_installed_and_passes_its_own_tests(tmp_path: Path) -> None:
    """examples/plugin as one copies it: built, found by its names, and checked."""
    source = shutil.copytree(ROOT / "examples" / "plugin", tmp_path / "copy")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--target", tmp_path / "site"]
    done = subprocess.run([*pip, *offline, source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    own = python(site, "-m", "pytest", "-p", "no:cacheprovider", str(source / "tests"))
    assert own.returncode == 0 and " passed" in own.stdout, own.stdout
    readme = (source / "README.md").read_text(encoding="utf-8")
    lines = [line for line in readme.splitlines() if line.startswith("hanabi-search evaluate")]
    assert len(lines) == 2
    for line in lines:  # as the README has them, with fewer games
        short = line.removeprefix("hanabi-search evaluate ").rpartition(" --games")[0]
        content = evaluated(site, f"{short} --games 2")
        assert content["policies"][1]["search"]["type"] == "Flat"
    listed = command(site, "list").stdout
    assert all(re.search(rf"^{name} ", listed, re.M) for name in ("two-numbers", "mumbler", "flat"))


def test_a_policy_plays_native_hanabi(installed: Path) -> None:
    code = (
        "from hanabi_search_plugin import HanabiGame, load_policy\n"
        "from hanabi_search_plugin.plugins import load_game\n"
        "print(load_policy('lowest:highest', HanabiGame(players=3)).highest)\n"
        "game = load_game('which-number')\n"
        "print(game.num_actions, type(load_policy('random', game)).__name__)"
    )
    done = python(installed, "-c", code)
    assert done.stdout == "True\n3 UniformPolicy\n", done.stderr


def test_list_shows_whose_they_are_and_warns_of_each_that_fails(installed: Path) -> None:
    done = command(installed, "list")
    assert done.returncode == 0
    for name, says in (("which-number", "Player 0"), ("lowest", "The low"), ("first-best", "SP")):
        assert re.search(rf"^{name} +{says}", done.stdout, re.MULTILINE), name
    assert " ".join(done.stdout.split()).count("(plugin: tiny-plugin 0.3)") >= 3
    assert ":numbers  default 3" in command(installed, "list which-number").stdout
    about = command(installed, "list first-best").stdout
    assert ":rollouts  default 50: Budget of a decision." in about
    assert "source: plugin: tiny-plugin 0.3" in about
    warnings = [" ".join(text.split()) for text in done.stderr.split("warning: ")[1:]]
    assert len(warnings) == 3
    of = "of faulty-plugin 1.0"
    for says in (
        f"policy lost {of} fails: ModuleNotFoundError: No module named 'faulty_plugin_that_is_",
        "policy smartbot must be of one package, hanabi-search-plugin and faulty-plugin 1.0 have",
        "game hanabi must be of one package",
    ):
        assert sum(warning.startswith(says) for warning in warnings) == 1, says


REFUSED = {
    "--policy smartbot": "policy smartbot must be of one package, hanabi-search-plugin and faulty",
    "--policy nothing": "policy nothing of faulty-plugin 1.0 must make a policy, got None",
    "--policy clumsy": "policy clumsy of faulty-plugin 1.0 fails: ZeroDivisionError: division by",
    "--policy lost": "policy lost of faulty-plugin 1.0 fails: ModuleNotFoundError: No module named",
    "--policy lowest:deep": "options of policy lowest are highest, got 'deep'",
    "--policy lowest:highest=2": "highest must be true or false, got '2'",
    "--policy iggi --search first-best:rollouts=many": "rollouts must be an integer, got 'many'",
    "--policy iggi --search first-best:rollouts": "rollouts must be an integer, got 'true'",
    "--policy iggi --search first-best:depth=3": "options of search first-best are rollouts, got",
    "--game which-number:numbers=few": "numbers must be an integer, got 'few'",
    "--policy none": "policy must be one of smartbot, hatbot, ",
    "--policy iggi --search best": "predictor, none, first-best, got 'best'",
    "--policy iggi --search first-best --rollouts 9": "as in first-best:name=value, got 9",
    "--game which": "openspiel:NAME, dpomdp:FILE, which-number, got 'which'",
    "--game which-number --players 3": "players is an option of hanabi, got 3 for which-number",
    "--game which-number --policy iggi": "policy iggi plays native Hanabi, got WhichNumber(",
    "--game which-number --policy lowest --save a": "recorded games and boards are of hanabi, got",
}


def test_what_cannot_be_done_gets_one_line(installed: Path) -> None:
    code = (
        "import json, sys\n"
        "from typer.testing import CliRunner\n"
        "from hanabi_search_plugin.cli import app\n"
        "done = [CliRunner().invoke(app, ['evaluate', *line.split()]) for line in sys.argv[1:]]\n"
        "print(json.dumps([[each.exit_code, each.stdout, each.stderr] for each in done]))"
    )
    done = python(installed, "-c", code, *REFUSED)
    assert done.returncode == 0, done.stderr
    for (line, says), (status, out, err) in zip(
        REFUSED.items(), json.loads(done.stdout), strict=True
    ):
        assert (status, out, err.count("\n")) == (2, "", 1), (line, err)
        assert says in err, line


def test_the_page_quotes_the_package() -> None:
    text = (ROOT / "docs" / "how_to" / "plugins.md").read_text(encoding="utf-8")
    quoted = re.findall(r"```(?:toml|python)\n(.*?)```", text, re.DOTALL)
    files = ("pyproject.toml", "tiny_plugin.py", "tiny_plugin.py")
    own = [(PACKAGES / "tiny" / name).read_text() for name in files]
    assert len(quoted) == 4  # the last, a search, is run with the pages
    for snippet, whole in zip(quoted[:3], own, strict=True):
        after_imports = re.sub(r"\A(?:(?:from|import) .*\n|\n)*", "", snippet)
        assert after_imports.strip() and after_imports.strip() in whole
