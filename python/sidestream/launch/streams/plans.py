"""What goes over a link in a step, counted without a job: the plan of each technique, for any number of ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from .pairs import ROWS, Pair

CELL_BYTES = 8


@dataclass(frozen=True)
class Box:
    """Of cells, half-open."""

    x0: int
    x1: int
    y0: int
    y1: int

    @property
    def bytes(self) -> int:
        """Of its cells."""
        return CELL_BYTES * max(0, self.x1 - self.x0) * max(0, self.y1 - self.y0)

    def meet(self, other: Box) -> Box:
        """What both have."""
        return Box(max(self.x0, other.x0), min(self.x1, other.x1), max(self.y0, other.y0), min(self.y1, other.y1))


@dataclass(frozen=True)
class Load:
    """Of a reader in a step."""

    bytes: int
    messages: int
    connections: int
    moved_bytes: int  # that go to other readers afterwards


@cache
def loads(pair: Pair, technique: str) -> list[Load]:
    """What each reader takes from the ranks of the run."""
    slices, boxes = _slices(pair), reader_boxes(pair)
    if technique != "write-block":
        return [_fetched(box, slices, pair.width, technique) for box in boxes]
    found = []
    first = 0
    for reader, box in enumerate(boxes):
        count = pair.writers // pair.readers + (reader < pair.writers % pair.readers)
        share = slices[first : first + count]
        kept = sum(box.meet(part).bytes for part in share)
        taken = sum(part.bytes for part in share)
        messages = sum(_messages(part, pair.width, technique) for part in share)
        found.append(Load(taken, messages, count, taken - kept))
        first += count
    return found


def reader_boxes(pair: Pair) -> list[Box]:
    """The part of the plane that each reader ends up with."""
    columns = pair.readers if pair.layout == "columns" else _near_square(pair)
    rows = pair.readers // columns
    return [Box(x0, x1, y0, y1) for y0, y1 in _cuts(pair.height, rows) for x0, x1 in _cuts(pair.width, columns)]


def _slices(pair: Pair) -> list[Box]:
    return [Box(0, pair.width, y0, y1) for y0, y1 in _cuts(pair.height, pair.writers)]


def _cuts(length: int, parts: int) -> Iterator[tuple[int, int]]:
    return pairwise(length * part // parts for part in range(parts + 1))


def _near_square(pair: Pair) -> int:
    """Pieces along x, such that they are as square as can be."""

    def cost(columns: int) -> float:
        width, height = pair.width / columns, pair.height / (pair.readers // columns)
        return max(width / height, height / width)

    return min((n for n in range(1, pair.readers + 1) if pair.readers % n == 0), key=cost)


def _fetched(box: Box, slices: list[Box], width: int, technique: str) -> Load:
    parts = [part for part in (box.meet(one) for one in slices) if part.bytes > 0]
    messages = sum(_messages(part, width, technique) for part in parts)
    return Load(sum(part.bytes for part in parts), messages, len(parts), 0)


def _messages(part: Box, width: int, technique: str) -> int:
    """One a connection, but where nobody packs: then each run of cells that lies together at the writer."""
    is_whole = part.x1 - part.x0 == width
    return part.y1 - part.y0 if technique == ROWS and not is_whole else 1
