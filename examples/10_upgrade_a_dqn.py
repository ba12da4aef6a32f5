"""OpenSpiel's PyTorch DQN, trained on a small Hanabi for a few seconds, saved, loaded, upgraded.

It needs torch and dm-tree.
"""

import sys
import tempfile
from pathlib import Path

import pyspiel
import torch
from open_spiel.python.pytorch.dqn import DQN
from open_spiel.python.rl_environment import ChanceEventSampler, Environment

from hanabi_search_plugin import Sparta, UniformPolicy, evaluate, upgrade
from hanabi_search_plugin.wrappers.openspiel import as_policy, load_game

torch.set_num_threads(1)  # small networks: more of them only wait for each other
EPISODES = int(sys.argv[1]) if len(sys.argv) > 1 else 600
spiel = pyspiel.load_game("hanabi(players=2,colors=2,ranks=2,hand_size=2,max_information_tokens=3)")
env = Environment(spiel, chance_event_sampler=ChanceEventSampler(seed=0))


def agent_at(seat):
    return DQN(
        seat,
        env.observation_spec()["info_state"][0],
        env.action_spec()["num_actions"],
        hidden_layers_sizes=[64],
        batch_size=64,
        learning_rate=1e-3,
        optimizer_str="adam",
        learn_every=4,
        min_buffer_size_to_learn=500,
        update_target_network_every=200,
        epsilon_end=0.05,
        epsilon_decay_duration=3 * EPISODES,
        epsilon_decay_schedule_str="linear",
        seed=seat,
    )


def train(agents):
    """Each agent gets at its turn what all have earned since its last one."""
    for _ in range(EPISODES):
        time_step, earned = env.reset(), [0.0, 0.0]
        while not time_step.last():
            seat = time_step.current_player()
            told = time_step._replace(rewards=[earned[seat]] * 2)
            earned[seat] = 0.0
            time_step = env.step([agents[seat].step(told).action])
            earned = [before + time_step.rewards[0] for before in earned]
        for agent in agents:
            agent.step(time_step._replace(rewards=earned))


trained = [agent_at(0), agent_at(1)]
train(trained)
loaded = [agent_at(0), agent_at(1)]
with tempfile.TemporaryDirectory() as folder:
    for before, after in zip(trained, loaded, strict=True):
        file = Path(folder) / "q_network.pt"
        torch.save(before._q_network.state_dict(), file)
        after._q_network.load_state_dict(torch.load(file, weights_only=True))

game = load_game(spiel)  # hanabi: the native engine
blueprint = tuple(as_policy(agent, game) for agent in loaded)
searching = upgrade(blueprint, game, Sparta(rollouts=400, min_rollouts=20))
result = evaluate(game, (blueprint[0], searching), baseline=blueprint, games=20, seed=7)
random = evaluate(game, (UniformPolicy(), UniformPolicy()), games=1000, seed=7).mean
print(
    f"random {random:.2f}, trained {result.blueprint_mean:.2f}, "
    f"upgraded {result.mean:.2f} of {game.return_range[1]:.0f}"
)
print(f"gain {result.gain:+.2f} +- {result.gain_sem:.2f}")
