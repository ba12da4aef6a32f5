"""Critics: what they read, where a search asks them, what they learn, and their files."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file
from typer.testing import CliRunner

from hanabi_search_plugin import (
    HanabiConfig,
    HanabiGame,
    evaluate,
    load_policy,
    upgrade,
)
from hanabi_search_plugin.algorithms import JointSparta, Sparta
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.errors import ConfigError, UnsupportedError
from hanabi_search_plugin.core.rollout import remaining_return, rollout
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import NO_CARD, PLAYED
from hanabi_search_plugin.networks.architectures import make_network
from hanabi_search_plugin.networks.checkpoint import load_network, save_network
from hanabi_search_plugin.networks.encodings import seat_table
from hanabi_search_plugin.networks.encodings.mask_features import HEADER
from hanabi_search_plugin.networks.nets.critic_net import Critic, Positions
from hanabi_search_plugin.networks.network_policies import NetworkPolicy
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.starting_weights import load_starting_weights
from hanabi_search_plugin.networks.training.critic_training import (
    CriticRun,
    measured,
    targets,
)
from hanabi_search_plugin.networks.training.exploration_games import (
    ExplorationGames,
    play_exploration_games,
)
from hanabi_search_plugin.networks.training.training_run import METRICS, MODEL, STATE
from hanabi_search_plugin.networks.training.training_settings import CriticSettings
from tests.helpers.hanabi_play import play_on

TINY = HanabiConfig(colors=2, ranks=3, hand_size=2, information_tokens=3)
SMALL = {"hidden": 16, "context": 8, "scorer": 8}
CONFIGS = [
    HanabiConfig(),
    HanabiConfig(players=3, hand_size=7, information_tokens=4),
    HanabiConfig(players=4, colors=3, ranks=2, hand_size=3, random_start_player=True),
]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def network(config: HanabiConfig = TINY, name: str = "masks", **options: Any) -> Any:
    torch.manual_seed(0)
    made = make_network(name, config, options or SMALL)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return made.eval()


def positions(config: HanabiConfig) -> HanabiWorlds:
    """Worlds at all stages of random games that are not over."""
    rng = np.random.default_rng(0)
    game = HanabiGame(config)
    parts = [play_on(game.deal(rng, 20), rng, moves).rows for moves in (0, 1, 5, 10, 20)]
    worlds = HanabiWorlds(game, np.concatenate(parts))
    return worlds.select(np.flatnonzero(~worlds.terminal))


def masks_at(worlds: HanabiWorlds) -> Any:
    """Some masks for each card, as a memory might hold them."""
    config, rng = worlds.game.config, np.random.default_rng(1)
    shape = (len(worlds), config.players * config.hand_size)
    return rng.integers(0, 1 << (config.colors * config.ranks), shape).astype(np.int32)


# ------------------------------------------------------------------------------- what it reads


@pytest.mark.parametrize("config", CONFIGS)
def test_a_critic_reads_what_every_seat_sees_from_the_one_to_move_on(config: HanabiConfig) -> None:
    worlds, critic, net = positions(config), Critic(config), network(config)
    masks = masks_at(worlds)
    found = critic.features(critic.positions(net, worlds, masks))
    board, end = net.board_size, net.table_size - (config.players - 1)
    encoding, mover = net.encoding, worlds.current_player
    for place in range(config.players):
        seat = (mover + place) % config.players
        views = [worlds.view(p) for p in range(config.players)]
        private = np.stack([encoding.private(view) for view in views])[seat, np.arange(len(seat))]
        given = (encoding.public(views[0]), private, masks)
        table = seat_table.by_tensors(config, *map(torch.from_numpy, given)).features
        here, found = found.tensor_split([end - (board if place else 0)], 1)
        torch.testing.assert_close(here, table[:, board if place else 0 : end], rtol=0, atol=1e-6)
    assert found.shape[1] == 0


def test_one_world_alone_reads_as_among_others() -> None:
    config = HanabiConfig()
    worlds, critic = positions(config), Critic(config)
    whole = critic.positions(network(config), worlds, masks_at(worlds))
    together = critic.features(whole)
    for b in range(0, len(worlds), 9):
        alone = critic.features(whole.select(np.array([b])))
        assert torch.equal(alone[0], together[b])


def test_networks_without_masks_are_read_by_what_hints_leave() -> None:
    worlds, critic = positions(TINY), Critic(TINY)
    read = critic.positions(network(name="feed-forward", hidden=8), worlds, None)
    for b in range(len(worlds)):
        for player in range(TINY.players):
            for slot in range(TINY.hand_size):
                word = int(read.public[b, len(HEADER) + player * TINY.hand_size + slot])
                held = read.hands[b, player * TINY.hand_size + slot]
                expected = sum(
                    1 << (color * TINY.ranks + rank)
                    for color in range(TINY.colors)
                    for rank in range(TINY.ranks)
                    if word >> color & 1 and word >> (5 + rank) & 1 and held != NO_CARD
                )
                assert read.masks[b, player * TINY.hand_size + slot] == expected


# ---------------------------------------------------------------------------- where it is asked


class Constant(Critic):
    """Says the same of all worlds."""

    def values(self, positions: Positions) -> Any:
        return np.full(len(positions), 1.25)


def test_a_cut_rollout_ends_in_the_critics_word_where_its_policy_plays_all_seats() -> None:
    game = HanabiGame(TINY)
    worlds = positions(TINY)
    plain = network_policy(network())
    judged = network_policy(network(), critic=Constant(TINY))
    memories = (masks_at(worlds),) * 2
    assert (remaining_return(worlds, (judged, judged), memories, 0) == 1.25).all()
    own = remaining_return(worlds, (plain, plain), memories, 0)
    other = network_policy(network(), critic=Constant(TINY))
    assert (remaining_return(worlds, (judged, other), memories, 0) == own).all()
    ended = HanabiWorlds(game, play_on(game.deal(np.random.default_rng(0), 3),
                                       np.random.default_rng(1), 90).rows)  # fmt: skip
    blank = (np.zeros((3, 4), np.int32),) * 2
    assert (judged.world_value(ended, blank, 0) == 0).all()


def test_play_by_chance_has_no_critic_nor_has_a_network_without_one() -> None:
    critic = Constant(TINY)
    assert network_policy(network(), critic=critic).critic_id != ""
    by_chance = network_policy(network(), critic=critic, temperature=0.5)
    assert by_chance.critic_id == network_policy(network()).critic_id == ""
    with pytest.raises(UnsupportedError, match="has no critic"):
        by_chance.world_value(positions(TINY), (None, None), 0)


def test_games_say_which_critic_they_asked_and_only_then(tmp_path: Path) -> None:
    game, policy = HanabiGame(TINY), network_policy(network(), critic=Constant(TINY))
    told = []
    for depth in (None, 1):
        search = Sparta(rollouts=40, min_rollouts=2, depth=depth)
        agent = upgrade(policy, game, search)
        result = evaluate(game, (policy, agent), games=1, seed=0)
        told.append(result.parameters["critics"])
    together = upgrade(policy, game, JointSparta(rollouts=40, min_rollouts=2, depth=1))
    told.append(evaluate(game, together, games=1, seed=0).parameters["critics"])
    assert told == [None, [policy.critic_id] * 2, [policy.critic_id] * 4]  # of each searcher
    assert policy.critic_id not in json.dumps(result.parameters["policies"])


# ---------------------------------------------------------------------------- what it learns from


class Recorder(Critic):
    """Keeps the worlds that it was shown, turn by turn."""

    def __init__(self) -> None:
        super().__init__(TINY)
        self.shown: list[tuple[HanabiWorlds, Any]] = []

    def positions(self, net: Any, worlds: HanabiWorlds, memory: Any) -> Positions:
        self.shown.append((worlds.select(np.arange(len(worlds))), memory.copy()))
        return super().positions(net, worlds, memory)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_what_came_after_is_what_the_policy_makes_of_the_position(noise: float) -> None:
    """From each position that is kept, the policy plays to the very end that was written down."""
    game, policy, critic = HanabiGame(TINY), network_policy(network()), Recorder()
    played = play_exploration_games(game, policy, critic, 60, noise, np.random.default_rng(3))

    def decks(worlds: HanabiWorlds) -> list[tuple[int, ...]]:
        return [tuple(row[-TINY.deck_size :]) for row in worlds.rows.tolist()]

    number = {deck: i for i, deck in enumerate(decks(critic.shown[0][0]))}
    assert len(number) == 60  # no game ends at its first move
    ends, shown = {}, {}
    for turn, (worlds, memory) in enumerate(critic.shown):
        rng = Streams(np.zeros(len(worlds), dtype=np.uint64))
        ended = rollout(worlds, (policy,) * 2, (memory,) * 2, rng).returns[:, 0]
        for b, deck in enumerate(decks(worlds)):
            ends[number[deck], turn] = ended[b]
            shown[number[deck], turn] = worlds.select(np.array([b]))
    for n in range(len(played)):
        at = int(played.game[n]), int(played.turn[n])
        score = int(np.bitwise_count(shown[at].rows[0, PLAYED]))
        assert played.return_to_go[n] == ends[at] - score
        assert played.scores[at[0]] == ends[at]
        if played.lost[at[0]]:
            assert ends[at] == 0
        if played.since[n] > 0 and (at[0], at[1] - 1) in ends:
            before = np.flatnonzero((played.game == at[0]) & (played.turn == at[1] - 1))
            assert played.since[before].tolist() == [played.since[n] - 1]
    assert len(played) > 100 and {-1, 0} <= set(played.since.tolist()) and played.lost.any()


def test_returns_of_td_by_hand() -> None:
    """Two positions of one game and one of another."""

    class Says(Critic):
        def predictions(self, positions: Positions) -> Any:
            return np.array([3.0, 2.0, 1.0]), np.array([0.5, 0.25, 0.0])

    worlds = positions(TINY).select(np.arange(3))
    critic = Says(TINY)
    read = critic.positions(network(), worlds, masks_at(worlds))
    read.public[:, HEADER.index(PLAYED)] = [0b0, 0b1, 0b11]  # scores of 0, 1 and 2
    played = ExplorationGames(
        positions=read,
        game=np.array([0, 0, 1]), turn=np.array([4, 5, 5]), since=np.array([0, 1, -1]),
        seat_values=np.zeros((3, 2)), scores=np.array([5.0, 0.0]), lost=np.array([False, True]),
    )  # fmt: skip
    points, lost = targets(critic, played, 0.25)
    # The last position of a game learns its end; the one before a mix of that and the next's word.
    assert points == pytest.approx([0.75 * (1 + 2.0) + 0.25 * 5 - 0, 5 - 1, 0 - 2])
    assert lost == pytest.approx([0.75 * 0.25 + 0.25 * 0, 0, 1])
    assert critic.values(read) == pytest.approx([0.5 * 3 - 0, 0.75 * 2 - 0.25 * 1, 1.0])


SETTINGS = {
    "config": TINY, "options": {"hidden": 32, "deeper": 16}, "iterations": 3, "games": 60,
    "batch": 64, "rate": 4e-3,
}  # fmt: skip


@pytest.fixture(scope="module")
def whose(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network's file."""
    path = tmp_path_factory.mktemp("whose") / "network.safetensors"
    save_network(path, network(), {"seed": 3})
    return path


def test_a_critic_learns_and_the_policy_stays_as_it_is(whose: Path, tmp_path: Path) -> None:
    run = CriticRun(CriticSettings(policy=str(whose), **SETTINGS | {"iterations": 30}), tmp_path)
    run.finish()
    loaded, before = load_network(tmp_path / MODEL), load_network(whose)
    assert loaded.critic is not None and loaded.critic_training["done"] == 30
    assert loaded.training == before.training == {"seed": 3} and before.critic is None
    for name, tensor in before.network.state_dict().items():
        assert torch.equal(loaded.network.state_dict()[name], tensor)
    policy = load_policy(f"network:file={tmp_path / MODEL}", HanabiGame(TINY))
    assert isinstance(policy, NetworkPolicy) and policy.critic_id
    assert policy.digest == load_policy(f"network:file={whose}", HanabiGame(TINY)).digest
    found = measured(HanabiGame(TINY), policy, loaded.critic, 400, 0.02, 9)["all"]
    for name in ("error", "soon_error", "own_error"):
        assert found["critic"][name] < 0.95 * found["constant"][name]
    # Who goes on from such a file takes over the network alone: it will play another way.
    load_starting_weights(make_network("masks", TINY, SMALL), str(tmp_path / MODEL))


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(whose: Path, tmp_path: Path) -> None:
    settings = CriticSettings(policy=str(whose), **SETTINGS)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    CriticRun(settings, whole).finish()
    CriticRun(settings, parts).iterate()
    CriticRun(settings, parts).finish()
    for name in (STATE, MODEL):
        one, other = load_file(whole / name), load_file(parts / name)
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one)
    save_network(whose.parent / "other", network(hidden=8, context=8, scorer=8), {})
    with pytest.raises(ConfigError, match="goes on with its settings: policy is"):
        CriticRun(CriticSettings(policy=str(whose.parent / "other"), **SETTINGS), parts)


def test_the_command(whose: Path, tmp_path: Path) -> None:
    game = ["--colors", "2", "--ranks", "3", "--hand-size", "2", "--information-tokens", "3"]
    small = ["--iterations", "1", "--games", "10", "--evaluation-games", "20"]
    run = CliRunner().invoke(
        app, ["train", "critic", "--policy", str(whose), "--out", str(tmp_path), *game, *small]
    )
    assert run.exit_code == 0, run.output
    assert "the critic: " in run.output and "the mean at each turn: " in run.output
    (told,) = re.findall("play it: hanabi-search (.*)", run.output)
    played = CliRunner().invoke(app, [*shlex.split(told), "--games", "1", "--rollouts", "20"])
    assert played.exit_code == 0, (played.output, played.exception)
    row = json.loads((tmp_path / METRICS).read_text())
    assert row["iteration"] == 1 and row["own_error"] > 0
    for arguments, reason in (
        (
            ["--policy", "smartbot", *game],
            "got smartbot, .*`hanabi-search train distill --policy smartbot`",
        ),
        (["--policy", str(whose.parent), *game], "a folder: a run .* has .*/model.safetensors"),
        (["--policy", str(whose)], "expected a game with colors 2, .* got 5.* --colors 2 "),
        (
            ["--policy", str(whose), *game, "--set", "depth=1"],
            "options of a critic are hidden, deeper",
        ),
        (["--policy", str(whose), *game, "--noise", "2"], "noise must be from 0 to 1, got 2"),
    ):
        refused = CliRunner().invoke(app, ["train", "critic", "--out", str(tmp_path), *arguments])
        assert refused.exit_code == 2 and re.search(reason, " ".join(refused.output.split()))


def test_equal_rows_are_remembered_once() -> None:
    """What a batch with repeated rows makes of its memories is what each row makes alone."""
    policy = network_policy(network())
    worlds = positions(TINY)
    rows = np.random.default_rng(0).integers(0, 5, 60)
    many, memory = worlds.select(rows), masks_at(worlds)[rows]
    found = policy.observe(many.view(0), None, memory)
    for b in range(60):
        alone = many.select(np.array([b])).view(0)
        one = network_policy(network()).observe(alone, None, memory[[b]])
        assert (found[b] == one[0]).all()
