"""``check_belief``: against the truth, against samples, and against Bayes' rule done by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

import numpy as np

from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.core.belief import Belief, ExplicitBelief
from hanabi_search_plugin.core.capabilities import Enumerable
from hanabi_search_plugin.core.game import Event, FloatArray, Game, View, Worlds, require_game
from hanabi_search_plugin.core.policy import Blueprint, Memory, moves_of, probabilities_of, take
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.registry import AnyBlueprint, blueprint_of
from hanabi_search_plugin.testing.check_tools import (
    FREQUENCY_SAMPLES,
    ONE,
    TOLERANCE,
    close_to,
    joint,
    observed,
    random_legal,
    require,
    require_frequencies,
    seen_in,
    started,
)
from hanabi_search_plugin.testing.failures import naming_failures
from hanabi_search_plugin.testing.memory_checks import require_no_memory_on_self

MEMORY_SAMPLES = 20  # sampled worlds whose memories are compared


@naming_failures
def check_belief(
    game: Game,
    blueprint: AnyBlueprint,
    *,
    seed: int = 0,
    games: int = 2,
    epsilon: float = 0.0,
    uncertainty: float = 0.0,
) -> None:
    """Check the exact private belief of every seat, the others playing ``blueprint``.

    That is one policy or one a seat; names stand for policies. With the probability ``epsilon`` or
    ``uncertainty`` that the belief is told (one of the two, see ``beliefs.exact.private_belief``)
    they move at random instead.

    The true world is always possible, weights sum to 1, samples have the right frequencies and show
    what the seat sees, and an update leaves the old belief alone. On Enumerable games, the weights
    equal Bayes' rule, worked out here world by world. The seat itself moves at random.
    """
    require_game(game, blueprint, call="check_belief(game, blueprint)")
    policies = blueprint_of(blueprint, game)
    require_no_memory_on_self(game, policies, seed)
    rng = np.random.default_rng(seed)
    for seat in list(range(game.num_players)) * games:
        worlds = game.deal(rng, 1)
        view = worlds.view(seat).select(ONE)
        belief = private_belief(game, policies, view, epsilon=epsilon, uncertainty=uncertainty)
        memories = [started(policy, worlds.view(p)) for p, policy in enumerate(policies)]
        bayes = None
        if isinstance(game, Enumerable):
            bayes = Bayes(game, policies, view, epsilon, uncertainty)
        while True:
            _check_support(belief, worlds, bayes, rng)
            if worlds.terminal[0]:
                break
            mover = int(worlds.current_player[0])
            action = random_legal(worlds.legal, rng)
            if mover != seat and rng.random() >= epsilon + uncertainty:
                at = worlds.view(mover)
                action = moves_of(policies[mover], at, memories[mover], Streams.spawn(rng, 1))
            event = worlds.step(action)
            for p, policy in enumerate(policies):
                memories[p] = observed(policy, worlds.view(p), event.seen_by(p, game), memories[p])
            seen, view = event.seen_by(seat, game), worlds.view(seat).select(ONE)
            before = distribution(belief)
            after = belief.update(seen, view)
            require(close_to(before, distribution(belief)), "an update changed the old belief")
            belief = after
            if bayes is not None:
                bayes.update(seen, view)


def _check_support(
    belief: Belief, truth: Worlds, bayes: Bayes | None, rng: np.random.Generator
) -> None:
    seat, true_key = belief.seat, joint(truth)[0]
    require(belief.recovered == 0, "a belief had to recover though all played the blueprint")
    weights = distribution(belief)
    if isinstance(belief, ExplicitBelief):
        total = sum(weights.values())
        require(abs(total - 1) < TOLERANCE, f"a belief's weights must sum to 1, got {total}")
        require(weights.get(true_key, 0) > 0, "a belief rules out the true world")
        require(belief.size >= len(weights), "a belief's size must not be below its support")
    if bayes is not None:
        exact = bayes.distribution()
        require(
            not isinstance(belief, ExplicitBelief) or close_to(weights, exact),
            f"a belief differs from Bayes' rule: {counted(len(weights), 'world')}, "
            f"exactly {len(exact)}",
        )
        weights = exact
    worlds, memories = belief.sample(rng, FREQUENCY_SAMPLES)
    see, seen = seen_in(truth.view(seat))[0], seen_in(worlds.view(seat))
    require(
        all(key == see for key in seen),
        "a belief samples worlds in which its seat sees something else",
    )
    keys = joint(worlds)
    if weights:
        names = list(weights | dict.fromkeys(keys, 0.0))
        index = {key: i for i, key in enumerate(names)}
        often = np.bincount([index[key] for key in keys], minlength=len(names)) / len(keys)
        chance = np.array([weights.get(key, 0.0) for key in names])
        require_frequencies(often, chance, len(keys), "a belief's samples differ from its weights")
    if bayes is not None:
        _check_memories(belief, bayes, worlds, memories, keys)


def _check_memories(
    belief: Belief,
    bayes: Bayes,
    worlds: Worlds,
    memories: tuple[Memory, ...],
    keys: list[tuple[Hashable, ...]],
) -> None:
    """Some of the sampled ``worlds``: who is to move there moves as in a case of Bayes' rule.

    Whose turn it is may differ from world to world.
    """
    movers = worlds.current_player[:MEMORY_SAMPLES]
    for mover in sorted(set(movers[movers >= 0].tolist())):
        rows = np.flatnonzero(movers == mover)
        view = worlds.view(mover).select(rows)
        policy, held = belief.blueprint[mover], take(memories[mover], rows)
        for row, chance in zip(rows, probabilities_of(policy, view, held), strict=True):
            require(
                any(np.allclose(chance, right) for right in bayes.next_moves(mover, keys[row])),
                f"a belief samples wrong memories for seat {mover}",
            )


class Bayes:
    """Bayes' rule as the book has it: one world at a time, nothing shared with any belief."""

    def __init__(
        self,
        game: Enumerable,
        blueprint: Blueprint,
        view: View,
        epsilon: float,
        uncertainty: float,
    ) -> None:
        self.game, self.blueprint = game, blueprint
        self.epsilon, self.uncertainty = epsilon, uncertainty
        worlds, chance = game.deals()
        keys, see = seen_in(worlds.view(view.player)), seen_in(view)[0]
        self.cases: list[tuple[Worlds, float, list[Memory]]] = []
        for b in (b for b, key in enumerate(keys) if key == see):
            world = worlds.select(np.array([b]))
            memories = [policy.start(world.view(p)) for p, policy in enumerate(blueprint)]
            self.cases.append((world, float(chance[b]), memories))

    def update(self, event: Event, view: View) -> None:
        actor, action, seat = int(event.player[0]), int(event.action[0]), view.player
        see, cases = seen_in(view)[0], []
        for world, weight, memories in self.cases:
            if world.current_player[0] != actor:
                continue
            for move in np.flatnonzero(world.legal[0]) if action < 0 else [action]:
                if not world.legal[0, move]:
                    continue
                evidence = 1.0 if actor == seat else self._chance(world, memories, actor)[move]
                if evidence == 0:
                    continue
                played = np.array([move])
                children, _, chance = self.game.branch(world, played)
                for c in range(len(children)):
                    child = children.select(np.array([c]))
                    if seen_in(child.view(seat))[0] != see:
                        continue
                    grown = [
                        policy.observe(
                            child.view(p),
                            Event(event.player, played).seen_by(p, self.game),
                            memories[p],
                        )
                        for p, policy in enumerate(self.blueprint)
                    ]
                    cases.append((child, weight * float(evidence) * float(chance[c]), grown))
        self.cases = cases

    def distribution(self) -> dict[tuple[Hashable, ...], float]:
        out: dict[tuple[Hashable, ...], float] = defaultdict(float)
        total = sum(weight for _, weight, _ in self.cases)
        for world, weight, _ in self.cases:
            out[joint(world)[0]] += weight / total
        return dict(out)

    def next_moves(self, mover: int, key: tuple[Hashable, ...]) -> list[FloatArray]:
        """The mover's probabilities in every case with this key."""
        out = []
        for world, _, memories in self.cases:
            if joint(world)[0] == key:
                view = world.view(mover)
                policy = self.blueprint[mover]
                out.append(probabilities_of(policy, view, memories[mover])[0])
        return out

    def _chance(self, world: Worlds, memories: list[Memory], actor: int) -> FloatArray:
        view = world.view(actor)
        chance = probabilities_of(self.blueprint[actor], view, memories[actor])[0]
        uniform = view.legal[0] / view.legal[0].sum()
        mixed = (1 - self.epsilon) * chance + self.epsilon * uniform
        return np.asarray(mixed + self.uncertainty * (1 - mixed), dtype=np.float64)


def distribution(belief: Belief) -> dict[tuple[Hashable, ...], float]:
    """Probability of what all seats together see; empty for a belief without a list."""
    out: dict[tuple[Hashable, ...], float] = defaultdict(float)
    if isinstance(belief, ExplicitBelief):
        worlds, weights = belief.support()
        for key, weight in zip(joint(worlds), weights.tolist(), strict=True):
            out[key] += weight
    return dict(out)
