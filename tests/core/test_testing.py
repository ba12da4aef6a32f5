"""Every check can fail: things broken on purpose, each in one way."""

import copy
import warnings

import numpy as np
import pytest

from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import BeliefAgent, upgrade
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.core.capabilities import HasBeliefs
from hanabi_search_plugin.core.errors import ContractError, UnsupportedError
from hanabi_search_plugin.core.game import FloatArray, Worlds
from hanabi_search_plugin.core.policy import Policy, UniformPolicy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.hanabi import HanabiGame
from hanabi_search_plugin.policies.callables import from_callable
from hanabi_search_plugin.testing import (
    check_agent,
    check_belief,
    check_game,
    check_policy,
    check_search,
)
from hanabi_search_plugin.wrappers._openspiel_worlds import OpenSpielView, OpenSpielWorlds
from hanabi_search_plugin.wrappers.openspiel import OpenSpielDealtGame, OpenSpielGame, load_game

SMALL_HANABI = "hanabi(players=2,colors=2,ranks=2,hand_size=2)"


# Games


class Broken(OpenSpielGame):
    """Hands out worlds of a broken kind."""

    kind = OpenSpielWorlds

    def deal(self, rng, n):
        worlds = super().deal(rng, n)
        return self.kind(self, worlds.states, worlds.streams)

    def deals(self):
        worlds, chance = super().deals()
        return self.kind(self, worlds.states, worlds.streams), chance


def broken(base=SMALL_HANABI, **methods):
    kind = type("BrokenWorlds", (OpenSpielWorlds,), methods)

    def select(self, index):
        part = OpenSpielWorlds.select(self, index)
        return kind(self.game, part.states, part.streams)

    kind.select = methods.get("select", select)
    game = Broken(base)
    game.kind = kind
    return game


class Sharing(OpenSpielWorlds):
    """All worlds draw from one generator."""

    rng = np.random.default_rng(0)

    def step(self, actions):
        self.streams = Streams.spawn(self.rng, len(self))
        return super().step(actions)

    def select(self, index):
        part = super().select(index)
        return Sharing(self.game, part.states, part.streams)


class Clock(OpenSpielWorlds):
    """A world's chance depends on its place in the batch."""

    def step(self, actions):
        self.streams = Streams(np.arange(len(self), dtype=np.uint64))
        return super().step(actions)

    def select(self, index):
        part = super().select(index)
        return Clock(self.game, part.states, part.streams)


@pytest.mark.parametrize(
    ("kind", "says"), [(Sharing, "different chance"), (Clock, "alone than in a batch")]
)
def test_shared_chance(kind, says):
    game = Broken(SMALL_HANABI)
    game.kind = kind
    with pytest.raises(ContractError, match=says):
        check_game(game)


class AllSeeing(OpenSpielView):
    """Keys say too little: the encodings differ where they are equal."""

    def keys(self):
        return [len(key[0]) for key in list(super().keys())]

    def select(self, index):
        part = super().select(index)
        return AllSeeing(part.game, part.player, part._states)


def test_broken_worlds():
    def everything_legal(self):
        return np.ones((len(self), self.game.num_actions), dtype=bool)

    def careless(self, actions):
        legal = OpenSpielWorlds.legal.fget(self)
        actions = np.where(legal[np.arange(len(self)), actions], actions, legal.argmax(axis=1))
        return OpenSpielWorlds.step(self, actions)

    cases = [
        ({"legal": property(everything_legal)}, "legal"),
        ({"returns": property(lambda self: np.zeros(len(self)))}, r"numbers of shape \(8, 2\)"),
        ({"returns": property(lambda self: np.full((len(self), 2), 99.0))}, "returns must be from"),
        ({"returns": property(lambda self: np.tile([0.0, 1.0], (len(self), 1)))}, "identical"),
        ({"step": careless}, "not legal but can be played"),
        ({"select": lambda self, index: self}, "changed"),
        ({"view": lambda self, p: AllSeeing(self.game, p, self.states)}, "equal keys differ"),
        ({"view": lambda self, p: OpenSpielView(self.game, 0, self.states)}, "legal moves alone"),
    ]
    for methods, says in cases:
        with pytest.raises(ContractError, match=says):
            check_game(broken(**methods))


class Lopsided(OpenSpielGame):
    def branch(self, worlds, actions):
        after, parent, chance = super().branch(worlds, actions)
        return after, parent, chance * 0.9


class Forgetful(OpenSpielGame):
    def deals(self) -> tuple[Worlds, FloatArray]:
        worlds, _ = super().deals()
        return worlds.select(np.array([0])), np.ones(1)


class Reckless(OpenSpielGame):
    def redeterminize(self, worlds, player, rng):
        return super().redeterminize(worlds, 1 - player, rng)


class DealingOthers(OpenSpielGame):
    """Deals some worlds that it does not deal together."""

    def deal_some(self, rng, n, rows):
        return self.deal(rng, len(rows))


class Misdealing(OpenSpielDealtGame):
    def with_private(self, worlds, factor, tokens, rng):
        return super().with_private(worlds, factor, (tokens + 1) % self.vocabulary, rng)


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        (Lopsided, SMALL_HANABI, "must have probability 1"),
        (Forgetful, SMALL_HANABI, "missing from deals"),
        (Reckless, "tiny_hanabi", "redeterminize changed what player"),
        (DealingOthers, SMALL_HANABI, "deal_some must give worlds of deal"),
        (Misdealing, "tiny_hanabi", "must change nothing"),
    ],
)
def test_broken_capabilities(kind, name, says):
    with pytest.raises(ContractError, match=says):
        check_game(kind(name))


def test_wrong_length():
    game = OpenSpielGame(SMALL_HANABI)
    game.max_length = 2
    with pytest.raises(ContractError, match="longer than 2 moves"):
        check_game(game)


def test_actions_that_are_not_public():
    game = OpenSpielGame("phantom_ttt", public_actions=True)
    with pytest.raises(ContractError, match=r"public_actions must be False, or player \d must"):
        check_game(game, games=2)


# Policies


class First(Policy):
    """The first legal move; breaks nothing."""

    def start(self, view):
        return np.zeros(len(view))

    def observe(self, view, event, memory):
        return memory + event.action

    def act(self, view, legal, memory, rng):
        return legal.argmax(axis=1)


class Peeking(First):
    """Decides by the whole deal."""

    def act(self, view, legal, memory, rng):
        wish = np.array([sum(s.history()[:4]) for s in view._states]) % legal.shape[1]
        return np.array(
            [np.flatnonzero(row)[w % row.sum()] for row, w in zip(legal, wish, strict=True)]
        )


class PeekingEarly(First):
    """Remembers the whole deal from the first view."""

    def start(self, view):
        return np.array([sum(s.history()) % 2 for s in view._states])

    def observe(self, view, event, memory):
        return memory

    def act(self, view, legal, memory, rng):
        last = legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)
        return np.where(memory == 1, legal.argmax(axis=1), last)


class Illegal(First):
    def act(self, view, legal, memory, rng):
        return (~legal).argmax(axis=1)


class InFloats(First):
    def act(self, view, legal, memory, rng):
        return legal.argmax(axis=1).astype(float)


class MutatesInAct(First):
    def act(self, view, legal, memory, rng):
        memory += 1
        return legal.argmax(axis=1)


class MutatesInObserve(First):
    def observe(self, view, event, memory):
        memory += 1
        return memory


class Global(First):
    def act(self, view, legal, memory, rng):
        return np.array([np.random.default_rng().choice(np.flatnonzero(row)) for row in legal])


class HiddenDice(UniformPolicy):
    deterministic = True


class BatchDependent(First):
    def act(self, view, legal, memory, rng):
        if len(view) > 1:
            return legal.argmax(axis=1)
        return legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)


class BatchMemory(First):
    def observe(self, view, event, memory):
        return memory + len(view)


class WrongOdds(UniformPolicy):
    def probabilities(self, view, legal, memory):
        chance = legal * np.arange(1.0, legal.shape[1] + 1)
        return chance / chance.sum(axis=1, keepdims=True)


class NoOdds(UniformPolicy):
    def probabilities(self, view, legal, memory):
        return legal.astype(float)


class WrongOneHot(First):
    def probabilities(self, view, legal, memory):
        return legal / legal.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("policy", [First(), UniformPolicy()])
@pytest.mark.parametrize("name", ["tiny_hanabi", "leduc_poker", SMALL_HANABI])
def test_sound_policies_pass(policy, name):
    check_policy(OpenSpielGame(name), policy)


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (Peeking(), "cannot see"),
        (Illegal(), "legal move"),
        (InFloats(), "in integers"),
        (MutatesInAct(), "act changed the memory"),
        (MutatesInObserve(), "observe changed the old memory"),
        (Global(), "same stream gives another move"),
        (HiddenDice(), "declared deterministic"),
        (BatchDependent(), "alone than in a batch"),
        (BatchMemory(), "remembers another thing"),
        (WrongOdds(), "act and probabilities differ"),
        (NoOdds(), "sum to 1"),
        (WrongOneHot(), "must be 1 for what it plays"),
    ],
)
def test_broken_policies(policy, says):
    with pytest.raises(ContractError, match=says):
        check_policy(OpenSpielGame(SMALL_HANABI), policy)


class Fails(First):
    """Raises in one method."""

    def __init__(self, method):
        self.method = method

    def start(self, view):
        return self._maybe("start", super().start(view))

    def observe(self, view, event, memory):
        return self._maybe("observe", super().observe(view, event, memory))

    def act(self, view, legal, memory, rng):
        return self._maybe("act", super().act(view, legal, memory, rng))

    def probabilities(self, view, legal, memory):
        return self._maybe("probabilities", super().probabilities(view, legal, memory))

    def _maybe(self, method, answer):
        return [][3] if method == self.method else answer


@pytest.mark.parametrize("method", ["start", "observe", "act", "probabilities"])
def test_what_a_policy_raises_is_told_by_its_method(method):
    game, policy = OpenSpielGame("tiny_hanabi"), Fails(method)
    others = {"act": [check_agent], "probabilities": [check_belief]}
    for check in (check_policy, *others.get(method, [check_agent, check_belief])):
        says = rf"(?s)^list index.*\nin .*\b{method}\b.*, {check.__name__}$"
        with pytest.raises(IndexError, match=says):
            check(game, policy)
    search = Sparta(rollouts=30, min_rollouts=1)
    if method == "act":
        with pytest.raises(IndexError, match=r"in act of .*Fails.*, seat \d, check_search"):
            check_search(game, search, policy=policy)


def test_a_memory_has_a_row_for_each_world():
    game = OpenSpielGame("tiny_hanabi")

    class Short(First):
        def start(self, view):
            return [0] * (len(view) - 1)

    class Shrinks(First):
        def observe(self, view, event, memory):
            return memory[1:]

    class Grows(First):
        def start(self, view):
            return [0] * len(view)

        def observe(self, view, event, memory):
            memory.append(1)
            return memory

    class Sets(First):
        def start(self, view):
            return [set() for _ in range(len(view))]

        def observe(self, view, event, memory):
            for entry, action in zip(memory, event.action, strict=True):
                entry.add(int(action))
            return memory

    says = r"with a row for each of \d worlds?, got"
    for policy, method in ((Short(), "start"), (Shrinks(), "observe"), (Grows(), "observe")):
        for check in (check_policy, check_agent):
            with pytest.raises(
                ContractError, match=rf"{check.__name__}: .* {method} must .*{says}"
            ):
                check(game, policy)
    with pytest.raises(ContractError, match="observe changed the old memory"):
        check_policy(game, Sets())


def last(legal):
    return legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)


class OnSelf(Policy):
    """Counts events on the object: the last legal move, and after seven events the first."""

    def start(self, view):
        self.n = 0

    def observe(self, view, event, memory):
        self.n += 1

    def act(self, view, legal, memory, rng):
        return last(legal) if self.n <= 7 else legal.argmax(axis=1)


class OneMove(OnSelf):
    """Another move at one point of the game alone."""

    def act(self, view, legal, memory, rng):
        return last(legal) if self.n == 4 else legal.argmax(axis=1)


class SinceEver(OnSelf):
    """Counts in act, and through all games."""

    n = 0
    start, observe = Policy.start, Policy.observe

    def act(self, view, legal, memory, rng):
        self.n += 1
        return super().act(view, legal, memory, rng)


class BySeat(OnSelf):
    """A flag for each seat."""

    n: dict[int, bool]

    def __init__(self):
        self.n = {}

    def start(self, view):
        self.n[view.player] = False

    def observe(self, view, event, memory):
        self.n[view.player] |= bool((event.action > 4).any())

    def act(self, view, legal, memory, rng):
        return last(legal) if self.n[view.player] else legal.argmax(axis=1)


class HiddenState(OnSelf):
    """A recurrent network without a state of its own, so to say."""

    def start(self, view):
        self.n = np.zeros(8)

    def observe(self, view, event, memory):
        self.n = np.tanh(self.n + np.sin(event.action[0] + np.arange(8.0)))

    def act(self, view, legal, memory, rng):
        weights = np.random.default_rng(0).normal(size=(8, legal.shape[1]))
        return np.where(legal, self.n @ weights, -np.inf).argmax(axis=1)


class Returned(OnSelf):
    """Returns the memory that it keeps, which all seats have written on."""

    def start(self, view):
        self.n = 0
        return np.zeros(len(view))

    def observe(self, view, event, memory):
        self.n += 1
        return np.full(len(view), self.n)

    def act(self, view, legal, memory, rng):
        return np.where(memory <= 3, last(legal), legal.argmax(axis=1))


class Leaning(UniformPolicy, OnSelf):
    """Draws its moves by other probabilities as the game goes on."""

    start, observe = OnSelf.start, OnSelf.observe

    def probabilities(self, view, legal, memory):
        chance = legal * (1.0 + (self.n > 2) * 0.01 * np.arange(legal.shape[1]))
        return chance / chance.sum(axis=1, keepdims=True)


class Inside(First):
    """Asks a policy that keeps its memory on itself."""

    def __init__(self, inner):
        self.inner = inner

    def start(self, view):
        self.inner.start(view)

    def observe(self, view, event, memory):
        self.inner.observe(view, event, memory)

    def act(self, view, legal, memory, rng):
        return self.inner.act(view, legal, memory, rng)


KEEPERS = [OnSelf, OneMove, SinceEver, BySeat, HiddenState, Returned, Leaning]


@pytest.mark.parametrize("keeper", [*KEEPERS, lambda: Inside(OnSelf())])
def test_a_memory_on_the_object_is_found_and_named(keeper):
    game = HanabiGame(players=2, colors=2, ranks=3, hand_size=3)
    search = Sparta(rollouts=10, min_rollouts=1)
    for check in (
        lambda policy: check_policy(game, policy),
        lambda policy: check_agent(game, policy),
        lambda policy: check_agent(game, upgrade(policy, game, search)),
        lambda policy: check_search(game, search, policy=policy),
        lambda policy: check_belief(game, policy),
    ):
        with pytest.raises(
            ContractError,
            match=r"at seat \d: asked again .*: keep what it remembers in what start and observe "
            r"return, not on self \(self.(inner.)?n changed\)$",
        ):
            check(keeper())


class Caching(First):
    """Keeps what it worked out, which changes no move; memories are what start and observe give."""

    def __init__(self):
        self.found = {}

    def act(self, view, legal, memory, rng):
        moves = []
        for key, row, held in zip(view.keys(), legal, memory, strict=True):
            allowed = np.flatnonzero(row)
            if key not in self.found:
                self.found[key] = [int(a) for a in allowed]
            moves.append(self.found[key][int(held) % len(allowed)])
        return np.array(moves)


class CachingAlone(Caching):
    """Breaks another rule, too."""

    def act(self, view, legal, memory, rng):
        return super().act(view, legal, memory, rng) if len(view) > 1 else last(legal)


def test_a_policy_without_its_probabilities_passes_with_a_warning(caplog):
    game = OpenSpielGame(SMALL_HANABI)
    check_policy(game, UniformPolicy())
    assert not caplog.records

    class Silent(UniformPolicy):
        probabilities = Policy.probabilities

    check_policy(game, Silent())
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("Silent keeps its contract, but is stochastic and does not give its")
    with pytest.raises(UnsupportedError, match="is stochastic and does not give its"):
        upgrade(Silent(), game)


def test_a_cache_is_no_memory():
    game = OpenSpielGame(SMALL_HANABI)
    check_policy(game, Caching())
    check_agent(game, Caching())
    says = r"alone than in a batch \(self.found changed meanwhile: keep what it remembers in"
    with pytest.raises(ContractError, match=says):
        check_policy(game, CachingAlone())


def test_a_function_that_remembers_is_told_of_its_state():
    calls = []

    def f(obs, mask):
        calls.append(len(obs))
        return mask.argmax(axis=1) if len(calls) > 5 else last(mask)

    with pytest.raises(ContractError, match="takes a state, by initial_state, and returns the"):
        check_policy(OpenSpielGame(SMALL_HANABI), from_callable(f, returns="actions"))


# Beliefs


class Adjusted(EnumeratedBelief):
    """Bends the weights of the support by ``bend``."""

    @staticmethod
    def bend(belief, weights):
        return weights

    def support(self):
        worlds, weights = super().support()
        return worlds, self.bend(self, weights)

    def update(self, event, view):
        after = super().update(event, view)
        after.__class__ = type(self)
        return after


class Unnormalised(Adjusted):
    @staticmethod
    def bend(belief, weights):
        return weights * 2


class Flat(Adjusted):
    @staticmethod
    def bend(belief, weights):
        return np.full(len(weights), 1 / len(weights))


class BiasedSamples(EnumeratedBelief):
    def sample(self, rng, n):
        worlds, memories = super().sample(rng, n)
        rows = np.zeros(n, dtype=np.int64)
        return worlds.select(rows), tuple(m if m is None else m[rows] for m in memories)


class BlindSamples(EnumeratedBelief):
    def sample(self, rng, n):
        worlds = self.game.deal(rng, n)
        return worlds, (None,) * self.game.num_players


class Ignorant(EnumeratedBelief):
    """Takes no move as evidence."""

    def update(self, event, view):
        self.epsilon = 1.0
        return super().update(event, view)


class WithBelief(OpenSpielGame, HasBeliefs):
    def __init__(self, name, kind):
        super().__init__(name)
        self.kind = kind

    def private_belief(self, blueprint, view, *, epsilon=0.0, uncertainty=0.0):
        belief = EnumeratedBelief.start(
            self, blueprint, view, epsilon=epsilon, uncertainty=uncertainty
        )
        belief.__class__ = self.kind
        return belief

    def public_belief(self, blueprint, view, *, epsilon=0.0):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Unnormalised, "sum to 1"),
        (Flat, "Bayes"),
        (BiasedSamples, "samples differ"),
        (BlindSamples, "sees something else"),
        (Ignorant, "Bayes"),
    ],
)
def test_broken_beliefs(kind, says):
    with pytest.raises(ContractError, match=says):
        check_belief(WithBelief(SMALL_HANABI, kind), First())


@pytest.mark.parametrize("name", ["dark_hex(board_size=2)", "dark_hex_ir(board_size=2)"])
def test_hidden_turns_are_part_of_what_is_compared(name):
    """A failed move of dark hex is seen by its mover alone, who moves again."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_belief(load_game(name), "uniform", games=1)


# Agents


class ForkSharing(First):
    """One dictionary for all forks of a memory."""

    def start(self, view):
        return [{"seen": 0} for _ in range(len(view))]

    def observe(self, view, event, memory):
        for entry in memory:
            entry["seen"] += 1
        return memory

    def act(self, view, legal, memory, rng):
        moves = [np.flatnonzero(row) for row in legal]
        return np.array([m[e["seen"] % 3 % len(m)] for m, e in zip(moves, memory, strict=True)])


class Counting(First):
    """Carries state in the object from one decision to the next."""

    def __init__(self):
        self.calls = 0

    def act(self, view, legal, memory, rng):
        self.calls += 1
        return np.array([np.flatnonzero(row)[self.calls % row.sum()] for row in legal])


class PeekingSearch(BeliefAgent):
    """Lets the true deal into its seed."""

    def act(self, view, legal, memory, rng):
        rng.state = rng.state + np.array([sum(s.history()) for s in view._states], dtype=np.uint64)
        return super().act(view, legal, memory, rng)


@pytest.mark.parametrize("name", ["tiny_hanabi", "leduc_poker", SMALL_HANABI])
def test_sound_agents_pass(name):
    game = OpenSpielGame(name)
    check_agent(game, upgrade(UniformPolicy(), game, search=Sparta(rollouts=30)))
    check_agent(game, UniformPolicy())


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (Peeking(), "cannot see"),
        (PeekingEarly(), "cannot see"),
        (Counting(), r"what start and observe return, not on self \(self.calls changed\)"),
        (BatchDependent(), "alone than in a batch"),
        (ForkSharing(), "observe changed the memory"),
        (Illegal(), "act must give a legal move"),
        (InFloats(), "in integers"),
    ],
)
def test_broken_agents(agent, says):
    with pytest.raises(ContractError, match=says):
        check_agent(OpenSpielGame(SMALL_HANABI), agent, games=4)


def test_a_peeking_search_is_caught():
    game = OpenSpielGame(SMALL_HANABI)
    agent = PeekingSearch(game, (UniformPolicy(),) * 2, Sparta(rollouts=30))
    with pytest.raises(ContractError, match="cannot see"):
        check_agent(game, agent)


class Notebook:
    """A memory that holds a list of its own."""

    def __init__(self):
        self.moves = []


class Scribbling(First):
    """Writes into the notebooks that it was given."""

    def start(self, view):
        return [Notebook() for _ in range(len(view))]

    def observe(self, view, event, memory):
        for book, action in zip(memory, event.action.tolist(), strict=True):
            book.moves.append(action)
        return memory


class Copying(Scribbling):
    def observe(self, view, event, memory):
        return super().observe(view, event, copy.deepcopy(memory))


def test_objects_changed_in_place_are_found():
    game = OpenSpielGame("leduc_poker")
    for check, says in (
        (check_policy, "observe changed the old memory"),
        (check_agent, "observe changed the memory it was given"),
    ):
        with pytest.raises(ContractError, match=says):
            check(game, Scribbling())
        check(game, Copying())


class Undeclared(UniformPolicy):
    """Draws its moves, and does not say so."""

    deterministic = True
    probabilities = Policy.probabilities


class Declared(Undeclared):
    deterministic = False


class Whimsical(First):
    """Moves by a generator of its own, which nobody can tell beforehand."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def act(self, view, legal, memory, rng):
        return np.array([self.rng.choice(np.flatnonzero(row)) for row in legal])


@pytest.mark.parametrize(
    ("policy", "kind", "says"),
    [
        (Undeclared(), ContractError, "Undeclared draws its moves .* deterministic = True: set it"),
        (Declared(), UnsupportedError, "Declared is stochastic .*: override probabilities"),
    ],
)
def test_a_stochastic_policy_without_probabilities_is_told_what_it_lacks(policy, kind, says):
    game = OpenSpielGame("leduc_poker")
    with pytest.raises(kind, match=says):
        evaluate(game, (policy, upgrade(policy, game, Sparta(rollouts=10))), games=3)


def test_the_warning_names_what_may_be_stochastic(caplog):
    game = OpenSpielGame("leduc_poker")
    policy = Whimsical()
    agent = upgrade(policy, game, Sparta(rollouts=10, min_rollouts=2))
    evaluate(game, (policy, agent), games=10)
    (line,) = [r.getMessage() for r in caplog.records if "rules out" in r.getMessage()]
    assert "if Whimsical ever moves in another way" in line
    assert "it keeps a memory on self" in line
    assert "it lacks probabilities(view, legal, memory)" in line


class Overwriting(First):
    """Three moves long another than then, counted in lists that it goes on writing to."""

    def start(self, view):
        return [[] for _ in range(len(view))]

    def observe(self, view, event, memory):
        for seen in memory:
            seen.append(1)
        return memory

    def act(self, view, legal, memory, rng):
        last = legal.shape[1] - 1 - legal[:, ::-1].argmax(axis=1)
        few = np.array([len(seen) < 3 for seen in memory])
        return np.where(few, last, legal.argmax(axis=1))


def test_the_warning_names_a_memory_that_was_changed(caplog):
    game = OpenSpielGame("leduc_poker")
    agent = upgrade(Overwriting(), game, Sparta(rollouts=20, min_rollouts=2))
    evaluate(game, (Overwriting(), agent), games=5)
    (line,) = [r.getMessage() for r in caplog.records if "rules out" in r.getMessage()]
    assert "if Overwriting ever moves in another way in the same position, check_policy(" in line
    assert "observe changed the memory it was given, in place of returning a new one" in line
    with pytest.raises(ContractError, match="observe changed the old memory"):
        check_policy(game, Overwriting())


def test_checks_do_not_warn_of_their_own_random_moves(caplog):
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
    search = Sparta(rollouts=20, min_rollouts=2)
    agent = upgrade("smartbot", game, search)
    check_search(game, search, policy="smartbot")
    check_agent(game, agent)
    assert "rules out" not in caplog.text
    agent.warn_of_recovery(0)  # that of a game goes on
    assert "rules out" in caplog.text
