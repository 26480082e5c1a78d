"""Transfers to sidecars go on while the simulation computes, also where MPI may not copy from process to process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from calls import command
from configs import universe

CONFIG = (
    universe(cells=64, block=32, steps=8, box="14.2 Mpc", z_start=50, z_end=0)
    + """[coupling]
sidecars = 1
shared_memory = {shared_memory}

[task.phase]
analysis = "phase"
transport = "in-transit"
every = 5

[task.spectra]
analysis = "power_spectrum"
transport = "in-transit"
every = 5
"""
)

# Where one process may not read another's memory (containers forbid it), data move by a buffer that both share, piece
# by piece, whenever both call MPI. The first holds for Open MPI 4, the second for 5, the third for MPICH.
WITHOUT_SINGLE_COPY = {
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_smsc": "^cma,knem,xpmem",
    "MPIR_CVAR_CH4_CMA_ENABLE": "0",
}

# Stands before the system's library: tells who has loaded it, and counts the copies from process to process that MPI
# makes.
COUNTER = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static void note(const char* path, const char* line) {
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (write(file, line, strlen(line)) > 0) close(file);
}
__attribute__((constructor)) static void load(void) {
  char line[64];
  snprintf(line, sizeof line, "%s\n", program_invocation_short_name);
  note(LOADED, line);
}
#define COPY(name, number)                                                                                      \
  ssize_t name(pid_t pid, const struct iovec* here, unsigned long m, const struct iovec* there, unsigned long n, \
               unsigned long flags) {                                                                           \
    note(COPIES, "x");                                                                                          \
    return syscall(number, pid, here, m, there, n, flags);                                                      \
  }
COPY(process_vm_readv, SYS_process_vm_readv)
COPY(process_vm_writev, SYS_process_vm_writev)
"""

# Copies from itself to itself, by the function of the system's library that MPI calls.
COPIES_ONE_BYTE = """
import ctypes, os
class Memory(ctypes.Structure):
    _fields_ = [("first", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
source, copy = ctypes.create_string_buffer(b"a", 1), ctypes.create_string_buffer(1)
here, there = (Memory(ctypes.addressof(buffer), 1) for buffer in (copy, source))
ctypes.CDLL(None).process_vm_readv(os.getpid(), ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
"""


def counter(folder: Path) -> Path:
    """The library, which leaves a line for each process in the file `loaded`, and a byte for each copy in `copies`."""
    (folder / "counter.c").write_text(COUNTER)
    library = folder / "counter.so"
    files = [f'-D{name.upper()}="{folder / name}"' for name in ("loaded", "copies")]
    subprocess.run(["cc", "-shared", "-fPIC", *files, "-o", library, folder / "counter.c"], check=True)
    return library


def test_the_counter_sees_a_copy(tmp_path: Path) -> None:
    environment = os.environ | {"LD_PRELOAD": str(counter(tmp_path))}

    subprocess.run([sys.executable, "-c", COPIES_ONE_BYTE], env=environment, check=True)

    assert (tmp_path / "copies").read_text() == "x"


def events(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(("shared_memory", "most_steps"), [("true", 1), ("false", 2)])
def test_the_sidecar_has_a_publish_of_6_mib_within_two_steps(
    tmp_path: Path, shared_memory: str, most_steps: int
) -> None:
    """Memory that both share needs no step but the one that is under way."""
    (tmp_path / "box.toml").write_text(CONFIG.format(shared_memory=shared_memory))
    preloaded = {"LD_PRELOAD": str(counter(tmp_path))}
    done = command(tmp_path, "run", "box.toml", "-n", 2, "--out", "o", **WITHOUT_SINGLE_COPY, **preloaded)
    assert done.returncode == 0, done.stderr
    # Both ranks, and before them the check of the configuration.
    assert (tmp_path / "loaded").read_text().split().count("sidestream-run") == 3
    assert not (tmp_path / "copies").exists(), "MPI copied from process to process"

    computing = events(tmp_path / "o" / "events.jsonl")
    receive = [e for e in events(tmp_path / "o" / "events.sidecar.jsonl") if e["event"] == "receive"]
    assert all(e["bytes_in_place"] == (e["bytes"] if shared_memory == "true" else 0) for e in receive)
    received = {e["step"]: e["t"] for e in receive}
    sent = {e["step"]: e["t"] for e in computing if e["event"] == "publish"}
    assert sum(e["bytes"] for e in computing if e["event"] == "publish" and e["step"] == 0) == 6 * 2**20
    assert sent.keys() == received.keys() == {0, 5}
    for step, time in sent.items():
        meanwhile = [e["step"] for e in computing if e["event"] == "step" and time < e["t"] < received[step]]
        assert len(meanwhile) <= most_steps, f"the publish of step {step} took the steps {meanwhile}"
