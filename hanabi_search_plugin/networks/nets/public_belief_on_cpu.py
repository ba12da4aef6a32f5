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

from hanabi_search_plugin.core.errors import ContractError
from hanabi_search_plugin.core.game import BoolArray, IntArray
from hanabi_search_plugin.core.watching import report_rollouts
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import dims_of
from hanabi_search_plugin.networks.encodings import status
from hanabi_search_plugin.networks.encodings.belief_kernels import seats_looking
from hanabi_search_plugin.networks.encodings.belief_parts import (
    HIGHEST,
    LONGEST,
    LOWEST,
    UNITS,
)
from hanabi_search_plugin.networks.encodings.card_beliefs import RECENCY, YOUTH
from hanabi_search_plugin.networks.modules import Network, Output
from hanabi_search_plugin.networks.nets.public_belief_choice import (
    chosen_rows,
    hand_codes,
    lay_hands,
)
from hanabi_search_plugin.networks.nets.public_belief_kernels import (
    Layer,
    Layers,
    decide_rows,
    play_rows,
    remember_rows,
)
from hanabi_search_plugin.networks.row_layers import packed, padded

Tensor = Any  # torch.Tensor

BATCH = 64  # worlds at a time, so that what layers pass on stays in the caches of a core
SHARED_BATCH = 1024  # where all have one public part: the more, the more hints are equal
HANDS = 1 << 16  # asked about one move: the more, the more differ in the order of cards alone

LIKELY = np.exp(np.arange(LOWEST, HIGHEST + 1) / UNITS).astype(np.float32)
# Places in a slot of a hint's row.
_SHOWN = [0, 1, 2, 3, 4, 6, 7, 8, 11]
_BOTH = 5
_RECEIVED = [9, 10, 12, 13, 14, 15, 16]

_MOVES = np.arange(LONGEST + 1)
FADING = np.stack([RECENCY**_MOVES, YOUTH**_MOVES]).astype(np.float32)


def laid_out(network: Network) -> Layers:
    """A network's weights, laid out for the kernels."""
    values = {name: x.detach().numpy() for name, x in network.named_parameters()}
    config, cell = network.config, network.cell
    players, size, each = config.players, config.hand_size, cell.slot_size
    cell_slot, slot_bias = _layer(values, "cell.slot")
    own, own_bias = _layer(values, "own.features")

    cell_first = _layer(values, "cell.first")
    first = values["cell.first.weight"]
    hands = first[:, cell.slots_at :].reshape(-1, players, size * each)

    # The table: what all see of it, the own slots, and what the others' cards are.
    table = values["context.0.weight"]
    columns = np.arange(network.table_size)
    front, mine = (
        columns[: network.slots_at],
        columns[network.slots_at :][: size * network.own_size],
    )
    turn = columns[len(columns) - (players - 1) :]
    theirs = columns[len(front) + len(mine) : len(columns) - (players - 1)]
    theirs = theirs.reshape(-1, network.other_size)
    public = np.concatenate([front, turn, theirs[:, :each].ravel()])
    heads = [(values[f"{name}.weight"], values[f"{name}.bias"]) for name in ("kinds", "value")]
    last, last_bias = (np.concatenate(parts) for parts in zip(*heads, strict=True))

    # A hint's row: what all know of it, what its cards are, what both make.
    hint = values["hint.features.weight"]
    slots = np.arange(hint.shape[1] - 2).reshape(size, -1)
    shown = np.append(slots[:, _SHOWN].ravel(), hint.shape[1] + np.array([-2, -1]))
    return Layers(
        cell_first=cell_first,
        cell_second=_layer(values, "cell.second"),
        cell_around=_layer(values, "cell.around"),
        cell_slot=cell_slot,
        cell_places=padded(values["cell.places"]) + slot_bias,
        cell_weights=_layer(values, "cell.weights"),
        foreseen=(packed(first[:, status.event_size(config) :]), cell_first[1]),
        told=np.stack([packed(hands[:, t]) for t in range(1, players)]),
        hint_events=padded(cell.hint_columns(torch.from_numpy(first)).numpy()),
        table=(packed(table[:, public]), padded(values["context.0.bias"][None])),
        table_own=packed(table[:, mine]),
        table_others=packed(table[:, theirs[:, each:].ravel()]),
        context=_layer(values, "context.2"),
        kinds_and_value=(packed(last), padded(last_bias[None])),
        own_context=_layer(values, "own.context"),
        own=own,
        own_places=padded(values["own.rows"]) + own_bias,
        own_rest=_layer(values, "own.rest.0"),
        own_heads=_layer(values, "own_heads"),
        hint_context=_layer(values, "hint.context"),
        hint_shown=(packed(hint[:, shown]), padded(values["hint.features.bias"][None])),
        hint_received=packed(hint[:, slots[:, _RECEIVED].ravel()]),
        hint_both=packed(hint[:, slots[:, _BOTH]]),
        hint_rows=padded(values["hint.rows"].reshape(players - 1, -1, hint.shape[0])),
        hint_rest=_layer(values, "hint.rest.0"),
        hint_heads=_layer(values, "hint_heads"),
        likely=LIKELY,
        fading=FADING,
        heights=np.linspace(0.2, 1, config.ranks).astype(np.float32),
    )


@dataclass(frozen=True)
class _Kept:
    """Weights, and what they were made from."""

    layers: Layers
    state: tuple[tuple[int, int], ...]
    parameters: tuple[Tensor, ...]  # held, so that no other tensor comes to lie where they lie


def layers_of(network: Network) -> Layers:
    """The network's weights, laid out once for as long as they do not change."""
    parameters = tuple(network.parameters())
    state = tuple((x.data_ptr(), x._version) for x in parameters)
    kept = getattr(network, "_kept_for_cpu", None)
    if kept is None or kept.state != state:
        held = tuple(x.detach() for x in parameters)
        kept = _Kept(laid_out(network), state, held)
        network._kept_for_cpu = kept
    return kept.layers


def remember(network: Network, seen: Tensor, memory: Tensor) -> Tensor:
    """See ``Network.remember``; ``network`` is a ``PublicBeliefNet``."""
    layers, config = layers_of(network), network.config
    public, before = _array(seen), _array(memory)
    after = np.empty_like(before)
    for start in range(0, len(public), BATCH):
        part = slice(start, start + BATCH)
        remember_rows(
            dims_of(config), _sizes(config), layers, public[part], before[part], after[part]
        )
    return torch.from_numpy(after)


def decide(network: Network, public: Tensor, private: Tensor, memory: Tensor) -> Output:
    """See ``Network.decide``; ``network`` is a ``PublicBeliefNet``. A forbidden hint gets 0."""
    words, cards, memories = _array(public), _array(private), _array(memory)
    seats = np.empty(len(cards), dtype=np.int64)
    seats_looking(dims_of(network.config), words, cards, seats)
    layers = layers_of(network)
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
        which = which.astype(np.int64)
        parts.append(_decide(network, layers, *known, seat, cards[part], which, shared))
    if len(parts) == 1:
        return parts[0]
    return Output(
        torch.cat([part.logits for part in parts]),
        torch.cat([part.advantage for part in parts]),
        torch.cat([part.value for part in parts]),
    )


def _decide(
    network: Network,
    layers: Layers,
    public: Any,
    memory: Any,
    seats: IntArray,
    private: Any,
    which: IntArray,
    shared: bool,
) -> Output:
    config, n = network.config, len(private)
    scores, hinted, last = decide_rows(
        dims_of(config), _sizes(config), layers, public, memory, seats, private, which, shared
    )
    moves = torch.from_numpy(scores.reshape(n, config.hand_size, -1)[..., :4])
    hints = torch.from_numpy(hinted.reshape(n, -1, 2))
    kinds = torch.from_numpy(last[:, :8])
    heads = [network.joined(head, moves, hints, kinds) for head in range(2)]
    return Output(heads[0], heads[1], torch.from_numpy(last[:, 8].copy()))


def play_on(
    network: Network, rows: NDArray[np.int32], memory: NDArray[np.int16], depth: int | None
) -> None:
    """Plays worlds [B, W] on greedily, in place, to the end or for ``depth`` moves.

    ``memory`` [B, M] is that of all seats, kept up to date but for games that end. Raises
    ContractError where logits are no numbers.
    """
    config = network.config
    moves, layers = -1 if depth is None else depth, layers_of(network)
    for start in range(0, len(rows), BATCH):
        report_rollouts(0)
        part = slice(start, start + BATCH)
        given = layers, rows[part], memory[part]
        if not play_rows(dims_of(config), _sizes(config), *given, moves):
            raise _no_numbers(network)


def chooses(
    network: Network,
    public: NDArray[np.int32],
    private: NDArray[np.int32],
    memory: NDArray[np.int16],
    seat: int,
    hands: NDArray[Any],
    action: int,
) -> BoolArray:
    """See ``PlaysOn.chooses``; ``network`` is a ``PublicBeliefNet``."""
    dims, sizes, layers = dims_of(network.config), _sizes(network.config), layers_of(network)
    movers = np.empty(1, dtype=np.int64)
    seats_looking(dims, public, private, movers)
    found = np.empty(len(hands), dtype=np.bool_)
    for start in range(0, len(hands), HANDS):
        report_rollouts(0)
        part = hands[start : start + HANDS]
        codes = np.empty(len(part), dtype=np.uint64)
        cards = np.empty((len(part), private.shape[1]), dtype=np.int32)
        lay_hands(dims, private[0], seat, part, cards)
        hand_codes(dims, cards, movers[0], codes)
        order = np.argsort(codes)
        lay_hands(dims, private[0], seat, part[order], cards)
        chosen = np.empty(len(part), dtype=np.bool_)
        given = public, memory, movers, cards, action, chosen
        if not chosen_rows(dims, sizes, layers, *given):
            raise _no_numbers(network)
        found[start + order] = chosen
    return found


def _no_numbers(network: Network) -> ContractError:
    return ContractError(f"{network!r} must give logits that are numbers, got nan")


def _layer(values: dict[str, Any], name: str) -> Layer:
    """(weights, bias) of a layer as the kernels take them."""
    weight = values[name + ".weight"]
    bias = values.get(name + ".bias", np.zeros(len(weight), dtype=np.float32))
    return packed(weight), padded(bias[None])


def _array(x: Tensor) -> Any:
    return np.ascontiguousarray(x.numpy())


def _sizes(config: HanabiConfig) -> tuple[int, int, int]:
    """What a board tells beside its cards."""
    return config.information_tokens, config.life_tokens, config.deck_size
