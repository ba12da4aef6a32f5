"""Try every game of OpenSpiel in which something is hidden: which beliefs and searches work there.

python -m benchmarks.openspiel_games try                 # all games, resumable
python -m benchmarks.openspiel_games try kuhn_poker      # some of them
python -m benchmarks.openspiel_games tables              # docs/games/card_games.md

Each game is tried with its default parameters in a process of its own, with limits of time and
memory: random moves lead to the middle of a game, where the seat that is to move follows it from
the start by each belief, and each search makes one decision. Simultaneous games are played in turns
(``turn_based_simultaneous_game``), where nobody sees a move before all have moved.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyspiel
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.pages import fill, read_results, rewrite, write_results
from hanabi_search_plugin import (
    JointSparta,
    Mds,
    MoIsmcts,
    SoIsmcts,
    Sparta,
    UniformPolicy,
    private_belief,
    upgrade,
)
from hanabi_search_plugin.beliefs import Particles
from hanabi_search_plugin.core.game import History
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, Redealt

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "openspiel-games.json"
PAGE = ROOT / "docs" / "games" / "card_games.md"
ROLLOUTS = ITERATIONS = 100  # of a decision
PARTICLES = 200
SECONDS = 15  # of CPU, of one belief or search
MOST = 20
LIMIT = 500  # seconds of a game, wall clock
MEMORY = 6 << 30  # bytes of address space of a game
BELIEFS = ("exact", "redealt", "particles", "resampling")
SHORT = {  # of reasons that many games have
    "max_deals": "too many deals to list",
    "follows at most": "too many worlds to list",
    "hidden from some": "moves are hidden",
    "numbers of the cards": "moves do not name cards",
    "does not deal one deck": "chance deals no deck",
    "drawing finds none": "dealing finds no world that shows what the seat sees",
    "expected 200": "dealing finds too few worlds that show what the seat sees",
    "takes more than": f"more than {SECONDS} s",
}
SEARCHES: dict[str, Callable[[], Any]] = {
    "Sparta": lambda: Sparta(rollouts=ROLLOUTS, min_rollouts=5),
    "SoIsmcts": lambda: SoIsmcts(iterations=ITERATIONS),
    "MoIsmcts": lambda: MoIsmcts(iterations=ITERATIONS),
    "Mds": lambda: Mds(rollouts=ROLLOUTS),
    "JointSparta": lambda: JointSparta(
        rollouts=ROLLOUTS, pruning="paired", min_rollouts=100, round_size=100
    ),
}

app = CommandLine(__doc__)
console = Console(highlight=False)


def games() -> list[str]:
    """What OpenSpiel registers with hidden information or simultaneous moves."""
    kinds = pyspiel.GameType
    return sorted(
        kind.short_name
        for kind in pyspiel.registered_games()
        if kind.dynamics != kinds.Dynamics.MEAN_FIELD
        and (
            kind.information == kinds.Information.IMPERFECT_INFORMATION
            or kind.dynamics == kinds.Dynamics.SIMULTANEOUS
        )
    )


@app.command("try")
def try_all(
    names: Annotated[list[str] | None, typer.Argument(help="Games; default: all.")] = None,
    again: Annotated[bool, typer.Option(help="Also what was tried before.")] = False,
) -> None:
    """Try every game, and keep what was found. One that was stopped by the clock is tried again."""
    for name in names or games():
        before = read_results(RESULTS).get(name)
        if before is not None and "stopped after" not in str(before.get("why")) and not again:
            continue
        row = attempt(name)
        write_results(RESULTS, read_results(RESULTS) | {name: row})
        told = row["belief"] or _why(row)
        console.print(f"{name}: {told}", markup=False, soft_wrap=True)


def attempt(name: str) -> dict[str, Any]:
    """One game in a process of its own; what it said before it was stopped counts."""
    words = [sys.executable, "-m", "benchmarks.openspiel_games", "child", name]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
        out, ended = done.stdout, f"the process ended with {done.returncode}"
    except subprocess.TimeoutExpired as error:
        out = (error.stdout or b"").decode() if isinstance(error.stdout, bytes) else ""
        ended = f"stopped after {LIMIT} s"
    row: dict[str, Any] = {"beliefs": {}, "searches": {}, "belief": None}
    for line in out.splitlines():
        if line.startswith("{"):
            said = json.loads(line)
            for part in ("beliefs", "searches"):
                row[part] |= said.pop(part, {})
            row |= said
    finished = row.pop("finished", False)
    if not finished and "why" not in row:
        doing = row.get("doing", "loading")
        row["why"] = f"{doing}: {ended}"
    row.pop("doing", None)
    return row


@app.command(hidden=True)
def child(name: str) -> None:
    """Try one game and print what is found, a JSON object a line."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for said in trial(name):
        print(json.dumps(said), flush=True)
    os._exit(0)  # some games of OpenSpiel crash when they are freed


def trial(name: str) -> Iterator[dict[str, Any]]:
    kind = {kind.short_name: kind for kind in pyspiel.registered_games()}[name]
    simultaneous = kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
    yield {"simultaneous": simultaneous, "doing": "loading"}
    if not kind.default_loadable:
        yield {"why": "OpenSpiel cannot load it without parameters"}
        return
    try:
        spiel = pyspiel.load_game(name)
        game = OpenSpielGame(pyspiel.convert_to_turn_based(spiel) if simultaneous else spiel)
    except Exception as error:
        yield {"why": first_line(error)}
        return
    yield {"players": game.num_players, "actions": game.num_actions, "rewards": game.rewards}
    yield {"doing": "playing to the middle of a game"}
    try:
        with limit():
            middle = middle_state(game)
    except Exception as error:
        yield {"why": f"random moves cannot be played: {first_line(error)}"}
        return
    if middle is None:
        yield {"why": "no game of random moves comes to a choice of moves"}
        return
    seat = middle.current_player()
    with limit():
        history = game.history(middle, seat)
    yield {"moves": len(history.events), "choices": len(middle.legal_actions())}
    chosen = None
    for belief in BELIEFS:
        yield {"doing": belief}
        found = timed(partial(BELIEF_TRIALS[belief], game, middle, history))
        yield {"beliefs": {belief: found}}
        if chosen is None and belief in MADE and "why" not in found:
            chosen = belief
            yield {"belief": belief}
    if chosen is None:
        yield {"finished": True}
        return
    for label, make in SEARCHES.items():
        yield {"doing": label}
        found = timed(partial(lambda of: decide(game, of(), MADE[chosen], history), make))
        yield {"searches": {label: found}}
    yield {"finished": True}


def middle_state(game: OpenSpielGame, first: int = 0) -> Any:
    """A decision with a choice, half through a game of random moves or after MOST such decisions.

    ``first`` is the game's seed. None where there is none in twenty games.
    """
    for seed in range(first, first + 20):
        rng = np.random.default_rng(seed)
        state = game.deal(rng, 1).states[0].clone()
        choices: list[Any] = []
        while not state.is_terminal() and len(choices) < 2 * MOST:
            if state.is_chance_node():
                actions, chance = zip(*state.chance_outcomes(), strict=True)
                shares = np.array(chance)
                state.apply_action(int(rng.choice(actions, p=shares / shares.sum())))
                continue
            legal = state.legal_actions()
            if len(legal) > 1:
                choices.append(state.clone())
            state.apply_action(int(rng.choice(legal)))
        if choices:
            return choices[len(choices) // 2]
    return None


MADE: dict[str, Any] = {
    "exact": None,
    "redealt": Redealt(),
    "particles": Particles(PARTICLES, tries=5_000),
}


def followed(game: OpenSpielGame, history: History, make: Any) -> Any:
    """The belief of the history's seat after all that it has seen."""
    blueprint = (UniformPolicy(),) * game.num_players
    first = history.views[0]
    belief = private_belief(game, blueprint, first) if make is None else make(blueprint, first)
    for event, view in zip(history.events, history.views[1:], strict=True):
        belief = belief.update(event, view)
    return belief


def by_belief(name: str) -> Callable[[OpenSpielGame, Any, History], dict[str, Any]]:
    def trial_of(game: OpenSpielGame, middle: Any, history: History) -> dict[str, Any]:
        belief = followed(game, history, MADE[name])
        worlds, _ = belief.sample(np.random.default_rng(0), 20)
        if set(worlds.view(history.seat).keys()) != {history.views[-1].keys()[0]}:
            return {"why": "worlds do not show what the seat sees"}
        return {"size": belief.size, "recovered": belief.recovered}

    return trial_of


def resampling(game: OpenSpielGame, middle: Any, history: History) -> dict[str, Any]:
    """OpenSpiel's own, and what is wrong with it."""
    rng, views = np.random.default_rng(0), set[Any]()
    true = illegal = 0
    for _ in range(20):
        again = middle.resample_from_infostate(history.seat, rng.random)
        views.add(game.worlds([again], rng).view(history.seat).keys()[0])
        true += again.history() == middle.history()
        illegal += not replays(game, again)
    if views != {history.views[-1].keys()[0]}:
        return {"why": "its worlds do not show what the seat sees"}
    return {"true": true, "illegal": illegal, "of": 20}


def replays(game: OpenSpielGame, state: Any) -> bool:
    here = game.spiel.new_initial_state()
    for action in state.history():
        if action not in here.legal_actions():
            return False
        here.apply_action(action)
    return True


BELIEF_TRIALS = {name: by_belief(name) for name in MADE} | {"resampling": resampling}


def decide(game: OpenSpielGame, search: Any, belief: Any, history: History) -> dict[str, Any]:
    """One decision; its CPU seconds without those of following the game."""
    joint = isinstance(search, JointSparta)
    agent = upgrade(UniformPolicy(), game, search, belief=None if joint else belief)
    memory = agent.start(history.views[0])
    for event, view in zip(history.events, history.views[1:], strict=True):
        memory = agent.observe(view, event, memory)
    started = time.process_time()
    result = agent.decide(memory[0], np.random.default_rng(0))
    spent = time.process_time() - started
    assert history.views[-1].legal[0, result.action]
    return {"cpu_seconds": spent, "rollouts": result.rollouts, "reason": str(result.reason)}


def timed(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    started = time.process_time()
    try:
        with limit():
            found = work()
    except MemoryError:
        return {"why": f"needs more than {MEMORY >> 30} GB"}
    except Exception as error:
        return {"why": first_line(error)}
    return {"cpu_seconds": time.process_time() - started} | found


@contextmanager
def limit() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"takes more than {SECONDS} s")

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def first_line(error: BaseException) -> str:
    text = str(error).strip().partition("\n")[0] or type(error).__name__
    return text.rpartition("/open_spiel/")[2][:300]


@app.command()
def tables() -> None:
    """Write what was found into docs/games/card_games.md."""
    rewrite(PAGE, page)


def page(text: str) -> str:
    """docs/games/card_games.md with its tables of all games made anew."""
    measured = read_results(RESULTS)
    return fill(text, {"all-games": works(measured), "refused-games": refused(measured)})


def works(measured: dict[str, Any]) -> Iterable[str]:
    """Markdown: the games that can be searched."""
    yield (
        "| game | players | pays | belief | follow, s | resampling there, 20 draws | "
        + " | ".join(SEARCHES)
        + " |"
    )
    yield "|---|---|---|---|---|---|" + "---|" * len(SEARCHES)
    for name, row in sorted(measured.items()):
        if row.get("belief"):
            cells = [_seconds(row["searches"].get(label)) for label in SEARCHES]
            spent = row["beliefs"][row["belief"]]["cpu_seconds"]
            mark = " (in turns)" if row["simultaneous"] else ""
            yield (
                f"| `{name}`{mark} | {row['players']} | {row['rewards'].replace('_', ' ')} "
                f"| {row['belief']} | {spent:.2f} | {_theirs(row)} | {' | '.join(cells)} |"
            )


def refused(measured: dict[str, Any]) -> Iterable[str]:
    """Markdown: the others, and why."""
    yield "| game | why not |"
    yield "|---|---|"
    for name, row in sorted(measured.items()):
        if not row.get("belief"):
            yield f"| `{name}` | {_why(row)} |"


def _why(row: dict[str, Any]) -> str:
    """What kept the game from being loaded or followed: the last belief that was tried says it."""
    if row.get("why"):
        return str(row["why"])
    found = {name: row["beliefs"].get(name, {}).get("why", "") for name in MADE}
    return "; ".join(f"{name}: {_short(why)}" for name, why in found.items() if why)


def _short(why: str) -> str:
    """A reason in a few words; docs/results has it whole."""
    return next((words for part, words in SHORT.items() if part in why), why)


def _theirs(row: dict[str, Any]) -> str:
    """What OpenSpiel's own resampling gives."""
    found = row["beliefs"].get("resampling", {})
    if "why" in found:
        return "none" if "not implemented" in found["why"] else "fails"
    if not found:
        return "-"
    if found["true"] == found["of"] and row["beliefs"][row["belief"]].get("size", 1) > 1:
        return "the true state"
    return f"{found['illegal']} of {found['of']} illegal" if found["illegal"] else "yes"


def _seconds(found: dict[str, Any] | None) -> str:
    if found is None:
        return "-"
    if "why" in found:
        return f"> {SECONDS} s" if "takes more than" in found["why"] else "no"
    return f"{found['cpu_seconds']:.2f}"


if __name__ == "__main__":
    app()
