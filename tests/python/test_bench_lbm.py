from __future__ import annotations

from typing import Any

import pytest

from sidestream.launch.bench import lbm as bench_lbm


def report(**more: Any) -> dict[str, Any]:
    case = {
        "lattice": "D2Q9",
        "precision": "double",
        "cells": [64, 64, 1],
        "bytes_an_update": 144.0,
        "million_updates_per_s": [40.0, 60.0],
        "copy_gb_per_s": [9.0, 10.0],
        "share_of_roofline": 0.864,
        "publish_overhead": 0.0321,
        "publish_overhead_of_processor": 0.0309,
        "publish_overhead_of_bytes": 0.0278,
    }
    return {"machine": "m", "collision": "trt", "ranks": 1, "cases": [case]} | more


def test_the_best_rates_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    found = bench_lbm.compare(report(), [{"million_updates_per_s": [20.0, 30.0, 10.0]}])

    assert found["cases"][0]["of_peer"] == 2.0
    bench_lbm.print_report(found)
    said = capsys.readouterr().out
    assert "0.86" in said
    assert "2.00" in said
    for overhead in ("+3.2 %", "+3.1 %", "+2.8 %"):
        assert overhead in said


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (bench_lbm.LbmRequest(1, peer=False), "not asked for"),
        (bench_lbm.LbmRequest(2), "one rank"),
        (bench_lbm.LbmRequest(1, collision="regularised"), "no such collision"),
    ],
)
def test_it_is_said_why_there_is_no_peer(
    request_: bench_lbm.LbmRequest, why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_lbm, "report_of", lambda *_: report())

    found = bench_lbm.measure(request_)

    assert why in found["peer"]
    bench_lbm.print_report(found)
    assert why in capsys.readouterr().out
