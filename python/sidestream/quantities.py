"""Quantities in words, as people read them: shares, times, sizes, speeds."""

from __future__ import annotations


def percent(share: float) -> str:
    """A share between 0 and 1 as `42 %`."""
    return f"{100 * share:.0f} %"


def duration(seconds: float) -> str:
    """Seconds in words of at most two parts: `2.4 ms`, `0.82 s`, `41 s`, `3 min 20 s`, `2 h 05 min`."""
    if seconds < 1e-5:
        return "0 s"
    if seconds < 0.00995:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 9.95:
        return f"{seconds:.2g} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def size(count: float) -> str:
    """Bytes with a unit and three digits."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 999.5 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError


def speed(count: float, seconds: float) -> str:
    """Bytes a second with a unit; nothing where no time passed."""
    return f"{size(count / seconds)}/s" if seconds > 0 else ""
