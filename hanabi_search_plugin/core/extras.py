"""Optional dependencies, asked for when they are needed."""

from __future__ import annotations

from importlib import import_module

from hanabi_search_plugin.core.errors import UnsupportedError

_PROJECTS = {"torch": "PyTorch", "plots": "Matplotlib", "render": "Pillow"}  # by extra


def require_extra(extra: str, what: str, *modules: str) -> None:
    """Raises UnsupportedError unless ``modules``, which the ``extra`` brings, can be imported.

    ``what`` needs them: "a network", say.
    """
    try:
        for module in modules:
            import_module(module)
    except ImportError:
        raise UnsupportedError(
            f"{what} needs {_PROJECTS.get(extra, extra)}: "
            f'pip install "hanabi-search-plugin[{extra}]"'
        ) from None
