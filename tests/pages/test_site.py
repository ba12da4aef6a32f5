"""The pages of the site: each is in it, opens with what it is for, and its links lead somewhere."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = tuple(sorted(DOCS.rglob("*.md")))
NOTEBOOKS = tuple(sorted((DOCS / "tutorials").glob("*.ipynb")))
LINKING = (
    *PAGES,
    *NOTEBOOKS,
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
)
STUB = "The site shows ["  # a file outside docs/ in this place
PACKAGE = "hanabi_search_plugin"


def of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def listed(page: Path) -> list[str]:
    """The pages that the toctrees of a page list, from the folder of the site."""
    found = []
    text = page.read_text(encoding="utf-8")
    for tree in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.M | re.S):
        for line in tree.splitlines():
            entry = re.fullmatch(r"(?:.*<(\S+)>|([\w/*]+))", line.strip())
            if entry is not None and (name := entry[1] or entry[2]) != "self":
                folder = page.parent
                hits = folder.glob(f"{name}.*") if "*" in name else [folder / name]
                found += [hit.relative_to(DOCS).with_suffix("").as_posix() for hit in hits]
    return found


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub and the site give them."""
    found: set[str] = set()
    for title in re.findall(r"^#+ (.+)$", prose(page), re.M):
        name = re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-")
        number = sum(other == name or other.startswith(f"{name}-") for other in found)
        found.add(name if name not in found else f"{name}-{number}")
    return found


def test_every_page_is_in_the_site_once() -> None:
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in (*PAGES, *NOTEBOOKS)}
    entries = [entry for page in PAGES for entry in listed(page)]
    assert len(entries) == len(set(entries))
    assert set(entries) == pages - {"index"}


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_a_page_opens_with_what_it_is_for(page: Path) -> None:
    title, _, rest = page.read_text(encoding="utf-8").partition("\n\n")
    opening = rest.partition("\n\n")[0]
    assert re.fullmatch("# [^\n]+", title)
    assert opening.startswith(STUB) or len(opening.split()) >= 12, opening
    assert re.match(r"[\w`[]", opening), opening


@pytest.mark.parametrize("page", LINKING, ids=of)
def test_links_to_headings_lead_to_one(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", prose(page)):
        if "://" not in target:
            there = (page.parent / target).resolve() if target else page
            assert anchor in anchors(there), f"{target}#{anchor}"


def public_modules() -> set[str]:
    """Packages and wrappers that say by ``__all__`` what they offer, but the command line."""
    folders = (ROOT / PACKAGE).iterdir()
    sources = [folder / "__init__.py" for folder in (ROOT / PACKAGE, *folders)]
    sources += (ROOT / PACKAGE / "wrappers").glob("[!_]*.py")
    return {
        ".".join(source.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for source in sources
        if source.exists() and offers(source)
    } - {f"{PACKAGE}.cli"}


def offers(source: Path) -> bool:
    body = ast.parse(source.read_text(encoding="utf-8")).body
    return any(isinstance(node, ast.Assign) and "__all__" in ast.unparse(node) for node in body)


def test_every_public_module_is_in_the_api() -> None:
    texts = [page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md")]
    described = {name for text in texts for name in re.findall(r"^\.\. api:: (\S+)", text, re.M)}
    assert {f"{PACKAGE}.algorithms", f"{PACKAGE}.wrappers.openspiel"} <= public_modules()
    assert public_modules() <= described
