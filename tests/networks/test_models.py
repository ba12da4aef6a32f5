"""The networks of the package: as good as their cards say, small, and refused elsewhere."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hanabi_search_plugin import (
    ConfigError,
    HanabiConfig,
    HanabiGame,
    evaluate,
    load_policy,
)
from hanabi_search_plugin.networks.catalogue import network_models

FILES = [
    pytest.param(name, model, id=model["file"])
    for name, entry in network_models().items()
    for model in entry["models"]
]
LARGEST = 8 * 2**20


@pytest.mark.parametrize(("name", "model"), FILES)
def test_a_network_scores_as_its_card_says(name: str, model: dict) -> None:
    """On other decks than those measured."""
    torch.set_num_threads(1)
    game = HanabiGame(HanabiConfig(**model["config"], bomb="keep"))
    played = evaluate(game, load_policy(name, game), games=300, seed=99)
    lives = np.array([result.lives_left for result in played.games])
    assert model["self_play"]["games"] >= 10_000
    for convention, scores in (
        ("keep", played.scores),
        ("zero", np.where(lives > 0, played.scores, 0.0)),
    ):
        mean, error = model["self_play"][convention]
        spread = math.hypot(scores.std(ddof=1) / math.sqrt(len(scores)), error)
        assert abs(scores.mean() - mean) <= 4 * spread, convention


@pytest.mark.parametrize(("name", "model"), FILES)
def test_a_network_is_small_and_plays_its_game_alone(name: str, model: dict) -> None:
    benchmarks = pytest.importorskip("benchmarks.networks")
    assert (benchmarks.MODELS / model["file"]).stat().st_size < LARGEST
    other = HanabiGame(**model["config"] | {"life_tokens": 2})
    with pytest.raises(ConfigError, match=f"{name} plays games of .*, got .*life_tokens 2"):
        load_policy(name, other)


def test_the_documented_cards_are_those_measured() -> None:
    benchmarks = pytest.importorskip("benchmarks.networks")
    text = Path(benchmarks.PAGE).read_text()
    assert benchmarks.page(text) == text


def test_the_page_on_clones_shows_what_was_measured() -> None:
    benchmarks = pytest.importorskip("benchmarks.clone")
    text = Path(benchmarks.PAGE).read_text()
    assert benchmarks.filled(text) == text
