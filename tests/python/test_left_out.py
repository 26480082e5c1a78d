"""In continuous integration a test that is left out for want of a package fails."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = ROOT / "tests/conftest.py"
TESTS = """import pytest

def test_needs_what_is_not_there():
    pytest.importorskip("nothing_of_this_name")

def test_needs_a_right():
    pytest.skip("not allowed here: to mount")

@pytest.mark.skipif(True, reason="no program")
def test_needs_a_program(): ...
"""


@pytest.mark.parametrize(("in_ci", "counts"), [("false", "3 skipped"), ("true", "1 failed, 1 skipped, 1 error")])
def test_what_the_set_up_installs_must_be_there(in_ci: str, counts: str, tmp_path: Path) -> None:
    shutil.copy(CONFTEST, tmp_path)
    for beside in ("processes.py", "starts.py"):
        shutil.copy(CONFTEST.with_name(beside), tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS)

    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_some.py"]
    done = subprocess.run(line, cwd=tmp_path, env=os.environ | {"CI": in_ci}, capture_output=True, text=True)

    assert f"{counts} in " in done.stdout
    assert done.returncode == (1 if in_ci == "true" else 0)


@pytest.mark.parametrize(("target", "counts"), [("test-slow", True), ("test-python", False)])
def test_of_the_suites_of_make_the_slow_one_leaves_nothing_out(target: str, counts: bool) -> None:
    """Asked of `make` itself, which prints the variables of each target and makes nothing."""
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "MAKEFLAGS")}
    told = subprocess.run(["make", "-pnq", target], cwd=ROOT, env=environment, capture_output=True, text=True).stdout

    (rule,) = re.findall(rf"^{target}:.*?\n\n", told, re.MULTILINE | re.DOTALL)
    assert ("CI := true\n" in rule) == counts
