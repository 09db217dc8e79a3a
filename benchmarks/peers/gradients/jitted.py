"""Shared part of the programs in JAX: it differentiates a scalar of (u, q0, qd0), and compiles it once per setting."""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.peers.gradients.task import GROUPS, Array, Rollout
from benchmarks.peers.peer import Setting, Solution, timed

Scalar = Callable[[Any, Any, Any], Any]
Slopes = Callable[[], dict[str, Array]]


def solved(task: Rollout, program: str, setting: Setting, write: Callable[[], Scalar], lines: int) -> Solution:
    """Compile, unless that was done before, and differentiate."""
    key = (task.name, program, setting.name)
    if key not in COMPILED:
        began = perf_counter()
        COMPILED[key] = (compiled(task, write), perf_counter() - began)
    slopes, seconds = COMPILED[key]
    return replace(timed(task, lambda: slopes, lambda slopes: slopes(), lines), setup=seconds)


COMPILED: dict[Any, tuple[Slopes, float]] = {}


def compiled(task: Rollout, write: Callable[[], Scalar]) -> Slopes:
    """Return a function that computes value and derivatives, from arrays of NumPy to arrays of NumPy."""
    import jax

    jax.config.update("jax_enable_x64", True)
    start = (task.torques, task.q0, task.qd0)
    made = jax.jit(jax.value_and_grad(write(), argnums=(0, 1, 2))).lower(*start).compile()
    return lambda: dict(zip(GROUPS, map(np.asarray, made(*start)[1]), strict=True))
