"""The timeline: who computed, who handed over, who waited, lane by lane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..runs.events import Event, Events, number
from .margins import POINTS, Margins
from .picture import AMBER, BLUE, GREY, INK, MUTED, RED, TASK_COLOURS, Picture, legend_outside, look

if TYPE_CHECKING:
    from ..runs.run import Run

STEP, PACK, WAIT, WRITE = "step", "packing", "waiting for the analyses", "writing files"
BEHIND = "writing behind the run"
RECEIVE, IDLE = "receiving", "idle"
_COLOURS = {STEP: BLUE, PACK: AMBER, WAIT: RED, WRITE: GREY, BEHIND: "#c3ccd4", RECEIVE: "#8ec8f6", IDLE: "#e3e8ed"}
TITLE = "Who computed and who waited"
HATCHES = ("", "////", "xxxx", "....")  # of tasks: another each time that their colours come again
APART = 0.08  # of the time that is shown, between two redshifts
NEGLIGIBLE_S = 5e-4  # what took less is not drawn
REDSHIFTS_IN, GROUPS_IN = 0.2, 1.15  # inches above and beside the lanes, for redshifts and for names of groups
TOGETHER_S = 0.005  # publishes that end within this time of each other were one, shared among tasks


@dataclass(frozen=True)
class Span:
    """Something that took from `start` to `end` (seconds since the start of the run) in one lane of one group."""

    group: str
    lane: str
    what: str
    start: float
    end: float


@dataclass(frozen=True)
class Shade:
    """What bars look like."""

    colour: str
    hatch: str = ""

    @property
    def drawn(self) -> dict[str, Any]:
        """The words of matplotlib for it; hatches are drawn in the colour of an edge."""
        return {"facecolor": self.colour, "edgecolor": "white" if self.hatch else "none", "hatch": self.hatch}


def shades_of(tasks: Sequence[str]) -> dict[str, Shade]:
    """Those of tasks: each colour in turn, then each with a hatch."""
    every = [Shade(colour, hatch) for hatch in HATCHES for colour in TASK_COLOURS]
    return dict(zip(tasks, cycle(every), strict=False))


def spans_of(events: Events) -> list[Span]:
    """What every group did and when, as far as the events tell."""
    spans = [span for event in _publishes_joined(events) for span in _spans(event)]
    return [span for span in spans if span.end > span.start + NEGLIGIBLE_S]


def pictures(run: Run) -> Iterator[Picture]:
    """The timeline, if anything happened."""
    events = run.events
    spans = spans_of(events)
    if spans:
        caption = (
            "Each bar is something a group of ranks was busy with. Red is time the simulation lost waiting; "
            "pale grey is time the sidecars had nothing to do."
        )
        figure = _draw(spans, run.tasks, events)
        columns: dict[str, list[Any]] = {
            "group": [span.group for span in spans],
            "lane": [span.lane for span in spans],
            "what": [span.what for span in spans],
            "start [s]": [span.start for span in spans],
            "end [s]": [span.end for span in spans],
        }
        yield Picture("timeline", TITLE, caption, figure, wide=True, columns=columns)


def _publishes_joined(events: Events) -> list[Event]:
    """The events, with one publish instead of those that share one among several tasks."""
    joined: list[Event] = []
    for event in events:
        last = joined[-1] if joined else None
        if (
            last is not None
            and event["event"] == last["event"] == "publish"
            and (event.get("group"), event.get("step")) == (last.get("group"), last.get("step"))
            and event["t"] < last["t"] + TOGETHER_S
        ):
            both = {key: number(last, key) + number(event, key) for key in ("pack_s", "wait_s")}
            joined[-1] = last | both | {"t": event["t"]}
        else:
            joined.append(event)
    return joined


def _spans(event: Event) -> Iterable[Span]:
    group, t, kind = str(event.get("group", "compute")), event["t"], event["event"]
    if kind == "step":
        yield Span(group, "simulation", STEP, t - number(event, "wall_s"), t)
    elif kind == "publish":
        pack, wait = number(event, "pack_s"), number(event, "wait_s")
        yield Span(group, "publish", WAIT, t - wait - pack, t - pack)
        yield Span(group, "publish", PACK, t - pack, t)
    elif kind in ("plotfile", "checkpoint"):
        what = BEHIND if event.get("asynchronous") else WRITE
        yield Span(group, "files", what, t - number(event, "write_s"), t)
    elif kind == "analysis":
        compute = number(event, "compute_s")
        start = number(event, "start", t - compute)
        lane = "analyses in situ" if group == "compute" else "analyses"
        yield Span(group, lane, str(event.get("task", "?")), start, start + compute)
    elif kind == "receive":
        begin = t - number(event, "receive_s")
        yield Span(group, "analyses", IDLE, begin - number(event, "wait_s"), begin)
        yield Span(group, "analyses", RECEIVE, begin, t)


def _draw(spans: list[Span], tasks: list[str], events: Events) -> Figure:
    lanes = _lanes(spans)
    shades = {what: Shade(colour) for what, colour in _COLOURS.items()} | shades_of(_tasks(spans, tasks))
    end = max(span.end for span in spans)
    with look():
        figure = Figure(figsize=(12.5, 1.5 + 0.5 * len(lanes)))
        axes = figure.add_subplot()
        for what, shade in shades.items():
            _bars(axes, [span for span in spans if span.what == what], lanes, shade, end)
        _label_lanes(axes, lanes)
        axes.set(xlim=(0, end), xlabel="time since the start [s]")
        axes.grid(False, axis="y")
        used = [what for what in shades if any(span.what == what for span in spans)]
        handles = [Patch(**shades[what].drawn, linewidth=0) for what in used]
        height = legend_outside(figure, handles, used, above=True, columns=min(len(handles), 8))
        above = REDSHIFTS_IN * _mark_redshifts(axes, events, end)
        axes.set_title(TITLE, pad=6.0 + POINTS * above)
        figure.set_layout_engine(Margins(top=height + above, right=GROUPS_IN))
    return figure


def _lanes(spans: list[Span]) -> list[tuple[str, str]]:
    """The lanes that hold something, the compute group first, in the order of a step."""
    order = ("simulation", "publish", "analyses in situ", "files", "analyses")
    used = {(span.group, span.lane) for span in spans}
    return sorted(used, key=lambda lane: (lane[0] != "compute", lane[0], order.index(lane[1])))


def _tasks(spans: list[Span], tasks: list[str]) -> list[str]:
    done = {span.what for span in spans} - set(_COLOURS)
    return [*(task for task in tasks if task in done), *sorted(done - set(tasks))]


def _bars(axes: Any, spans: list[Span], lanes: list[tuple[str, str]], shade: Shade, end: float) -> None:
    """Bars of one kind; each is at least a hair wide, so that nothing short disappears."""
    hair = end / 3000
    boxes = []
    for group, lane in lanes:
        y = len(lanes) - 1 - lanes.index((group, lane))
        for start, stop in _joined([span for span in spans if (span.group, span.lane) == (group, lane)], hair):
            height = 0.2 if spans[0].what == IDLE else 0.37
            boxes.append([(start, y - height), (stop, y - height), (stop, y + height), (start, y + height)])
    if boxes:
        axes.add_collection(PolyCollection(boxes, **shade.drawn, linewidths=0, antialiaseds=False))


def _joined(spans: list[Span], hair: float) -> list[tuple[float, float]]:
    """Start and end of bars, those that are less than a hair apart as one."""
    bars: list[tuple[float, float]] = []
    for span in sorted(spans, key=lambda span: span.start):
        start = max(0.0, span.start)
        stop = max(span.end, start + hair)
        if bars and start < bars[-1][1] + hair:
            bars[-1] = (bars[-1][0], max(stop, bars[-1][1]))
        else:
            bars.append((start, stop))
    return bars


def _label_lanes(axes: Any, lanes: list[tuple[str, str]]) -> None:
    axes.set_ylim(-0.6, len(lanes) - 0.4)
    axes.set_yticks(range(len(lanes)), [lane for _, lane in reversed(lanes)])
    axes.tick_params(axis="y", which="both", length=0)
    axes.minorticks_off()
    for index, (group, _) in enumerate(lanes):
        y = len(lanes) - 1 - index
        first = index == 0 or lanes[index - 1][0] != group
        if first and index > 0:
            axes.axhline(y + 0.5, color=MUTED, lw=0.6)
        if first:
            name = "compute ranks" if group == "compute" else f"{group} ranks"
            axes.text(
                1.004, y, name, transform=axes.get_yaxis_transform(), va="center", color=INK, weight="bold", size=9
            )


def _mark_redshifts(axes: Any, events: Events, end: float) -> bool:
    """Redshifts above the axis, at the times when the simulation passed them; returns whether there are such."""
    steps = [step for step in events.of("step") if "redshift" in step]
    if len(steps) < 2 or number(steps[0], "redshift") <= number(steps[-1], "redshift"):
        return False
    chosen: list[Event] = []
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        nearest = min(steps, key=lambda step: abs(step["t"] - share * end))
        if not chosen or nearest["t"] > chosen[-1]["t"] + APART * end:
            chosen.append(nearest)
    top = axes.secondary_xaxis("top")
    top.set_xticks([step["t"] for step in chosen], [f"z = {number(step, 'redshift'):.3g}" for step in chosen])
    top.tick_params(length=3, labelsize=8.5)
    top.minorticks_off()
    top.spines["top"].set_visible(False)
    return True
