"""Pages of their own, without any file beside them: `report.html` shows a whole run, `live.html` one that goes on."""

from .live import watch
from .page import write_report

__all__ = ["watch", "write_report"]
