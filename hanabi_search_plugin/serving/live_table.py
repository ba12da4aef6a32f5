"""One table: its game, the pages of its seats, and the work that is done for them.

Everything here runs on the thread of the server's loop but the jobs that it hands to ``Workers``.
A game is changed by one job at a time. Policies move as long as somebody looks on: when the last
page of a table goes, the search that runs is abandoned, and it begins again, to the same end, when
a page comes back.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.error_places import with_notes
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import History
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.core.watching import Abandoned
from hanabi_search_plugin.core.words import counted
from hanabi_search_plugin.evaluation.live_game import LiveGame
from hanabi_search_plugin.evaluation.match import deal_game
from hanabi_search_plugin.evaluation.playing import Turn
from hanabi_search_plugin.hanabi.engine.layout import TURN
from hanabi_search_plugin.hanabi.files.analysis import analyse_game
from hanabi_search_plugin.hanabi.files.annotated_games import AnnotatedGame, searched_turn
from hanabi_search_plugin.hanabi.files.game_document import game_document
from hanabi_search_plugin.hanabi.files.recorded_positions import Candidates
from hanabi_search_plugin.hanabi.files.records import RecordedGame, line_of_record
from hanabi_search_plugin.hanabi.files.shown_beliefs import EXACT, ModelBeliefs
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.serving.page_messages import PageMessage
from hanabi_search_plugin.serving.seat_messages import (
    advice_message,
    ending,
    game_message,
    moves_of_seat,
    turns_message,
)
from hanabi_search_plugin.serving.workers import Job, Lane, Workers

DRAWN_SEEDS = 2**31  # so many
TICK = 0.1  # seconds between two messages of how far a search for advice is
ANALYSED_ROLLOUTS = 1_000  # of each legal move, as ``hanabi-search analyse`` has it

_logger = logging.getLogger("hanabi_search_plugin")


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """Who plays what at a table. A person's seat holds the policy that stands in for it."""

    game: HanabiGame
    policies: Blueprint
    names: tuple[str, ...]  # one a seat, for people
    people: tuple[int, ...]  # seats
    searches: tuple[str | None, ...]  # one a seat: a search and its budget, in words
    adviser: SearchAgent
    advice: str  # the same of the adviser
    candidates: Callable[[], Candidates]  # whom an analysis takes the seats for
    belief: ModelBeliefs | Literal["exact", "hints"] = "exact"  # that its page shows


class OpenPage(Protocol):
    """An open page of a seat."""

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message, now or later; never waits."""


@dataclass(frozen=True)
class _Position:
    """The game between two changes: a job may be changing the game itself in another thread."""

    number: int  # moves played
    mover: int  # -1: the game is over
    histories: dict[int, History]  # of each person's seat
    can_take_back: frozenset[int]  # seats

    @classmethod
    def of(cls, live: LiveGame) -> _Position:
        people = live.people
        return cls(
            number=live.number,
            mover=-1 if live.over else live.mover,
            histories={seat: live.history(seat) for seat in people},
            can_take_back=frozenset(p for p in people if live.last_own_turn(p) is not None),
        )


class LiveTable:
    """A table and its running game, the first of ``seed``.

    ``clock`` counts seconds. Seats' pages ``join`` and ``leave``, and what they say is taken by
    ``hear``.
    """

    def __init__(
        self,
        plan: TablePlan,
        workers: Workers,
        seed: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan, self._workers, self._clock = plan, workers, clock
        self.left_at = clock()  # when the last page went
        self._pages: dict[int, list[OpenPage]] = {seat: [] for seat in plan.people}
        self._lane: Lane = "searches" if any(plan.searches) else "moves"
        self._turns = asyncio.Lock()  # held while the game changes
        self._policies: asyncio.Task[None] | None = None  # plays while policies are to move
        self._thinking: tuple[int, float, Job[Turn]] | None = None  # seat, since, work
        self._spent: dict[int, list[float]] = {}  # seconds of the decisions of a seat
        self._advice: dict[int, tuple[Job[Any], asyncio.Task[None]]] = {}  # by seat
        self._kind = repr((plan.game, plan.policies, plan.adviser))
        self._readying: Job[None] | None = None
        self._deal(seed)

    def _deal(self, seed: int | None) -> None:
        plan = self.plan
        self.seed = secrets.randbelow(DRAWN_SEEDS) if seed is None else seed
        self.live = LiveGame(plan.game, plan.policies, plan.people, self.seed, plan.adviser)
        self._now = _Position.of(self.live)
        self.stopped = False  # by a person, before its end
        self.broken = ""  # why it cannot go on
        self.analysis: dict[str, Any] | None = None  # its document, when it is there
        self._analysing: tuple[Job[Any], asyncio.Task[None]] | None = None
        self._analysed = 0  # moves
        self._opened: dict[str, Any] | None = None

    @property
    def over(self) -> bool:
        """Are the cards open: is the game finished, or was it stopped?"""
        return self._now.mover < 0 or self.stopped

    @property
    def empty(self) -> bool:
        """Does nobody look on?"""
        return not any(self._pages.values())

    # ------------------------------------------------------------------------------------- pages

    def pages(self, seat: int) -> tuple[OpenPage, ...]:
        """The open pages of ``seat``."""
        return tuple(self._pages[seat])

    def join(self, seat: int, page: OpenPage) -> None:
        """A page of ``seat`` is open."""
        self._pages[seat].append(page)
        page.tell(game_message(self._now.histories[seat], self.plan.names))
        self._tell_state()
        self._go_on()

    def leave(self, seat: int, page: OpenPage) -> None:
        """A page of ``seat`` is closed: nobody waits for what was done for it alone."""
        with suppress(ValueError):
            self._pages[seat].remove(page)
        if not self._pages[seat]:
            self._hush(seat)
        if self.empty:
            self.left_at = self._clock()
            self._stop_all()
        else:
            self._tell_state()

    async def hear(self, seat: int, message: PageMessage) -> None:
        """Do what a page of ``seat`` asks for. Raises HanabiSearchError where it cannot be done."""
        if message.kind == "hush":
            self._hush(seat)
            self._tell_state((seat,))
            return
        self._require_seen(message)
        if message.kind in ("move", "advise"):
            self._require_turn(seat)
        elif message.kind in ("take_back", "stop"):
            self._stop_thinking()
        try:
            async with self._turns:
                self._require_seen(message)
                await self._do(seat, message)
        finally:
            self._tell_state()
            self._go_on()

    async def _do(self, seat: int, message: PageMessage) -> None:
        match message.kind:
            case "move":
                await self._move(seat, message.action)
            case "advise":
                self._advise(seat)
            case "take_back":
                await self._take_back(seat)
            case "stop":
                self._require_running()
                for one in self.plan.people:
                    self._hush(one)
                self.stopped = True
            case "again":
                self._again()
            case "analyse":
                self._analyse()

    def _require_seen(self, message: PageMessage) -> None:
        if message.turn != self._now.number:
            raise ConfigError(
                f"this page has seen {counted(message.turn, 'move')}, and the game has "
                f"{self._now.number}: try again"
            )

    def _require_turn(self, seat: int) -> None:
        self._require_running()
        if self._now.mover != seat:
            raise ConfigError(f"it is the turn of P{self._now.mover}, not yours")

    def close(self) -> None:
        """Abandon all that is done for the table."""
        for seat in self.plan.people:
            self._hush(seat)
        self._stop_all()
        if self._policies is not None:
            self._policies.cancel()

    # ------------------------------------------------------------------------------------- moves

    async def _move(self, seat: int, action: int | None) -> None:
        self._require_turn(seat)
        allowed = moves_of_seat(self._now.histories[seat])
        assert allowed is not None  # it is the seat's turn
        if action is None or action >= len(allowed):
            raise ConfigError(f"action must be from 0 to {len(allowed) - 1}, got {action}")
        if (why := allowed[action]) is not None:
            raise ConfigError(f"this move is not allowed now: {why}")
        self._hush(seat)
        await self._play(action, None)

    async def _play(self, action: int, turn: Turn | None) -> None:
        live, first = self.live, self._now.number
        result = None if turn is None else turn.result
        await self._workers.run(self._lane, lambda: live.play(action, result)).result()
        self._now = _Position.of(live)
        self._tell_turns(first)

    async def _take_back(self, seat: int) -> None:
        self._require_running()
        if seat not in self._now.can_take_back:
            raise ConfigError("there is nothing to take back: this is your first move")
        for one in self.plan.people:
            self._hush(one)
        live = self.live
        await self._workers.run(self._lane, lambda: live.take_back(seat)).result()
        self._now = _Position.of(live)
        self._tell_game()

    def _again(self) -> None:
        if not self.over:
            raise ConfigError("cards are dealt anew after the end of a game: stop this one first")
        if self._analysing is not None:
            self._analysing[0].abandon()
        self._deal(None)
        self._tell_game()

    def _require_running(self) -> None:
        if self.over:
            raise ConfigError("the game is over")
        if self.broken:
            raise ConfigError(self.broken)

    # ------------------------------------------------------------------------- moves of policies

    def _go_on(self) -> None:
        """Let policies play if it is their turn and somebody looks on."""
        if self._policies is not None and not self._policies.done():
            return
        if self._policies_move() or not (self._ready or self.empty):
            self._policies = asyncio.create_task(self._play_policies())

    def _policies_move(self) -> bool:
        idle = self.empty or self.over or bool(self.broken)
        return not idle and self._now.mover not in self.live.people

    async def _play_policies(self) -> None:
        try:
            await self._get_ready()
            while self._policies_move():
                async with self._turns:
                    if self._policies_move():
                        with suppress(Abandoned):
                            await self._play_policy()
        except Exception as error:  # whatever a policy may raise: the table cannot go on
            message = with_notes(f"{type(error).__name__}: {error}", error)
            _logger.warning("a table had to stop: %s", message)
            self.broken = "a policy of this table failed: the server's terminal says how"
            self._tell_state()

    async def _play_policy(self) -> None:
        """One move of a policy. Raises Abandoned where nobody waits for it any more."""
        seat, since = self._now.mover, self._clock()
        lane: Lane = "moves" if self.plan.searches[seat] is None else "searches"
        job = self._workers.run(lane, self.live.decide)
        self._thinking = seat, since, job
        if lane == "searches":  # other policies are done before a page has drawn it
            self._tell_state()
        try:
            turn = await job.result()
        finally:
            self._thinking = None
        self._spent.setdefault(seat, []).append(self._clock() - since)
        await self._play(turn.action, turn)
        self._tell_state()

    def _stop_thinking(self) -> None:
        if self._thinking is not None:
            self._thinking[2].abandon()

    def _stop_all(self) -> None:
        """Abandon what is done for nobody in particular."""
        self._stop_thinking()
        if self._readying is not None:
            self._readying.abandon()
        if self._analysing is not None:
            self._analysing[0].abandon()

    @property
    def _ready(self) -> bool:
        return self._kind in self._workers.ready

    async def _get_ready(self) -> None:
        """Load or compile what this table takes, once for all tables of its kind."""
        if self._ready:
            return
        plan = self.plan
        self._readying = self._workers.run("searches", lambda: _play_in(plan))
        self._tell_state()
        try:
            await self._readying.result()
        except Abandoned:
            return
        except Exception as error:  # it is reported where it is met in the game itself
            message = with_notes(f"{type(error).__name__}: {error}", error)
            _logger.warning("a table may have to stop: %s", message)
        finally:
            self._readying = None
            self._tell_state()
        self._workers.ready.add(self._kind)

    # ------------------------------------------------------------------------------------ advice

    def _advise(self, seat: int) -> None:
        self._require_turn(seat)
        history = self._now.histories[seat]
        if seat in self._advice:
            raise ConfigError("a search for advice runs already")
        live = self.live
        job = self._workers.run("searches", lambda: live.advise(history))
        self._advice[seat] = job, asyncio.create_task(self._bring_advice(seat, history, job))

    async def _bring_advice(self, seat: int, history: History, job: Job[Any]) -> None:
        bringing = asyncio.create_task(job.result())
        try:
            while not bringing.done():
                await asyncio.wait([bringing], timeout=TICK)
                if not bringing.done():
                    message = {"kind": "advice_progress", "rollouts": job.watch.rollouts}
                    self._tell(seat, message)
            result, seated = bringing.result()
        except Abandoned:
            return
        except Exception as error:  # whatever an adviser may raise
            self._tell(seat, {"kind": "refused", "why": f"no advice: {error}"})
        else:
            self._tell(seat, advice_message(history, result, seated.memory[0]))
        finally:
            if self._advice.get(seat, (None,))[0] is job:
                del self._advice[seat]
            self._tell_state((seat,))

    def _hush(self, seat: int) -> None:
        """End the search for advice of ``seat``, if there is one."""
        if seat in self._advice:
            self._advice.pop(seat)[0].abandon()

    # --------------------------------------------------------------------------------- afterwards

    def record(self) -> RecordedGame:
        """The game so far, hidden cards and all."""
        result, config = self.live.result(), self.plan.game.config
        row = deal_game(self.plan.game, self.seed, 0)[0].rows[0]  # type: ignore[attr-defined]
        finished = self.live.over
        return RecordedGame(
            config=config,
            game=0,
            deck=tuple(row[len(row) - config.deck_size :].tolist()),
            actions=result.actions,
            first_player=int(row[TURN]),
            score=int(result.score) if finished else None,
            lives_left=result.lives_left if finished else None,
            bomb=config.bomb,
            seed=self.seed,
            policies=self.plan.names,
        )

    def saved(self) -> str:
        """The finished game as a line of recorded games. Raises ConfigError before its end."""
        self._require_over()
        return line_of_record(self.record()) + "\n"

    async def opened(self) -> dict[str, Any]:
        """The document of the finished game, all hands open, with the searches of its seats.

        Raises ConfigError before its end.
        """
        self._require_over()
        if self._opened is None:
            decisions = {turn: searched_turn(one) for turn, _, one in self.live.decisions}
            game = AnnotatedGame(self.record(), decisions)
            self._opened = await self._workers.run("analyses", lambda: game_document(game)).result()
        return self._opened

    def _require_over(self) -> None:
        if not self.over:
            raise ConfigError("the cards are open after the end of the game alone")

    def _analyse(self) -> None:
        self._require_over()
        if self.analysis is not None or self._analysing is not None:
            return
        if not self.live.actions:
            raise ConfigError("there is no move to analyse")
        self._analysed, record, plan = 0, self.record(), self.plan

        def work() -> dict[str, Any]:
            analysis = analyse_game(
                record, plan.candidates(), rollouts=ANALYSED_ROLLOUTS, on_turn=heard,
                with_beliefs=plan.belief == EXACT,
            )  # fmt: skip
            names = [one.blueprint for one in analysis.players()]
            return analysis.document(names, plan.belief)

        def heard(turns: int) -> None:
            job.watch.require_wanted()
            loop.call_soon_threadsafe(self._hear_analysis, turns)

        loop = asyncio.get_running_loop()
        job = self._workers.run("analyses", work)
        self._analysing = job, asyncio.create_task(self._bring_analysis(job))

    def _hear_analysis(self, turns: int) -> None:
        self._analysed = turns
        self._tell_state()

    async def _bring_analysis(self, job: Job[dict[str, Any]]) -> None:
        try:
            found = await job.result()
        except Abandoned:
            found = None
        except Exception as error:
            found = None
            for seat in self.plan.people:
                self._tell(seat, {"kind": "refused", "why": f"no analysis: {error}"})
        if self._analysing is not None and self._analysing[0] is job:
            self._analysing, self.analysis = None, found
            self._tell_state()

    # ---------------------------------------------------------------------------- what is told

    def _tell(self, seat: int, message: dict[str, Any]) -> None:
        for page in tuple(self._pages[seat]):
            page.tell(message)

    def _tell_game(self) -> None:
        for seat in self.plan.people:
            self._tell(seat, game_message(self._now.histories[seat], self.plan.names))

    def _tell_turns(self, first: int) -> None:
        for seat in self.plan.people:
            if self._pages[seat]:
                self._tell(seat, turns_message(self._now.histories[seat], first))

    def _tell_state(self, seats: Iterable[int] | None = None) -> None:
        for seat in self.plan.people if seats is None else seats:
            if self._pages[seat]:
                self._tell(seat, self.state(seat))

    def state(self, seat: int) -> dict[str, Any]:
        """How things stand, as the page of ``seat`` is told.

        Of a policy that thinks it is told since when, and how long the seat took before: how many
        rollouts a search has done would tell of cards that the policy sees, and this seat does not.
        """
        history = self._now.histories[seat]
        thinking = None
        if self._thinking is not None:
            thinker, since, _ = self._thinking
            spent = self._spent.get(thinker, [])
            thinking = {
                "seat": thinker,
                "search": self.plan.searches[thinker],
                "seconds": round(self._clock() - since, 2),
                "usual": round(float(np.median(spent)), 2) if spent else None,
            }
        analysing = None
        if self._analysing is not None:
            analysing = {"turns": self._analysed, "of": self._now.number}
        running = not (self.over or self.broken)
        return {
            "kind": "state",
            "turn": self._now.number,
            "people": [{"seat": one, "here": bool(self._pages[one])} for one in self.plan.people],
            "moves": moves_of_seat(history) if running else None,
            "readying": self._readying is not None,
            "thinking": thinking,
            "advising": seat in self._advice,
            "advice": self.plan.advice,
            "can_take_back": running and seat in self._now.can_take_back,
            "stopped": self.stopped,
            "ended": ending(history),
            "broken": self.broken,
            "analysing": analysing,
            "analysed": self.analysis is not None,
        }


def _play_in(plan: TablePlan) -> None:
    """Some moves of a game that nobody sees; people's are those of the policies in their place."""
    live = LiveGame(plan.game, plan.policies, (), 0)
    while not live.over and live.number < 2 * plan.game.num_players:
        turn = live.decide()
        live.play(turn.action, turn.result)
