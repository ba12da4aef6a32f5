"""Every way in which this package and other frameworks ask an agent of ours for a move in Hanabi.

An ``Ecosystem`` says what it uses of the package's faces, how it asks, and what an agent that
peeks there would read, so that tests can show that it would be caught.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from open_spiel.python import rl_agent, rl_environment

from hanabi_search_plugin.core.policy import Policy, UniformPolicy
from hanabi_search_plugin.core.result import SearchResult
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import RunningGame
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView, HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import HANDS, LAST_ACTION, MOVES
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.hanabi.search import seat_tables
from hanabi_search_plugin.wrappers import _pettingzoo_env as native
from hanabi_search_plugin.wrappers.gymnasium import HanabiEnv, HanabiVectorEnv
from hanabi_search_plugin.wrappers.openspiel import (
    as_bot,
    as_rl_agent,
    as_spiel_policy,
    spiel_of,
    to_state,
)
from hanabi_search_plugin.wrappers.pettingzoo import RecordObservations, SeatAgent
from tests.helpers.pettingzoo_hanabi import theirs
from tests.helpers.twins import Decide, Deck

SEED = 7


@dataclass(frozen=True)
class Ecosystem:
    """One way of asking."""

    name: str
    uses: tuple[str, ...]  # "face.name" of all that it needs of the package
    asks: Callable[[Policy, HanabiGame], Decide]
    peeks: Callable[[HanabiGame], Decide]
    forced: bool = True  # False: the agent's own moves are those that it decides


def decided(action: int, result: SearchResult | None) -> Hashable:
    """The move, and all figures behind it."""
    return (int(action), None if result is None else repr(result.to_dict()))


def by_number(numbers: Any, legal: Any) -> Any:
    """For each world the legal move that a number chooses."""
    moves = [np.flatnonzero(row) for row in legal]
    return np.array([m[n % len(m)] for m, n in zip(moves, numbers, strict=True)])


class OwnHand(Policy):
    """Plays by the cards in its own hand, which its view hides."""

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        size = view.game.config.hand_size
        hand = view.rows[:, HANDS + view.player * size : HANDS + (view.player + 1) * size]
        return by_number(hand.astype(np.int64) @ 31 ** np.arange(size), legal)


def broken_wall(patch: pytest.MonkeyPatch) -> None:
    """Views of native Hanabi show the own hand, too."""
    show = HanabiWorlds.view

    def view(worlds: HanabiWorlds, player: int) -> HanabiView:
        seen, size = show(worlds, player), worlds.game.config.hand_size
        hand = slice(HANDS + player * size, HANDS + (player + 1) * size)
        seen.rows[:, hand] = worlds.rows[:, hand]
        return seen

    patch.setattr(HanabiWorlds, "view", view)


# ------------------------------------------------------------------------------ this package


def by_play_game(policy: Policy, game: HanabiGame) -> Decide:
    def decide(deck: Deck, moves: list[int], seat: int) -> Hashable:
        policies = tuple(policy if p == seat else UniformPolicy() for p in range(game.num_players))
        stream = Streams(np.zeros(1, dtype=np.uint64))
        running = RunningGame.begin(game.from_decks([deck]), policies, stream, (SEED,))
        for move in moves:
            running.play(move)
        turn = running.decide()
        return decided(turn.action, turn.result)

    return decide


def without_wall(policy: Policy, game: HanabiGame) -> Decide:
    """The same with a wall that is none."""

    def decide(deck: Deck, moves: list[int], seat: int) -> Hashable:
        with pytest.MonkeyPatch.context() as patch:
            broken_wall(patch)
            return by_play_game(policy, game)(deck, moves, seat)

    return decide


# ---------------------------------------------------------------------------------- OpenSpiel


def by_bot(policy: Policy, game: HanabiGame) -> Decide:
    def decide(deck: Deck, moves: list[int], seat: int) -> Hashable:
        bot = as_bot(policy, game, seat, seed=SEED)
        return decided(bot.step(to_state(game, deck, moves)), bot.last_result)

    return decide


def by_spiel_policy(policy: Policy, game: HanabiGame) -> Decide:
    def decide(deck: Deck, moves: list[int], seat: int) -> Hashable:
        asked = as_spiel_policy(policy, game, seed=SEED)
        chances = asked.action_probabilities(to_state(game, deck, moves))
        return decided(max(chances, key=lambda a: chances[a]), asked.last_result), str(chances)

    return decide


def by_rl_agent(told: str) -> Callable[[Policy, HanabiGame], Decide]:
    """Of an agent that is attached, that sees whole states, or observations alone."""

    def asked(policy: Policy, game: HanabiGame) -> Decide:
        def decide(deck: Deck, moves: list[int], seat: int) -> Hashable:
            environment = rl_environment.Environment(
                spiel_of(game), include_full_state=told == "whole state"
            )
            agent = as_rl_agent(policy, game, seat, seed=SEED)
            if told == "attached":
                agent.attach(environment)
            shown = range(len(moves) + 1) if told == "observations" else [len(moves)]
            for t in shown:
                environment.set_state(to_state(game, deck, moves[:t]))
                output = agent.step(environment.get_time_step())
            return decided(output.action, agent.last_result)

        return decide

    return asked


def by_str(game: HanabiGame) -> Decide:
    """A bot or policy that reads the whole state it is handed."""
    return lambda deck, moves, seat: str(to_state(game, deck, moves))


class ReadsAll(rl_agent.AbstractAgent):  # type: ignore[misc]
    """A learning agent that reads the other seats' part of a time step."""

    def __init__(self) -> None:
        pass

    def step(self, step: Any, is_evaluation: bool = False) -> Any:
        return sum(map(tuple, step.observations["info_state"]), ())


def by_others_info_state(game: HanabiGame) -> Decide:
    def decide(deck: Deck, moves: list[int], seat: int) -> Hashable:
        environment = rl_environment.Environment(spiel_of(game))
        environment.set_state(to_state(game, deck, moves))
        return 0, ReadsAll().step(environment.get_time_step())

    return decide


# --------------------------------------------------------------------------------- PettingZoo


class ReadsRecords(SeatAgent):
    """Reads what another seat has observed."""

    def act(self, observation: Any = None, mask: Any = None) -> int:
        other = self._record.moments[-1].observations[1 - min(self.seat, 1)]  # type: ignore[union-attr]
        return hash(other.tobytes())


def by_seat_agent(which: str, kind: type[SeatAgent] = SeatAgent) -> Any:
    """Of an agent in our environment or theirs, recorded, or told of its own turns alone."""

    def asked(policy: Policy, game: HanabiGame) -> Decide:
        config = game.config
        parameters = {
            "players": config.players, "colors": config.colors, "ranks": config.ranks,
            "hand_size": config.hand_size, "max_information_tokens": config.information_tokens,
            "max_life_tokens": config.life_tokens,
        }  # fmt: skip

        def decide(deck: Deck, moves: list[int], seat: int) -> Hashable:
            with pytest.MonkeyPatch.context() as patch:
                if which.startswith("ours"):
                    env: Any = RecordObservations(native.env(**parameters))
                    env.reset(options={"deck": np.array(deck)})
                else:
                    raw = which.endswith("raw")
                    env = RecordObservations(theirs(patch, np.array(deck), raw=raw, **parameters))
                    env.reset()
                turns = which.endswith("turns")
                agent = kind(policy, config if turns else env, seat, seed=SEED)
                for move in moves:
                    if turns and env.agent_selection == f"player_{seat}":
                        agent.act(env.last()[0])
                        agent.acted(move)
                    env.step(move)
                return decided(agent.act(env.last()[0]), agent.last_result)

        return decide

    return asked


# ---------------------------------------------------------------------------------- Gymnasium


class Scripted(Policy):
    """Plays moves that are written down."""

    def __init__(self, moves: list[int]) -> None:
        self.moves = moves

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        return np.array([self.moves[n] for n in view.rows[:, MOVES]])


class ReadsEnvironment(Policy):
    """A partner that reads its own hand behind the environment."""

    env: Any = None

    def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
        worlds = self.env._worlds if isinstance(self.env, HanabiEnv) else self.env._tables.worlds
        rows = view.rows if worlds is None else worlds.rows
        return OwnHand().act(HanabiView(view.game, view.player, rows), legal, memory, rng)


def by_partner(policy: Policy, game: HanabiGame) -> Decide:
    """What a partner does in the environment of the seat after it."""

    def decide(deck: Deck, moves: list[int], seat: int) -> Hashable:
        partners, after = _partners(policy, game, moves, seat)
        env = HanabiEnv(partners=partners, seat=after, **game.config.to_dict())
        _let_read(policy, env)
        env.reset(seed=SEED, options={"deck": np.array(deck)})
        for move in moves[after :: game.num_players]:
            env.step(move)
        row = env._shown.rows[0]  # type: ignore[union-attr]
        return decided(row[LAST_ACTION], env.partners[seat].last_result)

    return decide


def by_partner_of_many(policy: Policy, game: HanabiGame) -> Decide:
    """The same in the environment of many games, whose results are not kept."""

    def decide(deck: Deck, moves: list[int], seat: int) -> Hashable:
        def deal_rows(dims: Any, template: Any, seeds: Any, start: Any, rows: Any) -> None:
            rows[:] = game.from_decks([deck]).rows

        partners, after = _partners(policy, game, moves, seat)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(seat_tables, "row_kernels", SimpleNamespace(deal_rows=deal_rows))
            env = HanabiVectorEnv(1, partners=partners, seat=after, **game.config.to_dict())
            _let_read(policy, env)
            env.reset(seed=SEED)
            for move in moves[after :: game.num_players]:
                env.step(np.array([move]))
            return int(env.view().rows[0, LAST_ACTION])

    return decide


def _partners(
    policy: Policy, game: HanabiGame, moves: list[int], seat: int
) -> tuple[tuple[Policy, ...], int]:
    """Who sits at all seats but the one after ``seat``, and that one."""
    after = (seat + 1) % game.num_players
    others = [p for p in range(game.num_players) if p != after]
    return tuple(policy if p == seat else Scripted(moves) for p in others), after


def _let_read(policy: Policy, env: Any) -> None:
    if isinstance(policy, ReadsEnvironment):
        policy.env = env


ECOSYSTEMS = (
    Ecosystem(
        "evaluate", ("hanabi_search_plugin.evaluate",), by_play_game,
        lambda game: without_wall(OwnHand(), game),
    ),
    Ecosystem("bot", ("openspiel.as_bot",), by_bot, by_str),
    Ecosystem("policy", ("openspiel.as_spiel_policy",), by_spiel_policy, by_str),
    Ecosystem(
        "rl agent, attached", ("openspiel.as_rl_agent",), by_rl_agent("attached"),
        by_others_info_state,
    ),
    Ecosystem(
        "rl agent, whole state", ("openspiel.as_rl_agent",), by_rl_agent("whole state"),
        by_others_info_state,
    ),
    Ecosystem(
        "rl agent, observations", ("openspiel.as_rl_agent",), by_rl_agent("observations"),
        by_others_info_state, forced=False,
    ),
    *(
        Ecosystem(
            f"pettingzoo, {which}",
            ("pettingzoo.SeatAgent", "pettingzoo.RecordObservations"),
            by_seat_agent(which),
            lambda game, w=which: by_seat_agent(w.partition(",")[0], ReadsRecords)(OwnHand(), game),
        )
        for which in ("ours", "ours, turns", "theirs", "theirs, raw")
    ),
    Ecosystem(
        "gymnasium", ("gymnasium.HanabiEnv",), by_partner,
        lambda game: by_partner(ReadsEnvironment(), game), forced=False,
    ),
    Ecosystem(
        "gymnasium, many games", ("gymnasium.HanabiVectorEnv",), by_partner_of_many,
        lambda game: by_partner_of_many(ReadsEnvironment(), game), forced=False,
    ),
)  # fmt: skip
