"""`sidestream new` makes parts that are in order: formatted, in their layer, documented, right by their own test.

Each kind of a checkout is made in one copy of the tree. The slow tier builds it, and runs the tests that `new` names.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from calls import command
from sidestream.core import extension
from sidestream.launch.launcher import mpi_environment
from tiers import slow

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "release"
# Of each kind: the module of its test.
KINDS = {
    "analysis": "analysis",
    "format": "io",
    "transport": "couple",
    "quantity": "sims",
    "problem": "sims",
    "simulation": "sims",
}
SOURCES = (".cpp", ".hpp", ".py", ".md")
NAMES = {kind: f"made_{kind}" for kind in KINDS} | {"picture": "made_analysis"}  # of results of that analysis


def called(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


def new(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return command(tree.parent, "new", *words, "--checkout", tree)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree."""
    tree = tmp_path_factory.mktemp("original") / "tree"
    for folder in ("src", "include", "apps", "bench", "cmake", "data", "tests", "docs", "python", "tools"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__", "*.png"))
    for file in ("layers.toml", "pyproject.toml", ".clang-format", "CMakeLists.txt", "CMakePresets.json", "LICENSE"):
        shutil.copy(ROOT / file, tree)
    return tree


@pytest.fixture(scope="module")
def tree(original: Path) -> Path:
    """A copy in which there is a new part of every kind."""
    copy = original.with_name("made")
    shutil.copytree(original, copy)
    for kind, name in NAMES.items():
        done = new(copy, kind, name)
        assert done.returncode == 0, done.stderr
    return copy


@pytest.fixture(scope="module")
def changes(original: Path, tree: Path) -> list[Path]:
    """What is new or changed, relative to the tree."""
    files = sorted(path.relative_to(tree) for path in tree.rglob("[!.]*.*") if path.suffix in SOURCES)
    return [
        file
        for file in files
        if not (original / file).exists() or (original / file).read_bytes() != (tree / file).read_bytes()
    ]


def test_every_template_is_tried() -> None:
    assert {path.parent.name for path in (ROOT / "tools" / "templates").glob("*/kind.toml")} == set(NAMES)


# The name of what a line at the margin of a file in C++ declares.
DECLARED = re.compile(r"(?:class|struct|using) (\w+)|[\w:].*? (\w+)(?:\(.*| = .*|\{.*)")


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tools" / "templates").glob("*/src/**/*.cpp")), ids=lambda path: path.parts[-1]
)
def test_what_is_made_shares_no_name_with_the_files_of_its_folder(path: Path) -> None:
    """They are compiled as one (`SIDESTREAM_JOINED`)."""
    folder = path.parent.relative_to(path.parents[len(path.parts) - path.parts.index("src") - 1])
    if "example" in folder.name:
        return  # a folder of its own
    _, _, rest = path.read_text().partition("namespace {\n")
    lines = rest.partition("}  // namespace\n")[0].splitlines()
    found = [match for match in map(DECLARED.match, lines) if match]

    names = [match[1] or match[2] for match in found]

    assert names or path.parts[-2] == "quantities"
    assert [name for name in names if "example" not in name.lower()] == []


def test_what_is_made_is_formatted_and_in_its_layer(tree: Path, changes: list[Path]) -> None:
    cpp = [str(file) for file in changes if file.suffix in (".cpp", ".hpp")]
    python = [str(file) for file in changes if file.suffix == ".py"]
    for line in (
        ["clang-format", "--dry-run", "--Werror", *cpp],
        [sys.executable, "-m", "ruff", "format", "--check", *python],
        [sys.executable, "-m", "ruff", "check", *python],
        [sys.executable, "tools/check_layers.py", "."],
    ):
        done = called(line, cwd=tree)
        assert done.returncode == 0, done.stdout + done.stderr
    code = [file for file in changes if file.parts[0] in ("src", "tests")]
    assert not [file for file in code if "example" in (tree / file).read_text()]


def test_a_picture_passes_its_test(tree: Path, tmp_path: Path) -> None:
    package = tmp_path / "path" / "sidestream"
    shutil.copytree(tree / "python" / "sidestream", package)
    compiled = Path(extension().__file__)
    shutil.copy(compiled, package)
    test = tree / "tests" / "python" / f"test_{NAMES['picture']}_pictures.py"
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", str(test)]
    places = {"PYTHONPATH": str(package.parent), "LD_LIBRARY_PATH": str(compiled.parents[3])}

    done = called(line, cwd=tmp_path, env=os.environ | places)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["analyses", "x"], "hint: there are: analysis, format, picture, problem, quantity, simulation, transport"),
        (["analysis", "MeanAge"], "`MeanAge` is no name"),
        (["analysis", NAMES["analysis"]], "there is an analysis `made_analysis` already"),
        (["format", "raw"], "there is a format `raw` already"),
        (["format", "flash_netcdf"], "there is a format `flash_netcdf` already"),
        (["quantity", "density"], "there is a quantity `density` already"),
        (["quantity", "velocity_y"], "there is a quantity `velocity_y` already"),
        (["transport", "async"], "there is a transport `async` already"),
        (["problem", "sedov"], "there is a problem `sedov` already"),
        (["simulation", "cosmology"], "there is a simulation `cosmology` already"),
        (["transport", "while"], "`while` is a word of C++ or Python"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_made(tree: Path, words: list[str], complaint: str) -> None:
    before = (tree / "src/analysis/registry.cpp").read_text()

    done = new(tree, *words)

    assert done.returncode != 0
    assert complaint in done.stderr
    assert (tree / "src/analysis/registry.cpp").read_text() == before


# Files of one's own


@pytest.mark.parametrize("kind", ["simulation", *slow("analysis")])
def test_files_of_ones_own_pass_their_test(kind: str, tmp_path: Path) -> None:
    done = command(tmp_path, "new", kind, "mean_age")
    assert done.returncode == 0, done.stderr
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == ["mean_age.py", "mean_age.toml", "test_mean_age.py"]
    assert [line.split()[-1] for line in done.stdout.splitlines()] == made
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    tested = called(line, cwd=tmp_path, env=mpi_environment(os.environ, 2))

    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "2 passed" in tested.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["format", "zarr"], "`sidestream new format zarr --checkout DIR`"),
        (["analysis", "numpy"], "is a module of Python"),
        (["analysis", "np"], "`np` means something else in np.py"),
        (["simulation", "decay"], "`decay` means something else in test_decay.py"),
        (["analysis", "a" * 300], "of at most 50 letters"),
        (["analysis", "old"], "test_old.py is there already"),
        (["tea", "x"], "hint: there are: analysis, simulation"),
        (["format", "zarr", "--checkout", "."], "is no checkout"),
    ],
)
def test_files_that_cannot_be_made_are_refused(words: list[str], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "test_old.py").write_text("mine")

    done = command(tmp_path, "new", *words)

    assert done.returncode == 2
    assert complaint in done.stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


# Compiling what is new


def flags(tree: Path, of: Path) -> list[str]:
    """Those of a file in the build folder, with the folders of the tree for those of the project."""
    if not (BUILD / "compile_commands.json").exists():
        pytest.skip(f"{BUILD} is not there (cmake --preset release)")
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    (command,) = (entry["command"] for entry in entries if Path(entry["file"]) == ROOT / of)
    words = shlex.split(command)
    words = words[1:] if Path(words[0]).name == "ccache" else words
    kept = words[: words.index("-o")]
    return [re.sub(rf"{re.escape(str(ROOT))}(?=/(src|include|tests)|\\*\"$|$)", str(tree), word) for word in kept]


def test_an_analysis_that_is_made_compiles(tree: Path, changes: list[Path]) -> None:
    """The other kinds are compiled where their tests run."""
    made = [file for file in changes if file.suffix == ".cpp" and file.parts[:2] == ("src", "analysis")]
    assert {NAMES["analysis"], "registry"} <= {file.stem for file in made}

    for file in made:
        own = flags(tree, Path("src/analysis/registry.cpp"))
        done = called([*own, "-fsyntax-only", "-c", str(tree / file)], cwd=BUILD)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def built(tree: Path) -> Path:
    """The tree with its programs of tests, the files of a folder joined as the preset has them."""
    programs = sorted({*KINDS.values(), "io_methods"})  # whose tests go through all formats, too
    targets = [*(f"test_{module}" for module in programs), "sidestream-run"]
    for line in (["cmake", "--preset", "release"], ["cmake", "--build", "build/release", "--target", *targets]):
        done = called(line, cwd=tree)
        assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    return tree


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_passes_the_tests_that_are_named(built: Path, kind: str) -> None:
    """And so do those of its neighbours."""
    about = (built / "tools" / "templates" / kind / "kind.toml").read_text()
    named = re.search("then `(ctest .*)`", about)
    assert named is not None

    done = called(shlex.split(named[1]), cwd=built)

    assert done.returncode == 0, done.stdout[-8000:]
    assert re.search(rf"{KINDS[kind]}_\d", done.stdout)


@pytest.mark.slow
def test_what_is_made_is_run_by_what_was_built(built: Path, tmp_path: Path) -> None:
    """A problem in a new format, looked at by a new analysis over a new transport."""
    (tmp_path / "box.toml").write_text(
        'simulation = "made_problem"\n[run]\nmax_steps = 2\n[mesh]\ncells = [16, 8, 1]\nblock = 8\n'
        '[output]\nplotfile = { at_end = true, format = "made_format", variables = ["made_quantity"] }\n'
        '[task.made]\nanalysis = "made_analysis"\nfield = "gas_density"\ntransport = "made_transport"\nevery = 1\n'
    )
    program = str(built / "build/release/apps/sidestream-run")

    done = called(["mpirun", "-n", "2", program, "box.toml"], cwd=tmp_path, env=mpi_environment(os.environ, 2))

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(tmp_path.glob("runs/box/**/*.made_format"))) == 1
    assert len(list(tmp_path.glob("runs/box/results/made/*.nc"))) == 3
