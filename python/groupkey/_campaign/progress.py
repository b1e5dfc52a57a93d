"""How far a campaign is, on a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Progress = Callable[[int, int, int], None]
"""Is told how many cells are done, how many there are, and how many of those done have failed."""


def shown() -> Progress:
    """Returns what rewrites one line of standard error; nothing if nobody would see it."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return lambda done, total, failed: None
    return _Line()


class _Line:
    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._next = 0.0

    def __call__(self, done: int, total: int, failed: int) -> None:
        now = time.monotonic()
        if now < self._next and done < total:
            return
        self._next = now + 0.2
        rate = done / max(now - self._begin, 1e-9)
        left = f", {(total - done) / rate:.0f} s left" if 0 < done < total else ""
        told = f", {failed} failed" if failed else ""
        end = "\n" if done == total else ""
        print(f"\r{done} of {total} cells{told}{left}\x1b[K", end=end, file=sys.stderr, flush=True)
