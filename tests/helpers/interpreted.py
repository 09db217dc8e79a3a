"""Quantities of models that CasADi evaluates, for tests of mechanics, which ask each arm for a few numbers.

Nothing is compiled for these numbers. Machine code is compared with CasADi's evaluation whenever the package compiles
it, and by tests of its own. The integration of runs is compiled as ever.
"""

from contextlib import contextmanager

import numpy as np
import pytest

from flexarm.native.kernel import Kernel
from flexarm.native.verification import evaluation

MANY = 2000
"""Number of states from which on machine code is used: then it takes less time in total."""


def values(kernel, x):
    """CasADi's values of a kernel, (N, n_out), at rows with all of its arguments, and True if the rows are finite."""
    if "evaluated by CasADi" not in vars(kernel):
        vars(kernel)["evaluated by CasADi"] = evaluation(kernel.trace())
    evaluate = vars(kernel)["evaluated by CasADi"]
    found = np.array([evaluate(row) for row in x]) if len(x) else np.empty((0, len(evaluate(np.zeros(x.shape[1])))))
    return found, bool(np.isfinite(x).all())


def one_state(kernel, lengths, shape):
    """In place of `Kernel.one_state`."""

    def run(parts):
        found, finite = values(kernel, np.concatenate(parts)[None])
        return found.reshape(shape), finite

    return run


def one(kernel, x):
    """In place of `Kernel.one`."""
    return values(kernel, np.concatenate(kernel.parts(x))[None])[0][0]


def rows(compiled):
    """In place of `Kernel.many` and `Kernel.few`."""

    def many(kernel, x):
        if len(x) > MANY:
            return compiled(kernel, x)
        parts = [np.broadcast_to(part, (len(x), part.shape[-1])) for part in kernel.parts(x)]
        return values(kernel, np.hstack(parts))[0]

    return many


def many_states(compiled):
    """In place of `Kernel.many_states`."""

    def get(kernel):
        def run(parts):
            return compiled.fget(kernel)(parts) if len(parts[0]) > MANY else values(kernel, np.hstack(parts))

        return run

    return property(get)


COMPILED = {name: vars(Kernel)[name] for name in ("one_state", "one", "many", "few", "many_states")}
REPLACED = {
    "one_state": one_state,
    "one": one,
    "many": rows(Kernel.many),
    "few": rows(Kernel.few),
    "many_states": many_states(vars(Kernel)["many_states"]),
}


@contextmanager
def evaluated(how):
    """Let kernels have these methods, `REPLACED` or `COMPILED`."""
    with pytest.MonkeyPatch.context() as patch:  # models still share their functions
        for name, method in how.items():
            patch.setattr(Kernel, name, method)
        yield
