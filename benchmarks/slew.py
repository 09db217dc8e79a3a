"""The Canadarm's slew (Mohan & Saha section 7.1): 10 s at rtol 1e-8 with several solvers."""

import statistics
import warnings
from time import perf_counter
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.report import Table, judged, spread, time
from benchmarks.timing import empty_cache
from flexarm.simulation import methods
from flexarm.simulation.inputs import as_input
from flexarm.simulation.layout import Layout
from flexarm.simulation.solvers import python_rate

METHODS = ("dop853", "vern8", "tsit5", "radau5", "radau9", "rk4")
SCIPY = "SciPy's DOP853"
RTOL, ATOL = 1e-8, 1e-10
STEP = 1e-3  # of rk4 [s]
Array = np.ndarray
SECONDS, DRIFT = 0.5, 1e-7  # targets


def measure(quick: bool) -> list[Table]:
    """Time, steps, energy drift, and error against a run with rtol 1e-12."""
    model = fa.Model(fa.load("canadarm"))
    u = fa.RigidInverseDynamics(fa.Cycloidal((0.075, 0.05, 0.1), (10, 5, 5)))

    def run(method: str) -> Any:
        return fa.simulate(model, 10.0, u, solver=fa.Solver(method=method, step=STEP if method == "rk4" else None))

    def scipy() -> tuple[float, int, Array, Array]:
        """SciPy's solver, which calls Python for each rate: seconds, evaluations, q and the tip's places."""
        from scipy.integrate import solve_ivp

        n, times = len(model.coordinates), np.linspace(0.0, 10.0, 1001)
        drive = as_input(u, model).begun(model, times)
        layout = Layout.of(model, len(drive.memory))
        plan, _ = methods.planned(model, drive, layout, "dop853")
        start = np.zeros(layout.size)
        drive.feed(plan, model, 0.0, start)
        rate, atol = python_rate(plan, layout.size), layout.tolerances(ATOL)

        begun = perf_counter()
        found = solve_ivp(rate, (0.0, 10.0), start, "DOP853", times, rtol=RTOL, atol=atol)
        seconds = perf_counter() - begun
        q = found.y[:n].T
        return seconds, found.nfev, q, model.tip(q)[:, :3, 3]

    with empty_cache(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = fa.simulate(model, 10.0, u, solver=fa.Solver(rtol=1e-12, atol=1e-14))
        results = {method: run(method) for method in METHODS}
        samples: dict[str, list[float]] = {method: [] for method in METHODS}
        for _ in range(2 if quick else 9):
            for method in METHODS:
                samples[method].append(run(method).attrs["solve_seconds"])

    table = Table(
        "The Canadarm's slew, 10 s, rtol 1e-8",
        (
            "method",
            "solve time",
            "steps",
            "right-hand sides",
            "time of a right-hand side",
            "energy drift",
            "error of q",
            "error of the tip",
            "targets",
            "met",
        ),
    )
    for method in METHODS:
        result, seconds = results[method], statistics.median(samples[method])
        attrs = result.attrs
        scale = np.abs(exact.q.values).max(axis=0)
        error = float((np.abs(result.q.values - exact.q.values).max(axis=0) / scale).max())
        verdict = ("", "")
        if method == "dop853":
            met = judged(seconds, SECONDS, "")[1] == judged(attrs["energy_drift"], DRIFT, "")[1] == "yes"
            verdict = (f"< {time(SECONDS)}, < {DRIFT:.0e}", "yes" if met else "**no**")
        counts = (attrs["steps"], attrs["evaluations"], time(seconds / attrs["evaluations"]))
        name = f"rk4, h = {time(STEP)}" if method == "rk4" else method
        tip = float(np.abs(result.tip.values - exact.tip.values).max())
        errors = (f"{attrs['energy_drift']:.1e}", f"{error:.1e}", f"{tip:.1e} m")
        table.add(name, spread(samples[method]), *counts, *errors, *verdict)
    run_times, last = [], scipy()
    for _ in range(2 if quick else 5):
        last = scipy()
        run_times.append(last[0])
    _, evaluations, q, tip_places = last
    error = float((np.abs(q - exact.q.values).max(axis=0) / np.abs(exact.q.values).max(axis=0)).max())
    tip = float(np.abs(tip_places - exact.tip.values).max())
    each = time(statistics.median(run_times) / evaluations)
    table.add(SCIPY, spread(run_times), "", evaluations, each, "", f"{error:.1e}", f"{tip:.1e} m", "", "")
    table.notes.append(
        "Times are without compilation. The energy drift is the largest relative error of kinetic + potential - work "
        "+ dissipated energy. Errors are the largest differences at 1001 times from dop853 with rtol 1e-12 and atol "
        "1e-14. The error of q is relative to the largest value of each coordinate, which is small for the fastest "
        f"modes. In the row of {SCIPY} a function of Python calls the compiled right-hand side."
    )
    return [table]
