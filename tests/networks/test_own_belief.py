"""A network's own belief as a belief model: its numbers, its names, and what has none."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from typer.testing import CliRunner

from hanabi_search_plugin import (
    ConfigError,
    HanabiGame,
    Lbs,
    evaluate,
    load_belief_model,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.networks.architectures import make_network
from hanabi_search_plugin.networks.checkpoint import save_network
from hanabi_search_plugin.networks.encodings.belief_parts import COUNTS, UNITS
from hanabi_search_plugin.networks.own_belief import OwnBelief
from tests.helpers.belief_moments import moments

SMALL = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3)
THREE = HanabiGame(players=3, colors=2, ranks=2, hand_size=2, information_tokens=3)
OPTIONS = ["--colors", "2", "--ranks", "3", "--hand-size", "2", "--information-tokens", "3"]


def saved(path: Path, game: HanabiGame, architecture: str = "public-belief") -> Path:
    """A network that says something of everything it reads."""
    torch.manual_seed(3)
    sizes = {"hidden": 8, "context": 8, "scorer": 8}
    sizes |= {"cell": 8} if architecture == "public-belief" else {}
    network = make_network(architecture, game.config, sizes)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    save_network(path, network, {"architecture": architecture})
    return path


@pytest.mark.parametrize("game", [SMALL, THREE], ids=str)
def test_likelihoods_are_copies_times_what_the_network_remembers(
    game: HanabiGame, tmp_path: Path
) -> None:
    """Against the grounded belief, token by token; all hands have probability 1, draws agree."""
    policy = load_policy(f"network:file={saved(tmp_path / 'model.safetensors', game)}", game)
    model, grounded = OwnBelief(game, policy), Grounded(game)
    config, every = game.config, game.config.colors * game.config.ranks
    hands = np.array(list(itertools.product(range(every), repeat=config.hand_size)))
    whole, moved = 0, 0.0
    for view, state, truth in moments(game, model, policy, 4):
        drawn = model.sample(view, state, np.random.default_rng(0), 4000)
        assert game.agrees(view.select(np.zeros(4000, dtype=np.int64)), drawn).all()
        assert ((drawn < 0) == (truth < 0)).all()
        if (truth < 0).any():
            continue
        many = view.select(np.zeros(len(hands), dtype=np.int64))
        told = model.log_likelihood(many, np.repeat(state, len(hands), axis=0), hands)
        counts = np.exp(grounded.log_likelihood(many, None, hands))  # [N, 2]
        cards = state.reshape(config.players, config.hand_size, every + COUNTS)
        units = cards[view.player, :, :every].astype(float)
        first = {
            hand[0]: p * np.exp(units[0, hand[0]] / UNITS)
            for hand, p in zip(hands, counts[:, 0], strict=True)
        }
        total = sum(first.values())
        for hand, row, (_, p) in zip(hands, told, counts, strict=True):
            if first[hand[0]] == 0:
                assert row[0] == -np.inf
                continue
            assert np.exp(row[0]) == pytest.approx(first[hand[0]] / total)
            after = hands[:, 0] == hand[0]
            others = counts[after, 1] * np.exp(units[1, hands[after, 1]] / UNITS)
            own = p * np.exp(units[1, hand[1]] / UNITS)
            assert np.exp(row[1]) == pytest.approx(own / others.sum())
        possible = np.isfinite(told[:, 0])
        chance = np.where(possible, np.exp(told.sum(axis=1)), 0.0)
        assert chance.sum() == pytest.approx(1.0)
        for hand, expected in zip(hands, chance, strict=True):
            spread = np.sqrt(expected * (1 - expected) / 4000)
            share = (drawn == hand).all(axis=1).mean()
            assert share == pytest.approx(expected, abs=5 * spread + 1e-6)
        shown = model.marginals(view, state, np.random.default_rng(0), 4000)
        by_hand = [chance[hands[:, 0] == v].sum() for v in range(every)]
        assert shown[0] == pytest.approx(by_hand, abs=1e-9)
        grounded_chance = counts.prod(axis=1)
        moved = max(moved, float(np.abs(chance - grounded_chance).max()))
        whole += 1
    assert whole > 3 and moved > 0.05


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_the_shipped_networks_know_more_than_hints_say(players: int) -> None:
    game = HanabiGame(players=players)
    policy = load_policy("beliefnet", game)
    model, grounded = load_belief_model("beliefnet", game), Grounded(game)
    assert isinstance(model, OwnBelief) and model.policy == "beliefnet"
    told, known = 0.0, 0.0
    for seed in range(3):
        for view, state, truth in moments(game, model, policy, seed):
            told += float(model.log_likelihood(view, state, truth).sum())
            known += float(grounded.log_likelihood(view, None, truth).sum())
    assert told > 0.95 * known  # less far below 0


def test_it_is_found_by_the_name_and_by_the_file_of_its_network(tmp_path: Path) -> None:
    path = saved(tmp_path / "model.safetensors", SMALL)
    for name in (path, str(path), f"network:file={path}"):
        assert isinstance(load_belief_model(name, SMALL), OwnBelief)
    agent = upgrade(str(path), SMALL, Lbs(rollouts=40, min_rollouts=2, depth=2), belief=str(path))
    assert 0 <= evaluate(SMALL, agent, games=1, seed=1).mean <= 6
    words = ["evaluate", "--policy", str(path), *OPTIONS, "--search", "lbs", "--rollouts", "40"]
    result = CliRunner().invoke(app, [*words, "--min-rollouts", "2", "--games", "1"])
    assert result.exit_code == 0, (result.output, result.exception)
    listed = CliRunner().invoke(app, ["list", "beliefnet"])
    assert "what the network itself believes of each card" in " ".join(listed.output.split())


def test_what_is_no_network_with_a_public_belief(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="an own belief is of a public-belief network, got"):
        OwnBelief(SMALL, load_policy("smartbot", SMALL))
    path = saved(tmp_path / "model.safetensors", SMALL, "masks")
    with pytest.raises(ConfigError, match="an own belief is of a public-belief network, got"):
        OwnBelief(SMALL, load_policy(path, SMALL))
    words = ["evaluate", "--policy", str(path), *OPTIONS, "--search", "lbs", "--games", "1"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "belief must be given where there is no model" in " ".join(result.output.split())
    with pytest.raises(ConfigError, match="beliefnet plays games of players 2, hand_size 6"):
        load_belief_model("beliefnet", SMALL)
