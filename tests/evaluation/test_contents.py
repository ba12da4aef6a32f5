"""A run goes on only with the code, weights and attributes that it was begun with."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import (
    ConfigError,
    HanabiGame,
    Sparta,
    UniformPolicy,
    evaluate,
    from_callable,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.evaluation.contents import contents_of

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
SIZE = GAME.deal(np.random.default_rng(0), 1).view(0).observation("openspiel").shape[1]
SEARCH = Sparta(rollouts=60, min_rollouts=2)


def logits(f: Callable[..., Any]) -> Policy:
    return from_callable(f, returns="logits")


def times(factor: int) -> Callable[..., Any]:
    def f(obs: Any, mask: Any) -> Any:
        return mask * factor

    return f


class Weighted(UniformPolicy):
    """Plays by an array, deep in its attributes."""

    def __init__(self, *weights: float) -> None:
        self._kept = {"weights": [np.array(weights)]}

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        return np.argmax(legal * self._kept["weights"][0].sum(), axis=1)


class Edited(UniformPolicy):
    """What ``Weighted`` is not."""

    def __init__(self, *weights: float) -> None:
        self._kept = {"weights": [np.array(weights)]}

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        return np.argmin(legal * self._kept["weights"][0].sum(), axis=1)


class Slotted:
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, obs: Any, mask: Any) -> Any:
        return mask * self.number


TABLE = {"factor": 1}


def by_table(obs: Any, mask: Any) -> Any:
    return mask * TABLE["factor"]


def scaled(obs: Any, mask: Any, by: int) -> Any:
    return mask * by


DIFFERENT: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "code": (lambda: logits(lambda o, m: m + 1), lambda: logits(lambda o, m: m + 2)),
    "names": (lambda: logits(lambda o, m: m.sum()), lambda: logits(lambda o, m: m.min())),
    "closure": (lambda: logits(times(1)), lambda: logits(times(2))),
    "attribute": (lambda: Weighted(1.0), lambda: Weighted(1.0, 2.0)),
    "slot": (lambda: logits(Slotted(1)), lambda: logits(Slotted(2))),
    "method": (lambda: Weighted(1.0), lambda: Edited(1.0)),
    "partial": (lambda: logits(partial(scaled, by=1)), lambda: logits(partial(scaled, by=2))),
    "blueprint": (
        lambda: upgrade(logits(times(1)), GAME, SEARCH),
        lambda: upgrade(logits(times(2)), GAME, SEARCH),
    ),
    "objective": (
        lambda: upgrade("smartbot", GAME, Sparta(objective=lambda score: score > 1)),
        lambda: upgrade("smartbot", GAME, Sparta(objective=lambda score: score > 2)),
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_told_apart_and_the_same_made_again_is_not(name: str) -> None:
    one, other = DIFFERENT[name]
    assert contents_of(one()) == contents_of(one())
    assert contents_of(one()) != contents_of(other())


def test_what_code_names_from_outside_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents_of(logits(by_table))
    monkeypatch.setitem(TABLE, "factor", 2)
    assert contents_of(logits(by_table)) != before


@pytest.mark.parametrize("name", ["smartbot", "hatbot", "vdb", "evalfn", "random"])
def test_policies_of_the_package_are_told_by_their_settings_alone(name: str) -> None:
    policy = load_policy(name, HanabiGame(players=2))
    assert contents_of(policy) == (None, ())


def test_playing_changes_nothing() -> None:
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(SIZE, GAME.num_actions))
    policies = logits(net), upgrade(logits(net), GAME, SEARCH)
    before = [contents_of(policy) for policy in policies]
    evaluate(GAME, policies, games=2)
    assert [contents_of(policy) for policy in policies] == before
    assert before[0].digest is not None


def test_weights_count() -> None:
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(SIZE, GAME.num_actions)
    for way in (
        logits(net),
        logits(lambda obs, mask: net(torch.as_tensor(obs, dtype=net.weight.dtype)).detach()),
    ):
        before = contents_of(way)
        with torch.no_grad():
            net.weight += 1
        assert contents_of(way) != before


def test_another_process_finds_the_same(tmp_path: Path) -> None:
    program = tmp_path / "own.py"
    program.write_text(
        "import numpy as np\n"
        "from hanabi_search_plugin import UniformPolicy, from_callable\n"
        "from hanabi_search_plugin.evaluation.contents import contents_of\n"
        "class Own(UniformPolicy):\n"
        "    def __init__(self):\n"
        "        self.kept, self.names = np.arange(3), {'a', 'b', 'c'}\n"
        "print(contents_of(Own()).digest)\n"
        "print(contents_of(from_callable(lambda obs, mask: mask, returns='logits')).digest)\n"
    )
    said = {
        subprocess.run(
            [sys.executable, str(program)], check=True, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    }
    assert len(said) == 1
    assert "None" not in said.pop()


def test_a_run_does_not_go_on_with_another_policy(tmp_path: Path) -> None:
    kept = tmp_path / "run.jsonl"
    seats = (Weighted(1.0), upgrade(Weighted(1.0), GAME, SEARCH))
    first = evaluate(GAME, seats, games=2, resume=kept)
    again = evaluate(GAME, seats, games=2, resume=kept)
    assert again.scores.tolist() == first.scores.tolist()
    others = (Weighted(1.0), upgrade(Weighted(2.0), GAME, SEARCH))
    with pytest.raises(ConfigError, match=r"the code, weights or attributes of policies\[1\] are"):
        evaluate(GAME, others, games=2, resume=kept)
    with pytest.raises(ConfigError, match=r"policies\[0\].type is"):
        evaluate(GAME, (Edited(1.0), seats[1]), baseline=seats[0], games=2, resume=kept)


def test_a_run_begun_before_contents_were_kept_goes_on(tmp_path: Path) -> None:
    kept = tmp_path / "run.jsonl"
    evaluate(GAME, Weighted(1.0), games=2, resume=kept)
    header, *lines = kept.read_text().splitlines()
    assert '"contents":' in header
    start = header.index(',"contents":')
    kept.write_text("\n".join([header[:start] + "}}", *lines]) + "\n")
    assert len(evaluate(GAME, Weighted(1.0), games=2, resume=kept).games) == 2


def test_what_does_not_tell_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    policy = Weighted(1.0)
    policy._kept["open"] = [threading.Lock(), (number for number in range(3))]  # type: ignore[list-item]
    with caplog.at_level(logging.WARNING, "hanabi_search_plugin"):
        evaluate(GAME, policy, games=1, resume=tmp_path / "run.jsonl")
    assert "nothing tells whether generator of policies[0] is what it was" in caplog.text
