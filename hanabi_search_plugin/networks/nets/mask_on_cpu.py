"""``MaskNet`` on a CPU: compiled features between its layers.

The results equal those that ``MaskNet`` computes with tensors, up to rounding in the layers.
Letters: B worlds, A actions, K cards, U different tables, m hints, L hints to a player.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import dims_of
from hanabi_search_plugin.networks.encodings import mask_features as kernels
from hanabi_search_plugin.networks.encodings import seat_table
from hanabi_search_plugin.networks.modules import Network, Output

Tensor = Any  # torch.Tensor
IntRows = NDArray[np.int32]

BATCH = 512  # worlds at a time, so that what layers pass on stays in the processor's caches
SHARED_BATCH = 4096  # where all have one public part: the more, the more inputs are equal


def remember(network: Network, seen: Tensor, memory: Tensor) -> Tensor:
    """See ``Network.remember``; ``network`` is a ``MaskNet``."""
    dims, sizes = dims_of(network.config), _sizes(network.config)
    after = np.empty(memory.shape, dtype=np.int32)
    with torch.no_grad():
        for start in range(0, len(seen), BATCH):
            part = slice(start, min(start + BATCH, len(seen)))
            public, before = seen[part].numpy(), memory[part].numpy()
            table = np.empty((len(public), network.memory.table_size), dtype=np.float32)
            kernels.memory_features(dims, sizes, public, before, table)
            weights = network.memory.weights_of(torch.from_numpy(table))
            kernels.settle(dims, public, before, weights.numpy(), after[part])
    return torch.from_numpy(after)


def decide(network: Network, public: Tensor, private: Tensor, memory: Tensor) -> Output:
    """See ``Network.decide``; ``network`` is a ``MaskNet``. A hint that is not allowed gets 0."""
    shared = len(public) == 1
    size = SHARED_BATCH if shared else BATCH
    if len(private) <= size:
        return _decide(network, public, private, memory)
    parts = []
    for start in range(0, len(private), size):
        part = slice(start, start + size)
        common = (public, memory) if shared else (public[part], memory[part])
        parts.append(_decide(network, common[0], private[part], common[1]))
    return Output(
        torch.cat([part.logits for part in parts]),
        torch.cat([part.advantage for part in parts]),
        torch.cat([part.value for part in parts]),
    )


def _decide(network: Network, public: Tensor, private: Tensor, memory: Tensor) -> Output:
    config, n = network.config, len(private)
    hints = len(network.hint.rows)  # T x L
    shared = len(public) == 1
    table = np.empty((n, network.table_size), dtype=np.float32)
    rows = np.empty((n * hints, network.hint_size), dtype=np.float32)
    tables, hint_of = np.empty(n, dtype=np.int64), np.empty((n, hints), dtype=np.int64)
    hints_at = np.empty((n * hints, 3), dtype=np.int64)
    others = (config.players - 1) * config.hand_size
    keys = np.empty((n if shared else 0, others + 3), dtype=np.int64)
    room = 1 << (2 * n * (hints + 2)).bit_length() if shared else 0
    different, written = kernels.decision_features(
        dims_of(config), _sizes(network.config), public.numpy(), private.numpy(), memory.numpy(),
        table, tables, rows, hints_at, hint_of, keys, np.empty(room, dtype=np.int64),
    )  # fmt: skip
    seen = torch.from_numpy(table[:different])
    context = network.context(seen)
    own = seen[:, network.board_size :][:, : config.hand_size * network.own_size]
    own = own.unflatten(1, (config.hand_size, network.own_size))
    moves = network.own_heads(network.own(context, own))  # [U, H, 4]
    scores = network.hint.apart(context, torch.from_numpy(rows[:written]), hints_at[:written])
    scores = network.hint_heads(scores)
    nothing = torch.zeros(1, 2)  # the last row, which -1 takes
    hinted = torch.cat([scores, nothing])[torch.from_numpy(hint_of)]  # [B, T x L, 2]
    whose = torch.from_numpy(tables)
    heads = [
        network.joined(head, moves[whose], hinted, network.kinds(context)[whose])
        for head in range(2)
    ]
    return Output(heads[0], heads[1], network.value(context).squeeze(1)[whose])


def tables(config: HanabiConfig, public: IntRows, private: IntRows, masks: IntRows) -> Tensor:
    """[B, table_size] features of what seats see, as ``seat_table.by_tensors`` makes them.

    Rows are of words int32 [B, N] whose TURN is not the seat that sees ``private``: so no hints are
    looked at.
    """
    if len(private) == 1:  # which the kernel would take for what all worlds share
        return tables(config, *(np.repeat(x, 2, axis=0) for x in (public, private, masks)))[:1]
    n, hints = len(private), (config.players - 1) * (config.colors + config.ranks)
    table = np.empty((n, seat_table.table_size(config)), dtype=np.float32)
    kernels.decision_features(
        dims_of(config), _sizes(config), public, private, masks, table, np.empty(n, dtype=np.int64),
        np.empty((0, 1), dtype=np.float32), np.empty((0, 3), dtype=np.int64),
        np.empty((n, hints), dtype=np.int64), np.empty((0, 1), dtype=np.int64),
        np.empty(0, dtype=np.int64),
    )  # fmt: skip
    return torch.from_numpy(table)


def _sizes(config: HanabiConfig) -> tuple[int, int, int]:
    """What a board tells beside its cards."""
    return config.information_tokens, config.life_tokens, config.deck_size
