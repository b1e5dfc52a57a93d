"""Many scenarios, on this machine or on a Ray cluster, their rows in a folder or an object store.

    rows = groupkey.campaign.run(scenarios, "loss")
    rows = groupkey.campaign.run(scenarios, "s3://bucket/loss", ray="ray://head:10001")

Scenarios are what `net(scenario=...)` takes: `[dataclasses.replace(one, seed=seed) for seed in range(100)]`. The rows
of each are a file of JSON Lines, named by the hash of the scenario and of groupkey's version. What is there does not
run again. So after Ctrl-C, `kill -9` or the loss of workers, the same call goes on where it was. Machines that share
the folder can each run a part: `run(scenarios[3::8], folder)`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import os
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent import futures
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

from groupkey import _groupkey
from groupkey._options import table
from groupkey._progress import Progress, heard
from groupkey.errors import GroupkeyError, InputError, RunError
from groupkey.laboratory import _printed
from groupkey.scenario import Scenario
from groupkey.table import Table

__all__ = ["CampaignError", "FailedScenario", "run"]


@dataclass(frozen=True)
class FailedScenario:
    """A scenario without rows."""

    scenario: dict[str, Any]
    problem: str


class CampaignError(RunError):
    """Some scenarios failed. The rows of all others are kept.

    Attributes:
        failed: Those that failed.
    """

    def __init__(self, failed: Sequence[FailedScenario]) -> None:
        first = failed[0]
        told = f"{len(failed)} scenarios failed, the first one with: {first.problem}\n{first.scenario}"
        super().__init__(told, "the same call runs them again; the rows of the others are kept")
        self.failed = list(failed)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.failed,)


def run(
    scenarios: Iterable[Mapping[str, Any] | Scenario],
    where: str | os.PathLike[str],
    *,
    ray: bool | str | None = None,
    workers: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | bool | None = None,
) -> Table:
    """Runs the scenarios that have no rows yet. The rows are the same bytes on any number of workers of any kind.

    Args:
        scenarios: Dictionaries or `Scenario`s, whose schemes are the catalogue's.
        where: A folder, or an address that fsspec knows, such as `s3://bucket/results`. Only this process writes.
        ray: The address of a Ray cluster whose workers have the same groupkey, or `True` for Ray's default. If Ray is
            initialised already, that one is used. By default the scenarios run on threads of this process.
        workers: Scenarios at the same time; by default one for each processor.
        storage_options: What fsspec needs for `where`, such as an endpoint.
        progress: Called with the scenarios that are done and those to do.

    Returns:
        The rows of all scenarios, in their order.

    Raises:
        CampaignError: Some scenarios failed.
        InputError: A package is missing, or `where` or the cluster cannot be reached.
    """
    texts = [json.dumps(table(scenario), sort_keys=True, default=_refuse) for scenario in scenarios]
    cells = {_address(text): text for text in texts}
    store = _Store(os.fspath(where), storage_options or {})
    there = store.addresses()
    left = {address: text for address, text in cells.items() if address not in there}
    running = _on_ray(left, workers, ray) if ray else _on_threads(left, workers)
    failed: list[FailedScenario] = []
    done = 0
    with heard(progress) as tell, closing(running) as ended:
        for outcomes in ended:
            store.write({one.address: one.rows for one in outcomes if one.rows is not None})
            lost = [one for one in outcomes if one.rows is None]
            failed += [FailedScenario(json.loads(cells[one.address]), one.problem) for one in lost]
            done += len(outcomes)
            if tell is not None:
                tell(done, len(left), "scenarios")
    if failed:
        raise CampaignError(failed)
    rows = _groupkey.Rows.parse(store.read([_address(text) for text in texts]), "network")
    if rows is None:
        raise RunError(f"{where} has rows that are not of scenarios")
    return Table(rows, "network")


class _Outcome(NamedTuple):
    address: str
    rows: bytes | None = None
    problem: str = ""


class _Store:
    def __init__(self, where: str, options: Mapping[str, Any]) -> None:
        try:
            from fsspec.core import url_to_fs
            from fsspec.implementations.local import LocalFileSystem

            self._system, root = url_to_fs(where, **options)
        except (ImportError, ValueError) as error:
            raise InputError(f"{where} cannot be opened: {error}", "pip install fsspec, and s3fs for s3://") from error
        self._root = root.rstrip("/")
        self._is_local = isinstance(self._system, LocalFileSystem)
        if self._is_local:
            self._system.makedirs(self._root, exist_ok=True)

    def addresses(self) -> set[str]:
        self._system.invalidate_cache()
        names = (name.rpartition("/")[2].partition(".") for name in self._system.find(self._root))
        return {address for address, _, kind in names if kind == "jsonl"}

    def read(self, addresses: Sequence[str]) -> bytes:
        # fsspec reads and writes many objects at a time.
        found = self._system.cat([self._path(address) for address in dict.fromkeys(addresses)]) if addresses else {}
        return b"".join(found[self._path(address)] for address in addresses)

    def write(self, files: Mapping[str, bytes]) -> None:
        if not self._is_local:
            self._system.pipe({self._path(address): rows for address, rows in files.items()})
            return
        for address, rows in files.items():
            # A file is there whole or not at all, as an object is.
            unready = f"{self._root}/{address}.{os.getpid()}"
            self._system.pipe_file(unready, rows)
            os.replace(unready, self._path(address))

    def _path(self, address: str) -> str:
        return f"{self._root}/{address}.jsonl"


def _address(text: str) -> str:
    return hashlib.sha256(f"{_groupkey.version()}\n{text}".encode()).hexdigest()


def _cell(text: str, address: str, progress: Progress | bool = False) -> _Outcome:
    """Runs a scenario on one thread."""
    if _address(text) != address:
        return _Outcome(address, problem=f"a worker has another groupkey, {_groupkey.version()}")
    try:
        options = {"scenario": json.loads(text), "threads": 1, "progress": progress}
        return _Outcome(address, _printed(["net"], options, False))
    except GroupkeyError as error:
        return _Outcome(address, problem=str(error))


def _on_threads(cells: Mapping[str, str], workers: int | None) -> Generator[list[_Outcome]]:
    """Yields outcomes as they come. When it is closed, the runs that are under way end first."""
    is_over = threading.Event()

    def stop(*_: object) -> None:
        if is_over.is_set():
            raise InterruptedError

    pool = futures.ThreadPoolExecutor(workers or os.cpu_count())
    try:
        pending = {pool.submit(_cell, text, address, stop) for address, text in cells.items()}
        while pending:
            # With a timeout, since without one some systems do not see Ctrl-C.
            ended, pending = futures.wait(pending, timeout=0.2, return_when=futures.FIRST_COMPLETED)
            yield [one.result() for one in ended]
    finally:
        is_over.set()
        pool.shutdown(cancel_futures=True)


def _on_ray(cells: Mapping[str, str], workers: int | None, cluster: bool | str) -> Generator[list[_Outcome]]:
    """Yields outcomes as they come. Ray runs a scenario again whose worker is lost, three times at most."""
    if not cells:
        return
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError as error:
        raise InputError("Ray is not installed", "pip install ray; without ray= the scenarios run here") from error
    is_ours = not ray.is_initialized()
    if is_ours:
        try:
            ray.init(None if cluster is True else cluster, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError) as error:
            raise InputError(f"there is no Ray at {cluster}: {error}") from error
    at_once = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    remote = ray.remote(_cell)
    left = list(cells.items())[::-1]
    pending: dict[Any, str] = {}
    try:
        while left or pending:
            # Some wait on each worker's behalf, so that none waits for this process.
            while left and len(pending) < (at_once if workers else 2 * at_once):
                address, text = left.pop()
                pending[remote.remote(text, address)] = address
            ended = ray.wait(list(pending), num_returns=1, timeout=0.2)[0]
            outcomes = []
            for one in ended:
                address = pending.pop(one)
                try:
                    outcomes.append(ray.get(one))
                except ray.exceptions.RayError as error:
                    outcomes.append(_Outcome(address, problem=str(error).partition("\n")[0]))
            yield outcomes
    finally:
        for one in pending:
            ray.cancel(one, force=True)
        if is_ours:
            ray.shutdown()


def _refuse(value: object) -> object:
    raise TypeError(f"a scenario of a campaign cannot have {value!r}")
