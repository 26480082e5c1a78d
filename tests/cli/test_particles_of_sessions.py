"""Particles that Python programs hand over: what is taken without a number changing, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sidestream
from test_sessions import opened

CHECKPOINT = '[output]\ncheckpoint = { format = "raw", every = 1 }\n'
IDS = np.arange(3)
ONE = np.array([0.5, 1.5, 2.5])
HIDDEN = np.ma.masked_greater(ONE, 2.0)

REFUSED_IDS: dict[str, tuple[Any, str]] = {
    "a plane": (np.arange(9).reshape(3, 3), "has 2 dimensions, not 1"),
    "one alone": (7, "has 0 dimensions, not 1"),
    "floats": (np.array([1.2, 1.7, 3.0]), "holds `float64`, not whole numbers"),
    "no numbers": (np.array([np.nan, 1e30, 1.0]), "holds `float64`, not whole numbers"),
    "too large": (np.array([1, 2, 2**63], np.uint64), "holds `uint64`, not ids below 2^63"),
    "words of truth": (IDS > 0, "holds `bool`, not numbers"),
    "texts": (["1", "2", "3"], "not real numbers"),
    "none": (None, "holds `object`, not real numbers"),
    "hidden": (np.ma.masked_equal(IDS, 1), "has masked elements"),
}
REFUSED_NUMBERS: dict[str, tuple[Any, str]] = {
    "a plane": (np.ones((3, 1)), "has 2 dimensions, not 1"),
    "one alone": (0.5, "has 0 dimensions, not 1"),
    "hidden": (HIDDEN, "has masked elements"),
    "complex": (ONE + 1j, "holds `complex128`, not real numbers"),
    "texts": (["0.5", "1.5", "2.5"], "not real numbers"),
    "words of truth": (ONE > 1.0, "holds `bool`, not numbers"),
    "too large": (np.array([1, 2, 2**53 + 1]), "whole numbers beyond 2^53"),
    "too small": (np.array([1, 2, -(2**53) - 1]), "whole numbers beyond 2^53"),
    "another number": (ONE[:2], "are not as many"),
}


def test_particles_that_would_become_others_are_refused(tmp_path: Path) -> None:
    calls = [(message, (ids, [ONE] * 3, {})) for ids, message in REFUSED_IDS.values()]
    for values, message in REFUSED_NUMBERS.values():
        calls += [(message, (IDS, [ONE, values, ONE], {})), (message, (IDS, [ONE] * 3, {"age": values}))]
    calls += [
        ("are not as many", (IDS, [ONE] * 2, {})),
        ("`positions` is None", (IDS, None, {})),
        ("`attributes` is a `list`", (IDS, [ONE] * 3, [ONE])),
        ("`attributes` is 3", (IDS, [ONE] * 3, {3: ONE})),
    ]
    with opened(tmp_path) as run:
        run.mesh((8, 8, 8))
        for message, (ids, positions, attributes) in calls:
            with pytest.raises(sidestream.Error, match=re.escape(message)) as refused:
                run.particles("dust", ids, positions, attributes=attributes)
            assert refused.value.where == "species `dust`", message
            assert refused.value.hint, message
        with pytest.raises(sidestream.Error, match="`units` is 3"):
            run.particles("dust", IDS, [ONE] * 3, attributes={"age": ONE}, units={"age": 3})  # type: ignore[dict-item]
        run.field("height", np.ones((8, 8, 8)))
        run.begin()


def test_particles_of_other_types_are_the_same_numbers(tmp_path: Path) -> None:
    wide = np.repeat(ONE, 2)
    ids = (IDS.astype(np.uint64), IDS.astype(">i4"), IDS.tolist(), np.repeat(IDS, 2)[::2], np.ma.masked_array(IDS))
    numbers = (ONE.astype(np.float32), ONE.astype(">f8"), ONE.tolist(), wide[::2], np.array([-(2**53), 0, 2**53]))
    for n, (names, values) in enumerate(zip(ids, numbers, strict=True)):
        for mode in ("refuse", "resume"):
            with opened(tmp_path, CHECKPOINT, f"run{n}", existing=mode) as run:
                run.mesh((8, 8, 8))
                run.field("height", np.ones((8, 8, 8)))
                run.particles("dust", names, np.stack([ONE] * 3), attributes={"age": values})
                run.particles("none", [], [[]] * 3)
                run.begin()
                if mode == "refuse":
                    run.step(1, 1.0)
                else:
                    back = run.restored_particles("dust")
        assert back["id"].tolist() == IDS.tolist()
        assert back["age"].tolist() == np.asarray(values).tolist()
        for axis in "xyz":
            assert back[axis].tolist() == ONE.tolist()


def test_a_number_that_is_none_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        for value in (float("nan"), float("inf"), -float("inf"), 10**400):
            with pytest.raises(sidestream.Error, match="`viscosity` is .*\nhint: "):
                run.number("viscosity", value)
        run.number("viscosity", 0.5)


def test_steps_are_refused_with_the_bound_that_the_library_has(tmp_path: Path) -> None:
    with opened(tmp_path) as run:
        run.mesh((8, 8, 8))
        run.field("height", np.ones((8, 8, 8)))
        run.begin()
        for step in (10**15 + 1, 2**62, 2**70):
            with pytest.raises(sidestream.Error, match=rf"`step` is {step}(.*\n)+hint: .* up to 10\^15"):
                run.step(step, 1.0)
        run.step(10**15, 1.0)
