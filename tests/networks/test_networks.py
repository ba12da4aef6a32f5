"""Networks: encodings against the engine's, the public split, architectures, policies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hanabi_search_plugin import HanabiConfig, HanabiGame, UnsupportedError
from hanabi_search_plugin.core.policy import take
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.bots.compiled import SmartBot
from hanabi_search_plugin.hanabi.engine.encoding import sections
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import HANDS, NO_CARD, PLAYED
from hanabi_search_plugin.networks.architectures import make_network
from hanabi_search_plugin.networks.encodings import status
from hanabi_search_plugin.networks.encodings.named_encodings import make_encoding
from hanabi_search_plugin.networks.nets.split_nets import Sequential
from hanabi_search_plugin.networks.network_policies import EstimatingPolicy
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.training.distillation_games import play_distillation_games
from hanabi_search_plugin.networks.training.distillation_losses import losses
from hanabi_search_plugin.testing import check_policy
from tests.helpers.hanabi_play import play_on, random_legal

TINY = HanabiConfig(colors=2, ranks=3, hand_size=2, information_tokens=3)
CONFIGS = [
    HanabiConfig(),
    HanabiConfig(players=3, hand_size=7, information_tokens=4),
    HanabiConfig(players=4, colors=3, ranks=2, hand_size=3, random_start_player=True),
]
NETWORKS: list[tuple[str, dict[str, Any]]] = [
    ("masks", {"hidden": 16, "context": 8, "scorer": 8}),
    ("public-belief", {"hidden": 16, "context": 8, "scorer": 8, "cell": 8}),
    ("public-lstm", {"hidden": 8}),
    (
        "public-lstm",
        {"hidden": 8, "encoding": "status-1", "fuse": "concatenate", "private_sees": "private"},
    ),
    ("feed-forward", {"hidden": 8}),
    ("recurrent", {"hidden": 8, "lstm_layers": 1}),
]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def positions(config: HanabiConfig) -> HanabiWorlds:
    """Worlds at all stages of random games, ended ones too."""
    rng = np.random.default_rng(0)
    game = HanabiGame(config)
    parts = [play_on(game.deal(rng, 20), rng, moves).rows for moves in (0, 1, 5, 10, 20, 90)]
    return HanabiWorlds(game, np.concatenate(parts))


def given(encoding: Any, view: Any) -> tuple[Any, Any]:
    """Both parts as tensors."""
    return torch.from_numpy(encoding.public(view)), torch.from_numpy(encoding.private(view))


def network_of(name: str, options: dict[str, Any], config: HanabiConfig = TINY) -> Any:
    torch.manual_seed(0)
    network = make_network(name, config, options)
    for parameter in network.parameters():  # nothing is left at 0, so that everything counts
        torch.nn.init.normal_(parameter, std=0.5)
    return network.eval()


# -------------------------------------------------------------------------------------- encodings


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_v0_is_that_of_the_engine_and_its_public_part_all_but_the_hands(
    config: HanabiConfig,
) -> None:
    worlds, encoding = positions(config), make_encoding("v0-1", config)
    hands = sections(config)["hands"].stop
    for player in range(config.players):
        view = worlds.view(player)
        expected = view.observation("v0")
        public, private = given(encoding, view)
        whole = encoding.expand_private(public, private)
        assert whole.dtype == torch.float32 and whole.shape[1] == encoding.private_size
        np.testing.assert_allclose(whole.numpy(), expected, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(encoding.expand_public(public), whole[:, hands:])
        np.testing.assert_array_equal(whole[:, encoding.alone], expected[:, :hands])


@pytest.mark.parametrize("name", ["v0-1", "status-1"])
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_the_public_part_follows_from_what_everybody_sees(config: HanabiConfig, name: str) -> None:
    worlds, encoding = positions(config), make_encoding(name, config)
    rng = np.random.default_rng(1)
    other = worlds
    for player in range(config.players):  # every hand drawn anew, by what its holder knows
        other = worlds.game.redeterminize(other, player, Streams.spawn(rng, len(worlds)))
    assert (other.rows != worlds.rows).any()
    for player in range(config.players):
        public = encoding.public(worlds.view(player))
        np.testing.assert_array_equal(public, encoding.public(other.view(player)))
        if not encoding.seat_relative:
            np.testing.assert_array_equal(public, encoding.public(worlds.view(0)))


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_the_public_part_of_v0_is_the_same_for_all_seats_up_to_their_order(
    config: HanabiConfig,
) -> None:
    worlds, encoding = positions(config), make_encoding("v0-1", config)
    parts = sections(config)
    before = parts["hands"].stop
    seen = [
        encoding.expand_public(torch.from_numpy(encoding.public(worlds.view(p)))).numpy()
        for p in range(config.players)
    ]
    for player, own in enumerate(seen):
        for name in ("deck", "fireworks", "information_tokens", "life_tokens", "discards"):
            at = slice(parts[name].start - before, parts[name].stop - before)
            np.testing.assert_array_equal(own[:, at], seen[0][:, at])
        at = slice(parts["knowledge"].start - before, parts["knowledge"].stop - before)
        cards = own[:, at].reshape(len(own), config.players, -1)
        first = seen[0][:, at].reshape(len(own), config.players, -1)
        np.testing.assert_array_equal(np.roll(cards, player, axis=1), first)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_statuses_of_identities(config: HanabiConfig) -> None:
    worlds = positions(config)
    public = make_encoding("status-1", config).public(worlds.view(0))
    seen = status.table(config, torch.from_numpy(public))
    found = status.statuses(config, seen.left, seen.played).numpy()
    for row, left, planes in zip(worlds.rows, seen.left.numpy(), found, strict=True):
        for color in range(config.colors):
            first = color * config.ranks
            height = sum(int(row[PLAYED]) >> (first + r) & 1 for r in range(config.ranks))
            for rank in range(config.ranks):
                dead = any(left[first + r] == 0 for r in range(height, rank))
                worthless = rank < height or dead
                critical = left[first + rank] == 1 and not worthless
                expected = [rank == height, worthless, critical]
                assert planes[:, first + rank].tolist() == expected


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_private_parts_show_the_others_cards_alone(config: HanabiConfig) -> None:
    worlds, size = positions(config), config.hand_size
    for player in range(config.players):
        cards = make_encoding("status-1", config).private(worlds.view(player))
        truth = worlds.rows[:, HANDS : HANDS + config.players * size].copy()
        truth[:, player * size : (player + 1) * size] = NO_CARD
        np.testing.assert_array_equal(cards, truth)


# ------------------------------------------------------------------------------------------ masks


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_masks_that_learned_nothing_hold_what_hints_and_counting_leave(
    config: HanabiConfig,
) -> None:
    """They never exclude a true card, and are no wider than the hints."""
    game, rng = HanabiGame(config), np.random.default_rng(2)
    policy = network_policy(make_network("masks", config, {"hidden": 8, "context": 8, "scorer": 8}))
    worlds = game.deal(rng, 30)
    memory = policy.start(worlds.view(0))
    while len(worlds):
        event = worlds.step(random_legal(worlds, rng))
        on = np.flatnonzero(~worlds.terminal)
        worlds, memory = worlds.select(on), take(memory, on)
        if len(on) == 0:
            break
        event = event.select(on)
        after = policy.observe(worlds.view(0), event, memory)
        np.testing.assert_array_equal(after, policy.observe(worlds.view(1), event, memory))
        memory = after
        cards = worlds.rows[:, HANDS : HANDS + config.players * config.hand_size]
        held = cards != NO_CARD
        assert ((memory >> np.where(held, cards, 0) & 1) == 1)[held].all()
        assert (memory[~held] == 0).all()
        public = torch.from_numpy(policy.network.encoding.public(worlds.view(0)))
        hinted = status.pack(status.table(config, public).hinted > 0).flatten(1).numpy()
        assert ((memory & ~hinted) == 0).all()


# ----------------------------------------------------------------------------------- architectures


@pytest.mark.parametrize(("name", "options"), NETWORKS)
def test_a_network_keeps_the_contract_of_policies(name: str, options: dict[str, Any]) -> None:
    network, game = network_of(name, options), HanabiGame(TINY)
    check_policy(game, network_policy(network), games=2)
    check_policy(game, network_policy(network, temperature=2.0), games=1)


@pytest.mark.parametrize(("name", "options"), NETWORKS)
def test_what_is_learned_from_is_what_was_played_by(name: str, options: dict[str, Any]) -> None:
    """The logits of the losses are those that chose the moves, whole sequences at once or not."""
    for players in (2, 3):
        config = HanabiConfig(players=players, colors=2, ranks=3, hand_size=2)
        network = network_of(name, options, config)
        rng = np.random.default_rng(3)
        games = play_distillation_games(
            HanabiGame(config), SmartBot(), network_policy(network), 12, 0.0, rng
        )
        games.teacher_probs[:] = np.eye(config.num_actions)[games.played]
        whole = np.arange(12 if isinstance(network, Sequential) else len(games))
        assert losses(network, games, whole, 1.0, rng)["accuracy"] == 1.0


def test_a_public_network_says_what_moves_are_worth() -> None:
    rng = np.random.default_rng(4)
    worlds = play_on(HanabiGame(TINY).deal(rng, 30), rng, 4)
    worlds = worlds.select(np.flatnonzero(worlds.current_player == 0))
    view, policy = worlds.view(0), network_policy(network_of("masks", {"hidden": 8, "scorer": 8}))
    assert isinstance(policy, EstimatingPolicy)
    memory = policy.start(view)
    worth = policy.estimates(view, view.legal, memory)
    with torch.no_grad():
        seen = given(policy.network.encoding, view)
        output = policy.network.decide(*seen, torch.from_numpy(memory))
    advantage = np.where(view.legal, output.advantage.numpy(), 0.0)
    base = output.value.numpy() - advantage.mean(axis=1) + np.bitwise_count(worlds.rows[:, PLAYED])
    np.testing.assert_allclose(worth, base[:, None] + advantage, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(policy.proposed(view, view.legal, memory), view.legal)
    private = network_policy(network_of("public-lstm", {"hidden": 8}))
    assert not isinstance(private, EstimatingPolicy)  # its memory is in the order of the seat


@pytest.mark.parametrize(("name", "options"), NETWORKS)
def test_a_value_is_q_of_the_move_played_and_the_value_head_elsewhere(
    name: str, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(6)
    game = HanabiGame(TINY)
    parts = [play_on(game.deal(rng, 20), rng, moves).rows for moves in (3, 4, 30)]
    worlds = HanabiWorlds(game, np.concatenate(parts))  # some have ended
    network, playing = network_of(name, options), worlds.current_player
    assert {-1, 0, 1} <= set(playing.tolist())
    for temperature in (0.0, 1.0):
        policy = network_policy(network, temperature=temperature)
        for seat in (0, 1):
            view = worlds.view(seat)
            memory = policy.start(view)
            said = policy.value(view, memory)
            with torch.no_grad():
                given_memory = torch.zeros(len(view), 0) if memory is None else memory
                seen = given(network.encoding, view)
                output = network.decide(*seen, torch.as_tensor(given_memory))
                q = output.q(torch.from_numpy(view.legal)).numpy()
            chance = np.zeros(q.shape)
            mine = playing == seat
            own, kept = view.select(mine), take(memory, mine)
            chance[mine] = policy.probabilities(own, own.legal, kept)
            expected = np.where(mine, (chance * q).sum(axis=1), output.value.numpy())
            expected[playing < 0] = 0.0
            np.testing.assert_allclose(said, expected, rtol=1e-4, atol=1e-4)
            assert len(policy.value(view.select([]), take(memory, np.arange(0)))) == 0


def test_a_watching_seat_of_masks_sees_the_hand_of_the_one_to_move() -> None:
    """Its value follows the others' cards, whoever is to move, and whose turn it is."""
    policy = network_policy(network_of("masks", {"hidden": 8, "scorer": 8}, CONFIGS[1]))
    worlds = HanabiGame(CONFIGS[1]).deal(np.random.default_rng(7), 50)
    assert (worlds.current_player == 0).all()
    for seat in (0, 1, 2):
        view = worlds.view(seat)
        memory = policy.start(view)
        said = policy.value(view, memory)
        for player in (0, 1, 2):
            other = worlds.game.redeterminize(worlds, player, Streams(np.arange(50, dtype="u8")))
            same = policy.value(other.view(seat), memory)
            assert (same == said).all() == (player == seat)


def test_a_network_refuses_another_game() -> None:
    policy = network_policy(network_of("feed-forward", {"hidden": 8}))
    view = HanabiGame().deal(np.random.default_rng(0), 1).view(0)
    with pytest.raises(UnsupportedError, match="games with colors 2 cannot play one with 5"):
        policy.act(view, view.legal, None, Streams(np.zeros(1, dtype=np.uint64)))
