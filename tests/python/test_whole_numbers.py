"""Whole numbers of all ranks stay whole, whatever the types of their parts."""

from __future__ import annotations

import numpy as np
import pytest

import sidestream
from sidestream.tasks import whole_numbers
from sidestream.tasks.found import Found

FAR = 2**63 + 1


class Step:
    """What rank 0 of several is told, of which each has a column."""

    def __init__(self, *others: np.ndarray) -> None:
        self._others = others

    def gather_bytes(self, own: bytes) -> list[bytes]:
        return [own, *(other.dtype.str.encode().ljust(8) + other.tobytes() for other in self._others)]

    def sum(self, parts: list[np.ndarray]) -> float:
        return float(sum(part.sum() for part in parts))


@pytest.mark.parametrize("others", [[7], [7, 0], []], ids=str)
def test_ids_of_several_types_are_whole_numbers(others: list[int]) -> None:
    found = whole_numbers.gathered(Step(np.array(others, int)), np.array([FAR], np.uint64))

    assert found.dtype == np.uint64
    assert found.tolist() == [FAR, *others]


def test_negative_numbers_are_kept_where_they_can_be() -> None:
    found = whole_numbers.gathered(Step(np.array([-7])), np.array([2**53 + 1], np.uint64))

    assert found.dtype == np.int64
    assert found.tolist() == [2**53 + 1, -7]
    with pytest.raises(sidestream.Error, match=f"whole numbers from -7 to {FAR}"):
        whole_numbers.gathered(Step(np.array([-7])), np.array([FAR], np.uint64))


def test_a_column_with_reals_is_one_of_reals() -> None:
    found = whole_numbers.gathered(Step(np.array([0.5])), np.array([3]))

    assert found.dtype == np.float64
    assert found.tolist() == [3.0, 0.5]


class AsInNumPy1(np.ndarray):
    """An array of no axes, of which and a whole number of Python NumPy 1 makes a double."""

    def __rshift__(self, bits: object) -> np.ndarray:
        if isinstance(bits, int):
            raise TypeError("ufunc 'right_shift' not supported for the input types")
        return super().__rshift__(bits)


def test_a_sum_takes_single_numbers_with_every_numpy() -> None:
    numbers = [np.asarray(np.uint64(value)).view(AsInNumPy1) for value in (FAR, 7)]

    assert whole_numbers.total(Step(), numbers) == FAR + 7


@pytest.mark.parametrize("value", [2**64, -(2**70), np.uint64(FAR), [2**64, 1]], ids=str)
def test_a_result_has_whole_numbers_beyond_64_bits_as_doubles(value: object) -> None:
    (column,) = Found({"far": value}).as_dict()["columns"]

    assert column[5].dtype == np.float64
    assert column[5].tolist() == [float(one) for one in np.ravel(np.asarray(value, object))]


def test_a_result_has_whole_numbers_of_64_bits_as_they_are() -> None:
    for value in (2**63 - 1, np.array([2**53 + 1], object), np.uint64(2**63 - 1), np.array([], np.uint64), True):
        (column,) = Found({"near": value}).as_dict()["columns"]
        assert column[5].dtype == np.int64
        assert column[5].tolist() == np.ravel(value).tolist()


def test_an_attribute_beyond_64_bits_is_a_double() -> None:
    xr = pytest.importorskip("xarray")
    attributes = {"far": np.uint64(FAR), "farther": 2**64, "near": 2**63 - 1}

    found = Found(xr.Dataset(attrs=attributes)).as_dict()["attributes"]

    assert found == {"far": float(FAR), "farther": float(2**64), "near": 2**63 - 1}
    assert [type(one) for one in found.values()] == [float, float, int]


@pytest.mark.parametrize("value", [2**1024, np.array([None]), np.array([], object), np.array([1, "a"], object)])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(sidestream.Error, match="no number"):
        Found({"odd": value})
