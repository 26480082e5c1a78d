"""The check of layers finds what it is there to find, in a small repository of its own."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]

TABLES = """
[modules]
core = []
mesh = ["core"]
io = ["core", "mesh/box.hpp"]

[package]
error = []
runs = ["error"]
report = ["error", "runs"]
__init__ = ["runs"]
"""

FILES = {
    "layers.toml": TABLES,
    "include/sidestream/core/error.hpp": "",
    "src/core/error.cpp": "#include <sidestream/core/error.hpp>\n",
    "src/mesh/box.cpp": "#include <sidestream/core/error.hpp>\n",
    "src/io/file.cpp": "#include <sidestream/mesh/box.hpp>\n",
    "python/sidestream/__init__.py": "if TYPE_CHECKING:\n    from .runs.run import Run\n",
    "python/sidestream/error.py": "import os.path\nfrom collections import abc\n",
    "python/sidestream/runs/__init__.py": "",
    "python/sidestream/runs/run.py": "from ..error import Error\n\n\ndef tree():\n    from .mergers import Tree\n",
    "python/sidestream/runs/mergers.py": "from ..error import Error\n",
    "python/sidestream/report/__init__.py": "from .page import write\n",
    "python/sidestream/report/page.py": "from .. import error\nfrom ..runs import run\n",
}


@pytest.fixture(scope="module")
def check() -> ModuleType:
    """The tool as a module."""
    spec = importlib.util.spec_from_file_location("check_layers", ROOT / "tools" / "check_layers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose layers hold."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_this_repository_holds_its_layers(check: ModuleType) -> None:
    assert check.violations(ROOT) == []


def test_layers_that_hold_have_no_violation(check: ModuleType, repository: Path) -> None:
    assert check.violations(repository) == []


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("src/core/error.cpp", "#include <sidestream/mesh/box.hpp>", "core may not include mesh/box.hpp"),
        ("src/io/file.cpp", '#include "sidestream/mesh/layout.hpp"', "io may not include mesh/layout.hpp"),
        ("python/sidestream/runs/run.py", "from ..report import page", "runs may not import report"),
        ("python/sidestream/runs/run.py", "def f():\n    from ..report.page import g", "runs may not import report"),
        ("python/sidestream/runs/run.py", "if TYPE_CHECKING:\n    from .. import report", "runs may not import report"),
        ("python/sidestream/runs/run.py", "import sidestream.report.page", "runs may not import report"),
        ("python/sidestream/runs/run.py", "from sidestream import __version__", "runs may not import __init__"),
        ("python/sidestream/error.py", "from .runs.run import Run", "error may not import runs"),
    ],
)
def test_what_stands_above_is_not_known(file: str, text: str, found: str, check: ModuleType, repository: Path) -> None:
    (repository / file).write_text(text + "\n")

    assert check.violations(repository) == [f"{file}: {found}"]


def test_modules_of_a_folder_do_not_import_each_other_in_a_circle(check: ModuleType, repository: Path) -> None:
    (repository / "python/sidestream/runs/mergers.py").write_text("if TYPE_CHECKING:\n    from .run import Run\n")

    (found,) = check.violations(repository)

    assert found.startswith("python/sidestream/runs: a circle, ")
    assert found.endswith(("run imports mergers imports run", "mergers imports run imports mergers"))


@pytest.mark.parametrize(
    ("line", "other", "found"),
    [
        ("runs = [", 'runs = ["report", ', "runs may not know report, which does not stand before it"),
        ("mesh = [", 'mesh = ["io", ', "mesh may not know io, which does not stand before it"),
        ("error = []", "", "there is no line for error"),
        ("core = []", "core = []\ncomm = []", "comm is not there"),
    ],
)
def test_the_tables_are_in_order_and_whole(
    line: str, other: str, found: str, check: ModuleType, repository: Path
) -> None:
    (repository / "layers.toml").write_text(TABLES.replace(line, other))

    assert f"layers.toml: {found}" in check.violations(repository)


HEAVY = re.compile(r"#\s*include <(nlohmann/json\.hpp|spdlog/|toml|CLI/|hdf5|pnetcdf|zmq|fftw)")
MOST_FILES = 25


def test_public_headers_include_no_heavy_ones() -> None:
    folder = ROOT / "include" / "sidestream"
    headers = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.hpp")}

    assert len(headers) > 100
    assert {name for name, text in headers.items() if HEAVY.search(text)} == set()


def test_no_folder_has_many_files() -> None:
    files = [path for name in ("src", "include", "python/sidestream") for path in (ROOT / name).rglob("*.?pp")]
    files += (ROOT / "python" / "sidestream").rglob("*.py")
    folders = Counter(path.parent for path in files)

    assert len(folders) > 80
    assert {str(folder.relative_to(ROOT)): count for folder, count in folders.items() if count > MOST_FILES} == {}
