"""Traffic on the links of a 3-D torus, and where a job lies on it, for bench/fft_at_scale.py.

Messages go along x, then y, then z (the fixed order of the Gemini network), the shorter way round each ring, half each
way where both are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]
Shape = tuple[int, int, int]
Loads = tuple[Numbers, Numbers, Numbers]  # [ring, link, direction] of each axis


@dataclass(frozen=True)
class Torus:
    """Routers at `shape` sites, numbered with x fastest; `bandwidth[axis][i]` [bytes/s]: of the link from i to i + 1
    of each ring along the axis, in each direction."""

    shape: Shape
    bandwidth: tuple[Numbers, Numbers, Numbers]

    @property
    def sites(self) -> int:
        return self.shape[0] * self.shape[1] * self.shape[2]

    def coordinates(self, site: Indices) -> tuple[Indices, Indices, Indices]:
        nx, ny, _ = self.shape
        return site % nx, site // nx % ny, site // (nx * ny)


def uniform_torus(shape: Shape, bandwidth: float) -> Torus:
    x, y, z = (np.full(n, bandwidth) for n in shape)
    return Torus(shape, (x, y, z))


@dataclass(frozen=True)
class Flows:
    """What goes between sites, as sums of products: group g sends `source_weight` times `destination_amount` from
    each of its sources to each of its destinations. What this gives for a site and itself loads no link."""

    groups: int
    source_group: Indices
    source_site: Indices
    source_weight: Numbers
    destination_group: Indices
    destination_site: Indices
    destination_amount: Numbers


def all_to_all(sites: Indices, amount: float) -> Flows:
    """Each site shares `amount` among all evenly."""
    zero = np.zeros(len(sites), dtype=np.int64)
    weight = np.ones(len(sites))
    return Flows(1, zero, sites, weight, zero, sites, weight * (amount / len(sites)))


@cache
def _paths(n: int) -> Numbers:
    """[from, to, link, direction]: the part of a message that crosses each link of a ring."""
    paths = np.zeros((n, n, n, 2))
    for source, target in product(range(n), repeat=2):
        ahead = (target - source) % n
        behind = n - ahead
        if ahead == 0:
            continue
        forward = 1.0 if ahead < behind else 0.5 if ahead == behind else 0.0
        paths[source, target, [(source + i) % n for i in range(ahead)], 0] += forward
        paths[source, target, [(target + i) % n for i in range(behind)], 1] += 1.0 - forward
    return paths


def _table(keys: Indices, columns: Indices, weights: Numbers, shape: tuple[int, int]) -> Numbers:
    flat = np.bincount(keys * shape[1] + columns, weights, minlength=shape[0] * shape[1])
    return flat.astype(float).reshape(shape)


def _on_rings(traffic: Numbers, n: int) -> Numbers:
    """Loads [ring, link, direction] of traffic [ring, from, to]."""
    loads = traffic.reshape(-1, n * n) @ _paths(n).reshape(n * n, n * 2)
    return loads.reshape(-1, n, 2)


def link_loads(torus: Torus, flows: Flows) -> Loads:
    """What crosses the links of each axis, [ring, link, direction]."""
    nx, ny, nz = torus.shape
    xs, ys, zs = torus.coordinates(flows.source_site)
    xd, yd, zd = torus.coordinates(flows.destination_site)
    source, target = flows.source_group, flows.destination_group

    # Along x in the row of the source, to the x of the destination.
    to_x = _table(target, xd, flows.destination_amount, (flows.groups, nx))
    row = (ys * nz + zs) * nx + xs
    along_x = _scattered(row, flows.source_weight, to_x[source], torus.sites)
    # Then along y, at the x of the destination and the z of the source.
    from_yz = _table(source, ys * nz + zs, flows.source_weight, (flows.groups, ny * nz))
    to_xy = _table(target, xd * ny + yd, flows.destination_amount, (flows.groups, nx * ny))
    along_y = (from_yz.T @ to_xy).reshape(ny, nz, nx, ny).transpose(2, 1, 0, 3)
    # Then along z, in the column of the destination.
    from_z = _table(source, zs, flows.source_weight, (flows.groups, nz))
    column = (xd * ny + yd) * nz + zd
    along_z = _scattered(column, flows.destination_amount, from_z[target], torus.sites)
    along_z = along_z.reshape(nx * ny, nz, nz).transpose(0, 2, 1)

    return (
        _on_rings(np.ascontiguousarray(along_x), nx),
        _on_rings(np.ascontiguousarray(along_y), ny),
        _on_rings(np.ascontiguousarray(along_z), nz),
    )


def _scattered(rows: Indices, weights: Numbers, values: Numbers, count: int) -> Numbers:
    """Sums of weights times values by row."""
    columns = [np.bincount(rows, weights * values[:, i], minlength=count) for i in range(values.shape[1])]
    return np.stack(columns, axis=1)


def message_loads(torus: Torus, source: Indices, target: Indices, amount: Numbers) -> Loads:
    """The same as `link_loads` for a list of messages between sites."""
    here = list(torus.coordinates(source))
    goal = torus.coordinates(target)
    loads = []
    for axis, n in enumerate(torus.shape):
        others = [i for i in range(3) if i != axis]
        ring = here[others[0]] * torus.shape[others[1]] + here[others[1]]
        rings = torus.shape[others[0]] * torus.shape[others[1]]
        loads.append(_segments(ring, rings, here[axis], goal[axis], amount, n))
        here[axis] = goal[axis]
    return loads[0], loads[1], loads[2]


def _segments(ring: Indices, rings: int, source: Indices, target: Indices, amount: Numbers, n: int) -> Numbers:
    ahead, behind = (target - source) % n, (source - target) % n
    part = np.where(ahead < behind, 1.0, np.where(ahead == behind, 0.5, 0.0)) * (ahead > 0)
    forward = _covered(ring, rings, source, target, part * amount, n)
    back = _covered(ring, rings, target, source, (1.0 - part) * (ahead > 0) * amount, n)
    return np.stack([forward, back], axis=2)


def _covered(ring: Indices, rings: int, first: Indices, last: Indices, amount: Numbers, n: int) -> Numbers:
    """Sums of amounts over the links from `first` to before `last`, round the ring where it is lower."""
    size = rings * n
    steps = np.bincount(ring * n + first, amount, size) - np.bincount(ring * n + last, amount, size)
    table = steps.reshape(rings, n)
    table[:, 0] += np.bincount(ring, amount * (last < first), rings)
    return np.cumsum(table, axis=1)


def link_seconds(torus: Torus, loads: Loads) -> float:
    """The time of the link that takes longest."""
    slowest = 0.0
    for load, bandwidth in zip(loads, torus.bandwidth, strict=True):
        slowest = max(slowest, float((load / bandwidth[:, None]).max()))
    return slowest


def cuboid(torus: Torus, shape: Shape) -> Indices:
    """The sites of a cuboid at the origin, x fastest."""
    nx, ny, _ = torus.shape
    z, y, x = np.meshgrid(*(np.arange(n) for n in reversed(shape)), indexing="ij")
    return (x + nx * (y + ny * z)).ravel()


def shapes(torus: Torus, sites: int) -> list[Shape]:
    """Cuboids of the torus that hold so many sites, with as few more as a last incomplete plane needs."""
    nx, ny, nz = torus.shape
    found = []
    for x, y in product(range(1, nx + 1), range(1, ny + 1)):
        z = -(-sites // (x * y))
        if z <= nz and x * y * z <= 1.1 * sites + 1:
            found.append((x, y, z))
    return found


def best_shape(torus: Torus, sites: int) -> Shape:
    """The cuboid in which an exchange of all with all loads the links least; the smaller of equal ones."""

    def merit(shape: Shape) -> tuple[float, int]:
        places = cuboid(torus, shape)[:sites]
        return link_seconds(torus, link_loads(torus, all_to_all(places, 1.0))), int(np.prod(shape))

    return min(sorted(shapes(torus, sites), key=lambda shape: _cut_seconds(torus, shape))[:12], key=merit)


def _cut_seconds(torus: Torus, shape: Shape) -> float:
    """Estimate of the same by the cut through the middle of each axis."""
    volume = float(np.prod(shape))
    slowest = 0.0
    for n, full, bandwidth in zip(shape, torus.shape, torus.bandwidth, strict=True):
        links = volume / n * (2 if n == full else 1)
        slowest = max(slowest, volume / 4 / links / bandwidth.min() if n > 1 else 0.0)
    return slowest
