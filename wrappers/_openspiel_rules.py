"""What a ``pyspiel.Game`` declares, and what its players see of a state."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python.observation import make_observation

from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import Rewards
from hanabi_search_plugin.core.near_names import did_you_mean
from hanabi_search_plugin.core.settings import Arguments, Result, named_arguments
from hanabi_search_plugin.core.state_list import StateGame
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.registry import OPENSPIEL

State = Any  # pyspiel.State

# Games with hidden information in which every player sees every action (checked by hand).
PUBLIC_ACTIONS = frozenset(
    ["bridge", "crazy_eights", "gin_rummy", "hanabi", "kuhn_poker", "leduc_poker", "liars_dice",
     "oh_hell", "spades", "tiny_bridge_2p", "tiny_bridge_4p", "tiny_hanabi"]
)  # fmt: skip

UNITS = {  # what returns of a game are counted in, where the game's players have a word for it
    **dict.fromkeys(
        ("kuhn_poker", "leduc_poker", "python_kuhn_poker", "repeated_leduc_poker", "repeated_poker",
         "universal_poker"), "chips",
    ),
    **dict.fromkeys(
        ("bridge", "cribbage", "crazy_eights", "euchre", "gin_rummy", "hanabi", "hearts", "oh_hell",
         "spades", "tiny_bridge_2p", "tiny_bridge_4p"), "points",
    ),
}  # fmt: skip

HANABI_NAMES = {  # of HanabiConfig: OpenSpiel's
    "information_tokens": "max_information_tokens",
    "life_tokens": "max_life_tokens",
    **{name: name for name in ("players", "colors", "ranks", "hand_size", "random_start_player")},
}

IN_ITS_NAME = ': options of a game of OpenSpiel stand in its name, as in "leduc_poker(players=3)"'


def options_in_its_name(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """As ``named_arguments``: says where the options of a game of OpenSpiel belong."""
    return named_arguments(lambda option: IN_ITS_NAME, IN_ITS_NAME)(function)


class OpenSpielRules(StateGame):
    """The part of ``OpenSpielGame`` that its worlds and views need."""

    def __init__(self, game: Any, *, public_actions: bool | None) -> None:
        self.spiel = load_spiel(game)
        _require_sequential(self.spiel)
        self.compiled = type(self.spiel).__module__ == pyspiel.__name__  # not written in Python
        self._initial = self.spiel.new_initial_state() if self.compiled else None
        kind = self.spiel.get_type()
        self.name = str(self.spiel)
        self.unit = UNITS.get(kind.short_name, "")
        self.num_players = self.spiel.num_players()
        self.num_actions = self.spiel.num_distinct_actions()
        self.return_range = (self.spiel.min_utility(), self.spiel.max_utility())
        self.max_length = self.spiel.max_game_length()
        self.rewards = _rewards(kind)
        self.scores_early = kind.reward_model == pyspiel.GameType.RewardModel.REWARDS
        perfect = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION
        self.perfect_information = perfect
        known = perfect or kind.short_name in PUBLIC_ACTIONS
        self.public_actions = known if public_actions is None else public_actions
        self.remembers = kind.provides_information_state_string and not perfect
        if not (self.remembers or kind.provides_observation_string):
            raise UnsupportedError(f"{self.name} gives neither observation nor information state")
        self._observation = _observer(self.spiel, self.remembers)
        self.encodings = ("tensor", "string") if self._observation else ("string",)
        self.tensor_shape = self._observation.tensor.shape if self._observation else ()

    def initial_state(self) -> State:
        """A new state at the game's beginning.

        Copied where the game is compiled: gin_rummy makes a new one in 3 ms, a copy in 0.03. What
        Python writes is copied slower than it is made.
        """
        return self.spiel.new_initial_state() if self._initial is None else self._initial.clone()

    def current_player(self, state: State) -> int:
        """OpenSpiel's id of who is to move: chance and the end have negative ones."""
        return int(state.current_player())

    def legal_mask(self, state: State) -> list[int]:
        mask: list[int] = state.legal_actions_mask()
        return mask

    def returns(self, state: State) -> list[float]:
        """[P] score points so far; before the end nothing where the game pays at the end alone."""
        if not (self.scores_early or state.is_terminal()):
            return [0.0] * self.num_players
        returns: list[float] = state.returns()
        return returns

    def key(self, state: State, player: int) -> Hashable:
        """What ``player`` sees in a state; equal exactly where it sees the same."""
        string = self.string(state, player)
        if self.remembers or "tensor" not in self.encodings:
            return string
        return string, self.tensor(state, player).tobytes()

    def tensor(self, state: State, player: int) -> NDArray[np.float32]:
        """A copy of the tensor that ``player`` sees in a state."""
        assert self._observation is not None
        self._observation.set_from(state, player)
        return np.array(self._observation.tensor, dtype=np.float32)

    def string(self, state: State, player: int) -> str:
        """The string that ``player`` sees in a state."""
        if self.remembers:
            return str(state.information_state_string(player))
        return str(state.observation_string(player))


def load_spiel(game: Any) -> Any:
    """OpenSpiel's game of a string; a ``pyspiel.Game`` is returned as it is.

    The string may begin as on the command line, "openspiel:leduc_poker".

    Raises ConfigError where it cannot be loaded, UnsupportedError for anything else.
    """
    if isinstance(game, pyspiel.Game):
        return game
    if not isinstance(game, str):
        raise UnsupportedError(f"expected a pyspiel.Game or a string, got {type(game).__name__}")
    return _loaded(game.removeprefix(f"{OPENSPIEL}:"))


def _loaded(text: str) -> Any:
    try:
        parameters = pyspiel.game_parameters_from_string(text) if text else {}
        if parameters.get("name") == "hanabi":
            _check_hanabi(parameters)
        _check_parameters(parameters)
        return pyspiel.load_game(text)
    except (pyspiel.SpielError, IndexError) as error:  # IndexError: a parameter that has no default
        first = str(error).partition("\n")[0].removesuffix(" Available games are:")
        raise ConfigError(f"OpenSpiel cannot load {text!r}: {first}") from error


def _check_parameters(parameters: Mapping[str, Any]) -> None:
    """Raise ConfigError for a name, an option or a number of players that OpenSpiel does not have.

    Its own complaints go to the standard error, past Python, before they are raised.
    """
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    name = parameters.get("name", "")
    if name not in kinds:
        bare = re.split("[:/]", name)[-1]  # without what was taken for a prefix
        meant = did_you_mean(name, kinds) or did_you_mean(bare, kinds)
        raise ConfigError(f"OpenSpiel has no game {name!r}{meant}")
    kind, given = kinds[name], [key for key in parameters if key != "name"]
    known = list(kind.parameter_specification)
    for key in given:
        if key not in known:
            raise ConfigError(
                f"options of OpenSpiel's {name} are {', '.join(known) or 'none'}, got {key!r}"
                f"{did_you_mean(key, known)}"
            )
    players = parameters.get("players")
    least, most = kind.min_num_players, kind.max_num_players
    if isinstance(players, int) and not least <= players <= most:
        raise ConfigError(f"players of {name} must be from {least} to {most}, got {players}")


def _check_hanabi(parameters: Mapping[str, Any]) -> None:
    """Raise ConfigError for parameters out of range, which would abort the process."""
    names = HANABI_NAMES.items()
    HanabiConfig(**{ours: parameters[theirs] for ours, theirs in names if theirs in parameters})


def _require_sequential(spiel: Any) -> None:
    kind = spiel.get_type()
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        raise UnsupportedError(
            f"expected a sequential game, got {kind.short_name}, which is simultaneous: "
            "pyspiel.convert_to_turn_based(game) makes it one"
        )
    if kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL:
        raise UnsupportedError(f"expected a sequential game, got {kind.short_name}, a mean field")
    if kind.short_name == "hanabi" and spiel.get_parameters().get("random_start_player"):
        raise UnsupportedError(
            "hanabi with random_start_player draws who begins from a generator of its own: "
            "load_game(game) plays it on the native engine"
        )
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        raise UnsupportedError(
            f"{kind.short_name} draws its chance from a generator of its own, so worlds cannot "
            "meet the same chance twice"
        )


def _observer(spiel: Any, remembers: bool) -> Any:
    """What fills tensors of information states, or of observations; None where it cannot."""
    kind = spiel.get_type()
    which = "information_state" if remembers else "observation"
    if not getattr(kind, f"provides_{which}_tensor"):
        return None
    try:
        recall = pyspiel.IIGObservationType(perfect_recall=True) if remembers else None
        return make_observation(spiel, recall)
    except pyspiel.SpielError:  # crossword says that it has a tensor
        return None


def _rewards(kind: Any) -> Rewards:
    if kind.utility == pyspiel.GameType.Utility.IDENTICAL:
        return "identical"
    return "zero_sum" if kind.utility == pyspiel.GameType.Utility.ZERO_SUM else "general_sum"
