"""A training in a folder that may be stopped at any time and resumed with the same result.

A round's randomness follows from the seed and its number alone; everything that lasts from round to
round is in the state file.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from hanabi_search_plugin.atomic_files import atomic_write, naming_errors, remove
from hanabi_search_plugin.core.errors import CheckpointError, ConfigError, HanabiSearchError
from hanabi_search_plugin.core.plain_json import typed
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.journal import difference
from hanabi_search_plugin.evaluation.locks import lock_folder
from hanabi_search_plugin.evaluation.progress import progress_bar
from hanabi_search_plugin.networks.checkpoint import format_of, read_file, write_file
from hanabi_search_plugin.networks.modules import first_line, to_device

if TYPE_CHECKING:
    from rich.console import Console
else:
    Console = Any  # for typing.get_type_hints: rich is loaded when something is shown

STATE, METRICS, MODEL = "state.safetensors", "metrics.jsonl", "model.safetensors"
PART = "state-{}-{}.safetensors"  # round, number: tensors beyond PART_BYTES
PART_BYTES = 14 << 20  # of tensors in one file, so that it travels where files have limits
LAST_RATE = 0.03  # of the learning rate, at the end of its cosine
LASTING = "lasting"  # prefix of extra state's names in the state file
CLIP = 1.0  # of the gradient's norm

Tensor = Any  # torch.Tensor
Row = dict[str, float]


def _in_parts(tensors: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    """The tensors in their order, at most PART_BYTES a part; a larger one is by itself."""
    parts: list[dict[str, Tensor]] = [{}]
    taken = 0
    for name, tensor in tensors.items():
        if parts[-1] and taken + tensor.nbytes > PART_BYTES:
            parts.append({})
            taken = 0
        parts[-1][name] = tensor
        taken += tensor.nbytes
    return parts


def _digest(tensors: dict[str, Tensor]) -> str:
    """A hash of named tensors, by which damage shows."""
    digest = hashlib.sha256()
    for name, x in sorted(tensors.items()):
        digest.update(f"{name} {list(x.shape)} {x.dtype}".encode())
        digest.update(x.numpy().tobytes())
    return digest.hexdigest()


_KINDS = {
    "hanabi-search-plugin belief training 1": "train belief",
    "hanabi-search-plugin clone 1": "train clone",
    "hanabi-search-plugin critic 1": "train critic",
    "hanabi-search-plugin self-play 1": "train rl",
    "hanabi-search-plugin training 1": "train distill",
}
"""What makes states of each form."""


class TrainingRun(ABC):
    """Trains ``network`` for ``rounds`` rounds, at a learning rate that falls along a cosine.

    ``trained`` is the module whose weights are learned and kept in the state, where that is more
    than the network. Modules ``apart`` have a learning rate of their own, and their gradient is
    clipped by itself. After ``warm_up`` rounds the rate rises evenly, over as many more.

    The folder gets the state, a line of metrics a round, and the network. ``settings`` (plain JSON
    types) must be the same when a run is resumed. Raises ConfigError where the folder holds a run
    with other settings or another process trains in it, CheckpointError where its state is damaged.
    """

    form: str  # of the state file

    def __init__(
        self,
        network: nn.Module,
        folder: str | Path,
        *,
        settings: dict[str, Any],
        rounds: int,
        rate: float,
        seed: int,
        device: str,
        optimizer: type[torch.optim.Adam | torch.optim.RMSprop] = torch.optim.Adam,
        trained: nn.Module | None = None,
        apart: Sequence[tuple[nn.Module, float]] = (),
        warm_up: int = 0,
    ) -> None:
        self.folder, self.device = Path(folder), device
        self.network = to_device(network, device)
        self.trained = to_device(trained or network, device)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = lock_folder(self.folder)  # as long as the run lives
        groups = [(list(module.parameters()), peak) for module, peak in apart]
        known = {id(parameter) for parameters, _ in groups for parameter in parameters}
        rest = [x for x in self.trained.parameters() if id(x) not in known]
        self._groups = [(rest, rate), *groups]  # parameters, and the rate at first
        self._fused = torch.device(device).type == "cuda" and optimizer is torch.optim.Adam
        options: dict[str, Any] = {}
        if self._fused:  # and a step can be part of a CUDA graph, which reads the rate as a tensor
            options = {"fused": True, "capturable": True}
        self.optimizer = optimizer(
            [
                {"params": parameters, "lr": torch.tensor(peak, device=device) if options else peak}
                for parameters, peak in self._groups
            ],
            **options,
        )
        self.done = 0  # rounds
        self.seconds = 0.0  # CPU seconds of the process in finished rounds
        self._settings = json.loads(json.dumps(settings))
        self._rounds, self._rate, self._seed = rounds, rate, seed
        self._warm_up = warm_up
        if (self.folder / STATE).exists():
            self._load()
        self._cut_metrics()

    @abstractmethod
    def learn(self, share: float, rng: np.random.Generator) -> Row:
        """Run one round, ``share`` of the run being done; returns its line of metrics."""

    @abstractmethod
    def write(self, path: Path, record: dict[str, Any]) -> None:
        """Write the network and the record of its training."""

    def extra_state(self) -> dict[str, Tensor]:
        """Tensors that last from round to round besides the network, by name."""
        return {}

    def load_extra_state(self, state: dict[str, Tensor]) -> None:  # noqa: B027
        """Resume from ``extra_state``; raises KeyError or ValueError for what does not fit."""

    @property
    def finished(self) -> bool:
        return self.done >= self._rounds

    def finish(
        self, on_round: Callable[[Row], None] | None = None, *, progress: bool | Console = False
    ) -> None:
        """Run all rounds that are left; ``on_round`` gets each one's line of metrics.

        ``progress`` shows how far it is, as in ``evaluate``.
        """
        with progress_bar("rounds", self._rounds, done=self.done, console=progress) as show:
            while not self.finished:
                row = self.iterate()
                show(self.done)
                if on_round is not None:
                    on_round(row)

    def iterate(self) -> Row:
        """Run a round and write the state. Returns the line of metrics."""
        began, share = time.process_time(), self.done / self._rounds
        falling = LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * share))
        if 0 <= self.done - self._warm_up < self._warm_up:
            falling *= (self.done - self._warm_up + 1) / (self._warm_up + 1)
        for group, (_, peak) in zip(self.optimizer.param_groups, self._groups, strict=True):
            if self._fused:
                group["lr"].fill_(falling * peak)
            else:
                group["lr"] = falling * peak
        row = self.learn(share, np.random.default_rng([self._seed, self.done]))
        self.done += 1
        seconds = time.process_time() - began
        self.seconds += seconds
        row |= {"iteration": self.done, "rate": falling * self._rate, "seconds": seconds}
        path = self.folder / METRICS
        with naming_errors(path), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        self._save()
        return row

    def step(self, loss: Tensor) -> None:
        """Take one step of the optimiser, with the gradient clipped."""
        self.optimizer.zero_grad()
        loss.backward()
        for parameters, _ in self._groups:
            torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        self.optimizer.step()

    def _save(self) -> None:
        """The network, then the state: what is newer than the state is made again after a stop."""
        record = {"done": self.done, "cpu_seconds": round(self.seconds)}
        self.write(self.folder / MODEL, self._settings | record)
        content = {f"model.{name}": x for name, x in self.trained.state_dict().items()}
        for name, parameter in self.trained.named_parameters():
            state = self.optimizer.state.get(parameter, {})
            content |= {f"{key}.{name}": x for key, x in state.items()}
        content |= {f"{LASTING}.{name}": x for name, x in self.extra_state().items()}
        tensors = {name: x.detach().cpu().contiguous() for name, x in sorted(content.items())}
        first, *others = _in_parts(tensors)
        names_of_parts = [PART.format(self.done, place) for place in range(1, len(others) + 1)]
        about = {"settings": self._settings, "done": self.done, "seconds": self.seconds}
        about |= {"parts": names_of_parts, "digest": _digest(tensors)}
        for name, part in zip(names_of_parts, others, strict=True):
            write_file(self.folder / name, part, self.form, {})
        write_file(self.folder / STATE, first, self.form, about)  # from here on it is the state
        self._remove_parts(names_of_parts)

    def _load(self) -> None:
        path = self.folder / STATE
        other = _KINDS.get(format_of(path), self.form)
        if other not in (self.form, _KINDS.get(self.form)):
            raise ConfigError(
                f"{self.folder} holds a run of `{other}`, which `{_KINDS.get(self.form)}` cannot "
                "go on with: choose another --out"
            )
        tensors, about = read_file(path, self.form)
        try:
            self._restore(*self._whole(tensors, about))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            if isinstance(error, HanabiSearchError):
                raise
            raise CheckpointError(
                f"{path}: expected the whole state of a run: {first_line(error)}"
            ) from None

    def _whole(
        self, tensors: dict[str, Tensor], about: dict[str, Any]
    ) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The state with its other parts. Raises ConfigError where it is of another run."""
        other = difference(about.get("settings"), self._settings)
        if other is not None:
            raise ConfigError(self._other_settings(*other))
        for part in typed("parts", about.get("parts", []), tuple[str, ...]):
            if Path(part).name != part:
                raise ValueError(f"its parts must be files of {self.folder}, got {part!r}")
            tensors |= read_file(self.folder / part, self.form)[0]
        if about.get("digest", _digest(tensors)) != _digest(tensors):
            raise ValueError("its numbers are not those that were written")
        return tensors, about

    def _other_settings(self, name: str, there: Any, here: Any) -> str:
        """What to do where the folder's run was begun with another value of a setting."""
        start = ""
        if "start" in self._settings:
            start = f" from its network, --start {self.folder / MODEL},"
        if name == "iterations" and isinstance(there, int):
            return (
                f"{self.folder} holds a run of {counted(there, 'iteration')} over which its "
                f"learning rate falls, so it has no more, got {here}: begin another run{start} "
                "with another --out"
            )
        return (
            f"a run goes on with its settings: {name} is {json.dumps(there)} in "
            f"{self.folder / STATE}, {json.dumps(here)} here; begin another run{start} with "
            "another --out"
        )

    def _restore(self, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
        parts: dict[str, dict[str, Any]] = {}
        for name, x in tensors.items():
            kind, _, rest = name.partition(".")
            parts.setdefault(kind, {})[rest] = x.to(self.device)
        self.trained.load_state_dict(parts.pop("model"))
        self.load_extra_state(parts.pop(LASTING, {}))
        for name, parameter in self.trained.named_parameters():
            state = {kind: named[name] for kind, named in parts.items() if name in named}
            if state:
                shapes = {kind: x.shape for kind, x in state.items() if kind != "step"}
                if set(shapes.values()) != {parameter.shape} or state["step"].numel() != 1:
                    raise ValueError(f"what the optimiser knows of {name} has other shapes")
                state["step"] = state["step"] if self._fused else state["step"].cpu()
                self.optimizer.state[parameter] = state
        self.done = typed("done", about["done"], int)
        self.seconds = float(typed("seconds", about["seconds"], float))
        if not 0 <= self.done <= self._rounds:
            raise ValueError(f"done must be from 0 to {self._rounds}, got {self.done}")
        self._remove_parts(about.get("parts", []))

    def _remove_parts(self, kept: Sequence[str]) -> None:
        """Those of other rounds."""
        for old in self.folder.glob(PART.format("*", "*")):
            if old.name not in kept:
                remove(old)

    def _cut_metrics(self) -> None:
        """Drop the lines of rounds that are to be done again."""
        path = self.folder / METRICS
        lines = path.read_bytes().splitlines() if path.exists() else []
        with atomic_write(path) as file:
            file.writelines(line + b"\n" for line in lines[: self.done])
