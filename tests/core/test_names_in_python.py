"""Names in place of objects, names in what is printed, and what is given by mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hanabi_search_plugin as package
from hanabi_search_plugin import (
    HanabiGame,
    HanabiSearchError,
    JointSparta,
    Lbs,
    Learned,
    Mds,
    MoIsmcts,
    Particles,
    Policy,
    Pomcp,
    RisMcts,
    RuleAgent,
    Sparta,
    UniformPolicy,
    evaluate,
    from_callable,
    load_belief_model,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.bridge import BridgeBidding
from hanabi_search_plugin.cli.searches import SEARCHES
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.policy import Value
from hanabi_search_plugin.evaluation.journal import difference
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.wrappers.openspiel import Redealt, load_game

GAME = HanabiGame(players=2)
THREE = HanabiGame(players=3)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("risky:threshold=0.6", "RuleAgent('risky', threshold=0.6)"),
        ("risky2:threshold=0.6:strict", "RuleAgent('risky2', threshold=0.6, strict=True)"),
        ("evalfn", "EvalFn('evalfn')"),
        ("evalfn:rules=table-2", "EvalFn('evalfn', rules='table-2')"),
        ("vdb:convention=any-giver", "RuleAgent('vdb', convention='any-giver')"),
    ],
)
def test_a_policy_prints_its_name_and_what_it_was_set_to(name: str, shown: str) -> None:
    assert repr(load_policy(name, GAME)) == shown


def test_networks_print_their_names() -> None:
    pytest.importorskip("torch")
    policies = {name: load_policy(name, GAME) for name in ("smartnet", "rlnet")}
    assert repr(policies["smartnet"]) == "EstimatingPolicy('smartnet')"
    assert repr(policies["rlnet"]) == "EstimatingPolicy('rlnet')"
    warm = load_policy("rlnet:temperature=0.5", GAME)
    assert repr(warm) == "EstimatingPolicy('rlnet', temperature=0.5)"
    assert repr(load_belief_model("smartnet", GAME)) == "NetworkBelief('smartnet')"
    result = evaluate(GAME, ("smartnet", "rlnet"), games=1)
    assert str(result).startswith("EstimatingPolicy('smartnet'), EstimatingPolicy('rlnet'): ")
    told = result.to_dict()["policies"]
    assert [one["loaded_as"] for one in told] == ["smartnet", "rlnet"]
    before = [{key: v for key, v in one.items() if key != "loaded_as"} for one in told]
    assert difference(before, told) is None  # runs that began before there were names go on


def test_beliefs_by_name_are_those_of_the_command_line() -> None:
    assert upgrade("smartbot", GAME, belief="exact").belief is None  # type: ignore[attr-defined]
    tiny = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)  # particles find its views
    drawn = upgrade("smartbot", tiny, belief="particles:particles=50", epsilon=0.1)
    assert (drawn.belief, drawn.epsilon) == (Particles(50, epsilon=0.1), 0.0)  # type: ignore[attr-defined]
    grounded = upgrade("smartbot", GAME, belief="grounded").belief  # type: ignore[attr-defined]
    assert repr(grounded) == "Learned(model=Grounded)"
    with pytest.raises(ConfigError, match="belief must be one of exact, grounded, particles, "):
        upgrade("smartbot", GAME, belief="foo")


def test_models_by_name() -> None:
    pytest.importorskip("torch")
    for belief in ("smartnet", Learned("smartnet")):
        agent = upgrade("smartnet", GAME, Lbs(depth=16), belief=belief)
        assert repr(agent.belief) == "Learned(model=NetworkBelief('smartnet'))"  # type: ignore[attr-defined]
    view = GAME.deal(np.random.default_rng(0), 1).view(0)
    with pytest.raises(ConfigError, match="model must be loaded where upgrade does not do it"):
        Learned("smartnet")(upgrade("random", GAME).blueprint, view)


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_by_name_have_their_defaults(name: str) -> None:
    valued = from_callable(lambda obs, mask: mask, returns="logits", values=lambda obs, mask: obs)
    agent: Any = upgrade(valued if name == "lbs" else "smartbot", GAME, name)
    assert describe(agent.search) == describe(SEARCHES[name].make())


def test_pomcp_is_where_its_sisters_are() -> None:
    assert "Pomcp" in package.__all__ and Pomcp is package.algorithms.Pomcp
    assert repr(upgrade("smartbot", GAME, Pomcp())).startswith("Pomcp(rollouts=10000) over ")


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: load_belief_model("exact", GAME), "belief exact needs no model: .*belief=.exact"),
        (lambda: load_belief_model("particles", GAME), "needs no model: .*belief=Particles"),
        (lambda: load_belief_model(3, GAME), "a belief model must be a name or a file, got 3"),  # type: ignore[arg-type]
        (lambda: evaluate(GAME, "random", games=1, progress="yes"), "progress must be True, Fal"),  # type: ignore[arg-type]
        (lambda: evaluate(GAME, "random", games=1, on_game=3), "on_game must be a function of"),  # type: ignore[arg-type]
        (lambda: RuleAgent(3), "rules must be a list of rules, as .*got 3"),  # type: ignore[arg-type]
        (lambda: RuleAgent("vdb"), "got 'vdb': load_policy..vdb., game. loads an agent"),  # type: ignore[arg-type]
        (lambda: Particles(0), "particles must be an integer of at least 1, got 0"),
        (lambda: Particles("many"), "particles must be an integer of at least 1, got 'many'"),  # type: ignore[arg-type]
        (lambda: Particles(3, seed=-1), "seed must be an integer of at least 0, got -1"),
        (lambda: Learned(3), "model must be a BeliefModel, or the name of one, got 3"),  # type: ignore[arg-type]
        (lambda: upgrade("vdb", GAME, Sparta(continuation="foo")), "continuation must be one of"),
        (lambda: upgrade("vdb", GAME, "foo"), "search must be one of sparta, joint-sparta, "),
        (lambda: upgrade("vdb", GAME, "sparta:rollouts=3"), r"has its defaults by name, .*Sparta"),
        (
            lambda: evaluate(GAME, ("vdb", Sparta()), games=1),
            r"upgrade\(policy, game, Sparta\(\)\)",
        ),  # type: ignore[arg-type]
        (lambda: RisMcts(rules="table-2"), "RisMcts has no rules: its guide proposes moves"),  # type: ignore[call-arg]
        (lambda: RisMcts(guide="table-2"), "guide must be a policy that proposes moves, as Rule"),  # type: ignore[arg-type]
    ],
)
def test_what_is_given_by_mistake_is_refused_with_the_way_out(
    made: Callable[[], Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        made()


def test_rollouts_without_values_are_refused_before_a_game_is_dealt() -> None:
    for search in (Sparta(depth=4), Lbs(), "lbs"):
        with pytest.raises(UnsupportedError, match=r"SmartBot has not \(.*\): use depth None"):
            upgrade("smartbot", GAME, search)


def test_an_agent_of_another_game_is_refused_before_anything_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(HanabiSearchError, match=r"expected an agent for HanabiGame.players=2"):
        evaluate(GAME, upgrade("smartbot", THREE), games=1)
    assert not caplog.records


class Silent(UniformPolicy):
    """Stochastic, and does not say its probabilities."""

    probabilities = Policy.probabilities


class MoversValue(UniformPolicy, Value):
    combine = "mover"

    def value(self, view: Any, memory: Any) -> Any:
        return np.zeros(len(view))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: upgrade("random", load_game("skat")), "more than max_deals=50000 deals to list"),
        (lambda: upgrade("random", load_game("bridge")), r"bridge.BridgeBidding\(\)"),
        (lambda: upgrade("random", load_game("hearts"), Mds()), r"belief=Redealt\(\)"),
        (
            lambda: upgrade("random", BridgeBidding(), RisMcts()),
            r"draws hidden information anew, which bridge.* cannot .*: MoIsmcts\(\)",
        ),
        (
            lambda: upgrade("random", HanabiGame(players=2, observation_type="seer")),
            "a seer sees its own hand, .* leave out observation_type, got HanabiGame",
        ),
        (
            lambda: upgrade(
                "random", HanabiGame(players=2, observation_type="seer"), JointSparta()
            ),
            "a seer sees its own hand",
        ),
        (lambda: upgrade(Silent(), GAME), r"Silent is stochastic .* override probabilities"),
        (lambda: upgrade(Silent(), GAME, Mds()), r"Silent is stochastic .* override probabilities"),
        (
            lambda: upgrade(MoversValue(), load_game("kuhn_poker"), Lbs()),
            "need identical rewards, got zero_sum in kuhn_poker",
        ),
    ],
)
def test_what_can_never_work_is_refused_by_upgrade(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(UnsupportedError, match=says):
        make()


def test_what_can_work_at_some_seat_is_not_refused() -> None:
    search = Sparta(rollouts=20, min_rollouts=1)
    mixed = upgrade((Silent(), UniformPolicy()), GAME, search)
    assert len(evaluate(GAME, (mixed, "random"), games=1).games) == 1
    alone = upgrade(Silent(), GAME, MoIsmcts(iterations=5))  # takes no move as evidence
    assert len(evaluate(GAME, (alone, Silent()), games=1).games) == 1
    upgrade("random", load_game("hearts"), belief=Redealt())
