"""Files that may not grow beyond a size (RLIMIT_FSIZE), as on a disk that is full."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

from ..error import Error
from .small_runs import SUBJECTS
from .subjects import RUN, Whole, checkpoints, first_words, go_on, on_any_subject, state_in
from .trial import Failure, Kind, Trial

LARGEST_BYTES = 2 << 20  # somewhat more than any file of the subjects


def _prepare(shared: Path) -> Trial:
    begun: dict[str, Path] = {}

    def trial(undisturbed: Whole, numbers: random.Random, folder: Path) -> str:
        name = undisturbed.subject.name
        if name not in begun:
            begun[name] = _begin(undisturbed, shared / "begun" / name.replace(" ", "_"))
        shutil.copytree(begun[name] / RUN, folder / RUN)
        return _go_on_with_small_files(undisturbed, int(LARGEST_BYTES ** numbers.random()), folder)

    return on_any_subject(SUBJECTS, trial)(shared)


def _begin(undisturbed: Whole, folder: Path) -> Path:
    """The first steps of a subject, with a checkpoint."""
    folder.mkdir(parents=True)
    ended = undisturbed.run(folder, "--set", f"run.max_steps={undisturbed.subject.interval}")
    if ended.code != 0 or not checkpoints(folder / RUN):
        raise Error(f"the run to go on from failed:\n{ended.said}", folder)
    return folder


def _go_on_with_small_files(undisturbed: Whole, size: int, folder: Path) -> str:
    before = {path.name: state_in(path) for path in checkpoints(folder / RUN)}
    ended = undisturbed.run(folder, "--restart", before=["prlimit", f"--fsize={size}"])
    where = f"files of at most {size} bytes"
    if ended.code not in (0, 1, 2):
        raise Failure(f"{where}: code {ended.code}: {first_words(ended.said)}")
    if ended.code != 0 and "error: " not in ended.said:
        raise Failure(f"{where}: no sentence: {first_words(ended.said)}")
    if not checkpoints(folder / RUN):
        raise Failure(f"{where}: no checkpoint is left")
    for path in checkpoints(folder / RUN):
        if path.name in before and state_in(path) != before[path.name]:
            raise Failure(f"{where}: {path.name} of before has changed")
    try:
        if ended.code == 0 and not undisturbed.has_told(ended):
            undisturbed.expect_same(folder)
            return "all fits"
        return f"{'it goes on' if ended.code == 0 else 'it fails with a sentence'}; then {go_on(undisturbed, folder)}"
    except Failure as failure:
        raise Failure(f"{where}: {failure}") from failure


limits = Kind(
    "limits",
    "a run goes on while no file may be larger than 1 byte to 2 MiB: it says what it lost, the checkpoint of before "
    "stays, and a restart without the limit makes the same to the bit",
    200,
    _prepare,
)
