"""Random streams, one per world, so that results do not depend on batches or threads.

SplitMix64 (Steele, Lea and Flood, 2014): the state advances by a constant, and its hash is the
output. Compiled games draw the same numbers from the same states.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from hanabi_search_plugin.core.errors import UnsupportedError
from hanabi_search_plugin.core.require import require_integer
from hanabi_search_plugin.core.words import counted

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_GAMMA, _FIRST, _SECOND = int(GAMMA), int(_MIX1), int(_MIX2)  # for plain Python
_ALL = 2**64 - 1


class Streams:
    """B independent streams of uniform numbers, one per world.

    ``state`` is uint64 [B]. Worlds with equal states meet the same chance, which is how searches
    compare moves by common random numbers.
    """

    def __init__(self, state: NDArray[np.uint64]) -> None:
        if not isinstance(state, np.ndarray):
            raise UnsupportedError(
                "Streams hold an array uint64 [B], one number a world: Streams.spawn("
                f"np.random.default_rng(0), B) makes them, got {state!r}"
            )
        self.state = state

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'stream')}>"

    @classmethod
    def spawn(cls, rng: np.random.Generator, n: int) -> Streams:
        """Make n new streams; takes n 64-bit draws from ``rng``. Raises as ``require_draws``."""
        require_draws(rng, n)
        return cls(rng.integers(0, 2**64, size=n, dtype=np.uint64))

    def __getattr__(self, name: str) -> object:
        """Raises UnsupportedError for a method of NumPy's generators, which draw for no world."""
        if not name.startswith("_") and hasattr(np.random.Generator, name):
            raise UnsupportedError(
                f"a policy draws by rng.uniform(), a number in [0, 1) for each world, got "
                f"rng.{name}, a method of NumPy's generators"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.state)

    def select(self, index: NDArray[np.int64]) -> Streams:
        """Copies of the streams at ``index`` (int [N] or bool [B])."""
        return Streams(self.state[index])

    def uniform(self) -> NDArray[np.float64]:
        """[B] a number in [0, 1) from each stream, all of which advance by one."""
        return _numbers(self._bits())

    def fork(self) -> Streams:
        """Make B new independent streams; every stream advances by one."""
        return Streams(self._bits())

    @classmethod
    def still(cls, worlds: int) -> Streams:
        """Streams for what draws nothing: all alike."""
        return cls(np.zeros(worlds, dtype=np.uint64))

    def singles(self, ahead: int) -> Iterator[Stream]:
        """[B] a copy of each stream, to be drawn from one by one; so many numbers are hashed now.

        The streams themselves do not advance.
        """
        steps = np.arange(ahead, 0, -1, dtype=np.uint64) * GAMMA
        numbers = _numbers(_mixed(self.state[:, None] + steps)).tolist()
        after = self.state + np.array([ahead], dtype=np.uint64) * GAMMA
        return map(Stream, after.tolist(), numbers)

    def _bits(self) -> NDArray[np.uint64]:
        self.state = self.state + GAMMA
        return _mixed(self.state)


class Stream:
    """The stream of one world, which gives its numbers one by one, without arrays.

    ``Streams.singles`` makes them. Who draws very often takes from ``ahead``, where the next number
    is the last, and calls ``draw`` once it is empty.
    """

    __slots__ = ("_after", "ahead")

    def __init__(self, after: int, ahead: list[float]) -> None:
        """``ahead`` are the next numbers, the last one first; ``after`` the state behind them."""
        self._after = after
        self.ahead = ahead

    def draw(self) -> float:
        """A number in [0, 1), that which ``Streams.uniform`` gives; the stream advances by one."""
        if self.ahead:
            return self.ahead.pop()
        self._after = z = (self._after + _GAMMA) & _ALL
        z = ((z ^ (z >> 30)) * _FIRST) & _ALL
        z = ((z ^ (z >> 27)) * _SECOND) & _ALL
        return ((z ^ (z >> 31)) >> 11) * 2.0**-53

    @contextmanager
    def batch(self) -> Iterator[Streams]:
        """The stream as a batch of one: what is drawn from that within is drawn from this."""
        state = (self._after - len(self.ahead) * _GAMMA) & _ALL
        streams = Streams(np.array([state], dtype=np.uint64))
        yield streams
        self._after, self.ahead = int(streams.state[0]), []


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


def _numbers(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Numbers in [0, 1), of 53 bits."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def require_draws(rng: object, n: object) -> None:
    """Raises UnsupportedError for what is no generator, ConfigError for no number of worlds."""
    if not isinstance(rng, np.random.Generator):
        raise UnsupportedError(
            "worlds are drawn by (rng, n), rng a np.random.Generator as np.random.default_rng(0) "
            f"makes it, got ({type(rng).__name__}, {type(n).__name__})"
        )
    require_integer("the number of worlds", n, 0)


def require_streams(rng: object, worlds: int) -> None:
    """Raises UnsupportedError unless ``rng`` is Streams, one for each of ``worlds``."""
    if isinstance(rng, Streams) and len(rng) == worlds:
        return
    got = f"{len(rng)} of them" if isinstance(rng, Streams) else f"a {type(rng).__name__}"
    raise UnsupportedError(
        f"rng must be Streams, one a world, as Streams.spawn(np.random.default_rng(0), {worlds}) "
        f"makes them, got {got}"
    )
