"""What makes an arm's description a model: tracing, compiling, and calls with arrays."""

import hashlib
import inspect
import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexarm import progress
from flexarm.checks import Described, checked_instance, checked_integer, choices, refused, shown
from flexarm.description.arm import Arm, Beam
from flexarm.errors import DescriptionError
from flexarm.model.evaluation import Evaluation, argument
from flexarm.model.faults import not_finite
from flexarm.native.kernel import Check, Kernel
from flexarm.native.once import BUILDING, Once
from flexarm.shapes import TipLoad, fitted, quadrature

if TYPE_CHECKING:
    import casadi as ca

    from flexarm.mechanics.chain import Chain

Array = np.ndarray


STATE = ("q", "qd")
QUANTITIES: dict[str, tuple[tuple[str, ...], tuple[str | int, ...]]] = {
    "mass_matrix": (("q",), ("n", "n")),
    "bias": (STATE, ("n",)),
    "gravity_force": (("q",), ("n",)),
    "stiffness_force": (("q",), ("n",)),
    "restoring_force": (("q",), ("n",)),
    "damping_force": (STATE, ("n",)),
    "input_matrix": (("q",), ("n", "m")),
    "forward_dynamics": ((*STATE, "u"), ("n",)),
    "forward_dynamics_dense": ((*STATE, "u"), ("n",)),
    "inverse_dynamics": ((*STATE, "qdd"), ("n",)),
    "energy": (STATE, (2,)),
    "frames": (("q",), ("bodies", 4, 4)),
    "tip": (("q",), (4, 4)),
    "deflections": (("q",), ("links", 6)),
    "state_rate": ((*STATE, "u"), ("2n + 2",)),
    "state_residual": ((*STATE, "u", "qdd"), ("n + 2",)),
    "prescribed_rate": ((*STATE, "u"), ("2n + 2",)),
    "prescribed_residual": ((*STATE, "u", "qdd"), ("n + 2",)),
    "prescribed_force": ((*STATE, "u"), ("m",)),
    "observed": (STATE, ("5 + 6 links + m",)),
}
"""Arguments and shape of every quantity in the module `quantities`."""


def foreign_sources(arm: Arm) -> list[bytes]:
    """The source files of joints and bodies that are defined outside the package, and of their mechanics.

    Where there is no file (a session at the keyboard), or it may have been edited since it was loaded, what runs is not
    known: a random number stands for it, and each model of the arm is compiled anew.
    """
    kinds = {cls for link in arm.links for cls in (type(link.joint), type(link.body))}
    foreign = [cls for cls in kinds if cls.__module__.partition(".")[0] != "flexarm"]
    if not foreign:
        return []
    from flexarm.mechanics.drive import bare, with_drive

    things = [thing for cls in foreign for thing in (cls, bare.dispatch(cls), with_drive.dispatch(cls))]
    found = set()
    for thing in things:
        try:
            file = Path(inspect.getsourcefile(thing) or "")
            found.add(file.read_bytes() if file.stat().st_mtime < loaded() else os.urandom(16))
        except (TypeError, OSError):
            found.add(os.urandom(16))
    return sorted(found)


def fingerprint(arm: Arm) -> str:
    """Everything an arm's equations depend on. A family object of the user's own counts by its shapes."""
    digest = hashlib.sha256(arm.canonical().encode())
    for content in foreign_sources(arm):
        digest.update(content)
    beams = [link.body for link in arm.links if isinstance(link.body, Beam)]
    for beam, direction, shapes in ((each, *family) for each in beams for family in each.families.items()):
        if not isinstance(shapes, str | Described):
            load = TipLoad(mass=beam.total_mass)  # any: what is carried stands in the description
            basis = fitted(shapes, beam, direction, load).basis(beam.counts[direction])
            x, w = quadrature(basis)
            for derivative in range(3):
                digest.update(np.ascontiguousarray(basis.values(x, derivative)).tobytes())
    return digest.hexdigest()


def taken_by(name: str) -> tuple[str, ...]:
    """The arguments of a quantity; raises `DescriptionError` where there is none of this name."""
    try:
        return QUANTITIES[name][0]
    except (KeyError, TypeError):  # what is no text may not be hashable
        raise DescriptionError(f"unknown quantity {shown(name)}; known are {', '.join(QUANTITIES)}") from None


def _chain(arm: Arm) -> "Chain":
    from flexarm.mechanics.chain import chain  # late: CasADi takes long to import

    return chain(arm)


BEGAN = time.time(), time.monotonic()
"""When this module was loaded [s]; whatever is built on it was loaded later."""


def loaded() -> float:
    """BEGAN for comparison with times that files carry: earlier, if the clock has been set back since."""
    return min(BEGAN[0], time.time() - (time.monotonic() - BEGAN[1]))


class Traced:
    """An arm's functions, each traced when first asked for, compiled when first called, and kept by its key.

    Attributes
    ----------
    arm : Arm
    coordinates, inputs : tuple of str
        Names in the order of q and of u.
    """

    def __init__(self, arm: Arm):
        with refused("Model"):
            checked_instance(arm, Arm, "arm")
        if not arm.coordinates:
            raise DescriptionError(f"arm {arm.name!r}: nothing moves; it needs a joint or a link with modes")
        self.arm = arm
        self.coordinates = arm.coordinates
        self.inputs = arm.inputs
        n, m = len(arm.coordinates), len(arm.inputs)
        self._signals = dict.fromkeys(("q", "qd", "qdd"), arm.coordinates) | {"u": arm.inputs}
        self._sizes: dict[str, int] = {
            "n": n,
            "m": m,
            "bodies": len(arm.links) + 1,
            "links": len(arm.links),
            "2n + 2": 2 * n + 2,
            "n + 2": n + 2,
            "5 + 6 links + m": 5 + 6 * len(arm.links) + m,
        }
        self._kernels: dict[str, Kernel] = {}
        self._evaluations: dict[str, Evaluation] = {}
        self._functions: dict[str, Any] = {}
        self._chain: Once[Chain] = Once(lambda: _chain(arm))
        self._fingerprint = Once(lambda: fingerprint(arm))

    def function(self, name: str) -> "ca.Function":
        """The CasADi Function of a quantity, e.g. "forward_dynamics", for optimisation and export.

        Its arguments have the names of the method's, its result the name of the quantity.
        """
        names = taken_by(name)

        def trace() -> "ca.Function":
            import casadi as ca

            from flexarm.mechanics import quantities
            from flexarm.mechanics.spatial import entries

            symbols = {a: ca.SX.sym(a, len(self._signals[a])) for a in names}
            scalars = [entries(x) for x in symbols.values()]
            try:
                value = getattr(quantities, name)(self.chain, *scalars)
            except ArithmeticError:  # of numbers that are no symbols, a constant inertia of zero
                raise not_finite(self, name) from None
            rows = [ca.horzcat(*row) if isinstance(row, list) else row for row in value]
            expression = ca.cse(ca.densify(ca.SX(ca.vertcat(*rows))))
            return ca.Function(name, list(symbols.values()), [expression], list(symbols), [name])

        return self.derived(name, trace)

    def slope(self, name: str, argument: int) -> "ca.Function":
        """The CasADi Function of the derivative of a quantity to one of its arguments, which it takes all."""
        names = taken_by(name)
        with refused(f"slope of {name}"):
            argument = checked_integer(argument, len(names) - 1, "argument")

        def trace() -> "ca.Function":
            import casadi as ca

            x = self.function(name).sx_in()
            return ca.Function("slope", x, [ca.densify(ca.jacobian(self.function(name)(*x), x[argument]))])

        return self.derived(f"{name} to {argument}", trace)

    def derived(self, key: str, trace: Callable[[], "ca.Function"]) -> "ca.Function":
        """A function that follows from the model, traced when first asked for and kept by its key."""
        if key not in self._functions:
            with BUILDING, progress.said(f"tracing {key}"):
                if key not in self._functions:
                    self._functions[key] = trace()
        return self._functions[key]

    def kernel(self, name: str) -> Kernel:
        """The compiled form of a quantity: its arguments laid end to end in, its value out, the last axis fastest.

        When it is first called it raises `DescriptionError` if its value is not finite at rest.
        """
        names = taken_by(name)

        def check(call: Callable[[Array], Array]) -> None:
            others = [len(self._signals[a]) for a in names[1:]]
            at_rest = np.concatenate([self.arm.rest, np.zeros(sum(others))])
            if not np.isfinite(call(at_rest)).all():
                raise not_finite(self, name)

        def trace() -> "ca.Function":
            import casadi as ca

            function, shape = self.function(name), self._shape(QUANTITIES[name][1])
            if len(shape) == 1:
                return function
            *stack, rows, columns = shape
            places = np.arange(math.prod(shape)).reshape(*stack, columns, rows)  # CasADi counts down columns
            x = function.sx_in()
            y = ca.densify(ca.vec(function(*x)))[places.swapaxes(-1, -2).ravel().tolist()]
            return ca.Function(name, x, [y])

        return self.compiled(name, trace, check)

    def compiled(self, key: str, trace: Callable[[], "ca.Function"], check: Check | None = None) -> Kernel:
        """The compiled form of a function that follows from the model and the key alone; kept by the key."""
        if key not in self._kernels:
            self._kernels.setdefault(key, Kernel(json.dumps([key, self.fingerprint]), trace, check))
        return self._kernels[key]

    @property
    def chain(self) -> "Chain":
        """The arm as the recursions see it."""
        return self._chain()

    @property
    def fingerprint(self) -> str:
        """Everything the equations depend on."""
        return self._fingerprint()

    def evaluate(self, name: str, *values: Any) -> Array:
        """The value of any quantity at one state or many, for arguments as its method takes them."""
        try:
            found = self._evaluations[name]
        except (KeyError, TypeError):  # not asked before, or no name
            kernel = self.kernel(name)
            found = self._evaluations.setdefault(name, self.evaluation(name, kernel, *QUANTITIES[name]))
        return found(values)

    def evaluation(self, name: str, kernel: Kernel, names: tuple[str, ...], sizes: tuple[str | int, ...]) -> Evaluation:
        """A kernel as a function of arguments of these names, with a value in the shape of `sizes`."""
        return Evaluation(name, kernel, {a: self._signals[a] for a in names}, self._shape(sizes))

    def _shape(self, sizes: tuple[str | int, ...]) -> tuple[int, ...]:
        return tuple(s if isinstance(s, int) else self._sizes[s] for s in sizes)

    def argument(self, name: str, value: Any) -> Array:
        """An argument q, qd, qdd (..., n) or u (..., m) as an array of floats; raises `DescriptionError`."""
        try:
            signals = self._signals[name]
        except (KeyError, TypeError):  # what is no text may not be hashable
            raise DescriptionError(f"name is {shown(name)}; it must be {choices(*self._signals)}") from None
        return argument(name, signals, value)

    def single(self, where: str, name: str, value: Any) -> Array:
        """An `argument` of one state: (n,) or (m,)."""
        x = self.argument(name, value)
        if x.ndim != 1:
            one = "configuration" if name == "q" else "state"
            raise DescriptionError(f"{where}: {name} has more than one axis; give one {one}")
        return x
