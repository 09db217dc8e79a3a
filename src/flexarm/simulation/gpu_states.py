"""Quantities of a model at many states on a graphics processor, one state per thread."""

import json
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import Fault, choices, counted, refused, shown
from flexarm.errors import DescriptionError
from flexarm.model import ModelLike, as_model
from flexarm.model.varied import place
from flexarm.native import cuda
from flexarm.native.cache import read, write
from flexarm.native.cuda import Device, Launch
from flexarm.native.kernel import Kernel, file_name
from flexarm.native.nvptx import EACH, Entry, Precision, each, evaluate, evaluated, stored, straight
from flexarm.native.program import instructions
from flexarm.native.sincos import Real
from flexarm.native.verification import verify

TYPES = {"double": np.float64, "float": np.float32, "mixed": np.float64}
"""Types of the numbers in memory."""


def program(kernel: Kernel, real: Precision) -> tuple[str, Callable[[], list[str]]]:
    """Return a kernel for many states as `cuda.Device.kernel` takes it: key and parts."""

    def parts() -> list[str]:
        from flexarm.native.translate import ir_of

        code = instructions(kernel.trace())
        try:
            return [
                straight(code, len(code), evaluated(real), memory=stored(real)),
                ir_of(each, real=stored(real), elsewhere=(evaluate,)),
            ]
        except NotImplementedError as error:
            raise DescriptionError(f"device is 'gpu'; {error}") from None

    return f"each\n{kernel.key}\n{real}", parts


def beside(kernel: Kernel | None, name: str, real: Real) -> str:
    """Return the code of a kernel with this name, which the runs call, or of nothing."""
    if kernel is None:
        return straight([], 0, real, name)
    function = kernel.trace()
    return straight(instructions(function), function.nnz_in() - len(kernel.constants), real, name)


def verified(
    device: Device, kernel: Kernel, real: Precision, made: tuple[str, Callable[[], list[str]], Entry] | None = None
) -> Launch:
    """Return a kernel on a device for many states. It is checked once against CasADi's own evaluation.

    `made` replaces the program with one thread for each state.

    Raises
    ------
    NativeCodeError
        The device computes other values.
    """
    key, parts, entry = made or (*program(kernel, real), EACH)
    launch = device.kernel(key, parts, entry, stored(real))
    name = file_name(json.dumps(["verified", device.name, key, real]))
    if read(name) is None:

        def call(x: Array) -> Array:
            return launched(device, launch, x, kernel.code.facts["n_out"], real)

        verify(kernel.trace(), call, f"{device.name} ({real})", evaluated(real))
        write(name, b"verified")
    return launch


def launched(device: Device, launch: Launch, x: Array, n_out: int, real: Precision) -> Array:
    """Return the values of a kernel at many states as doubles: (N, n_in) -> (N, n_out)."""
    y = np.empty((n_out, len(x)), dtype=TYPES[real])
    given, found = device.put(np.ascontiguousarray(x.T, dtype=TYPES[real])), device.room(y)
    launch(len(x), [given, given, found], [len(x)])
    device.get(found, y)
    return y.T.astype(float)


def evaluate_on_gpu(
    model: ModelLike,
    name: str,
    *values: Any,
    p: Any = None,
    s: Any = None,
    w: Any = None,
    real: Literal["double", "float"] = "double",
) -> Array:
    """Evaluate a quantity of a model at N states on a graphics processor.

    Parameters
    ----------
    model : Model, Arm, str or path
    name : str
        Name of the quantity, as "forward_dynamics".
    values : (N, n) or (n,) each
        Its arguments in the order of `model.arguments(name)`, except s and w: as q, qd, u.
    p : (k,) or (N, k), optional
        Parameters, where the model varies.
    s, w : (N, k) or (k,), optional
        States of drives and exogenous inputs; default zero.
    real : "double" or "float"
        Precision of the computation: numbers of 64 or of 32 bits.

    Returns
    -------
    (N, ...) of doubles

    Raises
    ------
    DescriptionError
        There is no graphics processor, or an argument is not valid.
    NativeCodeError
        The graphics processor computes wrong values of this quantity. They are checked once.
    """
    with refused("evaluate_on_gpu"):
        model = as_model(model)
        if not isinstance(real, str) or real not in ("double", "float"):
            raise Fault("real", f"is {shown(real)}; it must be {choices('double', 'float')}")
    names = model.arguments(name)
    few = [a for a in names if a not in ("s", "w")]
    if len(values) != len(few):
        raise DescriptionError(f"evaluate_on_gpu: {name} takes {', '.join(few)}, not {counted(len(values), 'value')}")
    given = {**dict(zip(few, values, strict=True)), **{a: x for a, x in (("s", s), ("w", w)) if x is not None}}
    rows = {a: np.atleast_2d(model.argument(a, x)) for a, x in given.items()}
    at = None if p is None else np.atleast_2d(model.parameter_values(p))
    counts = {len(x) for x in (*rows.values(), *([] if at is None else [at]))} - {1} or {1}
    if len(counts) > 1 or any(x.ndim != 2 for x in rows.values()):
        shapes = ", ".join(f"{a} {x.shape}" for a, x in rows.items())
        raise DescriptionError(f"evaluate_on_gpu: the arguments are for different numbers of states: {shapes}")
    count = counts.pop()
    first = {a: x[0] for a, x in rows.items()}
    more = {a: first[a] for a in ("s", "w") if a in first}
    one = model.evaluate(name, *(first[a] for a in few), p=None if at is None else at[0], **more)
    device, kernel = cuda.device(), model.kernel(name)
    rest = {"s": np.zeros((1, len(model.states))), "w": np.zeros((1, len(model.exogenous)))}
    columns = [{**rest, **rows}[a] for a in names]
    constants = kernel.constants_of(at) if at is not None else kernel.constants[None]
    columns.insert(place(names), constants)
    x = np.concatenate([np.broadcast_to(each, (count, each.shape[1])) for each in columns], axis=1)
    launch = verified(device, kernel, real)
    return launched(device, launch, x, one.size, real).reshape(count, *one.shape)
