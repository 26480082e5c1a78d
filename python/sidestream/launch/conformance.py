"""`sidestream conformance`: somebody's program runs with its session in checking mode, and what was found is told."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from ..error import Error
from .programs import terminable

__all__ = ["CHECKS", "Finding", "conformance"]

GOOD, NOTE, WRONG, UNSEEN = "good", "note", "wrong", "unseen"
#: What is looked at, and what that means where nothing is wrong.
CHECKS = {
    "mesh": "each cell of the domain lies in one block",
    "ghosts": "ghost cells are those of neighbours",
    "units": "units are told, known and of one system",
    "order": "axes lie in memory as they are said to",
    "numbers": "all cells hold numbers",
    "particles": "particles have numbers, and ids of their own",
    "memory": "arrays are there while they are read, and nobody writes",
    "calls": "all ranks make the same calls with the same numbers",
}
#: Why a check had nothing to look at.
UNSEEN_WHY = dict.fromkeys(CHECKS, "the run did not begin") | {
    "ghosts": "no ghost cells are declared, or no step was told",
    "numbers": "no step was told",
    "particles": "there are none, or no step was told",
}
NUMBER = re.compile(r"[-+]?\b(\d[\d.]*(e[-+]?\d+)?|nan|inf)\b")
POLL_S, GRACE_S = 0.1, 2.0
TALK, TALK_BYTES = 2, 65536  # what the program prints goes beside the findings
SYSTEMS = {
    "cgs": {"cm", "g", "erg", "dyn", "gauss", "Gauss"},
    "SI": {"m", "kg", "J", "N", "Pa", "T", "W", "V", "C", "A"},
}
KNOWN = set().union(*SYSTEMS.values()) | {
    *("km", "mm", "um", "nm", "pc", "kpc", "Mpc", "Gpc", "AU", "au", "ly", "Msun", "Lsun", "Rsun", "h", "a"),
    *("s", "ms", "us", "ns", "min", "hr", "day", "yr", "kyr", "Myr", "Gyr", "Hz", "K", "eV", "keV", "MeV", "GeV"),
    *("mol", "rad", "deg", "sr", "L", "bar", "atm", "hPa", "kPa", "MPa", "kJ", "kg", "Angstrom", "nT", "G", "ppm"),
}


@dataclass(frozen=True)
class Finding:
    """What a check found: `verdict` is "good", "note", "wrong" or "unseen"; `where` is field, block, rank and cell."""

    check: str
    verdict: str
    message: str
    where: str = ""

    def as_dict(self) -> dict[str, str]:
        """For programs."""
        return asdict(self)


def conformance(command: Sequence[str], patience_s: float = 10.0) -> tuple[list[Finding], int]:
    """Runs `command`, and returns what was found, check by check, and its exit code.

    A program whose ranks wait for each other longer than `patience_s` is ended.

    Raises:
        Error: the command is not there, or it opens no session.
    """
    with tempfile.TemporaryDirectory(prefix="sidestream-conformance-") as folder:
        code, last_line = _run(command, Path(folder), patience_s)
        told = [line for path in sorted(Path(folder).glob("rank*.jsonl")) for line in _lines(path)]
    if not told and code != 0:
        raise Error(
            f"the program {_ending(code)} before it opened a session of Sidestream",
            where=" ".join(command),
            hint=f"it said at last: {last_line}" if last_line else "it said nothing: does it run by itself?",
        )
    if not told:
        raise Error(
            "the program opened no session of Sidestream",
            where=" ".join(command),
            hint="is it linked with the library, or does its stub find it (SIDESTREAM_LIBRARY)?",
        )
    return _findings(told, code), code


def _ending(code: int) -> str:
    return f"was ended by the signal {-code}" if code < 0 else f"ended with the exit code {code}"


def _run(command: Sequence[str], folder: Path, patience_s: float) -> tuple[int, str]:
    """The exit code of the program, and the last line that it said; it does not outlive us where we are ended."""
    with terminable():
        program = _start(command, folder, patience_s)
        talk = _Talk(program)
        try:
            since: float | None = None
            while program.poll() is None:
                time.sleep(POLL_S)
                if since is None and any('"waits"' in path.read_text() for path in folder.glob("rank*.jsonl")):
                    since = time.monotonic()
                if since is not None and time.monotonic() - since > GRACE_S:
                    break
        finally:
            if program.poll() is None:
                _end(program)
        return program.wait(), talk.last_line()


def _start(command: Sequence[str], folder: Path, patience_s: float) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "SIDESTREAM_CONFORMANCE": str(folder),
        "SIDESTREAM_CONFORMANCE_PATIENCE": str(patience_s),
    }
    try:
        return subprocess.Popen(
            list(command), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as problem:
        raise Error(
            f"cannot start `{command[0]}`: {problem.strerror}", hint="give the command as a shell has it"
        ) from None


class _Talk:
    """What a program says goes beside the findings, as it comes."""

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        self._end = b""
        self._reader = threading.Thread(target=self._pass_on, args=(program.stdout,), daemon=True)
        self._reader.start()

    def _pass_on(self, stream: IO[bytes]) -> None:
        while said := os.read(stream.fileno(), TALK_BYTES):
            self._end = (self._end + said)[-TALK_BYTES:]
            with suppress(OSError):  # nobody listens any more
                os.write(TALK, said)

    def last_line(self) -> str:
        """The last one with words, of a program that has ended."""
        self._reader.join(GRACE_S)  # and no longer: a process that it left behind may hold the stream
        lines = self._end.decode(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if re.search(r"\w", line)), "")


def _end(program: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(program.pid, number)
            program.wait(GRACE_S)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


def _lines(path: Path) -> list[dict[str, Any]]:
    lines = []
    for text in path.read_text(errors="replace").splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue  # of a rank that was ended amid it
    return lines


def _findings(told: list[dict[str, Any]], code: int) -> list[Finding]:
    found = [_of_line(line) for line in told if line["kind"] == "finding"]
    found += [*_units(told), *_waits(told)]
    if code != 0 and not any(finding.verdict == WRONG for finding in found):
        found.append(Finding("calls", WRONG, f"the program {_ending(code)}"))
    result = []
    for check, meaning in CHECKS.items():
        of_check = [one for one in found if one.check == check]
        bad = list(dict.fromkeys(one for one in of_check if one.verdict == WRONG))
        notes = list(dict.fromkeys(one for one in of_check if one.verdict == NOTE))
        is_seen = any(one.verdict == GOOD for one in of_check) or (
            check in ("mesh", "calls") and any(line["kind"] == "fields" for line in told)
        )
        if not bad and is_seen:
            result.append(Finding(check, GOOD, meaning))
        elif not bad:
            result.append(Finding(check, UNSEEN, "nothing that it could be seen by" if of_check else UNSEEN_WHY[check]))
        result += _once(bad) + _once(notes)
    return result


def _once(findings: list[Finding]) -> list[Finding]:
    """Ranks say the same, of a field with their own numbers: it is told as by the first one, with all ranks."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        field = one.where.split(",")[0] if one.where.startswith(("field", "species")) else ""
        message = NUMBER.sub("", one.message) if field else one.message
        groups.setdefault((field, message), []).append(one)
    return [replace(group[0], where=_place_of(group)) for group in groups.values()]


def _place_of(alike: list[Finding]) -> str:
    """That of the first, and which ranks say so too."""
    first = alike[0].where
    ranks = sorted({int(rank) for one in alike for rank in re.findall(r"\brank (\d+)", one.where)})
    if len(ranks) < 2:
        return first
    if first == f"rank {ranks[0]}":
        return f"ranks {_listed(ranks)}"
    own = next(rank for rank in ranks if re.search(rf"\brank {rank}\b", first))
    others = [rank for rank in ranks if rank != own]
    return f"{first}; also on rank{'s' * (len(others) > 1)} {_listed(others)}"


def _listed(ranks: list[int]) -> str:
    """In rising order, those that follow each other as the first and the last: `0-3, 7`."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _of_line(line: dict[str, Any]) -> Finding:
    is_somewhere = line["verdict"] == WRONG or "cell" in line
    of = [f"{kind} `{line[kind]}`" for kind in ("field", "species") if line.get(kind)]
    where = of + ([f"block {line['block']}"] if "block" in line else [])
    where += [f"rank {line['rank']}"] if is_somewhere else []
    where += [f"{kind} {line[kind]}" for kind in ("particle", "cell") if kind in line]
    where += [f"step {line['step']}"] if of and is_somewhere else []
    return Finding(line["check"], line["verdict"], line["message"], ", ".join(where))


def _units(told: list[dict[str, Any]]) -> list[Finding]:
    fields = next((line for line in told if line["kind"] == "fields"), None)
    if fields is None:
        return []
    found: list[Finding] = []
    systems: dict[str, str] = {}
    told_units = [(f"field `{field['name']}`", field["unit"]) for field in fields["fields"]]
    told_units += [("lengths", fields["length_unit"])] if fields["length_unit"] else []
    for where, unit in told_units:
        words = re.findall(r"[A-Za-z]+", re.sub(r"\d[\d.]*(?:[eE][-+]?\d+)?", " ", unit))
        unknown = [word for word in words if word not in KNOWN]
        if not unit:
            found.append(Finding("units", NOTE, "no unit is told: results will have none", where))
        elif unknown:
            found.append(Finding("units", WRONG, f"there is no unit `{unknown[0]}` (`{unit}`)", where))
        for system, symbols in SYSTEMS.items():
            if symbols & set(words):
                systems.setdefault(system, f"{where} in `{unit}`")
    if len(systems) > 1:
        found.append(Finding("units", NOTE, "units of cgs beside those of SI: " + " and ".join(systems.values())))
    return [Finding("units", GOOD, CHECKS["units"]), *found]


def _waits(told: list[dict[str, Any]]) -> list[Finding]:
    """Who waited, for whom, and what those called last."""
    waits = [line for line in told if line["kind"] == "waits"]
    if not waits:
        return []
    wait = min(waits, key=lambda line: (line["number"], line["rank"]))
    calls: dict[int, list[str]] = {line["rank"]: [] for line in told if line["kind"] == "rank"}
    for line in told:
        if line["kind"] == "call":
            calls[line["rank"]].append(line["call"])
    found = []
    for rank, made in sorted(calls.items()):
        if len(made) >= wait["number"]:
            continue
        last = f"its last call was `{made[-1]}`, the {len(made)}th" if made else "it has made none"
        found.append(
            Finding(
                "calls",
                WRONG,
                f"it does not come to `{wait['call']}`, call {wait['number']} of the others: {last}",
                f"rank {rank}",
            )
        )
    return found
