"""Runs the same cells on the workers of a Ray cluster.

Ray runs actors and tells what became of them. Which cells there are, which are finished, and where
they are kept, is decided here, in the process that called: no worker writes results.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groupkey._campaign.batch import Outcome, run_batch
from groupkey._campaign.command import CampaignError, Cell, find_command, version
from groupkey._campaign.todo import Todo


class RayWorkers:
    """A connection to a cluster, or to the one of this process if it has one already."""

    def __init__(self, address: str, workers: int | None) -> None:
        """Connects.

        Args:
            address: ``"local"`` starts Ray on this machine; ``"auto"`` finds the cluster that this
                machine is part of; ``"ray://HOST:10001"`` is a cluster elsewhere.
            workers: cells at the same time; ``None`` for as many as the cluster has processors.

        Raises:
            CampaignError: Ray is not installed, or there is no cluster.
        """
        try:
            import ray
        except ImportError as error:
            raise CampaignError(
                f"address={address!r} needs the package ray: pip install ray; without address= "
                "the cells run on threads of this machine"
            ) from error
        self._ray: Any = ray
        self._ours = not ray.is_initialized()
        if self._ours:
            options: dict[str, Any] = {"address": address, "log_to_driver": False}
            options["logging_level"] = logging.ERROR
            if address == "local":
                options |= {"num_cpus": workers, "include_dashboard": False}
            try:
                ray.init(**options)
            except Exception as error:
                raise CampaignError(f"there is no Ray at {address}: {error}") from error
        self.count = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def close(self) -> None:
        """Leaves the cluster, unless the caller had joined it; ends it if it began here."""
        if self._ours:
            self._ray.shutdown()

    def run(
        self, todo: Todo, files: Mapping[str, bytes], command: str | None, expected: str
    ) -> Generator[list[Outcome]]:
        """Yields cells as they end, in any order.

        A worker that is lost costs the cell that it was at: the others are handed out again.

        Args:
            todo: the cells.
            files: contents of the files that they name.
            command: the path of ``groupkey`` on the workers; ``None`` to find it there.
            expected: what its ``--version`` prints.

        Raises:
            CampaignError: a worker has no groupkey, or another build of it.
        """
        runner = self._ray.remote(num_cpus=1, max_restarts=0, max_concurrency=2)(_Runner)
        shared = self._ray.put(dict(files))
        early = 0
        # What each worker is asked for at the moment.
        asked: dict[Any, _Worker] = {}

        def begin() -> None:
            worker = _Worker(runner.remote(shared, command, expected), [])
            asked[worker.actor.check.remote()] = worker

        try:
            for _ in range(min(self.count, len(todo))):
                begin()
            while asked:
                outcomes = []
                for answer in self._ray.wait(list(asked), timeout=0.2)[0]:
                    worker = asked.pop(answer)
                    try:
                        outcome = self._ray.get(answer)
                    except self._ray.exceptions.RayTaskError as error:
                        raise _as_campaign_error(error) from error
                    except self._ray.exceptions.RayError as error:
                        # The worker or its machine is gone.
                        early += not worker.cells
                        if early > _MOST_EARLY:
                            raise CampaignError(
                                f"workers end before they begin: {error}"
                            ) from error
                        outcomes += todo.lost(worker.cells, str(error).partition("\n")[0])
                        if todo:
                            begin()
                        continue
                    if outcome is not None:
                        worker.ended(outcome)
                        outcomes.append(outcome)
                        asked[worker.actor.step.remote()] = worker
                        continue
                    worker.cells = todo.take()
                    if worker.cells:
                        asked[worker.actor.step.remote(worker.cells)] = worker
                    else:
                        # Its processor is free for a worker that waits for one.
                        self._ray.kill(worker.actor)
                if outcomes:
                    yield outcomes
        finally:
            self._end(asked)

    def _end(self, asked: dict[Any, _Worker]) -> None:
        """Ends workers: first the commands that they run, so that nothing is left of these."""
        try:
            for worker in asked.values():
                worker.actor.stop.remote()
            if asked:
                self._ray.wait(list(asked), num_returns=len(asked), timeout=5)
            for worker in asked.values():
                self._ray.kill(worker.actor)
        except (ConnectionError, self._ray.exceptions.RayError):
            # The cluster is gone, and they with it.
            return


@dataclass
class _Worker:
    actor: Any
    cells: list[Cell]
    """Those that it has not handed back; it is at the first one."""

    def ended(self, outcome: Outcome) -> None:
        self.cells = [cell for cell in self.cells if cell.address != outcome.address]


class _Runner:
    """What runs on a worker: an actor, which is asked for one cell after the other.

    A task that yields cells would need no asking, but a cluster elsewhere (``ray://``) has none.
    """

    def __init__(self, files: dict[str, bytes], command: str | None, expected: str) -> None:
        self._files, self._command, self._expected = files, command, expected
        self._outcomes: Iterator[Outcome] = iter(())
        self._stop = threading.Event()

    def check(self) -> None:
        """Finds the command.

        Raises:
            CampaignError: there is none, or it is another build.
        """
        self._command = find_command(self._command)
        here = version(self._command)
        if here != self._expected:
            raise CampaignError(
                f"a worker has {here} at {self._command}, and the campaign began with "
                f"{self._expected}: install the same groupkey on all machines"
            )

    def step(self, cells: list[Cell] | None = None) -> Outcome | None:
        """Returns the next cell that ends, of these or of those before; ``None`` after the last."""
        if cells is not None:
            assert self._command is not None, "it has been checked"
            self._outcomes = run_batch(cells, self._command, self._files, self._stop.is_set)
        return next(self._outcomes, None)

    def stop(self) -> None:
        """Ends the command. It may be called while a step goes on."""
        self._stop.set()


def _as_campaign_error(error: Any) -> Exception:
    cause = getattr(error, "cause", None)
    if isinstance(cause, CampaignError):
        return CampaignError(str(cause))
    if isinstance(cause, ModuleNotFoundError):
        return CampaignError(
            f"a worker lacks a package: {cause}; install the wheel on all machines"
        )
    return CampaignError(f"a worker cannot run cells: {error}")


def contents(cells: list[Cell]) -> dict[str, bytes]:
    """Returns the files that cells name, for workers that do not have them.

    Raises:
        CampaignError: a name leads out of this folder, so that it would on a worker.
    """
    found = {}
    for name in sorted({name for cell in cells for name in cell.files}):
        path = Path(name)
        if path.is_absolute() or ".." in path.parts:
            raise CampaignError(
                f"{name} is not under this folder, and workers get what is: name it from here"
            )
        found[name] = path.read_bytes()
    return found


_MOST_EARLY = 10
"""Workers that end before they have a cell, after which there is no use in further ones."""
