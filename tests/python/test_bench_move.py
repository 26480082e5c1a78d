from __future__ import annotations

from typing import Any

import pytest

from sidestream.launch.bench import move as bench_move


def case(name: str, seconds: list[float], **more: str) -> dict[str, Any]:
    return {"name": name, "seconds": seconds, **more}


def report(*cases: dict[str, Any]) -> dict[str, Any]:
    movement = {"name": "rows to columns", "bytes": 8e6, "cases": list(cases)}
    return {"machine": "m", "ranks": 2, "cells": 100, "wisdom": "w.json", "movements": [movement]}


COPY = case(bench_move.COPY, [0.001, 0.002, 0.004])
CHUNKWISE = case(bench_move.CHUNKWISE, [0.004, 0.008, 0.016])


def test_ratios_are_those_of_the_times_beside_them() -> None:
    copy = case(bench_move.COPY, [0.003, 0.001, 0.004])
    p2p = case("p2p", [0.002, 0.02, 0.004], strategy="p2p")

    found = bench_move.compare(report(copy, dict(CHUNKWISE), p2p))["movements"][0]["cases"]

    assert [one["least_s"] for one in found] == [0.001, 0.004, 0.002]
    assert [one["of_copy"] for one in found] == pytest.approx([1.0, 0.25, 0.5])
    assert [one["of_chunkwise"] for one in found] == pytest.approx([4.0, 1.0, 2.0])
    assert found[2]["gb_per_s"] == pytest.approx(4.0)


def test_a_strategy_that_is_not_possible_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    failed = case("rma", [], error="the strategy `rma` cannot be used here")
    tuned = case("tuned", [0.002, 0.004, 0.008], strategy="p2p")

    bench_move.print_report(bench_move.compare(report(dict(COPY), dict(CHUNKWISE), failed, tuned)))

    said = capsys.readouterr().out
    assert "cannot be used here" in said
    assert "took p2p" in said
    assert "w.json" in said
