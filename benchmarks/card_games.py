"""Our searches against OpenSpiel's own bots in card games (docs/games/card_games.md).

python -m benchmarks.card_games measure --dry-run            # what is left, and what it costs
python -m benchmarks.card_games measure --only euchre        # rows by name, resumable
python -m benchmarks.card_games tables                       # docs/games/card_games.md
python -m benchmarks.card_games told oh_hell                 # what OpenSpiel's resampling tells

A row is a match: the same deals, with ours at every seat in turn (at both seats of a side where two
play together) and OpenSpiel's at the others. A deal's score is what our seats earn less what theirs
do, the mean of its seatings. Both sides have random rollouts and the same exploration: the standard
deviation of the returns of random games, in points. At equal iterations a decision of each has as
many; at equal time OpenSpiel's gets as many more as its iterations take less CPU time, found on
decisions of random games beforehand, so that the same command plays the same games.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyspiel
import typer
from rich.console import Console

from benchmarks.command_line import CommandLine
from benchmarks.means import with_error
from benchmarks.openspiel_games import middle_state
from benchmarks.pages import fill, read_results, rewrite, write_results
from hanabi_search_plugin import MoIsmcts, SearchAgent, SoIsmcts, Sparta, UniformPolicy, upgrade
from hanabi_search_plugin.core.words import duration
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame, Redealt, other_deals

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "card-games.json"
PAGE = ROOT / "docs" / "games" / "card_games.md"
WORLDS = 10  # deals that determinised MCTS searches, an equal share of its simulations each
DEALS = 200  # that make a row
RANDOM_GAMES = 200  # by which the exploration is set
CALIBRATED = 4  # decisions by which equal time is found
ITERATIONS = 50  # of a decision of ours
FEWER = {"gin_rummy": 20}  # where a move of OpenSpiel's takes 20 microseconds
PROPOSALS = {"gin_rummy": 64, "hearts": 64}  # deals that Sparta weighs by the moves so far
EXACT = ("leduc_poker",)  # games whose beliefs list all worlds

SIDES = {  # seats that play together, or each for itself
    "leduc_poker": ((0,), (1,)),
    "euchre": ((0, 2), (1, 3)),
    "spades": ((0, 2), (1, 3)),
    "hearts": ((0,), (1,), (2,), (3,)),
    "oh_hell(players=3,num_tricks_fixed=5)": ((0,), (1,), (2,)),
    "gin_rummy": ((0,), (1,)),
}
OURS: dict[str, Callable[[int, float], Any]] = {
    "SoIsmcts": lambda n, c: SoIsmcts(iterations=n, exploration=c),
    "MoIsmcts": lambda n, c: MoIsmcts(iterations=n, exploration=c),
    "Sparta": lambda n, c: Sparta(rollouts=n, min_rollouts=2, threshold=0.0),
}
NO_ISMCTS = {  # why OpenSpiel's ISMCTSBot has no row
    "spades": "it cannot be resampled there",
    "gin_rummy": "its resampling hands over the true hands",
    "hearts": "the process ends in it (open_spiel 2.0.2)",
}
EQUAL = ("iterations", "time")


@dataclass(frozen=True)
class Row:
    game: str
    ours: str
    theirs: str  # "ISMCTS" or "PIMC"
    equal: str  # what both sides have the same of

    @property
    def key(self) -> str:
        return f"{self.game}/{self.ours}/{self.theirs}/equal {self.equal}"


ROWS = [
    Row(game, ours, theirs, equal)
    for game in SIDES
    for theirs in ("ISMCTS", "PIMC")
    for equal in EQUAL
    for ours in OURS
    if not (theirs == "ISMCTS" and game in NO_ISMCTS)
]

app = CommandLine(__doc__)
console = Console(highlight=False)


class Pimc:
    """Determinised search: OpenSpiel's C++ MCTS in each of several deals, whose visits are added.

    Deals are ours, but for games of exact beliefs: OpenSpiel's own of most card games are not those
    that the seat cannot tell apart.
    """

    def __init__(self, game: OpenSpielGame, simulations: int, c: float, seed: int) -> None:
        self.game, self.each, self.c = game, max(2, simulations // WORLDS), c
        self.rng = np.random.default_rng(seed)
        self.own = game.spiel.get_type().short_name in EXACT

    def step(self, state: Any) -> int:
        legal = state.legal_actions()
        if len(legal) == 1:
            return int(legal[0])
        visits = np.zeros(self.game.num_actions)
        for world in self._worlds(state):
            evaluator = pyspiel.RandomRolloutEvaluator(1, int(self.rng.integers(2**31)))
            bot = pyspiel.MCTSBot(
                self.game.spiel, evaluator, self.c, self.each, 100, False,
                int(self.rng.integers(2**31)), False,
            )  # fmt: skip
            for child in bot.mcts_search(world).children:
                visits[child.action] += child.explore_count
        return max(legal, key=lambda action: visits[action])

    def _worlds(self, state: Any) -> list[Any]:
        seat = state.current_player()
        if self.own:
            return [state.resample_from_infostate(seat, self.rng.random) for _ in range(WORLDS)]
        return other_deals(self.game, state, seat, self.rng, WORLDS)


def ismcts(game: OpenSpielGame, simulations: int, c: float, seed: int) -> Any:
    evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
    final = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT
    strings = not game.spiel.get_type().provides_information_state_string
    return pyspiel.ISMCTSBot(seed, evaluator, c, simulations, -1, final, strings, True)


MAKE_THEIRS: dict[str, Callable[[OpenSpielGame, int, float, int], Any]] = {
    "ISMCTS": ismcts,
    "PIMC": Pimc,
}


@lru_cache
def exploration(name: str) -> float:
    """Points: how much the returns of random games differ."""
    game, rng = OpenSpielGame(name), np.random.default_rng(0)
    returns = []
    for _ in range(RANDOM_GAMES):
        state = game.deal(rng, 1).states[0].clone()
        while not state.is_terminal():
            state.apply_action(int(rng.choice(state.legal_actions())))
        returns.append(state.returns()[0])
    return float(np.std(returns))


def our_agent(row: Row, iterations: int) -> SearchAgent:
    game = OpenSpielGame(row.game)
    span = game.return_range[1] - game.return_range[0]
    search = OURS[row.ours](iterations, exploration(row.game) / span)
    belief = None if row.game in EXACT else Redealt(PROPOSALS.get(row.game, Redealt.proposals))
    return upgrade(UniformPolicy(), game, search, belief=belief)


def simulations_of(row: Row, iterations: int) -> int:
    """OpenSpiel's iterations of a decision."""
    if row.equal == "iterations":
        return iterations
    ours, theirs = 0.0, 0.0
    game, agent = OpenSpielGame(row.game), our_agent(row, iterations)
    for seed in range(CALIBRATED):
        state = middle_state(game, seed)
        history = game.history(state, state.current_player())
        memory = agent.start(history.views[0])
        for event, view in zip(history.events, history.views[1:], strict=True):
            memory = agent.observe(view, event, memory)
        started = time.process_time()
        agent.decide(memory[0], np.random.default_rng(0))
        ours += time.process_time() - started
        many = 20 * iterations
        bot = MAKE_THEIRS[row.theirs](game, many, exploration(row.game), 0)
        started = time.process_time()
        bot.step(state)
        theirs += (time.process_time() - started) / many
    return max(iterations, round(ours / theirs))


@dataclass
class Spent:
    """CPU seconds and decisions of a side."""

    seconds: float = 0.0
    decisions: int = 0

    def decide(self, work: Callable[[], int]) -> int:
        started = time.process_time()
        action = int(work())
        self.seconds += time.process_time() - started
        self.decisions += 1
        return action


def play(
    row: Row, agent: SearchAgent, simulations: int, seats: Sequence[int], deal: int,
    ours: Spent, theirs: Spent,
) -> float:  # fmt: skip
    """What our seats earn less what theirs do, a seat."""
    game = agent.game
    assert isinstance(game, OpenSpielGame)
    rng = np.random.default_rng([deal, *seats])
    worlds = game.deal(np.random.default_rng(deal), 1)
    others = [p for p in range(game.num_players) if p not in seats]
    c = exploration(row.game)
    bots = {
        p: MAKE_THEIRS[row.theirs](game, simulations, c, int(rng.integers(2**31))) for p in others
    }
    memories = {p: agent.start(worlds.view(p)) for p in seats}
    while not worlds.terminal[0]:
        player = int(worlds.current_player[0])
        if player in bots:
            action = theirs.decide(partial(bots[player].step, worlds.states[0]))
        else:
            action = ours.decide(partial(_action, agent, memories[player][0], rng))
        event = worlds.step(np.array([action]))
        if not worlds.terminal[0]:
            for p in seats:
                memories[p] = agent.observe(worlds.view(p), event, memories[p])
    returns = worlds.returns[0]
    return float(returns[list(seats)].mean() - returns[others].mean())


@app.command()
def told(
    name: Annotated[str, typer.Argument(help="A game of these rows, or how its name begins.")],
    deals: Annotated[int, typer.Option(help="Each from every seat.")] = 100,
    iterations: Annotated[int, typer.Option(help="Of a decision.")] = 50,
) -> None:
    """What OpenSpiel's ISMCTSBot gains by being asked in the true deal, not in one of ours.

    It resamples by itself, so both are the same to it where that tells nothing that is hidden. Its
    score is what its seat earns less what the others do, who play at random.
    """
    found = next((each for each in SIDES if each.startswith(name)), None)
    if found is None:
        raise typer.BadParameter(f"name must begin one of {', '.join(SIDES)}")
    game, scores = OpenSpielGame(found), []
    for deal in range(deals):
        for seat in range(game.num_players):
            scores.append(
                [_beside_random(game, deal, seat, iterations, own) for own in (False, True)]
            )
    both = np.array(scores)
    for title, values in (
        ("in the true deal", both[:, 0]),
        ("in a deal of ours", both[:, 1]),
        ("difference", both[:, 0] - both[:, 1]),
    ):
        console.print(f"{title}: {with_error(values, 3, '+')}", markup=False)


def _beside_random(
    game: OpenSpielGame, deal: int, seat: int, iterations: int, redealt: bool
) -> float:
    state = game.deal(np.random.default_rng(deal), 1).states[0].clone()
    rng = np.random.default_rng([deal, seat])
    bot = ismcts(game, iterations, exploration(str(game.name)), int(rng.integers(2**31)))
    while not state.is_terminal():
        legal = state.legal_actions()
        if state.current_player() != seat:
            action = int(rng.choice(legal))
        else:
            shown = other_deals(game, state, seat, rng, 1)[0] if redealt else state
            action = int(bot.step(shown))
        state.apply_action(action)
    returns = np.array(state.returns())
    return float(returns[seat] - np.delete(returns, seat).mean())


def _action(agent: SearchAgent, belief: Any, rng: np.random.Generator) -> int:
    return agent.decide(belief, rng).action


@app.command()
def measure(
    deals: Annotated[int, typer.Option(help="Deals of a row, each from every seat.")] = DEALS,
    iterations: Annotated[
        int | None, typer.Option(help="Of a decision of ours. Default: 50, in gin rummy 20.")
    ] = None,
    only: Annotated[str, typer.Option(help="Rows whose name contains all of these words.")] = "",
    dry_run: Annotated[
        bool, typer.Option(help="What is left, and its cost; a row without a deal plays one.")
    ] = False,
) -> None:
    """Play the rows, and go on where they were stopped."""
    for row in ROWS:
        if not all(word in row.key for word in only.split()):
            continue
        many = iterations or FEWER.get(row.game, ITERATIONS)
        kept = read_results(RESULTS).get(row.key, {})
        if kept.get("iterations") != many:
            kept = {"iterations": many, "scores": [], "seconds": [0.0, 0.0, 0.0]}
            kept |= {"decisions": [0, 0], "simulations": simulations_of(row, many)}
        while len(kept["scores"]) < (1 if dry_run else deals):
            play_deal(row, our_agent(row, many), kept)
            write_results(RESULTS, read_results(RESULTS) | {row.key: kept})
        if not dry_run:
            console.print(f"{row.key}: {_line(row, kept)}", markup=False, soft_wrap=True)
        elif len(kept["scores"]) < deals:
            console.print(
                f"{row.key}: {len(kept['scores'])} of {deals} deals, "
                f"{duration(_cost(kept, deals))} of CPU for the rest",
                markup=False,
                soft_wrap=True,
            )


def play_deal(row: Row, agent: SearchAgent, kept: dict[str, Any]) -> None:
    """Add the next deal of a row to what is kept of it: its score, seconds and decisions."""
    ours, theirs = Spent(), Spent()
    deal, started = len(kept["scores"]), time.process_time()
    scores = [
        play(row, agent, kept["simulations"], side, deal, ours, theirs) for side in SIDES[row.game]
    ]
    spent = (ours.seconds, theirs.seconds, time.process_time() - started)
    kept["scores"].append(float(np.mean(scores)))
    kept["seconds"] = [a + b for a, b in zip(kept["seconds"], spent, strict=True)]
    kept["decisions"][0] += ours.decisions
    kept["decisions"][1] += theirs.decisions


def _cost(kept: dict[str, Any], deals: int) -> float:
    """CPU seconds of the deals that a row has yet to play, as its deals so far took."""
    played = len(kept["scores"])
    return float(kept["seconds"][2]) / played * max(0, deals - played)


@app.command()
def tables() -> None:
    """Write what was measured into docs/games/card_games.md."""
    rewrite(PAGE, page)


def page(text: str) -> str:
    """docs/games/card_games.md with its tables of matches made anew."""
    measured = read_results(RESULTS)
    return fill(text, {"matches": matches(measured)})


def matches(measured: dict[str, Any]) -> Iterable[str]:
    """Markdown: every match that was played to its end."""
    yield (
        "| game | ours | OpenSpiel's | equal | deals | ours less theirs, points | iterations, "
        "ours and theirs | CPU s a decision, ours and theirs |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for row in ROWS:
        if row.key in measured and len(measured[row.key]["scores"]) >= DEALS:
            yield f"| {_named(row)} | " + _line(row, measured[row.key])


def _named(row: Row) -> str:
    return f"`{row.game}` | {row.ours} | {row.theirs} | {row.equal}"


def _line(row: Row, kept: dict[str, Any]) -> str:
    scores = np.array(kept["scores"])
    ours, theirs = (
        seconds / max(1, count)
        for seconds, count in zip(kept["seconds"][:2], kept["decisions"], strict=True)
    )
    return (
        f"{len(scores)} | {with_error(scores, 3, '+')} | {kept['iterations']:,} and "
        f"{kept['simulations']:,} | {ours:.3f} and {theirs:.3f} |"
    )


if __name__ == "__main__":
    app()
