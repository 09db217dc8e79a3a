"""Kernels whose inputs include constants that follow from parameters: w = prologue(p)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

if TYPE_CHECKING:
    from flexarm.native.calls import ManyStates, OneState
    from flexarm.native.kernel import Code, Kernel

Array = np.ndarray


@final
class At:
    """A kernel of (x, w) at some parameters, which is called like a kernel of x alone.

    Parameters
    ----------
    kernel, prologue : Kernel
        Kernels of x with w inserted, and of p.
    behind : int
        Number of entries of x after w.
    p : (k,)
    """

    def __init__(self, kernel: "Kernel", prologue: "Kernel", behind: int, p: Array):
        self._kernel, self._prologue, self._behind, self._p = kernel, prologue, behind, p
        self._constants: Array | None = None

    def __deepcopy__(self, _: object) -> "At":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a kernel belongs to its process; pickle the model")

    @property
    def constants(self) -> Array:
        """Constants w, (n_w,)."""
        if self._constants is None:
            self._constants = self._prologue.one(self._p)
        return self._constants

    def constants_of(self, p: Array) -> Array:
        """Return w at other parameters, (..., k) -> (..., n_w); p of doubles."""
        rows = p.reshape(-1, p.shape[-1])
        found = self._prologue.one(rows[0])[None] if len(rows) == 1 else self._prologue.many(rows)
        return found.reshape(*p.shape[:-1], found.shape[-1])

    @property
    def key(self) -> str:
        """Definition of the kernel of x and w."""
        return self._kernel.key

    @property
    def trace(self) -> "Callable[[], Any]":
        """Function that returns the kernel's CasADi function."""
        return self._kernel.trace

    @property
    def code(self) -> "Code":
        """Machine code for one state, of x and w."""
        return self._kernel.code

    @property
    def vector_code(self) -> "Code":
        """Machine code for `LANES` states at a time, of x and w."""
        return self._kernel.vector_code

    def one(self, x: Array) -> Array:
        """Evaluate one state: (n_x,) -> (n_out,)."""
        before = len(x) - self._behind
        return self._kernel.one(np.concatenate([x[:before], self.constants, x[before:]]))

    def many(self, x: Array) -> Array:
        """Evaluate many states: (N, n_x) -> (N, n_out)."""
        w = np.broadcast_to(self.constants, (len(x), len(self.constants)))
        before = x.shape[1] - self._behind
        return self._kernel.many_states([x[:, :before], w, x[:, before:]])[0]

    def one_state(self, lengths: Sequence[int], shape: tuple[int, ...]) -> "OneState":
        """Return code for one state in parts of these lengths, including w."""
        return self._kernel.one_state(lengths, shape)

    @property
    def many_states(self) -> "ManyStates":
        """Code for many states in parts, including w."""
        return self._kernel.many_states
