"""Pictures of merger trees: how the heaviest halos grew, and what the heaviest one is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ...runs.mergers import MergerTree
from ..picture import AMBER, BLUE, FAINT, GREY, RED, TEAL, VIOLET, Picture, look, unit_label

if TYPE_CHECKING:
    import xarray as xr

    from ...runs.run import Run

MAIN = VIOLET
OTHERS = (TEAL, AMBER, BLUE, RED, GREY)  # the next heaviest
LEAST_SHARE = 0.01  # of the final mass: lighter branches are left out of the diagram
MOST_BRANCHES = 60


def pictures(run: Run, task: str) -> Iterator[Picture]:
    """The growth of the heaviest halos and the tree of the heaviest; nothing for a task that does not link."""
    if not run.has_links(task):
        return
    tree = run.merger_tree(task)
    if tree.links.sizes["link"] and "mass" in tree.halos:
        yield _growth(task, tree)
        yield _diagram(task, tree)


def _growth(task: str, tree: MergerTree) -> Picture:
    with look():
        figure = Figure(figsize=(6.4, 4.6))
        axes = figure.add_subplot(yscale="log")
        for rank, (halo, colour) in enumerate(zip(tree.heaviest(1 + len(OTHERS)), (MAIN, *OTHERS), strict=False)):
            branch = tree.main_branch(halo)
            label = "the heaviest halo" if rank == 0 else f"_halo {halo}"
            width, order = (2.4, 3) if rank == 0 else (1.4, 2)
            axes.plot(_times(branch), branch["mass"], "o-", color=colour, ms=4, lw=width, zorder=order, label=label)
        _time_axis(axes, tree.halos)
        axes.set_ylabel(f"mass $M${unit_label(tree.halos, 'mass')}")
        axes.set_title("Growth of the heaviest halos")
        axes.legend()
    caption = (
        f"Masses of the {1 + len(OTHERS)} heaviest halos of the last step and of their main progenitors; time runs to "
        "the right. A line begins where a halo is first found, or where it split off from another."
    )
    return Picture(f"{task}-mass-growth", "Growth of the heaviest halos", caption, figure)


@dataclass
class Branch:
    """A halo and its main progenitors, and the branches that merged into it."""

    rows: xr.Dataset  # of the catalogues, newest first
    merges_at: float | None  # when; None for the trunk
    place: float = 0.0  # across the diagram
    joined: list[Branch] = field(default_factory=list)  # newest first

    def all(self) -> Iterator[Branch]:
        """This branch and all that merged into it, directly or not."""
        yield self
        for branch in self.joined:
            yield from branch.all()


def branches_of(tree: MergerTree, halo: int, step: int, least_mass: float) -> Branch:
    """The tree of a halo as branches, those that reach `least_mass` at their end."""
    return _branch(tree, halo, step, None, least_mass)


def _branch(tree: MergerTree, halo: int, step: int, merges_at: float | None, least_mass: float) -> Branch:
    rows = tree.main_branch(halo, step)
    merged = tree.mergers(halo, step)
    found = Branch(rows, merges_at)
    when = merged["redshift" if "redshift" in merged else "step"].values
    for row in np.flatnonzero(merged["progenitor_mass"].values >= least_mass):
        end = int(merged["progenitor"][row]), int(merged["progenitor_step"][row])
        found.joined.append(_branch(tree, *end, float(when[row]), least_mass))
    return found


def lay_out(trunk: Branch) -> None:
    """Gives each branch its place so that no two cross: what merges later lies further out, on the lighter side."""
    trunk.place = 0.0
    above, below = 0.0, 0.0
    for branch in reversed(trunk.joined):  # the earliest mergers next to the trunk
        lay_out(branch)
        places = [part.place for part in branch.all()]
        is_above = above <= -below
        shift = above + 1 - min(places) if is_above else below - 1 - max(places)
        for part in branch.all():
            part.place += shift
        places = [place + shift for place in places]
        above, below = max(above, *places), min(below, *places)


def _diagram(task: str, tree: MergerTree) -> Picture:
    (halo,) = tree.heaviest()
    mass = float(tree.main_branch(halo)["mass"][0])
    least = LEAST_SHARE * mass
    trunk = branches_of(tree, halo, -1, least)
    while sum(1 for _ in trunk.all()) > MOST_BRANCHES:
        least *= 1.5
        trunk = branches_of(tree, halo, -1, least)
    lay_out(trunk)
    with look():
        figure = Figure(figsize=(6.4, 4.6))
        axes = figure.add_subplot()
        _draw_branch(axes, trunk, mass, MAIN)
        _time_axis(axes, tree.halos)
        axes.set(ylabel="branches, by the order of their mergers", yticks=[])
        axes.grid(False, axis="y")
        axes.margins(y=0.12)
        axes.set_title(f"Merger tree of the heaviest halo, {_scientific(mass)} $M_\\odot$")
    caption = (
        "Each line is a halo and its main progenitors, and ends where it merges into another; violet: the main branch. "
        f"Area follows mass. Branches that end below {_scientific(least)} solar masses are left out."
    )
    return Picture(f"{task}-merger-tree", "Merger tree of the heaviest halo", caption, figure)


def _draw_branch(axes: Any, branch: Branch, heaviest: float, colour: str, parent: float = 0.0) -> None:
    for joined in branch.joined:
        _draw_branch(axes, joined, heaviest, TEAL, branch.place)
    times, mass = _times(branch.rows), branch.rows["mass"].values
    place = np.full(times.size, branch.place)
    if branch.merges_at is not None:
        merger = {"color": FAINT, "lw": 1, "zorder": 1, "label": f"_branch {branch.place:+g}, its merger"}
        axes.plot([times[0], branch.merges_at], [branch.place, parent], **merger)
    axes.plot(times, place, color=colour, lw=1.4, zorder=2, label=f"_branch {branch.place:+g}")
    axes.scatter(
        times,
        place,
        s=4 + 220 * (mass / heaviest) ** (2 / 3),
        color=colour,
        lw=0,
        zorder=3,
        label=f"_branch {branch.place:+g}, halos",
    )


def _times(rows: xr.Dataset) -> np.ndarray:
    return np.asarray(rows["redshift" if "redshift" in rows.variables else "step"])


def _time_axis(axes: Any, halos: xr.Dataset) -> None:
    if "redshift" not in halos.variables:
        axes.set_xlabel("step")
        return
    axes.set_xlabel("redshift z")
    axes.invert_xaxis()


def _scientific(mass: float) -> str:
    exponent = int(np.floor(np.log10(mass)))
    return rf"${mass / 10.0**exponent:.2g}\times 10^{{{exponent}}}$"
