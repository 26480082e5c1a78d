"""Merge trees of arrays, against brute force and known answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import oracles
import sidestream

CONNECTIVITIES = (6, 14, 26)


@pytest.fixture(scope="module")
def field() -> np.ndarray:
    return oracles.formula_field(16)


@pytest.fixture(scope="module")
def tree(field: np.ndarray) -> sidestream.MergeTree:
    return sidestream.merge_tree(field)


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_branches_are_those_of_brute_force(seed: int, connectivity: int, periodic: bool) -> None:
    random = np.random.default_rng(seed)
    field = random.integers(0, 6, (7, 8, 9)).astype(float) if seed == 0 else random.random((8, 8, 8))

    branches = sidestream.merge_tree(field, connectivity, periodic).branches

    expected = oracles.brute_branches(field, connectivity, periodic)
    assert branches["maximum"].values.tolist() == [branch[0] for branch in expected]
    assert branches["birth"].values.tolist() == [branch[1] for branch in expected]
    assert branches["saddle"].values.tolist() == [branch[2] for branch in expected]
    assert branches["death"].values.tolist() == [branch[3] for branch in expected]


def test_the_branches_of_the_formula_field_have_the_known_persistences(tree: sidestream.MergeTree) -> None:
    persistence = np.sort((tree.branches["birth"] - tree.branches["death"]).values[1:])[::-1]

    assert tree.branches.sizes["branch"] == 63
    np.testing.assert_allclose(persistence[:4], [159.84644670, 155.82304041, 124.14840674, 107.84061605], rtol=1e-9)


@pytest.mark.parametrize(("t_boundary", "t_halo"), [(8, 20), (20, 40), (30, 150)])
def test_one_tree_answers_every_threshold(
    t_boundary: float, t_halo: float, field: np.ndarray, tree: sidestream.MergeTree
) -> None:
    expected = sidestream.halos(field, 16.0, t_boundary, t_halo)

    found = tree.halos(t_boundary, t_halo, box_size=16.0)

    assert found.sizes["halo"] == expected.sizes["halo"] == tree.components(t_boundary, t_halo)
    for name in ("id", "x", "y", "z", "mass", "cells", "peak"):
        np.testing.assert_array_equal(found[name], expected[name])


def test_components_are_counted_as_the_branches_say(tree: sidestream.MergeTree) -> None:
    branches = tree.branches
    for threshold in (1.0, 5.0, 20.0, 100.0, 300.0):
        alive = (branches["birth"] >= threshold) & (branches["death"] < threshold)
        assert tree.components(threshold) == int(alive.sum())


def test_cells_are_connected_as_brute_force_says(field: np.ndarray, tree: sidestream.MergeTree) -> None:
    halos = {cell: halo for halo, cells in _members(field, 20.0).items() for cell in cells}
    cells = np.random.default_rng(2).integers(0, field.size, (60, 2)).tolist()
    cells += [[a, b] for a, b in zip(sorted(halos)[:-1:9], sorted(halos)[1::9], strict=True)]

    for a, b in cells:
        together = a in halos and halos.get(a) == halos.get(b)
        assert tree.connected(a, b, 20.0) == together
        assert tree.component_of(a, 20.0) == halos.get(a)


def _members(field: np.ndarray, threshold: float) -> dict[int, list[int]]:
    """The cells of each component, by its highest cell."""
    labels = oracles._labels(field >= threshold, 14, True)
    groups = {}
    for label in np.unique(labels[labels > 0]):
        cells = np.flatnonzero(labels == label)
        groups[int(cells[np.argmax(field.ravel()[cells])])] = cells.tolist()
    return groups


def test_a_cell_may_be_given_by_its_indices(tree: sidestream.MergeTree) -> None:
    top = int(tree.branches["maximum"][0])

    assert tree.component_of(np.unravel_index(top, (16, 16, 16)), 20.0) == top
    assert tree.connected(np.unravel_index(top, (16, 16, 16)), top, 20.0)


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
def test_a_tree_of_sets_below_is_that_of_the_negative_field(connectivity: int, field: np.ndarray) -> None:
    below = sidestream.merge_tree(field, connectivity, sets="below")
    above = sidestream.merge_tree(-field, connectivity)

    for name, sign in (("maximum", 1), ("birth", -1), ("saddle", 1), ("death", -1), ("parent", 1)):
        np.testing.assert_array_equal(below.branches[name], sign * above.branches[name])
    assert below.components(0.5) == above.components(-0.5)


def test_voids_are_the_components_of_the_cells_below(field: np.ndarray) -> None:
    voids = sidestream.merge_tree(field, sets="below").halos(0.05, 0.02, box_size=16.0).sortby("id")

    expected = oracles.brute_halos(-field, -0.05, -0.02, 14, True)
    assert len(expected) > 3
    assert voids["id"].values.tolist() == [halo[0] for halo in expected]
    assert voids["cells"].values.tolist() == [halo[1] for halo in expected]
    np.testing.assert_allclose(voids["mass"], [-halo[2] for halo in expected], rtol=1e-12)
    np.testing.assert_array_equal(voids["peak"], [-halo[3] for halo in expected])


def test_a_cut_off_leaves_the_rest_of_the_tree(field: np.ndarray, tree: sidestream.MergeTree) -> None:
    short = sidestream.merge_tree(field, cut_off=20.0)

    assert short.cut_off == 20.0
    assert short.components(30.0) == tree.components(30.0)
    np.testing.assert_array_equal(
        short.halos(20.0, 40.0, 16.0)["mass"], tree.halos(20.0, 40.0, 16.0)["mass"], strict=True
    )
    with pytest.raises(sidestream.Error):
        short.components(10.0)


def test_thresholds_may_be_multiples_of_the_mean(field: np.ndarray, tree: sidestream.MergeTree) -> None:
    assert tree.components("5 mean") == tree.components(5 * field.mean())
    assert tree.halos("3 mean", "6 mean").sizes == tree.halos(3 * field.mean(), 6 * field.mean()).sizes


def test_without_a_box_lengths_are_in_cells(tree: sidestream.MergeTree) -> None:
    cells, box = tree.halos(20.0, 40.0), tree.halos(20.0, 40.0, box_size=8.0)

    np.testing.assert_allclose(cells["x"], 2 * box["x"])
    np.testing.assert_allclose(cells["mass"], 8 * box["mass"])


def test_simplified_leaves_out_what_hardly_persists(tree: sidestream.MergeTree) -> None:
    kept = tree.simplified(50.0)

    persistence = (tree.branches["birth"] - tree.branches["death"]).values
    assert kept.sizes["branch"] == int((persistence >= 50.0).sum()) < tree.branches.sizes["branch"]


def test_the_persistence_diagram_has_a_point_for_each_branch_that_ends(tree: sidestream.MergeTree) -> None:
    from matplotlib.figure import Figure

    axes = tree.persistence_diagram(Figure().add_subplot())

    assert len(axes.collections[0].get_offsets()) == 62
    assert axes.get_xscale() == "log"


@pytest.mark.parametrize("sets", ["above", "below"])
def test_a_saved_tree_answers_as_before(sets: str, field: np.ndarray, tmp_path: Path) -> None:
    tree = sidestream.merge_tree(field, connectivity=6, sets=sets, cut_off=1.0)

    tree.save(tmp_path / "tree.nc", box_size=8.0)
    again = sidestream.open_tree(tmp_path / "tree.nc")

    assert (again.connectivity, again.sets, again.cut_off, again.shape) == (6, sets, 1.0, (16, 16, 16))
    assert again.branches.identical(tree.branches)
    t_boundary, t_halo = (20.0, 40.0) if sets == "above" else (0.05, 0.02)
    assert again.halos(t_boundary, t_halo).identical(tree.halos(t_boundary, t_halo, box_size=8.0))
    multiple = "4 mean" if sets == "above" else "0.2 mean"
    assert again.components(multiple) == tree.components(multiple) > 0


def test_threads_do_not_change_the_tree(field: np.ndarray, tree: sidestream.MergeTree) -> None:
    assert sidestream.merge_tree(field, threads=3).branches.identical(tree.branches)


def test_a_field_of_one_value_is_one_branch() -> None:
    tree = sidestream.merge_tree(np.ones((4, 4, 4)))

    assert tree.branches.sizes["branch"] == 1
    assert tree.components(1.0) == 1
    assert tree.components(2.0) == 0
    assert tree.component_of(5, 2.0) is None


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"array": np.ones((8, 8))}, "2 dimensions"),
        ({"array": np.full((4, 4, 4), np.inf)}, ""),
        ({"connectivity": 18}, "connectivity 18"),
        ({"sets": "over"}, "no sets 'over'"),
        ({"threads": 0}, "`threads` is 0"),
        ({"cut_off": "many mean"}, "many"),
        ({"comm": "world"}, "not a communicator"),
        ({"origin": (0, 0, 0)}, "for blocks on several ranks"),
        ({"shape": (8, 8, 8)}, "for blocks on several ranks"),
    ],
)
def test_wrong_arguments_are_errors(arguments: dict, what: str) -> None:
    with pytest.raises(sidestream.Error) as caught:
        sidestream.merge_tree(**({"array": np.ones((4, 4, 4))} | arguments))

    assert what in str(caught.value)


@pytest.mark.parametrize("cell", [(1, 2), (16, 0, 0), (0, 0, -1), "here"])
def test_what_is_no_cell_is_an_error(cell: object, tree: sidestream.MergeTree) -> None:
    with pytest.raises(sidestream.Error, match="no cell"):
        tree.component_of(cell, 20.0)


@pytest.mark.parametrize("cell", [-1, 16**3])
def test_a_cell_outside_of_the_array_is_an_error(cell: int, tree: sidestream.MergeTree) -> None:
    with pytest.raises(sidestream.Error):
        tree.connected(cell, 0, 20.0)


def test_a_peak_below_the_boundary_is_an_error(tree: sidestream.MergeTree) -> None:
    with pytest.raises(sidestream.Error, match="t_halo"):
        tree.halos(40.0, 20.0)


def test_what_is_no_tree_cannot_be_opened(tmp_path: Path, finished_run: Path) -> None:
    (tmp_path / "tree.nc").write_bytes(b"not HDF5")

    for path in (tmp_path / "none.nc", tmp_path / "tree.nc", finished_run / "results" / "halos" / "000060.nc"):
        with pytest.raises(sidestream.Error):
            sidestream.open_tree(path)
