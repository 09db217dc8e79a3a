"""Filters of arms with a free base, ball joints, states of drives and exogenous inputs, beside independent filters."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexarm as fa
from flexarm.attitude import configuration, local
from flexarm.control import DesignedFor, JointPD, Observed, Sampled
from flexarm.estimation import EKF, UKF, MovingHorizon, consistency, estimate
from flexarm.estimation.charts import recentered
from flexarm.sensors import Encoder, Gyroscope, StarTracker, TipPosition

PERIOD = 0.02


def satellite():
    """A free base with an arm of three links, whose second joint is a ball joint and whose third has a spring."""
    body = fa.Rigid(length=0.6, mass=0.7)
    swivel = fa.Ball(damping=0.02)
    elastic = fa.Revolute(axis=(0.0, 0.6, 0.8), rotor_inertia=0.03, stiffness=8.0, damping=0.02)
    links = [
        fa.Link(name="upper", joint=fa.Revolute(axis=(0.0, 0.0, 1.0), damping=0.03), body=body),
        fa.Link(name="fore", joint=swivel, body=fa.Rigid(length=0.4, mass=0.3, inertia=(0.002, 0.006, 0.005))),
        fa.Link(name="hand", joint=elastic, body=fa.Rigid(length=0.3, mass=0.2, inertia=(0.001, 0.003, 0.002))),
    ]
    base = fa.FreeBase(mass=2.5, com=(0.02, 0.0, 0.01), inertia=(0.3, 0.4, 0.35))
    return fa.Arm(name="satellite", gravity=(0, 0, 0), base=base, links=links)


ARM = satellite()
MODEL = fa.Model(ARM)
N = 2 * MODEL.nv
SENSORS = [
    StarTracker(noise=2e-3),
    StarTracker(link="fore", noise=3e-3),
    Gyroscope(link="base", noise=5e-3),
    TipPosition(link="base", noise=2e-3),
    Encoder(coordinate="upper.joint", noise=1e-3),
    Encoder(coordinate="hand.motor", noise=1e-3),
]
SIGMA = np.repeat([2e-3, 3e-3, 5e-3, 2e-3, 1e-3, 1e-3], [3, 3, 3, 3, 1, 1])


def attitudes(seed):
    """A state with large attitudes and rates of about 1 rad/s."""
    rng = np.random.default_rng(seed)
    q = configuration(ARM, rng.uniform(-0.9, 0.9, MODEL.nv))
    return q, rng.uniform(-1.0, 1.0, MODEL.nv)


# -- an independent filter, by differences and SciPy's rotations -------------------------------------------------------


def turned(e, g):
    """The quaternion (w, x, y, z) of the attitude e followed by the Gibbs vector g along its own axes."""
    found = Rotation.from_quat(np.roll(e, -1)) * Rotation.from_quat([*(g / 2), 1.0])
    return np.roll(found.as_quat(), 1)


def moved(x, d):
    """The state at the local coordinates d about x."""
    q, nq = x[: MODEL.nq].copy(), MODEL.nq
    q[:3] += Rotation.from_quat(np.roll(x[3:7], -1)).apply(d[:3])
    q[3:7], q[7:11], q[11:] = turned(q[3:7], d[3:6]), turned(q[7:11], d[6:9]), q[11:] + d[9 : MODEL.nv]
    return np.concatenate([q, x[nq:] + d[MODEL.nv :]])


def apart(x, about):
    """The local coordinates of x about another state: the inverse of `moved`."""
    of = [Rotation.from_quat(np.roll(about[k : k + 4], -1)) for k in (3, 7)]
    parts = [of[0].inv().apply(x[:3] - about[:3])]
    for k, one in zip((3, 7), of, strict=True):
        e = (one.inv() * Rotation.from_quat(np.roll(x[k : k + 4], -1))).as_quat()
        parts.append(2.0 * e[:3] / e[3])
    return np.concatenate([*parts, x[11:] - about[11:]])


def rate(x, u):
    q, qd = x[: MODEL.nq], x[MODEL.nq :]
    spins = [qd[3:6], qd[6:9]]
    e = [
        0.5 * np.concatenate([[-at[1:] @ w], at[0] * w + np.cross(at[1:], w)])
        for at, w in zip((q[3:7], q[7:11]), spins, strict=True)
    ]
    p = Rotation.from_quat(np.roll(q[3:7], -1)).apply(qd[:3])
    return np.concatenate([p, *e, qd[9:], MODEL.forward_dynamics(q, qd, u)])


def stepped(x, u, steps=1):
    h = PERIOD / steps
    for _ in range(steps):
        a = rate(x, u)
        b = rate(x + h / 2 * a, u)
        c = rate(x + h / 2 * b, u)
        d = rate(x + h * c, u)
        x = x + h / 6 * (a + 2 * b + 2 * c + d)
    for k in (3, 7):
        x[k : k + 4] /= np.linalg.norm(x[k : k + 4])
    return x


def read(x):
    q, qd = x[: MODEL.nq], x[MODEL.nq :]
    return fa.outputs(MODEL, SENSORS).values(q, qd, np.zeros(len(MODEL.inputs)))


def slope(function):
    """Central differences of a function of local coordinates at zero."""
    h = 1e-5
    return np.array([(function(h * d) - function(-h * d)) / (2 * h) for d in np.eye(N)]).T


def test_the_covariance_is_that_of_local_coordinates_about_the_estimate():
    """After each sample of an extended filter whose derivatives are differences about its own estimate."""
    rng = np.random.default_rng(3)
    q, qd = attitudes(1)
    x, size, W, push = np.concatenate([q, qd]), np.linspace(0.02, 0.3, N), 0.4, 2.0
    running = EKF(process=W, unmodelled=push, deviation=size, step=PERIOD / 8).begin(MODEL, SENSORS, PERIOD, q, qd)
    P, R = np.diag(size**2), np.diag(SIGMA**2)
    half = np.vstack([PERIOD**2 / 2 * np.eye(N // 2), PERIOD * np.eye(N // 2)]) * push
    largest = 0.0
    for k in range(4):
        u = rng.standard_normal(2)
        y = read(x if k == 0 else stepped(x, u, running.steps)) + SIGMA * rng.standard_normal(len(SIGMA))
        y[0] += 0.05  # a correction of some degrees
        running.sample(y, u, k > 0)
        about = np.zeros(N)
        before = x
        if k:
            after = stepped(x, u, running.steps)
            about = apart(after, before)  # the chart is still that of the last estimate
            F = slope(lambda d, x=x, u=u, z=before: apart(stepped(moved(x, d), u, running.steps), z))
            G = np.array([apart(stepped(x, u + 1e-5 * e, running.steps), before) for e in np.eye(2)])
            G = ((G - about) / 1e-5 * W).T
            P = F @ P @ F.T + G @ G.T + half @ half.T
        C = slope(lambda d, z=before, a=about: read(moved(z, a + d)))
        e = y - read(moved(before, about))
        S = C @ P @ C.T + R
        L = np.linalg.solve(S, C @ P).T
        center, P = about + L @ e, P - L @ C @ P
        x = moved(before, center)
        T = slope(lambda d, z=before, c=center, x=x: apart(moved(z, c + d), x))
        P = T @ P @ T.T
        largest = max(largest, np.abs(center[3:9]).max())
        assert running.innovation == pytest.approx(e, rel=1e-6, abs=1e-8)
        assert running.nis == pytest.approx(e @ np.linalg.solve(S, e), rel=1e-4)
        found = running.estimate
        assert np.abs(apart(found, x)).max() < 1e-6
        scale = np.sqrt(np.diag(P))
        assert running.deviation == pytest.approx(scale, rel=1e-3)
        assert running.covariance / np.outer(scale, scale) == pytest.approx(P / np.outer(scale, scale), abs=5e-4)
    assert largest > 0.03  # without the change of the charts the covariance would be off by half of this


def test_charts_about_another_center_have_the_slopes_of_differences():
    """In Python, the function that is translated, at points away from the center."""
    rng, size, count = np.random.default_rng(8), 11, 3
    c, x, d = rng.uniform(-0.6, 0.6, 9), rng.uniform(-0.6, 0.6, size), rng.standard_normal((count, size))
    s = SimpleNamespace(free=1, turns=2, size=size, center=c)

    def there(x, d=None):
        x, d = x.copy(), np.zeros((0, size)) if d is None else d.copy()
        recentered(s, x, d.reshape(-1), len(d))
        return x, d

    def gibbs(g):
        return Rotation.from_quat([*(g / 2), 1.0])

    found, changed = there(x, d)
    assert found[:3] == pytest.approx(gibbs(c[3:6]).inv().apply(x[:3] - c[:3]), abs=1e-14)
    for k in (3, 6):
        e = (gibbs(c[k : k + 3]).inv() * gibbs(x[k : k + 3])).as_quat()
        assert found[k : k + 3] == pytest.approx(2.0 * e[:3] / e[3], abs=1e-14)
    h = 1e-6
    slopes = [(there(x + h * each)[0] - there(x - h * each)[0]) / (2.0 * h) for each in d]
    assert changed == pytest.approx(np.array(slopes), abs=1e-8)


# -- invariance --------------------------------------------------------------------------------------------------------


def motion(q, qd, seconds=1.0):
    until = seconds
    times = np.arange(0.0, until + 1e-9, PERIOD)
    u = np.stack([0.4 * np.sin(7 * times), 0.3 * np.cos(9 * times)], axis=1)
    return fa.simulate(MODEL, until, fa.Table(times, u), q0=q, qd0=qd, samples=len(times), rtol=1e-10, progress=False)


@pytest.mark.parametrize("kind", [EKF, UKF, MovingHorizon])
def test_a_turned_world_has_the_same_innovations_and_deviations(kind):
    """The world turns by two radians, and the references of star trackers with it."""
    q, qd = attitudes(5)
    R = Rotation.from_rotvec([1.2, -1.3, 0.9])
    spin = np.roll(R.as_quat(), 1)
    other = q.copy()
    other[:3] = R.apply(q[:3])
    other[3:7] = np.roll((R * Rotation.from_quat(np.roll(q[3:7], -1))).as_quat(), 1)
    found = []
    for start, reference in ((q, (1.0, 0.0, 0.0, 0.0)), (other, tuple(spin))):
        sensors = [StarTracker(noise=2e-3, reference=reference), *SENSORS[2:3], *SENSORS[4:]]
        run = motion(start, qd)
        data = fa.sensor_readings(sensors, MODEL, run, seed=2).assign(u=run.u)
        found.append(estimate(MODEL, data, sensors, kind(deviation=0.05, unmodelled=0.3), q0=start, qd0=qd))
    for name in ("innovation", "deviation", "nis"):
        assert found[1][name].values == pytest.approx(found[0][name].values, rel=1e-6, abs=1e-9)
    assert found[0].deviation.dims == ("time", "local")
    assert list(found[0].local.values[:4]) == ["base.dx", "base.dy", "base.dz", "base.tx"]
    assert list(found[0].local_unit.values[:4]) == ["m", "m", "m", "rad"]
    assert list(found[0].state.values[:4]) == ["base.x", "base.y", "base.z", "base.qw"]


# -- statistics --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [EKF, UKF, MovingHorizon])
def test_errors_of_tumbling_arms_are_as_large_as_the_filter_says(kind):
    """More than a revolution, from starts that are wrong by the stated deviations."""
    found, most = [], 0.0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        q, qd = attitudes(seed)
        qd[3:6] *= 5.0
        run = motion(q, qd, 1.6)
        most = max(most, float(np.linalg.norm(run.qd.values[:, 3:6], axis=1).mean() * 1.6))
        data = fa.sensor_readings(SENSORS, MODEL, run, seed=seed).assign(u=run.u)
        size = np.r_[np.full(N // 2, 0.03), np.full(N // 2, 0.2)]
        wrong = moved(np.concatenate([q, qd]), size * rng.standard_normal(N))
        filter_ = kind(deviation=size, process=1e-3, unmodelled=0.005, step=PERIOD / 8)
        found.append(estimate(MODEL, data, SENSORS, filter_, q0=wrong[: MODEL.nq], qd0=wrong[MODEL.nq :], truth=run))
    said = consistency(found)
    assert most > 2 * np.pi
    assert said.nees.attrs["states"] == N
    assert 0.8 * N < float(said.nees[5:].mean()) < 1.2 * N
    assert said.nis.attrs["mean"] == pytest.approx(len(SIGMA), rel=0.05)


def test_a_controller_gets_the_estimates_of_a_free_base():
    reference = fa.Quintic((0.0, 0.0), (0.5, -0.4), 0.6)
    q0 = np.array(ARM.rest)
    law = Observed(JointPD(reference, 2.0, 1.0), SENSORS, estimator=EKF(deviation=0.02, unmodelled=0.1))
    run = fa.simulate(
        MODEL,
        1.0,
        u=Sampled(DesignedFor(law, MODEL), PERIOD),
        q0=q0,
        samples=51,
        save=fa.SaveAt(record=["estimate", "deviation"]),
        progress=False,
    )
    assert run.estimate.shape == (51, MODEL.nq + MODEL.nv)
    assert run.deviation.shape == (51, N)
    true = np.concatenate([run.q.values[-2], run.qd.values[-2]])
    assert np.abs(apart(true, run.estimate.values[-2]) / run.deviation.values[-2]).max() < 4.5
    turn = np.linalg.norm(local(ARM, run.q.values[-1])[3:6])
    assert turn > 0.05  # the base reacts


# -- states of drives, exogenous inputs --------------------------------------------------------------------------------


def winding(R=1.5, L=0.08, K=0.4):
    motor = fa.Motor(input="voltage", torque_constant=K, back_emf_constant=K, resistance=R, inductance=L)
    joint = fa.Revolute(axis=(0, 0, 1), damping=0.05, drive=fa.Drive(motor=motor))
    body = fa.Rigid(length=0.7, mass=0.4)
    push = fa.Force(name="push", link="bar")
    return fa.Arm(name="winding", gravity=(0, 0, 0), links=[fa.Link(name="bar", joint=joint, body=body)], forces=[push])


@pytest.mark.parametrize("kind", [EKF, UKF, MovingHorizon])
def test_the_current_of_a_motor_is_estimated(kind):
    """A linear drive: the textbook filter of angle, rate and current, and of an unknown voltage."""
    arm, model = winding(), fa.Model(winding())
    period, count = 0.01, 60
    J, b, R, L, K, G = 0.4 * 0.7**2 / 3, 0.05, 1.5, 0.08, 0.4, 1.0
    A = np.array([[0.0, 1.0, 0.0], [0.0, -b / J, K * G / J], [0.0, -K * G / L, -R / L]])
    B = np.array([[0.0], [0.0], [1.0 / L]])
    drift, first = 0.3, np.array([0.02, 0.3, 0.5])
    sensor = [Encoder(coordinate="bar.joint", noise=2e-3)]
    estimator = kind(
        process=0.6, unmodelled=0.8, deviation=first, drift={model.states[0]: drift}, disturbances={"bar.joint": 0.7}
    )
    running = estimator.begin(model, sensor, period, [0.1])
    assert running.names == ("bar.joint", "bar.joint.rate", model.states[0], "torque of bar.joint")
    wide = np.zeros((5, 5))
    wide[:3, :3], wide[:3, 3:4] = A, B
    wide[:3, 4:5] = B
    h = period / running.steps
    step = sum(np.linalg.matrix_power(h * wide, i) / np.prod(range(1, i + 1)) for i in range(5))
    F = np.linalg.matrix_power(step, running.steps)
    random = 0.8 * np.array([[period**2 / 2], [period], [0.0], [0.0]])
    torque = 0.6 * np.vstack([F[:3, 4:], [[0.0]]])
    Q = random @ random.T + torque @ torque.T
    Q[2, 2] += period * drift**2
    rng = np.random.default_rng(7)
    y, u = 0.1 + 2e-3 * rng.standard_normal((count, 1)), rng.standard_normal((count, 1))
    x, P, C = np.array([0.1, 0.0, 0.0, 0.0]), np.diag([*first, 0.7]) ** 2, np.array([[1.0, 0.0, 0.0, 0.0]])
    for k in range(count):
        running.sample(y[k], u[k - 1] if k else np.zeros(1), k > 0)
        if k:
            x, P = F[:4, :4] @ x + F[:4, 4] * u[k - 1], F[:4, :4] @ P @ F[:4, :4].T + Q
        gain = P @ C.T / (C @ P @ C.T + 2e-3**2)
        x, P = x + (gain * (y[k] - C @ x)).ravel(), P - gain @ C @ P
        assert running.estimate == pytest.approx(x, rel=1e-7, abs=1e-9)
        assert running.deviation == pytest.approx(np.sqrt(np.diag(P)), rel=1e-6)
    assert arm.exogenous  # the force is known to be zero


def test_an_unknown_force_is_estimated():
    model = fa.Model(winding())
    name = next(each for each in model.exogenous if each.endswith("fy"))
    times = np.arange(0.0, 2.0 + 1e-9, 0.01)
    u = fa.Table(times, 0.3 * np.sin(5 * times)[:, None])
    run = fa.simulate(model, 2.0, u, samples=len(times), w={name: 0.5}, progress=False)
    sensors = [Encoder(coordinate="bar.joint", noise=1e-4)]
    data = fa.sensor_readings(sensors, model, run, seed=1).assign(u=run.u)
    found = estimate(model, data, sensors, EKF(disturbances={name: 1.0}, process=1e-3, unmodelled=0.05))
    force, sigma = (float(found[each][-1, -1]) for each in ("estimate", "deviation"))
    assert str(found.state.values[-1]) == name
    assert abs(force - 0.5) < 3 * sigma < 0.06
    known = {"bar.joint": "voltage", name: "force"}
    data = data.assign(voltage=run.u[:, 0], force=0.0 * run.u[:, 0] + 0.5)
    beside_u = estimate(model, data, sensors, EKF(process=1e-3), {name: "force"})
    data = data.drop_vars("u")
    same = [estimate(model, data, sensors, EKF(process=1e-3), each) for each in (known, {"bar.joint": "voltage"})]
    assert 5.0 * same[0].nis.mean() < same[1].nis.mean()
    assert (beside_u.estimate.values == same[0].estimate.values).all()
    none = estimate(model, data.assign(u=run.u), sensors, EKF(process=1e-3), {})
    assert (none.nis.values == estimate(model, data, sensors, EKF(process=1e-3), {}).nis.values).all()
    assert none.nis.mean() > 5.0 * same[0].nis.mean()
