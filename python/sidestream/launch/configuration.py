"""Configurations as TOML, for what the package writes itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def toml_text(tables: Mapping[str, Any]) -> str:
    """The text of nested tables of strings, numbers, truth values and lists of them."""
    return "\n\n".join(_tables((), tables)) + "\n"


def _tables(path: tuple[str, ...], table: Mapping[str, Any]) -> list[str]:
    lines = [f"{_key(name)} = {_value(value)}" for name, value in table.items() if not isinstance(value, Mapping)]
    head = [f"[{'.'.join(map(_key, path))}]"] if path and lines else []
    blocks = ["\n".join(head + lines)] if lines else []
    for name, value in table.items():
        if isinstance(value, Mapping):
            blocks += _tables((*path, name), value)
    return blocks


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)
