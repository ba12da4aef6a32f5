"""Read Dec-POMDPs in the .dpomdp format of the MADP toolbox (Oliehoek et al., JMLR 2017).

The format is one of lines: a header in a fixed order (agents, discount, values, states, start,
actions, observations), then any number of entries T, O and R, of which later ones overwrite
earlier ones. A "#" begins a comment. Nothing in a file is executed.

Letters in shapes: J joint actions, S states, Z joint observations. The last agent's action and
observation vary fastest in a joint one.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from hanabi_search_plugin.core.errors import RecordError
from hanabi_search_plugin.core.game import FloatArray, IntArray
from hanabi_search_plugin.core.whole_files import ENDLESS, read_whole

MAX_NUMBERS = 1 << 25  # of one table: 256 MiB
MAX_NAMES = 1 << 16  # of states, or of an agent's actions or observations
MAX_AGENTS = 16
TOLERANCE = 1e-3  # that probabilities in a file may miss a sum of 1 by; they are normalised

_TOKEN = re.compile(r":|[^\s:]+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_INDEX = re.compile(r"\d{1,9}")
_WORDS = ("uniform", "identity")
_ENTRIES = ("T", "O", "R")


@dataclass(frozen=True)
class DecPomdp:
    """A decentralised partially observable Markov decision process with one shared reward."""

    discount: float  #: of the next reward beside this one, in [0, 1]
    states: tuple[str, ...]  #: names, S of them
    actions: tuple[tuple[str, ...], ...]  #: of each agent
    observations: tuple[tuple[str, ...], ...]  #: of each agent
    start: FloatArray  #: [S]
    transitions: FloatArray  #: [J, S, S] P(next state | joint action, state)
    emissions: FloatArray  #: [J, S, Z] P(joint observation | joint action, next state)
    #: [J, S] the expected reward of a joint action in a state, over what follows it
    rewards: FloatArray


@dataclass(frozen=True)
class _Token:
    text: str
    line: int
    column: int


def read_dpomdp(path: str | Path) -> DecPomdp:
    """Read a file, which may be packed by gzip.

    Raises OSError where it cannot be read; RecordError, which names line and column, for what is
    not in the format, for probabilities that do not sum to 1 and for tables above ``MAX_NUMBERS``.
    """
    content = read_whole(path)
    if content.startswith(b"\x1f\x8b"):
        content = _unpacked(content, path)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise RecordError(f"{path}: expected text, got bytes that are not UTF-8") from None
    return _Reader(text, str(path)).read()


def _unpacked(content: bytes, path: str | Path) -> bytes:
    unpacker = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        unpacked = unpacker.decompress(content, ENDLESS)
    except zlib.error:
        raise RecordError(f"{path}: expected a file packed by gzip, got a damaged one") from None
    if not unpacker.eof:
        raise RecordError(
            f"{path}: expected a whole file packed by gzip, of at most {ENDLESS >> 20} MiB"
        )
    return unpacked


class _Reader:
    """One pass over the lines of a file."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.lines: list[list[_Token]] = []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.partition("#")[0]
            tokens = [_Token(m[0], number, m.start() + 1) for m in _TOKEN.finditer(line)]
            if tokens:
                self.lines.append(tokens)
        self.at = 0  # the next line
        self.last = text.count("\n") + 1

    def read(self) -> DecPomdp:
        agents = self._agents()
        discount = self._number(self._one("discount"))
        sign = {"reward": 1.0, "cost": -1.0}
        values = self._one("values")
        if values.text not in sign:
            self.fail(values, f"expected reward or cost, got {values.text!r}")
        states = self._names("states", self._header("states"))
        start = self._start(states)
        actions = self._each("actions", agents)
        observations = self._each("observations", agents)
        tables = _Tables(self, states, actions, observations)
        while self.at < len(self.lines):
            tables.read_entry(self._next("T, O or R"))
        return DecPomdp(
            discount, states, actions, observations, start, tables.checked_transitions(),
            tables.checked_emissions(), sign[values.text] * tables.expected_rewards(),
        )  # fmt: skip

    # ------------------------------------------------------------------------------ the header

    def _agents(self) -> int:
        tokens = self._header("agents")
        agents = len(self._names("agents", tokens))
        if agents > MAX_AGENTS:
            self.fail(tokens[0], f"expected at most {MAX_AGENTS} agents, got {agents}")
        return agents

    def _start(self, states: tuple[str, ...]) -> FloatArray:
        line = self._next("start")
        if line[0].text != "start":
            self.fail(line[0], f"expected start, got {line[0].text!r}")
        kind, rest = line[1].text if len(line) > 1 else "", line[2:]
        if kind in ("include", "exclude"):
            if not rest or rest[0].text != ":" or len(rest) == 1:
                self.fail(line[1], f"expected a colon and states after start {kind}")
            given = np.zeros(len(states), dtype=np.bool_)
            given[[i for token in rest[1:] for i in self.index(token, states, "state")]] = True
            given = given if kind == "include" else ~given
            if not given.any():
                self.fail(line[1], "expected a state to start in, got none")
            return np.asarray(given / given.sum(), dtype=np.float64)
        if kind != ":":
            self.fail(line[-1], "expected a colon after start")
        if not rest:
            first = self._peek("a start distribution")
            if len(first) == 1 and (first[0].text == "uniform" or first[0].text in states):
                rest = self._next("")
        if len(rest) == 1 and rest[0].text == "uniform":
            return np.full(len(states), 1.0 / len(states))
        if len(rest) == 1:
            given = np.isin(np.arange(len(states)), self.index(rest[0], states, "state"))
            return np.asarray(given / given.sum(), dtype=np.float64)
        chance = self.numbers(rest[0] if rest else line[1], len(states), rest)
        self.check_chance(chance, line[0])
        return np.asarray(chance / chance.sum(), dtype=np.float64)

    def _each(self, word: str, agents: int) -> tuple[tuple[str, ...], ...]:
        """A line of names for every agent."""
        rest = self._header(word, empty=True)
        lines = [rest] if rest else []
        while len(lines) < agents:
            lines.append(self._next(f"the {word} of agent {len(lines)}"))
        return tuple(self._names(word, line) for line in lines)

    def _names(self, what: str, tokens: list[_Token]) -> tuple[str, ...]:
        """Names as listed, or as many numbers as a single token says."""
        if len(tokens) == 1 and _INDEX.fullmatch(tokens[0].text):
            number = int(tokens[0].text)
            if not 0 < number <= MAX_NAMES:
                self.fail(tokens[0], f"expected 1 to {MAX_NAMES} {what}, got {number}")
            return tuple(map(str, range(number)))
        seen: set[str] = set()
        for token in tokens:
            if not token.text[0].isalpha() or token.text in (*_WORDS, *seen):
                self.fail(token, f"expected new names of {what}, got {token.text!r}")
            seen.add(token.text)
        return tuple(token.text for token in tokens)

    def _header(self, word: str, *, empty: bool = False) -> list[_Token]:
        """What follows a word and a colon on the next line."""
        line = self._next(word)
        if [token.text for token in line[:2]] != [word, ":"]:
            self.fail(line[0], f"expected '{word}:', got {' '.join(t.text for t in line[:2])!r}")
        if len(line) == 2 and not empty:
            self.fail(line[1], f"expected something after '{word}:'")
        return line[2:]

    def _one(self, word: str) -> _Token:
        tokens = self._header(word)
        if len(tokens) > 1:
            self.fail(tokens[1], f"expected one word after '{word}:', got another")
        return tokens[0]

    # -------------------------------------------------------------------- lines, numbers, errors

    def _peek(self, what: str) -> list[_Token]:
        if self.at == len(self.lines):
            raise RecordError(f"{self.name}, line {self.last}: expected {what}, got the end")
        return self.lines[self.at]

    def _next(self, what: str) -> list[_Token]:
        line = self._peek(what)
        self.at += 1
        return line

    def _number(self, token: _Token) -> float:
        if not _NUMBER.fullmatch(token.text) or not math.isfinite(float(token.text)):
            self.fail(token, f"expected a number, got {token.text[:40]!r}")
        return float(token.text)

    def number(self, tokens: list[_Token], after: _Token) -> float:
        """The number that is all of ``tokens``."""
        if len(tokens) != 1:
            self.fail(tokens[1] if tokens else after, f"expected one number, got {len(tokens)}")
        return self._number(tokens[0])

    def numbers(self, after: _Token, count: int, first: list[_Token] | None = None) -> FloatArray:
        """[count] numbers, ``first`` or from the next line on, to the end of a line."""
        found: list[float] = []
        line = first or self._numbers_line(after, count, 0)
        while True:
            found += [self._number(token) for token in line]
            if len(found) > count:
                extra = line[len(line) - (len(found) - count)]
                self.fail(extra, f"expected {count} numbers, got more")
            if len(found) == count:
                return np.array(found)
            line = self._numbers_line(after, count, len(found))

    def _numbers_line(self, after: _Token, count: int, found: int) -> list[_Token]:
        if self.at == len(self.lines) or self.lines[self.at][0].text in _ENTRIES:
            self.fail(after, f"expected {count} numbers to follow, got {found}")
        return self._next("numbers")

    def word(self) -> str | None:
        """ "uniform" or "identity", if that is the next line, which is taken."""
        line = self._peek("numbers, uniform or identity")
        if len(line) == 1 and line[0].text in _WORDS:
            self.at += 1
            return line[0].text
        return None

    def index(self, token: _Token, names: tuple[str, ...], what: str) -> range:
        """The indices that a name, a number or "*" stands for."""
        if token.text == "*":
            return range(len(names))
        if _INDEX.fullmatch(token.text):
            k = int(token.text)
        else:
            k = names.index(token.text) if token.text in names else len(names)
        if k >= len(names):
            self.fail(token, f"expected one of {len(names)} {what}s, got {token.text!r}")
        return range(k, k + 1)

    def joint(
        self, tokens: list[_Token], names: tuple[tuple[str, ...], ...], what: str, after: _Token
    ) -> IntArray:
        """The joint indices that one token, or one an agent, stand for."""
        sizes = [len(each) for each in names]
        if len(tokens) == 1 and len(names) > 1:
            total = math.prod(sizes)
            if tokens[0].text == "*":
                return np.arange(total)
            if not _INDEX.fullmatch(tokens[0].text) or int(tokens[0].text) >= total:
                self.fail(
                    tokens[0], f"expected one of {total} joint {what}s, got {tokens[0].text!r}"
                )
            return np.array([int(tokens[0].text)])
        if len(tokens) != len(names):
            self.fail(
                tokens[0] if tokens else after,
                f"expected a joint {what} as one index, * or {len(names)} parts, got {len(tokens)}",
            )
        parts = [self.index(t, each, what) for t, each in zip(tokens, names, strict=True)]
        grid = np.meshgrid(*parts, indexing="ij")
        return np.ravel_multi_index([g.ravel() for g in grid], sizes)

    def check_chance(self, chance: FloatArray, token: _Token) -> None:
        if (chance < 0).any() or abs(chance.sum() - 1.0) > TOLERANCE:
            self.fail(token, f"expected probabilities that sum to 1, got {chance.sum():g}")

    def check_size(self, what: str, *sizes: int) -> None:
        """Raises RecordError before a table is made that is too large."""
        if math.prod(sizes) > MAX_NUMBERS:
            raise RecordError(
                f"{self.name}, line {self.lines[self.at - 1][0].line}, column 1: expected at most "
                f"{MAX_NUMBERS:,} numbers of {what}, got {' x '.join(map(str, sizes))}"
            )

    def fail(self, token: _Token, message: str) -> NoReturn:
        raise RecordError(f"{self.name}, line {token.line}, column {token.column}: {message}")


class _Tables:
    """The three tables as far as they have been read."""

    def __init__(
        self,
        reader: _Reader,
        states: tuple[str, ...],
        actions: tuple[tuple[str, ...], ...],
        observations: tuple[tuple[str, ...], ...],
    ) -> None:
        self.reader, self.states, self.actions = reader, states, actions
        self.observations = observations
        self.joint_actions = math.prod(map(len, actions))  # J
        self.joint_observations = math.prod(map(len, observations))  # Z
        j, s, z = self.joint_actions, len(states), self.joint_observations
        reader.check_size("transitions", j, s, s)
        reader.check_size("observations", j, s, z)
        self.transitions = np.zeros((j, s, s))
        self.emissions = np.zeros((j, s, z))
        self.rewards = np.zeros((j, s, 1, 1))  # [J, S, S or 1, Z or 1], grown where it is needed

    def read_entry(self, line: list[_Token]) -> None:
        """One entry, which begins with T, O or R, and the lines of numbers that belong to it."""
        fields: list[list[_Token]] = [[]]
        for token in line:
            if token.text == ":":
                fields.append([])
            else:
                fields[-1].append(token)
        kind = line[0]
        if len(fields[0]) != 1 or kind.text not in _ENTRIES or len(fields) < 2:
            self.reader.fail(kind, f"expected 'T:', 'O:' or 'R:', got {kind.text!r}")
        word = None
        if not fields[-1]:
            fields.pop()
        elif len(fields[-1]) == 1 and fields[-1][0].text in _WORDS:
            word = fields.pop()[0].text
        {"T": self._transition, "O": self._emission, "R": self._reward}[kind.text](
            fields[1:], word, kind
        )

    def _transition(self, fields: list[list[_Token]], word: str | None, at: _Token) -> None:
        places = self._places(fields, at, (self._states, self._states))
        self._fill(self.transitions, places, fields, word, at)

    def _emission(self, fields: list[list[_Token]], word: str | None, at: _Token) -> None:
        places = self._places(fields, at, (self._states, self._joint_observations))
        self._fill(self.emissions, places, fields, word, at)

    def _reward(self, fields: list[list[_Token]], word: str | None, at: _Token) -> None:
        kinds = (self._states, self._states, self._joint_observations)
        places = self._places(fields, at, kinds)
        if word is not None or len(places) < 2:
            self.reader.fail(at, "expected a reward of a joint action in a state, as numbers")
        any_kind = [all(token.text == "*" for token in tokens) for tokens in fields[2:4]]
        self._grow(*(not (k < len(any_kind) and any_kind[k]) for k in range(2)))
        for axis in range(2, len(places)):
            if self.rewards.shape[axis] == 1:
                places[axis] = np.zeros(1, dtype=np.int64)
        self._fill(self.rewards, places, fields, None, at)

    def _grow(self, by_state: bool, by_observation: bool) -> None:
        """Let rewards depend on the next state and the joint observation."""
        j, s, before, seen = self.rewards.shape
        wide = s if by_state else before
        deep = self.joint_observations if by_observation else seen
        if (wide, deep) != (before, seen):
            self.reader.check_size("rewards", j, s, wide, deep)
            self.rewards = np.broadcast_to(self.rewards, (j, s, wide, deep)).copy()

    def _places(
        self,
        fields: list[list[_Token]],
        at: _Token,
        kinds: tuple[Callable[[list[_Token], _Token], IntArray], ...],
    ) -> list[IntArray]:
        """The indices that the fields of an entry stand for, its number left out."""
        most = 1 + len(kinds)
        if not 0 < len(fields) <= most + 1 or len(fields) == most:
            self.reader.fail(at, f"expected {most + 1} fields after {at.text}, or a table")
        joint = self.reader.joint(fields[0], self.actions, "action", at)
        return [joint, *(kind(f, at) for kind, f in zip(kinds, fields[1:most], strict=False))]

    def _states(self, tokens: list[_Token], at: _Token) -> IntArray:
        if len(tokens) != 1:
            self.reader.fail(tokens[1] if tokens else at, f"expected one state, got {len(tokens)}")
        return np.array(self.reader.index(tokens[0], self.states, "state"))

    def _joint_observations(self, tokens: list[_Token], at: _Token) -> IntArray:
        return self.reader.joint(tokens, self.observations, "observation", at)

    def _fill(
        self,
        table: FloatArray,
        places: list[IntArray],
        fields: list[list[_Token]],
        word: str | None,
        at: _Token,
    ) -> None:
        """Set the part of ``table`` at ``places``: to one number, to a word's, or to a table."""
        missing = table.shape[len(places) :]
        if not missing:
            table[np.ix_(*places)] = self.reader.number(fields[-1], at)
            return
        probabilities = table is not self.rewards
        word = word or (self.reader.word() if probabilities else None)
        if word == "identity" and (table is not self.transitions or len(missing) != 2):
            self.reader.fail(at, "expected identity for a whole matrix of transitions")
        if word == "uniform":
            values: FloatArray = np.full(missing, 1.0 / missing[-1])
        elif word == "identity":
            values = np.eye(missing[0])
        else:
            values = self.reader.numbers(at, math.prod(missing)).reshape(missing)
        table[np.ix_(*places)] = values

    # ---------------------------------------------------------------------------- when all is read

    def checked_transitions(self) -> FloatArray:
        return self._checked(self.transitions, "transitions of")

    def checked_emissions(self) -> FloatArray:
        """[J, S, Z] normalised; what never follows a joint action may be left out."""
        reached = (self.transitions > 0).any(axis=1)  # [J, S]
        silent = ~reached & (self.emissions.sum(axis=2) == 0)
        self.emissions[silent] = 1.0 / self.joint_observations
        return self._checked(self.emissions, "observations after")

    def _checked(self, table: FloatArray, what: str) -> FloatArray:
        """``table`` normalised. Raises RecordError for rows that do not sum to 1."""
        sums = table.sum(axis=2)
        wrong = (table < 0).any(axis=2) | (abs(sums - 1.0) > TOLERANCE)
        if wrong.any():
            j, s = (int(k) for k in np.argwhere(wrong)[0])
            raise RecordError(
                f"{self.reader.name}, line {self.reader.last}, column 1: expected probabilities of "
                f"at least 0 that sum to 1, got {sums[j, s]:g} for the {what} joint action {j} in "
                f"state {self.states[s]}"
            )
        return np.asarray(table / sums[:, :, None])

    def expected_rewards(self) -> FloatArray:
        """[J, S] the mean reward over next states and joint observations."""
        transitions, emissions = self.checked_transitions(), self.checked_emissions()
        if self.rewards.shape[3] > 1:
            by_state = (self.rewards * emissions[:, None, :, :]).sum(axis=3)
        else:
            by_state = self.rewards[:, :, :, 0]
        return np.asarray((by_state * transitions).sum(axis=2))
