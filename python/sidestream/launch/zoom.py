"""A configuration that simulates one halo of a run again, with finer particles where its own came from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..error import Error, UsageError
from .configuration import toml_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..runs.run import Run

    Array = NDArray[np.float64]

PADDING = 1.0  # cells of the run on each side, so that the outermost particles have fine ones for neighbours
LEAST_PARTICLES = 100  # within a sphere, for its radius to be told
CHANCE = 5.0  # standard deviations, below which two numbers may agree for no reason
PAIRS = 1_000_000  # of a start and a place, which tell as much as all would
LEAST_BUFFER = 3  # cells: what a rule asks for is then deep enough inside for clouds of its own level
SIMULATIONS = ("cosmology", "nbody")
MOST_LEVELS = 20  # of `amr.max_level`
MOST_CELLS = 2**30  # along an axis of the finest level


@dataclass(frozen=True)
class ZoomRequest:
    """What to zoom in on, and how far."""

    halo: int  # its id in the catalogue
    radius: str  # "3 R200m", "2.5 Mpc" or "2500 kpc"
    task: str | None = None  # of halos; by default the only one
    step: int | None = None  # of the catalogue; by default the last one
    levels: int = 1  # how many times cells and the spacing of particles are halved


@dataclass(frozen=True)
class Zoom:
    """A configuration, and in words what it was made of."""

    config: str
    told: str


@dataclass(frozen=True)
class _Halo:
    id: int
    step: int
    redshift: float
    mass: float
    peak: Array  # [Mpc]
    spheres: list[str]  # whose radii may be asked for: r200m, r500c


@dataclass(frozen=True)
class _Particles:
    """All particles of a step, about a halo."""

    id: NDArray[np.int64]
    centre: Array
    offset: Array  # from there, the short way round [Mpc]
    mass: Array


@dataclass(frozen=True)
class _Region:
    """A box that may reach across the sides of the periodic one."""

    lower: Array
    upper: Array


def zoom(run: Run, request: ZoomRequest) -> Zoom:
    """Finds the particles of a halo, where they began, and the region that holds both places."""
    if request.levels < 1:
        raise UsageError(f"a zoom of {request.levels} levels is none", hint="--levels takes 1 or more")
    config = _config_of(run)
    _check_levels(request.levels, max(config["mesh"]["cells"]))
    halo = _halo_of(run, request)
    sides = _sides(run)
    particles = _particles_about(run, halo, sides, sides / np.array(config["mesh"]["cells"]))
    radius = _radius(request.radius, halo, lambda name: _sphere_radius(name, particles, config, halo, sides))
    _check_ids(particles, config, sides, run.folder)
    ids, positions = _within(particles, radius, run.folder)
    start = _start_of(config, ids, sides, run.folder)
    region = _region_of(start, positions, sides, PADDING * sides / np.array(config["mesh"]["cells"]))
    extent = " x ".join(f"{size:.3g}" for size in region.upper - region.lower)
    told = (
        f"halo {halo.id} at z = {halo.redshift:.3g}: {halo.mass:.3g} Msun, {len(ids)} particles within "
        f"{radius:.3g} Mpc; the region of their way is {extent} Mpc"
    )
    head = f"# A zoom of {run.folder}, step {halo.step}.\n# {told}.\n\n"
    return Zoom(head + toml_text(_zoomed(config, region, request.levels)), told)


def _check_levels(levels: int, cells: int) -> None:
    most = min(MOST_LEVELS, (MOST_CELLS // cells).bit_length() - 1)
    if levels > most:
        raise UsageError(
            f"{levels} levels are more than a mesh can have",
            hint=f"--levels takes at most {most} for {cells} cells; each takes eight times the particles in the region",
        )


def _config_of(run: Run) -> dict[str, Any]:
    config = run.config
    if config.get("simulation") not in SIMULATIONS:
        raise Error(
            "only runs of a universe can be zoomed", run.folder, f"one with `simulation` {' or '.join(SIMULATIONS)}"
        )
    if config["cosmology"].get("initial_conditions"):
        raise Error(
            "the run began with initial conditions from a file",
            run.folder,
            "a zoom draws finer waves from the `seed` of a run that began with its own",
        )
    return config


def _halo_of(run: Run, request: ZoomRequest) -> _Halo:
    task = request.task or _only_task(run)
    if task not in run.tasks:
        raise UsageError(
            f"there is no task `{task}`", run.folder, f"--task takes {' or '.join(run.tasks) or 'one: it has none'}"
        )
    steps = run.steps(task)
    step = steps[-1] if request.step is None and steps else request.step
    if request.step is not None and request.step not in steps:
        raise UsageError(
            f"task `{task}` has no result for step {request.step}",
            run.folder,
            f"--step takes one of {', '.join(map(str, steps))}" if steps else "the task has no result at all",
        )
    table = run.result(task, -1 if step is None else step, "halo")
    rows = np.flatnonzero(table["id"].values == request.halo) if "id" in table else np.array([], int)
    if len(rows) == 0:
        heaviest = table["id"].values[:5].tolist() if "id" in table else []
        raise UsageError(
            f"there is no halo {request.halo} among the {table.sizes.get('halo', 0)} of task `{task}` at step {step}",
            run.result_path(task, int(step or 0)),
            f"its heaviest: {', '.join(map(str, heaviest))}" if heaviest else "a task of halos has a column `id`",
        )
    row = table.isel(halo=int(rows[0]))
    prefix = "peak_" if "peak_x" in row else ""
    centre = np.array([float(row[prefix + axis]) for axis in "xyz"])
    redshift = float(table.attrs.get("redshift", np.nan))
    spheres = sorted(str(name) for name in row if re.fullmatch(r"r\d+[cm]", str(name)))
    return _Halo(request.halo, int(step or 0), redshift, float(row["mass"]), centre, spheres)


def _only_task(run: Run) -> str:
    tasks = [name for name in run.tasks if run.analysis(name) == "halos"]
    if len(tasks) == 1:
        return tasks[0]
    if tasks:
        raise UsageError(f"the run has {len(tasks)} tasks of halos", hint=f"--task takes {' or '.join(tasks)}")
    raise Error("the run has no task of halos", run.folder, 'a task with `analysis = "halos"` makes catalogues')


def _radius(text: str, halo: _Halo, sphere_radius: Callable[[str], float]) -> float:
    """In Mpc; of a number and `Mpc`, or of a multiple of the radius of a sphere in the catalogue."""
    match = re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z]\w*)\s*", text)
    known = ", ".join(f'"3 {name.upper()[:-1] + name[-1]}"' for name in halo.spheres) or "no sphere is in the catalogue"
    units = {"mpc": 1.0, "kpc": 1e-3}
    unit = match[2].lower() if match else ""
    if match is None or unit not in (*units, *halo.spheres):
        raise UsageError(
            f"`{text}` is no radius",
            hint=f'--radius takes comoving "2.5 Mpc" or "2500 kpc", or of this catalogue: {known}',
        )
    radius = float(match[1]) * (units[unit] if unit in units else sphere_radius(unit))
    if not radius > 0.0:
        raise UsageError(f"`{text}` is {radius:g} Mpc", hint="it is to be above 0")
    return radius


def _sphere_radius(name: str, particles: _Particles, config: dict[str, Any], halo: _Halo, sides: Array) -> float:
    """Of the sphere with so many times the mean (m) or critical (c) density: of particles, not of cells, of which the
    sphere may be one or two wide. Gas is taken to lie as they do."""
    times_mean = float(name[1:-1]) / (_matter_share(config["cosmology"], halo.redshift) if name[-1] == "c" else 1.0)
    distance = np.sqrt((particles.offset**2).sum(axis=1))
    order = np.argsort(distance)
    mean = particles.mass.sum() / sides.prod()
    density = np.cumsum(particles.mass[order]) / (4.0 / 3.0 * np.pi * np.maximum(distance[order], 1e-30) ** 3)
    outside = np.flatnonzero(density < times_mean * mean)
    first = int(outside[outside >= LEAST_PARTICLES][0]) if (outside >= LEAST_PARTICLES).any() else len(order)
    if first == LEAST_PARTICLES or first == len(order):
        shown = name.upper()[:-1] + name[-1]
        raise UsageError(
            f"{shown} of halo {halo.id} cannot be told from its particles: a sphere of so high a density about its "
            f"peak holds less than {LEAST_PARTICLES}",
            hint='--radius "2.5 Mpc" needs none',
        )
    return float(distance[order][first - 1])


def _matter_share(cosmology: dict[str, Any], redshift: float) -> float:
    """Omega_m at a redshift."""
    omega_m = float(cosmology["omega_m"])
    omega_lambda = float(cosmology.get("omega_lambda", 1.0 - omega_m))
    matter = omega_m * (1.0 + redshift) ** 3
    return matter / (matter + (1.0 - omega_m - omega_lambda) * (1.0 + redshift) ** 2 + omega_lambda)


def _sides(run: Run) -> Array:
    start = run.events.last("run_start")
    cells = np.array(start["cells"], float)
    sides: Array = float(start["box_mpc"]) * cells / cells[0]
    return sides


def _particles_about(run: Run, halo: _Halo, sides: Array, cell: Array) -> _Particles:
    """From a plot file or checkpoint of the halo's step."""
    from ..files.snapshot import SnapshotFile
    from ..runs.outputs import outputs_in

    outputs = outputs_in(run.folder)
    here = [output.path for output in outputs if output.step == halo.step]
    if not here:
        both = sorted({output.step for output in outputs})
        raise Error(
            f"no plot file or checkpoint of step {halo.step} tells where the particles of the halo are",
            run.folder,
            f"--step takes one of {', '.join(map(str, both))} if there is a catalogue of it"
            if both
            else "let the run write one at the redshift of the catalogue: [output] plotfile = { at_redshift = [0] }",
        )
    files = [SnapshotFile(path) for path in here]
    tables = [(file, table) for file, table in ((file, file.particles()) for file in files) if "id" in table]
    if not tables:
        raise Error("the file has no particles with ids", here[0], "those of format `vtkhdf` have none, all others do")
    file, table = tables[0]
    # Files have units of their own, but the box is that of the run.
    from_corner = np.stack([table[axis].values for axis in "xyz"], axis=1).astype(float) - file.origin
    positions = from_corner * (sides / file.box_size)
    # Checkpoints of particles of one mass do not name it.
    mass = next((table[name].values.astype(float) for name in ("mass", "mass_fraction") if name in table), None)
    mass = np.ones(len(positions)) if mass is None else mass
    centre = _centre_of(positions, mass, halo.peak, sides, cell)
    return _Particles(table["id"].values.astype(np.int64), centre, _nearest_image(positions - centre, sides), mass)


def _centre_of(positions: Array, mass: Array, peak: Array, sides: Array, cell: Array) -> Array:
    """Where the particles about a peak, which is known to a cell, are densest: the middle of ever smaller spheres."""
    centre, radius = peak, 2.0 * float(cell.max())
    while True:
        offset = _nearest_image(positions - centre, sides)
        inside = (offset**2).sum(axis=1) < radius**2
        if inside.sum() < LEAST_PARTICLES:
            return centre
        centre = centre + np.average(offset[inside], axis=0, weights=mass[inside])
        radius *= 0.8


def _within(particles: _Particles, radius: float, folder: Path) -> tuple[NDArray[np.int64], Array]:
    """Ids and positions of the particles so near."""
    inside = (particles.offset**2).sum(axis=1) < radius**2
    if not inside.any():
        raise UsageError(f"no particle is within {radius:g} Mpc of the halo", folder, "give a larger --radius")
    return particles.id[inside], particles.centre + particles.offset[inside]


def _nearest_image(offset: Array, sides: Array) -> Array:
    return np.asarray(offset - sides * np.round(offset / sides))


def _check_ids(particles: _Particles, config: dict[str, Any], sides: Array, folder: Path) -> None:
    """Refuses ids that tell nothing of where particles began, however far these have come since.

    The phase of the longest wave along an axis, at the start and now, is compared over the whole box. As particles
    spread the two lose their likeness, but unless the ids are wrong they are more alike than those of two different
    axes, and than chance makes the phases of so many particles.
    """
    few = slice(None, None, len(particles.id) // PAIRS + 1)
    places = (_start_of(config, particles.id[few], sides, folder), particles.centre + particles.offset[few])
    phases = np.concatenate([np.exp(2j * np.pi * place / sides).T for place in places])
    alike = np.corrcoef(phases)[:3, 3:]
    others = np.abs(alike[~np.eye(3, dtype=bool)]).max()
    least = max(float(others), CHANCE / np.sqrt(2.0 * phases.shape[1]))
    if not alike.diagonal().real.min() > least:
        raise Error(
            "the ids do not tell where the particles began: where they are now has nothing to do with that",
            folder,
            "zoom a run that began by itself, and whose files nothing has changed",
        )


def _start_of(config: dict[str, Any], ids: NDArray[np.int64], sides: Array, folder: Path) -> Array:
    """Where particles were on their lattice, which their ids number: x fastest, finer lattices after coarser ones."""
    lattice = np.array([own or cells for own, cells in zip(_lattice(config), config["mesh"]["cells"], strict=True)])
    start = np.full((len(ids), 3), np.nan)
    first = 0
    for _ in range(int(config.get("amr", {}).get("max_level", 0)) + 1):
        here = (ids >= first) & (ids < first + lattice.prod())
        index = ids[here] - first
        place = np.stack([index % lattice[0], index // lattice[0] % lattice[1], index // lattice[0] // lattice[1]], 1)
        start[here] = (place + 0.5) * sides / lattice
        first += int(lattice.prod())
        lattice = 2 * lattice
    if np.isnan(start).any():
        raise Error("the ids of the particles are not those of a lattice", folder, "zoom a run that began by itself")
    return start


def _lattice(config: dict[str, Any]) -> list[int]:
    return [int(points) for points in config["cosmology"].get("particles", [0, 0, 0])]


def _region_of(start: Array, end: Array, sides: Array, padding: Array) -> _Region:
    """The smallest periodic box around where the particles were and are; in between they are, by and large, too."""
    way = _nearest_image(end - start, sides)
    lower, upper = np.zeros(3), np.zeros(3)
    for axis in range(3):
        first = _lowest_in_arc(start[:, axis], sides[axis])
        from_first = np.mod(start[:, axis] - first, sides[axis])
        to_last = from_first + way[:, axis]
        low = first + min(0.0, to_last.min()) - padding[axis]
        high = first + max(from_first.max(), to_last.max()) + padding[axis]
        if high - low >= sides[axis]:
            raise UsageError(
                f"the particles of the halo come from all of the box along {'xyz'[axis]}",
                hint="a smaller --radius, or a run in a larger box",
            )
        shift = sides[axis] * np.floor(low / sides[axis])
        lower[axis], upper[axis] = low - shift, high - shift
    return _Region(lower, upper)


def _lowest_in_arc(values: Array, side: float) -> float:
    """Where the shortest arc around all values on a circle begins: after the widest gap."""
    ordered = np.unique(np.mod(values, side))
    gaps = np.diff(np.append(ordered, ordered[0] + side))
    return float(ordered[(int(gaps.argmax()) + 1) % len(ordered)])


def _zoomed(config: dict[str, Any], region: _Region, levels: int) -> dict[str, Any]:
    zoomed = {name: value for name, value in config.items() if name not in ("run", "amr", "refine")}
    amr = dict(config.get("amr", {}))
    zoomed["amr"] = amr | {
        "max_level": max(levels, int(amr.get("max_level", 0))),
        "buffer": max(LEAST_BUFFER, int(amr.get("buffer", LEAST_BUFFER))),
    }
    box = {"lower": _rounded(region.lower), "upper": _rounded(region.upper), "max_level": levels}
    zoomed["refine"] = {**config.get("refine", {}), "zoom": {"criterion": "region", **box}}
    return zoomed


def _rounded(values: Array) -> list[float]:
    return [round(float(value), 4) for value in values]
