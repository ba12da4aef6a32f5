"""The networks of the LBS paper (Hu et al., 2021), for any encoding, and alternatives to them.

A private part reads what the seat sees, a public part what everybody sees; both are fused and read
by a duelling head. The public part is an LSTM with a public state (``PublicLSTM``), or feed-forward
(``FeedForward``). ``Recurrent`` is one LSTM over all that the seat sees. Letters: B worlds, T
steps, H numbers of a hidden layer, L layers of an LSTM.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, get_args

import torch
from torch import nn
from torch.nn.functional import linear

from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.encodings.named_encodings import make_encoding
from hanabi_search_plugin.networks.encodings.network_encoding import Encoding
from hanabi_search_plugin.networks.modules import Network, Output, layers, require_sizes

Tensor = Any  # torch.Tensor

Fuse = Literal["multiply", "concatenate"]
PrivateSees = Literal["everything", "private"]
Auxiliary = Literal["none", "masks"]


class Duelling(nn.Module):
    """Heads over a hidden layer: logits of the policy, advantages, and a value."""

    def __init__(self, hidden: int, actions: int) -> None:
        super().__init__()
        self.logits = nn.Linear(hidden, actions)
        self.advantage = nn.Linear(hidden, actions)
        self.value = nn.Linear(hidden, 1)

    def forward(self, hidden: Tensor) -> Output:
        return Output(self.logits(hidden), self.advantage(hidden), self.value(hidden).squeeze(-1))


class Sequential(Network):
    """Base of networks with an LSTM, whose memory is its state: float32 [B, 2 x L x H]."""

    lstm: nn.LSTM
    head: Duelling

    @abstractmethod
    def embedded(self, seen: Tensor) -> Tensor:
        """[B, H] the LSTM's input for an observation [B, N]."""

    @abstractmethod
    def heads(self, state: Tensor, public: Tensor, private: Tensor) -> Output:
        """The network's output from the LSTM's output [B, H]."""

    def blank(self, n: int) -> Tensor:
        size = 2 * self.lstm.num_layers * self.lstm.hidden_size
        return torch.zeros(n, size, device=self.lstm.weight_hh_l0.device)

    def remember(self, seen: Tensor, memory: Tensor) -> Tensor:
        shape = (len(seen), 2, self.lstm.num_layers, self.lstm.hidden_size)
        hidden, cell = (part.contiguous() for part in memory.reshape(shape).permute(1, 2, 0, 3))
        _, state = self.lstm(self.embedded(seen).unsqueeze(0), (hidden, cell))
        return torch.stack(state).permute(2, 0, 1, 3).flatten(1)

    def outputs(self, seen: Tensor) -> Tensor:
        """The LSTM's outputs [T, B, H] over whole sequences of observations [T, B, N]."""
        embedded = self.embedded(seen.flatten(0, 1)).unflatten(0, seen.shape[:2])
        return self.lstm(embedded)[0]

    def decide(self, public: Tensor, private: Tensor, memory: Tensor) -> Output:
        shape = (len(memory), 2, self.lstm.num_layers, self.lstm.hidden_size)
        return self.heads(memory.reshape(shape)[:, 0, -1], public, private)


class Split(nn.Module):
    """The private part, and how it is fused with the public one."""

    def __init__(
        self, network: Network, hidden: int, depth: int, fuse: Fuse, private_sees: PrivateSees
    ) -> None:
        super().__init__()
        require_choice("fuse", fuse, get_args(Fuse))
        require_choice("private_sees", private_sees, get_args(PrivateSees))
        encoding = network.encoding
        self.sees_public = private_sees == "everything"
        alone = encoding.alone.stop - encoding.alone.start
        reads = encoding.private_size if self.sees_public else alone
        self.private = layers(reads, *(hidden,) * depth)
        self.join = layers(2 * hidden, hidden) if fuse == "concatenate" else None

    def forward(
        self,
        encoding: Encoding,
        public: Tensor,
        private: Tensor,
        state: Tensor,
        expanded: Tensor | None = None,
    ) -> Tensor:
        """[B, H] of a ``state``; ``expanded``: the public part, if it was expanded already."""
        # The first layer in two parts: the public one is often one row for all worlds.
        first, alone = self.private[0], encoding.expand_alone(public, private)
        if self.sees_public:
            at = encoding.alone
            rest = torch.cat([first.weight[:, : at.start], first.weight[:, at.stop :]], 1)
            own = linear(alone, first.weight[:, at])
            if expanded is None:
                expanded = encoding.expand_public(public)
            own = own + linear(expanded, rest, first.bias)
        else:
            own = first(alone)
        own = self.private[1:](own)
        if self.join is None:
            return own * state
        return self.join(torch.cat([own, state.expand(len(own), -1)], -1))


class PublicLSTM(Sequential):
    """The paper's blueprint: private layers times an LSTM over what everybody sees.

    ``fuse`` "concatenate" puts a layer over both in place of the product; ``private_sees``
    "private" leaves the public part out of what the private layers read. ``depth``: private layers.
    ``auxiliary`` "masks" adds a layer that predicts the imitated bot's masks, the identities that
    each card may have, from the LSTM's state. It is trained (``distillation_losses``) and not used
    by decisions. Raises ConfigError for an option out of range.
    """

    public_memory = True

    def __init__(
        self,
        config: HanabiConfig,
        *,
        encoding: str = "v0-1",
        hidden: int = 512,
        depth: int = 3,
        lstm_layers: int = 2,
        fuse: Fuse = "multiply",
        private_sees: PrivateSees = "everything",
        auxiliary: Auxiliary = "none",
    ) -> None:
        super().__init__(config)
        self.options = {
            "encoding": encoding, "hidden": hidden, "depth": depth, "lstm_layers": lstm_layers,
            "fuse": fuse, "private_sees": private_sees, "auxiliary": auxiliary,
        }  # fmt: skip
        require_sizes(hidden=hidden, depth=depth, lstm_layers=lstm_layers)
        require_choice("auxiliary", auxiliary, get_args(Auxiliary))
        self.encoding = make_encoding(encoding, config)
        self.public = layers(self.encoding.public_size, hidden)
        self.lstm = nn.LSTM(hidden, hidden, lstm_layers)
        self.split = Split(self, hidden, depth, fuse, private_sees)
        self.head = Duelling(hidden, config.num_actions)
        masks = config.players * config.hand_size * config.colors * config.ranks
        reads = hidden + self.encoding.public_size
        self.masks = nn.Linear(reads, masks) if auxiliary == "masks" else None

    def embedded(self, seen: Tensor) -> Tensor:
        return self.public(self.encoding.expand_public(seen))

    def heads(self, state: Tensor, public: Tensor, private: Tensor) -> Output:
        output: Output = self.head(self.split(self.encoding, public, private, state))
        return output


class FeedForward(Network):
    """``PublicLSTM`` without a memory: layers in place of the LSTM, the same options otherwise."""

    public_memory = True

    def __init__(
        self,
        config: HanabiConfig,
        *,
        encoding: str = "status-1",
        hidden: int = 512,
        depth: int = 3,
        fuse: Fuse = "multiply",
        private_sees: PrivateSees = "everything",
    ) -> None:
        super().__init__(config)
        self.options = {
            "encoding": encoding, "hidden": hidden, "depth": depth, "fuse": fuse,
            "private_sees": private_sees,
        }  # fmt: skip
        require_sizes(hidden=hidden, depth=depth)
        self.encoding = make_encoding(encoding, config)
        self.public = layers(self.encoding.public_size, *(hidden,) * depth)
        self.split = Split(self, hidden, depth, fuse, private_sees)
        self.head = Duelling(hidden, config.num_actions)

    def blank(self, n: int) -> Tensor:
        return torch.zeros(n, 0)

    def remember(self, seen: Tensor, memory: Tensor) -> Tensor:
        return memory

    def decide(self, public: Tensor, private: Tensor, memory: Tensor) -> Output:
        expanded = self.encoding.expand_public(public)
        state = self.public(expanded)
        output: Output = self.head(self.split(self.encoding, public, private, state, expanded))
        return output


class Recurrent(Sequential):
    """One LSTM over all that the seat sees. Its memory is private."""

    public_memory = False

    def __init__(
        self,
        config: HanabiConfig,
        *,
        encoding: str = "v0-1",
        hidden: int = 512,
        lstm_layers: int = 2,
    ) -> None:
        super().__init__(config)
        self.options = {"encoding": encoding, "hidden": hidden, "lstm_layers": lstm_layers}
        require_sizes(hidden=hidden, lstm_layers=lstm_layers)
        self.encoding = make_encoding(encoding, config)
        self._words = self.encoding.public_words
        self.private = layers(self.encoding.private_size, hidden)
        self.lstm = nn.LSTM(hidden, hidden, lstm_layers)
        self.head = Duelling(hidden, config.num_actions)

    def embedded(self, seen: Tensor) -> Tensor:
        public, private = seen.tensor_split([self._words], 1)
        return self.private(self.encoding.expand_private(public, private))

    def heads(self, state: Tensor, public: Tensor, private: Tensor) -> Output:
        output: Output = self.head(state)
        return output
