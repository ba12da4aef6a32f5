"""OpenSpiel's hanabi and the native engine, converted into each other in random games."""

import numpy as np
import pyspiel
import pytest

from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import UNSEEN
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import HANDS, HIDDEN_CARD, NO_CARD
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.testing import check_game
from hanabi_search_plugin.wrappers._openspiel_hanabi import HistoryRecord
from hanabi_search_plugin.wrappers.openspiel import (
    OpenSpielGame,
    config_of,
    from_state,
    history_of,
    hypothetical_state,
    initial_state,
    load_game,
    sorted_deck,
    spiel_of,
    to_state,
)
from tests.helpers.openspiel_hanabi import random_config


def advance(state, rng):
    """Play all chance, then say who moves and which moves there are."""
    while state.is_chance_node() and not state.is_terminal():
        actions, chances = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(int(rng.choice(actions, p=np.array(chances) / sum(chances))))


def games(n, seed=0):
    """(native game, every decision and end of a random game of OpenSpiel, generator)"""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        game = HanabiGame(random_config(rng))
        state, states = spiel_of(game).new_initial_state(), []
        advance(state, rng)
        while not state.is_terminal():
            states.append(state.clone())
            state.apply_action(int(rng.choice(state.legal_actions())))
            advance(state, rng)
        yield game, [*states, state], rng


def deck_and_actions(state):
    history = state.full_history()
    deck = [item.action for item in history if item.player == pyspiel.PlayerId.CHANCE]
    return deck, [item.action for item in history if item.player >= 0]


def check_same(state, worlds):
    """Returns, legal actions and observations of all seats."""
    assert worlds.terminal[0] == state.is_terminal()
    assert worlds.returns[0].tolist() == state.returns()
    legal = [] if state.is_terminal() else state.legal_actions()
    assert np.flatnonzero(worlds.legal[0]).tolist() == legal
    for p in range(worlds.game.num_players):
        theirs = np.array(state.observation_tensor(p), dtype=np.float32)
        assert np.array_equal(worlds.view(p).observation("openspiel")[0], theirs)


def test_states_become_native_worlds():
    for _, states, rng in games(60):
        for state in {0: states[0], 1: states[len(states) // 2], 2: states[-1]}.values():
            check_same(state, from_state(state))
            check_same(state, from_state(state, rng=rng))


def test_a_converted_world_plays_on_as_openspiel_does():
    for _, states, _ in games(20, seed=1):
        deck, actions = deck_and_actions(states[-1])
        middle = len(actions) // 2
        worlds = from_state(states[middle])
        at = -worlds.game.config.deck_size
        rest = sorted_deck(worlds.game)
        for card in deck:
            rest.remove(card)
        worlds.rows[0, at:] = [*deck, *rest]
        for action in actions[middle:]:
            worlds.step(np.array([action]))
        check_same(states[-1], worlds)


def test_decks_and_actions_become_states():
    for game, states, _ in games(60, seed=2):
        deck, actions = deck_and_actions(states[-1])
        again = to_state(game, deck, actions, states[0].current_player())
        assert str(again) == str(states[-1])
        assert again.history() == states[-1].history()
        assert again.returns() == states[-1].returns()


def test_histories_hold_what_a_seat_sees():
    for game, states, rng in games(30, seed=3):
        seat = int(rng.integers(game.num_players))
        history = history_of(states[-1], seat)
        assert [int(e.action[0]) for e in history.events] == deck_and_actions(states[-1])[1]
        for state, view in zip(states, history.views, strict=True):
            theirs = np.array(state.observation_tensor(seat), dtype=np.float32)
            assert np.array_equal(view.observation("openspiel")[0], theirs)
            if game.config.observation_type != "seer":
                own = HANDS + seat * game.config.hand_size
                assert not set(view.rows[0, own : own + game.config.hand_size]) - {
                    HIDDEN_CARD,
                    NO_CARD,
                }


def test_hypothetical_states_look_the_same_to_their_seat():
    """In a "minimal" game, too, where the view has forgotten the hints that the hand must fit."""
    for game, states, rng in games(60, seed=4):
        state = states[int(rng.integers(len(states)))]
        seat = int(rng.integers(game.num_players))
        history = history_of(state, seat)
        guess = hypothetical_state(history, seed=5)
        assert guess.observation_string(seat) == state.observation_string(seat)
        assert guess.observation_tensor(seat) == state.observation_tensor(seat)
        assert deck_and_actions(guess)[1] == deck_and_actions(state)[1]
        again = history_of(guess, seat)
        assert [v.keys() for v in again.views] == [v.keys() for v in history.views]
        assert str(hypothetical_state(again, seed=5)) == str(guess)


def test_a_record_takes_what_its_view_shows():
    """The memory of a belief that has recovered is that of another hand than the world's."""
    rng = np.random.default_rng(0)
    game = HanabiGame(players=3, colors=2, ranks=3, hand_size=2, life_tokens=4)
    for _ in range(5):
        decks = [rng.permutation(sorted_deck(game)).tolist() for _ in range(2)]
        remembered, worlds = (game.from_decks(np.array([deck])) for deck in decks)
        record, moves = HistoryRecord.start(remembered.view(0)), [2, 3, 2]  # cards played
        for k, move in enumerate(moves):
            worlds.step(np.array([move]))
            record = record.observe(worlds.view(0), k, move)
        guess, truth = record.state(worlds.view(0)), to_state(game, decks[1], moves)
        assert guess.observation_string(0) == truth.observation_string(0)
        assert guess.observation_tensor(0) == truth.observation_tensor(0)


def test_hypothetical_hands_vary_with_the_seed_alone():
    game = HanabiGame(players=2)
    worlds = game.deal(np.random.default_rng(0), 1)
    record = HistoryRecord.start(worlds.view(0))
    hands = {tuple(record.dealt(worlds.view(0), seed)[:5]) for seed in range(20)}
    assert len(hands) > 15
    assert {tuple(record.dealt(worlds.view(0), seed)[5:]) for seed in range(20)} == {
        tuple(record.deck[5:])
    }
    assert record.deck[:5] == (UNSEEN,) * 5


@pytest.mark.parametrize("observation_type", ["minimal", "card_knowledge", "seer"])
def test_hanabi_goes_to_the_native_engine(observation_type):
    text = (
        "hanabi(players=3,colors=2,ranks=3,hand_size=2,max_information_tokens=4,"
        f"max_life_tokens=2,random_start_player=true,observation_type={observation_type})"
    )
    expected = HanabiConfig(
        players=3, colors=2, ranks=3, hand_size=2, information_tokens=4, life_tokens=2,
        random_start_player=True, observation_type=observation_type,
    )  # fmt: skip
    for given in (text, pyspiel.load_game(text)):
        game = load_game(given)
        assert isinstance(game, HanabiGame) and game.config == expected
    assert config_of(spiel_of(game)) == expected
    assert load_game("hanabi") == HanabiGame()
    assert load_game("hanabi(players=4)").config.hand_size == 4


def test_random_configurations_are_kept():
    rng = np.random.default_rng(6)
    for _ in range(100):
        game = HanabiGame(random_config(rng))
        assert load_game(spiel_of(game)) == game


def test_other_games_are_kept_with_their_parameters():
    spiel = pyspiel.load_game("kuhn_poker(players=3)")
    game = load_game(spiel)
    assert isinstance(game, OpenSpielGame) and game.spiel is spiel
    assert load_game("kuhn_poker(players=3)").num_players == 3


@pytest.mark.parametrize(
    "name", ["matrix_pd", "goofspiel(num_cards=3,imp_info=true)", "coop_box_pushing(horizon=3)"]
)
def test_simultaneous_games_go_through_turns(name):
    game = load_game(name)
    assert game.spiel.get_type().dynamics == pyspiel.GameType.Dynamics.SEQUENTIAL
    assert not game.public_actions
    check_game(game, games=3)
    worlds = game.deal(np.random.default_rng(0), 2)
    event = worlds.step(np.array([0, 1]))
    history = [game.history(state, 1) for state in worlds.states]
    assert event.seen_by(1, game).action.tolist() == [UNSEEN, UNSEEN]
    assert history[0].views[-1].keys() == history[1].views[-1].keys()
    assert history[0].events[-1].action[0] == UNSEEN
    strings = {game.string(state, 1) for state in worlds.states}
    assert len(strings) == 1 and not {"", None} & strings


def test_a_random_first_player_is_found():
    game = HanabiGame(players=4, random_start_player=True)
    deck = sorted_deck(game)
    for first in range(4):
        assert to_state(game, deck, [], first).current_player() == first
    with pytest.raises(ConfigError, match="first_player must be from 0 to 0, got 1"):
        initial_state(HanabiGame(players=4), 1)


def test_bad_input_is_named():
    game = HanabiGame()
    deck = sorted_deck(game)
    with pytest.raises(ConfigError, match="colors must be from 1 to 5, got 6"):
        load_game("hanabi(colors=6)")
    with pytest.raises(ConfigError, match="hand_size"):
        load_game("hanabi(players=2,hand_size=9)")
    with pytest.raises(UnsupportedError, match=r"expected a pyspiel.Game or a string, got int"):
        load_game(3)
    with pytest.raises(ConfigError, match="ends after 3 cards"):
        to_state(game, deck[:3], [])
    with pytest.raises(ConfigError, match="got 4 of card 0"):
        to_state(game, [0] * 4, [])
    with pytest.raises(IllegalActionError, match="move 0 must be one of"):
        to_state(game, deck, [99])
    state = spiel_of(game).new_initial_state()
    with pytest.raises(UnsupportedError, match="chance node"):
        from_state(state)
    with pytest.raises(UnsupportedError, match="expected a game of hanabi, got kuhn_poker"):
        from_state(pyspiel.load_game("kuhn_poker").new_initial_state())
    with pytest.raises(UnsupportedError, match=r"expected a state of HanabiGame\(players=3\)"):
        from_state(state, game=HanabiGame(players=3))
    worlds = game.deal(np.random.default_rng(0), 1)
    worlds.step(np.flatnonzero(worlds.legal[0])[:1])
    with pytest.raises(UnsupportedError, match="got one after 1 move"):
        HistoryRecord.start(worlds.view(0))


def test_bomb_may_be_another():
    game = HanabiGame(bomb="keep")
    state = to_state(game, sorted_deck(game), [])
    assert from_state(state, game=game).game == game
