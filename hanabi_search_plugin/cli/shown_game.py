"""One game on the terminal, turn by turn: what ``demo`` and ``play`` show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console

from hanabi_search_plugin.cli import render
from hanabi_search_plugin.cli.human import HumanPolicy
from hanabi_search_plugin.cli.line_ups import HUMAN, LineUp
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.evaluate import without_search
from hanabi_search_plugin.evaluation.match import SEARCHES, GameResult, deal_game, finished_game
from hanabi_search_plugin.evaluation.playing import Turn, play_game, self_play
from hanabi_search_plugin.evaluation.provenance import describe, peak_rss_mb, versions
from hanabi_search_plugin.hanabi.engine.layout import PLAYED
from hanabi_search_plugin.jit import compile_seconds


@dataclass(frozen=True)
class Shown:
    """A game that was shown."""

    result: GameResult
    finished: bool  # False: it was left before its end
    blueprint_score: float | None  # on the same deck; None where nobody searches

    def to_dict(self, who: LineUp, seed: int) -> dict[str, Any]:
        """Plain JSON types."""
        result = self.result
        return {
            "score": result.score,
            "blueprint_score": self.blueprint_score,
            "finished": self.finished,
            "lives_left": result.lives_left,
            "moves": len(result.actions),
            "rollouts": result.rollouts,
            "likelihoods": result.likelihoods,
            "changed_moves": result.changed_moves,
            "actions": list(result.actions),
            "game": describe(who.game),
            "policies": describe(who.policies),
            "names": list(who.names),
            "seed": seed,
            "peak_rss_mb": peak_rss_mb(),
            "compile_seconds": compile_seconds(),
            "versions": versions(),
        }


def show_game(console: Console, who: LineUp, seed: int) -> Shown:
    """Play the first game of ``seed`` on the console. Ctrl-C, or a person's "quit", leaves it.

    With a person at a seat only what that seat sees is shown, and nothing of a search.
    """
    worlds, stream = deal_game(who.game, seed, 0)
    policies: list[Policy] = list(who.policies)
    for seat in who.people:

        def ask(seat: int = seat) -> str:
            return console.input(f"[bold]P{seat}, your move[/] (or help): ")

        policies[seat] = HumanPolicy(console, who.short_names, ask)
    reference = None
    if who.searching and not who.people:
        alone = np.array([0])
        played = self_play(worlds.select(alone), without_search(who.policies), stream.select(alone))
        reference = float(played.returns[0, 0])
    actions: list[int] = []
    decisions: list[tuple[int, int, SearchResult]] = []
    finished = True
    try:
        for turn in play_game(worlds, tuple(policies), stream, (seed, SEARCHES, 0)):
            show_turn(console, who, turn)
            actions.append(turn.action)
            if turn.result is not None:
                decisions.append((turn.number, turn.seat, turn.result))
    except KeyboardInterrupt:
        finished = False
    if finished:
        console.rule("The end")
        row = worlds.rows[0]  # type: ignore[attr-defined]  # native Hanabi
        console.print(render.board(who.hanabi().config, row, who.short_names), end="")
    result = finished_game(worlds, "policies", 0, 0, actions, decisions)
    return Shown(result, finished, reference)


def print_ending(console: Console, who: LineUp, shown: Shown) -> None:
    """The score, beside the blueprint's on the same deck."""
    best = who.hanabi().config.max_score
    if not shown.finished:
        score = f"left after {counted(len(shown.result.actions), 'move')}"
    else:
        score = f"score {shown.result.score:g} of {best}"
        if shown.result.lives_left == 0:
            score += ", the last life is lost"
    console.print(f"[bold]{score}[/]")
    if shown.blueprint_score is not None and shown.finished:
        console.print(
            f"without the search, on the same deck: {shown.blueprint_score:g}\n"
            f"{counted(shown.result.changed_moves, 'move')} changed, "
            f"{counted(shown.result.rollouts, 'rollout')}"
        )


def show_turn(console: Console, who: LineUp, turn: Turn) -> None:
    """A turn before it is played: the board, and the move or the searched decision."""
    config = who.hanabi().config
    row = turn.worlds.rows[0]  # type: ignore[attr-defined]  # native Hanabi
    move = render.move(config, row, turn.seat, turn.action)
    if who.people:
        name = "you" if who.names[turn.seat] == HUMAN else who.names[turn.seat]
        console.print(f"P{turn.seat} ({name}) ", move, sep="")
        return
    points = int(row[PLAYED]).bit_count()
    title = f"Turn {turn.number + 1}: P{turn.seat}"
    console.rule(f"{title} {'searches' if turn.result else 'moves'}, score {points}")
    console.print(render.board(config, row, who.short_names), end="")
    if turn.result is None:
        console.print(render.labelled("move", move), end="")
    else:
        console.print(render.decision(config, row, turn.seat, turn.result), end="")
