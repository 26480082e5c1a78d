from __future__ import annotations

from typing import Any

import pytest

from sidestream.launch.bench import transfer


def point(sidecars: int, box_by_box: list[float]) -> dict[str, Any]:
    seconds = {
        "redistribution": [0.010, 0.020, 0.040],
        "box by box": box_by_box,
        "bare messages": [0.005, 0.020, 0.010],
        "memory copy": [0.001, 0.004, 0.004],
    }
    return {"sweep": "sidecars", "sidecars": sidecars, "bytes": 8e6, "seconds": seconds}


def test_shares_are_taken_repetition_by_repetition() -> None:
    (found,) = transfer.compare({"ranks": 4, "points": [point(1, [0.1, 0.1, 0.1])]})["points"]

    assert found["gb_per_s"]["redistribution"] == pytest.approx(0.4)
    assert found["of bare messages"] == pytest.approx({"redistribution": 0.5, "box by box": 0.1})
    assert found["of memory copy"] == pytest.approx({"redistribution": 0.1, "box by box": 0.04})


def test_the_best_split_is_that_of_the_fastest_redistribution() -> None:
    one, three = point(1, [0.1]), point(3, [0.001])
    three["seconds"] = three["seconds"] | {"redistribution": [0.1]}
    one["seconds"] = {way: times[:1] for way, times in one["seconds"].items()}
    three["seconds"] = {way: times[:1] for way, times in three["seconds"].items()}

    assert transfer.compare({"ranks": 4, "points": [three, one]})["best_ratio"] == pytest.approx(3.0)
