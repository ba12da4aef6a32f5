"""Checkpoints of other projects, made here to their layouts, against a reference in NumPy."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.numpy import save_file

from hanabi_search_plugin import (
    HanabiConfig,
    HanabiGame,
    Sparta,
    UnsupportedError,
    evaluate,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.core.errors import CheckpointError
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.encoding import sections
from hanabi_search_plugin.networks.checkpoint import load_network, save_network
from hanabi_search_plugin.networks.foreign import load_foreign
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.testing import check_agent, check_policy

TINY = HanabiConfig(colors=2, ranks=3, hand_size=2, information_tokens=3)
FULL = HanabiConfig()
HIDDEN, LAYERS = 6, 2
Arrays = dict[str, Any]
INPUTS = {"658": (False, False), "783": (True, False), "838": (True, True), "713": (False, True)}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def sizes(config: HanabiConfig, inputs: str) -> tuple[int, int, int, int]:
    """Numbers of own cards before an observation, of it, of hands in it, and of a greedy action."""
    own, greedy = INPUTS[inputs]
    parts = sections(config)
    last = parts["last_action"]
    return (
        own * config.hand_size * config.colors * config.ranks,
        max(part.stop for part in parts.values()),
        parts["hands"].stop,
        greedy * (last.stop - last.start),
    )


def state_of(config: HanabiConfig, inputs: str = "658", seed: int = 0) -> Arrays:
    """Random numbers under the names of the PyTorch layout."""
    rng = np.random.default_rng(seed)
    own, whole, hands, greedy = sizes(config, inputs)
    shapes = {
        "priv_net.0": (HIDDEN, own + whole + greedy),
        "priv_net.2": (HIDDEN, HIDDEN),
        "priv_net.4": (HIDDEN, HIDDEN),
        "publ_net.0": (HIDDEN, whole - hands + greedy),
        "fc_v": (1, HIDDEN),
        "fc_a": (config.num_actions + 1, HIDDEN),
        "pred_1st": (3 * config.hand_size, HIDDEN),
    }
    state: Arrays = {}
    for name, shape in shapes.items():
        state[f"{name}.weight"] = rng.normal(0, 0.5, shape).astype(np.float32)
        state[f"{name}.bias"] = rng.normal(0, 0.3, shape[:1]).astype(np.float32)
    for layer in range(LAYERS):
        for side in ("ih", "hh"):
            weight = rng.normal(0, 0.5, (4 * HIDDEN, HIDDEN)).astype(np.float32)
            state[f"lstm.weight_{side}_l{layer}"] = weight
            state[f"lstm.bias_{side}_l{layer}"] = rng.normal(0, 0.3, 4 * HIDDEN).astype(np.float32)
    return state


def flax_of(state: Arrays) -> Arrays:
    """The same network under the names of JaxMARL's conversion, which has no value."""
    found: Arrays = {}

    def put(name: str, weight: Any, bias: Any) -> None:
        found[f"{name},kernel"] = np.ascontiguousarray(weight.T)
        if bias is not None:
            found[f"{name},bias"] = bias

    for i in range(3):
        weight, bias = (state[f"priv_net.{2 * i}.{part}"] for part in ("weight", "bias"))
        put(f"params,priv_net_dense_{i}", weight, bias)
    put("params,publ_net_dense_0", state["publ_net.0.weight"], state["publ_net.0.bias"])
    put("params,fc_a", state["fc_a.weight"], state["fc_a.bias"])
    for layer in range(LAYERS):
        bias = state[f"lstm.bias_ih_l{layer}"] + state[f"lstm.bias_hh_l{layer}"]
        for g, gate in enumerate("ifgo"):
            rows = slice(g * HIDDEN, (g + 1) * HIDDEN)
            at = f"params,lstm,l{layer},"
            put(f"{at}i{gate}", state[f"lstm.weight_ih_l{layer}"][rows], None)
            put(f"{at}h{gate}", state[f"lstm.weight_hh_l{layer}"][rows], bias[rows])
    return found


def written(folder: Path, state: Arrays, kind: str) -> Path:
    """A file of a layout."""
    path = folder / f"{kind}.pthw"
    if kind == "flax":
        save_file(flax_of(state), path)
        return path
    tensors = {name: torch.from_numpy(x) for name, x in state.items()}
    if kind == "training":
        other = state_of(FULL, seed=9)
        tensors = {f"online_net.{name}": x for name, x in tensors.items()}
        tensors |= {f"target_net.{name}": torch.from_numpy(x) for name, x in other.items()}
    torch.save(tensors, path, _use_new_zipfile_serialization=kind != "old")
    return path


class Reference:
    """One seat, as the projects that these files come from run it, step by step, in NumPy."""

    def __init__(self, state: Arrays, config: HanabiConfig, inputs: str) -> None:
        self.state, self.config = state, config
        self.own, _, self.hands, self.greedy = sizes(config, inputs)
        self.h, self.c = np.zeros((LAYERS, HIDDEN)), np.zeros((LAYERS, HIDDEN))

    def layer(self, name: str, x: Any) -> Any:
        return self.state[f"{name}.weight"] @ x + self.state[f"{name}.bias"]

    def observe(self, observation: Any, legal: Any) -> None:
        """Read an observation [N]; ``legal`` [A + 1], the no-op's last."""
        last = observation[sections(self.config)["last_action"]] if self.greedy else []
        private = np.concatenate([np.zeros(self.own), observation, last])
        self.embedded = np.maximum(
            self.layer("publ_net.0", np.concatenate([observation[self.hands :], last])), 0
        )
        x = self.embedded
        for k in range(LAYERS):
            gates = self.state[f"lstm.weight_ih_l{k}"] @ x + self.state[f"lstm.bias_ih_l{k}"]
            gates += self.state[f"lstm.weight_hh_l{k}"] @ self.h[k]
            gates += self.state[f"lstm.bias_hh_l{k}"]
            i, f, g, o = gates.reshape(4, HIDDEN)
            self.c[k] = self.c[k] / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
            self.h[k] = np.tanh(self.c[k]) / (1 + np.exp(-o))
            x = self.h[k]
        self.private = private
        for k in (0, 2, 4):
            self.private = np.maximum(self.layer(f"priv_net.{k}", self.private), 0)
        self.advantage = self.layer("fc_a", self.private * x)
        value = self.layer("fc_v", self.private * x)[0]
        self.action = int(((1 + self.advantage - self.advantage.min()) * legal).argmax())
        counted = self.advantage * legal
        self.q = (value + counted - counted.mean())[self.action]


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [("state", "658"), ("old", "783"), ("training", "838"), ("state", "713"), ("flax", "658")],
)
@pytest.mark.parametrize("config", [FULL, TINY], ids=["full", "tiny"])
def test_layer_by_layer_over_whole_games(
    tmp_path: Path, config: HanabiConfig, kind: str, inputs: str
) -> None:
    state = state_of(config, inputs)
    if config == FULL:
        assert state["priv_net.0.weight"].shape[1] == int(inputs)
    path = written(tmp_path, state, kind)
    policy = load_policy(f"network:file={path}", HanabiGame(config))
    network = load_foreign(path, config)
    worlds = HanabiGame(config).deal(np.random.default_rng(3), 1)
    seats = [Reference(state, config, inputs) for _ in range(2)]
    memories: list[Any] = [None, None]
    event, moves = None, 0
    while len(worlds) and not worlds.terminal[0]:
        for p, seat in enumerate(seats):
            view = worlds.view(p)
            memory = (
                policy.start(view) if event is None else policy.observe(view, event, memories[p])
            )
            memories[p] = memory
            legal = np.append(view.legal[0], not view.legal[0].any())
            seat.observe(view.observation("v0")[0].astype(np.float64), legal)
            close = {"rtol": 1e-4, "atol": 1e-5}
            kept = memory.reshape(2, LAYERS, HIDDEN)
            np.testing.assert_allclose(kept, [seat.h, seat.c], **close)
            given = [
                torch.from_numpy(x) for x in (network.seen(view), network.encoding.private(view))
            ]
            with torch.no_grad():
                np.testing.assert_allclose(network.embedded(given[0])[0], seat.embedded, **close)
                own = network.split(network.encoding, *given, torch.ones(1, HIDDEN))
                np.testing.assert_allclose(own[0], seat.private, **close)
                output = network.decide(*given, torch.from_numpy(memory))
                played = seat.advantage[: config.num_actions]
                np.testing.assert_allclose(output.advantage[0], played, **close)
            if kind == "flax":
                with pytest.raises(UnsupportedError, match=r"the network has no values"):
                    policy.value(view, memory)
            else:
                np.testing.assert_allclose(policy.value(view, memory), seat.q, **close)
        mover = int(worlds.current_player[0])
        assert seats[1 - mover].action == config.num_actions  # the no-op
        view = worlds.view(mover)
        stream = Streams(np.zeros(1, dtype=np.uint64))
        action = policy.act(view, view.legal, memories[mover], stream)
        assert action[0] == seats[mover].action
        event, moves = worlds.step(action), moves + 1
    assert moves > 3


def test_a_foreign_network_is_one_like_any_other(tmp_path: Path) -> None:
    """It keeps the contract, is searched over, and can be saved as this package does."""
    path = written(tmp_path, state_of(TINY, "838"), "state")
    network, game = load_foreign(path, TINY, combine="mean"), HanabiGame(TINY)
    policy = network_policy(network)
    assert policy.combine == "mean" and policy.public_memory
    check_policy(game, policy, games=2)
    search = Sparta(rollouts=60, min_rollouts=4, threshold=0.0)
    check_agent(game, upgrade(policy, game, search), games=1)
    result = evaluate(game, (policy, upgrade(policy, game, search)), games=3, seed=1)
    assert result.to_dict()["gain"] > 0
    save_network(tmp_path / "ours", network, {"source": "a test"})
    again = load_network(tmp_path / "ours", TINY).network
    assert again.options == network.options
    for name, tensor in network.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)
    assert load_policy(f"network:file={tmp_path / 'ours'}", HanabiGame(TINY)).combine == "mean"


class Stranger:
    """What no file may bring along."""


def test_anything_else_is_refused_in_a_sentence(tmp_path: Path) -> None:
    state = state_of(TINY)
    path = tmp_path / "a.pthw"

    def refused(content: Any, reason: str) -> None:
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif isinstance(content, dict) and "a" not in content:
            torch.save({name: torch.as_tensor(x) for name, x in content.items()}, path)
        else:
            torch.save(content, path)
        with pytest.raises(CheckpointError, match=reason) as caught:
            load_policy(f"network:file={path}", HanabiGame(TINY))
        assert "\n" not in str(caught.value)
        assert "weights_only" not in str(caught.value)  # PyTorch's advice, to trust the file

    refused(b"no file of tensors", "expected a network of this package, a state dict")
    refused(
        pickle.dumps(Stranger(), protocol=2), "expected a network of this package, a state dict"
    )
    refused({"a": Stranger()}, "expected a network of this package, a state dict")
    refused({"a": 3}, "expected a state dict of tensors alone, got a dict")
    refused(state | {"net.0.weight": np.zeros(3)}, r"got a network with net\.0\.weight")
    refused(state | {"publ_net.2.bias": np.zeros(3)}, r"got a network with publ_net\.2\.bias")
    for name in ("lstm.weight_hh_l0", "priv_net.0.weight", "publ_net.0.bias", "fc_a.bias"):
        rest = {key: x for key, x in state.items() if key != name}
        refused(rest, f"expected a public LSTM, which has '{name}'")
    rest = {key: x for key, x in state.items() if key != "priv_net.2.bias"}
    refused(rest, r"split\.private\.2\.bias is missing")
    refused(state_of(FULL), "expected inputs of .* numbers for this game, got 658")
    few = {"fc_a.weight": state["fc_a.weight"][:5], "fc_a.bias": state["fc_a.bias"][:5]}
    refused(state | few, "expected 9 actions, or a no-op besides, for .*, got 5")
    flax = flax_of(state)
    del flax["params,lstm,l1,hg,bias"]
    save_file(flax, path)
    with pytest.raises(CheckpointError, match=r"got a network with lstm,l1,"):
        load_policy(f"network:file={path}", HanabiGame(TINY))
