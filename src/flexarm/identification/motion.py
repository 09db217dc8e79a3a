"""A motion and its exact derivatives in parameters, initial states, and a delay of the inputs.

For x' = f(x, u, p) and y = g(x, u, p) a change dp of the parameters and dx of the state obey

    dx' = f_x dx + f_u du + f_p dp,    dy = g_x dx + g_u du + g_p dp        (the variational equations).

One program computes f and its derivative along one direction (dx, du, dp). It is compiled for SIMD batches of `LANES`
numbers. Each lane has its own direction, and all lanes have the same motion. The program is 2.5 times as long as f for
any number of parameters. One with the derivatives in all of them would be 4 to 40 times as long.

The classical Runge-Kutta method integrates motion and derivatives together. The derivatives are therefore those of the
computed motion, not only of the exact one.

Terms that depend on p alone are computed once in a run: w(p).
"""

import ctypes  # noqa: TID251  (calls what was compiled here)
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.arrays import Array
from flexarm.native.functions import translated
from flexarm.native.kernel import LANES, Kernel
from flexarm.native.language import Floats, Placed, Words, call, lanes
from flexarm.native.once import Once
from flexarm.native.tangent import differentiated
from flexarm.simulation.butcher import RK4

if TYPE_CHECKING:
    import casadi as ca

CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@dataclass
class Shot:
    """Native code's data: a motion over some samples, with derivatives along `LANES` directions.

    Attributes
    ----------
    rate, output : addresses
        Addresses of the kernels (x, dx, u, du, w, dw) -> (f, df) and -> (g, dg), `LANES` numbers each.
    states, inputs, outputs : int
        Sizes of x, u and y.
    samples, steps, h
        There are `steps` of length h from one sample to the next.
    u, slope : (samples, 2 steps + 1, inputs)
        Inputs at the beginning, the middle and the end of each step, and du/dt there. Only the first of the last sample
        is used.
    delays : (inputs, LANES)
        Derivative of an input's time along each direction; later is positive.
    z : (2 (states + inputs + w), LANES)
        The kernels' arguments.
    y, k, total : (2 states, LANES)
        State with derivatives, initial and then final; their rates.
    stages, reach, weights, halves
        The method, see `ButcherTableau.in_sequence`, and the times of its stages in halves of a step.
    out : (samples, 2 outputs, LANES)
    """

    rate: int
    output: int
    states: int
    inputs: int
    outputs: int
    samples: int
    steps: int
    h: float
    u: Floats
    slope: Floats
    delays: Floats
    z: Floats
    y: Floats
    k: Floats
    total: Floats
    out: Floats
    stages: int
    reach: Floats
    weights: Floats
    halves: Words


CODE = Once(lambda: translated(shoot))


def shoot(s: Shot) -> None:
    """Compute the outputs with derivatives at each sample, and the state with derivatives at the last one."""
    width = 2 * s.states * LANES
    row = 2 * s.outputs * LANES
    nodes = 2 * s.steps + 1
    x, y, k, total = s.z, s.y, s.k, s.total
    for i in range(s.samples):
        for j in lanes(width):
            x[j] = y[j]
        driven(s, i * nodes)
        call(s.output, s.z, s.out[i * row :])
        if i < s.samples - 1:
            for step in range(s.steps):
                for j in lanes(width):
                    x[j], total[j] = y[j], 0.0
                for stage in range(s.stages):
                    driven(s, i * nodes + 2 * step + s.halves[stage])
                    call(s.rate, x, k)
                    weight, reach = s.h * s.weights[stage], s.h * s.reach[stage]
                    for j in lanes(width):
                        total[j] += weight * k[j]
                        x[j] = y[j] + reach * k[j]
                for j in lanes(width):
                    y[j] += total[j]


def driven(s: Shot, node: int) -> None:
    """Write the inputs of a node, equal in all lanes, and their change by the delay of each lane."""
    u = s.z[2 * s.states * LANES :]
    du = u[s.inputs * LANES :]
    for j in range(s.inputs):
        value, slope = s.u[node * s.inputs + j], s.slope[node * s.inputs + j]
        for lane in range(LANES):
            u[j * LANES + lane] = value
            du[j * LANES + lane] = -slope * s.delays[j * LANES + lane]


def parted(rate: "ca.Function", output: "ca.Function") -> "tuple[ca.Function, ca.Function, ca.Function]":
    """Split f(x, u, p) and g(x, u, p) into f(x, u, w), g(x, u, w) and w(p)."""
    import casadi as ca

    from flexarm.native.prologue import Prologue

    prologue = Prologue(ca.SX.sym("p", rate.numel_in(2)))
    parts = [prologue.main(each) for each in (rate, output)]
    w = ca.SX(ca.vertcat(*prologue.w))
    f, g = (ca.Function("main", [*x, w], y) for x, y in parts)
    return f, g, prologue.function()


def compiled(
    key: str, trace: "Callable[[], tuple[ca.Function, ca.Function]]", slopes: bool = True
) -> tuple[Kernel, Kernel, Kernel]:
    """Return the kernels of f(x, u, w), g(x, u, w) and w(p), each with its derivative along a direction.

    Without `slopes` they have the values alone. See `Motion` for the key and the functions.
    """
    parts = Once(lambda: parted(*trace()))

    def kernel(i: int) -> Kernel:
        name = f"{key}\n{i}" if slopes else f"{key}\n{i} alone"
        return Kernel(name, lambda: differentiated(parts()[i]) if slopes else parts()[i])

    return kernel(0), kernel(1), kernel(2)


@final
@dataclass(frozen=True)
class Course:
    """Result of a motion.

    Attributes
    ----------
    y, slopes : (samples, outputs), (samples, outputs, directions)
        Outputs, and their derivatives along each direction.
    x, ends : (states,), (states, directions)
        State at the last sample, and its derivatives.
    """

    y: Array
    slopes: Array
    x: Array
    ends: Array


@final
class Motion:
    """Compiled functions x' = f(x, u, p), y = g(x, u, p) with their derivatives.

    Parameters
    ----------
    key : str
        Text that identifies the functions.
    trace : () -> (casadi.Function, casadi.Function)
        f and g, over symbols of kind SX; called only if no machine code is cached.
    """

    def __init__(self, key: str, trace: "Callable[[], tuple[ca.Function, ca.Function]]"):
        self._rate, self._output, self._constants = compiled(key, trace)

    def __call__(self, x: Array, dx: Array, p: Array, dp: Array, u: Array, h: float, **delayed: Array) -> Course:
        """Simulate from an initial state, with derivatives along d directions.

        Parameters
        ----------
        x, dx : (states,), (states, d)
            State at the first sample, and its change in each direction.
        p, dp : (k,), (k, d)
        u : (samples, 2 steps + 1, inputs)
            Inputs at the beginning, the middle and the end of each step between samples. Only the first of the last
            sample is used.
        h : float
            Length of a step [s].
        slope, delays : (samples, 2 steps + 1, inputs), (inputs, d), optional
            du/dt, and the change of each input's delay in each direction.
        """
        rate, output = self._rate.vector_code, self._output.vector_code
        states, outputs = rate.facts["n_out"] // 2, output.facts["n_out"] // 2
        samples, nodes, inputs = u.shape
        directions = dx.shape[1]
        u = np.ascontiguousarray(u, dtype=float)
        slope = np.ascontiguousarray(delayed.get("slope", np.zeros_like(u)))
        delays = delayed.get("delays", np.zeros((inputs, directions)))
        groups = max(1, -(-directions // LANES))
        pad = ((0, 0), (0, groups * LANES - directions))
        dx, dp, delays = np.pad(dx, pad), np.pad(dp, pad), np.pad(delays, pad)
        wide = np.hstack([np.broadcast_to(p, (dp.shape[1], len(p))), dp.T])
        w = self._constants.many(np.ascontiguousarray(wide)).T  # (2 constants, groups * LANES)
        y, dy, ends = np.empty((samples, outputs)), [], []
        reach, weights = RK4.in_sequence
        for group in range(groups):
            own = slice(group * LANES, (group + 1) * LANES)
            start = np.vstack([np.broadcast_to(x[:, None], (states, LANES)), dx[:, own]])
            z = np.vstack([start, np.zeros((2 * inputs, LANES)), w[:, own]])
            shot = Placed(
                Shot(
                    rate=rate.addresses["evaluate"],
                    output=output.addresses["evaluate"],
                    states=states,
                    inputs=inputs,
                    outputs=outputs,
                    samples=samples,
                    steps=(nodes - 1) // 2,
                    h=h,
                    u=u,
                    slope=slope,
                    delays=np.ascontiguousarray(delays[:, own]),
                    z=z,
                    y=start,
                    k=np.zeros_like(start),
                    total=np.zeros_like(start),
                    out=np.empty((samples, 2 * outputs, LANES)),
                    stages=RK4.stages,
                    reach=reach,
                    weights=weights,
                    halves=np.array([round(2 * c) for c in RK4.c[: RK4.stages]]),
                )
            )
            CALL(CODE().addresses["shoot"])(shot.address)
            y = shot.out[:, :outputs, 0]
            dy.append(shot.out[:, outputs:])
            ends.append(shot.y)
        last = np.concatenate(ends, axis=1) if groups > 1 else ends[0]
        slopes = np.concatenate(dy, axis=2) if groups > 1 else dy[0]
        return Course(y, slopes[:, :, :directions], ends[0][:states, 0], last[states:, :directions])
