"""`sidestream view`: a page that follows the pictures of a run."""

from __future__ import annotations

import re

from ..error import Error
from ..runs.lock import is_held
from .server import PictureServer, Query, as_json, page


class ViewServer(PictureServer):
    """Gives the page, and the steps there are."""

    def answer(self, path: str, query: Query) -> tuple[str, bytes] | None:
        """The page `/`, `/steps` (all steps, and whether more may come) and `/about?step=N`."""
        if path == "/":
            return page("view.html", task=self.pictures.task, run=str(self.pictures.run.folder))
        if path == "/steps":
            going_on = is_held(self.pictures.run.folder)  # asked first: what comes before the end is then seen
            return as_json({"going_on": going_on, "steps": self.pictures.steps()})
        if path == "/about" and re.fullmatch(r"[0-9]{1,12}", query.get("step", "")):
            try:
                return as_json(self.about(int(query["step"])))
            except Error:
                return None
        return None
