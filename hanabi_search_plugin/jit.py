"""Numba decorators of the package, its cache of compiled kernels, and news of compilation.

Numba's own file cache looks at the file of the entry function alone: edit a callee in another file
and it goes on serving the old machine code. Kernels of this package are cached in a folder named
by a hash of **all** sources that may hold compiled code and of the versions that compile them, so
any edit or upgrade starts an empty folder. Numba's global settings and its own cache stay as the
user left them.

A source may hold compiled code if it imports Numba, or `inline`, `kernel` or `routine` from here,
wherever in the package it lies. What a kernel calls, and every constant that it reads, has to come
from such a source too. A source with kernels says in `COMPILES`, a few words, what they are for:
news of compilation name that, and how many players they are compiled for.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import pickle
import platform
import re
import shutil
import stat
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import llvmlite
import numba
import numpy as np
from numba import njit, types
from numba.core import event
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.linking import InlineCompiler, KernelCompiler, name_kernel, take_kernel

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "compile_progress",
    "compile_seconds",
    "inline",
    "kernel",
    "kernel_sources",
    "routine",
    "use_cache_dir",
]

Function = TypeVar("Function", bound=Callable[..., Any])

FOLDERS_KEPT = 3
"""How many folders of compiled kernels, the newest, outlive the start of a new one."""

FOLDER_IN_USE_SECONDS = 3600.0
"""A folder used within this time is kept whatever its rank: another checkout may be at work."""

_PACKAGE = Path(__file__).resolve().parent
_COMPILES = re.compile(
    rb"^(?:from|import) numba\b"
    rb"|^from hanabi_search_plugin\.jit import (?:\([^)]*|[^(\n]*)\b(?:inline|kernel|routine)\b",
    re.MULTILINE,
)
_FOLDER_NAME = re.compile(r"kernels-[0-9a-f]{24}")
_CHECKSUM_BYTES = 32

_logger = logging.getLogger("hanabi_search_plugin")
_dispatchers: weakref.WeakSet[Any] = weakref.WeakSet()


# ---------------------------------------------------------------------------------- decorators


def inline(function: Function) -> Function:
    """Compile a helper that is inlined into every kernel that calls it; not callable from Python.

    No wrappers for Python are made (half the compile time), and no reference counts are kept on
    arrays passed along (they would stay in the machine code after inlining). So a helper must not
    allocate, return an array, or assign one array to a slice of another: do that in the kernel.
    """
    return _unwrapped(
        function, "is inlined into kernels",
        forceinline=True, _nrt=False, pipeline_class=InlineCompiler,
    )  # fmt: skip


def routine(function: Function) -> Function:
    """Compile a function that kernels alone call, by name, or by its address as `bots.routines` do.

    One specialisation is compiled for each signature asked for, and cached like those of kernels.
    Not callable from Python: a wrapper that unpacks the many arrays of a network takes longer to
    compile than a short function that passes them on.
    """
    dispatcher = _unwrapped(function, "is called by kernels", pipeline_class=KernelCompiler)
    _keep_compiled(dispatcher, function)
    return dispatcher


def _unwrapped(function: Function, what: str, **options: Any) -> Function:
    """Compile without wrappers for Python."""
    options |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    dispatcher = _register(njit(nogil=True, **options)(function))

    def refuse(*arguments: Any, **keywords: Any) -> None:
        raise TypeError(f"{function.__qualname__} {what}: call it from a kernel")

    if isinstance(dispatcher, Dispatcher):
        # What a call from Python looks for: without a wrapper to find, it would crash.
        dispatcher._compile_for_args = refuse
        dispatcher._insert = lambda *overload, **options: None
    return dispatcher  # type: ignore[no-any-return]  # Numba is untyped


def kernel(function: Function) -> Function:
    """Compile an entry point called from Python; it releases the GIL while it runs.

    One specialisation is compiled for each signature it is called with, and cached on disk, except
    those that take a compiled function as an argument: these differ in every process. A kernel
    outside this package is compiled but never cached, since an edit there would go unnoticed.

    Raises:
        TypeError: the function closes over variables. Numba freezes them into the machine code, and
            a closure over a compiled function is never found in a cache again: pass arguments.
    """
    if function.__closure__:
        names = ", ".join(function.__code__.co_freevars)
        raise TypeError(f"kernel {function.__qualname__} closes over {names}: pass arguments")
    dispatcher = _register(njit(nogil=True, pipeline_class=KernelCompiler)(function))
    _keep_compiled(dispatcher, function)
    return dispatcher  # type: ignore[no-any-return]  # Numba is untyped


def _keep_compiled(dispatcher: Any, function: Callable[..., Any]) -> None:
    # With NUMBA_DISABLE_JIT=1, njit hands back the plain Python function.
    if isinstance(dispatcher, Dispatcher) and _is_kernel_source(function.__code__.co_filename):
        _source_hash()  # of the sources as they are imported, not as they are at the first call
        dispatcher._cache = _KernelCache(function)


def _register(dispatcher: Any) -> Any:
    if isinstance(dispatcher, Dispatcher):
        _dispatchers.add(dispatcher)
        _ask_without_constants(dispatcher)
    return dispatcher


def _ask_without_constants(dispatcher: Any) -> None:
    """Let calls with a number and with a variable share one specialisation.

    Numba compiles one for each constant argument that a caller writes down. LLVM puts constants
    into what it inlines in any case.
    """
    ask = dispatcher.get_call_template

    def without_constants(arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        named = {name: types.unliteral(kind) for name, kind in keywords.items()}
        return ask(tuple(map(types.unliteral, arguments)), named)

    dispatcher.get_call_template = without_constants


# ----------------------------------------------------------------------- where kernels are kept

_chosen_root: Path | None = None


def use_cache_dir(root: Path) -> None:
    """Keep compiled kernels under `root` from now on, in place of the per-user cache directory.

    Without it the root is `$HANABI_SEARCH_CACHE_DIR`, else `hanabi-search-plugin` in
    `$XDG_CACHE_HOME` or `~/.cache`. A root that cannot be written is replaced by a private folder
    under the system's temporary directory, with a warning.
    """
    global _chosen_root
    _chosen_root = root
    _cache_folder.cache_clear()


def _cache_root() -> Path:
    """Raises RuntimeError where the user has no home directory."""
    if _chosen_root is not None:
        return _chosen_root
    if override := os.environ.get("HANABI_SEARCH_CACHE_DIR"):
        return Path(override)
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    base = xdg if xdg.is_absolute() else Path.home() / ".cache"  # the standard ignores relative
    return base / "hanabi-search-plugin"


def _temporary_root() -> Path:
    """A folder that nobody else can write: what is unpickled from it runs as this user."""
    root = Path(tempfile.gettempdir(), f"hanabi-search-plugin-{os.getuid()}")
    root.mkdir(mode=0o700, exist_ok=True)
    status = root.lstat()
    private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077
    if not private or status.st_uid != os.getuid():
        raise PermissionError(f"{root} is not a private folder of this user")
    return root


@functools.cache
def _cache_folder() -> Path | None:
    """This version's folder, made when missing; None where nothing can be written."""
    for find_root in (_cache_root, _temporary_root):
        try:
            return _open_folder(find_root())
        except (OSError, RuntimeError) as error:
            _logger.warning("cannot keep compiled kernels: %s", error)
    return None


def _open_folder(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    folder = root / f"kernels-{_source_hash()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
        _remove_old_folders(root)
    tempfile.TemporaryFile(dir=folder).close()  # raises OSError where writing is forbidden
    os.utime(folder)  # the age of a folder is the time since its last use
    return folder


def _remove_old_folders(root: Path) -> None:
    def last_use(folder: Path) -> float:
        return folder.stat().st_mtime

    with contextlib.suppress(OSError):  # another process may be tidying up at this moment
        folders = [path for path in root.iterdir() if _FOLDER_NAME.fullmatch(path.name)]
        for folder in sorted(folders, key=last_use, reverse=True)[FOLDERS_KEPT:]:
            if time.time() - last_use(folder) > FOLDER_IN_USE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def kernel_sources() -> dict[str, bytes]:
    """What the hash covers: every source that imports Numba or a decorator from here, by path."""
    found = {}
    for path in sorted(_PACKAGE.rglob("*.py")):
        content = path.read_bytes()
        if _COMPILES.search(content):
            found[path.relative_to(_PACKAGE).as_posix()] = content
    return found


def _is_kernel_source(filename: str) -> bool:
    return Path(filename).resolve().is_relative_to(_PACKAGE)


@functools.cache
def _source_hash() -> str:
    return _hash_sources()


def _hash_sources() -> str:
    """Hash of the kernel sources and of everything else that decides on their machine code."""
    settings = numba.config
    hasher = hashlib.sha256(
        repr(
            (
                (platform.python_implementation(), platform.python_version()),
                (numba.__version__, llvmlite.__version__, np.__version__),
                (settings.OPT, settings.BOUNDSCHECK, settings.DEBUGINFO_DEFAULT),
            )
        ).encode()
    )
    for name, content in kernel_sources().items():
        hasher.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return hasher.hexdigest()[:24]


class _KernelCache(_Cache):  # type: ignore[misc]  # Numba is untyped
    """Numba's cache protocol with one file for each specialisation of a kernel.

    Numba's own files go by an index with numbered entries, where two processes that compile two
    specialisations at once can take the same number, and one is then served as the other. Here the
    name of a file is a hash of its key, and the key stands in the file. Files are replaced
    atomically; one that is damaged, or that somebody else may have written, counts as missing.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        self._function = function
        self._stem = re.sub(r"[^\w.]", "", f"{function.__module__}.{function.__qualname__}")
        self._code_key = (code.co_firstlineno, hashlib.sha256(code.co_code).hexdigest())
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        folder = _cache_folder()
        return None if folder is None else str(folder)

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        folder = _cache_folder()
        if folder is not None:
            for path in folder.glob(f"{self._stem}-*.bin"):
                path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        key = self._key(sig, target_context.codegen())
        path = self._path(key)
        if path is None or not _same_in_every_process(sig):
            return None
        try:
            content = _read_own(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            _logger.warning("cannot take a compiled kernel from the cache: %s", error)
            return None
        checksum, payload = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
        if hashlib.sha256(payload).digest() != checksum:
            return None
        stored_key, reduced, calls = pickle.loads(payload)
        if stored_key != key:
            return None
        called = {name: name.find() for name in calls}  # before its machine code looks for them
        result = CompileResult._rebuild(target_context, *reduced)
        take_kernel(result, self._function, called)
        return result

    def save_overload(self, sig: Any, data: Any) -> None:
        if not _same_in_every_process(sig):
            return
        name_kernel(data, self._function)
        key = self._key(sig, data.codegen)
        path = self._path(key)
        if path is None:
            return
        if data.library.has_dynamic_globals:
            _logger.warning("%s reads large or foreign globals: it cannot be cached", self._stem)
            return
        try:
            if _hash_sources() != _source_hash():
                return  # edited since the import: what was compiled may be neither old nor new
            payload = dumps((key, data._reduce(), tuple(data.library.called)))
            path.parent.mkdir(exist_ok=True)  # another process may have cleared it away as old
            with atomic_write(path) as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(hashlib.sha256(payload).digest() + payload)
        except OSError as error:
            _logger.warning("cannot keep the compiled kernel %s: %s", self._stem, error)

    def _key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (normalize_signature(sig), codegen.magic_tuple(), self._code_key)

    def _path(self, key: tuple[Any, ...]) -> Path | None:
        folder = _cache_folder()
        if folder is None or not self._enabled:
            return None
        return folder / f"{self._stem}-{hashlib.sha256(repr(key).encode()).hexdigest()[:24]}.bin"


def _same_in_every_process(sig: Any) -> bool:
    """Whether a signature means the same elsewhere: the type of a compiled function does not."""
    arguments, _ = normalize_signature(sig)
    return not any(isinstance(argument, types.Callable) for argument in arguments)


def _read_own(path: Path) -> bytes:
    """A file that nobody else can have written: what is unpickled from it runs as this user.

    Raises OSError where it cannot be read, PermissionError where others may write it.
    """
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid not in (0, os.getuid()) or status.st_mode & 0o022:
            raise PermissionError(f"{path} belongs to another user or can be written by others")
        return file.read()


# ---------------------------------------------------------------------------- news of compilation


def compile_seconds() -> float:
    """CPU seconds that this process has spent compiling the package's kernels so far.

    Loading from the cache does not count, and neither does a compilation that still runs.
    """
    return _monitor.seconds


@contextlib.contextmanager
def compile_progress(console: Console) -> Iterator[None]:
    """Show compilations on `console` while the context lasts, in place of the log record.

    On a terminal a spinner says what compiles and counts seconds. Elsewhere a line is written to
    the standard error stream for each thing that a process compiles first, such as "exact beliefs
    for 3 players".
    """
    previous = _monitor.announcer
    announcer: _Announcer = _Spinner(console) if console.is_terminal else _Once(_to_stderr)
    _monitor.announcer = announcer
    try:
        yield
    finally:
        _monitor.announcer = previous
        announcer.stop()


def _to_stderr(message: str) -> None:
    sys.stderr.write(f"{message}\n")


def _subject(function: Callable[..., Any], arguments: Sequence[Any]) -> str:
    """What a compilation is for, as "exact beliefs for 3 players"."""
    what: str = function.__globals__.get("COMPILES", function.__name__)
    dims = arguments[0] if arguments else None
    if isinstance(dims, types.BaseTuple) and len(dims) and isinstance(dims[0], types.BaseTuple):
        return f"{what} for {len(dims[0])} players"  # the ``dims`` of hanabi.engine.layout
    return what


class _Announcer(Protocol):
    """Says that a kernel compiles: `start` and `stop` surround each outermost compilation.

    Several kernels may have one `subject`; `kernel` tells them apart.
    """

    def start(self, subject: str, kernel: str, kept: bool) -> None: ...

    def stop(self) -> None: ...


class _Once:
    """Writes one message for each subject of the process, at the first of its kernels."""

    announced: ClassVar[set[str]] = set()

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write

    def start(self, subject: str, kernel: str, kept: bool) -> None:
        if subject not in self.announced:
            self.announced.add(subject)
            self._write(_news(subject, kernel, kept))

    def stop(self) -> None:
        pass


def _news(subject: str, kernel: str, kept: bool) -> str:
    when = "new here; kept for later runs" if kept else "in every process: cannot be kept"
    what = subject if subject == kernel else f"{subject}: {kernel}"
    return f"compiling {what} ({when})"


class _Spinner:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = contextlib.ExitStack()
        self._lock = threading.Lock()  # the context may end while another thread compiles

    def start(self, subject: str, kernel: str, kept: bool) -> None:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            text = TextColumn("{task.description}", markup=False)
            progress = Progress(
                SpinnerColumn(), text, TimeElapsedColumn(), console=self._console, transient=True
            )
            progress.add_task(_news(subject, kernel, kept), total=None)
            self._shown.enter_context(progress)
            progress.refresh()  # inside another display, the first turn would come too late

    def stop(self) -> None:
        with self._lock:
            self._shown.close()


class _Monitor(event.Listener):  # type: ignore[misc]  # Numba is untyped
    """Hears of every real compilation in the process and keeps to the package's own.

    Numba sends no event when a kernel comes from the cache, and sends them all under its global
    compiler lock, the nested ones of callees between the start and the end of their caller's: no
    two threads are ever here at once.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.announcer: _Announcer = _Once(_logger.warning)
        self._depth = 0
        self._began = 0.0
        self._current: _Announcer = self.announcer

    def on_start(self, compilation: Any) -> None:
        dispatcher = compilation.data["dispatcher"]
        if dispatcher not in _dispatchers:
            return
        self._depth += 1
        if self._depth == 1:
            self._began = time.thread_time()
            self._current = self.announcer
            kept = isinstance(dispatcher._cache, _KernelCache)
            subject = _subject(dispatcher.py_func, compilation.data["args"])
            self._current.start(subject, dispatcher.py_func.__name__, kept)

    def on_end(self, compilation: Any) -> None:
        if compilation.data["dispatcher"] not in _dispatchers:
            return
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.thread_time() - self._began
            self._current.stop()


_monitor = _Monitor()
event.register("numba:compile", _monitor)
