"""Games of PettingZoo's Hanabi environments, theirs and ours, on decks of one's choice."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import shimmy.openspiel_compatibility as shimmy
from numpy.typing import NDArray

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # a hint at another way to make environments
    from pettingzoo.classic import hanabi_v5

SMALL = {"colors": 2, "hand_size": 2, "max_information_tokens": 3, "max_life_tokens": 1}


class Deck:
    """Stands in for the generator that draws hanabi_v5's cards."""

    def __init__(self, cards: NDArray[np.int64]) -> None:
        self.left = cards.tolist()

    def choice(self, cards: tuple[int, ...], p: Any) -> int:
        card: int = self.left.pop(0)
        assert card in cards
        return card


def deck_of(config: HanabiConfig, rng: np.random.Generator) -> NDArray[np.int64]:
    identities = np.arange(config.colors * config.ranks)
    return rng.permutation(np.repeat(identities, config.copies * config.colors))


def theirs(
    monkeypatch: pytest.MonkeyPatch,
    deck: NDArray[np.int64],
    *,
    raw: bool = False,
    **parameters: Any,
) -> Any:
    """hanabi_v5's environment, dealt from ``deck``."""
    monkeypatch.setattr(shimmy.seeding, "np_random", lambda seed: (Deck(deck), 0))
    env = (hanabi_v5.raw_env if raw else hanabi_v5.env)(**parameters)
    env.reset()
    return env


def play_random(env: Any, seed: int) -> Iterator[int]:
    """Play random legal moves to the end, handing out each before it is played."""
    rng = np.random.default_rng(seed)
    while not any(env.terminations.values()):
        action = int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"])))
        yield action
        env.step(action)
