"""Single-agent SPARTA on games it knows nothing of."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.algorithms.tally import Tally, expected_improvement
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.policy import Policy, UniformPolicy
from hanabi_search_plugin.core.rollout import rollout, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.testing import check_agent
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

TINY = OpenSpielGame("tiny_hanabi")
PAYOFF = np.array(
    [float(x) for x in TINY.spiel.get_parameters()["payoff"].split(";")]
).reshape(2, 2, 3, 3)  # fmt: skip


class Table(Policy):
    """tiny_hanabi: seat 0 always says 1; seat 1 answers by ``answers[own card * 3 + heard]``."""

    answers = (1, 0, 0, 0, 0, 1)

    def act(self, view, legal, memory, rng):
        moves = []
        for key in list(view.keys()):
            own, *heard = [int(word[-1]) for word in key.split()]
            moves.append(self.answers[own * 3 + heard[0]] if heard else 1)
        return np.array(moves, dtype=np.int64)


def tiny_belief(card, **options):
    view = TINY.deal_scripts([(card, 0)]).view(0)
    return EnumeratedBelief.start(TINY, (Table(), Table()), view, **options)


def one_ply(card):
    """The exact mean of each move of seat 0, seat 1 following the table."""
    answers = np.array(Table.answers).reshape(2, 3)
    means = [[PAYOFF[card, d, a, answers[d, a]] for d in range(2)] for a in range(3)]
    return np.mean(means, axis=1)


@pytest.mark.parametrize("pruning", ["expected", "paired", "independent", "off"])
@pytest.mark.parametrize("card", [0, 1])
def test_picks_the_exact_one_ply_improvement(pruning, card):
    exact = one_ply(card)
    result = Sparta(rollouts=3_000, pruning=pruning)(np.random.default_rng(0), tiny_belief(card))
    assert result.action == exact.argmax() != result.blueprint_action == 1
    assert result.reason == "improved"
    assert (abs(result.mean - exact) <= 5 * result.stderr + 1e-9).all()
    gain = exact.max() - exact[1]
    assert abs(result.gain - gain) <= 5 * result.gain_stderr + 1e-9
    assert result.belief_size == 2


def test_keeps_a_blueprint_that_is_best():
    class Good(Table):
        answers = (1, 1, 1, 1, 1, 1)  # with 1 said by seat 0, always 8

    view = TINY.deal_scripts([(0, 0)]).view(0)
    belief = EnumeratedBelief.start(TINY, (Good(), Good()), view)
    result = Sparta(rollouts=600)(np.random.default_rng(0), belief)
    assert (result.action, result.reason, result.gain) == (1, "blueprint_best", 0.0)


def test_deviates_only_above_the_threshold():
    gain = one_ply(0).max() - one_ply(0)[1]
    rng = np.random.default_rng(0)
    low = Sparta(rollouts=6_000, threshold=gain - 0.5)(rng, tiny_belief(0))
    high = Sparta(rollouts=6_000, threshold=gain + 0.5)(rng, tiny_belief(0))
    assert low.reason == "improved"
    assert (high.reason, high.action) == ("below_threshold", 1)


def test_searching_earns_what_it_promises():
    """tiny_hanabi: 4 by the table, 5 with seat 0 searching."""
    totals = []
    deals = TINY.deal_scripts([(d0, d1) for d0 in range(2) for d1 in range(2)])
    agent = upgrade(Table(), TINY, search=Sparta(rollouts=600))
    for first in (Table(), agent):
        blueprint = (first, Table())
        rng = Streams(np.arange(4, dtype=np.uint64))
        ended = rollout(deals, blueprint, start_memories(deals, blueprint), rng)
        totals.append(ended.returns[:, 0].mean())
    assert totals == [4.0, 5.0]


@pytest.mark.parametrize(
    ("name", "games", "rollouts", "expected"),
    [
        ("tiny_bridge_2p", 100, 420, 3.0),
        ("hanabi(players=2,colors=2,ranks=2,hand_size=2)", 16, 160, 0.3),
        ("hanabi(players=2,colors=3,ranks=3,hand_size=2)", 4, 160, 1.0),
    ],
)
def test_improves_on_the_blueprint(name, games, rollouts, expected):
    """On the same deals, with one seat searching over a uniform blueprint."""
    game = OpenSpielGame(name)
    search = Sparta(rollouts=rollouts, min_rollouts=10, round_size=10, errors=0.0)
    agent = upgrade(UniformPolicy(), game, search=search)
    deals, means = game.deal(np.random.default_rng(0), games), []
    for first, copies in ((UniformPolicy(), 5), (agent, 1)):
        worlds = deals.select(np.tile(np.arange(games), copies))
        blueprint = (first, UniformPolicy())
        rng = Streams.spawn(np.random.default_rng(1), len(worlds))
        ended = rollout(worlds, blueprint, start_memories(worlds, blueprint), rng)
        means.append(ended.returns[:, 0].mean())
    assert means[1] - means[0] > expected


def test_same_seed_same_decision():
    results = [
        Sparta(rollouts=900, threads=threads)(np.random.default_rng(5), tiny_belief(1)).to_dict()
        for threads in (1, 2)
    ]
    assert results[0] == results[1]
    game = OpenSpielGame("tiny_bridge_2p")
    check_agent(game, upgrade(UniformPolicy(), game, search=Sparta(rollouts=70)))


def test_the_budget_is_shared_and_reallocated():
    def counts(**options):
        search = Sparta(rollouts=1_203, round_size=50, min_rollouts=100, **options)
        return search(np.random.default_rng(0), tiny_belief(0))

    everything = counts(pruning="off")
    assert everything.count.tolist() == [401] * 3
    assert counts(pruning="off", reallocate=False).count.tolist() == [401] * 3
    # Card 0: the means are 0, 4 and 5, and the sums of 4 never vary.
    alone = counts(threshold=0.0, deviations=30.0, pruning="independent")
    assert alone.count.tolist() == [401] * 3  # nothing can be dropped so strictly
    dropped = counts(pruning="independent", reallocate=False, deviations=3.0)
    given = counts(pruning="independent", deviations=3.0)
    assert dropped.count.max() <= 401
    assert dropped.count.min() < 401
    assert given.count.sum() <= 1_203
    assert given.count.sum() >= dropped.count.sum()
    for result in (dropped, given, everything):
        assert result.rollouts == result.count.sum()
        assert result.count.min() >= 100


class Fond(Table):
    """Plays by the table, and likes the moves as ``liked`` says."""

    liked = (3.0, -1.0, 2.0)

    def preferences(self, view, legal, memory):
        return np.tile(self.liked, (len(view), 1))


def fond_belief(policy, card=0):
    view = TINY.deal_scripts([(card, 0)]).view(0)
    return EnumeratedBelief.start(TINY, (policy, Table()), view)


def test_candidates_are_what_the_blueprint_likes_and_its_own_move():
    search = Sparta(rollouts=1_200, candidates=2, pruning="off", threshold=0.0)
    result = search(np.random.default_rng(0), fond_belief(Fond()))
    assert result.blueprint_action == 1
    assert result.count.tolist() == [600, 600, 0]  # what is not tried costs nothing
    assert np.isnan(result.mean).tolist() == [False, False, True]
    assert (result.action, result.reason) == (1, "blueprint_best")  # 4, and 0 for the other
    enough = Sparta(rollouts=1_200, candidates=3)(np.random.default_rng(0), fond_belief(Fond()))
    usual = Sparta(rollouts=1_200)(np.random.default_rng(0), fond_belief(Fond()))
    assert enough.to_dict() == usual.to_dict()


@pytest.mark.parametrize("greedy", [False, True])
def test_candidates_of_a_function_are_its_likeliest_moves(greedy):
    policy = from_callable(
        lambda obs, mask: [[0.2, 0.7, 0.1]] * len(obs), returns="probabilities", greedy=greedy
    )
    search = Sparta(rollouts=60, candidates=2, pruning="off")
    for seed in range(8):  # by chance it plays the third: then that is tried, and the likeliest
        result = search(np.random.default_rng(seed), fond_belief(policy))
        own = result.blueprint_action
        assert own == 1 or not greedy
        assert np.flatnonzero(result.count).tolist() == sorted({own, 1 if own != 1 else 0})


def test_preferred_moves_are_those_that_the_blueprint_likes_enough():
    """[3, -1, 2], and the blueprint plays the second, which is always tried."""
    for preferred, tried in ((0.0, [0, 1, 2]), (2.5, [0, 1])):
        search = Sparta(rollouts=1_200, preferred=preferred, pruning="off")
        result = search(np.random.default_rng(0), fond_belief(Fond()))
        assert np.flatnonzero(result.count).tolist() == tried
        assert result.rollouts == 1_200
    alone = Sparta(rollouts=1_200, preferred=4.0)(np.random.default_rng(0), fond_belief(Fond()))
    assert (alone.action, alone.reason, alone.rollouts) == (1, "single_move", 0)
    both = Sparta(rollouts=1_200, preferred=2.5, candidates=2, pruning="off")
    assert both(np.random.default_rng(0), fond_belief(Fond())).count.tolist() == [600, 600, 0]
    with pytest.raises(ConfigError, match="preferred"):
        Sparta(preferred=-0.1)


def test_candidates_need_a_blueprint_that_ranks_moves():
    with pytest.raises(UnsupportedError, match="has no preferences"):
        Sparta(rollouts=60, candidates=2)(np.random.default_rng(0), tiny_belief(0))
    with pytest.raises(UnsupportedError, match="has no preferences"):
        Sparta(rollouts=60, preferred=0.1)(np.random.default_rng(0), tiny_belief(0))


def test_paired_pruning_needs_fewer_rollouts():
    """A move that loses by 1 in every world is dropped at once, however returns vary."""
    payoff = ";".join(
        f"{10 * d1 + a0}" for _ in "01" for d1 in (0, 1) for a0 in (0, 1) for _ in "01"
    )
    game = OpenSpielGame(f"tiny_hanabi(num_actions=2,payoff={payoff})")
    belief = EnumeratedBelief.start(
        game, (UniformPolicy(),) * 2, game.deal_scripts([(0, 0)]).view(0)
    )
    results = {
        pruning: Sparta(rollouts=4_000, pruning=pruning, min_rollouts=100, round_size=100)(
            np.random.default_rng(1), belief
        )
        for pruning in ("paired", "independent")
    }
    assert all(result.action == 1 for result in results.values())
    assert results["paired"].count.tolist() == [100, 100]
    assert results["independent"].count.min() > 300
    assert results["paired"].gain_stderr == 0.0


def gamble(*table):
    """The belief of seat 0, which plays 0: by the other's card, d1, a move a earns table[d1][a]."""
    size = len(table)
    words = [table[d1][a0] for _ in range(size) for d1 in range(size) for a0 in range(3)]
    payoff = ";".join(str(word) for word in words for _ in range(3))
    game = OpenSpielGame(f"tiny_hanabi(num_chance={size},payoff={payoff})")
    zero = from_callable(lambda obs, mask: np.zeros(len(obs), np.int64), returns="actions")
    return EnumeratedBelief.start(game, (zero, zero), game.deal_scripts([(0, 0)]).view(0))


EQUAL = ((0, 5, 10), (5, 10, 0), (10, 0, 5))  # all moves earn 5 on average
BETTER = ((0, 5, 11), (5, 10, 1), (10, 0, 6))  # the last earns 6


@pytest.mark.parametrize("rollouts", [30, 120, 480])
def test_noise_is_played_far_less_often(rollouts):
    belief = gamble(*EQUAL)
    played = {
        errors: sum(
            Sparta(rollouts=rollouts, errors=errors)(np.random.default_rng(seed), belief).action
            != 0
            for seed in range(100)
        )
        for errors in (0.0, 1.0, 3.0)
    }
    assert played[0.0] > 45
    assert played[1.0] < 0.7 * played[0.0]
    assert played[3.0] < 10


def test_a_confirmed_gain_is_not_too_high():
    """The last of three moves gains 1. It is played where it looks good, and then looks better."""
    options = {"rollouts": 130, "errors": 0.0, "threshold": 0.0, "pruning": "off"}
    few = [Sparta(**options)(np.random.default_rng(s), gamble(*BETTER)) for s in range(100)]
    assert np.mean([result.gain for result in few if result.action == 2]) > 1.15
    search = Sparta(rollouts=10_000, confirm=4_000, errors=0.0)
    results = [search(np.random.default_rng(s), gamble(*BETTER)) for s in range(20)]
    gains = np.array([result.gain for result in results])
    assert abs(gains.mean() - 1.0) < 4 * gains.std(ddof=1) / np.sqrt(20)
    assert np.mean([result.gain_stderr for result in results]) == pytest.approx(
        gains.std(), rel=0.5
    )
    assert {result.action for result in results} == {2}


def test_a_gain_that_fresh_worlds_deny_is_not_played():
    search = Sparta(rollouts=130, confirm=20, errors=0.0, pruning="off")
    results = [search(np.random.default_rng(seed), gamble(*EQUAL)) for seed in range(60)]
    tried = [result for result in results if "fresh worlds" in result.note]
    denied = [result for result in tried if result.action == 0]
    assert denied and len(denied) < len(tried)
    assert {(result.reason, result.gain) for result in denied} == {("below_threshold", 0.0)}
    assert {result.rollouts for result in results} == {90, 130}  # 30 a move, and twice 20


def test_what_may_still_be_gained_is_the_mean_of_what_is_above_0():
    rng = np.random.default_rng(0)
    lead, error = np.array([-1.0, 0.0, 0.5, 3.0, 2.0, -2.0]), np.array([1.0, 2.0, 0.7, 1, 0.0, 0.0])
    drawn = np.maximum(rng.normal(-lead, error, size=(400_000, 6)), 0.0).mean(axis=0)
    assert expected_improvement(lead, error) == pytest.approx(drawn, abs=0.01)
    assert expected_improvement(lead, error)[4:].tolist() == [0.0, 2.0]


def test_a_move_that_can_hardly_gain_is_dropped():
    """Of moves that are nearly equal one is played before it is clear which is better."""
    belief = gamble((0, 0, 1), (10, 10, 10), (20, 20, 20))
    rng = np.random.default_rng(0)
    eager, strict = (
        Sparta(threshold=0.0, errors=0.0, indifference=points)(rng, belief)
        for points in (0.5, 1e-9)
    )
    assert eager.count.max() == 25 < strict.count.max()
    assert strict.action == 2


def test_a_decision_ends_once_the_rest_of_the_budget_could_hardly_change_it():
    """Of two moves of equal worth, all that could be known would still gain 0.014 points."""
    belief = gamble((5, 6, 0), (6, 5, 0), (5, 5, 0))
    spent = [
        [
            Sparta(rollouts=rollouts, threshold=0.0, errors=0.0, indifference=0.012)(
                np.random.default_rng(seed), belief
            ).rollouts
            for seed in range(10)
        ]
        for rollouts in (1_000, 4_000)
    ]
    assert max(spent[0]) < 960  # the last round is of more than 40
    assert max(spent[1]) > max(spent[0])


def test_what_each_further_world_has_to_be_worth_grows_with_the_worlds(monkeypatch):
    belief = gamble((5, 6, 0), (6, 5, 0), (5, 5, 0))
    search = Sparta(rollouts=12_000, threshold=0.0, errors=0.0)
    hasty = [search(np.random.default_rng(seed), belief).rollouts for seed in range(10)]
    monkeypatch.setattr("hanabi_search_plugin.algorithms.pruning.PATIENCE", 10**9)
    patient = [search(np.random.default_rng(seed), belief).rollouts for seed in range(10)]
    assert max(hasty) < 8_000 < max(patient)


def test_the_blueprints_move_is_not_lost_to_a_budget_that_ends():
    """What is left cannot tell the moves apart, so their errors decide, as if it were played."""
    search = Sparta(rollouts=200, threshold=0.0, errors=1.0)
    belief = gamble(*EQUAL)
    results = [search(np.random.default_rng(seed), belief) for seed in range(100)]
    assert np.mean([result.action == 0 for result in results]) > 0.5


def test_errors_are_never_small_by_chance_alone():
    tally = Tally(3)
    tally.add(np.arange(3), np.array([[1.0] * 10, [0.0] * 10, [0.0, 8.0] * 5]))
    errors = tally.regularised_difference(0)[1]
    assert tally.difference(0)[1].tolist()[:2] == [0.0, 0.0]
    assert errors[0] == 0.0
    assert 0.0 < errors[1] < errors[2] < tally.difference(0)[1][2]
    flat = Tally(2)
    flat.add(np.arange(2), np.array([[1.0] * 10, [0.0] * 10]))
    assert flat.regularised_difference(0)[1].tolist() == [0.0, 0.0]


def test_states_when_the_budget_is_small(caplog, monkeypatch):
    monkeypatch.setattr("hanabi_search_plugin.algorithms.budget_warnings._warned", set())
    rng = np.random.default_rng(0)
    for _ in range(2):
        none = Sparta(rollouts=2)(rng, tiny_belief(0))
    said = (
        "2 rollouts cannot give each of 3 legal moves one, and then the blueprint's move is played"
    )
    assert caplog.text.count(said) == 1
    assert (none.reason, none.action, none.rollouts) == ("budget_too_small", 1, 0)
    assert np.isnan(none.mean).all()
    for _ in range(2):
        few = Sparta(rollouts=30, min_rollouts=37, pruning="paired")(rng, tiny_belief(0))
        assert few.count.tolist() == [10] * 3
        assert "no move was dropped" in few.note
    said = "30 rollouts cannot give each of 3 moves min_rollouts=37 (111): moves are compared by"
    assert caplog.text.count(said) == 1
    assert "raise rollouts or lower min_rollouts" in caplog.text
    assert Sparta(rollouts=30, pruning="off")(rng, tiny_belief(0)).note == ""


def test_a_single_move_needs_no_rollout():
    game = OpenSpielGame("tiny_bridge_2p")
    worlds = game.deal(np.random.default_rng(0), 1)
    belief = EnumeratedBelief.start(game, (UniformPolicy(),) * 2, worlds.view(1))
    belief = belief.update(worlds.step(np.array([6])), worlds.view(1))  # 2NT: only a pass is left
    result = Sparta()(np.random.default_rng(0), belief)
    assert (result.reason, result.rollouts, result.actions.tolist()) == ("single_move", 0, [0])


def test_seconds_end_the_search():
    search = Sparta(rollouts=10**7, seconds=0.05, pruning="off")
    result = search(np.random.default_rng(0), tiny_belief(0))
    assert 0 < result.rollouts < 10**6
    assert "0.05 seconds" in result.note


def test_says_that_the_belief_recovered():
    worlds = TINY.deal_scripts([(0, 0)])
    belief = EnumeratedBelief.start(TINY, (Table(), Table()), worlds.view(1))
    belief = belief.update(worlds.step(np.array([2])), worlds.view(1))  # the table says 1
    assert "recover once" in Sparta(rollouts=60)(np.random.default_rng(0), belief).note


@pytest.mark.parametrize(
    "bad",
    [{"rollouts": 0}, {"rollouts": 1.5}, {"rollouts": True}, {"min_rollouts": 0}, {"threads": 0},
     {"round_size": -1}, {"threshold": -0.1}, {"threshold": float("nan")}, {"deviations": -1.0},
     {"seconds": 0.0}, {"seconds": float("inf")}, {"pruning": "some"}, {"candidates": 1},
     {"errors": -1.0}, {"indifference": -1.0}, {"confirm": 1}, {"confirm": 5_000}],
)  # fmt: skip
def test_bad_parameters(bad):
    (name,) = bad
    with pytest.raises(ConfigError, match=f"^{name} must be"):
        Sparta(**bad)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Sparta().rollouts = 5


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 2**32), st.integers(1, 4))
def test_tally_equals_plain_statistics(moves, seed, rounds):
    """Means, errors and paired differences, with moves dropped between rounds."""
    rng, tally = np.random.default_rng(seed), Tally(moves)
    values = [np.zeros(0) for _ in range(moves)]
    alive = np.arange(moves)
    for _ in range(rounds):
        new = rng.integers(0, 25, size=(len(alive), 7)).astype(float)
        tally.add(alive, new)
        for m, row in zip(alive, new, strict=True):
            values[m] = np.concatenate([values[m], row])
        alive = alive[: max(1, len(alive) - 1)]
    for m in range(moves):
        n = len(values[m])
        assert tally.mean[m] == pytest.approx(values[m].mean())
        assert tally.stderr[m] == pytest.approx(values[m].std(ddof=1) / np.sqrt(n))
        mean, error = tally.difference(m)
        for k in range(moves):
            both = min(n, len(values[k]))
            lead = values[m][:both] - values[k][:both]
            assert mean[k] == pytest.approx(lead.mean())
            assert error[k] == pytest.approx(lead.std(ddof=1) / np.sqrt(both), abs=1e-9)
