"""Where a run stands: how long it still takes, how its steps go, and what its sidecars are at."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import pytest

import sidestream
import sidestream.study.watching
import synthetic
from holding import held
from sidestream.runs.pace import Left, Pace
from sidestream.runs.progress import Progress


def paced(done_at: Callable[[float], float], times: list[float]) -> Pace:
    pace = Pace()
    for time in times:
        pace.take(time, done_at(time))
    return pace


def test_even_steps_have_one_number() -> None:
    left = paced(lambda t: t / 200.0, [float(t) for t in range(51)]).left(50.0)

    assert left == Left(pytest.approx(150.0), pytest.approx(150.0))
    assert str(left) == "2 min 30 s"


@pytest.mark.parametrize(
    ("done_at", "end_s"),
    [
        pytest.param(lambda t: (t / 400.0) ** 0.6, 400.0, id="slower and slower, as structures form"),
        pytest.param(lambda t: (t / 400.0) ** 1.5, 400.0, id="faster and faster"),
        pytest.param(lambda t: t / 400.0 if t <= 100 else 0.25 + 0.75 * (t - 100) / 900, 1000.0, id="slower at once"),
    ],
)
def test_the_end_lies_within_the_range_that_was_told(done_at: Callable[[float], float], end_s: float) -> None:
    for share in (0.3, 0.5, 0.7, 0.9):
        now = share * end_s
        left = paced(done_at, [now * i / 60 for i in range(61)]).left(now)

        assert left is not None
        assert 0.9 * left.least_s <= end_s - now <= 1.1 * left.most_s, f"{share}: {left}"
        assert left.most_s < 6.0 * left.least_s, "so wide a range says nothing"


def test_steps_of_unequal_length_do_not_mislead() -> None:
    lengths = [1.0, 5.0, 1.0, 1.0] * 15
    times = [0.0, *accumulate(lengths)]
    left = paced(lambda t: t / 240.0, times).left(times[-1])

    assert left is not None
    assert left.least_s == pytest.approx(240.0 - times[-1], rel=0.1)
    assert left.most_s == pytest.approx(240.0 - times[-1], rel=0.1)


def test_a_step_that_takes_long_makes_the_end_later() -> None:
    pace = paced(lambda t: t / 100.0, [float(t) for t in range(21)])

    within, late = pace.left(20.5), pace.left(60.0)

    assert within == Left(pytest.approx(79.5), pytest.approx(79.5))
    assert late is not None and late.least_s > 100.0


def test_nobody_tells_the_end_before_two_steps() -> None:
    pace = Pace()
    assert pace.left(0.0) is None
    pace.take(1.0, 0.0)
    assert pace.left(2.0) is None


def test_a_restart_counts_from_where_it_began() -> None:
    left = paced(lambda t: 0.5 + t / 100.0, [0.0, 1.0, 5.0, 10.0]).left(10.0)

    assert left is not None
    assert left.least_s == pytest.approx(40.0) == left.most_s


def test_very_many_steps_are_thinned_and_tell_the_same() -> None:
    pace = paced(lambda t: t / 1e5, [float(t) for t in range(50001)])

    assert len(pace._times) <= 513
    assert str(pace.left(50000.0)) == "13 h 53 min"


@pytest.mark.parametrize(
    ("left", "text"), [(Left(100.0, 120.0), "1 min 50 s"), (Left(60.0, 300.0), "60 s to 5 min 00 s")]
)
def test_the_range_is_told_where_it_is_wide(left: Left, text: str) -> None:
    assert str(left) == text


class Clock:
    """One that stands still until it is set."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


def followed(clock: Clock) -> Progress:
    progress = Progress(clock=clock)
    for step in range(1, 13):
        moment = {"step": step, "redshift": 10.0 - 0.1 * step}
        progress.take({"event": "step", "t": float(step), "progress": step / 100, **moment})
        if step % 4 == 0:
            sent = {"event": "publish", "t": float(step), "task": "halos", "transport": "in-transit", "action": "sent"}
            progress.take({**sent, **moment, "bytes": 21e6, "wait_s": 0.1})
    return progress


def test_the_line_tells_what_sidecars_are_at_what_waits_and_how_far_they_are_behind() -> None:
    clock = Clock()
    progress = followed(clock)
    assert progress.headline == "step 12  z 8.8"
    assert progress.details == (
        "12 %  1 s a step  88 s left  sidecars: idle, 3 waiting (63 MB), 8 steps behind  waited 0.3 s"
    )

    progress.take({"event": "receive", "t": 12.0, "group": "sidecar", "step": 4})
    begun = {"event": "analysis_begun", "t": 12.0, "group": "sidecar", "step": 4}
    progress.take({**begun, "task": "halos", "analysis": "halos"})
    clock.time += 1.5

    assert "sidecars: halos of step 4 (1.5 s), 2 waiting (42 MB), 8 steps behind" in progress.details


def test_the_line_tells_that_no_step_ends_and_what_the_ranks_are_at() -> None:
    clock = Clock()
    progress = followed(clock)
    progress.take({"event": "checkpoint_begun", "t": 12.0, "step": 12})
    clock.time += 20.0

    assert "writing the checkpoint of step 12  no step for 20 s" in progress.details

    progress.take({"event": "checkpoint", "t": 33.0, "step": 12, "path": "chk00012", "write_s": 20.0})
    assert "writing" not in progress.details


def test_a_publish_that_gave_way_or_came_after_its_receipt_does_not_wait() -> None:
    progress = followed(Clock())
    progress.take({"event": "withdrawn", "t": 12.0, "task": "halos", "transport": "in-transit", "step": 4})
    progress.take({"event": "receive", "t": 12.0, "group": "sidecar", "step": 12})
    sent = {"event": "publish", "t": 12.0, "task": "other", "transport": "in-transit", "action": "sent", "step": 12}
    progress.take(sent)

    assert "sidecars: idle  " in progress.details


def test_a_run_is_watched_from_a_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = synthetic.write_run(tmp_path / "demo", steps=20)

    last = sidestream.open(folder).watch()

    assert str(last) == "step 20  z 2  finished"
    assert "step 20  z 2  finished" in capsys.readouterr().err
    assert "<progress" in last._repr_html_()


def test_a_run_that_goes_on_is_watched_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = synthetic.write_run(tmp_path / "demo", steps=20, status=None)
    seen: list[str] = []
    with held(folder):
        watching = sidestream.study.watching.Watching(sidestream.open(folder))
        assert watching.update()
        seen.append(str(watching))
    (folder / ".lock").unlink(missing_ok=True)

    assert not watching.update()
    assert seen[0].startswith("step 20  z 2  100 %")
