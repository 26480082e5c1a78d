#!/usr/bin/env python3
"""Fails when a shipped program or library links what its licence does not allow: FFTW or anything else under the GPL.

Usage: check_licences.py FILE...

What the programs and shared libraries among the files link by themselves has to be in the table below, so that a new
library is looked at once. What those draw in is looked up among the libraries that are under the GPL.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

# Linked directly: a pattern of names, and the licence (docs/decisions/0007-libraries.md).
ALLOWED = {
    r"ld-linux.*|lib(c|m|pthread|rt|dl)": "LGPL, the C library",
    r"lib(stdc\+\+|gcc_s|gomp|atomic)": "GPL with the exception for runtime libraries",
    r"lib(a|ub|t)san": "Apache 2 with the exception of LLVM",
    r"libsidestream_kernels": "ours",
    r"libmpi(ch)?(_cxx)?": "BSD",
    r"libhdf5.*": "BSD",
    r"libpnetcdf": "BSD-like",
    r"libxxhash": "BSD",
    r"libzmq": "LGPL with the exception for linking, MPL 2 from 4.3.5 on",
    r"libzstd": "BSD",
    r"libzfp": "BSD",
    r"libpng16": "libpng",
    r"libz": "zlib",
    r"libfmt": "MIT",
    r"libsleef": "Boost",
}
# With what they draw in: libraries under the GPL that a program like ours might meet.
GPL = r"lib(fftw.*|gsl.*|readline|history|cdio.*|x264|x265|poppler.*|octave.*|parmetis|glpk|umfpack|cholmod|spqr)"


def name_of(library: str) -> str:
    return Path(library).name.split(".so")[0]


def linked_directly(file: str) -> list[str]:
    text = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def linked_in_all(file: str) -> list[str]:
    text = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
    return [line.split()[0] for line in text.splitlines() if line.strip()]


def complaints(file: str) -> list[str]:
    unknown = [n for n in linked_directly(file) if not any(re.fullmatch(p, name_of(n)) for p in ALLOWED)]
    gpl = [n for n in linked_in_all(file) if re.fullmatch(GPL, name_of(n))]
    return [f"{file}: links {n}, which is not in the table of tools/check_licences.py" for n in unknown] + [
        f"{file}: draws in {n}, which is under the GPL" for n in gpl
    ]


def main(files: list[str]) -> int:
    shipped = [file for file in files if not file.endswith(".a")]  # archives are in the programs
    found = [complaint for file in shipped for complaint in complaints(file)]
    print("\n".join(found) or f"{len(shipped)} files link nothing that their licence does not allow")
    return 1 if found or not shipped else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
