"""Learned beliefs and LBS, with models that need no training: exact, grounded, broken."""

from __future__ import annotations

import itertools
import runpy
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanabi_search_plugin import Sparta, UniformPolicy, evaluate, load_policy, upgrade
from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.beliefs import past_moves
from hanabi_search_plugin.beliefs.belief_model import BeliefModel, Grounded
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.beliefs.learned_belief import (
    MAX_DRAWS,
    MAX_LISTED_IN_DOUBT,
    Learned,
    LearnedBelief,
)
from hanabi_search_plugin.core.errors import ConfigError, TooFewWorldsError, UnsupportedError
from hanabi_search_plugin.core.game import PAD, Event, History
from hanabi_search_plugin.core.policy import Value, memory_from
from hanabi_search_plugin.core.rollout import action_values, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import play_game
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.testing import check_agent, check_game
from hanabi_search_plugin.wrappers.openspiel import OpenSpielDealtGame

TWO = HanabiGame(players=2, colors=2, ranks=3, hand_size=3, information_tokens=4, life_tokens=2)
THREE = HanabiGame(players=3, colors=2, ranks=3, hand_size=2, information_tokens=4)
TINY = OpenSpielDealtGame("tiny_hanabi")
PAYOFF = np.array(
    [float(x) for x in TINY.spiel.get_parameters()["payoff"].split(";")]
).reshape(2, 2, 3, 3)  # fmt: skip
POMDP = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "14_a_pomdp.py"))


@dataclass(frozen=True)
class Exact(BeliefModel):
    """A native exact belief as a model: its state is the belief."""

    game: HanabiGame
    blueprint: Any

    def start(self, view):
        return private_belief(self.game, self.blueprint, view)

    def observe(self, view, event, state):
        return state.update(event, view)

    def sample(self, view, state, rng, n):
        worlds, _ = state.sample_with(rng.random(n), Streams(np.zeros(n, dtype=np.uint64)))
        return self.game.hidden_tokens(worlds, state.seat)

    def log_likelihood(self, view, state, tokens):
        raise NotImplementedError


def positions(game, policy, seed, seat):
    """(worlds, history of ``seat``) at its turns in one game of the policy."""
    worlds = game.deal(np.random.default_rng(seed), 1)
    history, move = History(seat, (worlds.view(seat),)), None
    rng = Streams.spawn(np.random.default_rng(seed), 1)
    for turn in play_game(worlds, (policy,) * game.num_players, rng, (0,)):
        if move is not None:
            history = history.append(move, worlds.view(seat))
        if turn.seat == seat:
            yield worlds, history
        move = Event(np.array([turn.seat]), np.array([turn.action]))


def belief_after(model, blueprint, history, **options):
    belief = LearnedBelief.start(model, blueprint, history.views[0], **options)
    for event, view in zip(history.events, history.views[1:], strict=True):
        belief = belief.update(event, view)
    return belief


# ------------------------------------------------------------------------------- private tokens


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([TWO, THREE]))
def test_token_weights_leave_exactly_the_possible_hands(seed, game):
    """Hands that hints and unseen copies allow, found by trying all; and their first slots."""
    rng = np.random.default_rng(seed)
    worlds = game.deal(rng, 1)
    for _ in range(int(rng.integers(0, 12))):
        legal = np.flatnonzero(worlds.legal[0])
        if len(legal):
            worlds.step(rng.choice(legal, 1))
    seat = int(rng.integers(game.num_players))
    view, truth = worlds.view(seat), game.hidden_tokens(worlds, seat)
    held = int((truth >= 0).sum())
    hands = list(itertools.product(range(game.vocabulary), repeat=held))
    tokens = np.full((len(hands), game.token_length), PAD)
    tokens[:, :held] = hands
    streams = Streams.spawn(rng, len(hands))
    many = worlds.select(np.zeros(len(hands), dtype=np.int64))
    _, possible = game.with_private(many, seat, tokens, streams)
    found = game.agrees(view.select(np.zeros(len(hands), dtype=np.int64)), tokens)
    assert (found == possible).all() and found.any()
    for j in range(game.token_length):
        # A token has weight exactly where a possible hand goes on so.
        begun = possible & (tokens[:, :j] == truth[:, :j]).all(axis=1)
        weights = game.token_weights(view, truth[:, :j])[0]
        assert set(np.flatnonzero(weights)) == set(tokens[begun, j].tolist()) - {PAD}
    if held:
        drawn = Grounded(game).sample(view, None, rng, 50)
        assert game.agrees(view.select(np.zeros(50, dtype=np.int64)), drawn).all()


def test_grounded_draws_have_the_chance_it_says() -> None:
    worlds = TWO.deal(np.random.default_rng(1), 1)
    view, model = worlds.view(0), Grounded(TWO)
    drawn = model.sample(view, None, np.random.default_rng(0), 4000)
    counts = Counter(map(tuple, drawn.tolist()))
    hand, times = counts.most_common(1)[0]
    chance = np.exp(model.log_likelihood(view, None, np.array([hand])).sum())
    assert abs(times - 4000 * chance) < 5 * np.sqrt(4000 * chance)
    impossible = np.array([[5, 5, 5]])  # the one copy, three times
    assert np.isneginf(model.log_likelihood(view, None, impossible).sum())


def test_worlds_are_laid_out_from_the_view_alone() -> None:
    for worlds, history in positions(TWO, load_policy("smartbot"), 3, 1):
        view = history.views[-1]
        tokens = Grounded(TWO).sample(view, None, np.random.default_rng(2), 20)
        made = TWO.worlds_of(view, tokens, Streams.spawn(np.random.default_rng(3), 20))
        assert (TWO.hidden_tokens(made, 1) == tokens).all()
        assert set(made.view(1).keys()) == set(worlds.view(1).keys())


def test_games_keep_the_contract_of_tokens() -> None:
    for game in (TWO, THREE, TINY, OpenSpielDealtGame("leduc_poker"), POMDP["Tiger"]()):
        check_game(game)


# ------------------------------------------------------------------------------ learned beliefs


@pytest.mark.parametrize("game", [TWO, THREE], ids=["2 players", "3 players"])
@pytest.mark.parametrize("name", ["smartbot", "hatbot", "iggi"])
def test_with_an_exact_model_samples_are_those_of_the_exact_belief(game, name) -> None:
    """Worlds and every seat's memory, from the same numbers; by replay and without."""
    policy = load_policy(name, game)
    blueprint, seat = (policy,) * game.num_players, 1
    exact = None
    for _, history in positions(game, policy, 5, seat):
        learned = belief_after(Exact(game, blueprint), blueprint, history, explain=False)
        exact = learned.state
        worlds, memories = learned.sample(np.random.default_rng(7), 30)
        others, theirs = exact.sample(np.random.default_rng(7), 30)
        assert (worlds.rows == others.rows).all()
        for mine, its in zip(memories, theirs, strict=True):
            assert (mine is None) == (its is None)
            assert mine is None or (np.asarray(mine) == np.asarray(its)).all()
    assert exact is not None


def test_the_model_reads_what_happened_when_it_is_asked() -> None:
    """Whenever that is, each move once, in order."""

    class Reader(Grounded):
        def start(self, view):
            return ()

        def observe(self, view, event, state):
            return (*state, int(event.action[0]))

    policy = (load_policy("smartbot", TWO),) * 2
    read = 0
    for _, history in positions(TWO, policy[0], 5, 1):
        moves = tuple(int(event.action[0]) for event in history.events)
        belief = LearnedBelief.start(Reader(TWO), policy, history.views[0])
        for t, (event, view) in enumerate(zip(history.events, history.views[1:], strict=True)):
            if t in (2, 3, len(moves) // 2):
                assert belief.state == moves[:t]
            belief = belief.update(event, view)
        assert belief.state == moves
        read = max(read, len(moves))
    assert read > 10


def test_nothing_is_replayed_for_a_public_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments):
        raise AssertionError("replayed")

    public = load_policy("evalfn-c", TWO)
    assert public.public_memory and not load_policy("smartbot").public_memory
    monkeypatch.setattr(HanabiGame, "replay", fail)
    for _, history in positions(TWO, public, 2, 0):
        belief = belief_after(Grounded(TWO), (public,) * 2, history, explain=False)
        _, memories = belief.sample(np.random.default_rng(0), 3)
        assert all(len(memory) == 3 for memory in memories if memory is not None)
    with pytest.raises(AssertionError, match="replayed"):
        smart = (load_policy("smartbot"),) * 2
        belief_after(Grounded(TWO), smart, history, explain=False).sample(
            np.random.default_rng(0), 3
        )


@pytest.mark.parametrize("game", [TWO, THREE], ids=["2 players", "3 players"])
@pytest.mark.parametrize("name", ["smartbot", "hatbot", "iggi", "evalfn-c"])
def test_what_is_drawn_explains_the_others_moves(game, name) -> None:
    """A model that knows nothing of them draws the hands of the exact belief, and no other."""
    policy = load_policy(name, game)
    blueprint, seat, narrowed = (policy,) * game.num_players, 0, 0
    for seed in (3, 4):
        exact = None
        for _, history in positions(game, policy, seed, seat):
            exact = private_belief(game, blueprint, history.views[0])
            for event, view in zip(history.events, history.views[1:], strict=True):
                exact = exact.update(event, view)
            hands = {tuple(hand) for hand in game.hidden_tokens(exact.support()[0], seat).tolist()}
            told, plain = (
                belief_after(Grounded(game), blueprint, history, explain=explain, listed=None)
                for explain in (True, False)
            )
            drawn, free = (
                {tuple(hand) for hand in belief._accepted(np.random.default_rng(1), 400).tolist()}
                for belief in (told, plain)
            )
            if len(hands) * 8 > len(free):  # else too few draws explain, and others stand in
                assert drawn <= hands
            moves = sum(int(event.player[0]) != seat for event in history.events)
            assert plain.likelihoods == 0
            assert 800 * min(moves, 1) <= told.likelihoods <= MAX_DRAWS * 400 * moves
            narrowed += len(free - hands)
        assert exact is not None
    assert narrowed > 0


def test_where_too_few_draws_explain_others_stand_in() -> None:
    policy = load_policy("smartbot", TWO)
    _, history = list(positions(TWO, policy, 5, 1))[-1]
    made = np.unique([int(event.action[0]) for event in history.events])

    class Wrong(type(policy)):
        """Would never have moved as it did, where anything else was legal."""

        def probabilities(self, view, legal, memory):
            likes = legal + 1.0
            likes[:, made] -= 1.0
            return np.eye(legal.shape[1])[np.where(legal, likes, 0.0).argmax(axis=1)]

    for listed in (None, 1_000):
        belief = belief_after(Grounded(TWO), (Wrong(),) * 2, history, listed=listed)
        worlds, _ = belief.sample(np.random.default_rng(0), 20)
        assert len(worlds) == 20 and belief.listing is None


@pytest.mark.parametrize("game", [TWO, THREE], ids=["2 players", "3 players"])
@pytest.mark.parametrize("name", ["smartbot", "evalfn-c", "random"])
@pytest.mark.parametrize("doubt", [0.0, 0.1])
def test_few_worlds_are_listed_with_their_chances(game, name, doubt, monkeypatch) -> None:
    """Hands and weights are those of the exact belief; draws follow them."""
    monkeypatch.setattr(past_moves, "BLOCK", 60)
    policy = load_policy(name, game)
    blueprint, seat, told = (policy,) * game.num_players, 1, 0
    for _, history in positions(game, policy, 3, seat):
        belief = belief_after(Grounded(game), blueprint, history, listed=200, uncertainty=doubt)
        allowed = len(every_hand(game, history.views[-1]))
        assert (belief.listing is None) == (allowed > 200)
        if belief.listing is None:
            assert belief.caveats() == ["the belief is learned"]
            continue
        exact = private_belief(game, blueprint, history.views[0], uncertainty=doubt)
        for event, view in zip(history.events, history.views[1:], strict=True):
            exact = exact.update(event, view)
        worlds, chance = exact.support()
        hands = game.hidden_tokens(worlds, seat).tolist()
        expected = {tuple(hand): c for hand, c in zip(hands, chance, strict=True)}
        cumulative = belief.listing.cumulative / belief.listing.cumulative[-1]
        found = np.diff(cumulative, prepend=0.0)
        mine = {tuple(t): c for t, c in zip(belief.listing.tokens.tolist(), found, strict=True)}
        assert mine.keys() == expected.keys() and belief.size == len(mine)
        assert all(mine[hand] == pytest.approx(expected[hand]) for hand in mine)
        assert belief.caveats() == []
        drawn, memories = belief.sample(np.random.default_rng(0), 2_000)
        counts = Counter(map(tuple, game.hidden_tokens(drawn, seat).tolist()))
        for hand, c in expected.items():
            assert abs(counts[hand] - 2_000 * c) < 5 * np.sqrt(2_000 * c * (1 - c)) + 1
        told += len(expected) < allowed
        assert len(memories) == game.num_players
    assert (told > 0) == (name != "random" and not doubt)


@pytest.mark.parametrize("name", ["smartbot", "random"])
def test_in_doubt_draws_that_explain_nothing_keep_a_share(name) -> None:
    """A model that knows nothing of the moves draws hands as often as the exact belief in doubt
    has them: of a bot that moves at random, which explains any hand, all alike."""
    policy, doubt, ruled_out = load_policy(name, TWO), 0.3, 0
    for _, history in list(positions(TWO, policy, 3, 1))[1:4]:
        blueprint = (policy,) * 2
        exact = private_belief(TWO, blueprint, history.views[0], uncertainty=doubt)
        sure = private_belief(TWO, blueprint, history.views[0])
        for event, view in zip(history.events, history.views[1:], strict=True):
            exact, sure = exact.update(event, view), sure.update(event, view)
        worlds, chance = exact.support()
        expected = dict(zip(map(tuple, TWO.hidden_tokens(worlds, 1).tolist()), chance, strict=True))
        options = {"listed": None, "uncertainty": doubt}
        belief = belief_after(Grounded(TWO), blueprint, history, **options)
        drawn = belief._accepted(np.random.default_rng(0), 3_000).tolist()
        counts = Counter(map(tuple, drawn))
        assert counts.keys() <= expected.keys()
        if name == "smartbot":
            for hand, c in expected.items():
                assert abs(counts[hand] - 3_000 * c) < 5 * np.sqrt(3_000 * c * (1 - c)) + 1
        ruled_out += exact.size - sure.size
    assert (ruled_out > 0) == (name == "smartbot")


def test_learned_beliefs_at_all_seats_doubt_each_other() -> None:
    model = Grounded(TWO)
    agent = upgrade(
        "iggi", TWO, Lbs(depth=None, rollouts=60, min_rollouts=5), belief=Learned(model)
    )
    assert agent.assumes_blueprint
    team = agent.for_all_seats()
    assert team.belief == Learned(model, listed=MAX_LISTED_IN_DOUBT, uncertainty=0.05)
    assert team.search.threshold == 0.2 and not team.assumes_blueprint
    assert team.for_all_seats() is team
    named = upgrade("iggi", TWO, Lbs(depth=None), belief="grounded", uncertainty=0.1)
    assert (named.belief.uncertainty, named.belief.listed) == (0.1, MAX_LISTED_IN_DOUBT)
    assert named.uncertainty == 0.0
    assert Learned(model, listed=None).doubting(0.1).listed is None
    assert Learned(model).doubting(0.0) == Learned(model)
    plain = upgrade("iggi", TWO, Lbs(depth=None), belief=Learned(model, explain=False))
    with pytest.raises(ConfigError, match="cannot sit at every seat"):
        plain.for_all_seats()
    assert evaluate(TWO, agent, games=2, seed=0, baseline="iggi").games
    for bad in ({"uncertainty": 1.1}, {"uncertainty": 0.1, "explain": False}):
        with pytest.raises(ConfigError, match="uncertainty must be"):
            Learned(model, **bad)


@pytest.mark.parametrize("game", [TWO, THREE], ids=["2 players", "3 players"])
@pytest.mark.parametrize("name", ["smartbot", "evalfn-c", "random"])
def test_what_was_listed_is_carried_on(game, name) -> None:
    """The same worlds and weights, whether listed at every turn or at the last alone."""
    policy = load_policy(name, game)
    blueprint, compared, saved = (policy,) * game.num_players, 0, 0
    for seed in range(3):
        _, history = list(positions(game, policy, seed, 1))[-1]
        belief = LearnedBelief.start(Grounded(game), blueprint, history.views[0], listed=200)
        for turn, event in enumerate(history.events, start=1):
            belief = belief.update(event, history.views[turn])
            if turn % 3 == 2:  # not at every turn: moves of more than one partner lie between
                continue
            so_far = History(1, history.views[: turn + 1], history.events[:turn])
            afresh = belief_after(Grounded(game), blueprint, so_far, listed=200)
            before = belief.likelihoods
            if afresh.listing is None:
                assert belief.listing is None
                continue
            assert np.array_equal(belief.listing.tokens, afresh.listing.tokens)
            assert belief.listing.cumulative == pytest.approx(afresh.listing.cumulative)
            saved += afresh.likelihoods - (belief.likelihoods - before)
            compared += belief.last_listing is not None
    assert compared > 5 and saved > 0


def test_after_a_move_that_is_not_the_blueprints_nothing_is_listed() -> None:
    policy = load_policy("smartbot", TWO)
    _, history = list(positions(TWO, policy, 3, 1))[-1]
    told = []
    for by_blueprint in (True, False):
        belief = LearnedBelief.start(Grounded(TWO), (policy,) * 2, history.views[0])
        for event, view in zip(history.events, history.views[1:], strict=True):
            belief = belief.update(event, view, by_blueprint=by_blueprint)
        told.append(belief.listing is None)
        assert len(belief.sample(np.random.default_rng(0), 5)[0]) == 5
    assert told == [False, True]


def every_hand(game, view):
    """All token sequences that agree with the view."""
    held = game.token_length
    hands = list(itertools.product(range(game.vocabulary), repeat=held))
    tokens = [hand[:k] + (PAD,) * (held - k) for hand in hands for k in range(held + 1)]
    tokens = np.array(sorted(set(tokens)))
    return tokens[game.agrees(view.select(np.zeros(len(tokens), dtype=np.int64)), tokens)]


def test_a_game_whose_weights_are_not_chance_lists_nothing() -> None:
    """The tiger problem's know nothing of the growls."""
    game = POMDP["Tiger"]()
    view = game.deal(np.random.default_rng(0), 1).view(0)
    belief = LearnedBelief.start(POMDP["Ears"](game), (POMDP["Hasty"](),), view)
    assert belief.listing is None
    with pytest.raises(ConfigError, match="listed must be an integer of at least 1, got 0"):
        Learned(Grounded(TWO), listed=0)


def test_what_a_learned_belief_cannot_do_is_said() -> None:
    class Private(UniformPolicy):
        def start(self, view):
            return np.zeros(len(view))

    view = TINY.deal_scripts([(0, 0)]).view(0)
    with pytest.raises(UnsupportedError, match="cannot replay its past"):
        LearnedBelief.start(Grounded(TINY), (Private(),) * 2, view)
    with pytest.raises(UnsupportedError, match="the belief model is for"):
        LearnedBelief.start(Grounded(TWO), (UniformPolicy(),) * 2, view)
    seer = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, observation_type="seer")
    with pytest.raises(UnsupportedError, match="nothing is hidden"):
        start = seer.deal(np.random.default_rng(0), 1).view(0)
        LearnedBelief.start(Grounded(seer), (UniformPolicy(),) * 2, start)


class Broken(Grounded):
    """Draws the last token for everything, or what is grounded."""

    def __init__(self, game, share):
        super().__init__(game)
        self.share = share

    def sample(self, view, state, rng, n):
        tokens = super().sample(view, state, rng, n)
        tokens[rng.random(n) >= self.share] = 5  # more copies than there are
        return tokens


def test_impossible_draws_are_thrown_away_and_too_few_are_an_error() -> None:
    view = TWO.deal(np.random.default_rng(0), 1).view(0)
    blueprint = (UniformPolicy(),) * 2
    belief = LearnedBelief.start(Broken(TWO, 0.4), blueprint, view, listed=None)
    worlds, _ = belief.sample(np.random.default_rng(0), 200)
    assert len(worlds) == 200 and (TWO.hidden_tokens(worlds, 0) != 5).any(axis=1).all()
    bad = LearnedBelief.start(Broken(TWO, 0.02), blueprint, view, listed=None)
    with pytest.raises(TooFewWorldsError, match=rf"of {MAX_DRAWS * 200} drawn worlds agree"):
        bad.sample(np.random.default_rng(0), 200)


# -------------------------------------------------------------------------------------------- LBS


@pytest.mark.parametrize("game", [TWO, THREE], ids=["2 players", "3 players"])
def test_with_an_exact_belief_and_no_depth_lbs_is_sparta(game) -> None:
    """Number by number, over whole games: with the belief itself and with it as a model."""
    policy = load_policy("smartbot", game)
    blueprint = (policy,) * game.num_players
    budget = {"rollouts": 300, "min_rollouts": 10, "round_size": 20, "threshold": 0.0}
    options = budget | {"errors": 0.0, "pruning": "paired"}  # where their defaults differ
    model = Learned(Exact(game, blueprint), explain=False)
    agents = [
        upgrade(policy, game, Sparta(**options)),
        upgrade(policy, game, Lbs(depth=None, **options)),
        upgrade(policy, game, Lbs(depth=None, **options), belief=model),
    ]
    told = []
    for agent in agents:
        worlds = game.deal(np.random.default_rng(6), 1)
        seats = (policy, agent, *(policy,) * (game.num_players - 2))
        rng = Streams.spawn(np.random.default_rng(4), 1)
        results = [turn.result for turn in play_game(worlds, seats, rng, (9,)) if turn.result]
        told.append([(r.action, r.reason, r.mean.tolist(), r.count.tolist()) for r in results])
    assert str(told[0]) == str(told[1]) == str(told[2])  # nan is not equal to itself
    assert len(told[0]) > 3 and len({reason for _, reason, _, _ in told[0]}) > 1


def test_too_few_worlds_mean_the_blueprint_and_are_reported() -> None:
    policy = load_policy("smartbot", TWO)
    search = Lbs(depth=None, rollouts=200, min_rollouts=10)
    agent = upgrade(policy, TWO, search, belief=Learned(Broken(TWO, 0.0), listed=None))
    told: list[Any] = []
    result = evaluate(
        TWO, (policy, agent), games=2, seed=1, on_game=lambda game: told.append(game.decisions)
    )
    reasons = {r.reason for decisions in told for _, _, r in decisions}
    assert reasons <= {"belief_too_small", "single_move"} and "belief_too_small" in reasons
    out = result.to_dict()
    assert out["gain"] == 0.0 and out["fallback_games"] == 1.0 and out["fallback_share"] > 0.9
    agent = upgrade(policy, TWO, search, belief=Learned(Grounded(TWO), listed=None))
    out = evaluate(TWO, (policy, agent), games=2, seed=1).to_dict()
    assert out["fallback_games"] == out["fallback_share"] == 0.0


def test_lbs_gains_on_small_hanabi() -> None:
    """With an exact model, over a weak blueprint whose memory is none."""
    policy = load_policy("iggi", TWO)
    search = Lbs(depth=None, rollouts=400, min_rollouts=10, round_size=20)
    agent = upgrade(policy, TWO, search, belief=Learned(Exact(TWO, (policy,) * 2), explain=False))
    result = evaluate(TWO, (policy, agent), games=24, seed=2)
    assert result.to_dict()["gain"] > 0.3


def test_the_same_seed_gives_the_same_decision() -> None:
    policy = load_policy("smartbot", TWO)
    view = TWO.deal(np.random.default_rng(0), 1).view(0)
    belief = LearnedBelief.start(Grounded(TWO), (policy,) * 2, view, listed=None)
    told = [
        Lbs(depth=None, rollouts=2_000, threads=threads)(np.random.default_rng(5), belief).to_dict()
        for threads in (1, 1, 2)
    ]
    assert told[0] == told[1] == told[2]
    assert told[0]["note"] == "the belief is learned"


# ------------------------------------------------------------------------------------ cut rollouts


class Ahead(UniformPolicy, Value):
    """Player 1's answer is random: what is to come after player 0's move, by the moves so far."""

    def __init__(self, combine="central", offset=0.0):
        self.combine, self.offset = combine, offset

    def value(self, view, memory):
        out = []
        for key in list(view.keys()):  # "p0:d0 p0:a2" to player 0, "p1:d1 p0:a2" to player 1
            own, said = [int(word[-1]) for word in key.split()]
            mean = PAYOFF[own, :, said] if view.player == 0 else PAYOFF[:, own, said]
            out.append(mean.mean() + self.offset)
        return np.array(out)


@pytest.mark.parametrize("combine", ["central", "mean", "sum"])
def test_a_cut_rollout_ends_in_the_values_of_the_blueprint(combine) -> None:
    deals = [(d0, d1) for d0 in range(2) for d1 in range(2)]
    worlds, blueprint = TINY.deal_scripts(deals), (Ahead(combine), Ahead(combine, 1.0))
    memories = start_memories(worlds, blueprint)
    rng = Streams(np.zeros(4, dtype=np.uint64))
    for seat in range(2):
        found = action_values(worlds, np.arange(3), blueprint, memories, seat, rng, depth=1)
        for a, (i, (d0, d1)) in itertools.product(range(3), enumerate(deals)):
            first, second = PAYOFF[d0, :, a].mean(), PAYOFF[:, d1, a].mean() + 1.0
            both = {"central": (first, second)[seat], "mean": (first + second) / 2}
            assert found[a, i] == pytest.approx(both.get(combine, first + second))
    whole = action_values(worlds, np.arange(3), blueprint, memories, 0, rng)
    assert (
        action_values(worlds, np.arange(3), blueprint, memories, 0, rng, depth=2) == whole
    ).all()


def test_lbs_by_values_on_a_tiny_game() -> None:
    """Player 0 with card 1: the means of its moves against a random answer, by one move alone."""
    blueprint = (Ahead(), Ahead())
    belief = LearnedBelief.start(Grounded(TINY), blueprint, TINY.deal_scripts([(1, 0)]).view(0))
    result = Lbs(depth=1, rollouts=90, threshold=0.0)(np.random.default_rng(0), belief)
    assert result.mean == pytest.approx(PAYOFF[1].mean(axis=(0, 2)))
    assert result.action == PAYOFF[1].mean(axis=(0, 2)).argmax()


def test_a_depth_needs_values_that_combine_alike() -> None:
    worlds = TWO.deal(np.random.default_rng(0), 2)
    for blueprint, reason in (
        ((load_policy("smartbot"),) * 2, "cut short where the blueprint has values, .*SmartBot"),
        ((Ahead("sum"), Ahead("mean")), "must combine alike, got mean and sum"),
    ):
        with pytest.raises(UnsupportedError, match=reason):
            action_values(worlds, np.array([4]), blueprint, start_memories(worlds, blueprint), 0,
                Streams(np.zeros(2, dtype=np.uint64)), depth=3,
            )  # fmt: skip
    with pytest.raises(ConfigError, match="depth must be an integer of at least 1, got 0"):
        Lbs(depth=0)


# -------------------------------------------------------------------------------- one player


def test_lbs_on_the_tiger_problem() -> None:
    """One player: the blueprint opens at the first sound, the search waits for two more."""
    game = POMDP["Tiger"]()
    search = Lbs(depth=None, rollouts=300, threshold=0.0)
    agent = upgrade(POMDP["Hasty"](), game, search, belief=Learned(POMDP["Ears"](game)))
    result = evaluate(game, agent, games=80, seed=0)
    exact = evaluate(game, upgrade(POMDP["Hasty"](), game, search), games=80, seed=0)
    assert result.blueprint_scores.mean() == pytest.approx(-1 + 8.5 - 15, abs=13)
    assert result.to_dict()["gain"] > 4 and exact.to_dict()["gain"] > 4
    assert np.mean(result.scores == exact.scores) > 0.9
    check_agent(game, agent, games=2)


def test_memory_by_replay_is_the_memory_of_the_true_hand() -> None:
    policy = load_policy("smartbot", THREE)
    for worlds, history in positions(THREE, policy, 8, 1):
        belief = belief_after(Grounded(THREE), (policy,) * 3, history)
        truth = THREE.hidden_tokens(worlds, 1)
        again = THREE.replay(history, 2, truth)
        assert (belief.past.memory(2, truth) == memory_from(policy, again)).all()
