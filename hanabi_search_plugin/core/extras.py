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
    small = " (a smaller way: docs/start/install.md)" if extra == "torch" else ""
    return f'pip install -e ".[{extra}]" in a clone of hanabi-search-plugin{small}'


def require_extra(extra: str, what: str, *modules: str) -> None:
    """Raises UnsupportedError unless ``modules``, which the ``extra`` brings, can be imported.

    ``what`` needs them: "a network", say. The error tells what is not installed from what is
    installed and broken.
    """
    needs = f"{what} needs {_PROJECTS.get(extra, extra)}"
    for module in modules:
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            if error.name is not None and error.name == module.partition(".")[0]:
                raise UnsupportedError(f"{needs}: {install(extra)}") from None
            raise UnsupportedError(_broken(needs, module, error)) from error
        except (ImportError, OSError) as error:  # a shared library is missing, say
            raise UnsupportedError(_broken(needs, module, error)) from error


def _broken(needs: str, module: str, error: Exception) -> str:
    return f"{needs}, but importing {module} fails, though it is installed: {error}"
