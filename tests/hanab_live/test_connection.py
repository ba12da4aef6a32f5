"""The bot and its command over real sockets, with a fake site on this machine."""

from __future__ import annotations

import socket
import threading

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("websockets")

from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.hanab_live.connection import (
    MOST_MESSAGES,
    WINDOW,
    Pace,
    require_url,
    sign_in,
)
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from tests.hanab_live.test_table_bot import anything
from tests.helpers.hanab_live_server import COOKIE, PASSWORD, running
from tests.helpers.hanab_live_site import FakeSite
from tests.helpers.hanab_live_table import FakeTable


def site(seat: int = 1) -> FakeSite:
    return FakeSite(FakeTable(HanabiConfig(players=2), 8), seat, anything)


def bot(*arguments: str, password: str | None = PASSWORD, name: str = "Bot-Tess") -> Result:
    line = ["hanab-live", "bot", "--username", name, *arguments]
    return CliRunner().invoke(app, line, env={"HANAB_LIVE_PASSWORD": password})


def refused(*arguments: str, **options: str | None) -> str:
    result = bot(*arguments, **options)  # type: ignore[arg-type]
    assert result.exit_code == 2, (result.output, result.exception)
    lines = [line for line in result.stderr.splitlines() if line.startswith("hanabi-search: ")]
    assert result.stderr.splitlines()[-1:] == lines
    return lines[0].removeprefix("hanabi-search: ")


def test_a_game_from_the_command_line() -> None:
    with running(site()) as server:
        server.noise = ["hello", "chat {", "welcome"]  # is passed over
        result = bot("--url", server.url, "--policy", "smartbot", "--games", "1")
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    assert server.site.table.over
    assert server.forms == [{"username": ["Bot-Tess"], "password": [PASSWORD], "version": ["bot"]}]
    assert server.cookies == [COOKIE]
    assert server.site.heard[-1][0] == "tableUnattend"
    said = result.stderr.splitlines()
    assert said[0] == ("Bot-Tess waits to be invited: write it /join on the site, Ctrl-C ends it")
    assert said[-1] == "the game is over, number 123 of the site"
    assert PASSWORD not in result.output


def test_a_connection_that_ends_is_said_in_a_line() -> None:
    with running(site()) as server:
        server.close_at = 6
        assert refused("--url", server.url).startswith(f"{server.url} has closed the connection: ")


def test_what_is_refused_before_anything_is_sent() -> None:
    with running(site()) as server:
        url = ("--url", server.url)
        assert refused(*url, name="Tess") == (
            "username must begin with Bot-, as bots' names do, got 'Tess'"
        )
        assert refused(*url, name="Bot-").startswith("username must begin with Bot-")
        assert refused(*url, "--games", "0").startswith("games must be an integer")
        assert refused(*url, "--policy", "smartbt").startswith("policy must be one of")
        assert refused(*url, "--search", "joint-sparta").startswith("search-seats must be all")
        assert refused(*url, password=None) == (
            "HANAB_LIVE_PASSWORD must hold the bot's password where nobody can be asked"
        )
        assert server.forms == []
        assert refused(*url, password="wrong") == (
            f"{server.url} must let Bot-Tess in, got 401: That is not the correct password."
        )
    assert refused("--url", server.url).startswith(f"{server.url} must be in reach, got: ")


@pytest.mark.parametrize("url", ["http://hanab.live", "ftp://127.0.0.1", "hanab.live", "https://"])
def test_passwords_are_not_sent_in_the_open(url: str) -> None:
    with pytest.raises(ConfigError, match="url must begin with https://"):
        require_url(url)
    require_url("https://hanab.live")
    require_url("http://localhost:8000")


def test_a_site_without_a_cookie_or_an_answer() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def answer(text: bytes) -> None:
        def work() -> None:
            here, _ = listener.accept()
            here.recv(65536)
            here.sendall(text)
            here.close()

        threading.Thread(target=work, daemon=True).start()

    with listener:
        answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        with pytest.raises(ConfigError, match="must give a cookie"):
            sign_in(address, "Bot-Tess", "x")
        for nothing in (b"", b"hello\r\n\r\n"):
            answer(nothing)
            with pytest.raises(ConfigError, match="must be in reach"):
                sign_in(address, "Bot-Tess", "x")


def test_the_pace_stays_far_below_the_limit_of_the_site() -> None:
    now = 0.0
    sent: list[float] = []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    pace = Pace(lambda: now, sleep)
    for i in range(200):
        pace.wait()
        sent.append(now)
        now += 0.5 if i % 50 == 0 else 2**-10
    for i, moment in enumerate(sent):
        assert sum(moment - WINDOW < other <= moment for other in sent[: i + 1]) <= MOST_MESSAGES
    assert MOST_MESSAGES <= 200 / 5
