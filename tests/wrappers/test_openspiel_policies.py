"""OpenSpiel's policies, bots and agents as blueprints, on its own games and the native engine."""

import copy
import pickle
import types

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as spiel_policy
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import expected_game_score, mcts, random_agent
from open_spiel.python.bots.policy import PolicyBot
from open_spiel.python.bots.uniform_random import UniformRandomBot

from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.core.errors import (
    ConfigError,
    ContractError,
    HanabiSearchError,
    UnsupportedError,
)
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.testing import check_policy
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, as_policy, load_game, spiel_of

TINY = OpenSpielGame("tiny_hanabi")
KUHN = OpenSpielGame("kuhn_poker")
LEDUC = OpenSpielGame("leduc_poker")
SMALL = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
SMALL_SPIEL = OpenSpielGame("hanabi(players=2,colors=2,ranks=2,hand_size=2)")
THREE = HanabiGame(
    players=3, colors=2, ranks=2, hand_size=1, observation_type="minimal", random_start_player=True
)


def table(spiel, seed=0):
    """A tabular policy with random probabilities."""
    found = spiel_policy.TabularPolicy(spiel)
    mask = found.legal_actions_mask
    drawn = np.random.default_rng(seed).random(mask.shape) * mask
    found.action_probability_array[:] = drawn / drawn.sum(axis=1, keepdims=True)
    return found


class Peeker(spiel_policy.Policy):
    """Prefers a move by the cards of all hands and the whole of the state."""

    def action_probabilities(self, state, player_id=None):
        legal = state.legal_actions()
        return {legal[sum(map(ord, str(state))) % len(legal)]: 1.0}


class Counter(pyspiel.Bot):
    """Remembers how many moves it was told of and how many it made, and moves by that."""

    def __init__(self, player):
        pyspiel.Bot.__init__(self)
        self.player, self.moves = player, 0

    def restart(self):
        self.moves = 0

    def inform_action(self, state, player, action):
        self.moves += player >= 0

    def provides_force_action(self):
        return True

    def force_action(self, state, action):
        self.moves += 3

    def step(self, state):
        legal = state.legal_actions()
        self.moves += 3
        return legal[(self.moves - 3) % len(legal)]


class Stubborn(Counter):
    """The same, but nobody can make it take another move than its own: the last."""

    def provides_force_action(self):
        return False

    def step(self, state):
        return state.legal_actions()[-1]


# --------------------------------------------------------------------------------------- policies


@pytest.mark.parametrize("game", [TINY, KUHN, LEDUC], ids=str)
def test_tabular_policies_keep_their_probabilities(game):
    theirs = table(game.spiel)
    policy = as_policy(theirs, game)
    check_policy(game, policy, games=2)
    worlds = game.deal(np.random.default_rng(0), 5)
    view = worlds.view(0)
    chance = policy.probabilities(view, view.legal, policy.start(view))
    for state, row in zip(worlds.states, chance, strict=True):
        for action, probability in theirs.action_probabilities(state, 0).items():
            assert row[action] == pytest.approx(probability)


def test_self_play_has_openspiels_exact_value():
    theirs = table(KUHN.spiel, seed=1)
    exact = expected_game_score.policy_value(KUHN.spiel.new_initial_state(), [theirs] * 2)
    rng = np.random.default_rng(0)
    played = self_play(
        KUHN.deal(rng, 4_000), (as_policy(theirs, KUHN),) * 2, Streams.spawn(rng, 4_000)
    )
    assert abs(played.returns[:, 0].mean() - exact[0]) < 5 * played.returns[:, 0].std() / 63


@pytest.mark.parametrize("game", [TINY, LEDUC, SMALL, SMALL_SPIEL, THREE], ids=repr)
def test_compiled_policies_of_openspiel(game):
    policy = as_policy(pyspiel.UniformPolicy(), game)
    check_policy(game, policy, games=1)
    worlds = game.deal(np.random.default_rng(0), 3)
    view = worlds.view(int(worlds.current_player[0]))
    rows = view.select(np.flatnonzero(worlds.current_player == view.player))
    ours = UniformPolicy().probabilities(rows, rows.legal, None)
    assert np.allclose(policy.probabilities(rows, rows.legal, policy.start(rows)), ours)


@pytest.mark.parametrize("game", [TINY, KUHN, LEDUC, SMALL, SMALL_SPIEL, THREE], ids=repr)
def test_what_reads_the_whole_state_sees_nothing_hidden(game):
    spiel = spiel_of(game) if isinstance(game, HanabiGame) else game.spiel
    peeker = as_policy(Peeker(spiel, list(range(game.num_players))), game)
    check_policy(game, peeker, games=1)


def test_the_check_would_see_it_peek():
    game = OpenSpielGame("kuhn_poker")
    peeker = as_policy(Peeker(game.spiel, [0, 1]), game, reads="information_state")
    with pytest.raises(Exception, match="cannot see"):
        check_policy(game, peeker, games=8)


def test_native_hanabi_and_openspiels_play_the_same():
    """The same deck and moves: the same hypothetical state, the same probabilities."""
    policies = [as_policy(Peeker(spiel_of(SMALL), [0, 1]), game) for game in (SMALL, SMALL_SPIEL)]
    rng = np.random.default_rng(0)
    for _ in range(5):
        native = SMALL.deal(rng, 1)
        deck = native.rows[0, -SMALL.config.deck_size :].tolist()
        theirs = SMALL_SPIEL.deal_scripts([deck])
        memories = [policy.start(native.view(p)) for p, policy in enumerate((policies[0],) * 2)]
        while not native.terminal[0]:
            p = int(native.current_player[0])
            rows = [
                policy.probabilities(worlds.view(p), worlds.view(p).legal, memory)
                for policy, worlds, memory in zip(
                    policies, (native, theirs), (memories[p], None), strict=True
                )
            ]
            assert np.array_equal(*rows)
            action = np.array([int(rng.choice(np.flatnonzero(native.legal[0])))])
            event = native.step(action)
            theirs.step(action)
            memories = [
                policies[0].observe(native.view(q), event, memory)
                for q, memory in enumerate(memories)
            ]


def test_beliefs_follow_a_policy_of_openspiel():
    theirs = table(TINY.spiel)
    policy = as_policy(theirs, TINY)
    belief = EnumeratedBelief.start(TINY, (policy, policy), TINY.deal_scripts([(0, 0)]).view(0))
    assert belief.size == 2


# ------------------------------------------------------------------------------------------- bots


@pytest.mark.parametrize("game", [TINY, LEDUC, SMALL], ids=repr)
def test_bots_that_remember_are_replayed(game):
    for seat in range(2):
        policy = as_policy(Counter(seat), game)
        rng = np.random.default_rng(seat)
        worlds, moves = game.deal(rng, 1), 0
        memory = policy.start(worlds.view(seat))
        while not worlds.terminal[0]:
            mover, legal = int(worlds.current_player[0]), np.flatnonzero(worlds.legal[0])
            if mover == seat:
                view = worlds.view(seat)
                chance = policy.probabilities(view, view.legal, memory)
                assert chance[0, legal[moves % len(legal)]] == 1.0
            moves += 3 if mover == seat else 1
            event = worlds.step(np.array([rng.choice(legal)]))  # searched moves look like this
            memory = policy.observe(worlds.view(seat), event, memory)
        check_policy(game, as_policy(lambda player, seed: Counter(player), game), games=1)


def test_bots_that_cannot_be_replayed_say_so():
    policy = as_policy(Stubborn(0), LEDUC)
    worlds = LEDUC.deal_scripts([[0, 1, 2]])
    for action in (1, 2):  # the bot's own, and a raise
        worlds.step(np.array([action]))
    view = worlds.view(0)
    with pytest.raises(UnsupportedError, match="no force_action and moves 2 where the history has"):
        policy.probabilities(view, view.legal, None)


def test_ismcts_is_a_blueprint():
    """It resamples what it does not see by a generator of its own, seeded by what its seat saw."""

    def make(player, seed):
        rollouts = pyspiel.RandomRolloutEvaluator(1, seed)
        most_visits = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
        return pyspiel.ISMCTSBot(seed, rollouts, 2.0, 8, 8, most_visits, False, False)

    check_policy(LEDUC, as_policy(make, LEDUC), games=1)
    check_policy(LEDUC, as_policy(make(0, 1), LEDUC), games=1)  # one bot: its first answer stands
    with pytest.raises(UnsupportedError, match="must play tiny_hanabi"):
        view = TINY.deal(np.random.default_rng(0), 1).view(0)
        as_policy(make, TINY).probabilities(view, view.legal, None)
    stateful = as_policy(pyspiel.make_stateful_random_bot(LEDUC.spiel, 0, 1), LEDUC)
    with pytest.raises(UnsupportedError, match=r"must play leduc_poker.*memoryless=False"):
        view = LEDUC.deal(np.random.default_rng(0), 1).view(0)
        stateful.probabilities(view, view.legal, None)


def test_bots_with_a_policy_and_bots_without():
    theirs = table(LEDUC.spiel)
    bot = PolicyBot(0, np.random.RandomState(0), theirs)
    view = LEDUC.deal(np.random.default_rng(0), 3).view(0)
    exact = as_policy(theirs, LEDUC).probabilities(view, view.legal, None)
    given = as_policy(bot, LEDUC, reads="information_state").probabilities(view, view.legal, None)
    assert np.allclose(exact, given)
    uniform = as_policy(pyspiel.make_uniform_random_bot(0, 1), LEDUC)
    assert np.allclose(uniform.probabilities(view, view.legal, None), view.legal / 2)
    # OpenSpiel's random bot of Python says that it gives a policy, and does so in its steps alone.
    random_bot = as_policy(UniformRandomBot(0, np.random.RandomState(0)), LEDUC)
    assert np.allclose(random_bot.probabilities(view, view.legal, None), view.legal / 2)
    with pytest.raises(UnsupportedError, match="plays seat 0, got 1"):
        at = LEDUC.deal_scripts([[0, 1, 2]])
        at.step(np.array([1]))
        as_policy(bot, LEDUC).probabilities(at.view(1), at.view(1).legal, None)


def test_a_bot_made_for_one_seat_says_so_at_another():
    policy = as_policy(pyspiel.make_uniform_random_bot(1, 7), LEDUC)
    with pytest.raises(
        HanabiSearchError, match="as a bot made for another seat: give a bot a seat"
    ):
        evaluate(LEDUC, policy, games=1)
    anywhere = as_policy(pyspiel.make_uniform_random_bot, LEDUC)
    assert len(evaluate(LEDUC, anywhere, games=2).games) == 2


def test_a_class_of_bots_makes_them():
    """Its second argument may be a generator: a seed in its place was found out in mid-game."""
    policy = as_policy(UniformRandomBot, LEDUC)
    scores = [evaluate(LEDUC, policy, games=4).scores for _ in range(2)]
    assert np.array_equal(*scores)
    pickle.loads(pickle.dumps(policy))
    with pytest.raises(UnsupportedError, match=r"the class PolicyBot\(.*write a function"):
        as_policy(PolicyBot, LEDUC)


@pytest.mark.parametrize("game", [TINY, SMALL], ids=repr)
def test_a_random_bot_plays_by_what_it_saw(game):
    """MCTS reads whole states and draws from a generator: both are given from outside."""
    spiel = spiel_of(game) if isinstance(game, HanabiGame) else game.spiel
    draws = types.SimpleNamespace(sample=lambda state, rng: rng.choice(state.legal_actions()))

    def make(player, seed):
        class Sampler(pyspiel.Bot):
            def step(self, state):
                return int(draws.sample(state, np.random.default_rng(seed)))

        bot = Sampler.__new__(Sampler)
        pyspiel.Bot.__init__(bot)
        return bot

    check_policy(game, as_policy(make, game), games=2)
    if game is TINY:

        def search(player, seed):
            rng = np.random.RandomState(seed)
            return mcts.MCTSBot(spiel, 2, 8, mcts.RandomRolloutEvaluator(1, rng), random_state=rng)

        check_policy(game, as_policy(search, game), games=1)


# ----------------------------------------------------------------------------------------- agents


@pytest.mark.parametrize("game", [TINY, LEDUC, SMALL, THREE], ids=repr)
def test_learning_agents(game):
    agents = [
        as_policy(random_agent.RandomAgent(p, game.num_actions), game)
        for p in range(game.num_players)
    ]
    rng = np.random.default_rng(0)
    worlds = game.deal(rng, 2)
    before = np.random.get_state()[1].copy()
    self_play(worlds, tuple(agents), Streams.spawn(rng, 2))
    assert np.array_equal(np.random.get_state()[1], before)
    anyone = random_agent.RandomAgent(0, game.num_actions)
    check_policy(game, as_policy(anyone, game, any_seat=True), games=2)


class Recurrent:
    """Moves by the sum of what it saw on all its turns; a new game begins with a first step."""

    def __init__(self, player_id):
        self.player_id, self.total = player_id, 0

    def step(self, time_step, is_evaluation=False):
        self.total = 0 if time_step.first() else self.total
        self.total += int(sum(time_step.observations["info_state"][self.player_id])) + 1
        legal = time_step.observations["legal_actions"][self.player_id]
        return types.SimpleNamespace(action=legal[self.total % len(legal)], probs=[])


@pytest.mark.parametrize("game", [LEDUC, SMALL], ids=repr)
def test_agents_that_remember_are_replayed(game):
    policy = as_policy(Recurrent(0), game, any_seat=True, memoryless=False)
    check_policy(game, policy, games=2)


def tensor_size(game):
    spiel = spiel_of(game) if isinstance(game, HanabiGame) else game.spiel
    infos = spiel.get_type().provides_information_state_tensor
    return (spiel.information_state_tensor_size if infos else spiel.observation_tensor_size)()


@pytest.mark.parametrize("game", [KUHN, SMALL], ids=repr)
def test_dqn(game):
    pytest.importorskip("torch")
    dqn = pytest.importorskip(
        "open_spiel.python.pytorch.dqn", reason="needs dm-tree", exc_type=ImportError
    )
    agent = dqn.DQN(0, tensor_size(game), game.num_actions, hidden_layers_sizes=[8])
    policy = as_policy(agent, game, any_seat=True)
    check_policy(game, policy, games=1)


def test_agents_that_learn_are_copied_and_pickled():
    """DQN holds a local function, and PolicyGradient, once trained, tensors within a graph."""
    pytest.importorskip("torch")
    dqn = pytest.importorskip("open_spiel.python.pytorch.dqn", exc_type=ImportError)
    gradient = pytest.importorskip("open_spiel.python.pytorch.policy_gradient")
    sizes = tensor_size(KUHN), KUHN.num_actions
    given = {"hidden_layers_sizes": [8], "batch_size": 1, "num_critic_before_pi": 1}
    agents = [gradient.PolicyGradient(p, *sizes, **given) for p in range(2)]
    environment = rl_environment.Environment(KUHN.spiel)
    step = environment.reset()
    while not step.last():
        step = environment.step([agents[step.current_player()].step(step).action])
    agents[0].step(step)
    view = KUHN.deal(np.random.default_rng(0), 3).view(0)
    for agent in (dqn.DQN(0, *sizes, hidden_layers_sizes=[8]), agents[0]):
        policy = as_policy(agent, KUHN)
        said = policy.probabilities(view, view.legal, None)
        for copied in (copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))):
            assert copied.thing is not agent
            assert np.array_equal(copied.probabilities(view, view.legal, None), said)


def test_networks_of_another_observation_say_so():
    pytest.importorskip("torch")
    dqn = pytest.importorskip("open_spiel.python.pytorch.dqn", exc_type=ImportError)
    ppo = pytest.importorskip("open_spiel.python.pytorch.ppo", exc_type=ImportError)
    view = KUHN.deal(np.random.default_rng(0), 2).view(0)
    for agent in (
        dqn.DQN(0, 12, 2, hidden_layers_sizes=[8]),
        ppo.PPO((12,), 2, 2, agent_fn=ppo.PPOAgent),
    ):
        with pytest.raises(
            UnsupportedError, match=r"must take the info_state of kuhn.* 11 numbers"
        ):
            as_policy(agent, KUHN).probabilities(view, view.legal, None)


@pytest.mark.parametrize("game", [KUHN, SMALL], ids=repr)
def test_ppo(game):
    torch = pytest.importorskip("torch")
    ppo = pytest.importorskip("open_spiel.python.pytorch.ppo", exc_type=ImportError)
    agent = ppo.PPO((tensor_size(game),), game.num_actions, 2, agent_fn=ppo.PPOAgent)
    policy = as_policy(agent, game, any_seat=True)
    before = torch.get_rng_state()
    view = game.deal(np.random.default_rng(0), 4).view(0)
    chance = policy.probabilities(view, view.legal, policy.start(view))
    assert torch.equal(torch.get_rng_state(), before)
    seen = view.observation("openspiel" if game is SMALL else "tensor").reshape(4, -1)
    logits = agent.network.actor(torch.tensor(seen, dtype=torch.float32)).detach().numpy()
    expected = np.exp(np.where(view.legal, logits, -np.inf))
    assert np.allclose(chance, expected / expected.sum(axis=1, keepdims=True), atol=1e-5)


# ----------------------------------------------------------------------------------------- errors


def test_bad_input_is_named():
    with pytest.raises(UnsupportedError, match="a function that makes a Bot, got int"):
        as_policy(3, TINY)
    with pytest.raises(UnsupportedError, match="expected a Game of this package"):
        as_policy(pyspiel.UniformPolicy(), "kuhn_poker")
    with pytest.raises(UnsupportedError, match=r"expected a policy for kuhn_poker.* leduc_poker"):
        as_policy(table(pyspiel.load_game("leduc_poker")), KUHN)
    with pytest.raises(UnsupportedError, match="got a UniformRandomPolicy for kuhn_poker"):
        three = pyspiel.load_game("kuhn_poker(players=3)")
        as_policy(spiel_policy.UniformRandomPolicy(three), KUHN)
    with pytest.raises(ConfigError, match="reads must be one of state, information_state"):
        as_policy(pyspiel.UniformPolicy(), TINY, reads="cards")
    with pytest.raises(
        UnsupportedError, match=r"with the 3 actions of tiny_hanabi\(\), got RandomAgent"
    ):
        as_policy(random_agent.RandomAgent(0, 5), TINY)
    with pytest.raises(UnsupportedError, match="plays seat 0, got 1"):
        as_policy(random_agent.RandomAgent(0, 3), TINY).start(
            TINY.deal(np.random.default_rng(0), 1).view(1)
        )
    with pytest.raises(UnsupportedError, match="got a view of"):
        as_policy(pyspiel.UniformPolicy(), TINY).start(
            KUHN.deal(np.random.default_rng(0), 1).view(0)
        )
    with pytest.raises(UnsupportedError, match="plays the seats"):
        one = spiel_policy.Policy(TINY.spiel, [0])
        as_policy(one, TINY).start(TINY.deal(np.random.default_rng(0), 1).view(1))
    with pytest.raises(UnsupportedError, match="max_deals=10"):
        few = OpenSpielGame("leduc_poker", max_deals=10)
        view = few.deal(np.random.default_rng(0), 1).view(0)
        as_policy(Peeker(few.spiel, [0, 1]), few).probabilities(view, view.legal, None)


@pytest.mark.parametrize("kind", ["policy", "bot", "agent"])
def test_masks_of_another_shape_are_named(kind):
    things = {"policy": pyspiel.UniformPolicy(), "bot": Counter(0), "agent": Recurrent(0)}
    view = TINY.deal(np.random.default_rng(0), 2).view(0)
    with pytest.raises(ContractError, match=r"must be of shape \(2, 3\), got \(2, 4\)"):
        as_policy(things[kind], TINY).probabilities(view, np.ones((2, 4), dtype=bool), None)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({7: 1.0}, "actions from 0 to 2, got 7"),
        ({0: 0.4}, "sum to 1, got a sum of 0.4"),
        ({}, "sum to 1, got a sum of 0"),
        (np.ones(4) / 4, r"must give 3 probabilities.*shape \(4,\)"),
        ({"1": 1.0}, "actions from 0 to 2, got '1'"),
        ({1: "all"}, "must give probabilities, got 'all'"),
        ("first", "must give probabilities, got 'first'"),
    ],
)
def test_bad_probabilities_are_named(answer, says):
    class Wrong(spiel_policy.Policy):
        def action_probabilities(self, state, player_id=None):
            return answer

    policy = as_policy(Wrong(TINY.spiel, [0, 1]), TINY)
    view = TINY.deal(np.random.default_rng(0), 1).view(0)
    with pytest.raises(UnsupportedError, match=says):
        policy.probabilities(view, view.legal, None)


@pytest.mark.parametrize("move", [None, "1", 1.5, 3], ids=repr)
def test_bad_moves_are_named(move):
    class Wrong(Counter):
        def step(self, state):
            return move

    class Agent(Recurrent):
        def step(self, time_step, is_evaluation=False):
            return types.SimpleNamespace(action=move, probs=[])

    view = TINY.deal(np.random.default_rng(0), 1).view(0)
    for thing in (Wrong(0), Agent(0)):
        with pytest.raises(UnsupportedError, match=f"must give actions from 0 to 2, got {move!r}"):
            as_policy(thing, TINY).probabilities(view, view.legal, None)


def test_policies_of_ours_stay_and_others_travel():
    ours = UniformPolicy()
    assert as_policy(ours, TINY) is ours
    policy = as_policy(table(KUHN.spiel), KUHN)
    view = KUHN.deal(np.random.default_rng(0), 2).view(0)
    for copied in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        again = copied.probabilities(view, view.legal, None)
        assert np.array_equal(again, policy.probabilities(view, view.legal, None))


def test_agents_over_bots_are_copied_and_say_why_they_are_not_pickled():
    made = as_policy(make_counter, SMALL)
    for policy in (as_policy(Counter(0), SMALL), made):
        copied = copy.deepcopy(policy)
        view = SMALL.deal(np.random.default_rng(0), 1).view(0)
        rows = [p.probabilities(view, view.legal, p.start(view)) for p in (policy, copied)]
        assert np.array_equal(*rows)
    assert pickle.loads(pickle.dumps(made)).make is make_counter
    with pytest.raises(UnsupportedError, match="a Counter cannot be pickled; give as_policy a fun"):
        pickle.dumps(as_policy(Counter(0), SMALL))
    compiled = as_policy(pyspiel.UniformPolicy(), SMALL)
    assert copy.deepcopy(compiled).thing is compiled.thing
    with pytest.raises(UnsupportedError, match=r"give as_policy a policy of open_spiel\.python"):
        pickle.dumps(compiled)


def make_counter(player, seed):
    return Counter(player)


def test_a_simultaneous_game_with_a_whole_state_policy():
    game = load_game("goofspiel(num_cards=3,imp_info=true,points_order=descending)")
    check_policy(game, as_policy(Peeker(game.spiel, [0, 1]), game), games=2)
