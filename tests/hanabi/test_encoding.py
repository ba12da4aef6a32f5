"""Observations: their parts, their packings, and the V0 belief against a plain version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.encoding import observation_size, sections
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from tests.helpers.hanabi_play import play_on

CONFIGS = [
    HanabiConfig(),
    HanabiConfig(players=5),
    HanabiConfig(players=3, hand_size=7, information_tokens=4),
    HanabiConfig(players=2, colors=3, ranks=2, hand_size=3),
    HanabiConfig(players=3, observation_type="seer"),
]


def positions(config: HanabiConfig) -> HanabiWorlds:
    """Worlds at all stages of random games, ended ones too."""
    rng = np.random.default_rng(0)
    game = HanabiGame(config)
    parts = [play_on(game.deal(rng, 40), rng, moves).rows for moves in (0, 1, 5, 10, 20, 90)]
    return HanabiWorlds(game, np.concatenate(parts))


def plain_v0(config: HanabiConfig, observation: NDArray[Any]) -> NDArray[np.float64]:
    """The V0 belief of one "openspiel" observation, from that observation alone.

    Each card's plausible identities become plausible times the copies that are neither discarded
    nor on the fireworks, normalised to sum 1; an absent card stays zero.
    """
    parts = sections(config)
    result = observation.astype(float)
    remaining = []
    at = parts["discards"].start
    for color in range(config.colors):
        fireworks = observation[parts["fireworks"]][color * config.ranks :][: config.ranks]
        height = int(fireworks.argmax()) + 1 if fireworks.any() else 0
        for rank in range(config.ranks):
            copies = config.copies[rank]
            discarded = int(observation[at : at + copies].sum())
            at += copies
            remaining.append(copies - discarded - (rank < height))
    identities = config.colors * config.ranks
    width = identities + config.colors + config.ranks
    for start in range(parts["knowledge"].start, parts["knowledge"].stop, width):
        weights = observation[start : start + identities] * np.array(remaining)
        if weights.sum() > 0:
            result[start : start + identities] = weights / weights.sum()
    return result


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_v0_weighs_the_plausible_identities(config: HanabiConfig) -> None:
    worlds = positions(config)
    for player in range(config.players):
        view = worlds.view(player)
        bits, v0 = view.observation("openspiel"), view.observation("v0")
        assert v0.dtype == np.float32 and v0.shape == bits.shape
        expected = np.array([plain_v0(config, row) for row in bits])
        assert np.allclose(v0, expected, rtol=0, atol=1e-6)


def test_v0_of_known_positions() -> None:
    game = HanabiGame()
    worlds = game.deal(np.random.default_rng(0), 1)
    v0 = worlds.view(0).observation("v0")[0, sections(game.config)["knowledge"]]
    copies = np.tile([3, 2, 2, 2, 1], 5) / 50
    assert np.allclose(v0.reshape(10, 35)[:, :25], copies)
    assert (v0.reshape(10, 35)[:, 25:] == 0).all()


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_packed_bits_are_those_of_numpy(config: HanabiConfig) -> None:
    view = positions(config).view(config.players - 1)
    bits, packed = view.observation("openspiel"), view.observation("packed")
    assert bits.dtype == packed.dtype == np.uint8
    assert np.array_equal(packed, np.packbits(bits, axis=1))


def test_sections_cover_the_observation() -> None:
    expected = {
        "hands": 125, "missing_cards": 2, "deck": 40, "fireworks": 25, "information_tokens": 8,
        "life_tokens": 3, "discards": 50, "last_action": 55, "knowledge": 350,
    }  # fmt: skip
    parts = sections(HanabiConfig())
    assert {name: part.stop - part.start for name, part in parts.items()} == expected
    ends = [0, *(part.stop for part in parts.values())]
    assert [part.start for part in parts.values()] == ends[:-1]
    assert observation_size(HanabiConfig()) == 658
    minimal = HanabiConfig(observation_type="minimal")
    assert "knowledge" not in sections(minimal) and observation_size(minimal) == 308


def test_a_minimal_v0_observation_has_no_belief() -> None:
    worlds = positions(HanabiConfig(observation_type="minimal"))
    view = worlds.view(1)
    assert np.array_equal(view.observation("v0"), view.observation("openspiel"))
