"""Inputs as a run sees them: where stretches end, what a sampled function may do, objects that serve several runs."""

import _thread
import gc
import pickle
import signal
import threading
import time
import traceback
import weakref

import numpy as np
import pytest

import flexarm as fa
from flexarm.control import JointPD, Sampled
from flexarm.errors import InterruptedRun
from flexarm.simulation.block import Block
from flexarm.simulation.feedback import integrand
from flexarm.simulation.inputs import Computed, as_input, constant
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import Plan
from flexarm.simulation.sampled import feedback

ROD = fa.Rigid(length=0.8, mass=1.5)
INERTIA = 1.5 * 0.8**2 / 3
SLEW = fa.ParabolicBlends(start=(0.1,), end=(0.6,), duration=0.7, blend=0.2)
ENTRIES = ("q", "qd", "u", "work", "kinetic")


@pytest.fixture(scope="module")
def rotor():
    return fa.Model(fa.Arm(name="rotor", links=[fa.Link(name="rod", body=ROD)]))


def run(model, until, **given):
    return fa.simulate(model, until, progress=False, **{"samples": 11, **given})


def same(one, other):
    for name in ENTRIES:
        np.testing.assert_array_equal(one[name], other[name])


# -- the state's layout ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(3, 3, 0), (3, 3, 2), (7, 6, 4)])
def test_every_number_of_a_state_has_one_name(sizes):
    layout = Layout(*sizes)
    everything = np.arange(layout.size)
    parts = [everything[part] for part in (layout.q, layout.qd, layout.z)]
    parts += [[layout.work], [layout.dissipated]]
    np.testing.assert_array_equal(np.concatenate(parts), everything)
    np.testing.assert_array_equal(everything[layout.motion], np.concatenate(parts[:2]))
    np.testing.assert_array_equal(everything[layout.steering], np.concatenate(parts[:3]))
    q, qd, z = (np.random.default_rng(0).normal(size=size) for size in sizes)
    x = layout.start(q, qd, z)
    np.testing.assert_array_equal(x[layout.q], q)
    np.testing.assert_array_equal(x[layout.qd], qd)
    np.testing.assert_array_equal(x[layout.z], z)
    assert x[layout.work] == x[layout.dissipated] == 0


# -- stretches ---------------------------------------------------------------------------------------------------------

JUMPS = {
    "none": ([], [0.0, 1.0]),
    "at the ends": ([0.0, 1.0], [0.0, 1.0]),
    "outside": ([-np.inf, -2.0, 1.5, np.inf], [0.0, 1.0]),
    "inside": ([-1.0, 0.25, 0.5, 2.0], [0.0, 0.25, 0.5, 1.0]),
    "twice, not in order": ([0.5, 0.25, 0.5], [0.0, 0.25, 0.5, 1.0]),
    "beside the ends": ([5e-324, np.nextafter(1.0, 0.0)], [0.0, 5e-324, np.nextafter(1.0, 0.0), 1.0]),
}


@pytest.mark.parametrize("name", JUMPS)
def test_a_run_is_cut_where_its_input_jumps(name):
    jumps, corners = JUMPS[name]

    class Jumping(Block):
        def jumps(self):
            return np.array(jumps)

        def output(self, model, t, q, qd, z):
            raise AssertionError

        described = output

    np.testing.assert_array_equal(Jumping().corners(1.0), corners)


@pytest.mark.parametrize(
    ("period", "until", "count"),
    [(0.1, 1.0, 10), (0.1, 0.95, 10), (1 / 3, 1.0, 3), (0.3, 1.0, 4), (7.0, 1.0, 1), (1.0, 1.0, 1), (1e10, 1.0, 1)],
)
def test_a_sampled_run_is_cut_at_its_samples(rotor, period, until, count):
    """Also where one period is longer than the run, however much: it is sampled at its beginning."""
    calls = []

    def law(t, q, qd):
        calls.append(t)
        return [INERTIA]

    result = run(rotor, until, u=Sampled(law, period))
    assert calls == pytest.approx(period * np.arange(count), abs=1e-12)
    assert result.attrs["status"] == "completed"
    assert result.q[-1, 0] == pytest.approx(until**2 / 2, abs=1e-12)
    assert result.time.values == pytest.approx(np.linspace(0, until, 11), abs=0)


@pytest.mark.parametrize("samples", [2, 3, 11])
@pytest.mark.parametrize("method", ["dop853", "rk4"])
@pytest.mark.parametrize("until", [0.05, 0.31, 0.7])
def test_how_often_a_run_is_looked_at_does_not_change_it(rotor, samples, method, until):
    """Jumps at 0, on looks and between them, at the end and beyond; a step that divides none of it."""
    step = {"solver": fa.Solver(step=0.03)} if method == "rk4" else {}
    inputs = [
        fa.Piecewise([0.0, 0.155, 0.31, 0.7, 2.0], [1.0, -2.0, 3.0, 9.0, 9.0]),
        Sampled(lambda t, q, qd: [1.0 - 2.0 * t], 0.1),
    ]
    for u in inputs:
        result = run(rotor, until, u=u, samples=samples, method=method, **step)
        times = np.linspace(0, until, samples)
        q, qd, t = 0.0, 0.0, 0.0  # by hand, from one change of the torque to the next
        found = {0.0: (0.0, 0.0)}
        changes = [0.155, 0.31] if isinstance(u, fa.Piecewise) else [0.1 * k for k in range(1, 7)]
        for end in sorted({*changes, *times[1:].tolist()}):
            if isinstance(u, fa.Piecewise):
                torque = [1.0, -2.0, 3.0][int(np.searchsorted([0.155, 0.31], t, side="right"))]
            else:
                torque = 1.0 - 2.0 * 0.1 * np.floor(t / 0.1 + 1e-9)
            h = end - t
            q, qd, t = q + qd * h + torque / INERTIA * h**2 / 2, qd + torque / INERTIA * h, end
            found[end] = q, qd
        wanted = np.array([found[each] for each in times.tolist()])
        assert np.column_stack([result.q, result.qd]) == pytest.approx(wanted, abs=1e-12)


# -- a sampled function ------------------------------------------------------------------------------------------------


def test_what_a_sampled_function_raises_comes_out_with_its_time(rotor):
    class Unplugged(Exception):
        pass

    def motor(t, q, qd):
        if t > 0.25:
            raise Unplugged("the plug")
        return [0.1]

    with pytest.raises(Unplugged, match="the plug") as caught:
        run(rotor, 1.0, u=Sampled(motor, 0.1))
    assert caught.value.__notes__ == ["raised by the controller motor at t = 0.3 s"]
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "motor"


def test_an_error_of_the_model_in_a_sampled_function_stops_the_run_there(rotor):
    """As in a continuous one: what was computed before is kept."""

    def clumsy(t, q, qd):
        return rotor.gravity_force([np.nan if t > 0.25 else 0.0]) + 1.0

    for u in (Sampled(clumsy, 0.1), clumsy):
        with pytest.raises(fa.SimulationError, match="q contains NaN or infinity") as caught:
            run(rotor, 1.0, u=u)
        result = caught.value.result
        assert 1 <= result.sizes["time"] <= 4
        assert result.q[:, 0].values == pytest.approx(result.time.values**2 / 2 / INERTIA, abs=1e-9)
    with pytest.raises(fa.SimulationError, match=r"controller clumsy at t = 0\.3 s: q contains NaN") as caught:
        run(rotor, 1.0, u=Sampled(clumsy, 0.1))
    assert caught.value.result.sizes["time"] == 4


def test_a_law_that_does_not_fit_the_arm_is_no_failed_run(rotor):
    wide = JointPD(fa.Quintic((0.0, 0.0), (1.0, 1.0), 1.0), Kp=1.0, Kd=1.0)
    for u in (wide, Sampled(wide, 0.1), fa.Piecewise([0.0], [[1.0, 2.0]]), fa.Table([0, 1], [[1, 2], [1, 2]])):
        with pytest.raises(fa.DescriptionError):
            run(rotor, 1.0, u=u)


def test_a_sampled_function_may_run_simulations_of_its_own(rotor):
    def ahead(t, q, qd):
        plan = run(rotor, 0.1, u=0.0, q0=q, qd0=qd, samples=2)
        return -4.0 * INERTIA * plan.q[-1].values

    result = run(rotor, 1.0, u=Sampled(ahead, 0.1), q0=[1.0])
    seen = result.q[:, 0].values + 0.1 * result.qd[:, 0].values  # where it would be without torque
    assert result.u[:10, 0].values == pytest.approx(-4.0 * INERTIA * seen[:10], abs=1e-9)


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def default_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press():
    """Ctrl-C, until the run has heard of it."""
    handler = signal.getsignal(signal.SIGINT)
    _thread.interrupt_main()
    while not handler.came:
        time.sleep(0.001)


@pytest.mark.parametrize("method", ["dop853", "vern8", "rk4"])
@pytest.mark.usefixtures("default_handler")
def test_ctrl_c_in_a_sampled_function_keeps_what_was_computed(rotor, method):
    calls = []

    def law(t, q, qd):
        calls.append(t)
        if len(calls) == 4:
            press()
        return [INERTIA]

    with pytest.warns(InterruptedRun, match=r"interrupted at t = 0\.3 s of 1000 s"):
        result = run(
            rotor,
            1e3,
            u=Sampled(law, 0.1),
            samples=10001,
            method=method,
            **({"solver": fa.Solver(step=0.05)} if method == "rk4" else {}),
        )
    assert result.attrs["status"] == "interrupted"
    assert result.q[:, 0].values == pytest.approx(np.array([0, 0.1, 0.2, 0.3]) ** 2 / 2, abs=1e-9)
    assert calls == pytest.approx([0, 0.1, 0.2, 0.3])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("default_handler")
def test_a_second_ctrl_c_in_a_sampled_function_is_as_always(rotor):
    """The function hangs: the first waits for it, the second does not."""
    released = threading.Event()

    def hanging(t, q, qd):
        press()
        _thread.interrupt_main()
        released.wait()
        return [0.0]

    with pytest.raises(KeyboardInterrupt):
        run(rotor, 1.0, u=Sampled(hanging, 0.1))
    released.set()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("default_handler")
def test_a_run_in_a_thread_leaves_ctrl_c_alone(rotor):
    handlers, found = [], []

    def law(t, q, qd):
        handlers.append(signal.getsignal(signal.SIGINT))
        return [0.1]

    thread = threading.Thread(target=lambda: found.append(run(rotor, 0.3, u=Sampled(law, 0.1))))
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler] * 3
    same(found[0], run(rotor, 0.3, u=Sampled(lambda t, q, qd: [0.1], 0.1)))


# -- objects that serve several runs -----------------------------------------------------------------------------------


def kinds(model):
    """One of every kind of input."""
    slew = JointPD(SLEW, Kp=3.0, Kd=0.5)
    return {
        "constant": constant(0.3),
        "piecewise": fa.Piecewise([-np.inf, 0.2, 0.5], [0.1, -0.1, 0.3]),
        "cubic": fa.Table([0.1, 0.3, 0.6], [0.1, -0.1, 0.3]),
        "linear": fa.Table([0.1, 0.3, 0.6], [0.1, -0.1, 0.3], kind="linear"),
        "computed": Computed(lambda t, q, qd: -q - qd),
        "rigid": fa.RigidInverseDynamics(SLEW),
        "prescribed": fa.PrescribedMotion(SLEW),
        "law": feedback(slew, model),
        "sampled": feedback(Sampled(slew, 0.1, delay=0.1, limit=0.05), model),
        "sampled function": feedback(Sampled(lambda t, q, qd: -q, 0.1, delay=0.2, rate_limit=1.0), model),
    }


KINDS = ("constant", "piecewise", "cubic", "linear", "computed", "rigid", "prescribed", "law", "sampled")
KINDS += ("sampled function",)


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_serves_one_run_after_another(rotor, kind):
    u = kinds(rotor)[kind]
    assert as_input(u, rotor) is u
    first = run(rotor, 1.0, u=u)
    for until in (1.0, 1.0, 0.35):  # so often that nothing is found again by luck
        run(rotor, until, u=u, q0=[2.0], samples=4, solver=fa.Solver(method="rk4", step=0.04))
    same(run(rotor, 1.0, u=u), first)
    same(run(rotor, 1.0, u=kinds(rotor)[kind]), first)


def test_an_input_serves_one_run_after_one_that_failed(rotor):
    broken = [True]

    def law(t, q, qd):
        return [np.nan if broken[0] and t > 0.25 else 0.1]

    u = feedback(Sampled(law, 0.1, delay=0.1), rotor)
    with pytest.raises(fa.SimulationError, match="gave nan"):
        run(rotor, 1.0, u=u)
    broken[0] = False
    same(run(rotor, 1.0, u=u), run(rotor, 1.0, u=Sampled(lambda t, q, qd: [0.1], 0.1, delay=0.1)))


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_serves_several_runs_at_once(rotor, kind):
    """In threads; what a sampled law has given is each run's own."""
    u, found = kinds(rotor)[kind], {}
    expected = run(rotor, 1.0, u=u)

    def go(i):
        found[i] = run(rotor, 1.0, u=u)

    threads = [threading.Thread(target=go, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 1, 2, 3]
    for result in found.values():
        same(result, expected)


@pytest.mark.parametrize("kind", ["constant", "piecewise", "cubic", "linear", "rigid", "prescribed"])
def test_an_input_goes_to_another_process(rotor, kind):
    u = kinds(rotor)[kind]
    same(run(rotor, 1.0, u=pickle.loads(pickle.dumps(u))), run(rotor, 1.0, u=u))


# -- beside simulate's own kinds ---------------------------------------------------------------------------------------


class Spring(Block):
    """The least that a block needs: a function that is held from one jump to the next, and a text."""

    def __init__(self, k):
        self.k = k

    def jumps(self):
        return np.array([0.5])

    def output(self, model, t, q, qd, z):
        return -self.k * q

    def described(self):
        return "a spring that looks at the angle twice"


def test_the_least_that_an_input_must_have(rotor):
    """It is fed at the start of each stretch with the state there."""
    result = run(rotor, 1.0, u=Spring(2.0 * INERTIA), q0=[1.0])
    assert result.attrs["input_description"] == "a spring that looks at the angle twice"
    middle, rate = 1.0 - 2.0 * 0.5**2 / 2, -2.0 * 0.5
    assert result.q[5, 0] == pytest.approx(middle, abs=1e-12)
    assert result.q[10, 0] == pytest.approx(middle + rate * 0.5 - 2.0 * middle * 0.5**2 / 2, abs=1e-12)
    for member in ("output", "described"):
        members = {name: getattr(Spring, name) for name in ("output", "described") if name != member}
        with pytest.raises(TypeError, match=member):
            type("Half", (Block,), members)()


def test_code_stays_as_long_as_a_plan_may_call_it(rotor, traced_alone):
    """After a second Ctrl-C the run's thread may still be in it."""
    arm = rotor.arm.replace(gravity=(0.3, -0.2, 0.1))  # no other test has a model of it that lives
    code = integrand(fa.Model(arm), "state_rate", 1).code  # the model is gone, and its kernels with it
    kept = weakref.ref(code)
    plan = Plan(code.addresses["evaluate"], 3, 2, powers=2, held=code)
    del code
    gc.collect()
    assert kept() is not None and plan.address
    del plan
    gc.collect()
    assert kept() is None
