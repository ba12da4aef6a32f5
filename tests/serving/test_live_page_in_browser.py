"""Tables in headless Chromium: whole games by clicks and by keys, and what pages must not do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
pytest.importorskip("uvicorn", reason="needs the extra web")
from hanabi_search_plugin import Sparta, upgrade
from hanabi_search_plugin.cli.table_plans import plan_of_wish
from tests.helpers.browser import chromium, complaints, requests, resize
from tests.helpers.web_tables import SMALL, Player, Site, serving, wait_for, wish

ESCAPE = "\ue00c"  # WebDriver's name of the key


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def driver(chrome: Any, site: Site) -> Iterator[Any]:
    """Afterwards nobody was asked but the server, and nothing was complained of."""
    resize(chrome, 1280, 800)
    complaints(chrome), requests(chrome)
    yield chrome
    assert complaints(chrome) == []
    asked = {url for url in requests(chrome) if not url.startswith("about:")}
    assert asked and all(url.startswith(site.address + "/") for url in asked)
    chrome.get("about:blank")


def run(driver: Any, script: str, *given: Any) -> Any:
    return driver.execute_script(script, *given)


def text(driver: Any, selector: str) -> str:
    return str(run(driver, "return document.querySelector(arguments[0]).innerText", selector))


def count(driver: Any, selector: str) -> int:
    return int(run(driver, "return document.querySelectorAll(arguments[0]).length", selector))


def click(driver: Any, selector: str) -> None:
    """As a person clicks: it has to be in sight, with nothing above it."""
    from selenium.webdriver.common.by import By

    element = driver.find_element(By.CSS_SELECTOR, selector)
    run(driver, "arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def press(driver: Any, *keys: str) -> None:
    from selenium.webdriver.common.by import By

    body = driver.find_element(By.TAG_NAME, "body")
    for key in keys:
        body.send_keys(key)


def sit(driver: Any, site: Site, path: str) -> None:
    driver.get(site.address + path)
    wait_for(lambda: run(driver, "return table !== null && !table.readying"))


def wait_for_turn(driver: Any) -> bool:
    """Until it is this page's turn. False where the game is over."""
    wait_for(
        lambda: run(driver, "return over() || table.moves !== null && table.turn === lastTurn()")
    )
    return not run(driver, "return over()")


def test_a_whole_game_by_clicks(driver: Any, site: Site) -> None:
    sizes = {"colors": 3, "ranks": 4, "hand_size": 3, "life_tokens": 30, "bomb": "keep"}
    path = site.open(wish("person", "smartbot", **sizes), seed=3)[0]
    sit(driver, site, path)
    kinds = ("Hint", "Play", "Discard")
    used = set()
    moves = 0
    while wait_for_turn(driver):
        offered = run(
            driver,
            "return [...document.querySelectorAll('[data-key^=\"action \"]')]"
            ".map(e => [e.dataset.key, e.ariaLabel, e.ariaDisabled])",
        )
        legal = [(key, label) for key, label, off in offered if off == "false"]
        wanted = kinds[moves % 3]
        found = [one for one in legal if one[1].startswith(wanted)] or legal
        key, label = found[moves % len(found)]
        used.add(label.split()[0])
        click(driver, f'[data-key="{key}"]')
        wait_for(lambda turn=moves: run(driver, "return lastTurn()") > 2 * turn)
        moves += 1
    assert used == set(kinds) and moves > 12
    score = site.tables.seats[path.split("/")[2]].table.live.result().score
    assert f"The game is over: {score:.0f} of 12" in text(driver, "#whose")
    assert count(driver, '[data-key^="action "]') == 0
    assert count(driver, "#list button") == run(driver, "return lastTurn()") + 1
    own = run(driver, "return [...document.querySelectorAll('.slot')].map(e => e.ariaLabel)")
    assert all("hidden card" in label for label in own if label.startswith("P0 "))
    click(driver, '[data-key="analyse"]')
    wait_for(lambda: count(driver, '[data-key="analysis"]'))
    for name in ("open", "analysis"):
        click(driver, f'[data-key="{name}"]')
        first, second = driver.window_handles
        driver.switch_to.window(second)
        wait_for(lambda: count(driver, "#at b"))
        assert count(driver, '.slot[aria-label*="hidden card"]') == 0 < count(driver, ".slot")
        driver.close()
        driver.switch_to.window(first)
    click(driver, '[data-key="again"]')
    wait_for(lambda: run(driver, "return lastTurn()") == 0)
    assert wait_for_turn(driver) and text(driver, "#whose") == "Your turn"


def test_the_list_of_moves_says_now_under_whoever_is_to_move(driver: Any, site: Site) -> None:
    path = site.open(wish("person", "smartbot", "person", **SMALL))[0]
    sit(driver, site, path)
    where = (
        "const line = [...document.querySelectorAll('#list li')].at(-1);"
        "return [...line.children].map(e => e.innerText)"
    )
    assert run(driver, where)[1] == "now"
    wait_for_turn(driver)
    action = run(driver, "return table.moves.indexOf(null)")
    click(driver, f'[data-key="action {action}"]')
    wait_for(lambda: run(driver, "return lastTurn()") == 2)
    number, *moves, last = run(driver, where)
    assert number == "1" and len(moves) == 2 and all(moves) and last == "now"
    assert count(driver, "#list li") == 1


def test_what_is_not_allowed_is_greyed_out_and_says_why(driver: Any, site: Site) -> None:
    sit(driver, site, site.open(wish("person", "smartbot", **SMALL))[0])
    assert wait_for_turn(driver)
    selector = '[aria-label^="Discard slot 0"]'
    reason = "all 3 information tokens are there"
    assert run(driver, "return document.querySelector(arguments[0]).title", selector) == (
        f"Discard slot 0: {reason}"
    )
    assert run(
        driver, "return document.querySelector(arguments[0]).classList.contains('off')", selector
    )
    click(driver, selector)
    assert text(driver, "#why") == f"Not allowed now: {reason}."
    assert run(driver, "return lastTurn()") == 0
    click(driver, '[data-key="back"]')
    assert text(driver, "#why") == "There is nothing to take back."


def test_advice_is_shown_with_values_and_beliefs_and_moves_are_taken_back(
    driver: Any, site: Site
) -> None:
    sit(driver, site, site.open(wish("person", "smartbot", advice=400, seed=2, **SMALL), seed=2)[0])
    assert wait_for_turn(driver)
    press(driver, "a")
    wait_for(lambda: count(driver, "#decision .value.chosen"))
    legal = run(driver, "return table.moves.filter(why => why === null).length")
    assert count(driver, "#decision [role=listitem]") == min(legal, 8)
    assert text(driver, "#decision .said").startswith("P0 ")
    assert count(driver, ".bars") == SMALL["hand_size"]
    click(driver, '[aria-label^="Play slot 0"]')
    wait_for(lambda: run(driver, "return lastTurn()") >= 2)
    assert count(driver, "#decision[hidden]") == 1
    wait_for_turn(driver)
    press(driver, "u")
    wait_for(lambda: run(driver, "return lastTurn()") == 0)
    assert wait_for_turn(driver) and count(driver, ".bars") == 0


def test_a_game_by_keys(driver: Any, site: Site) -> None:
    sit(
        driver,
        site,
        site.open(wish("smartbot", "person", "smartbot", life_tokens=9, seed=1), seed=1)[1],
    )
    assert wait_for_turn(driver)
    press(driver, "p", "9")
    assert text(driver, "#why").startswith("p9 is not a move")
    press(driver, "h")
    assert text(driver, "#why") == "h \u2026"
    press(driver, ESCAPE, "p", "2")
    wait_for(lambda: run(driver, "return lastTurn()") >= 2)
    assert run(driver, "return game.turns[1].move.card") == 7
    assert wait_for_turn(driver)
    color = run(
        driver,
        "const hand = now().hands[2]; return COLORS[colorOf(game, game.cards[hand[0]])].letter",
    )
    at = run(driver, "return lastTurn()")
    press(driver, "h", "2", color.lower())
    wait_for(lambda: run(driver, "return lastTurn()") > at)
    assert run(driver, f"return game.actions[game.turns[{at}].move.action].target") == 1
    assert wait_for_turn(driver)
    press(driver, "\ue012")  # back
    assert text(driver, "#number").startswith("YOU LOOK BACK AT TURN") or "look back" in text(
        driver, "#number"
    )
    assert count(driver, '[data-key^="action "]') == 0
    press(driver, "\ue010")  # now
    assert count(driver, '[data-key^="action "]') > 0
    press(driver, "?")
    assert run(driver, "return document.getElementById('guide').open")
    press(driver, ESCAPE)
    focused = 'const key = arguments[0]; document.querySelector(`[data-key="${key}"]`).focus()'
    action = run(driver, "return table.moves.indexOf(null)")
    run(driver, focused, f"action {action}")
    turn = run(driver, "return lastTurn()")
    driver.switch_to.active_element.send_keys("\ue007")
    wait_for(lambda: run(driver, "return lastTurn()") > turn)


def test_a_table_is_opened_by_the_form_and_two_people_play(driver: Any, site: Site) -> None:
    driver.get(f"{site.address}/{site.tables.token}/")
    click(driver, "#players button:nth-child(2)")
    assert count(driver, ".seat") == 3
    choose = (
        "const [label, value] = arguments;"
        'const field = document.querySelector(`[aria-label="${label}"]`);'
        "field.value = value;"
        "for (const kind of ['change', 'input']) field.dispatchEvent(new Event(kind))"
    )
    run(driver, choose, "Who sits at P2", "person")
    run(driver, choose, "Policy of P1", "vdb")
    run(driver, choose, "Search of P1", "sparta")
    run(driver, choose, "Budget of P1", "10000000")
    click(driver, "summary")
    for label, value in (
        ("Colours", 2),
        ("Ranks of a colour", 2),
        ("Cards a hand (0: the rule book's)", 2),
    ):
        run(driver, choose, label, str(value))
    run(driver, choose, "When the last life is lost", "keep")
    run(driver, "document.getElementById('form').noValidate = true")
    click(driver, "#open")
    wait_for(lambda: "must be an integer from 1 to 100000" in text(driver, "#why"))
    assert complaints(driver) == []
    run(driver, choose, "Budget of P1", "100")
    click(driver, "#open")
    wait_for(lambda: count(driver, "#opened a") == 2)
    links = run(driver, "return [...document.querySelectorAll('#opened a')].map(e => e.pathname)")
    sit(driver, site, links[0])
    assert "P1 vdb+sparta" in text(driver, "#subtitle")
    assert "P2 is not here" in text(driver, "#thinking")
    with site.sit(links[1]) as socket:
        other = Player(socket)
        wait_for(lambda: "not here" not in text(driver, "#turn"))
        rounds = 0
        while wait_for_turn(driver) and rounds < 3:
            run(driver, "document.querySelector('[data-key^=\"action \"]:not(.off)').click()")
            legal = other.to_move()
            if legal is None:
                break
            other.play(legal[0])
            rounds += 1
        assert rounds >= 1


def test_the_thought_of_a_search_is_shown(driver: Any, site: Site) -> None:
    plan = plan_of_wish(wish("smartbot+sparta=100000", "person", seed=3))
    agent = upgrade(
        "smartbot", plan.game, Sparta(rollouts=100_000, pruning="off")
    )  # takes its time
    plan = replace(plan, policies=(agent, *plan.policies[1:]))
    driver.get(site.address + site.open(plan, seed=3)[1])
    wait_for(lambda: run(driver, "return table !== null && table.thinking !== null"))
    wait_for(lambda: "sparta, 100,000 rollouts" in text(driver, "#turn"))
    assert text(driver, "#whose") == "P0 thinks"
    assert wait_for_turn(driver)
    assert count(driver, "#since li") == 1


def test_a_page_that_lost_its_server_comes_back(driver: Any, site: Site) -> None:
    path = site.open(wish("person", "smartbot", **SMALL))[0]
    sit(driver, site, path)
    assert wait_for_turn(driver)
    run(driver, "socket.close()")
    wait_for(lambda: "trying again" in text(driver, "#why"))
    wait_for(lambda: run(driver, "return socket.readyState") == 1)
    wait_for(lambda: text(driver, "#why") == "")
    click(driver, '[aria-label^="Play slot 0"]')
    wait_for(lambda: run(driver, "return lastTurn()") >= 1)


@pytest.mark.parametrize(("width", "height"), [(390, 844), (820, 1180), (1280, 800), (1760, 990)])
@pytest.mark.parametrize("players", [2, 5])
def test_nothing_is_wider_than_the_screen(
    driver: Any, site: Site, width: int, height: int, players: int
) -> None:
    bots = ("smartbot",) * (players - 1)
    resize(driver, width, height, phone=width < 600)
    sit(driver, site, site.open(wish("person", *bots, seed=1), seed=1)[0])
    assert wait_for_turn(driver)
    wide = "return document.documentElement.scrollWidth"
    assert run(driver, wide) <= width
    small = run(
        driver,
        "return [...document.querySelectorAll('main button')].filter(e => e.offsetParent)"
        ".filter(e => !e.closest('#list') && Math.min(e.offsetWidth, e.offsetHeight) < 30)"
        ".map(e => e.outerHTML)",
    )
    assert small == []
    cut = run(
        driver,
        "return [...document.querySelectorAll('.own button, .tell')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)",
    )
    assert cut == []
    driver.get(f"{site.address}/{site.tables.token}/")
    assert run(driver, wide) <= width


def test_both_themes(driver: Any, site: Site) -> None:
    sit(driver, site, site.open(wish("person", "smartbot", **SMALL))[0])
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = run(driver, ground)
    press(driver, "t")
    dark = run(driver, ground)
    assert light != dark
    prefers = {"name": "prefers-color-scheme", "value": "dark"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [prefers]})
    driver.refresh()
    assert run(driver, ground) == dark
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_page_is_small_and_its_whole_traffic_too(driver: Any, site: Site) -> None:
    path = site.open(wish("person", "smartbot", seed=3, life_tokens=30, bomb="keep"), seed=3)[0]
    sit(driver, site, path)
    size = len(run(driver, "return document.documentElement.outerHTML").encode())
    with site.sit(path) as socket:
        player = Player(socket)
        while (legal := player.to_move()) is not None:
            player.play(legal[0])
        size += sum(len(json.dumps(message)) for message in player.heard)
    assert size < 1_000_000
