"""What newcomers write by mistake in Python: each is refused by one sentence with the way out."""

from __future__ import annotations

import inspect
import logging
import random
import re
import textwrap
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pyspiel
import pytest

from hanabi_search_plugin import (
    Evaluation,
    Game,
    HanabiConfig,
    HanabiGame,
    JointSparta,
    Lbs,
    Learned,
    Mds,
    OneGame,
    Particles,
    RisMcts,
    RuleAgent,
    SmartBot,
    Sparta,
    UnknownPartners,
    Worlds,
    compare,
    evaluate,
    from_callable,
    load_policy,
    private_belief,
    public_belief,
    register_policy,
    upgrade,
)
from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.beliefs.seatwise import Seatwise
from hanabi_search_plugin.bridge import BridgeBidding
from hanabi_search_plugin.core.agent import SearchAgent
from hanabi_search_plugin.core.errors import (
    ConfigError,
    ContractError,
    HanabiSearchError,
    IllegalActionError,
    RecordError,
    UnsupportedError,
)
from hanabi_search_plugin.core.game import Event, View
from hanabi_search_plugin.core.near_names import near_names
from hanabi_search_plugin.core.plain_game import PlainGame
from hanabi_search_plugin.core.policy import Policy, UniformPolicy, Value
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.games.mini_bridge import MiniBridge
from hanabi_search_plugin.hanabi import (
    DiscardOldest,
    PlayProbablySafe,
    PlaySafe,
    read_games,
    replay,
    write_games,
)
from hanabi_search_plugin.judge import Judge, observation_text, play_games
from hanabi_search_plugin.named_searches import SEARCHES
from hanabi_search_plugin.testing import (
    check_agent,
    check_belief,
    check_game,
    check_policy,
    check_search,
)
from hanabi_search_plugin.wrappers.openspiel import (
    OpenSpielDealtGame,
    OpenSpielGame,
    Redealt,
    as_bot,
    as_policy,
    as_rl_agent,
    as_spiel_policy,
    load_game,
)

GAME = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, bomb="keep")
RNG = np.random.default_rng(0)
WORLDS = GAME.deal(np.random.default_rng(0), 3)
VIEW = WORLDS.view(0).select(np.array([0]))
BELIEF = private_belief(GAME, "random", VIEW)
EVENT = GAME.deal(np.random.default_rng(0), 1).step(np.array([4]))
RECORD = next(play_games(GAME, "random", 1))
KUHN = OpenSpielGame("kuhn_poker")
SPARTA = upgrade("random", GAME, Sparta(rollouts=20))
MEMORY = SPARTA.start(VIEW)
STREAMS = Streams.spawn(np.random.default_rng(0), 1)
NATIVE = HanabiGame(players=2)
PAST = BELIEF.update(
    (MOVED := GAME.deal(np.random.default_rng(0), 1)).step(np.array([4])), MOVED.view(0)
)  # of a seat that is not to move


PAIR = NATIVE.deal(np.random.default_rng(0), 1)
FIRST = PAIR.view(0).select(np.array([0]))
AGENT = upgrade("random", NATIVE, Sparta(rollouts=20))
OF_AGENT = AGENT.start(FIRST)
PUBLIC = public_belief(NATIVE, "smartbot", FIRST)
OF_THREE = public_belief(
    HanabiGame(players=3),
    "smartbot",
    HanabiGame(players=3).deal(np.random.default_rng(0), 1).view(0),
)
OF_KUHN = public_belief(KUHN, "random", KUHN.deal(np.random.default_rng(0), 1).view(0))


class ValueAlone(Value):
    def value(self, view: View, memory: Any) -> Any:
        return np.zeros(len(view))


class Valued(UniformPolicy, ValueAlone):
    def __init__(self, combine: Any) -> None:
        self.combine = combine


def over(game: Game) -> Worlds:
    worlds = game.deal(RNG, 1)
    while not worlds.terminal[0]:
        worlds.step(worlds.legal.argmax(axis=1))
    return worlds


def a_hand(belief: Any) -> Any:
    """An information state of player 0 of native Hanabi, whose others can be dealt."""
    players = belief.game.num_players
    worlds = HanabiGame(players=players).deal(np.random.default_rng(0), 1)
    return np.array([belief.infostate_of(worlds.view(0))])


def times_mask(factor: float) -> Any:
    return from_callable(lambda obs, mask: factor * mask / mask.sum(), returns="probabilities")


@pytest.mark.parametrize(
    ("kind", "says", "wrong"),
    [
        # arguments in another order
        (UnsupportedError, r"come as in private_belief\(game, policy, view\), got a tuple in",
         lambda: private_belief((SmartBot(),) * 2, GAME, VIEW)),  # type: ignore[arg-type]
        (UnsupportedError, r"come as in upgrade\(policy, game, search\), got a str",
         lambda: upgrade(GAME, "smartbot")),  # type: ignore[arg-type]
        (UnsupportedError, r"come as in upgrade\(policy, game, search\), got a Sparta",
         lambda: upgrade("smartbot", Sparta(), GAME)),  # type: ignore[arg-type]
        (UnsupportedError, r"come as in evaluate\(game, policies, games=100\), got a str",
         lambda: evaluate("smartbot", GAME, games=1)),  # type: ignore[arg-type]
        (UnsupportedError, r"come as in load_policy\(name, game\), got a str",
         lambda: load_policy(GAME, "smartbot")),  # type: ignore[arg-type]
        (UnsupportedError, r"drawn by \(rng, n\), .*default_rng\(0\).*got \(int, Generator\)",
         lambda: BELIEF.sample(3, RNG)),  # type: ignore[arg-type]
        (UnsupportedError, r"updated by \(event, view\), .*got \(HanabiView, Event\)",
         lambda: BELIEF.update(VIEW, EVENT)),  # type: ignore[arg-type]
        (UnsupportedError, r"searches anew for each move and has no probabilities: agent\.decide",
         lambda: SPARTA.probabilities(VIEW, VIEW.legal, MEMORY)),
        *(
            (UnsupportedError, rf"come as in {says}, got a BeliefAgent in the place of the game",
             partial(make, game, SPARTA, *rest))
            for game in (GAME, pyspiel.load_game("hanabi"))
            for make, rest, says in (
                (as_bot, (0,), r"as_bot\(policy, game, player_id\)"),
                (as_spiel_policy, (), r"as_spiel_policy\(policy, game\)"),
                (as_rl_agent, (0,), r"as_rl_agent\(policy, game, player_id\)"),
            )
        ),
        (UnsupportedError, r"come as in event\.seen_by\(player, game\), got an int in the place of",
         lambda: EVENT.seen_by(GAME, 0)),  # type: ignore[arg-type]
        *(
            (UnsupportedError,
             r"as in observation_text\(game\.config, view\.rows\[0\], seat\), got "
             rf"\({came}\)",
             partial(observation_text, *given))
            for came, given in (
                ("ndarray, HanabiConfig, int", (WORLDS.rows[0], GAME.config, 0)),
                ("HanabiGame, ndarray, int", (GAME, WORLDS.rows[0], 0)),
                ("HanabiConfig, int, ndarray", (GAME.config, 0, WORLDS.rows[0])),
            )
        ),
        (UnsupportedError, r"of 40 words, got an array of shape \(3, 40\)",
         lambda: observation_text(GAME.config, WORLDS.rows, 0)),
        (ConfigError, "seat must be an integer from 0 to 1, got 2",
         lambda: observation_text(GAME.config, WORLDS.rows[0], 2)),
        *(
            (ConfigError, r'got .*players.*: options .* as in "leduc_poker\(players=3\)"$',
             partial(make, "leduc_poker", *given, **options))
            for make in (OpenSpielGame, OpenSpielDealtGame, load_game)
            for given, options in (((), {"players": 3}), (({"players": 3},), {}))
        ),
        # things of another kind
        (UnsupportedError, r"updated by \(event, view\), .*got \(str, HanabiView\)",
         lambda: BELIEF.update("play 1", VIEW)),  # type: ignore[arg-type]
        (UnsupportedError, "the view of a seat, .*got 3 worlds",
         lambda: BELIEF.update(EVENT, WORLDS)),  # type: ignore[arg-type]
        (UnsupportedError, "expected a view of HanabiGame.*, got one of OpenSpielGame",
         lambda: BELIEF.update(EVENT, KUHN.deal(RNG, 1).view(0))),
        (ConfigError, "number of worlds must be an integer of at least 0, got '3'",
         lambda: BELIEF.sample(RNG, "3")),  # type: ignore[arg-type]
        (ConfigError, "number of worlds must be an integer of at least 0, got -3",
         lambda: BELIEF.sample(RNG, -3)),
        (UnsupportedError, r"np.random.default_rng\(0\) makes it, got \(int, int\)",
         lambda: GAME.deal(7, 1)),  # type: ignore[arg-type]
        (UnsupportedError, r"got \(Random, int\)",
         lambda: KUHN.deal(random.Random(0), 1)),  # type: ignore[arg-type]
        (ConfigError, "number of worlds must be an integer", lambda: GAME.deal(RNG, 2.0)),  # type: ignore[arg-type]
        (UnsupportedError, "the view of a seat, .*got 3 worlds",
         lambda: private_belief(GAME, "random", WORLDS)),  # type: ignore[arg-type]
        (ContractError, r"expected one view, got 3: view.select\(np.array\(\[0\]\)\)",
         lambda: private_belief(GAME, "random", WORLDS.view(0))),
        (UnsupportedError, "expected a view of OpenSpielGame.*, got one of HanabiGame",
         lambda: private_belief(KUHN, "random", VIEW)),
        (UnsupportedError, "expected a view of HanabiGame.*, got one of OpenSpielGame",
         lambda: public_belief(GAME, "random", KUHN.deal(RNG, 1).view(0))),
        (UnsupportedError, r"got a pyspiel.Game: load_game\(game\) or OpenSpielGame\(game\)",
         lambda: upgrade("uniform", pyspiel.load_game("kuhn_poker"))),
        (ConfigError, "got SmartBot, a policy, which needs no loading",
         lambda: load_policy(SmartBot(), GAME)),  # type: ignore[arg-type]
        (IllegalActionError, r"expected 1 action, got 2: write np.array\(\[2\]\)",
         lambda: GAME.deal(RNG, 1).step(2)),  # type: ignore[arg-type]
        (IllegalActionError, r"expected 3 actions, got 2: write np.array\(\[2\] \* 3\)",
         lambda: GAME.deal(RNG, 3).step(np.int64(2))),  # type: ignore[arg-type]
        (IllegalActionError, "the game of world 0 is over", lambda: over(KUHN).step(np.array([0]))),
        (ContractError, "describe shows one world, got 3", lambda: WORLDS.view(0).describe()),
        (ConfigError, "a position is one world, got a view of 3: view.select",
         lambda: Judge("random")(WORLDS.view(0))),
        (RecordError, "a position must be text, .* got None", lambda: Judge("random")(None)),  # type: ignore[arg-type]
        (UnsupportedError, r"got a pyspiel.Game: load_game\(game\) or OpenSpielGame\(game\)",
         lambda: as_policy(None, pyspiel.load_game("kuhn_poker"))),
        # checks of contracts
        (ConfigError, r"check_search\(game, search, policy=.*too many positional arguments",
         lambda: check_search(GAME, Sparta(), "uniform")),  # type: ignore[misc]
        (ConfigError, r"check_game\(game, seed=..., games=...\) is the call: too many positional",
         lambda: check_game(GAME, 3)),  # type: ignore[misc]
        (ConfigError, "check_game.*unexpected keyword argument 'foo'",
         lambda: check_game(GAME, foo=1)),  # type: ignore[call-arg]
        (ConfigError, "check_game.*missing a required argument: 'game'", lambda: check_game()),  # type: ignore[call-arg]
        (ConfigError, "check_policy.*missing a required argument: 'policy'",
         lambda: check_policy(GAME)),  # type: ignore[call-arg]
        (ConfigError, "games must be an integer of at least 1, got 0",
         lambda: check_game(GAME, games=0)),
        (UnsupportedError, r"must come as in check_search\(game, search\), got a Sparta",
         lambda: check_search(Sparta(), GAME)),  # type: ignore[arg-type]
        (UnsupportedError, r"must come as in check_policy\(game, policy\), got a SmartBot",
         lambda: check_policy(SmartBot(), GAME)),  # type: ignore[arg-type]
        # words that others have for an option
        (ConfigError, "got 'rollouts': did you mean iterations", lambda: RisMcts(rollouts=9)),  # type: ignore[call-arg]
        (ConfigError, "got 'iterations': did you mean rollouts", lambda: Lbs(iterations=9)),  # type: ignore[call-arg]
        (ConfigError, "argument of load_policy must be .* got 'foo': options follow the name",
         lambda: load_policy("smartbot", GAME, foo=1)),  # type: ignore[call-arg]
        (ConfigError, "argument of register_policy must be one of name, load, .* got 'foo'",
         lambda: register_policy(foo=1)),  # type: ignore[call-arg]
        (ConfigError, "player must be from 0 to 1, got -1", lambda: WORLDS.view(-1)),
        (ConfigError, "player must be from 0 to 1, got 5", lambda: KUHN.deal(RNG, 1).view(5)),
        (UnsupportedError, "player must be an integer from 0 to 1, got '0'",
         lambda: WORLDS.view("0")),  # type: ignore[arg-type]
        (IllegalActionError, "seat 0 is not to move", lambda: Sparta(rollouts=9)(RNG, PAST)),
        (IllegalActionError, "seat 0 is not to move", lambda: RisMcts(iterations=9)(RNG, PAST)),
        # rules and names
        (ConfigError, r"got the class PlaySafe: write PlaySafe\(\)",
         lambda: RuleAgent([PlaySafe])),  # type: ignore[list-item]
        (ConfigError, r"got 'pierz': load_policy\('piers', game\)", lambda: RuleAgent("pierz")),  # type: ignore[arg-type]
        (ConfigError, "got nofile.pt, which is no file", lambda: Learned("nofile.pt")),
        (ConfigError, "policy must be one of .*, got ''", lambda: load_policy("")),
        (ConfigError, "candidates must be a list of policies", lambda: UnknownPartners(3)),  # type: ignore[arg-type]
        # options
        (ConfigError, "an option of Sparta must be .*got 'rollout': did you mean rollouts",
         lambda: Sparta(rollout=5)),  # type: ignore[call-arg]
        (ConfigError, "got 'deepth': did you mean depth", lambda: Lbs(deepth=5)),  # type: ignore[call-arg]
        (ConfigError, "got 'iteration': did you mean iterations", lambda: RisMcts(iteration=5)),  # type: ignore[call-arg]
        (ConfigError, "got 'max_rang': did you mean max_range", lambda: JointSparta(max_rang=5)),  # type: ignore[call-arg]
        (ConfigError, "got 'etta': did you mean eta", lambda: Mds(etta=5)),  # type: ignore[call-arg]
        (ConfigError, "got 'particle': did you mean particles", lambda: Particles(particle=5)),  # type: ignore[call-arg]
        (ConfigError, "got 'player': did you mean players", lambda: HanabiConfig(player=5)),  # type: ignore[call-arg]
        (ConfigError, r"options of Sparta have names, as in Sparta\(rollouts=...\), got 300",
         lambda: Sparta(300)),  # type: ignore[misc]
        (ConfigError, "an argument of evaluate must be .*got 'sead': did you mean seed",
         lambda: evaluate(GAME, "random", games=1, sead=1)),  # type: ignore[call-arg]
        (ConfigError, "arguments of evaluate after policies have names, as in games=..., got 10",
         lambda: evaluate(GAME, "random", 10)),  # type: ignore[call-arg, misc]
        (ConfigError, r"got 'rollouts': a search has options, as in Sparta\(rollouts=...\)",
         lambda: upgrade("random", GAME, rollouts=300)),  # type: ignore[call-arg]
        (ConfigError, "got 'belif': did you mean belief",
         lambda: upgrade("random", GAME, belif=3)),  # type: ignore[call-arg]
        (ConfigError, "got 'eps': did you mean epsilon",
         lambda: private_belief(GAME, "random", VIEW, eps=0.1)),  # type: ignore[call-arg]
        (ConfigError, "reallocate must be True or False, got 'no'",
         lambda: Sparta(reallocate="no")),  # type: ignore[arg-type]
        (ConfigError, "evidence must be True or False, got None",
         lambda: RisMcts(evidence=None)),  # type: ignore[arg-type]
        (ConfigError, "eta must be a number of at least 0, or inf, got 'x'",
         lambda: Mds(eta="x")),  # type: ignore[arg-type]
        (ConfigError, r"write SmartBot\(\)", lambda: Sparta(continuation=SmartBot)),  # type: ignore[arg-type]
        (UnsupportedError, r"executor must be an Executor, as Processes\(4\), got 3",
         lambda: evaluate(GAME, "random", games=1, executor=3)),  # type: ignore[arg-type]
        (ConfigError, "resume must be a path, got 3",
         lambda: evaluate(GAME, "random", games=1, resume=3)),  # type: ignore[arg-type]
        (ConfigError, "resume must lie in a folder that exists",
         lambda: evaluate(GAME, "random", games=1, resume="/nofolder/x")),
        (ConfigError, "baseline must be one of .*got 'randon': did you mean random",
         lambda: evaluate(GAME, "random", games=1, baseline="randon")),
        (ConfigError, r"got the search Sparta.*: upgrade\(policy, game, Sparta\(\)\)",
         lambda: evaluate(GAME, Sparta(), games=1)),  # type: ignore[arg-type]
        (ConfigError, "reason must be one of improved, .*, got 'improve': did you mean improved",
         lambda: replace(SPARTA.decide(MEMORY[0], RNG), reason="improve")),  # type: ignore[arg-type]
        # recorded games
        (ConfigError, "list of RecordedGames, .*got '/x.jsonl'", lambda: replay("/x.jsonl")),  # type: ignore[arg-type]
        (ConfigError, r"got one of them: write \[record\]", lambda: replay(RECORD)),  # type: ignore[arg-type]
        (ConfigError, "must be RecordedGames, .*got 3", lambda: replay([3])),  # type: ignore[list-item]
        (UnsupportedError, "expected a Policy, .*got an int", lambda: replay([RECORD], 3)),  # type: ignore[arg-type]
        (ConfigError, "path must be a path, got None", lambda: write_games(None, [RECORD])),  # type: ignore[arg-type]
        (ConfigError, "file of games must be a path, got 3", lambda: list(read_games(3))),  # type: ignore[arg-type]
        (UnsupportedError, r"come as in play_games\(game, policies, games\)",
         lambda: list(play_games("random", GAME, 1))),  # type: ignore[arg-type]
        # values
        (UnsupportedError, r"got a ValueAlone.*inherit from Policy, too, as in class ValueAlone\(P",
         lambda: upgrade(ValueAlone(), GAME, Lbs())),  # type: ignore[arg-type]
        (ContractError, "combine of Valued must be one of .*got 'means': did you mean mean",
         lambda: upgrade(Valued("means"), GAME, Lbs())),
        (ContractError, "combine of Valued must be one of .*got 3",
         lambda: check_policy(GAME, Valued(3))),
        # a belief for a search, a search for a belief, and beliefs that do not fit
        (ConfigError, r"got Particles\(particles=9\), which makes beliefs: .*belief=Particles",
         lambda: upgrade("random", GAME, Particles(particles=9))),  # type: ignore[arg-type]
        (ConfigError, r"got the search Sparta.*upgrade\(policy, game, Sparta",
         lambda: upgrade("random", GAME, belief=Sparta())),  # type: ignore[arg-type]
        (ConfigError, r"got the search JointSparta",
         lambda: upgrade("random", GAME, belief=JointSparta())),  # type: ignore[arg-type]
        (ContractError, r"called as belief\(blueprint, view\), got \(v\)",
         lambda: upgrade("random", GAME, belief=lambda v: v)),  # type: ignore[arg-type, misc]
        (ContractError, r"must make a Belief of \(blueprint, view\), got 5",
         lambda: upgrade("random", GAME, belief=lambda b, v: 5).start(VIEW)),  # type: ignore[arg-type, return-value]
        (UnsupportedError, 'the game has a belief of its own: belief=None, or "exact"',
         lambda: upgrade("random", NATIVE, belief=Particles(particles=200))),
        (UnsupportedError, 'the game has a belief of its own: belief=None, or "exact"',
         lambda: upgrade("random", NATIVE, belief="particles")),
        (UnsupportedError, 'for games of OpenSpiel, got HanabiGame.*belief=None, or "exact"',
         lambda: upgrade("random", NATIVE, belief="redealt")),
        # an agent driven by hand
        (UnsupportedError, "the agent's memory, a list .*got a NoneType",
         lambda: SPARTA.act(VIEW, VIEW.legal, None, STREAMS)),
        (UnsupportedError, r"observes \(view, event, memory\), an Event .*got a NoneType",
         lambda: SPARTA.observe(VIEW, None, MEMORY)),  # type: ignore[arg-type]
        (UnsupportedError, "the agent's memory, a list .*got a NoneType",
         lambda: SPARTA.observe(VIEW, EVENT, None)),
        (ContractError, "expected the view of seat 0, whose memory is given, got one of seat 1",
         lambda: SPARTA.act(WORLDS.view(1).select(np.array([0])), VIEW.legal, MEMORY, STREAMS)),
        (ContractError, "one entry for each of 3 worlds of the view, got 1",
         lambda: SPARTA.act(WORLDS.view(0), WORLDS.legal, MEMORY, STREAMS)),
        (UnsupportedError, r"decide\(belief, rng\), .*got \(Generator, HandBelief\): swap them",
         lambda: SPARTA.decide(RNG, MEMORY[0])),  # type: ignore[arg-type]
        (UnsupportedError, r"an entry of the agent's memory as memory\[0\] is, .*got \(list, Gen",
         lambda: SPARTA.decide(MEMORY, RNG)),
        (UnsupportedError, r"belief for HanabiGame.*colors=2.*, got one for HanabiGame.players=2.$",
         lambda: SPARTA.decide(private_belief(NATIVE, "random", FIRST), RNG)),
        (UnsupportedError, r"belief for HanabiGame.players=2., got one for HanabiGame.*colors=2",
         lambda: upgrade("random", NATIVE, JointSparta()).decide(
             upgrade("random", GAME, JointSparta()).start(VIEW)[0], RNG)),
        (UnsupportedError, r"over UniformPolicy, the agent's blueprint, got one over SmartBot",
         lambda: SPARTA.decide(private_belief(GAME, "smartbot", VIEW), RNG)),
        (IllegalActionError, "no action is legal in world 0, where the game is over",
         lambda: UniformPolicy().act(
             over(KUHN).view(0), over(KUHN).legal, None, STREAMS)),
        (ConfigError, "policy must be one that does not search, got Sparta.rollouts=20",
         lambda: private_belief(NATIVE, AGENT, FIRST)),
        (ConfigError, "policy must be one that does not search, got Sparta.rollouts=20",
         lambda: public_belief(NATIVE, ("smartbot", AGENT), FIRST)),
        # public beliefs
        *(
            (kind, says, partial(ask, belief))
            for belief in (PUBLIC, OF_THREE, OF_KUHN)
            for kind, says, ask in (
                (ContractError, r"player 0 has no information state -5 here: infostates\(0\) lists",
                 lambda b: b.condition_on(0, -5)),
                (ContractError, "player 1 has no information state 1000000000000 here",
                 lambda b: b.sample(1, np.array([10**12]), STREAMS)),
                (ContractError, "player 1 has no information state 1000000000000 here",
                 lambda b: b.weights(1, [10**12])),
                (UnsupportedError, r"array of integers, one each, .*got 3: write np.array\(\[3\]\)",
                 lambda b: b.sample(0, 3, STREAMS)),
                (UnsupportedError, "array of integers, one each, .*got float64",
                 lambda b: b.weights(0, np.array([0.5]))),
                (UnsupportedError, "array of integers, one each, .*got None",
                 lambda b: b.memory_of(0, None)),
                (UnsupportedError, r"chance must be Streams, .*default_rng\(0\), n\).*got a Gener",
                 lambda b: b.sample(0, b.infostates(0)[:1] if b.size(0) < 9 else a_hand(b), RNG)),
                (ConfigError, "player must be from 0 to ., got 7", lambda b: b.weights(7, [0])),
            )
        ),
        (ContractError, "expected a view of seat 0, got one of 1", lambda: OF_KUHN.update(
            (deal := KUHN.deal(RNG, 1)).step(np.array([0])), deal.view(1))),
        (UnsupportedError, r"Streams.spawn\(np.random.default_rng\(0\), B\) makes them, got 5",
         lambda: Streams(5)),  # type: ignore[arg-type]
        (UnsupportedError, "player must be an integer from 0 to 1, got True",
         lambda: WORLDS.view(True)),
        *(
            (kind, says, partial(game.action_to_string, *given))
            for game in (GAME, KUHN, MiniBridge())
            for kind, says, given in (
                (ConfigError, "player must be from 0 to 1, got 7", (7, 0)),
                (IllegalActionError, "action must be an integer from 0 to .*, got 999", (0, 999)),
                (IllegalActionError, "action must be an integer from 0 to .*, got -1", (0, -1)),
            )
        ),
        # functions
        (ContractError, "sum to 1 in each row, got a row that sums to 3",
         lambda: evaluate(GAME, times_mask(3), games=1)),
        (ContractError, "not negative", lambda: evaluate(GAME, times_mask(-1), games=1)),
        (ContractError, "finite", lambda: evaluate(GAME, times_mask(np.nan), games=1)),
        (ConfigError, "greedy must be True or False, got 'x'",
         lambda: from_callable(len, returns="logits", greedy="x")),  # type: ignore[arg-type]
        (ConfigError, "encoding must be a name, or None, got 3",
         lambda: from_callable(len, returns="logits", encoding=3)),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_it_is_refused_in_a_sentence(
    kind: type[HanabiSearchError], says: str, wrong: Callable[..., Any]
) -> None:
    with pytest.raises(kind, match=says) as caught:
        wrong()
    assert "\n" not in str(caught.value).partition("\nin game")[0]


def test_a_belief_of_ones_own_making_is_as_good_as_the_agents() -> None:
    same = HanabiGame(players=2, colors=2, ranks=2, hand_size=2, bomb="keep")
    view = same.deal(np.random.default_rng(0), 3).view(0).select(np.array([0]))
    made = private_belief(same, "random", view)  # another game and policy, equal ones
    own = SPARTA.decide(MEMORY[0], np.random.default_rng(1))
    assert SPARTA.decide(made, np.random.default_rng(1)) == own


@pytest.mark.parametrize("name", ["open_spiel:", "openspiel/", "OpenSpiel:", "openspeil:"])
def test_a_game_of_openspiel_may_have_its_prefix_and_no_other(name: str) -> None:
    assert repr(load_game("openspiel:kuhn_poker")) == repr(KUHN)
    with pytest.raises(ConfigError, match=r"did you mean kuhn_poker\?"):
        load_game(f"{name}kuhn_poker")


def test_a_name_that_is_there_is_the_only_one_near() -> None:
    assert near_names("Leduc-Poker", ["repeated_leduc_poker", "leduc_poker"]) == ["leduc_poker"]


# ------------------------------------------------------------------ what still works as it did


@pytest.mark.parametrize("make", [entry.make for entry in SEARCHES.values()], ids=list(SEARCHES))
def test_searches_show_their_options(make: Any) -> None:
    shown = inspect.signature(make).parameters
    assert len(shown) > 5 and all(one.kind is one.KEYWORD_ONLY for one in shown.values())


def test_functions_show_their_arguments() -> None:
    assert [*inspect.signature(upgrade).parameters][:3] == ["policy", "game", "search"]
    assert inspect.signature(evaluate).parameters["seed"].default == 0
    assert upgrade.__module__ == "hanabi_search_plugin.belief_agent" and upgrade.__doc__


def test_a_subclass_of_a_search_has_arguments_of_its_own() -> None:
    class Mine(Sparta):
        def __init__(self, effort: int) -> None:
            super().__init__(rollouts=effort)

    assert Mine(30).rollouts == 30 and Mine(effort=40).rollouts == 40


# ----------------------------------------------------------------------------- beliefs and agents


def test_a_belief_that_begins_in_the_middle_of_a_game_says_so() -> None:
    worlds = HanabiGame(players=2).deal(np.random.default_rng(0), 1)
    views = []
    for moves in range(3):
        views.append(worlds.view(moves % 2))
        worlds.step(np.flatnonzero(worlds.legal[0])[-1:])
    notes = [private_belief(HanabiGame(players=2), "smartbot", view).caveats() for view in views]
    middle = "the belief begins in the middle of the game: "
    assert notes[0] == []
    assert notes[1] == [f"{middle}1 earlier move is no evidence"]
    assert notes[2] == [f"{middle}2 earlier moves are no evidence"]
    belief = private_belief(HanabiGame(players=2), "smartbot", views[2])
    assert middle in Sparta(rollouts=40)(np.random.default_rng(0), belief).note


def test_a_joint_search_at_one_seat_is_told_to_take_all(caplog: pytest.LogCaptureFixture) -> None:
    joint = upgrade("random", GAME, JointSparta(rollouts=8, max_range=3))
    with caplog.at_level(logging.WARNING):
        evaluate(GAME, ("random", joint), games=2)
    assert "takes all seats to search jointly, and sits at 1 of 2" in caplog.text
    assert "let one seat search alone, by upgrade(policy, game, Sparta())" in caplog.text
    assert "for_all_seats" not in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        evaluate(GAME, joint, games=1)
    assert "jointly" not in caplog.text


def test_an_agent_of_rules_shows_them() -> None:
    agent = RuleAgent([PlayProbablySafe(0.6, if_lives_above=1), PlaySafe(), DiscardOldest()])
    shown = "RuleAgent([PlayProbablySafe(if_lives_above=1, threshold=0.6), PlaySafe(), "
    assert repr(agent) == f"{shown}DiscardOldest()])"
    assert eval(repr(agent)).parameters == agent.parameters
    assert repr(load_policy("piers")) == "RuleAgent('piers')"


def test_values_are_those_of_the_player_to_move_where_nothing_is_said() -> None:
    class Mine(UniformPolicy, ValueAlone):
        pass

    agent = upgrade(Mine(), GAME, Sparta(rollouts=40, min_rollouts=2, depth=2))
    result = agent.decide(agent.start(VIEW)[0], np.random.default_rng(0))  # type: ignore[attr-defined]
    assert Mine().combine == "mover" and result.rollouts > 0


def test_particles_go_on_with_those_that_were_found() -> None:
    view = GAME.deal(np.random.default_rng(3), 1).view(0)
    shown = len(Particles(particles=100, tries=50_000)((UniformPolicy(),) * 2, view).tracked)
    few = Particles(particles=1000, tries=4000)((UniformPolicy(),) * 2, view)
    assert shown == 100 and 100 <= few.size < 1000
    assert f"{few.size} particles were found, expected 1000" in few.caveats()


def test_particles_that_ran_out_are_told_from_a_partner_that_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = upgrade("random", GAME, Sparta(rollouts=20), belief=Particles(particles=3))
    worlds = GAME.deal(np.random.default_rng(4), 1)
    memory = agent.start(worlds.view(0))
    for move in (0, -1):
        event = worlds.step(np.flatnonzero(worlds.legal[0])[[move]])
        memory = agent.observe(worlds.view(0), event, memory)
    assert memory[0].ran_out and memory[0].recovered == 1
    assert "the particles of seat 0 ran out" in caplog.text and "rules out" not in caplog.text


@pytest.mark.parametrize("belief", [None, Particles(particles=50)])
def test_a_belief_is_updated_by_an_event_once(belief: Any) -> None:
    agent = upgrade("random", GAME, Sparta(rollouts=20), belief=belief)
    worlds = GAME.deal(np.random.default_rng(0), 1)
    memory = agent.start(worlds.view(0))
    event = worlds.step(np.flatnonzero(worlds.legal[0])[-1:])
    after = agent.observe(worlds.view(0), event, memory)
    with pytest.raises(
        ContractError, match=r"by each event once.*seat 1 is to move, got a move of"
    ):
        agent.observe(worlds.view(0), event, after)


def test_what_is_set_stays_where_all_seats_search(caplog: pytest.LogCaptureFixture) -> None:
    alone = upgrade("random", GAME, Sparta(rollouts=200, threshold=0.1, endgame=1000))
    assert "threshold=0.1" in repr(alone.for_all_seats())
    few = upgrade("random", NATIVE, Sparta(rollouts=200)).for_all_seats()
    assert "JointSparta(rollouts=200, max_range=80, min_rollouts=10)" in repr(few)
    with caplog.at_level(logging.WARNING):
        evaluate(GAME, alone, games=1)
        evaluate(GAME, upgrade("random", GAME, Sparta(rollouts=40)), games=1)
    assert "ask for more gain where no threshold was set" in caplog.text
    assert "cannot give each" not in caplog.text


# ----------------------------------------------------------------------- bots driven by hand

BOTS = ("smartbot", "hatbot", "hatbot-b", "vdb", "cautious", "evalfn")


def streams(n: int = 1) -> Streams:
    return Streams.spawn(np.random.default_rng(0), n)


@pytest.mark.parametrize("name", BOTS)
def test_a_bot_is_not_given_a_memory_that_does_not_fit(name: str) -> None:
    bot = load_policy(name, NATIVE)
    worlds, many = NATIVE.deal(np.random.default_rng(0), 1), NATIVE.deal(RNG, 8)
    four = HanabiGame(players=4).deal(RNG, 1)
    view, memory = worlds.view(0), bot.start(worlds.view(0))
    wrong: list[tuple[type[HanabiSearchError], str, View, Any]] = [
        (UnsupportedError, "an array as policy.start.view. .*got a NoneType", view, None),
        (UnsupportedError, "an array as policy.start.view. .*got a list", view, []),
        (ContractError, "int32 of shape .*got float64", view, memory.astype(float)),
        (ContractError, r"int32 of shape .*got int32 of shape \(1, 3\)", view, memory[:, :3]),
        (ContractError, r"int32 of shape .*got int32 of shape \(\d+,\)", view, memory[0]),
        (ContractError, "the memory of 8 worlds, as the view has, got 1", many.view(0), memory),
        (ContractError, r"in HanabiGame\(players=4\), int32 of shape", four.view(0), memory),
        (UnsupportedError, r"as worlds.view\(seat\) gives it, got 1 world", worlds, memory),  # type: ignore[list-item]
        (UnsupportedError, "play native Hanabi .*kuhn_poker", KUHN.deal(RNG, 1).view(0), memory),
    ]
    for kind, says, seen, given in wrong:
        with pytest.raises(kind, match=says):
            bot.act(seen, seen.legal, given, streams(len(seen)))
    events = [game.step(game.legal.argmax(axis=1)) for game in (many, four)]
    for seen, event, says in (
        (many.view(0), events[0], "the memory of 8 worlds, as the view has, got 1"),
        (four.view(0), events[1], r"in HanabiGame\(players=4\), int32 of shape"),
    ):
        with pytest.raises(ContractError, match=says):
            bot.observe(seen, event, memory)
    with pytest.raises(UnsupportedError, match=r"worlds.view\(seat\) gives it, got 8 worlds"):
        bot.start(many)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BOTS)
def test_a_bot_observes_each_event_once_with_the_view_after_it(name: str) -> None:
    bot = load_policy(name, NATIVE)
    worlds = NATIVE.deal(np.random.default_rng(0), 1)
    before = worlds.view(0)
    memory = bot.start(before)
    action = bot.act(before, before.legal, memory, streams())
    with pytest.raises(ContractError, match=r"holds 0 moves, and the view shows 0: .*worlds.step"):
        bot.observe(before, Event(worlds.current_player, action), memory)
    event = worlds.step(action)
    with pytest.raises(UnsupportedError, match=r"an Event as worlds.step.* got a NoneType"):
        bot.observe(worlds.view(0), None, memory)  # type: ignore[arg-type]
    with pytest.raises(ContractError, match=r"event, action \d+ of seat 1, got one that shows act"):
        bot.observe(worlds.view(0), Event(1 - event.player, event.action), memory)
    after = bot.observe(worlds.view(0), event, memory)
    with pytest.raises(
        ContractError, match=r"each event once, .*holds 1 move, and the view shows 1"
    ):
        bot.observe(worlds.view(0), event, after)
    with pytest.raises(ContractError, match=r"as the view shows, 1, got one of 0: observe\(view"):
        bot.act(worlds.view(1), worlds.legal, memory, streams())
    with pytest.raises(ContractError, match="as the view shows, 0, got one of 1: take the view of"):
        bot.act(before, before.legal, after, streams())
    with pytest.raises(IllegalActionError, match=r"seat 0 has no move .*: seat 1 is to move"):
        bot.act(worlds.view(0), worlds.legal, after, streams())
    event = worlds.step(worlds.legal.argmax(axis=1))
    with pytest.raises(
        ContractError, match=r"holds 0 moves, .*shows 2: an event before it was left"
    ):
        bot.observe(worlds.view(0), event, memory)


@pytest.mark.parametrize("name", BOTS)
def test_a_bot_has_no_move_after_the_game(name: str) -> None:
    bot, worlds = load_policy(name, NATIVE), over(NATIVE)
    for seat in range(2):
        view = worlds.view(seat)
        with pytest.raises(IllegalActionError, match=f"seat {seat} has no move .*the game is over"):
            bot.act(view, view.legal, bot.start(view), streams())
        with pytest.raises(IllegalActionError, match="the game is over"):
            bot.probabilities(view, view.legal, bot.start(view))


@pytest.mark.parametrize("name", BOTS)
def test_a_bot_looks_at_the_moves_that_it_is_handed(name: str) -> None:
    bot, worlds = load_policy(name, NATIVE), NATIVE.deal(np.random.default_rng(0), 3)
    view, memory = worlds.view(0), bot.start(worlds.view(0))
    one_without = view.legal
    one_without[1] = False
    for kind, says, legal in (
        (ContractError, r"a mask of shape \(3, 20\), as view\.legal is, got shape \(3, 8\)",
         GAME.deal(RNG, 3).legal),
        (ContractError, r"got shape \(1, 20\)", view.legal[:1]),
        (ContractError, r"got shape \(20,\)", view.legal[0]),
        (ContractError, "as view.legal is, got a NoneType", None),
        (ContractError, "as view.legal is, got a list", view.legal.tolist()),
        (IllegalActionError, "seat 0, which is to move, a move, got none in world 0",
         np.zeros_like(view.legal)),
        (IllegalActionError, "got none in world 1", one_without),
    ):  # fmt: skip
        with pytest.raises(kind, match=says):
            bot.act(view, legal, memory, streams(3))  # type: ignore[arg-type]
        with pytest.raises(kind, match=says):
            bot.probabilities(view, legal, memory)  # type: ignore[arg-type]


def test_a_guide_is_not_given_the_memory_of_another_bot() -> None:
    guide = load_policy("vdb", NATIVE)
    assert isinstance(guide, RuleAgent)
    worlds = NATIVE.deal(np.random.default_rng(0), 1)
    memory = SmartBot().start(worlds.view(0))
    event = worlds.step(np.array([15]))  # tells ones
    memory = SmartBot().observe(worlds.view(0), event, memory)
    assert memory.shape == guide.start(worlds.view(0)).shape
    with pytest.raises(ContractError, match=r"memory of RuleAgent.'vdb'., got that of another bot"):
        guide.redraw(worlds, 0, memory, streams())


# --------------------------------------------------------------- agents and beliefs, late or twice


@pytest.mark.parametrize("search", [Sparta(rollouts=20), JointSparta(rollouts=8, max_range=3)])
def test_an_agent_is_not_asked_at_a_view_that_it_has_not_seen(search: Any) -> None:
    agent = upgrade("random", GAME, search)
    worlds = GAME.deal(np.random.default_rng(0), 1)
    memory = agent.start(worlds.view(0))
    event = worlds.step(np.flatnonzero(worlds.legal[0])[-1:])
    with pytest.raises(ContractError, match="the view that the memory was updated with last, got"):
        agent.act(worlds.view(0), worlds.legal, memory, streams())
    after = agent.observe(worlds.view(0), event, memory)
    if isinstance(search, Sparta):
        with pytest.raises(IllegalActionError, match="seat 0 is not to move"):
            agent.act(worlds.view(0), worlds.legal, after, streams())


def test_an_agent_of_ones_own_is_not_checked_for_its_memory() -> None:
    """Nothing is asked of its entries, nor of the views that they may have."""
    inner = upgrade("random", GAME, Sparta(rollouts=20))

    class Mine(SearchAgent):
        game, blueprint = GAME, inner.blueprint

        def start(self, view: View) -> list[Any]:
            return inner.start(view)

        def decide(self, belief: Any, rng: np.random.Generator) -> Any:
            return inner.decide(belief, rng)

    worlds = GAME.deal(np.random.default_rng(0), 1)
    memory = Mine().start(worlds.view(0))
    legal = worlds.legal
    worlds.step(np.flatnonzero(legal[0])[-1:])
    action = Mine().act(worlds.view(0), legal, memory, streams())
    assert legal[0, action[0]]
    assert Mine().act(worlds.view(0), legal, tuple(memory), streams()) == action


@pytest.mark.parametrize("players", [2, 3])
def test_a_public_belief_is_updated_by_an_event_once_from_any_view(players: int) -> None:
    game = HanabiGame(players=players)
    worlds = game.deal(np.random.default_rng(0), 1)
    start = public_belief(game, "smartbot", worlds.view(0))
    before = worlds.view(0)
    event = worlds.step(np.flatnonzero(worlds.legal[0])[-1:])
    with pytest.raises(ContractError, match=r"got one that shows no move yet"):
        start.update(event, before)
    after = start.update(event, worlds.view(0))
    other = start.update(event, worlds.view(1))  # what is public in it is the same
    assert after.public_part(worlds.view(0)) == other.public_part(worlds.view(1))
    assert after.turn == other.turn == 1
    with pytest.raises(ContractError, match=r"each event once, .*seat 1 is to move, got a move of"):
        after.update(event, worlds.view(0))


def test_a_public_belief_of_worlds_listed_is_updated_by_an_event_once() -> None:
    worlds = KUHN.deal(np.random.default_rng(0), 1)
    belief = public_belief(KUHN, "random", worlds.view(0))
    event = worlds.step(np.array([0]))
    after = belief.update(event, worlds.view(0))
    with pytest.raises(ContractError, match=r"each event once, .*seat 1 is to move, got a move of"):
        after.update(event, worlds.view(0))


@pytest.mark.parametrize("players", [2, 3])
def test_a_public_belief_that_begins_in_the_middle_of_a_game_says_so(players: int) -> None:
    game = HanabiGame(players=players)
    worlds = game.deal(np.random.default_rng(0), 1)
    assert public_belief(game, "smartbot", worlds.view(0)).caveats() == []
    worlds.step(np.flatnonzero(worlds.legal[0])[-1:])
    assert public_belief(game, "smartbot", worlds.view(0)).caveats() == [
        "the public belief begins in the middle of the game: 1 earlier move is no evidence"
    ]


def test_information_states_against_the_hints_are_none() -> None:
    worlds = NATIVE.deal(np.random.default_rng(0), 1)
    belief = public_belief(NATIVE, "smartbot", worlds.view(0))
    event = worlds.step(np.flatnonzero(worlds.legal[0])[-1:])  # tells a rank above the lowest
    told = int(belief.infostate_of(worlds.view(0)))
    belief = belief.update(event, worlds.view(0))
    assert belief.condition_on(0, told).recovered == 0
    ones = sum(5 * (i // 2) << 5 * i for i in range(5))
    with pytest.raises(ContractError, match=f"no information state {ones} here"):
        belief.condition_on(0, ones)


def test_information_states_of_which_none_is_possible_have_no_weights() -> None:
    ids = a_hand(OF_THREE)
    assert OF_THREE.weights(0, ids).tolist() == [1.0]
    with pytest.raises(ContractError, match="of which one is possible, got 1 that are not"):
        OF_THREE.exclude(0, 0, ids).weights(0, ids)


@pytest.mark.parametrize("belief", [Seatwise(), Learned(Grounded(NATIVE)), Redealt()], ids=repr)
def test_beliefs_that_sample_are_updated_by_an_event_once(belief: Any) -> None:
    games = {"Seatwise": BridgeBidding(), "Redealt": load_game("euchre")}
    game = games.get(type(belief).__name__, NATIVE)
    worlds = game.deal(np.random.default_rng(0), 1)
    seat = int(worlds.current_player[0])
    first = belief((UniformPolicy(),) * game.num_players, worlds.view(seat))
    event = worlds.step(worlds.legal.argmax(axis=1))
    after = first.update(event, worlds.view(seat))
    with pytest.raises(ContractError, match=r"by each event once.* is to move, got a move of"):
        after.update(event, worlds.view(seat))


# ------------------------------------------------------------------------------------- results


def test_results_are_saved_and_compared_by_object_file_and_dict(tmp_path: Path) -> None:
    first, other = (evaluate(GAME, name, games=4, seed=3) for name in ("random", "piers"))
    path = tmp_path / "first.json"
    first.save(path)
    assert path.read_text() == first.to_json()
    found = [compare(given, other) for given in (first, path, str(path), first.to_dict())]
    assert {(one.difference, one.sem, one.pairs) for one in found} == {
        (found[0].difference, found[0].sem, 4)
    }
    for wrong, says in (({}, "games is missing"), ({"games": "x"}, "expected results")):
        with pytest.raises(RecordError, match=f"a dict: .*{says}"):
            compare(wrong, other)
    assert [found[0].base.path, found[0].other.path] == [first.names[0], other.names[0]]
    assert "the first" not in str(found[0])
    with pytest.raises(ConfigError, match=r"no file smartbot: .*evaluate.game, first"):
        compare("smartbot", "piers")
    with pytest.raises(ConfigError, match="path must be a path, got 3"):
        first.save(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="path must lie in a folder that exists"):
        first.save(tmp_path / "no" / "x.json")


def test_a_search_with_an_infinite_step_is_saved(tmp_path: Path) -> None:
    agent = upgrade("random", GAME, Mds(rollouts=20, eta=float("inf")))
    result = evaluate(GAME, ("random", agent), games=1, resume=tmp_path / "run")
    result.save(tmp_path / "x.json")
    assert evaluate(GAME, ("random", agent), games=1, resume=tmp_path / "run").mean == result.mean
    assert compare(tmp_path / "x.json", tmp_path / "run").difference == 0.0


def test_the_row_of_a_baseline_names_it() -> None:
    given = str(evaluate(GAME, "random", games=2, baseline="piers"))
    assert "\nbaseline RuleAgent('piers')  " in given and "\nblueprint" not in given
    agent = upgrade("random", GAME, Sparta(rollouts=20))
    assert "\nblueprint" in str(evaluate(GAME, ("random", agent), games=1))


def test_another_line_up_names_another_file(tmp_path: Path) -> None:
    evaluate(GAME, "random", games=1, resume=tmp_path / "run")
    with pytest.raises(ConfigError, match="seed is 0 there, 1 here: give these, or another file"):
        evaluate(GAME, "random", games=1, seed=1, resume=tmp_path / "run")


# ----------------------------------------------------------------------------------- the judge


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"policy": "smartbt"}, "policy must be one of .*got 'smartbt': did you mean smartbot"),
        ({"policy": 3}, "expected a Policy, its name, or one of these a seat, got an int"),
        ({"policy": SmartBot}, r"got the class SmartBot: write SmartBot\(\)"),
        ({"policy": ("smartbot",)}, "one for each of 2 to 5 seats, got 1"),
        ({"policy": ("smartbot", "nope")}, "got 'nope'"),
        (
            {"policy": ("random",) * 3, "config": GAME.config},
            "expected 2 policies, one a seat, got",
        ),
        ({"policy": "risky:treshold=1"}, "got 'treshold': did you mean threshold"),
        ({"policy": upgrade("random", GAME)}, "policy must be one that does not search"),
        ({"partners": ("smartbt",)}, "partners must be one of .*did you mean smartbot"),
        ({"partners": 3}, "partners must be a list of policies, or None, got 3"),
        ({"partners": SmartBot()}, "partners must be a list of policies, or None, got SmartBot"),
        ({"rollout": 30}, "got 'rollout': did you mean rollouts"),
        ({"config": GAME}, "must be a HanabiConfig, or None, got HanabiGame.*: write game.config$"),
        ({"config": 3}, "must be a HanabiConfig, or None, got 3$"),
        (
            {"policy": GAME, "partners": "smartbot"},
            r"as in Judge\(policy, config=game.config\), got a HanabiGame in the place of the pol",
        ),
    ],
)
def test_a_judge_is_refused_when_it_is_made(options: dict[str, Any], says: str) -> None:
    with pytest.raises(HanabiSearchError, match=says):
        Judge(**options)


def test_a_judge_goes_on_over_bad_positions(caplog: pytest.LogCaptureFixture) -> None:
    judge = Judge("random", rollouts=8, config=GAME.config)
    positions: list[Any] = ["bad", VIEW, None, (), VIEW, PAST.view]
    with pytest.raises(RecordError, match="position 0: line 1 of the observation"):
        judge.many(positions, threads=1)
    found = judge.many(positions, threads=1, errors="coerce")
    assert [each is None for each in found] == [True, False, True, True, False, True]
    assert found[1] == found[4] == judge(VIEW)
    assert "4 of 6 verdicts are None: position 0: line 1 of the observation" in caplog.text
    with pytest.raises(ConfigError, match="errors must be one of raise, coerce, got 'skip'"):
        judge.many(positions, errors="skip")  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("move", "says"),
    [
        ("hint P0 red", "a hint of P0 must go to another player, P1, got 'hint P0 red'"),
        ("hint P3 red", "a hint of P0 must go to another player, P1, got 'hint P3 red'"),
        ("hint 9", "a rank must be from 1 to 2, got 'hint 9'"),
        ("discard 0", r"\(Discard 0\) is not legal in this position"),
        ("nonsense", "a move must be as in"),
    ],
)
def test_a_move_that_is_not_legal_is_told_those_that_are(move: str, says: str) -> None:
    verdict = Judge("random", rollouts=8)(VIEW)
    with pytest.raises((RecordError, IllegalActionError), match=f"{says}.*: the legal moves here"):
        verdict.reward(move)
    assert verdict.reward(move, illegal=0.0) == 0.0


class Divides(UniformPolicy):
    def act(self, view: View, legal: Any, memory: Any, rng: Streams) -> Any:
        return 1 // 0


class Begins(UniformPolicy):
    def __init__(self, memory: Callable[[int], Any]) -> None:
        self.memory = memory

    def start(self, view: View) -> Any:
        return self.memory(len(view))


@pytest.mark.parametrize(
    ("memory", "came"),
    [
        (lambda n: [0] * (1 if n > 1 else 2), r"\[0(, 0)?\]"),
        (lambda n: 0, "0"),
        (lambda n: {"n": np.zeros(n), "k": 3}, "3"),
        (lambda n: (np.zeros(n), np.zeros(n + 1)), r"array\(.*"),
        (lambda n: "a" * n, "'a+'"),
    ],
)
def test_a_memory_without_a_row_a_world_is_named_in_play(memory: Any, came: str) -> None:
    policy = Begins(memory)
    says = (
        r"Begins at seat \d: start must give None or a memory with a row for each of \d+ worlds?, "
        rf"got {came}"
    )
    searching = upgrade(policy, GAME, Sparta(rollouts=20))
    for play in (
        lambda: evaluate(GAME, policy, games=3),
        lambda: evaluate(GAME, (searching, policy), games=1),
        lambda: evaluate(GAME, ("random", searching), games=1),
        lambda: OneGame(GAME, (policy, "random")),
    ):
        with pytest.raises(ContractError, match=rf"^turn 0: {says}(\nin games? 0.*)?$"):
            play()
    with pytest.raises(ContractError, match=f"^check_policy: {says}$"):
        check_policy(GAME, policy)


def divides(*_: Any) -> Any:
    return 1 // 0


@pytest.mark.parametrize(
    ("place", "raised"),
    [
        ("act of Divides, seat 0, turn 0, game 0 of seed 0",
         lambda: evaluate(GAME, Divides(), games=2)),
        ("act of Divides, seat 0, turn 0, game 0 of seed 0",
         lambda: evaluate(GAME, (Divides(), SPARTA), games=2, baseline="random", threads=2)),
        ("act of Divides, seat 0, turn 0, game 3 of seed 7",
         lambda: OneGame(GAME, Divides(), seed=7, number=3).step()),
        (r"divides, seat 1, turn \d+, game 0 of seed 0",
         lambda: evaluate(GAME, ("random", upgrade("random", GAME, asked(divides))), games=1)),
        ("divides, turn 0, game 0 of seed 0",
         lambda: evaluate(GAME, ("random", upgrade("random", GAME, belief=divides)), games=1)),
        (r"Sparta\(rollouts=20, objective=divides\), seat 1, turn \d+, game 0 of seed 0",
         lambda: evaluate(GAME, ("random", upgrade("random", GAME, Sparta(
             rollouts=20, objective=divides))), games=1)),
        ("act of Divides, seat 0, check_belief", lambda: check_belief(GAME, Divides())),
        ("divides, check_agent",
         lambda: check_agent(GAME, upgrade("random", GAME, asked(divides)))),
    ],
)  # fmt: skip
def test_what_a_user_s_code_raises_says_where(place: str, raised: Callable[[], Any]) -> None:
    with pytest.raises(ZeroDivisionError) as error:
        raised()
    (note,) = error.value.__notes__
    assert re.fullmatch(rf"in {place}", note)
    last = traceback.extract_tb(error.value.__traceback__)[-1]
    assert (last.filename, last.line) == (__file__, "return 1 // 0")


def asked(search: Any) -> Any:
    """It is called by (rng, belief), as its signature says."""

    def divides(rng: np.random.Generator, belief: Any) -> Any:
        return search(rng, belief)

    return divides


def test_a_failed_game_prints_what_failed() -> None:
    found = evaluate(GAME, Divides(), games=1, skip_failed=True)
    assert repr(found.skipped[0]) == (
        "<game 0 of seed 0: ZeroDivisionError: integer division or modulo by zero (in act of "
        "Divides, seat 0, turn 0)>"
    )


def test_functions_are_asked_for_their_arguments_when_they_are_given() -> None:
    for f in (lambda: 0, lambda obs, mask, state: 0):
        with pytest.raises(
            ConfigError, match=r"f must be called as f\(obs, mask\) or f\(obs\), got"
        ):
            from_callable(f, returns="actions")
    with pytest.raises(ConfigError, match=r"as f\(obs, mask, state\) or f\(obs, state\), got "):
        from_callable(lambda obs: obs, returns="logits", initial_state=0)
    with pytest.raises(
        ConfigError, match=r"values must be called as values\(obs, mask\) or values"
    ):
        from_callable(lambda obs: obs, returns="logits", values=lambda: 0)


def test_moves_that_are_none_are_shown_as_they_came() -> None:
    for given in (None, 3):

        class Says(UniformPolicy):
            def act(self, view: View, legal: Any, memory: Any, rng: Streams) -> Any:
                return given  # noqa: B023

        with pytest.raises(ContractError, match=rf"one for each of 1 world, got {given}\n"):
            evaluate(GAME, Says(), games=1)


def test_a_recurrent_module_is_told_of_initial_state() -> None:
    torch = pytest.importorskip("torch")

    class NeedsState(torch.nn.Module):
        def forward(self, obs: Any, mask: Any, state: Any) -> Any:
            return mask.float(), state

    with pytest.raises(ConfigError, match=r"the third is a state, give initial_state=\.\.\."):
        from_callable(NeedsState(), returns="logits")
    policy = from_callable(lambda *given: NeedsState()(*given), returns="logits")
    with pytest.raises(TypeError) as raised:
        evaluate(GAME, policy, games=1)
    assert "where it takes a state, give from_callable initial_state=..." in raised.value.__notes__


def test_the_settings_of_a_game_are_checked() -> None:
    settings = {
        "rewards": ("same", r"rewards to identical, zero_sum or general_sum, got 'same'"),
        "public_actions": (None, r"public_actions to True or False, got None"),
        "return_range": (2, r"return_range to the lowest return and the highest, .*, got 2"),
    }
    for name, (value, says) in settings.items():
        game = load_game("kuhn_poker")
        setattr(game, name, value)
        for call in (
            lambda: check_game(game),  # noqa: B023
            lambda: evaluate(game, "random", games=1),  # noqa: B023
            lambda: upgrade("random", game, Sparta()),  # noqa: B023
        ):
            with pytest.raises(ContractError, match=rf"must set {says}$"):
                call()
    for value in ("no", (1,), (1.0, 0.0), ("a", "b"), (True, False)):
        game = load_game("kuhn_poker")
        game.return_range = value
        with pytest.raises(ContractError, match="must set return_range"):
            check_game(game)


def test_what_registered_loads_are_called_with() -> None:
    says = r"load is called as load\(game, \*\*options\), got "
    for load in (SmartBot, SmartBot(), 3, lambda: SmartBot()):
        with pytest.raises(ConfigError, match=says):
            register_policy("mistaken", load, description="d")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="one of"):
        load_policy("mistaken", GAME)


def test_a_failed_evaluation_shows_the_first_error() -> None:
    found = str(evaluate(GAME, Divides(), games=2, skip_failed=True))
    title, failed, *_ = found.splitlines()
    assert "0 games of 2, 2 skipped" in title
    assert failed.startswith("first skipped: game 0 of seed 0: ZeroDivisionError: integer division")
    assert "skipped" not in str(evaluate(GAME, "smartbot", games=2))


def test_one_line_each() -> None:
    figures = evaluate(GAME, "smartbot", games=1).to_dict()
    with pytest.raises(ConfigError, match=r"path must be that of a file, got a dict: json\.dump"):
        Evaluation.load(figures)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^path must be a path, got .{1,80}$"):
        Evaluation.load([*range(1000)])  # type: ignore[arg-type]
    spiel = load_game("hanabi(players=2)")
    for kind, says in (
        (pyspiel.Bot, "got the class Bot of pyspiel: write a function that makes one"),
        (pyspiel.Policy, "got the class Policy: make one of it"),
    ):
        with pytest.raises(UnsupportedError, match=says):
            as_policy(kind, spiel)
    bot = as_bot("smartbot", spiel, player_id=0)
    for ask in (bot.step, bot.get_policy, bot.restart_at):
        with pytest.raises(UnsupportedError, match="expected a state of OpenSpiel, got 'x'"):
            ask("x")
    with pytest.raises(ConfigError, match=r"as RuleAgent\(\[PlaySafe\(\), DiscardOldest\(\)\]\)"):
        RuleAgent(PlaySafe(), DiscardOldest())  # type: ignore[arg-type, misc]
    for game in (GAME, MiniBridge(), load_game("kuhn_poker")):
        view = game.deal(np.random.default_rng(0), 1).view(0)
        with pytest.raises(UnsupportedError, match=game.encodings[0]):
            view.observation()  # type: ignore[call-arg]


def test_the_types_of_functions_can_be_asked_for() -> None:
    for function in (evaluate, upgrade, load_policy, register_policy, from_callable, compare):
        assert "return" in get_type_hints(function)


@pytest.mark.parametrize("kind", [Policy, View, Worlds, Game, PlainGame, SearchAgent])
def test_help_lists_the_attributes(kind: type) -> None:
    public = [name for name in kind.__annotations__ if not name.startswith("_")]
    own = {"encodings"} if kind is PlainGame else set()
    assert public
    for name in {*public} - own:
        assert f"``{name}``" in inspect.getdoc(kind)  # type: ignore[operator]


def test_the_policy_and_the_loop_of_the_help_run() -> None:
    for kind in (Policy, SearchAgent):
        text = inspect.getdoc(kind) or ""
        lines = [line for line in text.splitlines() if line.startswith("    ") or not line]
        code = textwrap.dedent("\n".join(lines))
        agent = upgrade("random", GAME, Sparta(rollouts=20, min_rollouts=1))
        names: dict[str, Any] = {"np": np, "Policy": Policy, "game": GAME, "agent": agent}
        exec(code, names)
        if kind is Policy:
            check_policy(GAME, names["Patient"]())
        else:
            assert names["worlds"].terminal[0] and names["result"].count.any()
