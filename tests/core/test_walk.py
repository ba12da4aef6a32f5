"""One world walked on alone: as in a batch, number by number."""

from __future__ import annotations

import numpy as np
import pytest

from hanabi_search_plugin.core.errors import IllegalActionError
from hanabi_search_plugin.core.game import NOBODY, Game
from hanabi_search_plugin.core.policy import UniformPolicy, observes
from hanabi_search_plugin.core.rollout import action_values, play_out
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.core.walk import Walkable, _BatchOfOne, walks
from hanabi_search_plugin.games import SimpleBidding
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame

SPIEL = [
    OpenSpielGame(name)
    for name in ("kuhn_poker", "leduc_poker(players=3)", "dark_hex(board_size=2)", "pig",
                 "hanabi(players=2,colors=2,ranks=2,hand_size=2)", "backgammon")
]  # fmt: skip
GAMES: list[Game] = [*SPIEL, SimpleBidding(cards=4)]


class InBatches(UniformPolicy):
    """The uniform policy, as one that asks for views."""


class Remembering(UniformPolicy):
    def observe(self, view, event, memory):
        return memory


def streams(n: int, seed: int = 0) -> Streams:
    return Streams.spawn(np.random.default_rng(seed), n)


@pytest.mark.parametrize("ahead", [0, 1, 3, 20])
def test_a_stream_gives_the_numbers_of_a_batch(ahead: int) -> None:
    many = streams(4)
    singles = list(many.singles(ahead))
    drawn = [[stream.draw() for _ in range(5)] for stream in singles]
    assert (np.array(drawn) == np.stack([many.uniform() for _ in range(5)], axis=1)).all()
    with singles[1].batch() as one:  # and goes on as one
        assert one.state.tolist() == many.state[[1]].tolist()
        one.uniform()
    many.uniform()
    assert singles[1].draw() == many.uniform()[1]


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_a_walk_goes_as_a_batch_of_one(game: Game) -> None:
    rng = np.random.default_rng(1)
    for b, walk in enumerate(walks(game.deal(np.random.default_rng(0), 5))):
        other = _BatchOfOne(game.deal(np.random.default_rng(0), 5).select(np.array([b])))
        for _ in range(40):
            assert walk.player == other.player
            assert list(walk.returns()) == list(other.returns())
            for seat in range(game.num_players):
                assert walk.key(seat) == other.key(seat) == walk.worlds().view(seat).keys()[0]
            if walk.player == NOBODY:
                break
            assert list(walk.legal()) == other.legal()
            action, before = int(rng.choice(other.legal())), walk.worlds()
            shown = [before.view(seat).keys() for seat in range(game.num_players)]
            walk.step(action)
            other.step(action)
            assert [before.view(seat).keys() for seat in range(game.num_players)] == shown


@pytest.mark.parametrize("game", SPIEL, ids=repr)
def test_uniform_rollouts_are_those_of_batches(game: OpenSpielGame) -> None:
    worlds = game.deal(np.random.default_rng(0), 30)
    if len(set(worlds.current_player.tolist())) > 1:  # backgammon draws who begins
        worlds = worlds.select(np.flatnonzero(worlds.current_player == worlds.current_player[0]))
    assert isinstance(worlds, Walkable)
    rng, seat = streams(len(worlds)), int(worlds.current_player[0])
    actions = np.where(worlds.legal.all(axis=0), np.arange(game.num_actions), -1)
    actions = actions[actions >= 0][:4]
    before, none = rng.state.copy(), (None,) * game.num_players
    values = []
    for policy in (UniformPolicy(), InBatches()):
        blueprint = (policy,) * game.num_players
        values.append(play_out(worlds, blueprint, none, rng))
        values.append(action_values(worlds, actions, blueprint, none, seat, rng))
    assert (values[0] == values[2]).all() and (values[1] == values[3]).all()
    assert (rng.state == before).all() and not worlds.terminal.any()


def test_a_walk_follows_its_script() -> None:
    game = OpenSpielGame("leduc_poker")
    worlds = game.deal_scripts([(0, 3, 5), (0, 3, 0)])
    good, bad = walks(worlds)
    for walk in (good, bad):
        walk.step(1)
    assert good.worlds().scripts == [(5,)]
    good.step(1)
    assert good.worlds().states[0].history() == [0, 3, 1, 1, 5]
    with pytest.raises(IllegalActionError, match="world 0's script must go on"):
        bad.step(1)  # that card is dealt
    (walk, _) = walks(worlds)
    (stream,) = streams(1).singles(0)
    assert len(walk.play_uniformly(stream)) == 2


def test_uniform_rollouts_begin_with_legal_moves() -> None:
    game = OpenSpielGame("leduc_poker")
    worlds, blueprint = game.deal(np.random.default_rng(0), 3), (UniformPolicy(),) * 2
    with pytest.raises(IllegalActionError, match="world 0 allows the actions"):
        action_values(worlds, np.array([0]), blueprint, (None, None), 0, streams(3))


def test_who_observes() -> None:
    assert not observes(UniformPolicy()) and not observes(InBatches())
    assert observes(Remembering())
