"""Controllers in C for a board: equal to the simulated loop, safe after failures, and without allocation."""

import re
import shutil
import subprocess
from functools import cache, partial

import control as ct
import numpy as np
import pytest
from boards import FAULT, INVALID, LATE, MISSING, PEDANTIC, SAFE, Compiled, loop
from compiled import CC, STRICT, built

import flexarm as fa
from flexarm import analysis, control, robust
from flexarm.control import JointPD, Observed, Sampled
from flexarm.errors import DescriptionError
from flexarm.estimation import EKF, UKF, MovingHorizon
from flexarm.exports.controller.library import board, c_controller
from flexarm.hardware.controller import loop_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:(Sampled|Predictive). period is"),
    pytest.mark.filterwarnings("ignore::flexarm.errors.NotReached"),
    pytest.mark.filterwarnings("ignore::flexarm.errors.EnergyDrift"),  # both loops take the same coarse steps
]
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")
CROSS, QEMU = shutil.which("arm-none-eabi-gcc"), shutil.which("qemu-arm")
T = 1e-3
SLEW = fa.Quintic(start=[0.0, 0.0], end=[0.4, -0.3], duration=0.25)
TIMES = np.linspace(0.0, 0.3, 7)
STATES, TORQUES = 0.01 * np.sin(np.outer(TIMES, np.arange(1.0, 13.0))), 0.02 * np.cos(np.outer(TIMES, [1.3, 2.1]))
PD = JointPD(SLEW, Kp=[50.0, 31.0], Kd=[5.0, 4.0])


@cache
def elastic():
    return fa.Model(fa.load("subudhi-morris-elastic"))


@cache
def bending():
    return fa.Model(fa.load("subudhi-morris"))


@cache
def wound():
    """Two links with motors that have currents, whose inputs are voltages."""
    arm = fa.load("industrial-arm")
    return fa.Model(arm.replace(links=arm.links[1:3]))


def encoders(model, **more):
    return [fa.Encoder(coordinate=f"{link.name}.drive", **more) for link in model.arm.links if link.joint.moves]


def gauges():
    return [fa.StrainGauge(link=link.name, resolution=1e-6) for link in elastic().arm.links]


def adrift():
    """An arm on a free base, which a force may push."""
    arm = fa.load("canadarm-free")
    return fa.Model(arm.replace(forces=[fa.Force(name="push", link="hand")]))


def fine(model):
    """Encoders and strain gauges that round, as a filter must know."""
    return [*encoders(model, resolution=1e-5), *gauges()]


def felt(model):
    """Signals of a model, also an acceleration."""
    return [*fine(model), fa.Accelerometer(link="upper", resolution=1e-2)]


def lead():
    """A strictly proper system from two encoders to two torques, with states."""
    return ct.ss(
        [[-40.0, 3.0], [0.0, -55.0]], [[1.0, 0.2], [0.0, 1.5]], [[900.0, 0.0], [40.0, 700.0]], 11.0 * np.eye(2)
    )


def tip(model):
    return [*encoders(model, resolution=1e-5), fa.TipPosition(axes="xy", resolution=1e-4)]


def synthesized():
    """The arm with damped links, and an H-infinity controller of its encoders."""
    arm = elastic().arm
    model = fa.Model(arm.replace(links=[link.replace(body=link.body.replace(damping=0.02)) for link in arm.links]))
    read = [fa.Encoder(coordinate=name) for name in model.inputs]
    q, u = analysis.equilibrium(model, (0.4, -0.3))
    P = robust.four_block(
        model.linearize(q, 0 * q, u, outputs=read),
        error=robust.weight(100.0, 6.0, 0.5),
        effort=robust.weight(0.05, 60.0, 20.0),
        disturbance=0.3,
        noise=0.3,
    )
    return control.Linear(robust.hinf_synthesis(P, measured=2, controls=2).controller, read, SLEW), model


def estimated(kind, **more):
    """A controller on the estimates of a nonlinear filter, which also finds a payload and a torque that drifts."""
    unknown = {
        "parameters": {"payload.mass": 0.02},
        "disturbances": {"upper.joint": 0.2},
        "drift": {"upper.joint": 0.1},
    }
    read = [fa.Encoder(coordinate=f"{link}.joint", resolution=1e-5) for link in ("upper", "fore")]
    read += [fa.StrainGauge(link=link, resolution=1e-4) for link in ("upper", "fore")]
    return Sampled(Observed(JointPD(SLEW, 5.0, 1.0), read, estimator=kind(**unknown, **more)), T, delay=T, limit=5.0)


def on_a_free_base(kind):
    """A controller on the estimates of a filter that follows the attitude of the base, and knows of a force on it."""
    read = [fa.StarTracker(resolution=1e-4), fa.Gyroscope(link="base", resolution=1e-4)]
    read += [fa.Encoder(coordinate=f"{link}.joint", resolution=1e-4) for link in ("upper", "fore", "hand")]
    law = JointPD(fa.Quintic([0.0] * 3, [0.2, -0.1, 0.1], 1.0), [50.0, 40.0, 20.0], [200.0, 150.0, 60.0])
    filter_ = kind(deviation=1e-3, unmodelled=1e-4, process=1e-3)
    return Sampled(Observed(law, read, estimator=filter_), 0.02)


class Counting:
    """A controller of the state in Python."""

    sensors = None

    def stepper(self, model, period):
        return lambda t, y: np.zeros(2)


OF_PYTHON = Sampled(
    Observed(Counting(), [fa.Encoder(coordinate="upper.joint", noise=1e-4)], estimator=EKF(deviation=1e-3)), T
)
SHORT = fa.Quintic(start=[0.0, 0.0], end=[0.1, -0.08], duration=0.12)


def predictive(reference, late=0, read=None, **more):
    """A predictive controller whose inputs are some samples late, on the state or on the estimates of a filter."""
    law = control.Predictive(reference, **more)
    return Sampled(law if read is None else Observed(law, read, estimator=EKF()), 2e-3, delay=2e-3 * late)


def of_own(name):
    """Controllers on their arms, each with all that Sampled adds to some of them."""
    e, b = elastic(), bending()
    few, rigid, soft = {"y": 1}, fa.Model(fa.load("rigid-two-link")), JointPD(SLEW, 5.0, 1.0)
    linear = control.Linear(lead(), encoders(e, resolution=1e-5), SLEW)
    nominal = fa.Model(b.arm.replace(links=[x.replace(body=x.body.replace(modes=few)) for x in b.arm.links]))
    return {
        "JointPD": lambda: (Sampled(JointPD(SLEW, 50.0, 5.0, filter=200.0, resolution=1e-4), T), e),
        "limits": lambda: (Sampled(PD, T, delay=2 * T, limit=2.0, rate_limit=50.0), e),
        "LQR": lambda: (Sampled(control.LQR(SLEW), T), e),
        "ScheduledLQR": lambda: (Sampled(control.ScheduledLQR(SLEW), T), b),
        "Tracking": lambda: (Sampled(control.Tracking(TIMES, STATES, TORQUES, bandwidth=8.0, integral_rate=2.0), T), b),
        "ComputedTorque": lambda: (Sampled(control.ComputedTorque(SLEW, 90.0, 14.0), T), b),
        "Integral": lambda: (Sampled(control.Integral(PD, 30.0), T), e),
        "Saturated": lambda: (Sampled(control.Saturated(PD, 1.5), T), e),
        "StrainRate": lambda: (Sampled(control.StrainRate(PD, K=0.01, link="upper"), T), e),
        "Sum": lambda: (Sampled(control.Sum(PD, linear, [0.01, 0.02]), T), e),
        "Every": lambda: (Sampled(control.Every(PD, 3), T), e),
        "DesignedFor": lambda: (Sampled(control.DesignedFor(control.LQR(SLEW), nominal), T), b),
        "OnLinks": lambda: (Sampled(control.OnLinks(JointPD([0.2], 9.0, 2.0), ["fore"]), T), b),
        "Linear": lambda: (Sampled(linear, T), e),
        "Observed": lambda: (Sampled(Observed(control.LQR(SLEW), fine(e)), T, delay=T, limit=5.0), e),
        "tip": lambda: (Sampled(Observed(PD, tip(e)), T), e),
        "accelerometer": lambda: (
            Sampled(Observed(PD, [*encoders(e, resolution=1e-5), fa.Accelerometer(link="upper", resolution=1e-2)]), T),
            e,
        ),
        "SlotineLi": lambda: (Sampled(control.SlotineLi(SLEW, ["payload.mass"], 4.0, 5.0, 1.0), T), rigid),
        "SlidingMode": lambda: (Sampled(control.SlidingMode(SLEW, Lambda=2.0, K=0.5, layer=0.3), T), rigid),
        "DisturbanceObserver": lambda: (Sampled(control.DisturbanceObserver(PD, bandwidth=9.0), T, limit=9.0), rigid),
        "TimeDelay": lambda: (Sampled(control.TimeDelay(SLEW, 40.0, 12.0, inertia=[0.02, 0.01]), T), rigid),
        "H-infinity": lambda: (Sampled(synthesized()[0], T, delay=T), synthesized()[1]),
        "EKF": lambda: (estimated(EKF), b),
        "UKF": lambda: (estimated(UKF), b),
        "nominal": lambda: (Sampled(control.DesignedFor(Observed(soft, felt(b), estimator=EKF()), nominal), T), b),
        "Predictive": lambda: (predictive([0.4, -0.3], limit=0.15, rate_limit=4.0, horizon=25), e),
        "motion": lambda: (predictive(SHORT, limit=0.55, horizon=20, otherwise="lqr"), e),
        "steps": lambda: (predictive([0.4, -0.3], limit=0.1, horizon=[1] * 10 + [5] * 4), e),
        "deflection": lambda: (
            predictive([0.4, -0.3], limit=0.15, deflection=0.002, horizon=25),
            e,
        ),
        "terminal": lambda: (predictive([0.03, -0.02], limit=0.015, horizon=15, constraint_horizon=8), e),
        "few_operations": lambda: (predictive(SHORT, limit=0.5, rate_limit=100.0, horizon=20, operations=LITTLE), e),
        "late": lambda: (predictive(SHORT, 2, limit=0.55, horizon=20), e),
        "seen": lambda: (predictive([0.03, -0.02], 1, fine(b), limit=0.015, rate_limit=4.0, horizon=20), b),
        "seen_motion": lambda: (predictive(SHORT, 0, fine(b), limit=0.4, horizon=20, otherwise="lqr"), b),
        "MovingHorizon": lambda: (estimated(MovingHorizon, horizon=4, iterations=2), b),
        "free": lambda: (on_a_free_base(EKF), adrift()),
        "free_horizon": lambda: (on_a_free_base(partial(MovingHorizon, horizon=3)), adrift()),
        "VoltageDrive": lambda: (Sampled(control.VoltageDrive(JointPD(SLEW, 50.0, 5.0)), 1e-3), wound()),
    }[name]()


LITTLE = 600_000
"""Operations of a predictive controller that do not suffice for one of its samples."""

OWN = (
    "JointPD limits LQR ScheduledLQR Tracking ComputedTorque Integral Saturated StrainRate Sum Every DesignedFor "
    "OnLinks Linear Observed tip accelerometer VoltageDrive SlotineLi SlidingMode DisturbanceObserver TimeDelay "
    "H-infinity EKF UKF nominal MovingHorizon Predictive late seen seen_motion motion steps deflection terminal "
    "few_operations free free_horizon"
).split()
SCENARIOS = {
    "industrial-arm": None,
    "satellite-lqr": 0.02,
    "satellite-pd": 0.02,
    "subudhi-morris-composite": None,
    "subudhi-morris-elastic-shaped": None,
    "theodore-ghosal-extension": 1e-3,
}


CLOSE = {
    "motion": 1e-11,
    "late": 1e-11,
    "seen": 1e-11,
    "seen_motion": 1e-11,
    "deflection": 1e-9,
    "few_operations": 1e-9,
    "free": 1e-10,
    "free_horizon": 1e-10,
}
"""Tolerances where many active limits amplify rounding, or soft limits leave the solver its own tolerance of 1e-9."""

STEPS = {"theodore-ghosal-extension": 10, "Observed": 3, "nominal": 4, "free": 40, "free_horizon": 40} | dict.fromkeys(
    ["Predictive", "late", "seen", "seen_motion", "motion", "steps", "deflection", "terminal", "few_operations"], 4
)
"""Runge-Kutta steps in a period where the modes are fast."""


def case(name):
    """A sampled controller, its model, and a start that is a little off."""
    controller, model = of_own(name) if name in OWN else loop_of("test", name, period=SCENARIOS[name])[:2]
    reference = controller.feedback(model).law.reference
    rng = np.random.default_rng(5)
    q, qd = fa.simulation.feedback.initial(model, reference)
    off = 0.0 if model.arm.free else 1e-5 * rng.normal(size=model.nq)
    return controller, model, q + off, qd + 1e-5 * rng.normal(size=model.nv)


@needs_cc
@pytest.mark.parametrize("name", [*OWN, *SCENARIOS])
def test_the_loop_with_the_board_is_the_simulated_loop(name, tmp_path):
    controller, model, q0, qd0 = case(name)
    count, steps = 120, STEPS.get(name, 2)
    made = board(controller, model)
    compiled = Compiled(made, tmp_path, level="-O0")
    statuses = []

    def call(y, k):
        u, status = compiled.step(y, k * controller.period)
        statuses.append(status)
        return u

    states, inputs = loop(made, call, count, q0, qd0, steps)
    result = fa.simulate(
        model, (count - 1) * controller.period, u=controller, q0=q0, qd0=qd0, samples=count, progress=False,
        solver=fa.Solver(method="rk4", step=controller.period / steps),
    )  # fmt: skip
    expected = np.hstack([result.q.values, result.qd.values])
    close = CLOSE.get(name, 1e-12)
    assert set(statuses) == {0}
    assert (np.ptp(inputs, axis=0) > 0).any()
    for part in (slice(0, model.nq), slice(model.nq, model.nq + model.nv)):
        assert np.abs(states[:, part] - expected[:, part]).max() < close * np.abs(expected[:, part]).max()
    u = np.abs(inputs[:-1] - result.u.values[:-1]).max(axis=0)
    np.testing.assert_array_less(u, close * np.abs(inputs).max())
    if "predictive_steps" in result.attrs:
        assert result.attrs["predictive_active"] > 1
        assert (result.attrs["predictive_failed"] > 0) == (name == "few_operations")


# -- watchdog ----------------------------------------------------------------------------------------------------------

PUSHED = Sampled(PD, T)  # its torques change with every sample
Y = np.array([0.02, -0.03, 0.4, 0.5])


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """(key, controller, settings) -> a controller after init; each is compiled once."""
    found = {}

    def made(key="", controller=PUSHED, **settings):
        index = (key, repr(settings))
        if index not in found:
            found[index] = Compiled(board(controller, elastic(), **settings), tmp_path_factory.mktemp("board"), "-O0")
        found[index].call("init")
        return found[index]

    return made


def states(compiled, count, y=Y):
    """Outputs of samples on time."""
    return np.array([compiled.step(y * (1 + k), k * T)[0] for k in range(count)])


@needs_cc
def test_outputs_are_safe_until_the_first_sample_without_a_fault(fresh):
    safe = [0.7, -0.2]
    compiled = fresh(safe=safe, misses=1)
    for k, (y, new, status) in enumerate([(None, 1, MISSING), (Y, 0, MISSING), (Y * np.nan, 1, INVALID)] * 2):
        u, found = compiled.step(y, 100.0 + k, fresh=new)
        assert (found, u.tolist()) == (status | SAFE, safe)
    u, status = compiled.step(Y, 200.0)  # the first time may be any
    law = fresh("law", misses=9)
    assert status == 0 and u.tolist() == law.step(Y, 0.0)[0].tolist()


@needs_cc
@pytest.mark.parametrize(
    ("y", "late", "status"),
    [
        (None, 0.0, MISSING),
        ([0.02, np.nan, 0.4, 0.5], 0.0, INVALID),
        ([0.02, -0.03, 0.4, -np.inf], 0.0, INVALID),
        (Y, 1.3e-4, LATE),
        (Y, -1.3e-4, LATE),
        (Y, -5.0, LATE),
        (Y, np.nan, LATE),
        (None, np.inf, MISSING | LATE),
    ],
)
def test_a_failure_stops_after_the_allowed_misses_until_a_reset(y, late, status, fresh):
    """While it continues, the law uses the last readings, or late ones."""
    safe, n = [0.3, 0.1], 4
    compiled = fresh(safe=safe, misses=2, jitter=1.2e-4)
    law = fresh("law", misses=9)
    first = states(compiled, n)
    states(law, n)
    usable = n * Y if y is None or not np.isfinite(y).all() else np.array(y)
    time = (n - 1) * T
    for k in range(3):
        time = time + T + late
        u, found = compiled.step(y, time)
        expected = law.step(usable, (n + k) * T)[0]
        if k < 2:
            assert (found, u.tolist()) == (status, expected.tolist())
        else:
            assert (found, u.tolist()) == (status | SAFE, safe)
        time = time if np.isfinite(time) else (n + k) * T
    time += T
    assert compiled.step(Y, time)[1] == SAFE  # good again, but stopped
    compiled.call("reset")
    assert (states(compiled, n) == first).all()
    counts = np.frombuffer(compiled.memory, dtype=np.uint32, count=4, offset=24)
    assert counts.tolist() == [3 * bool(status & MISSING), 3 * bool(status & INVALID), 3 * bool(status & LATE), 0]


@needs_cc
def test_misses_count_only_in_a_row_and_jitter_within_its_bounds_is_none(fresh):
    compiled = fresh(misses=1, jitter=2e-4)
    assert compiled.step(Y, 0.0)[1] == 0
    time = 0.0
    for k in range(1, 9):
        time += T + (1.9e-4 if k % 2 else -1.9e-4)
        assert compiled.step(Y if k % 3 else None, time)[1] == (0 if k % 3 else MISSING)
    usual = fresh("law", misses=9)  # half a period
    assert [usual.step(Y, t * T)[1] for t in (0.0, 1.4, 1.95, 3.4, 3.8)] == [0, 0, 0, 0, LATE]
    assert usual.step(Y, 5.4 * T)[1] == LATE


@needs_cc
def test_a_law_that_is_not_finite_stops_at_once(fresh):
    compiled = fresh(safe=[0.4, 0.5], misses=5)
    before = states(compiled, 2)
    u, status = compiled.step([1e308, 1e308, 1e308, 1e308], 2 * T)
    assert (status, u.tolist()) == (FAULT | SAFE, [0.4, 0.5])
    assert np.isfinite(before).all()
    assert compiled.step(Y, 3 * T)[1] == SAFE


@needs_cc
def test_outputs_reach_their_safe_values_at_the_rate_limit(fresh):
    rate, safe = np.array([30.0, 50.0]), np.array([0.1, -0.05])
    controller = Sampled(PD, T, rate_limit=rate, limit=5.0)
    compiled = fresh("slow", controller, safe=safe)
    u = states(compiled, 20)[-1]
    assert (np.abs(u - safe) > 3 * rate * T).all()
    for k in range(1, 40):
        found, status = compiled.step(None, (19 + k) * T)
        moved = np.clip(safe - u, -rate * T, rate * T)
        assert status & SAFE
        np.testing.assert_allclose(found, u + moved, rtol=0, atol=1e-15)
        u = found
    assert u.tolist() == pytest.approx(safe.tolist(), abs=1e-15)


@needs_cc
def test_raw_readings_are_scaled(tmp_path):
    """Counts of an encoder and of a converter, as the registers of a board have them."""
    model = elastic()
    controller = Sampled(control.Linear(lead(), gauges()), T)
    scale = {"upper_moment_y_0": 1e-5, "fore_moment_y_0": (-2e-6, 3e-4)}
    raw = Compiled(board(controller, model, scale=scale), tmp_path, "-O0")
    plain = Compiled(board(controller, model), tmp_path / "plain", "-O0")
    rng = np.random.default_rng(2)
    for k in range(20):
        counts = rng.integers(-2000, 2000, 2).astype(float)
        given = np.array([1e-5 * counts[0], -2e-6 * counts[1] + 3e-4])
        assert raw.step(counts, k * T)[0].tolist() == plain.step(given, k * T)[0].tolist()


# -- what is written ---------------------------------------------------------------------------------------------------


@needs_cc
@pytest.mark.parametrize("real", ["double", "float"])
def test_the_test_program_passes_and_can_fail(real, tmp_path):
    controller, model = of_own("limits")
    files = fa.export_controller(
        controller, tmp_path, model, misses=2, scale={"upper.motor.rate": (2.0, 0.5)}, real=real
    )
    name = "subudhi_morris_elastic_controller"
    assert {file.name for file in files} == {f"{name}.h", f"{name}.c", f"{name}_test.c", "CMakeLists.txt"}
    sources = (f"{name}.c", f"{name}_test.c")
    sane = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    program = built(tmp_path, *sources, program="all", more=sane)
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 10)
    code = (tmp_path / f"{name}.c").read_text(encoding="utf-8")
    for good, bad in (("self->stopped = 1u;", "self->stopped = 0u;"), ("running ? z[i] : self->z[i]", "self->z[i]")):
        assert good in code
        (tmp_path / f"{name}.c").write_text(code.replace(good, bad), encoding="utf-8")
        assert subprocess.run([built(tmp_path, *sources, program="all")], capture_output=True).returncode == 1


@needs_cc
@pytest.mark.parametrize("case", ["Observed", "EKF", "MovingHorizon", "deflection", "seen"])
def test_random_inputs_under_sanitizers(case, tmp_path):
    """Raw bytes as numbers, with missing, late and NaN samples and resets in between."""
    controller, model = of_own(case)
    made = board(controller, model, misses=1)
    name = made.name
    for file, text in c_controller(made).items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    count = 20000 if made.stage is None else 600
    text = FUZZ.replace("NAME", name).replace("BIG", name.upper()).replace("20000", str(count))
    (tmp_path / "fuzz.c").write_text(text, encoding="utf-8")
    zero = [] if made.stage else [",float-divide-by-zero"]  # a filter that diverges divides by zero, as IEEE defines
    sane = ["".join(["-fsanitize=address,undefined", *zero]), "-fno-sanitize-recover=all"]
    program = built(tmp_path, "fuzz.c", f"{name}.c", program="fuzz", more=sane)
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    calls, unsafe, bad = map(int, done.stdout.split())
    assert calls == count and count / 30 < unsafe < 0.95 * count and bad == 0


FUZZ = """
#include "NAME.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

int main(void)
{
    static NAME self;
    NAME_inputs in;
    NAME_outputs out;
    int unsafe = 0, bad = 0;
    double time = 0.0;
    NAME_init(&self);
    for (int k = 0; k < 20000; k++) {
        const uint64_t dice = next() % 64u;
        for (int i = 0; i < BIG_NY; i++) {
            const uint64_t bits = next();
            in.y[i] = 1e-3 * (double)(bits % 1000u);
            if (dice == 1u) memcpy(&in.y[i], &bits, sizeof bits);
        }
        in.fresh = (dice == 2u) ? 0u : 1u;
        time += (dice == 3u) ? 1.0 : 1e-3;
        if ((next() % 64u) == 0u) NAME_reset(&self);
        NAME_step(&self, (dice == 4u) ? NULL : &in, (dice == 5u) ? (double)NAN : time, &out);
        unsafe += ((out.status & BIG_SAFE) == 0u) ? 1 : 0;
        for (int i = 0; i < BIG_NU; i++) {
            bad += ((!isfinite(out.u[i])) || (fabs(out.u[i]) > 5.0)) ? 1 : 0;
        }
    }
    printf("20000 %d %d\\n", unsafe, bad);
    return 0;
}
"""


@needs_cc
@pytest.mark.parametrize("case", ["Observed", "EKF", "UKF", "MovingHorizon", "deflection", "seen"])
def test_the_code_allocates_nothing_and_has_no_memory_of_its_own(case, tmp_path):
    controller, model = of_own(case)
    made = board(controller, model)
    compiled = Compiled(made, tmp_path, "-O0")
    listing = subprocess.run(["nm", tmp_path / "board.so"], capture_output=True, text=True, check=True).stdout
    wanted = {line.split()[-1].split("@")[0] for line in listing.splitlines() if " U " in line}
    slowed = {"fmin", "fmax"} if made.settings.slew is not None else set()
    assert wanted <= {"sin", "cos", "floor", "sincos"} | ({"sqrt", "pow"} if made.stage else set()) | slowed
    own = [line.split() for line in listing.splitlines() if made.name in line]
    assert {kind for _, kind, _ in own} <= {"T", "t", "r", "R"}  # functions and constants
    z = len(made.feedback.law.memory)
    known = 8 * (2 + 3 + 2 + 4 + z)  # before it runs
    if made.stage is not None:
        known += 8 * (len(made.inputs.names) - 4) + made.stage.code("x", "double").bytes
    assert 0 <= len(compiled.memory) - known < 24  # the compiler may pad the integers of a filter or a horizon
    assert known == len(compiled.memory) or made.stage is not None
    for file in (f"{made.name}.c", f"{made.name}.h"):
        text = re.sub(r"//[^\n]*", "", (tmp_path / file).read_text(encoding="utf-8"))
        assert not re.search(r"\b(malloc\(|free\(|goto\b|setjmp\b|printf\b)", text)
        if made.stage is not None:
            continue
        assert not re.search(r"\b(while|continue)\b", text)
        loops = re.findall(r"for \((.*?)\)", text)
        assert all(re.fullmatch(r"(int|uint32_t) i = 0u?; i < \d+u?; i\+\+", each) for each in loops)


@needs_cc
@pytest.mark.parametrize("name", ["limits", "Observed", "EKF", "UKF"])
def test_float_follows_double(name, tmp_path):
    """Errors of single precision over a run in a closed loop, as the page states them."""
    controller, model, q0, qd0 = case(name)
    runs = []
    for real in ("double", "float"):
        made = board(controller, model, real=real)
        compiled = Compiled(made, tmp_path / real, "-O0")
        runs.append(loop(made, lambda y, k, c=compiled: c.step(y, k * T)[0], 300, q0, qd0, STEPS.get(name, 2)))
    (x, u), (x_float, u_float) = runs
    print(name, np.abs(u - u_float).max() / np.abs(u).max(), np.abs(x - x_float)[:, :2].max())
    assert 1e-9 < np.abs(u - u_float).max() < (2e-3 if made.stage is None else 1e-2) * np.abs(u).max()
    assert np.abs(x - x_float)[:, : model.nq].max() < 1e-5


@pytest.mark.skipif(CROSS is None, reason="no arm-none-eabi-gcc; `make cross` installs it")
@pytest.mark.parametrize(
    ("real", "name"),
    [("float", "Observed"), ("double", "limits"), ("float", "EKF"), ("double", "UKF"), ("double", "seen")],
)
def test_a_cross_compiler_takes_the_code_and_its_program_passes(real, name, tmp_path):
    controller, model = of_own(name)
    made = board(controller, model, real=real)
    for file, text in c_controller(made).items():
        (tmp_path / file).write_text(text, encoding="utf-8")

    def run(*command):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    core = ["-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", f"-mfpu=fpv5-{'sp-' if real == 'float' else ''}d16"]
    run(CROSS, *STRICT, *PEDANTIC, *core, "-O1", "-c", f"{made.name}.c", "-o", "controller.o")
    text, data, bss = map(int, run("arm-none-eabi-size", "controller.o").splitlines()[1].split()[:3])
    assert text < (60_000 if name != "seen" else 90_000) and (data, bss) == (0, 0)
    if QEMU is None:
        pytest.skip("no qemu-arm; `make cross` installs it")
    core = ["-mcpu=cortex-a7", "-mfloat-abi=hard", "-mfpu=neon-vfpv4", "--specs=rdimon.specs"]
    run(CROSS, "-std=c99", *core, f"{made.name}.c", f"{made.name}_test.c", "-lm", "-o", "test.elf")
    assert len(run(QEMU, "./test.elf").splitlines()) == 10


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_a_board_reads_the_sensors_that_the_controller_or_the_user_names():
    model = elastic()
    assert board(*of_own("limits")).inputs.names == ("upper.motor", "fore.motor", "upper.motor.rate", "fore.motor.rate")
    filtered = Sampled(JointPD(SLEW, 50.0, 5.0, filter=200.0), T)
    assert board(filtered, model, sensors=encoders(model)).inputs.names == ("upper_drive", "fore_drive")
    observed = Sampled(Observed(PD, tip(model)), T)
    assert board(observed, model).inputs.names == ("upper_drive", "fore_drive", "tip_x", "tip_y")
    other = [fa.TipPosition(axes="xy"), *gauges(), *encoders(model)]
    assert board(observed, model, sensors=other).inputs.names[-2:] == ("upper_drive", "fore_drive")


@needs_cc
def test_sensors_in_another_order_give_the_same_outputs(tmp_path):
    """Also where a controller with sensors of its own is added to one of the state."""
    model = elastic()
    own = [fa.Encoder(coordinate="upper.drive", resolution=1e-5), fa.Encoder(coordinate="fore.drive", resolution=1e-5)]
    mixed = control.Sum(JointPD(SLEW, 50.0, 5.0, filter=200.0), control.Linear(lead(), own))
    one, two = board(Sampled(mixed, T), model), board(Sampled(mixed, T), model, sensors=[own[1], gauges()[0], own[0]])
    assert one.inputs.names == ("upper_drive", "fore_drive", "upper.motor", "fore.motor")
    assert two.inputs.names == ("fore_drive", "upper_moment_y_0", "upper_drive")
    a, b = Compiled(one, tmp_path / "one"), Compiled(two, tmp_path / "two")
    rng = np.random.default_rng(4)
    for k in range(8):
        y = 1e-5 * rng.integers(-3000, 3000, 2)
        (u, _), (v, _) = a.step([*y, *y], k * T), b.step([y[1], 3.0, y[0]], k * T)
        np.testing.assert_allclose(u, v, rtol=0, atol=1e-12 * np.abs(u).max())


def test_a_scenario_brings_its_arm_and_its_controller(tmp_path):
    files = fa.export_controller("subudhi-morris-elastic-shaped", tmp_path)
    assert files[0].name == "subudhi_morris_elastic_controller.h"
    one, *_ = loop_of("x", fa.load_scenario("satellite-pd"), period=0.1)
    assert one.period == 0.1


@pytest.mark.parametrize(
    ("controller", "settings", "message"),
    [
        (PUSHED, {"model": None}, "model is missing; give the Model of the arm"),
        (PD, {}, "it must be a Sampled, a Scenario, or the name or path of a scenario"),
        (Sampled(lambda t, q, qd: [0.0, 0.0], T), {}, "runs in Python; C code needs a controller that is an"),
        (PUSHED, {"period": 1e-3}, "period is given, but the Sampled has one"),
        (PUSHED, {"period": -1.0}, "period is -1.0 s; it must be positive"),
        (PUSHED, {"safe": [1.0, 2.0, 3.0]}, "safe has shape (3,); it must be one number, or 2 numbers"),
        (Sampled(PD, T, limit=[2.0, 3.0]), {"safe": -2.5}, "safe is -2.5 for one actuator; it must be within"),
        (predictive(SHORT, limit=[2.0, 3.0]), {"safe": [0.0, 3.5]}, "safe is 3.5 for one actuator; it must be within"),
        (PUSHED, {"misses": -1}, "misses is -1"),
        (PUSHED, {"misses": 2_000_000}, "misses is 2000000; it must be at most 1000000"),
        (PUSHED, {"jitter": 0.0}, "jitter is 0.0 s; it must be positive"),
        (PUSHED, {"real": "half"}, "real is 'half'; it must be double or float"),
        (PUSHED, {"scale": {"uper.motor": 1.0}}, "scale has the unknown name 'uper.motor'"),
        (PUSHED, {"scale": {"upper.motor": 0.0}}, "scale['upper.motor'] is 0; the gain"),
        (PUSHED, {"scale": {"upper.motor": (1.0, 2.0, 3.0)}}, "it must be a gain, or a gain and an offset"),
        (PUSHED, {"scale": [1.0]}, "scale is [1.0]; it must be a dict of gains by the name of a signal"),
        (PUSHED, {"sensors": [fa.StrainGauge(link="upper")]}, "sensors: they do not determine what the"),
        (predictive(SHORT, about="state"), {}, "Predictive: about is 'state'; it must be 'reference'"),
        (predictive(SHORT, solver="daqp"), {}, "Predictive: solver is 'daqp'; it must be 'native'"),
        (predictive(SHORT, otherwise="raise"), {}, "Predictive: otherwise is 'raise'; it must be 'plan' or 'lqr'"),
        (predictive(SHORT, horizon=[1, 2]), {}, "Predictive: horizon: along a motion all"),
        (predictive(SHORT), {"real": "float"}, "Predictive: real is 'float'; the active-set method needs double"),
        (predictive(SHORT), {"sensors": gauges()}, "but the predictive controller reads its own"),
        (predictive(SHORT, 0, fine(elastic())), {"real": "float"}, "Predictive: real is 'float'; the active-set"),
        (predictive(SHORT, 0, fine(elastic()), about="state"), {}, "Predictive: about is 'state'; it must be"),
        (OF_PYTHON, {}, "controller Counting on the estimates runs in Python; C code needs one that is an"),
        (estimated(EKF), {"model": bending(), "sensors": encoders(bending())}, "but the estimator reads its own"),
        ("subudhi-morris-elastic", {}, "scenario 'subudhi-morris-elastic' has no controller"),
        ("satellite-pd", {"model": None}, "the controller is continuous; give a sampling period, such as 0.001"),
        ("subudhi-morris-elastic-shaped", {"period": 0.1, "model": None}, "has a period already, 0.001 s"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_controller_in_c_is_rejected(controller, settings, message, tmp_path):
    given = {"model": elastic()} | settings
    with pytest.raises(DescriptionError, match=re.escape(message)):
        fa.export_controller(controller, tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_two_sensors_of_one_name_must_be_equal_and_sensors_must_be_those_of_the_controller():
    model = elastic()
    rough = control.Linear(lead(), encoders(model, resolution=1e-3))
    both = control.Sum(rough, control.Linear(lead(), encoders(model, resolution=1e-4)))
    with pytest.raises(
        DescriptionError, match=r"two sensors read 'upper_drive' with the resolutions 0\.001 and 0\.0001"
    ):
        board(Sampled(both, T), model)
    with pytest.raises(DescriptionError, match="export_controller: sensors lack 'upper_drive'"):
        board(Sampled(rough, T), model, sensors=gauges())
