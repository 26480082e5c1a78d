"""What a path is: a run, a folder of runs, a plot file or checkpoint of any format, or a result, described in a plain
dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..quantities import duration, size
from ..runs.lock import holder_of
from ..runs.outputs import CHECKPOINT, PLOT_FILE, all_outputs_in, is_pending, outputs_in
from ..runs.run import Run
from ..runs.summary import bills, share_lost, wall_seconds
from .opening import is_result, is_run, require_there, unknown

Description = dict[str, Any]


def describe(path: Path) -> Description:
    """Describes whatever lies at `path`."""
    require_there(path, "there is nothing", "give a run folder, a plot file, a checkpoint or a result")
    from .formats import format_of
    from .snapshot import SnapshotFile

    if format_of(path):
        state = {"state": "pending, not committed"} if is_pending(path) else {}
        return SnapshotFile(path).describe() | state
    if is_run(path):
        return _run(Run(path))
    if is_result(path):
        return _result(path)
    if path.is_dir() and (runs := sorted(each for each in path.iterdir() if is_run(each))):
        return {"kind": "folder of runs", "path": str(path), "runs": [_run_in_short(Run(run)) for run in runs]}
    raise unknown(path)


def print_description(description: Description) -> None:
    """Prints a description as a table, with a second one for tasks or variables."""
    from rich.table import Table

    from .. import console

    facts = Table.grid(padding=(0, 3))
    lists = {}
    for name, value in description.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lists[name] = value
        else:
            facts.add_row(_title(name), _text(name, value))
    console.out().print(facts)
    for name, rows in lists.items():
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
        for key in rows[0]:
            table.add_column(
                _title(name if key == "name" else key),
                justify="left" if key in ("name", "status", "simulation", "numbers", "units", "long_name") else "right",
            )
        for row in rows:
            table.add_row(*(_text(key, value) for key, value in row.items()))
        console.out().print()
        console.print_table(table)


def _title(name: str) -> str:
    return name.removesuffix("_s").replace("_", " ")


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name.endswith("bytes") and isinstance(value, (int, float)):
        return size(value)
    if name.endswith("_s") and isinstance(value, (int, float)):
        return duration(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text('', number)}" for key, number in value.items())
    if isinstance(value, (list, tuple)):
        return (" x " if name == "cells" else ", ").join(_text("", item) for item in value) or "-"
    return str(value).strip()


def _run_in_short(run: Run) -> Description:
    events = run.events
    return {
        "name": run.folder.name,
        "status": run.status,
        "simulation": events.last("run_start").get("simulation"),
        "step": events.last("step").get("step"),
        "wall_s": wall_seconds(events),
    }


def _run(run: Run) -> Description:
    events = run.events
    start, last = events.last("run_start"), events.last("step")
    checkpoints = outputs_in(run.folder, CHECKPOINT)
    description: Description = {
        "kind": "run",
        "path": str(run.folder),
        "status": run.status,
        **({"reason": run.reason} if run.reason else {}),
        **({"held_by": str(holder)} if (holder := holder_of(run.folder)) else {}),
        "simulation": start.get("simulation", run.config.get("simulation")),
        "cells": start.get("cells"),
        "ranks": start.get("ranks"),
        "sidecars": start.get("sidecars"),
        "step": last.get("step"),
        "redshift": last.get("redshift"),
        "wall_s": wall_seconds(events),
        "lost_to_analysis": f"{100 * share_lost(events, run.analyses):.2g} %",
        "plot_files": [
            str(output.path.relative_to(run.folder))
            for output in all_outputs_in(run.folder)
            if output.kind == PLOT_FILE and not output.is_stored_for_later
        ],
        "checkpoints": [output.path.name for output in checkpoints if not output.is_pending],
    }
    if stored := [output for output in all_outputs_in(run.folder) if output.is_stored_for_later]:
        description["stored_snapshots"] = len(stored)
    if pending := [output.path.name for output in checkpoints if output.is_pending]:
        description["pending_checkpoints"] = pending
    description["tasks"] = [
        {
            "name": bill.name,
            "results": len(run.steps(bill.name)) if bill.name in run.tasks else 0,
            "dropped": bill.dropped,
            "failed": bill.failed,
            "compute_s": bill.compute_s,
            "lost_s": bill.lost_s,
        }
        for bill in bills(events, run.analyses)
    ]
    return description


def _result(path: Path) -> Description:
    from ..runs.results import load_result

    dataset = load_result(path)
    attributes = {str(name): value for name, value in dataset.attrs.items() if not str(name).startswith("_")}
    variables = [
        {
            "name": str(name),
            "size": " x ".join(map(str, variable.shape)) or "1",
            "units": variable.attrs.get("units", ""),
            "long_name": variable.attrs.get("long_name", ""),
        }
        for name, variable in dataset.variables.items()
    ]
    return {
        "kind": "result",
        "path": str(path),
        **attributes,
        "dimensions": dict(dataset.sizes),
        "variables": variables,
    }
