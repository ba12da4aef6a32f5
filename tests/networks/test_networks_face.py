"""What ``hanabi_search_plugin.networks`` offers, without loading PyTorch for it."""

import re
import subprocess
import sys
from types import ModuleType

import pytest

pytest.importorskip("torch", reason="needs PyTorch")

from hanabi_search_plugin import networks


def test_every_name_loads_and_none_is_hidden_by_a_module() -> None:
    for name in networks.__all__:
        value = getattr(networks, name)
        assert not isinstance(value, ModuleType), name
        if name != "ARCHITECTURES":
            assert value.__name__ == name
    assert set(networks.__all__) <= set(dir(networks))


def test_the_docstring_names_everything() -> None:
    assert set(networks.__all__) <= set(re.findall(r"``(\w+)``", networks.__doc__ or ""))


def test_importing_the_package_or_listing_its_models_loads_no_torch() -> None:
    code = (
        "import sys; from hanabi_search_plugin import networks;"
        "assert networks.network_models() and networks.belief_models();"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
