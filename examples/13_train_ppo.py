"""PPO (Schulman et al. 2017) in plain PyTorch on 256 games of small Hanabi at once.

One network learns to play with the rule agent "cautious", and is then a blueprint like any other:
a search stands on it, and cuts rollouts by its critic.
It needs torch.
"""

import sys

import gymnasium
import numpy as np
import torch
from torch import nn

from hanabi_search_plugin import HanabiGame, Lbs, evaluate, from_callable, upgrade
from hanabi_search_plugin.wrappers.gymnasium import ID

torch.set_num_threads(1)  # small networks: more of them only wait for each other
torch.manual_seed(0)
UPDATES = int(sys.argv[1]) if len(sys.argv) > 1 else 60
GAMES, STEPS, EPOCHS, PARTS = 256, 16, 3, 4
DISCOUNT, TRACE, CLIP, ENTROPY = 0.97, 0.95, 0.2, 0.01
SMALL = {"colors": 2, "ranks": 3, "hand_size": 2, "information_tokens": 4, "bomb": "keep"}

env = gymnasium.make_vec(ID, GAMES, partners="cautious", autoreset_mode="SameStep", **SMALL)
size, actions = env.single_observation_space.shape[0], env.single_action_space.n
body = nn.Sequential(nn.Linear(size, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
network = nn.Sequential(body, nn.Linear(128, actions + 1))  # logits, and a value
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)


def think(observation, mask):
    """The distribution over legal actions, and the value, of a batch."""
    out = network(torch.as_tensor(observation, dtype=torch.float32))
    logits = out[:, :-1].masked_fill(~torch.as_tensor(mask, dtype=torch.bool), -1e9)
    return torch.distributions.Categorical(logits=logits), out[:, -1]


def collect(observation, mask):
    """STEPS of all games: what was seen, done and paid; then what is seen now."""
    seen = []
    for _ in range(STEPS):
        with torch.no_grad():
            chances, value = think(observation, mask)
            action = chances.sample()
        after, reward, over, _, info = env.step(action.numpy())
        paid = [torch.as_tensor(x, dtype=torch.float32) for x in (reward, over)]
        seen.append((observation, mask, action, chances.log_prob(action), value, *paid))
        observation, mask = after, info["action_mask"]
    return seen, observation, mask


def advantages(seen, value):
    """Generalised advantage estimates; ``value`` is that of what came after the last step."""
    out, gain = [], torch.zeros(GAMES)
    for _, _, _, _, before, reward, over in reversed(seen):
        surprise = reward + DISCOUNT * value * (1 - over) - before
        gain = surprise + DISCOUNT * TRACE * gain * (1 - over)
        out.append(gain)
        value = before
    return torch.stack(out[::-1])


def learn(observation, mask, action, chance, gain, target):
    """One step of the clipped objective on a part of what was collected."""
    chances, value = think(observation, mask)
    ratio = (chances.log_prob(action) - chance).exp()
    gain = (gain - gain.mean()) / (gain.std() + 1e-8)
    better = torch.minimum(ratio * gain, ratio.clamp(1 - CLIP, 1 + CLIP) * gain)
    loss = -better + 0.5 * (value - target) ** 2 - ENTROPY * chances.entropy()
    optimizer.zero_grad()
    loss.mean().backward()
    nn.utils.clip_grad_norm_(network.parameters(), 0.5)
    optimizer.step()


def train():
    observation, info = env.reset(seed=0)
    mask = info["action_mask"]
    for _ in range(UPDATES):
        seen, observation, mask = collect(observation, mask)
        with torch.no_grad():
            gain = advantages(seen, think(observation, mask)[1])
        *batch, value = (np.concatenate(x) for x in list(zip(*seen, strict=True))[:5])
        gain = gain.flatten()
        batch = [torch.as_tensor(x) for x in batch] + [gain, gain + torch.as_tensor(value)]
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(gain)).chunk(PARTS):
                learn(*(x[rows] for x in batch))


def score():
    """Mean and standard error of 1000 games with the partner, each move the likeliest."""
    with torch.no_grad():
        played = evaluate(game, (policy, "cautious"), games=1000, seed=7)
    return played.mean, played.sem


game = HanabiGame(players=2, **SMALL)
policy = from_callable(
    lambda obs, mask: think(obs, mask)[0].logits,
    returns="logits",
    values=lambda obs, mask: think(obs, mask)[1],
    combine="central",  # the partner has no values
)
before = score()
train()
after = score()
print("before {:.2f} +- {:.2f},".format(*before), "trained {:.2f} +- {:.2f}".format(*after), "of 6")

# A search over it, whose rollouts are of two moves: for the rest stands what the network values.
with torch.no_grad():
    search = Lbs(depth=2, rollouts=400, min_rollouts=20)
    agent = upgrade((policy, "cautious"), game, search)
    found = evaluate(game, (agent, "cautious"), games=20, seed=7)
print(f"searched over, on 20 decks: {found.blueprint_mean:.2f}, upgraded {found.mean:.2f}")
