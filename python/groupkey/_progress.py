"""How far long work is: a line on standard error in a terminal or a notebook, or what the caller wants."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int, str], object]
"""Called with what is done, what there is in all (0 if that is not known yet), and the unit, such as `"runs"`."""


class RemarkWarning(UserWarning):
    """What the laboratory remarks about results, or about the work."""


@contextmanager
def heard(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Gives what to call with progress. `None` stands for a line where somebody may see it."""
    if callable(progress):
        yield progress
        return
    wanted = _is_seen() if progress is None else progress
    if not wanted:
        yield None
        return
    line = _Line()
    try:
        yield line
    finally:
        line.clear()


def remark(remarks: list[str]) -> None:
    """Warns of what was remarked, at the line that called the laboratory."""
    for text in remarks:
        warnings.warn(text.strip(), RemarkWarning, stacklevel=3)


class _Line:
    """A line that is written over and over, from the time on at which the work is no longer short."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.width = 0

    def __call__(self, done: int, total: int, unit: str) -> None:
        elapsed = time.monotonic() - self.began
        if elapsed < _PATIENCE:
            return
        told = f"{done}/{total} {unit}, {elapsed:.0f} s" if total else f"{done} {unit}, {elapsed:.0f} s"
        if total and done and done >= total / 20:
            told += f", {elapsed * (total - done) / done:.0f} s left"
        sys.stderr.write("\r" + told.ljust(self.width))
        sys.stderr.flush()
        self.width = len(told)

    def clear(self) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()


def _is_seen() -> bool:
    # A notebook's standard error is no terminal, but somebody reads it.
    return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)


# Seconds after which work gets a line.
_PATIENCE = 0.7
