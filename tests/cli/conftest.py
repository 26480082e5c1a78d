from __future__ import annotations

from pathlib import Path

import pytest

from calls import program
from fixtures import config, finished_run, own_run, real_sidestream, sidestream

__all__ = ["config", "finished_run", "own_run", "real_sidestream", "sidestream"]


@pytest.fixture(scope="module")
def whole_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module's `CONFIG` as `box.toml`, and an undisturbed run of it on two ranks, `whole`."""
    folder: Path = tmp_path_factory.mktemp(request.module.__name__)
    (folder / "box.toml").write_text(request.module.CONFIG)
    done = program(folder, 2, "box.toml", "--quiet", "--out", "whole")
    assert done.returncode == 0, done.stderr
    return folder
