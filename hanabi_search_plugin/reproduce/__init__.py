"""Published tables and figures, measured again: `hanabi-search reproduce`."""
