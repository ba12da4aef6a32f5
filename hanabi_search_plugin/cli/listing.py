"""``hanabi-search list``: what can be named; ``list NAME``: all about one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hanabi_search_plugin import plugins
from hanabi_search_plugin.cli.games import DPOMDP, HANABI, OPENSPIEL
from hanabi_search_plugin.cli.option_names import among
from hanabi_search_plugin.cli.own_games import OWN_GAMES
from hanabi_search_plugin.cli.plain_text import printable
from hanabi_search_plugin.cli.searches import SEARCHES
from hanabi_search_plugin.cli.terminal import show_warnings
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.near_names import did_you_mean
from hanabi_search_plugin.core.require import unknown
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.hanabi.bots.scores import self_play_scores
from hanabi_search_plugin.named_beliefs import EXACT, GROUNDED
from hanabi_search_plugin.named_searches import NONE
from hanabi_search_plugin.networks.catalogue import belief_models, network_models, own_beliefs
from hanabi_search_plugin.registry import Entry, bidders, networks, policies

HERE, PLUGIN = "this package", "plugin: "


@dataclass(frozen=True)
class Listed:
    """One thing that can be named."""

    kind: str
    name: str
    what: str
    source: str
    options: Mapping[str, str] = field(default_factory=dict)  # default and meaning
    figures: Sequence[str] = ()  # what was measured
    between: str = ":"  # how an option follows the name


def list_names(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Say all about this one: options, source, measured scores.",
            autocompletion=among(lambda: dict.fromkeys(one.name for one in listed())),
        ),
    ] = None,
) -> None:
    """Print a line for each name, or all about one."""
    console = Console(highlight=False)
    show_warnings(console)
    everything = list(listed())
    if name is not None and (theirs := list(_of_openspiel(name))):
        for one in theirs:
            _print_whole(console, one)
        return
    if name is None:
        _print_lines(console, everything)
        return
    found = [one for one in everything if one.name.split(":")[0] == name.split(":")[0]]
    if not found:
        raise unknown("name", name, dict.fromkeys(one.name for one in everything))
    for one in found:
        _print_whole(console, one)


def listed() -> Iterator[Listed]:
    """All that can be named, kind by kind."""
    entries = policies()
    for entry in entries:
        yield _policy("policy", entry, _scores(entry.name))
    yield Listed("policy", "openspiel:NAME", "a registered bot of OpenSpiel, any game", "OpenSpiel")
    yield from (_policy("policy", entry, ()) for entry in bidders())
    own = [entry.name for entry in (*entries, *networks(), *bidders())]
    yield from _plugins("policy", own)
    for entry in networks():
        yield _policy("network", entry, _network_scores(entry.name))
    for search in SEARCHES.values():
        options = {name.replace("_", "-"): str(one) for name, one in search.settings.items()}
        yield Listed("search", search.name, search.what, search.source, options, between="--")
    yield Listed("search", NONE, "the policies as they are", HERE)
    yield from _plugins("search", [*SEARCHES, NONE])
    yield Listed("belief", EXACT, "every world, by Bayes' rule", HERE)
    drawn = {"particles": "default 1000: how many", "seed": "default 0: decides on all chance"}
    yield Listed(
        "belief", "particles", "worlds drawn, where they are too many to list", HERE, drawn
    )
    hands = {"proposals": "default 2048: hands of the seat that is drawn first"}
    hands |= {"around": "default 1024: deals of the other hands, around those kept"}
    hands |= {"exchanges": "default 24: of two tokens, where worlds are alike"}
    hands |= {"uncertainty": "default 0.001: weight of worlds that do not explain a move"}
    yield Listed("belief", "seatwise", "hidden hands, one seat after another", HERE, hands)
    dealt = {"proposals": "default 256: deals that the others' moves are weighed on"}
    dealt |= {"uncertainty": "default 0.001: weight of deals that do not explain a move"}
    yield Listed("belief", "redealt", "other deals of a card game", "OpenSpiel", dealt)
    yield Listed("belief", GROUNDED, "what hints and visible cards allow, by copies left", HERE)
    for name, about in belief_models().items():
        figures = [_belief_figure(model, model) for model in about["models"]]
        yield Listed("belief", name, about["description"], HERE, figures=figures)
    for name in own_beliefs():
        models = [model for model in network_models()[name]["models"] if "own_belief" in model]
        figures = [_belief_figure(model, model["own_belief"]) for model in models]
        what = "what the network itself believes of each card"
        yield Listed("belief", name, what, HERE, figures=figures)
    yield Listed("game", HANABI, "native Hanabi, set by options of the commands", HERE)
    yield Listed("game", f"{OPENSPIEL}NAME", "a game of OpenSpiel: 'NAME(players=3)'", "OpenSpiel")
    yield Listed("game", f"{DPOMDP}FILE", "a .dpomdp file: 'FILE(horizon=4,discount=1)'", HERE)
    for game in OWN_GAMES.values():
        options = {name: str(option) for name, option in game.options.items()}
        yield Listed("game", game.name, game.description, HERE, options)
    yield from _plugins("game", [HANABI, *OWN_GAMES])


def _of_openspiel(name: str) -> Iterator[Listed]:
    """OpenSpiel's game and its bot of that name, with or without the prefix.

    Raises ConfigError for a name with the prefix that OpenSpiel does not have.
    """
    import pyspiel

    short = name.removeprefix(OPENSPIEL).partition("(")[0]
    if short in (HANABI, "NAME") and name != f"{OPENSPIEL}{HANABI}":
        return
    games = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if short in games:
        kind = games[short]
        least, most = kind.min_num_players, kind.max_num_players
        players = counted(least, "player") if least == most else f"{least} to {most} players"
        dynamics = kind.dynamics.name.lower()
        paid = kind.utility.name.lower().replace("_", " ")
        yield Listed(
            "game",
            f"{OPENSPIEL}{short}",
            f"a game of OpenSpiel: {kind.long_name}, {players}, {paid}, {dynamics}",
            "OpenSpiel",
            {key: "" for key in sorted(kind.parameter_specification)},
            between="(",
        )
    bots = pyspiel.registered_bots()
    if short in bots:
        yield Listed("policy", f"{OPENSPIEL}{short}", "a registered bot of OpenSpiel", "OpenSpiel")
    elif short not in games and name.startswith(OPENSPIEL):
        meant = did_you_mean(short, [*games, *bots], before=OPENSPIEL)
        raise ConfigError(f"OpenSpiel has no game or bot {short!r}{meant}")


def _policy(kind: str, entry: Entry, figures: Sequence[str]) -> Listed:
    return Listed(kind, entry.name, entry.description, entry.source, entry.options, figures)


def _plugins(kind: plugins.Kind, own: Sequence[str]) -> Iterator[Listed]:
    for one in plugins.working(kind, own):
        options = {name: str(option) for name, option in one.options.items()}
        yield Listed(kind, one.name, one.description, f"{PLUGIN}{one.source}", options)


def _scores(name: str) -> list[str]:
    """Means in self-play, both conventions of the last life."""
    rows = self_play_scores().get(name, {})
    return [
        f"{players} players: mean {rows[players]['zero'][0]:.2f} in self-play, "
        f"{rows[players]['keep'][0]:.2f} where a lost game keeps its points"
        for players in sorted(rows)
    ]


def _network_scores(name: str) -> list[str]:
    """The games that a network was trained for, and its means there."""
    return [
        f"{_game(model)}: mean {model['self_play']['zero'][0]:.2f} in self-play, "
        f"{model['self_play']['keep'][0]:.2f} where a lost game keeps its points"
        for model in network_models().get(name, {}).get("models", ())
    ]


def _belief_figure(model: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    nats = f"{found['cross_entropy']:.2f} nats a card, grounded {found['grounded']:.2f}"
    return f"{_game(model)}: {nats}"


def _game(model: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in model["config"].items())


def _print_lines(console: Console, everything: Sequence[Listed]) -> None:
    for kind in dict.fromkeys(one.kind for one in everything):
        table = Table(box=None, padding=(0, 2, 0, 0))
        table.add_column(kind, no_wrap=True)
        table.add_column("what it is", overflow="fold")
        for one in everything:
            if one.kind == kind:
                whose = f" ({one.source})" if one.source.startswith(PLUGIN) else ""
                table.add_row(_plain(one.name), _plain(one.what + whose))
        console.print(table)
        console.print()
    console.print("`hanabi-search list NAME` has the options, sources and scores of one of them.")


_OPTIONS = {
    ":": "options, after the name as NAME:OPTION=VALUE:",
    "--": "options:",
    "(": "parameters, after the name as 'NAME(PARAMETER=VALUE)':",
}


def _print_whole(console: Console, one: Listed) -> None:
    say: Callable[[str], None] = lambda text: console.print(_plain(text), soft_wrap=True)  # noqa: E731
    say(f"{one.name}, a {one.kind}: {one.what}")
    say(f"source: {one.source}")
    for text in one.figures:
        say(f"  {text}")
    if one.options:
        say(_OPTIONS[one.between])
    sign = "" if one.between == "(" else one.between
    for name, text in one.options.items():
        say(f"  {sign}{name}  {text}".rstrip())
    console.print()


def _plain(text: str) -> Text:
    """Another's words: no markup, of docstrings neither; nothing that a terminal would obey."""
    bare = re.sub(r":[\w:]+:`~?([^`]*)`", r"\1", text).replace("``", "")
    return Text(printable(bare), overflow="fold")
