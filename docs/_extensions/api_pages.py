"""Make the pages of the API: ``.. api:: MODULE`` describes what the ``__all__`` of a module lists.

A name that several modules offer is described once, on the page of the most specific of them; the
others list it with a link. Fields of dataclasses that carry their help text (``core.settings``) get
it. In all pages of the site a class or a function in code type leads to its description.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.ext.autodoc.mock import mock
from sphinx.pycode import ModuleAnalyzer
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

API = Path(__file__).resolve().parents[1] / "api"
PACKAGE = "hanabi_search_plugin"


@cache
def faces() -> tuple[str, ...]:
    """The modules that the pages of the API describe, the most specific first."""
    texts = [page.read_text(encoding="utf-8") for page in sorted(API.glob("*.md"))]
    named = {face for text in texts for face in re.findall(r"^\.\. api:: (\S+)", text, re.M)}
    return tuple(sorted(named, key=lambda face: (-face.count("."), face)))


def returned() -> tuple[str, ...]:
    """The classes that the pages of the API describe beside the names that a module lists."""
    texts = [page.read_text(encoding="utf-8") for page in sorted(API.glob("*.md"))]
    return tuple(
        name for text in texts for name in re.findall(rf"^   ({PACKAGE}\.\S+)$", text, re.M)
    )


def public_names(module: ModuleType) -> list[str]:
    """``__all__`` without dunders; where there is none, what the module defines itself."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [
            name for name, thing in vars(module).items()
            if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
            and not inspect.isclass(thing)
        ]  # fmt: skip
    return [name for name in listed if not name.startswith("__")]


@cache
def home_of(name: str, face: str) -> str:
    """The module on whose page a name of ``face`` is described."""
    thing = getattr(importlib.import_module(face), name)
    for other in faces():
        module = importlib.import_module(other)
        if name in public_names(module) and getattr(module, name) is thing:
            return other
    return face


def is_data(thing: Any) -> bool:
    """Is it neither class nor function nor module: a constant, or the name of a type?"""
    plain = inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)
    return not plain and not hasattr(thing, "__wrapped__")


def text_of(module: ModuleType, name: str) -> str:
    """The docstring of what a module offers; of data, that beneath it in its source."""
    thing = getattr(module, name)
    if not is_data(thing):
        return inspect.getdoc(thing) or ""
    source = module.__name__
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names):
            source = str(node.module)
    found = ModuleAnalyzer.for_module(source).find_attr_docs()
    return "\n".join(found.get(("", name), [])).strip()


def undescribed(thing: Any) -> list[str]:
    """The public members that a class defines and neither it nor a base of it describes."""
    described: set[str] = set()
    for base in inspect.getmro(thing):
        if base.__module__.startswith(PACKAGE):
            described |= documented(base)
        elif base is not object:  # another library's, which describes it there
            described |= set(vars(base))
    own = {*vars(thing), *inspect.get_annotations(thing)}
    return sorted(name for name in own - described if not name.startswith("_"))


@cache
def documented(cls: Any) -> set[str]:
    """What a class describes: by a docstring, ``#:``, a help text, or ``name`` in its own text."""
    named = set(re.findall(r"(?<=``)\w+", cls.__doc__ or ""))
    commented = {
        name
        for (owner, name) in ModuleAnalyzer.for_module(cls.__module__).find_attr_docs()
        if owner == cls.__qualname__
    }
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    helped = {field.name for field in fields if field.metadata.get("text")}
    functions = {name for name, member in vars(cls).items() if docstring_of(member)}
    return named | commented | helped | functions


def docstring_of(member: Any) -> str | None:
    """That of a function, a property or a descriptor of one; data have none of their own."""
    member = getattr(member, "__func__", None) or getattr(member, "func", None) or member
    plain = isinstance(member, property) or inspect.isroutine(member) or inspect.isclass(member)
    return member.__doc__ if plain else None


def first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.])\s+(?=[A-Z\[`])", paragraph)[0]


class Api(SphinxDirective):
    """``.. api:: MODULE [CLASS ...]``: its text, a table of its names, and each of them described.

    Classes of other modules are described after them: those of what its functions return.
    """

    required_arguments = 1
    optional_arguments = 20

    def run(self) -> list[nodes.Node]:
        with mock(self.config.autodoc_mock_imports):  # libraries that are not installed
            return self.described_names()

    def described_names(self) -> list[nodes.Node]:
        face, *returned = self.arguments
        module = importlib.import_module(face)
        names = sorted(public_names(module), key=str.lower)
        if not names:
            raise ExtensionError(f"{face} offers nothing")
        lines = [*inspect.cleandoc(module.__doc__ or "").splitlines(), ""]
        lines += [".. list-table::", "   :widths: 30 70", "   :class: api-names", ""]
        for name in names:
            lines.append(f"   * - :py:obj:`{name} <{home_of(name, face)}.{name}>`")
            lines.append(f"     - {first_sentence(text_of(module, name))}")
        lines += ["", f".. py:currentmodule:: {face}", ""]
        for name in names:
            if home_of(name, face) == face:
                lines += described(module, name)
        for full in returned:
            lines += [f".. autoclass:: {full}", "   :members:", ""]
        self.env.note_dependency(str(module.__file__))
        return self.parse_text_to_nodes(StringList(lines, source=str(module.__file__)))


def described(module: ModuleType, name: str) -> list[str]:
    thing, full = getattr(module, name), f"{module.__name__}.{name}"
    if inspect.isclass(thing):
        return [f".. autoclass:: {full}", "   :members:", "   :show-inheritance:", ""]
    if not is_data(thing) and not inspect.ismodule(thing):
        return [f".. autofunction:: {full}", ""]
    lines = [f".. py:data:: {name}"]
    if isinstance(thing, int | float | str):
        lines.append(f"   :value: {thing!r}")
    return [*lines, "", *(f"   {line}" for line in text_of(module, name).splitlines()), ""]


def add_settings(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Add the help texts of a dataclass's fields to its description, as parameters."""
    if what != "class" or not dataclasses.is_dataclass(thing):
        return
    texts = [(field.name, field.metadata.get("text")) for field in dataclasses.fields(thing)]
    if any(text for _, text in texts):
        lines += ["", *(f":param {field}: {text}" for field, text in texts if text)]


def show_code(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Show what stands indented by itself in a docstring as code."""
    for number in range(len(lines) - 1, 1, -1):
        apart = lines[number].startswith("    ") and not lines[number - 1].strip()
        if apart and not lines[number - 2].startswith((" ", "* ", ":")):
            lines[number:number] = ["::", ""]


class CodeToApi(SphinxPostTransform):
    """Link ``Name`` and ``Name(...)`` in code type to what is described of that name."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        names = names_of(self.env)
        for code in list(self.document.findall(nodes.literal)):
            found = re.fullmatch(r"([A-Za-z_]\w*)(\(.*\))?", code.astext())
            entry = names.get(found[1]) if found else None
            if entry is not None and not in_link_or_title(code):
                builder, here = self.app.builder, self.env.docname
                link = make_refnode(builder, here, entry.docname, entry.node_id, code.deepcopy())
                code.replace_self(link)


def in_link_or_title(node: nodes.Node) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.reference | nodes.title):
            return True
    return False


def names_of(env: BuildEnvironment) -> dict[str, ObjectEntry]:
    """What a name stands for that one object of the package has; not words of everyday use."""
    found: dict[str, list[ObjectEntry]] = {}
    for full, entry in env.domains.python_domain.objects.items():
        name = full.rpartition(".")[2]
        special = name[0].isupper() or "_" in name or name in ("evaluate", "upgrade")
        if special and not entry.aliased and entry.objtype in ("class", "exception", "function"):
            found.setdefault(name, []).append(entry)
    return {name: entries[0] for name, entries in found.items() if len(entries) == 1}


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("api", Api)
    app.connect("autodoc-process-docstring", add_settings)
    app.connect("autodoc-process-docstring", show_code)
    app.add_post_transform(CodeToApi)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
