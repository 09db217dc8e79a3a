"""A traced function as operations on arrays of any library, with axes in front of the last for many states."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

from flexarm.cached import cached_property as cached
from flexarm.differentiable.namespace import Namespace
from flexarm.errors import FlexarmError
from flexarm.native.program import INPUT, OUTPUT, PART, SINCOS, Instruction, instructions, operation_name

if TYPE_CHECKING:
    import casadi as ca


@final
class ArrayProgram:
    """A CasADi function of columns whose result is one column.

    Parameters
    ----------
    function : casadi.Function
        A function of SX, with one dense result.
    """

    def __init__(self, function: "ca.Function"):
        self.sizes = tuple(function.size1_in(i) for i in range(function.n_in()))
        self.size = function.size1_out(0)
        self._function = function

    @cached
    def _code(self) -> list[Instruction]:
        return instructions(self._function)

    def __call__(self, values: Sequence[Any], xp: Namespace) -> Any:
        """Return the result (..., size) of arguments (..., n), whose axes in front of the last are broadcast."""
        import casadi as ca

        given = [value[..., i] for value, size in zip(values, self.sizes, strict=True) for i in range(size)]
        shape = xp.broadcast_shapes([tuple(value.shape[:-1]) for value in values])
        results: list[Any] = [0.0] * self.size
        known: list[Any] = []
        for each in self._code:
            args = [known[a] if isinstance(a, int) else a for a in each.args]
            value: Any = None
            if each.op == INPUT:
                value = given[each.index]
            elif each.op == OUTPUT:
                results[each.index] = args[0]
            elif each.op == SINCOS:
                value = args[0]
            elif each.op == PART:
                value = xp.functions[(ca.OP_SIN, ca.OP_COS)[each.index]](args[0])
            elif each.op in xp.functions:
                value = xp.functions[each.op](*args)
            else:
                raise FlexarmError(f"{xp.name} has no form of the operation {operation_name(each.op)}")
            known.append(value)
        like = values[0]
        return xp.stack([xp.broadcast(xp.array(x, like), shape) for x in results])
