"""A network whose memory is a public belief over every card, learned from what cards turned out.

``BeliefCell`` says after each move how much likelier it made each identity of the cards that the
mover saw. It learns by supervision, from those cards (``PublicBeliefNet.belief_loss``), while the
policy learns as every policy does: it reads the beliefs, its own seat's with the cards in sight
taken off, and for every hint what its receiver would believe. A learned public belief after the
Bayesian action decoder (Foerster et al., 2019), with a filter in place of the exact likelihood of
the move. Letters as in ``card_beliefs``; T other players, N hints to one player, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.functional import one_hot

from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.layout import LAST_PLAYER, NO_CARD, TURN
from hanabi_search_plugin.networks.encodings import card_beliefs, seat_table, status
from hanabi_search_plugin.networks.encodings.belief_parts import EVER, WORTHS
from hanabi_search_plugin.networks.encodings.card_beliefs import CardMemory
from hanabi_search_plugin.networks.encodings.status import STATUSES, PublicTable
from hanabi_search_plugin.networks.encodings.status_encoding import Status
from hanabi_search_plugin.networks.modules import (
    LearnsBelief,
    Output,
    PlaysOn,
    SharedScorer,
    layers,
    require_sizes,
)
from hanabi_search_plugin.networks.nets import public_belief_on_cpu
from hanabi_search_plugin.networks.nets.move_heads import MoveHeads

Tensor = Any  # torch.Tensor

FIRST_LOGITS = 0.3  # what is kept of the logits that random weights give
TOLD = 12  # numbers of a hint about a card, beside its worth


class BeliefCell(nn.Module):
    """Weights of identities' features, for every card that the mover of an event saw.

    Its input is a table: the event, the board, and ``slot_size`` numbers a card, the mover's hand
    first. One layer is shared by all cards, and by players.
    """

    def __init__(self, config: HanabiConfig, hidden: int) -> None:
        super().__init__()
        self.config = config
        context, scorer = max(1, hidden // 2), max(1, hidden // 2)
        self.slot_size = 2 + 3 + card_beliefs.card_size(config)
        self.slots_at = status.event_size(config) + card_beliefs.board_size(config)
        cards = config.players * config.hand_size
        self.first = nn.Linear(self.slots_at + cards * self.slot_size, hidden)
        self.second = nn.Linear(hidden, context)
        self.around = nn.Linear(context, scorer, bias=False)
        self.slot = nn.Linear(self.slot_size, scorer)
        self.places = nn.Parameter(torch.zeros(config.players - 1, config.hand_size, scorer))
        self.weights = nn.Linear(scorer, card_beliefs.identity_size(config) + 1)
        nn.init.zeros_(self.weights.weight)
        nn.init.zeros_(self.weights.bias)

    def forward(self, event: Tensor, board: Tensor, slots: Tensor) -> Tensor:
        """[B, T, H, W + 1] for the others' cards; ``slots`` [B, P, H, slot_size] from the mover."""
        hidden = self.first(torch.cat([event, board, slots.flatten(1)], 1))
        return self._read(hidden.unsqueeze(1), slots[:, 1:])

    def foreseen(self, board: Tensor, slots: Tensor, told: Tensor) -> Tensor:
        """[B, T, N, H, W + 1] for the cards of each hint's receiver, were it given.

        ``board`` is the one after a hint, ``slots`` [B, P, H, slot_size] are those before it,
        ``told`` [B, T, N, H, slot_size] the receiver's after it. The first layer is linear: what
        hints have in common goes through it once.
        """
        size, config = self.config.hand_size * self.slot_size, self.config
        weight = self.first.weight
        columns = weight[:, self.slots_at :].unflatten(1, (config.players, size))
        nothing = board.new_zeros(len(board), status.event_size(config))
        hidden = self.first(torch.cat([nothing, board, slots.flatten(1)], 1))
        change = told.flatten(3) - slots[:, 1:].flatten(2).unsqueeze(2)  # [B, T, N, size]
        change = torch.einsum("btns,hts->btnh", change, columns[:, 1:])
        hidden = hidden[:, None, None] + change + self.hint_columns(weight)
        return self._read(hidden, told, self.places.unsqueeze(1))

    def hint_columns(self, weight: Tensor) -> Tensor:
        """[T, N, hidden] what the first layer has for the event of each hint."""
        config = self.config
        begin, players = 2 * config.hand_size, config.players - 1
        colors = weight[:, begin : begin + players * config.colors]
        ranks = weight[:, begin + players * config.colors : config.num_actions]
        by_player = [part.unflatten(1, (players, -1)) for part in (colors, ranks)]
        return torch.cat(by_player, 2).permute(1, 2, 0)

    def _read(self, hidden: Tensor, slots: Tensor, places: Tensor | None = None) -> Tensor:
        """Of the first layer's outputs [..., hidden] and slots [..., H, slot_size]."""
        context = torch.relu(self.second(torch.relu(hidden)))
        scored = self.slot(slots) + self.around(context).unsqueeze(-2)
        scored = scored + (self.places if places is None else places)
        return self.weights(torch.relu(scored))


@dataclass(frozen=True)
class _Event:
    """What an event shows of the cards that its mover saw, players in order from the mover."""

    likelihood: Tensor  # [B, T, H, V] log W after it, but for a constant a card
    free: Tensor  # [B, T, H, V] copies that a card may be one of, by the beliefs before it
    before: Tensor  # [B, T, H, V] log W before it
    open: Tensor  # [B, T, H, V] 1 where hints leave an identity
    counts: Tensor  # int16 [B, P, H, COUNTS] after it
    memory: Tensor  # int16 [B, P, H, X] before it, moved along
    mover: Tensor  # [B]
    happened: Tensor  # bool [B] there was one


@dataclass(frozen=True)
class _Look:
    """What a seat sees and believes, players in order from it."""

    seen: PublicTable
    worth: Tensor  # [B, WORTHS, V]
    log_weight: Tensor  # [B, P, H, V]
    traces: Tensor  # [B, P, H, 3]
    open: Tensor  # [B, P, H, V] what hints leave
    present: Tensor  # [B, P, H]
    touched: Tensor  # [B, P, H] by the last move
    public: Tensor  # [B, P, H, V] what all believe
    free: Tensor  # [B, P, H, V] copies
    own: Tensor  # [B, H, V] what the seat believes of its own cards
    features: Tensor  # [B, P, H, card_size] of ``public``
    cards: Tensor  # [B, T, H, V] the others' cards
    ever: Tensor  # [B, P, H] the card was touched once


class PublicBeliefNet(MoveHeads, LearnsBelief, PlaysOn):
    """The whole network, with layers of these sizes. Raises ConfigError for one below 1.

    Memory: int16 [B, P x H x X], see ``card_beliefs``; no gradient flows through it. On a CPU
    ``public_belief_on_cpu`` computes it, and decisions where no gradient is asked for.
    """

    public_memory = True

    def __init__(
        self,
        config: HanabiConfig,
        *,
        hidden: int = 256,
        context: int = 128,
        scorer: int = 128,
        cell: int = 128,
    ) -> None:
        super().__init__(config)
        require_sizes(hidden=hidden, context=context, scorer=scorer, cell=cell)
        self.options = {"hidden": hidden, "context": context, "scorer": scorer, "cell": cell}
        self.encoding = Status(config)
        self.cell = BeliefCell(config, cell)
        players, size, one = config.players, config.hand_size, card_beliefs.card_size(config)
        self.own_size = 5 + one + STATUSES + players - 1
        self.other_size = 5 + one + WORTHS + config.ranks + 3
        self.slots_at = status.event_size(config) + card_beliefs.board_size(config)
        self.table_size = self.slots_at + size * self.own_size + players - 1
        self.table_size += (players - 1) * size * self.other_size
        self.hint_size = size * (TOLD + WORTHS + 1) + 2
        self.context = layers(self.table_size, hidden, context)
        hints = (players - 1) * (config.colors + config.ranks)
        self.own = SharedScorer(context, size, self.own_size, scorer, scorer // 2)
        self.hint = SharedScorer(context, hints, self.hint_size, scorer, scorer // 2)
        self.add_heads(context, scorer // 2)
        for layer in (self.own_heads, self.hint_heads, self.kinds):
            with torch.no_grad():
                layer.weight *= FIRST_LOGITS

    def blank(self, n: int) -> Tensor:
        numbers = self.config.players * self.config.hand_size * card_beliefs.size(self.config)
        return torch.zeros(n, numbers, dtype=torch.int16, device=self.planes.device)

    # ------------------------------------------------------------------------------- the memory

    def remember(self, seen: Tensor, memory: Tensor) -> Tensor:
        if seen.device.type == "cpu":
            return public_belief_on_cpu.remember(self, seen, memory)
        return self.remember_by_tensors(seen, memory)

    def remember_by_tensors(self, seen: Tensor, memory: Tensor) -> Tensor:
        """``remember`` on any device."""
        with torch.no_grad():
            event = self._event(seen, memory)
            top = event.likelihood.masked_fill(event.open == 0, -1e9).amax(-1, keepdim=True)
            heard = card_beliefs.quantised(event.likelihood - top)
            every = status.identities(self.config)
            weights = event.memory[..., :every]
            learned = event.happened.view(-1, 1, 1, 1) & (event.open.sum(-1, keepdim=True) > 0)
            heard = torch.where(learned, heard, weights[:, 1:])
            weights = torch.cat([weights[:, :1], heard], 1)
            after = torch.cat([weights, event.counts], -1)
            return status.turned(after, (-event.mover) % self.config.players).flatten(1)

    def belief_loss(
        self, public: Tensor, private: Tensor, memory: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        event = self._event(public, memory)
        hands = private.amin(0).unflatten(1, (self.config.players, self.config.hand_size))
        cards = status.turned(hands, event.mover)[:, 1:].long()
        known = (event.open.sum(-1) > 0) & event.happened.view(-1, 1, 1)
        target = cards.clamp(max=status.identities(self.config) - 1).unsqueeze(-1)
        share = known / known.sum().clamp(min=1)

        def loss(log_weight: Tensor) -> Tensor:
            logits = log_weight + event.free.clamp(min=1e-9).log()
            logits = logits.masked_fill(event.open == 0, -1e9).log_softmax(-1)
            return -(logits.gather(-1, target).squeeze(-1) * share).sum()

        return loss(event.likelihood), {"belief_before": loss(event.before).detach()}

    def _event(self, public: Tensor, memory: Tensor) -> _Event:
        """The last event, by the cell; the gradient is of the cell's weights alone."""
        config = self.config
        seen = status.table(config, public)
        mover, happened = seen.word(LAST_PLAYER).clamp(min=0), seen.word(LAST_PLAYER) >= 0
        before, card = status.statuses_before(config, seen)
        worth = card_beliefs.worths(config, before)
        after = status.statuses(config, seen.left, seen.played)
        moved = card_beliefs.moved_along(config, seen, memory)
        moved, open_ = (status.turned(x, mover) for x in (moved, seen.hinted))
        present = status.turned(seen.present, mover)
        cards, touched = card_beliefs.read(config, moved), status.touched(config, seen)
        p, free = self._believed(cards, open_, seen.left)
        slots = self._cell_slots(
            cards, card_beliefs.card_features(config, p, open_, worth), present, touched
        )
        event = status.event(config, seen, before, card)
        weights = self.cell(event, card_beliefs.board(config, seen), slots)
        held = p[:, 0].sum(1)
        features = card_beliefs.identity_features(config, worth, after, card, held)
        log_weight = cards.log_weight[:, 1:]
        return _Event(
            likelihood=_updated(weights, features, log_weight),
            free=free[:, 1:],
            before=log_weight,
            open=open_[:, 1:],
            counts=card_beliefs.counted_on(cards.counts, touched, happened),
            memory=moved,
            mover=mover,
            happened=happened,
        )

    def _believed(self, cards: CardMemory, open_: Tensor, left: Tensor) -> tuple[Tensor, Tensor]:
        """(p, free) [B, P, H, V] by what all know; see ``card_beliefs.settled``."""
        weight = (cards.log_weight.exp() * open_).flatten(1, 2)
        p, free = card_beliefs.settled(weight, left)
        return p.reshape(open_.shape), free.expand_as(weight).reshape(open_.shape)

    def _cell_slots(
        self, cards: CardMemory, features: Tensor, present: Tensor, touched: Tensor
    ) -> Tensor:
        parts = [present.unsqueeze(-1), touched.unsqueeze(-1), cards.traces(), features]
        return torch.cat(parts, -1)

    # ----------------------------------------------------------------------------- the decision

    def decide(self, public: Tensor, private: Tensor, memory: Tensor) -> Output:
        if private.device.type == "cpu" and not torch.is_grad_enabled():
            return public_belief_on_cpu.decide(self, public, private, memory)
        return self.decide_by_tensors(public, private, memory)

    def decide_by_tensors(self, public: Tensor, private: Tensor, memory: Tensor) -> Output:
        """``decide`` on any device, for gradients too."""
        return self.read(*self.prepare(public, private, memory))

    def prepare(self, public: Tensor, private: Tensor, memory: Tensor) -> tuple[Tensor, ...]:
        with torch.no_grad():
            look = self._look(public, private, memory)
            return self._table(look, private), self._hints(look), look.own

    def read(self, *prepared: Tensor) -> Output:
        table, hints, _ = prepared
        context = self.context(table)
        own = table[:, self.slots_at :][:, : self.config.hand_size * self.own_size]
        own = own.unflatten(1, (self.config.hand_size, self.own_size))
        moves = self.own_heads(self.own(context, own))
        scores = self.hint_heads(self.hint(context, hints))
        kinds = self.kinds(context)
        heads = [self.joined(head, moves, scores, kinds) for head in range(2)]
        return Output(heads[0], heads[1], self.value(context).squeeze(1))

    def play_on(self, rows: Any, memory: Any, depth: int | None) -> None:
        public_belief_on_cpu.play_on(self, rows, memory, depth)

    def chooses(
        self, public: Any, private: Any, memory: Any, seat: int, hands: Any, action: int
    ) -> Any:
        return public_belief_on_cpu.chooses(self, public, private, memory, seat, hands, action)

    def seat_value(self, public: Tensor, private: Tensor, memory: Tensor) -> Tensor:
        with torch.no_grad():
            table = self._table(self._look(public, private, memory), private)
        value: Tensor = self.value(self.context(table)).squeeze(1)
        return value

    @property
    def central_numbers(self) -> int:
        return self.table_size + self.config.hand_size * (WORTHS + 2)

    def central(
        self, public: Tensor, private: Tensor, prepared: tuple[Tensor, ...], seat: Tensor
    ) -> Tensor:
        with torch.no_grad():
            config, (table, _, own) = self.config, prepared
            seen = status.table(config, public[0])
            worth = card_beliefs.worths(config, status.statuses(config, seen.left, seen.played))
            hands = private.amin(0).unflatten(1, (config.players, config.hand_size))
            held = self._identities(status.turned(hands, seat)[:, 0].long())  # [B, H, V]
            ranks = held.unflatten(-1, (config.colors, config.ranks)).sum(-2)
            height = ranks @ torch.linspace(0, 1, config.ranks, device=ranks.device)
            believed = (held * own).sum(-1, keepdim=True)
            true = torch.cat([held @ worth.transpose(1, 2), height.unsqueeze(-1), believed], -1)
            return torch.cat([table, true.flatten(1)], 1)

    def _identities(self, cards: Tensor) -> Tensor:
        """[..., V] one-hot; nothing where there is no card."""
        return one_hot(cards, NO_CARD + 1)[..., : status.identities(self.config)].float()

    def _look(self, public: Tensor, private: Tensor, memory: Tensor) -> _Look:
        config = self.config
        public, memory = (x.expand(len(private), -1) for x in (public, memory))
        seen = status.table(config, public)
        hands = private.reshape(-1, config.players, config.hand_size)
        me = seat_table.looking(seen, hands, seen.word(TURN).clamp(min=0))
        shape = (-1, config.players, config.hand_size, card_beliefs.size(config))
        memory = status.turned(memory.reshape(shape), me)
        cards, open_ = card_beliefs.read(config, memory), status.turned(seen.hinted, me)
        p, free = self._believed(cards, open_, seen.left)
        visible = self._identities(status.turned(hands, me)[:, 1:].long())
        own, _ = card_beliefs.settled(
            cards.log_weight[:, 0].exp() * open_[:, 0], seen.left - visible.sum((1, 2))
        )
        worth = card_beliefs.worths(config, status.statuses(config, seen.left, seen.played))
        since = (me - seen.word(LAST_PLAYER).clamp(min=0)) % config.players
        return _Look(
            seen=seen,
            worth=worth,
            log_weight=cards.log_weight,
            traces=cards.traces(),
            open=open_,
            present=status.turned(seen.present, me),
            touched=status.turned(status.touched(config, seen), since),
            public=p,
            free=free,
            own=own,
            features=card_beliefs.card_features(config, p, open_, worth),
            cards=visible,
            ever=cards.counts[..., EVER].float(),
        )

    def _table(self, look: _Look, private: Tensor) -> Tensor:
        """[B, table_size] the event, the board, own slots, others' slots, whose turn it is."""
        config, seen = self.config, look.seen
        before, card = status.statuses_before(config, seen)
        hands = private.reshape(-1, config.players, config.hand_size)
        turn = seen.word(TURN).clamp(min=0)
        me = seat_table.looking(seen, hands, turn)
        common = [look.present.unsqueeze(-1), look.touched.unsqueeze(-1), look.traces]
        common_numbers = torch.cat(common, -1)  # [B, P, H, 5]
        doubles = look.own @ look.cards.sum(2).transpose(1, 2)  # [B, H, T]
        own = [
            common_numbers[:, 0],
            card_beliefs.card_features(config, look.own, look.open[:, 0], look.worth),
            look.features[:, 0, :, :STATUSES],
            doubles,
        ]
        cards = look.cards
        ranks = cards.unflatten(-1, (config.colors, config.ranks)).sum(-2)
        held = look.own.sum(1)[:, None, None]  # [B, 1, 1, V]
        elsewhere = cards.sum((1, 2))[:, None, None] - cards
        others = [
            common_numbers[:, 1:],
            look.features[:, 1:],
            self._true(look),
            ranks,
            (look.public[:, 1:] * cards).sum(-1, keepdim=True),
            (elsewhere * cards).sum(-1, keepdim=True).clamp(max=1),
            (held * cards).sum(-1, keepdim=True).clamp(max=1),
        ]
        return torch.cat(
            [
                status.event(config, seen, before, card),
                card_beliefs.board(config, seen),
                torch.cat(own, -1).flatten(1),
                torch.cat(others, -1).flatten(1),
                one_hot((turn - me) % config.players, config.players)[:, 1:].float(),
            ],
            1,
        )

    def _true(self, look: _Look) -> Tensor:
        """[B, T, H, WORTHS] what the others' cards are worth."""
        worth = look.cards.flatten(1, 2) @ look.worth.transpose(1, 2)
        return worth.unflatten(1, look.cards.shape[1:3])

    def _hints(self, look: _Look) -> Tensor:
        """[B, T x N, hint_size] each hint: its receiver's cards, and beliefs before and after."""
        config, cards = self.config, look.cards
        hit = (cards @ self.planes.T).transpose(2, 3)  # [B, T, N, H]
        agree = hit.unsqueeze(-1) == self.planes[:, None]  # [B, T, N, H, V]
        open_ = look.open[:, 1:].unsqueeze(2) * agree
        free = look.free[:, 1:].unsqueeze(2)
        before = look.log_weight[:, 1:].unsqueeze(2)
        told = card_beliefs.normalised(before.exp() * free * open_)
        after = self._after(look, before, open_, free, told, hit)
        features = look.features[:, 1:]
        played_on = features[..., : STATUSES - 1]  # playable and worthless, by what all know
        true = (look.public[:, 1:] * cards).sum(-1, keepdim=True)
        elsewhere = cards.sum((1, 2))[:, None, None] + look.own.sum(1)[:, None, None] - cards
        ranks = cards.unflatten(-1, (config.colors, config.ranks)).sum(-2)
        height = ranks @ torch.linspace(0.2, 1, config.ranks, device=ranks.device)
        same = [
            played_on,
            true,
            (elsewhere * cards).sum(-1, keepdim=True).clamp(max=1),
            look.present[:, 1:].unsqueeze(-1),
            height.unsqueeze(-1),
            self._true(look),
        ]
        repeated = torch.cat(same, -1).unsqueeze(2).expand(-1, -1, hit.shape[2], -1, -1)
        worth = look.worth[:, :STATUSES].transpose(1, 2)
        of = (after.flatten(1, 3) @ worth).unflatten(1, hit.shape[1:])  # [B, T, N, H, S]
        margin = status.margins(of[..., :1].flatten(0, 1)).unflatten(0, hit.shape[:2])
        truly = (after * cards.unsqueeze(2)).sum(-1, keepdim=True)
        slots = [hit.unsqueeze(-1), of, after.amax(-1, keepdim=True), truly, margin, repeated]
        new = hit * (1 - look.ever[:, 1:]).unsqueeze(2)
        counts = torch.stack([hit.sum(-1), new.sum(-1)], -1) / config.hand_size
        rows = torch.cat([torch.cat(slots, -1).flatten(3), counts], -1)
        return rows.flatten(1, 2)

    def _after(
        self, look: _Look, before: Tensor, open_: Tensor, free: Tensor, told: Tensor, hit: Tensor
    ) -> Tensor:
        """[B, T, N, H, V] what all would believe of a receiver's cards after each hint."""
        config = self.config
        features = card_beliefs.card_features(
            config, told.flatten(1, 2), open_.flatten(1, 2), look.worth
        ).unflatten(1, hit.shape[1:3])
        same = torch.cat([look.present.unsqueeze(-1), look.traces], -1)
        told_slots = same[:, 1:].unsqueeze(2).expand(-1, -1, hit.shape[2], -1, -1)
        told_slots = torch.cat(
            [told_slots[..., :1], hit.unsqueeze(-1), told_slots[..., 1:], features], -1
        )
        untouched = torch.zeros_like(look.present).unsqueeze(-1)
        slots = torch.cat([same[..., :1], untouched, same[..., 1:], look.features], -1)
        board = card_beliefs.board_after_hint(config, look.seen)
        weights = self.cell.foreseen(board, slots, told_slots)
        nothing = torch.zeros_like(look.seen.left)
        planes, held = look.worth[:, :STATUSES], look.public[:, 0].sum(1)
        identities = card_beliefs.identity_features(config, look.worth, planes, nothing, held)
        likelihood = _updated(weights, identities, before)
        likelihood = likelihood.masked_fill(open_ == 0, -1e9)
        likelihood = likelihood - likelihood.amax(-1, keepdim=True)
        return card_beliefs.normalised(likelihood.exp() * free * open_)


def _updated(weights: Tensor, features: Tensor, log_weight: Tensor) -> Tensor:
    """log W [B, ..., V] after an event: (1 + a) log W + w f, of a cell's weights w and a.

    ``weights`` [B, ..., W + 1], ``features`` [B, W, V].
    """
    said = weights[..., :-1].flatten(1, -2) @ features
    said = said.unflatten(1, weights.shape[1:-1])
    return said + (1 + weights[..., -1:]) * log_weight
