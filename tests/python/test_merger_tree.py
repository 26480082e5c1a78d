"""Merger trees of runs: the table of links, walks along them, pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import sidestream
import synthetic
import synthetic_mergers
from sidestream.figures.halos.mergers import Branch, branches_of, lay_out, pictures
from sidestream.runs.mergers import MergerTree
from synthetic_mergers import LINKS, TASK


@pytest.fixture(scope="module")
def linked_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_mergers.write_linked_run(tmp_path_factory.mktemp("linked") / "run")


@pytest.fixture(scope="module")
def tree(linked_run: Path) -> MergerTree:
    return sidestream.open(linked_run).merger_tree(TASK)


def test_the_links_of_all_steps_are_one_table_with_both_ends_in_time_and_mass(tree: MergerTree) -> None:
    links = tree.links

    assert links.sizes == {"link": sum(map(len, LINKS.values()))}
    assert links["step"].values.tolist() == [20] * 4 + [30] * 3 + [40] * 4
    np.testing.assert_array_equal(links["progenitor_step"], links["step"] - 10)
    assert links["progenitor"].values[:4].tolist() == [1, 2, 3, 2]
    assert links["progenitor_mass"].values[4:7].tolist() == [12e12, 5e12, 2.5e12]
    assert links["descendant_mass"].values[4:7].tolist() == [18e12, 18e12, 3e12]
    np.testing.assert_array_equal(links["redshift"][:4], synthetic.redshift_of(20))
    np.testing.assert_array_equal(links["progenitor_redshift"][:4], synthetic.redshift_of(10))
    assert links["shared_mass"].attrs["units"] == "Msun"
    assert links["is_main_descendant"].dtype == np.int64
    assert "step" not in links.attrs


def test_the_main_branch_is_the_history_of_a_halo(tree: MergerTree) -> None:
    branch = tree.main_branch(31)

    assert branch["id"].values.tolist() == [31, 21, 11, 1]
    assert branch["mass"].values.tolist() == [22e12, 18e12, 12e12, 10e12]
    assert branch["step"].values.tolist() == [40, 30, 20, 10]
    assert tree.main_branch(12, step=20)["id"].values.tolist() == [12, 2]


def test_a_halo_that_split_off_begins_there(tree: MergerTree) -> None:
    assert tree.main_branch(34)["id"].values.tolist() == [34]
    assert tree.progenitors(34)["progenitor"].values.tolist() == [21]


def test_mergers_are_counted_along_the_main_branch_by_their_mass_ratio(tree: MergerTree) -> None:
    mergers = tree.mergers(31)

    assert mergers["progenitor"].values.tolist() == [23, 12]
    np.testing.assert_allclose(mergers["mass_ratio"], [3 / 18, 5 / 12])
    assert tree.mergers(31, ratio=0.25)["progenitor"].values.tolist() == [12]
    assert tree.mergers(35).sizes["link"] == 0


def test_progenitors_come_main_first_and_descendants_are_the_main_ones(tree: MergerTree) -> None:
    assert tree.progenitors(11, step=20)["progenitor"].values.tolist() == [1, 2]
    assert tree.descendant(2, step=10) == (12, 20)
    assert tree.descendant(21, step=30) == (31, 40)
    assert tree.descendant(4, step=10) is None
    assert tree.descendant(31, step=40) is None


def test_the_heaviest_halos_are_those_of_the_last_step(tree: MergerTree) -> None:
    assert tree.heaviest() == [31]
    assert tree.heaviest(9) == [31, 34, 35]
    assert tree.heaviest(2, step=10) == [1, 2]


def test_a_halo_that_is_not_there_is_an_error_that_names_it(tree: MergerTree) -> None:
    with pytest.raises(sidestream.Error, match="no halo 21 at step 40") as caught:
        tree.main_branch(21)

    assert caught.value.hint


def test_results_over_all_steps_leave_members_and_links_out(linked_run: Path) -> None:
    halos = sidestream.open(linked_run)[TASK]

    assert halos.sizes == {"halo": 13}
    assert "member_particle" in sidestream.open(linked_run).result(TASK, 20).dims


def test_a_branch_ends_where_the_result_before_has_been_removed(tmp_path: Path) -> None:
    folder = synthetic_mergers.write_linked_run(tmp_path / "run")
    (folder / "results" / TASK / "000020.nc").unlink()

    tree = sidestream.open(folder).merger_tree(TASK)

    assert tree.main_branch(31)["id"].values.tolist() == [31, 21]
    assert np.isnan(tree.links["progenitor_mass"][0])


def test_a_task_that_does_not_link_is_an_error_with_the_way_out(linked_run: Path) -> None:
    run = sidestream.open(linked_run)

    assert run.has_links(TASK)
    assert not run.has_links("halos")
    with pytest.raises(sidestream.Error, match="not linked") as caught:
        run.merger_tree("halos")
    assert "link = true" in caught.value.hint


def test_the_table_is_written_as_one_file_that_reads_back(linked_run: Path, tmp_path: Path, tree: MergerTree) -> None:
    run = sidestream.open(linked_run)

    path = run.merger_tree(TASK).save(tmp_path / "mergers.nc")

    with xr.open_dataset(path, engine="h5netcdf") as stored:
        xr.testing.assert_identical(stored.load(), tree.links)
    assert [path.name for path in tmp_path.iterdir()] == ["mergers.nc"]
    with pytest.raises(sidestream.Error, match="cannot be written"):
        run.merger_tree(TASK).save(tmp_path / "not" / "there.nc")


def test_branches_of_the_diagram_do_not_cross(tree: MergerTree) -> None:
    trunk = branches_of(tree, 31, -1, 0.0)
    lay_out(trunk)

    places = [branch.place for branch in trunk.all()]
    assert len(set(places)) == 3
    assert [branch.rows["id"].values.tolist() for branch in trunk.joined] == [[23, 13, 3], [12, 2]]
    assert len(list(branches_of(tree, 31, -1, 4e12).all())) == 2


def test_inner_branches_merge_earlier_than_those_around_them() -> None:
    nothing = xr.Dataset()
    joined = [Branch(nothing, float(merges_at), joined=[Branch(nothing, 9.0)]) for merges_at in range(6)]
    trunk = Branch(nothing, None, joined=joined)

    lay_out(trunk)

    places = [branch.place for branch in trunk.all()]
    assert len(set(places)) == len(places) == 13
    for side in (1, -1):
        outwards = sorted((b for b in joined if side * b.place > 0), key=lambda b: abs(b.place))
        assert [b.merges_at for b in outwards] == sorted((b.merges_at for b in outwards), reverse=True)
    assert abs(max(places) + min(places)) <= 2


def test_linked_halos_have_two_more_pictures(linked_run: Path) -> None:
    drawn = list(pictures(sidestream.open(linked_run), TASK))

    assert [picture.name for picture in drawn] == ["linked-mass-growth", "linked-merger-tree"]
    for picture in drawn:
        assert picture.data_uri().startswith("data:image/svg+xml")
        for axes in picture.figure.axes:
            assert axes.get_xlabel()
            assert axes.get_ylabel()
    assert not list(pictures(sidestream.open(linked_run), "halos"))


def test_the_end_of_a_run_writes_the_tables_of_tasks_that_link(linked_run: Path, capsys: pytest.CaptureFixture) -> None:
    from sidestream.launch.simulation import _write_merger_tables, summarise

    run = sidestream.open(linked_run)

    written = _write_merger_tables(run)
    summarise(run, None, written)

    assert written == [linked_run / "mergers.linked.nc"]
    assert "merger tree       " in capsys.readouterr().out
