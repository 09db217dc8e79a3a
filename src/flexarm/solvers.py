"""Integration of dx/dt = f(t, x) on a plan: CyRK's compiled solvers, SciPy's, and fixed steps.

A solver takes the state at the start of a stretch to the times asked for, the last of which is its end, and returns what
it reached: on failure fewer rows than times. It never raises for reasons of the motion.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexarm.loops import RHS, Plan, loops

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
"""CyRK's numbers for its methods (its C++ enumeration ODEMethod)."""

SCIPY = {"scipy-rk45": "RK45", "scipy-dop853": "DOP853", "scipy-radau": "Radau", "scipy-bdf": "BDF", "scipy-lsoda": "LSODA"}
FIXED = ("rk4",)
METHODS = (*CYRK, *SCIPY, *FIXED)

DIVERGED = 1e12
"""A coordinate, a rate or an energy beyond this, in SI units, is no motion."""

RK4 = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_double, ctypes.c_int64
)


@dataclass(frozen=True)
class Stretch:
    """What a solver reached: states at the first len(x) times, steps taken, and why it stopped early ("" if not)."""

    x: Array
    steps: int
    message: str = ""


def cyrk(method: str, plan: Plan, t0: float, x0: Array, times: Array, rtol: float, atol: Array) -> Stretch:
    """One of CyRK's compiled solvers, loop and all in machine code."""
    from CyRK.nb import numba_solver as nb

    holder = np.array([plan.address], dtype=np.int64)
    x0, times, atol = (np.ascontiguousarray(a, dtype=float) for a in (x0, times, atol))
    rtols = np.full(len(x0), rtol)
    result = nb.c_numba_cysolve_ivp(
        *(loops().addresses["rhs"], t0, times[-1], x0.ctypes.data, len(x0), CYRK[method]),
        *(0, 0, holder.ctypes.data, holder.nbytes, 0, 8000, False, times.ctypes.data, len(times)),
        *(None, None, 0, rtols.ctypes.data, len(rtols), atol.ctypes.data, len(atol), np.inf, 0.0, True),
    )
    try:
        rows = nb.c_get_size(result)
        x = np.empty((0, len(x0)))
        if rows:
            x = np.ctypeslib.as_array(nb.c_get_y_ptr(result), (rows, len(x0))).copy()
        text = ctypes.create_string_buffer(256)
        nb.c_get_msg_buf(result, ctypes.addressof(text), 256)
        message = "" if nb.c_get_success(result) else text.value.decode(errors="replace").rstrip(".")
        return Stretch(_sane_rows(x), int(nb.c_get_steps(result)), message)
    finally:
        nb.c_free(result)


def scipy(
    method: str, plan: Plan, t0: float, x0: Array, times: Array, rtol: float, atol: Array, jacobian: Callable[..., Array]
) -> Stretch:
    """One of SciPy's solvers around the same right-hand side; the implicit ones with the exact Jacobian."""
    from scipy import integrate

    rate = python_rate(plan, len(x0))
    options: dict[str, Any] = {"rtol": rtol, "atol": atol}
    if method in ("scipy-radau", "scipy-bdf", "scipy-lsoda"):
        options["jac"] = jacobian
    solver = getattr(integrate, SCIPY[method])(rate, t0, x0, times[-1], **options)
    rows: list[Array] = []
    steps = 0
    message: str | None = ""
    while solver.status == "running":
        message = solver.step()
        if solver.status == "failed":
            break
        steps += 1
        reached = times[len(rows) :][times[len(rows) :] <= solver.t]
        if len(reached):
            rows += list(np.atleast_2d(solver.dense_output()(reached).T))
    failed = solver.status == "failed"
    return Stretch(_sane_rows(np.array(rows).reshape(-1, len(x0))), steps, (message or "failed").rstrip(".") if failed else "")


def python_rate(plan: Plan, size: int) -> Callable[[float, Array], Array]:
    """The plan's right-hand side as a Python function of t and x."""
    native = RHS(loops().addresses["rhs"])
    holder = np.array([plan.address], dtype=np.int64)

    def rate(t: float, x: Array) -> Array:
        x = np.ascontiguousarray(x)  # implicit solvers pass strided columns
        dx = np.empty(size)
        native(dx.ctypes.data, t, x.ctypes.data, holder.ctypes.data, None)
        return dx

    return rate


def rk4(plan: Plan, t0: float, x0: Array, times: Array, step: float) -> Stretch:
    """The classical fixed-step method: between two times, equal steps no longer than `step`."""
    run = RK4(loops().addresses["rk4"])
    holder = np.array([plan.address], dtype=np.int64)
    x, work = np.array(x0, dtype=float), np.empty(5 * len(x0))
    rows, total, t = [], 0, t0
    for end in times:
        steps = max(1, int(np.ceil((end - t) / step - 1e-9)))
        if end > t:
            run(holder.ctypes.data, x.ctypes.data, work.ctypes.data, t, (end - t) / steps, steps)
            total += steps
        if not (np.abs(x) < DIVERGED).all():
            return Stretch(np.array(rows).reshape(-1, len(x0)), total, f"a step of {step:g} s is too long")
        rows.append(x.copy())
        t = end
    return Stretch(np.array(rows), total)


def _sane_rows(x: Array) -> Array:
    """The rows before the first that is not finite or has diverged."""
    bad = ~(np.abs(x) < DIVERGED).all(axis=1)
    return x[: int(np.argmax(bad))] if bad.any() else x
