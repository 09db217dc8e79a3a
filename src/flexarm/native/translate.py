"""Translation of functions in the language of the module `language` to LLVM IR."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, final, get_args

import llvmlite.binding as llvm
from llvmlite import ir

from flexarm.native.kernel import target_machine
from flexarm.native.language import Each, Floats, Shared, SharedWords, Words
from flexarm.native.sincos import Real

I64, DOUBLE, POINTER, BIT, VOID = ir.IntType(64), ir.DoubleType(), ir.PointerType(), ir.IntType(1), ir.VoidType()
ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
FAST = ("contract", "nsz")
"""Fast-math flags. NaN keeps its meaning. `llvm.FAST` explains why sums keep their order."""

WIDE = ir.VectorType(DOUBLE, 4)
"""Vector of a loop over lanes. Rows of an arm are hardly longer, and the remaining numbers are processed one by one."""

UNROLL = "llvm.loop.unroll.full"
"""Metadata of a loop that is unrolled completely."""

ONE = (
    "in a loop over lanes, only elements x[i] by its counter differ from round to round, and only they are assigned; a "
    "number may be a sum over the rounds (+=)"
)


def optimized(*functions: Callable[..., Any]) -> str:
    """Return the LLVM IR of the functions, with variables in registers."""
    return in_registers(ir_of(*functions))


def in_registers(text: str) -> str:
    """Return LLVM IR in which variables are in registers.

    All passes of LLVM's second level would take ten times as long and make none of the loops faster.
    """
    module = llvm.parse_assembly(text)
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(target_machine(), llvm.create_pipeline_tuning_options()))
    return str(module)


def ir_of(
    *functions: Callable[..., Any],
    real: Real = "double",
    elsewhere: tuple[Callable[..., Any], ...] = (),
    scalar: bool = False,
    constants: Mapping[str, float] | None = None,
) -> str:
    """Return the LLVM IR of the functions and of those that they call, each under its own name.

    Numbers are doubles or floats. Functions `elsewhere` are called by their names and belong to another module.

    `scalar` is for devices whose threads have neither vectors nor a library: loops over lanes are unrolled once their
    length is known, and powers are computed by a function `power_` of another module. `constants` replace constants of
    the functions' modules by name.
    """
    module = _Module(real, scalar, constants or {})
    for function in elsewhere:
        module.declared(function)
    module.pending.clear()
    for function in functions:
        module.declared(function)
    while module.pending:
        function, tree = module.pending.pop()
        _Translation(module, function, tree)
    return _unrolled(str(module.ir)) if scalar else str(module.ir)


def _unrolled(text: str) -> str:
    """Return LLVM IR whose loops with the mark `UNROLL` are unrolled. A loop's metadata must refer to itself."""
    found = re.search(rf'^!(\d+) = !{{ !"{UNROLL}" }}$', text, flags=re.MULTILINE)
    if found is None:
        return text
    own, mark = found[1], int(found[1]) + 1_000_000
    loop = f'!{own} = distinct !{{!{own}, !{mark}}}\n!{mark} = !{{!"{UNROLL}"}}'
    return text.replace(found[0], loop)


def aligned(kind: Any) -> int:
    """Return the least alignment of a value in an array [bytes]."""
    return 4 if kind == REALS["float"] else 8


class _Pointer:
    """An address of values of one kind."""

    def __init__(self, address: Any, kind: Any):
        self.address, self.kind = address, kind


REALS = {"double": DOUBLE, "float": ir.FloatType()}
KINDS = {"int": I64, "Floats": POINTER, "Words": POINTER, "None": VOID}
PLAIN: dict[Any, str] = {
    int: "int",
    Each: "int",
    float: "float",
    Floats: "Floats",
    Shared: "Floats",
    Words: "Words",
    SharedWords: "Words",
}


def _kind(annotation: str, names: dict[str, Any], real: Any) -> tuple[Any, Any]:
    """Return the type of a value and, for a pointer, its target: a type, a record, or a list of one for its address."""
    if annotation == "float":
        return real, None
    if annotation in KINDS:
        return KINDS[annotation], {"Floats": real, "Words": I64}.get(annotation)
    if annotation.startswith("Sequence["):
        return POINTER, [names[annotation.removeprefix("Sequence[").removesuffix("]")]]
    return POINTER, names[annotation]


class _Module:
    """The functions of a module, including those not yet translated."""

    def __init__(self, real: Real, scalar: bool, constants: Mapping[str, float]) -> None:
        self.ir = ir.Module("loops")
        self.real, self.scalar, self.constants = REALS[real], scalar, constants
        self.known: dict[Callable[..., Any], tuple[ir.Function, list[tuple[Any, Any]]]] = {}
        self.pending: list[tuple[Callable[..., Any], ast.FunctionDef]] = []

    def in_lanes(self, intrinsic: str) -> ir.Function:
        """Return an intrinsic function of one argument for a vector of numbers."""
        known = self.ir.globals.get(intrinsic)
        return known or ir.Function(self.ir, ir.FunctionType(WIDE, [WIDE]), intrinsic)

    def power(self) -> ir.Function:
        """Return the function of two numbers that computes powers."""
        if not self.scalar:
            return self.ir.declare_intrinsic("llvm.pow", [self.real])
        known = self.ir.globals.get("power_")
        return known or ir.Function(self.ir, ir.FunctionType(self.real, [self.real] * 2), "power_")

    def declared(self, function: Callable[..., Any]) -> tuple[ir.Function, list[tuple[Any, Any]]]:
        """Return the function, and the kinds of its arguments; see `_kind`."""
        if function not in self.known:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
            assert isinstance(tree, ast.FunctionDef)
            names = function.__globals__
            kinds = [_kind(ast.unparse(a.annotation), names, self.real) for a in tree.args.args if a.annotation]
            value, _ = _kind(ast.unparse(tree.returns) if tree.returns else "None", names, self.real)
            made = ir.Function(self.ir, ir.FunctionType(value, [kind for kind, _ in kinds]), function.__name__)
            self.known[function] = made, kinds
            self.pending.append((function, tree))
        return self.known[function]


class _Translation:
    """Translation of the body of one function."""

    def __init__(self, module: _Module, function: Callable[..., Any], tree: ast.FunctionDef):
        self.module, self.globals, self.real = module, function.__globals__, module.real
        self.function, kinds = module.declared(function)
        self.entry = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.b = ir.IRBuilder(self.function.append_basic_block("body"))
        self.names: dict[str, Any] = {}
        self.loops: list[tuple[Any, Any]] = []  # targets of `continue` and `break`
        self.lane = ""  # counter of a loop over lanes while several of its rounds are executed at once
        self.sums: dict[str, Any] = {}  # vectors of the sums in such a loop
        for name, value, (_, pointed) in zip(tree.args.args, self.function.args, kinds, strict=True):
            self.put(name.arg, _Pointer(value, pointed) if pointed is not None else value)
        body = self.b.block
        self.statements(tree.body)
        if not self.b.block.is_terminated:
            self.b.ret_void()
        self.entry.branch(body)

    # -- statements

    def statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if not self.b.block.is_terminated:
                getattr(self, f"on_{type(statement).__name__}")(statement)

    def on_Expr(self, s: ast.Expr) -> None:
        if not isinstance(s.value, ast.Constant):  # a docstring has no code
            self.value(s.value)

    def on_Assign(self, s: ast.Assign) -> None:
        (target,) = s.targets
        if isinstance(target, ast.Tuple):
            assert isinstance(s.value, ast.Tuple)
            values = [self.value(each) for each in s.value.elts]
            for each, value in zip(target.elts, values, strict=True):
                self.assign(each, value)
        else:
            self.assign(target, self.value(s.value))

    def on_AugAssign(self, s: ast.AugAssign) -> None:
        if isinstance(s.target, ast.Subscript):
            address, kind = self.target(s.target)
            value = self.binary(s.op, self.b.load(address, align=aligned(kind), typ=kind), self.value(s.value))
            self.b.store(self.like(kind, value), address, align=aligned(kind))
        elif isinstance(s.target, ast.Attribute):
            assert not self.lane, ONE
            address, kind, _ = self.field(s.target)
            self.b.store(
                self.like(kind, self.binary(s.op, self.b.load(address, typ=kind), self.value(s.value))), address
            )
        else:
            assert isinstance(s.target, ast.Name), ONE
            if self.lane:
                assert s.target.id in self.sums, ONE
                total = self.sums[s.target.id]
                self.b.store(
                    self.like(WIDE, self.binary(s.op, self.b.load(total, typ=WIDE), self.value(s.value))), total
                )
            else:
                self.put(s.target.id, self.binary(s.op, self.get(s.target.id), self.value(s.value)))

    def on_If(self, s: ast.If) -> None:
        yes, no, after = (self.function.append_basic_block() for _ in range(3))
        self.branch(s.test, yes, no)
        for block, body in ((yes, s.body), (no, s.orelse)):
            self.b.position_at_end(block)
            self.statements(body)
            if not self.b.block.is_terminated:
                self.b.branch(after)
        self.b.position_at_end(after)

    def on_While(self, s: ast.While) -> None:
        test, body, after = (self.function.append_basic_block() for _ in range(3))
        self.b.branch(test)
        self.b.position_at_end(test)
        self.branch(s.test, body, after)
        self.b.position_at_end(body)
        self.loops.append((test, after))
        self.statements(s.body)
        self.loops.pop()
        if not self.b.block.is_terminated:
            self.b.branch(test)
        self.b.position_at_end(after)

    def on_For(self, s: ast.For) -> None:
        assert isinstance(s.iter, ast.Call) and isinstance(s.iter.func, ast.Name) and isinstance(s.target, ast.Name)
        bounds = [self.value(a) for a in s.iter.args]
        if s.iter.func.id == "lanes":
            (count,) = bounds
            assert not self.lane, ONE
            if self.module.scalar:
                self.rounds(s, I64(0), count, I64(1), unroll=True)
                return
            some = self.b.select(self.b.icmp_signed(">", count, I64(0)), count, I64(0))
            whole = self.b.and_(some, I64(-WIDE.count))
            self.sums = {name: self.entry.alloca(WIDE) for name in self.summed(s)}
            for total in self.sums.values():
                self.b.store(self.like(WIDE, self.real(0.0)), total)
            self.lane = s.target.id
            self.rounds(s, I64(0), whole, I64(WIDE.count))
            self.lane = ""
            for name, total in self.sums.items():
                self.put(name, self.binary(ast.Add(), self.get(name), self.across(self.b.load(total, typ=WIDE))))
            self.sums = {}
            self.rounds(s, whole, count, I64(1))
        else:
            start, stop = (I64(0), bounds[0]) if len(bounds) == 1 else bounds[:2]
            self.rounds(s, start, stop, bounds[2] if len(bounds) == 3 else I64(1))

    def summed(self, s: ast.For) -> list[str]:
        """Return the names of numbers to which the body of a loop over lanes adds."""
        found = []
        for each in ast.walk(s):
            if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
                name = each.target.id
                assert isinstance(each.op, ast.Add) and name in self.names and self.names[name][1] == self.real, ONE
                found.append(name)
        return list(dict.fromkeys(found))

    def across(self, x: Any) -> Any:
        """Return the sum of a vector's numbers."""
        one = [self.b.extract_element(x, ir.IntType(32)(i)) for i in range(WIDE.count)]
        return self.binary(ast.Add(), *(self.binary(ast.Add(), one[i], one[i + 2]) for i in range(2)))

    def rounds(self, s: ast.For, start: Any, stop: Any, step: Any, unroll: bool = False) -> None:
        """Translate a loop's body for each value of its counter."""
        assert isinstance(s.target, ast.Name) and not s.orelse
        downward = isinstance(step, ir.Constant) and step.constant < 0
        counter = self.entry.alloca(I64)
        test, body, following, after = (self.function.append_basic_block() for _ in range(4))
        self.b.store(start, counter)
        self.b.branch(test)
        self.b.position_at_end(test)
        i = self.b.load(counter, typ=I64)
        self.b.cbranch(self.b.icmp_signed(">" if downward else "<", i, stop), body, after)
        self.b.position_at_end(body)
        self.put(s.target.id, i)
        self.loops.append((following, after))
        self.statements(s.body)
        self.loops.pop()
        if not self.b.block.is_terminated:
            self.b.branch(following)
        self.b.position_at_end(following)
        self.b.store(self.b.add(self.b.load(counter, typ=I64), step), counter)
        again = self.b.branch(test)
        if unroll:
            again.set_metadata("llvm.loop", self.module.ir.add_metadata([ir.MetaDataString(self.module.ir, UNROLL)]))
        self.b.position_at_end(after)

    def on_Break(self, s: ast.Break) -> None:
        assert not self.lane, ONE
        self.b.branch(self.loops[-1][1])

    def on_Continue(self, s: ast.Continue) -> None:
        self.b.branch(self.loops[-1][0])

    def on_Return(self, s: ast.Return) -> None:
        assert not self.lane, ONE
        if s.value is None:
            self.b.ret_void()
        else:
            self.b.ret(self.like(self.function.ftype.return_type, self.value(s.value)))

    # -- names

    def assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Subscript):
            address, kind = self.target(target)
            self.b.store(self.like(kind, value), address, align=aligned(kind))
        elif isinstance(target, ast.Attribute):
            assert not self.lane, ONE
            address, kind, _ = self.field(target)
            self.b.store(value.address if isinstance(value, _Pointer) else self.like(kind, value), address)
        else:
            assert isinstance(target, ast.Name) and not self.lane, ONE
            self.put(target.id, value)

    def put(self, name: str, value: Any) -> None:
        """Store the value of a name. A name always has the kind of its first value."""
        pointer = isinstance(value, _Pointer)
        if name not in self.names:
            kind = POINTER if pointer else value.type
            self.names[name] = self.entry.alloca(kind, name=name), kind, value.kind if pointer else None
        place, kind, _ = self.names[name]
        self.b.store(value.address if pointer else self.like(kind, value), place)

    def get(self, name: str) -> Any:
        assert name != self.lane and not (self.lane and name in self.sums), ONE
        if name in self.names:
            place, kind, pointed = self.names[name]
            value = self.b.load(place, typ=kind)
            return _Pointer(value, pointed) if pointed is not None else value
        value = self.module.constants.get(name, self.globals[name])
        return I64(value) if isinstance(value, int) else self.real(value) if isinstance(value, float) else value

    # -- expressions

    def value(self, e: ast.expr) -> Any:
        return getattr(self, f"of_{type(e).__name__}")(e)

    def of_Name(self, e: ast.Name) -> Any:
        return self.get(e.id)

    def of_Constant(self, e: ast.Constant) -> Any:
        return I64(e.value) if isinstance(e.value, int) else self.real(e.value)

    def of_BinOp(self, e: ast.BinOp) -> Any:
        return self.binary(e.op, self.value(e.left), self.value(e.right))

    def of_UnaryOp(self, e: ast.UnaryOp) -> Any:
        if isinstance(e.operand, ast.Constant):
            return self.of_Constant(ast.Constant(-e.operand.value))  # type: ignore[operator]
        x = self.value(e.operand)
        return self.b.neg(x) if x.type == I64 else self.b.fneg(x)

    def of_Compare(self, e: ast.Compare) -> Any:
        found = self.compared(e)
        assert found.type == BIT, ONE
        return found

    def compared(self, e: ast.Compare) -> Any:
        """Return a bit, or a vector of one bit per lane."""
        ((op,), (right,)) = e.ops, e.comparators
        x, y = self.alike(self.value(e.left), self.value(right))
        sign = COMPARISONS[type(op)]
        if x.type == I64:
            return self.b.icmp_signed(sign, x, y)
        return self.b.fcmp_unordered(sign, x, y) if sign == "!=" else self.b.fcmp_ordered(sign, x, y)

    def of_IfExp(self, e: ast.IfExp) -> Any:
        if self.lane:  # both values are computed, and each lane selects one
            assert isinstance(e.test, ast.Compare), ONE
            return self.b.select(self.compared(e.test), *self.alike(self.value(e.body), self.value(e.orelse)))
        yes, no, after = (self.function.append_basic_block() for _ in range(3))
        self.branch(e.test, yes, no)
        found = []
        for block, part in ((yes, e.body), (no, e.orelse)):
            self.b.position_at_end(block)
            found.append((self.value(part), self.b.block))
            self.b.branch(after)
        self.b.position_at_end(after)
        chosen = self.b.phi(found[0][0].type)
        for value, block in found:
            assert value.type == chosen.type, "both values have one kind"
            chosen.add_incoming(value, block)
        return chosen

    def of_Subscript(self, e: ast.Subscript) -> Any:
        if isinstance(e.slice, ast.Slice):
            assert e.slice.lower is not None and e.slice.upper is None
            base = self.value(e.value)
            return _Pointer(self.at(base, self.value(e.slice.lower)), base.kind)
        address, kind = self.element(e)
        if isinstance(kind, list):
            return _Pointer(self.b.load(address, typ=POINTER), kind[0])
        return self.b.load(address, align=aligned(kind), typ=kind)

    def element(self, e: ast.Subscript) -> tuple[Any, Any]:
        """Return the address of x[i] and its kind. In a loop over lanes, the counter as an index gives a vector."""
        base = self.value(e.value)
        if not (isinstance(e.slice, ast.Name) and e.slice.id == self.lane):
            return self.at(base, self.value(e.slice)), base.kind
        assert base.kind == self.real, "lanes are of numbers"
        return self.at(base, self.b.load(self.names[self.lane][0], typ=I64)), WIDE

    def target(self, e: ast.Subscript) -> tuple[Any, Any]:
        """Return the address that a value is stored to, and its kind."""
        address, kind = self.element(e)
        assert not self.lane or kind == WIDE, ONE
        return address, kind

    def of_Attribute(self, e: ast.Attribute) -> Any:
        address, kind, pointed = self.field(e)
        value = self.b.load(address, typ=kind)
        return _Pointer(value, pointed) if pointed is not None else value

    def field(self, e: ast.Attribute) -> tuple[Any, Any, Any]:
        """Return the address of a record's field, its type and, for a pointer, its target."""
        base = self.value(e.value)
        place, kind = next((i, f.type) for i, f in enumerate(fields(base.kind)) if f.name == e.attr)
        if kind in PLAIN:
            found = _kind(PLAIN[kind], {}, self.real)
        else:  # a record, or the address of one
            found = (POINTER, list(get_args(kind)) or kind)
        return self.b.gep(base.address, [I64(place)], source_etype=I64), *found

    def of_Call(self, e: ast.Call) -> Any:
        assert isinstance(e.func, ast.Name)
        name, x = e.func.id, [self.value(a) for a in e.args]
        if name == "call":
            plain = [each.address if isinstance(each, _Pointer) else each for each in x[1:]]
            kind = ir.FunctionType(VOID, [each.type for each in plain])
            return self.b.call(_Callee(self.b.inttoptr(x[0], POINTER), kind), plain)
        if name == "float":
            return self.like(self.real, x[0])
        if name == "int":
            return self.b.fptosi(x[0], I64)
        if name in ("sqrt", "abs"):
            kind = f"llvm.{'sqrt' if name == 'sqrt' else 'fabs'}"
            if x[0].type == WIDE:
                return self.b.call(self.module.in_lanes(f"{kind}.v{WIDE.count}f64"), x)
            return self.b.call(self.module.ir.declare_intrinsic(kind, [self.real]), [self.like(self.real, x[0])])
        if name in ("min", "max"):
            first, second = self.alike(*x)
            compare = self.b.icmp_signed if first.type == I64 else self.b.fcmp_ordered
            return self.b.select(compare("<" if name == "min" else ">", second, first), second, first)
        made, kinds = self.module.declared(self.globals[name])
        values = [
            each.address if isinstance(each, _Pointer) else self.like(kind, each)
            for each, (kind, _) in zip(x, kinds, strict=True)
        ]
        found = self.b.call(made, values)
        return _Pointer(found, self.real) if found.type == POINTER else found

    def binary(self, op: ast.operator, x: Any, y: Any) -> Any:
        if isinstance(op, ast.Pow):
            power = self.module.power()
            return self.b.call(power, [self.like(self.real, x), self.like(self.real, y)])
        if isinstance(op, ast.Div):
            kind = WIDE if WIDE in (x.type, y.type) else self.real
            return self.b.fdiv(self.like(kind, x), self.like(kind, y), flags=FAST)
        x, y = self.alike(x, y)
        assert not isinstance(op, ast.FloorDiv | ast.Mod) or x.type == I64, "integers alone are divided so"
        if isinstance(op, ast.FloorDiv):
            return self.b.sdiv(x, y)
        if isinstance(op, ast.Mod):
            return self.b.srem(x, y)
        plain = ARITHMETIC[type(op)]
        return getattr(self.b, plain)(x, y) if x.type == I64 else getattr(self.b, f"f{plain}")(x, y, flags=FAST)

    def alike(self, x: Any, y: Any) -> tuple[Any, Any]:
        kind = x.type if x.type == y.type else WIDE if WIDE in (x.type, y.type) else self.real
        return self.like(kind, x), self.like(kind, y)

    def like(self, kind: Any, value: Any) -> Any:
        if value.type == kind:
            return value
        if kind == WIDE:
            none, number = WIDE(ir.Undefined), self.like(self.real, value)
            one = self.b.insert_element(none, number, ir.IntType(32)(0))
            return self.b.shuffle_vector(one, none, ir.VectorType(ir.IntType(32), WIDE.count)([0] * WIDE.count))
        assert kind == self.real and value.type == I64, "a name or a place has one kind"
        return self.b.sitofp(value, self.real)

    def at(self, base: _Pointer, i: Any) -> Any:
        return self.b.gep(base.address, [i], source_etype=self.real if base.kind == self.real else I64)

    # -- conditions

    def branch(self, e: ast.expr, yes: Any, no: Any) -> None:
        """Branch by a condition, with short-circuit evaluation."""
        if isinstance(e, ast.BoolOp):
            *firsts, last = e.values
            for first in firsts:
                following = self.function.append_basic_block()
                self.branch(first, *((following, no) if isinstance(e.op, ast.And) else (yes, following)))
                self.b.position_at_end(following)
            self.branch(last, yes, no)
        elif isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            self.branch(e.operand, no, yes)
        else:
            x = self.value(e)
            self.b.cbranch(x if x.type == BIT else self.b.icmp_signed("!=", x, I64(0)), yes, no)


@final
class _Callee:
    """A loaded address with the function type that llvmlite needs for a call, since a pointer has none."""

    def __init__(self, address: Any, function_type: Any):
        self.type, self.get_reference, self.function_type = address.type, address.get_reference, function_type
