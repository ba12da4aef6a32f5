"""Learning by self-play: what it learns from, that it learns, resumes, and runs by command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from hanabi_search_plugin import (
    ConfigError,
    HanabiConfig,
    HanabiGame,
    evaluate,
    load_policy,
)
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.errors import CheckpointError, IllegalActionError
from hanabi_search_plugin.networks.architectures import make_network
from hanabi_search_plugin.networks.checkpoint import load_network
from hanabi_search_plugin.networks.encodings.named_encodings import make_encoding
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.tensors.simulator import EngineGames, TensorGames
from hanabi_search_plugin.networks.training import training_run
from hanabi_search_plugin.networks.training.distillation import distill
from hanabi_search_plugin.networks.training.ppo import (
    LossWeights,
    batches,
    lambda_returns,
    losses,
    movers_returns,
)
from hanabi_search_plugin.networks.training.self_play import (
    SelfPlayRun,
    learn_by_self_play,
    sharpen,
)
from hanabi_search_plugin.networks.training.selfplay_games import Collector, Segment, gather_seat
from hanabi_search_plugin.networks.training.training_run import METRICS, MODEL
from hanabi_search_plugin.networks.training.training_settings import Distillation, SelfPlay

TINY = HanabiConfig(colors=2, ranks=3, hand_size=2, information_tokens=3)
SIZES = {
    "feed-forward": {"hidden": 16},
    "public-lstm": {"hidden": 16, "lstm_layers": 1},
    "recurrent": {"hidden": 16, "lstm_layers": 1},
    "masks": {"hidden": 16, "context": 8, "scorer": 8},
    "public-belief": {"hidden": 32, "context": 16, "scorer": 16, "cell": 8},
}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def collector_of(architecture: str, games: int, config: HanabiConfig = TINY) -> Collector:
    torch.manual_seed(0)
    network = make_network(architecture, config, SIZES[architecture]).eval()
    simulator = EngineGames(HanabiGame(config), network.encoding, games, 5, "cpu")
    return Collector(network, simulator, games, "cpu")


def chance(seed: int = 1) -> Any:
    return torch.Generator().manual_seed(seed)


# -------------------------------------------------------------------------------------- beginning


@pytest.mark.parametrize("architecture", SIZES)
def test_sharper_logits_leave_best_moves_and_values(architecture: str) -> None:
    torch.manual_seed(0)
    network = make_network(architecture, TINY, SIZES[architecture]).eval()
    worlds = HanabiGame(TINY).deal(np.random.default_rng(0), 16)
    policy, view = network_policy(network), worlds.view(0)
    given = [torch.from_numpy(part) for part in policy.inputs(view, policy.start(view))]
    with torch.no_grad():
        before = network.decide(*given)
        sharpen(network, 3.0)
        after = network.decide(*given)
    assert torch.allclose(after.logits, 3 * before.logits, atol=1e-5)
    assert torch.equal(after.value, before.value) and before.logits.std() > 0.01
    assert torch.allclose(after.advantage, before.advantage)


def test_only_a_start_is_sharpened(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="sharpen is of the network that a run starts with"):
        SelfPlayRun(SelfPlay(config=TINY, sharpen=2.0), tmp_path)
    with pytest.raises(ConfigError, match=r"sharpen must be a positive number, got 0"):
        SelfPlay(config=TINY, sharpen=0)


# --------------------------------------------------------------------------------------- playing


def test_games_begin_anew_and_bring_their_returns() -> None:
    collector = collector_of("feed-forward", 64)
    segment = collector.play(40, chance())
    assert segment.fresh[0].all() and (segment.fresh[1:] == segment.ended[:-1]).all()
    assert 64 < segment.ended.sum() < 640
    # What a game brings between two ends is its score: nothing where it was lost.
    brought, scores = torch.zeros(64), []
    for t in range(40):
        brought += segment.points[t] - segment.forfeit[t]
        scores += brought[segment.ended[t]].tolist()
        assert torch.equal(brought, segment.score[t])
        assert (brought[segment.lost[t]] == 0).all()
        brought[segment.ended[t]] = 0
    assert set(scores) <= set(range(7)) and len(set(scores)) > 1
    assert (segment.forfeit[~segment.lost] == 0).all() and segment.lost.any()
    legal = segment.legal.gather(2, segment.action.unsqueeze(2))
    assert legal.all() and (segment.log_prob <= 0).all()


def test_a_move_that_is_not_legal_is_refused() -> None:
    collector = collector_of("feed-forward", 2)
    legal = collector.simulator.observe().legal
    with pytest.raises(IllegalActionError):
        collector.simulator.step((~legal).int().argmax(1))


@pytest.mark.parametrize("encoding", ["status-1", "v0-1"])
@pytest.mark.parametrize("bomb", ["zero", "keep", "minus_one"])
def test_games_on_a_device_are_those_of_the_engine(encoding: str, bomb: Any) -> None:
    """The same games show the same and bring the same, until they end."""
    game = HanabiGame(HanabiConfig(**TINY.to_dict() | {"bomb": bomb}))
    made = make_encoding(encoding, game.config)
    engine, tensors = (kind(game, made, 40, 0, "cpu") for kind in (EngineGames, TensorGames))
    tensors.restore(engine.state())
    alive, rng = torch.ones(40, dtype=torch.bool), np.random.default_rng(0)
    for _ in range(30):
        one, other = engine.observe(), tensors.observe()
        for name in ("mover", "legal", "public", "private"):
            mine, theirs = getattr(one, name), getattr(other, name)
            assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
            across = alive if mine.ndim < 3 else (slice(None), alive)
            assert torch.equal(mine[across], theirs[across])
        noise = torch.from_numpy(rng.random(one.legal.shape))
        stepped = [
            each.step((noise * legal).argmax(1))
            for each, legal in ((engine, one.legal), (tensors, other.legal))
        ]
        for name in ("points", "forfeit", "ended", "lost", "score"):
            mine, theirs = (getattr(part, name)[alive] for part in stepped)
            assert mine.dtype == theirs.dtype and torch.equal(mine, theirs)
        alive = alive & ~stepped[0].ended
    assert not alive.any()
    tensors.begin(3)
    before = tensors.state()["rows"].clone()
    tensors.step((noise * tensors.observe().legal).argmax(1))
    after = tensors.state()["rows"].clone()
    tensors.begin(3)
    tensors.restore({"rows": before})
    tensors.step((noise * tensors.observe().legal).argmax(1))
    assert torch.equal(tensors.state()["rows"], after)
    with pytest.raises(ValueError, match="expected words"):
        tensors.restore({"rows": before[1:]})


@pytest.mark.parametrize("architecture", SIZES)
def test_a_stretch_goes_on_where_the_last_one_ended(architecture: str) -> None:
    """What is learned from is what was played, and memories reach over the segment's border."""
    collector = collector_of(architecture, 6)
    collector.play(5, chance())
    segment = collector.play(7, chance(2))
    seen = 0
    returns = segment.value.unsqueeze(1).expand(7, 2, 6)
    for rows in batches(collector.network, segment, returns, 16, chance()):
        mover = segment.mover[rows.turn, rows.game]
        parts = (segment.public, segment.private)
        given = [part[rows.turn, :, rows.game].transpose(0, 1) for part in parts]
        with torch.no_grad():
            output = collector.network.decide(
                *(gather_seat(part, mover) for part in (*given, rows.memory))
            )
        legal = segment.legal[rows.turn, rows.game]
        logits = output.logits.masked_fill(~legal, -1e9).log_softmax(1)
        action = segment.action[rows.turn, rows.game].unsqueeze(1)
        expected = segment.log_prob[rows.turn, rows.game]
        assert torch.allclose(logits.gather(1, action).squeeze(1), expected, atol=1e-5)
        seen += len(rows.turn)
    assert seen == 42


# -------------------------------------------------------------------------------------- learning


def segment_of(mover: list[int], value: list[float], ended: list[bool]) -> Segment:
    """One game of two players, as far as returns go."""
    nothing = torch.zeros(len(mover), 1)
    rest = dict.fromkeys(Segment.__dataclass_fields__, nothing)
    return Segment(
        **rest
        | {
            "mover": torch.tensor(mover).unsqueeze(1),
            "value": torch.tensor(value).unsqueeze(1),
            "ended": torch.tensor(ended).unsqueeze(1),
            "last_value": torch.tensor([[0.5], [0.25]]),
        }
    )


def test_returns_of_a_seat_run_from_its_own_decisions_to_its_own() -> None:
    """By hand. Seat 0 moves at 0, 2, 4, seat 1 at 1, 3, 5; a game ends with move 3."""
    values = [3.0, 2.0, 2.5, 1.0, 4.0, 5.0]
    segment = segment_of([0, 1, 0, 1, 0, 1], values, [False, False, False, True, False, False])
    reward = torch.tensor([[1.0], [0.0], [2.0], [4.0], [0.0], [8.0]])
    found = lambda_returns(segment, reward, 0.75)[:, :, 0]
    at = {5: 8 + 0.25, 4: 0 + 8 + 0.5, 3: 4.0, 2: 2.0 + 4.0}
    at[1] = 0 + 2 + 0.25 * 1.0 + 0.75 * at[3]  # up to its own decision at 3
    at[0] = 1 + 0 + 0.25 * 2.5 + 0.75 * at[2]
    movers = movers_returns(found.unsqueeze(2), segment.mover)[:, 0]
    assert torch.allclose(movers, torch.tensor([at[t] for t in range(6)]))
    assert found[1, 0] == pytest.approx(0 + 0.25 * 2.5 + 0.75 * at[2])  # seat 0, not to move
    assert found[2, 1] == pytest.approx(2 + 0.25 * 1.0 + 0.75 * at[3])


@pytest.mark.parametrize("architecture", SIZES)
def test_moves_that_brought_more_become_likelier(architecture: str) -> None:
    """Nothing else is learned: a step raises the chance of half the moves, which gained a point."""
    collector = collector_of(architecture, 32)
    segment = collector.play(8, chance())
    gained = torch.rand(8, 32, generator=chance()) < 0.5
    returns = (segment.value + gained.float()).unsqueeze(1).expand(8, 2, 32)
    optimizer = torch.optim.SGD(collector.network.parameters(), lr=0.1)
    after = {}
    for _ in range(2):
        (rows,) = batches(collector.network, segment, returns, 256, chance())
        total, figures = losses(collector.network, rows, LossWeights(0.2, 0.0, 1e-9))
        after[len(after)] = float(figures["policy_loss"].detach())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
    assert after[0] == pytest.approx(0, abs=1e-5) and after[1] < -1e-4


@pytest.mark.parametrize("architecture", ["public-lstm", "public-belief"])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(
    tmp_path: Path, architecture: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if architecture == "public-belief":  # the state in several files
        monkeypatch.setattr(training_run, "PART_BYTES", 4000)
    settings = SelfPlay(
        config=TINY, architecture=architecture, options=SIZES[architecture], iterations=3,
        games=6, moves=5, batch=16, epochs=1, belief_rate=1e-3, entropy_end=0.0,
    )  # fmt: skip
    whole, parts, again = tmp_path / "whole", tmp_path / "parts", tmp_path / "again"
    learn_by_self_play(settings, whole)
    learn_by_self_play(settings, again)
    first = SelfPlayRun(settings, parts)
    first.iterate()
    kept = {file: file.read_bytes() for file in parts.glob("state*")}
    first.iterate()
    for file, content in kept.items():  # it was stopped after the metrics, before the state
        file.write_bytes(content)
    learn_by_self_play(settings, parts)
    names = sorted(file.name for file in whole.glob("*.safetensors"))
    assert (len(names) > 4) == (architecture == "public-belief")
    assert names == sorted(file.name for file in parts.glob("*.safetensors"))
    for name in names:
        one = load_file(whole / name)
        for folder in (parts, again):
            other = load_file(folder / name)
            assert one.keys() == other.keys()
            assert all(torch.equal(one[key], other[key]) for key in one)
    rows = [json.loads(line) for line in (parts / METRICS).read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [1, 2, 3]
    with pytest.raises(ConfigError, match=r"its settings: games is 6 in .*, 7 here"):
        SelfPlayRun(SelfPlay(**settings.__dict__ | {"games": 7}), parts)
    for name in names:
        if "lasting.rows" in load_file(parts / name):
            break
    other = load_file(parts / name)
    other["lasting.rows"] = other["lasting.rows"][1:]
    with pytest.raises(CheckpointError, match="expected the whole state of a run"):
        damaged(parts / name, other)
        SelfPlayRun(settings, parts)


def damaged(path: Path, tensors: dict[str, Any]) -> None:
    """A file of the state of a run with other tensors in it."""
    from safetensors import safe_open

    with safe_open(str(path), framework="pt") as file:
        metadata = file.metadata()
    save_file(tensors, path, metadata)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a short run from nothing."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("learned")
    settings = SelfPlay(
        config=TINY, architecture="masks", options={"hidden": 64, "context": 32, "scorer": 32},
        iterations=12, games=128, batch=512, rate=2e-3, lenient=0.3,
    )  # fmt: skip
    learn_by_self_play(settings, folder)
    return folder


def score_of(folder: Path) -> float:
    policy = load_policy(f"network:file={folder / MODEL}", HanabiGame(TINY))
    return float(evaluate(HanabiGame(TINY), policy, games=500, seed=1).scores.mean())


def test_a_network_learns_to_play_from_nothing(learned: Path) -> None:
    """SmartBot has 5.6 of 6 points here, uniform play 0.6; four seeds had 4.7 to 4.9."""
    assert score_of(learned) > 4
    rows = [json.loads(line) for line in (learned / METRICS).read_text().splitlines()]
    assert 0 < rows[0]["score"] < 2 < 4 < rows[-1]["greedy_score"]
    assert rows[-1]["decisions"] == 12 * 128 * 32


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["feed-forward", "public-lstm"])
def test_plain_networks_learn_to_play_from_nothing(tmp_path: Path, architecture: str) -> None:
    settings = SelfPlay(
        config=TINY, architecture=architecture, options={"hidden": 64, "encoding": "status-1"},
        iterations=20, games=256, batch=512, rate=2e-3, lenient=0.3,
    )  # fmt: skip
    learn_by_self_play(settings, tmp_path)
    assert score_of(tmp_path) > 4


def test_values_tell_what_its_games_still_bring(learned: Path) -> None:
    """In score points, of either seat; better than what games bring on average from that turn."""
    benchmarks = pytest.importorskip("benchmarks.networks")
    policy = network_policy(load_network(learned / MODEL).network, temperature=1.0)
    found = benchmarks.seat_values_of(HanabiGame(TINY), policy, 600, np.random.default_rng(5))
    said, ahead, turn, mover = found
    constant = ahead - (np.bincount(turn, ahead) / np.bincount(turn))[turn]
    for seat in (mover, 1 - mover):
        error = said[np.arange(len(said)), seat] - ahead
        assert (error**2).mean() < 0.9 * (constant**2).mean()
        assert abs(error.mean()) < 0.4


def test_a_run_goes_on_from_a_distilled_network(tmp_path: Path) -> None:
    first = tmp_path / "first"
    network = distill(
        Distillation(config=TINY, options=SIZES["masks"], iterations=1, games=8), first
    )
    start = str(first / MODEL)
    settings = SelfPlay(
        config=TINY, architecture="masks", options=SIZES["masks"], iterations=1, games=8, moves=4,
        start=start,
    )  # fmt: skip
    run = SelfPlayRun(settings, tmp_path / "second")
    for name, tensor in run.network.state_dict().items():
        assert torch.equal(tensor, network.state_dict()[name])
    run.iterate()
    record = load_network(tmp_path / "second" / MODEL).training
    assert record["start"]["policy"] == "smartbot" and record["done"] == 1
    with pytest.raises(ConfigError, match=r"this run's, feed-forward of .* got masks of"):
        SelfPlayRun(SelfPlay(config=TINY, start=start), tmp_path / "third")
    with pytest.raises(ConfigError, match=r"start must be one of smartnet, .* or a file, got 'no'"):
        SelfPlayRun(SelfPlay(config=TINY, start="no"), tmp_path / "third")
    shipped = SelfPlay(architecture="masks", iterations=1, start="rlnet")  # by name
    begun = SelfPlayRun(shipped, tmp_path / "fourth")
    named = load_policy("rlnet").network.state_dict()
    assert all(torch.equal(x, named[name]) for name, x in begun.network.state_dict().items())
    assert begun.start["moves"] == 128


def test_three_players_learn_too(tmp_path: Path) -> None:
    config = HanabiConfig(players=3, colors=2, ranks=2, hand_size=2, random_start_player=True)
    settings = SelfPlay(
        config=config, options={"hidden": 16, "encoding": "v0-1"}, iterations=1, games=8, moves=9
    )
    rows: list[dict[str, float]] = []
    learn_by_self_play(settings, tmp_path, on_iteration=rows.append, progress=True)
    assert np.isfinite(list(rows[0].values())).all() and 0 <= rows[0]["greedy_score"] <= 4


def test_the_command_trains_and_its_network_plays(tmp_path: Path) -> None:
    small = ["--colors", "2", "--ranks", "2", "--hand-size", "2"]
    out = tmp_path / "run"
    words = ["train", "rl", "--out", str(out), *small, "--iterations", "2", "--games", "8"]
    words += ["--moves", "6", "--set", "hidden=16", "--evaluation-games", "4"]
    result = CliRunner().invoke(app, [*words, "--baseline", "smartbot"])
    assert result.exit_code == 0, (result.output, result.exception)
    assert "decisions a second" in result.output and "gain" in result.output
    words = ["evaluate", "--policy", f"network:file={out / MODEL}", *small, "--games", "4"]
    assert CliRunner().invoke(app, words).exit_code == 0
    record = load_network(out / MODEL).training
    assert record["done"] == 2 and record["options"] == {"hidden": 16}


def test_settings_are_checked(tmp_path: Path) -> None:
    for changes, reason in (
        ({"games": 0}, "games must be an integer of at least 1, got 0"),
        ({"rate": 0.0}, "rate must be a positive number, got 0.0"),
        ({"trace": 1.5}, "trace must be from 0 to 1, got 1.5"),
        ({"lenient": -0.1}, "lenient must be from 0 to 1, got -0.1"),
    ):
        with pytest.raises(ConfigError, match=reason):
            SelfPlay(**changes)
    for name in ("tree", "public-q", "advised-masks"):
        with pytest.raises(ConfigError, match=f"architecture must be one of .*, got '{name}'"):
            SelfPlay(architecture=name)
    with pytest.raises(
        ConfigError, match=r"options of architecture feed-forward are .*, got 'width'"
    ):
        SelfPlayRun(SelfPlay(options={"width": 8}), tmp_path)


def test_the_documented_curves_are_those_kept() -> None:
    benchmarks = pytest.importorskip("benchmarks.self_play")
    text = Path(benchmarks.PAGE).read_text()
    assert benchmarks.page(text) == text
