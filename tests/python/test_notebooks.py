"""The notebooks run, show what the book shows, and their pictures are pictures."""

from __future__ import annotations

import re

import pytest
from notebooks import PAGES, execute, names, render

FENCED = re.compile(r"```(?:python|text)\n.*?\n```", re.DOTALL)


@pytest.mark.parametrize("name", names())
def test_a_notebook_gives_what_the_book_shows(name: str) -> None:
    pytest.importorskip("nbclient")
    page, pictures = render(name, execute(name))
    shown = (PAGES / f"{name}.md").read_text()
    assert FENCED.findall(page) == FENCED.findall(shown)
    assert pictures
    for file, data in pictures.items():
        assert file in shown and (PAGES / file).exists()
        # A picture has text in it, and something drawn.
        assert b"<text" in data and re.search(b"<(rect|path|poly|circle)", data), file
        assert b"NaN" not in data and b"<script" not in data


def test_the_book_has_all_of_them() -> None:
    assert len(names()) == 5
    summary = (PAGES.parent / "SUMMARY.md").read_text()
    assert all(f"(notebooks/{name}.md)" in summary for name in names())
