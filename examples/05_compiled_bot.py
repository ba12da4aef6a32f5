"""A bot of your own in thirty lines: compiled, registered, at the engine's speed, searched over."""

from hanabi_search_plugin import HanabiGame, Sparta, evaluate, register_policy, upgrade
from hanabi_search_plugin.hanabi import CompiledBot, Routines, hint_action, legal_mask, routine
from hanabi_search_plugin.hanabi import layout as at


@routine
def decide(dims, row, memory, script):
    """Play a card that must score; else tell of one that would; else discard the oldest."""
    h, me = at.hand_size(dims), row[at.TURN]
    for slot in range(h):
        known = at.plausible(dims, row[at.knowledge_at(dims, me) + slot]) & ~row[at.LEFT0]
        if row[at.hand_at(dims, me) + slot] != at.NO_CARD and known & ~row[at.PLAYABLE] == 0:
            return h + slot
    for offset in range(1, at.players(dims)):
        other = (me + offset) % at.players(dims)
        for slot in range(h):
            card = row[at.hand_at(dims, other) + slot]
            word = row[at.knowledge_at(dims, other) + slot]
            scores = card != at.NO_CARD and (row[at.PLAYABLE] >> card) & 1
            if row[at.INFO] > 0 and scores and not word & at.TOLD_RANK:
                return hint_action(dims, offset, at.colors(dims) + card % at.ranks(dims))
            if row[at.INFO] > 0 and scores and not word & at.TOLD_COLOR:
                return hint_action(dims, offset, card // at.ranks(dims))
    if row[at.INFO] < row[at.MAX_INFO]:
        return 0
    return at.lowest_bit(legal_mask(dims, row) >> (2 * h)) + 2 * h  # some hint or other


def load(game):
    return CompiledBot("teller", Routines(decide))


register_policy(
    "teller", load, description="plays what is certain, tells of what scores", source="me"
)
game = HanabiGame(players=2)
agent = upgrade("teller", game, Sparta(rollouts=2_000))
result = evaluate(game, ("teller", agent), games=8, seed=7)
print(f"teller {result.blueprint_mean:.2f}, upgraded {result.mean:.2f}")
