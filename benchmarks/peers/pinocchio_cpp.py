"""Pinocchio's runs in C++: compiles `pinocchio_runs.cpp` against the headers of its wheel, and calls it.

Compiled once for all arms and all runs, and kept in the environment; the tree comes joint by joint.
"""

import ctypes
import hashlib
import shutil
import subprocess
import sys
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import pinocchio_systems
from benchmarks.peers.tasks import GAINS, PERIOD, Array, Task

NAME = "C++"
SOURCE = Path(__file__).with_name("pinocchio_runs.cpp")
FLAGS = (
    "-std=c++17", "-O2", "-march=native", "-DNDEBUG", "-fopenmp", "-shared", "-fPIC", "-w",
    "-fvisibility-inlines-hidden", "-fno-gnu-unique", "-Wl,-Bsymbolic",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)  # fmt: skip
"""The definitions are those of Pinocchio's own targets for CMake; no function is shared with the wheel's own library,
whose vectors are shorter."""
DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
INTS = np.ctypeslib.ndpointer(np.intc, flags="C_CONTIGUOUS")
INT, LONG, DOUBLE, POINTER = ctypes.c_int, ctypes.c_long, ctypes.c_double, ctypes.c_void_p
ARGUMENTS = {
    "made": (INT, INTS, ctypes.c_char_p, *[DOUBLES] * 9, INT, INT, DOUBLES, INTS, DOUBLES, INT, INTS, DOUBLES),
    "ended": (POINTER,),
    "fixed": (POINTER, INT, *[DOUBLES] * 2, DOUBLE, *[LONG] * 3, *[DOUBLE] * 2, INT, *[DOUBLES] * 3),
    "adaptive": (POINTER, *[DOUBLES] * 2, *[DOUBLE] * 3, INT, *[DOUBLES] * 7, INT, *[DOUBLES] * 2),
    "many": (POINTER, *[INT] * 2, *[DOUBLES] * 2, DOUBLE, LONG, *[DOUBLE] * 2, *[DOUBLES] * 6),
}


def prefix() -> Path:
    """Where the wheel keeps its headers and libraries."""
    import pinocchio

    return next(folder for folder in Path(pinocchio.__file__).parents if folder.name == "cmeel.prefix")


def missing() -> str:
    """What it takes and is not there, in a line; "" where all is."""
    if find_spec("pinocchio") is None:
        return "no Pinocchio"
    if shutil.which("g++") is None:
        return "no g++"
    if not (prefix() / "include" / "eigen3").is_dir():
        return "no headers of Eigen (cmeel-eigen)"
    return ""


@cache
def library() -> tuple[Any, float]:
    """The compiled functions, and the seconds that compiling took when it was done."""
    key = hashlib.sha256(" ".join([SOURCE.read_text(encoding="utf-8"), *FLAGS, str(prefix())]).encode()).hexdigest()
    file = Path(sys.prefix) / f"pinocchio_runs-{key[:16]}.so"
    clock = file.with_suffix(".seconds")
    if not clock.exists():
        began, headers = time.perf_counter(), prefix() / "include"
        command = ["g++", *FLAGS, f"-I{headers}", f"-I{headers / 'eigen3'}", str(SOURCE), "-o", str(file)]
        subprocess.run(command, check=True, capture_output=True)
        clock.write_text(str(time.perf_counter() - began), encoding="utf-8")
    found = ctypes.CDLL(str(file))
    for name, arguments in ARGUMENTS.items():
        function = getattr(found, name)
        function.argtypes = arguments
        function.restype = {"made": POINTER, "adaptive": INT, "many": INT}.get(name)
    return found, float(clock.read_text(encoding="utf-8"))


class Runs:
    """A tree (`pinocchio_systems.System`) on the side of C++."""

    def __init__(self, task: Task, system: Any):
        self.lib, self.task = library()[0], task
        self.q, self.v = plain(system.q), plain(system.v)
        model, joints = system.model, range(1, system.model.njoints)
        bodies = [[b.mass, *b.lever, *b.inertia.ravel()] for b in list(model.inertias)[1:]]
        alone = {i: pinocchio_systems.kind(system.axes[i - 1], True) for i in system.mimics}  # before they follow
        kinds = "".join(letter(alone.get(i, model.joints[i]).shortname()) for i in joints)
        followed = [system.mimics.get(i, (0, 0.0, 0.0)) for i in joints]
        ends = [[body + 1 for body in rope.bodies] for rope in system.ropes]
        ropes = [[*np.ravel(rope.points), rope.stiffness, rope.length] for rope in system.ropes]
        tip = model.frames[system.tip]
        self.tree = self.lib.made(
            len(joints), whole(list(model.parents)[1:]), kinds.encode(), plain(system.axes),
            plain([model.jointPlacements[i].homogeneous for i in joints]), plain(bodies), plain(model.armature),
            plain(model.gravity.linear), plain(system.K), plain(system.D), plain(system.B), plain(system.R),
            system.B.shape[1], tip.parentJoint, plain(tip.placement.translation),
            whole([leader for leader, *_ in followed]), plain([gear for _, *gear in followed]), len(ropes), whole(ends),
            plain(ropes),
        )  # fmt: skip
        self.steps = (len(task.jumps), plain(task.jumps), plain(task.torques))

    def __del__(self) -> None:
        self.lib.ended(self.tree)

    def fixed(self, order: int, count: int) -> Array:
        """Steps of one length; the sampled law where there is one."""
        task, h = self.task, self.task.until / count
        out, hold = np.empty((task.intervals + 1, 3)), round(PERIOD / h) if task.feedback else 0
        every = count // task.intervals
        self.lib.fixed(self.tree, order, self.q, self.v, h, count, every, hold, *GAINS, *self.steps, out)
        return out

    def adaptive(self, rtol: float) -> Array | None:
        """Steps by tolerance, anew where the torques jump."""
        task, out = self.task, np.empty((self.task.intervals + 1, 3))
        done = self.lib.adaptive(
            self.tree, self.q, self.v, task.until, rtol, 1e-2 * rtol, *self.steps, *coefficients(),
            len(task.times), plain(task.times), out,
        )  # fmt: skip
        return out if done else None

    def many(self, order: int, count: int, rtol: float) -> Array | None:
        """A thousand runs on all cores, of so many steps, or by tolerance where count is 0."""
        task, out = self.task, np.empty((len(self.task.q0), 3))
        done = self.lib.many(
            self.tree, len(task.q0), order, plain(task.q0), plain(task.qd0), task.until, count, rtol, 1e-2 * rtol,
            *coefficients(), out,
        )  # fmt: skip
        return out if done else None


def letter(kind: str) -> str:
    """Of a joint's model, as `made` reads it."""
    if kind.endswith("Unaligned"):
        return {"JointModelRevoluteUnaligned": "R", "JointModelPrismaticUnaligned": "P"}[kind]
    return {
        "JointModelRX": "X",
        "JointModelRY": "Y",
        "JointModelRZ": "Z",
        "JointModelFreeFlyer": "F",
        "JointModelSpherical": "S",
    }[kind]


def whole(values: Any) -> Array:
    """Return integers as C reads them."""
    return np.ascontiguousarray(values, dtype=np.intc)


def plain(values: Any) -> Array:
    """As C reads it."""
    return np.ascontiguousarray(values, dtype=float)


@cache
def coefficients() -> tuple[Array, ...]:
    """SciPy's, of DOP853: A, B, E3, E5, D."""
    from scipy.integrate import DOP853
    from scipy.integrate._ivp import dop853_coefficients as table

    return tuple(plain(x) for x in (table.A, DOP853.B, DOP853.E3, DOP853.E5, DOP853.D))


def run(task: Task, runs: Runs, method: str, number: float) -> Array | None:
    """DOP853, or steps of one length of the order that "RK4" and the like end with."""
    by_tolerance = method == "DOP853"
    order = 4 if by_tolerance else int(method[-1])
    if task.many:
        return runs.many(order, *((0, number) if by_tolerance else (int(number), 0.0)))
    return runs.adaptive(number) if by_tolerance else runs.fixed(order, int(number))


def lines(method: str, more: bool = False) -> int:
    """Return the number of lines of C++ that a method needs, without empty lines, comments and the calls from Python.

    `more` adds the lines for cables and ball joints.
    """
    steps, others, adaptive, _ = SOURCE.read_text(encoding="utf-8").split("\n// -- ")
    rows = [row.strip() for row in (steps + others * more + adaptive * (method == "DOP853")).splitlines()]
    return len([row for row in rows if row and not row.startswith("//")])
