"""``hanabi-search list``: what can be named, and whose it is."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hanabi_search_plugin import plugins
from hanabi_search_plugin.cli.fitted_table import FittedTable
from hanabi_search_plugin.cli.games import HANABI
from hanabi_search_plugin.cli.searches import NONE, SEARCHES
from hanabi_search_plugin.cli.terminal import show_warnings
from hanabi_search_plugin.hanabi.bots.scores import self_play_scores
from hanabi_search_plugin.networks.catalogue import EXACT, GROUNDED, belief_models, network_models
from hanabi_search_plugin.registry import networks, policies


def list_names() -> None:
    """Print tables of policies, networks, searches, beliefs and games."""
    console = Console(highlight=False)
    show_warnings(console)
    table = _names_table("policy")
    for entry in policies():
        options = "".join(f"\n  :{name}  {text}" for name, text in entry.options.items())
        table.add_row(entry.name, entry.description + options, entry.source)
    _add_plugins(table, "policy", [entry.name for entry in (*policies(), *networks())])
    console.print(table)
    console.print()
    console.print(_self_play_table())
    console.print()
    console.print(_networks_table())
    console.print()
    table = _names_table("search")
    for search in SEARCHES.values():
        table.add_row(search.name, search.what, search.source)
    table.add_row(NONE, "the policies as they are", "")
    _add_plugins(table, "search", [*SEARCHES, NONE])
    console.print(table)
    console.print()
    table = _names_table("belief")
    table.add_row(EXACT, "every world, by Bayes' rule; of the game itself", "this package")
    table.add_row(GROUNDED, "what hints and visible cards allow, by copies left", "this package")
    for name, about in belief_models().items():
        lines = [about["description"]]
        for model in about["models"]:
            game = ", ".join(f"{key} {value}" for key, value in model["config"].items())
            both = f"{model['cross_entropy']:.2f}, grounded {model['grounded']:.2f}"
            lines.append(f"  {game}: {both} nats a card")
        table.add_row(name, "\n".join(lines), "this package")
    console.print(table)
    console.print()
    table = _names_table("game")
    table.add_row(HANABI, "native Hanabi, set by options of the commands", "this package")
    _add_plugins(table, "game", [HANABI])
    console.print(table)


def _names_table(kind: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in (kind, "what it is", "source"):
        table.add_column(heading, overflow="fold")  # addresses are longer than narrow columns
    return table


def _add_plugins(table: Table, kind: plugins.Kind, own: Sequence[str]) -> None:
    for plugin in plugins.working(kind, own):
        options = "".join(f"\n  :{name}  {text}" for name, text in plugin.options.items())
        what = Text(plugin.description + options)  # another's words: no markup
        table.add_row(plugin.name, what, f"plugin: {plugin.source}")


def _networks_table() -> Table:
    """Networks, the games they were trained for, and their mean scores in these."""
    table = _names_table("network")
    for entry in networks():
        lines = [entry.description]
        for model in network_models().get(entry.name, {}).get("models", ()):
            game = ", ".join(f"{name} {value}" for name, value in model["config"].items())
            (zero, _), (keep, _) = model["self_play"]["zero"], model["self_play"]["keep"]
            lines.append(f"  {game}: {zero:.2f} / {keep:.2f}")
        lines += [f"  :{name}  {text}" for name, text in entry.options.items()]
        table.add_row(entry.name, "\n".join(lines), entry.source)
    return table


def _self_play_table() -> FittedTable:
    """Means of the policies by themselves, both conventions of the last life."""
    scores = self_play_scores()
    rows = []
    for entry in policies():
        found = scores.get(entry.name, {})
        cells = [f"{found[p]['zero'][0]:.2f} / {found[p]['keep'][0]:.2f}" for p in sorted(found)]
        rows.append((entry.name, *cells))
    return FittedTable(
        ("policy", *(f"{players} players" for players in (2, 3, 4, 5))),
        rows,
        title="mean scores in self-play: a lost game counts nothing / keeps its points",
    )
