"""Axes that plot functions draw into and return."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import flexarm as fa
from flexarm.analysis import pole_migration
from flexarm.plots import draw, draw_frequencies, draw_modes, save_figure
from flexarm.studies import Uniform
from flexarm.studies.figure import draw as draw_study


@pytest.fixture(scope="module")
def model() -> fa.Model:
    return fa.Model("subudhi-morris")


@pytest.fixture(scope="module")
def result(model):
    return fa.simulate(model, 0.2, fa.bang_bang([0.2, 0.1], 0.1), samples=21, progress=False)


@pytest.fixture(scope="module")
def many(model):
    return fa.study(
        model, {"payload.mass": Uniform(low=0.1, high=0.2)}, "random", runs=4, seed=1, until=0.1, u=[0.1, 0.0],
        samples=11, keep=["largest_input", "effort"], executor=1, progress=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def migration(model):
    return pole_migration(model, lambda k: fa.control.JointPD([0.0, 0.0], Kp=k, Kd=0.1 * k), [1.0, 2.0, 4.0])


PLOTS = {
    "a result": (4, lambda given, **ax: draw(given("result"), **ax)),
    "modes": (3, lambda given, **ax: draw_modes(given("model"), np.zeros(6), count=3, **ax)),
    "frequencies": (1, lambda given, **ax: draw_frequencies(given("model"), "fore.joint", [0.0, 0.5, 1.0], **ax)),
    "a study": (4, lambda given, **ax: draw_study(given("many"), **ax)),
    "poles": (1, lambda given, **ax: given("migration").plot(**ax)),
}


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_fills_the_given_axes_and_returns_them(name, request):
    count, plot = PLOTS[name]
    figure = Figure()
    given = figure.subplots(1, count)
    found = plot(request.getfixturevalue, ax=given)
    wanted = np.ravel(given)
    assert [*np.ravel(found)] == [*wanted] and len(figure.axes) == count
    assert all(axes.lines or axes.patches for axes in wanted)
    assert figure._suptitle is None and figure.get_gid() is None  # the figure belongs to the user


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_without_axes_makes_a_figure_with_the_same_curves(name, request):
    count, plot = PLOTS[name]
    found = np.ravel(plot(request.getfixturevalue))
    assert len(found) == count and all(isinstance(axes, Axes) for axes in found)
    given = Figure().subplots(1, count)
    plot(request.getfixturevalue, ax=given)
    for own, other in zip(found, np.ravel(given), strict=True):
        assert len(own.lines) == len(other.lines)
        for a, b in zip(own.lines, other.lines, strict=True):
            np.testing.assert_array_equal(a.get_xydata(), b.get_xydata())


@pytest.mark.parametrize("name", PLOTS)
def test_axes_that_are_too_many_or_none_are_refused_in_one_line(name, request):
    count, plot = PLOTS[name]
    for wrong in (Figure().subplots(1, count + 1), "ax", [None] * count):
        with pytest.raises(fa.DescriptionError, match=rf": ax is .*; it must be {count} of matplotlib's Axes$"):
            plot(request.getfixturevalue, ax=wrong)


def test_a_figure_is_saved_from_its_axes(result, tmp_path):
    panels = draw(result)
    files = [save_figure(given, tmp_path / f"{i}.svg") for i, given in enumerate((panels.figure, panels, panels[2]))]
    panels.savefig(tmp_path / "own.png")
    panels[0].savefig(tmp_path / "one.png")
    assert len({file.read_text() for file in files}) == 1
    assert (tmp_path / "own.png").read_bytes() == (tmp_path / "one.png").read_bytes()
    with pytest.raises(fa.DescriptionError, match=r"^save_figure: figure is 3; it must be a Figure, or axes of it$"):
        save_figure(3, tmp_path / "x.svg")


def test_what_belonged_to_the_figure_warns_and_says_where_it_is(result, migration):
    panels = draw(result)
    with pytest.warns(DeprecationWarning, match=r"^a plot function returns its axes; use .figure.suptitle$") as said:
        panels.suptitle("a title")
    assert said[0].filename == __file__ and panels.figure.get_suptitle() == "a title"
    with pytest.warns(DeprecationWarning, match=r"use .figure.axes$"):
        assert panels.axes == [*panels]
    with pytest.warns(DeprecationWarning, match=r"use .figure.get_size_inches$"):
        assert tuple(panels[0].get_size_inches()) == (10, 8)
    with pytest.raises(AttributeError, match="has no attribute 'colour'"):
        panels.colour  # noqa: B018
    with pytest.warns(DeprecationWarning, match=r"^PoleMigration.figure is deprecated; use plot$"):
        assert isinstance(migration.figure(10.0), Figure)
