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
from documented import ROOT, Command, blocks, commands, configurations
from sidestream.cli.commands import app
from sidestream.launch.launcher import find_program, mpi_environment

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
    Story("docs/guides/streams.md", (Step("sidestream keys keys"),)),
    Story("CONTRIBUTING.md", (Step("make help"),)),
)
STEERED = "tests/cli/test_steering.py::test_what_is_set_and_paused_is_told_in_the_events"
EXAMPLES = "tests/cli/test_examples.py::test_each_example_runs_and_leaves_results"
BUILT = "tests/python/test_new.py::test_what_is_made_passes_the_tests_that_are_named"
# What tests run that have more to say about it, by a pattern of the command.
BY_ANOTHER_TEST = {
    r"sidestream conformance -- .*": "tests/cli/test_conformance.py::test_a_good_program_passes",
    r"sidestream archive .* --wait": (
        "tests/cli/test_archive.py::test_everything_with_a_final_name_is_copied_and_described"
    ),
    r"sidestream archive runs/demo \S+": "tests/cli/test_archive.py::test_a_copy_goes_on_when_the_command_has_ended",
    r"sidestream archive (list|verify) .*": (
        "tests/cli/test_archive.py::test_damage_is_named_in_every_kind_of_file_and_mended"
    ),
    r"sidestream archive get .*": "tests/cli/test_archive.py::test_parts_come_back_without_the_rest",
    r"sidestream halos find density.npy .*": (
        "tests/cli/test_plain_arrays.py::test_halos_of_an_array_are_those_of_the_function"
    ),
    r"sidestream analyze fields.h5:/gas .*": "tests/cli/test_plain_arrays.py::test_all_arrays_of_a_file_are_fields",
    r"sidestream analyze density_\*.npy .*": (
        "tests/cli/test_plain_arrays.py::test_a_series_of_arrays_has_the_steps_of_their_names"
    ),
    r"sidestream new analysis mean_age --checkout .": (
        "tests/python/test_new.py::test_what_is_made_is_formatted_and_in_its_layer"
    ),
    r"sidestream new (analysis mean_age|simulation heat)|mpirun -n 2 python heat.py .*"
    r"|sidestream run mean_age.toml -n 2|pytest test_mean_age.py": (
        "tests/python/test_new.py::test_files_of_ones_own_pass_their_test"
    ),
    r"cmake --build build/release --target test_\w+|ctest --preset release -R \w+": BUILT,
    r"cmake --build build/release --target sidestream-run|mpirun -n 2 build/release/apps/sidestream-run box.toml": (
        "tests/python/test_new.py::test_what_is_made_is_run_by_what_was_built"
    ),
    r"sidestream bench io --case .*": "tests/cli/test_bench_cases.py::test_a_case_by_the_model_alone_is_a_table",
    r"sidestream bench transfer .*": "tests/cli/test_bench_cases.py::test_transfers_bring_every_value_by_every_way",
    r"sidestream bench move .*": "tests/cli/test_bench.py::test_every_strategy_moves_every_cell",
    r"sidestream bench fft .*": "tests/cli/test_bench.py::test_a_sinusoid_leaves_one_mode",
    r"sidestream analyze runs/demo -n 16": "tests/cli/test_stored.py::test_what_is_missing_is_made_and_nothing_else",
    r"sidestream check box.toml -n 512": "tests/cli/test_commands.py::test_check_for_programs_is_json",
    r"sidestream analyze plt00123 --task gimlet .*": (
        "tests/cli/test_plot_files_analysed.py::test_results_of_a_plot_file_are_those_of_the_run"
    ),
    r"sidestream run box.toml -n 2 --from plt00012 .*|sidestream verify runs/cosmo -n 2": (
        "tests/cli/test_documented_commands.py::test_commands_of_a_page_work_in_their_order"
    ),
    r"sidestream run box.toml -n 4 --out runs/box|sidestream plot runs/box --task halos|sidestream zoom .*"
    r"|sidestream run zoom.toml .*": (
        "tests/cli/test_zoom.py::test_a_zoom_runs_and_has_fine_particles_where_the_halo_came_from"
    ),
    r"sidestream run run.toml -n 8 .* --set amr.max_blocks=400000": (
        "tests/sims/refined_run_test.cpp::AMeshThatOutgrowsItsBlocksEndsTheRunWithACheckpointToGoOnFrom"
    ),
    r"mpicc examples/hosts/wave.c .*|mpirun -n 2 ./wave .*": (
        "tests/cli/test_hosts.py::test_a_program_gets_its_own_numbers"
    ),
    r"sidestream info runs": ("tests/cli/test_commands.py::test_info_of_a_folder_of_runs_is_a_table_of_them"),
    r"mpicc -c .*/sidestream_stub.c .*|mpif90 .* sidestream_stub.o .*|SIDESTREAM_LIBRARY=\S+ mpirun .*": (
        "tests/cli/test_hosts.py::test_a_program_with_the_stub_runs_without_the_library_and_uses_one_that_is_there"
    ),
    r"mpirun -n 4 python my_script.py": "tests/python/test_mpi_blocks.py::test_blocks_have_the_results_of_the_whole",
    r"mpirun -n 4 python examples/redistribution/tiff_bricks.py .*": (
        "tests/python/test_redistribution.py::test_a_stack_of_images_becomes_bricks"
    ),
    r"sidestream (check|run) lya.toml( -n 2)?": (
        "tests/cli/test_initial_conditions.py::test_a_run_begins_with_the_particles_of_the_file"
    ),
    r"sidestream run (lya.toml --out lya|forest.toml|examples/(lya_wdm|mergers).toml) .*"
    r"|sidestream run (forest|examples/mergers).toml -n 2|sidestream plot runs/forest .*": EXAMPLES,
    r"sidestream analyze PLOTFILE --config through_halos.toml": (
        "tests/cli/test_plot_files_analysed.py::test_an_analysis_is_done_with_its_defaults"
    ),
    r"python examples/lya_wdm.py .*": (
        "tests/python/test_lya_wdm.py::test_the_newest_results_of_the_runs_are_drawn_into_a_file"
    ),
    r"sidestream (view|display) .*": "tests/cli/test_display.py::test_the_page_ends_with_ctrl_c",
    r"sidestream movie .*|examples/wind_tunnel/watch.sh .*": (
        "tests/cli/test_examples.py::test_one_command_starts_a_run_and_its_readers"
    ),
    r"sidestream regions classify .*": "tests/cli/test_regions.py::test_a_function_of_ones_own_sorts_the_regions",
    r"sidestream run examples/sedov.toml .* --steer|sidestream steer .*": STEERED,
    r"sidestream run .* --replay .*": "tests/cli/test_steering.py::test_the_same_run_again_on_other_ranks",
    r"sidestream attach runs/live .*": (
        "tests/cli/test_streams.py::test_results_are_those_of_in_situ_from_any_ranks_to_any"
    ),
    r"sidestream run (live.toml|examples/stream/blast.toml) .*": (
        "tests/cli/test_documented_commands.py::test_a_run_that_waits_for_a_reader_is_read"
    ),
    r"sidestream attach 'tcp:.*": "tests/cli/test_streams.py::test_a_colleague_is_let_in_by_his_public_key",
    r"(GLIBC_TUNABLES=\S+|ld.so) .*": (
        "tests/cli/test_instruction_sets.py::test_results_are_the_same_to_the_bit_with_any_instruction_set"
    ),
    r"sidestream launch box.toml .*|sbatch box.sbatch": (
        "tests/cli/test_launch.py::test_a_run_with_a_reader_goes_on_in_another_job_where_it_ran_out_of_time"
    ),
    r"sidestream sweep .*": "tests/cli/test_sweep.py::test_every_combination_has_a_run_and_a_line_of_the_table",
    r"sidestream compare .*": "tests/cli/test_compare.py::test_chi_squared_is_that_of_the_tables",
    r"python bench/fft_at_scale_smpi.py": (
        "tests/python/test_fft_at_scale_smpi.py::test_pairwise_steps_are_near_those_of_a_simulated_mpi"
    ),
    r"python bench/lognormal_field.py .*": (
        "tests/python/test_lognormal_halos.py::test_one_tree_answers_like_two_catalogues"
    ),
}
# What no test of this project can run, by a pattern of the command; the files and targets that it names are there.
NOT_RUN = {
    r"make (demo|test|lint|docs|tidy|bench|fuzz|wheels|sanitize|sanitize-threads|test-\w+)": "set-ups and whole suites",
    r"source .*|export .*|pip install .*": "installs, or changes the shell",
    r"cmake .*": "builds everything from nothing; .ci/run does",
    r"python bench/.*|(mpirun -n 1 )?build/release/bench/.*": "minutes, on figures of a machine that is quiet",
}
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


def test_each_is_run_by_a_test_or_says_why_not() -> None:
    told = {Command(story.page, step.line) for story in STORIES for step in story.steps}
    patterns = [*BY_ANOTHER_TEST, *NOT_RUN]

    left = [c for c in COMMANDS if c not in told and not any(re.fullmatch(p, c.line) for p in patterns)]

    assert left == []
    assert told <= set(COMMANDS)
    assert [p for p in patterns if not any(re.fullmatch(p, c.line) for c in COMMANDS)] == []


def test_the_other_tests_are_there() -> None:
    for test in BY_ANOTHER_TEST.values():
        file, _, name = test.partition("::")
        assert name
        found = rf"def {name}\(|TEST\w*\(\w+, {name}\)|add_test\(NAME {name}\b"
        assert re.search(found, (ROOT / file).read_text(encoding="utf-8")), test


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
        steps = [snapshot.step for snapshot in sidestream.stream(tmp_path / "runs/live", "live", patience=30)]

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
    (folder / "tasks.toml").write_text('[task.pdf]\nanalysis = "pdf"\n')
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
