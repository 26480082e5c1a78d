"""Fields and surfaces as VTK has them, for pipelines of VTK in tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..error import Error


def library() -> Any:
    """The package vtk."""
    try:
        return import_module("vtk")
    except ImportError as problem:
        raise Error(f"vtk cannot be loaded ({problem})", hint="pip install vtk") from problem


def image_of(fields: Mapping[str, NDArray[np.float64]], first: int, sizes: Sequence[float]) -> Any:
    """Arrays `[z, y, x]` as a vtkImageData whose points are the centres of cells, from plane `first` on.

    Args:
        fields: of one shape; their memory is used as it is.
        first: the number of their first plane.
        sizes: x, y, z of a cell.
    """
    vtk = library()
    arrays: Any = import_module("vtkmodules.util.numpy_support")
    image = vtk.vtkImageData()
    image.SetSpacing(*sizes)
    image.SetOrigin(*(0.5 * size for size in sizes))
    for name, values in fields.items():
        depth, height, width = values.shape
        image.SetExtent(0, width - 1, 0, height - 1, first, first + depth - 1)
        array = arrays.numpy_to_vtk(np.ravel(values))
        array.SetName(name)
        image.GetPointData().AddArray(array)
        if image.GetPointData().GetScalars() is None:
            image.GetPointData().SetScalars(array)
    return image


def packed(surface: Any) -> bytes:
    """A vtkPolyData as the bytes of a file."""
    writer = library().vtkXMLPolyDataWriter()
    writer.SetInputData(surface)
    writer.WriteToOutputStringOn()
    writer.SetDataModeToBinary()
    writer.Write()
    text: str = writer.GetOutputString()
    return text.encode()


def joined(surfaces: Sequence[bytes]) -> Any:
    """One vtkPolyData of all that were packed."""
    vtk = library()
    append = vtk.vtkAppendPolyData()
    for surface in surfaces:
        reader = vtk.vtkXMLPolyDataReader()
        reader.ReadFromInputStringOn()
        reader.SetInputString(surface.decode())
        reader.Update()
        append.AddInputData(reader.GetOutput())
    append.Update()
    return append.GetOutput()


def picture_of(window: Any) -> bytes:
    """A vtkRenderWindow as the bytes of a PNG."""
    vtk = library()
    window.SetOffScreenRendering(1)
    window.Render()
    pixels = vtk.vtkWindowToImageFilter()
    pixels.SetInput(window)
    pixels.ReadFrontBufferOff()
    writer = vtk.vtkPNGWriter()
    writer.SetInputConnection(pixels.GetOutputPort())
    writer.WriteToMemoryOn()
    writer.Write()
    return bytes(memoryview(writer.GetResult()))


def is_vtk(thing: Any, kind: str) -> bool:
    """Whether it is a `kind` of VTK."""
    return hasattr(thing, "IsA") and bool(thing.IsA(kind))
