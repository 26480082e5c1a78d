"""Makes the inputs that fuzzing begins with, from examples and small files: `make_corpus.py [FOLDER]`.

Takes `sidestream-run`, `sidestream-files` and `write_sample_file` of build/release. The folder is by default `corpus`
beside this file, where inputs that once failed lie too, by names of their own.
"""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "release"
REFINED = ROOT / "tests" / "data" / "refined_plt00007"
OURS = ("sidestream.", "checksums")  # what Sidestream adds to a folder of the format
RECORD_MARK, INNER_RECORD_MARK = b"sidestream-end1\n", b"sidestream-rec1\n"
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

TINY = """simulation = "turbulence"
[mesh]
cells = [8, 8, 8]
block = 8
[initial]
flow = "random"
[tracers.dust]
count = 3
[run]
max_steps = 1
[output]
plotfile = { format = "nyx", every = 1, grid = "space" }
"""
CONDITIONS = (
    "max(temperature) > 1e7 and step > 10",
    "not (mean(density) <= 0.5 or time >= 3) and redshift < 2",
    "-(-1.5 + 2*3/4) == 1 or min(gas_density) != 0",
)
QUANTITIES = ("1.5 h", "30 min", "2 GiB", " 7", "-1e-3 s", "12d")
TOML = (
    "a = 1\nb = [1.5, 2, -3e4, inf, nan]\n[c.d]\n"
    '"e f" = \'g\'\nh = true\n[[i]]\nj = { k = "\\u00e9\\n", l = 0xff }\n[[i]]\n',
    "x = \"\"\"two\nlines\"\"\"\ny.z = '''a'''\n# a comment\nw = 1979-05-27T07:32:00Z\n",
    '[task.a]\nevery = 5\n---\ntask.a.when="step > 3"',
)
WISDOM = (
    '{"sidestream_wisdom": 1, "findings": {"key": {"choice": "rma", "seconds": 1e-3}, "other": 3}}',
    '{"sidestream_wisdom": 2}',
)

# Requests of those who steer.
STEERING = (
    '{"verb": "list"}',
    '{"verb": "set", "name": "number", "value": 0.3}',
    '{"verb": "set", "name": "number", "value": "0.3", "at": 4}',
    '{"verb": "set", "name": "vector", "value": [0.1, 0.2]}',
    '{"verb": "step", "count": 1e+300}',
    '{"verb": "edit", "name": "density", "edit": {"cells": [[0, 0, 0], [4, 4, 4]], "operation": "add", "value": 1}}',
    '{"verb": "edit", "name": "density", "edit": {"cells": [[0, 0, 0.5], [4294967300, 4, 4]], "value": 1}}',
    "[1]",
    '{"verb": 7}',
    '{"verb": "pause", "at": -5, "who": 3}',
)
# Events of runs.
EVENTS = (
    '{"event": "run_start"}\n'
    '{"event": "steering", "step": 1, "id": 1, "at": 1, "verb": "set", "name": "number", "value": 0.5}\n'
    '{"event": "publish", "task": "t", "step": 3, "action": "dropped"}\n'
    '{"event": "withdrawn", "task": "t", "step": 3}\n'
    '{"event": "due_by_clock", "task": "t", "step": 4}\n'
    '{"event": "checkpoint_begun", "step": 4, "among": "outputs"}\n'
    '{"event": "job_ended", "task": "t", "step": 5, "message": "late", "is_unwritten": false}\n'
    '{"event": "ended_early", "step": 6, "by": "wall time"}\n'
    '{"event": "restart", "step": 2}\n',
    '{"event":"steering","step":"1"}\n',
    '{"event":"run_start"}\n{"event":"stee',
)
# Blocks of four floats, in one of each compressor: (z, y, x) and the reals, then what `compress_block` makes.
COMPRESSED = {
    "none": "0101040000000080bf000000000000803f00000040",
    "zstd": "010104000128b52ffd201081000000000000000000000000800040803f404040",
    "zfp": "0101040002000000000000d03f05310b00",
}
LOSSES = {"zstd": "zstd", "zfp": "zfp 1e-2"}


def main() -> None:
    """Writes all inputs, those of each target in a folder of its name."""
    corpus = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "corpus"
    with tempfile.TemporaryDirectory() as scratch:
        for target, inputs in _inputs(Path(scratch)).items():
            folder = corpus / target
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in inputs.items():
                (folder / name).write_bytes(content)


def _inputs(scratch: Path) -> dict[str, dict[str, bytes]]:
    examples = {path.stem: path.read_bytes() for path in sorted((ROOT / "examples").glob("*.toml"))}
    _run([BUILD / "apps" / "sidestream-run", _tiny(scratch), "--out", scratch / "run", "--quiet"])
    nyx, enzo = _converted("nyx", scratch), _converted("enzo", scratch)
    raw = _raw_input(_converted("raw", scratch).read_bytes())
    return {
        "configuration": examples,
        "compressed_block": {name: bytes.fromhex(block) for name, block in COMPRESSED.items()},
        "toml": _numbered(TOML),
        "condition": _numbered(CONDITIONS),
        "quantity": _numbered(QUANTITIES),
        "steering": _numbered(STEERING),
        "events": _numbered(EVENTS),
        "wisdom": _numbered(WISDOM),
        "messages": {name: kind + _cbor(message) for name, (kind, message) in _messages().items()},
        "metadata": {folder.name: (folder / "sidestream.json").read_bytes() for folder in (REFINED, nyx)},
        "nyx": {
            "ours": _archive(nyx),
            "foreign": _archive(nyx, OURS),
            "refined": _archive(REFINED, (*OURS, "Cell_D")),
            "absurd_index_box": _archive(nyx, OURS).replace(
                b"((0,0,0) (7,7,7)", b"((-1073741824,0,0) (1073741824,7,7)"
            ),
        },
        "enzo": {"foreign": _foreign_enzo(enzo)},
        "enzo_hierarchy": {path.suffix[1:] or "parameters": path.read_bytes() for path in _texts_of_enzo(enzo)},
        "states": {
            **{
                form: b"s" + _without_record(_converted(form, scratch).read_bytes())
                for form in ("flash", "flash-netcdf")
            },
            **{
                f"flash_{name}": b"s" + _without_record(_converted("flash", scratch, words).read_bytes())
                for name, words in LOSSES.items()
            },
            "foreign": b"f" + _foreign_flash((1, 2)),
            "levels_far_apart": b"f" + _foreign_flash((1, 16)),
            "vtk": b"f" + _foreign_vtk(0),
            "vtk_absurd_box": b"f" + _foreign_vtk(-(1 << 30)),
        },
        "raw": {
            "ours": raw,
            "too_many_particles": _with_particles(raw, 1 << 40),
            **{
                f"ours_{name}": _raw_input(_converted("raw", scratch, words).read_bytes())
                for name, words in LOSSES.items()
            },
        },
        "result": {"table": b"s" + _without_record(_result(scratch).read_bytes())},
    }


def _numbered(texts: tuple[str, ...]) -> dict[str, bytes]:
    return {str(number): text.encode() for number, text in enumerate(texts)}


def _run(command: list[str | Path]) -> None:
    subprocess.run(list(map(str, command)), check=True, env=ENVIRONMENT, capture_output=True)


def _tiny(scratch: Path) -> Path:
    path = scratch / "tiny.toml"
    path.write_text(TINY)
    return path


def _converted(form: str, scratch: Path, compress: str = "none") -> Path:
    target = scratch / (form if compress == "none" else f"{form}_{compress.split()[0]}")
    command = [BUILD / "apps" / "sidestream-files", "convert", scratch / "run" / "plt00001", target, "--format", form]
    _run([*command, "--fields", "x_velocity", "--precision", "single", "--compress", compress])
    return target


def _result(scratch: Path) -> Path:
    path = scratch / "result.nc"
    _run([BUILD / "tests" / "write_sample_file", "result", path, "3"])
    return path


def _archive(folder: Path, without: tuple[str, ...] = ()) -> bytes:
    """A line `=== NAME` before the bytes of each file."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(without)]
    return b"\n".join(b"=== %s\n%s" % (str(path.relative_to(folder)).encode(), path.read_bytes()) for path in files)


def _hdf5(arrays: dict[str, Any], attributes: dict[str, dict[str, Any]]) -> bytes:
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        for name, values in arrays.items():
            file[name] = values
        for name, values in attributes.items():
            file[name].attrs.update(values)
    return content.getvalue()


def _foreign_flash(levels: tuple[int, int]) -> bytes:
    """Two blocks of a cell along x: one of 2^-19 of the domain on the coarser level, one that is all on the other."""
    boxes = np.tile([0.0, 1.0], (2, 3, 1))
    boxes[0, 0, 1] = 2.0**-19
    names = np.array([[b"dens"]], dtype="S4")
    tables = {"refine level": np.array(levels, dtype=np.int32), "bounding box": boxes, "unknown names": names}
    return _hdf5({**tables, "dens": np.ones((2, 1, 1, 1))}, {})


def _foreign_vtk(first: int) -> bytes:
    box = np.array([[first, -first, 0, 0, 0, 0]], dtype=np.int64)
    arrays = {"VTKHDF/Level0/AMRBox": box, "VTKHDF/Level0/CellData/density": np.ones(1)}
    group = {"Version": np.array([2, 0]), "Type": np.bytes_("OverlappingAMR"), "Origin": np.zeros(3)}
    return _hdf5(arrays, {"VTKHDF": group, "VTKHDF/Level0": {"Spacing": np.ones(3)}})


def _foreign_enzo(ours: Path) -> bytes:
    """The texts of a folder of ours, as a file of Enzo itself, with a dataset of one grid."""
    files = {path.name: path.read_bytes() for path in _texts_of_enzo(ours)}
    files[ours.name] = b"\n".join(line for line in files[ours.name].split(b"\n") if b"Sidestream" not in line)
    grid = _hdf5({"Grid00000001/x-velocity": np.ones((8, 8, 8), dtype=np.float32)}, {})
    return b"\n".join(b"=== %s\n%s" % (name.encode(), text) for name, text in {**files, "enzo.cpu0000": grid}.items())


def _with_particles(raw: bytes, count: int) -> bytes:
    """With one piece of so many particles, of which nothing is there."""
    head, rest = raw.split(b"\n", 1)
    tables, arrays = rest.split(b"\n===\n", 1)
    index = json.loads(head)
    index["state"].update({"has_particles": True, "particle_mass": 0.0, "particle_reals": []})
    index.update({"particles": count, "pieces": 1})
    return json.dumps(index).encode() + b"\n" + tables + struct.pack("<q", count) + b"\n===\n" + arrays


def _texts_of_enzo(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.suffix in ("", ".hierarchy")]


def _without_record(content: bytes) -> bytes:
    """Without one at the end, which goes before one inside."""
    if INNER_RECORD_MARK in content:
        return content
    if not content.endswith(RECORD_MARK):
        raise SystemExit("a file of ours has no commit record")
    (begin,) = struct.unpack_from("<q", content, len(content) - 48)
    return content[:begin]


def _raw_input(content: bytes) -> bytes:
    content = _without_record(content)
    head = content.index(b"\n") + 1
    size = int(content[:head].split()[-1])
    arrays = (head + size + 4095) // 4096 * 4096
    return content[head : head + size] + b"\n===\n" + content[arrays:]


def _messages() -> dict[str, tuple[bytes, Any]]:
    domain = struct.pack("<6i", 0, 0, 0, 8, 8, 8)
    boxes = struct.pack("<12i", 0, 0, 0, 4, 8, 8, 4, 0, 0, 8, 8, 8)
    periodic = [True, False, True]
    layout = {"domain": domain, "periodic": periodic, "level": 0, "boxes": boxes, "owners": struct.pack("<2i", 0, 2)}
    label = {"species": "stars", "count": 5, "mass": 0.1, "attributes": [["age", "Gyr"]]}
    publish = {
        "number": 7,
        "tasks": [0, 2],
        "fields": [["density", "g"]],
        "particles": [label],
        "bytes": [80, 0],
        "first_step": 12,
        "flows": struct.pack("<2iq", 0, 1, 9),
        "step": 3,
        "time": 0.5,
        "attributes": {"omega_m": 0.3},
        "words": {"a": "b"},
        "scale_factor": None,
        "geometry": {"domain": domain, "length": [1.0, 2.0, 3.0], "periodic": periodic},
    }
    return {
        "levels": (b"l", [layout]),
        "cut_table": (b"l", [layout | {"boxes": boxes[:-1]}]),
        "absurd_domain": (b"l", [layout | {"domain": struct.pack("<6i", -(1 << 31), 0, 0, (1 << 31) - 1, 8, 8)}]),
        "announcement": (b"a", publish),
        "snapshot": (b"s", publish),
        "label": (b"p", label),
    }


def _cbor(value: Any) -> bytes:
    """RFC 8949, as much of it as messages have."""
    if value is None or isinstance(value, bool):
        return {None: b"\xf6", False: b"\xf4", True: b"\xf5"}[value]
    if isinstance(value, int):
        return b"\x1b" + struct.pack(">Q", value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, bytes):
        return b"\x5a" + struct.pack(">I", len(value)) + value
    if isinstance(value, str):
        return b"\x7a" + struct.pack(">I", len(value.encode())) + value.encode()
    if isinstance(value, list):
        return b"\x9a" + struct.pack(">I", len(value)) + b"".join(map(_cbor, value))
    return b"\xba" + struct.pack(">I", len(value)) + b"".join(_cbor(k) + _cbor(v) for k, v in value.items())


if __name__ == "__main__":
    main()
