"""What a training of a network is set to, by kind. Needs no PyTorch.

Every class raises ConfigError for numbers out of their range. ``config`` is the game.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.near_names import did_you_mean
from hanabi_search_plugin.core.require import (
    class_given,
    require_choice,
    require_integers,
    require_positive,
    require_share,
)
from hanabi_search_plugin.core.settings import SEED, setting
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.networks.catalogue import require_network
from hanabi_search_plugin.registry import load_policy

MOST = 10_000_000
"""Of what is counted: above it a round would not fit into any memory."""

Learner = Literal["masks", "public-belief", "public-lstm", "feed-forward", "recurrent"]
"""Architectures that learn from a policy, or by self-play."""

OPTIONS = {
    "masks": ("hidden", "context", "scorer"),
    "public-belief": ("hidden", "context", "scorer", "cell"),
    "public-lstm": (
        "encoding", "hidden", "depth", "lstm_layers", "fuse", "private_sees", "auxiliary",
    ),
    "feed-forward": ("encoding", "hidden", "depth", "fuse", "private_sees"),
    "recurrent": ("encoding", "hidden", "lstm_layers"),
    "advised-lstm": ("adviser", "encoding", "hidden", "lstm_layers"),
    "advised-masks": ("adviser", "hidden", "context", "scorer"),
}  # fmt: skip
"""Of architectures, by their names here, so that a wrong one is refused without PyTorch."""

Objective = Literal["reward", "cross-entropy", "values"]
"""Of a clone; the first is the paper's."""

_RATE = "Learning rate, at first."
_GAME = "Game"
_ROUNDS = "Rounds of playing and learning."
_OPTIONS = "Option of the architecture."
_LEARNER = "Architecture of the network."
_DECISIONS = "Decisions of a step."
_PARTS = (
    "Parts of a round's games, with chance of their own, which --cluster shares among workers; "
    "another number of parts is another training. Default: one."
)
_EPOCHS = "How often a decision is learned from."


@dataclass(frozen=True, kw_only=True)
class Distillation:
    """Who is imitated, in which game, by which network, for how long.

    Raises ConfigError also for a policy that is not known; the run, for options that the
    architecture does not have.
    """

    policy: str = setting("smartbot", "Who is imitated.", metavar="NAME")
    config: HanabiConfig = setting(HanabiConfig, _GAME)
    architecture: Learner = setting("masks", _LEARNER)
    options: dict[str, Any] = setting(dict, _OPTIONS)
    iterations: int = setting(200, _ROUNDS)
    games: int = setting(300, "Games a round.")
    epochs: int = setting(2, _EPOCHS)
    batch: int = setting(256, _DECISIONS)
    rate: float = setting(1.5e-3, _RATE)
    value_weight: float = setting(2.0, "Of the losses of values and Q beside the policy's.")
    seed: int = setting(0, SEED)
    parts: int | None = setting(None, _PARTS)
    start: str = setting(
        "",
        "Go on from this network, a policy's name or a file; it then plays all moves from the "
        "first round.",
        metavar="NAME",
    )

    def __post_init__(self) -> None:
        _require_counts(self, ("iterations", "games", "epochs", "batch"))
        require_choice("architecture", self.architecture, get_args(Learner))
        for name in ("rate", "value_weight"):
            require_positive(name, getattr(self, name))
        _require_options(self.architecture, self.options)
        from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

        load_policy(self.policy, HanabiGame(self.config))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self) | {"config": self.config.to_dict()}


@dataclass(frozen=True, kw_only=True)
class Cloning:
    """What is learned from, by which network, by which objective, for how long.

    The run raises ConfigError for an architecture or options that are not known, RecordError where
    the data is none.
    """

    data: str = setting(text="Games of `hanabi-search record`.", metavar="DIR")
    games: int = setting(0, "Learn from so many of them, the first; 0: all.")
    held_out: str = setting("", "Other games, to measure on.", metavar="DIR")
    architecture: str = setting(
        "advised-lstm",
        "advised-lstm (the paper's), advised-masks, or one without an adviser, with --start.",
        metavar="NAME",
    )
    options: dict[str, Any] = setting(dict, _OPTIONS)
    start: str = setting(
        "",
        "Go on from this network, a policy's name or a file: its weights are taken where they fit.",
        metavar="NAME",
    )
    objective: Objective = setting("reward", "What a step makes likely; reward is the paper's.")
    iterations: int = setting(20, "Lines of metrics.")
    passes: float = setting(3.0, "How often each decision is learned from, on average.")
    batch: int = setting(256, _DECISIONS)
    rate: float = setting(5e-4, _RATE)
    seed: int = setting(0, SEED)

    def __post_init__(self) -> None:
        require_integers(self, ("iterations", "batch"), 1, MOST)
        require_integers(self, ("games",), 0, MOST)
        require_integers(self, ("seed",), 0)
        for name in ("rate", "passes"):
            require_positive(name, getattr(self, name))
        require_choice("objective", self.objective, get_args(Objective))
        if self.architecture in OPTIONS:
            _require_options(self.architecture, self.options)
        if self.architecture in get_args(Learner) and not self.start:
            raise ConfigError(
                f"architecture {self.architecture} learns from searches what it played before, so "
                "it needs a network to go on from: give --start (rlnet, or a file), or an "
                "architecture with an adviser, advised-lstm or advised-masks"
            )
        for name in ("data", "held_out"):  # one spelling: a run goes on with its settings
            folder = getattr(self, name)
            object.__setattr__(self, name, str(Path(folder)) if folder else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class SelfPlay:
    """Which network learns from its own games, for how long. Defaults are those of IPPO on record.

    With a ``partner`` it learns a best response: at each seat in as many games, beside the partner
    at all others. Then it needs a central critic, which learns from the partner's moves, too.

    What a lost game is worth, by the ``bomb`` of ``config``, comes to count little by little: at
    first it keeps its points, after a share of the run, ``lenient``, the rule holds in full. The
    run raises ConfigError for options that the architecture does not have.
    """

    config: HanabiConfig = setting(HanabiConfig, _GAME)
    architecture: Learner = setting("feed-forward", _LEARNER)
    options: dict[str, Any] = setting(dict, _OPTIONS)
    iterations: int = setting(1000, _ROUNDS)
    games: int = setting(256, "Games side by side.")
    moves: int = setting(32, "Moves of each game, a round.")
    epochs: int = setting(4, _EPOCHS)
    batch: int = setting(2048, _DECISIONS)
    rate: float = setting(5e-4, _RATE)
    clip: float = setting(0.2, "How far a ratio of probabilities may go from 1.")
    entropy: float = setting(0.01, "Weight of the policy's entropy.")
    trace: float = setting(0.95, "Lambda of advantages and returns, TD(lambda).")
    entropy_end: float | None = setting(
        None, "The same in the end; it changes evenly. Default: as --entropy."
    )
    value_weight: float = setting(0.5, "Of the losses of values beside the policy's.")
    central_critic: bool | None = setting(
        None,
        "Take advantages and returns from a critic that sees all hands, and is not kept with the "
        "network. Default: for public-belief, and beside a partner.",
    )
    own_value_weight: float | None = setting(
        None,
        "Of the losses of the network's own values beside a central critic's. Default: a tenth of "
        "--value-weight.",
    )
    belief_rate: float | None = setting(
        None, "Learning rate, at first, of a belief that the network learns. Default: as --rate."
    )
    lenient: float | None = setting(
        None,
        "Share of the run in which a lost game comes to count by its rule; at first it keeps its "
        "points. Default: 0.5, or 0 where the run goes on from a network.",
    )
    warm_up: int | None = setting(
        None,
        "Rounds at first in which a central critic learns alone; in as many more the rate rises to "
        "its value. A network to go on from keeps its play. Default: none.",
    )
    evaluate_every: int = setting(50, "Rounds between games played without chance, for the curve.")
    partner: str | None = setting(
        None,
        "Who plays all seats but one and learns nothing: the network learns a best response to it. "
        "Default: the network itself.",
        metavar="NAME",
    )
    seed: int = setting(0, SEED)
    parts: int | None = setting(None, _PARTS)
    start: str = setting("", "Go on from this network, a policy's name or a file.", metavar="NAME")
    sharpen: float = setting(
        1.0, "Multiply its logits, first: an imitator's best moves lose less than its rest."
    )

    def __post_init__(self) -> None:
        require_choice("architecture", self.architecture, get_args(Learner))
        _require_options(self.architecture, self.options)
        _require_counts(self, ("iterations", "games", "moves", "epochs", "batch", "evaluate_every"))
        if self.parts is not None and self.parts > self.games:
            raise ConfigError(f"parts must be at most the games, {self.games}, got {self.parts}")
        if self.warm_up is not None:
            require_integers(self, ("warm_up",), 1, MOST)
            if not self.has_critic:
                raise ConfigError("warm_up is of a central critic, and this run has none")
        if self.partner is not None:
            if not self.has_critic:
                raise ConfigError("beside a partner a run needs a central critic, got none")
            from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame

            load_policy(self.partner, HanabiGame(self.config))
        for name in ("rate", "clip", "value_weight", "sharpen"):
            require_positive(name, getattr(self, name))
        for name in ("entropy", "trace"):
            require_share(name, getattr(self, name))
        for name in ("lenient", "entropy_end"):
            if getattr(self, name) is not None:
                require_share(name, getattr(self, name))
        for name in ("own_value_weight", "belief_rate"):
            if getattr(self, name) is not None:
                require_positive(name, getattr(self, name))

    @property
    def has_critic(self) -> bool:
        """True if advantages come from a central critic."""
        if self.central_critic is None:
            return self.architecture == "public-belief" or self.partner is not None
        return self.central_critic

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self) | {"config": self.config.to_dict()}


@dataclass(frozen=True, kw_only=True)
class CriticSettings:
    """Whose critic, of which size, learns for how long."""

    policy: str = setting("rlnet", "A network of this package, or a file.", metavar="NAME")
    config: HanabiConfig = setting(HanabiConfig, _GAME)
    options: dict[str, Any] = setting(dict, "Option of the critic: hidden, deeper.")
    iterations: int = setting(80, _ROUNDS)
    games: int = setting(500, "Games a round.")
    epochs: int = setting(2, "How often a position is learned from.")
    batch: int = setting(512, "Positions of a step.")
    rate: float = setting(1e-3, _RATE)
    trace: float = setting(0.5, "Lambda of returns, TD(lambda), once the critic knows something.")
    noise: float = setting(
        0.02, "How often a move before the last tried one is drawn at random, too."
    )
    seed: int = setting(0, SEED)
    parts: int | None = setting(None, _PARTS)

    def __post_init__(self) -> None:
        _require_counts(self, ("iterations", "games", "epochs", "batch"))
        require_positive("rate", self.rate)
        for name in ("trace", "noise"):
            require_share(name, getattr(self, name))
        require_network("policy", self.policy)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self) | {"config": self.config.to_dict()}


@dataclass(frozen=True, kw_only=True)
class BeliefSettings:
    """How long a belief model learns from how many games."""

    iterations: int = setting(300, _ROUNDS)
    games: int = setting(120, "New games a round.")
    keep: int = setting(10, "Rounds whose games are learned from.")
    steps: int = setting(20, "Steps a round.")
    batch: int = setting(32, "One seat's games in a step.")
    rate: float = setting(2e-3, _RATE)
    seed: int = setting(0, SEED)
    parts: int | None = setting(None, _PARTS)

    def __post_init__(self) -> None:
        _require_counts(self, ("iterations", "games", "keep", "steps", "batch"))
        require_positive("rate", self.rate)


def _require_options(architecture: str, options: dict[str, Any]) -> None:
    """Raises ConfigError for an option that the architecture does not have."""
    known = OPTIONS[architecture]
    for name in options:
        if name not in known:
            raise ConfigError(
                f"options of architecture {architecture} are {', '.join(known)}, got {name!r}"
                f"{did_you_mean(name, known)}"
            )


def require_settings(kind: type, given: object) -> None:
    """Raises ConfigError unless ``given`` is a ``kind``, one of the classes here."""
    if not isinstance(given, kind):
        raise ConfigError(
            f"settings must be those of a {kind.__name__}, as {kind.__name__}(seed=1), got "
            f"{class_given(given) if isinstance(given, type) else repr(given)}"
        )


def _require_counts(settings: Any, names: tuple[str, ...]) -> None:
    """Raises ConfigError for bad numbers of what is counted, of parts, and for a bad seed."""
    require_integers(settings, names, 1, MOST)
    require_integers(settings, ("seed",), 0)
    if settings.parts is not None:
        require_integers(settings, ("parts",), 1, MOST)
