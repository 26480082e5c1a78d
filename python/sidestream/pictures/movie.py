"""`sidestream movie`: the frames of a run as a movie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..error import Error
from .folder import Pictures

CODECS = ("libx264", "libsvtav1", "libvpx-vp9", "mpeg4")  # the first that the library has


def make_movie(pictures: Pictures, path: Path, rate: float = 12.0, label: bool = False) -> int:
    """Writes the frames of all steps as a movie, and returns how many there are.

    Args:
        pictures: those of a task.
        path: The file; its name says the container (`.mp4`, `.mkv`, `.webm`).
        rate: Frames a second.
        label: Write step and time into the lower left corner of each frame.

    Raises:
        Error: no library for movies, no frames, or the file cannot be written.
    """
    av = _library()
    frames = pictures.frames()
    size = _even(max(_size(frame) for _, frame in frames))
    draft = path.with_name(f".{path.stem}.tmp{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with av.open(str(draft), "w") as movie:
            stream = _stream(av, movie, rate, size)
            for step, frame in frames:
                words = f"step {step}   t {pictures.time_of(step):.6g}" if label else ""
                image = av.VideoFrame.from_ndarray(_pixels(frame, size, words), format="rgb24")
                movie.mux(stream.encode(image))
            movie.mux(stream.encode())
        draft.replace(path)
    except (OSError, ValueError, av.FFmpegError) as problem:
        draft.unlink(missing_ok=True)
        raise Error(f"the movie cannot be written: {problem}", path, "names end in .mp4, .mkv or .webm") from problem
    return len(frames)


def _library() -> Any:
    try:
        import av
    except ImportError as problem:
        raise Error("movies take the package `av`, which is not there", hint="pip install av") from problem
    return av


def _stream(av: Any, movie: Any, rate: float, size: tuple[int, int]) -> Any:
    from fractions import Fraction

    codec = next((name for name in CODECS if name in av.codecs_available), None)
    if codec is None:
        raise Error(f"the package `av` has none of the encoders {', '.join(CODECS)}", hint="pip install av")
    if movie.format.name == "webm" and "libvpx-vp9" in av.codecs_available:
        codec = "libvpx-vp9"
    stream = movie.add_stream(codec, rate=Fraction(rate).limit_denominator(1001))
    stream.width, stream.height = size
    stream.pix_fmt = "yuv420p"  # what every player shows
    if codec == "libx264":
        stream.options = {"crf": "18", "preset": "medium"}
    return stream


def _size(frame: Path) -> tuple[int, int]:
    from PIL import Image

    try:
        with Image.open(frame) as image:
            return int(image.width), int(image.height)
    except OSError as problem:
        raise Error(
            f"the frame cannot be read: {problem}",
            frame,
            hint="remove the folder of its step, and the movie goes on without it",
        ) from problem


def _even(size: tuple[int, int]) -> tuple[int, int]:
    """Encoders want even sides; a side of one pixel too many is cut."""
    return max(2, size[0] // 2 * 2), max(2, size[1] // 2 * 2)


def _pixels(frame: Path, size: tuple[int, int], words: str) -> np.ndarray:
    """The frame on black, in the middle of `size`; one of another size is made to fit. (height, width, 3) bytes."""
    from PIL import Image, ImageDraw, ImageFont

    with Image.open(frame) as file:
        image = file.convert("RGBA")
    scale = min(size[0] / image.width, size[1] / image.height)
    if scale > 1 or scale < 0.99:
        fitted = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        image = image.resize(fitted, Image.Resampling.NEAREST)
    canvas = Image.new("RGBA", size, (0, 0, 0, 255))
    place = max(0, (size[0] - image.width) // 2), max(0, (size[1] - image.height) // 2)
    canvas.alpha_composite(image.crop((0, 0, min(image.width, size[0]), min(image.height, size[1]))), place)
    if words:
        draw = ImageDraw.Draw(canvas)
        font = ImageFont.load_default(max(10, size[1] // 30))
        box = draw.textbbox((8, size[1] - 8), words, font, anchor="lb")
        draw.rectangle((box[0] - 4, box[1] - 4, box[2] + 4, box[3] + 4), (0, 0, 0, 255))
        draw.text((8, size[1] - 8), words, (255, 255, 255, 255), font, anchor="lb")
    return np.asarray(canvas.convert("RGB"))
