"""The learned beliefs of the package: as good as their cards say, small, and refused elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hanabi_search_plugin import ConfigError, HanabiGame, load_policy
from hanabi_search_plugin.networks.belief_files import NetworkBelief
from hanabi_search_plugin.networks.catalogue import belief_models, load_belief_model
from hanabi_search_plugin.networks.training.belief_training import measured

FILES = [
    pytest.param(name, model, id=model["file"])
    for name, entry in belief_models().items()
    for model in entry["models"]
]


@pytest.mark.parametrize(("name", "model"), FILES)
def test_a_model_knows_as_much_as_its_card_says(name: str, model: dict[str, Any]) -> None:
    """On other games than those measured; gains over the grounded belief vary little."""
    torch.set_num_threads(1)
    game = HanabiGame(**model["config"])
    loaded = load_belief_model(name, game)
    assert isinstance(loaded, NetworkBelief)
    blueprint = (load_policy(name, game),) * game.num_players
    found = measured(game, blueprint, loaded.network, 40, 99)
    gain = model["grounded"] - model["cross_entropy"]
    assert gain > 0.05
    assert found["grounded"] - found["masked"] == pytest.approx(gain, abs=0.04)


@pytest.mark.parametrize(("name", "model"), FILES)
def test_a_model_is_small_and_for_its_game_alone(name: str, model: dict[str, Any]) -> None:
    benchmarks = pytest.importorskip("benchmarks.beliefs")
    assert (benchmarks.MODELS / model["file"]).stat().st_size < 2 * 2**20
    load_belief_model(name, HanabiGame(**model["config"], bomb="keep"))
    with pytest.raises(ConfigError, match=f"belief {name} is for games of hanabi with"):
        load_belief_model(name, HanabiGame(**model["config"] | {"life_tokens": 2}))


def test_the_documented_cards_are_those_measured() -> None:
    benchmarks = pytest.importorskip("benchmarks.beliefs")
    text = Path(benchmarks.PAGE).read_text()
    assert benchmarks.page(text) == text


@pytest.mark.slow
def test_seven_cards_fit_in_memory(tmp_path: Path) -> None:
    """LBS at a game whose exact belief would not fit; compilation is in the figure."""
    out = tmp_path / "out.json"
    line = (
        "evaluate --policy rlnet --search lbs --depth 16 --rollouts 1000 --players 2 --hand-size 7 "
        f"--information-tokens 4 --bomb zero --games 1 --json {out}"
    )
    subprocess.run([sys.executable, "-m", "hanabi_search_plugin", *line.split()], check=True)
    assert json.loads(out.read_text())["peak_rss_mb"] < 2 * 1024
