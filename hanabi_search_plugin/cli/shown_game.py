"""One game on the terminal, turn by turn: what ``demo`` and ``play`` show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.console import Console

from hanabi_search_plugin.cli.human import Asked, Left, Screen, TakenBack
from hanabi_search_plugin.cli.line_ups import HUMAN, LineUp
from hanabi_search_plugin.cli.typed_moves import spelled
from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.live_game import LiveGame
from hanabi_search_plugin.evaluation.match import GameResult, deal_game
from hanabi_search_plugin.evaluation.playing import Turn, self_play
from hanabi_search_plugin.evaluation.provenance import describe, peak_rss_mb, versions
from hanabi_search_plugin.evaluation.seating import without_search
from hanabi_search_plugin.hanabi.engine.layout import PLAYED
from hanabi_search_plugin.jit import compile_seconds
from hanabi_search_plugin.rendering import colored_text


@dataclass(frozen=True)
class Shown:
    """A game that was shown."""

    result: GameResult
    finished: bool  # False: it was left, or interrupted, before its end
    interrupted: bool
    blueprint_score: float | None  # on the same deck; None where nobody searches
    taken_back: int = 0  # times that people took back a move

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
            "taken_back": self.taken_back,
            "actions": list(result.actions),
            "game": describe(who.game),
            "policies": describe(who.policies),
            "names": list(who.names),
            "seed": seed,
            "peak_rss_mb": peak_rss_mb(),
            "compile_seconds": compile_seconds(),
            "versions": versions(),
        }


def show_game(
    console: Console, who: LineUp, seed: int, adviser: SearchAgent | None = None
) -> Shown:
    """Play the first game of ``seed`` on the console. Ctrl-C, or a person's "quit", leaves it.

    With a person at a seat only what that seat sees is shown, and nothing of a search but what
    the person asks the ``adviser``, which they need.
    """
    reference = None
    if who.searching and not who.people:
        worlds, stream = deal_game(who.game, seed, 0)
        played = self_play(worlds, without_search(who.policies), stream)
        reference = float(played.returns[0, 0])
    game = LiveGame(who.game, who.policies, who.people, seed, adviser)
    asked = Asked(Screen(console, who.short_names), lambda history: game.advise(history)[0])
    interrupted = False
    try:
        while not game.over:
            try:
                turn = _next_turn(game, asked)
            except TakenBack:
                mover = game.mover
                try:
                    action = game.take_back(mover)
                except ConfigError as error:
                    console.print(str(error))
                else:
                    move = spelled(who.hanabi().config, mover, action)
                    console.print(f"taken back: {move}, and all that followed", markup=False)
                continue
            show_turn(console, who, turn)
            game.play(turn.action, turn.result)
    except Left:
        pass
    except KeyboardInterrupt:
        interrupted = True
    if game.over:
        console.rule("The end")
        row = game.worlds.rows[0]  # type: ignore[attr-defined]  # native Hanabi
        console.print(colored_text.board(who.hanabi().config, row, who.short_names), end="")
    return Shown(game.result(), game.over, interrupted, reference, game.taken_back)


def _next_turn(game: LiveGame, asked: Asked) -> Turn:
    """The next move, a policy's or a person's; it is not played yet."""
    mover = game.mover
    if mover not in game.people:
        return game.decide()
    return Turn(game.number, mover, asked.move(game.history(mover)), None, game.worlds)


def show_again(console: Console, who: LineUp, seed: int, shown: Shown) -> None:
    """A game that was played, turn by turn with all hands open."""
    worlds, _ = deal_game(who.game, seed, 0)
    everybody = replace(who, people=())
    searched = {turn: result for turn, _, result in shown.result.decisions}
    for number, action in enumerate(shown.result.actions):
        mover = int(worlds.current_player[0])
        show_turn(console, everybody, Turn(number, mover, action, searched.get(number), worlds))
        worlds.step(np.array([action]))


def print_ending(console: Console, who: LineUp, shown: Shown, seed: int) -> None:
    """The score, beside the blueprint's on the same deck; to people the seed, too."""
    best = who.hanabi().config.max_score
    if not shown.finished:
        score = f"left after {counted(len(shown.result.actions), 'move')}"
    else:
        score = f"score {shown.result.score:g} of {best}"
        if shown.result.lives_left == 0:
            score += ", the last life is lost"
    if shown.taken_back:
        score += f", {shown.taken_back} {'move' if shown.taken_back == 1 else 'moves'} taken back"
    console.print(f"[bold]{score}[/]")
    if who.people:
        console.print(f"--seed {seed} deals these cards again")
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
    move = colored_text.move(config, row, turn.seat, turn.action)
    if who.people:
        name = "you" if who.names[turn.seat] == HUMAN else who.names[turn.seat]
        console.print(f"P{turn.seat} ({name}) ", move, sep="")
        return
    points = int(row[PLAYED]).bit_count()
    title = f"Turn {turn.number + 1}: P{turn.seat}"
    console.rule(f"{title} {'searches' if turn.result else 'moves'}, score {points}")
    console.print(colored_text.board(config, row, who.short_names), end="")
    if turn.result is None:
        console.print(colored_text.labelled("move", move), end="")
    else:
        console.print(colored_text.decision(config, row, turn.seat, turn.result), end="")
