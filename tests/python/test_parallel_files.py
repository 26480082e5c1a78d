"""The model of parallel file systems: bytes, closed forms, and what must never be slower."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sidestream.parallel_files import enzo, flash, nyx, transfer
from sidestream.parallel_files.hierarchy import SIZES, Size, initial, refined
from sidestream.parallel_files.machine import EDISON, INTREPID, MIB, Machine
from sidestream.parallel_files.methods import (
    METHODS,
    Choice,
    Workload,
    aligned,
    default_choice,
    domains,
    engine_windows,
    outcome,
    staged,
)
from sidestream.parallel_files.queues import serve
from sidestream.parallel_files.schedule import Exchange, Order, Round, Schedule, exchange_seconds, simulate
from sidestream.parallel_files.storage import Requests, Storage, Striping

PLAIN = Machine(
    name="plain",
    source="none",
    ranks_a_node=1,
    rank_bandwidth=1e12,
    node_bandwidth=1e12,
    bisection_bandwidth=1e12,
    message_s=0.0,
    servers=4,
    server_bandwidth=100e6,
    request_s=5e-3,
    stripe_bytes=MIB,
    stripes=0,
    lock_bytes=MIB,
    handover_s=10e-3,
    create_s=0.0,
    open_s=0.0,
)


def requests(offsets: list[int], sizes: list[int], doors: list[int]) -> Requests:
    where = np.array(doors)
    return Requests(where, where, np.zeros(len(where), np.int64), np.array(offsets), np.array(sizes))


def one_after_another(places: np.ndarray, ready: np.ndarray, service: np.ndarray, count: int) -> np.ndarray:
    """The plain twin of `serve`."""
    free, done = np.zeros(count), np.zeros(len(places))
    for index in np.lexsort((ready, places)):
        done[index] = free[places[index]] = max(free[places[index]], ready[index]) + service[index]
    return done


@pytest.mark.parametrize("seed", range(5))
def test_queues_serve_as_one_request_after_another(seed: int) -> None:
    random = np.random.default_rng(seed)
    places, ready, service = random.integers(0, 7, 200), random.random(200) * 3, random.random(200)

    done = serve(places, ready, service, np.zeros(7))

    assert done == pytest.approx(one_after_another(places, ready, service, 7))


@pytest.mark.parametrize("machine", [INTREPID, EDISON, PLAIN], ids=lambda machine: machine.name)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ranks", [1, 3, 16, 300])
def test_every_byte_is_written_once(machine: Machine, method: str, ranks: int) -> None:
    work = Workload(ranks, 374_480, 10)

    found = outcome(machine, work, method)

    assert found.bytes == work.file_bytes
    assert found.seconds >= work.file_bytes / (machine.servers * machine.server_bandwidth)
    parts = found.names_s + found.calls_s + found.exchange_s + found.write_s
    assert parts == pytest.approx(found.seconds)


def test_one_writer_takes_bytes_over_bandwidth_and_a_request_each() -> None:
    machine = replace(PLAIN, servers=1)
    storage = Storage(machine, 1)

    done = storage.process(requests([0, MIB, 2 * MIB], [MIB] * 3, [0, 0, 0]), np.zeros(3))

    assert done.max() == pytest.approx(3 * MIB / 100e6 + 3 * 5e-3, rel=1e-4)


def test_a_lock_changes_hands_where_two_clients_share_an_extent_and_nowhere_else() -> None:
    shared, apart = Storage(PLAIN, 2), Storage(PLAIN, 2)

    shared.process(requests([0, MIB // 2], [MIB // 2] * 2, [0, 1]), np.zeros(2))
    apart.process(requests([0, MIB], [MIB] * 2, [0, 1]), np.zeros(2))

    assert (shared.handovers, apart.handovers) == (1, 0)


def test_a_lock_that_changes_hands_costs_its_handover() -> None:
    pair = requests([0, MIB // 2], [MIB // 2] * 2, [0, 1])
    dear, free = Storage(PLAIN, 2), Storage(replace(PLAIN, handover_s=0.0), 2)

    difference = dear.process(pair, np.zeros(2)).max() - free.process(pair, np.zeros(2)).max()

    assert difference == pytest.approx(PLAIN.handover_s)


def test_a_lock_is_remembered_from_batch_to_batch() -> None:
    storage = Storage(PLAIN, 3)
    for door in (0, 1, 1, 0):
        storage.process(requests([100], [100], [door]), np.zeros(1))

    assert storage.handovers == 2


def test_reads_take_no_locks() -> None:
    storage = Storage(PLAIN, 2)
    both = replace(requests([0, 100], [100] * 2, [0, 1]), reads=True)

    storage.process(both, np.zeros(2))

    assert storage.handovers == 0


@pytest.mark.parametrize("method", METHODS)
def test_more_servers_are_never_slower(method: str) -> None:
    work = Workload(64, MIB, 10)
    times = [outcome(replace(EDISON, servers=servers), work, method).seconds for servers in (1, 4, 16, 64)]

    assert all(later <= earlier * 1.02 for earlier, later in zip(times, times[1:], strict=False))


def test_locks_cost_nothing_on_domains_of_whole_stripes() -> None:
    work = Workload(512, 374_480, 10)
    free = replace(INTREPID, handover_s=0.0)

    assert simulate(INTREPID, 512, aligned(INTREPID, work)).handovers == 0
    assert simulate(INTREPID, 512, aligned(INTREPID, work)).seconds == simulate(free, 512, aligned(free, work)).seconds
    torn = engine_windows(INTREPID, work, Choice(16), 1)
    assert simulate(INTREPID, 512, torn).handovers > 0


def test_domains_are_whole_stripes_and_cover_everything() -> None:
    lows, highs = domains(65_536, 10 * MIB + 17, 7, MIB)

    assert (lows[0], highs[-1]) == (65_536, 65_536 + 10 * MIB + 17)
    assert (lows[1:] == highs[:-1]).all()
    assert not (lows[1:] % MIB)[lows[1:] < highs[-1]].any()


def test_an_exchange_is_as_long_as_its_busiest_part() -> None:
    machine = replace(PLAIN, node_bandwidth=1e9, message_s=1e-3)
    exchange = Exchange(sender_bytes=1e6, sender_messages=2, receivers=1, receiver_bytes=8e6, receiver_messages=1)

    assert exchange_seconds(machine, 8, exchange) == pytest.approx(8e6 / 1e9)


def test_an_exchange_hides_behind_writing() -> None:
    def rounds() -> list[Round]:
        exchange = Exchange(1e6, 0, 1, 1e6, 0)
        return [Round(requests([number * MIB], [MIB], [0]), exchange) for number in range(8)]

    machine = replace(PLAIN, node_bandwidth=1e9, rank_bandwidth=1e9)
    hidden = simulate(machine, 2, Schedule(rounds(), Order.overlapped, tables=0))
    shown = simulate(machine, 2, Schedule(rounds(), Order.together, tables=0))

    assert shown.exchange_s == pytest.approx(8e-3)
    assert hidden.exchange_s == pytest.approx(1e-3)
    assert shown.seconds - hidden.seconds == pytest.approx(7e-3, rel=1e-3)


def test_one_stripe_is_as_fast_as_one_server() -> None:
    storage = Storage(PLAIN, 1, Striping(1, MIB))

    done = storage.process(requests([0], [8 * MIB], [0]), np.zeros(1))

    assert done[0] == pytest.approx(8 * MIB / 100e6 + 5e-3, rel=1e-3)


def test_burst_buffers_hide_the_file_system() -> None:
    work = Workload(512, MIB, 10)
    own = 16 * 10 * MIB

    found = staged(EDISON, work)

    assert found.held_s == pytest.approx(2 * own / EDISON.burst_bandwidth + own / EDISON.node_bandwidth)
    assert found.held_s < outcome(EDISON, work, "Sidestream").seconds < found.drained_s
    assert found.node_bytes == 2 * own


def test_one_node_has_no_copy_of_what_it_stages() -> None:
    found = staged(EDISON, Workload(16, MIB, 10))

    assert found.held_s == pytest.approx(16 * 10 * MIB / EDISON.burst_bandwidth)
    assert found.node_bytes == 16 * 10 * MIB


def test_the_same_question_has_the_same_answer() -> None:
    work = Workload(512, 374_480, 3)

    assert outcome(INTREPID, work, "independent") == outcome(INTREPID, work, "independent")


def test_ours_stands_beside_the_fastest_other() -> None:
    times = {"independent": 9.0, "PnetCDF 5-D": 4.0, flash.OURS: 2.0}
    rows = [{"content": "c", "ranks": 16, "method": method, "seconds": took} for method, took in times.items()]

    assert flash.ahead(rows) == [{"content": "c", "ranks": 16, "best": "PnetCDF 5-D", "factor": 2.0}]


@pytest.mark.parametrize("machine", [INTREPID, EDISON], ids=lambda machine: machine.name)
def test_ours_is_never_behind(machine: Machine) -> None:
    rows = flash.ahead(flash.curve(machine, (16, 64, 256, 1024), flash.SCALING_BYTES))

    assert len(rows) == 8
    assert min(row["factor"] for row in rows) >= 1.0


def test_windows_are_those_of_the_program() -> None:
    """As `tests/io/methods/aggregation_test.cpp` has them."""
    work = Workload(16, 3 * MIB, 1)  # 12 units of 4 MiB, and one for what lies before them

    found = simulate(INTREPID, 16, engine_windows(INTREPID, work, Choice(8), 4 * MIB))

    assert found.requests == 3 * 12 + 1, "of a third of a unit each, with the rest of the first one"


def test_writers_are_those_that_the_engine_takes() -> None:
    """As `tests/io/methods/aggregation_test.cpp` has it of the program."""
    large = flash.checkpoint(65_536)

    assert default_choice(replace(EDISON, servers=128), large).aggregators == 512
    assert default_choice(replace(INTREPID, ranks_a_node=32), large).aggregators == 4096
    assert default_choice(INTREPID, Workload(64, 60 * MIB // 64, 1)).aggregators == 15
    assert default_choice(EDISON, Workload(3, 1024 * MIB, 10)).aggregators == 3
    small_units = replace(PLAIN, stripe_bytes=64 * 1024, lock_bytes=64 * 1024)
    assert default_choice(small_units, Workload(64, MIB // 2, 1)).aggregators == 2


@pytest.mark.slow
def test_constants_are_those_of_the_published_points() -> None:
    assert np.abs(flash.misfit(INTREPID)).max() < 0.01
    assert np.abs(nyx.misfit(EDISON)).max() < 0.01
    found = flash.calibrated(replace(INTREPID, call_s=0.05))
    assert found.call_s == pytest.approx(INTREPID.call_s, rel=0.02)


@pytest.mark.slow
def test_ours_is_ahead_at_the_papers_size_and_points_have_errors() -> None:
    report = flash.study()

    every = report["ahead"] + report["ahead_elsewhere"]["rows"]
    assert max(row["ranks"] for row in every) == 65_536
    assert min(row["factor"] for row in every) >= 1.0
    assert [row["is_fitted"] for row in report["published"]].count(True) == len(flash.FITTED)
    assert not report["drop"]["is_explained"]


def test_the_number_of_files_with_the_least_loss_is_chosen() -> None:
    rows = [
        {"cells": c, "files": f, "gib_per_s": s} for c, f, s in ((1, 32, 4.0), (1, 64, 3.0), (2, 32, 1.0), (2, 64, 2.0))
    ]

    assert nyx.default_files(rows) == 64


def test_one_message_a_pair_is_never_slower_than_one_a_box() -> None:
    for ranks in (64, 1024, 8192):
        for row in transfer.points(EDISON, ranks):
            assert row["a message a pair"] >= row["box by box"]


def test_transfers_take_bytes_over_the_bandwidth_of_the_sidecars_nodes() -> None:
    took = transfer.seconds(EDISON, 8192, 64, 2048, 32)

    assert took == pytest.approx(80 * 2048**3 / (4 * EDISON.node_bandwidth))


def test_a_message_of_a_box_takes_what_the_published_speed_says() -> None:
    assert transfer.calibrated(EDISON) == pytest.approx(transfer.BOX_MESSAGE_S, rel=0.01)


@pytest.mark.parametrize("size", SIZES.values(), ids=lambda size: size.name)
def test_hierarchies_are_as_large_as_was_published(size: Size) -> None:
    start, dump = initial(size), refined(size)

    assert start.bytes == pytest.approx(size.read_bytes, abs=5000)
    assert dump.bytes == pytest.approx(size.dump_bytes, abs=5000)
    assert dump.particles.sum() == start.particles.sum()
    assert len(set(dump.cells)) > 10


@pytest.mark.parametrize("reads", [True, False], ids=["read", "dump"])
@pytest.mark.parametrize("method", enzo.METHODS)
@pytest.mark.parametrize("system", enzo.MACHINES)
def test_every_byte_of_a_hierarchy_is_moved_once(system: str, method: str, reads: bool) -> None:
    machine = enzo.MACHINES[system]
    grids = (initial if reads else refined)(SIZES["AMR64"])
    task = enzo.Task(machine, grids, 16, reads)

    moved = sum(simulate(machine, 16, schedule).bytes for schedule in enzo.METHODS[method](task))

    assert moved == pytest.approx(grids.bytes, rel=1e-3)


def test_a_finding_is_judged_by_the_time_of_read_and_dump() -> None:
    finding = enzo.Finding("XFS", "a", "b")
    times = (("XFS", "a", 1.0, 3.0), ("XFS", "b", 4.0, 2.0), ("GPFS", "a", 9.0, 9.0))
    rows = [
        {"system": system, "size": "AMR64", "ranks": 16, "method": method, "read_s": read, "dump_s": dump}
        for system, method, read, dump in times
    ]

    (judged,) = enzo.judged(finding, rows)

    assert (judged["factor"], judged["holds"]) == (1.5, True)


def test_an_assumed_time_may_reverse_a_finding_only_where_it_is_close() -> None:
    close, far = enzo.FINDINGS[0], enzo.FINDINGS[1]

    assert enzo.reversals(close, "AMR64", 16) == ["create_s x 0.25"]
    assert enzo.reversals(far, "AMR64", 32) == []


@pytest.mark.slow
def test_ways_of_enzo_come_out_in_the_order_that_was_found() -> None:
    report = enzo.study()

    assert len(report["rows"]) == 3 * 3 * (4 + 4 + 4 + 3)
    assert all(case["holds"] for finding in report["findings"] for case in finding["cases"])
    fastest = {
        (row["system"], row["size"], row["ranks"]): min(
            (other for other in report["rows"] if all(other[key] == row[key] for key in ("system", "size", "ranks"))),
            key=lambda one: one["read_s"] + one["dump_s"],
        )["method"]
        for row in report["rows"]
    }
    assert set(fastest.values()) == {enzo.OURS}
