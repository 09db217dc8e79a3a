"""Control of joints: closed loops obey the equations they were designed for, continuous and sampled."""

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from random_arms import random_arm, random_state
from scipy.linalg import expm

import flexarm as fa
from flexarm.control import (
    ComputedTorque,
    Decoupling,
    DesignedFor,
    Integral,
    JointPD,
    Law,
    Sampled,
    Saturated,
    StrainRate,
)
from flexarm.simulation.feedback import kernel, on_reference

EXACT = 1e-6  # of an error of 0.1: what integration at rtol 1e-9 leaves of it
KP = np.array([[30.0, 4.0], [1.0, 20.0]])
KD = np.array([[9.0, 1.0], [-2.0, 7.0]])
STAND = fa.Quintic((0.4, -0.3), (0.4, -0.3), 1.0)
MOVE = fa.Quintic((0.1, -0.2), (0.9, 0.5), 0.6)


def refused(match):
    """A one-line DescriptionError."""
    return pytest.raises(fa.DescriptionError, match=rf"\A{match}\Z")


def run(model, until, u, **options):
    given = {"method": "auto"} if isinstance(u, Sampled) else {"rtol": 1e-9, "solver": fa.Solver(atol=1e-11)}
    return fa.simulate(model, until, u=u, progress=False, **(given | {"samples": 101} | options))


def drives(model, q):
    """What the actuators move, B' q at each time."""
    return q @ model.input_matrix(np.array(model.arm.rest))


def errors(model, result):
    return result.q_ref.values - drives(model, result.q.values)


def linear_error(Kp, Kd, e0, ed0, t):
    """e'' + Kd e' + Kp e = 0 from e0, ed0: (times, m)."""
    m = len(e0)
    A = np.block([[np.zeros((m, m)), np.eye(m)], [-Kp, -Kd]])
    return np.array([(expm(A * s) @ np.concatenate([e0, ed0]))[:m] for s in t])


def closed_loop(model, controller, q):
    """Eigenvalues of the loop about rest at q, where it must be in equilibrium long after t = 0."""
    law, n = controller.law(model), len(model.coordinates)
    x = ca.SX.sym("x", 2 * n + len(law.memory))
    q_, qd_, z = ca.vertsplit(x, [0, n, 2 * n, x.numel()])
    u, after = law(1e6, q_, qd_, z)
    rate = ca.vertcat(model.function("state_rate")(q_, qd_, u)[: 2 * n], after(u))
    at = np.concatenate([q, np.zeros(x.numel() - len(q))])
    assert np.abs(np.array(ca.Function("rate", [x], [rate])(at))).max() < 1e-9
    return np.linalg.eigvals(np.array(ca.Function("A", [x], [ca.densify(ca.jacobian(rate, x))])(at)))


def damping_of_modes(model, controller):
    """Damping ratios of the oscillating modes of the loop about zero, in the order of their frequencies."""
    poles = closed_loop(model, controller, np.zeros(len(model.coordinates)))
    poles = poles[poles.imag > 1e-6]
    return -(poles.real / np.abs(poles))[np.argsort(np.abs(poles))]


def slewing(model, size, seed):
    """A reference of every joint by about `size` from a random state, and a state off it: joints by 0.1."""
    arm = model.arm
    rng = np.random.default_rng([seed, 77])
    joints = [name for name in model.coordinates if name.endswith(".joint")]
    q, qd, _ = random_state(arm, seed)
    q, qd = 0.0 * q, 0.0 * qd
    length = {f"{link.name}.joint": link.body.length for link in arm.links if link.joint.type == "telescope"}
    start = np.array([0.6 * length.get(name, rng.uniform(-1, 1)) for name in joints])
    end = start + size * np.array([0.2 * length.get(name, 2.0) for name in joints]) * rng.choice([-1, 1], len(joints))
    for name, a in zip(joints, start, strict=True):
        off = 0.1 * length.get(name, 1.0) * rng.uniform(0.5, 1) * rng.choice([-1, 1])
        for part in ("joint", "motor"):
            if (other := name.replace("joint", part)) in model.coordinates:
                q[model.coordinates.index(other)] = a + off
                qd[model.coordinates.index(other)] = 0.3 * length.get(name, 1.0)
    return fa.Quintic(start, end, 0.8), q, qd


@pytest.fixture(scope="module")
def planar():
    return fa.Model(fa.load("subudhi-morris"))


@pytest.fixture(scope="module")
def elastic():
    return fa.Model(fa.load("subudhi-morris-elastic"))


@pytest.fixture(scope="module")
def hanging():
    """The rigid arm of Subudhi & Morris, upright."""
    return fa.Model(fa.load("subudhi-morris").rigid().replace(gravity=(0.0, -9.81, 0.0)))


# -- what is asked of a controller -------------------------------------------------------------------------------------

LAWS = {
    "JointPD": lambda Kp=KP, Kd=KD, reference=MOVE: JointPD(reference, Kp, Kd),
    "ComputedTorque": lambda Kp=KP, Kd=KD, reference=MOVE: ComputedTorque(reference, Kp, Kd),
    "Decoupling": lambda Kp=KP, Kd=KD, reference=MOVE: Decoupling(reference, Kp, Kd),
}


@pytest.mark.parametrize("name", LAWS)
def test_gains_that_do_not_fit_are_refused_in_the_controller_s_name(name, planar):
    shape = r"has shape \(3,\); it must be one number, a list of 2 numbers, or a matrix \(2, 2\)"
    with refused(f"{name}: Kp {shape}"):
        run(planar, 0.1, LAWS[name](Kp=[1.0, 2.0, 3.0]))
    with refused(f"{name}: Kd {shape}"):
        run(planar, 0.1, Sampled(LAWS[name](Kd=[1.0, 2.0, 3.0]), 0.01))
    with refused(f"{name}: Kd contains NaN or infinity"):
        run(planar, 0.1, LAWS[name](Kd=[1.0, np.nan]))
    with refused(f"{name}: Kp is not an array of numbers"):
        run(planar, 0.1, LAWS[name](Kp="stiff"))


@pytest.mark.parametrize("name", LAWS)
def test_a_reference_must_move_as_many_joints_as_the_arm_has(name, planar):
    three = LAWS[name](reference=fa.Quintic((0.0,) * 3, (1.0,) * 3, 1.0))
    with refused(f"{name}: the reference moves 3 joints; the arm has 2: upper.joint, fore.joint"):
        run(planar, 0.1, three)


@pytest.mark.parametrize("name", LAWS)
def test_gains_are_one_number_a_diagonal_or_a_matrix(name, planar):
    state = np.random.default_rng(5).normal(size=13) * np.array([0.1] + [0.1] * 12)

    def u(Kp, Kd):
        return kernel(LAWS[name](Kp, Kd).law(planar), planar, 6).one(state)

    assert u(3.0, 2.0) == pytest.approx(u([3.0, 3.0], [[2.0, 0.0], [0.0, 2.0]]), rel=1e-12)
    assert u([3.0, 4.0], 2.0) == pytest.approx(u([[3.0, 0.0], [0.0, 4.0]], 2.0), rel=1e-12)
    assert u([[3.0, 1.0], [0.0, 4.0]], 2.0) != pytest.approx(u([[3.0, 0.0], [1.0, 4.0]], 2.0), rel=1e-6)


def test_what_surrounds_a_controller_names_itself(planar):
    pd = JointPD(MOVE, 5.0, 2.0)
    cases = {
        r"Integral: Ki has shape \(3,\); .*": Integral(pd, [1.0, 2.0, 3.0]),
        r"Integral: limit is -1\.0; it must be one positive number, or 2 of them, one per actuator": Integral(
            pd, 1.0, -1.0
        ),
        r"Integral: limit is not an array of numbers": Integral(pd, 1.0, "low"),
        r"Integral: controller Constant has no reference; give it one, or leave Integral out": Integral(
            Constant((0.0, 0.0)), 1.0
        ),
        r"Integral: controller is a function; it must be a controller, .*": Integral(lambda t, q, qd: q, 1.0),
        r"Saturated: limit is nan; .*": Saturated(pd, np.nan),
        r"Saturated: limit is \[1\.0, 2\.0, 3\.0\]; .*": Saturated(pd, [1.0, 2.0, 3.0]),
        r"Saturated: controller is a Sampled; .*": Saturated(Sampled(pd, 0.01), 1.0),
        r"StrainRate: K is not an array of numbers": StrainRate(pd, "much", "upper"),
        r"StrainRate: K contains NaN or infinity": StrainRate(pd, np.nan, "upper"),
        r"StrainGauge: unknown link 'lower'; the links are upper, fore": StrainRate(pd, 1.0, "lower"),
        r"StrainGauge: link 'upper' does not bend along z; choose another plane or link": StrainRate(
            pd, 1.0, "upper", plane="z"
        ),
        r"StrainGauge: at is 1\.5; it must be from 0 to 1": StrainRate(pd, 1.0, "upper", at=1.5),
    }
    for match, controller in cases.items():
        with refused(match):
            run(planar, 0.1, controller)


def test_a_reference_is_passed_on(planar):
    pd = JointPD(MOVE, 5.0, 2.0)
    for controller in (Integral(pd, 1.0), Saturated(pd, 1.0), StrainRate(pd, 0.1, "upper"), DesignedFor(pd, planar)):
        assert controller.law(planar).reference is MOVE
        assert "q_ref" in run(planar, 0.02, controller, samples=2)


@dataclass(frozen=True)
class Constant:
    """The same u all the time."""

    u: tuple[float, ...]

    def law(self, model, period=None):
        return Law(lambda t, q, qd, z: (list(self.u), []))


# -- proportional and derivative control -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["subudhi-morris", "subudhi-morris-elastic", "random elastic", "random flexible"])
def test_pd_takes_energy_out_until_the_joints_stand_where_they_should(name):
    """V = T + V_strain + 1/2 e' Kp e falls by the dampers' loss and yd' Kd yd alone (collocated, so passive)."""
    if name.startswith("random"):
        model = fa.Model(random_arm(23, links=2, elastic=name.endswith("elastic"), gravity=False))
        reference, q0, qd0 = slewing(model, 0.0, 23)
    else:
        model, reference = fa.Model(fa.load(name)), STAND
        q0, qd0 = np.zeros(len(model.coordinates)), None
    m = len(model.inputs)
    Kp, Kd = np.diag(np.arange(5.0, 5.0 + m)), np.diag(np.arange(2.0, 2.0 + m))
    law = JointPD(reference, Kp, Kd)
    poles = closed_loop(model, law, on_reference(model, reference)[0])
    assert poles.real.max() < 1e-9 * np.abs(poles).max()  # before a run that would not end
    result = run(model, 6.0, law, q0=q0, qd0=qd0, samples=2001, method="radau5", rtol=1e-8)
    e = errors(model, result)
    V = result.kinetic + result.potential + 0.5 * np.einsum("ti,ij,tj->t", e, Kp, e)
    fall = np.diff(V.values)
    assert fall.max() < 1e-6 * float(V[0])
    yd = drives(model, result.qd.values)
    lost = np.einsum("ti,ij,tj->t", yd, Kd, yd)
    # Simpson over pairs of samples: the fall is what the gains take and the dampers lose
    h = float(result.time[1])
    taken = float(h / 3 * (lost[:-2:2] + 4 * lost[1:-1:2] + lost[2::2]).sum())
    assert float(V[0] - V[-1]) == pytest.approx(taken + float(result.dissipated[-1]), rel=1e-3)
    assert float(V[-1]) < 0.2 * float(V[0])


@pytest.mark.parametrize("name", ["subudhi-morris", "subudhi-morris-elastic"])
def test_pd_brings_a_flexible_arm_to_its_reference(name):
    model = fa.Model(fa.load(name))
    q0 = np.zeros(len(model.coordinates))
    result = run(
        model,
        12.0,
        JointPD(STAND, 5.0, 2.0),
        q0=q0,
        solver=fa.Solver(method="radau5", rtol=1e-7, atol=1e-9),
        samples=121,
    )
    assert np.abs(errors(model, result)[-1]).max() < 1e-3
    assert np.abs(result.deflection[-10:]).max() < 2e-3
    tip = fa.Model(fa.load(name).rigid()).tip(np.array([0.4, -0.3]))[:3, 3]
    assert result.tip.values[-1] == pytest.approx(tip, abs=3e-3)


def test_pd_carries_a_rigid_arm_without_an_error(hanging):
    result = run(hanging, 25.0, JointPD(STAND, 5.0, 2.0), q0=np.zeros(2), samples=11)
    assert np.abs(errors(hanging, result)[-1]).max() < 1e-8
    assert result.u[-1].values == pytest.approx(hanging.gravity_force(np.array([0.4, -0.3])), rel=1e-6)
    without = run(hanging, 25.0, JointPD(STAND, 5.0, 2.0, gravity=False), q0=np.zeros(2), samples=11)
    e = errors(hanging, without)[-1]
    assert 5.0 * e == pytest.approx(hanging.gravity_force(without.q.values[-1]), rel=1e-5)


# -- inverse dynamics --------------------------------------------------------------------------------------------------

RIGID = [(hash_, {}) for hash_ in (1, 2)] + [(3, {"telescope": True}), (4, {"rotor": "absolute"})]


@pytest.mark.parametrize(("seed", "options"), RIGID, ids=str)
def test_computed_torque_makes_the_error_of_a_rigid_arm_linear(seed, options):
    model = fa.Model(random_arm(seed, rigid=True, **options))
    reference, q0, qd0 = slewing(model, 0.5, seed)
    m = len(model.inputs)
    rng = np.random.default_rng(seed)
    Kp, Kd = 30 * np.eye(m) + 5 * rng.normal(size=(m, m)), 9 * np.eye(m) + rng.normal(size=(m, m))
    result = run(model, 1.0, ComputedTorque(reference, Kp, Kd), q0=q0, qd0=qd0)
    e = errors(model, result)
    expected = linear_error(Kp, Kd, e[0], -drives(model, qd0), result.time.values)
    assert np.abs(e[0]).max() > 0.01
    assert np.abs(e - expected).max() < EXACT * np.abs(e[0]).max()


def test_computed_torque_is_the_slow_law_of_equation_69(planar, elastic):
    """At an elastic joint it asks the rigid arm with the motor's angle: one law for both arms."""
    law = ComputedTorque(MOVE, KP, KD)
    rng = np.random.default_rng(8)
    y, yd = rng.normal(size=(2, 2))
    one = kernel(law.law(planar), planar, 6).one(np.concatenate([[0.3], y, rng.normal(size=4), yd, rng.normal(size=4)]))
    other = kernel(law.law(elastic), elastic, 8).one(
        np.concatenate([[0.3], rng.normal(size=6), y, rng.normal(size=6), yd])
    )
    assert one == pytest.approx(other, rel=1e-12)


DECOUPLED = [
    (3, {"elastic": False}),
    (5, {"elastic": True}),
    (7, {"telescope": True, "elastic": False}),
    (9, {"families": ("hermite", "clamped-mass"), "elastic": None}),
]


@pytest.mark.parametrize(("seed", "options"), DECOUPLED, ids=str)
def test_decoupling_makes_the_error_of_the_driven_coordinates_linear(seed, options):
    model = fa.Model(random_arm(seed, links=2, **options))
    reference, q0, qd0 = slewing(model, 0.5, seed)
    m = len(model.inputs)
    rng = np.random.default_rng(seed)
    Kp, Kd = 40 * np.eye(m) + 5 * rng.normal(size=(m, m)), 11 * np.eye(m) + rng.normal(size=(m, m))
    result = run(model, 0.3, Decoupling(reference, Kp, Kd), q0=q0, qd0=qd0, samples=31)
    e = errors(model, result)
    expected = linear_error(Kp, Kd, e[0], -drives(model, qd0), result.time.values)
    assert np.abs(e[0]).max() > 0.01
    assert np.abs(e - expected).max() < EXACT * np.abs(e[0]).max()


@pytest.fixture(scope="module")
def sliding():
    """Theodore & Ghosal's arm with one clamped-free mode in each plane: a cheap one of its kind."""
    arm = fa.load("theodore-ghosal")
    last = arm.links[-1]
    beam = last.body.replace(modes={"y": 1, "z": 1}, shapes="clamped-free")
    return fa.Model(arm.replace(links=[*arm.links[:-1], last.replace(body=beam, joint=fa.Telescope())]))


@pytest.mark.parametrize("lengths", [(0.3, 1.0), (1.0, 0.3)], ids=["extension", "retraction"])
def test_decoupling_while_a_link_slides(sliding, lengths):
    """With an initial error, the linear error; without one, the flexible coordinates of prescribed joints (eq. 39)."""
    reference = fa.ParabolicBlends((0.0, 0.0, lengths[0]), (np.pi, -np.pi / 2, lengths[1]), 1.0, 0.2)
    law = Decoupling(reference, 100.0, 20.0)
    q0 = np.array([0.05, -0.04, lengths[0] + 0.02 * np.sign(lengths[1] - lengths[0]), 0.0, 0.0])
    off = run(sliding, 0.5, law, q0=q0)
    expected = linear_error(100 * np.eye(3), 20 * np.eye(3), errors(sliding, off)[0], np.zeros(3), off.time.values)
    assert np.abs(errors(sliding, off) - expected).max() < EXACT * 0.05
    on = run(sliding, 1.1, law, q0=[0.0, 0.0, lengths[0], 0.0, 0.0])
    prescribed = run(sliding, 1.1, fa.PrescribedMotion(reference))
    bending = prescribed.q.values[:, 3:]
    assert np.abs(on.q.values[:, 3:] - bending).max() < 1e-5 * np.abs(bending).max()
    inside = slice(1, -1)  # at a corner of the blends each takes its own side
    smooth = np.abs(on.time.values[inside, None] - np.array([0.2, 0.8, 1.0])).min(axis=1) > 1e-9
    size = np.abs(prescribed.u.values).max(axis=0)
    assert np.abs((on.u.values - prescribed.u.values)[inside][smooth] / size).max() < 1e-5


def test_decoupling_moves_the_motors_of_elastic_joints(elastic):
    reference = fa.Quintic((0.0, 0.0), (0.8, -0.5), 0.5)
    on = run(elastic, 0.6, Decoupling(reference, 100.0, 20.0))
    prescribed = run(elastic, 0.6, fa.PrescribedMotion(reference))
    assert np.abs(on.q.values[:, -2:] - on.q_ref.values).max() < 1e-8
    assert np.abs(on.q.values[:, :2] - on.q_ref.values).max() > 1e-3
    free = prescribed.q.values[:, :6]
    assert np.abs(on.q.values[:, :6] - free).max() < 1e-5 * np.abs(free[:, 2:]).max()


def test_decoupling_leaves_the_modes_of_locked_joints(planar):
    """Eq. 39: beside the error's poles, the flexible coordinates of an arm whose joints are held."""
    still = Decoupling(fa.Quintic((0.0, 0.0), (0.0, 0.0), 1.0), 100.0, 25.0)
    poles = closed_loop(planar, still, np.zeros(6))
    held = planar.frequencies(np.zeros(6), locked=True)
    assert np.sort(poles.imag[poles.imag > 1e-6]) == pytest.approx(held, rel=1e-6)
    assert np.sort(poles.real[np.abs(poles.imag) < 1e-6]) == pytest.approx([-20, -20, -5, -5], rel=1e-6)


def test_decoupling_needs_drives_that_move_one_coordinate():
    arm = fa.load("subudhi-morris")
    pinned = fa.Model(arm.replace(links=[x.replace(body=x.body.replace(shapes="pinned-pinned")) for x in arm.links]))
    text = "moves its joint and the slopes of its link's shapes at the hub; each actuator must move exactly one joint"
    for u in (Decoupling(MOVE, 1.0, 1.0), Sampled(Decoupling(MOVE, 1.0, 1.0), 0.01)):
        with refused(f"Decoupling: input 'upper.joint' {text}"):
            run(pinned, 0.1, u)


# -- sampled -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def single():
    """One flexible link, lightly damped."""
    body = fa.Beam(length=0.8, mass=0.4, EI=8.0, modes={"y": 2}, damping=0.01)
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.05)
    payload = fa.Payload(mass=0.1)
    return fa.Model(fa.Arm(name="single", links=[fa.Link(name="arm", joint=joint, body=body)], payload=payload))


STEP = fa.Quintic((0.5,), (0.5,), 1.0)


@pytest.mark.parametrize(
    "controller", [JointPD(STEP, 4.0, 1.0), Integral(JointPD(STEP, 4.0, 1.0), 3.0)], ids=["PD", "PID"]
)
def test_sampled_approaches_continuous_in_proportion_to_the_period(single, controller):
    """A zero-order hold is a delay of half a period: first order."""

    def angle(u):
        return run(single, 0.4, u, q0=np.zeros(3), samples=11).q.values[:, 0]

    continuous = angle(controller)
    off = [np.abs(angle(Sampled(controller, T)) - continuous).max() for T in (4e-3, 2e-3, 1e-3)]
    orders = np.log2(np.array(off[:-1]) / np.array(off[1:]))
    assert off[-1] < 2e-3
    assert orders == pytest.approx([1.0, 1.0], abs=0.1)


@dataclass(frozen=True)
class Wave:
    """u = size sin(rate t) on every actuator."""

    size: float = 1.0
    rate: float = 37.0

    def law(self, model, period=None):
        m = len(model.inputs)
        return Law(lambda t, q, qd, z: ([self.size * ca.sin(self.rate * t)] * m, []))

    def __call__(self, t, q, qd):
        return np.full(1, self.size * np.sin(self.rate * t))


def both(wave):
    return (wave, wave.__call__)


@pytest.mark.parametrize("wave", both(Wave()), ids=["native", "Python"])
@pytest.mark.parametrize("delay", [0, 1, 3])
def test_the_output_is_held_and_a_delay_shifts_it_by_samples(single, wave, delay):
    T, k = 0.01, np.arange(400)
    result = run(single, 1.0, Sampled(wave, T, delay=delay * T), samples=401)
    expected = np.where(k // 4 >= delay, np.sin(37.0 * (k // 4 - delay) * T), 0.0)
    assert result.u.values[:400, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("wave", both(Wave(3.0)), ids=["native", "Python"])
def test_limits_hold_at_every_sample(single, wave):
    T = 0.01

    def held(**limits):
        return run(single, 1.0, Sampled(wave, T, **limits), samples=101).u.values[:100, 0]

    asked = 3.0 * np.sin(37.0 * T * np.arange(100))
    assert held(limit=2.0) == pytest.approx(np.clip(asked, -2.0, 2.0), abs=1e-12)
    slow = held(rate_limit=50.0)
    steps = np.diff(np.append(0.0, slow))
    assert np.abs(steps).max() == pytest.approx(50.0 * T, rel=1e-9)
    free = np.abs(steps) < 50.0 * T * (1 - 1e-9)
    assert slow[free] == pytest.approx(asked[free], abs=1e-12) and 5 < free.sum() < 95
    u = held(limit=[2.0], rate_limit=[50.0], delay=2 * T)
    assert not u[:2].any() and np.abs(u).max() <= 2.0 and np.abs(np.diff(u)).max() <= 50.0 * T * (1 + 1e-9)


def test_actuators_that_cannot_be_are_refused(single):
    wave = Wave()
    with refused(r"delay is 0\.015 s; it must be a whole number of periods of 0\.01 s"):
        run(single, 0.1, Sampled(wave, 0.01, delay=0.015))
    with refused(r"limit is -1\.0; it must be one positive number, or 1 of them, one per actuator"):
        run(single, 0.1, Sampled(wave, 0.01, limit=-1.0))
    with refused(r"rate_limit is \[1\.0, 2\.0\]; it must be one positive number, or 1 of them, one per actuator"):
        run(single, 0.1, Sampled(wave, 0.01, rate_limit=[1.0, 2.0]))
    with refused(r"limit is not an array of numbers"):
        run(single, 0.1, Sampled(wave, 0.01, limit="low"))
    with refused(r"Sampled: period is 0\.0 s; it must be positive"):
        Sampled(wave, 0.0)
    with refused(r"Sampled: controller is an int; it must be a controller or a function of t, q, qd"):
        Sampled(3, 0.01)


def test_python_and_casadi_give_the_same_motion(planar):
    pd = JointPD(MOVE, KP, KD)
    values = fa.trajectory.reference_motion

    def by_hand(t, q, qd):
        r, rd, _ = values(MOVE, t)
        return KP @ (r - q[:2]) + KD @ (rd - qd[:2])

    options = {"delay": 0.005, "limit": 2.0, "rate_limit": 300.0}
    q0 = np.full(6, 0.02)
    native, python = (run(planar, 0.5, Sampled(law, 0.005, **options), q0=q0) for law in (pd, by_hand))
    for name in ("q", "qd", "u", "work"):
        assert native[name].values == pytest.approx(python[name].values, abs=1e-9 * float(np.abs(native[name]).max()))


# -- controllers that fail ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Broken:
    """Something wrong, from the time `after` on where that can be."""

    what: str
    after: float = 0.0515

    def law(self, model, period=None):
        def expression(t, q, qd, z):
            bad = ca.sqrt(self.after - t)
            if self.what == "wide":
                return [t, t, t], []
            if self.what == "forgets":
                return [t, t], []
            return ([0.0, bad], []) if self.what == "NaN" else ([t, t], [bad])

        return Law(expression, memory=(0.0,) if self.what in ("memory", "forgets") else ())


def gives(value, after=0.0515):
    def broken(t, q, qd):
        return value if t >= after else np.zeros(2)

    return broken


NAN = np.array([0.0, np.nan])
FAILING = {
    "continuous": (Broken("NaN"), r"controller Broken gave nan for fore\.joint"),
    "continuous memory": (Broken("memory"), "controller Broken gave nan in its memory"),
    "saturated": (Saturated(Broken("NaN"), 1.0), r"controller Saturated gave nan for fore\.joint"),
    "sampled": (Sampled(Broken("NaN"), 1e-3), r"controller Broken gave nan for fore\.joint"),
    "sampled memory": (Sampled(Broken("memory"), 1e-3), "controller Broken gave nan in its memory"),
    "limited": (Sampled(Broken("NaN"), 1e-3, limit=1.0), r"controller Broken gave nan for fore\.joint"),
    "rate limited": (Sampled(Broken("NaN"), 1e-3, rate_limit=1.0), r"controller Broken gave nan for fore\.joint"),
    "Python": (Sampled(gives(NAN), 1e-3), r"controller broken gave nan for fore\.joint"),
    "Python limited": (Sampled(gives(NAN), 1e-3, limit=1.0), r"controller broken gave nan for fore\.joint"),
    "Python wide": (Sampled(gives(np.zeros(3)), 1e-3), r"controller broken gave shape \(3,\)"),
    "Python words": (Sampled(gives("much"), 1e-3), "controller broken gave 'much'"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_controller_that_fails_stops_the_run_and_keeps_what_went_before(name, planar):
    controller, words = FAILING[name]
    with pytest.raises(fa.SimulationError, match=words) as caught:
        run(planar, 0.1, controller)
    text, result = str(caught.value), caught.value.result
    assert "\n" not in text and "t = 0.05" in text
    assert float(result.time[-1]) == pytest.approx(0.0515, abs=1.6e-3)
    assert np.isfinite(result.q).all() and np.isfinite(result.u).all()


@pytest.mark.parametrize(
    "controller", [Broken("NaN", -1.0), Sampled(Broken("NaN", -1.0), 0.01), Sampled(gives(NAN, -1.0), 0.01)]
)
def test_a_controller_may_fail_at_once(controller, planar):
    with pytest.raises(fa.SimulationError, match=r"controller [Bb]roken gave nan for fore\.joint") as caught:
        run(planar, 0.1, controller)
    assert caught.value.result.sizes["time"] == 1


@pytest.mark.parametrize("sampled", [False, True])
def test_a_law_of_the_wrong_width_is_refused_before_the_start(sampled, planar):
    def given(what):
        return Sampled(Broken(what), 0.01) if sampled else Broken(what)

    with refused(r"controller Broken returns 3 inputs; the arm has 2: upper\.joint, fore\.joint"):
        run(planar, 0.1, given("wide"))
    with refused("controller Broken: its memory has 1 number, but it returns 0 for the next period"):
        run(planar, 0.1, given("forgets"))


# -- what it costs -----------------------------------------------------------------------------------------------------


def operations(code):
    return code.facts["multiplications"] + code.facts["additions"]


@pytest.mark.parametrize("arm", ["subudhi-morris", "subudhi-morris-elastic", "canadarm"])
def test_a_closed_loop_costs_at_most_three_times_the_open_one(arm):
    model = fa.Model(fa.load(arm))
    m = len(model.inputs)
    move = fa.Quintic((0.1,) * m, (0.5,) * m, 1.0)
    link = model.arm.links[0].name
    pd = JointPD(move, 5.0, 2.0)
    arm_alone = operations(model.kernel("state_rate").code)
    for controller, most in (
        (pd, 0.2),
        (StrainRate(pd, 0.1, link), 0.25),
        (Saturated(Integral(pd, 1.0, 1.0), 1.0), 0.25),
        (ComputedTorque(move, 5.0, 2.0), 0.5),
        (Decoupling(move, 5.0, 2.0), 2.0),
    ):
        law = operations(kernel(controller.law(model), model, len(model.coordinates)).code)
        assert law <= most * arm_alone


# -- what surrounds a controller ---------------------------------------------------------------------------------------


def test_saturation_cuts_off_what_the_controller_gives(planar):
    pd = JointPD(STAND, 5.0, 2.0)
    q0 = np.zeros(6)
    free, cut = (run(planar, 0.5, law, q0=q0) for law in (pd, Saturated(pd, [0.7, 0.3])))
    assert np.abs(free.u).max() > 1.0
    e = errors(planar, cut)
    asked = 5.0 * e - 2.0 * cut.qd.values[:, :2]
    assert cut.u.values == pytest.approx(np.clip(asked, [-0.7, -0.3], [0.7, 0.3]), abs=1e-9)
    one, other = Sampled(Saturated(pd, 0.5), 0.01), Sampled(pd, 0.01, limit=0.5)
    one, other = (run(planar, 0.3, law, q0=q0).q.values for law in (one, other))
    assert one == pytest.approx(other, abs=1e-12)


def heavier(arm, more=1.5):
    return arm.replace(payload=arm.payload.replace(mass=more * arm.payload.mass))


def test_integral_action_removes_the_error_of_a_payload_that_is_not_known(hanging):
    """In equilibrium the integral carries what the nominal torque lacks."""
    real = fa.Model(heavier(hanging.arm))
    pd = JointPD(STAND, 8.0, 3.0)
    without, with_ = (
        run(real, 40.0, DesignedFor(law, hanging), samples=41, method="radau5", rtol=1e-8)
        for law in (pd, Integral(pd, 4.0))
    )
    assert np.abs(errors(real, without)[-1]).min() > 1e-3
    assert np.abs(errors(real, with_)[-1]).max() < 1e-6
    q = np.array([0.4, -0.3])
    assert with_.u.values[-1] == pytest.approx(real.gravity_force(q), rel=1e-5)
    sampled = run(real, 40.0, Sampled(DesignedFor(Integral(pd, 4.0), hanging), 0.004), samples=41)
    assert np.abs(errors(real, sampled)[-1]).max() < 1e-6


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("period", [None, 0.005])
def test_the_integral_stays_within_its_limit_and_does_not_wind_up(single, period, way):
    """Cut off at 0.5 N m, an arm that cannot reach its reference in time comes back as soon as the error turns."""
    pd = JointPD(fa.Quintic((0.5 * way,), (0.5 * way,), 1.0), 1.0, 0.6)

    def moved(limit):
        law = Saturated(Integral(pd, [[8.0]], limit), 0.5)
        result = run(single, 4.0, Sampled(law, period) if period else law, q0=np.zeros(3), samples=401)
        return result, way * errors(single, result)[:, 0]

    free, (result, kept) = moved(None)[1], moved(0.1)
    assert kept.min() > 0.5 * free.min()
    if period is None:
        u = way * result.u.values[:, 0]
        w = u - (kept - 0.6 * way * result.qd.values[:, 0])  # where u is not cut off
        assert np.abs(w[np.abs(u) < 0.5]).max() == pytest.approx(0.1, abs=1e-6)
        # it rises with Ki e until it meets the limit, and leaves it when the error changes sign
        turn = int(np.argmax(kept < 0))
        assert w[turn] == pytest.approx(0.1, abs=1e-3) and w[turn + 3] < 0.0999


def test_the_memory_of_two_integrals_is_kept_apart(single):
    """Integral action twice is that of the sum of the gains."""
    pd = JointPD(STEP, 4.0, 1.0)
    laws = (Integral(pd, 5.0), Integral(Integral(pd, 2.0), 3.0))
    one, two = (run(single, 0.5, law, q0=np.zeros(3)) for law in laws)
    assert np.abs(one.q.values[-1]).max() > 0.1
    assert one.q.values == pytest.approx(two.q.values, abs=1e-8)
    one, two = (run(single, 0.5, Sampled(law, 0.01), q0=np.zeros(3)) for law in laws)
    assert one.q.values == pytest.approx(two.q.values, abs=1e-12)


def test_the_integral_of_a_sampled_law_is_a_sum(single):
    """w[k + 1] = w[k] + T Ki e[k]: read off u."""
    T = 0.01
    result = run(single, 0.5, Sampled(Integral(JointPD(STEP, 4.0, 1.0), 5.0), T), q0=np.zeros(3), samples=51)
    e = errors(single, result)[:, 0]
    w = np.append(0.0, np.cumsum(5.0 * T * e))[:-1]
    asked = 4.0 * e - result.qd.values[:, 0] + w
    assert result.u.values[:50, 0] == pytest.approx(asked[:50], abs=1e-12)


# -- strain rate -------------------------------------------------------------------------------------------------------


def bent(axis, plane, joint=fa.Revolute):
    """One link whose joint moves it in a plane, its hub light enough to follow."""
    beam = fa.Beam(length=0.8, mass=0.4, EI=8.0, modes={plane: 4}, shapes="hermite")
    rotor = {"rotor_inertia": 0.05} if joint is fa.Revolute else {"rotor_inertia": 0.5}
    link = fa.Link(name="arm", joint=joint(axis=axis, **rotor), body=beam)
    return fa.Model(fa.Arm(name="bent", links=[link], payload=fa.Payload(mass=0.1)))


@pytest.mark.parametrize(
    ("axis", "plane", "joint"),
    [
        ((0, 0, 1), "y", fa.Revolute),
        ((0, 0, -1), "y", fa.Revolute),
        ((0, 1, 0), "z", fa.Revolute),
        ((0, -1, 0), "z", fa.Revolute),
        ((0, 1, 0), "y", fa.Prismatic),
        ((0, 0, -1), "z", fa.Prismatic),
    ],
    ids=str,
)
def test_strain_rate_damps_every_mode_of_a_soft_joint(axis, plane, joint):
    """A beam's apparent inertia at its hub grows with frequency between its poles (Foster), so K > 0 takes energy."""
    model = bent(axis, plane, joint)
    soft = JointPD(fa.Quintic((0.0,), (0.0,), 1.0), 0.05, 0.01)
    before, after, against = (
        damping_of_modes(model, StrainRate(soft, K, "arm", plane=plane)) for K in (0.0, 2e-3, -2e-3)
    )
    assert len(before) == len(after) == 5
    assert (after[1:] > before[1:] + 1e-3)[:2].all() and (after[1:] > before[1:]).all()
    assert (against[1:] < before[1:]).all()


@pytest.mark.parametrize("link", ["upper", "fore"])
def test_strain_rate_damps_the_links_of_an_arm(planar, link):
    soft = JointPD(fa.Quintic((0.0, 0.0), (0.0, 0.0), 1.0), 0.3, 0.05)
    before, after = (damping_of_modes(planar, StrainRate(soft, K, link)) for K in (0.0, 0.01))
    assert len(before) == len(after) == 6
    assert (after[2:] > before[2:]).all() and after[2:].sum() > 1.3 * before[2:].sum()


def test_strain_rate_is_the_rate_of_the_gauge_s_reading(planar):
    """u less that of the controller within, against the slope of bending moments along the motion."""
    from flexarm.sensors import StrainGauge, outputs

    rng = np.random.default_rng(3)
    q, qd = 0.1 * rng.normal(size=(2, 6))
    pd = JointPD(MOVE, 5.0, 2.0)
    state = np.concatenate([[0.2], q, qd])
    u, inner = (kernel(law.law(planar), planar, 6).one(state) for law in (StrainRate(pd, 0.3, "fore", at=0.4), pd))
    gauge = outputs(planar, [StrainGauge(link="fore", at=0.4)])
    h = 1e-3
    rate = (gauge.values(q + h * qd, qd) - gauge.values(q - h * qd, qd)) / (2 * h)  # linear in q
    assert u - inner == pytest.approx([0.0, 0.3 * rate[0]], abs=1e-10)


def test_strain_rate_needs_a_joint_that_bends_its_link(sliding):
    three = fa.Quintic((0.0, 0.0, 0.5), (0.0, 0.0, 0.5), 1.0)
    with refused(
        "StrainRate: the telescope joint of link 'slide' does not move the link along y; choose the other plane"
    ):
        StrainRate(JointPD(three, 1.0, 1.0), 0.1, "slide").law(sliding)
    with refused("StrainRate: the revolute joint of link 'arm' does not move the link along z; choose the other plane"):
        StrainRate(JointPD(STEP, 1.0, 1.0), 0.1, "arm", plane="z").law(bent((0, 0, 1), "z"))
    arm = fa.load("subudhi-morris")
    pinned = fa.Model(arm.replace(links=[x.replace(body=x.body.replace(shapes="pinned-pinned")) for x in arm.links]))
    with refused("StrainRate: the mode shapes of link 'fore' have no bending moment at 0; choose another place"):
        StrainRate(JointPD(MOVE, 1.0, 1.0), 0.1, "fore").law(pinned)


# -- another arm than the one designed for -----------------------------------------------------------------------------


def softer(arm, share=0.8):
    return arm.replace(links=[link.replace(body=link.body.replace(EI=share * link.body.EI)) for link in arm.links])


def test_a_law_designed_for_another_arm_is_that_arm_s(planar):
    law = ComputedTorque(MOVE, KP, KD)
    real = fa.Model(heavier(planar.arm, 2.0))
    state = 0.1 * np.random.default_rng(4).normal(size=13)
    nominal, borne, informed = (
        kernel(design.law(model), model, 6).one(state)
        for design, model in ((law, planar), (DesignedFor(law, planar), real), (law, real))
    )
    assert borne == pytest.approx(nominal, rel=1e-12)
    assert borne != pytest.approx(informed, rel=1e-2)


def test_coordinates_of_another_design_go_by_their_names(planar):
    """One mode a link in the design, two in the arm: the design sees joints and first modes."""
    arm = planar.arm
    one = fa.Model(arm.replace(links=[x.replace(body=x.body.replace(modes={"y": 1})) for x in arm.links]))
    law = Decoupling(MOVE, KP, KD)
    q, qd = 0.1 * np.random.default_rng(6).normal(size=(2, 6))
    seen = [0, 1, 2, 4]
    whole = kernel(DesignedFor(law, one).law(planar), planar, 6).one(np.concatenate([[0.2], q, qd]))
    assert whole == pytest.approx(
        kernel(law.law(one), one, 4).one(np.concatenate([[0.2], q[seen], qd[seen]])), rel=1e-12
    )


def test_a_design_must_be_for_the_same_actuators(planar, elastic, single):
    law = ComputedTorque(MOVE, KP, KD)
    text = "the controller was designed for an arm that has it"
    with refused(f"DesignedFor: arm 'subudhi-morris' has no coordinate 'upper.motor'; {text}"):
        DesignedFor(law, elastic).law(planar)
    rigid = fa.Model(elastic.arm.rigid())
    with refused(
        "DesignedFor: arm 'subudhi-morris-elastic' has the actuators upper.motor, fore.motor; "
        "the controller was designed for the actuators upper.joint, fore.joint"
    ):
        DesignedFor(law, rigid).law(elastic)
    upper = fa.Model(planar.arm.replace(links=planar.arm.links[:1]))
    with refused(
        "DesignedFor: arm 'subudhi-morris' has the actuators upper.joint, fore.joint; "
        "the controller was designed for the actuators upper.joint"
    ):
        DesignedFor(JointPD(STEP, 1.0, 1.0), upper).law(planar)


MOTION = fa.Quintic((0.0, 0.0), (np.pi / 2, np.pi / 6), 4.0)
NEAR = {"nominal": lambda arm: arm, "payload +50 %": heavier, "EI -20 %": softer}
BORNE = {
    # law: largest error of the joints [rad], and largest deflection of a tip in the second after the motion [m]
    "JointPD": (JointPD(MOTION, 5.0, 2.0), 0.045, 0.012),
    "ComputedTorque": (ComputedTorque(MOTION, 9.0, 6.0), 0.03, 0.008),
}


@pytest.mark.parametrize("name", BORNE)
@pytest.mark.parametrize("changed", NEAR)
def test_laws_bear_an_arm_that_is_not_quite_the_one_they_know(name, changed, planar):
    controller, tracking, vibration = BORNE[name]
    real = fa.Model(NEAR[changed](planar.arm))
    result = run(real, 5.0, DesignedFor(controller, planar), samples=501, rtol=1e-7)
    assert np.abs(errors(real, result)).max() < tracking
    assert np.abs(result.deflection.values[400:, :, 1]).max() < vibration


def test_decoupling_bears_a_heavier_load_but_not_links_softer_than_it_thinks(planar):
    """Stiffness that it takes off and is not there is a stiffness of the wrong sign between joints and links."""
    heavy = run(fa.Model(heavier(planar.arm)), 4.0, DesignedFor(Decoupling(MOTION, 100.0, 20.0), planar))
    assert 1e-4 < np.abs(errors(planar, heavy)).max() < 2e-3
    links = [x.replace(body=x.body.replace(damping=0.01)) for x in planar.arm.links]
    damped = planar.arm.replace(links=links)
    still = DesignedFor(Decoupling(fa.Quintic((0.0, 0.0), (0.0, 0.0), 1.0), 100.0, 20.0), fa.Model(damped))
    growth = {name: closed_loop(fa.Model(near(damped)), still, np.zeros(6)).real.max() for name, near in NEAR.items()}
    assert growth["nominal"] < 0 and growth["payload +50 %"] < 0 and growth["EI -20 %"] > 0.1


@pytest.mark.parametrize("changed", NEAR)
def test_decoupling_of_elastic_joints_knows_springs_and_motors_alone(changed, elastic):
    real = fa.Model(NEAR[changed](elastic.arm))
    result = run(real, 2.0, DesignedFor(Decoupling(MOTION, 100.0, 20.0), elastic))
    assert np.abs(errors(real, result)).max() < 1e-8


# -- the rate from an encoder ------------------------------------------------------------------------------------------

ROD = fa.Link(name="rod", joint=fa.Revolute(), body=fa.Rigid(length=1.0, mass=3.0))  # 1 kg m^2 about the joint
OMEGA, SAMPLE = 200.0, 1e-3


def rod():
    return fa.Model(fa.Arm(name="rod", links=[ROD]))


def watched(until, u, samples, **more):
    return fa.simulate(
        rod(), until, u=u, save=fa.SaveAt(record=["rate", "measured"]), samples=samples, progress=False, **more
    )


def test_the_noise_of_a_filtered_rate_is_that_of_the_filter():
    """White noise s in y gives a rate of variance ((1 - a) s / T)^2 2 / (1 + a): the sum of the squared response."""
    s, a = 1e-3, np.exp(-OMEGA * SAMPLE)
    idle = JointPD([0.0], 0.0, 0.0, filter=OMEGA, noise=s)
    run = watched(4.0, Sampled(idle, SAMPLE, seed=5), 4001).isel(time=slice(100, -1))
    assert run.measured.values.std() == pytest.approx(s, rel=0.05)
    assert run.rate.values.std() == pytest.approx((1 - a) * s / SAMPLE * np.sqrt(2 / (1 + a)), rel=0.05)


def test_a_slow_motion_is_seen_as_the_steps_of_its_encoder():
    """A rod that turns at v crosses a line each r / v: then the rate is r (1 - a) / T, and dies out until the next."""
    v, r, a = 0.01, 1e-3, np.exp(-OMEGA * SAMPLE)
    idle = JointPD([0.0], 0.0, 0.0, filter=OMEGA, resolution=r)
    run = watched(0.5, Sampled(idle, SAMPLE), 501, q0=[2.3e-6], qd0=[v])
    rate = run.rate.values[:-1, 0]
    peaks = np.flatnonzero(rate[1:] > rate[:-1]) + 1
    assert np.diff(peaks).tolist() == [100] * (len(peaks) - 1)
    assert rate[peaks] == pytest.approx(r * (1 - a) / SAMPLE, rel=1e-6)
    assert rate[peaks[0] + 10] == pytest.approx(rate[peaks[0]] * a**10, rel=1e-9)
    assert np.array_equal(run.measured.values[:-1], r * np.floor(run.q.values[:-1] / r + 0.5))


def test_the_sampled_filter_is_exact_for_a_motion_on_a_straight_line():
    """y = v t: the rate of s / (1 + s / omega) is v (1 - exp(-omega t)), at any period; so is the continuous one's."""
    idle = JointPD([0.0], 0.0, 0.0, filter=OMEGA)
    for u in (idle, Sampled(idle, 1e-3), Sampled(idle, 1e-2)):
        run = watched(0.1, u, 11, qd0=[0.7]).isel(time=slice(0, -1))
        expected = 0.7 * (1 - np.exp(-OMEGA * run.time.values))
        assert np.abs(run.rate.values[:, 0] - expected).max() < 1e-7


def test_a_fast_filter_is_the_rate_itself_and_the_sampled_loop_comes_to_the_continuous_one():
    slew = fa.Quintic((0.0,), (0.5,), 0.5)
    exact = fa.simulate(rod(), 0.5, u=JointPD(slew, 40.0, 8.0), samples=51, progress=False)
    gaps = [
        np.abs(watched(0.5, JointPD(slew, 40.0, 8.0, filter=w), 51).q.values - exact.q.values).max()
        for w in (200.0, 400.0, 800.0)
    ]
    assert gaps[0] > 1.8 * gaps[1] > 3.2 * gaps[2] > 0  # first order in 1 / filter
    filtered = JointPD(slew, 40.0, 8.0, filter=100.0)
    whole = watched(0.5, filtered, 51)
    later = [np.abs(watched(0.5, Sampled(filtered, T), 51).q.values - whole.q.values).max() for T in (2e-3, 1e-3)]
    assert later[0] > 1.8 * later[1] > 0


def test_the_filter_begins_where_the_arm_stands():
    """Sampled, the first reading makes no rate; and gravity is that of the angle that was read."""
    arm = fa.Arm(name="rod", links=[ROD], gravity=(0.0, -9.81, 0.0))
    law = JointPD([0.3], 0.0, 5.0, filter=OMEGA, resolution=0.25)
    run = fa.simulate(fa.Model(arm), 0.01, u=Sampled(law, SAMPLE), q0=[0.7], samples=2, progress=False)
    assert run.u.values[0, 0] == pytest.approx(3.0 * 9.81 * 0.5 * np.cos(0.75))


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"filter": 0.0}, "JointPD: filter is 0.0 rad/s; it must be positive"),
        ({"filter": "fast"}, "JointPD: filter is 'fast'; it must be a number in rad/s"),
        ({"resolution": -1.0}, "JointPD: resolution is -1.0 rad or m; it must be zero or positive"),
        (
            {"resolution": 0.1},
            "JointPD: resolution is 0.1; an encoder with it needs a filter, because without one the rate is measured",
        ),
        (
            {"noise": 0.1, "filter": 10.0},
            "JointPD: noise is 0.1; an encoder with it needs Sampled(JointPD(...), period)",
        ),
    ],
)
def test_an_encoder_without_filter_or_samples_is_refused(given, line):
    with pytest.raises(fa.DescriptionError) as caught:
        fa.simulate(rod(), 0.1, u=JointPD([0.0], 1.0, 1.0, **given), progress=False)
    assert str(caught.value) == line
