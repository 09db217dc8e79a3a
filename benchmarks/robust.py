"""Robust control: times of syntheses and proofs, on a planar arm with elastic joints."""

from collections.abc import Callable
from time import thread_time
from typing import Any

import control as ct

import flexarm as fa
from benchmarks.report import Table, time
from flexarm import analysis, robust

ARM, AT = "subudhi-morris-elastic", (1.2, 0.5)
RANGES = {"payload.mass": (0.05, 0.2), "fore.stiffness": (70.0, 130.0)}


def measure(quick: bool) -> list[Table]:
    """Each call with a result by which it can be compared."""
    arm = fa.load(ARM)
    model = fa.Model(arm.replace(links=[link.replace(body=link.body.replace(damping=0.02)) for link in arm.links]))
    encoders = [fa.Encoder(coordinate=name) for name in model.inputs]
    q, u = analysis.equilibrium(model, AT)
    G = model.linearize(q, 0 * q, u, outputs=encoders)
    P = robust.four_block(G, robust.weight(100.0, 6.0, 0.5), robust.weight(0.05, 60.0, 20.0), 0.3, 0.3)
    K = robust.hinf_synthesis(P, 2, 2)
    filtered = ct.tf([2.0, 5.0], [0.002, 1.0])
    pd = ct.ss(ct.append(ct.ss(filtered), ct.ss(0.3 * filtered)))
    loop = robust.uncertain(model, RANGES, AT, encoders).closed(pd)
    calls: dict[str, tuple[int, Callable[[], Any], Callable[[Any], str]]] = {
        "hinf_norm": (K.closed.nstates, lambda: robust.hinf_norm(K.closed), lambda x: f"{x.value:.4f}"),
        "hinf_synthesis": (P.nstates, lambda: robust.hinf_synthesis(P, 2, 2), lambda x: f"gamma {x.gamma:.4f}"),
        "loop_shaping": (G.nstates, lambda: robust.loop_shaping(G), lambda x: f"gamma {x.gamma:.4f}"),
        "mu_synthesis, one iteration": (
            P.nstates,
            lambda: robust.mu_synthesis(P, 2, 2, [(2, 2), (2, 2)], iterations=1),
            lambda x: f"mu {x.initial:.4f}, {x.mu:.4f}",
        ),
        "robust_stability": (
            loop.states,
            lambda: robust.robust_stability(loop),
            lambda x: f"{x.lower:.4f} to {x.upper:.4f}",
        ),
        "worst_gain": (loop.states, lambda: robust.worst_gain(loop, 0, 2), lambda x: f"{x.gain:.4f} to {x.upper:.4f}"),
        "reduce_system": (G.nstates, lambda: robust.reduce_system(G, 8), lambda x: f"error {x.error:.2g}"),
    }
    table = Table("Robust control: two flexible links with elastic joints", ("call", "states", "result", "time"))
    for name, (states, call, shown) in calls.items():
        seconds, result = [], None
        for _ in range(1 if quick else 3):
            began = thread_time()
            result = call()
            seconds.append(thread_time() - began)
        table.add(name, states, shown(result), time(min(seconds)))
    table.notes.append("Times of the processor, the least of several repeats. The loop has two parameters in ranges.")
    return [table]
