"""The cells that are still to run, and how many of them a worker takes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from groupkey._campaign.batch import Outcome
from groupkey._campaign.command import Cell


class Todo:
    """Cells in their order. At the end workers take fewer, so that they end at the same time."""

    def __init__(self, cells: Iterable[Cell], workers: int, most: int) -> None:
        self._cells, self._workers, self._most = deque(cells), max(workers, 1), max(most, 1)
        self._alone: deque[Cell] = deque()
        self._losses: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._cells) + len(self._alone)

    def take(self) -> list[Cell]:
        """Returns the next cells for one worker; none if there are none."""
        if self._alone:
            return [self._alone.popleft()]
        share = len(self._cells) // (4 * self._workers)
        count = min(len(self._cells), max(1, min(self._most, share)))
        return [self._cells.popleft() for _ in range(count)]

    def lost(self, cells: Sequence[Cell], why: str) -> list[Outcome]:
        """Puts back cells whose worker is gone. The first is the one that it was at.

        From now on each runs alone. Returns the first one as failed if it has lost three workers: a
        cell that takes more memory than there is must not end one worker after the other.
        """
        if not cells:
            return []
        first = cells[0]
        self._losses[first.address] += 1
        given_up = self._losses[first.address] >= _MOST_LOSSES
        self._alone.extend(cells[1:] if given_up else cells)
        if not given_up:
            return []
        return [Outcome(first.address, problem=f"{_MOST_LOSSES} workers were lost at it: {why}")]


_MOST_LOSSES = 3
