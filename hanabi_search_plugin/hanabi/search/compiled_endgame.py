"""Exact endgames of native Hanabi in one compiled loop: see ``algorithms.endgame``.

Depth first: an information state is a list of rows, and a move of the seat gives the lists that
follow. What cannot be better than the best found so far is left out, by a bound of the points that
can still be scored; the first move tried is the blueprint's. Rows are those of
``hanabi.engine.layout``.

Letters: N worlds, R rows of room, W words of a row, P players, D own moves in a line of play.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.core.game import FloatArray, Game
from hanabi_search_plugin.core.objective import Objective, utility
from hanabi_search_plugin.core.policy import Blueprint, Memory
from hanabi_search_plugin.core.solving import Solution
from hanabi_search_plugin.hanabi.bots.compiled import pack_memories, script_of
from hanabi_search_plugin.hanabi.bots.game_loops import decide_as, observe_as
from hanabi_search_plugin.hanabi.bots.script import (
    KIND,
    RANDOM,
    SCRIPT,
    STOCHASTIC,
    chance_of_code,
    settle,
)
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import (
    ABOVE0,
    COUNTDOWN,
    DECK_NEXT,
    DECK_SIZE,
    DREW,
    LAST_ACTION,
    LAST_CARD,
    LAST_FLAGS,
    LAST_PLAYER,
    LAST_TOUCHED,
    LEFT0,
    PLAYABLE,
    PLAYED,
    TURN,
    colors,
    copy_words,
    deck_at,
    hand_at,
    hand_size,
    players,
    ranks,
)
from hanabi_search_plugin.hanabi.engine.row_kernels import num_actions
from hanabi_search_plugin.hanabi.engine.rules import final_return, legal_mask, score, step
from hanabi_search_plugin.jit import inline, kernel

COMPILES = "exact endgames"

ROOM = 1 << 18  # rows of one line of play at most, some 120 MB of which few are ever touched
MARGIN = 2048  # rows left free for all moves and draws of one row
NEAR = 1e-12  # bounds that differ by less are equal
OVER = -1  # the budget was too small
LOWEST = -1  # the lowest final return of any game: see ``final_return``

# Words of a frame: one information state of the line that is being followed.
LOW, HIGH = 0, 1  # its rows are order[LOW:HIGH]
TOP = 2  # the first row of room that is free
NEXT = 3  # how many of its moves have been looked at
MOVE = 4  # the move that is being followed, NO_MOVE where none is
BEGIN = 5  # the rows that follow it are order[BEGIN:END], by information states
GROUP, END = 6, 7  # those still to come are order[GROUP:END]
USED = 8  # the first row of room that is free beside them
FIRST = 9  # the blueprint's move, NO_MOVE where it leaves it to chance
LEGAL = 10  # bit mask of its moves
FRAME = 11
# Numbers of a frame.
BEST = 0  # of its moves so far
NEEDED = 1  # a value up to this makes no difference
TOTAL = 2  # what the move that is being followed has brought so far
REST = 3  # and an upper bound of what it may still bring
BOUND = 4  # an upper bound of its value
NUMBERS = 5
NO_MOVE = -1


def solve(
    worlds: HanabiWorlds,
    weights: FloatArray,
    memories: tuple[Memory, ...],
    blueprint: Blueprint,
    seat: int,
    budget: int,
    *,
    base: int,
    every: bool,
    objective: Objective,
) -> Solution | None:
    """See ``core.solving.SolvesEndgames``; the seat's own policy need not be compiled."""
    game = worlds.game
    scripts = np.zeros((game.num_players, SCRIPT), dtype=np.int64)
    minds = list(memories)
    for p, policy in enumerate(blueprint):
        script = script_of(policy, game)
        if script is not None:
            scripts[p] = script
        elif p != seat:
            return None
        else:
            scripts[p, KIND], scripts[p, STOCHASTIC], minds[p] = RANDOM, 1, None
    legal = np.flatnonzero(worlds.select(np.array([0])).legal[0])
    packed = pack_memories(tuple(minds))
    n = len(worlds)
    room = n + min(budget, ROOM) + MARGIN
    rows = np.empty((room, worlds.rows.shape[1]), dtype=np.int32)
    rows[:n] = worlds.rows
    mind = np.empty((room, *packed.shape[1:]), dtype=np.int32)
    mind[:n] = packed
    weight = np.empty(room)
    weight[:n] = weights
    values = np.full(game.num_actions, np.nan)
    most = game.max_length + 1
    worths = worths_of(objective, game)
    states = solve_rows(
        game.dims, rows, mind, weight, n, scripts, seat, bool(game.visible[seat, seat]), budget,
        base, every, worths, np.maximum.accumulate(worths),
        np.empty(room, dtype=np.uint64), np.empty(room), np.empty(room, dtype=np.int64),
        np.empty((most, FRAME), dtype=np.int64), np.empty((most, NUMBERS)), values,
    )  # fmt: skip
    if states < 0:
        return Solution(None, budget)
    return Solution(values[legal], int(states))


def worths_of(objective: Objective, game: Game) -> FloatArray:
    """[-LOWEST + N + 1] what final returns are worth, from LOWEST on to the highest, N."""
    low, high = (int(end) for end in game.return_range)
    worths = np.full(high - LOWEST + 1, -np.inf)
    worths[low - LOWEST :] = utility(objective, np.arange(low, high + 1.0), game)
    return worths


@inline
def bound_of(dims: Any, row: Any) -> Any:
    """The most points that the game may end with, whatever is played.

    By the copies left and the moves left; where nothing can be drawn any more, by what the next
    players hold, too.
    """
    left = np.int64(row[DECK_SIZE] - row[DECK_NEXT])
    points: Any = score(row)
    if left == 0:
        mover: Any = np.int64(row[TURN])
        near: Any = np.int64(row[PLAYABLE])
        for _ in range(row[COUNTDOWN]):
            hand = hand_at(dims, mover)
            scores: Any = 0
            for i in range(hand_size(dims)):
                scores |= near >> (np.int64(row[hand + i]) & 31)
            points += scores & 1
            near |= (near << 1) & np.int64(row[ABOVE0])
            mover = mover + 1 if mover + 1 < players(dims) else 0
        return points
    lost, played = np.int64(row[LEFT0]), np.int64(row[PLAYED])
    reach = 0
    for color in range(colors(dims)):
        for rank in range(ranks(dims)):
            card = ranks(dims) * color + rank
            if (lost >> card) & 1 and not (played >> card) & 1:
                break
            reach += 1
    return min(points + left + players(dims), reach)


@inline
def saw(dims: Any, row: Any, seat: int, seer: bool, key: Any) -> Any:
    """The key of what a seat has seen, after the last move of ``row``, from that before it.

    What else it sees follows from the position before and these words. The hash is SplitMix64's.
    """
    mover: Any = np.int64(row[LAST_PLAYER])
    flags = np.int64(row[LAST_FLAGS])
    word = np.int64(row[LAST_ACTION]) | (np.int64(row[LAST_CARD]) + 1) << 8
    word |= np.int64(row[LAST_TOUCHED]) << 16 | flags << 32
    if flags & DREW and (seer or mover != seat):
        word |= (np.int64(row[hand_at(dims, mover) + hand_size(dims) - 1]) + 1) << 40
    z = (key + np.uint64(word)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inline
def copy_row(rows: Any, minds: Any, weights: Any, keys: Any, source: int, target: int) -> None:
    copy_words(rows[source], rows[target])
    for p in range(minds.shape[1]):
        copy_words(minds[source, p], minds[target, p])
    weights[target] = weights[source]
    keys[target] = keys[source]


@inline
def play(
    dims: Any, rows: Any, minds: Any, weights: Any, keys: Any, at: int, action: int, top: int
) -> int:
    """Play a move in row ``at``; one row for each other card that may be drawn is added at ``top``.

    Returns the first row that is free afterwards.
    """
    row = rows[at]
    place = deck_at(dims) + np.int64(row[DECK_NEXT])
    step(dims, row, action, True)
    if not row[LAST_FLAGS] & DREW:
        return top
    end = deck_at(dims) + np.int64(row[DECK_SIZE])
    mover: Any = np.int64(row[LAST_PLAYER])
    slot = hand_at(dims, mover) + hand_size(dims) - 1
    share = weights[at] / (end - place)
    drawn = row[place]
    copies = 1
    for j in range(place + 1, end):
        card = row[j]
        if card == drawn:
            copies += 1
            continue
        known = False
        for k in range(place + 1, j):
            known |= row[k] == card
        if known:
            continue
        alike: Any = 0
        for k in range(j, end):
            alike += np.int64(row[k] == card)
        copy_row(rows, minds, weights, keys, at, top)
        rows[top, slot] = rows[top, place] = card
        rows[top, j] = drawn
        weights[top] = share * alike
        top += 1
    weights[at] = share * copies
    return top


@inline
def beaten(numbers: Any) -> Any:
    """True if the move that is being followed cannot be better than what is there."""
    limit = max(numbers[BEST], numbers[NEEDED])
    return numbers[TOTAL] + numbers[REST] <= limit + NEAR


@inline
def nth_move(dims: Any, n: int, first: int, root: bool) -> int:
    """The n-th move to be looked at: ``first``, then plays, hints, discards.

    At the root by number, so that of moves that are as good the lowest is found, as by plain code.
    """
    if n == 0:
        return first
    h, total = hand_size(dims), num_actions(dims)
    move = n - 1 if root else h + n - 1
    if move >= total:
        move -= total
    return move if move != first else NO_MOVE


@inline
def open_state(
    dims: Any,
    rows: Any,
    minds: Any,
    weights: Any,
    bounds: Any,
    order: Any,
    scripts: Any,
    seat: int,
    frame: Any,
    numbers: Any,
    worths: Any,
    root: bool,
) -> None:
    """Begin an information state: its legal moves, the blueprint's, and its bounds."""
    one = order[frame[LOW]]
    row = rows[one]
    legal = legal_mask(dims, row)
    frame[NEXT] = 0
    frame[MOVE] = frame[FIRST] = NO_MOVE
    frame[GROUP] = frame[END] = frame[BEGIN]
    numbers[BEST] = -np.inf
    numbers[BOUND] = 0.0
    for j in range(frame[LOW], frame[HIGH]):
        numbers[BOUND] += bounds[order[j]]
    h = hand_size(dims)
    plays = ((1 << h) - 1) << h
    last = row[DECK_NEXT] == row[DECK_SIZE] and row[COUNTDOWN] == 1
    if last and not root and legal & ~plays:  # all that is no play comes to the same
        numbers[BEST] = 0.0
        for j in range(frame[LOW], frame[HIGH]):
            numbers[BEST] += weights[order[j]] * worths[final_return(rows[order[j]]) - LOWEST]
        legal &= plays
    else:
        frame[FIRST] = max(decide_as(dims, scripts[seat], row, minds[one, seat]), NO_MOVE)
    frame[LEGAL] = legal


@kernel
def solve_rows(
    dims: Any,
    rows: Any,
    minds: Any,
    weights: Any,
    count: int,
    scripts: Any,
    seat: int,
    seer: bool,
    budget: int,
    base: int,
    every: bool,
    worths: Any,
    reach: Any,
    keys: Any,
    bounds: Any,
    order: Any,
    frames: Any,
    numbers: Any,
    values: Any,
) -> int:
    """values[a] = what each legal move a is worth, exactly, in the first ``count`` rows.

    Without ``every`` those of moves that cannot be better than the best of the others stay as they
    are. ``base`` is followed first, and always to the end. ``worths`` [N - LOWEST + 1] are what
    returns from LOWEST on are worth, ``reach`` the most that any up to there is.

    ``rows`` int32 [R, W], ``minds`` int32 [R, P, words] and ``weights`` [R] are room for the rest;
    so are ``keys`` uint64 [R], ``bounds`` [R], ``order`` int64 [R], ``frames`` int64 [D, FRAME] and
    ``numbers`` [D, NUMBERS]. Returns the states that moves led to, OVER if they are more than
    ``budget`` or need more room.
    """
    p, actions = players(dims), num_actions(dims)
    nothing = np.zeros(1, np.uint64)  # a stream that is not drawn from
    limit = len(rows) - MARGIN
    states = depth = 0
    cut = 1 if every else 0  # the depth from which on moves may be left out
    for i in range(count):
        order[i] = i
        bounds[i] = weights[i] * reach[bound_of(dims, rows[i]) - LOWEST]
    frames[0, LOW], frames[0, HIGH] = 0, count
    frames[0, TOP] = frames[0, BEGIN] = count
    numbers[0, NEEDED] = -np.inf
    open_state(
        dims, rows, minds, weights, bounds, order, scripts, seat, frames[0], numbers[0], worths,
        True,
    )  # fmt: skip
    frames[0, FIRST] = base
    while depth >= 0:
        frame, number = frames[depth], numbers[depth]
        if frame[GROUP] < frame[END]:  # the next information state after this move
            start = frame[GROUP]
            stop = start
            while stop < frame[END] and keys[order[stop]] == keys[order[start]]:
                number[REST] -= bounds[order[stop]]
                stop += 1
            frame[GROUP] = stop
            below = frames[depth + 1]
            below[LOW], below[HIGH] = start, stop
            below[TOP], below[BEGIN] = frame[USED], frame[END]
            needed = max(number[BEST], number[NEEDED]) - number[TOTAL] - number[REST]
            numbers[depth + 1, NEEDED] = needed if depth >= cut else -np.inf
            depth += 1
            open_state(
                dims, rows, minds, weights, bounds, order, scripts, seat, frames[depth],
                numbers[depth], worths, False,
            )  # fmt: skip
            continue
        if frame[MOVE] != NO_MOVE:  # it has been followed to the end
            number[BEST] = max(number[BEST], number[TOTAL])
            if depth == 0:
                values[frame[MOVE]] = number[TOTAL]
            frame[MOVE] = NO_MOVE
        enough = depth >= cut and number[BEST] >= number[BOUND] - NEAR
        if enough or frame[NEXT] > actions:
            depth -= 1
            if depth >= 0:
                numbers[depth, TOTAL] += number[BEST]
                if depth >= cut and beaten(numbers[depth]):
                    frames[depth, GROUP] = frames[depth, END]
                    frames[depth, MOVE] = NO_MOVE
            continue
        move = nth_move(dims, frame[NEXT], frame[FIRST], depth == 0)
        frame[NEXT] += 1
        if move == NO_MOVE or not (frame[LEGAL] >> move) & 1:
            continue
        used = frame[TOP]
        number[TOTAL] = number[REST] = 0.0
        for j in range(frame[LOW], frame[HIGH]):
            k = used
            copy_row(rows, minds, weights, keys, order[j], k)
            keys[k] = 0
            used = play(dims, rows, minds, weights, keys, k, move, used + 1)
            states += used - k
            while k < used:  # a move has just been played in row k
                row = rows[k]
                if row[TURN] < 0:
                    number[TOTAL] += weights[k] * worths[final_return(row) - LOWEST]
                    k += 1
                    continue
                for other in range(p):
                    observe_as(dims, scripts[other], row, other, minds[k, other])
                keys[k] = saw(dims, row, seat, seer, keys[k])
                mover = np.int64(row[TURN])
                if mover == seat:
                    bounds[k] = weights[k] * reach[bound_of(dims, row) - LOWEST]
                    number[REST] += bounds[k]
                    k += 1
                    continue
                code = decide_as(dims, scripts[mover], row, minds[k, mover])
                legal = legal_mask(dims, row)
                before = used
                if code >= 0:
                    settle(dims, row, code, legal, nothing)  # raises for what is not legal
                    used = play(dims, rows, minds, weights, keys, k, code, used)
                    states += 1 + used - before
                else:
                    for action in range(actions):
                        if not (legal >> action) & 1:
                            continue
                        chance = chance_of_code(dims, row, code, legal, action)
                        if chance > 0.0:
                            copy_row(rows, minds, weights, keys, k, used)
                            weights[used] *= chance
                            used = play(dims, rows, minds, weights, keys, used, action, used + 1)
                    states += used - before
                    row[TURN] = -1  # it goes on in these
                    k += 1
                if states > budget or used > limit:
                    return OVER
            if states > budget or used > limit:
                return OVER
        frame[USED] = used
        frame[MOVE] = move
        end = frame[BEGIN]
        for k in range(frame[TOP], used):
            if rows[k, TURN] == seat:
                order[end] = k
                end += 1
        frame[GROUP], frame[END] = frame[BEGIN], end
        if depth >= cut and beaten(number):
            frame[GROUP], frame[MOVE] = end, NO_MOVE
        elif end - frame[BEGIN] > 1:
            part = order[frame[BEGIN] : end].copy()
            by_key = np.argsort(keys[part])
            for j in range(len(part)):
                order[frame[BEGIN] + j] = part[by_key[j]]
    return states
