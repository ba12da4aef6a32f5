"""The adapter of OpenSpiel games against OpenSpiel itself."""

import pickle

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import BeliefAgent, upgrade
from hanabi_search_plugin.beliefs.particles import Particles
from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import UNSEEN
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.testing import check_game
from hanabi_search_plugin.wrappers._openspiel_worlds import OpenSpielWorlds
from hanabi_search_plugin.wrappers.openspiel import OpenSpielDealtGame, OpenSpielGame, load_game

SMALL_HANABI = "hanabi(players=2,colors=2,ranks=2,hand_size=2)"
GOOFSPIEL = "turn_based_simultaneous_game(game=goofspiel(num_cards=3))"


@pytest.mark.parametrize(
    "name",
    ["tiny_hanabi", "kuhn_poker", "leduc_poker", "tiny_bridge_2p", "tic_tac_toe", "liars_dice",
     SMALL_HANABI, "hanabi(players=3,colors=2,ranks=2,hand_size=1,max_life_tokens=1)", GOOFSPIEL],
)  # fmt: skip
def test_keeps_the_contract(name):
    check_game(OpenSpielGame(name), games=4)


@pytest.mark.parametrize("name", ["tiny_hanabi", "kuhn_poker", "leduc_poker", "tiny_bridge_2p"])
def test_dealt_games_keep_the_contract(name):
    check_game(OpenSpielDealtGame(name), games=4)


@settings(max_examples=15, deadline=None)
@given(
    players=st.integers(2, 3),
    colors=st.integers(1, 3),
    ranks=st.integers(2, 3),
    lives=st.integers(1, 3),
    seed=st.integers(0, 2**32),
)
def test_hanabi_step_by_step_as_openspiel_plays_it(players, colors, ranks, lives, seed):
    """The same chance and moves: the same views, masks and returns, rewards summed as played."""
    text = f"hanabi(players={players},colors={colors},ranks={ranks},hand_size=1,"
    game = OpenSpielGame(text + f"max_life_tokens={lives})")
    rng = np.random.default_rng(seed)
    state, chance, rewards = game.spiel.new_initial_state(), [], np.zeros(players)
    moves = []
    while not state.is_terminal():
        if state.is_chance_node():
            chance.append(int(rng.choice([a for a, _ in state.chance_outcomes()])))
            state.apply_action(chance[-1])
        else:
            moves.append(int(rng.choice(state.legal_actions())))
            state.apply_action(moves[-1])
            rewards += state.rewards()
    worlds, again = game.deal_scripts([chance]), game.spiel.new_initial_state()
    chance.reverse()
    for move in [*moves, None]:
        while again.is_chance_node():
            again.apply_action(chance.pop())
        for p in range(players):
            view = worlds.view(p)
            assert view.observation("string")[0] == again.observation_string(p)
            assert np.array_equal(view.observation("tensor")[0], again.observation_tensor(p))
        assert worlds.returns[0].tolist() == again.returns()
        if move is not None:
            assert worlds.legal[0].tolist() == [bool(x) for x in again.legal_actions_mask()]
            worlds.step(np.array([move]))
            again.apply_action(move)
    assert worlds.terminal[0]
    assert worlds.returns[0].tolist() == rewards.tolist()


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "tiny_bridge_2p", "tiny_hanabi"])
def test_information_states_where_the_game_has_them(name):
    game = OpenSpielGame(name)
    worlds = game.deal(np.random.default_rng(0), 3)
    for p in range(2):
        view = worlds.view(p)
        for b, state in enumerate(worlds.states):
            tensor = view.observation("tensor")[b].ravel()
            assert np.allclose(tensor, state.information_state_tensor(p))
            assert view.keys()[b] == state.information_state_string(p)


def test_keeps_the_callers_object():
    spiel = pyspiel.load_game("kuhn_poker(players=3)")
    game = OpenSpielGame(spiel)
    assert game.spiel is spiel
    assert game.num_players == 3
    assert game.rewards == "zero_sum"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no_such_game", "no_such_game"),
        ("hanabi(foo=2)", "foo"),
        ("hanabi(players=2", "bracket"),
        ("hanabi(colors=6)", "colors must be from 1 to 5, got 6"),
        ("hanabi(players=7)", "players must be from 2 to 5, got 7"),
        ("hanabi(max_life_tokens=0)", "life_tokens"),
        ("kuhn_poker(players=99)", "kuhn_poker"),
        ("", "OpenSpiel has no game ''"),
        ("nfg_game", "cannot load 'nfg_game'"),
    ],
)
def test_bad_names_and_parameters(text, says):
    with pytest.raises(ConfigError, match=says):
        OpenSpielGame(text)


@pytest.mark.parametrize("take", [OpenSpielGame, load_game])
def test_what_is_no_game_is_named(take):
    with pytest.raises(UnsupportedError, match=r"expected a pyspiel.Game or a string, got int"):
        take(3)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("goofspiel", r"got goofspiel, which is simultaneous: .*convert_to_turn_based"),
        ("mfg_garnet", "got mfg_garnet, a mean field"),
        ("bridge_uncontested_bidding", "chance from a generator of its own"),
        (
            "hanabi(players=2,random_start_player=true)",
            r"who begins .*: load_game\(game\) plays it",
        ),
    ],
)
def test_games_that_cannot_be_searched_are_refused(text, says):
    with pytest.raises(UnsupportedError, match=says):
        OpenSpielGame(text)


@pytest.mark.skipif(
    "crossword" not in pyspiel.registered_names(), reason="this OpenSpiel has no crossword"
)
def test_a_game_that_has_not_the_tensor_it_says_is_read_as_text():
    assert OpenSpielGame("crossword").encodings == ("string",)


def test_games_of_every_kind_are_taken_as_they_are():
    OpenSpielGame(pyspiel.convert_to_turn_based(pyspiel.load_game("goofspiel(num_cards=3)")))
    import open_spiel.python.games  # noqa: F401  # registers those written in Python

    game = OpenSpielGame("python_liars_poker(hand_length=2,num_digits=2)")
    again = pickle.loads(pickle.dumps(game))
    assert again.spiel == game.spiel
    assert again.deal(np.random.default_rng(0), 1).view(0).keys() == (
        game.deal(np.random.default_rng(0), 1).view(0).keys()
    )


def test_simultaneous_moves_stay_hidden():
    game = OpenSpielGame(GOOFSPIEL)
    assert not game.public_actions
    event = game.deal(np.random.default_rng(0), 1).step(np.array([2]))
    assert event.seen_by(0, game).action[0] == 2
    assert event.seen_by(1, game).action[0] == UNSEEN


def test_the_kth_chance_event_takes_the_kth_number():
    game = OpenSpielGame(SMALL_HANABI)
    rng = np.random.default_rng(3)
    worlds = game.deal(rng, 5)
    streams = Streams.spawn(np.random.default_rng(3), 5)
    draws = np.stack([streams.uniform() for _ in range(4)])
    for b, state in enumerate(worlds.states):
        again = game.spiel.new_initial_state()
        for u in draws[:, b]:
            actions, chance = zip(*again.chance_outcomes(), strict=True)
            again.apply_action(actions[int((np.cumsum(chance) > u).argmax())])
        assert again.history() == state.history()


def test_scripts_are_copied_and_end():
    game = OpenSpielGame("leduc_poker")
    worlds = game.deal_scripts([[0, 5, 3], [0, 5, 2], [0, 5]])
    copy = worlds.select(np.array([1, 0]))
    for batch in (copy, worlds.select(np.array([0, 1]))):
        for _ in range(2):
            batch.step(np.array([1, 1]))
    assert [s.history()[4] for s in copy.states] == [2, 3]
    last = worlds.select(np.array([2]))
    last.step(np.array([1]))
    with pytest.raises(IllegalActionError, match="script"):
        last.step(np.array([1]))
    with pytest.raises(IllegalActionError, match="script"):
        game.deal_scripts([[0, 0]])


def test_deals_have_openspiels_probabilities():
    worlds, chance = OpenSpielGame(SMALL_HANABI).deals()
    first = {}
    for state, p in zip(worlds.states, chance, strict=True):
        first[state.history()[0]] = first.get(state.history()[0], 0) + p
    assert first == pytest.approx({0: 3 / 8, 1: 1 / 8, 2: 3 / 8, 3: 1 / 8})


def test_too_many_deals_are_refused():
    with pytest.raises(UnsupportedError, match="max_deals=1000"):
        OpenSpielGame("hanabi", max_deals=1000).deals()


def test_a_game_whose_deals_are_slow_is_refused_before_they_are_dealt(monkeypatch):
    """A deal of bridge takes a tenth of a second: listing 50,000 of them took hours."""
    game = OpenSpielGame("bridge")
    monkeypatch.setattr(game, "deal_some", lambda *given: pytest.fail("a game was dealt"))
    with pytest.raises(UnsupportedError, match="more than max_deals=50000 deals"):
        upgrade(UniformPolicy(), game, Sparta(rollouts=10))
    agent = BeliefAgent(game, (UniformPolicy(),) * 4, Sparta(rollouts=10))
    with pytest.raises(UnsupportedError, match="more than max_deals=50000 deals"):
        evaluate(game, (UniformPolicy(),) * 3 + (agent,), games=2)
    few = OpenSpielGame("leduc_poker")
    few.require_few_deals()
    assert len(few.deals()[0]) == 30


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "euchre",
            r"belief=Redealt\(\) of wrappers.openspiel, on the command line --belief redealt",
        ),
        ("bridge", r"bridge\.BridgeBidding\(\), .*--game bridge, .*belief=Seatwise\(\)"),
        ("skat", "no belief of this package draws its worlds"),
        ("blackjack", "no belief of this package draws its worlds"),
        ("tic_tac_toe", ""),
    ],
)
def test_a_refusal_names_a_belief_that_works(name, says):
    """It named particles for all of them, which find no deal that shows a hand of cards."""
    game = OpenSpielGame(name)
    if not says:
        assert game.belief_to_use == ""
        return
    with pytest.raises(UnsupportedError, match=rf"more than max_deals=50000 .*{says}.*max_deals="):
        upgrade(UniformPolicy(), game, Sparta(rollouts=10))


def test_particles_name_a_better_belief():
    game = OpenSpielGame("euchre")
    view = game.deal(np.random.default_rng(0), 1).view(0)
    with pytest.raises(UnsupportedError, match=r"0 of 4000 deals .*belief=Redealt\(\)"):
        Particles(1_000)((UniformPolicy(),) * 4, view)


def test_some_deals_are_those_of_all():
    game = OpenSpielGame("kuhn_poker")
    rows = np.array([200, 3])
    some = game.deal_some(np.random.default_rng(5), 256, rows)
    every = game.deal(np.random.default_rng(5), 256).select(rows)
    assert [s.history() for s in some.states] == [s.history() for s in every.states]
    assert some.streams.state.tolist() == every.streams.state.tolist()


def test_only_the_games_asked_for_are_dealt(monkeypatch):
    dealt = []
    init = OpenSpielWorlds.__init__

    def counting(self, game, states, *given):
        dealt.append(len(states))
        init(self, game, states, *given)

    monkeypatch.setattr(OpenSpielWorlds, "__init__", counting)
    evaluate(OpenSpielGame("kuhn_poker"), UniformPolicy(), games=4, seed=1)
    assert max(dealt) == 4


def test_redeterminize_draws_from_the_information_set():
    """Kuhn poker: the other's card is either of the two left, its bet notwithstanding."""
    game = OpenSpielGame("kuhn_poker")
    worlds = game.deal_scripts([[0, 2]])
    worlds.step(np.array([1]))
    many = worlds.select(np.zeros(600, dtype=np.int64))
    drawn = game.redeterminize(many, 1, Streams.spawn(np.random.default_rng(0), 600))
    hands = [tuple(s.history()) for s in drawn.states]
    assert set(hands) == {(0, 2, 1), (1, 2, 1)}
    assert 240 < hands.count((0, 2, 1)) < 360


def test_restore_plays_the_move_in_the_truth():
    game = OpenSpielGame("kuhn_poker")
    rng = Streams.spawn(np.random.default_rng(0), 1)
    truth = game.deal_scripts([[0, 2]])
    other = game.deal_scripts([[1, 2]])
    other.step(np.array([1]))
    restored = game.restore(other, 0, truth, rng)
    assert restored.states[0].history() == [0, 2, 1]


def test_restore_gives_up_where_the_truth_forbids_the_chance():
    """Leduc poker: the public card of the guess is in a player's true hand."""
    game = OpenSpielGame("leduc_poker")
    truth, guess = game.deal_scripts([[0, 1], [0, 1, 2]][:1]), game.deal_scripts([[0, 2, 1]])
    for worlds in (truth, guess):
        worlds.step(np.array([1]))
    guess.step(np.array([1]))
    assert guess.states[0].history() == [0, 2, 1, 1, 1]
    assert game.restore(guess, 1, truth, Streams(np.zeros(1, np.uint64))) is None


def test_private_tokens_are_the_deal():
    game = OpenSpielDealtGame("kuhn_poker")
    assert (game.num_factors, game.token_length, game.vocabulary) == (2, 1, 3)
    worlds = game.deal_scripts([[0, 2], [1, 2]])
    worlds.step(np.array([1, 0]))
    rng = Streams.spawn(np.random.default_rng(0), 2)
    assert game.private_tokens(worlds, 0).tolist() == [[0], [1]]
    changed, possible = game.with_private(worlds, 0, np.array([[2], [0]]), rng)
    assert possible.tolist() == [False, True]
    assert [s.history() for s in changed.states] == [[0, 2, 1], [0, 2, 0]]


@pytest.mark.parametrize("name", [SMALL_HANABI, "tic_tac_toe", GOOFSPIEL])
def test_other_games_have_no_private_tokens(name):
    with pytest.raises(UnsupportedError, match="private chance action"):
        OpenSpielDealtGame(name)


def test_history_is_what_a_player_saw():
    game = OpenSpielGame("kuhn_poker")
    worlds = game.deal_scripts([[0, 2]])
    worlds.step(np.array([0]))
    worlds.step(np.array([1]))
    history = game.history(worlds.states[0], 1)
    assert [view.keys()[0] for view in history.views] == ["2", "2p", "2pb"]
    assert [(int(e.player[0]), int(e.action[0])) for e in history.events] == [(0, 0), (1, 1)]
