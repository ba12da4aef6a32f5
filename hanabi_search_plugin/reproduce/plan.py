"""Describe published tables and figures as data: line-ups, and the figures of the paper.

Each paper has a file of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.core.agent import Search, TeamSearch
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.catalogue import load_belief_model
from hanabi_search_plugin.registry import load_policy


@dataclass(frozen=True, kw_only=True)
class Training:
    """Rounds of self-play from nothing, and of a belief model on the games of what it came to."""

    blueprint: int
    belief: int


@dataclass(frozen=True, kw_only=True)
class Run:
    """One line-up. Where somebody searches, finished games are kept in a file named ``name``."""

    name: str
    policy: str = "smartbot"  # of every seat, as ``load_policy`` knows it
    config: HanabiConfig = field(default_factory=HanabiConfig)
    search: Search | TeamSearch | None = None
    seats: tuple[int, ...] = ()  # that search
    uncertainty: float = 0.0  # of their beliefs
    belief: str | None = None  # a learned one, as ``load_belief_model`` knows it; None: exact
    explain: bool = False  # as ``Learned`` has it; the papers do not ask
    listed: int | None = None  # the same
    training: Training | None = None  # in place of ``policy`` and ``belief``: ``trained_rows``

    def line_up(self) -> tuple[HanabiGame, Blueprint]:
        """The game and who sits where."""
        game = HanabiGame(self.config)
        policy = load_policy(self.policy, HanabiGame(self.config))
        if self.search is None:
            return game, (policy,) * game.num_players
        learned = None
        if self.belief is not None:
            model = load_belief_model(self.belief, game)
            learned = Learned(model, self.explain, self.listed, self.uncertainty)
        doubt = 0.0 if learned else self.uncertainty  # a learned belief has its own
        agent = upgrade(policy, game, self.search, uncertainty=doubt, belief=learned)
        return game, tuple(agent if p in self.seats else policy for p in range(game.num_players))


@dataclass(frozen=True, kw_only=True)
class Published:
    """The paper's figures of a row."""

    mean: float
    sem: float | None = None  # standard error
    perfect: float | None = None  # share of games with the best score
    searched: float | None = None  # share of moves
    rollouts: float | None = None  # a game
    likelihoods: float | None = None  # a game: policy evaluations for beliefs
    depth: float | None = None  # of the tree of a decision: moves to its deepest node
    seconds: float | None = None  # a game, on the paper's machines


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of a table. ``run`` is None where its blueprint or search is not in this package."""

    label: str
    run: Run | None
    published: Published | None = None
    bound: float | None = None  # what theory says the gain is at least
    than: str | None = None  # the label of a row that it is compared with, game by game


@dataclass(frozen=True, kw_only=True)
class Table:
    name: str
    title: str
    rows: tuple[Row, ...]
    note: str = ""
    hidden: tuple[str, ...] = ()  # columns of ``report`` that would say nothing here


@dataclass(frozen=True, kw_only=True)
class Curve:
    label: str
    runs: tuple[Run, ...]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """``"turns"``: the predicted score by turn, one run a curve. ``"budgets"``: a point a run,
    by rollouts; ``"costs"``: the same by CPU seconds.

    ``"beliefs"``: cross entropy by turn; a curve is one belief of its run, by its label.
    ``"splits"``: a point a run, one beside the other, by ``ticks``.
    """

    name: str
    title: str
    kind: Literal["turns", "budgets", "costs", "beliefs", "splits"]
    curves: tuple[Curve, ...]
    note: str = ""
    ticks: tuple[str, ...] = ()  # of "splits"
    axis: str = ""  # what they say


Plan = Table | Figure
