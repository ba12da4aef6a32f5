"""docs/how_to/frameworks.md: its snippets run, each where its library is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how_to" / "frameworks.md"
FIRST, *SECTIONS = PAGE.read_text(encoding="utf-8").split("\n## ")
MODULES = {
    "Stable-Baselines3": "sb3_contrib",
    "RLlib": "ray.rllib",
    "Tianshou": "tianshou",
    "CleanRL": "torch",
    "TorchRL": "torchrl",
    "AgileRL": "agilerl",
    "RLCard": "rlcard",
}


def snippet(section: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", section, re.DOTALL))


SNIPPETS = {section.partition("\n")[0]: snippet(section) for section in SECTIONS}


@pytest.mark.parametrize("library", MODULES)
def test_its_snippets_run(library: str) -> None:
    pytest.importorskip(MODULES[library], reason=f"{library} is not installed")
    code = snippet(FIRST) + SNIPPETS[library]
    exec(compile(code, f"{PAGE.name}: {library}", "exec"), {"__name__": "snippet"})


def test_every_library_is_tested() -> None:
    assert set(SNIPPETS) == set(MODULES)
