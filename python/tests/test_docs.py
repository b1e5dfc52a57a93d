"""The Python that pages show runs as it stands, and functions have the command's options."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import need

import groupkey

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "python/README.md"])
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    blocks = re.findall(r"(?:<!-- needs: ([a-z ]+) -->\n)?^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    names: dict[str, object] = {"__name__": "__main__"}
    for needed, block in blocks:
        need(*needed.split())
        exec(compile(block, page, "exec"), names)
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "left_out"),
    [
        ("net", "probe messages payload until live broker firewall congestion"),
        ("bench", "k-min k-max step nonces growth"),
        ("audit", "against replay"),
    ],
)
def test_functions_have_the_options_of_the_command(command, left_out):
    shown = subprocess.run(
        [sys.executable, "-m", "groupkey", "help", command], capture_output=True, text=True, check=True
    ).stdout
    options = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", shown, re.MULTILINE))
    options -= {*left_out.split(), "json", "samples", "help"}
    options = {name for name in options if name not in ("broker", "seed can")}
    ours = set(inspect.signature(getattr(groupkey, command)).parameters) - {"progress"}
    renamed = {"parameters": "set", "class_": "class"}
    assert {renamed.get(name, name.replace("_", "-")) for name in ours} == options


def test_the_types_are_sound(tmp_path):
    need("mypy")
    # By its name: as a path, what is installed beside it would count as sources, too.
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--package", "groupkey"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stdout
