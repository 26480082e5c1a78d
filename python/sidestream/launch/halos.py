"""Halos of a stored merge tree, by `sidestream-halos` on as many ranks as wanted."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..error import Error
from ..files.opening import is_there
from ..runs.results import load_result
from .launcher import HALOS
from .programs import Tell, lines_of

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class TreeQuery:
    """What is asked of a stored tree; thresholds are values of the field, or multiples of its mean: `"60 mean"`."""

    tree: Path
    t_boundary: str
    t_halo: str
    min_cells: int = 1

    def arguments(self, target: Path) -> list[str]:
        """The arguments of `sidestream-halos`, which writes the catalogue to `target`."""
        words = ["query", str(self.tree), str(target), f"--t-boundary={self.t_boundary}", f"--t-halo={self.t_halo}"]
        return [*words, f"--min-cells={self.min_cells}"]


def query(
    request: TreeQuery, ranks: int, launcher: str | None = None, tell: Tell = lambda _: None
) -> tuple[xr.Dataset, dict[str, Any]]:
    """Asks; returns the catalogue and the seconds that reading the file (`read_s`) and the query (`query_s`) took."""
    if not (is_there(request.tree) and request.tree.is_file()):
        raise Error("there is no such file", request.tree, 'give the result of a task with `analysis = "merge_tree"`')
    with tempfile.TemporaryDirectory(prefix="sidestream-") as folder:
        target = Path(folder) / "halos.nc"
        (line,) = lines_of(HALOS, request.arguments(target), ranks, launcher, tell)
        return load_result(target), json.loads(line)
