"""The package's own implicit methods, called from Python, with memory that is allocated once per run.

The loop that takes and rejects steps is `steps.integrate`.
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from typing import Any, final

import numpy as np

from flexarm.arrays import Array, address_of
from flexarm.native.functions import translated
from flexarm.native.language import Placed
from flexarm.native.once import Once
from flexarm.simulation.decoupled import decoupled
from flexarm.simulation.layout import RIDING, Layout
from flexarm.simulation.rhs import ENDLESS, Plan
from flexarm.simulation.steps import SLOW, Step, integrate
from flexarm.simulation.tableaus import Tableau

FIRST = 0.01
"""First step of an interval, as a share of its length."""

INTEGRATE = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p
)
CODE = Once(lambda: translated(integrate))


def step_of(tableau: Tableau, layout: Layout, shared: Array, sides: int = 1, runs: int = 1, **more: Any) -> Placed:
    """Return the memory of a method's steps on a plan with this address, for states of so many numbers in each place.

    `more` are other fields of a `Step`.
    """
    stages, m = tableau.stages, layout.unknowns
    width, size = sides * (m + len(RIDING)), sides * layout.size
    rows = 2 * stages + 2
    fields: dict[str, Any] = {f: np.ravel(getattr(tableau, f)) for f in ("c", "a1", "a2", "b1", "b2")}
    fields |= {
        "tried": 0,
        "fixed": 0,
        "rtol": 0.0,
        "atol": np.zeros(0),
        "y": np.zeros(size),
        "recorded": 0,
        "trail": 0,
    }
    return Placed(
        Step(
            shared=shared,  # type: ignore[arg-type]  # an address is one word
            stages=stages,
            kept=tableau.kept,
            remembered=tableau.order + 1 - stages,
            n=sides * layout.nq,
            pose=sides * layout.pose,
            nv=sides * layout.nv,
            inner=sides * layout.inner,
            m=sides * m,
            size=size,
            inputs=layout.inputs,
            memory=layout.memory,
            width=width,
            mix=tableau.mix,
            carried=tableau.carried,
            before=tableau.before,
            trial=np.zeros(size),
            f=np.zeros(width),
            k=np.zeros((rows + stages) * width),
            nodes=np.zeros(rows),
            e=np.zeros(width),
            newton=decoupled(tableau, m, layout.inner, layout.nq - layout.pose, sides=sides, runs=runs),  # type: ignore[arg-type]
            mass=np.zeros(m * m),
            pivots=np.zeros(max(m, rows), dtype=np.int64),
            r=np.zeros(stages * m * sides),
            w=np.zeros(max(2 * stages, 3) * width),
            scale=np.zeros(m),
            weights=np.zeros(3 * rows),
            V=np.zeros(rows * rows),
            h=0.0,
            t=0.0,
            ratio=SLOW,
            inverted=0.0,
            known=0,
            stale=0,
            fresh=0,
            wait=0,
            going=0,
            limit=ENDLESS,
            steps=0,
            **fields | more,
        ),
        runs,
    )


@final
class Implicit:
    """An implicit method on a plan. It keeps the length of its step from one interval to the next.

    Parameters
    ----------
    tableau : Tableau
    plan : Plan
    layout : Layout
    rtol : float
    atol : (layout.size,)
    step : float
        A fixed step [s], or 0 if the method chooses its steps.
    trail : Trail, optional
        Record of the steps, for a method that keeps no rates of the previous step.

    Attributes
    ----------
    record : Placed
        A `Step`, for native code that takes the steps itself.
    """

    def __init__(
        self,
        tableau: Tableau,
        plan: Plan,
        layout: Layout,
        rtol: float,
        atol: Array,
        step: float,
        trail: Placed | None = None,
    ):
        assert trail is None or not tableau.kept
        self.tableau = tableau
        self._fixed, self._y = step, np.zeros(layout.size)
        self._plan = plan  # must stay alive as long as native code may call it
        self._code = CODE()
        self._call = INTEGRATE(self._code.addresses["integrate"])
        more: dict[str, Any] = {
            "tried": layout.fed + plan.constants,
            "fixed": int(step > 0),
            "rtol": rtol,
            "y": self._y,
        }
        more |= {"atol": np.ascontiguousarray(atol), "recorded": int(trail is not None), "trail": trail or 0}
        self.record = step_of(tableau, layout, np.array([plan.address]), **more)

    def forget(self, h: float) -> None:
        """Restart without memory of previous steps.

        The first step has this length [s] if the method chooses its steps.
        """
        self.record.h, self.record.inverted, self.record.ratio = h, 0.0, SLOW

    def __call__(
        self, t0: float, x0: Array, times: Array, limit: int = ENDLESS, going: bool = False
    ) -> tuple[Array, int]:
        """Return the states at the first of the times, those that were reached, and the number of steps.

        The method pauses at so many evaluations of the plan. `going` continues from there.
        """
        step, before = self.record, self.record.steps
        step.limit, step.going = limit, int(going)
        length = float(times[-1] - t0)
        if self._fixed:
            step.h = length / max(np.ceil(length / self._fixed - 1e-9), 1.0)
        else:
            step.h = min(step.h or FIRST * length, length)
        self._y[:] = x0
        times = np.ascontiguousarray(times, dtype=float)
        out = np.empty((len(times), len(x0)))
        done = self._call(step.address, t0, address_of(times), len(times), address_of(out))
        step.limit, step.going = ENDLESS, 0
        return out[:done], step.steps - before

    def reached(self) -> tuple[float, Array]:
        """Return the end of the last step, and the state there."""
        return self.record.t, self._y.copy()
