"""Integration of dx/dt = f(t, x) on a plan: CyRK's compiled solvers, SciPy's, and fixed steps.

A solver integrates from the state at the start of an interval to several times, which end with the interval's end. It
returns the states that it reached: after a failure, fewer rows than times. The motion never makes it raise an error.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from flexarm.simulation.advance import CHUNK
from flexarm.simulation.cyrk import entries
from flexarm.simulation.explicit import Adaptive
from flexarm.simulation.implicit import ENDLESS, Implicit
from flexarm.simulation.rhs import DIVERGED, RHS, Plan, loops
from flexarm.simulation.tableaus import Tableau, gauss, generalized_alpha, radau

Array = np.ndarray

CYRK = {
    "rk45": 4,
    "dop853": 5,
    "bdf": 6,
    "lsoda": 7,
    "radau": 8,
    "tsit5": 9,
    "vern7": 10,
    "vern8": 11,
}
"""CyRK's codes of its methods (its C++ enumeration ODEMethod)."""

SCIPY = {
    "scipy-rk45": "RK45",
    "scipy-dop853": "DOP853",
    "scipy-radau": "Radau",
    "scipy-bdf": "BDF",
    "scipy-lsoda": "LSODA",
}
IMPLICIT: dict[str, Tableau] = {
    "generalized-alpha": generalized_alpha(1.0),
    "gauss4": gauss(2),
    "gauss8": gauss(4),
    "radau5": radau(3),
    "radau9": radau(5),
}
"""flexarm's methods for stiff arms, with step control or fixed steps."""
DISSIPATIVE = "generalized-alpha"
"""The method with a spectral radius at infinity."""
FIXED = ("rk4",)
SHORT = ("rk45", "dop853")
"""flexarm's explicit methods with error control for short intervals, since CyRK's methods start slowly."""
METHODS = (*CYRK, *IMPLICIT, *SCIPY, *FIXED)

UNLIMITED = 10**12
"""Megabytes that CyRK divides by the size of a state to get its largest number of steps. The value stands for no limit,
since CyRK stores only the requested times and its memory does not grow with the steps."""

RK4 = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_int64
)


@dataclass(frozen=True)
class Stretch:
    """Result of a solver over an interval.

    Attributes
    ----------
    x : (k, states)
        States at the first k of the requested times.
    steps : int
    message : str
        Why the solver stopped early, if it did and reports it.
    diverged : (time, state), optional
        The first state that has diverged.
    spent : bool
        True if the solver stopped since it had used all evaluations that it is allowed.
    """

    x: Array
    steps: int
    message: str = ""
    diverged: tuple[float, Array] | None = None
    spent: bool = False


def available(method: str) -> tuple[str, str]:
    """Return the method, or a similar one of SciPy if CyRK cannot be loaded, and the reason (or "")."""
    if method not in CYRK:
        return method, ""
    try:
        entries()
    except ImportError as error:  # not installed, or not for this processor
        explicit = method in ("rk45", "tsit5")
        kind = method if f"scipy-{method}" in SCIPY else "rk45" if explicit else "dop853"
        return f"scipy-{kind}", f"CyRK cannot be loaded: {' '.join(str(error).split())}"
    return method, ""


def explicit(
    method: str, plan: Plan, t0: float, x0: Array, times: Array, rtol: float, atol: Array, most: int = 0
) -> Stretch:
    """Integrate with CyRK, or with SciPy if CyRK is missing. `most` limits the number of steps unless it is 0."""
    if method in CYRK:
        return cyrk(method, plan, t0, x0, times, rtol, atol, most)
    return scipy(method, plan, t0, x0, times, rtol, atol, None, most)


def cyrk(
    method: str, plan: Plan, t0: float, x0: Array, times: Array, rtol: float, atol: Array, most: int = 0
) -> Stretch:
    """Integrate with one of CyRK's compiled solvers, whose loop runs in machine code."""
    native = entries()
    holder = np.array([plan.address], dtype=np.int64)
    x0, times, atol = (np.ascontiguousarray(a, dtype=float) for a in (x0, times, atol))
    rtols = np.full(len(x0), rtol)
    result = native.solve(
        *(loops().addresses["rhs"], t0, times[-1], x0.ctypes.data, len(x0), CYRK[method]),
        *(0, 0, holder.ctypes.data, holder.nbytes, most, UNLIMITED, False, times.ctypes.data, len(times)),
        *(None, None, 0, rtols.ctypes.data, len(rtols), atol.ctypes.data, len(atol), np.inf, 0.0, True),
    )
    try:
        rows = native.size(result)
        x = np.empty((0, len(x0)))
        if rows:
            x = np.ctypeslib.as_array(native.y(result), (rows, len(x0))).copy()
        text = ctypes.create_string_buffer(256)
        native.message(result, ctypes.addressof(text), 256)
        message = "" if native.success(result) else text.value.decode(errors="replace").rstrip(".")
        return checked(plan, times, x, int(native.steps(result)), message)
    finally:
        native.free(result)


def adaptive(stepping: Adaptive, t0: float, x0: Array, times: Array) -> Stretch:
    """Integrate over a short interval with one of flexarm's explicit methods."""
    return Stretch(*stepping(t0, x0, times), spent=stepping.spent)


def implicit(step: Implicit, plan: Plan, t0: float, x0: Array, times: Array, limit: int = ENDLESS) -> Stretch:
    """Integrate with one of flexarm's implicit methods, until the plan has had so many evaluations."""
    x, steps = step(t0, x0, times, limit)
    return checked(plan, times, x, steps, "" if len(x) == len(times) else "its steps became too short")


def scipy(
    method: str,
    plan: Plan,
    t0: float,
    x0: Array,
    times: Array,
    rtol: float,
    atol: Array,
    jacobian: Callable | None,
    most: int = 0,
) -> Stretch:
    """Integrate with one of SciPy's solvers, the implicit ones with the exact Jacobian if it is given."""
    from scipy import integrate

    rate = python_rate(plan, len(x0))
    options: dict[str, Any] = {"rtol": rtol, "atol": atol}
    if method in ("scipy-radau", "scipy-bdf", "scipy-lsoda"):
        options["jac"] = jacobian
    solver = getattr(integrate, SCIPY[method])(rate, t0, x0, times[-1], **options)
    x, reached, steps = np.empty((len(times), len(x0))), 0, 0
    message: str | None = ""
    while solver.status == "running" and not (most and steps >= most):
        try:
            message = solver.step()
        except ValueError as error:  # the implicit solvers factorize a matrix of NaN
            return checked(plan, times, x[:reached], steps, " ".join(str(error).split()))
        if solver.status == "failed":
            break
        steps += 1
        passed = int(np.searchsorted(times, solver.t, side="right"))
        if passed > reached:
            x[reached:passed] = solver.dense_output()(times[reached:passed]).T
            reached = passed
    reason = (message or "failed").rstrip(".") if solver.status == "failed" else ""
    return checked(plan, times, x[:reached], steps, reason)


def python_rate(plan: Plan, size: int) -> Callable[[float, Array], Array]:
    """Return the plan's right-hand side as a Python function of t and x."""
    native = RHS(loops().addresses["rhs"])
    holder = np.array([plan.address], dtype=np.int64)

    def rate(t: float, x: Array) -> Array:
        x = np.ascontiguousarray(x)  # implicit solvers pass strided columns
        dx = np.empty(size)
        native(dx.ctypes.data, t, x.ctypes.data, holder.ctypes.data, None)
        return dx

    return rate


def rk4(plan: Plan, t0: float, x0: Array, times: Array, step: float) -> Stretch:
    """Integrate with the classical Runge-Kutta method, with equal steps no longer than `step` between two times."""
    run = _rk4()
    holder = np.array([plan.address], dtype=np.int64)
    x, work = np.array(x0, dtype=float), np.empty(5 * len(x0))
    rows, known = np.empty((len(times), len(x0))), 0
    total, t = 0, t0

    def advance(t: float, h: float, count: int) -> bool:
        run(holder.ctypes.data, x.ctypes.data, work.ctypes.data, t, h, count)
        return not plan.stopped

    def reached(diverged: tuple[float, Array] | None = None) -> Stretch:
        message = f"a step of {step:g} s is too long" if diverged else ""
        return Stretch(rows[:known], total, message, diverged)

    for end in times:
        steps = max(1, int(np.ceil((end - t) / step - 1e-9)))
        h, done = (end - t) / steps, 0
        while end > t and done < steps:
            many, before = min(CHUNK, steps - done), x.copy()
            if not advance(t + done * h, h, many):
                return reached()
            if not _is_motion(plan, x):  # repeat the steps one by one to find the time
                x[:], many = before, 0
                while _is_motion(plan, x):
                    before = x.copy()
                    if not advance(t + (done + many) * h, h, 1):
                        return reached()
                    many += 1
                total += many
                return reached((t + (done + many) * h, x if np.isfinite(x).all() else before))
            done, total = done + many, total + many
        rows[known] = x
        known, t = known + 1, end
    return reached()


@cache
def _rk4() -> Callable:
    return RK4(loops().addresses["rk4"])


def _is_motion(plan: Plan, x: Array) -> bool:
    return bool((np.abs(x[: plan.states]) < DIVERGED).all())


def checked(plan: Plan, times: Array, x: Array, steps: int, message: str) -> Stretch:
    """Return the result up to the first row that has diverged."""
    bad = ~(np.abs(x[:, : plan.states]) < DIVERGED).all(axis=1)
    if not bad.any():
        return Stretch(x, steps, message)
    k = int(np.argmax(bad))
    return Stretch(x[:k], steps, message, (float(times[k]), x[k]))
