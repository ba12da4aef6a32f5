"""Networks in search: compiled features, exact beliefs, batches that matter not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hanabi_search_plugin import HanabiConfig, HanabiGame, Sparta
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.core import rollout as lockstep
from hanabi_search_plugin.core.policy import as_blueprint
from hanabi_search_plugin.hanabi.beliefs import partner_kinds, partners
from hanabi_search_plugin.networks import network_policy as network_policies
from hanabi_search_plugin.networks.nets import mask_on_cpu
from hanabi_search_plugin.networks.policy_of_network import network_policy
from tests.hanabi.test_hanabi_belief import assert_equal, chances, games
from tests.helpers.hanabi_play import random_legal
from tests.networks.test_networks import CONFIGS, NETWORKS, TINY, network_of

SMALL = {
    2: HanabiConfig(colors=2, ranks=3, hand_size=3, life_tokens=9),
    3: HanabiConfig(players=3, colors=2, ranks=3, hand_size=2, random_start_player=True),
}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.mark.parametrize("config", [*CONFIGS, HanabiConfig(colors=1, hand_size=1)], ids=str)
def test_compiled_features_are_those_of_tensors(config: HanabiConfig) -> None:
    """Whole games of a network of masks, both ways; its memory is exactly the same."""
    network = network_of("masks", NETWORKS[0][1], config).requires_grad_(False)
    rng = np.random.default_rng(0)
    worlds = HanabiGame(config).deal(rng, 40)
    memory, narrowed = network.blank(40), 0
    while len(worlds):
        public = torch.from_numpy(network.encoding.public(worlds.view(0)))
        after = network.remember(public, memory)
        assert torch.equal(after, network.remember_by_tensors(public, memory))
        narrowed += int((after != memory).sum())
        for player in range(config.players):
            view = worlds.view(player)
            given = public, torch.from_numpy(network.encoding.private(view)), after
            found, expected = network.decide(*given), network.decide_by_tensors(*given)
            torch.testing.assert_close(found.value, expected.value, rtol=1e-3, atol=1e-3)
            legal = torch.from_numpy(view.legal)
            for name in ("logits", "advantage"):
                one, other = (getattr(output, name) * legal for output in (found, expected))
                torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)
        worlds.step(random_legal(worlds, rng))
        on = np.flatnonzero(~worlds.terminal)
        worlds, memory = worlds.select(on), after[on]
    assert narrowed > 100


@pytest.mark.parametrize(("name", "options"), NETWORKS)
def test_one_public_row_for_all_worlds_says_the_same(name: str, options: dict[str, Any]) -> None:
    network = network_of(name, options).requires_grad_(False)
    if not network.public_memory:
        return
    game = HanabiGame(TINY)
    belief = private_belief(
        game, (network_policy(network),) * 2, game.deal(np.random.default_rng(0), 1).view(0)
    )
    worlds, _ = belief.support()
    worlds = worlds.select(np.repeat(np.arange(len(worlds)), 3))
    view = worlds.view(1)
    public, private = (
        torch.from_numpy(part(view)) for part in (network.encoding.public, network.encoding.private)
    )
    memory = network.remember(torch.from_numpy(network.seen(view)), network.blank(len(view)))
    one = network.decide(public[:1], private, memory[:1])
    many = network.decide(public, private, memory)
    assert len(one.value) == len(worlds) and one.logits.std(0).max() > 0
    torch.testing.assert_close(one.value, many.value, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(one.logits, many.logits, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("players", SMALL)
@pytest.mark.parametrize(("name", "options"), NETWORKS)
def test_beliefs_over_networks_equal_bayes(
    name: str, options: dict[str, Any], players: int
) -> None:
    """Against whole games played again; every hand is asked about with one public memory."""
    game = HanabiGame(SMALL[players])
    blueprint = as_blueprint(network_policy(network_of(name, options, game.config)), players)
    rng, sizes = np.random.default_rng(1), []
    for record, belief in games(game, blueprint, 0, rng, n=2):
        expected = record.bayes(blueprint, 0, 0.0)
        assert_equal(chances(belief), expected)
        assert belief.exact and not belief.recovered
        worlds, memories = belief.sample(rng, 3)
        again = record.replay(
            record.decks(0, [tuple(hand) for hand in _hands(worlds)]), blueprint, 0, 0.0
        )
        for memory, kept in zip(memories, again.memories, strict=True):
            assert memory is None or np.allclose(memory, kept, atol=1e-5)
        sizes.append(len(expected))
    assert max(sizes) > 10


def _hands(worlds: Any) -> list[list[int]]:
    return [[c for c in hand if c >= 0] for hand in worlds.game.private_tokens(worlds, 0).tolist()]


def test_a_public_memory_is_kept_once_and_asked_about_every_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(partner_kinds, "MAX_ASKED", 100)
    game = HanabiGame(players=2, colors=3, ranks=3, hand_size=4)
    public = network_policy(network_of("masks", NETWORKS[0][1], game.config))
    private = network_policy(network_of("recurrent", NETWORKS[4][1], game.config))

    def last(policy: Any) -> Any:
        *_, (_, belief) = games(game, (policy, policy), 0, np.random.default_rng(0))
        return belief

    belief = last(public)
    assert belief.exact and belief.likelihoods > 200 and len(belief.partners.seats[1]) == 1
    assert not last(private).exact
    monkeypatch.setattr(partner_kinds, "MAX_BATCHED", 100)
    assert not last(public).exact


@pytest.mark.parametrize(("name", "options"), NETWORKS[:2])
def test_batches_do_not_change_a_search(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    game = HanabiGame(players=2, colors=3, ranks=3, hand_size=3)
    policy = network_policy(network_of(name, options, game.config))
    results = []
    for size in (7, 64, 4096):
        for module, limit in (
            (mask_on_cpu, "BATCH"),
            (mask_on_cpu, "SHARED_BATCH"),
            (network_policies, "BATCH"),
            (partners, "_BATCH"),
            (lockstep, "LOCKSTEP"),
        ):
            monkeypatch.setattr(module, limit, size)
        steps = games(game, (policy, policy), 1, np.random.default_rng(2))
        found = [belief for _, belief in steps if belief.view.legal.any()]
        searched = Sparta(rollouts=60, min_rollouts=2)(np.random.default_rng(3), found[1])
        results.append((found[1].size, searched.action, searched.mean.tolist()))
    assert results[0] == results[1] == results[2]
