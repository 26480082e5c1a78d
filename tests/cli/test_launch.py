"""`sidestream launch --slurm`: its scripts, in a queue that stands for Slurm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sidestream
from calls import Done, command

# Two seconds of steps: it is told that its time is over long before it ends.
FLOW = """simulation = "vortex"
run.max_steps = 300
mesh = { cells = [256, 256, 1], block = 32 }
vortex.end = 1000
stream.wait_for = 1
[task.slice]
analysis = "slice"
fields = ["gas_density"]
transport = "stream"
every = 100
"""
TIME = r"([0-9]+-)?[0-9]+(:[0-9]+){0,2}"
# Of the options that Slurm's manual has, those that the script of a run may want.
OF_STEPS = (
    r"--exact",
    r"--overlap",
    r"--mem=[0-9]+[KMGT]?",
    r"--mpi=\w+",
    r"--nodes=[0-9]+",
    r"--cpus-per-task=[0-9]+",
)
OF_JOBS = (
    *(r"--test-only", r"--exclusive", r"--account=\w+", r"--partition=\w+", r"--qos=\w+", r"--constraint=\w+"),
    *(r"--job-name=.+", r"--output=.+", r"--error=.+", r"--open-mode=(append|truncate)", r"--mem=[0-9]+[KMGT]?"),
    *(r"--nodes=[0-9]+", r"--ntasks=[0-9]+", r"--ntasks-per-node=[0-9]+", r"--cpus-per-task=[0-9]+"),
    *(rf"--time={TIME}", r"--signal=([RB]:)?USR1@[0-9]+", r"--dependency=after(any|ok|notok|corr)?(:[0-9]+)+"),
)
KNOWN = """known() {{
  if ! grep -qxE -e '{}' <<< "$1"; then echo "unrecognized option '$1'" >&2; exit 2; fi
}}
"""
FAKES = {
    # Ranks by mpirun, which takes no option of Slurm; all of the first job are told that their time is over.
    "srun": KNOWN.format("|".join(OF_STEPS))
    + """while [ "$1" != -n ]; do known "$1"; shift; done
mpirun "$@" &
if [[ "$*" == *sidestream-attach* ]]; then echo $! > reader; fi
if [[ "$*" == *sidestream-run* && ! -e told ]]; then
  until grep -qs stream_attach runs/box/events.jsonl || ! kill -0 $!; do sleep 0.05; done
  touch told
  kill -USR1 $! $(cat reader)
fi
wait $!
""",
    # It looks at the words before the name of the script, and at those in it.
    "sbatch": KNOWN.format("|".join(OF_JOBS))
    + """sed -n 's/^#SBATCH //p' "${@: -1}" | xargs printf '%s\\n' > asked
for word in "${@:1:$# - 1}"; do echo "$word" >> asked; done
while read -r word; do known "$word"; done < asked
if [ "$1" != --test-only ]; then echo "$@" >> submitted; fi
""",
}
STEPPED = """mkdir -p runs/box
echo '{"event":"checkpoint_committed","step":%d}' >> runs/box/events.jsonl
echo '{"event":"ended_early","t":1.0,"by":"%s","step":%d,"crc32":"0"}' >> runs/box/events.jsonl
echo "$@" >> commands
exit 1
"""


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    """A folder with a configuration, and programs that stand for those of Slurm in `bin`."""
    (tmp_path / "box.toml").write_text(FLOW)
    (tmp_path / "bin").mkdir()
    for name, text in FAKES.items():
        put_program(tmp_path, name, text)
    return tmp_path


def put_program(queue: Path, name: str, text: str) -> None:
    path = queue / "bin" / name
    path.write_text(f"#!/bin/bash\n{text}")
    path.chmod(0o755)


def launched(queue: Path, *words: str) -> str:
    done = command(queue, "launch", "box.toml", "--slurm", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "box.sbatch\n"
    text = (queue / "box.sbatch").read_text()
    checked = subprocess.run(["bash", "-n", queue / "box.sbatch"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    taken = subprocess.run(
        [queue / "bin/sbatch", "--test-only", "box.sbatch"], cwd=queue, capture_output=True, text=True
    )
    assert taken.returncode == 0, taken.stderr
    return text


def job(queue: Path) -> Done:
    """The script, as Slurm starts it."""
    places = [queue / "bin", Path(sys.executable).parent, os.environ["PATH"]]
    environment = os.environ | {"PATH": os.pathsep.join(map(str, places)), "SLURM_JOB_ID": "7"}
    line = ["bash", shutil.copy(queue / "box.sbatch", queue / "slurm_script")]  # Slurm has a copy of its own
    return subprocess.run(line, cwd=queue, env=environment, capture_output=True, text=True, timeout=120)


def submitted(queue: Path) -> list[str]:
    path = queue / "submitted"
    return path.read_text().splitlines() if path.exists() else []


def test_a_run_with_a_reader_goes_on_in_another_job_where_it_ran_out_of_time(queue: Path) -> None:
    text = launched(queue, "-n", "1", "--attach", "slice=1", "--sbatch=--account=astro")
    options = [line.split()[1] for line in text.splitlines() if line.startswith("#SBATCH ")]
    assert {"--ntasks=2", "--time=12:00:00", "--signal=USR1@300", "--account=astro"} <= set(options)

    first = job(queue)

    assert first.returncode == 0, first.stderr
    assert submitted(queue) == ["--dependency=afterany:7 box.sbatch"]

    second = job(queue)

    assert second.returncode == 0, second.stderr
    assert len(submitted(queue)) == 1
    run = sidestream.open(queue / "runs/box")
    assert run.status == "finished"
    assert len(run.events.of("run_start")) == 2
    assert run.events.last("ended_early")["step"] < 300
    assert {0, 300} <= set(run.steps("slice"))


@pytest.mark.parametrize(
    ("by", "steps", "asked_for"),
    [
        ("signal of the system", [4, 8], 2),
        ("wall time", [4, 4], 1),  # no farther than the job before
        ("signal of the user", [4, 8], 0),
    ],
)
def test_another_job_is_asked_for_where_time_was_short_and_it_got_farther(
    by: str, steps: list[int], asked_for: int, queue: Path
) -> None:
    launched(queue)
    for step in steps:
        put_program(queue, "sidestream", STEPPED % (step, by, step))
        job(queue)

    assert len(submitted(queue)) == asked_for
    begun, gone_on = (queue / "commands").read_text().splitlines()
    assert "--restart" not in begun
    assert gone_on == begun + " --restart"


def test_a_run_that_fails_ends_its_readers_and_asks_for_no_other_job(queue: Path) -> None:
    launched(queue, "-n", "2", "--attach", "slice=1")
    put_program(queue, "sidestream", '[ "$1" = attach ] && exec sleep 200\nexit 3\n')

    assert job(queue).returncode == 3
    assert submitted(queue) == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "no queue is named"),
        (["--slurm", "--time", "soon"], "`soon` is no time as Slurm has it"),
        (["--slurm", "--time", "1:99:00"], "is no time as Slurm has it"),
        (["--slurm", "--time", "5"], "told to stop 300 s before the end of a job of 5"),
        (["--slurm", "--stop-before", "100000", "--time", "9-00"], "less than the time of a job and than 65536 s"),
        (["--slurm", "--sbatch", "account=astro"], "is no option of sbatch"),
        (["--slurm", "--sbatch", "--x=a\nrm -rf ."], "is no option of sbatch"),
        (["--slurm", "--out", "."], "has no name for Slurm"),
        (["--slurm", "--out", "a%j"], "a script cannot name this"),
        (["--slurm", "--attach", "slice"], "`slice` is no task with its ranks"),
        (["--slurm", "--attach", "slice=²"], "is no task with its ranks"),
        (["--slurm", "--attach", "slice=1", "--attach", "slice=2"], "the ranks of `slice` are said twice"),
        (["--slurm", "--attach", "slices=2"], "tasks that are streamed: slice"),
        (["--slurm", "--attach", "slice=2", "--set", "task.slice.transport=async"], "is not streamed"),
        (["--slurm", "--set", "mesh.block=7"], "`block` is 7"),
    ],
)
def test_what_cannot_be_launched_is_refused(words: list[str], complaint: str, queue: Path) -> None:
    done = command(queue, "launch", "box.toml", *words)

    assert done.returncode == 2
    assert complaint in done.stderr
    assert not (queue / "box.sbatch").exists()


def test_a_configuration_is_not_replaced_by_its_script(queue: Path) -> None:
    done = command(queue, "launch", "box.toml", "--slurm", "--overwrite", "-o", "./box.toml")

    assert done.returncode == 2
    assert "would replace the configuration" in done.stderr
    assert (queue / "box.toml").read_text() == FLOW


def test_a_script_that_is_there_is_kept(queue: Path) -> None:
    launched(queue)
    (queue / "box.sbatch").write_text("mine")

    assert command(queue, "launch", "box.toml", "--slurm").returncode == 2
    assert (queue / "box.sbatch").read_text() == "mine"
    words = ("--attach", "slice=1", "--set", "task.slice.every=50", "--overwrite")
    assert "task.slice.every=50" in launched(queue, *words)


@pytest.mark.parametrize(
    "words", [("srun", "--exactly", "-n", "1", "true"), ("sbatch", "--dependancy=afterany:7", "box.sbatch")]
)
def test_the_queue_takes_no_option_that_slurm_does_not_know(words: tuple[str, ...], queue: Path) -> None:
    launched(queue)

    done = subprocess.run([queue / "bin" / words[0], *words[1:]], cwd=queue, capture_output=True, text=True)

    assert done.returncode == 2 and f"unrecognized option '{words[1]}'" in done.stderr
    assert submitted(queue) == []
