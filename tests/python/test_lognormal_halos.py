"""The lognormal field on which other halo finders were run: the answer that they gave."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import sidestream

BENCH = Path(__file__).parents[2] / "bench" / "lognormal_field.py"


@pytest.fixture(scope="module")
def field() -> np.ndarray:
    """128^3 cells, in means."""
    spec = importlib.util.spec_from_file_location("lognormal_field", BENCH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.lognormal_field(128)


@pytest.mark.parametrize(("connectivity", "halos", "mass"), [(14, 77, 286232), (6, 77, 284321)])
def test_halos_are_those_of_other_finders(field: np.ndarray, connectivity: int, halos: int, mass: int) -> None:
    found = sidestream.halos(field, 128.0, "82 mean", "200 mean", connectivity=connectivity)

    assert found.sizes["halo"] == halos
    assert round(float(found["mass"].sum())) == mass
    if connectivity == 14:
        assert int(found["cells"].sum()) == 1488


def test_one_tree_answers_like_two_catalogues(field: np.ndarray) -> None:
    mean = float(field.astype(np.float64).mean())

    tree = sidestream.merge_tree(field)

    assert tree.components(82 * mean, 200 * mean) == 77
    for t_boundary, t_halo in ((82, 200), (40, 60)):
        queried = tree.halos(t_boundary * mean, t_halo * mean, box_size=128.0)
        found = sidestream.halos(field, 128.0, t_boundary * mean, t_halo * mean)
        assert queried["id"].values.tolist() == found["id"].values.tolist()
        assert queried["mass"].values.tolist() == found["mass"].values.tolist()
