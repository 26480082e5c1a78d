"""`sidestream archive` by the client of OpenSSH to a server of SSH: all of it, a cut in the middle, a wrong key."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fixtures import CommandLine
from waiting import until

SERVER = Path(__file__).with_name("ssh_server.py")
LARGE, LARGE_BYTES = "plt00002/large file", 200_000_000

pytestmark = pytest.mark.slow


class Server:
    """Known to `ssh` as `store`, while it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("host", "mine", "stranger"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
        self.start()

    def start(self) -> None:
        words = [sys.executable, str(SERVER), str(self.folder / "host"), str(self.folder / "mine.pub")]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.be_known("mine")

    def be_known(self, key: str) -> None:
        known = self.folder / "known_hosts"
        known.write_text(f"[127.0.0.1]:{self.port} {(self.folder / 'host.pub').read_text()}")
        (self.folder / "config").write_text(
            f"Host store\nHostName 127.0.0.1\nPort {self.port}\nIdentityFile {self.folder / key}\nIdentitiesOnly yes\n"
            f"IdentityAgent none\nUserKnownHostsFile {known}\nStrictHostKeyChecking yes\n"
        )

    def kill(self) -> None:
        """With all that it has started, as where its machine goes."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    folder, programs = tmp_path / "keys", tmp_path / "programs"
    folder.mkdir(mode=0o700)
    programs.mkdir()
    (programs / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder / "config"} "$@"\n')
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    server = Server(folder)
    yield server
    server.kill()


@pytest.fixture
def large(own_run: Path) -> Path:
    (own_run / LARGE).parent.mkdir(exist_ok=True)
    (own_run / LARGE).write_bytes(np.random.default_rng(1).bytes(LARGE_BYTES))
    (own_run / "notes of\nmine 'x' $(y).txt").write_text("notes")
    return own_run


def arrived_bytes(there: Path) -> int:
    return sum(path.stat().st_size for path in (there / ".arriving").rglob("*") if path.is_file())


def test_a_copy_that_is_cut_goes_on_and_all_of_it_is_verified_and_fetched(
    large: Path, sidestream: CommandLine, server: Server
) -> None:
    there = large.parent / "far away"
    words = [sys.executable, "-m", "sidestream", "archive", str(large), f"store:{there}", "--wait"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as copy:
        until(lambda: arrived_bytes(there) > LARGE_BYTES / 4)
        server.kill()
        _, told = copy.communicate(timeout=300)
    assert copy.returncode == 1, told
    assert "goes on where it stopped" in told
    arrived = arrived_bytes(there)
    assert LARGE_BYTES / 4 < arrived < LARGE_BYTES
    down = sidestream("archive", large, f"store:{there}", "--wait")
    assert down.returncode == 1 and "ssh does not reach the archive" in down.stderr

    server.start()
    done = sidestream("archive", large, f"store:{there}", "--wait", "--json")

    assert done.returncode == 0, done.stderr
    assert (there / LARGE).read_bytes() == (large / LARGE).read_bytes()
    assert (there / "notes of\nmine 'x' $(y).txt").read_text() == "notes"
    assert sidestream("archive", "verify", f"store:{there}").returncode == 0
    fetched = sidestream("archive", "get", f"store:{there}", "plt00002", "--to", large.parent / "back")
    assert fetched.returncode == 0, fetched.stderr
    assert (large.parent / "back" / LARGE).read_bytes() == (large / LARGE).read_bytes()


def test_a_key_that_the_server_does_not_know_is_refused_at_once(
    own_run: Path, sidestream: CommandLine, server: Server
) -> None:
    server.be_known("stranger")

    done = sidestream("archive", own_run, "store:there", "--wait")

    assert done.returncode == 1
    assert "ssh does not reach the archive" in done.stderr
    assert "Permission denied" in done.stderr
