"""The page: head, figures in numbers, pictures, tables, configuration."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..error import Error
from ..figures.energies import energies, residual_share
from ..quantities import duration, size, speed
from ..runs.bill import HEAD, GroupBill, group_bills, rows_of
from ..runs.events import Event, Events, number
from ..runs.progress import file_name, found_nothing, problem_with_file, warning_of
from ..runs.summary import (
    FILE_KINDS,
    TaskBill,
    bills,
    file_bills,
    file_lost_s,
    lost_results,
    share_lost,
    wall_seconds,
)
from .drawing import Shown, Tell, draw
from .interactive import stage

if TYPE_CHECKING:
    from ..runs.run import Run

NAME = "report.html"


def write_report(run: Run, tell: Tell = lambda _: None) -> Path:
    """Writes `report.html` into the run folder, at once (never a half-written page), and returns its path.

    `tell` takes lines about what goes on.
    """
    return write_page(run.folder / NAME, render(run, tell))


def write_page(path: Path, page: str) -> Path:
    """Writes a page at once and returns its path."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(page, encoding="utf-8")
        os.replace(part, path)  # noqa: PTH105  (the same word as in the docs of the run folder)
    except OSError as problem:
        raise Error(
            f"the page cannot be written: {problem.strerror}",
            path,
            hint="make room, or give yourself the right to write there: chmod u+w FOLDER",
        ) from problem
    return path


def document(run: Run, start: Event, sections: Sequence[str], head: str = "") -> str:
    """A page of its own of the sections, in the style of all pages; `head` goes into its head."""
    style = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")
    title = escape(f"{start.get('simulation', 'run')} - {run.folder.resolve().name}")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n{head}<title>{title}</title>\n'
        f"<style>\n{style}</style>\n</head>\n<body>\n<main>\n{''.join(sections)}</main>\n</body>\n</html>\n"
    )


def render(run: Run, tell: Tell = lambda _: None) -> str:
    """The page as text."""
    events = run.events
    start, end = events.last("run_start"), events.last("run_end")
    rows = bills(events, run.analyses)
    drawn = draw(run, tell)
    timeline, writes, balance = (
        [picture for picture in drawn.pictures if picture.name == name]
        for name in ("timeline", "write-sizes", "energies")
    )
    others = [picture for picture in drawn.pictures if picture not in [*timeline, *writes, *balance]]
    sections = [
        head_of(run, start, run.status, run.reason),
        _tiles(run, events, start, end),
        _notes(events, drawn.failed),
        gallery(others),
        _section("In three dimensions", stage(drawn.scenes)),
        _section("Energy", gallery(balance) + _energy_line(events)),
        _section("Who computed and who waited", gallery(timeline) + _bill_table(rows, wall_seconds(events))),
        _section("What was done to the gas beside its equations", _books(end)),
        _section("Where the time went", "".join(map(_group_bill, group_bills(events)))),
        _section("Results", _result_table(run, rows)),
        _section("Files", _file_bill_table(events) + gallery(writes) + _file_table(events)),
        _configuration(run),
    ]
    return document(run, start, sections)


def head_of(run: Run, start: Event, status: str, message: str = "") -> str:
    """The top of a page: what ran, where, and how it stands."""
    machine: Event = start["machine"] if isinstance(start.get("machine"), dict) else {}
    facts = [
        f"started {start['started']}" if "started" in start else "",
        " ".join(str(machine[key]) for key in ("host", "cpu") if machine.get(key)),
        f"{machine['cores']} cores" if machine.get("cores") else "",
        f"Sidestream {start['version']}" if "version" in start else "",
    ]
    said = f'<p class="message">{escape(message)}</p>' if message else ""
    when = f" at {datetime.now(timezone.utc):%H:%M:%S} UTC" if status == "running" else ""  # a page does not change
    return (
        f'<header><div><p class="kind">{escape(str(start.get("simulation", "run")))}</p>'
        f"<h1>{escape(run.folder.resolve().name)}</h1>"
        f'<p class="facts">{escape("  ·  ".join(fact for fact in facts if fact))}</p>{said}</div>'
        f'<span class="status {escape(status)}">{escape(status)}{when}</span></header>\n'
    )


def _tiles(run: Run, events: Events, start: Event, end: Event) -> str:
    cells = start.get("cells")
    last = events.last("step")
    sidecars = int(number(start, "sidecars"))
    ranks = int(number(start, "ranks"))
    tiles = [
        ("cells", _cells(cells), _box(start)),
        ("ranks", str(ranks or ""), f"{ranks - sidecars} compute, {sidecars} sidecar" if sidecars else "all compute"),
        ("redshift", f"{number(last, 'redshift'):.3g}" if "redshift" in last else "", _from(start)),
        ("steps", str(int(number(last, "step"))) if last else "", ""),
        ("wall time", duration(wall_seconds(events)), ""),
        ("lost to analysis", f"{100 * share_lost(events, run.analyses):.2g} %", "of the wall time"),
        ("peak memory", _memory(end), "on the fullest rank"),
    ]
    shown = [
        f'<div class="tile"><span>{escape(name)}</span><b>{escape(value)}</b><small>{escape(note)}</small></div>'
        for name, value, note in tiles
        if value
    ]
    return f'<div class="tiles">{"".join(shown)}</div>\n'


def _cells(cells: Any) -> str:
    if not isinstance(cells, list) or not cells:
        return ""
    return f"{cells[0]}\N{SUPERSCRIPT THREE}" if len(set(cells)) == 1 else " × ".join(map(str, cells))


def _box(start: Event) -> str:
    box = start.get("box_mpc")
    first = box[0] if isinstance(box, list) and box else box
    return f"box of {first:.3g} Mpc" if isinstance(first, (int, float)) else ""


def _from(start: Event) -> str:
    return f"from z = {number(start, 'z_start'):.3g}" if "z_start" in start else ""


def _memory(end: Event) -> str:
    return size(1e6 * number(end, "peak_memory_mb")) if "peak_memory_mb" in end else ""


def _notes(events: Events, failed: Sequence[str]) -> str:
    lines = [
        f"{e.get('task', '?')} failed at step {e.get('step', '?')}: {e.get('message', 'no reason given')}"
        for e in lost_results(events)
    ]
    lines += map(problem_with_file, events.of("plotfile_failed", "checkpoint_failed", "checkpoint_skipped"))
    lines += map(warning_of, events.of("warning"))
    return notes([*lines, *found_nothing(events), *failed])


def notes(lines: Sequence[str]) -> str:
    """What went wrong, a line each."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="notes">{items}</ul>\n' if items else ""


def gallery(shown: Sequence[Shown]) -> str:
    """Pictures beside each other, with their captions."""
    figures = [
        f'<figure class="{"wide" if picture.wide else "half"}">'
        f'<img alt="{escape(picture.title)}" src="{picture.address}">'
        f"<figcaption><b>{escape(picture.title)}</b> {escape(picture.caption)}{_links(picture)}</figcaption>"
        f"{_numbers(picture)}</figure>\n"
        for picture in shown
    ]
    return f'<div class="gallery">{"".join(figures)}</div>\n' if figures else ""


def _links(picture: Shown) -> str:
    """To the files with what a picture shows."""
    kinds = {"csv": "CSV", "nc": "netCDF"}
    links = [f'<a href="{escape(file)}" download>{kinds[file.rpartition(".")[2]]}</a>' for file in picture.files]
    return f' <span class="files">data: {" ".join(links)}</span>' if links else ""


def _numbers(picture: Shown) -> str:
    return table(picture.numbers[0], picture.numbers[1:], text_columns=0) if picture.numbers else ""


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{body}</section>\n" if body else ""


def _bill_table(rows: Sequence[TaskBill], wall: float) -> str:
    if not rows:
        return ""
    head = ["task", "transport", "results", "dropped", "failed", "packing", "waiting", "in situ", "lost", "transfer"]
    body = [
        [
            row.name,
            row.transport,
            row.results,
            row.dropped,
            row.failed,
            duration(row.pack_s),
            duration(row.wait_s),
            duration(row.in_situ_s),
            f"{100 * row.lost_s / wall:.2g} %" if wall > 0 else "",
            duration(row.transfer_s),
            duration(row.compute_s),
            size(row.bytes),
        ]
        for row in rows
    ]
    note = (
        "<p class=note>Packing, waiting and in situ are seconds that the simulation itself lost; <em>lost</em> is "
        "their share of the wall time. Transfer and compute happened on the ranks that analysed.</p>"
    )
    return table([*head, "compute", "sent"], body, text_columns=2) + note


def _energy_line(events: Events) -> str:
    measured = energies(events)
    if not measured:
        return ""
    last = measured[-1]
    kinetic = number(last, "kinetic_dark_matter") + number(last, "kinetic_gas")
    return (
        f"<p>At z = {1.0 / last['scale_factor'] - 1.0:.3g}: {kinetic:.3g} Msun (km/s)² of peculiar motion, "
        f"{number(last, 'unresolved'):.3g} of motion inside cells, {number(last, 'thermal'):.3g} of heat, "
        f"{number(last, 'potential'):.3g} of gravity. The equation of Layzer and Irvine leaves "
        f"{100.0 * residual_share(last):.2g} % of the energy of motion over.</p>"
    )


def _group_bill(bill: GroupBill) -> str:
    note = (
        f"<p class=note>{escape(bill.title)}: {duration(bill.wall_s)}. Each moment is on exactly one line; "
        "<em>mean</em> is that of the ranks, and what the slowest took longer, others waited for.</p>"
    )
    return table(HEAD, rows_of(bill), text_columns=2) + note


def _books(end: Event) -> str:
    """What floors and repairs gave to the gas; see `Hydro`."""
    booked: Event = end["booked"] if isinstance(end.get("booked"), dict) else {}
    if not booked:
        return ""
    is_proper = "redshift" in end or "scale_factor" in end
    energy, mass = (" Msun (km/s)\N{SUPERSCRIPT TWO}", " Msun") if is_proper else ("", "")
    floored = sum(number(booked, f"{kind}_floored_cells") for kind in ("energy", "density", "heating"))
    line = (
        f"Given to the gas by floors and repairs: {number(booked, 'floor_energy'):.3g}{energy}, "
        f"{number(booked, 'floor_mass'):.3g}{mass}. Cells floored {int(floored)}, of first order "
        f"{int(number(booked, 'first_order_cells'))}."
    )
    return f"<p>{escape(line)}</p>\n"


def _result_table(run: Run, rows: Sequence[TaskBill]) -> str:
    body = []
    for row in rows:
        steps = run.steps(row.name) if row.name in run.tasks else []
        if steps:
            first, last = (run.result_path(row.name, step) for step in (steps[0], steps[-1]))
            more = f" to {last.name}" if len(steps) > 1 else ""
            where = f"{first.relative_to(run.folder)}{more}"
            body.append([row.name, len(steps), f"{steps[0]} to {steps[-1]}" if more else steps[0], where])
    return table(["task", "files", "steps", "where"], body, text_columns=1) if body else ""


def _file_bill_table(events: Events) -> str:
    wall = wall_seconds(events)
    body = [
        [
            row.title,
            row.count,
            row.failed,
            size(row.bytes),
            speed(row.bytes, row.write_s),
            f"{100 * row.write_s / wall:.2g} %" if wall > 0 else "",
            duration(row.lost_s),
            row.writes,
            size(row.mean_write),
            *map(duration, (row.metadata_s, row.data_s, row.sync_s, row.exchange_s)),
        ]
        for row in file_bills(events)
    ]
    if not body:
        return ""
    head = ["kind", "files", "failed", "bytes", "speed", "of the wall time", "lost", "writes", "mean write"]
    note = (
        "<p class=note><em>Lost</em> is what the simulation waited: the whole time of writing, or, where files are "
        "written behind it, of copying and of waiting for the file before. Metadata, data, disk (bringing it there) "
        "and exchange (packing, and moving data between ranks) are times of the slowest rank.</p>"
    )
    return table([*head, "metadata", "data", "disk", "exchange"], body, text_columns=1) + note


def _file_table(events: Events) -> str:
    body = [
        [
            FILE_KINDS[event["event"]].removesuffix("s"),
            file_name(event),
            str(event.get("format", "")),
            event.get("step", ""),
            size(number(event, "bytes")),
            duration(number(event, "write_s")),
            speed(number(event, "bytes"), number(event, "write_s")),
            duration(file_lost_s(event)),
        ]
        for event in events.of(*FILE_KINDS)
    ]
    head = ["kind", "path", "format", "step", "size", "time", "speed", "lost"]
    return table(head, body, text_columns=3) if body else ""


def table(head: Sequence[str], body: Sequence[Sequence[Any]], text_columns: int) -> str:
    """A table whose first `text_columns` columns are text and the others numbers."""

    def cell(kind: str, index: int, value: Any) -> str:
        return f"<{kind}{' class=text' if index < text_columns else ''}>{escape(str(value))}</{kind}>"

    top = "".join(cell("th", index, value) for index, value in enumerate(head))
    rows = "".join(f"<tr>{''.join(cell('td', i, value) for i, value in enumerate(row))}</tr>\n" for row in body)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>\n{rows}</tbody></table></div>\n'


def _configuration(run: Run) -> str:
    path = run.folder / "config.toml"
    if not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8", errors="replace")
    return f"<section><details><summary>Configuration</summary><pre>{escape(text)}</pre></details></section>\n"
