"""Time networks in search: compiled code against tensors (docs/results/networks.md).

Inputs that are equal are asked once. For a network of public beliefs also where the time goes, and
what it brings to ask about the move that was made alone.

python -m benchmarks.networks_search --policy smartnet --repeats 3
python -m benchmarks.networks_search --policy beliefnet --repeats 3
python -m benchmarks.networks_search --largest    # instead: the largest update of a belief there is
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import islice
from typing import Annotated, Any
from unittest.mock import patch

import numpy as np
import torch
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.command_line import CommandLine
from hanabi_search_plugin import HanabiGame, Streams, load_policy
from hanabi_search_plugin.core import Event, View, likelihood
from hanabi_search_plugin.core.rollout import (
    Rollout,
    choose,
    observe_all,
    rollout,
    start_memories,
)
from hanabi_search_plugin.evaluation.match import deal_game
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.engine import row_kernels
from hanabi_search_plugin.hanabi.engine.layout import extent
from hanabi_search_plugin.networks.nets import public_belief_kernels as kernels
from hanabi_search_plugin.networks.nets import public_belief_on_cpu
from hanabi_search_plugin.networks.nets.mask_net import MaskNet
from hanabi_search_plugin.networks.nets.public_belief_net import PublicBeliefNet
from hanabi_search_plugin.networks.network_policies import NetworkPolicy

TURN = 10  # of the game in which rollouts and hands are measured
WORLDS = 1_000
HANDS = 50_000  # that a partner is asked about

app = CommandLine(__doc__)


@app.command()
def main(
    policy: Annotated[
        str, typer.Option(help="A network of masks or of public beliefs.")
    ] = "smartnet",
    repeats: Annotated[int, typer.Option(help="Of each measurement, both ways in turn.")] = 3,
    seed: Annotated[int, typer.Option(help="Of the game.")] = 7,
    largest: Annotated[
        bool, typer.Option("--largest", help="The largest update of a belief there is, once.")
    ] = False,
) -> None:
    """Decisions, rollouts and hands a second of one core, CPU time, medians."""
    torch.set_num_threads(1)
    player = load_policy(policy)
    assert isinstance(player, NetworkPolicy)
    assert isinstance(player.network, MaskNet | PublicBeliefNet)
    game, team = HanabiGame(players=2), (player, player)
    if largest:
        _largest_update(game, player, seed)
        return
    seat, belief = _position(game, player, seed)
    rng = np.random.default_rng(0)
    many, theirs = belief.sample(rng, WORLDS)
    hands, asked = belief.sample(rng, HANDS)
    view, streams = many.view(seat), Streams.spawn(rng, WORLDS)
    actions = np.zeros(HANDS, dtype=np.int64)
    apart = [memory.copy() for memory in theirs]
    for memory in apart:  # as in rollouts: every world has masks of its own
        memory[:, 0] ^= np.arange(WORLDS) & 1
    work: dict[str, tuple[int, Callable[[], Any]]] = {
        "decisions": (WORLDS, lambda: player.act(view, view.legal, apart[seat], streams)),
        "rollouts to the end": (WORLDS, lambda: rollout(many, team, theirs, streams)),
        "hands of a belief": (
            HANDS,
            lambda: likelihood(hands, player, seat, asked[seat], actions),
        ),
    }
    table = Table("a second", "compiled", "by tensors", "ratio", box=None)
    table.title = f"{policy}, one core, CPU time, medians of {repeats}"
    for name, (count, call) in work.items():
        call()  # compiles
        spent: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(repeats):
            for compiled, times in spent.items():
                with ExitStack() as stack:
                    if not compiled:
                        network = player.network
                        for method in ("decide", "remember"):
                            plain = getattr(network, f"{method}_by_tensors")
                            stack.enter_context(patch.object(network, method, plain))
                        stack.enter_context(_view_by_view())
                    began = time.process_time()
                    call()
                    times.append(time.process_time() - began)
        fast, slow = (count / float(np.median(times)) for times in spent.values())
        table.add_row(name, f"{fast:,.0f}", f"{slow:,.0f}", f"{fast / slow:.1f} x")
    console = Console()
    console.print(table)
    console.print(f"belief of {belief.size:,} hands, exact: {belief.exact}; {_peak()}")
    if isinstance(player.network, PublicBeliefNet):
        _print_parts(console, lambda: rollout(many, team, theirs, streams))
        _print_updates(console, game, player, seed, repeats)


def _view_by_view() -> Any:
    """Rollouts in the loop of ``core.rollout``."""
    return patch.object(NetworkPolicy, "play_rollouts", lambda *_: None)


PARTS = {
    "memory's features": ("memory_features", "remember_heard"),
    "features of decisions": ("public_features", "own_features", "others_features", "hint_touches"),
    "hypothetical hints' features": (
        *("list_hints", "told_features", "hint_features", "true_shares"),
    ),
    "layers": ("layer", "layer_from"),
    "the rules": ("step_rows",),
}
AT_ONCE = 256  # worlds in a call of the parts: calls from Python take time, too


def _print_parts(console: Console, play: Callable[[], Rollout]) -> None:
    """Microseconds a decision of a whole rollout, and of its parts as Python calls them one by one.

    In the same games, so that the shares are those of the whole, about.
    """
    spent, decisions = dict.fromkeys(PARTS, 0.0), 0

    def timed(part: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            began = time.process_time()
            result = kernel(*args)
            spent[part] += time.process_time() - began
            return result

        return call

    def decide(*args: Any) -> Any:
        nonlocal decisions
        decisions += len(args[6])
        return kernels.decide_rows.py_func(*args)  # type: ignore[attr-defined]

    began = time.process_time()
    games = len(play().returns)
    whole = time.process_time() - began
    with ExitStack() as stack:
        stack.enter_context(_view_by_view())
        stack.enter_context(patch.object(public_belief_on_cpu, "BATCH", AT_ONCE))
        remember = kernels.remember_rows.py_func  # type: ignore[attr-defined]
        stack.enter_context(patch.object(public_belief_on_cpu, "decide_rows", decide))
        stack.enter_context(patch.object(public_belief_on_cpu, "remember_rows", remember))
        for name in ("foresee", "around_cards", "said_of_cards", "nothing_like"):
            plain = getattr(kernels, name).py_func
            stack.enter_context(patch.object(kernels, name, plain))
        for place, name in enumerate(("players", "hand_size", "colors", "ranks")):
            size = partial(_size, place)  # what is inlined into kernels cannot be called
            stack.enter_context(patch.object(kernels, name, size))
        for part, names in PARTS.items():
            for name in names:
                home = row_kernels if part == "the rules" else kernels
                stack.enter_context(patch.object(home, name, timed(part, getattr(home, name))))
        play()  # compiles what is called from Python alone
        spent, decisions = dict.fromkeys(PARTS, 0.0), 0
        play()
    table = Table("microseconds a decision", "", "share", box=None)
    for part, seconds in spent.items():
        share = seconds / sum(spent.values())
        table.add_row(part, f"{1e6 * seconds / decisions:.2f}", f"{share:.0%}")
    table.add_row("one compiled loop", f"{1e6 * whole / decisions:.2f}", "")
    console.print(table)
    console.print(f"{decisions / games:.1f} decisions a rollout, {decisions / whole:,.0f} a second")


ASKED = 500_000  # hands at most of an update that is timed


def _print_updates(
    console: Console, game: HanabiGame, player: NetworkPolicy, seed: int, repeats: int
) -> None:
    """Updates of an exact belief by a partner's moves in one game, both ways in turn.

    Everything that an update does counts: hands are listed, weighed and dropped, too.
    """
    updates = [
        (belief, event, view)
        for belief, event, view, after in _game(game, player, seed)
        if event.player[0] != belief.seat and after.likelihoods - belief.likelihoods <= ASKED
    ]
    spent: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(repeats + 1):  # the first compiles
        for one_move, times in spent.items():
            with ExitStack() as stack:
                if not one_move:
                    stack.enter_context(
                        patch.object(NetworkPolicy, "likelihood_of_hands", lambda *_: None)
                    )
                began = time.process_time()
                found = [belief.update(event, view) for belief, event, view in updates]
                times.append(time.process_time() - began)
    asked = sum(
        after.likelihoods - belief.likelihoods
        for (belief, *_), after in zip(updates, found, strict=True)
    )
    fast, slow = (asked / float(np.median(times[1:])) for times in spent.values())
    table = Table("a second", "one move", "all moves", "ratio", box=None)
    table.add_row("hands in updates", f"{fast:,.0f}", f"{slow:,.0f}", f"{fast / slow:.1f} x")
    console.print(table)
    console.print(f"{len(updates)} updates of a game, {asked:,} hands")


def _size(place: int, dims: Any) -> int:
    return extent(dims[place])


def _peak() -> str:
    return f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB"


def _largest_update(game: HanabiGame, player: NetworkPolicy, seed: int) -> None:
    """A partner's play at its first move tells nothing by the rules: every hand is asked about."""
    worlds, _ = deal_game(game, 1, seed)
    belief = HandBelief.start(game, (player, player), worlds.view(1))
    play = np.array([game.config.hand_size])
    event = worlds.step(play)
    began = time.process_time()
    after = belief.update(event, worlds.view(1))
    spent = time.process_time() - began
    Console().print(
        f"{belief.size:,} hands, {after.size:,} left, exact: {after.exact}; "
        f"{spent:.1f} CPU seconds, {_peak()}"
    )


def _position(game: HanabiGame, player: NetworkPolicy, seed: int) -> tuple[int, HandBelief]:
    """After TURN moves of a game: the seat to move, and the belief of the other."""
    *_, (_, _, view, belief) = islice(_game(game, player, seed), TURN)
    return int(view.current_player[0]), belief


def _game(
    game: HanabiGame, player: NetworkPolicy, seed: int
) -> Iterator[tuple[HandBelief, Event, View, HandBelief]]:
    """A game move by move: a belief before it, the move, what is seen then, the belief after it.

    The belief is that of the seat that is not to move after TURN moves.
    """
    team = (player, player)
    worlds, _ = deal_game(game, 1, seed)
    memories = start_memories(worlds, team)
    observer = (TURN + 1) % 2
    belief = HandBelief.start(game, team, worlds.view(observer))
    streams = Streams(np.zeros(1, dtype=np.uint64))
    while not worlds.terminal[0]:
        event = worlds.step(choose(worlds, team, memories, streams))
        memories = observe_all(worlds, event.player, event.action, team, memories)
        view = worlds.view(observer)
        after = belief.update(event, view)
        yield belief, event, view, after
        belief = after


if __name__ == "__main__":
    app()
