"""Runs of an ensemble on a graphics processor by implicit methods, one run per thread: see `gpu_implicit_loops`."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from flexarm.arrays import Array
from flexarm.errors import DescriptionError
from flexarm.model.tracing import RESIDUALS
from flexarm.native.cuda import Device, Launch
from flexarm.native.exponential import powers
from flexarm.native.kernel import Kernel
from flexarm.native.nvptx import Entry, Precision, straight
from flexarm.native.program import instructions
from flexarm.simulation import gpu, solvers, tableaus
from flexarm.simulation.block import Block
from flexarm.simulation.ensemble_runs import Asked, Group, Runs, constants, held_outside
from flexarm.simulation.gpu import Courses, OnGpu, There, beside, bounds, planned
from flexarm.simulation.gpu_implicit_loops import ImplicitForm, ImplicitRuns, loops
from flexarm.simulation.gpu_loops import HELD, LAW, TABLE, UNDER_WAY
from flexarm.simulation.layout import Layout
from flexarm.simulation.steps import PATIENT, SLOW
from flexarm.simulation.tableaus import Tableau

MEMORY = 2**33
"""Size of the states and matrices of the runs of one launch [bytes], a tenth of the memory of a large card."""


def tasks(runs: Runs, group: Group, asked: Asked, real: Precision) -> Sequence[OnGpu]:
    """Return the tasks of a group. Raise `DescriptionError` if there is no graphics processor."""
    if group.method not in solvers.IMPLICIT:
        return gpu.tasks(runs, group, asked, real)
    group.begin(runs, asked)
    count, form = len(group.indices), ImplicitForm.of(group.layout, tableau_of(group, asked), HELD)
    each = 8 * (form.kept + group.layout.size * (len(asked.times) + 1))
    together = max(1, min(gpu.TOGETHER, MEMORY // each))
    parts = [slice(i, min(i + together, count)) for i in range(0, count, together)]
    return [ImplicitOnGpu(runs, group, asked, part, real) for part in parts]


def tableau_of(group: Group, asked: Asked) -> Tableau:
    """Return the table of a group's method."""
    radius = asked.radius
    return solvers.IMPLICIT[group.method] if radius is None else tableaus.generalized_alpha(float(radius))


def program(
    residual: Kernel,
    layout: Layout,
    tableau: Tableau,
    law: Kernel | None,
    table: bool,
    contacts: Kernel | None = None,
) -> tuple[str, Any, Entry]:
    """Return runs by an implicit method as `cuda.Device.kernel` takes them: key, parts and entry."""
    source = TABLE if table else HELD if law is None else LAW
    form = ImplicitForm.of(layout, tableau, source, 0 if contacts is None else contacts.code.facts["n_out"])

    def parts() -> list[str]:
        function = residual.trace()
        after = function.nnz_in() - layout.nv
        try:
            found = [straight(instructions(function), layout.states + form.tried, "double", after=after)]
            found += [beside(law, "law", "double"), beside(None, "correction", "double")]
            found.append(beside(contacts, "distances", "double"))
        except NotImplementedError as error:
            raise DescriptionError(f"device is 'gpu'; {error}") from None
        return [*found, powers("double"), *loops(form)]

    key = f"implicit runs\n{residual.key}" + ("" if law is None else f"\nunder\n{law.key}")
    key = key if contacts is None else f"{key}\ntouching\n{contacts.key}"
    return f"{key}\n{form}", parts, form.entry()


@final
class ImplicitOnGpu(OnGpu):
    """A task that computes some runs of a group on a graphics processor, by an implicit method."""

    @property
    def _newton(self) -> Tableau:
        return tableau_of(self._group, self._asked)

    @property
    def _adaptive(self) -> bool:
        return True

    @property
    def _adapting(self) -> bool:
        return not self._group.step

    def _quantity(self, drive: Block) -> str:
        return RESIDUALS[drive.quantity]

    def _launch(self, device: Device) -> Launch:
        key, parts, entry = program(
            self._rate, self._group.layout, self._newton, self._law, self._table, self._contacts
        )
        return device.kernel(key, parts, entry, "double")

    def _there(self, device: Device, start: Array, given: tuple[Array, Courses, dict[str, Any]]) -> There:
        return There(device, self._launch(device), start, True, *given, kind=ImplicitRuns)

    def _given(self, indices: Array, T: Any) -> tuple[Array, Courses, dict[str, Any]]:
        runs, asked, layout, tableau = self._runs, self._asked, self._group.layout, self._newton
        _, which = runs.drives_of(indices)
        some = indices if runs.levels is None else indices[:1]
        courses = Courses(runs.courses_of(some, asked)[0], which, lambda corners: planned(asked.times, corners, np.inf))
        if runs.levels is not None:
            courses.arrays |= {"u": runs.levels[indices], "where": np.arange(len(indices))}
        alike = indices[:1] if runs.p is None and runs.around is None else indices
        own = np.hstack([held_outside(runs, alike), constants(runs, self._rate, alike)])
        form, count = ImplicitForm.of(layout, tableau, HELD), len(indices)
        rows = int((courses.last - courses.first).max())
        space = np.zeros((form.kept, count))
        space[2] = SLOW
        space[4 : 4 + layout.size] = self._group.x[self._part, 0].T
        none = np.zeros(0, dtype=np.int64)
        shared = {
            "c": tableau.c,
            **{name: np.ravel(getattr(tableau, name)) for name in ("a1", "a2", "b1", "b2", "blocks", "to", "back")},
            **dict.fromkeys(("first", "terms"), none),
            **{name: np.zeros(0) for name in ("weights", "ahead", "after")},
            "rtol": asked.rtol,
            "atol": asked.atol,
            "tolerances": layout.tolerances(asked.atol),
            "step": self._group.step,
            "times": np.zeros(rows + 1),
            "rows": rows,
            "origin": courses.first,
            "nodes": np.zeros(count, dtype=np.int64),
            "space": space,
            **self._none(which),
            "most": bounds(runs, indices, layout),
            "loops": np.zeros((0, 1)),
            "edges": np.zeros((0, 1)),
            "contacts": self._of_contacts(alike),
            **{name: np.zeros(count) for name in ("resume", "stopped", "unwatched")},  # of sharp contacts
        }
        self._shown = courses.arrays["shown"], courses.first, courses.last
        return own, courses, shared

    def _advance(self, there: There, x: Array) -> None:
        """Advance all runs to their ends, and take the states at the times of the result."""
        count, m = len(x), self._group.layout.unknowns
        form = ImplicitForm.of(self._group.layout, self._newton, HELD)
        # a launch must at least complete an iteration that fails, and the new slopes after it
        least = 2 * form.beginning + PATIENT * form.newton_stages
        most = max(least, int(gpu.WORK / (count * (self._rate.code.operations + 20 * m * m + 1))))
        there.known[:] = 0
        while not self._stopped:
            there.launch(0, 0, most)
            self.finished = int((there.status != UNDER_WAY).sum())
            if not (there.status == UNDER_WAY).any():
                break
            self._look(there)
        out = there.states()
        out = out.reshape(count, out.shape[0], out.shape[1])
        shown, firsts, lasts = self._shown
        for first in np.unique(firsts).tolist():
            members = np.flatnonzero(firsts == first)
            there_shown = np.flatnonzero(shown[first : lasts[members[0]]])
            x[members, 1:] = out[members][:, there_shown]
            there.known[members] = 1 + np.searchsorted(there_shown, there.known[members])
