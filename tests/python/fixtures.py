from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from synthetic import write_run

FAKE = Path(__file__).parent / "fake_program.py"
CommandLine = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder that no test changes."""
    return write_run(tmp_path_factory.mktemp("runs") / "demo")


@pytest.fixture
def own_run(tmp_path: Path) -> Path:
    """A run folder for one test to damage."""
    return write_run(tmp_path / "demo", steps=20)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "box.toml"
    path.write_text('simulation = "cosmology"\n')
    return path


def environment(**extra: str) -> dict[str, str]:
    return os.environ | {"NO_COLOR": "1", "SIDESTREAM_RUN": str(FAKE), "PYTHONDONTWRITEBYTECODE": "1"} | extra


@pytest.fixture
def sidestream(tmp_path: Path) -> CommandLine:
    """Runs the command line in an empty folder, with the fake program behind it."""

    def call(*words: object, **extra: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sidestream", *map(str, words)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment(**extra), capture_output=True, text=True, timeout=120
        )

    return call
