"""Every example runs as it stands, and shows that a search helps."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAYS = {
    "01_upgrade_smartbot.py": r"SmartBot alone (\d+\.\d+), upgraded (\d+\.\d+)\n$",
    "02_evaluate.py": r"(?s)game 3: .*gain: [+-]\d+\.\d+ \+- \d+\.\d+\nCPU seconds a game: \d",
    "04_your_own_policy.py": r"hopeful (\d+\.\d+), upgraded (\d+\.\d+)\n$",
    "05_compiled_bot.py": r"teller (\d+\.\d+), upgraded (\d+\.\d+)\n$",
    "06_upgrade_a_network.py": r"network (\d+\.\d+), upgraded (\d+\.\d+)\n$",
    "08_openspiel_bot.py": r"hopeful (\d+\.\d+), upgraded (\d+\.\d+)\n$",
    "07_pettingzoo.py": r"SmartBot alone (\d+\.\d+), upgraded (\d+\.\d+)\n$",
    "09_your_own_game.py": r"thirds (\d+\.\d+), upgraded (\d+\.\d+)\n$",
    "10_upgrade_a_dqn.py": r"random (\S+), trained (\S+), upgraded (\S+) of 4\ngain \+",
    "11_ris_mcts.py": r"vdb (\d+\.\d+), RIS-MCTS (\d+\.\d+)\n$",
    "12_unknown_partners.py": r"SmartBot\): (\d+\.\d+) at first, (\d+\.\d+) at the end\n$",
    "13_train_ppo.py": r"before (\d+\.\d+) \+- \S+, trained (\d+\.\d+) ",
    "14_a_pomdp.py": r"hasty (-?\d+\.\d+), upgraded (-?\d+\.\d+)\n$",
    "15_judge.py": r"reward of random (0\.\d+), SmartBot (0\.\d+)\n$",
    "03_other_games.py": r"blueprint (\d+\.\d+), upgraded (\d+\.\d+)\ngain \+",
}
NEEDS = {
    "10_upgrade_a_dqn.py": {"torch": "PyTorch", "tree": "dm-tree"},
    "13_train_ppo.py": {"torch": "PyTorch"},
}


def test_every_example_is_tested() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(SAYS)


def test_every_example_is_listed_and_the_list_is_linked() -> None:
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\S+)\]\((\S+)\) \| \S.*\S \| \d+ \|$", page, re.MULTILINE)
    assert rows == [(name, name) for name in sorted(SAYS)]
    assert "](examples/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SAYS)
def test_example(name: str) -> None:
    for module, package in NEEDS.get(name, {}).items():
        pytest.importorskip(module, reason=f"needs {package}")
    run = subprocess.run(
        [sys.executable, "-m", "tests.helpers.sizes_as_numbers", str(ROOT / "examples" / name)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    found = re.search(SAYS[name], run.stdout)
    assert found, run.stdout
    scores = [float(score) for score in found.groups()]
    assert scores == sorted(set(scores))
