"""One game on the terminal, turn by turn: what ``demo`` and ``play`` show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.console import Console

from hanabi_search_plugin.cli.human import HumanPolicy, Left, Screen, TakenBack
from hanabi_search_plugin.cli.line_ups import HUMAN, LineUp
from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.game import History
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.evaluate import without_search
from hanabi_search_plugin.evaluation.match import SEARCHES, GameResult, deal_game, finished_game
from hanabi_search_plugin.evaluation.playing import RunningGame, Turn, self_play
from hanabi_search_plugin.evaluation.provenance import describe, peak_rss_mb, versions
from hanabi_search_plugin.evaluation.seat import SeatedPolicy
from hanabi_search_plugin.hanabi.engine.layout import PLAYED
from hanabi_search_plugin.jit import compile_seconds
from hanabi_search_plugin.rendering import colored_text

ADVICE = 4  # what a SeedSequence([seed, use, ...]) is for, beside those of ``evaluation.match``


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
    worlds, stream = deal_game(who.game, seed, 0)
    reference = None
    if who.searching and not who.people:
        alone = np.array([0])
        played = self_play(worlds.select(alone), without_search(who.policies), stream.select(alone))
        reference = float(played.returns[0, 0])
    policies = _at_the_table(console, who, seed, adviser)
    game = RunningGame.begin(worlds, policies, stream, (seed, SEARCHES, 0))
    actions: list[int] = []
    decisions: list[tuple[int, int, SearchResult]] = []
    own_turns: list[RunningGame] = []  # copies: where a person can go back to
    taken_back, interrupted = 0, False
    try:
        while not game.over:
            before = game.copy() if game.mover in who.people else None
            try:
                turn = game.decide()
            except TakenBack:
                earlier = [n for n, one in enumerate(own_turns) if one.mover == game.mover]
                if not earlier:
                    console.print("there is nothing to take back: this is your first move")
                    continue
                game = own_turns[earlier[-1]]
                del own_turns[earlier[-1] :], actions[game.number :]
                decisions = [one for one in decisions if one[0] < game.number]
                taken_back += 1
                continue
            show_turn(console, who, turn)
            actions.append(turn.action)
            if turn.result is not None:
                decisions.append((turn.number, turn.seat, turn.result))
            if before is not None:
                own_turns.append(before)
            game.play(turn.action)
    except Left:
        pass
    except KeyboardInterrupt:
        interrupted = True
    if game.over:
        console.rule("The end")
        row = game.worlds.rows[0]  # type: ignore[attr-defined]  # native Hanabi
        console.print(colored_text.board(who.hanabi().config, row, who.short_names), end="")
    result = finished_game(game.worlds, "policies", 0, 0, actions, decisions)
    return Shown(result, game.over, interrupted, reference, taken_back)


def _at_the_table(
    console: Console, who: LineUp, seed: int, adviser: SearchAgent | None
) -> Blueprint:
    """The policies, with people where people sit."""
    if not who.people:
        return who.policies
    assert adviser is not None

    def advise(history: History) -> SearchResult:
        seated = SeatedPolicy(adviser)
        seated.follow(history)
        turn = np.random.SeedSequence([seed, ADVICE, len(history.events)])
        seated.act(history.views[-1], np.random.default_rng(turn))
        assert seated.last_result is not None
        return seated.last_result

    screen = Screen(console, who.short_names)
    return tuple(
        HumanPolicy(screen, advise) if seat in who.people else policy
        for seat, policy in enumerate(who.policies)
    )


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
