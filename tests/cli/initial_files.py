"""A small universe, and independent writers of it in the formats of initial conditions."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from configs import universe

Array = NDArray[np.float64]

N = 16  # particles and cells along an axis
BOX = 20.0  # Mpc
OMEGA_M, OMEGA_B, OMEGA_L, H = 0.3, 0.05, 0.7, 0.7
Z = 49.0
A = 1 / (1 + Z)
G = 4.300917e-9  # Mpc (km/s)^2 / Msun
CRITICAL = 3 * (100 * H) ** 2 / (8 * np.pi * G)  # Msun/Mpc^3
CM_PER_MPC, GRAMS_PER_MSUN = 3.085677580962325e24, 1.98841586e33  # programs differ by 2e-10 and by 2e-4


def tables(steps: int, **keys: object) -> str:
    """Of a run of this universe, without tasks and output; `keys` are further ones of `[cosmology]`."""
    cosmology = {"omega_m": OMEGA_M, "omega_b": OMEGA_B, "hubble": H}
    return universe(cells=N, steps=steps, box=f"{BOX} Mpc", z_start=Z, z_end=0, **cosmology, **keys)


@dataclass
class Matter:
    """Particles: positions [Mpc], proper peculiar velocities [km/s], masses [Msun], energies [(km/s)^2]."""

    id: NDArray[np.int64]
    position: Array
    velocity: Array
    mass: Array
    energy: Array


def lattice() -> Array:
    """The centres of the cells, x fastest."""
    z, y, x = np.meshgrid(*3 * [(np.arange(N) + 0.5) * BOX / N], indexing="ij")
    return np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)


def matter(seed: int = 1, density: float = OMEGA_M * CRITICAL, reach: float = 0.3) -> Matter:
    """Particles displaced from a lattice by up to `reach` cells along each axis, with any velocities."""
    random = np.random.default_rng(seed)
    position = (lattice() + random.uniform(-reach, reach, (N**3, 3)) * BOX / N) % BOX
    return Matter(
        np.arange(N**3),
        position,
        random.uniform(-50, 50, (N**3, 3)),
        np.full(N**3, density * BOX**3 / N**3),
        random.uniform(1, 2, N**3),
    )


def clouds(position: Array, amount: Array) -> Array:
    """Amounts a volume on the cells [z, y, x], by cloud-in-cell weights."""
    sums = np.zeros((N, N, N))
    scaled = position * N / BOX - 0.5
    low = np.floor(scaled).astype(int)
    part = scaled - low
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(np.array(corner) == 1, part, 1 - part), axis=1)
        x, y, z = ((low + corner) % N).T
        np.add.at(sums, (z, y, x), weight * amount)
    return sums / (BOX / N) ** 3


def write_nyx(path: Path, all_matter: Matter, dtype: str = "<f8") -> Path:
    rows = np.column_stack([all_matter.position, all_matter.mass, all_matter.velocity])
    path.write_bytes(struct.pack("<qii", len(rows), 3, 4) + rows.astype(dtype).tobytes())
    return path


def gadget_groups(
    file: h5py.File, species: dict[int, Matter], length: float, mass: float, velocity: float, real: str, integer: str
) -> None:
    for kind, some in species.items():
        group = file.create_group(f"PartType{kind}")
        group["Coordinates"] = (some.position / length).astype(real)
        group["Velocities"] = (some.velocity / velocity).astype(real)
        group["ParticleIDs"] = some.id.astype(integer)
        group["Masses"] = (some.mass / mass).astype(real)
        if kind == 0:
            group["InternalEnergy"] = some.energy.astype(real)


def part_of(some: Matter, rows: slice) -> Matter:
    return Matter(*(getattr(some, name)[rows] for name in ("id", "position", "velocity", "mass", "energy")))


def write_gadget(
    path: Path,
    species: dict[int, Matter],
    files: int = 1,
    real: str = "f8",
    integer: str = "u8",
    units: bool = True,
    length: float = 1e-3,
    header: dict[str, object] | None = None,
) -> Path:
    """Gadget-4's: lengths in kpc/h (or `length` Mpc/h), masses in 1e10 Msun/h, velocities over sqrt(a)."""
    total = [len(species[kind].id) if kind in species else 0 for kind in range(6)]
    names = [path] if files == 1 else [path.with_suffix(f".{n}.hdf5") for n in range(files)]
    for n, name in enumerate(names):
        part = {k: part_of(s, slice(n * len(s.id) // files, (n + 1) * len(s.id) // files)) for k, s in species.items()}
        with h5py.File(name, "w") as file:
            gadget_groups(file, part, length / H, 1e10 / H, np.sqrt(A), real, integer)
            attributes = file.create_group("Header").attrs
            attributes["NumPart_ThisFile"] = np.array([len(part[k].id) if k in part else 0 for k in range(6)], "u8")
            attributes["NumPart_Total"] = np.array(total, "u8")
            attributes["MassTable"] = np.zeros(6)
            attributes["NumFilesPerSnapshot"] = files
            attributes["Redshift"], attributes["Time"], attributes["BoxSize"] = Z, A, BOX / (length / H)
            parameters = file.create_group("Parameters").attrs
            known = {"Omega0": OMEGA_M, "OmegaLambda": OMEGA_L, "OmegaBaryon": OMEGA_B, "HubbleParam": H}
            for key, value in known.items():
                parameters[key] = value
            if units:
                parameters["UnitLength_in_cm"] = length * CM_PER_MPC
                parameters["UnitMass_in_g"] = 1e10 * GRAMS_PER_MSUN
                parameters["UnitVelocity_in_cm_per_s"] = 1e5
            for key, value in (header or {}).items():
                attributes[key] = value
    return names[0]


def write_swift(path: Path, species: dict[int, Matter]) -> Path:
    """SWIFT's: no factors of h, peculiar velocities, seven types, comoving internal energies."""
    with h5py.File(path, "w") as file:
        gadget_groups(file, species, 1.0, 1e10, 1.0, "f8", "i8")
        if 0 in species:
            file["PartType0/InternalEnergies"] = file["PartType0/InternalEnergy"][:] * A**2
            file["PartType0/InternalEnergies"].attrs["a-scale exponent"] = -2.0
            del file["PartType0/InternalEnergy"]
        header, units, cosmology = (file.create_group(name).attrs for name in ("Header", "Units", "Cosmology"))
        counts = np.array([len(species[kind].id) if kind in species else 0 for kind in range(7)])
        header["NumPart_ThisFile"], header["NumPart_Total"] = counts, counts
        header["NumPart_Total_HighWord"] = np.zeros(7, "u4")
        header["NumFilesPerSnapshot"] = [1]
        header["BoxSize"], header["Redshift"], header["Time"] = [BOX] * 3, [Z], [0.003]
        units["Unit length in cgs (U_L)"] = [CM_PER_MPC]
        units["Unit mass in cgs (U_M)"] = [1e10 * GRAMS_PER_MSUN]
        units["Unit time in cgs (U_t)"] = [CM_PER_MPC / 1e5]
        cosmology["Omega_m"], cosmology["Omega_b"], cosmology["Omega_lambda"] = [OMEGA_M], [OMEGA_B], [OMEGA_L]
        cosmology["h"] = [H]
    return path


def displacement_of(some: Matter) -> Array:
    """From the points of the lattice [Mpc], the short way round."""
    return (some.position - lattice() + BOX / 2) % BOX - BOX / 2


def write_grafic_field(path: Path, values: Array, order: str, **changes: float) -> None:
    """A Fortran file without format: header and slabs of constant z, each between two counts of its bytes."""
    header = {"dx": BOX / N, "x": 0.0, "y": 0.0, "z": 0.0, "a": A, "m": OMEGA_M, "l": OMEGA_L, "h0": 100 * H} | changes
    records = [struct.pack(f"{order}3i8f", N, N, N, *header.values())]
    records += [slab.astype(f"{order}f4").tobytes() for slab in values.reshape(N, N * N)]
    mark = [struct.pack(f"{order}i", len(record)) for record in records]
    path.write_bytes(b"".join(m + record + m for m, record in zip(mark, records, strict=True)))


def write_grafic(
    folder: Path,
    dark: Matter,
    order: str = "<",
    contrast: Array | None = None,
    gas_velocity: Array | None = None,
    displaced: bool = True,
) -> Path:
    folder.mkdir()
    for axis, letter in enumerate("xyz"):
        write_grafic_field(folder / f"ic_velc{letter}", dark.velocity[:, axis], order)
        if displaced:
            write_grafic_field(folder / f"ic_posc{letter}", displacement_of(dark)[:, axis] * H, order)
        if gas_velocity is not None:
            write_grafic_field(folder / f"ic_velb{letter}", gas_velocity[:, axis], order)
    if contrast is not None:
        write_grafic_field(folder / "ic_deltab", contrast, order)
    return folder


def write_monofonic(path: Path, dark: Matter, gas: Matter | None = None, gas_on_cells: bool = False) -> Path:
    """Arrays (x, y, z) in units of the box; of the gas displacements, or the contrast on the cells."""

    def array(values: Array) -> Array:
        return values.reshape(N, N, N).T.copy()

    with h5py.File(path, "w") as file:
        header = file.create_group("Header").attrs
        header["Boxsize"], header["astart"] = BOX * H, A
        header["Omega_b"], header["Omega_m"], header["Omega_L"] = OMEGA_B, OMEGA_M, OMEGA_L
        for name, some in {"DM": dark, "BA": gas}.items():
            if some is None:
                continue
            for axis, letter in enumerate("xyz"):
                file[f"{name}_v{letter}"] = array(some.velocity[:, axis] / (BOX * H))
                if name == "DM" or not gas_on_cells:
                    file[f"{name}_d{letter}"] = array(displacement_of(some)[:, axis] / BOX)
            if name == "BA" and gas_on_cells:
                file["BA_delta"] = array(some.mass / some.mass.mean() - 1)
            elif gas is not None and not gas_on_cells:
                omega = OMEGA_B if name == "BA" else OMEGA_M - OMEGA_B
                file[f"{name}_"] = array(some.mass / some.mass.mean() * omega)
    return path
