"""A motion and its exact derivatives by whatever it depends on: parameters, initial states, a delay of the inputs.

For x' = f(x, u, p) and y = g(x, u, p) a change dp of the parameters and dx of the state go on as

    dx' = f_x dx + f_u du + f_p dp,    dy = g_x dx + g_u du + g_p dp        (the variational equations).

One program has f and its derivative along one direction (dx, du, dp); compiled for `LANES` numbers at a time, each lane
has a direction of its own and all of them the same motion. The program is 2.5 times as long as f, whatever the number
of parameters; one with the derivatives by all of them would be 4 to 40 times as long.

The classical Runge-Kutta method takes motion and derivatives together, so that these are the derivatives of what was
computed, not only of what it approximates.

What depends on p alone is taken out of f and g and computed once a run: w(p).
"""

import ctypes  # noqa: TID251  (calls what was compiled here)
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from flexarm.native.functions import translated
from flexarm.native.kernel import LANES, Kernel
from flexarm.native.language import Floats, Placed, call, lanes
from flexarm.native.once import Once

if TYPE_CHECKING:
    import casadi as ca

Array = np.ndarray

CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@dataclass
class Shot:
    """A motion over some samples, with derivatives along `LANES` directions: what native code reads and writes.

    Attributes
    ----------
    rate, output : addresses
        Of the kernels (x, dx, u, du, w, dw) -> (f, df) and -> (g, dg), `LANES` numbers each.
    states, inputs, outputs : int
        Numbers of x, u and y.
    samples, steps, h
        There are `steps` of length h from one sample to the next.
    u, slope : (samples, 2 steps + 1, inputs)
        At the beginning, the middle and the end of each step, and du/dt there. Of the last sample the first alone.
    delays : (inputs, LANES)
        What each direction does to an input's time; later is positive.
    z : (2 (states + inputs + w), LANES)
        The kernels' arguments.
    y, k, total : (2 states, LANES)
        State with derivatives: at first, at last; their rates.
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


CODE = Once(lambda: translated(shoot))


def shoot(s: Shot) -> None:
    """Outputs with derivatives at each sample; state with derivatives at the last one."""
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
                node = i * nodes + 2 * step
                for j in lanes(width):
                    x[j] = y[j]
                driven(s, node)
                call(s.rate, x, k)
                for j in lanes(width):
                    total[j] = k[j]
                    x[j] = y[j] + 0.5 * s.h * k[j]
                driven(s, node + 1)
                call(s.rate, x, k)
                for j in lanes(width):
                    total[j] += 2.0 * k[j]
                    x[j] = y[j] + 0.5 * s.h * k[j]
                call(s.rate, x, k)
                for j in lanes(width):
                    total[j] += 2.0 * k[j]
                    x[j] = y[j] + s.h * k[j]
                driven(s, node + 2)
                call(s.rate, x, k)
                for j in lanes(width):
                    y[j] += s.h * (total[j] + k[j]) / 6.0


def driven(s: Shot, node: int) -> None:
    """The inputs of a node in their place, the same in all lanes; their change by a delay of each lane's own."""
    u = s.z[2 * s.states * LANES :]
    du = u[s.inputs * LANES :]
    for j in range(s.inputs):
        value, slope = s.u[node * s.inputs + j], s.slope[node * s.inputs + j]
        for lane in range(LANES):
            u[j * LANES + lane] = value
            du[j * LANES + lane] = -slope * s.delays[j * LANES + lane]


def tangent(function: "ca.Function") -> "ca.Function":
    """(a, da, b, db, ...) -> (f, df) of a function f(a, b, ...) of CasADi's."""
    import casadi as ca

    a = function.sx_in()
    da = [ca.SX.sym(f"d{i}", x.numel()) for i, x in enumerate(a)]
    f = function(*a)
    df = ca.jtimes(f, ca.vertcat(*a), ca.vertcat(*da))
    pairs = [each for pair in zip(a, da, strict=True) for each in pair]
    return ca.Function("tangent", pairs, [ca.cse(ca.densify(ca.vertcat(f, df)))])


def parted(rate: "ca.Function", output: "ca.Function") -> "tuple[ca.Function, ca.Function, ca.Function]":
    """f(x, u, w), g(x, u, w) and w(p) for f(x, u, p) and g(x, u, p)."""
    import casadi as ca

    from flexarm.native.prologue import Prologue

    prologue = Prologue(ca.SX.sym("p", rate.numel_in(2)))
    parts = [prologue.main(each) for each in (rate, output)]
    w = ca.SX(ca.vertcat(*prologue.w))
    f, g = (ca.Function("main", [*x, w], y) for x, y in parts)
    return f, g, prologue.function()


@final
@dataclass(frozen=True)
class Course:
    """What came of a motion.

    Attributes
    ----------
    y, slopes : (samples, outputs), (samples, outputs, directions)
        Outputs, and their derivatives along each direction.
    x, ends : (states,), (states, directions)
        The state at the last sample, and its derivatives.
    """

    y: Array
    slopes: Array
    x: Array
    ends: Array


@final
class Motion:
    """x' = f(x, u, p), y = g(x, u, p), compiled with its derivatives.

    Parameters
    ----------
    key : str
        What the functions are made from.
    trace : () -> (casadi.Function, casadi.Function)
        f and g, over symbols of kind SX; called only when no machine code is kept.
    """

    def __init__(self, key: str, trace: "Callable[[], tuple[ca.Function, ca.Function]]"):
        parts = Once(lambda: parted(*trace()))
        kernels = [Kernel(f"{key}\n{i}", lambda i=i: tangent(parts()[i])) for i in range(3)]  # type: ignore[misc]
        self._rate, self._output, self._constants = kernels

    def __call__(self, x: Array, dx: Array, p: Array, dp: Array, u: Array, h: float, **delayed: Array) -> Course:
        """From a state on, with derivatives along d directions.

        Parameters
        ----------
        x, dx : (states,), (states, d)
            At the first sample, and what each direction changes there.
        p, dp : (k,), (k, d)
        u : (samples, 2 steps + 1, inputs)
            At the beginning, the middle and the end of each step between samples; of the last sample the first alone.
        h : float
            Of a step [s].
        slope, delays : (samples, 2 steps + 1, inputs), (inputs, d), optional
            du/dt, and what each direction adds to the time that an input comes later.
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
                )
            )
            CALL(CODE().addresses["shoot"])(shot.address)
            y = shot.out[:, :outputs, 0]
            dy.append(shot.out[:, outputs:])
            ends.append(shot.y)
        last = np.concatenate(ends, axis=1) if groups > 1 else ends[0]
        slopes = np.concatenate(dy, axis=2) if groups > 1 else dy[0]
        return Course(y, slopes[:, :, :directions], ends[0][:states, 0], last[states:, :directions])
