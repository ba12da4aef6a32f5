"""A server of tables: whom it lets in, what can be reached, and games played at it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="needs the extra web")
pytest.importorskip("uvicorn", reason="needs the extra web")
from websockets.exceptions import ConnectionClosed, InvalidStatus

from hanabi_search_plugin import UniformPolicy
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.cli.table_plans import offered_searches, plan_of_wish
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import BoolArray, IntArray, View
from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.watching import report_rollouts
from hanabi_search_plugin.hanabi.files.any_games import read_any_games
from hanabi_search_plugin.serving import web_app
from hanabi_search_plugin.serving.web_app import own_names
from tests.helpers.web_tables import SMALL, Player, Site, serving, wait_for, wish


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


def host_of(site: Site) -> str:
    return site.address.removeprefix("http://")


# --------------------------------------------------------------------------- who is let in


def test_nothing_is_at_any_address_without_its_token(site: Site) -> None:
    paths = site.open(wish("person", "smartbot", **SMALL))
    good = [f"/{site.tables.token}/", paths[0]]
    assert [site.ask("GET", path)[0] for path in good] == [200, 200]
    for path in (
        *("/", "/x/", "/seat/", "/seat/x/", "/seat/x/open", "/seat/x/game.jsonl", "/favicon.ico"),
        f"/{site.tables.token[:-1]}/",
        f"/{paths[0].split('/')[2]}/",  # a seat's token makes no tables
        f"/seat/{site.tables.token}/",
    ):
        assert site.ask("GET", path)[0] == 404, path
    for path in ("/x/tables", f"/{paths[0].split('/')[2]}/tables"):
        assert site.ask("POST", path, b"{}")[0] == 404, path


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/{token}/../../pyproject.toml",
        "/{token}/..%2f..%2fpyproject.toml", "/{token}/page.css", "/{token}/web/table.js",
        "/{token}//etc/passwd", "/seat/{seat}/../../table.js", "/seat/{seat}/%00",
        "/seat/{seat}/game.jsonl/../../x", "//etc/passwd", "/{token}/tables", "/static/live.js",
        "/seat/{seat}/live",
    ],
)  # fmt: skip
def test_no_file_can_be_reached(site: Site, path: str) -> None:
    paths = site.open(wish("person", "smartbot", **SMALL))
    asked = path.format(token=site.tables.token, seat=paths[0].split("/")[2])
    for method in ("GET", "PUT", "DELETE", "POST", "OPTIONS", "TRACE"):
        status, _, body = site.ask(method, asked)
        assert status in (404, 405, 415), (method, status)
        assert len(body) < 100 and b"import" not in body and b"root:" not in body


def test_pages_of_other_origins_are_refused(site: Site) -> None:
    path = site.open(wish("person", "smartbot", **SMALL))[0]
    for origin in ("http://evil.example", "null", "https://" + host_of(site), "http://127.0.0.1:1"):
        for method, where in (("GET", path), ("POST", f"/{site.tables.token}/tables")):
            assert site.ask(method, where, Origin=origin)[0] == 403, origin
        with pytest.raises(InvalidStatus) as refused:
            site.sit(path, origin=origin)
        assert refused.value.response.status_code == 403
    with pytest.raises(InvalidStatus):
        site.sit(path, origin=None)
    assert site.ask("GET", path, Origin=site.address)[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "", "127.0.0.1.evil.example", "[::"]
)
def test_a_server_answers_to_its_own_names_alone(site: Site, host: str) -> None:
    given = host.format(port=host_of(site).partition(":")[2])
    assert site.ask("GET", f"/{site.tables.token}/", Host=given)[0] in (400, 403)


def test_a_server_of_this_machine_goes_by_its_names_at_any_port(site: Site) -> None:
    assert own_names("127.0.0.1") == own_names("::1") == {"127.0.0.1", "localhost", "::1"}
    assert own_names("192.168.1.5") == {"192.168.1.5"} and own_names("0.0.0.0") == frozenset()
    for host in ("localhost:1", "[::1]:9", "127.0.0.1"):  # through a tunnel, say
        assert site.ask("GET", f"/{site.tables.token}/", Host=host)[0] == 200


def test_a_seat_that_is_not_known_has_no_messages(site: Site) -> None:
    with pytest.raises(InvalidStatus) as refused:
        site.sit("/seat/x/")
    assert refused.value.response.status_code == 403


def test_pages_ask_for_nothing_and_are_framed_by_nobody(site: Site) -> None:
    path = site.open(wish("person", "smartbot", **SMALL))[0]
    for where in (path, f"/{site.tables.token}/"):
        status, headers, body = site.ask("GET", where)
        assert status == 200 and len(body) < 100_000
        assert headers["content-security-policy"] == "frame-ancestors 'none'"
        assert (
            headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store"
        )
        assert headers["x-content-type-options"] == "nosniff" and "server" not in headers
        page = body.decode()
        assert "default-src 'none'; script-src 'sha256-" in page and "connect-src 'self'" in page
        assert set(re.findall(r"\w+://[^\s\"'`)]+", page)) <= {"http://www.w3.org/2000/svg"}
        writes = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
        assert not re.findall(writes, page)


# --------------------------------------------------------------------------- tables by the form


def ask_for(site: Site, content: Any, **headers: str) -> tuple[int, dict[str, Any]]:
    given = {"Content_Type": "application/json"} | headers
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    status, _, answer = site.ask("POST", f"/{site.tables.token}/tables", body, **given)
    return status, json.loads(answer)


SEAT = {"policy": "smartbot", "search": "none", "options": {}}
FORM = {"config": SMALL, "advice": 50, "seats": [SEAT | {"who": "person"}] * 2}


def test_a_form_opens_a_table_with_an_address_for_each_person(site: Site) -> None:
    status, answer = ask_for(site, FORM)
    assert status == 201 and [one["seat"] for one in answer["seats"]] == [0, 1]
    for one in answer["seats"]:
        with site.sit(one["address"]) as socket:
            player = Player(socket)
            player.hear_until(lambda message: message["kind"] == "state")
            assert player.game["seat"] == one["seat"]


def test_what_is_no_form_is_refused(site: Site) -> None:
    before = len(site.tables.open)
    assert ask_for(site, FORM, Content_Type="text/plain")[0] == 415
    assert ask_for(site, b"x" * 20_000) == (413, {"why": "a table needs fewer words"})
    assert ask_for(site, b"\xff\xfe")[0] == 200
    status, answer = ask_for(site, FORM | {"config": {"colors": 7}})
    assert status == 200 and answer["why"] == "colors must be from 1 to 5, got 7"
    assert len(site.tables.open) == before


def test_tables_are_so_many_and_those_that_were_left_make_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(most=2) as site:
        first, second = (site.open(wish("person", "smartbot", **SMALL)) for _ in range(2))
        status, answer = ask_for(site, FORM)
        assert status == 200 and "at most 2 tables, which are all taken" in answer["why"]
        monkeypatch.setattr(web_app, "LEFT_SECONDS", 0.0)
        with site.sit(first[0]) as socket:
            Player(socket).hear()
            assert ask_for(site, FORM)[0] == 201
            assert site.ask("GET", second[0])[0] == 404  # it was the empty one
            assert site.ask("GET", first[0])[0] == 200


# --------------------------------------------------------------------------- games


def play_out(player: Player, rng: np.random.Generator) -> None:
    while (legal := player.to_move()) is not None:
        player.play(int(rng.choice(legal)))


def test_a_whole_game_and_what_is_to_be_had_after_it(site: Site) -> None:
    path = site.open(wish("person", "smartbot", **SMALL))[0]
    with site.sit(path) as socket:
        player = Player(socket)
        assert player.to_move() is not None
        for part in ("open", "game.jsonl", "analysis"):
            assert site.ask("GET", path + part)[0] == 409
        player.say("analyse")
        assert "the end of the game alone" in player.hear_until(_refused)["why"]
        play_out(player, np.random.default_rng(1))
        ended = player.state["ended"]
        status, headers, saved = site.ask("GET", path + "game.jsonl")
        assert status == 200 and headers["content-disposition"].startswith("attachment; ")
        (tmp,) = [json.loads(saved)]
        assert tmp["score"] == ended["score"] and tmp["policies"] == ["human", "smartbot"]
        assert len(tmp["actions"]) == len(player.game["turns"]) - 1
        status, _, page = site.ask("GET", path + "open")
        assert status == 200 and b'"seat":null' in page and len(page) < 1_000_000
        player.say("analyse")
        player.hear_until(lambda one: one["kind"] == "state" and one["analysing"])
        player.hear_until(lambda one: one["kind"] == "state" and one["analysed"])
        status, _, page = site.ask("GET", path + "analysis")
        assert status == 200 and b'"mistake":' in page and len(page) < 1_000_000
        player.say("again")
        player.hear_until(lambda one: one["kind"] == "game")
        assert len(player.game["turns"]) == 1 and player.to_move() is not None
        assert site.ask("GET", path + "analysis")[0] == 409


def test_the_analysis_shows_the_belief_that_the_form_asked_for(site: Site) -> None:
    path = site.open(wish("person", "smartbot", belief="grounded", **SMALL))[0]
    with site.sit(path) as socket:
        player = Player(socket)
        play_out(player, np.random.default_rng(1))
        player.say("analyse")
        player.hear_until(lambda one: one["kind"] == "state" and one["analysed"])
        _, _, page = site.ask("GET", path + "analysis")
        assert b'"belief":{"kind":"model","name":"grounded"' in page and b'"mistake":' in page


@pytest.mark.parametrize("search", offered_searches())
def test_every_search_plays_beside_a_person(site: Site, search: str) -> None:
    learned = search == "lbs"  # over a network, of whole games
    if learned:
        pytest.importorskip("torch", reason="lbs needs a network: the extra torch")
    seats = ("person:rlnet", "rlnet+lbs=40") if learned else ("person", f"vdb+{search}=40")
    path = site.open(wish(*seats, **({} if learned else SMALL)))[0]
    with site.sit(path) as socket:
        player, rng = Player(socket), np.random.default_rng(3)
        moves = 0
        while moves < (3 if learned else 100) and (legal := player.to_move()) is not None:
            player.play(int(rng.choice(legal)))
            moves += 1
        player.to_move()
        assert not player.state["broken"] and not player.state["stopped"]
        assert len(player.game["turns"]) > 6  # three of the search's at least


def _refused(message: dict[str, Any]) -> bool:
    return bool(message["kind"] == "refused")


def test_a_saved_game_is_read_again(site: Site, tmp_path: Any) -> None:
    path = site.open(wish("person", "smartbot", seed=4, **SMALL), seed=4)[0]
    with site.sit(path) as socket:
        player = Player(socket)
        play_out(player, np.random.default_rng(2))
        (tmp_path / "g.jsonl").write_bytes(site.ask("GET", path + "game.jsonl")[2])
        (record,) = read_any_games(tmp_path / "g.jsonl")
        turns = player.game["turns"][:-1]
        assert record.actions == tuple(turn["move"]["action"] for turn in turns)
        assert record.seed == 4


def test_moves_are_taken_back_and_the_game_ended(site: Site) -> None:
    path = site.open(wish("person", "smartbot", **SMALL))[0]
    with site.sit(path) as socket:
        player = Player(socket)
        legal = player.to_move()
        assert legal is not None
        player.say("take_back")
        assert "nothing to take back" in player.hear_until(_refused)["why"]
        first = json.dumps(player.game)
        player.play(legal[0])
        assert player.to_move() is not None and player.state["can_take_back"]
        player.say("take_back")
        player.hear_until(lambda one: one["kind"] == "game")
        assert json.dumps(player.game) == first and player.to_move() == legal
        player.play(legal[-1])
        assert player.to_move() is not None
        player.say("stop")
        player.hear_until(lambda one: one["kind"] == "state" and one["stopped"])
        player.say("move", action=legal[0])
        assert "the game is over" in player.hear_until(_refused)["why"]
        saved = json.loads(site.ask("GET", path + "game.jsonl")[2])
        assert "score" not in saved and len(saved["actions"]) == 2


def test_what_does_not_fit_the_game_is_refused(site: Site) -> None:
    paths = site.open(wish("person", "person", **SMALL))
    with site.sit(paths[0]) as one, site.sit(paths[1]) as two:
        first, second = Player(one), Player(two)
        legal = first.to_move()
        assert legal is not None
        second.hear_until(lambda message: message["kind"] == "state")
        second.say("move", action=legal[0])
        assert "it is the turn of P0, not yours" in second.hear_until(_refused)["why"]
        second.say("advise")
        assert "it is the turn of P0, not yours" in second.hear_until(_refused)["why"]
        first.say("move", action=9_999)
        assert "action must be from 0 to" in first.hear_until(_refused)["why"]
        first.say("move", action=0)  # a discard with all hints there
        assert "all 3 information tokens are there" in first.hear_until(_refused)["why"]
        one.send(json.dumps({"kind": "move", "turn": 5, "action": legal[0]}))
        assert "seen 5 moves, and the game has 0" in first.hear_until(_refused)["why"]
        first.say("again")
        assert "after the end of a game" in first.hear_until(_refused)["why"]
        first.play(legal[0])
        second.hear_until(lambda message: message["kind"] == "turns")
        assert second.to_move() is not None


def test_who_says_nothing_but_nonsense_is_shown_out(site: Site) -> None:
    path = site.open(wish("person", "smartbot", **SMALL))[0]
    with site.sit(path) as socket:
        player = Player(socket)
        for _ in range(web_app.MISTAKES):
            socket.send("nonsense")
        with pytest.raises(ConnectionClosed) as closed:
            player.hear_until(lambda message: False)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1008
    with site.sit(path) as socket:
        socket.send("x" * 100_000)
        with pytest.raises(ConnectionClosed) as closed:
            Player(socket).hear_until(lambda message: False)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009


def test_a_seat_is_open_in_few_pages(site: Site) -> None:
    path = site.open(wish("person", "smartbot", **SMALL))[0]
    with ExitStack() as stack:
        pages = range(web_app.PAGES_OF_A_SEAT)
        players = [Player(stack.enter_context(site.sit(path))) for _ in pages]
        for player in players:
            assert player.to_move() is not None
        with site.sit(path) as more, pytest.raises(ConnectionClosed):
            more.recv(timeout=30)
        players[0].play((players[0].to_move() or [0])[0])
        for player in players[1:]:
            player.hear_until(lambda message: message["kind"] == "turns")


def test_advice_says_what_every_move_is_worth(site: Site) -> None:
    path = site.open(wish("person", "smartbot", advice=300, **SMALL))[0]
    with site.sit(path) as socket:
        player = Player(socket)
        legal = player.to_move()
        player.say("advise")
        advice = player.hear_until(lambda message: message["kind"] == "advice")
        assert [move["action"] for move in advice["search"]["moves"]] == legal
        assert advice["search"]["action"] in (legal or []) and advice["turn"] == 0
        assert len(advice["belief"]["slots"]) == SMALL["hand_size"]
        for slot in advice["belief"]["slots"]:
            assert abs(sum(slot) - 1) < 1e-3


# --------------------------------------------------------------------------- searches


class Endless:
    """A search that goes on until nobody waits for it."""

    def __init__(self) -> None:
        self.began, self.ended = 0, 0

    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
        self.began += 1
        try:
            while True:
                time.sleep(0.002)
                report_rollouts(1)
        finally:
            self.ended += 1


def endless_table(site: Site, *, advises: bool) -> tuple[Endless, dict[int, str]]:
    """A table at which one search never ends: the adviser's, or that of seat 0."""
    plan, search = plan_of_wish(wish("smartbot", "person", "person", **SMALL)), Endless()
    agent = upgrade(plan.policies, plan.game, search)
    site.tables.workers.ready.add(repr((plan.game, plan.policies, agent)))
    if advises:
        return search, site.open(replace(plan, adviser=agent))
    plan = replace(plan, policies=(agent, *plan.policies[1:]), searches=("endless", None, None))
    site.tables.workers.ready.add(repr((plan.game, plan.policies, plan.adviser)))
    return search, site.open(plan)


def test_a_closed_page_frees_the_search_of_its_table(site: Site) -> None:
    search, paths = endless_table(site, advises=False)
    for again in (1, 2):
        with site.sit(paths[1]) as one:
            player = Player(one)
            thinking = player.hear_until(lambda m: m["kind"] == "state" and m["thinking"])
            assert thinking["thinking"]["seat"] == 0 and thinking["thinking"]["search"] == "endless"
            wait_for(lambda again=again: search.began == again)
            with site.sit(paths[2]) as two:
                Player(two).hear()
            assert search.ended == again - 1  # one page is still there
        wait_for(lambda again=again: search.ended == again)
    wait_for(lambda: site.tables.workers.busy == 0)


def test_a_closed_page_frees_its_search_for_advice(site: Site) -> None:
    search, paths = endless_table(site, advises=True)
    with site.sit(paths[2]) as other, site.sit(paths[1]) as socket:
        player = Player(socket)
        assert player.to_move() is not None
        player.say("advise")
        told = player.hear_until(lambda m: m["kind"] == "advice_progress" and m["rollouts"] > 0)
        assert search.began == 1 and told["rollouts"] > 0
        player.say("advise")
        assert "runs already" in player.hear_until(_refused)["why"]
        player.say("hush")
        player.hear_until(lambda m: m["kind"] == "state" and not m["advising"])
        wait_for(lambda: search.ended == 1)
        player.say("advise")
        wait_for(lambda: search.began == 2)
        socket.close()
        wait_for(lambda: search.ended == 2)
        kinds = {message["kind"] for message in _all_heard(Player(other))}
        assert kinds <= {"game", "state", "turns"}  # advice is for the seat that asked


def _all_heard(player: Player) -> list[dict[str, Any]]:
    with pytest.raises(TimeoutError):
        while True:
            player.heard.append(json.loads(player.socket.recv(timeout=0.3)))
    return player.heard


def test_a_move_ends_the_search_for_advice_and_taking_back_that_of_a_policy(site: Site) -> None:
    search, paths = endless_table(site, advises=False)
    with site.sit(paths[1]) as socket:
        player = Player(socket)
        player.hear_until(lambda m: m["kind"] == "state" and m["thinking"])
        wait_for(lambda: search.began == 1)  # what is stopped before does not begin at all
        player.say("stop")
        player.hear_until(lambda m: m["kind"] == "state" and m["stopped"])
        wait_for(lambda: search.ended == 1)
    search, paths = endless_table(site, advises=True)
    with site.sit(paths[1]) as socket:
        player = Player(socket)
        legal = player.to_move() or []
        player.say("advise")
        wait_for(lambda: search.began == 1)
        player.play(legal[0])
        wait_for(lambda: search.ended == 1)


def test_a_search_keeps_no_other_table_from_moving(site: Site) -> None:
    search, paths = endless_table(site, advises=False)
    with site.sit(paths[1]) as socket:
        Player(socket).hear_until(lambda m: m["kind"] == "state" and m["thinking"])
        wait_for(lambda: search.began == 1)  # and it has the only thread for searches
        path = site.open(wish("person", "random", **SMALL))[0]
        site.tables.workers.ready.add(site.tables.seats[path.split("/")[2]].table._kind)
        with site.sit(path) as other:
            play_out(Player(other), np.random.default_rng(3))
    wait_for(lambda: search.ended == 1)


class Failing(Policy):
    """Fails where it is to move."""

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        raise ZeroDivisionError("of a secret card")


def test_a_policy_that_fails_stops_its_table_and_tells_pages_nothing_of_it(site: Site) -> None:
    plan = plan_of_wish(wish("person", "smartbot", **SMALL))
    plan = replace(plan, policies=(UniformPolicy(), Failing()))
    site.tables.workers.ready.add(repr((plan.game, plan.policies, plan.adviser)))
    path = site.open(plan)[0]
    with site.sit(path) as socket:
        player = Player(socket)
        player.play((player.to_move() or [0])[0])
        broken = player.hear_until(lambda m: m["kind"] == "state" and m["broken"])["broken"]
        assert "a policy of this table failed" in broken and "secret" not in broken
        player.say("take_back")
        assert "failed" in player.hear_until(_refused)["why"]


# --------------------------------------------------------------------------- load


def test_fifty_tables_at_once(site: Site) -> None:
    tables = 50
    wishes = [
        wish("person", ("smartbot", "vdb", "smartbot+sparta=60")[n % 3], seed=n, **SMALL)
        for n in range(tables)
    ]
    with ExitStack() as stack:
        paths = [site.open(one, seed=one.seed)[0] for one in wishes]
        players = [Player(stack.enter_context(site.sit(path))) for path in paths]
        rngs = [np.random.default_rng(n) for n in range(tables)]
        running = set(range(tables))
        while running:
            for number in sorted(running):  # all have moved before an answer is waited for
                legal = players[number].to_move()
                if legal is None:
                    running.remove(number)
                else:
                    players[number].say("move", action=int(rngs[number].choice(legal)))
            for number in running:
                players[number].hear_until(lambda one: one["kind"] == "turns")
        assert all(player.state["ended"] for player in players)
        assert not [one for player in players for one in player.heard if one["kind"] == "refused"]
    wait_for(lambda: site.tables.workers.busy == 0)


def test_a_wish_of_too_many_tables_is_refused_by_the_tables() -> None:
    with serving(most=1) as site:
        site.open(wish("person", "smartbot", **SMALL))
        with pytest.raises(ConfigError, match="at most 1 table"):
            site.open(wish("person", "smartbot", **SMALL))
