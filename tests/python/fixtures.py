from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from calls import Done, command
from synthetic import write_run

FAKE = Path(__file__).parent / "fake_program.py"
CommandLine = Callable[..., Done]


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


def with_fake() -> dict[str, str]:
    """The fake program in place of the real one, by the Python of the tests: another may be a script.

    The PATH is that of the moment: tests put programs of their own on it.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {"SIDESTREAM_RUN": str(FAKE), "PATH": path}


def environment(**extra: str) -> dict[str, str]:
    """For a process that a test starts by itself."""
    return os.environ | {"NO_COLOR": "1"} | with_fake() | extra


@pytest.fixture
def sidestream(tmp_path: Path) -> CommandLine:
    """Runs the command line in an empty folder, with the fake program behind it."""
    return lambda *words, **extra: command(tmp_path, *words, **with_fake() | extra)


@pytest.fixture
def real_sidestream(tmp_path: Path) -> CommandLine:
    """The same with the program itself."""
    return lambda *words, **extra: command(tmp_path, *words, **extra)
