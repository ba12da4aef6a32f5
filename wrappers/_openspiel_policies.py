"""OpenSpiel's policies, bots and learning agents as policies of ours.

They play on the native engine, too. Those that read a whole ``pyspiel.State`` are given a
hypothetical one, in which no hidden card can leak: see ``_openspiel_adapted``.
Letters: B worlds, A actions.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pyspiel
from open_spiel.python import policy as spiel_policy
from open_spiel.python import rl_agent

from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, Game, View, require_game
from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers._openspiel_adapted import Reads, ReadsStates
from hanabi_search_plugin.wrappers._openspiel_bots import BotPolicy
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame, same_spiel
from hanabi_search_plugin.wrappers._openspiel_hanabi import config_of, spiel_of
from hanabi_search_plugin.wrappers._openspiel_learners import RLAgentPolicy, attribute

_INFORMATION_STATE_ONLY = (
    spiel_policy.TabularPolicy,
    spiel_policy.UniformRandomPolicy,
    pyspiel.TabularPolicy,
    pyspiel.PartialTabularPolicy,
    pyspiel.UniformPolicy,
)


def as_policy(
    thing: Any,
    game: Game,
    *,
    reads: Reads | None = None,
    memoryless: bool | None = None,
    any_seat: bool = False,
    use_observation: bool | None = None,
    seed: int = 0,
) -> Policy:
    """Make a policy that plays ``game``, a HanabiGame or an OpenSpielGame, as ``thing`` would.

    ``thing`` is one of these; a policy of ours is returned as it is.

    * ``open_spiel.python.policy.Policy`` or ``pyspiel.Policy``. It plays by its probabilities.
    * ``pyspiel.Bot``. It plays by its policy if it gives one, else it makes its move. Its first
      answer after a history is kept and given again, so a bot with a generator of its own is
      reproducible.
    * A function ``(player, seed) -> pyspiel.Bot``, for all seats. It is called for every decision,
      with a seed that depends on what the seat has seen, so the order of decisions does not matter.
      A class of bots may have ``rng`` for a second argument, as OpenSpiel's own have: it is given
      a ``numpy.random.RandomState`` of that seed.
    * ``rl_agent.AbstractAgent``, or an object with such a ``step``, as PyTorch's DQN and PPO. It
      plays by the probabilities of ``step(time_step, is_evaluation=True)``.

    ``reads="information_state"`` promises that a policy or bot reads nothing of a state but what
    its seat has seen. Then it gets the true state, which is quicker to make than a hypothetical
    one. OpenSpiel's tabular and uniform policies are known to keep this promise.

    ``memoryless=False`` says that a bot or agent remembers what it was told before. Then a bot is
    restarted and played through the history at every decision (its own moves by ``force_action``,
    or by ``step`` if that makes the same move), and an agent through its earlier turns. By default,
    bots are taken to remember if they have ``force_action``, or an ``inform_action`` written in
    Python; agents are not.

    ``any_seat`` lets an agent play at other seats than its ``player_id``; it gets the observation
    of that seat as its own. ``use_observation`` is that of ``rl_environment``: by default an agent
    sees the information state if the game has one. ``seed`` is for functions that make bots.

    Deep copies share a bot. Pickling works for functions that make bots, not for bots, and for
    policies in Python, not for compiled ones.

    Raises UnsupportedError for what is none of these, for one made for another game or seat, and
    for a bot that cannot be played through a history; ConfigError for another ``reads``.
    """
    if reads not in (None, *get_args(Reads)):
        raise ConfigError(f"reads must be one of {', '.join(get_args(Reads))}, got {reads!r}")
    require_game(game, thing, call="as_policy(thing, game)")
    if not isinstance(game, HanabiGame | OpenSpielGame):
        raise UnsupportedError(
            f"expected a HanabiGame or an OpenSpielGame, got {type(game).__name__}"
        )
    if isinstance(thing, Policy):
        return thing
    if isinstance(thing, spiel_policy.Policy | pyspiel.Policy):
        only = isinstance(thing, _INFORMATION_STATE_ONLY)
        return OpenSpielPolicy(thing, game, reads or ("information_state" if only else "state"))
    if isinstance(thing, pyspiel.Bot):
        return BotPolicy(thing, None, game, reads or "state", memoryless, seed)
    if isinstance(thing, rl_agent.AbstractAgent) or _has_step(thing):
        return RLAgentPolicy(thing, game, memoryless is not False, any_seat, use_observation)
    if isinstance(thing, type) and issubclass(thing, pyspiel.Bot):
        thing = _seeded(thing)
    if isinstance(thing, type) and issubclass(thing, spiel_policy.Policy | pyspiel.Policy):
        raise UnsupportedError(
            f"expected a Policy of OpenSpiel, got the class {thing.__name__}: make one of it"
        )
    if callable(thing):
        return BotPolicy(None, thing, game, reads or "state", memoryless, seed)
    named = f": registered_bot({thing!r}, game) makes one of a name" * isinstance(thing, str)
    raise UnsupportedError(
        "expected a Policy, Bot or agent of OpenSpiel, or a function that makes a Bot, got "
        f"{type(thing).__name__}{named}"
    )


@dataclass(frozen=True)
class DrawingBot:
    """Makes bots of a class that takes a generator."""

    kind: type

    def __call__(self, player: int, seed: int) -> Any:
        return self.kind(player, np.random.RandomState(seed % 2**32))


def _seeded(kind: type) -> Any:
    """What makes bots of a class, of a player and a seed. Raises UnsupportedError otherwise."""
    try:
        taken = list(inspect.signature(kind).parameters.values())
    except ValueError:  # a class of C++
        raise UnsupportedError(
            f"expected a Bot, or a function (player, seed) that makes one, got the class "
            f"{kind.__name__} of {kind.__module__}: write a function that makes one of its bots"
        ) from None
    needed = [each for each in taken[2:] if each.default is each.empty and each.kind.value < 2]
    names = [each.name for each in taken]
    if len(names) > 1 and not needed and "seed" in names[1]:
        return kind
    if len(names) > 1 and not needed and "rng" in names[1]:
        return DrawingBot(kind)
    raise UnsupportedError(
        f"expected a Bot, or a function (player, seed) that makes one, got the class "
        f"{kind.__name__}({', '.join(names)}): write a function that calls it"
    )


@dataclass(frozen=True)
class RegisteredBot:
    """Makes the bot that OpenSpiel has by a name; see ``as_policy``."""

    name: str
    game: Any  # HanabiGame or OpenSpielGame

    def __call__(self, player: int, seed: int) -> Any:
        spiel = spiel_of(self.game) if isinstance(self.game, HanabiGame) else self.game.spiel
        given = {"seed": seed % 2**31}  # else those with chance ask a clock
        return pyspiel.load_bot(self.name, spiel, player, given)


def registered_bot(name: str, game: Game) -> Policy:
    """A bot that OpenSpiel has by that name, for all seats of ``game``.

    Raises ConfigError for a name that OpenSpiel does not have, or a bot that needs parameters or
    does not play the game; UnsupportedError as ``as_policy``.
    """
    require_choice("a bot of OpenSpiel", name, pyspiel.registered_bots())
    policy = as_policy(RegisteredBot(name, game), game)
    try:
        RegisteredBot(name, game)(0, 0)
    except (pyspiel.SpielError, IndexError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ConfigError(f"OpenSpiel's bot {name} cannot play {game!r}: {reason}") from None
    return policy


class OpenSpielPolicy(ReadsStates):
    """A policy of OpenSpiel, which plays by its probabilities; see ``as_policy``."""

    def __init__(self, thing: Any, game: HanabiGame | OpenSpielGame, reads: Reads) -> None:
        super().__init__(thing, game, reads)
        self.python = isinstance(thing, spiel_policy.Policy)
        made_for = getattr(thing, "game", None)
        ours = spiel_of(game) if isinstance(game, HanabiGame) else game.spiel
        if isinstance(made_for, pyspiel.Game) and not _fits(made_for, ours):
            raise UnsupportedError(
                f"expected a policy for {_said(ours)}, got a {type(thing).__name__} for "
                f"{_said(made_for)}"
            )

    def start(self, view: View) -> Memory:
        seats = getattr(self.thing, "player_ids", None)
        if seats is not None and view.player not in seats:
            raise UnsupportedError(
                f"{type(self.thing).__name__} plays the seats {list(seats)}, got {view.player}"
            )
        return super().start(view)

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        chance = self.no_chance(view, legal)
        for rows, make_state, _ in self.states(view, memory):
            state = make_state()
            try:
                if self.python:
                    answer = self.thing.action_probabilities(state, view.player)
                else:
                    answer = self.thing.action_probabilities(state)
            except (KeyError, pyspiel.SpielError) as error:
                raise UnsupportedError(
                    f"{type(self.thing).__name__} must know every state of {self.game.name}, got "
                    f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
                ) from error
            chance[rows] = self.row(answer, legal[rows[0]])
        return chance


def _has_step(thing: Any) -> bool:
    return callable(getattr(thing, "step", None)) and attribute(thing, "player_id") is not None


def _fits(spiel: Any, ours: Any) -> bool:
    if {spiel.get_type().short_name, ours.get_type().short_name} == {"hanabi"}:
        return config_of(spiel) == config_of(ours)
    return same_spiel(spiel, ours)


def _said(spiel: Any) -> str:
    return f"{spiel} of {spiel.num_players()} players and {spiel.num_distinct_actions()} actions"
