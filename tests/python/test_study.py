"""Results as those who study them take them: lazily, as pictures, with units that convert."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import sidestream
import sidestream.runs.series as reading
import synthetic_mergers
from sidestream.runs.run import Run


def test_columns_over_links_and_members_have_the_step_of_each(tmp_path: Path) -> None:
    run = sidestream.open(synthetic_mergers.write_linked_run(tmp_path))
    series = run.series(synthetic_mergers.TASK)

    progenitor, mass = series.column("progenitor"), series.column("shared_mass")
    rows = [(step, *link) for step, links in synthetic_mergers.LINKS.items() for link in links]
    assert progenitor.values.tolist() == [row[1] for row in rows]
    assert progenitor["step"].values.tolist() == [row[0] for row in rows]
    np.testing.assert_array_equal(mass, [1e12 * row[3] for row in rows])
    assert mass.attrs["units"] == "Msun" and "redshift" in mass.coords
    assert series.column("member_particle_id").size == sum(synthetic_mergers.HALOS)
    assert "progenitor" not in run[synthetic_mergers.TASK]


def test_a_series_reads_a_result_when_it_is_asked_for(finished_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    load = reading.load_result
    monkeypatch.setattr(reading, "load_result", lambda path, *more: read.append(path) or load(path, *more))
    run = sidestream.open(finished_run)

    series = run.series("spectra")
    assert series.steps == list(series) == run.steps("spectra")
    assert len(series) == 6
    assert read == []

    assert series[30].identical(run.result("spectra", 30))
    assert [int(path.stem) for path in read] == [30]


def test_a_column_of_a_series_is_that_of_all_results(finished_run: Path) -> None:
    run = sidestream.open(finished_run)

    for task, name in (("spectra", "gas_density_power"), ("halos", "mass")):
        column, whole = run.series(task).column(name), run[task][name]
        np.testing.assert_array_equal(column, whole)
        assert column.attrs == whole.attrs
        np.testing.assert_array_equal(column["redshift"], whole["redshift"])


def test_a_moment_is_found_by_its_redshift(finished_run: Path) -> None:
    run = sidestream.open(finished_run)
    redshifts = {step: run.result("spectra", step).attrs["redshift"] for step in run.steps("spectra")}
    series = run.series("spectra")

    for wanted in (100.0, *redshifts.values(), 11.0, 2.1, 0.0):
        nearest = min(redshifts, key=lambda step: abs(redshifts[step] - wanted))
        assert series.step_at(wanted) == nearest
    assert series.at(redshift=2.1).attrs["step"] == 60


def test_series_say_what_is_missing(finished_run: Path, tmp_path: Path) -> None:
    run = sidestream.open(finished_run)

    with pytest.raises(sidestream.Error, match="no task `spectr`"):
        run.series("spectr")
    with pytest.raises(sidestream.Error, match="no column `gas`"):
        run.series("spectra").column("gas")
    shutil.copytree(finished_run, tmp_path / "empty")
    shutil.rmtree(tmp_path / "empty" / "results" / "pdfs")
    with pytest.raises(sidestream.Error, match="`pdfs` has no result yet"):
        sidestream.open(tmp_path / "empty").series("pdfs").at(redshift=3)


def test_a_run_draws_the_pictures_of_its_report(finished_run: Path) -> None:
    run = sidestream.open(finished_run)
    assert isinstance(run, sidestream.Run)
    assert isinstance(run, Run)

    drawn = run.plot("spectra")

    assert drawn
    assert all(picture.figure.axes for picture in drawn)
    shown = drawn._repr_html_()
    assert shown.count('<img src="data:image/') == len(drawn)
    assert drawn[0].title in shown
    assert len(run.plot()) > len(drawn)
    with pytest.raises(sidestream.Error, match="no task `spectr`"):
        run.plot("spectr")
    for wrong in ("", 5, ["spectra"]):
        with pytest.raises(sidestream.Error, match="there is no task `"):
            run.plot(wrong)  # type: ignore[arg-type]


def test_units_convert(finished_run: Path) -> None:
    pytest.importorskip("unyt")
    run = sidestream.open(finished_run)
    halos, spectra = run["halos"], run["spectra"]

    mass = sidestream.to_unyt(halos["mass"])
    assert float(mass.sum().to("kg")) == pytest.approx(1.98841586e30 * float(halos["mass"].sum()), rel=1e-6)
    power = sidestream.to_unyt(spectra)["gas_density_power"]
    hubble = spectra.attrs["hubble"]
    np.testing.assert_allclose(power.to("Mpc**3").d, spectra["gas_density_power"] / hubble**3, rtol=1e-12)
    assert power.shape == spectra["gas_density_power"].shape


def test_units_convert_in_pint_as_in_unyt(finished_run: Path) -> None:
    spectra = sidestream.open(finished_run)["spectra"]
    units, others = sidestream.to_pint(spectra), sidestream.to_unyt(spectra)
    mass = sidestream.to_pint(xr.DataArray([2.0], attrs={"units": "Msun/Mpc^3"}))

    assert units.keys() == others.keys()
    power = units["gas_density_power"].to("Mpc**3")
    np.testing.assert_allclose(power.magnitude, others["gas_density_power"].to("Mpc**3").d, rtol=1e-12)
    assert float((mass * sidestream.to_pint(xr.DataArray([1.0], attrs={"units": "Mpc^3"}))).to("kg")[0].magnitude) == (
        pytest.approx(2 * 1.98841586e30)
    )
    assert sidestream.to_pint(xr.DataArray([3.0])).dimensionless
    assert sidestream.to_pint(xr.DataArray([0.0], attrs={"units": "degC"})).to("K").magnitude == [273.15]
    assert sidestream.to_pint(xr.DataArray([1216.0], attrs={"units": "Angstrom"})).to("nm").magnitude == [
        pytest.approx(121.6)
    ]
    with pytest.raises(sidestream.Error, match="pint does not know the unit `bananas`"):
        sidestream.to_pint(xr.DataArray([1.0], attrs={"units": "bananas"}))
    for half in ("-", "/", "g/", "()", "*", "g(", "1/0", "nan"):
        with pytest.raises(sidestream.Error, match="pint does not know the unit"):
            sidestream.to_pint(xr.DataArray([1.0], attrs={"units": half}))
    with pytest.raises(sidestream.Error, match="needs h"):
        sidestream.to_pint(xr.DataArray([1.0], attrs={"units": "Mpc/h"}))


@pytest.mark.parametrize(("name", "extra"), [("pint", "pint"), ("unyt", "yt")])
def test_a_library_of_units_that_is_not_there_is_named(name: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(sidestream.Error, match=rf"{name} is not installed\n.*sidestream\[{extra}\]"):
        getattr(sidestream, f"to_{name}")(xr.DataArray([1.0]))


def test_units_that_cannot_be_converted_are_refused() -> None:
    pytest.importorskip("unyt")
    odd = xr.DataArray([1.0], attrs={"units": "bananas"})
    per_h = xr.DataArray([1.0], attrs={"units": "Mpc/h"})

    with pytest.raises(sidestream.Error, match="does not know the unit `bananas`"):
        sidestream.to_unyt(odd)
    with pytest.raises(sidestream.Error, match="needs h"):
        sidestream.to_unyt(per_h)
    assert float(sidestream.to_unyt(per_h, 0.5).to("Mpc")[0]) == pytest.approx(2.0, rel=1e-14)
    assert str(sidestream.to_unyt(xr.DataArray([3.0]))[0].units) == "dimensionless"
