"""What `tools/bundle.py` makes of a wheel's names and libraries, without any wheel."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def bundle() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TOOLS))
        return importlib.import_module("bundle")


def test_a_wheel_has_the_mpi_in_its_version_and_among_its_requirements(bundle: ModuleType, tmp_path: Path) -> None:
    root = tmp_path / "sidestream-0.1.0"
    for folder in ("sidestream-0.1.0.dist-info", "sidestream-0.1.0.data/scripts", "sidestream"):
        (root / folder).mkdir(parents=True)
    info = root / "sidestream-0.1.0.dist-info"
    (info / "METADATA").write_text(
        "Name: sidestream\nVersion: 0.1.0\nRequires-Dist: numpy\nRequires-Dist: rich\n\nText"
    )
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")

    fresh = bundle.relabel(root, "mpich", "mpich~=5.0")

    assert sorted(path.name for path in fresh.iterdir()) == [
        "sidestream",
        "sidestream-0.1.0+mpich.data",
        "sidestream-0.1.0+mpich.dist-info",
    ]
    info = fresh / "sidestream-0.1.0+mpich.dist-info"
    lines = (info / "METADATA").read_text().splitlines()
    assert "Version: 0.1.0+mpich" in lines
    assert [line for line in lines if line.startswith("Requires")] == [
        "Requires-Dist: mpich~=5.0",
        "Requires-Dist: numpy",
        "Requires-Dist: rich",
    ]
    assert re.search(r"Tag: cp311-cp311-manylinux_2_\d+_x86_64\n", (info / "WHEEL").read_text())


@pytest.mark.parametrize("name", ["libm.so.6", "libstdc++.so.6", "ld-linux-x86-64.so.2", "libz.so.1"])
def test_libraries_of_any_linux_are_not_brought(bundle: ModuleType, name: str) -> None:
    assert bundle.OF_THE_SYSTEM.fullmatch(name)


@pytest.mark.parametrize("name", ["libfftw3.so.3", "libcurl.so.4", "libmpi_cxx.so.40"])
def test_a_library_without_a_licence_in_the_table_stops_the_making(bundle: ModuleType, name: str) -> None:
    assert not bundle.OF_THE_SYSTEM.fullmatch(name)
    with pytest.raises(SystemExit, match=re.escape(name)):
        bundle.find(name, {})
