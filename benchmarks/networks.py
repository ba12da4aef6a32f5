"""Measure the networks of the package, and write their cards (docs/results/networks.md).

python -m benchmarks.networks ship smartnet RUN   # a training run's network, into the package
python -m benchmarks.networks critic rlnet RUN    # a critic that was trained for it, beside it
python -m benchmarks.networks measure             # 10,000 games each, beside the bot they imitate
python -m benchmarks.networks cards               # docs/results/networks.md from what was measured
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.means import mean_and_error
from benchmarks.pages import fill, rewrite
from hanabi_search_plugin import HanabiConfig, HanabiGame, Streams, evaluate, load_policy
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core import FloatArray, IntArray, take
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.hanabi.engine.hanabi_rules import points
from hanabi_search_plugin.networks.catalogue import network_models
from hanabi_search_plugin.networks.checkpoint import Loaded, load_network, save_network
from hanabi_search_plugin.networks.encodings.network_encoding import difference_of
from hanabi_search_plugin.networks.modules import digest_of
from hanabi_search_plugin.networks.nets.advised import Advised
from hanabi_search_plugin.networks.network_policies import NetworkPolicy
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.training.critic_training import WHERE, measured
from hanabi_search_plugin.networks.training.training_run import METRICS, MODEL

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "hanabi_search_plugin" / "networks" / "models"
RESULTS = ROOT / "docs" / "results"
PAGE = ROOT / "docs" / "results" / "networks.md"
LINES = 12  # of a curve
VALUED = 1_000  # games on which values are measured

app = CommandLine(__doc__)
console = Console(highlight=False)


@app.command()
def ship(
    name: str,
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    description: str = "",
) -> None:
    """Put the network of a run into the package, in numbers of 16 bits, and its metrics beside."""
    loaded = load_network(run / MODEL)
    config = loaded.network.config
    default = HanabiConfig().to_dict()
    game = {k: v for k, v in config.to_dict().items() if k == "players" or v != default[k]}
    file = "-".join([name, *(f"{key}-{value}" for key, value in game.items())])
    save_network(
        MODELS / f"{file}.safetensors", loaded.network, loaded.training,
        critic=loaded.critic, critic_training=loaded.critic_training, half=True,
    )  # fmt: skip
    _keep_metrics(run / METRICS, RESULTS / f"{file}.jsonl")
    models = dict(network_models())
    entry = models.setdefault(name, {"description": "", "source": "this package", "models": []})
    entry["description"] = description or entry["description"]
    new = {"file": f"{file}.safetensors", "config": game, "self_play": {}}
    entry["models"] = with_model(entry["models"], new)
    write_models(models)
    measure(only=f"{file}.safetensors")


@app.command()
def critic(
    name: str,
    run: Annotated[Path, typer.Argument(help="The folder of a finished run of train critic.")],
    games: int = 2_000,
    seed: int = 1,
) -> None:
    """Put a critic beside the network ``name`` that it was trained for, which stays as it is."""
    loaded = load_network(run / MODEL)
    config = loaded.network.config
    models = dict(network_models())
    (model,) = (
        model
        for model in models[name]["models"]
        if difference_of(HanabiConfig(**model["config"]), config) is None
    )
    path = MODELS / model["file"]
    shipped, digest = load_network(path), digest_of(loaded.network)
    if digest_of(shipped.network) != digest:
        raise SystemExit(f"{run} is of another network than {path}")
    save_network(
        path, shipped.network, shipped.training,
        critic=loaded.critic, critic_training=loaded.critic_training, half=True,
    )  # fmt: skip
    whole = load_network(path)
    assert digest_of(whole.network) == digest and whole.critic is not None
    shutil.copy(run / METRICS, RESULTS / f"critic-{path.stem}.jsonl")
    game, noise = HanabiGame(config), loaded.critic_training["noise"]
    found = measured(game, network_policy(whole.network), whole.critic, games, noise, seed)
    model["critic"] = {"games": games, "seed": seed, "noise": noise} | {
        part: {
            who: {kind: round(error, 4) for kind, error in errors.items()}
            for who, errors in said.items()
        }
        for part, said in found.items()
    }
    console.print(model["critic"])
    write_models(models)
    cards()


def _keep_metrics(run: Path, kept: Path) -> None:
    """All of a distillation; of self-play what its games without chance were."""
    rows = [json.loads(line) for line in run.read_text().splitlines()]
    if not any("greedy_score" in row for row in rows):
        shutil.copy(run, kept)
        return
    with atomic_write(kept) as file:
        for row in rows:
            names = [name for name in row if name.startswith("greedy_")]
            if names:
                told = {name: row[name] for name in ("iteration", "decisions", *names)}
                file.write(json.dumps(told).encode() + b"\n")


@app.command()
def measure(games: int = 10_000, seed: int = 1, only: str = "") -> None:
    """Self-play of each network, or of the file ``only``, and of its bot on the same decks."""
    models = dict(network_models())
    for name, entry in models.items():
        for model in entry["models"]:
            if only not in ("", model["file"]):
                continue
            game = HanabiGame(HanabiConfig(**model["config"], bomb="keep"))
            loaded = load_network(MODELS / model["file"])
            network = loaded.network
            advised = isinstance(network, Advised)
            bot = network.adviser if advised else _taught_by(loaded.training)
            zero = []
            for policy in (name, bot):
                result = evaluate(game, load_policy(policy, game), games=games, seed=seed)
                lives = np.array([played.lives_left for played in result.games])
                zero.append(np.where(lives > 0, result.scores, 0.0))
                if policy == name:
                    model["self_play"] = {
                        "games": games,
                        "seed": seed,
                        "zero": mean_and_error(zero[0]),
                        "keep": mean_and_error(result.scores),
                        "perfect": round(float((result.scores == game.config.max_score).mean()), 5),
                        "bombs": round(float((lives == 0).mean()), 5),
                    }
            model["self_play"]["less_than_bot"] = mean_and_error(zero[1] - zero[0])
            if network.values:
                model["self_play"]["value"] = value_error(name, game.config, VALUED, seed)
            console.print(model)
    write_models(models)
    cards()


def value_error(name: str, config: HanabiConfig, games: int, seed: int) -> dict[str, float]:
    """By how much the network's values miss what its own games still bring, root mean square.

    ``constant`` is the error of the mean at each turn of the game, ``mover`` that of the seat to
    move, ``watchers`` that of the others, ``mean`` that of all seats' mean; ``bias`` is how much
    too high that mean is on average. A lost game counts 0; ``kept_constant`` and ``kept_mean`` are
    errors in the games that were not lost alone.
    """
    game = HanabiGame(replace(config, bomb="zero"))
    policy = load_policy(name, game)
    assert isinstance(policy, NetworkPolicy)
    values, return_to_go, turn, mover = seat_values_of(
        game, policy, games, np.random.default_rng(seed)
    )
    moves, kept = np.arange(game.num_players) == mover[:, None], return_to_go >= 0
    errors = {
        "constant": _off_the_mean(turn, return_to_go),
        "mover": values[moves] - return_to_go,
        "watchers": (values - return_to_go[:, None])[~moves],
        "mean": values.mean(axis=1) - return_to_go,
        "kept_constant": _off_the_mean(turn[kept], return_to_go[kept]),
        "kept_mean": (values.mean(axis=1) - return_to_go)[kept],
    }
    found = {key: round(float(np.sqrt((error**2).mean())), 4) for key, error in errors.items()}
    return found | {"games": games, "bias": round(float(errors["mean"].mean()), 4)}


def _off_the_mean(turn: IntArray, return_to_go: FloatArray) -> FloatArray:
    """By how much each of ``return_to_go`` misses the mean at its turn."""
    means = np.bincount(turn, return_to_go) / np.maximum(np.bincount(turn), 1)
    return np.asarray(means[turn] - return_to_go)


def seat_values_of(
    game: HanabiGame, policy: NetworkPolicy, games: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """At each decision of games by ``policy``: every seat's value, what came after, turn, mover."""
    worlds, blueprint = game.deal(rng, games), (policy,) * game.num_players
    streams, alive = Streams.spawn(rng, games), np.arange(games)
    memories, final = start_memories(worlds, blueprint), np.zeros(games)
    rows: list[tuple[Any, ...]] = []
    while len(alive):
        seats = range(game.num_players)
        values = [policy.value(worlds.view(p), memories[p]) for p in seats]
        score = points(worlds.rows)
        mover = worlds.current_player
        rows.append((alive, np.stack(values, axis=1), score, np.full(len(alive), len(rows)), mover))
        actions = choose(worlds, blueprint, memories, streams)
        worlds.step(actions)
        final[alive] = worlds.returns[:, 0]
        on = np.flatnonzero(~worlds.terminal)
        alive, worlds, streams = alive[on], worlds.select(on), streams.select(on)
        memories = tuple(take(memory, on) for memory in memories)
        memories = observe_all(worlds, mover[on], actions[on], blueprint, memories)
    which, valued, score, turn, mover = (np.concatenate(part) for part in zip(*rows, strict=True))
    return valued, final[which] - score, turn, mover


@app.command()
def cards() -> None:
    """Write what was measured into docs/results/networks.md."""
    rewrite(PAGE, page)


def page(text: str) -> str:
    """docs/results/networks.md with its cards made anew; the page of the clone has its own."""
    sections = {}
    for name, entry in network_models().items():
        for model in entry["models"] if name != "clonebot" else ():
            sections[f"card of {model['file']}"] = _card(model)
            sections[f"curve of {model['file']}"] = _curve(model)
    return fill(text, sections)


def _card(model: dict[str, Any]) -> Iterable[str]:
    path, played = MODELS / model["file"], model["self_play"]
    loaded = load_network(path)
    network, record = loaded.network, loaded.training
    (zero, zero_sem), (keep, keep_sem) = played["zero"], played["keep"]
    less, less_sem = played["less_than_bot"]
    runs = _runs(record)
    yield "| | |"
    yield "|---|---|"
    yield f"| file | `{model['file']}`, {path.stat().st_size / 2**20:.2f} MB |"
    how = "imitates" if "policy" in record else "began as a network that imitates"
    yield f"| {how} | `{_taught_by(record)}` |"
    count = sum(parameter.numel() for parameter in network.parameters())
    sizes = ", ".join(f"{key} {value}" for key, value in network.options.items())
    yield f"| network | `{record['architecture']}` ({sizes}), {count:,} parameters |"
    yield f"| encoding | `{network.encoding.name}` |"
    games = f"{played['games']:,} games, seed {played['seed']}"
    yield f"| score, a lost game counts 0 | **{zero:.3f} ± {zero_sem:.3f}** ({games}) |"
    yield f"| score, it keeps its points | {keep:.3f} ± {keep_sem:.3f} |"
    more = "more" if less < 0 else "less"
    yield f"| {more} than the bot on the same decks | {abs(less):.3f} ± {less_sem:.3f} |"
    yield f"| perfect / lost games | {played['perfect']:.2%} / {played['bombs']:.2%} |"
    value = played["value"]
    yield (
        f"| value's error, root mean square | {value['mean']:.2f} points; of the mean "
        f"at each turn {value['constant']:.2f} ({value['games']:,} games) |"
    )
    yield (
        f"| the same in games not lost | {value['kept_mean']:.2f} points; of the mean "
        f"at each turn {value['kept_constant']:.2f} |"
    )
    yield f"| training | {', then '.join(_training(run) for run in reversed(runs))} |"
    seconds = sum(run["cpu_seconds"] for run in runs)
    yield f"| its cost | {seconds / 60:.0f} minutes of one core |"
    if "critic" in model:
        yield from _critics_card(model["critic"], loaded)


def _critics_card(found: dict[str, Any], loaded: Loaded) -> Iterable[str]:
    assert loaded.critic is not None
    count = sum(parameter.numel() for parameter in loaded.critic.parameters())
    record, sizes = loaded.critic_training, loaded.critic.options
    yield (
        f"| critic | layers of {sizes['hidden']}, {sizes['deeper']} and {sizes['deeper']}, "
        f"{count:,} parameters |"
    )
    for kind, where in WHERE.items():
        for part, name in (("all", f"critic's error {where}"), ("kept", "in games not lost")):
            error = {who: errors[kind] for who, errors in found[part].items()}
            yield (
                f"| {name} | {error['critic']:.2f} points; of the network's values "
                f"{error['values']:.2f}, of the mean at each turn {error['constant']:.2f} |"
            )
    yield f"| critic's training | {_training(record)}, lambda {record['trace']} |"
    yield f"| its cost | {record['cpu_seconds'] / 60:.0f} minutes of one core |"


def _runs(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of a network's runs, the last one first."""
    runs = [record]
    while runs[-1].get("start"):
        runs.append(runs[-1]["start"])
    return runs


def _taught_by(record: dict[str, Any]) -> str:
    """The bot that the network imitated, before it learned by itself if it did."""
    return str(next(run["policy"] for run in _runs(record) if "policy" in run))


def _training(record: dict[str, Any]) -> str:
    moves = f"{record['moves']} moves of " if "moves" in record else ""
    return (
        f"{record['done']} rounds of {moves}{record['games']} games, {record['epochs']} passes, "
        f"batches of {record['batch']}, rate {record['rate']}, seed {record['seed']}"
    )


def _curve(model: dict[str, Any]) -> Iterable[str]:
    file = RESULTS / Path(model["file"]).with_suffix(".jsonl").name
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    if "greedy_score" in rows[0]:
        yield from _curve_alone(rows)
        return
    yield "| round | the bot's share | agreement | score | lost games |"
    yield "|---|---|---|---|---|"
    edges = np.linspace(0, len(rows), min(LINES, len(rows)) + 1).astype(int).tolist()
    for start, end in itertools.pairwise(edges):
        part = rows[start:end]
        share, agree, score, bombed = (
            float(np.mean([row[key] for row in part]))
            for key in ("bot_share", "accuracy", "score", "bombed")
        )
        span = f"{part[0]['iteration']}-{part[-1]['iteration']}"
        yield f"| {span} | {share:.0%} | {agree:.1%} | {score:.2f} | {bombed:.1%} |"


def _curve_alone(rows: list[dict[str, float]]) -> Iterable[str]:
    """Of a network that learned by self-play: where it played without chance."""
    yield "| round | decisions | score without chance | lost games |"
    yield "|---|---|---|---|"
    at = np.linspace(0, len(rows) - 1, min(LINES, len(rows))).round().astype(int)
    for row in (rows[i] for i in at.tolist()):
        yield (
            f"| {row['iteration']} | {row['decisions']:,.0f} | {row['greedy_score']:.2f} | "
            f"{row['greedy_bombed']:.1%} |"
        )


def with_model(models: list[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    """``models`` of one name and ``new``, which takes the place of one for the same game."""
    kept = [new if model["config"] == new["config"] else model for model in models]
    return kept if new in kept else [*kept, new]


def write_models(models: dict[str, Any]) -> None:
    """Put the list of the package's networks in place, from where it is read anew."""
    with atomic_write(MODELS / "models.json") as file:
        file.write(json.dumps(models, indent=1).encode() + b"\n")
    network_models.cache_clear()


if __name__ == "__main__":
    app()
