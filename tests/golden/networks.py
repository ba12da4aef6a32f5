"""Searches over networks and learned beliefs, and beliefs that are only grounded."""

from __future__ import annotations

from typing import Any

from hanabi_search_plugin.algorithms.joint_sparta import JointSparta
from hanabi_search_plugin.algorithms.lbs import Lbs
from hanabi_search_plugin.algorithms.predictor import Predictor
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.belief_model import Grounded
from hanabi_search_plugin.beliefs.learned_belief import Learned
from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners
from hanabi_search_plugin.core.policy import Policy
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.catalogue import load_belief_model
from hanabi_search_plugin.registry import load_policies, load_policy
from tests.golden.cases import TENSORS, Cases, Found, searched
from tests.golden.native import THREE, TINY, TWO, Echo, second, sparta

CASES = Cases()

FULL = HanabiGame(players=2)


def lbs(rollouts: int = 300, depth: int | None = None, **options: Any) -> Lbs:
    settings = {"min_rollouts": 5, "round_size": 10} | options
    return Lbs(rollouts=rollouts, depth=depth, **settings)


# ---------------------------------------------------------------------------------- no PyTorch


def grounded(game: HanabiGame, policy: Policy, skip: int = 2, **options: Any) -> Found:
    belief = Learned(Grounded(game), **options)
    agent = upgrade(policy, game, lbs(), belief=belief)
    return searched(game, second(game, policy, agent), skip=skip, keep=1)


for name in ("smartbot", "hatbot", "evalfn-c", "random"):
    for label, game in (("two", TWO), ("three", THREE)):
        CASES.add(
            f"grounded_listed_{name}_{label}",
            lambda name=name, game=game: grounded(game, load_policy(name), skip=1),
        )
    CASES.add(
        f"grounded_drawn_{name}",
        lambda name=name: grounded(TWO, load_policy(name), skip=1, listed=None),
    )


@CASES.case()
def grounded_full() -> Found:
    return grounded(FULL, load_policy("smartbot"), skip=3, listed=1)


@CASES.case()
def grounded_not_explained() -> Found:
    return grounded(THREE, load_policy("iggi"), explain=False, listed=None)


@CASES.case()
def grounded_python() -> Found:
    return grounded(TINY, Echo(), skip=0)


# ------------------------------------------------------------------------------------- PyTorch


def over(
    name: str, search: Any, *, game: HanabiGame = FULL, skip: int = 2, **options: Any
) -> Found:
    policy = load_policy(name, game)
    agent = upgrade(policy, game, search, **options)
    return searched(game, second(game, policy, agent), skip=skip, keep=1)


def by_model(name: str, search: Lbs, *, game: HanabiGame = FULL, **options: Any) -> Found:
    model = load_belief_model(name, game)
    return over(name, search, game=game, belief=Learned(model, **options))


def torch_case(name: str, find: Any) -> None:
    CASES.add(name, find, "torch", tolerance=TENSORS)


for name in ("smartnet", "rlnet", "clonebot", "lstmnet"):
    torch_case(f"sparta_{name}", lambda name=name: over(name, sparta(60)))
    values = None if name == "clonebot" else 4  # a clone has none
    torch_case(
        f"lbs_drawn_{name}",
        lambda name=name, values=values: by_model(name, lbs(100, values), listed=None),
    )
    if values is not None:
        torch_case(f"sparta_depth_{name}", lambda name=name: over(name, sparta(100, depth=3)))
for name in ("smartnet", "rlnet"):
    torch_case(f"lbs_listed_{name}", lambda name=name: by_model(name, lbs(100, 4)))
    torch_case(
        f"lbs_three_{name}",
        lambda name=name: by_model(name, lbs(100, 4), game=HanabiGame(players=3), listed=1),
    )
    torch_case(
        f"lbs_six_cards_{name}",
        lambda name=name: by_model(
            name, lbs(100, 4, candidates=3), game=HanabiGame(players=2, hand_size=6), listed=2000
        ),
    )
torch_case(
    "lbs_as_the_model_says",
    lambda: by_model("rlnet", lbs(100, 4), explain=False, listed=None),
)
torch_case("candidates_rlnet", lambda: over("rlnet", sparta(100, candidates=3, depth=4)))
torch_case(
    "temperature",
    lambda: over("rlnet:temperature=0.2", lbs(60), belief=Learned(Grounded(FULL), listed=None)),
)


@CASES.case("torch", tolerance=TENSORS)
def lbs_over_smartbot_by_a_network() -> Found:
    """The network's belief under a blueprint that is another."""
    policy = load_policy("smartbot")
    model = load_belief_model("smartnet", FULL)
    agent = upgrade(policy, FULL, lbs(120), belief=Learned(model, listed=None))
    return searched(FULL, second(FULL, policy, agent), skip=4, keep=1)


@CASES.case("torch", tolerance=TENSORS)
def joint_rlnet() -> Found:
    search = JointSparta(rollouts=40, min_rollouts=2, round_size=10, max_range=30)
    team = upgrade(load_policy("rlnet"), FULL, search)
    return searched(FULL, (team, team))


@CASES.case("torch", tolerance=TENSORS)
def unknown_network_partners() -> Found:
    candidates = load_policies("rlnet,smartbot")
    unknown = UnknownPartners(candidates, epsilon=0.05)
    agent = upgrade(candidates[0], FULL, Predictor(iterations=10), belief=unknown)
    return searched(FULL, second(FULL, candidates[1], agent), skip=1, keep=1)


def untrained(kind: str, game: HanabiGame, critic: bool) -> Policy:
    """A network of random weights."""
    import torch

    from hanabi_search_plugin.networks.architectures import make_network
    from hanabi_search_plugin.networks.nets.critic_net import Critic
    from hanabi_search_plugin.networks.policy_of_network import network_policy

    torch.manual_seed(0)
    network = make_network(kind, game.config, {"hidden": 8})
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    other = Critic(game.config, hidden=8, deeper=8) if critic else None
    return network_policy(network, critic=other)


def over_untrained(kind: str, game: HanabiGame, critic: bool) -> Found:
    policy = untrained(kind, game, critic)
    agent = upgrade(policy, game, sparta(120, depth=2))
    replayed = upgrade(policy, game, lbs(120, 2), belief=Learned(Grounded(game), listed=None))
    return [
        entry
        for each in (agent, replayed)
        for entry in searched(game, second(game, policy, each), keep=1)
    ]


for kind in ("masks", "public-lstm", "feed-forward", "recurrent"):
    for label, game in (("two", TWO), ("three", THREE)):
        torch_case(
            f"untrained_{kind}_{label}",
            lambda kind=kind, game=game: over_untrained(kind, game, kind != "recurrent"),
        )
