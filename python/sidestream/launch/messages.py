"""What a launcher prints, sorted into the program's own messages and the launcher's noise."""

from __future__ import annotations

import re

from ..error import Error
from ..mpi import refusal

_RULE = re.compile(r"^-{20,}\s*$")  # Open MPI frames its notices with these
_LAUNCHER = re.compile(r"^(\[[\w.-]+:\d+\]|\[mpiexec@|\[proxy:|mpirun[: ]|mpiexec[: ]|prterun[: ]|srun: |slurmstepd: )")
_SIGNAL = re.compile(r"(?:rank (\d+)\b.*)?exited on\s+signal (\d+)(?: \(([^)]*)\))?", re.DOTALL)


class MessageFilter:
    """Takes the error stream of a launcher line by line and lets through what the program itself said, once."""

    def __init__(self) -> None:
        self.noise: list[str] = []
        self.errors: list[str] = []  # the program's own error messages, in three-line form
        self.has_lost_events = False  # the program could not write all that the logs should tell
        self._in_notice = False
        self._passing = True

    def feed(self, line: str) -> str | None:
        """The line if the user should see it, else None."""
        line = line.rstrip("\r\n")
        if _RULE.match(line):
            self._in_notice = not self._in_notice
            return None
        if line.startswith("error: "):
            self._passing = self._note_error(line)
            return line if self._passing else None
        if self.errors and line.startswith(("  --> ", "hint: ")):
            if self._passing:
                self.errors[-1] += "\n" + line
            return line if self._passing else None
        if self._in_notice or _LAUNCHER.match(line) or refusal(line):
            self.noise.append(line)
            return None
        self._passing = True
        self.has_lost_events |= line.startswith("warning: events are lost")
        return line if line.strip() else None

    def diagnosis(self, exit_code: int) -> Error | None:
        """Why the job failed, if the program could not say it itself."""
        if self.errors or exit_code == 0:
            return None
        text = "\n".join(self.noise)
        if problem := refusal(text):
            return problem
        killed = _SIGNAL.search(text)
        if killed or exit_code < 0:
            rank, number, name = killed.groups() if killed else (None, str(-exit_code), None)
            who = f"rank {rank}" if rank else "the program"
            hint = (
                "the machine may be out of memory; `sidestream check` tells what the run needs" if number == "9" else ""
            )
            return Error(f"{who} was ended by signal {number}" + (f" ({name})" if name else ""), hint=hint)
        if "not enough slots" in text:
            return Error("the launcher has no room for so many ranks", hint="ask for fewer with -n")
        first = next((line.strip() for line in self.noise if line.strip()), "")
        hint = (
            f"the launcher said: {first}"
            if first
            else "nothing was said: does the launcher itself work (`mpirun -n 1 true`)?"
        )
        return Error(f"the run ended with exit code {exit_code}", hint=hint)

    def _note_error(self, line: str) -> bool:
        if any(error.split("\n")[0] == line for error in self.errors):
            return False
        self.errors.append(line)
        return True
