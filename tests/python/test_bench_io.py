from __future__ import annotations

import pytest

from sidestream.launch.bench import io as benchmark


def case(format_: str, method: str, seconds: list[float], content: str = "checkpoint") -> benchmark.Case:
    return {
        "content": content,
        "format": format_,
        "method": method,
        "bytes": 4_000_000,
        "calls": {"writes": 12, "writing_ranks": 2, "sizes": {"<100": 2, "1M-4M": 10}},
        "seconds": seconds,
        "seconds_synced": [2 * value for value in seconds],
    }


def report(*cases: benchmark.Case) -> dict[str, object]:
    return {"ranks": 2, "cores": 2, "processor": "p", "file_system": "ext4", "model": False, "cases": list(cases)}


DISK = case("plain", "sequential", [0.01, 0.02, 0.04])
ENGINE = case("flash", "engine", [0.02, 0.04, 0.08])
COLLECTIVE = case("flash", "hdf5-collective", [0.03, 0.08, 0.40])


def test_speeds_are_medians_and_ratios_are_taken_repetition_by_repetition() -> None:
    found = benchmark.compare(report(dict(DISK), dict(ENGINE), dict(COLLECTIVE)))["cases"]

    assert found[1]["speed_seconds"]["mb_per_s"] == pytest.approx(100.0)
    assert found[1]["speed_seconds"]["of_disk"] == pytest.approx(0.5)
    assert found[1]["speed_seconds"]["of_best_peer"] == pytest.approx(2.0)
    assert found[2]["speed_seconds_synced"]["of_worst_peer"] == pytest.approx(0.5)


def test_claims_stand_beside_what_was_measured() -> None:
    claims = benchmark.compare(report(dict(DISK), dict(ENGINE), dict(COLLECTIVE)))["claims"]

    assert [claim["factor"] for claim in claims] == pytest.approx([2.0, 2.0])
    assert all(claim["holds"] and claim["wanted"] == 1.6 for claim in claims)


def test_a_case_that_failed_is_left_out_of_the_comparisons() -> None:
    failed = case("flash", "hdf5-collective", []) | {"error": "error: the disk is full"}

    found = benchmark.compare(report(dict(DISK), dict(ENGINE), failed))

    assert "of_best_peer" not in found["cases"][1]["speed_seconds"]
    assert not found["claims"]


def test_the_report_is_printed_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark.print_report(benchmark.compare(report(dict(DISK), dict(ENGINE), dict(COLLECTIVE))))

    said = capsys.readouterr().out
    assert "hdf5-collective" in said
    assert "2.00 times as fast (wanted 1.6): holds" in said


def test_small_writes_are_told_apart() -> None:
    assert benchmark.large_writes(ENGINE) == 10
