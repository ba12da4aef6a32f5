"""Train the evaluation function and the rule classifier of RIS-MCTS, in stages.

Each stage plays RIS-MCTS games in which all seats search, and fits networks to their trees. The
rollouts of the first stage are random; those of later ones are played by the network of the stage
before. A later stage learns from its own games and from those of the stages between it and the
first, whose targets random rollouts keep low. Letters: M examples.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core.array_files import read_npz
from hanabi_search_plugin.core.errors import ConfigError, RecordError
from hanabi_search_plugin.core.plain_json import from_fields
from hanabi_search_plugin.core.policy import Policy, UniformPolicy
from hanabi_search_plugin.core.require import require_integers
from hanabi_search_plugin.core.settings import SEED, setting
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.evaluation.evaluation_result import standard_error
from hanabi_search_plugin.evaluation.executor import Executor, Place
from hanabi_search_plugin.evaluation.journal import Checkpoint
from hanabi_search_plugin.evaluation.locks import locked
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.hanabi.bots.evalfn import EvalFn, RuleClassifier, ValueNetwork
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import SHIPPED_EVALUATION, TABLE_II, Convention
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.learning.fit import SETTINGS, fit
from hanabi_search_plugin.learning.training_record import (
    EVERY_TABLE,
    versions_with_torch,
    write_record,
)
from hanabi_search_plugin.learning.tree_examples import Examples, play, read_examples

LEAST_VISITS = 50  # of a move in a tree, to be an example (paper, VI)
CONVENTION: Convention = "any-giver"
SELF_PLAY = 2_000  # games by which a trained network is judged
JUDGED_WITH = {"table-2": TABLE_II, "shipped-evaluation": SHIPPED_EVALUATION}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Games of one stage of a training."""

    games: int = setting(text="Games of a stage.")
    iterations: int = setting(text="Iterations of a decision.")
    exploration: float = setting(0.1, "The constant C of the trees.")

    def __post_init__(self) -> None:
        require_integers(self, ("games", "iterations"), 1)


STAGES = (
    Stage(games=80, iterations=1500),
    Stage(games=60, iterations=800),
    Stage(games=50, iterations=1000, exploration=3.0),
)
"""Of the networks of the package."""


@dataclass(frozen=True, kw_only=True)
class EvalfnTraining:
    """The settings of a training. Game i of a stage is one of ``configs[i % len(configs)]``."""

    stages: tuple[Stage, ...] = setting(STAGES, "The stages, in turn.")
    configs: tuple[HanabiConfig, ...] = setting(EVERY_TABLE, "Games, in turn.")
    seed: int = setting(0, SEED)

    def __post_init__(self) -> None:
        require_integers(self, ("seed",), 0)
        if not self.stages or not self.configs:
            raise ConfigError("a training must have stages and games, got none")


class Listener(Protocol):
    """Gets the progress of a training."""

    def on_stage(self, number: int, stage: Stage) -> None: ...

    def on_game(self, number: int, game: int) -> None: ...

    def on_network(self, name: str, self_play: dict[str, Any]) -> None: ...


def train(
    training: EvalfnTraining, out: Path, listener: Listener, executor: Executor | None = None
) -> dict[str, Any]:
    """Train and write ``evalfn-1.safetensors`` ..., ``rules.safetensors`` and ``training.json``.

    Returns what the latter says. ``executor`` plays the games, with the same results (default: one
    thread). Games that ``out`` has already are not played again. Raises UnsupportedError without
    PyTorch, ConfigError where ``out`` has games of other parameters or another process writes to
    it.
    """
    about = versions_with_torch()
    out.mkdir(parents=True, exist_ok=True)
    with locked(out):
        return _train(training, out, listener, executor or Threads(), about)


def _train(
    training: EvalfnTraining,
    out: Path,
    listener: Listener,
    executor: Executor,
    about: dict[str, str],
) -> dict[str, Any]:
    record: dict[str, Any] = {"training": describe(training), "convention": CONVENTION}
    record |= {"rules": "shipped-evaluation", "least_visits": LEAST_VISITS}
    record |= {"fit": SETTINGS, "stages": []}
    rollouts: ValueNetwork | None = None
    examples: list[Examples] = []
    for number, stage in enumerate(training.stages, start=1):
        listener.on_stage(number, stage)
        new, lines = _games(training, number, stage, rollouts, out, listener, executor)
        examples = [*(examples if number > 2 else ()), *new]
        found = _stage_record(stage, lines)
        features = np.concatenate([game.features for game in examples])
        targets = np.concatenate([game.targets for game in examples])[:, None]
        roots = np.concatenate([game.roots for game in examples])
        for part, rows in (("tree", slice(None)), ("roots", roots)):
            began = time.process_time()
            network = ValueNetwork(fit(features[rows], targets[rows], "squared", training.seed))
            name = f"evalfn-{number}" + ("" if part == "tree" else "-roots")
            found[part] = {"examples": len(targets[rows]), "network": network.digest}
            found[part] |= _errors(network, features[rows], targets[rows])
            found[part]["fit_cpu_seconds"] = round(time.process_time() - began, 1)
            found[part]["self_play"] = {
                name: _self_play(EvalFn(network, rules, convention=CONVENTION), training.configs)
                for name, rules in JUDGED_WITH.items()
            }
            listener.on_network(name, found[part]["self_play"])
            network.save(out / f"{name}.safetensors")
            if part == "tree":
                rollouts = network
        record["stages"].append(found)
    record["classifier"] = _classifier(examples, training, out, listener)
    record["versions"] = about
    write_record(out / "training.json", record)
    return record


def _games(
    training: EvalfnTraining,
    number: int,
    stage: Stage,
    rollouts: ValueNetwork | None,
    out: Path,
    listener: Listener,
    executor: Executor,
) -> tuple[list[Examples], list[dict[str, Any]]]:
    """The examples of a stage's games, and a line for each game."""
    folder = out / f"stage-{number}"
    folder.mkdir(exist_ok=True)
    parameters = {
        "iterations": stage.iterations,
        "exploration": stage.exploration,
        "games": [describe(config) for config in training.configs],
        "seed": training.seed,
        "rollouts": None if rollouts is None else rollouts.digest,
    }
    blueprint: Policy = UniformPolicy()
    if rollouts is not None:
        blueprint = EvalFn(rollouts, convention=CONVENTION)
    work = _TreeGames(training, number, stage, blueprint)
    found = []
    with Checkpoint(folder / "games.jsonl", parameters) as checkpoint:
        lines = _kept_lines(folder / "games.jsonl", checkpoint.lines)
        missing = [index for index in range(stage.games) if index not in lines]
        played = executor.map(work, missing, kernels=f"trees {describe(training.configs)}")
        for index in range(stage.games):
            path = folder / f"game-{index}.npz"
            if index not in lines:
                examples, players, seconds = next(played)
                with atomic_write(path) as file:
                    np.savez_compressed(file, **vars(examples))
                line = {"game": index, "players": players, "score": examples.score}
                line["cpu_seconds"] = round(seconds, 2)
                checkpoint.append(line)
                lines[index] = line
            else:
                examples = _read(path)
            found.append(examples)
            listener.on_game(number, index + 1)
    return found, [lines[i] for i in range(stage.games)]


@dataclass(frozen=True)
class _Line:
    """A game of a stage in its journal."""

    game: int
    players: int
    score: float
    cpu_seconds: float


def _kept_lines(path: Path, lines: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    found = {}
    for number, line in enumerate(lines, start=2):
        try:
            found[from_fields(_Line, line).game] = line
        except ValueError as error:
            raise RecordError(f"{path}:{number}: expected a finished game: {error}") from None
    return found


@dataclass(frozen=True)
class _TreeGames:
    """The work: of the game of a number, its examples, its players and its CPU seconds."""

    training: EvalfnTraining
    number: int  # of the stage, from 1
    stage: Stage
    blueprint: Policy

    def __call__(self, index: int, place: Place) -> tuple[Examples, int, float]:
        training = self.training
        game = HanabiGame(training.configs[index % len(training.configs)])
        began = time.thread_time()
        examples = play(
            game,
            self.blueprint,
            RuleAgent(SHIPPED_EVALUATION, convention=CONVENTION),
            RuleAgent(TABLE_II, convention=CONVENTION),
            iterations=self.stage.iterations,
            exploration=self.stage.exploration,
            least_visits=LEAST_VISITS,
            seed=training.seed * 1_000 + self.number,
            index=index,
        )
        return examples, game.num_players, time.thread_time() - began


def _read(path: Path) -> Examples:
    try:
        return read_examples(read_npz(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise RecordError(f"{path}: expected the examples of a game: {error}") from None


def _stage_record(stage: Stage, lines: list[dict[str, Any]]) -> dict[str, Any]:
    scores: dict[int, list[float]] = {}
    for line in lines:
        scores.setdefault(line["players"], []).append(line["score"])
    return asdict(stage) | {
        "game_cpu_seconds": round(sum(line["cpu_seconds"] for line in lines), 1),
        "scores": {str(players): _mean(values) for players, values in sorted(scores.items())},
    }


def _mean(values: list[float]) -> list[float | None]:
    """[mean, standard error]"""
    error = standard_error(values)
    return [round(float(np.mean(values)), 3), None if error is None else round(error, 3)]


def _errors(network: ValueNetwork, features: Any, targets: Any) -> dict[str, float]:
    """Root mean square of the error and of the targets about their mean, in points."""
    error = network(features) - targets
    points = HanabiConfig().max_score
    return {
        "error": round(points * float(np.sqrt(np.mean(error**2))), 3),
        "spread": round(points * float(np.std(targets)), 3),
    }


def _self_play(policy: Policy, configs: tuple[HanabiConfig, ...]) -> dict[str, Any]:
    """[mean, standard error] by number of players."""
    found = {}
    for config in configs:
        result = evaluate(HanabiGame(config), policy, games=SELF_PLAY).whole().to_dict()
        found[str(config.players)] = [round(result["mean"], 3), round(result["sem"], 3)]
    return found


def _classifier(
    examples: list[Examples], training: EvalfnTraining, out: Path, listener: Listener
) -> dict[str, Any]:
    """The rule classifier, from the decisions that the last evaluation function learned from."""
    states = np.concatenate([game.states for game in examples])
    rules = np.concatenate([game.rules for game in examples])
    network = ValueNetwork(fit(states, rules, "cosine", training.seed))
    network.save(out / "rules.safetensors")
    agent = RuleClassifier(network, TABLE_II, convention=CONVENTION)
    self_play = _self_play(agent, training.configs)
    listener.on_network("rules", {"table-2": self_play})
    return {"examples": len(states), "network": network.digest, "self_play": self_play}
