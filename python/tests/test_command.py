"""The command `groupkey`, as the wheel installs it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest


def command() -> list[str]:
    installed = Path(sysconfig.get_path("scripts")) / "groupkey"
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "groupkey"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command(), *arguments], capture_output=True, text=True, timeout=300)


def test_it_prints_and_returns_the_exit_codes_of_the_command():
    version = run("--version")
    assert version.returncode == 0 and version.stdout.startswith("groupkey 0.1.0")
    wrong = run("net", "--loss", "200")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("error: invalid value '200'")


def test_a_reader_that_goes_away_is_no_failure():
    piped = subprocess.run(
        f"{' '.join(command())} schemes | head -1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable=shutil.which("bash"),
        capture_output=True,
        text=True,
    )
    assert piped.returncode == 0 and piped.stderr == "", piped.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_it():
    # The second group takes far longer than the test.
    words = "net --json --scheme skdc --members 2,20000 --runs 50 --loss 10 --threads 1".split()
    process = subprocess.Popen(
        [*command(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and '"members":2,' in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted: 1 of 2 settings are done" in told
