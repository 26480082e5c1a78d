"""Pictures of any size in a real browser, without a screen: pages from the disk, walls of screens."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import drawn
from holding import held
from sidestream.pictures import pictures_of
from sidestream.pictures.server import HERE
from sidestream.pictures.viewing import ViewServer
from sidestream.pictures.wall import WallServer
from sidestream.report import live
from sidestream.runs.run import Run
from synthetic import write_run

pytestmark = pytest.mark.slow
STEPS = [10, 20, 130]
GAP = 40


def browser_line(folder: Path, *words: str) -> list[str]:
    program = shutil.which("chromium")
    assert program, "tools/system_packages_slow.txt has it"
    return [
        program,
        *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"),
        f"--user-data-dir={folder}",
        *words,
    ]


def photographed(folder: Path, address: str, size: tuple[int, int]) -> np.ndarray:
    """What a browser shows of a page after a while, (height, width, 3)."""
    words = [f"--window-size={size[0]},{size[1]}", "--virtual-time-budget=4000", f"--screenshot={folder}/seen.png"]
    done = subprocess.run(
        browser_line(folder / "profile", *words, address), capture_output=True, text=True, timeout=120, check=False
    )
    assert (folder / "seen.png").exists(), done.stderr
    with Image.open(folder / "seen.png") as image:
        return np.asarray(image.convert("RGB")).astype(int)


@contextmanager
def opened(folder: Path, address: str) -> Iterator[None]:
    """A page that is open."""
    words = ["--remote-debugging-port=0", "--window-size=400,300", address]
    with subprocess.Popen(
        browser_line(folder, *words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as browser:
        try:
            yield
        finally:
            browser.kill()


def share_of(image: np.ndarray, colour: tuple[int, int, int]) -> float:
    return float((np.abs(image - colour).max(2) <= 2).mean())


def test_a_page_from_the_disk_shows_the_whole_picture_without_network(tmp_path: Path) -> None:
    run = drawn.write_run(tmp_path / "run", [20])
    folder = run / "results/draw/00020.pictures"
    about = (
        '{"name":"a","width":600,"height":300,"tile":256,"levels":11,"step":20,"time":2.0,"tiles":"vorticity_files/"}'
    )
    (folder / "index.html").write_text(
        f"<!doctype html><body><script>{(HERE / 'viewer.js').read_text()}\n"
        f"showPicture(document.body, {about});</script>"
    )

    seen = photographed(tmp_path, f"file://{folder}/index.html", (800, 600))

    assert 0.55 < share_of(seen, drawn.colour_of(20)) <= 2 / 3  # 800 x 400 of 800 x 600, less the words
    assert share_of(seen[:, 40:760], (0x11, 0x11, 0x11)) > 0.2


def test_the_page_that_follows_a_run_shows_the_newest_step(tmp_path: Path) -> None:
    pictures = pictures_of(Run(drawn.write_run(tmp_path / "run", STEPS)))

    with ViewServer(pictures).serving(0) as address:
        seen = photographed(tmp_path, address, (800, 600))

    assert share_of(seen, drawn.colour_of(STEPS[-1])) > 0.5


def test_a_page_that_was_left_behind_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "demo", steps=20, status=None)
    with held(run):
        page = live.watch(Run(run), once=True)
    shown = {}
    for name, age in (("new", 5), ("old", 600)):
        text = re.sub(r"(Date.now\(\)/1000-)\d+", rf"\g<1>{time.time() - age:.0f}", page.read_text())
        page.write_text(text.replace('http-equiv="refresh"', ""))
        words = ["--dump-dom", page.as_uri()]
        done = subprocess.run(browser_line(tmp_path / "profile", *words), capture_output=True, text=True, timeout=120)
        shown[name] = re.search(r'<span class="status[^>]*>([^<]*)<', done.stdout)[1]

    assert shown["new"].startswith("running at ")
    assert shown["old"].startswith("not watched for 10 min")


def test_browsers_on_a_wall_show_every_step(tmp_path: Path) -> None:
    pictures = pictures_of(Run(drawn.write_run(tmp_path / "run", STEPS)))
    server = WallServer(pictures, 2, 1, GAP, lambda _: None)
    with server.serving(0) as address, ExitStack() as screens:
        for column in range(2):
            screens.enter_context(opened(tmp_path / f"browser{column}", f"{address}screen/{column}/0"))
        play = threading.Thread(target=server.play, args=(True,), daemon=True)
        play.start()
        play.join(120)
        assert not play.is_alive(), server.wall

    report = server.report()
    assert [entry["step"] for entry in report["steps"]] == STEPS
    assert report["frame_rate"] > 0.0
    print(
        f"frame rate {report['frame_rate']:.2f} a second, delay {report['delay_s']}, of screens {report['display_s']}"
    )
