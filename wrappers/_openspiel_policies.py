"""OpenSpiel's policies, bots and learning agents as policies of ours.

What reads a whole ``pyspiel.State`` gets a hypothetical one: drawn from all that its seat has seen
and from nothing else, so hidden cards cannot leak, and the same for all states that look the same
to the seat. They play on the native engine, too, where such a state is built from the seat's own
history. Letters: B worlds, A actions.
"""

from __future__ import annotations

from typing import Any, get_args

import pyspiel
from open_spiel.python import policy as spiel_policy
from open_spiel.python import rl_agent

from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, FloatArray, Game, View
from hanabi_search_plugin.core.policy import Memory, Policy
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
    """A policy that plays ``game`` (a HanabiGame or an OpenSpielGame) as ``thing`` would.

    ``thing`` is one of

    * ``open_spiel.python.policy.Policy`` or ``pyspiel.Policy``: its exact probabilities;
    * ``pyspiel.Bot``: its policy where it gives one, else its move. It is not forked: it is told
      each world's history anew wherever it moves (see ``memoryless``), and its first answer to what
      its seat has seen stands, so that a bot with a generator of its own is reproducible;
    * a function ``(player, seed) -> pyspiel.Bot``, called for every decision with a seed that
      depends on what the seat has seen: a bot for all seats, whose answers depend on no order;
    * ``rl_agent.AbstractAgent`` or another with its ``step``, PyTorch's DQN and PPO among them: the
      probabilities of ``step(time_step, is_evaluation=True)``, asked once where worlds look alike.

    ``reads="information_state"`` declares that a policy or bot looks at what its seat has seen and
    nothing else of the state, and saves the hypothetical state; OpenSpiel's tabular and uniform
    policies are known to. ``memoryless=False``: it remembers, so a bot is restarted and played
    through the history (own moves by ``force_action``, or by ``step`` if that gives the same
    move), and a learning agent through its earlier turns. By default agents are memoryless, and so
    are bots, unless they take ``force_action`` or, in Python, have an ``inform_action`` of their
    own. ``any_seat``: an agent may play at another seat than its ``player_id``, and sees its
    observation where it expects its own. ``use_observation``: as of ``rl_environment``, by default
    the information state where the game gives one. Deep copies share a bot, which is asked anew
    anyway; of bots only what a function makes can be pickled, and of policies only Python's.

    Raises UnsupportedError for what is none of these, one made for another game or seat, and one
    that cannot be replayed.
    """
    if reads not in (None, *get_args(Reads)):
        raise ConfigError(f"reads must be one of {', '.join(get_args(Reads))}, got {reads!r}")
    if not isinstance(game, HanabiGame | OpenSpielGame):
        raise UnsupportedError(
            f"expected a HanabiGame or an OpenSpielGame, got {type(game).__name__}"
        )
    if isinstance(thing, Policy):
        return thing
    if isinstance(thing, spiel_policy.Policy | pyspiel.Policy):
        only = isinstance(thing, _INFORMATION_STATE_ONLY)
        return SpielPolicy(thing, game, reads or ("information_state" if only else "state"))
    if isinstance(thing, pyspiel.Bot):
        return BotPolicy(thing, None, game, reads or "state", memoryless, seed)
    if isinstance(thing, rl_agent.AbstractAgent) or _has_step(thing):
        return RLAgentPolicy(thing, game, memoryless is not False, any_seat, use_observation)
    if callable(thing):
        return BotPolicy(None, thing, game, reads or "state", memoryless, seed)
    raise UnsupportedError(
        "expected a Policy, Bot or agent of OpenSpiel, or a function that makes a Bot, got "
        f"{type(thing).__name__}"
    )


class SpielPolicy(ReadsStates):
    """A policy of OpenSpiel, by its exact probabilities; see ``as_policy``."""

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
