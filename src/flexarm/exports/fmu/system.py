"""Contents of an FMU from any source: signals with units and start values, programs, and dependencies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from flexarm.arrays import Array
from flexarm.closed_forms.formats.program import Program
from flexarm.errors import DescriptionError

TOLERANCE = 1e-8
"""Default relative tolerance of each step of a co-simulation, as in `simulate`.

Contacts that bounce lose two to five digits relative to it. A stop that is hit about ten times is accurate to 3e-6 with
this tolerance, but only to 2e-3 with 1e-6. For usual arms the cost is about that of the fixed steps.
"""


class Signal(NamedTuple):
    """A state, an input, a parameter or an output.

    Attributes
    ----------
    name, unit, meaning : str
        Name, unit and meaning of the signal.
    start : float
        Start value. An output has none.
    least : float, optional
        Smallest allowed value.
    """

    name: str
    unit: str
    meaning: str = ""
    start: float = 0.0
    least: float | None = None


def named_signals(mark: str, names: Sequence[str], units: Sequence[str], meaning: str) -> list[Signal]:
    """Return the signals of one kind, such as "q.upper.joint" for the mark "q"."""
    return [Signal(f"{mark}.{name}", unit, meaning) for name, unit in zip(names, units, strict=True)]


@final
@dataclass(frozen=True)
class System:
    """Equations dx/dt = rates(x, u, p), y = outputs(x, u, p), or a sampled law y, z+ = law(t, u, p, z) without x.

    Attributes
    ----------
    name, title : str
        Name and title of the system.
    states, inputs, parameters, outputs : tuple of Signal
        Signals of the system.
    programs : tuple of Program
        For equations: "rates", "outputs", "slopes" (the derivatives of both along (vx, vu, vp)), "adjoints" (those of
        their weighted sum with respect to x, u and p), and sometimes "indicators". An arm with closures has
        "correction" in place of derivatives. For a sampled law: "law". Inputs without entries are left out.
    rates_on, outputs_on : (nx, nx + nu + np) and (ny, nx + nu + np) arrays of bool
        True where a rate or an output depends on a state, an input or a parameter.
    step : float
        First step with error control in a co-simulation, or length of the fixed steps [s].
    tolerance : float
        Relative tolerance of the steps with error control, or 0 for fixed steps.
    memory : tuple of float
        Initial value of z.
    period : float, optional
        Time between two samples [s].
    indicators : tuple of Signal
        Signals that change sign at an event: the values of the program "indicators"(x, p).
    """

    name: str
    title: str
    states: tuple[Signal, ...]
    inputs: tuple[Signal, ...]
    parameters: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    programs: tuple[Program, ...]
    rates_on: Array
    outputs_on: Array
    step: float
    tolerance: float = 0.0
    memory: tuple[float, ...] = ()
    period: float | None = None
    indicators: tuple[Signal, ...] = ()

    def __post_init__(self) -> None:
        seen = {"time", "step", "tolerance"}
        for signal in (*self.states, *self.inputs, *self.parameters, *self.outputs, *self.indicators):
            if signal.name in seen:
                raise DescriptionError(f"two variables are called {signal.name!r}; give the sensor another name")
            seen.add(signal.name)


def depends(result: Any, on: Any) -> Array:
    """Return True where an entry of a column of expressions depends on a symbol, (rows, symbols)."""
    import casadi as ca

    found = np.zeros((result.numel(), on.numel()), dtype=bool)
    found[tuple(ca.jacobian_sparsity(result, on).get_triplet())] = True
    return found
