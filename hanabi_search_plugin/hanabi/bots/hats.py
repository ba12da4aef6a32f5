"""The hat-guessing bots as policies.

They are not in ``compiled``, so that their routines load only when they are asked for.
"""

from __future__ import annotations

from hanabi_search_plugin.hanabi.bots import hatbot, hatbot_b
from hanabi_search_plugin.hanabi.bots.compiled import MaskBot, Routines


class HatBot(MaskBot):
    """The hat-guessing bot of the SPARTA paper, any configuration; see ``hatbot``.

    Memory as of a ``MaskBot``.
    """

    def __init__(self) -> None:
        routines = Routines(hatbot.decide, hatbot.observe, hatbot.observe_common)
        super().__init__("hatbot", routines)


class HatBotB(MaskBot):
    """The stronger hat-guessing bot of 2023, any configuration; see ``hatbot_b``.

    Memory as of a ``MaskBot``.
    """

    def __init__(self) -> None:
        routines = Routines(hatbot_b.decide, hatbot_b.observe, hatbot_b.observe_common)
        super().__init__("hatbot-b", routines)
