"""The rows of Marrinan et al. (2019) on the links of that work, from what our plans send and what a message costs here.

Both links are those of the paper; how far away the other end is, is not in what is published and is assumed. A step is
there once the slowest reader has it: its requests have travelled, its messages have been taken one by one, its bytes
have come through the narrowest place, and those that belong to other readers have gone to them.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace
from typing import Any

from .pairs import ROWS, Pair, Way, run_pair
from .plans import Load, loads

TECHNIQUES = ("bounding-box", "write-block", ROWS)
WRITERS = (8, 16, 32, 64, 128)  # four to a reader
MEGABYTES, MEGABYTES_A_WRITER = 4000.0, 31.25  # strong and weak scaling
SIZES = (15.6, 62.5, 250.0, 1000.0)
WINDOW_BYTES = 6 << 20  # of a connection under way, as Linux lets it grow (`net.ipv4.tcp_rmem`)
COSTS_READERS, COSTS_STEPS = 2, 30  # of the pair that is measured


@dataclass(frozen=True)
class Link:
    """Between the two jobs."""

    name: str
    bytes_per_s: float
    is_shared: bool  # by all readers; else each rank of both sides has one of its own
    round_trip_s: float  # assumed


LINKS = (
    Link("40 Gbit/s to one workstation", 5e9, True, 1e-4),
    Link("1 Gbit/s a node, wide area", 1.25e8, False, 1e-2),
)


@dataclass(frozen=True)
class Costs:
    """Of a rank, measured here."""

    message_s: float  # of taking a message of a kilobyte
    moved_bytes_per_s: float  # between readers, of each

    @classmethod
    def measured(cls, way: Way) -> Costs:
        """From one pair of jobs, in which the bounding box is read packed and as it is."""
        pair = Pair(4, COSTS_READERS, 256, 1 << 14)
        row = run_pair(pair, ("bounding-box", "write-block", ROWS), replace(way, steps=COSTS_STEPS))
        rows, boxes, blocks = row[ROWS], row["bounding-box"], row["write-block"]
        more = rows["most_messages_a_rank"] - boxes["most_messages_a_rank"]
        moved = sum(load.moved_bytes for load in loads(pair, "write-block"))
        return cls(
            max(0.0, rows["seconds"] - boxes["seconds"]) / more, moved / pair.readers / blocks["least_redistribute_s"]
        )


def seconds(pair: Pair, technique: str, link: Link, costs: Costs) -> float:
    """Of a step."""
    readers = loads(pair, technique)
    at_once = COSTS_READERS if link.is_shared else pair.readers  # that exchange: a workstation has so much memory speed
    moved = sum(load.moved_bytes for load in readers) / at_once / costs.moved_bytes_per_s
    slowest = max(_arrival_s(load, link, costs) for load in readers)
    total = sum(load.bytes for load in readers)
    if link.is_shared:
        return max(slowest, link.round_trip_s + total / link.bytes_per_s) + moved
    of_writer = link.round_trip_s + total / pair.writers / link.bytes_per_s
    return max(slowest, of_writer) + moved


def _arrival_s(load: Load, link: Link, costs: Costs) -> float:
    """At a reader that has the link for itself."""
    most = load.connections * WINDOW_BYTES / link.round_trip_s  # bytes/s that are acknowledged in time
    wire_s = load.bytes / min(link.bytes_per_s, most)
    return link.round_trip_s + max(wire_s, (load.messages + load.connections) * costs.message_s)


def report(way: Way) -> dict[str, Any]:
    """Effective bandwidths [GB/s] of each link, test and technique, and whether they say what the paper says."""
    costs = Costs.measured(way)
    links = []
    for link in LINKS:
        rows = [_row(pair, name, link, costs) for name, pair in _pairs()]
        links.append({"link": link.name, "round_trip_s": link.round_trip_s, "rows": rows, "paper": _compared(rows)})
    return {"message_s": costs.message_s, "moved_gb_per_s": 1e-9 * costs.moved_bytes_per_s, "links": links}


def _pairs() -> list[tuple[str, Pair]]:
    found = []
    for layout in ("columns", "rectangles"):
        for writers in WRITERS:
            found.append(("strong", _plane(writers, MEGABYTES, layout)))
            found.append(("weak", _plane(writers, MEGABYTES_A_WRITER * writers, layout)))
        found += [("size", _plane(WRITERS[-1], megabytes, layout)) for megabytes in SIZES]
    return found


def _plane(writers: int, megabytes: float, layout: str) -> Pair:
    """About square, of a width that is a power of two; the shape is assumed."""
    cells = megabytes * 1e6 / 8
    width = 1 << int(math.log2(math.sqrt(cells)))
    return Pair(writers, writers // 4, width, round(cells / width), layout)


def _row(pair: Pair, name: str, link: Link, costs: Costs) -> dict[str, Any]:
    row: dict[str, Any] = {"test": name, "layout": pair.layout, "writers": pair.writers, "readers": pair.readers}
    row["bytes"] = pair.bytes
    for technique in TECHNIQUES:
        readers = loads(pair, technique)
        row[technique] = {
            "gb_per_s": 1e-9 * pair.bytes / seconds(pair, technique, link, costs),
            "most_messages_a_rank": max(load.messages for load in readers),
            "connections": sum(load.connections for load in readers),
            "moved_bytes": sum(load.moved_bytes for load in readers),
        }
    row["even_message_s"] = even_message_s(pair, link, costs)
    return row


def even_message_s(pair: Pair, link: Link, costs: Costs) -> float:
    """What a message would have to cost for write-block to be as fast as the bounding box that nobody packs."""
    messages = max(load.messages + load.connections for load in loads(pair, ROWS))
    return (seconds(pair, "write-block", link, costs) - link.round_trip_s) / messages


def _compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the paper finds, and the number of the model that speaks for it or against it."""

    def speed(row: dict[str, Any], technique: str) -> float:
        return float(row[technique]["gb_per_s"])

    def drop(technique: str) -> float:
        """From rectangles to columns, in the median."""
        by = {(row["test"], row["writers"], row["layout"]): speed(row, technique) for row in rows}
        pairs = [
            (value, by[test, writers, "columns"]) for (test, writers, name), value in by.items() if name != "columns"
        ]
        return statistics.median(columns / rectangles for rectangles, columns in pairs)

    def growth(technique: str) -> float:
        """From the fewest ranks to the most, at the same size."""
        strong = [speed(row, technique) for row in rows if row["test"] == "strong" and row["layout"] == "columns"]
        return strong[-1] / strong[0]

    wins = statistics.fmean(speed(row, "write-block") >= speed(row, ROWS) for row in rows)
    return [
        _finding("write-block is the faster in nearly all rows: share of them", wins, wins > 0.9),
        _finding(
            "write-block gains with more ranks: speed of most over fewest",
            growth("write-block"),
            growth("write-block") > 1,
        ),
        _finding("the bounding box falls with more ranks: speed of most over fewest", growth(ROWS), growth(ROWS) < 1),
        _finding("columns hurt the bounding box: speed over that of rectangles", drop(ROWS), drop(ROWS) < 0.95),
        _finding(
            "and hardly write-block: speed over that of rectangles", drop("write-block"), drop("write-block") > 0.95
        ),
    ]


def _finding(text: str, value: float, agrees: bool) -> dict[str, Any]:
    return {"paper": text, "model": value, "agrees": agrees}
