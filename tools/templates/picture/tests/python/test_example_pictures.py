"""Pictures of the analysis `example`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from sidestream.figures import pictures, save_pictures
from sidestream.runs.run import Run

CONFIG = 'simulation = "sod"\n[task.some]\nanalysis = "example"\nevery = 1\n'


def test_every_column_has_a_picture_of_all_steps(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "results" / "some").mkdir(parents=True)
    (folder / "config.toml").write_text(CONFIG)
    (folder / "events.jsonl").write_text('{"t": 0.0, "event": "run_start"}\n')
    for step in (1, 2, 3):
        table = xr.Dataset({"cells": ("level", np.array([step, 2 * step]), {"units": "1"})}, attrs={"step": step})
        table.to_netcdf(folder / "results" / "some" / f"{step:05d}.nc", engine="h5netcdf")
    run = Run(folder)

    (picture,) = pictures(run, "some")

    (line,) = picture.figure.axes[0].lines
    assert list(line.get_xdata()) == [1, 2, 3]
    assert list(line.get_ydata()) == [2, 4, 6]
    assert [path.name for path in save_pictures(run, tmp_path / "png", "some")] == ["some-cells.png"]
