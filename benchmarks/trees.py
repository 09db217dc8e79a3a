"""Trees: operations, compile time and evaluation of bushy ones, on a base that is fixed or free."""

from itertools import product
from time import perf_counter

import numpy as np

import flexarm as fa
from benchmarks.report import Table, spread, time
from benchmarks.timing import empty_cache
from flexarm.native.program import operations

AXES = ((0, 0, 1), (0, 1, 0), (0, 1, 0))
STATES = 2000


def body(flexible: bool) -> fa.Rigid | fa.Beam:
    """Of a link of 1 m and 2 kg, with 2 + 2 modes if it bends."""
    if not flexible:
        return fa.Rigid(length=1.0, mass=2.0, inertia=(0.01, 0.2, 0.2))
    stiff = {"y": 200.0, "z": 200.0}
    return fa.Beam(length=1.0, mass=2.0, EI=stiff, GJ=80.0, polar_inertia=1e-3, modes={"y": 2, "z": 2})


def tree(arms: int, links: int, flexible: bool, free: bool) -> fa.Arm:
    """So many arms of so many links around a base."""
    some = []
    for a, i in product(range(arms), range(links)):
        where = {"parent": "base", "placement": fa.Pose(xyz=(0.3, 0.0, 0.0), rpy=(0.0, 0.0, 2 * np.pi * a / arms))}
        joint = fa.Revolute(axis=AXES[i % 3])
        some.append(fa.Link(name=f"{a}-{i}", joint=joint, body=body(flexible), **(where if i == 0 else {})))
    base = fa.FreeBase(mass=100.0, inertia=(10.0, 12.0, 15.0)) if free else None
    return fa.Arm(name=f"{arms} x {links}", links=some, base=base, gravity=(0.0, 0.0, -9.81))


def measure(quick: bool) -> list[Table]:
    """One table."""
    table = Table(
        "Bushy trees: rates of a state",
        ("arms x links", "links", "base", "rates", "operations", "tracing", "compiling", "one state of many"),
    )
    shapes = [(1, 3), (2, 3), (4, 3), (1, 12)]
    with empty_cache():
        for flexible, free, (arms, links) in product((False, True), (False, True), shapes):
            model = fa.Model(tree(arms, links, flexible, free))
            began = perf_counter()
            function = model.function("state_rate")
            traced = perf_counter()
            kernel = model.kernel("state_rate")
            x = np.zeros((STATES, model.nq + model.nv + len(model.inputs)))
            x[:, : model.nq] = model.arm.rest
            kernel.many(x)
            compiled = perf_counter()
            samples = [_timed(kernel, x) / STATES for _ in range(3 if quick else 21)]
            table.add(
                f"{arms} x {links}",
                "2 + 2 modes" if flexible else "rigid",
                "free" if free else "fixed",
                str(model.nv),
                str(sum(operations(function))),
                time(traced - began),
                time(compiled - traced),
                spread(samples),
            )
    table.notes.append(
        "Each further arm adds the same number of operations, so nothing is computed twice where arms meet."
    )
    return [table]


def _timed(kernel: object, x: np.ndarray) -> float:
    began = perf_counter()
    kernel.many(x)  # type: ignore[attr-defined]
    return perf_counter() - began
