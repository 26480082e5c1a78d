"""Schedules of transposes as bench_fft_at_scale prints them, and what they ask of nodes and links."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torus import Flows, Indices, Numbers

PROGRAM = Path(__file__).parents[1] / "build" / "release" / "bench" / "bench_fft_at_scale"


@dataclass(frozen=True)
class Case:
    """A transform of `cells`^3 on rows x columns ranks that keeps so many modes along x and y."""

    cells: int
    rows: int
    columns: int
    kept: tuple[int, int] | None = None

    @property
    def ranks(self) -> int:
        return self.rows * self.columns

    @property
    def word(self) -> str:
        return ",".join(map(str, (self.cells, self.rows, self.columns, *(self.kept or ()))))


@dataclass(frozen=True)
class Exchange:
    """One transpose. Ranks are in groups (rows or columns of the process grid) with a place in each.

    A rank of kind k sends `cells[k, place]` to the rank at another place of its group and keeps `stays[k]`, which is
    what `cells` has at its own place.
    """

    group: Indices
    place: Indices
    kind: Indices
    cells: Numbers
    stays: Numbers

    @property
    def ranks(self) -> int:
        return len(self.group)


@dataclass(frozen=True)
class Schedule:
    case: Case
    exchanges: dict[str, Exchange]


def load(cases: Sequence[Case], program: Path = PROGRAM, every_rank: bool = False) -> list[Schedule]:
    """Asks the planner of the library, which makes the tables of a rank without the others."""
    words = ["--every-rank"] * every_rank + [case.word for case in cases]
    reports = json.loads(subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout)
    return [_schedule(case, report) for case, report in zip(cases, reports, strict=True)]


def _schedule(case: Case, report: dict) -> Schedule:
    kinds, counts = np.array(report["kind_runs"], dtype=np.int64).T
    kind = np.repeat(kinds, counts)
    rank = np.arange(case.ranks)
    exchanges = {}
    for name in report["kinds"][0].get("transposes", {}):
        in_row = name == "x_to_y"
        place, group = (rank % case.rows, rank // case.rows) if in_row else (rank // case.rows, rank % case.rows)
        tables = [(entry["rank"], entry["transposes"][name]) for entry in report["kinds"]]
        stays = np.array([table["cells_that_stay"] for _, table in tables], dtype=float)
        cells = np.zeros((len(tables), case.rows if in_row else case.columns))
        for row, (first, table) in enumerate(tables):
            for peer, step, messages, count in table["sent"]:
                peers = peer + step * np.arange(messages)
                if np.any(group[peers] != group[first]):
                    raise ValueError(f"{name} of {case.word}: rank {first} sends beyond its row or column")
                cells[row, place[peers]] = count
            cells[row, place[first]] = stays[row]
        exchanges[name] = Exchange(group, place, kind, cells, stays)
    return Schedule(case, exchanges)


def partners(exchange: Exchange, step: int) -> tuple[Indices, Numbers]:
    """The rank that each rank sends to in a step of a pairwise exchange, so many places on, and what it sends."""
    places = exchange.cells.shape[1]
    rank_at = np.zeros((int(exchange.group.max()) + 1, places), dtype=np.int64)
    rank_at[exchange.group, exchange.place] = np.arange(exchange.ranks)
    place = (exchange.place + step) % places
    return rank_at[exchange.group, place], exchange.cells[exchange.kind, place]


@dataclass(frozen=True)
class Load:
    """What the busiest rank and the busiest node have to do in an exchange; numbers of cells and messages."""

    rank_cells: float  # to all other ranks
    rank_cells_that_stay: float
    rank_cells_outside: float  # to other nodes
    rank_messages: float  # to other nodes
    node_cells: float  # to other nodes
    node_messages: float


def load_of(exchange: Exchange, ranks_a_node: int) -> Load:
    node = np.arange(exchange.ranks) // ranks_a_node
    sent = (exchange.cells.sum(axis=1) - exchange.stays)[exchange.kind]
    messages = ((exchange.cells > 0).sum(axis=1) - (exchange.stays > 0))[exchange.kind]
    cells_inside, messages_inside = _inside(exchange, node)
    return Load(
        rank_cells=float(sent.max()),
        rank_cells_that_stay=float(exchange.stays.max()),
        rank_cells_outside=float((sent - cells_inside).max()),
        rank_messages=float((messages - messages_inside).max()),
        node_cells=float(np.bincount(node, sent - cells_inside).max()),
        node_messages=float(np.bincount(node, messages - messages_inside).max()),
    )


def _inside(exchange: Exchange, node: Indices) -> tuple[Numbers, Numbers]:
    """Cells and messages that each rank sends to other ranks of its node."""
    pair = exchange.group * (int(node.max()) + 1) + node
    _, member = np.unique(pair, return_inverse=True)
    count = int(member.max()) + 1
    cells, messages = np.zeros(exchange.ranks), np.zeros(exchange.ranks)
    for kind in np.unique(exchange.kind):
        mine = exchange.kind == kind
        to_place = exchange.cells[kind][exchange.place]
        cells[mine] = np.bincount(member, to_place, count)[member[mine]] - exchange.stays[kind]
        met = np.bincount(member, to_place > 0, count)[member[mine]]
        messages[mine] = met - (exchange.stays[kind] > 0)
    return cells, messages


def flows_of(exchange: Exchange, site_of_rank: Indices) -> Flows:
    """The cells that go between the sites on which ranks lie; groups within one site are left out."""
    kinds = len(exchange.cells)
    _, source_site, source_weight, source_group = _merged(exchange.group * kinds + exchange.kind, site_of_rank, None)
    present = np.unique(exchange.group * kinds + exchange.kind)
    parts = []
    for kind in range(kinds):
        has = np.isin(exchange.group * kinds + kind, present)
        weights = exchange.cells[kind][exchange.place[has]]
        parts.append(_merged(exchange.group[has] * kinds + kind, site_of_rank[has], weights)[1:])
    site, weight, group = (np.concatenate(column) for column in zip(*parts, strict=True))
    spread = _leave_site(group, site, (int(exchange.group.max()) + 1) * kinds)
    sources, targets = spread[source_group], spread[group]
    number = _by_sources(source_group[sources], source_site[sources], source_weight[sources], len(spread))
    first = np.unique(number[source_group[sources]], return_index=True)[1]
    kept = np.isin(source_group[sources], source_group[sources][first])
    return Flows(
        len(first),
        number[source_group[sources]][kept],
        source_site[sources][kept],
        source_weight[sources][kept],
        number[group[targets]],
        site[targets],
        weight[targets],
    )


def _by_sources(group: Indices, site: Indices, weight: Numbers, groups: int) -> Indices:
    """A number for each group, equal for those that have the same sources: what these send is one flow."""
    number = np.zeros(groups, dtype=np.int64)
    known: dict[bytes, int] = {}
    bounds = np.append(np.flatnonzero(np.diff(group, prepend=-1)), len(group))
    for first, last in pairwise(bounds):
        key = site[first:last].tobytes() + weight[first:last].tobytes()
        number[group[first]] = known.setdefault(key, len(known))
    return number


def _merged(group: Indices, site: Indices, weights: Numbers | None) -> tuple[Indices, Indices, Numbers, Indices]:
    """Entries of one group at one site as one: key, site, weight, group."""
    sites = int(site.max()) + 1 if len(site) else 1
    key, where = np.unique(group * sites + site, return_inverse=True)
    return key, key % sites, np.bincount(where, weights, len(key)).astype(float), key // sites


def _leave_site(group: Indices, site: Indices, groups: int) -> NDArray[np.bool_]:
    """Which groups have members at more than one site."""
    lowest, highest = np.full(groups, np.iinfo(np.int64).max), np.full(groups, -1)
    np.minimum.at(lowest, group, site)
    np.maximum.at(highest, group, site)
    return highest > lowest
