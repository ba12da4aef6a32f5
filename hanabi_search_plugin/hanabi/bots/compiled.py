"""Compiled bots as policies of native Hanabi.

A bot's decisions are compiled routines (``routines``); the loops of ``game_loops`` call them by the
script of each seat (``script``).

Letters: B worlds, A actions, P players.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.beliefs.mixture import Mixture
from hanabi_search_plugin.core.agent import require_event
from hanabi_search_plugin.core.belief import require_view
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.game import BoolArray, Event, FloatArray, IntArray, View
from hanabi_search_plugin.core.policy import Memory, Policy, UniformPolicy
from hanabi_search_plugin.core.streams import Streams, require_streams
from hanabi_search_plugin.hanabi.bots import game_loops, smartbot
from hanabi_search_plugin.hanabi.bots.memories import (
    require_all_held,
    require_next,
    require_some_legal,
    require_to_move,
    require_words,
    with_moves,
)
from hanabi_search_plugin.hanabi.bots.routines import CODE, FLAG, address_of
from hanabi_search_plugin.hanabi.bots.script import (
    COMMON,
    DECIDE,
    KIND,
    NO_MEMORY,
    OBSERVE,
    PARAMS,
    RANDOM,
    ROUTINES,
    SCRIPT,
    SMARTBOT,
    STOCHASTIC,
    WORDS,
)
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiRules, HanabiView
from hanabi_search_plugin.hanabi.engine.layout import ALL, MOVES


@dataclass(frozen=True)
class Routines:
    """A bot's behaviour: functions under ``jit.routine`` on rows of ``hanabi.engine.layout``.

    ``decide(dims, row, memory, script)`` returns the action of the player to move, or a code of
    ``script`` that leaves it to chance. The row may be a view: a bot never reads its own cards or
    the deck.
    ``observe(dims, row, seat, memory, script)`` updates the seat's memory in place with the last
    move of ``row``, and returns True if that depends on cards that some player does not see.
    ``common(dims, row, memory, script)`` does so for one memory that serves every seat. It returns
    False, and leaves the memory as it was, where seats would read the move differently.
    """

    decide: Any
    observe: Any = None
    common: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name, as functions are: what is compiled lives in one process."""
        return _find_routines, tuple(
            routine and (routine.py_func.__module__, routine.py_func.__qualname__)
            for routine in (self.decide, self.observe, self.common)
        )


def _find_routines(*names: tuple[str, str] | None) -> Routines:
    return Routines(*(name and getattr(import_module(name[0]), name[1]) for name in names))


class CompiledBot(Policy):
    """A bot of compiled routines at one seat of native Hanabi.

    ``words``: int32 words of memory a seat, zeros at the start of a game; 0: no memory.
    ``parameters``: whole numbers that the routines read in the script from PARAMS on.
    ``deterministic``: False where ``decide`` may leave a move to chance.

    Memory: int32 [B, words + 1], the words and how many moves they hold (``bots.memories``); None
    without words. Methods raise UnsupportedError for what is no memory or no view of native Hanabi,
    ContractError for a memory of another game, of another number of worlds, or of fewer moves or
    more than the view shows, and for ``legal`` of another shape than the view's, and
    IllegalActionError where the seat is not to move or ``legal`` leaves no move.

    Raises ConfigError for more parameters than a script holds.
    """

    kind = ROUTINES

    def __init__(
        self,
        name: str,
        routines: Routines,
        *,
        words: int = 0,
        parameters: tuple[int, ...] = (),
        deterministic: bool = True,
    ) -> None:
        if len(parameters) > SCRIPT - PARAMS:
            raise ConfigError(
                f"a bot takes at most {SCRIPT - PARAMS} parameters, got {len(parameters)}"
            )
        self.name = name
        self.routines = routines
        self.parameters = parameters
        self.deterministic = deterministic
        self._words = words

    @property
    def called(self) -> Routines:
        """What the loops call."""
        return self.routines

    def words(self, game: HanabiRules) -> int:
        """Words of a seat's memory."""
        return self._words

    def blank(self, game: HanabiRules) -> NDArray[np.int32]:
        """int32 [words], a seat's memory at the first decision."""
        return np.zeros(self.words(game), dtype=np.int32)

    def script(self, game: HanabiRules) -> IntArray:
        """int64 [SCRIPT], what the loops read. Compiles the routines where they are new."""
        script = np.zeros(SCRIPT, dtype=np.int64)
        script[KIND] = self.kind
        script[DECIDE], script[OBSERVE], script[COMMON] = _addresses(self.called, game.dims)
        script[WORDS] = self.words(game)
        script[STOCHASTIC] = not self.deterministic
        script[PARAMS : PARAMS + len(self.parameters)] = self.parameters
        return script

    def start(self, view: View) -> Memory:
        native = _native(view)
        blank = self.blank(native.game)
        if not len(blank):
            return None
        return with_moves(np.repeat(blank[None], len(view), axis=0), native.rows[:, MOVES])

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return self.observe_at(view.player, view, event, memory)

    def observe_at(self, seat: int, view: View, event: Event, memory: Memory) -> Memory:
        """``observe`` as ``seat`` would do it, if it saw what ``view`` shows."""
        native = _native(view)
        require_event(event, native)
        count = self.words(native.game)
        if count == 0:
            return None
        require_words(self, memory, count, native.game, len(native))
        require_next(memory, native, event)
        after, script = np.array(memory, order="C"), self.script(native.game)
        game_loops.observe_rows(native.game.dims, script, native.rows, seat, after)
        after[:, -1] = native.rows[:, MOVES]
        return after

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        require_streams(rng, len(view))
        native = _native(view)
        mine = self._read(native, legal, memory)
        actions = np.empty(len(view), dtype=np.int64)
        script = self.script(native.game)
        game_loops.act_rows(native.game.dims, script, native.rows, mine, rng.state, actions)
        return actions

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        if self.deterministic:
            return super().probabilities(view, legal, memory)
        native = _native(view)
        mine = self._read(native, legal, memory)
        chance = np.empty((len(view), native.game.num_actions))
        script = self.script(native.game)
        game_loops.chance_rows(native.game.dims, script, native.rows, mine, chance)
        return chance

    def _read(self, view: HanabiView, legal: BoolArray, memory: Memory) -> NDArray[np.int32]:
        """[B, words and more] what the seat remembers, which is to move."""
        require_to_move(view)
        require_some_legal(legal, view)
        count = self.words(view.game)
        if count == 0:
            return NO_MEMORY
        require_words(self, memory, count, view.game, len(view))
        require_all_held(memory, view)
        return np.ascontiguousarray(memory)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class MaskBot(CompiledBot):
    """A compiled bot that remembers public knowledge: the identities that each card may have.

    The words are a mask for each slot, players * hand size: the seat's own copy of them.
    """

    def words(self, game: HanabiRules) -> int:
        return game.config.players * game.config.hand_size

    def blank(self, game: HanabiRules) -> NDArray[np.int32]:
        return np.full(self.words(game), game.template[ALL], dtype=np.int32)

    def __repr__(self) -> str:
        return type(self).__name__


SMARTBOTS_ROUTINES = Routines(smartbot.choose, smartbot.observe_alone)


class SmartBot(MaskBot):
    """SmartBot at one seat of native Hanabi, any configuration; see ``smartbot`` for how it plays.

    Memory as of a ``MaskBot``.
    """

    kind = SMARTBOT

    def __init__(self) -> None:
        # Without its routines, which headers of recorded runs would hold: they are not settings.
        super().__init__("smartbot", Routines(decide=None))

    @property
    def called(self) -> Routines:
        return SMARTBOTS_ROUTINES


def _native(view: View) -> HanabiView:
    require_view(view)
    if not isinstance(view, HanabiView):
        raise UnsupportedError(
            f"compiled bots play native Hanabi (HanabiRules), got a view of {view.game.name}"
        )
    return view


@functools.cache
def _addresses(routines: Routines, dims: tuple[Any, ...]) -> tuple[int, int, int]:
    return (
        address_of(routines.decide, dims, seat=False, returns=CODE),
        address_of(routines.observe, dims, seat=True, returns=FLAG),
        address_of(routines.common, dims, seat=False, returns=FLAG),
    )


def is_compiled(policy: Policy) -> bool:
    """True if a compiled bot plays as ``policy`` does."""
    return isinstance(policy, CompiledBot) or type(policy) is UniformPolicy


def script_of(policy: Policy, game: HanabiRules) -> IntArray | None:
    """The script int64 [SCRIPT] of the compiled bot that plays as ``policy`` does, or None."""
    if not is_compiled(policy):
        return None
    if isinstance(policy, CompiledBot):
        return policy.script(game)
    script = np.zeros(SCRIPT, dtype=np.int64)
    script[KIND], script[STOCHASTIC] = RANDOM, 1
    return script


def scripts_of(blueprint: tuple[Policy, ...], game: HanabiRules) -> IntArray | None:
    """Scripts int64 [P, SCRIPT] of all seats; None unless every seat's policy is compiled."""
    scripts = [script_of(policy, game) for policy in blueprint]
    compiled = [script for script in scripts if script is not None]
    return np.stack(compiled) if len(compiled) == len(blueprint) else None


def table_of(
    blueprint: tuple[Policy, ...], memories: tuple[Memory, ...], game: HanabiRules
) -> tuple[IntArray, tuple[Memory, ...]] | None:
    """The scripts int64 [B or 1, P, SCRIPT] of all seats in each world, and their memories.

    A seat that plays a ``Mixture`` gets the candidate drawn in each world. None where a policy is
    not compiled, or no candidate is drawn.
    """
    scripts, script_memories = [], []
    for policy, memory in zip(blueprint, memories, strict=True):
        if isinstance(policy, Mixture):
            found = _drawn(policy, memory, game)
            if found is None:
                return None
            script, memory = found
        else:
            alone = script_of(policy, game)
            if alone is None:
                return None
            script = alone[None]
        scripts.append(script)
        script_memories.append(memory)
    worlds = max(len(script) for script in scripts)
    together = [np.broadcast_to(script, (worlds, SCRIPT)) for script in scripts]
    return np.stack(together, axis=1), tuple(script_memories)


def _drawn(policy: Mixture, memory: Memory, game: HanabiRules) -> tuple[IntArray, Memory] | None:
    """The scripts [B, SCRIPT] of the candidates that are drawn, and their memories in one array."""
    scripts, drawn = scripts_of(policy.candidates, game), memory["drawn"]
    if scripts is None or (drawn < 0).any():  # UNKNOWN
        return None
    packed = np.zeros((len(drawn), int(scripts[:, WORDS].max(initial=1))), dtype=np.int32)
    moves = np.zeros(len(drawn), dtype=np.int32)
    for k, own in enumerate(memory["memories"]):
        rows = np.flatnonzero(drawn == k)
        if own is not None and len(rows):
            packed[rows, : own.shape[1] - 1] = own[rows, :-1]
            moves[rows] = own[rows, -1]
    return scripts[drawn], with_moves(packed, moves)


def pack_memories(memories: tuple[Memory, ...]) -> NDArray[np.int32]:
    """The words of the seats in one array [B or 1, P, words]; shorter ones get zeros behind."""
    known = [memory for memory in memories if memory is not None]
    rows = max((len(memory) for memory in known), default=1)
    words = max((memory.shape[1] - 1 for memory in known), default=1)
    packed = np.zeros((rows, len(memories), words), dtype=np.int32)
    for p, memory in enumerate(memories):
        if memory is not None:
            packed[:, p, : memory.shape[1] - 1] = memory[:, :-1]
    return packed
