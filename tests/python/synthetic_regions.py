"""A run whose task of linked regions has a few of them at each of several times."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import synthetic

TASK = "vortices"
STEPS = (10, 20, 30, 40)


def write_run(folder: Path) -> Path:
    """Its results and configuration, without events."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f'simulation = "lbm"\n[task.{TASK}]\nanalysis = "regions"\nlink = true\n')
    for step in STEPS:
        count = step // 10 + 2
        tracks = np.arange(count, dtype=np.int64)
        table: synthetic.Table = {
            "id": (("region",), 100 * step + tracks, "1"),
            "track": (("region",), tracks, "1"),
            "volume": (("region",), 10.0 * (tracks + 1.0) ** 2 * step, "cells"),
        }
        changes = {"births": 1, "splits": 0, "mergers": step // 20, "deaths": 0, "saved_share": 0.02 * count}
        about = {"condition": "vorticity > 0.1", "time": 0.5 * step, **changes}
        synthetic.write_result(folder, TASK, "regions", step, 0.0, table, **about)
    return folder
