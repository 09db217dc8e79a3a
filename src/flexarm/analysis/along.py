"""Flexible motion along a trajectory of the drives: its equations, frozen eigenvalues, energy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import Fault, checked_array, checked_flag, checked_instance, refused
from flexarm.description.closures import refuse_closures
from flexarm.description.joints import refuse_balls
from flexarm.errors import DescriptionError
from flexarm.model import Model, ModelLike, as_model
from flexarm.model.linear import held, symmetric_modes

if TYPE_CHECKING:
    import casadi as ca

SYMMETRIC = 1e-12
"""Relative difference of M and M' that counts as rounding, as a share of the inertias of the two coordinates."""


def flexible_equations(model: ModelLike, straight: bool = False) -> "ca.Function":
    """Equations M z_dd + C z_d + K z = g of the flexible motion with given drive motions, as a CasADi Function.

    z are small deviations of the coordinates that have no input, while the coordinates of the drives follow their
    motion. M, C and K are exact derivatives of the inverse dynamics (Theodore & Ghosal, eqs. 38, 39). A free base is
    part of z. Its six entries are a translation and a rotation along its axes, and their rates are those of z.

    Parameters
    ----------
    straight : bool
        True for equations about z = 0, the undeformed arm. The Function then takes q, qd and qdd of the inputs'
        coordinates alone, (m,), and z is the complete deformation. This form is not valid for a free base, which moves
        far. False for equations about any state, as a function of q (nq,), qd and qdd, (n,).

    Returns
    -------
    casadi.Function
        With one result, M, C, K and g side by side, (k, 3k + 1).
    """
    with refused("flexible_equations"):
        model = as_model(model)
        checked_flag(straight, "straight")
        if straight and model.arm.free:
            raise Fault("straight", f"is True; the base of arm {model.arm.name!r} is free, and moves with the drives")
    refuse_closures(model, "flexible_equations")
    refuse_balls(model, "flexible_equations")
    where = "straight" if straight else "anywhere"
    return model.derived(f"flexible equations, {where}", lambda: _flexible_equations(model, straight))


def _flexible_equations(model: Model, straight: bool) -> "ca.Function":
    import casadi as ca

    driven = list(model.arm.actuated)
    free = [i for i in range(model.nv) if i not in driven]
    N = held(model.input_matrix(np.array(model.arm.rest))[:, : len(driven)])
    inverse = model.fixed("inverse_dynamics")
    sizes = {"q": model.nq, "qd": model.nv, "qdd": model.nv}
    states = [ca.SX.sym(name, size) for name, size in sizes.items()]
    x = states
    if straight:
        given = [ca.SX.sym(name, len(driven)) for name in ("q", "qd", "qdd")]
        z = [ca.SX.sym(name, len(free)) for name in ("z", "zd", "zdd")]
        order = np.argsort([*driven, *free])
        still = [ca.vertcat(a, ca.SX.zeros(len(free)))[order.tolist()] for a in given]
        states = [a + ca.mtimes(N, b) for a, b in zip(still, z, strict=True)]
        demand = ca.mtimes(N.T, inverse(*states))
        K, C, M = (ca.jacobian(demand, b) for b in z)
        values = ca.substitute([ca.horzcat(M, C, K, -demand)], z, [ca.DM.zeros(len(free))] * 3)
        x = given
    else:
        demand = inverse(*states)
        K, C, M = (
            model.to_tangent(ca.jacobian(demand, b), states, name) for b, name in zip(states, sizes, strict=True)
        )
        if model.arm.free:  # qd changes by zd + W z and qdd by zdd + W zd + W' z
            W, W_rate = (_carried(x) for x in states[1:])
            K, C = K + ca.mtimes(C, W) + ca.mtimes(M, W_rate), C + ca.mtimes(M, W)
        K, C, M = (ca.mtimes(ca.mtimes(N.T, x), N) for x in (K, C, M))
        values = [ca.horzcat(M, C, K, -ca.mtimes(N.T, demand))]
    return ca.Function("flexible", x, [ca.cse(ca.densify(values[0]))], ["q", "qd", "qdd"], ["equations"])


def _carried(rates: "ca.SX") -> "ca.SX":
    """W, (n, n): contribution of a free base's twist (v, w) to the rates of a small translation and rotation.

    They are w x translation + v x rotation, and w x rotation.
    """
    import casadi as ca

    v, w = ca.skew(rates[:3]), ca.skew(rates[3:6])
    W = ca.SX.zeros(rates.numel(), rates.numel())
    W[:6, :6] = ca.blockcat([[w, v], [ca.SX.zeros(3, 3), w]])
    return W


def equations_along(function: "ca.Function", q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array, Array]:
    """Evaluate M, C, K (times, k, k) and g (times, k) of `flexible_equations` at states (times, n or m).

    For an arm on a free base q is (times, nq). Raises `DescriptionError` if the states do not fit the Function.
    """
    import casadi as ca

    with refused("equations_along"):
        checked_instance(function, ca.Function, "function")
        q, qd, qdd = (checked_array(x, name) for x, name in ((q, "q"), (qd, "qd"), (qdd, "qdd")))
        for i, (x, name) in enumerate(((q, "q"), (qd, "qd"), (qdd, "qdd"))):
            if x.ndim != 2 or len(x) != len(q) or x.shape[1] != function.size1_in(i):
                raise Fault(
                    name,
                    f"has shape {x.shape}; it must be (times, {function.size1_in(i)}), with as many times as the "
                    "others",
                )
    count = len(q)
    k = function.size1_out(0)
    values = np.array(function.map(count)(q.T, qd.T, qdd.T))
    blocks = np.moveaxis(values.reshape(k, count, 3 * k + 1), 1, 0)
    return blocks[..., :k], blocks[..., k : 2 * k], blocks[..., 2 * k : 3 * k], blocks[..., 3 * k]


def quadratic_eigenvalues(M: Array, C: Array, K: Array) -> Array:
    """Return the eigenvalues of M s^2 + C s + K in the upper half plane, lowest first.

    M, C and K are (times, k, k), the result is (times, k). A real pair is represented by its larger eigenvalue.

    Raises `DescriptionError` for matrices that do not fit together, and if M is singular, or too small.
    """
    with refused("quadratic_eigenvalues"):
        M, C, K = (checked_array(x, name) for x, name in ((M, "M"), (C, "C"), (K, "K")))
        for x, name in ((M, "M"), (C, "C"), (K, "K")):
            if x.ndim < 2 or x.shape != M.shape or x.shape[-1] != x.shape[-2]:
                raise Fault(name, f"has shape {x.shape}; all three must be (times, k, k)")
    M, C, K = _in_modes(M, C, K)
    n = M.shape[-1]
    A = np.zeros((*M.shape[:-2], 2 * n, 2 * n))
    A[..., :n, n:] = np.eye(n)
    try:
        A[..., n:, :] = -np.linalg.solve(M, np.concatenate([K, C], axis=-1))
    except np.linalg.LinAlgError:
        raise DescriptionError("quadratic_eigenvalues: M is singular; it must be an inertia matrix") from None
    if not np.isfinite(A).all():
        raise DescriptionError("quadratic_eigenvalues: M is too small beside C or K: their ratio is not finite")
    s = np.linalg.eigvals(A)
    return np.take_along_axis(s, np.lexsort((s.real, s.imag), axis=-1), axis=-1)[..., n:]


def _in_modes(M: Array, C: Array, K: Array) -> tuple[Array, Array, Array]:
    """Return the matrices in undamped modes, so that slow modes keep their digits beside fast ones.

    The matrices are returned unchanged if some M is not symmetric and positive definite, or too small beside K.
    """
    shape = M.shape
    M, C, K = (x.reshape(-1, *shape[-2:]) for x in (M, C, K))
    found = []
    for each in zip(M, C, K, strict=True):
        inertia, stiffness = each[0], (each[2] + each[2].T) / 2
        d = np.sqrt(np.abs(np.diag(inertia)))
        if not (np.abs(inertia - inertia.T) <= SYMMETRIC * np.outer(d, d)).all():
            return tuple(x.reshape(shape) for x in (M, C, K))  # type: ignore[return-value]
        try:
            with np.errstate(over="raise", invalid="raise"):
                _, V, _ = symmetric_modes(inertia, stiffness)
        except (np.linalg.LinAlgError, FloatingPointError):
            return tuple(x.reshape(shape) for x in (M, C, K))  # type: ignore[return-value]
        found.append([V.T @ x @ V for x in each])
    M, C, K = np.moveaxis(np.array(found), 1, 0).reshape(3, *shape)
    return M, C, K


def frozen_eigenvalues(
    model: ModelLike, q: Array, qd: Array, u: Array | None = None, qdd: Array | None = None
) -> Array:
    """Eigenvalues of the flexible motion at each time of a trajectory, with time frozen: (times, k) complex.

    The drives follow their motion exactly, as under inverse dynamics control of the joints (Theodore & Ghosal eqs. 35
    to 39, Figs. 6, 7). The result has the eigenvalue of positive frequency of each pair, lowest first. The real parts
    do not decide whether a time-varying motion is stable, because they depend on the scale of the coordinates.

    Parameters
    ----------
    q, qd : (times, nq), (times, n)
        For example those of a result of `simulate`.
    u, qdd : (times, m), (times, n)
        Give one of them: the inputs, from which the accelerations follow, or the accelerations themselves.

    Raises
    ------
    DescriptionError
        If both or neither are given, or if shapes do not fit. Also for u of an arm whose drives have states, or that
        has exogenous inputs.
    """
    with refused("along a trajectory"):
        model = as_model(model)
    M, C, K, _ = equations_along(flexible_equations(model), *_trajectory(model, q, qd, u, qdd))
    return quadratic_eigenvalues(M, C, K)


@final
@brief
@dataclass(frozen=True, eq=False)
class LyapunovRate:
    """Energy V = 1/2 (z_d' M z_d + z' K z) of the links' amplitudes z, (times,) [J], its rate, and its part [W]."""

    value: Array
    rate: Array
    stiffness: Array
    """The part 1/2 z' dK/dt z of the rate, which is Theodore & Ghosal's eq. 42.

    The rest is -1/2 z_d' dM/dt z_d to leading order. Their M - 2 N is skew-symmetric for all coordinates together, but
    not for the block of the flexible ones.
    """


def lyapunov_rate(
    model: ModelLike, q: Array, qd: Array, u: Array | None = None, qdd: Array | None = None
) -> LyapunovRate:
    """Energy of the links' vibration along a trajectory, and its rate (Theodore & Ghosal eqs. 41, 42).

    M and K are the blocks of the links' amplitudes, and K is that of strain alone. Arguments and errors are those of
    `frozen_eigenvalues`.
    """
    with refused("along a trajectory"):
        model = as_model(model)
    q, qd, qdd = _trajectory(model, q, qd, u, qdd)

    def trace() -> "ca.Function":
        import casadi as ca

        mass, stiff = model.fixed("mass_matrix"), model.fixed("stiffness_force")
        n, pose = model.nv, 7 * model.arm.free
        x, v, a = (ca.SX.sym(name, size) for name, size in (("q", model.nq), ("qd", n), ("qdd", n)))

        def rates(v: "ca.SX") -> "ca.SX":
            """Rates of q, without those of a free base's pose, on which M and K do not depend."""
            return ca.vertcat(ca.SX.zeros(pose), v[6 * model.arm.free :])

        F = list(model.arm.flexible)
        others = [i for i in range(n) if i not in F]
        K = model.to_tangent(ca.jacobian(stiff(x), x), [x], "q")[F, F]
        z = x[model.nq - n :][F]
        V = ca.bilin(mass(x)[F, F], v[F], v[F]) / 2 + ca.bilin(K, z, z) / 2
        moved = ca.SX.zeros(n)
        moved[others] = v[others]
        K_rate = ca.reshape(ca.jtimes(ca.vec(K), x, rates(moved)), K.shape)
        found = [V, ca.jtimes(V, x, rates(v)) + ca.jtimes(V, v, a), ca.bilin(K_rate, z, z) / 2]
        return ca.Function("lyapunov", [x, v, a], [ca.cse(ca.densify(ca.vertcat(*found)))])

    return LyapunovRate(*np.array(model.derived("lyapunov", trace).map(len(q))(q.T, qd.T, qdd.T)))


def _trajectory(model: Model, q: Array, qd: Array, u: Array | None, qdd: Array | None) -> tuple[Array, Array, Array]:
    """q, qd and qdd, (times, n) each."""
    refuse_closures(model, "analysis along a trajectory")
    refuse_balls(model, "analysis along a trajectory")
    if (u is None) == (qdd is None):
        raise DescriptionError("along a trajectory: give either u or qdd")
    if u is not None and (more := (*model.states, *model.exogenous)):
        why = f"the accelerations depend on {more[0]} too: give qdd instead of u"
        raise DescriptionError(f"along a trajectory: arm {model.arm.name!r}: {why}")
    q, qd = model.argument("q", q), model.argument("qd", qd)
    if q.ndim != 2 or qd.ndim != 2 or len(qd) != len(q):
        raise DescriptionError(f"along a trajectory: q has shape {q.shape} and qd {qd.shape}; both must be (times, n)")
    found = model.argument("qdd", qdd) if u is None else model.forward_dynamics(q, qd, u)
    return q, qd, np.broadcast_to(found, qd.shape)
