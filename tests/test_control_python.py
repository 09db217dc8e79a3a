"""Sampled controllers that are Python: functions of what sensors read, and objects that remember."""

import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest
from controlled import refused

import flexarm as fa
from flexarm.control import JointPD, Observed, Sampled, Saturated
from flexarm.sensors import Accelerometer, Encoder, MotorTorque, StrainGauge, Tachometer

T = 0.01
DRIVE = Encoder(coordinate="a.drive")
RATE = Tachometer(coordinate="a.drive")
GAUGE = StrainGauge(link="a")


def one_link(**changes):
    beam = fa.Beam(length=0.6, mass=0.2, EI=4.0, modes={"y": 1}, damping=0.02, shapes="clamped-mass")
    link = fa.Link(name="a", joint=fa.Revolute(rotor_inertia=0.02), body=beam)
    return fa.Model(fa.Arm(name="one", links=[link], payload=fa.Payload(mass=0.1)).replace(**changes))


@pytest.fixture(scope="module")
def single():
    return one_link()


def run(model, u, until=0.2, **more):
    return fa.simulate(model, until, u=u, samples=round(until / T) + 1, progress=False, **more)


def kept(sensors, model, until=0.2, give=lambda t, y: [0.3 * np.cos(40 * t)], **more):
    """What a function is given in a run, and the run."""
    seen = []

    def f(t, y):
        seen.append((t, *y))
        return give(t, y)

    result = run(model, Sampled(f, T, sensors=sensors, **more), until)
    return np.array(seen), result


# -- functions of readings ---------------------------------------------------------------------------------------------


def test_the_same_law_of_the_state_and_of_sensors(single):
    """Encoder and tachometer of the drive are q and qd here."""
    of_state = run(single, Sampled(lambda t, q, qd: -3.0 * q[:1] - 0.4 * qd[:1], T), q0=[0.3, 0.0])
    of_readings = run(single, Sampled(lambda t, y: -3.0 * y[:1] - 0.4 * y[1:], T, sensors=[DRIVE, RATE]), q0=[0.3, 0.0])
    np.testing.assert_allclose(of_readings.q.values, of_state.q.values, rtol=0, atol=1e-12)
    turned = run(single, Sampled(lambda t, y: -3.0 * y[1:] - 0.4 * y[:1], T, sensors=[RATE, DRIVE]), q0=[0.3, 0.0])
    np.testing.assert_allclose(turned.q.values, of_state.q.values, rtol=0, atol=1e-12)


def test_readings_are_those_of_the_result(single):
    """Without noise a controller reads what the outputs of the model are at the samples."""
    sensors = [GAUGE, DRIVE, fa.TipPosition(axes="xy")]
    seen, result = kept(sensors, single)
    wanted = fa.outputs(single, sensors).values(result.q.values[:-1], result.qd.values[:-1])
    np.testing.assert_allclose(seen[:, 0], result.time.values[:-1], atol=1e-12)
    np.testing.assert_allclose(seen[:, 1:], wanted, rtol=0, atol=1e-12)


def test_readings_have_noise_and_are_rounded(single):
    fine, step, noise = 1e-9, 0.25, 0.03
    sensors = [
        DRIVE.replace(noise=noise),
        GAUGE.replace(resolution=step),
        RATE.replace(noise=2 * noise, resolution=fine),
    ]
    seen, result = kept(sensors, single, until=4.0, seed=3)
    q, qd = result.q.values[:-1], result.qd.values[:-1]
    true = fa.outputs(single, [DRIVE, GAUGE, RATE]).values(q, qd)
    errors = seen[:, 1:] - true
    assert errors[:, [0, 2]].std(axis=0) == pytest.approx([noise, 2 * noise], rel=0.15)
    assert abs(np.corrcoef(errors[:, 0], errors[:, 2])[0, 1]) < 0.15
    counts = seen[:, 2] / step
    np.testing.assert_array_equal(counts, np.round(counts))
    assert len(np.unique(counts)) > 2 and np.abs(errors[:, 1]).max() <= step / 2 * (1 + 1e-12)
    again, _ = kept(sensors, single, until=4.0, seed=3)
    other, _ = kept(sensors, single, until=4.0, seed=4)
    np.testing.assert_array_equal(again, seen)
    assert (other[:, 1] != seen[:, 1]).all()


def test_a_slow_sensor_gives_what_it_read_last(single):
    seen, result = kept([DRIVE.replace(sample_time=4 * T), RATE], single)
    q = result.q.values[:-1, 0]
    np.testing.assert_allclose(seen[:, 1], q[np.arange(len(q)) // 4 * 4], atol=1e-12)
    np.testing.assert_allclose(seen[:, 2], result.qd.values[:-1, 0], atol=1e-12)


def test_what_it_does_to_its_readings_changes_no_later_one(single):
    def spoil(t, y):
        y[:] = 9.0
        return [0.3]

    slow = [DRIVE.replace(sample_time=4 * T), RATE]
    seen, _ = kept(slow, single, give=spoil)
    wanted, _ = kept(slow, single, give=lambda t, y: [0.3])
    np.testing.assert_array_equal(seen, wanted)


def test_an_accelerometer_is_read_before_the_force_changes():
    """A slide alone: qdd is the force over its mass, after limit and delay."""
    slide = fa.Link(name="a", joint=fa.Prismatic(axis=(1, 0, 0)), body=fa.Rigid(length=1.0, mass=0.5, inertia=0.1))
    arm = fa.Model(fa.Arm(name="slide", links=[slide]))
    sensors = [Accelerometer(axes="x", gravity=False), MotorTorque(link="a")]
    asked = [1.0, -3.0, 0.5, 2.0, 0.1, 0.0]
    seen, _ = kept(sensors, arm, 6 * T, lambda t, y: [asked[round(t / T)]], limit=1.5, delay=T)
    held = np.concatenate([[0.0, 0.0], np.clip(asked, -1.5, 1.5)])[: len(asked)]
    np.testing.assert_allclose(seen[:, 1], held / 0.5, atol=1e-12)
    np.testing.assert_allclose(seen[:, 2], held, atol=1e-12)


def test_currents_are_states_that_are_read():
    model = fa.Model(fa.load("industrial-arm"))
    seen = []

    def f(t, y):
        seen.append(y)
        return [1.0] * len(model.inputs)

    sensors = [fa.MotorCurrent(link=link.name) for link in model.arm.links if link.joint.moves]
    result = fa.simulate(model, 0.004, u=Sampled(f, 1e-3, sensors=sensors), samples=5, progress=False)
    wanted = fa.sensors.sensor_readings(sensors, model, result, 1)
    np.testing.assert_allclose(seen, np.array([wanted[n] for n in wanted]).T[:-1], rtol=1e-9, atol=1e-12)
    assert np.abs(seen[-1]).min() > 0


def test_a_sensor_of_ones_own_need_not_say_how_it_samples(single):
    class Twice:
        def names(self, arm):
            return ("twice",)

        def expression(self, arm, chain, q, qd, qdd):
            return [2.0 * q[0]]

        def described(self):
            return "twice"

    seen, result = kept([Twice()], single)
    np.testing.assert_allclose(seen[:, 1], 2.0 * result.q.values[:-1, 0], atol=1e-12)


# -- objects with a stepper --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summing:
    """u = -3 y - 20 T sum y, in Python's own memory."""

    sensors: tuple | list | None = None
    made: list = field(default_factory=list, compare=False)

    def stepper(self, model, period):
        self.made.append((model, period))
        total = 0.0

        def step(t, y):
            nonlocal total
            total += period * y[0]
            return [-3.0 * y[0] - 20.0 * total]

        return step


@dataclass(frozen=True)
class SummingLaw:
    """The same as a law."""

    def law(self, model, period=None):
        def expression(t, q, qd, z):
            total = z + period * q[0]
            return -3.0 * q[0] - 20.0 * total, total

        return fa.control.Law(expression, memory=(0.0,))


@pytest.mark.parametrize("sensors", [None, [DRIVE]], ids=["state", "sensors"])
def test_an_object_that_remembers_is_begun_anew_in_each_run(sensors, single):
    controller = Summing(sensors)
    u = Sampled(controller, T, limit=0.4, delay=2 * T)
    wanted = run(single, Sampled(SummingLaw(), T, limit=0.4, delay=2 * T), q0=[0.3, 0.0])
    for _ in range(2):
        np.testing.assert_allclose(run(single, u, q0=[0.3, 0.0]).q.values, wanted.q.values, rtol=0, atol=1e-12)
    assert {(model, period) for model, period in controller.made} == {(single, T)}
    drive = fa.inputs.as_input(u, single)
    runs = fa.simulate_many(single, 0.2, u=drive, q0=[[0.3, 0.0]] * 3, samples=21, progress=False)
    for each in runs.q.values:
        np.testing.assert_allclose(each, wanted.q.values, rtol=0, atol=1e-12)
    for sent in (pickle.loads(pickle.dumps(u)), pickle.loads(pickle.dumps(drive))):
        np.testing.assert_allclose(run(single, sent, q0=[0.3, 0.0]).q.values, wanted.q.values, rtol=0, atol=1e-12)


def test_the_whole_state_is_q_and_qd(single):
    seen = []

    class Looks:
        sensors = None

        def stepper(self, model, period):
            return lambda t, y: (seen.append(y), [0.1])[1]

    result = run(single, Sampled(Looks(), T))
    np.testing.assert_allclose(seen, np.hstack([result.q.values, result.qd.values])[:-1], atol=1e-12)


def test_the_motion_it_follows_is_where_a_run_begins(single):
    class Follows:
        sensors = (DRIVE,)
        wanted = fa.Quintic((0.4,), (0.9,), 1.0)

        def stepper(self, model, period):
            return lambda t, y: [0.0]

    result = run(single, Sampled(Follows(), T))
    assert result.q.values[0, 0] == 0.4
    wanted = [fa.trajectory.reference_motion(Follows.wanted, t)[0][0] for t in result.time.values]
    np.testing.assert_allclose(result.q_ref.values[:, 0], wanted, atol=1e-14)


def test_sensors_measure_the_arm_that_runs():
    """In an ensemble over a length the tip is read where it is."""
    model = fa.Model(one_link().arm, vary=["a.length"])
    seen = []

    def f(t, y):
        seen.append(y[0])
        return [0.0]

    lengths = (0.4, 0.6, 0.8)
    u = Sampled(f, T, sensors=[fa.TipPosition(axes="x")])
    fa.simulate_many(model, 2 * T, u=u, p=[[x] for x in lengths], samples=2, progress=False)
    assert sorted({round(x, 12) for x in seen}) == list(lengths)


# -- what is refused ---------------------------------------------------------------------------------------------------


class NoSensors:
    def stepper(self, model, period):
        return lambda t, y: [0.0]


class Lost(NoSensors):
    sensors = None
    wanted = 3.0


MUST = r"it must have a method stepper\(model, period\), and sensors, a list or None"


@pytest.mark.parametrize(
    ("given", "sensors", "line"),
    [
        (NoSensors(), None, rf"Sampled: controller is a NoSensors; {MUST}"),
        (Lost(), None, r"Sampled: controller is a Lost, whose wanted: reference .*"),
        (Summing(), [DRIVE], r"Sampled: controller is a Summing, which has its own sensors; leave out .*"),
        (
            JointPD(0.0, 1.0, 1.0),
            [DRIVE],
            r"Sampled: controller is a JointPD, which needs the state; use Observed\(controller, sensors\) .*",
        ),
        (lambda t, q, qd: [0.0], [DRIVE], r"Sampled: controller <lambda> does not take the arguments t, y .*"),
    ],
)
def test_what_cannot_be_sampled(given, sensors, line):
    with refused(line):
        Sampled(given, T, sensors=sensors)


def zero(t, y):
    return [0.0]


@pytest.mark.parametrize(
    ("sensors", "line"),
    [
        ([], r"outputs is \[\]; it must be a list of sensors"),
        ([3], r"outputs: 3 is not a sensor"),
        (
            [Encoder(coordinate="b.drive")],
            r"Encoder: unknown coordinate 'b\.drive'; did you mean 'a\.drive'\? The coordinates are .*",
        ),
        (
            [DRIVE.replace(sample_time=0.015)],
            r"Sampled: Encoder samples every 0\.015 s; it must be a whole number of the controller's periods .*",
        ),
    ],
)
def test_sensors_that_do_not_fit_are_refused_before_the_run(sensors, line, single):
    with refused(line):
        run(single, Sampled(zero, T, sensors=sensors))


def test_accelerometers_feel_what_acts_from_outside(single):
    """Declared, or as a disturbance: what is read is what the sensor says of the run's states and pushes."""
    pushed, felt = one_link(forces=[fa.Force(name="push", link="a", at=1.0)]), Accelerometer(axes="xy")
    read = fa.outputs(pushed, [felt]).values
    for model, push in ((pushed, {"w": {"push.fy": 0.4}}), (single, {"disturbance": {"tip.fy": 0.4}})):
        u = Sampled(lambda t, y: [0.3 * np.cos(40 * t)], T, sensors=[felt])
        result = run(model, u, save=fa.SaveAt(record=["measured"]), **push)
        rows = slice(1, -1)
        y = read(result.q.values[rows], result.qd.values[rows], result.u.values[:-2], w=result.w.values[rows])
        np.testing.assert_allclose(result.measured.values[rows], y, rtol=0, atol=1e-10)


def test_what_a_function_of_readings_gives_must_fit(single):
    for value, line in (
        ([1.0, 2.0], r"controller zero gave shape \(2,\) at t = 0 s; it must give 1: a\.joint"),
        ("low", r"controller zero gave 'low' at t = 0 s; it must give numbers: a\.joint"),
    ):

        def zero(t, y, value=value):
            return value

        with refused(line, fa.FlexarmError):
            run(single, Sampled(zero, T, sensors=[DRIVE]))
    with refused(r"u is a Summing, which is called once per period; use Sampled\(\.\.\.\)"):
        run(single, Summing())


def test_a_controller_inside_another_must_be_a_law(single):
    with refused(r"Observed: controller is a Summing, which is called once per period; .* estimator=EKF\(\)\)"):
        run(single, Sampled(Observed(Summing(), [DRIVE.replace(noise=1e-3)]), T))
    with refused(r"Saturated: controller is a Summing; it must be a controller, an object with a method law\(.*"):
        run(single, Sampled(Saturated(Summing(), 1.0), T))
