"""``check_search``: results that hold together, decisions that follow from the seed, no peeking.

Letters: M legal moves, A actions.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hanabi_search_plugin.belief_agent import BeliefAgent, upgrade
from hanabi_search_plugin.core.agent import MakeBelief, Search, SearchAgent, TeamSearch
from hanabi_search_plugin.core.capabilities import Enumerable
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import NOBODY, Event, FloatArray, Game, Worlds, require_game
from hanabi_search_plugin.core.plain_game import PlainGame
from hanabi_search_plugin.core.policy import Memory, UniformPolicy, moves_of, probabilities_of
from hanabi_search_plugin.core.reprs import search_repr
from hanabi_search_plugin.core.result import SearchResult, require_result
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.registry import AnyBlueprint
from hanabi_search_plugin.testing.belief_checks import Bayes
from hanabi_search_plugin.testing.check_tools import (
    ONE,
    RANDOM_MOVES,
    SIGMAS,
    TOLERANCE,
    observed,
    random_legal,
    require,
    same_memory,
    snapshot,
    started,
)
from hanabi_search_plugin.testing.failures import naming_failures
from hanabi_search_plugin.testing.memory_checks import require_no_memory_on_self
from hanabi_search_plugin.testing.policy_checks import check_agent

MAX_POSITIONS = 20_000  # walked by brute force at one decision; larger ones are not compared
STAYS = ("blueprint_best", "below_threshold", "budget_too_small", "belief_too_small")
LEAVES = ("improved", "tree_choice")


@naming_failures
def check_search(
    game: Game,
    search: Search | TeamSearch,
    *,
    policy: AnyBlueprint = "random",
    belief: MakeBelief | None = None,
    exact: bool = False,
    seed: int = 0,
    games: int = 1,
) -> None:
    """Check that ``search`` over ``policy`` keeps its contract at every seat of ``game``.

    Each decision is made many times, so give a search a small budget, and none of seconds. Checked
    are: a legal action and figures that fit together (``SearchResult``); the same decision from the
    same seed, alone, in two threads at once and with another number of ``threads``, where the
    search has such a field; fields of a dataclass that decisions leave as they were; one legal move
    and any number up to five, in a small game of this check's own, where the search plays other
    games; and all that ``check_agent`` checks, no peeking foremost: other hidden cards behind the
    same history change nothing. ``belief`` is as in ``upgrade``.

    With ``exact`` the means are compared with brute force, too: they must estimate the return of
    each move if everybody plays ``policy`` from then on, as those of one-ply searches do. That
    needs an Enumerable game or the small one, and is skipped where a position has too many worlds.

    Raises ContractError at the first breach, ConfigError for ``exact`` with a TeamSearch.
    """
    require_game(game, search, policy, call="check_search(game, search)")
    if exact and isinstance(search, TeamSearch):
        raise ConfigError("exact must be False for a search of a team, got True")
    agent = upgrade(policy, game, search, belief=belief).without_warnings()
    if isinstance(agent, BeliefAgent):
        search = agent.search  # with the policies that were given by name
    require_no_memory_on_self(game, agent.blueprint, seed)
    before = _settings(search)
    _check_decisions(agent, search, exact, seed, games)
    check_agent(game, agent, seed=seed, games=games)
    try:
        small = upgrade(UniformPolicy(), Ladder(), search).without_warnings()
        _check_decisions(small, search, exact, seed, games)
    except UnsupportedError:
        pass  # a search, or a guide of it, that plays one game
    require(
        same_memory(before, _settings(search)),
        f"{search_repr(search)}: a decision changed the search, which is its configuration",
    )


def _settings(search: object) -> Any:
    """What a search was set to, copied; what it keeps beside its fields is its own affair."""
    if not dataclasses.is_dataclass(search):
        return None
    return {
        field.name: snapshot(getattr(search, field.name)) for field in dataclasses.fields(search)
    }


def _check_decisions(
    agent: SearchAgent, search: Search | TeamSearch, exact: bool, seed: int, games: int
) -> None:
    """Play games of the blueprint, with some moves of the agent's seat at random."""
    game, blueprint = agent.game, agent.blueprint
    rng = np.random.default_rng(seed)
    choices = compared = 0  # decisions with more than one move, and those with means to compare
    for seat in list(range(game.num_players)) * games:
        worlds = game.deal(rng, 1)
        view = worlds.view(seat).select(ONE)
        memory = agent.start(view)
        memories = [started(policy, worlds.view(p)) for p, policy in enumerate(blueprint)]
        truth = None
        if exact and isinstance(game, Enumerable):
            truth = Bayes(game, blueprint, view, 0.0, 0.0)
        while not worlds.terminal[0]:
            mover = int(worlds.current_player[0])
            at = worlds.view(mover)
            action = moves_of(blueprint[mover], at, memories[mover], Streams.spawn(rng, 1))
            if mover == seat:
                result = _decision(agent, search, memory[0], at.legal[0], int(rng.integers(2**32)))
                if truth is not None:
                    _check_means(search, result, truth, seat)
                    figures = ~np.isnan(np.asarray(result.mean, float))
                    choices += bool(at.legal[0].sum() > 1)
                    compared += bool((figures & (np.asarray(result.count) > 0)).any())
                action = np.array([result.action])
                if rng.random() < RANDOM_MOVES:
                    action = random_legal(at.legal, rng)
            event = worlds.step(action)
            for p, policy in enumerate(blueprint):
                memories[p] = observed(policy, worlds.view(p), event.seen_by(p, game), memories[p])
            seen, view = event.seen_by(seat, game), worlds.view(seat).select(ONE)
            if not worlds.terminal[0]:
                memory = agent.observe(view, seen, memory)
                if truth is not None:
                    truth.update(seen, view)
    require(
        compared > 0 or choices == 0,
        f"{search_repr(search)}: exact=True has nothing to compare, since none of {choices} "
        "decisions has a mean that is not NaN of a move with a count above 0",
    )


def _decision(
    agent: SearchAgent, search: Search | TeamSearch, memory: Any, legal: Any, seed: int
) -> SearchResult:
    """One decision, made in every way that must come to the same."""

    def again(by: SearchAgent = agent) -> SearchResult:
        return by.decide(memory, np.random.default_rng(seed))

    result = again()
    require_result(search, result, legal)
    _require_same(search, result, again(), "when it is asked again with the same seed")
    _check_figures(agent.game, search, result)
    with ThreadPoolExecutor(2) as pool:
        for other in [pool.submit(again) for _ in range(2)]:
            _require_same(search, result, other.result(), "beside itself in another thread")
    if dataclasses.is_dataclass(search) and isinstance(getattr(search, "threads", None), int):
        threads = getattr(search, "threads", 0)
        wider: Any = dataclasses.replace(search, threads=threads + 1)
        by = dataclasses.replace(agent, search=wider)
        _require_same(search, result, again(by), f"with threads={threads + 1}")
    return result


def _require_same(search: object, first: SearchResult, second: SearchResult, when: str) -> None:
    one, two = first.to_dict(), second.to_dict()
    different = [name for name in one if one[name] != two[name]]
    require(
        not different,
        f"{search_repr(search)}: it decides another way {when}: "
        + ", ".join(f"{name} {one[name]} and {two[name]}" for name in different[:2]),
    )


def _check_figures(game: Game, search: object, result: SearchResult) -> None:
    """Figures of a decision that contradict each other, or that nothing can be made of."""
    count = np.asarray(result.count)
    tried, (low, high) = count > 0, game.return_range
    mean, error = np.asarray(result.mean, float), np.asarray(result.stderr, float)
    left = result.action != result.blueprint_action
    known = mean[~np.isnan(mean)]
    for true, what, got in (
        (count.dtype.kind in "iu" and (count >= 0).all(), "counts of at least 0", count.tolist()),
        (not np.isnan(mean[tried]).any(), "a mean of every move that was tried", mean.tolist()),
        (
            ((known >= low - TOLERANCE) & (known <= high + TOLERANCE)).all(),
            f"means from {low} to {high}, the returns of {game.name}",
            mean.tolist(),
        ),
        (not (error < 0).any(), "standard errors of at least 0", error.tolist()),
        (result.rollouts >= 0, "rollouts of at least 0", result.rollouts),
        (result.belief_size >= 1, "a belief_size of at least 1", result.belief_size),
        (
            result.likelihoods is None or result.likelihoods >= 0,
            "likelihoods of at least 0, or None",
            result.likelihoods,
        ),
        (not (left and result.reason in STAYS), "a reason to leave the blueprint", result.reason),
        (left or result.reason not in LEAVES, "a reason to stay with it", result.reason),
        (left or result.gain == 0, "a gain of 0 for the blueprint's move", result.gain),
        (isinstance(result.note, str), "a note in words", result.note),
    ):
        require(bool(true), f"{search_repr(search)} must return {what}, got {got}")
    try:
        json.dumps(result.to_dict())
    except TypeError as error_:
        require(False, f"{search_repr(search)} must return what JSON can hold: {error_}")


# ------------------------------------------------------------------------------ brute force


def _check_means(search: object, result: SearchResult, truth: Bayes, seat: int) -> None:
    """Means within SIGMAS standard deviations of what playing on comes to, world by world."""
    low, high = truth.game.return_range
    walk = _Walk(truth, seat)
    for m, action in enumerate(result.actions.tolist()):
        if not result.count[m]:
            continue
        try:
            mean, square = walk.moments(action)
        except _TooManyError:
            return
        n = int(result.count[m])
        margin = SIGMAS * np.sqrt(max(square - mean * mean, 0.0) / n) + 5 * (high - low) / n
        require(
            abs(result.mean[m] - mean) <= margin + TOLERANCE,
            f"{search_repr(search)}: the mean of action {action} over {counted(n, 'rollout')} "
            f"must be within {margin:.4f} of {mean:.4f}, which brute force gives, got "
            f"{result.mean[m]:.4f}",
        )


class _TooManyError(Exception):
    """More positions than brute force walks."""


class _Walk:
    """The return of a seat after a move, over all worlds, chance and the blueprint's moves."""

    def __init__(self, truth: Bayes, seat: int) -> None:
        self.truth, self.seat, self.left = truth, seat, MAX_POSITIONS

    def moments(self, action: int) -> tuple[float, float]:
        """Expected return and its expected square."""
        total = sum(weight for _, weight, _ in self.truth.cases)
        parts = [
            weight / total * self._after(world, memories, action)
            for world, weight, memories in self.truth.cases
        ]
        mean, square = np.sum(parts, axis=0)
        return float(mean), float(square)

    def _after(self, world: Worlds, memories: Sequence[Memory], action: int) -> FloatArray:
        """[2] as ``moments``, in one world (a batch of one)."""
        self.left -= 1
        if self.left < 0:
            raise _TooManyError
        game, blueprint = self.truth.game, self.truth.blueprint
        played = np.array([action])
        event = Event(world.current_player, played)
        children, _, chance = game.branch(world, played)
        out = np.zeros(2)
        for c in range(len(children)):
            child = children.select(np.array([c]))
            if child.terminal[0]:
                end = float(child.returns[0, self.seat])
                out += chance[c] * np.array([end, end * end])
                continue
            grown = [
                policy.observe(child.view(p), event.seen_by(p, game), memories[p])
                for p, policy in enumerate(blueprint)
            ]
            mover = int(child.current_player[0])
            view = child.view(mover)
            odds = probabilities_of(blueprint[mover], view, grown[mover])[0]
            for move in np.flatnonzero(odds):
                out += chance[c] * odds[move] * self._after(child, grown, int(move))
        return out


# ------------------------------------------------------------------------- the small game


class Ladder(PlainGame):
    """One legal move, then two, and so on to five; player 0 sees a number that pays for moves.

    A point for each move that is the number, 0 or 1, for as far as there are so many moves.
    """

    name, num_players, num_actions = "ladder", 2, 5
    return_range, max_length, public_actions = (0.0, 5.0), 5, True

    def initial_states(self) -> list[tuple[Any, float]]:
        return [((number, ()), 0.5) for number in (0, 1)]

    def current_player(self, state: Any) -> int:
        return NOBODY if len(state[1]) == self.max_length else len(state[1]) % 2

    def legal_actions(self, state: Any) -> Sequence[int]:
        return range(len(state[1]) + 1)

    def next_states(self, state: Any, action: int) -> list[tuple[Any, float]]:
        return [((state[0], (*state[1], action)), 1.0)]

    def returns(self, state: Any) -> list[float]:
        number, moves = state
        return [float(sum(move == number for move in moves))] * 2

    def observation(self, state: Any, player: int) -> list[int]:
        number, moves = state
        padded = [*moves, *[-1] * (self.max_length - len(moves))]
        return [number if player == 0 else -1, *padded]
