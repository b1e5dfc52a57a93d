"""Campaigns: the same rows on any workers, and nothing lost but what was under way.

``GROUPKEY_COMMAND`` names the command; without it, it is the one beside Python or on PATH. Tests of Ray
run where Ray is installed. With ``GROUPKEY_REQUIRE_ALL=1`` what is missing is a failure.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import groupkey
from groupkey._campaign.command import (
    CampaignError,
    as_toml,
    cells_as_spec,
    find_command,
    list_cells,
)
from groupkey._campaign.todo import Todo
from groupkey.campaign import CellsFailed, campaign

from conftest import need as need_modules

# Ray's own warnings are not ours.
pytestmark = pytest.mark.filterwarnings("default")

SPEC = {
    "cells": [
        {
            "command": "net",
            "scheme": ["skdc", "tgdh"],
            "members": 3,
            "loss": [0, 20],
            "operation": "create,add",
            "runs": 2,
            "seed": [7, 8],
        }
    ]
}
"""Eight cells of two rows."""


def need(found: bool, what: str) -> None:
    if not found:
        told = f"NOT TESTED: {what}"
        if os.environ.get("GROUPKEY_REQUIRE_ALL") == "1":
            pytest.fail(told)
        pytest.skip(told)


@pytest.fixture(scope="session")
def command() -> str:
    try:
        return find_command(os.environ.get("GROUPKEY_COMMAND"))
    except CampaignError as error:
        need(False, str(error))
        raise


@pytest.fixture(scope="session")
def whole(command: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of one worker of this machine."""
    folder = tmp_path_factory.mktemp("whole")
    campaign(SPEC, folder=folder, workers=1, command=command)
    return contents(folder)


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """Two workers of Ray on this machine, of which the tests use the connection."""
    try:
        import ray
    except ImportError:
        need(False, "Ray is not installed")
        raise
    with pytest.MonkeyPatch.context() as patch:
        for name, value in on_ray().items():
            patch.setenv(name, value)
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


def on_ray() -> dict[str, str]:
    """The environment for Ray: its workers import the package that is tested, and nobody else may use them."""
    paths = [str(Path(groupkey.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_raylet_start_wait_time_s": "300",
        "RAY_USAGE_STATS_ENABLED": "0",
    }


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def cheap(folder: Path, count: int) -> Path:
    """A campaign of cells that cost some milliseconds."""
    path = folder / "cheap.toml"
    path.write_text(
        '[[cells]]\ncommand = "net"\nscheme = "skdc"\nmembers = 2\noperation = "create"\n'
        f"runs = 1\nseed = {list(range(count))}\n"
    )
    return path


def instead(folder: Path, command: str, script: str) -> str:
    """A command that does something else first."""
    path = folder / "instead"
    path.write_text(f'#!/bin/sh\n{script}\nexec {command} "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_any_number_of_workers_gives_the_same_files(
    command: str, whole: dict[str, bytes], tmp_path: Path
) -> None:
    campaign(SPEC, folder=tmp_path, workers=3, batch=1, command=command)
    assert contents(tmp_path) == whole


def test_the_rows_are_those_of_the_command(
    command: str, whole: dict[str, bytes], tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    spec = tmp_path / "spec.toml"
    spec.write_text(cells_as_spec(list_cells(command, write(tmp_path / "all.toml"))))
    for action in ("run", "merge"):
        words = [command, "campaign", action, str(spec), "--out", str(tmp_path / "out")]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    merged = contents(tmp_path / "out")
    assert whole["net/00000.parquet"] == merged["net.parquet"]
    assert {name for name in whole if name.startswith("cells/")} <= merged.keys()
    table = campaign(SPEC, folder=tmp_path / "out", command=command).table("net")
    assert table.num_rows == 16
    assert table["scheme"].to_pylist() == ["skdc"] * 8 + ["tgdh"] * 8


def write(path: Path) -> Path:
    path.write_text(as_toml(SPEC))
    return path


def test_parts_join_to_the_whole(
    command: str, whole: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "net.parquet").write_bytes(whole["net/00000.parquet"])
    (tmp_path / "out" / "net").mkdir(parents=True)
    (tmp_path / "out" / "net" / "00009.parquet").write_bytes(b"of another campaign")
    monkeypatch.setattr("groupkey._campaign.parts.PART_CELLS", 3)
    results = campaign(SPEC, folder=tmp_path / "out", command=command)
    names = [Path(part).name for part in results.parts["net"]]
    assert names == ["00000.parquet", "00001.parquet", "00002.parquet"]
    assert sorted(os.listdir(tmp_path / "out" / "net")) == names
    assert results.table().equals(parquet.read_table(tmp_path / "net.parquet"))


def test_a_finished_cell_does_not_run_again(command: str, tmp_path: Path) -> None:
    first = campaign(SPEC, folder=tmp_path, command=command)
    cell = next((tmp_path / "cells").rglob("*.jsonl"))
    changed = cell.read_bytes().replace(b'"runs":2', b'"runs":3')
    cell.write_bytes(changed)
    told: list[tuple[int, int, int]] = []
    again = campaign(SPEC, folder=tmp_path, command=command, progress=lambda *at: told.append(at))
    assert (cell.read_bytes(), told) == (changed, [])
    assert repr(first) == repr(again) == f"<8 of 8 cells in {tmp_path}, 0 failed>"


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_cells_are_kept_where_fsspec_says(
    kind: str, command: str, whole: dict[str, bytes], tmp_path: Path
) -> None:
    place = f"{kind}://{tmp_path}/results"
    parts, found = keep_at(place, command)
    assert parts == [
        f"{tmp_path}/results/net/00000.parquet" if kind == "file" else f"{place}/net/00000.parquet"
    ]
    assert found == whole


def test_cells_are_kept_in_an_object_store(
    command: str, whole: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, s3fs = need_modules("moto.server", "s3fs")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anybody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
    store = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    store.start()
    try:
        host, port = store.get_host_and_port()
        options = {"endpoint_url": f"http://{host}:{port}"}
        s3fs.S3FileSystem(**options).mkdir("bucket")
        parts, found = keep_at("s3://bucket/results", command, options)
    finally:
        store.stop()
    assert parts == ["s3://bucket/results/net/00000.parquet"]
    assert found == whole


def keep_at(
    place: str, command: str, options: dict[str, str] | None = None
) -> tuple[list[str], dict[str, bytes]]:
    """Runs the campaign twice, the second time without a cell; returns its parts and all files."""
    (fsspec,) = need_modules("fsspec")
    campaign(SPEC, folder=place, workers=2, command=command, storage_options=options)
    told: list[tuple[int, int, int]] = []
    again = campaign(
        SPEC,
        folder=place,
        command=command,
        storage_options=options,
        progress=lambda *at: told.append(at),
    )
    assert told == []
    system, root = fsspec.core.url_to_fs(place, **options or {})
    return again.parts["net"], {
        name[len(root) + 1 :]: system.cat_file(name) for name in system.find(root)
    }


def test_a_cell_that_fails_keeps_nobody(command: str, tmp_path: Path) -> None:
    # SKDC has no batch, and LKH has.
    cells = {"command": "net", "scheme": ["skdc", "lkh-group"], "members": 8, "runs": 1}
    spec = {"cells": [cells | {"operation": "batch"}]}
    told: list[tuple[int, int, int]] = []
    with pytest.raises(CellsFailed, match="(?s)1 of 2 cells failed.*batch") as failed:
        campaign(spec, folder=tmp_path, command=command, progress=lambda *at: told.append(at))
    assert told[-1] == (2, 2, 1)
    assert "--scheme=skdc" in failed.value.failed[0].line
    results = campaign(spec, folder=tmp_path, command=command, partial=True)
    assert (len(results.failed), len(results.parts["net"])) == (1, 1)
    assert len(list((tmp_path / "cells").rglob("*.jsonl"))) == 1


def test_a_command_that_dies_costs_the_cell_it_was_at(command: str, tmp_path: Path) -> None:
    spec = cheap(tmp_path, 5)
    dies = 'if grep -q \'"seed" = "3"\' "$3" && [ "$2" = run ]; then kill -SEGV $$; fi'
    fragile = instead(tmp_path, command, dies)
    with pytest.raises(CellsFailed, match="(?s)1 of 5 cells failed.*SIGSEGV"):
        campaign(spec, folder=tmp_path / "out", command=fragile, workers=1, batch=1)
    assert len(list((tmp_path / "out").rglob("*.jsonl"))) == 4
    assert campaign(spec, folder=tmp_path / "out", command=command).failed == []


def test_an_interruption_leaves_what_is_done(command: str, tmp_path: Path) -> None:
    spec = cheap(tmp_path, 1000)
    interrupted_at(20, spec, tmp_path / "out", command)
    done = len(list((tmp_path / "out").rglob("*.jsonl")))
    assert 20 <= done < 1000
    assert interrupted_at(1, spec, tmp_path / "out", command) == 1000 - done


def interrupted_at(
    count: int, spec: Path, folder: Path, command: str, address: str | None = None
) -> int:
    """Interrupts a campaign when some cells are done. Returns how many it wanted to run."""
    totals = []

    def progress(done: int, total: int, failed: int) -> None:
        totals.append(total)
        if done >= count:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        campaign(
            spec,
            address,
            folder,
            workers=2,
            command=command,
            progress=progress,
        )
    return totals[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"command": "/nowhere/groupkey"}, "no program /nowhere/groupkey"),
        (
            {"spec": {"cells": [{"command": "net", "schema": "skdc"}]}},
            "line 3: .*no option --schema",
        ),
        ({"spec": {"cells": [{"command": "net", "seed": None}]}}, "and not None"),
        ({"folder": None}, "folder= says where"),
        ({"folder": "nothing://here"}, "nothing://here cannot be opened"),
        ({"workers": 0}, "1 or more"),
    ],
)
def test_what_is_wrong_is_told(
    change: dict[str, object], words: str, command: str, tmp_path: Path
) -> None:
    if str(change.get("folder")).startswith("nothing"):
        pytest.importorskip("fsspec")
    arguments = {"spec": SPEC, "folder": tmp_path, "command": command} | change
    with pytest.raises(CampaignError, match=words):
        campaign(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("ray", lambda command, at: campaign(SPEC, "auto", at, command=command)),
        ("fsspec", lambda command, at: campaign(SPEC, None, "s3://bucket/x", command=command)),
        ("pyarrow", lambda command, at: campaign(SPEC, None, at, command=command).table("net")),
    ],
)
def test_a_missing_package_is_named(
    package: str,
    call: Callable[[str, Path], object],
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CampaignError, match=f"pip install {package}"):
        call(command, tmp_path)


def test_a_cell_that_loses_workers_is_given_up(command: str, tmp_path: Path) -> None:
    cells = list_cells(command, cheap(tmp_path, 4))
    todo = Todo(cells, workers=1, most=64)
    assert todo.take() == cells[:1]
    assert todo.lost(cells[:2], "it is gone") == []
    assert (todo.take(), todo.take()) == (cells[:1], cells[1:2])
    assert todo.lost(cells[:1], "it is gone") == []
    assert todo.lost(todo.take(), "it is gone")[0].problem.endswith("at it: it is gone")
    assert todo.take() == cells[1:2]


@pytest.mark.usefixtures("ray")
def test_ray_gives_the_same_files(command: str, whole: dict[str, bytes], tmp_path: Path) -> None:
    campaign(SPEC, "local", tmp_path, batch=1, command=command)
    assert contents(tmp_path) == whole


@pytest.mark.usefixtures("ray")
def test_a_worker_killed_in_the_middle_changes_nothing(
    command: str, whole: dict[str, bytes], tmp_path: Path
) -> None:
    mark = tmp_path / "killed"
    # The first cell kills the worker that it is run by, once.
    kills = f'if [ "$2" = run ] && mkdir {mark} 2>/dev/null; then kill -9 $PPID; sleep 9; fi'
    killer = instead(tmp_path, command, kills)
    campaign(SPEC, "local", tmp_path / "out", workers=2, command=killer)
    assert mark.exists()
    assert contents(tmp_path / "out") == whole


@pytest.mark.usefixtures("ray")
def test_workers_get_the_files_that_cells_name(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'description = "small"\n[group]\nscheme = "skdc"\nmembers = 3\n'
    Path("nets").mkdir()
    Path("nets/small.toml").write_text(text)
    spec = {"cells": [{"command": "net", "scenario": "nets/small.toml", "runs": [1, 2]}]}
    assert campaign(spec, "local", "on-ray", command=command).cells == 2
    campaign(spec, None, "here", command=command)
    assert contents(Path("on-ray")) == contents(Path("here"))
    outside = {"cells": [{"command": "net", "scenario": str(Path("nets/small.toml").resolve())}]}
    with pytest.raises(CampaignError, match="is not under this folder"):
        campaign(outside, "local", "on-ray", command=command)


@pytest.mark.usefixtures("ray")
def test_a_worker_with_another_build_is_refused(command: str, tmp_path: Path) -> None:
    # The first one that asks is the one that the campaign begins with.
    asked = tmp_path / "asked"
    other = f'if [ "$1" = --version ] && ! mkdir {asked} 2>/dev/null; then echo other; exit; fi'
    with pytest.raises(CampaignError, match="a worker has other at .*install the same groupkey"):
        campaign(SPEC, "local", tmp_path / "out", command=instead(tmp_path, command, other))


@pytest.mark.usefixtures("ray")
def test_an_interruption_on_ray_leaves_what_is_done(command: str, tmp_path: Path) -> None:
    spec = cheap(tmp_path, 1000)
    interrupted_at(20, spec, tmp_path / "out", command, "local")
    done = len(list((tmp_path / "out").rglob("*.jsonl")))
    assert 20 <= done < 1000
    assert interrupted_at(1, spec, tmp_path / "out", command) == 1000 - done


def test_ten_thousand_cells_on_ray_go_on_after_kill_9_of_the_driver(
    command: str, tmp_path: Path
) -> None:
    need(importlib.util.find_spec("ray") is not None, "Ray is not installed")
    spec, out = cheap(tmp_path, 10_000), tmp_path / "out"
    driver = f"""
from groupkey.campaign import campaign
campaign({str(spec)!r}, "local", {str(out)!r}, workers=2, command={command!r})
"""
    done = 0
    for _ in range(2):
        running = subprocess.Popen(
            [sys.executable, "-c", driver], env=os.environ | on_ray(), start_new_session=True
        )
        deadline = time.monotonic() + 600
        while len(finished(out)) < done + 40:
            assert running.poll() is None and time.monotonic() < deadline, "it gets nowhere"
            time.sleep(0.1)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        done = len(finished(out))
    before = {path: path.stat().st_mtime_ns for path in finished(out)}
    assert interrupted_at(20, spec, out, command) == 10_000 - done
    assert all(path.stat().st_mtime_ns == at for path, at in before.items()), "one ran again"
    for path in finished(out):
        row = path.read_text()
        assert row.startswith('{"scheme":"skdc"'), row
        assert row.endswith("}\n"), row


def finished(out: Path) -> list[Path]:
    return list((out / "cells").rglob("*.jsonl"))
