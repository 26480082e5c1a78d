"""Where a file comes from: the run that wrote it, and what simulations call its fields."""

from __future__ import annotations

from pathlib import Path

from ..core import extension, translated_errors
from .opening import require_there


def config_of(file: Path) -> str:
    """The configuration of the run that wrote a plot file or checkpoint, as TOML; empty where it keeps none."""
    require_there(
        file, "there is no such plot file or checkpoint", "`sidestream info FOLDER` lists what is in a run folder"
    )
    with translated_errors():
        return str(extension().file_config(str(file)))


def quantity_of(field: str) -> str:
    """What a simulation calls the field that files name so: `gas_density` for `density`."""
    return str(extension().quantity_of(field))
