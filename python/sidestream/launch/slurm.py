"""`sidestream launch --slurm`: a script for Slurm that takes a run to its end, in as many jobs as that takes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..error import Error, UsageError
from .simulation import RunRequest, check

PATIENCE_S = 600  # for which readers look for the run: it may wait for nodes
ENDED_BY = ("wall time", "signal of the system")  # in the event `ended_early`: what another job goes on after
SCRIPT = """#!/bin/bash
# {about}, in jobs of {time} until it is done: sbatch {script}
{options}

run={run}
told() {{ grep -s '"event":"'"$1"'"' "$run/events.jsonl"; }}
out_of_time() {{
  told ended_early | grep {causes} | tail -n 1 | grep -o '"step":[0-9]*'
}}

restart=()
if told checkpoint_committed > /dev/null; then restart=(--restart); fi
before=$(out_of_time)
{readers}{command} "${{restart[@]}}"
code=$?
after=$(out_of_time)
{waiting}
# Out of time, and farther than the job before: another one goes on from the checkpoint.
if [ "$after" != "$before" ]; then
  sbatch --dependency=afterany:"$SLURM_JOB_ID" {script} && exit 0
fi
exit $code
"""


WAITING = """# Readers end with the run; one that had not come by then would look for it longer.
if [ $code -ne 0 ] && [ "$after" = "$before" ]; then jobs -pr | xargs -r kill; fi
for _ in {1..60}; do
  if [ -z "$(jobs -pr)" ]; then break; fi
  sleep 1
done
jobs -pr | xargs -r kill
wait
"""


@dataclass(frozen=True)
class SlurmRequest:
    """A run, and how Slurm is asked for its jobs."""

    run: RunRequest
    script: Path
    time: str  # of one job, as Slurm has it: 12:00:00, 2-00:00:00
    stop_before_s: int = 300  # the end of a job, when the run is told to write its last checkpoint
    attached: Mapping[str, int] = field(default_factory=dict)  # tasks done by jobs beside the run, and their ranks
    options: Sequence[str] = ()  # of sbatch, such as --account=astro


def script(request: SlurmRequest) -> str:
    """The text of the script.

    Raises:
        UsageError: the run is refused, or a task that is to be done beside it is not streamed.
    """
    for path in (request.run.config, request.run.out, request.script):
        if "\n" in str(path) or "%" in path.name:
            raise UsageError("a script cannot name this: Slurm reads line by line, and `%` as its own", path)
    if not request.run.out.name:
        raise UsageError("a run in this folder has no name for Slurm", request.run.out, "name one with --out")
    verdict = check(request.run, as_json=True)
    if verdict.code != 0:
        problem = Error.from_text(verdict.messages.strip() or "error: the configuration is refused")
        raise UsageError(problem.what, problem.where, problem.hint)
    _check_tasks(request, json.loads(verdict.output)["tasks"])
    run, script_name = str(request.run.out), shlex.quote(str(request.script))
    launcher = request.run.launcher or ("srun --exact" if request.attached else "srun")  # steps side by side
    ranks = verdict.processes(request.run.ranks)
    options = [
        f"--job-name={shlex.quote(request.run.out.name)}",
        f"--ntasks={ranks + sum(request.attached.values())}",
        *([f"--cpus-per-task={verdict.threads()}"] if verdict.threads() > 1 else []),
        f"--time={request.time}",
        f"--signal=USR1@{request.stop_before_s}",
        f"--output={shlex.quote(request.run.out.name + '.log')}",
        "--open-mode=append",
        *request.options,
    ]
    readers = [
        f"sidestream attach {shlex.quote(run)} --task {shlex.quote(task)} -n {count} --patience {PATIENCE_S} "
        f"--launcher {shlex.quote(launcher)} &\n"
        for task, count in request.attached.items()
    ]
    words = ["sidestream", "run", str(request.run.config), "-n", str(request.run.ranks), "--out", run]
    words += [word for setting in request.run.settings for word in ("--set", setting)]
    return SCRIPT.format(
        about=f"{request.run.config} on {ranks} ranks",
        time=request.time,
        script=script_name,
        options="\n".join(f"#SBATCH {option}" for option in options),
        run=shlex.quote(run),
        causes=" ".join(f"""-e '"by":"{cause}"'""" for cause in ENDED_BY),
        readers="".join(readers),
        waiting=WAITING if readers else "",
        command=shlex.join([*words, "--launcher", launcher]),
    )


def _check_tasks(request: SlurmRequest, tasks: Sequence[Mapping[str, str]]) -> None:
    ways = {task["name"]: task["transport"] for task in tasks}
    for name in request.attached:
        if name not in ways:
            known = ", ".join(task for task, way in ways.items() if way == "stream") or "none is streamed"
            raise UsageError(f"there is no task `{name}`", request.run.config, f"tasks that are streamed: {known}")
        if ways[name] != "stream":
            raise UsageError(
                f"task `{name}` is not streamed: its transport is {ways[name]}",
                request.run.config,
                f"add `--set task.{name}.transport=stream`, or leave `--attach {name}` out",
            )
