"""A quantity of a model as a function of arrays, by array operations or by native code."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.cached import cached_property
from flexarm.checks import Fault, choices, refused
from flexarm.differentiable.namespace import Namespace
from flexarm.differentiable.program import ArrayProgram
from flexarm.errors import DescriptionError
from flexarm.model import Model, as_model
from flexarm.model.evaluation import Evaluation
from flexarm.native.kernel import Kernel

if TYPE_CHECKING:
    import casadi as ca

    from flexarm.model.tracing import Traced

ROUTES = ("arrays", "native")


@final
@dataclass(frozen=True, eq=False)
class Quantity:
    """A quantity of a model.

    Parameters
    ----------
    model : Model
    name : str
        Name of the quantity, such as "forward_dynamics".
    """

    model: Model
    name: str

    @classmethod
    def checked(cls, where: str, model: Any, name: Any, route: str = "arrays") -> "Quantity":
        """Return the quantity of a model. Raises `DescriptionError` for wrong arguments of the function `where`."""
        with refused(where):
            model = as_model(model)
            if route not in ROUTES:
                raise Fault("route", f"is {route!r}; it must be {choices(*ROUTES)}")
        made = cls(model, name)
        assert made.arguments is not None  # raises for an unknown name
        return made

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments, without p."""
        return self.model.arguments(self.name)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Number of entries of each argument, and of p."""
        return (*(len(self.model.signals_of(a)) for a in self.arguments), len(self.model.p))

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value at one state."""
        return self.model.shape_of(self.name)

    @cached_property
    def program(self) -> ArrayProgram:
        """The quantity by array operations."""
        return ArrayProgram(self.model.laid_out(self.name))

    @cached_property
    def kernel(self) -> Kernel:
        """Native code of the value, which takes all arguments except p."""
        return self.model.kernel(self.name)

    @cached_property
    def slopes_kernel(self) -> Kernel:
        """Native code of the Jacobian, (result, all arguments and p)."""
        name = self.name
        return self.model.compiled(f"{name}, all slopes", lambda model: _jacobian(model, name))

    @cached_property
    def _native(self) -> Evaluation:
        return self._evaluation(self.kernel, (prod(self.shape),))

    @cached_property
    def _slopes(self) -> Evaluation:
        return self._evaluation(self.slopes_kernel, (prod(self.shape), sum(self.widths)))

    def _evaluation(self, kernel: Kernel, shape: tuple[int, ...]) -> Evaluation:
        signals = {a: self.model.signals_of(a) for a in self.arguments}
        return Evaluation(self.name, kernel, signals, shape, len(signals))

    def filled(self, values: Sequence[Any], p: Any, xp: Namespace) -> list[Any]:
        """Return all arguments as arrays of the library, with p last. Raises `DescriptionError` for wrong shapes."""
        if len(values) != len(self.arguments):
            raise DescriptionError(f"{self.name} takes {', '.join(self.arguments)}, not {len(values)} arguments")
        found = [*values, self.model.p if p is None else p]
        like = next((x for x in found if hasattr(x, "device")), None)
        arrays = [xp.array(x, like) for x in found]
        for name, array, width in zip((*self.arguments, "p"), arrays, self.widths, strict=True):
            if array.shape[-1:] != (width,):
                raise DescriptionError(
                    f"{self.name}: {name} has shape {tuple(array.shape)}; its last axis must be {width}"
                )
        return arrays

    def by_arrays(self, arrays: Sequence[Any], xp: Namespace) -> Any:
        """Return the value (..., *shape) by array operations."""
        given = arrays if self.widths[-1] else arrays[:-1]
        y = self.program(given, xp)
        return y.reshape((*y.shape[:-1], *self.shape))

    def natively(self, *arrays: Array) -> Array:
        """Return the value (..., result), from arrays of NumPy with the same axes in front."""
        return self._native([*arrays[:-1]], self._own(arrays[-1]))

    def slopes(self, *arrays: Array) -> Array:
        """Return the Jacobian (..., result, arguments) from such arrays."""
        return self._slopes([*arrays[:-1]], self._own(arrays[-1]))

    def _own(self, p: Array) -> Array | None:
        return p if self.widths[-1] else None

    def second(self) -> DescriptionError:
        """Return the error for second derivatives of native code."""
        return DescriptionError(f"{self.name}: native code has no second derivatives; use route='arrays'")

    @property
    def result(self) -> int:
        """Number of entries of the value."""
        return prod(self.shape)


def _jacobian(model: "Traced", name: str) -> "ca.Function":
    """Return the derivatives of a quantity with respect to all entries of its arguments, row by row."""
    import casadi as ca

    function = model.laid_out(name)
    x = function.sx_in()
    J = ca.jacobian(function(*x), ca.vertcat(*x))
    return ca.Function("slopes", x, [ca.densify(ca.vec(J.T))], function.name_in(), ["slopes"])


def doubles(values: Sequence[Any]) -> list[Array]:
    """Return arrays of NumPy, with their axes in front of the last broadcast."""
    arrays = [np.asarray(x, dtype=float) for x in values]
    shape = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    return [np.ascontiguousarray(np.broadcast_to(x, (*shape, x.shape[-1]))) for x in arrays]
