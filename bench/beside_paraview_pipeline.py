"""The pipeline that bench/beside_paraview.py gives to Catalyst: the job that BESIDE_JOB names, results in BESIDE_OUT.

ParaView runs it in the process of the program, whose block of cells arrives as the source `input`.
"""

import os
from pathlib import Path

import numpy as np
from paraview import catalyst, servermanager
from paraview import simple as pv
from vtkmodules.util.numpy_support import vtk_to_numpy

JOB, OUT = os.environ["BESIDE_JOB"], Path(os.environ["BESIDE_OUT"])
LOW, HIGH = (float(word) for word in os.environ["BESIDE_LIMITS"].split())
CELLS, BINS = (int(os.environ[name]) for name in ("BESIDE_CELLS", "BESIDE_BINS"))

options = catalyst.Options()
block = pv.TrivialProducer(registrationName="input")


def histogram_of(source, name, low, high):
    """Cells in bins of equal width."""
    counted = pv.Histogram(Input=source, SelectInputArray=["CELLS", name], BinCount=BINS)
    counted.UseCustomBinRanges, counted.CustomBinRanges = 1, [low, high]
    return counted


def logarithm_of(source):
    """Its logarithm to base 10, as a field of its own."""
    return pv.Calculator(Input=source, AttributeType="Cell Data", ResultArrayName="log", Function="log10(height)")


def picture_of(source):
    """A view of the middle plane with a pixel a cell."""
    middle = pv.Slice(Input=source)
    middle.SliceType.Origin, middle.SliceType.Normal = [CELLS / 2, CELLS / 2, CELLS // 2 + 0.5], [0, 0, 1]
    view = pv.CreateView("RenderView", ViewSize=[CELLS, CELLS], OrientationAxesVisibility=0, CameraParallelProjection=1)
    view.CameraPosition, view.CameraFocalPoint = [CELLS / 2, CELLS / 2, 3 * CELLS], [CELLS / 2, CELLS / 2, 0]
    view.CameraParallelScale, view.UseFXAA = CELLS / 2, 0  # cells as they are, without smoothed edges
    shown = pv.Show(middle, view)
    pv.ColorBy(shown, ("CELLS", "height"))
    shown.SetScalarBarVisibility(view, False)
    shown.Ambient, shown.Diffuse = 1.0, 0.0  # colours as they are, without light
    colours = pv.GetColorTransferFunction("height")
    colours.ApplyPreset("Viridis (matplotlib)", True)
    colours.RescaleTransferFunction(LOW, HIGH)
    return view


class Pipeline:
    """Built at the first moment, when the source knows its fields."""

    def __init__(self):
        self.view = picture_of(block) if JOB == "picture" else None
        self.counted = {
            "pdf": lambda: histogram_of(logarithm_of(block), "log", np.log10(LOW), np.log10(HIGH)),
            "histogram": lambda: histogram_of(block, "height", LOW, HIGH),
        }.get(JOB, lambda: None)()
        self.total = pv.IntegrateVariables(Input=block) if JOB == "sums" else None

    def execute(self, time):
        """One moment."""
        if self.view:
            self.view.ViewTime = time
            pv.SaveScreenshot(str(OUT / "picture.png"), self.view, ImageResolution=[CELLS, CELLS])
        if self.counted:
            table = servermanager.Fetch(self.counted)
            np.savez(OUT / "numbers.npz", counts=vtk_to_numpy(table.GetRowData().GetArray("bin_values")))
        if self.total:
            table = servermanager.Fetch(self.total)
            least, most = block.CellData["height"].GetRange()
            total = vtk_to_numpy(table.GetCellData().GetArray("height"))[0]
            np.savez(OUT / "numbers.npz", total=total, least=least, most=most)


pipeline = None


def catalyst_execute(info):
    """What Catalyst calls at each moment."""
    global pipeline
    block.UpdatePipeline()
    pipeline = pipeline or Pipeline()
    pipeline.execute(info.time)
