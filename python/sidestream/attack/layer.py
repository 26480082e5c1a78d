"""The layers between a program and the system's file calls, or the allocator, which let some calls fail and count."""

from __future__ import annotations

from ..error import Error
from ..launch.launcher import find_program

FILES = "libsidestream_io_layer.so"
MEMORY = "libsidestream_memory_layer.so"


def under_layer(settings: dict[str, str], name: str = FILES) -> list[str]:
    """The command that puts a layer below a program, with these variables in its environment.

    Raises:
        Error: it is not installed.
    """
    layer = find_program().parent / name
    if not layer.exists():
        raise Error(f"`{name}` is missing, which lets calls fail", layer.parent, "install the package again")
    return ["env", *(f"{key}={value}" for key, value in ({"LD_PRELOAD": str(layer)} | settings).items())]
