"""The calls by which a program changed its files, as the layer below it has recorded them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..error import Error


@dataclass(frozen=True)
class Call:
    """A call that ended well.

    Attributes:
        begin: when it began, in nanoseconds of a clock that all processes of the machine share.
        end: when it ended.
        kind: `open` of a file that was not there, `make` of a folder, `reserve`, `write`, `truncate`, `sync`, `rename`,
            `remove`.
        path: of the file or folder when the call was made, from the root on.
        other: of `rename`: the new name.
        is_exchange: of `rename`: both names stay, and what they name changes places.
        offset: of `write` and `reserve`, bytes; of `truncate` the length.
        length: of `write` and `reserve`, bytes.
        data: of `write`.
    """

    begin: int
    end: int
    kind: str
    path: str
    other: str
    is_exchange: bool
    offset: int
    length: int
    data: bytes


def read_record(prefix: Path) -> list[Call]:
    """The calls in all files PREFIX.PID, in the order in which they ended.

    Raises:
        Error: a file ends in the middle of a call, or there is none.
    """
    files = sorted(prefix.parent.glob(f"{prefix.name}.*"))
    if not files:
        raise Error("nothing was recorded", prefix, "is the layer loaded, and does it watch the folder?")
    return sorted((call for file in files for call in _calls_in(file)), key=lambda call: call.end)


def _calls_in(path: Path) -> list[Call]:
    found = []
    with path.open("rb") as file:
        while line := file.readline():
            told = json.loads(line)
            kind, length = told.pop("call"), told.pop("bytes")
            data = file.read(length) if kind == "write" else b""
            if kind == "write" and len(data) != length:
                raise Error("the record ends in the middle of a call", path)
            found.append(Call(kind=kind, length=length, data=data, **told))
    return found
