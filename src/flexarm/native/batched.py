"""Translation of functions of one run to LLVM IR for `LANES` runs at once, each with its own numbers and decisions.

The functions are those that `translate` compiles for a single run. Here a `float` is a vector with one number per run.
Where runs take different branches, all branches are executed, and a mask selects the runs that a statement belongs to:
stores, assignments and returns have no effect on the others. A loop ends when it has ended for every run. (Pharr &
Mark, ispc: A SPMD Compiler for High-Performance CPU Programming, 2012.)

In memory, each number of an array is `LANES` consecutive numbers, one per run. There are these exceptions:

- `Shared` arrays have the same numbers for all runs, and integers in records are common, unless they are `Each`.
- A field `float` or `Each` of a record is the address of one number per run.
- A record of a class `apart` belongs to one run. A field with such a record is the address of `LANES` addresses.

Kernels that are called by `call` process `LANES` states, including those of runs that wait. The counter of a loop, and
other integers that are the same in all runs, are single integers.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import fields
from typing import Any, final, get_args

from llvmlite import ir

from flexarm.native.calls import LANES
from flexarm.native.language import Each, Floats, Shared, SharedWords, Words
from flexarm.native.translate import (
    ARITHMETIC,
    BIT,
    COMPARISONS,
    DOUBLE,
    FAST,
    I64,
    POINTER,
    VOID,
    _Callee,
    _Module,
    _Pointer,
    _Translation,
)

NUMBERS, WHOLE, MASK = (ir.VectorType(kind, LANES) for kind in (DOUBLE, I64, BIT))
"""One number, integer or bit per run."""

I32 = ir.IntType(32)
EVERY = MASK([1] * LANES)
NO_RUN = MASK([0] * LANES)
VECTORS = {DOUBLE: NUMBERS, I64: WHOLE, BIT: MASK}
ARRAYS: dict[Any, tuple[Any, bool]] = {
    Floats: (DOUBLE, False),
    Words: (I64, False),
    Shared: (DOUBLE, True),
    SharedWords: (I64, True),
}
"""The numbers of an array in a record, and whether all runs have the same."""
EXITS = ast.Return, ast.Break, ast.Continue


class _Varying(Exception):
    """A variable turns out to differ between runs."""


@final
class _Address(_Pointer):
    """An address of an array or a record.

    Attributes
    ----------
    shared : bool
        True if all runs have the same numbers.
    step : int
        Distance of two numbers [bytes] if `address` has one address per run.
    """

    def __init__(self, address: Any, kind: Any, shared: bool = False, step: int = 0):
        super().__init__(address, kind)
        self.shared, self.step = shared, step

    @property
    def form(self) -> Any:
        """Everything except the address."""
        kind = tuple(self.kind) if isinstance(self.kind, list) else self.kind
        return kind, self.shared, self.step


@final
class _Batch(_Module):
    """The functions of a module, for each kind of arguments with which they are called."""

    def __init__(self, apart: tuple[type, ...]):
        super().__init__("double", False, {})
        self.apart = apart
        self.made: dict[Any, ir.Function] = {}

    def of(self, function: Callable[..., Any], forms: list[Any]) -> ir.Function:
        """Return a function for arguments of these forms: types of numbers, or forms of addresses."""
        key = function, *forms
        if key not in self.made:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
            assert isinstance(tree, ast.FunctionDef)
            kinds = [form if isinstance(form, ir.Type) else WHOLE if form[2] else POINTER for form in forms]
            value = {"None": VOID, "int": WHOLE, "float": NUMBERS}[ast.unparse(tree.returns) if tree.returns else ""]
            name = f"{function.__name__}.{len(self.made)}"
            self.made[key] = ir.Function(self.ir, ir.FunctionType(value, [*kinds, MASK]), name)
            names: set[str] = set()
            while True:
                made = self.made[key]
                made.blocks.clear()
                try:
                    _Translated(self, function, tree, made, forms, names)
                    break
                except _Varying as found:
                    names |= {*found.args}
        return self.made[key]

    def entry(self, function: Callable[..., Any]) -> None:
        """Export a function of one record, which all runs execute."""
        (record,) = (function.__annotations__[name] for name in function.__annotations__ if name != "return")
        made = ir.Function(self.ir, ir.FunctionType(VOID, [POINTER]), function.__name__)
        b = ir.IRBuilder(made.append_basic_block())
        b.call(self.of(function, [_Address(None, record).form]), [made.args[0], EVERY])
        b.ret_void()

    def intrinsic(self, name: str, value: Any, kinds: list[Any]) -> ir.Function:
        """Return an intrinsic function of LLVM."""
        known = self.ir.globals.get(name)
        return known or ir.Function(self.ir, ir.FunctionType(value, kinds), name)


def ir_of_batches(*functions: Callable[..., Any], apart: tuple[type, ...] = ()) -> str:
    """Return the LLVM IR of functions of one record, for `LANES` runs at once."""
    module = _Batch(apart)
    for function in functions:
        module.entry(function)
    return str(module.ir)


@final
class _Translated(_Translation):
    """Translation of one function."""

    module: _Batch

    def __init__(
        self,
        module: _Batch,
        function: Callable[..., Any],
        tree: ast.FunctionDef,
        made: ir.Function,
        forms: list[Any],
        varying: set[str],
    ):
        self.module, self.globals, self.real = module, function.__globals__, DOUBLE
        self.function, self.varying = made, varying
        self.entry = ir.IRBuilder(made.append_basic_block("entry"))
        self.b = ir.IRBuilder(made.append_basic_block("body"))
        self.names: dict[str, Any] = {}
        self.forms: dict[str, Any] = {}
        self.lane = ""
        self.where: dict[str, int] = {}  # context in which a variable was first assigned
        self.context, self.contexts = 0, 0
        self.mask, self.returned = self.entry.alloca(MASK), self.entry.alloca(MASK)
        self.ended: list[tuple[Any, Any]] = []  # runs that have left the present loop, or its present round
        self.entry.store(made.args[-1], self.mask)
        self.entry.store(NO_RUN, self.returned)
        self.result = None if made.ftype.return_type == VOID else self.entry.alloca(made.ftype.return_type)
        for argument, value, form in zip(tree.args.args, made.args, forms, strict=False):
            if isinstance(form, ir.Type):
                self.put(argument.arg, value)
            else:
                kind = list(form[0]) if isinstance(form[0], tuple) else form[0]
                self.put(argument.arg, _Address(value, kind, *form[1:]))
        body = self.b.block
        self.statements(tree.body)
        if self.result is None:
            self.b.ret_void()
        else:
            self.b.ret(self.b.load(self.result, typ=self.result.allocated_type))
        self.entry.branch(body)

    # -- masks

    @property
    def now(self) -> Any:
        """Runs that execute the present statement."""
        return self.b.load(self.mask, typ=MASK)

    def any(self, mask: Any) -> Any:
        return self.b.icmp_unsigned("!=", self.b.bitcast(mask, ir.IntType(LANES)), ir.IntType(LANES)(0))

    def on(self, mask: Any) -> None:
        self.b.store(mask, self.mask)

    def without(self, mask: Any, *places: Any) -> Any:
        """Return a mask without runs in these places."""
        for place in places:
            mask = self.b.and_(mask, self.b.not_(self.b.load(place, typ=MASK)))
        return mask

    def add(self, place: Any) -> None:
        """Add the present runs to a place, and leave none."""
        self.b.store(self.b.or_(self.b.load(place, typ=MASK), self.now), place)
        self.on(NO_RUN)

    def left(self, before: Any) -> Any:
        """Return the runs of a mask that continue after a statement."""
        return self.without(before, self.returned, *(self.ended[-1] if self.ended else ()))

    def block(self) -> Any:
        return self.function.append_basic_block()

    def inside(self, mask: Any, body: list[ast.stmt]) -> None:
        """Translate statements for some of the runs, which are skipped if there are none."""
        some, after, outer = self.block(), self.block(), self.context
        self.on(mask)
        self.b.cbranch(self.any(mask), some, after)
        self.b.position_at_end(some)
        self.contexts += 1
        self.context = self.contexts
        self.statements(body)
        self.context = outer
        self.b.branch(after)
        self.b.position_at_end(after)

    # -- statements

    def statements(self, body: list[ast.stmt]) -> None:
        for i, statement in enumerate(body):
            getattr(self, f"on_{type(statement).__name__}")(statement)
            rest = body[i + 1 :]
            if rest and any(isinstance(each, EXITS) for each in ast.walk(statement)):
                some, after = self.block(), self.block()
                self.b.cbranch(self.any(self.now), some, after)
                self.b.position_at_end(some)
                self.statements(rest)
                self.b.branch(after)
                self.b.position_at_end(after)
                return

    def on_If(self, s: ast.If) -> None:
        test, before = self.condition(s.test), self.now
        if test.type == BIT:
            yes, no, after = self.block(), self.block(), self.block()
            self.b.cbranch(test, yes, no)
            for block, body in ((yes, s.body), (no, s.orelse)):
                self.b.position_at_end(block)
                self.statements(body)
                self.b.branch(after)
            self.b.position_at_end(after)
            return
        self.inside(self.b.and_(before, test), s.body)
        if s.orelse:
            self.inside(self.b.and_(before, self.b.not_(test)), s.orelse)
        self.on(self.left(before))

    def on_While(self, s: ast.While) -> None:
        def going(before: Any, gone: Any) -> tuple[Any, bool]:
            test = self.condition(s.test)
            if test.type == BIT:
                return test, False
            self.b.store(self.b.or_(self.b.load(gone, typ=MASK), self.b.and_(self.now, self.b.not_(test))), gone)
            self.on(self.b.and_(self.now, test))
            return self.any(self.now), True

        self.looped(s, going, lambda: None)

    def on_For(self, s: ast.For) -> None:
        assert isinstance(s.iter, ast.Call) and isinstance(s.target, ast.Name) and not s.orelse
        bounds = [self.value(a) for a in s.iter.args]
        start, stop = (I64(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else I64(1)
        down = isinstance(step, ir.Constant) and step.constant < 0
        assert I64 == (stop.type if down else start.type), "runs may differ in the largest value of a counter alone"
        first, last, counter = start, stop, self.entry.alloca(I64)
        own = None  # largest value of each run
        if start.type == WHOLE:
            own, first = start, self.most(start)
        elif stop.type == WHOLE:
            own, last = self.b.sub(stop, self.like(WHOLE, I64(1))), self.most(stop)
        self.b.store(first, counter)
        self.names[s.target.id], self.where[s.target.id] = (counter, I64, None), self.context

        def going(before: Any, gone: Any) -> tuple[Any, bool]:
            i = self.b.load(counter, typ=I64)
            found = self.b.icmp_signed(">" if down else "<", i, last)
            if own is not None:
                self.on(self.b.and_(self.now, self.b.icmp_signed("<=", self.like(WHOLE, i), own)))
            return found, own is not None

        self.looped(s, going, lambda: self.b.store(self.b.add(self.b.load(counter, typ=I64), step), counter))

    def most(self, numbers: Any) -> Any:
        """Return the largest integer of the present runs."""
        some = self.b.select(self.now, numbers, self.like(WHOLE, I64(-(2**62))))
        return self.b.call(self.module.intrinsic(f"llvm.vector.reduce.smax.v{LANES}i64", I64, [WHOLE]), [some])

    def looped(
        self, s: ast.While | ast.For, going: Callable[[Any, Any], tuple[Any, bool]], following: Callable[[], None]
    ) -> None:
        """Translate a loop. `going` begins a round: it selects its runs, and returns whether there is a round."""
        head, body, after = self.block(), self.block(), self.block()
        exits = any(isinstance(each, EXITS) for part in s.body for each in ast.walk(part))
        before, gone, skipped, outer = self.now, self.entry.alloca(MASK), self.entry.alloca(MASK), self.context
        self.b.store(NO_RUN, gone)
        self.b.branch(head)
        self.b.position_at_end(head)
        self.b.store(NO_RUN, skipped)
        self.on(self.without(before, self.returned, gone))
        found, partly = going(before, gone)
        waits = any(isinstance(each, ast.Break | ast.Continue) for part in s.body for each in ast.walk(part))
        if partly or waits:
            self.contexts += 1
            self.context = self.contexts
        if exits:
            found = self.b.and_(found, self.any(self.now))
        self.b.cbranch(found, body, after)
        self.b.position_at_end(body)
        self.ended.append((gone, skipped))
        self.statements(s.body)
        self.ended.pop()
        following()
        self.b.branch(head)
        self.context = outer
        self.b.position_at_end(after)
        self.on(self.left(before))

    def on_Break(self, s: ast.Break) -> None:
        self.add(self.ended[-1][0])

    def on_Continue(self, s: ast.Continue) -> None:
        self.add(self.ended[-1][1])

    def on_Return(self, s: ast.Return) -> None:
        if s.value is not None and self.result is not None:
            kind = self.result.allocated_type
            value = self.like(kind, self.value(s.value))
            old = self.b.load(self.result, typ=kind)
            self.b.store(self.b.select(self.now, value, old), self.result)
        self.add(self.returned)

    def on_AugAssign(self, s: ast.AugAssign) -> None:
        if isinstance(s.target, ast.Name):
            self.put(s.target.id, self.binary(s.op, self.get(s.target.id), self.value(s.value)))
            return
        place = self.place(s.target)
        old = self.loaded(place)
        self.stored(place, self.binary(s.op, old, self.value(s.value)), old)

    # -- names

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.put(target.id, value)
        else:
            self.stored(self.place(target), value)

    def put(self, name: str, value: Any) -> None:
        """Store the value of a name. A name that differs between runs once always does."""
        if isinstance(value, _Address):
            if name not in self.names:
                kind = WHOLE if value.step else POINTER
                self.names[name], self.forms[name] = (self.entry.alloca(kind), kind, value.kind), value.form
            assert self.forms[name] == value.form, "an address has one kind"
            self.b.store(value.address, self.names[name][0])
            return
        first = name not in self.names
        if first:
            kind = VECTORS[value.type] if name in self.varying and value.type in VECTORS else value.type
            self.names[name], self.where[name] = (self.entry.alloca(kind), kind, None), self.context
        place, kind, _ = self.names[name]
        if kind not in VECTORS.values() and (value.type != kind or self.where[name] != self.context):
            raise _Varying(name)
        value = self.like(kind, value)
        if kind in VECTORS.values() and self.context > 0:
            value = self.b.select(self.now, value, self.b.load(place, typ=kind))
        self.b.store(value, place)

    def get(self, name: str) -> Any:
        if name in self.names:
            place, kind, pointed = self.names[name]
            value = self.b.load(place, typ=kind)
            if pointed is not None:
                return _Address(value, pointed, *self.forms[name][1:])
            return value
        value = self.globals[name]
        return I64(value) if isinstance(value, int) else DOUBLE(value) if isinstance(value, float) else value

    # -- places in memory

    def place(self, e: ast.expr) -> tuple[Any, Any]:
        """Return the address of a number, or that of each run, and its kind."""
        if isinstance(e, ast.Attribute):
            address, kind = self.field(e)
            return address, kind
        assert isinstance(e, ast.Subscript)
        base = self.value(e.value)
        assert isinstance(base, _Address)
        i = self.value(e.slice)
        if base.step or (i.type == WHOLE and not isinstance(base.kind, list)):
            at, step = self.of_each(base)
            offset = self.b.mul(self.like(WHOLE, i), self.like(WHOLE, I64(step)))
            return self.b.add(at, offset), VECTORS[base.kind]
        count = 1 if base.shared or isinstance(base.kind, list) else LANES
        plain = I64 if isinstance(base.kind, list) else base.kind
        address = self.b.gep(base.address, [self.b.mul(i, I64(count))], source_etype=plain)
        return address, base.kind if count == 1 else VECTORS[base.kind]

    def of_each(self, base: _Address) -> tuple[Any, int]:
        """Return the address of an array for each run, and the distance of two numbers [bytes]."""
        if base.step:
            return base.address, base.step
        start = self.like(WHOLE, self.b.ptrtoint(base.address, I64))
        if base.shared:
            return start, 8
        return self.b.add(start, WHOLE([8 * i for i in range(LANES)])), 8 * LANES

    def loaded(self, place: tuple[Any, Any]) -> Any:
        address, kind = place
        if address.type != WHOLE:
            return self.b.load(address, typ=kind, align=8)
        name = "f64" if kind == NUMBERS else "i64"
        pointers = ir.VectorType(POINTER, LANES)
        gather = self.module.intrinsic(
            f"llvm.masked.gather.v{LANES}{name}.v{LANES}p0", kind, [pointers, I32, MASK, kind]
        )
        return self.b.call(
            gather, [self.b.inttoptr(address, pointers), I32(8), self.now, self.like(kind, kind.element(0))]
        )

    def stored(self, place: tuple[Any, Any], value: Any, old: Any = None) -> None:
        address, kind = place
        value = self.like(kind, value)
        if address.type == WHOLE:
            name = "f64" if kind == NUMBERS else "i64"
            pointers = ir.VectorType(POINTER, LANES)
            kinds = [kind, pointers, I32, MASK]
            scatter = self.module.intrinsic(f"llvm.masked.scatter.v{LANES}{name}.v{LANES}p0", VOID, kinds)
            self.b.call(scatter, [value, self.b.inttoptr(address, pointers), I32(8), self.now])
            return
        if kind in VECTORS.values():
            old = self.b.load(address, typ=kind, align=8) if old is None else old
            value = self.b.select(self.now, value, old)
        self.b.store(value, address, align=8)

    def field(self, e: ast.Attribute) -> tuple[Any, Any]:  # type: ignore[override]
        """Return the place of a number in a record: its address or that of each run, and its kind."""
        base = self.value(e.value)
        word, kind = self.word(base, e.attr)
        assert kind in (int, float, Each), "arrays and records are not replaced"
        number = DOUBLE if kind is float else I64
        if base.step:
            return word, VECTORS[number]
        if kind is int:
            return word, I64
        return self.b.load(word, typ=POINTER), VECTORS[number]

    def word(self, base: Any, name: str) -> tuple[Any, Any]:
        """Return the address of a field's word, or that of each run, and the type of the field."""
        i, kind = next((i, f.type) for i, f in enumerate(fields(base.kind)) if f.name == name)
        if base.step:
            return self.b.add(base.address, self.like(WHOLE, I64(8 * i))), kind
        return self.b.gep(base.address, [I64(i)], source_etype=I64), kind

    def of_Attribute(self, e: ast.Attribute) -> Any:
        base = self.value(e.value)
        word, kind = self.word(base, e.attr)
        if kind in (int, float, Each):
            return self.loaded(self.field(e))
        step = base.step
        if step:
            address = self.loaded((word, WHOLE))
        else:
            address = self.b.load(word, typ=POINTER)
            if kind in self.module.apart:
                address, step = self.b.load(address, typ=WHOLE, align=8), 8
        if kind in ARRAYS:
            return _Address(address, *ARRAYS[kind], step)
        return _Address(address, list(get_args(kind)) or kind, False, step)

    def of_Subscript(self, e: ast.Subscript) -> Any:
        base = self.value(e.value)
        if isinstance(e.slice, ast.Slice):
            assert e.slice.lower is not None and e.slice.upper is None
            i = self.value(e.slice.lower)
            if base.step or i.type == WHOLE:
                at, step = self.of_each(base)
                offset = self.b.mul(self.like(WHOLE, i), self.like(WHOLE, I64(step)))
                return _Address(self.b.add(at, offset), base.kind, False, step)
            count = 1 if base.shared else LANES
            address = self.b.gep(base.address, [self.b.mul(i, I64(count))], source_etype=base.kind)
            return _Address(address, base.kind, base.shared)
        if isinstance(base.kind, list):
            return _Address(self.b.load(self.place(e)[0], typ=POINTER), base.kind[0])
        return self.loaded(self.place(e))

    # -- expressions

    def of_Compare(self, e: ast.Compare) -> Any:
        ((op,), (right,)) = e.ops, e.comparators
        x, y = self.alike(self.value(e.left), self.value(right))
        sign = COMPARISONS[type(op)]
        if x.type in (I64, WHOLE):
            return self.b.icmp_signed(sign, x, y)
        return self.b.fcmp_unordered(sign, x, y) if sign == "!=" else self.b.fcmp_ordered(sign, x, y)

    def condition(self, e: ast.expr) -> Any:
        """Return a bit, or one per run. A part of a condition is evaluated for the runs that depend on it."""
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            return self.b.not_(self.condition(e.operand))
        if not isinstance(e, ast.BoolOp):
            x = self.value(e)
            if x.type in (BIT, MASK):
                return x
            return self.b.icmp_signed("!=", x, x.type(0) if x.type == I64 else self.like(WHOLE, I64(0)))
        both, found = isinstance(e.op, ast.And), self.condition(e.values[0])
        for more in e.values[1:]:
            if found.type == BIT:
                evaluated, after, start = self.block(), self.block(), self.b.block
                self.b.cbranch(found, *((evaluated, after) if both else (after, evaluated)))
                self.b.position_at_end(evaluated)
                other = self.condition(more)
                end = self.b.block
                self.b.branch(after)
                self.b.position_at_end(after)
                phi = self.b.phi(other.type)
                phi.add_incoming((EVERY, NO_RUN)[both] if other.type == MASK else BIT(not both), start)
                phi.add_incoming(other, end)
                found = phi
            else:
                before = self.now
                left = self.b.and_(before, found if both else self.b.not_(found))
                other = self.like(MASK, self.under(left, lambda more=more: self.condition(more)))  # type: ignore[misc]
                self.on(before)
                found = self.b.and_(found, other) if both else self.b.or_(found, other)
        return found

    def of_IfExp(self, e: ast.IfExp) -> Any:
        test = self.condition(e.test)
        if test.type == BIT:
            yes, no, after = self.block(), self.block(), self.block()
            self.b.cbranch(test, yes, no)
            found = []
            for block, part in ((yes, e.body), (no, e.orelse)):
                self.b.position_at_end(block)
                found.append((self.value(part), self.b.block))
            kind = self.common(*(value.type for value, _ in found))
            for i, (value, block) in enumerate(found):
                self.b.position_at_end(block)
                found[i] = self.like(kind, value), block
                self.b.branch(after)
            self.b.position_at_end(after)
            phi = self.b.phi(kind)
            for value, block in found:
                phi.add_incoming(value, block)
            return phi
        before = self.now
        x = self.under(self.b.and_(before, test), lambda: self.value(e.body))
        y = self.under(self.b.and_(before, self.b.not_(test)), lambda: self.value(e.orelse))
        self.on(before)
        kind = self.common(x.type, y.type)
        kind = VECTORS.get(kind, kind)
        return self.b.select(test, self.like(kind, x), self.like(kind, y))

    def under(self, mask: Any, expression: Callable[[], Any]) -> Any:
        """Evaluate an expression for some of the runs, unless there are none: it may call code at an address."""
        some, after, start = self.block(), self.block(), self.b.block
        self.on(mask)
        self.b.cbranch(self.any(mask), some, after)
        self.b.position_at_end(some)
        value = expression()
        end = self.b.block
        self.b.branch(after)
        self.b.position_at_end(after)
        phi = self.b.phi(value.type)
        phi.add_incoming(value.type(ir.Undefined), start)
        phi.add_incoming(value, end)
        return phi

    def common(self, x: Any, y: Any) -> Any:
        """Return the type that numbers of two types have together."""
        if x == y:
            return x
        number = DOUBLE if {x, y} & {DOUBLE, NUMBERS} else I64
        return VECTORS[number] if {x, y} & {NUMBERS, WHOLE} else number

    def alike(self, x: Any, y: Any) -> tuple[Any, Any]:
        kind = self.common(x.type, y.type)
        return self.like(kind, x), self.like(kind, y)

    def like(self, kind: Any, value: Any) -> Any:
        if value.type == kind:
            return value
        if value.type in VECTORS.values():
            assert (kind, value.type) == (NUMBERS, WHOLE), "a name or a place has one kind"
            return self.b.sitofp(value, NUMBERS)
        number = next((one for one, many in VECTORS.items() if many == kind), kind)
        if value.type == I64 and number == DOUBLE:
            value = self.b.sitofp(value, DOUBLE)
        assert value.type == number, "a name or a place has one kind"
        if number == kind:
            return value
        one = self.b.insert_element(kind(ir.Undefined), value, I32(0))
        return self.b.shuffle_vector(one, kind(ir.Undefined), ir.VectorType(I32, LANES)([0] * LANES))

    def of_UnaryOp(self, e: ast.UnaryOp) -> Any:
        if isinstance(e.operand, ast.Constant):
            return self.of_Constant(ast.Constant(-e.operand.value))  # type: ignore[operator]
        x = self.value(e.operand)
        return self.b.neg(x) if x.type in (I64, WHOLE) else self.b.fneg(x)

    def binary(self, op: ast.operator, x: Any, y: Any) -> Any:
        x, y = self.alike(x, y)
        if isinstance(op, ast.Div | ast.Pow):
            kind = NUMBERS if x.type in VECTORS.values() else DOUBLE
            x, y = self.like(kind, x), self.like(kind, y)
            if isinstance(op, ast.Div):
                return self.b.fdiv(x, y, flags=FAST)
            name = f"llvm.pow.v{LANES}f64" if kind == NUMBERS else "llvm.pow.f64"
            return self.b.call(self.module.intrinsic(name, kind, [kind, kind]), [x, y])
        whole = x.type in (I64, WHOLE)
        if isinstance(op, ast.FloorDiv | ast.Mod):
            assert whole, "integers alone are divided so"
            if x.type == WHOLE:  # other runs may have zeros
                y = self.b.select(self.now, y, self.like(WHOLE, I64(1)))
            return self.b.sdiv(x, y) if isinstance(op, ast.FloorDiv) else self.b.srem(x, y)
        plain = ARITHMETIC[type(op)]
        return getattr(self.b, plain)(x, y) if whole else getattr(self.b, f"f{plain}")(x, y, flags=FAST)

    def of_Call(self, e: ast.Call) -> Any:
        assert isinstance(e.func, ast.Name)
        name, x = e.func.id, [self.value(a) for a in e.args]
        if name == "call":
            plain = [each.address if isinstance(each, _Address) else each for each in x[1:]]
            assert all(each.type in (I64, POINTER) for each in plain), "code is called for all runs at once"
            kind = ir.FunctionType(VOID, [each.type for each in plain])
            return self.b.call(_Callee(self.b.inttoptr(x[0], POINTER), kind), plain)
        if name == "float":
            return self.like(NUMBERS if x[0].type in VECTORS.values() else DOUBLE, x[0])
        if name in ("sqrt", "abs"):
            intrinsic = "llvm.sqrt" if name == "sqrt" else "llvm.fabs"
            kind = NUMBERS if x[0].type in VECTORS.values() else DOUBLE
            intrinsic += f".v{LANES}f64" if kind == NUMBERS else ".f64"
            return self.b.call(self.module.intrinsic(intrinsic, kind, [kind]), [self.like(kind, x[0])])
        if name in ("min", "max"):
            first, second = self.alike(*x)
            compare = self.b.icmp_signed if first.type in (I64, WHOLE) else self.b.fcmp_ordered
            return self.b.select(compare("<" if name == "min" else ">", second, first), second, first)
        function = self.globals[name]
        kinds = [a for n, a in function.__annotations__.items() if n != "return"]
        x = [self.like(NUMBERS, each) if kind is float else each for each, kind in zip(x, kinds, strict=True)]
        forms = [each.form if isinstance(each, _Address) else each.type for each in x]
        made = self.module.of(function, forms)
        return self.b.call(made, [each.address if isinstance(each, _Address) else each for each in x] + [self.now])
