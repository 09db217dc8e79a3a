"""Transmissions in which several actuators move several joints."""

from typing import Annotated, Any, Self, final

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexarm.checks import Described, Fault, checked_list, checked_number, counted, shown

SINGULAR = 1e-9
"""Smallest ratio of the least to the largest singular value of a matrix that counts as regular."""


def _names(value: object) -> Any:
    names = checked_list(value, "a list of names of links")
    if len(names) < 2:
        raise Fault("", f"has {counted(len(names), 'name')}; it must have two or more")
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise Fault(f"[{i}]", f"is {shown(name)}; it must be the name of a link")
        if name in names[:i]:
            raise Fault(f"[{i}]", f"is {name!r} again; list each link only once")
    return tuple(names)


def _rows(value: object) -> Any:
    given = enumerate(checked_list(value, "rows of numbers"))
    rows = [checked_list(row, "a row of numbers", f"[{i}]") for i, row in given]
    return tuple(tuple(checked_number(x, part=f"[{i}][{j}]") for j, x in enumerate(row)) for i, row in enumerate(rows))


@final
class Coupling(Described):
    """Joints whose actuators each move a weighted sum of them: a differential, a belt over a joint, a parallelogram.

    Parameters
    ----------
    links : list of str
        Names of the links whose joints are coupled. Their actuators follow in the same order.
    matrix : (k, k)
        Transmission matrix T: actuator i turns by sum_j T_ij q_j, plus the stretch of its spring if it has one. A
        torque u_i acts on joint j as T_ij u_i.
    """

    links: Annotated[tuple[str, ...], BeforeValidator(_names)]
    matrix: Annotated[tuple[tuple[float, ...], ...], BeforeValidator(_rows)]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        k = len(self.links)
        if [len(row) for row in self.matrix] != [k] * k:
            raise Fault("matrix", f"is {shown(self.matrix)}; it must have {k} rows of {counted(k, 'number')}")
        sizes = np.linalg.svd(np.array(self.matrix), compute_uv=False)
        if not sizes[-1] > SINGULAR * sizes[0]:
            raise Fault("matrix", "is singular; the actuators must be able to move each joint by itself")
        return self
