"""The check of arithmetic finds what it is there to find, in small libraries of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
COMPILER = os.environ.get("CXX") or "g++"
GOOD = '#include <cmath>\nextern "C" double f(double x) { return std::sqrt(x) + std::floor(x); }\n'
FUSED = '#include <cmath>\nextern "C" double f(double x) { return __builtin_fma(x, x, 1.0); }\n'
INLINE = "inline __attribute__((noinline)) double g(double x) { return x; }\ndouble f(double x) { return g(x); }\n"
OPTIONS = ["-O2", "-fno-math-errno", "-ffp-contract=off"]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    """The tool as a module."""
    spec = importlib.util.spec_from_file_location("check_arithmetic", ROOT / "tools" / "check_arithmetic.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def library(folder: Path, text: str, *options: str) -> str:
    """A shared library of a file."""
    (folder / "code.cpp").write_text(text)
    path = folder / "code.so"
    line = [COMPILER, *OPTIONS, *options, "-shared", "-fPIC", str(folder / "code.cpp"), "-o", str(path)]
    subprocess.run(line, check=True)
    return str(path)


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        pytest.param(GOOD, (), [], id="exact functions"),
        pytest.param(GOOD.replace("sqrt", "exp"), (), ["imports `exp`"], id="exp"),
        pytest.param(GOOD.replace("sqrt(x)", "sin(static_cast<float>(x))"), (), ["imports `sinf`"], id="sin of floats"),
        pytest.param(FUSED, ("-mfma",), ["`f` has `vfmadd"], id="a fused instruction"),
        pytest.param(INLINE, (), ["exports `g(double)`, which is inline"], id="an inline function"),
    ],
)
def test_faults_of_a_library_are_found(
    text: str, options: tuple[str, ...], found: list[str], check: ModuleType, tmp_path: Path
) -> None:
    faults = check.faults_of(library(tmp_path, text, *options))

    assert len(faults) == len(found), faults
    assert all(words in fault for words, fault in zip(found, faults, strict=True)), faults


def test_an_archive_is_looked_into(check: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "code.cpp").write_text(GOOD.replace("sqrt", "log"))
    subprocess.run([COMPILER, *OPTIONS, "-c", "code.cpp"], cwd=tmp_path, check=True)
    subprocess.run(["ar", "rcs", "code.a", "code.o"], cwd=tmp_path, check=True)

    (fault,) = check.faults_of(str(tmp_path / "code.a"))

    assert "imports `log`" in fault


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("-O3 -ffp-contract=off", []),
        ("-O3", ["without -ffp-contract=off"]),
        ("-ffp-contract=off -ffp-contract=fast", ["without -ffp-contract=off"]),
        ("-ffp-contract=off -ffast-math", ["with -ffast-math"]),
    ],
)
def test_faults_of_commands_are_found(words: str, found: list[str], check: ModuleType, tmp_path: Path) -> None:
    commands = tmp_path / "compile_commands.json"
    commands.write_text(json.dumps([{"file": "a.cpp", "command": f"g++ {words} -c a.cpp"}]))

    faults = check.faults_of(str(commands))

    assert len(faults) == len(found), faults
    assert all(text in fault for text, fault in zip(found, faults, strict=True)), faults
