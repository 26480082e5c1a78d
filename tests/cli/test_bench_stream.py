"""`sidestream bench stream`: what it measures has happened, what it counts is sent, what it says follows from that."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

import sidestream
from sidestream.cli import run_command
from sidestream.launch.bench import stream as bench_stream
from sidestream.launch.streams import burdens, model
from sidestream.launch.streams.link import ShapedLink
from sidestream.launch.streams.pairs import ROWS, TECHNIQUES, Pair, Way, judged, run_pair, why_write_block_loses
from sidestream.launch.streams.plans import Load, loads, reader_boxes
from tiers import slow

ALL = (*TECHNIQUES, ROWS)
FEW = Way(steps=8)
PAIRS = [
    Pair(3, 2, 64, 96, "rectangles"),  # shares that are not even
    Pair(5, 3, 1024, 600, "columns"),  # more than a piece from each
]
MORE_PAIRS = [
    Pair(4, 2, 8192, 64, "columns"),  # long rows
    Pair(4, 4, 1024, 512, "rectangles"),
]


@pytest.mark.parametrize("pair", [*PAIRS, *slow(*MORE_PAIRS)], ids=str)
def test_what_goes_over_the_link_is_counted_without_a_job(pair: Pair) -> None:
    row = run_pair(pair, ALL, FEW)
    for technique in ("bounding-box", "write-block", ROWS):
        counted, sent = loads(pair, technique), row[technique]
        assert sum(load.bytes for load in counted) == sent["bytes"] == 8 * pair.width * pair.height
        assert max(load.bytes for load in counted) == sent["most_bytes_a_rank"]
        assert sum(load.messages for load in counted) == sent["messages"]
        assert max(load.messages for load in counted) == sent["most_messages_a_rank"]
        assert sum(load.connections for load in counted) == sent["connections"]
    assert row["auto"]["technique"] in ("bounding-box", "write-block")
    assert row[ROWS]["gb_per_s"] == pytest.approx(1e-9 * pair.bytes / row[ROWS]["seconds"])
    assert row["auto_of_faster"] > 0


@pytest.mark.parametrize("layout", ["columns", "rectangles"])
def test_the_boxes_of_readers_cover_the_plane_once(layout: str) -> None:
    pair = Pair(128, 32, 1024, 4096, layout)
    boxes = reader_boxes(pair)
    assert len(boxes) == 32
    assert sum(box.bytes for box in boxes) == pair.bytes
    assert not any(one.meet(other).bytes for one in boxes for other in boxes if one is not other)


def test_what_stays_with_a_reader_is_not_moved() -> None:
    assert loads(Pair(4, 1, 64, 64), "write-block") == [Load(8 * 64 * 64, 4, 4, 0)]
    one, other = loads(Pair(4, 2, 64, 64), "write-block")
    assert one.moved_bytes == other.moved_bytes == 8 * 64 * 64 // 4  # half of its half


def row_of(boxes_s: float, blocks_s: float, **of_blocks: Any) -> dict[str, Any]:
    common = {"redistribute_s": 0.0, "bytes": 800, "most_bytes_a_rank": 200, "connections": 16}
    common |= {"most_connections_a_rank": 4}
    boxes = common | {"median_s": boxes_s}
    return {"readers": 4, "bounding-box": boxes, "write-block": common | {"median_s": blocks_s} | of_blocks}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (row_of(0.1, 0.09), ""),
        (row_of(0.1, 0.104), ""),
        (row_of(0.1, 0.15, redistribute_s=0.04), "50.0 ms behind: redistribution takes 40.0 ms"),
        (row_of(0.1, 0.2, most_bytes_a_rank=400), "100.0 ms behind: one reader takes 2.00 times an even share"),
        (
            row_of(0.1, 0.2, connections=4, most_connections_a_rank=1),
            "1 connections a reader fetch less at once than 4",
        ),
    ],
)
def test_a_row_says_why_write_block_loses(row: dict[str, Any], why: str) -> None:
    assert why_write_block_loses(row).endswith(why)
    assert bool(why_write_block_loses(row)) == bool(why)


def test_auto_is_judged_by_the_same_steps() -> None:
    seconds = [(1.0, 2.0, 1.1), (3.0, 6.0, 3.0), (2.0, 4.0, 2.0)]  # the machine was slow in the second one
    taken = ["bounding-box", "bounding-box", "write-block"]
    steps = [dict(zip(TECHNIQUES, ({"seconds": s} for s in step), strict=True)) for step in seconds]
    steps = [step | {"auto": step["auto"] | {"technique": name}} for step, name in zip(steps, taken, strict=True)]
    found = judged(steps, row_of(2.0, 4.0, redistribute_s=1.0))
    assert found["faster"] == "bounding-box"
    assert found["auto_of_faster"] == 1.0
    assert found["choice_of_faster"] == 0.75  # twice 2 s, once 4 s


def two_hosts_or_skip() -> ShapedLink:
    link = ShapedLink("200mbit")
    try:
        return link.__enter__()
    except sidestream.Error as problem:
        pytest.skip(f"not allowed here: two hosts: {problem.what}")


def test_a_link_lets_through_what_it_is_shaped_to() -> None:
    link = two_hosts_or_skip()
    try:
        way = Way(link.listen, "none", link.launcher(0), link.launcher(1), 8)
        row = run_pair(Pair(2, 2, 1024, 512), ALL, way)
    finally:
        link.__exit__(None, None, None)
    for technique in ALL:  # 25 MB/s, and the 256 kB of its bucket
        assert 1e-6 * row["bytes"] / row[technique]["median_s"] < 1.25 * 25


def test_where_no_link_can_be_made_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = bench_stream.over_a_link(bench_stream.StreamRequest(), "1gbit")
    assert found == {"rate": "1gbit", "skipped": "a shaped link needs `ip`, which is not installed"}


def test_a_speed_that_is_none_is_told() -> None:
    two_hosts_or_skip().__exit__(None, None, None)
    found = bench_stream.over_a_link(bench_stream.StreamRequest(), "quick")
    assert "quick" in found["skipped"] or "Illegal" in found["skipped"]


COSTS = model.Costs(message_s=1e-5, moved_bytes_per_s=1e9)
NEAR, FAR = model.LINKS


def test_the_model_is_the_speed_of_the_link_where_nothing_else_counts() -> None:
    free = model.Costs(0.0, 1e30)
    pair = Pair(128, 32, 16384, 30518)
    for technique in model.TECHNIQUES:
        assert pair.bytes / model.seconds(pair, technique, NEAR, free) == pytest.approx(5e9, rel=1e-3)
        assert pair.bytes / model.seconds(pair, technique, FAR, free) == pytest.approx(32 * 1.25e8, rel=0.02)


def test_the_model_charges_messages_and_what_readers_exchange() -> None:
    pair = Pair(8, 2, 16384, 30518)
    dear = dataclasses.replace(COSTS, message_s=1e-3)
    more = 30518 + 8
    assert model.seconds(pair, ROWS, NEAR, dear) == pytest.approx(NEAR.round_trip_s + more * 1e-3)
    wire = model.seconds(pair, "write-block", NEAR, dataclasses.replace(COSTS, moved_bytes_per_s=1e30))
    moved = sum(load.moved_bytes for load in loads(pair, "write-block")) / 2 / 1e9
    assert model.seconds(pair, "write-block", NEAR, COSTS) == pytest.approx(wire + moved)


def test_at_the_cost_that_makes_them_even_both_take_the_same() -> None:
    pair = Pair(32, 8, 16384, 30518)
    even = model.even_message_s(pair, NEAR, COSTS)
    rows = model.seconds(pair, ROWS, NEAR, dataclasses.replace(COSTS, message_s=even))
    assert rows == pytest.approx(model.seconds(pair, "write-block", NEAR, COSTS))


def test_the_model_alone_is_a_table_and_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(model, "COSTS_STEPS", 4)
    assert run_command(["bench", "stream", "--model", "--json"]) == 0
    links = json.loads(capsys.readouterr().out)["links"]
    assert [len(link["rows"]) for link in links] == [28, 28]
    largest = [row for row in links[0]["rows"] if row["writers"] == 128]
    assert {row["readers"] for row in largest} == {32}
    assert {row["write-block"]["connections"] for row in largest} == {128}
    assert {row["bounding-box"]["connections"] for row in largest if row["layout"] == "columns"} == {128 * 32}


def test_a_publish_for_nobody_is_little_beside_a_step() -> None:
    assert burdens.idle(Way())["share_of_step"] < 1e-3


@pytest.mark.slow
def test_steps_last_no_longer_where_a_reader_stalls() -> None:
    found = burdens.stalled(Way())
    assert found["processor_ratio"] < 1.1
    assert found["publish_share"] < 0.1


def test_the_crossing_is_the_most_work_at_which_a_core_of_its_own_is_faster() -> None:
    rows = [
        {"megabytes": 1, "work_ms": 20, "aside_of_shared": 1.5},
        {"megabytes": 64, "work_ms": 20, "aside_of_shared": 0.8},
        {"megabytes": 64, "work_ms": 100, "aside_of_shared": 0.9},
        {"megabytes": 64, "work_ms": 500, "aside_of_shared": 1.7},
    ]
    assert burdens.crossings(rows) == [
        {"megabytes": 1, "most_work_ms": None},
        {"megabytes": 64, "most_work_ms": 100},
    ]


def test_with_keys_cells_travel_in_messages() -> None:
    pair = Pair(1, 1, 1024, 1024, "blocks")
    plain = run_pair(pair, ["bounding-box"], FEW)
    with bench_stream.made_keys() as keys:
        encrypted = run_pair(pair, ["bounding-box"], dataclasses.replace(FEW, keys=keys))
    assert plain["bounding-box"]["messages"] == 1
    assert encrypted["bounding-box"]["messages"] > 1
