"""OpenSpiel's bots as policies of ours; see ``as_policy``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pyspiel

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, View
from hanabi_search_plugin.core.policy import Memory
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers._openspiel_adapted import Reads, ReadsStates
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame
from hanabi_search_plugin.wrappers._openspiel_hanabi import config_of, initial_state
from hanabi_search_plugin.wrappers._openspiel_rules import State

MakeBot = Callable[[int, int], Any]  # (player, seed) -> pyspiel.Bot

ANSWERS_KEPT = 100_000  # of a bot, by what its seat has seen


class BotPolicy(ReadsStates):
    """A bot of OpenSpiel, which is played through the history wherever it moves."""

    def __init__(
        self,
        bot: Any,
        make: MakeBot | None,
        game: HanabiGame | OpenSpielGame,
        reads: Reads,
        memoryless: bool | None,
        seed: int,
    ) -> None:
        super().__init__(bot if make is None else make, game, reads)
        self.make = make
        self.seed = seed
        self.memoryless = memoryless
        self._answers: dict[tuple[int, int], FloatArray] = {}

    def __copy__(self) -> Self:
        twin = super().__copy__()
        twin._answers = self._answers.copy()
        return twin

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        chance = self.no_chance(view, legal)
        for rows, make_state, seen in self.states(view, memory):
            b = rows[0]
            if legal[b].sum() == 1:
                chance[rows] = legal[b]
                continue
            key = (view.player, seen())
            if key not in self._answers:
                if len(self._answers) >= ANSWERS_KEPT:
                    self._answers.clear()
                self._answers[key] = self._ask(make_state(), *key, legal[b])
            chance[rows] = self._answers[key]
        return chance

    def _ask(self, state: State, seat: int, seen: int, legal: BoolArray) -> FloatArray:
        bot = self.thing
        if self.make is not None:
            seed = np.random.SeedSequence([self.seed, seen]).generate_state(1)
            bot = self.make(seat, int(seed[0] >> 1))  # OpenSpiel's seeds are C++ ints
            if not isinstance(bot, pyspiel.Bot):
                raise UnsupportedError(
                    f"expected a function that makes a pyspiel.Bot, got {type(bot).__name__}"
                )
        player = getattr(bot, "player_id", None)
        if callable(player) and player() != seat:
            raise UnsupportedError(
                f"{type(bot).__name__} plays seat {player()}, got {seat}: give a policy a seat"
            )
        try:
            if not (_forgets(bot) if self.memoryless is None else self.memoryless):
                _replay(bot, state, seat)
            in_python = type(bot).__module__ != pyspiel.__name__
            if bot.provides_policy() and (not in_python or _overrides(bot, "get_policy")):
                return self.row(list(bot.get_policy(state)), legal)
            if in_python and _overrides(bot, "step_with_policy"):
                answer, action = bot.step_with_policy(state)
                if answer:
                    return self.row([(int(a), float(p)) for a, p in answer], legal)
            else:
                action = bot.step(state)
        except pyspiel.SpielError as error:
            raise UnsupportedError(
                f"{type(bot).__name__} must play {self.game.name}, got: "
                f"{str(error).splitlines()[0]} (if it remembers, say memoryless=False)"
            ) from error
        return self.certain(action, legal)


def _overrides(bot: Any, method: str) -> bool:
    return getattr(type(bot), method) is not getattr(pyspiel.Bot, method)


def _forgets(bot: Any) -> bool:
    """True if a bot seems to decide by the state it is handed alone."""
    if bot.provides_force_action():
        return False
    written_here = type(bot).__module__.partition(".")[0] != pyspiel.__name__
    return not (written_here and _overrides(bot, "inform_action"))


def _replay(bot: Any, state: State, seat: int) -> None:
    """Play a bot through the history of ``state``, as an arena would have.

    Raises UnsupportedError where it cannot be brought to make the moves of ``seat``.
    """
    spiel, history = state.get_game(), state.full_history()
    here = spiel.new_initial_state()
    if spiel.get_type().short_name == "hanabi":
        movers = [item.player for item in history if item.player >= 0]
        first = movers[0] if movers else state.current_player()
        here = initial_state(HanabiGame(config_of(spiel)), first)
    bot.restart()
    for item in history:
        if item.player != seat:
            bot.inform_action(here, item.player, item.action)
        elif bot.provides_force_action():
            bot.force_action(here, item.action)
        elif (action := int(bot.step(here))) != item.action:
            raise UnsupportedError(
                f"{type(bot).__name__} cannot be replayed: it has no force_action and moves "
                f"{action} where the history has {item.action}"
            )
        here.apply_action(item.action)
