"""Beliefs over other deals of OpenSpiel's card games."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pyspiel
import pytest

from hanabi_search_plugin import MoIsmcts, Policy, Sparta, Streams, UniformPolicy, upgrade
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.wrappers._openspiel_cards import Holdings
from hanabi_search_plugin.wrappers._openspiel_layout import Layout
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, Redealt, other_deals

GAMES = ("spades", "oh_hell", "gin_rummy", "crazy_eights", "hearts", "euchre")
SMALL = "oh_hell(players=3,num_suits=2,num_cards_per_suit=4,num_tricks_fixed=2)"


class Climbing(Policy):
    """The higher a legal move, the more probable."""

    deterministic = False

    def act(self, view: Any, legal: Any, memory: Any, rng: Streams) -> Any:
        chance = np.cumsum(self.probabilities(view, legal, memory), axis=1)
        return (chance > rng.uniform()[:, None]).argmax(axis=1)

    def probabilities(self, view: Any, legal: Any, memory: Any) -> Any:
        weight = legal * (1.0 + np.arange(legal.shape[1])) ** 2
        return weight / weight.sum(axis=1, keepdims=True)


def random_states(name: str, seed: int) -> list[Any]:
    """The decisions of a game of random moves."""
    rng, states = np.random.default_rng(seed), []
    state = OpenSpielGame(name).deal(rng, 1).states[0].clone()
    while not state.is_terminal() and len(states) < 120:
        states.append(state.clone())
        state.apply_action(int(rng.choice(state.legal_actions())))
        while state.is_chance_node():
            state.apply_action(int(rng.choice([a for a, _ in state.chance_outcomes()])))
    return states


def belief_at(game: OpenSpielGame, state: Any, seat: int, policy: Policy, *, evidence: bool) -> Any:
    """The belief of a seat that has followed the game up to ``state``."""
    history = game.history(state, seat)
    belief = Redealt()((policy,) * game.num_players, history.views[0])
    for event, view in zip(history.events, history.views[1:], strict=True):
        belief = belief.update(event, view, by_blueprint=evidence)
    return belief


def sees(game: OpenSpielGame, state: Any, seat: int) -> list[Any]:
    """All that a seat was shown and allowed, from the rules alone."""
    kind, here, seen = game.spiel.get_type(), game.spiel.new_initial_state(), []
    for action in [*state.history(), None]:
        if not here.is_chance_node() and here.current_player() == seat:
            seen.append(here.legal_actions(seat))
            if kind.provides_information_state_string:
                seen.append(here.information_state_string(seat))
            if kind.provides_observation_string:
                seen.append(here.observation_string(seat))
        if action is not None:
            here.apply_action(action)
    return seen


@pytest.mark.parametrize("name", GAMES)
def test_worlds_show_what_the_seat_has_seen(name: str) -> None:
    game = OpenSpielGame(name)
    states = random_states(name, 1)
    for state in (states[0], states[len(states) // 2], states[-4]):
        seat = state.current_player()
        belief = belief_at(game, state, seat, UniformPolicy(), evidence=False)
        worlds, _ = belief.sample(np.random.default_rng(2), 6)
        truth = sees(game, state, seat)
        assert all(sees(game, world, seat) == truth for world in worlds.states)
        assert (worlds.current_player == seat).all()
    assert belief.size == 1 or {str(s.history()) for s in worlds.states} != {str(state.history())}


@pytest.mark.parametrize("name", GAMES)
def test_hidden_cards_do_not_leak(name: str) -> None:
    """From another state that the seat cannot tell from the truth, the same worlds are drawn."""
    game = OpenSpielGame(name)
    states = random_states(name, 3)
    state = states[len(states) // 2]
    seat = state.current_player()
    belief = belief_at(game, state, seat, UniformPolicy(), evidence=False)
    drawn, _ = belief.sample(np.random.default_rng(0), 4)
    other = next(s for s in drawn.states if s.history() != state.history())
    twin = belief_at(game, other, seat, UniformPolicy(), evidence=False)
    again, _ = twin.sample(np.random.default_rng(0), 4)
    assert [s.history() for s in drawn.states] == [s.history() for s in again.states]


def hands(state: Any, layout: Layout) -> tuple[Any, ...]:
    """Who was dealt what, without the order."""
    history, held = state.history(), dict[Any, list[int]]()
    for place in layout.places:
        held.setdefault(place.owners, []).append(history[place.time])
    return tuple(sorted((tuple(sorted(who)), tuple(sorted(cards))) for who, cards in held.items()))


def brute_force(game: OpenSpielGame, state: Any, seat: int, policy: Policy | None) -> Any:
    """Every deal that agrees with all the seat has seen, by its probability (not normalised)."""
    holdings = Holdings(game, state, seat)
    layout, truth, found = holdings.layout, sees(game, state, seat), Counter[Any]()
    for cards in itertools.permutations(holdings.pool, len(holdings.hidden)):
        at = dict(zip(holdings.hidden, cards, strict=True)) | holdings.known
        here, chance = game.spiel.new_initial_state(), 1.0
        for t, item in enumerate(state.full_history()):
            action = at[layout.place_at[t]] if t in layout.place_at else item.action
            if action not in here.legal_actions():
                break
            if policy is not None and item.player not in (seat, -1):
                legal = np.array([here.legal_actions_mask()], dtype=bool)
                chance *= policy.probabilities(None, legal, None)[0, action]
            here.apply_action(action)
        else:
            if sees(game, here, seat) == truth:
                found[hands(here, layout)] += chance
    return found


@pytest.mark.parametrize("evidence", [False, True])
def test_deals_are_drawn_by_their_probability(evidence: bool) -> None:
    game, policy, n = OpenSpielGame(SMALL), Climbing(), 3_000
    for seed, moves in ((1, 5), (2, 7), (4, 8)):
        state = random_states(SMALL, seed)[moves]
        seat = state.current_player()
        exact = brute_force(game, state, seat, policy if evidence else None)
        belief = belief_at(game, state, seat, policy, evidence=evidence)
        assert evidence or belief.size == len(exact)
        drawn = Counter[Any]()
        for part in range(30 if evidence else 1):  # samples of one call share their proposals
            size = n // 30 if evidence else n
            worlds, _ = belief.sample(np.random.default_rng(part), size)
            drawn.update(hands(world, Layout(game, state)) for world in worlds.states)
        assert set(drawn) <= set(exact)
        total = sum(exact.values())
        for deal, weight in exact.items():
            chance = weight / total
            error = np.sqrt(chance * (1 - chance) / n) * (2 if evidence else 1)
            assert abs(drawn[deal] / n - chance) < 4.5 * error + 0.004


@pytest.mark.parametrize("seed", range(4))
def test_no_deal_of_spades_is_left_out(seed: int) -> None:
    """Late in a hand all hands that allow the moves can be listed; none is missing."""
    game, state = OpenSpielGame("spades"), random_states("spades", seed)[-9]
    seat = state.current_player()
    holdings = Holdings(game, state, seat)
    unplayed = [card for card in holdings.pool if card not in holdings.played]
    start = holdings.draw(np.random.default_rng(0), 1)[0].history()
    places = [place.time for place in holdings.layout.places if start[place.time] in unplayed]
    owner = {t: holdings.layout.places[holdings.layout.place_at[t]].owners for t in places}
    fits = set()
    for cards in itertools.permutations(unplayed):
        split = tuple(sorted((*owner[t], c) for t, c in zip(places, cards, strict=True)))
        if split in fits:
            continue
        deal = list(start)
        for t, card in zip(places, cards, strict=True):
            deal[t] = card
        here = game.spiel.new_initial_state()
        if all(_applied(here, action) for action in deal):
            fits.add(split)
    assert len(unplayed) >= 5 and len(fits) == holdings.sharing.ways


def _applied(state: Any, action: int) -> bool:
    if action not in state.legal_actions():
        return False
    state.apply_action(action)
    return True


def replays(state: Any) -> bool:
    """True if the rules allow all moves of a state's history."""
    here = state.get_game().new_initial_state()
    return all(_applied(here, action) for action in state.history())


@pytest.mark.parametrize("name", ["euchre", "hearts"])
def test_openspiels_own_draws_break_suit(name: str) -> None:
    """In some worlds of its resampling the others could not have moved as they did; in none here.

    Should this fail, the note in docs/games/card_games.md may go.
    """
    game, broken = OpenSpielGame(name), 0
    for state in random_states(name, 5)[20:-1:3] if name == "hearts" else random_states(name, 5):
        seat, rng = state.current_player(), np.random.default_rng(0)
        broken += sum(
            not replays(state.resample_from_infostate(seat, rng.random)) for _ in range(10)
        )
        assert all(replays(world) for world in Holdings(game, state, seat).draw(rng, 5))
    assert broken > 0


@pytest.mark.parametrize("name", ["oh_hell(players=3,num_tricks_fixed=5)", "euchre"])
def test_openspiels_own_draws_tell_which_cards_are_dealt(name: str) -> None:
    """Its resampling shares out the cards that the others hold; some deals here have others.

    Should this fail, the note in docs/games/card_games.md may go.
    """
    game = OpenSpielGame(name)
    state = game.deal(np.random.default_rng(0), 1).states[0]
    seat, rng = state.current_player(), np.random.default_rng(0)

    def dealt(world: Any) -> set[int]:
        return {each.action for each in world.full_history() if each.player < 0}

    theirs = [dealt(state.resample_from_infostate(seat, rng.random)) for _ in range(20)]
    ours = [dealt(world) for world in Holdings(game, state, seat).draw(rng, 20)]
    assert all(cards == dealt(state) for cards in theirs)
    assert any(cards != dealt(state) for cards in ours)


def test_openspiels_own_draws_of_gin_are_the_truth() -> None:
    for state in random_states("gin_rummy", 5)[5:60:9]:
        rng = np.random.default_rng(0)
        again = state.resample_from_infostate(state.current_player(), rng.random)
        assert again.history() == state.history()


def test_searches_play_spades() -> None:
    game = OpenSpielGame("spades")
    with pytest.raises(pyspiel.SpielError):
        state = game.deal(np.random.default_rng(0), 1).states[0]
        state.resample_from_infostate(0, np.random.default_rng(0).random)
    blueprint = (UniformPolicy(),) * 4
    for search in (MoIsmcts(iterations=20), Sparta(rollouts=40, min_rollouts=5)):
        agent = upgrade(UniformPolicy(), game, search, belief=Redealt(proposals=32))
        worlds, chance = (
            game.deal(np.random.default_rng(1), 1),
            Streams.spawn(np.random.default_rng(1), 1),
        )
        memories, mind = start_memories(worlds, blueprint), agent.start(worlds.view(0))
        for _ in range(21):
            player, action = worlds.current_player, choose(worlds, blueprint, memories, chance)
            event = worlds.step(action)
            memories = observe_all(worlds, player, action, blueprint, memories)
            mind = agent.observe(worlds.view(0), event, mind)
            if worlds.current_player[0] == 0:
                result = agent.decide(mind[0], np.random.default_rng(0))
                assert worlds.legal[0, result.action]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("leduc_poker", "do not have the numbers of the cards"),
        ("dou_dizhu", "hidden from some players"),
        ("skat", "hidden from some players"),
        ("liars_dice", "does not deal one deck"),
        ("phantom_ttt", "hidden from some players"),
    ],
)
def test_other_games_are_refused(name: str, words: str) -> None:
    game = OpenSpielGame(name)
    view = game.deal(np.random.default_rng(0), 1).view(0)
    with pytest.raises(UnsupportedError, match=words):
        Redealt()((UniformPolicy(),) * game.num_players, view)


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="proposals"):
        Redealt(proposals=0)
    with pytest.raises(ConfigError, match="uncertainty"):
        Redealt(uncertainty=2.0)


def test_other_deals_by_themselves() -> None:
    """They show the seat what it sees, and differ in what it does not."""
    game = OpenSpielGame("spades")
    state = game.spiel.new_initial_state()
    rng = np.random.default_rng(0)
    while state.is_chance_node():
        state.apply_action(int(rng.choice(state.legal_actions())))
    seat = state.current_player()
    deals = other_deals(game, state, seat, rng, 5)
    seen = [each.observation_string(seat) for each in (state, *deals)]
    assert set(seen) == {state.observation_string(seat)}
    other = (seat + 1) % 4
    assert len({each.observation_string(other) for each in deals}) == 5


KNOCKED = [
    20, 2, 18, 33, 48, 19, 4, 17, 45, 8, 37, 35, 21, 43, 26, 1, 28, 36, 29, 40, 3, 52, 8, 53, 30,
    55, 21, 145, 152, 54,
]  # fmt: skip
"""Gin rummy: seat 1 knocks, lays 3d4d5d and TdJdQd, and keeps four cards of ten points."""


def test_a_knocker_of_gin_keeps_what_its_knock_allows() -> None:
    """Every such hand is counted and drawn; the rules allow no other."""
    game = OpenSpielGame("gin_rummy")
    state = game.initial_state()
    for action in KNOCKED:
        state.apply_action(action)
    holdings, rules = Holdings(game, state, 0), pyspiel.gin_rummy.GinRummyUtils(13, 4, 10)
    gone = {card for meld in state.layed_melds()[1] for card in rules.int_to_meld[meld]} | {21}
    free = [card for card in holdings.pool if card not in gone]
    points = {hand: sum(map(rules.card_value, hand)) for hand in itertools.combinations(free, 4)}
    allowed = {hand for hand, worth in points.items() if worth <= 10}
    rng = np.random.default_rng(1)
    drawn = [tuple(sorted(world.hands()[1])) for world in holdings.draw(rng, 1_500)]
    assert holdings.sharing.ways == len(allowed) == 572
    assert set(drawn) <= allowed and len(set(drawn)) > 0.85 * len(allowed)  # 0.93 are expected
    holdings.limit = None
    anything, played = holdings._sharing(set()), 0
    for _ in range(1_500):
        deal, unseen = holdings._deal(anything, rng)
        holds = {deal[k] for k, place in enumerate(holdings.layout.places) if 1 in place.owners}
        hand = tuple(sorted(holds & set(free)))
        world, _ = holdings.play(deal, unseen)
        assert (world is not None) == (hand in allowed)
        played += world is not None
    assert played > 5
