"""Gradients of recorded runs: derivatives by their names, from the results of the adjoint."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import (
    counted,
    unknown_name,
)
from flexarm.model import Model, as_model, closures
from flexarm.native.adjoint import adjoint
from flexarm.native.kernel import Kernel
from flexarm.simulation.adjoint import Recorded, Sums
from flexarm.simulation.block import Block
from flexarm.simulation.designs import STENCIL, designs, numbers_of
from flexarm.simulation.feedback import LawBlock, initial, integrand
from flexarm.simulation.gradient_many import together
from flexarm.simulation.gradient_start import OF_CONTROLLER, Start
from flexarm.simulation.inputs import Piecewise, Table, as_input
from flexarm.simulation.objective import Scalar


@final
@dataclass(frozen=True, eq=False)
class Gradient:
    """A scalar of a run and its gradient; `gradient["q0"]` is the derivative with respect to q0.

    Attributes
    ----------
    value : float or (N,)
        The scalar, of one run or of each of N runs.
    slopes : dict of arrays
        Derivatives by name, each in the shape of the numbers that it belongs to, for N runs with N in front.
    method : str
        Method of the run.
    times : (steps + 1,)
        Ends of its steps, of N runs those of the first [s].
    """

    value: float | Array
    slopes: Mapping[str, Array]
    method: str
    times: Array

    def __getitem__(self, name: str) -> Array:
        """Return the derivative with respect to one of the names."""
        try:
            return self.slopes[name]
        except KeyError:
            raise KeyError(unknown_name("the gradient has no", name, self.slopes, "it has")) from None

    def __repr__(self) -> str:
        value = self.value.shape if isinstance(self.value, np.ndarray) else f"{self.value:.6g}"
        shapes = ", ".join(f"{name} {x.shape}" for name, x in self.slopes.items())
        return f"Gradient(value {value}; {shapes}; {self.method}, {counted(len(self.times) - 1, 'step')})"


class Marks(NamedTuple):
    """Times at which the objective is evaluated, (k,), and numbers for each, (k, d)."""

    times: Array
    data: Array


class Redesigned(NamedTuple):
    """A controller with another value of one of its numbers.

    Attributes
    ----------
    drive : LawBlock
        Its law.
    number, weight : int, float
        The number, and the controller's weight in the derivative with respect to it.
    q, qd : (nq,), (nv,)
        The start that follows from its reference; zeros where the start is given.
    """

    drive: LawBlock
    number: int
    weight: float
    q: Array
    qd: Array


def gradients(
    runs: Sequence[Start],
    others: Sequence[list[Redesigned]],
    recorded: Recorded,
    names: list[str],
    scalars: Mapping[str, Scalar],
    marks: Marks,
) -> list[Gradient]:
    """Return the gradients of runs that were recorded together, with their controllers with other numbers."""
    model, drive, layout = runs[0].model, runs[0].drive, runs[0].layout
    table = together(runs)
    rates = integrand(model, drive.quantity, layout.memory)
    correction = closures.kernel(model, drive.quantity) if model.arm.closures else None
    rows = [_pulled(run, recorded, i, scalars.get("of"), marks) for i, run in enumerate(runs)]
    swept = recorded.swept(
        layout,
        rates,
        "p" in names,
        correction,
        [run.drive.kernel_for(model) for run in runs],
        [kernels_of(each, model) for each in others],
        scalars.get("integral"),
        np.stack([run.model.p for run in runs], axis=-1),
        table.cubics if table is not None and "u" in names else None,
        np.stack([each.steps for each in rows], axis=-1),
        np.stack([each.slopes for each in rows], axis=-1),
    )
    return [
        _of_run(run, recorded, names, (rates, correction), own, each, sums)
        for run, own, each, sums in zip(runs, others, rows, swept, strict=True)
    ]


def _of_run(
    run: Start,
    recorded: Recorded,
    names: list[str],
    kernels: tuple[Kernel, Kernel | None],
    others: list[Redesigned],
    at: "_Pulled",
    sums: Sums,
) -> Gradient:
    """Return the gradient of one run."""
    (rates, correction), model, layout = kernels, run.model, run.layout
    parts = (rates, sums.of_constants), (correction, sums.of_loops), (recorded.contacts, sums.of_contacts)
    slopes: dict[str, Callable[[], Array]] = {
        "q0": lambda: sums.v[layout.q] @ tangent_of(model, run.start[layout.q]),
        "qd0": lambda: sums.v[layout.qd],
        "s0": lambda: sums.v[layout.s],
        "p": lambda: at.of_p + sums.of_cost + _of_constants(model, *parts),
        "u": lambda: _of_inputs(run, recorded, sums),
        "w": lambda: _of_exogenous(run, recorded, sums),
    }
    own = _of_controllers(run, sums, names, others)
    found = {name: own[name] if name in own else slopes[name]() for name in names}
    return Gradient(at.value + float(sums.value[0]), found, run.method, recorded.times)


class _Pulled(NamedTuple):
    """The sum of `of`, its slopes in the states at its times and in p, and the steps before which these times are."""

    value: float
    slopes: Array
    of_p: Array
    steps: Array


def _pulled(run: Start, recorded: Recorded, i: int, scalar: Scalar | None, marks: Marks) -> _Pulled:
    """Return the contributions of `of` in one of the recorded runs."""
    size, k = run.layout.size, len(run.model.p)
    if scalar is None:
        return _Pulled(0.0, np.empty((0, size)), np.zeros(k), np.empty(0, dtype=np.int64))
    edges = np.array(recorded.edges)
    nearest = np.abs(edges[:, None] - marks.times).argmin(axis=0)
    x, p = np.array(recorded.states)[nearest, i :: recorded.width], np.tile(run.model.p, (len(nearest), 1))
    values, slopes = scalar(np.hstack([edges[nearest, None], x, p, marks.data]))
    of_p = slopes[:, scalar.parts["p"]].sum(axis=0)
    return _Pulled(float(values.sum()), slopes[:, scalar.parts["x"]], of_p, np.array(recorded.first_of(i))[nearest])


def tangent_of(model: Model, q: Array) -> Array:
    """Return dq / d(local coordinates), (nq, nv)."""
    if not model.arm.quaternions:
        return np.eye(model.nv)
    import casadi as ca

    x = ca.SX.sym("q", model.nq)
    found = ca.Function("tangent", [x], [model.to_tangent(ca.SX.eye(model.nq), [x], "q")])
    return np.array(found(q))


def _of_constants(model: Model, *parts: tuple[Kernel | None, Array]) -> Array:
    """Return the products of weights of kernels' constants with the slopes of these constants in the parameters."""
    found = np.zeros(len(model.p))
    for kernel, weights in parts:
        if kernel is not None and kernel.prologue is not None:
            found += adjoint(kernel.prologue).one(np.concatenate([model.p, weights]))
    return found


def controllers_of(began: Start, names: list[str]) -> list[Redesigned]:
    """Return the controllers with other numbers, whose differences are the derivatives by their names."""
    model, found = as_model(began.given["model"]), []
    open_ = np.array([began.given["q0"] is None, began.given["qd0"] is None])
    recorded = tuple(each.name for each in began.drive.records)
    for name in names:
        if name.startswith(OF_CONTROLLER):
            for each in designs(began.given["u"], name.removeprefix(OF_CONTROLLER)):
                drive = as_input(each.controller, model)
                assert isinstance(drive, LawBlock)
                drive = drive.recording(recorded, model) if recorded else drive
                start = initial(model, drive.begins) if open_.any() else (np.zeros(model.nq), np.zeros(model.nv))
                q, qd = (given * part for given, part in zip(open_, start, strict=True))
                found.append(Redesigned(drive, each.number, each.weight, q, qd))
    return found


def kernels_of(others: list[Redesigned], model: Model) -> list[Kernel]:
    """Return the compiled controllers with other numbers."""
    return [each.drive.kernel_for(model) for each in others]


def _of_controllers(began: Start, sums: Sums, names: list[str], others: list[Redesigned]) -> dict[str, Array]:
    """Return the derivatives with respect to numbers of the controller: by the law, its memory and the start."""
    layout, given = began.layout, began.given
    z = sums.v[layout.z] if sums.z is None else sums.z
    q, qd = sums.v[layout.q], sums.v[layout.qd]
    left, found = iter(zip(others, sums.others, strict=True)), {}
    for name in names:
        if name.startswith(OF_CONTROLLER):
            slopes = np.zeros_like(numbers_of(given["u"], name.removeprefix(OF_CONTROLLER)))
            for each, total in islice(left, 2 * len(STENCIL) * slopes.size):
                start = z @ np.array(each.drive.law.memory) + q @ each.q + qd @ each.qd
                slopes.flat[each.number] += each.weight * (total + start)
            found[name] = slopes
    return found


def _of_inputs(run: Start, recorded: Recorded, sums: Sums) -> Array:
    """Return the derivative with respect to the values of the inputs."""
    drive, m = run.drive, run.layout.inputs
    if isinstance(drive, Table):
        return _of_table(drive, sums.of_table)
    assert isinstance(drive, Piecewise)
    found = _of_values(drive, recorded, sums.of_inputs[:, :m])
    return found if isinstance(run.given["u"], Block) else found[0]


def _of_exogenous(run: Start, recorded: Recorded, sums: Sums) -> Array:
    """Return the derivative with respect to the values of the exogenous inputs, which are one `Piecewise`."""
    ((_, _, part),) = run.exogenous.parts
    assert isinstance(part, Piecewise)
    found = _of_values(part, recorded, sums.of_inputs[:, run.layout.fed - run.layout.exogenous :])
    return found if isinstance(run.given["w"], Block) else found[0]


def _of_values(piecewise: Piecewise, recorded: Recorded, of_intervals: Array) -> Array:
    """Return the derivative with respect to values from that with respect to the inputs in each interval."""
    found = np.zeros_like(piecewise.values_)
    current = np.searchsorted(piecewise.times, recorded.edges[:-1], side="right") - 1
    np.add.at(found, current[current >= 0], of_intervals[current >= 0])
    return found


def _of_table(table: Table, of_cubics: Array) -> Array:
    """Return the derivative with respect to the values y of a table from that with respect to its cubics.

    Each cubic follows from y and the slopes at its two ends: those of straight lines, or of a spline. The slopes of the
    "not-a-knot" spline are the solution of A s = b, where b consists of the slopes d of straight lines (de Boor, A
    Practical Guide to Splines, chapter IV). Their weights w have the effect A'^-1 w on b.
    """
    y, first, last, inner = of_cubics[1:, :, 3].copy(), of_cubics[0], of_cubics[-1], of_cubics[1:-1]
    y[0] += first[:, 3]
    h = np.diff(table.times)[:, None]
    if table.kind == "linear":
        d = inner[:, :, 2].copy()
    elif len(table.times) < 4:  # a straight line or a parabola
        units = Table(table.times, np.eye(len(table.times)), table.kind).cubics[1]
        return np.einsum("jkp,jmp->km", units, of_cubics)  # type: ignore[no-any-return]
    else:
        s = np.zeros_like(last[None, :, 2].repeat(len(table.times), axis=0))
        cubic, square = inner[:, :, 0] / h**2, inner[:, :, 1] / h
        s[:-1] += cubic - 2.0 * square + inner[:, :, 2]
        s[1:] += cubic - square
        d = 3.0 * square - 2.0 * cubic + _of_lines(table.times, s)
    y[1:] += d / h
    y[:-1] -= d / h
    return y


def _of_lines(t: Array, of_slopes: Array) -> Array:
    """Return weights of the slopes of straight lines from those of the slopes of a spline, (k, m), at k > 3 times."""
    from scipy.linalg import solve_banded

    h = np.diff(t)
    a, b = t[2] - t[0], t[-1] - t[-3]
    rows = np.zeros((3, len(t)))  # the upper, middle and lower diagonal of A', which are those of A in reverse order
    rows[0, 1:-1], rows[0, -1] = h[1:], b
    rows[1, 1:-1], rows[1, 0], rows[1, -1] = 2.0 * (h[:-1] + h[1:]), h[1], h[-2]
    rows[2, 1:-1], rows[2, 0] = h[:-1], a
    x = solve_banded((1, 1), rows, of_slopes)
    found = np.zeros((len(h), of_slopes.shape[1]))
    found[:-1] += 3.0 * h[1:, None] * x[1:-1]
    found[1:] += 3.0 * h[:-1, None] * x[1:-1]
    found[0] += (h[0] + 2.0 * a) * h[1] / a * x[0]
    found[1] += h[0] ** 2 / a * x[0]
    found[-2] += h[-1] ** 2 / b * x[-1]
    found[-1] += (2.0 * b + h[-1]) * h[-2] / b * x[-1]
    return found
