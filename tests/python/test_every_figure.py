"""Every figure of every kind, at the sizes at which it is used: what stands in it can be read, and its numbers too."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr
from matplotlib.axes._secondary_axes import SecondaryAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import sidestream
import synthetic
import synthetic_forest
import synthetic_halos
import synthetic_mergers
import synthetic_regions
import synthetic_turbulence
import test_forces
import test_persistence
from sidestream.figures import _DRAWERS, Picture, pictures
from sidestream.figures.numbers import HEAD, split_label
from sidestream.figures.paper import AMBER, BLUE, FAINT, GREY, GRID, INK, MUTED, RED, TEAL, VIOLET, _prepared, svg_of
from sidestream.figures.picture import TASK_COLOURS, redshift_colours
from sidestream.figures.theme import contrast, on_dark, to_linear, to_oklab
from sidestream.runs.run import Run

COLOURS = {"blue": BLUE, "teal": TEAL, "amber": AMBER, "red": RED, "violet": VIOLET, "grey": GREY}
# Machado, Oliveira and Fernandes 2009: what those see who lack one kind of cones, of linear light.
EYES = {
    "all three": np.eye(3),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
# Axes of things that are counted or stand beside each other, or whose unit is that of another axis or none.
WITHOUT_UNIT = re.compile(
    r"redshift|1 \+ z|number|share|per |fraction|cells|halos|overdensity|density / mean|flux|k P|k\^3|over |means|"
    r"middle|shortest|spin|dN|probability|standard|branches|coefficient|step|slope|E\(k\)|k ?eta|energy|dissipation|"
    r"time|delta|volume|k,P|^\|P\(k|wave number|separation|longitudinal|value|log_10|^[xyz]$"
)


def runs(folder: Path) -> Iterator[Run]:
    """Runs that have, together, every kind of figure."""
    for name, write in {
        "cosmology": lambda to: synthetic.write_run(to, steps=40),
        "forest": lambda to: synthetic_forest.write_forest(to, (5.0, 4.0, 3.0, 2.4, 2.0)),
        "halos": synthetic_halos.write_run,
        "mergers": synthetic_mergers.write_linked_run,
        "regions": synthetic_regions.write_run,
        "turbulence": lambda to: synthetic_turbulence.write_turbulence(to, (0.0, 5.0, 9.0, 12.0)),
        "unviscous": lambda to: synthetic_turbulence.write_turbulence(to, (1.0, 2.0), viscosity=None),
    }.items():
        yield Run(write(folder / name))
    yield test_forces.write_run(folder / "forces", 4000)
    birth, death = np.geomspace(2, 3000, 300), np.geomspace(1, 900, 300)
    yield test_persistence.write_run(folder / "tree", birth, np.arange(300)[::-1] + 1000, death)


@pytest.fixture(scope="module")
def all_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    return list(runs(tmp_path_factory.mktemp("all")))


@pytest.fixture(scope="module")
def drawn(all_runs: list[Run]) -> dict[str, Picture]:
    """Laid out and drawn once."""
    found = {f"{run.folder.name}/{picture.name}": picture for run in all_runs for picture in pictures(run)}
    for picture in found.values():
        with _prepared(picture.figure):  # as for a PNG, which takes a quarter of the time to encode
            FigureCanvasAgg(picture.figure).draw()
    return found


def test_every_kind_of_analysis_that_is_drawn_is_looked_at(all_runs: list[Run]) -> None:
    looked_at = {run.analysis(task) for run in all_runs for task in run.tasks if run.steps(task)}

    assert set(_DRAWERS) - looked_at == {"slice", "python"}, "as a projection is; by others"


def all_axes(figure: Figure) -> list[mpl.axes.Axes]:
    """Panels, and what is attached to them."""
    return [axes for panel in figure.axes for axes in (panel, *panel.child_axes)]


def test_every_figure_has_a_title(drawn: dict[str, Picture]) -> None:
    without = [
        name
        for name, picture in drawn.items()
        if not picture.figure.texts and not any(axes.get_title(loc="left") for axes in picture.figure.axes)
    ]

    assert without == []


def label_of(axes: mpl.axes.Axes, which: str) -> str:
    """The label of an axis, or of that which it shares."""
    siblings = getattr(axes, f"get_shared_{which}_axes")().get_siblings(axes)
    texts = [getattr(one, f"get_{which}label")() for one in (axes, *siblings)]
    return next((text for text in texts if text), "")


def labels_of(axes: mpl.axes.Axes) -> Iterator[str]:
    """What the axes of a panel, or a colour bar, show; an axis of names needs no label."""
    if hasattr(axes, "_colorbar"):
        yield axes.get_ylabel() or axes.get_xlabel()
        return
    for which, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        names = [text.get_text() for text in axis.get_ticklabels()]
        if axis.get_visible() and not any(re.match(r"[A-Za-z]", name) for name in names):
            is_twin = which == "x" and axes.yaxis.get_label_position() == "right"
            yield "number" if is_twin else label_of(axes, which) or axes.get_title(loc="left")


def test_every_axis_has_a_label_with_its_unit(drawn: dict[str, Picture]) -> None:
    wrong = [
        f"{name}: {label!r}"
        for name, picture in drawn.items()
        for axes in all_axes(picture.figure)
        if axes.axison and not isinstance(axes, SecondaryAxis)
        for label in labels_of(axes)
        if not label or ("[" not in label and not WITHOUT_UNIT.search(re.sub(r"[\\${}]|mathrm", "", label)))
    ]

    assert not wrong, "\n".join(wrong)


def texts_of(figure: Figure) -> list[tuple[str, Bbox]]:
    """All text that is seen, with where it stands [pixels]."""
    found = []
    for axes in all_axes(figure):
        for axis in (axes.xaxis, axes.yaxis):
            if not axes.axison or not axis.get_visible():
                continue
            axis._update_ticks()
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in (*axis.majorTicks, *axis.minorTicks) if low <= tick.get_loc() <= high]
            found += [tick.label1 for tick in ticks if tick.label1.get_visible()]
            found += [tick.label2 for tick in ticks if tick.label2.get_visible()]
            found.append(axis.label)
        found += [axes.title, axes._left_title, axes._right_title, *axes.texts]
        found += legend_texts(axes.get_legend())
    found += list(figure.texts) + [text for legend in figure.legends for text in legend_texts(legend)]
    return [
        (text.get_text(), text.get_window_extent()) for text in found if text.get_text().strip() and text.get_visible()
    ]


def legend_texts(legend: object) -> list[Text]:
    return [] if legend is None else [*legend.get_texts(), legend.get_title()]


def test_no_text_reaches_beyond_the_figure(drawn: dict[str, Picture]) -> None:
    beyond = []
    for name, picture in drawn.items():
        canvas = picture.figure.bbox
        for text, box in texts_of(picture.figure):
            if box.x0 < canvas.x0 - 1 or box.x1 > canvas.x1 + 1 or box.y0 < canvas.y0 - 1 or box.y1 > canvas.y1 + 1:
                beyond.append(f"{name}: {text!r}")

    assert not beyond, "\n".join(beyond)


def test_no_two_texts_overlap(drawn: dict[str, Picture]) -> None:
    """Nor do labels along x touch, which would read as one number."""
    over = []
    for name, picture in drawn.items():
        for (one, a), (other, b) in combinations(texts_of(picture.figure), 2):
            shared = Bbox.intersection(a, b)
            is_over = shared is not None and min(shared.width, shared.height) > 2.0
            gap = max(a.x0, b.x0) - min(a.x1, b.x1)
            is_one_number = abs(a.y0 - b.y0) < 1.0 and 0.0 <= gap < 5.0 and one[-1:].isdigit() and other[:1].isdigit()
            if (is_over or is_one_number) and picture.name != "write-sizes":
                over.append(f"{name}: {one!r} and {other!r}")

    assert not over, "\n".join(over)


def test_text_is_read_from_the_back_of_a_room(drawn: dict[str, Picture]) -> None:
    """Where a figure fills a projector of 1920 x 1080: at 3 m from a screen of 2 m, capitals of 15 minutes of arc."""
    small = []
    for name, picture in drawn.items():
        width, height = picture.figure.get_size_inches()
        pixels_an_inch = min(1920 / width, 1080 / height)
        for text in picture.figure.findobj(Text):
            if text.get_visible() and text.get_text().strip() and text.get_fontsize() / 72 * pixels_an_inch < 17.0:
                small.append(f"{name}: {text.get_text()!r}")

    assert not small, "\n".join(small)


def test_sizes_of_writes_stand_aslant_beside_each_other(drawn: dict[str, Picture]) -> None:
    (axes,) = drawn["cosmology/write-sizes"].figure.axes
    corners = [label.get_window_extent() for label in axes.get_xticklabels()]

    assert {label.get_rotation() for label in axes.get_xticklabels()} == {35.0}
    assert all(right.x1 - left.x1 > 15 for left, right in pairwise(corners))


def test_a_colour_bar_has_ticks_and_a_label(drawn: dict[str, Picture]) -> None:
    bars = [axes for picture in drawn.values() for axes in all_axes(picture.figure) if hasattr(axes, "_colorbar")]

    assert len(bars) >= 4
    for axes in bars:
        assert axes.get_ylabel()
        assert len([tick for tick in axes.get_yticklabels() if tick.get_text()]) >= 2


def test_what_is_missing_is_found() -> None:
    figure = Figure(figsize=(1.2, 1.0))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_xticks([0.50, 0.51], ["a long label", "another long label"])
    axes.set_xlabel("quantity without any unit that is known")
    picture = {"bad": Picture("bad", "", "", figure)}

    for test in (
        test_every_axis_has_a_label_with_its_unit,
        test_no_text_reaches_beyond_the_figure,
        test_no_two_texts_overlap,
    ):
        with pytest.raises(AssertionError):
            test(picture)


def test_the_numbers_of_every_figure_are_read_by_pandas_and_xarray(drawn: dict[str, Picture], tmp_path: Path) -> None:
    import pandas

    for name, picture in drawn.items():
        folder = tmp_path / name
        folder.mkdir(parents=True)
        picture.write_numbers(folder)
        assert {path.name for path in folder.iterdir()} == {f"{picture.name}.csv", f"{picture.name}.nc"}

        table = pandas.read_csv(folder / f"{picture.name}.csv")
        with xr.open_dataset(folder / f"{picture.name}.nc", engine="h5netcdf") as opened:
            assert len(table) > 0, name
            assert opened.attrs["title"] == picture.title
            assert all("long_name" in variable.attrs for variable in opened.variables.values()), name


def test_the_numbers_are_those_that_are_drawn(drawn: dict[str, Picture], tmp_path: Path) -> None:
    picture = drawn["cosmology/spectra-spectra"]
    picture.write_numbers(tmp_path)
    axes = picture.figure.axes[0]
    line, panel = axes.lines[0], axes.get_title(loc="left")

    with (tmp_path / "spectra-spectra.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if (row["panel"], row["series"]) == (panel, line.get_label())]
    assert tuple(rows[0]) == HEAD
    assert np.allclose([float(row["x"]) for row in rows], line.get_xdata())
    assert np.allclose([float(row["y"]) for row in rows], line.get_ydata())
    with xr.open_dataset(tmp_path / "spectra-spectra.nc", engine="h5netcdf") as opened:
        first = next(one for one in opened.data_vars.values() if one.attrs["series"] == line.get_label())
        assert np.allclose(first, line.get_ydata())
        assert first.attrs["units"] == "(h^-1Mpc)^3"
        assert opened[first.dims[0]].attrs["units"] == "h Mpc^-1"


def test_numbers_are_told_apart_by_names_and_have_axes(drawn: dict[str, Picture]) -> None:
    wrong = []
    for name, picture in drawn.items():
        for panel in {one.panel for one in picture.drawn_numbers}:
            lines = [one.series for one in picture.drawn_numbers if one.panel == panel and one.value is None]
            if len(set(lines)) < len(lines) or (len(lines) > 1 and "" in lines):
                wrong.append(f"{name}, {panel}: {lines}")
        wrong += [f"{name}: {one}" for one in picture.drawn_numbers if not (one.x_axis and one.y_axis)]

    assert not wrong, "\n".join(wrong)


def test_axes_of_a_line_of_sight_have_their_own_names(drawn: dict[str, Picture]) -> None:
    picture = drawn["forest/forest-flux-power"]

    assert {"along x", "along y", "along z"} <= {one.series for one in picture.drawn_numbers}
    assert "along x, y, z" in {text.get_text() for text in picture.figure.legends[0].get_texts()}


def test_images_and_bars_of_errors_are_among_the_numbers(drawn: dict[str, Picture]) -> None:
    image = drawn["cosmology/picture-gas-density"].drawn_numbers[-1]
    counted = [one for one in drawn["halos/halos-mass-function"].drawn_numbers if one.error is not None]

    assert image.is_image and image.value.shape == (64, 64)
    assert split_label(image.quantity) == ("gas density", "Msun Mpc^-2")
    assert len(counted) >= 1
    assert all(np.all(one.error[0] <= one.y) and np.all(one.y <= one.error[1]) for one in counted)


def test_an_svg_has_colours_for_light_and_dark_pages(drawn: dict[str, Picture]) -> None:
    svg = svg_of(drawn["cosmology/spectra-spectra"].figure)

    assert "@media(prefers-color-scheme:dark)" in svg
    assert not re.search(r"(fill|stroke): #", svg)


def test_images_in_a_page_have_the_cells_as_they_are(drawn: dict[str, Picture]) -> None:
    svg = svg_of(drawn["cosmology/picture-gas-density"].figure)

    assert svg.count("image-rendering:crisp-edges;image-rendering:pixelated") >= 2


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("is_dark", [False, True])
def test_colours_are_told_apart_by_all_eyes(eyes: str, is_dark: bool) -> None:
    for colours, least in ((tuple(COLOURS.values()), 0.1), (TASK_COLOURS, 0.085)):
        seen = [
            to_oklab(np.clip(EYES[eyes] @ to_linear(on_dark(colour) if is_dark else colour), 0, 1))
            for colour in colours
        ]
        assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) > least


@pytest.mark.parametrize("is_dark", [False, True])
def test_lines_and_text_stand_out_from_their_paper(is_dark: bool) -> None:
    def shown(colour: str) -> str:
        return on_dark(colour) if is_dark else colour

    paper = shown("#ffffff")
    assert all(contrast(shown(colour), paper) >= 2.9 for colour in (*COLOURS.values(), *TASK_COLOURS))
    assert min(contrast(shown(INK), paper), contrast(shown(MUTED), paper)) >= 4.5
    assert contrast(shown(GRID), paper) < contrast(shown(FAINT), paper) < 3.0


def test_moments_are_told_apart_by_lightness_alone() -> None:
    lightness = [
        float(to_oklab(to_linear(mpl.colors.to_hex(colour)))[0]) for colour in redshift_colours([5, 4, 3, 2, 1])
    ]

    assert all(before - after > 0.05 for before, after in pairwise(lightness))
    assert all(contrast(mpl.colors.to_hex(colour), "#ffffff") > 2.3 for colour in redshift_colours([5, 4, 3, 2, 1]))


def test_the_report_links_the_numbers_of_every_figure(tmp_path: Path) -> None:
    from sidestream.report import write_report

    folder = synthetic.write_run(tmp_path / "demo", steps=20)
    page = write_report(sidestream.open(folder)).read_text(encoding="utf-8")

    links = re.findall(r'href="([^"]+)" download', page)
    assert len(links) == 2 * page.count("<img ")
    assert all((folder / link).stat().st_size > 0 for link in links)
    assert "color-scheme: light dark" in page


def test_a_report_that_cannot_write_the_numbers_has_its_figures(tmp_path: Path) -> None:
    from sidestream.report import write_report

    folder = synthetic.write_run(tmp_path / "demo", steps=10)
    (folder / "report.data").write_text("in the way of the folder")
    page = write_report(sidestream.open(folder)).read_text(encoding="utf-8")

    assert page.count("<img ") > 5
    assert "download" not in page
