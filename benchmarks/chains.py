"""The arms that are measured: n like flexible links, each joint's axis across the one before."""

from collections.abc import Callable
from functools import partial

import numpy as np

import flexarm as fa
from flexarm.native.calls import BATCH, job
from flexarm.native.kernel import Code


def chain(n: int, modes: int = 2) -> fa.Arm:
    """An arm of n links that bend in two planes, with gravity; `modes` in each plane."""
    count = {"y": modes, "z": modes}
    body = fa.Beam(length=1.0, mass=1.5, EI={"y": 1000.0, "z": 1500.0}, modes=count, shapes="clamped-free")
    axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    links = [fa.Link(name=f"link{i}", joint=fa.Revolute(axis=axes[i % 2]), body=body) for i in range(n)]
    return fa.Arm(name=f"chain of {n}", links=links, gravity=(0.0, 0.0, -9.81))


def states(model: fa.Model, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random q, qd (rows, n) and u (rows, m), small enough that nothing overflows."""
    random = np.random.default_rng(1)
    sizes = (len(model.coordinates), len(model.coordinates), len(model.inputs))
    q, qd, u = (0.1 * random.standard_normal((rows, size)) for size in sizes)
    return q, qd, u


def over_rows(code: Code, *parts: np.ndarray) -> Callable[[], None]:
    """A call that evaluates native code for every row of parts (rows, n_in together), all in machine code."""
    y = np.empty((len(parts[0]), code.facts["n_out"]))
    words = job(parts, y)
    call = partial(BATCH(code.addresses["batch"]), words.ctypes.data)
    call.held = (parts, y, words, code)  # type: ignore[attr-defined]
    return call
