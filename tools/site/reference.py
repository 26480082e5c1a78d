"""Pages of the reference that the program writes itself: options, names, and the columns of results."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import xarray as xr

import sidestream
from sidestream.launch.launcher import find_program

HERE = Path(__file__).parent
MADE = "Made from the program, by `make docs`."
ABOUT_COLUMNS = (
    "What stands in `results/TASK/STEP.nc` ([run folder](run_folder.md#results)) of small runs of `cosmology` and "
    "`turbulence`; problems of gas dynamics have units of their own. [Analyses](analyses.md) says how each is found."
)
# Runs of a second that have every analysis, and what of it is asked for by an option.
RUNS = ("universe.toml", "flow.toml")


def options_page() -> str:
    """Every option of every table."""
    options = _answer("--options")
    lines = ["# All options", "", f"{MADE} `sidestream-run --options` prints the same.", ""]
    lines += ["## Of every run, and of its files and tasks", "", *_tables(options["tables"])]
    for kind, title, key in (
        ("simulations", "Of a simulation", "simulation"),
        ("criteria", "Of a criterion of refinement", "criterion"),
        ("analyses", "Of an analysis", "analysis"),
    ):
        lines += [f"## {title}", ""]
        shown: dict[str, str] = {}
        for entry in options[kind]:
            lines += [f'### `{key} = "{entry["name"]}"`', "", _text(entry["documentation"]), ""]
            new = [table for table in entry["tables"] if repr(table) not in shown]
            lines += [
                f"- `[{table['name']}]` as of `{shown[repr(table)]}`" for table in entry["tables"] if table not in new
            ]
            lines += ["", *_tables(new)]
            shown |= {repr(table): entry["name"] for table in new}
    return "\n".join(lines)


def names_page() -> str:
    """Every name that a configuration or a command may have, and every event."""
    lines = ["# All names", "", f"{MADE} `sidestream list` prints the same.", ""]
    for kind, names in _answer("--list").items():
        lines += [f"## {kind}", "", "| name | is |", "|---|---|"]
        lines += [f"| `{name}` | {_text(meaning)} |" for name, meaning in names.items()] + [""]
    return "\n".join(lines)


def columns_page() -> str:
    """The columns of results, of small runs that are made for it."""
    found: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for config in RUNS:
            out = Path(folder) / config
            subprocess.run([find_program(), HERE / config, "--out", out, "--quiet"], check=True, timeout=300)
            run = sidestream.open(out)
            for event in run.events.of("analysis"):
                with xr.open_dataset(out / event["result"], engine="h5netcdf", decode_timedelta=False) as result:
                    found.setdefault(event["analysis"], {}).update(_columns(result))
    analyses = _answer("--list", "analyses")["analyses"]
    lines = ["# Columns of results", "", f"{MADE} {ABOUT_COLUMNS}", ""]
    for name in analyses:
        if name in found:
            lines += [
                f"## `{name}`",
                "",
                "| column | over | unit | meaning |",
                "|---|---|---|---|",
                *found[name].values(),
                "",
            ]
    return "\n".join(lines)


def _columns(result: xr.Dataset) -> dict[str, str]:
    return {
        str(name): f"| `{name}` | {', '.join(f'`{d}`' for d in column.dims)} | {_text(column.attrs.get('units', ''))} "
        f"| {_text(column.attrs.get('long_name', ''))} |"
        for name, column in result.variables.items()
    }


def _answer(*words: str) -> Any:
    line = [find_program(), *words, "--json"]
    return json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)


def _tables(tables: list[dict[str, Any]]) -> list[str]:
    lines = []
    for table in tables:
        if table["options"]:
            lines += [f"| `[{table['name']}]` | default | takes | meaning |", "|---|---|---|---|"]
            lines += [_row(option) for option in table["options"]] + [""]
    return lines


def _row(option: dict[str, Any]) -> str:
    default = "required" if option.get("required") else f"`{option['default']}`" if "default" in option else ""
    return f"| `{option['name']}` | {default} | {_taken(option)} | {_text(option['documentation'])} |"


def _taken(option: dict[str, Any]) -> str:
    """What values an option takes, in words: of which kind, and which of these."""
    if "choices" in option:
        return ", ".join(f'`"{choice}"`' for choice in option["choices"])
    if "units" in option:
        words = [f"number and unit: {', '.join(unit or 'none' for unit in option['units'])}"]
    else:
        words = [_kind(option)]
    low, high = option.get("minimum"), option.get("maximum")
    if low is not None and high is not None:
        words.append(f"{low:g} to {high:g}")
    elif low is not None:
        words.append(f"at least {low:g}")
    elif high is not None:
        words.append(f"at most {high:g}")
    return ", ".join(word for word in words if word)


def _kind(option: dict[str, Any]) -> str:
    """That of the default; without one, numbers are known by their bounds, and the meaning tells of the others."""
    if "default" not in option:
        return "number" if "minimum" in option or "maximum" in option else ""
    default = option["default"]
    if default in ("true", "false"):
        return "`true`, `false`"
    if default.startswith(('"', "[")):
        return "text" if default.startswith('"') else "list"
    return "whole number" if default.lstrip("-").isdigit() else "number"


def _text(words: str) -> str:
    return words.replace("|", "\\|")
