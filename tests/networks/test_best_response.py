"""A network learns beside a policy that does not: who moves, what is learned, resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file
from typer.testing import CliRunner

from hanabi_search_plugin import (
    ConfigError,
    HanabiConfig,
    HanabiGame,
    Policy,
    evaluate,
    load_policy,
)
from hanabi_search_plugin.cli import app
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.threads import Threads
from hanabi_search_plugin.networks.architectures import make_network
from hanabi_search_plugin.networks.checkpoint import load_network
from hanabi_search_plugin.networks.training.partnered_games import PartneredGames
from hanabi_search_plugin.networks.training.ppo import LossWeights, Minibatch, batches, losses
from hanabi_search_plugin.networks.training.self_play import SelfPlayRun, learn_by_self_play
from hanabi_search_plugin.networks.training.selfplay_games import Collector
from hanabi_search_plugin.networks.training.training_run import MODEL
from hanabi_search_plugin.networks.training.training_settings import SelfPlay

TINY = HanabiConfig(colors=2, ranks=3, hand_size=2, information_tokens=3)
THREE = HanabiConfig(players=3, colors=2, ranks=3, hand_size=2, information_tokens=3)
SIZES = {"hidden": 16, "context": 8, "scorer": 8}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def games_of(
    partner: str | Policy, games: int, config: HanabiConfig = TINY
) -> tuple[Any, PartneredGames]:
    """A small network, and games of it beside ``partner``."""
    torch.manual_seed(0)
    game, network = HanabiGame(config), make_network("masks", config, SIZES).eval()
    policy = load_policy(partner, game) if isinstance(partner, str) else partner
    return network, PartneredGames(game, network.encoding, games, 5, "cpu", partner=policy)


@pytest.mark.parametrize("partner", ["smartbot", "clivej2"])
@pytest.mark.parametrize("config", [TINY, THREE], ids=["2 players", "3 players"])
def test_the_partner_plays_all_seats_but_one(partner: str, config: HanabiConfig) -> None:
    """Each game is played again beside it: the partner remembers what it saw, from the deal on."""
    _, games = games_of(partner, 6, config)
    policy = load_policy(partner, games.game)
    seats = (policy,) * config.players
    dealt = games.worlds.select(np.arange(6))
    memories = [start_memories(dealt.select(np.array([g])), seats) for g in range(6)]
    worlds = [dealt.select(np.array([g])) for g in range(6)]
    ended, theirs = 0, 0
    torch.manual_seed(3)
    for _ in range(60):
        wanted = torch.multinomial(games.observe().legal.float(), 1).squeeze(1)
        moves, own = games.played(wanted)
        for g in range(6):
            mover = int(worlds[g].current_player[0])
            assert bool(own[g]) == (mover == g % config.players)
            expected = int(wanted[g])
            if not own[g]:
                expected = int(choose(worlds[g], seats, memories[g], Streams.still(1))[0])
                theirs += 1
            assert int(moves[g]) == expected
        stepped = games.step(moves)
        for g in range(6):
            if stepped.ended[g]:
                worlds[g] = games.worlds.select(np.array([g]))
                memories[g] = start_memories(worlds[g], seats)
                ended += 1
                continue
            actor, move = worlds[g].current_player, moves[g : g + 1].numpy()
            worlds[g].step(move)
            memories[g] = observe_all(worlds[g], actor, move, seats, memories[g])
    assert ended > 6 and theirs > 100


def test_only_its_own_moves_teach_the_policy() -> None:
    """The advantage of a partner's move, were it of any size, changes no step of the policy."""
    network, games = games_of("smartbot", 16)
    segment = Collector(network, games, 16, "cpu").play(12, torch.Generator().manual_seed(1))
    assert 0 < segment.own.sum() < segment.own.numel()
    returns = segment.value.unsqueeze(1).expand(12, 2, 16) + torch.rand(12, 1, 16)
    (rows,) = batches(network, segment, returns, 1000, torch.Generator().manual_seed(2))
    assert rows.advantage[rows.own].mean() == pytest.approx(0, abs=1e-5)
    assert rows.advantage[rows.own].std() == pytest.approx(1, abs=1e-4)

    def gradient(rows: Minibatch) -> Any:
        network.zero_grad()
        losses(network, rows, LossWeights(0.2, 0.01, 1e-9))[0].backward()
        return torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])

    kept = gradient(rows)
    rows.advantage[~rows.own] = 1e6
    rows.log_prob[~rows.own] = -500.0  # what the partner plays may be all but impossible to it
    assert torch.equal(gradient(rows), kept) and kept.abs().max() > 0
    rows.advantage[rows.own] *= -1
    assert not torch.equal(gradient(rows), kept)


@pytest.mark.parametrize("parts", [None, 2])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(tmp_path: Path, parts: Any) -> None:
    settings = SelfPlay(
        config=TINY, architecture="masks", options=SIZES, iterations=3, games=6, moves=5,
        batch=16, epochs=1, partner="smartbot", parts=parts,
    )  # fmt: skip
    learn_by_self_play(settings, tmp_path / "whole")
    SelfPlayRun(settings, tmp_path / "parts", executor=Threads(2)).iterate()
    learn_by_self_play(settings, tmp_path / "parts")
    for file in (tmp_path / "whole").glob("*.safetensors"):
        one, other = load_file(file), load_file(tmp_path / "parts" / file.name)
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one)
    state = load_file(tmp_path / "whole" / "state.safetensors")
    kept = [name for name in state if "partner" in name]
    assert len(kept) == 2 * (parts or 1)


def test_a_best_response_beats_the_policy_beside_itself(tmp_path: Path) -> None:
    """In a game of 6 points."""
    game = HanabiGame(TINY)
    settings = SelfPlay(
        config=TINY, architecture="masks", options={"hidden": 64, "context": 32, "scorer": 32},
        iterations=12, games=128, batch=512, rate=2e-3, lenient=0.3, partner="iggi",
    )  # fmt: skip
    learn_by_self_play(settings, tmp_path)
    iggi = load_policy("iggi", game)
    learned = load_policy(f"network:file={tmp_path / MODEL}", game)
    for seats in ((iggi, learned), (learned, iggi)):
        found = evaluate(game, seats, games=400, seed=1, baseline=iggi)
        assert found.gain > 5 * found.gain_sem


def test_what_cannot_be_a_partner_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"policy must be one of .*, got 'nobody'"):
        SelfPlay(config=TINY, partner="nobody")
    with pytest.raises(ConfigError, match="needs a central critic, got none"):
        SelfPlay(config=TINY, partner="smartbot", central_critic=False)
    assert SelfPlay(config=TINY, partner="smartbot").has_critic
    with pytest.raises(ConfigError, match="device must be cpu, got cuda"):
        SelfPlayRun(SelfPlay(config=TINY, partner="smartbot"), tmp_path, device="cuda")

    class Remembers(Policy):
        def start(self, view: Any) -> Any:
            return [[] for _ in range(len(view))]

        def observe(self, view: Any, event: Any, memory: Any) -> Any:
            return [[*past, 0] for past in memory]

        def act(self, view: Any, legal: Any, memory: Any, rng: Any) -> Any:
            return legal.argmax(axis=1)

    with pytest.raises(ConfigError, match="partner must be a policy whose memory is an array"):
        games_of(Remembers(), 2)


def test_the_command_learns_beside_a_partner(tmp_path: Path) -> None:
    small = ["--colors", "2", "--ranks", "2", "--hand-size", "2"]
    out = tmp_path / "run"
    words = ["train", "rl", "--out", str(out), *small, "--iterations", "2", "--games", "8"]
    words += ["--moves", "6", "--set", "hidden=16", "--evaluation-games", "6"]
    result = CliRunner().invoke(app, [*words, "--partner", "piers"])
    assert result.exit_code == 0, (result.output, result.exception)
    assert "gain" in result.output and f"--policy piers,network:file={out / MODEL}" in result.output
    assert load_network(out / MODEL).training["partner"] == "piers"
    again = CliRunner().invoke(app, [*words, "--partner", "vdb"])
    assert again.exit_code == 2 and 'partner is "piers"' in again.output
