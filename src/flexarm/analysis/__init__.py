"""Linear analysis: equilibria, poles and zeros, zero dynamics, responses, modes, eigenvalues along a trajectory.

    q, u = equilibrium(model, q0)
    system = model.linearize(q, 0 * q, u, outputs=[TipPosition(axes="y")])
    zeros(system, "tip_y", "u_upper_joint")

Functions of a system take a `control.StateSpace`, of a continuous time, with outputs and inputs by name or number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.analysis.rosenbrock import reduced, scaled
from flexarm.errors import DescriptionError, FlexarmError
from flexarm.model import Model, Sensor

Array = np.ndarray
Channels = str | int | Sequence[str | int] | None
"""Which outputs or inputs: one or several, by name or number; None: all."""

ORIGIN = 3e-8
"""Zeros below this share of the fastest pole are 0: what rounding makes of a double one, of a mode that is not seen."""


def equilibrium(model: Model, q: Array) -> tuple[Array, Array]:
    """Where the arm stands still with its drives as they are in q, and the inputs that hold it: (n,), (m,).

    Solves dV/dq = B u, B'(q_new - q) = 0 by Newton's method: links sag under gravity, springs of joints are wound.
    It may be one that the arm falls from: some of `model.frequencies` are then negative. Raises `FlexarmError` where
    none is found.
    """
    q0 = model.argument("q", q)
    if q0.ndim != 1:
        raise DescriptionError("equilibrium: q has more than one axis; give one configuration")
    n, m = len(q0), len(model.inputs)
    B = model.input_matrix(q0)
    slope = model.slope("restoring_force", 0)
    x, u = q0.copy(), np.zeros(m)
    for _ in range(50):
        K = np.array(slope(x))
        matrix = np.block([[K, -B], [B.T, np.zeros((m, m))]])
        rest = np.concatenate([B @ u - model.evaluate("restoring_force", x), np.zeros(m)])  # what drives turn stays
        try:
            step = np.linalg.solve(matrix, rest)
        except np.linalg.LinAlgError:
            break
        x, u = x + step[:n], u + step[n:]
        if not np.isfinite(x).all():
            break
        if np.abs(step[:n]).max() < 1e-12 * (1 + np.abs(x).max()):
            return x, u
    raise FlexarmError(f"arm {model.arm.name!r}: no equilibrium found near q; the arm may be too soft for its load")


# -- poles and zeros ---------------------------------------------------------------------------------------------------


def poles(system: Any) -> Array:
    """Eigenvalues of A, by size: (n,) complex [1/s].

    A double pole at zero, of a joint that is free to turn, is exact only to the square root of rounding.
    """
    return _by_size(np.linalg.eigvals(system.A))


def zeros(system: Any, output: Channels = None, input: Channels = None) -> Array:
    """Finite zeros from some inputs to some outputs, by size: (k,) complex [1/s].

    They are the s at which Rosenbrock's system matrix [A - s 1, B; C, D] loses rank: transmission zeros, and modes that
    these inputs do not reach or these outputs do not see. Those at infinity (two for each output that is a place and
    each input a force) are taken out by orthogonal transformations before any eigenvalue is computed, not sorted out
    after: A. Emami-Naeini and P. Van Dooren, Computation of zeros of linear multivariable systems, Automatica 18
    (1982) 415-430. As many outputs as inputs are usual; other numbers, and systems that lose rank everywhere, have the
    zeros that are left.

    Raises `DescriptionError` for an unknown output or input, and where no output depends on any input.
    """
    A, B, C, D, _, _, rate = scaled(*_channel(system, output, input))
    A, B, C, D, _ = reduced(A, B, C, D)
    A, C, B, D = (X.T for X in reduced(A.T, C.T, B.T, D.T)[:4])
    n = len(A)
    if not len(D):
        raise DescriptionError("zeros: no output depends on any of the inputs")
    if n == 0:
        return np.empty(0, dtype=complex)
    # [A - s 1, B; C, D] with D square and regular: in the null space of [C, D] a pencil of the size of A is left
    null = np.linalg.svd(np.hstack([C, D]))[2][len(C) :].T
    from scipy.linalg import eigvals

    s = eigvals(np.hstack([A, B]) @ null, null[:n])
    return _by_size(rate * np.where(np.abs(s) < ORIGIN, 0.0, s))


def is_minimum_phase(system: Any, output: Channels = None, input: Channels = None) -> bool:
    """Whether no zero lies in the right half plane; those on the imaginary axis, of an undamped arm, are allowed."""
    s = zeros(system, output, input)
    return bool((s.real <= 1e-6 * np.abs(s)).all())


@final
@dataclass(frozen=True, eq=False)
class ZeroDynamics:
    """The motions that leave the outputs at zero: x = basis z, u = gain z, z_dot = matrix z.

    The eigenvalues of `matrix`, (k, k) [1/s], are the zeros; `basis` is (states, k), `gain` (inputs, k). The z are no
    coordinates of the arm: only x and u mean something.
    """

    matrix: Array
    basis: Array
    gain: Array


def zero_dynamics(system: Any, output: Channels = None, input: Channels = None) -> ZeroDynamics:
    """The linear zero dynamics of as many outputs as inputs: what is left to move when the outputs are held at zero.

    An inverse-dynamics law for these outputs makes the arm do that (Lin & Lewis, section 5); it is unusable where
    `matrix` is unstable. Raises `DescriptionError` where the numbers differ, or where several inputs hold the outputs.
    """
    a, b, c, d = _channel(system, output, input)
    A, B, C, D, x_scale, u_scale, rate = scaled(a, b, c, d)
    if len(C) != B.shape[1]:
        raise DescriptionError(f"zero dynamics: {len(C)} outputs for {B.shape[1]} inputs; there must be as many")
    A, B, C, D, basis = reduced(A, B, C, D)
    if len(D) < B.shape[1]:
        raise DescriptionError("zero dynamics: the outputs depend on each other, or the inputs do; u is not unique")
    gain = -np.linalg.solve(D, C)
    return ZeroDynamics(rate * (A + B @ gain), x_scale[:, None] * basis, u_scale[:, None] * gain)


def _by_size(s: Array) -> Array:
    s = np.asarray(s, dtype=complex)[np.argsort(np.abs(s))]
    size = np.abs(s)
    group = np.cumsum(np.diff(size, prepend=0.0) > 1e-6 * size)  # those of a conjugate pair, or of +-s, are of one size
    angle = s / np.where(size > 0, size, 1.0)
    return s[np.lexsort((np.round(angle.real, 6), np.round(angle.imag, 6), group))]


def _channel(system: Any, output: Channels, input: Channels) -> tuple[Array, Array, Array, Array]:
    rows = _chosen("output", output, system.output_labels)
    columns = _chosen("input", input, system.input_labels)
    A, B, C, D = (np.asarray(X, dtype=float) for X in (system.A, system.B, system.C, system.D))
    return A, B[:, columns], C[rows], D[np.ix_(rows, columns)]


def _chosen(what: str, wanted: Channels, labels: list[str]) -> list[int]:
    if wanted is None:
        return list(range(len(labels)))
    found = []
    for each in [wanted] if isinstance(wanted, str | int) else wanted:
        if each not in labels and not (isinstance(each, int) and 0 <= each < len(labels)):
            raise DescriptionError(f"unknown {what} {each!r}; the system has {', '.join(labels)}")
        found.append(labels.index(each) if isinstance(each, str) else int(each))
    return found


# -- responses and modes -----------------------------------------------------------------------------------------------


def frequency_response(system: Any, omega: Array) -> Array:
    """C (j omega - A)^-1 B + D at frequencies [rad/s]: (frequencies, outputs, inputs) complex; infinite at a pole."""
    s = 1j * np.atleast_1d(np.asarray(omega, dtype=float))
    return np.moveaxis(system(s, squeeze=False, warn_infinite=False), -1, 0)


def mode_table(model: Model, q: Array, sensors: Sequence[Sensor] | None = None, tolerance: float = 1e-8) -> Any:
    """Every mode about a configuration, all drives free: how fast, how damped, who moves it and who sees it.

    With modes phi of M and K = d2V/dq2, phi' M phi = 1, and viscous damping D:

        damping_ratio    phi' D phi / (2 omega), exact for modal damping, else to first order
        controllability  |phi' b| / sqrt(b' M^-1 b): its square is the share of the kinetic energy of a kick by this
                         input that goes into the mode; squares of all modes add up to 1
        observability    |c phi| / sqrt(c M^-1 c'), c = y_q + lambda y_qd + lambda^2 y_qdd, lambda = j omega

    These are cosines of angles, as in A. M. A. Hamdan and A. H. Nayfeh, Measures of modal controllability and
    observability for first- and second-order linear systems, J. Guidance 12 (1989) 421-428, taken in the metric of the
    kinetic energy: they have no units and do not depend on the coordinates.

    `controllable` and `observable` belong to a frequency: all modes that share it must be told apart (the rank test of
    Popov, Belevitch and Hautus). Modes that turn or slide without restoring force share omega = 0.

    Parameters
    ----------
    q : (n,)
        An equilibrium, see `equilibrium`.
    sensors : list of Sensor, optional
        Default: the coordinates.
    tolerance : float
        Cosines below it count as zero.

    Returns
    -------
    xarray.Dataset
        frequency [rad/s], damping_ratio, controllable, observable, coordinate_most_moved (mode); shape (mode,
        coordinate); controllability (mode, input); observability (mode, output). A direction in which the arm would
        fall has a negative frequency, as in `Model.frequencies`.
    """
    import xarray as xr

    omega, phi = model.modes(q, locked=False)
    n = len(omega)
    M, B = model.mass_matrix(q), model.input_matrix(q)
    D = np.array(model.slope("damping_force", 1)(q, np.zeros(n)))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.einsum("ik,ij,jk->k", phi, D, phi) / (2 * np.where(omega > 0, omega, np.nan))
    y: tuple[Array, ...] = (np.eye(n), np.zeros((n, n)), np.zeros((n, n)))
    names = list(model.coordinates)
    if sensors is not None:
        names = list(model.output_names(sensors))
        y = model.output_slopes(sensors, q, np.zeros(n), np.zeros(n))
    lam = np.emath.sqrt(-np.sign(omega) * omega**2)[:, None, None]
    c = y[0] + lam * y[1] + lam**2 * y[2]  # (modes, outputs, n)
    inverse = np.linalg.inv(M)
    reach = _share(phi.T @ B, np.sqrt(np.einsum("ij,ik,kj->j", B, inverse, B)))
    view = _share(np.einsum("kpi,ik->kp", c, phi), np.sqrt(np.einsum("kpi,ij,kpj->kp", c, inverse, c.conj()).real))
    together = _alike(omega)
    most = np.argmax(np.abs(phi) * np.sqrt(np.diag(M))[:, None], axis=0)
    return xr.Dataset(
        {
            "frequency": ("mode", omega, {"units": "rad/s"}),
            "damping_ratio": ("mode", ratio),
            "coordinate_most_moved": ("mode", [model.coordinates[i] for i in most]),
            "shape": (("mode", "coordinate"), phi.T),
            "controllability": (("mode", "input"), np.abs(reach)),
            "observability": (("mode", "output"), np.abs(view)),
            "controllable": ("mode", _told_apart(reach, together, tolerance)),
            "observable": ("mode", _told_apart(view, together, tolerance)),
        },
        coords={
            "mode": np.arange(1, n + 1),
            "coordinate": list(model.coordinates),
            "input": list(model.inputs),
            "output": names,
        },
    )


def _share(a: Array, size: Array) -> Array:
    return np.divide(a, size, out=np.zeros_like(a), where=np.broadcast_to(size, a.shape) > 0)


def _alike(omega: Array) -> list[Array]:
    """Modes of the same frequency, but for rounding."""
    gaps = np.diff(omega) > 1e-6 * np.abs(omega[1:]) + 1e-9 * np.abs(omega).max(initial=0.0)
    return np.split(np.arange(len(omega)), np.flatnonzero(gaps) + 1)


def _told_apart(values: Array, together: list[Array], tolerance: float) -> Array:
    """For each mode whether the rows of all modes of its frequency are independent."""
    found = np.zeros(len(values), dtype=bool)
    for group in together:
        size = np.linalg.svd(values[group], compute_uv=False) if values.shape[1] else np.zeros(0)
        found[group] = (size > tolerance).sum() == len(group)
    return found


# -- along a trajectory ------------------------------------------------------------------------------------------------


def flexible_equations(model: Model, straight: bool = False) -> Any:
    """What bends and vibrates while the drives follow a motion: M z_dd + C z_d + K z = g, as a CasADi Function.

    z are small deviations of the coordinates that no input is named after, with what the drives turn held to its
    motion; M, C and K are exact derivatives of the inverse dynamics (Theodore & Ghosal, eqs. 38, 39).

    Parameters
    ----------
    straight : bool
        True: about z = 0, an arm that is not deformed. The Function is then one of q, qd and qdd of the inputs'
        coordinates alone, (m,), and z is all of the deformation. False: about any state; of q, qd, qdd, (n,).

    Returns
    -------
    casadi.Function
        With one result, M, C, K and g side by side, (k, 3k + 1).
    """
    where = "straight" if straight else "anywhere"
    return model.derived(f"flexible equations, {where}", lambda: _flexible_equations(model, straight))


def _flexible_equations(model: Model, straight: bool) -> Any:
    import casadi as ca

    driven, free = _parts(model)
    N = _motions(model)
    inverse = model.function("inverse_dynamics")
    states = inverse.sx_in()
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
        K, C, M = (ca.mtimes(ca.mtimes(N.T, ca.jacobian(demand, b)), N) for b in states)
        values = [ca.horzcat(M, C, K, -ca.mtimes(N.T, demand))]
    return ca.Function("flexible", x, [ca.cse(ca.densify(values[0]))], ["q", "qd", "qdd"], ["equations"])


def equations_along(function: Any, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array, Array, Array]:
    """M, C, K (times, k, k) and g (times, k) of `flexible_equations` at states (times, n or m)."""
    count = len(q)
    k = function.size1_out(0)
    values = np.array(function.map(count)(q.T, qd.T, qdd.T))
    blocks = np.moveaxis(values.reshape(k, count, 3 * k + 1), 1, 0)
    return blocks[..., :k], blocks[..., k : 2 * k], blocks[..., 2 * k : 3 * k], blocks[..., 3 * k]


def quadratic_eigenvalues(M: Array, C: Array, K: Array) -> Array:
    """Of M s^2 + C s + K, (times, k, k), those of the upper half plane, lowest first: (times, k)."""
    n = M.shape[-1]
    A = np.zeros((*M.shape[:-2], 2 * n, 2 * n))
    A[..., :n, n:] = np.eye(n)
    A[..., n:, :] = -np.linalg.solve(M, np.concatenate([K, C], axis=-1))
    s = np.linalg.eigvals(A)
    return np.take_along_axis(s, np.argsort(s.imag, axis=-1), axis=-1)[..., n:]


def frozen_eigenvalues(model: Model, q: Array, qd: Array, u: Array | None = None, qdd: Array | None = None) -> Array:
    """Eigenvalues of the flexible motion at each time of a trajectory, as if time stood still: (times, k) complex.

    The drives follow their motion exactly, which is what inverse dynamics of the joints makes them do (Theodore &
    Ghosal eqs. 35 to 39, Figs. 6, 7). Of each pair the one of positive frequency, lowest first. Their real parts do
    not decide whether a motion that changes with time is stable: they depend on the scale of the coordinates.

    Parameters
    ----------
    q, qd : (times, n)
        For example those of a result of `simulate`.
    u, qdd : (times, m), (times, n)
        One of them: the inputs, from which the accelerations follow, or the accelerations themselves.

    Raises
    ------
    DescriptionError
        Where both or neither are given, or shapes do not fit.
    """
    M, C, K, _ = equations_along(flexible_equations(model), *_trajectory(model, q, qd, u, qdd))
    return quadratic_eigenvalues(M, C, K)


@final
@dataclass(frozen=True, eq=False)
class LyapunovRate:
    """V = 1/2 (z_d' M z_d + z' K z) of the links' amplitudes z, (times,) [J], its rate, and the part of eq. 42 [W]."""

    value: Array
    rate: Array
    stiffness: Array
    """1/2 z' dK/dt z: what Theodore & Ghosal have for the rate. The rest is -1/2 z_d' dM/dt z_d to leading order: their
    M - 2 N is skew for all coordinates together, not for the block of the flexible ones."""


def lyapunov_rate(model: Model, q: Array, qd: Array, u: Array | None = None, qdd: Array | None = None) -> LyapunovRate:
    """The energy of the links' vibration along a trajectory, and how fast it changes (Theodore & Ghosal eqs. 41, 42).

    M and K are the blocks of the links' amplitudes, K that of strain alone. Arguments and errors as in
    `frozen_eigenvalues`.
    """
    q, qd, qdd = _trajectory(model, q, qd, u, qdd)

    def trace() -> Any:
        import casadi as ca

        mass, stiff = model.function("mass_matrix"), model.function("stiffness_force")
        n = len(model.coordinates)
        x, v, a = (ca.SX.sym(name, n) for name in ("q", "qd", "qdd"))
        F = list(model.arm.flexible)
        others = [i for i in range(n) if i not in F]
        K = ca.jacobian(stiff(x), x)[F, F]
        V = ca.bilin(mass(x)[F, F], v[F], v[F]) / 2 + ca.bilin(K, x[F], x[F]) / 2
        moved = ca.SX.zeros(n)
        moved[others] = v[others]
        K_rate = ca.reshape(ca.jtimes(ca.vec(K), x, moved), K.shape)
        rates = [V, ca.jtimes(V, x, v) + ca.jtimes(V, v, a), ca.bilin(K_rate, x[F], x[F]) / 2]
        return ca.Function("lyapunov", [x, v, a], [ca.cse(ca.densify(ca.vertcat(*rates)))])

    return LyapunovRate(*np.array(model.derived("lyapunov", trace).map(len(q))(q.T, qd.T, qdd.T)))


def _trajectory(model: Model, q: Array, qd: Array, u: Any, qdd: Any) -> tuple[Array, Array, Array]:
    """q, qd and qdd, (times, n) each."""
    if (u is None) == (qdd is None):
        raise DescriptionError("along a trajectory: give u, or qdd, and not both")
    q, qd = model.argument("q", q), model.argument("qd", qd)
    if q.ndim != 2 or qd.shape != q.shape:
        raise DescriptionError(f"along a trajectory: q has shape {q.shape} and qd {qd.shape}; both must be (times, n)")
    found = model.forward_dynamics(q, qd, u) if qdd is None else model.argument("qdd", qdd)
    return q, qd, np.broadcast_to(found, q.shape)


def _parts(model: Model) -> tuple[list[int], list[int]]:
    """Positions of the coordinates that inputs are named after, and of the others."""
    driven = [model.coordinates.index(name) for name in model.inputs]
    return driven, [i for i in range(len(model.coordinates)) if i not in driven]


def _motions(model: Model) -> Array:
    """Motions N, (n, k), that no drive feels, B'N = 0: each moves one coordinate that no input is named after.

    It moves the driven ones too where a hub turns with the shapes: for what the drive turns to stay, the joint's
    coordinate must go back by the slope.
    """
    driven, free = _parts(model)
    B = model.input_matrix(np.array(model.arm.rest))
    N = np.zeros((len(B), len(free)))
    N[free] = np.eye(len(free))
    if driven:
        N[driven] = -np.linalg.solve(B[driven].T, B[free].T)
    return N
