"""Clones of a search: networks with an adviser, what they learn from, objectives, resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from typer.testing import CliRunner

from hanabi_search_plugin import (
    ConfigError,
    HanabiConfig,
    HanabiGame,
    SmartBot,
    Sparta,
    evaluate,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.errors import RecordError, UnsupportedError
from hanabi_search_plugin.core.policy import take
from hanabi_search_plugin.evaluation.match import deal_games
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.hanabi.files.searched_games import read_searched, record_games
from hanabi_search_plugin.networks.advised_policy import AdvisedPolicy
from hanabi_search_plugin.networks.architectures import make_network
from hanabi_search_plugin.networks.checkpoint import load_network, save_network
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.training.clone_examples import (
    OBJECTIVES,
    chosen,
    examples_of,
    logits_at,
    loss_of,
)  # fmt: skip
from hanabi_search_plugin.networks.training.clone_training import CloneRun, drawn, measured
from hanabi_search_plugin.networks.training.training_run import METRICS, MODEL, STATE
from hanabi_search_plugin.networks.training.training_settings import (
    Cloning,
    Distillation,
    Objective,
)
from hanabi_search_plugin.testing import check_agent, check_belief, check_policy

TINY = HanabiConfig(colors=2, ranks=3, hand_size=2, information_tokens=3)
GAME = HanabiGame(TINY)
MASKS = {"hidden": 16, "context": 8, "scorer": 8}
LSTM = {"hidden": 16}
KINDS = {"advised-lstm": LSTM, "advised-masks": MASKS}
DECIDES = {"advised-lstm": "logits", "advised-masks": "own_heads"}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty games in which the seats search in turn."""
    folder = tmp_path_factory.mktemp("searched")
    bot, agent = SmartBot(), upgrade(SmartBot(), GAME, Sparta(rollouts=300, min_rollouts=10))
    record_games(GAME, [(agent, bot), (bot, agent)], folder, policy="smartbot", games=40, seed=3)
    return folder


def network_of(kind: str, seed: int = 0, trust: float | None = None) -> Any:
    """A small network with an adviser, which it follows by so much."""
    torch.manual_seed(seed)
    network = make_network(kind, TINY, KINDS[kind])
    if trust is not None:
        with torch.no_grad():
            network.advice.weight.copy_(trust * torch.eye(TINY.num_actions))
    return network


@pytest.mark.parametrize("kind", KINDS)
def test_one_that_trusts_its_adviser_plays_as_it(kind: str) -> None:
    policy = network_policy(network_of(kind, trust=1e3))
    assert isinstance(policy, AdvisedPolicy)
    assert policy.public_memory == (kind == "advised-masks")
    worlds, streams = deal_games(GAME, 1, np.arange(60))
    moves = [self_play(worlds, (player,) * 2, streams).actions for player in (policy, SmartBot())]
    np.testing.assert_array_equal(*moves)
    untrusting = network_policy(network_of(kind, trust=0.0))
    other = self_play(worlds, (untrusting,) * 2, streams).actions
    assert other.shape != moves[0].shape or (other != moves[0]).any()


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_a_policy_that_does_not_peek_and_beliefs_hold_it(kind: str) -> None:
    policy = network_policy(network_of(kind, trust=1.0))
    check_policy(GAME, policy)
    check_agent(GAME, policy)
    check_agent(GAME, upgrade(policy, GAME, Sparta(rollouts=24, min_rollouts=2)), games=2)
    tiny = HanabiConfig(colors=1, ranks=3, hand_size=2, information_tokens=2)
    torch.manual_seed(0)
    smaller = network_policy(make_network(kind, tiny, KINDS[kind]))
    check_belief(HanabiGame(tiny), smaller)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_searched_over(kind: str) -> None:
    policy = network_policy(network_of(kind))
    agent = upgrade(policy, GAME, Sparta(rollouts=60, min_rollouts=5))
    result = evaluate(GAME, (policy, agent), games=2, seed=1)
    assert result.to_dict()["searched_share"] > 0.3
    assert all(game.fallback_moves == 0 for game in result.games)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_gives_it_back(kind: str, tmp_path: Path) -> None:
    network = network_of(kind)
    save_network(tmp_path / "a", network, {"seed": 5})
    loaded = load_network(tmp_path / "a", TINY)
    assert loaded.network.options == network.options and loaded.training == {"seed": 5}
    policy = load_policy(f"network:file={tmp_path / 'a'}", HanabiGame(TINY))
    assert isinstance(policy, AdvisedPolicy)
    first = evaluate(GAME, policy, games=20).scores
    assert first.tolist() == evaluate(GAME, network_policy(network), games=20).scores.tolist()
    with pytest.raises(UnsupportedError, match="has no values"):
        policy.value(deal_games(GAME, 1, np.arange(1))[0].view(0), None)
    with pytest.raises(UnsupportedError, match=r"has not \(clones have none.*use depth None"):
        upgrade(policy, GAME, Sparta(depth=4))


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_what_the_policy_meets(kind: str, data: Path) -> None:
    games = read_searched(data)
    policy = network_policy(network_of(kind, seed=1))
    examples = examples_of(games, policy)
    tried = games.legal & (games.count > 0)
    assert len(examples) == int((tried.sum(1) > 1).sum()) > 100
    order = np.lexsort((examples.turn, examples.stream))
    assert (order == np.arange(len(examples))).all()
    assert (examples.private[:, -1] == examples.blueprint).all()  # the adviser is who was searched
    rows = np.arange(len(examples))
    assert not examples.value[rows, examples.blueprint].any()
    np.testing.assert_array_equal(examples.played, games.played[tried.sum(1) > 1])
    # The logits of an example are those of the policy where it comes to the same decision.
    at = int(np.flatnonzero(tried.sum(1) > 1)[-1])
    game, turn, seat = int(games.game[at]), int(games.turn[at]), int(games.seat[at])
    worlds = GAME.from_decks(games.deck[game][None].astype(np.int64))
    memory = policy.start(worlds.view(seat))
    for action in games.moves[game, :turn].tolist():
        event = worlds.step(np.array([action]))
        memory = policy.observe(worlds.view(seat), event, memory)
    view = worlds.view(seat)
    expected = policy._logits(view, view.legal, memory)[0]
    some = np.array([0, len(examples) - 1])
    found = logits_at(policy.network, examples, some).detach().numpy()[-1]
    np.testing.assert_allclose(found[view.legal[0]], expected[view.legal[0]], atol=1e-5)


def examples_with(value: list[list[float]], tried: list[list[int]], played: list[int]) -> Any:
    return (
        torch.tensor(value), torch.tensor(tried, dtype=torch.bool), torch.tensor(played),
    )  # fmt: skip


def test_objectives_by_hand() -> None:
    value, legal, played = examples_with([[0.0, 1.0, 0.0]], [[1, 1, 0]], [0])
    logits = torch.tensor([[0.0, 0.0, -1e9]])
    assert tuple(OBJECTIVES) == get_args(Objective)
    assert OBJECTIVES["reward"](logits, value, legal, played).item() == pytest.approx(0.5)
    ce = OBJECTIVES["cross-entropy"](logits, value, legal, played).item()
    assert ce == pytest.approx(np.log(2))
    error = OBJECTIVES["values"](logits, value, legal, played).item()
    assert error == pytest.approx(0.25)  # -0.5 and 0.5 against 0 and 0
    exact = torch.tensor([[7.0, 8.0, -1e9]])
    assert OBJECTIVES["values"](exact, value, legal, played).item() == pytest.approx(0.0)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_objective_learns(kind: str, objective: str, data: Path) -> None:
    network = network_of(kind, trust=1.0)
    examples = examples_of(read_searched(data), network_policy(network))
    optimizer = torch.optim.RMSprop(network.parameters(), lr=1e-2)
    rows = np.flatnonzero(examples.stream < 8)
    losses = []
    for _ in range(25):
        loss = loss_of(objective, network, examples, rows)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
    moves = chosen(network, examples, rows)
    assert examples.legal[rows, moves].all()


def test_measures_are_those_of_the_moves_chosen(data: Path) -> None:
    network = network_of("advised-masks", trust=1e3)
    examples = examples_of(read_searched(data), network_policy(network))
    changes = float((examples.played != examples.blueprint).mean())
    expected = {"gain": 0.0, "changed": 0.0, "agreement": 1 - changes}
    assert measured(network, examples) == pytest.approx(expected)
    rows = drawn(network_of("advised-lstm"), examples, 60, np.random.default_rng(0))
    whole = [
        row for row in range(len(examples)) if examples.stream[row] in set(examples.stream[rows])
    ]
    assert len(examples.seen) == 40 and rows.tolist() == whole


def run_of(data: Path, folder: Path, **changes: Any) -> CloneRun:
    given = {
        "data": str(data), "held_out": str(data), "architecture": "advised-masks",
        "options": MASKS, "iterations": 3, "passes": 0.3, "batch": 16, "seed": 4,
    } | changes  # fmt: skip
    return CloneRun(Cloning(**given), folder)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_stopped_ends_with_the_same_weights(
    kind: str, data: Path, tmp_path: Path
) -> None:
    given = {"architecture": kind, "options": KINDS[kind]}
    whole = run_of(data, tmp_path / "whole", **given)
    while not whole.finished:
        whole.iterate()
    run_of(data, tmp_path / "parts", **given).iterate()
    again = run_of(data, tmp_path / "parts", **given)
    assert again.done == 1
    while not again.finished:
        again.iterate()
    for name, x in whole.network.state_dict().items():
        assert torch.equal(x, again.network.state_dict()[name])
    lines = [json.loads(x) for x in (tmp_path / "parts" / METRICS).read_text().splitlines()]
    assert [line["iteration"] for line in lines] == [1, 2, 3]
    assert {"loss", "gain", "changed", "agreement"} <= set(lines[0])
    assert (tmp_path / "parts" / STATE).exists()
    record = load_network(tmp_path / "parts" / MODEL).training
    assert record["objective"] == "reward" and record["search"]["seed"] == 3
    with pytest.raises(ConfigError, match=r"seed is 4 in .*, 5 here"):
        run_of(data, tmp_path / "parts", **given, seed=5)
    count = len(read_searched(data))
    assert record["games"] == count
    with pytest.raises(ConfigError, match=rf"games is {count} in .*, {count - 1} here"):
        run_of(data, tmp_path / "parts", **given, games=count - 1)


def test_a_network_of_masks_goes_on_from_another(data: Path, tmp_path: Path) -> None:
    torch.manual_seed(9)
    start = make_network("masks", TINY, MASKS)
    save_network(tmp_path / "start", start, {})
    for architecture in ("masks", "advised-masks"):
        run = run_of(
            data, tmp_path / architecture, architecture=architecture, start=str(tmp_path / "start")
        )
        assert torch.equal(run.network.own_heads.weight, start.own_heads.weight)
        run.iterate()
        assert not torch.equal(run.network.own_heads.weight, start.own_heads.weight)
    masks = run_of(data, tmp_path / "masks", architecture="masks", start=str(tmp_path / "start"))
    for name, x in start.memory.state_dict().items():  # it keeps the masks that it was taught
        assert torch.equal(x, masks.network.state_dict()[f"memory.{name}"])


def test_what_is_refused(data: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    save_network(plain, make_network("masks", TINY, MASKS), {})
    for changes, reason in (
        ({"objective": "luck"}, "objective must be one of reward, cross-entropy, values"),
        ({"rate": 0.0}, "rate must be a positive number"),
        ({"architecture": "masks"}, "masks learns from searches .*: give --start"),
        ({"start": "smartbot"}, "start must be a network, .*got smartbot, which is none"),
        ({"options": {"adviser": 3}}, "adviser must be the name of a policy, got 3"),
        ({"options": {"adviser": "random"}}, "adviser must not play by chance"),
        (
            {"options": {"adviser": f"network:file={plain}"}},
            "adviser must be a bot of masks",
        ),
    ):
        with pytest.raises(ConfigError, match=reason):
            run_of(data, tmp_path / "run", **changes)
    with pytest.raises(RecordError, match="expected searched games"):
        run_of(tmp_path, tmp_path / "run")
    with pytest.raises(ConfigError, match=r"architecture must be one of masks, .* got"):
        Distillation(config=TINY, architecture="advised-masks")


def test_by_command(data: Path, tmp_path: Path) -> None:
    arguments = [
        "train", "clone", "--data", str(data), "--held-out", str(data), "--out", str(tmp_path),
        "--set", "hidden=16", "--iterations", "2", "--passes", "0.1", "--batch", "16",
        "--games", "20", "--evaluation-games", "10",
    ]  # fmt: skip
    run = CliRunner().invoke(app, arguments)
    assert run.exit_code == 0, run.output
    assert "agreement" in run.output and "baseline" in run.output
    assert load_network(tmp_path / MODEL).training["games"] == 20
    old = CliRunner().invoke(app, [*arguments[:6], "--out", str(tmp_path), "--rounds", "2"])
    assert old.exit_code == 2
    assert "--rounds is --iterations, as in every training, got --rounds 2" in old.output


def test_a_memory_that_is_called_public_is_the_same_for_both_seats() -> None:
    """After any moves: where SmartBot's seats read a discard differently, these do not."""
    policy, bot = network_policy(network_of("advised-masks")), SmartBot()
    rng, differ = np.random.default_rng(0), 0
    worlds = GAME.deal(rng, 2_000)
    shared = [policy.start(worlds.view(p)) for p in range(2)]
    own = [bot.start(worlds.view(p)) for p in range(2)]
    for _ in range(12):
        noise = np.where(worlds.legal, rng.random(worlds.legal.shape), -1.0)
        event = worlds.step(noise.argmax(axis=1))
        on = np.flatnonzero(~worlds.terminal)
        worlds, event = worlds.select(on), event.select(on)
        shared = [policy.observe(worlds.view(p), event, take(shared[p], on)) for p in range(2)]
        own = [bot.observe(worlds.view(p), event, take(own[p], on)) for p in range(2)]
        np.testing.assert_array_equal(shared[0]["adviser"], shared[1]["adviser"])
        differ += int((own[0] != own[1]).any(axis=1).sum())
    assert differ > 0
