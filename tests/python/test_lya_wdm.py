"""The script of the example of warm dark matter."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from synthetic_forest import forest, write_forest

SCRIPT = Path(__file__).parents[2] / "examples" / "lya_wdm.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("lya_wdm", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_runs_are_compared_with_the_first_and_with_measurements(script: ModuleType) -> None:
    cold = forest(4.2).assign_attrs(redshift=4.2)
    warm = cold.assign(mean_dimensionless_power=0.7 * cold["mean_dimensionless_power"]).assign_attrs(wdm_mass_kev=2.1)

    above, below = script.draw([cold, warm]).axes

    np.testing.assert_allclose(above.lines[-2].get_ydata(), cold["mean_dimensionless_power"])
    np.testing.assert_allclose(below.lines[1].get_ydata(), 0.7)
    labels = [text.get_text() for text in above.get_legend().get_texts()]
    assert {"cold", "2.1 keV", "Chabanier et al. 2019 (eBOSS)", "Irsic et al. 2017 (XQ-100)"} < set(labels)


def test_the_newest_results_of_the_runs_are_drawn_into_a_file(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_forest(tmp_path / "run", [4.6, 4.2])
    monkeypatch.setattr("sys.argv", ["lya_wdm.py", str(run), str(run), "--out", str(tmp_path / "power.png")])

    script.main()

    assert capsys.readouterr().out.strip() == str(tmp_path / "power.png")
    assert (tmp_path / "power.png").stat().st_size > 10_000
