"""A program that answers each line on its standard input with a line of JSON: thousands of trials in one process."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .trial import Failure

LIMIT_S = 60.0  # for one answer


class Answers:
    """Asks such a program. One that ends or hangs is a failure, and begins anew with the next question."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], words: Path) -> None:
        self._command, self._environment, self._words = command, environment, words
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: str) -> dict[str, Any]:
        """The answer to a line.

        Raises:
            Failure: none comes, or it is no JSON.
        """
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(question.encode() + b"\n")
            process.stdin.flush()
            line = self._line(process)
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            raise self._end(process)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Ends the program."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            with self._words.open("wb") as words:
                self._process = subprocess.Popen(
                    self._command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words
                )
        return self._process

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        """What comes until the end of a line, the end of the program or that of our patience."""
        assert process.stdout is not None
        descriptor, deadline, line = process.stdout.fileno(), time.monotonic() + LIMIT_S, b""
        while not line.endswith(b"\n") and (left := deadline - time.monotonic()) > 0:
            if select.select([descriptor], [], [], left)[0]:
                part = os.read(descriptor, 1 << 16)
                if not part:
                    break
                line += part
        return line

    def _end(self, process: subprocess.Popen[bytes]) -> Failure:
        try:
            code = process.wait(timeout=1.0)
            what = f"`{Path(self._command[0]).name}` ended with code {code}"
        except subprocess.TimeoutExpired:
            what = f"`{Path(self._command[0]).name}` does not answer within {LIMIT_S:.0f} s"
        self.close()
        return Failure(f"{what}: {self._words.read_text(errors='replace')[-2000:]}")
