#!/usr/bin/env python3
"""Adds a part that works: its source, its line in the registry, its words in the documentation and its test.

What is made does something small, keeps the rules of its kind and passes its test: change it into yours, and the test
with it. The folder `tools/templates/KIND` mirrors the tree, with `example` for the name; `kind.toml` in it says which
lines go where.
"""

import keyword
import os
import pathlib
import re
import shutil
import subprocess
import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
TEMPLATES = ROOT / "tools" / "templates"

CPP_WORDS = re.compile(
    "and|auto|bitand|bitor|bool|break|case|catch|char|class|compl|concept|const|constexpr|continue|decltype|"
    "default|delete|do|double|else|enum|explicit|export|extern|false|float|for|friend|goto|if|inline|int|long|"
    "mutable|namespace|new|noexcept|not|nullptr|operator|or|private|protected|public|register|requires|return|"
    "short|signed|sizeof|static|struct|switch|template|this|throw|true|try|typedef|typename|union|unsigned|"
    "using|virtual|void|volatile|while|xor"
)


class NewPartError(Exception):
    """What is wrong, and what to do."""


def named(text: str, name: str) -> str:
    """The text of a template with `name`, as a word and as that of a type."""
    return text.replace("Example", name.title().replace("_", "")).replace("example", name)


def with_line(text: str, line: dict[str, str], name: str) -> str:
    """`text` with that of the line behind the last place that the line says."""
    places = list(re.finditer(line["after"], text, re.MULTILINE))
    if not places:
        raise NewPartError(f"{line['path']} has no place like `{line['after']}`", "mend kind.toml of the template")
    end = places[-1].end()
    return text[:end] + named(line["text"], name) + text[end:]


def made(kind: str, name: str) -> dict[pathlib.Path, str]:
    """The files that are new or change, with what they then hold."""
    folder = TEMPLATES / kind
    files: dict[pathlib.Path, str] = {}
    for line in tomllib.loads((folder / "kind.toml").read_text())["line"]:
        path = ROOT / line["path"]
        files[path] = with_line(files.get(path, path.read_text()), line, name)
    for template in sorted(folder.rglob("*/*.?pp")) + sorted(folder.rglob("*/*.py")):
        path = ROOT / named(str(template.relative_to(folder)), name)
        if path.exists():
            raise NewPartError(f"{path.relative_to(ROOT)} is there already", "take another name")
        files[path] = named(template.read_text(), name)
    return files


def format_files(paths: list[pathlib.Path]) -> None:
    """As `make format` does: names are longer or shorter than those of the templates."""
    cpp = [str(path) for path in paths if path.suffix in (".cpp", ".hpp")]
    python = [str(path) for path in paths if path.suffix == ".py"]
    places = [ROOT / ".venv" / "bin", pathlib.Path(sys.executable).parent, os.environ.get("PATH", os.defpath)]
    ruff = shutil.which("ruff", path=os.pathsep.join(map(str, places)))
    if cpp and shutil.which("clang-format"):
        subprocess.run(["clang-format", "-i", *cpp], check=True, cwd=ROOT)
    if python and ruff:
        subprocess.run([ruff, "check", "--quiet", "--select", "I", "--fix", *python], check=True, cwd=ROOT)
        subprocess.run([ruff, "format", "--quiet", *python], check=True, cwd=ROOT)


def check_name(name: str) -> None:
    if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name):
        raise NewPartError(f"`{name}` is no name", "write words of lower case, joined by `_`: mean_age")
    if CPP_WORDS.fullmatch(name) or keyword.iskeyword(name):
        raise NewPartError(f"`{name}` is a word of C++ or Python", "take another name")
    for path in sorted((ROOT / "src").rglob("*.?pp")):
        if f'"{name}"' in path.read_text():
            raise NewPartError(f"`{name}` is there already, in {path.relative_to(ROOT)}", "take another name")


def write_all(files: dict[pathlib.Path, str]) -> None:
    """Writes all files, or leaves all as they were."""
    before = {path: path.read_text() if path.exists() else None for path in files}
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        format_files(list(files))
    except BaseException:
        for path, text in before.items():
            if text is None:
                path.unlink(missing_ok=True)
            elif path.read_text() != text:
                path.write_text(text)
        raise


def add(kind: str, name: str) -> None:
    check_name(name)
    files = made(kind, name)
    before = {path for path in files if path.exists()}
    write_all(files)
    check = named(tomllib.loads((TEMPLATES / kind / "kind.toml").read_text())["check"], name)
    for path in files:
        print("changed" if path in before else "made   ", path.relative_to(ROOT))
    print(f"It works as it is: `make build` (or `make setup` for what is Python), then run {check}.")
    print("Then make it yours: code, test, words of the documentation.")


def main(arguments: list[str]) -> int:
    kinds = {path.parent.name: path for path in sorted(TEMPLATES.glob("*/kind.toml"))}
    if len(arguments) != 2 or arguments[0] not in kinds:
        print("usage: tools/new.py KIND NAME\n\nkinds:", file=sys.stderr)
        for kind, path in kinds.items():
            print(f"  {kind:12}{tomllib.loads(path.read_text())['what']}", file=sys.stderr)
        return 2
    try:
        add(*arguments)
    except NewPartError as problem:
        print(f"error: {problem.args[0]}\nhint: {problem.args[1]}", file=sys.stderr)
        return 1
    except (OSError, subprocess.CalledProcessError, KeyboardInterrupt) as problem:
        print(f"error: {problem or 'interrupted'}\nhint: nothing was changed", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
