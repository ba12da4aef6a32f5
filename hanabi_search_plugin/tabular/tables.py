"""Policies as tables: one that plays a table, and the table of what any policies play.

Letters: B worlds, N nodes, K information states of a seat, I of all, A actions.
"""

from __future__ import annotations

import numpy as np

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, Game, IntArray, View
from hanabi_search_plugin.core.policy import (
    Blueprint,
    Memory,
    Policy,
    observed,
    probabilities_of,
    sample_actions,
    started,
    take,
)
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.tabular.game_tree import (
    MAX_EDGES,
    OVER,
    check_edges,
    expanded,
    first_frontier,
    summed,
)
from hanabi_search_plugin.tabular.information_states import UNKNOWN, InformationStates


class TabularPolicy(Policy):
    """Plays a table [I, A] over information states; ``states`` says what where it has no row.

    Its memory is the number of the seat's information state in each world.
    """

    def __init__(self, states: InformationStates, table: FloatArray) -> None:
        self.states = states
        self.table = states.filled(table).copy()
        self.deterministic = bool((self.table.max(axis=1, initial=0.0) % 1.0 == 0.0).all())

    def start(self, view: View) -> Memory:
        return self.states.started(view)

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return self.states.after(memory, view, event)

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        chance = self.probabilities(view, legal, memory)
        if self.deterministic:
            return np.asarray(chance.argmax(axis=1), dtype=np.int64)
        return sample_actions(chance, rng)

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        known = (memory != UNKNOWN) & (memory < len(self.table))
        rows = self.table[np.where(known, memory, 0)]
        return np.where(known[:, None], rows, self.states.spare(legal))


def tabulate(
    game: Game,
    policies: Blueprint,
    states: InformationStates,
    table: FloatArray | None = None,
    *,
    seed: int = 0,
    max_edges: int = MAX_EDGES,
) -> tuple[FloatArray, float]:
    """The table [I, A] of what policies, one a seat, play; and its value, which is exact.

    Information states that their play never reaches keep their rows of ``table`` (None: none). A
    policy is asked once in each information state. A search decides there with a seed made of
    ``seed`` and the state's number, and stands for the move that it makes, or for the distribution
    that it draws from. Raises as ``GameTree.of``, where the play has more
    than ``max_edges`` moves.
    """
    frontier, weight = first_frontier(game, states)
    players = range(game.num_players)
    rows: dict[int, FloatArray] = {}
    known, memories = [], []
    for p in players:
        ids, first = np.unique(frontier.seen[:, p], return_index=True)
        known.append(ids)
        memories.append(started(policies[p], frontier.worlds.view(p).select(first)))
    value, edges = 0.0, 0
    while len(frontier.worlds):
        for p in players:
            own, first = np.unique(frontier.own[frontier.mover == p], return_index=True)
            if len(own):
                nodes = np.flatnonzero(frontier.mover == p)[first]
                memory = take(memories[p], np.searchsorted(known[p], own))
                view = frontier.worlds.view(p).select(nodes)
                rows.update(zip(own.tolist(), _chances(policies[p], view, memory, own, seed),
                                strict=True))  # fmt: skip
        chosen = np.array([rows[state] for state in frontier.own.tolist()])
        edges += int((chosen > 0).sum())
        check_edges(game, edges, max_edges)
        layer, after, _ = expanded(states, frontier, chosen > 0)
        weights = weight[layer.parent] * chosen[layer.parent, layer.action] * layer.chance
        value += float(weights @ layer.reward)
        inside = np.flatnonzero(layer.child != OVER)
        child = layer.child[inside]
        weight = summed(child, weights[inside], len(after.worlds))
        edge = np.empty(len(after.worlds), dtype=np.int64)  # one that leads to each node
        edge[child] = inside
        for p in players:
            ids, first = np.unique(after.seen[:, p], return_index=True)
            via = edge[first]
            event = Event(layer.mover[layer.parent[via]], layer.action[via]).seen_by(p, game)
            before = frontier.seen[layer.parent[via], p]
            memory = take(memories[p], np.searchsorted(known[p], before))
            view = after.worlds.view(p).select(first)
            memories[p] = observed(policies[p], view, event, memory) if len(ids) else memory
            known[p] = ids
        frontier = after
    found = states.filled(states.empty() if table is None else table).copy()
    for state, row in rows.items():
        found[state] = row
    return found, value


def _chances(policy: Policy, view: View, memory: Memory, own: IntArray, seed: int) -> FloatArray:
    """[K, A] what ``policy`` plays in information states of the seat to move."""
    if not isinstance(policy, SearchAgent):
        return probabilities_of(policy, view, memory)
    chance = np.zeros(view.legal.shape)
    for k, (state, entry) in enumerate(zip(own.tolist(), memory, strict=True)):
        result = policy.decide(entry, np.random.default_rng((seed, state)))
        if result.policy is None:
            chance[k, result.action] = 1.0
        else:
            chance[k, result.actions] = result.policy
    return chance
