"""The native code around a kernel that does not depend on the arm: right-hand side, tabulated inputs, fixed steps.

All of it works on a `Plan`, a block of 8-byte words that native code and Python share while a run goes on.
"""

import ctypes  # noqa: TID251  (calls what was compiled here)
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

import numpy as np

from flexarm.native.kernel import Address, Source, code
from flexarm.native.once import Once

WORDS = ("rate", "stage", "data", "time", "last", "stop", "evaluations", "states", "integrated", "buffer")
"""Addresses of the kernel, of the input stage and its data; what native code reports and heeds; sizes; scratch."""

DIVERGED = 1e12
"""A coordinate or a rate beyond this, in SI units, is no motion."""

RHS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
EVALUATE_STAGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@final
class Plan:
    """What a right-hand side needs beside t and x: the kernel `rate` (x, u) -> (dx, powers), and where u comes from.

    The buffer holds (t, x, u). Before each evaluation the stage, `void stage(ptr buffer, ptr u, ptr data)`, may write
    u; a constant input has a stage that does nothing, its u standing in the buffer.
    """

    def __init__(self, rate: Address, states: int, inputs: int, powers: int, held: Any = None):
        self._rate = held  # the code of the rate, alive as long as a thread may call it
        self._words = np.zeros(len(WORDS), dtype=np.int64)
        self._times = self._words.view(np.float64)
        self.states = states
        self.buffer = np.zeros(1 + states + inputs)
        self.u = self.buffer[1 + states :]
        self._set("rate", rate)
        self._set("states", states)
        self._set("integrated", states + powers)
        self._set("buffer", self.buffer.ctypes.data)
        self.end(np.inf)
        self._held: Any = None
        self.failure: BaseException | None = None
        """What Python code called from within the run raised; it cannot pass through native code."""

    def _set(self, word: str, value: int) -> None:
        self._words[WORDS.index(word)] = value

    @property
    def address(self) -> Address:
        """Where the plan lies."""
        return self._words.ctypes.data

    @property
    def time(self) -> float:
        """The time last evaluated [s]."""
        return float(self._times[WORDS.index("time")])

    @property
    def evaluations(self) -> int:
        """Right-hand sides so far."""
        return int(self._words[WORDS.index("evaluations")])

    @property
    def stopped(self) -> bool:
        """Whether the run was told to stop."""
        return bool(self._words[WORDS.index("stop")])

    def stop(self) -> None:
        """From now on every rate is NaN, on which any solver gives up."""
        self._set("stop", 1)

    def resume(self) -> None:
        """Rates are what they are again."""
        self._set("stop", 0)

    def end(self, t: float) -> None:
        """The stretch ends at t: an input is asked about times before it alone, so that it is seen from the left."""
        self._times[WORDS.index("last")] = np.nextafter(t, -np.inf)

    def feed(self, stage: Address, data: Address = 0, held: Any = None) -> None:
        """Take u from a stage; `held` is what must stay alive for it."""
        self._set("stage", stage)
        self._set("data", data)
        self._held = held


loops = Once(lambda: code("loops", ("rhs", "nothing", "table", "rk4"), (), lambda: Source(_module())))
"""Machine code of `rhs`, `nothing`, `table` and `rk4`, one for the process."""


def cubic_table(breaks: np.ndarray, coefficients: np.ndarray) -> tuple[np.ndarray, Any]:
    """Data for the stage `table`: u_c(t) = sum_p coefficients[i, c, p] (t - breaks[i])^(3 - p) in interval i.

    breaks (intervals + 1,), coefficients (intervals, m, 4). Outside the breaks the first or last cubic goes on.
    """
    breaks, coefficients = np.ascontiguousarray(breaks), np.ascontiguousarray(coefficients)
    addresses = (breaks.ctypes.data, coefficients.ctypes.data)
    words = np.array([*coefficients.shape[:2], *addresses], dtype=np.int64)
    return words, (words, breaks, coefficients)


def _module() -> str:
    from llvmlite import ir

    module = ir.Module("loops")
    i64, double, pointer, void = ir.IntType(64), ir.DoubleType(), ir.PointerType(), ir.VoidType()

    def define(name: str, *kinds: Any) -> tuple[Any, Any, list]:
        function = ir.Function(module, ir.FunctionType(void, kinds), name)
        return function, ir.IRBuilder(function.append_basic_block()), list(function.args)

    def at(b: Any, base: Any, index: Any) -> Any:
        """Address of the index-th 8-byte word."""
        index = i64(index) if isinstance(index, int) else index
        return b.gep(base, [index], source_etype=i64)

    def word(b: Any, plan: Any, name: str, kind: Any = i64) -> Any:
        return b.load(at(b, plan, WORDS.index(name)), typ=kind)

    @contextmanager
    def repeat(b: Any, count: Any) -> Iterator[Any]:
        """A loop over 0 .. count - 1, entered at least once."""
        before, body = b.block, b.append_basic_block()
        after = b.append_basic_block()
        b.branch(body)
        b.position_at_end(body)
        i = b.phi(i64)
        i.add_incoming(i64(0), before)
        yield i
        following = b.add(i, i64(1))
        i.add_incoming(following, b.block)
        b.cbranch(b.icmp_signed("<", following, count), body, after)
        b.position_at_end(after)

    # void rhs(dy, t, y, args, unused): args points at the plan's address
    rhs, b, (dy, t, y, args, _) = define("rhs", pointer, double, pointer, pointer, pointer)
    plan = b.load(args, typ=pointer)
    b.store(t, at(b, plan, WORDS.index("time")))
    count = b.add(word(b, plan, "evaluations"), i64(1))
    b.store(count, at(b, plan, WORDS.index("evaluations")))
    buffer, states = word(b, plan, "buffer", pointer), word(b, plan, "states")
    last = word(b, plan, "last", double)
    b.store(b.select(b.fcmp_ordered("<", t, last), t, last), buffer)
    x = at(b, buffer, 1)
    with repeat(b, states) as i:
        b.store(b.load(at(b, y, i), typ=double), at(b, x, i))
    u = at(b, x, states)
    stage_type = ir.FunctionType(void, [pointer, pointer, pointer])
    rate_type = ir.FunctionType(void, [pointer, pointer])
    b.call(_Callee(word(b, plan, "stage", pointer), stage_type), [buffer, u, word(b, plan, "data", pointer)])
    b.call(_Callee(word(b, plan, "rate", pointer), rate_type), [x, dy])
    with b.if_then(b.icmp_signed("!=", word(b, plan, "stop"), i64(0))), repeat(b, word(b, plan, "integrated")) as i:
        b.store(double(float("nan")), at(b, dy, i))
    b.ret_void()

    # void nothing(buffer, u, data): u stays
    _, b, _ = define("nothing", pointer, pointer, pointer)
    b.ret_void()

    # void table(buffer, u, data): the cubic of the interval that holds t, found by halving
    function, b, (buffer, u, data) = define("table", pointer, pointer, pointer)
    t = b.load(buffer, typ=double)
    intervals, inputs = (b.load(at(b, data, k), typ=i64) for k in (0, 1))
    breaks, coefficients = (b.load(at(b, data, k), typ=pointer) for k in (2, 3))
    first, halve, found = b.block, b.append_basic_block(), b.append_basic_block()
    b.branch(halve)
    b.position_at_end(halve)
    low, high = b.phi(i64), b.phi(i64)
    low.add_incoming(i64(0), first)
    high.add_incoming(intervals, first)
    middle = b.lshr(b.add(low, high), i64(1))
    right = b.fcmp_ordered(">=", t, b.load(at(b, breaks, middle), typ=double))
    new_low, new_high = b.select(right, middle, low), b.select(right, high, middle)
    low.add_incoming(new_low, halve)
    high.add_incoming(new_high, halve)
    b.cbranch(b.icmp_signed(">", b.sub(new_high, new_low), i64(1)), halve, found)
    b.position_at_end(found)
    interval = b.phi(i64)
    interval.add_incoming(new_low, halve)
    s = b.fsub(t, b.load(at(b, breaks, interval), typ=double))
    row = at(b, coefficients, b.mul(b.mul(interval, inputs), i64(4)))
    with repeat(b, inputs) as i:
        cubic = at(b, row, b.mul(i, i64(4)))
        value = b.load(cubic, typ=double)
        for p in (1, 2, 3):
            value = b.fadd(b.fmul(value, s), b.load(at(b, cubic, p), typ=double))
        b.store(value, at(b, u, i))
    b.ret_void()

    # void rk4(plan address holder, y, work, t0, h, steps): y is advanced in place; work holds 5 vectors
    function, b, (args, y, work, t0, h, steps) = define("rk4", pointer, pointer, pointer, double, double, i64)
    plan = b.load(args, typ=pointer)
    size = word(b, plan, "integrated")
    k = [at(b, work, b.mul(size, i64(j))) for j in range(4)]
    trial = at(b, work, b.mul(size, i64(4)))
    none = ir.Constant(pointer, None)
    half = b.fmul(h, double(0.5))
    with repeat(b, steps) as step:
        t = b.fadd(t0, b.fmul(b.sitofp(step, double), h))
        b.call(rhs, [k[0], t, y, args, none])
        for j, (advance, time) in enumerate(((half, half), (half, half), (h, h)), start=1):
            with repeat(b, size) as i:
                slope = b.load(at(b, k[j - 1], i), typ=double)
                b.store(b.fadd(b.load(at(b, y, i), typ=double), b.fmul(advance, slope)), at(b, trial, i))
            b.call(rhs, [k[j], b.fadd(t, time), trial, args, none])
        with repeat(b, size) as i:
            slopes = [b.load(at(b, k[j], i), typ=double) for j in range(4)]
            ends, middles = b.fadd(slopes[0], slopes[3]), b.fadd(slopes[1], slopes[2])
            mean = b.fdiv(b.fadd(ends, b.fadd(middles, middles)), double(6.0))
            b.store(b.fadd(b.load(at(b, y, i), typ=double), b.fmul(h, mean)), at(b, y, i))
    b.ret_void()
    return str(module)


class _Callee:
    """A loaded address that can be called, with the function type that llvmlite asks for; a pointer tells none."""

    def __init__(self, address: Any, function_type: Any):
        self.type, self.get_reference, self.function_type = address.type, address.get_reference, function_type
