"""``PublicBeliefNet`` on a CPU: compiled features and layers, a row from its own inputs alone.

The results equal those that ``PublicBeliefNet`` computes with tensors, up to rounding, and are the
same bit for bit whatever rows a batch holds: so a belief that asks about many hands at once finds
what the player found. Letters as in ``public_belief_net``; B worlds, K cards, F of ``card_size``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import dims_of
from hanabi_search_plugin.networks.encodings import belief_kernels as kernels
from hanabi_search_plugin.networks.encodings import card_beliefs, status
from hanabi_search_plugin.networks.encodings.belief_parts import (
    HIGHEST,
    LONGEST,
    LOWEST,
    RECEIVED,
    SHOWN,
    UNITS,
)
from hanabi_search_plugin.networks.encodings.card_beliefs import RECENCY, YOUTH
from hanabi_search_plugin.networks.modules import Network, Output
from hanabi_search_plugin.networks.row_layers import linear, packed, padded

Tensor = Any  # torch.Tensor
Floats = NDArray[np.float32]
IntArray = NDArray[np.int64]

BATCH = 256  # worlds at a time, so that what layers pass on stays in the processor's caches
SHARED_BATCH = 4096  # where all have one public part: the more, the more hints are equal
MOST_SLOTS = 10  # of a hand for which the hints that touch the same slots are looked up

LIKELY = np.exp(np.arange(LOWEST, HIGHEST + 1) / UNITS).astype(np.float32)
# Places in a slot of a hint's row.
_SHOWN = [0, 1, 2, 3, 4, 6, 7, 8, 11]
_BOTH = 5
_RECEIVED = [9, 10, 12, 13, 14, 15, 16]

_MOVES = np.arange(LONGEST + 1)
FADING = np.stack([RECENCY**_MOVES, YOUTH**_MOVES]).astype(np.float32)


class Weights:
    """A network's weights, laid out for ``row_layers``: (weights, bias) of every layer.

    Columns of a layer are set apart where inputs come from several places.
    """

    def __init__(self, network: Network) -> None:
        values = {name: x.detach().numpy() for name, x in network.named_parameters()}
        config, cell = network.config, network.cell
        players, size, each = config.players, config.hand_size, cell.slot_size
        self.cell_first = _layer(values, "cell.first")
        self.cell_second = _layer(values, "cell.second")
        self.cell_around = _layer(values, "cell.around")
        self.cell_slot, bias = _layer(values, "cell.slot")
        self.cell_weights = _layer(values, "cell.weights")
        self.cell_places = padded(values["cell.places"]) + bias  # [T, H, scorer]

        first = values["cell.first.weight"]
        events = status.event_size(config)
        self.foreseen = packed(first[:, events:]), self.cell_first[1]
        hands = first[:, cell.slots_at :].reshape(-1, players, size * each)
        self.told = [packed(hands[:, t]) for t in range(1, players)]
        self.hint_events = padded(cell.hint_columns(torch.from_numpy(first)).numpy())

        # The table: what all see of it, the own slots, and what the others' cards are.
        table = values["context.0.weight"]
        own, other = network.own_size, network.other_size
        columns = np.arange(network.table_size)
        front, mine = columns[: network.slots_at], columns[network.slots_at :][: size * own]
        turn = columns[len(columns) - (players - 1) :]
        theirs = columns[len(front) + len(mine) : len(columns) - (players - 1)].reshape(-1, other)
        public = np.concatenate([front, turn, theirs[:, :each].ravel()])
        self.table = packed(table[:, public]), padded(values["context.0.bias"][None])
        self.table_own = packed(table[:, mine])
        self.table_others = packed(table[:, theirs[:, each:].ravel()])
        self.context = _layer(values, "context.2")
        heads = [(values[f"{name}.weight"], values[f"{name}.bias"]) for name in ("kinds", "value")]
        weight, bias = (np.concatenate(parts) for parts in zip(*heads, strict=True))
        self.kinds_and_value = packed(weight), padded(bias[None])

        self.own_context = _layer(values, "own.context")
        self.own, bias = _layer(values, "own.features")
        self.own_places = padded(values["own.rows"]) + bias
        self.own_rest = _layer(values, "own.rest.0")
        self.own_heads = _layer(values, "own_heads")

        # A hint's row: what all know of it, what its cards are, what both make.
        hint = values["hint.features.weight"]
        slots = np.arange(hint.shape[1] - 2).reshape(size, -1)
        both = slots[:, _BOTH]
        shown = np.append(slots[:, _SHOWN].ravel(), hint.shape[1] + np.array([-2, -1]))
        self.hint_context = _layer(values, "hint.context")
        self.hint_shown = packed(hint[:, shown]), padded(values["hint.features.bias"][None])
        self.hint_received = packed(hint[:, slots[:, _RECEIVED].ravel()])
        self.hint_both = packed(hint[:, both])
        self.hint_rows = padded(values["hint.rows"].reshape(players - 1, -1, hint.shape[0]))
        self.hint_rest = _layer(values, "hint.rest.0")
        self.hint_heads = _layer(values, "hint_heads")


@dataclass(frozen=True)
class _Kept:
    """Weights, and what they were made from."""

    weights: Weights
    state: tuple[tuple[int, int], ...]
    parameters: tuple[Tensor, ...]  # held, so that no other tensor comes to lie where they lie


def weights_of(network: Network) -> Weights:
    """The network's weights, laid out once for as long as they do not change."""
    parameters = tuple(network.parameters())
    state = tuple((x.data_ptr(), x._version) for x in parameters)
    kept = getattr(network, "_kept_for_cpu", None)
    if kept is None or kept.state != state:
        held = tuple(x.detach() for x in parameters)
        kept = _Kept(Weights(network), state, held)
        network._kept_for_cpu = kept
    return kept.weights


def remember(network: Network, seen: Tensor, memory: Tensor) -> Tensor:
    """See ``Network.remember``; ``network`` is a ``PublicBeliefNet``."""
    weights = weights_of(network)
    public, before = _array(seen), _array(memory)
    after = np.empty_like(before)
    for start in range(0, len(public), BATCH):
        part = slice(start, start + BATCH)
        _remember(network, weights, public[part], before[part], after[part])
    return torch.from_numpy(after)


def _remember(network: Network, weights: Weights, public: Any, memory: Any, after: Any) -> None:
    config, n = network.config, len(public)
    others = (config.players - 1) * config.hand_size
    cell = network.cell
    width = cell.slots_at + config.players * config.hand_size * cell.slot_size
    table = np.empty((n, width), dtype=np.float32)
    slots = np.empty((n, others, cell.slot_size), dtype=np.float32)
    moved = np.empty((n, others + config.hand_size, card_beliefs.size(config)), dtype=np.int16)
    identities = _identities(config, n)
    kernels.memory_features(
        dims_of(config), _sizes(config), public, memory, LIKELY, FADING, table, slots, moved,
        identities,
    )  # fmt: skip
    hidden = linear(table, *weights.cell_first, relu=True)
    around = _around(weights, hidden)
    places = weights.cell_places.reshape(others, -1)
    said = _said(weights, slots.reshape(n * others, -1), around, places)
    kernels.remember_heard(
        dims_of(config), public, moved, identities, said.reshape(n, others, -1), after
    )


def _around(weights: Weights, hidden: Floats) -> Floats:
    """What the first layer's outputs [n, hidden] add to every card's scorer."""
    return linear(linear(hidden, *weights.cell_second, relu=True), *weights.cell_around)


def _said(weights: Weights, slots: Floats, around: Floats, places: Floats) -> Floats:
    """The cell's weights [n x S, W + 1] for slots [n x S, COMMON + F], S ``places`` of n contexts.

    ``around`` [n, scorer], ``places`` [S, scorer].
    """
    starts = _of_slots(around, places)
    hidden = linear(slots, weights.cell_slot, *starts, relu=True)
    return linear(hidden, *weights.cell_weights)


def _of_slots(around: Floats, places: Floats) -> tuple[tuple[Floats, IntArray], ...]:
    """Where each of S slots of n rows begins: what its row adds [n, N], and its place [S, N]."""
    n, slots = len(around), len(places)
    which = np.arange(n * slots)
    return (around, which // slots), (places, which % slots)


def decide(network: Network, public: Tensor, private: Tensor, memory: Tensor) -> Output:
    """See ``Network.decide``; ``network`` is a ``PublicBeliefNet``. A forbidden hint gets 0."""
    weights = weights_of(network)
    words, cards, memories = _array(public), _array(private), _array(memory)
    seats = np.empty(len(cards), dtype=np.int64)
    kernels.seats_looking(dims_of(network.config), words, cards, seats)
    shared = len(words) == 1
    parts = []
    for start in range(0, len(cards), SHARED_BATCH if shared else BATCH):
        part = slice(start, start + (SHARED_BATCH if shared else BATCH))
        if shared:
            seat, which = np.unique(seats[part], return_inverse=True)
            known = np.repeat(words, len(seat), axis=0), np.repeat(memories, len(seat), axis=0)
        else:
            seat, which = seats[part], np.arange(len(seats[part]))
            known = words[part], memories[part]
        look = _Look(network, weights, *known, seat)
        parts.append(_decide(look, cards[part], which.astype(np.int64), shared))
    if len(parts) == 1:
        return parts[0]
    return Output(
        torch.cat([part.logits for part in parts]),
        torch.cat([part.advantage for part in parts]),
        torch.cat([part.value for part in parts]),
    )


class _Look:
    """What all know, U rows of it, as ``seats`` [U] look at it: ``kernels.public_features``."""

    def __init__(
        self, network: Network, weights: Weights, public: Any, memory: Any, seats: Any
    ) -> None:
        config, n = network.config, len(public)
        self.network, self.weights = network, weights
        self.public, self.seats, self.dims = public, seats, dims_of(config)
        cards = config.players * config.hand_size
        board, each = card_beliefs.board_size(config), network.cell.slot_size
        others = (config.players - 1) * (config.hand_size * each + 1)
        self.table = _floats(n, network.slots_at + others)
        self.before = _floats(n, board + cards * each)
        every = status.identities(config)
        self.log_weight, self.weight = _floats(n, cards, every), _floats(n, cards, every)
        self.belief, self.free = _floats(n, cards, every), _floats(n, cards, every)
        self.identities = _identities(config, n)
        kernels.public_features(
            self.dims, _sizes(config), public, memory, seats, LIKELY, FADING, self.table,
            self.before, self.log_weight, self.weight, self.belief, self.free, self.identities,
        )  # fmt: skip

    def after_hints(self, hints: IntArray, t: int) -> tuple[Floats, Floats]:
        """What all would believe [M, H, V], and the hints' rows as far as all know them [M, ..].

        ``hints`` [M, 3] as ``kernels.list_hints`` lists them, to the t-th other player.
        """
        config, weights, m = self.network.config, self.weights, len(hints)
        size, each = config.hand_size, self.network.cell.slot_size
        slots, change = _floats(m, size * each), _floats(m, size * each)
        kernels.told_features(
            self.dims, self.public, self.seats, hints, t, self.before, self.weight, self.free,
            slots, change,
        )  # fmt: skip
        base = linear(self.before, *weights.foreseen)
        row, hint = np.ascontiguousarray(hints[:, 0]), np.ascontiguousarray(hints[:, 1])
        starts = (base, row), (weights.hint_events[t], hint)
        around = _around(weights, linear(change, weights.told[t], *starts, relu=True))
        said = _said(weights, slots.reshape(m * size, each), around, weights.cell_places[t])
        after = _floats(m, size, status.identities(config))
        shown = _floats(m, size * SHOWN + 2)
        kernels.hint_features(
            self.dims, self.public, self.seats, hints, t, self.before, self.log_weight, self.free,
            self.identities, said.reshape(m, size, -1), after, shown,
        )  # fmt: skip
        panel, bias = weights.hint_shown
        return after, linear(shown, panel, bias, (weights.hint_rows[t], hint))


def _decide(look: _Look, private: Any, which: IntArray, shared: bool) -> Output:
    network, weights, n = look.network, look.weights, len(private)
    config = network.config
    players, size, kinds = config.players - 1, config.hand_size, config.colors + config.ranks
    own = _floats(n, size * network.own_size)
    others = _floats(n, players * size * (network.other_size - network.cell.slot_size))
    received = _floats(n, players, size * RECEIVED)
    touches = np.empty((n, players, kinds), dtype=np.int64)
    heights = np.linspace(0.2, 1, config.ranks).astype(np.float32)
    kernels.private_features(
        look.dims, look.public, private, which, look.seats, heights, look.before, look.weight,
        look.belief, own, others, received, touches,
    )  # fmt: skip
    table = linear(look.table, *weights.table)
    table = linear(own, weights.table_own, (table, which))
    table = linear(others, weights.table_others, table, relu=True)
    context = linear(table, *weights.context, relu=True)

    starts = _of_slots(linear(context, *weights.own_context), weights.own_places)
    scores = linear(own.reshape(n * size, -1), weights.own, *starts, relu=True)
    scores = linear(linear(scores, *weights.own_rest, relu=True), *weights.own_heads)
    moves = torch.from_numpy(scores.reshape(n, size, -1)[..., :4])

    around = linear(context, *weights.hint_context)
    hinted = np.zeros((n, players, kinds, 2), dtype=np.float32)
    for t in range(players):
        _score_hints(look, private, which, t, touches, received, around, shared, hinted)
    last = linear(context, *weights.kinds_and_value)
    scores = torch.from_numpy(hinted.reshape(n, players * kinds, 2))
    of_kinds = torch.from_numpy(last[:, :8])
    heads = [network.joined(head, moves, scores, of_kinds) for head in range(2)]
    return Output(heads[0], heads[1], torch.from_numpy(last[:, 8].copy()))


def _score_hints(
    look: _Look,
    private: Any,
    which: IntArray,
    t: int,
    touches: IntArray,
    received: Floats,
    around: Floats,
    shared: bool,
    out: Floats,
) -> None:
    """Into ``out`` [B, T, N, 2] the scores of the hints to the t-th other player."""
    weights, size = look.weights, look.network.config.hand_size
    touch = np.ascontiguousarray(touches[:, t])
    room = (len(look.public), touch.shape[1], 1 << size)
    if not shared or size > MOST_SLOTS:
        room = (0, 0, 0)
    hints, rows = (np.empty((touch.size, 3), dtype=np.int64) for _ in range(2))
    different, written = kernels.list_hints(touch, which, np.empty(room, np.int64), hints, rows)
    if written == 0:
        return
    hints, rows = hints[:different], rows[:written]
    after, shown = look.after_hints(hints, t)
    truly = _floats(written, size)
    kernels.true_shares(look.dims, private, which, look.seats, t, rows, after, truly)
    of_world = np.ascontiguousarray(received[:, t])
    of_world = linear(of_world, weights.hint_received, around)
    which_hint, world = (np.ascontiguousarray(rows[:, i]) for i in (2, 0))
    starts = (shown, which_hint), (of_world, world)
    hidden = linear(truly, weights.hint_both, *starts, relu=True)
    scores = linear(linear(hidden, *weights.hint_rest, relu=True), *weights.hint_heads)
    out[rows[:, 0], t, rows[:, 1]] = scores[:, :2]


def _floats(*shape: int) -> Floats:
    return np.empty(shape, dtype=np.float32)


def _layer(values: dict[str, Any], name: str) -> tuple[Floats, Floats]:
    """(weights, bias) of a layer as ``linear`` takes them."""
    weight = values[name + ".weight"]
    bias = values.get(name + ".bias", np.zeros(len(weight), dtype=np.float32))
    return packed(weight), padded(bias[None])


def _identities(config: HanabiConfig, n: int) -> Floats:
    size = (n, card_beliefs.identity_size(config), status.identities(config))
    return np.empty(size, dtype=np.float32)


def _array(x: Tensor) -> Any:
    return np.ascontiguousarray(x.numpy())


def _sizes(config: HanabiConfig) -> tuple[int, int, int]:
    """What a board tells beside its cards."""
    return config.information_tokens, config.life_tokens, config.deck_size
