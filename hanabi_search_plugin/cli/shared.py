"""What the commands share: line-ups, consoles, progress and files.

Imported when a command runs: everything here is slow to import.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners, favouring
from hanabi_search_plugin.cli.searches import NONE, make_search
from hanabi_search_plugin.core.agent import MakeBelief, SearchAgent, TeamSearch, WrapsBelief
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Blueprint, Policy
from hanabi_search_plugin.core.require import require_writable
from hanabi_search_plugin.evaluation.atomic_files import atomic_write
from hanabi_search_plugin.evaluation.evaluate import warn_of_independent_searches
from hanabi_search_plugin.evaluation.match import GameResult, deal_game
from hanabi_search_plugin.hanabi.beliefs.learned_partners import LearnedPartners, named_recogniser
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import TURN
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.catalogue import belief_models, load_belief_model
from hanabi_search_plugin.plugins import load_game
from hanabi_search_plugin.registry import load_policies, load_policy, policy_names

HUMAN = "human"
HANABI = "hanabi"
EXACT = "exact"
PARTNER_OPTIONS = {"likelihoods": EXACT, "favourite": None}  # and their defaults
_GAME = {field.name: field.default for field in fields(HanabiConfig)}


# ------------------------------------------------------------------------------------- line-ups


@dataclass(frozen=True)
class LineUp:
    """Who plays what. A person's seat holds the policy that stands in for it in beliefs."""

    game: Game
    policies: Blueprint
    names: tuple[str, ...]  # one a seat, for people
    short_names: tuple[str, ...]  # the same for narrow places: a searching seat's search
    people: tuple[int, ...] = ()  # seats
    searching: tuple[int, ...] = ()  # seats

    def hanabi(self) -> HanabiGame:
        """The game, where it is native Hanabi. Raises ConfigError for another."""
        if not isinstance(self.game, HanabiGame):
            raise ConfigError(f"recorded games and boards are of hanabi, got {self.game!r}")
        return self.game


def line_up(
    settings: Mapping[str, Any], *, seats: str | None = None, search_threads: int = 1
) -> LineUp:
    """The game and the policies of a command's options; raises ConfigError."""
    game = _game(settings)
    names = _per_seat(settings["policy"], game.num_players, "policy")
    people: list[int] = []
    if seats is not None:
        sitting = _per_seat(seats, game.num_players, "seats")
        people = [seat for seat, name in enumerate(sitting) if name == HUMAN]
        names = [names[s] if name == HUMAN else name for s, name in enumerate(sitting)]
    loaded = {name: load_policy(name, game) for name in dict.fromkeys(names)}
    policies: list[Policy] = [loaded[name] for name in names]
    searching: list[int] = []
    named = settings["search"]
    if named != NONE:
        search = make_search(named, settings, search_threads)
        agent = _agent(tuple(policies), game, search, settings)
        searching = _searching(
            settings["search_seats"], game.num_players, together=agent.searches_jointly
        )
        for seat in searching:
            if seat in people:
                raise ConfigError(f"search-seats must leave out seat {seat}, a person's")
            policies[seat] = agent
            names[seat] = f"{names[seat]}+{named}"
    for seat in people:
        names[seat] = HUMAN
    short = tuple(named if s in searching else name for s, name in enumerate(names))
    return LineUp(game, tuple(policies), tuple(names), short, tuple(people), tuple(searching))


def _agent(
    policies: Blueprint, game: Game, search: Any, settings: Mapping[str, Any]
) -> SearchAgent:
    """What a searching seat plays: it knows the others' policies, or learns them (--partners)."""
    doubt = {k: settings[k] for k in ("epsilon", "uncertainty") if k in settings}
    names, belief = settings.get("partners"), _belief(game, settings)
    if names is None:
        for option, usual in PARTNER_OPTIONS.items():
            if settings.get(option, usual) != usual:
                raise ConfigError(f"{option} needs partners, got {settings[option]!r}")
        return upgrade(policies, game, search, belief=belief, **doubt)
    if belief is not None:
        raise ConfigError(f"partners cannot be learned by a learned belief, got {names!r}")
    learns = not isinstance(search, WrapsBelief) or search.assumes_blueprint
    if isinstance(search, TeamSearch) or not learns:  # to whom moves are no evidence
        raise ConfigError(f"partners is not an option of {settings['search']}, got {names!r}")
    return upgrade(policies, game, search, belief=partners_of(settings, game))


def partners_of(settings: Mapping[str, Any], game: Game) -> MakeBelief:
    """What learns who the others are, from ``--partners`` and the options that belong to it."""
    names = policy_names(settings["partners"])
    candidates = load_policies(settings["partners"], game)
    favourite, prior = settings.get("favourite"), None
    if favourite is not None:
        if favourite not in names:
            raise ConfigError(f"favourite must be one of {', '.join(names)}, got {favourite!r}")
        prior = favouring(names.index(favourite), len(names))
    doubt = {k: settings[k] for k in ("epsilon", "uncertainty") if k in settings}
    likelihoods = settings.get("likelihoods", EXACT)
    if likelihoods == EXACT:
        return UnknownPartners(candidates, prior, **doubt)
    for name, value in doubt.items():
        if value != 0.0:
            raise ConfigError(f"{name} must be 0 where likelihoods are not exact, got {value}")
    return LearnedPartners(candidates, named_recogniser(likelihoods, names), prior)


def _belief(game: Game, settings: Mapping[str, Any]) -> Learned | None:
    """What --belief names; None: the game's own."""
    search, name = settings["search"], settings.get("belief")
    if name is None and search == "lbs" and settings.get("partners") is None:
        name = settings["policy"]
        if name not in belief_models():
            raise ConfigError(
                f"belief must be given where there is no model of {name}'s games: "
                f"`hanabi-search train belief --policy {name}` makes one"
            )
    if name in (None, EXACT):
        if not settings.get("explain", True):
            raise ConfigError("no-explain is an option of learned beliefs, got an exact one")
        return None
    if search not in ("sparta", "lbs"):
        raise ConfigError(f"belief is not an option of {search}, got {name!r}")
    return Learned(load_belief_model(name, game), explain=settings.get("explain", True))


def _game(settings: Mapping[str, Any]) -> Game:
    """Native Hanabi by the command's options, or a plugin's game, whose options follow its name."""
    named = settings.get("game", HANABI)
    if named == HANABI:
        return HanabiGame(**{name: settings[name] for name in _GAME if name in settings})
    for name, default in _GAME.items():
        if name in settings and settings[name] != default:
            raise ConfigError(
                f"{name.replace('_', '-')} is an option of hanabi, got {settings[name]!r} for "
                f"{named}: a plugin's own options follow its name, as in NAME:option=value"
            )
    return load_game(named)


def blueprint_of(names: str, config: HanabiConfig) -> Blueprint:
    """One policy for every seat, or one a seat, from ``--policy``."""
    parts = _per_seat(names, config.players, "policy")
    loaded = {name: load_policy(name, HanabiGame(config)) for name in dict.fromkeys(parts)}
    return tuple(loaded[name] for name in parts)


def _per_seat(text: str, players: int, parameter: str) -> list[str]:
    parts = [name.strip() for name in text.split(",")]
    if len(parts) not in (1, players):
        raise ConfigError(f"{parameter} must be one name or {players}, one a seat, got {text!r}")
    return parts * players if len(parts) == 1 else parts


def _searching(text: str | None, players: int, *, together: bool) -> list[int]:
    """The seats that search: by default seat 1, or all where they search together."""
    everybody = list(range(players))
    if text is None:
        return everybody if together else [1]
    if text == "all":
        return everybody
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) < players for part in parts):
        raise ConfigError(f"search-seats must be seats from 0 to {players - 1}, got {text!r}")
    seats = sorted({int(part) for part in parts})
    if together and seats != everybody:
        raise ConfigError(
            f"search-seats must be all {players}, which search together, got {text!r}"
        )
    return seats


# ------------------------------------------------------------------------------------- terminal


def open_console(json_file: str | None) -> Console:
    """The standard output, or the standard error where the former carries JSON."""
    return Console(stderr=json_file == "-", highlight=False)


def show_warnings(console: Console, who: LineUp | None = None) -> None:
    """Show the package's warnings, and the line-up's, on the standard error, each kind once."""
    shown: set[str] = set()

    class Once(logging.Handler):
        def emit(self, entry: logging.LogRecord) -> None:
            if str(entry.msg) not in shown:
                shown.add(str(entry.msg))
                errors.print(f"warning: {entry.getMessage()}", markup=False)

    errors = console if console.stderr else Console(stderr=True, highlight=False)
    logger = logging.getLogger("hanabi_search_plugin")
    logger.handlers = [Once(logging.WARNING)]
    logger.propagate = False
    if who is not None:
        warn_of_independent_searches(who.policies)


@contextmanager
def progress_bar(console: Console, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A function that takes how much is done, shown as a bar on a terminal and not elsewhere."""
    if not console.is_terminal:
        yield lambda done: None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)


# ---------------------------------------------------------------------------------------- files


def check_files(**files: str | Path | None) -> None:
    """Raises ConfigError for a file that cannot be written, before the work is done."""
    for option, path in files.items():
        if path is not None and str(path) != "-":
            require_writable(option, path)


def write_json(path: str | None, content: dict[str, Any]) -> None:
    """Write results to a file, whole or not at all, or to the standard output ("-")."""
    if path is None:
        return
    text = json.dumps(content, indent=2, allow_nan=False) + "\n"
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with atomic_write(path) as file:
        file.write(text.encode())


def parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A command's options as plain JSON types."""
    return {name: str(v) if isinstance(v, Path) else v for name, v in settings.items()}


def trace_lines(game: Game, result: GameResult) -> Iterator[bytes]:
    """A line for each searched decision of a game."""
    for turn, seat, decision in result.decisions:
        words = game.action_to_string(seat, decision.action)
        line = {"game": result.game, "turn": turn, "seat": seat, "words": words}
        yield json.dumps(line | decision.to_dict(), separators=(",", ":")).encode() + b"\n"


def record(who: LineUp, result: GameResult, seed: int, finished: bool = True) -> RecordedGame:
    """A game of ``seed`` as the recorded-games format has it; without a score if unfinished."""
    game = who.hanabi()
    worlds, _ = deal_game(game, seed, result.game)
    row = worlds.rows[0]  # type: ignore[attr-defined]  # HanabiGame deals HanabiWorlds
    return RecordedGame(
        config=game.config,
        game=result.game,
        deck=tuple(row[len(row) - game.config.deck_size :].tolist()),
        actions=result.actions,
        first_player=int(row[TURN]),
        score=int(result.score) if finished else None,
        lives_left=result.lives_left if finished else None,
        bomb=game.config.bomb,
        seed=seed,
        policies=who.names,
    )
