"""``check_policy`` and ``check_agent``: legal, reproducible, forkable, and no peeking."""

from __future__ import annotations

import logging

import numpy as np

from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.beliefs.particles import ParticleBelief
from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.call_checks import METHOD_ARGUMENTS, require_call
from hanabi_search_plugin.core.capabilities import DealsTokens, Enumerable, Redeterminizes
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import (
    Event,
    Game,
    IntArray,
    View,
    Worlds,
    require_game,
)
from hanabi_search_plugin.core.policy import (
    Memory,
    Policy,
    UniformPolicy,
    as_blueprint,
    lacks_probabilities,
    require_combinations,
    take,
)
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.registry import AnyBlueprint, AnyPolicy, blueprint_of, policy_of
from hanabi_search_plugin.testing.check_tools import (
    FREQUENCY_SAMPLES,
    ONE,
    RANDOM_MOVES,
    TWIN_PARTICLES,
    TWIN_TRIES,
    acted,
    joint,
    name_of,
    observed,
    random_legal,
    require,
    require_frequencies,
    same_memory,
    seen_in,
    snapshot,
    started,
)
from hanabi_search_plugin.testing.failures import naming_failures
from hanabi_search_plugin.testing.memory_checks import (
    blueprint_within,
    naming_changes,
    require_no_memory_on_self,
)

_logger = logging.getLogger("hanabi_search_plugin")


@naming_failures
def check_policy(game: Game, policy: AnyPolicy, *, seed: int = 0, games: int = 4) -> None:
    """Check that ``policy`` (or that of a name) keeps its contract at every seat of ``game``.

    Legal moves; nothing changed by ``act``, nor the old memory by ``observe``; no memory but the
    one that these return, so that a decision asked again is the same; determinism where declared
    and by stream; probabilities that match ``act``; batch independence and forks; and no peeking:
    other hidden information behind the same view changes nothing. Half of the moves played
    are random, as a policy under search meets.

    A stochastic policy that does not give its probabilities keeps the contract, but exact beliefs
    cannot follow it: a warning is logged.
    """
    require_game(game, policy, call="check_policy(game, policy)")
    policy = policy_of(policy, game)
    _require_calls(policy)
    require_combinations((policy,))
    require_no_memory_on_self(game, blueprint_within(policy), seed)
    rng = np.random.default_rng(seed)
    seats = range(game.num_players)
    worlds = game.deal(rng, games)
    memories = [started(policy, worlds.view(p)) for p in seats]
    twins = [[Twins(game, worlds.select(np.array([b])), p) for p in seats] for b in range(games)]
    with naming_changes(policy):
        _play_on(game, policy, worlds, memories, twins, rng)
    if lacks_probabilities(policy):
        _logger.warning(
            "%r keeps its contract, but is stochastic and does not give its probabilities, so "
            "upgrade refuses it where beliefs are exact: override "
            "probabilities(view, legal, memory), which gives [B, A]",
            policy,
        )


@naming_failures
def check_agent(
    game: Game,
    agent: AnyPolicy,
    *,
    seed: int = 0,
    games: int = 1,
    partner: AnyBlueprint | None = None,
) -> None:
    """Check that ``agent`` decides by what its seat has seen, its stream and nothing else.

    Beside each game runs a twin: the same history for the agent's seat, other hidden information.
    In both, alone and in a batch, and again when the game has gone on, the agent makes the same
    decision from the same stream. The others play ``partner``, one policy or one a seat: by default
    a SearchAgent's blueprint, else uniform random legal moves. Names stand for policies.
    ``RANDOM_MOVES`` of all moves, the agent's own included, are replaced by random ones, so that
    histories hold what no policy here would do.
    """
    require_game(game, agent, call="check_agent(game, agent)")
    agent = policy_of(agent, game)
    _require_calls(agent)
    if isinstance(agent, SearchAgent):
        agent = agent.without_warnings()
    rng = np.random.default_rng(seed)
    if partner is None:
        partner = agent.blueprint if isinstance(agent, SearchAgent) else UniformPolicy()
    others = blueprint_of(partner, game)
    require_no_memory_on_self(game, (*blueprint_within(agent), *others), seed)
    for seat in list(range(game.num_players)) * games:
        worlds = game.deal(rng, 1)
        twins = Twins(game, worlds, seat)
        twin = twins.draw(worlds, rng)
        memory, beside = (started(agent, w.view(seat)) for w in (worlds, twin))
        memories = [started(policy, worlds.view(p)) for p, policy in enumerate(others)]
        while not worlds.terminal[0]:
            mover, stream = int(worlds.current_player[0]), Streams.spawn(rng, 1)
            if mover == seat:
                fresh = twins.draw(worlds, rng).view(seat)
                view = worlds.view(seat).select(ONE)
                require(
                    seen_in(fresh) == seen_in(view),
                    f"{game!r}: the view of seat {seat} changes with what it cannot see",
                )
                action = _check_decision(agent, view, memory, stream)
                for reason, at, held in (
                    ("of what it cannot see (in this position)", fresh, memory),
                    ("of what it cannot see (in this game)", twin.view(seat), beside),
                ):
                    same = acted(agent, at, at.legal, held, stream.select(ONE))
                    require(
                        np.array_equal(action, same),
                        f"{name_of(agent)} moves {action[0]} or {same[0]} because {reason}",
                    )
            else:
                view = worlds.view(mover)
                action = others[mover].act(view, view.legal, memories[mover], stream)
            then, played = view, action
            if rng.random() < RANDOM_MOVES:
                played = random_legal(worlds.legal, rng)
            follows = bool(twin.legal[0, played[0]]) and twin.current_player[0] == mover
            event = worlds.step(played)
            for p, policy in enumerate(others):
                memories[p] = observed(policy, worlds.view(p), event.seen_by(p, game), memories[p])
            seen, view = event.seen_by(seat, game), worlds.view(seat).select(ONE)
            twins.update(seen, view)
            if follows:
                twin.step(played)
                follows = seen_in(twin.view(seat)) == seen_in(view)
            before, held = memory, snapshot(memory)
            memory = observed(agent, view, seen, memory)
            require(
                same_memory(before, held),
                f"{name_of(agent)}: observe changed the memory it was given",
            )
            if mover == seat:
                same = acted(agent, then, then.legal, before, stream.select(ONE))
                require(
                    np.array_equal(action, same),
                    f"{name_of(agent)}: observe changed the memory it was given",
                )
            if follows:
                beside = observed(agent, twin.view(seat).select(ONE), seen, beside)
            else:
                twin, beside = twins.draw(worlds, rng), memory


def _play_on(
    game: Game,
    policy: Policy,
    worlds: Worlds,
    memories: list[Memory],
    twins: list[list[Twins]],
    rng: np.random.Generator,
) -> None:
    """Games to their ends, every decision and every memory checked."""
    seats = range(game.num_players)
    while len(worlds):
        actions = random_legal(worlds.legal, rng)
        for p in seats:
            rows = np.flatnonzero(worlds.current_player == p)
            if len(rows):
                at = worlds.select(rows)
                others = [twins[b][p].draw(worlds.select(np.array([b])), rng) for b in rows]
                chosen = _check_act(policy, game, at, take(memories[p], rows), p, others, rng)
                actions[rows] = np.where(rng.random(len(rows)) < 0.5, chosen, actions[rows])
        event = worlds.step(actions)
        for p in seats:
            seen = event.seen_by(p, game)
            memories[p] = _check_observe(policy, worlds.view(p), seen, memories[p])
            for b in range(len(worlds)):
                i = np.array([b])
                twins[b][p].update(seen.select(i), worlds.view(p).select(i))
        on = np.flatnonzero(~worlds.terminal)
        worlds, memories = worlds.select(on), [take(memory, on) for memory in memories]
        twins = [twins[b] for b in on]


def _require_calls(policy: Policy) -> None:
    for method in METHOD_ARGUMENTS:
        require_call(policy, method, f"{name_of(policy)}.{method}")


def _check_act(
    policy: Policy,
    game: Game,
    worlds: Worlds,
    memory: Memory,
    player: int,
    twins: list[Worlds],
    rng: np.random.Generator,
) -> IntArray:
    """The policy's moves in worlds where ``player`` is to move, checked."""
    name = f"{name_of(policy)} at seat {player}"
    view, streams = worlds.view(player), Streams.spawn(rng, len(worlds))
    everything, legal, before = np.arange(len(view)), view.legal, snapshot(memory)
    actions = acted(policy, view, legal, memory, streams.select(everything))
    require(same_memory(memory, before), f"{name}: act changed the memory")
    again = acted(policy, view, legal, memory, streams.select(everything))
    require(
        np.array_equal(actions, again),
        f"{name}: the same stream gives another move: draw from rng alone, or return logits or "
        "probabilities, of which from_callable draws",
    )
    if policy.deterministic:
        again = acted(policy, view, legal, memory, Streams.spawn(rng, len(view)))
        require(
            np.array_equal(actions, again), f"{name}: declared deterministic, moves by its stream"
        )
    for b, twin in enumerate(twins):
        i = np.array([b])
        for reason, at in (
            ("alone than in a batch", view.select(i)),
            ("when what it cannot see is different", twin.view(player)),
        ):
            alone = acted(policy, at, legal[i], take(memory, i), streams.select(i))
            require(alone[0] == actions[b], f"{name}: it moves another way {reason}")
    try:
        chance = np.asarray(policy.probabilities(view, legal, memory))
    except UnsupportedError:
        return actions  # a stochastic policy that cannot say
    require(
        chance.shape == legal.shape
        and chance.dtype.kind in "fiub"
        and bool((chance >= 0).all() and (chance[~legal] == 0).all())
        and bool((abs(chance.sum(axis=1) - 1) < 1e-6).all()),
        f"{name}: probabilities must be [B, A], sum to 1 and give illegal moves none",
    )
    if policy.deterministic:
        require(
            bool((chance[everything, actions] == 1).all()),
            f"{name}: the probabilities of a deterministic policy must be 1 for what it plays",
        )
    else:
        rows = np.zeros(FREQUENCY_SAMPLES, dtype=np.int64)
        many, held = view.select(rows), take(memory, rows)
        drawn = acted(policy, many, legal[rows], held, Streams.spawn(rng, len(rows)))
        often = np.bincount(drawn, minlength=game.num_actions) / len(rows)
        require_frequencies(often, chance[0], len(rows), f"{name}: act and probabilities differ")
    return actions


def _check_observe(policy: Policy, view: View, event: Event, memory: Memory) -> Memory:
    """The memory after an event, checked against its rows observed alone."""
    name, before = f"{name_of(policy)} at seat {view.player}", snapshot(memory)
    after = observed(policy, view, event, memory)
    require(same_memory(memory, before), f"{name}: observe changed the old memory")
    for b in range(len(view)):
        i = np.array([b])
        alone = observed(policy, view.select(i), event.select(i), take(memory, i))
        require(
            same_memory(alone, take(after, i)),
            f"{name}: it remembers another thing alone than in a batch",
        )
    return after


def _check_decision(agent: Policy, view: View, memory: Memory, stream: Streams) -> IntArray:
    """The agent's move [1], the same when asked again and in a batch of two."""
    twice = np.array([0, 0])
    name = name_of(agent)
    action = acted(agent, view, view.legal, memory, stream.select(ONE))
    again = acted(agent, view, view.legal, memory, stream.select(ONE))
    require(np.array_equal(action, again), f"{name}: the same stream gives another decision")
    other = Streams(stream.state + np.uint64(1))
    both = acted(
        agent,
        view.select(twice),
        view.legal[twice],
        take(memory, twice),
        Streams(np.concatenate([stream.state, other.state])),
    )
    alone = acted(agent, view, view.legal, memory, other)
    require(
        np.array_equal(both, np.concatenate([action, alone])),
        f"{name}: it decides another way alone than in a batch",
    )
    return action


class Twins:
    """Worlds with other hidden information behind the same history of one seat."""

    def __init__(self, game: Game, worlds: Worlds, seat: int) -> None:
        self.game, self.seat = game, seat
        self.belief: Belief | None = None
        if not isinstance(game, Redeterminizes):
            anything = as_blueprint(UniformPolicy(), game.num_players)
            view = worlds.view(seat).select(ONE)
            if isinstance(game, Enumerable | DealsTokens):
                self.belief = private_belief(game, anything, view)
            else:
                rng = np.random.default_rng(0)
                self.belief = ParticleBelief.start(
                    game, anything, view, particles=TWIN_PARTICLES, rng=rng
                )

    def update(self, event: Event, view: View) -> None:
        if self.belief is not None:
            self.belief = self.belief.update(event, view)

    def draw(self, worlds: Worlds, rng: np.random.Generator) -> Worlds:
        """One world; one that others would tell from ``worlds`` (a batch of one) where found."""
        truth = joint(worlds)
        for _ in range(TWIN_TRIES):
            if self.belief is not None:
                twin, _ = self.belief.sample(rng, 1)
            else:
                assert isinstance(self.game, Redeterminizes)
                twin = self.game.redeterminize(worlds, self.seat, Streams.spawn(rng, 1))
            if joint(twin) != truth:
                break
        return twin
