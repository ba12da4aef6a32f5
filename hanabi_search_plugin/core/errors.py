"""The errors that this package raises on purpose.

Each message is one sentence: what was expected and what came.
"""


class HanabiSearchError(Exception):
    """Base class of all errors of this package."""


class ConfigError(HanabiSearchError, ValueError):
    """A parameter is out of its range; the message names it, its range and the value."""


class IllegalActionError(HanabiSearchError, ValueError):
    """An action was played that the rules do not allow in that state."""


class UnsupportedError(HanabiSearchError, TypeError):
    """A game or policy lacks a capability that was asked of it; the message names which."""


class MissingExtraError(UnsupportedError, ImportError):
    """Another project has to be installed first; the message has the command."""


class RecordError(HanabiSearchError, ValueError):
    """A file of games, or of a game's rules, is damaged; the message names file, line and field."""


class ContractError(HanabiSearchError, AssertionError):
    """A game, policy, belief or agent broke its contract."""


class CheckpointError(HanabiSearchError, ValueError):
    """A file holds no network of this package, or one for another game or task."""


class TooFewWorldsError(HanabiSearchError, RuntimeError):
    """A belief found fewer worlds consistent with a seat's history than it was asked for."""


class WorkerLostError(HanabiSearchError, RuntimeError):
    """The process or the machine that computed something is gone, however often it was tried."""
