"""`sidestream compare`: results of runs beside measurements, point by point, with chi squared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import measurements
from ..error import Error, UsageError
from ..measurements.own import read_flux_power
from ..runs.run import Run

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

WITHIN = 0.1  # of redshift, between a result and the data
RESOLVED_CELLS = 8  # of the shortest wave that is compared
COVARIANCE = "diagonal"  # where no matrix is given: errors added in quadrature, points taken as independent
_TEMPERATURE, _SLOPE = "mean_density_temperature", "temperature_slope"


@dataclass(frozen=True)
class Comparison:
    """Points of one measurement and what one run has there; arrays of shape (points,)."""

    run: str
    data: str  # the name of the table
    label: str  # of the paper
    quantity: str
    redshift: float  # of the data; NaN where the points have one each
    result_redshift: float  # of the run, likewise
    x: Array
    measured: Array
    error: Array  # one sigma
    found: Array  # by the run
    curve: tuple[Array, Array]  # of the run, where it has more than the points: x, y
    table: measurements.FluxPower | None = None  # of which it has points, where these have a covariance
    places: NDArray[np.int64] | None = None  # of the points in it

    @property
    def covariance(self) -> Array:
        """Of the measured points, (points, points)."""
        return _covariance([self])

    @property
    def chi_squared(self) -> float:
        """The differences over their covariance: d C^-1 d."""
        return chi_squared([self])

    @property
    def degrees_of_freedom(self) -> int:
        """The points: nothing is fitted."""
        return len(self.x)


def chi_squared(made: Sequence[Comparison]) -> float:
    """Of all points together, with the covariance of those of one table."""
    difference = np.concatenate([one.found - one.measured for one in made])
    return float(difference @ np.linalg.solve(_covariance(made), difference))


def _covariance(made: Sequence[Comparison]) -> Array:
    table = made[0].table
    if table is None or table.covariance is None:
        return np.diag(np.concatenate([one.error for one in made]) ** 2)
    places = np.concatenate([one.places for one in made if one.places is not None])
    covariance: Array = table.covariance[np.ix_(places, places)]
    return covariance


def names() -> list[str]:
    """What a run can be compared with: all tables of a kind, or one."""
    kinds = {"flux_power": list(measurements.flux_power()), "thermal_state": list(measurements.thermal_state())}
    return [name for kind, tables in kinds.items() for name in (kind, *(f"{kind}.{table}" for table in tables))]


def compare(
    runs: Sequence[Run],
    data: str,
    task: str | None = None,
    within: float = WITHIN,
    covariance: Path | None = None,
) -> list[Comparison]:
    """Each run beside each table, at the moments at which both have something.

    A result and a measurement belong together where each is nearest in redshift to the other, and `within` the bound.

    Args:
        runs: the runs.
        data: one of `names()`, or the path of a table of one's own (`measurements.own`).
        task: of each run; may be left out where one has such results.
        within: the largest distance of redshifts.
        covariance: the path of that of all points of a table of one's own.

    Raises:
        Error: there is no such data, it is no sound table or covariance, or a run has nothing to be compared with it.
    """
    tables = _tables(data, covariance)
    made = []
    for run in runs:
        own = list(
            _flux_power(run, tables, task, within)
            if tables
            else _thermal_state(run, data.partition(".")[2], task, within)
        )
        if not own:
            raise Error(
                f"no result of the run can be compared with `{data}`",
                run.folder,
                f"they are to be within {within:g} in redshift (--within), and to have points in common",
            )
        made += own
    return made


def _tables(data: str, covariance: Path | None) -> dict[str, measurements.FluxPower]:
    """Those of the power of the flux that are named; none of the thermal state."""
    if data.lower().endswith(".csv"):
        path = Path(data)
        return {path.stem: read_flux_power(path, covariance)}
    if covariance is not None:
        raise UsageError(
            "--covariance is of data of your own", covariance, "give the path of their table: --data my.csv"
        )
    if data not in names():
        from difflib import get_close_matches

        near = get_close_matches(data, names(), 1)
        raise UsageError(
            f"there is no measurement `{data}`",
            hint=f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(names())}",
        )
    kind, _, table = data.partition(".")
    if kind != "flux_power":
        return {}
    return {f"{kind}.{name}": power for name, power in measurements.flux_power().items() if table in ("", name)}


def _flux_power(
    run: Run, tables: Mapping[str, measurements.FluxPower], task: str | None, within: float
) -> Iterator[Comparison]:
    results = [result for result in _results(run, "flux", task) if result.attrs.get("ion", "H I") == "H I"]
    for name, power in tables.items():
        for redshift in np.unique(power.redshift):
            of = _nearest(results, float(redshift), np.unique(power.redshift), within)
            if of is None:
                continue
            k, found = _power_of(of, run)
            longest, shortest = k[0], 2 * k[-1] / RESOLVED_CELLS
            shown = (power.redshift == redshift) & (power.k >= longest) & (power.k <= shortest) & (power.error > 0)
            if shown.any():
                there = np.exp(np.interp(np.log(power.k[shown]), np.log(k), np.log(found)))
                yield Comparison(
                    str(run.folder),
                    name,
                    power.label,
                    "P(k) [km/s] against k [s/km]",
                    float(redshift),
                    float(of.attrs["redshift"]),
                    power.k[shown],
                    power.power[shown],
                    power.error[shown],
                    there,
                    (k[k <= shortest], found[k <= shortest]),
                    power,
                    np.flatnonzero(shown),
                )


def _power_of(result: xr.Dataset, run: Run) -> tuple[Array, Array]:
    """Wave numbers [s/km] and the mean power of the axes [km/s], where there is power."""
    if "mean_dimensionless_power" not in result:
        raise Error("the axes of the run are not alike: there is no mean power", run.folder, "compare runs of cubes")
    k = np.asarray(result["k_velocity"], dtype=float)[0]
    power = np.asarray(result["mean_dimensionless_power"], dtype=float)
    there = (k > 0) & (power > 0)
    return k[there], np.pi * power[there] / k[there]


def _thermal_state(run: Run, table: str, task: str | None, within: float) -> Iterator[Comparison]:
    results = [result for result in _results(run, "phase", task) if _SLOPE in result.attrs]
    whole = _history(results)
    for name, state in measurements.thermal_state().items():
        if table not in ("", name):
            continue
        pairs = [(i, _nearest(results, float(z), state.redshift, within)) for i, z in enumerate(state.redshift)]
        there = [(i, of) for i, of in pairs if of is not None]
        if not there:
            continue
        at = np.array([i for i, _ in there])
        history = _history([of for _, of in there])
        upper = history[:, 1] > state.temperature[at]  # the error on the side of the run
        down, up = state.temperature_error[:, at]
        for quantity, column, measured, error in (
            ("T0 [K] against redshift", 1, state.temperature[at], np.where(upper, up, down)),
            ("gamma against redshift", 2, state.gamma[at], state.gamma_error[at]),
        ):
            known = np.isfinite(measured) & (error > 0)
            if known.any():
                yield Comparison(
                    str(run.folder),
                    f"thermal_state.{name}",
                    state.label,
                    quantity,
                    np.nan,
                    np.nan,
                    state.redshift[at][known],
                    measured[known],
                    error[known],
                    history[known, column],
                    (whole[:, 0], whole[:, column]),
                )


def _history(results: Sequence[xr.Dataset]) -> Array:
    """Redshift, temperature at the mean density and slope, a row a result."""
    return np.array([[float(of.attrs[name]) for name in ("redshift", _TEMPERATURE, _SLOPE)] for of in results])


def _results(run: Run, analysis: str, task: str | None) -> list[xr.Dataset]:
    """The results of the one task of the analysis, or of the one that was named."""
    if task is None:
        found = [name for name in run.tasks if run.steps(name) and run.analysis(name) == analysis]
        if len(found) != 1:
            what = f"{len(found)} tasks of the run have" if found else "no task of the run has"
            hint = f"name one with --task: {', '.join(found)}" if found else f'add a task with analysis = "{analysis}"'
            raise Error(f"{what} results of `{analysis}`", run.folder, hint)
        task = found[0]
    elif run.analysis(task) != analysis or not run.steps(task):
        raise Error(f"task `{task}` has no results of `{analysis}`", run.folder, "name a task that has")
    return [result for result in run.series(task).values() if "redshift" in result.attrs]


def _nearest(results: Sequence[xr.Dataset], redshift: float, measured: Array, within: float) -> xr.Dataset | None:
    """The result nearest to a measured redshift, if no other measured one is nearer to it."""
    if not results:
        return None
    nearest = min(results, key=lambda result: abs(float(result.attrs["redshift"]) - redshift))
    distances = np.abs(np.asarray(measured) - float(nearest.attrs["redshift"]))
    distance = abs(float(nearest.attrs["redshift"]) - redshift)
    rounding = 1e-9
    return nearest if distance <= min(within, float(distances.min())) + rounding else None
