"""A test that hangs fails, with what it has started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
LIMIT = "= 900,"  # of tests, in conftest.py
HANGING = """import signal, subprocess

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])  # until there is something to take along

def test_waits_for_what_never_ends():
    line = ["sh", "-c", "echo $$ | tee {pid}; exec sleep 1000"]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as sleeping:
        sleeping.stdout.readline()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
        sleeping.wait()
"""
DEAF = """import subprocess

def test_programs_hear_ctrl_c():
    done = subprocess.run(["sh", "-c", "kill -INT $$; echo deaf"], capture_output=True, text=True)
    assert done.returncode == -2, done.stdout
"""


def pytest_on(folder: Path, test: str, *before: str, limit_s: int = 600) -> subprocess.CompletedProcess[str]:
    """With the rules of these tests."""
    (folder / "test_it.py").write_text(test)
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text().replace(LIMIT, f"= {limit_s},"))
    command = [*before, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, timeout=300
    )


def test_a_test_that_hangs_fails_and_takes_its_processes_with_it(tmp_path: Path) -> None:
    done = pytest_on(tmp_path, HANGING.format(pid=tmp_path / "pid"), limit_s=1)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "the test takes longer than 1 s" in done.stdout
    assert "1 failed" in done.stdout
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_programs_that_tests_start_hear_ctrl_c_where_the_tests_do_not(tmp_path: Path) -> None:
    done = pytest_on(tmp_path, DEAF, "sh", "-c", 'trap "" INT; exec "$@"', "sh")

    assert done.returncode == 0, done.stdout
