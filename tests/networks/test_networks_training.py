"""Checkpoints and what they refuse; distillation that learns, resumes, and runs by command."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from rich.console import Console
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from hanabi_search_plugin import (
    ConfigError,
    HanabiConfig,
    HanabiGame,
    evaluate,
    load_policy,
)
from hanabi_search_plugin.cli import app, training_runs
from hanabi_search_plugin.core.errors import CheckpointError
from hanabi_search_plugin.networks.architectures import ARCHITECTURES, make_network
from hanabi_search_plugin.networks.checkpoint import (
    FORMAT,
    load_network,
    read_file,
    save_network,
    write_file,
)
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.training import training_run
from hanabi_search_plugin.networks.training.distillation import DistillationRun, distill
from hanabi_search_plugin.networks.training.self_play import SelfPlayRun
from hanabi_search_plugin.networks.training.training_run import METRICS, MODEL, STATE
from hanabi_search_plugin.networks.training.training_settings import (
    OPTIONS,
    Distillation,
    Learner,
    SelfPlay,
)

TINY = HanabiConfig(colors=2, ranks=3, hand_size=2, information_tokens=3)
SMALL = {"hidden": 16, "context": 8, "scorer": 8}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def saved(path: Path, **changes: Any) -> Path:
    """A network's file, of which the description or the tensors are changed."""
    network = make_network("masks", TINY, SMALL)
    save_network(path, network, {"seed": 0})
    about = {
        "config": TINY.to_dict(), "encoding": "status-1", "architecture": "masks",
        "options": SMALL, "training": {},
    } | changes  # fmt: skip
    tensors = load_file(path)
    form = about.pop("format", FORMAT)
    save_file(tensors, path, {"format": form, "about": json.dumps(about)})
    return path


@pytest.mark.parametrize("half", [False, True])
def test_a_checkpoint_gives_back_the_network_and_its_record(tmp_path: Path, half: bool) -> None:
    network = make_network("public-lstm", TINY, {"hidden": 8, "fuse": "concatenate"})
    save_network(tmp_path / "a", network, {"seed": 5}, half=half)
    loaded = load_network(tmp_path / "a", TINY)
    assert loaded.training == {"seed": 5} and loaded.network.options == network.options
    for name, tensor in network.state_dict().items():
        expected = tensor.half().float() if half else tensor
        assert torch.equal(loaded.network.state_dict()[name], expected)
    load_network(tmp_path / "a", HanabiConfig(**TINY.to_dict() | {"bomb": "keep"}))


def test_options_of_architectures_are_known_without_torch() -> None:
    for name, known in OPTIONS.items():
        assert tuple(signature(ARCHITECTURES[name]).parameters)[1:] == known
    for settings in (Distillation, SelfPlay):
        with pytest.raises(ConfigError, match=r"got 'hiden': did you mean hidden\?"):
            settings(options={"hiden": 3})
    with pytest.raises(ConfigError, match=r"got 'hiden': did you mean hidden\?"):
        make_network("masks", TINY, {"hiden": 3})


def test_the_folder_of_a_run_is_not_its_network(tmp_path: Path) -> None:
    saved(tmp_path / MODEL)
    for name in (str(tmp_path), f"network:file={tmp_path}"):
        with pytest.raises(ConfigError, match=rf"which is a folder: .*{tmp_path}/model"):
            load_policy(name, HanabiGame(TINY))


def test_a_checkpoint_refuses_what_it_is_not_for(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(
        CheckpointError, match=r"game with .*colors 2, .* got .*--colors 2 .*--hand-size"
    ):
        load_network(saved(path), HanabiConfig())
    for changes, reason in (
        ({"format": "another"}, "expected a file of the format .*, got 'another'"),
        ({"encoding": "v0-1"}, "expected a network of the encoding status-1, got v0-1"),
        ({"architecture": "tree"}, "expected a whole network of this package: 'tree'"),
        ({"config": {"players": 9}}, "players must be from 2 to 5, got 9"),
        ({"options": {"depth": 3}}, "unexpected keyword argument 'depth'"),
        ({"options": SMALL | {"hidden": 32}}, r"must be of shape \[32, 156\], got"),
    ):
        with pytest.raises(CheckpointError, match=reason) as caught:
            load_network(saved(path, **changes))
        assert "\n" not in str(caught.value)
    path.write_bytes(b"not a network")
    with pytest.raises(CheckpointError, match="expected a safetensors file"):
        load_network(path)
    with pytest.raises(ConfigError, match="file must be that of a network, got 'nowhere'"):
        load_policy("network:file=nowhere")


def test_a_folder_of_another_run_names_the_way_on(tmp_path: Path) -> None:
    settings = Distillation(config=TINY, options=SMALL, iterations=1, games=4, batch=32)
    folder = tmp_path / "run"
    distill(settings, folder)
    with pytest.raises(ConfigError) as longer:
        DistillationRun(replace(settings, iterations=2), folder)
    assert str(longer.value) == (
        f"{folder} holds a run of 1 iteration over which its learning rate falls, so it has no "
        f"more, got 2: begin another run from its network, --start {folder / MODEL}, with another "
        "--out"
    )
    with pytest.raises(ConfigError, match=r"seed is 0 in .*, 1 here; begin another run from its"):
        DistillationRun(replace(settings, seed=1), folder)
    says = r"run holds a run of `train distill`, which `train rl` cannot go on with: choose another"
    with pytest.raises(ConfigError, match=says):
        SelfPlayRun(SelfPlay(config=TINY, iterations=1), folder)


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    settings = Distillation(config=TINY, options=SMALL, iterations=4, games=12, batch=32)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    distill(settings, whole)
    first = DistillationRun(settings, parts)
    first.iterate()
    kept = (parts / STATE).read_bytes()
    first.iterate()
    (parts / STATE).write_bytes(kept)  # it was stopped after the metrics, before the state
    with (parts / METRICS).open("a") as file:
        file.write('{"policy_l')  # or in the middle of a line
    distill(settings, parts)
    for name in (STATE, MODEL):
        one, other = load_file(whole / name), load_file(parts / name)
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one)
    rows = [
        [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
        for folder in (whole, parts)
    ]
    assert [row["iteration"] for row in rows[1]] == [1, 2, 3, 4]
    assert [row["policy_loss"] for row in rows[0]] == [row["policy_loss"] for row in rows[1]]
    with pytest.raises(ConfigError, match=r"its settings: games is 12 in .*, 13 here"):
        DistillationRun(
            Distillation(config=TINY, options=SMALL, iterations=4, games=13, batch=32), parts
        )


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a short run."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("learned")
    settings = Distillation(
        config=TINY, options={"hidden": 64, "context": 32, "scorer": 32}, iterations=12, games=100,
        batch=64, rate=4e-3,
    )  # fmt: skip
    distill(settings, folder)
    return folder


def test_parts_of_another_rounds_state_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by a run that was finished when it was stopped."""
    monkeypatch.setattr(training_run, "PART_BYTES", 2000)
    settings = Distillation(config=TINY, options=SMALL, iterations=2, games=8)
    run = DistillationRun(settings, tmp_path)
    run.iterate()
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(training_run, "remove", interrupt)
        run.iterate()
    assert {path.name[:7] for path in tmp_path.glob("state-*")} == {"state-1", "state-2"}
    assert DistillationRun(settings, tmp_path).finished
    assert {path.name[:7] for path in tmp_path.glob("state-*")} == {"state-2"}


def interrupt(path: Path) -> None:
    raise KeyboardInterrupt


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    """The library keeps metadata in an order of chance."""
    tensors = {"b": torch.arange(3, dtype=torch.uint8), "a": torch.ones(2)}
    for number in range(20):
        write_file(tmp_path / str(number), tensors, FORMAT, {"seed": 0})
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1
    found, about = read_file(tmp_path / "0", FORMAT)
    assert about == {"seed": 0} and found["b"].tolist() == [0, 1, 2]


def test_a_network_learns_a_bot_in_seconds(learned: Path) -> None:
    """SmartBot has 5.5 of 6 points here, uniform play 0.6."""
    result = evaluate(
        HanabiGame(TINY),
        load_policy(f"network:file={learned / MODEL}", HanabiGame(TINY)),
        games=400,
        seed=1,
    )
    assert result.scores.mean() > 4.5
    last = json.loads((learned / METRICS).read_text().splitlines()[-1])
    assert last["bot_share"] == 0.0 and last["mask_accuracy"] > 0.5


def test_values_tell_what_the_networks_own_games_still_bring(learned: Path) -> None:
    """From every seat, better than what games bring on average from that turn on."""
    benchmarks = pytest.importorskip("benchmarks.networks")
    policy = network_policy(load_network(learned / MODEL).network)
    found = benchmarks.seat_values_of(HanabiGame(TINY), policy, 600, np.random.default_rng(5))
    said, ahead, turn, mover = found
    constant = ahead - (np.bincount(turn, ahead) / np.bincount(turn))[turn]
    for seat in (mover, 1 - mover):
        error = said[np.arange(len(said)), seat] - ahead
        assert (error**2).mean() < 0.9 * (constant**2).mean()
        assert abs(error.mean()) < 0.4


@pytest.mark.parametrize(
    ("architecture", "policy"), [("public-lstm", "smartbot"), ("feed-forward", "internal")]
)
def test_every_kind_of_network_learns(tmp_path: Path, architecture: str, policy: str) -> None:
    settings = Distillation(
        policy=policy, config=TINY, architecture=architecture, options={"hidden": 32},
        iterations=6, games=60, epochs=4, batch=64, rate=4e-3,
    )  # fmt: skip
    rows: list[dict[str, float]] = []
    distill(settings, tmp_path, on_iteration=rows.append)
    assert rows[-1]["policy_loss"] < 0.9 * rows[0]["policy_loss"]


def test_a_training_shows_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hanabi_search_plugin.evaluation.progress.SOON", 0.0)
    settings = Distillation(config=TINY, options={"hidden": 8}, iterations=2, games=4, batch=8)
    distill(settings, tmp_path / "shown", progress=True)
    shown = capsys.readouterr().err
    assert "rounds: 1 of 2 (50 %)" in shown and "rounds: 2 of 2 (100 %)" in shown
    DistillationRun(settings, tmp_path / "not shown").finish()
    assert "rounds" not in capsys.readouterr().err


def test_an_lstm_is_told_what_everybody_knows(tmp_path: Path) -> None:
    """Where the bot keeps masks; the layer that says them is no part of a decision."""
    options = {"hidden": 32, "lstm_layers": 1, "auxiliary": "masks"}
    rows: list[dict[str, float]] = []
    for policy, iterations in (("smartbot", 8), ("internal", 1)):
        settings = Distillation(
            policy=policy, config=TINY, architecture="public-lstm", options=options,
            iterations=iterations, games=60, epochs=4, batch=64, rate=4e-3,
        )  # fmt: skip
        network = distill(settings, tmp_path / policy, on_iteration=rows.append)
    told, alone = rows[:8], rows[8:]
    assert told[-1]["auxiliary_loss"] < 0.7 * told[0]["auxiliary_loss"]
    assert told[-1]["mask_accuracy"] > told[0]["mask_accuracy"]
    assert not any("auxiliary_loss" in row for row in alone)

    def chances() -> Any:
        game = HanabiGame(TINY)
        worlds = game.deal(np.random.default_rng(0), 4)
        policy, view = network_policy(network), worlds.view(0)
        return policy.probabilities(view, view.legal, policy.start(view))

    before = chances()
    with torch.no_grad():
        network.masks.weight.fill_(1.0)
    assert (chances() == before).all()


def test_a_run_goes_on_from_another_ones_network(tmp_path: Path) -> None:
    settings = Distillation(config=TINY, options=SMALL, iterations=1, games=8)
    network = distill(settings, tmp_path / "first")
    start = str(tmp_path / "first" / MODEL)
    more = Distillation(config=TINY, options=SMALL, iterations=1, games=8, start=start)
    run = DistillationRun(more, tmp_path / "second")
    for name, tensor in run.network.state_dict().items():
        assert torch.equal(tensor, network.state_dict()[name])
    assert run.iterate()["bot_share"] == 0.0
    record = load_network(tmp_path / "second" / MODEL).training
    assert record["start"]["done"] == 1 and record["start"]["start"] == {}
    with pytest.raises(ConfigError, match="start must be a network like this run's"):
        DistillationRun(Distillation(config=TINY, start=start), tmp_path / "third")


def test_the_command_trains_and_its_network_plays(tmp_path: Path) -> None:
    small = ["--colors", "2", "--ranks", "2", "--hand-size", "2"]
    out = tmp_path / "run"
    words = ["train", "distill", "--out", str(out), *small, "--iterations", "2", "--games", "10"]
    words += ["--set", "hidden=16", "--set", "scorer=8", "--evaluation-games", "4"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, (result.output, result.exception)
    shown = " ".join(result.output.split())
    assert "agreement" in shown and "4 games" in shown
    words = ["evaluate", "--policy", f"network:file={out / MODEL}", *small, "--games", "4"]
    assert CliRunner().invoke(app, words).exit_code == 0
    record = load_network(out / MODEL).training
    assert record["done"] == 2 and record["options"] == {"hidden": 16, "scorer": 8}


def test_tensorboard_gets_the_metrics_of_the_rounds_that_count(tmp_path: Path) -> None:
    """Of a round that was done twice, the second time; and no writer's thread is left."""
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    settings = Distillation(config=TINY, options=SMALL, iterations=3, games=8)
    run, threads = DistillationRun(settings, tmp_path), set(threading.enumerate())
    with ExitStack() as stack:
        log = training_runs._tensorboard(stack, Console(quiet=True), tmp_path, 0)
        log(run.iterate())
        log(run.iterate() | {"score": -1.0})  # and is stopped before the state is written
    with ExitStack() as stack:
        log = training_runs._tensorboard(stack, Console(quiet=True), tmp_path, 1)
        row = run.iterate() | {"iteration": 2}
        log(row)
        assert set(threading.enumerate()) > threads
    assert set(threading.enumerate()) <= threads
    board = events.EventAccumulator(str(tmp_path)).Reload()
    kept = board.Scalars("score")
    assert [event.step for event in kept] == [1, 2]
    assert kept[-1].value == pytest.approx(row["score"])
    assert set(board.Tags()["scalars"]) >= {"policy_loss", "accuracy", "bombed", "rate"}


def test_an_interrupted_command_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["train", "distill", "--out", str(tmp_path), "--colors", "2", "--ranks", "2"]
    words += ["--hand-size", "2", "--iterations", "2", "--games", "8", "--evaluation-games", "0"]
    words += ["--set", "hidden=8"]
    iterate = DistillationRun.iterate

    def once(run: DistillationRun) -> dict[str, float]:
        if run.done:
            raise KeyboardInterrupt
        return iterate(run)

    with monkeypatch.context() as patched:
        patched.setattr(DistillationRun, "iterate", once)
        result = CliRunner().invoke(app, words)
    assert result.exit_code == 130
    assert "the same command goes on after the last whole round" in result.output
    assert CliRunner().invoke(app, words).exit_code == 0
    assert len((tmp_path / METRICS).read_text().splitlines()) == 2


def test_settings_are_checked() -> None:
    for changes, reason in (
        ({"policy": "nobody"}, "nobody"),
        ({"games": 0}, "games must be an integer of at least 1, got 0"),
        ({"rate": 0.0}, "rate must be a positive number, got 0.0"),
        ({"value_weight": -1.0}, "value_weight must be a positive number, got -1.0"),
    ):
        with pytest.raises(ConfigError, match=reason):
            Distillation(**changes)
    with pytest.raises(ConfigError, match=r"architecture must be one of masks, .*, got 'tree'"):
        make_network("tree", TINY, {})
    with pytest.raises(ConfigError, match="fuse must be one of multiply, concatenate, got 'add'"):
        make_network("public-lstm", TINY, {"fuse": "add"})
    with pytest.raises(ConfigError, match="auxiliary must be one of none, masks, got 'cards'"):
        make_network("public-lstm", TINY, {"auxiliary": "cards"})
    with pytest.raises(ConfigError, match="temperature must be a number of at least 0, got -1"):
        network_policy(make_network("masks", TINY, SMALL), temperature=-1)
    assert np.isfinite(Distillation().rate)
    assert set(get_args(Learner)) < set(ARCHITECTURES)
    with pytest.raises(ConfigError, match=r"got 'public-q': did you mean public-lstm\?$"):
        Distillation(architecture="public-q")
    with pytest.raises(ConfigError, match="options of architecture masks are hidden, context, sco"):
        make_network("masks", TINY, {"hiden": 8})
    with pytest.raises(ConfigError, match=r"smartnet plays games of .*, got players 4, colors 4$"):
        load_policy("smartnet", HanabiGame(players=4, colors=4))


def test_a_device_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """In a sentence, before a folder is made."""
    missing = ["nowhere"] + ([] if torch.cuda.is_available() else ["cuda"])
    for device in missing:
        reason = f"device must be one that PyTorch has here, as cpu, got '{device}': "
        for load in (
            lambda device=device: load_policy(f"smartnet:device={device}"),
            lambda device=device: load_network(saved(tmp_path / "a"), device=device),
            lambda device=device: DistillationRun(
                Distillation(config=TINY), tmp_path / "run", device=device
            ),
        ):
            with pytest.raises(ConfigError, match=reason) as caught:
                load()
            assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()
