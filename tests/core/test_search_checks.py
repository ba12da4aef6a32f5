"""``check_search`` passes the searches of this package, and finds what is wrong with others."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import (
    Grounded,
    HanabiGame,
    JointSparta,
    Lbs,
    Learned,
    Mds,
    MoIsmcts,
    Particles,
    Predictor,
    RisMcts,
    RuleAgent,
    SearchResult,
    SoIsmcts,
    Sparta,
    UniformPolicy,
    from_callable,
)
from hanabi_search_plugin.algorithms import Pomcp
from hanabi_search_plugin.core.errors import ConfigError, ContractError
from hanabi_search_plugin.hanabi import TABLE_II
from hanabi_search_plugin.testing import check_search
from hanabi_search_plugin.testing.search_checks import Ladder
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

ROOT = Path(__file__).parents[2]
SMALL = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
TINY = OpenSpielGame("tiny_hanabi")
BUDGET: dict[str, Any] = {"rollouts": 120, "min_rollouts": 6, "round_size": 10}


@pytest.mark.parametrize(
    ("search", "exact"),
    [
        (Sparta(**BUDGET), True),
        (Sparta(**BUDGET, pruning="off", threshold=0.0), True),
        (Sparta(**BUDGET, pruning="independent", reallocate=False), True),
        (Sparta(rollouts=2), False),  # fewer than there are moves
        (Sparta(**BUDGET, candidates=2), True),
        (Lbs(**BUDGET, depth=None), True),
        (JointSparta(**BUDGET, max_range=10), False),
        (Mds(rollouts=120, softening=0.1), True),
        (Mds(rollouts=120, eta=math.inf, softening=0.1, greedy=True), True),
        (Pomcp(**BUDGET), False),
        (SoIsmcts(iterations=30), False),
        (MoIsmcts(iterations=30), False),
        (RisMcts(iterations=30), False),
        (RisMcts(iterations=30, guide=RuleAgent(TABLE_II)), False),
        (Predictor(iterations=30), False),
    ],
    ids=repr,
)
def test_the_searches_of_this_package_pass(search: Any, exact: bool) -> None:
    check_search(SMALL, search, exact=exact)
    if getattr(search, "guide", None) is None:
        check_search(TINY, search, exact=exact)


def test_searches_over_other_beliefs_pass() -> None:
    for belief in (Learned(Grounded(SMALL)), Particles(400)):
        check_search(SMALL, Sparta(**BUDGET), policy="iggi", belief=belief)
    valued = from_callable(
        lambda obs, mask: mask.astype(float), returns="logits",
        values=lambda obs, mask: obs.mean(axis=1), combine="mean",
    )  # fmt: skip
    check_search(SMALL, Lbs(depth=2, rollouts=60, min_rollouts=5), policy=valued)
    check_search(SMALL, JointSparta(depth=2, rollouts=60, min_rollouts=5), policy=valued)


@dataclass(frozen=True)
class Wrong:
    """Sparta, and something wrong with it."""

    name: str
    calls: Any = field(default_factory=itertools.count, repr=False, compare=False)
    seen: list[int] = field(default_factory=list, repr=False, compare=False)

    def __call__(self, rng: np.random.Generator, belief: Any) -> Any:
        wrong: Any = getattr(self, self.name)
        return wrong(Sparta(**BUDGET)(rng, belief), belief)

    def no_result(self, result: SearchResult, belief: Any) -> Any:
        return result.action

    def illegal(self, result: SearchResult, belief: Any) -> SearchResult:
        return replace(result, action=int(belief.view.legal[0].argmin()))

    def counts(self, result: SearchResult, belief: Any) -> SearchResult:
        """Another decision every time it is asked."""
        return replace(result, rollouts=next(self.calls))

    def remembers(self, result: SearchResult, belief: Any) -> SearchResult:
        """The same for a while: it remembers what it was asked."""
        self.seen.append(result.action)
        return result

    def biased(self, result: SearchResult, belief: Any) -> SearchResult:
        low, high = belief.game.return_range
        return replace(result, mean=np.clip(result.mean + (high - low) / 2, low, high))

    def outside(self, result: SearchResult, belief: Any) -> SearchResult:
        return replace(result, mean=result.mean + 100)

    def untold(self, result: SearchResult, belief: Any) -> SearchResult:
        return replace(result, reason="improved")

    def negative(self, result: SearchResult, belief: Any) -> SearchResult:
        return replace(result, count=-result.count)

    def crashes(self, result: SearchResult, belief: Any) -> SearchResult:
        """Where more than one move is legal there must be two that are compared."""
        second = np.partition(result.mean, -2)[-2]  # fails for one
        return replace(result, note=f"second {second}")

    def no_means(self, result: SearchResult, belief: Any) -> SearchResult:
        nothing = np.full(len(result.mean), np.nan)
        return replace(result, mean=nothing, stderr=nothing, count=result.count * 0)

    def differs(self, result: SearchResult, belief: Any) -> SearchResult:
        """Differs and breaks the contract, too: that comes of the first."""
        return replace(result, rollouts=next(self.calls), reason="improved")

    def keeps_arrays(self, result: SearchResult, belief: Any) -> SearchResult:
        return replace(result, note=np.array("a note"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no_result", "must return a SearchResult, got int"),
        ("illegal", "must return one of the legal actions"),
        ("counts", r"when it is asked again with the same seed: rollouts \d+ and \d+"),
        ("remembers", "a decision changed the search"),
        ("no_means", r"exact=True has nothing to compare, since none of \d+ decisions has a mean"),
        ("differs", "it decides another way when it is asked again with the same seed"),
        ("outside", "must return means from 0.0 to 5.0, the returns of ladder"),
        ("biased", r"the mean of action \d over \d+ rollouts must be within .* brute force gives"),
        ("untold", "must return a reason to stay with it, got improved"),
        ("negative", "must return counts of at least 0"),
        ("keeps_arrays", "must return a note in words"),
    ],
)
def test_what_is_wrong_with_a_search_is_said(name: str, says: str) -> None:
    with pytest.raises(ContractError, match=rf"Wrong\(name='{name}'\).*{says}"):
        check_search(Ladder(), Wrong(name), policy=UniformPolicy(), exact=True)


def test_a_search_with_other_arguments_is_told_how_it_is_called() -> None:
    def swapped(belief: Any, rng: np.random.Generator) -> SearchResult:
        return Sparta(**BUDGET)(rng, belief)

    def alone(belief: Any) -> SearchResult:
        return swapped(belief, np.random.default_rng(0))

    for search in (swapped, alone):
        with pytest.raises(ContractError, match=r"called as search\(rng, belief\), got \(belief"):
            check_search(TINY, search)  # type: ignore[arg-type]


def test_a_search_that_fails_at_one_legal_move_is_found() -> None:
    with pytest.raises(ValueError, match=r"(?s)^kth.*\nin Wrong\(name='crashes'\), check_search$"):
        check_search(TINY, Wrong("crashes"))


@dataclass(frozen=True)
class ByThreads:
    """Draws other worlds where it has more threads."""

    threads: int = 1

    def __call__(self, rng: np.random.Generator, belief: Any) -> SearchResult:
        rng.random(self.threads)
        return Sparta(rollouts=60, min_rollouts=5)(rng, belief)


def test_threads_that_change_a_decision_are_found() -> None:
    with pytest.raises(ContractError, match=r"decides another way with threads=2: .*mean"):
        check_search(SMALL, ByThreads())


def test_a_team_has_no_brute_force() -> None:
    with pytest.raises(ConfigError, match="exact must be False for a search of a team"):
        check_search(SMALL, JointSparta(), exact=True)


def test_the_search_of_the_page_on_plugins_serves_any_game() -> None:
    page = ROOT / "docs" / "how_to" / "plugins.md"
    section = page.read_text(encoding="utf-8").partition("\n## A search\n")[2]
    (code,) = re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)
    names: dict[str, Any] = {"__name__": "snippet"}
    exec(compile(code, page.name, "exec"), names)
    check_search(TINY, names["first_best"], exact=True)
    check_search(SMALL, names["first_best"], policy=RuleAgent(TABLE_II), exact=True)
