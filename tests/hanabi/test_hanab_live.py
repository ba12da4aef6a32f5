"""Games of hanab.live as JSON and as short links, and files of games of any format."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.hanabi import read_any_games, replay
from hanabi_search_plugin.hanabi.engine.config import Bomb, HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules
from hanabi_search_plugin.hanabi.files import text_lines
from hanabi_search_plugin.hanabi.files.hanab_live_json import from_hanab_live, to_hanab_live
from hanabi_search_plugin.hanabi.files.hanab_live_link import (
    ALPHABET,
    from_link,
    is_link,
    to_link,
)
from hanabi_search_plugin.hanabi.files.played_out import nothing_scores, played_out
from hanabi_search_plugin.hanabi.files.records import RecordedGame, write_games
from tests.helpers.hanabi_play import play_on, random_legal
from tests.helpers.random_records import random_record, records

THREE_SUITS = HanabiConfig(players=2, colors=3)
DECK = tuple(5 * color + rank for color in range(3) for rank in (0, 0, 0, 1, 1, 2, 2, 3, 3, 4))
# P0 holds cards 0 to 4 (red 1 1 1 2 2), P1 cards 5 to 9 (red 3 3 4 4 5).
SHORT = RecordedGame(config=THREE_SUITS, game=7, deck=DECK, actions=(5, 10, 0), source="here")
SHORT_JSON = {
    "id": 7,
    "players": ["Alice", "Bob"],
    "deck": [{"suitIndex": card // 5, "rank": card % 5 + 1} for card in DECK],
    "actions": [
        {"type": 0, "target": 0},
        {"type": 2, "target": 0, "value": 0},
        {"type": 1, "target": 1},
    ],
    "options": {"variant": "3 Suits"},
}
# Types 0 to 2: playing card 0 is "aa", hint 0 to player 0 is (0 + 1) * 3 + 2 = "f", then "a", and
# discarding card 1 is "bb".
SHORT_LINK = "https://hanab.live/shared-replay-json/215aaabbccddefffgghh-iijkkkllmmnno,02aafa-bb,18"


def unlinkable(game: RecordedGame) -> bool:
    usual = HanabiConfig(players=game.config.players).hand_size
    return game.first_player > 0 or game.config.hand_size != usual


def check_round_trips(game: RecordedGame) -> None:
    text = json.dumps(to_hanab_live(game))
    assert replace(from_hanab_live(json.loads(text), "", 0), source="") == game
    if unlinkable(game):
        with pytest.raises(RecordError, match="a short link cannot say"):
            to_link(game)
    else:
        link = to_link(game)
        assert is_link(link)
        assert all(len(part) <= 20 for part in link.rpartition("/")[2].split("-"))
        again = from_hanab_live(from_link(link, "link"), "", game.game)
        assert replace(again, source="") == game


# --------------------------------------------------------------------------------- round trips


@settings(max_examples=100, deadline=None)
@given(records())
def test_json_and_links_are_read_back(game: RecordedGame) -> None:
    check_round_trips(game)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None)
@given(records())
def test_a_thousand_are_read_back(game: RecordedGame) -> None:
    check_round_trips(game)


def test_games_of_others_are_read_back(third_party_games: Path) -> None:
    count = 0
    for game in read_any_games(third_party_games):
        check_round_trips(replace(game, source="", score=None, lives_left=None, seed=None))
        count += 1
    assert count == 1000


def test_a_game_by_hand() -> None:
    assert to_hanab_live(SHORT) == SHORT_JSON
    assert from_hanab_live(SHORT_JSON, "here", 0) == SHORT
    assert to_link(SHORT) == SHORT_LINK
    assert from_hanab_live(from_link(SHORT_LINK, "here"), "here", 7) == SHORT


def test_a_card_drawn_is_told_by_its_place_in_the_deck() -> None:
    # P0 plays card 0 and draws card 10; its fifth card is that one.
    game = replace(SHORT, actions=(5, 10, 9))
    assert to_hanab_live(game)["actions"][2] == {"type": 0, "target": 10}


def test_names_are_kept() -> None:
    game = replace(SHORT, policies=("smartbot", "Zoe"))
    assert to_hanab_live(game)["players"] == ["smartbot", "Zoe"]
    assert from_hanab_live(to_hanab_live(game), "here", 0) == game


@pytest.mark.parametrize(
    "link",
    [
        SHORT_LINK + "#3",
        SHORT_LINK.replace("shared-replay", "replay"),
        SHORT_LINK.rpartition("/")[2],
        SHORT_LINK.replace("-bb", "bb"),
        SHORT_LINK + ",",  # older ones have a seed there
    ],
)
def test_links_that_say_the_same(link: str) -> None:
    assert is_link(link)
    assert from_hanab_live(from_link(link, "here"), "here", 7) == SHORT


def test_plays_and_discards_may_have_a_value_of_0() -> None:
    # The site writes them so: (0 + 1) * 3 + type.
    link = SHORT_LINK.replace("aafa-bb", "dafa-eb")
    assert from_hanab_live(from_link(link, "here"), "here", 7) == SHORT
    fields = SHORT_JSON | {"actions": [a | {"value": 0} for a in SHORT_JSON["actions"]]}  # type: ignore[attr-defined]
    assert from_hanab_live(fields, "here", 0) == SHORT


def test_what_others_than_players_do_with_a_game_does_not_matter() -> None:
    more = {
        "notes": [["x"], []], "characters": None, "seed": "p2v18s1", "id": "seven",
        "options": {"variant": "3 Suits", "timed": True, "timeBase": 60, "cardCycle": False},
    }  # fmt: skip
    assert from_hanab_live(SHORT_JSON | more, "here", 7) == SHORT


# ----------------------------------------------------------------------------- ends and scores


@pytest.mark.parametrize("kind", [4, 5])
def test_a_game_that_is_ended_has_no_score(kind: int) -> None:
    end = {"type": kind, "target": 1 if kind == 4 else -1, "value": 4}
    actions = [*SHORT_JSON["actions"], end]  # type: ignore[misc]
    game = from_hanab_live(SHORT_JSON | {"actions": actions}, "here", 0)
    assert game == SHORT
    assert played_out(game).score is None
    with pytest.raises(RecordError, match=r"here: actions\[3\] \(turn 4\) ends the game"):
        from_hanab_live(SHORT_JSON | {"actions": [*actions, actions[0]]}, "here", 0)


@pytest.mark.parametrize(("bomb", "score"), [(None, 0), ("zero", 0), ("keep", 1), ("minus_one", 0)])
def test_what_a_strikeout_scores(bomb: Bomb | None, score: int) -> None:
    # P0 plays red 1; P1 plays red 3; P0 red 1 again; P1 red 4.
    game = played_out(replace(SHORT, actions=(5, 5, 5, 6)), bomb)
    assert (game.score, game.lives_left, game.bomb) == (score, 0, bomb or "zero")


def test_a_recorded_score_stays_unless_the_rule_is_given() -> None:
    game = replace(SHORT, actions=(5, 5, 5, 6), score=1, bomb="keep")
    assert played_out(game) == replace(game, lives_left=0)
    assert played_out(game, "zero").score == 0


TINY = HanabiConfig(players=2, colors=1, ranks=2, hand_size=1)


@pytest.mark.parametrize(
    ("deck", "actions"),
    [
        ((1, 0, 0, 0), (3, 1, 0)),  # the only 2 is discarded
        ((0, 1, 0, 0), (1, 2, 0, 2)),  # P1, who holds it, moves no more
    ],
)
def test_a_game_is_over_where_nothing_scores(
    deck: tuple[int, ...], actions: tuple[int, ...]
) -> None:
    game = RecordedGame(config=TINY, game=0, deck=deck, actions=actions)
    shorter = replace(game, actions=actions[:-1])
    assert played_out(game).score == 1
    assert played_out(shorter).score is None
    assert replay([game, shorter]).unfinished == 1


def test_nothing_more_is_scored_from_there() -> None:
    rng = np.random.default_rng(2)
    small = HanabiConfig(players=2, colors=1, ranks=3, hand_size=2, life_tokens=50, bomb="keep")
    rules = HanabiRules(small)
    worlds = rules.deal(rng, 60)
    stopped = 0
    for row in range(len(worlds)):
        game = worlds.select(np.array([row]))
        while not game.terminal[0]:
            if nothing_scores(rules.config, game.rows[0]):
                end = play_on(game, rng, 200)
                assert end.terminal[0] and (end.returns == game.returns).all()
                stopped += 1
                break
            game.step(random_legal(game, rng))
    assert stopped >= 5


# ------------------------------------------------------------------------------------ refusals


def changed(**changes: Any) -> dict[str, Any]:
    return SHORT_JSON | changes


def option(**options: Any) -> dict[str, Any]:
    return changed(options={"variant": "3 Suits"} | options)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (option(variant="Pink (5 Suits)"),
         'variant must be one of No Variant, 4 Suits, 3 Suits, got "Pink (5 Suits)"'),
        (option(variant=["3 Suits"]), "variant must be one of"),
        (option(emptyClues=True), "option emptyClues must be off, got true"),
        (option(deckPlays=True), "option deckPlays must be off"),
        (option(cardCycle=True), "option cardCycle must be off"),
        (option(speedrun=True), "option speedrun must be off"),
        (option(allOrNothing=True), "option allOrNothing must be off"),
        (option(detrimentalCharacters=True), "option detrimentalCharacters must be off"),
        (option(startingPlayer=2), "startingPlayer must be from 0 to 1, got 2"),
        (option(variant="4 Suits"), "deck must hold 40 cards, got 30"),
        (changed(options=[]), "options must be an object, got []"),
        (changed(players=list("abcdef")), "players must be from 2 to 5, got 6"),
        (changed(players=["a"]), "players must be from 2 to 5, got 1"),
        (changed(players=["a", 1]), "players must be names"),
        (changed(deck=None), "deck must be a list, got null"),
        (changed(deck=[{"suitIndex": 3, "rank": 1}]), "deck[0] must be of suits 0 to 2"),
        (changed(deck=[{"suitIndex": 0, "rank": 0}]), "deck[0] must be of suits 0 to 2"),
        (changed(deck=[7]), "deck[0] must have a suitIndex and a rank, got 7"),
        (changed(deck=[{"suitIndex": "0", "rank": 1}]), "deck[0] must have a suitIndex"),
        (changed(actions=5), "actions must be a list"),
        (changed(actions=[{"type": 0}]), "actions[0] (turn 1) must have type, target and value"),
        (changed(actions=[{"type": 6, "target": 0}]), "actions[0] (turn 1): type must be from 0"),
        (changed(actions=[{"type": 0, "target": 5}]),
         "(turn 1): target must be a card in player 0's hand, one of 0, 1, 2, 3, 4, got 5"),
        (changed(actions=[{"type": 3, "target": 0, "value": 1}]),
         "target must be a player from 0 to 1 but not 0"),
        (changed(actions=[{"type": 3, "target": 2, "value": 1}]), "target must be a player"),
        (changed(actions=[{"type": 3, "target": 1, "value": 6}]), "(turn 1): rank of reveal_rank"),
        (changed(actions=[{"type": 2, "target": 1, "value": 3}]), "color of reveal_color must be"),
    ],
)  # fmt: skip
def test_what_is_refused_of_json(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(RecordError) as error:
        from_hanab_live(fields, "here", 0)
    assert str(error.value).startswith("here: ") and says in str(error.value)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (HanabiConfig(players=2, colors=2), "hanab.live plays with 3 to 5 colors, got 2"),
        (HanabiConfig(players=2, ranks=4), "hanab.live plays with ranks 5, got 4"),
        (HanabiConfig(players=2, information_tokens=4), "with information_tokens 8, got 4"),
        (HanabiConfig(players=2, life_tokens=1), "hanab.live plays with life_tokens 3, got 1"),
        (HanabiConfig(players=4, hand_size=6), "with hand_size 4, or one more or less, got 6"),
    ],
)
def test_rules_that_the_site_has_not(config: HanabiConfig, says: str) -> None:
    with pytest.raises(RecordError) as error:
        to_hanab_live(random_record(config, 1, moves=3))
    assert str(error.value).startswith("game 1: ") and says in str(error.value)


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("215abc", "expected a short link of hanab.live, got '215abc'"),
        ("x" * 5000, "expected a short link"),
        (SHORT_LINK.replace(",18", ",16"), "variant must be one of 0 (No Variant), 15 (4 Suits)"),
        (SHORT_LINK.replace("215", "217"), "begin with the players and the ranks 15, got '217'"),
        (SHORT_LINK.replace("215", "615"), "players must be from 2 to 5, got 6"),
        (SHORT_LINK.replace("215", "015"), "players must be from 2 to 5, got 0"),
        (SHORT_LINK.replace(",02", ",20"), "actions must be the least and the largest type"),
        (SHORT_LINK.replace("bb,", "b,"), "two characters each"),
        (SHORT_LINK.replace("bb,", "b_,"), "a link is letters and digits, got '_'"),
    ],
)  # fmt: skip
def test_what_is_refused_of_links(link: str, says: str) -> None:
    with pytest.raises(RecordError) as error:
        from_link(link, "here")
    assert str(error.value).startswith("here: ") and says in str(error.value)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=ALPHABET + ",-#", max_size=60), st.integers(0, 90), st.integers(0, 90))
def test_a_damaged_link_is_read_or_refused(text: str, start: int, stop: int) -> None:
    damaged = SHORT_LINK[:start] + text + SHORT_LINK[stop:]
    try:
        played_out(from_hanab_live(from_link(damaged, "here"), "here", 0))
    except RecordError as error:
        assert "\n" not in str(error)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_json_is_read_or_refused(data: st.DataObject) -> None:
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
        max_leaves=4,
    )
    fields: Any = json.loads(json.dumps(SHORT_JSON))
    place = data.draw(st.sampled_from(("players", "deck", "actions", "options")))
    if isinstance(fields[place], list) and data.draw(st.booleans()):
        fields[place][data.draw(st.integers(0, len(fields[place]) - 1))] = data.draw(anything)
    else:
        fields[place] = data.draw(anything)
    try:
        played_out(from_hanab_live(fields, "here", 0))
    except RecordError as error:
        assert str(error).startswith("here: ")


# --------------------------------------------------------------------------------------- files


def test_a_file_may_hold_games_of_several_formats(tmp_path: Path) -> None:
    write_games(tmp_path / "one.jsonl", [SHORT])
    lines = (tmp_path / "one.jsonl").read_text() + "\n"
    lines += json.dumps(SHORT_JSON) + "\n" + SHORT_LINK + "\n"
    for path, data in (
        (tmp_path / "all.txt", lines.encode()),
        (tmp_path / "all.gz", gzip.compress(lines.encode())),
    ):
        path.write_bytes(data)
        games = list(read_any_games(path))
        assert [game.source for game in games] == [f"{path}:{n}" for n in (1, 3, 4)]
        assert [game.game for game in games] == [7, 7, 3]
        assert all(replace(game, game=7, source="here") == SHORT for game in games)


def test_a_game_over_several_lines_and_a_link_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_text("\n" + json.dumps(SHORT_JSON, indent=2) + "\n")
    assert list(read_any_games(path)) == [replace(SHORT, source=f"{path}:2")]
    assert list(read_any_games(SHORT_LINK)) == [replace(SHORT, source="link", game=0)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected games, got an empty file"),
        ("hello\n", "a game of hanab.live or a short link, got 'hello'"),
        (SHORT_LINK + "\n\nhello\n", ":3: expected a recorded game"),
        (json.dumps(SHORT_JSON)[:-9] + "\n", ":1: expected a JSON object"),
        ('{"players": 2}\n', ":1: field deck is missing"),
        ("{" * 5000, ":1: expected a JSON object"),
        ("[1]\n", ":1: expected a recorded game"),
    ],
)  # fmt: skip
def test_files_that_are_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "games"
    path.write_text(text)
    with pytest.raises(RecordError) as error:
        list(read_any_games(path))
    assert str(error.value).startswith(str(path))
    assert says in str(error.value)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("line", [b" " * 3000, b"{\n" * 1500])
def test_sizes_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes, packed: bool
) -> None:
    monkeypatch.setattr(text_lines, "LONGEST", 2000)
    monkeypatch.setattr("hanabi_search_plugin.hanabi.files.any_games.LONGEST", 2000)
    path = tmp_path / ("games.gz" if packed else "games")
    path.write_bytes(gzip.compress(line) if packed else line)
    with pytest.raises(RecordError, match="at most 2,000 bytes, got a l"):
        list(read_any_games(path))


def test_other_addresses_are_told_from_links() -> None:
    with pytest.raises(RecordError, match=r"got https://hanab.live/replay/12345: of a replay"):
        read_any_games("https://hanab.live/replay/12345")
