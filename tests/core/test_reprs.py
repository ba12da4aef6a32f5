"""What public objects print: one short line that says what they are."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pyspiel
import pytest

import hanabi_search_plugin.wrappers.pettingzoo as hanabi
from hanabi_search_plugin import (
    Grounded,
    HanabiGame,
    JointSparta,
    Lbs,
    Learned,
    Mds,
    MoIsmcts,
    Particles,
    Predictor,
    RisMcts,
    SmartBot,
    SoIsmcts,
    Sparta,
    Streams,
    UniformPolicy,
    UnknownPartners,
    evaluate,
    from_callable,
    load_policy,
    private_belief,
    public_belief,
    upgrade,
)
from hanabi_search_plugin.wrappers.openspiel import (
    OpenSpielGame,
    as_bot,
    as_policy,
    as_rl_agent,
    as_spiel_policy,
)

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2)
THREE = HanabiGame(players=3, colors=2, ranks=2, hand_size=2)
TINY = OpenSpielGame("tiny_hanabi")
UNIFORM = UniformPolicy()
BOTS = ("hatbot-b", "evalfn-c", "rule-classifier", "cautious", "piers", "risky2:threshold=0.6")


def objects() -> list[Any]:
    found: list[Any] = [Sparta(), JointSparta(), Lbs(), Mds(), SoIsmcts(), MoIsmcts()]
    found += [RisMcts(), Predictor(), Grounded(GAME), Learned(Grounded(GAME)), Particles(3)]
    found += [UnknownPartners(("vdb", "iggi")), Streams(np.zeros(2, dtype=np.uint64))]
    found += [load_policy(name) for name in ("smartbot", "hatbot", "vdb", "evalfn", "random")]
    found += [from_callable(lambda obs, mask: mask, returns="logits"), GAME, TINY]
    for game in (GAME, THREE, TINY):
        worlds = game.deal(np.random.default_rng(0), 2)
        view = worlds.view(0).select(np.array([0]))
        blueprint = (UNIFORM,) * game.num_players
        found += [worlds, view, private_belief(game, blueprint, view)]
        found += [public_belief(game, blueprint, view)]
        found += [Particles(5)(blueprint, view), upgrade("random", game)]
        for search in (MoIsmcts(), Predictor()):
            found += upgrade("random", game, search).start(view)
    view = GAME.deal(np.random.default_rng(0), 1).view(0)
    found += [Learned(Grounded(GAME))((SmartBot(),) * 2, view)]
    found += [UnknownPartners((SmartBot(), load_policy("vdb")))((SmartBot(),) * 2, view)]
    env = hanabi.RecordObservations(hanabi.env(players=2))
    found += [env, hanabi.SeatAgent("smartbot", env, 0), evaluate(GAME, "smartbot", games=1)]
    found += [as_bot("random", TINY, 0), as_rl_agent("random", TINY, 0)]
    found += [env.unwrapped, env.env, gymnasium.make("HanabiSearch/Hanabi-v0", partners="random")]
    found += [found[-1].unwrapped, as_policy(pyspiel.make_uniform_random_bot, TINY)]
    found += [Sparta(objective=lambda score: score), found[-2]]
    found += upgrade("smartbot", GAME, JointSparta()).start(view)
    found += [load_policy(name, HanabiGame(players=2)) for name in BOTS]
    return [*found, as_spiel_policy("random", TINY)]


@pytest.mark.parametrize("thing", objects(), ids=lambda thing: type(thing).__name__)
def test_it_says_what_it_is_in_one_line(thing: Any) -> None:
    text = repr(thing)
    assert " object at 0x" not in text and "\n" not in text
    assert len(text) < 200


def test_beliefs_say_whose_they_are_and_what_to_read_them_with() -> None:
    view = GAME.deal(np.random.default_rng(0), 1).view(1)
    belief = private_belief(GAME, (SmartBot(),) * 2, view)
    assert repr(belief) == f"<HandBelief of P1 over SmartBot on {GAME!r}>"
    drawn = Particles(5)((UNIFORM,) * 2, view)
    assert repr(drawn).endswith(", the belief is a sample of the worlds>")
    shared = public_belief(GAME, (SmartBot(),) * 2, view)
    assert repr(shared) == f"<HandRanges at turn 0 over SmartBot on {GAME!r}>"


def test_what_asks_a_policy_shows_it() -> None:
    shown = "Sparta(rollouts=10000) over UniformPolicy on OpenSpielGame('tiny_hanabi()')"
    agent = upgrade("random", TINY)
    assert repr(as_bot(agent, TINY, 0)) == f"<bot of P0: {shown}, seed 0>"
    assert repr(as_bot("random", TINY, 0)) == f"<bot of P0: UniformPolicy on {TINY!r}, seed 0>"
    assert repr(hanabi.SeatAgent("smartbot", GAME.config, 1)) == f"<SmartBot at seat 1 of {GAME!r}>"
    random = as_policy(pyspiel.make_uniform_random_bot, TINY)
    assert repr(random) == f"as_policy(make_uniform_random_bot, {TINY!r})"


def test_what_there_is_one_of_is_no_plural() -> None:
    assert repr(Streams(np.zeros(1, dtype=np.uint64))) == "<1 stream>"
    assert repr(evaluate(GAME, "random", games=1).games) == "<1 result>"
    assert repr(evaluate(GAME, "random", games=2).games) == "<2 results>"
