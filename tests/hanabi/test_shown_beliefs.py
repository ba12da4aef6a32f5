"""Beliefs that a document shows by a model: the model's own numbers, turn by turn."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import ConfigError, HanabiGame, load_policy
from hanabi_search_plugin.beliefs.belief_model import BeliefModel, Grounded
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import PAD, IntArray, View
from hanabi_search_plugin.core.policy import Memory
from hanabi_search_plugin.hanabi.files.annotated_games import AnnotatedGame
from hanabi_search_plugin.hanabi.files.game_document import as_seen_by, game_document
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.files.shown_beliefs import ModelBeliefs
from hanabi_search_plugin.rendering.game_page import GamePage

SMALL = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3)


def random_record(game: HanabiGame = SMALL, seed: int = 3) -> RecordedGame:
    rng = np.random.default_rng(seed)
    worlds = game.deal(rng, 1)
    deck = tuple(worlds.rows[0, -game.config.deck_size :].tolist())
    actions = []
    while not worlds.terminal[0]:
        hints = [a for a in np.flatnonzero(worlds.legal[0]) if a >= 2 * game.config.hand_size]
        legal = hints if hints and rng.random() < 0.6 else np.flatnonzero(worlds.legal[0])
        actions.append(int(rng.choice(legal)))
        worlds.step(np.array([actions[-1]]))
    return RecordedGame(config=game.config, game=0, deck=deck, actions=tuple(actions), bomb="keep")


RECORD = random_record()


def random_model(game: HanabiGame = SMALL, **training: Any) -> Any:
    """A network that says something of everything it reads."""
    torch = pytest.importorskip("torch")
    from hanabi_search_plugin.networks.belief_files import NetworkBelief
    from hanabi_search_plugin.networks.nets.belief_net import BeliefNet

    torch.manual_seed(0)
    network = BeliefNet(game, hidden=16, decoder=8, embedding=4)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return NetworkBelief(game, network, training=training)


def moments(record: RecordedGame, game: HanabiGame, model: BeliefModel) -> Any:
    """(turn, seat, view, the model's state) of every seat at every turn."""
    worlds = game.from_decks([record.deck], first_player=record.first_player)
    states = [model.start(worlds.view(p)) for p in range(2)]
    for turn, action in enumerate([*record.actions, None]):
        yield from ((turn, p, worlds.view(p), states[p]) for p in range(2))
        if action is not None:
            event = worlds.step(np.array([action]))
            states = [model.observe(worlds.view(p), event, s) for p, s in enumerate(states)]


def likelihoods(model: Any, view: View, state: Any, hands: IntArray) -> Any:
    """[N] of whole hands [N, K]."""
    rows = np.zeros(len(hands), dtype=np.int64)
    states = {"network": state["network"][rows], "features": None}
    return np.exp(model.log_likelihood(view.select(rows), states, hands).sum(axis=1))


def test_the_numbers_are_those_of_the_network() -> None:
    """The first card's exactly, the second's as far as its draws tell."""
    model = random_model()
    shown = ModelBeliefs(model, "mine", samples=2_000)
    document = game_document(AnnotatedGame(RECORD), model=shown)
    hands = np.array(list(itertools.product(range(6), repeat=2)))
    compared, told = 0, 0.0
    for turn, seat, view, state in moments(RECORD, SMALL, model):
        mind = document["turns"][turn]["beliefs"][seat]
        held = document["turns"][turn]["hands"][seat]
        assert [len(slot) for slot in mind["slots"]] == [6] * len(held)
        np.testing.assert_allclose(np.sum(mind["slots"], axis=1), 1.0, atol=5e-4)
        if len(held) < 2:
            continue
        chances = likelihoods(model, view, state, hands).reshape(6, 6)
        np.testing.assert_allclose(mind["slots"][0], chances.sum(axis=1), atol=6e-5)
        np.testing.assert_allclose(mind["slots"][1], chances.sum(axis=0), atol=5 * 0.5 / 2_000**0.5)
        compared, told = compared + 1, told + float(chances.max() < 0.9)
    assert compared > 20 and told > 10


def test_what_is_sure_is_shown_as_sure() -> None:
    """Where hints and copies leave one hand, every model that draws nothing else is sure of it."""
    found = 0
    for model in (random_model(), Grounded(SMALL)):
        for seed in (3, 4, 5):
            annotated = AnnotatedGame(random_record(seed=seed))
            by_hints = game_document(annotated)
            by_model = game_document(annotated, model=ModelBeliefs(model, "mine", samples=20))
            for one, other in zip(by_hints["turns"], by_model["turns"], strict=True):
                for p in range(2):
                    if one["beliefs"][p]["hands"] == 1 and one["hands"][p]:
                        assert other["beliefs"][p]["slots"] == one["beliefs"][p]["slots"]
                        found += 1
    assert found > 4


class Told(BeliefModel):
    """Draws one of two hands, by a model of whoever wrote it."""

    game = SMALL
    policy = "somebody"

    def sample(self, view: View, state: Memory, rng: np.random.Generator, n: int) -> IntArray:
        return np.where(rng.random(n)[:, None] < 0.25, [[0, 5]], [[1, 5]])

    def log_likelihood(self, view: View, state: Memory, tokens: IntArray) -> Any:
        raise NotImplementedError


def test_a_model_that_draws_alone_is_counted() -> None:
    model = Told()
    drawn = model.marginals(None, None, np.random.default_rng(1), 400)  # type: ignore[arg-type]
    share = np.mean(np.random.default_rng(1).random(400) < 0.25)
    assert drawn.shape == (2, 6) and drawn[1, 5] == 1.0
    assert drawn[0, 0] == share and drawn[0, 1] == 1 - share
    document = game_document(AnnotatedGame(RECORD), model=ModelBeliefs(model, "it", 50))
    assert document["belief"] == {
        "kind": "model", "name": "it", "policy": "somebody", "samples": 50,
    }  # fmt: skip
    mind = document["turns"][0]["beliefs"][0]
    assert mind["hands"] is None and not mind["exact"] and mind["slots"][1][5] == 1.0


def test_marginals_end_with_the_hand() -> None:
    """PAD is no card: the last turns of a game have fewer."""
    model = Grounded(SMALL)
    last = list(moments(RECORD, SMALL, model))[-2:]
    for _, seat, view, state in last:
        chances = model.marginals(view, state, np.random.default_rng(0), 10)
        tokens = model.sample(view, state, np.random.default_rng(0), 10)
        assert ((tokens == PAD).all(axis=0) == (chances.sum(axis=1) == 0)).all(), seat
    by_network = random_model()
    for _, _, view, state in list(moments(RECORD, SMALL, by_network))[-2:]:
        chances = by_network.marginals(view, state, np.random.default_rng(0), 10)
        ended = (by_network.sample(view, state, np.random.default_rng(0), 10) == PAD).all(axis=0)
        np.testing.assert_allclose(chances.sum(axis=1), np.where(ended, 0.0, 1.0), atol=1e-6)


def test_they_follow_from_the_seed() -> None:
    model = random_model()
    one, again, other = (
        game_document(AnnotatedGame(RECORD), model=ModelBeliefs(model, "mine", 10, seed))
        for seed in (1, 1, 2)
    )
    assert one == again and one["turns"] != other["turns"]
    for seat in range(2):  # the belief of a seat does not hang on who else is asked for
        mind = as_seen_by(one, seat)["turns"][3]["beliefs"]
        assert mind[seat] == again["turns"][3]["beliefs"][seat] and mind[1 - seat] is None


def test_the_kind_of_belief_is_named() -> None:
    annotated = AnnotatedGame(RECORD)
    bots = (load_policy("smartbot"),) * 2
    kinds = {
        "hints": game_document(annotated),
        "exact": game_document(annotated, bots, ("smartbot",) * 2),
        "model": game_document(annotated, model=ModelBeliefs(Grounded(SMALL), "grounded", 5)),
    }
    assert {kind: one["belief"]["kind"] for kind, one in kinds.items()} == {k: k for k in kinds}
    assert kinds["model"]["belief"]["policy"] is None
    shown = ModelBeliefs(Grounded(SMALL), "grounded", 5)
    assert GamePage(RECORD, model=shown).document == kinds["model"]


def test_a_model_says_whose_games_it_has_learned() -> None:
    assert random_model(policy="smartbot").policy == "smartbot"
    assert random_model(policy={"type": "SmartBot"}).policy == "SmartBot"
    for odd in (None, 3, ["x"], {"kind": "x"}, {"type": 4}):
        assert random_model(policy=odd).policy == ""


def test_a_model_of_another_game_is_refused() -> None:
    other = HanabiGame(players=2, colors=2, ranks=3, hand_size=2)
    with pytest.raises(UnsupportedError, match=r"the belief model is for .*, got .*tokens=3"):
        game_document(AnnotatedGame(RECORD), model=ModelBeliefs(Grounded(other), "grounded"))
    keeping = HanabiGame(replace(SMALL.config, bomb="keep", random_start_player=True))
    same = game_document(AnnotatedGame(RECORD), model=ModelBeliefs(Grounded(keeping), "grounded"))
    assert same == game_document(
        AnnotatedGame(RECORD), model=ModelBeliefs(Grounded(SMALL), "grounded")
    )
    seer = HanabiGame(replace(SMALL.config, observation_type="seer"))
    record = replace(RECORD, config=seer.config)
    with pytest.raises(UnsupportedError, match="nothing is hidden from player 0"):
        game_document(AnnotatedGame(record), model=ModelBeliefs(Grounded(seer), "grounded"))


@pytest.mark.parametrize(("samples", "seed"), [(0, 0), (5, -1), (2.5, 0)])
def test_settings_are_checked(samples: Any, seed: int) -> None:
    with pytest.raises(ConfigError, match="must be an integer of at least"):
        ModelBeliefs(Grounded(SMALL), "grounded", samples, seed)


def test_a_shipped_model_beside_the_exact_belief() -> None:
    """In games of its policy it puts more on the true cards than hints alone do."""
    pytest.importorskip("torch")
    from hanabi_search_plugin.evaluation.match import deal_game
    from hanabi_search_plugin.networks.catalogue import load_belief_model

    game = HanabiGame(players=2)
    from hanabi_search_plugin import evaluate

    kept: list[Any] = []
    evaluate(game, "rlnet", games=1, seed=5, on_game=kept.append)
    row = deal_game(game, 5, 0)[0].rows[0]  # type: ignore[attr-defined]
    record = RecordedGame(
        config=game.config, game=0, deck=tuple(row[-game.config.deck_size :].tolist()),
        actions=kept[0].actions[:24],
    )  # fmt: skip
    learned = ModelBeliefs(load_belief_model("rlnet", game), "rlnet", samples=30)
    annotated = AnnotatedGame(record)
    found = [
        np.mean([
            np.log(turn["beliefs"][p]["slots"][slot][document["cards"][order]] + 1e-3)
            for turn in document["turns"]
            for p in range(2)
            for slot, order in enumerate(turn["hands"][p])
        ])
        for document in (game_document(annotated, model=learned), game_document(annotated))
    ]  # fmt: skip
    assert found[0] > found[1] + 0.05


def test_a_file_is_a_model(tmp_path: Path) -> None:
    model = random_model(policy="smartbot")
    from hanabi_search_plugin.networks.belief_files import save_belief
    from hanabi_search_plugin.networks.catalogue import load_belief_model

    save_belief(tmp_path / "m.safetensors", SMALL, model.network, {"policy": "smartbot"})
    loaded = load_belief_model(str(tmp_path / "m.safetensors"), SMALL)
    documents = [
        game_document(AnnotatedGame(RECORD), model=ModelBeliefs(one, "m", 20))
        for one in (model, loaded)
    ]
    assert documents[0] == documents[1]
