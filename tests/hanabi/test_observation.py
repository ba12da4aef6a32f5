"""Observations in words: nothing of a vector is lost, and a vector of another game is refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.text import COLOR_LETTERS, action_to_dict
from hanabi_search_plugin.hanabi.files.observation import (
    SeenGame,
    configuration_of,
    read_observation,
)
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from tests.helpers.hanabi_play import play_on
from tests.helpers.openspiel_hanabi import random_config

ENCODINGS = ("openspiel", "packed", "v0")
HLE_SMALL = HanabiConfig(colors=2, hand_size=2, information_tokens=3, life_tokens=1)


def positions(config: HanabiConfig, seed: int) -> HanabiWorlds:
    """Worlds at several stages of random games."""
    rng, game = np.random.default_rng(seed), HanabiGame(config)
    parts = [play_on(game.deal(rng, 3), rng, moves).rows for moves in (0, 1, 2, 6, 15, 99)]
    return HanabiWorlds(game, np.concatenate(parts))


def written(view: SeenGame) -> NDArray[np.uint8]:
    """The "openspiel" observation that a view tells of, written down part by part."""
    config = view.config
    p, h, c, r = config.players, config.hand_size, config.colors, config.ranks
    out: list[int] = []

    def one_hot(size: int, *at: int | None) -> list[int]:
        return [int(k in at) for k in range(size)]

    def number(card: str | None) -> int | None:
        return None if card is None else r * COLOR_LETTERS.index(card[0]) + int(card[1]) - 1

    order = [(view.seat + offset) % p for offset in range(p)]
    for player in order[1:]:
        hand = [one_hot(c * r, number(card.card)) for card in view.hands[player]]
        out += [bit for card in hand for bit in card] + [0] * c * r * (h - len(hand))
    out += [int(len(view.hands[player]) < h) for player in order]
    out += [1] * view.deck + [0] * (config.deck_size - p * h - view.deck)
    for height in view.fireworks:
        out += one_hot(r, height - 1)
    for count, size in ((view.hints, config.information_tokens), (view.lives, config.life_tokens)):
        out += [1] * count + [0] * (size - count)
    for card in range(c * r):
        gone = sum(number(name) == card for name in view.discards)
        out += [1] * gone + [0] * (config.copies[card % r] - gone)
    move = view.last_move
    what = {} if move is None else action_to_dict(config, move.action)
    kinds = ["play", "discard", "reveal_color", "reveal_rank"]
    who = None if move is None else (move.player - view.seat) % p
    target = None if who is None or "target" not in what else (who + what["target"]) % p
    out += one_hot(p, who) + [int(what.get("type") == kind) for kind in kinds]
    out += one_hot(p, target) + one_hot(c, what.get("color")) + one_hot(r, what.get("rank"))
    out += one_hot(h, *(() if move is None else move.touched)) + one_hot(h, what.get("slot"))
    played = move is not None and what["type"] == "play"
    out += one_hot(c * r, None if move is None else number(move.card))
    out += [int(played and move.scored), int(played and move.regained_hint)] if move else [0, 0]
    if config.observation_type == "minimal":
        return np.array(out, dtype=np.uint8)
    for player in order:
        for card_seen in view.hands[player]:
            told = card_seen.knowledge
            if told is None:  # a seer: every card is as if told outright
                color, rank = divmod(number(card_seen.card) or 0, r)
                out += one_hot(c * r, r * color + rank) + one_hot(c, color) + one_hot(r, rank)
                continue
            out += [
                int(COLOR_LETTERS[k // r] in told.colors and k % r + 1 in told.ranks)
                for k in range(c * r)
            ]
            out += [int(COLOR_LETTERS[k] == told.told_color) for k in range(c)]
            out += [int(k + 1 == told.told_rank) for k in range(r)]
        out += [0] * (c * r + c + r) * (h - len(view.hands[player]))
    return np.array(out, dtype=np.uint8)


@pytest.mark.parametrize("seed", range(16))
def test_nothing_of_a_vector_is_lost(seed: int) -> None:
    config = random_config(np.random.default_rng(seed))
    worlds = positions(config, seed)
    for seat in range(config.players):
        shown = worlds.view(seat)
        bits, packed = shown.observation("openspiel"), shown.observation("packed")
        for vector, octets in zip(bits, packed, strict=True):
            view = read_observation(config, vector, seat=seat)
            assert np.array_equal(written(view), vector)
            assert read_observation(config, octets, seat=seat, encoding="packed") == view


@pytest.mark.parametrize("seed", range(8))
def test_v0_says_the_same_but_for_identities_that_are_all_gone(seed: int) -> None:
    config = random_config(np.random.default_rng(100 + seed))
    worlds = positions(config, seed)
    view = worlds.view(config.players - 1)
    for vector, floats in zip(view.observation("openspiel"), view.observation("v0"), strict=True):
        expected = read_observation(config, vector, seat=config.players - 1)
        found = read_observation(config, floats, seat=config.players - 1, encoding="v0")
        for name in ("fireworks", "hints", "lives", "deck", "discards", "last_move"):
            assert getattr(found, name) == getattr(expected, name)
        for hand, other in zip(found.hands, expected.hands, strict=True):
            assert [card.card for card in hand] == [card.card for card in other]
            for ours, theirs in zip(hand, other, strict=True):
                if ours.knowledge is not None and theirs.knowledge is not None:
                    assert set(ours.knowledge.colors) <= set(theirs.knowledge.colors)
                    assert set(ours.knowledge.ranks) <= set(theirs.knowledge.ranks)
                    assert ours.knowledge.told_rank == theirs.knowledge.told_rank


def test_a_known_position() -> None:
    config = HanabiConfig(colors=2, ranks=3, hand_size=2, information_tokens=3)
    worlds = HanabiGame(config).from_decks([[0, 4, 0, 3, 2, 3, 3, 0, 1, 1, 4, 5]])
    for action in (4, 2, 3):  # red to P1; P1 plays R1; P0 plays Y2
        worlds.step(np.array([action]))
    view = read_observation(config, worlds.view(1).observation("openspiel")[0], seat=1)
    assert (view.fireworks, view.hints, view.lives, view.deck) == ((1, 0), 2, 2, 6)
    assert view.discards == ("Y2",) and [card.card for card in view.hands[0]] == ["R1", "Y1"]
    assert view.last_move is not None
    assert view.last_move.words == "P0 plays slot 1: Y2, a misplay"
    own = view.hands[1][0]
    assert own.card is None and own.knowledge is not None and own.knowledge.colors == "Y"
    assert json.loads(json.dumps(view.to_dict()))["last_move"]["card"] == "Y2"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_configuration_is_worked_out_where_it_can_be(encoding: str) -> None:
    for config in (HanabiConfig(), HanabiConfig(players=5), HLE_SMALL):
        vectors = positions(config, 0).view(1).observation(encoding)
        assert configuration_of(vectors, seat=1) == (config, encoding)
    own = HanabiConfig(players=3, colors=3, ranks=3, hand_size=3)
    vectors = positions(own, 0).view(1).observation(encoding)
    assert configuration_of(vectors, seat=1, colors=3, ranks=3, hand_size=3) == (own, encoding)
    with pytest.raises(ConfigError, match="none fits"):
        configuration_of(vectors, seat=1)


def test_what_fits_several_or_none_is_refused() -> None:
    config = HanabiConfig()
    bits = positions(config, 0).view(0).observation("openspiel")
    vector = bits[0]
    with pytest.raises(ConfigError, match="that no such game shows"):
        read_observation(config, 1 - vector)
    with pytest.raises(ConfigError, match="must be of shape"):
        read_observation(config, vector[:-1], encoding="v0")
    with pytest.raises(ConfigError, match="whole numbers from 0 to 255"):
        read_observation(config, np.full(83, 0.5), encoding="packed")
    floats = positions(config, 0).view(0).observation("v0")[0]
    with pytest.raises(ConfigError, match="got what none shows"):
        read_observation(config, floats / 2 + (floats == 1) / 2, encoding="v0")
    with pytest.raises(ConfigError, match="seat must be from 0 to 1"):
        read_observation(config, vector, seat=2)
    with pytest.raises(ConfigError, match="encoding must be one of"):
        read_observation(config, vector, encoding="bits")
    with pytest.raises(ConfigError, match="must be numbers"):
        read_observation(config, ["one", "two"])


def test_cards_that_were_told_outright_look_like_a_seers() -> None:
    config = HanabiConfig(colors=2, ranks=2, hand_size=1)
    worlds = HanabiGame(config).from_decks([[0, 3, 0, 0, 1, 2, 2, 2]])
    for action in (3, 2, 5, 4):  # colour and rank of either card
        worlds.step(np.array([action]))
    vector = worlds.view(0).observation("openspiel")
    known: dict[str, Any] = {"colors": 2, "ranks": 2, "hand_size": 1}
    with pytest.raises(ConfigError, match=r"must fit one .* card_knowledge, openspiel; .* seer, o"):
        configuration_of(vector, **known)
    assert configuration_of(vector, observation_type="card_knowledge", **known)[0] == config


# ------------------------------------------------------------------------------ the command line


def decode(*arguments: object, given: Any = None) -> Any:
    return CliRunner().invoke(app, ["decode", *map(str, arguments)], input=given)


def test_the_command_shows_a_board_from_every_kind_of_file(tmp_path: Path) -> None:
    vector = positions(HanabiConfig(), 3).view(1).observation("openspiel")[6]
    text = json.dumps(vector.tolist())
    (tmp_path / "one.json").write_text(text)
    np.save(tmp_path / "one.npy", vector)
    buffer = io.BytesIO()
    np.save(buffer, vector)
    results = [
        decode(tmp_path / "one.json", "--seat", 1),
        decode(tmp_path / "one.npy", "--seat", 1, "--players", 2),
        decode("--seat", 1, given=text),
        decode("-", "--seat", 1, given=buffer.getvalue()),
    ]
    assert [result.exit_code for result in results] == [0] * 4, results[0].output
    assert len({result.stdout for result in results}) == 1
    shown = results[0].stdout
    assert "2 players, 5 colours, 5 ranks, card_knowledge as openspiel, seen by P1" in shown
    assert "P1 you       ??" in shown and "\nlast move    P1 " in shown


def test_json_says_all_of_it(tmp_path: Path) -> None:
    vectors = positions(HLE_SMALL, 1).view(0).observation("v0")
    np.save(tmp_path / "many.npy", vectors)
    result = decode(tmp_path / "many.npy", "--json", "-")
    content = json.loads(result.stdout)
    assert content["config"]["colors"] == 2 and content["encoding"] == "v0"
    assert len(content["observations"]) == len(vectors)
    assert content["observations"][0]["hands"][1][0]["knowledge"]["colors"] == "RY"
    assert "observation 17" in result.stderr


@pytest.mark.parametrize(
    ("given", "options", "says"),
    [
        ("{", [], "the standard input: expected numbers as JSON or NPY"),
        ('["a"]', [], "expected one observation or a list of them"),
        ("[[1, 0], [1]]", [], "expected numbers as JSON or NPY"),
        ("[1, 0, 1]", [], "none fits"),
        ("[1, 0, 1]", ["--players", 9], "players must be from 2 to 5, got 9"),
        ("[1, 0, 1]", ["--encoding", "bits"], "encoding must be one of"),
        ("[1]", ["--seat", 5], "seat must be from 0 to 4, got 5"),
    ],
)
def test_bad_input_gets_one_line(given: str, options: list[Any], says: str) -> None:
    result = decode(*options, given=given)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("hanabi-search: ") and result.stderr.count("\n") == 1
    assert says in result.stderr


def test_a_missing_file_gets_one_line() -> None:
    result = decode("/no/such/file.npy")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "hanabi-search: /no/such/file.npy: No such file or directory\n"
