"""A rigid arm with closures, all of whose motions follow from those of some drives.

Let x be independent driven coordinates, with as many numbers as the closures leave free motions. Then

    qd = N(q) xd,    qdd = N xdd + (dN/dt) xd,    N' B u = N' (M qdd + h)

N' removes the reactions. If there are more drives than free motions, u has the least sum of squares.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from flexarm.description.joints import refuse_balls
from flexarm.errors import DescriptionError
from flexarm.model import closures
from flexarm.model.core import Model

Column = Any
"""A column of CasADi expressions."""

STEPS = 3
"""Number of Newton steps onto the closures.

They start from the measured coordinates of an arm whose links bend by some percent, which the last step then meets to
about 1e-10.
"""


@final
@dataclass(frozen=True, eq=False)
class Driven:
    """A rigid arm with closures and a fixed base.

    Attributes
    ----------
    model : Model
    free : tuple of int
        Independent driven coordinates.
    own : tuple of int
        Their indices among the driven joints.
    """

    model: Model
    free: tuple[int, ...]
    own: tuple[int, ...]

    @classmethod
    def of(cls, what: str, model: Model) -> "Driven":
        """Return a rigid arm, for a function whose name begins the error.

        Raises `DescriptionError` for a free base, and if the drives do not determine the position.
        """
        arm, driven = model.arm, list(model.arm.driven)
        refuse_balls(arm, f"{what} with closures")
        if arm.free:
            raise DescriptionError(f"{what} does not support closures on a free base yet, as of arm {arm.name!r}")
        free = closures.independent(model, closures.rest(model))[1]
        for i in free:
            if i not in driven:
                must = "give a joint more a motor"
                raise DescriptionError(
                    f"{what}: arm {arm.name!r}: the joints with a motor do not determine {model.coordinates[i]}; {must}"
                )
        return cls(model, tuple(free), tuple(driven.index(i) for i in free))

    def placed(self, model: Model, q: Column, y: Column) -> Column:
        """Return coordinates, or rates, from those y of the drives, and q of the flexible arm for the other joints."""
        arm, names = self.model.arm, model.coordinates
        moved = np.eye(self.model.nv)[:, list(arm.driven)]
        passive = np.zeros((self.model.nv, model.nv))
        for row in set(range(self.model.nv)) - set(arm.driven):
            passive[row, names.index(self.model.coordinates[row])] = 1.0
        return passive @ q + moved @ y

    def closed(self, q: Column, rates: Column) -> tuple[Column, Column]:
        """Return coordinates and rates on the closures that have the independent coordinates of q, with their rates."""
        import casadi as ca

        from flexarm.mechanics.closures import dependent
        from flexarm.mechanics.moving import rows_of

        gaps, slopes = (closures.function(self.model, name) for name in ("gaps", "slopes"))
        q = ca.SX(q)
        for _ in range(STEPS):
            q = q + ca.vertcat(*dependent(rows_of(ca.SX(slopes(q))), self.free, ca.vertsplit(gaps(q))))
        return q, self._allowed(q) @ ca.SX(rates)[list(self.free)]

    def forces(self, q: Column, qd: Column, v: Column) -> Column:
        """Return the inputs (m,) for accelerations v (m,) of the drives. Only those of the independent ones count."""
        import casadi as ca

        z, rates = ca.SX.sym("q", self.model.nv), ca.SX.sym("rates", len(self.free))
        drift = ca.jtimes(self._allowed(z) @ rates, z, qd)
        (drift,) = ca.substitute([drift], [z, rates], [ca.SX(q), ca.SX(qd)[list(self.free)]])
        qdd = self._allowed(q) @ ca.SX(v)[list(self.own)] + drift
        return self.shared(q, self.model.fixed("inverse_dynamics")(q, qd, qdd))

    def shared(self, q: Column, force: Column) -> Column:
        """Return the inputs (m,) with the least sum of squares that balance a force together with the reactions."""
        import casadi as ca

        from flexarm.mechanics.closures import resolved
        from flexarm.mechanics.moving import rows_of

        N = self._allowed(q)
        W = ca.densify(N.T @ self.model.fixed("input_matrix")(q))
        return W.T @ ca.vertcat(*resolved(rows_of(W @ W.T), ca.vertsplit(ca.densify(N.T @ force))))

    def _allowed(self, q: Column) -> Column:
        """Return N (n, f): the motions that the closures allow."""
        import casadi as ca

        from flexarm.mechanics.closures import allowed
        from flexarm.mechanics.moving import rows_of

        rows: Sequence[Any] = allowed(rows_of(ca.SX(closures.function(self.model, "slopes")(q))), self.free)
        return ca.vertcat(*(ca.horzcat(*row) for row in rows))
