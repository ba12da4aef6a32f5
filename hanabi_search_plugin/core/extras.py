"""Optional dependencies, asked for when they are needed."""

from __future__ import annotations

from importlib import import_module

from hanabi_search_plugin.core.errors import UnsupportedError

_PROJECTS = {  # by extra
    "bridge": "endplay",
    "cluster": "Ray",
    "hanab-live": "websockets",
    "parquet": "pyarrow",
    "plots": "Matplotlib",
    "render": "Pillow",
    "torch": "PyTorch",
    "web": "Starlette, uvicorn and websockets",
}


def install(extra: str) -> str:
    """The command that brings an extra; no index of packages has a release yet."""
    return f'pip install -e ".[{extra}]" in a clone of hanabi-search-plugin'


def require_extra(extra: str, what: str, *modules: str) -> None:
    """Raises UnsupportedError unless ``modules``, which the ``extra`` brings, can be imported.

    ``what`` needs them: "a network", say.
    """
    try:
        for module in modules:
            import_module(module)
    except ImportError:
        raise UnsupportedError(
            f"{what} needs {_PROJECTS.get(extra, extra)}: {install(extra)}"
        ) from None
