"""Files with flipped bits, cut or overwritten: each is refused by name or read right, and never as something else."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from ..error import Error
from ..files.formats import formats
from ..launch.launcher import FILES, find_program, mpi_environment
from .answers import Answers
from .small_runs import SUBJECTS
from .subjects import RUN, checkpoints, whole
from .trial import Failure, Kind, Trial

LOG = "event log"
LONGEST_HOLE = 512  # bytes that are overwritten with zeros


def _prepare(shared: Path) -> Trial:
    originals = _originals(shared)
    command = [sys.executable, "-m", "sidestream.attack.reader"]
    reader = Answers(command, os.environ, shared / "reader.txt")
    known = {}
    for name, path in originals.items():
        answer = reader.ask(str(path))
        if "digest" not in answer:
            raise Error(f"an undamaged file cannot be read: {answer}", path)
        known[name] = answer["digest"]
    shorter = _digests_of_beginnings(originals[LOG], reader, shared / "shorter.jsonl") if LOG in originals else set()

    def trial(numbers: random.Random, folder: Path) -> str:
        name = numbers.choice(sorted(originals))
        copy = folder / originals[name].name
        (shutil.copytree if originals[name].is_dir() else shutil.copy)(originals[name], copy)
        done = do_damage(copy, numbers)
        answer = reader.ask(str(copy))
        if "refused" in answer:
            if copy.name not in answer["refused"]:
                raise Failure(f"{name}, {done}: refused without the name of the file: {answer['refused']}")
            return f"{name}: refused by name"
        if answer["digest"] == known[name]:
            return f"{name}: read right"
        if name == LOG and answer["digest"] in shorter:
            return f"{name}: read as that of a run that was killed sooner"
        raise Failure(f"{name}, {done}: read as something else")

    return trial


def _originals(shared: Path) -> dict[str, Path]:
    """A small file of each kind."""
    whole(SUBJECTS[0], shared / "origin")
    run = shared / "origin" / RUN
    result = sorted(run.glob("results/*/*.nc"))[-1]
    found = {"result": result, "checkpoint": checkpoints(run)[-1], "plot file": sorted(run.glob("plt*"))[-1]}
    found[LOG] = run / "events.jsonl"
    for format_name in formats():
        path = shared / f"converted_{format_name}"
        command = [str(find_program(FILES)), "convert", str(found["checkpoint"]), str(path), "--format", format_name]
        done = subprocess.run(command, env=mpi_environment(os.environ, 1), capture_output=True, text=True)
        if done.returncode != 0:
            raise Error(f"a file of the format {format_name} cannot be made: {done.stderr}", path)
        found[format_name] = path
    in_parts = next(subject for subject in SUBJECTS if subject.name == "cosmology in parts")
    whole(in_parts, shared / "parts")
    return found | {"checkpoint in parts": checkpoints(shared / "parts" / RUN)[-1]}


def _digests_of_beginnings(log: Path, reader: Answers, scratch: Path) -> set[str]:
    """What is read of a log of which the last lines were never written."""
    lines = log.read_bytes().splitlines(keepends=True)
    digests = set()
    for count in range(len(lines)):
        scratch.write_bytes(b"".join(lines[:count]))
        digests.add(reader.ask(str(scratch))["digest"])
    return digests


def do_damage(path: Path, numbers: random.Random) -> str:
    """Flips a bit, cuts or overwrites a file, or one of a folder; says how."""
    files = (
        sorted(file for file in path.rglob("*") if file.is_file() and file.stat().st_size) if path.is_dir() else [path]
    )
    file = numbers.choice(files)
    content = bytearray(file.read_bytes())
    at = numbers.randrange(len(content))
    way = numbers.choice(("bit", "bit", "cut", "hole"))
    if way == "bit":
        bit = numbers.randrange(8)
        content[at] ^= 1 << bit
        done = f"bit {bit} of byte {at} flipped"
    elif way == "cut":
        del content[at:]
        done = f"cut to {at} bytes"
    else:
        end = min(len(content), at + numbers.randint(1, LONGEST_HOLE))
        content[at:end] = bytes(end - at)
        done = f"bytes {at} to {end} overwritten with zeros"
    file.write_bytes(content)
    return f"{done} in {file.name}"


damage = Kind(
    "damage",
    "a flipped bit, a cut or zeros in a result, an event log, or a checkpoint or plot file of any format, or "
    "a checkpoint in parts: it is refused by name, or all that is read from it is right to the bit",
    20000,
    _prepare,
)
