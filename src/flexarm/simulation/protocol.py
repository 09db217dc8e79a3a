"""Interface between a run and its input: a table of torques, a controller or a prescribed motion."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

from flexarm.checks import shown
from flexarm.errors import DescriptionError
from flexarm.model import Model
from flexarm.simulation.rhs import Plan
from flexarm.trajectory import Reference

if TYPE_CHECKING:
    from flexarm.native.code import Code
    from flexarm.native.kernel import Kernel
    from flexarm.simulation.advance import Advance

Array = np.ndarray

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


@final
@dataclass(frozen=True)
class InLanes:
    """Description of an input for machine code that computes `LANES` runs at once, see `lanes`.

    Attributes
    ----------
    code : Code, optional
        Code of a kernel for that many states, which reads (t, x, ...) and writes u and the rates after it. None if u is
        constant between breakpoints or given by a table.
    constants : (k,)
        The last arguments of that kernel.
    cubics : (breaks, coefficients), optional
        A table, as `rhs.cubic_table` has it.
    of_time : bool
        True if u depends on time alone.
    source : Kernel, optional
        Source of the code, from which code for other devices is generated.
    """

    code: "Code | None" = None
    constants: Array = field(default_factory=lambda: np.empty(0))
    cubics: tuple[Array, Array] | None = None
    of_time: bool = True
    source: "Kernel | None" = None


class Input(ABC):
    """An input of a run. The default methods fit inputs that depend on time alone and have no memory.

    Attributes
    ----------
    quantity : str
        Quantity of the model that is integrated. The input writes its argument u.
    memory : tuple of float
        Initial memory of the input, which is part of the run's state. The input writes its rates after u.
    computed : bool
        True if a Python function is called at every evaluation.
    of_state : bool
        True if u depends on the arm's state.
    period : float or None
        Sampling period [s] of a sampled input.
    wanted : Reference or None
        Desired motion of the joints, stored with the result.
    """

    quantity = "state_rate"
    memory: tuple[float, ...] = ()
    computed = False
    of_state = False
    period: float | None = None
    wanted: Reference | None = None

    def initial(self, model: Model) -> tuple[Array, Array]:
        """Return the default coordinates and rates at t = 0: the arm at rest."""
        return np.array(model.arm.rest), np.zeros(model.nv)

    def jumps(self) -> Array:
        """Return the times at which u is discontinuous, and a solver must restart [s]."""
        return np.empty(0)

    def begun(self, model: Model, times: Array) -> Self:
        """Return the input for one run of the model, with its own data of this run at these times.

        Raises `DescriptionError` if the input was made for another arm.
        """
        return self

    def recording(self, names: tuple[str, ...], model: Model) -> Self:
        """Return the input with these signals recorded. Raise `DescriptionError` for unknown names."""
        raise DescriptionError(f"record has {shown(names[0])}; only controllers have signals to record")

    @property
    def records(self) -> tuple[Recorded, ...]:
        """Recorded signals."""
        return ()

    def recorded(self, t: Array, parts: Mapping[str, Array]) -> Array:
        """Return the recorded signals side by side (times, k), at times t and states' parts by name, after the run."""
        return np.empty((len(t), 0))

    def corners(self, until: float) -> Iterable[float]:
        """Return the ends of the intervals of a run, ascending, from 0 to `until` [s]."""
        jumps = self.jumps()
        inside = jumps[(jumps > 0) & (jumps < until)]
        return np.concatenate([[0.0], np.unique(inside) if len(inside) else inside, [until]])

    @abstractmethod
    def feed(self, plan: Plan, model: Model, t: float, x: Array) -> None:
        """Set the plan's u from t, where the state is x, to the end of the interval.

        Raises `DescriptionError` if the input does not fit the arm, and another `FlexarmError` if it fails at t.
        """

    def ahead(self, plan: Plan, solver: "Advance", times: Array, x: Array) -> Ahead | None:
        """Return native code that takes many intervals at once from the run's beginning, or None if there is none.

        The states at the times are written to x, (times, layout.size).
        """
        return None

    def in_lanes(self, model: Model) -> InLanes | None:
        """Return the description of the input for SIMD batches, or None if it calls Python.

        Raises `DescriptionError` if the input does not fit the arm.
        """
        return None

    @abstractmethod
    def values(self, model: Model, t: Array, q: Array, qd: Array, z: Array) -> Array:
        """Return u (times, m) at times t and states there, after the run; from the right at a jump."""

    def expressed(self, model: Model, late: float = 0.0) -> "Callable[[Any], Any] | None":
        """Return u (m,) as a function from the symbolic time t to expressions, or None if u has no such expression.

        A value that starts up to `late` after a time counts at that time [s]. Raises `DescriptionError` if the input
        does not fit the arm.
        """
        return None

    def over_time(self, model: Model, t: Array, q: Array, qd: Array) -> Array:
        """Return signals (times, k) that the solver follows if the arm stays at q, qd, to find pulses before the run.

        There are no columns if nothing is known before a run, if u is constant between jumps, or if u comes from
        Python.
        """
        return np.empty((len(t), 0))

    def while_still(self, model: Model, t: Array, q: Array, qd: Array) -> Array:
        """Return u (times, m) at times t if the arm stays at q, qd and the memory at its initial value."""
        rows = len(t)
        z = np.tile(np.array(self.memory), (rows, 1))
        return self.values(model, t, np.tile(q, (rows, 1)), np.tile(qd, (rows, 1)), z)

    def known(self, model: Model, until: float) -> Array:
        """Return values (k, m) that u is known to take between 0 and `until`, wherever the arm is. May be empty."""
        return np.empty((0, len(model.inputs)))

    def seen(self, model: Model, t: Array, parts: Mapping[str, Array]) -> Array:
        """Return u (times, m) as `values` does, from the state's parts by name: q, qd, z, s, and exogenous inputs w."""
        return self.values(model, t, parts["q"], parts["qd"], parts["z"])

    def fault(self, plan: Plan, model: Model, t: float, x: Array) -> str:
        """Return a message about a value that is not finite near t and the state x, where a run has stopped, or ""."""
        return ""

    def report(self) -> dict[str, Any]:
        """Return facts about the input after a run, for the result's attributes: numbers and texts by names."""
        return {}

    @abstractmethod
    def described(self) -> str:
        """Return a line of text for the result's attributes."""
