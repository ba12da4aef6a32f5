"""Bots whose memory is a mask of identities for every card: recorded games, and plain versions.

Letters: B worlds.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from hanabi_search_plugin.core.policy import Memory, Policy
from hanabi_search_plugin.hanabi.bots.smartbot import ABSENT
from hanabi_search_plugin.hanabi.files.records import read_games
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from tests.helpers.hanabi_table import Table, last_move, position


def masks_of(game: HanabiGame, memory: Memory) -> list[list[set[int]]]:
    """One seat's memory [words + 1] of one world: the identities that each card may have."""
    return [
        [{card for card in range(25) if mask >> card & 1} for mask in hand if mask != ABSENT]
        for hand in memory[:-1].reshape(game.num_players, -1).tolist()
    ]


def as_row(hands: list[list[int]], hand_size: int) -> list[int]:
    """The words of a seat's memory of one world from the masks of the cards in each hand."""
    return [mask for hand in hands for mask in hand + [ABSENT] * (hand_size - len(hand))]


def check_recorded(policy: Policy, folder: Path, name: str, players: int) -> None:
    """All recorded decisions and masks, as all seats see them: in self-play they agree."""
    with gzip.open(folder / f"{name}_knowledge.jsonl.gz", "rt") as file:
        known = {(k["players"], k["game"]): k["turns"] for k in map(json.loads, file)}
    records = [
        game for game in read_games(folder / f"{name}.jsonl") if game.config.players == players
    ]
    assert len(records) >= 10
    game = HanabiGame(players=players, bomb="keep")
    table = Table(game.from_decks([record.deck for record in records]), policy)
    playing = np.arange(len(records))
    turn = 0
    while len(table):
        turns = [known[players, records[g].game][turn] for g in playing.tolist()]
        expected = [as_row(before["k"], game.config.hand_size) for before in turns]
        for seat in range(players):
            assert table.memories[seat][:, :-1].tolist() == expected, f"turn {turn}, seat {seat}"
        actions = np.array([records[g].actions[turn] for g in playing.tolist()])
        assert table.proposals().tolist() == actions.tolist(), f"turn {turn}"
        turn += 1
        ends = np.array([len(records[g].actions) == turn for g in playing.tolist()])
        playing = playing[table.step(actions)]
        assert len(playing) == (~ends).sum()
    assert turn == max(len(record.actions) for record in records)


def compare(policy: Policy, plain_bot: Any, game: HanabiGame, seed: int, n: int, own: float) -> int:
    """Play n mixed games; every decision and every seat's masks equal. Returns the decisions.

    ``plain_bot`` makes the plain version from a seat's Position; ``own``: the probability of the
    policy's own move.
    """
    rng = np.random.default_rng(seed)
    table = Table(game.deal(rng, n), policy)
    seats = range(game.num_players)
    now = [position(table.worlds, b) for b in range(n)]
    plain = [[plain_bot(at.seen_by(seat)) for seat in seats] for at in now]
    decisions = 0
    while len(table):
        expected = [
            bots[at.to_move].decide(at.seen_by(at.to_move))
            for bots, at in zip(plain, now, strict=True)
        ]
        assert table.proposals().tolist() == expected, f"{game}, seed {seed}: {now}"
        decisions += len(table)
        on = table.step(table.mixed(rng, own)).tolist()
        before, plain = [now[b] for b in on], [plain[b] for b in on]
        now = [position(table.worlds, b) for b in range(len(on))]
        for b in range(len(on)):
            move = last_move(table.worlds, b)
            for seat in seats:
                bot = plain[b][seat]
                bot.observe(before[b].seen_by(seat), move, now[b].seen_by(seat))
                masks = [[sum(1 << card for card in mask) for mask in hand] for hand in bot.masks]
                assert table.memories[seat][b, :-1].tolist() == as_row(
                    masks, game.config.hand_size
                ), f"{game}, seed {seed}: seat {seat} after {move} in {before[b]}"
    return decisions
