"""A run folder with pictures of any size, as the analysis `display` leaves them, without a simulation."""

from __future__ import annotations

from pathlib import Path

import h5py
from PIL import Image

CONFIG = (
    'simulation = "lbm"\n[task.draw]\nanalysis = "display"\nquantity = "vorticity"\n[task.other]\nanalysis = "slice"\n'
)
WIDTH, HEIGHT, TILE = 600, 300, 256


def colour_of(step: int) -> tuple[int, int, int]:
    return step % 256, 40, 255 - step % 256


def write_run(folder: Path, steps: list[int]) -> Path:
    (folder / "results/draw").mkdir(parents=True)
    (folder / "config.toml").write_text(CONFIG)
    (folder / "events.jsonl").write_text(
        '{"event": "run_start", "t": 0.0}\n{"event": "run_end", "t": 9.0, "status": "finished"}\n'
    )
    for step in steps:
        write_pictures(folder, step)
    return folder


def write_pictures(folder: Path, step: int) -> None:
    pictures = folder / f"results/draw/{step:05}.pictures"
    draft = pictures.with_suffix(".draft")
    draft.mkdir()
    image = Image.new("RGB", (WIDTH, HEIGHT), colour_of(step))
    image.save(draft / "vorticity_frame.png")
    levels = (max(WIDTH, HEIGHT) - 1).bit_length() + 1
    for level in range(levels):
        size = 2 ** (levels - 1 - level)
        small = image.resize((-(-WIDTH // size), -(-HEIGHT // size)), Image.Resampling.NEAREST)
        (draft / f"vorticity_files/{level}").mkdir(parents=True)
        for row in range(-(-small.height // TILE)):
            for column in range(-(-small.width // TILE)):
                corner = (column * TILE, row * TILE)
                end = (min(small.width, corner[0] + TILE), min(small.height, corner[1] + TILE))
                small.crop((*corner, *end)).save(draft / f"vorticity_files/{level}/{column}_{row}.png")
    (draft / "vorticity.dzi").write_text(
        f'<Image Format="png" Overlap="0" TileSize="{TILE}"><Size Width="{WIDTH}" Height="{HEIGHT}"/></Image>'
    )
    draft.rename(pictures)
    with h5py.File(folder / f"results/draw/{step:05}.nc", "w") as file:
        file.attrs.update(step=step, time=0.1 * step, analysis="display", task="draw")
