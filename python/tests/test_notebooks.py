"""Notebooks run from their first cell to their last."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import need

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    need("pandas", "pyarrow")
    (matplotlib,) = need("matplotlib")
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == ([], None)
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), path.name, "exec"), names)
    if path.stem == "network":
        assert (tmp_path / "removal.pdf").read_bytes().startswith(b"%PDF")
    if path.stem == "own_scheme":
        assert set(names["passive"]["found"]) == {"holds"}
        assert names["broken"]["found"] == "broken"
