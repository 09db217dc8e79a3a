"""The integration methods by name.

A method integrates dx/dt = f(t, x) on a plan from the state at the start of an interval to several times, which end
with the interval's end. It returns the states that it reached: after a failure, fewer rows than times. The motion never
makes it raise an error.
"""

from collections.abc import Callable

import numpy as np

from flexarm.arrays import Array, address_of
from flexarm.checks import Fault, checked_instance, refused, shown
from flexarm.simulation import butcher
from flexarm.simulation.advance import Stretch
from flexarm.simulation.implicit import Implicit
from flexarm.simulation.rhs import DIVERGED, ENDLESS, RHS, Plan, loops
from flexarm.simulation.tableaus import Tableau, gauss, generalized_alpha, radau

IMPLICIT: dict[str, Tableau] = {
    "generalized-alpha": generalized_alpha(1.0),
    "gauss4": gauss(2),
    "gauss8": gauss(4),
    "radau5": radau(3),
    "radau9": radau(5),
}
"""Methods for stiff arms, with step control or fixed steps."""
DISSIPATIVE = "generalized-alpha"
"""The method with a spectral radius at infinity."""
EXPLICIT = butcher.METHODS
FORMER = {
    "radau": "radau5",
    "bdf": "radau5",
    "lsoda": "auto",
    "scipy-rk45": "rk45",
    "scipy-dop853": "dop853",
    "scipy-radau": "radau5",
    "scipy-bdf": "radau5",
    "scipy-lsoda": "auto",
}
"""Names of CyRK's and SciPy's methods in earlier versions, and what takes their place."""


def names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return (*EXPLICIT, *IMPLICIT)


def fixed(method: str) -> bool:
    """Return True if the method takes fixed steps only."""
    return method in EXPLICIT and not EXPLICIT[method].adaptive


def add_method(name: str, tableau: butcher.ButcherTableau) -> None:
    """Add an explicit method, which all functions with an argument `method` then know by its name.

    It is added to this process: a program that runs in several processes adds it in each.

    Parameters
    ----------
    name : str
    tableau : ButcherTableau

    Raises
    ------
    DescriptionError
        There is another method of this name.
    """
    with refused("add_method"):
        checked_instance(tableau, butcher.ButcherTableau, "tableau")
        if not isinstance(name, str) or not name.isidentifier():
            raise Fault("name", f"is {shown(name)}; it must be a name of letters and digits")
        if name == "auto" or name in IMPLICIT or EXPLICIT.get(name, tableau) != tableau:
            raise Fault("name", f"is {name!r}, the name of another method; choose another name")
    EXPLICIT[name] = tableau


def integrate_implicit(step: Implicit, plan: Plan, t0: float, x0: Array, times: Array, limit: int = ENDLESS) -> Stretch:
    """Integrate with one of the implicit methods, until the plan has had so many evaluations."""
    x, steps = step(t0, x0, times, limit)
    return checked(plan, times, x, steps, "" if len(x) == len(times) else "its steps became too short")


def python_rate(plan: Plan, size: int) -> Callable[[float, Array], Array]:
    """Return the plan's right-hand side as a Python function of t and x."""
    native = RHS(loops().addresses["rhs"])
    holder = np.array([plan.address], dtype=np.int64)

    def rate(t: float, x: Array) -> Array:
        x = np.ascontiguousarray(x)  # implicit solvers pass strided columns
        dx = np.empty(size)
        native(address_of(dx), t, address_of(x), address_of(holder), None)
        return dx

    return rate


def checked(plan: Plan, times: Array, x: Array, steps: int, message: str) -> Stretch:
    """Return the result up to the first row that has diverged."""
    bad = ~(np.abs(x[:, : plan.states]) < DIVERGED).all(axis=1)
    if not bad.any():
        return Stretch(x, steps, message)
    k = int(np.argmax(bad))
    return Stretch(x[:k], steps, message, (float(times[k]), x[k]))
