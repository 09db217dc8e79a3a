"""Discrete adjoint of recorded Runge-Kutta steps, in the language that is translated.

A step from y with the length h has stages y_i = y + h sum_j a_ij k_j, k_i = f(t + c_i h, y_i), and ends in y + h sum_j
b_j k_j. Weights v of its end give those of its start, backwards over the stages (Hager, Numer. Math. 87, 2000):

    v_i = (df/dx)' h (b_i v + sum_j a_ji v_j),    v <- v + sum_i v_i

with the same products for inputs and constants. The result is exact for the steps that were taken, up to rounding.
Lengths of steps count as constants. The stages of an implicit method all depend on each other: the weights of their
rates are the solution of a linear system in each step (`adjoint_implicit`).

The rates k_j of the last steps are recorded. Those of earlier steps are computed again from a state in every `rows`
steps, so that the memory stays small in a long run (`repeated`).
"""

import ctypes  # noqa: TID251  (calls code that this package compiled)
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import SimulationError
from flexarm.model.closures import CORRECTIONS
from flexarm.native.adjoint import adjoint
from flexarm.native.code import Code
from flexarm.native.functions import translated
from flexarm.native.kernel import LANES, Kernel
from flexarm.native.language import Floats, Placed, Words, call, lanes
from flexarm.native.once import Once
from flexarm.simulation import block
from flexarm.simulation.adjoint_implicit import solved
from flexarm.simulation.advance import Contact, Stretch
from flexarm.simulation.decoupled import decoupled
from flexarm.simulation.explicit import Explicit, filled, stepped
from flexarm.simulation.implicit import Implicit
from flexarm.simulation.lanes_implicit import BatchPlan
from flexarm.simulation.layout import Layout
from flexarm.simulation.objective import Scalar
from flexarm.simulation.rhs import Plan, cubic_table, rhs
from flexarm.simulation.sampled_calls import SampledCalls
from flexarm.simulation.steps import Trail, copied
from flexarm.simulation.sweep import (
    NONE,
    NOTHING,
    Sweep,
    address,
    at_stage,
    before_correction,
    collected,
    otherwise,
    product,
    reached,
    through_law,
    through_sample,
    with_cost,
)
from flexarm.simulation.tableaus import Tableau

MOST_STEPS = 2**22
"""Largest number of steps of a run with a gradient, four million: 64 MB for their times."""

RING = 2**23
"""Numbers in the record of the last steps, 64 MB."""

FEWEST = 64
"""Least number of steps in that record, for arms with very long states."""

SMOOTH = 1e-9
"""Relative change of the rates at a contact that counts as rounding."""

BATCHES = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
"""The form of `repeated` and `swept`."""

CODE = Once(lambda: translated(repeated, swept, beside_each_other))
BATCH = Once(lambda: translated(swept_together, batch=()))


def trail(size: int, stages: int, again: bool = True, runs: int = 1) -> Placed:
    """Return an empty record of the steps of a method on states of this size. Its memory is taken as it fills.

    All steps of a method that cannot take them `again` are in the ring. Several runs share the size of one ring.
    """
    width = size * (1 + stages)
    rows = max(FEWEST, RING // width // runs)
    most = MOST_STEPS if again else rows
    numbers = (np.empty(count) for count in (2 * most, (most // rows + 1) * size, rows * width))
    return Placed(Trail(0, most, rows, width, *numbers))


class Switch(NamedTuple):
    """A contact in recorded steps, at which the rates jump.

    Attributes
    ----------
    step : int
        Number of steps before it.
    jump : (size,)
        Rates before minus rates after, divided by the rate of the contact function before.
    slopes, of_constants : (q and qd,), (constants,)
        Derivatives of the contact function.
    """

    step: int
    jump: Array
    slopes: Array
    of_constants: Array


class Sums(NamedTuple):
    """Results of the adjoint of one run: weights of the initial state, and sums of products, see `Sweep`.

    Attributes
    ----------
    value : (1,)
        Integral of the integrand.
    z : (memory,), optional
        Weights of the initial memory of a sampled controller.
    others : (others,)
        Weighted sums of the values of controllers with other numbers.
    of_contacts : (constants,)
        Weights of the constants of the contact functions.
    """

    v: Array
    value: Array
    of_constants: Array
    of_cost: Array
    of_loops: Array
    of_inputs: Array
    of_table: Array
    z: Array | None
    others: Array
    of_contacts: Array


@final
class Recorded:
    """A run's recorded steps: its intervals between breakpoints, and the inputs and the state at the start of each.

    Attributes
    ----------
    width : int
        Number of runs whose adjoints are computed at once: 1 or `LANES`, see `together`.
    edges, states : lists
        Times and states, (size width,), at the starts of the intervals, and those at the end of the run.
    first : list of int
        First step of each interval, and the number of steps.
    method : Explicit, Implicit or Tableau
        The method, which records its steps. A batch of runs of an implicit method has its table.
    last, values : lists
        Latest times at which inputs are evaluated in the intervals [s], and the values fed at their starts.
    samples, called : lists
        Sample of a sampled controller with which each interval begins, or -1, and the controller's arguments at each.
    switches, contacts : list of Switch, Kernel, optional
        Contacts in the order of time, and the contact functions, if there is one.
    shown : (k,), (k, size)
        Some times and the states there, for the balance of energies.
    each : list of Recorded
        The records of the runs that this one consists of.
    """

    shown: tuple[Array, Array]
    each: "Sequence[Recorded]"

    def __init__(
        self,
        plan: Plan | BatchPlan,
        rate: Code,
        method: Explicit | Implicit | Tableau,
        trail: Placed,
        integrate: Callable[[float, Array, Array], Stretch] | None,
        calls: SampledCalls | None,
        width: int = 1,
    ):
        self.width = width
        self._integrate = integrate
        self.plan, self.trail, self.method, self.calls = plan, trail, method, calls
        self.trails, self._taken = [trail], np.empty((0, 1), dtype=np.int64)
        self._rate = rate  # must stay alive as long as the plan may call it
        self.edges: list[float] = []
        self.states: list[Array] = []
        self.first: list[int] = []
        self.last: list[float] = []
        self.values: list[Array] = []
        self.samples: list[int] = []
        self.called: list[Array] = []
        self._memory = NOTHING if calls is None else calls.memory_now.copy()
        self.switches: list[Switch] = []
        self.contacts: Kernel | None = None

    def fits(self, other: "Recorded") -> bool:
        """Return True if this run and another one may have a common adjoint: they have the same intervals.

        Runs that begin or end contacts, and runs with more steps than the ring has room for, are swept alone.
        """
        alone = bool(self.switches) or self.trail.count > self.trail.rows
        return not alone and (self.edges, self.last, self.samples) == (other.edges, other.last, other.samples)

    @classmethod
    def together(
        cls, runs: "Sequence[Recorded]", plan: Plan | BatchPlan, rate: Code, method: Explicit | Tableau
    ) -> "Recorded":
        """Return the records of `LANES` runs that fit as one, with the plan and the method of all.

        Every run has its own steps. In an interval, a run with fewer steps waits for the others.
        """
        first = runs[0]
        found = cls(plan, rate, method, first.trail, None, first.calls, len(runs))
        found.trails, found.each = [each.trail for each in runs], runs
        found.edges, found.last, found.samples = first.edges, first.last, first.samples
        found.states, found.values, found.called = (
            [np.stack(each, axis=-1).ravel() for each in zip(*lists, strict=True)]
            for lists in zip(*((each.states, each.values, each.called) for each in runs), strict=True)
        )
        starts = np.array([each.first for each in runs])
        counts = np.diff(starts)
        most = counts.max(axis=0)
        found.first = [0, *np.cumsum(most).tolist()]
        within = np.repeat(np.arange(len(most)), most)
        i, own = np.arange(len(within)) - np.array(found.first)[within], counts[:, within]
        steps = np.maximum(starts[:, within] + np.minimum(i, own - 1), 0)
        found._taken = np.ascontiguousarray(np.where(i < own, steps, -1 - steps).T)
        return found

    def stretch(self, t0: float, x0: Array, times: Array) -> Stretch:
        """Integrate over an interval."""
        plan = self.plan
        assert isinstance(plan, Plan) and self._integrate is not None
        self._start(t0, x0)
        self.last.append(plan.shared.last)
        self.values.append(np.concatenate([plan.u, plan.w]))
        self.samples.append(self._sample(t0))
        return self._integrate(t0, x0, times)

    def contact(self, kernel: Kernel, found: Contact) -> None:
        """Record a contact, at which functions of a kernel of (q, qd) change sign. Raises `SimulationError`."""
        if np.allclose(found.before, found.after, rtol=SMOOTH, atol=SMOOTH * np.abs(found.before).max()):
            return
        self.contacts, n = kernel, kernel.code.facts["n_in"] - len(kernel.constants)
        units = np.eye(kernel.code.facts["n_out"])[found.which]
        rows = [adjoint(kernel, True).one(np.concatenate([found.x[:n], unit])) for unit in units]
        # a function that is constant before the contact only begins there
        rows = [row for row in rows if row[:n] @ found.before[:n] != 0.0]
        if len(rows) != 1:
            what = "two contacts begin or end at once" if rows else "a contact begins without speed"
            raise SimulationError(f"gradient: at t = {found.t:.6g} s {what}, where the motion has no derivative")
        slopes, of_constants = np.split(rows[0], [n])
        jump = (found.before - found.after) / (slopes @ found.before[:n])
        self.switches.append(Switch(self.trail.count, jump, slopes, of_constants))

    def _sample(self, t: float) -> int:
        """Record the arguments of a sampled controller that was called at t. Return its sample, or -1."""
        calls = self.calls
        if calls is None or calls.given[0] != t:
            return -1
        given, first = calls.given[: len(calls.given) - len(calls.constants)].copy(), 1 + calls.states
        given[first : first + calls.memory] = self._memory
        self._memory = calls.memory_now.copy()
        self.called.append(given)
        return len(self.called) - 1

    def passed(self, edges: Array, states: Array, fed: Array) -> None:
        """Record the intervals that native code took before the first one of `stretch`, which may be all.

        The states are those at the starts of the intervals between edges (k + 1,), in which the numbers that follow the
        state in the plan's buffer, (k, fed), were held.
        """
        count = int(np.searchsorted(edges, self.edges[0])) if self.edges else len(fed)
        begins = self.trail.times[: 2 * self.trail.count : 2]
        self.edges[:0] = edges[:count].tolist()
        self.states[:0] = list(states[:count])
        self.first[:0] = np.searchsorted(begins, edges[:count]).tolist()
        self.last[:0] = np.nextafter(edges[1 : count + 1], -np.inf).tolist()
        self.values[:0] = list(fed[:count])
        self.samples[:0] = [-1] * (count if self.calls is None else 0)

    def _start(self, t: float, x: Array) -> None:
        self.edges.append(t)
        self.states.append(x.copy())
        self.first.append(self.trail.count)

    def end(self, t: float, x: Array) -> None:
        """Record the end of the run."""
        self._start(t, x)

    def first_of(self, run: int) -> list[int]:
        """Return the first step of each interval of one of the runs, as its sweep counts them."""
        return self.each[run].first if isinstance(self.method, Tableau) else self.first

    @property
    def sampled(self) -> bool:
        """True if the controller is sampled."""
        return self.calls is not None

    @property
    def starts(self) -> tuple[Array, Array]:
        """Starts of the last steps and the states there, (k,), (k, size), as far as the ring has them."""
        trail = self.trail
        steps = np.arange(max(trail.count - trail.rows, 0), min(trail.count, trail.room))
        rows = trail.ring[: trail.rows * trail.width].reshape(trail.rows, trail.width)
        return trail.times[2 * steps], rows[steps % trail.rows, : len(self.states[0])]

    @property
    def times(self) -> Array:
        """Ends of all steps [s]."""
        return np.append(self.trail.times[: 2 * self.trail.count : 2], self.edges[-1])

    def swept(
        self,
        layout: Layout,
        rates: Kernel,
        of_constants: bool,
        closes: Kernel | None,
        laws: Sequence[Kernel | None],
        others: Sequence[Sequence[Kernel]],
        integral: Scalar | None,
        p: Array,
        table: block.Cubics | None,
        marks: Array,
        pulls: Array,
    ) -> list[Sums]:
        """Return the results of the adjoint after its sweep from the end of the run to its start, for each run.

        Parameters
        ----------
        rates : Kernel
            The rates of the state, whose derivative with respect to its constants is included if it is `of_constants`.
        closes : Kernel, optional
            Correction of a state towards the arm's closures.
        laws : list of Kernel or None
            Compiled controller of each run. All have the same code.
        others : list of lists of Kernel
            Compiled controllers of each run with other numbers, of the same arguments and values.
        integral, p : Scalar, (k, width)
            Integrand, and the parameters of the models.
        table : Cubics, optional
            The inputs as cubics, with respect to whose coefficients derivatives are computed.
        marks, pulls : (marks, width), (marks, size, width)
            Steps before which weights of the state are added, and the weights.
        """
        rate, method = adjoint(rates, of_constants), self.method
        batch = isinstance(method, Tableau)  # then lengths are those of one run
        tableau = method.tableau if isinstance(method, Implicit) else method
        weights, implicit = tableau.weights, isinstance(tableau, Tableau)
        stages = len(weights) - 1
        runs, width = self.width, 1 if batch else self.width
        m = layout.unknowns if implicit else 0
        constants = width * len(rates.constants) * of_constants
        law = laws[0]
        given = [
            np.vstack([np.zeros((each[0].code.facts["n_in"] - len(each[0].constants), runs)), constants_of(each)])
            for each in zip(*others, strict=True)
        ]
        cost = NONE if integral is None else product(integral.product, integral.kernel, p.ravel(), runs, batch=batch)
        through = NONE
        if law is not None and law.code.facts["n_in"] > len(law.constants) + 1:
            through = product(adjoint(law), law, NOTHING, runs, constants_of(laws), batch)  # type: ignore[arg-type]
        cubics = None if table is None else cubic_table(*table)
        intervals, memory = len(self.last), 0 if self.calls is None else self.calls.memory
        states, fed = width * layout.states, width * layout.fed
        arguments, values = states + fed + self.plan.constants + layout.size, states + fed + constants
        numbers = np.concatenate([NOTHING, *map(np.ravel, given)])
        newton: Any = 0
        if isinstance(tableau, Tableau):
            newton = decoupled(tableau, m, 0, m, transposed=True, runs=runs if batch else 1)
        sweep = Placed(
            Sweep(
                width=width,
                shared=np.array([self.plan.address]),  # type: ignore[arg-type]  # an address is one word
                steps=method.record if isinstance(method, Explicit) else 0,  # type: ignore[arg-type]  # records are placed
                trails=np.array([each.address for each in self.trails]),  # type: ignore[arg-type]
                stages=stages,
                taken=self._taken,
                row=np.zeros(self.trail.width * width if runs > 1 else 0),
                t=np.zeros(width),
                h=np.zeros(width),
                tiled=np.zeros(width * layout.size),
                size=width * layout.size,
                states=states,
                inputs=width * layout.inputs,
                exogenous=width * layout.exogenous,
                fed=fed,
                matrix=weights.ravel(),
                nodes=tableau.nodes,
                implicit=int(implicit),
                across=1 if batch else LANES,
                apart=max(arguments, values) if batch else 1,
                beside=CODE().addresses["beside_each_other"] if batch else 0,
                count=0,
                given=np.zeros((stages if batch else LANES) * implicit * max(arguments, values)),
                found=np.zeros((stages if batch else LANES) * implicit * max(arguments, values)),
                points=np.zeros((stages, 1 + states + fed)),
                befores=np.zeros((stages, states)),
                costs=np.zeros((stages, states + fed)),
                pose=layout.pose,
                inner=layout.inner,
                m=m,
                square=(weights @ weights[:-1]).ravel(),
                solution=np.zeros(stages * m),
                r=np.zeros(stages * m),
                own=np.zeros(stages * states),
                newton=newton,
                length=0.0,
                stale=1,
                least=0,
                excess=0,
                system=np.empty((stages * m) ** 2),
                slopes=np.empty(stages * m * states),
                intervals=intervals,
                current=intervals - 1,
                first=np.array(self.first, dtype=np.int64),
                last=np.array(self.last),
                values=np.array(self.values)[:, :fed],
                weights=width + states + fed + self.plan.constants,
                rate=address(rate, LANES if implicit else width),
                out=np.zeros(states + fed + constants),
                constants=constants,
                law=through,  # type: ignore[arg-type]
                others=len(given),
                codes=np.array([address(each, runs) for each in others[0]], dtype=np.int64),
                places=np.cumsum([0, *(each.size * width // runs for each in given)]),
                numbers=numbers[:: runs // width],
                sums=np.zeros(len(given) * width),
                memory=width * memory,
                sampled=int(self.calls is not None),
                samples=np.array(self.samples),
                called=np.ravel(self.called)[:: runs // width].copy(),
                held=np.zeros(width * (layout.inputs + memory)),
                cost=cost,  # type: ignore[arg-type]
                after=p.size * width // runs,
                closes=NONE if closes is None else product(adjoint(closes, True), closes, NOTHING),  # type: ignore[arg-type]
                closing=self.plan.shared.closing,
                tries=np.zeros(CORRECTIONS * layout.states),
                before=np.zeros(states),
                of_loops=np.zeros(0 if closes is None else len(closes.constants)),
                tabled=int(cubics is not None),
                cubics=cubics or 0,  # type: ignore[arg-type]
                v=np.zeros(width * layout.size),
                bars=np.zeros((stages, states)),
                marks=marks[:, 0].copy(),
                mark=len(marks),
                pulls=np.ascontiguousarray(pulls[:, :, : None if width > 1 else 1]),
                value=np.zeros(width),
                of_inputs=np.zeros((intervals, fed)),
                of_table=np.zeros(0 if table is None else table[1].size * width // runs),
                of_constants=np.zeros(constants),
                of_cost=np.zeros(p.size * width // runs),
            ),
            runs if batch else 1,
        )
        self._held = rate, closes, laws, others, integral  # their code must stay loaded
        if implicit:  # the constants of the product of the rates
            constant = sweep.given.reshape(-1, LANES)
            for row in range(0, len(constant), sweep.apart if batch else len(constant)):
                constant[row + states + fed :][: self.plan.constants] = self.plan.fixed.reshape(-1, runs)
        if batch:
            sweep.numbers[:], sweep.marks[:], sweep.pulls[:] = numbers, marks.ravel(), pulls.ravel()
            sweep.first[:] = np.array([each.first for each in self.each]).T.ravel()
            sweep.values[:] = np.array(self.values).ravel()
            sweep.called[:] = np.array(self.called).ravel()
            sweep.count[:] = [each.first[-1] for each in self.each]
            BATCHES(BATCH().addresses["swept_together"])(sweep.address)
            return [self._of_run(sweep, i, NOTHING) for i in range(runs)]
        of_contacts = self._sweep(sweep)
        return [self._of_run(sweep, i, of_contacts) for i in range(width)]

    def _of_run(self, sweep: Placed, run: int, of_contacts: Array) -> Sums:
        """Return the results of one of the runs."""
        names = ("v", "value", "of_constants", "of_cost")
        alone = {name: getattr(sweep, name)[run :: self.width].copy() for name in names}
        of_inputs = sweep.of_inputs.reshape(len(self.last), -1)[:, run :: self.width]
        of_table = sweep.of_table.reshape(-1, max(sweep.inputs, 1), 4, 1 if sweep.width > 1 else self.width)
        of_table = of_table[:, run :: self.width, :, 0] if sweep.width > 1 else of_table[..., run]
        z = None if self.calls is None else sweep.held[run :: self.width][sweep.inputs // sweep.width :]
        others = sweep.sums[run :: self.width]
        more = {"of_loops": sweep.of_loops, "of_contacts": of_contacts, "others": others}
        return Sums(**alone, **more, of_inputs=of_inputs, of_table=of_table, z=z)

    def _sweep(self, sweep: Placed) -> Array:
        """Sweep over all steps, and return the weights of the contacts' constants. The last steps are in the ring."""
        code, count = CODE(), self.first[-1]
        rows = self.trail.rows if self.width == 1 else max(count, 1)
        again, back = (PART(code.addresses[name]) for name in ("repeated", "swept"))
        left = list(self.switches)
        of_contacts = np.zeros(len(left[0].of_constants) if left else 0)
        for first in reversed(range(0, count, rows)):
            stop = min(first + rows, count)
            if stop < count:
                again(sweep.address, first, stop)
            while left and left[-1].step > first:
                switch = left.pop()
                if switch.step < stop:
                    back(sweep.address, switch.step, stop)
                    stop = switch.step
                of_contacts -= switched(sweep.v, switch) * switch.of_constants
            back(sweep.address, first, stop)
        return of_contacts


def constants_of(kernels: Sequence[Kernel]) -> Array:
    """Return the constants of kernels side by side, (constants, kernels)."""
    return np.stack([each.constants for each in kernels], axis=-1)


def switched(v: Array, switch: Switch) -> float:
    """Move the weights v of a state (size,) from after a contact to before it, and return that of the contact's time.

    The time at which the rates jump depends on the state: the saltation matrix (Leine & Nijmeijer 2004, section 7.3).
    """
    weight = float(switch.jump @ v)
    v[: len(switch.slopes)] -= weight * switch.slopes
    return weight


# -- translated functions ----------------------------------------------------------------------------------------------


def entered(s: Sweep, step: int) -> None:
    """Set the inputs of the interval that contains a step."""
    while s.first[s.current] > step:
        s.current -= 1
    while s.first[s.current + 1] <= step:
        s.current += 1
    shared = s.shared[0]
    shared.last = s.last[s.current]
    copied(s.values[s.current * s.fed :], shared.buffer[s.width + s.states :], s.fed)


def repeated(s: Sweep, first: int, stop: int) -> None:
    """Take recorded steps again from the first one, a multiple of `rows`, to write their rates to the record."""
    steps, trail, size = s.steps, s.steps.trail, s.size
    copied(trail.starts[first // trail.rows * size :], steps.y, size)
    for i in range(first, stop):
        entered(s, i)
        steps.t, steps.h = trail.times[2 * i], trail.times[2 * i + 1]
        rhs(steps.method.k, steps.t, steps.y, steps.shared, 0)
        stepped(steps)
        row = trail.ring[(i - first) * trail.width :]
        copied(steps.y, row, size)
        copied(steps.method.k, row[size:], s.stages * size)
        copied(steps.z, steps.y, size)


def swept(s: Sweep, first: int, stop: int) -> None:
    """Move the weights from the end of the last of these steps to the start of the first."""
    trail = s.trails[0]
    for i in range(stop - 1, first - 1, -1):
        entered(s, i)
        pulled(s, i + 1)
        if s.width == 1:
            s.t[0], s.h[0] = trail.times[2 * i], trail.times[2 * i + 1]
            filled(s.tiled, s.h[0], s.size)
            backwards(s, trail.ring[(i - i // trail.rows * trail.rows) * trail.width :])
        else:
            side_by_side(s, s.taken[i * s.width :])
            backwards(s, s.row)
        if s.sampled == 1 and i == s.first[s.current] and s.samples[s.current] >= 0:
            through_sample(s, s.samples[s.current])
    if first == 0:
        pulled(s, 0)
        if s.closes.product != 0:
            for _ in range(2):  # as in `closures.started`, so that the rates follow the corrected position
                copied(trail.starts, s.before, s.states)
                before_correction(s, s.before, s.v, 1)


def swept_together(s: Sweep) -> None:
    """Move the weights from the ends of the runs of a batch of an implicit method to their starts."""
    for i in range(s.count - 1, -1, -1):
        entered(s, i)
        pulled(s, i + 1)
        call(s.beside, s.trails, i, s.row, s.t, s.h)
        filled(s.tiled, s.h[0], s.size)
        solved(s, s.h[0], s.row)
        for j in range(s.stages):
            bar = s.bars[j * s.states :]
            for n in lanes(s.states):
                s.v[n] += bar[n]
        if s.sampled == 1 and i == s.first[s.current] and s.samples[s.current] >= 0:
            through_sample(s, s.samples[s.current])
    pulled(s, 0)


def beside_each_other(trails: Sequence[Trail], i: int, row: Floats, t: Floats, h: Floats) -> None:
    """Write step i of `LANES` runs side by side. What is written for a run with fewer steps is not read."""
    for run in range(LANES):
        trail = trails[run]
        if i < trail.count:
            one = trail.ring[i * trail.width :]
            t[run], h[run] = trail.times[2 * i], trail.times[2 * i + 1]
            for n in range(trail.width):
                row[n * LANES + run] = one[n]


def pulled(s: Sweep, step: int) -> None:
    """Add the weights of the objective at the start of a step."""
    while s.mark > 0 and s.marks[s.mark - 1] == step:
        s.mark -= 1
        pull = s.pulls[s.mark * s.size :]
        for n in lanes(s.size):
            s.v[n] += pull[n]


def side_by_side(s: Sweep, taken: Words) -> None:
    """Write the states and rates of one step of each run side by side."""
    width = s.width
    for run in range(width):
        trail, i = s.trails[run], taken[run]
        if i < 0:
            i = -1 - i
        row = trail.ring[(i - i // trail.rows * trail.rows) * trail.width :]
        for n in range(trail.width):
            s.row[n * width + run] = row[n]
        s.t[run], s.h[run] = trail.times[2 * i], trail.times[2 * i + 1]
        if taken[run] < 0:
            s.t[run], s.h[run] = s.t[run] + s.h[run], 0.0
        for n in range(s.size // width):
            s.tiled[n * width + run] = s.h[run]


def backwards(s: Sweep, row: Floats) -> None:
    """Move the weights from the end of a step to its start, given its first state and the rates of its stages."""
    stages, states = s.stages, s.states
    if s.closes.product != 0:
        reached(s, row, s.matrix[stages * stages :], stages, s.before)
        before_correction(s, s.before, s.v, 1)
    if s.implicit == 1:
        solved(s, s.h[0], row)
    else:
        substituted(s, row)
    for i in range(stages):
        bar = s.bars[i * states :]
        for n in lanes(states):
            s.v[n] += bar[n]


def substituted(s: Sweep, row: Floats) -> None:
    """Compute the weights of the stages of an explicit step, from the last one to the first."""
    stages, size, states, buffer, h = s.stages, s.size, s.states, s.shared[0].buffer, s.tiled
    weights = buffer[s.weights :]
    for i in range(stages - 1, -1, -1):
        b = s.matrix[stages * stages + i]
        for n in lanes(size):
            weights[n] = h[n] * b * s.v[n]
        for j in range(i + 1, stages):
            a = s.matrix[j * stages + i]
            if a != 0.0:
                bar = s.bars[j * states :]
                for n in lanes(states):
                    weights[n] += h[n] * a * bar[n]
        at_stage(s, row, i)
        call(s.rate, buffer[s.width :], s.out)
        if s.cost.product != 0 and b != 0.0:
            with_cost(s, buffer, b)
        if s.law.product != 0 and s.sampled == 0:
            through_law(s, buffer)
            otherwise(s, s.fed - s.exogenous)
        collected(s, buffer)
        if s.closes.product != 0:
            before_correction(s, s.before, s.out, 1)
        copied(s.out, s.bars[i * states :], states)
