"""`sidestream attack`: a short attack finds nothing, and what is broken on purpose is found, with its number."""

from __future__ import annotations

import json
import random
import shutil
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures import CommandLine
from sidestream.attack import allocations
from sidestream.attack.campaign import Campaign
from sidestream.attack.damage import LOG, damage
from sidestream.attack.grammar import WAYS, read_grammar
from sidestream.attack.jobs import Ended
from sidestream.attack.kinds import KINDS
from sidestream.attack.small_runs import SUBJECTS
from sidestream.attack.subjects import RUN, Whole, checkpoints, go_on, step_of, whole
from sidestream.attack.trial import Failure, Kind, Trial
from sidestream.launch.launcher import find_program
from sidestream.runs.run import Run

LONG = {"power", "damage", "allocations", "calls", "limits", "stops", "nodes"}  # quick ones stand for them
SHORT = {"power": 2, "damage": 20, "configurations": 100}  # trials; of the other kinds one


def marks(kind: Kind) -> tuple[pytest.MarkDecorator, ...]:
    return (pytest.mark.slow,) if kind.name in LONG else ()


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=marks(kind), id=kind.name) for kind in KINDS])
def test_a_short_attack_finds_nothing(kind: Kind, tmp_path: Path) -> None:
    trials = SHORT.get(kind.name, 1)
    (tally,) = Campaign([kind], tmp_path, trials=trials).run(print)

    assert not tally.failures
    assert tally.tried == trials
    assert [path.name for path in (tmp_path / kind.name).iterdir()] == ["shared"], "what trials left is removed"


def test_a_failure_is_told_with_its_number_from_which_it_repeats(tmp_path: Path) -> None:
    def refuse_some(numbers: random.Random, folder: Path) -> str:
        (folder / "evidence").touch()
        if numbers.random() < 0.5:
            raise Failure("the planted one")
        return "well"

    planted = Kind("planted", "fails where a number is below a half", 8, lambda _shared: refuse_some)
    (first,) = Campaign([planted], tmp_path / "first").run(print)

    assert 0 < len(first.failures) < 8
    for number in range(1, 9):
        (again,) = Campaign([planted], tmp_path / "again", seed=number, trials=1).run(print)
        assert (number in again.failures) == (number in first.failures)
    left = {path.parent.name for path in (tmp_path / "first").glob("planted/*/evidence")}
    assert left == {str(number) for number in first.failures}


@pytest.fixture(scope="module")
def sedov(tmp_path_factory: pytest.TempPathFactory) -> tuple[Whole, Path]:
    """An undisturbed run and its folder."""
    folder = tmp_path_factory.mktemp("sedov")
    return whole(SUBJECTS[1], folder), folder


def test_a_checkpoint_that_the_log_tells_of_and_that_is_gone_is_a_failure(
    sedov: tuple[Whole, Path], tmp_path: Path
) -> None:
    undisturbed, folder = sedov
    shutil.copytree(folder / RUN, tmp_path / RUN)
    checkpoints(tmp_path / RUN)[-1].unlink()

    with pytest.raises(Failure, match="tells of a committed checkpoint of step 12, and the newest is of step 9"):
        go_on(undisturbed, tmp_path)


def test_a_checkpoint_that_was_due_and_never_committed_is_a_failure(sedov: tuple[Whole, Path], tmp_path: Path) -> None:
    undisturbed, folder = sedov
    shutil.copytree(folder / RUN, tmp_path / RUN)
    log = tmp_path / RUN / "events.jsonl"
    lines = [line for line in log.read_text().splitlines() if json.loads(line)["event"] != "checkpoint_committed"]
    log.write_text("\n".join(lines) + "\n")
    for path in checkpoints(tmp_path / RUN):
        path.unlink()

    with pytest.raises(Failure, match="step 12 was reached and the checkpoint of step 9 was never committed"):
        go_on(undisturbed, tmp_path)


def test_an_older_checkpoint_that_comes_back_is_a_failure(sedov: tuple[Whole, Path], tmp_path: Path) -> None:
    undisturbed, folder = sedov
    shutil.copytree(folder / RUN, tmp_path / RUN)
    newest = checkpoints(tmp_path / RUN)[-1]
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)

    with pytest.raises(Failure, match=r"chk00009\.\w+ came back, and chk00012\.\w+ was committed"):
        go_on(undisturbed, tmp_path)
    assert step_of(newest) == 12


def test_an_end_with_another_bit_is_a_failure(sedov: tuple[Whole, Path]) -> None:
    undisturbed, folder = sedov
    name, state = undisturbed.checkpoint
    field = max(state, key=lambda key: len(state[key]))
    other = replace(undisturbed, checkpoint=(name, state | {field: b"\1" + state[field][1:]}))

    undisturbed.expect_same(folder)
    with pytest.raises(Failure, match="differs from that of the undisturbed run"):
        other.expect_same(folder)


def test_damage_that_is_not_noticed_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    result = tmp_path / "00001.nc"
    monkeypatch.setattr("sidestream.attack.damage._originals", lambda _: {"result": _result(result)})
    trial = damage.prepare(shared)
    monkeypatch.setattr("sidestream.attack.damage.do_damage", lambda path, _: _result(path, 2.0) and "another number")

    with pytest.raises(Failure, match="result, another number: read as something else"):
        trial(random.Random(1), shared)


def log_under_attack(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    lines = [b'{"event":"step","t":%d.5,"step":%d' % (step, step) for step in range(6)]
    log = folder / "events.jsonl"
    log.write_bytes(b"".join(b'%s,"crc32":"%08x"}\n' % (line, zlib.crc32(line)) for line in lines))
    monkeypatch.setattr("sidestream.attack.damage._originals", lambda _: {LOG: log})
    return damage.prepare(folder)


def test_a_damaged_event_log_is_refused_or_that_of_a_run_that_ended_sooner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copies").mkdir()
    trial = log_under_attack(tmp_path, monkeypatch)

    ends = {trial(random.Random(number), tmp_path / "copies").partition(": ")[2] for number in range(150)}

    assert {"refused by name", "read as that of a run that was killed sooner"} <= ends
    assert ends <= {"refused by name", "read as that of a run that was killed sooner", "read right"}


def test_a_digit_of_an_event_log_that_is_not_noticed_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copies").mkdir()
    trial = log_under_attack(tmp_path, monkeypatch)
    monkeypatch.setattr(
        "sidestream.attack.damage.do_damage",
        lambda path, _: path.write_bytes(b'{"event":"step","t":9.5}\n') and "another digit",
    )

    with pytest.raises(Failure, match="event log, another digit: read as something else"):
        trial(random.Random(1), tmp_path / "copies")


def _result(path: Path, value: float = 1.0) -> Path:
    import h5py

    with h5py.File(path, "w") as file:
        file["power"] = [value]
    return path


def test_analyses_to_which_memory_is_refused_are_left_out_and_all_others_are_whole(tmp_path: Path) -> None:
    subject = next(subject for subject in allocations.SUBJECTS if subject.name == "cosmology in-situ on 1")
    undisturbed = whole(subject, tmp_path / "whole")
    folder = tmp_path / "refused"
    folder.mkdir()

    allocations.refuse_time_and_again(undisturbed, random.Random(1), folder)

    refused = json.loads((folder / "count.0.json").read_text())["refused"]
    lost = Run(folder / RUN).events.of("analysis_failed")
    assert refused >= len(lost) > len({event["task"] for event in lost}) > 5


def test_an_analysis_whose_failure_is_not_told_is_a_failure(tmp_path: Path) -> None:
    subject = next(subject for subject in allocations.SUBJECTS if subject.name == "turbulence in-situ on 1")
    undisturbed = whole(subject, tmp_path)

    with pytest.raises(Failure, match="not all that is lost is told of"):
        allocations.expect_told(Ended(1, "warning: task `other`, step 2: not enough memory"), {"differences/00002.nc"})
    (tmp_path / RUN / "results" / "differences" / "00004.nc").unlink()
    undisturbed.expect_same(tmp_path, {"differences/00004.nc"})
    with pytest.raises(Failure, match="missing or differ: differences/00004.nc"):
        undisturbed.expect_same(tmp_path, {"differences/00008.nc"})


def test_the_grammar_makes_configurations_of_every_simulation_and_analysis() -> None:
    grammar = read_grammar()

    made = "\n".join(grammar.configuration(random.Random(number)) for number in range(300))

    assert all(f'simulation = "{name}"' in made for name in grammar.simulations)
    assert all(f'analysis = "{name}"' in made for name in grammar.tasks)
    assert all(f'criterion = "{name}"' in made for name in grammar.criteria)
    assert all(f"{key} = {value}" in made for way in WAYS for key, value in way.items() if key != "files")


def test_wrong_words_are_refused(sidestream: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()

    unknown = sidestream("attack", "--only", "kill", "--folder", tmp_path / "new")
    full = sidestream("attack", "--folder", tmp_path)

    assert unknown.returncode == full.returncode == 2
    assert "there is no kind of trials `kill`" in unknown.stderr
    assert "the scratch folder is not empty" in full.stderr
    assert (tmp_path / "mine").exists()


def test_the_table_counts_and_json_says_the_same(sidestream: CommandLine, tmp_path: Path) -> None:
    words = ("attack", "--only", "configurations", "--trials", "20")
    program = str(find_program())

    table = sidestream(*words, "--folder", tmp_path / "table", SIDESTREAM_RUN=program)
    (told,) = json.loads(sidestream(*words, "--json", "--folder", tmp_path / "json", SIDESTREAM_RUN=program).stdout)

    assert table.returncode == 0
    assert told["tried"] == told["survived"] == sum(told["ends"].values()) == 20
    assert "refused with a place" in table.stdout
