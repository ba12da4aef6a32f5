"""The root namespace: small, complete, and free to import."""

import subprocess
import sys

import hanabi_search_plugin as package


def test_every_exported_name_loads_from_where_it_says() -> None:
    for name in package.__all__:
        value = getattr(package, name)
        assert getattr(value, "__name__", name) == name
        assert value.__module__.startswith("hanabi_search_plugin.")


def test_the_list_and_the_lazy_table_agree() -> None:
    assert sorted(package._MODULE_OF) == sorted(package.__all__)
    assert set(package.__all__) <= set(dir(package))
    assert len(package.__all__) <= 25


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(package, "Spartan")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, hanabi_search_plugin;"
        "print([m for m in ('numpy', 'numba', 'pyspiel', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
