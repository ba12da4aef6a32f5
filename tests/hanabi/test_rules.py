"""Rule-based agents: a second implementation, hand-made cases, the contract, published scores.

Letters: B worlds.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Event
from hanabi_search_plugin.core.policy import Memory, Policy, UniformPolicy
from hanabi_search_plugin.core.rollout import start_memories
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.evaluation.playing import self_play
from hanabi_search_plugin.hanabi.bots import action_rules as ops
from hanabi_search_plugin.hanabi.bots.compiled import CompiledBot, script_of, scripts_of
from hanabi_search_plugin.hanabi.bots.rule_agents import AGENTS, RuleAgent, rule_agent
from hanabi_search_plugin.hanabi.bots.rulebook import (
    RULES,
    SHIPPED_2018,
    TABLE_II,
    CompleteTellDispensable,
    CompleteTellUnplayable,
    CompleteTellUseful,
    Convention,
    DiscardHighest,
    DiscardLeastLikelyNecessary,
    DiscardOldest,
    DiscardOldestNoInfo,
    DiscardProbablyUseless,
    DiscardRandomly,
    DiscardSafe,
    DiscardUnidentified,
    DiscardUseless,
    OsawaDiscard,
    PlayIfCertain,
    PlayProbablySafe,
    PlaySafe,
    Rule,
    TellAboutSingleUseful,
    TellAnyoneAboutUseful,
    TellAnyoneAboutUseless,
    TellDispensable,
    TellIllInformed,
    TellMostInformation,
    TellMostNewInformation,
    TellNotDiscardable,
    TellOldestUseful,
    TellPlayable,
    TellPlayableOuter,
    TellRandomly,
    TellUnknown,
    TryToUnblock,
    rule_set,
)
from hanabi_search_plugin.hanabi.bots.script import COIN, DISCARD_ANY, SILENT, TELL_ANY
from hanabi_search_plugin.hanabi.engine.hanabi_rules import HanabiWorlds
from hanabi_search_plugin.hanabi.engine.layout import DECK_NEXT, DECK_SIZE, TURN
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.hanabi.search import compiled_rollouts
from hanabi_search_plugin.testing import check_policy
from tests.helpers.hanabi_play import random_legal
from tests.helpers.hanabi_table import any_config
from tests.references.rules_reference import Proposal, Reader, Table

CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
READINGS = list(product(CONVENTIONS, (False, True)))
SMALL = {"players": 3, "colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 4}

EVERY_RULE = (
    *(RULES[number] for number in range(1, 19)),
    TellAboutSingleUseful(next_only=True),
    TellMostInformation(at_least=1),
    TellMostNewInformation(),
    TellIllInformed(),
    PlayIfCertain(),
    PlaySafe(),
    PlaySafe(literal=True, if_lives_at_most=1),
    PlayProbablySafe(0.6, if_lives_above=1),
    PlayProbablySafe(0.25),
    PlayProbablySafe(0.0, if_lives_above=1, if_deck_at_most=0),
    DiscardSafe(),
    DiscardUseless(),
    OsawaDiscard(),
    DiscardProbablyUseless(1.0),
    DiscardProbablyUseless(0.3, literal=True),
    DiscardOldest(),
    DiscardOldestNoInfo(),
    DiscardUnidentified(),
    DiscardHighest(),
    DiscardRandomly(),
    TryToUnblock(),
    TellPlayableOuter(),
    TellPlayable(),
    TellUnknown(),
    TellAnyoneAboutUseless(),
    TellDispensable(if_hints_below=4),
    TellDispensable(literal=True),
    TellOldestUseful(),
    TellRandomly(),
)


class Watch:
    """Games in lockstep, each with an agent's memory and a plain table. Ended games leave."""

    def __init__(self, worlds: HanabiWorlds, agent: RuleAgent) -> None:
        self.worlds = worlds
        self.agent = agent
        self.memory: Memory = agent.start(worlds.view(0))
        config = worlds.game.config
        decks = worlds.rows[:, worlds.rows.shape[1] - config.deck_size :]
        self.tables = [Table.deal(config, deck, agent.strict) for deck in decks.tolist()]

    def __len__(self) -> int:
        return len(self.worlds)

    @property
    def mover(self) -> int:
        return int(self.worlds.current_player[0])

    def readers(self) -> list[Reader]:
        return [Reader(table, self.agent.convention) for table in self.tables]

    def proposals(self) -> list[list[int]]:
        """[B][rules]"""
        found: list[list[int]] = self.agent.proposals(
            self.worlds.view(self.mover), self.memory
        ).tolist()
        return found

    def step(self, actions: list[int]) -> None:
        event = self.worlds.step(np.array(actions))
        for table, action in zip(self.tables, actions, strict=True):
            table.apply(action)
        on = np.flatnonzero(~self.worlds.terminal)
        self.worlds = self.worlds.select(on)
        self.tables = [self.tables[b] for b in on]
        if len(on):
            seen = Event(event.player[on], event.action[on])
            seats = range(self.worlds.game.num_players)
            memories = [
                self.agent.observe(self.worlds.view(seat), seen, self.memory[on]) for seat in seats
            ]
            assert all((memory == memories[0]).all() for memory in memories)
            self.memory = memories[0]


def code_of(proposal: Proposal) -> int:
    if proposal is None:
        return SILENT
    if isinstance(proposal, tuple):
        return -(COIN + COIN * proposal[0] + proposal[1])
    if isinstance(proposal, str):
        return {"discard any": DISCARD_ANY, "tell any": TELL_ANY}[proposal]
    return proposal


def compare(
    game: HanabiGame, convention: Convention, strict: bool, seed: int, games: int
) -> set[Rule]:
    """Play mixed games; every rule proposes the same. Returns the rules that proposed something."""
    rng = np.random.default_rng(seed)
    agent = RuleAgent(EVERY_RULE, convention=convention, strict=strict)
    watch = Watch(game.deal(rng, games), agent)
    fired: set[Rule] = set()
    while len(watch):
        found = watch.proposals()
        for b, reader in enumerate(watch.readers()):
            for k, rule in enumerate(EVERY_RULE):
                expected = code_of(reader.propose(rule))
                assert found[b][k] == expected, (
                    f"{game}, {convention}, strict {strict}, seed {seed}: {rule} at\n"
                    f"{watch.tables[b]}"
                )
        fired |= {
            EVERY_RULE[k] for codes in found for k in range(len(EVERY_RULE)) if codes[k] != SILENT
        }
        legal = watch.worlds.legal
        moves = random_legal(watch.worlds, rng).tolist()
        for b, codes in enumerate(found):
            actions = [code for code in codes if code >= 0]
            assert legal[b, actions].all()
            if actions and rng.random() < 0.7:
                moves[b] = actions[rng.integers(len(actions))]
        watch.step(moves)
    return fired


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_rules_equal_the_plain_version(players: int) -> None:
    game = HanabiGame(players=players, life_tokens=6)
    fired = [
        compare(game, convention, strict, 10 * players + k, 8)
        for k, (convention, strict) in enumerate(READINGS)
    ]
    never = {RULES[14]} if players > 2 else set()
    assert set(EVERY_RULE) - set().union(*fired) <= never | {TryToUnblock()}


@pytest.mark.parametrize("block", range(3))
def test_rules_equal_the_plain_version_in_any_game(block: int) -> None:
    for seed in range(100 * block, 100 * (block + 1)):
        rng = np.random.default_rng(seed)
        compare(HanabiGame(any_config(rng)), *READINGS[seed % 6], seed, 2)


def expected_chance(worlds: HanabiWorlds, b: int, proposal: Proposal, table: Table) -> np.ndarray:
    """[A] what a proposal comes to."""
    chance = np.zeros(worlds.game.num_actions)
    if proposal is None:
        chance[int(worlds.legal[b].argmax())] = 1.0
    elif isinstance(proposal, tuple):
        for action in proposal:
            chance[action] += 0.5
    elif proposal == "discard any":
        cards = len(table.cards(table.turn))
        chance[:cards] = 1 / cards
    elif proposal == "tell any":
        after = (table.turn + 1) % table.config.players
        cards = table.cards(after)
        for held in cards:
            chance[table.hint(after, False, held.card.color)] += 0.5 / len(cards)
            chance[table.hint(after, True, held.card.rank)] += 0.5 / len(cards)
    else:
        chance[int(proposal)] = 1.0
    return chance


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", AGENTS)
def test_agents_equal_the_plain_version(name: str, strict: bool) -> None:
    last_resort = (DiscardOldest(), TellMostInformation(), PlayProbablySafe(0.0))
    for seed, players in enumerate((2, 4, 3)):
        rng = np.random.default_rng(seed)
        convention = CONVENTIONS[seed]
        agent = rule_agent(name, convention=convention, strict=strict)
        watch = Watch(HanabiGame(players=players).deal(rng, 1), agent)
        while len(watch):
            (reader,) = watch.readers()
            proposal = reader.first((*agent.rules, *(last_resort if strict else ())))
            view = watch.worlds.view(watch.mover)
            chance = agent.probabilities(view, view.legal, watch.memory)
            expected = expected_chance(watch.worlds, 0, proposal, watch.tables[0])
            np.testing.assert_allclose(chance[0], expected, rtol=0, atol=1e-12)
            assert (chance == 1.0).any() or not agent.deterministic
            action = int(rng.choice(len(expected), p=expected))
            watch.step([action] if rng.random() < 0.8 else random_legal(watch.worlds, rng).tolist())


# ------------------------------------------------------------------------------- contract, loops


@pytest.mark.parametrize("parameters", [{"players": 2}, {"players": 5}, SMALL], ids=str)
@pytest.mark.parametrize("name", ["vdb", "internal"])
def test_contract(name: str, parameters: dict[str, Any]) -> None:
    check_policy(HanabiGame(**parameters), rule_agent(name))


def test_contract_with_conventions() -> None:
    for convention in CONVENTIONS[1:]:
        agent = RuleAgent([TellAboutSingleUseful(), *SHIPPED_2018], convention=convention)
        check_policy(HanabiGame(players=3), agent)


@pytest.mark.parametrize("parameters", [{"players": 3}, SMALL], ids=str)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_compiled_games_are_the_plain_ones(
    convention: Convention, parameters: dict[str, Any]
) -> None:
    game = HanabiGame(**parameters)
    rng = np.random.default_rng(0)
    worlds = game.deal(rng, 50)
    one = RuleAgent(TABLE_II, convention=convention)
    other = rule_agent("internal", convention=convention, strict=True)
    for blueprint in ((one,) * 3, (one, other, UniformPolicy())):
        streams = Streams.spawn(rng, len(worlds))
        moves = self_play(worlds, blueprint, streams).actions
        scripts = scripts_of(blueprint, game)
        assert scripts is not None
        ends = compiled_rollouts.play_out(
            worlds, scripts, start_memories(worlds, blueprint), streams
        )
        plain = worlds.select(np.arange(len(worlds)))
        for t in range(moves.shape[1]):
            playing = np.flatnonzero(moves[:, t] >= 0)
            part = plain.select(playing)
            part.step(moves[playing, t])
            plain.rows[playing] = part.rows
        assert np.array_equal(ends.rows, plain.rows)


def test_hints_are_remembered_where_views_do_not_show_them() -> None:
    rng = np.random.default_rng(1)
    agent = rule_agent("piers", strict=True)
    plain = HanabiGame(players=3).deal(rng, 20)
    minimal = HanabiWorlds(HanabiGame(players=3, observation_type="minimal"), plain.rows)
    nothing = Streams(np.zeros(20, dtype=np.uint64))
    played = [self_play(worlds, (agent,) * 3, nothing).actions for worlds in (plain, minimal)]
    assert np.array_equal(*played)


def test_strict_lists_always_end_in_a_move() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        game = HanabiGame(any_config(rng))
        agent = RuleAgent([PlayIfCertain()], strict=True, convention=CONVENTIONS[seed % 3])
        worlds = game.deal(rng, 20)
        blueprint = (agent,) * game.num_players
        scripts = scripts_of(blueprint, game)
        assert scripts is not None and agent.deterministic
        ends = compiled_rollouts.play_out(
            worlds,
            scripts,
            start_memories(worlds, blueprint),
            Streams.spawn(rng, len(worlds)),
            resign=True,
        )
        assert ends.terminal.all()


# --------------------------------------------------------------------------------- hand-made cases

R1, R2, R3, R4, R5, Y1, Y2, Y3, Y4, Y5, G1, G2, G3, G4, B1, B2, B3 = *range(14), 15, 16, 17
RED, YELLOW, GREEN, ONES = 10, 11, 12, 15  # hints in games of two


def watching(agent: RuleAgent, *hands: list[int], **parameters: Any) -> Watch:
    """A deal of these hands and then the remaining cards, the lowest first."""
    game = HanabiGame(players=len(hands), **parameters)
    config = game.config
    rest = np.repeat(
        np.arange(config.colors * config.ranks), config.copies * config.colors
    ).tolist()
    first = [card for hand in hands for card in hand]
    for card in first:
        rest.remove(card)
    return Watch(game.from_decks([first + rest]), agent)


def both(rules: list[Rule], **options: Any) -> list[RuleAgent]:
    return [RuleAgent(rules, strict=strict, **options) for strict in (False, True)]


MIXED = [R2, Y3, G2, B3, R4]
OTHERS = [Y2, G3, B2, R3, Y4]


def test_ties_go_to_the_last_position() -> None:
    for agent, slot in zip(both([PlayProbablySafe(0.0)]), (3, 4), strict=True):
        watch = watching(agent, MIXED, OTHERS)
        assert watch.proposals()[0][0] == 5 + 4
        watch.step([5 + 0])  # the first position is filled anew: the last is now the fourth slot
        watch.step([5 + 0])
        assert watch.proposals()[0][0] == 5 + slot


def test_a_new_card_lies_where_one_has_left() -> None:
    rules: list[Rule] = [DiscardUnidentified(), DiscardOldestNoInfo(), DiscardOldest()]
    for agent, slot in zip(both(rules), (4, 0), strict=True):
        watch = watching(agent, MIXED, OTHERS, life_tokens=9)
        for action in (YELLOW, 5, 5, 5):
            watch.step([action])
        assert watch.proposals()[0][:3] == [slot, slot, 0]


def test_the_oldest_useful_card_is_the_last_one_as_coded() -> None:
    for agent, action in zip(both([TellOldestUseful()]), (GREEN, RED), strict=True):
        watch = watching(agent, MIXED, [R1, Y2, G1, B2, Y3])
        assert watch.proposals()[0][0] == action


def test_players_come_by_number_as_coded() -> None:
    to_p0, to_p2 = 20 + 5 + 4, 20 + 4  # fives
    for agent, action in zip(both([TellNotDiscardable()]), (to_p0, to_p2), strict=True):
        watch = watching(agent, [R5, *MIXED[1:]], MIXED, [Y5, *OTHERS[1:]])
        watch.step([5 + 1])
        assert watch.proposals()[0][0] == action


def test_hints_that_tell_nothing() -> None:
    """One card each, one colour, two ranks; all is known."""
    tiny = {"colors": 1, "ranks": 2, "hand_size": 1}
    rank_1, rank_2 = 3, 4
    rules: list[Rule] = [TellMostInformation(), TellMostInformation(at_least=1)]
    for agent in both(rules):
        watch = watching(agent, [0], [0], **tiny)
        watch.step([rank_1])
        watch.step([rank_1])
        assert watch.proposals()[0][:2] == [SILENT if agent.strict else rank_1, SILENT]
        watch = watching(agent, [0], [1], **tiny)
        watch.step([rank_2])
        watch.step([rank_1])
        assert watch.proposals()[0][:2] == [SILENT, SILENT]  # of rank 1 the partner has none


@pytest.mark.parametrize("left", range(8))
def test_the_own_hand_counts_as_deck(left: int) -> None:
    rules: list[Rule] = [
        PlayProbablySafe(0.0, if_deck_at_most=5),
        PlayProbablySafe(0.0, if_deck_at_most=0),
    ]
    for agent in both(rules):
        watch = watching(agent, MIXED, OTHERS)
        watch.worlds.rows[0, DECK_NEXT] = watch.worlds.rows[0, DECK_SIZE] - left
        fires = [code != SILENT for code in watch.proposals()[0][:2]]
        assert fires == ([left <= 5, left == 0] if agent.strict else [left == 0, False])


def test_a_hint_that_would_be_misread_is_banned() -> None:
    rules: list[Rule] = [TellUnknown(), TellUnknown(literal=True)]
    agent = RuleAgent(rules, convention="any-giver")
    watch = watching(agent, MIXED, [R3, Y2, Y3, G2, G3])
    assert watch.proposals()[0] == [YELLOW, RED]  # a single red card could be R1
    # P2 holds every R1: the next red card is not to be had, so there is nothing to misread.
    watch = watching(agent, MIXED, [R3, Y2, Y3, G2, G3], [R1, R1, R1, B3, R4])
    assert watch.proposals()[0] == [RED, RED]


def test_a_single_card_of_the_next_player_is_left_to_its_own_rule() -> None:
    rules: list[Rule] = [TellAnyoneAboutUseful(), TellAboutSingleUseful(next_only=True)]
    agents = [RuleAgent(rules, convention=convention) for convention in CONVENTIONS]
    hands = ([R3, Y3, G3, B3, R4], [R1, Y2, G2, B2, Y3])
    found = [watching(agent, *hands).proposals()[0] for agent in agents]
    assert found == [[ONES, ONES], [ONES, ONES], [SILENT, ONES]]


def test_a_single_hint_is_not_repeated_before_a_play() -> None:
    agent = RuleAgent([TellAboutSingleUseful(), TellAboutSingleUseful(next_only=True)])
    watch = watching(agent, MIXED, [R1, *OTHERS[1:4], Y4], life_tokens=9)
    assert watch.proposals() == [[ONES, ONES]]
    watch.step([ONES])
    watch.step([RED])
    assert watch.proposals() == [[SILENT, ONES]]
    watch.step([5 + 1])
    watch.step([RED])
    assert watch.proposals() == [[ONES, ONES]]


@pytest.mark.parametrize(("convention", "strict"), READINGS)
def test_what_was_playable_when_it_was_told(convention: Convention, strict: bool) -> None:
    """P0 tells P1 of a single red card, R1, and then plays the other R1 it holds."""
    rules: list[Rule] = [PlaySafe(), DiscardProbablyUseless(1.0)]
    agent = RuleAgent(rules, convention=convention, strict=strict)
    watch = watching(agent, [R1, *MIXED[1:]], [R1, Y2, G3, B2, Y4])
    watch.step([RED])
    assert watch.proposals()[0][:2] == [SILENT if convention == "off" else 5, SILENT]
    watch.step([RED])
    watch.step([5])
    useless = convention == "any-giver"
    assert watch.proposals()[0][:2] == [SILENT, 0 if useless else SILENT]


def test_the_tables_at_which_a_card_was_singled_out() -> None:
    agent = RuleAgent([PlaySafe()], convention="any-giver")
    hands = [[R1, Y3, G2, B3, R4], [R3, Y2, G3, B2, Y4]]
    watch = watching(agent, *hands, information_tokens=40)
    ones = 1 << R1 | 1 << Y1 | 1 << G1 | 1 << B1 | 1 << 20
    for _ in range(3):
        watch.step([RED])
        watch.step([YELLOW])
    watch.step([5])  # R1
    watch.step([YELLOW])
    for _ in range(6):
        watch.step([RED])
        watch.step([YELLOW])
    at = 2 * 5 + 5 * ops.PLANES
    later = ones ^ 1 << R1 | 1 << R2
    assert watch.memory[0, at : at + 4].tolist() == [later, ones, 0, 0]


def test_unblocking() -> None:
    """No tokens left: who knows a useless card discards it if the next player is stuck."""
    for agent, slot in zip(both([TryToUnblock()]), (4, 0), strict=True):
        watch = watching(agent, [R1, R1, G2, B3, Y4], [Y2, G3, B2, R3, Y5], information_tokens=3)
        for action in (5, RED, YELLOW, ONES):  # P0 plays an R1, draws another, and knows of both
            assert watch.proposals()[0][0] == SILENT
            watch.step([action])
        assert watch.proposals()[0][0] == slot


# --------------------------------------------------------------------------------- your own agents


def test_an_agent_of_your_own() -> None:
    agent = RuleAgent(
        [
            PlaySafe(),
            PlayProbablySafe(0.6, if_lives_above=1),
            TellAnyoneAboutUseful(),
            DiscardOldest(),
        ]
    )
    assert agent.deterministic
    assert not RuleAgent([TellRandomly()]).deterministic
    assert not RuleAgent([TellPlayable()]).deterministic
    game = HanabiGame(players=2)
    script = script_of(agent, game)
    assert script is not None and script[ops.RULES] == 4
    assert repr(rule_agent("vdb", convention="any-giver", strict=True)) == (
        "RuleAgent('vdb', convention='any-giver', strict=True)"
    )
    assert rule_set("9|13") == (RULES[9], RULES[13])
    assert len(TABLE_II) == 9
    halves = (CompleteTellUseful(), CompleteTellDispensable(), CompleteTellUnplayable())
    assert TABLE_II[3:6] == halves
    assert RULES[12] == DiscardLeastLikelyNecessary()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RuleAgent([]), "rules must be from 1 to"),
        (lambda: RuleAgent([PlaySafe()] * 60), "rules must be from 1 to"),
        (lambda: RuleAgent(["PlaySafe"]), "rules must be those of"),  # type: ignore[list-item]
        (lambda: RuleAgent([Rule()]), "rules must be those of"),
        (lambda: RuleAgent([PlaySafe()], convention="on"), "convention must be one of off, any"),  # type: ignore[arg-type]
        (lambda: RuleAgent([PlaySafe()], strict=1), "strict must be true or false"),  # type: ignore[arg-type]
        (lambda: PlayProbablySafe(1.5), "threshold must be from 0 to 1"),
        (lambda: PlayProbablySafe(1 / 3), "six decimals"),
        (lambda: PlayProbablySafe(math.nan), "threshold must be"),
        (lambda: PlayProbablySafe(True), "threshold must be"),
        (lambda: PlaySafe(if_lives_above=-1), "if_lives_above must be from 0"),
        (lambda: PlaySafe(if_hints_below=63), "if_hints_below must be from 0 to 62"),
        (lambda: TellMostInformation(at_least=2), "at_least must be 0 or 1"),
        (lambda: rule_set("2|19"), "rule numbers must be from 1 to 18, got '19'"),
        (lambda: rule_agent("clive"), "agent must be one of cautious"),
        (lambda: rule_agent("vdb", threshold=0.5), "threshold must be left out"),
    ],
)
def test_mistakes_are_told(make: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()


# ------------------------------------------------------------------------------------------ scores

# Of 2,000 games of the original programs each, 2 to 5 players: mean and its standard error. A game
# that lost its last life keeps its points; a game ends where no rule proposes anything.
MEASURED = {
    "random": ((1.20, 0.03), (1.21, 0.03), (1.20, 0.03), (1.24, 0.03)),
    "flawed": ((1.43, 0.04), (1.57, 0.04), (1.70, 0.04), (1.77, 0.04)),
    "internal": ((11.19, 0.05), (10.97, 0.05), (10.16, 0.05), (10.02, 0.04)),
    "outer": ((14.49, 0.05), (14.42, 0.05), (13.08, 0.05), (12.63, 0.04)),
    "clivej2": ((14.25, 0.05), (14.12, 0.04), (13.26, 0.04), (12.41, 0.04)),
    "cautious": ((16.66, 0.05), (17.18, 0.03), (16.35, 0.03), (15.20, 0.03)),
    "iggi": ((17.14, 0.04), (16.77, 0.03), (16.12, 0.03), (15.04, 0.03)),
    "iggi2": ((17.64, 0.05), (17.42, 0.03), (16.61, 0.03), (15.35, 0.03)),
    "piers": ((17.28, 0.04), (17.53, 0.04), (17.04, 0.03), (16.25, 0.03)),
    "vdb": ((13.68, 0.08), (17.75, 0.05), (17.30, 0.04), (16.22, 0.04)),
    "risky 0.6": ((10.77, 0.18), (16.21, 0.10), (16.34, 0.08), (15.86, 0.06)),
    "risky 0.75": ((11.05, 0.18), (16.72, 0.08), (16.53, 0.05), (15.69, 0.04)),
    "risky2 0.7": ((12.47, 0.08), (17.68, 0.05), (17.05, 0.04), (15.95, 0.04)),
}
ABORTED = {"risky 0.6": (1071, 92, 41, 6), "risky 0.75": (1060, 94, 50, 8)}  # of 2,000


def measured_agent(name: str) -> Policy:
    if name == "random":
        return UniformPolicy()
    name, _, threshold = name.partition(" ")
    return rule_agent(name, threshold=float(threshold) if threshold else None)


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_self_play_scores(players: int) -> None:
    n = 5_000
    game = HanabiGame(players=players, bomb="keep")
    worlds = game.deal(np.random.default_rng(1902), n)
    for name, cells in MEASURED.items():
        blueprint = (measured_agent(name),) * players
        scripts = scripts_of(blueprint, game)
        assert scripts is not None
        first = worlds.select(np.arange(1))
        ends = compiled_rollouts.play_out(
            worlds,
            scripts,
            start_memories(first, blueprint) if isinstance(blueprint[0], CompiledBot) else (None,),
            Streams.spawn(np.random.default_rng(6075), n),
            resign=True,
        )
        points = ends.returns[:, 0]
        mean, error = cells[players - 2]
        spread = math.hypot(points.std() / math.sqrt(n), error)
        assert abs(points.mean() - mean) < 3 * spread, name
        share = ABORTED[name][players - 2] / 2000 if name in ABORTED else 0.0
        aborted = (ends.rows[:, TURN] >= 0).mean()
        spread = math.sqrt((share + 1e-3) * (1 - share) * (1 / n + 1 / 2000))
        assert abs(aborted - share) < 3 * spread, name
