"""Files that are staged on disks of the nodes: the same bits, and no node that is lost, with its disk, costs anything.

A node is whoever sees the same folder: ranks of this machine with folders of their own, and with mounts of their own.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from calls import Done, program
from configs import blast, universe
from sidestream.attack.subjects import checkpoints, expect_back, state_in
from sidestream.launch.launcher import find_program, mpi_environment
from sidestream.launch.streams.link import ADDRESSES, ShapedLink
from sidestream.runs.run import Run
from test_faults import LIMIT_S
from test_stream_hosts import two_hosts
from tiers import slow
from whole_runs import expect_same_files

LAST_STEP = 5
OUTPUT = """[output]
checkpoint = { format = "sidestream", every = 1, keep = 2 }
plotfile = { format = "flash", every = 2 }
"""
CONFIG = (
    blast(steps=LAST_STEP)
    + """[task.spectra]
analysis = "power_spectrum"
fields = ["gas_density"]
every = 1
"""
    + OUTPUT
)
WITH_PARTICLES = universe(steps=2, box="8 Mpc", z_start=50, z_end=5, seed=3) + OUTPUT
STAGED = (
    *("--set", "output.checkpoint.stage='$LOCAL_DISK'"),
    *("--set", "output.plotfile.stage='$LOCAL_DISK'"),
)


def preloaded(layer: Mapping[str, str]) -> dict[str, str]:
    return {"LD_PRELOAD": str(find_program().parent / "libsidestream_io_layer.so"), **layer}


@dataclass
class Cluster:
    """A folder that all nodes see, with a disk of each beside it."""

    folder: Path

    def disk(self, node: str) -> Path:
        return self.folder / f"disk_{node}"

    def run(
        self,
        out: str,
        nodes: Sequence[str],
        *words: str,
        layer: dict[str, str] | None = None,
        rank_of_layer: int = 0,
        config: str = "box.toml",
    ) -> subprocess.CompletedProcess[str]:
        """A run with a rank on each of `nodes`."""
        line: list[str] = ["mpirun"]
        for rank, node in enumerate(nodes):
            self.disk(node).mkdir(exist_ok=True)
            settings = {"LOCAL_DISK": str(self.disk(node))}
            if layer is not None and rank == rank_of_layer:
                settings |= preloaded(layer)
            line += [":"] if rank > 0 else []
            line += ["-n", "1", "env", *(f"{name}={value}" for name, value in settings.items())]
            line += [str(find_program()), config, "--quiet", "--out", out, *words]
        environment = mpi_environment(os.environ, len(nodes))
        return subprocess.run(
            line, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )

    def staged(self, node: str) -> list[Path]:
        return sorted(self.disk(node).glob("sidestream-*/*/*.raw"))

    def is_empty(self) -> bool:
        return not [path for disk in self.folder.glob("disk_*") for path in disk.rglob("*") if path.is_file()]


@pytest.fixture(scope="module")
def cluster(whole_run: Path) -> Cluster:
    """With the run `whole`, of which nothing is staged."""
    return Cluster(whole_run)


def expect_as_whole(cluster: Cluster, out: str) -> None:
    expect_same_files(cluster.folder / "whole", cluster.folder / out)


@dataclass
class Killed:
    """A run that was killed when its second checkpoint was written and not committed: it counts, as it is staged."""

    out: str
    run: Path
    committed: Path
    staged: str


def killed_before_commit(out: str) -> dict[str, str]:
    """For the environment of a rank: the second checkpoint is staged, and does not get its name."""
    return {
        "SIDESTREAM_IO_PATH": f"/{out}/chk",
        "SIDESTREAM_IO_FAULT": "kill",
        "SIDESTREAM_IO_FAULT_AT": "2",
        "SIDESTREAM_IO_CALLS": "rename",
    }


@pytest.fixture(scope="module")
def left(cluster: Cluster) -> Path:
    """What such a run of three ranks, each on a node of its own, has left in the folders `killed` and of the nodes."""
    for node in "abc":
        shutil.rmtree(cluster.disk(node), ignore_errors=True)

    done = cluster.run("killed", "abc", *STAGED, layer=killed_before_commit("killed"))

    assert done.returncode != 0
    kept = cluster.folder / "kept"
    for path in (cluster.folder / "killed", *map(cluster.disk, "abc")):
        shutil.move(path, kept / path.name)
    return kept


@pytest.fixture
def killed(cluster: Cluster, left: Path) -> Killed:
    """All that is left, anew."""
    for path in left.iterdir():
        shutil.rmtree(cluster.folder / path.name, ignore_errors=True)
        shutil.copytree(path, cluster.folder / path.name)
    run = cluster.folder / "killed"
    [committed] = checkpoints(run)
    [note] = run.glob("pending/*.staged")
    assert note.stem > committed.name
    assert {"copy-00002.raw", "part-00000.raw"} <= {path.name for path in cluster.staged("a")}
    return Killed(run.name, run, committed, note.stem)


def test_a_run_that_stages_writes_the_same_files(cluster: Cluster) -> None:
    done = cluster.run("staged", "abc", *STAGED)

    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    expect_as_whole(cluster, "staged")
    log = Run(cluster.folder / "staged").events
    assert all(event["staged"] for event in log.of("checkpoint", "plotfile"))
    assert log.of("checkpoint_staged")
    assert cluster.is_empty()


def test_particles_are_staged_too(cluster: Cluster) -> None:
    (cluster.folder / "particles.toml").write_text(WITH_PARTICLES)
    done = program(cluster.folder, 2, "particles.toml", "--quiet", "--out", "particles")
    assert done.returncode == 0, done.stderr

    done = cluster.run("staged_particles", "ab", *STAGED, config="particles.toml")

    assert done.returncode == 0, done.stderr
    names = ["chk00002.hdf5_chk", *(path.name for path in (cluster.folder / "particles").glob("*plt*"))]
    assert len(names) == 3
    for name in names:
        assert state_in(cluster.folder / "staged_particles" / name) == state_in(cluster.folder / "particles" / name)


@pytest.mark.parametrize(("lost", "nodes"), [("c", "ab"), *slow(("b", "abc"), ("b", "ccaab"))])
def test_what_was_staged_is_gone_on_from_though_a_node_is_lost(
    cluster: Cluster, killed: Killed, lost: str, nodes: str
) -> None:
    shutil.rmtree(cluster.disk(lost))

    again = cluster.run(killed.out, nodes, *STAGED, "--restart")

    assert again.returncode == 0, again.stderr
    assert "copies are looked for" in again.stderr
    assert len(Run(killed.run).events.of("staged_committed")) == 1
    expect_back(killed.run, killed.run / killed.staged)
    expect_as_whole(cluster, killed.out)
    assert cluster.is_empty()


def test_a_damaged_part_is_told_and_its_copy_taken(cluster: Cluster, killed: Killed) -> None:
    parts = [path for path in cluster.staged("b") if path.name.startswith("part")]
    for part in parts:
        content = bytearray(part.read_bytes())
        content[-5000] ^= 1
        part.write_bytes(content)

    again = cluster.run(killed.out, "abc", *STAGED, "--restart")

    assert again.returncode == 0, again.stderr
    assert "the parts of the ranks 1 are not whole on their nodes: copies are looked for" in again.stderr
    assert "part-00001.raw" in again.stderr
    expect_back(killed.run, killed.run / killed.staged)
    expect_as_whole(cluster, killed.out)


def test_a_run_that_was_moved_goes_on_from_what_it_staged(cluster: Cluster, killed: Killed) -> None:
    moved = killed.run.rename(cluster.folder / f"{killed.out}_elsewhere")

    again = cluster.run(moved.name, "abc", *STAGED, "--restart")

    assert again.returncode == 0, again.stderr
    expect_back(moved, moved / killed.staged)
    expect_as_whole(cluster, moved.name)
    # The run may have been copied, and the other one need them.
    assert "the parts stay on the nodes" in again.stderr
    assert {path.name for path in cluster.staged("a")} >= {"copy-00002.raw", "part-00000.raw"}
    for node in "abc":
        shutil.rmtree(cluster.disk(node))


@pytest.mark.parametrize("damaged", ["file", *slow("folder")])
def test_what_cannot_be_opened_does_not_hide_what_was_staged(cluster: Cluster, killed: Killed, damaged: str) -> None:
    if damaged == "file":
        (killed.run / killed.staged).write_bytes(b"no checkpoint")
    else:
        (killed.run / killed.staged).mkdir()

    again = cluster.run(killed.out, "abc", *STAGED, "--restart")

    assert again.returncode == 0, again.stderr
    expect_back(killed.run, killed.run / killed.staged)
    expect_as_whole(cluster, killed.out)


def test_what_is_not_whole_is_passed_over_and_the_one_before_taken(cluster: Cluster, killed: Killed) -> None:
    shutil.rmtree(cluster.disk("b"))
    shutil.rmtree(cluster.disk("c"))

    again = cluster.run(killed.out, "ab", *STAGED, "--restart")

    assert again.returncode == 0, again.stderr
    assert "passed over the checkpoint" in again.stderr
    assert "is not whole: no whole part or copy of the ranks 1 is left" in again.stderr
    expect_back(killed.run, killed.committed)
    expect_as_whole(cluster, killed.out)


@pytest.mark.parametrize("edit", ["a part left out", *slow("cut")])
def test_a_note_that_is_not_as_it_was_left_is_passed_over(cluster: Cluster, killed: Killed, edit: str) -> None:
    note = killed.run / "pending" / f"{killed.staged}.staged"
    text = note.read_text()
    note.write_text(text[: len(text) // 2] if edit == "cut" else text.replace(r"\"parts\":[0,1,2]", r"\"parts\":[0,1]"))
    assert note.read_text() != text

    again = cluster.run(killed.out, "abc", *STAGED, "--restart")

    assert again.returncode == 0, again.stderr
    assert "the note about what was staged is damaged, or was edited" in again.stderr
    assert f"{killed.out}/pending/{note.name}" in again.stderr
    expect_back(killed.run, killed.committed)
    expect_as_whole(cluster, killed.out)


@pytest.mark.parametrize("rank", [1, *slow(0)])
def test_a_rank_killed_while_it_stages_costs_the_steps_since_the_last_commit(cluster: Cluster, rank: int) -> None:
    out = f"staging_{rank}"
    layer = {
        "SIDESTREAM_IO_PATH": f"/.part-0000{rank}.raw",
        "SIDESTREAM_IO_FAULT": "kill",
        "SIDESTREAM_IO_FAULT_AT": "4",
        "SIDESTREAM_IO_CALLS": "rename",
    }

    assert cluster.run(out, "abc", *STAGED, layer=layer, rank_of_layer=rank).returncode != 0
    newest = checkpoints(cluster.folder / out)
    again = cluster.run(out, "abc", *STAGED, "--restart")

    assert again.returncode == 0, again.stderr
    if newest and not Run(cluster.folder / out).events.of("staged_committed"):
        expect_back(cluster.folder / out, newest[-1])
    expect_as_whole(cluster, out)
    assert cluster.is_empty()


def test_a_full_disk_of_a_node_has_the_files_written_at_once(cluster: Cluster) -> None:
    layer = {"SIDESTREAM_IO_PATH": "/.part-00001.raw", "SIDESTREAM_IO_FAULT": "enospc", "SIDESTREAM_IO_FAULT_AT": "1+"}

    done = cluster.run("full", "abc", *STAGED, layer=layer, rank_of_layer=1)

    assert done.returncode == 0, done.stderr
    assert "the checkpoint could not be staged and is written at once" in done.stderr
    log = Run(cluster.folder / "full").events
    assert len(log.of("stage_failed")) == LAST_STEP + 3  # three plot files
    assert not any(event["staged"] for event in log.of("checkpoint", "plotfile"))
    expect_as_whole(cluster, "full")
    assert cluster.is_empty()


def test_what_is_staged_outlives_a_file_that_cannot_be_written(cluster: Cluster) -> None:
    layer = {"SIDESTREAM_IO_FAULT": "enospc", "SIDESTREAM_IO_FAULT_AT": "1+"}
    layer["SIDESTREAM_IO_PATH"] = f"/pending/.chk{LAST_STEP:05}.hdf5_chk.tmp"
    run = cluster.folder / "outlived"

    done = cluster.run(run.name, "abc", *STAGED, layer=layer)

    assert "what was staged of it stays on the disks of the nodes" in done.stderr
    assert [event["step"] for event in Run(run).events.of("checkpoint_failed")] == [LAST_STEP]
    [note] = run.glob("pending/*.staged")
    assert {"part-00000.raw", "copy-00002.raw"} <= {path.name for path in cluster.staged("a")}

    still_full = cluster.run(run.name, "abc", *STAGED, "--restart", layer=layer)

    assert still_full.returncode != 0
    assert f"or remove {run.name}/pending/{note.name} to go on from the one before" in still_full.stderr
    assert note.exists()

    again = cluster.run(run.name, "abc", *STAGED, "--restart")

    assert again.returncode == 0, again.stderr
    expect_back(run, run / note.stem)
    expect_as_whole(cluster, run.name)
    assert cluster.is_empty()


def test_one_node_is_told_that_it_has_no_partner(cluster: Cluster) -> None:
    done = cluster.run("alone", "aa", *STAGED)

    assert done.returncode == 0, done.stderr
    assert "there is one node" in done.stderr
    expect_as_whole(cluster, "alone")


REFUSALS = {
    "missing": (("output.checkpoint.stage=/nowhere/at/all",), "there is no folder"),
    "unset": (("output.checkpoint.stage=$NOT_SET_ANYWHERE",), "there is no variable `NOT_SET_ANYWHERE`"),
    "nameless": (("output.checkpoint.stage=/local/$",), "has a `$` without the name of a variable behind it"),
    "relative": (("output.checkpoint.stage=local",), "is no folder that all nodes know"),
    "asynchronous": (
        ("output.checkpoint.stage=/tmp", "output.checkpoint.asynchronous=true"),
        "what is staged is written behind the simulation anyway",
    ),
    "sidecars": (
        ("output.checkpoint.stage=/tmp", "output.checkpoint.transport=in-transit", "coupling.sidecars=1"),
        "a file that sidecars write is written behind the simulation anyway",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_is_refused_before_work(cluster: Cluster, case: str) -> None:
    settings, said = REFUSALS[case]
    words = [word for setting in settings for word in ("--set", setting)]

    done = program(cluster.folder, 2, "box.toml", "--out", "refused", *words)

    assert done.returncode != 0
    assert said in done.stderr
    assert "output.checkpoint." in done.stderr
    assert not (cluster.folder / "refused").exists()


def test_nodes_are_told_by_their_mounts(cluster: Cluster, tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-m", "-n", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("not allowed here: mounts of a process of its own")
    mount = tmp_path / "local"
    mount.mkdir()
    inside = 'mount --bind "$LOCAL_DISK" "$0" && exec "$@"'
    line = ["mpirun"]
    for rank in range(3):
        disk = tmp_path / f"disk_{rank}"
        disk.mkdir()
        line += [":"] if rank > 0 else []
        line += ["-n", "1", "env", f"LOCAL_DISK={disk}", "unshare", "-m", "--propagation", "private"]
        line += ["sh", "-c", inside, str(mount), str(find_program()), "box.toml", "--quiet", "--out", "mounted"]
        line += ["--set", f"output.checkpoint.stage={mount}"]

    done = subprocess.run(
        line, cwd=cluster.folder, env=mpi_environment(os.environ, 3), capture_output=True, text=True, timeout=LIMIT_S,
        check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "no copy" not in done.stderr
    assert len(Run(cluster.folder / "mounted").events.of("checkpoint_committed")) >= 2
    expect_as_whole(cluster, "mounted")


class TwoNodes:
    """Nodes that are namespaces, with a network, a name, and mounts of their own: `local` is a disk of each."""

    def __init__(self, link: ShapedLink, folder: Path) -> None:
        self.link, self.folder, self.local = link, folder, folder / "local"
        self.local.mkdir()
        self.agent = folder / "agent"  # what `mpirun` calls instead of ssh: HOST WORDS...
        self.agent.write_text(f'#!/bin/sh\nshift\nexec {self._within(1)} "$*"\n')
        self.agent.chmod(0o755)
        self.disks = [self.new_disk("first"), self.new_disk("second")]

    def new_disk(self, name: str) -> Path:
        (self.folder / name).mkdir()
        return self.folder / name

    def _within(self, host: int) -> str:
        enter = f'hostname node-{host} && mount --bind "$DISK_{host}" {self.local} && eval "$0"'
        return f"ip netns exec {self.link.names[host]} unshare -m -u --propagation private sh -c '{enter}'"

    def run(self, folder: Path, out: str, *words: str, layer: Mapping[str, str] | None = None) -> Done:
        """A run with a rank on each; `layer` lies below the first."""
        rank = [find_program(), "box.toml", "--quiet", "--out", out, *words]
        rank += ["--set", f"output.checkpoint.stage={self.local}"]
        settings = [f"{name}={value}" for name, value in (preloaded(layer) if layer else {}).items()]
        line = ["mpirun", "--mca", "plm_rsh_agent", self.agent, "--host", ",".join(f"{host}:1" for host in ADDRESSES)]
        line += ["-n", 1, "env", *settings, *rank, ":", "-n", 1, *rank]
        disks = {f"DISK_{n}": str(disk) for n, disk in enumerate(self.disks)}
        environment = mpi_environment(os.environ, 2) | disks | {"OMPI_MCA_btl": "self,tcp"}
        mpirun = f"{self._within(0)} {shlex.quote(shlex.join(map(str, line)))}"
        return subprocess.run(
            mpirun, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S,
            check=False,
        )  # fmt: skip


@pytest.fixture
def two_nodes(tmp_path: Path) -> Iterator[TwoNodes]:
    with two_hosts("1gbit") as link:
        yield TwoNodes(link, tmp_path)


def test_a_node_of_namespaces_is_lost_with_its_disk(cluster: Cluster, two_nodes: TwoNodes) -> None:
    killed = two_nodes.run(cluster.folder, "lost", layer=killed_before_commit("lost"))
    assert killed.returncode != 0
    run = cluster.folder / "lost"
    [note] = (run / "pending").glob("*.staged")
    [committed] = checkpoints(run)
    assert note.stem > committed.name

    two_nodes.disks[1] = two_nodes.new_disk("another")
    again = two_nodes.run(cluster.folder, "lost", "--restart")

    assert again.returncode == 0, again.stderr
    assert "copies are looked for" in again.stderr
    expect_back(run, run / note.stem)
    expect_as_whole(cluster, "lost")
