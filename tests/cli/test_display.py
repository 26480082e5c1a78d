"""Pictures of any size through the program: their colours, their bytes on any ranks and transports, what cannot be."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import LogNorm, Normalize
from PIL import Image

import sidestream
from calls import attached, command, program, running
from test_faults import small_disk
from test_pictures import Screen, asked
from tiers import slow
from waiting import until

COLUMNS, ROWS, STEPS = 300, 270, 4
FLOW = f"""simulation = "lbm"
[mesh]
cells = [{COLUMNS}, {ROWS}, 1]
block = 30
[lbm]
viscosity = 0.02
end = {STEPS}
[initial]
velocity = [0.1, 0.0, 0.0]
[barrier.rod]
shape = "cylinder"
center = [90.0, 130.3]
radius = 12.0
"""
TASKS = """
[task.draw]
analysis = "display"
quantity = "speed"
colormap = "magma"
whole = true
frame = 100
every = 2
[task.seen]
analysis = "slice"
axis = "z"
fields = ["speed"]
every = 2
"""


def written(folder: Path, *parts: str) -> None:
    (folder / "flow.toml").write_text("".join(parts))


def run(folder: Path, ranks: int, out: str, *words: object) -> Path:
    done = program(folder, ranks, "flow.toml", "--quiet", "--out", out, *words)
    assert done.returncode == 0, done.stderr
    return folder / out


def pictures_in(run: Path) -> dict[str, bytes]:
    files = [path for path in (run / "results/draw").glob("*.pictures/**/*") if path.is_file()]
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def pixels_of(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGBA"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the configuration and its run on one rank, `one`."""
    folder = tmp_path_factory.mktemp("display")
    written(folder, FLOW, TASKS)
    run(folder, 1, "one")
    return folder


def joined_tiles(folder: Path, level: int, columns: int, rows: int) -> np.ndarray:
    whole = np.zeros((rows, columns, 4), np.uint8)
    for path in (folder / f"speed_files/{level}").iterdir():
        column, row = map(int, path.stem.split("_"))
        tile = pixels_of(path)
        whole[row * 256 : row * 256 + tile.shape[0], column * 256 : column * 256 + tile.shape[1]] = tile
    return whole


def test_pixels_have_the_colours_that_matplotlib_gives_the_cells(place: Path) -> None:
    opened = sidestream.open(place / "one")
    low, high = np.inf, -np.inf
    for step in opened.steps("draw"):
        cells = opened.result("seen", step)["speed"].values[::-1]
        low, high = min(low, cells.min()), max(high, cells.max())
        result = opened.result("draw", step)
        assert result["limits"].values.tolist() == [low, high]
        assert result["extremes"].values.tolist() == [cells.min(), cells.max()]
        expected = mpl.colormaps["magma"](Normalize(low, high)(cells), bytes=True)

        folder = place / f"one/results/draw/{step:05}.pictures"

        assert np.array_equal(pixels_of(folder / "speed.png"), expected)
        assert np.array_equal(joined_tiles(folder, 9, COLUMNS, ROWS), expected)
    assert opened.steps("draw") == [0, 2, 4]


def test_each_level_holds_the_means_of_the_finer_one_down_to_a_pixel(place: Path) -> None:
    folder = place / "one/results/draw/00004.pictures"
    finer = joined_tiles(folder, 9, COLUMNS, ROWS).astype(int)
    for level in range(8, -1, -1):
        rows, columns = (finer.shape[0] + 1) // 2, (finer.shape[1] + 1) // 2
        grown = np.pad(finer, ((0, 2 * rows - finer.shape[0]), (0, 2 * columns - finer.shape[1]), (0, 0)))
        there = np.pad(
            np.ones(finer.shape[:2], int), ((0, grown.shape[0] - finer.shape[0]), (0, grown.shape[1] - finer.shape[1]))
        )
        total = grown.reshape(rows, 2, columns, 2, 4).sum((1, 3))
        count = there.reshape(rows, 2, columns, 2).sum((1, 3))[..., None]
        expected = (total + count // 2) // count

        found = joined_tiles(folder, level, columns, rows)

        assert np.array_equal(found, expected), level
        finer = expected
        if level == 7:
            assert np.array_equal(pixels_of(folder / "speed_frame.png"), expected)  # 75 x 68, no side above 100
    assert found.shape == (1, 1, 4)
    assert not (folder / "speed_files/10").exists()
    words = (folder / "speed.dzi").read_text()
    assert re.search(r'TileSize="256"', words) and re.search(f'Width="{COLUMNS}" Height="{ROWS}"', words)


def test_the_page_beside_the_tiles_needs_nothing_from_elsewhere(place: Path) -> None:
    page = (place / "one/results/draw/00002.pictures/index.html").read_text()

    assert f'"width":{COLUMNS}' in page and '"tiles":"speed_files/"' in page
    assert not re.search(r"https?://|src=|href=", page)


ON_RANKS = [(tiles, ranks) for tiles in ("columns", "rectangles") for ranks in (2, 3, 4)]
QUICK = [("columns", 2), ("rectangles", 4)]


@pytest.mark.parametrize(("tiles", "ranks"), [*QUICK, *slow(*(way for way in ON_RANKS if way not in QUICK))])
def test_bytes_are_the_same_on_any_ranks(place: Path, tmp_path: Path, tiles: str, ranks: int) -> None:
    written(tmp_path, FLOW, TASKS)

    found = pictures_in(run(tmp_path, ranks, "more", "--set", f"task.draw.tiles={tiles}"))

    expected = pictures_in(place / "one")
    assert len(expected) == 3 * (
        4 + sum(1 for _ in (place / "one/results/draw/00000.pictures").rglob("speed_files/*/*"))
    )
    assert found == expected


@pytest.mark.parametrize("transport", ["async", "in-transit", "file"])
def test_bytes_are_the_same_on_every_transport(place: Path, tmp_path: Path, transport: str) -> None:
    written(tmp_path, FLOW, TASKS, "[coupling]\nsidecars = 1\n" if transport == "in-transit" else "")

    out = run(tmp_path, 3, "other", "--set", f"task.draw.transport={transport}")
    if transport == "file":
        assert program(tmp_path, 2, out / "config.toml", "--analyze", "--out", out).returncode == 0

    assert pictures_in(out) == pictures_in(place / "one")


def test_bytes_are_the_same_from_another_job(place: Path, tmp_path: Path) -> None:
    written(tmp_path, FLOW, TASKS, "[stream]\nwait_for = 1\n")
    words = ("flow.toml", "--quiet", "--out", "run", "--set", "task.draw.transport=stream")
    with attached(tmp_path, "run", "draw", 2) as reader, running(tmp_path, 2, *words) as flow:
        assert flow.wait(120) == 0
        assert reader.wait(60) == 0

    assert pictures_in(tmp_path / "run") == pictures_in(place / "one")


def test_running_limits_go_on_through_a_restart(place: Path, tmp_path: Path) -> None:
    written(tmp_path, FLOW, TASKS, '[output]\ncheckpoint = { format = "sidestream", every = 2 }\n')
    run(tmp_path, 2, "cut", "--set", f"run.max_steps={STEPS - 2}")

    found = pictures_in(run(tmp_path, 3, "cut", "--restart", "--set", f"run.max_steps={STEPS}"))

    assert found == pictures_in(place / "one")


def test_logarithms_fixed_limits_and_what_has_no_colour(tmp_path: Path) -> None:
    more = """
[quantity.odd]
expression = "log(speed - 0.08)"
[task.odd]
analysis = "display"
quantity = "odd"
whole = true
pyramid = false
limits = [-6, -4]
every = 4
[task.steep]
analysis = "display"
quantity = "speed"
scale = "log"
limits = [0.01, 0.1]
colormap = "tab10"
whole = true
every = 4
[task.cells]
analysis = "slice"
axis = "z"
fields = ["odd", "speed"]
every = 4
"""
    written(tmp_path, FLOW, more)
    out = run(tmp_path, 2, "run")
    opened = sidestream.open(out)
    cells = opened.result("cells", -1).isel(y=slice(None, None, -1))
    steep = mpl.colormaps["tab10"](LogNorm(0.01, 0.1)(cells["speed"].values), bytes=True)
    odd = mpl.colormaps["viridis"](Normalize(-6, -4)(np.ma.masked_invalid(cells["odd"].values)), bytes=True)

    assert np.array_equal(pixels_of(out / "results/odd/00004.pictures/odd.png"), odd)
    found = pixels_of(out / "results/steep/00004.pictures/speed.png")
    assert (found != steep).any(axis=2).mean() < 1e-3  # logarithms that differ in the last bit, at a limit of colours
    told = opened.result("odd", -1).attrs
    values = cells["odd"].values
    assert told["bad"] == np.isnan(values).sum() > 0
    assert (told["below"], told["above"]) == ((values < -6).sum(), (values > -4).sum())


def test_a_full_disk_loses_the_picture_and_nothing_else(tmp_path: Path) -> None:
    with small_disk(tmp_path, 240 << 10) as disk:
        written(disk, FLOW, TASKS.split("[task.seen]")[0])

        done = program(disk, 2, "flow.toml", "--quiet", "--out", "run")

        assert done.returncode == 1
        assert "its pictures were not written" in done.stderr and "No space left on device" in done.stderr
        kept = {path.stem for path in (disk / "run/results/draw").glob("*.nc")}
        assert kept == {path.stem for path in (disk / "run/results/draw").glob("*.pictures")} != set()
        assert not list((disk / "run/results/draw").glob(".*"))


@pytest.mark.parametrize(
    ("task", "complaint"),
    [
        ('quantity = "speed"\ncolormap = "magmma"', "did you mean `magma`"),
        ('quantity = "speed"\nlimits = [2.0, 1.0]', "is not below the upper one"),
        ('quantity = "speed"\nscale = "log"\nlimits = [-1.0, 1.0]', "has no logarithm"),
        ('quantity = "sped"', "speed"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_the_start(tmp_path: Path, task: str, complaint: str) -> None:
    written(tmp_path, FLOW, f'[task.draw]\nanalysis = "display"\nevery = 1\n{task}\n')

    done = command(tmp_path, "check", "flow.toml")

    assert done.returncode == 2
    assert complaint in done.stderr


def test_a_box_in_three_dimensions_wants_to_know_where_it_is_cut(tmp_path: Path) -> None:
    written(tmp_path, 'simulation = "sedov"\n[mesh]\ncells = [16, 16, 16]\nblock = 16\n[run]\nmax_steps = 1\n')
    with (tmp_path / "flow.toml").open("a") as file:
        file.write('[task.draw]\nanalysis = "display"\nquantity = "gas_density"\nevery = 1\n')

    done = command(tmp_path, "check", "flow.toml")

    assert done.returncode == 2
    assert "say across which `axis`" in done.stderr
    run(tmp_path, 2, "cut", "--set", "task.draw.axis=x")


def test_commands_say_what_there_is_not(place: Path, tmp_path: Path) -> None:
    written(tmp_path, FLOW)
    run(tmp_path, 1, "bare")
    for words in (("movie", "bare"), ("view", "bare"), ("display", "bare", "--wall", "2x1")):
        done = command(tmp_path, *words)
        assert done.returncode == 1
        assert "the run makes no pictures" in done.stderr


def test_a_movie_has_the_rate_that_is_asked_for_and_words_in_its_frames(place: Path, tmp_path: Path) -> None:
    first = []
    for name, words in {"plain": (), "labelled": ("--rate", "24", "--label")}.items():
        done = command(place, "movie", "one", "--out", tmp_path / f"{name}.mp4", *words)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [str(tmp_path / f"{name}.mp4")]
        assert "3 frames" in done.stderr
        with av.open(tmp_path / f"{name}.mp4") as movie:
            assert movie.streams.video[0].average_rate == (24 if words else 12)
            first.append(next(movie.decode(video=0)).to_ndarray(format="rgb24"))
    assert np.abs(first[0].astype(int) - first[1]).max() > 100


@contextmanager
def serving(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that serves a page, and the address it has printed."""
    line = [sys.executable, "-m", "sidestream", *words]
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def test_a_wall_ends_with_its_frame_rate_and_delays_on_the_screen_and_in_a_file(place: Path) -> None:
    with serving(place, "display", "one", "--wall", "2x1", "--bezel", "9", "--once") as (process, address):
        screens = [Screen(address, column, 0, last=STEPS) for column in range(2)]
        _, told = process.communicate(timeout=60)

    assert process.returncode == 0, told
    assert all([step for _, step in screen.shown] == [0, 2, 4] for screen in screens)
    assert "3 frames" in told and "delay from step to picture: median" in told
    report = json.loads((place / "one/wall.json").read_text())
    assert (report["frames"], report["wall"], report["bezel"]) == (3, [2, 1], 9)
    assert report["delay_s"]["median"] > report["display_s"]["median"] > 0


def test_the_page_is_shown_in_a_browser_and_ends_with_ctrl_c(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/shown\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with serving(place, "view", "one", "--open") as (process, address):
        assert asked(address, "/steps")["steps"] == [0, 2, 4]
        until(lambda: (tmp_path / "shown").exists() and (tmp_path / "shown").read_text().strip() == address)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)

    assert process.returncode == 0
    assert "Traceback" not in told
