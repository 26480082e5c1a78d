"""Figures in the light and in the dark: an SVG whose colours follow what the reader's system prefers."""

from __future__ import annotations

import re
from functools import cache

import numpy as np

# To Oklab and back; Ottosson 2020, "A perceptual color space for image processing".
_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_INK, _PAPER = (0.27, 0.93), (1.0, 0.235)  # lightness by day and by night, between which others lie
_COLOUR = re.compile(r"(?<=[:\s])#[0-9a-f]{6}\b")
_ATTRIBUTE = re.compile(r'fill="(#[0-9a-f]{6})"')  # of what lies below hatches; only a style may name a variable


def themed(svg: str) -> str:
    """The SVG with each colour as a variable that has another value where dark pages are preferred."""
    svg = _ATTRIBUTE.sub(r'style="fill: \1"', svg)
    names = {colour: f"--c{index}" for index, colour in enumerate(dict.fromkeys(_COLOUR.findall(svg)))}
    by_day = "".join(f"{name}:{colour};" for colour, name in names.items())
    by_night = "".join(f"{name}:{on_dark(colour)};" for colour, name in names.items())
    style = f"<style>svg{{{by_day}}}@media(prefers-color-scheme:dark){{svg{{{by_night}}}}}</style>"
    begin = svg.index(">", svg.index("<svg")) + 1
    return svg[:begin] + style + _COLOUR.sub(lambda colour: f"var({names[colour[0]]})", svg[begin:])


@cache
def on_dark(colour: str) -> str:
    """A colour (`#rrggbb`) for dark paper: its hue, and a lightness as far from that of ink as before."""
    lab = to_oklab(to_linear(colour))
    share = (lab[0] - _INK[0]) / (_PAPER[0] - _INK[0])
    lab[0] = np.clip(_INK[1] + share * (_PAPER[1] - _INK[1]), 0.0, 1.0)
    return _to_hex(np.linalg.solve(_TO_LMS, np.linalg.solve(_TO_LAB, lab) ** 3))


def to_linear(colour: str) -> np.ndarray:
    """Red, green and blue of `#rrggbb`, each from 0 to 1, proportional to light."""
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def to_oklab(linear: np.ndarray) -> np.ndarray:
    """Lightness (0 to 1) and two coordinates of hue, in which distances are as large as they look."""
    return np.asarray(_TO_LAB @ np.cbrt(_TO_LMS @ linear))


def contrast(one: str, other: str) -> float:
    """The ratio of contrast of two colours, from 1 to 21; WCAG 2.2 wants 3 of lines in a figure, 4.5 of text."""
    light, dark = sorted((float(to_linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _to_hex(linear: np.ndarray) -> str:
    kept = np.clip(linear, 0.0, 1.0)
    values = np.where(kept <= 0.0031308, 12.92 * kept, 1.055 * kept ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * value):02x}" for value in values)
