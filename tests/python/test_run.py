"""Opening runs: results over steps, events, status, and what is said when something is missing or damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import sidestream
import synthetic
from holding import held
from sidestream.runs.events import parse_line, read_events


def append(log: Path, *events: dict) -> None:
    with log.open("a") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)


def test_a_run_knows_its_tasks_steps_and_configuration(finished_run: Path) -> None:
    run = sidestream.open(finished_run)

    assert run.tasks == list(synthetic.TASKS)
    assert run.steps("halos") == [10, 20, 30, 40, 50, 60]
    assert run.config["mesh"]["cells"] == [64, 64, 64]
    assert run.status == "finished"
    assert "halos" in run
    assert "halo" not in run


def test_a_run_is_a_mapping_of_its_tasks(finished_run: Path) -> None:
    run = sidestream.open(finished_run)

    assert list(run) == run.keys() == run.tasks
    assert len(run) == len(run.tasks)
    assert all(task in run for task in run)


def test_halos_of_all_steps_are_below_each_other_with_their_step_and_redshift(finished_run: Path) -> None:
    run = sidestream.open(finished_run)

    halos = run["halos"]

    for step in run.steps("halos"):
        of_step = halos.isel(halo=np.flatnonzero(halos["step"] == step))
        single = run.result("halos", step)
        np.testing.assert_array_equal(of_step["id"], single["id"])
        np.testing.assert_array_equal(of_step["mass"], single["mass"])
        assert set(of_step["redshift"].values) <= {single.attrs["redshift"]}
    assert halos["mass"].attrs["units"] == "Msun"


def test_a_step_without_halos_adds_no_rows(finished_run: Path) -> None:
    run = sidestream.open(finished_run)

    assert run.result("halos", 10).sizes["halo"] == 0
    assert 10 not in run["halos"]["step"]


def test_results_of_fixed_size_are_stacked_along_step(finished_run: Path) -> None:
    spectra = sidestream.open(finished_run)["spectra"]

    assert dict(spectra.sizes) == {"step": 6, "k_bin": 32}
    assert spectra["k"].dims == ("k_bin",)
    assert spectra["gas_density_power"].dims == ("step", "k_bin")
    np.testing.assert_allclose(spectra["redshift"][-1], 2.0)
    assert np.all(np.diff(spectra["time_gyr"]) > 0)
    assert spectra["gas_density_power"].sel(step=60).attrs["units"] == "(Mpc/h)^3"


def test_attributes_that_differ_between_steps_are_not_those_of_the_whole(finished_run: Path) -> None:
    attributes = sidestream.open(finished_run)["spectra"].attrs

    assert attributes["hubble"] == synthetic.HUBBLE
    assert "redshift" not in attributes
    assert "step" not in attributes


def test_numbers_among_them_are_variables_over_the_steps(own_run: Path) -> None:
    steps = sidestream.open(own_run).steps("spectra")
    for step, shots in zip(steps, (7.5, 8.5, 9.5, 10.5, 11.5), strict=False):
        own = synthetic.spectra(1.0)
        synthetic.write_result(
            own_run, "shots", "power_spectrum", step, 1.0, own, shot_noise=shots, same=2.0, said=f"at {step}"
        )
    synthetic.write_result(own_run, "shots", "power_spectrum", steps[-1] + 1, 1.0, own, same=2.0)

    joined = sidestream.open(own_run)["shots"]

    count = min(5, len(steps))
    assert joined["shot_noise"].dims == ("step",)
    np.testing.assert_array_equal(joined["shot_noise"], [*np.arange(7.5, 7.5 + count), np.nan])
    assert joined.attrs["same"] == 2.0
    assert "said" not in joined
    assert "said" not in joined.attrs


def test_axes_that_move_from_step_to_step_are_stacked_too(own_run: Path) -> None:
    table = synthetic.spectra(0.5)
    table["k"] = (("k_bin",), 2 * table["k"][1], "h/Mpc")
    synthetic.write_result(own_run, "spectra", "power_spectrum", 30, 1.0, table)

    spectra = sidestream.open(own_run)["spectra"]

    assert spectra["k"].dims == ("step", "k_bin")
    assert "step" not in spectra["modes"].dims


def test_the_last_result_is_step_minus_one(finished_run: Path) -> None:
    run = sidestream.open(finished_run)

    assert run.result("halos", -1).attrs["step"] == 60


def test_a_single_result_file_opens_as_a_dataset(finished_run: Path) -> None:
    dataset = sidestream.open(finished_run / "results" / "pdfs" / "000060.nc")

    assert dataset.attrs["analysis"] == "pdf"
    assert "overdensity" in dataset.coords


def test_events_are_in_order_of_time_and_know_their_group(finished_run: Path) -> None:
    events = sidestream.open(finished_run).events

    times = [event["t"] for event in events]
    assert times == sorted(times)
    assert {event["group"] for event in events} == {"compute", "sidecar"}
    assert len(events.of("analysis", task="halos")) == 6
    assert events.of("analysis", task="halos").sum("compute_s") == pytest.approx(6 * 2.4)
    assert len(events.to_dataframe()) == len(events)


def test_a_torn_last_line_of_the_log_is_left_out(own_run: Path) -> None:
    whole = len(sidestream.open(own_run).events)
    with (own_run / "events.jsonl").open("a") as file:
        file.write('{"event": "step", "t": 1')

    assert len(sidestream.open(own_run).events) == whole


@pytest.mark.parametrize(
    "line", ["", "{", '["event"]', '{"event": 3}', "\x00" * 9, '{"event": "st\udcffep"', "[" * 100000]
)
def test_a_damaged_line_of_the_log_is_said(own_run: Path, line: str) -> None:
    log = own_run / "events.jsonl"
    whole = sidestream.open(own_run).events
    log.write_bytes(line.encode(errors="surrogateescape") + b"\n" + log.read_bytes())

    events = sidestream.open(own_run).events

    assert "a line of the event log cannot be read" in events.of("warning")[-1]["message"]
    assert events.of("warning")[-1]["where"] == f"{log}:1"
    assert len(events) == len(whole) + 1


LINE = b'{"event":"step","t":1.5,"step":3,"crc32":"ec50f0b7"}'


def test_a_bit_of_the_log_that_is_another_is_said() -> None:
    assert parse_line(LINE) == {"event": "step", "t": 1.5, "step": 3}
    for bit in range(8 * len(LINE)):
        damaged = bytearray(LINE)
        damaged[bit // 8] ^= 1 << bit % 8
        assert parse_line(bytes(damaged)) is None, damaged


def test_damage_is_told_with_the_first_line_of_it(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_bytes(b"\n".join([LINE, LINE, LINE.replace(b"3", b"4"), LINE, LINE.replace(b"5", b"6"), LINE, b""]))

    warnings = read_events(tmp_path).of("warning")
    assert [warning["where"] for warning in warnings] == [f"{log}:3"]
    assert "2 lines" in warnings[0]["message"]


def test_a_log_that_an_earlier_version_began_goes_on_with_checksums(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b'{"event": "run_start", "t": 0.0}\n' + LINE + b"\n")

    assert [event["event"] for event in read_events(tmp_path)] == ["run_start", "step"]


@pytest.mark.parametrize("value", ["1e999", "NaN", "-Infinity", "1" + "0" * 400, "{}", '"3"', "null"])
def test_numbers_of_the_log_that_are_none_are_not_taken(own_run: Path, value: str) -> None:
    with (own_run / "events.jsonl").open("a") as file:
        file.write(f'{{"event": "step", "t": {value}, "start": {value}, "step": {value}}}\n')

    assert all(np.isfinite(event["t"]) for event in sidestream.open(own_run).events)


def test_the_parts_of_a_restarted_run_follow_each_other_in_time(own_run: Path) -> None:
    before = sidestream.open(own_run).events
    append(own_run / "events.jsonl", {"event": "run_start", "t": 0.0}, {"event": "step", "t": 2.0, "step": 21})
    append(own_run / "events.sidecar.jsonl", {"event": "analysis", "t": 1.5, "start": 1.0, "task": "halos"})

    after = sidestream.open(own_run).events

    end = before[-1]["t"]
    assert after[-1]["step"] == 21
    assert after[-1]["t"] == pytest.approx(end + 2.0)
    assert after[-2]["start"] == pytest.approx(end + 1.0)


def test_a_run_whose_folder_is_held_is_running_and_was_aborted_when_it_is_not(tmp_path: Path) -> None:
    folder = synthetic.write_run(tmp_path / "alive", steps=10, status=None)

    with held(folder):
        assert sidestream.open(folder).status == "running"

    assert (folder / ".lock").read_text(), "what held it could not say that it ended"
    assert sidestream.open(folder).status == "aborted"


def test_a_run_that_was_gone_on_with_is_running_whatever_the_end_before(own_run: Path) -> None:
    with held(own_run):
        assert sidestream.open(own_run).status == "running"

    assert sidestream.open(own_run).status == "finished"


def test_asking_does_not_hinder_a_run_that_begins(own_run: Path) -> None:
    (own_run / ".lock").touch(mode=0o444)
    run = sidestream.open(own_run)

    assert run.status == "finished"
    with held(own_run):
        assert run.status == run.status == "running"


@pytest.mark.parametrize("status", ["finished", "interrupted", "stopped"])
def test_the_end_of_the_log_says_how_the_run_ended(tmp_path: Path, status: str) -> None:
    assert sidestream.open(synthetic.write_run(tmp_path / "r", steps=10, status=status)).status == status


def test_a_missing_run_is_an_error_that_says_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(sidestream.Error, match="no such run") as caught:
        sidestream.open(tmp_path / "nowhere")

    assert caught.value.where.endswith("nowhere")
    assert "sidestream run" in caught.value.hint


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sidestream.Error, match="neither a run nor a plot file"):
        sidestream.open(tmp_path)


def test_a_mistyped_task_names_the_nearest_one(finished_run: Path) -> None:
    with pytest.raises(sidestream.Error, match="no task `halo`") as caught:
        sidestream.open(finished_run)["halo"]

    assert caught.value.hint == "did you mean `halos`?"


def test_a_step_without_result_names_those_that_have_one(finished_run: Path) -> None:
    with pytest.raises(sidestream.Error, match="no result for step 11") as caught:
        sidestream.open(finished_run).result("halos", 11)

    assert "10, 20, 30" in caught.value.hint


@pytest.mark.parametrize("kept", [0, 7, 100, 3000])
def test_a_torn_result_is_an_error_that_names_the_file(own_run: Path, kept: int) -> None:
    path = own_run / "results" / "halos" / "000020.nc"
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(sidestream.Error, match="cannot be read") as caught:
        sidestream.open(own_run)["halos"]

    assert caught.value.where == str(path)


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("plt00020", "`sidestream analyze {run}/plt00020 --task halos --out DIR` makes it anew"),
        ("snapshots/plt00020", "delete it, and `sidestream analyze {run}` makes it anew"),
        (None, "delete it, and `sidestream run ... --restart` computes it again"),
    ],
)
def test_a_damaged_result_is_told_with_what_makes_it_anew(own_run: Path, file: str | None, command: str) -> None:
    shutil.rmtree(own_run / "plt00020")
    if file is not None:
        (own_run / file).mkdir(parents=True)
    path = own_run / "results/halos/000020.nc"
    path.write_bytes(path.read_bytes()[:2000])

    with pytest.raises(sidestream.Error, match="cannot be read") as problem:
        sidestream.open(own_run).result("halos", 20)

    assert command.format(run=own_run) in problem.value.hint


def test_a_damaged_configuration_is_an_error_that_says_where(own_run: Path) -> None:
    (own_run / "config.toml").write_text("[mesh\n")

    with pytest.raises(sidestream.Error, match="cannot be read") as caught:
        sidestream.open(own_run).tasks  # noqa: B018

    assert "config.toml" in caught.value.where


def test_temporary_files_of_a_run_going_on_are_no_results(own_run: Path) -> None:
    (own_run / "results" / "halos" / ".000030.nc.part").write_bytes(b"half")
    (own_run / "results" / "halos" / "000030.nc.tmp").write_bytes(b"half")

    assert sidestream.open(own_run).steps("halos") == [10, 20]


def test_an_error_reads_as_three_lines_and_back() -> None:
    error = sidestream.Error("it is broken", "a.nc", "mend it")

    assert str(error) == "it is broken\n  --> a.nc\nhint: mend it"
    again = sidestream.Error.from_text(f"error: {error}")
    assert (again.what, again.where, again.hint) == ("it is broken", "a.nc", "mend it")
