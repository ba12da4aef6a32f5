"""Names that a shell completes after an option: those that this package, plugins and the user have.

A shell waits for them, so nothing here imports PyTorch, Numba or a game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hanabi_search_plugin import plugins
from hanabi_search_plugin.cli.games import HANABI, OPENSPIEL
from hanabi_search_plugin.core.settings import Setting

Completes = Callable[[str], list[str]]
"""What a word may become, from its beginning."""


def among(known: Callable[[], Iterable[str]]) -> Completes:
    """Completes one of these names, which are listed when they are asked for."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in known() if name.startswith(incomplete)]

    return complete


def several(known: Callable[[], Iterable[str]]) -> Completes:
    """Completes the last of names with commas between."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in known() if name.startswith(last)]

    return complete


def known_policies() -> list[str]:
    """Policies, networks and plugins' policies."""
    from hanabi_search_plugin.registry import bidders, networks, policies

    return plugins.all_names("policy", [one.name for one in (*policies(), *networks(), *bidders())])


def known_networks() -> list[str]:
    """Networks that come with the package."""
    from hanabi_search_plugin.networks.catalogue import network_models

    return list(network_models())


def known_games() -> list[str]:
    """Games, those of plugins too; "openspiel:", before the name of one."""
    return plugins.all_names("game", [HANABI, OPENSPIEL])


def known_beliefs() -> list[str]:
    """Beliefs, those learned of policies' games and networks' own too."""
    from hanabi_search_plugin.named_beliefs import NAMED
    from hanabi_search_plugin.networks.catalogue import belief_models, own_beliefs

    return [*NAMED, *belief_models(), *own_beliefs()]


def shown_beliefs() -> list[str]:
    """Beliefs that a page of a game can show."""
    from hanabi_search_plugin.networks.catalogue import SHOWN, belief_models, own_beliefs

    return [*SHOWN, *belief_models(), *own_beliefs()]


policy_names = several(known_policies)
shown_belief_names = among(shown_beliefs)
several_partners = several(lambda: ["mixed-track", *known_policies()])

_BY_OPTION: dict[str, Completes] = {
    "policy": policy_names,
    "seats": several(lambda: ["human", *known_policies()]),
    "partners": several_partners,
    "favourite": among(known_policies),
    "game": among(known_games),
    "belief": among(known_beliefs),
    "likelihoods": among(lambda: ("exact", "learned")),
    "start": among(known_networks),
}


def completes(one: Setting) -> Completes | None:
    """What a shell completes after the option of a setting; None: files."""
    if one.choices:
        return among(lambda: one.choices)
    return _BY_OPTION.get(one.name)
