"""What pages and forms may say: everything else is refused, whatever it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

pytest.importorskip("starlette", reason="needs the extra web")
from hanabi_search_plugin.cli.table_plans import (
    BUDGETS,
    choices,
    offered_beliefs,
    offered_policies,
    offered_searches,
    plan_of_wish,
)
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.hanabi.files.shown_beliefs import ModelBeliefs
from hanabi_search_plugin.serving.page_messages import (
    LONGEST,
    PageMessage,
    read_message,
    read_wish,
)
from tests.helpers.web_tables import SMALL, wish

JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=20),
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
KINDS = ("move", "advise", "hush", "take_back", "stop", "again", "analyse")


def test_messages_of_pages() -> None:
    assert read_message('{"kind": "move", "turn": 3, "action": 7}') == PageMessage(
        kind="move", turn=3, action=7
    )
    assert read_message(b'{"turn": 0, "kind": "advise"}').kind == "advise"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a message must be a JSON object"),
        ("[]", "a message must be a JSON object, got []"),
        ("{" * 3000, "a message must be a JSON object"),
        ("x" * (LONGEST + 1), f"at most {LONGEST} characters, got {LONGEST + 1}"),
        ('{"kind": "move"}', "turn is missing"),
        ('{"kind": "cheat", "turn": 0}', "kind must be one of move, advise"),
        ('{"kind": "move", "turn": 0}', "a move must have an action"),
        ('{"kind": "stop", "turn": 0, "action": 1}', "and nothing else may"),
        ('{"kind": "move", "turn": true, "action": 1}', "turn must be an integer, got true"),
        ('{"kind": "move", "turn": -1, "action": 1}', "turn must be from 0"),
        ('{"kind": "move", "turn": 0, "action": 1e3}', "action must be an integer"),
        ('{"kind": "move", "turn": 0, "action": -1}', "action must be the id of one"),
        ('{"kind": "hush", "turn": 0, "seat": 1}', "'seat' is no field of it"),
        ('{"kind": "hush", "turn": NaN}', "a message must be a JSON object"),
    ],
    ids=str,
)
def test_what_is_no_message_is_refused(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_message(text)
    assert says in str(refused.value) and len(str(refused.value)) < 300


@settings(max_examples=300, deadline=None)
@given(
    some.text()
    | some.binary()
    | JSON.map(json.dumps)
    | some.fixed_dictionaries(
        {"kind": some.sampled_from(KINDS) | JSON, "turn": some.integers() | JSON},
        optional={"action": some.integers() | JSON, "more": JSON},
    ).map(json.dumps)
)
def test_anything_is_a_message_or_refused(text: str | bytes) -> None:
    try:
        message = read_message(text)
    except ConfigError:
        return
    assert message.kind in KINDS and message.turn >= 0
    assert (message.action is not None) == (message.kind == "move")
    assert message.action is None or message.action >= 0


SEAT: dict[str, Any] = {"who": "policy", "policy": "smartbot", "search": "none", "options": {}}
TABLE: dict[str, Any] = {"config": {}, "advice": 100, "seats": [SEAT | {"who": "person"}, SEAT]}


def beside(**seat: Any) -> dict[str, Any]:
    """A seat beside a person's."""
    return {"seats": [TABLE["seats"][0], SEAT | seat]}


@settings(max_examples=150, deadline=None)
@given(
    some.text()
    | JSON.map(json.dumps)
    | some.fixed_dictionaries(
        {
            "config": some.dictionaries(
                some.sampled_from(("colors", "ranks", "hand_size", "bomb", "players", "x")),
                JSON,
                max_size=2,
            )
            | JSON,
            "advice": some.integers() | JSON,
            "seats": some.lists(
                some.fixed_dictionaries(
                    {
                        "who": some.sampled_from(("person", "policy")) | JSON,
                        "policy": some.sampled_from(("random", "network:file=x", "/etc/passwd"))
                        | JSON,
                        "search": some.sampled_from(("none", "sparta", "joint-sparta")) | JSON,
                        "options": some.dictionaries(
                            some.sampled_from(("rollouts", "evaluation")), JSON
                        ),
                    }
                )
                | JSON,
                max_size=5,
            )
            | JSON,
        },
        optional={"seed": JSON, "belief": some.sampled_from(("hints", "/etc/passwd")) | JSON},
    ).map(json.dumps)
)
def test_any_form_is_a_table_or_refused(text: str) -> None:
    try:
        plan = plan_of_wish(read_wish(text))
    except ConfigError:
        return
    assert plan.people and len(plan.names) == plan.game.num_players


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seats": [SEAT]}, "seats must be a list of 2 to 5"),
        ({"seats": [SEAT, SEAT]}, "seats must have a person"),
        ({"extra": 1}, "a table must have advice, belief, config, seats, seed"),
        ({"config": {"players": 5}}, "a setting of the game must be one of colors"),
        ({"config": {"observation_type": "seer"}}, "a setting of the game must be one of"),
        ({"config": {"colors": 9}}, "colors must be from 1 to 5, got 9"),
        ({"config": {"bomb": ["zero"]}}, "bomb must be one of"),
        ({"advice": 0}, "advice must be an integer of at least 1"),
        ({"advice": 10**9}, "advice must be an integer from 1 to 100000"),
        ({"belief": "pyproject.toml"}, "belief must be one of exact, hints, grounded, "),
        ({"belief": 3}, "a table must be as the form has it"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"seats": [SEAT | {"who": "person", "search": "sparta"}, SEAT]}, "must have no search"),
        (beside(policy="network:file=a.safetensors"), "policy must be one of"),
        (beside(policy="pyproject.toml"), "policy must be one of"),
        (beside(policy="openspiel:uniform_random"), "policy must be one of"),
        (beside(search="joint-sparta"), "search must be one of"),
        (beside(search="lbs"), "policy must be a network with values at every seat"),
        (
            beside(search="sparta", options={"rollouts": 10**7}),
            "rollouts must be an integer from 1 to 100000",
        ),
        (
            beside(search="ris-mcts", options={"evaluation": "x.safetensors"}),
            "an option of a search must be one of",
        ),
        (
            beside(search="sparta", options={"iterations": 5}),
            "iterations is not an option of sparta",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_form_asks_for_what_is_offered_alone(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        plan_of_wish(read_wish(json.dumps(TABLE | change)))
    assert says in str(refused.value)


def test_the_belief_of_an_analysis_is_one_of_those_offered() -> None:
    assert choices()["beliefs"] == offered_beliefs() and "rlnet" in offered_beliefs()
    shown = plan_of_wish(wish("person", "smartbot", belief="hints", **SMALL)).belief
    assert shown == "hints"
    assert plan_of_wish(wish("person", "smartbot", **SMALL)).belief == "exact"
    with pytest.raises(ConfigError, match="belief rlnet is for games of hanabi with"):
        plan_of_wish(wish("person", "smartbot", belief="rlnet", **SMALL))
    grounded = plan_of_wish(wish("person", "smartbot", belief="grounded", **SMALL)).belief
    assert isinstance(grounded, ModelBeliefs) and grounded.name == "grounded"


def test_what_is_offered_can_be_had() -> None:
    offered = choices()
    assert {one["name"] for one in offered["policies"]} == set(offered_policies())
    assert not [name for name in offered_policies() if name == "network" or ":" in name]
    assert {"sparta", "ris-mcts", "mds"} <= set(offered_searches())
    for one in offered["searches"]:
        assert one["budget"]["default"] <= BUDGETS[one["budget"]["name"]]
    plan = plan_of_wish(wish("person", "vdb+sparta=1000", "hatbot", "person", advice=500))
    assert plan.people == (0, 3) and plan.names == ("human", "vdb+sparta", "hatbot", "human")
    assert plan.searches == (None, "sparta, 1,000 rollouts", None, None)
    assert plan.advice == "sparta, 500 rollouts"
