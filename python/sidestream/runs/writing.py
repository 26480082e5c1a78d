"""Tables on the disk: whole, or not at all."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr


def as_netcdf(table: xr.Dataset) -> memoryview:
    """The bytes of a dataset as a netCDF-4 file.

    They are made in memory, because HDF5 ends the process when it closes a file that a full disk did not take.
    """
    import h5netcdf
    from xarray.backends import H5NetCDFStore

    image = BytesIO()
    with h5netcdf.File(image, "w") as file:
        table.dump_to_store(H5NetCDFStore(file))
    return image.getbuffer()


def write_at_once(path: Path, content: bytes | memoryview) -> None:
    """Writes a file under a name that is given to it when it is complete.

    Raises:
        OSError: it cannot be written; nothing of it is left, as where this is interrupted.
    """
    part = path.with_name(f".{path.name}.tmp")
    try:
        part.write_bytes(content)
        os.replace(part, path)  # noqa: PTH105  (the same word as in the docs of the run folder)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
