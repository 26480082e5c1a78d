"""What a header of the interface for C declares, and whether a later one keeps it."""

from __future__ import annotations

import re


def functions(header: str) -> dict[str, str]:
    """The declaration of each by its name, on one line."""
    found = re.findall(r"SIDESTREAM_PUBLIC ([^;{]*?(\w+)\([^;]*\));", _code(header))
    return {name: declaration for declaration, name in found}


def structures(header: str) -> dict[str, list[str]]:
    """The members of each, in their order."""
    found = re.findall(r"typedef struct (\w+) {(.*?)} \1;", _code(header))
    return {name: [member.strip() for member in body.split(";") if member.strip()] for name, body in found}


def name_of(member: str) -> str:
    """Of the declaration of a member: "const double *positions[3]"."""
    (found,) = re.findall(r"\(\*(\w+)\)|(\w+)(?:\[\d\])?$", member)[:1]
    return found[0] or found[1]


def initializers(header: str) -> dict[str, list[str]]:
    """The values of the members, in their order."""
    found = re.findall(r"^#define (SIDESTREAM_\w+) {(.*)}$", header.replace("\\\n", " "), re.MULTILINE)
    return {name: re.split(r", (?![^{]*})", values) for name, values in found}


def constants(header: str) -> dict[str, str]:
    return dict(re.findall(r"\b(SIDESTREAM_\w+) = (\d+)", _code(header)))


def handles(header: str) -> dict[str, str]:
    return dict(re.findall(r"typedef struct (\w+) (\w+);", _code(header)))


def broken_promises(kept: str, present: str) -> list[str]:
    """What of the header `kept` is not in `present` as it was. Structures may have grown at their ends."""
    broken = []
    for parts in (functions, constants, handles):
        now = parts(present)
        broken += [name for name, what in parts(kept).items() if now.get(name) != what]
    for lists in (structures, initializers):
        grown = lists(present)
        broken += [name for name, all_of in lists(kept).items() if grown.get(name, [])[: len(all_of)] != all_of]
    return broken


def fake_library(header: str, names: set[str]) -> str:
    """A library in C that has these functions of a header, each of which says its name and that all is well."""
    lines = ["#include <stdio.h>", '#include "sidestream.h"']
    for name, declaration in functions(header).items():
        answer = "0" if declaration.startswith("int") else '"MPI"'
        if name in names:
            lines.append(f'{declaration} {{ puts("{name}"); return {answer}; }}')
    return "\n".join([*lines, ""])


def of_later(header: str) -> str:
    """The header with one more member at the end of each structure."""
    longer = re.sub(r"} (sidestream_\w+);\n(?=#define)", r"  void *later;\n} \1;\n", header)
    return re.sub(r"^(#define SIDESTREAM_\w+ {.*)}$", r"\1, NULL}", longer, flags=re.MULTILINE)


def _code(header: str) -> str:
    """Without comments and ends of lines."""
    return " ".join(re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.DOTALL).split())
