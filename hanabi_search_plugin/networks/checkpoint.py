"""Save and load networks as safetensors, with game, architecture and training record as JSON.

Nothing is unpickled. A file that was made for another game is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from hanabi_search_plugin.atomic_files import atomic_write
from hanabi_search_plugin.core.errors import CheckpointError, HanabiSearchError
from hanabi_search_plugin.core.plain_json import parse_json
from hanabi_search_plugin.core.whole_files import read_whole
from hanabi_search_plugin.evaluation.tensor_files import read_tensors
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.architectures import ARCHITECTURES, name_of
from hanabi_search_plugin.networks.encodings.network_encoding import differences_of
from hanabi_search_plugin.networks.modules import (
    Network,
    first_line,
    seeded,
    to_device,
    with_tensors,
)
from hanabi_search_plugin.networks.nets.critic_net import Critic

FORMAT = "hanabi-search-plugin network 1"
CRITIC = "critic."  # before the names of a critic's tensors


@dataclass(frozen=True)
class Loaded:
    """A network out of a file."""

    network: Network  #: with its weights, on the device asked for
    training: dict[str, Any]  #: the record of how it was trained
    critic: Critic | None = None  #: None: the file has none
    critic_training: dict[str, Any] = field(default_factory=dict)  #: that of the critic


def save_network(
    path: str | Path,
    network: Network,
    training: Mapping[str, Any],
    *,
    critic: Critic | None = None,
    critic_training: Mapping[str, Any] | None = None,
    half: bool = False,
) -> None:
    """Write a network and the record of its training (plain JSON types), atomically.

    A critic goes into the same file, with its own record. ``half`` stores 16-bit floats. Raises
    OSError where the file cannot be written.
    """
    dtype = torch.float16 if half else torch.float32
    numbers = network.state_dict()
    about = {
        "config": network.config.to_dict(),
        "encoding": network.encoding.name,
        "architecture": name_of(network),
        "options": network.options,
        "training": dict(training),
    }
    if critic is not None:
        numbers |= {CRITIC + name: x for name, x in critic.state_dict().items()}
        about["critic"] = {"options": critic.options, "training": dict(critic_training or {})}
    content = {name: x.detach().cpu().to(dtype) for name, x in numbers.items()}
    write_file(path, content, FORMAT, about)


@seeded(0)  # modules are made with random weights, which the file's replace
def load_network(
    path: str | Path, config: HanabiConfig | None = None, *, device: str = "cpu"
) -> Loaded:
    """The network in a file, for games of ``config`` (default: those it was made for).

    Raises CheckpointError where the file is none of this package's, is damaged, or is for another
    game; OSError where it cannot be read.
    """
    tensors, about = read_file(path, FORMAT)
    try:
        made_for = HanabiConfig(**about["config"])
        numbers = {name: x.float() for name, x in tensors.items()}
        of_critic = [name for name in numbers if name.startswith(CRITIC)]
        critic_tensors = {name.removeprefix(CRITIC): numbers.pop(name) for name in of_critic}
        kind = ARCHITECTURES[about["architecture"]]
        network = with_tensors(lambda: kind(made_for, **about["options"]), numbers)
        if network.encoding.name != about["encoding"]:
            raise CheckpointError(
                f"{path}: expected a network of the encoding {network.encoding.name}, got "
                f"{about['encoding']}"
            )
        training = dict(about["training"])
        critic, critic_training = None, {}
        if "critic" in about:
            options = about["critic"]["options"]
            critic = with_tensors(lambda: Critic(made_for, **options), critic_tensors)
            critic_training = dict(about["critic"]["training"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, CheckpointError):
            raise
        reason = error if isinstance(error, HanabiSearchError) else first_line(error)
        raise CheckpointError(
            f"{path}: expected a whole network of this package: {reason}"
        ) from None
    if config is not None and (different := differences_of(made_for, config)):
        there = ", ".join(f"{name} {value}" for name, (value, _) in different.items())
        here = ", ".join(str(given) for _, given in different.values())
        flags = " ".join(
            f"--{name.replace('_', '-')} {value}" for name, (value, _) in different.items()
        )
        raise CheckpointError(
            f"{path}: expected a game with {there}, for which the network was made, got {here}: "
            f"on the command line {flags}"
        )
    network = to_device(network, device).eval()
    critic = None if critic is None else to_device(critic, device).eval()
    return Loaded(network, training, critic, critic_training)


def is_ours(path: str | Path) -> bool:
    """True if this package wrote the file, whatever it holds."""
    try:
        with safe_open(str(path), framework="pt") as file:
            form = str((file.metadata() or {}).get("format", ""))
    except SafetensorError:
        return False
    return form.startswith("hanabi-search-plugin ")


def write_file(
    path: str | Path, tensors: dict[str, Any], form: str, about: Mapping[str, Any]
) -> None:
    """Write what ``read_file`` reads, atomically; the same content gives the same bytes.

    Raises OSError where the file cannot be written.
    """
    content = save(tensors, {"format": form, "about": json.dumps(about)})
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    # The library writes the metadata in an order that differs from process to process.
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8, as the library has it
    with atomic_write(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.write(memoryview(content)[8 + size :])


def format_of(path: str | Path) -> str:
    """The format that a file names; "" where it names none, or is no safetensors file."""
    content = read_whole(path)
    try:
        header = parse_json(content[8 : 8 + int.from_bytes(content[:8], "little")])
        return str(header["__metadata__"]["format"])
    except (KeyError, TypeError, ValueError):
        return ""


def read_file(path: str | Path, form: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tensors and description of a file that was written as ``form``; raises CheckpointError."""
    try:
        arrays, metadata = read_tensors(read_whole(path))
        about = parse_json(metadata.get("about", "null"))
    except ValueError as error:
        raise CheckpointError(f"{path}: expected a safetensors file: {first_line(error)}") from None
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if metadata.get("format") != form or not isinstance(about, dict):
        found = metadata.get("format", "a file without a format")
        raise CheckpointError(f"{path}: expected a file of the format {form!r}, got {found!r}")
    return tensors, about
