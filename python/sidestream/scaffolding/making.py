"""Parts that work from templates: files of a user's own, or parts of a checkout with their lines in its registries.

What is made does something small, keeps the rules of its kind and passes its test. The folder of a kind mirrors the
tree in which it is made, with `example` for the name; `kind.toml` in it says what checks it, and which lines go where
in files that are there. Templates of Python files come with the package; those of parts of Sidestream lie in
`tools/templates` of its checkout.
"""

from __future__ import annotations

import keyword
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..error import Error, UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KIND = "kind.toml"
LONGEST_NAME = 50  # letters
OWN_TEMPLATES = Path(__file__).with_name("templates")
CPP_WORDS = re.compile(
    "and|auto|bitand|bitor|bool|break|case|catch|char|class|compl|concept|const|constexpr|continue|decltype|"
    "default|delete|do|double|else|enum|explicit|export|extern|false|float|for|friend|goto|if|inline|int|long|"
    "mutable|namespace|new|noexcept|not|nullptr|operator|or|private|protected|public|register|requires|return|"
    "short|signed|sizeof|static|struct|switch|template|this|throw|true|try|typedef|typename|union|unsigned|"
    "using|virtual|void|volatile|while|xor"
)


@dataclass(frozen=True)
class Made:
    """What was made: files that are new and files that have new lines, and what checks them."""

    new: Sequence[Path]
    changed: Sequence[Path]
    check: str


def make(kind: str, name: str, folder: Path, is_checkout: bool = False) -> Made:
    """Makes a part of a checkout, or files of one's own in a folder; all of it or nothing.

    Raises:
        UsageError: there is no such kind, the name is none, or something has it already.
    """
    templates = _templates(folder if is_checkout else None)
    if not (templates / kind / KIND).is_file():
        where = "in this checkout" if is_checkout else "in Python"
        known = ", ".join(path.parent.name for path in sorted(templates.glob(f"*/{KIND}")))
        raise UsageError(f"there is no kind `{kind}` {where}", hint=f"there are: {known}")
    _check_name(name)
    _check_listed(kind, name, templates / kind, folder)
    if CPP_WORDS.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(f"`{name}` is a word of C++ or Python", hint="take another name")
    if not is_checkout and find_spec(name) is not None:
        raise UsageError(f"`{name}` is a module of Python, which a file of this name would hide", hint="take another")
    if is_checkout and kind != "picture":  # which is named as its analysis
        _check_new(name, folder / "src")
    _check_template(name, templates / kind)
    files = _made(templates / kind, folder, name)
    changed = [path for path in files if path.exists()]
    _write_all(files, folder, is_checkout)
    check = _named(_about(templates / kind)["check"], name)
    return Made([path for path in files if path not in changed], changed, check)


def _templates(checkout: Path | None) -> Path:
    if checkout is None:
        return OWN_TEMPLATES
    templates = checkout / "tools" / "templates"
    if not templates.is_dir():
        raise UsageError(
            "the folder is no checkout of Sidestream", checkout, "name the folder that holds CMakeLists.txt and tools"
        )
    return templates


def _about(folder: Path) -> dict[str, Any]:
    about: dict[str, Any] = tomllib.loads((folder / KIND).read_text(encoding="utf-8"))
    return about


def _named(text: str, name: str) -> str:
    """The text of a template with `name`, as a word and as that of a type."""
    return text.replace("Example", name.title().replace("_", "")).replace("example", name)


def _with_line(text: str, line: dict[str, str], name: str) -> str:
    """`text` with that of the line behind the last place that the line says."""
    places = list(re.finditer(line["after"], text, re.MULTILINE))
    if not places:
        raise Error(f"there is no place like `{line['after']}`", line["path"], f"mend {KIND} of the template")
    end = places[-1].end()
    return text[:end] + _named(line["text"], name) + text[end:]


def _made(template: Path, root: Path, name: str) -> dict[Path, str]:
    """The files that are new or change, with what they then hold."""
    files: dict[Path, str] = {}
    for line in _about(template).get("line", []):
        path = root / line["path"]
        files[path] = _with_line(files.get(path) or path.read_text(encoding="utf-8"), line, name)
    for file in sorted(template.rglob("*.*")):
        if file.name == KIND or file.parent.name == "__pycache__":
            continue
        path = root / _named(str(file.relative_to(template)), name)
        if path.exists():
            raise UsageError(f"{path.relative_to(root)} is there already", root, "take another name")
        files[path] = _named(file.read_text(encoding="utf-8"), name)
    return files


def _check_name(name: str) -> None:
    if not re.fullmatch("[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > LONGEST_NAME:
        raise UsageError(
            f"`{name}` is no name",
            hint=f"write words of lower case, joined by `_`, of at most {LONGEST_NAME} letters: mean_age",
        )


def _check_listed(kind: str, name: str, template: Path, root: Path) -> None:
    """Refuses a name that is in the list of its kind: in the place where `listed` of a line finds it."""
    for line in _about(template).get("line", []):
        path = root / line["path"]
        is_there = "listed" in line and re.search(
            line["listed"].replace("example", name), path.read_text(encoding="utf-8"), re.MULTILINE
        )
        if is_there:
            raise UsageError(f"there is {_a(kind)} `{name}` already", path, "take another name")


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _check_template(name: str, template: Path) -> None:
    code = [path for path in sorted(template.rglob("*")) if path.suffix in (".py", ".cpp", ".hpp")]
    for path in code if name != "example" else []:
        if re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")):
            raise UsageError(f"`{name}` means something else in {_named(path.name, name)}", hint="take another name")


def _check_new(name: str, sources: Path) -> None:
    for path in sorted(sources.rglob("*.?pp")):
        if f'"{name}"' in path.read_text(encoding="utf-8"):
            raise UsageError(f"`{name}` is there already", path, "take another name")


def _write_all(files: dict[Path, str], root: Path, is_checkout: bool) -> None:
    """Writes all files, those of a checkout in its style, or leaves all as they were."""
    before = {path: path.read_text(encoding="utf-8") if path.exists() else None for path in files}
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if is_checkout:
            _format(list(files), root)
    except BaseException as problem:
        for path, old in before.items():
            if old is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(old, encoding="utf-8")
        if isinstance(problem, OSError | subprocess.CalledProcessError):
            raise Error(f"the files cannot be made: {problem}", root, "nothing was changed") from problem
        raise


def _format(paths: list[Path], root: Path) -> None:
    """As `make format` does, where its tools are: names are longer or shorter than those of the templates."""
    cpp = [str(path) for path in paths if path.suffix in (".cpp", ".hpp")]
    python = [str(path) for path in paths if path.suffix == ".py"]
    places = [root / ".venv" / "bin", Path(sys.executable).parent, os.environ.get("PATH", os.defpath)]
    ruff = shutil.which("ruff", path=os.pathsep.join(map(str, places)))
    if cpp and shutil.which("clang-format"):
        subprocess.run(["clang-format", "-i", *cpp], check=True, cwd=root)
    if python and ruff:
        subprocess.run([ruff, "check", "--quiet", "--select", "I", "--fix", *python], check=True, cwd=root)
        subprocess.run([ruff, "format", "--quiet", *python], check=True, cwd=root)
