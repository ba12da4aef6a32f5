"""One seat of native Hanabi as a Gymnasium environment, with any policies as partners.

Letters: P players, A actions.
"""

from __future__ import annotations

import operator
from dataclasses import fields
from inspect import signature
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.core.require import require_choice
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.seat import SeatedPolicy
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.encoding import ENCODINGS, observation_size
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.text import why_illegal
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import AnyPolicy, policy_of
from hanabi_search_plugin.wrappers._render import RENDER_MODES, check_render_mode, rendered

ILLEGAL_REWARD = -1.0  #: Of an illegal action, which ends a game; as in PettingZoo's Hanabi.


class HanabiEnv(gymnasium.Env[NDArray[Any], Any]):
    """Hanabi at one ``seat``; the partners move within ``reset`` and ``step``.

    ``partners`` play the other seats: one policy for all of them, or a tuple of P - 1 policies in
    the order of the seats. A policy may be a name, and it may search. ``encoding`` is "openspiel",
    "packed" or "v0" (see ``HanabiGame.encodings``). ``illegal`` says what an illegal action does:
    "end" ends the game with a reward of -1 and the reason in ``info["illegal"]``, "raise" raises
    IllegalActionError. Other parameters are those of ``HanabiConfig``.

    The reward is the change of the return since the seat's last turn. ``info["action_mask"]`` is
    int8 [A]; ``action_masks()`` gives it as bool. ``info["searches"]`` lists the partners' searches
    since the seat's last turn as pairs of a seat and its SearchResult; ``partners[seat]`` is the
    partner at a seat, and its ``last_result`` the latest of them (None: it does not search).

    ``render_mode`` says how the table is shown, always as the seat sees it: "ansi" gives a text,
    "rgb_array" a picture, uint8 [height, width, 3] (it needs Pillow, the extra ``render``), "human"
    prints the text in colour after ``reset`` and every ``step``.

    All chance comes from ``reset(seed=...)``. Copies by pickle and deepcopy keep the game and go on
    identically. Raises ConfigError for bad parameters, UnsupportedError for partners that are no
    policies.
    """

    metadata = {  # noqa: RUF012  # as Gymnasium does
        "render_modes": list(RENDER_MODES),
        "render_fps": 1,
    }

    def __init__(
        self,
        players: int = 2,
        seat: int = 0,
        partners: AnyPolicy | tuple[AnyPolicy, ...] = "smartbot",
        encoding: str = "openspiel",
        illegal: Literal["end", "raise"] = "end",
        render_mode: str | None = None,
        **parameters: Any,
    ) -> None:
        self.game = game_of(players, parameters, HanabiEnv)
        check_parameters(self.game, seat, illegal)
        check_render_mode(render_mode)
        self.seat, self.encoding, self.illegal = int(seat), encoding, illegal
        self.render_mode = render_mode
        loaded = load_partners(self.game, self.seat, partners)
        self.partners = {p: SeatedPolicy(policy) for p, policy in loaded.items()}
        self.action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = observation_space(self.game, encoding)
        self._worlds: HanabiWorlds | None = None  # None before a game, and after an illegal action
        self._shown: HanabiWorlds | None = None  # what ``render`` shows: the last game
        self._streams = Streams(np.zeros(1, dtype=np.uint64))  # of the partners
        self._searches: list[tuple[int, SearchResult]] = []

    def __repr__(self) -> str:
        return f"<HanabiEnv at seat {self.seat} of {self.game!r}>"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Deal, and let the partners move until it is this seat's turn.

        ``options["deck"]`` sets the deck: the identities of all cards, the first dealt first.
        """
        super().reset(seed=seed)
        self._searches = []
        worlds = self.game.deal(self.np_random, 1)
        self._streams = Streams.spawn(self.np_random, 1)
        if options and "deck" in options:
            worlds = self.game.from_decks([options["deck"]], int(worlds.current_player[0]))
        self._worlds = self._shown = worlds
        for p, partner in self.partners.items():
            partner.start(worlds.view(p))
        self._partners_move(worlds)
        self._show()
        return self._observation(worlds), self._info(worlds)

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        worlds = self._running()
        self._searches = []
        try:
            chosen = operator.index(action)
        except TypeError:
            raise IllegalActionError(
                f"an action must be from 0 to {self.game.num_actions - 1}, got {action!r}"
            ) from None
        mask = self.action_masks()
        if not (0 <= chosen < len(mask) and mask[chosen]):
            reason = f"action {chosen} is not legal: "
            reason += why_illegal(self.game.config, worlds.rows[0], chosen)
            if self.illegal == "raise" or not mask.any():
                raise IllegalActionError(reason)
            observation, info = self._observation(worlds), self._info(worlds)
            self._worlds = None
            self._show()
            return observation, ILLEGAL_REWARD, True, False, info | {"illegal": reason}
        before = float(worlds.returns[0, self.seat])
        self._play(worlds, chosen)
        self._partners_move(worlds)
        reward = float(worlds.returns[0, self.seat]) - before
        over = bool(worlds.terminal[0])
        self._show()
        return self._observation(worlds), reward, over, False, self._info(worlds)

    def action_masks(self) -> NDArray[np.bool_]:
        """[A] the legal actions of this seat. sb3-contrib looks for a method of this name."""
        return np.array(self._running().view(self.seat).legal[0])

    def render(self) -> Any:
        """What ``render_mode`` asks for; None in the mode "human", and without a mode.

        Raises UnsupportedError for a picture without Pillow.
        """
        if self.render_mode in (None, "human"):
            return None
        if self._shown is None:
            raise IllegalActionError("expected a game: call reset() first")
        row = self._shown.view(self.seat).rows[0]
        return rendered(self.render_mode, self.game.config, row, self.seat)

    def _show(self) -> None:
        if self.render_mode == "human" and self._shown is not None:
            row = self._shown.view(self.seat).rows[0]
            rendered(self.render_mode, self.game.config, row, self.seat)

    def _partners_move(self, worlds: HanabiWorlds) -> None:
        while (player := int(worlds.current_player[0])) >= 0 and player != self.seat:
            partner = self.partners[player]
            action = partner.act(worlds.view(player), self._streams)
            if partner.last_result is not None:
                self._searches.append((player, partner.last_result))
            self._play(worlds, action)

    def _play(self, worlds: HanabiWorlds, action: int) -> None:
        event = worlds.step(np.array([action]))
        if not worlds.terminal[0]:
            for p, partner in self.partners.items():
                partner.observe(worlds.view(p), event)

    def _observation(self, worlds: HanabiWorlds) -> NDArray[Any]:
        return np.array(worlds.view(self.seat).observation(self.encoding)[0])

    def _info(self, worlds: HanabiWorlds) -> dict[str, Any]:
        mask = worlds.view(self.seat).legal[0].astype(np.int8)
        return {"action_mask": mask, "searches": tuple(self._searches)}

    def _running(self) -> HanabiWorlds:
        if self._worlds is None:
            raise IllegalActionError("expected a running game: call reset() first")
        return self._worlds


class MaskInObservation(gymnasium.Wrapper[Any, Any, NDArray[Any], Any]):
    """Puts the mask of the legal actions into the observation, which becomes a dict of the two.

    For libraries that look for masks there. ``keys`` are the names of observation and mask in it:
    RLlib's examples take ("observations", "action_mask"), Tianshou ("obs", "mask"). The mask is the
    one in ``info``, int8 [A].
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], keys: tuple[str, str] = ("observation", "action_mask")
    ) -> None:
        super().__init__(env)
        assert isinstance(env.action_space, spaces.Discrete)
        self.keys = keys
        mask = spaces.Box(0, 1, (int(env.action_space.n),), np.int8)
        both = (env.observation_space, mask)
        self.observation_space = spaces.Dict(dict(zip(keys, both, strict=True)))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._both(observation, info), info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        observation, reward, over, truncated, info = self.env.step(action)
        return self._both(observation, info), reward, over, truncated, info

    def _both(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        return dict(zip(self.keys, (observation, info["action_mask"]), strict=True))


def game_of(players: int, parameters: dict[str, Any], environment: type) -> HanabiGame:
    """The game that is played. Raises ConfigError for what the ``environment`` does not take."""
    own = [name for name in signature(environment).parameters if name != "parameters"]
    rules = [field.name for field in fields(HanabiConfig)]
    for name in parameters:
        require_choice("a parameter", name, sorted({*own, *rules}))
    return HanabiGame(players=players, **parameters)


def check_parameters(game: HanabiGame, seat: Any, illegal: Any) -> None:
    """Raise ConfigError for a seat or an ``illegal`` that does not exist."""
    if isinstance(seat, bool) or seat not in range(game.num_players):
        raise ConfigError(f"seat must be from 0 to {game.num_players - 1}, got {seat!r}")
    if illegal not in ("end", "raise"):
        raise ConfigError(f"illegal must be end or raise, got {illegal!r}")


def observation_space(game: HanabiGame, encoding: str) -> spaces.Box:
    """The space of one observation. Raises ConfigError for an unknown encoding."""
    require_choice("encoding", encoding, ENCODINGS)
    size = observation_size(game.config)
    if encoding == "packed":
        return spaces.Box(0, 255, ((size + 7) // 8,), np.uint8)
    dtype: Any = np.float32 if encoding == "v0" else np.uint8
    return spaces.Box(0, 1, (size,), dtype)


def load_partners(
    game: HanabiGame, seat: int, partners: AnyPolicy | tuple[AnyPolicy, ...]
) -> dict[int, Policy]:
    """A policy for each seat but ``seat``.

    Raises ConfigError for a wrong number of partners, and as ``policy_of``.
    """
    others = [p for p in range(game.num_players) if p != seat]
    each = partners if isinstance(partners, tuple | list) else (partners,) * len(others)
    if len(each) != len(others):
        raise ConfigError(f"partners must be one, or {len(others)} of them, got {len(each)}")
    policies = [policy_of(partner, game) for partner in each]
    return dict(zip(others, policies, strict=True))
