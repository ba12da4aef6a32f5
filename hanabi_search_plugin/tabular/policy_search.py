"""Joint policy search: change many information states of several seats at once, keep what gains.

After Tian, Gong and Jiang, "Joint Policy Search for Multi-agent Collaboration with Imperfect
Information" (NeurIPS 2020). Where each seat's policy is the best reply to the others', no seat
alone can improve, and neither can any search that takes the others to play on as before. What
helps is a change at one seat that pays only once the others understand it.

The paper samples a chain of information states, tries every action in each, and values the change
by its policy-change density. Here a trial changes many information states, and its outcome's value
is exact. Three kinds of trials draw new actions for one seat, then all seats reply best in turn:

* "new plan": other actions from some information state that play reaches on to the end
* "another action" in one information state that play reaches
* "new meaning": other actions wherever play does not lead now, which changes nothing by itself, but
  moves that nobody makes may then be worth making

Where a seat has many moves such draws hardly ever meet what another seat needs. The fourth kind,
"understood", has everybody ready: another action in one information state, and whatever play comes
to by it alone is played as is best in hindsight, of equals by the move that tells most
(``Replies.understood``). It is valued as it is; replies follow only a gain. So it lists little of a
game whose tree is too large to be listed.

Letters: I information states, A actions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hanabi_search_plugin.core.game import FloatArray, IntArray
from hanabi_search_plugin.core.require import require_choice, require_integer, unknown
from hanabi_search_plugin.tabular.information_states import InformationStates
from hanabi_search_plugin.tabular.replies import GAIN, Replies

REDRAWN = ("new plan", "new meaning", "another action")
UNDERSTOOD = "understood"
KINDS = (*REDRAWN, UNDERSTOOD)


def joint_policy_search(
    replies: Replies,
    table: FloatArray,
    rng: np.random.Generator,
    *,
    trials: int,
    kinds: Sequence[str] = REDRAWN,
) -> tuple[FloatArray, float]:
    """The best table [I, A] found from ``table`` in so many trials, and its exact value.

    It begins with the replies in turn to ``table``. Each trial is of one of ``kinds``, drawn with
    equal chance. A trial that loses is undone; one that neither gains nor loses is kept, so that
    the search drifts. Takes all its chance from ``rng``. Raises ConfigError for trials below 0 and
    for other kinds. "understood" raises UnsupportedError where more than ``game_tree.MAX_EDGES``
    moves may follow a change.
    """
    require_integer("trials", trials, 0)
    for kind in kinds:
        require_choice("kinds", kind, KINDS)
    if not kinds:
        raise unknown("kinds", kinds, KINDS)
    states, players = replies.states, replies.states.game.num_players
    table, value = replies.in_turn(table)
    reached = replies.reached(table)
    for _ in range(trials):
        seat = int(rng.integers(players))
        kind = kinds[int(rng.integers(len(kinds)))]
        if kind == UNDERSTOOD:
            tried = _understood(replies, table, seat, rng)
            worth = replies.value(tried)
        else:
            rows = ROWS[kind](states, reached, seat, rng)
            if len(rows) == 0:
                continue
            tried = states.filled(table).copy()
            liking = rng.random((len(rows), tried.shape[1])) * states.legal[rows]
            tried[rows] = np.eye(tried.shape[1])[liking.argmax(axis=1)]
            worth = np.inf  # not known before the replies
        if worth > value + GAIN:
            tried, worth = replies.in_turn(tried, first=(seat + 1) % players)
        if worth > value - GAIN:
            table, value = tried, max(value, worth)
            reached = replies.reached(table)
    return states.filled(table), value


def _understood(
    replies: Replies, table: FloatArray, seat: int, rng: np.random.Generator
) -> FloatArray:
    """Any action where the seat has come to by play's own chance, and everybody ready for it."""
    states, chances = replies.states, replies.chances(table)
    own = np.flatnonzero((states.owner == seat) & (chances > 0))
    if len(own) == 0:
        return table
    state = int(rng.choice(own, p=chances[own] / chances[own].sum()))
    action = int(rng.choice(np.flatnonzero(states.legal[state])))
    return replies.understood(table, state, action, rng)


def _new_plan(
    states: InformationStates, reached: IntArray, seat: int, rng: np.random.Generator
) -> IntArray:
    """An information state of the seat that play reaches, and all of its own that may follow."""
    own: IntArray = reached[states.owner[reached] == seat]
    if len(own) == 0:
        return own
    first = int(rng.choice(own))
    ancestor, follows = np.arange(len(states)), np.zeros(len(states), dtype=np.bool_)
    while (ancestor >= first).any():  # numbers grow along a game
        follows |= ancestor == first
        ancestor = np.where(ancestor > first, states.before[ancestor], -1)
    return np.flatnonzero(follows & states.legal.any(axis=1))


def _another_action(
    states: InformationStates, reached: IntArray, seat: int, rng: np.random.Generator
) -> IntArray:
    """One information state of the seat that play reaches."""
    own: IntArray = reached[states.owner[reached] == seat]
    return rng.choice(own, size=min(1, len(own)))


def _new_meaning(
    states: InformationStates, reached: IntArray, seat: int, rng: np.random.Generator
) -> IntArray:
    """All information states of the seat that play does not reach."""
    off = (states.owner == seat) & states.legal.any(axis=1)
    off[reached] = False
    return np.flatnonzero(off)


ROWS = dict(zip(REDRAWN, (_new_plan, _new_meaning, _another_action), strict=True))
