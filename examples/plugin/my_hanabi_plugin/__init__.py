"""A game, a policy and a search of one's own, by name in hanabi-search-plugin."""
