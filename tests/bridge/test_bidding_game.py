"""The bidding game: its contract, its rules and scores beside OpenSpiel's, no peeking, IMPs."""

from __future__ import annotations

import pickle

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hanabi_search_plugin import evaluate
from hanabi_search_plugin.bridge import BridgeBidding, NaturalBidder, OtherTable
from hanabi_search_plugin.bridge.auction import DOUBLE, PASS, REDOUBLE, Contract, call_text
from hanabi_search_plugin.bridge.deals import deal_text, read_deal
from hanabi_search_plugin.bridge.double_dummy import DoubleDummy
from hanabi_search_plugin.bridge.scoring import declarer_score, imps
from hanabi_search_plugin.core.errors import (
    ConfigError,
    IllegalActionError,
    RecordError,
    UnsupportedError,
)
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.core.rollout import rollout, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.testing import check_game, check_policy
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

THEIR_PASS = 52  # OpenSpiel's calls: pass, double, redouble, then bids from 1C up
TRICKS = np.full((5, 4), 9)


def theirs(call: int) -> int:
    return {PASS: 52, DOUBLE: 53, REDOUBLE: 54}.get(call, 55 + call)


def spiel_card(card: int) -> int:
    suit, rank = divmod(card, 13)
    return 4 * (12 - rank) + suit


def played(seed: int, n: int = 1) -> object:
    """Boards bid at random to the end."""
    game = BridgeBidding()
    rng = np.random.default_rng(seed)
    worlds = game.deal(rng, n)
    blueprint = (UniformPolicy(),) * 4
    game.tricks.tell(worlds.owners, np.tile(TRICKS, (n, 1, 1)))
    return rollout(worlds, blueprint, start_memories(worlds, blueprint), Streams.spawn(rng, n))


def test_the_game_keeps_the_contract() -> None:
    pytest.importorskip("endplay", reason="endplay, which solves deals, is not installed")
    check_game(BridgeBidding())


@pytest.mark.parametrize("seed", range(40))
def test_calls_and_auctions_are_those_of_openspiel(seed: int) -> None:
    """Legal calls at every turn, who is to call, and when it ends; random auctions."""
    rng = np.random.default_rng(seed)
    dealer = int(rng.integers(4))
    game = BridgeBidding(dealer=dealer, vulnerable="none")
    worlds = game.deal(rng, 1)
    bridge = pyspiel.load_game(f"bridge(use_double_dummy_result=false,dealer={dealer})")
    state = bridge.new_initial_state()
    at = [np.flatnonzero(worlds.owners[0] == seat).tolist() for seat in range(4)]
    for k in range(52):
        state.apply_action(spiel_card(at[k % 4][k // 4]))
    while not worlds.terminal[0]:
        legal = np.flatnonzero(worlds.legal[0])
        assert sorted(map(theirs, legal.tolist())) == sorted(state.legal_actions())
        assert worlds.current_player[0] == state.current_player()
        weights = np.where(legal >= PASS, 5.0, 1.0)
        call = int(rng.choice(legal, p=weights / weights.sum()))
        worlds.step(np.array([call]))
        state.apply_action(theirs(call))
    contract = worlds.auctions.contract
    # Theirs goes on to the play, unless all have passed.
    assert state.is_terminal() == (contract.level[0] == 0)
    if contract.level[0]:
        strain = "♣♦♥♠N"[contract.strain[0]]
        assert f"{contract.level[0]}{strain}" in str(state)
        assert state.current_player() == (contract.declarer[0] + 1) % 4


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_openspiel(seed: int) -> None:
    pytest.importorskip("endplay", reason="endplay, which solves deals, is not installed")
    rng = np.random.default_rng(seed)
    sides = ["none", "ns", "ew", "both"][seed]
    game = BridgeBidding(dealer=0, vulnerable=sides)
    worlds = game.deal(rng, 1)
    on = {"none": (0, 0), "ns": (1, 0), "ew": (0, 1), "both": (1, 1)}[sides]
    bridge = pyspiel.load_game(
        f"bridge(use_double_dummy_result=true,dealer=0,dealer_vul={bool(on[0])},"
        f"non_dealer_vul={bool(on[1])})".replace("True", "true").replace("False", "false")
    )
    dealt = bridge.new_initial_state()
    at = [np.flatnonzero(worlds.owners[0] == seat).tolist() for seat in range(4)]
    for k in range(52):
        dealt.apply_action(spiel_card(at[k % 4][k // 4]))
    for _ in range(12):
        ours, state = worlds.select(np.array([0])), dealt.clone()
        while not ours.terminal[0]:
            legal = np.flatnonzero(ours.legal[0])
            weights = np.where(legal >= PASS, 4, 1.0 / (1 + np.arange(len(legal))))
            call = int(rng.choice(legal, p=weights / weights.sum()))
            ours.step(np.array([call]))
            state.apply_action(theirs(call))
        assert state.is_terminal()
        assert ours.returns[0].tolist() == state.returns()


SCORES = [  # level, strain, doubling, vulnerable, tricks, points: from tables of the laws
    (1, 4, 0, False, 7, 90), (2, 0, 0, False, 8, 90), (3, 4, 0, False, 9, 400),
    (4, 3, 0, True, 10, 620), (4, 3, 0, True, 11, 650), (6, 2, 0, False, 12, 980),
    (7, 4, 0, True, 13, 2220), (2, 3, 1, False, 8, 470), (2, 3, 1, True, 9, 870),
    (1, 0, 1, False, 8, 240), (1, 4, 2, False, 7, 560), (4, 3, 0, False, 9, -50),
    (3, 4, 1, False, 7, -300), (3, 4, 1, False, 5, -800), (3, 4, 1, True, 7, -500),
    (3, 4, 2, True, 7, -1000), (7, 4, 2, True, 0, -7600), (0, 0, 0, True, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize(("level", "strain", "doubling", "vulnerable", "tricks", "points"), SCORES)
def test_a_contract_scores_as_the_laws_say(
    level: int, strain: int, doubling: int, vulnerable: bool, tricks: int, points: int
) -> None:
    one = Contract(*(np.array([x]) for x in (level, strain, 0, doubling)))
    assert declarer_score(one, np.array([vulnerable]), np.array([tricks]))[0] == points


def test_imps_are_those_of_the_laws() -> None:
    points = np.array([0, 10, 20, -40, 50, 430, 3990, 4000, -9000])
    assert imps(points).tolist() == [0, 0, 1, -1, 2, 10, 23, 24, -24]


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1))
def test_a_deal_is_read_as_it_was_written(seed: int) -> None:
    owners = BridgeBidding().deal(np.random.default_rng(seed), 1).owners[0]
    assert (read_deal(deal_text(owners)) == owners).all()
    assert (np.bincount(owners) == 13).all()


@pytest.mark.parametrize(
    "text",
    ["", "N:", "X:AK.J982.Q986.Q65 A A A", "N:AK.J982.Q986.Q65 AK.QT5.A5.AKJ7 . .",
     "N:AK.J982.Q986 JT97.QT5.A5.AKJ7 Q82.AK743.32.T83 6543.6.KJT74.942"],
)  # fmt: skip
def test_what_is_no_deal_is_refused(text: str) -> None:
    with pytest.raises(RecordError, match="expected"):
        read_deal(text)


def test_the_dealer_calls_first_and_four_passes_end_it() -> None:
    game = BridgeBidding(dealer=2, vulnerable="ew")
    worlds = game.deal(np.random.default_rng(0), 3)
    for k in range(4):
        assert (worlds.current_player == (2 + k) % 4).all()
        worlds.step(np.full(3, PASS))
    assert worlds.terminal.all() and not worlds.returns.any()
    with pytest.raises(IllegalActionError):
        game.deal(np.random.default_rng(0), 1).step(np.array([DOUBLE]))


def test_the_first_to_name_the_strain_declares() -> None:
    worlds = BridgeBidding(dealer=0, vulnerable="none").deal(np.random.default_rng(0), 1)
    for call in (3, PASS, 8, DOUBLE, REDOUBLE, PASS, PASS, PASS):  # 1S pass 2S double redouble
        worlds.step(np.array([call]))
    found = {name: int(value[0]) for name, value in worlds.auctions.contract._asdict().items()}
    assert found == {"level": 2, "strain": 3, "declarer": 0, "doubling": 2}
    assert "1S pass 2S double redouble" in worlds.text()


def test_views_hide_the_other_hands() -> None:
    game = BridgeBidding()
    worlds = game.deal(np.random.default_rng(1), 1)
    view = worlds.view(2)
    weights = game.token_weights(view, np.zeros((1, 0), dtype=np.int64))
    assert not weights[0, worlds.owners[0] == 2].any()
    others = np.flatnonzero(worlds.owners[0] != 2)
    tokens = np.sort(np.random.default_rng(0).permutation(others).reshape(1, 3, 13), axis=2)
    other = game.worlds_of(view, tokens.reshape(1, 39), Streams.still(1))
    assert other.view(2).keys() == view.keys()
    assert (other.view(2).observation("jps") == view.observation("jps")).all()
    assert other.view(0).keys() != worlds.view(0).keys()


def test_token_weights_are_the_chance_of_every_hand_alike() -> None:
    """The product along a sequence is the same for any deal: one over the ways to deal."""
    game = BridgeBidding()
    worlds = game.deal(np.random.default_rng(2), 5)
    tokens = game.hidden_tokens(worlds, 0)
    logs = np.zeros(5)
    for j in range(39):
        weights = game.token_weights(worlds.view(0), tokens[:, :j])
        logs += np.log(weights[np.arange(5), tokens[:, j]] / weights.sum(axis=1))
    ways = np.log(np.arange(1, 40)).sum() - 3 * np.log(np.arange(1, 14)).sum()
    assert np.allclose(logs, -ways)


def test_imps_at_the_other_table() -> None:
    """What bids as the other table is paid nothing; elsewhere the difference counts."""
    pytest.importorskip("endplay", reason="endplay, which solves deals, is not installed")
    bidder = NaturalBidder()
    game = BridgeBidding(other_table=OtherTable(bidder))
    assert game.return_range == (-24.0, 24.0)
    worlds = game.deal(np.random.default_rng(3), 3)
    same = rollout(worlds, (bidder,) * 4, (None,) * 4, Streams.still(3)).returns
    assert not same.any()
    passed = worlds.select(np.arange(3))
    for _ in range(4):
        passed.step(np.full(3, PASS))
    plain = BridgeBidding(tricks=game.tricks)
    there = plain.boards(worlds.owners, worlds.auctions.dealer, worlds.vulnerable)
    points = rollout(there, (bidder,) * 4, (None,) * 4, Streams.still(3)).returns[:, 0]
    assert passed.returns[:, 0].tolist() == imps(-points).tolist()
    assert (passed.returns[:, 1] == -passed.returns[:, 0]).all()


def test_a_solution_is_found_once_and_copies_begin_empty() -> None:
    pytest.importorskip("endplay", reason="endplay, which solves deals, is not installed")
    tricks, owners = DoubleDummy(), BridgeBidding().deal(np.random.default_rng(4), 1).owners
    first = tricks.tricks(owners, np.array([3]), np.array([1]))
    again = tricks.tricks(owners, np.array([3]), np.array([1]))
    assert first == again and tricks.solved == 1 and 0 <= first[0] <= 13
    assert pickle.loads(pickle.dumps(tricks)).solved == 0


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="dealer"):
        BridgeBidding(dealer=4)
    with pytest.raises(ConfigError, match="vulnerable"):
        BridgeBidding(vulnerable="all")
    with pytest.raises(UnsupportedError, match="deterministic"):
        OtherTable(UniformPolicy())


def test_the_natural_bidder_keeps_the_contract() -> None:
    pytest.importorskip("endplay", reason="endplay, which solves deals, is not installed")
    check_policy(BridgeBidding(), NaturalBidder())


OPENINGS = [  # a hand of N, dealer, and what it opens
    ("KJ4.AK54.94.AKJ2", "1C"), ("AQ4.KJ54.K94.KJ2", "1NT"), ("AQ4.AKJ4.KQ4.KJ2", "2C"),
    ("AQ874.KJ54.K9.J2", "1S"), ("KQJ874.54.K94.32", "2S"), ("2.54.QJT987.K432", "2D"),
    ("2.54.KQT9874.K32", "3D"), ("J74.J54.K94.J432", "pass"), ("AK4.KJ54.AQ4.KJ2", "2NT"),
]  # fmt: skip


@pytest.mark.parametrize(("hand", "call"), OPENINGS)
def test_openings(hand: str, call: str) -> None:
    game = BridgeBidding(dealer=0, vulnerable="none")
    worlds = game.deal(np.random.default_rng(0), 1)
    held = np.zeros((1, 52), dtype=np.bool_)
    for suit, ranks in zip((3, 2, 1, 0), hand.split("."), strict=True):
        held[0, [13 * suit + "AKQJT98765432".index(rank) for rank in ranks]] = True
    view = worlds.view(0)
    view.held = held
    made = NaturalBidder().act(view, view.legal, None, Streams.still(1))
    assert call_text(int(made[0])) == call


def test_returns_have_their_unit() -> None:
    """It heads the table of an evaluation; games that have none say nothing."""
    assert BridgeBidding().unit == "points"
    assert BridgeBidding(other_table=OtherTable(NaturalBidder())).unit == "IMPs"
    told = str(evaluate(OpenSpielGame("leduc_poker"), UniformPolicy(), games=2, seed=1))
    assert "mean, chips" in told
    assert "mean," not in str(evaluate(OpenSpielGame("trade_comm"), UniformPolicy(), games=2))
