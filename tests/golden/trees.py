"""Tree searches in native Hanabi, compiled and plain, and agents that learn their partners."""

from __future__ import annotations

from typing import Any

from hanabi_search_plugin.algorithms.ismcts import MoIsmcts, RisMcts, SoIsmcts, TreeSearch
from hanabi_search_plugin.algorithms.pomcp import Pomcp
from hanabi_search_plugin.algorithms.predictor import Predictor
from hanabi_search_plugin.belief_agent import upgrade
from hanabi_search_plugin.beliefs.unknown_partners import UnknownPartners, favouring
from hanabi_search_plugin.hanabi.beliefs.learned_partners import LearnedPartners, shipped_recogniser
from hanabi_search_plugin.hanabi.bots.rule_agents import RuleAgent
from hanabi_search_plugin.hanabi.bots.rulebook import TABLE_II
from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.registry import load_policies, load_policy
from tests.golden.cases import Cases, Found, beliefs_along, searched
from tests.golden.native import THREE, TWO, of_policy, second, sparta

CASES = Cases()

FOUR = HanabiGame(players=4, bomb="keep")
SMALL = HanabiGame(players=3, colors=3, ranks=3, hand_size=2, information_tokens=4, bomb="keep")
SEARCHES: dict[str, type[TreeSearch]] = {
    "so": SoIsmcts, "mo": MoIsmcts, "ris": RisMcts, "predictor": Predictor,
}  # fmt: skip


class Plain(HanabiGame):
    """Without the compiled trees of native Hanabi."""

    def start_tree(self, *given: Any, **settings: Any) -> None:
        return None


PLAIN = Plain(SMALL.config)


def rules() -> RuleAgent:
    return RuleAgent(TABLE_II, convention="any-giver")


def of_tree(
    kind: str, game: HanabiGame, iterations: int = 60, policy: str = "vdb", **options: Any
) -> Found:
    search = SEARCHES[kind](iterations=iterations, **options)
    blueprint = load_policy(policy, game)
    agent = upgrade(blueprint, game, search)
    return searched(game, second(game, blueprint, agent), skip=1, keep=1)


for nodes in ("moves", "observations"):
    CASES.add(
        f"pomcp_{nodes}",
        lambda nodes=nodes: of_policy(
            "smartbot", TWO, Pomcp(rollouts=900, nodes=nodes, threshold=0.0, errors=0.1), 1
        ),
    )
OPTIONS: dict[str, Any] = {
    "bare": lambda: {"exploration": 0.3},
    "rules": lambda: {"guide": rules(), "prior_visits": 2, "final": "value"},
    "convention": lambda: {"guide": rules(), "by_convention": True, "evidence": False},
    "estimates": lambda: {"guide": load_policy("evalfn-c"), "leaves": "estimates"},
    "priors": lambda: {"guide": load_policy("evalfn"), "prior_visits": 3, "depth": 4},
    "evidence": lambda: {"evidence": True, "depth": 3},
}
for kind in SEARCHES:
    for label, options in OPTIONS.items():
        if kind != "mo" or label == "bare":  # in compiled code it is SoIsmcts
            CASES.add(
                f"{kind}_{label}",
                lambda kind=kind, options=options: of_tree(kind, SMALL, 200, **options()),
            )
        if kind != "so":
            CASES.add(
                f"{kind}_{label}_plain",
                lambda kind=kind, options=options: of_tree(kind, PLAIN, 40, **options()),
            )
    CASES.add(
        f"{kind}_observations",
        lambda kind=kind: of_tree(kind, SMALL, 40, nodes="observations", exploration=0.5),
    )
    CASES.add(f"{kind}_full", lambda kind=kind: of_tree(kind, FOUR, 150, guide=rules()))


@CASES.case()
def ris_over_smartbot() -> Found:
    return of_tree("ris", HanabiGame(players=2), 150, "smartbot", evidence=True)


# --------------------------------------------------------------------- partners of unknown policy

NAMES = ("vdb", "smartbot", "cautious", "random")


def adapting(game: HanabiGame, search: Any, **options: Any) -> Found:
    """The partners are SmartBots, and the agent finds out; with what it believes."""
    candidates = load_policies(",".join(NAMES), game)
    agent = upgrade(candidates[0], game, search, belief=UnknownPartners(candidates, **options))
    return searched(game, second(game, candidates[1], agent), skip=1, keep=1)


@CASES.case()
def unknown_by_predictor() -> Found:
    return adapting(THREE, Predictor(iterations=100), epsilon=0.01)


@CASES.case()
def unknown_by_sparta() -> Found:
    return adapting(THREE, sparta())


@CASES.case()
def unknown_with_a_favourite() -> Found:
    prior = favouring(0, len(NAMES))
    return adapting(TWO, sparta(), prior=prior, epsilon=0.02, uncertainty=0.05)


@CASES.case()
def unknown_in_a_full_game() -> Found:
    return adapting(HanabiGame(players=2), Predictor(iterations=60))


@CASES.case()
def unknown_by_a_plain_tree() -> Found:
    return adapting(PLAIN, Predictor(iterations=30), epsilon=0.01)


@CASES.case()
def posterior() -> Found:
    """What an agent believes of its partners, after each event of a game."""
    candidates = load_policies(",".join(NAMES))
    unknown = UnknownPartners(candidates, epsilon=0.01)
    return followed(TWO, unknown, candidates[0], candidates[1])


def followed(game: HanabiGame, make: Any, own: Any, partner: Any) -> Found:
    found: Found = []
    policies = (own, *(partner,) * (game.num_players - 1))
    for belief in beliefs_along(game, make, policies):
        chances = [belief.posterior(p).tolist() for p in range(1, game.num_players)]
        found.append({"size": belief.size, "posterior": chances})
    return found


def learned() -> tuple[Any, ...]:
    recogniser = shipped_recogniser()
    candidates = tuple(load_policy(name) for name in recogniser.partners)
    return candidates, LearnedPartners(candidates, recogniser)


@CASES.case()
def learned_partners_by_predictor() -> Found:
    candidates, made = learned()
    game = HanabiGame(players=3)
    agent = upgrade(candidates[0], game, Predictor(iterations=60), belief=made)
    return searched(game, second(game, candidates[-1], agent), skip=1, keep=1)


@CASES.case()
def learned_partners_by_sparta() -> Found:
    candidates, made = learned()
    agent = upgrade(candidates[0], THREE, sparta(), belief=made)
    return searched(THREE, second(THREE, candidates[1], agent), skip=1, keep=1)


@CASES.case()
def learned_posterior() -> Found:
    candidates, made = learned()
    return followed(TWO, made, candidates[0], candidates[1])
