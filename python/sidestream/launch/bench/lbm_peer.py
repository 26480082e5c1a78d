"""Steps of lbmpy, a generator of lattice Boltzmann kernels, on one core: what `sidestream bench lbm` compares with.

Runs as a program of its own, `python -m sidestream.launch.bench.lbm_peer PLANE SPACE STEPS REPETITIONS COLLISION`, and
prints one JSON list: for each lattice and precision the millions of updates a second of each repetition. lbmpy (Bauer
et al. 2021, J. Comput. Sci. 49, 101269) is under the AGPL; it is used where it is installed and is no part of this
package.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

RATES = {"trt": [1.8, 1.1], "bgk": [1.8], "regularised": [1.8]}


def main(words: list[str]) -> None:
    """Measures and prints."""
    plane, space, steps, repetitions = (int(word) for word in words[:4])
    cases = []
    for stencil, shape in (("D2Q9", (plane,) * 2), ("D3Q19", (space,) * 3)):
        for precision, dtype in (("double", "float64"), ("single", "float32")):
            rates = _rates(stencil, shape, dtype, steps, repetitions, words[4])
            cases.append({"lattice": stencil, "precision": precision, "million_updates_per_s": rates})
    print(json.dumps(cases))


def _rates(
    stencil: str, shape: tuple[int, ...], dtype: str, steps: int, repetitions: int, collision: str
) -> list[float]:
    import lbmpy
    import pystencils

    velocities = lbmpy.LBStencil(getattr(lbmpy.Stencil, stencil))
    data = pystencils.create_data_handling(shape, periodicity=True, default_layout="fzyx", default_ghost_layers=1)
    arrays = [data.add_array(name, velocities.Q, dtype=dtype, alignment=64) for name in ("before", "after")]
    kernel = pystencils.create_kernel(
        _rule(lbmpy, velocities, arrays, collision), _options(pystencils, dtype)
    ).compile()
    for name in ("before", "after"):
        data.fill(name, 0.0, ghost_layers=True)
    data.run_kernel(kernel)
    rates = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        for _ in range(steps):
            data.run_kernel(kernel)
            data.swap("before", "after")
        rates.append(1e-6 * steps * float(shape[0]) ** len(shape) / (time.perf_counter() - begin))
    return rates


def _rule(lbmpy: Any, velocities: Any, arrays: list[Any], collision: str) -> Any:
    method = lbmpy.Method.TRT if collision == "trt" else lbmpy.Method.SRT
    config = lbmpy.LBMConfig(stencil=velocities, method=method, relaxation_rates=RATES[collision], zero_centered=True)
    optimisation = lbmpy.LBMOptimisation(
        field_layout="fzyx", symbolic_field=arrays[0], symbolic_temporary_field=arrays[1]
    )
    return lbmpy.create_lb_update_rule(lbm_config=config, lbm_optimisation=optimisation)


def _options(pystencils: Any, dtype: str) -> Any:
    """Vectors of the machine, stores past the caches."""
    options = pystencils.CreateKernelConfig(data_type=dtype)
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    if "avx512f" in flags or "avx2" in flags:
        options.target = pystencils.Target.X86_AVX512 if "avx512f" in flags else pystencils.Target.X86_AVX
        options.cpu.vectorize.enable = True
        options.cpu.vectorize.assume_inner_stride_one = True
        options.cpu.vectorize.assume_aligned = True
        options.cpu.vectorize.use_nontemporal_stores = True
    return options


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
