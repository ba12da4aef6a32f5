"""A game as one JSON document: what was on the table, seen, believed and searched at each turn.

The page that shows a game (``rendering.game_page``) reads nothing else. Cards are named by their
*order*, the place in the deck at which they were dealt, from 0; identities are ranks * colour +
rank; slots, seats and turns count from 0, the oldest card first. Keys of the document:

* ``format``: FORMAT;
* ``config``: the sizes of the game, ``copies`` of each rank among them;
* ``game``, ``seed``: the number in its file and what dealt it, or None;
* ``players``: names, one a seat, "" where not recorded;
* ``searched``: for each seat whether it has searched, so that its moves tell others nothing;
* ``policies``: the names of the policies by which beliefs explain moves, or which the seats are
  said to play, one a seat; None: not said;
* ``belief``: of what ``kind`` beliefs are: "exact", given ``policies``; "hints", by hints and
  copies alone; or "model": then the ``name`` of the model, whose games it has learned (``policy``;
  None: nobody's, or it is not known) and the ``samples`` it was asked for; else these are None;
* ``seat``: whose eyes the document is for; None: everybody's, and nothing is left out;
* ``score``, ``finished``: at the end; the score is None where it is neither recorded nor certain;
* ``worth``: what the score is worth by the objective of an analysis; None: not analysed;
* ``actions``: what each action id does, as ``text.action_to_dict`` says it;
* ``cards``: the identity of each card dealt, by order; None: ``seat`` never saw it;
* ``turns``: the position before each move, and the last one. Of each:

  * ``mover``: the seat to move; None: the game is over;
  * ``points``, ``possible`` (the points that discards still allow), ``information``, ``lives``,
    ``deck`` (cards left), ``fireworks`` (a height a colour);
  * ``discards``: orders of discarded and misplayed cards, the first first;
  * ``hands``: for each seat the orders of its cards;
  * ``hints``: for each card of each hand [colours, ranks, told]: masks of what hints leave
    possible, and 1 where a colour was told, plus 2 where a rank was;
  * ``beliefs``: for each seat None, or ``slots`` (for each card the probability of every identity),
    ``hands`` (in the support, or an upper bound; None: a model's), ``exact``, and ``recovered``:
    how often no hand explained the partners' moves and their evidence was dropped;
  * ``move``: None at the end, else ``action``, ``card`` (order; None for a hint), ``scored`` (None
    for all but plays) and ``touched`` (orders);
  * ``search``: None, or ``action``, ``blueprint_action``, ``gain``, ``gain_stderr``, ``reason``,
    ``belief_size``, ``depth`` and ``note`` as a ``SearchResult`` has them, None where they were not
    recorded, and ``moves``: for each legal move ``action``, ``mean`` (expected score), ``stderr``,
    ``count`` (rollouts) and ``dropped`` (True where the search gave it up early). Where the game
    was analysed after it was played, ``action`` is the best move found, and ``lost``,
    ``lost_stderr`` and ``mistake`` are as an ``AnalysedTurn`` has them; else these are None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT, LIVES
from hanabi_search_plugin.hanabi.engine.text import action_in_words, action_to_dict, why_illegal
from hanabi_search_plugin.hanabi.files.annotated_games import AnnotatedGame, SearchedTurn
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.files.shown_beliefs import (
    DIGITS,
    EXACT,
    HINTS,
    HandMinds,
    Minds,
    ModelBeliefs,
    ModelMinds,
    describe_kind,
)
from hanabi_search_plugin.hanabi.files.table_positions import TablePositions
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

FORMAT = "hanabi-search-plugin game 1"


def game_document(
    game: AnnotatedGame,
    blueprint: Blueprint | None = None,
    names: Sequence[str] | None = None,
    *,
    beliefs: Sequence[list[dict[str, Any]]] | None = None,
    model: ModelBeliefs | None = None,
    on_turn: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """The document of a recorded game, for everybody's eyes.

    Each seat's belief is exact, given that the others play ``blueprint``, whose ``names`` are one a
    seat; the moves of seats that have searched are no evidence, and without a blueprint no move
    is. ``beliefs`` of every turn, as ``describe_beliefs`` has them, stand in place of these, and
    then ``names`` say who the others were taken to be; or those of a ``model``, and then ``names``
    say who plays. ``on_turn`` hears how many turns are done. Raises RecordError for an illegal
    move, UnsupportedError for a model of another game.
    """
    record = game.record
    rules, worlds = first_position(record)
    config = rules.config
    searched = _searching(game) if beliefs is None else [False] * config.players
    table = TablePositions(rules)
    minds: Minds | None = None
    if model is not None:
        minds = ModelMinds(rules, worlds, model)
    elif beliefs is None:
        minds = HandMinds(rules, worlds, blueprint, searched)
    kind = HINTS if beliefs is None and blueprint is None else EXACT
    turns = []
    for number, action in enumerate([*record.actions, None]):
        turn = table.position(worlds.rows[0])
        if minds is not None:
            seen = minds.beliefs(number, [len(hand) for hand in turn["hands"]])
        else:
            seen = beliefs[number] if beliefs else []
        turn |= {"beliefs": seen, "move": None, "search": None}
        turns.append(turn)
        if action is None:
            break
        require_legal(record, worlds, number, action)
        event = worlds.step(np.array([action]))
        turn["move"] = table.moved(worlds.rows[0], turn["mover"], action)
        if number in game.decisions:
            turn["search"] = describe_search(game.decisions[number])
        if minds is not None:
            minds.observe(event)
        if on_turn is not None:
            on_turn(number + 1)
    finished = turns[-1]["mover"] is None
    return {
        "format": FORMAT,
        "config": sizes_of(config),
        "game": record.game,
        "seed": record.seed,
        "players": list(record.policies or [""] * config.players),
        "searched": searched,
        "policies": list(names or map(repr, blueprint or ())) or None,
        "belief": describe_kind(model, kind),
        "seat": None,
        "score": _score(record, worlds, finished),
        "finished": finished,
        "worth": game.worth,
        "actions": [action_to_dict(config, action) for action in range(config.num_actions)],
        "cards": list(record.deck[: int(worlds.rows[0, DECK_NEXT])]),
        "turns": turns,
    }


def as_seen_by(document: dict[str, Any], seat: int) -> dict[str, Any]:
    """The document with nothing in it that ``seat`` did not see or know by its last turn.

    The cards that it holds at the end are left out, and so are the others' beliefs and searches.
    """
    held = document["turns"][-1]["hands"][seat]
    turns = [
        turn
        | {
            "beliefs": [mind if p == seat else None for p, mind in enumerate(turn["beliefs"])],
            "search": turn["search"] if turn["mover"] == seat else None,
        }
        for turn in document["turns"]
    ]
    cards = [None if order in held else card for order, card in enumerate(document["cards"])]
    return document | {"seat": seat, "cards": cards, "turns": turns}


def first_position(record: RecordedGame) -> tuple[HanabiGame, HanabiWorlds]:
    """The rules of a recorded game, and the game (a batch of one) before its first move."""
    config = replace(record.config, bomb=record.bomb or "keep", random_start_player=False)
    rules = HanabiGame(config)
    return rules, rules.from_decks([record.deck], first_player=record.first_player)


def require_legal(record: RecordedGame, worlds: HanabiWorlds, turn: int, action: int) -> None:
    """Raises RecordError unless the move of ``turn`` is legal in ``worlds`` (a batch of one)."""
    mover = int(worlds.current_player[0])
    if mover < 0 or not worlds.legal[0, action]:
        words = action_in_words(record.config, max(mover, 0), action)
        why = why_illegal(record.config, worlds.rows[0], action)
        raise RecordError(f'{record.source}: turn {turn}: "{words}" is not legal: {why}')


def _searching(game: AnnotatedGame) -> list[bool]:
    """For each seat whether it made a searched decision, or is named as a search: "vdb+sparta"."""
    players, first = game.record.config.players, game.record.first_player
    searches = [turn for turn, one in game.decisions.items() if one.mistake is None]
    seats = {(first + turn) % players for turn in searches}  # the others were analysed afterwards
    named = game.record.policies or ("",) * players
    return [seat in seats or "+" in named[seat] for seat in range(players)]


def describe_search(move: SearchedTurn) -> dict[str, Any]:
    """The ``search`` of a turn, of a searched decision."""
    most = max(move.count)
    given_up = [move.depth is None and count < most for count in move.count]
    return {
        "action": move.action,
        "blueprint_action": move.blueprint_action,
        "gain": _rounded(move.gain),
        "gain_stderr": _rounded(move.gain_stderr),
        "reason": move.reason,
        "belief_size": move.belief_size,
        "depth": move.depth,
        "note": move.note,
        "lost": _rounded(move.lost),
        "lost_stderr": _rounded(move.lost_stderr),
        "mistake": move.mistake,
        "moves": [
            {
                "action": action,
                "mean": _rounded(mean),
                "stderr": _rounded(stderr),
                "count": count,
                "dropped": dropped,
            }
            for action, mean, stderr, count, dropped in zip(
                move.actions, move.mean, move.stderr, move.count, given_up, strict=True
            )
        ],
    }


def _score(record: RecordedGame, worlds: HanabiWorlds, finished: bool) -> int | None:
    if record.score is not None or not finished:
        return record.score
    lost = not worlds.rows[0, LIVES]
    return None if lost and record.bomb is None else int(worlds.returns[0, 0])


def sizes_of(config: HanabiConfig) -> dict[str, Any]:
    """The ``config`` of a document."""
    names = ("players", "colors", "ranks", "hand_size", "information_tokens", "life_tokens")
    return {name: getattr(config, name) for name in names} | {"copies": list(config.copies)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
