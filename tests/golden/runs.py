"""Whole games: evaluations, recorded searches, replays, policies by themselves."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

from hanabi_search_plugin.algorithms.ismcts import RisMcts
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.core.game import PAD, Game
from hanabi_search_plugin.core.policy import UniformPolicy
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.evaluation.match import GameResult
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.files.replay import replay
from hanabi_search_plugin.hanabi.files.searched_games import read_searched, record_games
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import load_policies, load_policy
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame
from tests.golden.cases import Cases, Found
from tests.golden.native import SMARTBOT, THREE, TWO, second, sparta

CASES = Cases()

KEPT = (  # of an evaluation: what does not depend on the machine
    "games", "mean", "sem", "perfect", "bombs", "gain", "gain_sem", "rollouts_per_game",
    "likelihoods_per_game", "searched_share", "fallback_share", "depth", "scores",
    "blueprint_scores",
)  # fmt: skip


def evaluated(game: Game, players: Any, games: int = 4, **options: Any) -> Found:
    """The figures of an evaluation, and every game's moves."""
    found: Found = []

    def hear(result: GameResult) -> None:
        found.append([result.side, result.game, result.score, list(result.actions)])

    figures = evaluate(game, players, games=games, seed=5, on_game=hear, **options).to_dict()
    return [{name: figures[name] for name in KEPT if name in figures}, *found]


@CASES.case()
def evaluate_sparta() -> Found:
    return evaluated(TWO, second(TWO, SMARTBOT, upgrade(SMARTBOT, TWO, sparta(100))))


@CASES.case()
def evaluate_by_threads() -> Found:
    agent = upgrade(SMARTBOT, THREE, sparta(100))
    return evaluated(THREE, second(THREE, SMARTBOT, agent), threads=2)


@CASES.case()
def evaluate_full() -> Found:
    game = HanabiGame(players=2)
    return evaluated(game, (SMARTBOT, upgrade(SMARTBOT, game, sparta(400))), games=1)


@CASES.case()
def evaluate_joint() -> Found:
    search = JointSparta(rollouts=60, min_rollouts=5, round_size=10, max_range=20)
    return evaluated(TWO, upgrade(SMARTBOT, TWO, search), games=2)


@CASES.case()
def evaluate_trees() -> Found:
    vdb = load_policy("vdb")
    return evaluated(THREE, upgrade(vdb, THREE, RisMcts(iterations=50)), games=2)


@CASES.case()
def evaluate_against_a_baseline() -> Found:
    return evaluated(TWO, load_policy("iggi"), games=6, baseline=load_policy("random"))


@CASES.case()
def evaluate_tiny_hanabi() -> Found:
    game = OpenSpielGame("tiny_hanabi")
    agent = upgrade(UniformPolicy(), game, sparta(30, threshold=0.0))
    return evaluated(game, (UniformPolicy(), agent), games=6)


def played(game: HanabiGame, names: str, games: int = 6) -> Found:
    """Games without search, in lockstep: moves, returns and lives."""
    line_up = load_policies(names, game)
    rng = np.random.default_rng(3)
    worlds = game.deal(rng, games)
    result = self_play(worlds, line_up * game.num_players, Streams.spawn(rng, games))
    rows = zip(result.actions, result.returns, result.outcome["lives_left"], strict=True)
    return [
        [moves[moves != PAD].tolist(), returns.tolist(), int(lives)]
        for moves, returns, lives in rows
    ]


for bot in (
    "smartbot", "hatbot", "hatbot-b", "cautious", "iggi", "internal", "outer", "piers", "flawed",
    "risky", "risky2", "vdb", "iggi2", "clivej2", "evalfn", "evalfn-c", "rule-classifier", "random",
):  # fmt: skip
    CASES.add(f"play_{bot}", lambda bot=bot: played(THREE, bot, games=3))


@CASES.case()
def recorded_searches() -> Found:
    """The arrays of a file of searched games."""
    agent = upgrade(SMARTBOT, TWO, sparta(100))
    with tempfile.TemporaryDirectory() as folder:
        record_games(TWO, [(agent, SMARTBOT)], folder, policy="smartbot", games=2, seed=4)
        games = read_searched(folder)
    mean = np.where(np.isnan(games.mean), -1, games.mean)
    parts = {
        "deck": games.deck, "moves": games.moves, "score": games.score, "lives": games.lives,
        "turn": games.turn, "seat": games.seat, "blueprint": games.blueprint,
        "count": games.count, "mean": mean,
    }  # fmt: skip
    return [{name: array.tolist()} for name, array in parts.items()]


@CASES.case()
def replayed() -> Found:
    """Games of one policy, compared with the moves of others."""
    result = played(THREE, "iggi")
    decks = THREE.deal(np.random.default_rng(3), len(result)).rows[:, -THREE.config.deck_size :]
    games = [
        RecordedGame(
            config=THREE.config, game=i, deck=tuple(deck), actions=tuple(moves), first_player=0,
            score=int(returns[0]), lives_left=lives, source=f"games:{i + 1}",
        )
        for i, (deck, (moves, returns, lives)) in enumerate(
            zip(decks.tolist(), result, strict=True)
        )
    ]  # fmt: skip
    compared = ("iggi", "smartbot", "vdb", "random")
    return [
        replay(
            games, lambda config, name=name: (load_policy(name, HanabiGame(config)),) * 3
        ).to_dict()
        for name in compared
    ]
