"""Blueprints by name: options, registration, and the measured scores that listings show."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import (
    ConfigError,
    HanabiConfig,
    HanabiGame,
    SmartBot,
    Sparta,
    UniformPolicy,
    UnknownPartners,
    UnsupportedError,
    evaluate,
    private_belief,
    public_belief,
    registry,
    upgrade,
)
from hanabi_search_plugin.core.errors import ContractError
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.public_belief import PublicBelief
from hanabi_search_plugin.hanabi.bots.scores import self_play_scores
from hanabi_search_plugin.registry import load_policy, networks, policies, register_policy
from hanabi_search_plugin.testing import check_agent, check_belief, check_game, check_policy


@pytest.fixture
def empty_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test registers is forgotten."""
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))


class Remembers(UniformPolicy):
    def __init__(self, game: HanabiGame, **options: Any) -> None:
        self.game, self.options = game, options


def test_a_policy_of_ones_own_is_found_by_name_with_its_options(empty_place: None) -> None:
    options = {name: "an option" for name in ("real", "whole", "word", "flag", "other")}
    register_policy("my-own", Remembers, description="mine", source="me", options=options)
    assert policies()[-1].name == "my-own"
    game = HanabiGame(players=4)
    found = load_policy("my-own:real=0.5:whole=3:word=any-giver:flag:other=false", game)
    assert isinstance(found, Remembers)
    assert found.game is game
    assert found.options == {
        "real": 0.5,
        "whole": 3,
        "word": "any-giver",
        "flag": True,
        "other": False,
    }


def test_a_name_stands_for_a_policy_wherever_one_is_asked_for() -> None:
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
    bot = load_policy("smartbot", game)
    named, given = (evaluate(game, policy, games=2) for policy in ("smartbot", bot))
    assert named.games == given.games
    agent = upgrade("smartbot", game)
    assert isinstance(agent.blueprint[1], SmartBot) and agent.search == Sparta()
    check_policy(game, "smartbot", games=1)
    check_agent(game, "smartbot", partner="vdb")
    check_belief(game, ("smartbot", "vdb"), games=1)


def test_a_class_given_for_a_thing_is_named_with_what_to_write() -> None:
    game: Any = HanabiGame(players=2)
    a_class: Any = SmartBot
    policy = r"expected a Policy, or 2 of them, one a seat, got the class SmartBot: "
    policy += r"write SmartBot\(\), not SmartBot$"
    for use in (
        lambda: evaluate(game, a_class, games=1),
        lambda: evaluate(game, "smartbot", games=1, baseline=(SmartBot(), a_class)),
        lambda: upgrade(a_class, game, Sparta()),
        lambda: check_policy(game, a_class),
        lambda: check_agent(game, a_class),
        lambda: check_agent(game, "smartbot", partner=a_class),
        lambda: check_belief(game, a_class),
    ):
        with pytest.raises(UnsupportedError, match=policy):
            use()
    says = r"expected candidates that are policies, got the class SmartBot: write SmartBot\(\)"
    with pytest.raises(UnsupportedError, match=says):
        UnknownPartners([load_policy("vdb"), a_class])
    a_search: Any = Sparta
    with pytest.raises(ConfigError, match=r"got the class Sparta: write Sparta\(\), not Sparta$"):
        upgrade("smartbot", game, a_search)
    a_game: Any = HanabiGame
    says = r"expected a Game of this package, got the class HanabiGame: write HanabiGame\(\), not"
    for use in (
        lambda: evaluate(a_game, "smartbot", games=1),
        lambda: upgrade("smartbot", a_game),
        lambda: load_policy("smartbot", a_game),
        lambda: check_game(a_game),
    ):
        with pytest.raises(UnsupportedError, match=says):
            use()


def test_errors_say_what_there_is(empty_place: None) -> None:
    with pytest.raises(ConfigError, match=r"policy must be one of smartbot, .*, got 'smartboot'"):
        load_policy("smartboot")
    with pytest.raises(ConfigError, match="options of policy smartbot are none, got 'strict'"):
        load_policy("smartbot:strict")
    for name, reason in (("smartbot", "taken"), ("a:b", "letters"), ("", "letters")):
        with pytest.raises(ConfigError, match=reason):
            register_policy(name, Remembers, description="", source="")


def test_networks_are_listed_without_pytorch_and_loaded_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert networks()[-1].name == "network" and networks()[-1].description
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UnsupportedError, match="a network needs PyTorch: pip install"):
        load_policy("network:file=anywhere")


def test_every_policy_says_what_it_is_in_a_line() -> None:
    for entry in policies():
        assert entry.description and entry.source
        assert "\n" not in entry.description + entry.source
        assert len(entry.description) < 100
        assert isinstance(entry.load(HanabiConfig()), Policy)
        repr(entry.load(HanabiConfig()))


def test_scores_are_there_for_every_policy() -> None:
    scores = self_play_scores()
    assert {entry.name for entry in policies()} <= set(scores)
    for name in scores:
        load_policy(name)  # with its options
    for name, rows in scores.items():
        assert set(rows) == {"2", "3", "4", "5"}, name
        for row in rows.values():
            assert row["games"] >= 20_000
            assert 0 <= row["zero"][0] <= row["keep"][0] <= 25


@pytest.mark.parametrize("players", [2, 5])
@pytest.mark.parametrize("name", [entry.name for entry in policies()])
def test_scores_are_those_of_the_policies_as_they_are(name: str, players: int) -> None:
    """On other decks than those measured."""
    game = HanabiGame(players=players, bomb="keep")
    played = evaluate(game, load_policy(name, game), games=500, seed=99)
    lives = np.array([result.lives_left for result in played.games])
    row = self_play_scores()[name][str(players)]
    for convention, scores in (
        ("keep", played.scores),
        ("zero", np.where(lives > 0, played.scores, 0.0)),
    ):
        mean, error = row[convention]
        spread = math.hypot(scores.std(ddof=1) / math.sqrt(500), error)
        assert abs(scores.mean() - mean) <= 4 * spread, convention


def test_the_documented_tables_are_those_measured() -> None:
    benchmarks = pytest.importorskip("benchmarks.blueprints")
    text = Path(benchmarks.PAGE).read_text()
    assert benchmarks.page(text) == text


def test_refusals_name_the_way_out() -> None:
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)

    class Silent:
        def __call__(self, rng: Any, belief: Any) -> Any:
            return 3

    silent: Any = Silent()
    anything: Any = 2
    assert repr(upgrade("smartbot", game, silent)).startswith(
        "Silent() over SmartBot on HanabiGame"
    )
    for use, error, says in (
        (
            lambda: upgrade("smartbot"),
            ConfigError,
            r"upgrade\('smartbot', HanabiGame\(players=2\)\)",
        ),
        (lambda: HanabiGame(anything), ConfigError, r"got 2: .* HanabiGame\(players=2\)$"),
        (lambda: HanabiGame(colrs=2), ConfigError, r"got \['colrs'\]: did you mean colors\?"),
        (
            lambda: evaluate(game, ("smartbot", upgrade("smartbot", game, silent)), games=1),
            ContractError,
            r"Silent\(\) must return a SearchResult, got int: SearchResult\(action=",
        ),
        (lambda: load_policy("smrtbot", game), ConfigError, r"did you mean smartbot"),
    ):
        with pytest.raises(error, match=says):
            use()


def test_a_network_without_a_file_says_how_to_give_one() -> None:
    pytest.importorskip("torch")
    with pytest.raises(ConfigError, match=r"network needs a file: network:file=PATH"):
        load_policy("network")


@pytest.mark.parametrize("wrong", [1, None, b"smartbot"])
def test_a_name_is_a_text_or_a_path(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="policy must be a name or a network's file, got"):
        load_policy(wrong)
    with pytest.raises(ConfigError, match=r"got nowhere\.safetensors, which is no file"):
        load_policy(Path("nowhere.safetensors"))


def test_what_is_registered_must_be_a_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))

    def five(game: Any) -> Any:
        return 5

    registry.register_policy("five", five, description="none", source="here", any_game=True)
    with pytest.raises(UnsupportedError, match="expected a Policy of 'five', got an int"):
        load_policy("five", HanabiGame(players=2))


def test_beliefs_take_names() -> None:
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
    view = game.deal(np.random.default_rng(0), 1).view(0)
    named = private_belief(game, "iggi", view)
    assert named.size == private_belief(game, load_policy("iggi", game), view).size
    assert isinstance(public_belief(game, ("iggi", "smartbot"), view), PublicBelief)
    with pytest.raises(ConfigError, match="smartbot"):
        private_belief(game, "smartbott", view)
