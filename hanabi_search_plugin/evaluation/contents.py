"""What users' own games and policies consist of, as a hash: whether a run may go on with them.

Settings do not tell: two functions may have one name, and two trainings one network's. The hash is
of code, weights, arrays and attributes, and of what own code names from outside: globals, closures,
modules. Code of libraries counts by its name.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import hashlib
import json
import logging
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hanabi_search_plugin.core.game import Game
from hanabi_search_plugin.core.policy import Blueprint
from hanabi_search_plugin.evaluation.match import Side
from hanabi_search_plugin.evaluation.provenance import describe
from hanabi_search_plugin.policies.tensor_leaves import is_module

_logger = logging.getLogger("hanabi_search_plugin")

_PLAIN = (bool, int, float, complex, str, bytes, types.NoneType, types.EllipsisType)
_NO_CONTENT = {  # of a class: where it stands, and what follows from the rest
    "__module__", "__qualname__", "__dict__", "__weakref__", "__doc__", "__annotations__",
    "__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__",
    "__static_attributes__", "__dataclass_fields__", "__dataclass_params__", "__match_args__",
    "__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__",
}  # fmt: skip
_LOCKS = ("lock", "RLock")


class Contents(NamedTuple):
    """A ``digest``, None where nothing is a user's own, and types that cannot be read."""

    digest: str | None
    unreadable: tuple[str, ...]


def recorded_contents(game: Game, sides: Mapping[Side, Blueprint]) -> dict[str, Any]:
    """What a checkpoint is to say of users' own: ``{"contents": ...}``, or nothing."""
    found = {"game": contents_of(game)}
    for side, policies in reversed(list(sides.items())):  # first those who are evaluated
        found |= {f"{side}[{i}]": contents_of(policy) for i, policy in enumerate(policies)}
    for name, contents in found.items():
        if contents.unreadable:
            _logger.warning(
                "resume: nothing tells whether %s of %s is what it was: make sure yourself that "
                "it plays alike",
                " and ".join(contents.unreadable),
                name,
            )
    digests = {name: each.digest for name, each in found.items() if each.digest is not None}
    return {"contents": digests} if digests else {}


def contents_of(value: Any) -> Contents:
    """Equal digests for what plays alike, in another process and after playing, too.

    Another version of Python compiles own code to another digest.
    """
    reader = _Reader()
    try:
        reader.read(value, own=False)
    except RecursionError:
        reader.unreadable.add("what refers to itself very deeply")
    digest = reader.hash.hexdigest()[:16] if reader.found else None
    return Contents(digest, tuple(sorted(reader.unreadable)))


@functools.cache
def _is_library(module: str) -> bool:
    """Whether a module is ours, Python's or was installed."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or _is_ours(top):
        return True
    file = getattr(sys.modules.get(top), "__file__", None)
    if file is None:
        return False
    installed = {sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")}
    return any(Path(file).is_relative_to(folder) for folder in installed)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "hanabi_search_plugin"


class _Reader:
    """Reads values into one hash. ``own``: inside of something that is a user's."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.found = False
        self.unreadable: set[str] = set()
        self._seen: dict[int, tuple[int, Any]] = {}  # its number, and the value, to keep its id

    def _tell(self, *what: object) -> None:
        for part in what:
            content = part if isinstance(part, bytes) else str(part).encode()
            self.hash.update(f"{len(content)}:".encode() + content)

    def read(self, value: Any, own: bool) -> None:
        if isinstance(value, _PLAIN):
            if own:
                self._tell(type(value).__name__, repr(value))
            return
        if id(value) in self._seen:
            if own:
                self._tell("again", self._seen[id(value)][0])
            return
        self._seen[id(value)] = len(self._seen), value
        if isinstance(value, np.ndarray | np.generic):
            self._array(np.asarray(value))
        elif isinstance(value, types.FunctionType):
            self._function(value, own)
        elif isinstance(value, types.MethodType):
            self._all((value.__func__, value.__self__), own)
        elif isinstance(value, functools.partial):
            own = own or not _is_library(str(getattr(value.func, "__module__", "")))
            self._all((value.func, value.args, value.keywords), own)
        elif isinstance(value, property):
            self._all((value.fget, value.fset), own)
        elif isinstance(value, staticmethod | classmethod):
            self.read(value.__func__, own)
        elif isinstance(value, cached_property):
            self.read(value.func, own)
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif isinstance(value, type):
            self._class(value, own)
        elif isinstance(value, types.ModuleType):
            self._module(value, own)
        elif isinstance(value, types.BuiltinFunctionType | types.WrapperDescriptorType):
            self._tell(value.__qualname__)
        elif isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
            pass  # a slot: the object has what is in it
        elif type(value) in (list, tuple):
            if own:
                self._tell(len(value))
            self._all(value, own)
        elif type(value) is dict or isinstance(value, types.MappingProxyType):
            self._all(((key, value[key]) for key in list(value)), own)
        elif isinstance(value, set | frozenset):
            self._tell(*sorted(_alone(entry) for entry in value))
        else:
            self._object(value, own)

    def _all(self, values: Any, own: bool) -> None:
        for each in values:
            self.read(each, own)

    def _array(self, array: Any) -> None:
        self.found = True
        self._tell(array.dtype, array.shape)
        if array.dtype.hasobject:
            self._all(array.ravel().tolist(), own=True)
        else:
            self._tell(array.tobytes())

    def _function(self, f: types.FunctionType, own: bool) -> None:
        cells = [_in_cell(cell) for cell in f.__closure__ or ()]
        if _is_library(str(f.__module__)):
            if own:
                self._tell(f.__module__, f.__qualname__)
            self._all(cells, own)  # it may go on to a user's
            return
        self.found = True
        self._code(f.__code__)
        outside = [f.__globals__[name] for name in _globals_of(f.__code__) if name in f.__globals__]
        self._all((f.__defaults__, f.__kwdefaults__, *cells, *outside), own=True)

    def _code(self, code: types.CodeType) -> None:
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        self._tell(code.co_code, *names, code.co_exceptiontable)
        self._all(code.co_consts, own=True)

    def _class(self, kind: type, own: bool) -> None:
        for base in kind.__mro__:
            if _is_library(base.__module__):
                if own:
                    self._tell(base.__module__, base.__qualname__)
                continue
            self.found = True
            self._tell(base.__qualname__)
            for name, attribute in sorted(vars(base).items()):
                if name not in _NO_CONTENT:
                    self._tell(name)
                    self.read(attribute, own=True)

    def _module(self, module: types.ModuleType, own: bool) -> None:
        if own:
            self._tell(module.__name__)
        if not _is_library(module.__name__) and getattr(module, "__file__", None):
            self.found = True
            self._tell(Path(str(module.__file__)).read_bytes())

    def _object(self, value: Any, own: bool) -> None:
        kind = type(value)
        if hasattr(value, "py_func"):  # Numba's
            self.read(value.py_func, own)
        elif is_module(value):
            self._network(value)
        elif _is_tensor(value):
            self._tensor(value)
        elif _is_ours(kind.__module__):
            if own:
                self._tell(json.dumps(describe(value)))
            if not hasattr(value, "digest"):  # a shipped network or a file, whose settings have it
                self._all((part for _, part in _parts(value)), own=False)
        elif kind.__module__ == "builtins" or _is_library(kind.__module__):
            self._pickled(value, own)
        else:
            self.read(kind, own=True)
            for name, part in _parts(value):
                self._tell(name)
                self.read(part, own=True)

    def _network(self, network: Any) -> None:
        """A module of PyTorch: whether it trains, its hooks and gradients are no content."""
        self.found = True
        for name, module in network.named_modules():
            self._tell(name)
            self.read(type(module), own=True)
            plain = {k: v for k, v in vars(module).items() if k[:1] != "_" and k != "training"}
            for key, value in plain.items():
                if isinstance(value, (*_PLAIN, tuple, types.FunctionType, np.ndarray)):
                    self._tell(key)
                    self.read(value, own=True)
        for name, tensor in network.state_dict().items():
            self._tell(name)
            self.read(tensor, own=True)

    def _tensor(self, tensor: Any) -> None:
        import torch

        self.found = True
        here = tensor.detach().cpu().contiguous()
        self._tell(here.dtype, tuple(here.shape))
        self._tell(here.reshape(-1).view(torch.uint8).numpy().tobytes())

    def _pickled(self, value: Any, own: bool) -> None:
        """An object of a library, by what it would be pickled as."""
        kind = type(value)
        if own:
            self._tell(kind.__module__, kind.__qualname__)
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:  # whatever an object raises that cannot be read
            if own and kind.__name__ not in _LOCKS:
                self.unreadable.add(kind.__qualname__)
            return
        if isinstance(reduced, str):
            self.read(reduced, own)
            return
        made, given, *rest = reduced
        self._all((made, given, *rest[:1]), own)
        for items in rest[1:3]:
            self.read(None if items is None else list(items), own)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object by name. What a property keeps is none."""
    if dataclasses.is_dataclass(value) and _is_ours(type(value).__module__):
        for field in dataclasses.fields(value):
            yield field.name, getattr(value, field.name)
        return
    for name, part in getattr(value, "__dict__", {}).items():
        if not isinstance(getattr(type(value), name, None), cached_property):
            yield name, part
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                yield name, getattr(value, name)


def _globals_of(code: types.CodeType) -> list[str]:
    """Names that code takes from outside, in order, with those of functions inside of it."""
    names = {
        str(each.argval): None
        for each in dis.get_instructions(code)
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= dict.fromkeys(_globals_of(const))
    return list(names)


def _in_cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return None


def _alone(value: Any) -> str:
    reader = _Reader()
    reader.read(value, own=True)
    return reader.hash.hexdigest()


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
