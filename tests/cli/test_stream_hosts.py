"""Streams between two hosts, which are network namespaces: ranks without a route, a link that is cut, full buffers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import job
from sidestream.launch.launcher import find_program, mpi_environment
from sidestream.launch.streams.link import ADDRESSES, ShapedLink
from sidestream.streams import make_keys
from test_faults import results
from test_streams import BOX, LIVE, SLICES, STEPS, STORED, cells_of, events, expected_results, write
from tiers import slow
from waiting import until

PORT = 5555
ADDRESS = f"tcp://{ADDRESSES[0]}:{PORT}"
OPEN = f'[stream]\nlisten = "tcp://*:{PORT}"\nkeys = "none"\n'
RUN, READER = 0, 1  # hosts
ISLAND = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

// Once MPI has begun, ranks other than the first are on a host of their own that no link leads to.
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  int rank = 0;
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) return code;
  const int island = open(getenv("ISLAND"), O_RDONLY);
  if (island < 0 || setns(island, CLONE_NEWNET) != 0) _exit(99);
  close(island);
  return code;
}
"""


@contextmanager
def two_hosts(rate: str) -> Iterator[ShapedLink]:
    link = ShapedLink(rate)
    try:
        link.__enter__()
    except sidestream.Error as problem:
        pytest.skip(f"not allowed here: two hosts: {problem.what}")
    try:
        yield link
    finally:
        link.__exit__(None, None, None)


def on(
    link: ShapedLink, host: int, folder: Path, words: Sequence[object]
) -> AbstractContextManager[subprocess.Popen[str]]:
    """A job on one of the hosts, ended if it has not ended by then."""
    return job(folder, 3, ["ip", "netns", "exec", link.names[host], *words])


def run_words(ranks: int, *between: object) -> list[object]:
    return ["mpirun", "-n", ranks, *between, find_program(), "box.toml", "--quiet", "--out", "run"]


def cut(link: ShapedLink) -> None:
    set_link(link, "down")


def heal(link: ShapedLink) -> None:
    set_link(link, "up")


def set_link(link: ShapedLink, state: str) -> None:
    subprocess.run(["ip", "-n", link.names[RUN], "link", "set", link.ends[RUN], state], check=True)


@pytest.fixture(scope="module")
def island_layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What takes ranks to the island, before the sockets of streams are made."""
    folder = tmp_path_factory.mktemp("island")
    (folder / "island.c").write_text(ISLAND)
    made = folder / "island.so"
    subprocess.run(["mpicc", "-shared", "-fPIC", "-o", made, folder / "island.c"], check=True)
    return made


@contextmanager
def island(link: ShapedLink) -> Iterator[Path]:
    """A host with nothing but its loopback."""
    name = f"{link.names[0]}-island"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        yield Path("/run/netns") / name
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)


def attach_words(ranks: int, *rest: object, between: Sequence[object] = ()) -> list[object]:
    program = find_program("sidestream-attach")
    line = ["mpirun", "-n", ranks, *between, program, ADDRESS, "--task", "slices", "--out", "else"]
    return [*line, *rest]


def test_only_gateways_need_a_route_to_the_other_job(island_layer: Path, tmp_path: Path) -> None:
    write(tmp_path, BOX, SLICES, OPEN, "wait_for = 1\ngateways = 1\n")
    expected = expected_results(tmp_path, BOX)
    with two_hosts("1gbit") as link, island(link) as nowhere:
        layer = ["-x", f"LD_PRELOAD={island_layer}", "-x", f"ISLAND={nowhere}"]
        with (
            on(link, READER, tmp_path, attach_words(3, "--gateways", 1, "--patience", 60, between=layer)) as reader,
            on(link, RUN, tmp_path, run_words(3, *layer)) as run,
        ):
            assert run.wait(120) == 0, run.stdout.read()
            assert reader.wait(60) == 0, reader.stdout.read()
    assert len(expected) == STEPS + 1
    assert results(tmp_path / "else", "slices") == expected


@pytest.mark.parametrize("side", ["run", *slow("reader")])
def test_without_gateways_ranks_that_have_no_route_cannot_talk(side: str, island_layer: Path, tmp_path: Path) -> None:
    write(tmp_path, BOX, SLICES, OPEN, "wait_for = 1\n", 'timeout = "3 s"\n')
    with two_hosts("1gbit") as link, island(link) as nowhere:
        layer = ["-x", f"LD_PRELOAD={island_layer}", "-x", f"ISLAND={nowhere}"]
        of_run, of_reader = (layer, []) if side == "run" else ([], layer)
        words = attach_words(2, "--timeout", 3, "--technique", "write-block", between=of_reader)
        with on(link, RUN, tmp_path, run_words(2, *of_run)):
            until(lambda: (tmp_path / "run" / "stream.json").exists())
            with on(link, READER, tmp_path, words) as reader:
                output, _ = reader.communicate(timeout=60)
    assert reader.returncode == 1
    assert "for cells of rank 1 of the run" in output


OTHER_HOST = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// Ranks other than the first are on another host, by its name.
int gethostname(char* name, size_t bytes) {
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  int (*real)(char*, size_t) = (int (*)(char*, size_t))dlsym(RTLD_NEXT, "gethostname");
  if (rank == NULL || atoi(rank) == 0) return real(name, bytes);
  strncpy(name, "elsewhere", bytes);
  return 0;
}
"""


@pytest.mark.parametrize(
    ("listen", "has_keys"), [("local", False), ("tcp://127.0.0.1:*", False), ("tcp://127.0.0.1:*", True)]
)
def test_ranks_on_another_host_are_heard_by_name_or_with_keys_alone(
    listen: str, has_keys: bool, tmp_path: Path
) -> None:
    (tmp_path / "host.c").write_text(OTHER_HOST)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "host.so", "host.c", "-ldl"], cwd=tmp_path, check=True)
    make_keys(tmp_path / "keys")
    write(tmp_path, BOX, SLICES, f'[stream]\nlisten = "{listen}"\n', 'keys = "keys"\n' if has_keys else "")
    line = list(map(str, run_words(2, "-x", f"LD_PRELOAD={tmp_path / 'host.so'}")))
    done = subprocess.run(
        line, cwd=tmp_path, env=mpi_environment(os.environ, 2), capture_output=True, text=True, timeout=60
    )
    if has_keys:
        assert done.returncode == 0, done.stderr
        assert len(events(tmp_path, "stream_open")) == 1
    else:
        assert done.returncode == 1
        assert "the ranks are on several nodes" in done.stderr
        assert "key `stream.listen`" in done.stderr
        assert not events(tmp_path, "stream_open")


READING = f"""
import sys, time
import numpy as np
import sidestream
got = {{}}
for snapshot in sidestream.stream("{ADDRESS}", quantities=[sys.argv[2]], timeout=60, patience=60):
    got[str(snapshot.step)] = np.asarray(snapshot[sys.argv[2]])
    print(snapshot.step, flush=True)
np.savez(sys.argv[1], **got)
"""
QUANTITY = "gas_density"


def reading(folder: Path, name: str, quantity: str = QUANTITY) -> list[object]:
    (folder / "reading.py").write_text(READING)
    return [sys.executable, "reading.py", f"{name}.npz", quantity]


def wait_for_step(process: subprocess.Popen[str], step: int) -> None:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if line.strip() == str(step):
            return
    raise AssertionError(f"the reader ended before step {step}: {''.join(said)}")


def expect_all_steps(folder: Path, name: str, last: int, quantity: str = QUANTITY) -> None:
    got = np.load(folder / f"{name}.npz")
    assert sorted(map(int, got.files)) == list(range(last + 1))
    for step in range(last + 1):
        assert (got[str(step)] == cells_of(folder, quantity, step)).all(), step


def box(cells: int, steps: int) -> str:
    return (
        BOX.replace("24", str(cells)).replace(f"max_steps = {STEPS}", f"max_steps = {steps}") + "[sedov]\nend = 1.0\n"
    )


@pytest.mark.parametrize(
    "seconds", [4, pytest.param(14, marks=pytest.mark.slow)]
)  # connections outlive the shorter one
def test_a_link_that_is_cut_and_healed_loses_nothing(seconds: int, tmp_path: Path) -> None:
    write(tmp_path, box(48, 7), LIVE, STORED, OPEN, "wait_for = 1\n")
    with (
        two_hosts("20mbit") as link,  # a third of a second for a step
        on(link, READER, tmp_path, reading(tmp_path, "got")) as reader,
        on(link, RUN, tmp_path, run_words(1)) as run,
    ):
        wait_for_step(reader, 3)
        time.sleep(0.1)
        cut(link)
        time.sleep(seconds)
        assert reader.poll() is None
        heal(link)
        assert run.wait(120) == 0, run.stdout.read()
        assert reader.wait(60) == 0
    expect_all_steps(tmp_path, "got", 7)


def test_a_reader_that_vanishes_behind_a_cut_link_is_let_go(tmp_path: Path) -> None:
    """Nobody tells the run that the connections are gone: they stay half open."""
    queue = '[coupling]\nqueue = "250000 B"\n'  # two steps, so that the run waits for the one that is gone
    write(tmp_path, box(24, 16), LIVE, STORED, queue, OPEN, 'wait_for = 2\ntimeout = "3 s"\n')
    with (
        two_hosts("20mbit") as link,
        on(link, READER, tmp_path, reading(tmp_path, "gone")) as victim,
        on(link, RUN, tmp_path, reading(tmp_path, "stays")) as other,
        on(link, RUN, tmp_path, run_words(1)) as run,
    ):
        wait_for_step(victim, 5)
        cut(link)
        victim.kill()
        until(lambda: events(tmp_path, "stream_leave"))
        heal(link)
        assert run.wait(120) == 0, run.stdout.read()
        assert other.wait(60) == 0
    left = events(tmp_path, "stream_leave")[0]
    assert "silent" in left["reason"]
    expect_all_steps(tmp_path, "stays", 16)


def test_a_reader_whose_buffers_are_full_keeps_nobody_waiting_and_goes_on_later(tmp_path: Path) -> None:
    queue = '[coupling]\nqueue = "64 MiB"\n'  # all steps
    write(tmp_path, box(48, 4), LIVE, STORED, queue, OPEN, "wait_for = 2\n")
    with two_hosts("20mbit") as link:
        for host, buffer in ((RUN, "tcp_wmem"), (READER, "tcp_rmem")):
            small = f"echo 4096 16384 32768 > /proc/sys/net/ipv4/{buffer}"
            subprocess.run(["ip", "netns", "exec", link.names[host], "sh", "-c", small], check=True)
        with (
            on(link, READER, tmp_path, reading(tmp_path, "slow")) as slow,
            on(link, RUN, tmp_path, reading(tmp_path, "quick", "pressure")) as quick,
            on(link, RUN, tmp_path, run_words(1)) as run,
        ):
            wait_for_step(slow, 1)
            time.sleep(0.1)  # in the middle of the next step
            slow.send_signal(signal.SIGSTOP)
            wait_for_step(quick, 4)
            until(lambda: bytes_stuck(link) > 10000)
            slow.send_signal(signal.SIGCONT)
            assert run.wait(120) == 0, run.stdout.read()
            assert quick.wait(60) == 0
            assert slow.wait(60) == 0
    expect_all_steps(tmp_path, "quick", 4, "pressure")
    expect_all_steps(tmp_path, "slow", 4)


def bytes_stuck(link: ShapedLink) -> int:
    """That the run has sent and the other host has not taken."""
    line = ["ip", "netns", "exec", link.names[RUN], "ss", "-Htn", "state", "established", "dst", ADDRESSES[READER]]
    told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    return max(int(entry.split()[1]) for entry in told.splitlines())
