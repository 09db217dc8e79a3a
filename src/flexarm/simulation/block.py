"""Blocks: whatever acts on an arm in a run, as torques, controllers, prescribed motions and external loads.

A block writes u or some of the exogenous inputs w. A run evaluates it from one event to the next.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import shown
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.native.kernel import Kernel
from flexarm.native.lifted import kernel_of
from flexarm.simulation.layout import Layout
from flexarm.simulation.rhs import Plan, Stage, nothing_to_do, stage_of
from flexarm.trajectory import Reference

if TYPE_CHECKING:
    import casadi as ca

    from flexarm.simulation.advance import Advance


Cubics = tuple[Array, Array]
"""Breaks (intervals + 1,) and coefficients (intervals, m, 4) of a table, see `rhs.cubic_table`."""

Ahead = Callable[[Array, Array], tuple[int, Array, int, int]]
"""A function of the edges of intervals and of the state at the first edge. It returns the number of completed
intervals, the state after them, the number of the run's times at which the state is known, and the number of steps."""


@final
@dataclass(frozen=True)
class Recorded:
    """A variable of a result with recorded signals of a controller: its name, its signals' names, and its unit."""

    name: str
    signals: tuple[str, ...]
    unit: str


class Block(ABC):
    """Whatever acts on an arm in a run. A subclass needs only `output` and `described`.

    By default the output is evaluated at each jump and constant until the next. `Compiled` evaluates it in native code
    at every time. `Sampled` holds a function of the state.

    Attributes
    ----------
    quantity : str
        Quantity of the model that is integrated. The block writes its argument u.
    outputs : tuple of str or None
        Names of the signals that the block writes; None for the arm's inputs u.
    memory : tuple of float
        Initial memory of the block, which is part of the run's state. The block writes its rates after its output.
    of_state : bool
        True if u of the result depends on the arm's state.
    computed : bool
        True if a Python function is called at every evaluation.
    constant : bool
        True if the output never changes.
    batched : bool
        True if SIMD batches can compute the output: by the kernel, by the cubics, or constant between events.
    cubics : Cubics or None
        The output as a table, if it is one.
    period : float or None
        Sampling period [s] of a sampled block.
    wanted : Reference or None
        Desired motion of the joints, stored with the result.
    records : tuple of Recorded
        Recorded signals.
    """

    quantity = "state_rate"
    outputs: tuple[str, ...] | None = None
    memory: tuple[float, ...] = ()
    of_state = False
    computed = False
    constant = False
    batched = False
    cubics: Cubics | None = None
    period: float | None = None
    wanted: Reference | None = None
    records: tuple[Recorded, ...] = ()

    @abstractmethod
    def output(self, model: Model, t: Array, q: Array, qd: Array, z: Array) -> Array:
        """Return what the block writes (times, m) at times t and states there; from the right at a jump."""

    @abstractmethod
    def described(self) -> str:
        """Return a line of text for the result's attributes."""

    @property
    def label(self) -> str:
        """Name of the block in error messages."""
        return f"input {self.described()}"

    @property
    def begins(self) -> Reference | None:
        """Motion of the joints on which a run begins by default; None for the arm at rest."""
        return self.wanted

    def jumps(self) -> Array:
        """Return the times at which the output is discontinuous, and a solver must restart [s]."""
        return np.empty(0)

    def corners(self, until: float) -> Iterable[float]:
        """Return the ends of the intervals of a run, ascending, from 0 to `until` [s]."""
        jumps = self.jumps()
        inside = jumps[(jumps > 0) & (jumps < until)]
        return np.concatenate([[0.0], np.unique(inside) if len(inside) else inside, [until]])

    def begun(self, model: Model, times: Array) -> Self:
        """Return the block for one run of the model, with its own data of this run at these times.

        Raises `DescriptionError` if the block was made for another arm.
        """
        return self

    def kernel_for(self, model: Model) -> Kernel | None:
        """Return the compiled output (t, q, qd, z, ...) -> (output, rates of z), or None if there is none.

        Raises `DescriptionError` if the block does not fit the arm.
        """
        return None

    def expressed(self, model: Model, late: float = 0.0) -> "Callable[[ca.SX], ca.SX] | None":
        """Return the output as a function of the symbolic time t, or None if it is no such expression.

        A value that starts up to `late` after a time counts at that time [s]. Raises `DescriptionError` if the block
        does not fit the arm.
        """
        return None

    def stage(self, plan: Plan, u: Array, model: Model, t: float, x: Array) -> Stage:
        """Return the stage that writes the output from t, where the state is x, to the end of the interval.

        u is the place of the output in the plan's buffer. A constant output is written there at once. Raises
        `DescriptionError` if the block does not fit the arm, and another `FlexarmError` if it fails at t.
        """
        layout = Layout.of(model, len(self.memory))
        u[:] = self.output(model, np.array([t]), x[None, layout.q], x[None, layout.qd], x[None, layout.z])[0]
        return nothing_to_do()

    def feed(self, plan: Plan, model: Model, t: float, x: Array) -> None:
        """Set the plan's u from t, where the state is x, to the end of the interval."""
        plan.feed(*self.stage(plan, plan.u, model, t, x))

    def ahead(self, plan: Plan, solver: "Advance", times: Array, x: Array) -> Ahead | None:
        """Return native code that takes many intervals at once from the run's beginning, or None if there is none.

        The states at the times of the result (k,) are written to x, (k, layout.size).
        """
        return None

    def applied(self, model: Model, t: Array, parts: Mapping[str, Array]) -> Array:
        """Return u (times, m) of the result from the state's parts by name: q, qd, z, s, and exogenous inputs w."""
        return self.output(model, t, parts["q"], parts["qd"], parts["z"])

    def over_time(self, model: Model, t: Array, q: Array, qd: Array) -> Array:
        """Return signals (times, k) that the solver follows if the arm stays at q, qd, to find pulses before the run.

        There are no columns if nothing is known before a run, if the output is constant between jumps, or if it comes
        from Python.
        """
        return np.empty((len(t), 0))

    def known(self, until: float) -> Array:
        """Return outputs (k, m) that are known to occur between 0 and `until`, wherever the arm is. May be empty."""
        return np.empty((0, 0))

    def recording(self, names: tuple[str, ...], model: Model) -> Self:
        """Return the block with these signals recorded. Raise `DescriptionError` for unknown names."""
        raise DescriptionError(f"record has {shown(names[0])}; only controllers have signals to record")

    def recorded(self, t: Array, parts: Mapping[str, Array]) -> Array:
        """Return the recorded signals side by side (times, k), at times t and states' parts by name, after the run."""
        return np.empty((len(t), 0))

    def report(self) -> dict[str, Any]:
        """Return facts about the block after a run, for the result's attributes: numbers and texts by names."""
        return {}


class Compiled(Block):
    """A block that native code evaluates at every time, by a kernel of t, or of t and the state."""

    batched = True

    @abstractmethod
    def kernel_for(self, model: Model) -> Kernel:
        """Return the compiled output for a model."""

    def stage(self, plan: Plan, u: Array, model: Model, t: float, x: Array) -> Stage:
        """Return the stage of the kernel, which takes its arguments from the plan's buffer."""
        return stage_of(self.kernel_for(model))

    def output(self, model: Model, t: Array, q: Array, qd: Array, z: Array) -> Array:
        """Return the kernel's values, without the rates of the memory."""
        kernel = self.kernel_for(model)
        rows = t[:, None]
        if kernel.code.facts["n_in"] > len(kernel.constants) + 1:
            rows = np.hstack([rows, q, qd, z])
        found = kernel.few(np.ascontiguousarray(rows, dtype=float))
        return found[:, : found.shape[1] - len(self.memory)]

    def over_time(self, model: Model, t: Array, q: Array, qd: Array) -> Array:
        """Return the output if the arm stays at q, qd and the memory at its initial value."""
        q, qd, z = (np.tile(each, (len(t), 1)) for each in (q, qd, np.array(self.memory)))
        return self.output(model, t, q, qd, z)


class OfTime(Compiled):
    """A block that is an expression of the time alone."""

    @abstractmethod
    def expressed(self, model: Model, late: float = 0.0) -> "Callable[[ca.SX], ca.SX]":
        """Return the output as a function of the symbol t."""

    @abstractmethod
    def key(self, model: Model) -> list[Any]:
        """Return what the expression depends on: the key of its code in the cache."""

    def kernel_for(self, model: Model) -> Kernel:
        """Return the compiled expression."""

        def trace() -> "ca.Function":
            import casadi as ca

            t = ca.SX.sym("t")
            return ca.Function("block", [t], [ca.densify(ca.cse(self.expressed(model)(t)))])

        return kernel_of(json.dumps(self.key(model)), trace)
