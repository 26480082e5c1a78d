"""Sizes of accesses to files, as they were counted below all libraries, drawn as Latham et al. draw them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BINS = ("<100", "100-1K", "1K-10K", "10K-100K", "100K-1M", "1M-4M", "4M-10M", "10M-100M", "100M-1G", ">1G")
OF_FLASH = (  # those that the study compares, and ours
    ("flash", "hdf5-independent"),
    ("flash", "hdf5-collective"),
    ("flash-netcdf", "pnetcdf-blocking"),
    ("flash-netcdf", "pnetcdf-nonblocking"),
    ("flash", "engine"),
)


def drawn(case: str, measured: dict[str, Any]) -> list[dict[str, Any]]:
    """The ways that are drawn: of FLASH those of the study, elsewhere all but plain writing."""
    ways = [one for one in measured["cases"] if one["format"] != "plain" and "error" not in one]
    chosen = [one for one in ways if (one["format"], one["method"]) in OF_FLASH]
    return chosen if case == "flash" and chosen else ways


def sizes_of(way: dict[str, Any]) -> dict[str, int]:
    """Of writes; of a case that writes nothing, of reads."""
    calls = way["calls"]
    sizes: dict[str, int] = calls["sizes"] if calls["writes"] else calls["read_sizes"]
    return sizes


def accesses(case: str, measured: dict[str, Any]) -> Figure:
    """A histogram of sizes for each content, a colour a way."""
    from matplotlib.figure import Figure

    ways = drawn(case, measured)
    contents = list(dict.fromkeys(way["content"] for way in ways))
    columns = min(3, len(contents))
    rows = -(-len(contents) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.6 * rows + 0.6), layout="constrained")
    places = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, content in zip(places, contents, strict=False):
        _panel(axes, content, [way for way in ways if way["content"] == content])
    for axes in places[len(contents) :]:
        axes.remove()
    what = "as Figures 5 and 6, " if case == "flash" else ""
    figure.suptitle(f"Sizes of accesses, {what}counted below the libraries on {measured['ranks']} ranks")
    return figure


def _panel(axes: Axes, content: str, ways: list[dict[str, Any]]) -> None:
    met = [number for number, name in enumerate(BINS) if any(name in sizes_of(way) for way in ways)]
    shown = range(min(met, default=0), max(met, default=0) + 1)
    width = 0.8 / max(1, len(ways))
    for number, way in enumerate(ways):
        counts = [sizes_of(way).get(BINS[place], 0) for place in shown]
        places = [place + (number - 0.5 * (len(ways) - 1)) * width for place in range(len(counts))]
        label = f"{way['format']} {way['method']}".strip()
        axes.bar(places, counts, 0.9 * width, color=f"C{number % 10}", label=label)
    is_read = all(way["calls"]["writes"] == 0 for way in ways)
    axes.set(title=content, yscale="log", ylabel="reads" if is_read else "writes", xlabel="bytes")
    axes.set_ylim(bottom=0.5)
    axes.set_xticks(range(len(shown)), [BINS[place] for place in shown], rotation=30, ha="right")
    axes.grid(alpha=0.3, axis="y")
    axes.legend(fontsize="x-small")
