"""`sidestream archive`: copies that are whole or go on, by folder and by ssh; damage is named; parts come back."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from calls import program, running
from fixtures import CommandLine
from sidestream.archive import checking, ownership, storing
from sidestream.archive.manifest import Part, manifest_of
from sidestream.archive.place import Place
from sidestream.error import Error
from tiers import slow

DATA = Path(__file__).parents[1] / "data"
LARGE, LARGE_BYTES = "plt00002/large file", 12_000_000
THROUGH = 6_000_000  # what a link lets through before it is cut
# What stands for ssh: the same machine, in a shell of its own. A file `link` tells what becomes of what rsync sends, or
# that all is to be kept that comes back.
SSH = """#!/bin/sh
while [ "$1" != "--" ] && [ "${1#-}" != "$1" ]; do if [ "$1" = -o ]; then shift; fi; shift; done
if [ "$1" = "--" ]; then shift; fi
host=$1; shift
if [ "$1" = "--" ]; then shift; fi
link=$(cat "$LINK" 2>/dev/null)
case "$link $*" in
  *--server*|kept*) ;;
  *) link= ;;
esac
case "$link" in
  kept) sh -c "$*" | tee -a "$LINK.back"; exit ;;
  cut) stdbuf -o0 head -c THROUGH | sh -c "$*" ;;
  hangs) { stdbuf -o0 head -c THROUGH; sleep 600; } | sh -c "$*" ;;
  down) echo "ssh: connect to host $host port 22: No route to host" >&2; exit 255 ;;
  *) exec sh -c "$*" ;;
esac
"""


@pytest.fixture
def run(own_run: Path) -> Path:
    """A run with a checkpoint, plot files, results, and names that are not easy."""
    shutil.copy(DATA / "chk00050.hdf5_chk", own_run / "chk00050.hdf5_chk")
    shutil.copytree(DATA / "refined_plt00007", own_run / "plt00007")
    shutil.copytree(DATA / "nyx_plt00002", own_run / "plt00002", dirs_exist_ok=True)
    (own_run / "pending").mkdir()
    shutil.copy(DATA / "chk00050.hdf5_chk", own_run / "pending/chk00060.hdf5_chk")
    (own_run / ".chk00070.hdf5_chk.tmp").write_bytes(b"half")
    (own_run / "notes of\nmine 'x' $(y).txt").write_text("notes")
    return own_run


@pytest.fixture
def link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that says what becomes of connections; ssh reaches this machine."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "ssh").write_text(SSH.replace("THROUGH", str(THROUGH)))
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("LINK", str(tmp_path / "link"))
    return tmp_path / "link"


def archived(sidestream: CommandLine, *words: object) -> dict:
    done = sidestream("archive", *words, "--wait", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_everything_with_a_final_name_is_copied_and_described(run: Path, sidestream: CommandLine, link: Path) -> None:
    there = run.parent / "far away"

    report = archived(sidestream, run, f"store:{there}")
    again = archived(sidestream, run, f"store:{there}")

    size = sum((there / name).stat().st_size for name in ("manifest.json", ".archive_of"))
    assert report["bytes"] == sum(file.stat().st_size for file in there.rglob("*") if file.is_file()) - size
    assert report["travelled_bytes"] > report["bytes"]
    assert (again["sent"], again["kept"]) == ([], report["sent"])
    manifest = json.loads((there / "manifest.json").read_text())
    parts = {part["name"]: part for part in manifest["parts"]}
    assert manifest["is_complete"]
    assert (parts["chk00050.hdf5_chk"]["kind"], parts["chk00050.hdf5_chk"]["format"]) == ("checkpoint", "sidestream")
    assert (parts["plt00007"]["kind"], parts["plt00007"]["format"], parts["plt00007"]["step"]) == (
        "plot file",
        "nyx",
        7,
    )
    assert parts["chk00050.hdf5_chk"]["units"]
    result = next(part for part in manifest["parts"] if part["kind"] == "result")
    assert result["step"] > 0
    assert any(result["units"].values())
    assert (there / "notes of\nmine 'x' $(y).txt").read_text() == "notes"
    assert not {path.name for path in there.iterdir()} & {
        "pending",
        ".arriving",
        ".archive.lock",
        ".chk00070.hdf5_chk.tmp",
    }


def test_of_an_archive_that_is_looked_at_only_what_is_wanted_travels(
    run: Path, sidestream: CommandLine, link: Path
) -> None:
    (run / LARGE).write_bytes(np.random.default_rng(1).bytes(LARGE_BYTES))
    there = f"store:{run.parent / 'there'}"
    archived(sidestream, run, there)
    manifest = json.loads((run.parent / "there/manifest.json").read_text())
    link.write_text("kept")

    listed = sidestream("archive", "list", there)
    told = json.loads(sidestream("archive", "list", there, "--json").stdout)
    verified = sidestream("archive", "verify", there)
    fetched = sidestream("archive", "get", there, "plt00007", "--to", "back")

    assert {done.returncode for done in (listed, verified, fetched)} == {0}, listed.stderr
    assert told["parts"] == manifest["parts"]
    assert re.search(r"^chk00050.hdf5_chk  checkpoint of format sidestream, step 50, ", listed.stdout, re.MULTILINE)
    assert f"{len(told['parts'])} parts of the run {run.name}, all that it had" in listed.stderr
    assert (run.parent / "back/plt00007/Header").exists()
    came_back = link.with_name("link.back").stat().st_size
    assert 0 < came_back < LARGE_BYTES / 4


def test_the_manifest_has_the_dates_and_checksums_of_the_run(run: Path, sidestream: CommandLine) -> None:
    archived(sidestream, run, "there")

    manifest = json.loads((run.parent / "there/manifest.json").read_text())
    files = [file for part in manifest["parts"] for file in part["files"]]
    assert len(files) > 10
    for file in files:
        path = run / file["name"]
        assert (file["bytes"], file["sha256"]) == (path.stat().st_size, sha256(path.read_bytes()).hexdigest())
        assert datetime.fromisoformat(file["modified"]).timestamp() == pytest.approx(path.stat().st_mtime, abs=1e-3)


def test_a_copy_goes_on_when_the_command_has_ended(run: Path, sidestream: CommandLine) -> None:
    done = sidestream("archive", run, "there")

    assert done.returncode == 0, done.stderr
    assert "in process" in done.stdout
    limit = time.monotonic() + 240
    while sidestream("archive", "verify", "there").returncode != 0:
        assert time.monotonic() < limit, (run / ".archive.log").read_text()
        time.sleep(0.2)
    assert "has all" in (run / ".archive.log").read_text()


def test_of_a_copy_that_was_cut_only_the_rest_travels(run: Path, sidestream: CommandLine, link: Path) -> None:
    (run / LARGE).write_bytes(np.random.default_rng(1).bytes(LARGE_BYTES))
    there = run.parent / "there"
    link.write_text("cut")

    cut = sidestream("archive", run, f"store:{there}", "--wait")
    unfinished = sidestream("archive", "verify", f"store:{there}")
    link.unlink()
    report = archived(sidestream, run, f"store:{there}")

    assert cut.returncode == 1
    assert "the copy was cut" in cut.stderr
    assert "goes on where it stopped" in cut.stderr
    assert unfinished.returncode == 1
    assert report["travelled_bytes"] < report["bytes"] - THROUGH / 2
    assert (there / LARGE).read_bytes() == (run / LARGE).read_bytes()
    assert (there / LARGE).stat().st_mode == (run / LARGE).stat().st_mode
    assert sidestream("archive", "verify", f"store:{there}").returncode == 0


def test_of_a_copy_that_was_killed_only_the_rest_travels(run: Path, sidestream: CommandLine, link: Path) -> None:
    (run / LARGE).write_bytes(np.random.default_rng(1).bytes(LARGE_BYTES))
    there = run.parent / "there"
    link.write_text("hangs")
    arriving = there / ".arriving"
    words = [sys.executable, "-m", "sidestream", "archive", str(run), f"store:{there}", "--wait"]

    with subprocess.Popen(words, start_new_session=True) as process:
        try:
            limit = time.monotonic() + 240
            while sum(path.stat().st_size for path in arriving.rglob("*") if path.is_file()) < THROUGH / 2:
                assert time.monotonic() < limit
                assert process.poll() is None
                time.sleep(0.05)
            second = sidestream("archive", run, f"store:{there}", "--wait")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    link.unlink()
    report = archived(sidestream, run, f"store:{there}")

    assert "is being archived already" in second.stderr
    assert report["travelled_bytes"] < report["bytes"] - THROUGH / 4
    assert (there / LARGE).read_bytes() == (run / LARGE).read_bytes()
    assert sidestream("archive", "verify", f"store:{there}").returncode == 0


def test_an_archive_that_is_still_arriving_is_told_as_such(run: Path, sidestream: CommandLine) -> None:
    there = run.parent / "there"
    archived(sidestream, run, there)
    (there / ".arriving").mkdir()
    (there / "plt00007/Header").unlink()

    whole = sidestream("verify", there)
    (there / "manifest.json").rename(there / "manifest")
    before_the_first_part = sidestream("archive", "verify", there)
    (there / "manifest").rename(there / "manifest.json")
    archived(sidestream, run, there)

    for done in (whole, before_the_first_part):
        assert done.returncode == 1
        assert "the run is still arriving here" in done.stderr, done.stderr
        assert "damaged" not in done.stdout + done.stderr
    assert "arriving" not in sidestream("verify", there).stderr
    assert sidestream("archive", "verify", there).returncode == 0


def test_a_machine_that_is_not_reached_is_told_of_at_once(run: Path, sidestream: CommandLine, link: Path) -> None:
    (run.parent / "programs/ssh").write_text("#!/bin/sh\necho 'ssh: No route to host' >&2\nexit 255\n")

    done = sidestream("archive", run, "store:there")

    assert done.returncode == 1
    assert "ssh does not reach the archive: ssh: No route to host" in done.stderr


def test_what_is_new_of_a_run_that_goes_on_is_sent(run: Path, sidestream: CommandLine) -> None:
    archived(sidestream, run, "there")
    with (run / "events.jsonl").open("a") as log:
        log.write('{"event": "step", "t": 9}\n{"event": "to')
    shutil.copy(DATA / "chk00050.hdf5_chk", run / "chk00080.hdf5_chk")
    (run / "chk00050.hdf5_chk").unlink()

    report = archived(sidestream, run, "there")

    assert report["sent"] == ["chk00080.hdf5_chk", "events.jsonl"]
    there = run.parent / "there"
    assert (there / "events.jsonl").read_text().endswith('"t": 9}\n')
    assert (there / "chk00050.hdf5_chk").exists()
    assert sidestream("archive", "verify", "there").returncode == 0


@pytest.mark.parametrize("how", ["flipped", "cut", "lost"])
def test_damage_is_named_in_every_kind_of_file_and_mended(how: str, run: Path, sidestream: CommandLine) -> None:
    archived(sidestream, run, "there")
    there = run.parent / "there"
    manifest = json.loads((there / "manifest.json").read_text())
    hurt = {part["kind"]: (part["name"], part["files"][0]["name"]) for part in manifest["parts"]}
    for _, name in hurt.values():
        damage(there / name, how)

    done = sidestream("archive", "verify", "there", "--json")
    fetched = sidestream("archive", "get", "there", hurt["checkpoint"][0], "--to", "back")

    assert done.returncode == 1
    found = {part["part"]: part["faults"] for part in json.loads(done.stdout)["parts"] if not part["is_good"]}
    assert {name: list(faults) for name, faults in found.items()} == {part: [name] for part, name in hurt.values()}
    assert {"checkpoint", "plot file", "result", "log", "configuration", "file"} <= set(hurt)
    assert fetched.returncode == 1
    assert not (run.parent / "back" / hurt["checkpoint"][1]).exists()
    for _, name in hurt.values():
        (there / name).unlink(missing_ok=True)
    assert sorted(archived(sidestream, run, "there")["sent"]) == sorted(part for part, _ in hurt.values())
    assert sidestream("archive", "verify", "there").returncode == 0


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "lost":
        path.unlink()
    elif how == "cut":
        path.write_bytes(content[:-1])
    else:
        content[len(content) // 2] ^= 1
        path.write_bytes(content)


@pytest.mark.parametrize("moment", ["keep_arrived", *slow("write_once", "written_by", "write")])
def test_a_first_copy_that_is_cut_at_any_moment_goes_on(
    moment: str, run: Path, sidestream: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = run.parent / "there"
    real = getattr(Place, moment)
    with monkeypatch.context() as cut:
        cut.setattr(Place, moment, lambda *words: (real(*words) if moment != "write" else None, 1 / 0))
        with pytest.raises(ZeroDivisionError):
            storing.store(run, Place(str(there)))

    report = archived(sidestream, run, there)

    assert report["sent"]
    assert sidestream("archive", "verify", there).returncode == 0


def test_of_two_runs_at_once_one_has_the_place(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(str(tmp_path / "there"))
    shutil.copytree(run, tmp_path / "other")
    (tmp_path / "other/events.jsonl").write_text('{"event": "run_start", "t": 0}\n')
    real = ownership.claim

    def overtaken(*words: object, **named: object) -> None:
        monkeypatch.setattr(storing, "claim", real)
        with storing.alone(tmp_path / "other"):
            storing.begun(tmp_path / "other", place)  # and is still at it
        real(*words, **named)

    monkeypatch.setattr(storing, "claim", overtaken)
    with pytest.raises(Error, match="the archive of another run, `other`"):
        storing.store(run, place)
    with pytest.raises(Error, match="the archive of another run, `other`"):
        storing.store(run, place)
    assert storing.store(tmp_path / "other", place).sent


def test_a_run_that_begins_is_waited_for_until_it_has_told_what_it_is(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    whole = '{"event": "run_start", "t": 0}\n'
    log.write_text(whole[:9])
    rest = threading.Timer(0.3, lambda: log.write_text(whole + '{"event": "step"'))
    rest.start()

    at_first = ownership.identity_of(tmp_path)

    rest.join()
    assert at_first == ownership.identity_of(tmp_path) == sha256(whole.encode()).hexdigest()


@pytest.mark.parametrize("begun", [None, "", '{"event": "run_st'])
def test_a_run_that_has_told_nothing_is_not_archived(
    begun: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.toml").touch()
    if begun is not None:
        (tmp_path / "run/events.jsonl").write_text(begun)
    monkeypatch.setattr(ownership, "WAIT_S", 0.0)

    with pytest.raises(Error, match="the run has not begun: its event log has no line yet"):
        storing.store(tmp_path / "run", Place(str(tmp_path / "there")))

    assert not (tmp_path / "there").exists()


@pytest.mark.slow
def test_of_two_copies_of_a_run_the_one_that_begins_last_goes_on(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(str(tmp_path / "there"))
    shutil.copytree(run, tmp_path / "other")
    (tmp_path / "other/config.toml").write_text("later")
    real = storing.described

    def overtaken(*words: object) -> object:
        monkeypatch.setattr(storing, "described", real)
        storing.begun(tmp_path / "other", place)  # and is still at it
        return real(*words)

    monkeypatch.setattr(storing, "described", overtaken)
    with pytest.raises(Error, match="another process has begun to archive into the same place"):
        storing.store(run, place)
    assert not (tmp_path / "there/config.toml").exists()
    storing.store(tmp_path / "other", place)
    assert all(verdict.is_good for verdict in checking.verify(place)[1])


def test_an_archive_whose_manifest_is_damaged_is_mended_as_the_hint_says(run: Path, sidestream: CommandLine) -> None:
    archived(sidestream, run, "there")
    manifest = run.parent / "there/manifest.json"
    manifest.write_text(manifest.read_text().replace('"bytes": ', '"bytes": 1'))

    damaged = sidestream("archive", "list", "there")
    manifest.unlink()
    archived(sidestream, run, "there")

    assert "remove `manifest.json` there, and archive the run again" in damaged.stderr.replace("\n", " ")
    assert sidestream("archive", "verify", "there").returncode == 0


def test_a_damaged_manifest_is_named(run: Path, sidestream: CommandLine) -> None:
    archived(sidestream, run, "there")
    manifest = run.parent / "there/manifest.json"
    whole = manifest.read_text()

    for text in (whole.replace("chk00050", "chk00051"), whole[: len(whole) // 2], "[" * 100_000):
        manifest.write_text(text)
        done = sidestream("archive", "verify", "there")
        assert done.returncode == 1
        assert "the manifest of the archive is damaged" in done.stderr


def test_parts_come_back_without_the_rest(run: Path, sidestream: CommandLine, link: Path) -> None:
    (run / LARGE).write_bytes(bytes(1 << 20))
    there = f"store:{run.parent / 'there'}"
    archived(sidestream, run, there)

    done = sidestream("archive", "get", there, "plt00007", "results/*/000020.nc", "--to", "b a:ck")
    again = sidestream("archive", "get", there, "plt00007", "--to", "b a:ck")

    assert done.returncode == 0, done.stderr
    assert again.returncode == 0, again.stderr
    back = run.parent / "b a:ck"
    assert sorted(path.name for path in back.iterdir()) == ["plt00007", "results"]
    for path in back.rglob("*"):
        assert path.is_dir() or path.read_bytes() == (run / path.relative_to(back)).read_bytes()
    assert (back / "plt00007/Header").exists()
    assert {path.name for path in back.rglob("*.nc")} == {"000020.nc"}


def test_what_is_asked_for_wrongly_is_refused(run: Path, sidestream: CommandLine) -> None:
    archived(sidestream, run, "there")
    shutil.copytree(run, run.parent / "other")
    (run.parent / "other/events.jsonl").write_text('{"event": "run_start", "t": 0}\n')
    (run.parent / "full").mkdir()
    (run.parent / "full/thing").touch()
    (run.parent / "link").symlink_to(run)
    (run.parent / "taken").mkdir()
    (run.parent / "taken/config.toml").write_text("mine")
    (run.parent / "taken/plt00007").write_text("mine")
    refused = {
        ("archive", run, run / "copy"): "the archive would lie in the run itself",
        ("archive", run, "link/copy"): "the archive would lie in the run itself",
        ("archive", run, "full"): "other files in it: thing",
        ("archive", "other", "there"): "the archive of another run",
        ("archive", run, "full/thing"): "an archive is a folder",
        ("archive", run, "-oProxyCommand=x:y"): "no such option",
        ("archive", "full", "new"): "there is no run to archive",
        ("archive", "demi", "new"): "there is no run to archive",
        ("archive", "demo"): "missing argument `dest`",
        ("archive", "lst"): "no such command",
        ("archive", "list", "full"): "there is no archive",
        ("archive", "get", "there", "chk00051.hdf5_chk", "--to", "back"): "did you mean `chk00050.hdf5_chk`?",
        ("archive", "get", "there", "config.toml", "--to", "taken"): "something else has the name",
        ("archive", "get", "there", "plt00007", "--to", "taken"): "something else has the name",
    }

    for words, said in refused.items():
        done = sidestream(*words)
        assert done.returncode != 0
        assert said in done.stderr.lower().replace("\n", " "), (words, done.stderr)
    assert {path.name: path.read_text() for path in (run.parent / "taken").iterdir()} == {
        "config.toml": "mine",
        "plt00007": "mine",
    }
    assert not (run.parent / "new").exists()


def test_an_output_that_appears_while_the_run_is_looked_at_is_one_part(
    run: Path, sidestream: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(str(run.parent / "there"))
    real = os.walk

    def walk(*words: object, **named: object) -> object:
        monkeypatch.setattr(os, "walk", real)
        (run / ".plt00051.tmp").rename(run / "plt00051")
        return real(*words, **named)

    shutil.copytree(run / "plt00007", run / ".plt00051.tmp")
    monkeypatch.setattr(os, "walk", walk)
    storing.store(run, place)

    manifest = manifest_of(place)
    names = [file.name for part in manifest.parts.values() for file in part.files]
    assert manifest.parts["plt00051"].kind == "plot file"
    assert len(names) == len(set(names))


@pytest.mark.slow
def test_an_archive_that_has_files_twice_is_mended(run: Path, sidestream: CommandLine) -> None:
    place = Place(str(run.parent / "there"))
    storing.store(run, place)
    manifest = manifest_of(place)
    twice = manifest.parts["plt00007"].files[-1]
    manifest.parts[twice.name] = Part(twice.name, "file", (twice,))
    manifest.write(place)

    fetched = sidestream("archive", "get", "there", "plt*", "--to", "back")
    archived(sidestream, run, "there")

    assert fetched.returncode == 0, fetched.stderr
    assert twice.name not in manifest_of(place).parts


@pytest.mark.parametrize("is_cut", [False, *slow(True)])
def test_a_part_that_changes_its_kind_replaces_the_old_one(
    is_cut: bool, run: Path, sidestream: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, file, place = run / "plt00007", run / "chk00050.hdf5_chk", Place(str(run.parent / "there"))
    keep = Place.keep_arrived
    (run / "gas.pictures").mkdir()
    for name in ("0", "1", "2"):
        (run / "gas.pictures" / name).write_text(name)
    for step in range(2):
        storing.store(run, place)
        (run / "gas.pictures" / str(step)).unlink()
        (run / "config.toml").write_text((run / "config.toml").read_text() + "\n")
        folder.rename(run / ".old")
        file.rename(folder)
        (run / ".old").rename(file)
        folder, file = file, folder
        if is_cut:
            with monkeypatch.context() as cut:
                cut.setattr(Place, "keep_arrived", lambda place, names: (keep(place, names[::2]), 1 / 0))
                with pytest.raises(ZeroDivisionError):
                    storing.store(run, place)
            done = sidestream("archive", "verify", "there")
            assert done.returncode == 1
            assert "is still arriving" in done.stderr
            assert "damaged" not in done.stdout

        archived(sidestream, run, "there")

        assert sidestream("archive", "verify", "there").returncode == 0
        fetched = sidestream("archive", "get", "there", "*", "--to", f"back {folder.name}")
        assert fetched.returncode == 0, fetched.stderr
        there = run.parent / "there"
        assert not [
            path
            for path in there.rglob("*")
            if path.is_file()
            and not (run / path.relative_to(there)).exists()
            and path.name not in ("manifest.json", ".archive_of")
        ]


def test_a_stale_piece_that_is_longer_than_the_file_is_fetched_anew(run: Path, sidestream: CommandLine) -> None:
    archived(sidestream, run, "there")
    (run.parent / "back/.arriving").mkdir(parents=True)
    (run.parent / "back/.arriving/config.toml").write_bytes(bytes(1 << 20))

    done = sidestream("archive", "get", "there", "config.toml", "--to", "back")

    assert done.returncode == 0, done.stderr
    assert (run.parent / "back/config.toml").read_bytes() == (run / "config.toml").read_bytes()


def test_links_to_files_are_files_and_others_are_told_of(run: Path, sidestream: CommandLine) -> None:
    (run.parent / "table.txt").write_text("rates")
    (run / "table.txt").symlink_to(run.parent / "table.txt")
    (run / "nowhere").symlink_to(run.parent / "nowhere")
    (run / "around").symlink_to(run)
    os.mkfifo(run / "pipe")

    report = archived(sidestream, run, "there")

    assert sorted(report["left_out"]) == ["around", "nowhere", "pipe"]
    there = run.parent / "there/table.txt"
    assert there.read_text() == "rates"
    assert not there.is_symlink()


def test_a_full_disk_is_told_of_and_the_copy_goes_on_with_room(run: Path, sidestream: CommandLine) -> None:
    (run / LARGE).write_bytes(np.random.default_rng(1).bytes(LARGE_BYTES))
    disk = run.parent / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"not allowed here: to mount a file system: {mounted.stderr.strip()}")
    try:
        done = sidestream("archive", run, "disk/there", "--wait")
        subprocess.run(["mount", "-o", "remount,size=60m", disk], check=True)
        report = archived(sidestream, run, "disk/there")

        assert done.returncode == 1
        assert "No space left on device" in done.stderr
        assert report["travelled_bytes"] < report["bytes"] - 3_000_000
        assert sidestream("archive", "verify", "disk/there").returncode == 0
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("times", [1, *slow(3)])
def test_what_comes_damaged_is_sent_again_and_never_counts(
    times: int, run: Path, sidestream: CommandLine, link: Path
) -> None:
    there = run.parent / "there"
    counter = run.parent / "count"
    program = run.parent / "programs/rsync"
    hurt = f'printf x | dd of="{there}/.arriving/chk00050.hdf5_chk" bs=1 seek=9000 conv=notrunc 2>/dev/null'
    program.write_text(
        f'#!/bin/sh\n{shutil.which("rsync")} "$@" || exit $?\n'
        f'echo >> {counter}; if [ "$(wc -l < {counter})" -le {times} ]; then {hurt}; fi\n'
    )
    program.chmod(0o755)

    done = sidestream("archive", run, there, "--wait")

    assert done.returncode == (0 if times == 1 else 1), done.stderr
    assert times == 1 or "a copy has other bytes than the run, 3 times in turn" in done.stderr
    assert (there / "chk00050.hdf5_chk").exists() == (times == 1)
    assert sidestream("archive", "verify", there).returncode == (0 if times == 1 else 1)


def test_what_the_run_removes_meanwhile_is_no_error(run: Path, sidestream: CommandLine, link: Path) -> None:
    real = shutil.which("rsync")
    removal = f"rm -rf {run}/chk00050.hdf5_chk {run}/plt00007/Level_1"
    (run.parent / "programs/rsync").write_text(f'#!/bin/sh\n{removal}\nexec {real} "$@"\n')
    (run.parent / "programs/rsync").chmod(0o755)

    report = archived(sidestream, run, "there")

    assert report["gone"] == ["chk00050.hdf5_chk", "plt00007"]
    assert sidestream("archive", "verify", "there").returncode == 0
    assert not (run.parent / "there/plt00007").exists()


def test_of_a_run_that_goes_on_every_copy_is_good(tmp_path: Path, real_sidestream: CommandLine) -> None:
    (tmp_path / "box.toml").write_text(
        'simulation = "sod"\nrun.max_steps = 100000\nmesh = { cells = [16, 16, 16], block = 8 }\n'
        "sod.end = 1e9\noutput.checkpoint = { every = 5, keep = 1 }\n"
    )
    with running(tmp_path, 2, "box.toml", "--out", "run", "--quiet") as process:
        limit = time.monotonic() + 240
        while not list(tmp_path.glob("run/chk*")):
            assert time.monotonic() < limit
            time.sleep(0.1)
        copies = 0
        while copies < 3:  # with a checkpoint that was there long enough to be copied
            assert time.monotonic() < limit
            copies += any(part.startswith("chk") for part in archived(real_sidestream, "run", "there")["sent"])
            checked = real_sidestream("archive", "verify", "there")
            assert checked.returncode == 0, checked.stdout
        assert process.poll() is None

    verdicts = json.loads(real_sidestream("verify", "there", "-n", 1, "--json").stdout)
    assert verdicts
    assert all(verdict["is_good"] for verdict in verdicts)


def test_a_run_that_was_fetched_goes_on(tmp_path: Path, real_sidestream: CommandLine) -> None:
    (tmp_path / "box.toml").write_text(
        'simulation = "sod"\nrun.max_steps = 2\nmesh = { cells = [16, 16, 16], block = 8 }\n'
        "output.checkpoint = { every = 1 }\n"
    )
    program(tmp_path, 2, "box.toml", "--out", "run", "--quiet")
    archived(real_sidestream, "run", "there")
    shutil.rmtree(tmp_path / "run")

    fetched = real_sidestream("archive", "get", "there", "*", "--to", "run")
    done = program(tmp_path, 1, "box.toml", "--set", "run.max_steps=3", "--out", "run", "--restart", "--quiet")

    assert fetched.returncode == 0, fetched.stderr
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run/chk00003.hdf5_chk").exists()
