"""Partners of unknown policy, recognised by a small network (arXiv:1902.06075, section VII).

The network reads the features of one move (Table V) and gives the probability that each policy of a
list made it. ``UnknownPartners`` asks the policies themselves instead, which is exact; this is the
paper's way, in a fraction of the time. ``hanabi-search train partners`` trains such networks.

Letters: B moves, F features, P players, K candidates.
"""

from __future__ import annotations

import functools
import json
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.beliefs.exact import private_belief
from hanabi_search_plugin.beliefs.mixture import Mixture, loaded_candidates, unnamed
from hanabi_search_plugin.beliefs.unknown_partners import PartnersBelief
from hanabi_search_plugin.core.agent import NamesPolicies
from hanabi_search_plugin.core.belief import Belief
from hanabi_search_plugin.core.errors import ConfigError, RecordError, UnsupportedError
from hanabi_search_plugin.core.game import Event, FloatArray, View
from hanabi_search_plugin.core.plain_json import parse_json, typed
from hanabi_search_plugin.core.policy import Blueprint, Memory, Policy
from hanabi_search_plugin.core.reprs import settings_repr
from hanabi_search_plugin.core.require import require_positive_or_0
from hanabi_search_plugin.core.whole_files import read_whole
from hanabi_search_plugin.hanabi.bots.compiled import is_compiled
from hanabi_search_plugin.hanabi.bots.evalfn import ValueNetwork, move_features
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import TABLE_II
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView, HanabiWorlds

CAP = math.log(1e6)  # the most log likelihood that one move takes from a candidate (paper, VII)
HANDS = 32  # hands of the seat's own, drawn from those the hints allow, under which a move is read
READER = RuleAgent(TABLE_II)
"""The rule agent whose memory the features are read from; it has no convention."""


@dataclass(frozen=True)
class Recogniser:
    """A network that recognises policies by their moves: one output for each name."""

    network: ValueNetwork  #: from the features of a move to a logit a name
    partners: tuple[str, ...]  #: [K] the names

    def __post_init__(self) -> None:
        if self.network.outputs != len(self.partners):
            raise RecordError(
                f"a network must have an output for each of {len(self.partners)} policies, got "
                f"{self.network.outputs}"
            )

    def __call__(self, features: NDArray[np.floating]) -> FloatArray:
        """[B, K] P(policy | features of a move [B, F]), all policies as probable before it."""
        outputs = self.network(features)
        shares = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def save(self, path: str | Path) -> None:
        """Write a file of safetensors, whole or not at all."""
        self.network.save(path, {"partners": json.dumps(self.partners)})

    @classmethod
    def from_bytes(cls, content: bytes, name: str) -> Recogniser:
        """Read the content of a file. Raises RecordError, with its name, if it is none of these."""
        network, metadata = ValueNetwork.with_metadata(content, name)
        try:
            partners = parse_json(metadata.get("partners", "[]"))
            return cls(network, typed("partners", partners, tuple[str, ...]))
        except ValueError as error:  # RecordError is one
            raise RecordError(
                f"{name}: expected a network that recognises policies: {error}"
            ) from None


@functools.cache
def shipped_recogniser() -> Recogniser:
    """The recogniser that comes with the package, of the policies of ``registry.MIXED_TRACK``."""
    file = resources.files("hanabi_search_plugin.hanabi.bots") / "weights" / "partners.safetensors"
    return Recogniser.from_bytes(file.read_bytes(), "partners")


def named_recogniser(name: str, partners: Sequence[str]) -> Recogniser:
    """The recogniser "learned", which is shipped, or that of a file; for policies in this order.

    Raises ConfigError for another name, and for a network of other policies.
    """
    if name == "learned":
        found = shipped_recogniser()
    elif name.endswith(".safetensors"):
        found = Recogniser.from_bytes(read_whole(name), name)
    else:
        raise ConfigError(f"likelihoods must be exact, learned or a file, got {name!r}")
    if found.partners != tuple(partners):
        raise ConfigError(
            f"partners must be those of the network, {','.join(found.partners)}, got "
            f"{','.join(partners)}"
        )
    return found


@dataclass(frozen=True)
class LearnedPartners(NamesPolicies):
    """Beliefs about partners as in the paper: ``upgrade(..., belief=LearnedPartners(...))``.

    Each other seat is assumed to have drawn one of ``candidates``, compiled bots of native Hanabi,
    by the probabilities ``prior`` (None: all equal; the paper's: ``favouring``) and to keep to it.
    After each move of a seat, the log weight of each candidate grows by the log of the probability
    that ``recogniser`` gives it, but by no less than minus ``cap``. Moves are no evidence of hands.

    ``upgrade`` loads candidates that are given by name. Raises ConfigError as ``Mixture`` does, for
    candidates that are not compiled or not as many as the network's outputs, and for a negative
    cap.
    """

    candidates: Sequence[Policy | str]
    recogniser: Recogniser
    prior: Sequence[float] | None = None
    cap: float = CAP

    def __post_init__(self) -> None:
        require_positive_or_0("cap", self.cap)
        if any(isinstance(each, str) for each in self.candidates):
            return  # checked once they are loaded
        mixture = self.mixture()
        outputs = len(self.recogniser.partners)
        if len(mixture.candidates) != outputs or not all(map(is_compiled, mixture.candidates)):
            raise ConfigError(
                f"candidates must be the {outputs} compiled policies that the network recognises, "
                f"got {list(mixture.candidates)}"
            )

    def __repr__(self) -> str:
        return settings_repr(self, "candidates")

    def with_policies(self, load: Callable[[str], Policy]) -> Self:
        return replace(self, candidates=loaded_candidates(self.candidates, load))

    def mixture(self) -> Mixture:
        """The policy of a partner."""
        return Mixture(unnamed(self.candidates), prior=self.prior)

    def __call__(self, blueprint: Blueprint, view: View) -> RecognisedPartnersBelief:
        """The belief of ``view.player`` at its first view; the seat itself plays ``blueprint``."""
        if not isinstance(view.game, HanabiRules):
            raise UnsupportedError(f"learned likelihoods are of native Hanabi, got {view.game!r}")
        partner = self.mixture()
        mixed = tuple(policy if p == view.player else partner for p, policy in enumerate(blueprint))
        with np.errstate(divide="ignore"):  # a prior of 0
            start = np.log(np.repeat(partner.prior[None], len(mixed), axis=0))
        inner = private_belief(view.game, mixed, view)
        return RecognisedPartnersBelief(inner, self.recogniser, self.cap, start, READER.start(view))


class RecognisedPartnersBelief(PartnersBelief):
    """A belief over the hands that hints allow, with one posterior per partner for all of them."""

    def __init__(
        self,
        inner: Belief,
        recogniser: Recogniser,
        cap: float,
        log_weights: FloatArray,
        reading: Memory,
    ) -> None:
        """``log_weights`` [P, K]: of the candidates. ``reading``: the memory of READER."""
        super().__init__(inner)
        self.recogniser = recogniser
        self.cap = cap
        self.log_weights = log_weights
        self.reading = reading

    def update(
        self, event: Event, view: View, *, by_blueprint: bool = True
    ) -> RecognisedPartnersBelief:
        inner = self.inner.update(event, view, by_blueprint=False)
        mover, log_weights = int(event.player[0]), self.log_weights
        if by_blueprint and mover != self.seat:
            log_weights = log_weights.copy()
            found = self.recognised(event, inner)
            log_weights[mover] = updated(log_weights[mover], found, self.cap)
        reading = READER.observe(view, event, self.reading)
        return RecognisedPartnersBelief(inner, self.recogniser, self.cap, log_weights, reading)

    def recognised(self, event: Event, after: Belief) -> FloatArray:
        """[K] P(policy | a partner's move) by the network, the mean over HANDS hands of the seat.

        The hands are drawn from the belief ``after`` the move, which knows what a hint has said, by
        chance that depends only on what the seat has seen.
        """
        game, view = self.game, self.view
        assert isinstance(game, HanabiRules) and isinstance(view, HanabiView)
        chance = np.random.default_rng(zlib.crc32(view.rows.tobytes()))
        worlds, _ = after.sample(chance, HANDS)
        assert isinstance(worlds, HanabiWorlds)
        rows, hand = view.rows.repeat(HANDS, axis=0), game.hand_slots(self.seat)
        rows[:, hand] = worlds.rows[:, hand]
        moves = event.action.repeat(HANDS)
        chances = self.recogniser(move_features(READER, game, rows, self.reading, moves))
        return np.asarray(chances.mean(axis=0))

    def with_posterior(self, player: int, memory: Memory) -> Memory:
        weights = np.repeat(self.posterior(player)[None], len(memory["drawn"]), axis=0)
        return memory | {"weights": weights}

    def posterior(self, player: int) -> FloatArray:
        """See ``PartnersBelief.posterior``."""
        self.require_unknown(player)
        weights = np.exp(self.log_weights[player] - self.log_weights[player].max())
        return np.asarray(weights / weights.sum())


def updated(log_weights: FloatArray, likelihoods: FloatArray, cap: float) -> FloatArray:
    """[K] log weights after a move with these likelihoods [K], up to a constant.

    No weight loses more than ``cap`` by one move, since the network only estimates.
    """
    with np.errstate(divide="ignore"):
        return log_weights + np.maximum(np.log(likelihoods), -cap)
