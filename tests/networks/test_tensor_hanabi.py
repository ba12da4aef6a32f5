"""Hanabi as tensors: rows, moves, rewards, observations and games of the native engine, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode

from hanabi_search_plugin import HanabiConfig, HanabiGame, UnsupportedError
from hanabi_search_plugin.core import rollout as lockstep
from hanabi_search_plugin.core.errors import IllegalActionError
from hanabi_search_plugin.core.game import SKIP, Event
from hanabi_search_plugin.core.policy import UniformPolicy, as_blueprint
from hanabi_search_plugin.core.rollout import action_values, rollout, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.bots.compiled import SmartBot
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import HANDS, NO_CARD
from hanabi_search_plugin.networks.architectures import make_network
from hanabi_search_plugin.networks.encodings.named_encodings import make_encoding
from hanabi_search_plugin.networks.network_policies import ON_GPU, NetworkPolicy
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.tensors.tensor_encoding import encoded, observation
from hanabi_search_plugin.networks.tensors.tensor_rollout import (
    TensorPlayers,
    play_out,
    rollout_on_device,
    uniform_moves,
)
from hanabi_search_plugin.networks.tensors.tensor_streams import TensorStreams
from hanabi_search_plugin.networks.tensors.tensor_worlds import TensorWorlds
from tests.helpers.hanabi_play import play_on, random_legal

TINY = HanabiConfig(colors=2, ranks=3, hand_size=2, information_tokens=3)
CONFIGS = [
    HanabiConfig(),
    HanabiConfig(players=3, hand_size=7, information_tokens=4, bomb="minus_one"),
    HanabiConfig(players=4, colors=3, ranks=2, hand_size=3, random_start_player=True),
    HanabiConfig(players=5, bomb="keep"),
    HanabiConfig(colors=1, ranks=1, hand_size=1, information_tokens=0, life_tokens=1),
    HanabiConfig(players=3, colors=5, ranks=1, hand_size=2, information_tokens=2),
    HanabiConfig(colors=1, ranks=5, hand_size=4, life_tokens=7),
]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> str:
    """Every device there is."""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU that PyTorch can use")
    return str(request.param)


def positions(config: HanabiConfig, each: int = 20) -> HanabiWorlds:
    """Worlds at all stages of random games, ended ones too."""
    rng = np.random.default_rng(0)
    game = HanabiGame(config)
    parts = [play_on(game.deal(rng, each), rng, moves).rows for moves in (0, 1, 5, 10, 20, 90)]
    return HanabiWorlds(game, np.concatenate(parts))


def network_of(name: str, config: HanabiConfig, device: str, **options: Any) -> Any:
    torch.manual_seed(0)
    network = make_network(name, config, options)
    for parameter in network.parameters():  # so that nothing is left at 0
        torch.nn.init.normal_(parameter, std=0.5)
    return network_policy(network, device=device)


def on(device: str, array: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


# ------------------------------------------------------------------------------------------ rules


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_games_are_those_of_the_engine_word_by_word(config: HanabiConfig, device: str) -> None:
    game, rng = HanabiGame(config), np.random.default_rng(1)
    worlds = game.deal(rng, 60)
    tensors = TensorWorlds.of(worlds, device)
    scored = np.zeros(60)
    for _ in range(game.max_length + 2):  # past the end nothing changes
        np.testing.assert_array_equal(tensors.legal.cpu(), worlds.legal)
        np.testing.assert_array_equal(tensors.current_player.cpu(), worlds.current_player)
        np.testing.assert_array_equal(tensors.terminal.cpu(), worlds.terminal)
        playing = np.flatnonzero(~worlds.terminal)
        actions = rng.integers(config.num_actions, size=60)
        part, before = worlds.select(playing), worlds.returns[:, 0]
        if len(playing):
            actions[playing] = random_legal(part, rng)
            part.step(actions[playing])
            worlds.rows[playing] = part.rows
            if len(playing) == 60:
                tensors.require_legal(on(device, actions))
        reward = tensors.step(on(device, actions)).cpu().numpy()
        np.testing.assert_array_equal(tensors.to_worlds().rows, worlds.rows)
        np.testing.assert_array_equal(reward, worlds.returns[:, 0] - before)
        np.testing.assert_array_equal(tensors.returns.cpu(), worlds.returns[:, 0])
        scored += reward
    assert worlds.terminal.all() and tensors.to_worlds().game == game
    np.testing.assert_array_equal(scored, worlds.returns[:, 0])


def test_games_of_any_configuration_are_those_of_the_engine(device: str) -> None:
    """Random ones, and what every seat sees of them on the way."""
    rng = np.random.default_rng(12)
    for _ in range(25):
        config = HanabiConfig(
            players=int(rng.integers(2, 6)),
            colors=int(rng.integers(3, 6)),
            ranks=int(rng.integers(2, 6)),
            hand_size=int(rng.integers(1, 4)),
            information_tokens=int(rng.integers(0, 10)),
            life_tokens=int(rng.integers(1, 5)),
            random_start_player=bool(rng.integers(2)),
            bomb=("zero", "keep", "minus_one")[rng.integers(3)],
        )
        worlds = HanabiGame(config).deal(rng, 8)
        tensors = TensorWorlds.of(worlds, device)
        while len(playing := np.flatnonzero(~worlds.terminal)):
            np.testing.assert_array_equal(tensors.legal.cpu(), worlds.legal)
            actions = np.zeros(8, dtype=np.int64)
            part = worlds.select(playing)
            actions[playing] = random_legal(part, rng)
            part.step(actions[playing])
            worlds.rows[playing] = part.rows
            tensors.step(on(device, actions))
            np.testing.assert_array_equal(tensors.to_worlds().rows, worlds.rows)
            np.testing.assert_array_equal(tensors.returns.cpu(), worlds.returns[:, 0])
            seat = int(rng.integers(config.players))
            seen = worlds.view(seat).observation("openspiel")
            np.testing.assert_array_equal(observation(tensors, seat).cpu(), seen)


def test_good_games_end_as_the_engine_s_do(device: str) -> None:
    """SmartBot's moves: hints and plays to the last card, and perfect games."""
    game, rng = HanabiGame(), np.random.default_rng(2)
    bots = as_blueprint(SmartBot(), 2)
    worlds = game.deal(rng, 40)
    tensors, streams = TensorWorlds.of(worlds, device), Streams.spawn(rng, 40)
    memories = start_memories(worlds, bots)
    while not worlds.terminal.all():
        actions = np.zeros(40, dtype=np.int64)
        playing = np.flatnonzero(~worlds.terminal)
        part = worlds.select(playing)
        mover = int(part.current_player[0])
        kept = tuple(memory[playing] for memory in memories)
        view = part.view(mover)
        actions[playing] = bots[mover].act(view, view.legal, kept[mover], streams.select(playing))
        part.step(actions[playing])
        event = Event(np.full(len(playing), mover), actions[playing])
        for seat, bot in enumerate(bots):
            memories[seat][playing] = bot.observe(part.view(seat), event, kept[seat])
        worlds.rows[playing] = part.rows
        tensors.step(on(device, actions))
        np.testing.assert_array_equal(tensors.to_worlds().rows, worlds.rows)
    assert tensors.returns.max() == 25


def test_an_illegal_action_is_told_where_one_asks(device: str) -> None:
    tensors = TensorWorlds.of(HanabiGame().deal(np.random.default_rng(0), 3), device)
    for wrong in (0, -1, 99):  # tokens are full: nothing can be discarded
        with pytest.raises(IllegalActionError, match=f"action {wrong} of world 1 is not"):
            tensors.require_legal(torch.tensor([5, wrong, 5], device=device))


# ------------------------------------------------------------------------------------------- chance


def test_streams_are_those_of_the_processor(device: str) -> None:
    plain = Streams.spawn(np.random.default_rng(3), 50)
    streams = TensorStreams.of(plain, device)
    for _ in range(3):
        np.testing.assert_array_equal(streams.uniform().cpu(), plain.uniform())
        np.testing.assert_array_equal(streams.bits().cpu(), plain.fork().state.view(np.int64))
    many = streams.many(4).cpu().numpy()
    for column in many.T:
        np.testing.assert_array_equal(column, plain.fork().state.view(np.int64))
    np.testing.assert_array_equal(streams.state.cpu(), plain.state.view(np.int64))
    drawn = TensorStreams.spawn(np.random.default_rng(0), 4000, device).below(5)
    assert drawn.unique(return_counts=True)[1].min() > 700


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_deals_are_shuffled_decks_of_the_game(config: HanabiConfig, device: str) -> None:
    game = HanabiGame(config)
    streams = TensorStreams.spawn(np.random.default_rng(4), 30, device)
    state = streams.state
    tensors = TensorWorlds.deal(game, streams)
    dealt = tensors.to_worlds()
    decks = dealt.rows[:, -config.deck_size :]
    native = game.from_decks(decks, dealt.current_player)  # which checks them
    np.testing.assert_array_equal(dealt.rows, native.rows)
    alone = TensorWorlds.deal(game, TensorStreams(state[7:8]))  # batches do not matter
    assert torch.equal(alone.words[:, 0], tensors.words[:, 7])
    again = TensorWorlds.deal(game, streams)
    assert config.max_score == 1 or not torch.equal(again.words, tensors.words)
    if config.random_start_player:
        assert len(set(dealt.current_player)) == config.players


def test_every_place_of_a_deck_gets_every_card_as_often(device: str) -> None:
    game, n = HanabiGame(TINY), 6000
    streams = TensorStreams.spawn(np.random.default_rng(5), n, device)
    decks = TensorWorlds.deal(game, streams).to_worlds().rows[:, -TINY.deck_size :]
    for card in range(6):
        share = TINY.copies[card % 3] / TINY.deck_size
        often = (decks == card).mean(axis=0)
        assert np.abs(often - share).max() < 4.5 * np.sqrt(share * (1 - share) / n)


def test_ended_games_begin_anew_and_the_others_go_on(device: str) -> None:
    game = HanabiGame(TINY)
    tensors = TensorWorlds.of(positions(TINY), device)
    before, ended = tensors.words.clone(), tensors.terminal
    streams = TensorStreams.spawn(np.random.default_rng(6), len(tensors), device)
    fresh = TensorWorlds.deal(game, TensorStreams(streams.state))
    state = streams.state.clone()
    tensors.restart(ended, streams)
    assert ended.any() and not ended.all() and not tensors.terminal.any()
    assert torch.equal(tensors.words[:, ~ended], before[:, ~ended])
    assert torch.equal(tensors.words[:, ended], fresh.words[:, ended])
    assert torch.equal(streams.state != state, ended)


# ---------------------------------------------------------------------------------------- encodings


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_observations_are_the_compiled_ones(config: HanabiConfig, device: str) -> None:
    worlds = positions(config)
    tensors = TensorWorlds.of(worlds, device)
    seats = on(device, np.arange(len(worlds)) % config.players)
    mixed = {name: encoded(make_encoding(name, config), tensors, seats) for name in NAMES}
    for seat in range(config.players):
        view, rows = worlds.view(seat), (seats == seat).cpu().numpy()
        seen = observation(tensors, seat).cpu().numpy()
        np.testing.assert_array_equal(seen, view.observation("openspiel"))
        for name in NAMES:
            encoding = make_encoding(name, config)
            expected = encoding.public(view), encoding.private(view)
            for part, one, other in zip(
                expected, encoded(encoding, tensors, seat), mixed[name], strict=True
            ):
                np.testing.assert_array_equal(one.cpu(), part, strict=True)
                np.testing.assert_array_equal(other.cpu()[rows], part[rows])


NAMES = ("v0-1", "status-1")


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_nothing_is_read_of_the_own_hand_and_the_deck(config: HanabiConfig, device: str) -> None:
    worlds, rng = positions(config), np.random.default_rng(7)
    tensors, deck = TensorWorlds.of(worlds, device), worlds.rows.shape[1] - config.deck_size
    for seat in range(config.players):
        other = worlds.rows.copy()
        other[:, deck:] = rng.integers(32, size=other[:, deck:].shape)
        hand = slice(HANDS + seat * config.hand_size, HANDS + (seat + 1) * config.hand_size)
        drawn = rng.integers(config.max_score, size=other[:, hand].shape)
        other[:, hand] = np.where(other[:, hand] == NO_CARD, NO_CARD, drawn)
        swapped = TensorWorlds.of(HanabiWorlds(worlds.game, other), device)
        assert torch.equal(observation(tensors, seat), observation(swapped, seat))
        for name in NAMES:
            encoding = make_encoding(name, config)
            pair = (encoded(encoding, each, seat) for each in (tensors, swapped))
            assert all(torch.equal(one, two) for one, two in zip(*pair, strict=True))
    if config.max_score > 1:  # what is swapped would be seen by somebody else
        assert not torch.equal(observation(tensors, 0), observation(swapped, 0))


# ----------------------------------------------------------------------------------------- rollouts

TEAMS = [
    *((name,) for name in ("masks", "public-belief", "public-lstm", "feed-forward", "recurrent")),
    ("masks", "public-lstm"),
]


def team_of(names: tuple[str, ...], config: HanabiConfig, device: str) -> tuple[Any, ...]:
    small = {"masks": {"hidden": 16, "context": 8, "scorer": 8}}
    made = [network_of(name, config, device, **small.get(name, {"hidden": 8})) for name in names]
    return tuple(made[seat % len(made)] for seat in range(config.players))


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("names", TEAMS, ids="-".join)
def test_networks_play_the_same_games(names: tuple[str, ...], players: int, device: str) -> None:
    """Greedy ones, from the first move and from the middle, with the memories of the middle."""
    config = HanabiConfig(
        players=players, colors=3, ranks=3, hand_size=3, life_tokens=9, random_start_player=True
    )
    game, rng = HanabiGame(config), np.random.default_rng(8)
    team = team_of(names, config, device)
    worlds, streams = game.deal(rng, 24), Streams.spawn(rng, 24)
    middle = rollout(worlds, team, start_memories(worlds, team), streams, depth=5)
    final = rollout(middle.worlds, team, middle.memories, middle.rng)
    tensors, chance = TensorWorlds.of(worlds, device), TensorStreams.of(streams, device)
    group = TensorPlayers(team, tensors)
    play_out(tensors, group, chance, moves=5)
    np.testing.assert_array_equal(tensors.to_worlds().rows[middle.alive], middle.worlds.rows)
    play_out(tensors, group, chance)
    np.testing.assert_array_equal(tensors.returns[middle.alive].cpu(), final.returns[:, 0])
    resumed = TensorWorlds.of(middle.worlds, device)
    group = TensorPlayers(team, resumed, middle.memories)
    play_out(resumed, group, TensorStreams.of(middle.rng, device), check_every=1)
    assert resumed.terminal.all() and len(set(final.returns[:, 0])) > 2
    np.testing.assert_array_equal(resumed.returns.cpu(), final.returns[:, 0])


def test_what_plays_by_chance_draws_the_same(device: str) -> None:
    game, rng = HanabiGame(TINY), np.random.default_rng(9)
    greedy = network_of("public-lstm", TINY, device, hidden=8)
    soft = network_policy(greedy.network, temperature=2.0, device=device)
    for team in ((UniformPolicy(),) * 2, (soft, soft), (soft, UniformPolicy()), (greedy, soft)):
        worlds, streams = game.deal(rng, 40), Streams.spawn(rng, 40)
        expected = rollout(worlds, team, start_memories(worlds, team), streams).returns[:, 0]
        tensors = TensorWorlds.of(worlds, device)
        play_out(tensors, TensorPlayers(team, tensors), TensorStreams.of(streams, device))
        np.testing.assert_array_equal(tensors.returns.cpu(), expected)


@pytest.mark.parametrize("depth", [None, 0, 4])
def test_a_search_gets_the_rollouts_that_it_gets_view_by_view(
    depth: int | None, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    game, rng = HanabiGame(TINY), np.random.default_rng(10)
    greedy = network_of("public-lstm", TINY, device, hidden=8)
    masks = network_of("masks", TINY, device, hidden=16, context=8, scorer=8)
    soft = network_policy(greedy.network, temperature=2.0, device=device)
    for team in ((greedy, greedy), (masks, soft), (soft, UniformPolicy())):
        worlds, streams = game.deal(rng, 30), Streams.spawn(rng, 30)
        state, rows = streams.state.copy(), worlds.rows.copy()
        memories = start_memories(worlds, team)
        ours = rollout_on_device(worlds, team, memories, streams, depth)
        np.testing.assert_array_equal(streams.state, state)
        np.testing.assert_array_equal(worlds.rows, rows)
        with monkeypatch.context() as patch:
            patch.setattr(NetworkPolicy, "rollout_batch", 0)  # view by view, on a GPU, too
            plain = rollout(worlds, team, memories, streams, depth=depth)
        assert ours is not None
        np.testing.assert_array_equal(ours.returns, plain.returns)
        np.testing.assert_array_equal(ours.alive, plain.alive)
        np.testing.assert_array_equal(ours.worlds.rows, plain.worlds.rows)
        np.testing.assert_array_equal(ours.rng.state, plain.rng.state)
        for one, other in zip(ours.memories, plain.memories, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_a_search_plays_on_where_the_networks_are(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Switched on by ``rollout_batch``, which says so on a GPU; its values are those of views."""
    game, rng = HanabiGame(TINY), np.random.default_rng(11)
    team = (network_of("public-lstm", TINY, device, hidden=8),) * 2
    assert team[0].rollout_batch == (0 if device == "cpu" else ON_GPU)
    worlds, streams = play_on(game.deal(rng, 20), rng, 2), Streams.spawn(rng, 20)
    memories = start_memories(worlds, team)
    actions = np.where(worlds.legal.T, np.arange(TINY.num_actions)[:, None], SKIP)
    batches = []
    deal = TensorWorlds.of.__func__

    def counted(kind: Any, worlds: Any, device: Any) -> Any:
        batches.append(len(worlds))
        return deal(kind, worlds, device)

    monkeypatch.setattr(TensorWorlds, "of", classmethod(counted))
    for depth in (None, 3):
        values = []
        for rollout_batch in (0, 10_000):
            monkeypatch.setattr(NetworkPolicy, "rollout_batch", rollout_batch)
            monkeypatch.setattr(lockstep, "LOCKSTEP", 20)
            values.append(action_values(worlds, actions, team, memories, 0, streams, depth=depth))
        np.testing.assert_allclose(values[1], values[0], rtol=1e-5, atol=1e-5)
    assert batches == [int(worlds.legal.sum())] * 2  # all together, without views alone


def test_what_cannot_play_is_refused(device: str) -> None:
    game = HanabiGame(TINY)
    tensors = TensorWorlds.deal(game, TensorStreams.spawn(np.random.default_rng(0), 2, device))
    with pytest.raises(UnsupportedError, match="got SmartBot"):
        TensorPlayers(SmartBot(), tensors)
    network = make_network("advised-masks", TINY, {"adviser": "smartbot"})
    advised = network_policy(network, device=device)
    with pytest.raises(UnsupportedError, match="got AdvisedPolicy"):
        TensorPlayers(advised, tensors)
    native = game.deal(np.random.default_rng(0), 2)
    for other in (UniformPolicy(), advised):  # nobody says where, or cannot
        rng = Streams(np.zeros(2, dtype=np.uint64))
        assert rollout_on_device(native, (other, other), (None, None), rng) is None
    with pytest.raises(UnsupportedError, match="games with colors 5"):
        TensorPlayers(network_of("feed-forward", HanabiConfig(), device, hidden=4), tensors)
    with pytest.raises(UnsupportedError, match="on meta cannot play worlds on"):
        policy = network_of("feed-forward", TINY, device, hidden=4)
        policy.network.to("meta")
        TensorPlayers(policy, tensors)
    minimal = HanabiGame(observation_type="minimal")
    with pytest.raises(UnsupportedError, match="observation_type"):
        observation(TensorWorlds.of(minimal.deal(np.random.default_rng(0), 1), device), 0)
    with pytest.raises(UnsupportedError, match="native Hanabi"):
        TensorWorlds.of(object(), device)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------ never to wait

WAITS = ("_local_scalar_dense", "is_nonzero", "nonzero", "masked_select", "bincount", "lift_fresh")


class Operations(TorchDispatchMode):
    """Counts operations, and refuses those for which a GPU makes the processor wait."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        assert name not in WAITS, f"{name} waits for the device"
        masks = [x for x in (args[1] if name == "index" else ()) if x is not None]
        assert all(mask.dtype != torch.bool for mask in masks), "a mask as index waits"
        self.count += not func.is_view
        return func(*args, **(kwargs or {}))


@contextmanager
def never_waiting(device: str) -> Iterator[Operations]:
    with Operations() as operations:
        if device == "cuda":
            torch.cuda.set_sync_debug_mode("error")
        try:
            yield operations
        finally:
            if device == "cuda":
                torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("players", [2, 5])
@pytest.mark.parametrize("device", ["cpu", "meta", "cuda"], indirect=True)
def test_nothing_waits_for_the_device(players: int, device: str) -> None:
    """A step of training: what is legal, what is seen, a move, a reward, games begun anew.

    On "meta" there are no numbers to be asked for, and nothing that is elsewhere is let in.
    """
    game = HanabiGame(players=players)
    # On a processor PyTorch asks what numbers it is to turn to one-hot, and masks do so.
    on_gpus = ("masks", "public-belief")[players % 2]
    names = ("recurrent", "public-lstm" if device == "cpu" else on_gpus)
    networks = [network_of(name, game.config, "cpu", hidden=8) for name in names]
    for policy in networks:
        policy.network.to(device)
    streams = TensorStreams.spawn(np.random.default_rng(0), 16, device)
    worlds = TensorWorlds.deal(game, streams)
    group = TensorPlayers((*networks, *networks, networks[0])[:players], worlds)
    group.observe(worlds)  # constants are made
    worlds.step(group.choose(worlds, streams))
    encodings = [make_encoding(name, game.config) for name in NAMES]
    for encoding in encodings:
        encoded(encoding, worlds, worlds.current_player)
    with never_waiting(device) as operations:
        actions = uniform_moves(worlds.legal, streams)
        before = operations.count
        worlds.step(actions)
        assert operations.count - before < 130  # each of which a GPU is told one by one
        worlds.restart(worlds.terminal, streams)
        for encoding in encodings:
            encoded(encoding, worlds, worlds.current_player)
        worlds.step(group.choose(worlds, streams))
        group.observe(worlds)
