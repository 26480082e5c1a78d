from __future__ import annotations

from typing import Any

import pytest

from sidestream.launch import bench_move


def case(name: str, seconds: list[float], **more: str) -> dict[str, Any]:
    return {"name": name, "seconds": seconds, **more}


def report(*cases: dict[str, Any]) -> dict[str, Any]:
    movement = {"name": "rows to columns", "bytes": 8e6, "cases": list(cases)}
    return {"machine": "m", "ranks": 2, "cells": 100, "wisdom": "w.json", "movements": [movement]}


COPY = case(bench_move.COPY, [0.001, 0.002, 0.004])
CHUNKWISE = case(bench_move.CHUNKWISE, [0.004, 0.008, 0.016])
P2P = case("p2p", [0.002, 0.004, 0.02], strategy="p2p")


def test_ratios_are_taken_repetition_by_repetition() -> None:
    found = bench_move.compare(report(dict(COPY), dict(CHUNKWISE), dict(P2P)))["movements"][0]["cases"][2]

    assert found["least_s"] == 0.002
    assert found["gb_per_s"] == pytest.approx(4.0)
    assert found["of_copy"] == pytest.approx(0.5)
    assert found["of_chunkwise"] == pytest.approx(2.0)


def test_a_strategy_that_is_not_possible_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    failed = case("rma", [], error="the strategy `rma` cannot be used here")
    tuned = case("tuned", [0.002, 0.004, 0.008], strategy="p2p")

    bench_move.print_report(bench_move.compare(report(dict(COPY), dict(CHUNKWISE), failed, tuned)))

    said = capsys.readouterr().out
    assert "cannot be used here" in said
    assert "took p2p" in said
    assert "w.json" in said
