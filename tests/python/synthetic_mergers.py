"""Adds a task of linked halos to a made-up run, whose tree is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import synthetic

TASK = "linked"
# id: mass, at each step. 11 is the trunk; 2 merges into it at step 30, 3 at step 40; 34 splits off at step 40.
HALOS = {
    10: {1: 10.0, 2: 4.0, 3: 2.0, 4: 1.0},
    20: {11: 12.0, 12: 5.0, 13: 2.5},
    30: {21: 18.0, 23: 3.0, 25: 1.0},
    40: {31: 22.0, 34: 2.0, 35: 1.5},
}
# progenitor, descendant, shared mass, shared particles, whether it is the main progenitor, the main descendant.
LINKS = {
    10: [],
    20: [(1, 11, 9.0, 90, 1, 1), (2, 12, 4.0, 40, 1, 1), (3, 13, 1.0, 15, 1, 1), (2, 11, 0.5, 5, 0, 0)],
    30: [(11, 21, 11.0, 110, 1, 1), (12, 21, 4.5, 45, 0, 1), (13, 23, 2.0, 20, 1, 1)],
    40: [(21, 31, 15.0, 150, 1, 1), (23, 31, 2.0, 25, 0, 1), (21, 34, 1.0, 12, 1, 0), (25, 35, 1.0, 10, 1, 1)],
}


def write_linked_run(folder: Path) -> Path:
    """A finished run whose task `linked` has halos with members and links at four steps."""
    synthetic.write_run(folder, steps=10)
    for step in HALOS:
        write_linked_result(folder, step)
    return folder


def write_linked_result(folder: Path, step: int, **attributes: object) -> Path:
    """One result of the task."""
    before = {} if step == 10 else {"progenitor_step": step - 10, "progenitor_scale_factor": 0.5}
    table = halo_columns(step) | link_columns(step) | member_columns(step)
    known = {"member_step": step, "member_scale_factor": 0.5, **before, **attributes}
    return synthetic.write_result(folder, TASK, "halos", step, synthetic.redshift_of(step), table, **known)


def halo_columns(step: int) -> synthetic.Table:
    ids = np.array(list(HALOS[step]), dtype=np.int64)
    mass = 1e12 * np.array(list(HALOS[step].values()))
    rows = ("halo",)
    table: synthetic.Table = {"id": (rows, ids, "1"), "mass": (rows, mass, "Msun")}
    for axis in "xyz":
        table[axis] = (rows, np.linspace(1, 9, ids.size), "Mpc")
    return table | {
        "cells": (rows, np.full(ids.size, 200), "1"),
        "peak": (rows, synthetic.MEAN * np.linspace(900, 300, ids.size), "Msun/Mpc^3"),
    }


def link_columns(step: int) -> synthetic.Table:
    rows = ("link",)
    columns = list(zip(*LINKS[step], strict=True)) or [()] * 6
    integers = [np.array(column, dtype=np.int64) for column in columns]
    return {
        "progenitor": (rows, integers[0], "1"),
        "descendant": (rows, integers[1], "1"),
        "shared_volume": (rows, np.array(columns[2], dtype=float), "Mpc^3"),
        "shared_mass": (rows, 1e12 * np.array(columns[2], dtype=float), "Msun"),
        "shared_particles": (rows, integers[3], "1"),
        "is_main_progenitor": (rows, integers[4], "1"),
        "is_main_descendant": (rows, integers[5], "1"),
    }


def member_columns(step: int) -> synthetic.Table:
    rows = ("member_particle",)
    ids = np.arange(step, dtype=np.int64)
    return {"member_particle_id": (rows, ids, "1"), "member_particle_halo": (rows, ids % 3, "1")}
