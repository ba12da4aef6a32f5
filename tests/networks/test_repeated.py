"""A function that is called again and again, and recorded on a GPU."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hanabi_search_plugin import HanabiConfig
from hanabi_search_plugin.networks.tensors import repeated
from hanabi_search_plugin.networks.tensors.repeated import Repeated
from hanabi_search_plugin.networks.training.self_play import learn_by_self_play
from hanabi_search_plugin.networks.training.training_settings import SelfPlay


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> str:
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    return str(request.param)


@pytest.mark.parametrize("recorded", [False, True])
def test_every_call_is_made_with_what_it_is_given(device: str, recorded: bool) -> None:
    """Of every shape, and what the function changes is changed once a call."""
    total = torch.zeros(3, device=device)

    def add(given: Sequence[Any]) -> dict[str, Any]:
        (x,) = given
        total.add_(x.sum())
        return {"doubled": 2 * x}

    repeat = Repeated(add, device, recorded=recorded)
    expected = 0.0
    for call in range(12):
        x = torch.full((2 + call % 2,), float(call), device=device)
        doubled = repeat([x])["doubled"]
        expected += call * len(x)
        assert torch.equal(doubled, 2 * x)
        assert total.tolist() == [expected] * 3


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("architecture", ["public-belief", "masks", "feed-forward", "recurrent"])
def test_a_recorded_run_is_the_run(
    architecture: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SelfPlay(
        config=HanabiConfig(colors=2, ranks=2, hand_size=2, information_tokens=3),
        architecture=architecture, iterations=4, games=16, moves=6, batch=32, epochs=2, seed=3,
    )  # fmt: skip
    rows = {}
    for warm_up in (2, 10**9):
        monkeypatch.setattr(repeated, "WARM_UP", warm_up)
        folder = tmp_path / str(warm_up)
        learn_by_self_play(settings, folder, device="cuda")
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        rows[warm_up] = [json.loads(line) for line in lines]
    told = ("score", "ended", "policy_loss", "value_loss", "entropy", "explained")
    for mine, theirs in zip(*rows.values(), strict=True):
        assert [mine[name] for name in told] == pytest.approx([theirs[name] for name in told])
