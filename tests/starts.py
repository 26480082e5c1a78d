"""Programs of Open MPI start in two thirds of their time where nobody looks for what the machine of tests has not.

Each `mpirun` and each rank would ask the PCI bus for its devices, and try networks: tests lie on one machine.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from pathlib import Path


def quicken_starts() -> None:
    """For all programs that are started from now on; workers of pytest-xdist have it from the process before them."""
    os.environ.setdefault("OMPI_MCA_pml", "ob1")
    os.environ.setdefault("OMPI_MCA_btl", "self,vader")
    lister = shutil.which("lstopo-no-graphics")
    if lister is None or "HWLOC_XMLFILE" in os.environ:
        return
    handle, name = tempfile.mkstemp(prefix="sidestream-topology-", suffix=".xml")
    os.close(handle)
    atexit.register(_remove, Path(name), os.getpid())
    if subprocess.run([lister, "--of", "xml", "-f", name], capture_output=True).returncode == 0:
        os.environ |= {"HWLOC_XMLFILE": name, "HWLOC_THISSYSTEM": "1"}


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # not a process that was forked
        path.unlink(missing_ok=True)
