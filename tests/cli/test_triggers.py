"""When tasks and files are due, through the program: every trigger, on several ranks, in transit, over a restart."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import sidestream
from calls import command, program
from configs import universe

BLAST = """simulation = "sedov"

[run]
max_steps = 24

[mesh]
cells = [32, 32, 1]
block = 8

[coupling]
sidecars = 1

[task.all]
analysis = "slice"
fields = ["pressure"]
every = 1

[output]
checkpoint = { every = 100 }
"""

BOX = (
    universe("nbody", box="8 Mpc", z_start=30, z_end=10)
    + """[task.times]
analysis = "power_spectrum"
at_time = ["150 Myr", "0.3 Gyr"]

[task.both]
analysis = "power_spectrum"
at_redshift = [20]
only_if = "redshift > 10 and max(dark_matter_density) > 0"
at_end = true

[task.late]
analysis = "power_spectrum"
when = "time >= 0.2"

[output]
checkpoint = { every = 100 }
"""
)


def finished(folder: Path, config: str, ranks: int, out: str, *words: str) -> None:
    done = program(folder, ranks, config, "--quiet", "--out", out, *words)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `all` of the blast, which has the pressure at every step."""
    folder = tmp_path_factory.mktemp("triggers")
    (folder / "blast.toml").write_text(BLAST)
    finished(folder, "blast.toml", 1, "all", "--set", "coupling.sidecars=0")
    return folder


@pytest.fixture(scope="module")
def peaks(place: Path) -> list[float]:
    """The largest pressure at each step."""
    run = sidestream.open(place / "all")
    return [float(np.max(run.result("all", step)["pressure"])) for step in run.steps("all")]


@pytest.fixture(scope="module")
def times(place: Path) -> list[float]:
    run = sidestream.open(place / "all")
    return [float(run.result("all", step).attrs["time"]) for step in run.steps("all")]


def tasks(peaks: list[float]) -> str:
    # Below the pressure of step 10: false at first, true from the step on at which the peak has come down.
    limit = repr(peaks[10])
    files = f'plotfile = {{ format = "nyx", when = "max(pressure) < {limit}" }}'
    return (
        BLAST.replace("[output]", f"[output]\n{files}")
        + f"""
[task.start]
analysis = "slice"
at_start = true

[task.end]
analysis = "slice"
at_end = true

[task.fall]
analysis = "slice"
when = "max(pressure) < {limit}"

[task.some]
analysis = "slice"
every = 3
only_if = "max(pressure) < {limit} or step == 3"

[task.either]
analysis = "slice"
every = 6
when = "max(pressure) < {limit}"

[task.written]
write = "plotfile"
format = "raw"
variables = ["pressure"]
every = 3
only_if = "max(pressure) < {limit} or step == 3"
"""
    )


def expected(peaks: list[float]) -> dict[str, list[int]]:
    below = [peak < peaks[10] for peak in peaks]
    rises = [step for step, now in enumerate(below) if now and (step == 0 or not below[step - 1])]
    return {
        "start": [0],
        "end": [len(peaks) - 1],
        "fall": rises,
        "some": [step for step in range(0, len(peaks), 3) if below[step] or step == 3],
        "either": sorted({*range(0, len(peaks), 6), *rises}),
    }


def files_of(run: Path) -> dict[str, list[int]]:
    """The steps at which plot files were written, for the run and by a task."""
    return {
        name: sorted(int(path.name.split(".")[0].removeprefix("plt")) for path in folder.glob("plt*"))
        for name, folder in (("run", run), ("written", run / "written"))
    }


def steps_of(run: Path) -> dict[str, list[int]]:
    opened = sidestream.open(run)
    return {task: list(opened.steps(task)) for task in opened.tasks if task not in ("all", "written")}


@pytest.mark.parametrize(("ranks", "transport"), [(1, "in-situ"), (3, "in-situ"), (2, "in-transit"), (3, "in-transit")])
def test_conditions_start_and_end_are_due_alike_on_any_ranks(
    place: Path, peaks: list[float], ranks: int, transport: str
) -> None:
    (place / "tasks.toml").write_text(tasks(peaks).replace("[task.all]", f'[task.all]\ntransport = "{transport}"'))
    for task in ("start", "end", "fall", "some", "either"):
        text = (place / "tasks.toml").read_text()
        (place / "tasks.toml").write_text(text.replace(f"[task.{task}]", f'[task.{task}]\ntransport = "{transport}"'))

    out = f"{transport}-{ranks}"
    finished(place, "tasks.toml", ranks, out)

    assert len(expected(peaks)["fall"]) >= 1
    assert steps_of(place / out) == expected(peaks)
    assert files_of(place / out) == {"run": expected(peaks)["fall"], "written": expected(peaks)["some"]}


@pytest.mark.parametrize("cut", [5, 10, 15])
def test_a_restart_is_due_where_the_run_would_have_been(place: Path, peaks: list[float], cut: int) -> None:
    (place / "cut.toml").write_text(tasks(peaks))
    out = f"cut-{cut}"
    finished(place, "cut.toml", 1, out, "--set", f"run.max_steps={cut}", "--set", "coupling.sidecars=0")
    finished(place, "cut.toml", 2, out, "--restart", "--set", "coupling.sidecars=0")

    found = steps_of(place / out)
    assert found.pop("end") == [cut, len(peaks) - 1]  # `max_steps` ends a run
    assert found == {task: steps for task, steps in expected(peaks).items() if task != "end"}
    assert files_of(place / out) == {"run": expected(peaks)["fall"], "written": expected(peaks)["some"]}


def test_a_run_lands_on_times(place: Path, times: list[float]) -> None:
    wanted = [0.5 * (times[4] + times[5]), 0.3 * times[11] + 0.7 * times[12]]
    text = BLAST + f'\n[task.times]\nanalysis = "slice"\nat_time = {wanted}\n'
    text = text.replace("[output]", f'[output]\nplotfile = {{ format = "nyx", at_time = {wanted[:1]}, at_end = true }}')
    (place / "times.toml").write_text(text)
    finished(place, "times.toml", 2, "times", "--set", "coupling.sidecars=0")

    run = sidestream.open(place / "times")
    assert [run.result("times", step).attrs["time"] for step in run.steps("times")] == wanted
    plots = sorted(int(path.name[3:]) for path in (place / "times").glob("plt*"))
    assert plots == [run.steps("times")[0], run.steps("all")[-1]]


def test_wall_time_is_the_same_on_all_ranks(place: Path) -> None:
    text = BLAST + '\n[task.clock]\nanalysis = "slice"\ntransport = "in-transit"\nevery_wall_time = "0.005 s"\n'
    text = text.replace("every = 100 }", 'every_wall_time = "0.02 s", format = "enzo", keep = 0 }')
    (place / "clock.toml").write_text(text.replace("= 24", "= 1000"))
    finished(place, "clock.toml", 3, "clock")

    run = sidestream.open(place / "clock")
    assert 1 <= len(run.steps("clock")) < 1000
    # Each of the two ranks that compute has written its file of every checkpoint.
    written = [event["step"] for event in run.events.of("checkpoint_committed")]
    assert written
    for step in written:
        assert len(list((place / "clock").glob(f"*{step:05}/*.cpu0*"))) == 2, step


def test_wall_time_goes_on_over_a_restart(place: Path) -> None:
    text = BLAST + '\n[task.clock]\nanalysis = "slice"\nevery_wall_time = "1000 h"\n\n[sedov]\nend = 1000\n'
    text = text.replace("sidecars = 1", "sidecars = 0").replace("every = 100 }", "at_end = true }")
    text = text.replace("every = 1\n", "every = 1000\n")  # of `task.all`
    (place / "waits.toml").write_text(text)
    finished(place, "waits.toml", 2, "waits", "--set", "run.max_steps=300")
    steps = sidestream.open(place / "waits").events.of("step")
    waited_s = steps[-1]["t"] - steps[0]["t"]  # and more: nothing was due by the clock

    for period, due in ((f"{0.5 * waited_s} s", [301]), ("1000 h", [])):
        shutil.rmtree(place / "goes-on", ignore_errors=True)
        shutil.copytree(place / "waits", place / "goes-on")
        words = ("--set", "run.max_steps=301", "--set", f"task.clock.every_wall_time={period}")
        finished(place, "waits.toml", 2, "goes-on", "--restart", *words)

        assert steps_of(place / "goes-on").get("clock", []) == due


def test_times_and_redshifts_of_a_universe(tmp_path: Path) -> None:
    (tmp_path / "box.toml").write_text(BOX)
    finished(tmp_path, "box.toml", 2, "o")
    finished(tmp_path, "box.toml", 1, "cut", "--set", "run.max_steps=15")
    finished(tmp_path, "box.toml", 2, "cut", "--restart")

    run, cut = sidestream.open(tmp_path / "o"), sidestream.open(tmp_path / "cut")
    ages = [run.result("times", step).attrs["time_gyr"] for step in run.steps("times")]
    assert ages == pytest.approx([0.15, 0.3], rel=1e-9)
    assert [run.result("both", step).attrs["redshift"] for step in run.steps("both")] == [20.0]
    late = run.result("late", run.steps("late")[0]).attrs["time_gyr"]
    before = run.events.of("step")[run.steps("late")[0] - 1]["time_gyr"]
    assert len(run.steps("late")) == 1 and before < 0.2 <= late
    for task in run.tasks:
        ends = [15] if task == "both" else []  # `max_steps` ends a run
        assert list(cut.steps(task)) == [*ends, *run.steps(task)], task


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("when=max(presure) > 1", ["there is no quantity `presure`", "column 5", "did you mean `pressure`?"]),
        ("only_if=max(density)", ["neither true nor false"]),
        ("when=max(pressure > 1", ["a `)` is missing", "column 17"]),
        ("when=max(pressure > 1) > 0", ["takes the name of one quantity"]),
        ("when=redshift < 3", ["this simulation has no redshift"]),
        ("at_redshift=[3]", ["this simulation has no redshift", "`at_time`"]),
        ("at_time=['1 Gyr']", ["must be a number"]),
        ("every_wall_time=10", ["has no unit"]),
        ("at_ende=true", ["did you mean `at_end`?"]),
    ],
)
def test_wrong_keys_are_told_before_the_run(place: Path, key: str, words: list[str]) -> None:
    done = command(place, "check", "blast.toml", "-n", 2, "--set", f"task.all.{key}")

    assert done.returncode == 2
    for word in words:
        assert word in done.stderr


def test_check_says_when_tasks_are_due(place: Path, peaks: list[float]) -> None:
    (place / "words.toml").write_text(tasks(peaks))
    done = command(place, "check", "words.toml", "-n", 2)

    assert "task end: slice, in-situ, at the end\n" in done.stdout
    assert f"every 6 steps or when `max(pressure) < {peaks[10]!r}` becomes true" in done.stdout
