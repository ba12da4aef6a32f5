"""Multi-agent SPARTA: all seats decide alike, understand each other, and gain."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

from hanabi_search_plugin import HanabiGame, SmartBot, UniformPolicy, upgrade
from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.range_search import RangeSearch
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.policy import Value
from hanabi_search_plugin.core.rollout import observe_all, start_memories
from hanabi_search_plugin.evaluation.evaluate import evaluate
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiView
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

SMALL = {"players": 2, "colors": 2, "ranks": 3, "hand_size": 3}
SEARCH = {"max_range": 12, "rollouts": 300, "min_rollouts": 10, "round_size": 10}
PRUNINGS = ("expected", "paired")


class Promising(UniformPolicy, Value):
    """Uniform play that expects ``offset`` points more of any decision."""

    combine = "mean"

    def __init__(self, offset):
        self.offset = offset

    def value(self, view, memory):
        return np.full(len(view), self.offset)


# Uniform play is a blueprint left to chance; in tiny_hanabi it leaves most to be gained.
GAMES = {
    "native": lambda: (HanabiGame(**SMALL), SmartBot()),
    "openspiel": lambda: (
        OpenSpielGame("hanabi(players=2,colors=2,ranks=2,hand_size=2)"),
        UniformPolicy(),
    ),
    "tiny_hanabi": lambda: (OpenSpielGame("tiny_hanabi"), UniformPolicy()),
}


def public_facts(common):
    """What all seats must agree on."""
    public = common.public
    players = range(public.game.num_players)
    ids = [public.infostates(p) for p in players]
    weights = [public.weights(p, ids[p]).round(12).tolist() for p in players]
    queue = [(m.turn, m.player, m.action) for m in common.queue]
    ids = [of.tolist() for of in ids]
    spent = common.rollouts, common.note, public.caveats(), public.turn
    return common.searcher, queue, ids, weights, spent


def play(game, agents, worlds):
    """A game by agents that share nothing; yields the seats' memories before each move."""
    memories = start_memories(worlds, agents)
    rng = np.random.default_rng(0)
    while not worlds.terminal[0]:
        mover = int(worlds.current_player[0])
        seats = [memory[0] for memory in memories]
        result = agents[mover].decide(seats[mover], rng)
        yield worlds, seats, result
        action = np.array([result.action])
        actors = worlds.current_player
        worlds.step(action)
        if not worlds.terminal[0]:
            memories = observe_all(worlds, actors, action, agents, memories)


@pytest.mark.parametrize("pruning", PRUNINGS)
@pytest.mark.parametrize("name", GAMES)
def test_seats_that_share_nothing_agree(name, pruning):
    """On every public quantity, and the truth is never ruled out."""
    game, blueprint = GAMES[name]()
    searched = queued = understood = 0
    for seed in range(3):
        search = JointSparta(**SEARCH, pruning=pruning)
        agents = tuple(upgrade(blueprint, game, search) for _ in range(2))
        for worlds, seats, result in play(game, agents, game.deal(np.random.default_rng(seed), 1)):
            first, second = (public_facts(seat.common) for seat in seats)
            assert first == second
            for p, seat in enumerate(seats):
                own = seat.common.public.infostate_of(worlds.view(p))
                assert own in seats[0].common.public.infostates(p)
            common = seats[0].common
            mover = int(worlds.current_player[0])
            assert (result.reason == "search_not_allowed") == (common.searcher != mover)
            assert common.public.recovered == 0
            searched += common.searcher == mover
            queued += len(common.queue) > 1
            understood += "entries of move" in common.note
    assert searched > 5 or name == "tiny_hanabi"
    assert understood > 0
    assert queued > 0 or name != "native"


@pytest.mark.parametrize("pruning", PRUNINGS)
def test_asking_for_one_move_is_asking_for_all(monkeypatch, pruning):
    """An infostate is left early only where that does not matter; alone it does as in a batch."""
    game, searches = HanabiGame(**SMALL), []
    plays = RangeSearch.plays

    def both(search, public, player, ids, seed, observed):
        short, spent = plays(search, public, player, ids, seed, observed)
        full = search.search(public, player, ids, seed)
        chosen = full.chosen(search.threshold)
        assert short.tolist() == (chosen == observed).tolist()
        assert spent <= full.rollouts
        alone = search.search(public, player, ids[-1:], seed)
        assert alone.chosen(search.threshold)[0] == chosen[-1]
        assert alone.count[0].tolist() == full.count[-1].tolist()
        assert alone.dropped[0].tolist() == full.dropped[-1].tolist()
        searches.append((len(ids), spent, full.rollouts, short.sum()))
        return short, spent

    monkeypatch.setattr(RangeSearch, "plays", both)
    agents = (upgrade(SmartBot(), game, JointSparta(**SEARCH, pruning=pruning)),) * 2
    for seed in range(4):
        for _ in play(game, agents, game.deal(np.random.default_rng(seed), 1)):
            pass
    searched, spent, full, kept = np.sum(searches, axis=0)
    assert 0 < kept < searched
    assert spent < full


def searched_first(policy=None, **options):
    """What the search finds for every infostate of the first move of a game."""
    game = HanabiGame(**SMALL)
    agent = upgrade(policy or SmartBot(), game, JointSparta(**{**SEARCH, **options}))
    public = agent.start(game.deal(np.random.default_rng(0), 1).view(0))[0].common.public
    ids = public.infostates(0)[:40]
    return agent.search.range_search.search(public, 0, ids, (0, 0))


def test_a_depth_cuts_rollouts_short():
    """By values that say nothing a move is worth what it scores itself; far ahead none is asked."""
    hints = slice(6, None)  # after three discards and three plays
    one, far, whole = (
        searched_first(depth=depth, pruning="paired", policy=Promising(0.5))
        for depth in (1, 100, None)
    )
    assert np.isnan(one.mean()[0][:, hints]).sum() == (~one.legal[:, hints]).sum()
    assert np.nanmax(abs(one.mean()[0][:, hints] - 0.5)) == 0.0
    assert (np.nanmax(one.mean()[0][:, 3:6], axis=1) > 0.5).all()  # some card may be playable
    assert np.array_equal(far.returns, whole.returns, equal_nan=True)
    assert (one.returns[:, 0] != whole.returns[:, 0]).any()


@pytest.mark.parametrize("pruning", PRUNINGS)
def test_seats_agree_where_rollouts_are_cut_short(pruning):
    game, understood = HanabiGame(**SMALL), 0
    search = JointSparta(**SEARCH, pruning=pruning, depth=2)
    for seed in range(2):
        agents = tuple(upgrade(Promising(0.5), game, search) for _ in range(2))
        for _, seats, _ in play(game, agents, game.deal(np.random.default_rng(seed), 1)):
            first, second = (public_facts(seat.common) for seat in seats)
            assert first == second
            understood += "entries of move" in first[4][1]
    assert understood > 0


def test_a_move_is_dropped_by_what_the_rest_of_its_budget_could_gain():
    """Nothing is where any gain counts; all at the first look where none does; else in between."""
    others, spent = None, []
    for indifference in (0.0, 0.002, 0.02, 100.0):
        found = searched_first(indifference=indifference)
        others = found.legal & (np.arange(found.legal.shape[1]) != found.base[:, None])
        spent.append(found.rollouts)
        if indifference == 0.0:
            assert not found.dropped.any()
            assert (found.count == np.where(found.legal, found.share[:, None], 0)).all()
    assert (found.dropped == others).all()
    assert (found.count[others] == 10).all()
    assert spent == sorted(spent, reverse=True) and len(set(spent)) == 4


def test_a_move_that_was_never_better_by_chance_goes_on_where_returns_vary():
    """In ten worlds no difference was seen: that says little where returns vary."""
    found = searched_first()
    found.count[:], found.gains[:], found.gains_squared[:] = 10, 0.0, 0.0
    found.share[:], looked, rows = 1_000, found.legal, np.arange(len(found.ids))
    for returns, dropped in ((np.tile([0.0, 4.0], 5), False), (np.full(10, 4.0), True)):
        found.returns[:, :10] = returns
        behind = JointSparta(**SEARCH).range_search._behind(found, rows, looked, 10)
        assert (behind == (looked & dropped)).all()


@pytest.mark.parametrize(
    ("name", "games"), [("native", 60), pytest.param("tiny_hanabi", 100, marks=pytest.mark.slow)]
)
def test_gains(name, games):
    game, blueprint = GAMES[name]()
    agent = upgrade(blueprint, game, JointSparta(**{**SEARCH, "rollouts": 600}))
    found = evaluate(game, agent, games=games, seed=1).to_dict()
    assert found["gain"] > 2 * found["gain_sem"]


def test_with_no_range_the_first_player_searches_alone():
    game = HanabiGame(**SMALL)
    agents = (upgrade(SmartBot(), game, JointSparta(**{**SEARCH, "max_range": 0})),) * 2
    turns = list(play(game, agents, game.deal(np.random.default_rng(2), 1)))
    for number, (_, _, result) in enumerate(turns):
        assert (result.reason == "search_not_allowed") == (number % 2 == 1)
        assert number == 0 or "max_range=0" in result.note


def test_a_decision_says_why():
    game = HanabiGame(**SMALL)
    agents = (upgrade(SmartBot(), game, JointSparta(**{**SEARCH, "threshold": 0.3})),) * 2
    found = set()
    for seed in range(4):
        for _, _, result in play(game, agents, game.deal(np.random.default_rng(seed), 1)):
            found.add(result.reason)
            improved = result.reason == "improved"
            assert (result.action != result.blueprint_action) == improved
            assert result.gain > 0.3 if improved else result.gain == 0.0
    assert {"improved", "below_threshold", "blueprint_best", "search_not_allowed"} <= found


@pytest.mark.parametrize("pruning", PRUNINGS)
def test_threads_change_nothing(pruning):
    game = HanabiGame(**SMALL)
    told = []
    for threads in (1, 2):
        search = JointSparta(**SEARCH, pruning=pruning, threads=threads)
        agent = upgrade(SmartBot(), game, search)
        turns = play(game, (agent, agent), game.deal(np.random.default_rng(3), 1))
        told.append([(r.action, r.rollouts, r.note, r.mean.tolist()) for _, _, r in turns])
    assert repr(told[0]) == repr(told[1])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_goes_on_from_a_copy(copied):
    game = HanabiGame(**SMALL)
    agent = upgrade(SmartBot(), game, JointSparta(**SEARCH))
    worlds = game.deal(np.random.default_rng(4), 1)
    memories = start_memories(worlds, (agent, agent))
    for turn in range(6):
        if turn == 3:
            agent, memories = copied((agent, memories))
            twin = upgrade(SmartBot(), game, JointSparta(**SEARCH))
        actors = worlds.current_player
        result = agent.decide(memories[actors[0]][0], np.random.default_rng(turn))
        if turn >= 3:  # one that never was copied, from the same memory
            again = twin.decide(memories[actors[0]][0], np.random.default_rng(turn))
            assert (again.action, again.rollouts) == (result.action, result.rollouts)
        action = np.array([result.action])
        worlds.step(action)
        memories = observe_all(worlds, actors, action, (agent, agent), memories)


def _seat(pipe, player):
    """One seat in a process of its own: it hears events and its own views alone."""
    game = HanabiGame(**SMALL)
    agent = upgrade(SmartBot(), game, JointSparta(**SEARCH))
    memory = None
    while (message := pipe.recv()) is not None:
        event, rows = message
        view = HanabiView(game, player, rows)
        memory = agent.start(view) if event is None else agent.observe(view, event, memory)
        common = memory[0].common
        mine = int(view.current_player[0]) == player
        move = agent.decide(memory[0], np.random.default_rng(0)).action if mine else None
        pipe.send((public_facts(common), move))


def test_seats_in_processes_of_their_own_agree():
    """After every move, on every public quantity."""
    context = multiprocessing.get_context("spawn")
    pipes, workers = [], []
    for player in (0, 1):
        mine, theirs = context.Pipe()
        workers.append(context.Process(target=_seat, args=(theirs, player), daemon=True))
        workers[-1].start()
        pipes.append(mine)
    worlds, event, queued = HanabiGame(**SMALL).deal(np.random.default_rng(6), 1), None, 0
    while not worlds.terminal[0]:
        for player, pipe in enumerate(pipes):
            pipe.send((event, worlds.view(player).rows))
        (first, _), (second, _) = told = [pipe.recv() for pipe in pipes]
        assert first == second
        queued += len(first[1]) > 0
        event = worlds.step(np.array([told[int(worlds.current_player[0])][1]]))
    for pipe, worker in zip(pipes, workers, strict=True):
        pipe.send(None)
        worker.join(30)
        assert worker.exitcode == 0
    assert queued > 0


def test_a_stranger_does_not_stop_it():
    """The other seat moves at random: what cannot be understood is not used."""
    game = HanabiGame(**SMALL)
    agent = upgrade(SmartBot(), game, JointSparta(**SEARCH))
    found = evaluate(game, (UniformPolicy(), agent), games=5, seed=3)
    assert len(found.scores) == 5


def test_a_decision_says_which_rule_applied():
    """Max range, budget, and evidence dropped: on the very move, and in words."""
    game = HanabiGame(**SMALL)
    agent = upgrade(SmartBot(), game, JointSparta(**{**SEARCH, "max_range": 2}))
    for _, _, result in play(game, (agent, agent), game.deal(np.random.default_rng(2), 1)):
        if result.reason == "search_not_allowed":
            assert "searches alone: its move" in result.note
            assert "max_range=2" in result.note
        assert "min_rollouts" not in result.note
    noisy = upgrade(SmartBot(), game, JointSparta(**{**SEARCH, "min_rollouts": 250}))
    said = "300 rollouts are {} a move, below min_rollouts=250: no move was dropped"
    for _, _, result in play(game, (noisy, noisy), game.deal(np.random.default_rng(2), 1)):
        if result.count.any():
            moves = len(result.actions)
            assert (said.format(300 // moves) in result.note) == (300 // moves < 250)
    agents = tuple(upgrade(SmartBot(), game, JointSparta(**SEARCH)) for _ in range(2))
    recovered = 0
    rng = np.random.default_rng(1)
    for worlds, seats, result in play(game, agents, game.deal(np.random.default_rng(2), 1)):
        # Seat 0 leaves what was agreed: it hardly ever makes the move that its own result says.
        if worlds.current_player[0] == 0:
            legal = np.flatnonzero(worlds.legal[0])
            object.__setattr__(result, "action", int(rng.choice(legal)))
        times = seats[0].common.public.recovered
        assert ("had to recover" in result.note) == (times > 0)
        recovered = max(recovered, times)
    assert recovered > 0


def test_what_it_needs():
    with pytest.raises(ConfigError, match="max_range must be an integer of at least 0, got -1"):
        JointSparta(max_range=-1)
    with pytest.raises(ConfigError, match="threshold must be a number of at least 0"):
        JointSparta(threshold=float("nan"))
    with pytest.raises(ConfigError, match="indifference must be a number of at least 0"):
        JointSparta(indifference=-1.0)
    with pytest.raises(ConfigError, match="pruning must be one of expected, paired, got 'off'"):
        JointSparta(pruning="off")
    with pytest.raises(ConfigError, match="depth must be an integer of at least 1, got 0"):
        JointSparta(depth=0)
    with pytest.raises(ConfigError, match="play rollouts to the end"):
        JointSparta(depth=2, objective="perfect")
    with pytest.raises(
        UnsupportedError, match=r"cut short where the blueprint has values.*SmartBot"
    ):
        upgrade(SmartBot(), HanabiGame(**SMALL), JointSparta(depth=2))
    with pytest.raises(UnsupportedError, match=r"identical rewards.*kuhn_poker"):
        upgrade(UniformPolicy(), OpenSpielGame("kuhn_poker"), JointSparta())
    with pytest.raises(ConfigError, match="belief must be None"):
        game = HanabiGame(**SMALL)
        upgrade(SmartBot(), game, JointSparta(), belief=lambda blueprint, view: None)
