"""The same game of Hanabi in OpenSpiel and in the native engine, compared move by move."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python.observation import make_observation

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

Style = Literal["any", "careful"]


def openspiel_parameters(config: HanabiConfig) -> dict[str, Any]:
    """The parameters of OpenSpiel's hanabi that make it the same game (but for ``bomb``)."""
    return {
        "players": config.players,
        "colors": config.colors,
        "ranks": config.ranks,
        "hand_size": config.hand_size,
        "max_information_tokens": config.information_tokens,
        "max_life_tokens": config.life_tokens,
        "random_start_player": config.random_start_player,
        "observation_type": config.observation_type,
    }


@functools.lru_cache(maxsize=64)
def load(config: HanabiConfig) -> tuple[Any, Any, HanabiGame]:
    """OpenSpiel's game, its observer, and ours."""
    game = pyspiel.load_game("hanabi", openspiel_parameters(config))
    return game, make_observation(game), HanabiGame(config)


def random_config(rng: np.random.Generator) -> HanabiConfig:
    """A standard game in one of four cases, else any configuration within the ranges."""
    kinds = ("minimal", "card_knowledge", "seer")
    players = int(rng.integers(2, 6))
    common: dict[str, Any] = {
        "players": players,
        "observation_type": kinds[rng.integers(3)],
        "random_start_player": bool(rng.integers(2)),
    }
    if rng.random() < 0.25:
        return HanabiConfig(**common)
    colors, ranks = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    largest = HanabiConfig(players=2, colors=colors, ranks=ranks, hand_size=1).deck_size // players
    if largest == 0:
        return random_config(rng)
    return HanabiConfig(
        colors=colors,
        ranks=ranks,
        hand_size=int(rng.integers(1, min(8, largest) + 1)),
        information_tokens=int(rng.integers(0, 11)),
        life_tokens=int(rng.integers(1, 6)),
        **common,
    )


def compare_game(config: HanabiConfig, seed: int, style: Style) -> int:
    """Play one random game in both and compare all there is, for every player at every step.

    ``style`` "careful" avoids losing lives, so that games reach their later parts. Returns the
    number of moves. Raises AssertionError naming what differs.
    """
    theirs, observer, game = load(config)
    rng = np.random.default_rng(seed)
    deck = rng.permutation(np.repeat(np.arange(game.vocabulary), config.copies * config.colors))
    state = theirs.new_initial_state()
    dealt = _deal(state, deck, 0)
    worlds = game.from_decks(deck[None], state.current_player())
    rows, legal, players, returns = [worlds.rows.copy()], [], [], []
    tensors: list[list[NDArray[np.float32]]] = []
    while True:
        legal.append(state.legal_actions() if not state.is_terminal() else [])
        players.append(-1 if state.is_terminal() else state.current_player())
        returns.append(state.returns())
        tensors.append([_tensor(observer, state, p) for p in range(config.players)])
        if state.is_terminal():
            break
        action = _choose(state, legal[-1], style, rng)
        state.apply_action(action)
        rewards = state.rewards()
        dealt = _deal(state, deck, dealt)
        before = worlds.returns
        event = worlds.step(np.array([action]))
        assert event.player[0] == players[-1] and event.action[0] == action
        assert (worlds.returns - before)[0].tolist() == rewards, "rewards"
        rows.append(worlds.rows.copy())
    _compare(HanabiWorlds(game, np.concatenate(rows)), players, legal, returns, tensors)
    return len(rows) - 1


def _deal(state: Any, deck: NDArray[np.int64], dealt: int) -> int:
    while state.is_chance_node() and not state.is_terminal():
        state.apply_action(int(deck[dealt]))
        dealt += 1
    return dealt


def _tensor(observer: Any, state: Any, player: int) -> NDArray[np.float32]:
    observer.set_from(state, player)
    return np.array(observer.tensor)


def _choose(state: Any, legal: list[int], style: Style, rng: np.random.Generator) -> int:
    order: list[int] = rng.permutation(legal).tolist()
    if style == "careful":
        for action in order:
            child = state.child(action)
            if child.rewards()[0] > 0 or _lives(child) == _lives(state):
                return action
    return order[0]


def _lives(state: Any) -> str:
    return str(state).partition("\n")[0]  # "Life tokens: 3"


def _compare(
    worlds: HanabiWorlds,
    players: list[int],
    legal: list[list[int]],
    returns: list[list[float]],
    tensors: list[list[NDArray[np.float32]]],
) -> None:
    """All steps of one game at once: the native engine sees them as a batch."""
    assert worlds.current_player.tolist() == players, "current player"
    assert [np.flatnonzero(row).tolist() for row in worlds.legal] == legal, "legal moves"
    assert worlds.returns.tolist() == returns, "returns"
    assert worlds.terminal.tolist() == [player == -1 for player in players], "ends"
    for player in range(worlds.game.num_players):
        expected = np.array([step[player] for step in tensors])
        view = worlds.view(player)
        assert np.array_equal(view.observation("openspiel"), expected), f"observation of {player}"
        packed = np.packbits(expected.astype(np.uint8), axis=1)
        assert np.array_equal(view.observation("packed"), packed), f"packed bits of {player}"
        mine = [
            moves if mover == player else [] for mover, moves in zip(players, legal, strict=True)
        ]
        assert [np.flatnonzero(row).tolist() for row in view.legal] == mine, "legal in the view"
