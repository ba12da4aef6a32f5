"""Training of what the package learns: `hanabi-search train`."""
