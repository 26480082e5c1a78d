"""Bytes of the state of a flow against those of its pictures, for grids of the shape of a wind tunnel.

Usage: python bench/picture_bytes.py [FOLDER, runs/picture_bytes] [HEIGHT ...]   (needs sidestream-run)
Prints a row for each grid of 5/2 HEIGHT x HEIGHT cells behind a cylinder, after as many steps as fluid takes to pass
two of its diameters: density and two velocities as doubles (raw), the picture of the vorticity as one PNG, and as a
pyramid with its page.
"""

import subprocess
import sys
from pathlib import Path

from sidestream.launch.launcher import find_program

CONFIG = """simulation = "lbm"
[mesh]
cells = [{width}, {height}, 1]
block = {block}
[lbm]
viscosity = 0.01
collision = "regularised"
end = {end}
[initial]
velocity = [0.1, 0.0, 0.0]
[edge.left]
kind = "equilibrium"
velocity = [0.1, 0.0, 0.0]
[edge.bottom]
kind = "equilibrium"
velocity = [0.1, 0.0, 0.0]
[edge.top]
kind = "equilibrium"
velocity = [0.1, 0.0, 0.0]
[edge.right]
kind = "outflow"
[barrier.rod]
shape = "cylinder"
center = [{x}, {y}]
radius = {radius}
[task.draw]
analysis = "display"
quantity = "vorticity"
colormap = "RdBu_r"
limits = [-0.02, 0.02]
whole = true
frame = 0
at_end = true
"""


def row(folder: Path, height: int) -> str:
    """Runs a flow and says what was written."""
    width, radius = height * 5 // 2, height // 16
    folder.mkdir(parents=True, exist_ok=True)
    end = 2 * 2 * radius * 10  # at a speed of 0.1 cells a step
    words = {"width": width, "height": height, "block": height // 4, "end": end, "radius": radius}
    (folder / "flow.toml").write_text(CONFIG.format(**words, x=height / 2, y=height / 2 + 0.3))
    line = [
        "mpirun",
        "--oversubscribe",
        "-n",
        "2",
        str(find_program()),
        "flow.toml",
        "--quiet",
        "--out",
        "run",
        "--overwrite",
    ]
    subprocess.run(line, cwd=folder, check=True)
    pictures = next((folder / "run/results/draw").glob("*.pictures"))
    raw, whole = 3 * 8 * width * height, (pictures / "vorticity.png").stat().st_size
    tiles = [path.stat().st_size for path in pictures.rglob("*") if path.is_file() and path.name != "vorticity.png"]
    ratios = f"{raw / whole:.0f} | {raw / sum(tiles):.0f}"
    return f"| {width} x {height} | {end} | {raw / 1e6:.2f} | {whole / 1e6:.3f} | {sum(tiles) / 1e6:.3f} | {ratios} |"


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/picture_bytes")
    print("| grid | steps | raw [MB] | PNG [MB] | pyramid [MB] | raw over PNG | over pyramid |")
    print("|---|---|---|---|---|---|---|")
    for given in sys.argv[2:] or ["128", "256", "512", "1024"]:
        print(row(place / given, int(given)), flush=True)
