"""`sidestream doctor`: whether all that a run needs is here and goes together."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..error import Error
from ..machine import available_cores
from ..mpi import family, how_to_install, refusal
from .launcher import (
    ATTACH,
    FILES,
    HALOS,
    PROGRAM,
    SHARED_SEGMENT_BYTES,
    find_mpirun,
    find_program,
    has_mpirun,
    prepare,
)

GOOD, WARNING, BAD = "good", "warning", "bad"
FEW_FILES = 1024  # open at a time; streams with many readers need more
LITTLE_SHARED_BYTES = 256 << 20
START_LIMIT_S = 60.0
EXTRAS = {
    "yt": "snapshots as data sets of yt: pip install 'sidestream[yt]'",
    "adios2": "files of ADIOS2: pip install 'sidestream[adios]'",
    "av": "movies: pip install 'sidestream[movie]'",
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what it is, how it is (`good`, `warning`, `bad`), and what to do about it."""

    what: str
    state: str
    found: str
    hint: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def findings() -> Iterator[Finding]:
    """Looks at everything, one after another."""
    for look in (_programs, _library, _mpi4py, _ranks, _cores, _shared_memory, _reading_others, _limits, _extras):
        try:
            yield from look()
        except (Error, OSError) as problem:
            hint = problem.hint if isinstance(problem, Error) else ""
            what = problem.what if isinstance(problem, Error) else str(problem)
            yield Finding(look.__name__.strip("_").replace("_", " "), BAD, what, hint)


def _programs() -> Iterator[Finding]:
    place = find_program(PROGRAM)
    done = subprocess.run([str(place), "--version"], capture_output=True, text=True, timeout=START_LIMIT_S)
    if done.returncode != 0:
        known = refusal(done.stderr)
        what, hint = (known.what, known.hint) if known else (done.stderr.strip(), "install the package again")
        yield Finding("programs", BAD, f"{place} does not start: {what}", hint)
        return
    told = done.stdout.strip()
    own = _version_of("sidestream")
    is_ours = own is None or own.partition("+")[0] in told  # a wheel has a label with its MPI
    hint = "" if is_ours else f"the package is {own}: look for another `{PROGRAM}` on the PATH or in SIDESTREAM_RUN"
    yield Finding("programs", GOOD if is_ours else WARNING, f"{place}, {told}", hint)
    for other in (FILES, HALOS, ATTACH):
        find_program(other)


def _library() -> Iterator[Finding]:
    """The MPI that the library was built for, and the one whose launcher is found."""
    built = _built_for()
    mpirun = find_mpirun()
    if mpirun is None:
        yield Finding(
            "launcher",
            WARNING,
            "there is no `mpirun` beside Python or on the PATH: runs have one rank",
            f"{how_to_install(built)}, or name a launcher with --launcher",
        )
        return
    told = subprocess.run([mpirun, "--version"], capture_output=True, text=True, timeout=START_LIMIT_S).stdout
    first = " ".join(" ".join(told.splitlines()[: 2 if "HYDRA" in told else 1]).split())
    fits = built is None or family(told) in (None, built)
    hint = "" if fits else f"the programs were built for {built}: have its `mpirun` beside Python or first on the PATH"
    yield Finding("launcher", GOOD if fits else BAD, f"{shutil.which(mpirun)}: {first}", hint)


def _mpi4py() -> Iterator[Finding]:
    if find_spec("mpi4py") is None:
        use = "the ranks of Python programs: pip install 'sidestream[mpi]'"
        yield Finding("mpi4py", GOOD, "not installed", use)
        return
    code = "from mpi4py import MPI; print(MPI.Get_library_version())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=START_LIMIT_S)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it does not load"])[-1]
        yield Finding("mpi4py", WARNING, last, "install it for the MPI of the programs")
        return
    first, built = done.stdout.splitlines()[0].rstrip("\0").split(",")[0], _built_for()
    fits = built is None or family(done.stdout) == built
    hint = "" if fits else f"build it for {built}: pip install --no-binary mpi4py --force-reinstall mpi4py"
    yield Finding("mpi4py", GOOD if fits else BAD, first, hint)


def _ranks() -> Iterator[Finding]:
    """Two ranks that talk to each other, as every run begins, and then write an array by one call of parallel HDF5."""
    if not has_mpirun():
        return
    took, problem = _step_of_two("automatic")
    if problem:
        within = "" if took < START_LIMIT_S else "MPI cannot start here: look for firewalls between the ranks, and "
        yield Finding("two ranks", BAD, problem, f"{within}try `mpirun -n 2 hostname`")
        return
    yield Finding("two ranks", GOOD, f"start, take a step and write a file together in {took:.1f} s")
    took, problem = _step_of_two("hdf5-collective")
    hint = 'the HDF5 of the programs is to be built for their MPI; runs need it only for `method = "hdf5-..."`'
    good = f"an array is written collectively, in {took:.1f} s with the start"
    yield Finding("parallel HDF5", WARNING if problem else GOOD, problem or good, hint if problem else "")


def _step_of_two(method: str) -> tuple[float, str]:
    """The seconds that a run of two ranks takes for a step and a checkpoint written by `method`, and what is wrong."""
    with tempfile.TemporaryDirectory(prefix="sidestream-") as folder:
        config = Path(folder) / "two.toml"
        config.write_text(
            'simulation = "sod"\n[run]\nmax_steps = 1\n[mesh]\ncells = [16, 8, 8]\nblock = 8\n'
            f'[output]\ncheckpoint = {{ format = "sidestream", method = "{method}", every = 1 }}\n'
        )
        launch = prepare(find_program(PROGRAM), [str(config), "--out", f"{folder}/run", "--quiet"], 2)
        began = time.monotonic()
        try:
            done = subprocess.run(
                launch.command, env=launch.environment, capture_output=True, text=True, timeout=START_LIMIT_S
            )
        except subprocess.TimeoutExpired:
            return START_LIMIT_S, f"a step of two ranks does not end within {START_LIMIT_S:.0f} s"
        took = time.monotonic() - began
    said = done.stderr.strip().splitlines() or ["it failed"]
    errors = [line for line in said if line.startswith("error: ")]  # before them a run may say that it goes on
    return took, "" if done.returncode == 0 else (errors or said)[0].removeprefix("error: ")


def _cores() -> Iterator[Finding]:
    cores = available_cores()
    memory = os.sysconf("SC_PAGESIZE") * os.sysconf("SC_PHYS_PAGES")
    few = cores < 2
    hint = "sidecars and threads share it with the simulation" if few else ""
    yield Finding("cores", WARNING if few else GOOD, f"{cores}, with {memory / 2**30:.0f} GiB of memory", hint)


def _shared_memory() -> Iterator[Finding]:
    place = Path("/dev/shm")
    if not place.is_dir():
        yield Finding("shared memory", WARNING, "there is no /dev/shm", "data go from rank to rank by messages")
        return
    free = shutil.disk_usage(place).free
    little = free < LITTLE_SHARED_BYTES
    hint = "containers have little by default: `docker run --shm-size=2g`, or coupling.shared_memory = false"
    yield Finding("shared memory", WARNING if little else GOOD, f"{free / 2**20:.0f} MiB free", hint if little else "")


def _reading_others() -> Iterator[Finding]:
    """Whether processes may read each other's memory, as MPI does within a node."""
    path = Path("/proc/sys/kernel/yama/ptrace_scope")
    scope = path.read_text().strip() if path.exists() else "0"
    try:
        allowed = scope == "0" and _reads_a_child()  # ranks are not each other's children
    except (AttributeError, OSError):
        allowed = False
    hint = "transfers move only while both sides call MPI; containers: --cap-add SYS_PTRACE"
    word = "may read each other's memory" if allowed else "may not read each other's memory"
    yield Finding("processes", GOOD if allowed else WARNING, word, "" if allowed else hint)


def _reads_a_child() -> bool:
    """Whether `process_vm_readv` of a process of one's own is allowed."""

    class Piece(ctypes.Structure):
        _fields_ = [("start", ctypes.c_void_p), ("size", ctypes.c_size_t)]

    source, target = ctypes.create_string_buffer(b"read"), ctypes.create_string_buffer(4)
    child = os.fork()
    if child == 0:
        time.sleep(START_LIMIT_S)
        os._exit(0)
    try:
        call = ctypes.CDLL(None, use_errno=True).process_vm_readv
        own, other = Piece(ctypes.addressof(target), 4), Piece(ctypes.addressof(source), 4)
        return int(call(child, ctypes.byref(own), 1, ctypes.byref(other), 1, 0)) == 4
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


def _limits() -> Iterator[Finding]:
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = most != resource.RLIM_INFINITY and most < FEW_FILES
    hint = f"raise it where streams have many readers: ulimit -n {FEW_FILES}" if few else ""
    yield Finding("open files", WARNING if few else GOOD, f"{files}, at most {_count(most)} (ulimit -n)", hint)
    size, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    small = size != resource.RLIM_INFINITY and size < SHARED_SEGMENT_BYTES
    hint = "raise it: ulimit -f unlimited" if small else ""
    yield Finding("size of files", BAD if small else GOOD, f"{_count(size)} (ulimit -f)", hint)


def _extras() -> Iterator[Finding]:
    for name, use in EXTRAS.items():
        found = _version_of(name) if find_spec(name) is not None else None
        yield Finding(name, GOOD, found) if found else Finding(name, GOOD, "not installed", use)


def _built_for() -> str | None:
    """The MPI of the installed library, by its own word."""
    path = Path(sys.prefix) / "lib" / "libsidestream.so.1"
    try:
        name: Callable[[], bytes] = ctypes.CDLL(str(path)).sidestream_mpi
    except (OSError, AttributeError):
        return None
    name.restype = ctypes.c_char_p  # type: ignore[attr-defined]
    return name().decode()


def _version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _count(number: int) -> str:
    return "without limit" if number == resource.RLIM_INFINITY else str(number)
