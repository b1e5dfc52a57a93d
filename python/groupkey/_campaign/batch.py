"""Runs some cells, one after the other, in one process of the command.

Reading the laboratory's data takes a process some milliseconds, so cells share one. Each is handed
over as soon as it has ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from groupkey._campaign.command import CampaignError, Cell, cells_as_spec


@dataclass(frozen=True)
class Outcome:
    """How a cell ended."""

    address: str
    printed: bytes | None = None
    """What it printed (JSON Lines); ``None`` if it failed."""
    problem: str = ""
    """Why it failed."""


def run_batch(
    cells: Sequence[Cell],
    command: str,
    files: Mapping[str, bytes] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Generator[Outcome]:
    """Runs cells in this order, each on one thread, and yields each as it ends.

    A cell that fails, or at which the command dies, keeps no other from its end. When ``stopped()``
    is true, or when the iterator is closed, the command is ended, and what it was at is left out.

    Args:
        cells: the cells.
        command: the path of ``groupkey``.
        files: contents of the files that the cells name, where they are not on this machine.
        stopped: asked some twenty times a second.

    Raises:
        CampaignError: the command here gives the cells other addresses, or does not start.
    """
    left = list(cells)
    with TemporaryDirectory(prefix="groupkey-", ignore_cleanup_errors=True) as scratch:
        here = None if files is None else _lay_out(files, Path(scratch, "files"))
        for attempt in range(len(cells)):
            if not left:
                return
            folder = Path(scratch, str(attempt))
            folder.mkdir()
            for outcome in _run_process(tuple(left), command, folder, here, stopped):
                yield outcome
                left.pop(0)
            if stopped():
                return


def _run_process(
    cells: Sequence[Cell],
    command: str,
    folder: Path,
    here: Path | None,
    stopped: Callable[[], bool],
) -> Iterator[Outcome]:
    """Yields cells from the first on, at least one, unless it is stopped."""
    spec, errors = folder / "cells.toml", folder / "errors"
    spec.write_text(cells_as_spec(cells), encoding="utf-8")
    words = [command, "campaign", "run", str(spec), "--out", str(folder), "--threads", "1"]
    if sys.platform == "linux" and sys.executable:
        words = [sys.executable, "-I", "-S", "-c", _WITH_PARENT, str(os.getpid()), *words]
    with errors.open("wb") as stderr:
        try:
            process = subprocess.Popen(
                words,
                cwd=here,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                # An interruption at the keyboard is for this process to handle.
                start_new_session=True,
            )
        except OSError as error:
            raise CampaignError(f"{command} does not start: {error}") from error
    try:
        for cell in cells:
            outcome = _wait_for(cell, process, folder, stopped)
            if outcome is None:
                if not stopped():
                    known = {other.address for other in cells}
                    yield _culprit(cell, process, folder, known)
                return
            yield outcome
    finally:
        _end(process)


def _wait_for(
    cell: Cell, process: subprocess.Popen[bytes], folder: Path, stopped: Callable[[], bool]
) -> Outcome | None:
    """Returns the outcome of a cell; ``None`` if the process ended without it, or is to stop."""
    stem = folder / "cells" / cell.address[:2] / cell.address
    finished, failed = stem.with_suffix(".jsonl"), stem.with_suffix(".failed")
    pause = 0.001
    while True:
        # Before looking for files: those of a process that has ended are all there.
        ended = process.poll() is not None
        if finished.exists():
            return Outcome(cell.address, printed=finished.read_bytes())
        if failed.exists():
            return Outcome(cell.address, problem=failed.read_text("utf-8", "replace"))
        if ended or stopped():
            return None
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _culprit(
    cell: Cell, process: subprocess.Popen[bytes], folder: Path, known: set[str]
) -> Outcome:
    """Returns the outcome of the cell at which the command died."""
    kept = [path for path in folder.glob("cells/*/*") if path.suffix in (".jsonl", ".failed")]
    if any(path.stem not in known for path in kept):
        named = ", ".join(cell.files) or "none are named"
        raise CampaignError(
            f"the command here gives this cell another address: {cell.line}\nIt is another build than where the campaign began, or its files differ ({named}). "
            "Install the same groupkey on all machines."
        )
    told = (folder / "errors").read_text("utf-8", "replace").strip()
    code = process.returncode
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return Outcome(cell.address, problem=f"the command ended with {how}\n{told[-2000:]}".strip())


def _lay_out(files: Mapping[str, bytes], folder: Path) -> Path:
    """Writes files into a folder, in which the cells run, under the names that the cells have."""
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


_WITH_PARENT = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: prctl(2)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
"""On Linux, what starts the command so that it ends with this process, however that ends: after ``kill
-9`` nobody would want what it goes on with."""
