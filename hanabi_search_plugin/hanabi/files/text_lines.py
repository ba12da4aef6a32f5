"""The lines of a text file, plain or gzip, each within a bound."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.require import require_path

LONGEST = 1 << 20  # bytes of a line; a game takes some 5,000
_GZIP_MAGIC = b"\x1f\x8b"


def text_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """(number from 1, text) of each line.

    Raises RecordError naming file and line where the gzip data is damaged, where a line is no UTF-8
    or longer than ``LONGEST`` (before it is read further), and OSError where the file cannot be
    opened.
    """
    require_path("a file of games", path)
    path, number = Path(path), 0
    with path.open("rb") as raw:
        compressed = raw.read(2) == _GZIP_MAGIC
        raw.seek(0)
        if not compressed and path.suffix == ".gz":
            raise RecordError(f"{path}: expected a gzip file, as its name says, got something else")
        stream = gzip.GzipFile(fileobj=raw) if compressed else raw
        try:
            while content := stream.readline(LONGEST + 1):
                number += 1
                if len(content) > LONGEST:
                    raise RecordError(
                        f"{path}:{number}: expected lines of at most {LONGEST:,} bytes, got a "
                        "longer one"
                    )
                yield number, content.decode()
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise RecordError(f"{path}:{number + 1}: the gzip data is damaged: {error}") from None
        except UnicodeDecodeError as error:
            raise RecordError(f"{path}:{number}: expected UTF-8 text: {error.reason}") from None
