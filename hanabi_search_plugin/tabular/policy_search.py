"""Joint policy search: change many information states of several seats at once, keep what gains.

After Tian, Gong and Jiang, "Joint Policy Search for Multi-agent Collaboration with Imperfect
Information" (NeurIPS 2020). Where each seat's policy is the best reply to the others', no seat
alone can improve, and neither can any search that takes the others to play on as before. What
helps is a change at one seat that pays only once the others understand it.

The paper samples a chain of information states, tries every action in each, and values the change
by its policy-change density. Here a trial draws new actions for a seat in many information states,
all seats reply best in turn, and the outcome's value is exact. The trials are of three kinds:

* a new plan: other actions from some information state that play reaches on to the end
* another action in one information state that play reaches
* a new meaning: other actions wherever play does not lead now, which changes nothing by itself, but
  moves that nobody makes may then be worth making

Letters: I information states, A actions.
"""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.core.game import FloatArray, IntArray
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.tabular.information_states import InformationStates
from hanabi_search_plugin.tabular.replies import GAIN, Replies


def joint_policy_search(
    replies: Replies, table: FloatArray, rng: np.random.Generator, *, trials: int
) -> tuple[FloatArray, float]:
    """The best table [I, A] found from ``table`` in so many trials, and its exact value.

    It begins with the replies in turn to ``table``. A trial that loses is undone; one that neither
    gains nor loses is kept, so that the search drifts. Takes all its chance from ``rng``. Raises
    ConfigError for trials below 0.
    """
    require_integer("trials", trials, 0)
    states, players = replies.states, replies.states.game.num_players
    table, value = replies.in_turn(table)
    reached = replies.reached(table)
    for _ in range(trials):
        seat = int(rng.integers(players))
        changed = KINDS[int(rng.integers(len(KINDS)))]
        rows = changed(states, reached, seat, rng)
        if len(rows) == 0:
            continue
        tried = states.filled(table).copy()
        liking = rng.random((len(rows), tried.shape[1])) * states.legal[rows]
        tried[rows] = np.eye(tried.shape[1])[liking.argmax(axis=1)]
        tried, worth = replies.in_turn(tried, first=(seat + 1) % players)
        if worth > value - GAIN:
            table, value = tried, max(value, worth)
            reached = replies.reached(table)
    return states.filled(table), value


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


KINDS = (_new_plan, _new_meaning, _another_action)
