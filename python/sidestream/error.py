"""The one exception of the package, its warning, and what commands end with."""

from __future__ import annotations

DONE, FAILED, USED_WRONGLY = 0, 1, 2  # exit codes of commands and programs
INTERRUPTED = 130  # as shells have it, of SIGINT


class Error(Exception):
    """What was wrong, where, and what to do about it.

    Printed in three lines, of which the last two may be missing::

        the run folder does not exist
          --> runs/demo
        hint: `sidestream run CONFIG --out runs/demo` makes one
    """

    def __init__(self, what: str, where: object = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = str(where)
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  --> {self.where}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def renamed(self, made: str, given: str) -> Error:
        """The same where what was `made` here is called as the user has it."""
        return type(self)(*(text.replace(made, given) for text in (self.what, self.where, self.hint)))

    @classmethod
    def from_text(cls, text: str) -> Error:
        """Reads the three-line form back, as the compiled part and `sidestream-run` print it."""
        what, where, hint = [], "", ""
        for line in text.strip().splitlines():
            if line.strip().startswith("--> "):
                where = line.strip()[4:]
            elif line.startswith("hint: "):
                hint = line[6:]
            else:
                what.append(line)
        return cls("\n".join(what).removeprefix("error: "), where, hint)


class Caution(UserWarning):
    """What is wrong with what can be used all the same, in the three lines of an `Error`."""

    def __init__(self, problem: Error) -> None:
        super().__init__(str(problem))
        self.problem = problem


class UsageError(Error):
    """A command that was called wrongly: ends with exit code 2 instead of 1."""
