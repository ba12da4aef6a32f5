"""Runs that version 0.1 began go on: what it recorded of policies is what is told now."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hanabi_search_plugin import (
    Grounded,
    HanabiGame,
    JointSparta,
    Lbs,
    Learned,
    Mds,
    MoIsmcts,
    Predictor,
    RisMcts,
    SmartBot,
    SoIsmcts,
    Sparta,
    UnknownPartners,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.evaluation.journal import difference
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.hanabi import TABLE_II, RuleAgent
from hanabi_search_plugin.reproduce.sparta_paper import PAIRED, SEARCH

HEADERS = json.loads((Path(__file__).parents[1] / "data/golden/headers-0.1.json").read_text())
GAME = HanabiGame(players=2)


def searched(search: Any, **options: Any) -> Any:
    return upgrade(SmartBot(), GAME, search, **options)


AGENTS: dict[str, Callable[[], Any]] = {
    **{
        name: lambda name=name: load_policy(name, GAME)
        for name in ("smartbot", "hatbot", "hatbot-b", "vdb", "evalfn", "random")
    },
    "sparta": lambda: searched(Sparta(**SEARCH)),
    "joint": lambda: searched(JointSparta(**PAIRED)),
    "lbs": lambda: replace(searched(Sparta()), search=Lbs()),  # ``upgrade`` asks for values
    "mo": lambda: searched(MoIsmcts()),
    "ris": lambda: searched(RisMcts(guide=RuleAgent(TABLE_II))),
    "ris-estimates": lambda: searched(RisMcts(guide=load_policy("evalfn"), leaves="estimates")),
    "predictor": lambda: searched(Predictor()),
    "unknown-partners": lambda: searched(
        Sparta(**SEARCH), belief=UnknownPartners((SmartBot(), load_policy("vdb")))
    ),
    "grounded": lambda: searched(Sparta(**SEARCH), belief=Learned(Grounded(GAME))),
}


def test_all_headers_are_asked_for() -> None:
    assert set(AGENTS) == set(HEADERS)


@pytest.mark.parametrize("name", AGENTS)
def test_a_header_of_version_0_1_is_still_told(name: str) -> None:
    assert difference(HEADERS[name], json.loads(json.dumps(describe(AGENTS[name]())))) is None


def test_headers_hold_settings_alone() -> None:
    assert describe(load_policy("hatbot"))["routines"]["decide"] == {"type": "CPUDispatcher"}
    assert not [name for name in describe(searched(JointSparta())) if name.startswith("_")]


def test_another_setting_is_still_a_difference() -> None:
    here = json.loads(json.dumps(describe(searched(Sparta(**SEARCH | {"rollouts": 5})))))
    assert difference(HEADERS["sparta"], here) == ("search.rollouts", 10_000, 5)


@pytest.mark.parametrize("search", [Mds(), SoIsmcts()])
def test_a_search_of_before_there_were_objectives_goes_on(search: Any) -> None:
    here = json.loads(json.dumps(describe(search)))
    there = {name: value for name, value in here.items() if name != "objective"}
    assert difference({"search": there}, {"search": here}) is None
    perfect = here | {"objective": "perfect"}
    assert difference({"search": there}, {"search": perfect}) == (
        "search.objective",
        None,
        "perfect",
    )


def test_what_was_played_before_is_told_by_the_type_that_has_the_option() -> None:
    """Another search may have an option of the same name, which came with it or means another
    thing."""
    for kind, name, value in (
        ("Sparta", "errors", 0.0),
        ("JointSparta", "pruning", "paired"),
        ("Learned", "uncertainty", 0.0),
    ):
        for other in (kind, "Another"):
            told = difference([{"type": other}], [{"type": other, name: value}])
            assert told == (None if other == kind else (f"[0].{name}", None, value))
    assert difference({"type": "Mds"}, {"type": "Mds", "errors": 0.0}) == ("errors", None, 0.0)
    inner = {"type": "Sparta", "of": {"type": "Another", "errors": 0.0}}  # the nearest type counts
    assert difference({"type": "Sparta", "of": {"type": "Another"}}, inner) is not None
