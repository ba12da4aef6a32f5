"""Measure how well learned, grounded and exact beliefs predict a hand, in the same games."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hanabi_search_plugin.beliefs.belief_model import BeliefModel, Grounded
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.game import PAD, Event, IntArray
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.evaluation.executor import Place
from hanabi_search_plugin.evaluation.match import deal_game
from hanabi_search_plugin.evaluation.playing import play_game
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.catalogue import load_belief_model
from hanabi_search_plugin.registry import load_policy
from hanabi_search_plugin.reproduce.measure import Effort, Lines, average, kept_games
from hanabi_search_plugin.reproduce.plan import Run

if TYPE_CHECKING:
    from rich.console import Console


def qualities(run: Run, effort: Effort, progress: bool | Console = False) -> tuple[Lines, bool]:
    """Cross entropies, nats a card, at the turns of the run's seat in games of its blueprint.

    Lines of "game" and "turns": a list of {"turn", "learned", "grounded", "exact"}, None where the
    exact belief was too large to hold. And whether a KeyboardInterrupt ended it early.
    """
    game = HanabiGame(run.config)
    policy = load_policy(run.policy, HanabiGame(run.config))
    model = load_belief_model(run.belief or "", game)
    parameters = {
        "game": describe(game),
        "policy": describe(policy),
        "model": describe(model),
        "kept": "beliefs",
        "seed": effort.seed,
    }
    work = _Turns(game, policy, model, run.seats[0], effort.seed)
    with kept_games(effort, run, "beliefs", parameters, progress) as kept:
        todo = kept.todo
        for index, turns in zip(todo, effort.executor.map(work, todo), strict=True):
            kept.add({"game": index, "turns": turns})
    return kept.lines, kept.interrupted


def by_turn(lines: list[dict[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    """The mean over games at each turn, of one of the three beliefs."""
    values: dict[int, list[float]] = {}
    for line in lines:
        for turn in line["turns"]:
            if turn[name] is not None:
                values.setdefault(turn["turn"], []).append(turn[name])
    for turn in sorted(values):
        yield {"x": turn + 1, **average(values[turn])}


LONGEST = 1_000
RANGES = {  # of turns
    "all": range(1, LONGEST), "1-10": range(1, 11), "11-25": range(11, 26),
    "26-45": range(26, 46), "46-": range(46, LONGEST),
}  # fmt: skip


def by_range(lines: list[dict[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    """The mean over games of a game's mean in each range of turns, of one of the three beliefs.

    "known" is how much less that is than the grounded belief's, at the same decisions.
    """
    for label, turns in RANGES.items():
        means = []
        for line in lines:
            values = [
                (turn[name], turn["grounded"] - turn[name])
                for turn in line["turns"]
                if turn["turn"] + 1 in turns and turn[name] is not None
            ]
            if values:
                means.append(np.mean(values, axis=0))
        if means:
            own, known = np.transpose(means)
            yield {"turns": label, **average(own), "known": average(known)}


@dataclass(frozen=True)
class _Turns:
    """The work: of the game of a number, a line for each turn of ``seat``."""

    game: HanabiGame
    policy: Policy
    model: BeliefModel
    seat: int
    seed: int

    def __call__(self, index: int, place: Place) -> list[dict[str, Any]]:
        return _turns(self.game, self.policy, self.model, self.seat, self.seed, index)


def _turns(
    game: HanabiGame, policy: Policy, model: BeliefModel, seat: int, seed: int, index: int
) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    worlds, stream = deal_game(game, seed, index)
    blueprint = (policy,) * game.num_players
    view = worlds.view(seat)
    state, grounded = model.start(view), Grounded(game)
    exact: Belief = private_belief(game, blueprint, view)
    move: Event | None = None
    for turn in play_game(worlds, blueprint, stream, ()):
        if move is not None:
            view = worlds.view(seat)
            state = model.observe(view, move, state)
            exact = exact.update(move, view)
        if turn.seat == seat:
            view, hand = worlds.view(seat), game.hidden_tokens(worlds, seat)
            nats = {
                "learned": -model.log_likelihood(view, state, hand).sum(),
                "grounded": -grounded.log_likelihood(view, None, hand).sum(),
                "exact": _surprise(exact, hand[0]),
            }
            cards = int((hand != PAD).sum())
            lines.append(
                {"turn": turn.number}
                | {
                    name: None if value is None else float(value / cards)
                    for name, value in nats.items()
                }
            )
        move = Event(np.array([turn.seat]), np.array([turn.action]))
    return lines


def _surprise(belief: Belief, hand: IntArray) -> float | None:
    """Minus the log probability of a hand; None where the belief is a sample of the hands."""
    assert isinstance(belief, HandBelief)
    listed = belief.fully_enumerated()
    if not listed.exact:
        return None
    weights = listed.weights()
    packed = sum(int(card) << (5 * i) for i, card in enumerate(hand) if card != PAD)
    chance = weights[listed.hands == packed].sum() / weights.sum()
    return float(-np.log(chance)) if chance > 0 else None
