"""OpenSpiel's policies, bots and learning agents as policies of ours.

What reads a whole ``pyspiel.State`` gets a hypothetical one: drawn from all that its seat has seen
and from nothing else, so hidden cards cannot leak, and the same for all states that look the same
to the seat. They play on the native engine, too, where such a state is built from the seat's own
history. Letters: B worlds, A actions.
"""

from __future__ import annotations

import copy
import functools
import sys
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, get_args

import numpy as np
import pyspiel
from open_spiel.python import policy as spiel_policy
from open_spiel.python import rl_agent
from open_spiel.python.rl_environment import StepType, TimeStep

from hanabi_search_plugin.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.game import BoolArray, Event, FloatArray, Game, IntArray, View
from hanabi_search_plugin.hanabi.game import HanabiGame
from hanabi_search_plugin.policy import Memory, Policy, sample_actions
from hanabi_search_plugin.streams import Streams
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, digest, same_spiel
from hanabi_search_plugin.wrappers.openspiel_hanabi import (
    Record,
    config_of,
    history_of,
    hypothetical_state,
    initial_state,
    spiel_of,
)
from hanabi_search_plugin.wrappers.openspiel_worlds import OpenSpielView, State

Reads = Literal["state", "information_state"]
MakeBot = Callable[[int, int], Any]  # (player, seed) -> pyspiel.Bot

TOLERANCE = 1e-5  # that probabilities may miss a sum of 1 by: those of float32 networks do
ANSWERS_KEPT = 100_000  # of a bot, by what its seat has seen

_INFORMATION_STATE_ONLY = (
    spiel_policy.TabularPolicy,
    spiel_policy.UniformRandomPolicy,
    pyspiel.TabularPolicy,
    pyspiel.PartialTabularPolicy,
    pyspiel.UniformPolicy,
)


def as_policy(
    thing: Any,
    game: Game,
    *,
    reads: Reads | None = None,
    memoryless: bool | None = None,
    any_seat: bool = False,
    use_observation: bool | None = None,
    seed: int = 0,
) -> Policy:
    """A policy that plays ``game`` (a HanabiGame or an OpenSpielGame) as ``thing`` would.

    ``thing`` is one of

    * ``open_spiel.python.policy.Policy`` or ``pyspiel.Policy``: its exact probabilities;
    * ``pyspiel.Bot``: its policy where it gives one, else its move. It is not forked: it is told
      each world's history anew wherever it moves (see ``memoryless``), and its first answer to what
      its seat has seen stands, so that a bot with a generator of its own is reproducible;
    * a function ``(player, seed) -> pyspiel.Bot``, called for every decision with a seed that
      depends on what the seat has seen: a bot for all seats, whose answers depend on no order;
    * ``rl_agent.AbstractAgent`` or another with its ``step``, PyTorch's DQN and PPO among them: the
      probabilities of ``step(time_step, is_evaluation=True)``, asked once where worlds look alike.

    ``reads="information_state"`` declares that a policy or bot looks at what its seat has seen and
    nothing else of the state, and saves the hypothetical state; OpenSpiel's tabular and uniform
    policies are known to. ``memoryless=False``: it remembers, so a bot is restarted and played
    through the history (own moves by ``force_action``, or by ``step`` if that gives the same
    move), and a learning agent through its earlier turns. By default agents are memoryless, and so
    are bots, unless they take ``force_action`` or, in Python, have an ``inform_action`` of their
    own. ``any_seat``: an agent may play at another seat than its ``player_id``, and sees its
    observation where it expects its own. ``use_observation``: as of ``rl_environment``, by default
    the information state where the game gives one. Deep copies share a bot, which is asked anew
    anyway; only what a function makes can be pickled.

    Raises UnsupportedError for what is none of these, one made for another game or seat, and one
    that cannot be replayed.
    """
    if reads not in (None, *get_args(Reads)):
        raise ConfigError(f"reads must be one of {', '.join(get_args(Reads))}, got {reads!r}")
    if not isinstance(game, HanabiGame | OpenSpielGame):
        raise UnsupportedError(
            f"expected a HanabiGame or an OpenSpielGame, got {type(game).__name__}"
        )
    if isinstance(thing, Policy):
        return thing
    if isinstance(thing, spiel_policy.Policy | pyspiel.Policy):
        only = isinstance(thing, _INFORMATION_STATE_ONLY)
        return SpielPolicy(thing, game, reads or ("information_state" if only else "state"))
    if isinstance(thing, pyspiel.Bot):
        return BotPolicy(thing, None, game, reads or "state", memoryless, seed)
    if isinstance(thing, rl_agent.AbstractAgent) or _has_step(thing):
        return RLAgentPolicy(thing, game, memoryless is not False, any_seat, use_observation)
    if callable(thing):
        return BotPolicy(None, thing, game, reads or "state", memoryless, seed)
    raise UnsupportedError(
        "expected a Policy, Bot or agent of OpenSpiel, or a function that makes a Bot, got "
        f"{type(thing).__name__}"
    )


class _Adapted(Policy):
    """What the adapters share: records of native games, and rows of checked probabilities."""

    deterministic = False

    def __init__(self, thing: Any, game: HanabiGame | OpenSpielGame) -> None:
        self.thing = thing
        self.game = game

    def __repr__(self) -> str:
        return f"as_policy({type(self.thing).__name__}, {self.game!r})"

    def act(self, view: View, legal: BoolArray, memory: Memory, rng: Streams) -> IntArray:
        return sample_actions(self.probabilities(view, legal, memory), rng)

    @abstractmethod
    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray: ...

    def _check_view(self, view: View) -> None:
        same = view.game == self.game
        if isinstance(self.game, OpenSpielGame) and isinstance(view.game, OpenSpielGame):
            same = view.game is self.game or same_spiel(view.game.spiel, self.game.spiel)
        if not same:
            raise UnsupportedError(f"{self!r} got a view of {view.game!r}")

    def _row(self, chance: Any, legal: BoolArray) -> FloatArray:
        """[A] from a mapping, (action, probability) pairs or a vector. Checks them."""
        row, name = np.zeros(len(legal)), type(self.thing).__name__
        if isinstance(chance, Mapping):
            chance = list(chance.items())
        pairs = isinstance(chance, Sequence) and all(isinstance(x, tuple) for x in chance)
        if pairs:
            for action, probability in chance:
                if not 0 <= action < len(row):
                    raise UnsupportedError(
                        f"{name} must give actions from 0 to {len(row) - 1}, got {action}"
                    )
                row[action] = probability
        else:
            vector = np.asarray(chance, dtype=np.float64)
            if vector.shape != row.shape:
                raise UnsupportedError(
                    f"{name} must give {len(row)} probabilities, one an action of "
                    f"{self.game.name}, got an array of shape {vector.shape}"
                )
            row = vector.copy()
        wrong = np.flatnonzero((row > TOLERANCE) & ~legal)
        if len(wrong):
            raise UnsupportedError(
                f"{name} must move within {np.flatnonzero(legal).tolist()}, got probability "
                f"{row[wrong[0]]:.3g} of {wrong[0]}"
            )
        row[~legal] = 0.0
        total = row.sum()
        if not (abs(total - 1) <= TOLERANCE and bool((row >= 0).all())):
            raise UnsupportedError(
                f"{name} must give probabilities that sum to 1, got a sum of {total}"
            )
        return np.asarray(row / total)


class _ReadsStates(_Adapted):
    """Asks by ``pyspiel.State``. Memory: on the native engine the seat's record of each world."""

    def __init__(self, thing: Any, game: HanabiGame | OpenSpielGame, reads: Reads) -> None:
        super().__init__(thing, game)
        self.reads = reads

    def __deepcopy__(self, memo: dict[int, Any]) -> Policy:
        """Bots and compiled policies cannot be copied; asked anew each time, they can be shared."""
        shared = isinstance(self.thing, pyspiel.Bot | pyspiel.Policy)
        twin = copy.copy(self)
        twin.thing = self.thing if shared else copy.deepcopy(self.thing, memo)
        return twin

    def start(self, view: View) -> Memory:
        self._check_view(view)
        if isinstance(self.game, OpenSpielGame):
            return None  # the views hold the history
        return [Record.start(view.select(np.array([b]))) for b in range(len(view))]

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        if memory is None:
            return None
        moves = zip(event.player.tolist(), event.action.tolist(), strict=True)
        return [
            record.observe(view.select(np.array([b])), player, action)
            for b, (record, (player, action)) in enumerate(zip(memory, moves, strict=True))
        ]

    def _states(
        self, view: View, memory: Memory
    ) -> Iterator[tuple[list[int], Callable[[], State], Callable[[], int]]]:
        """Rows that share what their seat saw; what makes the state to ask by; and a digest of
        what it saw.

        Copies of a world are asked about once.
        """
        seat = view.player
        if isinstance(view, OpenSpielView):
            states = view.states()
            for rows in _equal([id(state) for state in states]):
                which = (view.game, states[rows[0]], seat)
                make = functools.partial(self._hypothetical, *which)
                yield rows, make, functools.partial(_digest_of, *which)
            return
        for rows in _equal(memory):
            record = memory[rows[0]]
            make = functools.partial(record.state, view.select(np.array(rows[:1])))
            yield rows, make, functools.partial(record.digest, 0)

    def _hypothetical(self, game: OpenSpielGame, state: State, seat: int) -> State:
        if self.reads == "information_state":
            return state
        if game.spiel.get_type().short_name == "hanabi":
            return hypothetical_state(history_of(state, seat))
        return game.hypothetical(state, seat)


class SpielPolicy(_ReadsStates):
    """A policy of OpenSpiel, by its exact probabilities; see ``as_policy``."""

    def __init__(self, thing: Any, game: HanabiGame | OpenSpielGame, reads: Reads) -> None:
        super().__init__(thing, game, reads)
        self.python = isinstance(thing, spiel_policy.Policy)
        made_for = getattr(thing, "game", None)
        ours = spiel_of(game) if isinstance(game, HanabiGame) else game.spiel
        if isinstance(made_for, pyspiel.Game) and not _fits(made_for, ours):
            raise UnsupportedError(
                f"expected a policy for {_said(ours)}, got a {type(thing).__name__} for "
                f"{_said(made_for)}"
            )

    def start(self, view: View) -> Memory:
        seats = getattr(self.thing, "player_ids", None)
        if seats is not None and view.player not in seats:
            raise UnsupportedError(
                f"{type(self.thing).__name__} plays the seats {list(seats)}, got {view.player}"
            )
        return super().start(view)

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        chance = np.zeros(legal.shape)
        for rows, make_state, _ in self._states(view, memory):
            state = make_state()
            try:
                if self.python:
                    answer = self.thing.action_probabilities(state, view.player)
                else:
                    answer = self.thing.action_probabilities(state)
            except (KeyError, pyspiel.SpielError) as error:
                raise UnsupportedError(
                    f"{type(self.thing).__name__} must know every state of {self.game.name}, got "
                    f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
                ) from error
            chance[rows] = self._row(answer, legal[rows[0]])
        return chance


class BotPolicy(_ReadsStates):
    """A bot of OpenSpiel, replayed wherever it moves; see ``as_policy``."""

    def __init__(
        self,
        bot: Any,
        make: MakeBot | None,
        game: HanabiGame | OpenSpielGame,
        reads: Reads,
        memoryless: bool | None,
        seed: int,
    ) -> None:
        super().__init__(bot if make is None else make, game, reads)
        self.make = make
        self.seed = seed
        self.memoryless = memoryless
        self._answers: dict[tuple[int, int], FloatArray] = {}

    def __getstate__(self) -> dict[str, Any]:
        if isinstance(self.thing, pyspiel.Bot) and not _has_reduce(self.thing):
            raise UnsupportedError(
                f"a {type(self.thing).__name__} cannot be pickled; give as_policy a function "
                "(player, seed) that makes the bot"
            )
        return self.__dict__

    def __copy__(self) -> BotPolicy:
        bot = self.thing if self.make is None else None
        twin = BotPolicy(bot, self.make, self.game, self.reads, self.memoryless, self.seed)
        twin._answers.update(self._answers)
        return twin

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        chance = np.zeros(legal.shape)
        for rows, make_state, seen in self._states(view, memory):
            b = rows[0]
            if legal[b].sum() == 1:
                chance[rows] = legal[b]
                continue
            key = (view.player, seen())
            if key not in self._answers:
                if len(self._answers) >= ANSWERS_KEPT:
                    self._answers.clear()
                self._answers[key] = self._ask(make_state(), *key, legal[b])
            chance[rows] = self._answers[key]
        return chance

    def _ask(self, state: State, seat: int, seen: int, legal: BoolArray) -> FloatArray:
        bot = self.thing
        if self.make is not None:
            seed = np.random.SeedSequence([self.seed, seen]).generate_state(1)
            bot = self.make(seat, int(seed[0] >> 1))  # OpenSpiel's seeds are C++ ints
            if not isinstance(bot, pyspiel.Bot):
                raise UnsupportedError(
                    f"expected a function that makes a pyspiel.Bot, got {type(bot).__name__}"
                )
        player = getattr(bot, "player_id", None)
        if callable(player) and player() != seat:
            raise UnsupportedError(
                f"{type(bot).__name__} plays seat {player()}, got {seat}: give a policy a seat"
            )
        try:
            if not (_forgets(bot) if self.memoryless is None else self.memoryless):
                _replay(bot, state, seat)
            if bot.provides_policy():
                return self._row(list(bot.get_policy(state)), legal)
            if type(bot).__module__ != pyspiel.__name__ and _overrides(bot, "step_with_policy"):
                answer, action = bot.step_with_policy(state)
                if answer:
                    return self._row([(int(a), float(p)) for a, p in answer], legal)
            else:
                action = bot.step(state)
        except pyspiel.SpielError as error:
            raise UnsupportedError(
                f"{type(bot).__name__} must play {self.game.name}, got: "
                f"{str(error).splitlines()[0]}"
            ) from error
        return self._row([(int(action), 1.0)], legal)


class RLAgentPolicy(_Adapted):
    """A learning agent of OpenSpiel, not learning; see ``as_policy``.

    Memory: what the seat saw on its own turns, the last one included, of agents that remember.
    """

    def __init__(
        self,
        agent: Any,
        game: HanabiGame | OpenSpielGame,
        memoryless: bool,
        any_seat: bool,
        use_observation: bool | None,
    ) -> None:
        super().__init__(agent, game)
        self.memoryless = memoryless
        self.any_seat = any_seat
        self.batched = hasattr(agent, "num_envs")  # PPO: lists of time steps in, of outputs out
        kind = (spiel_of(game) if isinstance(game, HanabiGame) else game.spiel).get_type()
        self.use_observation = use_observation
        if use_observation is None:
            self.use_observation = not kind.provides_information_state_tensor
        asked = "observation" if self.use_observation else "information_state"
        if not getattr(kind, f"provides_{asked}_tensor"):
            raise UnsupportedError(f"{game.name} gives no {asked}_tensor for an agent to see")
        actions = _attribute(agent, "num_actions")
        if actions is not None and actions != game.num_actions:
            raise UnsupportedError(
                f"expected an agent with the {game.num_actions} actions of {game.name}, got "
                f"{type(agent).__name__} with {actions}"
            )

    def start(self, view: View) -> Memory:
        self._check_view(view)
        player = _attribute(self.thing, "player_id")
        if player is not None and player != view.player and not self.any_seat:
            raise UnsupportedError(
                f"{type(self.thing).__name__} plays seat {player}, got {view.player}: give an "
                "agent a seat, or any_seat=True"
            )
        return None if self.memoryless else self._noted(view, [()] * len(view))

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        return None if memory is None else self._noted(view, memory)

    def probabilities(self, view: View, legal: BoolArray, memory: Memory) -> FloatArray:
        if memory is None:
            seen = self._seen(view)
            places = _equal([(*each, row.tobytes()) for each, row in zip(seen, legal, strict=True)])
        else:
            places = [[b] for b in range(len(view))]
        with _generators_kept():
            if memory is not None:
                outputs = [self._replayed(turns, view.player) for turns in memory]
            else:
                steps = [
                    self._time_step(seen[b], legal[b], view.player, first=False) for b, *_ in places
                ]
                if self.batched:
                    outputs = self.thing.step(steps, is_evaluation=True)
                else:
                    outputs = [self.thing.step(step, is_evaluation=True) for step in steps]
        chance = np.zeros(legal.shape)
        for rows, output in zip(places, outputs, strict=True):
            chance[rows] = self._answer(output, legal[rows[0]])
        return chance

    def _noted(self, view: View, memory: Memory) -> Memory:
        mine = np.flatnonzero(view.current_player == view.player)
        after = list(memory)
        if len(mine):
            legal = view.legal
            for b, seen in zip(mine.tolist(), self._seen(view.select(mine)), strict=True):
                after[b] = (*after[b], (seen, legal[b]))
        return after

    def _replayed(self, turns: Any, seat: int) -> Any:
        output = None
        for k, (seen, legal) in enumerate(turns):
            step = self._time_step(seen, legal, seat, first=k == 0)
            output = self.thing.step([step] if self.batched else step, is_evaluation=True)
        return output[0] if self.batched and output else output

    def _seen(self, view: View) -> list[list[float]]:
        if isinstance(view, OpenSpielView):
            if self.use_observation:
                return [state.observation_tensor(view.player) for state in view.states()]
            return [state.information_state_tensor(view.player) for state in view.states()]
        seen: list[list[float]] = view.observation("openspiel").astype(np.float32).tolist()
        return seen

    def _time_step(
        self, seen: list[float], legal: BoolArray, seat: int, *, first: bool
    ) -> TimeStep:
        """The time step of a seat's turn; the other seats' parts of it are empty."""
        player = _attribute(self.thing, "player_id")
        seat = seat if player is None else player
        seats = range(self.game.num_players)
        observations = {
            "info_state": [seen if p == seat else [0.0] * len(seen) for p in seats],
            "legal_actions": [np.flatnonzero(legal).tolist() if p == seat else [] for p in seats],
            "current_player": seat,
            "serialized_state": [],
        }
        if first:
            return TimeStep(observations, None, None, StepType.FIRST)
        return TimeStep(observations, [0.0] * len(seats), [1.0] * len(seats), StepType.MID)

    def _answer(self, output: Any, legal: BoolArray) -> FloatArray:
        if output is None or not hasattr(output, "action"):
            raise UnsupportedError(
                f"{type(self.thing).__name__}.step must give a StepOutput, got "
                f"{type(output).__name__}"
            )
        chance = output.probs
        if hasattr(chance, "detach"):
            chance = chance.detach().cpu().numpy()
        if chance is None or len(chance) == 0:
            return self._row([(int(output.action), 1.0)], legal)
        if isinstance(chance, Mapping):
            return self._row(chance, legal)
        return self._row(np.asarray(chance, dtype=np.float64), legal)


def _digest_of(game: OpenSpielGame, state: State, seat: int) -> int:
    hanabi = game.spiel.get_type().short_name == "hanabi"
    return digest(history_of(state, seat) if hanabi else game.history(state, seat), 0)


def _equal(keys: Sequence[Hashable]) -> list[list[int]]:
    """The places of equal keys, together."""
    places: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        places.setdefault(key, []).append(i)
    return list(places.values())


def _has_step(thing: Any) -> bool:
    return callable(getattr(thing, "step", None)) and _attribute(thing, "player_id") is not None


def _attribute(agent: Any, name: str) -> int | None:
    """A public or private integer of an agent."""
    value = getattr(agent, name, getattr(agent, f"_{name}", None))
    return int(value) if isinstance(value, int | np.integer) else None


def _fits(spiel: Any, ours: Any) -> bool:
    if {spiel.get_type().short_name, ours.get_type().short_name} == {"hanabi"}:
        return config_of(spiel) == config_of(ours)
    return same_spiel(spiel, ours)


def _said(spiel: Any) -> str:
    return f"{spiel} of {spiel.num_players()} players and {spiel.num_distinct_actions()} actions"


def _has_reduce(bot: Any) -> bool:
    return any("__reduce__" in kind.__dict__ for kind in type(bot).__mro__[:-1])


def _overrides(bot: Any, method: str) -> bool:
    return getattr(type(bot), method) is not getattr(pyspiel.Bot, method)


def _forgets(bot: Any) -> bool:
    """Does a bot decide by the state it is handed alone, as far as one can tell?"""
    if bot.provides_force_action():
        return False
    written_here = type(bot).__module__.partition(".")[0] != pyspiel.__name__
    return not (written_here and _overrides(bot, "inform_action"))


def _replay(bot: Any, state: State, seat: int) -> None:
    """Play a bot through a history, as an arena would have."""
    spiel, history = state.get_game(), state.full_history()
    here = spiel.new_initial_state()
    if spiel.get_type().short_name == "hanabi":
        movers = [item.player for item in history if item.player >= 0]
        first = movers[0] if movers else state.current_player()
        here = initial_state(HanabiGame(config_of(spiel)), first)
    bot.restart()
    for item in history:
        if item.player != seat:
            bot.inform_action(here, item.player, item.action)
        elif bot.provides_force_action():
            bot.force_action(here, item.action)
        elif (action := int(bot.step(here))) != item.action:
            raise UnsupportedError(
                f"{type(bot).__name__} cannot be replayed: it has no force_action and moves "
                f"{action} where the history has {item.action}"
            )
        here.apply_action(item.action)


@contextmanager
def _generators_kept() -> Iterator[None]:
    """Leave the global generators, which OpenSpiel's agents draw from, as they are."""
    torch = sys.modules.get("torch")
    numbers = np.random.get_state()
    drawn = None if torch is None else torch.get_rng_state()
    try:
        yield
    finally:
        np.random.set_state(numbers)
        if torch is not None:
            torch.set_rng_state(drawn)
