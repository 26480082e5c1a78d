"""`sidestream attach` and `sidestream keys`: streams between jobs."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from .. import console
from .files import Ranks, count_of
from .options import Launcher


class Technique(str, Enum):
    """How cells come from the ranks of a run to those of a reader."""

    AUTO = "auto"
    BOUNDING_BOX = "bounding-box"
    WRITE_BLOCK = "write-block"


KEYS = Path("~/.sidestream/keys")

Keys = Annotated[
    Path | None,
    typer.Option("--keys", metavar="DIR", help="A folder of keys, for a run that asks.", show_default=False),
]


def attach(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="The folder of a run, or its address tcp://HOST:PORT#KEY.", show_default=False
        ),
    ],
    task: Annotated[str, typer.Option("--task", metavar="TASK", help="A task of its configuration.")],
    stream: Annotated[
        str | None,
        typer.Option(
            "--stream", metavar="TASK", help="The task at whose moments steps come, if another.", show_default=False
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Overrides a key of the run's configuration; repeatable."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where results go (default: the run's own).", show_default=False),
    ] = None,
    keys: Keys = None,
    technique: Annotated[
        Technique, typer.Option("--technique", metavar="NAME", help="How cells come: auto, bounding-box, write-block.")
    ] = Technique.AUTO,
    compress: Annotated[
        str, typer.Option("--compress", metavar="HOW", help='How cells travel: none, zstd, or "zfp 1e-3" (an error).')
    ] = "none",
    once: Annotated[
        bool, typer.Option("--once", help="Be given each step until its result is there, also after a kill.")
    ] = False,
    single: Annotated[bool, typer.Option("--single", help="Cells travel in single precision.")] = False,
    gateways: Annotated[
        int, typer.Option("--gateways", metavar="N", min=0, help="Ranks of this job that can reach the run (0: all).")
    ] = 0,
    timeout: Annotated[int, typer.Option("--timeout", metavar="S", min=1, help="The longest silence of the run.")] = 30,
    patience: Annotated[
        int, typer.Option("--patience", metavar="S", min=0, help="How long to look for a run that is not there.")
    ] = 0,
    ranks: Ranks = None,
    launcher: Launcher = None,
) -> None:
    """Do a task of a run that goes on, in a job of its own, with what the run streams to it.

    The configuration has a task with `transport = "stream"`: this one, or one with `analysis = "readers"` at whose
    moments any other task can be done. Results are the same to the bit as in situ, on any number of ranks. The run goes
    on whatever becomes of this job, and this job ends with the run.

    \b
    Examples:
      sidestream attach runs/demo --task halos -n 2
      sidestream attach 'tcp://node7:5555#KEY' --task halos --keys ~/.sidestream/keys --out halos
      sidestream attach runs/demo --task halos --once --patience 600    each step, whatever is killed
    """
    from ..launch.attached import Attachment
    from ..launch.attached import attach as do_attach

    attachment = Attachment(
        run,
        task,
        stream,
        out,
        settings or (),
        keys,
        technique.value,
        compress,
        once,
        single,
        gateways,
        timeout,
        patience,
    )
    do_attach(attachment, count_of(ranks, launcher), launcher, console.say)


def keys(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The folder.")] = KEYS,
) -> None:
    """Make a pair of keys for streams that other machines can reach: who has none of the allowed keys is refused.

    DIR/stream.key is secret, DIR/stream.pub is for others. A run with `[stream] keys = DIR` lets in its owner and whose
    public keys lie in DIR/allowed; what travels is encrypted (CurveZMQ).

    \b
    Examples:
      sidestream keys
      sidestream keys keys && cp colleague.pub keys/allowed
    """
    from ..streams import make_keys

    where = folder.expanduser()
    public = make_keys(where)
    console.say(f"made {where / 'stream.key'}, which is secret, and {where / 'stream.pub'}, which is for others:")
    typer.echo(public)
