"""The auto-regressive belief network of the LBS paper (Figure 2, section 5.2), for any game.

An encoder LSTM reads one seat's observations, after its own and the others' moves; a decoder LSTM
then predicts what the seat does not see, token by token. Unlike the paper's, the decoder also reads
what the observation alone says of each token (``PrivateTokens.token_weights``), and its logits are
added to the logarithms of that. Letters: T steps, G sequences, B rows, N numbers of an observation,
H numbers of a hidden layer, L layers of an LSTM, K tokens, V vocabulary, S features of a token.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from hanabi_search_plugin.core.capabilities import PrivateTokens
from hanabi_search_plugin.core.game import PAD
from hanabi_search_plugin.networks.encodings.featurizers import BeliefInputs
from hanabi_search_plugin.networks.encodings.named_featurizers import make_featurizer
from hanabi_search_plugin.networks.modules import layers, require_sizes

Tensor = Any  # torch.Tensor

FLOOR = 1e-3  # probability added to what an observation alone says, so that its log is finite


class BeliefNet(nn.Module):
    """P(tokens | observations), with layers of these sizes. Raises ConfigError for one below 1.

    ``encoding`` and ``listener`` are those of ``make_featurizer``. A state is [B, (1 + 2 L) H]
    floats: the context, which the decoder reads, then the state of the encoder's LSTM.
    """

    def __init__(
        self,
        game: PrivateTokens,
        *,
        encoding: str = "",
        listener: str = "",
        hidden: int = 256,
        decoder: int = 128,
        embedding: int = 64,
        lstm_layers: int = 1,
    ) -> None:
        super().__init__()
        require_sizes(hidden=hidden, decoder=decoder, embedding=embedding, lstm_layers=lstm_layers)
        self.featurizer = make_featurizer(game, encoding, listener)
        self.options = {
            "encoding": self.featurizer.name, "listener": listener, "hidden": hidden,
            "decoder": decoder, "embedding": embedding, "lstm_layers": lstm_layers,
        }  # fmt: skip
        self.vocabulary = game.vocabulary
        self.embed = layers(self.featurizer.size, hidden, hidden)
        self.encoder = nn.LSTM(hidden, hidden, lstm_layers)
        self.tokens = nn.Embedding(game.vocabulary + 1, embedding)  # the last is the start
        self.decoder = nn.LSTM(hidden + embedding + game.vocabulary, decoder)
        self.out = nn.Linear(decoder, game.vocabulary + self.featurizer.token_features)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def contexts(self, seen: Tensor) -> Tensor:
        """Contexts [T, G, H] of whole sequences of observations [T, G, N]."""
        features = self.featurizer.expand(seen.flatten(0, 1)).features
        embedded = self.embed(features).unflatten(0, seen.shape[:2])
        outputs, _ = self.encoder(embedded)
        return outputs + embedded

    def blank(self, n: int) -> Tensor:
        """[n, (1 + 2 L) H] states before the first observation."""
        size = (1 + 2 * self.encoder.num_layers) * self.encoder.hidden_size
        return torch.zeros(n, size, device=self.out.weight.device)

    def remember(self, seen: BeliefInputs, state: Tensor) -> Tensor:
        """States [B, (1 + 2 L) H] after one more observation each."""
        depth, size = self.encoder.num_layers, self.encoder.hidden_size
        parts = state.unflatten(1, (1 + 2 * depth, size)).transpose(0, 1)  # [1 + 2 L, B, H]
        hidden, cell = parts[1 : 1 + depth].contiguous(), parts[1 + depth :].contiguous()
        embedded = self.embed(seen.features).unsqueeze(0)
        output, after = self.encoder(embedded, (hidden, cell))
        return torch.cat([output + embedded, *after]).transpose(0, 1).flatten(1)

    def context(self, state: Tensor) -> Tensor:
        """Contexts [B, H] of states."""
        return state[:, : self.encoder.hidden_size]

    def logits(
        self, context: Tensor, seen: BeliefInputs, tokens: Tensor, weights: Tensor
    ) -> Tensor:
        """Logits [B, K, V] of each token given those before it (teacher forcing).

        Takes contexts [B, H], the last observation, tokens int64 [B, K] and their weights
        [B, K, V] by the observation alone.
        """
        known = weights if seen.plausible is None else weights * seen.plausible
        start = torch.full_like(tokens[:, :1], PAD)
        last = torch.cat([start, tokens[:, :-1]], 1)
        given = self._given(context.unsqueeze(1), last, probabilities(known))
        outputs, _ = self.decoder(given.transpose(0, 1))
        return self._said(outputs.transpose(0, 1), seen, known)

    def next_logits(
        self,
        context: Tensor,
        seen: BeliefInputs,
        last: Tensor,
        weights: Tensor,
        place: int,
        state: Any,
    ) -> tuple[Tensor, Any]:
        """Logits [B, V] of token number ``place``, and the decoder's state.

        ``last`` [B] is the token before, PAD at the start; ``weights`` are [B, V]; ``state`` is
        what the call before returned, None at the start. ``context`` and ``seen`` may be one row
        for all.
        """
        known = weights if seen.plausible is None else weights * seen.plausible[:, place]
        given = self._given(context, last, probabilities(known))
        output, state = self.decoder(given.unsqueeze(0), state)
        return self._said(output.transpose(0, 1), seen, known.unsqueeze(1))[:, 0], state

    def _given(self, context: Tensor, last: Tensor, known: Tensor) -> Tensor:
        embedded = self.tokens(torch.where(last == PAD, self.vocabulary, last))
        return torch.cat([context.expand(*embedded.shape[:-1], -1), embedded, known], -1)

    def _said(self, hidden: Tensor, seen: BeliefInputs, known: Tensor) -> Tensor:
        """[B, K, V] from the decoder's hidden layers [B, K, H]."""
        out = self.out(hidden)
        logits = out[..., : self.vocabulary] + torch.log(probabilities(known) + FLOOR)
        if seen.token_features is None:
            return logits
        return logits + out[..., self.vocabulary :] @ seen.token_features


def probabilities(weights: Tensor) -> Tensor:
    """Weights [..., V] normalised to sum to 1; zeros stay zeros."""
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)


def masked(logits: Tensor, weights: Tensor) -> Tensor:
    """Logits, -inf where a weight is 0; unchanged where all weights are."""
    none = (weights <= 0).all(-1, keepdim=True)
    return logits.masked_fill((weights <= 0) & ~none, -torch.inf)


def cross_entropy(logits: Tensor, tokens: Tensor) -> Tensor:
    """[B, K] of each token, 0 past the end of a factor."""
    flat = functional.cross_entropy(
        logits.flatten(0, 1), tokens.flatten().clamp(min=0), reduction="none"
    )
    return flat.unflatten(0, tokens.shape) * (tokens != PAD)
