"""Checks that policies, searches and makers of beliefs take the arguments they are called with.

What does not say which arguments it takes, as some compiled functions, passes.
"""

from __future__ import annotations

import inspect

from hanabi_search_plugin.core.errors import ContractError

METHOD_ARGUMENTS = {  # of the methods of policies
    "start": ("view",),
    "observe": ("view", "event", "memory"),
    "act": ("view", "legal", "memory", "rng"),
    "probabilities": ("view", "legal", "memory"),
    "preferences": ("view", "legal", "memory"),
    "value": ("view", "memory"),
}


def require_call(policy: object, method: str, name: str) -> None:
    """Raises ContractError, which begins with ``name``, if a method takes other arguments."""
    given = METHOD_ARGUMENTS.get(method, ())
    try:
        signature = inspect.signature(getattr(policy, method))
    except (AttributeError, TypeError, ValueError):
        return  # there is none, or it does not say
    try:
        signature.bind(*given)
    except TypeError:
        raise ContractError(
            f"{name} is called as {method}({', '.join(given)}), got {method}{signature}"
        ) from None


def parameter_names(function: object) -> list[str]:
    """What a function, or an object that is called, names its parameters; [] if it does not say."""
    try:
        return list(inspect.signature(function).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []


def require_belief_call(make: object) -> None:
    """Raises ContractError for what is not called as ``belief(blueprint, view)``."""
    try:
        signature = inspect.signature(make)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return  # it does not say
    try:
        signature.bind("blueprint", "view")
    except TypeError:
        kind = getattr(make, "__name__", type(make).__name__)
        raise ContractError(
            f"{kind}, which is given as belief, is called as belief(blueprint, view), got "
            f"{signature}"
        ) from None


def require_search_call(search: object) -> None:
    """Raises ContractError for a search that is not called as ``search(rng, belief)``."""
    try:
        signature = inspect.signature(search)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return  # it does not say
    names = list(signature.parameters)
    fits = True
    try:
        signature.bind("rng", "belief")
    except TypeError:
        fits = False
    if not fits or names[:1] == ["belief"] or names[1:2] == ["rng"]:
        kind = getattr(search, "__name__", type(search).__name__)
        raise ContractError(f"{kind} is called as search(rng, belief), got {signature}")
