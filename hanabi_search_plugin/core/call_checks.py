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
    signature = _signature(getattr(policy, method, None))
    if signature is not None and not _takes(signature, given):
        raise ContractError(
            f"{name} is called as {method}({', '.join(given)}), got {method}{signature}"
        )


def parameter_names(function: object) -> list[str]:
    """What a function, or an object that is called, names its parameters; [] if it does not say."""
    signature = _signature(function)
    return [] if signature is None else list(signature.parameters)


def require_belief_call(make: object) -> None:
    """Raises ContractError for what is not called as ``belief(blueprint, view)``."""
    signature = _signature(make)
    if signature is not None and not _takes(signature, ("blueprint", "view")):
        raise ContractError(
            f"{_called(make)}, which is given as belief, is called as belief(blueprint, view), got "
            f"{signature}"
        )


def require_search_call(search: object) -> None:
    """Raises ContractError for a search that is not called as ``search(rng, belief)``."""
    signature = _signature(search)
    if signature is None:
        return
    names = list(signature.parameters)
    swapped = names[:1] == ["belief"] or names[1:2] == ["rng"]
    if swapped or not _takes(signature, ("rng", "belief")):
        raise ContractError(f"{_called(search)} is called as search(rng, belief), got {signature}")


def _signature(function: object) -> inspect.Signature | None:
    """None where it does not say, and of what is not called."""
    try:
        return inspect.signature(function)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _takes(signature: inspect.Signature, arguments: tuple[str, ...]) -> bool:
    """True if it can be called with so many arguments, by position."""
    try:
        signature.bind(*arguments)
    except TypeError:
        return False
    return True


def _called(function: object) -> str:
    """Its name, or its class's."""
    return str(getattr(function, "__name__", type(function).__name__))
