"""What Python costs: `net()` beside the command, and a million rows beside a Parquet file.

    python measure.py [--runs 200] [--rows 1000000]

Both are alternated, and the medians are compared, so that a busy machine troubles both alike. Needs pandas and
pyarrow.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import groupkey


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="runs of each setting")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    cost(arguments.runs, arguments.repetitions)
    into_pandas(arguments.rows, arguments.repetitions)


def cost(runs: int, repetitions: int) -> None:
    """Compares processor time, which other programs change least."""
    work = {"scheme": "lkh-group", "members": 100, "loss": 5, "delay": 20, "operation": "create", "threads": 1}
    words = [f"--{name}={value}" for name, value in work.items()]
    command = [sys.executable, "-m", "groupkey", "net", "--json", f"--runs={runs}", *words]
    # The interpreter's own start is not the work.
    start = [sys.executable, "-c", "import groupkey"]

    def of_children(line: list[str]) -> float:
        before = os.times()
        subprocess.run(line, stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    def ours() -> float:
        before = time.process_time()
        groupkey.net(**work, runs=runs, progress=False)
        return time.process_time() - before

    there, here = alternate(repetitions, lambda: of_children(command) - of_children(start), ours)
    print(f"net(): {here:.3f} s, the command: {there:.3f} s of processor time; ratio {here / there:.3f}")


def into_pandas(count: int, repetitions: int) -> None:
    """Compares the way of a table into pandas with that of a Parquet file of the same rows."""
    import pyarrow
    import pyarrow.parquet

    rows = groupkey.net(scheme="skdc", members=list(range(2, 102)), loss=list(range(10)), runs=1, progress=False)
    table = groupkey.concat([rows] * (count // len(rows)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        pyarrow.parquet.write_table(pyarrow.table(table), path)

        def timed(read: Callable[[], object]) -> Callable[[], float]:
            def run() -> float:
                began = time.perf_counter()
                read()
                return time.perf_counter() - began

            return run

        ours, theirs = alternate(repetitions, timed(table.to_pandas), timed(lambda: pyarrow.parquet.read_table(path)))
        frame = table.to_pandas()
        print(f"{len(frame):,} rows of {len(frame.columns)} columns")
        print(f"into pandas: {ours:.3f} s; pyarrow.parquet.read_table: {theirs:.3f} s; ratio {ours / theirs:.2f}")


def alternate(repetitions: int, one: Callable[[], float], other: Callable[[], float]) -> tuple[float, float]:
    """Returns the medians of both."""
    pairs = [(one(), other()) for _ in range(repetitions)]
    return statistics.median(first for first, _ in pairs), statistics.median(second for _, second in pairs)


if __name__ == "__main__":
    main()
