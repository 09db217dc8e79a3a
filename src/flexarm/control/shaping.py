"""Shapers for an arm's own vibrations, with its drives held, free, or under a controller."""

import numpy as np
from numpy.typing import ArrayLike

from flexarm import analysis
from flexarm.arrays import Array
from flexarm.checks import checked_flag, refused, shown, unknown_name
from flexarm.control.equilibrium import equilibrium, rest
from flexarm.control.gains import designing
from flexarm.control.motors import Motors
from flexarm.errors import DescriptionError
from flexarm.model import Model, ModelLike, as_model
from flexarm.simulation.closed_loop import ClosedLoop
from flexarm.simulation.law import Controller, law_of
from flexarm.simulation.sampled import Sampled
from flexarm.trajectory import Shaper
from flexarm.trajectory.shapers import KINDS


def design_shaper(
    model: ModelLike,
    q: ArrayLike | None = None,
    kind: str = "zvd",
    modes: int = 1,
    locked: bool = True,
    tolerance: float = 0.05,
    controller: Controller | Sampled | None = None,
) -> Shaper:
    """Return an input shaper for the slowest modes of an arm about a configuration: the product of one for each mode.

    Parameters
    ----------
    model : Model, Arm, str or path
    q : (n,) or (m,), optional
        Configuration at which the vibration is to vanish, usually the end of the motion. Joint coordinates alone mean
        the arm in equilibrium there. The default is the end of the controller's reference, and `arm.rest` without a
        controller.
    kind : "zv", "zvd", "zvdd", "mzv", "ei", "two-hump-ei", "three-hump-ei", "um-zv", "ps-zv"
        `ZV`, `ZVD`, `ZVDD`, `MZV`, `EI` with one to three humps, `UMZV` or `PSZV`.
    modes : int
        Number of modes.
    locked : bool
        True for modes with the drives held, as under `PrescribedMotion` or stiff joint controllers; False for torques.
        A free base is free in both cases.
    tolerance : float
        Tolerance of the EI shapers, for each mode.
    controller : Controller, optional
        Controller of the arm. The modes are then those of the closed loop at rest, and `locked` does not apply. Modes
        that a controller damps well need long shapers, which are seldom useful. ZV and ZVD accept any damping.

    Raises
    ------
    DescriptionError
        If the kind is unknown, or if fewer modes oscillate. If q is missing and the controller has no reference that
        comes to rest. If the controller is a Python function or rounds its readings, so that it has no poles. If the
        controller's motors have inductance.
    """
    with refused("shaper"):
        model = as_model(model)
        checked_flag(locked, "locked")
    if not isinstance(kind, str) or kind.lower() not in KINDS:
        raise DescriptionError(unknown_name("shaper: kind is", kind, KINDS, "it must be one of"))
    if controller is not None:
        omega, zeta = controlled_vibrations(model, controller, q)
    else:
        omega, zeta = vibrations(model, None if q is None else _standing(model, q), locked)
    if isinstance(modes, bool) or not isinstance(modes, int | np.integer) or not 1 <= modes <= len(omega):
        there = f"it must be an integer from 1 to {len(omega)}" if len(omega) else "the arm has no vibration"
        raise DescriptionError(f"shaper: modes is {shown(modes)}; {there}")
    product = Shaper((0.0,), (1.0,))
    for pair in zip(omega[:modes].tolist(), zeta[:modes].tolist(), strict=True):
        product = product * KINDS[kind.lower()](*pair, tolerance)
    return product


def vibrations(model: ModelLike, q: Array | None = None, locked: bool = True) -> tuple[Array, Array]:
    """Return undamped frequencies and damping ratios of the modes that oscillate, the slowest first.

    They are |lambda| and -Re lambda / |lambda| for the eigenvalues of the linear model at rest. Without damping the
    frequencies are those of `Model.frequencies`.

    Parameters
    ----------
    model : Model, Arm, str or path
        The arm. No controller acts on it.
    q : (nq,), optional
        Configuration [rad or m]. Default: `arm.rest`.
    locked : bool
        True if the drives are held, as in `Model.frequencies`.

    Returns
    -------
    omega, zeta : (k,), (k,)
        Undamped frequencies [rad/s] and ratios of critical damping.

    Raises
    ------
    DescriptionError
        If q does not fit the arm.
    """
    with refused("vibrations"):
        model = as_model(model)
        checked_flag(locked, "locked")
    q = np.array(model.arm.rest) if q is None else q
    omega, shapes = model.modes(q, locked)
    damping = np.array(model.slope("damping_force", 1)(q, np.zeros(model.nv)))
    C = shapes.T @ damping @ shapes
    if not C.any():
        return omega[omega > 0], np.zeros(int((omega > 0).sum()))
    size = np.abs(omega)  # with the states (size x, x_dot) the matrix is well scaled
    return _oscillating(np.linalg.eigvals(np.block([[np.zeros_like(C), np.diag(size)], [-np.diag(omega), -C]])))


def controlled_vibrations(
    model: Model, controller: Controller | Sampled, q: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Frequencies and damping ratios of the arm under a controller, at rest at the end of its reference, or near q.

    Raises `DescriptionError` if there is neither, or if the closed loop is unstable.
    """
    if isinstance(controller, Sampled):
        given = controller.feedback(model)
        if given.function is not None:
            raise DescriptionError(
                "shaper: the controller is a Python function, whose poles are unknown; give q instead"
            )
        law, period = given.law, float(given.period)
    else:
        law, period = law_of("shaper: controller", controller, model), None
    if law.drives or Motors.of(model).currents:
        why = "its motors have inductance, which design_shaper does not support"
        raise DescriptionError(f"shaper: arm {model.arm.name!r}: {why}; set the inductance to zero")
    if law.cycle > 1:
        message = "the controller has several sampling periods, so its poles are not defined; leave Every out"
        raise DescriptionError(f"shaper: {message}")
    end = rest(law.reference) if law.reference is not None else None
    if q is None:
        if end is None:
            raise DescriptionError(
                "shaper: q is missing; give it, because the controller has no reference that comes to rest"
            )
        q = end[1]
    at = _standing(model, q)
    loop, t = ClosedLoop(model, law, period), end[0] if end is not None else 0.0
    if loop.rounds:
        message = (
            "the controller rounds its measurements, so its poles are not defined; leave out the sensors' resolution"
        )
        raise DescriptionError(f"shaper: {message}")
    with designing("shaper"):
        x = loop.standing(t, loop.start(at))
        poles = loop.poles(t, x)
    if poles.real.max() > 1e-9 * np.abs(poles).max():
        worst = poles[np.argmax(poles.real)]
        pole = f"a pole at {worst.real:.4g} +- {abs(worst.imag):.4g}j 1/s"
        raise DescriptionError(f"shaper: the closed loop is unstable, with {pole}; change the gains")
    return _oscillating(poles)


def _standing(model: Model, q: ArrayLike) -> Array:
    """Return a configuration as given, or the equilibrium at joint coordinates."""
    x = analysis.configuration(model, q)
    return x if np.shape(q) == x.shape else equilibrium(model, q)[0]


def _oscillating(poles: Array) -> tuple[Array, Array]:
    """Frequencies and damping ratios of poles that oscillate, the slowest first."""
    poles = poles[poles.imag > 1e-7 * np.abs(poles).max()]  # one of each pair
    poles = poles[np.argsort(np.abs(poles))]
    return np.abs(poles), np.maximum(-poles.real / np.abs(poles), 0.0)
