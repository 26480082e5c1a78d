"""Halos in space: points to turn, coloured by mass, in the edges of the periodic box."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..picture import FAINT, INK, MUTED, length_unit, moment
from ..scene import Scene

if TYPE_CHECKING:
    import xarray as xr

MOST_POINTS = 20_000  # of the heaviest halos: more are slow to turn
_PIXELS = (2.5, 26.0)  # diameters of the lightest and of the heaviest
_CAMERA = {"eye": {"x": 0.95, "y": -1.85, "z": 0.8}, "center": {"x": 0, "y": 0, "z": -0.1}}  # x runs to the right


def halo_scene(task: str, halos: xr.Dataset) -> Scene:
    """The halos of one step, with id, mass and place under the pointer."""
    from plotly import graph_objects

    count = halos.sizes["halo"]
    shown = halos.isel(halo=np.argsort(-np.asarray(halos["mass"]), kind="stable")[:MOST_POINTS])
    sides = _sides(halos)
    traces = [graph_objects.Scatter3d(**_points(shown))]
    if sides is not None:
        traces.append(graph_objects.Scatter3d(**_edges(sides)))
    plot = graph_objects.Figure(traces, graph_objects.Layout(**_layout(halos, sides), template="none"))
    which = f"The {MOST_POINTS} heaviest of {count} halos" if count > MOST_POINTS else f"{count} halos"
    caption = (
        f"{which} at {moment(halos)}, in the box that repeats itself. Drag to turn, scroll to come closer; the pointer "
        "shows id, mass and place."
    )
    return Scene(f"{task}-space", "The halos in space", caption, plot.to_json())


def _points(halos: xr.Dataset) -> dict[str, Any]:
    mass = np.asarray(halos["mass"], dtype=float)
    small, large = _PIXELS
    length, unit = length_unit(halos).strip(" []"), _typeset(str(halos["mass"].attrs.get("units", "")))
    marker = {
        "size": np.maximum(small, large * np.cbrt(mass / mass.max())).astype(np.float32),
        "color": np.log10(mass).astype(np.float32),
        "colorscale": "Plasma",
        "opacity": 0.8,
        "line": {"width": 0},
        "colorbar": {
            "title": {"text": "log<sub>10</sub> M" + (f" [{unit}]" if unit else "")},
            "thickness": 14,
            "len": 0.7,
        },
    }
    hover = (
        "halo %{text}<br>M = %{customdata:.3e} "
        f"{unit}<br>(%{{x:.3f}}, %{{y:.3f}}, %{{z:.3f}}) {length}<extra></extra>"
    )
    places = {axis: np.asarray(halos[axis], dtype=np.float32) for axis in "xyz"}
    ids = [str(number) for number in np.asarray(halos["id"])]
    return places | {"mode": "markers", "marker": marker, "text": ids, "customdata": mass, "hovertemplate": hover}


def _edges(sides: np.ndarray) -> dict[str, Any]:
    """The twelve edges of the box as one broken line."""
    corners = list(itertools.product((0, 1), repeat=3))
    pairs = [(a, b) for a in corners for b in corners if a < b and sum(np.abs(np.subtract(a, b))) == 1]
    line: dict[str, Any] = {"mode": "lines", "line": {"color": MUTED, "width": 2}, "hoverinfo": "skip"}
    for axis, name in enumerate("xyz"):
        line[name] = [x for a, b in pairs for x in (float(a[axis] * sides[axis]), float(b[axis] * sides[axis]), None)]
    return line


def _layout(halos: xr.Dataset, sides: np.ndarray | None) -> dict[str, Any]:
    look = {"showbackground": False, "gridcolor": FAINT, "zeroline": False, "showspikes": False}
    scene: dict[str, Any] = {"aspectmode": "data", "camera": _CAMERA}
    for index, axis in enumerate("xyz"):
        scene[f"{axis}axis"] = look | {"title": {"text": f"{axis}{length_unit(halos)}"}}
        if sides is not None:
            scene[f"{axis}axis"]["range"] = [0.0, float(sides[index])]
    return {
        "scene": scene,
        "showlegend": False,
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": INK},
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": FAINT, "activecolor": INK},
    }


def _sides(halos: xr.Dataset) -> np.ndarray | None:
    box = np.atleast_1d(np.asarray(halos.attrs.get("box_mpc", np.nan), dtype=float))
    return np.broadcast_to(box, 3) if np.isfinite(box).all() else None


def _typeset(unit: str) -> str:
    return unit.replace("Msun", "M<sub>☉</sub>")
