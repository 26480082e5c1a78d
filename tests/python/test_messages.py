"""The list of messages is that of the sources, and those that users of the programs meet say what to do."""

from __future__ import annotations

import subprocess
import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "messages.py"
# Folders whose every error has a hint: what users of the commands and of running programs meet first.
WITH_HINTS = (
    "python/sidestream/cli/",
    "python/sidestream/figures/",
    "python/sidestream/files/",
    "python/sidestream/pictures/",
    "python/sidestream/report/",
    "python/sidestream/runs/",
    "python/sidestream/study/",
    "python/sidestream/sessions/",
    "python/sidestream/steering.py",
    "python/sidestream/redistribution.py",
    "src/sims/",
    "src/couple/triggers/",
    "src/core/config.cpp",
    "src/fft/",
    "src/amr/",
    "src/analysis/statistics/",
    "apps/c/session.cpp",
)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = util.spec_from_file_location("messages", TOOL)
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules["messages"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_is_that_of_the_sources() -> None:
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def test_errors_that_users_meet_say_what_to_do(tool: ModuleType) -> None:
    met = [one for one in tool.messages() if one.place.startswith(WITH_HINTS) and not one.what.startswith("warning: ")]
    without = [f"{one.place}: {one.what}" for one in met if not one.hint]

    assert len(met) > 250
    assert not without, "\n".join(without)


def test_sentences_are_as_the_style_wants_them(tool: ModuleType) -> None:
    wrong = [
        f"{one.place}: {text}"
        for one in tool.messages()
        for text in (one.what, one.hint)
        if text.endswith(".") and not text.endswith("...") or "!" in text.split("`")[0] or text[:1].isspace()
    ]

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("code", "what", "hint"),
    [
        ('throw core::Error("one " "two", where(), "do this");', "one two", "do this"),
        (
            'throw core::Error(fmt::format("{} of {:.3g} `{{`", a, f(b)), "", "use " + name);',
            "... of ... `{`",
            None,
        ),
        ('throw core::Error("no " + name + " here", at(a, {1, 2}));', "no ... here", ""),
        ('throw Error(name + ": bad", "", is_a ? "a" : "b");', "...: bad", "a / b"),
        ('fmt::print(stderr, "warning: {}\\n  --> {}\\nhint: use {}\\n", a, b);', "", ""),
        ('say("warning: all is lost");', "warning: all is lost", ""),
    ],
)
def test_messages_are_read_from_c_plus_plus(tool: ModuleType, code: str, what: str, hint: str | None) -> None:
    found = [(a, b) for a, b in tool.in_cpp(code) if a not in ("", "...", "warning: ...")]

    assert [a for a, _ in found] == ([what] if what else [])
    assert hint is None or [b for _, b in found] == ([hint] if what else [])


def test_messages_are_read_from_python(tool: ModuleType) -> None:
    code = 'raise Error(f"`{name}` is " + what, path, hint="a" if b else f"use {c}")\nsay("warning: it is late")\n'

    assert sorted(tool.in_python(code)) == [("`...` is ...", "a / use ..."), ("warning: it is late", "")]


def test_a_warning_of_python_is_one_message_with_its_hint(tool: ModuleType) -> None:
    code = 'say(f"warning: `{name}` is odd\\n  --> {path}\\nhint: use {other}")\nWARNING = "warning: "\n'

    assert list(tool.in_python(code)) == [("warning: `...` is odd", "use ...")]
