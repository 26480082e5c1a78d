"""Wheels of `make wheels`, each in an environment of its own with its MPI, and the system's out of sight.

Each test stands for a promise to whoever installs one: nothing else is needed, the bits are those of any other build,
and the other MPI is refused by name.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from calls import command, program
from hosts import HOSTS
from sidestream.launch.launcher import mpi_environment
from test_faults import results, state_in
from test_instruction_sets import STEPS, flow_of_doubles, gas, universe

pytestmark = pytest.mark.slow

DIST = Path(__file__).parents[2] / "dist"
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
OTHER = {"openmpi": "mpich", "mpich": "openmpi"}
OF_THE_SYSTEM = re.compile(
    r"(/usr)?/lib(64)?/[\w/-]*(ld-linux-|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|z|util|resolv)\.so).*"
)
# Has the loader find no MPI of the system, and calls what follows: its folder of libraries is laid over by itself.
WITHOUT_MPI = """
lib=/usr/lib/$(/usr/bin/uname -m)-linux-gnu
/usr/bin/mount -t overlay overlay -o "lowerdir=$lib,upperdir=$1/upper,workdir=$1/work" $lib || exit 99
/usr/bin/rm -f $lib/libmpi.so.* $lib/libmpich.so.*
shift
exec "$@"
"""
PULSE_TASKS = """
[task.values]
analysis = "pdf"
fields = ["height"]
every = 32
in_means = false
low = 1e-3
high = 1e3
[output]
checkpoint = { every = 96 }
"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment, from which commands see only it and the tools that are named."""

    prefix: Path
    family: str
    tools: Path
    before: tuple[object, ...] = ()  # words that every command comes after

    @property
    def bin(self) -> Path:
        return self.prefix / "bin"

    def call(self, folder: Path, *words: object, **extra: str) -> subprocess.CompletedProcess[str]:
        visible = {"PATH": str(self.tools), "HOME": str(self.prefix), "TMPDIR": "/tmp", "NO_COLOR": "1"}
        return subprocess.run(
            [*map(str, self.before), str(self.bin / str(words[0])), *map(str, words[1:])],
            cwd=folder,
            env=visible | extra,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def good(self, folder: Path, *words: object, **extra: str) -> str:
        done = self.call(folder, *words, **extra)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ranks(self, folder: Path, ranks: int, *words: object) -> str:
        """A program of the environment by its own launcher."""
        extra = mpi_environment({"PATH": str(self.tools)}, ranks)
        return self.good(folder, "mpirun", "-n", ranks, *words, **extra)

    def doctor(self, folder: Path) -> tuple[int, Mapping[str, Mapping[str, str]]]:
        done = self.call(folder, "sidestream", "doctor", "--json")
        return done.returncode, {finding["what"]: finding for finding in json.loads(done.stdout)}


def wheel_for(family: str) -> Path:
    found = sorted(DIST.glob(f"sidestream-*+{family}-*.whl"))
    if not found:
        pytest.skip(f"there is no wheel for {family} in dist (make wheels)")
    return found[-1]


def made(folder: Path, family: str, *install: object) -> Environment:
    """An environment with what is named, and a folder with the few tools that scripts of MPI call."""
    prefix, tools = folder / family, folder / f"{family}-tools"
    tools.mkdir()
    for name in ("sh", "dirname", "sed", "expr", "cat", "ls", "gcc", "as", "ld", "cc", "pkg-config"):
        tool = Path("/usr/bin") / name
        if tool.exists():
            (tools / name).symlink_to(tool)
    subprocess.run([sys.executable, "-m", "venv", prefix], check=True)
    subprocess.run([prefix / "bin" / "pip", "install", "--quiet", *map(str, install)], check=True)
    return Environment(prefix, family, tools)


@pytest.fixture(scope="module", params=NAMES)
def wheel(request: pytest.FixtureRequest) -> Path:
    return wheel_for(request.param)


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return made(tmp_path_factory.mktemp("wheels"), re.findall(r"\+(\w+)-", wheel.name)[0], wheel, "mpi4py")


@pytest.fixture(scope="module")
def with_the_other(environment: Environment, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel with the MPI of the other, by pip told to look at no requirements; what is pure Python is shared.

    The system's MPI is hidden from the loader, which would find it where the environment's is missing.
    """
    layers = tmp_path_factory.mktemp("layers")
    for name in ("upper", "work"):
        (layers / name).mkdir()
    before = ("/usr/bin/unshare", "-m", "/bin/sh", "-c", WITHOUT_MPI, "sh", layers)
    if subprocess.run([*map(str, before), "/bin/true"], capture_output=True).returncode != 0:
        pytest.skip("not allowed here: to lay a folder over that of the system's libraries")
    other = OTHER[environment.family]
    fresh = made(tmp_path_factory.mktemp("other"), other, "--no-deps", wheel, other)
    pure = next(environment.prefix.glob("lib/python*/site-packages"))
    (next(fresh.prefix.glob("lib/python*/site-packages")) / "shared.pth").write_text(f"{pure}\n")
    return replace(fresh, before=before)


def test_it_brings_its_libraries_with_their_licences_and_asks_for_its_mpi(wheel: Path) -> None:
    family = re.findall(r"\+(\w+)-", wheel.name)[0]
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        read = {name: file.read(name).decode() for name in names if ".dist-info/" in name}
    brought = {re.findall(r"(lib\w+?)-sidestream", name)[0] for name in names if "/data/lib/sidestream/" in name}
    metadata = next(text for name, text in read.items() if name.endswith("/METADATA"))

    assert {"libhdf5", "libhdf5_hl", "libzmq"} <= brought
    assert not [name for name in names if re.search(r"lib(mpi|fftw|open-)", name)]
    assert f"Requires-Dist: {family}" in metadata
    texts = {name for name in read if "/licenses/libraries/lib" in name}
    assert {Path(name).stem for name in texts} == brought
    assert min(len(read[name]) for name in texts) > 500
    assert any(name.endswith("/licenses/LICENSE") for name in read)


def test_auditwheel_finds_that_the_platform_in_its_name_is_true(wheel: Path) -> None:
    said = subprocess.run(
        [Path(sys.executable).with_name("auditwheel"), "show", wheel], capture_output=True, text=True, check=True
    ).stdout
    promised = re.findall(r"manylinux_2_(\d+)", wheel.name)[0]
    needed = re.findall(r"GLIBC_2\.(\d+)", said)
    assert needed, said
    assert max(map(int, needed)) <= int(promised)


def test_all_libraries_are_of_the_environment_or_of_any_linux(environment: Environment, tmp_path: Path) -> None:
    folders = [environment.bin, *environment.prefix.glob("lib/**/sidestream"), environment.prefix / "lib"]
    files = [
        path for folder in folders for path in folder.iterdir() if "sidestream" in str(path) or "_core" in str(path)
    ]
    checked = 0
    for file in files:
        if not file.is_file() or file.open("rb").read(4) != b"\x7fELF":
            continue
        said = subprocess.run(["ldd", file], capture_output=True, text=True, env={"PATH": "/usr/bin"}).stdout
        for name, place in re.findall(r"(\S+) => (\S+)", said):
            assert place.startswith(str(environment.prefix)) or OF_THE_SYSTEM.fullmatch(place), (
                f"{file}: {name} is {place}"
            )
        assert "not found" not in said
        checked += "libmpi" in said
    assert checked > 8


def test_a_process_has_the_environments_mpi_and_the_wheels_hdf5(environment: Environment, tmp_path: Path) -> None:
    code = """
import sidestream.core, h5py
from mpi4py import MPI
sidestream.core.extension()
print(MPI.Get_library_version())
print(open("/proc/self/maps").read())
"""
    said = environment.good(tmp_path, "python", "-c", code)
    mpi = set(re.findall(r"(/\S*/libmpi\.so\S*)", said))
    hdf5 = set(re.findall(r"(/\S*/libhdf5\S*)", said))

    assert NAMES[environment.family] in said
    assert {str(Path(path).parent) for path in mpi} == {str(environment.prefix / "lib")}
    assert len(mpi) == 1
    assert any("libhdf5-sidestream" in path for path in hdf5)
    assert all(path.startswith(str(environment.prefix)) for path in hdf5)


def test_doctor_finds_nothing_bad(environment: Environment, tmp_path: Path) -> None:
    code, seen = environment.doctor(tmp_path)

    assert code == 0, seen
    assert seen["launcher"]["found"].startswith(str(environment.bin / "mpirun"))
    assert seen["programs"]["state"] == seen["mpi4py"]["state"] == seen["two ranks"]["state"] == "good"


@pytest.mark.parametrize("start", [universe, gas, flow_of_doubles])
def test_runs_restarts_and_analyses_have_the_bits_of_the_ordinary_build(
    start, environment: Environment, tmp_path: Path
) -> None:
    (tmp_path / "box.toml").write_text(start(tmp_path))
    last = f"chk{STEPS:05d}.hdf5_chk"
    ordinary = program(tmp_path, 1, "box.toml", "--quiet", "--out", "ordinary")
    assert ordinary.returncode == 0, ordinary.stderr

    environment.good(tmp_path, "sidestream", "run", "box.toml", "-n", 2, "--out", "whole")
    short = ("--set", "run.max_steps=2", "--set", "output.checkpoint.every=2")
    environment.good(tmp_path, "sidestream", "run", "box.toml", "-n", 2, "--out", "parted", *short)
    environment.good(tmp_path, "sidestream", "run", "box.toml", "-n", 1, "--out", "parted", "--restart")

    assert len(results(tmp_path / "ordinary")) > STEPS
    for out in ("whole", "parted"):
        assert results(tmp_path / out) == results(tmp_path / "ordinary")
        assert state_in(tmp_path / out / last) == state_in(tmp_path / "ordinary" / last)
    assert "checkpoint" in environment.good(tmp_path, "sidestream", "info", f"whole/{last}")


def test_a_plot_file_is_analysed_on_two_ranks_and_converted(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(gas(tmp_path) + '\n[output.plotfile]\nformat = "flash"\nevery = 3\n')
    environment.good(tmp_path, "sidestream", "run", "box.toml", "-n", 2, "--out", "run")
    plot = next((tmp_path / "run").glob("*plt*"))

    environment.good(tmp_path, "sidestream", "analyze", plot, "--task", "power_spectrum", "-n", 2, "--out", "two")
    ordinary = command(tmp_path, "analyze", plot, "--task", "power_spectrum", "-n", 1, "--out", "ordinary")
    environment.good(tmp_path, "sidestream", "convert", plot, "other.hdf5_chk", "--format", "sidestream")

    assert ordinary.returncode == 0, ordinary.stderr
    assert results(tmp_path / "two") == results(tmp_path / "ordinary") != {}
    assert len(state_in(tmp_path / "other.hdf5_chk")) > 3


def test_a_program_in_python_has_its_session_on_two_ranks(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(PULSE_TASKS)
    for ranks, out in ((2, "two"), (1, "one")):
        environment.ranks(tmp_path, ranks, environment.bin / "python", HOSTS / "pulse.py", "tasks.toml", out)

    assert len(results(tmp_path / "two")) == 4
    assert results(tmp_path / "two") == results(tmp_path / "one")


def test_a_program_in_c_is_built_by_the_compiler_of_the_wheels(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "tasks.toml").write_text(PULSE_TASKS)
    told = {"PKG_CONFIG_PATH": str(environment.prefix / "lib" / "pkgconfig")}
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "sidestream"],
        env=told | {"PATH": "/usr/bin"},
        capture_output=True,
        text=True,
    ).stdout.split()
    environment.good(tmp_path, "mpicc", HOSTS / "wave.c", "-o", "wave", *flags, "-lm")

    environment.ranks(tmp_path, 2, tmp_path / "wave", "tasks.toml", "wave-run")
    assert results(tmp_path / "wave-run")


def test_it_is_refused_by_name_where_its_mpi_is_missing(
    environment: Environment, with_the_other: Environment, tmp_path: Path
) -> None:
    name = NAMES[environment.family]
    expected = f"sidestream was built for {name}, whose library libmpi.so"
    (tmp_path / "box.toml").write_text(gas(tmp_path))

    code, seen = with_the_other.doctor(tmp_path)
    run = with_the_other.call(tmp_path, "sidestream", "run", "box.toml", "-n", 2, "--out", "run")
    loaded = with_the_other.call(tmp_path, "python", "-c", "import sidestream.core as c; c.extension()")

    assert code == 1
    assert expected in seen["programs"]["found"]
    for done in (run, loaded):
        assert done.returncode != 0
        assert expected in done.stderr
        assert f"pip install {environment.family}" in done.stderr


def test_the_launcher_of_the_other_mpi_is_refused_by_name(
    environment: Environment, with_the_other: Environment, tmp_path: Path
) -> None:
    (tmp_path / "box.toml").write_text(gas(tmp_path))
    launcher = f"{with_the_other.bin}/mpirun"

    done = environment.call(tmp_path, "sidestream", "run", "box.toml", "-n", 2, "--out", "run", "--launcher", launcher)

    assert done.returncode == 1
    assert f"it is not that of {NAMES[environment.family]}" in done.stderr
    assert done.stderr.count("error: ") == 1


def test_communicators_of_the_other_mpi_are_refused_by_name(
    environment: Environment, with_the_other: Environment, tmp_path: Path
) -> None:
    library = next(with_the_other.prefix.glob("lib/libmpi.so.*"))
    code = """
import numpy, sidestream
from mpi4py import MPI
sidestream.halos(numpy.ones((8, 8, 8)), comm=MPI.COMM_WORLD, box_size=1.0, t_halo="2 mean")
"""
    done = environment.call(tmp_path, "python", "-c", code, MPI4PY_LIBMPI=str(library))

    assert done.returncode == 1
    name, other = NAMES[environment.family], NAMES[with_the_other.family]
    assert f"sidestream was built for {name}, and mpi4py runs {other}" in done.stderr


def test_a_program_of_the_other_mpi_is_refused_by_the_stub_by_name(
    environment: Environment, with_the_other: Environment, tmp_path: Path
) -> None:
    stub = with_the_other.prefix / "share" / "sidestream" / "sidestream_stub.c"
    include = f"-I{with_the_other.prefix / 'include'}"
    with_the_other.good(tmp_path, "mpicc", include, HOSTS / "wave.c", stub, "-o", "wave", "-ldl", "-lm")
    (tmp_path / "tasks.toml").write_text(PULSE_TASKS)

    library = {"SIDESTREAM_LIBRARY": str(environment.prefix / "lib" / "libsidestream.so.1")}
    extra = mpi_environment({"PATH": str(environment.tools)}, 2) | library
    done = with_the_other.call(tmp_path, "mpirun", "-n", 2, tmp_path / "wave", "tasks.toml", "run", **extra)

    assert done.returncode != 0
    name, other = NAMES[environment.family], NAMES[with_the_other.family]
    assert f"the library was built for {name}, and the program runs {other}" in done.stderr
