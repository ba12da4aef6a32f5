"""Fixtures of all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.sizes_as_numbers import read_sizes_as_numbers

REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_configure(config: pytest.Config) -> None:
    """Compile for sizes of games as numbers, except with 2 players: half of the kernels to compile.

    That the others play the same with their sizes in types says `hanabi/test_sizes_in_types.py`: of
    random games always, of all compiled bots and of searches with `-m slow`, where sizes are left
    as they are. So they are in processes that tests start, but for the examples.
    """
    if "not slow" in str(config.option.markexpr):
        read_sizes_as_numbers()


@pytest.fixture(scope="session")
def shared_golden() -> Path:
    """The larger set of recorded games, in ``shared/golden`` beside the repository; or skips."""
    folder = REPOSITORY.parent / "shared" / "golden"
    if not folder.is_dir():
        pytest.skip("the larger set of recorded games, ../shared/golden, is not here")
    return folder


@pytest.fixture(params=["repository", "larger_set"])
def golden(request: pytest.FixtureRequest) -> Path:
    """A folder of recorded games of the original bots: the repository's, then the larger set."""
    if request.param == "repository":
        return REPOSITORY / "tests" / "data" / "golden"
    folder: Path = request.getfixturevalue("shared_golden")
    return folder


@pytest.fixture(scope="session")
def third_party_games(shared_golden: Path) -> Path:
    """1,000 two-player games of others, which are not ours to ship; skips without them."""
    path = shared_golden / "third_party_2p.jsonl.gz"
    if not path.exists():
        pytest.skip(f"the recorded games {path.name} are not here")
    return path
