"""The command ``groupkey``: where it is, and the cells that it makes of a campaign's file.

The command alone knows what a cell's address is made of, so nothing here computes one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groupkey.errors import GroupkeyError


class CampaignError(GroupkeyError):
    """A campaign cannot begin or go on. The text says what to do. What is finished is kept."""


@dataclass(frozen=True)
class Cell:
    """One command line of the laboratory."""

    address: str
    """The hash of all that its output depends on: 64 hexadecimal digits."""
    command: str
    """The subcommand, such as ``net``."""
    options: tuple[tuple[str, tuple[str, ...]], ...]
    """Each option without dashes, with its values; none if it is a flag."""
    files: tuple[str, ...]
    """The files that the options name, as they name them."""
    line: str
    """The command for a shell."""


def find_command(given: str | os.PathLike[str] | None = None) -> str:
    """Returns the path of ``groupkey``: as given, beside this interpreter, or on ``PATH``.

    Raises:
        CampaignError: there is none.
    """
    if given is not None:
        found = shutil.which(os.fspath(given))
        if found is None:
            raise CampaignError(f"there is no program {os.fspath(given)}: command= names groupkey")
        return os.path.abspath(found)
    for folder in (os.path.dirname(sys.executable), sysconfig.get_path("scripts"), None):
        found = shutil.which("groupkey", path=folder)
        if found is not None:
            return os.path.abspath(found)
    raise CampaignError(
        "the command groupkey is neither beside this Python nor on PATH: install the wheel there, "
        "or say command=..."
    )


def version(command: str) -> str:
    """Returns what ``groupkey --version`` prints. Workers must print the same.

    Raises:
        CampaignError: the program does not start.
    """
    return _output([command, "--version"]).strip()


def list_cells(command: str, spec: Path) -> list[Cell]:
    """Returns the cells of a campaign's file, each once, in the order of the file.

    Raises:
        CampaignError: the file is refused; the text has its line.
    """
    cells: dict[str, Cell] = {}
    for line in _output([command, "campaign", "cells", "--json", str(spec)]).splitlines():
        listed = json.loads(line)
        options = tuple((name, tuple(values)) for name, values in listed["options"])
        files = tuple(listed["files"])
        cell = Cell(listed["address"], listed["command"], options, files, listed["line"])
        cells.setdefault(cell.address, cell)
    return list(cells.values())


def cells_as_spec(cells: Iterable[Cell]) -> str:
    """Returns a campaign's file that has exactly these cells, in this order."""
    blocks = []
    for cell in cells:
        table: dict[str, Any] = {"command": cell.command}
        for name, values in cell.options:
            # A list in a list is one cell, which has the option several times.
            table[name] = [list(values)] if len(values) > 1 else values[0] if values else True
        blocks.append(table)
    return as_toml({"cells": blocks})


def as_toml(spec: Mapping[str, Any]) -> str:
    """Returns the text of a campaign's file, of which a mapping has the keys.

    Raises:
        CampaignError: a value is of a type that such a file cannot have.
    """
    head = {name: value for name, value in spec.items() if name != "cells"}
    tables = [("", head)] if head else []
    tables += [("[[cells]]\n", block) for block in spec.get("cells", ())]
    return "\n".join(
        heading + "".join(f"{_text(name)} = {_value(value)}\n" for name, value in table.items())
        for heading, table in tables
    )


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return f"[{', '.join(map(_value, value))}]"
    raise CampaignError(f"an option is a text, a number, true, false, or a list, and not {value!r}")


def _text(text: str) -> str:
    # TOML's texts are JSON's, except for one character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _output(words: Sequence[str]) -> str:
    try:
        ended = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise CampaignError(f"{words[0]} does not start: {error}") from error
    if ended.returncode != 0:
        raise CampaignError(ended.stderr.strip() or f"{words[0]} ended with {ended.returncode}")
    return ended.stdout
