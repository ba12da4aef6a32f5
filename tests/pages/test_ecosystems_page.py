"""docs/how_to/ecosystems.md: its snippets run, and what it says of others' faults is still so."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pyspiel
import pytest

from tests.helpers.pettingzoo_hanabi import hanabi_v5

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how_to" / "ecosystems.md"
SECTIONS = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
SNIPPETS = {
    section.partition("\n")[0]: code
    for section in SECTIONS
    for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL)
}


@pytest.mark.parametrize("section", SNIPPETS)
def test_its_snippets_run(section: str) -> None:
    exec(compile(SNIPPETS[section], f"{PAGE.name}: {section}", "exec"), {"__name__": "snippet"})


def test_every_ecosystem_has_a_snippet() -> None:
    assert set(SNIPPETS) == {
        "OpenSpiel", "PettingZoo", "Gymnasium", "Callables and PyTorch modules"
    }  # fmt: skip


def test_what_it_says_of_hanabi_v5_is_so() -> None:
    env = hanabi_v5.raw_env()
    seconds = []
    for _ in range(2):
        env.reset(seed=0)
        env.reset()
        seconds.append(env.observe("player_0")["observation"])
    assert not np.array_equal(*seconds)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert not hasattr(twin, "infos")
    with pytest.raises(pyspiel.SpielError):
        env.step(0)  # a discard with all information tokens there
    assert hanabi_v5.raw_env(players=4)._config["hand_size"] == 5


def test_what_it_says_of_the_dqn_is_so(tmp_path: Path) -> None:
    for module, package in (("torch", "PyTorch"), ("tree", "dm-tree")):
        pytest.importorskip(module, reason=f"needs {package}")
    from open_spiel.python.pytorch.dqn import DQN

    agent = DQN(0, 4, 2)
    agent.save(tmp_path / "agent.pt")
    with pytest.raises(KeyError):
        agent.load(tmp_path / "agent.pt")
