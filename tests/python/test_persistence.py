"""The persistence diagram of a stored merge tree."""

from pathlib import Path

import numpy as np
import pytest

import sidestream
import synthetic
from sidestream.figures import pictures
from sidestream.figures.persistence import pairs


def write_run(folder: Path, birth: np.ndarray, saddle: np.ndarray, death: np.ndarray) -> sidestream.Run:
    folder.mkdir()
    (folder / "config.toml").write_text('simulation = "nbody"\n[task.tree]\nanalysis = "merge_tree"\n')
    rows = ("tree_maximum",)
    columns = {
        "maximum": (np.arange(birth.size), "1"),
        "birth": (birth, "1"),
        "saddle": (saddle, "1"),
        "death": (death, "1"),
    }
    table = {name: (rows, values, unit) for name, (values, unit) in columns.items()}
    synthetic.write_result(folder, "tree", "merge_tree", 7, 0.0, table, mean_density=2.0, field="total_density")
    return sidestream.open(folder)


def test_branches_that_end_are_dots_in_means(tmp_path: Path) -> None:
    birth, death = np.array([90.0, 40.0, 30.0, 20.0]), np.array([-np.inf, 10.0, 30.0, 19.9])
    run = write_run(tmp_path / "run", birth, np.array([-1, 77, 2, 78]), death)

    (picture,) = pictures(run, "tree")

    dots = picture.figure.axes[0].collections[0].get_offsets()
    assert np.allclose(dots, [[5.0, 20.0]])
    assert "means" in picture.figure.axes[0].get_xlabel()
    assert [values.tolist() for values in pairs(run.result("tree", -1))] == [[40.0, 20.0], [10.0, 19.9]]


@pytest.mark.parametrize("size", [0, 1])
def test_a_tree_without_ends_has_no_picture(tmp_path: Path, size: int) -> None:
    run = write_run(tmp_path / "run", np.full(size, 3.0), np.full(size, -1), np.full(size, -np.inf))

    assert not list(pictures(run, "tree"))
