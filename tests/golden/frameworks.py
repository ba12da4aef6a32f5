"""What wrappers play in other frameworks, and searches over those frameworks' models."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from open_spiel.python import rl_environment

from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.algorithms.predictor import Predictor
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners
from hanabi_search_plugin.core.policy import Policy, UniformPolicy
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import load_policies
from hanabi_search_plugin.wrappers.gymnasium import HanabiEnv, HanabiVectorEnv
from hanabi_search_plugin.wrappers.openspiel import (
    OpenSpielGame,
    as_bot,
    as_rl_agent,
    as_spiel_policy,
    sorted_deck,
    spiel_of,
    to_state,
)
from hanabi_search_plugin.wrappers.pettingzoo import RecordObservations, SeatAgent, env
from tests.golden.cases import Cases, Found, decision
from tests.golden.native import SMARTBOT, THREE, TINY, TWO, sparta
from tests.helpers.pettingzoo_hanabi import hanabi_v5

CASES = Cases()

LEDUC = OpenSpielGame("leduc_poker")


def agents(game: HanabiGame) -> dict[str, Policy]:
    """One of every kind that plays native Hanabi."""
    candidates = load_policies("vdb,smartbot", game)
    learned, unknown = Learned(Grounded(game), listed=None), UnknownPartners(candidates)
    lbs = Lbs(rollouts=60, min_rollouts=5, depth=None)
    joint = JointSparta(rollouts=60, min_rollouts=5, round_size=10, max_range=30)
    return {
        "sparta": upgrade(SMARTBOT, game, sparta(60, threshold=0.0)),
        "lbs": upgrade(SMARTBOT, game, lbs, belief=learned),
        "predictor": upgrade(candidates[0], game, Predictor(iterations=40), belief=unknown),
        "joint": upgrade(SMARTBOT, game, joint),
        "vdb": candidates[0],
        "random": UniformPolicy(),
    }


# --------------------------------------------------------------------------------------- OpenSpiel


def deal(game: Any, seed: int) -> Any:
    """A state of OpenSpiel at the first decision."""
    if isinstance(game, HanabiGame):
        deck = np.random.default_rng(seed).permutation(sorted_deck(game))
        return to_state(game, tuple(deck.tolist()), [])
    state = game.spiel.new_initial_state()
    return through_chance(state, np.random.default_rng(seed))


def through_chance(state: Any, rng: np.random.Generator) -> Any:
    while state.is_chance_node() and not state.is_terminal():
        actions, chances = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(int(rng.choice(actions, p=np.array(chances) / sum(chances))))
    return state


def by_bots(policy: Policy, game: Any) -> Found:
    """Every move of a game of bots, with the probabilities that they give."""
    bots = [as_bot(policy, game, p, seed=3) for p in range(game.num_players)]
    state, rng, found = deal(game, 0), np.random.default_rng(1), Found()
    while not state.is_terminal():
        chances, action = bots[state.current_player()].step_with_policy(state)
        best = [[int(a), float(p)] for a, p in chances if p > 0]
        found.append({"seat": state.current_player(), "action": int(action), "chances": best})
        state.apply_action(action)
        through_chance(state, rng)
    return found


def by_spiel_policy(policy: Policy, game: Any) -> Found:
    """The probabilities along a game of random moves."""
    made = as_spiel_policy(policy, game, seed=3)
    state, rng, found = deal(game, 0), np.random.default_rng(1), Found()
    while not state.is_terminal():
        chances = made.action_probabilities(state)
        found.append([[int(a), float(p)] for a, p in chances.items() if p > 0])
        state.apply_action(int(rng.choice(state.legal_actions())))
        through_chance(state, rng)
    return found


def by_rl_agents(policy: Policy, game: Any) -> Found:
    """Every move of a game of learning agents, which the observations are shown to."""
    spiel = spiel_of(game) if isinstance(game, HanabiGame) else game.spiel
    environment = rl_environment.Environment(spiel)
    environment.seed(5)
    players = [as_rl_agent(policy, game, p, seed=3) for p in range(game.num_players)]
    step, found = environment.reset(), Found()
    while not step.last():
        seat = step.current_player()
        output = [agent.step(step) for agent in players][seat]
        found.append([seat, int(output.action)])
        step = environment.step([output.action])
    return found


WAYS = {"bots": by_bots, "policy": by_spiel_policy, "rl_agents": by_rl_agents}
for way, play in WAYS.items():
    for name in agents(TINY):
        CASES.add(
            f"openspiel_{way}_{name}", lambda play=play, name=name: play(agents(TWO)[name], TWO)
        )
    CASES.add(
        f"openspiel_{way}_leduc",
        lambda play=play: play(upgrade(UniformPolicy(), LEDUC, sparta(30)), LEDUC),
    )


# -------------------------------------------------------------------------------------- PettingZoo


def by_seat_agents(environment: Any, policies: list[Policy], seed: int, moves: int = 3) -> Found:
    """The first moves of a game, and what was searched."""
    table = RecordObservations(environment)
    seats = [SeatAgent(policy, table, p, seed=2) for p, policy in enumerate(policies)]
    table.reset(seed=seed)
    found: Found = []
    for name in table.agent_iter():
        observation, _, over, cut, _ = table.last()
        if over or cut or len(found) == moves:
            break
        agent = seats[table.possible_agents.index(name)]
        action = agent.act(observation)
        result = None if agent.last_result is None else decision(agent.last_result)
        found.append({"action": int(action), "result": result})
        table.step(action)
    return found


def parameters(game: HanabiGame) -> dict[str, int]:
    """As PettingZoo names them."""
    config = game.config
    return {
        "players": config.players, "colors": config.colors, "ranks": config.ranks,
        "hand_size": config.hand_size, "max_information_tokens": config.information_tokens,
        "max_life_tokens": config.life_tokens,
    }  # fmt: skip


for name in agents(TINY):
    CASES.add(
        f"pettingzoo_{name}",
        lambda name=name: by_seat_agents(
            env(**parameters(TWO)), [agents(TWO)[name]] * 2, seed=4, moves=2
        ),
    )


@CASES.case()
def pettingzoo_three() -> Found:
    policies: list[Policy] = [agents(THREE)["sparta"], SMARTBOT, agents(THREE)["joint"]]
    return by_seat_agents(env(**parameters(THREE)), policies, seed=4)


@CASES.case()
def pettingzoo_hanabi_v5() -> Found:
    environment = hanabi_v5.env(**parameters(TWO))
    return by_seat_agents(environment, [agents(TWO)["sparta"], SMARTBOT], seed=4)


@CASES.case()
def pettingzoo_of_own_turns() -> Found:
    """By the observations of its own turns, without a record."""
    table = env(**parameters(TWO))
    seats = [SeatAgent(agents(TWO)["sparta"], TWO.config, p, seed=2) for p in range(2)]
    table.reset(seed=4)
    found: Found = []
    for name in table.agent_iter():
        observation, _, over, cut, _ = table.last()
        if over or cut:
            return found
        found.append(int(seats[table.possible_agents.index(name)].act(observation)))
        table.step(found[-1])
    return found


# --------------------------------------------------------------------------------------- Gymnasium


def of_gymnasium(partners: Any, game: HanabiGame, seat: int, moves: int = 5) -> Found:
    """The seat plays its first legal moves; what it sees, and what the partners have searched."""
    table = HanabiEnv(seat=seat, partners=partners, **game.config.to_dict())
    seen, info = table.reset(seed=6)
    found: Found = [digest(seen)]
    over = False
    while not over and len(found) <= moves:
        action = int(np.flatnonzero(info["action_mask"])[-1])
        seen, reward, over, _, info = table.step(action)
        results = [[seat, decision(result)] for seat, result in info["searches"]]
        entry = {"reward": reward, "searches": results}
        found.append(entry | {"seen": digest(seen), "mask": info["action_mask"].tolist()})
    return found


def digest(array: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(array).tobytes())


CASES.add("gymnasium_sparta", lambda: of_gymnasium(agents(TWO)["sparta"], TWO, seat=0, moves=2))
CASES.add("gymnasium_lbs", lambda: of_gymnasium(agents(TWO)["lbs"], TWO, seat=1, moves=2))
CASES.add("gymnasium_smartbots", lambda: of_gymnasium("smartbot", THREE, seat=1))
CASES.add("gymnasium_mixed", lambda: of_gymnasium(("hatbot", agents(THREE)["sparta"]), THREE, 2, 2))


def of_vectors(partners: Any, game: HanabiGame) -> Found:
    """Twelve games at once, with random moves."""
    table = HanabiVectorEnv(12, partners=partners, **game.config.to_dict())
    rng = np.random.default_rng(0)
    seen, info = table.reset(seed=6)
    found: Found = [digest(seen)]
    for _ in range(8):
        mask = info["action_mask"]
        actions = np.array([rng.choice(np.flatnonzero(row)) if row.any() else 0 for row in mask])
        seen, rewards, over, _, info = table.step(actions)
        found.append([digest(seen), digest(info["action_mask"]), rewards.tolist(), over.tolist()])
    return found


for name in ("smartbot", "random", "vdb"):
    CASES.add(f"vectors_{name}", lambda name=name: of_vectors(name, THREE))
