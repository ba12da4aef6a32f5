"""Trainings share a round's games among workers, and learn the same from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch")

from hanabi_search_plugin import HanabiConfig, HanabiGame, Processes
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.evaluation.executor import Executor
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.learning import partner_training
from hanabi_search_plugin.learning.partner_training import PartnerTraining
from hanabi_search_plugin.networks.training.belief_training import BeliefRun
from hanabi_search_plugin.networks.training.critic_training import CriticRun
from hanabi_search_plugin.networks.training.distillation import DistillationRun
from hanabi_search_plugin.networks.training.round_parts import joined, played_in_parts
from hanabi_search_plugin.networks.training.self_play import SelfPlayRun
from hanabi_search_plugin.networks.training.training_run import TrainingRun
from hanabi_search_plugin.networks.training.training_settings import (
    BeliefSettings,
    CriticSettings,
    Distillation,
    SelfPlay,
)

CONFIG = HanabiConfig(colors=2, ranks=2, hand_size=2)
SMALL: dict[str, Any] = {"iterations": 2, "games": 7, "batch": 16, "parts": 3}
RUNS: dict[str, Callable[[Path, Executor], TrainingRun]] = {
    "distill": lambda out, executor: DistillationRun(
        Distillation(config=CONFIG, options={"hidden": 8}, **SMALL), out, executor=executor
    ),
    "lstm": lambda out, executor: DistillationRun(
        Distillation(config=CONFIG, architecture="public-lstm", options={"hidden": 8}, **SMALL),
        out, executor=executor,
    ),
    "rl": lambda out, executor: SelfPlayRun(
        SelfPlay(config=CONFIG, options={"hidden": 8}, moves=6, **SMALL), out, executor=executor
    ),
    "public-belief": lambda out, executor: SelfPlayRun(
        SelfPlay(config=CONFIG, architecture="public-belief", moves=6, **SMALL), out,
        executor=executor,
    ),
    "belief": lambda out, executor: BeliefRun(
        HanabiGame(CONFIG), "smartbot", BeliefSettings(steps=2, keep=2, **SMALL), out,
        options={"hidden": 8}, executor=executor,
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as executor:
        yield executor


def learned(run: TrainingRun) -> dict[str, Any]:
    run.finish()
    return {name: x.numpy().tobytes() for name, x in run.network.state_dict().items()}


@pytest.mark.parametrize("kind", RUNS)
def test_who_plays_the_parts_changes_nothing(
    kind: str, tmp_path: Path, processes: Processes
) -> None:
    begin = RUNS[kind]
    one = learned(begin(tmp_path / "one", Threads()))
    assert learned(begin(tmp_path / "two", Threads(2))) == one
    assert learned(begin(tmp_path / "elsewhere", processes)) == one
    if kind in ("distill", "rl"):  # stopped and gone on elsewhere
        begin(tmp_path / "stopped", Threads()).iterate()
        assert learned(begin(tmp_path / "stopped", processes)) == one


def test_a_critic_too(tmp_path: Path, processes: Processes) -> None:
    DistillationRun(
        Distillation(config=CONFIG, options={"hidden": 8}, iterations=1, games=2), tmp_path
    ).finish()
    settings = CriticSettings(
        config=CONFIG, policy=str(tmp_path / "model.safetensors"), options={"hidden": 8}, **SMALL
    )
    one = learned(CriticRun(settings, tmp_path / "one"))
    assert learned(CriticRun(settings, tmp_path / "two", executor=processes)) == one


def test_one_part_is_played_as_ever() -> None:
    class Draws:
        def __init__(self, games: int, rng: np.random.Generator) -> None:
            self.game, self.scores = np.arange(games), rng.random(games)

    for parts in (None, 1):
        rng, other = np.random.default_rng(1), np.random.default_rng(1)
        (found,) = played_in_parts(Draws, 5, parts, rng, Threads())
        assert found.scores.tolist() == other.random(5).tolist()
        assert rng.random() == other.random() and joined([found]) is found
    rng = np.random.default_rng(1)
    two = played_in_parts(Draws, 5, 2, rng, Threads())
    assert [len(one.scores) for one in two] == [3, 2]
    assert len({*two[0].scores, *two[1].scores}) == 5


def test_partners_games_are_those_of_one_thread(processes: Processes) -> None:
    training = PartnerTraining(partners=("random", "piers"), games=5, configs=(CONFIG,))
    policies = tuple(
        partner_training.load_policies("random,piers", HanabiGame(CONFIG)) for _ in range(1)
    )
    work = partner_training._MixedGames(training, policies)
    chunks = [range(0, 3), range(3, 5)]
    here, there = (
        [move for moves, _ in executor.map(work, chunks) for move in moves]
        for executor in (Threads(), processes)
    )
    assert len(here) == len(there) == 5
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.features, other.features)
        np.testing.assert_array_equal(one.makers, other.makers)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--cluster", "processes"], "parts must be at least 2 with --cluster, got 1"),
        (["--workers", "2", "--parts", "2"], "workers needs --cluster, got 2 without"),
        (["--parts", "0"], "parts must be an integer of at least 1, got 0"),
    ],
)
def test_what_does_not_go_together(options: list[str], says: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["train", "distill", "--out", str(tmp_path), *options])
    assert found.exit_code == 2 and says in found.stderr


def test_by_command(tmp_path: Path) -> None:
    game = ["--colors", "2", "--ranks", "2", "--hand-size", "2", "--set", "hidden=8"]
    rounds = ["--iterations", "1", "--games", "4", "--parts", "2", "--evaluation-games", "0"]
    for name, where in (("one", []), ("two", ["--cluster", "processes", "--workers", "1"])):
        words = ["train", "distill", "--out", str(tmp_path / name), *game, *rounds, *where]
        found = CliRunner().invoke(app, words)
        assert found.exit_code == 0, found.stderr
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one[-200:] == two[-200:]
