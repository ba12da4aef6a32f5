"""The server's addresses: who may ask for what, and the pages and messages that answer.

Whoever knows the token of the server may make tables; each person's seat has a token of its own,
which shows that seat and nothing else. Requests from pages of other origins and under other names
than the server's own are refused. No address stands for a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from hanabi_search_plugin.core.extras import needing

with needing("web", "a table in a browser"):
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route, WebSocketRoute
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from starlette.websockets import WebSocket

from hanabi_search_plugin.core.errors import ConfigError, HanabiSearchError
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.rendering.game_page import page_of
from hanabi_search_plugin.rendering.html_pages import assembled
from hanabi_search_plugin.serving.live_table import LiveTable, TablePlan
from hanabi_search_plugin.serving.page_messages import (
    LONGEST_WISH,
    PageMessage,
    TableWish,
    read_message,
    read_wish,
)
from hanabi_search_plugin.serving.workers import Workers

PAGES_OF_A_SEAT = 4  # open at once
SAID = 20  # messages of a page that wait to be done
WAITING = 500  # messages for a page that does not take them; then it is closed
MISTAKES = 20  # messages of one page that were none; then it is closed
LEFT_SECONDS = 3_600.0  # after which a table that nobody looks at may make room for another

_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "frame-ancestors 'none'",  # beside that of a page itself
    "referrer-policy": "no-referrer",  # addresses hold tokens
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

MakePlan = Callable[[TableWish], TablePlan]
"""Makes a plan of a wish, whose names and options are another's words. Raises ConfigError."""


@dataclass(frozen=True)
class TakenSeat:
    """A person's seat at a table."""

    table: LiveTable
    number: int


class LiveTables:
    """All tables of a server, at most ``most``, and who may see them.

    ``make_plan`` and ``choices`` (what the form offers) belong to the form.
    """

    def __init__(
        self, workers: Workers, make_plan: MakePlan, choices: dict[str, Any], most: int
    ) -> None:
        self.token = secrets.token_urlsafe(16)
        self.workers, self.make_plan, self.choices, self.most = workers, make_plan, choices, most
        self.seats: dict[str, TakenSeat] = {}  # by their tokens

    @property
    def open(self) -> list[LiveTable]:
        """The tables, the oldest first."""
        return list(dict.fromkeys(seat.table for seat in self.seats.values()))

    def add(self, plan: TablePlan, seed: int | None = None) -> dict[int, str]:
        """Open a table; returns the token of each person's seat.

        Where there are too many, one makes room at which nobody has been for LEFT_SECONDS. Raises
        ConfigError where there is none.
        """
        if len(self.open) >= self.most:
            left = [one for one in self.open if one.empty]
            oldest = min(left, key=lambda one: one.left_at, default=None)
            if oldest is None or time.monotonic() - oldest.left_at < LEFT_SECONDS:
                raise ConfigError(
                    f"there must be at most {counted(self.most, 'table')}, which are all taken"
                )
            self.remove(oldest)
        table = LiveTable(plan, self.workers, seed)
        tokens = {seat: secrets.token_urlsafe(16) for seat in plan.people}
        self.seats |= {token: TakenSeat(table, seat) for seat, token in tokens.items()}
        return tokens

    def remove(self, table: LiveTable) -> None:
        """Close a table; its tokens are worth nothing from now on."""
        table.close()
        self.seats = {token: one for token, one in self.seats.items() if one.table is not table}

    def close(self) -> None:
        """Abandon all work of all tables."""
        for table in self.open:
            table.close()
        self.workers.close()


def make_app(tables: LiveTables, names: frozenset[str]) -> ASGIApp:
    """The application, for requests to one of these host ``names`` alone; none: to any."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        tables.close()

    app = Starlette(
        routes=[
            Route("/{token}/", _start, methods=["GET"]),
            Route("/{token}/tables", _make_table, methods=["POST"]),
            Route("/seat/{token}/", _seat_page, methods=["GET"]),
            Route("/seat/{token}/game.jsonl", _saved_game, methods=["GET"]),
            Route("/seat/{token}/open", _opened_game, methods=["GET"]),
            Route("/seat/{token}/analysis", _analysis, methods=["GET"]),
            WebSocketRoute("/seat/{token}/live", _live),
        ],
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # nothing is said of addresses that are not there
    app.state.tables = tables
    return _Guard(app, names)


class _Guard:
    """Refuses what comes from elsewhere, and adds headers to what is answered."""

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        if (why := self._refused(scope)) is not None:
            if scope["type"] == "http":
                await PlainTextResponse(f"{why}\n", 403, _HEADERS)(scope, receive, send)
            else:
                await receive()  # the handshake
                await send({"type": "websocket.close", "code": 1008, "reason": why})
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self._app(scope, receive, answer)

    def _refused(self, scope: Scope) -> str | None:
        """Why a request is refused, None where it is not."""
        given: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name, []).append(value)
        hosts, origins = given.get(b"host", []), given.get(b"origin", [])
        if len(hosts) != 1 or len(origins) > 1:
            return "a request must name one host"
        host = hosts[0].decode("latin-1")
        if self._names and _name_of(host) not in self._names:
            return "this server goes by another name"
        if not origins and scope["type"] == "websocket":
            return "a page must say where it comes from"
        if origins and origins[0].decode("latin-1") != f"http://{host}":
            return "this server answers its own pages alone"
        return None


def _name_of(host: str) -> str | None:
    """The name in a Host header."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def own_names(host: str) -> frozenset[str]:
    """The names under which a server that listens at ``host`` is asked; none: it may be any."""
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        return frozenset()
    local = {"localhost", "127.0.0.1", "::1"} if address.is_loopback else set()
    return frozenset({str(address), *local})


# ------------------------------------------------------------------------------------------ pages


def _tables(request: Request | WebSocket) -> LiveTables:
    tables: LiveTables = request.app.state.tables
    return tables


def _knows_token(request: Request) -> bool:
    given = str(request.path_params["token"]).encode()
    return secrets.compare_digest(given, _tables(request).token.encode())


def _seat_of(request: Request | WebSocket) -> TakenSeat | None:
    return _tables(request).seats.get(str(request.path_params["token"]))


def _nothing() -> Response:
    return PlainTextResponse("There is nothing at this address.\n", 404)


async def _start(request: Request) -> Response:
    if not _knows_token(request):
        return _nothing()
    scripts, styles = ("table.js", "start.js"), ("page.css", "live.css")
    choices = _tables(request).choices
    return HTMLResponse(assembled("start.html", styles, scripts, choices, connects=True))


async def _make_table(request: Request) -> Response:
    if not _knows_token(request):
        return _nothing()
    if request.headers.get("content-type") != "application/json":
        return JSONResponse({"why": "a table is asked for in JSON"}, 415)
    text = b""
    async for part in request.stream():
        text += part
        if len(text) > LONGEST_WISH:
            return JSONResponse({"why": "a table needs fewer words"}, 413)
    tables = _tables(request)
    try:
        wish = read_wish(text.decode("utf-8", "replace"))
        plan = await tables.workers.run("moves", lambda: tables.make_plan(wish)).result()
        tokens = tables.add(plan, wish.seed)
    except HanabiSearchError as error:
        return JSONResponse({"why": str(error)})  # an error's number would be noted by the browser
    seats = [{"seat": seat, "address": f"/seat/{token}/"} for seat, token in tokens.items()]
    return JSONResponse({"seats": seats}, 201)


async def _seat_page(request: Request) -> Response:
    if _seat_of(request) is None:
        return _nothing()
    scripts, styles = ("table.js", "moves.js", "live.js"), ("page.css", "live.css")
    return HTMLResponse(assembled("live.html", styles, scripts, {}, connects=True))


async def _saved_game(request: Request) -> Response:
    if (seat := _seat_of(request)) is None:
        return _nothing()
    try:
        text = seat.table.saved()
    except ConfigError as error:
        return PlainTextResponse(f"{error}\n", 409)
    name = f"hanabi-{seat.table.seed}.jsonl"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, 200, headers, "application/jsonl")


async def _opened_game(request: Request) -> Response:
    if (seat := _seat_of(request)) is None:
        return _nothing()
    try:
        return HTMLResponse(page_of(await seat.table.opened()))
    except ConfigError as error:
        return PlainTextResponse(f"{error}\n", 409)


async def _analysis(request: Request) -> Response:
    if (seat := _seat_of(request)) is None:
        return _nothing()
    if seat.table.analysis is None:
        return PlainTextResponse("the game is not analysed yet\n", 409)
    return HTMLResponse(page_of(seat.table.analysis))


# ------------------------------------------------------------------------------------- live pages


class _OpenPage:
    """The connection of an open page: what it is told and what it says wait in line, apart."""

    def __init__(self, socket: WebSocket, seat: TakenSeat) -> None:
        self._socket, self._seat = socket, seat
        self._told: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._said: asyncio.Queue[PageMessage] = asyncio.Queue(SAID)

    def tell(self, message: dict[str, Any]) -> None:
        self._told.put_nowait(message if self._told.qsize() < WAITING else None)

    async def run(self) -> None:
        """Until the page is closed, takes too long, or says too much that is nothing."""
        tasks = [asyncio.create_task(one) for one in (self._send(), self._listen(), self._do())]
        self._seat.table.join(self._seat.number, self)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._seat.table.leave(self._seat.number, self)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send(self) -> None:
        while (message := await self._told.get()) is not None:
            await self._socket.send_text(json.dumps(message, separators=(",", ":")))
        await self._socket.close(1013, "this page takes too long")

    async def _listen(self) -> None:
        mistakes = 0
        while mistakes < MISTAKES:
            received = await self._socket.receive()
            if received["type"] == "websocket.disconnect":
                return
            text = received.get("text")
            try:
                message = read_message(text if text is not None else received.get("bytes") or b"")
                self._said.put_nowait(message)
            except ConfigError as error:
                mistakes += 1
                self._refuse(error)
            except asyncio.QueueFull:
                mistakes += 1
                self._refuse(ConfigError("one thing after the other, please"))
        await self._socket.close(1008, "too many messages that are none")

    async def _do(self) -> None:
        while True:
            message = await self._said.get()
            try:
                await self._seat.table.hear(self._seat.number, message)
            except HanabiSearchError as error:
                self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        self.tell({"kind": "refused", "why": str(error)})


async def _live(socket: WebSocket) -> None:
    seat = _seat_of(socket)
    if seat is None:
        await socket.close(1008)
        return
    await socket.accept()
    if len(seat.table.pages(seat.number)) >= PAGES_OF_A_SEAT:
        await socket.close(1008, "this seat is open in too many pages")
        return
    await _OpenPage(socket, seat).run()
