"""What a run asks of whatever moves the arm: a table of torques, a controller, a prescribed motion alike."""

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
    from flexarm.native.kernel import Code
    from flexarm.native.lifted import LiftedKernel
    from flexarm.simulation.advance import Advance

Array = np.ndarray

Ahead = Callable[[Array, Array], tuple[int, Array, int, int]]
"""Of the edges of stretches and the state at the first: how many of them it took, the state after these, of how many of
the run's times the state is known, and steps."""


@final
@dataclass(frozen=True)
class Recorded:
    """A variable of a result that shows what a controller saw or meant: its name, those of its signals, its unit."""

    name: str
    signals: tuple[str, ...]
    unit: str


@final
@dataclass(frozen=True)
class InLanes:
    """How machine code drives `LANES` runs at once, see `lanes`.

    Attributes
    ----------
    code : Code, optional
        Of a kernel for so many states that reads (t, x, ...) and writes u and what follows it; None where u is held
        from corner to corner, or stands in a table.
    constants : (k,)
        The last inputs of that kernel.
    cubics : (breaks, coefficients), optional
        A table, as `rhs.cubic_table` has it.
    of_time : bool
        Whether u depends on time alone.
    source : LiftedKernel, optional
        What the code is of, for other machines to be written for.
    """

    code: "Code | None" = None
    constants: Array = field(default_factory=lambda: np.empty(0))
    cubics: tuple[Array, Array] | None = None
    of_time: bool = True
    source: "LiftedKernel | None" = None


class Input(ABC):
    """An input of a run. What is given here serves inputs that depend on time alone and remember nothing.

    Attributes
    ----------
    quantity : str
        What of the model is integrated; its argument u is what the input writes.
    memory : tuple of float
        Numbers the input keeps, as they are at the start; they are part of the run's state, and behind u the input
        writes their rates.
    computed : bool
        Whether a Python function is called at every evaluation.
    of_state : bool
        Whether u depends on the arm's state.
    period : float or None
        Time between two samples [s], where the run goes from one to the next.
    wanted : Reference or None
        The motion of the joints that it is to bring about, shown beside the result.
    """

    quantity = "state_rate"
    memory: tuple[float, ...] = ()
    computed = False
    of_state = False
    period: float | None = None
    wanted: Reference | None = None

    def initial(self, model: Model) -> tuple[Array, Array]:
        """Coordinates and rates at t = 0 where nothing else is asked for: the arm at rest."""
        return np.array(model.arm.rest), np.zeros(model.nv)

    def jumps(self) -> Array:
        """Times at which u is discontinuous, where a solver must start anew [s]."""
        return np.empty(0)

    def begun(self, model: Model, times: Array) -> Self:
        """This input as one run of the model has it: what it keeps of a run, seen at these times, is that run's alone.

        Raises `DescriptionError` where it was made for another arm.
        """
        return self

    def recording(self, names: tuple[str, ...], model: Model) -> Self:
        """This input such that it keeps what it shows by these names; raises `DescriptionError` for others."""
        raise DescriptionError(f"record has {shown(names[0])}; there is nothing of an input that is no controller")

    @property
    def records(self) -> tuple[Recorded, ...]:
        """What it keeps."""
        return ()

    def recorded(self, t: Array, parts: Mapping[str, Array]) -> Array:
        """What it keeps, side by side (times, k), at times t and states' parts by name, after the run."""
        return np.empty((len(t), 0))

    def corners(self, until: float) -> Iterable[float]:
        """The ends of the stretches of a run, ascending, from 0 to `until` [s]."""
        jumps = self.jumps()
        inside = jumps[(jumps > 0) & (jumps < until)]
        return np.concatenate([[0.0], np.unique(inside) if len(inside) else inside, [until]])

    @abstractmethod
    def feed(self, plan: Plan, model: Model, t: float, x: Array) -> None:
        """Make the plan's u right from t, where the state is x, to the end of the stretch.

        Raises `DescriptionError` where the input does not fit the arm, another `FlexarmError` where it fails at t.
        """

    def ahead(self, plan: Plan, solver: "Advance", times: Array, x: Array) -> Ahead | None:
        """Native code that takes many stretches at once, from the run's beginning on; None where there is none.

        States at the times go to x, (times, layout.size).
        """
        return None

    def in_lanes(self, model: Model) -> InLanes | None:
        """How it drives runs that go abreast; None where Python has to be called.

        Raises `DescriptionError` where it does not fit the arm.
        """
        return None

    @abstractmethod
    def values(self, model: Model, t: Array, q: Array, qd: Array, z: Array) -> Array:
        """u (times, m) at times t and states there, after the run; from the right at a jump."""

    def expressed(self, model: Model, late: float = 0.0) -> "Callable[[Any], Any] | None":
        """u (m,) as a function from the symbolic time t to expressions; None where it depends on more, or is computed.

        What begins up to `late` after a time counts there [s]. Raises `DescriptionError` where it does not fit the arm.
        """
        return None

    def over_time(self, model: Model, t: Array, q: Array, qd: Array) -> Array:
        """Return what the solver follows (times, k) if the arm stays at q, qd, for a search for pulses before the run.

        No columns where nothing is known before a run, where u is constant between jumps, or where u comes from Python.
        """
        return np.empty((len(t), 0))

    def while_still(self, model: Model, t: Array, q: Array, qd: Array) -> Array:
        """Return u (times, m) at times t if the arm stays at q, qd and the memory as it is at the start."""
        rows = len(t)
        z = np.tile(np.array(self.memory), (rows, 1))
        return self.values(model, t, np.tile(q, (rows, 1)), np.tile(qd, (rows, 1)), z)

    def known(self, model: Model, until: float) -> Array:
        """Values (k, m) that u is known to take between 0 and `until`, wherever the arm is; none where nobody knows."""
        return np.empty((0, len(model.inputs)))

    def seen(self, model: Model, t: Array, parts: Mapping[str, Array]) -> Array:
        """u (times, m) as `values` gives it, of the state's parts by name: q, qd, z, s, and exogenous inputs w."""
        return self.values(model, t, parts["q"], parts["qd"], parts["z"])

    def fault(self, plan: Plan, model: Model, t: float, x: Array) -> str:
        """What in it is not finite near t and the state x, where a run has stopped; "" if all is."""
        return ""

    def report(self) -> dict[str, Any]:
        """What there is to say after a run, for the result's attributes: numbers and texts by names."""
        return {}

    @abstractmethod
    def described(self) -> str:
        """One line for the result's attributes."""
