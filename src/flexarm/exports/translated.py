"""C99 from functions in the language of `native.language`: the same Python functions that become machine code.

A record becomes a struct without pointers. Its arrays have fixed lengths. Fields that no function writes become
constants in the code, and a branch that depends on such constants alone is decided when the code is written. The
functions therefore allocate nothing, and most loops have constant bounds.
"""

import ast
import inspect
import operator
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from textwrap import indent
from typing import Any, final, get_args

import numpy as np

from flexarm.exports.source import Real, Written, in_reals
from flexarm.native.language import Floats, Words

Kind = Any
"""Kind of a value: "int", "real", "bool", ("array", "int" or "real"), ("record", class) or ("one", class)."""

SIGNS: dict[Any, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%"}
COMPARED: dict[Any, tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
}
FIELDS: dict[Any, Kind] = {int: "int", float: "real", Floats: ("array", "real"), Words: ("array", "int")}
ARGUMENTS: dict[str, Kind] = {"int": "int", "float": "real", "Floats": ("array", "real"), "Words": ("array", "int")}
ROW = 8
"""Number of constants in a line of code."""


@final
@dataclass(frozen=True)
class Value:
    """An expression in C: its text, its kind, and its number if it is constant."""

    text: str
    kind: Kind
    number: float | None = None


@final
class Recursions:
    """C code of translated functions and of their records.

    Parameters
    ----------
    name : str
        Identifier with which all names begin.
    real : "double" or "float"
        Type of numbers.
    records : sequence of Placed
        Records with their values at the beginning, inner ones first. There is one record of each class.
    kernels : dict
        Names of C functions by the field that has the address of the machine code.
    constants : dict
        Values that replace constants of the functions' modules, by name.
    """

    def __init__(
        self,
        name: str,
        real: Real,
        records: Sequence[tuple[type, Any]],
        kernels: Mapping[str, str],
        constants: Mapping[str, float],
    ):
        self.name, self.real, self.kernels, self.constants = name, real, kernels, constants
        self.values = dict(records)
        self.functions: dict[str, _Function] = {}
        self.used: dict[str, None] = {}
        self.tables: dict[str, str] = {}
        self.written: set[Any] = set()
        self.sources: dict[Any, set[Any]] = {}

    def written_out(self, *roots: Callable[..., Any]) -> Written:
        """Return the structs, and the code of the functions with a function NAME_RECORD_begin for each record."""
        pending = [*roots]
        while pending:
            each = pending.pop()
            if each.__name__ not in self.functions:
                self.functions[each.__name__] = made = _Function(self, each)
                pending += made.called
        for function in self.functions.values():
            function.follow()
        self._spread()
        texts: dict[str, str] = {}
        pending = [*roots]
        while pending:
            name = pending.pop().__name__
            if name not in texts:
                self.used = {}
                texts[name] = self.functions[name].code()
                pending += [self.functions[each].function for each in self.used]
        heads = [self.functions[each].head for each in texts]
        begins = [self._begin(kind) for kind in self.values]
        structs = "\n\n".join(self._struct(kind) for kind in self.values)
        code = [
            "\n".join(self.tables.values()),
            "\n".join(f"{head};" for head in heads),
            *texts.values(),
            *begins,
        ]
        return Written(structs, in_reals("\n\n".join(part for part in code if part), self.real))

    @property
    def bytes(self) -> int:
        """Size of the structs' numbers [bytes], without padding."""
        size = {"real": 8 if self.real == "double" else 4, "int": 4}
        return sum(
            size[field[-1] if isinstance(field, tuple) else field] * max(1, np.size(value))
            for kind in self.values
            for _, field, value in self._changing(kind)
        )

    # -- names

    def struct(self, kind: type) -> str:
        """Return the name of a record's struct."""
        return f"{self.name}_{kind.__name__.lower()}"

    def type_of(self, kind: Kind) -> str:
        """Return the type in C of a number or a record's address."""
        if isinstance(kind, tuple):
            return f"{self.struct(kind[1])} *" if kind[0] != "array" else f"{self.type_of(kind[1])} *"
        return {"int": "int32_t", "real": self.real, "bool": "bool"}[kind]

    def field(self, kind: type, name: str) -> Kind:
        """Return the kind of a record's field."""
        given = next(f.type for f in fields(kind) if f.name == name)
        return FIELDS[given] if given in FIELDS else ("one", get_args(given)[0])

    def constant(self, kind: type, name: str) -> bool:
        """Return True if no function writes a field."""
        return ("field", kind, name) not in self.written

    def table(self, kind: type, name: str) -> str:
        """Return the name of a constant array, which is defined."""
        array = f"{self.struct(kind)}_{name}"
        self.tables.setdefault(array, self._table(array, self.field(kind, name)[1], getattr(self.values[kind], name)))
        return array

    # -- parts

    def _spread(self) -> None:
        """Mark everything behind a written pointer as written."""
        pending = [*self.written]
        while pending:
            for each in self.sources.get(pending.pop(), ()):
                if each not in self.written:
                    self.written.add(each)
                    pending.append(each)

    def _changing(self, kind: type) -> Iterator[tuple[str, Kind, Any]]:
        """Yield the name, the kind and the first value of each field that functions write."""
        for each in fields(kind):
            found = self.field(kind, each.name)
            if found[0] != "one" and not self.constant(kind, each.name):
                yield each.name, found, getattr(self.values[kind], each.name)

    def _inner(self, kind: type) -> list[tuple[str, type]]:
        found = [(each.name, self.field(kind, each.name)) for each in fields(kind)]
        return [(name, inner[1]) for name, inner in found if inner[0] == "one"]

    def _struct(self, kind: type) -> str:
        lines = [f"{self.struct(inner)} {name};" for name, inner in self._inner(kind)]
        for name, found, value in self._changing(kind):
            if found[0] == "array":
                lines.append(f"{self.type_of(found[1])} {name}[{max(1, np.size(value))}];")
            else:
                lines.append(f"{self.type_of(found)} {name};")
        title = (kind.__doc__ or "").strip().splitlines()[0]
        return f"// {title}\ntypedef struct {{\n{indent(chr(10).join(lines), '    ')}\n}} {self.struct(kind)};"

    def _table(self, name: str, kind: str, value: Any) -> str:
        flat = np.ravel(value).tolist() or [0]
        given = [repr(int(x)) if kind == "int" else self._number(float(x)) for x in flat]
        rows = [", ".join(given[i : i + ROW]) for i in range(0, len(given), ROW)]
        inside = ",\n    ".join(rows)
        return f"static const {self.type_of(kind)} {name}[{len(flat)}] = {{\n    {inside}}};"

    def _number(self, x: float) -> str:
        return repr(x) if np.isfinite(x) else f"{'-' if x < 0.0 else ''}({self.real})INFINITY"

    def _begin(self, kind: type) -> str:
        """Return the function that gives a record its first values."""
        struct = self.struct(kind)
        lines = [f"{self.struct(inner)}_begin(&self->{name});" for name, inner in self._inner(kind)]
        for name, found, value in self._changing(kind):
            if found[0] != "array":
                lines.append(f"self->{name} = {value!r};")
                continue
            start = "0" if found[1] == "int" else "0.0"
            if np.any(value):
                table = self._table(f"{name}_start", found[1], value)
                lines.append(table)
                start = f"{name}_start[i]"
            lines += [
                f"for (int32_t i = 0; i < {max(1, np.size(value))}; i++) {{",
                f"    self->{name}[i] = {start};",
                "}",
            ]
        body = indent("\n".join(lines), "    ")
        return f"static void {struct}_begin({struct} *self)\n{{\n{body}\n}}"


@final
class _Function:
    """A function in C.

    Attributes
    ----------
    called : list of functions
        Functions that it calls in any case of its constants.
    """

    def __init__(self, whole: Recursions, function: Callable[..., Any]):
        self.whole, self.function, self.globals = whole, function, function.__globals__
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        assert isinstance(tree, ast.FunctionDef)
        self.tree, self.name = tree, function.__name__
        self.kinds: dict[str, Kind] = {}
        self.arguments = []
        for each in tree.args.args:
            assert each.annotation is not None
            self.kinds[each.arg] = self._argument(ast.unparse(each.annotation))
            self.arguments.append(each.arg)
        returned = ast.unparse(tree.returns) if tree.returns else "None"
        self.returned = None if returned == "None" else ARGUMENTS[returned]
        calls = [x.func.id for x in ast.walk(tree) if isinstance(x, ast.Call) and isinstance(x.func, ast.Name)]
        found = [self.globals.get(name) for name in calls]
        own = [each for each in found if inspect.isfunction(each) and each.__module__ != "flexarm.native.language"]
        self.called = list(dict.fromkeys(own))
        counts: dict[str, int] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                counts[node.id] = counts.get(node.id, 0) + 1
        counters = [node.target.id for node in ast.walk(tree) if isinstance(node, ast.For)]  # type: ignore[attr-defined]
        self.counters = {x for x in counters if counters.count(x) == counts[x]}
        self.once = {x for x, count in counts.items() if count == 1 and x not in self.arguments}
        self.changed = {x for x, count in counts.items() if count > 1 or x in self.arguments}

    def _argument(self, text: str) -> Kind:
        return ARGUMENTS[text] if text in ARGUMENTS else ("record", self.globals[text])

    # -- kinds of values, and what is written

    def follow(self) -> None:
        """Find the kinds of all variables, and the arrays and fields that are written."""
        for node in self._statements(self.tree.body):
            if isinstance(node, ast.For):
                assert isinstance(node.target, ast.Name)
                self.kinds[node.target.id] = "int"
            pairs: list[tuple[ast.expr, ast.expr]] = []
            if isinstance(node, ast.Assign):
                pairs = [*self._pairs(node)]
            elif isinstance(node, ast.AugAssign):
                pairs = [(node.target, node.value)]
            for target, value in pairs:
                if isinstance(target, ast.Name):
                    self.kinds.setdefault(target.id, self.kind(value))
                    if isinstance(self.kinds[target.id], tuple):
                        self.whole.sources.setdefault(("var", self.name, target.id), set()).update(self.behind(value))
                elif isinstance(target, ast.Subscript):
                    self.whole.written |= self.behind(target.value)
                else:
                    assert isinstance(target, ast.Attribute)
                    self.whole.written.add(("field", self.kind(target.value)[1], target.attr))
            for call in self._calls(node):
                if call.func.id == "call":  # type: ignore[attr-defined]
                    self.whole.written |= self.behind(call.args[-1])
                elif (made := self.whole.functions.get(call.func.id)) is not None:  # type: ignore[attr-defined]
                    for name, given in zip(made.arguments, call.args, strict=True):
                        if made.kinds[name][0] == "array":
                            node_of = ("var", made.name, name)
                            self.whole.sources.setdefault(node_of, set()).update(self.behind(given))

    def _statements(self, body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        for each in body:
            yield each
            for part in ("body", "orelse"):
                yield from self._statements(getattr(each, part, []))

    @staticmethod
    def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
        (target,) = node.targets
        if isinstance(target, ast.Tuple):
            assert isinstance(node.value, ast.Tuple)
            yield from zip(target.elts, node.value.elts, strict=True)
        else:
            yield target, node.value

    @staticmethod
    def _calls(node: ast.stmt) -> list[ast.Call]:
        """Return the calls in a statement itself, without the statements within it."""
        inner = {id(x) for part in ("body", "orelse") for s in getattr(node, part, []) for x in ast.walk(s)}
        return [x for x in ast.walk(node) if isinstance(x, ast.Call) and id(x) not in inner]

    def behind(self, e: ast.expr) -> set[Any]:
        """Return the variables and fields whose array an expression refers to."""
        if isinstance(e, ast.Name):
            return {("var", self.name, e.id)}
        if isinstance(e, ast.Subscript):
            return self.behind(e.value)
        if isinstance(e, ast.Attribute):
            return {("field", self.kind(e.value)[1], e.attr)}
        return set()

    def kind(self, e: ast.expr) -> Kind:
        """Return the kind of an expression."""
        match e:
            case ast.Name():
                return self.kinds[e.id] if e.id in self.kinds else self._of_number(self._global(e.id))
            case ast.Constant():
                return self._of_number(e.value)
            case ast.UnaryOp():
                return "bool" if isinstance(e.op, ast.Not) else self.kind(e.operand)
            case ast.Compare() | ast.BoolOp():
                return "bool"
            case ast.BinOp():
                both = {self.kind(e.left), self.kind(e.right)}
                return "real" if isinstance(e.op, ast.Div | ast.Pow) or "real" in both else "int"
            case ast.IfExp():
                return self.kind(e.body)
            case ast.Attribute():
                return self.whole.field(self.kind(e.value)[1], e.attr)
            case ast.Subscript():
                base = self.kind(e.value)
                if isinstance(e.slice, ast.Slice):
                    return base
                return ("record", base[1]) if base[0] == "one" else base[1]
            case ast.Call(func=ast.Name(id=name)):
                if name in ("min", "max"):
                    return "real" if "real" in {self.kind(x) for x in e.args} else "int"
                if name in ("float", "sqrt", "abs"):
                    return "real"
                return "int" if name == "int" else self.whole.functions[name].returned
        raise AssertionError(ast.dump(e))

    def _global(self, name: str) -> Any:
        return self.whole.constants.get(name, self.globals.get(name))

    @staticmethod
    def _of_number(x: Any) -> Kind:
        return "int" if isinstance(x, int) else "real"

    # -- code

    @property
    def head(self) -> str:
        """The function's head."""
        given = []
        for x in self.arguments:
            kind = self.kinds[x]
            pointed = self.whole.type_of(kind)
            is_array = isinstance(kind, tuple) and kind[0] == "array"
            read = is_array and ("var", self.name, x) not in self.whole.written
            if read or (not isinstance(kind, tuple) and x not in self.changed_arguments):
                pointed = f"const {pointed}"
            given.append(f"{pointed}{x}" if pointed.endswith("*") else f"{pointed} {x}")
        returned = "void" if self.returned is None else self.whole.type_of(self.returned)
        return f"static {returned} {self.whole.name}_{self.name}({', '.join(given)})"

    @property
    def changed_arguments(self) -> set[str]:
        """Arguments that the function assigns."""
        return self.changed & set(self.arguments)

    def code(self) -> str:
        """Return the definition."""
        self.needless: set[str] = set()
        while True:  # until no variable is left that is only assigned
            self.read: set[str] = set()
            self.known: dict[str, Value] = {}
            self.number = 0
            self.places = self._places()
            lines = self._block(self.tree.body)
            idle = {x for x in self.kinds if x not in self.read} - self.needless
            self.needless |= idle
            if not idle - set(self.arguments):
                break
        lines = [*(f"(void){x};" for x in self.arguments if x not in self.read), *lines]
        doc = (ast.get_docstring(self.tree) or "").splitlines()[:1]
        comment = [f"// {line}" for line in doc]
        return "\n".join([*comment, self.head, "{", *(f"    {line}" for line in lines), "}"])

    def _places(self) -> dict[int, list[str]]:
        """Return the variables to declare before a statement, by its identity. Others are declared when assigned."""
        mentions: dict[str, list[list[tuple[int, int, bool]]]] = {}
        statements: dict[tuple[int, int], ast.stmt] = {}

        def walk(body: Sequence[ast.stmt], path: list[tuple[int, int, bool]], repeated: bool) -> None:
            for i, each in enumerate(body):
                if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                    continue
                here = [*path, (id(body), i, repeated)]
                statements[id(body), i] = each
                inner = [x for part in ("body", "orelse") for x in getattr(each, part, [])]
                skip = {id(x) for s in inner for x in ast.walk(s)}
                for node in ast.walk(each):
                    if isinstance(node, ast.Name) and id(node) not in skip and node.id in self.kinds:
                        mentions.setdefault(node.id, []).append(here)
                if (test := self._decided(each)) is not None:
                    walk(each.body if test else each.orelse, here, repeated)  # type: ignore[attr-defined]
                    continue
                loop = repeated or isinstance(each, ast.For | ast.While)
                for part in ("body", "orelse"):
                    walk(getattr(each, part, []), here, loop)

        walk(self.tree.body, [], False)
        before: dict[int, list[str]] = {}
        self.declared: dict[int, set[str]] = {}
        for name, paths in mentions.items():
            if name in self.arguments or name in self.counters:
                continue
            level = 0
            while all(len(p) > level + 1 for p in paths) and len({p[level + 1][0] for p in paths}) == 1:
                level += 1
            first = min(paths, key=lambda p: [x[1] for x in p])
            while level >= 0:
                block, _, repeated = first[level]
                statement = statements[block, min(p[level][1] for p in paths)]
                if self._assigns(statement, name):
                    self.declared.setdefault(id(statement), set()).add(name)
                    break
                if not repeated:
                    before.setdefault(id(statement), []).append(name)
                    break
                level -= 1
        return before

    def _assigns(self, statement: ast.stmt, name: str) -> bool:
        """Return True if a statement gives a variable its value without reading it."""
        if not isinstance(statement, ast.Assign):
            return False
        targets = [t for t, _ in self._pairs(statement)]
        there = any(isinstance(t, ast.Name) and t.id == name for t in targets)
        return there and not any(isinstance(x, ast.Name) and x.id == name for x in ast.walk(statement.value))

    def _decided(self, s: ast.stmt) -> bool | None:
        """Return the value of a condition that is constant."""
        if not isinstance(s, ast.If):
            return None
        read = set(self.read)
        found = self._condition(s.test).number
        self.read = read
        return None if found is None else bool(found)

    def _block(self, body: Sequence[ast.stmt]) -> list[str]:
        lines: list[str] = []
        for each in body:
            for name in self.places.get(id(each), ()):
                if name not in self.needless and name not in self.known:
                    kind = self.kinds[name]
                    zero = "NULL" if isinstance(kind, tuple) else {"int": "0", "real": "0.0", "bool": "false"}[kind]
                    lines.append(f"{self._declaration(name)} = {zero};")
            lines += self._statement(each)
        return lines

    def _declaration(self, name: str) -> str:
        kind = self.kinds[name]
        text = self.whole.type_of(kind)
        if isinstance(kind, tuple):
            if kind[0] == "array" and ("var", self.name, name) not in self.whole.written:
                text = f"const {text}"
            return f"{text}const {name}" if name in self.once else f"{text}{name}"
        return f"{text} {name}"

    def _statement(self, s: ast.stmt) -> list[str]:
        match s:
            case ast.Expr(value=ast.Constant()):
                return []
            case ast.Expr():
                return [f"{self._value(s.value).text};"]
            case ast.Assign():
                return self._assignment(s)
            case ast.AugAssign():
                if isinstance(s.target, ast.Name) and s.target.id in self.needless:
                    return []
                value = self._value(ast.BinOp(self._loaded(s.target), s.op, s.value))
                return [f"{self._target(s.target)} = {self._as(self.kind(s.target), value)};"]
            case ast.If():
                test = self._condition(s.test)
                if test.number is not None:
                    return self._block(s.body if test.number else s.orelse)
                lines = [f"if ({test.text}) {{", *_indented(self._block(s.body))]
                if s.orelse:
                    lines += ["} else {", *_indented(self._block(s.orelse))]
                return [*lines, "}"]
            case ast.While():
                test = self._condition(s.test)
                return [f"while ({test.text}) {{", *_indented(self._block(s.body)), "}"]
            case ast.For():
                return self._loop(s)
            case ast.Break():
                return ["break;"]
            case ast.Continue():
                return ["continue;"]
            case ast.Return():
                if s.value is None:
                    return ["return;"]
                return [f"return {self._as(self.returned, self._value(s.value))};"]
        raise AssertionError(ast.dump(s))

    def _loaded(self, e: ast.expr) -> ast.expr:
        """Return the expression that reads a target."""
        return ast.parse(ast.unparse(e), mode="eval").body

    def _assignment(self, s: ast.Assign) -> list[str]:
        pairs = [*self._pairs(s)]
        names = {
            x.id for t, _ in pairs for x in ast.walk(t) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)
        }
        read = {x.id for _, v in pairs for x in ast.walk(v) if isinstance(x, ast.Name)}
        stored = any(not isinstance(t, ast.Name) for t, _ in pairs)
        if len(pairs) > 1 and (names & read or stored):
            lines, ends = [], []
            for target, value in pairs:
                kind = self.kind(target)
                self.number += 1
                lines.append(
                    f"const {self.whole.type_of(kind)} new_{self.number} = {self._as(kind, self._value(value))};"
                )
                ends.append(f"{self._target(target)} = new_{self.number};")
            return ["{", *_indented([*lines, *ends]), "}"]
        return [line for target, value in pairs for line in self._one(s, target, value)]

    def _one(self, s: ast.Assign, target: ast.expr, value: ast.expr) -> list[str]:
        if not isinstance(target, ast.Name):
            return [f"{self._target(target)} = {self._as(self.kind(target), self._value(value))};"]
        name = target.id
        if name in self.needless:
            if any(isinstance(x, ast.Call) for x in ast.walk(value)) and self._calls_functions(value):
                return [f"(void){self._value(value).text};"]
            return []
        found = self._value(value)
        if name in self.once and found.number is not None:
            self.known[name] = found
            return []
        text = self._as(self.kinds[name], found)
        if name in self.declared.get(id(s), ()):
            constant = "const " if name in self.once and not isinstance(self.kinds[name], tuple) else ""
            return [f"{constant}{self._declaration(name)} = {text};"]
        return [f"{name} = {text};"]

    def _calls_functions(self, e: ast.expr) -> bool:
        calls = (x.func.id for x in ast.walk(e) if isinstance(x, ast.Call) and isinstance(x.func, ast.Name))
        return any(name in self.whole.functions for name in calls)

    def _target(self, e: ast.expr) -> str:
        if isinstance(e, ast.Name):
            return e.id
        if isinstance(e, ast.Subscript):
            return f"{self._value(e.value).text}[{self._value(e.slice).text}]"
        assert isinstance(e, ast.Attribute)
        return f"{self._value(e.value).text}->{e.attr}"

    def _loop(self, s: ast.For) -> list[str]:
        assert isinstance(s.iter, ast.Call) and isinstance(s.target, ast.Name)
        bounds = [self._value(x) for x in s.iter.args]
        start, stop = (Value("0", "int", 0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = int(bounds[2].number or 1) if len(bounds) == 3 else 1
        lines, name = [], s.target.id if s.target.id != "_" else "round"
        if stop.number is None:
            self.number += 1
            lines.append(f"const int32_t stop_{self.number} = {stop.text};")
            stop = Value(f"stop_{self.number}", "int")
        self.read.add(s.target.id)
        move = {1: f"{name}++", -1: f"{name}--"}.get(step, f"{name} += {step}")
        kind = "int32_t " if s.target.id in self.counters else ""
        head = f"for ({kind}{name} = {start.text}; {name} {'<' if step > 0 else '>'} {stop.text}; {move}) {{"
        lines += [head, *_indented(self._block(s.body)), "}"]
        return ["{", *_indented(lines), "}"] if len(lines) > 1 and lines[0].startswith("const") else lines

    # -- expressions

    def _as(self, kind: Kind, value: Value) -> str:
        """Return the text of a value that is to have a kind."""
        if kind == "real" and value.kind == "int":
            return repr(float(value.number)) if value.number is not None else f"({self.whole.real}){_tight(value.text)}"
        return value.text

    def _condition(self, e: ast.expr) -> Value:
        match e:
            case ast.BoolOp():
                end = 0.0 if isinstance(e.op, ast.And) else 1.0  # the value that decides
                parts, before = [], set(self.read)
                for each in e.values:
                    parts.append(self._condition(each))
                    if parts[-1].number == end:
                        self.read = before
                        return parts[-1]
                left = [part for part in parts if part.number is None]
                if not left:
                    return Value("", "bool", 1.0 - end)
                sign = " && " if isinstance(e.op, ast.And) else " || "
                return left[0] if len(left) == 1 else Value(sign.join(f"({part.text})" for part in left), "bool")
            case ast.UnaryOp(op=ast.Not()):
                found = self._condition(e.operand)
                return Value(f"!({found.text})", "bool", None if found.number is None else 1.0 - found.number)
            case ast.Compare():
                (op,), (right,) = e.ops, e.comparators
                x, y = self._value(e.left), self._value(right)
                sign, holds = COMPARED[type(op)]
                if x.number is not None and y.number is not None:
                    return Value("", "bool", float(holds(x.number, y.number)))
                kind = "real" if "real" in (x.kind, y.kind) else "int"
                return Value(f"{self._as(kind, x)} {sign} {self._as(kind, y)}", "bool")
        found = self._value(e)
        return found if found.kind == "bool" else Value(f"{found.text} != 0", "bool")

    def _value(self, e: ast.expr) -> Value:
        match e:
            case ast.Constant():
                return _constant(e.value)
            case ast.Name():
                if e.id in self.kinds:
                    self.read.add(e.id)
                if e.id in self.known:
                    return self.known[e.id]
                if e.id in self.kinds:
                    return Value(e.id if e.id != "_" else "round", self.kinds[e.id])
                return _constant(self._global(e.id))
            case ast.UnaryOp(op=ast.USub()):
                x = self._value(e.operand)
                return _constant(-x.number, x.kind) if x.number is not None else Value(f"(-{x.text})", x.kind)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp():
                found = self._condition(e)
                return Value(f"({found.text})", "bool", found.number)
            case ast.BinOp():
                return self._binary(e.op, self._value(e.left), self._value(e.right))
            case ast.IfExp():
                test, kind = self._condition(e.test), self.kind(e)
                if test.number is not None:
                    return self._value(e.body if test.number else e.orelse)
                x, y = self._value(e.body), self._value(e.orelse)
                return Value(f"(({test.text}) ? {self._as(kind, x)} : {self._as(kind, y)})", kind)
            case ast.Attribute():
                return self._attribute(e)
            case ast.Subscript():
                return self._element(e)
            case ast.Call():
                return self._call(e)
        raise AssertionError(ast.dump(e))

    def _attribute(self, e: ast.Attribute) -> Value:
        base = self.kind(e.value)[1]
        kind = self.whole.field(base, e.attr)
        if kind[0] != "one" and self.whole.constant(base, e.attr):
            if kind[0] == "array":
                return Value(self.whole.table(base, e.attr), kind)
            return _constant(getattr(self.whole.values[base], e.attr), kind)
        return Value(f"{self._value(e.value).text}->{e.attr}", kind)

    def _element(self, e: ast.Subscript) -> Value:
        base, kind = self._value(e.value), self.kind(e)
        if isinstance(e.slice, ast.Slice):
            assert e.slice.lower is not None
            return Value(f"&{base.text}[{self._value(e.slice.lower).text}]", kind)
        if base.kind[0] == "one":
            return Value(f"(&{base.text})", kind)
        text = f"({base.text})" if base.text.startswith("&") else base.text
        return Value(f"{text}[{self._value(e.slice).text}]", kind)

    def _call(self, e: ast.Call) -> Value:
        assert isinstance(e.func, ast.Name)
        name = e.func.id
        if name == "call":
            assert isinstance(e.args[0], ast.Attribute)
            given = [self._value(x).text for x in e.args[1:]]
            return Value(f"{self.whole.kernels[e.args[0].attr]}({', '.join(given)})", None)
        x = [self._value(a) for a in e.args]
        if name == "float":
            return _constant(float(x[0].number)) if x[0].number is not None else Value(self._as("real", x[0]), "real")
        if name == "int":
            return Value(f"(int32_t){_tight(x[0].text)}", "int")
        if name in ("sqrt", "abs"):
            return Value(f"{'sqrt' if name == 'sqrt' else 'fabs'}({self._as('real', x[0])})", "real")
        if name in ("min", "max"):
            kind = "real" if "real" in (x[0].kind, x[1].kind) else "int"
            numbers = [each.number for each in x if each.number is not None]
            if len(numbers) == 2:
                return _constant(min(numbers) if name == "min" else max(numbers), kind)
            first, second = (self._as(kind, each) for each in x)
            return Value(f"(({second} {'<' if name == 'min' else '>'} {first}) ? {second} : {first})", kind)
        made = self.whole.functions[name]
        self.whole.used[name] = None
        given = [self._as(made.kinds[a], each) for a, each in zip(made.arguments, x, strict=True)]
        return Value(f"{self.whole.name}_{name}({', '.join(given)})", made.returned)

    def _binary(self, op: ast.operator, x: Value, y: Value) -> Value:
        if isinstance(op, ast.Pow):
            return Value(f"pow({self._as('real', x)}, {self._as('real', y)})", "real")
        if isinstance(op, ast.Div):
            return Value(f"({self._as('real', x)} / {self._as('real', y)})", "real")
        kind, sign = "real" if "real" in (x.kind, y.kind) else "int", SIGNS[type(op)]
        if x.number is not None and y.number is not None and kind == "int":
            a, b = int(x.number), int(y.number)
            return _constant({"+": a + b, "-": a - b, "*": a * b}.get(sign, _divided(sign, a, b)))
        if kind == "int":
            if sign in "+-" and y.number == 0:
                return x
            if sign == "+" and x.number == 0:
                return y
            if sign in "*/" and y.number == 1:
                return x
        return Value(f"({self._as(kind, x)} {sign} {self._as(kind, y)})", kind)


def _divided(sign: str, a: int, b: int) -> int:
    return 0 if sign not in "/%" else a // b if sign == "/" else a % b


def _constant(x: Any, kind: Kind = None) -> Value:
    if (kind or ("int" if isinstance(x, int) else "real")) == "int":
        return Value(repr(int(x)) if x >= 0 else f"({int(x)!r})", "int", int(x))
    text = repr(float(x))
    return Value(text if x >= 0 else f"({text})", "real", float(x))


def _tight(text: str) -> str:
    return text if text.startswith("(") or text.isidentifier() else f"({text})"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
