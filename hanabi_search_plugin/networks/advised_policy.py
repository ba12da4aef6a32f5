"""The policy of a network that reads what another policy, its adviser, would play.

Letters: B worlds, A actions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.game import Event, View
from hanabi_search_plugin.core.policy import Memory, Policy, take
from hanabi_search_plugin.core.streams import Streams
from hanabi_search_plugin.hanabi.bots.compiled import MaskBot, SmartBot
from hanabi_search_plugin.hanabi.bots.memories import words_of
from hanabi_search_plugin.hanabi.engine.layout import ALL
from hanabi_search_plugin.networks.nets.advised import Advised, AdvisedMasks
from hanabi_search_plugin.networks.network_policies import NetworkPolicy


class AdvisedPolicy(NetworkPolicy):
    """Play an ``Advised`` network, greedily or by chance.

    The adviser observes every move of the game, whoever made it. Memory: a dict of the adviser's
    and the network's memories, each with a row a world.

    The memory is public for ``AdvisedMasks`` with SmartBot and two players. SmartBot's masks follow
    from what everybody sees, with one exception: a player that discards a card known to be playable
    sees whether the partner's newest card is a copy of it, as SmartBot's convention says. Here both
    players assume that it is, as the partner must.

    Raises ConfigError for an adviser that plays by chance, or is no bot of masks where the network
    needs one.
    """

    network: Advised

    def __init__(
        self,
        network: Advised,
        adviser: Policy,
        *,
        temperature: float = 0.0,
        device: str = "cpu",
    ) -> None:
        """``adviser`` is the policy that ``network.adviser`` names."""
        super().__init__(network, temperature=temperature, device=device)
        self.adviser = adviser
        if not self.adviser.deterministic:
            raise ConfigError(f"adviser must not play by chance, got {network.adviser!r}")
        if isinstance(network, AdvisedMasks) and not isinstance(self.adviser, MaskBot):
            raise ConfigError(f"adviser must be a bot of masks, got {network.adviser!r}")
        pair = isinstance(self.adviser, SmartBot) and network.config.players == 2
        self.public_memory = pair and isinstance(network, AdvisedMasks)

    def start(self, view: View) -> Memory:
        blank = self.network.blank(len(view)).cpu().numpy()
        return self._after(view, self.adviser.start(view), blank)

    def observe(self, view: View, event: Event, memory: Memory) -> Memory:
        if self.public_memory:
            adviser = self._read_by_the_partner(view, event, memory["adviser"])
        else:
            adviser = self.adviser.observe(view, event, memory["adviser"])
        return self._after(view, adviser, memory["own"])

    def inputs(self, view: View, memory: Memory) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        public, private, _ = super().inputs(view, None)
        private = np.column_stack([private, self._advice(view, memory["adviser"], private.dtype)])
        if isinstance(self.network, AdvisedMasks):
            return (
                public,
                private,
                words_of(memory["adviser"]) & self.network.encoding.native(view).game.template[ALL],
            )
        return public, private, memory["own"]

    def _read_by_the_partner(
        self, view: View, event: Event, memory: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """SmartBot's memory as the seat has it that did not move."""
        assert isinstance(self.adviser, SmartBot)
        after = np.empty_like(memory)
        for actor in np.unique(event.player).tolist():
            rows = np.flatnonzero(event.player == actor)
            after[rows] = self.adviser.observe_at(
                1 - actor, view.select(rows), event.select(rows), memory[rows]
            )
        return after

    def _after(self, view: View, adviser: Memory, own: NDArray[Any]) -> Memory:
        memory = {"adviser": adviser, "own": own}
        if not own.shape[1] or not len(view):
            return memory
        public, private, _ = self.inputs(view, memory)
        seen = np.concatenate([public, private], axis=1)
        return memory | {"own": self._updated_memory(seen, own)}

    def _advice(self, view: View, memory: Memory, dtype: Any) -> NDArray[Any]:
        """[B] the advised move, A where the seat is not to move."""
        advice = np.full(len(view), view.game.num_actions, dtype=dtype)
        rows = np.flatnonzero(view.current_player == view.player)
        if len(rows):
            mine = view.select(rows)
            rng = Streams(np.zeros(len(rows), dtype=np.uint64))  # it draws nothing
            advice[rows] = self.adviser.act(mine, mine.legal, take(memory, rows), rng)
        return advice
