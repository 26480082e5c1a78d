"""Plain twins of the array analyses: slow, short, obviously right."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import ndimage


def formula_field(n: int) -> np.ndarray:
    """A field of distinct values with known halos; indexed [i, j, k]."""
    x, y, z = np.meshgrid(*[2 * np.pi * np.arange(n) / n] * 3, indexing="ij")
    g = (
        1.1 * np.cos(x + 2 * y + 0.3)
        + 0.9 * np.cos(2 * x - z + 1.7)
        + 0.8 * np.cos(3 * y + z + 0.9)
        + 0.7 * np.cos(2 * x + 2 * y - 3 * z + 2.2)
        + 0.6 * np.cos(4 * x - y + 2 * z + 0.1)
        + 0.5 * np.cos(5 * z - 3 * y + 4.0)
    )
    return np.exp(1.3 * g)


def offsets(connectivity: int) -> list[tuple[int, int, int]]:
    every = [d for d in itertools.product((-1, 0, 1), repeat=3) if any(d)]
    if connectivity == 6:
        return [d for d in every if sum(map(abs, d)) == 1]
    if connectivity == 14:  # the Freudenthal triangulation: all components of one sign
        return [d for d in every if min(d) >= 0 or max(d) <= 0]
    return every


def brute_halos(field: np.ndarray, t_boundary: float, t_halo: float, connectivity: int, periodic: bool) -> list[tuple]:
    """(id, cells, sum, peak) of each halo, by id: label without wrapping, then join labels over the faces."""
    labels = _labels(field >= t_boundary, connectivity, periodic)
    halos = []
    for label in np.unique(labels[labels > 0]):
        cells = np.flatnonzero(labels == label)
        values = field.ravel()[cells]
        peak = values.max()
        if peak >= t_halo:
            halos.append((int(cells[values == peak].min()), cells.size, values.sum(), peak))
    return sorted(halos)


def _labels(mask: np.ndarray, connectivity: int, periodic: bool) -> np.ndarray:
    structure = np.zeros((3, 3, 3), dtype=bool)
    structure[1, 1, 1] = True
    for d in offsets(connectivity):
        structure[1 + d[0], 1 + d[1], 1 + d[2]] = True
    labels, count = ndimage.label(mask, structure)
    if not periodic:
        return labels
    parent = list(range(count + 1))

    def root(label: int) -> int:
        while parent[label] != label:
            label = parent[label]
        return label

    for d in offsets(connectivity):
        there = np.roll(labels, [-x for x in d], axis=(0, 1, 2))
        for a, b in set(zip(labels[mask & (there > 0)], there[mask & (there > 0)], strict=True)):
            parent[root(a)] = root(b)
    return np.array([root(label) for label in range(count + 1)])[labels]


def brute_branches(field: np.ndarray, connectivity: int, periodic: bool) -> list[tuple]:
    """(maximum, birth, saddle, death) of each branch, highest maximum first; the saddle of the first is -1."""
    values, shape = field.ravel(), field.shape
    order = sorted(range(values.size), key=lambda cell: (-values[cell], cell))
    rank = {cell: place for place, cell in enumerate(order)}
    top: dict[int, int] = {}  # cell: a cell of the same component, higher up

    def maximum(cell: int) -> int:
        while top[cell] != cell:
            cell = top[cell]
        return cell

    ends: dict[int, int] = {}
    for cell in order:
        met = {maximum(n) for n in _neighbours(cell, shape, connectivity, periodic) if n in top}
        top[cell] = cell
        if met:
            elder = min(met, key=rank.__getitem__)
            for other in met - {elder}:
                ends[other] = cell
                top[other] = elder
            top[cell] = elder
    maxima = [cell for cell in order if cell in ends or top[cell] == cell]
    return [(m, values[m], ends.get(m, -1), values[ends[m]] if m in ends else -np.inf) for m in maxima]


def _neighbours(cell: int, shape: tuple[int, ...], connectivity: int, periodic: bool) -> list[int]:
    place = np.unravel_index(cell, shape)
    found = []
    for d in offsets(connectivity):
        there = [int(p) + x for p, x in zip(place, d, strict=True)]
        if periodic:
            there = [p % n for p, n in zip(there, shape, strict=True)]
        if all(0 <= p < n for p, n in zip(there, shape, strict=True)):
            found.append(int(np.ravel_multi_index(there, shape)))
    return found


def brute_spectrum(field: np.ndarray, box_size: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(k, modes, power) in shells around the multiples of the fundamental mode up to the Nyquist frequency."""
    n = field.shape[0]
    delta = np.fft.fftn(field / field.mean() - 1) / field.size
    wave = np.fft.fftfreq(n, 1 / n)
    m = np.sqrt(wave[:, None, None] ** 2 + wave[None, :, None] ** 2 + wave[None, None, :] ** 2)
    shell = np.floor(m + 0.5).astype(int)
    inside = (shell >= 1) & (shell <= n / 2)
    modes = np.bincount(shell[inside])
    kept = modes > 0
    k = np.bincount(shell[inside], m[inside])[kept] / modes[kept] * 2 * np.pi / box_size
    power = np.bincount(shell[inside], np.abs(delta[inside]) ** 2)[kept] / modes[kept] * box_size**3
    return k, modes[kept], power
