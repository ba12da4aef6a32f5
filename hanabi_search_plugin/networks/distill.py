"""Distillation: a network learns to play as a compiled bot does, on the games it plays itself.

Each iteration plays games (``collect``), first the bot's, then more and more the network's own, and
learns from every decision in them (``lessons``). An iteration's randomness comes from the seed and
its number alone, and all that lasts is in the state file, so that a run may be stopped at any
moment and goes on as if it had not been.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save

from hanabi_search_plugin.blueprints.compiled import CompiledBot
from hanabi_search_plugin.blueprints.registry import load_policy
from hanabi_search_plugin.checkpoint import difference
from hanabi_search_plugin.errors import CheckpointError, ConfigError
from hanabi_search_plugin.files import atomic_write
from hanabi_search_plugin.hanabi.config import HanabiConfig
from hanabi_search_plugin.hanabi.game import HanabiGame
from hanabi_search_plugin.networks.architectures import make_network
from hanabi_search_plugin.networks.checkpoint import load_network, read_file, save_network
from hanabi_search_plugin.networks.collect import Games, collect
from hanabi_search_plugin.networks.lessons import VALUE_LOSSES, batches, lesson
from hanabi_search_plugin.networks.modules import Network
from hanabi_search_plugin.networks.policy import network_policy
from hanabi_search_plugin.require import require_integer

FORMAT = "hanabi-search-plugin training 1"
STATE, METRICS, MODEL = "state.safetensors", "metrics.jsonl", "model.safetensors"
BOT_UNTIL = 0.3  # share of a run after which the network plays all moves
LAST_RATE = 0.03  # of the learning rate, at the end of its cosine
CLIP = 1.0  # of the gradient's norm

Row = dict[str, float]


@dataclass(frozen=True, kw_only=True)
class Distillation:
    """A run: who is imitated, in which game, by which network, for how long.

    Raises ConfigError for numbers out of range, a policy that is not compiled, or an architecture
    or options that are not known.
    """

    policy: str = "smartbot"
    config: HanabiConfig = field(default_factory=HanabiConfig)
    architecture: str = "masks"
    options: dict[str, Any] = field(default_factory=dict)
    iterations: int = 200
    games: int = 300  # an iteration
    epochs: int = 2  # how often each decision is learned from
    batch: int = 512  # decisions of a step
    rate: float = 2e-3  # of learning, at first
    value_weight: float = 2.0  # of the losses of values and Q beside the policy's
    seed: int = 0
    start: str = ""  # the file of a network to go on from; it plays all moves from the first round

    def __post_init__(self) -> None:
        for name in ("iterations", "games", "epochs", "batch"):
            require_integer(name, getattr(self, name), 1)
        require_integer("seed", self.seed, 0)
        for name in ("rate", "value_weight"):
            value = getattr(self, name)
            if not 0 < value < math.inf:
                raise ConfigError(f"{name} must be a positive number, got {value!r}")
        if not isinstance(load_policy(self.policy, self.config), CompiledBot):
            raise ConfigError(f"policy must be a compiled bot, got {self.policy!r}")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self) | {"config": self.config.to_dict()}


class Run:
    """A run of ``Distillation`` in a folder, where it left off if there is a state file.

    The folder gets the state, a line of metrics an iteration, and the network. Raises ConfigError
    where the folder holds a run with other settings, CheckpointError where its state is damaged.
    """

    def __init__(self, settings: Distillation, folder: str | Path, *, device: str = "cpu") -> None:
        self.settings, self.folder, self.device = settings, Path(folder), device
        self.folder.mkdir(parents=True, exist_ok=True)
        self.game = HanabiGame(settings.config)
        bot = load_policy(settings.policy, settings.config)
        assert isinstance(bot, CompiledBot)
        self.bot = bot
        with torch.random.fork_rng([]):
            torch.manual_seed(settings.seed)
            network = make_network(settings.architecture, settings.config, settings.options)
        self.start: dict[str, Any] = {}  # the record of the network it began with
        if settings.start:
            self.start = self._begin_with(network)
        self.network: Network = network.to(device)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=settings.rate)
        self.done = 0  # iterations
        self.seconds = 0.0  # CPU seconds of the process in finished iterations
        if (self.folder / STATE).exists():
            self._load()
        self._cut_metrics()

    @property
    def finished(self) -> bool:
        return self.done >= self.settings.iterations

    def iterate(self) -> Row:
        """Play, learn, and write all that lasts. Returns the line of metrics."""
        settings, began = self.settings, time.process_time()
        share = self.done / settings.iterations
        rng = np.random.default_rng([settings.seed, self.done])
        student = network_policy(self.network, device=self.device)
        bot_share = 0.0 if settings.start else max(0.0, 1.0 - share / BOT_UNTIL)
        games = collect(self.game, self.bot, student, settings.games, bot_share, rng)
        row = self._learn(games, share, rng)
        self.done += 1
        seconds = time.process_time() - began
        self.seconds += seconds
        row |= {
            "iteration": self.done,
            "decisions": len(games),
            "bot_share": bot_share,
            "score": float(games.scores.mean()),
            "bombed": float(games.bombed.mean()),
            "seconds": seconds,
        }
        with (self.folder / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        self._save()
        return row

    def _learn(self, games: Games, share: float, rng: np.random.Generator) -> Row:
        """Steps over all decisions; returns the means of what the lessons say."""
        settings = self.settings
        rate = LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * share))
        for group in self.optimizer.param_groups:
            group["lr"] = rate * settings.rate
        own_share = 1.0 if settings.start else 0.5 + 0.5 * share
        heard: dict[str, list[float]] = {}
        steps = 0
        self.network.train()
        for rows in batches(self.network, games, settings.batch, settings.epochs, rng):
            figures = lesson(self.network, games, rows, own_share, rng)
            loss = sum(
                (settings.value_weight if name in VALUE_LOSSES else 1.0) * value
                for name, value in figures.items()
                if name.endswith("loss")
            )
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
            self.optimizer.step()
            steps += 1
            for name, value in figures.items():
                heard.setdefault(name, []).append(float(value.detach()))
        self.network.eval()
        means = {name: sum(values) / len(values) for name, values in heard.items()}
        return means | {"rate": rate * settings.rate, "steps": float(steps)}

    def _save(self) -> None:
        """The network, then the state: what is newer than the state is made again after a stop."""
        settings = self.settings.to_dict()
        record = settings | {
            "start": self.start,
            "done": self.done,
            "cpu_seconds": round(self.seconds),
        }
        save_network(self.folder / MODEL, self.network, record)
        names = {parameter: name for name, parameter in self.network.named_parameters()}
        content = {f"model.{name}": x for name, x in self.network.state_dict().items()}
        for parameter, state in self.optimizer.state.items():
            content |= {f"{key}.{names[parameter]}": x for key, x in state.items()}
        about = {"settings": settings, "done": self.done, "seconds": self.seconds}
        metadata = {"format": FORMAT, "about": json.dumps(about)}
        tensors = {name: x.detach().cpu().contiguous() for name, x in content.items()}
        with atomic_write(self.folder / STATE) as file:
            file.write(save(tensors, metadata))

    def _begin_with(self, network: Network) -> dict[str, Any]:
        """Take over the weights of ``settings.start``; returns its record."""
        loaded = load_network(self.settings.start, self.settings.config)
        same = type(loaded.network) is type(network) and loaded.network.options == network.options
        if not same:
            raise ConfigError(
                f"start must be a network like this run's, {self.settings.architecture} of "
                f"{network.options}, got one of {loaded.network.options}"
            )
        network.load_state_dict(loaded.network.state_dict())
        return loaded.training

    def _load(self) -> None:
        path = self.folder / STATE
        tensors, about = read_file(path, FORMAT)
        other = difference(about.get("settings"), json.loads(json.dumps(self.settings.to_dict())))
        if other is not None:
            name, there, here = other
            raise ConfigError(
                f"a run goes on with its settings: {name} is {json.dumps(there)} in {path}, "
                f"{json.dumps(here)} here"
            )
        try:
            parts: dict[str, dict[str, Any]] = {}
            for name, x in tensors.items():
                kind, _, rest = name.partition(".")
                parts.setdefault(kind, {})[rest] = x.to(self.device)
            self.network.load_state_dict(parts.pop("model"))
            for name, parameter in self.network.named_parameters():
                state = {kind: named[name] for kind, named in parts.items() if name in named}
                if state:
                    state["step"] = state["step"].cpu()
                    self.optimizer.state[parameter] = state
            self.done, self.seconds = int(about["done"]), float(about["seconds"])
        except (KeyError, TypeError, ValueError, RuntimeError):
            raise CheckpointError(f"{path}: expected the whole state of a run") from None

    def _cut_metrics(self) -> None:
        """Drop the lines of iterations that are to be done again."""
        path = self.folder / METRICS
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        with atomic_write(path) as file:
            file.writelines(f"{line}\n".encode() for line in lines[: self.done])


def distill(
    settings: Distillation,
    folder: str | Path,
    *,
    device: str = "cpu",
    on_iteration: Callable[[Row], None] | None = None,
) -> Network:
    """Run ``settings`` in ``folder`` to the end, from where it was stopped; the network."""
    run = Run(settings, folder, device=device)
    while not run.finished:
        row = run.iterate()
        if on_iteration is not None:
            on_iteration(row)
    return run.network
