"""Pictures of the analysis `flux`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from sidestream.figures import pictures, save_pictures
from sidestream.runs.run import Run

CONFIG = 'simulation = "cosmology"\n[task.forest]\nanalysis = "flux"\nevery = 1\n'
AXES, BINS, MODES = 3, 10, 8


def forest(step: int, redshift: float) -> xr.Dataset:
    """Axis 2 is shorter: its last modes are zeros."""
    k = np.tile(0.01 * np.arange(1, MODES + 1), (AXES, 1))
    k[2, 5:] = 0.0
    columns = {
        "mean_flux": ("axis", np.array([0.6, 0.7, 0.8])),
        "flux": ("flux_bin", (np.arange(BINS) + 0.5) / BINS),
        "flux_pdf": (("axis", "flux_bin"), np.ones((AXES, BINS)) * [[0.5], [1.0], [1.5]]),
        "k_velocity": (("axis", "mode"), k),
        "dimensionless_power": (("axis", "mode"), 2.0 * k),
    }
    attributes = {"step": step, "redshift": redshift, "analysis": "flux", "ion": "He II"}
    return xr.Dataset({name: (*column, {"units": "1"}) for name, column in columns.items()}, attrs=attributes)


def test_pdf_and_power_of_each_moment_are_shown(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "results" / "forest").mkdir(parents=True)
    (folder / "config.toml").write_text(CONFIG)
    (folder / "events.jsonl").write_text('{"t": 0.0, "event": "run_start"}\n')
    for step, redshift in ((1, 4.0), (2, 3.0)):
        forest(step, redshift).to_netcdf(folder / "results" / "forest" / f"{step:05d}.nc", engine="h5netcdf")
    run = Run(folder)

    (picture,) = pictures(run, "forest")

    pdf, power = picture.figure.axes
    assert len(pdf.lines) == 2
    assert np.allclose(pdf.lines[0].get_ydata(), 1.0)
    assert "mean 0.700" in pdf.get_legend().get_texts()[0].get_text()
    assert [len(line.get_xdata()) for line in power.lines] == [8, 8, 5, 8, 8, 5]
    assert np.allclose(power.lines[0].get_ydata(), 2.0 * np.asarray(power.lines[0].get_xdata()))
    assert "He II" in picture.caption
    assert [path.name for path in save_pictures(run, tmp_path / "png", "forest")] == ["forest-flux.png"]
