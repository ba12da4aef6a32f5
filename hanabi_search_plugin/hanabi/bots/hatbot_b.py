"""The stronger hat-guessing bot: hanabi.rs by WuTheFWasThat as of 2023, from a description of it.

As ``hatbot``, whose memory, conventions and names it shares, with better questions: each follows
from the answers to those before it, and one question can ask for the first of many properties that
holds. Besides, a discard while there are hints to give tells everybody who knows of no playable
card that he has none. Arithmetic is in single precision, as the original's: 9/10 is within 0.2 of
0.7, and 3/5 is nearer to it than 4/5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hanabi_search_plugin.hanabi.bots.hatbot import (
    FIRST,
    Board,
    announcement,
    best_attribute,
    board_before,
    board_now,
    certain_play,
    determined,
    hint_options,
    in_sight,
    is_early,
    least_bad_discard,
    nth_bit,
    partition,
    partition_answer,
    partition_block,
    private_board,
    private_masks,
    receivers,
    risky_play,
    share,
    stack_array,
    take_move,
    useless_slots,
    weight,
)
from hanabi_search_plugin.hanabi.bots.script import SILENT
from hanabi_search_plugin.hanabi.bots.smartbot import ABSENT
from hanabi_search_plugin.hanabi.engine.layout import (
    GAINED_INFO,
    INFO,
    LAST_ACTION,
    LAST_FLAGS,
    LAST_PLAYER,
    LIVES,
    MAX_INFO,
    TURN,
    hand_at,
    hand_size,
    lowest_bit,
    players,
    popcount,
)
from hanabi_search_plugin.hanabi.engine.rules import hint_action
from hanabi_search_plugin.jit import inline, routine

COMPILES = "the hat bot of 2023"

HINT_ABOVE = 4  # tokens from which a hint that nobody needs beats a discard


# -------------------------------------------------------------------------- the questions of a hand


@inline
def first_in_order(shares: Any, at: int, pending: int, h: int) -> int:
    """The pending slot of the lowest share, of equals the oldest."""
    slot = 0
    lowest = np.float32(2)
    for i in range(h):
        lower = (pending >> i) & 1 != 0 and shares[at + i] < lowest
        slot = i if lower else slot
        lowest = shares[at + i] if lower else lowest
    return slot


@inline
def last_to_keep(shares: Any, at: int, pending: int, h: int) -> int:
    """The pending slot of the lowest share, of equals the newest."""
    slot = 0
    lowest = np.float32(2)
    for i in range(h):
        lower = (pending >> i) & 1 != 0 and shares[at + i] <= lowest
        slot = i if lower else slot
        lowest = shares[at + i] if lower else lowest
    return slot


@inline
def keep_likeliest(shares: Any, plays: int, deads: int, capacity: int, h: int) -> tuple[int, int]:
    """The entries of a combo: at most ``capacity``, PLAYABLE? before DEAD?, likely ones first."""
    excess = popcount(plays) - capacity
    if excess >= 0:
        deads = 0
    else:
        excess += popcount(deads)
    for _ in range(excess):
        at = 8 if deads else 0
        bit = 1 << last_to_keep(shares, at, deads if deads else plays, h)
        deads &= ~bit
        plays &= ~bit if at == 0 else -1
    return plays, deads


@inline
def answer_combo(
    row: Any,
    hand: int,
    masks: Any,
    base: int,
    shares: Any,
    entries: tuple[int, int],
    told: int,
    board: Board,
    h: int,
) -> int:
    """Ask "which is the first of these that holds?", acknowledge and return the answer."""
    plays, deads = entries
    position = 0
    while plays | deads:
        at = 0 if plays else 8
        goal = board[0] if plays else board[1]
        slot = first_in_order(shares, at, plays if plays else deads, h)
        if plays:
            plays &= ~(1 << slot)
        else:
            deads &= ~(1 << slot)
        position += 1
        yes = position == told
        if hand >= 0:
            yes = (goal >> (np.int64(row[hand + slot]) & 31)) & 1 != 0
        masks[base + slot] &= goal if yes else ~goal
        if yes:
            return position
    return 0


@inline
def answer_questions(
    dims: Any,
    row: Any,
    hand: int,
    masks: Any,
    base: int,
    total: int,
    number: int,
    board: Board,
) -> int:
    """Ask a hand all its questions, acknowledge the answers in its masks; its hand value.

    The answers are those of the cards at row[hand], or for ``hand`` -1 those that number holds.
    """
    h = hand_size(dims)
    play, dead = board[0], board[1]
    shares = stack_array(16, np.float32)  # of PLAY by slot, from 8 on of DEAD
    value = 0
    radix = 1
    left = total
    while left > 1:
        eligible = plays = deads = FIRST
        knows_play = knows_dead = False
        near = lowest = -1  # slots
        nearest = np.float32(0.2)
        least_dead = np.float32(2)
        weighed = np.int64(-1)  # the mask that ``playable`` and ``lost`` are of
        playable = lost = np.float32(0)
        for i in range(h):
            mask = np.int64(masks[base + i])
            if mask != weighed:  # neighbours often have the same: weighing is what takes time
                weighed = mask
                whole = weight(mask, board)
                playable = share(np.float32, weight(mask & play, board), whole)
                lost = share(np.float32, weight(mask & dead, board), whole)
            shares[i] = playable
            shares[8 + i] = lost
            # A mask that wrong answers have emptied is neither: it waits to be mended.
            all_dead = (mask & ~dead) == 0
            knows_play |= (mask & ~play) == 0 and mask != 0
            knows_dead |= all_dead and mask != 0
            ask = not determined(mask) and not all_dead
            eligible |= np.int64(ask) << i
            plays |= np.int64(ask and (mask & play) != 0) << i
            deads |= np.int64(ask and (mask & dead) != 0) << i
            distance = abs(playable - np.float32(0.7))
            nearer = ask and distance < nearest
            near = i if nearer else near
            nearest = distance if nearer else nearest
            less = ask and lost < least_dead
            lowest = i if less else lowest
            least_dead = lost if less else least_dead
        if eligible == 0:
            break
        plays = FIRST if knows_play else plays
        deads = FIRST if knows_play or knows_dead else deads
        told = number
        if plays | deads:
            entries = keep_likeliest(shares, plays, deads, left - 1, h)
            modulus = popcount(entries[0]) + popcount(entries[1]) + 1
            told = number % modulus
            answer = answer_combo(row, hand, masks, base, shares, entries, told, board, h)
        else:
            slot = near if near >= 0 else lowest
            mask = np.int64(masks[base + slot])
            card = np.int64(row[hand + slot]) & 31 if hand >= 0 else np.int64(31)
            if near >= 0:
                modulus = 2
                answer = (play >> card) & 1 if hand >= 0 else number % 2
                masks[base + slot] = mask & (play if answer else ~play)
            else:
                modulus = partition(mask, dead, left)[2]
                answer = number % modulus
                if hand >= 0:
                    answer = partition_answer(mask, dead, left, card)
                masks[base + slot] = partition_block(mask, dead, left, answer)
        number //= modulus
        value += radix * answer
        radix *= modulus
        left = (left - answer - 1) // modulus + 1
    return value


# ------------------------------------------------------------------------------------ decisions


@inline
def knows_play(dims: Any, mem: Any, player: int, play: int) -> bool:
    """KNOWS: does a player publicly have a card that is certain to score?"""
    found = False
    for i in range(hand_size(dims)):
        found |= (np.int64(mem[player * hand_size(dims) + i]) & ~play) == 0
    return found


@inline
def somebody_needs(dims: Any, row: Any, mem: Any, me: int, play: int) -> bool:
    """NEED: has another player a playable card, and knows of none?"""
    p, h = players(dims), hand_size(dims)
    needed = False
    for player in range(p):
        if player != me:
            holds = False
            for i in range(h):
                holds |= (play >> (np.int64(row[hand_at(dims, player) + i]) & 31)) & 1 != 0
            needed |= holds and not knows_play(dims, mem, player, play)
    return needed


@inline
def copy_masks(dims: Any, mem: Any, player: int, unneeded: int, masks: Any) -> None:
    """A hand's masks; without ``unneeded``, PLAY after NOBODYNEEDS, if the player knows no play."""
    h = hand_size(dims)
    removed = 0 if unneeded == 0 or knows_play(dims, mem, player, unneeded) else unneeded
    for i in range(h):
        masks[player * h + i] = np.int64(mem[player * h + i]) & ~removed


@inline
def announced_sum(
    dims: Any,
    row: Any,
    mem: Any,
    me: int,
    total: int,
    unneeded: int,
    board: Board,
) -> int:
    """SUM(me, total), after NOBODYNEEDS if ``unneeded`` is PLAY and not 0."""
    p, h = players(dims), hand_size(dims)
    masks = stack_array(40, np.int32)
    value = 0
    for player in range(p):
        if player != me:
            copy_masks(dims, mem, player, unneeded, masks)
            hand = hand_at(dims, player)
            value += answer_questions(dims, row, hand, masks, player * h, total, 0, board)
    return value % total


@inline
def choose_action(dims: Any, row: Any, mem: Any) -> int:
    """The action of the player to move, or SILENT."""
    h = hand_size(dims)
    me = np.int64(row[TURN]) & 7
    board = board_now(row)
    play, dead = board[0], board[1]
    sight = in_sight(dims, row, me)
    eye = private_board(board, sight[0], sight[1], sight[2])
    mine = stack_array(8, np.int32)
    private_masks(dims, row, mem, me, eye[2], mine)
    slot = certain_play(dims, row, mine, eye, sight, np.float32)
    if slot >= 0:
        return h + slot
    early = is_early(dims, row, board)
    if early and row[LIVES] > 1:
        slot = risky_play(dims, mine, eye)
        if slot >= 0:
            return h + slot
    useless = useless_slots(dims, mine, FIRST, dead)
    tokens = np.int64(row[INFO])
    hint = tokens > 0 and somebody_needs(dims, row, mem, me, play)
    if not hint and not (early and useless != 0):
        hint = (sight[0] & play) != 0 or tokens > HINT_ABOVE
    can_hint = tokens > 0 and sight[0] != 0
    can_discard = tokens < row[MAX_INFO] and mine[0] != ABSENT
    if not can_discard and not can_hint:
        return SILENT
    hint = (hint and can_hint) or not can_discard
    public = useless_slots(dims, mem, me * h, dead)
    total = popcount(public)
    if not hint and total < 2:
        if useless:
            return lowest_bit(useless)
        valuable = board[3] & ~board[2] & ~dead
        return least_bad_discard(dims, mine, valuable, sight[0], eye, np.float32)
    strategies = stack_array(10, np.int64)
    if hint:
        total = receivers(dims, mem, me, board, False, strategies)
    unneeded = play if not hint and tokens > 0 else 0
    announced = announced_sum(dims, row, mem, me, total, unneeded, board)
    if not hint:
        return nth_bit(public, announced)
    offset, player, options = hint_options(dims, row, me, announced, strategies)
    attribute = lowest_bit(options)
    if not determined(options):
        hand = hand_at(dims, player)
        attribute = best_attribute(dims, row, hand, mem, player * h, options, board, np.float32)
    return hint_action(dims, offset, attribute)


# --------------------------------------------------------------------------------- observations


@inline
def learn(
    dims: Any,
    row: Any,
    mem: Any,
    seat: int,
    total: int,
    announced: int,
    unneeded: int,
    board: Board,
) -> bool:
    """NOBODYNEEDS and LEARN as a seat does them; as all do for seat -1, if the sum is conventional.

    As in ``hatbot``. First the hands in sight answer; then those to whom the number says something
    that is not there to be seen, or something else than what is, answer by it.
    """
    p, h = players(dims), hand_size(dims)
    giver = np.int64(row[LAST_PLAYER]) & 7
    masks = stack_array(40, np.int32)
    values = stack_array(5, np.int64)
    rest = announced
    for turn in range(2 * p):
        player = turn if turn < p else turn - p
        again = turn >= p
        if turn == p and total > 0:
            rest %= total
            if seat < 0 and rest != 0 and p > 2:
                return False
        unseen = player == seat or p == 2
        wrong = seat == giver and rest != 0  # the giver knows what each will decode
        if player != giver and (again == unseen or (again and wrong)):
            copy_masks(dims, mem, player, unneeded, masks)
            number = 0
            if again:
                number = (rest if unseen else values[player] + rest) % max(total, 1)
            hand = -1 if again else hand_at(dims, player)
            value = answer_questions(dims, row, hand, masks, player * h, total, number, board)
            values[player] = value
            rest -= 0 if again else value
    for player in range(p):
        if player != giver:
            for i in range(h):
                mem[player * h + i] = masks[player * h + i]
    return True


@inline
def take_announcement(dims: Any, row: Any, seat: int, mem: Any) -> tuple[bool, bool]:
    """What a hint or discard announced: is the memory up to date with it; were hands read?"""
    board = board_before(row)
    total, announced = announcement(dims, row, mem, board, False)
    unneeded = 0
    gained = np.int64((row[LAST_FLAGS] & GAINED_INFO) != 0)
    if row[LAST_ACTION] < hand_size(dims) and row[INFO] > gained:  # a discard, with tokens left
        unneeded = board[0]
    done = True
    if total > 0 or unneeded != 0:
        done = learn(dims, row, mem, seat, total, announced, unneeded, board)
    return done, total > 0 and players(dims) > 2


@routine
def decide(dims: Any, row: Any, mem: Any, script: Any) -> int:
    """The action of the player to move, or SILENT where no rule has one."""
    return choose_action(dims, row, mem)


@routine
def observe(dims: Any, row: Any, seat: int, mem: Any, script: Any) -> bool:
    """Update a seat's memory with the last move; True as in ``hatbot``."""
    _, depends = take_announcement(dims, row, seat, mem)
    take_move(dims, row, mem)
    return depends


@routine
def observe_common(dims: Any, row: Any, mem: Any, script: Any) -> bool:
    """``observe`` for all seats at once, where they come to the same; else nothing, and False."""
    done, _ = take_announcement(dims, row, -1, mem)
    if done:
        take_move(dims, row, mem)
    return done
