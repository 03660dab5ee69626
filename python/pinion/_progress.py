"""How far work is, where somebody looks: in a terminal, or below a notebook's cell (``progress=True``)."""

from __future__ import annotations

import sys
from typing import Any

# Letters of a line; what it said before is overwritten.
_WIDTH = 60


class Bar:
    """Says in one line how far work is; called with what is done, what there is in all, and more."""

    def __init__(self) -> None:
        # In a notebook `\r` begins the line anew, too, and what is printed stands below the cell.
        self._is_seen = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._is_begun = False

    def __call__(self, done: int, total: int | None = None, *more: Any) -> None:
        """Says it anew."""
        if not self._is_seen:
            return
        text = f"{done:,}" if total is None else f"{done:,} of {total:,}"
        if total:
            text += f" ({100 * done // total} %)"
        if more:
            last = more[-1]
            text += f", {last:.0f} s" if isinstance(last, float) else f", {last}"
        print(f"\r{text[:_WIDTH]:<{_WIDTH}}", end="", file=sys.stderr, flush=True)
        self._is_begun = True

    def end(self) -> None:
        """Takes the line away."""
        if self._is_begun:
            print(f"\r{'':<{_WIDTH}}\r", end="", file=sys.stderr, flush=True)
            self._is_begun = False
