"""Where cells are kept: a folder, or an object store by fsspec.

A cell is a file under its address, as ``groupkey campaign run`` keeps it. So the command can go on with
a folder, count and merge it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

from groupkey._campaign.batch import Outcome
from groupkey._campaign.command import CampaignError


class Files(Protocol):
    """Named files of bytes. A file appears whole or not at all."""

    place: str

    def names(self, under: str) -> list[str]:
        """Returns the names of the files under a folder, which need not exist."""

    def path(self, name: str) -> str:
        """Returns what other programs know a file by."""

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """Returns the contents of files."""

    def write(self, files: Mapping[str, bytes]) -> None:
        """Writes files."""

    def delete(self, names: Iterable[str]) -> None:
        """Deletes files, as far as they exist."""


def open_files(place: str | os.PathLike[str], options: Mapping[str, Any] | None) -> Files:
    """Returns the files of a folder or of an address such as ``s3://bucket/results``.

    Raises:
        CampaignError: the address is of a kind for which no package is installed.
    """
    address = os.fspath(place)
    if "://" not in address:
        return _Folder(Path(address))
    if address.startswith("file://"):
        return _Folder(Path(url2pathname(urlsplit(address).path)))
    try:
        import fsspec
    except ImportError as error:
        raise CampaignError(f"{address} needs the package fsspec: pip install fsspec") from error
    try:
        system, root = fsspec.core.url_to_fs(address, **(options or {}))
    except (ImportError, ValueError) as error:
        raise CampaignError(f"{address} cannot be opened: {error}") from error
    return _Objects(system, root, address.rstrip("/"))


class CellStore:
    """The cells of campaigns, by their addresses."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def finished(self) -> set[str]:
        """Returns the addresses of all finished cells."""
        names = (name.rsplit("/", 1)[-1] for name in self.files.names("cells"))
        return {name[: -len(_FINISHED)] for name in names if name.endswith(_FINISHED)}

    def keep(self, outcomes: Iterable[Outcome]) -> None:
        """Keeps what cells printed, or why they failed."""
        printed = {o.address: o.printed for o in outcomes if o.printed is not None}
        problems = {o.address: o.problem.encode() for o in outcomes if o.printed is None}
        self.files.write(
            {_name(address, _FINISHED): content for address, content in printed.items()}
            | {_name(address, _FAILED): content for address, content in problems.items()}
        )

    def forget_failures(self, addresses: Iterable[str]) -> None:
        """Deletes what is kept of the failures of cells."""
        there = set(self.files.names("cells"))
        self.files.delete(there.intersection(_name(address, _FAILED) for address in addresses))

    def printed(self, addresses: Iterable[str]) -> dict[str, bytes]:
        """Returns the files of finished cells, with their names."""
        return self.files.read(_name(address, _FINISHED) for address in addresses)


class _Folder:
    """A folder of this machine."""

    def __init__(self, path: Path) -> None:
        self._path, self.place = path, str(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CampaignError(f"{path} cannot be made a folder: {error}") from error

    def names(self, under: str) -> list[str]:
        found = []
        for folder, _, names in os.walk(self._path / under):
            inside = Path(folder).relative_to(self._path).as_posix()
            found += [f"{inside}/{name}" for name in names]
        return found

    def path(self, name: str) -> str:
        return str(self._path / name)

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        return {name: (self._path / name).read_bytes() for name in names}

    def write(self, files: Mapping[str, bytes]) -> None:
        for name, content in files.items():
            path = self._path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            unready = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
            unready.write_bytes(content)
            unready.replace(path)

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            (self._path / name).unlink(missing_ok=True)


class _Objects:
    """Objects under a prefix. Each call hands all of them to fsspec, which moves many at a time."""

    def __init__(self, system: Any, root: str, place: str) -> None:
        self._system, self._root, self.place = system, root.rstrip("/"), place

    def names(self, under: str) -> list[str]:
        self._system.invalidate_cache()
        try:
            found = self._system.find(f"{self._root}/{under}")
        except FileNotFoundError:
            return []
        return [name[len(self._root) + 1 :] for name in found]

    def path(self, name: str) -> str:
        return f"{self.place}/{name}"

    def read(self, names: Iterable[str]) -> dict[str, bytes]:
        paths = {f"{self._root}/{name}": name for name in names}
        if not paths:
            return {}
        # For a list of paths, also of one, the answer is by path.
        read = self._system.cat(list(paths))
        return {name: read[path] for path, name in paths.items()}

    def write(self, files: Mapping[str, bytes]) -> None:
        if files:
            self._system.pipe({f"{self._root}/{name}": content for name, content in files.items()})

    def delete(self, names: Iterable[str]) -> None:
        paths = [f"{self._root}/{name}" for name in names]
        if paths:
            self._system.rm(paths)


def _name(address: str, kind: str) -> str:
    return f"cells/{address[:2]}/{address}{kind}"


_FINISHED = ".jsonl"
_FAILED = ".failed"
