"""A client of hanab.live: a game followed by what a seat is told, and a bot that plays there."""
