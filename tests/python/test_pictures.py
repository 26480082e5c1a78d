"""Pictures of any size after they were written: movies, the page that follows a run, and walls of screens."""

from __future__ import annotations

import json
import shutil
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import drawn
import sidestream
from holding import held
from sidestream.pictures import Pictures, pictures_of
from sidestream.pictures.movie import make_movie
from sidestream.pictures.viewing import ViewServer
from sidestream.pictures.wall import Wall, WallServer, size_of
from sidestream.runs.run import Run
from waiting import until

STEPS = [10, 20, 130]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return drawn.write_run(tmp_path / "run", STEPS)


@pytest.fixture
def pictures(folder: Path) -> Pictures:
    return pictures_of(Run(folder))


def got(address: str, path: str) -> bytes:
    with urllib.request.urlopen(address.rstrip("/") + path, timeout=30) as answer:
        return bytes(answer.read())


def asked(address: str, path: str) -> Any:
    return json.loads(got(address, path))


# --- movies


def test_a_movie_has_a_frame_of_each_step_in_its_colours(pictures: Pictures, tmp_path: Path) -> None:
    av = pytest.importorskip("av")

    count = make_movie(pictures, tmp_path / "new/run.mp4", rate=5)

    with av.open(str(tmp_path / "new/run.mp4")) as movie:
        frames = [frame.to_ndarray(format="rgb24") for frame in movie.decode(video=0)]
        assert movie.streams.video[0].average_rate == 5
    assert count == len(frames) == len(STEPS)
    for step, frame in zip(STEPS, frames, strict=True):
        assert frame.shape == (drawn.HEIGHT, drawn.WIDTH, 3)
        assert np.abs(frame.mean((0, 1)) - drawn.colour_of(step)).max() < 8, step
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["run.mp4"]


def test_a_label_is_in_the_corner_alone_and_odd_sides_are_cut(pictures: Pictures, tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    for _, frame in pictures.frames():
        with Image.open(frame) as image:
            image.crop((0, 0, 599, 299)).save(frame)

    make_movie(pictures, tmp_path / "run.mp4", label=True)

    with av.open(str(tmp_path / "run.mp4")) as movie:
        frame = next(movie.decode(video=0)).to_ndarray(format="rgb24").astype(int)
    assert frame.shape == (298, 598, 3)
    away = np.abs(frame - drawn.colour_of(STEPS[0])).max(2) > 40
    rows, columns = np.nonzero(away)
    assert away.any() and rows.min() > 0.8 * 298 and columns.max() < 0.5 * 598


def test_a_movie_says_what_is_missing(pictures: Pictures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(sidestream.Error, match=r"cannot be written"):
        make_movie(pictures, tmp_path / "run.unheard")
    assert not list(tmp_path.glob(".run*"))
    for frame in pictures.folder.glob("*/*_frame.png"):
        frame.unlink()
    with pytest.raises(sidestream.Error, match="no frames") as problem:
        make_movie(pictures, tmp_path / "run.mp4")
    assert "frame = 1920" in str(problem.value.hint)
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(sidestream.Error, match="`av`") as problem:
        make_movie(pictures, tmp_path / "run.mp4")
    assert problem.value.hint == "pip install av"


# --- which pictures there are


def test_a_run_without_pictures_is_refused(folder: Path) -> None:
    run = Run(folder)
    with pytest.raises(sidestream.Error, match="`other` makes no pictures"):
        pictures_of(run, "other")
    (folder / "config.toml").write_text('simulation = "lbm"\n')
    shutil.rmtree(folder / "results")
    with pytest.raises(sidestream.Error, match="the run makes no pictures"):
        pictures_of(Run(folder))


def test_pictures_count_when_their_result_is_there(pictures: Pictures) -> None:
    (pictures.folder / "00020.nc").unlink()
    (pictures.folder / ".00140.pictures.tmp").mkdir()

    assert pictures.steps() == [10, 130]


# --- the page that follows a run


def test_the_page_follows_a_run_and_gives_its_tiles_and_nothing_else(folder: Path, pictures: Pictures) -> None:
    with held(folder), ViewServer(pictures).serving(0) as address:
        assert address.startswith("http://127.0.0.1:")
        page = got(address, "/").decode()
        assert "showPicture" in page and "/*" + "GIVEN*/" not in page
        assert "http://" not in page.replace(address, "") and "https://" not in page
        assert asked(address, "/steps") == {"going_on": True, "steps": STEPS}
        drawn.write_pictures(folder, 140)
        assert asked(address, "/steps")["steps"] == [*STEPS, 140]
        about = asked(address, "/about?step=140")
        assert (about["width"], about["height"], about["levels"], about["time"]) == (600, 300, 11, 14.0)
        tile = got(address, about["tiles"] + "10/2_1.png")
        assert tile == (folder / "results/draw/00140.pictures/vorticity_files/10/2_1.png").read_bytes()
        for path in (
            "/tiles/140/10/9_9.png",
            "/tiles/141/10/0_0.png",
            "/tiles/140/../../../config.toml",
            "/tiles/140/%2e%2e/0_0.png",
            "/about?step=-1",
            f"/about?step={'9' * 12}",
            f"/about?step={'9' * 6000}",
            "/about",
            "/config.toml",
        ):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                got(address, path)
    with ViewServer(pictures).serving(0) as address:
        assert not asked(address, "/steps")["going_on"]


def test_a_port_that_is_taken_is_named(pictures: Pictures) -> None:
    with ViewServer(pictures).serving(0) as address:
        port = int(address.rsplit(":", 1)[1].rstrip("/"))
        with (
            pytest.raises(sidestream.Error, match=f"port {port}") as problem,
            ViewServer(pictures).serving(port),
        ):
            pass
    assert "--port" in str(problem.value.hint)


def test_who_asks_for_half_a_page_is_let_go_and_holds_up_nobody(pictures: Pictures) -> None:
    server = ViewServer(pictures)
    server.patience_s = 0.5
    before = threading.active_count()
    with server.serving(0) as address:
        port = int(address.rsplit(":", 1)[1].rstrip("/"))
        silent = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(21)]
        for connection, said in zip(silent, [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: local"] * 7, strict=True):
            connection.sendall(said)
        assert urllib.request.urlopen(address, timeout=30).status == 200
        assert [connection.recv(1) for connection in silent] == [b""] * len(silent)
        for connection in silent:
            connection.close()
        deadline = time.monotonic() + 30
        while threading.active_count() > before + 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_the_page_answers_to_names_of_this_machine_alone(pictures: Pictures) -> None:
    with ViewServer(pictures).serving(0) as address:
        for host in ("localhost:8000", "LOCALHOST", "127.0.0.1", "[::1]:80"):
            request = urllib.request.Request(address, headers={"Host": host})
            assert urllib.request.urlopen(request, timeout=30).status == 200
        for host in ("evil.example", "localhost.evil.example:8000", "127.0.0.1.evil.example", "10.0.0.1"):
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(urllib.request.Request(address, headers={"Host": host}), timeout=30)


# --- walls of screens


class Screen(threading.Thread):
    """A page of a wall, without a browser: loads slowly or not at all, and writes down what it showed and when."""

    def __init__(self, address: str, column: int, row: int, slow_s: float = 0.0, last: int = STEPS[-1]) -> None:
        super().__init__(daemon=True)
        self.place, self.slow_s, self.last = (column, row), slow_s, last
        self.address = address
        self.loaded: list[tuple[float, int]] = []
        self.shown: list[tuple[float, int]] = []
        self.start()

    def run(self) -> None:
        loaded = shown = -1
        while shown != self.last:
            query = f"/next?column={self.place[0]}&row={self.place[1]}&loaded={loaded}&shown={shown}"
            told = asked(self.address, query)
            if not told["is_open"]:
                return
            if told["load"] and told["load"]["step"] != loaded:
                time.sleep(self.slow_s)
                got(self.address, told["load"]["tiles"] + "0/0_0.png")
                loaded = told["load"]["step"]
                self.loaded.append((time.monotonic(), loaded))
            if told["show"] == loaded != shown:
                shown = loaded
                self.shown.append((time.monotonic(), shown))
        asked(self.address, query.rsplit("loaded", 1)[0] + f"loaded={loaded}&shown={shown}")


def test_all_screens_show_a_step_once_the_slowest_has_loaded_it(pictures: Pictures) -> None:
    server = WallServer(pictures, 3, 2, 20, lambda _: None)
    time.sleep(1.5)  # pictures of a run that has ended have not waited for the wall
    began = time.time()
    with server.serving(0) as address:
        screens = [Screen(address, c, r, 0.2 * (c == 2) * (r == 1)) for c in range(3) for r in range(2)]
        server.play(once=True)
    took_s = time.time() - began

    for step in STEPS:
        loaded = [at for s in screens for at, what in s.loaded if what == step]
        shown = [at for s in screens for at, what in s.shown if what == step]
        assert len(loaded) == len(shown) == len(screens)
        assert min(shown) > max(loaded), "a screen ran ahead"
    report = server.report()
    assert [entry["step"] for entry in report["steps"]] == STEPS
    assert report["frames"] == 3 and report["skipped"] == 0 and report["bezel"] == 20
    assert 2 / took_s < report["frame_rate"] < 5.0  # the slowest takes 0.2 s a step
    assert report["delay_s"]["largest"] >= report["display_s"]["median"] > 0.0
    assert report["display_s"]["largest"] < took_s


def test_a_run_that_goes_on_is_shown_at_its_newest_step(folder: Path, pictures: Pictures) -> None:
    server = WallServer(pictures, 1, 1, 0, lambda _: None)
    with held(folder), server.serving(0) as address:
        screen = Screen(address, 0, 0)
        threading.Thread(target=server.play, args=(False,), daemon=True).start()
        until(lambda: screen.shown)
        screen.join(0.5)  # which goes on waiting for another

    assert [step for _, step in screen.shown] == [130]
    assert server.skipped == 2


def test_a_wall_waits_for_all_its_screens_and_goes_on_without_one_that_is_gone(pictures: Pictures) -> None:
    told: list[str] = []
    now_s = 0.0
    server = WallServer(pictures, 2, 1, 0, told.append)
    server.wall.clock = lambda: now_s
    with server.serving(0) as address:
        alone = Screen(address, 0, 0)
        play = threading.Thread(target=server.play, args=(True,), daemon=True)
        play.start()
        time.sleep(0.4)
        assert not alone.loaded, "a screen was not there yet"
        asked(address, "/next?column=1&row=0&loaded=-1&shown=-1")
        until(lambda: server.wall.loaded[0, 0] == STEPS[0])
        assert not alone.shown, "a screen has not loaded it yet"
        now_s = 2 * server.wall.patience_s
        play.join(60)

    assert [step for _, step in alone.shown] == STEPS
    assert any("no answer from the screens 1/0" in line for line in told)


def test_what_a_screen_has_to_do() -> None:
    wall = Wall(2, 1)
    assert not wall.has_news(-1, -1)
    wall.loading = 7
    assert wall.has_news(-1, -1) and not wall.has_news(7, -1)
    wall.showing = 7
    assert wall.has_news(7, -1) and not wall.has_news(7, 7)
    wall.loading = 8
    assert not wall.has_news(8, -1), "it cannot show what it has not loaded"


def test_screens_have_pages_and_others_have_none(pictures: Pictures) -> None:
    with WallServer(pictures, 4, 2, 7, lambda _: None).serving(0) as address:
        page = got(address, "/screen/3/1").decode()
        assert '"column": 3, "row": 1, "columns": 4, "rows": 2, "bezel": 7' in page
        assert got(address, "/").decode().count("/screen/") == 8
        for path in ("/screen/4/0", "/screen/0/2", "/next?column=9&row=0&loaded=-1&shown=-1", "/next"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                got(address, path)


@pytest.mark.parametrize("wall", ["4", "4x", "0x2", "4x-2", "axb", "101x1"])
def test_a_wall_of_no_size_is_refused(wall: str) -> None:
    with pytest.raises(sidestream.Error, match="no size of a wall") as problem:
        size_of(wall)
    assert "4x2" in str(problem.value.hint)
