"""Linear models of an arm whose parameters are known within ranges, as linear fractional transformations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from flexarm.analysis import equilibrium
from flexarm.analysis.balance import computing
from flexarm.arrays import Array
from flexarm.brief import brief
from flexarm.checks import Fault, checked_array, checked_number, counted, refused, shown, unknown_name
from flexarm.errors import DescriptionError
from flexarm.model import Model, ModelLike, as_model
from flexarm.model.outputs import slopes as output_slopes
from flexarm.model.varied import named_in
from flexarm.robust.systems import Matrices, beside, singular, wired

if TYPE_CHECKING:
    import control

    from flexarm.model.outputs import Sensor

RANK = 1e-9
"""Share of a parameter's largest singular value below which a direction is rounding."""
MOST_CORNERS = 64
"""Largest number of corners at which the remainder is measured."""


@final
@brief
@dataclass(frozen=True, eq=False)
class Uncertain:
    """A linear model with parameters p in ranges: a system, and p fed back around it.

        (z, y) = M(s) (w, u),    w = diag(delta_1 1, delta_2 1, ...) z,    p = (low + high) / 2 + delta (high - low) / 2

    The deviations delta are from -1 to 1.

    Attributes
    ----------
    names : (k,)
        Names of the parameters.
    low, high : (k,)
        Ends of their ranges.
    blocks : (k,)
        Number of times that each delta appears.
    system : control.StateSpace
        M, with the inputs (w, u) and the outputs (z, y).
    remainder : float
        Largest part of the change of the arm's matrices that M does not describe, at the corners of the ranges, as a
        share of the change: 1e-10 where all matrices are affine in p.
    """

    names: tuple[str, ...]
    low: Array
    high: Array
    blocks: tuple[int, ...]
    system: "control.StateSpace"
    remainder: float

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.system.nstates)

    def at(self, p: Mapping[str, float] | ArrayLike) -> "control.StateSpace":
        """Return the model from u to y with given parameters, (k,) or some of them by name, the others in the middle.

        Values outside the ranges are allowed. Raises `DescriptionError` for unknown names, and for values where the
        model has no solution, such as a mass of zero.
        """
        found = self.closed_by(self.deviations(p))
        count = sum(self.blocks)
        return found.state_space(inputs=self.system.input_labels[count:], outputs=self.system.output_labels[count:])

    def deviations(self, p: Mapping[str, float] | ArrayLike) -> Array:
        """Return the deviations delta (k,) of parameters, which are from -1 to 1 within the ranges."""
        with refused("Uncertain.at"):
            if isinstance(p, Mapping):
                values = (self.low + self.high) / 2.0
                for name, value in p.items():
                    if name not in self.names:
                        raise Fault("p", unknown_name("has the unknown name", name, self.names, "the parameters are"))
                    values[self.names.index(name)] = checked_number(value, part=f"p[{name!r}]")
            else:
                values = checked_array(p, "p")
                if values.shape != self.low.shape:
                    raise Fault("p", f"has shape {values.shape}; it must be {self.low.shape}")
        return (values - (self.low + self.high) / 2.0) / ((self.high - self.low) / 2.0)

    def parameters(self, delta: Array) -> dict[str, float]:
        """Return the parameters for deviations (k,)."""
        p = (self.low + self.high) / 2.0 + delta * (self.high - self.low) / 2.0
        return dict(zip(self.names, p.tolist(), strict=True))

    def closed_by(self, delta: Array) -> Matrices:
        """Return the system from u to y for deviations (k,)."""
        M = Matrices.of("Uncertain", self.system)
        count = sum(self.blocks)
        D = np.repeat(delta, self.blocks)
        loop = np.eye(count) - M.D[:count, :count] * D
        if singular(loop):
            raise DescriptionError(
                "Uncertain: the model has no solution with these parameters, such as a mass of zero: "
                + ", ".join(f"{name} = {value:.4g}" for name, value in self.parameters(delta).items())
            )
        back = D[:, None] * np.linalg.solve(loop, np.hstack([M.C[:count], M.D[:count, count:]]))
        n = M.order
        rows = np.vstack([np.hstack([M.A, M.B[:, count:]]), np.hstack([M.C[count:], M.D[count:, count:]])])
        rows = rows + np.vstack([M.B[:, :count], M.D[count:, :count]]) @ back
        return Matrices(rows[:n, :n], rows[:n, n:], rows[n:, :n], rows[n:, n:])

    def closed(self, controller: "control.StateSpace") -> "Uncertain":
        """Return the loop with u = K (r - y) + d: inputs (d, r), outputs (y, u).

        Raises `DescriptionError` if the controller's inputs and outputs do not fit y and u.
        """
        where = "Uncertain.closed"
        M, K = Matrices.of(where, self.system), Matrices.of(where, controller)
        count = sum(self.blocks)
        p, m = len(M.D) - count, M.D.shape[1] - count
        if K.D.shape != (m, p):
            raise DescriptionError(
                f"{where}: the controller has {counted(K.D.shape[1], 'input')} and {counted(len(K.D), 'output')}; it "
                f"must have {p} and {m}, for y and u"
            )
        F = np.zeros((count + m + p, count + p + m))
        F[count : count + m, count + p :] = np.eye(m)
        F[count + m :, count : count + p] = -np.eye(p)
        G, H, J = np.eye(count + m + p), np.eye(count + p + m), np.zeros((count + p + m, count + m + p))
        J[count + p :, count : count + m] = np.eye(m)  # u contains d
        found = wired(where, beside(M, K), F, G, H, J)
        inner = [f"w{i + 1}" for i in range(count)], [f"z{i + 1}" for i in range(count)]
        u, y = self.system.input_labels[count:], self.system.output_labels[count:]
        system = found.state_space(inputs=[*inner[0], *u, *(f"r_{name}" for name in y)], outputs=[*inner[1], *y, *u])
        return replace(self, system=system)


@computing("uncertain")
def uncertain(
    model: ModelLike, vary: Mapping[str, Sequence[float]], q: ArrayLike, outputs: Sequence["Sensor"]
) -> Uncertain:
    """Return the linear model of an arm at rest for all values of some parameters within ranges.

    The arm is E(p) dx/dt = A(p) x + B(p) u with E = diag(1, M, 1). Inertia, stiffness and damping are affine in masses,
    inertias and stiffnesses, so the feedback of p is exact for them. Each linear model has exact derivatives, at the
    equilibrium for its p. The slopes in p are those between the ends of each range, and `remainder` says what they
    miss. The blocks are as small as the ranks of the slopes.

    Parameters
    ----------
    model : Model, Arm, str or path
    vary : dict of (low, high) by names
        Ranges of the arm's parameters, such as "payload.mass".
    q : (nq,) or (m,)
        Configuration near the equilibrium, or joint coordinates alone; the joints stay there for all p.
    outputs : list of Sensor

    Raises
    ------
    DescriptionError
        If a range or a name is wrong, if the arm has closures, or if there is no equilibrium.
    """
    where = "uncertain"
    with refused(where):
        model = as_model(model)
        names, low, high = _ranges(vary)
    if model.arm.closures:
        raise DescriptionError(f"{where}: arm {model.arm.name!r} has closures; its linear model has no mass matrix")
    with named_in(f"{where}: vary"):
        varied = Model(model.arm_at(), vary=list(names))
    if tuple(each.name for each in varied.parameters) != names:
        there = ", ".join(each.name for each in varied.parameters)
        raise DescriptionError(f"{where}: vary must have full names of parameters, without patterns: {there}")
    for end in (low, high):
        try:
            varied.at(end)
        except DescriptionError as error:
            raise DescriptionError(f"{where}: vary: {error}") from None
    middle, radius = (low + high) / 2.0, (high - low) / 2.0

    def matrices(delta: Array) -> Array:
        return _descriptor(varied.at(middle + radius * delta), q, outputs)

    k, size = len(names), model.nv * 2 + len(model.states)
    center = matrices(np.zeros(k))
    slopes = [(matrices(e) - matrices(-e)) / 2.0 for e in np.eye(k)]
    linear = model.linearize(*_at_rest(model, q), outputs)
    return replace(
        _feedback(center, slopes, size, names, low, high, linear),
        remainder=_remainder(matrices, center, slopes),
    )


def _at_rest(model: Model, q: ArrayLike) -> tuple[Array, Array, Array]:
    at, u = equilibrium(model, q, held="joints")
    return at, np.zeros(model.nv), u


def _descriptor(model: Model, q: ArrayLike, outputs: Sequence["Sensor"]) -> Array:
    """Return [-E, A, B; Y', C, D] at rest, with y = Y' dx/dt + C x + D u."""
    at, qd, u = _at_rest(model, q)
    n, k = model.nv, len(model.states)
    full = model.linearize(at, qd, u)
    E = linalg.block_diag(np.eye(n), model.mass_matrix(at), np.eye(k))
    y_q, y_qd, y_qdd = output_slopes(model, outputs, at, qd, np.zeros(n))
    p, m = len(y_q), full.ninputs
    rates = np.hstack([np.zeros((p, n)), y_qdd, np.zeros((p, k))])
    positions = np.hstack([y_q, y_qd, np.zeros((p, k))])
    return np.block([[-E, E @ full.A, E @ full.B], [rates, positions, np.zeros((p, m))]])


def _feedback(
    center: Array,
    slopes: Sequence[Array],
    n: int,
    names: tuple[str, ...],
    low: Array,
    high: Array,
    linear: "control.StateSpace",
) -> Uncertain:
    """Return the transformation for [-E, A, B; Y', C, D] that is affine in the deviations.

    Each slope is L_i R_i of its rank, w_i = delta_i R_i (dx/dt, x, u), and dx/dt follows from the rows of E.
    """
    rows, columns, blocks = [], [], []
    scale = np.abs(center).max(axis=1) + 1e-300
    for slope in slopes:
        U, s, V = np.linalg.svd(slope / scale[:, None], full_matrices=False)
        rank = int((s > RANK * s[0]).sum()) if s[0] > 0.0 else 0
        columns.append(scale[:, None] * (U[:, :rank] * np.sqrt(s[:rank])))
        rows.append(np.sqrt(s[:rank])[:, None] * V[:rank])
        blocks.append(rank)
    L, R = np.hstack(columns), np.vstack(rows)
    E = -center[:n, :n]
    # dx/dt = E^-1 (A x + B u + L_1 w)
    rate = np.linalg.solve(E, np.hstack([center[:n, n:], L[:n]]))
    inner = np.hstack([R[:, n:], np.zeros((len(R), len(R)))]) + R[:, :n] @ rate
    outer = np.hstack([center[n:, n:], L[n:]]) + center[n:, :n] @ rate
    x, u, w = np.split(np.arange(rate.shape[1]), [n, rate.shape[1] - len(R)])
    into = np.concatenate([w, u])
    found = Matrices(
        rate[:, x],
        rate[:, into],
        np.vstack([inner[:, x], outer[:, x]]),
        np.vstack([inner[:, into], outer[:, into]]),
    )
    count = range(len(R))
    system = found.state_space(
        inputs=[*(f"w{i + 1}" for i in count), *linear.input_labels],
        outputs=[*(f"z{i + 1}" for i in count), *linear.output_labels],
    )
    return Uncertain(names, low, high, tuple(blocks), system, 0.0)


def _remainder(matrices: Any, center: Array, slopes: Sequence[Array]) -> float:
    """Return the largest missing share of the change, over the corners of the ranges."""
    k = len(slopes)
    corners = np.array(list(product((-1.0, 1.0), repeat=k))) if 2**k <= MOST_CORNERS else None
    if corners is None:
        corners = np.where(np.random.default_rng(0).random((MOST_CORNERS, k)) < 0.5, -1.0, 1.0)
    worst = 0.0
    scale = np.abs(center).max(axis=1)[:, None] + 1e-300
    for delta in corners:
        change = (matrices(delta) - center) / scale
        missed = change - sum(d * slope / scale for d, slope in zip(delta, slopes, strict=True))
        size = np.abs(change).max()
        worst = max(worst, float(np.abs(missed).max() / size) if size else 0.0)
    return worst


def _ranges(vary: Any) -> tuple[tuple[str, ...], Array, Array]:
    if not isinstance(vary, Mapping) or not vary:
        raise Fault("vary", f"is {shown(vary)}; it must be a dict of ranges (low, high) by parameter name")
    ends = []
    for name, given in vary.items():
        pair = checked_array(given, f"vary: {shown(name)}")
        if pair.shape != (2,) or not pair[0] < pair[1]:
            raise Fault("vary", f"has {shown(given)} for {shown(name)}; it must be (low, high), low below high")
        ends.append(pair)
    low, high = np.array(ends).T
    return tuple(vary), low, high
