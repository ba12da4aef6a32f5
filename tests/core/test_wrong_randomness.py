"""Generators in place of streams, streams in place of generators: told in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from hanabi_search_plugin import (
    Mds,
    MoIsmcts,
    Policy,
    Sparta,
    Streams,
    UniformPolicy,
    private_belief,
    upgrade,
)
from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.wrappers.openspiel import load_game

GAME = load_game("tiny_hanabi")
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("search", [None, Sparta(rollouts=60, min_rollouts=5)])
def test_a_generator_is_no_streams(search: Sparta | None) -> None:
    policy: Policy = UniformPolicy()
    if search is not None:
        policy = upgrade(policy, GAME, search)
    view = GAME.deal(RNG, 2).view(0)
    memory = policy.start(view)
    says = r"^rng must be Streams, one a world, as Streams\.spawn\(.*, 2\) makes them, got "
    with pytest.raises(UnsupportedError, match=says + "a Generator$"):
        policy.act(view, view.legal, memory, RNG)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match=says + "1 of them$"):
        policy.act(view, view.legal, memory, Streams.spawn(RNG, 1))
    assert policy.act(view, view.legal, memory, Streams.spawn(RNG, 2)).shape == (2,)


def test_a_policy_that_draws_as_from_a_generator_is_told_how_to() -> None:
    class Draws(UniformPolicy):
        def act(self, view, legal, memory, rng):  # type: ignore[no-untyped-def]
            return (rng.random(len(view)) * legal.sum(axis=1)).astype(int)

    with pytest.raises(UnsupportedError, match=r"draws by rng\.uniform\(\).* got rng\.random, a"):
        evaluate(GAME, Draws(), games=1)
    assert not hasattr(Streams.spawn(RNG, 1), "no_such_thing")


@pytest.mark.parametrize("search", [Sparta(), Mds(), MoIsmcts()])
def test_swapped_arguments_of_a_search_are_named(search: Sparta) -> None:
    view = GAME.deal(RNG, 1).view(0)
    belief = private_belief(GAME, (UniformPolicy(),) * 2, view)
    says = r"called with \(rng, belief\), .*, got \(EnumeratedBelief, Generator\)$"
    with pytest.raises(UnsupportedError, match=says):
        search(belief, RNG)  # type: ignore[arg-type]
