"""Play games for a belief model to learn from: what each seat saw, and the hidden cards.

Letters: G games, T steps, S sequences (one seat of one game), D decisions, N numbers of an
observation, K tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.beliefs.belief_model import weights_along
from hanabi_search_plugin.core.capabilities import PrivateTokens
from hanabi_search_plugin.core.game import PAD, FloatArray, IntArray
from hanabi_search_plugin.core.policy import Blueprint, take
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.networks.encodings.featurizers import Featurizer


@dataclass(frozen=True)
class BeliefExamples:
    """S sequences of observations, and the D decisions in them, in any order."""

    seen: NDArray[Any]  # [T, S, N] zeros past the end of a game
    step: IntArray  # [D] time step of the decision
    sequence: IntArray  # [D] its sequence
    tokens: NDArray[np.int16]  # [D, K] the hidden cards
    weights: NDArray[np.float16]  # [D, K, V] weights of tokens by the observation alone
    scores: FloatArray  # [G]

    @property
    def sequences(self) -> int:
        return int(self.seen.shape[1])


def play_belief_games(
    game: PrivateTokens,
    blueprint: Blueprint,
    featurizer: Featurizer,
    games: int,
    rng: np.random.Generator,
) -> BeliefExamples:
    """Play ``games`` games of the blueprint; every seat of a game is a sequence.

    Takes the deals and G streams from ``rng``.
    """
    worlds, players = game.deal(rng, games), game.num_players
    played = self_play(worlds, blueprint, Streams.spawn(rng, games))
    length = played.actions.shape[1]
    rows: list[tuple[NDArray[Any], ...]] = []
    seen: NDArray[Any] | None = None
    alive = np.arange(games)
    worlds = worlds.select(alive)
    memories = [featurizer.start(worlds.view(p)) for p in range(players)]
    for t in range(length):
        mover = worlds.current_player
        for p in range(players):
            view = worlds.view(p)
            numbers = featurizer.numbers(view, memories[p])
            if seen is None:
                seen = np.zeros((length, games * players, *numbers.shape[1:]), numbers.dtype)
            seen[t, alive * players + p] = numbers
            mine = np.flatnonzero(mover == p)
            if len(mine):
                tokens = game.hidden_tokens(worlds.select(mine), p)
                weights = weights_along(game, view.select(mine), tokens)
                at = np.full(len(mine), t), alive[mine] * players + p
                rows.append((*at, tokens.astype(np.int16), weights.astype(np.float16)))
        event = worlds.step(played.actions[alive, t])
        on = np.flatnonzero(~worlds.terminal)
        alive, worlds, event = alive[on], worlds.select(on), event.select(on)
        memories = [
            featurizer.observe(worlds.view(p), event.seen_by(p, game), take(memories[p], on))
            for p in range(players)
        ]
    assert seen is not None
    step, sequence, hidden, known = map(np.concatenate, zip(*rows, strict=True))
    return BeliefExamples(seen, step, sequence, hidden, known, played.returns[:, 0])


def batch_of(parts: Sequence[BeliefExamples], chosen: IntArray) -> BeliefExamples:
    """The sequences numbered ``chosen`` [S], without repeats, counted through all ``parts``."""
    starts = np.cumsum([0] + [part.sequences for part in parts])
    length = max(len(part.seen) for part in parts)
    first = parts[0].seen
    seen = np.zeros((length, len(chosen), *first.shape[2:]), first.dtype)
    rows: list[tuple[NDArray[Any], ...]] = []
    for part, start in zip(parts, starts[:-1], strict=True):
        column = np.flatnonzero((chosen >= start) & (chosen < start + part.sequences))
        inside = chosen[column] - start
        seen[: len(part.seen), column] = part.seen[:, inside]
        where = np.full(part.sequences, PAD)
        where[inside] = column
        these = np.flatnonzero(where[part.sequence] != PAD)
        rows.append(
            (part.step[these], where[part.sequence[these]], part.tokens[these], part.weights[these])
        )
    step, sequence, tokens, weights = map(np.concatenate, zip(*rows, strict=True))
    seen = seen[: int(step.max(initial=0)) + 1]
    return BeliefExamples(seen, step, sequence, tokens, weights, np.zeros(0))
