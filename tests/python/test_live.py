"""The page that shows a run while it goes on."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import sidestream
import synthetic
from holding import held
from sidestream.report import live, page


@pytest.fixture
def with_all_tasks(tmp_path: Path) -> Iterator[Path]:
    folder = synthetic.write_run(tmp_path / "demo", steps=20, status=None)
    with held(folder):
        yield folder


@pytest.fixture
def going_on(with_all_tasks: Path) -> Path:
    """With results of two tasks only, quick to draw."""
    for task in set(synthetic.TASKS) - {"halos", "phase"}:
        shutil.rmtree(with_all_tasks / "results" / task)
    return with_all_tasks


def end(folder: Path) -> None:
    with (folder / "events.jsonl").open("a") as log:
        log.write('{"event": "run_end", "t": 99.0, "status": "finished"}\n')
    (folder / ".lock").unlink()  # what the run holds is then nowhere to be seen


def pictures_in(page: Path) -> int:
    return page.read_text().count("<img ")


def test_once_draws_the_newest_result_of_every_task(with_all_tasks: Path) -> None:
    page = live.watch(sidestream.open(with_all_tasks), once=True)

    text = page.read_text()
    assert page == with_all_tasks / "live.html"
    for task in synthetic.TASKS:
        assert f"<h2>{task}, step 20</h2>" in text
    assert "214 halos" in text
    assert "step 20" in text
    assert 'src="data:image/' in text
    assert not re.search(r"(src|href)=\"(?!data:)", text), "the page needs no file beside it"


def test_the_page_of_a_run_that_goes_on_loads_itself_anew_and_that_of_a_finished_one_does_not(going_on: Path) -> None:
    page = live.watch(sidestream.open(going_on), once=True)
    assert 'http-equiv="refresh"' in page.read_text()

    end(going_on)
    live.watch(sidestream.open(going_on), once=True)

    assert 'http-equiv="refresh"' not in page.read_text()
    assert "finished" in page.read_text()


def test_a_page_says_when_the_run_went_on_and_is_written_anew_while_it_does(
    going_on: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = live.LivePage(sidestream.open(going_on))
    page.update()
    assert re.search(r"running at \d\d:\d\d:\d\d UTC", page.path.read_text())
    written = page.path.stat().st_mtime_ns

    page.update()
    assert page.path.stat().st_mtime_ns == written
    monkeypatch.setattr(live, "WRITE_EVERY_S", 0.0)
    page.update()

    assert page.path.stat().st_mtime_ns > written


def test_new_results_appear_and_old_ones_are_not_drawn_again(going_on: Path) -> None:
    page = live.LivePage(sidestream.open(going_on))
    assert page.update()
    before = page.path.stat().st_mtime_ns, pictures_in(page.path)
    assert page.update()
    assert page.path.stat().st_mtime_ns == before[0], "nothing new, nothing written"

    table = synthetic.halo_table(30, 0.5)
    synthetic.write_result(going_on, "halos", "halos", 30, 1.0, table)
    page.update()

    assert "<h2>halos, step 30</h2>" in page.path.read_text()
    assert "<h2>phase, step 20</h2>" in page.path.read_text()
    assert pictures_in(page.path) == before[1]


def test_files_that_failed_are_shown(going_on: Path) -> None:
    with (going_on / "events.jsonl").open("a") as log:
        log.write(
            '{"event": "checkpoint_failed", "t": 20.0, "path": "demo/chk00020.hdf5_chk", '
            '"message": "error: the disk is full"}\n'
        )

    page = live.watch(sidestream.open(going_on), once=True)

    assert "chk00020.hdf5_chk was not written: the disk is full" in page.read_text()


def test_a_torn_result_keeps_the_picture_before_it(going_on: Path) -> None:
    page = live.LivePage(sidestream.open(going_on))
    page.update()
    before = pictures_in(page.path)

    (going_on / "results" / "phase" / "000030.nc").write_bytes(b"torn")
    end(going_on)
    page.update()

    assert "<h2>phase, step 20</h2>" in page.path.read_text()
    assert pictures_in(page.path) == before


def test_images_of_any_shape_are_drawn(going_on: Path) -> None:
    image = synthetic.projection(0.3)
    wide = {name: (dims, values[..., ::2], unit) for name, (dims, values, unit) in image.items() if name != "y"}
    wide["y"] = image["y"]
    synthetic.write_result(going_on, "picture", "projection", 30, 1.0, wide, axis="z")

    page = live.watch(sidestream.open(going_on), once=True)

    assert "<h2>picture, step 30</h2>" in page.read_text()


def test_a_run_without_results_has_a_page(going_on: Path) -> None:
    shutil.rmtree(going_on / "results")

    page = live.watch(sidestream.open(going_on), once=True)

    assert "no result yet" in page.read_text()


def test_watching_ends_with_the_run(going_on: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK_EVERY_S", 0.05)
    watching = threading.Thread(target=live.watch, args=(sidestream.open(going_on),))
    watching.start()
    watching.join(1.0)
    assert watching.is_alive()

    end(going_on)
    watching.join(120.0)

    assert not watching.is_alive()
    assert "finished" in (going_on / "live.html").read_text()


def test_the_report_says_why_a_task_found_nothing(going_on: Path) -> None:
    why = "no halos: `total_density` reaches 37 times the mean, t_halo is 200 times the mean"
    event = {"event": "analysis", "t": 98.0, "task": "halos", "step": 21, "summary": why, "compute_s": 0.1}
    with (going_on / "events.jsonl").open("a") as log:
        log.write(json.dumps(event) + "\n")

    text = page.render(sidestream.open(going_on))

    assert f"<li>halos: {why} at step 21" in text
    assert text.count("no halos") == 1
