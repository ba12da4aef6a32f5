"""The connection of a bot to hanab.live: signing in, the websocket, and a pace for what is sent."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable
from http.client import HTTPException
from http.cookiejar import CookieJar
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, Request, build_opener

from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.extras import require_extra
from hanabi_search_plugin.core.plain_json import parse_json, short
from hanabi_search_plugin.hanab_live.table_bot import TableBot

SITE = "https://hanab.live"
BOT_PREFIX = "Bot-"  # the site's wish
LONGEST_MESSAGE = 4 * 1024 * 1024  # bytes; the list of all tables is the longest
TIMEOUT = 30.0  # seconds to connect
# The site bans for more than 200 messages in 2 seconds.
MOST_MESSAGES, WINDOW = 20, 2.0

_LOCAL = ("127.0.0.1", "localhost", "::1")


def require_bot_name(name: str) -> None:
    """Raises ConfigError unless the name is one for bots."""
    if not name.startswith(BOT_PREFIX) or len(name) == len(BOT_PREFIX):
        raise ConfigError(f"username must begin with {BOT_PREFIX}, as bots' names do, got {name!r}")


def require_url(url: str) -> None:
    """Raises ConfigError unless a password can be sent to the address without being overheard."""
    parts = urlsplit(url)
    safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL)
    if not safe or not parts.hostname:
        raise ConfigError(
            f"url must begin with https:// (http:// on this machine alone), got {url!r}"
        )


class Pace:
    """Waits before a message where ``MOST_MESSAGES`` were sent in the last ``WINDOW`` seconds."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._sent: deque[float] = deque(maxlen=MOST_MESSAGES)

    def wait(self) -> None:
        """Call it before each message."""
        if len(self._sent) == MOST_MESSAGES:
            rest = self._sent[0] + WINDOW - self._clock()
            if rest > 0:
                self._sleep(rest)
        self._sent.append(self._clock())


def sign_in(url: str, username: str, password: str) -> str:
    """The cookie of a session. Raises ConfigError where the site gives none."""
    jar = CookieJar()
    form = {"username": username, "password": password, "version": "bot"}
    request = Request(f"{url}/login", data=urlencode(form).encode(), method="POST")
    try:
        with build_opener(HTTPCookieProcessor(jar)).open(request, timeout=TIMEOUT) as answer:
            answer.read(LONGEST_MESSAGE)
    except HTTPError as error:
        body = error.read(200).decode(errors="replace").strip()
        raise ConfigError(
            f"{url} must let {username} in, got {error.code}: {body or error.reason}"
        ) from None
    except (OSError, HTTPException) as error:
        why = error.reason if isinstance(error, URLError) else error
        raise ConfigError(f"{url} must be in reach, got: {why}") from None
    cookies = [f"{cookie.name}={cookie.value}" for cookie in jar]
    if not cookies:
        raise ConfigError(f"{url} must give a cookie for the session, got none")
    return "; ".join(cookies)


def play_at(
    url: str, cookie: str, bot: TableBot, *, games: int | None = None, pace: Pace | None = None
) -> None:
    """Let the bot play until ``games`` are finished, or for ever.

    Raises ConnectionError where the site ends the connection, and UnsupportedError without the
    extra ``hanab-live``.
    """
    require_extra("hanab-live", "a bot of hanab.live", "websockets")
    from websockets.exceptions import ConnectionClosed, WebSocketException
    from websockets.sync.client import connect

    pace = pace or Pace()
    address = f"ws{url.removeprefix('http')}/ws"
    try:
        with connect(
            address,
            additional_headers={"Cookie": cookie},
            open_timeout=TIMEOUT,
            close_timeout=1,
            max_size=LONGEST_MESSAGE,
        ) as socket:
            while games is None or bot.finished < games:
                try:
                    command, data = _read(socket.recv())
                except RecordError as error:
                    bot.say(str(error))
                    continue
                for out, fields in bot.receive(command, data):
                    pace.wait()
                    socket.send(f"{out} {json.dumps(fields)}")
    except ConnectionClosed as error:
        raise ConnectionError(f"{url} has closed the connection: {error}") from None
    except (WebSocketException, TimeoutError) as error:
        raise ConnectionError(f"{address} must be a websocket, got: {error}") from None


def _read(message: str | bytes) -> tuple[str, Any]:
    """Command and data of a message: a word, a space, JSON. Raises RecordError."""
    text = message if isinstance(message, str) else message.decode(errors="replace")
    command, _, rest = text.partition(" ")
    try:
        return command, parse_json(rest or "{}")
    except ValueError:
        raise RecordError(
            f"a message must be a command and JSON, got {short(text[:100])}"
        ) from None
