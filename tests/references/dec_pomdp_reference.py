"""The best joint policy of a Dec-POMDP of two agents, by trying every policy of one of them.

For each deterministic policy of agent 0, which reads its observations alone, agent 1 chooses its
actions from the last stage back: given what it has seen, against all that agent 0 may have seen.
Nothing is shared with the package but the tables of the problem.
"""

import itertools

import numpy as np


def best_joint_value(problem, horizon: int, discount: float = 1.0) -> float:
    """The value of the best joint policy; for horizons of 2 and 3 of small problems."""
    seen = range(len(problem.observations[0]))
    histories = [h for t in range(horizon) for h in itertools.product(seen, repeat=t)]
    best = -np.inf
    for actions in itertools.product(range(len(problem.actions[0])), repeat=len(histories)):
        policy = dict(zip(histories, actions, strict=True))
        start = {((), s): p for s, p in enumerate(problem.start) if p > 0}
        best = max(best, _reply(problem, policy, start, 0, horizon, discount))
    return best


def _reply(problem, policy, belief, stage, horizon, discount) -> float:
    """What agent 1 can still earn; ``belief``: weights of agent 0's history and the state."""
    if stage == horizon or not belief:
        return 0.0
    mine, theirs = len(problem.actions[1]), len(problem.observations[1])
    best = -np.inf
    for action in range(mine):
        worth, after = 0.0, [dict() for _ in range(theirs)]
        for (history, state), weight in belief.items():
            joint = policy[history] * mine + action
            worth += weight * discount**stage * problem.rewards[joint, state]
            if stage == horizon - 1:
                continue
            for following in np.flatnonzero(problem.transitions[joint, state]):
                arrive = weight * problem.transitions[joint, state, following]
                for z in np.flatnonzero(problem.emissions[joint, following]):
                    heard, own = divmod(int(z), theirs)
                    key = ((*history, heard), int(following))
                    chance = arrive * problem.emissions[joint, following, z]
                    after[own][key] = after[own].get(key, 0.0) + chance
        worth += sum(_reply(problem, policy, each, stage + 1, horizon, discount) for each in after)
        best = max(best, worth)
    return best
