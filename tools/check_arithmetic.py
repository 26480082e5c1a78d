#!/usr/bin/env python3
"""Fails where the bits of a result could depend on the processor.

    tools/check_arithmetic.py FILE...      archives (.a), shared libraries, programs, compile_commands.json

The C library chooses between variants of exp, pow, sin, ... by the processor, and they round differently: no library or
program imports them, `core/math.hpp` has functions with one answer. Allowed are those whose result is exact or
correctly rounded. Every file is compiled without contraction to fused multiply-adds. A shared library, compiled for
some level of processors, has none all the same (GCC makes some of its own accord), and exports no inline function that
could stand in for that of a program for lower ones.
"""

import ctypes
import json
import pathlib
import re
import subprocess
import sys

EXACT = {
    *("ceil", "floor", "trunc", "round", "roundeven", "rint", "nearbyint", "lrint", "llrint", "lround", "llround"),
    *("fabs", "fmin", "fmax", "fdim", "copysign", "frexp", "ldexp", "scalbn", "scalbln", "modf"),
    *("fmod", "remainder", "remquo", "logb", "ilogb", "nextafter", "nexttoward", "sqrt"),
}
# Of 80 bits, without variants in the C library, and rounded to 53 afterwards (tables of Fourier transforms).
LONG = {"sinl", "cosl", "sincosl"}
ALLOWED = {name + suffix for name in EXACT for suffix in ("", "f", "l")} | LONG
UNCONTRACTED = "-ffp-contract=off"
REARRANGED = {"-Ofast", "-ffast-math", "-funsafe-math-optimizations", "-fassociative-math", "-freciprocal-math"}


def imported(path: str) -> set[str]:
    """The undefined symbols of a file, without their versions."""
    command = ["nm", "--undefined-only", *([] if path.endswith(".a") else ["--dynamic"]), path]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {words[-1].split("@")[0] for words in map(str.split, text.splitlines()) if "U" in words}


def is_mathematical(name: str, mathematics: ctypes.CDLL, rest: ctypes.CDLL) -> bool:
    """Whether a symbol is one of the C library's mathematics, vector variants included, and of nothing else."""
    return name.startswith("_ZGV") or (hasattr(mathematics, name) and not hasattr(rest, name))


def faults_of_imports(path: str) -> list[str]:
    """One line for each function that a library or program imports and should not."""
    mathematics, rest = ctypes.CDLL("libm.so.6"), ctypes.CDLL("libc.so.6")
    return [
        f"{path}: imports `{name}`, whose bits depend on the processor\nhint: `core/math.hpp`"
        for name in sorted(imported(path) - ALLOWED)
        if is_mathematical(name, mathematics, rest)
    ]


# Templates that kernels alone define, instantiated there: as weak as inline functions, but no header has their bodies.
INSTANTIATED = re.compile(
    r"^sidestream::fft::(BatchTransform|ComplexLines|RealRows|ComplexRows)<"
    r"|^\w+ sidestream::solvers::kernels::\w+<(double|float)>\("
)


def faults_of_exports(path: str) -> list[str]:
    """One line for each inline function that a shared library offers to others."""
    command = ["nm", "--defined-only", "--dynamic", "--demangle", path]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    symbols = [line.split(maxsplit=2) for line in text.splitlines()]
    return [
        f"{path}: exports `{name}`, which is inline"
        for _, kind, name in symbols
        if kind in "WVu" and not INSTANTIATED.search(name)
    ]


FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
FUSED = re.compile(r"\s(vfn?m(?:add|sub)\w+)\s")


def faults_of_instructions(path: str) -> list[str]:
    """One line for each function of a shared library with fused multiply-adds."""
    command = ["objdump", "--disassemble", "--no-show-raw-insn", "--demangle", path]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    function, faults = "", {}
    for line in text.splitlines():
        if found := FUNCTION.match(line):
            function = found[1]
        elif found := FUSED.search(line):
            faults[function] = f"{path}: `{function}` has `{found[1]}`, which rounds once where others do twice"
    return list(faults.values())


def faults_of_commands(path: str) -> list[str]:
    """One line for each file that is compiled with contraction, or with arithmetic that may be rearranged."""
    faults = []
    for each in json.loads(pathlib.Path(path).read_text()):
        words = each["command"].split()
        if [word for word in words if word.startswith("-ffp-contract=")][-1:] != [UNCONTRACTED]:
            faults.append(f"{each['file']}: is compiled without {UNCONTRACTED}")
        faults += [f"{each['file']}: is compiled with {word}" for word in words if word in REARRANGED]
    return faults


def faults_of(path: str) -> list[str]:
    """One line for each fault of a file of any kind."""
    if path.endswith(".json"):
        return faults_of_commands(path)
    faults = faults_of_imports(path)
    return faults + faults_of_exports(path) + faults_of_instructions(path) if path.endswith(".so") else faults


def main(paths: list[str]) -> int:
    faults = [line for path in paths for line in faults_of(path)]
    print("\n".join(faults))
    return 1 if faults or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
