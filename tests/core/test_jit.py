"""The cache of compiled kernels, and the news of compilation."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress

from hanabi_search_plugin import atomic_files, jit, linking
from tests.helpers.plain_user import obey_modes

CALLEE = """
from hanabi_search_plugin.jit import inline

@inline
def helper(x):
    return x + 1
"""

KERNELS = """
from hanabi_search_plugin.hanabi.callee import helper
from hanabi_search_plugin.jit import kernel

@kernel
def total(values, players):
    result = 0
    for seat in range(len(players)):
        result += helper(values[seat])
    return result
"""

REPORT = """
import numpy as np
from hanabi_search_plugin import jit
from hanabi_search_plugin.hanabi.loops import total
results = [int(total(np.arange(9), (0,) * players)) for players in {players}]
hits, misses = sum(total.stats.cache_hits.values()), sum(total.stats.cache_misses.values())
print(*results, "hits", hits, "misses", misses, "compiled", jit.compile_seconds() > 0)
"""


class Package:
    """A throw-away package around the real `jit.py`, with a kernel and its callee in two files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = root / "cache"
        self.callee = root / "hanabi_search_plugin" / "hanabi" / "callee.py"
        self.callee.parent.mkdir(parents=True)
        for module in (jit, linking, atomic_files):
            shutil.copy(str(module.__file__), root / "hanabi_search_plugin")
        (root / "hanabi_search_plugin" / "__init__.py").touch()
        (root / "hanabi_search_plugin" / "hanabi" / "__init__.py").touch()
        self.callee.write_text(CALLEE)
        self.callee.with_name("loops.py").write_text(KERNELS)

    def start(
        self, code: str, before: Callable[[], None] | None = None, **environment: str
    ) -> subprocess.Popen[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PYTHON"))}
        paths = {"PYTHONPATH": str(self.root), "HANABI_SEARCH_CACHE_DIR": str(self.cache)}
        return subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=self.root,
            env=kept | paths | environment,
            preexec_fn=before,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str, **environment: str) -> tuple[str, str]:
        process = self.start(code, **environment)
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        return output.strip(), errors

    def total(self, *players: int, **environment: str) -> tuple[str, str]:
        return self.run(REPORT.format(players=players), **environment)


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Package(tmp_path)


# ----------------------------------------------------------------------------------- the cache


def test_a_second_process_compiles_nothing(package: Package) -> None:
    output, errors = package.total(2, 3)
    assert output == "3 6 hits 0 misses 2 compiled True"
    assert errors.count("compiling") == 1 and "compiling total" in errors
    assert package.total(2, 3) == ("3 6 hits 2 misses 0 compiled False", "")


def test_an_edited_callee_in_another_file_is_noticed(package: Package) -> None:
    package.total(2)
    package.callee.write_text(CALLEE.replace("x + 1", "x + 10"))
    assert package.total(2)[0] == "21 hits 0 misses 1 compiled True"
    package.callee.write_text(CALLEE)
    assert package.total(2)[0] == "3 hits 1 misses 0 compiled False"


def test_an_edit_between_import_and_first_call_poisons_nothing(package: Package) -> None:
    edit = f"open({str(package.callee)!r}, 'w').write({CALLEE.replace('x + 1', 'x + 10')!r})"
    code = REPORT.format(players=(2,)).replace("results =", f"{edit}\nresults =")
    assert package.run(code)[0] == "3 hits 0 misses 1 compiled True"
    assert package.total(2)[0] == "21 hits 0 misses 1 compiled True"
    package.callee.write_text(CALLEE)
    assert package.total(2)[0] == "3 hits 0 misses 1 compiled True"


def test_processes_at_once_do_not_mix_up_specialisations(package: Package) -> None:
    """Eight cold starts: two of each."""
    everyone = (2, 3, 4, 5)
    processes = [package.start(REPORT.format(players=(players,))) for players in everyone * 2]
    outputs = [process.communicate()[0].split()[0] for process in processes]
    assert outputs == ["3", "6", "10", "15"] * 2
    assert package.total(*everyone) == ("3 6 10 15 hits 4 misses 0 compiled False", "")
    assert {path.suffix for path in package.cache.rglob("*") if path.is_file()} == {".bin"}


def test_a_damaged_file_counts_as_missing(package: Package) -> None:
    package.total(2, 3)
    truncated, altered = sorted(package.cache.rglob("*.bin"))
    truncated.write_bytes(truncated.read_bytes()[:100])
    content = bytearray(altered.read_bytes())
    content[len(content) // 2] ^= 1
    altered.write_bytes(content)
    assert package.total(2, 3)[0] == "3 6 hits 0 misses 2 compiled True"
    assert package.total(2, 3)[0] == "3 6 hits 2 misses 0 compiled False"


def test_a_file_that_others_may_have_written_counts_as_missing(package: Package) -> None:
    package.total(2)
    (kept,) = package.cache.rglob("*.bin")
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.chmod(0o620)
    output, errors = package.total(2)
    assert output == "3 hits 0 misses 1 compiled True"
    assert f"{kept} belongs to another user or can be written by others" in errors
    assert package.total(2) == ("3 hits 1 misses 0 compiled False", "")


@pytest.mark.skipif(os.getuid() != 0, reason="files can be given to others by root alone")
def test_a_file_of_another_user_counts_as_missing(package: Package) -> None:
    package.total(2)
    (kept,) = package.cache.rglob("*.bin")
    os.chown(kept, 65534, 65534)
    assert package.total(2)[0] == "3 hits 0 misses 1 compiled True"
    assert kept.stat().st_uid == 0


def test_what_a_killed_process_left_is_taken_over(package: Package) -> None:
    package.total(2)
    (kept,) = package.cache.rglob("*.bin")
    kept.rename(atomic_files.unfinished(kept))
    assert package.total(2)[0] == "3 hits 0 misses 1 compiled True"
    assert [path for path in package.cache.rglob("*") if path.is_file()] == [kept]


def test_a_cache_that_cannot_be_read_or_written_does_no_harm(package: Package) -> None:
    temporary = package.root / "tmp"
    temporary.mkdir()
    package.total(2)
    (kept,) = package.cache.rglob("*.bin")
    code = REPORT.format(players=(2,))
    for path, mode in ((kept, 0o000), (kept.parent, 0o555), (kept.parent, 0o000)):
        usual = path.stat().st_mode
        path.chmod(mode)
        process = package.start(code, obey_modes, TMPDIR=str(temporary))
        output, errors = process.communicate()
        path.chmod(usual)
        assert output.startswith("3 hits 0 misses 1") and "Traceback" not in errors, errors
        assert "Permission denied" in errors
        shutil.rmtree(temporary)
        temporary.mkdir()


def test_a_user_without_a_home_gets_a_private_temporary_cache(package: Package) -> None:
    unknown = (
        "import os, pwd\n"
        "os.environ.pop('HOME', None)\n"
        "def unknown(user): raise KeyError(user)\n"
        "pwd.getpwuid = unknown\n"
    )
    temporary = package.root / "tmp"
    temporary.mkdir()
    places = {"HANABI_SEARCH_CACHE_DIR": "", "XDG_CACHE_HOME": "", "TMPDIR": str(temporary)}
    output, errors = package.run(unknown + REPORT.format(players=(2,)), **places)
    assert output == "3 hits 0 misses 1 compiled True"
    assert "cannot keep compiled kernels: Could not determine home directory" in errors
    assert len(list(temporary.rglob("*.bin"))) == 1


def test_an_unwritable_root_is_replaced_by_a_private_temporary_one(package: Package) -> None:
    blocked = package.root / "file"
    blocked.touch()
    temporary = package.root / "tmp"
    temporary.mkdir()
    places = {"HANABI_SEARCH_CACHE_DIR": str(blocked / "cache"), "TMPDIR": str(temporary)}

    output, errors = package.total(2, **places)
    assert output == "3 hits 0 misses 1 compiled True"
    assert "cannot keep compiled kernels" in errors and str(blocked) in errors
    assert package.total(2, **places)[0] == "3 hits 1 misses 0 compiled False"

    (private,) = temporary.iterdir()
    assert private.stat().st_mode & 0o077 == 0
    private.chmod(0o777)  # somebody else could have put a file there: it must not be read
    output, errors = package.total(2, **places)
    assert output == "3 hits 0 misses 1 compiled True"
    assert "not a private folder" in errors


def test_a_new_folder_clears_away_the_oldest(package: Package) -> None:
    package.cache.mkdir()
    now = time.time()
    for age in range(6):
        old = package.cache / f"kernels-{age:024x}"
        old.mkdir()
        last_use = now - (1 + age) * 0.9 * jit.FOLDER_IN_USE_SECONDS
        os.utime(old, (last_use, last_use))
    foreign = package.cache / "notes"
    foreign.mkdir()
    os.utime(foreign, (0, 0))

    package.total(2)
    left = {path.name for path in package.cache.iterdir()}
    assert {"notes", f"kernels-{0:024x}", f"kernels-{1:024x}"} < left
    assert len(left) == jit.FOLDERS_KEPT + 1  # the new one, two old ones and the foreign one


def test_use_cache_dir_moves_the_cache(package: Package) -> None:
    chosen = package.root / "chosen"
    move = f"from pathlib import Path\njit.use_cache_dir(Path({str(chosen)!r}))\nresults ="
    package.run(REPORT.format(players=(2,)).replace("results =", move))
    assert len(list(chosen.rglob("*.bin"))) == 1
    assert not package.cache.exists()


def test_the_root_follows_the_platform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HANABI_SEARCH_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert jit._cache_root() == tmp_path / ".cache" / "hanabi-search-plugin"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert jit._cache_root() == tmp_path / "xdg" / "hanabi-search-plugin"
    monkeypatch.setenv("HANABI_SEARCH_CACHE_DIR", str(tmp_path / "own"))
    assert jit._cache_root() == tmp_path / "own"


def test_a_function_argument_is_compiled_but_not_kept(package: Package) -> None:
    package.callee.with_name("apply.py").write_text(
        "from hanabi_search_plugin.jit import kernel\n"
        "@kernel\n"
        "def apply(function, x):\n"
        "    return function(x)\n"
    )
    output, _ = package.run(
        "from hanabi_search_plugin.hanabi.apply import apply\n"
        "from hanabi_search_plugin.hanabi.callee import helper\n"
        "print(apply(helper, 1))"
    )
    assert output == "2"
    assert not list(package.cache.rglob("*.bin"))


def test_recompiling_forgets_what_is_kept(package: Package) -> None:
    code = REPORT.format(players=(2,)).replace("hits, misses", "total.recompile()\nhits, misses", 1)
    assert package.run(code)[0] == "3 hits 0 misses 2 compiled True"
    assert package.run(code)[0] == "3 hits 1 misses 1 compiled True"


# ------------------------------------------------------------------- kernels that call kernels

CALLS = """
from hanabi_search_plugin.hanabi.callee import helper
from hanabi_search_plugin.jit import kernel, routine

@routine
def scaled(x, by):
    return helper(x) * by

@kernel
def unrelated(x):
    return helper(x)

@kernel
def inner(x):
    return scaled(x, 2) + scaled(x, x)

@kernel
def outer(x):
    return inner(x) + scaled(x, 3)
"""

CALL = """
from hanabi_search_plugin.hanabi.calls import inner, outer, scaled, unrelated
{first}
print(outer(4))
for kernel in (outer, inner, scaled):
    print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))
"""


@pytest.fixture
def calls(package: Package) -> Package:
    package.callee.with_name("calls.py").write_text(CALLS)
    return package


def test_a_kernel_is_compiled_once_whoever_calls_it(calls: Package) -> None:
    looked_at = """
code = outer.inspect_llvm(outer.signatures[0]).splitlines()
heads = [line for line in code if line.startswith(("define", "declare"))]
print(*(line.split()[0] for name in ("inner", "scaled") for line in heads if name in line))
"""
    output, _ = calls.run(CALL.format(first="") + looked_at)
    assert output.split("\n") == ["45", "0 1", "0 1", "0 1", "declare declare"]


def test_kernels_that_call_kernels_are_kept(calls: Package) -> None:
    calls.run(CALL.format(first=""))
    output, errors = calls.run(CALL.format(first=""))
    assert output.split("\n") == ["45", "1 0", "1 0", "1 0"]
    assert errors == ""


@pytest.mark.parametrize("lost", ["inner", "scaled", "*"])
def test_a_kernel_finds_what_another_process_compiled(calls: Package, lost: str) -> None:
    """Its callee has another number there, since something else was compiled before."""
    calls.run(CALL.format(first=""))
    for path in calls.cache.rglob(f"*calls.{lost}-*.bin"):
        if "outer" not in path.name:
            path.unlink()
    output, _ = calls.run(CALL.format(first="unrelated(1), unrelated(1.0)"))
    missed = {name: lost in (name, "*") for name in ("inner", "scaled")}
    assert output.split("\n") == [
        "45",
        "1 0",
        *("0 1" if miss else "1 0" for miss in missed.values()),
    ]
    assert calls.run(CALL.format(first=""))[0].split("\n") == ["45", "1 0", "1 0", "1 0"]


def test_a_function_of_the_user_that_numba_keeps_has_all_that_it_calls(calls: Package) -> None:
    """Numba's own cache knows nothing of ours: in the second process it alone is asked."""
    (calls.root / "user.py").write_text(
        "from numba import njit\n"
        "from hanabi_search_plugin.hanabi.calls import outer\n"
        "@njit(cache=True)\n"
        "def mine(x):\n"
        "    return outer(x) + 1\n"
    )
    code = "from user import mine\nprint(mine(4), sum(mine.stats.cache_hits.values()))"

    def kept_alone() -> None:
        kept = calls.cache.rename(calls.root / "elsewhere")
        assert calls.run(code) == ("46 1", "")
        assert not list(calls.cache.rglob("*.bin"))
        shutil.rmtree(calls.cache, ignore_errors=True)
        kept.rename(calls.cache)
        shutil.rmtree(calls.root / "__pycache__")

    assert calls.run(code)[0] == "46 0"
    kept_alone()
    assert calls.run(code) == ("46 0", "")  # made of what was kept
    kept_alone()
    for path in calls.cache.rglob("*calls.inner-*.bin"):
        path.unlink()
    before = "from hanabi_search_plugin.hanabi.calls import unrelated\nunrelated(1)\n"
    assert calls.run(before + code)[0] == "46 0"  # made of that and of one with another number
    kept_alone()


def test_a_number_and_a_variable_share_a_specialisation(calls: Package) -> None:
    output, _ = calls.run(CALL.format(first="") + "print(len(scaled.overloads))")
    assert output.split("\n")[-1] == "1"


# ------------------------------------------------------------------------------ the decorators


@jit.inline
def _add(x: int, y: int) -> int:
    return x + y


@jit.kernel
def _inner(x: int) -> int:
    return _add(x, 1)


@jit.kernel
def _outer(x: int) -> int:
    return _inner(x) + _inner(x)


def test_an_inline_helper_called_from_python_says_so_rather_than_crash() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="_add is inlined into kernels"):
            _add(1, 2)
        assert _inner(1) == 2  # compiled now, and still refused


def test_a_kernel_outside_the_package_is_not_cached() -> None:
    dispatcher: Any = _inner
    assert _inner(1) == 2
    assert dispatcher.stats.cache_path is None


def test_a_closure_is_refused() -> None:
    step = 3

    def shifted(x: int) -> int:
        return x + step

    with pytest.raises(TypeError, match=r"shifted closes over step"):
        jit.kernel(shifted)


def test_without_numbas_compiler_kernels_are_plain_functions(package: Package) -> None:
    code = (
        "import numpy as np\n"
        "from hanabi_search_plugin.hanabi.loops import total\n"
        "print(int(total(np.arange(9), (0, 0))), type(total).__name__)"
    )
    assert package.run(code, NUMBA_DISABLE_JIT="1") == ("3 function", "")


# --------------------------------------------------------------------------- news of compilation


def _fresh(text: str) -> Any:
    """A kernel that has not been compiled yet."""
    names: dict[str, Any] = {"add": _add}
    exec(f"def {text}", names)
    return jit.kernel(names[text.partition("(")[0]])


def test_nested_compilation_counts_once() -> None:
    before, began = jit.compile_seconds(), time.thread_time()
    assert _outer(True) == 4  # this type is new to all three functions
    spent = jit.compile_seconds() - before
    assert 0 < spent <= time.thread_time() - began


def test_a_spinner_names_the_kernel_on_a_terminal() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with jit.compile_progress(console), Progress(console=console):  # one display in another
        assert _fresh("spinning(x): return add(x, 1)")(1) == 2
    assert _fresh("silent(x): return add(x, 2)")(1) == 3
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "compiling spinning" in shown and "silent" not in shown


def test_a_failed_compilation_ends_its_spinner() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    threads = set(threading.enumerate())
    with jit.compile_progress(console):
        with pytest.raises(Exception, match="no_such_name"):
            _fresh("failing(x): return no_such_name(x)")(1)
        assert _fresh("working(x): return add(x, 3)")(1) == 4
        for left in set(threading.enumerate()) - threads:
            left.join(timeout=10)  # a display stops its thread without waiting for it
        assert set(threading.enumerate()) <= threads


def test_kernels_compile_in_several_threads() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    kernels = [_fresh(f"threaded{i}(x): return add(x, {i})") for i in range(4)]
    results = [0] * 4

    def work(i: int) -> None:
        results[i] = kernels[i](1)

    before = jit.compile_seconds()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    with jit.compile_progress(console):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [1, 2, 3, 4]
    assert jit.compile_seconds() > before


def test_elsewhere_one_line_replaces_the_log_record(package: Package) -> None:
    progress = (
        "import io, sys\n"
        "assert 'rich' not in sys.modules\n"
        "from rich.console import Console\n"
        "jit.compile_progress(Console(file=io.StringIO())).__enter__()\n"
        "results ="
    )
    _, errors = package.run(REPORT.format(players=(2, 3)).replace("results =", progress))
    assert errors.splitlines() == ["compiling total (new here; kept for later runs)"]


def test_news_says_what_is_compiled_and_for_how_many_players(package: Package) -> None:
    loops = package.callee.with_name("loops.py")
    text = KERNELS.replace("def total(values, players)", "def total(players, values)")
    text = text.replace("len(players)", "len(players[0])")
    loops.write_text(text.replace("@kernel", 'COMPILES = "sums"\n\n@kernel'))
    code = REPORT.format(players=(2, 3, 2))
    code = code.replace(
        "total(np.arange(9), (0,) * players)", "total(((0,) * players,), np.arange(9))"
    )
    output, errors = package.run(code)
    assert output.startswith("3 6 3 ")
    assert errors.splitlines() == [
        "compiling sums for 2 players: total (new here; kept for later runs)",
        "compiling sums for 3 players: total (new here; kept for later runs)",
    ]
    assert package.run(code)[1] == ""
