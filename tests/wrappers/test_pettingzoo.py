"""Native Hanabi as an AEC environment: PettingZoo's own tests, and hanabi_v5 step by step."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pettingzoo.test import api_test, seed_test
from shimmy import OpenSpielCompatibilityV0

from hanabi_search_plugin import (
    HanabiConfig,
    SearchAgent,
    SmartBot,
    Sparta,
    Streams,
    UniformPolicy,
    upgrade,
)
from hanabi_search_plugin.core.errors import (
    ConfigError,
    IllegalActionError,
    RecordError,
    UnsupportedError,
)
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers import _pettingzoo_env as native
from hanabi_search_plugin.wrappers.pettingzoo import RecordObservations, SeatAgent
from tests.helpers.pettingzoo_hanabi import SMALL, deck_of, hanabi_v5, play_random, theirs

CONFIGS: list[dict[str, Any]] = [
    {},
    {"players": 3, "observation_type": "minimal"},
    {"players": 4, "hand_size": 4, "observation_type": "seer"},
    {"players": 4, "hand_size": 5, "colors": 4},
    {"players": 5, "hand_size": 4},
    SMALL,
]

WHAT_IT_SAYS_OF_HANABI_V5 = {
    "Observation is not a NumPy array",
    "Action mask numpy array is all zeros (no legal actions).",
}


def same(ours: Any, theirs: Any) -> bool:
    """Equal values, shapes and dtypes of an observation or mask."""
    return bool(ours.dtype == theirs.dtype and np.array_equal(ours, theirs))


# ----------------------------------------------------------------------------- the environment


def test_env_shows_the_parameters_of_raw_env_and_takes_them() -> None:
    shown = inspect.signature(native.env).parameters
    assert shown == inspect.signature(native.raw_env).parameters
    assert {"colors", "random_start_player", "life_tokens"} <= set(shown)
    assert native.env(4, 3, 3).unwrapped.config == HanabiConfig(colors=4, ranks=3, players=3)


def test_a_lost_game_counts_0_as_the_help_says() -> None:
    table, first_card = native.env(life_tokens=1), 5  # the move that plays it
    table.reset(options={"deck": sorted(deck_of(HanabiConfig(), np.random.default_rng(0)))})
    rewards = []  # a 1 scores, then the other seat plays a 3
    while not table.terminations["player_0"]:
        table.step(first_card)
        rewards.append(table.rewards["player_0"])
    assert rewards[0] == 1 and sum(rewards) == 0


@pytest.mark.parametrize("make", [native.env, native.raw_env])
@pytest.mark.parametrize("parameters", CONFIGS, ids=str)
def test_pettingzoos_own_tests_pass(make: Any, parameters: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        api_test(make(**parameters), num_cycles=200)
    assert {str(warning.message) for warning in said} <= WHAT_IT_SAYS_OF_HANABI_V5
    seed_test(lambda: make(**parameters), num_cycles=100)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parameters", CONFIGS, ids=str)
def test_every_step_is_that_of_hanabi_v5(
    parameters: dict[str, Any], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = native.env(**parameters)
    deck = deck_of(ours.unwrapped.config, np.random.default_rng(seed))
    other = theirs(monkeypatch, deck, **parameters)
    ours.reset(options={"deck": deck})
    for agent in other.possible_agents:
        assert ours.action_space(agent) == other.action_space(agent)
        assert ours.observation_space(agent) == other.observation_space(agent)
    assert ours.possible_agents == other.possible_agents
    rng = np.random.default_rng(seed)
    while True:
        over = all(other.terminations.values())
        assert ours.agents == other.agents
        assert ours.agent_selection == other.agent_selection
        assert ours.rewards == other.rewards
        assert ours.terminations == other.terminations
        assert ours.truncations == other.truncations
        assert ours._cumulative_rewards == other._cumulative_rewards
        for agent in ours.agents:
            a, b = ours.observe(agent), other.observe(agent)
            assert a.keys() == b.keys()
            assert same(a["action_mask"], b["action_mask"])
            assert same(ours.infos[agent]["action_mask"], other.infos[agent]["action_mask"])
            if not over:  # hanabi_v5 does not show the last move
                assert same(a["observation"], b["observation"])
        if over:
            break
        action = int(rng.choice(np.flatnonzero(ours.last()[0]["action_mask"])))
        ours.step(action)
        other.step(action)
    while ours.agents:
        ours.step(None)
        other.step(None)
        assert ours.agents == other.agents and ours.rewards == other.rewards


def test_an_illegal_move_costs_its_maker_what_it_does_in_hanabi_v5(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = native.env()
    deck = deck_of(ours.unwrapped.config, np.random.default_rng(0))
    for env in (ours, theirs(monkeypatch, deck)):
        if env is ours:
            env.reset(options={"deck": deck})
        env.step(5)
        env.last()
        env.step(int(np.flatnonzero(env.last()[0]["action_mask"] == 0)[0]))
        assert env.rewards == {"player_0": 0, "player_1": -1.0}
        assert all(env.terminations.values())


def test_the_wrappers_are_those_of_hanabi_v5(monkeypatch: pytest.MonkeyPatch) -> None:
    ours: Any = native.env()
    other = theirs(monkeypatch, deck_of(ours.unwrapped.config, np.random.default_rng(0)))
    for name in ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos"):
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            getattr(ours, name)
    assert str(ours) == str(other) == "hanabi_v5"
    ours.reset()
    with pytest.raises(AssertionError, match="action is not in action space"):
        ours.step(20)
    while hasattr(other, "env"):
        assert isinstance(ours, type(other))
        ours, other = ours.env, other.env
    assert ours is ours.unwrapped


def test_the_end_shows_the_last_move() -> None:
    env = native.raw_env(**SMALL)
    env.reset(seed=1)
    before: dict[str, Any] = {}
    for _ in play_random(env, 3):
        before = {agent: env.observe(agent)["observation"] for agent in env.agents}
    for agent in env.agents:
        seen = env.observe(agent)
        assert not np.array_equal(seen["observation"], before[agent])
        assert not seen["action_mask"].any()


def test_one_seed_decides_every_game_that_follows() -> None:
    first, second = native.raw_env(**SMALL), native.raw_env(**SMALL)
    first.reset(seed=5)
    second.reset(seed=5)
    seen = []
    for env in (first, second):
        for _ in range(4):
            env.reset()
            seen.append(env.observe("player_0")["observation"])
    assert all(np.array_equal(a, b) for a, b in zip(seen[:4], seen[4:], strict=True))
    assert not all(np.array_equal(seen[0], other) for other in seen[1:4])


def test_a_random_first_player_is_the_one_who_is_asked() -> None:
    env = native.raw_env(players=3, random_start_player=True)
    began = set()
    for seed in range(20):
        env.reset(seed=seed)
        began.add(env.agent_selection)
        masks = {agent: env.observe(agent)["action_mask"].any() for agent in env.agents}
        assert masks == {agent: agent == env.agent_selection for agent in env.agents}
    assert began == set(env.possible_agents)


@pytest.mark.parametrize("make", [native.env, native.raw_env])
def test_copies_in_mid_game_go_on_identically(make: Any) -> None:
    env = make(players=3)
    env.reset(seed=2)
    for moves, _ in enumerate(play_random(env, 4)):
        if moves == 9:
            break
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = list(play_random(env, 6))
    env.reset()
    next_deal = env.observe("player_1")["observation"]
    for twin in copies:
        assert list(play_random(twin, 6)) == expected
        twin.reset()
        assert np.array_equal(twin.observe("player_1")["observation"], next_deal)
        twin.reset(seed=5)
    env.reset(seed=5)
    for twin in copies:
        assert list(play_random(twin, 7)) == (expected := list(play_random(copy.deepcopy(env), 7)))
        assert len(expected) > 9 and env.agents == env.possible_agents  # untouched by its copies


def test_the_rule_books_hand_sizes_are_the_default() -> None:
    sizes = [native.raw_env(players=p).config.hand_size for p in (2, 3, 4, 5)]
    assert sizes == [5, 5, 4, 4]
    assert native.raw_env(players=4, hand_size=5).config.hand_size == 5


def test_bad_input_says_what_was_expected() -> None:
    with pytest.raises(ConfigError, match="players must be from 2 to 5, got 6"):
        native.raw_env(players=6)
    with pytest.raises(ConfigError, match="must be None or human, ansi, rgb_array, got 'window'"):
        native.raw_env(render_mode="window")
    env = native.raw_env()
    with pytest.raises(ConfigError, match="decks must be permutations"):
        env.reset(options={"deck": np.zeros(50, dtype=int)})
    with pytest.raises(ConfigError, match="first_player must be from 0 to 1, got 2"):
        env.reset(options={"first_player": 2})
    env.reset(seed=0)
    with pytest.raises(IllegalActionError, match=r"discards slot 0.* all 8 information tokens"):
        env.step(0)
    with pytest.raises(IllegalActionError, match="from 0 to 19, got None"):
        env.step(None)
    with pytest.raises(IllegalActionError, match="actions are from 0 to 19"):
        env.step(20)
    for _ in range(3 * env._game.max_length):  # however often
        with pytest.raises(IllegalActionError):
            env.step(np.array([1, 2]))
        with pytest.raises(IllegalActionError):
            env.step(0)
    env.step(np.int32(5))


def test_the_board_is_rendered_as_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    boards = []
    for mode in (None, "ansi", "human"):
        env = native.env(render_mode=mode)
        env.reset(seed=0)
        boards.append(env.render())
        env.step(5)
        boards.append(env.render())
        if mode != "human":
            assert capsys.readouterr().out == ""
    before, after = boards[2:4]
    assert "P0 to move" in before and "P1 to move" in after
    assert [board for board in boards if board] == [before, after]
    printed = capsys.readouterr().out
    assert printed.count("P0 plays slot 0, W5") == 2  # the step printed it, and then we did
    assert "P0           " in printed and "??" not in printed


def test_a_picture_of_the_table() -> None:
    env = native.env(players=3, render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step(5)
    after = env.render()
    assert before.dtype == np.uint8 and before.shape == after.shape and before.shape[2] == 3
    assert not np.array_equal(before, after)


def test_what_an_inner_wrapper_saw_before_is_not_what_is_legal_now() -> None:
    env = native.env(max_information_tokens=2)
    env.reset(seed=0)
    env.env.observe("player_0")
    hints = [int(np.flatnonzero(env.last()[0]["action_mask"])[-1])]
    for _ in range(2):  # which leave no token
        env.step(hints[-1])
        hints.append(int(np.flatnonzero(env.last()[0]["action_mask"])[-1]))
    env.step(hints[0])
    assert env.rewards == {"player_0": -1.0, "player_1": 0.0}


# ------------------------------------------------------------------------------------ the agents


def small(players: int, **parameters: Any) -> dict[str, Any]:
    """A short game that hanabi_v5 allows for so many players."""
    common = {"players": players, "colors": players, "ranks": 3, "hand_size": 2}
    return common | {"max_information_tokens": 3, "max_life_tokens": 2} | parameters


def sparta(game: HanabiGame) -> SearchAgent:
    return upgrade(SmartBot(), game, search=Sparta(rollouts=150))


def natively(
    worlds: HanabiWorlds, policies: tuple[Policy, ...], moves: list[int], seed: int
) -> list[tuple[int, list[NDArray[Any]]]]:
    """What the policies decide in a native game of the given moves, and all views before each."""
    memories = [policy.start(worlds.view(p)) for p, policy in enumerate(policies)]
    decided = []
    for t, move in enumerate(moves):
        seat = int(worlds.current_player[0])
        rng = np.random.default_rng(np.random.SeedSequence([seed, 0, t]))
        policy, view = policies[seat], worlds.view(seat)
        if isinstance(policy, SearchAgent):
            action = policy.decide(memories[seat][0], rng).action
        else:
            action = int(policy.act(view, view.legal, memories[seat], Streams.spawn(rng, 1))[0])
        decided.append((action, [worlds.view(p).rows[0] for p in range(len(policies))]))
        event = worlds.step(np.array([move]))
        if not worlds.terminal[0]:
            for p, policy in enumerate(policies):
                memories[p] = policy.observe(worlds.view(p), event, memories[p])
    return decided


def dealt(
    monkeypatch: pytest.MonkeyPatch, which: str, deck: NDArray[Any], parameters: dict[str, Any]
) -> Any:
    """An environment in its wrapper, dealt from ``deck``."""
    if which == "ours":
        env: Any = RecordObservations(native.env(**parameters))
        env.reset(options={"deck": deck})
    else:
        env = RecordObservations(theirs(monkeypatch, deck, raw=which == "raw", **parameters))
        env.reset()
    return env


@pytest.mark.parametrize("which", ["theirs", "raw", "ours"])
@pytest.mark.parametrize(
    ("recorded", "parameters"),
    [
        (False, small(2)),
        (False, small(2, observation_type="minimal")),
        (False, small(2, observation_type="seer")),
        (True, small(2)),
        (True, small(2, observation_type="seer")),
        (True, small(3)),
        (True, small(4)),
        (True, small(5, ranks=2, observation_type="minimal")),
        (True, small(5, ranks=2)),
    ],
    ids=str,
)
def test_agents_decide_as_in_the_native_engine(
    parameters: dict[str, Any], which: str, recorded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = HanabiGame(native.raw_env(**parameters).config)
    deck = deck_of(game.config, np.random.default_rng(3))
    env, worlds = dealt(monkeypatch, which, deck, parameters), game.from_decks(deck[None])
    searches = parameters.get("observation_type", "card_knowledge") == "card_knowledge"
    policies = tuple(
        sparta(game) if searches and p < 2 else UniformPolicy() for p in range(game.num_players)
    )
    source = env if recorded else game.config
    agents = [SeatAgent(policy, source, p, seed=7) for p, policy in enumerate(policies)]
    rng = np.random.default_rng(0)
    answers, moves, rows = [], [], []
    while not any(env.terminations.values()):
        observation = env.last()[0]
        agent = agents[env.possible_agents.index(env.agent_selection)]
        answers.append(agent.act(observation))
        assert agent.act(observation) == answers[-1]
        assert agent.view is not None
        rows.append((agent.seat, agent.view.rows[0]))
        moves.append(answers[-1])
        if rng.random() < 0.3:  # a history of random moves, too
            moves[-1] = int(rng.choice(np.flatnonzero(observation["action_mask"])))
            agent.acted(moves[-1])
        env.step(moves[-1])
    expected = natively(worlds, policies, moves, 7)
    assert answers == [action for action, _ in expected]
    for (seat, row), (_, views) in zip(rows, expected, strict=True):
        assert np.array_equal(row, views[seat])


@pytest.mark.parametrize("which", ["theirs", "ours"])
def test_agents_are_not_moved_by_what_they_cannot_see(
    which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = small(3, hand_size=3)
    rng = np.random.default_rng(0)
    config = native.raw_env(**parameters).config
    game, compared = HanabiGame(config), 0
    actions = np.arange(config.num_actions)  # play and discard, then colour and rank hints by seat
    to_next = np.isin(actions, [6, 7, 8, 12, 13, 14])
    tells_nothing = {  # of seat 0's cards
        "player_0": actions >= 6,
        "player_1": (actions < 6) | to_next,
        "player_2": (actions < 6) | ~to_next,
    }
    for seed in range(6):
        deck = deck_of(config, np.random.default_rng(seed))
        unseen = np.r_[0:3, len(deck) - 4 : len(deck)]  # seat 0's cards and the last of the deck
        other = deck.copy()
        other[unseen] = rng.permutation(deck[unseen])
        decisions: list[list[int]] = []
        seen: list[list[bytes]] = []
        for cards in (deck, other):
            env = dealt(monkeypatch, which, cards, parameters)
            agent = SeatAgent(sparta(game), env, 0)
            moves = np.random.default_rng(seed)
            decisions.append([])
            seen.append([])
            while not any(env.terminations.values()):
                seen[-1].append(env.observe("player_0")["observation"].tobytes())
                mask = env.last()[0]["action_mask"]
                if env.agent_selection == "player_0":
                    decisions[-1].append(agent.act())
                silent = mask * tells_nothing[env.agent_selection]
                chosen = np.flatnonzero(silent if silent.any() else mask)
                env.step(int(moves.choice(chosen)))
        shared = 0
        while shared < min(map(len, seen)) and seen[0][shared] == seen[1][shared]:
            shared += 1
        both = (shared + 2) // 3
        assert decisions[0][:both] == decisions[1][:both]
        compared += both
    assert compared > 12


def test_an_agent_holds_no_environment() -> None:
    env = RecordObservations(native.env())
    agent = SeatAgent(SmartBot(), env, 0)
    env.reset(seed=0)
    agent.act()
    assert b"raw_env" not in pickle.dumps(agent)


def test_a_copied_game_and_its_agents_go_on_identically() -> None:
    parameters = small(3)
    env = RecordObservations(native.env(**parameters))
    game = HanabiGame(env.unwrapped.config)
    agents = {name: SeatAgent(sparta(game), env, name) for name in env.possible_agents}
    env.reset(seed=4)

    def play(env: Any, agents: dict[str, SeatAgent], moves: int) -> list[int]:
        made = []
        while not any(env.terminations.values()) and len(made) < moves:
            made.append(agents[env.agent_selection].act(env.last()[0]))
            env.step(made[-1])
        return made

    play(env, agents, 5)
    table = (env, agents)
    copies = [copy.deepcopy(table), pickle.loads(pickle.dumps(table))]
    alone = copy.deepcopy(agents)
    other = copy.deepcopy(env)
    for agent in alone.values():
        agent.follow(other)
    copies.append((other, alone))
    expected = play(env, agents, 99)
    assert len(expected) > 3
    for twin in copies:
        assert play(*twin, 99) == expected


def test_a_reset_of_the_environment_begins_a_new_game_for_its_agents() -> None:
    env = RecordObservations(native.env())
    agent = SeatAgent(SmartBot(), env, 0)
    for seed in range(3):
        env.reset(seed=seed)
        for _ in play_random(env, seed):
            if env.agent_selection == "player_0":
                assert env.last()[0]["action_mask"][agent.act()]
        with pytest.raises(IllegalActionError, match="not to move: the game is over"):
            agent.act()


@pytest.mark.parametrize("whole", [True, False], ids=["to the end", "broken off"])
@pytest.mark.parametrize("seat", [0, 1])
def test_an_agent_that_is_not_recorded_sees_that_a_new_game_has_begun(
    seat: int, whole: bool
) -> None:
    parameters = small(2)
    env, recorded = native.env(**parameters), RecordObservations(native.env(**parameters))
    policy = sparta(HanabiGame(env.unwrapped.config))
    ours, told = SeatAgent(policy, env, seat), SeatAgent(policy, recorded, seat)
    for episode in range(6):
        env.reset(seed=episode)
        recorded.reset(seed=episode)
        rng, moves = np.random.default_rng(episode), 0
        while not any(env.terminations.values()) and (whole or moves <= episode + 1):
            observation = env.last()[0]
            action = int(rng.choice(np.flatnonzero(observation["action_mask"])))
            if env.agent_selection == f"player_{seat}":
                action = ours.act(observation)
                assert action == told.act()
            env.step(action)
            recorded.step(action)
            moves += 1


def test_whom_hanabi_v5_should_ask_first_is_told_by_the_masks() -> None:
    env = RecordObservations(hanabi_v5.raw_env(players=3, random_start_player=True))
    agents = [SeatAgent(SmartBot(), env, p) for p in range(3)]
    firsts = set()
    for seed in range(8):
        env.reset(seed=seed)
        firsts.add(first := env.record.moments[0].mover)
        if first != 0:  # it asks player 0 nevertheless
            with pytest.raises(IllegalActionError, match="seat 0 is not to move"):
                agents[0].act(env.last()[0])
        for _ in range(4):
            mover = env.record.moments[-1].mover
            env.step(agents[mover].act())
    assert len(firsts) > 1


def test_masks_tell_an_agent_that_is_not_recorded_whether_it_is_first() -> None:
    env, firsts = hanabi_v5.raw_env(random_start_player=True), set()
    agents = [SeatAgent(SmartBot(), env, p) for p in range(2)]
    for seed in range(8):
        env.reset(seed=seed)
        seen = [env.observe(name) for name in env.possible_agents]
        first = int(seen[1]["action_mask"].any())
        firsts.add(first)
        assert seen[first]["action_mask"][agents[first].act(seen[first])]
        with pytest.raises(IllegalActionError, match=f"seat {1 - first} is not to move"):
            agents[1 - first].act(seen[1 - first]["observation"])
    assert firsts == {0, 1}


def test_more_than_two_players_need_the_wrapper() -> None:
    with pytest.raises(UnsupportedError, match="3 players: wrap the environment in RecordObserv"):
        SeatAgent(SmartBot(), native.env(players=3), 0)
    SeatAgent(SmartBot(), native.env(), 0)


def test_an_environment_without_masks_cannot_be_recorded() -> None:
    kuhn = RecordObservations(OpenSpielCompatibilityV0(game_name="kuhn_poker"))
    with pytest.raises(UnsupportedError, match='expected dicts with an "observation" and an "act'):
        kuhn.reset(seed=0)


def test_agents_refuse_what_does_not_fit() -> None:
    env = native.env()
    with pytest.raises(UnsupportedError, match="expected an agent for HanabiGame"):
        SeatAgent(sparta(HanabiGame(players=3)), env, 0)
    with pytest.raises(ConfigError, match=r"seat must be from 0 to 1 .*got 'player_2'"):
        SeatAgent(SmartBot(), env, "player_2")
    with pytest.raises(UnsupportedError, match="expected PettingZoo's Hanabi or our own"):
        SeatAgent(SmartBot(), OpenSpielCompatibilityV0(game_name="tic_tac_toe"), 0)
    with pytest.raises(UnsupportedError, match="expected PettingZoo's Hanabi or our own, got None"):
        SeatAgent(SmartBot(), None, 0)
    with pytest.raises(UnsupportedError, match=r"expected a Policy.*got an int"):
        SeatAgent(3, env, 0)  # type: ignore[arg-type]
    env.reset(seed=0)
    agent = SeatAgent(SmartBot(), env, 0)
    seen = env.observe("player_0")
    with pytest.raises(ConfigError, match=r"observation must have 658 elements .* \(657,\)"):
        agent.act(seen["observation"][1:])
    with pytest.raises(ConfigError, match=r"a dict with an \"observation\", got one of \['obs'\]"):
        agent.act({"obs": seen["observation"]})
    with pytest.raises(ConfigError, match=r"mask must have 20 elements .* \(19,\)"):
        agent.act(seen["observation"], seen["action_mask"][1:])
    with pytest.raises(ConfigError, match="mask must allow the actions"):
        agent.act(seen["observation"], np.ones(20))
    with pytest.raises(IllegalActionError, match="seat 1 is not to move"):
        SeatAgent(SmartBot(), env, 1).act(env.observe("player_1"))
    agent = SeatAgent(SmartBot(), env.unwrapped.config, 0)  # plays in several environments
    agent.act(seen)
    env.reset(seed=1)
    agent.act(env.observe("player_0"))  # the first turn of a new game
    other = native.env()
    other.reset(seed=2)
    for _ in range(4):
        other.step(int(np.flatnonzero(other.last()[0]["action_mask"])[-1]))
    with pytest.raises(RecordError, match="observation"):
        agent.act(other.observe("player_0"))  # the third turn of another
    agent.reset()
    env.reset(seed=2)
    agent.act(env.observe("player_0"))
    for unused in (native.env(), RecordObservations(native.env())):
        with pytest.raises(UnsupportedError, match="expected an environment that was reset"):
            SeatAgent(SmartBot(), unused, 0).act(seen)


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "plain"])
@pytest.mark.parametrize("make", [native.env, hanabi_v5.env, hanabi_v5.raw_env])
def test_agents_play_their_own_turns_from_their_own_observations(make: Any, recorded: bool) -> None:
    env = make(**SMALL)
    env = RecordObservations(env) if recorded else env
    env.reset(seed=3)
    game = HanabiGame(native.raw_env(**SMALL).config)
    for policy in ("smartbot", sparta(game)):
        agents = [SeatAgent(policy, env, seat) for seat in range(2)]
        for given in (env.last()[0], env.last()[0]["observation"]):
            with pytest.raises(IllegalActionError, match="seat 1 is not to move: it is another"):
                agents[1].act(given)
        for wrong in (env.last()[0]["observation"][::-1], env.observe("player_1")["observation"]):
            with pytest.raises(ConfigError, match=r"one that seat 0 sees now .*, got another"):
                agents[0].act(wrong, env.last()[0]["action_mask"])
        assert env.last()[0]["action_mask"][agents[0].act(env.last()[0])]
    env.step(agents[0].act(env.last()[0]))
    with pytest.raises(IllegalActionError, match="seat 0 is not to move: it is another"):
        agents[0].act(env.last()[0])
    mask = env.last()[0]["action_mask"]
    assert mask[agents[1].act(env.last()[0])]
    for _ in play_random(env, 0):
        pass
    with pytest.raises(IllegalActionError, match="not to move: the game is over"):
        agents[1].act(env.observe("player_1")["observation"])


def test_a_copied_agent_follows_the_environment_that_it_is_given() -> None:
    env = native.env(**SMALL)
    env.reset(seed=3)
    agent = SeatAgent("smartbot", env, 0)
    other = copy.deepcopy(env)
    twin = pickle.loads(pickle.dumps(agent))
    assert b"raw_env" not in pickle.dumps(agent)
    other.step(agent.act(other.last()[0]))
    other.step(int(np.flatnonzero(other.last()[0]["action_mask"])[0]))
    with pytest.raises(ConfigError, match="got another"):
        agent.act(other.last()[0])
    twin.act(env.last()[0])
    assert other.last()[0]["action_mask"][twin.act(other.last()[0])]
    agent.follow(other)
    assert other.last()[0]["action_mask"][agent.act(other.last()[0])]
    with pytest.raises(UnsupportedError, match="3 players: wrap the environment in RecordObserv"):
        SeatAgent("smartbot", RecordObservations(native.env(players=3)), 0).follow(
            native.env(players=3)
        )
    with pytest.raises(UnsupportedError, match="expected PettingZoo's Hanabi or our own"):
        agent.follow(OpenSpielCompatibilityV0(game_name="tic_tac_toe"))


def test_tokens_have_the_names_of_the_game_too() -> None:
    ours = native.env(colors=2, information_tokens=2, life_tokens=1)
    theirs = native.env(colors=2, max_information_tokens=2, max_life_tokens=1)
    assert ours.unwrapped.config == theirs.unwrapped.config
    assert native.env().unwrapped.config == HanabiConfig(players=2)
    with pytest.raises(ConfigError, match="information_tokens and max_information_tokens are one"):
        native.env(information_tokens=2, max_information_tokens=2)
    with pytest.raises(ConfigError, match="got 'lives_tokens': did you mean life_tokens"):
        native.env(lives_tokens=2)
