"""Figures of linear systems: Bode diagrams beside a measurement, maps of poles and zeros."""

import control
import numpy as np
import pytest
import xarray as xr
from figures import assert_readable, drawn, lines, style_faults
from matplotlib.figure import Figure

import flexarm as fa
from flexarm import style
from flexarm.plots import draw_bode, draw_poles

TWO_MASSES = control.tf([0.2, 40.0], [1.0, 0.4, 400.0, 0.0, 0.0])
"""A pair of lightly damped poles at 20 rad/s, and two integrators."""


def measured(system, f, delay=0.0, coherence=1.0, **coords):
    """As `frequency_response` gives it, without noise."""
    G = system(2j * np.pi * f) * np.exp(-2j * np.pi * f * delay)
    share = np.broadcast_to(coherence, f.shape)
    return xr.Dataset(
        {"response": ("frequency", G), "coherence": ("frequency", share)},
        coords={"frequency": ("frequency", f, {"units": "Hz"}), **coords},
    )


def bode(*arguments, **options):
    figure = draw_bode(*arguments, **options).figure
    assert style_faults(figure) == []
    tables = drawn(figure)
    assert_readable(tables)
    return tables


def test_gain_and_phase_are_those_of_python_control():
    f = np.geomspace(0.1, 100.0, 40)
    size, phase = bode({"plant": TWO_MASSES}, frequency=f)
    gain, angle, _ = control.frequency_response(TWO_MASSES, 2 * np.pi * f, squeeze=True)
    np.testing.assert_allclose(lines(size)["plant"], [f, 20 * np.log10(gain)], rtol=1e-9)
    np.testing.assert_allclose(lines(phase)["plant"][1] % 360, np.degrees(angle) % 360, atol=1e-3)
    assert [size["y"], phase["y"], phase["x"]] == ["gain [dB]", "phase [degrees]", "frequency [Hz]"]
    assert size["scales"] == ["log", "linear"]


def test_a_phase_has_no_jumps_and_ends_where_poles_and_zeros_say():
    """Two integrators begin at -180 degrees, a pair of poles takes 180, a zero gives 90."""
    _, phase = bode(TWO_MASSES, frequency=np.geomspace(1e-3, 1e6, 7))
    angles = lines(phase)["model"][1]
    np.testing.assert_allclose(angles[[0, -1]], [-180.0, -270.0], atol=0.1)


def test_undamped_poles_turn_back_and_undamped_zeros_forward():
    collocated = control.tf([1.0, 0.0, 4.0], [1.0, 0.0, 9.0, 0.0, 0.0])
    _, phase = bode(collocated, frequency=np.array([1.0, 2.5, 10.0]) / (2 * np.pi))
    np.testing.assert_allclose(lines(phase)["model"][1], [-180.0, 0.0, -180.0], atol=1e-3)
    noncollocated = control.tf([1.0], [1.0, 0.0, 9.0, 0.0, 0.0])
    _, phase = bode(noncollocated, frequency=np.array([1.0, 10.0]) / (2 * np.pi))
    np.testing.assert_allclose(lines(phase)["model"][1], [-180.0, -360.0], atol=1e-3)


def test_a_resonance_is_drawn_to_its_peak():
    wn, zeta = 20.0, 1e-4
    size, _ = bode(control.tf([wn**2], [1.0, 2 * zeta * wn, wn**2]))
    assert lines(size)["model"][1].max() == pytest.approx(-20 * np.log10(2 * zeta), abs=0.05)


def test_a_delay_is_a_straight_line_of_phase():
    f, late = np.linspace(1.0, 50.0, 30), 0.05
    _, phase = bode(TWO_MASSES, frequency=f, delay=late)
    _, without = bode(TWO_MASSES, frequency=f)
    np.testing.assert_allclose(lines(phase)["model"][1], lines(without)["model"][1] - 360 * f * late, atol=1e-9)


def test_a_discrete_system_ends_at_half_its_rate():
    sampled = control.sample_system(control.tf([1.0], [1.0, 1.0]), 0.1)
    f = np.array([0.1, 1.0, 4.9])
    size, phase = bode(sampled, frequency=np.array([*f, 6.0]))
    G = sampled(np.exp(2j * np.pi * f * 0.1))
    np.testing.assert_allclose(lines(size)["model"][1], [*20 * np.log10(np.abs(G)), np.nan], rtol=1e-9)
    np.testing.assert_allclose(lines(phase)["model"][1], [*np.degrees(np.unwrap(np.angle(G))), np.nan], atol=1e-3)


def test_a_measurement_lies_upon_its_model_also_late_and_beyond_a_turn():
    f, late = np.arange(1.0, 60.0), 0.08
    data = measured(TWO_MASSES, f, late)
    size, phase, coherence = bode({"plant": TWO_MASSES}, data)
    G = TWO_MASSES(2j * np.pi * f)
    np.testing.assert_allclose(lines(size)["measured"], [f, 20 * np.log10(np.abs(G))], rtol=1e-9)
    own = lines(phase)
    expected = np.interp(f, *own["plant"]) - 360 * f * late
    np.testing.assert_allclose(own["measured"][1], expected, atol=0.5)
    np.testing.assert_array_equal(lines(coherence)["measured"], [f, np.ones_like(f)])
    assert coherence["y"] == "coherence"
    _, phase, _ = bode({"plant": TWO_MASSES}, data, delay=late)
    own = lines(phase)
    np.testing.assert_allclose(own["measured"][1], np.interp(f, *own["plant"]), atol=0.5)


def test_lines_without_coherence_do_not_turn_those_behind_them():
    f = np.arange(1.0, 40.0)
    data = measured(TWO_MASSES, f, coherence=np.where((f > 10) & (f < 16), 0.1, 0.9))
    for k, angle in zip(range(10, 15), (120, 240, 300, 60, 170), strict=True):
        data.response[k] = data.response[k] * np.exp(1j * np.radians(angle))
    _, phase, _ = bode({"plant": TWO_MASSES}, data)
    own = lines(phase)
    off = own["measured"][1] - np.interp(f, *own["plant"])
    assert np.abs(off[15:]).max() < 0.5 and np.abs(off).max() <= 180.0


def test_a_measurement_alone():
    f = np.linspace(1.0, 10.0, 200)
    size, phase, _ = bode(measured=measured(TWO_MASSES, f, 0.3))
    assert list(lines(size)) == ["measured"]
    assert np.abs(np.diff(lines(phase)["measured"][1])).max() < 90.0


def test_systems_begin_within_half_a_turn_of_the_first():
    _, phase = bode({"a": control.tf([1.0], [1.0, 0.0, 0.0]), "b": control.tf([-1.0, 0.2], [1.0, 0.2, 0.0, 0.0])})
    a, b = (lines(phase)[name][1][0] for name in "ab")
    assert abs(a - b) < 180.0


@pytest.fixture(scope="module")
def bench():
    """A load on an elastic joint, the arm of the bench's data."""
    joint = fa.Revolute(rotor_inertia=4.85e-3, stiffness=556.0, damping=0.08, spring_damping=0.02)
    load = fa.Rigid(length=0.1, mass=1.0, com=(0, 0, 0), inertia=4.82e-3)
    return fa.Model(fa.Arm(name="bench", gravity=(0, 0, 0), links=[fa.Link(name="load", joint=joint, body=load)]))


def test_a_model_beside_the_bench(bench):
    """The response of two inertias on a spring, by hand."""
    data = fa.measured("two-inertia-bench")
    response = fa.frequency_response(data, "current", ["motor_angle", "load_angle"], period=1.0)
    response = response.sel(frequency=slice(11, 250))
    sensors = [
        fa.Encoder(coordinate="load.motor", name="motor_angle"),
        fa.Encoder(coordinate="load.joint", name="load"),
    ]
    size, phase, coherence = bode(bench, response, "motor_angle", sensors=sensors)
    assert size["y"] == "gain [dB re 1 rad/A]"
    f = response.frequency.values
    own = response.sel(output="motor_angle", input="current")
    np.testing.assert_allclose(lines(size)["measured"], [f, 20 * np.log10(np.abs(own.response.values))], rtol=1e-12)
    np.testing.assert_allclose(lines(coherence)["measured"][1], own.coherence.values)
    f, gain = lines(size)["bench"]
    s = 2j * np.pi * f
    spring = 0.02 * s + 556.0
    load = 4.82e-3 * s**2 + 0.08 * s + spring
    G = load / ((4.85e-3 * s**2 + spring) * load - spring**2)
    np.testing.assert_allclose(gain, 20 * np.log10(np.abs(G)), atol=1e-6)
    turned = lines(phase)["measured"][1] - np.interp(lines(phase)["measured"][0], *lines(phase)["bench"])
    assert np.abs(turned[:60]).max() < 40.0


def test_axes_of_ones_own_stay_as_they_are():
    figure = Figure()
    above, below = figure.subplots(2)
    above.tick_params(labelsize=17)
    found = draw_bode(TWO_MASSES, measured(TWO_MASSES, np.array([1.0, 2.0])), ax=[above, below]).figure
    assert found is figure and [len(axes.lines) for axes in (above, below)] == [2, 2]
    assert above.yaxis.get_tick_params()["labelsize"] == 17


# -- poles and zeros ---------------------------------------------------------------------------------------------------


def poles(*arguments, **options):
    figure = draw_poles(*arguments, **options).figure
    assert style_faults(figure) == []
    (table,) = drawn(figure)
    assert_readable([table])
    return table, figure


def marks(table, name):
    x, y = lines(table)[name]
    return np.sort_complex(x + 1j * y)


def test_poles_and_zeros_lie_where_they_are():
    table, _ = poles({"one": TWO_MASSES, "two": control.tf([1.0, 3.0], [1.0, 2.0, 5.0])})
    np.testing.assert_allclose(marks(table, "one: zeros"), [-200.0])
    np.testing.assert_allclose(marks(table, "two: poles"), [-1 - 2j, -1 + 2j])
    np.testing.assert_allclose(marks(table, "two: zeros"), [-3.0])
    assert (table["x"], table["y"]) == ("real part [1/s]", "imaginary part [rad/s]")
    assert len({style.pole(i)["marker"] for i in range(6)} | {style.zero(i)["marker"] for i in range(6)}) == 12


def test_lines_of_damping_are_of_the_ratios_that_stand_on_them():
    _, figure = poles(control.tf([1.0], [1.0, 2.0, 5.0]))
    (axes,) = figure.axes
    noted = [text for text in axes.texts if text.get_text()]
    assert len(noted) > 3
    for text in noted:
        x, y = text.xy
        assert -x / np.hypot(x, y) == pytest.approx(float(text.get_text()), rel=1e-6)
    rays = [np.array(line.get_data()) for line in axes.lines if len(line.get_xdata()) == 2 and line.get_xdata()[0] == 0]
    slopes = {round(abs(y[1] / x[1]), 6) for x, y in rays if x[1] < 0}
    ratios = np.array([float(text.get_text()) for text in noted])
    np.testing.assert_allclose(sorted(slopes), sorted(np.sqrt(1 - ratios**2) / ratios), rtol=1e-5)


def test_discrete_poles_lie_beside_the_unit_circle_and_on_their_lines_of_damping():
    """A line of equal damping is where continuous poles of that ratio go."""
    zeta, dt = 0.3, 0.1
    systems = {f"{w:g}": control.sample_system(control.tf([w * w], [1, 2 * zeta * w, w * w]), dt) for w in (3.0, 9.0)}
    table, figure = poles(systems)
    (axes,) = figure.axes
    curves = [
        line.get_xdata() + 1j * np.asarray(line.get_ydata()) for line in axes.lines if len(line.get_xdata()) > 100
    ]
    circle, spirals = curves[0], curves[1:]
    np.testing.assert_allclose(np.abs(circle), 1.0)
    for name in systems:
        for z in marks(table, f"{name}: poles"):
            assert min(np.abs(spiral - z).min() for spiral in spirals) < 0.02
    for spiral in spirals:
        log = np.log(spiral[1:-1].astype(complex))
        noted = [text for text in axes.texts if np.abs(spiral - complex(*text.xy)).min() < 1e-12]
        ratio = float(noted[0].get_text()) if noted else -(log.real / np.abs(log))[0]  # those below have no text
        np.testing.assert_allclose(-log.real / np.abs(log), ratio, rtol=1e-9)
    assert axes.get_aspect() == 1.0 and table["x"] == "real part"


def test_a_model_has_the_poles_of_its_modes():
    model = fa.Model(fa.load("lin-lewis-beam"))
    table, _ = poles(model, sensors=[fa.TipPosition(axes="y")])
    s = marks(table, "lin-lewis-beam: poles")
    omega = model.frequencies(np.array(model.arm.rest), locked=False)
    np.testing.assert_allclose(np.sort(np.abs(s))[2:], np.sort(np.repeat(omega, 2))[2:], rtol=1e-3)
    assert len(marks(table, "lin-lewis-beam: zeros"))


def test_a_system_on_given_axes():
    figure = Figure()
    axes = figure.subplots()
    assert draw_poles(TWO_MASSES, ax=axes).figure is figure and len(axes.lines) > 2


# -- what is refused ---------------------------------------------------------------------------------------------------

MIMO = control.tf([[[1.0], [2.0]]], [[[1.0, 1.0], [1.0, 2.0]]])
F = np.array([1.0, 2.0])
NOTHING = xr.Dataset({"response": ("frequency", [np.nan + 0j])}, coords={"frequency": [1.0]})
TWICE = xr.Dataset(
    {"response": (("frequency", "output"), np.ones((1, 2), complex))},
    coords={"frequency": [1.0], "output": ["a", "b"]},
)  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((), {}, "systems and measured are None; give one of them"),
        ((3,), {}, "systems has 3; it must be a StateSpace or a TransferFunction of python-control, or a Model"),
        (([],), {}, "systems has 0 systems; it must have 1 to 6"),
        (([TWO_MASSES] * 7,), {}, "systems has 7 systems; it must have 1 to 6"),
        (({1: TWO_MASSES},), {}, "the names of systems must be texts"),
        ((control.tf([np.nan], [1.0, 1.0]),), {}, "NaN or infinity"),
        ((MIMO,), {}, r"input is None; system 'model' has u\[0\], u\[1\]; name one of them"),
        ((MIMO,), {"input": "v"}, "input is 'v'"),
        ((MIMO,), {"input": 2}, "input is 2"),
        ((control.tf([1.0], [1.0, 0.5], True),), {}, "a discrete system without a sample time"),
        ((TWO_MASSES, 3), {}, "measured is an int; it must be a result of frequency_response"),
        ((TWO_MASSES, xr.Dataset()), {}, "measured has no response over frequency"),
        ((TWO_MASSES, measured(TWO_MASSES, F[::-1])), {}, "measured has frequencies that are not positive and ascend"),
        ((TWO_MASSES, NOTHING), {}, "measured has no response of this channel that is a number"),
        ((TWO_MASSES, TWICE), {}, "output is None; the measurement has a, b; name one of them"),
        ((TWO_MASSES,), {"frequency": []}, "frequency is empty"),
        ((TWO_MASSES,), {"frequency": [0.0, 1.0]}, "frequency must have numbers, all positive"),
        ((TWO_MASSES,), {"delay": -1.0}, "delay is -1.0 s; it must be zero or positive"),
        ((TWO_MASSES,), {"ax": 3}, "ax is 3; it must be 2 or 3 of matplotlib's Axes"),
    ],
)
def test_what_bode_refuses(arguments, options, said):
    with pytest.raises(fa.DescriptionError, match=rf"\Adraw_bode: .*{said}[^\n]*\Z"):
        draw_bode(*arguments, **options)


def test_what_a_map_of_poles_refuses(bench):
    discrete = control.sample_system(TWO_MASSES, 0.1)
    for given, options, said in (
        ([TWO_MASSES, discrete], {}, "systems has continuous and discrete systems"),
        (MIMO, {}, "systems has .model., a TransferFunction of several channels"),
        (TWO_MASSES, {"ax": [1]}, r"ax is \[1\]; it must be 1 of matplotlib's Axes"),
        (bench, {"sensors": 3}, "sensors is 3; it must be a list of sensors"),
    ):
        with pytest.raises(fa.DescriptionError, match=rf"\Adraw_poles: {said}[^\n]*\Z"):
            draw_poles(given, **options)
