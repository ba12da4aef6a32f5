"""Exact endgames: against brute force in small games, compiled and plain, and their budget."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, Learned, Particles, SmartBot, Sparta, load_policy
from hanabi_search_plugin.algorithms.endgame import (
    ESTIMATE_SLACK,
    exact_values,
    plain_solution,
    solve,
)
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.core.belief import Belief, ExplicitBelief
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, Game, IntArray, View, Worlds
from hanabi_search_plugin.core.objective import Objective
from hanabi_search_plugin.core.policy import (
    Blueprint,
    Memory,
    Policy,
    UniformPolicy,
    as_blueprint,
    sample_actions,
    take,
)
from hanabi_search_plugin.core.rollout import observe_all
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import play_game
from hanabi_search_plugin.hanabi.engine.config import Bomb
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT
from hanabi_search_plugin.testing import check_game, check_search
from hanabi_search_plugin.testing.search_checks import Ladder
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.helpers.ecosystems import by_play_game
from tests.helpers.hanabi_bayes import Hashed
from tests.helpers.twins import check_decisions

ONE_COLOR = HanabiGame(
    players=2, colors=1, ranks=3, hand_size=2, information_tokens=2, life_tokens=2
)
TWO_COLORS = HanabiGame(
    players=2, colors=2, ranks=2, hand_size=2, information_tokens=2, life_tokens=2
)
THREE_PLAYERS = HanabiGame(
    players=3, colors=2, ranks=2, hand_size=2, information_tokens=3, life_tokens=1
)
DECKS = np.array(sorted(set(itertools.permutations([0, 0, 0, 1, 1, 2]))))  # all as likely
MUCH = 1_000_000


def positions(
    game: Game, blueprint: Blueprint, seed: int, *, last: int | None = None
) -> Iterator[Belief]:
    """The mover's belief at each turn of a game in which some moves are made at random.

    ``last``: only of those turns of Hanabi with so many cards in the deck at most.
    """
    rng = np.random.default_rng(seed)
    worlds = game.deal(rng, 1)
    beliefs = [private_belief(game, blueprint, worlds.view(p)) for p in range(game.num_players)]
    while not worlds.terminal[0]:
        belief = beliefs[int(worlds.current_player[0])]
        if last is None or (isinstance(worlds, HanabiWorlds) and undealt(worlds) <= last):
            yield belief
        legal, policy = belief.view.legal, blueprint[belief.seat]
        action = policy.act(belief.view, legal, belief.memory, Streams.spawn(rng, 1))
        if rng.random() < 0.3:
            action = np.array([rng.choice(np.flatnonzero(legal[0]))])
        event = worlds.step(action)
        if not worlds.terminal[0]:
            beliefs = [
                each.update(event.seen_by(p, game), worlds.view(p))
                for p, each in enumerate(beliefs)
            ]


def undealt(worlds: HanabiWorlds) -> int:
    return worlds.game.config.deck_size - int(worlds.rows[0, DECK_NEXT])


def support_of(belief: Belief) -> tuple[Worlds, FloatArray, tuple[Memory, ...]]:
    assert isinstance(belief, ExplicitBelief)
    return *belief.support(), belief.support_memories()


def base_of(belief: Belief) -> int:
    return int(np.flatnonzero(belief.view.legal[0])[0])


def plain(belief: Belief, budget: int = MUCH, objective: Objective = "score") -> Any:
    return plain_solution(*support_of(belief), belief.blueprint, belief.seat, budget, objective)


def compiled(
    belief: Belief,
    budget: int = MUCH,
    *,
    every: bool = True,
    base: int = -1,
    objective: Objective = "score",
) -> Any:
    """By the game's own code."""
    game = belief.game
    assert isinstance(game, HanabiGame)
    return game.compiled_solution(
        *support_of(belief), belief.blueprint, belief.seat, budget,
        base=base_of(belief) if base < 0 else base, every=every, objective=objective,
    )  # fmt: skip


# --------------------------------------------------------------------- brute force, order by order


class Case:
    """One complete world with its deck in order, played move by move."""

    def __init__(self, world: Worlds, weight: float, memories: tuple[Memory, ...]) -> None:
        self.world, self.weight, self.memories = world, weight, memories
        self.sight: list[Hashable] = []  # what the seat has seen since its last move

    def after(self, blueprint: Blueprint, action: int, seat: int) -> Case:
        world, game = self.world.select(np.array([0])), self.world.game
        event = world.step(np.array([action]))
        memories = self.memories
        if not world.terminal[0]:
            memories = observe_all(world, event.player, event.action, blueprint, memories)
        case = Case(world, self.weight, memories)
        seen = event.seen_by(seat, game)
        shown = (int(seen.player[0]), int(seen.action[0]), world.view(seat).keys()[0])
        case.sight = [*self.sight, shown]
        return case


def brute_force(belief: Belief) -> list[float]:
    """The value of each move: whole decks, one at a time, and the best move of each history."""
    worlds, weights, memories = support_of(belief)
    assert isinstance(worlds, HanabiWorlds)
    cases = []
    for b, weight in enumerate(weights.tolist()):
        rest = worlds.game.deck_start + int(worlds.rows[b, DECK_NEXT])
        orders = list(itertools.permutations(worlds.rows[b, rest:].tolist()))
        for order in orders:  # equal ones, too
            world = worlds.select(np.array([b]))
            world.rows[0, rest:] = order
            mine = tuple(take(memory, np.array([b])) for memory in memories)
            cases.append(Case(world, weight / len(orders), mine))
    return [value for _, value in _values(cases, belief.blueprint, belief.seat)]


def _values(cases: list[Case], blueprint: Blueprint, seat: int) -> list[tuple[int, float]]:
    found = []
    for action in np.flatnonzero(cases[0].world.legal[0]).tolist():
        total, states = 0.0, defaultdict(list)
        for case in cases:
            fresh = Case(case.world, case.weight, case.memories)
            open_cases = [fresh.after(blueprint, action, seat)]
            while open_cases:
                one = open_cases.pop()
                if one.world.terminal[0]:
                    total += one.weight * float(one.world.returns[0, seat])
                elif int(one.world.current_player[0]) == seat:
                    states[tuple(one.sight)].append(one)
                else:
                    open_cases += _moved(one, blueprint, seat)
        for alike in states.values():
            total += max(value for _, value in _values(alike, blueprint, seat))
        found.append((action, total))
    return found


def _moved(case: Case, blueprint: Blueprint, seat: int) -> list[Case]:
    """What the player to move, not the seat, may do."""
    mover = int(case.world.current_player[0])
    view = case.world.view(mover)
    chance = blueprint[mover].probabilities(view, view.legal, case.memories[mover])[0]
    after = []
    for action in np.flatnonzero(chance).tolist():
        one = case.after(blueprint, action, seat)
        one.weight *= float(chance[action])
        after.append(one)
    return after


@pytest.mark.parametrize(
    ("policy", "seeds"),
    [
        (SmartBot(), 4),
        (Hashed(deterministic=True, remembers=True), 3),
        (Hashed(deterministic=False, remembers=False), 1),
    ],
    ids=["smartbot", "remembers", "stochastic"],
)
def test_values_are_those_of_brute_force(policy: Policy, seeds: int) -> None:
    blueprint, solved = as_blueprint(policy, 2), 0
    for seed in range(seeds):
        for belief in positions(ONE_COLOR, blueprint, seed, last=2 if policy.deterministic else 1):
            expected = brute_force(belief)
            np.testing.assert_allclose(plain(belief).values, expected, atol=1e-9)
            if isinstance(policy, SmartBot):
                np.testing.assert_allclose(compiled(belief).values, expected, atol=1e-9)
            solved += 1
    assert solved >= 3


@pytest.mark.parametrize("seat", [0, 1])
def test_an_agent_earns_what_was_promised(seat: int) -> None:
    """Played on every deck, from the first move on."""
    blueprint = as_blueprint(SmartBot(), 2)
    agent = upgrade(blueprint, ONE_COLOR, Sparta(rollouts=100, endgame=MUCH))
    policies = tuple(agent if p == seat else SmartBot() for p in range(2))
    scores, promised = [], []
    for deck in DECKS:
        worlds = ONE_COLOR.from_decks(deck[None])
        turns = list(play_game(worlds, policies, Streams(np.zeros(1, dtype=np.uint64)), (0,)))
        results = [turn.result for turn in turns if turn.result is not None]
        assert all(r.exact or r.reason == "single_move" for r in results)
        scores.append(worlds.returns[0, 0])
        promised.append(np.nanmax(results[0].mean))
    assert abs(np.mean(scores) - np.mean(promised)) < 1e-9
    assert np.mean(scores) > np.mean([_alone(deck) for deck in DECKS])


def _alone(deck: IntArray) -> float:
    worlds = ONE_COLOR.from_decks(deck[None])
    for _ in play_game(worlds, (SmartBot(),) * 2, Streams(np.zeros(1, dtype=np.uint64)), (0,)):
        pass
    return float(worlds.returns[0, 0])


class Telling(Policy):
    """Of the game Ladder: the number that player 0 sees, more often than other moves."""

    deterministic = False

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        number = view.observation("observation")[:, 0].astype(np.int64)
        liked = np.ones(legal.shape)
        told = number >= 0
        liked[told, number[told]] += 2.0
        liked = np.where(legal, liked, 0.0)
        return np.asarray(liked / liked.sum(axis=1, keepdims=True))

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        return sample_actions(self.probabilities(view, legal, memory), rng)


def test_no_policy_earns_more_in_another_game() -> None:
    """Ladder, every policy that player 1 may follow: two moves, the second after three more."""
    game, policy = Ladder(), Telling()
    belief = list(itertools.islice(positions(game, as_blueprint(policy, 2), 0), 2))[1]
    assert isinstance(belief, EnumeratedBelief)
    assert belief.seat == 1
    values = []
    for first in range(2):
        returns = np.zeros((3, 4))  # [what player 0 answers, the second move], times chances
        for number, heard, second, last in itertools.product(
            range(2), range(3), range(4), range(5)
        ):
            states = [(number, ())]
            for move in (0, first, heard, second, last):
                states.append((number, (*states[-1][1], move)))
            chance = 0.5
            for at, move in ((2, heard), (4, last)):
                allowed = np.arange(at + 1)
                weights = 1.0 + 2.0 * (allowed == number)
                chance *= weights[move] / weights.sum()
            returns[heard, second] += chance * game.returns(states[-1])[1]
        values.append(max(
            sum(returns[heard, answer[heard]] for heard in range(3))
            for answer in itertools.product(range(4), repeat=3)
        ))  # fmt: skip
    np.testing.assert_allclose(plain(belief).values, values, atol=1e-12)
    solved = exact_values(belief, MUCH, base=0)
    assert solved is not None
    np.testing.assert_allclose(solved.values, values, atol=1e-12)


# ------------------------------------------------------------------------- compiled and plain


@pytest.mark.parametrize(
    ("game", "name", "seeds", "last"),
    [
        (TWO_COLORS, "smartbot", 4, 2),
        (THREE_PLAYERS, "smartbot", 2, 1),
        (TWO_COLORS, "piers", 2, 2),  # leaves moves to chance
        (TWO_COLORS, "random", 1, 1),
    ],
)
def test_compiled_values_are_the_plain_ones(
    game: HanabiGame, name: str, seeds: int, last: int
) -> None:
    blueprint, left_out = as_blueprint(load_policy(name, game), game.num_players), 0
    for seed in range(seeds):
        for belief in positions(game, blueprint, seed, last=last):
            values = plain(belief).values
            np.testing.assert_allclose(compiled(belief).values, values, atol=1e-9)
            part = compiled(belief, every=False).values
            known = ~np.isnan(part)
            left_out += int((~known).sum())
            np.testing.assert_allclose(part[known], values[known], atol=1e-9)
            assert np.nanmax(part) == pytest.approx(values.max())
            assert known[0]  # the base
    assert left_out > 0 or name == "random"


@pytest.mark.parametrize(
    "objective",
    [
        "perfect",
        lambda returns: returns >= 2,
        lambda returns: -returns,
        lambda returns: returns % 3,
    ],
    ids=["perfect", "at least 2", "as few as can be", "neither more nor less"],
)
@pytest.mark.parametrize("bomb", ["zero", "keep", "minus_one"])
def test_compiled_values_are_the_plain_ones_for_any_objective(
    objective: Objective, bomb: Bomb
) -> None:
    game = HanabiGame(replace(TWO_COLORS.config, bomb=bomb, life_tokens=1))
    blueprint, told = as_blueprint(load_policy("smartbot", game), 2), 0
    for belief in positions(game, blueprint, 4, last=2):
        values = plain(belief, objective=objective).values
        found = compiled(belief, objective=objective).values
        np.testing.assert_allclose(found, values, atol=1e-9)
        part = compiled(belief, every=False, objective=objective).values
        assert np.nanmax(part) == pytest.approx(values.max())
        told += int(not np.allclose(values, plain(belief).values))
    assert told > 0


def test_the_own_policy_need_not_be_compiled() -> None:
    other = Hashed(deterministic=True, remembers=True)
    for belief in positions(TWO_COLORS, (SmartBot(), other), 3, last=1):
        found = compiled(belief)
        if belief.seat == 0:  # the partner is asked in Python
            assert found is None
        else:
            np.testing.assert_allclose(found.values, plain(belief).values, atol=1e-9)


def test_other_engines_come_to_the_same() -> None:
    """OpenSpiel's Hanabi lists its chance, too."""
    small = HanabiGame(
        players=2, colors=2, ranks=2, hand_size=1, information_tokens=1, life_tokens=1
    )
    theirs = OpenSpielGame(
        "hanabi(players=2,colors=2,ranks=2,hand_size=1,max_information_tokens=1,max_life_tokens=1)"
    )
    blueprint = as_blueprint(UniformPolicy(), 2)
    rng = np.random.default_rng(5)
    deck = rng.permutation(np.repeat(np.arange(4), np.tile(small.config.copies, 2)))
    native, other = small.from_decks(deck[None]), theirs.deal_scripts([tuple(deck.tolist())])
    ours = [private_belief(small, blueprint, native.view(p)) for p in range(2)]
    yours = [private_belief(theirs, blueprint, other.view(p)) for p in range(2)]
    compared = 0
    while not native.terminal[0]:
        seat = int(native.current_player[0])
        if undealt(native) <= 1:
            np.testing.assert_allclose(
                compiled(ours[seat]).values, plain(yours[seat]).values, atol=1e-9
            )
            compared += 1
        legal = np.flatnonzero(native.legal[0])
        action = legal[[-1]] if legal[-1] >= 2 else legal[:1]  # hints and discards alone
        event = native.step(action)
        other.step(action)
        if not native.terminal[0]:
            ours = [b.update(event, native.view(p)) for p, b in enumerate(ours)]
            yours = [b.update(event, other.view(p)) for p, b in enumerate(yours)]
    assert compared > 1


@pytest.mark.parametrize("game", [ONE_COLOR, TWO_COLORS, THREE_PLAYERS, HanabiGame(players=2)])
def test_branches_are_what_a_step_may_lead_to(game: HanabiGame) -> None:
    """Draws of an identity, by its copies; the same as steps from shuffled decks."""
    rng = np.random.default_rng(0)
    worlds = game.deal(rng, 3)
    while len(worlds):
        legal = worlds.legal
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in legal])
        before = worlds.rows.copy()
        after, parent, chance = game.branch(worlds, actions)
        assert (worlds.rows == before).all()
        np.testing.assert_allclose(np.bincount(parent, weights=chance), 1.0)
        listed: dict[Hashable, float] = defaultdict(float)
        for b, key, share in zip(parent, _sights(after), chance, strict=True):
            assert (b, key) not in listed
            listed[b, key] = share
        draws = 100
        shuffled = worlds.select(np.repeat(np.arange(len(worlds)), draws))
        start = game.deck_start
        for row in shuffled.rows:
            row[start + row[DECK_NEXT] :] = rng.permutation(row[start + row[DECK_NEXT] :])
        shuffled.step(np.repeat(actions, draws))
        counts: dict[Hashable, int] = defaultdict(int)
        for n, key in enumerate(_sights(shuffled)):
            counts[n // draws, key] += 1
        for key, count in counts.items():
            assert abs(count / draws - listed[key]) < 5 * np.sqrt(listed[key] / draws)
        joined = game.concat([after, worlds])
        assert len(joined) == len(after) + len(worlds)
        worlds.step(actions)
        worlds = worlds.select(np.flatnonzero(~worlds.terminal))
    check_game(game, games=2)


def _sights(worlds: HanabiWorlds) -> list[Hashable]:
    """What all players together see."""
    views = [worlds.view(p).keys() for p in range(worlds.game.num_players)]
    return list(zip(*views, strict=True))


# ------------------------------------------------------------------------------------- decisions


def test_a_result_says_that_it_is_exact() -> None:
    blueprint, improved = as_blueprint(SmartBot(), 2), 0
    for seed in range(6):
        for belief in positions(TWO_COLORS, blueprint, seed, last=2):
            search = Sparta(rollouts=400, min_rollouts=10, pruning="off", endgame=MUCH)
            result = search(np.random.default_rng(seed), belief)
            if result.reason == "single_move":
                continue
            values = plain(belief).values
            assert result.exact
            assert result.rollouts == 0
            np.testing.assert_allclose(result.mean, values, atol=1e-9)
            best = values[result.actions == result.action][0]
            base = values[result.actions == result.blueprint_action][0]
            assert best == pytest.approx(values.max())
            assert result.gain == pytest.approx(best - base)
            assert (result.action == result.blueprint_action) == (best - base < 1e-9)
            assert "solved exactly" in result.note
            improved += result.action != result.blueprint_action
            again = Sparta(rollouts=400, endgame=MUCH)(np.random.default_rng(99), belief)
            assert again.action == result.action  # nothing is drawn, and nothing that matters left
    assert improved > 0


def test_what_exceeds_the_budget_is_searched_as_without() -> None:
    blueprint = as_blueprint(SmartBot(), 2)
    for belief in positions(TWO_COLORS, blueprint, 1, last=2):
        states, moves = compiled(belief).states, int(belief.view.legal[0].sum())
        assert compiled(belief, states).values is not None
        too_small = compiled(belief, states - 1)
        assert too_small.values is None
        assert too_small.states <= states - 1
        spent = plain(belief).states
        assert plain(belief, spent).values is not None
        assert plain(belief, spent - 1).values is None
        assert exact_values(belief, belief.size * moves - 1, base=base_of(belief)) is None
        options = {"rollouts": 200, "min_rollouts": 10}
        if moves > 1:
            with_it, without = (
                Sparta(**options, endgame=endgame)(np.random.default_rng(3), belief)
                for endgame in (belief.size * moves - 1 or None, None)
            )
            assert with_it.to_dict() == without.to_dict()
            assert not without.exact


def test_long_games_are_refused_at_once() -> None:
    """Before the worlds of the belief are listed."""
    game = HanabiGame(players=2)
    worlds = game.deal(np.random.default_rng(0), 1)
    belief = private_belief(game, as_blueprint(SmartBot(), 2), worlds.view(0))
    assert belief.size > 10**6
    assert exact_values(belief, 10**12, base=0) is None
    for belief in positions(TWO_COLORS, as_blueprint(SmartBot(), 2), 0):
        likely, moves = TWO_COLORS.likely_states(belief.view, belief.size), belief.view.legal.sum()
        assert likely >= belief.size * moves
        if exact_values(belief, 200, base=base_of(belief)) is not None:
            assert likely <= ESTIMATE_SLACK * 200


def test_beliefs_that_list_no_worlds_are_left_to_rollouts() -> None:
    game, blueprint = TWO_COLORS, as_blueprint(UniformPolicy(), 2)
    view = game.deal(np.random.default_rng(0), 1).view(0)
    for make in (Particles(8), Learned(Grounded(game))):
        belief = make(blueprint, view)
        assert exact_values(belief, 10**9, base=0) is None
        found = Sparta(rollouts=60, endgame=10**9)(np.random.default_rng(0), belief)
        assert not found.exact


def test_solve_takes_the_plain_way_for_policies_in_python() -> None:
    policy = Hashed(deterministic=True, remembers=False)
    belief = next(positions(ONE_COLOR, as_blueprint(policy, 2), 0, last=1))
    found = solve(*support_of(belief), belief.blueprint, belief.seat, MUCH, base=base_of(belief))
    assert found.values is not None
    assert (found.values == plain(belief).values).all()


def test_the_contract_of_searches_is_kept() -> None:
    check_search(ONE_COLOR, Sparta(rollouts=40, endgame=2_000), policy="smartbot")


@pytest.mark.parametrize("budget", [0, -1, 2.5])
def test_a_budget_is_a_whole_number_of_states(budget: Any) -> None:
    with pytest.raises(ConfigError, match="endgame must be"):
        Sparta(endgame=budget)


# ------------------------------------------------------------------------------------- no peeking


@pytest.mark.parametrize("game", [TWO_COLORS, THREE_PLAYERS], ids=["2", "3"])
def test_what_a_seat_cannot_see_changes_nothing(game: HanabiGame) -> None:
    agent = upgrade("smartbot", game, Sparta(rollouts=40, min_rollouts=2, endgame=300))
    exact = []

    def decide(deck: Any, moves: list[int], seat: int) -> Hashable:
        decision = by_play_game(agent, game)(deck, moves, seat)
        exact.append("'exact': True" in str(decision))
        return decision

    for seed in range(6):
        check_decisions(decide, game, seed, asked=4)
    assert any(exact)
    assert not all(exact)
