"""The compiled path of ``public-belief``: it equals the tensors', and a row knows no batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hanabi_search_plugin import HanabiConfig
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.layout import LAST_PLAYER
from hanabi_search_plugin.networks.encodings import card_beliefs, status
from hanabi_search_plugin.networks.encodings.belief_parts import UNITS
from hanabi_search_plugin.networks.nets import public_belief_on_cpu
from hanabi_search_plugin.networks.row_layers import linear, packed, padded
from tests.helpers.hanabi_play import random_legal
from tests.networks.test_public_belief import CONFIGS, TINY, Followed, followed

EVERY_SIZE = [
    *CONFIGS,
    HanabiConfig(players=3),
    HanabiConfig(players=4),
]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def batches(n: int, size: int) -> list[Any]:
    """The numbers below n, shuffled, in batches of ``size``."""
    order = torch.from_numpy(np.random.default_rng(size).permutation(n))
    return list(order.split(size))


# ---------------------------------------------------------------------------------- the layers


def test_a_row_of_a_layer_is_the_same_in_every_batch() -> None:
    rng = np.random.default_rng(0)
    for inputs, outputs in ((1, 1), (37, 5), (64, 48), (130, 20)):
        rows = rng.normal(size=(29, inputs)).astype(np.float32)
        rows[:, rng.random(inputs) < 0.5] = 0  # left out
        weight = rng.normal(size=(outputs, inputs)).astype(np.float32)
        bias = rng.normal(size=(3, outputs)).astype(np.float32)
        which = rng.integers(3, size=29)
        weights, bias_of = packed(weight), padded(bias)
        whole = linear(rows, weights, (bias_of, which))
        expected = rows.astype(float) @ weight.T + bias[which]
        np.testing.assert_allclose(whole[:, :outputs], expected, atol=1e-4)
        above = linear(rows, weights, (bias_of, which), relu=True)
        np.testing.assert_array_equal(above, np.maximum(whole, 0))
        for size in (1, 5, 6, 7):
            for part in map(np.asarray, batches(29, size)):
                start = bias_of, which[part]
                again = linear(np.ascontiguousarray(rows[part]), weights, start)
                np.testing.assert_array_equal(again, whole[part])


def test_a_layer_says_that_shapes_do_not_fit() -> None:
    nothing = np.zeros((2, 3), dtype=np.float32)
    with pytest.raises(ValueError, match="shapes do not fit"):
        linear(nothing, packed(np.zeros((4, 5), dtype=np.float32)), padded(nothing[:1]))


# ---------------------------------------------------------------------------------- the memory


def same_memory(play: Followed) -> None:
    """Up to one unit where the likelihood lies at a rounding boundary."""
    network = play.network
    found, expected = play.memory, network.remember_by_tensors(play.public, play.before)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    exact = unrounded(network, play.public, play.before)
    far = ((exact - exact.floor() - 0.5).abs() > 1e-2).numpy()
    every = exact.shape[-1]
    found, expected = play.cards(found).astype(int), play.cards(expected).astype(int)
    np.testing.assert_array_equal(found[..., every:], expected[..., every:])
    found, expected = found[..., :every], expected[..., :every]
    np.testing.assert_array_equal(found[far], expected[far])
    assert np.abs(found - expected).max() <= 1 and far.mean() > 0.9


def unrounded(network: Any, public: Any, memory: Any) -> Any:
    """[B, P, H, V] what ``remember_by_tensors`` rounds, in order of seats."""
    kept: list[Any] = []
    original = card_beliefs.quantised

    def keep(log_weight: Any) -> Any:
        kept.append(log_weight * UNITS)
        return original(log_weight)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(card_beliefs, "quantised", keep)
        network.remember_by_tensors(public, memory)
    others = kept[0]
    whole = torch.cat([torch.zeros_like(others[:, :1]), others], 1)
    mover = status.table(network.config, public).word(LAST_PLAYER).clamp(min=0)
    return status.turned(whole, (-mover) % network.config.players)


@pytest.mark.parametrize("config", EVERY_SIZE, ids=str)
def test_memories_equal_those_of_tensors(config: HanabiConfig) -> None:
    play = followed(config, 0, 25)
    for _ in range(16):
        same_memory(play)
        if play.worlds.terminal.all():
            break
        play.step(random_legal(play.worlds, play.rng))


@pytest.mark.parametrize("config", [HanabiConfig(), HanabiConfig(players=5), TINY], ids=str)
def test_a_memory_is_the_same_in_every_batch(config: HanabiConfig) -> None:
    play = followed(config, 5, 500)
    for size in (1, 7, 100):
        for part in batches(len(play.worlds), size):
            after = play.network.remember(play.public[part], play.before[part])
            assert torch.equal(after, play.memory[part])


def test_weights_are_laid_out_anew_when_they_change() -> None:
    play = followed(TINY, 3)
    network = play.network
    before = public_belief_on_cpu.layers_of(network)
    assert public_belief_on_cpu.layers_of(network) is before
    with torch.no_grad():
        network.cell.weights.bias += 0.5
    same_memory(Followed(network, play.worlds, 0))
    assert public_belief_on_cpu.layers_of(network) is not before
    network.cell.weights.weight.data = torch.zeros_like(network.cell.weights.weight)
    same_memory(Followed(network, play.worlds, 1))
    network.load_state_dict({name: x + 0.1 for name, x in network.state_dict().items()})
    same_memory(Followed(network, play.worlds, 1))


# -------------------------------------------------------------------------------- the decision


def same_output(found: Any, expected: Any, legal: Any) -> None:
    """Bit for bit; of moves that are not legal nothing is said."""
    assert torch.equal(found.logits[legal], expected.logits[legal])
    assert torch.equal(found.advantage[legal], expected.advantage[legal])
    assert torch.equal(found.value, expected.value)


@pytest.mark.parametrize("config", EVERY_SIZE, ids=str)
def test_decisions_equal_those_of_tensors(config: HanabiConfig) -> None:
    play = followed(config, 0, 25)
    hints = 0
    for _ in range(12):
        alive = torch.from_numpy(~play.worlds.terminal)
        for seat in range(config.players):
            found = play.decide(seat)
            with torch.no_grad():
                given = play.public, play.private(seat), play.memory
                expected = play.network.decide_by_tensors(*given)
            torch.testing.assert_close(found.value[alive], expected.value[alive], rtol=0, atol=1e-4)
            legal = play.worlds.legal & (play.worlds.current_player == seat)[:, None]
            hints += legal[:, 2 * config.hand_size :].sum()
            for part in ("logits", "advantage"):
                a, b = getattr(found, part)[legal], getattr(expected, part)[legal]
                torch.testing.assert_close(a, b, rtol=0, atol=1e-4)
        if play.worlds.terminal.all():
            break
        play.step(random_legal(play.worlds, play.rng))
    assert hints > 20


@pytest.mark.parametrize("config", [HanabiConfig(), HanabiConfig(players=5), TINY], ids=str)
def test_a_decision_is_the_same_in_every_batch(config: HanabiConfig) -> None:
    play = followed(config, 5, 500)
    mover = play.worlds.current_player
    rows = torch.arange(len(mover))
    private = play.privates[torch.from_numpy(mover).clamp(min=0), rows]
    legal = torch.from_numpy(play.worlds.legal)
    with torch.no_grad():
        whole = play.network.decide(play.public, private, play.memory)
        for size in (1, 7, 100, 500):
            for part in batches(len(mover), size):
                given = play.public[part], private[part], play.memory[part]
                expected = type(whole)(whole.logits[part], whole.advantage[part], whole.value[part])
                same_output(play.network.decide(*given), expected, legal[part])


@pytest.mark.parametrize("config", [HanabiConfig(), HanabiConfig(players=4), TINY], ids=str)
def test_hands_of_one_public_state_are_as_if_alone(config: HanabiConfig) -> None:
    """One public row for all, of views of every seat, at a time when hints are allowed."""
    play = followed(config, 4, 20)
    game = play.worlds.game
    chosen = np.flatnonzero(play.worlds.legal[:, 2 * config.hand_size :].any(1))[:3]
    assert len(chosen) == 3
    for one in chosen:
        public, memory = play.public[one : one + 1], play.memory[one : one + 1]
        worlds = play.worlds.select(np.full(150, one))
        for seat in range(config.players):
            worlds = game.redeterminize(worlds, seat, Streams.spawn(play.rng, len(worlds)))
        views = [play.network.encoding.private(worlds.view(s)) for s in range(config.players)]
        private = torch.from_numpy(np.concatenate(views))
        order = torch.from_numpy(play.rng.permutation(len(private)))
        with torch.no_grad():
            shared = play.network.decide(public, private[order], memory)
            every = public.expand(len(private), -1), private[order], memory.expand(len(private), -1)
            apart = play.network.decide(*every)
        assert len(torch.unique(shared.logits, dim=0)) > 1
        same_output(shared, apart, torch.ones_like(shared.logits, dtype=torch.bool))


def test_gradients_flow_through_decisions() -> None:
    play = followed(TINY, 3)
    seat = int(play.worlds.current_player.max())
    play.network.decide(play.public, play.private(seat), play.memory).logits.sum().backward()
    assert all(x.grad is not None for name, x in play.network.named_parameters() if "heads" in name)
