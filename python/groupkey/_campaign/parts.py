"""Finished cells as Parquet files, each with the rows of a thousand cells.

``groupkey campaign merge`` makes the columns, so they are the same as everywhere. Which cells are in which
part follows from the campaign's file alone: nothing of it depends on who ran them, or when.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from groupkey._campaign.command import CampaignError, Cell, cells_as_spec
from groupkey._campaign.store import CellStore

PART_CELLS = 1000
"""The most cells of a part."""


def write_parts(cells: Sequence[Cell], store: CellStore, command: str) -> dict[str, list[str]]:
    """Writes the rows of finished cells, and returns the names of the parts of each command.

    The parts are ``net/00000.parquet`` and so on. What a command prints that is no table, as
    ``choose`` does, is in ``choose/00000.jsonl``. Parts of another campaign in the same place are
    replaced.

    Raises:
        CampaignError: the rows cannot be merged.
    """
    written: dict[str, list[str]] = {}
    by_command = sorted(cells, key=_name)  # It keeps their order.
    for name, of_command in groupby(by_command, key=_name):
        names = written[name] = []
        for number, chunk in enumerate(_chunks(list(of_command))):
            ending, content = _merged(name, chunk, store, command)
            part = f"{name}/{number:05}{ending}"
            store.files.write({part: content})
            names.append(part)
        there = store.files.names(name)
        store.files.delete(part for part in there if part not in names and _is_part(part))
    return written


def _name(cell: Cell) -> str:
    """Returns the name of a command's files, as ``groupkey campaign merge`` has it."""
    return cell.command.replace(" ", "-")


def _chunks(cells: list[Cell]) -> Iterator[list[Cell]]:
    for start in range(0, len(cells), PART_CELLS):
        yield cells[start : start + PART_CELLS]


def _is_part(name: str) -> bool:
    path = Path(name)
    return path.stem.isdigit() and len(path.stem) == 5 and path.suffix in _ENDINGS


def _merged(name: str, cells: Sequence[Cell], store: CellStore, command: str) -> tuple[str, bytes]:
    """Returns the rows of some cells of a command, and how the name of such a file ends."""
    with TemporaryDirectory(prefix="groupkey-") as scratch:
        spec = Path(scratch, "cells.toml")
        spec.write_text(cells_as_spec(cells), encoding="utf-8")
        for file, content in store.printed(cell.address for cell in cells).items():
            path = Path(scratch, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        words = [command, "campaign", "merge", str(spec), "--out", scratch]
        ended = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        for ending in _ENDINGS:
            path = Path(scratch, f"{name}{ending}")
            if ended.returncode == 0 and path.exists():
                return ending, path.read_bytes()
    raise CampaignError(f"the cells of {name} cannot be merged: {ended.stderr.strip()}")


_ENDINGS = (".parquet", ".jsonl")
