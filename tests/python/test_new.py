"""`sidestream new` makes parts that are in order: formatted, in their layer, documented, right by their own test.

Each kind of a checkout is made in one copy of the tree. Only what is new is compiled, by the commands of the build
folder, and linked with what is there.
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
    for folder in ("src", "include", "apps", "tests", "docs", "python", "tools"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("data", "__pycache__", "*.png"))
    for file in ("layers.toml", "pyproject.toml", ".clang-format"):
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
        (["analysis", NAMES["analysis"]], "is there already"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_made(tree: Path, words: list[str], complaint: str) -> None:
    before = (tree / "src/analysis/registry.cpp").read_text()

    done = new(tree, *words)

    assert done.returncode != 0
    assert complaint in done.stderr
    assert (tree / "src/analysis/registry.cpp").read_text() == before


# Files of one's own


@pytest.mark.parametrize("kind", ["analysis", "simulation"])
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


class Builder:
    """Compiles files of the tree by the commands of the build folder."""

    def __init__(self, tree: Path, folder: Path) -> None:
        if not (BUILD / "compile_commands.json").exists():
            pytest.skip(f"{BUILD} is not there (cmake --preset release)")
        self.tree, self.folder = tree, folder
        self.commands: dict[Path, list[str]] = {}
        for entry in json.loads((BUILD / "compile_commands.json").read_text()):
            words = shlex.split(entry["command"])
            self.commands.setdefault(Path(entry["file"]).relative_to(ROOT), words)

    def flags(self, file: Path) -> list[str]:
        """Those of the file itself, or of one of its module, with the folders of the tree for those of the project."""
        near = [path for path in self.commands if path.parts[:2] == file.parts[:2] and not self.is_kernel(path)]
        words = self.commands[file if file in self.commands else near[0]]
        words = words[1:] if Path(words[0]).name == "ccache" else words
        kept = words[: words.index("-o")]
        return [
            re.sub(rf"{re.escape(str(ROOT))}(?=/(src|include|tests)|\\*\"$|$)", str(self.tree), word) for word in kept
        ]

    def is_kernel(self, file: Path) -> bool:
        """Those are compiled without MPI."""
        words = self.commands[file]
        return "kernels" in words[words.index("-o") + 1]

    def compiled(self, file: Path, *more: str) -> Path:
        target = self.folder / ("_".join(file.parts) + ".o")
        done = called([*self.flags(file), *more, "-c", str(self.tree / file), "-o", str(target)], cwd=BUILD)
        assert done.returncode == 0, done.stderr
        return target

    def linked(self, module: str, objects: list[Path]) -> Path:
        """A program of these objects, in front of the libraries that the test program of the module is linked with."""
        main = f"tests/CMakeFiles/test_{module}.dir/support/main.cpp.o"
        done = called(["ninja", "-C", str(BUILD), "sidestream_sims", main])
        assert done.returncode == 0, done.stdout
        commands = called(["ninja", "-C", str(BUILD), "-t", "commands", f"test_{module}"]).stdout.splitlines()
        words = shlex.split(commands[-1].removeprefix(": &&").removesuffix("&& :"))
        kept = [word for word in words if word == main or not word.endswith(".o")]
        program = self.folder / f"test_{module}"
        kept[kept.index("-o") + 1] = str(program)
        done = called([*kept[:1], *map(str, objects), *kept[1:]], cwd=BUILD)
        assert done.returncode == 0, done.stderr
        return program


def sources(changes: list[Path]) -> list[Path]:
    return [file for file in changes if file.suffix == ".cpp" and file.parts[0] == "src"]


@pytest.fixture
def builder(tree: Path, tmp_path: Path) -> Builder:
    return Builder(tree, tmp_path)


def test_an_analysis_that_is_made_compiles(builder: Builder, changes: list[Path]) -> None:
    """The other kinds are compiled where their tests run."""
    made = [file for file in sources(changes) if file.parts[1] == KINDS["analysis"]]
    assert {NAMES["analysis"], "registry"} <= {file.stem for file in made}

    for file in made:
        builder.compiled(file, "-fsyntax-only")


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(set(KINDS.values())))
def test_what_is_made_passes_its_test(builder: Builder, changes: list[Path], module: str, tmp_path: Path) -> None:
    tests = [Path("tests", module, f"{NAMES[kind]}_test.cpp") for kind, of in KINDS.items() if of == module]
    # The tests that every entry of a registry has to pass, and that everything is documented.
    shared = {"io": ["tests/io/format_test.cpp"], "sims": ["tests/sims/listings_test.cpp"]}.get(module, [])
    filters = ":".join([*("Made*" for _ in tests), "*made_*", "Listings.*"])
    objects = [builder.compiled(file) for file in [*sources(changes), *tests, *map(Path, shared)] if fits(file, module)]
    program = builder.linked(module, objects)
    for ranks in (1, 2, 3):
        line = ["mpirun", "-n", str(ranks), str(program), f"--gtest_filter={filters}"]

        done = called(line, env=mpi_environment(os.environ, ranks), cwd=tmp_path, timeout=300)

        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        assert "[  PASSED  ]" in done.stdout


def fits(file: Path, module: str) -> bool:
    """Whether a program of the tests of a module is linked with the module of the file."""
    below = {"analysis": ["analysis"], "io": ["io"], "couple": ["couple", "analysis", "io"]}
    return file.parts[1] in below.get(module, file.parts[1])
