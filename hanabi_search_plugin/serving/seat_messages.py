"""What the page of a seat is told: the table as that seat sees it, and nothing else.

All of it is made of the seat's own History, of what is public at a table (names, who is to move,
who is there) and of advice computed from that History. So nothing has to be left out of it.
The parts are those of a document (``hanabi.files.game_document``), which the page draws.
"""

from __future__ import annotations

from typing import Any

from hanabi_search_plugin.core.game import History
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.hanabi.engine.layout import BOMB, LIVES, PLAYED, TURN
from hanabi_search_plugin.hanabi.engine.text import action_to_dict, why_illegal
from hanabi_search_plugin.hanabi.files.annotated_games import searched_turn
from hanabi_search_plugin.hanabi.files.game_document import FORMAT, describe_search, sizes_of
from hanabi_search_plugin.hanabi.files.shown_beliefs import describe_beliefs
from hanabi_search_plugin.hanabi.files.table_positions import seen_turns


def game_message(history: History, names: tuple[str, ...]) -> dict[str, Any]:
    """The whole game as its seat has seen it: what a page that opens is told."""
    config = _view(history).game.config
    turns, cards = seen_turns(history)
    return {
        "kind": "game",
        "game": {
            "format": FORMAT,
            "config": sizes_of(config),
            "game": 0,
            "seed": None,
            "players": list(names),
            "searched": [False] * config.players,
            "policies": None,
            "seat": history.seat,
            "score": None,
            "finished": False,
            "actions": [action_to_dict(config, action) for action in range(config.num_actions)],
            "cards": cards,
            "turns": turns,
        },
    }


def turns_message(history: History, first: int) -> dict[str, Any]:
    """Turns from ``first`` on, and all cards: what a page is told that has seen those before."""
    turns, cards = seen_turns(history, first)
    return {"kind": "turns", "from": first, "turns": turns, "cards": cards}


def moves_of_seat(history: History) -> list[str | None] | None:
    """For each action why it is not allowed now, None where it is; None: another seat's turn."""
    view = _view(history)
    row = view.rows[0]
    if int(row[TURN]) != history.seat:
        return None
    return [
        None if legal else why_illegal(view.game.config, row, action)
        for action, legal in enumerate(view.legal[0].tolist())
    ]


def ending(history: History) -> dict[str, Any] | None:
    """How the game ended, by what its seat sees; None: it is not over."""
    row = _view(history).rows[0]
    if row[TURN] >= 0:
        return None
    points, lost = int(row[PLAYED]).bit_count(), not row[LIVES]
    penalty = (points, 0, 1)[int(row[BOMB])] if lost else 0
    return {"score": points - penalty, "lost": lost}


def advice_message(history: History, result: SearchResult, belief: object) -> dict[str, Any]:
    """What the adviser would play, every move's value, and what it takes the seat to hold."""
    known = describe_beliefs([belief])[0] if isinstance(belief, HandBelief) else None
    return {
        "kind": "advice",
        "turn": len(history.events),
        "search": describe_search(searched_turn(result)),
        "belief": known,
    }


def _view(history: History) -> HanabiView:
    view = history.views[-1]
    assert isinstance(view, HanabiView)
    return view
