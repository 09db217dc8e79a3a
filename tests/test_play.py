"""The live arm without its page: what the engine computes in Node is what `simulate` and the package's laws compute."""

import functools
import json
import math

import casadi as ca
import numpy as np
import pytest
from alive import made, run
from javascript import needs_node

import flexarm as fa
from flexarm.closed_forms.formats.javascript import javascript
from flexarm.control import LQR, Composite, JointPD
from flexarm.control.equilibrium import equilibrium
from flexarm.control.shaping import controlled_vibrations
from flexarm.control.timescales import time_scales
from flexarm.errors import DescriptionError
from flexarm.pictures import live as live_module
from flexarm.pictures.live import COARSE, KD_STOPS, KP_STOPS, LONGEST_STEP, Live
from flexarm.pictures.play import _live, numbers, play
from flexarm.trajectory.reference import reference_values
from flexarm.trajectory.shapers import KINDS

SAME = 1e-9  # of the largest coordinate: the same method and step, rounded in another order over thousands of steps


def hanging(**more):
    """An elastic joint, a beam, a rigid hand, a payload, and gravity."""
    beam = {"type": "beam", "length": 0.8, "mass": 0.5, "EI": 30.0, "damping": 0.01, "modes": {"y": 2}}
    joint = {"type": "revolute", "stiffness": 200.0, "rotor_inertia": 0.01, "gear_ratio": 3.0}
    links = [
        {"name": "boom", "joint": joint, "body": beam, "hub_inertia": 0.05},
        {"name": "hand", "joint": {"type": "revolute"}, "body": {"type": "rigid", "length": 0.3, "mass": 0.4}},
    ]
    arm = {"name": "hanging", "gravity": (0.0, -9.81, 0.0), "links": links, "payload": {"mass": 0.5, "inertia": 0.002}}
    return fa.Arm(**(arm | more))


@functools.cache
def alive(name):
    return made(hanging(), target=[0.3, 0.5]) if name == "hanging" else _live(fa.load(name))[2]


def state(live, seed=1):
    """A bent arm in motion."""
    rng = np.random.default_rng(seed)
    n = len(live.q)
    q = np.array(live.arm.rest) + 0.02 * rng.normal(size=n)
    for i in live.arm.joints:
        q[i] += 0.3 * rng.normal() if live.arm.units[i] == "rad" else -0.2
    for joint, motor in live.arm.springs:
        q[motor] = q[joint] + 0.01
    return q, 0.2 * rng.normal(size=n)


def listed(x):
    return json.dumps(np.asarray(x).tolist())


def simulated(live, u, q, qd, steps, p=None):
    """What `simulate` gives with the same method and step."""
    h = live.step
    found = fa.simulate(
        live.model, h * steps, u=u, q0=q, qd0=qd, solver=fa.Solver(method="rk4", step=h), samples=2, p=p, progress=False
    )
    return found.q.values[-1], found.qd.values[-1]


STEPS = 1500
ARMS = ("subudhi-morris", "hanging", "theodore-ghosal")


def controllers(live):
    """By the page's names: what simulate is given in its place."""
    target = tuple(live.target.tolist())
    found = {"none": None, "pd": JointPD(target, live.Kp, live.Kd)}
    if live.regulators:
        found["lqr"] = LQR(joints=live.target, bandwidth=live.pace)
    if live.composites[0]:
        omega = max(x for x in live.composites[0] if x <= live.pace)
        found["composite"] = Composite(target, omega**2, 2 * omega, configuration=target)
    return found


@needs_node
@pytest.mark.filterwarnings("ignore:a telescope moves at")  # hard pulled, that it moves at all
@pytest.mark.parametrize("name", ARMS)
def test_the_motion_is_that_of_simulate(name, tmp_path):
    """Free and under every controller, with the same method and step: equal but for rounding."""
    live = alive(name)
    q, qd = state(live)
    laws = controllers(live)
    script = f"""
        return {json.dumps([*laws])}.map((controller) => {{
            live.reset();
            live.use(controller);
            live.y.set({listed(np.concatenate([q, qd]))});
            live.r.set(given.target);
            for (let i = 0; i < {STEPS}; i++) live.step();
            return [live.q.slice(), live.qd.slice(), live.fault];
        }});
    """
    for (law, u), (found_q, found_qd, fault) in zip(laws.items(), run(live, script, tmp_path), strict=True):
        assert fault == ""
        expected_q, expected_qd = simulated(live, u, q, qd, STEPS)
        assert found_q == pytest.approx(expected_q, rel=0, abs=SAME * np.abs(expected_q).max()), law
        assert found_qd == pytest.approx(expected_qd, rel=0, abs=10 * SAME * np.abs(expected_qd).max()), law
        assert np.abs(expected_q - q).max() > 1e-3  # it has moved


@needs_node
def test_sliders_are_parameters_of_the_model(tmp_path):
    """Each moves the arm as simulate moves the model with the same p; together too."""
    live = alive("hanging")
    q, qd = state(live)
    values = {"payload": 1.5, "stiffness": 2.0, "damping": 0.05, "gravity": 3.7}
    assert [slider.key for slider in live.sliders] == [*values]
    script = f"""
        live.use("none");
        return {json.dumps(list(values.items()))}.map(([key, value]) => {{
            live.reset();
            live.y.set({listed(np.concatenate([q, qd]))});
            live.set(key, value);
            for (let i = 0; i < 500; i++) live.step();
            return [live.q.slice(), live.p.slice()];
        }});
    """
    p = live.model.p
    seen = [np.array(q)]
    for slider, (found, given) in zip(live.sliders, run(live, script, tmp_path), strict=True):
        p = slider.at(p, values[slider.key])
        assert given == pytest.approx(p, rel=1e-15)
        expected = simulated(live, None, q, qd, 500, p)[0]
        assert found == pytest.approx(expected, rel=0, abs=SAME * np.abs(expected).max())
        assert np.abs(expected - seen[-1]).max() > 1e-5
        seen.append(expected)
    named = dict(zip([x.name for x in live.model.parameters], p.tolist(), strict=True))
    assert named == pytest.approx(
        {"boom.stiffness": 400.0, "boom.EI": 60.0, "boom.damping_ratio": 0.06, "payload.mass": 1.5, "gravity": 3.7}
    )


@needs_node
def test_a_push_is_a_force_on_the_tip(tmp_path):
    """M (qdd with it - qdd without) = J' f, J that of the true tip; its power is f times the tip's velocity."""
    live = alive("hanging")
    q, qd = state(live)
    f = [3.0, -2.0, 0.5]
    script = f"""
        const [q, qd, u] = {json.dumps([q.tolist(), qd.tolist(), [0.4, -0.2]])};
        const at = (f) => motion(q, qd, u, f, live.p);
        const pushed = at({f});
        return [at([0, 0, 0]).qdd, pushed.qdd, pushed.power];
    """
    without, pushed, power = map(np.array, run(live, script, tmp_path))
    J = np.array(live.model.slope("tip", 0)(q))[12:15]
    assert live.model.mass_matrix(q) @ (pushed - without) == pytest.approx(J.T @ f, rel=1e-9)
    assert power[2] == pytest.approx(f @ J @ qd, rel=1e-9)
    assert power[0] == pytest.approx([0.4, -0.2] @ live.model.input_matrix(q).T @ qd, rel=1e-9)
    assert power[1] == pytest.approx(qd @ live.model.damping_force(q, qd), rel=1e-9)
    assert without == pytest.approx(live.model.forward_dynamics(q, qd, [0.4, -0.2]), rel=1e-9)


@needs_node
def test_a_pull_is_as_stiff_as_the_arm_under_its_controller(tmp_path):
    """A static pull by d moves the tip by d where it is softest, so far as the arm is linear."""
    live = alive("hanging")
    script = """
        live.use("pd");
        live.y.set(given.q); live.r.set(given.target);
        live.set("damping", 0.1);
        live.gains(given.kp, given.kdStops.length - 1);
        const still = () => { live.advance(20); return Array.from(drawing(live.q, [1], live.p).frames.slice(-12)); };
        const before = still();
        live.force[1] = 0.002 * given.push;
        return [before[7], still()[7]];
    """
    before, after = run(live, script, tmp_path)
    assert 0.0005 < after - before <= 0.0021


@needs_node
def test_the_balance_of_energies(tmp_path):
    """Under control, pushed, damped: what is left over is the integration's; a slider makes none."""
    live = alive("hanging")
    script = """
        live.use("pd");
        live.aim([0.9, -0.4]);
        live.advance(0.5);
        live.force[0] = 5;
        live.advance(0.3);
        live.force.fill(0);
        const drifts = [live.drift()];
        live.set("payload", 2.0);
        live.set("gravity", 15.0);
        drifts.push(live.drift());
        live.advance(1.0);
        drifts.push(live.drift());
        return [drifts, live.y.slice(-3), live.energies()];
    """
    drifts, (work, lost, pushed), (kinetic, potential) = run(live, script, tmp_path)
    assert all(abs(each["relative"]) < 1e-6 for each in drifts)
    assert drifts[1]["error"] == pytest.approx(drifts[0]["error"], abs=1e-12)
    assert work != 0 and lost > 1e-3 and abs(pushed) > 1e-2


@needs_node
def test_a_wrong_step_is_seen_in_the_energy(tmp_path):
    """Of order four: half the step, a sixteenth of the error in the motion."""
    live = alive("subudhi-morris")
    q, qd = state(live)
    script = f"""
        live.use("none");
        const h = given.step;
        return [4, 2, 1, 0.125].map((factor) => {{
            live.reset();
            live.y.set({listed(np.concatenate([q, qd]))});
            given.step = factor * h;
            for (let i = 0; i < 800 / factor; i++) live.step();
            return live.q.slice();
        }});
    """
    *found, exact = map(np.array, run(live, script, tmp_path))
    errors = [np.abs(each - exact).max() for each in found]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.4) and errors[1] / errors[2] == pytest.approx(16, rel=0.4)


# -- targets -----------------------------------------------------------------------------------------------------------


@needs_node
@pytest.mark.parametrize("name", ["subudhi-morris", "theodore-ghosal", "spatial-6r"])
def test_the_tip_is_aimed_by_the_rigid_arm(name, tmp_path):
    """Within reach it gets there; beyond, as near as the arm can, stretched; joints stay within their ranges."""
    live = alive(name) if name != "spatial-6r" else made(fa.load(name).rigid(), target=np.full(6, 0.4))
    rng = np.random.default_rng(3)
    low, high = live.ranges
    goals = [rng.uniform(0.4 * low + 0.6 * live.target, 0.4 * high + 0.6 * live.target) for _ in range(4)]
    places = [live.rigid.tip(r)[:3, 3] for r in goals]
    far = 10.0 * places[0] / np.linalg.norm(places[0]) * live.rigid.arm.links[0].body.length * 10
    script = f"""
        return {listed([*places, far])}.map((place) => {{
            const left = live.aimTip(place);
            return [left, live.goal.slice(), live.aimed().place.slice()];
        }});
    """
    *found, (left, r, place) = run(live, script, tmp_path)
    reach = sum(link.body.length for link in live.arm.links)
    for wanted, (gap, goal, tip) in zip(places, found, strict=True):
        assert gap < 1e-3 * reach
        assert tip == pytest.approx(wanted, abs=1e-3 * reach)
        assert live.rigid.tip(np.array(goal))[:3, 3] == pytest.approx(tip, abs=1e-12)
        assert (np.array(goal) >= low).all() and (np.array(goal) <= high).all()
    assert left > 1.0 and np.isfinite(r).all()
    assert np.dot(place, far) / np.linalg.norm(place) / np.linalg.norm(far) > 0.9


@needs_node
def test_the_way_to_a_target(tmp_path):
    """Never faster, never harder than allowed; it ends there, at rest, and a new target on the way is one too."""
    live = alive("subudhi-morris")
    script = """
        live.use("none");
        live.aim([1.0, -0.5]);
        const rows = [];
        for (let i = 0; i < 6 / given.step; i++) {
            if (i === Math.round(0.2 / given.step)) live.aim([-0.8, 0.01]);
            live.lead();
            rows.push([...live.r, ...live.rd]);
        }
        return rows;
    """
    rows = np.array(run(live, script, tmp_path))
    r, rd = rows[:, :2], rows[:, 2:]
    a, v = live.path
    h = live.step
    assert (np.abs(rd) <= v * (1 + 1e-12)).all()
    assert (np.abs(np.diff(rd, axis=0)) <= 2.001 * a * h).all()  # twice at the very end
    assert np.diff(r, axis=0) == pytest.approx(h * rd[1:], abs=2.1 * np.max(a) * h**2)
    assert (r[-1] == [-0.8, 0.01]).all() and (rd[-1] == 0).all()
    assert (r[:, 0].min() >= -0.8 - 2 * h * v[0]) and r[:, 0].max() > 0.02


class Led:
    """A reference through points at multiples of a step, with a constant rate between them."""

    def __init__(self, step, points):
        self.step, self.points = step, points

    def expression(self, t):
        times = (self.step * np.arange(len(self.points))).tolist()
        return [ca.pw_lin(t, [*times, 1e3], [*x, x[-1]]) for x in self.points.T.tolist()]

    def described(self):
        return "the reference of a live page"


@needs_node
def test_the_shaped_reference_of_each_shaper_is_the_packages(tmp_path):
    """The page adds the delayed parts as `shaped` does, also where a delay ends within a step; rates are slopes."""
    live = alive("subudhi-morris")
    step = 0.0437
    script = f"""
        given.step = {step};
        live.use("shaped");
        live.gains(given.kp + 1, given.kd - 2);
        return Object.keys(given.shapers).map((kind) => {{
            live.reset();
            live.shape(kind);
            live.aim([0.5, 0.3]);
            const rows = [];
            for (let i = 0; i < 8 / given.step; i++) {{
                live.lead();
                rows.push([...live.r, ...live.reference[0], ...live.reference[1]]);
            }}
            return [kind, live.shaper, live.unshaped, rows];
        }});
    """
    found = run(live, script, tmp_path)
    assert [kind for kind, *_ in found] == [*KINDS]
    start = live.led.at(live.q)
    for kind, impulses, why, rows in found:
        plain, shaped, rates = np.split(np.vstack([np.r_[start, start, 0 * start], rows]), 3, axis=1)
        shaper = fa.trajectory.Shaper(**impulses)
        reference = fa.trajectory.shaped(Led(step, plain), shaper)
        expected = reference_values(reference, step * np.arange(len(plain)))
        assert why == "" and np.abs(shaped - plain).max() > 0.01
        np.testing.assert_allclose(shaped, expected, rtol=0, atol=1e-12, err_msg=kind)
        assert shaped[-1] == pytest.approx([0.5, 0.3], abs=1e-12)
        moving = slice(0, np.flatnonzero(np.diff(plain, axis=0).all(axis=1))[-1])  # at its end the reference jumps
        np.testing.assert_allclose(np.diff(shaped, axis=0)[moving], step * rates[1:][moving], rtol=0, atol=1e-12)


def test_shapers_are_those_of_the_loop():
    """For each pair of gains and each kind: that of `design_shaper` for the slow modes that the loop leaves."""
    live = alive("subudhi-morris")
    shapers = live.shapers
    assert [*shapers] == [*KINDS] and {len(each) for each in shapers.values()} == {len(KP_STOPS) * len(KD_STOPS)}
    target = tuple(live.target.tolist())
    for kp, kd in ((2.0, 0.25), (16.0, 1.0)):
        place = KP_STOPS.index(kp) * len(KD_STOPS) + KD_STOPS.index(kd)
        controller = JointPD(target, kp * live.Kp, kd * live.Kd)
        omega, zeta = controlled_vibrations(live.plain, controller)
        assert zeta[:2].max() < 0.2 and omega[1] > 1.2 * omega[0]
        for kind, designs in shapers.items():
            expected = fa.design_shaper(live.plain, kind=kind, modes=2, controller=controller)
            np.testing.assert_allclose(designs[place].times, expected.times, rtol=1e-9)
            np.testing.assert_allclose(designs[place].amplitudes, expected.amplitudes, rtol=1e-9)


def test_the_page_says_why_a_mode_has_no_shaper():
    assert "from 0 to 0.3" in live_module._shaper("two-hump-ei", [(5.0, 0.35)])
    assert live_module._shaper("zvd", []) == ""
    assert live_module._shaper("zvd", "the closed loop is unstable") == "the closed loop is unstable"
    shapers = numbers(alive("subudhi-morris"), [])["shapers"]
    assert [shapers[kind]["label"] for kind in ("zvd", "two-hump-ei", "um-zv")] == ["ZVD", "Two-hump EI", "UM-ZV"]
    reasons = {design for each in shapers.values() for design in each["designs"] if isinstance(design, str)}
    assert reasons and all("damping_ratio" in why for why in reasons)


@needs_node
def test_shaping_leaves_less_vibration(tmp_path):
    live = alive("subudhi-morris")
    script = """
        return ["pd", "shaped"].map((controller) => {
            live.reset();
            live.use(controller);
            live.gains(given.kp + 2, given.kd);
            live.aim([0.6, 0.6]);
            let most = 0;
            while (live.reference[0][0] !== 0.6 && live.time < 8) live.step();
            for (let i = 0; i < 1 / given.step; i++) {
                live.step();
                most = Math.max(most, Math.abs(live.q[2]));
            }
            return most;
        });
    """
    plain, quiet = run(live, script, tmp_path)
    assert quiet < 0.35 * plain


@needs_node
def test_the_regulator_settles_in_the_packages_equilibrium(tmp_path):
    """Under gravity, at a target that is not the one it was designed at, with the parameters that are set."""
    live = alive("hanging")
    script = """
        live.use("lqr");
        live.set("payload", 1.0);
        live.aim([0.8, -0.6]);
        live.step();
        const [q0, u0] = [live.standing.x.slice(), live.standing.u.slice()];
        live.set("damping", 0.1);
        live.advance(40);
        return [q0, u0, live.q.slice(), live.u.slice(), live.known.slice()];
    """
    q0, u0, q, u, p = run(live, script, tmp_path)
    expected_q, expected_u = equilibrium(live.model.at(np.array(p)), [0.8, -0.6])
    assert q0 == pytest.approx(expected_q, abs=1e-9) and u0 == pytest.approx(expected_u, abs=1e-7)
    assert q == pytest.approx(expected_q, abs=1e-5) and u == pytest.approx(expected_u, abs=1e-3)


@needs_node
def test_a_controller_that_does_not_know_the_payload_sags(tmp_path):
    """And the rigid arm's weight is carried only where it is asked for."""
    live = alive("hanging")
    script = """
        return [[true, true], [false, true], [true, false]].map(([informed, carries]) => {
            live.reset();
            live.use("pd");
            live.inform(informed);
            live.compensates = carries;
            live.set("payload", 2.0);
            live.set("damping", 0.1);
            live.gains(given.kp + 2, given.kd + 1);
            live.advance(30);
            return live.goal[0] - live.q[0];
        });
    """
    knowing, ignorant, careless = run(live, script, tmp_path)
    assert abs(knowing) < 0.8 * abs(ignorant) and abs(ignorant) < 0.9 * abs(careless)


# -- the tip -----------------------------------------------------------------------------------------------------------


@needs_node
@pytest.mark.parametrize("name", ["hanging", "spatial-6r"])
def test_deflections_have_their_sign_and_the_tip_its_place(name, tmp_path):
    """They are those of the model at its parameters, with both signs, and are not magnitudes."""
    live = alive(name)
    q = state(live)[0]
    mirrored = q.copy()
    mirrored[list(live.arm.flexible)] *= -1.0
    script = f"""
        return {listed([q, mirrored])}.map((q) => {{
            live.y.set(q);
            const {{ tip, deflection }} = live.measured();
            return [tip.slice(), deflection.slice()];
        }});
    """
    signs = set()
    for at, (tip, deflection) in zip((q, mirrored), run(live, script, tmp_path), strict=True):
        both = live.model.deflections(at)
        assert tip == pytest.approx(live.model.tip(at)[:3, 3], abs=1e-12)
        assert deflection == pytest.approx([both[i, c] for i, c, _ in live.bends], abs=1e-15)
        signs |= set(np.sign(deflection))
    assert signs == {-1.0, 1.0}
    assert [each for *_, each in live.bends] == (
        ["boom y"] if name == "hanging" else ["upper y", "upper z", "fore y", "fore z"]
    )


@needs_node
def test_the_tip_settles_near_its_target(tmp_path):
    """The time from the last disturbance until it stays within the tolerance is that of the recorded tip."""
    live = alive("subudhi-morris")
    script = """
        live.use("pd");
        live.gains(given.kp + 1, given.kd + 1);
        const told = [], rows = [];
        const until = (end) => {
            while (live.time < end) {
                live.step();
                if (live.steps % live.every === 0) rows.push([live.time, live.tipError(), ...live.q]);
                told.push(live.settled());
            }
        };
        until(12);
        const first = [live.settled(), rows.splice(0), told.splice(0).slice(0, 100), live.goal.slice()];
        live.aim([0.1, -0.2]);
        const since = live.time;
        until(since + 0.2);
        live.force[1] = 1.0;
        until(since + 0.4);
        live.force.fill(0);
        const pushed = live.time, early = live.settled();
        rows.splice(0);
        until(pushed + 12);
        return [first, pushed, early, live.settled(), rows, live.goal.slice(), given.tolerance];
    """
    (first, before, early, goal), pushed, none, last, after, aim, tolerance = run(live, script, tmp_path)
    assert tolerance == pytest.approx(0.005 * sum(link.body.length for link in live.arm.links), rel=0.1)
    assert none is None and set(early) == {None}
    for rows, start, r, found in ((before, 0.0, goal, first), (after, pushed, aim, last)):
        rows = np.array(rows)
        target = live.rigid.tip(np.array(r))[:3, 3]
        away = np.linalg.norm(live.model.tip(rows[:, 2:])[:, :3, 3] - target, axis=1)
        assert rows[:, 1] == pytest.approx(away, abs=1e-12)
        outside = rows[away > tolerance, 0]
        assert 0.2 < found == pytest.approx(outside.max() - start, abs=0.006)  # it looks every 5 ms


@needs_node
@pytest.mark.parametrize("name", ["subudhi-morris", "hanging"])
def test_composite_control_settles_where_joint_pd_still_swings(name, tmp_path):
    """On the way to a target, and under gravity in the equilibrium that the target has."""
    live = alive(name)
    script = """
        return ["pd", "composite"].map((controller) => {
            live.reset();
            live.use(controller);
            live.aim([0.9, -0.5]);
            live.advance(8);
            return [live.fault, live.tipError(), live.settled(), live.q.slice(), live.u.slice()];
        });
    """
    (_, _, slow, _, _), (fault, error, quick, q, u) = run(live, script, tmp_path)
    expected_q, expected_u = equilibrium(live.plain, [0.9, -0.5])
    assert fault == "" and (slow is None or (quick is not None and quick < slow))
    assert q == pytest.approx(expected_q, abs=1e-4) and u == pytest.approx(expected_u, abs=1e-2)
    assert name != "subudhi-morris" or error < 1e-4


@needs_node
def test_composite_control_moves_gently_at_every_bandwidth(tmp_path):
    """Computed torque follows all of the acceleration, so that the reference of a soft arm is slower than under PD."""
    live = alive("canadarm")
    script = """
        return given.composite.stops.map((_, place) => {
            live.reset();
            live.use("composite");
            live.bandwidth(place);
            let most = 0;
            while (live.time < 10 && !live.fault) {
                live.advance(0.1);
                most = Math.max(most, ...live.measured().deflection.map(Math.abs));
            }
            return [live.fault, live.tipError() / given.reach, most / given.reach];
        });
    """
    for fault, error, bent in run(live, script, tmp_path):
        assert fault == "" and error < 0.005 and 0.005 < bent < 0.06
    scales = time_scales(live.plain)
    r, a = live.target, live.calm * live.path[0]
    step = 1e-3
    zeta = scales.slow_slopes(r)[1][2] @ a
    tips = [live.plain.tip(scales.T @ np.concatenate([r, s * step * zeta]))[:3, 3] for s in (0.0, 1.0)]
    moved = np.linalg.norm(np.subtract(*tips)) / step
    assert moved == pytest.approx(0.03 * sum(link.body.length for link in live.arm.links), rel=0.05)


def test_why_there_is_no_composite_control():
    assert "is rigid" in alive("rigid-two-link").composites[1] and not alive("rigid-two-link").composites[0]
    data = numbers(alive("rigid-two-link"), alive("rigid-two-link").programs())
    assert data["composite"] is None and "use ComputedTorque" in data["without"]["Composite"]
    named = [program.name for program in alive("subudhi-morris").programs()]
    assert "composite" in named and "Composite" not in numbers(alive("subudhi-morris"), [])["without"]


# -- what goes wrong ---------------------------------------------------------------------------------------------------


@needs_node
def test_a_telescope_that_leaves_its_range_stops(tmp_path):
    """With a word, in the last state that was good; a reset goes on."""
    live = alive("theodore-ghosal")
    script = """
        live.use("none");
        live.qd[2] = 2.0;
        const went = live.advance(3.0);
        const word = live.fault, time = live.time;
        live.advance(1.0);
        const still = live.time === time && live.y.every(Number.isFinite);
        live.reset();
        live.advance(0.1);
        return [word, went < 3.0, still, live.fault, live.time];
    """
    word, stopped, still, after, time = run(live, script, tmp_path)
    assert (word, stopped, still, after) == ("slide.joint has left its range.", True, True, "")
    assert time == pytest.approx(0.1, abs=live.step)


@needs_node
@pytest.mark.parametrize("bad", ["NaN", "Infinity", "1e200"])
def test_a_motion_that_runs_away_stops(bad, tmp_path):
    live = alive("subudhi-morris")
    script = f"""
        live.force[0] = {bad};
        live.advance(0.5);
        return [live.fault, live.y.every(Number.isFinite), live.time];
    """
    word, finite, time = run(live, script, tmp_path)
    assert (word, finite) == ("The motion ran away.", True) and time < 0.5


@needs_node
def test_a_deadline_stops_and_time_is_not_owed(tmp_path):
    live = alive("subudhi-morris")
    script = """
        let asked = 0;
        const done = live.advance(1.0, () => ++asked === 3);
        return [done, live.time, live.advance(0.0)];
    """
    done, time, owed = run(live, script, tmp_path)
    assert done == pytest.approx(48 * live.step) == time and owed == 0


@needs_node
def test_parts_of_steps_are_kept(tmp_path):
    """A hundred frames of any length are as long as their sum."""
    live = alive("subudhi-morris")
    time = run(live, "for (let i = 0; i < 100; i++) live.advance(0.0167); return live.time;", tmp_path)
    assert time == pytest.approx(1.67, abs=live.step)


# -- the step ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["subudhi-morris", "hanging", "canadarm"])
def test_the_step_is_stable_wherever_sliders_may_go(name):
    """RK4's growth is no more than 1 for every pole at the ends of what can be changed, with a margin of two."""
    live = alive(name)
    z = 2.0 * live.step * live.poles[live.poles.real <= 1e-6 * np.abs(live.poles)]
    z = z.real.clip(max=0) + 1j * z.imag
    growth = np.abs(1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24)
    assert growth.max() <= 1 + 1e-9
    assert live.step * live.fastest[0] <= COARSE * (1 + 1e-12) and live.step <= LONGEST_STEP


def test_the_step_knows_the_fastest_corner():
    """A light load, everything stiff, the hardest joint controller: worked out here, and no faster than is known."""
    live = alive("hanging")
    p = live.model.p
    for slider in live.sliders:
        p = slider.at(p, slider.low if slider.key == "payload" else slider.high)
    model, q, n = live.model.at(p), live.q, len(live.q)
    B = model.input_matrix(q)
    K = np.array(model.slope("restoring_force", 0)(q)) + B @ np.diag(KP_STOPS[-1] * live.Kp) @ B.T
    D = np.array(model.slope("damping_force", 1)(q, 0 * q)) + B @ np.diag(KD_STOPS[-1] * live.Kd) @ B.T
    lower = -np.linalg.solve(model.mass_matrix(q), np.hstack([K, D]))
    size = np.abs(np.linalg.eigvals(np.vstack([np.eye(n, 2 * n, n), lower]))).max()
    assert size <= live.fastest[0] * (1 + 1e-9)
    assert live.step * size <= COARSE * (1 + 1e-9)


@needs_node
def test_the_fastest_corner_runs(tmp_path):
    """Everything stiff and hard: no numbers run away, and the arm arrives."""
    live = alive("hanging")
    script = """
        live.use("pd");
        for (const { key, high } of given.sliders) live.set(key, high);
        live.set("payload", given.sliders[0].low);
        live.gains(given.kpStops.length - 1, given.kdStops.length - 1);
        live.aim([1.0, 1.0]);
        live.advance(10);
        return [live.fault, Array.from(live.seen(), (y, j) => live.goal[j] - y), live.drift().relative];
    """
    fault, gap, drift = run(live, script, tmp_path)
    assert fault == "" and np.abs(gap).max() < 0.05 and abs(drift) < 1e-4


def test_a_stiff_arm_has_fewer_modes():
    """The fastest go first, one after another, until the step can be borne; the page says which."""
    stiff = {"y": 2, "axial": 2}
    beam = {"type": "beam", "length": 0.8, "mass": 0.5, "EI": 30.0, "EA": 1e13, "modes": stiff}
    joint = {"type": "revolute", "stiffness": 1e12, "rotor_inertia": 1e-6}
    arm = fa.Arm(name="stiff", links=[{"name": "rod", "joint": joint, "body": beam, "hub_inertia": 0.05}])
    live = made(arm)
    assert live.arm.coordinates == ("rod.joint", "rod.y1", "rod.y2")
    assert set(live.left_out) == {"rod joint: rigid", "rod axial: 0 of 2 modes"}
    assert live.bearable and live.step > 1e-5
    assert numbers(live, [])["leftOut"] == list(live.left_out)
    assert alive("subudhi-morris").left_out == ()


def test_a_rigid_arm_is_alive_too():
    live = made(fa.load("rigid-two-link"), target=[0.4, 0.4])
    assert [slider.key for slider in live.sliders] == ["payload", "gravity"]
    assert live.bearable and live.fastest[1] == pytest.approx(0.0, abs=20.0)
    assert live.without_regulator == "" and len(live.regulators) == 5


def test_why_there_is_no_regulator():
    live = made(fa.load("theodore-ghosal"))
    assert live.regulators == [] and "is neither stable nor controllable" in live.without_regulator
    assert numbers(live, [])["lqr"] is None


# -- what is played ----------------------------------------------------------------------------------------------------


def test_a_scenario_says_start_target_and_gains():
    _, text, live = _live(fa.load_scenario("canadarm-slew-pd"))
    assert "joint PD" in text
    assert live.target.tolist() == [0.75, 0.5, 1.0] and (live.q == 0).all()
    assert live.Kp.tolist() == [113400.0, 30000.0, 507.0] == live.Kd.tolist()
    assert _live("canadarm-slew-pd")[2].Kp.tolist() == live.Kp.tolist()
    assert _live("canadarm-slew-composite")[2].Kp.tolist() != live.Kp.tolist()
    assert _live(fa.Model(fa.load("subudhi-morris")))[0] == "subudhi-morris"


def test_files_are_arms_or_scenarios(tmp_path):
    arm = tmp_path / "arm.toml"
    arm.write_text('name = "mine"\n[[links]]\nname = "a"\nbody = { type = "rigid", length = 1.0, mass = 1.0 }\n')
    scenario = tmp_path / "push.toml"
    scenario.write_text('name = "push"\narm = "arm.toml"\nuntil = 1.0\n')
    assert _live(str(arm))[0] == "mine" and _live(str(scenario))[0] == "push"
    assert _live("canadarm")[1] == fa.load("canadarm").description  # the arm, not the scenario of the same name


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            "nobody",
            r"^play: unknown arm or scenario 'nobody'; give a \.toml, \.urdf, \.xml, \.mjcf or \.sdf file, or the name",
        ),
        ("no.toml", r"no\.toml: cannot be read"),
        (3, "^play: the object to play is 3; it must be an Arm, a Model, a Scenario or a name$"),
        (None, "the object to play is None"),
    ],
)
def test_what_cannot_be_played(what, message):
    with pytest.raises(DescriptionError, match=message):
        play(what)


def test_an_arm_without_actuators_is_not_played():
    beam = {"type": "beam", "length": 1.0, "mass": 1.0, "EI": 10.0}
    arm = fa.Arm(name="post", links=[{"name": "a", "joint": {"type": "fixed"}, "body": beam}])
    with pytest.raises(DescriptionError, match=r"^play: arm 'post' has no actuated joint, which the live page needs$"):
        play(arm)


def test_flags_and_places_are_checked(tmp_path):
    with pytest.raises(DescriptionError, match="show is 'yes'"):
        play("rigid-two-link", show="yes")
    (tmp_path / "a.html").mkdir()
    with pytest.raises(DescriptionError, match="it is a folder"):
        play("rigid-two-link", tmp_path / "a.html", show=False)
    description = tmp_path / "two.toml"
    description.write_text("mine")
    with pytest.raises(DescriptionError, match=r"^play: path 'two.toml': it must end with .html or .htm$"):
        play("rigid-two-link", description, show=False)
    assert description.read_text() == "mine"


def test_a_page_is_one_file(tmp_path):
    path = play("rigid-two-link", tmp_path / "two.html", show=False)
    text = path.read_text(encoding="utf-8")
    assert text == play("rigid-two-link").html
    assert text.count("<!DOCTYPE html>") == 1 and "http-equiv" in text
    for name in ("motion", "drawing", "energy", "rigid", "joint_pd", "regulator", "statics"):
        assert f"var {name} = (function" in text


def test_programs_are_short_enough_for_v8():
    for program in alive("subudhi-morris").programs():
        assert len(javascript(program)) < 400_000
    assert live_module.BUDGET / 4 * LONGEST_STEP > 10_000 and math.isfinite(live_module.FINE)
    assert isinstance(alive("subudhi-morris"), Live)


@needs_node
def test_a_browser_that_computes_wrongly_is_reported(tmp_path):
    """At its start the engine compares each program with values that Python has sent; a sine that is off is found."""
    live = alive("subudhi-morris")
    fine, wrong, moved = run(
        live,
        """
        const sine = Math.sin;
        Math.sin = (x) => sine(x) * (1 + 1e-8);
        const other = new flexarm.Live(given, live.programs);
        other.reset();
        other.advance(0.1);
        Math.sin = sine;
        return [live.fault, other.fault, other.time];
        """,
        tmp_path,
    )
    assert fine == "" and "computes" in wrong and moved == 0
