"""The command line ``hanabi-search``: what it takes, what each command does, what it prints."""

from hanabi_search_plugin.cli.command_line import app, main

__all__ = ["app", "main"]
