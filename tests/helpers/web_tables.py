"""A server of tables in a thread, and plain clients of it."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from websockets.sync.client import ClientConnection, connect

from hanabi_search_plugin.cli.table_plans import choices, plan_of_wish
from hanabi_search_plugin.serving.live_table import TablePlan
from hanabi_search_plugin.serving.page_messages import TableWish, read_wish
from hanabi_search_plugin.serving.web_app import LiveTables
from hanabi_search_plugin.serving.web_server import listen, server_of
from hanabi_search_plugin.serving.workers import Workers

SMALL = {"colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 3, "bomb": "keep"}


def budget_of(search: str) -> str:
    """What a search of the form counts: rollouts or iterations."""
    return next(one["budget"]["name"] for one in choices()["searches"] if one["name"] == search)


def wish(
    *seats: str,
    seed: int | None = 1,
    advice: int = 100,
    belief: str = "exact",
    **config: Any,
) -> TableWish:
    """The wish of a form.

    Seats are "person", "person:" and whom they are taken for, a policy, or "policy+search=budget".
    """
    found = []
    for seat in seats:
        policy, _, search = seat.partition("+")
        name, _, budget = search.partition("=")
        who, _, taken = policy.partition(":")
        person = who == "person"
        options = {budget_of(name): int(budget)} if budget else {}
        found.append(
            {
                "who": "person" if person else "policy",
                "policy": (taken or "smartbot") if person else policy,
                "search": name or "none",
                "options": options,
            }
        )
    content = {"config": config, "seats": found, "advice": advice, "seed": seed}
    content["belief"] = belief
    return read_wish(json.dumps(content))


@dataclass
class Site:
    """A server that runs."""

    tables: LiveTables
    address: str  # http://127.0.0.1:PORT
    loop_thread: threading.Thread

    def open(self, plan: TablePlan | TableWish, seed: int | None = 1) -> dict[int, str]:
        """Open a table from outside; the paths of its seats."""
        made = plan_of_wish(plan) if isinstance(plan, TableWish) else plan
        return {seat: f"/seat/{token}/" for seat, token in self.tables.add(made, seed).items()}

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer. ``headers`` in place of a browser's own."""
        where = urlsplit(self.address)
        assert where.hostname is not None
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=60)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, found, answer.read()
        finally:
            connection.close()

    def sit(self, path: str, origin: str | None = "", **options: Any) -> ClientConnection:
        """The connection of a page that was opened at ``path``."""
        given = self.address if origin == "" else origin
        return connect(
            f"ws{self.address.removeprefix('http')}{path}live",
            origin=given,  # type: ignore[arg-type]  # a NewType of str
            compression=None,
            max_size=None,
            **options,
        )


@contextlib.contextmanager
def serving(threads: int = 1, most: int = 100) -> Iterator[Site]:
    """A server of this process, at a free port of 127.0.0.1."""
    tables = LiveTables(Workers(threads), plan_of_wish, choices(), most)
    with listen(ipaddress.ip_address("127.0.0.1"), 0) as listening:
        server = server_of(tables, listening)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening.socket]})
        thread.start()
        try:
            wait_for(lambda: server.started)
            yield Site(tables, listening.address, thread)
        finally:
            server.should_exit = True
            thread.join()


def wait_for(true: Callable[[], object], seconds: float = 120) -> None:
    """Until something is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "this never came"
        time.sleep(0.005)


class Player:
    """A page without a browser: what it was told, and what it does."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.heard: list[dict[str, Any]] = []
        self.state: dict[str, Any] = {}
        self.game: dict[str, Any] = {}

    def hear(self) -> dict[str, Any]:
        """The next message."""
        message: dict[str, Any] = json.loads(self.socket.recv(timeout=120))
        self.heard.append(message)
        if message["kind"] == "state":
            self.state = message
        elif message["kind"] == "game":
            self.game, self.state = message["game"], {}
        elif message["kind"] == "turns":
            self.game["turns"][message["from"] :] = message["turns"]
            self.game["cards"] = message["cards"]
        return message

    def hear_until(self, true: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """The first message that is so."""
        while not true(message := self.hear()):
            pass
        return message

    def say(self, kind: str, **more: Any) -> None:
        turn = len(self.game["turns"]) - 1
        self.socket.send(json.dumps({"kind": kind, "turn": turn, **more}))

    def to_move(self) -> list[int] | None:
        """The moves that are allowed, once it is this seat's turn; None: the game is over."""
        while True:
            state = self.state
            fits = state and state["turn"] == len(self.game["turns"]) - 1
            if fits and (state["ended"] or state["stopped"] or state["broken"]):
                return None
            if fits and state["moves"]:
                return [a for a, why in enumerate(state["moves"]) if why is None]
            self.hear()

    def play(self, action: int) -> None:
        """Play a move, and hear of it."""
        self.say("move", action=action)
        self.hear_until(lambda one: one["kind"] in ("turns", "refused"))
