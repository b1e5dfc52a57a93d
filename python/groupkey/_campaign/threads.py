"""Runs cells on this machine: each worker is a thread with a process of the command."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator
from contextlib import closing

from groupkey._campaign.batch import Outcome, run_batch
from groupkey._campaign.todo import Todo


def run_on_threads(todo: Todo, workers: int, command: str) -> Generator[list[Outcome]]:
    """Yields cells as they end, in any order, several at a time if several have ended.

    When the iterator is closed, the processes are ended before this returns.

    Raises:
        CampaignError: what kept a worker from running cells.
    """
    ended: queue.SimpleQueue[Outcome | Exception | None] = queue.SimpleQueue()
    stop, lock = threading.Event(), threading.Lock()

    def work() -> None:
        try:
            while not stop.is_set():
                with lock:
                    cells = todo.take()
                if not cells:
                    break
                with closing(run_batch(cells, command, stopped=stop.is_set)) as outcomes:
                    for outcome in outcomes:
                        ended.put(outcome)
        except Exception as error:  # noqa: BLE001, it is raised where the caller is
            ended.put(error)
        finally:
            ended.put(None)

    threads = [threading.Thread(target=work, name=f"campaign-{n}") for n in range(workers)]
    try:
        for thread in threads:
            thread.start()
        at_work = workers
        while at_work:
            # With a timeout, since without one some systems do not see an interruption.
            outcomes = []
            try:
                outcome = ended.get(timeout=0.2)
                while True:
                    if isinstance(outcome, Exception):
                        raise outcome
                    if outcome is None:
                        at_work -= 1
                    else:
                        outcomes.append(outcome)
                    outcome = ended.get_nowait()
            except queue.Empty:
                pass
            if outcomes:
                yield outcomes
    finally:
        stop.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
