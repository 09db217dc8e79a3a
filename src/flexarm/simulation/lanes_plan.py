"""Runs in lanes, laid out for native code: what they share, and what each has of its own."""

import ctypes  # noqa: TID251  (calls what was compiled here)
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, final

import numpy as np

from flexarm.native.kernel import LANES, Code
from flexarm.native.language import Placed
from flexarm.simulation.lanes import CODE, Lanes, Tables
from flexarm.simulation.lanes_tableaus import DOP853, RK4, RK45, Row
from flexarm.simulation.layout import Layout

Array = np.ndarray

METHODS = {"dop853": DOP853, "rk45": RK45, "rk4": RK4}
"""What there is in lanes."""

CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@final
@dataclass(frozen=True)
class Stage:
    """What writes u in lanes.

    Attributes
    ----------
    code : Code, optional
        Of a kernel that reads (t, x) and writes u and what follows it; None where u is held, or in tables.
    tables : list of (breaks, coefficients), optional
        Cubics, as `rhs.cubic_table` has them.
    """

    code: Code | None = None
    tables: Sequence[tuple[Array, Array]] = ()

    def placed(self, inputs: int) -> tuple[int, int, Any, Array]:
        """Addresses of code and data, what must stay alive for them, and where a lane's table is written."""
        table = np.zeros(LANES, dtype=np.int64)
        if self.code is not None:
            return self.code.addresses["evaluate"], 0, self.code, table
        if not len(self.tables):
            return CODE().addresses["nothing"], 0, None, table
        counts = np.array([len(breaks) for breaks, _ in self.tables])
        ends = [np.vstack([rows, np.zeros((1, *rows.shape[1:]))]) for _, rows in self.tables]
        record = Placed(
            Tables(
                inputs=inputs,
                table=table,
                first=np.cumsum(counts) - counts,
                intervals=counts - 1,
                breaks=np.concatenate([breaks for breaks, _ in self.tables]),
                coefficients=np.concatenate(ends),
            )
        )
        return CODE().addresses["tables"], record.address, record, table


@final
@dataclass(frozen=True)
class Course:
    """The stretches of a run.

    Attributes
    ----------
    corners : (k + 1,)
        Their ends [s].
    held : (k, m)
        u in each; no columns where it is written by a stage.
    table : int
        The number of its table, where there are some.
    """

    corners: Array
    held: Array
    table: int = 0


@final
@dataclass(frozen=True)
class Shared:
    """What runs in lanes have in common.

    Attributes
    ----------
    rate : Code
        For `LANES` states.
    stage : Stage
    layout : Layout
    inputs : int
        Numbers of u, without the rates of memory behind it.
    method : str
    rtol, atol, step : float
    times : (total,)
        Of the result [s].
    """

    rate: Code
    stage: Stage
    layout: Layout
    inputs: int
    method: str
    rtol: float
    atol: float
    step: float
    times: Array


@final
class Abreast:
    """Runs that go abreast.

    Parameters
    ----------
    shared : Shared
    start : (N, layout.size)
    own : (N, k)
        Numbers of each run behind u.
    courses, which : list of Course, (N,)
        What drives the runs, and which of it drives each.
    out : (N, total, layout.size)
        Where states go; the first is there.

    Attributes
    ----------
    status, known, steps, evaluations : (N,)
    left, stuck : (N,), (N, layout.size)
        Where runs ended.
    """

    def __init__(self, shared: Shared, start: Array, own: Array, courses: Sequence[Course], which: Array, out: Array):
        count, layout, tableau = len(start), shared.layout, METHODS[shared.method]
        inputs = shared.inputs + layout.memory
        stage, data, held, table = shared.stage.placed(shared.inputs)
        rows = [np.vstack([each.held, np.zeros((1, each.held.shape[1]))]) for each in courses]
        lengths = np.array([len(each.corners) for each in courses])
        corners = np.concatenate([each.corners for each in courses])
        sums = [*tableau.a, tableau.b, *tableau.errors, *tableau.between, *tableau.dense]
        first, terms, weights = _grouped(sums)
        width, powers = LANES * layout.size, len(tableau.dense) + 3 * tableau.hermite
        base = LANES * (1 + layout.z.stop + inputs)
        self._held = held, shared, CODE()
        self.status, self.known, self.steps, self.evaluations = np.zeros((4, count), dtype=np.int64)
        self.left, self.stuck = np.zeros(count), np.zeros((count, layout.size))

        def places(number: int) -> Array:
            return np.zeros(number)

        def words() -> Array:
            return np.zeros(LANES, dtype=np.int64)

        self.record = Placed(
            Lanes(
                rate=shared.rate.addresses["evaluate"],
                stage=stage,
                data=data,
                stages=tableau.stages,
                further=len(tableau.between),
                powers=powers,
                order=tableau.order,
                hermite=int(tableau.hermite),
                adaptive=int(bool(tableau.errors)),
                smoothed=int(len(tableau.errors) == 2),
                c=np.array(tableau.c),
                first=first,
                terms=terms,
                weights=weights,
                size=layout.size,
                states=layout.z.stop,
                constants=own.shape[1],
                base=base,
                rtol=shared.rtol,
                atol=shared.atol,
                step=shared.step,
                count=count,
                total=len(shared.times),
                start=np.ascontiguousarray(start),
                own=np.ascontiguousarray(own),
                times=shared.times,
                out=out,
                corners=corners,
                before=np.nextafter(corners, -np.inf),
                held=np.concatenate(rows),
                inputs=rows[0].shape[1],
                where=(np.cumsum(lengths) - lengths)[which],
                stretches=(lengths - 1)[which],
                tables=np.array([each.table for each in courses], dtype=np.int64)[which],
                status=self.status,
                known=self.known,
                steps=self.steps,
                evaluations=self.evaluations,
                stuck=self.stuck,
                left=self.left,
                next=0,
                active=0,
                fresh=0,
                finished=0,
                stop=0,
                run=words(),
                part=words(),
                end=words(),
                sample=words(),
                refused=words(),
                count_down=words(),
                table=table,
                t=places(LANES),
                h=places(LANES),
                dt=places(LANES),
                new=places(LANES),
                took=places(LANES),
                goal=places(LANES),
                a=places(LANES),
                b=places(LANES),
                buffer=places(base + LANES * own.shape[1]),
                y=places(width),
                end_y=places(width),
                k=places((tableau.stages + 1 + len(tableau.between)) * width),
                H=places(width),
                M=places(width),
                f=places(width),
                g=places(width),
                F=places(max(powers, 2) * width),
            )
        )

    def __call__(self) -> None:
        """Compute them, as far as they come until `stop`."""
        CALL(CODE().addresses["abreast"])(self.record.address)

    def stop(self) -> None:
        """Let it end where it is."""
        self.record.stop = 1

    @property
    def finished(self) -> int:
        """Runs that have ended."""
        return self.record.finished


@cache
def _sums(rows: tuple[tuple[tuple[int, float], ...], ...]) -> tuple[Array, Array, Array]:
    first, terms, weights = [0], [], []
    for row in rows:
        most = 4 * -(-len(row) // 4)
        filled = [*row, *[(row[0][0], 0.0)] * (most - len(row))]
        terms += [term for term, _ in filled]
        weights += [weight for _, weight in filled]
        first.append(len(terms) // 4)
    return np.array(first), np.array(terms), np.array(weights)


def _grouped(rows: Sequence[Row]) -> tuple[Array, Array, Array]:
    """Sums of rates in groups of four terms, the last one of each sum filled up with terms that weigh nothing."""
    return _sums(tuple(tuple(row.items()) for row in rows))
