"""A fake site behind a real socket: signing in over HTTP, and its websocket at the same address."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from tests.helpers.hanab_live_site import FakeSite

PASSWORD, COOKIE = "open sesame", "hanabi.sid=abc123"


class FakeServer:
    """``url`` to sign in and play at. ``forms`` and ``cookies`` are what was given there."""

    def __init__(self, site: FakeSite) -> None:
        self.site = site
        self.url = ""
        self.forms: list[dict[str, list[str]]] = []
        self.cookies: list[str | None] = []
        self.close_at: int | None = None  # after so many messages of the bot
        self.noise: list[str] = []  # sent first

    def talk(self, connection: ServerConnection) -> None:
        assert connection.request is not None
        self.cookies.append(connection.request.headers.get("Cookie"))
        try:
            for text in self.noise:
                connection.send(text)
            self._send(connection, self.site.opening())
            for text in connection:
                command, _, data = str(text).partition(" ")
                self._send(connection, self.site.hear(command, json.loads(data)))
                if len(self.site.heard) == self.close_at:
                    return
        except ConnectionClosed:
            pass

    def _send(self, connection: ServerConnection, messages: list[tuple[str, Any]]) -> None:
        for command, data in messages:
            connection.send(f"{command} {json.dumps(data)}")


@contextmanager
def running(site: FakeSite) -> Iterator[FakeServer]:
    """The server while the block runs, on a port of its own."""
    server = FakeServer(site)

    class SignIn(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            server.forms.append(form)
            good = self.path == "/login" and form["password"] == [PASSWORD]
            self.send_response(200 if good else 401)
            if good:
                self.send_header("Set-Cookie", f"{COOKIE}; Path=/; HttpOnly")
            self.end_headers()
            self.wfile.write(b"" if good else b"That is not the correct password.")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), SignIn)
    ws = serve(server.talk, "127.0.0.1", 0)
    front = socket.create_server(("127.0.0.1", 0))
    server.url = f"http://127.0.0.1:{front.getsockname()[1]}"
    ports = {b"POST": http.server_address[1], b"GET ": ws.socket.getsockname()[1]}
    for work in (http.serve_forever, ws.serve_forever, lambda: _forward(front, ports)):
        threading.Thread(target=work, daemon=True).start()
    try:
        yield server
    finally:
        front.shutdown(socket.SHUT_RDWR)  # wakes the one who waits there
        front.close()
        http.shutdown()
        http.server_close()
        ws.shutdown()


def _forward(front: socket.socket, ports: dict[bytes, int]) -> None:
    """Hand each connection to the server of its method."""
    while True:
        try:
            here, _ = front.accept()
        except OSError:
            return
        head = here.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL)
        there = socket.create_connection(("127.0.0.1", ports[head]))
        for source, target in ((here, there), (there, here)):
            threading.Thread(target=_copy, args=(source, target), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
