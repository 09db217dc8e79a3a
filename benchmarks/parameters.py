"""What it costs that numbers of an arm vary: operations, time, and another value beside another model."""

import time as clock

import numpy as np

import flexarm as fa
from benchmarks.chains import chain, over_rows, states
from benchmarks.report import Table, judged, spread
from benchmarks.timing import empty_cache, interleaved

ROWS = 2048
TARGET = 1.3
"""Of an evaluation with five numbers that vary over one with none."""
CHOICES = {
    "canadarm": ("upper.mass", "upper.EI", "fore.mass", "fore.length", "payload.mass"),
    "subudhi-morris-elastic": ("*.EI", "*.stiffness", "payload.mass"),
    "rigid-two-link": ("*.mass", "*.length", "*.inertia"),
}


def measure(quick: bool) -> list[Table]:
    """Five numbers of arms, among them lengths and masses."""
    table = Table(
        "Variable parameters",
        (
            "arm",
            "numbers",
            "operations: fixed",
            "varied",
            "constants",
            "time: varied / fixed",
            "in a SIMD batch",
            "target",
            "met",
            "`model.at(p)`",
            "a model rebuilt",
        ),
    )
    arms = [(fa.load(name), list(vary)) for name, vary in CHOICES.items()]
    long = chain(8)
    arms.append((long, [f"{long.links[0].name}.EI.y", *(f"{link.name}.mass" for link in long.links[:4])]))
    for arm, vary in arms:
        vary = [x.name for x in fa.Model(arm, vary).parameters][:5]
        fixed, varied = fa.Model(arm), fa.Model(arm, vary)
        x = np.ascontiguousarray(np.concatenate(states(fixed, ROWS), axis=1))
        rate, other = fixed.kernel("state_rate"), varied.kernel("state_rate")
        w = np.broadcast_to(other.constants, (ROWS, len(other.constants)))
        p = varied.p * 1.1 + (varied.p == 0.0)
        with empty_cache():
            found = interleaved(
                {
                    "fixed": over_rows(rate.code, x),
                    "varied": over_rows(other.code, x, w),
                    "fixed lanes": over_rows(rate.vector_code, x),
                    "varied lanes": over_rows(other.vector_code, x, w),
                    "at": lambda varied=varied, p=p: varied.at(p).kernel("state_rate").constants,
                },
                5 if quick else 25,
            )
            began = clock.perf_counter()
            fa.Model(varied.arm_at(p)).kernel("state_rate").code  # noqa: B018
            rebuilt = clock.perf_counter() - began
        ratio, lanes = (float(np.median(np.divide(found["varied" + k], found["fixed" + k]))) for k in ("", " lanes"))
        table.add(
            arm.name,
            ", ".join(vary),
            rate.code.operations,
            other.code.operations,
            len(other.constants),
            f"{ratio:.2f}",
            f"{lanes:.2f}",
            *judged(max(ratio, lanes), TARGET, str(TARGET)),
            spread(found["at"]),
            f"{rebuilt * 1e3:.0f} ms",
        )
    table.notes.append(
        "The compared function is the one that a simulation calls, `state_rate`. Results that depend only on the "
        "varied numbers are computed once, as constants that the machine code reads. `model.at(p)` computes these "
        "constants for other values. A model rebuilt with other numbers is traced and compiled again. A ratio is the "
        "median of the ratios of two samples that were taken one after the other."
    )
    return [table]
