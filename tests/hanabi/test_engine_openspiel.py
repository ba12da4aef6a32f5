"""The native engine plays OpenSpiel's hanabi: a property test over configurations and games.

``python -m benchmarks.openspiel_parity`` is the long version.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("pyspiel", reason="OpenSpiel is not installed")

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from tests.helpers.openspiel_hanabi import compare_game, load, openspiel_parameters

OBSERVATION_TYPES = ("minimal", "card_knowledge", "seer")


@st.composite
def configs(draw: Any) -> HanabiConfig:
    players, colors, ranks = (draw(st.integers(*ends)) for ends in ((2, 5), (1, 5), (1, 5)))
    deck = HanabiConfig(players=2, colors=colors, ranks=ranks, hand_size=1).deck_size
    assume(deck >= players)
    return HanabiConfig(
        players=players,
        colors=colors,
        ranks=ranks,
        hand_size=draw(st.integers(1, min(8, deck // players))),
        information_tokens=draw(st.integers(0, 9)),
        life_tokens=draw(st.integers(1, 4)),
        random_start_player=draw(st.booleans()),
        observation_type=draw(st.sampled_from(OBSERVATION_TYPES)),
    )


@settings(max_examples=150, deadline=None)
@given(configs(), st.integers(0, 2**32 - 1), st.sampled_from(("any", "careful")))
def test_any_configuration(config: HanabiConfig, seed: int, style: Any) -> None:
    compare_game(config, seed, style)


@pytest.mark.parametrize("observation_type", OBSERVATION_TYPES)
@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_standard_games(players: int, observation_type: Any) -> None:
    config = HanabiConfig(players=players, observation_type=observation_type)
    for seed in range(2):
        compare_game(config, seed, "any")
        compare_game(config, seed, "careful")


@pytest.mark.parametrize("hand_size", [6, 7])
@pytest.mark.parametrize("players", [2, 5])
def test_large_hands_with_four_information_tokens(players: int, hand_size: int) -> None:
    config = HanabiConfig(players=players, hand_size=hand_size, information_tokens=4)
    for seed in range(3):
        compare_game(config, seed, "careful")


@pytest.mark.parametrize(
    "config",
    [
        HanabiConfig(players=5, hand_size=8, information_tokens=50, life_tokens=50),
        HanabiConfig(players=2, colors=1, ranks=1, hand_size=1),
        HanabiConfig(players=5, hand_size=8, information_tokens=0, life_tokens=1),
        HanabiConfig(players=2, colors=1, ranks=5, hand_size=5),  # the deck is empty at once
    ],
    ids=["largest", "smallest", "no hints", "no deck"],
)
def test_ends_of_the_ranges(config: HanabiConfig) -> None:
    for seed in range(3):
        compare_game(config, seed, "careful")


def test_sizes_are_those_of_openspiel() -> None:
    theirs, _, ours = load(HanabiConfig(players=3))
    assert ours.num_actions == theirs.num_distinct_actions()
    assert ours.num_players == theirs.num_players()
    assert ours.return_range == (theirs.min_utility(), theirs.max_utility())
    assert ours.max_length <= theirs.max_game_length()


def test_openspiel_aborts_where_we_raise() -> None:
    """What the ranges are for: OpenSpiel takes the whole process down."""
    parameters = openspiel_parameters(HanabiConfig()) | {"colors": 6}
    code = f"import pyspiel; pyspiel.load_game('hanabi', {parameters!r})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode < 0
    with pytest.raises(ValueError, match="colors must be from 1 to 5, got 6"):
        HanabiGame(colors=6)
