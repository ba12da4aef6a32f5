"""Networks that read the move of another policy, their adviser; for imitating a search.

The SPARTA paper's CloneBot reads the blueprint's move beside its observation, so that it can fall
back to it. Here the advised move also adds to the logits, through a matrix that starts as a
multiple of the identity: a new network plays nearly as its adviser. Letters: B worlds, A actions.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.functional import one_hot

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.encodings.named_encodings import make_encoding
from hanabi_search_plugin.networks.modules import Network, Output, require_sizes
from hanabi_search_plugin.networks.nets.mask_net import MaskNet
from hanabi_search_plugin.networks.nets.split_nets import Sequential

Tensor = Any  # torch.Tensor

TRUST = 3.0  # logit of the advised move, at first


class Advised(Network):
    """Base of networks with an adviser: the last number of ``private`` is the advised move.

    It is A where the seat is not to move. ``AdvisedPolicy`` keeps the adviser's memory.
    """

    values = False
    adviser: str  # as ``load_policy`` takes it
    advice: nn.Linear

    def add_advice_layer(self) -> None:
        """Make the layer over the advised move. Raises ConfigError where ``adviser`` is no name."""
        if not isinstance(self.adviser, str):
            raise ConfigError(f"adviser must be the name of a policy, got {self.adviser!r}")
        actions = self.config.num_actions
        self.advice = nn.Linear(actions, actions, bias=False)
        with torch.no_grad():
            self.advice.weight.copy_(TRUST * torch.eye(actions))

    def advised(self, private: Tensor) -> Tensor:
        """[B, A] one-hot, zeros where there is no advice."""
        actions = self.config.num_actions
        return one_hot(private[:, -1].long(), actions + 1)[:, :actions].float()


class AdvisedLSTM(Advised, Sequential):
    """The SPARTA paper's CloneBot: an LSTM over all that the seat sees and the advised move.

    Two layers of 128, as in the paper. Its memory is private. Raises ConfigError for an option out
    of range.
    """

    public_memory = False

    def __init__(
        self,
        config: HanabiConfig,
        *,
        adviser: str = "smartbot",
        encoding: str = "v0-1",
        hidden: int = 128,
        lstm_layers: int = 2,
    ) -> None:
        super().__init__(config)
        self.adviser = adviser
        self.options = {
            "adviser": adviser, "encoding": encoding, "hidden": hidden, "lstm_layers": lstm_layers,
        }  # fmt: skip
        require_sizes(hidden=hidden, lstm_layers=lstm_layers)
        self.encoding = make_encoding(encoding, config)
        self.lstm = nn.LSTM(self.encoding.private_size + config.num_actions, hidden, lstm_layers)
        self.logits = nn.Linear(hidden, config.num_actions)
        self.add_advice_layer()

    def embedded(self, seen: Tensor) -> Tensor:
        public, private = seen.tensor_split([self.encoding.public_words], 1)
        whole = self.encoding.expand_private(public, private[:, :-1])
        return torch.cat([whole, self.advised(private)], 1)

    def heads(self, state: Tensor, public: Tensor, private: Tensor) -> Output:
        logits = self.logits(state) + self.advice(self.advised(private))
        return Output(logits, logits, torch.zeros_like(logits[:, 0]))


class AdvisedMasks(Advised, MaskNet):
    """``MaskNet`` without a memory of its own: it reads the masks of its adviser, a ``MaskBot``."""

    def __init__(
        self,
        config: HanabiConfig,
        *,
        adviser: str = "smartbot",
        hidden: int = 256,
        context: int = 128,
        scorer: int = 128,
    ) -> None:
        super().__init__(config, hidden=hidden, context=context, scorer=scorer)
        self.adviser = adviser
        self.options = {"adviser": adviser} | self.options
        del self.memory  # the adviser's
        self.add_advice_layer()

    def blank(self, n: int) -> Tensor:
        return torch.zeros(n, 0, device=self.planes.device)

    def remember(self, seen: Tensor, memory: Tensor) -> Tensor:
        return memory

    def decide(self, public: Tensor, private: Tensor, memory: Tensor) -> Output:
        """See ``Network.decide``; ``memory`` holds the adviser's masks."""
        found = super().decide(public, private[:, :-1].contiguous(), memory)
        logits = found.logits + self.advice(self.advised(private))
        return Output(logits, found.advantage, found.value)
