"""Listening at an address, and serving tables there until the process is interrupted."""

from __future__ import annotations

import ipaddress
import os
import socket as sockets
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.serving.page_messages import LONGEST
from hanabi_search_plugin.serving.web_app import LiveTables, make_app, own_names

BACKLOG = 128  # connections that wait to be taken
GRACE = 2  # seconds for open connections, once the process is interrupted

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def require_address(host: str) -> Address:
    """The address that ``host`` is; nothing is looked up. Raises ConfigError for other texts."""
    try:
        return ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise ConfigError(f"host must be an IP address, as 127.0.0.1, got {host!r}") from None


def usual_threads() -> int:
    """Threads for searches where nobody says how many: one for each processor of this process."""
    return len(os.sched_getaffinity(0))


class Listening:
    """A socket that listens at an IP address."""

    def __init__(self, socket: sockets.socket, host: Address) -> None:
        self.socket, self.host = socket, host

    @property
    def address(self) -> str:
        """The beginning of its addresses, without a slash at the end."""
        named = f"[{self.host}]" if self.host.version == 6 else str(self.host)
        return f"http://{named}:{self.socket.getsockname()[1]}"


@contextmanager
def listen(host: Address, port: int) -> Iterator[Listening]:
    """Listen; port 0 is any that is free. Raises ConfigError where that cannot be."""
    family = sockets.AF_INET6 if host.version == 6 else sockets.AF_INET
    # Named TCP, so that asyncio sends small messages at once (TCP_NODELAY) and not after 40 ms.
    with sockets.socket(family, sockets.SOCK_STREAM, sockets.IPPROTO_TCP) as socket:
        socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
        try:
            socket.bind((str(host), port))
            socket.listen(BACKLOG)  # whoever is told the address may ask before it is served
        except OSError as error:
            raise ConfigError(
                f"host and port must be free to listen at, got {host} and {port}: "
                f"{error.strerror or error}"
            ) from None
        yield Listening(socket, host)


def server_of(tables: LiveTables, listening: Listening) -> uvicorn.Server:
    """The server of these tables, which logs nothing but its own failures."""
    config = uvicorn.Config(
        make_app(tables, own_names(str(listening.host))),
        ws="websockets-sansio",
        ws_max_size=4 * LONGEST,
        ws_per_message_deflate=False,
        access_log=False,
        log_level="error",
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=None,
        lifespan="on",
    )
    return uvicorn.Server(config)


def run(tables: LiveTables, listening: Listening) -> None:
    """Serve until the process is interrupted, which then is a KeyboardInterrupt here."""
    try:
        server_of(tables, listening).run(sockets=[listening.socket])
    finally:
        tables.close()
