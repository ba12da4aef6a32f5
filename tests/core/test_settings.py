"""Settings: what a class or a function can be set to, and texts read as its values."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any, Literal

import pytest

from hanabi_search_plugin import (
    HanabiConfig,
    JointSparta,
    Lbs,
    Mds,
    MoIsmcts,
    Pomcp,
    Predictor,
    RisMcts,
    SoIsmcts,
    Sparta,
)
from hanabi_search_plugin.core.errors import ConfigError
from hanabi_search_plugin.core.settings import setting, settings_of

if TYPE_CHECKING:
    from nowhere import Unknown


@dataclass(frozen=True, kw_only=True)
class Whole:
    must: str = setting(text="Has to be given.")
    count: int = setting(3, "How many.", metavar="N")
    share: float | None = setting(None, "Of all.")
    kind: Literal["a", "b"] = setting("a", "Which.")
    on: bool = False
    more: dict[str, Any] = setting(dict, "By name.")


def test_a_field_carries_its_default_and_its_text() -> None:
    found = settings_of(Whole)
    assert list(found) == ["must", "count", "share", "kind", "on", "more"]
    assert (found["count"].default, found["count"].metavar) == (3, "N")
    assert (
        str(found["count"]) == "default 3: How many." and str(found["must"]) == "Has to be given."
    )
    assert found["share"].optional and not found["count"].optional
    assert found["kind"].choices == ("a", "b")
    assert Whole(must="x").more == {} and Whole(must="x").more is not Whole(must="x").more
    with pytest.raises(TypeError, match="must"):
        Whole()


def test_texts_are_read_by_type() -> None:
    found = settings_of(Whole)
    for name, text, value in (
        ("must", "3", "3"),
        ("count", "3", 3),
        ("share", "3", 3.0),
        ("share", "none", None),
        ("kind", "b", "b"),
        ("on", "true", True),
    ):
        read = found[name].read(text)
        assert read == value and type(read) is type(value), name
    for name, text, says in (
        ("count", "1.5", "count must be an integer, got '1.5'"),
        ("share", "much", "share must be a number or none, got 'much'"),
        ("kind", "c", "kind must be one of a, b, got 'c'"),
        ("on", "1", "on must be true or false, got '1'"),
    ):
        with pytest.raises(ConfigError) as caught:
            found[name].read(text)
        assert str(caught.value) == says


def test_parameters_without_a_known_type_take_what_fits() -> None:
    def function(first, second: Unknown = 2, *rest: int, third: int = 3, **others: int) -> None: ...

    found = settings_of(function)
    assert list(found) == ["first", "second", "third"]
    read = found["first"].read
    assert [read(text) for text in ("true", "1", "1.5", "x")] == [True, 1, 1.5, "x"]
    assert str(found["second"]) == "default 2"


def test_a_class_is_set_as_it_is_made() -> None:
    class Plain:
        def __init__(self, size: int = 4) -> None: ...

    (size,) = settings_of(Plain).values()
    assert size.read("5") == 5 and size.default == 4


@pytest.mark.parametrize(
    "kind", [Sparta, JointSparta, Lbs, Mds, Pomcp, SoIsmcts, MoIsmcts, RisMcts, Predictor,
             HanabiConfig], ids=lambda kind: kind.__name__
)  # fmt: skip
def test_the_help_of_a_class_lists_its_options(kind: type) -> None:
    about = " ".join((inspect.getdoc(kind) or "").split())
    options = settings_of(kind)
    assert options and about.count("Options: ") == 1
    for one in options.values():
        default = "" if one.default is MISSING else f"={one.default!r}"
        words = f": {' '.join(one.text.split())}" if one.text else ""
        assert f"* ``{one.name}{default}``{words}" in about
