"""What an FMU holds, whatever it was made from: signals with their units and starts, programs, who depends on whom."""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from flexarm.closed_forms.formats.program import Program
from flexarm.errors import DescriptionError

Array = np.ndarray

TOLERANCE = 1e-8
"""Default relative tolerance of each step of a co-simulation, that of `simulate`.

Contacts that bounce lose two to five digits beside it: a stop hit some ten times is right to 3e-6 then, but only to
2e-3 with 1e-6. The cost is about that of the fixed steps for usual arms.
"""


class Signal(NamedTuple):
    """A state, an input, a parameter or an output.

    Attributes
    ----------
    name, unit, meaning : str
    start : float
        Of an output none.
    least : float, optional
        Below which it must not be.
    """

    name: str
    unit: str
    meaning: str = ""
    start: float = 0.0
    least: float | None = None


@final
@dataclass(frozen=True)
class System:
    """dx/dt = rates(x, u, p), y = outputs(x, u, p); or a sampled law y, z+ = law(t, u, p, z), which has no x.

    Attributes
    ----------
    name, title : str
    states, inputs, parameters, outputs : tuple of Signal
    programs : tuple of Program
        "rates", "outputs", "slopes", the derivatives of both along (vx, vu, vp), and "adjoints", those of their
        weighted sum to x, u and p, perhaps "indicators"; or "law". Inputs of no numbers are left out.
    rates_on, outputs_on : (nx, nx + nu + np) and (ny, nx + nu + np) arrays of bool
        Whether a rate, an output depends on a state, an input, a parameter.
    step : float
        First step with error control in a co-simulation, or length of the fixed steps [s].
    tolerance : float
        Relative tolerance of the steps with error control; 0 for fixed steps.
    memory : tuple of float
        z at the start.
    period : float, optional
        Between two samples [s].
    indicators : tuple of Signal
        What changes its sign at an event, the values of the program "indicators"(x, p).
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
    """Which entries of a column of expressions depend on which of some symbols, (rows, symbols)."""
    import casadi as ca

    found = np.zeros((result.numel(), on.numel()), dtype=bool)
    found[tuple(ca.jacobian_sparsity(result, on).get_triplet())] = True
    return found
