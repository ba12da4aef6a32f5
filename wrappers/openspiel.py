"""OpenSpiel: its games, policies and bots in, agents out, hanabi to and from the native engine.

* games: ``OpenSpielGame`` (any sequential game), ``OpenSpielDealtGame`` (one whose chance is a deal
  of private cards, for learned beliefs), ``load_game`` (hanabi: the native engine)
* what plays there as a blueprint: ``as_policy`` (policies, bots and learning agents)
* agents and policies of ours there: ``as_bot``, ``as_spiel_policy``, ``as_rl_agent``
* hanabi states: ``config_of``, ``spiel_of``, ``sorted_deck``, ``initial_state``, ``to_state``,
  ``from_state``, ``hypothetical_state``, ``history_of``
"""

from hanabi_search_plugin.wrappers._openspiel_agents import as_bot, as_rl_agent, as_spiel_policy
from hanabi_search_plugin.wrappers._openspiel_dealt import OpenSpielDealtGame
from hanabi_search_plugin.wrappers._openspiel_game import OpenSpielGame
from hanabi_search_plugin.wrappers._openspiel_hanabi import (
    config_of,
    from_state,
    history_of,
    hypothetical_state,
    initial_state,
    load_game,
    sorted_deck,
    spiel_of,
    to_state,
)
from hanabi_search_plugin.wrappers._openspiel_policies import as_policy

__all__ = [
    "OpenSpielDealtGame",
    "OpenSpielGame",
    "as_bot",
    "as_policy",
    "as_rl_agent",
    "as_spiel_policy",
    "config_of",
    "from_state",
    "history_of",
    "hypothetical_state",
    "initial_state",
    "load_game",
    "sorted_deck",
    "spiel_of",
    "to_state",
]
