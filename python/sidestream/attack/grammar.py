"""Random configurations from the tables that `sidestream-run --options` and `--list` print."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from ..error import Error
from ..launch.launcher import find_program, mpi_environment
from .disks import DISK

HEADING = re.compile(r'(simulation|criterion|analysis) = "([\w-]+)"')
TABLE = re.compile(r"\[([\w.]+)\]$")
OPTION = re.compile(r"  (\w+) +(\S.*)$")
DEFAULT = re.compile(r"\(default (.*)\)$")

Options = dict[str, str]  # the default of each as TOML; empty without one

# Of a table, without which it is refused at once.
REQUIRED = {"cosmology": {"box": '"8 Mpc"'}, "heating": {"uv_background": '"fg20"'}}
TRIGGERS: tuple[Options, ...] = ({"every": "1"}, {"every": "2"}, {"at_end": "true"}, {"at_time": "[0.01]"})
WAYS: tuple[Options, ...] = (  # of writing files
    {},
    {"asynchronous": "true"},
    {"transport": '"in-transit"'},
    {"stage": f'"${DISK}"'},
    {"files": "2"},
    {"stage": f'"${DISK}"', "files": "2"},
    {"transport": '"in-transit"', "files": "2"},
)
NUMBERS = (
    "0",
    "1",
    "-1",
    "2",
    "3",
    "0.5",
    "1e-300",
    "1e300",
    "-0.0",
    "nan",
    "inf",
    "-inf",
    "2147483648",
    "9223372036854775807",
)
WORDS = (
    '""',
    '"x"',
    '"1 Mpc"',
    '"0.1 Gyr"',
    '"300 mean"',
    '"-1 K"',
    '"1 furlong"',
    '"\\u0000"',
    '"é"',
    "'''\nlines\n'''",
)
OTHERS = (
    "[]",
    "[1]",
    "[1, 2, 3]",
    "[8, 8, 8]",
    "[0, 0, 0]",
    '["x"]',
    "{}",
    "{ a = 1 }",
    "[[1]]",
    "true",
    "false",
    "1979-05-27",
)
SIDES = ("8", "16", "32")
ODD_SIDES = ("0", "1", "4", "7", "8", "12", "16", "1000000", "-8", "8.0")


@dataclass(frozen=True)
class Grammar:
    """What a configuration can hold.

    Attributes:
        simulations: the tables of each, and of each table the options with their defaults as TOML, empty without one.
        tasks: the options of each analysis.
        criteria: the options of each criterion of refinement.
        outputs: the options of plot files and checkpoints.
        coupling, common: the options of [coupling], and those that all tasks have.
        names: all that a configuration can name.
    """

    simulations: dict[str, dict[str, Options]]
    tasks: dict[str, Options]
    criteria: dict[str, Options]
    outputs: dict[str, Options]
    coupling: Options
    common: Options
    names: list[str]

    def configuration(self, numbers: random.Random) -> str:
        """A random one: most of it near the defaults, some of it absurd."""
        wildness = numbers.choice((0.0, 0.02, 0.1, 0.5))
        simulation = numbers.choice(sorted(self.simulations))
        lines = [f'simulation = "{simulation}"', "", "[run]", "max_steps = 3", *_mesh(numbers, wildness)]
        for heading, options, fixed in self._tables(simulation, numbers):
            lines += ["", f"[{heading}]"]
            lines += [
                f"{key} = {self._value(numbers, wildness, default)}"
                for key, default in options.items()
                if (default or numbers.random() < wildness) and key not in fixed
            ]
            lines += [
                f"{key} = {self._value(numbers, wildness, value) if numbers.random() < wildness else value}"
                for key, value in fixed.items()
            ]
        return "\n".join(_disturbed(lines, numbers, wildness)) + "\n"

    def _tables(self, simulation: str, numbers: random.Random) -> Iterator[tuple[str, Options, Options]]:
        """Headings and what stands below them: options whose values are the defaults yet, and such as seldom change."""
        for name, options in self.simulations[simulation].items():
            if name != "mesh" and (name == "cosmology" or numbers.random() < 0.6):
                yield name.replace("NAME", "one"), _some(numbers, options, 0.15) | REQUIRED.get(name, {}), {}
        for index in range(numbers.randrange(3)):
            analysis = numbers.choice(sorted(self.tasks))
            options = _some(numbers, self.common, 0.1) | _some(numbers, self.tasks[analysis], 0.3)
            yield f"task.t{index}", options | {"analysis": f'"{analysis}"', "every": "1"}, {}
        if "amr" in self.simulations[simulation] and numbers.random() < 0.4:
            criterion = numbers.choice(sorted(self.criteria))
            options = _some(numbers, self.criteria[criterion], 0.7)
            yield "refine.r", options | {"criterion": f'"{criterion}"'}, {}
        way = numbers.choice(WAYS)
        for name, options in self.outputs.items():
            if name == "output.checkpoint" or numbers.random() < 0.5:
                own = way if numbers.random() < 0.7 else numbers.choice(WAYS)
                yield name, _some(numbers, options, 0.02), own | numbers.choice(TRIGGERS)
        sidecars = {"sidecars": "1", "count": '"extra"'} if "transport" in way and numbers.random() < 0.7 else {}
        yield "coupling", _some(numbers, self.coupling, 0.1), sidecars

    def _value(self, numbers: random.Random, wildness: float, default: str) -> str:
        if numbers.random() < wildness:
            return numbers.choice(NUMBERS + WORDS + OTHERS + tuple(f'"{name}"' for name in self.names))
        if default in ("true", "false"):
            return numbers.choice(("true", "false"))
        if re.fullmatch(r"-?\d+", default):
            return str(max(0, int(default) + numbers.randint(-2, 2)))
        try:
            return repr(float(default) * 2 ** numbers.uniform(-1, 1))
        except ValueError:
            pass
        if default.startswith('"') and default.strip('"') in self.names and numbers.random() < 0.5:
            return f'"{numbers.choice(self.names)}"'
        return default or numbers.choice(('"1"', "1", "1.0", '["gas_density"]', '"gas_density"'))


def _disturbed(lines: list[str], numbers: random.Random, wildness: float) -> list[str]:
    """Some lines twice, some missing, some cut, some followed by a key that is unknown."""
    found = []
    for line in lines:
        way = numbers.random() if numbers.random() < wildness / 5 else 1.0
        if way < 0.25:
            continue
        found += [line[: numbers.randrange(len(line) + 1)] if way < 0.5 else line]
        found += [line] if 0.5 <= way < 0.75 else []
        found += ["unknown = 1"] if 0.75 <= way < 1.0 else []
    return found


def _mesh(numbers: random.Random, wildness: float) -> list[str]:
    """A small mesh, most often one that a simulation of three or two dimensions can have."""
    if numbers.random() < wildness:
        sides, block = [numbers.choice(ODD_SIDES) for _ in range(3)], numbers.choice(ODD_SIDES)
    else:
        side = numbers.choice(SIDES)
        sides, block = [side, side, numbers.choice((side, "1"))], "8"
    return ["", "[mesh]", f"cells = [{', '.join(sides)}]", f"block = {block}"]


def _some(numbers: random.Random, options: Options, share: float) -> Options:
    """A share of them."""
    return {key: value for key, value in options.items() if numbers.random() < share}


def read_grammar() -> Grammar:
    """That of the program that is installed."""
    sections: dict[tuple[str, str], dict[str, Options]] = {}
    tables: dict[str, Options] = {}
    table: Options = {}
    for line in _answer("--options").splitlines():
        if heading := HEADING.match(line):
            kind, name = heading.groups()
            tables = sections.setdefault((kind, name), {})
        elif found := TABLE.match(line):
            table = tables.setdefault(found.group(1), {})
        elif option := OPTION.match(line):
            default = DEFAULT.search(option.group(2))
            table[option.group(1)] = default.group(1) if default else ""
    named = [name for kind in json.loads(_answer("--list", "--json")).values() for name in kind]
    run = next(tables for tables in sections.values() if "coupling" in tables)
    return Grammar(
        simulations={name: tables for (kind, name), tables in sections.items() if kind == "simulation"},
        tasks={name: tables.get("task.NAME", {}) for (kind, name), tables in sections.items() if kind == "analysis"},
        criteria={name: tables["refine.NAME"] for (kind, name), tables in sections.items() if kind == "criterion"},
        outputs={name: run[name] for name in ("output.plotfile", "output.checkpoint")},
        coupling=run["coupling"],
        common=next(
            tables["task.NAME"]
            for (kind, _), tables in sections.items()
            if kind == "criterion" and "task.NAME" in tables
        ),
        names=sorted(set(named)),
    )


def _answer(*words: str) -> str:
    command = [str(find_program()), *words]
    done = subprocess.run(command, env=mpi_environment(os.environ, 1), capture_output=True, text=True)
    if done.returncode != 0:
        raise Error(f"`{' '.join(words)}` is not answered: {done.stderr}", command[0], "install the package again")
    return done.stdout
