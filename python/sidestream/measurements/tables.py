"""The tables beside this file."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np


def rows(name: str) -> list[dict[str, str]]:
    """The rows of `name.csv` by column."""
    table = files(__package__) / f"{name}.csv"
    return list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))


def column(table: list[dict[str, str]], name: str) -> np.ndarray:
    """A column as numbers, NaN where it is empty."""
    return np.array([float(row[name] or "nan") for row in table])
