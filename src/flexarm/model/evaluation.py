"""Compiled functions called with arrays: checks of the arguments, and many states along axes before the last."""

import math
from collections.abc import Sequence
from typing import Any, NoReturn, final

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, checked_array, counted, refused
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.model.attitudes import checked_attitude
from flexarm.native.calls import OneState
from flexarm.native.kernel import Kernel
from flexarm.native.once import Once

DOUBLE = np.dtype(float)


def argument(name: str, signals: Sequence[str], value: Any) -> Array:
    """Return an argument (..., number of signals) as an array of floats. Raises `DescriptionError`."""
    try:
        x = np.asarray(value)
        if x.dtype.kind not in "biuf":
            raise TypeError
        x = x.astype(float, copy=False)
    except (TypeError, ValueError):
        raise DescriptionError(f"{name} is not an array of numbers") from None
    if x.ndim == 0 or x.shape[-1] != len(signals):
        raise DescriptionError(
            f"{name} has shape {x.shape}; its last axis must have "
            f"{counted(len(signals), 'number')}: {', '.join(signals)}"
        )
    if not np.isfinite(x).all():
        raise DescriptionError(f"{name} contains NaN or infinity")
    return x


def begun_at(name: str, value: Any, otherwise: Array, signals: tuple[str, ...], where: str = "") -> Array:
    """Return the numbers of an initial state, one per signal. Raises `DescriptionError`."""
    n = len(otherwise)
    if value is None:
        return otherwise
    with refused(where):
        x = checked_array(value, name)
        if x.shape != (n,):
            must = f"it must have {counted(n, 'number')}: {', '.join(signals) or 'none'}"
            raise Fault(name, f"has shape {x.shape}; {must}")
    return x


@final
class Evaluation:
    """A kernel called with arrays: one state, or many along axes before the last.

    Arrays of doubles with the right last axis go directly to machine code, which also checks that all is finite. Other
    arguments are checked one by one: each is converted to such an array, or raises an error.

    Parameters
    ----------
    name : str
        Name of the function in messages.
    kernel : Kernel
        Kernel from the concatenated arguments to the value, its last axis fastest.
    arguments : dict
        The signals of each argument by its name.
    shape : tuple of int
        Shape of the value at one state.
    place : int
        Number of arguments before the constants of a model that varies.
    quaternions : tuple, optional
        Index of the argument with quaternions, and the arm that they belong to.
    """

    def __init__(
        self,
        name: str,
        kernel: Kernel,
        arguments: dict[str, tuple[str, ...]],
        shape: tuple[int, ...],
        place: int = 0,
        quaternions: tuple[int, Arm] | None = None,
    ):
        self._quaternions = quaternions
        self._name, self._kernel, self._arguments, self._shape, self._place = name, kernel, arguments, shape, place
        lengths = [len(signals) for signals in arguments.values()]
        self._shapes = [(length,) for length in lengths]

        def one() -> OneState:
            constants = [len(kernel.constants)] if self._varies else []
            return kernel.one_state([*lengths[:place], *constants, *lengths[place:]], shape)

        self._one = Once(one)
        self._varies = kernel.takes_constants

    def __deepcopy__(self, _: Any) -> "Evaluation":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("an evaluation cannot be pickled; pickle the model instead")

    def __call__(self, values: Sequence[Any], p: Array | None = None) -> Array:
        """Return the value, (..., *shape), a new array. Raise `DescriptionError` for arguments that do not fit.

        p are parameters (..., k) in place of the model's own.
        """
        if len(values) != len(self._shapes):
            names = ", ".join(self._arguments)
            raise DescriptionError(f"{self._name} takes {names}, not {counted(len(values), 'value')}")
        w = self._kernel.constants if p is None else self._kernel.constants_of(p)
        if (found := self._plain(values, w)) is None:
            values = [argument(*each, x) for each, x in zip(self._arguments.items(), values, strict=True)]
            if (found := self._plain(values, w)) is None:
                raise self._misfit(values, w, p)
        if self._quaternions is not None:
            at, arm = self._quaternions
            checked_attitude(values[at], arm)
        return found

    def _misfit(self, values: Sequence[Array], w: Array, p: Array | None) -> DescriptionError:
        """Return the error for arguments without a value."""
        if not np.isfinite(w).all():
            return DescriptionError(f"{self._name}: the result is not finite with these parameters; check p")
        given = ", ".join(f"{name} is {x.shape}" for name, x in zip(self._arguments, values, strict=True))
        if p is not None:
            given += f", p is {p.shape}"
        return DescriptionError(f"{self._name}: the axes before the last do not match: {given}")

    def _plain(self, values: Sequence[Any], w: Array) -> Array | None:
        """Return the value for arrays of doubles, or None for other, not finite or not matching arguments."""
        for value, shape in zip(values, self._shapes):  # noqa: B905  (strict would take a tenth of the time)
            if type(value) is not Array or value.dtype != DOUBLE or value.shape != shape:
                return self._batch(values, w)
        if w.ndim > 1:
            return self._batch(values, w)
        found, finite = self._one()(self._with(values, w) if self._varies else values)
        return found if finite else None

    def _with(self, values: Sequence[Any], w: Array) -> Sequence[Any]:
        """Return all arguments of the kernel."""
        return (*values[: self._place], w, *values[self._place :])

    def _batch(self, values: Sequence[Any], w: Array) -> Array | None:
        """Return the value for axes before the last, or None as `_plain` does."""
        for value, shape in zip(values, self._shapes, strict=True):
            if type(value) is not Array or value.dtype != DOUBLE or value.shape[-1:] != shape:
                return None
        values = self._with(values, w) if self._varies else values
        try:
            batch = np.broadcast_shapes(*{x.shape[:-1] for x in values})
        except ValueError:
            return None
        rows = math.prod(batch)
        parts = [_spread(x, batch).reshape(rows, x.shape[-1]) for x in values]
        found, finite = self._kernel.many_states(parts)
        if not rows:  # the kernel has read nothing
            finite = all(np.isfinite(x).all() for x in values)
        return found.reshape(*batch, *self._shape) if finite else None


def _spread(x: Array, batch: tuple[int, ...]) -> Array:
    """Broadcast the numbers to every state of a batch."""
    return x if x.shape[:-1] == batch else np.broadcast_to(x, (*batch, x.shape[-1]))
