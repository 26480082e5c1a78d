"""Prints the requirements of pyproject.toml: those to run, and of the groups named (build, or an optional one).

usage: requirements.py [GROUP...]
"""

import pathlib
import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib


def requirements(pyproject: dict, groups: list[str]) -> list[str]:
    """Requirement lines in the order of the file."""
    found = list(pyproject["project"]["dependencies"])
    for group in groups:
        if group == "build":
            found += pyproject["build-system"]["requires"]
        else:
            found += pyproject["project"]["optional-dependencies"][group]
    return found


if __name__ == "__main__":
    text = (pathlib.Path(__file__).parent.parent / "pyproject.toml").read_text()
    print("\n".join(requirements(tomllib.loads(text), sys.argv[1:])))
