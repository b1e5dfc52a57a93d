"""Many commands of the laboratory, on this machine or on a Ray cluster, and their rows as Parquet.

>>> results = groupkey.campaign("loss.toml", folder="loss")          # threads of this machine
>>> results = groupkey.campaign("loss.toml", "ray://head:10001", "s3://bucket/loss")
>>> results.table("net").to_pandas()
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from groupkey._campaign.batch import Outcome
from groupkey._campaign.command import (
    CampaignError,
    Cell,
    as_toml,
    find_command,
    list_cells,
    version,
)
from groupkey._campaign.on_ray import RayWorkers, contents
from groupkey._campaign.parts import write_parts
from groupkey._campaign.progress import Progress, shown
from groupkey._campaign.store import CellStore, Files, open_files
from groupkey._campaign.threads import run_on_threads
from groupkey._campaign.todo import Todo

if TYPE_CHECKING:
    import pyarrow

__all__ = ["CampaignError", "CampaignResults", "CellsFailed", "FailedCell", "campaign"]


@dataclass(frozen=True)
class FailedCell:
    """A cell whose command failed."""

    line: str
    """The command, for a shell."""
    problem: str
    """What it said."""


class CampaignResults:
    """The rows of a campaign."""

    def __init__(
        self, files: Files, cells: int, failed: list[FailedCell], parts: dict[str, list[str]]
    ) -> None:
        self._files, self._names = files, parts
        self.place = files.place
        """The folder or the address that was given."""
        self.cells = cells
        """The number of cells, each counted once."""
        self.failed = failed
        """The cells that failed this time."""

    def __repr__(self) -> str:
        failed = len(self.failed)
        return f"<{self.cells - failed} of {self.cells} cells in {self.place}, {failed} failed>"

    @property
    def parts(self) -> dict[str, list[str]]:
        """The paths or addresses of each command's parts, in order, for other programs."""
        return {name: [self._files.path(p) for p in parts] for name, parts in self._names.items()}

    def table(self, command: str = "net") -> pyarrow.Table:
        """Returns the rows of a command, in the order of the cells.

        The columns are those of ``groupkey campaign merge``: text, unsigned whole numbers (64 bits) and
        doubles, with null for what is absent. Their names end with their units, such as ``mean_ms``.

        Raises:
            CampaignError: pyarrow is missing, or the command has no such rows.
        """
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise CampaignError("a table needs the package pyarrow: pip install pyarrow") from error
        names = [name for name in self._names.get(command, []) if name.endswith(".parquet")]
        if not names or len(names) < len(self._names[command]):
            tables = [name for name, parts in self._names.items() if parts[0].endswith(".parquet")]
            raise CampaignError(
                f"{command} has no table here; there is one of: {', '.join(tables) or 'none'}. "
                "parts has the files"
            )
        read = self._files.read(names)
        tables = [pyarrow.parquet.read_table(pyarrow.BufferReader(read[name])) for name in names]
        return pyarrow.concat_tables(tables)


class CellsFailed(CampaignError):
    """Some cells failed. All others are finished and kept; their rows are not merged yet."""

    def __init__(self, failed: list[FailedCell], cells: int) -> None:
        first = failed[0]
        super().__init__(
            f"{len(failed)} of {cells} cells failed, the first one with: {first.problem}\n"
            f"{first.line}\nThe same call tries them again; partial=True goes without them"
        )
        self.failed = failed
        """The cells that failed."""
        self._cells = cells

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.failed, self._cells)


def campaign(
    spec: str | os.PathLike[str] | Mapping[str, Any],
    address: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    *,
    workers: int | None = None,
    partial: bool = False,
    batch: int = 64,
    command: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> CampaignResults:
    """Runs the cells of a campaign that are not finished, and merges the rows of all.

    The rows are the same, byte for byte, on any number of workers of any kind. Each cell is kept as
    it ends: after an interruption (Ctrl-C raises ``KeyboardInterrupt``), ``kill -9``, or the loss of
    workers, the same call goes on where it was.

    Args:
        spec: a campaign's file (docs/campaigns.md), or a mapping with its keys.
        address: ``None`` for threads of this machine. ``"local"`` starts Ray here, ``"auto"`` joins
            the cluster of this machine, ``"ray://HOST:10001"`` another one. Its workers need the
            same groupkey, and get the files that cells name. If Ray is initialised, that is used.
        folder: where cells and rows are kept: a folder, or what fsspec knows, such as
            ``s3://bucket/results``. Only this process writes to it. Without it, it is a folder
            with the name of the file without its ending, here.
        workers: cells at the same time; without it, one for each processor.
        partial: merge what is finished, though some cells have failed.
        batch: the most cells (1 or more) that a worker takes at a time, which share a process.
        command: the path of ``groupkey``, here and on workers; without it, the one beside Python
            or on ``PATH``.
        storage_options: what fsspec needs for the folder, such as an endpoint.
        progress: called with the cells that are done, all cells to do, and those that failed;
            without it, a line on a terminal or in a notebook.

    Raises:
        CellsFailed: some cells failed, and ``partial`` is false.
        CampaignError: the campaign cannot begin or go on; the text says what to do.
    """
    if batch < 1 or (workers is not None and workers < 1):
        raise CampaignError("batch and workers are 1 or more")
    program = find_command(command)
    with _as_file(spec) as path:
        cells = list_cells(program, path)
        if folder is None:
            if isinstance(spec, Mapping):
                raise CampaignError("folder= says where the rows go, as the spec has no file")
            folder = path.stem
    files = open_files(folder, storage_options)
    store = CellStore(files)
    finished = store.finished()
    left = [cell for cell in cells if cell.address not in finished]
    problems: dict[str, str] = {}
    if left:
        store.forget_failures(cell.address for cell in left)
        asked = None if command is None else os.fspath(command)
        with _outcomes(left, address, workers, batch, program, asked) as outcomes:
            problems = _keep(outcomes, store, len(left), progress or shown())
    failed = [FailedCell(c.line, problems[c.address]) for c in left if c.address in problems]
    if failed and not partial:
        raise CellsFailed(failed, len(cells))
    there = [cell for cell in cells if cell.address not in problems]
    return CampaignResults(files, len(cells), failed, write_parts(there, store, program))


@contextmanager
def _as_file(spec: str | os.PathLike[str] | Mapping[str, Any]) -> Iterator[Path]:
    if not isinstance(spec, Mapping):
        yield Path(spec)
        return
    with TemporaryDirectory(prefix="groupkey-") as scratch:
        path = Path(scratch, "campaign.toml")
        path.write_text(as_toml(spec), encoding="utf-8")
        yield path


@contextmanager
def _outcomes(
    cells: list[Cell],
    address: str | None,
    workers: int | None,
    batch: int,
    program: str,
    asked: str | None,
) -> Iterator[Iterator[list[Outcome]]]:
    """Runs cells, and ends what runs them on the way out, however that is."""
    if address is None:
        count = min(workers or os.cpu_count() or 1, len(cells))
        with closing(run_on_threads(Todo(cells, count, batch), count, program)) as outcomes:
            yield outcomes
        return
    shipped, expected = contents(cells), version(program)
    cluster = RayWorkers(address, workers)
    try:
        todo = Todo(cells, cluster.count, batch)
        with closing(cluster.run(todo, shipped, asked, expected)) as outcomes:
            yield outcomes
    finally:
        cluster.close()


def _keep(
    outcomes: Iterator[list[Outcome]], store: CellStore, total: int, progress: Progress
) -> dict[str, str]:
    """Keeps cells as they end. Returns the problems of those that failed, by address."""
    done = 0
    problems: dict[str, str] = {}
    progress(0, total, 0)
    for ended in outcomes:
        store.keep(ended)
        done += len(ended)
        problems |= {o.address: o.problem for o in ended if o.printed is None}
        progress(done, total, len(problems))
    return problems
