"""`report.html`: one page, without any file beside it, that shows a whole run."""

from .page import write_report

__all__ = ["write_report"]
