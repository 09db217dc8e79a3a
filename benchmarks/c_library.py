"""What the exported C library costs beside the package's own machine code, one state after another."""

import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import flexarm as fa
from benchmarks.chains import chain, over_rows, states
from benchmarks.report import Table, spread
from benchmarks.timing import interleaved
from flexarm.exports.library import c_library

ROWS = 2048
LOOP = """
#include "%(name)s.h"
void loop(const %(real)s *q, const %(real)s *qd, const %(real)s *u, %(real)s *qdd);
void loop(const %(real)s *q, const %(real)s *qd, const %(real)s *u, %(real)s *qdd)
{
    for (int i = 0; i < %(rows)d; i++) {
        %(name)s_forward_dynamics(&q[%(nq)d * i], &qd[%(nv)d * i], &u[%(nu)d * i], &qdd[%(nv)d * i]);
    }
}
"""
ARMS = {"3 links with 2 + 2 modes": lambda: chain(3), "spatial-6r": lambda: fa.load("spatial-6r")}


def measure(quick: bool) -> list[Table]:
    """Forward dynamics by the system's C compiler and by ours."""
    import ctypes

    table = Table(
        "Exported C: forward dynamics, one state after another",
        ("arm", "native", "C, double", "C, float", "C / native"),
    )
    compiler = shutil.which("cc")
    if compiler is None:
        table.notes.append("No C compiler is installed here.")
        return [table]
    for name, arm in ARMS.items():
        model = fa.Model(arm())
        q, qd, u = states(model, ROWS)
        calls = {"native": over_rows(model.kernel("forward_dynamics").code, np.hstack([q, qd, u]))}
        with tempfile.TemporaryDirectory() as folder:
            for real, kind in (("double", np.float64), ("float", np.float32)):
                texts = c_library(model, real)
                own = next(file.removesuffix(".h") for file in texts if file.endswith(".h"))
                numbers = {"name": own, "real": real, "rows": ROWS}
                numbers |= {"nq": model.nq, "nv": model.nv, "nu": len(model.inputs)}
                for file, text in {**texts, "loop.c": LOOP % numbers}.items():
                    (Path(folder) / file).write_text(text, encoding="utf-8")
                command = [compiler, "-O2", "-shared", "-fPIC", f"{own}.c", "loop.c", "-lm", "-o", f"{real}.so"]
                subprocess.run(command, cwd=folder, check=True)
                given = [np.ascontiguousarray(x, dtype=kind) for x in (q, qd, u, np.zeros_like(qd))]
                library = ctypes.CDLL(str(Path(folder) / f"{real}.so"))
                pointers = [ctypes.c_void_p(x.ctypes.data) for x in given]
                calls[real] = lambda library=library, pointers=pointers, given=given: library.loop(*pointers)
            found = interleaved(calls, 5 if quick else 25)
        each = {what: [s / ROWS for s in seconds] for what, seconds in found.items()}
        ratio = statistics.median(np.divide(each["double"], each["native"]).tolist())
        table.add(name, *(spread(each[what]) for what in ("native", "double", "float")), f"{ratio:.2f}")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    table.notes.append(
        f"The compiler of the C code is {version} with -O2, for any processor of this architecture. The native code is "
        "compiled for the processor of this machine."
    )
    return [table]
