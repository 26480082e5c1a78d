#!/usr/bin/env python3
"""Plays `sidestream-run` in the tests of the launcher and the command line.

`--set fake.mode=WORD` chooses what it does: work (default), fail, crash, silent-fail, slow, stubborn, noisy, full,
full-at-once (before a checkpoint), long... (some seconds), files (it writes checkpoints, one of which fails), torn
(events are lost). With `fake.sidecars` an analysis takes ten steps; with `fake.beside=N` the first step is taken once
N runs have begun in the folder above, or a minute later.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

MISTAKE = "error: there is no key `mesh.cels`\n  --> {config}:3:1, key `mesh.cels`\nhint: did you mean `mesh.cells`?\n"


def main() -> int:
    options, settings = parse(sys.argv[1:])
    config, out = options["config"], Path(options.get("--out", "out"))
    mode = settings.get("fake.mode", "work")
    if "--check" in options:
        return check(config, options)
    rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", "0"))
    stop = Stop(stubborn=mode == "stubborn")
    if mode == "fail":  # every rank says it, as a careless program would
        sys.stderr.write("error: the disk is full\n  --> rank 0\nhint: make room and use --restart\n")
        return 1
    if mode == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "silent-fail":
        return 3
    if rank == 0:
        return work(out, "--restart" in options, settings, stop)
    while not stop.asked and not (out / "done").exists():
        time.sleep(0.02)
    return 0


def parse(words: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    options: dict[str, str] = {}
    settings: dict[str, str] = {}
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--set":
            key, _, value = words.pop(0).partition("=")
            settings[key] = value
        elif word in ("--out", "--ranks", "--from"):
            options[word] = words.pop(0)
        elif word.startswith("--"):
            options[word] = ""
        else:
            options["config"] = word
    return options, settings


def check(config: str, options: dict[str, str]) -> int:
    if not Path(config).is_file():
        sys.stderr.write(f"error: there is no configuration file\n  --> {config}\n")
        return 2
    if "cels" in Path(config).read_text():
        sys.stderr.write(MISTAKE.format(config=config))
        return 2
    ranks = int(options.get("--ranks", "1")) + int(os.environ.get("FAKE_EXTRA_SIDECARS", "0"))
    print(json.dumps({"ranks": ranks}) if "--json" in options else f"ranks: {ranks}\nmemory: 120 MiB")
    return 0


class Stop:
    def __init__(self, stubborn: bool) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN if stubborn else self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True


def wait_for_runs(family: Path, count: int) -> None:
    end = time.monotonic() + 60
    while len(list(family.glob("*/config.toml"))) < count and time.monotonic() < end:
        time.sleep(0.02)


def work(out: Path, restart: bool, settings: dict[str, str], stop: Stop) -> int:
    mode = settings.get("fake.mode", "work")
    out.mkdir(parents=True, exist_ok=True)
    (out / "done").unlink(missing_ok=True)
    (out / "config.toml").write_text('simulation = "cosmology"\n[task.halos]\nanalysis = "halos"\n')
    wait_for_runs(out.parent, int(settings.get("fake.beside", "1")))
    steps = 10**6 if mode in ("slow", "stubborn") else 200 if mode.startswith("long") else 10
    start, began, status = (5 if restart else 0), time.monotonic(), "finished"
    details: dict[str, str] = {}
    sys.stderr.write("step 1  z 49.000  1 %  0.02 s a step\n")
    with (out / "events.jsonl").open("a" if restart else "w") as log:

        def write(event: str, **details: object) -> None:
            log.write(json.dumps({"event": event, "t": time.monotonic() - began, **details}) + "\n")
            log.flush()

        ranks = int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1"))
        write("run_start", simulation="cosmology", ranks=ranks, sidecars=0, cells=[8, 8, 8], tasks=["halos"])
        for step in range(start + 1, steps + 1):
            time.sleep(0.02)
            redshift = 50.0 * (1 - step / steps) + 2
            write("step", step=step, redshift=redshift, wall_s=0.02, progress=step / steps)
            if step % 5 == 0:
                common = {"task": "halos", "step": step, "redshift": redshift}
                write("publish", **common, transport="in-transit", pack_s=0.001, wait_s=0.0, bytes=4096, action="sent")
                if "fake.sidecars" in settings and step % 20 == 5:  # its analysis takes ten steps
                    write("analysis_begun", **common, analysis="halos", group="sidecar")
                if "fake.sidecars" not in settings:
                    write("analysis", **common, start=0.0, wait_s=0.0, compute_s=0.004, summary="3 halos")
                elif step % 20 == 15:
                    ended = common | {"step": step - 10, "group": "sidecar"}
                    write("analysis", **ended, start=0.0, wait_s=0.0, compute_s=0.2, summary="3 halos")
            if mode == "files" and step % 5 == 0:
                write("checkpoint", step=step, path=f"{out}/chk{step:05d}.hdf5_chk", bytes=21000000, write_s=0.25)
            if mode == "files" and step == 3:
                write(
                    "checkpoint_failed", step=step, path=f"{out}/chk00003.hdf5_chk", message="error: the disk is full"
                )
            if mode == "torn" and step == 3:
                sys.stderr.write(f"warning: events are lost: No space left on device\n  --> {out}/events.jsonl\n")
            if mode == "noisy" and step == 3:
                sys.stderr.write(
                    "warning: the box is small\n" + "-" * 74 + "\nA notice of the launcher\n" + "-" * 74 + "\n"
                )
            if stop.asked:
                write("checkpoint_committed", step=step, path=f"{out}/chk{step:05d}.hdf5_chk")
                status = "interrupted"
                break
            if mode == "full" and step == 5:
                write("checkpoint_committed", step=step, path=f"{out}/chk{step:05d}.hdf5_chk")
            if mode in ("full", "full-at-once") and step == 5:
                status, details["reason"] = "stopped", "the mesh would grow too large"
                break
        write("run_end", status=status, wall_s=time.monotonic() - began, steps=step, **details)
    (out / "done").touch()
    return 0 if status == "finished" else 1


if __name__ == "__main__":
    sys.exit(main())
