"""SmartBot with a search, at one seat of PettingZoo's own Hanabi; it reads what the seat sees."""

from pettingzoo.classic import hanabi_v5

from hanabi_search_plugin import HanabiGame, Policy, SmartBot, Sparta, upgrade
from hanabi_search_plugin.wrappers.pettingzoo import RecordObservations, SeatAgent, hanabi_config

GAMES = 20
small = {"colors": 2, "hand_size": 2, "max_information_tokens": 3, "max_life_tokens": 1}
env = RecordObservations(hanabi_v5.env(**small))
searching = upgrade(SmartBot(), HanabiGame(hanabi_config(env)), Sparta(rollouts=1_000))


def play(policies: tuple[Policy, Policy]) -> float:
    """Mean score of some games."""
    agents = {f"player_{p}": SeatAgent(policy, env, p) for p, policy in enumerate(policies)}
    total = 0.0
    for seed in range(GAMES):
        env.reset(seed=seed)
        for name in env.agent_iter():
            observation, _, termination, truncation, _ = env.last()
            over = termination or truncation
            env.step(None if over else agents[name].act(observation))
            total += env.rewards.get("player_0", 0.0)
    return total / GAMES


alone, upgraded = play((SmartBot(), SmartBot())), play((SmartBot(), searching))
print(f"SmartBot alone {alone:.2f}, upgraded {upgraded:.2f}")
