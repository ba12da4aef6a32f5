"""Load public checkpoints of other projects: public-LSTM networks of the SAD and OBL family.

Two layouts are read, by the names of their tensors: PyTorch state dicts (``priv_net.0.weight``, in
``.pth`` and ``.pthw``; nothing but tensors is unpickled) and flax parameters as JaxMARL converted
them (``priv_net_dense_0,kernel``, safetensors). Differences are worked into the weights: the result
is a network of this package, on the encoding "v0-1":

* own cards of 125 zeros before the observation (inputs of 783 and 838) carry nothing and go;
* SAD's "greedy action" of the last move (the last 55 inputs of 838) is that move where everybody
  plays greedily, and nobody can know better of a partner: its weights are added to the move's;

The action past the last, the no-op of a seat that is not to move, is never chosen here.

Both seats of such networks read every observation, from the first on, whoever is to move; so do
policies. Letters: H numbers of a hidden layer, A actions.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from hanabi_search_plugin.core.errors import CheckpointError
from hanabi_search_plugin.core.whole_files import read_whole
from hanabi_search_plugin.evaluation.tensor_files import read_tensors
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.encoding import sections
from hanabi_search_plugin.networks.modules import (
    Output,
    first_line,
    seeded,
    to_device,
    with_tensors,
)
from hanabi_search_plugin.networks.nets.split_nets import PublicLSTM

Tensor = Any  # torch.Tensor

ONLINE = "online_net."  # before the names in checkpoints of a training
UNUSED = re.compile(r"target_net\.|pred_")  # a copy for training, and auxiliary heads
FLAX_GATES = "ifgo"  # in PyTorch's order


class QHead(nn.Module):
    """Advantages of the moves (the no-op's last, if there is one), and a value."""

    def __init__(self, hidden: int, actions: int, values: bool, waits: bool) -> None:
        super().__init__()
        self.actions = actions
        self.advantage = nn.Linear(hidden, actions + waits)
        self.value = nn.Linear(hidden, 1) if values else None

    def forward(self, hidden: Tensor) -> Output:
        every = self.advantage(hidden)
        advantage, rest = every[:, : self.actions], every[:, self.actions :]
        value, off_turn_value = torch.zeros_like(every[:, 0]), None
        if self.value is not None:
            value = self.value(hidden).squeeze(-1)
        if rest.shape[1]:  # where it alone is legal
            off_turn_value = value + rest[:, 0] * (1 - 1 / every.shape[1])
        return Output(advantage, advantage, value, off_turn_value)


class PublicQ(PublicLSTM):
    """A public LSTM trained by Q-learning; it plays the move of the highest advantage.

    ``values``: it has a value head. ``waits``: it has a no-op beside the game's actions.
    ``combine``: how the seats' Q values make the team's, as in ``policy.Value``.
    """

    def __init__(
        self,
        config: HanabiConfig,
        *,
        hidden: int,
        depth: int,
        lstm_layers: int,
        values: bool,
        waits: bool,
        combine: Literal["sum", "mean"],
    ) -> None:
        super().__init__(config, hidden=hidden, depth=depth, lstm_layers=lstm_layers)
        self.options = {
            "hidden": hidden, "depth": depth, "lstm_layers": lstm_layers, "values": values,
            "waits": waits, "combine": combine,
        }  # fmt: skip
        self.values, self.combine = values, combine
        self.head = QHead(hidden, config.num_actions, values, waits)


@seeded(0)  # modules are made with random weights, which the file's replace
def load_foreign(
    path: str | Path,
    config: HanabiConfig | None = None,
    *,
    combine: Literal["sum", "mean"] = "sum",
    device: str = "cpu",
) -> PublicQ:
    """The network in a foreign file, for games of ``config`` (default: 2 players).

    ``combine`` says how the seats' Q values relate to the team's return: "sum", they are parts of
    it, as VDN trains them; "mean", each estimates the whole. Raises CheckpointError for any other
    file, and where its sizes are not
    those of the game; OSError where it cannot be read.
    """
    config = HanabiConfig() if config is None else config
    tensors = _named_as_torch(path, _read(path))
    try:
        hidden = tensors["lstm.weight_hh_l0"].shape[1]
        actions = len(tensors["fc_a.weight"])
        depth = sum(bool(re.fullmatch(r"priv_net\.\d+\.weight", name)) for name in tensors)
        lstm_layers = sum(name.startswith("lstm.weight_ih_l") for name in tensors)
        network = with_tensors(
            lambda: PublicQ(
                config,
                hidden=hidden,
                depth=depth,
                lstm_layers=lstm_layers,
                values="fc_v.weight" in tensors,
                waits=actions > config.num_actions,
                combine=combine,
            ),
            _renamed(path, config, tensors),
        )
    except KeyError as error:
        raise CheckpointError(f"{path}: expected a public LSTM, which has {error}") from None
    except (IndexError, RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{path}: expected a public LSTM for {config}: {first_line(error)}"
        ) from None
    to_device(network, device).eval()
    return network


def _read(path: str | Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file or of a state dict, by name."""
    with open(path, "rb") as file:
        start = file.read(9)
    try:
        if start[8:] == b"{":
            arrays, _ = read_tensors(read_whole(path))
            return {name: torch.from_numpy(array) for name, array in arrays.items()}
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    # Every byte of a pickle may be damaged, and what reads it has errors of any kind.
    except Exception as error:
        # PyTorch's own words on a pickle advise to trust the file: nothing here does.
        unsafe = isinstance(error, pickle.UnpicklingError)
        reason = "it holds something else" if unsafe else first_line(error)
        raise CheckpointError(
            f"{path}: expected a network of this package, a state dict of tensors alone, or flax "
            f"parameters as safetensors: {reason}"
        ) from None
    if not isinstance(loaded, dict) or not all(map(torch.is_tensor, loaded.values())):
        raise CheckpointError(
            f"{path}: expected a state dict of tensors alone, got a {type(loaded).__name__}"
        )
    return loaded


def _named_as_torch(path: str | Path, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors that matter, under the names of the PyTorch layout, in float32."""
    if any(name.startswith(ONLINE) for name in tensors):
        tensors = {name.removeprefix(ONLINE): x for name, x in tensors.items()}
    tensors = {name.removeprefix("params,"): x.float() for name, x in tensors.items()}
    if any("," in name for name in tensors):
        tensors = _from_flax(tensors)
    tensors = {name: x for name, x in tensors.items() if not UNUSED.match(name)}
    known = re.compile(
        r"(priv_net\.\d+|publ_net\.0|fc_a|fc_v)\.(weight|bias)"
        r"|lstm\.(weight|bias)_(ih|hh)_l\d+"
    )
    for name in tensors:
        if not known.fullmatch(name):
            raise CheckpointError(
                f"{path}: expected a public LSTM (priv_net, publ_net, lstm, fc_a), got a network "
                f"with {name}"
            )
    return tensors


def _from_flax(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Kernels are [inputs, outputs]; each gate of an LSTM has its own, and biases from the state.

    What is no name of that layout is left as it is.
    """
    found = dict(tensors)

    def put(name: str, kernel: str, bias: str) -> None:
        if kernel in found:
            found[f"{name}.weight"] = found.pop(kernel).T
        if bias in found:
            found[f"{name}.bias"] = found.pop(bias)

    layers = {name.split(",")[0] for name in tensors}
    for layer in layers:
        if match := re.fullmatch(r"(priv_net|publ_net)_dense_(\d+)", layer):
            name = f"{match[1]}.{2 * int(match[2])}"
        elif layer in ("fc_a", "fc_v"):
            name = layer
        else:
            continue
        put(name, f"{layer},kernel", f"{layer},bias")
    depths = {match[1] for name in tensors if (match := re.match(r"lstm,l(\d+),", name))}
    for depth in depths:
        at = f"lstm,l{depth}"
        gates = {side: [f"{at},{side}{gate},kernel" for gate in FLAX_GATES] for side in "ih"}
        biases = [f"{at},h{gate},bias" for gate in FLAX_GATES]
        if all(name in found for name in (*gates["i"], *gates["h"], *biases)):
            for side, names in gates.items():
                kernels = [found.pop(name).T for name in names]
                found[f"lstm.weight_{side}h_l{depth}"] = torch.cat(kernels)
            bias = torch.cat([found.pop(name) for name in biases])
            found[f"lstm.bias_hh_l{depth}"] = bias
            found[f"lstm.bias_ih_l{depth}"] = torch.zeros_like(bias)
    return found


def _renamed(
    path: str | Path, config: HanabiConfig, tensors: dict[str, Tensor]
) -> dict[str, Tensor]:
    """A state dict of ``PublicQ``. Raises KeyError where something is missing."""
    state = {name: x for name, x in tensors.items() if name.startswith("lstm.")}
    for name, x in tensors.items():
        if name.startswith("priv_net."):
            state[f"split.private.{name.removeprefix('priv_net.')}"] = x
    parts = sections(config)
    hands = parts["hands"].stop
    whole, last = max(part.stop for part in parts.values()), parts["last_action"]
    private = tensors["priv_net.0.weight"]
    own = config.hand_size * config.colors * config.ranks
    state["split.private.0.weight"] = _plain(path, private, whole, last, own)
    last = slice(last.start - hands, last.stop - hands)
    public = tensors["publ_net.0.weight"]
    state["public.0.weight"] = _plain(path, public, whole - hands, last, 0)
    state["public.0.bias"] = tensors["publ_net.0.bias"]
    actions = config.num_actions
    if len(tensors["fc_a.weight"]) not in (actions, actions + 1):
        raise CheckpointError(
            f"{path}: expected {actions} actions, or a no-op besides, for {config}, got "
            f"{len(tensors['fc_a.weight'])}"
        )
    for part in ("weight", "bias"):
        state[f"head.advantage.{part}"] = tensors[f"fc_a.{part}"]
        if "fc_v.weight" in tensors:
            state[f"head.value.{part}"] = tensors[f"fc_v.{part}"]
    return state


def _plain(path: str | Path, weight: Tensor, size: int, last: slice, own: int) -> Tensor:
    """A first layer [H, inputs] for the ``size`` numbers of an observation alone."""
    greedy = last.stop - last.start
    sizes = sorted({size + before + after for before in (0, own) for after in (0, greedy)})
    given = weight.shape[1]
    if given not in sizes:
        raise CheckpointError(
            f"{path}: expected inputs of {', '.join(map(str, sizes))} numbers for this game, got "
            f"{given}"
        )
    before = own if given in (size + own, size + own + greedy) else 0
    plain = weight[:, before : before + size].clone()
    if given == before + size + greedy:
        plain[:, last] += weight[:, before + size :]
    return plain
