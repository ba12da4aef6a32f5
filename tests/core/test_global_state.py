"""Importing and searching change nothing that a process has once.

What other packages do as they are imported is theirs: they are imported first.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

IMPORT = """
import importlib, json, pkgutil, sys

def modules(skipped):
    import hanabi_search_plugin as package
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not found.name.endswith(("__main__", *skipped)):
            try:
                importlib.import_module(found.name)
            except ImportError:  # an extra that is not installed
                pass
"""

WHAT = (
    IMPORT
    + """
modules(json.loads(sys.argv[1]))
print(json.dumps([name for name in sys.modules if not name.startswith("hanabi_search_plugin")]))
"""
)

STATE = '''
import gc, locale, logging, multiprocessing, os, random, signal, sys, threading, warnings
import numba, numpy as np
torch = sys.modules.get("torch")

def state():
    """All that one process has once, by name."""
    root = logging.getLogger()
    found = {
        "numpy.random": repr(np.random.get_state()),
        "numpy errors": np.geterr(),
        "numpy print": repr(np.get_printoptions()),
        "random": repr(random.getstate()),
        "numba threads": numba.get_num_threads(),
        "warnings": [repr(one) for one in warnings.filters],
        "showwarning": repr(warnings.showwarning),
        "root handlers": [repr(one) for one in root.handlers],
        "root level": root.level,
        "logging off": logging.root.manager.disable,
        "logging.raiseExceptions": logging.raiseExceptions,
        "signals": {n: repr(signal.getsignal(n)) for n in signal.valid_signals()},
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "locale": locale.setlocale(locale.LC_ALL, None),
        "hooks": [repr(sys.excepthook), repr(sys.unraisablehook), repr(threading.excepthook)],
        "display": [repr(sys.displayhook), repr(sys.stdout), repr(sys.stderr)],
        "start method": multiprocessing.get_start_method(allow_none=True),
        "recursion": sys.getrecursionlimit(),
        "switching": sys.getswitchinterval(),
        "gc": [gc.isenabled(), gc.get_threshold()],
        "path": list(sys.path),
    }
    if torch is not None:
        found |= {
            "torch generator": torch.get_rng_state().tolist(),
            "torch threads": [torch.get_num_threads(), torch.get_num_interop_threads()],
            "torch dtype": repr(torch.get_default_dtype()),
            "torch grad": [torch.is_grad_enabled(), torch.is_inference_mode_enabled()],
            "torch deterministic": [
                torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.deterministic,
                torch.backends.cudnn.benchmark, torch.get_float32_matmul_precision(),
            ],
        }
    return found

def require_same(before, when):
    after = state()
    for name in before:
        assert before[name] == after[name], f"{when} changes {name}"
'''

CHECK = (
    IMPORT
    + """
for name in json.load(sys.stdin):
    try:
        importlib.import_module(name)
    except Exception:
        pass
"""
    + STATE
    + """
before = state()
modules(json.loads(sys.argv[1]))
require_same(before, "importing")
"""
)

SEARCH = (
    CHECK
    + """
from tests.evaluation.test_anywhere import digests
from tests.helpers.small_agents import BELIEFS, SEARCHES, SMALL, agent_of
from hanabi_search_plugin import evaluate

for kind in (*SEARCHES, *BELIEFS):
    before = state()
    digests(kind)
    for threads in (1, 2) if kind in SEARCHES else ():
        evaluate(SMALL[2], (agent_of(kind, SMALL[2]), "smartbot"), games=2, threads=threads)
    require_same(before, f"searching with {kind}")
if torch is not None:
    from hanabi_search_plugin import HanabiGame, Lbs, Learned, load_belief_model, upgrade

    game = HanabiGame(players=2)
    before = state()
    belief = Learned(load_belief_model("smartnet", game), listed=None)
    search = Lbs(rollouts=20, min_rollouts=1, depth=2)
    agent = upgrade("smartnet", game, search, belief=belief)
    memory = agent.start(game.deal(np.random.default_rng(0), 1).view(0))
    agent.decide(memory[0], np.random.default_rng(0))
    require_same(before, "searching over networks")
print("the same")
"""
)

LIBRARIES = [".stable_baselines3", ".rllib", ".tianshou"]


def run(code: str, skipped: list[str], given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(skipped)],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, input=given,
        capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "skipped", [LIBRARIES, pytest.param([], marks=pytest.mark.slow)], ids=["usual", "libraries"]
)
def test_importing_and_searching_change_nothing_global(skipped: list[str]) -> None:
    others: Any = json.loads(run(WHAT, skipped))
    assert "numpy" in others and "pyspiel" in others
    assert run(SEARCH, skipped, json.dumps(others)) == "the same"


CHANGES = [
    "np.random.seed(1)", "random.random()", "warnings.simplefilter('ignore')",
    "logging.basicConfig()", "logging.disable()", "os.environ['NEW'] = '1'", "os.chdir('/')",
    "signal.signal(signal.SIGUSR1, signal.SIG_IGN)", "sys.excepthook = sys.unraisablehook",
    "np.seterr(all='ignore')",
    "multiprocessing.set_start_method('spawn', force=True)", "numba.set_num_threads(1)",
    "torch and torch.set_num_threads(1)", "torch and torch.rand(1)",
    "torch and torch.set_default_dtype(torch.float64)", "torch and torch.set_grad_enabled(False)",
]  # fmt: skip

TRY = (
    "import json\ntry:\n    import torch\nexcept ImportError:\n    pass\n"
    + STATE
    + """
numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
torch and torch.set_num_threads(2)
unseen = []
for change in json.load(sys.stdin):
    before = state()
    exec(change)
    if state() == before:
        unseen.append(change)
print(json.dumps(unseen))
"""
)


def test_changes_are_seen() -> None:
    unseen = json.loads(run(TRY, [], json.dumps(CHANGES)))
    if importlib.util.find_spec("torch") is None:
        unseen = [change for change in unseen if not change.startswith("torch")]
    if len(os.sched_getaffinity(0)) == 1:
        unseen = [change for change in unseen if not change.startswith("numba")]
    assert unseen == []
