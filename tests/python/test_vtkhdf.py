"""VTKHDF files, opened with VTK's reader and compared with the state that was written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sample_file as sample


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write("vtkhdf", tmp_path_factory.mktemp("vtkhdf") / "plt00007.vtkhdf", "plotfile", ranks=3)


@pytest.fixture
def mesh(path: Path):
    vtk = pytest.importorskip("vtk")
    reader = vtk.vtkHDFReader()
    assert reader.CanReadFile(str(path))
    reader.SetFileName(str(path))
    reader.SetMaximumLevelsToReadByDefaultForAMR(0)
    reader.Update()
    return reader.GetOutputDataObject(0)


def test_vtk_sees_overlapping_boxes_on_all_levels(mesh) -> None:
    assert mesh.GetClassName() == "vtkOverlappingAMR"
    assert [mesh.GetNumberOfBlocks(level) for level in range(mesh.GetNumberOfLevels())] == list(sample.LEVEL_BLOCKS)


def test_vtk_sees_every_value_at_its_place(mesh) -> None:
    from vtk.util.numpy_support import vtk_to_numpy

    for level in range(3):
        size = sample.SIDE_MPC / (sample.CELLS << level)
        for block, position in enumerate(sample.blocks(level)):
            grid = mesh.GetDataSetAsImageData(level, block)
            np.testing.assert_allclose(grid.GetSpacing(), size)
            np.testing.assert_allclose(grid.GetOrigin(), np.array(position) * sample.BLOCK * size)
            axes = [grid.GetOrigin()[a] + size * (np.arange(sample.BLOCK) + 0.5) for a in range(3)]
            z, y, x = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
            for name in sample.FIELDS:
                array = grid.GetCellData().GetArray(name)
                assert array.GetDataTypeAsString() == "float"
                found = vtk_to_numpy(array).reshape(x.shape)
                np.testing.assert_allclose(found, sample.value(name, x, y, z), rtol=1e-6, atol=1e-4)


def test_refined_cells_are_hidden(mesh) -> None:
    from vtk.util.numpy_support import vtk_to_numpy

    for level in range(3):
        hidden = 0
        for block in range(mesh.GetNumberOfBlocks(level)):
            ghosts = mesh.GetDataSetAsImageData(level, block).GetCellData().GetArray("vtkGhostType")
            hidden += 0 if ghosts is None else int((vtk_to_numpy(ghosts) != 0).sum())
        assert hidden == (sample.LEVEL_BLOCKS[level] - sample.LEAVES[level]) * sample.BLOCK**3


def test_the_layout_is_that_of_the_specification(path: Path) -> None:
    h5py = pytest.importorskip("h5py")

    with h5py.File(path) as file:
        root = file["VTKHDF"]
        assert root.attrs["Type"] == b"OverlappingAMR"
        assert list(root.attrs["Version"]) == [2, 2]
        assert root["Level1/AMRBox"].shape == (sample.LEVEL_BLOCKS[1], 6)
        assert root["Level1/CellData/density"].shape == (sample.LEVEL_BLOCKS[1] * sample.BLOCK**3,)
        assert "metadata" in file["sidestream"]
