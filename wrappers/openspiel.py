"""OpenSpiel: its games and its policies here, our agents there, hanabi on the native engine.

Games, each from a ``pyspiel.Game`` or a string such as ``"leduc_poker"``:

* ``load_game`` chooses: hanabi on the native engine, any other game as an ``OpenSpielGame``
* ``OpenSpielGame`` makes any sequential game one that can be searched
* ``OpenSpielDealtGame`` adds what learned beliefs need, for games that begin by dealing a private
  card to each player
* ``Redealt`` makes beliefs over other deals, for card games with far too many of them to list;
  ``other_deals`` draws such deals alone

Policies:

* ``as_policy`` makes a policy of ours from OpenSpiel's policies, bots and learning agents;
  ``registered_bot`` from one that OpenSpiel has by name
* ``as_bot``, ``as_spiel_policy`` and ``as_rl_agent`` make OpenSpiel's from a policy of ours, a
  searching one for instance: a ``SpielBot``, a ``SpielPolicy`` and a ``SpielRLAgent``. Each has
  ``last_result``, the SearchResult of its latest decision

Hanabi in both engines, whose cards, actions and deals are the same:

* ``config_of`` and ``spiel_of`` convert the game, ``from_state`` and ``to_state`` a state
* ``initial_state`` is a state before the deal with a given first player, ``sorted_deck`` every card
* ``history_of`` is what one player has seen of a state, ``hypothetical_state`` a state that this
  player cannot tell from the true one
"""

from hanabi_search_plugin.core.extras import needing

with needing("", "wrappers.openspiel", "OpenSpiel"):
    from hanabi_search_plugin.wrappers._openspiel_agents import (
        SpielBot,
        SpielPolicy,
        as_bot,
        as_rl_agent,
        as_spiel_policy,
    )
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
    from hanabi_search_plugin.wrappers._openspiel_policies import as_policy, registered_bot
    from hanabi_search_plugin.wrappers._openspiel_redealt import Redealt, other_deals
    from hanabi_search_plugin.wrappers._openspiel_rl_agent import SpielRLAgent

__all__ = [
    "OpenSpielDealtGame",
    "OpenSpielGame",
    "Redealt",
    "SpielBot",
    "SpielPolicy",
    "SpielRLAgent",
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
    "other_deals",
    "registered_bot",
    "sorted_deck",
    "spiel_of",
    "to_state",
]
