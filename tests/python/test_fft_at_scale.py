"""The model behind docs/reference/fft_at_scale.md: against messages sent one by one, and in its limits."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import fft_at_scale
import machine_model
import numpy as np
import pytest
import schedules
import torus
from machine_model import NOBODY, Allocation, Demand, Machine, Order
from schedules import Case, Exchange, Load
from torus import Torus

PROGRAM = Path(__file__).parents[2] / "build" / "release" / "bench" / "bench_fft_at_scale"


def small_machine() -> Machine:
    return Machine(
        name="small",
        torus=torus.uniform_torus((4, 4, 2), 1e9),
        ranks_a_node=1,
        nodes_a_site=1,
        latency_s=1e-6,
        overhead_s=1e-6,
        gap_s=3e-6,
        rank_bandwidth=1e9,
        nic_bandwidth=1e9,
        nic_gap_s=1e-7,
        memory_bandwidth=1e10,
        rank_flops=1e9,
    )


def even_exchange(rows: int, columns: int, in_rows: bool, cells: float = 1000.0) -> Exchange:
    rank = np.arange(rows * columns)
    group, place = (rank // rows, rank % rows) if in_rows else (rank % rows, rank // rows)
    return Exchange(group, place, 0 * rank, np.full((1, rows if in_rows else columns), cells), np.array([cells]))


def uneven_exchange(generator: np.random.Generator, rows: int, columns: int, kinds: int) -> Exchange:
    rank = np.arange(rows * columns)
    place = rank // rows
    kind = generator.integers(kinds, size=len(rank))
    cells = generator.integers(1, 1000, size=(kinds, columns)).astype(float)
    return Exchange(rank % rows, place, kind, cells, cells[:, 0])


def routed_one_by_one(machine: Torus, exchange: Exchange, site_of_rank: np.ndarray) -> dict[tuple[int, ...], float]:
    """Every message along x, y and z, link by link: the plain twin of `link_loads`."""
    loads: dict[tuple[int, ...], float] = {}
    for a, b in product(range(exchange.ranks), repeat=2):
        if a != b and exchange.group[a] == exchange.group[b]:
            cells = exchange.cells[exchange.kind[a], exchange.place[b]]
            walk(machine, int(site_of_rank[a]), int(site_of_rank[b]), cells, loads)
    return loads


def walk(machine: Torus, source: int, target: int, cells: float, loads: dict[tuple[int, ...], float]) -> None:
    here = [int(value) for value in machine.coordinates(np.array(source))]
    goal = [int(value) for value in machine.coordinates(np.array(target))]
    for axis, n in enumerate(machine.shape):
        ahead, behind = (goal[axis] - here[axis]) % n, (here[axis] - goal[axis]) % n
        ways = [(0, ahead)] * (0 < ahead <= behind) + [(1, behind)] * (0 < behind <= ahead)
        for direction, steps in ways:
            at = list(here)
            for _ in range(steps):
                link = at[axis] if direction == 0 else (at[axis] - 1) % n
                key = (axis, *(at[:axis] + at[axis + 1 :]), link, direction)
                loads[key] = loads.get(key, 0.0) + cells / len(ways)
                at[axis] = (at[axis] + (1 if direction == 0 else -1)) % n
        here[axis] = goal[axis]


def nonzero_loads(machine: Torus, exchange: Exchange, site_of_rank: np.ndarray) -> list[float]:
    loads = torus.link_loads(machine, schedules.flows_of(exchange, site_of_rank))
    return sorted(float(value) for axis in loads for value in axis.ravel() if value > 1e-9)


@pytest.mark.parametrize("shape", [(4, 3, 2), (5, 2, 3), (1, 4, 4)])
def test_links_carry_what_messages_sent_one_by_one_bring_them(shape: torus.Shape) -> None:
    generator = np.random.default_rng(7)
    machine = torus.uniform_torus(shape, 1.0)
    exchange = uneven_exchange(generator, rows=4, columns=10, kinds=3)
    site_of_rank = generator.integers(machine.sites, size=exchange.ranks)

    expected = sorted(routed_one_by_one(machine, exchange, site_of_rank).values())

    assert nonzero_loads(machine, exchange, site_of_rank) == pytest.approx(expected, rel=1e-12)


def test_each_link_counts_with_its_own_bandwidth() -> None:
    slow_in_the_middle = Torus((4, 1, 1), (np.array([4.0, 1.0, 4.0, 4.0]), np.ones(1), np.ones(1)))
    one_message = torus.Flows(
        1, *(np.array([0]), np.array([1]), np.ones(1)), *(np.array([0]), np.array([2]), np.ones(1))
    )

    assert torus.link_seconds(slow_in_the_middle, torus.link_loads(slow_in_the_middle, one_message)) == 1.0


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        # Seven messages of 1000 cells of 16 bytes: one every g = 3 microseconds after a latency of 1 microsecond;
        # or each after the one before, L + 2 o = 3 microseconds.
        (Order.together, 1e-6 + 7 * 3e-6 + 7 * 16000 / 1e9),
        (Order.pairwise, 7 * 3e-6 + 7 * 16000 / 1e9),
    ],
)
def test_without_contention_a_transpose_takes_what_loggp_says(order: Order, expected: float) -> None:
    endless = replace(
        small_machine(),
        torus=torus.uniform_torus((4, 4, 2), np.inf),
        nic_bandwidth=np.inf,
        nic_gap_s=0.0,
    )
    exchange = even_exchange(4, 8, in_rows=False)
    place = Allocation("all", np.arange(32), NOBODY)

    demand = machine_model.demand_of(endless, exchange, place, order)

    assert sum(machine_model.exchange_seconds(endless, demand, 16)) == pytest.approx(expected, rel=1e-12)
    assert (demand.load.rank_messages, demand.load.rank_cells) == (7, 7000)


def test_the_steps_of_a_pairwise_exchange_bring_links_what_the_whole_does() -> None:
    generator = np.random.default_rng(11)
    machine = torus.uniform_torus((4, 3, 5), 1.0)
    exchange = uneven_exchange(generator, rows=4, columns=12, kinds=3)
    sites = generator.integers(machine.sites, size=exchange.ranks)
    whole = torus.link_loads(machine, schedules.flows_of(exchange, sites))

    steps = [schedules.partners(exchange, step) for step in range(1, 12)]
    loads = [torus.message_loads(machine, sites, sites[partner], cells) for partner, cells in steps]

    for axis in range(3):
        assert sum(load[axis] for load in loads) == pytest.approx(whole[axis], rel=1e-12, abs=1e-9)


def test_steps_that_wait_for_each_other_take_no_less_than_messages_together() -> None:
    generator = np.random.default_rng(12)
    exchange = even_exchange(4, 8, in_rows=False)
    place = Allocation("", generator.permutation(32), NOBODY)

    together, pairwise = (
        machine_model.demand_of(small_machine(), exchange, place, order).link_seconds for order in Order
    )

    assert together < pairwise


def test_messages_within_a_node_do_not_leave_it() -> None:
    rows_on_a_node = schedules.load_of(even_exchange(4, 8, in_rows=True), ranks_a_node=4)
    rows_on_two = schedules.load_of(even_exchange(4, 8, in_rows=True), ranks_a_node=2)

    assert (rows_on_a_node.node_cells, rows_on_a_node.node_messages) == (0, 0)
    assert (rows_on_two.rank_messages, rows_on_two.node_messages, rows_on_two.node_cells) == (2, 4, 4000)


def test_an_order_that_keeps_neighbours_together_loads_the_links_less() -> None:
    machine = small_machine()
    exchange = even_exchange(4, 8, in_rows=True)  # rows lie along x
    orders = [np.arange(32), np.random.default_rng(3).permutation(32)]

    kept, torn = (
        machine_model.demand_of(machine, exchange, Allocation("", order, NOBODY), Order.together).link_seconds
        for order in orders
    )

    assert kept < torn


@pytest.mark.parametrize("order", Order)
def test_neighbours_that_exchange_as_well_make_links_slower(order: Order) -> None:
    machine = small_machine()
    sites = np.random.default_rng(4).permutation(32)
    exchange = even_exchange(2, 8, in_rows=False)

    alone, beside_others = (
        machine_model.demand_of(machine, exchange, Allocation("", sites[:16], others), order).link_seconds
        for others in (NOBODY, sites[16:])
    )

    assert alone < beside_others


@pytest.mark.parametrize("name", ["rank_bandwidth", "nic_bandwidth", "memory_bandwidth", "rank_flops", "network_speed"])
def test_no_step_gets_slower_by_a_faster_machine(name: str) -> None:
    load = Load(7000, 1000, 7000, 7, 7000, 7)
    case = Case(32, 4, 8)
    step = fft_at_scale.STEP

    times = [
        machine_model.step_times(
            replace(small_machine(), **{name: factor * getattr(small_machine(), name)}),
            case,
            (Demand(load, Order.together, 1e-6),),
            step,
        ).total
        for factor in (0.01, 0.1, 1.0, 10.0)
    ]

    assert times == sorted(times, reverse=True)
    assert times[0] > times[1]


def test_a_faster_link_makes_the_transpose_faster_until_another_part_bounds_it() -> None:
    exchange = even_exchange(4, 8, in_rows=False)
    place = Allocation("", np.arange(32), NOBODY)
    seconds = []
    for bandwidth in (1e7, 1e8, 1e10, 1e11):
        machine = replace(small_machine(), torus=torus.uniform_torus((4, 4, 2), bandwidth))
        demand = machine_model.demand_of(machine, exchange, place, Order.together)
        seconds.append(sum(machine_model.exchange_seconds(machine, demand, 16)))

    assert seconds[0] == pytest.approx(10 * seconds[1])
    assert seconds[1] > seconds[2] == seconds[3]


def test_the_fit_gives_the_best_of_the_grids_the_published_time() -> None:
    machine = small_machine()
    step = replace(fft_at_scale.STEP, transforms=1000)
    cases = [Case(32, 4, 8), Case(32, 2, 16)]
    demands = (Demand(Load(7000, 1000, 7000, 7, 7000, 7), Order.together, 1e-6),)
    wanted = 3.0

    found = machine_model.fitted(
        machine, [machine_model.step_times(machine, case, demands, step) for case in cases], wanted
    )

    best = min(machine_model.step_times(found, case, demands, step).total for case in cases)
    assert best == pytest.approx(wanted, rel=1e-12)


def test_a_fit_to_less_than_the_network_takes_is_refused() -> None:
    times = machine_model.Times(lines=1.0, pointwise=0.0, packing=0.0, messages=0.0, network=4.0)

    with pytest.raises(ValueError, match="network alone"):
        machine_model.fitted(small_machine(), [times], 3.0)


def test_cuboids_and_spare_sites_lie_in_the_torus_once() -> None:
    machine = fft_at_scale.blue_waters()
    for name, make in machine_model.ALLOCATIONS.items():
        place = make(machine, 32_768)

        assert len(np.unique(place.sites)) == 512, name
        assert place.sites.max() < machine.torus.sites
        assert not set(place.sites) & set(place.neighbours)


@pytest.mark.skipif(not PROGRAM.exists(), reason="bench_fft_at_scale is not built: `make build`")
@pytest.mark.parametrize("case", [Case(24, 4, 8), Case(26, 3, 7), Case(24, 4, 8, kept=(9, 17)), Case(32, 1, 16)])
def test_one_rank_of_each_shape_stands_for_all_ranks(case: Case) -> None:
    generator = np.random.default_rng(5)
    machine = torus.uniform_torus((3, 4, 3), 1.0)
    site_of_rank = generator.integers(machine.sites, size=case.ranks)
    (short,), (long,) = schedules.load([case], PROGRAM), schedules.load([case], PROGRAM, every_rank=True)

    assert len(long.exchanges[min(long.exchanges)].cells) == case.ranks
    for name, exchange in short.exchanges.items():
        assert len(exchange.cells) < case.ranks
        assert schedules.load_of(exchange, 4) == schedules.load_of(long.exchanges[name], 4)
        assert nonzero_loads(machine, exchange, site_of_rank) == pytest.approx(
            nonzero_loads(machine, long.exchanges[name], site_of_rank)
        )
