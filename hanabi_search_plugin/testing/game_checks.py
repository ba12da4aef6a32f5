"""``check_game``: random games, stepped in several ways that must agree."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Any

import numpy as np

from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.core.capabilities import Enumerable, PrivateTokens, Redeterminizes
from hanabi_search_plugin.core.error_places import ask_each
from hanabi_search_plugin.core.errors import (
    ContractError,
    IllegalActionError,
    UnsupportedError,
)
from hanabi_search_plugin.core.game import (
    Game,
    IntArray,
    View,
    Worlds,
    require_game,
    returns_of,
)
from hanabi_search_plugin.core.plain_game import PlainGame
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.testing.check_tools import (
    TOLERANCE,
    close_to,
    joint,
    random_legal,
    require,
    same_memory,
    seen_in,
)
from hanabi_search_plugin.testing.failures import naming_failures

Shapes = dict[tuple[int, str], tuple[int, ...]]
"""Of a row of each player's encodings."""


@naming_failures
def check_game(game: Game, *, seed: int = 0, games: int = 8) -> None:
    """Check that ``game`` keeps its contract in ``games`` games of random legal moves.

    Determinism by seed, deals in part, legal masks and IllegalActionError, copies that meet the
    same chance and leave the original alone, batch independence, views that show their seat's part
    alone in encodings of one shape, ends and returns; and where declared, ``Enumerable``,
    ``Redeterminizes`` and ``PrivateTokens``. ``public_actions=True`` is checked where chance can be
    listed: see ``_check_public``.

    Raises UnsupportedError for what is no Game, ContractError for everything else, errors that the
    game's own methods raise among them.
    """
    require_game(game)
    rng = np.random.default_rng(seed)
    shapes: Shapes = {}
    first, second = (game.deal(np.random.default_rng(seed), games) for _ in range(2))
    _check_keys(first)
    require(joint(first) == joint(second), f"{game.name}: the same seed deals other worlds")
    some = np.arange(games)[::-2]
    part = game.deal_some(np.random.default_rng(seed), games, some)
    require(
        joint(part) == joint(first.select(some)),
        f"{game.name}: deal_some must give worlds of deal",
    )
    worlds = game.deal(rng, games)
    if isinstance(game, Enumerable):
        _check_deals(game, worlds)
    for moves in range(game.max_length + 1):
        _check_position(game, worlds, shapes)
        worlds = worlds.select(np.flatnonzero(~worlds.terminal))
        if len(worlds) == 0:
            return
        require(
            moves < game.max_length,
            f"{game.name} is longer than {counted(game.max_length, 'move')}: set max_length to "
            "the most moves that a game of all players may take",
        )
        if isinstance(game, PlainGame):
            _check_values(game, worlds)
        _check_hidden(game, worlds, rng)
        if game.public_actions and isinstance(game, Enumerable):
            _check_public(game, worlds, shapes)
        worlds = _check_step(game, worlds, random_legal(worlds.legal, rng))


def _check_keys(worlds: Worlds) -> None:
    try:
        hash(tuple(joint(worlds)))
    except TypeError as error:
        raise ContractError(
            f"{worlds.game.name}: keys of views must be hashable, as those of observations that "
            f"list plain numbers are: {error}"
        ) from None


def _check_position(game: Game, worlds: Worlds, shapes: Shapes) -> None:
    """Shapes, masks, views and returns of one batch."""
    n, name = len(worlds), game.name
    current, legal, returns = worlds.current_player, worlds.legal, returns_of(worlds)
    require(current.shape == (n,), f"{name}: current_player must be [B], got {current.shape}")
    require(
        legal.shape == (n, game.num_actions) and legal.dtype == np.bool_,
        f"{name}: legal must be bool [B, A], got {legal.dtype} {legal.shape}",
    )
    require(
        np.array_equal(legal.any(axis=1), ~worlds.terminal),
        f"{name}: some move must be legal exactly where the game is not over",
    )
    movers = current[~worlds.terminal]
    require(
        bool(((movers >= 0) & (movers < game.num_players)).all()),
        f"{name}: current_player must be from 0 to {game.num_players - 1} until the game is over, "
        f"got {sorted(set(movers.tolist()))}",
    )
    low, high = game.return_range
    over = returns[worlds.terminal]
    require(
        bool(((over >= low - TOLERANCE) & (over <= high + TOLERANCE)).all()),
        f"{name}: returns must be from {low} to {high}, got {over.tolist()}",
    )
    if game.rewards == "identical":
        differ = np.ptp(over, axis=1) != 0
        require(
            not differ.any(),
            f"{name}: returns are not identical, got {over[differ][:1].tolist()}: set rewards to "
            "zero_sum or general_sum where players are paid differently",
        )
    if game.rewards == "zero_sum":
        require(
            bool((abs(over.sum(axis=1)) < 1e-6).all()),
            f"{name}: returns are not zero-sum: set rewards to general_sum where they need not be",
        )
    for p in range(game.num_players):
        view = worlds.view(p)
        _check_view(game, view, current, np.where(current[:, None] == p, legal, False))
        _check_shapes(view, shapes)


def _check_shapes(view: View, shapes: Shapes) -> None:
    """Rows of observations must have the shape that they had before, which ``shapes`` keep."""
    name = f"{view.game.name}, player {view.player}"
    for encoding in view.game.encodings:
        shape = view.observation(encoding).shape[1:]
        first = shapes.setdefault((view.player, encoding), shape)
        require(
            shape == first,
            f"{name}: a row of {encoding} must have one shape in every position, "
            f"got {first} and {shape}",
        )


def _check_view(game: Game, view: View, current: IntArray, legal: Any) -> None:
    name = f"{game.name}, player {view.player}"
    require(len(view) == len(current), f"{name}: a view must be as long as its worlds")
    require(np.array_equal(view.current_player, current), f"{name}: a view must know whose turn")
    require(
        np.array_equal(view.legal, legal), f"{name}: a view must show its own legal moves alone"
    )
    keys = view.keys()
    require(len(keys) == len(view), f"{name}: expected a key a world, got {len(keys)}")
    for encoding in game.encodings:
        seen = view.observation(encoding)
        require(len(seen) == len(view), f"{name}: {encoding} must have a row a world")
        first = {key: b for b, key in reversed(list(enumerate(keys)))}
        same = all(np.array_equal(seen[b], seen[first[key]]) for b, key in enumerate(keys))
        require(same, f"{name}: worlds with equal keys differ in the encoding {encoding}")
    try:
        view.observation("no such encoding")
    except UnsupportedError:
        return
    raise ContractError(f"{name}: an unknown encoding must raise UnsupportedError")


def _check_step(game: Game, worlds: Worlds, actions: IntArray) -> Worlds:
    """The worlds after ``actions``, stepped in several ways that must agree."""
    name, everything = game.name, np.arange(len(worlds))
    before = joint(worlds)
    kept = [worlds.view(p).select(everything) for p in range(game.num_players)]
    illegal = np.argwhere(~worlds.legal)
    if len(illegal):
        b, action = illegal[0]
        try:
            worlds.select(np.array([b])).step(np.array([action]))
        except IllegalActionError:
            pass
        else:
            raise ContractError(f"{name}: action {action} is not legal but can be played")
    copy, other = worlds.select(everything), worlds.select(everything)
    event = copy.step(actions)
    require(
        np.array_equal(event.player, worlds.current_player)
        and np.array_equal(event.action, actions),
        f"{name}: step must return who moved and how",
    )
    require(joint(worlds) == before, f"{name}: stepping a copy changed the original")
    other.step(actions)
    after, returns = joint(copy), returns_of(copy)
    require(joint(other) == after, f"{name}: copies of a world met different chance")
    for b in everything:
        alone = worlds.select(np.array([b]))
        alone.step(actions[[b]])
        require(
            joint(alone) == [after[b]] and np.array_equal(alone.returns[0], returns[b]),
            f"{name}: a world goes another way alone than in a batch",
        )
    if isinstance(game, Enumerable):
        _check_branch(game, worlds, actions, after)
    worlds.step(actions)
    shown = list(zip(*(seen_in(view) for view in kept), strict=True))
    require(shown == before, f"{name}: a selected view changed when its worlds were stepped")
    return worlds


def _check_values(game: PlainGame, worlds: Worlds) -> None:
    """States are values, which ``next_states`` leaves as they are, and answers always alike."""
    states = worlds.states  # type: ignore[attr-defined]  # a PlainGame deals StateWorlds
    for state, legal in zip(states, worlds.legal, strict=True):
        for action in np.flatnonzero(legal).tolist():
            first, second = (
                ask_each(game, "next_states", game.next_states, [copy.deepcopy(state)], [action])
                for _ in range(2)
            )
            require(
                same_memory(first, second),
                f"{type(game).__name__}.next_states must answer alike whenever it is asked, and "
                f"list what chance may do with its probabilities: in {state!r}, after action "
                f"{action}, it gave {first[0]!r} and then {second[0]!r}",
            )
    for state, action in zip(states, worlds.legal.argmax(axis=1).tolist(), strict=True):
        before = copy.deepcopy(state)
        ask_each(game, "next_states", game.next_states, [state], [action])
        require(
            same_memory(state, before),
            f"{type(game).__name__}.next_states must give new states, and has changed the one that "
            f"it was given: {before!r} is {state!r} after action {action}",
        )


def _check_deals(game: Enumerable, dealt: Worlds) -> None:
    try:
        worlds, chance = game.deals()
    except UnsupportedError:
        return  # more deals than the game lists
    total = float(chance.sum())
    require(abs(total - 1) < TOLERANCE, f"{game.name}: deals have probability {total}, not 1")
    require(set(joint(dealt)) <= set(joint(worlds)), f"{game.name}: a deal is missing from deals()")


def _check_branch(
    game: Enumerable, worlds: Worlds, actions: IntArray, after: list[tuple[Hashable, ...]]
) -> None:
    before = joint(worlds)
    children, parent, chance = game.branch(worlds, actions)
    require(joint(worlds) == before, f"{game.name}: branch changed its worlds")
    total = np.bincount(parent, weights=chance, minlength=len(worlds))
    require(
        bool((abs(total - 1) < TOLERANCE).all()),
        f"{game.name}: the branches of a world must have probability 1, got {total.tolist()}",
    )
    found = set(zip(parent.tolist(), joint(children), strict=True))
    require(
        all((b, key) in found for b, key in enumerate(after)),
        f"{game.name}: a step led to a world that branch does not list",
    )
    again = game.concat([children, game.reseed(worlds, np.random.default_rng(0))])
    require(
        joint(again) == joint(children) + before,
        f"{game.name}: concat and reseed must keep the worlds and their order",
    )


def _check_public(game: Enumerable, worlds: Worlds, shapes: Shapes) -> None:
    """Different public actions must not look the same to another player.

    Those that change nothing for anybody may, except in a ``PlainGame``, whose views must show what
    is public. Where the game ends nobody needs to tell them apart.
    """
    row, action = np.nonzero(worlds.legal)
    children, parent, chance = game.branch(worlds.select(row), action)
    effects: list[dict[Any, float]] = [{} for _ in row]
    for i, shown, share in zip(parent.tolist(), joint(children), chance.tolist(), strict=True):
        effects[i][shown] = effects[i].get(shown, 0.0) + share
    on = np.flatnonzero(~children.terminal)
    if len(on) == 0:
        return
    children, parent = children.select(on), parent[on]
    movers = worlds.current_player[row]
    for p in range(game.num_players):
        _check_shapes(children.view(p), shapes)
        seen: dict[tuple[int, Hashable], int] = {}
        for i, key in zip(parent.tolist(), children.view(p).keys(), strict=True):
            j = seen.setdefault((int(row[i]), key), i)
            harmless = not isinstance(game, PlainGame) and close_to(effects[i], effects[j])
            require(
                movers[i] == p or action[i] == action[j] or harmless,
                f"{game.name}: public_actions must be False, or player {p} must see whether player "
                f"{movers[i]} played {action[j]} or {action[i]}",
            )


def _check_hidden(game: Game, worlds: Worlds, rng: np.random.Generator) -> None:
    """Resampling what a player cannot see must not change what it sees."""
    before = joint(worlds)
    for p in range(game.num_players):
        seen = list(worlds.view(p).keys())
        if isinstance(game, Redeterminizes):
            drawn = game.redeterminize(worlds, p, Streams.spawn(rng, len(worlds)))
            require(
                list(drawn.view(p).keys()) == seen,
                f"{game.name}: redeterminize changed what player {p} sees",
            )
    if isinstance(game, PrivateTokens):
        for factor in range(game.num_factors):
            tokens = game.private_tokens(worlds, factor)
            streams = Streams.spawn(rng, len(worlds))
            same, possible = game.with_private(worlds, factor, tokens, streams)
            require(
                bool(possible.all()) and joint(same) == before,
                f"{game.name}: with_private and the tokens of now must change nothing",
            )
        for p in range(game.num_players):
            _check_tokens(game, worlds, p, rng)
    require(joint(worlds) == before, f"{game.name}: resampling changed the original worlds")


def _check_tokens(
    game: PrivateTokens, worlds: Worlds, player: int, rng: np.random.Generator
) -> None:
    """What is drawn by ``token_weights`` must be possible, and the truth among it."""
    if len(game.hidden(player)) == 0:
        return
    view, truth = worlds.view(player), game.hidden_tokens(worlds, player)
    require(
        bool(game.agrees(view, truth).all()),
        f"{game.name}: token_weights leave out what is hidden from player {player}",
    )
    for b in range(len(worlds)):
        one = view.select(np.array([b]))
        tokens = Grounded(game).sample(one, None, rng, 1)
        made = game.worlds_of(one, tokens, Streams.spawn(rng, 1))
        require(
            game.hidden_tokens(made, player).tolist() == tokens.tolist()
            and list(made.view(player).keys()) == list(one.keys()),
            f"{game.name}: worlds_of must show player {player} what it sees and hide the tokens",
        )
