"""Search that upgrades any blueprint policy in cooperative games with hidden information.

Everything most programs need, by what it is for:

* upgrade a policy: ``upgrade``, ``SearchAgent``, ``SearchResult``
* measure it: ``evaluate``, ``Evaluation``, on ``Processes``, or on a cluster by
  ``hanabi_search_plugin.wrappers.ray``; ``compare`` two results, or files of them; ``OneGame``
  plays one move by move
* searches: ``Sparta``, ``JointSparta``, ``Lbs``, ``Mds``, ``Pomcp``, ``SoIsmcts``, ``MoIsmcts``,
  ``RisMcts``, ``Predictor``
* Hanabi: ``HanabiGame``, ``HanabiConfig``, ``SmartBot``, ``RuleAgent``
* policies: ``Policy``, ``UniformPolicy``, ``load_policy``, ``register_policy``, ``from_callable``
* what a search may be told to believe: ``Particles``, ``Learned`` of a
  ``BeliefModel`` (``Grounded``, ``load_belief_model``, your own), ``UnknownPartners``
* the contracts, for games, beliefs and searches of your own: ``Game``, ``PlainGame``, ``Worlds``,
  ``View``, ``Event``, ``History``, ``Belief``, ``private_belief``, ``public_belief``, ``Search``,
  ``Streams``; check yours with ``hanabi_search_plugin.testing``
* errors: ``HanabiSearchError``, ``ConfigError``, ``ContractError``, ``UnsupportedError``

OpenSpiel, PettingZoo and Gymnasium are served by ``hanabi_search_plugin.wrappers.openspiel``,
``.pettingzoo`` and ``.gymnasium``. The folders ``hanabi``, ``judge``, ``algorithms``, ``beliefs``,
``testing`` and ``wrappers`` are attributes, too. Names load on first use: importing the package
costs nothing and needs no framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hanabi_search_plugin import _gymnasium_registration
from hanabi_search_plugin._version import __version__
from hanabi_search_plugin.core.lazy import lazily

if TYPE_CHECKING:
    from hanabi_search_plugin import algorithms as algorithms
    from hanabi_search_plugin import beliefs as beliefs
    from hanabi_search_plugin import hanabi as hanabi
    from hanabi_search_plugin import judge as judge
    from hanabi_search_plugin import testing as testing
    from hanabi_search_plugin import wrappers as wrappers
    from hanabi_search_plugin.algorithms.ismcts import MoIsmcts, RisMcts, SoIsmcts
    from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
    from hanabi_search_plugin.algorithms.lbs import Lbs
    from hanabi_search_plugin.algorithms.mds import Mds
    from hanabi_search_plugin.algorithms.pomcp import Pomcp
    from hanabi_search_plugin.algorithms.predictor import Predictor
    from hanabi_search_plugin.algorithms.sparta import Sparta
    from hanabi_search_plugin.belief_agent import private_belief, public_belief, upgrade
    from hanabi_search_plugin.beliefs.belief_model import BeliefModel, Grounded
    from hanabi_search_plugin.beliefs.learned_belief import Learned
    from hanabi_search_plugin.beliefs.particles import Particles
    from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners
    from hanabi_search_plugin.core.agent import Search, SearchAgent
    from hanabi_search_plugin.core.belief import Belief
    from hanabi_search_plugin.core.errors import (
        ConfigError,
        ContractError,
        HanabiSearchError,
        UnsupportedError,
    )
    from hanabi_search_plugin.core.game import Event, Game, History, View, Worlds
    from hanabi_search_plugin.core.plain_game import PlainGame
    from hanabi_search_plugin.core.policy import Policy, UniformPolicy
    from hanabi_search_plugin.core.result import SearchResult
    from hanabi_search_plugin.core.streams import Streams
    from hanabi_search_plugin.evaluation.comparison import compare
    from hanabi_search_plugin.evaluation.evaluate import evaluate
    from hanabi_search_plugin.evaluation.evaluation_result import Evaluation
    from hanabi_search_plugin.evaluation.one_game import OneGame
    from hanabi_search_plugin.evaluation.processes import Processes
    from hanabi_search_plugin.hanabi.bots.compiled import SmartBot
    from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
    from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
    from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
    from hanabi_search_plugin.networks.catalogue import load_belief_model
    from hanabi_search_plugin.policies.callables import from_callable
    from hanabi_search_plugin.registry import load_policy, register_policy

__all__ = [
    "Belief",
    "BeliefModel",
    "ConfigError",
    "ContractError",
    "Evaluation",
    "Event",
    "Game",
    "Grounded",
    "HanabiConfig",
    "HanabiGame",
    "HanabiSearchError",
    "History",
    "JointSparta",
    "Lbs",
    "Learned",
    "Mds",
    "MoIsmcts",
    "OneGame",
    "Particles",
    "PlainGame",
    "Policy",
    "Pomcp",
    "Predictor",
    "Processes",
    "RisMcts",
    "RuleAgent",
    "Search",
    "SearchAgent",
    "SearchResult",
    "SmartBot",
    "SoIsmcts",
    "Sparta",
    "Streams",
    "UniformPolicy",
    "UnknownPartners",
    "UnsupportedError",
    "View",
    "Worlds",
    "__version__",
    "compare",
    "evaluate",
    "from_callable",
    "load_belief_model",
    "load_policy",
    "private_belief",
    "public_belief",
    "register_policy",
    "upgrade",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "": ("algorithms", "beliefs", "hanabi", "judge", "testing", "wrappers"),
        "algorithms.ismcts": ("MoIsmcts", "RisMcts", "SoIsmcts"),
        "algorithms.joint_sparta": ("JointSparta",),
        "algorithms.lbs": ("Lbs",),
        "algorithms.mds": ("Mds",),
        "algorithms.pomcp": ("Pomcp",),
        "algorithms.predictor": ("Predictor",),
        "algorithms.sparta": ("Sparta",),
        "beliefs.belief_model": ("BeliefModel", "Grounded"),
        "beliefs.learned_belief": ("Learned",),
        "beliefs.particles": ("Particles",),
        "beliefs.unknown_partners": ("UnknownPartners",),
        "core.agent": ("Search", "SearchAgent"),
        "core.belief": ("Belief",),
        "core.errors": ("ConfigError", "ContractError", "HanabiSearchError", "UnsupportedError"),
        "core.game": ("Event", "Game", "History", "View", "Worlds"),
        "core.plain_game": ("PlainGame",),
        "core.policy": ("Policy", "UniformPolicy"),
        "core.result": ("SearchResult",),
        "core.streams": ("Streams",),
        "evaluation.comparison": ("compare",),
        "evaluation.evaluate": ("evaluate",),
        "evaluation.evaluation_result": ("Evaluation",),
        "evaluation.one_game": ("OneGame",),
        "evaluation.processes": ("Processes",),
        "hanabi.bots.compiled": ("SmartBot",),
        "hanabi.bots.rule_agents": ("RuleAgent",),
        "hanabi.engine.config": ("HanabiConfig",),
        "hanabi.hanabi_game": ("HanabiGame",),
        "networks.catalogue": ("load_belief_model",),
        "policies.callables": ("from_callable",),
        "registry": ("load_policy", "register_policy"),
        "belief_agent": ("private_belief", "public_belief", "upgrade"),
    },
)

_gymnasium_registration.register()
