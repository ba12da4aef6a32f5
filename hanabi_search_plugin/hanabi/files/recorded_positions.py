"""A recorded game position by position, with what its players believed; who they may have been.

People and searches leave their policies. So each seat is taken to play one of some candidates, and
a random move now and then. To the others its moves tell of their hands as far as the candidates
explain them (``beliefs.mixture``).

Letters: P players, K candidates of a seat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hanabi_search_plugin.beliefs.mixture import Mixture, posterior
from hanabi_search_plugin.beliefs.unknown_partners import MixtureBelief
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.game import FloatArray
from hanabi_search_plugin.core.policy import Blueprint, Policy
from hanabi_search_plugin.core.rollout import likelihood
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.files.game_document import first_position, require_legal
from hanabi_search_plugin.hanabi.files.records import RecordedGame
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

NEGLIGIBLE = 1e-6  # a probability


@dataclass(frozen=True)
class Candidates:
    """What the seats may play: ``policies[p]`` [K], which are named ``names[p]``.

    A seat keeps to one, but for a random legal move with probability ``epsilon``. The others know
    before the game with which probability ``prior[p]`` [K] it is which; None: all are equal. A seat
    that ``keeps`` to its likeliest policy makes no random move.
    """

    policies: tuple[tuple[Policy, ...], ...]
    names: tuple[tuple[str, ...], ...]
    epsilon: float = 0.0
    prior: tuple[tuple[float, ...], ...] | None = None
    keeps: tuple[bool, ...] = ()

    def mixture(self, seat: int) -> Mixture:
        prior = None if self.prior is None else self.prior[seat]
        return Mixture(self.policies[seat], prior=prior, epsilon=self.epsilon)

    def known(self, explained: Sequence[Explained]) -> Candidates:
        """The candidates with a prior of who they turned out to be, those out of question left out.

        People know with whom they play, and what was agreed. A seat keeps to the only policy left
        if this makes all its moves; the others' beliefs are then exact where they would be samples.
        """
        prior = tuple(
            tuple(chance if chance > NEGLIGIBLE else 0.0 for chance in seen.posterior)
            for seen in explained
        )
        keeps = tuple(
            max(chances) == sum(chances) and seen.agreement[seen.likeliest] == 1.0
            for chances, seen in zip(prior, explained, strict=True)
        )
        return replace(self, prior=prior, keeps=keeps)

    def partner(self, seat: int) -> Policy:
        """``seat`` as the others know it: one policy for sure, or a mixture."""
        mixture = self.mixture(seat)
        alone = self.epsilon == 0.0 and len(mixture.candidates) == 1
        sure = alone or (bool(self.keeps) and self.keeps[seat])
        return mixture.candidates[int(mixture.prior.argmax())] if sure else mixture


@dataclass(frozen=True, kw_only=True)
class Explained:
    """How well its candidates explain a seat's moves, each asked in the position as it was."""

    chance: float  # of the moves, in the mean, if all legal ones were equally probable
    agreement: tuple[float, ...]  # [K] share of the moves that each candidate makes
    posterior: tuple[float, ...]  # [K] of each candidate after the game

    @property
    def likeliest(self) -> int:
        return int(np.argmax(self.posterior))


@dataclass(frozen=True)
class RecordedPosition:
    """A recorded game before a move, or at its end."""

    turn: int
    seat: int  # to move; -1: the game is over
    beliefs: tuple[HandBelief, ...]  # [P] each seat's over its own hand
    action: int | None  # the recorded move; None: the record stops here
    score: float | None  # None: the game is not over

    @property
    def belief(self) -> Belief:
        """The mover's; its samples draw the others' policies, too."""
        own = self.beliefs[self.seat]
        mixed = any(isinstance(policy, Mixture) for policy in own.blueprint)
        return MixtureBelief(own) if mixed else own


def follow(
    record: RecordedGame, candidates: Candidates, blueprint: Blueprint
) -> Iterator[RecordedPosition]:
    """Each position before a recorded move, then the last one.

    A seat's belief is that of its own history. It knows that it follows ``blueprint``, and takes
    the others for their candidates. Raises RecordError for an illegal move.
    """
    rules, worlds = first_position(record)
    beliefs = tuple(_belief(rules, worlds, candidates, blueprint, p) for p in range(len(blueprint)))
    for turn, action in enumerate([*record.actions, None]):
        seat = int(worlds.current_player[0])
        score = float(worlds.returns[0, 0]) if seat < 0 else None
        if action is not None:
            require_legal(record, worlds, turn, action)
        yield RecordedPosition(turn, seat, beliefs, action, score)
        if action is not None:
            event = worlds.step(np.array([action]))
            beliefs = tuple(
                belief.update(event, worlds.view(p)) for p, belief in enumerate(beliefs)
            )


def _belief(
    rules: HanabiGame, worlds: HanabiWorlds, candidates: Candidates, blueprint: Blueprint, seat: int
) -> HandBelief:
    known = tuple(
        policy if p == seat else candidates.partner(p) for p, policy in enumerate(blueprint)
    )
    return HandBelief.start(rules, known, worlds.view(seat))


def explain_moves(record: RecordedGame, candidates: Candidates) -> tuple[Explained, ...]:
    """[P] how well the candidates of each seat explain its moves. Raises RecordError."""
    _, worlds = first_position(record)
    epsilon, seats = candidates.epsilon, range(record.config.players)
    memories = [[each.start(worlds.view(p)) for each in candidates.policies[p]] for p in seats]
    posteriors = [candidates.mixture(p).prior[None] for p in seats]
    shares: list[list[FloatArray]] = [[] for _ in seats]  # [K] a move: probability, no slips
    chances: list[list[float]] = [[] for _ in seats]
    for turn, action in enumerate(record.actions):
        require_legal(record, worlds, turn, action)
        seat = int(worlds.current_player[0])
        moves = np.array([action])
        share = np.concatenate(
            [
                likelihood(worlds, policy, seat, memory, moves)
                for policy, memory in zip(candidates.policies[seat], memories[seat], strict=True)
            ]
        )
        chance = 1.0 / int(worlds.legal[0].sum())
        shares[seat].append(share)
        chances[seat].append(chance)
        likelihoods = (1.0 - epsilon) * share + epsilon * chance
        posteriors[seat], _ = posterior(posteriors[seat], likelihoods[None])
        event = worlds.step(moves)
        memories = [
            [
                policy.observe(worlds.view(p), event, memory)
                for policy, memory in zip(candidates.policies[p], memories[p], strict=True)
            ]
            for p in seats
        ]
    return tuple(
        Explained(
            chance=float(np.mean(chances[p])) if chances[p] else 0.0,
            agreement=tuple(np.mean(shares[p], axis=0).tolist())
            if shares[p]
            else (0.0,) * len(candidates.policies[p]),
            posterior=tuple(posteriors[p][0].tolist()),
        )
        for p in seats
    )
