"""The adapter of the public bidding network: the calls of its own match record, and bad files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.bridge_bidding import margin, read_log, reproduced, tell_tables
from hanabi_search_plugin.bridge import BridgeBidding, JpsBidder, load_jps
from hanabi_search_plugin.bridge.jps_bidder import SHAPES
from hanabi_search_plugin.core.errors import CheckpointError, ConfigError
from hanabi_search_plugin.core.streams import Streams

FILES = Path(__file__).parents[3] / "shared" / "thirdparty" / "bridge"
needs_files = pytest.mark.skipif(
    not FILES.exists(), reason="the network of Joint Policy Search is not there; it is not shipped"
)


def random_weights(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    weights = {}
    for layer, (outputs, inputs) in SHAPES.items():
        scale = 2 / np.sqrt(inputs)
        weights[f"{layer}.weight"] = (scale * rng.normal(size=(outputs, inputs))).astype("f4")
        weights[f"{layer}.bias"] = (0.1 * rng.normal(size=outputs)).astype("f4")
    return weights


@needs_files
def test_every_call_of_the_record_is_made_again() -> None:
    pytest.importorskip("torch", reason="PyTorch, which reads the file, is not installed")
    game, records = BridgeBidding(), read_log(FILES / "jps_14days.log.gz")
    network = load_jps(FILES / "agent-1610-0.63.pth")
    assert reproduced(game, network, records) == (11_219, 11_219)


@needs_files
def test_the_record_is_worth_what_was_published() -> None:
    game, records = BridgeBidding(), read_log(FILES / "jps_14days.log.gz")
    tell_tables(game, FILES / "against_WBridge5.raw.gz")
    gains = margin(game, records)
    assert len(gains) == 1000 and game.tricks.solved == 0
    assert round(float(gains.mean()), 3) == 0.628
    assert round(float(gains.std(ddof=1) / np.sqrt(1000)), 3) == 0.194


def test_the_share_of_likeliest_calls() -> None:
    """A network of random weights: greedy, drawn, and in between."""
    worlds = BridgeBidding(dealer=1).deal(np.random.default_rng(0), 50)
    view, greedy = worlds.view(1), JpsBidder(random_weights())
    legal, rng = view.legal, Streams.still(50)
    best = greedy.act(view, legal, None, rng)
    assert greedy.deterministic and legal[np.arange(50), best].all()
    drawn, soft = greedy.softened(0.0), greedy.softened(0.9)
    chance = drawn.probabilities(view, legal, None)
    assert np.allclose(chance.sum(axis=1), 1) and not chance[~legal].any()
    mixed = 0.1 * chance
    mixed[np.arange(50), best] += 0.9
    assert np.allclose(soft.probabilities(view, legal, None), mixed)
    assert not soft.deterministic


def test_bad_files_and_shares_are_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(ConfigError, match="greedy"):
        JpsBidder(random_weights(), greedy=1.5)
    with pytest.raises(FileNotFoundError):
        load_jps(tmp_path / "none.pth")
    bad = tmp_path / "bad.pth"
    bad.write_bytes(b"no network")
    with pytest.raises(CheckpointError, match="no bidding network"):
        load_jps(bad)
    state = {f"online_net.{name}": torch.tensor(w) for name, w in random_weights().items()}
    torch.save({"state_dict": state}, bad)
    assert load_jps(bad).deterministic
    state["online_net.linear1.weight"] = torch.zeros(3, 3)
    torch.save({"state_dict": state}, bad)
    with pytest.raises(CheckpointError, match="linear1"):
        load_jps(bad)
