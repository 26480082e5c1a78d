"""Pictures of single lines of sight through the Lyman-alpha forest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ..picture import AMBER, BLUE, Picture, look, moment

if TYPE_CHECKING:
    from ...runs.run import Run

_ROWS = (  # variable, label, scale
    ("neutral_hydrogen", "H I\n[cm$^{-3}$]", "log"),
    ("singly_ionized_helium", "He II\n[cm$^{-3}$]", "log"),
    ("temperature", "temperature\n[K]", "log"),
    ("peculiar_velocity", "peculiar\nvelocity [km/s]", "linear"),
    ("flux", "flux", "linear"),
)


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The gas and the flux along one line at the last moment: that with the median mean flux."""
    table = run.result(task, -1)
    mean_flux = np.asarray(table["flux"].mean("pixel"))
    line = int(np.argsort(mean_flux)[len(mean_flux) // 2])
    rows = [row for row in _ROWS if row[0] in table]
    velocity, wavelength = np.asarray(table["velocity"]), np.asarray(table["wavelength"])
    with look():
        figure = Figure(figsize=(9.6, 1.6 * len(rows)))
        panels = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, label, scale) in zip(panels, rows, strict=True):
            axes.plot(velocity, table[name][line], color=BLUE, lw=1.2, drawstyle="steps-mid")
            axes.set(yscale=scale, ylabel=label)
        if "mock_flux" in table:
            mock = (table["mock_velocity"], table["mock_flux"][line])
            panels[-1].plot(*mock, color=AMBER, lw=1.0, drawstyle="steps-mid", label="as a spectrograph sees it")
            panels[-1].legend()
        panels[-1].set(
            xlim=(velocity[0], velocity[-1]), ylim=(-0.05, 1.05), xlabel="velocity by the Hubble flow [km/s]"
        )
        panels[0].set_title(f"{moment(table)}, line {line} along {table.attrs.get('axis', '?')}")
        figure.align_ylabels(panels)
    caption = (
        f"Cells of gas along one of the {len(mean_flux)} lines, that with the median mean flux, and the flux in "
        f"{table.attrs.get('ion', 'H I')} (not rescaled), seen from {wavelength[0]:.1f} to {wavelength[-1]:.1f} Å."
    )
    yield Picture(f"{task}-line", "A line of sight", caption, figure, wide=True)
