"""A table of one's own beside those of the package: the power of the flux, with a covariance of its points."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ..error import Error
from . import FluxPower
from .tables import column

COLUMNS = ("z", "k_s_km", "P_km_s")
ROUNDING = 1e-6  # of correlations, that a matrix may be unsymmetric by


def read_flux_power(path: Path, covariance: Path | None = None) -> FluxPower:
    """A table of `z,k_s_km,P_km_s,sigma_...` in CSV, as those of the package are.

    Args:
        path: of the table; errors of columns `sigma_*` are added in quadrature.
        covariance: of a matrix in CSV without a head, of the points in the order of the table [km^2/s^2]; it takes the
            place of the errors.

    Raises:
        Error: the table lacks columns or has what is no number, or the matrix is no covariance of its points.
    """
    table = list(csv.DictReader(_lines(path)))
    if not table:
        raise Error("the table has no rows", path, f"give columns {','.join(COLUMNS)},sigma_total with a head")
    errors = [title for title in table[0] if title and title.startswith("sigma_")]
    missing = [title for title in COLUMNS if title not in table[0]]
    if missing or not (errors or covariance):
        what = f"the table has no column `{missing[0]}`" if missing else "the table has no errors"
        raise Error(what, path, f"give columns {','.join(COLUMNS)} and errors `sigma_...`, or --covariance")
    try:
        z, k, power = (column(table, title) for title in COLUMNS)
        parts = {title: column(table, title) for title in errors}
    except (TypeError, ValueError) as problem:
        raise Error(f"the table holds what is no number: {problem}", path, "give numbers in every row") from problem
    for title, part in parts.items():
        if (part < 0).any():
            row = int(np.argmax(part < 0))
            what = f"`{title}` is {part[row]:g} in row {row + 1}, and an error is not below zero"
            raise Error(what, path, "give one standard deviation")
    error = np.sqrt(sum((part**2 for part in parts.values()), np.zeros(len(table))))
    finite = np.isfinite([z, k, power, error]).all(axis=0)
    if not finite.all():
        what = f"row {int(np.argmin(finite)) + 1} holds a number that is not finite, or none"
        raise Error(what, path, "leave such rows out")
    if covariance is None:
        if (error == 0).any():
            what = f"the errors of row {int(np.argmax(error == 0)) + 1} are all zero, and chi^2 divides by them"
            raise Error(what, path, "give one standard deviation above zero, or leave such rows out")
        return FluxPower(path.stem, z, k, power, error)
    matrix = _read_covariance(covariance, len(table))
    return FluxPower(path.stem, z, k, power, np.sqrt(np.diag(matrix)), matrix)


def _read_covariance(path: Path, points: int) -> np.ndarray:
    hint = f"give {points} rows of {points} numbers, in the order of the rows of the data"
    lines = [line for line in _lines(path) if line.partition("#")[0].strip()]
    if not lines:
        raise Error("the covariance is empty", path, hint)
    try:
        matrix = np.loadtxt(lines, delimiter=",", ndmin=2)
    except ValueError as problem:
        raise Error(f"the covariance is no matrix of numbers: {problem}", path, hint) from problem
    if matrix.shape != (points, points):
        raise Error(f"the covariance is of {matrix.shape[0]} x {matrix.shape[-1]}, the data of {points}", path, hint)
    variance = np.diag(matrix)
    if not (np.isfinite(matrix).all() and (variance > 0).all()):
        raise Error("the covariance has variances that are not above zero, or not finite", path, hint)
    sigma = np.sqrt(variance)
    if (np.abs(matrix - matrix.T) > ROUNDING * np.outer(sigma, sigma)).any():
        row, other = np.unravel_index(np.argmax(np.abs(matrix - matrix.T)), matrix.shape)
        what = f"the covariance is not symmetric: of points {other + 1} and {row + 1}"
        raise Error(f"{what} it has {matrix[other, row]:g} and {matrix[row, other]:g}", path, hint)
    symmetric: np.ndarray = 0.5 * (matrix + matrix.T)
    try:
        np.linalg.cholesky(symmetric / np.outer(sigma, sigma))
    except np.linalg.LinAlgError as problem:
        what = "the covariance is not positive definite: some combination of points has no variance"
        raise Error(
            what, path, "give one of full rank; one that was estimated takes more samples than points"
        ) from problem
    return symmetric


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as problem:
        raise Error(f"the file cannot be read: {problem}", path, "give the path of a table in CSV") from problem
