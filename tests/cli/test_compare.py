"""`sidestream compare`: chi squared beside measurements, computed again from the files by NumPy alone."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

import sidestream
from calls import Done, command
from synthetic_forest import forest, write_forest

TABLES = Path(sidestream.__file__).parent / "measurements"
REDSHIFTS = [5.0, 4.2, 3.03, 2.4]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two made-up runs, of which the second has twice the power."""
    folder = tmp_path_factory.mktemp("forests")

    def brighter(redshift: float):
        made = forest(redshift)
        made["mean_dimensionless_power"] *= 2
        return made

    write_forest(folder / "one", REDSHIFTS)
    write_forest(folder / "two", REDSHIFTS, forest=brighter)
    return folder


def compare(folder: Path, *words: object) -> Done:
    return command(folder, "compare", *words)


def table(name: str) -> list[dict[str, str]]:
    with (TABLES / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def chi_squared_of_power(result: Path, paper: str, redshift: float) -> tuple[float, int]:
    """From the bytes of the result and of the table, a point after the other."""
    with h5py.File(result) as file:
        k = file["k_velocity"][0]
        power = np.pi * file["mean_dimensionless_power"][:] / k
    total, points = 0.0, 0
    for row in table(f"flux_power_{paper}"):
        at, error = float(row["k_s_km"]), np.hypot(*(float(row.get(f"sigma_{n}", 0)) for n in ("stat", "syst")))
        error = float(row["sigma_total"]) if "sigma_total" in row else error
        if float(row["z"]) != redshift or not k[0] <= at <= k[-1] / 4:
            continue
        after = int(np.searchsorted(k, at))
        share = np.log(at / k[after - 1]) / np.log(k[after] / k[after - 1])
        found = power[after - 1] ** (1 - share) * power[after] ** share
        total, points = total + ((found - float(row["P_km_s"])) / error) ** 2, points + 1
    return total, points


def test_chi_squared_is_that_of_the_tables(runs: Path) -> None:
    done = compare(runs, "one", "two", "--data", "flux_power", "--out", "picture.png", "--json")

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["covariance"] == "diagonal"
    assert (runs / "picture.png").read_bytes()[:4] == b"\x89PNG"
    assert answer["numbers"] == ["picture.csv", "picture.nc"]
    with (runs / "picture.csv").open() as file:
        rows = list(csv.DictReader(file))
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    moments = [float(panel.removeprefix("P(k) at z = ")) for panel in panels]
    assert moments == sorted(moments, reverse=True) and len(moments) > 3
    assert {"one", "two", "Chabanier et al. 2019 (eBOSS)"} <= {row["series"] for row in rows}
    assert {(row["x_axis"], row["y_axis"]) for row in rows} == {("k [s/km]", "P(k) [km/s]")}
    with xr.open_dataset(runs / "picture.nc", engine="h5netcdf") as numbers:
        assert {one.attrs["panel"] for one in numbers.data_vars.values() if "panel" in one.attrs} == set(panels)
    found = answer["comparisons"]
    assert {row["run"] for row in found} == {"one", "two"}
    assert {row["data"].split(".")[1] for row in found} >= {"chabanier2019", "karacayli2022", "karacayli2024"}
    for row in found:
        step = REDSHIFTS.index(row["result_redshift"]) + 1
        result = runs / row["run"] / "results" / "forest" / f"{step:05d}.nc"
        expected, points = chi_squared_of_power(result, row["data"].split(".")[1], row["redshift"])
        assert row["chi_squared"] == pytest.approx(expected, rel=1e-10)
        assert row["degrees_of_freedom"] == points > 0


def test_moments_belong_together_that_are_nearest_to_each_other(runs: Path) -> None:
    found = json.loads(compare(runs, "one", "--data", "flux_power.chabanier2019", "--json").stdout)["comparisons"]

    moments = {(row["redshift"], row["result_redshift"]) for row in found}
    assert moments == {(4.2, 4.2), (3.0, 3.03), (2.4, 2.4)}
    wide = compare(runs, "one", "--data", "flux_power.chabanier2019", "--json", "--within", 0.25)
    assert {(row["redshift"], row["result_redshift"]) for row in json.loads(wide.stdout)["comparisons"]} == moments
    exact = compare(runs, "one", "--data", "flux_power.chabanier2019", "--json", "--within", 0.01)
    assert {row["redshift"] for row in json.loads(exact.stdout)["comparisons"]} == {4.2, 2.4}


def test_the_thermal_state_is_compared_with_the_error_on_the_side_of_the_run(runs: Path) -> None:
    done = compare(runs, "one", "--data", "thermal_state", "--task", "gas", "--json")

    found = {
        (row["data"].split(".")[1], row["quantity"].split()[0]): row for row in json.loads(done.stdout)["comparisons"]
    }
    assert {("walther2019", "T0"), ("gaikwad2021", "T0"), ("gaikwad2021", "gamma")} <= set(found)
    for (paper, quantity), row in found.items():
        expected = [
            ((model - value) / error) ** 2 for model, value, error in thermal_points(runs / "one", paper, quantity)
        ]
        assert row["chi_squared"] == pytest.approx(sum(expected), rel=1e-10)
        assert row["degrees_of_freedom"] == len(expected)


def thermal_points(run: Path, paper: str, quantity: str) -> list[tuple[float, float, float]]:
    """What the run has, what was measured and its error, from the bytes of the results and of the table."""
    measured = [row for row in table("thermal_state") if row["source"] == paper]
    points = []
    for row in measured:
        nearest = min(REDSHIFTS, key=lambda redshift: abs(redshift - float(row["z"])))
        distances = [abs(float(other["z"]) - nearest) for other in measured]
        if abs(nearest - float(row["z"])) > min(0.1, min(distances)) + 1e-9:
            continue
        with h5py.File(run / "results" / "gas" / f"{REDSHIFTS.index(nearest) + 1:05d}.nc") as file:
            temperature, slope = (file.attrs[n].item() for n in ("mean_density_temperature", "temperature_slope"))
        if quantity == "T0":
            side = "T0_up" if temperature > float(row["T0_K"]) else "T0_down"
            points.append((temperature, float(row["T0_K"]), float(row[side])))
        elif row["gamma"]:
            points.append((slope, float(row["gamma"]), float(row["gamma_error"])))
    return points


def test_the_table_says_sums_and_the_covariance(runs: Path) -> None:
    done = compare(runs, "one", "two", "--data", "flux_power.karacayli2022")

    assert done.returncode == 0, done.stderr
    assert "covariance  diagonal: errors of the tables, added in quadrature" in done.stdout
    name = "compare-flux_power.karacayli2022"
    assert f"picture     {name}.png\nnumbers     {name}.csv, {name}.nc\n" in done.stdout
    assert (runs / f"{name}.csv").is_file() and (runs / f"{name}.nc").is_file()
    rows = json.loads(compare(runs, "one", "--data", "flux_power.karacayli2022", "--json").stdout)["comparisons"]
    total, points = sum(row["chi_squared"] for row in rows), sum(row["degrees_of_freedom"] for row in rows)
    assert f"all of one: chi^2 {total:.2f}, {points} degrees of freedom" in done.stdout


def write_own(folder: Path, matrix: np.ndarray | None = None, errors: bool = True) -> list[dict[str, str]]:
    """The points of one paper as a table of one's own, with correlations between all of them."""
    rows = [row for row in table("flux_power_karacayli2022") if float(row["z"]) in (4.2, 2.4)]
    lines = ["z,k_s_km,P_km_s" + ",sigma_total" * errors]
    for row in rows:
        lines.append(",".join([row["z"], row["k_s_km"], row["P_km_s"]] + ["0.5"] * errors))
    (folder / "power.csv").write_text("\n".join(lines) + "\n")
    np.savetxt(folder / "covariance.csv", own_covariance(len(rows)) if matrix is None else matrix, delimiter=",")
    return rows


def own_covariance(points: int) -> np.ndarray:
    mixing = np.random.default_rng(3).normal(size=(points, points))
    return mixing @ mixing.T + 0.1 * np.eye(points)


def test_a_covariance_of_ones_own_is_used_between_all_points(runs: Path) -> None:
    rows = write_own(runs, errors=False)
    words = ("one", "--data", "power.csv", "--covariance", "covariance.csv")

    done = compare(runs, *words, "--json")

    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["covariance"] == "covariance.csv"
    matrix, places, differences = np.loadtxt(runs / "covariance.csv", delimiter=","), [], []
    for one in answer["comparisons"]:
        result = runs / "one" / "results" / "forest" / f"{REDSHIFTS.index(one['result_redshift']) + 1:05d}.nc"
        with h5py.File(result) as file:
            k = file["k_velocity"][0]
            power = np.pi * file["mean_dimensionless_power"][:] / k
        own = [
            i
            for i, row in enumerate(rows)
            if float(row["z"]) == one["redshift"] and k[0] <= float(row["k_s_km"]) <= k[-1] / 4
        ]
        at, measured = (np.array([float(rows[i][name]) for i in own]) for name in ("k_s_km", "P_km_s"))
        difference = np.exp(np.interp(np.log(at), np.log(k), np.log(power))) - measured
        expected = difference @ np.linalg.inv(matrix[np.ix_(own, own)]) @ difference
        assert one["chi_squared"] == pytest.approx(expected, rel=1e-6)
        assert one["degrees_of_freedom"] == len(own) > 1
        places += own
        differences += list(difference)
    whole = np.array(differences)
    (total,) = answer["totals"]
    assert total["chi_squared"] == pytest.approx(
        whole @ np.linalg.inv(matrix[np.ix_(places, places)]) @ whole, rel=1e-6
    )
    assert total["chi_squared"] != pytest.approx(sum(one["chi_squared"] for one in answer["comparisons"]), rel=1e-3)
    told = compare(runs, *words).stdout
    assert "covariance  covariance.csv: of all points of the table" in told


def test_errors_of_ones_own_are_a_diagonal_covariance(runs: Path) -> None:
    rows = write_own(runs)
    plain = json.loads(compare(runs, "one", "--data", "power.csv", "--json").stdout)
    write_own(runs, 0.25 * np.eye(len(rows)))

    given = json.loads(compare(runs, "one", "--data", "power.csv", "--covariance", "covariance.csv", "--json").stdout)

    assert plain["covariance"] == "diagonal"
    for one, other in zip(plain["comparisons"], given["comparisons"], strict=True):
        assert one["chi_squared"] == pytest.approx(other["chi_squared"], rel=1e-12)


def not_symmetric(good: np.ndarray) -> np.ndarray:
    return good + np.triu(np.full(good.shape, 0.1), 1)


BAD = {
    "size": (lambda good: good[1:, 1:], "the covariance is of"),
    "not square": (lambda good: good[1:], "the covariance is of"),
    "not symmetric": (not_symmetric, "the covariance is not symmetric"),
    "not definite": (np.ones_like, "the covariance is not positive definite"),
    "negative": (lambda good: -good, "variances that are not above zero"),
    "nan": (lambda good: np.where(np.eye(len(good)), np.nan, good), "variances that are not above zero"),
}


@pytest.mark.parametrize("case", BAD)
def test_matrices_that_are_no_covariance_are_refused(case: str, runs: Path) -> None:
    make, said = BAD[case]
    points = len(write_own(runs))
    write_own(runs, make(own_covariance(points)))

    done = compare(runs, "one", "--data", "power.csv", "--covariance", "covariance.csv")

    assert done.returncode == 1
    assert said in done.stderr and "covariance.csv" in done.stderr and "hint: " in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["one", "--data", "flux_pwer"], 2, "did you mean `flux_power`?"),
        (["one", "--data", "flux_power", "--within", "-1"], 2, "less than zero"),
        (["one", "--data", "flux_power.irsic2017", "--within", "0.001", "--task", "forest"], 0, ""),
        (["one", "--data", "flux_power", "--task", "gas"], 1, "task `gas` has no results of `flux`"),
        (["bare", "--data", "flux_power"], 1, "no task of the run has results of `flux`"),
        (["late", "--data", "flux_power"], 1, "no result of the run can be compared"),
        (["one", "--data", "flux_power", "--out", "none/picture.png"], 1, "the picture cannot be written"),
        (["one", "--data", "flux_power", "--out", "picture.csv"], 2, "would be written over another file"),
        (["one", "--data", "flux_power", "--covariance", "c.csv"], 2, "--covariance is of data of your own"),
        (["one", "--data", "lost.csv"], 1, "the file cannot be read"),
        (["one", "--data", "words.csv"], 1, "what is no number"),
        (["one", "--data", "words.csv", "--covariance", "empty.csv"], 1, "what is no number"),
        (["one", "--data", "GOOD.CSV", "--covariance", "empty.csv"], 1, "the covariance is empty\n  --> empty.csv"),
        (["one", "--data", "GOOD.CSV"], 0, ""),
        (["one", "--data", "below.csv"], 1, "`sigma_stat` is -1 in row 2"),
        (["one", "--data", "sure.csv"], 1, "the errors of row 1 are all zero"),
        (["one", "--data", "gap.csv"], 1, "row 1 holds a number that is not finite, or none"),
        (["one", "--data", "short.csv"], 1, "the table has no column `P_km_s`"),
    ],
)
def test_mistakes_are_refused(words: list[str], code: int, said: str, runs: Path) -> None:
    write_forest(runs / "late", [0.5])
    write_forest(runs / "bare", [])
    (runs / "words.csv").write_text("z,k_s_km,P_km_s,sigma_total\n4.2,0.01,much,1\n")
    (runs / "short.csv").write_text("z,k_s_km,sigma_total\n4.2,0.01,1\n")

    (runs / "empty.csv").write_text("# nothing\n\n")
    (runs / "GOOD.CSV").write_text("z,k_s_km,P_km_s,sigma_total\n4.2,0.01,30,1\n")
    (runs / "below.csv").write_text("z,k_s_km,P_km_s,sigma_stat\n4.2,0.01,30,1\n4.2,0.02,20,-1\n")
    (runs / "sure.csv").write_text("z,k_s_km,P_km_s,sigma_stat\n4.2,0.01,30,0\n")
    (runs / "gap.csv").write_text("z,k_s_km,P_km_s,sigma_stat\n4.2,0.01,30,\n")

    done = compare(runs, *words)

    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Warning" not in done.stderr
