"""Dec-POMDPs: the reader, the game, and values against an independent solver."""

from __future__ import annotations

import gzip
import itertools
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from hanabi_search_plugin import JointSparta, Sparta, UniformPolicy, evaluate, upgrade
from hanabi_search_plugin.cli.games import load_game
from hanabi_search_plugin.core.errors import ConfigError, RecordError, UnsupportedError
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.testing import check_agent, check_belief, check_game
from hanabi_search_plugin.wrappers.dpomdp import load_dpomdp
from tests.references.dec_pomdp_reference import best_joint_value

ROOT = Path(__file__).parents[2]
TIGER = ROOT / "examples" / "dec_tiger.dpomdp"
SHARED = ROOT.parent / "shared" / "thirdparty" / "dpomdp"
THIRD_PARTY = Path(os.environ.get("DEC_POMDPS", SHARED))
needs_the_files = pytest.mark.skipif(
    not THIRD_PARTY.is_dir(),
    reason="the MADP toolbox's problems are not ours to ship: DEC_POMDPS=FOLDER names theirs",
)

SMALL = """\
agents: 2
discount: 0.9
values: reward
states: dry wet
start include: dry
actions:
stay go
3
observations:
2
quiet loud
T: * :
identity
T: go * :
0.25 0.75
0.5 0.5
T: stay 1 : wet : dry : 0.5
T: stay 1 : wet : wet : 0.5
T: 5 : dry :
uniform
O: * :
uniform
O: go 2 : wet : * * : 0
O: go 2 : wet : 0 loud : 1
O: 0 : dry :
0.1 0.2 0.3 0.4
R: * : * : * : * : 1
R: go 0 : dry : * : * : 2.5
R: go 1 : dry : wet : * : -3
R: stay 2 : wet : dry : * quiet : 1e1
R: stay 1 : wet : wet :
1 2 3 4
R: stay 0 : wet :
1 2 3 4
5 6 7 8
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "small.dpomdp"
    path.write_text(text)
    return path


def test_a_file_is_read_as_the_format_says(tmp_path: Path) -> None:
    problem = load_dpomdp(written(tmp_path, SMALL), 2).problem
    assert problem.states == ("dry", "wet") and problem.actions == (("stay", "go"), tuple("012"))
    assert problem.observations == (("0", "1"), ("quiet", "loud"))
    assert problem.start.tolist() == [1, 0] and problem.discount == 0.9
    t, o = problem.transitions, problem.emissions
    assert t.shape == (6, 2, 2) and o.shape == (6, 2, 4)
    assert t[0].tolist() == [[1, 0], [0, 1]] and t[1].tolist() == [[1, 0], [0.5, 0.5]]
    assert t[3].tolist() == t[4].tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert t[5].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert o[5, 1].tolist() == [0, 1, 0, 0] and o[0, 0].tolist() == [0.1, 0.2, 0.3, 0.4]
    # Expected rewards of joint actions (stay 0 .. go 2) in dry and in wet.
    assert problem.rewards.round(12).tolist() == [
        [1, 6.5],  # in wet it stays wet: the mean of 5 6 7 8
        [1, 0.5 * 1 + 0.5 * 2.5],
        [1, 1],  # wet stays wet under stay 2, so that the rule for dry never counts
        [2.5, 1],
        [0.25 * 1 - 0.75 * 3, 1],
        [1, 1],
    ]


@pytest.mark.parametrize(
    ("start", "chance"),
    [
        ("start:\nuniform", [0.5, 0.5]), ("start: uniform", [0.5, 0.5]),
        ("start:\n0.25 0.75", [0.25, 0.75]), ("start: 0.25 0.75", [0.25, 0.75]),
        ("start:\n0.25\n0.75", [0.25, 0.75]), ("start: wet", [0, 1]), ("start: 1", [0, 1]),
        ("start:\nwet", [0, 1]), ("start exclude: wet", [1, 0]),
        ("start include: 0 wet", [0.5, 0.5]),
    ],
)  # fmt: skip
def test_starts(tmp_path: Path, start: str, chance: list[float]) -> None:
    path = written(tmp_path, SMALL.replace("start include: dry", start))
    assert load_dpomdp(path, 1).problem.start.tolist() == chance


def test_costs_are_rewards_turned_round_and_files_may_be_packed(tmp_path: Path) -> None:
    reward = load_dpomdp(written(tmp_path, SMALL), 2).problem.rewards
    cost = SMALL.replace("values: reward", "values: cost").encode()
    (tmp_path / "cost.dpomdp.gz").write_bytes(gzip.compress(cost))
    game = load_dpomdp(tmp_path / "cost.dpomdp.gz", 2)
    assert (game.problem.rewards == -reward).all() and "cost(" in game.name


def test_more_agents_than_two(tmp_path: Path) -> None:
    text = """\
agents: a b c
discount: 1
values: reward
states: 1
start: 0
actions:
2
2
2
observations:
1
1
1
T: * :
uniform
O: * :
uniform
R: 1 * 1 : * : * : * : 7
"""
    game = load_dpomdp(written(tmp_path, text), 2)
    check_game(game)
    assert game.num_players == 3 and game.max_length == 6
    assert game.problem.rewards[:, 0].tolist() == [0, 0, 0, 0, 0, 7, 0, 7]


@pytest.mark.parametrize(
    ("old", "new", "where", "why"),
    [
        ("agents: 2", "agents: 0", "line 1, column 9", "agents"),
        ("agents: 2", "agents: 99", "line 1, column 9", "at most 16"),
        ("discount: 0.9", "discount: nan", "line 2, column 11", "number"),
        ("values: reward", "values: fun", "line 3, column 9", "reward or cost"),
        ("states: dry wet", "states: dry dry", "line 4, column 13", "'dry'"),
        ("states: dry wet", "actions:", "line 4, column 1", "states"),
        ("start include: dry", "start include: ice", "line 5, column 16", "'ice'"),
        ("start include: dry", "start exclude: dry wet", "line 5, column 7", "start in"),
        ("start include: dry", "start: 0.5 0.6", "line 5, column 1", "sum to 1"),
        ("T: go * :", "T: fly * :", "line 14, column 4", "'fly'"),
        ("T: go * :", "T: go * * :", "line 14, column 4", "2 parts, got 3"),
        ("T: 5 : dry :", "T: 6 : dry :", "line 19, column 4", "6 joint actions"),
        ("0.25 0.75", "0.25 x", "line 15, column 6", "'x'"),
        ("0.25 0.75\n0.5 0.5", "0.25 0.75\n0.5 0.5 0.5", "line 16, column 9", "more"),
        ("0.25 0.75\n", "", "line 14, column 1", "4 numbers to follow, got 2"),
        ("dry : 0.5", "dry : 0.5 0.5", "line 17, column 29", "one number"),
        ("wet : * * : 0", "wet : * * * : 0", "line 23, column 17", "2 parts"),
        ("1 2 3 4\nR", "uniform\nR", "line 32, column 1", "number"),
        ("T: * :\nidentity", "O: * :\nidentity", "line 12, column 1", "transitions"),
        ("T: * :", "X: * :", "line 12, column 1", "'X'"),
        ("T: * :", "T", "line 12, column 1", "'T:'"),
        ("R: * : * : * : * : 1", "R: * : * : * : * : * : 1", "line 27, column 1", "fields"),
        ("T: * :\nidentity\n", "", "column 1", "sum to 1, got 0"),
        ("stay go\n3", "5000\n5000", "line 11, column 1", "at most 33,554,432 numbers"),
        ("stay go\n3", "stay go\n99999", "line 8, column 1", "1 to 65536 actions"),
    ],
)  # fmt: skip
def test_what_is_not_in_the_format_is_refused_by_line_and_column(
    tmp_path: Path, old: str, new: str, where: str, why: str
) -> None:
    assert old in SMALL
    with pytest.raises(RecordError) as caught:
        load_dpomdp(written(tmp_path, SMALL.replace(old, new, 1)), 2)
    assert where in str(caught.value) and why in str(caught.value)


def test_a_file_that_ends_early_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    lines = SMALL.splitlines(keepends=True)
    refused = 0
    for end in range(len(lines)):
        try:
            load_dpomdp(written(tmp_path, "".join(lines[:end])), 2)
        except RecordError:
            refused += 1
    assert refused > 24  # all but the last entries, which overwrite what stands before


def test_damaged_packing_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(SMALL.encode())
    for damaged in (packed[:-20], packed[:12] + b"\xff" * 20 + packed[32:]):
        (tmp_path / "x.dpomdp.gz").write_bytes(damaged)
        with pytest.raises(RecordError):
            load_dpomdp(tmp_path / "x.dpomdp.gz", 2)
    (tmp_path / "x.dpomdp").write_bytes(b"agents: \xff")
    with pytest.raises(RecordError, match="UTF-8"):
        load_dpomdp(tmp_path / "x.dpomdp", 2)


# ------------------------------------------------------------------------------------- the game


def test_the_contracts_hold(tmp_path: Path) -> None:
    for game in (load_dpomdp(TIGER, 3), load_dpomdp(written(tmp_path, SMALL), 2)):
        check_game(game)
        check_belief(game, UniformPolicy())
        check_agent(game, upgrade(UniformPolicy(), game, Sparta(rollouts=30)))
        assert pickle.loads(pickle.dumps(game)) == game


def test_steps_follow_the_listed_chance() -> None:
    """Ten thousand steps of the same joint action, against the probabilities of ``branch``."""
    game = load_dpomdp(TIGER, 2)
    worlds = game.deal(np.random.default_rng(0), 10_000)
    worlds.step(np.zeros(10_000, dtype=np.int64))
    worlds.step(np.zeros(10_000, dtype=np.int64))
    right = worlds.seen == worlds.state[:, None]
    assert abs(right.mean(axis=0) - 0.85).max() < 4 * np.sqrt(0.85 * 0.15 / 10_000)
    assert abs(right.all(axis=1).mean() - 0.7225) < 4 * np.sqrt(0.2 / 10_000)
    assert (worlds.returns == -2.0).all() and (worlds.stage == 1).all()


def test_the_tiger_by_hand() -> None:
    """Listening twice earns -4; the discount counts the second stage by so much."""
    for discount, worth in ((None, -4.0), (0.5, -3.0)):
        game = load_dpomdp(TIGER, 2, discount=discount)
        worlds = game.deal(np.random.default_rng(0), 8)
        for _ in range(4):
            worlds.step(np.zeros(8, dtype=np.int64))
        assert worlds.terminal.all() and (worlds.returns == worth).all()


def test_others_moves_and_observations_stay_hidden() -> None:
    """One agent's view is the same whatever the other does and hears."""
    game = load_dpomdp(TIGER, 2)
    worlds, _ = game.deals()
    seen = set()
    for first, second in itertools.product(range(3), repeat=2):
        after, _, _ = game.branch(worlds, np.full(len(worlds), first))
        assert set(after.view(1).keys()) == {(0, 1, -1)}
        after, _, _ = game.branch(after, np.full(len(after), second))
        seen |= set(after.view(0).keys())
    assert seen == {(1, 0, 0), (1, 0, 1)}


def test_search_at_one_seat_gains() -> None:
    game = load_dpomdp(TIGER, 2)
    agent = upgrade(UniformPolicy(), game, Sparta(rollouts=300))
    result = evaluate(game, (UniformPolicy(), agent), games=60, seed=1)
    assert result.gain > 3 * result.gain_sem > 0


def test_joint_search_says_why_it_cannot() -> None:
    with pytest.raises(UnsupportedError, match="whose moves all players see"):
        upgrade(UniformPolicy(), load_dpomdp(TIGER, 2), JointSparta())


def test_the_command_line_names_it() -> None:
    game = load_game(f"dpomdp:{TIGER}(horizon=4, discount=0.5)", HanabiConfig())
    assert game == load_dpomdp(TIGER, 4, discount=0.5)
    for wrong in (f"{TIGER}", f"{TIGER}(discount=1)", f"{TIGER}(horizon=x)", f"{TIGER}(horizon=0)",
                  f"{TIGER}(horizon=2,size=3)", "/nowhere.dpomdp(horizon=2)",
                  f"{TIGER}(horizon=2,discount=2)"):  # fmt: skip
        with pytest.raises(ConfigError):
            load_game(f"dpomdp:{wrong}", HanabiConfig())


# ------------------------------------------------------------------------- the published problems

STATES = {
    "2generals": 2, "Grid3x3corners": 81, "GridSmall": 16, "Mars": 256, "boxPushingUAI07": 100,
    "broadcastChannel": 4, "dectiger": 2, "fireFighting_2_3_3": 432, "prisoners": 1,
    "recycling": 4, "relay4": 4,
}  # fmt: skip


def published(name: str) -> Path:
    packed = THIRD_PARTY / f"{name}.dpomdp.gz"
    return packed if packed.exists() else THIRD_PARTY / f"{name}.dpomdp"


@needs_the_files
@pytest.mark.parametrize("name", STATES)
def test_published_files_are_read(name: str) -> None:
    game = load_dpomdp(published(name), 2)
    assert len(game.problem.states) == STATES[name]
    worlds = game.deal(np.random.default_rng(0), 50)
    rng = np.random.default_rng(1)
    while not worlds.terminal.all():
        worlds.step(np.array([rng.choice(np.flatnonzero(row)) for row in worlds.legal]))


@needs_the_files
def test_our_tiger_is_the_published_one() -> None:
    assert load_dpomdp(published("dectiger"), 3) == load_dpomdp(TIGER, 3)


@needs_the_files
def test_the_documentation_of_the_format_is_read_up_to_what_contradicts_itself() -> None:
    """The example names an action that its second agent lacks."""
    with pytest.raises(RecordError, match="line 199, column 6: expected one of 2 actions"):
        load_dpomdp(THIRD_PARTY / "example.dpomdp", 2)


def test_the_tiger_solved() -> None:
    assert best_joint_value(load_dpomdp(TIGER, 1).problem, 2) == pytest.approx(-4.0)


@pytest.mark.slow
def test_the_tiger_solved_for_three_stages() -> None:
    problem = load_dpomdp(TIGER, 1).problem
    assert best_joint_value(problem, 3) == pytest.approx(5.190812, abs=1e-6)


@needs_the_files
@pytest.mark.parametrize(
    ("name", "horizon", "best"),
    [
        ("broadcastChannel", 2, 2.0), ("broadcastChannel", 3, 2.99), ("recycling", 2, 7.0),
        ("GridSmall", 2, 0.91), ("fireFighting_2_3_3", 2, -4.383496),
    ],
)  # fmt: skip
def test_published_optima_solved(name: str, horizon: int, best: float) -> None:
    problem = load_dpomdp(published(name), 1).problem
    assert best_joint_value(problem, horizon) == pytest.approx(best, abs=1e-6)
