"""Where an archive lies: a folder of this machine, or one that ssh reaches. Data go by rsync, the rest by a shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..error import Error, UsageError

ARRIVING = ".arriving"  # the folder at the target where files lie until they are whole and good
OWNER = ".archive_of"  # the note in an archive that says whose it is
WRITER = f"{ARRIVING}/.writer"  # says which process changes the archive: the one that began last
OVERTAKEN = 75  # the exit code of what would have changed it when another process has begun
SILENCE_S = 60  # after which a connection counts as cut
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15")
VANISHED = 24  # the exit code of rsync when a file went away meanwhile
CUT = "the same command goes on where it stopped"


@dataclass(frozen=True)
class Place:
    """A folder; `host` is a name that ssh knows, empty on this machine; `writer` names a process that changes it."""

    folder: str
    host: str = ""
    writer: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.folder}" if self.host else self.folder

    def shell(self, script: str, given: bytes = b"", is_tried: bool = False) -> bytes:
        """What a script of POSIX's shell with GNU's tools prints; it finds the folder in `$1`, and `given` as input.

        Raises:
            Error: it cannot be done; of one that `is_tried` only that the place cannot be reached.
        """
        words = ["sh", "-c", script, "sh", self.folder]
        command = [*SSH, "--", self.host, shlex.join(words)] if self.host else words
        done = _call(command, given)
        if self.host and done.returncode == 255:
            hint = f"`ssh {self.host} true` has to work without a question; {CUT}"
            raise Error(f"ssh does not reach the archive: {_last(done.stderr)}", self, hint)
        if done.returncode == OVERTAKEN:
            hint = "one at a time: give the command again when that copy has ended"
            raise Error("another process has begun to archive into the same place", self, hint)
        if done.returncode != 0 and not is_tried:
            raise Error(f"the archive cannot be used: {_last(done.stderr)}", self, f"look for room and rights; {CUT}")
        return done.stdout

    def written_by(self, writer: str) -> Place:
        """The place for a process that changes it from now on; one that did so before is refused at its next step."""
        self.shell(f'mkdir -p -- "$1/{ARRIVING}" && cat > "$1/{WRITER}"', writer.encode())
        return replace(self, writer=writer)

    def _change(self, script: str, given: bytes = b"") -> None:
        mine = f'test "$(cat -- "$1/{WRITER}" 2>/dev/null)" = "{self.writer}"'
        self.shell(f"{mine} || exit {OVERTAKEN}; {script}", given)

    def checksums(self, names: Iterable[str], below: str = ".") -> dict[str, str]:
        """The SHA-256 of those files that are there, below a folder of the archive; nothing is fetched."""
        told = self._each(f'cd -- "$1/{below}" 2>/dev/null && xargs -0 -r sha256sum -z --', names)
        return {name: line[:64] for line in told if (name := line[66:])}

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """The bytes of those files that are there."""
        told = self._each('cd -- "$1" && xargs -0 -r stat -L --printf="%s %n\\0" --', names)
        return {line.partition(" ")[2]: int(line.partition(" ")[0]) for line in told}

    def _each(self, script: str, names: Iterable[str]) -> list[str]:
        told = self.shell(script, _joined(names), is_tried=True)
        return [os.fsdecode(line) for line in told.split(b"\0") if line]

    def remove_arrived(self, names: Iterable[str]) -> None:
        """Of the files on their way, those that came damaged."""
        self._change(f'cd -- "$1/{ARRIVING}" && xargs -0 -r rm -f --', _joined(names))

    def make_way(self, names: Sequence[str], obsolete: Iterable[str]) -> None:
        """Removes what cannot stay when files get these names: files where their folders go, folders where they go."""
        self._change('cd -- "$1" && xargs -0 -r rm -rf --', _joined(obsolete))
        folder = 'if test ! -d "$f"; then rm -f -- "${f%/}"; fi'
        file = 'if test -d "$f"; then rm -rf -- "$f"; fi'
        each = f'for f; do case "$f" in */) {folder} ;; *) {file} ;; esac; done'
        folders = sorted({f"{above}/" for name in names for above in folders_of(name)})
        self._change(f'cd -- "$1" && xargs -0 -r sh -c {shlex.quote(each)} sh', _joined([*folders, *names]))

    def keep_arrived(self, names: Sequence[str]) -> None:
        """Brings files that are whole to the disk, then gives them their places."""
        self._change(f'cd -- "$1/{ARRIVING}" && xargs -0 -r sync --', _joined(names))
        folders = sorted({str(Path(name).parent) for name in names})
        self._change('cd -- "$1" && xargs -0 -r mkdir -p --', _joined(folders))
        pairs = [word for name in names for word in (f"{ARRIVING}/{name}", name)]
        self._change('cd -- "$1" && xargs -0 -r -n 2 mv -f -T --', _joined(pairs))
        self._change('cd -- "$1" && xargs -0 -r sync --', _joined(folders))

    def read(self, name: str) -> bytes | None:
        """A small file; None where it is not there."""
        told = self.shell(f'cd -- "$1" 2>/dev/null && test -f {name} && printf y && cat -- {name}', is_tried=True)
        return told[1:] if told else None

    def write(self, name: str, content: bytes) -> None:
        """A small file, whole or not at all."""
        part = f".{name}.tmp"
        self._change(f'cd -- "$1" && cat > {part} && sync -- {part} && mv -f -- {part} {name} && sync -- .', content)

    def write_once(self, name: str, part: str, content: bytes) -> bytes:
        """A small file, where there is none yet; returns what it says then. Nobody else uses the name `part`."""
        self.shell('mkdir -p -- "$1"')
        give = f"{{ ln -T -- {part} {name} || mv -n -T -- {part} {name}; }} 2>/dev/null"  # not all disks have links
        return self.shell(
            f'cd -- "$1" && {{ test -f {name} || {{ cat > {part} && sync -- {part} && {{ {give}; rm -f -- {part}; }} '
            f"&& sync -- .; }}; }} && cat -- {name}",
            content,
        )

    def names(self) -> list[str]:
        """What lies in the folder, hidden names too; nothing where there is no folder yet."""
        return self._each('cd -- "$1" 2>/dev/null && find . -mindepth 1 -maxdepth 1 -printf "%f\\0"', [])

    def sweep(self) -> None:
        """Removes the folder of files on their way, with what nobody waits for any more."""
        self._change(f'rm -rf -- "$1/{ARRIVING}" "$1/{OWNER}".*')

    def for_rsync(self, below: str = "") -> str:
        """The folder as rsync takes it."""
        path = f"{self.folder.rstrip('/')}/{below}"
        return f"{self.host}:{path}" if self.host else path


def place_of(text: str) -> Place:
    """`HOST:FOLDER` or `FOLDER`: a colon before the first slash is that of a host."""
    named = re.fullmatch(r"([^/:]+):(.*)", text, re.DOTALL)
    if named is None:
        return Place(str(Path(text).resolve()))
    host, folder = named.groups()
    if host.startswith("-") or not folder or folder.startswith("~"):
        raise UsageError(f"`{text}` is no place for an archive", hint="give FOLDER, or HOST:FOLDER as ssh and rsync do")
    return Place(folder, host)


def folders_of(name: str) -> list[str]:
    """Those above a file in an archive, the outermost first."""
    return [str(path) for path in reversed(Path(name).parents)][1:]


def need_rsync() -> None:
    """Throws where rsync is missing."""
    if shutil.which("rsync") is None:
        raise Error("there is no `rsync` on the PATH", hint="install it on both machines: `apt-get install rsync`")


def carry(source: str, target: str, names: Sequence[str]) -> int:
    """Copies files by their names below `source`; what of them has arrived before is not sent again.

    Returns:
        the bytes that went from here to there and back.
    """
    need_rsync()
    options = ["--from0", "--files-from=-", "--times", "--perms", "--copy-links", "--append-verify", "--protect-args"]
    options += [
        "--ignore-missing-args",
        "--force",
        "--stats",
        "--no-human-readable",
        f"--timeout={SILENCE_S}",
        f"--rsh={shlex.join(SSH)}",
    ]
    done = _call(["rsync", *options, "--", source, target], _joined(names))
    if done.returncode not in (0, VANISHED):
        raise Error(f"the copy was cut: {_cause(done.stderr)}", target, CUT)
    told = re.findall(rb"^Total bytes (?:sent|received): (\d+)", done.stdout, re.MULTILINE)
    return sum(map(int, told))


def _call(command: list[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    # What it prints goes to files: the end of a pipe would only come with that of all that a dead link has left behind.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        environment = os.environ | {"LC_ALL": "C"}
        try:
            done = subprocess.run(command, input=given, stdout=output, stderr=errors, env=environment)
        except FileNotFoundError as problem:
            raise Error(f"there is no `{command[0]}` on the PATH", hint=f"install `{command[0]}`") from problem
        output.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(command, done.returncode, output.read(), errors.read())


def _joined(names: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def _last(told: bytes) -> str:
    lines = told.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it says nothing of why"


def _cause(told: bytes) -> str:
    """The first complaint: the last lines of rsync name places in its sources."""
    lines = told.decode(errors="replace").strip().splitlines()
    return lines[0].removeprefix("rsync: ") if lines else "rsync says nothing of why"
