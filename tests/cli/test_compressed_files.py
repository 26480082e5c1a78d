"""Compressed files through the program and the command line, and as h5py and yt read them."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

import sidestream
from calls import analyze_later, command, program
from configs import universe

hdf5plugin = pytest.importorskip("hdf5plugin")

ZFP, ZSTD = 32013, 32015
BOX = (
    universe(steps=4, box="8 Mpc", z_start=40, z_end=10)
    + """[task.pdf]
analysis = "pdf"
fields = ["gas_density"]
every = 4
transport = "file"

[output]
plotfile = { format = "sidestream", every = 4 }
checkpoint = { every = 2, keep = 0 }
"""
)
LOSSY = 'output.plotfile.compress={ gas_density = "zfp 1e-3 relative", "*" = "zstd" }'


def ran(folder: Path, out: str, *words: str, ranks: int = 2) -> Path:
    (folder / "box.toml").write_text(BOX)
    done = program(folder, ranks, "box.toml", "--quiet", "--out", out, *words)
    assert done.returncode == 0, done.stderr
    return folder / out


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(tmp_path_factory.mktemp("plain"), "run")


@pytest.fixture(scope="module")
def compressed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran(
        tmp_path_factory.mktemp("compressed"),
        "run",
        "--set",
        LOSSY,
        "--set",
        "output.checkpoint.compress=zstd",
        "--set",
        "coupling.compress=zstd",
        ranks=3,
    )


def plot(run: Path) -> Path:
    return next(run.glob("plt00004*"))


def test_a_plot_file_is_as_far_off_as_it_may_be(plain: Path, compressed: Path) -> None:
    exact, lossy = (sidestream.open(plot(run)) for run in (plain, compressed))

    assert lossy.fields == exact.fields
    for name in exact.fields:
        error = np.abs(lossy[name].values - exact[name].values).max() / np.abs(exact[name].values).max()
        assert 0 < error <= 1e-3 if name == "density" else error == 0
    assert command(compressed.parent, "verify", compressed).returncode == 0


def test_h5py_reads_what_we_read(compressed: Path) -> None:
    path = plot(compressed)
    with h5py.File(path) as file:
        density, temperature = file["dens"], file["temp"]
        assert [int(key) for key in density._filters if key.isdigit()] == [ZFP, ZSTD]
        assert [int(key) for key in temperature._filters if key.isdigit()] == [ZSTD]
        assert density.chunks == (1, *density.shape[1:])
        cells = np.sort(density[:], axis=None)
    found = np.sort(sidestream.open(path)["density"].values, axis=None)

    np.testing.assert_array_equal(cells, found)


def test_yt_reads_what_we_read(compressed: Path) -> None:
    yt = pytest.importorskip("yt")
    yt.set_log_level("error")
    path = plot(compressed)
    again = path.with_name("sidestream_hdf5_plt_cnt_0004")
    again.write_bytes(path.read_bytes())

    found = np.sort(np.asarray(yt.load(str(again)).all_data()[("flash", "dens")]))

    np.testing.assert_array_equal(found, np.sort(sidestream.open(path)["density"].values, axis=None))


def test_we_read_what_h5py_compressed(plain: Path, tmp_path: Path) -> None:
    path = tmp_path / "sidestream_hdf5_plt_cnt_0004"
    filters = {"dens": hdf5plugin.Zfp(accuracy=1e-3), "temp": hdf5plugin.Zstd()}
    with h5py.File(plot(plain)) as ours, h5py.File(path, "w") as theirs:
        for name, data in ours.items():
            if name in filters:
                theirs.create_dataset(name, data=data[:], chunks=(1, *data.shape[1:]), **filters[name])
            elif name not in ("sidestream", "checksum"):
                ours.copy(data, theirs)
        written = np.sort(theirs["dens"][:], axis=None)

    found = sidestream.open(path)

    np.testing.assert_array_equal(np.sort(found["density"].values, axis=None), written)
    np.testing.assert_array_equal(found["Temp"].values, sidestream.open(plot(plain))["Temp"].values)


def test_runs_go_on_from_a_compressed_checkpoint_to_the_bit(plain: Path, compressed: Path) -> None:
    names = [next(run.glob("chk00004*")) for run in (plain, compressed)]
    exact, other = map(sidestream.open, names)
    for name in exact.fields:
        np.testing.assert_array_equal(other[name].values, exact[name].values)

    for path in compressed.glob("chk00004*"):
        path.unlink()
    (compressed.parent / "on.toml").write_text(BOX)
    done = program(compressed.parent, 2, "box.toml", "--quiet", "--out", "run", "--restart")

    assert done.returncode == 0, done.stderr
    again = sidestream.open(next(compressed.glob("chk00004*")))
    for name in exact.fields:
        np.testing.assert_array_equal(again[name].values, exact[name].values)


def test_stored_snapshots_give_the_results_of_plain_ones(plain: Path, compressed: Path) -> None:
    tables = []
    for run in (plain, compressed):
        analyze_later(run, 1)
        tables.append(sidestream.open(run)["pdf"])

    assert tables[0].identical(tables[1]) or tables[0].equals(tables[1])
    sizes = [sum(path.stat().st_size for path in (run / "snapshots").rglob("*.raw")) for run in (plain, compressed)]
    assert sizes[1] < sizes[0]


def test_convert_compresses_each_field_as_it_is_told(plain: Path, tmp_path: Path) -> None:
    target = tmp_path / "small.raw"
    words = ("--format", "raw", "--compress", "density=zfp 1e-2 relative,zstd", "-n", 2)

    done = command(tmp_path, "convert", plot(plain), target, *words, "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bytes"] == target.stat().st_size < plot(plain).stat().st_size
    exact, small = sidestream.open(plot(plain)), sidestream.open(target)
    error = np.abs(small["density"].values * 1.0 - exact_in_units(exact, small)).max()
    assert 0 < error <= 1.001e-2 * np.abs(small["density"].values).max()


def exact_in_units(exact: sidestream.SnapshotFile, other: sidestream.SnapshotFile) -> np.ndarray:
    """The density of a FLASH file, in g/cm^3, in the unit of the other."""
    from sidestream.files.analysis_units import CM_PER_MPC, GRAMS_PER_MSUN

    assert (exact.units["density"], other.units["density"]) == ("g/cm^3", "Msun/Mpc^3")
    return exact["density"].values * (CM_PER_MPC**3 / GRAMS_PER_MSUN)


def test_wrong_words_are_refused_before_anything_is_written(plain: Path, tmp_path: Path) -> None:
    for words, message in (
        (("--format", "nyx", "--compress", "zstd"), "cannot hold compressed cells"),
        (("--format", "raw", "--compress", "zst"), "did you mean `zstd`?"),
        (("--format", "raw", "--compress", "heat=zstd"), "there is no quantity `heat`"),
    ):
        done = command(tmp_path, "convert", plot(plain), tmp_path / "never", *words, "-n", 1)

        assert done.returncode != 0
        assert message in done.stderr
        assert list(tmp_path.iterdir()) == []
