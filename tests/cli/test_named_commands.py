"""Commands that sentences name, in pages and in messages, are there with the options that they are named with."""

from __future__ import annotations

import re
import sys
from importlib import util
from types import ModuleType

import pytest

from documented import PAGES, ROOT
from sidestream.cli import command_line

SPAN = re.compile(r"`sidestream ([^`]+)`")
IN_MESSAGE = re.compile(r"`sidestream ([^`]+)`|: sidestream ([^;]+)")
NO_COMMANDS = ("sidestream parts",)  # a dataset of files of FLASH


def messages() -> ModuleType:
    spec = util.spec_from_file_location("messages", ROOT / "tools/messages.py")
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules["messages"] = module
    spec.loader.exec_module(module)
    return module


def in_pages() -> list[tuple[str, str]]:
    """But decisions, which tell of what is not there, too."""
    pages = [page for page in PAGES if page.parent.name != "decisions"]
    named = [(page.name, words) for page in pages for words in SPAN.findall(page.read_text(encoding="utf-8"))]
    return [(page, words) for page, words in named if f"sidestream {words}" not in NO_COMMANDS]


def in_messages() -> list[tuple[str, str]]:
    texts = [(one.place, text) for one in messages().messages() for text in (one.what, one.hint) if text]
    return [(place, first or second) for place, text in texts for first, second in IN_MESSAGE.findall(text)]


def problem_of(words: list[str]) -> str:
    """What is wrong with a command of which arguments may be left out."""
    entry = command_line()
    while hasattr(entry, "commands"):
        words = words[sum(parameter.param_type_name == "argument" for parameter in entry.params) :]
        if not words or words[0] == "...":
            return ""
        try:
            _, entry, words = entry.resolve_command(entry.context_class(entry), words)
        except Exception as problem:  # noqa: BLE001  (of the library of command lines, which may be one of several)
            return str(problem)
    options = {name for parameter in entry.params for name in (*parameter.opts, *parameter.secondary_opts)}
    given = [word.strip("[],.").partition("=")[0] for word in words[: words.index("--") if "--" in words else None]]
    unknown = [word for word in given if re.match(r"--?[a-z]", word) and word not in options | {"--help"}]
    return f"no option {unknown[0]}" if unknown else ""


@pytest.mark.parametrize("named", [in_pages, in_messages], ids=["pages", "messages"])
def test_commands_that_are_named_are_there(named: object) -> None:
    assert callable(named)
    found = named()

    wrong = {f"{place}: sidestream {words}": problem_of(words.split()) for place, words in found}

    assert len(found) > 40
    assert {command: problem for command, problem in wrong.items() if problem} == {}


def test_what_is_not_there_is_found() -> None:
    assert problem_of(["recrod", "RUN"])
    assert problem_of(["run", "CONFIG", "--overwirte"]) == "no option --overwirte"
    assert not problem_of(["run", "CONFIG", "--overwrite"])
