"""The notebooks of `examples/notebooks` run from the first cell to the last, and are kept without what they print."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))
LIMIT_S = 600  # of a cell, on a machine that has much else to do
PICTURES = {"first_run", "halos", "lyman_alpha", "turbulence", "streams"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_output(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]

    assert cells
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(path, as_version=4)

    nbclient.NotebookClient(notebook, timeout=LIMIT_S, resources={"metadata": {"path": str(tmp_path)}}).execute()

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = [output for output in outputs if "data" in output]
    has_pictures = any("image/png" in o["data"] or "<img " in o["data"].get("text/html", "") for o in shown)
    assert has_pictures == (path.stem in PICTURES)
    assert not [output for output in outputs if output["output_type"] == "error"]
