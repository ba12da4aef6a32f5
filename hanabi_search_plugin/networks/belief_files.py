"""Use a trained network as a belief model; save and load it as safetensors with JSON metadata.

Nothing is unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hanabi_search_plugin.beliefs.belief_model import (
    BeliefModel,
    draw,
    hidden_length,
    require_tokens,
    weights_along,
)
from hanabi_search_plugin.core.errors import CheckpointError, HanabiSearchError
from hanabi_search_plugin.core.game import PAD, Event, FloatArray, Game, IntArray, View
from hanabi_search_plugin.core.policy import Memory
from hanabi_search_plugin.evaluation.journal import difference
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.networks.checkpoint import read_file, write_file
from hanabi_search_plugin.networks.encodings.featurizers import BeliefInputs
from hanabi_search_plugin.networks.encodings.network_encoding import FREE
from hanabi_search_plugin.networks.modules import (
    as_tensor,
    digest_of,
    first_line,
    seeded,
    to_device,
    with_tensors,
)
from hanabi_search_plugin.networks.nets.belief_net import BeliefNet, cross_entropy, masked

FORMAT = "hanabi-search-plugin belief 1"


class NetworkBelief(BeliefModel):
    """P(hidden cards | one seat's observations), as ``network`` predicts it.

    ``mask`` gives tokens that the observation rules out probability 0, so that every sample is
    possible. Without it samples may be impossible, as in the LBS paper.
    """

    def __init__(
        self,
        game: Game,
        network: BeliefNet,
        *,
        mask: bool = True,
        training: Mapping[str, Any] | None = None,
        device: str = "cpu",
    ) -> None:
        self.game = require_tokens(game)
        self.mask = mask
        self.device = device
        self.training = dict(training or {})  # the record of how it was trained
        learned = self.training.get("policy")
        name = learned.get("type") if isinstance(learned, dict) else learned
        self.policy = name if isinstance(name, str) else ""
        self.digest = digest_of(network)
        self.network = to_device(network, device).eval()
        self._last: tuple[NDArray[Any], BeliefInputs] | None = None

    def start(self, view: View) -> Memory:
        blank = self.network.blank(len(view)).cpu().numpy()
        return self._remember(view, self.network.featurizer.start(view), blank)

    def observe(self, view: View, event: Event, state: Memory) -> Memory:
        features = self.network.featurizer.observe(view, event, state["features"])
        return self._remember(view, features, state["network"])

    def sample(self, view: View, state: Memory, rng: np.random.Generator, n: int) -> IntArray:
        return self._draw(view, state, rng, n)[0]

    def marginals(self, view: View, state: Memory, rng: np.random.Generator, n: int) -> FloatArray:
        """See ``BeliefModel``: the mean of what each draw was made by, exact of the first token."""
        return self._draw(view, state, rng, n)[1]

    def _draw(
        self, view: View, state: Memory, rng: np.random.Generator, n: int
    ) -> tuple[IntArray, FloatArray]:
        """Tokens [n, K], and the mean [K, V] of the probabilities by which they were drawn."""
        many, network = view.select(np.zeros(n, dtype=np.int64)), self.network
        tokens, length = np.zeros((n, 0), dtype=np.int64), hidden_length(self.game, view)
        means = np.zeros((length, self.game.vocabulary))
        last = torch.full((n,), PAD, device=self.device)
        with torch.inference_mode():
            context, seen = self._given(view, state)
            decoder: Any = None
            for place in range(length):
                known = self.game.token_weights(many, tokens)
                weights = as_tensor(known, self.device).float()
                logits, decoder = network.next_logits(context, seen, last, weights, place, decoder)
                if self.mask:
                    logits = masked(logits, weights)
                chances = torch.softmax(logits.double(), 1).cpu().numpy()
                drawn, ended = draw(chances, rng.random(n)), (known == 0).all(axis=1)
                drawn[ended] = PAD
                means[place] = chances[~ended].sum(axis=0) / n
                tokens = np.append(tokens, drawn[:, None], axis=1)
                last = as_tensor(drawn, self.device)
        return tokens, means

    def log_likelihood(self, view: View, state: Memory, tokens: IntArray) -> FloatArray:
        weights = as_tensor(weights_along(self.game, view, tokens), self.device).float()
        with torch.inference_mode():
            context, seen = self._given(view, state)
            logits = self.network.logits(
                context, seen, as_tensor(tokens, self.device), weights
            ).double()
            if self.mask:
                logits = masked(logits, weights)
            return np.asarray(-cross_entropy(logits, as_tensor(tokens, self.device)).cpu().numpy())

    def _given(self, view: View, state: Memory) -> tuple[Any, BeliefInputs]:
        """The decoder's inputs: contexts [B, H], and the expanded views."""
        context = self.network.context(as_tensor(state["network"], self.device))
        return context, self._read(view, state["features"])

    def _remember(self, view: View, features: Memory, state: Any) -> Memory:
        with torch.inference_mode():
            seen = self._read(view, features)
            after = self.network.remember(seen, as_tensor(state, self.device)).cpu().numpy()
        return {"network": after, "features": features}

    def _read(self, view: View, features: Memory) -> BeliefInputs:
        """The expanded views; the last result is kept, since a search samples it repeatedly."""
        featurizer = self.network.featurizer
        numbers, last = featurizer.numbers(view, features), self._last
        if last is None or not np.array_equal(numbers, last[0]):
            last = self._last = numbers, featurizer.expand(as_tensor(numbers, self.device))
        return last[1]


def save_belief(
    path: str | Path,
    game: Game,
    network: BeliefNet,
    training: Mapping[str, Any],
    *,
    half: bool = False,
) -> None:
    """Write a network and the record of its training (plain JSON types), atomically.

    ``half`` stores 16-bit floats. Raises OSError where the file cannot be written.
    """
    dtype = torch.float16 if half else torch.float32
    content = {name: x.detach().cpu().to(dtype) for name, x in network.state_dict().items()}
    about = {
        "game": describe_game(game), "options": network.options, "training": dict(training),
    }  # fmt: skip
    write_file(path, content, FORMAT, about)


@seeded(0)  # modules are made with random weights, which the file's replace
def load_belief(
    path: str | Path, game: Game, *, mask: bool = True, device: str = "cpu"
) -> NetworkBelief:
    """The belief model in a file, for ``game``.

    Raises CheckpointError where the file is none of this package's, is damaged, or is for another
    game; OSError where it cannot be read.
    """
    tensors, about = read_file(path, FORMAT)
    other = difference(about.get("game"), describe_game(game))
    if other is not None:
        name, there, here = other
        raise CheckpointError(
            f"{path}: expected a game with {name} {there}, for which the model was made, got {here}"
        )
    try:
        numbers = {name: x.float() for name, x in tensors.items()}
        network = with_tensors(lambda: BeliefNet(require_tokens(game), **about["options"]), numbers)
        training = dict(about["training"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = first_line(error)
        kind = "" if isinstance(error, HanabiSearchError) else f"{type(error).__name__} "
        raise CheckpointError(f"{path}: expected a whole belief model: {kind}{reason}") from None
    return NetworkBelief(game, network, mask=mask, training=training, device=device)


def describe_game(game: Game) -> dict[str, Any]:
    """Parameters that a game must share with the one a belief model was made for."""
    about = json.loads(json.dumps(describe(game)))
    return {name: value for name, value in about.items() if name not in FREE}
