"""What ``public-belief`` networks say of one move under many hands: what the plain path says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hanabi_search_plugin import HanabiConfig, HanabiGame, Streams
from hanabi_search_plugin.core.errors import ContractError
from hanabi_search_plugin.core.rollout import choose, observe_all, start_memories
from hanabi_search_plugin.hanabi.beliefs.hand_belief import HandBelief
from hanabi_search_plugin.hanabi.engine.layout import HANDS
from hanabi_search_plugin.networks.nets import public_belief_on_cpu
from hanabi_search_plugin.networks.network_policies import EstimatingPolicy, NetworkPolicy
from hanabi_search_plugin.networks.policy_of_network import network_policy
from tests.networks.test_public_belief import TINY, Followed, followed, network_of

CONFIGS = [
    HanabiConfig(),
    HanabiConfig(players=3, hand_size=7, information_tokens=4),
    HanabiConfig(players=4, colors=3, ranks=2, hand_size=3, random_start_player=True),
    TINY,
]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def asked(play: Followed, one: int, n: int) -> tuple[Any, ...]:
    """World ``one`` under n hands of a seat: worlds, mover, that seat, hands."""
    config, game = play.network.config, play.worlds.game
    mover = int(play.worlds.current_player[one])
    seat = (mover + 1 + one) % config.players
    if seat == mover:
        seat = (mover + 1) % config.players
    worlds = play.worlds.select(np.full(n, one))
    worlds = game.redeterminize(worlds, seat, Streams.spawn(play.rng, n))
    cards = worlds.rows[:, HANDS + seat * config.hand_size :][:, : config.hand_size]
    hands = ((cards.astype(np.int64) & 31) << (5 * np.arange(config.hand_size))).sum(axis=1)
    return worlds, mover, seat, hands


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_the_move_chosen_is_that_of_all_logits(
    config: HanabiConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every move is asked about, one that is not legal too, in batches of different sizes."""
    play, made, n = followed(config, 0, 12), set(), 300
    for _ in range(5):
        for one in range(0, len(play.worlds), 4):
            worlds, mover, seat, hands = asked(play, one, n)
            view = worlds.view(mover)
            policy, memory = NetworkPolicy(play.network), play.memory[one].numpy()
            expected = policy.act(view, view.legal, np.tile(memory, (n, 1)), Streams.still(n))
            made |= set(expected.tolist())
            given = policy.inputs(view.select(np.arange(1)), memory[None])
            for action in range(config.num_actions):
                for size in (1 << 16, 37):
                    monkeypatch.setattr(public_belief_on_cpu, "HANDS", size)
                    found = play.network.chooses(*given, seat, hands, action)
                    np.testing.assert_array_equal(found, expected == action)
        if play.worlds.terminal.all():
            break
        policy = NetworkPolicy(play.network)
        worlds, moves = play.worlds, np.zeros(len(play.worlds), dtype=np.int64)
        for seat in range(config.players):  # the network's own moves, so that hints are among them
            mine = np.flatnonzero(worlds.current_player == seat)
            view = worlds.view(seat).select(mine)
            streams = Streams.still(len(mine))
            moves[mine] = policy.act(view, view.legal, play.memory.numpy()[mine], streams)
        play.step(moves)
        alive = np.flatnonzero(~play.worlds.terminal)
        play.worlds, play.memory = play.worlds.select(alive), play.memory[alive]
        if len(alive) == 0:
            break
    assert len(made) > 2


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_beliefs_are_those_of_the_plain_path(
    epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = HanabiConfig(colors=4, ranks=4, hand_size=4)
    game = HanabiGame(config)
    team = (EstimatingPolicy(network_of(config)),) * 2
    beliefs = last_beliefs(game, team, epsilon)
    monkeypatch.setattr(NetworkPolicy, "likelihood_of_hands", lambda *_: None)
    for found, expected in zip(beliefs, last_beliefs(game, team, epsilon), strict=True):
        np.testing.assert_array_equal(found.hands, expected.hands)
        np.testing.assert_array_equal(found.likelihood, expected.likelihood)
        assert found.likelihoods == expected.likelihoods
    assert max(belief.likelihoods for belief in beliefs) > 100


def last_beliefs(game: HanabiGame, team: Any, epsilon: float) -> list[Any]:
    """Of seat 0 after each of some moves of a game."""
    worlds = game.deal(np.random.default_rng(5), 1)
    memories = start_memories(worlds, team)
    belief = HandBelief.start(game, team, worlds.view(0), epsilon=epsilon)
    beliefs = []
    while not worlds.terminal[0] and len(beliefs) < 12:
        event = worlds.step(choose(worlds, team, memories, Streams.still(1)))
        memories = observe_all(worlds, event.player, event.action, team, memories)
        belief = belief.update(event, worlds.view(0))
        beliefs.append(belief)
    return beliefs


def test_other_policies_are_asked_for_probabilities() -> None:
    network = network_of(TINY)
    view = HanabiGame(TINY).deal(np.random.default_rng(0), 1).view(0)
    policy, hands = network_policy(network), np.zeros(3, dtype=np.int64)
    memory = policy.start(view)
    assert policy.likelihood_of_hands(view, 1, hands, memory, 0) is not None

    class Other(NetworkPolicy):
        """May play in another way."""

    for other in (network_policy(network, temperature=1.0), Other(network)):
        assert other.likelihood_of_hands(view, 1, hands, memory, 0) is None


def test_logits_that_are_no_numbers_are_refused() -> None:
    network = network_of(TINY)
    with torch.no_grad():
        network.kinds.bias.fill_(torch.nan)
    view = HanabiGame(TINY).deal(np.random.default_rng(0), 1).view(0)
    policy = network_policy(network)
    memory = policy.start(view)
    hand = view.rows[0, HANDS + TINY.hand_size :][: TINY.hand_size].astype(np.int64)
    hands = np.full(3, (hand << (5 * np.arange(TINY.hand_size))).sum())
    for action in np.flatnonzero(view.legal[0]).tolist():
        with pytest.raises(ContractError, match="must give logits that are numbers"):
            policy.likelihood_of_hands(view, 1, hands, memory, action)
