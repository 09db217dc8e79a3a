"""A Kalman filter between sensors and a controller."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg

import flexarm as fa
from flexarm.control import DesignedFor, JointPD, Observed, Sampled
from flexarm.sensors import Accelerometer, Encoder, StrainGauge
from flexarm.simulation.law import Law
from flexarm.simulation.sampled import feedback
from flexarm.simulation.sampled_calls import SampledCalls

pytestmark = pytest.mark.filterwarnings("ignore:Sampled. period is")  # the fastest mode needs no control here
PERIOD = 2e-3
REFERENCE = fa.Quintic((0.0, 0.0), (0.8, 0.4), 1.0)


@pytest.fixture(scope="module")
def model():
    return fa.Model(fa.load("subudhi-morris-elastic"))


def sensors(noise=1e-4, **sampling):
    ends = [f"{link}.{part}" for link in ("upper", "fore") for part in ("motor", "joint")]
    encoders = [Encoder(coordinate=end, noise=noise, **sampling) for end in ends]
    return [*encoders, *(StrainGauge(link=link, noise=10 * noise, **sampling) for link in ("upper", "fore"))]


FAINT = 1e-6
"""So little of an estimate is put out that it moves nothing."""


class Estimates:
    """A controller of next to nothing, whose output is some of the state it is given."""

    def __init__(self, which):
        self.which = which

    def law(self, model, period=None):
        from casadi import vertcat

        from flexarm.simulation.law import Law

        return Law(lambda t, q, qd, z: (FAINT * vertcat(q, qd)[list(self.which)], []))


def test_the_estimate_of_an_arm_at_rest_stays(model):
    n = len(model.coordinates)
    law = feedback(Sampled(Observed(Estimates([0, n]), sensors(0.0 + 1e-9)), PERIOD), model)
    sampled = SampledCalls(law, model)
    values = np.array([sampled(k * PERIOD, np.zeros(2 * n)) for k in range(50)])
    assert np.abs(values).max() < 1e-5 * FAINT


def test_a_wrong_start_is_forgotten_at_the_filter_s_poles(model):
    """The arm rests, the filter begins with a wrong estimate: that shrinks by the poles that the design reports."""
    n = len(model.coordinates)
    made = feedback(Sampled(Observed(Estimates([n, n + 1]), sensors()), PERIOD), model)
    wrong = 1e-6 * np.random.default_rng(3).normal(size=2 * n)  # so small that the arm is linear
    quiet = replace(made.law, memory=tuple(wrong), noise=tuple(0.0 for _ in made.law.noise))
    sampled = SampledCalls(replace(made, law=quiet), model)
    found = np.array([np.abs(sampled(k * PERIOD, np.zeros(2 * n))).max() for k in range(600)]) / FAINT
    poles = np.array(made.law.facts["observer_poles"])
    assert (np.abs(poles) < 1).all()
    slowest = np.abs(poles[np.abs(np.angle(poles)) < 1]).max()  # the fastest mode the filter's own steps damp further
    windows = [found[k : k + 50].max() for k in (300, 500)]
    assert (windows[1] / windows[0]) ** (1 / 200) == pytest.approx(slowest, abs=3e-3)


@pytest.mark.parametrize("period", [None, 1e-3, 5e-3])
def test_joint_pd_works_with_estimates_as_with_the_state(model, period):
    """With good sensors the loop does what it does with the whole state, sampled at any period, stiff modes or not."""
    plain, observed = JointPD(REFERENCE, 5.0, 1.0), Observed(JointPD(REFERENCE, 5.0, 1.0), sensors())
    if period:
        plain, observed = Sampled(plain, period), Sampled(observed, period)
    runs = [fa.simulate(model, 2.0, u=u, method="auto", samples=201, progress=False) for u in (plain, observed)]
    away = np.abs(runs[1].q.values - runs[0].q.values).max()
    assert away < 5e-3
    assert runs[1].energy_drift < 1e-6


def test_the_gain_is_found_where_it_is_asked_for(model):
    """A configuration, or the joints alone."""
    n, pd = len(model.coordinates), JointPD(REFERENCE, 5.0, 1.0)
    there = np.zeros(n)
    there[list(model.arm.joints)] = there[list(model.arm.motors)] = (0.3, 1.2)
    found = [
        Observed(pd, sensors(), configuration=place).law(model, PERIOD).facts["observer_poles"]
        for place in ((0.3, 1.2), there, None)
    ]
    assert found[0] == found[1] != found[2]
    with pytest.raises(fa.DescriptionError, match=r"\AObserved: configuration has shape \(3,\); it must have .*"):
        Observed(pd, sensors(), configuration=(0.1, 0.2, 0.3)).law(model, PERIOD)


def test_noise_is_seeded(model):
    def last(seed):
        u = Sampled(Observed(JointPD(REFERENCE, 5.0, 1.0), sensors(1e-3)), PERIOD, seed=seed)
        return fa.simulate(model, 0.2, u=u, method="auto", samples=11, progress=False).u.values[-1]

    np.testing.assert_array_equal(last(1), last(1))
    assert np.abs(last(1) - last(2)).max() > 1e-6


def test_readings_are_whole_multiples_of_the_resolution(model):
    """A coarse encoder makes the estimate of an arm that does not move stay where rounding puts it."""
    n = len(model.coordinates)
    coarse = [
        Encoder(coordinate=f"{link}.{part}", resolution=0.01)
        for link in ("upper", "fore")
        for part in ("motor", "joint")
    ]
    coarse += [StrainGauge(link=link, noise=1e-9) for link in ("upper", "fore")]
    law = feedback(Sampled(Observed(Estimates([0, n - 1]), coarse), PERIOD), model)
    x = np.zeros(2 * n)
    x[[0, 1, n - 2, n - 1]] = 0.0149
    sampled = SampledCalls(law, model)
    values = [sampled(k * PERIOD, x)[1] / FAINT for k in range(4000)]
    assert values[-1] == pytest.approx(0.01, abs=2e-3), "0.0149 reads as 0.01"


def test_the_payload_may_be_half_heavier_and_the_links_a_fifth_softer(model):
    """The filter knows the nominal arm; what it tolerates stands in docs/do/control/observer.md.

    Against the same loop with the whole state: what the filter adds to the error is small beside what is there.
    """
    arm = model.arm
    softer = [link.replace(body=link.body.replace(EI=0.8 * link.body.EI)) for link in arm.links]
    for changed in (arm.replace(payload=arm.payload.replace(mass=0.15)), arm.replace(links=softer)):
        plain = JointPD(REFERENCE, 5.0, 1.0)
        runs = [
            fa.simulate(
                fa.Model(changed),
                6.0,
                u=Sampled(DesignedFor(c, model), PERIOD),
                method="auto",
                samples=601,
                progress=False,
            )
            for c in (plain, Observed(plain, sensors()))
        ]
        alone, filtered = (np.abs(run.q.values[300:, :2] - (0.8, 0.4)).max() for run in runs)
        assert filtered < 1.2 * alone


def test_an_arm_whose_drives_have_states_is_refused():
    rubs = fa.Friction(coulomb=0.5, model="lugre", bristle_stiffness=1e3)
    joint = fa.Revolute(axis=(0, 0, 1), drive=fa.Drive(friction=rubs))
    link = fa.Link(name="l", joint=joint, body=fa.Rigid(length=1.0, mass=1.0))
    model = fa.Model(fa.Arm(name="rubs", links=[link]))
    observed = Observed(JointPD(0.0, 5.0, 1.0), [Encoder(coordinate="l.drive", noise=1e-3)])
    for given in (observed, Sampled(observed, PERIOD)):
        with pytest.raises(
            fa.DescriptionError,
            match=r"\AObserved: arm 'rubs': the filter does not estimate states of drives, such as l.friction.br.*",
        ):
            fa.simulate(model, 0.1, u=given, progress=False)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ([Encoder(coordinate="upper.motor")], "Encoder has neither noise nor resolution"),
        ([Accelerometer(noise=1e-3)], "no stationary Kalman filter"),  # it cannot tell where the arm stands
        ([StrainGauge(link="upper", noise=1e-3)], "no stationary Kalman filter"),
        (
            [Encoder(coordinate="upper.motor", noise=1e-3, sample_time=0.1)],
            "samples every 0.1 s and the controller every",
        ),
        ([], "must be a list of sensors"),
    ],
)
def test_what_no_filter_can_do_is_refused(model, given, line):
    with pytest.raises(fa.DescriptionError, match=line):
        Sampled(Observed(JointPD(REFERENCE, 5.0, 1.0), given), PERIOD).feedback(model)


# -- accelerometers ----------------------------------------------------------------------------------------------------

BODY = fa.Beam(length=1.0, mass=0.5, EI=8.0, modes={"y": 1}, damping=0.02)
LINK = fa.Link(name="arm", joint=fa.Revolute(rotor_inertia=0.1, damping=0.2), body=BODY)
HOLD = JointPD([0.0], 30.0, 4.0)


def one_link(**more):
    return fa.Model(fa.Arm(name="one link", links=[LINK], **more))


def readings(noise=0.5, axes="y"):
    return [Encoder(coordinate="arm.joint", noise=1e-2), Accelerometer(axes=axes, noise=noise)]


def test_accelerometers_make_the_estimate_better_by_as_much_as_riccati_s_equation_says():
    """Monte Carlo: a random torque at the drive, another each period, as the filter reckons with; delayed and limited
    torques, which the arm gets and the filter knows. The errors' sizes are those of the steady covariance."""
    model, T, count, torque = one_link(), 2e-3, 2500, 2.0
    white = np.random.default_rng(0).standard_normal((count, 1))
    pushed = {"arm.drive": fa.Piecewise(T * np.arange(count), torque * white)}
    said = []
    for sensors in (readings()[:1], readings()):
        law = Observed(HOLD, sensors, process=torque, unmodelled=0.0)
        u = Sampled(law, T, seed=3, limit=5.0, delay=T)
        run = fa.simulate(
            model,
            count * T,
            u=u,
            disturbance=pushed,
            save=fa.SaveAt(record=["estimate"]),
            samples=count + 1,
            progress=False,
        )
        error = run.estimate.values - np.hstack([run.q.values, run.qd.values])
        found, expected = np.sqrt((error[100:-1] ** 2).mean(axis=0)), feedback(u, model).law.facts["deviation"]
        assert found == pytest.approx(expected, rel=0.15)  # some hundred independent errors
        said.append(np.array(expected))
    assert (said[1] < 0.9 * said[0]).all()


def test_the_filter_with_an_accelerometer_is_that_of_a_larger_system():
    """The disturbance as a state of its own, which a sensor sees: its covariance by iteration, not by cross terms."""
    model, T, W = one_link(), 2e-3, 2.0
    facts = feedback(Sampled(Observed(HOLD, readings(), process=W, unmodelled=0.3), T), model).law.facts
    n = len(model.coordinates)
    system = model.linearize(np.zeros(n), np.zeros(n), [0.0], outputs=readings())
    y_qdd = model.output_slopes(readings(), np.zeros(n), np.zeros(n), np.zeros(n))[2]
    acting = np.hstack([system.B * W, np.vstack([np.zeros((n, n)), 0.3 * np.eye(n)])])
    felt = np.hstack([system.D * W, 0.3 * y_qdd])
    k = acting.shape[1]
    whole = linalg.expm(T * np.block([[system.A, acting], [np.zeros((k, 2 * n + k))]]))
    F = np.block([[whole[: 2 * n]], [np.zeros((k, 2 * n + k))]])  # (x, d) a period on; then a new d is drawn
    C = np.hstack([system.C, felt])  # the d of the last period is still felt
    R, P = np.diag([1e-2**2, 0.5**2]), np.eye(2 * n)
    for _ in range(3000):
        before = linalg.block_diag(P, np.eye(k))  # x and the d that begins
        x = whole[: 2 * n]
        joint = np.vstack([x, np.hstack([np.zeros((k, 2 * n)), np.eye(k)])])  # (x after, the d that acted)
        S = joint @ before @ joint.T
        L = S @ C.T @ np.linalg.inv(C @ S @ C.T + R)
        P = (S - L @ C @ S)[: 2 * n, : 2 * n]
    assert np.sqrt(np.diag(P)) == pytest.approx(facts["deviation"], rel=1e-6)
    poles = np.linalg.eigvals((np.eye(2 * n) - L[: 2 * n] @ system.C) @ F[: 2 * n, : 2 * n])
    assert np.sort(np.abs(poles)) == pytest.approx(np.sort(np.abs(facts["observer_poles"])), rel=1e-6)


@pytest.mark.parametrize("method", ["rk4", "radau5", "dop853"])
def test_an_accelerometer_is_read_just_before_u_changes_with_all_that_acts(method):
    """In native code and through Python, whatever is integrated: what the sensor says of the arm that declares it."""
    tip = fa.Force(name="tip", link="arm")
    model, declared = one_link(gravity=(0.0, -9.81, 0.0)), one_link(gravity=(0.0, -9.81, 0.0), forces=[tip])
    sensors = readings(noise=1e-5, axes="xy")
    more = {
        "save": fa.SaveAt(record=["measured"]),
        "progress": False,
        "samples": 21,
        "method": method,
        "q0": [0.1, 0.0],
    }
    more |= {"solver": fa.Solver(step=1e-3)} if method == "rk4" else {}
    u = Sampled(Observed(HOLD, sensors, process=1.0), 0.01, limit=2.0)
    seen = fa.outputs(declared, sensors)
    jumps = fa.Piecewise([0.0, 0.052, 0.1], [[2.0], [-1.0], [4.0]])
    for push in (2.0, lambda t: 2.0 + np.sin(20 * t), jumps):
        run = fa.simulate(model, 0.2, u=u, disturbance={"tip.fy": push}, **more)
        w = run.w.values[1:-1].copy()
        if push is jumps:
            w[9] = run.w.values[9]  # at 0.1 s it jumps, and what is read comes before
        y = seen.values(run.q.values[1:-1], run.qd.values[1:-1], run.u.values[:-2], w=w)
        assert np.abs(run.measured.values[1:-1, 1:] - y[:, 1:]).max() < 1e-4  # the noise
        first = seen.values(run.q.values[0], run.qd.values[0], [0.0], w=run.w.values[0])
        assert run.measured.values[0, 1:] == pytest.approx(first[1:], abs=1e-4)


def test_a_filter_that_knows_the_arm_expects_what_its_accelerometer_reads():
    """Without noise to speak of and without what disturbs, the innovation is that of the filter's own steps: far below
    what a jump of u makes of an acceleration."""
    model = one_link(gravity=(0.0, -9.81, 0.0))
    slew = JointPD(fa.Quintic((0.0,), (0.6,), 0.4), 30.0, 4.0)
    sensors = [Encoder(coordinate="arm.joint", noise=1e-6), Accelerometer(axes="y", noise=1e-6)]
    u = Sampled(Observed(slew, sensors, process=1.0), 2e-3, delay=2e-3, limit=3.0)
    run = fa.simulate(model, 0.4, u=u, save=fa.SaveAt(record=["innovation", "measured"]), progress=False, samples=201)
    jump = np.abs(np.diff(run.measured.values[1:-1, 1])).max()
    assert np.abs(run.innovation.values[5:-1, 1]).max() < 1e-2 * jump


def test_through_another_model_the_filter_is_given_the_accelerations_of_its_own_coordinates():
    """The nominal arm has one mode, the real one two."""
    nominal = one_link()
    real = fa.Model(nominal.arm.replace(links=[LINK.replace(body=BODY.replace(modes={"y": 2}))]))
    law = DesignedFor(Observed(HOLD, readings(0.05), process=1.0), nominal)
    run = fa.simulate(
        real,
        0.1,
        u=Sampled(law, 2e-3),
        q0=[0.1, 0.0, 0.0],
        save=fa.SaveAt(record=["measured"]),
        progress=False,
        samples=51,
    )
    rows = slice(1, -1)
    qdd = real.forward_dynamics(run.q.values[rows], run.qd.values[rows], run.u.values[:-2])
    seen = nominal.output_kernel(readings(0.05)).many(
        np.ascontiguousarray(np.hstack([run.q.values[rows, :2], run.qd.values[rows, :2], qdd[:, :2]]))
    )
    assert (run.measured.values[rows, 1] - seen[:, 1]).std() == pytest.approx(0.05, rel=0.3)


def test_an_accelerometer_needs_a_sampled_loop():
    with pytest.raises(
        fa.DescriptionError, match="measures acceleration, which depends on u without delay; use Sampled"
    ):
        fa.simulate(one_link(), 0.1, u=Observed(HOLD, readings()), progress=False)

    class Felt:
        def law(self, model, period=None):
            return Law(lambda t, q, qd, z, qdd: (qdd[:1], []), accelerates=True)

    with pytest.raises(
        fa.DescriptionError, match="Felt: the controller measures accelerations and must be sampled: use Sampled"
    ):
        fa.simulate(one_link(), 0.1, u=Felt(), progress=False)
    many = fa.simulate_many(one_link(), 0.05, u=Sampled(Felt(), 0.01), disturbance=[[0.5], [0.7]], samples=6)
    alone = fa.simulate(one_link(), 0.05, u=Sampled(Felt(), 0.01), disturbance=0.7, samples=6, progress=False)
    assert np.abs(many.q.values[1] - alone.q.values).max() < 1e-12
    assert np.abs(alone.u.values).max() > 0.1
