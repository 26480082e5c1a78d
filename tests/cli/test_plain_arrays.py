"""Plain arrays in NumPy and HDF5 files, as `sidestream analyze` and `sidestream halos find` take them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import h5py
import numpy as np
import pytest

import sidestream as ss
from calls import command
from sidestream.files.analysis_units import CM_PER_MPC, GRAMS_PER_MSUN

SHAPE = (70, 20, 16)
DENSITY = np.random.default_rng(3).lognormal(sigma=2, size=SHAPE)
TEMPERATURE = np.random.default_rng(4).uniform(1e3, 1e6, SHAPE)
THRESHOLDS = ("--t-boundary", "5 mean", "--t-halo", "20 mean")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """`density.npy` in g/cm^3, `both.npz` and `fields.h5:/gas`, whose data sets have units."""
    cgs = DENSITY * (GRAMS_PER_MSUN / CM_PER_MPC**3)
    np.save(tmp_path / "density.npy", cgs)
    np.savez(tmp_path / "both.npz", gas_density=DENSITY, temperature=TEMPERATURE)
    with h5py.File(tmp_path / "fields.h5", "w") as file:
        for name, values, unit in (("density", DENSITY, "Msun/Mpc^3"), ("Temp", TEMPERATURE, "K")):
            file[f"gas/{name}"] = values
            file[f"gas/{name}"].attrs["units"] = unit
        file["gas/note"] = "neither a field"
        file["gas/plane"] = DENSITY[0]
    return tmp_path


@pytest.mark.parametrize("ranks", [1, 3])
def test_halos_of_an_array_are_those_of_the_function(folder: Path, ranks: int) -> None:
    words = ("density.npy", "--box", "4,5,17.5 Mpc", "--unit", "g/cm^3", *THRESHOLDS, "-n", ranks, "--json")

    done = command(folder, "halos", "find", *words)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["columns"]
    values = np.load(folder / "density.npy") * (CM_PER_MPC**3 / GRAMS_PER_MSUN)
    own = ss.halos(values, box_size=(4.0, 5.0, 17.5), t_boundary="5 mean", t_halo="20 mean")
    assert own.sizes["halo"] > 10
    for name in ("id", "mass", "cells", "x", "y", "z", "peak"):
        np.testing.assert_array_equal(found[name], own[name], err_msg=name)


def test_units_of_other_spellings_are_converted(tmp_path: Path) -> None:
    box = ("--box", "20,8,12 kpc", *THRESHOLDS, "--json")
    field = DENSITY[:12, :8, :20]
    with h5py.File(tmp_path / "fields.h5", "w") as file:
        file["density"] = 1e-9 * field
        file["density"].attrs["units"] = "M_sun kpc^-3"
    np.save(tmp_path / "density.npy", field)

    done = command(tmp_path, "halos", "find", "fields.h5:/density", *box)
    odd = command(tmp_path, "halos", "find", "density.npy", "--unit", "g/furlong^3", *box)

    own = ss.halos(field, box_size=(0.02, 0.008, 0.012), t_boundary="5 mean", t_halo="20 mean")
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr
    found = json.loads(done.stdout)["columns"]
    for name in ("mass", "x", "y", "z", "peak"):
        np.testing.assert_allclose(found[name], own[name], rtol=1e-13, err_msg=name)
    assert odd.returncode == 0, odd.stderr
    assert "warning: `density` of density.npy is in `g/furlong^3`, which is not converted" in odd.stderr


def test_the_only_array_is_the_field_that_halos_are_sought_in(folder: Path) -> None:
    np.save(folder / "temperature.npy", TEMPERATURE)

    words = ("temperature.npy", "--box", "20 Mpc", "--unit", "K", "--t-boundary", "1 sigma", "--t-halo", "1.5 sigma")
    done = command(folder, "halos", "find", *words, "--json")
    low = command(folder, "halos", "find", *words[:5], "--t-halo", "1 sigma")

    assert done.returncode == 0, done.stderr
    cells = sum(json.loads(done.stdout)["columns"]["cells"])
    assert 0 < cells <= np.count_nonzero(TEMPERATURE.mean() + TEMPERATURE.std() < TEMPERATURE)
    assert low.returncode != 0 and "is below `t_boundary` (2 sigma, the default)" in low.stderr


@pytest.mark.parametrize("task", ["pdf", "power_spectrum", "projection", "slice", "halos"])
def test_the_only_array_is_the_field_of_analyses(tmp_path: Path, task: str) -> None:
    values = np.arange(1.0, 513.0).reshape(8, 8, 8)
    np.save(tmp_path / "aniso.npy", values)

    done = command(tmp_path, "analyze", "aniso.npy", "--box", "8", "--task", task, "--out", "out", "-n", 1)

    assert done.returncode == 0, done.stderr
    result = ss.open(tmp_path / "out").result(task, -1)
    if task == "slice":
        np.testing.assert_array_equal(result["aniso"], values[4])
    elif task == "pdf":
        assert float(result.attrs["aniso_mean"]) == values.mean()


def test_names_that_are_not_ascii_stop_no_others(tmp_path: Path) -> None:
    np.save(tmp_path / "Dichte äöü größe.npy", DENSITY)
    np.savez(tmp_path / "some.npz", density=DENSITY, größe=DENSITY, redshift=2.0, plane=DENSITY[0])
    np.savez(tmp_path / "none.npz", größe=DENSITY, höhe=DENSITY)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["gas/Größe (x)"] = TEMPERATURE
        file["gas/density"] = DENSITY
        file["gas/density"].attrs["units"] = "☉"

    alone = command(tmp_path, "halos", "find", "Dichte äöü größe.npy", "--box", "20", *THRESHOLDS, "--json")
    some = command(tmp_path, "analyze", "f.h5:/gas", "some.npz", "--box", "20", "--task", "pdf", "--out", "out")
    none = command(tmp_path, "analyze", "none.npz", "--box", "20", "--task", "pdf", "--out", "out")
    hint = command(tmp_path, "info", "f.h5")

    assert "hint: name one of them: none.npz:/NAME" in none.stderr
    assert alone.returncode == 0 and "`Dichte äöü größe` of Dichte äöü größe.npy is called `field`" in alone.stderr
    assert "`Größe (x)` of f.h5:/gas is left out: names of fields are in ASCII" in some.stderr
    assert "`density` of f.h5:/gas is in `☉`, which is left out" in some.stderr
    assert "`größe` of some.npz is left out" in some.stderr
    assert some.returncode == 0, some.stderr
    assert (
        'sidestream analyze f.h5:/gas --box "20 Mpc"' in hint.stderr and "f.h5:/gas (Größe (x), density)" in hint.stderr
    )


def test_a_place_with_spaces_is_quoted(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a (b).h5", "w") as file:
        file["all gas (x)/density"] = DENSITY

    done = command(tmp_path, "info", "a (b).h5")

    assert "sidestream analyze 'a (b).h5:/all gas (x)' --box" in done.stderr


def test_an_array_of_several_is_named(folder: Path) -> None:
    done = command(folder, "halos", "find", "both.npz:/gas_density", "--box", "20", *THRESHOLDS, "--json", "-n", 1)
    wrong = command(folder, "halos", "find", "both.npz:/gas", "--box", "20")

    assert json.loads(done.stdout)["halos"] > 10
    assert "there is no `gas` in the file" in wrong.stderr and "gas_density, temperature" in wrong.stderr


def test_a_pipe_is_no_array(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npy")

    done = command(tmp_path, "halos", "find", "pipe.npy", "--box", "20 Mpc")

    assert done.returncode != 0 and "this is no regular file" in done.stderr


@pytest.mark.parametrize("data", ["both.npz", "fields.h5:/gas", "fields.h5:gas"])
def test_all_arrays_of_a_file_are_fields(folder: Path, data: str) -> None:
    done = command(folder, "analyze", data, "--box", "20 kpc", "--task", "phase", "--out", "out", "-n", 2)

    assert done.returncode == 0, done.stderr
    assert "1 result was made, in out/results" in done.stderr
    result = ss.open(folder / "out").result("phase", -1)
    edges = [np.append(result[f"{axis}_low"], result[f"{axis}_high"][-1]) for axis in ("temperature", "density")]
    expected = np.histogram2d(TEMPERATURE.ravel(), (DENSITY / DENSITY.mean()).ravel(), edges)[0]
    np.testing.assert_array_equal(result["count"], expected)
    volume = 0.02**3
    assert float(result["volume"].sum()) == pytest.approx(volume * expected.sum() / DENSITY.size, rel=1e-12)
    unit = "K" if data.startswith("fields.h5") else "1"  # an array of NumPy tells none
    assert {result[name].attrs.get("units", "") for name in ("temperature_low", "median_temperature")} == {unit}


def test_a_series_of_arrays_has_the_steps_of_their_names(folder: Path) -> None:
    for step in (3, 40):
        np.save(folder / f"density_{step:04}.npy", step * DENSITY)

    done = command(
        folder,
        *("analyze", "density_0040.npy", "density_0003.npy", "--task", "pdf", "--out", "series"),
        *("--box", "20 Mpc", "--unit", "Msun/kpc^3"),
    )

    assert done.returncode == 0, done.stderr
    series = ss.open(folder / "series")
    assert series.steps("pdf") == [3, 40]
    means = [float(series.result("pdf", step).attrs["gas_density_mean"]) for step in (3, 40)]
    np.testing.assert_allclose(means, [3e9 * DENSITY.mean(), 40e9 * DENSITY.mean()], rtol=1e-14)  # in Msun/Mpc^3


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("density.npy",), ["how large their box is", "--box"]),
        (("density.npy", "--box", "20 miles"), ["`20 miles` is no box"]),
        (("density.npy", "--box", "1,2"), ["`1,2` is no box"]),
        (("density.npy", "--box", "-3 Mpc"), ["is no box"]),
        (("density.npy", "--box", "nan"), ["is no box"]),
        (("nothing.npy", "--box", "20"), ["there is no such file", "nothing.npy"]),
        (("fields.h5:/gas/Tmep", "--box", "20"), ["there is no `gas/Tmep`", "fields.h5:/gas (Temp, density)"]),
        (("fields.h5:/gas/plane", "--box", "20"), ["shape (20, 16)", "reshape(1, ny, nx)"]),
        (("fields.h5:/gaz", "--box", "20"), ["there is no `gaz`", "fields.h5:/gas (Temp, density)"]),
        (("fields.h5:/", "--box", "20"), ["no array of three axes", "fields.h5:/gas (Temp, density)"]),
        (("fields.h5", "--box", "20"), ["the file holds arrays", "fields.h5:/gas (Temp, density)"]),
        (("fields.h5",), ["the file holds arrays", "sidestream analyze fields.h5:/gas --box"]),
        (("text.npy", "--box", "20"), ["this is no file of NumPy"]),
        (("objects.npy", "--box", "20"), ["holds other things than numbers"]),
        (("cut.npz", "--box", "20"), ["cannot be read", "cut.npz"]),
        (("unlike.npz", "--box", "20"), ["different shapes", "a (2, 2, 2)", "b (2, 2, 3)"]),
        (("words.npy", "--box", "20"), ["array of <U1", "`array.astype(float)`"]),
        (("waves.npy", "--box", "20"), ["array of complex128", "`np.abs(array)`, or `array.real`"]),
        (("broken.npy", "--box", "20"), ["cannot be read", "broken.npy"]),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_is_wrong_is_told(folder: Path, words: tuple[str, ...], told: list[str]) -> None:
    np.savez(folder / "unlike.npz", a=np.ones((2, 2, 2)), b=np.ones((2, 2, 3)))
    np.save(folder / "waves.npy", np.ones((2, 2, 2), complex))
    np.save(folder / "words.npy", np.full((2, 2, 2), "x"))
    (folder / "broken.npy").write_bytes((folder / "density.npy").read_bytes()[:-9])

    (folder / "text.npy").write_text("1 2 3\n")
    np.save(folder / "objects.npy", np.full((1, 1, 1), {}))
    (folder / "cut.npz").write_bytes((folder / "both.npz").read_bytes()[:999])

    done = command(folder, "analyze", *words, "--task", "pdf", "--out", "out")

    assert done.returncode in (1, 2)
    assert "unsafely" not in done.stderr
    assert all(each in done.stderr for each in told), done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "out").exists()


@pytest.mark.parametrize("place", ["fields.h5", "fields.h5:/gas", "fields.h5:/gaz", "both.npz:/temperature"])
def test_info_of_arrays_tells_where_they_are(folder: Path, place: str) -> None:
    done = command(folder, "info", place)

    assert done.returncode == 1
    assert "the file holds arrays" in done.stderr
    if place.startswith("both"):
        return
    assert "fields.h5:/gas (Temp, density)" in done.stderr


def test_a_plot_file_needs_no_description(folder: Path) -> None:
    plot = Path(__file__).parents[1] / "data" / "nyx_plt00002"

    done = command(folder, "halos", "find", plot, "--box", "20 Mpc")

    assert done.returncode == 2
    assert "--box and --unit describe plain arrays" in done.stderr


@pytest.mark.parametrize("file", ["density.npy", "fields.h5"])
def test_who_asks_what_arrays_are_is_told_how_they_are_analysed(folder: Path, file: str) -> None:
    done = command(folder, "info", file)

    assert done.returncode == 1
    words = "density.npy" if file.endswith("npy") else "fields.h5:/gas"
    assert done.stderr.count(f'sidestream analyze {words} --box "20 Mpc" --task halos') == 1


def test_a_search_that_fails_names_the_arrays(folder: Path) -> None:
    hole = DENSITY.copy()
    hole[0, 0, 0] = np.nan
    np.save(folder / "hole.npy", hole)

    done = command(folder, "halos", "find", "hole.npy", "--box", "20", "-n", 1)

    assert done.returncode == 1
    assert "holds nan at the cell" in done.stderr
    assert "  --> hole.npy\n" in done.stderr
    assert "sidestream-" not in done.stderr
