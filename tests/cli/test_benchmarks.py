"""The command line of benchmarks: an error of the package is one line with exit status 2."""

from __future__ import annotations

import pytest

from hanabi_search_plugin.core.errors import ConfigError

command_line = pytest.importorskip("benchmarks.command_line")


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    app = command_line.CommandLine("Measures nothing.")

    @app.command()  # type: ignore[untyped-decorator]
    def main() -> None:
        raise ConfigError("games must be at\nleast 1, got 0")

    with pytest.raises(SystemExit) as ended:
        app([])
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "games must be at least 1, got 0\n")
