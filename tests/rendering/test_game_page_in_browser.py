"""The page of a game in headless Chromium: stepped through, and what it must not do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hanabi_search_plugin import HanabiGame
from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.hanabi.files.game_document import as_seen_by, game_document
from hanabi_search_plugin.hanabi.files.shown_beliefs import ModelBeliefs
from hanabi_search_plugin.rendering.game_page import GamePage, write_page
from tests.helpers.browser import chromium, complaints, requests, resize
from tests.helpers.game_pages import HOSTILE, analysed_document, document_of, random_game

LEFT, RIGHT, HOME, END = "\ue012", "\ue014", "\ue011", "\ue010"  # WebDriver's names of keys


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return document_of("ann", "bob")


@pytest.fixture(scope="module")
def learned_document() -> dict[str, Any]:
    """Beliefs of a model that says it has learned games of rlnet."""
    game = random_game(("rlnet", "bob"))
    short = replace(game, record=replace(game.record, actions=game.record.actions[:8]))
    short = replace(short, decisions={t: one for t, one in game.decisions.items() if t < 8})
    model = Grounded(HanabiGame(short.record.config))
    model.policy = "rlnet"
    return game_document(short, model=ModelBeliefs(model, "mine", samples=40))


@pytest.fixture
def open_page(driver: Any, tmp_path: Path) -> Any:
    """Opens the page of a document; afterwards nothing else was asked for or complained of."""
    asked: list[str] = []

    def open_page(document: dict[str, Any], mark: str = "") -> Any:
        resize(driver, 1280, 800)
        path = tmp_path / "game.html"
        write_page(path, document)
        complaints(driver), requests(driver)
        driver.get("about:blank")
        driver.get(path.as_uri() + mark)
        asked.append(path.as_uri())
        return driver

    yield open_page
    assert complaints(driver) == []
    assert {url.partition("#")[0] for url in requests(driver)} - {"about:blank"} == set(asked)


def press(driver: Any, *keys: str) -> None:
    from selenium.webdriver.common.by import By

    body = driver.find_element(By.TAG_NAME, "body")
    for key in keys:
        body.send_keys(key)


def text(driver: Any, selector: str) -> str:
    script = "return document.querySelector(arguments[0]).innerText"
    return str(driver.execute_script(script, selector))


def count(driver: Any, selector: str) -> int:
    script = "return document.querySelectorAll(arguments[0]).length"
    return int(driver.execute_script(script, selector))


def labels(driver: Any) -> list[str]:
    """Of all cards in hands."""
    script = "return [...document.querySelectorAll('.slot')].map(e => e.ariaLabel)"
    return [str(label) for label in driver.execute_script(script)]


def name(document: dict[str, Any], order: int) -> str:
    card = document["cards"][order]
    return f"{'RYGWB'[card // 5]}{card % 5 + 1}"


def expected_labels(document: dict[str, Any], number: int) -> list[str]:
    return [
        f"P{seat} slot {slot}: {name(document, order)}"
        for seat, hand in enumerate(document["turns"][number]["hands"])
        for slot, order in enumerate(hand)
    ]


def test_a_replay_is_stepped_through_by_keys(open_page: Any, document: dict[str, Any]) -> None:
    driver = open_page(document)
    last = len(document["turns"]) - 1
    for number, turn in enumerate(document["turns"]):
        shown, at, said, ribbons = driver.execute_script(
            "const text = id => document.querySelector(id).innerText;"
            "return [[...document.querySelectorAll('.slot')].map(e => e.ariaLabel),"
            "text('#at'), text('.said'), document.querySelectorAll('.ribbon').length]"
        )
        assert [label.partition(",")[0] for label in shown] == expected_labels(document, number)
        if turn["move"] is None:
            assert at == f"End of {last}" and said.startswith("The game is over")
        else:
            assert at == f"Turn {number + 1} of {last}" and said.startswith(f"P{turn['mover']} ")
            marked = len(turn["move"]["touched"]) if turn["move"]["card"] is None else 1
            assert ribbons == marked
        press(driver, RIGHT)
    assert text(driver, "#at") == f"End of {last}"
    press(driver, LEFT)
    assert text(driver, "#at") == f"Turn {last} of {last}"
    press(driver, HOME)
    assert text(driver, "#at") == f"Turn 1 of {last}"
    press(driver, END)
    assert text(driver, "#at") == f"End of {last}"


def test_mouse_and_slider_step_too(open_page: Any, document: dict[str, Any]) -> None:
    driver = open_page(document, "#turn=7")
    assert text(driver, "#at").startswith("Turn 7 ")
    driver.execute_script("document.getElementById('next').click()")
    assert text(driver, "#at").startswith("Turn 8 ")
    driver.execute_script("document.querySelector('#list button[data-turn=\"20\"]').click()")
    assert text(driver, "#at").startswith("Turn 21 ")
    driver.execute_script(
        "const slider = document.getElementById('slider');"
        "slider.value = 4; slider.dispatchEvent(new Event('input'))"
    )
    assert text(driver, "#at").startswith("Turn 5 ")
    driver.execute_script(
        "const box = document.getElementById('curve').getBoundingClientRect();"
        "document.getElementById('curve').setPointerCapture = () => {};"
        "document.getElementById('curve').dispatchEvent(new PointerEvent('pointerdown',"
        "{clientX: box.right - 8, clientY: box.top + 9, bubbles: true}))"
    )
    assert text(driver, "#at").startswith("End ")


def test_a_searched_move_shows_every_legal_move(open_page: Any, document: dict[str, Any]) -> None:
    driver = open_page(document)
    changed = [
        number
        for number, turn in enumerate(document["turns"])
        if turn["search"] and turn["search"]["action"] != turn["search"]["blueprint_action"]
    ]
    press(driver, "n")
    assert text(driver, "#at").startswith(f"Turn {changed[0] + 1} ")
    press(driver, "n", "p")
    assert text(driver, "#at").startswith(f"Turn {changed[0] + 1} ")
    search = document["turns"][changed[0]]["search"]
    if len(search["moves"]) > 8:
        driver.execute_script("document.querySelector('.more').click()")
    rows = driver.execute_script(
        "return [...document.querySelectorAll('[role=listitem] .worth')].map(e => e.innerText)"
    )
    best = sorted(search["moves"], key=lambda move: -move["mean"])
    assert [row.split()[0] for row in rows] == [f"{move['mean']:.2f}" for move in best]
    assert count(driver, ".value.dropped") == sum(move["dropped"] for move in best)
    assert count(driver, ".value.chosen") == 1
    assert f"+{search['gain']:.2f} ± {search['gain_stderr']:.2f}" in text(driver, "#decision")


def test_the_mistakes_of_an_analysed_game_are_stepped_through(open_page: Any) -> None:
    driver = open_page(analysed_document(mistakes=(5, 9)))
    assert text(driver, "#changed") == "Next mistake"
    driver.execute_script("document.getElementById('changed').click()")
    assert text(driver, "#at").startswith("Turn 6 ")
    press(driver, "n")
    assert text(driver, "#at").startswith("Turn 10 ")
    body = text(driver, "body")
    assert "A mistake: it gave away" in body and "1.25" in body
    press(driver, "p")
    assert text(driver, "#at").startswith("Turn 6 ")
    press(driver, RIGHT, RIGHT)
    body = text(driver, "body")
    assert "A mistake" not in body and "No other move was worth more." in body
    press(driver, END)
    assert "moves were mistakes, which gave away 2.50 points in all." in text(driver, "body")


def test_a_seat_sees_its_own_cards_face_down(open_page: Any, document: dict[str, Any]) -> None:
    driver = open_page(document, "#turn=9")
    press(driver, "1")
    shown = labels(driver)
    own = [label for label in shown if label.startswith("P1 ")]
    assert own and all("hidden card" in label for label in own)
    others = [label.partition(",")[0] for label in shown if label.startswith("P0 ")]
    assert others == [one for one in expected_labels(document, 8) if one.startswith("P0 ")]
    assert count(driver, ".bars") == len(own)
    press(driver, "a")
    assert "hidden card" not in "".join(labels(driver))


def test_the_belief_of_a_card_is_shown_in_full(open_page: Any, document: dict[str, Any]) -> None:
    driver = open_page(document, "#turn=12")
    driver.execute_script("document.querySelectorAll('.slot')[1].click()")
    assert text(driver, "#belief h2").upper() == "P0, SLOT 1"
    cells = driver.execute_script(
        "return [...document.querySelectorAll('.cell')].map(e => e.innerText)"
    )
    chances = document["turns"][11]["beliefs"][0]["slots"][1]
    assert len(cells) == len(chances) == 25
    for cell, chance in zip(cells, chances, strict=True):
        assert (cell in ("·", "0")) == (chance == 0)
        if cell.isdecimal() and chance > 0:
            assert abs(int(cell) - 100 * chance) <= 0.51


@pytest.mark.parametrize("width", [1280, 390])
def test_a_learned_belief_is_drawn_and_named(
    open_page: Any, learned_document: dict[str, Any], width: int
) -> None:
    """Bars, their label beside each hand, and whose games it has learned; in both themes."""
    driver = open_page(learned_document, "#turn=4")
    resize(driver, width, 844, phone=width < 600)
    driver.execute_script("document.querySelectorAll('.slot')[1].click()")
    said = (
        "Percent, learned belief mine from games of rlnet, the mean over 40 sampled hands. "
        "It does not know the others: P1 plays bob."
    )
    looks = set()
    for _ in range(2):
        labels = driver.execute_script(
            "return [...document.querySelectorAll('.knows')].map(e => e.innerText)"
        )
        assert labels == ["learned belief mine"] * 2
        assert text(driver, "#belief > .facts") == said
        assert "learned belief mine, 40 sampled hands" in text(driver, "#subtitle")
        drawn = driver.execute_script(
            "return [...document.querySelectorAll('.slot')[1].querySelectorAll('.bar')]"
            ".filter(bar => bar.querySelector('svg')).map(bar => [bar.innerText.split(/\\s+/),"
            " bar.querySelector('svg').getBoundingClientRect().width,"
            " bar.querySelectorAll('rect')[1].getBoundingClientRect().width])"
        )
        chances = learned_document["turns"][3]["beliefs"][0]["slots"][1]
        best = sorted((c, -i) for i, c in enumerate(chances) if c)[::-1]
        assert drawn
        for ((name_, *_), whole, bar), (chance, identity) in zip(drawn, best, strict=False):
            assert name_ == f"{'RYGWB'[-identity // 5]}{-identity % 5 + 1}"
            assert whole > 5 and bar == pytest.approx(whole * chance, abs=0.6)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= width
        looks.add(driver.execute_script("return getComputedStyle(document.body).backgroundColor"))
        press(driver, "t")
    assert len(looks) == 2
    press(driver, "1")  # its own eyes: the other's belief is not shown
    assert count(driver, ".knows") == 1


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_a_long_name_of_a_model_is_cut(
    open_page: Any, learned_document: dict[str, Any], width: int
) -> None:
    long = {"name": 3 * "a-long-name-of-a-model" + ".safetensors", "policy": 60 * "x" + "<b>"}
    driver = open_page(learned_document | {"belief": learned_document["belief"] | long})
    resize(driver, width, 844, phone=width < 600)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    hands = driver.execute_script(
        "return [...document.querySelectorAll('.hand, #belief')]"
        ".map(e => e.scrollWidth - e.clientWidth)"
    )
    assert len(hands) == 3 and max(hands) <= 0
    label = "return document.querySelector('.knows').title"
    assert driver.execute_script(label) == f"learned belief {long['name']}"
    assert "games of " + long["policy"] in text(driver, "#belief > .facts")


def test_a_document_of_one_seat_shows_no_more(open_page: Any, document: dict[str, Any]) -> None:
    driver = open_page(as_seen_by(document, 0), "#turn=9")
    assert all("hidden card" in label for label in labels(driver) if label.startswith("P0 "))
    press(driver, "a", "1", END)
    assert all("hidden card" in label for label in labels(driver) if label.startswith("P0 "))


def test_hostile_names_are_text(open_page: Any) -> None:
    driver = open_page(document_of(*HOSTILE))
    assert driver.execute_script("return typeof hacked") == "undefined"
    assert HOSTILE[0] in text(driver, ".hand .name") and "<img" in text(driver, "#subtitle")
    press(driver, "n")
    assert "<b>noted</b>" in text(driver, "#decision")
    assert driver.execute_script("return document.images.length") == 0


def test_a_notebook_frames_the_page(driver: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By

    game = random_game(("ann", "bob"))
    shown = GamePage(replace(game, record=replace(game.record, actions=game.record.actions[:8])))
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><meta charset=utf-8>{shown._repr_html_()}", encoding="utf-8")
    complaints(driver)
    driver.get(cell.as_uri())
    driver.switch_to.frame(driver.find_element(By.TAG_NAME, "iframe"))
    driver.find_element(By.ID, "next").click()
    press(driver, RIGHT)
    assert text(driver, "#at") == "Turn 3 of 8"
    driver.switch_to.default_content()
    time.sleep(0.5)  # until the page has tried to put the turn into its address
    assert complaints(driver) == []


@pytest.mark.parametrize(("width", "height"), [(390, 844), (820, 1180), (1280, 800), (1760, 990)])
def test_nothing_is_wider_than_the_screen(
    open_page: Any, document: dict[str, Any], width: int, height: int
) -> None:
    driver = open_page(document, "#turn=30")
    resize(driver, width, height, phone=width < 600)
    press(driver, "n")
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    sizes = driver.execute_script(
        "return [...document.querySelectorAll('.steps button')].filter(e => e.offsetParent)"
        ".map(e => [e.offsetWidth, e.offsetHeight])"
    )
    assert sizes and all(min(size) >= 32 for size in sizes)


def test_both_themes(open_page: Any, document: dict[str, Any]) -> None:
    driver = open_page(document)
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = driver.execute_script(ground)
    press(driver, "t")
    after = driver.execute_script(ground)
    press(driver, "t")
    assert before != after and driver.execute_script(ground) == before
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    open_page(document)
    assert driver.execute_script(ground) == after
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_policy_of_the_page_stops_requests_and_scripts(
    open_page: Any, document: dict[str, Any], driver: Any
) -> None:
    open_page(document)
    blocked = driver.execute_async_script(
        "const done = arguments[0], seen = [];"
        "document.addEventListener('securitypolicyviolation', e => {"
        "  seen.push(e.effectiveDirective); if (seen.length === 3) done(seen.sort()); });"
        "fetch('data:,x').catch(() => {});"
        "new Image().src = 'data:,x';"
        "const script = document.createElement('script');"
        "script.textContent = 'hacked = 1'; document.body.append(script);"
    )
    assert blocked == ["connect-src", "img-src", "script-src-elem"]
    assert driver.execute_script("return typeof hacked") == "undefined"
    assert complaints(driver)  # which this test has asked for
    assert {url for url in requests(driver) if url.startswith("data:")} <= {"data:,x"}
    driver.refresh()
