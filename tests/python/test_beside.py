"""The benchmarks beside yt and ParaView: what they say where these are missing, and how they count differences."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def beside_yt() -> ModuleType:
    spec = importlib.util.spec_from_file_location("beside_yt", BENCH / "beside_yt.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_differences_are_cells_or_groups_or_relative(beside_yt: ModuleType) -> None:
    assert beside_yt.difference({"counts": np.array([3, 4])}, {"counts": np.array([3, 4])}) == 0
    assert beside_yt.difference({"counts": np.array([3, 4])}, {"counts": np.array([2, 5])}) == 2
    assert beside_yt.difference({"sizes": np.array([30, 20])}, {"sizes": np.array([30])}) == 1
    found = beside_yt.difference({"total": 2.0, "plane": np.ones(2)}, {"total": 2.0, "plane": np.array([1.0, 1.5])})
    assert found == pytest.approx(0.5)


def test_who_has_no_yt_is_told_what_to_install(beside_yt: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["beside_yt.py"])
    monkeypatch.setattr(beside_yt.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(SystemExit, match=r"yt is not installed\nhint: pip install yt yt_astro_analysis"):
        beside_yt.main()


def test_who_has_no_paraview_is_told_what_to_install() -> None:
    words = [sys.executable, BENCH / "beside_paraview.py", "--python", sys.executable]

    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "hint: apt install" in done.stderr
