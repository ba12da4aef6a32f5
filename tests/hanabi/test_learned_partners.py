"""Partners recognised by a network: the update, the belief, files, and training.

Letters: K candidates.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from hanabi_search_plugin.beliefs.unknown_partners import favouring
from hanabi_search_plugin.core.errors import ConfigError, RecordError, UnsupportedError
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import play_game
from hanabi_search_plugin.hanabi.beliefs import learned_partners
from hanabi_search_plugin.hanabi.beliefs.learned_partners import (
    CAP,
    READER,
    LearnedPartners,
    Recogniser,
    named_recogniser,
    shipped_recogniser,
    updated,
)
from hanabi_search_plugin.hanabi.bots.evalfn import ValueNetwork, move_features
from hanabi_search_plugin.hanabi.bots.features import FEATURES
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.learning.partner_training import (
    PartnerTraining,
    gathered,
    play,
    quality,
    train,
)
from hanabi_search_plugin.registry import MIXED_TRACK, load_policies, load_policy
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.helpers.small_networks import random_network

TWO = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3, life_tokens=2)
THREE = HanabiGame(players=3, colors=2, ranks=3, hand_size=2, information_tokens=3, life_tokens=2)
NAMES = ("vdb", "cautious", "random")
CANDIDATES = load_policies(",".join(NAMES))
RECOGNISER = Recogniser(random_network(outputs=3), NAMES)


# ------------------------------------------------------------------------------------- the update


def normalised(log_weights):
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def test_the_update_is_bayes_rule_up_to_the_cap() -> None:
    after = updated(np.log([0.5, 0.3, 0.2]), np.array([0.1, 0.6, 0.3]), CAP)
    assert np.allclose(normalised(after), np.array([0.05, 0.18, 0.06]) / 0.29)
    after = updated(np.log([0.5, 0.5]), np.array([1 - 1e-9, 1e-9]), CAP)
    assert normalised(after)[1] == pytest.approx(1e-6, rel=1e-5)
    assert normalised(updated(np.zeros(2), np.array([1.0, 0.0]), math.log(4)))[1] == 0.2
    assert updated(np.array([0.0, -np.inf]), np.array([0.0, 1.0]), CAP)[1] == -np.inf


def test_the_papers_prior_takes_three_moves_to_give_way() -> None:
    """Against a likelihood of nothing each takes away log 10^6 = 13.8, of 40."""
    prior = favouring(1, 3)
    assert sum(prior) == pytest.approx(1) and prior[0] == prior[2] == math.exp(-40)
    log_weights, chance = np.log(prior), []
    for _ in range(3):
        log_weights = updated(log_weights, np.array([1.0, 0.0, 0.0]), CAP)
        chance.append(normalised(log_weights)[0])
    assert chance[1] == pytest.approx(math.exp(-40) * 1e12, rel=1e-3)
    assert chance[2] == pytest.approx(1 / (1 + math.exp(40) * 1e-18), rel=1e-3)


def test_a_recogniser_shares_out_each_move() -> None:
    x = np.random.default_rng(0).normal(size=(20, FEATURES))
    chance = RECOGNISER(x)
    assert np.allclose(chance.sum(axis=1), 1) and (chance > 0).all()
    ratio = np.exp(RECOGNISER.network(x)[:, 0] - RECOGNISER.network(x)[:, 1])
    assert np.allclose(chance[:, 0] / chance[:, 1], ratio)


# ------------------------------------------------------------------------------------- the belief


def followed(game, learned, seed, seat=0):
    """(event, belief before, belief after, the world before) of the others' moves of a game."""
    rng = np.random.default_rng(seed)
    worlds = game.deal(rng, 1)
    own = (load_policy("vdb", game),) * game.num_players
    belief = learned(own, worlds.view(seat))
    table = (UniformPolicy(),) * game.num_players
    for turn in play_game(worlds, table, Streams.spawn(rng, 1), ()):
        before = worlds.select(np.zeros(1, dtype=np.int64))
        after = worlds.select(np.zeros(1, dtype=np.int64))
        event = after.step(np.array([turn.action]))
        new = belief.update(event, after.view(seat))
        if turn.seat != seat:
            yield event, belief, new, before
        belief = new


def test_a_move_is_looked_at_with_every_hand_that_the_hints_allow(monkeypatch) -> None:
    """The mean of the network's shares, beside all hands listed and put into the true world."""
    monkeypatch.setattr(learned_partners, "HANDS", 3_000)
    learned = LearnedPartners(CANDIDATES, RECOGNISER)
    checked = 0
    for seed, game in enumerate((TWO, THREE)):
        for event, before, after, world in followed(game, learned, seed):
            hands, weights = after.inner.support()
            rows = np.repeat(world.rows, len(hands), axis=0)
            own = game.hand_slots(0)
            rows[:, own] = hands.rows[:, own]
            actions = event.action.repeat(len(rows))
            x = move_features(READER, game, rows, before.reading, actions)
            shares = RECOGNISER(x)
            wanted = weights @ shares
            spread = np.sqrt(weights @ (shares - wanted) ** 2)
            found = before.recognised(event, after.inner)
            assert (np.abs(found - wanted) < 4.5 * spread / np.sqrt(3_000) + 1e-9).all()
            mover = int(event.player[0])
            told = updated(before.log_weights[mover], found, CAP)
            assert np.allclose(after.posterior(mover), normalised(told))
            others = [p for p in range(game.num_players) if p not in (0, mover)]
            for p in others:
                assert np.array_equal(before.posterior(p), after.posterior(p))
            checked += len(hands) > 5
    assert checked > 2


def test_samples_draw_policies_by_the_posterior() -> None:
    learned = LearnedPartners(CANDIDATES, RECOGNISER, prior=(0.5, 0.3, 0.2))
    rng = np.random.default_rng(0)
    told = 0
    for _, _, belief, _ in followed(THREE, learned, 5):
        _, memories = belief.sample(rng, 2_000)
        for p in (1, 2):
            shares = np.bincount(memories[p]["drawn"], minlength=3) / 2_000
            assert np.abs(shares - belief.posterior(p)).max() < 0.06
            told += np.abs(belief.posterior(p) - (0.5, 0.3, 0.2)).max() > 0.1
    assert told > 2
    with pytest.raises(ConfigError):
        belief.posterior(0)


def test_what_is_no_evidence_changes_nothing() -> None:
    learned = LearnedPartners(CANDIDATES, RECOGNISER)
    rng = np.random.default_rng(0)
    worlds = TWO.deal(rng, 1)
    belief = learned((UniformPolicy(),) * 2, worlds.view(1))
    event = worlds.step(np.flatnonzero(worlds.legal[0])[:1])
    after = belief.update(event, worlds.view(1), by_blueprint=False)
    assert np.array_equal(after.posterior(0), belief.posterior(0))
    assert not np.allclose(belief.update(event, worlds.view(1)).posterior(0), 1 / 3)


def test_what_it_cannot_follow_is_refused() -> None:
    with pytest.raises(ConfigError, match="the 3 compiled policies"):
        LearnedPartners(CANDIDATES[:2], RECOGNISER)
    with pytest.raises(ConfigError, match="the 3 compiled policies"):
        LearnedPartners((*CANDIDATES[:2], NotCompiled()), RECOGNISER)
    with pytest.raises(ConfigError, match="cap must be"):
        LearnedPartners(CANDIDATES, RECOGNISER, cap=-1.0)
    kuhn = OpenSpielGame("kuhn_poker")
    view = kuhn.deal(np.random.default_rng(0), 1).view(0)
    with pytest.raises(UnsupportedError, match="native Hanabi"):
        LearnedPartners(CANDIDATES, RECOGNISER)((UniformPolicy(),) * 2, view)


class NotCompiled(UniformPolicy):
    """The same moves, in Python alone."""


# --------------------------------------------------------------------------------------- networks


def test_recognisers_come_from_files(tmp_path) -> None:
    path = tmp_path / "mine.safetensors"
    RECOGNISER.save(path)
    found = named_recogniser(str(path), NAMES)
    assert found.partners == NAMES and found.network.digest == RECOGNISER.network.digest
    with pytest.raises(ConfigError, match="partners must be those of the network"):
        named_recogniser(str(path), NAMES[::-1])
    RECOGNISER.network.save(path)
    with pytest.raises(RecordError, match="recognises policies"):
        named_recogniser(str(path), NAMES)
    with pytest.raises(RecordError, match="an output for each of 2 policies, got 3"):
        Recogniser(RECOGNISER.network, NAMES[:2])
    assert named_recogniser("learned", MIXED_TRACK) is shipped_recogniser()


def test_the_shipped_one_tells_policies_apart() -> None:
    """Single moves of games it has not learned from; a guess has a log loss of 2.30."""
    config = HanabiConfig(players=3, bomb="keep")
    training = PartnerTraining(partners=MIXED_TRACK, games=5, configs=(config,), seed=123)
    candidates = (load_policies("mixed-track", HanabiGame(config)),)
    moves = gathered([play(training, candidates, index) for index in range(40)])
    assert quality(shipped_recogniser(), moves)["log_loss"] < 2.0


def test_partners_are_recognised_in_games() -> None:
    """The probability of the truth at the end, the mean over eight partners."""
    game = HanabiGame(players=3, bomb="keep")
    candidates, own = load_policies("mixed-track", game), load_policy("piers")
    learned = LearnedPartners(candidates, shipped_recogniser())
    chance = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        worlds, drawn = game.deal(rng, 1), rng.integers(len(candidates), size=2).tolist()
        belief = learned((own,) * 3, worlds.view(0))
        table = (own, *(candidates[k] for k in drawn))
        for turn in play_game(worlds, table, Streams.spawn(rng, 1), ()):
            after = worlds.select(np.zeros(1, dtype=np.int64))
            event = after.step(np.array([turn.action]))
            belief = belief.update(event, after.view(0))  # of the last move, too
        chance += [belief.posterior(p)[k] for p, k in zip((1, 2), drawn, strict=True)]
        assert belief.recovered == 0
    assert np.mean(chance) > 0.3  # a guess: 0.1


# --------------------------------------------------------------------------------------- training


def test_training_learns_who_moves_how(tmp_path, monkeypatch) -> None:
    pytest.importorskip("torch", reason="needs PyTorch")
    monkeypatch.setattr("hanabi_search_plugin.learning.fit.STEPS", 300)
    training = PartnerTraining(
        partners=("vdb", "random"), games=60, configs=(TWO.config, THREE.config), seed=1
    )
    record = train(training, tmp_path / "a")
    assert json.loads((tmp_path / "a" / "partners.json").read_text()) == record
    for part, games in (("learned_from", 48), ("held_out", 12)):
        found = record[part]
        assert found["moves"] == sum(found["of"].values()) > 4 * games
        assert found["likeliest_is_true"] > 0.7 and found["log_loss"] < math.log(2)
    found = named_recogniser(str(tmp_path / "a" / "partners.safetensors"), ("vdb", "random"))
    assert found.network.digest == record["network"]
    assert isinstance(found.network, ValueNetwork)
    train(training, tmp_path / "b")
    for name in ("partners.safetensors",):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    with pytest.raises(ConfigError, match="policy must be one of"):
        train(
            PartnerTraining(partners=("vdb", "x"), games=5, configs=(TWO.config,), seed=1), tmp_path
        )
