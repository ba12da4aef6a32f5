"""Games written one state at a time."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hanabi_search_plugin import Sparta, UniformPolicy, evaluate, upgrade
from hanabi_search_plugin.beliefs.enumerated import EnumeratedBelief
from hanabi_search_plugin.core.errors import ContractError, IllegalActionError, UnsupportedError
from hanabi_search_plugin.core.game import NOBODY, PAD, Event
from hanabi_search_plugin.core.plain_game import Outcomes, PlainGame, PlainWorlds
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.testing import check_agent, check_game
from hanabi_search_plugin.wrappers.openspiel import OpenSpielGame


class TinyHanabi(PlainGame):
    """OpenSpiel's tiny_hanabi; a state is both cards and the moves made."""

    name, num_players, num_actions, return_range, max_length = "tiny", 2, 3, (0.0, 10.0), 2
    public_actions = True
    payoff = np.array(
        OpenSpielGame("tiny_hanabi").spiel.get_parameters()["payoff"].split(";"), dtype=float
    ).reshape(2, 2, 3, 3)

    def initial_states(self) -> Outcomes:
        return [((a, b, ()), 0.25) for a in range(2) for b in range(2)]

    def current_player(self, state: Any) -> int:
        return (0, 1, NOBODY)[len(state[2])]

    def legal_actions(self, state: Any) -> Sequence[int]:
        return range(3)

    def next_states(self, state: Any, action: int) -> Outcomes:
        return [((*state[:2], (*state[2], action)), 1.0)]

    def returns(self, state: Any) -> Sequence[float]:
        over = len(state[2]) == 2
        return [self.payoff[(*state[:2], *state[2])] if over else 0.0] * 2

    def observation(self, state: Any, player: int) -> Sequence[float]:
        return [state[player], *state[2], *[PAD] * (2 - len(state[2]))]


class Dice(PlainGame):
    """Both players choose a die without showing which, a fair or a loaded one; it is thrown, and
    the sum of the eyes is what the first wins of the second."""

    name, num_players, num_actions, return_range, max_length = "dice", 2, 2, (-4.0, 4.0), 2
    rewards = "zero_sum"
    public_actions = False

    def initial_states(self) -> Outcomes:
        return [((), 1.0)]

    def current_player(self, state: Any) -> int:
        return (0, 1, NOBODY)[len(state)]

    def legal_actions(self, state: Any) -> Sequence[int]:
        return range(2) if sum(state) < 2 else [1]

    def next_states(self, state: Any, action: int) -> Outcomes:
        return [((*state, 1), (0.5, 0.1)[action]), ((*state, 2), (0.5, 0.9)[action])]

    def returns(self, state: Any) -> Sequence[float]:
        return [sum(state), -sum(state)]

    def observation(self, state: Any, player: int) -> Sequence[float]:
        return [*state, *[0] * (2 - len(state))]


class Channel(PlainGame):
    """Player 0 says a word; of 0.2 of them player 1 hears the other one, and guesses the word."""

    name, num_players, num_actions, return_range, max_length = "channel", 2, 2, (0.0, 1.0), 2

    def initial_states(self) -> Outcomes:
        return [((), 1.0)]

    def current_player(self, state: Any) -> int:
        return {0: 0, 2: 1, 3: NOBODY}[len(state)]

    def legal_actions(self, state: Any) -> Sequence[int]:
        return range(2)

    def next_states(self, state: Any, action: int) -> Outcomes:
        if state:
            return [((*state, action), 1.0)]
        return [((action, action), 0.8), ((action, 1 - action), 0.2)]

    def returns(self, state: Any) -> Sequence[float]:
        return [float(len(state) == 3 and state[0] == state[2])] * 2

    def observation(self, state: Any, player: int) -> Sequence[float]:
        return [state[1] if state and player == 1 else PAD]


class PublicChannel(Channel):
    public_actions = True


class NoisyChannel(Channel):
    public_actions = False


class Secret(PublicChannel):
    """Nothing is heard."""

    def observation(self, state: Any, player: int) -> Sequence[float]:
        return [len(state)]


def test_a_game_must_say_whether_its_actions_are_public() -> None:
    game = Channel()
    says = r"Channel must set public_actions \(True where every player sees the others' actions"
    for use in (
        game.deals,
        lambda: game.deal(np.random.default_rng(0), 1),
        lambda: check_game(game),
        lambda: evaluate(game, UniformPolicy(), games=1),
        lambda: upgrade(UniformPolicy(), game, Sparta()),
    ):
        with pytest.raises(ContractError, match=says):
            use()


def test_all_that_is_not_set_is_named() -> None:
    class Blank(NoisyChannel):
        def __getattribute__(self, name: str) -> Any:
            if name in ("name", "num_players", "num_actions", "return_range", "max_length"):
                raise AttributeError(name)
            return super().__getattribute__(name)

    names = ("name", "num_players", "num_actions", "return_range", "max_length")
    says = "Blank must set " + ", ".join(rf"{name} \([^)]*\)" for name in names) + "$"
    with pytest.raises(ContractError, match=says):
        Blank().deals()
    assert repr(Blank()) == "Blank()" and repr(NoisyChannel()) == "NoisyChannel('channel')"


class OneNumber(TinyHanabi):
    def returns(self, state: Any) -> Any:
        return 0.0


class OneReturn(TinyHanabi):
    def returns(self, state: Any) -> Any:
        return [0.0]


class ReturnsAtTheEnd(TinyHanabi):
    def returns(self, state: Any) -> Any:
        return [self.payoff[(*state[:2], state[2][0], state[2][1])]] * 2


class LooksTooFar(TinyHanabi):
    def legal_actions(self, state: Any) -> Any:
        return [state[9]]


class ThreeSeats(TinyHanabi):
    def current_player(self, state: Any) -> int:
        return (0, 2, NOBODY)[len(state[2])]


class NobodyMoves(TinyHanabi):
    def current_player(self, state: Any) -> Any:
        return None


class NoMoves(TinyHanabi):
    def legal_actions(self, state: Any) -> Any:
        return None


class Text(TinyHanabi):
    def observation(self, state: Any, player: int) -> Any:
        return "x"


class Texts(TinyHanabi):
    def observation(self, state: Any, player: int) -> Any:
        return ["x"]


class Varying(TinyHanabi):
    def observation(self, state: Any, player: int) -> Any:
        return [0] * len(state[2])


class Ragged(TinyHanabi):
    def observation(self, state: Any, player: int) -> Any:
        return [0, ()]


class Nested(TinyHanabi):
    def observation(self, state: Any, player: int) -> Any:
        return [list(state)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            OneNumber,
            "tiny: returns must give 2 numbers, one a player, also before the end, got 0.0",
        ),
        (OneReturn, r"one a player, also before the end, got \[0.0\]"),
        (NobodyMoves, "check_game: tiny: current_player must give a player's number.* got None$"),
        (
            NoMoves,
            r"check_game: tiny: legal_actions must list moves from 0 to 2, each once, or give 3 "
            r"bools, got None in the state \(",
        ),
        (Text, "check_game: tiny: observation must list numbers, got 'x' for player 0"),
        (Texts, r"tiny: observation must list numbers, got \['x'\] for player 0"),
        (Varying, "tiny, player 0: a row of observation must have one shape in every position"),
        (ThreeSeats, "tiny: current_player must be from 0 to 1 until"),
        (Nested, "keys of views must be hashable"),
        (Ragged, r"tiny: observation must list numbers, got \["),
    ],
)
def test_mistakes_of_a_method_are_told_by_its_name(make: type[PlainGame], says: str) -> None:
    with pytest.raises(ContractError, match=says):
        check_game(make())


def test_chance_that_is_drawn_and_not_listed_is_caught_first() -> None:
    """It was told as moves that a player does not see."""

    class Drawn(PublicChannel):
        rng = np.random.default_rng(0)

        def next_states(self, state: Any, action: int) -> Any:
            listed = super().next_states(state, action)
            return [(listed[int(self.rng.integers(len(listed)))][0], 1.0)]

    with pytest.raises(ContractError, match=r"Drawn\.next_states must answer alike"):
        check_game(Drawn())


def test_a_name_is_a_text() -> None:
    class Nameless(PublicChannel):
        name: Any = None

    with pytest.raises(ContractError, match="Nameless must set name to a text, got None"):
        check_game(Nameless())


@pytest.mark.parametrize("make", [PublicChannel, Secret])
def test_actions_that_are_not_public_are_caught(make: type[PlainGame]) -> None:
    says = "public_actions must be False, or player 1 must see whether player 0 played 0 or 1"
    with pytest.raises(ContractError, match=says):
        check_game(make())


def test_a_noisy_channel_tells_what_it_should() -> None:
    game = NoisyChannel()
    check_game(game)
    start, _ = game.deals()
    heard, _, _ = game.branch(start, np.array([0]))
    belief = EnumeratedBelief.start(game, (UniformPolicy(), UniformPolicy()), start.view(1))
    world = heard.select(np.array([1]))  # 0 was said, 1 was heard
    event = Event(np.array([0]), np.array([0])).seen_by(1, game)
    worlds, weights = belief.update(event, world.view(1)).support()
    said = {state[0]: weight for state, weight in zip(worlds.states, weights, strict=True)}
    assert [said[0], said[1]] == pytest.approx([0.2, 0.8])


@pytest.mark.parametrize(
    "states",
    [
        [0, 1],
        [(0, 1, None), (1, 1, None)],
        [(0, None)],
        [(0, "1")],
        [],
        None,
    ],
)
def test_forgotten_probabilities_are_named(states: Any) -> None:
    class Careless(Dice):
        def initial_states(self) -> Outcomes:
            return states

    class CarelessLater(Dice):
        def next_states(self, state: Any, action: int) -> Outcomes:
            return states

    says = "dice: {} must list pairs of a state and its probability, got "
    for use in (Careless().deals, lambda: check_game(Careless())):
        with pytest.raises(ContractError, match=says.format("initial_states")):
            use()
    worlds, _ = CarelessLater().deals()
    with pytest.raises(ContractError, match=says.format("next_states")):
        worlds.game.branch(worlds, np.array([0]))
    with pytest.raises(ContractError, match=says.format("next_states")):
        worlds.step(np.array([0]))


def test_probabilities_must_sum_to_1() -> None:
    class Lossy(Dice):
        def initial_states(self) -> Outcomes:
            return [((), 0.5), ((1,), 0.25)]

    with pytest.raises(ContractError, match=r"probabilities of initial_states .* got 0\.75 of"):
        Lossy().deals()


def test_observations_that_grow_are_caught() -> None:
    class Growing(Dice):
        def observation(self, state: Any, player: int) -> Sequence[float]:
            return [0, *state]

    says = "dice, player 0: a row of observation must have one shape in every position"
    with pytest.raises(ContractError, match=says):
        check_game(Growing())


@pytest.mark.parametrize("make", [TinyHanabi, Dice, NoisyChannel])
def test_the_contract_is_kept(make: type[PlainGame]) -> None:
    check_game(make(), games=40)
    check_agent(make(), upgrade(UniformPolicy(), make(), search=Sparta(rollouts=600)))


def test_chance_comes_as_often_as_it_should() -> None:
    game = Dice()
    worlds = game.deal(np.random.default_rng(0), 4000)
    worlds.step(np.ones(4000, dtype=np.int64))
    assert np.mean([state == (2,) for state in worlds.states]) == pytest.approx(0.9, abs=0.02)
    copies = pickle.loads(pickle.dumps(copy.deepcopy(worlds)))
    for batch in (worlds, copies):
        batch.step(np.ones(4000, dtype=np.int64))
    assert copies.states == worlds.states


def test_beliefs_are_those_of_the_same_game_of_openspiel() -> None:
    class Telling(UniformPolicy):
        """Leans to the move that names its card, the first seen number or dealt digit."""

        def probabilities(self, view: Any, legal: Any, memory: Any) -> Any:
            if isinstance(view.game, PlainGame):
                cards = view.observation("observation")[:, 0].tolist()
            else:
                cards = [int(key.split()[0][-1]) for key in view.keys()]
            chance = np.full(legal.shape, 0.2)
            chance[np.arange(len(view)), cards] = 0.6
            return chance

    weights = []
    for game in (TinyHanabi(), OpenSpielGame("tiny_hanabi")):
        worlds, _ = game.deals()
        world = worlds.select(np.array([1]))  # cards 0 and 1
        belief = EnumeratedBelief.start(game, (Telling(), Telling()), world.view(1))
        event = world.step(np.array([0]))
        weights.append(belief.update(event, world.view(1)).support()[1].tolist())
    assert weights[0] == weights[1] == pytest.approx([0.75, 0.25])


def test_bad_input_says_what_was_expected() -> None:
    game = Dice()
    worlds = game.deal(np.random.default_rng(0), 3)
    with pytest.raises(IllegalActionError, match=r"expected 3 actions, got shape \(2,\)"):
        worlds.step(np.array([0, 1]))
    with pytest.raises(IllegalActionError, match="expected actions in integers, got float64"):
        worlds.step(np.array([0.0, 1.0, 0.0]))
    with pytest.raises(IllegalActionError, match=r"world 1 allows the actions \[0, 1\], got 2"):
        worlds.step(np.array([0, 2, 0]))
    with pytest.raises(UnsupportedError, match=r"has the encodings .*'observation'"):
        worlds.view(0).observation("tensor")
    with pytest.raises(UnsupportedError, match="expected PlainWorlds, got OpenSpielWorlds"):
        game.reseed(OpenSpielGame("tiny_hanabi").deals()[0], np.random.default_rng(0))

    class Ragged(Dice):
        def observation(self, state: Any, player: int) -> Sequence[float]:
            return list(state)

    worlds = PlainWorlds(Ragged(), [(), (), (), (1,)], Streams(np.zeros(4, dtype=np.uint64)))
    with pytest.raises(ContractError, match=r"as many numbers in every state, got \[0, 1\]"):
        worlds.view(0).observation("observation")


def tiny_with(moves: Any) -> PlainGame:
    class Given(TinyHanabi):
        def legal_actions(self, state: Any) -> Any:
            return moves

    return Given()


MASK = ": it looks like a mask: give np.flatnonzero(mask)"


@pytest.mark.parametrize(
    ("moves", "came", "advice"),
    [
        ([0, 3], "[0, 3]", ""),
        ([-1], "[-1]", ""),
        ([0, 0, 1, 1, 2], "[0, 0, 1, 1, 2]", ""),
        (np.array([0, 1, 1], dtype=np.int8), "array([0, 1, 1], dtype=int8)", MASK),
        ([1, 1, 1], "[1, 1, 1]", MASK),
        ([0.0, 1.0, 1.0], "[0.0, 1.0, 1.0]", MASK),
        (np.array([0.0, 2.0]), "array([0., 2.])", ""),
        (np.array([True, False]), "array([ True, False])", ""),
        ([True], "[True]", ""),
        ([True, 2, 0], "[True, 2, 0]", ""),
        ([[0, 1], [1, 2], [0, 2]], "[[0, 1], [1, 2], [0, 2]]", ""),
        (2, "2", ""),
        ("01", "'01'", ""),
    ],
)
def test_moves_that_are_none_are_named_with_the_state(moves: Any, came: str, advice: str) -> None:
    worlds = tiny_with(moves).deal(np.random.default_rng(0), 1)
    with pytest.raises(ContractError) as caught:
        _ = worlds.legal
    assert str(caught.value) == (
        "tiny: legal_actions must list moves from 0 to 2, each once, or give 3 bools, got "
        f"{came} in the state {worlds.states[0]}{advice}"
    )


@pytest.mark.parametrize(
    "moves", [[2, 0], (0, 2), np.array([0, 2], dtype=np.int8), np.array([True, False, True]),
              [True, False, True], {0, 2}]
)  # fmt: skip
def test_moves_are_numbers_or_a_mask_of_bools(moves: Any) -> None:
    game = tiny_with(moves)
    check_game(game)
    assert game.deal(np.random.default_rng(0), 1).legal.tolist() == [[True, False, True]]


def test_states_that_are_set_are_those_that_are_asked_about() -> None:
    worlds = TinyHanabi().deal(np.random.default_rng(0), 2)
    assert worlds.current_player.tolist() == [0, 0]
    worlds.states = ((0, 1, (2,)), (1, 1, (0, 2)))
    assert worlds.current_player.tolist() == [1, NOBODY]
    assert worlds.legal.tolist() == [[True] * 3, [False] * 3]
    assert worlds.view(1).legal.tolist() == worlds.legal.tolist()
    assert not worlds.view(0).legal.any()


class Listed(TinyHanabi):
    """States, and pairs of them and their probabilities, are lists."""

    def initial_states(self) -> Outcomes:
        return [[list(state), chance] for state, chance in super().initial_states()]  # type: ignore[misc, list-item]

    def next_states(self, state: Any, action: int) -> Outcomes:
        return [[[*state[:2], (*state[2], action)], 1.0]]  # type: ignore[list-item]


def test_lists_are_states_too() -> None:
    check_game(Listed(), games=2)
    found = [
        evaluate(game, ("random", upgrade("random", game, Sparta(rollouts=50))), games=20)
        for game in (TinyHanabi(), Listed())
    ]
    assert found[0].scores.tolist() == found[1].scores.tolist()


class InPlace(Listed):
    def next_states(self, state: Any, action: int) -> Outcomes:
        state[2] = (*state[2], action)
        return [(state, 1.0)]


class PaysAtTheEnd(TinyHanabi):
    def returns(self, state: Any) -> Sequence[float]:
        return [self.payoff[state[0], state[1], state[2][0], state[2][1]]] * 2


class SilentBefore(TinyHanabi):
    def returns(self, state: Any) -> Any:
        return super().returns(state) if len(state[2]) == 2 else None


class Blind(TinyHanabi):
    def observation(self, state: Any, player: int) -> Sequence[float]:
        return [state[7]]


class Stuck(TinyHanabi):
    def next_states(self, state: Any, action: int) -> Outcomes:
        return [(state[7], 1.0)]


@pytest.mark.parametrize(
    ("game", "says"),
    [
        (
            InPlace(),
            r"InPlace.next_states must give new states.*: \[\d, \d, \(\)\] is \[\d, \d, \(\d",
        ),
        (SilentBefore(), r"returns must .* before the end, got None in the state \(\d, \d, \(\)\)"),
    ],
)
def test_a_game_that_is_wrong_is_named_with_the_state(game: PlainGame, says: str) -> None:
    with pytest.raises(ContractError, match=says) as caught:
        check_game(game)
    assert "PlainWorlds" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "method"),
    [
        (ReturnsAtTheEnd, "returns"),
        (LooksTooFar, "legal_actions"),
        (PaysAtTheEnd, "returns"),
        (Blind, "observation"),
        (Stuck, "next_states"),
    ],
)
def test_what_a_game_raises_goes_on_with_its_state(make: type[PlainGame], method: str) -> None:
    says = rf"\nin {make.__name__}.{method} of the state \(.*\), check_game$"
    with pytest.raises(IndexError, match=says):
        check_game(make())


def test_what_a_seat_sees_can_be_printed() -> None:
    plain = TinyHanabi().deal(np.random.default_rng(0), 1).view(0)
    assert plain.describe() == repr(plain.observation("observation")[0].tolist())
    spiel = OpenSpielGame("tiny_hanabi").deal(np.random.default_rng(0), 1).view(0)
    assert spiel.describe() == spiel.observation("string")[0] != ""
