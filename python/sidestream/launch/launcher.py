"""How the programs of the package are found and started: the one place that knows about MPI launchers.

Everything Open MPI needs (root, more ranks than cores) is set in the environment, so that the same command line serves
any launcher; what the user has set already wins.
"""

from __future__ import annotations

import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .. import console
from ..error import Error
from ..machine import available_cores
from ..mpi import how_to_install

PROGRAM = "sidestream-run"
FILES = "sidestream-files"
HALOS = "sidestream-halos"
ATTACH = "sidestream-attach"
BENCH_IO = "sidestream-bench-io"
BENCH_MOVE = "sidestream-bench-move"
BENCH_TRANSFER = "sidestream-bench-transfer"
BENCH_FFT = "sidestream-bench-fft"
BENCH_STREAM = "sidestream-bench-stream"
BENCH_LBM = "sidestream-bench-lbm"
SHARED_SEGMENT_BYTES = 4100 * 1024  # of the memory that ranks of Open MPI share, a file
RANKS_OPTION = "-n"  # understood by mpirun, mpiexec, srun, aprun, jsrun
QUEUES = frozenset({"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"})  # where mpirun starts ranks on several machines
LAUNCHED = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")  # what launchers set
OF_A_JOB = re.compile(
    r"PMIX_(?!MCA_)|OMPI_MCA_(ess|pmix|orte_launch|orte_ess_|orte_precondition)|OMPI_APP_CTX_|ORTE_SCHIZO"
)
_SETPRIV = ("setpriv", "--pdeathsig", "TERM", "--")
JOB_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")  # how many ranks `mpirun` has started, of which a process is one
TOLD_TO_RANKS = re.compile(
    r"PMIX_(?!MCA_)|PMI_|PRTE_(?!MCA_|ALLOW)|HYD[I_]|MPI_LOCAL|ORTE_SCHIZO|OMPI_(?!MCA_|ALLOW)"
    r"|OMPI_MCA_(ess|pmix|orte_|initial_wdir|mpi_oversubscribe|shmem_RUNTIME)"
)


@dataclass(frozen=True)
class Launch:
    """A command ready to be started."""

    command: list[str]
    environment: dict[str, str]
    direct: bool  # no launcher in between: signals reach the program itself


def find_program(program: str = PROGRAM) -> Path:
    """The binary: `$SIDESTREAM_RUN`, else beside the Python interpreter, else on the PATH.

    Other programs of the package are looked for beside the one that `$SIDESTREAM_RUN` names.
    """
    named = os.environ.get("SIDESTREAM_RUN")
    if named and program == PROGRAM:
        if not os.access(named, os.X_OK) or Path(named).is_dir():
            raise Error("SIDESTREAM_RUN does not name a program", named, "set it to the path of `sidestream-run`")
        return Path(named).absolute()
    places = [str(Path(named).absolute().parent)] if named else []
    places.append(str(Path(sys.executable).parent))
    found = shutil.which(program, path=os.pathsep.join(places)) or shutil.which(program)
    if found is None:
        raise Error(
            f"the program `{program}` was not found",
            hint="install the package with `pip install .`, or set SIDESTREAM_RUN to the path of the program",
        )
    return Path(found).absolute()


def find_mpirun() -> str | None:
    """`mpirun`: beside the Python interpreter, where the wheels of MPI have theirs, else on the PATH."""
    return shutil.which("mpirun", path=str(Path(sys.executable).parent)) or (shutil.which("mpirun") and "mpirun")


def has_mpirun() -> bool:
    """Whether there is an `mpirun`."""
    return find_mpirun() is not None


def warn_of_few_cores(threads: int, what: str) -> None:
    """Ranks that share a core take turns, and all of them wait for the last; machines of a queue are not known here."""
    cores = available_cores()
    if threads > cores and not QUEUES.intersection(os.environ):
        console.say(
            f"warning: {threads} ranks and threads share {cores} core{'s' * (cores > 1)}: expect {what} to take "
            f"{threads / cores:.2g} times as long as with a core for each, and longer than with -n {cores}"
        )


def default_ranks() -> int:
    """One rank a core; a single rank where there is no `mpirun`."""
    return available_cores() if has_mpirun() else 1


def prepare(
    program: Path, arguments: Sequence[str], ranks: int, launcher: str | None = None, threads: int = 1
) -> Launch:
    """The command and environment that start `program` on `ranks` ranks.

    Args:
        program: the path of the binary.
        arguments: its arguments.
        ranks: the number of MPI ranks.
        launcher: a launcher with its own options, such as `"srun --exclusive"`; without it `mpirun`, and where that is
            missing the program itself, on one rank.
        threads: those of each rank that call MPI.
    """
    own = [str(program), *arguments]
    environment = mpi_environment(os.environ, ranks * threads)
    mpirun = find_mpirun()
    if launcher is None and mpirun is None:
        if ranks > 1:
            raise Error(
                f"{ranks} ranks need an MPI launcher, and `mpirun` was not found",
                hint=f"{how_to_install(None)}, name a launcher with --launcher, or use -n 1",
            )
        return Launch(own, environment, direct=True)
    _refuse_small_files()
    words = shlex.split(launcher) if launcher else [str(mpirun)]
    if words and Path(words[0]).is_absolute():  # ranks that start a job of their own look on the PATH
        environment["PATH"] = os.pathsep.join([str(Path(words[0]).parent), environment.get("PATH", os.defpath)])
    if not words or shutil.which(words[0]) is None:
        raise Error(
            f"the launcher `{words[0] if words else ''}` was not found", hint="--launcher names a program, such as srun"
        )
    return Launch([*words, RANKS_OPTION, str(ranks), *own], _outside_any_job(environment), direct=False)


def _outside_any_job(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what `mpirun` has told this process, where that is its only rank.

    Raises:
        Error: it is one of several, each of which would start a run.
    """
    sizes = [int(environment[name]) for name in JOB_SIZES if environment.get(name, "").isdigit()]
    if not sizes:
        return dict(environment)
    if max(sizes) > 1:
        raise Error(
            f"a launcher has started this {max(sizes)} times, and it starts the ranks of a run by itself",
            hint=f"leave the launcher out, and ask for the ranks with {RANKS_OPTION}",
        )
    return {name: text for name, text in environment.items() if not TOLD_TO_RANKS.match(name)}


def _refuse_small_files() -> None:
    """Ranks share memory by files; where these may not be as large, MPI fails when it starts and never ends."""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit != resource.RLIM_INFINITY and limit < SHARED_SEGMENT_BYTES:
        raise Error(
            f"no file may be larger than {limit / 1024:.0f} KiB here (ulimit -f), and MPI needs "
            f"{SHARED_SEGMENT_BYTES / 1024:.0f} KiB to start",
            hint="raise the limit: `ulimit -f unlimited`",
        )


def ending_with_us(command: Sequence[str]) -> list[str]:
    """The command of a process that is told to end when this one has ended, however that was: by `kill -9` too.

    On Linux, where there is the `setpriv` of util-linux; elsewhere the command as it is.
    """
    return [*(_SETPRIV if _has_setpriv() else ()), *command]


@cache
def _has_setpriv() -> bool:
    try:
        return subprocess.run([*_SETPRIV, "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0
    except OSError:
        return False


def mpi_environment(base: Mapping[str, str], threads: int) -> dict[str, str]:
    """The environment of the ranks, with so many threads in all: `base` and what Open MPI needs on this machine."""
    wanted = {
        "OMPI_MCA_rmaps_base_oversubscribe": "1",  # Open MPI counts cores, not what the user asked for
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # the same for Open MPI 5
        "OMPI_MCA_hwloc_base_binding_policy": "none",  # two jobs on a machine must not share core 0
        "PRTE_MCA_hwloc_default_binding_policy": "none",
    }
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        wanted |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        wanted |= {"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if threads > available_cores():
        wanted["OMPI_MCA_mpi_yield_when_idle"] = "1"
    return wanted | _without_own_job(base)


def _without_own_job(base: Mapping[str, str]) -> dict[str, str]:
    """The environment without what MPI adds to that of a process which begins it without a launcher.

    Programs that such a process starts, as a script does that has opened a file, would be taken for parts of its job of
    one, and `mpirun` ends without a word. What a launcher tells its ranks stays.
    """
    has_launcher = any(name in base for name in LAUNCHED)
    is_alone = base.get("OMPI_MCA_ess") == "singleton" or ("PMIX_NAMESPACE" in base and not has_launcher)
    return {name: text for name, text in base.items() if not (is_alone and OF_A_JOB.match(name))}
