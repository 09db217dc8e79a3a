"""Exported controllers, compiled and called from Python as a board would call them."""

import ctypes

import numpy as np
from compiled import built

import flexarm as fa
from flexarm.exports.controller.library import c_controller

MISSING, INVALID, LATE, FAULT, SAFE = 1, 2, 4, 8, 16
PEDANTIC = ["-Wpedantic", "-Wundef", "-Wvla", "-Wstrict-prototypes"]


class Compiled:
    """A controller's library in a folder; `memory` bytes are its only memory."""

    def __init__(self, board, folder, level="-O1", more=()):
        self.board, name = board, board.name
        folder.mkdir(exist_ok=True)
        for file, text in c_controller(board).items():
            (folder / file).write_text(text, encoding="utf-8")
        (folder / "size.c").write_text(
            f'#include "{name}.h"\nsize_t size(void);\nsize_t size(void) {{ return sizeof({name}); }}\n'
        )
        path = built(folder, f"{name}.c", "size.c", shared="board.so", level=level, more=[*PEDANTIC, *more])
        self._library = ctypes.CDLL(str(path))
        real = {"double": ctypes.c_double, "float": ctypes.c_float}[board.real]
        k, m = len(board.inputs.names), len(board.model.inputs)

        class In(ctypes.Structure):
            _fields_ = [*([("y", real * k)] if k else []), ("fresh", ctypes.c_uint32)]

        class Out(ctypes.Structure):
            _fields_ = [("u", real * m), ("status", ctypes.c_uint32)]

        self._library.size.restype = ctypes.c_size_t
        self.memory = ctypes.create_string_buffer(self._library.size())
        self._in, self._out = In, Out
        self._step = getattr(self._library, f"{name}_step")
        self._step.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p]
        self.call("init")

    def call(self, what):
        """init or reset."""
        getattr(self._library, f"{self.board.name}_{what}")(self.memory)

    def step(self, y, time, fresh=1):
        """u and status; no readings at all if y is None."""
        out = self._out()
        given = None
        if y is not None:
            given = self._in()
            given.fresh = fresh
            for i, value in enumerate(y):
                given.y[i] = value
        self._step(self.memory, ctypes.byref(given) if given else None, time, ctypes.byref(out))
        return np.array(out.u), out.status


def loop(board, call, count, q0, qd0, steps=1):
    """States at `count` samples and the inputs from there on, of an arm under u = call(y, k)."""
    model, period = board.model, board.feedback.period
    plant = fa.Stepper(model, period, q0=q0, qd0=qd0, method="rk4", step=period / steps)
    states, inputs, u = [], [], np.zeros(len(model.inputs))
    cuts, accelerates = np.cumsum([model.nq, model.nv]), board.inputs.measured.accelerates
    for k in range(count):
        q, qd, s = np.split(plant.state, cuts)
        qdd = model.forward_dynamics(q, qd, u) if accelerates else np.zeros(model.nv)
        y = np.array(board.inputs.measured.of(q, qd, s, qdd)).ravel()
        u = call(y, k)
        states.append(plant.state)
        inputs.append(u)
        plant.step(u)
    return np.array(states), np.array(inputs)
