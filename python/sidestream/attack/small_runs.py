"""The small runs that are attacked: one of each simulation, and such as write their files in every way there is."""

from __future__ import annotations

import re

from .disks import DISK
from .subjects import Subject

COSMOLOGY = """simulation = "cosmology"

[mesh]
cells = [16, 16, 16]
block = 8

[cosmology]
box = "8 Mpc"
seed = 3

[run]
max_steps = 8

[task.spectra]
analysis = "power_spectrum"
every = 1

[output]
plotfile = { format = "nyx", every = 4 }
checkpoint = { format = "sidestream", every = 2, keep = 2 }
"""

SEDOV = """simulation = "sedov"

[mesh]
cells = [8, 8, 8]
block = 8

[amr]
min_level = 1
max_level = 2

[refine.shock]
criterion = "loehner"
fields = ["pressure"]

[run]
max_steps = 12

[task.density]
analysis = "slice"
fields = ["gas_density"]
every = 2

[output]
checkpoint = { format = "sidestream", every = 3, keep = 2 }
"""

TURBULENCE = """simulation = "turbulence"

[mesh]
cells = [16, 16, 16]
block = 8

[initial]
flow = "random"

[forcing]
kind = "stochastic"

[run]
max_steps = 20

[task.statistics]
analysis = "turbulence"
grid = "space"
every = 4

[output]
checkpoint = { format = "raw", every = 4, keep = 2 }
"""

IN_TRANSIT = COSMOLOGY.replace("every = 1\n", 'every = 1\ntransport = "in-transit"\n') + "\n[coupling]\nsidecars = 1\n"
STAGED = f'stage = "${DISK}"'
CARRIED = 'transport = "in-transit"'


def writing(config: str, checkpoint: str = "", plotfile: str = "") -> str:
    """A configuration with further keys of its outputs."""
    for output, keys in (("checkpoint", checkpoint), ("plotfile", plotfile)):
        if keys:
            config = re.sub(rf"^{output} = {{ (.*) }}$", rf"{output} = {{ \1, {keys} }}", config, flags=re.MULTILINE)
    return config


def in_format(config: str, checkpoint: str) -> str:
    """A configuration with checkpoints of another format."""
    return re.sub(r'(checkpoint = { format = )"\w+"', rf'\1"{checkpoint}"', config)


SEDOV_PLOTTED = SEDOV.replace("[output]\n", '[output]\nplotfile = { format = "flash", every = 3 }\n')

SUBJECTS = (
    Subject("cosmology", COSMOLOGY, 2),
    Subject("sedov", SEDOV, 3),
    Subject("turbulence", TURBULENCE, 4),
    Subject("cosmology with a sidecar", IN_TRANSIT, 2, sidecars=1),
    Subject("cosmology staged on two nodes", writing(COSMOLOGY, STAGED, STAGED), 2, nodes=2),
    Subject(
        "sedov staged in parts on three nodes",
        writing(SEDOV_PLOTTED, f"{STAGED}, files = 2", f"{STAGED}, files = 3"),
        3,
        ranks=3,
        nodes=3,
    ),
    Subject(
        "cosmology staged beside a sidecar that plots",
        writing(IN_TRANSIT, STAGED, CARRIED),
        2,
        ranks=3,
        sidecars=1,
        nodes=2,
    ),
    Subject("turbulence staged by three ranks on two nodes", writing(TURBULENCE, STAGED), 4, ranks=3, nodes=2),
    Subject("cosmology written by a sidecar", writing(IN_TRANSIT, CARRIED, CARRIED), 2, sidecars=1),
    Subject(
        "sedov written in parts by sidecars",
        writing(SEDOV_PLOTTED, f"{CARRIED}, files = 2", f"{CARRIED}, files = 2") + "\n[coupling]\nsidecars = 2\n",
        3,
        ranks=3,
        sidecars=2,
    ),
    Subject(
        "cosmology written in parts behind the run",
        writing(in_format(COSMOLOGY, "flash-5d"), "asynchronous = true, files = 2", "asynchronous = true"),
        2,
    ),
    Subject("cosmology in parts", writing(in_format(COSMOLOGY, "flash"), "files = 2"), 2),
    Subject("cosmology in few files at a time", writing(in_format(COSMOLOGY, "nyx"), "files = 1"), 2),
    Subject(
        "sedov by a relay", writing(in_format(SEDOV_PLOTTED, "files"), "files = 1, ranks_per_file = 2"), 3, ranks=3
    ),
    Subject("sedov in Enzo's files", writing(in_format(SEDOV_PLOTTED, "enzo-hdf5"), "files = 2"), 3, ranks=3),
)

STAGING = tuple(subject for subject in SUBJECTS if subject.nodes > 0)
