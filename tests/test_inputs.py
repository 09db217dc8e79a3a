"""Inputs: what a rotor does under each is known in closed form; the solver starts anew at every jump."""

import pickle

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import flexarm as fa
from flexarm.simulation import inputs, solvers
from flexarm.simulation.rhs import cubic_table

EXACT = 1e-12  # polynomials of low degree: a solver of order five and higher makes no error but rounding
GLOBAL = 1e-6  # a local tolerance of 1e-8 over a second or two

ROD = fa.Rigid(length=0.8, mass=1.5)
INERTIA = 1.5 * 0.8**2 / 3
STEPS = {"rk4": 1e-3}
EXACT_METHODS = [name for name in solvers.names() if name not in ("euler", "midpoint", "rk3")]
"""Methods that are exact enough in few steps."""


def run(model, until, samples=11, **given):
    return fa.simulate(model, until, samples=samples, progress=False, **given)


@pytest.fixture(scope="module")
def rotor():
    return fa.Model(fa.Arm(name="rotor", links=[fa.Link(name="rod", body=ROD)]))


@pytest.fixture(scope="module")
def slides():
    """Two masses that move along different axes and do not feel each other: 3 kg and 1.5 kg."""
    links = [
        fa.Link(name="a", joint=fa.Prismatic(axis=(1, 0, 0)), body=ROD),
        fa.Link(name="b", joint=fa.Prismatic(axis=(0, 1, 0)), body=ROD),
    ]
    return fa.Model(fa.Arm(name="slides", links=links))


def moved(times, torques, t):
    """Angle and rate of the rotor at t under torques that begin at times, segment by segment."""
    q = qd = 0.0
    ends = [*times[1:], np.inf]
    for begin, end, torque in zip(times, ends, torques, strict=True):
        h = max(0.0, min(t, end) - begin)
        q, qd = q + qd * h + torque / INERTIA * h**2 / 2, qd + torque / INERTIA * h
    # before the first torque nothing moves
    return q, qd


# -- jumps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", EXACT_METHODS)
@pytest.mark.parametrize("duration", [0.5, 1 / 3, 0.123456])
def test_bang_bang_turns_the_rotor_as_far_as_it_must(rotor, method, duration):
    """Jumps on samples and between them. Radau's first steps and BDF's low orders are not exact for a parabola."""
    result = run(
        rotor,
        1.5,
        u=fa.bang_bang(2.0, duration, start=0.2),
        solver=fa.Solver(method=method, step=STEPS.get(method)),
        samples=16,
    )
    times, torques = [0.2, 0.2 + duration, 0.2 + 2 * duration], [2.0, -2.0, 0.0]
    expected = np.array([moved(times, torques, t) for t in result.time.values])
    tolerance = EXACT if method in ("dop853", "vern7", "vern8", "rk45", "tsit5", "rk4") else GLOBAL
    assert result.q[:, 0].values == pytest.approx(expected[:, 0], abs=tolerance)
    assert result.qd[:, 0].values == pytest.approx(expected[:, 1], abs=tolerance)
    assert result.attrs["energy_drift"] < max(tolerance, 1e-11)


def test_many_jumps_are_each_integrated_exactly(rotor):
    rng = np.random.default_rng(1)
    times, torques = np.cumsum(rng.uniform(0.001, 0.05, 60)) - 0.1, rng.uniform(-3, 3, 60)
    result = run(rotor, 1.0, u=fa.Piecewise(times, torques), samples=8)
    held = np.searchsorted(times, 0.0, side="right") - 1  # the torque in force at the start
    starts, values = np.r_[0.0, times[held + 1 :]], torques[held:]
    expected = np.array([moved(starts, values, t) for t in result.time.values])
    assert result.q[:, 0].values == pytest.approx(expected[:, 0], abs=EXACT)


def test_the_sample_at_a_jump_shows_what_follows(rotor):
    result = run(rotor, 1.0, u=fa.Piecewise([0.5], [3.0]), samples=3)
    assert result.u[:, 0].values.tolist() == [0, 3, 3]
    assert result.power[1] == 3 * result.qd[1, 0]


def test_jumps_a_rounding_away_from_samples(rotor):
    """0.1 * 3 is not 0.3, and a stretch of one rounding is a stretch."""
    for until, times in ((0.1 * 3, [0, 0.3]), (0.3, [0, 0.1 * 3]), (0.3, [0, 5e-324, 1e-17])):
        torques = np.arange(1.0, len(times) + 1)
        result = run(rotor, until, u=fa.Piecewise(times, torques), samples=4)
        last = moved(times, torques, until)
        assert result.q[-1, 0] == pytest.approx(last[0], abs=EXACT)
        np.testing.assert_array_equal(result.time, np.linspace(0, until, 4))


def test_jumps_outside_the_run_are_no_matter(rotor):
    result = run(rotor, 1.0, u=fa.Piecewise([-3, 0, 1, 2], [5.0, 1.0, 7.0, 9.0]))
    assert result.q[-1, 0] == pytest.approx(0.5 / INERTIA, abs=EXACT)


def test_before_its_first_value_a_piecewise_input_is_zero(rotor):
    result = run(rotor, 1.0, u=fa.Piecewise([0.75], [4.0]), samples=5)
    assert result.q[:4, 0].values.tolist() == [0, 0, 0, 0]
    assert result.u[:, 0].values.tolist() == [0, 0, 0, 4, 4]


def test_each_actuator_has_its_column(slides):
    result = run(slides, 1.0, u=fa.Piecewise([0.0, 0.5], [[3.0, 1.0], [0.0, -2.0]]))
    assert result.q[-1].values == pytest.approx([1 * (0.125 + 0.25), (0.125 + 0.25) / 1.5 - 2 / 1.5 * 0.125], abs=EXACT)
    assert result.work[-1] == pytest.approx(float(result.kinetic[-1]), abs=EXACT)


def test_numbers_are_constant_inputs(slides):
    by_list, by_one = run(slides, 1.0, u=[3, 3]), run(slides, 1.0, u=3)
    np.testing.assert_array_equal(by_list.q, by_one.q)
    assert by_list.q[-1].values == pytest.approx([0.5, 1.0], abs=EXACT)
    np.testing.assert_array_equal(run(slides, 1.0, u=inputs.constant([3.0, 3.0])).q, by_one.q)


# -- tables ------------------------------------------------------------------------------------------------------------


def test_a_cubic_table_reproduces_a_cubic(rotor):
    """u = t^3 - t, sampled at uneven times."""
    times = np.array([0, 0.2, 0.7, 0.8, 1.3, 2.0])
    result = run(rotor, 2.0, u=fa.Table(times, times**3 - times))
    t = result.time.values
    assert result.q[:, 0].values == pytest.approx((t**5 / 20 - t**3 / 6) / INERTIA, abs=1e-11)
    assert result.u[:, 0].values == pytest.approx(t**3 - t, abs=1e-13)


def test_a_table_is_laid_out_once_for_all_its_corners(rotor, monkeypatch):
    """A record of a thousand rows, linear, has as many stretches; each would copy all of it."""
    made = []
    monkeypatch.setattr(inputs, "cubic_table", lambda *table: made.append(table) or cubic_table(*table))
    t = np.linspace(0.0, 1.0, 101)
    table = fa.Table(t, t, "linear")
    for again in (table, pickle.loads(pickle.dumps(table))):
        made.clear()
        result = run(rotor, 1.0, u=again)
        assert result.q.values[-1, 0] == pytest.approx(1.0 / 6.0 / INERTIA, abs=GLOBAL)
        assert len(made) == 1


def test_a_linear_table_is_integrated_from_corner_to_corner(rotor):
    """Up to 1 in half a second and down again; the angle is a cubic in each half."""
    result = run(rotor, 1.0, u=fa.Table([0, 0.5, 1], [0, 1, 0], "linear"), samples=21)
    t = result.time.values
    late = np.maximum(t - 0.5, 0)
    assert result.q[:, 0].values == pytest.approx((2 * t**3 / 6 - 4 * late**3 / 6) / INERTIA, abs=EXACT)
    assert result.u[:, 0].values == pytest.approx(np.interp(t, [0, 0.5, 1], [0, 1, 0]), abs=1e-15)


def test_outside_a_table_its_ends_hold(rotor):
    for kind in ("cubic", "linear"):
        result = run(rotor, 3.0, u=fa.Table([1, 2], [2, 4], kind), samples=7)
        assert result.u[:, 0].values.tolist() == [2, 2, 2, 3, 4, 4, 4]
        rate = (2 * 1 + 3 * 1 + 4 * 1) / INERTIA
        assert result.qd[-1, 0] == pytest.approx(rate, abs=1e-11)


@pytest.mark.parametrize("step", [1.0, 0.25, 3e-4])
def test_rk4_is_exact_for_a_parabola_in_time(rotor, step):
    """Its stages are Simpson's rule: one step is enough, and 10 000 are no worse."""
    times = np.linspace(0, 3, 5)
    result = run(rotor, 3.0, u=fa.Table(times, times**2 - times), solver=fa.Solver(method="rk4", step=step), samples=2)
    assert result.q[-1, 0] == pytest.approx((3**4 / 12 - 3**3 / 6) / INERTIA, rel=1e-11)
    assert result.qd[-1, 0] == pytest.approx((3**3 / 3 - 3**2 / 2) / INERTIA, rel=1e-11)


@pytest.mark.parametrize("kind", ["cubic", "linear"])
@pytest.mark.parametrize("count", [2, 3, 5, 64])
def test_a_table_equals_its_evaluation_in_python(slides, kind, count):
    """Every interval is found by the native search, over both columns."""
    rng = np.random.default_rng(count)
    times = np.sort(rng.uniform(0, 2, count))
    values = rng.uniform(-1, 1, (count, 2))
    spline = CubicSpline(times, values)

    def dense(t):
        s = np.clip(t, times[0], times[-1])
        return spline(s) if kind == "cubic" else [np.interp(s, times, column) for column in values.T]

    table = fa.Table(times, values, kind)
    result = run(slides, 2.0, u=table, samples=201)
    np.testing.assert_allclose(result.u, np.array([dense(t) for t in result.time.values]), atol=1e-12)
    called = run(slides, 2.0, u=dense)  # the solver does not know of the corners
    np.testing.assert_allclose(result.q[::20], called.q, atol=1e-5)


# -- functions ---------------------------------------------------------------------------------------------------------


def test_a_function_of_time_equals_the_native_input(slides):
    native = run(slides, 1.0, u=fa.Table([0, 1], [[0, 1], [1, 0]]))
    called = run(slides, 1.0, u=lambda t: [t, 1 - t])
    np.testing.assert_allclose(called.q, native.q, atol=EXACT)
    np.testing.assert_allclose(called.u, native.u, atol=EXACT)
    np.testing.assert_allclose(called.work, native.work, atol=EXACT)
    assert called.attrs["evaluations"] > 0


@pytest.mark.parametrize("method", EXACT_METHODS)
def test_a_function_of_the_state_is_a_spring_and_a_damper(rotor, method):
    k, d = 20.0, 0.4

    def spring(t, q, qd):
        return -k * q - d * qd

    result = run(rotor, 2.0, q0=[0.7], u=spring, solver=fa.Solver(method=method, step=STEPS.get(method)))
    omega, sigma = np.sqrt(k / INERTIA - (d / INERTIA / 2) ** 2), d / INERTIA / 2
    t = result.time.values
    expected = 0.7 * np.exp(-sigma * t) * (np.cos(omega * t) + sigma / omega * np.sin(omega * t))
    assert result.q[:, 0].values == pytest.approx(expected, abs=20 * GLOBAL)
    assert result.u[:, 0].values == pytest.approx(-k * result.q[:, 0].values - d * result.qd[:, 0].values)
    assert result.attrs["input_description"] == "spring"


def test_a_function_gets_copies(rotor):
    def vandal(t, q, qd):
        q += 1
        qd[:] = np.nan
        return 0.0

    assert run(rotor, 1.0, u=vandal, qd0=[1.0]).q[-1, 0] == pytest.approx(1.0, abs=EXACT)


class Controller:
    def __call__(self, t, q, qd):
        return 1.0


def ramp(t, slope=2.0):
    return slope * t


def test_every_kind_of_function_is_called_as_it_wants(rotor):
    import functools

    assert run(rotor, 1.0, u=Controller()).qd[-1, 0] == pytest.approx(1 / INERTIA)
    assert run(rotor, 1.0, u=ramp).qd[-1, 0] == pytest.approx(1 / INERTIA)
    assert run(rotor, 1.0, u=functools.partial(ramp, slope=4.0)).qd[-1, 0] == pytest.approx(2 / INERTIA)
    assert run(rotor, 1.0, u=lambda *state: 1.0 + 0 * state[2]).qd[-1, 0] == pytest.approx(1 / INERTIA)
    assert run(rotor, 1.0, u=np.cos).qd[-1, 0] == pytest.approx(np.sin(1) / INERTIA)


# -- the rigid arm's torques -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arm", ["rigid-two-link", "spatial-6r", "canadarm"])
def test_the_rigid_arm_follows_the_reference(arm):
    model = fa.Model(fa.load(arm).rigid())
    n = len(model.coordinates)
    reference = fa.Cycloidal(np.linspace(0.2, -0.4, n), np.linspace(0.3, 0.6, n))
    result = run(
        model, 0.6, u=fa.RigidInverseDynamics(reference), reference=reference, solver=fa.Solver(rtol=1e-10, atol=1e-12)
    )
    np.testing.assert_allclose(result.q, result.q_ref, atol=1e-8)
    t = result.time.values[:, None]
    k, T = np.linspace(0.2, -0.4, n), np.linspace(0.3, 0.6, n)
    np.testing.assert_allclose(result.q_ref, k * (t - T / np.pi * np.sin(np.pi * t / T)), atol=1e-15)
    torque = np.array([model.inverse_dynamics(*state) for state in cycloidal(k, T, result.time.values)])
    np.testing.assert_allclose(result.u, torque, rtol=1e-9, atol=1e-9)


def cycloidal(k, T, times):
    for t in times:
        a = np.pi * t / T
        yield k * (t - T / np.pi * np.sin(a)), k * (1 - np.cos(a)), k * np.pi / T * np.sin(a)


def test_a_stiff_arm_nearly_follows_the_reference():
    """The torques are the rigid arm's; the flexible one approaches it as EI grows."""
    reference = fa.Cycloidal([0.5], [0.5])
    errors = []
    for EI in (1e3, 1e5):
        body = fa.Beam(length=1.0, mass=1.0, EI=EI, modes={"y": 1}, damping=0.1)
        model = fa.Model(fa.Arm(name="a", links=[fa.Link(name="l", body=body, hub_inertia=0.1)]))
        result = run(model, 1.0, u=fa.RigidInverseDynamics(reference), reference=reference, method="radau5")
        errors.append(abs(result.q[:, 0] - result.q_ref[:, 0]).max())
    assert errors[0] < 2e-3 and errors[1] < errors[0] / 50


# -- descriptions and errors -------------------------------------------------------------------------------------------


def test_descriptions_say_what_drove_a_run():
    cycloid = fa.Cycloidal([1], [2])
    assert inputs.constant([0.0]).described() == "none"
    assert inputs.constant([1.5, 2]).described() == "constant [1.5, 2.0]"
    assert fa.bang_bang(1.0, 0.5).described() == "piecewise constant, 3 values from 0 s to 1 s"
    assert fa.Table([0, 2], [0, 1], "linear").described() == "table of 2 times from 0 s to 2 s, linear"
    assert inputs.Computed(ramp).described() == "ramp"
    assert inputs.Computed(Controller()).described() == "Controller"
    assert cycloid.described() in fa.RigidInverseDynamics(cycloid).described()


NAN = float("nan")
WRONG = [
    (lambda: fa.Piecewise([0, 1], [1]), r"times has shape \(2,\) and values \(1, 1\)"),
    (lambda: fa.Piecewise([], []), r"times has shape \(0,\)"),
    (lambda: fa.Piecewise([1, 0], [1, 1]), "times must increase"),
    (lambda: fa.Piecewise([0, 0], [1, 1]), "times must increase"),
    (lambda: fa.Piecewise([0, NAN], [1, 1]), "NaN"),
    (lambda: fa.Piecewise([0, 1], [1, NAN]), "NaN"),
    (lambda: fa.Piecewise(["a"], [1]), "times must be numbers"),
    (lambda: fa.Piecewise([0, 1], [[1, 2], [3]]), "values must be numbers"),
    (lambda: fa.Piecewise([0], np.zeros((1, 1, 1))), "values"),
    (lambda: fa.Table([0], [1]), "Table: times has 1 number; it must have at least 2"),
    (lambda: fa.Table([0, 1], [1, 2], "quintic"), "Table: kind is 'quintic'; it must be 'cubic' or 'linear'"),
    (lambda: fa.Table([0, float("inf")], [1, 2]), "Table: times contain infinity"),
    (lambda: fa.bang_bang(1.0, 0), "bang_bang: duration is 0.0 s; it must be positive"),
    (lambda: fa.bang_bang(1.0, "1"), "bang_bang: duration is '1'; it must be a number in s"),
    (lambda: fa.bang_bang(1.0, 1.0, NAN), "bang_bang: start is nan s; it must be finite"),
    (lambda: fa.bang_bang("x", 1.0), "bang_bang: amplitude must be numbers"),
    (lambda: inputs.constant("x"), "constant: values must be numbers"),
    (lambda: fa.Cycloidal([1, 2], [1]), "Cycloidal: 2 rates for 1 period"),
    (lambda: fa.Cycloidal([1], [0]), "Cycloidal: a period is 0.0 s; it must be positive"),
    (lambda: inputs.Computed(lambda: 0), r"of 0 arguments; it must be u\(t\) or u\(t, q, qd\)"),
    (lambda: inputs.Computed(lambda a, b, c, d: 0), "of 4 arguments"),
]


@pytest.mark.parametrize(("build", "line"), WRONG, ids=[line for _, line in WRONG])
def test_wrong_inputs_are_refused_in_one_line(build, line):
    with pytest.raises(fa.DescriptionError, match=line) as caught:
        build()
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "u",
    [
        fa.Piecewise([0.0], [[1.0, 2.0, 3.0]]),
        fa.Table([0, 1], [1.0, 2.0]),
        fa.RigidInverseDynamics(fa.Cycloidal([1, 2, 3], [1, 1, 1])),
        [1.0, 2.0, 3.0],
    ],
    ids=["piecewise", "table", "rigid", "numbers"],
)
def test_the_number_of_actuators_must_fit(slides, u):
    with pytest.raises(fa.DescriptionError, match=r"for 2 actuators: a\.joint, b\.joint"):
        run(slides, 1.0, u=u)


def test_an_arm_without_actuators_takes_no_numbers():
    body = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 1})
    beam = fa.Model(fa.Arm(name="b", links=[fa.Link(name="b", joint=fa.Fixed(), body=body)]))
    with pytest.raises(fa.DescriptionError, match="1 column for 0 actuators: there is none"):
        run(beam, 1.0, u=[1.0])
    assert run(beam, 0.1, u=[]).attrs["status"] == "completed"


@pytest.mark.parametrize(
    "method", [{"method": "dop853"}, {"method": "rk4", "solver": fa.Solver(step=1e-3)}, {"method": "tsit5"}]
)
def test_torques_that_jump_with_the_references_acceleration(method):
    """Parabolic blends: the rigid arm under its own inverse dynamics follows them, jumps and all.

    A blend that ends between two steps, and a solver that sees the torque beyond a jump before it is there, both cost
    orders of magnitude.
    """
    arm = fa.Model(fa.load("rigid-two-link"))
    blends = fa.ParabolicBlends(start=(0.0, 0.0), end=(1.0, -0.7), duration=1.0, blend=0.237)
    drive = fa.RigidInverseDynamics(blends)
    assert drive.jumps() == pytest.approx(blends.jumps())
    result = fa.simulate(arm, 1.2, u=drive, reference=blends, samples=61, progress=False, **method)
    error = np.abs(result.q.values - result.q_ref.values).max()
    assert error < (1e-9 if method["method"] != "rk4" else 3e-9)


def test_an_input_is_seen_from_the_left_at_the_end_of_a_stretch():
    """The last stage of a fixed step lies on the jump: order 4 all the same, for an expression of time."""
    arm = fa.Model(fa.load("rigid-two-link").replace(gravity=(0.0, 0.0, 0.0)))
    blends = fa.ParabolicBlends(start=(0.0, 0.0), end=(1.0, -0.7), duration=1.0, blend=0.25)
    drive, errors = fa.RigidInverseDynamics(blends), []
    for step in (0.05, 0.025, 0.0125):
        result = fa.simulate(
            arm,
            1.0,
            u=drive,
            reference=blends,
            samples=5,
            solver=fa.Solver(method="rk4", step=step),
            progress=False,
        )
        errors.append(np.abs(result.q.values - result.q_ref.values).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (orders > 3.7).all(), (errors, orders)
