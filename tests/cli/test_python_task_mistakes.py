"""What functions in Python do wrongly, or oddly, in tasks of one run: it goes on, and says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import sidestream
from calls import program

BOX = """simulation = "sedov"

[run]
max_steps = 3

[mesh]
cells = [16, 16, 1]
block = 8
"""

HEAD = """import os, sys
import numpy as np
import sidestream

@sidestream.analysis(fields=["pressure"])
def mine(snapshot):
    cells = [block.cells for block in snapshot.blocks("pressure")]
"""

FAULTS = {
    "text_that_fails": (
        "class Bad(Exception):\n    def __str__(self): raise ValueError\n"
        "if snapshot.rank == 1: raise Bad()\nreturn {'a': snapshot.sum([1.0])}",
        "Bad: its text cannot be had (ValueError)",
    ),
    "odd_characters": (
        "if snapshot.rank == 1: open('/nowhere/\\udcff')\nreturn {'a': snapshot.sum([1.0])}",
        "No such file or directory: '/nowhere/\\udcff'",
    ),
    "long_text": ("raise ValueError('x' * 1_000_000)", "ValueError: xxx"),
    "words_of_one_rank": ("return {'a': snapshot.sum(['a'] if snapshot.rank else [1.0])}", "these are no real numbers"),
    "complex_numbers": ("return {'a': snapshot.sum([1j])}", "take abs(...) or .real"),
    "other_columns": (
        "return {'a': snapshot.gather(**({'a': [1.0]} if snapshot.rank else {})).get('a', 0)}",
        "the columns of a table differ from rank to rank",
    ),
    "other_edges": (
        "return {'a': snapshot.histogram(cells, np.linspace(0, 1 + snapshot.rank, 5))}",
        "the edges of a histogram",
    ),
    "other_levels": (
        "return {'a': snapshot.vtk_image('pressure', whole=snapshot.rank == 1)}",
        "what an image is made of",
    ),
    "two_columns": ("return {'a': 1}, {'a': 2}", "two columns `a`"),
    "own_step": ("return {'step': snapshot.step}", "a column cannot be called `step`"),
    "an_interrupt": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "no_end": ("def f(n): return f(n + 1)\nf(0)", "RecursionError"),
    "too_large": ("np.ones(10**15)", "MemoryError"),
    "a_file_beside": ("import beside\nbeside.fails()", "beside.fails(), from beside.py:2"),
    "axes": ("import matplotlib.pyplot as plt\nreturn plt.subplots()[1]", "cannot return what is of type Axes"),
}

ODD = {
    "as_they_lie": (
        "whole = np.arange(120.0).reshape(4, 5, 6)\n"
        "views = [whole[1:3, ::2, 1:4], whole[::-1, :, ::-1], whole[:, 1:, ::2], whole.T, whole[2, 3, 4],\n"
        "         np.broadcast_to(whole[0, 0], (3, 6)), whole[:0], whole[:, :0], whole[1:2, 1:2, 1:2],\n"
        "         whole.astype('>f4')]\n"
        "edges = np.linspace(0.0, 119.0, 8)\n"
        "own = np.concatenate([np.ravel(v) for v in views])\n"
        "return {'sum': snapshot.sum(*views) / snapshot.ranks, 'own': own.sum(),\n"
        "        'counts': snapshot.histogram(views, edges) // snapshot.ranks, 'numpy': np.histogram(own, edges)[0],\n"
        "        'heavy': snapshot.histogram(views[:4], edges, views[:4]) / snapshot.ranks,\n"
        "        'weighted': np.histogram(np.concatenate([np.ravel(v) for v in views[:4]]), edges,\n"
        "                                 weights=np.concatenate([np.ravel(v) for v in views[:4]]))[0]}"
    ),
    "masked": (
        "mean = snapshot.sum(*cells) / snapshot.sum(*[np.ones_like(c) for c in cells])\n"
        "high = [np.ma.masked_less_equal(c, mean) for c in cells]\n"
        "return {'sum': snapshot.sum(*high), 'least': snapshot.min(*high), 'most': snapshot.max(*high),\n"
        "        'same': snapshot.sum(*[c[c > mean] for c in cells]), 'hidden': np.ma.masked_less([1, 2, 3], 2)}"
    ),
    "no_numbers": (
        "return {'least': snapshot.min([np.nan] if snapshot.rank else [1.0]),\n"
        "        'most': snapshot.max([2.0] if snapshot.rank else [1.0, np.nan, 3.0])}"
    ),
    "infinite": (
        "return {'up': snapshot.sum([np.inf, 1.0]), 'both': snapshot.sum([np.inf, -np.inf]),\n"
        "        'down': snapshot.sum([-np.inf] if snapshot.rank else [1.0]), 'none': snapshot.sum([np.inf], [np.nan])}"
    ),
    "whole": (
        "big = 2**53 + 1 + 2 * snapshot.rank\n"
        "ends = np.array([2**63 - 1, -(2**63)])[: 2 * snapshot.rank]\n"
        "rows = snapshot.gather(id=np.array([big], np.uint64), x=np.array([snapshot.rank], np.float32))\n"
        "late = snapshot.gather(id=ends if snapshot.rank else [])\n"
        "found = {'sum': snapshot.sum(np.array([big]), [7]), 'mixed': snapshot.sum([big], [0.5]),\n"
        "         'least': snapshot.min([-big, 5]), 'most': snapshot.max([big, 5]), 'last': snapshot.max(ends),\n"
        "         'first': snapshot.min(ends), 'count': snapshot.sum(np.array([True, False, True])),\n"
        "         'far': snapshot.sum(np.full(5, 2**62), np.full(3, 2**64 - 1, np.uint64)), 'none': snapshot.sum([])}\n"
        "kinds = [np.array([7]), np.array([2**63 + 1], np.uint64)]\n"
        "late |= {'ids': snapshot.gather(ids=kinds[snapshot.rank])['ids']}\n"
        "types = ' '.join(type(value).__name__ for value in found.values())\n"
        "types += ''.join(f' {column.dtype}' for column in (*rows.values(), *late.values()))\n"
        "return ({**found, 'digits': f\"{found['far']} {late.pop('ids').tolist()}\", 'types': types},\n"
        "        {'id': rows['id'].astype(int), 'late': late['id']})"
    ),
    "pandas_and_xarray": (
        "import pandas as pd, xarray as xr\n"
        "return ({'a': [1, 2, 3]}, {'b': [1, 2]}, pd.DataFrame({'c': [1.0, 2.0, 3.0, 4.0]}),\n"
        "        pd.Series([1, 2, 3], name='d'), xr.DataArray([1.0, 2.0], dims='q', name='e'))"
    ),
    "folder": "os.chdir('/')\nreturn {'a': 1}",
    "forked": (
        "import multiprocessing\n"
        "with multiprocessing.get_context('fork').Pool(1) as pool: found = pool.map(abs, [-1])\n"
        "return {'a': found}"
    ),
    "figures": (
        "import matplotlib.pyplot as plt\nopened = len(plt.get_fignums())\nfigure, _ = plt.subplots()\n"
        "return {'open': snapshot.max([opened])}, figure"
    ),
    "lengths": "n = snapshot.step\nreturn {'share': 0.5 * n, 'peaks': list(range(n)), 'edges': [1.0, 2.0]}",
    "text": "return {'word': 'x\\0y\\udc80', 'big': np.array([2**64 - 1], dtype=np.uint64)}",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on two ranks with a task for each."""
    folder = tmp_path_factory.mktemp("mistakes")
    tasks = {name: body for name, (body, _) in FAULTS.items()} | ODD
    config = [BOX]
    (folder / "beside.py").write_text("def fails():\n    raise ValueError('deep')\n")
    for name, body in tasks.items():
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        (folder / f"{name}.py").write_text(HEAD + lines + "\n")
        config.append(f'[task.{name}]\nanalysis = "python"\nfile = "{name}.py"\nevery = {1 if name in ODD else 100}\n')
    (folder / "box.toml").write_text("\n".join(config))
    done = program(folder, 2, "box.toml", "--quiet", "--out", "run", name="sidestream-run-python")
    assert "the run has lost" in done.stderr, done.stderr
    return folder / "run"


def failures(folder: Path) -> dict[str, str]:
    lines = (folder / "events.jsonl").read_text().splitlines()
    told = [event for event in map(json.loads, lines) if event["event"] == "analysis_failed"]
    return {event["task"]: event["message"] for event in told}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_mistake_ends_its_result_alone(fault: str, folder: Path) -> None:
    message = failures(folder)[fault]
    assert FAULTS[fault][1] in message and f"{fault}.py" in message and len(message) < 5000


def test_no_other_result_is_lost(folder: Path) -> None:
    assert failures(folder).keys() == FAULTS.keys()
    assert all(sidestream.open(folder)[name].sizes["step"] == 4 for name in ODD)


def test_what_a_mask_hides_is_left_out(folder: Path) -> None:
    found = sidestream.open(folder)["masked"]
    np.testing.assert_array_equal(found["sum"], found["same"])
    assert np.all(found["least"] > 0.1) and np.all(found["most"] >= found["least"])
    np.testing.assert_array_equal(found["hidden"][-1], [np.nan, 2.0, 3.0])


def test_arrays_are_counted_as_they_lie(folder: Path) -> None:
    found = sidestream.open(folder)["as_they_lie"]
    for ours, of_numpy in (("sum", "own"), ("counts", "numpy"), ("heavy", "weighted")):
        np.testing.assert_array_equal(found[ours], found[of_numpy])


def test_what_is_no_number_on_any_rank_is_none_on_all(folder: Path) -> None:
    found = sidestream.open(folder)["no_numbers"]
    assert np.isnan(found["least"]).all() and np.isnan(found["most"]).all()


def test_sums_of_infinities_are_those_of_ieee_754(folder: Path) -> None:
    found = sidestream.open(folder)["infinite"]
    assert np.all(found["up"] == np.inf) and np.all(found["down"] == -np.inf)
    assert np.isnan(found["both"]).all() and np.isnan(found["none"]).all()


def test_whole_numbers_of_all_ranks_are_exact(folder: Path) -> None:
    found = sidestream.open(folder)["whole"].isel(step=0)
    big = 2**53
    expected = {"sum": 2 * big + 18, "least": -big - 3, "most": big + 3, "last": 2**63 - 1, "first": -(2**63)}
    assert {name: int(found[name]) for name in expected} == expected
    assert int(found["count"]) == 4 and float(found["none"]) == 0.0 and float(found["mixed"]) == 2.0 * big + 5.0
    far = 2 * (5 * 2**62 + 3 * (2**64 - 1))
    assert float(found["far"]) == float(far)  # a result has no whole number of that size
    assert found.attrs["digits"] == f"{far} [7, {2**63 + 1}]"
    assert found["id"].values.tolist() == [big + 1, big + 3] and found["late"].values.tolist() == [2**63 - 1, -(2**63)]
    assert found.attrs["types"] == "int float int int int int int int float uint64 float64 int64 uint64"


def test_tables_of_any_kind_have_their_lengths(folder: Path) -> None:
    found = sidestream.open(folder)["pandas_and_xarray"]
    lengths = {str(name): found[name].sizes[found[name].dims[-1]] for name in "abcde"}
    assert lengths == {"a": 3, "b": 2, "c": 4, "d": 3, "e": 2}


def test_figures_that_nobody_closes_do_not_gather(folder: Path) -> None:
    assert int(sidestream.open(folder)["figures"]["open"].max()) == 0


def test_columns_whose_length_changes_lie_beside_others(folder: Path) -> None:
    found = sidestream.open(folder)["lengths"]
    np.testing.assert_array_equal(found["share"], [0.0, 0.5, 1.0, 1.5])
    nan = np.nan
    expected = [[nan, nan, nan], [0, nan, nan], [0, 1, nan], [0, 1, 2]]
    np.testing.assert_array_equal(found["peaks"].values, expected)
    assert found["edges"].shape == (4, 2) and not found["edges"].isnull().any()


def test_texts_and_numbers_that_files_cannot_take_are_near(folder: Path) -> None:
    data = xr.load_dataset(folder / "results" / "text" / "00000.nc", engine="h5netcdf")
    assert data.attrs["word"] == "x y\\udc80" and float(data["big"][0]) == 2.0**64
