"""Reads a running blast, ten lines of it, and draws how the gas in its middle plane changes."""

import sys

import matplotlib.pyplot as plt

import sidestream

run = sys.argv[1]
planes = []
for snapshot in sidestream.stream(run, "live", quantities=["gas_density"], precision="single", patience=60):
    density = snapshot["gas_density"]
    planes.append((snapshot.attrs["time"], density[density.sizes["z"] // 2]))
    print(f"step {snapshot.step}: densest gas {float(density.max()):.2f}")

shown = [planes[i * (len(planes) - 1) // 3] for i in range(4)]
figure, panels = plt.subplots(1, 4, figsize=(14, 3.6), layout="constrained", sharey=True)
for panel, (time, plane) in zip(panels, shown, strict=True):
    image = panel.pcolormesh(plane.x, plane.y, plane, vmin=0, vmax=max(float(p.max()) for _, p in shown))
    panel.set(title=f"t = {time:.4f}", xlabel="x", aspect="equal")
panels[0].set_ylabel("y")
figure.colorbar(image, ax=panels, label="density")
figure.savefig(f"{run}/blast.png", dpi=120)
