"""What the commands do: line-ups, one game on the terminal, tables and files.

Imported when a command runs: everything here is slow to import.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from hanabi_search_plugin import render
from hanabi_search_plugin.agent import SearchAgent, upgrade
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.blueprints.registry import load_policy
from hanabi_search_plugin.errors import ConfigError
from hanabi_search_plugin.evaluate import MANY_SEARCHERS, Evaluation
from hanabi_search_plugin.files import atomic_write, require_writable
from hanabi_search_plugin.hanabi.config import HanabiConfig
from hanabi_search_plugin.hanabi.game import HanabiGame
from hanabi_search_plugin.human import HumanPolicy
from hanabi_search_plugin.jit import compile_seconds
from hanabi_search_plugin.match import SEARCHES, GameResult, deal_game, searching_seats
from hanabi_search_plugin.policy import Blueprint, Policy
from hanabi_search_plugin.provenance import describe, peak_rss_mb, versions
from hanabi_search_plugin.records import RecordedGame
from hanabi_search_plugin.result import SearchResult
from hanabi_search_plugin.selfplay import lives_left, play_game, self_play

_CONFIG = tuple(HanabiConfig.__dataclass_fields__)
_SPARTA = tuple(name for name in Sparta.__dataclass_fields__ if name != "threads")
HUMAN = "human"


# ------------------------------------------------------------------------------------- line-ups


@dataclass(frozen=True)
class LineUp:
    """Who plays what."""

    game: HanabiGame
    policies: Blueprint
    names: tuple[str, ...]  # one a seat, for people


def game_config(settings: Mapping[str, Any]) -> HanabiConfig:
    """The game of a command's options."""
    return HanabiConfig(**{name: settings[name] for name in _CONFIG if name in settings})


def blueprint_of(names: str, config: HanabiConfig) -> Blueprint:
    """One policy for every seat, or one a seat, from ``--policy``."""
    parts = [name.strip() for name in names.split(",")]
    if len(parts) not in (1, config.players):
        raise ConfigError(
            f"policy must be one name or {config.players}, one a seat, got {len(parts)}: {names}"
        )
    loaded = {name: load_policy(name, config) for name in dict.fromkeys(parts)}
    return tuple(loaded[parts[seat % len(parts)]] for seat in range(config.players))


def names_of(names: str, config: HanabiConfig) -> list[str]:
    parts = [name.strip() for name in names.split(",")]
    return [parts[seat % len(parts)] for seat in range(config.players)]


def line_up(settings: Mapping[str, Any], *, search_threads: int = 1) -> LineUp:
    """The game and the policies of a command's options; raises ConfigError."""
    config = game_config(settings)
    game = HanabiGame(config)
    blueprint = blueprint_of(settings["policy"], config)
    names = names_of(settings["policy"], config)
    if settings["search"] not in ("sparta", "none"):
        raise ConfigError(f"search must be sparta or none, got {settings['search']!r}")
    if settings["search"] == "none":
        return LineUp(game, blueprint, tuple(names))
    epsilon = settings["epsilon"]
    if not 0 <= epsilon < 1:
        raise ConfigError(f"epsilon must be a probability below 1, got {epsilon}")
    search = Sparta(
        **{name: settings[name] for name in _SPARTA if name in settings}, threads=search_threads
    )
    agent = upgrade(blueprint, game, search, epsilon=epsilon)
    policies: list[Policy] = list(blueprint)
    for seat in seats_of(settings["search_seats"], config):
        policies[seat] = agent
        names[seat] += "+sparta"
    return LineUp(game, tuple(policies), tuple(names))


def seats_of(text: str, config: HanabiConfig) -> list[int]:
    """The seats of ``--search-seats``."""
    seats = []
    for part in text.split(","):
        if not part.strip().isdecimal() or int(part) >= config.players:
            raise ConfigError(
                f"search-seats must be seats from 0 to {config.players - 1}, got {text!r}"
            )
        seats.append(int(part))
    return sorted(set(seats))


def seat_people(who: LineUp, seats: str | None, console: Console) -> LineUp:
    """The line-up with people and policies at the seats that ``--seats`` names."""
    if seats is None:
        return who
    config = who.game.config
    parts = [name.strip() for name in seats.split(",")]
    if len(parts) != config.players:
        raise ConfigError(f"seats must be {config.players} names, one a seat, got {seats!r}")
    names, policies = list(who.names), list(who.policies)
    for seat, name in enumerate(parts):
        if name == HUMAN:
            names[seat] = HUMAN
        elif not isinstance(policies[seat], SearchAgent):
            policies[seat], names[seat] = load_policy(name, config), name
        else:  # the search stays, over what this seat was said to play
            agent = policies[seat]
            assert isinstance(agent, SearchAgent)
            blueprint = list(agent.blueprint)
            blueprint[seat] = load_policy(name, config)
            policies[seat] = replace(agent, blueprint=tuple(blueprint))
            names[seat] = f"{name}+sparta"
    for seat, name in enumerate(names):
        if name == HUMAN:

            def ask(seat: int = seat) -> str:
                return console.input(f"[bold]P{seat}, your move[/] (help): ")

            policies[seat] = HumanPolicy(console, tuple(names), ask)
    return LineUp(who.game, tuple(policies), tuple(names))


def many_searchers(who: LineUp) -> str | None:
    """The paper's warning where several seats search."""
    seats = searching_seats(who.policies)
    return MANY_SEARCHERS % ", ".join(map(str, seats)) if len(seats) > 1 else None


# ------------------------------------------------------------------------------- games and files


def record(game: HanabiGame, result: GameResult, seed: int, names: tuple[str, ...]) -> RecordedGame:
    """A finished game as the recorded-games format has it."""
    worlds, _ = deal_game(game, seed, result.game)
    return recorded(game, worlds, result, seed, names)
