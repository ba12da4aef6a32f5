"""Parts of the compiled features of ``PublicBeliefNet``; letters as in ``belief_kernels``.

Numbers of identities stand in rows of ``lanes.WIDTH``."""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.engine.layout import (
    SCORED,
    colors,
    hand_size,
    plausible,
    players,
    popcount,
    rank_plane,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.row_kernels import num_actions
from hanabi_search_plugin.jit import inline
from hanabi_search_plugin.networks.encodings.lanes import (
    kept,
    larger,
    log_of,
    minus,
    most,
    plus,
    read,
    smaller,
    spread,
    times,
    times_plus,
    total,
    write,
)
from hanabi_search_plugin.networks.encodings.mask_features import (
    HEADS,
    put_board,
    put_margins_of,
    statuses,
    word,
)

UNITS = 256  # of a likelihood, to a nat
LOWEST, HIGHEST = -2944, 576  # log W in these units; 0 is a card of which nothing is known
SINCE, EVER, AGE = 0, 1, 2  # counts behind the likelihoods: moves since it was touched, and so on
COUNTS = 3
LONGEST = 100  # moves are counted up to here
SCARCE = 0.02  # share of the copies left that others' cards cannot take away
ROUNDS = 2  # in which cards share out the copies
WORTHS = 4  # playable, worthless, critical, one away from playable
FEATURES = WORTHS + 2 + 3 * 3  # of a card, before its ranks: see ``put_card_features``
COMMON = 5  # numbers of a slot before those of its belief
SHOWN = 9  # numbers of a slot in a hint's row that do not depend on what card it is
RECEIVED = 3 + WORTHS  # those that do, but for the one that depends on the hint as well

# Places among the words of a row.
TURN, INFO, DECK_NEXT, PLAYED = 0, 2, 3, 4
LEFT0, LEFT1, LEFT2 = 5, 6, 7
PLAYER, ACTION, CARD, TOUCHED, FLAGS = 8, 9, 10, 11, 12


@inline
def of_bits(mask: int) -> Any:
    """1 in the lanes of a mask, 0 elsewhere."""
    return kept(spread(np.float32(1)), mask, np.float32(0))


@inline
def normalised(x: Any) -> Any:
    """Lanes divided by their sum; zeros stay."""
    return times(x, spread(np.float32(1) / max(total(x), np.float32(1e-9))))


@inline
def settle_beliefs(weight: Any, left: Any, p: Any, free: Any) -> None:
    """``card_beliefs.settled`` of weights [K, WIDTH] and copies, into ``p`` and ``free``."""
    copies = read(left)
    least = times(copies, spread(np.float32(SCARCE)))
    for k in range(len(weight)):
        write(free[k], copies)
        write(p[k], normalised(times(read(weight[k]), copies)))
    for _ in range(ROUNDS):
        taken = spread(np.float32(0))
        for k in range(len(weight)):
            taken = plus(taken, read(p[k]))
        rest = minus(copies, taken)
        for k in range(len(weight)):
            mine = larger(plus(rest, read(p[k])), least)
            write(free[k], mine)
            write(p[k], normalised(times(read(weight[k]), mine)))


@inline
def put_card_features(
    dims: Any, p: Any, open_: Any, k: int, planes: Any, out: Any, at: int, each: int
) -> None:
    """``card_beliefs.card_features`` of the hand whose first card is k.

    ``p`` [.., WIDTH], ``open_`` masks, ``planes`` [WORTHS] masks; the first slot's features go to
    ``at``, each next one's ``each`` further.
    """
    h = hand_size(dims)
    for i in range(h):
        row, start = read(p[k + i]), at + i * each
        for s in range(WORTHS):
            out[start + s] = share_of(row, planes[s])
        out[start + 4] = most(row)
        logs = log_of(larger(row, spread(np.float32(1e-9))))
        out[start + 5] = np.float32(-0.3) * total(times(row, logs))
        for rank in range(ranks(dims)):
            out[start + FEATURES + rank] = share_of(row, rank_plane(dims, rank))
        mask = open_[k + i]
        size = popcount(mask)
        for s in range(3):
            count = popcount(mask & planes[s])
            out[start + 9 + s] = count == size
            out[start + 12 + s] = count == 0
    for s in range(3):
        put_margins_of(out, at + s, at + 6 + s, h, each)


@inline
def share_of(p: Any, mask: int) -> Any:
    """How likely lanes ``p`` take the identities of a mask."""
    return total(kept(p, mask, np.float32(0)))


@inline
def one_away(dims: Any, playable: int, worthless: int) -> int:
    """The identities that go on what is playable."""
    r, above = ranks(dims), 0
    for color in range(colors(dims)):
        of = (playable >> (color * r)) & ((1 << (r - 1)) - 1)
        above |= (of << 1) << (color * r)
    return above & ~worthless


@inline
def put_worths(dims: Any, words: Any, planes: Any) -> None:
    """The identities of each worth, as masks [WORTHS]."""
    left0, left1, played = word(words, LEFT0), word(words, LEFT1), word(words, PLAYED)
    planes[0], planes[1], planes[2] = statuses(dims, left0, left1, played)
    planes[3] = one_away(dims, planes[0], planes[1])


@inline
def put_worths_before(dims: Any, words: Any, planes: Any) -> None:
    """``put_worths`` as it was before the last move."""
    left0, left1, played = word(words, LEFT0), word(words, LEFT1), word(words, PLAYED)
    card = word(words, CARD)
    if card >= 0:
        bit = 1 << card
        left1 = (left1 & ~bit) | (left0 & bit)
        left0 &= ~bit
        if word(words, FLAGS) & SCORED:
            played &= ~bit
    planes[0], planes[1], planes[2] = statuses(dims, left0, left1, played)
    planes[3] = one_away(dims, planes[0], planes[1])


@inline
def put_left(dims: Any, words: Any, left: Any) -> None:
    """The copies of each identity that are neither played nor discarded."""
    gone = plus(of_bits(word(words, LEFT0)), of_bits(word(words, LEFT1)))
    copies = minus(spread(np.float32(3)), plus(gone, of_bits(word(words, LEFT2))))
    write(left, kept(copies, (1 << (colors(dims) * ranks(dims))) - 1, np.float32(0)))


@inline
def put_event(dims: Any, words: Any, planes: Any, out: Any) -> int:
    """``status.event``; ``planes`` are those before the move. Returns the end."""
    action, card = word(words, ACTION), word(words, CARD)
    n = num_actions(dims)
    for i in range(n):
        out[i] = i == action
    for i in range(3):
        out[n + i] = int(action >= 0) & (word(words, FLAGS) >> i)
        out[n + 3 + i] = int(card >= 0) & (planes[i] >> max(card, 0))
    return n + 6


@inline
def put_whole_board(dims: Any, words: Any, sizes: Any, out: Any, at: int) -> int:
    """``card_beliefs.board``; returns the end."""
    c, r = colors(dims), ranks(dims)
    at = put_board(dims, words, sizes, out, at)
    played, left0 = word(words, PLAYED), word(words, LEFT0)
    score, most = 0, 0
    for color in range(c):
        reached = True
        for rank in range(r):
            bit = 1 << (color * r + rank)
            score += (played & bit) != 0
            reached &= (played & bit) != 0 or (left0 & bit) == 0
            most += reached
    deck = sizes[2] - word(words, DECK_NEXT)
    out[at] = np.float32(score) / np.float32(c * r)
    out[at + 1] = np.float32(c * r - most) / np.float32(r)
    out[at + 2] = np.float32(score + deck + players(dims) - most) / np.float32(10)
    return at + 3


@inline
def is_touched(dims: Any, words: Any, k: int) -> int:
    """1 where the last move is a hint that touched slot k of all."""
    h, c, r = hand_size(dims), colors(dims), ranks(dims)
    hint = word(words, ACTION) - 2 * h
    if hint < 0:
        return 0
    by_rank = hint - (players(dims) - 1) * c
    offset = 1 + (by_rank // r if by_rank >= 0 else hint // c)
    receiver = (max(word(words, PLAYER), 0) + offset) % players(dims)
    return (word(words, TOUCHED) >> (k % h)) & int(k // h == receiver)


@inline
def put_traces(counts: Any, fading: Any, out: Any, at: int) -> None:
    """How recently a card was touched, whether it ever was, how new it is.

    ``fading`` [2, LONGEST + 1]: what n moves leave of recency and of youth.
    """
    out[at] = counts[EVER] * fading[0, min(max(counts[SINCE], 0), LONGEST)]
    out[at + 1] = counts[EVER]
    out[at + 2] = fading[1, min(max(counts[AGE], 0), LONGEST)]


@inline
def is_present(dims: Any, words: Any, k: int) -> int:
    """1 where slot k of all holds a card."""
    h = hand_size(dims)
    here = word(words, HEADS + players(dims) * h + k // h)
    return (here >> (k % h)) & 1


@inline
def left_open(dims: Any, words: Any, k: int) -> int:
    """The identities that hints leave to slot k of all, none where there is no card."""
    return plausible(dims, word(words, HEADS + k)) if is_present(dims, words, k) else 0


@inline
def put_weight(dims: Any, units: Any, open_: int, likely: Any, out: Any) -> None:
    """exp log W of a card into a row of WIDTH, 0 where hints exclude an identity."""
    for v in range(colors(dims) * ranks(dims)):
        unit: Any = min(max(np.int64(units[v]), LOWEST), HIGHEST)
        out[v] = likely[unit - LOWEST]
    write(out, kept(read(out), open_, np.float32(0)))


@inline
def put_identities(dims: Any, before: Any, after: Any, card: int, p: Any, out: Any) -> None:
    """``card_beliefs.identity_features`` [W, WIDTH] from masks of worths around an event.

    ``p`` [K, WIDTH]: the mover's hand comes first.
    """
    h, r = hand_size(dims), ranks(dims)
    write(out[0], spread(np.float32(1)))
    for s in range(3):
        write(out[1 + s], of_bits(before[s]))
        write(out[4 + s], of_bits(after[s]))
    write(out[7], of_bits(before[0] & before[2]))
    write(out[8], of_bits(before[3]))
    write(out[9], of_bits((1 << card) if card >= 0 else 0))
    for rank in range(r):
        write(out[10 + rank], of_bits(rank_plane(dims, rank)))
    held = spread(np.float32(0))
    for i in range(h):
        held = plus(held, read(p[i]))
    write(out[10 + r], smaller(held, spread(np.float32(1))))


@inline
def likelihood_of(weights: Any, identities: Any, log_weight: Any) -> Any:
    """log W after an event, as lanes, of a cell's ``weights`` [W + 1 or more] for a card."""
    n = len(identities)
    said = spread(np.float32(0))
    for i in range(n):
        said = times_plus(spread(weights[i]), read(identities[i]), said)
    return times_plus(spread(np.float32(1) + weights[n]), read(log_weight), said)
