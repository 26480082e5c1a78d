"""Merger trees: which halo or region became which, over all steps of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..error import Error
from .results import load_attributes, load_result, rows_of
from .writing import as_netcdf, write_at_once

if TYPE_CHECKING:
    import xarray as xr

LINK = "link"  # the dimension of links, in results and here
# What is linked, by the dimension of its rows: how large one is, and the unit of a ratio of two.
_SIZES = {"halo": "mass", "region": "volume"}


class MergerTree:
    """The links between the halos or regions of successive results of a task, and walks along them.

    A halo is named by its `id` and its step, of which -1 is the last one that has halos. The id is that of its densest
    cell, so it changes from step to step. Of regions the same is said with their volumes in the place of masses.

    Attributes:
        links: One row for each pair of halos of two steps that share cells or particles, over `link`: the ids
            `progenitor` and `descendant`, their steps `progenitor_step` and `step`, redshifts `progenitor_redshift` and
            `redshift`, and masses `progenitor_mass` and `descendant_mass` [Msun]; what they share, `shared_volume`
            [Mpc^3], `shared_mass` [Msun] (not for halos that are sets of particles) and `shared_particles` (of regions
            `shared_volume` alone); and
            `is_main_progenitor` and `is_main_descendant`, 1 for the one of all progenitors (descendants) that shares
            most.
        halos: The halos of all steps, over `halo` (or regions, over `region`), as `run[task]` gives them.

    Example:
        >>> tree = sidestream.open("runs/demo").merger_tree("halos")
        >>> (heaviest,) = tree.heaviest()
        >>> history = tree.main_branch(heaviest)
        >>> history["redshift"], history["mass"]
        >>> tree.mergers(heaviest, ratio=0.25).sizes["link"]  # the number of major mergers
    """

    def __init__(self, links: xr.Dataset, halos: xr.Dataset) -> None:
        self.links = links
        self.halos = halos
        self._noun = rows_of(halos) or "halo"
        self._size = _SIZES[self._noun]
        self._columns: dict[str, list[Any]] = {str(name): links[name].values.tolist() for name in links.variables}
        self._row_of = {place: row for row, place in enumerate(_places(halos["step"], halos["id"]))}
        self._links_to: dict[tuple[int, int], list[int]] = {}
        for row in self._by_share():
            self._links_to.setdefault(self._place("step", "descendant", row), []).append(row)
        self._link_from = {
            self._place("progenitor_step", "progenitor", row): row
            for row, is_main in enumerate(self._columns["is_main_descendant"])
            if is_main
        }

    def __repr__(self) -> str:
        steps = np.unique(np.asarray(self.halos["step"])).size
        count, noun = self.halos.sizes[self._noun], self._noun
        return f"<sidestream.MergerTree, {self.links.sizes[LINK]} links, {count} {noun}s, {steps} steps>"

    def heaviest(self, count: int = 1, step: int = -1) -> list[int]:
        """The ids of the `count` heaviest halos (largest regions) of a step, heaviest first."""
        mass, ids = np.asarray(self.halos[self._size]), np.asarray(self.halos["id"])
        rows = np.flatnonzero(np.asarray(self.halos["step"]) == self._step(step))
        return [int(ids[row]) for row in sorted(rows, key=lambda row: (-mass[row], ids[row]))[:count]]

    def main_branch(self, halo: int, step: int = -1) -> xr.Dataset:
        """The halo and its main progenitors, newest first: their rows of the catalogues, over `halo`.

        The branch begins with a halo that has no progenitor, or that split off from one which mainly became another.
        """
        branch: xr.Dataset = self.halos.isel(
            {self._noun: [self._row_of[place] for place in self._walk_back(halo, step)]}
        )
        return branch

    def progenitors(self, halo: int, step: int = -1) -> xr.Dataset:
        """The links to what a halo came from: the main progenitor first, then by what they share."""
        found: xr.Dataset = self.links.isel({LINK: self._links_to.get(self._named(halo, step), [])})
        return found

    def descendant(self, halo: int, step: int) -> tuple[int, int] | None:
        """The id and the step of what a halo mainly became; None if it vanished or the step is the last."""
        row = self._link_from.get(self._named(halo, step))
        return None if row is None else (self._columns["descendant"][row], self._columns["step"][row])

    def mergers(self, halo: int, step: int = -1, ratio: float = 0.0) -> xr.Dataset:
        """The links by which other halos merged into the main branch of a halo, newest first.

        These come from halos that mainly became the branch without being its main progenitor.

        Args:
            halo: The id.
            step: The step that the id belongs to.
            ratio: Least mass of what merged, in masses of the main progenitor: 0.25 for major mergers.

        Returns:
            Rows of `links` with one more column, `mass_ratio` (`volume_ratio`). Their number is that of the mergers.
        """
        rows, ratios = [], []
        mass = self._columns[f"progenitor_{self._size}"]
        for place in self._walk_back(halo, step):
            links = self._links_to.get(place, [])
            for row in links[1:]:
                if self._columns["is_main_descendant"][row] and mass[row] >= ratio * mass[links[0]]:
                    rows.append(row)
                    ratios.append(mass[row] / mass[links[0]])
        about = {"units": "1", "long_name": f"{self._size} of the progenitor over that of the main one"}
        found: xr.Dataset = self.links.isel({LINK: rows})
        found[f"{self._size}_ratio"] = (LINK, np.array(ratios, dtype=float), about)
        return found

    def save(self, path: str | Path) -> Path:
        """Writes `links` as one netCDF file, at once, and returns its path."""
        path = Path(path)
        content = as_netcdf(self.links)
        try:
            write_at_once(path, content)
        except OSError as problem:
            raise Error(
                f"the table of links cannot be written: {problem.strerror or problem}",
                path,
                hint="make room, or give yourself the right to write there: chmod u+w FOLDER",
            ) from problem
        return path

    def _walk_back(self, halo: int, step: int) -> Iterator[tuple[int, int]]:
        place: tuple[int, int] | None = self._named(halo, step)
        while place is not None:
            yield place
            links = self._links_to.get(place, [])
            goes_on = bool(links) and self._columns["is_main_descendant"][links[0]]
            place = self._place("progenitor_step", "progenitor", links[0]) if goes_on else None
            place = place if place in self._row_of else None  # its result has been removed

    def _by_share(self) -> list[int]:
        """All links, for each descendant the main progenitor first, then those that share more."""
        shared = self._columns.get("shared_particles") or self._columns.get("shared_volume", [])
        mass = self._columns.get("shared_mass", shared)
        main = self._columns["is_main_progenitor"]
        return sorted(range(len(main)), key=lambda row: (-main[row], -shared[row], -mass[row], row))

    def _place(self, step: str, halo: str, row: int) -> tuple[int, int]:
        return self._columns[step][row], self._columns[halo][row]

    def _named(self, halo: int, step: int) -> tuple[int, int]:
        place = (self._step(step), int(halo))
        if place not in self._row_of:
            what, hint = (
                f"there is no {self._noun} {halo} at step {place[0]}",
                f"ids of {self._noun}s change from step to step",
            )
            raise Error(what, hint=hint)
        return place

    def _step(self, step: int) -> int:
        if step != -1:
            return step
        if not self._row_of:
            raise Error(
                f"there are no {self._noun}s at any step", hint="lower the thresholds of the task, and run again"
            )
        return int(self.halos["step"].max())


def read_merger_tree(results: Mapping[int, Path], halos: xr.Dataset) -> MergerTree | None:
    """The tree of a task from its results, a file a step, and its `halos` of all steps; None if no result has links."""
    about = {step: load_attributes(path) for step, path in results.items()}
    linked = [step for step in results if are_linked(about[step])]
    if not linked:
        return None
    tables = [_with_moments(load_result(results[step], LINK), step, about) for step in linked]
    return MergerTree(_with_sizes(_joined(tables), halos), halos)


def are_linked(attributes: Mapping[str, Any]) -> bool:
    """Whether a result with these attributes links its halos or regions."""
    return "member_step" in attributes


def table_path(folder: Path, task: str) -> Path:
    """Where the links of a task are written at the end of a run, in its folder."""
    return folder / f"mergers.{task}.nc"


def _with_moments(links: xr.Dataset, step: int, about: dict[int, dict[str, Any]]) -> xr.Dataset:
    """The links of one step with both ends in time; `about` are the attributes of the results of all steps."""
    before = int(about[step].get("progenitor_step", -1))
    moments: dict[str, tuple[int | float, str]] = {
        "step": (step, "step of the descendant"),
        "progenitor_step": (before, "step of the progenitor"),
    }
    if "redshift" in about[step]:
        moments["redshift"] = (float(about[step]["redshift"]), "redshift of the descendant")
        earlier = float(about.get(before, {}).get("redshift", np.nan))
        moments["progenitor_redshift"] = (earlier, "redshift of the progenitor")
    elif "time" in about[step]:
        moments["time"] = (float(about[step]["time"]), "time of the descendant")
        moments["progenitor_time"] = (float(about.get(before, {}).get("time", np.nan)), "time of the progenitor")
    timed: xr.Dataset = links.assign(
        {
            name: (LINK, np.full(links.sizes[LINK], value), {"units": "1", "long_name": text})
            for name, (value, text) in moments.items()
        }
    )
    return timed


def _joined(tables: Sequence[xr.Dataset]) -> xr.Dataset:
    import xarray as xr

    joined: xr.Dataset = xr.concat(tables, dim=LINK, combine_attrs="drop_conflicts")
    kept = (
        "task",
        "box_mpc",
        "hubble",
        "omega_m",
        "field",
        "t_boundary",
        "t_halo",
        "linking_length",
        "condition",
        "extreme",
    )
    joined.attrs = {name: value for name, value in joined.attrs.items() if name in kept}
    return joined


def _with_sizes(links: xr.Dataset, halos: xr.Dataset) -> xr.Dataset:
    """The links with the masses, of regions the volumes, of both ends."""
    size = _SIZES[rows_of(halos) or "halo"]
    sizes = dict(zip(_places(halos["step"], halos["id"]), halos[size].values.tolist(), strict=True))
    unit = str(halos[size].attrs.get("units", "1"))
    added = {}
    for end, step in (("progenitor", "progenitor_step"), ("descendant", "step")):
        values = np.array([sizes.get(place, np.nan) for place in _places(links[step], links[end])], dtype=float)
        added[f"{end}_{size}"] = (LINK, values, {"units": unit, "long_name": f"{size} of the {end} at its own step"})
    weighed: xr.Dataset = links.assign(added)
    return weighed


def _places(steps: xr.DataArray, ids: xr.DataArray) -> list[tuple[int, int]]:
    return list(zip(steps.values.tolist(), ids.values.tolist(), strict=True))
