"""``python -m hanabi_search_plugin`` is ``hanabi-search``."""

from hanabi_search_plugin.cli import main

main()
