"""Evaluations: paired decks, independence of threads and order, resuming, interruption."""

from __future__ import annotations

import dataclasses
import html
import io
import json
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from rich.console import Console

from hanabi_search_plugin.algorithms.ismcts import RisMcts, SoIsmcts
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.algorithms.sparta import Sparta
from hanabi_search_plugin.belief_agent import BeliefAgent, upgrade
from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.beliefs.particles import Particles
from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners
from hanabi_search_plugin.cli.commands import evaluation_table
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import (
    ConfigError,
    ContractError,
    IllegalActionError,
    RecordError,
    UnsupportedError,
)
from hanabi_search_plugin.core.game import BoolArray, Game, IntArray, View
from hanabi_search_plugin.core.plain_game import PlainGame
from hanabi_search_plugin.core.policy import Memory, Policy, UniformPolicy
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.comparison import compare
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.evaluation.evaluation_result import Evaluation
from hanabi_search_plugin.evaluation.match import FailedGame, GameResult, deal_game, deal_games
from hanabi_search_plugin.evaluation.provenance import describe, peak_rss_mb
from hanabi_search_plugin.evaluation.seating import without_search
from hanabi_search_plugin.hanabi.bots.compiled import SmartBot
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import DiscardOldest, PlayProbablySafe
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import load_policy
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, life_tokens=3)


@dataclass(frozen=True)
class LastMove:
    """A search that takes the last legal move, or with ``spread`` a random one of the last."""

    spread: int = 1

    def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
        actions = np.flatnonzero(belief.view.legal[0])
        zeros = np.zeros(len(actions))
        return SearchResult(
            action=int(actions[-1 - rng.integers(min(self.spread, len(actions)))]),
            blueprint_action=int(actions[0]),
            reason="improved" if len(actions) > 1 else "single_move",
            actions=actions,
            mean=zeros,
            stderr=zeros,
            count=np.ones(len(actions), dtype=np.int64),
            gain=0.0,
            gain_stderr=0.0,
            rollouts=len(actions),
            belief_size=belief.size,
            likelihoods=belief.likelihoods,
        )


class Lowest(Policy):
    """The lowest legal action."""

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        return legal.argmax(axis=1)


class Coin(PlainGame):
    """One player calls a coin that it does not see."""

    name = "coin"
    num_players = 1
    num_actions = 2
    return_range = (0.0, 1.0)
    max_length = 1
    public_actions = True

    def initial_states(self):
        return [(0.5, (0, None)), (0.5, (1, None))]

    def current_player(self, state):
        return None if state[1] is not None else 0

    def legal_actions(self, state):
        return [0, 1]

    def next_states(self, state, action):
        return [(1.0, (state[0], action))]

    def returns(self, state):
        return [float(state[0] == state[1])]

    def observation(self, state, player):
        return [0.0]


def searching(spread: int = 2) -> BeliefAgent:
    return upgrade(UniformPolicy(), GAME, LastMove(spread))


def line_up(spread: int = 2) -> tuple[UniformPolicy, BeliefAgent]:
    return (UniformPolicy(), searching(spread))


def same(result: GameResult) -> GameResult:
    """Without what differs from run to run."""
    return dataclasses.replace(result, cpu_seconds=0.0)


def test_numbers_of_an_evaluation_without_a_search() -> None:
    evaluation = evaluate(GAME, UniformPolicy(), games=300, seed=3)
    result = evaluation.to_dict()
    scores = np.array(result["scores"])
    assert result["games"] == 300 == len(scores)
    assert result["mean"] == pytest.approx(scores.mean())
    assert result["sem"] == pytest.approx(scores.std(ddof=1) / np.sqrt(300))
    assert result["perfect"] == pytest.approx((scores == 4).mean())
    assert 0 < result["perfect"] < 1
    bombed = [game.lives_left == 0 for game in evaluation.games]
    assert result["bombs"] == pytest.approx(np.mean(bombed))
    assert 0 < result["bombs"] < 1
    assert all(game.score == 0 for game, bomb in zip(evaluation.games, bombed, strict=True) if bomb)
    assert "gain" not in result and "rollouts_per_game" not in result
    assert result["seed"] == 3 and result["game"]["colors"] == 2
    assert set(result["versions"]) == {"python", "hanabi-search-plugin", "numpy", "numba"}
    assert result["peak_rss_mb"] > 20
    json.dumps(result, allow_nan=False)


def test_moves_and_scores_are_those_of_the_dealt_games() -> None:
    for game in evaluate(GAME, UniformPolicy(), games=5, seed=3).games:
        worlds, _ = deal_game(GAME, 3, game.game)
        for action in game.actions:
            worlds.step(np.array([action]))
        assert worlds.terminal[0]
        assert worlds.returns[0, 0] == game.score


def test_a_game_does_not_depend_on_how_many_are_played() -> None:
    many = evaluate(GAME, UniformPolicy(), games=300, seed=3, threads=2)
    few = evaluate(GAME, UniformPolicy(), games=10, seed=3)
    assert few.games == many.games[:10]
    other = evaluate(GAME, UniformPolicy(), games=10, seed=4)
    assert [game.actions for game in other.games] != [game.actions for game in few.games]


def test_dealing_one_game_is_dealing_its_block() -> None:
    block, streams = deal_games(GAME, 3, np.arange(256, 512))
    one, stream = deal_game(GAME, 3, 256 + 17)
    assert block.select(np.array([17])).view(0).keys() == one.view(0).keys()
    assert streams.state[17] == stream.state[0]


def test_a_search_is_compared_on_the_same_decks() -> None:
    heard: list[GameResult] = []
    evaluation = evaluate(GAME, line_up(), games=12, seed=3, on_game=heard.append)
    result = evaluation.to_dict()
    alone = evaluate(GAME, UniformPolicy(), games=12, seed=3)
    assert result["blueprint_scores"] == alone.to_dict()["scores"]
    difference = np.array(result["scores"]) - np.array(result["blueprint_scores"])
    assert result["gain"] == pytest.approx(difference.mean())
    assert result["gain_sem"] == pytest.approx(difference.std(ddof=1) / np.sqrt(12))
    assert {game.side for game in heard[:12]} == {"baseline"}
    searched = heard[12:]
    assert [game.game for game in searched] == list(range(12))
    decisions = [game.decisions for game in searched]
    assert all(seat == 1 for game in decisions for _, seat, _ in game)
    rollouts = sum(r.rollouts for game in decisions for _, _, r in game)
    assert result["rollouts_per_game"] == pytest.approx(rollouts / 12) != 0
    changed = sum(r.action != r.blueprint_action for game in decisions for _, _, r in game)
    assert result["changed_moves_per_game"] == pytest.approx(changed / 12) != 0
    last = [game[-1][2].likelihoods if game else 0 for game in decisions]
    assert result["likelihoods_per_game"] == pytest.approx(np.mean(last))
    for game in searched:
        for turn, _, decision in game.decisions:
            assert game.actions[turn] == decision.action
    assert result["cpu_seconds_per_game"] > 0


def test_searched_games_do_not_depend_on_threads_or_order() -> None:
    one = evaluate(GAME, line_up(), games=8, seed=3)
    two = evaluate(GAME, line_up(), games=8, seed=3, threads=2)
    assert [same(game) for game in one.games] == [same(game) for game in two.games]
    few = evaluate(GAME, line_up(), games=3, seed=3)
    assert [same(game) for game in few.games] == [same(game) for game in one.games[:3]]


def test_a_baseline_of_ones_own() -> None:
    evaluation = evaluate(GAME, UniformPolicy(), games=20, seed=3, baseline=UniformPolicy())
    assert evaluation.to_dict()["gain"] == 0  # the same decks and the same streams
    assert "cpu_seconds_per_game" not in evaluation.to_dict()


def test_without_search_gives_each_seat_its_blueprint() -> None:
    blueprint = (UniformPolicy(), UniformPolicy())
    agent = BeliefAgent(GAME, blueprint, LastMove())
    assert without_search((agent, agent)) == blueprint


def test_several_searching_seats_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    evaluate(GAME, (searching(), searching()), games=1, seed=3)
    assert "SPARTA, Table 4" in caplog.text and "seats 0, 1" in caplog.text
    assert "for_all_seats()" in caplog.text
    caplog.clear()
    evaluate(GAME, line_up(), games=1, seed=3)
    doubting = dataclasses.replace(searching(), uncertainty=0.1)
    evaluate(GAME, (doubting, doubting), games=1, seed=3)
    assert caplog.text == ""


def test_one_agent_at_all_seats_plays_what_is_sound(caplog: pytest.LogCaptureFixture) -> None:
    game = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
    agent = upgrade("smartbot", game, Sparta(rollouts=60, min_rollouts=5))
    found = evaluate(game, agent, games=2, seed=3)
    (name,) = found.names
    assert name.startswith("JointSparta(rollouts=60, max_range=80, min_rollouts=5) over SmartBot")
    assert caplog.text.count("all seats search: JointSparta(") == 1
    assert "Table 4" not in caplog.text
    caplog.clear()
    by_hand = evaluate(game, agent.for_all_seats(), games=2, seed=3)
    np.testing.assert_array_equal(by_hand.scores, found.scores)
    assert "all seats search" not in caplog.text
    # One seat searches where one seat is named.
    assert evaluate(game, [agent, "smartbot"], games=1).names[0] == repr(agent)


def test_seats_that_cannot_search_together_doubt_each_other() -> None:
    def made(search: Any, policy: Any = "random", game: Any = GAME, **options: Any) -> Any:
        return upgrade(policy, game, search, **options).for_all_seats()

    for agent in (
        made(Sparta(candidates=2)),  # an option that joint search has not
        made(Sparta(pruning="off")),  # nor this pruning
        made(Sparta(), policy=Lowest()),  # no compiled rollouts
        made(Lbs(depth=None)),
        made(Sparta(), game=OpenSpielGame("kuhn_poker")),  # no team
    ):
        assert (agent.uncertainty, agent.search.threshold) == (0.05, 0.2)
        assert not agent.assumes_blueprint
    assert made(Sparta(threshold=0.5, seconds=1.0)).search.threshold == 0.5
    assert made(LastMove()).uncertainty == 0.05
    own = made(Sparta(), epsilon=0.1)
    assert (own.epsilon, own.uncertainty) == (0.1, 0.0)  # as its owner wants it
    assert made(RisMcts()).uncertainty == 0.0  # to which moves are no evidence
    with pytest.raises(ConfigError, match=r"let one seat search.*or all together, by upgrade\("):
        made(Sparta(), belief=Particles(20))
    agent = upgrade("random", GAME, Sparta(), belief=Particles(20))
    with pytest.raises(ConfigError, match="cannot sit at every seat"):
        evaluate(GAME, agent, games=1)
    with pytest.raises(ConfigError, match="cannot sit at every seat"):
        evaluate(GAME, UniformPolicy(), baseline=agent, games=1)


def test_a_search_by_itself_has_nobody_to_doubt() -> None:
    alone = upgrade(UniformPolicy(), Coin(), LastMove())
    assert alone.assumes_blueprint
    assert alone.for_all_seats() is alone


def test_a_partner_that_breaks_its_policy_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    game = HanabiGame(players=2, colors=2, ranks=3, hand_size=2)
    agent = upgrade("smartbot", game, Sparta(rollouts=60, min_rollouts=5))
    fallen: list[str] = []

    def hear(result: GameResult) -> None:
        fallen.extend(d.note for _, _, d in result.decisions if "had to recover" in d.note)

    evaluate(game, ("random", agent), games=6, seed=1, on_game=hear)
    assert len(fallen) > 5
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len([text for text in warned if "rules out" in text]) == 1
    assert len(warned) < 5  # nothing a fall, whoever says it
    assert "of seat 1 made a move" in caplog.text and "uncertainty of 0.05" in caplog.text


def test_resuming_plays_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    evaluate(GAME, line_up(), games=3, seed=3, resume=path)
    heard: list[GameResult] = []
    resumed = evaluate(GAME, line_up(), games=6, seed=3, resume=path, on_game=heard.append)
    assert [(game.side, game.game) for game in heard] == [
        (side, i) for side in ("baseline", "policies") for i in (3, 4, 5)
    ]
    whole = evaluate(GAME, line_up(), games=6, seed=3)
    assert [same(game) for game in resumed.games] == [same(game) for game in whole.games]
    assert resumed.to_dict()["gain"] == whole.to_dict()["gain"]
    heard.clear()
    fewer = evaluate(GAME, line_up(), games=2, seed=3, resume=path, on_game=heard.append)
    assert len(fewer.games) == 2 and not heard


def test_a_line_that_was_cut_off_is_played_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    whole = evaluate(GAME, line_up(), games=3, seed=3, resume=path)
    path.write_bytes(path.read_bytes()[:-20])
    heard: list[GameResult] = []
    resumed = evaluate(GAME, line_up(), games=3, seed=3, resume=path, on_game=heard.append)
    assert [game.game for game in heard] == [2]
    assert [same(game) for game in resumed.games] == [same(game) for game in whole.games]
    assert len(path.read_text().splitlines()) == 1 + 2 * 3


def test_resuming_with_other_parameters_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    evaluate(GAME, line_up(), games=1, seed=3, resume=path)
    with pytest.raises(ConfigError, match="seed is 3 there, 4 here"):
        evaluate(GAME, line_up(), games=1, seed=4, resume=path)
    with pytest.raises(ConfigError, match=r"policies\[1\].search.spread is 2 there, 1 here"):
        evaluate(GAME, line_up(1), games=1, seed=3, resume=path)
    other = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, life_tokens=2)
    with pytest.raises(ConfigError, match=r"game\.life_tokens is 3 there, 2 here"):
        evaluate(other, UniformPolicy(), games=1, seed=3, resume=path)


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    def another(result: GameResult) -> None:
        with pytest.raises(ConfigError, match="being written by another process"):
            evaluate(GAME, line_up(), games=3, seed=3, resume=path)

    whole = evaluate(GAME, line_up(), games=3, seed=3, resume=path, on_game=another)
    again = evaluate(GAME, line_up(), games=3, seed=3, resume=path)
    assert [same(game) for game in again.games] == [same(game) for game in whole.games]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"something else", ":1: expected a file of this program"),
        (b'{"game": 1}\n', ":1: expected a file of this program"),
        (b"no json\n", ":1: expected a JSON object"),
        (b"[1]\n", ":1: expected a JSON object"),
    ],
)
def test_a_foreign_file_is_not_overwritten(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=says):
        evaluate(GAME, UniformPolicy(), games=1, resume=path)
    assert path.read_bytes() == content


def test_a_damaged_game_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    evaluate(GAME, UniformPolicy(), games=1, seed=3, resume=path)
    path.write_bytes(path.read_bytes() + b'{"side": "policies"}\n')
    with pytest.raises(RecordError, match=":3: expected a finished game"):
        evaluate(GAME, UniformPolicy(), games=1, seed=3, resume=path)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_keeps_what_is_finished(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "run.jsonl"

    def stop_after_two(result: GameResult) -> None:
        assert threading.current_thread() is threading.main_thread()
        if result.side == "policies" and result.game == 1:
            raise KeyboardInterrupt

    evaluation = evaluate(
        GAME, line_up(), games=50, seed=3, threads=threads, on_game=stop_after_two, resume=path
    )
    assert evaluation.interrupted
    finished = [game.game for game in evaluation.games]
    assert finished[:2] == [0, 1] and len(finished) < 50
    result = evaluation.to_dict()
    assert result["games"] == len(result["blueprint_scores"]) == len(finished)
    assert result["requested_games"] == 50
    with pytest.raises(KeyboardInterrupt):
        evaluation.whole()
    resumed = evaluate(GAME, line_up(), games=4, seed=3, resume=path)
    assert not resumed.interrupted
    whole = evaluate(GAME, line_up(), games=4, seed=3)
    assert [same(game) for game in resumed.games] == [same(game) for game in whole.games]


def test_an_interrupt_does_not_wait_for_a_decision() -> None:
    """Some decisions of a joint search take minutes."""
    decided, released = 0, threading.Event()

    @dataclass(frozen=True)
    class Slow(LastMove):
        def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
            nonlocal decided
            decided += 1
            if decided == 30:  # some games are finished
                main = threading.main_thread().ident
                assert main is not None
                signal.pthread_kill(main, signal.SIGINT)
                released.wait()
            return super().__call__(rng, belief)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        agent = upgrade(UniformPolicy(), GAME, Slow())
        evaluation = evaluate(GAME, (UniformPolicy(), agent), games=50, seed=3)
        assert not released.is_set() and decided == 30
    finally:
        signal.signal(signal.SIGINT, before)
        released.set()
    assert 0 < len(evaluation.games) < 50


def test_an_error_in_a_policy_is_raised() -> None:
    @dataclass(frozen=True)
    class Broken:
        def __call__(self, rng: np.random.Generator, belief: Belief) -> SearchResult:
            raise RuntimeError("broken search")

    with pytest.raises(RuntimeError, match="broken search"):
        evaluate(GAME, (UniformPolicy(), upgrade(UniformPolicy(), GAME, Broken())), games=5)


class InFloats(UniformPolicy):
    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        return super().act(view, legal, memory, rng).astype(float)


class InRows(UniformPolicy):
    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        return super().act(view, legal, memory, rng)[:, None]


class Illegal(UniformPolicy):
    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        return legal.argmin(axis=1)  # at first no card can be discarded


def test_an_illegal_action_names_its_policy() -> None:
    says = r"Illegal must play one of the legal actions \[.*\], which act is given as legal, got 0"
    for policies in (Illegal(), (Illegal(), searching())):
        with pytest.raises(IllegalActionError, match=says):
            evaluate(GAME, policies, games=2, baseline=UniformPolicy())
    view = GAME.deal(np.random.default_rng(0), 2).view(0)
    for search in (Sparta(rollouts=20), SoIsmcts(iterations=5), RisMcts(), JointSparta()):
        seats = (upgrade(Illegal(), GAME, search), UniformPolicy())
        with pytest.raises(IllegalActionError, match=says):
            evaluate(GAME, seats, games=1, baseline=UniformPolicy())
    wrong = Illegal()
    wrong.deterministic = True
    with pytest.raises(IllegalActionError, match=says):
        Policy.probabilities(wrong, view, view.legal, None)
    floats = InFloats()
    floats.deterministic = True
    with pytest.raises(ContractError, match="must act in integers, one for each of 2 worlds"):
        Policy.probabilities(floats, view, view.legal, None)


@dataclass(frozen=True)
class Returning:
    """A search that returns LastMove's result with other fields, or something else."""

    instead: Any

    def __call__(self, rng: np.random.Generator, belief: Belief) -> Any:
        if not isinstance(self.instead, dict):
            return self.instead
        return dataclasses.replace(LastMove()(rng, belief), **self.instead)


@pytest.mark.parametrize(
    ("instead", "says"),
    [
        (3, r"Returning\(instead=3\) must return a SearchResult, got int: SearchResult\(action="),
        (None, "must return a SearchResult, got NoneType"),
        ({"action": 0}, r"must return one of the legal actions \[.*\] as action, got 0"),
        ({"action": 2.0}, "must return an integer as action, got float"),
        ({"blueprint_action": 99}, "legal actions .* as blueprint_action, got 99"),
        ({"actions": np.arange(8)}, r"must return the legal actions \[.*\] as actions, got \[0,"),
        ({"mean": np.zeros(3)}, r"one mean for each of \d+ legal actions, got the shape \(3,\)"),
        ({"count": 5}, r"one count for each of \d+ legal actions, got the shape \(\)"),
    ],
)
def test_what_is_no_result_of_a_search_is_refused(instead: Any, says: str) -> None:
    agent = upgrade(UniformPolicy(), GAME, Returning(instead))
    with pytest.raises(ContractError, match=says):
        evaluate(GAME, (agent, UniformPolicy()), games=1)


def test_what_is_left_out_is_named() -> None:
    with pytest.raises(ConfigError, match=r"game must be given.* HanabiGame\(players=2\)"):
        upgrade("smartbot")
    with pytest.raises(ConfigError, match=r"got 2: parameters have names, as in HanabiGame\(pla"):
        HanabiGame(2)  # type: ignore[arg-type]
    with pytest.raises(
        UnsupportedError, match=r"come as in evaluate\(game, policies, games=100\), got"
    ):
        evaluate("smartbot", GAME, games=1)  # type: ignore[arg-type]


def test_what_is_no_action_is_refused() -> None:
    searching = upgrade(UniformPolicy(), GAME, LastMove())
    for wrong, got in ((InFloats(), "float64 of shape"), (InRows(), r"int64 of shape \(\d+, 1\)")):
        says = f"{type(wrong).__name__}.* must act in integers, one for each of .*, got {got}"
        with pytest.raises(ContractError, match=says):
            evaluate(GAME, wrong, games=2)
        with pytest.raises(ContractError, match=says):  # beside a search, game by game
            evaluate(GAME, (wrong, searching), games=1, baseline=UniformPolicy())


def test_games_take_integers_alone() -> None:
    for game in (GAME, OpenSpielGame("tiny_hanabi")):
        worlds = game.deal(np.random.default_rng(0), 2)
        for wrong in (np.zeros(2), np.zeros(2, dtype=bool)):
            with pytest.raises(IllegalActionError, match="expected actions in integers, got"):
                worlds.step(wrong)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"games": 0}, "games must be an integer of at least 1, got 0"),
        ({"games": 2.5}, "games must be an integer"),
        ({"threads": 0}, "threads must be an integer of at least 1"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
    ],
)
def test_bad_numbers(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        evaluate(GAME, UniformPolicy(), **{"games": 1} | wrong)


def test_what_upgrade_and_evaluate_do_not_take_is_named() -> None:
    spiel: Any = pyspiel.load_game("hanabi")
    function: Any = len
    policy, search = UniformPolicy(), Sparta(rollouts=10)
    says = "expected a Game of this package, got a"
    with pytest.raises(UnsupportedError, match=f"{says} pyspiel.Game: load_game"):
        upgrade(policy, spiel, search)
    with pytest.raises(UnsupportedError, match=f"{says} str"):
        evaluate("hanabi", policy, games=1)  # type: ignore[arg-type]
    says = "expected a Policy, or 2 of them, one a seat, got a builtin_function.*: from_callable"
    for wrong in (function, (policy, function)):
        with pytest.raises(UnsupportedError, match=says):
            upgrade(wrong, GAME, search)
        with pytest.raises(UnsupportedError, match=says):
            evaluate(GAME, wrong, games=1)
    with pytest.raises(ConfigError, match=r"search must be a search, as Sparta\(\) is, got 3"):
        upgrade(policy, GAME, 3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"search must be one of sparta, .*, got 'spartan'"):
        upgrade(policy, GAME, "spartan")
    with pytest.raises(ConfigError, match="epsilon must be from 0 to 1, got 'a'"):
        upgrade(policy, GAME, search, epsilon="a")  # type: ignore[arg-type]
    agent = upgrade(policy, GAME, search)
    for wrong in (agent, (policy, agent)):
        with pytest.raises(ConfigError, match="policy must be one that does not search, got Sp"):
            upgrade(wrong, GAME, search)


def test_what_decides_alone_says_what_it_takes() -> None:
    view = GAME.deal(np.random.default_rng(0), 1).view(1)
    agent = upgrade("random", GAME, Sparta(rollouts=10))
    memory, rng = agent.start(view), np.random.default_rng(0)
    with pytest.raises(UnsupportedError, match="one belief, an entry of the agent's mem"):
        agent.decide(memory, rng)
    with pytest.raises(IllegalActionError, match="seat 1 is not to move"):
        agent.decide(memory[0], rng)
    assert private_belief(GAME, UniformPolicy(), view).size > 1
    with pytest.raises(UnsupportedError, match=r"expected a Policy, or 2 .*, got a str"):
        private_belief(GAME, "random", view)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="expected the view of a seat"):
        private_belief(GAME, UniformPolicy(), "view")  # type: ignore[arg-type]


def test_results_are_compared_as_they_are_and_as_files(tmp_path: Path) -> None:
    file = tmp_path / "few.jsonl"
    few = evaluate(GAME, "random", games=3, seed=1, resume=file)
    more = evaluate(GAME, "random", games=5, seed=1)
    for base in (few, file, str(file)):
        found = compare(base, more)
        assert (found.pairs, found.difference) == (3, 0.0)
    with pytest.raises(UnsupportedError, match="expected a result of evaluate, its to_dict"):
        compare(3, more)  # type: ignore[arg-type]


def test_integers_of_numpy_are_integers() -> None:
    n = np.arange(200)
    config = HanabiConfig(players=n[2], colors=n[2], hand_size=np.int8(2))
    assert config == HanabiConfig(players=2, colors=2, hand_size=2) and type(config.players) is int
    game = HanabiGame(config)
    agent = upgrade("smartbot", game, Sparta(rollouts=n[100], min_rollouts=n[10], round_size=n[50]))
    theirs = evaluate(game, ("smartbot", agent), games=n[3], seed=n[7], threads=n[2])
    agent = upgrade("smartbot", game, Sparta(rollouts=100, min_rollouts=10, round_size=50))
    ours = evaluate(game, ("smartbot", agent), games=3, seed=7)
    assert list(theirs.scores) == list(ours.scores)
    parameters = theirs.to_dict()
    assert json.loads(json.dumps(parameters)) == parameters


def test_figures_are_those_of_the_record() -> None:
    evaluation = evaluate(GAME, line_up(), games=5, seed=3)
    result = evaluation.to_dict()
    assert evaluation.gain is not None and evaluation.gain_sem is not None
    assert (evaluation.mean, evaluation.sem) == (result["mean"], result["sem"])
    assert evaluation.perfect == result["perfect"]
    assert evaluation.blueprint_mean == result["blueprint_mean"]
    assert evaluation.blueprint_sem == result["blueprint_sem"]
    assert (evaluation.gain, evaluation.gain_sem) == (result["gain"], result["gain_sem"])
    assert evaluation.gain == pytest.approx(evaluation.mean - evaluation.blueprint_mean)


def test_what_there_is_nothing_of_is_none() -> None:
    one = evaluate(GAME, UniformPolicy(), games=1)
    assert one.mean is not None and one.perfect is not None
    assert one.sem is one.gain is one.gain_sem is one.blueprint_mean is one.blueprint_sem is None
    none = dataclasses.replace(one, games=())
    assert none.mean is none.sem is none.perfect is None
    assert "-" in str(none)


@pytest.mark.parametrize("policies", [UniformPolicy(), line_up()])
@pytest.mark.parametrize("games", [1, 5])
def test_an_evaluation_prints_as_the_table_of_the_command_line(policies: Any, games: int) -> None:
    evaluation = evaluate(GAME, policies, games=games, seed=3)
    evaluation = dataclasses.replace(evaluation, names=("a", "b"))  # a long title is wrapped
    console = Console(width=200, file=io.StringIO(), no_color=True)
    console.print(evaluation_table(evaluation, evaluation.names))
    assert isinstance(console.file, io.StringIO)
    drawn = [line.rstrip() for line in console.file.getvalue().splitlines()]
    assert str(evaluation).splitlines() == drawn
    assert any(line.startswith("gain") for line in drawn) == evaluation.searched


@pytest.mark.parametrize("policies", [UniformPolicy(), line_up()])
def test_a_saved_evaluation_is_loaded_as_it_was(policies: Any, tmp_path: Path) -> None:
    played = evaluate(GAME, policies, games=5, seed=3)
    error = ValueError("no: such move")
    skipped = (FailedGame("baseline", (7, 8), 3, error),)
    for one in (played, dataclasses.replace(played, games=(), requested=9, skipped=skipped)):
        if one.baseline is not None and not one.games:
            one = dataclasses.replace(one, baseline=())
        one.save(tmp_path / "a.json")
        again = Evaluation.load(tmp_path / "a.json")
        assert again.to_dict() == one.to_dict() and str(again) == str(one)
        assert (again.mean, again.sem, again.gain) == (one.mean, one.sem, one.gain)
        assert again.scores.tolist() == one.scores.tolist()
        assert [*map(str, again.games)] == [*map(str, one.games)]  # with their moves
        assert [str(failed) for failed in again.skipped] == [str(failed) for failed in one.skipped]
        pd = pytest.importorskip("pandas")
        pd.testing.assert_frame_equal(again.to_frame(), one.to_frame())
        assert all(game.actions == () for game in again.games)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": None}, "format is None"),
        ({"per_game": {"lives_left": [1], "moves": [1, 2]}}, "lives_left must have 2 values"),
        ({"per_game": {"lives_left": [1, 1], "moves": [None, 2]}}, "moves must be numbers"),
        ({"per_game": {"lives_left": [1, 10**9], "moves": [1, 2]}}, "lives_left must be smaller"),
        ({"per_game": {"known": [1, 1]}}, "'known' is no column"),
        ({"numbers": [1, 0]}, "numbers must be those of games"),
        ({"numbers": [0, 10**15]}, "numbers must be those of games"),
        ({"names": "a"}, "names must be"),
        ({"best": None}, "best must be"),
    ],
)
def test_what_is_no_saved_evaluation_is_refused(
    changes: dict[str, Any], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(evaluate(GAME, UniformPolicy(), games=2).to_dict() | changes))
    with pytest.raises(RecordError, match=f"a.json: expected what Evaluation.save.*{says}"):
        Evaluation.load(path)
    path.write_text("[]")
    with pytest.raises(RecordError, match=r"expected what Evaluation.save"):
        Evaluation.load(path)


def test_an_interrupted_evaluation_says_so() -> None:
    whole = evaluate(GAME, UniformPolicy(), games=2, seed=3)
    first, *_ = str(dataclasses.replace(whole, requested=9)).splitlines()
    assert first == "UniformPolicy: 2 games of 9, interrupted, seed 3"
    assert repr(whole) == "<Evaluation of UniformPolicy: 2 games, mean 3.000 +- 0.000>"


def test_an_agent_prints_in_one_line() -> None:
    game = HanabiGame(players=2)
    bots = (SmartBot(), RuleAgent([DiscardOldest()], strict=True))
    tiny = OpenSpielGame("tiny_hanabi")
    assert repr(upgrade("smartbot", game)) == (
        "Sparta(rollouts=10000) over SmartBot on HanabiGame(players=2)"
    )
    assert repr(upgrade(bots, game, Lbs(depth=None), epsilon=0.1, uncertainty=0.2)) == (
        "Lbs(rollouts=10000, depth=None) over (SmartBot, RuleAgent([DiscardOldest()], "
        "strict=True)) on HanabiGame(players=2), epsilon=0.1, uncertainty=0.2"
    )
    assert repr(upgrade("random", tiny, SoIsmcts(), belief=Particles(50))) == (
        "SoIsmcts(iterations=1000) over UniformPolicy on OpenSpielGame('tiny_hanabi()'), "
        "belief=Particles(particles=50)"
    )
    assert repr(upgrade(bots[0], game, JointSparta(seed=3), epsilon=0.5)) == (
        "JointSparta(rollouts=10000, seed=3) over SmartBot on HanabiGame(players=2), epsilon=0.5"
    )
    partners = UnknownPartners(bots, prior=np.array([0.5, 0.5]))
    assert repr(partners).endswith("strict=True)), prior=array([0.5, 0.5]))")
    assert repr(searching()).startswith("LastMove(spread=2) over UniformPolicy on HanabiGame(")
    assert repr(BeliefAgent(tiny, bots, test_bad_numbers)).startswith("test_bad_numbers over (")


def test_one_game_has_no_standard_error() -> None:
    result = evaluate(GAME, UniformPolicy(), games=1).to_dict()
    assert result["sem"] is None and result["mean"] is not None


def test_a_search_of_another_game() -> None:
    game = OpenSpielGame("tiny_hanabi")
    agent = upgrade(UniformPolicy(), game, Sparta(rollouts=60, min_rollouts=10, round_size=10))
    evaluation = evaluate(game, (UniformPolicy(), agent), games=10, seed=3, threads=2)
    result = evaluation.to_dict()
    assert result["bombs"] is None and result["blueprint_bombs"] is None
    assert result["perfect"] == pytest.approx(np.mean(evaluation.scores == 10))
    assert result["rollouts_per_game"] > 0
    assert result["game"]["name"] == game.name


@pytest.mark.parametrize(
    "other", [{"players": 3}, {"hand_size": 4}, {"information_tokens": 4}, {"bomb": "keep"}]
)
def test_an_agent_plays_the_game_it_was_made_for(other: dict[str, Any]) -> None:
    agent = upgrade("random", HanabiGame(players=2), Sparta(rollouts=60))
    game = HanabiGame(**{"players": 2, **other})
    for policies in (agent, (agent,) * game.num_players):
        with pytest.raises(UnsupportedError, match=r"expected an agent for .*, got one for Hanabi"):
            evaluate(game, policies, games=1)


class Endless(PlainGame):
    """A game that says it ends after two moves, and goes on."""

    name, num_players, num_actions, return_range, max_length = "endless", 2, 2, (0.0, 1.0), 2
    public_actions = True

    def initial_states(self) -> Any:
        return [(0, 1.0)]

    def current_player(self, state: Any) -> int:
        return int(state % 2)

    def legal_actions(self, state: Any) -> Any:
        return [0, 1]

    def next_states(self, state: Any, action: int) -> Any:
        return [(state + 1, 1.0)]

    def returns(self, state: Any) -> Any:
        return [0.0, 0.0]

    def observation(self, state: Any, player: int) -> Any:
        return [state]


def test_a_game_that_does_not_end_is_stopped() -> None:
    game = Endless()
    agent = upgrade(UniformPolicy(), game, lambda rng, belief: 0, belief=Particles(2))  # type: ignore[arg-type,return-value]
    for policies in (UniformPolicy(), (UniformPolicy(), agent)):
        with pytest.raises(ContractError, match="within its max_length of 2 moves, and does not"):
            evaluate(game, policies, games=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_length", None), ("num_players", "2"), ("num_actions", 0), ("return_range", (1.0, 0.0))],
)
def test_settings_of_a_game_are_checked(name: str, value: Any) -> None:
    game = type("Odd", (Endless,), {name: value})()
    with pytest.raises(ContractError, match=f"Odd must set {name} to "):
        evaluate(game, UniformPolicy(), games=1)


@pytest.mark.parametrize("belief", [Particles, 3])
def test_what_makes_no_beliefs_is_refused(belief: Any) -> None:
    with pytest.raises(ConfigError, match="belief must make one"):
        upgrade("random", GAME, Sparta(), belief=belief)


def test_games_that_do_not_say_what_makes_them_equal_count_by_their_settings() -> None:
    first, second = OpenSpielGame("tiny_hanabi"), OpenSpielGame("tiny_hanabi")
    agent = upgrade(UniformPolicy(), first, Sparta(rollouts=60, min_rollouts=10))
    assert evaluate(second, (UniformPolicy(), agent), games=1).mean is not None
    with pytest.raises(UnsupportedError, match="expected an agent for"):
        evaluate(OpenSpielGame("tiny_bridge_2p"), (UniformPolicy(), agent), games=1)


def test_an_agent_of_a_game_whose_class_was_defined_again_is_told_so() -> None:
    """As where a notebook's cell is run twice."""

    def defined() -> Game:
        class Guess(OpenSpielGame):
            pass

        return Guess("tiny_hanabi")

    game = defined()
    agent = upgrade(UniformPolicy(), game, Sparta(rollouts=60, min_rollouts=10))
    evaluate(game, (UniformPolicy(), agent), games=1)
    with pytest.raises(UnsupportedError, match="the class Guess was defined again since, so make"):
        evaluate(defined(), (UniformPolicy(), agent), games=1)
    with pytest.raises(UnsupportedError, match=r"got one for [^:]*$"):
        evaluate(OpenSpielGame("tiny_hanabi"), (UniformPolicy(), agent), games=1)


def test_describe_names_settings() -> None:
    described = describe((UniformPolicy(), searching(2)))
    assert described[0] == {"type": "UniformPolicy"}
    assert described[1]["search"] == {"type": "LastMove", "spread": 2}
    assert described[1]["blueprint"] == [{"type": "UniformPolicy"}] * 2
    assert "game" not in described[1]


def test_describe_tells_lists_of_rules_apart() -> None:
    safe, bold = (RuleAgent([PlayProbablySafe(p), DiscardOldest()]) for p in (0.8, 0.4))
    first, second = describe(safe)["rules"]
    assert (first["type"], first["threshold"]) == ("PlayProbablySafe", 0.8)
    assert second["type"] == "DiscardOldest"
    assert describe(safe) != describe(bold)
    assert describe(safe) == describe(RuleAgent([PlayProbablySafe(0.8), DiscardOldest()]))
    json.dumps(describe(safe))
    # An empty tuple says nothing: what was recorded of such a policy goes on.
    assert "parameters" not in describe(load_policy("smartbot"))


def test_peak_memory_grows_with_memory() -> None:
    before = peak_rss_mb()
    block = np.ones(int((before + 64) * 2**20 // 8))
    assert peak_rss_mb() > before + 32
    del block


def test_a_table_says_whose_returns_it_shows_and_leaves_out_what_means_nothing() -> None:
    poker, hints = OpenSpielGame("leduc_poker"), OpenSpielGame("tiny_hanabi")
    search = Sparta(rollouts=20, min_rollouts=2)
    agent = upgrade(UniformPolicy(), poker, search)
    told = str(evaluate(poker, (UniformPolicy(), agent), games=2))
    assert "blueprint, return of P1" in told and "with search, return of P1" in told
    assert "perfect" not in told and "bombs" not in told
    alone = evaluate(poker, UniformPolicy(), games=2)
    assert "return of P0" in str(alone) and alone.to_dict()["return_of"] == 0
    shared = evaluate(hints, UniformPolicy(), games=2)
    assert "score" in str(shared) and "perfect" in str(shared) and "bombs" not in str(shared)
    assert shared.to_dict()["return_of"] is None


def test_a_note_says_where_the_return_of_one_seat_tells_nothing_of_strength() -> None:
    poker, uniform, first = OpenSpielGame("leduc_poker"), UniformPolicy(), Lowest()
    agent = upgrade(uniform, poker, Sparta(rollouts=4, min_rollouts=2))
    everywhere = evaluate(poker, agent, games=1)
    *_, note = str(everywhere).splitlines()
    assert note == (
        "every seat plays otherwise than in the baseline, so the gain in P0's return does not tell "
        "who is stronger: change one side alone, as evaluate(game, (blueprint, agent)) does, and "
        "--search-seats 1"
    )
    assert everywhere._repr_html_().endswith(f"</table><p>{html.escape(note)}</p>")
    *_, note = str(evaluate(poker, first, games=1, baseline=uniform)).splitlines()
    assert note.endswith("change one side alone, as evaluate(game, (baseline, policy)) does")
    *_, note = str(evaluate(poker, uniform, games=1)).splitlines()
    assert note == (
        "all seats play the same, so P0's return does not tell how strong it is: seat it beside "
        "another, as evaluate(game, (other, policy)) does"
    )
    for told in (
        evaluate(poker, (uniform, agent), games=1),
        evaluate(poker, (agent, agent), games=1, baseline=(uniform, agent)),
        evaluate(poker, (first, uniform), games=1),
        evaluate(OpenSpielGame("tiny_hanabi"), uniform, games=1),
    ):
        assert "tell" not in str(told) and told._repr_html_().endswith("</table>")
