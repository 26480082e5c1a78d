"""Pictures that a notebook shows."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from ..figures import Picture, nothing_drawn, pictures

if TYPE_CHECKING:
    from ..runs.run import Run


class Gallery(list[Picture]):
    """Pictures, each with its `figure` of matplotlib; shown one below the other where they are the last in a cell."""

    def __repr__(self) -> str:
        return f"<sidestream.Gallery: {', '.join(picture.name for picture in self)}>"

    def _repr_html_(self) -> str:
        return "".join(
            f'<figure><img src="{picture.data_uri()}" style="max-width: 100%" alt="{html.escape(picture.title)}">'
            f"<figcaption>{html.escape(picture.caption)}</figcaption></figure>"
            for picture in self
        )


def gallery(run: Run, task: str | None) -> Gallery:
    """The pictures of a task, or of all tasks and the run."""
    if task is not None:
        run.steps(task)  # an error where there is no such task
    drawn = Gallery(pictures(run, task))
    if not drawn:
        raise nothing_drawn(run, task)
    return drawn
