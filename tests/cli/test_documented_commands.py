"""Every command that README, guides and reference show is understood, and is run by a test or says why it is not."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import tomllib
import typer

import sidestream
from calls import command, running
from documented import PROGRAM, ROOT, Command, blocks, commands, configurations, lines_of_shells
from run_elsewhere import BY_ANOTHER_TEST, NOT_RUN
from sidestream.cli.commands import app
from sidestream.launch.launcher import find_program, mpi_environment
from sources import OPTION, says

COMMANDS = commands()
GUIDES = ROOT / "docs/guides"


class Step(NamedTuple):
    """A documented command, and what makes it short."""

    line: str
    more: str = ""
    code: int = 0


class Story(NamedTuple):
    """Commands of a page in their order, in a folder with the configurations that the page shows."""

    page: str
    steps: tuple[Step, ...]
    shown: dict[str, int] = {}  # by name, which whole configuration of the page
    runs: str = ""  # what is run before, which the page takes to be there
    files: dict[str, str] = {}  # by the name that the page has for it, what that has made
    is_slow: bool = False


SMALL = "--set mesh.cells=[16,16,16] --set mesh.block=8"
UNIVERSE = """simulation = "cosmology"
run.max_steps = 2
mesh = { cells = [16, 16, 16], block = 8 }
cosmology = { box = "60 Mpc/h", z_start = 8, z_end = 2 }
heating.uv_background = "onorbe17_early"
[task.tree]
analysis = "merge_tree"
every = 1
cut_off = "1.02 mean"
[task.nyx]
write = "plotfile"
format = "nyx"
every = 1
[task.stored]
analysis = "pdf"
transport = "file"
every = 1
[output]
plotfile = { format = "flash", every = 1 }
checkpoint = { format = "sidestream", every = 1 }
"""
FLOW = """simulation = "turbulence"
run.max_steps = 1
mesh = { cells = [16, 16, 16], block = 8 }
turbulence.viscosity = 0.1
[output]
plotfile = { every = 1, grid = "space" }
"""
QUICK_FILES = "--blocks 1 --repetitions 1 --formats raw"
# Pieces of plot files are no small writes.
QUICK_COUNTS = "--blocks 8 --repetitions 1 --formats flash --methods aggregated,hdf5-independent,mpiio-independent"
OF_THE_RUN = {"runs/demo": "made", "runs/cosmo/sidestream_hdf5_plt_cnt_0012": "made/sidestream_hdf5_plt_cnt_0002"}
STORIES = (
    Story(
        "docs/guides/first_run.md",
        (
            Step("sidestream check examples/cosmology.toml -n 2"),
            Step(
                "sidestream run examples/cosmology.toml -n 2 --out runs/mine --set cosmology.seed=8",
                f'{SMALL} --set "cosmology.box=57 Mpc" --set run.max_steps=2',
            ),
            Step("sidestream info runs/mine"),
            Step("sidestream plot runs/mine"),
            Step(
                "sidestream run examples/cosmology.toml -n 4 --out runs/mine --set cosmology.seed=8 --restart",
                f'{SMALL} --set "cosmology.box=57 Mpc" --set run.max_steps=3',
            ),
            Step(
                "mpirun -n 2 sidestream-run examples/cosmology.toml --out runs/plain",
                f'--quiet {SMALL} --set "cosmology.box=57 Mpc" --set run.max_steps=1',
            ),
        ),
        is_slow=True,
    ),
    Story(
        "docs/guides/first_run.md",
        (
            Step("sidestream check run.toml -n 4"),
            Step(
                "sidestream run run.toml -n 4 --out runs/box",
                f'{SMALL} --set "cosmology.box=57 Mpc" --set run.max_steps=2',
            ),
            Step("sidestream watch runs/box"),
            Step("sidestream bill runs/box"),
            Step(
                "sidestream run run.toml -n 3 --out runs/box --restart",
                f'{SMALL} --set "cosmology.box=57 Mpc" --set run.max_steps=3',
            ),
            Step("sidestream verify runs/box"),
            Step(
                "mpirun -n 2 sidestream-run run.toml",
                f'--quiet {SMALL} --set "cosmology.box=57 Mpc" --set run.max_steps=1',
            ),
        ),
        shown={"run.toml": 0},
    ),
    Story(
        "docs/guides/files.md",
        (
            Step("sidestream info sedov_hdf5_chk_0010"),
            Step("sidestream verify runs/demo"),
            Step("sidestream convert runs/cosmo/sidestream_hdf5_plt_cnt_0012 plt00012 --format nyx -n 2"),
            Step("sidestream convert plt00120 demo_hdf5_plt_cnt_0120 --format flash"),
            Step("sidestream run box.toml -n 8 --from plt00120", "--set run.max_steps=3 --launcher {few}"),
            Step("sidestream analyze runs/demo/plt* --out later -n 8", "--launcher {few}"),
            Step("sidestream analyze runs/demo/plt00165 --task halos"),
            Step("sidestream analyze plt00123 --task phase"),
            Step("sidestream analyze plt00123 --config tasks.toml --out statistics"),
        ),
        runs=UNIVERSE,
        files=OF_THE_RUN
        | {
            "sedov_hdf5_chk_0010": "made/sidestream_hdf5_plt_cnt_0001",
            "plt00120": "made/nyx/plt00002",
            "runs/demo/plt00165": "made/nyx/plt00002",
            "plt00123": "made/nyx/plt00002",
            "box.toml": "made.toml",
        },
    ),
    Story(
        "docs/guides/halos.md",
        (
            Step("sidestream halos find runs/demo/plt00165 -n 2"),
            Step('sidestream halos find DD0046 --t-boundary "60 mean" --t-halo "100 mean" -o halos.csv'),
            Step(
                'sidestream halos query runs/box/results/tree/000150.nc --t-boundary "60 mean" --t-halo "100 mean"',
            ),
            Step(
                'sidestream halos query runs/box/results/tree/000150.nc --t-boundary "150 mean" '
                '--t-halo "500 mean" -n 4 -o dense.nc'
            ),
        ),
        runs=UNIVERSE,
        files={
            "runs/demo/plt00165": "made/nyx/plt00002",
            "DD0046": "made/sidestream_hdf5_plt_cnt_0002",
            "runs/box/results/tree/000150.nc": "made/results/tree/00002.nc",
        },
    ),
    Story(
        "docs/guides/compression.md",
        (Step('sidestream convert plt00120 small --format sidestream --compress density="zfp 1e-3 relative",zstd'),),
        runs=UNIVERSE,
        files={"plt00120": "made/nyx/plt00002"},
    ),
    Story(
        "docs/guides/refine.md",
        (
            Step("sidestream check examples/double_mach.toml -n 2"),
            Step(
                "sidestream run examples/double_mach.toml -n 2 --out runs/mach",
                "--set amr.max_level=1 --set run.max_steps=2",
            ),
            Step("sidestream watch runs/mach"),
        ),
        is_slow=True,
    ),
    Story(
        "docs/guides/lattice_boltzmann.md",
        (
            Step("sidestream check tunnel.toml"),
            Step("sidestream run tunnel.toml -n 2 --out runs/tunnel", "--set run.max_steps=20"),
        ),
        shown={"tunnel.toml": 0},
        is_slow=True,
    ),
    Story(
        "docs/guides/turbulence.md",
        (
            Step("sidestream check vortex.toml"),
            Step("sidestream run vortex.toml -n 2 --out runs/vortex", f"{SMALL} --set run.max_steps=2"),
        ),
        shown={"vortex.toml": 0},
        is_slow=True,
    ),
    Story(
        "docs/guides/turbulence_statistics.md",
        (Step("sidestream analyze plt00100 --config vortices.toml --out runs/vortices"),),
        runs=FLOW,
        files={"plt00100": "made/plt00001"},
    ),
    Story(
        "docs/reference/io_performance.md",
        (
            Step("sidestream bench io -n 4 --folder /scratch", QUICK_FILES),
            Step("sidestream bench io -n 4 --folder /scratch --json > io4.json", QUICK_COUNTS),
            Step("python bench/io_tables.py io4.json"),
            Step("python bench/io_at_scale.py"),
            Step("python bench/io_at_scale.py --check io4.json"),
        ),
        is_slow=True,
    ),
    Story(
        "docs/guides/own_analysis.md",
        (Step("sidestream run dense.toml -n 2", "--set mesh.cells=[16,16,16] --set mesh.block=8"),),
        shown={"dense.toml": 0},
    ),
    Story(
        "docs/guides/coupling.md",
        (
            Step("sidestream analyze runs/demo -n 16", "--launcher {few}"),
            Step("sidestream analyze runs/box -n 16", "--launcher {few}"),
            Step("sidestream analyze runs/box --config mine.toml --out results -n 16", "--launcher {few}"),
            Step(
                "sidestream run box.toml --set task.halos.transport=file --out runs/box",
                '--set task.halos.analysis=halos --set task.halos.every=1 --set "task.halos.t_boundary=1.02 mean" '
                '--set "task.halos.t_halo=1.05 mean" --set run.max_steps=1 --overwrite',
            ),
        ),
        runs=UNIVERSE,
        files={"runs/demo": "made", "runs/box": "made", "box.toml": "made.toml"},
    ),
    Story(
        "docs/guides/coupling.md",
        (
            Step("sidestream analyze runs/box/snapshots/plt00120.raw --config mine.toml --out results"),
            Step(
                "gdb --args sidestream-run mine.toml --analyze --from runs/box/snapshots/plt00120.raw --out results",
                "--overwrite",
            ),
        ),
        runs=UNIVERSE,
        files={"runs/box/snapshots/plt00120.raw": "made/snapshots/plt00002.raw"},
    ),
    Story("docs/guides/streams.md", (Step("sidestream keys keys"),)),
    Story("CONTRIBUTING.md", (Step("make help"),)),
)
ENTRY = typer.main.get_command(app)


def words_of(line: str) -> list[str]:
    """Those of the first command of a line, without where its output goes."""
    words = shlex.split(line)
    return words[: next((i for i, word in enumerate(words) if word in (">", "&&", "|")), len(words))]


@pytest.mark.parametrize("shown", [c for c in COMMANDS if c.line.startswith("sidestream ")], ids=lambda c: c.line)
def test_the_command_line_understands_it(shown: Command) -> None:
    entry, words = ENTRY, words_of(shown.line)[1:]
    while hasattr(entry, "commands"):
        words = words[sum(parameter.param_type_name == "argument" for parameter in entry.params) :]
        name, entry, words = entry.resolve_command(entry.context_class(entry), words)

    entry.make_context(entry.name, [word for word in words if not word.startswith("$")])


def test_files_and_targets_that_are_named_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    presets = set(re.findall(r'"name": "(\w+)"', (ROOT / "CMakePresets.json").read_text()))
    for shown in COMMANDS:
        words = shlex.split(shown.line)
        named = [word for word in words if re.match(r"(bench|examples|tools)/\S+\.(py|sh|toml)$", word)]
        assert all((ROOT / name).is_file() for name in named), shown
        assert words[0] != "make" or words[1] in targets, shown
        assert "--preset" not in words or words[words.index("--preset") + 1] in presets, shown
        assert words[0] != "pip" or set(re.findall(r"\[(\w+)\]", shown.line)) <= set(extras), shown


def test_every_line_of_a_shell_begins_with_a_program() -> None:
    """What no shell is told stands in blocks of a language, or of `text`."""
    assert [shown for shown in lines_of_shells() if not PROGRAM.match(shown.line)] == []


def test_each_is_run_by_a_test_or_says_why_not() -> None:
    told = {Command(story.page, step.line) for story in STORIES for step in story.steps}
    patterns = [pattern for table in (BY_ANOTHER_TEST, NOT_RUN) for patterns in table.values() for pattern in patterns]

    left = [c for c in COMMANDS if c not in told and not any(re.fullmatch(p, c.line) for p in patterns)]

    assert left == []
    assert told <= set(COMMANDS)
    assert [p for p in patterns if "|" in p or not any(re.fullmatch(p, c.line) for c in COMMANDS)] == []


@pytest.mark.parametrize("test", BY_ANOTHER_TEST)
def test_the_other_tests_make_these_calls(test: str) -> None:
    file, _, name = test.partition("::")
    found = rf"def {name}\(|TEST\w*\(\w+, {name}\)|add_test\(NAME {name}\b"
    assert re.search(found, (ROOT / file).read_text(encoding="utf-8"))
    lines = [c.line for c in COMMANDS if any(re.fullmatch(p, c.line) for p in BY_ANOTHER_TEST[test])]
    wanted = {line: keys_of(line) if file.endswith(".cpp") else words_that_count(line) for line in lines}

    assert {line: unsaid for line, words in wanted.items() if (unsaid := words - says(test))} == {}


def words_that_count(line: str) -> set[str]:
    """What a command does, by its name, the options that are asked for, and programs and sources of this project."""
    words = words_of(line)
    options = {word.partition("=")[0] for word in words if re.match(OPTION, word)} - {"--out"}
    files = {Path(word).stem for word in words if (ROOT / word).is_file() and not word.endswith(".toml")}
    if words[0] != "sidestream":
        compiled = {word.removeprefix("./") for word in words if word.startswith("./")}
        variables = set(re.findall(r"^([A-Z_]+)=", line))
        programs = set(words[:1]) & {"make", "mpicc", "mpif90", "pytest", "cmake", "ctest", "sbatch"}
        return options | files | compiled | variables | programs
    entry, names, words = ENTRY, set(), words[1:]
    while hasattr(entry, "commands"):
        words = words[sum(parameter.param_type_name == "argument" for parameter in entry.params) :]
        name, entry, words = entry.resolve_command(entry.context_class(entry), words)
        names |= {name} & set(words_of(line))  # not what is done where no name is said
    return names | options | files


def keys_of(line: str) -> set[str]:
    """The last parts of the keys that a command sets, all of it that a test without a command line can have."""
    return set(re.findall(r"--set \"?[\w.]*?(\w+)=", line))


# But where it begins with a file of another program.
@pytest.mark.parametrize(
    ("page", "text"), [each for each in configurations() if "initial_conditions = " not in each[1]]
)
def test_whole_configurations_are_valid(page: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(text)
    write_scripts(page, tmp_path)

    assert command(tmp_path, "check", "run.toml", "-n", 4).returncode == 0


@pytest.mark.parametrize(
    "story",
    [pytest.param(story, marks=[pytest.mark.slow] * story.is_slow, id=story.steps[0].line) for story in STORIES],
)
def test_commands_of_a_page_work_in_their_order(story: Story, made: dict[str, Path], tmp_path: Path) -> None:
    prepare(story, made, tmp_path)
    for step in story.steps:
        done = run(step, tmp_path)
        assert done.returncode == step.code, f"{step.line}\n{done.stdout}\n{done.stderr}"


def test_a_run_that_waits_for_a_reader_is_read(tmp_path: Path) -> None:
    """As the guide of streams has it, smaller; the other run that waits is that of `examples/stream/watch.sh`."""
    (text,) = [text for page, text in configurations() if page == "docs/guides/streams.md"]
    (tmp_path / "live.toml").write_text(text)
    small = shlex.split(f'--quiet {SMALL} --set "cosmology.box=57 Mpc" --set run.max_steps=11')

    with running(tmp_path, 1, "live.toml", *small) as run:
        steps = [snapshot.step for snapshot in sidestream.stream(tmp_path / "runs/live", "live", patience=60)]

        assert run.wait(timeout=60) == 0
    assert steps == [0, 10]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of each run that pages take to be there, beside its configuration."""
    folders = {}
    for text in (UNIVERSE, FLOW):
        folders[text] = tmp_path_factory.mktemp("made")
        (folders[text] / "made.toml").write_text(text)
        done = run(Step("mpirun -n 1 sidestream-run made.toml --out made --quiet"), folders[text])
        assert done.returncode == 0, done.stderr
    return folders


def prepare(story: Story, made: dict[str, Path], folder: Path) -> None:
    """Puts into the folder what the page takes to be there."""
    for name in ("bench", "examples", "tools", "Makefile"):
        (folder / name).symlink_to(ROOT / name)
    whole = [text for page, text in configurations() if page == story.page]
    for name, number in story.shown.items():
        (folder / name).write_text(whole[number])
    write_scripts(story.page, folder)
    for language, text in blocks(ROOT / story.page):
        if language == "toml" and "[task.curl]" in text:
            (folder / "vortices.toml").write_text(text)
    for name in ("tasks.toml", "mine.toml"):
        (folder / name).write_text('[task.pdf]\nanalysis = "pdf"\n')
    few = folder / "few"  # a launcher that starts two ranks, whoever asks for more
    few.write_text('#!/bin/sh\nshift 2\nexec mpirun --oversubscribe -n 2 "$@"\n')
    few.chmod(0o755)
    for name, source in story.files.items():
        path, origin = folder / name, made[story.runs] / source
        path.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            shutil.copytree(origin, path)
        else:
            shutil.copy(origin, path)


def write_scripts(page: str, folder: Path) -> None:
    """Writes the files in Python that a page shows, whose first line is their name."""
    for language, text in blocks(ROOT / page):
        named = re.match(r"# (\w+\.py)\b", text)
        if language == "python" and named:
            (folder / named[1]).write_text(text)


def run(step: Step, folder: Path) -> subprocess.CompletedProcess[str]:
    """A documented command as it stands, with what makes it short; its output in the file that it names."""
    line, _, output = step.line.partition(" > ")
    line = line.replace("/scratch", str(folder))
    words = shlex.split(f"{line} {step.more.replace('{few}', str(folder / 'few'))}")
    words = words[2:] if words[:2] == ["gdb", "--args"] else words  # no set-up installs a debugger
    words = [each for word in words for each in (sorted(map(str, folder.glob(word))) if "*" in word else [word])]
    if words[0] == "sidestream":
        done = command(folder, *words[1:])
    else:
        path = f"{find_program().parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = mpi_environment(os.environ, 4) | {"PATH": path}
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    if output:
        (folder / output).write_text(done.stdout)
    return done
