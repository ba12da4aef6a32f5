"""One player's view as a Gymnasium environment."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from hanabi_search_plugin import SearchAgent, SmartBot, Sparta, Streams, UniformPolicy, upgrade
from hanabi_search_plugin.core.errors import ConfigError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.wrappers.gymnasium import ID, HanabiEnv
from hanabi_search_plugin.wrappers.pettingzoo import SeatAgent

ROOT = Path(__file__).resolve().parents[2]
SMALL: dict[str, Any] = {
    "colors": 2,
    "hand_size": 2,
    "information_tokens": 3,
    "life_tokens": 2,
    "ranks": 3,
}


def searcher(players: int) -> SearchAgent:
    game = HanabiGame(players=players, **SMALL)
    return upgrade(SmartBot(), game, search=Sparta(rollouts=100))


def play(env: Any, seed: int, moves: int = 999) -> list[Any]:
    """Random legal moves; everything that came back."""
    rng, out, over = np.random.default_rng(seed), [], False
    while not over and len(out) < moves:
        action = rng.choice(np.flatnonzero(env.get_wrapper_attr("action_masks")()))
        observation, reward, over, truncated, info = env.step(action)
        assert not truncated
        searches = [(seat, result.to_dict()) for seat, result in info["searches"]]
        out.append(
            (observation.tolist(), reward, over, info["action_mask"].tolist(), repr(searches))
        )
    return out


@pytest.mark.parametrize("encoding", ["openspiel", "packed", "v0"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"players": 5, "seat": 3, "partners": "iggi"},
        {"seat": 1, "partners": UniformPolicy(), "random_start_player": True},
        {"players": 3, "partners": ("smartbot", searcher(3)), **SMALL},
    ],
    ids=["2p", "5p", "random", "search"],
)
def test_gymnasiums_own_check_is_clean(parameters: dict[str, Any], encoding: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(ID, encoding=encoding, **parameters)
        with warnings.catch_warnings():
            # Of any environment that was made by name.
            warnings.filterwarnings("ignore", ".*different from the unwrapped version")
            warnings.filterwarnings("ignore", ".*environment .* is wrapped")
            check_env(env.unwrapped)
    env.reset(seed=0)
    play(env, 0)


def test_rewards_add_up_to_the_return() -> None:
    env = HanabiEnv(partners="smartbot")
    for seed in range(5):
        env.reset(seed=seed)
        total = sum(step[1] for step in play(env, seed))
        assert env._worlds is not None and total == env._worlds.returns[0, 0]


def test_what_it_shows_is_the_seats_own_view() -> None:
    env = HanabiEnv(players=3, seat=1)
    deck = np.random.default_rng(0).permutation(np.repeat(np.arange(25), [3, 2, 2, 2, 1] * 5))
    observation, info = env.reset(seed=0, options={"deck": deck})
    worlds = env.game.from_decks(deck[None])
    smartbot = SmartBot()
    view = worlds.view(0)
    rng = Streams.spawn(np.random.default_rng(0), 1)
    worlds.step(smartbot.act(view, view.legal, smartbot.start(view), rng))
    assert np.array_equal(observation, worlds.view(1).observation("openspiel")[0])
    assert np.array_equal(info["action_mask"], worlds.view(1).legal[0])
    assert np.array_equal(env.action_masks(), worlds.legal[0])


def test_games_are_reproducible_by_their_seed() -> None:
    def games() -> list[Any]:
        env = gymnasium.make(ID, players=3, partners=("random", searcher(3)), **SMALL)
        env.reset(seed=3)
        first = play(env, 0)
        env.reset()
        return [first, play(env, 1)]

    assert games() == games()


def test_searches_of_partners_are_told() -> None:
    env = HanabiEnv(players=3, seat=0, partners=("smartbot", searcher(3)), **SMALL)
    env.reset(seed=0)
    action = int(np.flatnonzero(env.action_masks())[0])
    *_, info = env.step(action)
    ((seat, result),) = info["searches"]
    assert seat == 2 and result.rollouts > 0


@pytest.mark.parametrize("made", [False, True])
def test_copies_in_mid_game_go_on_identically(made: bool) -> None:
    env: Any = HanabiEnv(players=3, partners=("random", searcher(3)), **SMALL)
    if made:
        env = gymnasium.make(ID, players=3, partners=("random", searcher(3)), **SMALL)
    env.reset(seed=3)
    play(env, 0, moves=2)
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    expected = play(env, 5)
    assert len(expected) > 1
    for twin in copies:
        assert play(twin, 5) == expected


def test_an_illegal_action_ends_the_game_or_raises() -> None:
    env = HanabiEnv()
    env.reset(seed=0)
    _, reward, over, _, info = env.step(0)
    assert (reward, over) == (-1.0, True)
    assert info["illegal"] == "action 0 is not legal: all 8 information tokens are there"
    with pytest.raises(IllegalActionError, match="expected a running game"):
        env.step(5)
    strict = HanabiEnv(illegal="raise")
    with pytest.raises(IllegalActionError, match="expected a running game"):
        strict.action_masks()
    strict.reset(seed=0)
    with pytest.raises(IllegalActionError, match="all 8 information tokens are there"):
        strict.step(0)
    with pytest.raises(IllegalActionError, match="from 0 to 19, got None"):
        strict.step(None)
    strict.step(5)


def test_the_board_is_rendered_as_the_seat_sees_it() -> None:
    env = HanabiEnv(seat=1, render_mode="ansi")
    env.reset(seed=0)
    assert "(you)" in env.render() and "??" in env.render()
    env = HanabiEnv()
    assert env.render() is None


def test_a_picture_shows_what_the_seat_sees_and_nothing_else() -> None:
    env: Any = HanabiEnv(seat=0, partners="random", render_mode="rgb_array")
    deck = np.repeat(np.arange(25), [3, 2, 2, 2, 1] * 5)
    other = deck.copy()
    other[:5], other[40:45] = deck[40:45], deck[:5]  # another hand of the seat
    more = deck.copy()
    more[5:10], more[40:45] = deck[40:45], deck[5:10]  # another hand of the partner
    pictures = []
    for each in (deck, other, more):
        env.reset(seed=0, options={"deck": each})
        pictures.append(env.render())
    assert all(p.dtype == np.uint8 and p.shape == pictures[0].shape for p in pictures)
    assert pictures[0].ndim == 3 and pictures[0].shape[2] == 3
    assert np.array_equal(pictures[0], pictures[1])
    assert not np.array_equal(pictures[0], pictures[2])
    env.step(0)  # illegal, which ends the game: its table can still be shown
    assert env.render().shape == pictures[0].shape


def test_human_rendering_prints_the_table_after_every_step(
    capsys: pytest.CaptureFixture[str],
) -> None:
    env: Any = gymnasium.make(ID, render_mode="human")
    env.reset(seed=0)
    assert "P0 you       ??" in capsys.readouterr().out
    env.step(5)
    printed = capsys.readouterr().out
    assert "P0 you       ??" in printed and "P1 " in printed
    assert env.render() is None and capsys.readouterr().out == ""


def test_without_pillow_there_is_an_environment_but_no_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    env = HanabiEnv(render_mode="rgb_array")
    env.reset(seed=0)
    with pytest.raises(UnsupportedError, match="a picture of the table needs Pillow"):
        env.render()


def test_an_agent_of_ours_plays_the_seat_for_several_episodes() -> None:
    env: Any = gymnasium.make(ID, partners="smartbot")
    agent = SeatAgent("smartbot", env.unwrapped.game.config, 0)
    scores = []
    for seed in range(3):
        observation, info = env.reset(seed=seed)
        over, score = False, 0.0
        while not over:
            action = agent.act(observation, info["action_mask"])
            observation, reward, over, _, info = env.step(action)
            score += reward
        scores.append(score)
    assert min(scores) >= 15


IN_ITS_MODULE = "hanabi_search_plugin:HanabiSearch/Hanabi-v0"


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("import gymnasium", f"{IN_ITS_MODULE[:20]}.wrappers.gymnasium{IN_ITS_MODULE[20:]}"),
        ("import gymnasium", IN_ITS_MODULE),
        ("import gymnasium, hanabi_search_plugin", ID),
        ("import hanabi_search_plugin, gymnasium", ID),
        ("import hanabi_search_plugin, gymnasium.spaces", ID),
        ("import gymnasium, hanabi_search_plugin as h; gymnasium.register_envs(h)", ID),
        ("import hanabi_search_plugin as h, gymnasium; gymnasium.register_envs(h)", ID),
        (
            "import hanabi_search_plugin, importlib.util; importlib.util.find_spec('gymnasium'); "
            "import gymnasium",
            ID,
        ),
    ],
)
def test_it_is_made_by_name_in_a_fresh_process(imports: str, name: str) -> None:
    code = (
        f"{imports}; env = gymnasium.make({name!r}, render_mode='ansi'); env.reset(seed=0); "
        "print(env.render())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "P0 to move" in done.stdout


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"seat": 2}, "seat must be from 0 to 1, got 2"),
        ({"encoding": "bits"}, "encoding must be one of openspiel, packed, v0, got 'bits'"),
        ({"illegal": "no"}, "illegal must be end or raise"),
        ({"render_mode": "window"}, "render_mode must be None or human, ansi, rgb_array, got 'win"),
        ({"partners": ("smartbot", "iggi")}, "partners must be one, or 1 of them, got 2"),
        ({"partners": "nobody"}, "policy must be one of"),
        ({"colours": 3}, "a parameter must be one of bomb.*, got 'colours': did you mean colors"),
        ({"partner": "iggi"}, "did you mean partners"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        HanabiEnv(**parameters)


@pytest.mark.parametrize("partners", [(3,), None])
def test_what_is_no_policy_is_no_partner(partners: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"expected a Policy.*, got a"):
        HanabiEnv(partners=partners)
