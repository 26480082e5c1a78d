"""The layer between a program and the system's file calls, which lets some fail, counts and records them."""

from __future__ import annotations

from ..error import Error
from ..launch.launcher import find_program

LAYER = "libsidestream_io_layer.so"


def under_layer(settings: dict[str, str]) -> list[str]:
    """The command that puts the layer below a program, with these variables in its environment.

    Raises:
        Error: it is not installed.
    """
    layer = find_program().parent / LAYER
    if not layer.exists():
        raise Error(f"`{LAYER}` is missing, which lets calls on files fail", layer.parent, "install the package again")
    return ["env", *(f"{name}={value}" for name, value in ({"LD_PRELOAD": str(layer)} | settings).items())]
