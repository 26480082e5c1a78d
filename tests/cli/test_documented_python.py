"""Every block of Python that README and guides show is executed as it stands, or by a test that is named."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pytest

import calls
from documented import PAGES, ROOT, blocks

# The demo, made short: fewer cells from a later start, its halos at thresholds that so few cells reach.
DEMO = """simulation = "cosmology"
mesh = { cells = [16, 16, 16], block = 8 }
cosmology = { box = "60 Mpc/h", z_start = 8, z_end = 7 }
heating.uv_background = "onorbe17_middle"
[task.gimlet]
analysis = "gimlet"
at_end = true
[task.halos]
analysis = "halos"
t_boundary = "1.05 mean"
t_halo = "1.1 mean"
every = 1
[task.tree]
analysis = "merge_tree"
cut_off = "1.02 mean"
at_end = true
[task.projection]
analysis = "projection"
every = 1
[task.flash]
write = "plotfile"
format = "flash"
at_end = true
[output]
plotfile = { at_end = true }
checkpoint = { format = "raw", at_end = true }
"""
BOX = """simulation = "cosmology"
run.max_steps = 3
mesh = { cells = [16, 16, 16], block = 8 }
cosmology = { box = "60 Mpc/h", z_start = 8, z_end = 0 }
[task.halos]
analysis = "halos"
link = true
t_boundary = "1.05 mean"
t_halo = "1.1 mean"
every = 1
"""


class Page(NamedTuple):
    """Which blocks of a page are executed, one after another with the same names, and what they take to be there."""

    page: str
    executed: tuple[int, ...]
    files: dict[str, str] = {}  # by the name that the page has for it, what the runs above made, or a file of the tests
    names: tuple[str, ...] = ()  # of `NAMES`
    altered: dict[str, str] = {}  # what makes it short


NAMES: dict[str, Any] = {
    "density": np.random.default_rng(1).lognormal(size=(16, 16, 16)) ** 3,
    "mpl": mpl,
}
RUN = {"runs/demo": "demo", "runs/demo/plt00165": "demo/plt00006"}
DENSE = {
    '"81.66 mean"': '"1.1 mean"',
    '"60 mean"': '"1.1 mean"',
    '"100 mean"': '"1.3 mean"',
    '"200 mean"': '"1.3 mean"',
}
EXECUTED = (
    Page("README.md", (0,), RUN | {"sedov_hdf5_chk_0010": "demo/flash/sidestream_hdf5_plt_cnt_0006"}, ("density",)),
    Page("docs/guides/first_run.md", (0,), RUN, altered={"redshift == 2": "redshift == 7"}),
    Page("docs/guides/study.md", (0, 1, 2, 3), RUN, altered={"((3, 3, 3), (5, 5, 5))": "((9, 9, 9), (15, 15, 15))"}),
    Page("docs/guides/own_analysis.md", (0,), RUN),
    Page(
        "docs/guides/files.md",
        (0, 1),
        {"plt00120": "refined"},
        altered={'"stars"': '"dark_matter"', "t_halo=": 'field="density", t_halo='},
    ),
    Page(
        "docs/guides/halos.md",
        (0, 1, 2, 4),
        {"runs/box": "demo", "runs/box/results/tree/000150.nc": "demo/results/tree/00006.nc"},
        ("density",),
        DENSE
        | {
            '"150 mean"': '"1.2 mean"',
            "1e13": "1e9",
            "connected(a, b,": "connected(1, 2,",
            "component_of(a,": "component_of(1,",
        },
    ),
    Page("docs/guides/lyman_alpha.md", (0, 1), {"runs/forest": "demo"}),
    Page("docs/guides/merger_trees.md", (0,), {"runs/mergers": "box"}),
    Page("docs/guides/fft.md", (0, 1)),
    Page("docs/reference/nyx.md", (0,), RUN),
    Page(
        "docs/reference/nyx.md", (1,), {"plt00123": "refined"}, altered={"level=1, t_halo=": 'field="density", t_halo='}
    ),
    Page("docs/reference/raw.md", (0,), {"chk00050.raw": "demo/chk00006.raw"}),
)
# By page and number, the tests that have the same calls.
BY_ANOTHER_TEST = {
    ("docs/guides/compression.md", 0): "tests/cli/test_compressed_files.py",
    ("docs/guides/fft.md", 2): "tests/python/mpi_fft.py",
    ("docs/guides/files.md", 2): "tests/cli/test_files.py tests/python/test_snapshot_file.py",
    ("docs/guides/files.md", 3): "tests/python/test_adios.py tests/python/test_snapshot_file.py",
    ("docs/guides/halos.md", 3): "tests/python/mpi_blocks.py",
    ("docs/guides/lattice_boltzmann.md", 0): "tests/cli/test_lattice.py",
    ("docs/guides/own_analysis.md", 1): "tests/cli/test_streams.py",
    ("docs/guides/own_analysis.md", 2): "tests/cli/test_python_tasks.py",
    ("docs/guides/own_analysis.md", 3): "tests/cli/test_python_tasks.py",
    ("docs/guides/own_code.md", 0): "tests/cli/test_hosts.py",
    ("docs/guides/redistribution.md", 0): "tests/python/mpi_redistribution.py",
    ("docs/guides/refine.md", 0): "tests/cli/test_books.py",
    ("docs/guides/regions.md", 0): "tests/cli/test_regions.py",
    ("docs/guides/regions.md", 1): "tests/cli/test_regions.py tests/cli/test_files.py",
    ("docs/guides/regions.md", 2): "tests/cli/test_regions.py",
    ("docs/guides/steering.md", 0): "tests/cli/test_steering.py",
    ("docs/guides/steering.md", 1): "tests/cli/test_steering.py",
    ("docs/guides/streams.md", 0): "tests/cli/test_streams.py",
    ("docs/guides/study.md", 4): "tests/python/test_open_many.py",
    ("docs/guides/turbulence.md", 0): "tests/cli/test_turbulence_statistics.py tests/physics/test_tracers.py",
    ("docs/guides/turbulence.md", 1): "tests/cli/test_turbulence_checkpoints.py",
    ("docs/guides/turbulence_statistics.md", 0): "tests/cli/test_turbulence_statistics.py tests/python/test_study.py",
    ("docs/reference/flash.md", 0): "tests/python/test_flash_yt.py",
    ("docs/reference/flash.md", 1): "tests/python/test_flash_yt.py",
    ("docs/reference/run_folder.md", 0): "tests/python/test_every_figure.py",
}
# Methods of NumPy, xarray, pandas and Python that need no test here.
OF_OTHERS = {"geomspace", "glob", "groupby", "index", "isel", "item", "max", "mean"}


def python_of(page: str) -> list[str]:
    return [text for language, text in blocks(ROOT / page) if language == "python"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs `demo` and `box` and the plot file `refined`."""
    folder = tmp_path_factory.mktemp("made")
    for name, text in (("demo", DEMO), ("box", BOX)):
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        done = calls.program(folder, 1, f"{name}.toml", "--quiet", "--out", name)
        assert done.returncode == 0, done.stderr
    shutil.copytree(ROOT / "tests/data/refined_plt00007", folder / "refined")
    return folder


@pytest.fixture(autouse=True)
def _figures_in_memory() -> Iterator[None]:
    before = mpl.get_backend()
    mpl.use("Agg")
    yield
    mpl.pyplot.close("all")
    mpl.use(before)


@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: f"{Path(page.page).name}-{page.executed[0]}")
def test_it_works_as_it_stands(page: Page, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, source in page.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if (made / source).is_dir():
            shutil.copytree(made / source, path, dirs_exist_ok=True)
        else:
            shutil.copy(made / source, path)
    monkeypatch.chdir(tmp_path)
    shown, names = python_of(page.page), {name: NAMES[name] for name in page.names}
    for number in page.executed:
        text = shown[number]
        for there, short in page.altered.items():
            text = text.replace(there, short)
        exec(compile(text, f"{page.page}, block {number} of Python", "exec"), names)


def test_each_is_executed_or_belongs_to_a_test() -> None:
    executed = {(page.page, number) for page in EXECUTED for number in page.executed}

    shown = {
        (path, number)
        for path in (p.relative_to(ROOT).as_posix() for p in PAGES)
        for number in range(len(python_of(path)))
    }

    assert executed | set(BY_ANOTHER_TEST) == shown
    assert not executed & set(BY_ANOTHER_TEST)


def test_the_other_tests_have_the_same_calls() -> None:
    for (page, number), files in BY_ANOTHER_TEST.items():
        called = set(re.findall(r"\.(\w+)\(", python_of(page)[number])) - OF_OTHERS
        tests = "".join((ROOT / file).read_text(encoding="utf-8") for file in files.split())
        assert {name for name in called if f"{name}(" not in tests} == set(), (page, number, files)
