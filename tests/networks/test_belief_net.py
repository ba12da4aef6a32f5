"""Belief networks: what they learn against exact posteriors, draws, resuming, the command."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file
from typer.testing import CliRunner

from hanabi_search_plugin import ConfigError, HanabiGame, load_policy
from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.errors import CheckpointError, UnsupportedError
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.hanabi.bots.compiled import SmartBot
from hanabi_search_plugin.networks.belief_files import (
    NetworkBelief,
    load_belief,
    save_belief,
)
from hanabi_search_plugin.networks.nets.belief_net import BeliefNet
from hanabi_search_plugin.networks.training.belief_games import batch_of, play_belief_games
from hanabi_search_plugin.networks.training.belief_training import (
    BeliefRun,
    cross_entropies,
)
from hanabi_search_plugin.networks.training.training_run import METRICS, MODEL, STATE
from hanabi_search_plugin.networks.training.training_settings import BeliefSettings
from hanabi_search_plugin.wrappers.openspiel import OpenSpielDealtGame, OpenSpielGame
from tests.helpers.belief_moments import moments

SMALL = HanabiGame(players=2, colors=2, ranks=3, hand_size=2, information_tokens=3)
THREE = HanabiGame(players=3, colors=2, ranks=2, hand_size=2, information_tokens=3)
TINY = OpenSpielDealtGame("tiny_hanabi")
SIZES = {"hidden": 16, "decoder": 8, "embedding": 4}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def random_net(game: Any, **options: Any) -> BeliefNet:
    """A network that says something of everything it reads."""
    torch.manual_seed(0)
    network = BeliefNet(game, **SIZES, **options)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return network


class Telling(UniformPolicy):
    """Player 0 of tiny_hanabi says 2 with card 0, and 0 or 1 with card 1."""

    def probabilities(self, view: Any, legal: Any, memory: Any) -> Any:
        odds = {"p0:d0": [0.2, 0.2, 0.6], "p0:d1": [0.5, 0.4, 0.1]}
        return np.array([odds.get(key, [1 / 3] * 3) for key in view.keys()])

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        cumulative = np.cumsum(self.probabilities(view, legal, memory), axis=1)
        return (cumulative > rng.uniform()[:, None]).argmax(axis=1)


def test_a_model_of_a_tiny_game_comes_to_the_exact_posterior(tmp_path: Path) -> None:
    settings = BeliefSettings(iterations=25, games=60, keep=12, steps=10, batch=100, rate=0.02)
    run = BeliefRun(TINY, (Telling(),) * 2, settings, tmp_path, options=SIZES)
    while not run.finished:
        row = run.iterate()
    assert row["masked"] < row["grounded"] - 0.02
    model = load_belief(tmp_path / MODEL, TINY)
    odds = np.array([[0.2, 0.2, 0.6], [0.5, 0.4, 0.1]])
    for card, said in itertools.product(range(2), range(3)):
        worlds = TINY.deal_scripts([(0, card)])
        state = model.start(worlds.view(1))
        event = worlds.step(np.array([said]))
        view = worlds.view(1)
        state = model.observe(view, event, state)
        told = np.exp(model.log_likelihood(view, state, np.array([[0]])))[0, 0]
        exact = odds[0, said] / odds[:, said].sum()
        assert told == pytest.approx(exact, abs=0.06)
        drawn = model.sample(view, state, np.random.default_rng(0), 2000)
        assert (drawn == 0).mean() == pytest.approx(told, abs=0.06)


@pytest.mark.parametrize("game", [SMALL, THREE, TINY], ids=str)
def test_a_masked_model_never_draws_what_cannot_be(game: Any) -> None:
    native = isinstance(game, HanabiGame)
    policy = load_policy("smartbot", game) if native else UniformPolicy()
    network, rng = random_net(game), np.random.default_rng(1)
    kept, raw = (NetworkBelief(game, network, mask=mask) for mask in (True, False))
    wrong = 0
    for seed in range(3):
        for view, state, truth in moments(game, kept, policy, seed):
            many = view.select(np.zeros(40, dtype=np.int64))
            drawn = kept.sample(view, state, rng, 40)
            assert game.agrees(many, drawn).all()
            assert ((drawn < 0) == (truth < 0)).all()
            wrong += int((~game.agrees(many, raw.sample(view, state, rng, 40))).sum())
    assert wrong > 0 or not native  # without the mask some are impossible


@pytest.mark.parametrize("mask", [True, False])
@pytest.mark.parametrize("encoding", ["belief-1", "v0-1"])
def test_likelihood_is_the_product_of_what_draws_are_made_by(encoding: str, mask: bool) -> None:
    """Teacher forcing and sampling say the same; all hands together have probability 1."""
    network = random_net(SMALL, encoding=encoding)
    model = NetworkBelief(SMALL, network, mask=mask)
    hands = np.array(list(itertools.product(range(6), repeat=2)))
    whole = 0
    for view, state, truth in moments(SMALL, model, load_policy("smartbot"), 4):
        if (truth < 0).any():
            continue
        many = view.select(np.zeros(len(hands), dtype=np.int64))
        rows = {"network": np.repeat(state["network"], len(hands), axis=0), "features": None}
        told = model.log_likelihood(many, rows, hands)  # [36, 2]
        if mask:
            assert np.exp(told.sum(axis=1)).sum() == pytest.approx(1.0, abs=1e-5)
        assert np.exp(told[:: len(hands) // 6, 0]).sum() == pytest.approx(1.0, abs=1e-5)
        drawn = model.sample(view, state, np.random.default_rng(0), 4000)
        for hand, chance in zip(hands, np.exp(told.sum(axis=1)), strict=True):
            share = (drawn == hand).all(axis=1).mean()
            spread = np.sqrt(chance * (1 - chance) / 4000)
            assert mask is False or share == pytest.approx(chance, abs=5 * spread + 1e-6)
        whole += 1
    assert whole > 3


def test_states_follow_a_game_as_the_training_reads_it() -> None:
    """Step by step at play, and whole sequences at training, give the same contexts."""
    policy = load_policy("smartbot", SMALL)
    network = random_net(SMALL, listener="smartbot")
    model = NetworkBelief(SMALL, network)
    examples = play_belief_games(
        SMALL, (policy,) * 2, network.featurizer, 1, np.random.default_rng(9)
    )
    with torch.inference_mode():
        contexts = network.contexts(torch.from_numpy(examples.seen)).numpy()
    played = list(moments(SMALL, model, policy, 9))
    assert len(played) == len(examples.step)
    for turn, (_, state, truth) in enumerate(played):
        (at,) = np.flatnonzero(examples.step == turn)
        assert (examples.tokens[at] == truth[0]).all()
        mine = network.context(torch.from_numpy(state["network"])).numpy()[0]
        assert mine == pytest.approx(contexts[turn, examples.sequence[at]], abs=1e-5)


def test_batches_hold_the_sequences_that_were_chosen() -> None:
    policy = load_policy("smartbot", SMALL)
    network = random_net(SMALL)
    parts = [
        play_belief_games(SMALL, (policy,) * 2, network.featurizer, n, np.random.default_rng(n))
        for n in (3, 5)
    ]
    batch = batch_of(parts, np.array([15, 0, 7]))  # the last of the second, the first of both
    for column, (part, index) in enumerate([(parts[1], 9), (parts[0], 0), (parts[1], 1)]):
        length = min(len(batch.seen), len(part.seen))
        assert (batch.seen[:length, column] == part.seen[:length, index]).all()
        mine, theirs = batch.sequence == column, part.sequence == index
        assert (batch.step[mine] == part.step[theirs]).all()
        assert (batch.tokens[mine] == part.tokens[theirs]).all()
        assert (batch.weights[mine] == part.weights[theirs]).all()
    figures = cross_entropies(network, batch)
    assert figures["masked"] <= figures["loss"]


def test_what_is_grounded_is_where_training_begins(tmp_path: Path) -> None:
    """An untrained network says what the observations alone do, and learns from there."""
    policy = load_policy("smartbot", SMALL)
    settings = BeliefSettings(iterations=8, games=40, steps=10, batch=40, rate=5e-3)
    options = {"hidden": 32, "decoder": 16, "embedding": 8}
    rows = []
    run = BeliefRun(SMALL, (policy,) * 2, settings, tmp_path, name="smartbot", options=options)
    first = cross_entropies(run.network, run._games(0)[0])
    assert float(first["masked"]) == pytest.approx(float(first["grounded"]), abs=0.01)
    while not run.finished:
        rows.append(run.iterate())
    assert rows[-1]["masked"] < rows[-1]["grounded"] - 0.015


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    policy = load_policy("smartbot", SMALL)
    settings = BeliefSettings(iterations=5, games=6, keep=2, steps=2, batch=6)

    def begin(folder: str) -> BeliefRun:
        return BeliefRun(
            SMALL, (policy,) * 2, settings, tmp_path / folder, name="smartbot", options=SIZES
        )

    whole = begin("whole")
    while not whole.finished:
        whole.iterate()
    for _ in range(3):
        begin("parts").iterate()
    kept = (tmp_path / "parts" / STATE).read_bytes()
    begin("parts").iterate()
    (tmp_path / "parts" / STATE).write_bytes(kept)  # stopped between the metrics and the state
    rest = begin("parts")
    while not rest.finished:
        rest.iterate()
    for name in (STATE, MODEL):
        one, other = (load_file(tmp_path / folder / name) for folder in ("whole", "parts"))
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one)
    losses = [
        [json.loads(line)["loss"] for line in (tmp_path / f / METRICS).read_text().splitlines()]
        for f in ("whole", "parts")
    ]
    assert len(losses[0]) == 5 and losses[0] == losses[1]
    other = BeliefSettings(iterations=5, games=7, keep=2, steps=2, batch=6)
    with pytest.raises(ConfigError, match=r"its settings: games is 6 in .*, 7 here"):
        BeliefRun(SMALL, (policy,) * 2, other, tmp_path / "parts", name="smartbot", options=SIZES)


def test_a_file_gives_back_the_model_and_is_refused_by_other_games(tmp_path: Path) -> None:
    network, path = random_net(SMALL), tmp_path / "a"
    save_belief(path, SMALL, network, {"policy": "smartbot"}, half=True)
    model = load_belief(path, SMALL)
    assert model.training == {"policy": "smartbot"}
    lenient = HanabiGame(
        players=2, colors=2, ranks=3, hand_size=2, information_tokens=3, bomb="keep"
    )
    assert load_belief(path, lenient).digest == model.digest
    with pytest.raises(CheckpointError, match=r"expected a game with players 2, .* got 3"):
        load_belief(path, THREE)
    path.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="expected a safetensors file"):
        load_belief(path, SMALL)


def test_options_are_checked() -> None:
    for options, reason in (
        ({"hidden": 0}, "hidden must be an integer of at least 1, got 0"),
        ({"encoding": "tensor"}, "encoding must be one of v0-1, status-1, got 'tensor'"),
        ({"listener": "random"}, "listener must remember a mask for each card, got .*Uniform"),
        ({"encoding": "v0-1", "listener": "smartbot"}, "listener is an option of the encoding"),
    ):
        with pytest.raises(ConfigError, match=reason):
            BeliefNet(SMALL, **options)
    with pytest.raises(ConfigError, match="encoding must be one of tensor, got 'v0'"):
        BeliefNet(TINY, encoding="v0")
    with pytest.raises(UnsupportedError, match="names its private tokens"):
        BeliefRun(
            OpenSpielGame("tic_tac_toe"), (UniformPolicy(),) * 2, BeliefSettings(), Path("nowhere")
        )
    with pytest.raises(
        ConfigError, match=r"options of a belief network are encoding, .* got .width"
    ):
        BeliefRun(
            SMALL, (UniformPolicy(),) * 2, BeliefSettings(), Path("nowhere"), options={"width": 3}
        )
    wrong: Any = {"games": 3}
    with pytest.raises(ConfigError, match=r"must be those of a BeliefSettings, .*got \{'games"):
        BeliefRun(SMALL, "smartbot", wrong, Path("nowhere"))
    other: Any = "hanabi"
    with pytest.raises(UnsupportedError, match="expected a Game of this package, got a str"):
        BeliefRun(other, "smartbot", BeliefSettings(), Path("nowhere"))
    assert Grounded(SMALL).game is SMALL


def test_one_policy_plays_every_seat_of_a_training(tmp_path: Path) -> None:
    settings = BeliefSettings(iterations=1, games=4, steps=1, batch=4)
    rows: list[Any] = []
    for number, given in enumerate((SmartBot(), "smartbot", (SmartBot(), "smartbot"))):
        run = BeliefRun(SMALL, given, settings, tmp_path / str(number), options={"hidden": 8})
        assert [repr(policy) for policy in run.blueprint] == ["SmartBot", "SmartBot"]
        rows.append({name: value for name, value in run.iterate().items() if name != "seconds"})
    assert rows[0] == rows[1] == rows[2]
    with pytest.raises(UnsupportedError, match="expected 2 policies, one a seat, got 3"):
        BeliefRun(SMALL, ("smartbot",) * 3, settings, tmp_path / "wrong")


def test_the_command_trains_and_its_belief_is_searched_with(tmp_path: Path) -> None:
    """From games of SmartBot: a model, then LBS and SPARTA over it, to the end of the game."""
    small = ["--colors", "2", "--ranks", "2", "--hand-size", "2"]
    out = tmp_path / "run"
    words = ["train", "belief", "--policy", "smartbot", "--out", str(out), *small]
    words += ["--iterations", "2", "--games", "6", "--steps", "2", "--set", "hidden=8"]
    words += ["--set", "decoder=8", "--set", "listener=smartbot", "--evaluation-games", "4"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "nats a card" in result.output and "on 4 new games" in result.output
    (told,) = re.findall("play it: hanabi-search (.*)", result.output)
    played = CliRunner().invoke(app, [*shlex.split(told), "--games", "1", "--rollouts", "40"])
    assert played.exit_code == 0, (played.output, played.exception)
    model = load_belief(out / MODEL, HanabiGame(players=2, colors=2, ranks=2, hand_size=2))
    assert model.training["policy"] == "smartbot" and model.training["done"] == 2
    searched = ["evaluate", *small, "--games", "1", "--rollouts", "40", "--belief"]
    for words in (
        [*searched, str(out / MODEL), "--search", "lbs", "--depth", "0"],
        [*searched, str(out / MODEL), "--search", "sparta"],
        [*searched, "grounded", "--search", "lbs", "--depth", "0"],
        [*searched, "grounded", "--search", "mds", "--search-seats", "all"],
        [*searched, "grounded", "--search", "pomcp"],
        [*searched, "exact", "--search", "lbs", "--depth", "0"],
    ):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, (result.output, result.exception)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--search", "lbs"], "belief must be given where there is no model of smartbot's games"),
        (["--search", "lbs", "--belief", "nobody"], "belief must be one of exact, grounded"),
        (["--search", "ris-mcts", "--belief", "grounded"], "belief is not an option of ris-mcts"),
        (["--search", "sparta", "--no-explain"], "no-explain is an option of learned beliefs"),
        (["--search", "lbs", "--belief", "grounded"], "cut short where the blueprint has values"),
        (["--search", "joint-sparta", "--depth", "3"], "cut short where the blueprint has values"),
        (
            ["--search", "joint-sparta", "--seconds", "3"],
            "seconds is not an option of joint-sparta",
        ),
    ],
)
def test_the_command_says_what_cannot_be(words: list[str], reason: str, capsys: Any) -> None:
    small = ["--colors", "2", "--ranks", "2", "--hand-size", "2", "--games", "1"]
    result = CliRunner().invoke(app, ["evaluate", *small, *words])
    assert result.exit_code == 2
    assert reason in " ".join(result.output.split()) + capsys.readouterr().err
