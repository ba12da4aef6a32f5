"""Make the policy of a network: an advised, an estimating or a plain one."""

from __future__ import annotations

from hanabi_search_plugin.hanabi.hanabi_game import HanabiGame
from hanabi_search_plugin.networks.advised_policy import AdvisedPolicy
from hanabi_search_plugin.networks.modules import Network
from hanabi_search_plugin.networks.nets.advised import Advised
from hanabi_search_plugin.networks.nets.critic_net import Critic
from hanabi_search_plugin.networks.network_policies import EstimatingPolicy, NetworkPolicy
from hanabi_search_plugin.registry import load_policy


def network_policy(
    network: Network,
    *,
    temperature: float = 0.0,
    device: str = "cpu",
    critic: Critic | None = None,
) -> NetworkPolicy:
    """The policy that plays ``network``, as ``NetworkPolicy`` says.

    An ``AdvisedPolicy`` where the network has an adviser, an ``EstimatingPolicy`` where its memory
    is the same from every seat. ``temperature`` 0 plays the best move, above that the softmax of
    the logits divided by it, by the stream of ``act``; the adviser is loaded by its name. Raises
    as these classes do.
    """
    if isinstance(network, Advised):
        adviser = load_policy(network.adviser, HanabiGame(network.config))
        return AdvisedPolicy(network, adviser, temperature=temperature, device=device)
    shared = network.public_memory and not network.encoding.seat_relative
    kind = EstimatingPolicy if shared else NetworkPolicy
    return kind(network, temperature=temperature, device=device, critic=critic)
