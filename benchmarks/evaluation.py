"""What one evaluation costs: native code alone, called from Python, and CasADi's virtual machine."""

from collections.abc import Callable
from functools import partial

import numpy as np

import flexarm as fa
from benchmarks.chains import chain, over_rows, states
from benchmarks.report import Table, judged, spread, time
from benchmarks.timing import empty_cache, interleaved
from flexarm.model import QUANTITIES
from flexarm.native import calls
from flexarm.native.calls import LANES

ROWS = 2048
MANY = 20_000
ONE, BATCH = 0.6e-6, 0.2e-6  # targets [s]
CALL, TOLL = 3e-6, 1.5  # targets: one state from Python [s]; a batch from Python over its machine code
ARMS = ("rigid-two-link", "subudhi-morris-elastic", "canadarm")
CALLED = ("forward_dynamics", "mass_matrix", "inverse_dynamics", "tip")


def measure(quick: bool) -> list[Table]:
    """3 links with 2 + 2 modes."""
    model = fa.Model(chain(3))
    q, qd, u = states(model, ROWS)
    x = np.ascontiguousarray(np.concatenate([q, qd, u], axis=1))
    recursive, dense, rate = (
        model.kernel(name) for name in ("forward_dynamics", "forward_dynamics_dense", "state_rate")
    )
    function = model.function("forward_dynamics")
    buffer, evaluate = function.buffer()
    result = np.empty(len(model.coordinates))
    inputs = [a[0].copy() for a in (q, qd, u)]
    for i, a in enumerate(inputs):
        buffer.set_arg(i, memoryview(a))
    buffer.set_res(0, memoryview(result))
    with empty_cache():
        many = {
            "qdd": over_rows(recursive.code, x),
            "qdd lanes": over_rows(recursive.vector_code, x),
            "dense": over_rows(dense.code, x),
            "dense lanes": over_rows(dense.vector_code, x),
            "rate": over_rows(rate.code, x),
            "rate lanes": over_rows(rate.vector_code, x),
            "python lanes": lambda: model.forward_dynamics(q, qd, u),
        }
    one = {
        "python": lambda: model.forward_dynamics(*inputs),
        "kernel": lambda: rate.one(x[0]),
        "casadi": lambda: function(*inputs),
        "casadi buffer": evaluate,
    }
    samples = interleaved(many | one, 5 if quick else 25)
    found = {name: [s / ROWS for s in times] if name in many else times for name, times in samples.items()}

    table = Table("One evaluation, 3 links with 2 + 2 modes", ("what", "time per state", "target", "met"))
    table.compare("forward dynamics, one state after another", found["qdd"], ONE)
    table.compare(f"forward dynamics, a SIMD batch of {LANES}", found["qdd lanes"], BATCH)
    table.compare("state rate (what a simulation calls), one state after another", found["rate"], ONE)
    table.compare(f"state rate, a SIMD batch of {LANES}", found["rate lanes"], BATCH)
    table.compare("forward dynamics by the dense path, one state after another", found["dense"])
    table.compare(f"forward dynamics by the dense path, a SIMD batch of {LANES}", found["dense lanes"])
    table.compare("`model.forward_dynamics`, one state", found["python"])
    table.compare(f"`model.forward_dynamics`, {ROWS} states in one call", found["python lanes"])
    table.compare("`Kernel.one` of the state rate", found["kernel"])
    table.compare("CasADi's virtual machine through `Function`", found["casadi"])
    table.compare("CasADi's virtual machine through `Function.buffer`", found["casadi buffer"])
    for text, a, b in (
        ("dense path / recursion", "dense", "qdd"),
        ("CasADi through a buffer / native", "casadi buffer", "qdd"),
        ("one state after another / batch", "qdd", "qdd lanes"),
    ):
        ratios = np.divide(found[a], found[b])
        table.add(text, f"{np.median(ratios):.2f} ({ratios.min():.2f} .. {ratios.max():.2f})", "", "")
    table.notes.append(
        f"Rows that name no Python function have the time of the machine code over {ROWS} different states, including "
        "the copies of arguments and results. A ratio is the median of the ratios of two samples that were taken one "
        "after the other."
    )
    return [table, _calls(quick), _sizes(quick)]


def _calls(quick: bool) -> Table:
    """What a call from Python costs: one state, and a batch beside its machine code."""
    table = Table(
        "Called from Python",
        (
            "arm",
            "quantity",
            "one state",
            "target",
            "met",
            f"{MANY} states, machine code",
            "called, one core",
            "called / machine code",
            "target",
            "met",
            f"called, {calls.cores()} cores",
        ),
    )
    here = calls.cores

    def on(cores: Callable[[], int], call: Callable[..., object], values: list[np.ndarray]) -> Callable[[], object]:
        def limited() -> object:
            calls.cores = cores
            return call(*values)

        return limited

    for arm in (*(fa.load(name) for name in ARMS), chain(3)):
        model = fa.Model(arm)
        q, qd, u = states(model, MANY)
        given = {"q": q, "qd": qd, "u": u, "qdd": qd[::-1].copy()}
        for name in CALLED:
            values = [given[a] for a in QUANTITIES[name][0]]
            method, one = getattr(model, name), [x[0].copy() for x in values]
            with empty_cache():
                native = over_rows(model.kernel(name).vector_code, np.ascontiguousarray(np.concatenate(values, axis=1)))
                samples = {
                    "one": partial(method, *one),
                    "native": native,
                    "alone": on(lambda: 1, method, values),
                    "shared": on(here, method, values),
                }
                found = interleaved(samples, 5 if quick else 25)
            calls.cores = here
            call, toll = np.median(found["one"]), np.median(np.divide(found["alone"], found["native"]))
            table.add(
                arm.name,
                name,
                spread(found["one"]),
                *judged(call, CALL, time(CALL)),
                spread(found["native"]),
                spread(found["alone"]),
                f"{toll:.2f}",
                *judged(toll, TOLL, str(TOLL)),
                spread(found["shared"]),
            )
    table.notes.append(
        "The arguments are arrays of doubles of the right shape. The column of the machine code is for one thread "
        "that writes into an existing array. A ratio is the median of the ratios of two samples that were taken one "
        "after the other."
    )
    return table


def _sizes(quick: bool) -> Table:
    """Recursion against the dense path as the chain grows."""
    table = Table("Recursion and dense path", ("links", "coordinates", "recursion", "dense path", "dense / recursion"))
    for n in (1, 2, 3, 4, 6) if quick else (1, 2, 3, 4, 6, 8, 12):
        model = fa.Model(chain(n))
        x = np.ascontiguousarray(np.concatenate(states(model, 256), axis=1))
        with empty_cache():
            calls = {
                name: over_rows(model.kernel(name).code, x) for name in ("forward_dynamics", "forward_dynamics_dense")
            }
        found = interleaved(calls, 5 if quick else 15)
        recursion, dense = ([s / len(x) for s in times] for times in found.values())
        ratio = np.median(np.divide(dense, recursion))
        table.add(n, len(model.coordinates), spread(recursion), spread(dense), f"{ratio:.2f}")
    return table
