"""The event log of a run: one JSON object a line, one file a group of ranks."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

Event = dict[str, Any]


LATER = "analyze"  # the group that analyses snapshots and files, when the run is over; of several their numbers follow


class Events(list[Event]):
    """The events of a run in order of time. Each is a dict with at least `event`, `t` (seconds) and `group`.

    Example:
        >>> run.events.of("analysis", task="halos").sum("compute_s")
        12.4
    """

    def of(self, *kinds: str, **values: Any) -> Events:
        """The events of these kinds (all kinds if none is named) whose keys have the given values."""
        return self.where(
            lambda e: (not kinds or e["event"] in kinds) and all(e.get(key) == value for key, value in values.items())
        )

    def where(self, condition: Callable[[Event], bool]) -> Events:
        """The events for which `condition` holds."""
        return Events(event for event in self if condition(event))

    def last(self, kind: str) -> Event:
        """The last event of this kind, or an empty dict."""
        return next((event for event in reversed(self) if event["event"] == kind), {})

    def sum(self, key: str) -> float:
        """The sum of the values of `key`, where it is present."""
        return float(sum(number(event, key) for event in self))

    def to_dataframe(self) -> pandas.DataFrame:
        """The events as a pandas table, one row each."""
        import pandas

        return pandas.DataFrame(list(self))


def number(event: Event, key: str, default: float = 0.0) -> float:
    """The finite number under `key`, or `default` if there is none."""
    value = event.get(key)
    if not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
        return default
    return float(value)


def parse_lines(log: Path, lines: bytes, offset: int = 0) -> list[Event]:
    """The events in some lines of a log. Where lines that have their end are no events, or not as they were written, a
    `warning` says which; what comes behind the last end of a line is being written, or was when the run was killed.

    Args:
        log: the file.
        lines: bytes of it.
        offset: bytes of it before these.
    """
    read = [parse_line(line) for line in lines.split(b"\n")]
    events = [event for event in read if event is not None]
    damaged = [number for number, event in enumerate(read[:-1]) if event is None]
    if damaged:
        first = 1 + damaged[0] + _lines_in(log, offset)
        events.append(_warning_of_damage(log, first, len(damaged), events[-1]["t"] if events else 0.0))
    return events


def _lines_in(log: Path, length: int) -> int:
    with log.open("rb") as file:
        return file.read(length).count(b"\n")


def _warning_of_damage(log: Path, first: int, count: int, t: float) -> Event:
    what = "a line" if count == 1 else f"{count} lines, this one the first,"
    message = f"{what} of the event log cannot be read; tables and report lack what it told, results do not"
    return {"event": "warning", "t": t, "message": message, "where": f"{log}:{first}"}


def parse_line(line: bytes) -> Event | None:
    """One event, or None if the line is torn, not as it was written, or not an event."""
    text = _without_checksum(line)
    try:
        event = None if text is None else json.loads(text.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):  # torn, or nested beyond all that is written
        return None
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        return None
    event["t"] = number(event, "t")
    return event


# How a line ends; the digits are those of the CRC-32 of all before. Lines of earlier versions end otherwise.
SEAL = b',"crc32":"########"}'


def _without_checksum(line: bytes) -> bytes | None:
    """A line as it was before its checksum was added, or None where that is wrong."""
    text, seal = line[: -len(SEAL)], line[-len(SEAL) :]
    same = sum(a == b for a, b in zip(seal, SEAL, strict=False))
    if same <= (len(SEAL) - 8) // 2:
        return line
    right = SEAL.replace(b"########", b"%08x" % zlib.crc32(text))
    return text + b"}" if seal == right else None


def log_files(folder: Path) -> list[Path]:
    """The event logs of a run folder, that of the compute group first."""
    logs = (path for path in folder.glob("events*.jsonl") if path.is_file())  # a pipe would not answer
    return sorted(logs, key=lambda path: (path.name != "events.jsonl", path.name))


def group_of(path: Path) -> str:
    """The group that writes a log: `events.sidecar.jsonl` belongs to `sidecar`, `events.jsonl` to `compute`."""
    return path.name.removeprefix("events").removesuffix("jsonl").strip(".") or "compute"


def read_events(folder: Path) -> Events:
    """All events of a run folder. A run that was restarted has its parts one after another on one axis of time; what
    was analysed later comes after them."""
    parts = {group_of(path): _parts(_read_log(path)) for path in log_files(folder)}
    later = [parts.pop(group) for group in list(parts) if group.split(".")[0] == LATER]
    starts = _start_times(parts.values())
    events = Events()
    for group, logs in parts.items():
        for start, log in zip(starts, logs, strict=False):
            events.extend(_moved(event, start, group) for event in log)
    end = max((event["t"] for event in events), default=0.0)
    for logs in later:
        for start, log in zip(_start_times([logs]), logs, strict=True):
            events.extend(_moved(event, end + start, LATER) for event in log)
    events.sort(key=lambda event: event["t"])
    return events


def _read_log(path: Path) -> list[Event]:
    return parse_lines(path, path.read_bytes())


def _parts(log: list[Event]) -> list[list[Event]]:
    """Splits a log where the program was started again: at a start of its own, or where the clock jumps back."""
    parts: list[list[Event]] = []
    latest = 0.0
    for event in log:
        if not parts or event["event"] in ("run_start", "analyze_start") or event["t"] < latest - 1.0:
            parts.append([])
            latest = 0.0
        parts[-1].append(event)
        latest = max(latest, event["t"])
    return parts


def _start_times(groups: Iterable[list[list[Event]]]) -> list[float]:
    """The time at which each part of a run begins, on one axis."""
    lengths: list[float] = []
    for parts in groups:
        for index, part in enumerate(parts):
            length = max(event["t"] for event in part)
            if index == len(lengths):
                lengths.append(0.0)
            lengths[index] = max(lengths[index], length)
    return [sum(lengths[:index]) for index in range(len(lengths))]


def _moved(event: Event, start: float, group: str) -> Event:
    moved = event | {"t": event["t"] + start, "group": event.get("group", group)}
    if isinstance(event.get("start"), (int, float)):
        moved["start"] = number(event, "start") + start
    return moved
