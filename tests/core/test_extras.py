"""What is not installed is asked for in one sentence, wherever it is missed."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
try:
    exec(sys.argv[2])
except ImportError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("missing", "code", "says"),
    [
        ("torch", "from hanabi_search_plugin.networks import network_policy",
         'a network needs PyTorch: pip install -e ".[torch]" in a clone'),
        ("torch", "import hanabi_search_plugin.networks.shipped",
         'a network needs PyTorch: pip install -e ".[torch]" in a clone'),
        ("torch", "from hanabi_search_plugin.networks.tensors import TensorWorlds",
         'Hanabi as tensors needs PyTorch: pip install -e ".[torch]" in a clone'),
        *(("torch", f"import hanabi_search_plugin.networks.training.{name}",
           'training needs PyTorch: pip install -e ".[torch]" in a clone')
          for name in ("belief_training", "clone_training", "critic_training", "distillation",
                       "self_play")),
        ("pyspiel", "import hanabi_search_plugin.wrappers.openspiel",
         "wrappers.openspiel needs OpenSpiel: pip install -e . in a clone"),
        ("pettingzoo", "import hanabi_search_plugin.wrappers.pettingzoo",
         "wrappers.pettingzoo needs PettingZoo and Gymnasium: pip install -e . in a clone"),
        ("gymnasium", "import hanabi_search_plugin.wrappers.gymnasium",
         "wrappers.gymnasium needs Gymnasium: pip install -e . in a clone"),
        ("torch", "import hanabi_search_plugin.wrappers.stable_baselines3",
         "wrappers.stable_baselines3 needs Stable-Baselines3 and PyTorch: pip install -e "
         '".[frameworks]" in a clone'),
        ("ray", "import hanabi_search_plugin.wrappers.ray",
         'a cluster needs Ray: pip install -e ".[cluster]" in a clone'),
        ("ray", "import hanabi_search_plugin.wrappers.rllib",
         'wrappers.rllib needs Ray\'s RLlib and PyTorch: pip install -e ".[frameworks]" in a'),
        ("tianshou,torch", "import hanabi_search_plugin.wrappers.tianshou",
         'wrappers.tianshou needs Tianshou: pip install -e ".[frameworks]" in a clone'),
        ("tianshou,torch", "import hanabi_search_plugin as h; h.wrappers.tianshou",
         'wrappers.tianshou needs Tianshou: pip install -e ".[frameworks]" in a clone'),
        ("starlette", "import hanabi_search_plugin.serving.web_app",
         "a table in a browser needs Starlette, uvicorn and websockets: pip install"),
    ],
)  # fmt: skip
def test_what_is_missing_is_said_where_it_is_imported(missing: str, code: str, says: str) -> None:
    line = [sys.executable, "-c", PROGRAM, missing, code]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"MissingExtraError {says}")
    assert done.stdout.count("\n") == 1
