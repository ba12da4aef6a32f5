"""Functions and PyTorch modules as policies, against the same function called by hand."""

import copy
import functools
import itertools
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest

from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.core.errors import ConfigError, ContractError, UnsupportedError
from hanabi_search_plugin.core.game import Event, History
from hanabi_search_plugin.core.policy import Value, as_blueprint, join, memory_from, take
from hanabi_search_plugin.core.rollout import (
    observe_all,
    remaining_return,
    rollout,
    start_memories,
)
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.testing import check_agent, check_policy
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.helpers.hanabi_bayes import Record, hands_of

WIDTH = 6  # of the states
SMALL = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
LONG = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, life_tokens=9)
THREE = HanabiGame(players=3, colors=2, ranks=2, hand_size=2, random_start_player=True)
GAMES = {
    "hanabi": SMALL,
    "hanabi-3p": THREE,
    "tiny_hanabi": OpenSpielGame("tiny_hanabi"),
    "trade_comm": OpenSpielGame("trade_comm(num_items=2)"),
    "openspiel-hanabi": OpenSpielGame("hanabi(players=2,colors=2,ranks=2,hand_size=2)"),
}
NOTHING = np.zeros(WIDTH)


# Functions


@functools.cache
def weights(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape) / np.sqrt(shape[0])


def flat(obs):
    return obs.reshape(len(obs), -1).astype(np.float64)


def logits(obs, mask):
    x = flat(obs)
    return 3 * x @ weights(x.shape[1], mask.shape[1])


def probabilities(obs, mask):
    weight = np.exp(logits(obs, mask))
    return weight / weight.sum(axis=-1, keepdims=True)  # illegal moves have some, too


def actions(obs, mask):
    return np.where(mask, logits(obs, mask), -np.inf).argmax(axis=1)


def one_action(obs, mask):
    return int(actions(obs[None], mask[None])[0])


def remembering(obs, mask, state):
    """A plain recurrent network."""
    x = flat(obs)
    state = np.tanh(state @ weights(WIDTH, WIDTH) + x @ weights(x.shape[1], WIDTH))
    return 3 * state @ weights(WIDTH, mask.shape[1]), state


def one_remembering(obs, mask, state):
    output, state = remembering(obs[None], mask[None], state[None])
    return output[0], state[0]


def remembering_actions(obs, mask, state):
    output, state = remembering(obs, mask, state)
    return np.where(mask, output, -np.inf).argmax(axis=1), state


class Pair(NamedTuple):
    state: np.ndarray
    more: dict


def structured(obs, mask, pair):
    """A state of many parts, the batch on axis 1, in single precision."""
    assert isinstance(pair, Pair) and pair.more["none"] is None
    assert pair.state.flags.c_contiguous
    output, state = remembering(obs, mask, pair.state[0].astype(np.float64))
    return output, Pair(state[None], {"count": [pair.more["count"][0] + 1], "none": None})


EMPTY = Pair(np.zeros((1, WIDTH), np.float32), {"count": [np.zeros(1, int)], "none": None})


def rude():
    """Writes on all it gets and on what it has returned before."""
    returned = []

    def f(obs, mask, state):
        for array in returned:
            array[:] = np.nan
        output, new = remembering(obs, mask, state)
        state[:] = new
        mask[:] = False
        returned[:] = [output, state]
        return output, state

    return f


def rude_one():
    """Returns the same arrays for every world."""
    said, kept = np.zeros(0), np.zeros(WIDTH)

    def f(obs, mask, state):
        nonlocal said
        output, new = one_remembering(obs, mask, state)
        said = said if said.shape == output.shape else np.zeros_like(output)
        said[:], kept[:], state[:], mask[:] = output, new, np.nan, False
        return said, kept

    return f


class Recorder:
    """What a recurrent function was given."""

    def __init__(self):
        self.given = []

    def __call__(self, obs, mask, state):
        self.given.append((obs.copy(), mask.copy(), state.copy()))
        return remembering(obs, mask, state)


def recurrent(f=remembering, returns="logits", initial_state=NOTHING, **options):
    return from_callable(f, returns=returns, initial_state=initial_state, **options)


POLICIES = {
    "actions": from_callable(actions, returns="actions"),
    "one action": from_callable(one_action, returns="actions", batched=False),
    "logits": from_callable(logits, returns="logits", temperature=2.0),
    "greedy": from_callable(logits, returns="logits", greedy=True),
    "probabilities": from_callable(probabilities, returns="probabilities"),
    "recurrent": recurrent(),
    "recurrent, own turns": recurrent(sees="own turns"),
    "recurrent, actions": recurrent(remembering_actions, returns="actions"),
    "recurrent, one": recurrent(one_remembering, batched=False, sees="own turns"),
    "recurrent, structured": recurrent(structured, initial_state=EMPTY, state_axis=1),
    "rude": recurrent(rude()),
    "rude, one": recurrent(rude_one(), batched=False),
    "rude, own turns": recurrent(rude(), sees="own turns"),
}


def play(policy, game, rng, n=1):
    """Lists of every seat's memories and the worlds at every step, ended worlds included."""
    worlds = game.deal(rng, n)
    memories = [policy.start(worlds.view(p)) for p in range(game.num_players)]
    yield worlds, memories, None
    while len(on := np.flatnonzero(~worlds.terminal)):
        worlds, memories = worlds.select(on), [take(memory, on) for memory in memories]
        chosen = np.array([rng.choice(np.flatnonzero(row)) for row in worlds.legal])
        event = worlds.step(chosen)
        memories = [
            policy.observe(worlds.view(p), event.seen_by(p, game), memory)
            for p, memory in enumerate(memories)
        ]
        yield worlds, memories, event


def same(a, b, **tolerance):
    if a is None or isinstance(a, tuple):
        return a is b or (
            len(a) == len(b) and all(same(*pair, **tolerance) for pair in zip(a, b, strict=True))
        )
    return np.allclose(np.asarray(a), np.asarray(b), equal_nan=True, **tolerance)


def softmax(output, legal):
    weight = np.where(legal, np.exp(output), 0.0)
    return weight / weight.sum(axis=1, keepdims=True)


# The contract


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("policy", POLICIES)
def test_contract(policy, game):
    check_policy(GAMES[game], POLICIES[policy], games=1 if game == "openspiel-hanabi" else 2)


@pytest.mark.parametrize("encoding", SMALL.encodings)
def test_every_encoding_of_hanabi(encoding):
    check_policy(SMALL, from_callable(logits, returns="logits", encoding=encoding), games=1)
    shapes, view = [], THREE.deal(np.random.default_rng(0), 3).view(0)
    f = lambda obs, mask: shapes.append((obs.dtype, obs.shape)) or logits(obs, mask)  # noqa: E731
    policy = from_callable(f, returns="logits", encoding=encoding)
    policy.probabilities(view, np.ones_like(view.legal), None)
    expected = view.observation(encoding)
    assert shapes == [(expected.dtype, expected.shape)]


@pytest.mark.parametrize("name", ["logits", "probabilities", "greedy", "actions", "one action"])
def test_probabilities_are_those_of_the_function(name):
    policy = POLICIES[name]
    for worlds, _, _ in play(policy, SMALL, np.random.default_rng(1), n=5):
        worlds = worlds.select(~worlds.terminal)
        for seat in range(2):
            view = worlds.view(seat).select(worlds.current_player == seat)
            if not len(view):
                continue
            obs, legal = view.observation("openspiel"), view.legal
            expected = softmax(logits(obs, legal) / (2 if name == "logits" else 1), legal)
            if policy.deterministic:
                expected = np.eye(SMALL.num_actions)[expected.argmax(axis=1)]
            assert np.allclose(policy.probabilities(view, legal, None), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["logits", "recurrent, own turns"])
def test_frequencies_of_act_are_the_probabilities(name):
    n, policy = 20_000, POLICIES[name]
    view = SMALL.deal(np.random.default_rng(0), 1).view(0).select(np.zeros(n, dtype=int))
    memory, streams = policy.start(view), Streams.spawn(np.random.default_rng(1), n)
    before = streams.select(np.arange(n))
    moves = policy.act(view, view.legal, memory, streams)
    chance = policy.probabilities(view.select(np.array([0])), view.legal[:1], take(memory, [0]))[0]
    often = np.bincount(moves, minlength=len(chance)) / n
    assert (abs(often - chance) <= 5 * np.sqrt(chance * (1 - chance) / n)).all()
    before.uniform()
    assert np.array_equal(streams.state, before.state)  # one draw a world


def test_infinities_and_small_numbers():
    worlds = SMALL.deal(np.random.default_rng(0), 1)
    view = worlds.view(0)
    legal, streams = view.legal, Streams(np.zeros(1, np.uint64))
    first, second = np.flatnonzero(legal[0])[:2]

    def chance(returns, low, *values, **options):
        output = np.full((1, SMALL.num_actions), low)
        output[0, [first, second]] = values
        policy = from_callable(lambda obs, mask: output, returns=returns, **options)
        assert legal[0, policy.act(view, legal, None, streams)[0]]
        return policy.probabilities(view, legal, None)[0, [first, second]].tolist()

    assert chance("logits", -np.inf, 900.0, 900.0) == [0.5, 0.5]
    assert chance("logits", -np.inf, 5.0, -np.inf) == [1.0, 0.0]
    assert chance("logits", -1.7e308, 1.7e308, 0.0, temperature=1e-3) == [1.0, 0.0]
    assert chance("probabilities", 0.0, 0.5, 0.5) == [0.5, 0.5]
    assert chance("probabilities", 0.0, 5e-324, 1.0) == [5e-324, 1.0]
    with pytest.raises(ContractError, match="sum to 1 in each row, got a row that sums to inf"):
        chance("probabilities", 0.0, 1e308, 1e308)
    assert chance("probabilities", 0.0, 0.0, 1.0, greedy=True) == [0.0, 1.0]


# States


@pytest.mark.parametrize("game", ["hanabi", "hanabi-3p", "tiny_hanabi"])
@pytest.mark.parametrize("sees", ["all", "own turns"])
def test_the_state_is_that_of_the_function_called_by_hand(sees, game):
    """One world at a time, called on its own observations in their order."""
    game = GAMES[game]
    policy, rng = recurrent(sees=sees), np.random.default_rng(3)
    decisions = 0
    for seat in range(game.num_players):
        state = NOTHING[None]
        views, events = [], []
        for worlds, memories, event in play(policy, game, rng):
            view = worlds.view(seat).select(np.array([0]))
            views.append(view)
            if event is not None:
                events.append(event.seen_by(seat, game))
            mine = view.current_player[0] == seat
            if mine or sees == "all":
                output, state = remembering(view.observation(game.encodings[0]), view.legal, state)
            if mine:
                chance = policy.probabilities(view, view.legal, memories[seat])
                assert np.allclose(chance, softmax(output, view.legal), atol=1e-12)
                decisions += 1
            assert np.allclose(memories[seat][1][0], state, atol=1e-12)
            again = memory_from(policy, History(seat, tuple(views), tuple(events)))
            assert same(again, memories[seat], rtol=0, atol=0)
    assert decisions >= game.num_players


def test_own_turns_alone_are_told():
    """In play, in beliefs and in rollouts: what the function gets are decisions of the seat."""
    for sees in ("own turns", "all"):
        f = Recorder()
        policy = recurrent(f, sees=sees)
        agent = upgrade(policy, THREE, search=Sparta(rollouts=60))
        worlds = THREE.deal(np.random.default_rng(0), 4)  # somebody else begins in each
        blueprint = (policy, agent, policy)
        streams = Streams(np.arange(4, dtype=np.uint64))
        rollout(worlds, blueprint, start_memories(worlds, blueprint), streams, depth=4)
        masks = np.concatenate([mask for _, mask, _ in f.given])
        assert len(masks) > 1_000 and masks.any(axis=1).all() == (sees == "own turns")
    f = Recorder()
    expected = [[] for _ in range(3)]
    for worlds, _, _ in play(recurrent(f, sees="own turns"), THREE, np.random.default_rng(2)):
        mover = worlds.current_player[0]
        if mover >= 0:
            expected[mover].append(worlds.view(mover).observation("openspiel"))
    told = [obs.tobytes() for obs, _, _ in f.given]
    assert sorted(told) == sorted(obs.tobytes() for seat in expected for obs in seat)


@pytest.mark.parametrize("name", ["recurrent", "recurrent, own turns", "recurrent, structured"])
def test_forks_do_not_influence_each_other(name):
    """From one memory the worlds go different ways; each is as if it had been alone."""
    policy, rng = POLICIES[name], np.random.default_rng(4)
    worlds = SMALL.deal(rng, 1)
    memory = policy.start(worlds.view(0))
    moves = np.flatnonzero(worlds.legal[0])
    forks = worlds.select(np.zeros(len(moves), dtype=int))
    event = forks.step(moves)
    kept = pickle.dumps(memory)
    together = policy.observe(forks.view(0), event, take(memory, np.zeros(len(moves), dtype=int)))
    alone = [
        policy.observe(forks.view(0).select(b), event.select(b), memory)
        for b in np.arange(len(moves))[:, None]
    ]
    assert same(together, join(alone), rtol=0, atol=1e-6)
    assert pickle.dumps(memory) == kept
    if name != "recurrent, own turns":
        assert len(np.unique(np.asarray(together[1][0]).round(9), axis=0)) > 1


def test_an_initial_state_by_batch_size():
    row = np.arange(WIDTH) / 10
    given = recurrent(initial_state=row)
    made = recurrent(initial_state=lambda n: np.tile(row, (n, 1)))
    view = SMALL.deal(np.random.default_rng(0), 3).view(1)
    assert same(given.start(view), made.start(view), rtol=0, atol=0)

    def turned(obs, mask, state):
        output, state = remembering(obs, mask, state.T)
        return output, state.T

    columns = recurrent(turned, initial_state=lambda n: np.tile(row, (n, 1)).T, state_axis=1)
    assert same(given.start(view), columns.start(view), rtol=0, atol=1e-12)


def test_nothing_is_shared_with_the_caller():
    """Who writes on a move, on the legal moves, or on an output changes nothing else."""
    view = SMALL.deal(np.random.default_rng(0), 3).view(0)
    legal, streams = view.legal, Streams(np.zeros(3, dtype=np.uint64))

    def f(obs, mask):
        mask[:] = False
        return output

    for returns, output in (("actions", legal.argmax(axis=1)), ("logits", np.zeros(legal.shape))):
        before = output.copy()
        policy = from_callable(f, returns=returns)
        policy.act(view, legal, None, streams)[:] = -9
        policy.probabilities(view, legal, None)[:] = np.nan
        assert np.array_equal(legal, view.legal) and np.array_equal(output, before)
    policy = POLICIES["recurrent, actions"]
    memory = policy.start(view)
    kept = pickle.dumps(memory)
    policy.act(view, legal, memory, streams)[:] = -9
    assert pickle.dumps(memory) == kept


# Beliefs and search


BELIEFS = {
    "logits": ("logits", 0.0),
    "logits, noisy partners": ("logits", 0.2),
    "actions, noisy partners": ("actions", 0.2),
    "recurrent": ("recurrent", 0.0),
    "recurrent, own turns": ("recurrent, own turns", 0.1),
}


@pytest.mark.parametrize("game", [SMALL, THREE], ids=["2p", "3p"])
@pytest.mark.parametrize("case", BELIEFS)
def test_beliefs_equal_bayes(case, game):
    name, epsilon = BELIEFS[case]
    blueprint = as_blueprint(POLICIES[name], game.num_players)
    rng, seat = np.random.default_rng(5), 1
    record = Record.random(game, rng)
    belief = private_belief(game, blueprint, record.worlds.view(seat), epsilon=epsilon)
    sizes = []
    while True:
        worlds, chance = belief.support()
        expected = record.bayes(blueprint, seat, epsilon)
        found = dict(zip(hands_of(worlds, seat), chance.tolist(), strict=True))
        assert found == pytest.approx(expected, abs=1e-9)
        sizes.append(len(found))
        drawn, memories = belief.sample(rng, 4)
        decks = record.decks(seat, hands_of(drawn, seat))
        again = record.replay(decks, blueprint, seat, epsilon)
        assert same(memories, again.memories, rtol=0, atol=1e-9)
        if record.over:
            break
        event = record.step(int(rng.choice(np.flatnonzero(record.worlds.legal[0]))))
        belief = belief.update(event, record.worlds.view(seat))
        if belief.recovered:  # a random move that the network would not have made
            break
    assert max(sizes) > 5


@pytest.mark.parametrize("name", ["probabilities", "recurrent", "recurrent, own turns"])
def test_search_improves_it(name):
    """Nobody dies in this game, so untrained networks score something."""
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, bomb="keep")
    policy = POLICIES[name]
    agent = upgrade(policy, game, search=Sparta(rollouts=400))
    result = evaluate(game, (policy, agent), games=8, seed=1)
    assert result.scores.mean() - result.blueprint_scores.mean() > 0.5


def test_agents_over_it_do_not_peek():
    search = Sparta(rollouts=40, min_rollouts=10, round_size=10)
    check_agent(SMALL, upgrade(POLICIES["recurrent, own turns"], SMALL, search=search))


@pytest.mark.parametrize("name", ["logits", "recurrent, structured", "recurrent, own turns"])
def test_pickled_in_mid_game_it_goes_on(name):
    policy = POLICIES[name]
    agent = upgrade(policy, LONG, search=Sparta(rollouts=40))
    for player in (policy, agent):
        for copied in (lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy):
            _goes_on(player, *copied((player, _half(player))))


def _half(player):
    """A game after 3 moves, seat 0's memory."""
    worlds = LONG.deal(np.random.default_rng(6), 1)
    memory = player.start(worlds.view(0))
    for _ in range(3):
        memory = _next(player, worlds, memory, int(np.flatnonzero(worlds.legal[0])[0]))
    return worlds.rows, memory


def _next(player, worlds, memory, action):
    event = worlds.step(np.array([action]))
    return player.observe(worlds.view(0), event, memory)


def _goes_on(player, twin, half):
    rows, mine = _half(player)
    worlds = LONG.deal(np.random.default_rng(6), 1)
    worlds.rows[:] = rows
    theirs, decisions = half[1], 0
    while not worlds.terminal[0]:
        view = worlds.view(0)
        action = int(np.flatnonzero(worlds.legal[0])[0])
        if worlds.current_player[0] == 0:
            seed = Streams(np.array([decisions], dtype=np.uint64))
            a = player.act(view, view.legal, mine, seed.select(np.array([0])))
            b = twin.act(view, view.legal, theirs, seed)
            assert a.tolist() == b.tolist()
            action, decisions = int(a[0]), decisions + 1
        event = worlds.step(np.array([action]))
        mine = player.observe(worlds.view(0), event, mine)
        theirs = twin.observe(worlds.view(0), event, theirs)
    assert decisions >= 2


# What is wrong is said


def returning(value):
    """A function that returns ``value(obs, mask)``."""
    return lambda obs, mask: value(np.zeros(mask.shape), mask)


def even(mask):
    return mask / mask.sum(axis=-1, keepdims=True)


WRONG = {
    "too many actions": (
        "logits", lambda out, mask: np.zeros((len(out), 21)),
        r"logits \[B, A\] of shape \(3, 8\), got \(3, 21\)",
    ),
    "actions for logits": ("logits", lambda out, mask: out[:, 0], r"\(3, 8\), got \(3,\)"),
    "one action for all": ("actions", lambda out, mask: 1, r"actions \[B\] .*\(3,\), got \(\)"),
    "nothing": ("actions", lambda out, mask: None, "got a NoneType"),
    "two outputs": ("logits", lambda out, mask: (out, out), r"got a tuple of 2 \(a state may"),
    "ragged": ("logits", lambda out, mask: [[1], [1, 2], [1]], "must return an array"),
    "words": ("logits", lambda out, mask: out.astype(str), "in numbers, got <U"),
    "half actions": ("actions", lambda out, mask: out[:, 0], "in integers, got float64"),
    "illegal": ("actions", lambda out, mask: (~mask).argmax(axis=1), "one of the legal .*, got "),
    "out of range": ("actions", lambda out, mask: mask.argmax(axis=1) - 50, "got -4"),
    "NaN logits": ("logits", lambda out, mask: out * np.nan, "never NaN"),
    "infinite logits": ("logits", lambda out, mask: out + np.inf, "never NaN or inf, got .*inf"),
    "no logits": ("logits", lambda out, mask: np.where(mask, -np.inf, 0.0), "some legal move"),
    "NaN": ("probabilities", lambda out, mask: out * np.nan, "finite, .*got .*nan.* legal"),
    "all zero": ("probabilities", lambda out, mask: out, "positive for some legal move"),
    "a sum of 3": ("probabilities", lambda out, mask: 3 * even(mask), "a row that sums to 3:"),
    "a sum of 1/2": ("probabilities", lambda out, mask: even(mask) / 2, "sums to 0.5:"),
    "illegal alone": ("probabilities", lambda out, mask: (~mask).astype(float), "some legal move"),
    "negative": ("probabilities", lambda out, mask: out - 1 / 8, "not negative, .*got .*-0.125"),
    "infinite": ("probabilities", lambda out, mask: out + np.inf, "finite, .*got .*inf"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_outputs(case):
    returns, value, message = WRONG[case]
    view = SMALL.deal(np.random.default_rng(0), 3).view(0)
    for policy in (
        from_callable(returning(value), returns=returns),
        from_callable(
            lambda obs, mask, state: (returning(value)(obs, mask), state),
            returns=returns,
            initial_state=NOTHING,
        ),
    ):
        with pytest.raises(ContractError, match=f"(?s){message}"):
            memory = policy.start(view)
            policy.act(view, view.legal, memory, Streams(np.zeros(3, dtype=np.uint64)))


def test_what_a_function_raises_goes_on_with_the_shapes_that_it_was_given():
    view = SMALL.deal(np.random.default_rng(0), 3).view(0)
    policy = from_callable(lambda obs, mask: np.zeros((3, 7)) @ mask.T @ mask, returns="logits")
    says = r"uint8 observations of shape \(3, \d+\) and legal moves of shape \(3, 8\)$"
    with pytest.raises(ValueError, match=says):
        policy.act(view, view.legal, None, Streams(np.zeros(3, dtype=np.uint64)))


STATES = {
    "no state": (lambda out, state: out, r"must return \(output, state\), got a ndarray"),
    "three things": (lambda out, state: (out, state, 1), "got 3 things"),
    "None": (lambda out, state: (out, None), "got None for a state"),
    "another batch": (
        lambda out, state: (out, (state[0][:2], state[1])),
        r"shape \(3, 6\), with the batch of 3 on axis 0, got \(2, 6\)",
    ),
    "another axis": (lambda out, state: (out, (state[0].T, state[1])), r"got \(6, 3\)"),
    "no axis": (lambda out, state: (out, (state[0], 1)), r"axis 0, got the shape \(\)"),
    "fewer parts": (lambda out, state: (out, state[:1]), "must be 2 things, got a tuple of 1"),
    "not a tuple": (lambda out, state: (out, state[0]), "must be 2 things, got a ndarray"),
    "parts within": (lambda out, state: (out, (state, state[1])), "an array here, got a tuple"),
    "floats for integers": (
        lambda out, state: (out, (state[0], state[1] + 0.5)), "kept as int64, .*got float64",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", STATES)
def test_wrong_states(case):
    change, message = STATES[case]

    def f(obs, mask, state):
        return change(np.zeros(mask.shape), state)

    policy = recurrent(f, initial_state=(NOTHING, np.zeros((), dtype=int)))
    view = SMALL.deal(np.random.default_rng(0), 3).view(0)
    with pytest.raises(ContractError, match=message):
        policy.start(view)


def test_wrong_parts_and_kinds_of_states():
    view = SMALL.deal(np.random.default_rng(0), 3).view(0)
    empty = {"h": NOTHING, "none": None}
    for state, message in (
        ({"h": NOTHING}, r"dict of \['h', 'none'\], got a dict of \['h'\]"),
        ({"h": NOTHING, "none": 1}, "must be None here, got a int"),
    ):
        f = lambda obs, mask, _, state=state: (np.zeros(mask.shape), state)  # noqa: E731
        with pytest.raises(ContractError, match=message):
            recurrent(f, initial_state=empty).start(view)
    count = iter(range(9))
    one = recurrent(lambda obs, mask, state: (np.zeros(8), np.zeros(next(count))), batched=False)
    with pytest.raises(ContractError, match="the same shape for every world"):
        one.start(view)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"returns": "scores"}, "returns must be one of 'actions', .*got 'scores'"),
        ({"sees": "own"}, "sees must be one of 'all', 'own turns', got 'own'"),
        ({"f": 3}, "f must be callable, got int"),
        ({"temperature": 0}, "temperature must be a positive number, got 0"),
        ({"temperature": float("nan")}, "temperature must be"),
        ({"temperature": 2.0, "returns": "probabilities"}, "temperature must be 1 where"),
        ({"greedy": True, "returns": "actions"}, "greedy must be False"),
        ({"batched": False, "initial_state": np.zeros}, "batched must be True"),
        ({"batched": False, "state_axis": 1, "initial_state": NOTHING}, "batched must be True"),
        ({"initial_state": ()}, r"must hold an array, got \(\)"),
        ({"initial_state": "start"}, "initial_state must hold numbers, got <U5"),
        ({"initial_state": NOTHING, "state_axis": 2}, "state_axis must be from 0 to 1 .*got 2"),
        ({"initial_state": NOTHING, "state_axis": -1}, "integer of at least 0, got -1"),
        (
            {"initial_state": lambda n: np.zeros((n, 4)), "state_axis": 1},
            r"initial_state\(2\) must have a batch of 2 on axis 1, got the shape \(2, 4\)",
        ),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ConfigError, match=message):
        from_callable(**{"f": logits, "returns": "logits"} | options)


def test_a_function_of_observations_alone():
    """It is called without the mask; illegal moves are left out all the same."""

    def alone(obs):
        return logits(obs, np.ones((len(obs), SMALL.num_actions)))

    policy, other = (from_callable(f, returns="logits") for f in (alone, logits))
    view = SMALL.deal(np.random.default_rng(0), 3).view(0)
    np.testing.assert_array_equal(
        *(p.probabilities(view, view.legal, None) for p in (policy, other))
    )
    check_policy(SMALL, policy, games=2)

    def remembers(obs, state):
        return remembering(obs, np.ones((len(obs), SMALL.num_actions)), state)

    check_policy(SMALL, recurrent(remembers), games=1)
    valued = from_callable(logits, returns="logits", values=lambda obs: np.full(len(obs), 0.5))
    assert valued.value(view, None).tolist() == [0.5] * 3


def test_lambdas_are_told_apart():
    first = from_callable(lambda obs: obs, returns="logits")
    second = from_callable(lambda obs: obs, returns="logits")
    assert "<lambda> at test_callables.py:" in repr(first)
    assert repr(first) != repr(second)


def test_a_policy_without_values_says_how_to_have_some():
    policy = from_callable(logits, returns="logits")
    with pytest.raises(UnsupportedError, match=r"from_callable\(\.\.\., values=g\) gives it some"):
        upgrade(policy, SMALL, Lbs(depth=2, rollouts=20, min_rollouts=2))


def test_moves_that_differ_from_one_stream():
    rng = np.random.default_rng(0)
    policy = from_callable(
        lambda obs, mask: np.array([rng.choice(np.flatnonzero(row)) for row in mask]),
        returns="actions",
    )
    with pytest.raises(
        ContractError, match=r"gives another move: .*return logits or probabilities"
    ):
        check_policy(SMALL, policy)


def test_wrong_encodings_and_masks():
    tiny = GAMES["tiny_hanabi"].deal(np.random.default_rng(0), 1).view(0)
    native = SMALL.deal(np.random.default_rng(0), 2).view(0)
    policy = from_callable(logits, returns="logits", encoding="openspiel")
    with pytest.raises(UnsupportedError, match=r"'openspiel', but tiny_hanabi\(\) has tensor, str"):
        policy.probabilities(tiny, tiny.legal, None)
    with pytest.raises(UnsupportedError, match="has openspiel, packed, v0"):
        recurrent(encoding="tensor").start(native)
    with pytest.raises(ContractError, match=r"moves must be of shape \(2, 8\), got \(2, 20\)"):
        policy.act(native, np.ones((2, 20), dtype=bool), None, Streams(np.zeros(2, np.uint64)))


# PyTorch


@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(threads)


def inputs(game):
    obs = game.deal(np.random.default_rng(0), 1).view(0).observation(game.encodings[0])
    return int(np.prod(obs.shape[1:]))


def mlp(torch, game):
    """Logits, by layers that act otherwise in training."""

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = torch.nn.Sequential(
                torch.nn.Flatten(), torch.nn.Linear(inputs(game), 16), torch.nn.ReLU(),
                torch.nn.BatchNorm1d(16), torch.nn.Dropout(), torch.nn.Linear(16, game.num_actions),
            )  # fmt: skip

        def forward(self, obs, mask):
            assert not torch.is_grad_enabled() and not self.body[4].training
            torch.rand(1)
            return self.body(obs).masked_fill(~mask, -torch.inf)

    return seeded(torch, Network)


def lstm(torch, game):
    """Layers, then batch, then features, as LSTMs keep their states."""

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.read = torch.nn.Linear(inputs(game), 8)
            self.remember = torch.nn.LSTM(8, 8, num_layers=2)
            self.say = torch.nn.Linear(8, game.num_actions)

        def forward(self, obs, mask, state):
            assert state is None or state[0].is_contiguous()
            read = self.read(obs.flatten(1))
            said, state = self.remember(read[None], state)
            return self.say(said[0]) * 4, state

    return seeded(torch, Network)


def seeded(torch, make):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make()


def recurrent_module(module, **options):
    row = np.zeros((2, 8))  # double precision: it becomes the module's
    return recurrent(module, initial_state=(row, row), state_axis=1, **options)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("kind", ["mlp", "lstm", "lstm, own turns"])
def test_modules_keep_the_contract(torch, kind, game):
    game = GAMES[game]
    if kind == "mlp":
        policy = from_callable(mlp(torch, game), returns="logits")
    else:
        sees = "own turns" if "own" in kind else "all"
        policy = recurrent_module(lstm(torch, game), sees=sees)
    check_policy(game, policy, games=1)


def test_modules_are_left_as_they_were(torch):
    module = mlp(torch, SMALL).train()
    module.body[3].eval()  # a frozen part
    flags = [part.training for part in module.modules()]
    assert set(flags) == {True, False}
    numbers = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    policy = from_callable(module, returns="logits")
    view = SMALL.deal(np.random.default_rng(0), 4).view(0)
    random, theirs = torch.get_rng_state(), np.random.get_state()[1].copy()
    first = policy.probabilities(view, view.legal, None)
    assert np.array_equal(first, policy.probabilities(view, view.legal, None))
    assert torch.equal(torch.get_rng_state(), random)
    assert np.array_equal(np.random.get_state()[1], theirs)
    assert [part.training for part in module.modules()] == flags
    assert all(torch.equal(numbers[name], now) for name, now in module.state_dict().items())
    assert torch.is_grad_enabled() and all(p.grad is None for p in module.parameters())


def test_modules_in_several_threads(torch):
    """One module plays all seats of all games; where it trains, its flags must not be mixed up."""

    seconds = itertools.cycle([0.001, 0.02])

    class Slow(torch.nn.Linear):
        def forward(self, obs, mask):
            time.sleep(next(seconds))
            assert not self.training
            return super().forward(obs)

    module = Slow(inputs(SMALL), SMALL.num_actions).train()
    policy = from_callable(module, returns="logits")
    view = SMALL.deal(np.random.default_rng(0), 2).view(0)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(policy.probabilities, view, view.legal, None) for _ in range(12)]
        chances = [future.result() for future in asked]
    assert module.training and all(np.array_equal(chances[0], chance) for chance in chances)


def test_modules_of_another_game(torch):
    view = SMALL.deal(np.random.default_rng(0), 4).view(0)
    module = mlp(torch, THREE).train()
    policy = from_callable(module, returns="logits")
    says = r"(?s)mat1 and mat2.*\n.* was given torch.float32 observations of shape"
    with pytest.raises(RuntimeError, match=says):
        policy.probabilities(view, view.legal, None)
    assert module.training
    policy = from_callable(torch.nn.Linear(3, 3), returns="logits")
    with pytest.raises(RuntimeError, match=r"\nLinear was given .* shape \(4, \d+\)"):
        policy.probabilities(view, view.legal, None)


@pytest.mark.parametrize("sees", ["all", "own turns"])
def test_a_module_says_what_it_says_by_hand(torch, sees):
    module = lstm(torch, SMALL).double()
    policy, state = recurrent_module(module, sees=sees), None
    for worlds, memories, _ in play(policy, SMALL, np.random.default_rng(8)):
        view = worlds.view(1)
        mine = view.current_player[0] == 1
        if mine or sees == "all":
            obs = torch.tensor(view.observation("openspiel")).double()
            with torch.no_grad():
                output, state = module(obs, None, state)
        if mine:
            chance = policy.probabilities(view, view.legal, memories[1])
            assert np.allclose(chance, softmax(output.numpy(), view.legal), atol=1e-12)
        if state is not None:
            kept = memories[1][1]
            assert all(torch.equal(a[:, 0], b[0]) for a, b in zip(state, kept, strict=True))
            assert kept[0].dtype == torch.float64 and not kept[0].requires_grad


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_modules_of_half_precision(torch, dtype):
    module = lstm(torch, SMALL).to(getattr(torch, dtype))
    policy = recurrent_module(module)
    view = SMALL.deal(np.random.default_rng(0), 3).view(0)
    memory = policy.start(view)
    assert memory[1][0].dtype == getattr(torch, dtype)
    chance = policy.probabilities(view, view.legal, memory)
    assert np.allclose(chance.sum(axis=1), 1.0, atol=1e-12)


def test_modules_in_beliefs_search_and_pickles(torch):
    policy = recurrent_module(lstm(torch, LONG), sees="own turns")
    agent = upgrade(policy, LONG, search=Sparta(rollouts=24, min_rollouts=4, round_size=4))
    _goes_on(policy, copy.deepcopy(policy), copy.deepcopy(_half(policy)))
    _goes_on(agent, *copy.deepcopy((agent, _half(agent))))
    plain = torch.nn.Sequential(torch.nn.Linear(inputs(LONG), LONG.num_actions))
    first = from_callable(FirstInput(plain), returns="logits")
    _goes_on(first, pickle.loads(pickle.dumps(first)), pickle.loads(pickle.dumps(_half(first))))
    half = pickle.loads(pickle.dumps(_half(policy)))
    _goes_on(policy, policy, half)


class FirstInput:
    """A function around a module: it gets arrays and makes tensors of them itself."""

    def __init__(self, module):
        self.module = module

    def __call__(self, obs, mask):
        import torch

        return self.module(torch.tensor(obs).float())  # with gradients, which are dropped


def test_tensors_as_the_state_of_a_function(torch):
    def f(obs, mask, state):
        assert isinstance(obs, np.ndarray) and isinstance(state, torch.Tensor)
        output, new = remembering(obs, mask, state.numpy())
        state.copy_(torch.from_numpy(new))
        return torch.from_numpy(output), state

    policy = recurrent(f, initial_state=torch.zeros(WIDTH, dtype=torch.float64))
    check_policy(SMALL, policy, games=1)
    view = SMALL.deal(np.random.default_rng(0), 3).view(1)
    assert same(policy.start(view), recurrent().start(view), rtol=0, atol=1e-12)
    event = Event(np.zeros(3, int), np.zeros(3, int))
    again = policy.observe(view, event, policy.start(view))
    expected = recurrent().observe(view, event, recurrent().start(view))
    assert same(again, expected, rtol=0, atol=1e-12)
    with pytest.raises(ContractError, match=r"kept as torch\.int64, .* got torch\.float32"):
        recurrent(
            lambda obs, mask, state: (np.zeros(mask.shape), state + 0.5),
            initial_state=torch.zeros(WIDTH, dtype=torch.int64),
        ).start(view)


def test_modules_of_observations_alone(torch):
    size = SMALL.deal(np.random.default_rng(0), 1).view(0).observation("openspiel").shape[1]
    linear = torch.nn.Linear(size, SMALL.num_actions)
    chances = torch.nn.Sequential(linear, torch.nn.Softmax(dim=1))
    check_policy(SMALL, from_callable(linear, returns="logits"), games=1)
    check_policy(SMALL, from_callable(chances, returns="probabilities"), games=1)
    with pytest.raises(ConfigError, match=r"the class Linear: write Linear\(\)"):
        from_callable(torch.nn.Linear, returns="logits")


def test_a_state_on_another_axis_names_state_axis(torch):
    class Remembering(torch.nn.Module):
        def __init__(self):
            super().__init__()
            size = SMALL.deal(np.random.default_rng(0), 1).view(0).observation("openspiel").shape[1]
            self.lstm = torch.nn.LSTM(size, SMALL.num_actions, batch_first=True)

        def forward(self, obs, mask, state):
            out, state = self.lstm(obs[:, None], state)
            return out[:, 0], state

    zeros = np.zeros((1, SMALL.num_actions), np.float32)
    policy = from_callable(Remembering(), returns="logits", initial_state=(zeros, zeros))
    with pytest.raises(RuntimeError, match=r"the batch on axis 0 \(state_axis\)$"):
        policy.start(SMALL.deal(np.random.default_rng(0), 3).view(0))


def test_a_module_needs_numbers(torch):
    view = GAMES["tiny_hanabi"].deal(np.random.default_rng(0), 1).view(0)
    policy = from_callable(torch.nn.Identity(), returns="logits", encoding="string")
    with pytest.raises(UnsupportedError, match="an encoding in numbers, got 'string'"):
        policy.probabilities(view, view.legal, None)


# Values


def worth(obs, mask):
    """What is still to come, as a network would guess it."""
    return flat(obs) @ weights(flat(obs).shape[1])


def one_worth(obs, mask):
    return worth(obs[None], mask[None])[0]


def remembered_worth(obs, mask, state):
    return worth(obs, mask) + np.asarray(state)[..., 0].reshape(len(obs), -1)[:, 0]


def one_remembered_worth(obs, mask, state):
    return worth(obs[None], mask[None])[0] + state[0]


VALUED = {
    "plain": from_callable(logits, returns="logits", values=worth),
    "column": from_callable(
        logits, returns="logits", values=lambda obs, mask: worth(obs, mask)[:, None]
    ),
    "one by one": from_callable(
        one_action, returns="actions", batched=False, values=one_worth, combine="mean"
    ),
    "recurrent": from_callable(
        remembering, returns="logits", initial_state=NOTHING, values=remembered_worth
    ),
    "recurrent, own turns": from_callable(
        remembering, returns="logits", initial_state=NOTHING, values=remembered_worth,
        sees="own turns",
    ),
    "recurrent, one by one": from_callable(
        one_remembering, returns="logits", initial_state=NOTHING, batched=False,
        values=one_remembered_worth,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUED)
def test_values_are_those_of_the_function(name):
    policy, game = VALUED[name], SMALL
    check_policy(game, policy, games=2)
    rng = np.random.default_rng(2)
    worlds = game.deal(rng, 5)
    memories = start_memories(worlds, (policy,) * 2)
    states = [np.zeros((5, WIDTH))] * 2
    for _ in range(4):
        for seat in (0, 1):
            view = worlds.view(seat)
            obs = view.observation(game.encodings[0])
            mine = bool((view.current_player == seat).all())
            expected = worth(obs, view.legal)
            if "recurrent" in name:
                expected = expected + states[seat][:, 0]
            if mine or "own turns" not in name:
                found = policy.value(view, memories[seat])
                np.testing.assert_allclose(found, expected)
                one = np.array([3])
                alone = policy.value(view.select(one), take(memories[seat], one))
                np.testing.assert_allclose(alone, expected[one])
                states[seat] = remembering(obs, view.legal, states[seat])[1]
        move = np.array([rng.choice(np.flatnonzero(row)) for row in worlds.legal])
        actors = worlds.current_player
        worlds.step(move)
        assert not worlds.terminal.any()
        memories = observe_all(worlds, actors, move, (policy,) * 2, memories)


def test_rollouts_are_cut_by_the_value_of_the_player_to_move():
    policy, other = VALUED["plain"], from_callable(logits, returns="logits", values=one_and_more)
    worlds = THREE.deal(np.random.default_rng(0), 6)  # anybody may begin
    blueprint = (policy, other, policy)
    found = remaining_return(worlds, blueprint, (None,) * 3, 0)
    assert len(set(worlds.current_player.tolist())) == 3
    for b, p in enumerate(worlds.current_player.tolist()):
        view = worlds.view(p).select(np.array([b]))
        assert found[b] == pytest.approx(blueprint[p].value(view, None)[0])
    bets = OpenSpielGame("leduc_poker").deal(np.random.default_rng(0), 1)
    with pytest.raises(UnsupportedError, match="need identical rewards, got zero_sum"):
        remaining_return(bets, (policy,) * 2, (None,) * 2, 0)


def one_and_more(obs, mask):
    return 1 + worth(obs, mask)


def test_values_of_the_searching_seat_need_none_of_the_others():
    central = from_callable(logits, returns="logits", values=worth, combine="central")
    plain = from_callable(logits, returns="logits")
    worlds = SMALL.deal(np.random.default_rng(0), 4)
    found = remaining_return(worlds, (plain, central), (None, None), 1)
    np.testing.assert_array_equal(found, central.value(worlds.view(1), None))
    with pytest.raises(UnsupportedError, match="where the blueprint has values"):
        remaining_return(worlds, (plain, central), (None, None), 0)


def test_lbs_over_a_function_with_values():
    """Any values serve, and what they say of worlds that are over is never asked."""
    policy = from_callable(logits, returns="logits", values=worth, combine="mean")
    short, long = (
        upgrade(policy, SMALL, Lbs(depth=depth, rollouts=80, min_rollouts=8)) for depth in (2, None)
    )
    check_agent(SMALL, short)
    whole, cut = (evaluate(SMALL, (policy, agent), games=3) for agent in (long, short))
    assert len(whole.games) == len(cut.games) == 3
    # At the end of the game nothing is left to value: a depth beyond it changes nothing.
    beyond = upgrade(policy, SMALL, Lbs(depth=100, rollouts=80, min_rollouts=8))
    again = evaluate(SMALL, (policy, beyond), games=3)
    assert [g.actions for g in again.games] == [g.actions for g in whole.games]


def test_values_that_are_wrong_are_refused():
    view = SMALL.deal(np.random.default_rng(0), 3).view(0)

    def valued(values):
        return from_callable(logits, returns="logits", values=values).value(view, None)

    with pytest.raises(ContractError, match=r"must return values \[B\] of shape \(3,\)"):
        valued(logits)
    with pytest.raises(
        ContractError, match=r"must return finite values, got nan in 3 of 3 worlds$"
    ):
        valued(lambda obs, mask: np.full(len(obs), np.nan))
    with pytest.raises(ConfigError, match="values must be callable, got float"):
        valued(1.0)
    with pytest.raises(ConfigError, match="combine must be one of 'sum', 'mean', 'central', 'mo"):
        from_callable(logits, returns="logits", values=worth, combine="all")
    with pytest.raises(ConfigError, match="combine must be 'mover' where a state sees own turns"):
        from_callable(
            remembering, returns="logits", initial_state=NOTHING, sees="own turns",
            values=remembered_worth, combine="mean",
        )  # fmt: skip
    assert not isinstance(from_callable(logits, returns="logits"), Value)
    assert "with the values of worth" in repr(VALUED["plain"])
