"""Measure how close the learned beliefs come to the true hands (docs/results/lbs.md).

python -m benchmarks.beliefs ship smartnet RUN   # a run's model, into the package, measured
python -m benchmarks.beliefs own                 # what networks with a public belief know by it
python -m benchmarks.beliefs cards               # docs/results/lbs.md from what was measured
python -m benchmarks.beliefs searched FILE       # in games that a search played
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.means import with_error
from benchmarks.networks import with_model, write_models
from benchmarks.pages import fill
from hanabi_search_plugin import (
    BeliefModel,
    Grounded,
    HanabiConfig,
    HanabiGame,
    Policy,
    Streams,
    Worlds,
    load_belief_model,
    load_policy,
)
from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.beliefs.learned_belief import LearnedBelief
from hanabi_search_plugin.core import PAD, take
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.evaluation.match import deal_game
from hanabi_search_plugin.networks.belief_files import (
    FORMAT,
    NetworkBelief,
    load_belief,
    save_belief,
)
from hanabi_search_plugin.networks.catalogue import belief_models, network_models, own_beliefs
from hanabi_search_plugin.networks.checkpoint import read_file
from hanabi_search_plugin.networks.training.belief_training import measured
from hanabi_search_plugin.networks.training.training_run import METRICS, MODEL

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "hanabi_search_plugin" / "networks" / "models"
RESULTS = ROOT / "docs" / "results"
PAGE = ROOT / "docs" / "results" / "lbs.md"
ROUNDS = 10  # of a curve
DRAWS = 100  # at a turn, for what share of them explains the partner's moves

app = CommandLine(__doc__)
console = Console(highlight=False)


@app.command()
def ship(
    policy: str,
    run: Annotated[Path, typer.Argument(help="The folder of a finished run.")],
    games: int = 1_000,
    seed: int = 1,
) -> None:
    """Put the model of a run into the package, in numbers of 16 bits, and measure it there."""
    made_for = read_file(run / MODEL, FORMAT)[1]["game"]
    default = HanabiConfig().to_dict()
    config = {
        k: v for k, v in made_for.items() if k in default and (k == "players" or v != default[k])
    }
    game = HanabiGame(**config)
    model = load_belief(run / MODEL, game)
    file = "-".join(["belief", policy, *(f"{key}-{value}" for key, value in config.items())])
    save_belief(MODELS / f"{file}.safetensors", game, model.network, model.training, half=True)
    shutil.copy(run / METRICS, RESULTS / f"{file}.jsonl")
    model = load_belief(MODELS / f"{file}.safetensors", game)
    blueprint = (load_policy(policy, game),) * game.num_players
    found = measured(game, blueprint, model.network, games, seed)
    entry = {
        "file": f"{file}.safetensors", "config": config, "games": games, "seed": seed,
        "cross_entropy": round(found["masked"], 4), "unmasked": round(found["loss"], 4),
        "grounded": round(found["grounded"], 4),
    }  # fmt: skip
    models = dict(belief_models())
    shipped = models.get(policy, {}).get("models", [])
    description = f"learned from games of {policy}"
    models[policy] = {"description": description, "models": with_model(shipped, entry)}
    with atomic_write(MODELS / "beliefs.json") as out:
        out.write(json.dumps(models, indent=1).encode() + b"\n")
    belief_models.cache_clear()
    cards()


@app.command()
def own(games: int = 300, seed: int = 1) -> None:
    """Measure the beliefs that networks have of their own, in games that they play."""
    models = dict(network_models())
    for name in own_beliefs():
        for model in models[name]["models"]:
            game = HanabiGame(HanabiConfig(**model["config"]))
            nats, grounded = _nats(game, name, games, seed)
            model["own_belief"] = {
                "games": games, "seed": seed,
                "cross_entropy": round(nats, 4), "grounded": round(grounded, 4),
            }  # fmt: skip
            console.print(model["config"], model["own_belief"])
    write_models(models)
    cards()


def _nats(game: HanabiGame, name: str, games: int, seed: int) -> tuple[float, float]:
    """Nats a card of the network's own belief and of the grounded one, at each seat's turns."""
    blueprint = (load_policy(name, game),) * game.num_players
    model, grounded = load_belief_model(name, game), Grounded(game)
    rng = np.random.default_rng(seed)
    worlds, streams = game.deal(rng, games), Streams.spawn(rng, games)
    memories = start_memories(worlds, blueprint)
    states = [model.start(worlds.view(p)) for p in range(game.num_players)]
    said = known = cards = 0.0
    while len(worlds):
        mover = worlds.current_player
        for p in range(game.num_players):
            mine = np.flatnonzero(mover == p)
            view, hands = worlds.view(p).select(mine), game.hidden_tokens(worlds, p)[mine]
            said -= float(model.log_likelihood(view, take(states[p], mine), hands).sum())
            known -= float(grounded.log_likelihood(view, None, hands).sum())
            cards += float((hands != PAD).sum())
        event = worlds.step(choose(worlds, blueprint, memories, streams))
        on = np.flatnonzero(~worlds.terminal)
        worlds, event, streams = worlds.select(on), event.select(on), streams.select(on)
        memories = tuple(take(memory, on) for memory in memories)
        memories = observe_all(worlds, event.player, event.action, blueprint, memories)
        states = [
            model.observe(worlds.view(p), event, take(state, on)) for p, state in enumerate(states)
        ]
    return said / cards, known / cards


@app.command()
def cards() -> None:
    """Fill the page with the cards and curves of the models."""
    PAGE.write_text(page(PAGE.read_text()))


@app.command()
def searched(
    kept: Annotated[Path, typer.Argument(help="Games as ``reproduce`` or --resume keep them.")],
    policy: Annotated[str, typer.Option(help="Whose belief model.")] = "rlnet",
    seat: Annotated[int, typer.Option(help="The one that searched.")] = 1,
    games: Annotated[int, typer.Option(help="The first so many.")] = 40,
) -> None:
    """Does the model know hands as well where a seat has left the blueprint?

    And of the hands that it draws, how many explain what the partner did?
    """
    header, *lines = [json.loads(line) for line in kept.read_text().splitlines()]
    game = HanabiGame(**{k: v for k, v in header["parameters"]["game"].items() if k != "name"})
    model, seed = load_belief_model(policy, game), header["parameters"]["seed"]
    player = load_policy(policy)
    for side in ("baseline", "policies"):
        played = [one for one in lines if one["side"] == side and one["game"] < games]
        told = np.array(
            [
                _told(game, player, model, seat, deal_game(game, seed, g["game"])[0], g)
                for g in played
            ]
        )
        gained = told[:, 0] - told[:, 1]
        console.print(
            f"{side}: grounded {told[:, 0].mean():.3f} nats a card, learned "
            f"{told[:, 1].mean():.3f}, less by {with_error(gained, 3)} "
            f"({len(played)} games); {told[:, 2].mean():.0%} of draws explain the partner's moves"
        )


def _told(
    game: HanabiGame,
    policy: Policy,
    model: BeliefModel,
    seat: int,
    worlds: Worlds,
    line: dict[str, Any],
) -> tuple[float, float, float]:
    """Nats a card, grounded and learned, over the turns of ``seat`` in a game.

    And the mean share of its draws that explain the others' moves.
    """
    grounded, rng = Grounded(game), np.random.default_rng(line["game"])
    belief = LearnedBelief.start(model, (policy,) * game.num_players, worlds.view(seat))
    known = said = cards = 0.0
    explain = []
    for action in line["actions"]:
        mover = worlds.current_player
        if mover[0] == seat:
            view, hand = belief.view, game.hidden_tokens(worlds, seat)
            drawn = model.sample(view, belief.state, rng, DRAWS)
            explain.append((belief.past.likelihood(drawn) > 0).mean())
            known -= float(grounded.log_likelihood(view, None, hand).sum())
            said -= float(model.log_likelihood(view, belief.state, hand).sum())
            cards += float((hand != PAD).sum())
        event = worlds.step(np.array([action]))
        if not worlds.terminal[0]:
            belief = belief.update(event, worlds.view(seat))
    return known / cards, said / cards, float(np.mean(explain))


def page(text: str) -> str:
    """The page with its cards and curves made anew."""
    shipped = [(name, m) for name, about in belief_models().items() for m in about["models"]]
    cards = _table(CARD, (_card(name, model) for name, model in shipped))
    curves = _table(CURVE, (_curve(name, model) for name, model in shipped))
    theirs = [
        (name, model)
        for name in own_beliefs()
        for model in network_models()[name]["models"]
        if "own_belief" in model
    ]
    own = _table(OWN, (_own(name, model) for name, model in theirs))
    return fill(text, {"own beliefs": own, "shipped beliefs": cards, "how they learned": curves})


CARD = (
    "games of", "rules", "file", "MB", "parameters", "nats a card", "grounded", "closer by",
    "without the mask", "measured", "listener", "rounds", "minutes of a core",
)  # fmt: skip
OWN = ("network", "rules", "nats a card", "grounded", "closer by", "measured")
CURVE = ("games of", "rules", *(f"{100 * i // ROUNDS} %" for i in range(1, ROUNDS + 1)))


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterable[str]:
    for row in (columns, ["---" for _ in columns], *rows):
        yield f"| {' | '.join(row)} |"


def _rules(model: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in model["config"].items())


def _card(policy: str, model: dict[str, Any]) -> Iterable[str]:
    loaded = load_belief_model(policy, HanabiGame(**model["config"]))
    assert isinstance(loaded, NetworkBelief)
    network, record = loaded.network, loaded.training
    known, grounded = model["cross_entropy"], model["grounded"]
    yield f"`{policy}`"
    yield _rules(model)
    yield f"`{model['file']}`"
    yield f"{(MODELS / model['file']).stat().st_size / 2**20:.2f}"
    yield f"{sum(p.numel() for p in network.parameters()):,}"
    yield f"**{known:.3f}**"
    yield f"{grounded:.3f}"
    yield f"{grounded - known:.3f}"
    yield f"{model['unmasked']:.3f}"
    yield f"{model['games']:,} games, seed {model['seed']}"
    yield f"`{network.options['listener']}`"
    yield f"{record['done']}"
    yield f"{record['cpu_seconds'] / 60:.0f}"


def _own(name: str, model: dict[str, Any]) -> Iterable[str]:
    found = model["own_belief"]
    yield f"`{name}`"
    yield _rules(model)
    yield f"**{found['cross_entropy']:.3f}**"
    yield f"{found['grounded']:.3f}"
    yield f"{found['grounded'] - found['cross_entropy']:.3f}"
    yield f"{found['games']:,} games, seed {found['seed']}"


def _curve(policy: str, model: dict[str, Any]) -> Iterable[str]:
    """Nats a card closer than the grounded belief, means of rounds."""
    path = RESULTS / f"{model['file'].removesuffix('.safetensors')}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    yield f"`{policy}`"
    yield _rules(model)
    for part in np.array_split([row["grounded"] - row["masked"] for row in lines], ROUNDS):
        yield f"{part.mean():.3f}"


if __name__ == "__main__":
    app()
