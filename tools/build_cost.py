"""What it costs to compile the package from nothing: CPU seconds of each file, and of each header over all files.

    python tools/build_cost.py BUILD [--most SECONDS] [--jobs N]

BUILD is a configured build folder with `compile_commands.json`. Prints the dearest files and headers and the sum; exits
with 1 if the sum is over `--most`. Compiler caches are left out, and nothing is written into the build folder.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHOWN = 10
COMPILED = (".c", ".cpp", ".cxx")
INCLUDE = re.compile(r'^#include ([<"].*[>"])', re.MULTILINE)


@dataclass(frozen=True)
class Unit:
    """A file to compile, with the words of its command up to the output."""

    file: Path
    words: list[str]
    folder: Path

    def compile(self, source: Path, output: Path) -> float:
        """CPU seconds of the command with another source."""
        words = [*self.words, "-w", "-c", str(source), "-o", str(output)]
        child = subprocess.Popen(words, cwd=self.folder, env=os.environ | {"CCACHE_DISABLE": "1"})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"error: {shlex.join(words)} ended with {child.returncode}")
        return usage.ru_utime + usage.ru_stime


def units_of(build: Path) -> list[Unit]:
    """The files of `src`, `apps` and `python` in a build folder, joined or not, and the headers precompiled there."""
    units = []
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = Path(entry["file"])
        is_own = file.is_relative_to(ROOT) and file.relative_to(ROOT).parts[0] in ("src", "apps", "python")
        if not is_own and file.parent.name != "joined" and not file.name.startswith("cmake_pch"):
            continue
        if file.suffix not in COMPILED:
            continue
        words = shlex.split(entry["command"])
        compiler = next(
            n for n, word in enumerate(words) if Path(word).name not in ("env", "ccache") and "=" not in word
        )
        units.append(Unit(file, words[compiler : words.index("-o")], Path(entry["directory"])))
    return units


def headers_of(files: list[Path]) -> tuple[Counter[str], dict[str, Path]]:
    """How often each header is included, directly or by way of the project's own headers, and a file that does."""
    counts: Counter[str] = Counter()
    users: dict[str, Path] = {}
    direct = {file: INCLUDE.findall(file.read_text(encoding="utf-8")) for file in files}
    own: dict[str, list[str]] = {}

    def reach(header: str, seen: set[str]) -> None:
        if header in seen:
            return
        seen.add(header)
        if header not in own:
            places = [ROOT / folder / header[1:-1] for folder in ("include", "src")]
            text = next((place.read_text(encoding="utf-8") for place in places if place.is_file()), "")
            own[header] = INCLUDE.findall(text)
        for inner in own[header]:
            reach(inner, seen)

    for file, includes in direct.items():
        seen: set[str] = set()
        for header in includes:
            reach(header, seen)
        counts.update(seen)
        users |= dict.fromkeys(seen - users.keys(), file)
    return counts, users


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--most", type=float, help="CPU seconds of all files together")
    parser.add_argument("--jobs", type=int, default=1, help="more at a time cost more each, where two share a core")
    arguments = parser.parse_args()

    units = units_of(arguments.build)
    headers, users = headers_of([unit.file for unit in units])
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        scratch = Path(folder)

        def cost_of(n: int) -> float:
            return units[n].compile(units[n].file, scratch / f"{n}.o")

        costs: Counter[Path] = Counter()  # a kernel is compiled once for each level of processors
        for unit, cost in zip(units, pool.map(cost_of, range(len(units))), strict=True):
            costs[unit.file] += cost

        def cost_of_header(header: str) -> float:
            name = re.sub(r"\W", "_", header)
            source = scratch / f"{name}.cpp"
            beside = users[header].parent / header[1:-1]
            found = f'"{beside}"' if header.startswith('"') and beside.is_file() else header
            source.write_text(f"#include {found}\n", encoding="utf-8")
            return next(unit for unit in units if unit.file == users[header]).compile(source, scratch / f"{name}.o")

        often = [header for header, count in headers.items() if count >= 5 and not header.endswith('.cpp"')]
        parsed = dict(zip(often, pool.map(cost_of_header, often), strict=True))

    total = sum(costs.values())
    print("CPU seconds  file")
    for file, cost in costs.most_common(SHOWN):
        print(f"{cost:11.1f}  {file.relative_to(ROOT)}")
    print("\nCPU seconds  files  each  header, with what it includes")
    for header, cost in sorted(parsed.items(), key=lambda item: -item[1] * headers[item[0]])[:SHOWN]:
        print(f"{cost * headers[header]:11.1f}  {headers[header]:5d}  {cost:4.2f}  {header}")
    print(f"\n{total:.0f} CPU seconds in {len(units)} files")
    if arguments.most is not None and total > arguments.most:
        sys.exit(f"error: more than {arguments.most:.0f}")


if __name__ == "__main__":
    main()
