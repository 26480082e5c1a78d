"""Pictures and the report."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from scipy.integrate import trapezoid

import sidestream
import synthetic
from holding import held
from sidestream.cli import commands
from sidestream.figures import Picture, pictures, save_pictures
from sidestream.figures.cosmology import Theory
from sidestream.figures.paper import svg_of
from sidestream.figures.picture import legend_outside
from sidestream.figures.timeline import BEHIND, IDLE, PACK, STEP, WAIT, WRITE, shades_of, spans_of
from sidestream.figures.timeline import pictures as timeline_of
from sidestream.report import write_report
from sidestream.runs.events import Events
from sidestream.runs.run import Run
from sidestream.runs.summary import bills, file_bills, share_lost


@pytest.fixture(scope="module")
def drawn(finished_run: Path) -> list[Picture]:
    return list(pictures(sidestream.open(finished_run)))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = synthetic.write_run(tmp_path_factory.mktemp("report") / "demo", steps=20)
    path = write_report(sidestream.open(folder))
    assert not list(folder.glob(".report*"))
    return path.read_text()


def of_two_tasks(run: Path) -> Path:
    """Quick to draw."""
    for task in set(synthetic.TASKS) - {"halos", "phase"}:
        shutil.rmtree(run / "results" / task, ignore_errors=True)
    return run


@pytest.fixture
def small_run(own_run: Path) -> Path:
    return of_two_tasks(own_run)


def test_every_task_has_pictures_and_the_timeline_comes_last(drawn: list[Picture]) -> None:
    names = [picture.name for picture in drawn]

    assert {"halos-mass-function", "halos-map", "spectra-spectra", "pdfs-pdf", "phase-phase"} <= set(names)
    assert {"picture-gas-density", "picture-dark-matter-density"} <= set(names)
    assert names[-2:] == ["write-sizes", "timeline"]


def test_pictures_of_one_task_are_png_files(finished_run: Path, tmp_path: Path) -> None:
    paths = save_pictures(sidestream.open(finished_run), tmp_path / "new" / "folder", "phase")

    assert [path.name for path in paths] == ["phase-phase.png"]
    assert {path.name for path in paths[0].parent.iterdir()} == {f"phase-phase.{end}" for end in ("png", "csv", "nc")}
    assert paths[0].read_bytes().startswith(b"\x89PNG")


def test_pictures_that_are_there_are_named_when_the_next_cannot_be_written(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_png = Picture.save_png
    saved: list[Path] = []

    def save_two(picture: Picture, folder: Path) -> Path:
        if len(saved) == 2:
            raise KeyboardInterrupt
        saved.append(save_png(picture, folder))
        return saved[-1]

    monkeypatch.setattr(Picture, "save_png", save_two)
    with pytest.raises(KeyboardInterrupt):
        commands.plot(small_run, None, tmp_path)

    assert len(saved) == 2
    assert capsys.readouterr().out.split() == list(map(str, saved))


@pytest.mark.parametrize("during", ["sidestream.figures.picture.png_of", "pathlib.Path.write_bytes", "os.replace"])
def test_an_interrupt_leaves_nothing_of_a_picture_that_is_not_whole(
    during: str, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sidestream.open(finished_run)
    (path,) = save_pictures(run, tmp_path, "phase")
    before = {one: one.read_bytes() for one in tmp_path.iterdir()}

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(during, interrupted)
    for folder in (tmp_path, tmp_path / "new"):
        with pytest.raises(KeyboardInterrupt):
            save_pictures(run, folder, "phase")

    assert path in before
    assert {one: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()} == before
    assert not list((tmp_path / "new").iterdir())


def test_every_axis_of_every_picture_has_a_label_or_a_title(drawn: list[Picture]) -> None:
    for picture in drawn:
        for axes in picture.figure.axes:
            assert axes.get_xlabel() or axes.get_ylabel() or axes.get_title(loc="left"), picture.name


@pytest.mark.parametrize("weight", ["volume", "mass"])
def test_the_axis_of_a_density_distribution_says_what_cells_count_for(
    own_run: Path, weight: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Run.result
    monkeypatch.setattr(Run, "result", lambda run, task, step: read(run, task, step).assign_attrs(weight=weight))

    (picture,) = pictures(Run(own_run), "pdfs")

    assert f"fraction of the {weight} per" in picture.figure.axes[0].get_ylabel()


def test_the_axes_of_a_distribution_of_what_is_no_density_do_not_call_it_one(
    own_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Run.result

    def of_temperature(run: Run, task: str, step: int) -> xr.Dataset:
        found = read(run, task, step)
        others = [name for name in found if str(name).endswith("_pdf") and name != "gas_density_pdf"]
        return found.drop_vars(others).rename(gas_density_pdf="temperature_pdf").assign_attrs(weight="mass")

    monkeypatch.setattr(Run, "result", of_temperature)

    (picture,) = pictures(Run(own_run), "pdfs")

    (axes,) = picture.figure.axes
    assert axes.get_xlabel() == "temperature / mean"
    assert axes.get_ylabel().startswith("fraction of the volume times the field per")
    assert "density" not in f"{picture.title} {picture.caption}".lower()


def test_the_axis_of_a_distribution_of_values_names_the_quantity(
    own_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Run.result

    def of_values(run: Run, task: str, step: int) -> xr.Dataset:
        found = read(run, task, step).rename(overdensity="value", gas_density_pdf="number_density_pdf")
        found["value"].attrs["units"] = "1/cm^3"
        return found

    monkeypatch.setattr(Run, "result", of_values)

    (picture,) = pictures(Run(own_run), "pdfs")

    assert "number density [1/cm^3]" in [axes.get_xlabel() for axes in picture.figure.axes]


def test_pictures_of_a_simulation_without_redshift_tell_the_time_and_no_unit_of_length(
    own_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Run.result

    def without_redshift(run: Run, task: str, step: int) -> xr.Dataset:
        table = read(run, task, step).assign_attrs(time=0.25)
        table.attrs.pop("redshift", None)
        for column in table.variables.values():
            column.attrs.pop("units", None)
        return table

    monkeypatch.setattr(Run, "result", without_redshift)

    picture = next(iter(pictures(Run(own_run), "picture")))
    spectra = next(iter(pictures(Run(own_run), "spectra")))

    assert {one.series for one in spectra.drawn_numbers if "linear" not in one.series} == {"t = 0.25"}
    assert {axes.get_title(loc="left") for axes in picture.figure.axes} == {"t = 0.25"}
    assert picture.figure.axes[0].get_xlabel() == "x"


@pytest.mark.parametrize(("last", "digits"), [(4.0, range(2, 10)), (20.0, range(2, 10)), (1e3, {2, 5}), (1e5, set())])
def test_logarithmic_axes_of_many_decades_have_few_minor_ticks(last: float, digits: Collection[int]) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.loglog([1.0, last], [1.0, last])

    Picture("line", "A line", "", figure).data_uri()

    for axis, expected in ((axes.xaxis, {2, 5} if last == 20.0 else digits), (axes.yaxis, digits)):
        assert {int(f"{place:.0e}"[0]) for place in axis.get_minorticklocs()} == set(expected)


@pytest.mark.parametrize(
    ("limits", "labels"),
    [((1e-3, 1e2), ["10⁻³", "10⁻²", "10⁻¹", "10⁰", "10¹", "10²"]), ((2e5, 5e5), ["2×10⁵", "3×10⁵", "4×10⁵"])],
)
def test_logarithmic_axes_have_plain_labels(limits: tuple[float, float], labels: list[str]) -> None:
    figure = Figure()
    axes = figure.add_subplot(xscale="log", xlim=limits)

    Picture("line", "A line", "", figure).data_uri()

    shown = [text.get_text() for text in [*axes.get_xticklabels(), *axes.get_xticklabels(minor=True)]]
    assert set(labels) <= set(shown)
    assert not any("$" in text for text in shown)


def visible_labels(axis: Axis) -> list[Bbox]:
    texts = [*axis.get_ticklabels(), *axis.get_ticklabels(minor=True)]
    low, high = sorted(axis.get_view_interval())
    within = (text for text in texts if text.get_text() and low <= text.get_position()[0] <= high)
    return sorted((text.get_window_extent() for text in within), key=lambda box: box.x0)


@pytest.mark.parametrize("limits", [(3e-3, 9e-2), (4e-3, 0.05), (0.2, 6.0), (0.1, 30.0)])
def test_labels_along_a_logarithmic_axis_do_not_overlap(limits: tuple[float, float], tmp_path: Path) -> None:
    figure = Figure(figsize=(4.4, 3.0))
    axes = figure.subplots()
    axes.set(xscale="log", xlim=limits)

    Picture("axis", "", "", figure).save_png(tmp_path)

    boxes = visible_labels(axes.xaxis)
    assert len(boxes) >= 1
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_a_legend_outside_lies_beside_all_panels(tmp_path: Path) -> None:
    for above in (False, True):
        figure = Figure(figsize=(8.8, 4.4))
        panels = figure.subplots(1, 2)
        lines = [panels[0].plot([0, 1], label=f"line {n}")[0] for n in range(7)]
        legend_outside(figure, lines, [line.get_label() for line in lines], above=above, columns=3)

        Picture("legend", "", "", figure).save_png(tmp_path)

        legend = figure.legends[0].get_window_extent()
        assert 0 <= legend.y0 < legend.y1 <= figure.bbox.height
        assert not any(legend.overlaps(axes.get_tightbbox()) for axes in panels)


def test_a_report_tells_how_far_it_is(small_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    told: list[str] = []

    write_report(sidestream.open(small_run), told.append)

    assert told[0].startswith("1 of ") and told[-1] == "{0} of {0} groups of figures".format(len(told))


def test_what_draws_the_report_is_imported_while_a_run_goes_on() -> None:
    code = "import sys, time; from sidestream.launch.warming import Warming; warming = Warming(); warming.start()\n"
    code += "end = time.monotonic() + 60\n"
    code += "while 'sidestream.report' not in sys.modules and time.monotonic() < end: time.sleep(0.01)\n"
    code += "warming.end(); sys.modules['sidestream.report'].write_report"

    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_report_is_the_same_by_one_process_and_by_several(small_run: Path) -> None:
    cores = os.sched_getaffinity(0)
    run = sidestream.open(small_run)
    by_all = write_report(run).read_text()
    os.sched_setaffinity(0, {min(cores)})
    try:
        by_one = write_report(run).read_text()
    finally:
        os.sched_setaffinity(0, cores)

    assert by_one == by_all


def test_theory_has_the_stated_amplitude_and_grows_with_time() -> None:
    theory = Theory.of({"hubble": 0.7, "omega_m": 0.3, "omega_b": 0.05, "sigma8": 0.8, "ns": 0.96})

    assert theory is not None
    k = np.geomspace(1e-3, 50, 4000)
    x = 8 * k
    window = 3 * (np.sin(x) - x * np.cos(x)) / x**3
    sigma8 = np.sqrt(trapezoid(theory.linear_power(k, 0.0) * (k * window) ** 2 / (2 * np.pi**2), k))
    np.testing.assert_allclose(sigma8, 0.8, rtol=5e-3)
    assert np.all(theory.linear_power(k, 1.0) < theory.linear_power(k, 0.0))
    assert theory.mass_function(np.array([1e13]), 0.0)[0] > theory.mass_function(np.array([1e13]), 2.0)[0]


def test_linear_theory_of_warm_dark_matter_is_cut_off() -> None:
    stated = {"hubble": 0.7, "omega_m": 0.3, "omega_b": 0.05, "sigma8": 0.8, "ns": 0.96}
    cold, warm = Theory.of(stated), Theory.of(stated | {"wdm_mass_kev": 0.85})

    assert cold is not None and warm is not None
    assert warm.is_warm and not cold.is_warm
    k = np.array([0.01, 1.0, 10.0])  # the transfer function: see tests/solvers/linear_power_test.cpp
    np.testing.assert_allclose(
        warm.linear_power(k, 3.0) / cold.linear_power(k, 3.0), [1.0, 0.99225150**2, 0.30673441**2], rtol=1e-6
    )


def test_results_that_state_no_cosmology_have_no_theory() -> None:
    assert Theory.of({"box_mpc": 10.0}) is None


def test_files_written_behind_the_run_look_different_in_the_timeline(finished_run: Path) -> None:
    spans = spans_of(sidestream.open(finished_run).events)

    assert [span.what for span in spans if span.lane == "files"] == [BEHIND, WRITE]


def test_the_timeline_shows_what_each_group_did(finished_run: Path) -> None:
    spans = spans_of(sidestream.open(finished_run).events)

    kinds = {(span.group, span.what) for span in spans}
    assert {("compute", STEP), ("compute", PACK), ("compute", WAIT), ("compute", "phase")} <= kinds
    assert {("sidecar", "halos"), ("sidecar", IDLE)} <= kinds
    assert sum(s.end - s.start for s in spans if s.what == "halos") == pytest.approx(6 * 2.4)


def test_tasks_look_different_in_the_timeline_however_many_there_are() -> None:
    shades = shades_of([f"task {number}" for number in range(20)])

    assert len(set(shades.values())) == len(shades) == 20


def test_hatches_are_drawn_in_bars_and_in_the_legend(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    done = [
        {"event": "analysis", "task": f"task{number}", "step": 1, "t": number + 1.0, "compute_s": 1.0}
        for number in range(9)
    ]
    (folder / "events.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in done))

    (picture,) = timeline_of(Run(folder))

    def hatches(drawn: Sequence[Any]) -> list[str]:
        return [one.get_hatch() or "" for one in drawn]

    assert hatches(picture.figure.axes[0].collections) == hatches(picture.figure.legends[0].get_patches())
    assert hatches(picture.figure.axes[0].collections)[7:] == ["", "////"]
    svg = svg_of(picture.figure)
    assert svg.count("<pattern") == 1
    assert not re.search(r'"#[0-9a-f]{6}"', svg)  # each colour has another by night


def test_a_publish_shared_among_tasks_is_drawn_once_and_in_full() -> None:
    common = {"event": "publish", "step": 1, "pack_s": 0.1}
    shares = [common | {"t": 5.0, "wait_s": 1.0}, common | {"t": 5.0001, "wait_s": 0.0}]

    spans = spans_of(Events(shares))

    assert [(s.what, round(s.end - s.start, 6)) for s in spans] == [(WAIT, 1.0), (PACK, 0.2)]
    assert spans[0].end == pytest.approx(spans[1].start)


def test_a_publish_that_gave_way_counts_as_dropped_and_not_as_another_publish() -> None:
    sent = {"event": "publish", "task": "a", "action": "sent", "t": 1.0, "bytes": 8}
    events = Events([sent | {"step": 1}, sent | {"step": 2}, {"event": "withdrawn", "task": "a", "step": 1, "t": 2.0}])

    (bill,) = bills(events, ["a"])

    assert bill.dropped == 1
    assert bill.bytes == 16


def test_a_result_that_a_restart_makes_again_counts_once_and_costs_twice() -> None:
    made = {"event": "analysis", "task": "a", "group": "compute", "compute_s": 0.5}
    events = Events(made | {"step": step, "t": float(t)} for t, step in enumerate((10, 20, 20, 30)))

    (bill,) = bills(events, ["a"])

    assert bill.results == 3
    assert bill.in_situ_s == bill.compute_s == 2.0


def test_the_bill_of_a_task_adds_up(finished_run: Path) -> None:
    run = sidestream.open(finished_run)

    by_name = {bill.name: bill for bill in bills(run.events, run.tasks)}

    assert list(by_name) == run.tasks
    assert by_name["picture"].results == 3
    assert by_name["picture"].dropped == 3
    assert by_name["pdfs"].wait_s == pytest.approx(6 * 0.25)
    assert by_name["phase"].lost_s == pytest.approx(6 * 0.3)
    assert by_name["halos"].in_situ_s == 0
    lost = sum(bill.lost_s for bill in by_name.values())
    assert share_lost(run.events, run.tasks) == pytest.approx(lost / run.events.last("run_end")["wall_s"])


def test_the_report_shows_itself_with_nothing_beside_it(page: str) -> None:
    for address in re.findall(r'src="([^"]*)"', page):
        assert address.startswith("data:image/")
    for address in re.findall(r'href="([^"]*)"', page):
        assert re.fullmatch(r"report\.data/[\w-]+\.(csv|nc)", address)
    assert "<script src" not in page
    assert "@import" not in page
    assert "url(" not in page


def test_the_report_shows_every_part_of_the_run(page: str) -> None:
    for text in (
        "Example CPU 3000",
        "64³",
        "3 compute, 1 sidecar",
        "Who computed and who waited",
        "000020.nc",
        "hydro",
    ):
        assert text in page
    for task in synthetic.TASKS:
        assert f"<td class=text>{task}</td>" in page
    assert "z_start = 50" in page


def test_the_report_has_a_bill_of_files(finished_run: Path) -> None:
    checkpoints, plot_files = file_bills(sidestream.open(finished_run).events)

    assert (checkpoints.title, checkpoints.count, checkpoints.failed) == ("checkpoints", 1, 0)
    assert checkpoints.lost_s == pytest.approx(0.12), "what is written behind the run costs the copy and the wait"
    assert plot_files.lost_s == pytest.approx(0.5)
    assert checkpoints.write_sizes == {"<100": 3, "1M-4M": 10}
    assert checkpoints.mean_write == pytest.approx(2.1e7 / 13)


def test_the_report_tells_what_files_cost(page: str) -> None:
    assert "<h2>Files</h2>" in page
    assert "<td class=text>plot files</td><td>1</td><td>0</td><td>4.2 MB</td><td>8.4 MB/s</td>" in page
    assert 'alt="Sizes of the writes"' in page


def failed_files() -> Iterator[dict[str, object]]:
    message = "error: the disk is full\n  --> demo/.x.tmp\nhint: make room"
    for number, event in enumerate(("plotfile_failed", "checkpoint_failed", "checkpoint_skipped"), 7):
        yield {"event": event, "t": 1, "step": number, "path": f"demo/x{number}", "message": message}


def energies() -> Iterator[dict[str, object]]:
    parts = {"kinetic_dark_matter": 80.0, "kinetic_gas": 20.0, "thermal": 3.0, "potential": -150.0, "residual": 1.0}
    for n in range(1, 4):
        energy = {name: n * value for name, value in parts.items()} | {"scale_factor": 0.1 * n}
        yield {"event": "step", "t": 100.0 + n, "step": 100 + n, "energy": energy}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[sidestream.Run, str]:
    """A run with much to tell, and the page of its report."""
    folder = of_two_tasks(synthetic.write_run(tmp_path_factory.mktemp("told") / "demo", steps=20))
    harm = {"event": "analysis_failed", "t": 1, "task": "<b>x", "step": 1, "message": "<script>alert(1)</script>"}
    with (folder / "events.jsonl").open("a") as log:
        for event in (*failed_files(), harm, *energies()):
            log.write(json.dumps(event) + "\n")
    run = sidestream.open(folder)
    return run, write_report(run).read_text()


def test_files_that_failed_are_named_with_the_reason(told: tuple[sidestream.Run, str]) -> None:
    _, page = told
    assert "x7 was not written: the disk is full (demo/.x.tmp)" in page
    assert "x8 was not written: the disk is full (demo/.x.tmp)" in page
    assert "x9 was passed over: the disk is full (demo/.x.tmp)" in page


def test_a_damaged_result_costs_its_own_pictures_only(small_run: Path) -> None:
    (small_run / "results" / "halos" / "000020.nc").write_bytes(b"not HDF5")

    page = write_report(sidestream.open(small_run)).read_text()

    assert "halos: the result file cannot be read" in page
    assert 'alt="Phase diagram"' in page


def test_a_run_that_has_just_begun_has_a_report(tmp_path: Path) -> None:
    synthetic.write_log(tmp_path / "events.jsonl", [synthetic.start_event()])

    with held(tmp_path):
        page = write_report(sidestream.open(tmp_path)).read_text()

    assert re.search(r">running at \S+ UTC<", page)


def test_text_from_the_run_cannot_break_the_page(told: tuple[sidestream.Run, str]) -> None:
    _, page = told
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_a_run_without_results_cannot_be_plotted(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('simulation = "nbody"\n')

    with pytest.raises(sidestream.Error, match="no result that could be drawn"):
        save_pictures(sidestream.open(tmp_path), tmp_path / "pictures")


def test_a_result_without_a_picture_says_how_one_is_begun(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('simulation = "sod"\n[task.age]\nanalysis = "mean_age"\nevery = 1\n')
    (tmp_path / "results" / "age").mkdir(parents=True)
    table = xr.Dataset({"age": ("level", np.ones(2))}, attrs={"step": 1})
    table.to_netcdf(tmp_path / "results" / "age" / "00001.nc", engine="h5netcdf")
    run = sidestream.open(tmp_path)

    for draw in (lambda: run.plot("age"), lambda: save_pictures(run, tmp_path / "pictures", "age")):
        with pytest.raises(sidestream.Error, match="no result that could be drawn") as caught:
            draw()

        assert "`sidestream new picture mean_age --checkout .`" in str(caught.value)
        assert "run.result('age')" in str(caught.value)


def test_energies_are_drawn_with_what_the_balance_leaves_over(told: tuple[sidestream.Run, str]) -> None:
    run, page = told
    assert "energies" in [picture.name for picture in pictures(run)]
    assert "<h2>Energy</h2>" in page
    assert "leaves 1 % of the energy of motion over" in page
