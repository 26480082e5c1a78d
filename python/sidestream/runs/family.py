"""A family of runs: one configuration with some of its keys varied, a folder each, and the table of what each is."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..error import Error

TABLE = "sweep.json"  # the table, in the folder of the family
CONFIG = "sweep.toml"  # the configuration that all have in common


@dataclass(frozen=True)
class Member:
    """One run of a family."""

    name: str  # of its folder
    values: dict[str, str]  # by key, as `--set` takes them


@dataclass(frozen=True)
class Family:
    """The runs of a folder, every combination of the values of each key.

    Attributes:
        folder: The folder.
        keys: The values of each varied key, in the order in which they were given.
        settings: Of all runs, beside the configuration: `KEY=VALUE`.
    """

    folder: Path
    keys: dict[str, tuple[str, ...]]
    settings: tuple[str, ...] = ()

    @property
    def members(self) -> list[Member]:
        """All runs, the last key varied fastest."""
        combinations = itertools.product(*self.keys.values())
        return [self._member(dict(zip(self.keys, values, strict=True))) for values in combinations]

    def member_folder(self, member: Member) -> Path:
        """The folder of a run."""
        return self.folder / member.name

    @property
    def short_names(self) -> dict[str, str]:
        """The last word of each key, or all of it where two end alike."""
        words = [key.rsplit(".", 1)[-1] for key in self.keys]
        return {key: word if words.count(word) == 1 else key for key, word in zip(self.keys, words, strict=True)}

    def _member(self, values: dict[str, str]) -> Member:
        words = [f"{name}={_in_a_name(values[key])}" for key, name in self.short_names.items()]
        return Member(",".join(words), values)


def family(folder: Path, keys: Mapping[str, Sequence[str]], settings: Sequence[str] = ()) -> Family:
    """A family to be made.

    Raises:
        Error: a key has no value or one twice, or two values would make the same name.
    """
    made = Family(folder, {key: tuple(values) for key, values in keys.items()}, tuple(settings))
    if not made.keys:
        raise Error("nothing is varied", hint="name a key and its values: --vary cosmology.sigma8=0.75,0.81,0.87")
    for key, values in made.keys.items():
        named = [_in_a_name(value) for value in values]
        twice = next((value for value, name in zip(values, named, strict=True) if named.count(name) > 1), None)
        if twice is not None or not all(values):
            what = f"the value {twice} of `{key}` is there twice" if twice else f"a value of `{key}` is empty"
            raise Error(what, f"--vary {key}={','.join(values)}", "give each value once")
    return made


def write_family(made: Family, config: str) -> None:
    """Writes the table and the configuration, and makes the folder.

    Raises:
        Error: the folder holds another family, or cannot be written to.
    """
    try:
        made.folder.mkdir(parents=True, exist_ok=True)
        if (made.folder / TABLE).exists():
            _require_the_same(made, config)
            return
        (made.folder / CONFIG).write_text(config, encoding="utf-8")
        table = {
            "keys": {key: list(values) for key, values in made.keys.items()},
            "settings": list(made.settings),
            "runs": [{"name": member.name, "values": member.values} for member in made.members],
        }
        draft = made.folder / f".{TABLE}.tmp"
        draft.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
        draft.replace(made.folder / TABLE)
    except OSError as problem:
        raise Error(
            f"the folder cannot be written to: {problem.strerror}",
            made.folder,
            hint="choose another folder with --out, or make room",
        ) from problem


def read_family(folder: str | os.PathLike[str]) -> Family:
    """The family in a folder.

    Raises:
        Error: there is none, or its table is damaged.
    """
    place = Path(folder)
    path = place / TABLE
    if not path.is_file():
        raise Error("there is no family of runs", place, f"`sidestream sweep` makes one; it has a file {TABLE}")
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        keys = {str(key): tuple(map(str, values)) for key, values in table["keys"].items()}
        return Family(place, keys, tuple(map(str, table["settings"])))
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as problem:
        raise Error(
            "the table of the family is damaged", path, "the same `sidestream sweep` makes it anew"
        ) from problem


def _require_the_same(made: Family, config: str) -> None:
    there = read_family(made.folder)
    hint = "name another folder with --out, or remove this one"
    if (there.keys, there.settings) != (made.keys, made.settings):
        varied = "; ".join(f"{key}={','.join(values)}" for key, values in there.keys.items())
        set_too = f" with --set {' '.join(there.settings)}" if there.settings else ""
        raise Error(f"the folder holds another family: {varied}{set_too}", made.folder, hint)
    if (made.folder / CONFIG).read_text(encoding="utf-8") != config:
        raise Error("the configuration is another than that of the family in the folder", made.folder / CONFIG, hint)


def _in_a_name(value: str) -> str:
    """A value as a part of the name of a folder: without quotes, spaces and slashes."""
    inner = re.sub(r"^[^\w.+-]+|[^\w.+-]+$", "", value, flags=re.ASCII)
    return re.sub(r"[^\w.+-]+", "-", inner, flags=re.ASCII) or "-"


def parsed(value: str) -> Any:
    """A value of a key as a number where it is one, else as the text."""
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value
