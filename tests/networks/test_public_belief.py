"""The network with a learned public belief: what it may see, its filter by hand, that it learns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from typer.testing import CliRunner

from hanabi_search_plugin import ConfigError, HanabiConfig, HanabiGame
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import HANDS
from hanabi_search_plugin.networks.architectures import make_network
from hanabi_search_plugin.networks.encodings import card_beliefs, status
from hanabi_search_plugin.networks.encodings.belief_parts import AGE, EVER, SINCE, UNITS
from hanabi_search_plugin.networks.policy_of_network import network_policy
from hanabi_search_plugin.networks.tensors.simulator import EngineGames
from hanabi_search_plugin.networks.training.distillation import distill
from hanabi_search_plugin.networks.training.ppo import lambda_returns, memories_before
from hanabi_search_plugin.networks.training.self_play import SelfPlayRun
from hanabi_search_plugin.networks.training.selfplay_games import Collector, Segment
from hanabi_search_plugin.networks.training.training_settings import Distillation, SelfPlay
from tests.helpers.hanabi_play import random_legal

SIZES = {"hidden": 16, "context": 8, "scorer": 8, "cell": 8}
TINY = HanabiConfig(colors=2, ranks=3, hand_size=2, information_tokens=3)
CONFIGS = [
    HanabiConfig(),
    TINY,
    HanabiConfig(players=3, hand_size=7, information_tokens=4),
    HanabiConfig(players=4, colors=3, ranks=2, hand_size=3, random_start_player=True),
    HanabiConfig(players=5),
    HanabiConfig(colors=1, ranks=1, hand_size=1),
]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def network_of(config: HanabiConfig, spread: float = 0.3) -> Any:
    """Nothing is left at 0, so that everything counts."""
    torch.manual_seed(0)
    network = make_network("public-belief", config, SIZES)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=spread)
    return network.eval()


class Followed:
    """Random games, the network's memory of them, before and after the last event."""

    def __init__(self, network: Any, worlds: HanabiWorlds, moves: int) -> None:
        self.network, self.worlds = network, worlds
        self.rng = np.random.default_rng(1)
        self.memory = network.blank(len(worlds))
        self.before = self.memory
        self._look()
        for _ in range(moves):
            self.step(random_legal(self.worlds, self.rng))

    def _look(self) -> None:
        self.before = self.memory
        self.memory = self.network.remember(self.public, self.memory)

    def step(self, actions: Any) -> None:
        alive = np.flatnonzero(~self.worlds.terminal)
        self.worlds, self.memory = self.worlds.select(alive), self.memory[alive]
        self.worlds.step(np.asarray(actions)[alive])
        self._look()

    @property
    def public(self) -> Any:
        return torch.from_numpy(self.network.encoding.public(self.worlds.view(0)))

    def private(self, seat: int) -> Any:
        return torch.from_numpy(self.network.encoding.private(self.worlds.view(seat)))

    @property
    def privates(self) -> Any:
        return torch.stack([self.private(seat) for seat in range(self.network.config.players)])

    def cards(self, memory: Any) -> Any:
        """[B, P, H, X]"""
        config = self.network.config
        shape = (-1, config.players, config.hand_size, card_beliefs.size(config))
        return memory.reshape(shape).numpy()

    def decide(self, seat: int) -> Any:
        with torch.no_grad():
            return self.network.decide(self.public, self.private(seat), self.memory)


def followed(config: HanabiConfig, moves: int, games: int = 40) -> Followed:
    game = HanabiGame(config)
    return Followed(network_of(config), game.deal(np.random.default_rng(0), games), moves)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_every_game_has_numbers(config: HanabiConfig) -> None:
    play = followed(config, 0)
    for _ in range(12):
        for seat in range(config.players):
            output = play.decide(seat)
            assert output.logits.shape == (len(play.worlds), play.worlds.game.num_actions)
            for part in (output.logits, output.advantage, output.value):
                assert torch.isfinite(part).all()
        assert play.memory.dtype == torch.int16
        if play.worlds.terminal.all():
            break
        play.step(random_legal(play.worlds, play.rng))
    loss, figures = play.network.belief_loss(play.public, play.privates, play.before)
    assert torch.isfinite(loss) and torch.isfinite(figures["belief_before"])
    mover = torch.from_numpy(play.worlds.current_player).clamp(min=0)
    mine = play.privates[mover, torch.arange(len(mover))]
    prepared = play.network.prepare(play.public, mine, play.memory)
    central = play.network.central(play.public[None], play.privates, prepared, mover)
    assert central.shape == (len(mover), play.network.central_numbers)


# -------------------------------------------------------------------------------- no peeking


@pytest.mark.parametrize("config", CONFIGS[:4], ids=str)
def test_a_seat_reads_what_it_sees_and_no_more(config: HanabiConfig) -> None:
    """Own cards and the deck drawn anew change nothing; the others' change logits, not memories."""
    play = followed(config, 5)
    game, streams = play.worlds.game, Streams.spawn(play.rng, len(play.worlds))
    if (play.worlds.terminal).all():
        pytest.skip("the game is over")
    for seat in range(config.players):
        whole = play.decide(seat)
        kept, original = play.memory, play.worlds
        play.worlds = game.redeterminize(original, seat, streams)
        assert (play.worlds.rows != original.rows).any()
        again = play.decide(seat)
        assert torch.equal(again.logits, whole.logits) and torch.equal(again.value, whole.value)
        assert torch.equal(again.advantage, whole.advantage)
        assert torch.equal(play.network.remember(play.public, play.before), kept)
        other = (seat + 1) % config.players
        play.worlds = game.redeterminize(original, other, streams)
        moved = (play.worlds.rows[:, HANDS:] != original.rows[:, HANDS:]).any(1)
        assert torch.equal(play.network.remember(play.public, play.before), kept)
        assert not torch.equal(play.decide(seat).logits[moved], whole.logits[moved])
        play.worlds = original


def test_a_critic_sees_the_own_hand() -> None:
    """What no player may, and no saved network does."""
    play = followed(TINY, 3)
    mover = torch.from_numpy(play.worlds.current_player)

    def central() -> Any:
        mine = play.privates[mover, torch.arange(len(mover))]
        prepared = play.network.prepare(play.public, mine, play.memory)
        return play.network.central(play.public[None], play.privates, prepared, mover)

    before = central()
    streams = Streams.spawn(play.rng, len(play.worlds))
    for seat in range(2):
        play.worlds = play.worlds.game.redeterminize(play.worlds, seat, streams)
    assert not torch.equal(before, central())


# ----------------------------------------------------------------------------------- the filter


def test_beliefs_are_probabilities_that_hints_and_copies_allow() -> None:
    for config in CONFIGS[:3]:
        play = followed(config, 6)
        network = play.network
        table = status.table(config, play.public)
        cards = card_beliefs.read(config, play.memory)
        p, free = network._believed(cards, table.hinted, table.left)
        present = table.present > 0
        assert torch.allclose(p.sum(-1)[present], torch.ones(int(present.sum())), atol=1e-5)
        assert (p[~present] == 0).all() and (p[table.hinted == 0] == 0).all()
        gone = (table.left == 0)[:, None, None].expand_as(p)
        assert (p[gone] == 0).all() and (free >= 0).all()


def test_the_mover_learns_nothing_of_its_own_cards_from_its_move() -> None:
    for config in (HanabiConfig(), HanabiConfig(players=3, colors=3, ranks=3, hand_size=3)):
        play = followed(config, 4)
        every, size = config.colors * config.ranks, config.hand_size
        for _ in range(6):
            mover = play.worlds.current_player
            # A hint moves no cards.
            legal = play.worlds.legal
            hints = np.where(legal[:, 2 * size :].any(1), legal[:, 2 * size :].argmax(1), -1)
            some = np.flatnonzero(hints >= 0)
            play.worlds, play.memory = play.worlds.select(some), play.memory[some]
            mover, before = mover[some], play.cards(play.memory)
            play.step(2 * size + hints[some])
            after = play.cards(play.memory)
            rows = np.arange(len(mover))
            mine = after[rows, mover, :, :every]
            np.testing.assert_array_equal(mine, before[rows, mover, :, :every])
            for offset in range(1, config.players):
                theirs = (rows, (mover + offset) % config.players)
                assert (after[theirs][..., :every] != before[theirs][..., :every]).any(
                    (1, 2)
                ).mean() > 0.9
            play.step(random_legal(play.worlds, play.rng))
            some = np.flatnonzero(~play.worlds.terminal)
            play.worlds, play.memory = play.worlds.select(some), play.memory[some]


def test_numbers_stay_with_their_cards() -> None:
    """A card that leaves takes its numbers along; the later ones move up, the new one is blank."""
    config = HanabiConfig(hand_size=4)
    network = network_of(config)
    torch.nn.init.zeros_(network.cell.weights.weight)
    torch.nn.init.zeros_(network.cell.weights.bias)
    worlds = HanabiGame(config).deal(np.random.default_rng(0), 8)
    play = Followed(network, worlds, 0)
    every = 25
    marked = play.cards(play.memory)
    marked[..., :every] = -np.arange(8).reshape(1, 2, 4, 1)
    marked[..., 0] = 0
    play.memory = torch.from_numpy(marked.reshape(8, -1))
    play.step(np.full(8, 4 + 1))  # the first player plays slot 1
    after = play.cards(play.memory)
    np.testing.assert_array_equal(after[0, 0, :, 5], [0, -2, -3, 0])
    np.testing.assert_array_equal(after[0, 1, :, 5], [-4, -5, -6, -7])
    ages = after[0, :, :, every + AGE]
    np.testing.assert_array_equal(ages, [[1, 1, 1, 1], [1, 1, 1, 1]])
    # A hint of rank 1 by the second player: only what it touches counts from now on.
    play.worlds = play.worlds.select(np.flatnonzero(play.worlds.legal[:, 8 + 5]))
    assert len(play.worlds) > 0
    play.memory = play.memory[: len(play.worlds)]
    play.step(np.full(len(play.worlds), 8 + 5))
    after = play.cards(play.memory)
    hit = play.worlds.rows[:, HANDS : HANDS + 4] % 5 == 0
    np.testing.assert_array_equal(after[:, 0, :, every + EVER], hit)
    since = after[:, 0, :, every + SINCE]
    assert (since[hit] == 0).all() and (since[~hit] > 0).all()


def test_the_filter_is_the_one_written_down() -> None:
    """By hand, for one game: a cell whose weights are the same whatever it reads.

    The first player plays a card that scores; what that says of the second one's cards is
    w . f + (1 + a) log W for each identity, with the copies and the hints of this small game.
    """
    config = HanabiConfig(colors=1, ranks=3, hand_size=2, information_tokens=3)
    network = network_of(config)
    torch.nn.init.zeros_(network.cell.weights.weight)
    weights = torch.linspace(-0.4, 0.5, card_beliefs.identity_size(config) + 1)
    network.cell.weights.bias.data = weights
    deck = np.array([[0, 1, 0, 2, 0, 1]])  # 111 22 3; hands 1 2 and 1 3
    play = Followed(network, HanabiGame(config).from_decks(deck), 0)
    memory = play.cards(play.memory)
    memory[0, 1, 0, :3] = [0, -128, -256]  # the second player's first card is rather a 1
    play.memory = torch.from_numpy(memory.reshape(1, -1))
    play.step([2 + 0])  # slot 0 is played: it is a 1
    w, a = weights[:-1].numpy().astype(float), float(weights[-1])
    log_w = np.array([0.0, -0.5, -1.0])
    left = np.array([2.0, 2.0, 1.0])  # after the 1 has been played
    likelihood = np.ones((4, 3))  # slots of the mover, then the other's
    likelihood[2] = np.exp(log_w)

    def settled() -> Any:
        p = likelihood * left
        p /= p.sum(1, keepdims=True)
        for _ in range(2):
            free = np.maximum(left - p.sum(0) + p, 0.02 * left)
            p = likelihood * free
            p /= p.sum(1, keepdims=True)
        return p

    held = np.minimum(settled()[:2].sum(0), 1)  # by the mover
    playable, worthless, critical = np.eye(3)[0], np.zeros(3), np.eye(3)[2]
    f = [np.ones(3), playable, worthless, critical]
    f += [np.eye(3)[1], np.eye(3)[0], np.eye(3)[2]]  # and after the move
    f += [playable * critical, np.eye(3)[1]]  # last copies that are playable; one away
    f += [np.eye(3)[0], *np.eye(3), held]  # the card that left, ranks, what the mover may hold
    said = w @ np.array(f) + (1 + a) * log_w
    expected = np.round((said - said.max()) * UNITS)
    np.testing.assert_allclose(play.cards(play.memory)[0, 1, 0, :3], expected, atol=1)
    new = w @ np.array(f)
    expected = np.round((new - new.max()) * UNITS)
    np.testing.assert_allclose(play.cards(play.memory)[0, 1, 1, :3], expected, atol=1)


def test_a_hint_is_foreseen_as_it_will_be_remembered() -> None:
    """What hints' rows say of beliefs afterwards is what the memory then holds, nearly."""
    for config in (HanabiConfig(), HanabiConfig(players=3, colors=3, ranks=3, hand_size=3)):
        play = followed(config, 4)
        size = config.hand_size
        legal = play.worlds.legal[:, 2 * size :]
        some = np.flatnonzero(legal.any(1) & ~play.worlds.terminal)
        play.worlds, play.memory = play.worlds.select(some), play.memory[some]
        hint = play.worlds.legal[:, 2 * size :].argmax(1)
        mover = play.worlds.current_player
        privates = play.privates[torch.from_numpy(mover), torch.arange(len(mover))]
        look = play.network._look(play.public, privates, play.memory)
        foreseen = {}
        original = play.network._after

        def kept(*given: Any, original: Any = original, into: Any = foreseen) -> Any:
            into["after"], into["free"] = original(*given), given[3]
            return into["after"]

        play.network._after = kept
        play.network._hints(look)
        play.step(2 * size + hint)
        colors = (config.players - 1) * config.colors
        by_rank = hint >= colors
        target = np.where(by_rank, (hint - colors) // config.ranks, hint // config.colors)
        which = np.where(
            by_rank, config.colors + (hint - colors) % config.ranks, hint % config.colors
        )
        rows = np.arange(len(hint))
        after = foreseen["after"][rows, target, which].detach().numpy()
        receiver = (mover + 1 + target) % config.players
        table = status.table(config, play.public)
        log_w = card_beliefs.read(config, play.memory).log_weight[rows, receiver]
        open_ = table.hinted[rows, receiver]
        free = foreseen["free"][rows, target, 0]
        expected = card_beliefs.normalised(log_w.exp() * open_ * free).numpy()
        # The event itself shares out the copies anew, by what the hint leaves open.
        apart = np.abs(after - expected)
        assert apart.mean() < 2e-3 and (apart > 0.05).mean() < 0.01
        assert np.abs(after - open_.numpy() / open_.sum(-1, keepdim=True).numpy()).max() > 0.05


# ------------------------------------------------------------------------------------- learning


def collector_of(config: HanabiConfig, games: int) -> Collector:
    torch.manual_seed(0)
    network = make_network("public-belief", config, SIZES)
    return Collector(
        network, EngineGames(HanabiGame(config), network.encoding, games, 5, "cpu"), games, "cpu"
    )


def test_a_belief_learns_what_moves_say() -> None:
    """From 64 games in which a hint's receiver is told of cards that are playable: it falls."""
    collector = collector_of(TINY, 64)
    segment = collector.play(20, torch.Generator().manual_seed(0))
    turn, game = torch.arange(20).repeat_interleave(64), torch.arange(64).repeat(20)
    network = collector.network
    before = memories_before(network, segment, turn, game)
    assert (before[segment.fresh[turn, game]] == 0).all()
    given = segment.public[turn, 0, game], segment.private[turn, :, game].transpose(0, 1), before
    optimizer = torch.optim.Adam(network.cell.parameters(), lr=1e-2)
    losses = []
    for _ in range(30):
        loss, figures = network.belief_loss(*given)
        losses.append(float(loss.detach()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert losses[0] == pytest.approx(float(figures["belief_before"]), abs=1e-5)
    assert losses[-1] < losses[0] - 0.02
    others = {name for name, x in network.named_parameters() if x.grad is not None}
    assert others and all(name.startswith("cell.") for name in others)


def test_memories_before_an_event_are_those_after_the_last() -> None:
    collector = collector_of(TINY, 6)
    collector.play(5, torch.Generator().manual_seed(0))
    segment = collector.play(7, torch.Generator().manual_seed(1))
    turn, game = torch.arange(7).repeat_interleave(6), torch.arange(6).repeat(7)
    before = memories_before(collector.network, segment, turn, game)
    after = collector.network.remember(segment.public[turn, 0, game], before)
    assert torch.equal(after, segment.memory[turn, 0, game]) and (after != 0).any()


def test_returns_under_a_central_critic_run_from_move_to_move() -> None:
    """By hand: every move is a decision of the team."""
    nothing = torch.zeros(3, 1)
    rest: dict[str, Any] = dict.fromkeys(Segment.__dataclass_fields__, nothing)
    segment = Segment(
        **rest
        | {
            "mover": torch.tensor([[0], [1], [0]]),
            "value": torch.tensor([[3.0], [2.0], [1.0]]),
            "ended": torch.tensor([[False], [True], [False]]),
            "last_value": torch.tensor([[0.5], [0.5]]),
        }
    )
    reward = torch.tensor([[1.0], [4.0], [2.0]])
    found = lambda_returns(segment, reward, 0.75, central=True)[:, :, 0]
    expected = torch.tensor([1 + 0.25 * 2 + 0.75 * 4, 4.0, 2.5])
    assert torch.allclose(found, expected.unsqueeze(1).expand(3, 2))


@pytest.mark.parametrize("architecture", ["public-belief", "masks", "feed-forward"])
def test_a_critic_is_learned_beside_any_network_and_not_kept(
    tmp_path: Path, architecture: Any
) -> None:
    options = SIZES if architecture == "public-belief" else {"hidden": 8}
    settings = SelfPlay(
        config=TINY, architecture=architecture, options=options, central_critic=True,
        iterations=50, games=48, batch=256, rate=3e-3, lenient=0.0,
    )  # fmt: skip
    run = SelfPlayRun(settings, tmp_path)
    rows = [run.iterate() for _ in range(3)]
    assert rows[-1]["explained"] > rows[0]["explained"] + 0.2
    assert {"value_loss", "watch_loss", "decisions_a_second", "playing"} <= rows[0].keys()
    assert ("belief_loss" in rows[0]) == (architecture == "public-belief")
    from safetensors.torch import load_file

    assert not any("critic" in name for name in load_file(tmp_path / "model.safetensors"))
    assert any("critic" in name for name in load_file(tmp_path / "state.safetensors"))


def test_in_a_warm_up_the_critic_learns_alone_and_then_the_rate_rises(tmp_path: Path) -> None:
    settings = SelfPlay(
        config=TINY, architecture="public-belief", options=SIZES, iterations=50, games=48,
        batch=256, rate=3e-3, lenient=0.0, warm_up=2,
    )  # fmt: skip
    run = SelfPlayRun(settings, tmp_path)
    first = {name: x.clone() for name, x in run.trained.state_dict().items()}
    rows = [run.iterate() for _ in range(2)]
    same = {name: bool((x == first[name]).all()) for name, x in run.trained.state_dict().items()}
    assert all(stays for name, stays in same.items() if name.startswith("network."))
    assert not any(stays for name, stays in same.items() if name.startswith("critic."))
    assert rows[1]["critic_loss"] < rows[0]["critic_loss"] and "policy_loss" not in rows[1]
    rows += [run.iterate() for _ in range(3)]
    assert rows[2]["rate"] < 0.4 * rows[4]["rate"] and rows[3]["rate"] < 0.7 * rows[4]["rate"]
    assert "policy_loss" in rows[2]
    assert any(
        bool((x != first[name]).any())
        for name, x in run.trained.state_dict().items()
        if name.startswith("network.")
    )
    with pytest.raises(ConfigError, match="warm_up is of a central critic, and this run has none"):
        SelfPlay(warm_up=2)


def test_public_belief_has_a_critic_unless_told_otherwise() -> None:
    assert SelfPlay(architecture="public-belief").has_critic
    assert not SelfPlay(architecture="public-belief", central_critic=False).has_critic
    assert not SelfPlay().has_critic and SelfPlay(central_critic=True).has_critic
    with pytest.raises(ConfigError, match="belief_rate must be a positive number, got 0"):
        SelfPlay(belief_rate=0.0)
    with pytest.raises(ConfigError, match="entropy_end must be from 0 to 1, got 2"):
        SelfPlay(entropy_end=2.0)


def test_it_imitates_bots_and_networks(tmp_path: Path) -> None:
    rows: list[dict[str, float]] = []
    settings = Distillation(
        config=TINY, architecture="public-belief", options=SIZES, iterations=6, games=60, rate=4e-3
    )
    network = distill(settings, tmp_path / "one", on_iteration=rows.append)
    assert rows[-1]["policy_loss"] < rows[0]["policy_loss"]
    assert rows[-1]["belief_loss"] < rows[-1]["belief_before"]
    teacher = f"network:file={tmp_path / 'one' / 'model.safetensors'}"
    again = Distillation(
        config=TINY, policy=teacher, architecture="feed-forward", options={"hidden": 8},
        iterations=1, games=8,
    )  # fmt: skip
    distill(again, tmp_path / "two", on_iteration=rows.append)
    assert rows[-1]["bot_share"] == 1 and network_policy(network).public_memory


def test_a_command_stops_before_its_time_is_over_and_goes_on(tmp_path: Path) -> None:
    words = ["train", "rl", "--out", str(tmp_path), "--colors", "2", "--ranks", "2"]
    words += ["--hand-size", "2", "--architecture", "feed-forward", "--set", "hidden=8"]
    words += ["--iterations", "2", "--games", "8", "--moves", "4", "--evaluation-games", "4"]
    result = CliRunner().invoke(app, [*words, "--max-seconds", "0.001"])
    assert result.exit_code == 0 and "the same command goes on" in result.output
    assert "score" not in result.output
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0 and result.output.count("decisions a second") == 2
    result = CliRunner().invoke(app, [*words, "--max-seconds", "0"])
    assert result.exit_code == 2
