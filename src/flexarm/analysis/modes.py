"""Modes: frequencies, damping, controllability and observability."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from flexarm import attitude
from flexarm.analysis.along import quadratic_eigenvalues
from flexarm.analysis.equilibrium import configuration, equilibrium, joint_rates, steady_values
from flexarm.arrays import Array
from flexarm.checks import NOT_NEGATIVE, checked_number, refused
from flexarm.description.closures import refuse_closures
from flexarm.description.joints import refuse_balls
from flexarm.errors import DescriptionError
from flexarm.model import Model, ModelLike, Sensor, as_model, closures
from flexarm.model.linear import held as free_motions

if TYPE_CHECKING:
    import xarray


def mode_table(
    model: ModelLike, q: Array | None = None, sensors: Sequence[Sensor] | None = None, tolerance: float = 1e-8
) -> "xarray.Dataset":
    """Return all modes about a configuration with free drives: frequency, damping, controllability, observability.

    With modes phi of M and K = d2V/dq2, phi' M phi = 1, and viscous damping D:

        damping_ratio    phi' D phi / (2 omega), exact for modal damping, else to first order
        controllability  |phi' b| / sqrt(b' M^-1 b): its square is the share of the kinetic energy of a kick by this
                         input that goes into the mode; squares of all modes add up to 1
        observability    |c phi| / sqrt(c M^-1 c'), c = y_q + lambda y_qd + lambda^2 y_qdd, lambda = j omega

    These are cosines of angles, as in A. M. A. Hamdan and A. H. Nayfeh, Measures of modal controllability and
    observability for first- and second-order linear systems, J. Guidance 12 (1989) 421-428. They use the metric of the
    kinetic energy, so they have no units and do not depend on the coordinates.

    `controllable` and `observable` belong to a frequency: all modes of this frequency must be distinguishable (the rank
    test of Popov, Belevitch and Hautus). Modes that turn or slide without restoring force share omega = 0.

    Parameters
    ----------
    q : (nq,), optional
        Configuration [rad or m], an equilibrium, see `equilibrium`. Default: `arm.rest`.
    sensors : list of Sensor, optional
        Default: the coordinates, for a free base the local ones.
    tolerance : float
        Cosines below it count as zero.

    Raises
    ------
    DescriptionError
        If q does not fit the arm, a sensor does not, or the tolerance is negative.

    Returns
    -------
    xarray.Dataset
        frequency [rad/s], damping_ratio, controllable, observable, coordinate_most_moved (mode); shape (mode,
        coordinate); controllability (mode, input); observability (mode, output). A direction in which the arm would
        fall has a negative frequency, as in `Model.frequencies`.
    """
    import xarray as xr

    with refused("mode_table"):
        model = as_model(model)
        tolerance = checked_number(tolerance, "", NOT_NEGATIVE, "tolerance")
    q = closures.rest(model) if q is None else q
    omega, phi = model.modes(q, locked=False)
    n = len(omega)
    M, B = model.mass_matrix(q), model.input_matrix(q)
    D = np.array(model.slope("damping_force", 1)(q, np.zeros(model.nv)))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.einsum("ik,ij,jk->k", phi, D, phi) / (2 * np.where(omega > 0, omega, np.nan))
    y: tuple[Array, ...] = (np.eye(n), np.zeros((n, n)), np.zeros((n, n)))
    coordinates = list(attitude.local_names(model.arm))
    names = coordinates
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
            "coordinate_most_moved": ("mode", [coordinates[i] for i in most]),
            "shape": (("mode", "coordinate"), phi.T),
            "controllability": (("mode", "input"), np.abs(reach)),
            "observability": (("mode", "output"), np.abs(view)),
            "controllable": ("mode", _told_apart(reach, together, tolerance)),
            "observable": ("mode", _told_apart(view, together, tolerance)),
        },
        coords={
            "mode": np.arange(1, n + 1),
            "coordinate": coordinates,
            "input": list(model.inputs),
            "output": names,
        },
    )


def steady_modes(
    model: ModelLike,
    q: ArrayLike | None = None,
    qd: ArrayLike | None = None,
    w: Mapping[str, float] | ArrayLike | None = None,
) -> "xarray.Dataset":
    """Return the modes of small vibrations about a steady motion, such as the spin of a rotor.

    The motion is a relative equilibrium, which `equilibrium` finds first: joints turn at constant rates, a moving base
    turns at a constant rate, and forces are constant along the base's or the sections' axes. The drives follow their
    motion exactly. Small motions z of the other coordinates obey M z_dd + C z_d + K z = 0. C contains damping and
    gyroscopic forces. K contains centrifugal forces, and is not symmetric if forces follow the sections.

    Parameters
    ----------
    q : (nq,) or (m,), optional
        Configuration near the equilibrium [rad or m], or the joints alone. Default: `arm.rest`.
    qd : (m,), optional
        Rates of the joints that have a drive [rad/s or m/s]. Default: zero.
    w : (exogenous,) or dict, optional
        Exogenous inputs by name, such as {"base.wz": 12.0} for a base that turns about z. Default: zero.

    Raises
    ------
    DescriptionError
        If arguments do not fit the arm, or if the motion is not steady. Also for an arm on a free base, or with states
        of its drives or contacts.
    FlexarmError
        If no relative equilibrium is found.

    Returns
    -------
    xarray.Dataset
        pole [1/s], the eigenvalue of positive imaginary part of each pair; frequency [rad/s], its imaginary part;
        damping_ratio, negative for a vibration that grows (mode); shape (mode, coordinate), complex, with 1 for the
        coordinate that moves most; q, the equilibrium (position); u, the inputs that hold it (input). Of a real pair,
        `pole` is the larger one.
    """
    import xarray as xr

    with refused("steady_modes"):
        model = as_model(model)
        refuse_closures(model, "steady_modes")
        refuse_balls(model, "steady_modes")
        for wrong, what in ((model.arm.free, "a free base"), (model.states, "states")):
            if wrong:
                raise DescriptionError(f"steady_modes: arm {model.arm.name!r} has {what}; use model.linearize")
    start = np.array(model.arm.rest) if q is None else configuration(model, q)
    at, u = equilibrium(model, start, w=w, qd=qd)
    M, C, K, N = _about_steady(model, at, joint_rates(model, qd), w)
    s = quadratic_eigenvalues(M[None], C[None], K[None])[0] if len(M) else np.zeros(0, complex)
    shapes = np.array([N @ _null_vector(M * x**2 + C * x + K) for x in s]).reshape(len(s), model.nv)
    shapes = shapes / np.take_along_axis(shapes, np.abs(shapes).argmax(axis=1)[:, None], axis=1)
    size = np.where(s == 0.0, 1.0, np.abs(s))
    return xr.Dataset(
        {
            "pole": ("mode", s, {"units": "1/s"}),
            "frequency": ("mode", s.imag, {"units": "rad/s"}),
            "damping_ratio": ("mode", -s.real / size),
            "shape": (("mode", "coordinate"), shapes),
            "q": ("position", at),
            "u": ("input", u),
        },
        coords={
            "mode": np.arange(1, len(s) + 1),
            "coordinate": list(model.velocities),
            "position": list(model.coordinates),
            "input": list(model.inputs),
        },
    )


def _about_steady(
    model: Model, q: Array, rates: Array, w: Mapping[str, float] | ArrayLike | None
) -> tuple[Array, Array, Array, Array]:
    """Return M, C and K (k, k) of small motions about a steady one, and the motions N (n, k) with the drives held."""
    N = free_motions(model.input_matrix(q))
    values = steady_values(model, w, rates)(q)
    K, C = (-N.T @ np.array(model.slope("state_residual", name)(*values))[: model.nv] @ N for name in ("q", "qd"))
    return N.T @ model.mass_matrix(q) @ N, C, K, N


def _null_vector(A: Array) -> Array:
    """Return the x of length 1 with the smallest |A x|."""
    return np.asarray(np.linalg.svd(A)[2][-1].conj())


def _share(a: Array, size: Array) -> Array:
    return np.divide(a, size, out=np.zeros_like(a), where=np.broadcast_to(size, a.shape) > 0)


def _alike(omega: Array) -> list[Array]:
    """Groups of modes with equal frequencies, up to rounding."""
    gaps = np.diff(omega) > 1e-6 * np.abs(omega[1:]) + 1e-9 * np.abs(omega).max(initial=0.0)
    return np.split(np.arange(len(omega)), np.flatnonzero(gaps) + 1)


def _told_apart(values: Array, together: list[Array], tolerance: float) -> Array:
    """True for each mode if the rows of all modes of its frequency are independent."""
    found = np.zeros(len(values), dtype=bool)
    for group in together:
        size = np.linalg.svd(values[group], compute_uv=False) if values.shape[1] else np.zeros(0)
        found[group] = (size > tolerance).sum() == len(group)
    return found
