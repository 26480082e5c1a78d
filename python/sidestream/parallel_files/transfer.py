"""Transfers of a grid to sidecars (Friesen et al. 2016), by the model beside what they published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from .machine import EDISON, GIB, Machine

COMPONENTS = 10
RANKS, CELLS, BLOCK = 8192, 2048, 32
PUBLISHED_GIB_PER_S, PUBLISHED_RATIO = 58.0, 9
BOX_MESSAGE_S = 2.782e-3  # fitted: of one message of a box, all that its handling takes; `calibrated`


def seconds(
    machine: Machine, ranks: int, sidecars: int, cells: int, block: int, box_message_s: float | None = None
) -> float:
    """Of one transfer: the busiest of sender, receiver and the interfaces of the nodes of either group, which are
    filled one after another. With `box_message_s` each box sends a message a component, which takes so long at its
    ends; without, a pair of ranks that share cells one message."""
    senders, boxes = ranks - sidecars, max(1, cells // block) ** 3
    moved = 8.0 * COMPONENTS * float(cells) ** 3
    times = []
    for group, others in ((senders, sidecars), (sidecars, senders)):
        count = min(group, boxes)
        own = -(-boxes // count) / boxes
        mine = moved * own
        if box_message_s is None:
            messages_s = machine.message_s * max(1.0, others / count)
        else:
            messages_s = box_message_s * boxes * COMPONENTS * own
        node = min(machine.ranks_a_node, count) * mine / machine.node_bandwidth
        times.append(max(messages_s + mine / machine.rank_bandwidth, node))
    return max(times)


def point(machine: Machine, sweep: str, ranks: int, sidecars: int, cells: int, block: int) -> dict[str, Any]:
    """Speeds of both ways [GiB/s]."""
    moved = 8 * COMPONENTS * cells**3 / GIB
    return {
        "sweep": sweep,
        "ranks": ranks,
        "sidecars": sidecars,
        "cells": cells,
        "block": block,
        "box by box": moved / seconds(machine, ranks, sidecars, cells, block, BOX_MESSAGE_S),
        "a message a pair": moved / seconds(machine, ranks, sidecars, cells, block),
    }


def calibrated(machine: Machine) -> float:
    """What a message of a box takes such that the published speed is reached at the published ratio."""
    sidecars = round(RANKS / (1 + PUBLISHED_RATIO))
    wanted = 8 * COMPONENTS * CELLS**3 / GIB / PUBLISHED_GIB_PER_S
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        is_slower = seconds(machine, RANKS, sidecars, CELLS, BLOCK, middle) > wanted
        low, high = (low, middle) if is_slower else (middle, high)
    return 0.5 * (low + high)


def points(machine: Machine, ranks: int) -> Iterator[dict[str, Any]]:
    """(a) sidecars from 1/128 to 1/2 of the ranks, (b) grids from 128^3 at one split, (c) blocks of 16^3 to 128^3."""
    for share in (128, 64, 32, 16, 8, 4, 2):
        yield point(machine, "sidecars", ranks, max(1, ranks // share), CELLS, BLOCK)
    fixed = max(1, round(ranks / (1 + PUBLISHED_RATIO)))
    for cells in (128, 256, 512, 1024, 2048):
        yield point(machine, "grids", ranks, fixed, cells, BLOCK)
    for block in (16, 32, 64, 128):
        yield point(machine, "blocks", ranks, fixed, CELLS, block)


def best_ratio(rows: list[dict[str, Any]], way: str) -> float:
    """Ranks that compute for each sidecar where a way is fastest; of equal ones the fewest sidecars."""
    chosen = [row for row in rows if row["sweep"] == "sidecars"]
    fastest = max(row[way] for row in chosen)
    best = next(row for row in chosen if row[way] > 0.999 * fastest)
    return float((best["ranks"] - best["sidecars"]) / best["sidecars"])


def study(most_ranks: int = RANKS, machine: Machine = EDISON) -> dict[str, Any]:
    """The three sweeps on so many ranks, and what was published for 8,192."""
    rows = list(points(machine, most_ranks))
    ways = ("box by box", "a message a pair")
    report: dict[str, Any] = {"machine": asdict(machine), "points": rows, "published": []}
    report["best_ratio"] = {way: best_ratio(rows, way) for way in ways}
    if most_ranks >= RANKS:
        at_ratio = point(machine, "published", RANKS, round(RANKS / (1 + PUBLISHED_RATIO)), CELLS, BLOCK)
        for text, wanted, found, is_fitted in (
            ("GiB/s, box by box", PUBLISHED_GIB_PER_S, at_ratio["box by box"], True),
            ("ranks that compute a sidecar, box by box", PUBLISHED_RATIO, report["best_ratio"]["box by box"], False),
        ):
            report["published"].append(
                {"text": text, "published": wanted, "model": found, "error": found / wanted - 1, "is_fitted": is_fitted}
            )
    return report
