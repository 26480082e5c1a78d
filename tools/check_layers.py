"""Checks that no module includes a module above it, by the table in layers.toml.

usage: check_layers.py REPOSITORY
"""

import pathlib
import re
import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]sidestream/((\w+)/\w+\.hpp)[>"]', re.MULTILINE)


def violations(root: pathlib.Path) -> list[str]:
    """One line for each include of a module that the including module may not know."""
    layers: dict[str, list[str]] = tomllib.loads((root / "layers.toml").read_text())
    found = []
    for module, allowed in layers.items():
        for folder in (root / "src" / module, root / "include" / "sidestream" / module):
            for file in sorted([*folder.rglob("*.hpp"), *folder.rglob("*.cpp")]):
                for header, target in INCLUDE.findall(file.read_text()):
                    if target != module and target not in allowed and header not in allowed:
                        found.append(f"{file.relative_to(root)}: {module} may not include {header}")
    return found


def main() -> int:
    found = violations(pathlib.Path(sys.argv[1]))
    print("\n".join(found) or "layers: every include is allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
