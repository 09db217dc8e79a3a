"""Exact motions of nonlinear arms' outputs, against the zero dynamics solved by SciPy, the linear inverse and runs."""

import casadi as ca
import numpy as np
import oracle
import pytest
from scipy.integrate import solve_bvp
from scipy.interpolate import make_interp_spline
from scipy.special import betainc

import flexarm as fa
from flexarm.analysis import configuration, equilibrium, nonlinear_inversion, stable_inversion

TIP, XY = [fa.TipPosition(axes="y")], [fa.TipPosition(axes="xy")]
RIGID = fa.Rigid(length=0.4, mass=0.5, com=(0.2, 0, 0), inertia=0.01)


@pytest.fixture(scope="module")
def one():
    beam = fa.Beam(length=1.1, mass=0.5, EI=5.0, modes={"y": 2})
    link = fa.Link(name="a", body=beam, hub_inertia=0.1)
    return fa.Model(fa.Arm(name="one", links=[link], payload=fa.Payload(mass=0.1)))


def smooth(duration, count):
    """Times, and a motion from 0 to 1 with three continuous derivatives."""
    t = np.linspace(0.0, duration, count)
    x = t / duration
    return t, 35 * x**4 - 84 * x**5 + 70 * x**6 - 20 * x**7


def smoother(duration, count, k=5):
    """Times, and a motion from 0 to 1 with k continuous derivatives."""
    t = np.linspace(0.0, duration, count)
    return t, betainc(k + 1, k + 1, t / duration)


def run_under(model, inverse, **options):
    n = model.nv
    u = fa.Table(inverse.time - inverse.time[0], inverse.u)
    start = {"q0": inverse.x[0, :n], "qd0": inverse.x[0, n:]}
    return fa.simulate(model, inverse.span, u=u, samples=len(inverse.time), progress=False, **start, **options)


def outputs_at_rest(model, sensors, q0):
    q = equilibrium(model, q0, held="joints")[0]
    return np.array(model.output_function(sensors)(q, *np.zeros((2, model.nv)))).ravel()


class TestOneLink:
    def test_a_small_motion_is_that_of_the_linear_inverse(self, one):
        t, x = smooth(1.0, 501)
        found = nonlinear_inversion(one, TIP, t, 1e-3 * x, [0.0])
        linear = stable_inversion(one.linearize(outputs=TIP), t, 1e-3 * x)
        assert len(found.time) == len(linear.time)
        assert found.time == pytest.approx(linear.time, abs=1e-12)
        assert found.zeros[found.zeros.real > 0] == pytest.approx(linear.zeros[linear.zeros.real > 0], rel=1e-6)
        assert np.abs(found.u - linear.u).max() < 1e-4 * np.abs(found.u).max()
        assert np.abs(found.x - linear.x).max() < 1e-4 * np.abs(found.x).max()
        assert found.lead == pytest.approx(linear.lead, abs=0.003)

    def test_a_large_motion_is_the_bounded_solution_of_the_zero_dynamics(self, one):
        """SciPy solves the flexible coordinates' equations, with the joint's angle from the tip by hand."""
        size, L = 0.3, 1.1
        t, x = smooth(1.0, 401)
        found = nonlinear_inversion(one, TIP, t, size * x, [0.0], before=0.3, after=0.3)
        phi = one.output_slopes(TIP, *np.zeros((3, 3)))[0][0, 1:]  # deflection of the tip for each mode

        def wanted(time):
            s = np.clip(time, 0.0, 1.0)
            p = 35 * s**4 - 84 * s**5 + 70 * s**6 - 20 * s**7
            v = 140 * s**3 - 420 * s**4 + 420 * s**5 - 140 * s**6
            a = 420 * s**2 - 1680 * s**3 + 2100 * s**4 - 840 * s**5
            return size * p, size * v, size * a

        def angle(y, w):
            return np.arcsin(y / np.hypot(L, w)) - np.arctan2(w, L)

        def rates(time, z):
            y, yd, ydd = wanted(time)
            eta, etad = z[:2], z[2:]
            w, wd = phi @ eta, phi @ etad
            theta = angle(y, w)
            s, c = np.sin(theta), np.cos(theta)
            lever = L * c - w * s  # dy / d theta of y = L sin theta + w cos theta
            thetad = (yd - wd * c) / lever
            # y'' = lever theta'' + c w'' + rest
            rest = -(L * s + w * c) * thetad**2 - 2 * s * wd * thetad
            q, qd = np.vstack([theta, eta]).T, np.vstack([thetad, etad]).T
            M = one.mass_matrix(q)
            force = (one.bias(q, qd) + one.stiffness_force(q))[:, 1:]
            # M_et theta'' + M_ee eta'' + force = 0, theta'' = (ydd - rest - c phi eta'') / lever
            M_et, M_ee = M[:, 1:, 0], M[:, 1:, 1:]
            A = M_ee - M_et[:, :, None] * (c / lever)[:, None, None] * phi
            b = -force - M_et * ((ydd - rest) / lever)[:, None]
            return np.vstack([etad, np.linalg.solve(A, b[..., None])[..., 0].T])

        nodes = np.linspace(-0.3, 1.3, 161)
        solved = solve_bvp(
            rates, lambda a, b: np.concatenate([a[:2], b[:2]]), nodes, np.zeros((4, 161)), tol=1e-6, max_nodes=5000
        )
        assert solved.success
        eta = solved.sol(found.time)[:2]
        inside = (found.time > -0.15) & (found.time < 1.15)
        assert np.abs(eta.T - found.x[:, 1:3])[inside].max() < 1e-4 * np.abs(eta).max()
        assert np.abs(angle(found.y[:, 0], phi @ eta) - found.x[:, 0])[inside].max() < 1e-4
        # the linear inverse is off by far more
        linear = stable_inversion(one.linearize(outputs=TIP), t, size * x, before=0.3, after=0.3)
        assert np.abs(linear.x[:, 1:3] - eta.T[: len(linear.time)]).max() > 1e-2 * np.abs(eta).max()

    def test_a_run_moves_the_tip_as_wanted(self, one):
        t, x = smooth(1.0, 401)
        found = nonlinear_inversion(one, TIP, t, 0.3 * x, [0.0])
        run = run_under(one, found)
        tip = run.tip.sel(axis="y").values
        assert np.abs(tip - found.y[:, 0]).max() < 1e-7
        moving = (found.time >= 0) & (found.time <= 1)
        assert found.y[moving, 0] == pytest.approx(0.3 * x, abs=1e-9)
        assert np.abs(found.y[found.time < 0]).max() < 1e-9

    def test_an_output_that_stays_needs_no_motion(self, one):
        found = nonlinear_inversion(one, TIP, np.linspace(0.0, 1.0, 41), np.full(41, 0.2), [0.2])
        assert np.abs(found.x[:, 1:]).max() < 1e-9
        assert found.x[:, 0] == pytest.approx(np.arcsin(0.2 / 1.1), abs=1e-9)

    def test_with_gravity_the_ends_are_equilibria(self, one):
        links = [link.replace(body=link.body.replace(damping=0.05)) for link in one.arm.links]
        hanging = fa.Model(one.arm.replace(gravity=(0.0, -9.81, 0.0), links=links))
        t, x = smooth(1.0, 301)
        at_rest = fa.analysis.equilibrium(hanging, [-1.2], held="joints")
        y0 = np.array(hanging.output_function(TIP)(at_rest[0], np.zeros(3), np.zeros(3))).item()
        found = nonlinear_inversion(hanging, TIP, t, y0 + 0.2 * x, [-1.2])
        assert found.x[0, :3] == pytest.approx(at_rest[0], abs=1e-4)
        assert found.u[0] == pytest.approx(at_rest[1], rel=1e-3)
        assert found.u[-1] != pytest.approx(at_rest[1], rel=1e-2)
        assert np.abs(run_under(hanging, found).tip.sel(axis="y").values - found.y[:, 0]).max() < 1e-6


def test_two_links_move_their_tip_on_a_line():
    arm = fa.load("subudhi-morris")
    model = fa.Model(arm.replace(links=[link.replace(body=link.body.replace(damping=0.02)) for link in arm.links]))
    q0 = (0.3, 0.6)
    tip = model.output_function([fa.TipPosition(axes="xy")])
    start = np.array(tip(configuration(model, q0), np.zeros(model.nv), np.zeros(model.nv))).ravel()
    t, x = smooth(1.5, 301)
    found = nonlinear_inversion(
        model, [fa.TipPosition(axes="xy")], t, start + np.outer(x, [-0.25, 0.1]), q0, before=0.2, after=0.5
    )
    assert not found.minimum_phase
    run = run_under(model, found)
    assert np.abs(run.tip.values[:, :2] - found.y).max() < 1e-5
    # the tip stands still after the motion, while the links still swing
    after = found.time > 1.55
    assert np.ptp(found.y[after], axis=0).max() < 1e-9
    assert np.ptp(found.x[after, 2]) > 1e-4


class TestElasticJoints:
    def test_a_rigid_link_has_a_closed_form(self):
        """The motor's angle follows from the joint's and its second derivative, and the torque from its fourth."""
        L, m, c, I, d, Ir, G, K, g = 0.7, 1.3, 0.4, 0.05, 0.2, 0.03, 2.5, 90.0, 9.81
        joint = fa.Revolute(rotor_inertia=Ir, gear_ratio=G, damping=d, stiffness=K)
        body = fa.Rigid(length=L, mass=m, com=(c, 0, 0), inertia=I)
        links = [fa.Link(name="a", joint=joint, body=body)]
        model = fa.Model(fa.Arm(name="one", links=links, gravity=(0, -g, 0)))
        t, x = smoother(0.8, 201)
        found = nonlinear_inversion(model, TIP, t, -0.5 + 0.6 * x, [-0.8])

        s = ca.SX.sym("s")
        power = [np.polynomial.Polynomial([0, 1]) ** 5 * np.polynomial.Polynomial([1, -1]) ** 5]
        share = power[0].integ()
        y = -0.5 + 0.6 * sum(each * s**k for k, each in enumerate(share.coef / share(1.0)))

        def rate(expression):
            return ca.jacobian(expression, s) / 0.8

        q = ca.asin(y / L)
        theta = q + ((I + m * c**2) * rate(rate(q)) + d * rate(q) + m * g * c * ca.cos(q)) / K
        torque = Ir * G**2 * rate(rate(theta)) + K * (theta - q)
        expected = np.array(ca.Function("exact", [s], [q, theta, rate(q), rate(theta), torque]).map(201)(t / 0.8))[
            :, 0
        ].T
        assert np.array_equal(found.time, t)
        assert not found.zeros.size
        assert np.abs(found.x - expected[:, :4]).max() < 1e-9
        assert np.abs(found.u - expected[:, 4:]).max() < 1e-7 * np.abs(found.u).max()

    def test_a_flexible_link_has_the_bounded_motion_of_lagranges_equations(self):
        """SciPy solves the equations of the link and of the damped spring, with the joints from the tip by hand.

        Lagrange's equations come from the places of the arm's points, without the package's mechanics.
        """
        L1, L2, K, D = 0.6, 0.8, (60.0, 45.0), 0.9
        upper = fa.Link(
            name="a",
            joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.02, gear_ratio=1.5, stiffness=K[0]),
            body=fa.Rigid(length=L1, mass=1.4, com=(0.25, 0, 0), inertia=0.06),
        )
        fore = fa.Link(
            name="b",
            joint=fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.01, gear_ratio=2.0, stiffness=K[1], spring_damping=D),
            body=fa.Beam(length=L2, mass=0.5, EI=6.0, modes={"y": 1}),
        )
        arm = fa.Arm(name="two", links=[upper, fore], payload=fa.Payload(mass=0.15))
        model, q0, before, after = fa.Model(arm), (0.4, 0.9), 0.4, 0.8
        t, x = smoother(0.9, 361)
        start, delta = outputs_at_rest(model, XY, q0), np.array([-0.25, 0.2])
        found = nonlinear_inversion(model, XY, t, start + np.outer(x, delta), q0, before=before, after=after)
        phi = model.output_slopes(XY, *np.zeros((3, 5)))[0][1, 2]  # deflection of the tip

        # the joints from the tip's place and the deflection, and Lagrange's equations
        lagrange = oracle.Lagrangian(arm)
        assert lagrange.velocities == model.velocities == ("a.joint", "b.joint", "b.y1", "a.motor", "b.motor")
        y, yd, ydd = (ca.SX.sym(name, 2) for name in ("y", "yd", "ydd"))
        eta, etad, etadd, theta, thetad = (ca.SX.sym(name) for name in ("e", "ed", "edd", "m", "md"))
        w = phi * eta
        elbow = ca.acos((y.T @ y - L1**2 - L2**2 - w**2) / (2 * L1 * ca.sqrt(L2**2 + w**2)))
        reach = ca.sqrt(L2**2 + w**2)
        shoulder = ca.atan2(y[1], y[0]) - ca.atan2(reach * ca.sin(elbow), L1 + reach * ca.cos(elbow))
        q = ca.vertcat(shoulder, elbow - ca.atan2(w, L2), eta)
        known, rates = ca.vertcat(y, eta, yd, etad), ca.vertcat(yd, etad, ydd, etadd)
        qd = ca.jtimes(q, known, rates)
        qdd = ca.jtimes(qd, known, rates)
        whole, wholed = ca.vertcat(q, 0.0, theta), ca.vertcat(qd, 0.0, thetad)
        symbols = [ca.SX.sym(name, 5) for name in ("q", "qd")]
        M = ca.jacobian(lagrange._momentum(*symbols), symbols[1])
        force = lagrange._bias(*symbols) + lagrange.D @ symbols[1] + lagrange._stiffness(symbols[0])
        equations = ca.Function("equations", symbols, [M, force])(whole, wholed)
        E = equations[0][:, :3] @ qdd + equations[1]
        unknown = ca.vertcat(etadd, thetad)
        matrix, rest = ca.jacobian(E[1:3], unknown), ca.substitute(E[1:3], unknown, ca.SX.zeros(2))
        given = ca.vertcat(y, yd, ydd)
        state = ca.vertcat(eta, etad, theta)
        solution = -ca.solve(matrix, rest)
        rate = ca.Function("rate", [given, state], [ca.vertcat(etad, solution)])
        motor = ca.substitute(E[0], unknown, solution) / K[0]  # with the motor at 0 in E
        seen = ca.Function("seen", [given, state], [q, motor])

        def commanded(time):
            inside = np.clip(time / 0.9, 0.0, 1.0)
            poly = np.polynomial.Polynomial([0, 1]) ** 5 * np.polynomial.Polynomial([1, -1]) ** 5
            share = poly.integ() / poly.integ()(1.0)
            levels = [share.deriv(k)(inside) / 0.9**k if k else share(inside) for k in range(3)]
            parts = [np.outer(delta, level) for level in levels]
            return np.vstack([start[:, None] + parts[0], *parts[1:]])

        def slopes(time, z):
            return np.array(rate.map(len(time))(commanded(time), z))

        q_start = np.array(seen(commanded(np.zeros(1))[:, 0], np.zeros(3))[0])[1, 0]
        nodes = np.linspace(-before, 0.9 + after, 400)
        guess = np.zeros((3, 400))
        guess[2] = q_start
        solved = solve_bvp(
            slopes, lambda a, b: np.array([a[0], a[2] - q_start, b[0]]), nodes, guess, tol=1e-6, max_nodes=20000
        )
        assert solved.success
        inside = (found.time > -0.15) & (found.time < 1.2)
        z = solved.sol(found.time)
        joints, first = (np.array(each).T for each in seen.map(len(found.time))(commanded(found.time), z))
        expected = np.hstack([joints, first, z[2:].T])
        size = np.ptp(expected, axis=0)
        assert size[2] > 0.01  # the deflection
        assert (np.abs(found.x[:, :5] - expected)[inside].max(axis=0) < 1e-6 * size).all()
        # torques from the motors' accelerations
        for i, (inertia, column) in enumerate(((0.02 * 1.5**2, 3), (0.01 * 2.0**2, 4))):
            spline = make_interp_spline(found.time, expected[:, column], k=5)
            twist = expected[:, column] - expected[:, i]
            twisting = spline(found.time, 1) - make_interp_spline(found.time, expected[:, i], k=5)(found.time, 1)
            torque = inertia * spline(found.time, 2) + K[i] * twist + (0.0, D)[i] * twisting
            assert np.abs(found.u[:, i] - torque)[inside].max() < 1e-4 * np.ptp(torque)

    @pytest.mark.parametrize(
        ("joints", "bodies", "rotor"),
        [
            ("rigid, elastic", "rigid, rigid", "relative"),  # the first torque acts two derivatives earlier
            ("damped, rigid", "rigid, beam", "relative"),
            ("elastic, damped", "rigid, beam", "absolute"),  # five derivatives
            ("elastic, elastic", "rigid, rigid", "absolute"),  # six derivatives
            ("elastic, rigid, damped", "rigid, rigid, rigid", "absolute"),  # in space
        ],
    )
    def test_random_arms_move_their_tips_as_wanted(self, joints, bodies, rotor):
        joints, bodies = joints.split(", "), bodies.split(", ")
        rng = np.random.default_rng(len(joints[0]) + len(bodies[1]) + len(rotor))
        space = len(joints) == 3
        links = []
        for i, (joint, body) in enumerate(zip(joints, bodies, strict=True)):
            numbers = {"rotor_inertia": rng.uniform(0.01, 0.05), "gear_ratio": rng.uniform(1, 3), "rotor": rotor}
            numbers["damping"] = rng.uniform(0.1, 1.0)
            if joint != "rigid":
                numbers["stiffness"] = rng.uniform(50, 300)
            if joint == "damped":
                numbers["spring_damping"] = rng.uniform(0.5, 1.0)
            axis = (0, 1, 0) if space and i else (0, 0, 1)
            L, m = rng.uniform(0.4, 0.9), rng.uniform(0.4, 1.2)
            if body == "beam":
                made = fa.Beam(length=L, mass=m, EI=rng.uniform(20, 60), modes={"y": 1}, damping=0.05)
            else:
                made = fa.Rigid(length=L, mass=m, com=(0.4 * L, 0, 0), inertia=tuple(rng.uniform(0.01, 0.05, 3)))
            links.append(fa.Link(name=f"l{i}", joint=fa.Revolute(axis=axis, **numbers), body=made))
        gravity = (0, 0, -9.81) if space else (-9.81, 0, 0)
        model = fa.Model(fa.Arm(name="random", links=links, gravity=gravity, payload=fa.Payload(mass=0.3)))
        sensors, q0 = [fa.TipPosition(axes="xyz"[: len(links)])], (0.3, 0.8, 0.6)[: len(links)]
        t, x = smoother(0.8, 201, 7)
        y = outputs_at_rest(model, sensors, q0) + np.outer(x, (-0.1, 0.15, 0.1)[: len(links)])
        found = nonlinear_inversion(model, sensors, t, y, q0, after=0.1)
        run = run_under(model, found, rtol=1e-9)
        assert np.abs(run.tip.values[:, : len(links)] - found.y).max() < 1e-7
        moving = (found.time >= -1e-9) & (found.time < 0.8 + 1e-9)
        assert found.y[moving] == pytest.approx(y, abs=1e-10)

    def test_two_flexible_links_move_their_tip_on_a_line(self):
        arm = fa.load("subudhi-morris-elastic")
        model = fa.Model(arm.replace(links=[link.replace(body=link.body.replace(damping=0.02)) for link in arm.links]))
        t, x = smoother(1.5, 201)
        y = outputs_at_rest(model, XY, (0.3, 0.6)) + np.outer(x, [-0.25, 0.1])
        found = nonlinear_inversion(model, XY, t, y, (0.3, 0.6), before=0.2, after=0.3)
        assert (found.zeros.real > 0).sum() == 3
        assert np.abs(run_under(model, found, rtol=1e-9).tip.values[:, :2] - found.y).max() < 1e-6

    def test_the_encoder_of_a_motor_moves_directly(self):
        """Two derivatives suffice, and the links swing behind the springs."""
        joint = fa.Revolute(rotor_inertia=0.02, gear_ratio=1.5, stiffness=80.0, damping=0.6)
        body = fa.Rigid(length=0.7, mass=1.2, com=(0.3, 0, 0), inertia=0.05)
        model = fa.Model(fa.Arm(name="one", links=[fa.Link(name="a", joint=joint, body=body)]))
        t, x = smoother(0.5, 201, 4)
        found = nonlinear_inversion(model, [fa.Encoder(coordinate="a.motor")], t, 0.8 * x, [0.0], after=1.0)
        J = 0.05 + 1.2 * 0.3**2
        assert found.zeros == pytest.approx(np.roots([J, 0.6, 80.0])[::-1], rel=1e-9)
        assert np.abs(run_under(model, found, rtol=1e-9).q.values[:, 1] - found.y[:, 0]).max() < 1e-7

    def one(self, **drive):
        joint = fa.Revolute(rotor_inertia=0.02, gear_ratio=1.5, stiffness=80.0, drive=fa.Drive(**drive))
        body = fa.Rigid(length=0.7, mass=1.2, com=(0.3, 0, 0), inertia=0.05)
        return fa.Model(fa.Arm(name="one", links=[fa.Link(name="a", joint=joint, body=body)]))

    @pytest.mark.parametrize(("order", "passes"), [(3, False), (4, True)])
    def test_a_command_needs_four_derivatives(self, order, passes):
        t, x = smoother(1.0, 101, order)
        if passes:
            assert nonlinear_inversion(self.one(), TIP, t, 0.3 * x, [0.0]).time.size == 101
            return
        with pytest.raises(
            fa.DescriptionError, match=r"derivative 4 of tip_y, which is not smooth near t = (0|1|0\.9)"
        ):
            nonlinear_inversion(self.one(), TIP, t, 0.3 * x, [0.0])

    def test_a_command_in_rounded_numbers(self):
        t, x = smoother(1.0, 101)
        with pytest.raises(fa.DescriptionError, match="enough unrounded samples"):
            nonlinear_inversion(self.one(), TIP, t, np.round(0.3 * x, 5), [0.0])

    def test_an_end_stop_on_the_way(self):
        t, x = smoother(1.0, 201)
        model = self.one(stops={"lower": -1.0, "upper": 0.2, "stiffness": 500.0})
        assert nonlinear_inversion(model, TIP, t, 0.1 * x, [0.0]).time.size == 201
        with pytest.raises(fa.FlexarmError, match=r"changes within a step near t = 0\.[456]"):
            nonlinear_inversion(model, TIP, t, 0.3 * x, [0.0])

    def test_an_input_that_changes_fast(self):
        t, x = smoother(1.0, 201)
        model = self.one(friction={"coulomb": 0.5})
        with pytest.warns(
            fa.FlexarmWarning, match=r"changes fast near t = 0\.(49|5)\d* s.* take more samples"
        ) as caught:
            nonlinear_inversion(model, TIP, t, x * (1 - x), [0.0])
        assert caught[0].filename == __file__

    def test_inputs_without_effect(self):
        t, x = smoother(1.0, 101)
        with pytest.raises(fa.DescriptionError, match="inputs do not determine the outputs"):
            nonlinear_inversion(self.one(), [fa.TipPosition(axes="z")], t, 0.0 * x, [0.0])

    def test_a_stretched_arm(self):
        joint = fa.Revolute(rotor_inertia=0.1, stiffness=50.0, damping=0.1)
        model = fa.Model(fa.Arm(name="two", links=[fa.Link(name=each, joint=joint, body=RIGID) for each in "ab"]))
        y = np.tile(outputs_at_rest(model, XY, (0.3, 0.0)), (41, 1))
        with pytest.raises(
            fa.DescriptionError, match=r"not act on the outputs independently where these are 0\.7643, "
        ):
            nonlinear_inversion(model, XY, np.linspace(0.0, 1.0, 41), y, (0.3, 0.0))

    def test_too_many_derivatives(self):
        links = [
            fa.Link(name=name, joint=fa.Revolute(rotor_inertia=0.1, stiffness=50.0, rotor="absolute"), body=body)
            for name, body in (("a", RIGID), ("b", RIGID), ("c", RIGID), ("d", RIGID))
        ]
        model = fa.Model(fa.Arm(name="four", links=links))
        sensors = [fa.Encoder(coordinate=f"{name}.joint") for name in "abcd"]
        t, x = smoother(1.0, 101)
        with pytest.raises(fa.DescriptionError, match=r"act on derivative 10 of the outputs; at most 8 .* rotor = "):
            nonlinear_inversion(model, sensors, t, np.outer(x, [0.1] * 4), [0.0] * 4)


class TestRefused:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"sensors": [fa.TipPosition(axes="xy")]}, "2 signals for 1 input"),
            ({"sensors": [fa.Tachometer(coordinate="a.joint")]}, "must measure positions"),
            ({"y": np.zeros((3, 1))}, "y has shape (3, 1)"),
            ({"y": np.linspace(0, 1, 101)}, "begin and end at rest"),
            ({"times": np.geomspace(0.1, 1.0, 101)}, "increase in equal steps"),
            ({"before": 1000.0}, "at most 20000 are allowed"),
            ({"after": -1.0}, "after"),
            ({"tolerance": 0.0}, "tolerance"),
            ({"model": 3}, "model"),
        ],
    )
    def test_arguments(self, one, change, words):
        t, x = smooth(1.0, 101)
        given = {"model": one, "sensors": TIP, "times": t, "y": 0.1 * x, "q0": [0.0]}
        with pytest.raises(fa.DescriptionError) as caught:
            nonlinear_inversion(**given | change)
        assert words in str(caught.value)

    def test_zeros_on_the_axis(self, one):
        t, x = smooth(1.0, 101)
        with pytest.raises(fa.DescriptionError, match="on the imaginary axis"):
            nonlinear_inversion(one, [fa.Encoder(coordinate="a.joint")], t, 0.1 * x, [0.0])

    def test_a_zero_at_the_origin(self):
        """The second joint is passive, and nothing brings it back."""
        joints = ("a", fa.Revolute(rotor_inertia=0.1)), ("b", fa.Revolute(passive=True, damping=0.3))
        links = [fa.Link(name=name, joint=joint, body=RIGID) for name, joint in joints]
        t, x = smooth(1.0, 101)
        model = fa.Model(fa.Arm(name="loose", links=links))
        with pytest.raises(fa.DescriptionError, match=r"zeros at 0 rad/s on the imaginary axis"):
            nonlinear_inversion(model, [fa.Encoder(coordinate="a.joint")], t, 0.1 * x, [0.0, 0.4])

    def test_arms_that_are_not_supported(self):
        t, x = smooth(1.0, 101)
        model = fa.Model(fa.load("canadarm-free"))
        with pytest.raises(fa.DescriptionError, match="a free base, which is not supported"):
            nonlinear_inversion(model, TIP, t, x, [0.0] * len(model.inputs))

    def test_a_tip_beyond_reach(self, one):
        t, x = smooth(1.0, 101)
        with pytest.raises(fa.FlexarmError, match="no rest position near q0"):
            nonlinear_inversion(one, TIP, t, 1.5 * x, [0.0])

    def test_a_motion_that_is_too_fast(self, one):
        t, x = smooth(0.2, 101)
        with pytest.raises(fa.FlexarmError, match="take a slower or smaller motion"):
            nonlinear_inversion(one, TIP, t, 0.9 * x, [0.0])
