"""Print the table of speeds: the same as ``hanabi-search bench``."""

from rich.console import Console

from hanabi_search_plugin.cli.bench import run

if __name__ == "__main__":
    run(Console(highlight=False))
