"""Motions with their derivatives: two masses, a pendulum, and arms, against closed forms and differences."""

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import expm

from flexarm.identification.motion import Motion, Shot, parted, shoot
from flexarm.native.kernel import LANES
from flexarm.native.tangent import differentiated


def two_masses():
    """J1 x1'' = u - k (x1 - x2) - d (x1' - x2'), J2 x2'' = -(...); y: both angles, and the spring's torque over u."""
    x, u, p = ca.SX.sym("x", 4), ca.SX.sym("u", 1), ca.SX.sym("p", 4)
    J1, J2, k, d = ca.vertsplit(p)
    torque = k * (x[0] - x[1]) + d * (x[2] - x[3])
    f = ca.vertcat(x[2], x[3], (u - torque) / J1, torque / J2)
    g = ca.vertcat(x[0], x[1], torque + ca.sin(k * d) * u)
    return ca.Function("f", [x, u, p], [f]), ca.Function("g", [x, u, p], [g])


P = np.array([0.7, 1.3, 40.0, 0.2])
X = np.array([0.1, -0.2, 0.3, 0.0])


@pytest.fixture(scope="module")
def motion():
    return Motion("two masses", two_masses)


def table(samples, steps, rng):
    return rng.normal(size=(samples, 2 * steps + 1, 1))


def run(motion, u, h, x=X, p=P, directions=0, **more):
    zero = np.zeros
    return motion(x, zero((4, directions)), p, zero((4, directions)), u, h, **more)


def linear(p):
    J1, J2, k, d = p
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2] = [-k / J1, k / J1, -d / J1, d / J1]
    A[3] = [k / J2, -k / J2, d / J2, -d / J2]
    return A, np.array([0, 0, 1 / J1, 0])


def test_a_linear_plant_moves_as_the_matrix_exponential_says(motion):
    """With u held the state after T is expm(A T) x + the integral of expm(A t) B u; the error falls as h^4."""
    A, B = linear(P)
    full = np.zeros((5, 5))
    full[:4, :4], full[:4, 4] = A, B * 0.8
    expected = (expm(full * 0.5) @ np.append(X, 1.0))[:4]
    errors = []
    for steps in (2, 4, 8):
        course = run(motion, np.full((26, 2 * steps + 1, 1), 0.8), 0.02 / steps)
        errors.append(np.abs(course.x - expected).max())
    assert errors[2] < 1e-7
    np.testing.assert_allclose(np.log2(np.array(errors[:2]) / errors[1:]), 4.0, atol=0.2)


@pytest.mark.parametrize("count", [1, 6, 8, 11, 19])
def test_derivatives_are_those_of_what_was_computed(motion, count):
    """Along any directions of state and parameters at once, against central differences, to their rounding."""
    rng = np.random.default_rng(count)
    u, h = table(40, 2, rng), 0.01
    dx, dp = rng.normal(size=(4, count)), rng.normal(size=(4, count)) * P[:, None]
    course = motion(X, dx, P, dp, u, h)
    e = 1e-5
    for i in range(count):
        ahead, behind = (run(motion, u, h, X + s * e * dx[:, i], P + s * e * dp[:, i]) for s in (1, -1))
        np.testing.assert_allclose(course.slopes[..., i], (ahead.y - behind.y) / (2 * e), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(course.ends[:, i], (ahead.x - behind.x) / (2 * e), rtol=1e-6, atol=1e-7)


def test_the_derivative_by_a_delay_is_that_of_the_inputs_time(motion):
    """u = sin(9 t), later by tau."""
    t = (np.arange(50)[:, None] + np.linspace(0, 1, 5)) * 0.02

    def later(tau):
        return run(motion, np.sin(9 * (t - tau))[..., None], 0.01)

    course = motion(
        X,
        np.zeros((4, 2)),
        P,
        np.zeros((4, 2)),
        np.sin(9 * t)[..., None],
        0.01,
        slope=9 * np.cos(9 * t)[..., None],
        delays=np.array([[0.0, 1.0]]),
    )
    e = 1e-5
    np.testing.assert_allclose(course.slopes[..., 1], (later(e).y - later(-e).y) / (2 * e), atol=1e-8)
    assert (course.slopes[..., 0] == 0).all() and np.abs(course.slopes[..., 1]).max() > 0.1


def test_inputs_are_taken_at_their_nodes(motion):
    """Simpson's rule: with no spring the rate after a step is (u0 + 4 u1 + u2) h / 6, whatever u does between."""
    u = np.array([[[1.0], [5.0], [-2.0]], [[7.0], [0.0], [0.0]]])
    course = run(motion, u, 0.3, np.zeros(4), np.array([2.0, 1.0, 0.0, 0.0]))
    assert course.x[2] == pytest.approx((1 + 4 * 5 - 2) * 0.3 / 6 / 2)
    assert (course.y[0] == 0).all()


def test_the_translated_loop_does_what_python_does(motion):
    """The same function, run by Python with arrays and functions in the place of addresses."""
    rng = np.random.default_rng(3)
    L, samples, steps, h = LANES, 3, 2, 0.02
    u = table(samples, steps, rng)
    dx, dp = rng.normal(size=(4, L)), rng.normal(size=(4, L))
    f, g, w = parted(*two_masses())
    F, G, W = differentiated(f), differentiated(g), differentiated(w)
    constants = np.stack([np.array(W(P, dp[:, i])).ravel() for i in range(L)], axis=1)
    start = np.vstack([np.tile(X[:, None], (1, L)), dx])

    def called(function):
        def evaluate(z, out):
            sizes = np.cumsum([function.numel_in(i) for i in range(function.n_in())])[:-1]
            for lane in range(L):
                value = function(*np.split(z.reshape(-1, L)[:, lane], sizes))
                out.reshape(-1)[lane : lane + L * function.numel_out(0) : L] = np.array(value).ravel()

        return evaluate

    shot = Shot(
        rate=called(F),
        output=called(G),
        states=4,
        inputs=1,
        outputs=3,
        samples=samples,
        steps=steps,
        h=h,
        u=u.ravel(),
        slope=np.zeros(u.size),
        delays=np.zeros(L),
        z=np.vstack([start, np.zeros((2, L)), constants]).ravel(),
        y=start.ravel().copy(),
        k=np.zeros(8 * L),
        total=np.zeros(8 * L),
        out=np.zeros(samples * 6 * L),
        stages=4,
        reach=np.array([0.5, 0.5, 1.0, 0.0]),
        weights=np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
        halves=np.array([0, 1, 1, 2]),
    )
    shoot(shot)
    course = motion(X, dx, P, dp, u, h)
    out = shot.out.reshape(samples, 6, L)
    np.testing.assert_allclose(course.y, out[:, :3, 0], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(course.slopes, out[:, 3:], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(course.ends, shot.y.reshape(8, L)[4:], rtol=1e-12, atol=1e-12)


def test_what_depends_on_parameters_alone_is_computed_once():
    """It is what f and g share; together they give them back."""
    f, g, w = parted(*two_masses())
    rng = np.random.default_rng(4)
    x, u = rng.normal(size=4), rng.normal(size=1)
    rate, output = two_masses()
    constants = w(P)
    np.testing.assert_allclose(np.array(f(x, u, constants)), np.array(rate(x, u, P)), rtol=1e-14)
    np.testing.assert_allclose(np.array(g(x, u, constants)), np.array(output(x, u, P)), rtol=1e-14)
    assert ca.OP_SIN not in {g.instruction_id(k) for k in range(g.n_instructions())}
    assert ca.OP_SIN in {w.instruction_id(k) for k in range(w.n_instructions())}
