"""Figures of motions: bands of many runs, stroboscopes, the tip's path beside the one that is wanted."""

import numpy as np
import pytest
import xarray as xr
from figures import assert_readable, drawn, lines, style_faults
from matplotlib.figure import Figure

import flexarm as fa
from flexarm.plots import draw_path, draw_runs, draw_stroboscope

RUNS = 21


def tables(figure):
    assert style_faults(figure) == []
    found = drawn(figure)
    assert_readable(found)
    return found


# -- many runs ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many():
    """One beam; runs that begin with other rates."""
    model = fa.Model(fa.load("subudhi-morris"))
    qd0 = np.zeros((RUNS, 6))
    qd0[:, 0] = np.random.default_rng(4).normal(size=RUNS)
    return fa.simulate_many(model, 0.1, qd0=qd0, u=[0.1, 0.0], samples=6, progress=False)


def band(axes, k):
    """Times and both sides of the k-th band, the widest first."""
    (path,) = axes.collections[k].get_paths()
    x, y = path.vertices.T
    t = np.unique(x)
    return t, np.array([[y[x == each].min(), y[x == each].max()] for each in t]).T


def test_bands_lie_between_quantiles(many):
    figure = draw_runs(many.tip.sel(axis="y")).figure
    (table,) = tables(figure)
    y, t = many.tip.sel(axis="y").values, many.time.values
    for k, shares in enumerate([(0.05, 0.95), (0.25, 0.75)]):
        at, sides = band(figure.axes[0], k)
        np.testing.assert_array_equal(at, t)
        np.testing.assert_allclose(sides, np.quantile(y, shares, axis=0), rtol=1e-12)
    shown = lines(table)
    assert list(shown) == ["run 0", "run 10", "run 20", "median"]
    for r in (0, 10, 20):
        np.testing.assert_array_equal(shown[f"run {r}"], [t, y[r]])
    np.testing.assert_allclose(shown["median"], [t, np.median(y, axis=0)])
    assert (table["x"], table["y"]) == ("time [s]", "tip of y [m]")
    assert figure.get_suptitle() == "21 runs"
    told = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert told[:2] == ["5 to 95 %", "25 to 75 %"]


def test_each_coordinate_has_a_panel_in_its_unit(many):
    found = tables(draw_runs(many, "qd", single=0, bands=[]).figure)
    units = many.unit.values
    assert [each["y"] for each in found] == [
        f"qd of {name} [{unit}/s]" for name, unit in zip(many.coordinate.values, units, strict=True)
    ]
    for each, name in zip(found, many.coordinate.values, strict=True):
        (median,) = lines(each).values()
        np.testing.assert_allclose(median[1], np.median(many.qd.sel(coordinate=name).values, axis=0), atol=1e-15)
    (torque, _) = tables(draw_runs(many, "u").figure)
    assert torque["y"] == "u of upper.joint [N m]"


def test_small_lengths_are_in_millimetres(many):
    (table,) = tables(draw_runs(many.deflection.sel(link="fore", axis="y"), single=0).figure)
    y = many.deflection.sel(link="fore", axis="y").values
    assert table["y"] == "deflection of fore, y [mm]"
    np.testing.assert_allclose(lines(table)["median"][1], 1e3 * np.median(y, axis=0))


def test_what_is_computed_has_no_unit_but_its_name(many):
    (table,) = tables(
        draw_runs(np.hypot(many.tip.sel(axis="x"), many.tip.sel(axis="y")).rename("radius").drop_attrs()).figure
    )
    assert table["y"] == "radius"


def test_runs_that_ended_early_count_as_long_as_they_went(many):
    cut = many.copy()
    y = cut.kinetic.values.copy()
    y[:5, 3:] = np.nan
    cut["kinetic"] = (("run", "time"), y, {"units": "J"})
    figure = draw_runs(cut, "kinetic", bands=[(0.0, 1.0)], single=1).figure
    (table,) = tables(figure)
    np.testing.assert_allclose(band(figure.axes[0], 0)[1], [np.nanmin(y, axis=0), np.nanmax(y, axis=0)])
    np.testing.assert_allclose(lines(table)["median"][1][3:], np.median(y[5:, 3:], axis=0))
    assert figure.get_suptitle() == "subudhi-morris: 21 runs, 5 ended early" and table["y"] == "kinetic [J]"
    y[:, 5] = np.nan
    (table,) = tables(draw_runs(cut, "kinetic").figure)
    assert np.isnan(lines(table)["median"][1][5])


def test_volts_are_no_torques():
    motor = fa.Motor(torque_constant=0.05, resistance=1.0, input="voltage")
    joint = fa.Revolute(rotor_inertia=1e-3, drive=fa.Drive(motor=motor))
    arm = fa.Arm(
        name="driven", gravity=(0, 0, 0), links=[fa.Link(name="a", joint=joint, body=fa.Rigid(length=1, mass=1))]
    )
    result = fa.simulate_many(fa.Model(arm), 0.01, qd0=[[0.0], [1.0]], u=[1.0], samples=3, progress=False)
    (table,) = tables(draw_runs(result, "u").figure)
    assert table["y"].endswith("[V]")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"variable": None}, "variable is None; it must be one of the result's over run and time; it has q, qd, "),
        ({"variable": "steps"}, "variable is 'steps'"),
        ({"variable": "tip", "bands": [(0.5, 0.5)]}, r"bands\[0\] is \(0.5, 0.5\); the first share must be below"),
        ({"variable": "tip", "bands": [(0.5, 2.0)]}, r"bands\[0\] is 2.0; it must be from 0 to 1"),
        ({"variable": "tip", "bands": [0.5]}, r"bands\[0\] is 0.5; it must be two shares"),
        ({"variable": "tip", "bands": [(0.1, 0.2, 0.3)]}, r"bands\[0\] is \(0.1, 0.2, 0.3\); it must be two shares"),
        ({"variable": "tip", "single": -1}, "single is -1; it must be a whole number, zero or positive"),
        ({"variable": "tip", "ax": Figure().subplots()}, "ax is .*; it must be 3 of matplotlib's Axes"),
    ],
)
def test_what_a_figure_of_runs_refuses(many, options, said):
    with pytest.raises(fa.DescriptionError, match=rf"\Adraw_runs: {said}[^\n]*\Z"):
        draw_runs(many, **options)


def test_what_is_no_ensemble_is_refused(many):
    wide = xr.DataArray(np.zeros((2, 3, 13)), dims=("run", "time", "k"), coords={"time": [0, 1, 2]})
    for given, variable, said in (
        (3, "q", "result is an int; it must be a result of simulate_many"),
        (many.isel(run=0), "q", "it has none: it is not a result of simulate_many"),
        (many.tip.isel(run=0), None, "result is over time, axis; it must be over run and time"),
        (many.tip, "tip", "variable does not apply to a single variable"),
        (many.status.expand_dims(time=[0.0]), None, "result contains no numbers"),
        (wide, None, r"result has 13 curves over k; choose at most 12 with \.sel"),
    ):
        with pytest.raises(fa.DescriptionError, match=rf"\Adraw_runs: [^\n]*{said}[^\n]*\Z"):
            draw_runs(given, variable)


# -- stroboscope -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swing():
    """Two flexible links in a plane, under control, with a reference."""
    model = fa.Model(fa.load("subudhi-morris"))
    reference = fa.Quintic([0.0, 0.0], [0.6, 0.3], duration=0.2)
    law = fa.control.JointPD(reference, [2.0, 2.0], [0.5, 0.5])
    return fa.simulate(model, 0.3, u=law, reference=reference, samples=31, name="swing", progress=False)


def test_poses_stand_where_the_arm_was_at_equal_times(swing):
    figure = draw_stroboscope(swing, poses=4).figure
    (table,) = tables(figure)
    (axes,) = figure.axes
    model = fa.Model(fa.load("subudhi-morris"))
    tip = lines(table)["path of the tip"]
    np.testing.assert_allclose(tip.T, swing.tip.values[:, :2], atol=1e-12)
    poses = [line for line in axes.lines if len(line.get_xdata()) == 22]
    assert len(poses) == 8, "two links, four times"
    for k, i in enumerate((0, 10, 20, 30)):
        frames = model.frames(swing.q.values[i])
        upper, fore = (np.column_stack(line.get_data()) for line in poses[2 * k : 2 * k + 2])
        np.testing.assert_allclose(upper[0], 0.0, atol=1e-12)
        np.testing.assert_allclose(fore[0], frames[1, :2, 3], atol=1e-12)
        np.testing.assert_allclose(fore[-1], swing.tip.values[i, :2], atol=1e-12)
    shades = [line.get_alpha() for line in poses[::2]]
    assert (np.diff(shades) > 0).all() and shades[-1] == 1.0, "the last in full"
    assert axes.get_aspect() == 1.0 and (table["x"], table["y"]) == ("x [m]", "y [m]")
    assert table["title"] == "swing: every 0.1 s from 0 to 0.3 s"


def test_deflections_are_magnified_and_the_figure_says_so(swing):
    """Magnified by 0 the arm is rigid: its links are straight and as long as they are."""
    figure = draw_stroboscope(swing, poses=2, magnified=0.0, trace=False).figure
    (axes,) = figure.axes
    for line in axes.lines:
        if len(line.get_xdata()) == 22:
            places = np.column_stack(line.get_data())
            along = places[-1] - places[0]
            across = np.array([-along[1], along[0]])
            np.testing.assert_allclose(places @ across, places[0] @ across, atol=1e-12)
            assert np.linalg.norm(along) == pytest.approx(0.5, rel=1e-9)
    assert axes.get_legend().get_title().get_text() == "deflections \N{MULTIPLICATION SIGN} 0"

    def bend(magnified):
        (axes,) = draw_stroboscope(swing, poses=1, magnified=magnified).figure.axes
        return np.column_stack(next(line for line in axes.lines if len(line.get_xdata()) == 22).get_data())

    still, once, thrice = (bend(s) for s in (0.0, 1.0, 3.0))
    np.testing.assert_allclose(thrice - still, 3 * (once - still), atol=1e-9)


def test_in_space_the_arm_is_seen_from_aside():
    """As long as it is or shorter; straight on, as long as it is."""
    model = fa.Model(fa.load("canadarm"))
    q0 = np.array(model.arm.rest)
    q0[:2] = 0.4, 0.5
    result = fa.simulate(model, 0.1, q0=q0, samples=3, name="still", progress=False)
    (axes,) = draw_stroboscope(result, poses=2, view=(0.3, 0.2)).figure.axes
    assert [text.get_text() for text in axes.texts][:3] == ["x", "y", "z"]
    flat = draw_stroboscope(result, poses=2, view="xz").figure.axes[0]
    np.testing.assert_allclose(
        np.column_stack(flat.lines[0].get_data()), result.tip.values[:, [0, 2]], atol=1e-9
    )  # the path of the tip


def test_a_floating_arm_is_drawn_from_its_base():
    model = fa.Model(fa.load("canadarm-free"))
    q0 = np.array(model.arm.rest)
    q0[:3] = 1.0, 2.0, 3.0
    result = fa.simulate(model, 0.05, q0=q0, samples=2, name="afloat", progress=False)
    figure = draw_stroboscope(result, poses=2, view="xy", ax=(given := Figure()).subplots()).figure
    assert figure is given
    start = np.array(figure.axes[0].lines[1].get_data())[:, 0]
    np.testing.assert_allclose(start, [1.0, 2.0], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"poses": 0}, "poses is 0; it must be a whole number, at least 1"),
        ({"poses": 201}, "poses is 201; it must be at most 200"),
        ({"magnified": -1.0}, "magnified is -1.0; it must be zero or positive"),
        ({"view": "front"}, "view is 'front'; it must be xy, xz, yz or space, or an azimuth and an elevation in rad"),
        ({"trace": 1}, "trace is 1; it must be true or false"),
        ({"model": 3}, "model is 3; it must be a Model"),
        ({"ax": "a"}, "ax is 'a'; it must be 1 of matplotlib's Axes"),
    ],
)
def test_what_a_stroboscope_refuses(swing, options, said):
    with pytest.raises(fa.DescriptionError, match=rf"\Adraw_stroboscope: {said}[^\n]*\Z"):
        draw_stroboscope(swing, **options)


def test_a_stroboscope_wants_one_run(many):
    with pytest.raises(fa.DescriptionError, match=r"\Adraw_stroboscope: result has q over run, time, coordinate; .*\Z"):
        draw_stroboscope(many)


# -- paths -------------------------------------------------------------------------------------------------------------


def test_the_wanted_path_is_that_of_the_unbent_arm(swing):
    figure = draw_path(swing).figure
    path, distance = tables(figure)
    own = lines(path)
    np.testing.assert_allclose(own["swing"].T, swing.tip.values[:, :2], atol=1e-12)
    a, b = swing.q_ref.values.T
    wanted = 0.5 * np.array([np.cos(a) + np.cos(a + b), np.sin(a) + np.sin(a + b)])  # two links of half a metre
    np.testing.assert_allclose(own["wanted"], wanted, atol=1e-12)
    off = np.linalg.norm(swing.tip.values[:, :2] - wanted.T, axis=1)
    unit, scale = ("mm", 1e3) if off.max() < 0.1 else ("m", 1.0)
    np.testing.assert_allclose(lines(distance)["swing"], [swing.time.values, scale * off], atol=1e-9)
    assert distance["y"] == f"distance from the wanted place [{unit}]" and distance["x"] == "time [s]"
    assert figure.axes[0].get_aspect() == 1.0 and (path["x"], path["y"]) == ("x [m]", "y [m]")


def test_several_paths_beside_places_of_ones_own(swing):
    """A point 3 mm above the tip is 3 mm away."""
    above = swing.tip.values + [0.0, 0.003, 0.0]
    path, distance = tables(draw_path({"one": swing, "two": swing.isel(time=slice(None))}, above).figure)
    assert list(lines(path)) == ["one", "two", "wanted"] and distance["y"].endswith("[mm]")
    np.testing.assert_allclose(lines(distance)["two"][1], 3.0, rtol=1e-9)
    _, distance = tables(draw_path(swing, lambda t: (1.0 + t, 0.0, 0.0)).figure)
    away = swing.tip.values - np.column_stack([1.0 + swing.time.values, *np.zeros((2, 31))])
    scale = 1e3 if distance["y"].endswith("[mm]") else 1.0
    np.testing.assert_allclose(lines(distance)["swing"][1], scale * np.linalg.norm(away, axis=1))


def test_what_a_path_refuses(swing):
    alone = swing.drop_vars("q_ref")
    for given, options, said in (
        (alone, {}, "results has 'swing', which has no reference; give wanted, the positions of the tip"),
        (swing, {"wanted": np.zeros((3, 3))}, r"wanted has shape \(3, 3\); it must be \(31, 3\)"),
        (swing, {"wanted": "x"}, "wanted is not an array of numbers"),
        (
            swing,
            {"wanted": lambda: (1.0, 0.0, 0.0)},
            "wanted is <function .*, which does not take t alone; it must be a fun",
        ),
        (swing, {"ax": Figure().subplots()}, "ax is .*; it must be 2 of matplotlib's Axes"),
        (3, {}, "results is 3; it must be a result, or a list or dict of them"),
    ):
        with pytest.raises(fa.DescriptionError, match=rf"\Adraw_path: {said}[^\n]*\Z"):
            draw_path(given, **options)
