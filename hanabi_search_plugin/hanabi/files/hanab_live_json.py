"""Games as hanab.live exports them and takes them as shared replays: one JSON object a game.

There a card in a hand has the number of its place in the deck, from 0, a hint names its target by
seat, and ranks count from 1. Suits are red, yellow, green, blue and purple where ours are red,
yellow, green, white and blue: colours keep their numbers. ``VARIANTS`` are the rules that are ours,
too, for 2 to 5 players, with the usual hands or one card more or less.

Not kept are an ``id`` that is no number, ``notes``, ``seed`` (the site deals by it) and clocks.
What ends a game there without a move (types 4 and 5) ends the record, which has no score then.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.plain_json import short
from hanabi_search_plugin.hanabi.engine.config import HanabiConfig
from hanabi_search_plugin.hanabi.engine.text import action_from_dict, action_to_dict
from hanabi_search_plugin.hanabi.files.records import RecordedGame, require_deck

VARIANTS = {"No Variant": 5, "4 Suits": 4, "3 Suits": 3}  # plain ones, and their colours
NAMES = ("Alice", "Bob", "Cathy", "Donald", "Emily")  # of players who have none
PLAY, DISCARD, COLOR_CLUE, RANK_CLUE, END, END_BY_VOTE = range(6)  # types of actions

_CLOCKS = ("timed", "timeBase", "timePerTurn")  # options that leave the rules alone
_KNOWN = ("variant", "startingPlayer", "oneExtraCard", "oneLessCard", *_CLOCKS)


def from_hanab_live(fields: dict[str, Any], where: str, index: int) -> RecordedGame:
    """The game of an object, number ``index`` where it has no ``id``.

    Its ``policies`` are the players' names, unless these are ``NAMES``. Raises RecordError, which
    begins with ``where``, for damaged fields and for rules that are not ours.
    """
    names = _list(fields, "players", where)
    if not all(isinstance(name, str) for name in names):
        raise RecordError(f"{where}: players must be names, got {short(names)}")
    options = fields.get("options")
    if options is not None and not isinstance(options, dict):
        raise RecordError(f"{where}: options must be an object, got {short(options)}")
    config = config_of(options or {}, len(names), where)
    deck = tuple(
        _card(card, config, f"{where}: deck[{i}]")
        for i, card in enumerate(_list(fields, "deck", where))
    )
    require_deck(deck, config, where)
    first_player = first_player_of(options or {}, config, where)
    number = fields.get("id")
    return RecordedGame(
        config=config,
        game=number if _is_integer(number) else index,
        deck=deck,
        actions=_actions(_list(fields, "actions", where), config, first_player, where),
        first_player=first_player,
        policies=None if tuple(names) == NAMES[: len(names)] else tuple(names),
        source=where,
    )


def to_hanab_live(game: RecordedGame) -> dict[str, Any]:
    """The object of a game of legal moves. Raises RecordError where the site has no such rules."""
    config, where = game.config, game.source or f"game {game.game}"
    hands = _Hands(config)
    actions: list[dict[str, int]] = []
    for turn, action in enumerate(game.actions):
        player = (game.first_player + turn) % config.players
        what = action_to_dict(config, action)
        if "slot" in what:
            if what["slot"] >= len(hands.orders[player]):
                raise RecordError(f"{where}: actions[{turn}] must name a card, got an empty slot")
            kind = PLAY if what["type"] == "play" else DISCARD
            actions.append({"type": kind, "target": hands.take(player, what["slot"])})
        else:
            kind, value = (
                (COLOR_CLUE, what["color"]) if "color" in what else (RANK_CLUE, what["rank"] + 1)
            )
            target = (player + what["target"]) % config.players
            actions.append({"type": kind, "target": target, "value": value})
    out: dict[str, Any] = {
        "id": game.game,
        "players": list(game.policies or NAMES[: config.players]),
        "deck": [{"suitIndex": card // 5, "rank": card % 5 + 1} for card in game.deck],
        "actions": actions,
    }
    options = _options(config, where)
    if game.first_player:
        options["startingPlayer"] = game.first_player
    return out | ({"options": options} if options else {})


def config_of(options: dict[str, Any], players: int, where: str) -> HanabiConfig:
    """Our parameters of a table there. Raises RecordError where the rules are not ours.

    ``options`` are those of an exported game; what is left out is at its default.
    """
    variant = options.get("variant") or "No Variant"
    if not isinstance(variant, str) or variant not in VARIANTS:
        known = ", ".join(VARIANTS)
        raise RecordError(f"{where}: variant must be one of {known}, got {short(variant)}")
    for name, value in options.items():
        if name not in _KNOWN and value:
            raise RecordError(f"{where}: option {name} must be off, got {short(value)}")
    if not 2 <= players <= len(NAMES):
        raise RecordError(f"{where}: players must be from 2 to {len(NAMES)}, got {players}")
    change = bool(options.get("oneExtraCard")) - bool(options.get("oneLessCard"))
    colors = VARIANTS[variant]
    hand_size = HanabiConfig(players=players).hand_size + change
    return HanabiConfig(players=players, colors=colors, hand_size=hand_size)


def first_player_of(options: dict[str, Any], config: HanabiConfig, where: str) -> int:
    """Who begins at a table there. Raises RecordError."""
    first = options.get("startingPlayer") or 0
    if not _is_integer(first) or not 0 <= first < config.players:
        most = config.players - 1
        raise RecordError(f"{where}: startingPlayer must be from 0 to {most}, got {short(first)}")
    return first


# --------------------------------------------------------------------------------------- parts


class _Hands:
    """The cards in every hand by their places in the deck, oldest first."""

    def __init__(self, config: HanabiConfig) -> None:
        h = config.hand_size
        self.orders = [list(range(p * h, (p + 1) * h)) for p in range(config.players)]
        self.next, self.size = config.players * h, config.deck_size

    def take(self, player: int, slot: int) -> int:
        """Take a card out of a hand, which draws another where there is one."""
        order = self.orders[player].pop(slot)
        if self.next < self.size:
            self.orders[player].append(self.next)
            self.next += 1
        return order


def _card(card: Any, config: HanabiConfig, where: str) -> int:
    fields = card if isinstance(card, dict) else {}
    suit, rank = fields.get("suitIndex"), fields.get("rank")
    if not (_is_integer(suit) and _is_integer(rank)):
        raise RecordError(f"{where} must have a suitIndex and a rank, got {short(card)}")
    if not (0 <= suit < config.colors and 1 <= rank <= config.ranks):
        raise RecordError(
            f"{where} must be of suits 0 to {config.colors - 1} and ranks 1 to {config.ranks}, "
            f"got {short(card)}"
        )
    return config.ranks * suit + rank - 1


def _actions(
    actions: list[Any], config: HanabiConfig, first_player: int, where: str
) -> tuple[int, ...]:
    hands, found = _Hands(config), []
    for turn, action in enumerate(actions):
        here = f"{where}: actions[{turn}] (turn {turn + 1})"
        kind, target, value = _entry(action, here)
        if kind in (END, END_BY_VOTE):
            if turn + 1 < len(actions):
                raise RecordError(f"{here} ends the game, expected nothing after it, got more")
            break
        player = (first_player + turn) % config.players
        if kind in (PLAY, DISCARD):
            hand = hands.orders[player]
            if target not in hand:
                raise RecordError(
                    f"{here}: target must be a card in player {player}'s hand, one of "
                    f"{', '.join(map(str, hand))}, got {target}"
                )
            slot = hand.index(target)
            hands.take(player, slot)
            what: dict[str, Any] = {"type": "play" if kind == PLAY else "discard", "slot": slot}
        else:
            if not 0 <= target < config.players or target == player:
                raise RecordError(
                    f"{here}: target must be a player from 0 to {config.players - 1} but not "
                    f"{player}, whose turn it is, got {target}"
                )
            what = {"target": (target - player) % config.players}
            if kind == COLOR_CLUE:
                what |= {"type": "reveal_color", "color": value}
            else:
                what |= {"type": "reveal_rank", "rank": value - 1}
        try:
            found.append(action_from_dict(config, what))
        except RecordError as error:
            raise RecordError(f"{here}: {error}") from None
    return tuple(found)


def _entry(action: Any, where: str) -> tuple[int, int, int]:
    """Type, target and value of an action; 0 for no value, as the site reads it."""
    entry = action if isinstance(action, dict) else {}
    kind, target, value = entry.get("type"), entry.get("target"), entry.get("value")
    value = 0 if value is None else value
    if not (_is_integer(kind) and _is_integer(target) and _is_integer(value)):
        raise RecordError(f"{where} must have type, target and value, got {short(action)}")
    if not PLAY <= kind <= END_BY_VOTE:
        raise RecordError(f"{where}: type must be from 0 to {END_BY_VOTE}, got {kind}")
    return kind, target, value


def _options(config: HanabiConfig, where: str) -> dict[str, Any]:
    """The options of a configuration that are not at their defaults."""
    usual = HanabiConfig(players=config.players, colors=config.colors)
    for name in ("ranks", "information_tokens", "life_tokens"):
        here, there = getattr(config, name), getattr(usual, name)
        if here != there:
            raise RecordError(f"{where}: hanab.live plays with {name} {there}, got {here}")
    variants = {colors: name for name, colors in VARIANTS.items()}
    if config.colors not in variants:
        known = " to ".join(map(str, (min(variants), max(variants))))
        raise RecordError(f"{where}: hanab.live plays with {known} colors, got {config.colors}")
    change = config.hand_size - usual.hand_size
    if change not in (-1, 0, 1):
        raise RecordError(
            f"{where}: hanab.live plays with hand_size {usual.hand_size}, or one more or less, "
            f"got {config.hand_size}"
        )
    options: dict[str, Any] = {}
    if config.colors != VARIANTS["No Variant"]:
        options["variant"] = variants[config.colors]
    if change:
        options["oneExtraCard" if change > 0 else "oneLessCard"] = True
    return options


def _list(fields: dict[str, Any], name: str, where: str) -> list[Any]:
    value = fields.get(name)
    if not isinstance(value, list):
        raise RecordError(f"{where}: {name} must be a list, got {short(value)}")
    return value


def _is_integer(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
