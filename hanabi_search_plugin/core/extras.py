"""Optional dependencies, asked for when they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from hanabi_search_plugin.core.errors import MissingExtraError

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
_MODULES = {  # by extra, those that it brings; "": what the package itself does
    "": ("gymnasium", "pettingzoo", "pyspiel", "open_spiel", "shimmy"),
    "cluster": ("ray",),
    "frameworks": ("gymnasium", "ray", "sb3_contrib", "stable_baselines3", "tianshou", "torch"),
    "torch": ("safetensors", "torch"),
    "web": ("starlette", "uvicorn", "websockets"),
}


def install(extra: str) -> str:
    """The command that brings an extra, or with "" the package; no index of packages has a release
    yet."""
    small = " (a smaller way: docs/start/install.md)" if extra == "torch" else ""
    what = f'".[{extra}]"' if extra else "."
    return f"pip install -e {what} in a clone of hanabi-search-plugin{small}"


def require_extra(extra: str, what: str, *modules: str) -> None:
    """Raises MissingExtraError unless ``modules``, which the ``extra`` brings, can be imported.

    ``what`` needs them: "a network", say. The error tells what is not installed from what is
    installed and broken.
    """
    for module in modules:
        with _told(f"{what} needs {_PROJECTS[extra]}", extra, (module,)):
            import_module(module)


@contextmanager
def needing(extra: str, what: str, project: str = "") -> Iterator[None]:
    """Imports within, which need the ``extra`` for ``what``, raise as ``require_extra``.

    ``project`` names what has to be there where the extra brings several.
    """
    with _told(f"{what} needs {project or _PROJECTS[extra]}", extra, _MODULES[extra]):
        yield


@contextmanager
def _told(needs: str, extra: str, modules: tuple[str, ...]) -> Iterator[None]:
    try:
        yield
    except MissingExtraError:
        raise
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        tops = {module.partition(".")[0] for module in modules}
        if isinstance(error, ModuleNotFoundError) and missing in tops:
            raise MissingExtraError(f"{needs}: {install(extra)}") from None
        if missing == "hanabi_search_plugin":
            raise
        broken = missing if missing in tops else modules[0]
        raise MissingExtraError(_broken(needs, broken, error)) from error
    except OSError as error:  # a shared library is missing, say
        raise MissingExtraError(_broken(needs, modules[0], error)) from error


def _broken(needs: str, module: str, error: Exception) -> str:
    return f"{needs}, but importing {module} fails, though it is installed: {error}"
