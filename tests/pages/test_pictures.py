"""The pictures of the pages: SVG that every browser shows by itself, made of what was recorded."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import pictures
from benchmarks.pages import fill

FILES = tuple(sorted(pictures.PICTURES.glob("*.svg")))
LABELS = re.compile(r"<!-- (.*?) -->")  # of Matplotlib's SVG; where they stand differs by version


@pytest.mark.parametrize("path", [*FILES, pictures.DEPTHS], ids=lambda path: path.name)
def test_it_is_small_and_needs_nothing_else(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(text) < 200_000
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not tags & {"script", "image", "foreignObject"}
    assert "@import" not in text and not re.search(r"url\((?!#)", text)


def test_the_readme_shows_them_with_words_for_those_who_do_not_see() -> None:
    readme = (pictures.ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[([^]]{40,})\]\(docs/pictures/([\w.]+)\)", readme)
    assert sorted(name for _, name in shown) == [path.name for path in FILES]


def test_the_table_of_scores_is_what_was_recorded() -> None:
    points = [*pictures.recorded(), *pictures.PUBLISHED]
    page = pictures.PAGE.read_text(encoding="utf-8")
    assert page == fill(page, {"score against cost": pictures.table(points)})
    (default,) = (
        point for point in points if point.name == "SPARTA over SmartBot, 10,000 rollouts"
    )
    assert (default.score, round(default.seconds[0], 2)) == (24.157, 0.56)


def test_the_chart_is_the_one_that_its_points_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="needs Matplotlib")
    stored = (pictures.PICTURES / "score_against_cost.svg").read_text(encoding="utf-8")
    monkeypatch.setattr(pictures, "PICTURES", tmp_path)
    pictures.draw([*pictures.recorded(), *pictures.PUBLISHED])
    drawn = (tmp_path / "score_against_cost.svg").read_text(encoding="utf-8")
    assert LABELS.findall(drawn) == LABELS.findall(stored)


def test_scores_by_depth_are_those_of_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="needs Matplotlib")
    stored = LABELS.findall(pictures.DEPTHS.read_text(encoding="utf-8"))
    monkeypatch.setattr(pictures, "DEPTHS", tmp_path / "depths.svg")
    pictures.depths()
    assert LABELS.findall(pictures.DEPTHS.read_text(encoding="utf-8")) == stored
    assert {"rlnet, LBS", "beliefnet, LBS", "16"} <= set(stored)


def turn(number: int, gain: str = "") -> str:
    return f"\x1b[92m─── \x1b[0mTurn {number}\x1b[92m ───\x1b[0m\n{gain}"


def test_the_telling_turns_are_the_first_those_of_large_gain_and_the_end() -> None:
    gains = {5: "0.10", 6: "0.90", 8: "0.30", 9: "0.05", 11: "0.20"}
    turns = [
        turn(
            n,
            f"\x1b[2mgain         \x1b[0m\x1b[1m+{gains[n]} +- 0.10\x1b[0m\n" if n in gains else "",
        )
        for n in range(1, 14)
    ]
    chosen = [re.search(r"Turn (\d+)", each) for each in pictures.telling(turns)]
    assert [int(each[1]) for each in chosen if each] == [1, 2, 3, 6, 8, 11, 13]


def test_a_frame_holds_the_words_of_its_turn_in_their_colours() -> None:
    drawn = pictures.frame("\x1b[1;31mR1\x1b[0m & more\n", 3)
    words = "".join(ElementTree.fromstring(drawn.replace("&#160;", " ")).itertext())
    assert "R1" in words and "& more" in words and ".t3-r" in drawn
    whole = pictures.animated([drawn, drawn], lines=2)
    assert len(ElementTree.fromstring(whole).findall(".//*[@class='frame']")) == 2
