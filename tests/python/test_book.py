"""What docs/src/python.md shows comes out."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest
from conftest import EXAMPLES, REPOSITORY

PAGE = REPOSITORY / "docs/src/python.md"
BLOCK = re.compile(r"^```python( test)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Checker(doctest.OutputChecker):
    """Takes `…` for any text, as in the rest of the book."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        pattern = ".*?".join(re.escape(part) for part in want.split("…"))
        return re.fullmatch(pattern, got, re.DOTALL) is not None


def blocks(test: bool) -> list[str]:
    """The page's blocks: sessions, or files of tests."""
    return [found[2] for found in BLOCK.finditer(PAGE.read_text()) if bool(found[1]) == test]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples, as a reader has them."""
    skip = shutil.ignore_patterns("build")
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=skip)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sessions_give_what_the_page_shows(folder: Path) -> None:
    text = "\n".join(blocks(test=False))
    session = doctest.DocTestParser().get_doctest(text, {}, "python.md", str(PAGE), 0)
    assert len(session.examples) > 20
    # Left to itself it would follow pytest's own -v.
    runner = doctest.DocTestRunner(checker=Checker(), verbose=False)
    said: list[str] = []
    runner.run(session, out=said.append)
    assert not said, "".join(said)


def test_the_shown_test_passes(folder: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile("\n".join(blocks(test=True)))
    (pytester.path / "examples").symlink_to(folder / "examples")
    pytester.runpytest_subprocess().assert_outcomes(passed=2)
