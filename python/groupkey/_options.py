"""Python's arguments as the command's: the command checks them, and has the defaults."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from groupkey import _groupkey
from groupkey.author import Scheme
from groupkey.errors import GroupkeyError


@contextmanager
def words(options: Mapping[str, object]) -> Iterator[list[str]]:
    """Gives the words of a command line with these options, for as long as its files are there.

    `None` and `False` leave an option out, `True` is a flag, and a list or a tuple gives several values. A dictionary
    or a dataclass becomes a TOML file that the option names.
    """
    with tempfile.TemporaryDirectory(prefix="groupkey-") as folder:
        found = []
        for name, value in options.items():
            option = "--" + name.replace("_", "-")
            if value is None or value is False:
                continue
            if value is True:
                found.append(option)
                continue
            for one in value if isinstance(value, (list, tuple, range, set, frozenset)) else [value]:
                found.append(f"{option}={_word(name, one, folder)}")
        try:
            yield found
        except GroupkeyError as error:
            # Our file's place says nothing to anybody.
            cleaned = [text and text.replace(folder + os.sep, "") for text in (error.message, error.help)]
            raise type(error)(cleaned[0] or "", cleaned[1]) from error.__cause__


def table(value: object) -> dict[str, Any] | None:
    """Returns a dictionary or a dataclass as the table that a file would have; `None` for anything else."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if not isinstance(value, Mapping):
        return None
    return {str(key).replace("_", "-") if key in _DASHED else str(key): _plain(one) for key, one in value.items()
            if one is not None and one != {}}


def own_schemes(options: Mapping[str, object]) -> list[_groupkey.OwnScheme]:
    """Returns the schemes of the user's own that these options name, each once."""
    named = [options.get("scheme"), (table(options.get("scenario")) or {}).get("group", {}).get("scheme")]
    flat = [one for value in named for one in (value if isinstance(value, (list, tuple)) else [value])]
    return [scheme._native for scheme in dict.fromkeys(one for one in flat if isinstance(one, Scheme))]


def _plain(value: object) -> object:
    inner = table(value)
    if inner is not None:
        return inner
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _id(value: object) -> str:
    if isinstance(value, Scheme):
        return value.id
    raise TypeError(f"a file cannot have {value!r}")


def _word(name: str, value: object, folder: str) -> str:
    found = table(value)
    if found is not None:
        path = Path(folder) / f"{name}.toml"
        path.write_text(_groupkey.toml(json.dumps(found, default=_id)), encoding="utf-8")
        return str(path)
    if isinstance(value, bool):
        raise TypeError(f"{name} takes no truth values in a list")
    if isinstance(value, Scheme):
        return value.id
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    # Numbers of numpy and the like.
    if hasattr(value, "item"):
        return str(value.item())
    raise TypeError(f"{name} cannot be {value!r}")


# Fields of requirements that have a dash, which no name in Python can have. Scenarios and devices have none of these.
_DASHED = frozenset({
    "battery_days", "gateways_know_the_key", "outage_length", "post_quantum", "stand_ins",
})
