"""Exact motions of nonlinear arms' outputs, against the zero dynamics solved by SciPy, the linear inverse and runs."""

import numpy as np
import pytest
from scipy.integrate import solve_bvp

import flexarm as fa
from flexarm.analysis import configuration, nonlinear_inversion, stable_inversion

TIP = [fa.TipPosition(axes="y")]


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


def run_under(model, inverse):
    n = model.nv
    u = fa.Table(inverse.time - inverse.time[0], inverse.u)
    start = {"q0": inverse.x[0, :n], "qd0": inverse.x[0, n:]}
    return fa.simulate(model, inverse.span, u=u, samples=len(inverse.time), progress=False, **start)


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
    t, x = smooth(1.5, 151)
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

    def test_elastic_joints(self):
        model = fa.Model(fa.load("subudhi-morris-elastic"))
        t, x = smooth(1.0, 101)
        with pytest.raises(fa.DescriptionError, match="do not accelerate the outputs directly"):
            nonlinear_inversion(model, [fa.TipPosition(axes="xy")], t, np.outer(x, [0.1, 0.1]), (0.3, 0.6))

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
