"""Files appear whole or not at all: after kills, errors, full disks, and with two writers."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hanabi_search_plugin.atomic_files import atomic_write, remove, unfinished

ROOT = Path(__file__).resolve().parents[2]


def write(path: Path, content: bytes) -> None:
    with atomic_write(path) as file:
        file.write(content)


def kill_a_writer(path: Path) -> None:
    """A process writes half of a file, and is gone."""
    code = (
        "import os, sys\n"
        "from hanabi_search_plugin.atomic_files import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file:\n"
        "    file.write(b'half of it')\n"
        "    file.flush()\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False)
    assert done.returncode == -9


def test_what_a_killed_writer_left_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write(path, b"before")
    kill_a_writer(path)
    assert sorted(tmp_path.iterdir()) == [unfinished(path), path]
    assert path.read_bytes() == b"before"
    write(path, b"after")
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == b"after"


def test_removing_a_file_removes_what_is_left_of_it(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    write(path, b"whole")
    kill_a_writer(path)
    remove(path)
    assert list(tmp_path.iterdir()) == []
    remove(path)


@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
def test_an_error_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(path, b"before")
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt), atomic_write(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == before


def test_writers_of_one_file_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    other = threading.Thread(target=write, args=(path, b"the other's"))
    with atomic_write(path) as file:
        file.write(b"this one's")
        other.start()
        other.join(0.2)
        assert other.is_alive() and not path.exists()
    other.join()
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == b"the other's"


def test_errors_name_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, number in (
        (tmp_path / "absent" / "out.json", errno.ENOENT),
        (tmp_path / "file" / "out.json", errno.ENOTDIR),
        (Path("/dev/full"), errno.ENOSPC),
    ):
        with pytest.raises(OSError) as caught:
            write(path, b"x")
        assert (caught.value.errno, caught.value.filename) == (number, str(path))


def test_a_link_in_the_place_of_what_is_not_whole_yet_is_not_followed(tmp_path: Path) -> None:
    path, precious = tmp_path / "out.json", tmp_path / "precious"
    precious.write_bytes(b"kept")
    unfinished(path).symlink_to(precious)
    with pytest.raises(OSError, match=r"out\.json"):
        write(path, b"x")
    assert precious.read_bytes() == b"kept" and not path.exists()


def test_a_link_keeps_pointing_at_its_file(tmp_path: Path) -> None:
    link, path = tmp_path / "link", tmp_path / "out.json"
    link.symlink_to(path)
    write(link, b"x")
    assert link.is_symlink() and path.read_bytes() == b"x"
