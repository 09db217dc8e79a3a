"""Faults that a programmer could make, drawn at random from the places where the package's source computes.

A fault replaces one expression or statement. Docstrings, annotations, messages, assertions and type checks are left
alone. All faults of a source tree stand in a fixed order, so a seed draws the same ones whenever the tree is the same.
"""

import ast
import copy
import json
import random
from collections import defaultdict
from dataclasses import dataclass, fields

FOLDERS = ("mechanics", "native", "simulation")
"""Folders of the package from which faults are drawn, each as often as the others."""

TURNED = {ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
OTHER_SIGN = {ast.Add: ast.Sub, ast.Sub: ast.Add}
ONE_SIDED = (ast.Sub, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod)
"""Operations in which the two operands have different roles."""
SYMMETRIC = {"isinstance", "issubclass", "zip", "min", "max", "hasattr", "getattr", "setattr", "partial", "warn"}
SYMMETRIC |= {"dot", "added"}
"""Calls whose arguments are not exchanged: the order does not matter, or the call is no computation."""
SILENT = (ast.Raise, ast.Assert, ast.Import, ast.ImportFrom, ast.JoinedStr)
"""Nodes below which nothing is computed."""


@dataclass(frozen=True)
class Fault:
    """One fault: where it is, and the text before and after it."""

    file: str
    """Path below the source folder, with slashes."""
    function: str
    """Qualified name of the function that holds it; empty at the level of the module."""
    kind: str
    lines: tuple[int, int]
    span: tuple[int, int]
    """First byte in the file, and the byte behind the last one."""
    before: str
    after: str

    @property
    def folder(self):
        return self.file.split("/")[1]

    @property
    def identity(self):
        """What remains the same while lines move: the text and the function that holds it."""
        return self.file, self.function, " ".join(self.before.split()), self.after

    def applied(self, source):
        """The source of the file with the fault in it."""
        content, (start, end) = source.encode(), self.span
        assert content[start:end].decode() == self.before
        return (content[:start] + self.after.encode() + content[end:]).decode()

    def __str__(self):
        before = " ".join(self.before.split())
        return f"{self.file}:{self.lines[0]} {self.function or '(module)'} [{self.kind}] {before} -> {self.after}"


def drawn(source, seed, count, folders=FOLDERS):
    """`count` different faults of the package in the folder `source`; a smaller count gives the first of them.

    The folders take turns. In a folder all kinds are equally likely, and all faults of a kind.
    """
    choices, generator, found = {folder: by_kind(source, folder) for folder in folders}, random.Random(seed), {}
    most = sum(len(faults) for kinds in choices.values() for faults in kinds.values())
    turn = 0
    while len(found) < min(count, most):
        kinds = choices[folders[turn % len(folders)]]
        fault = generator.choice(kinds[generator.choice(sorted(kinds))])
        if fault not in found:
            found[fault] = None
            turn += 1
    return list(found)


def again(source, log):
    """Faults that an earlier log has as not caught: those whose text is still in the source, and a line for each other.

    Where a function has the same text twice, both are meant.
    """
    with log.open(encoding="utf-8") as file:
        left = [entry for entry in map(json.loads, file) if entry["verdict"] in ("survived", "not judged")]
    there = defaultdict(list)
    for folder in FOLDERS:
        for fault in (fault for same in by_kind(source, folder).values() for fault in same):
            there[fault.identity].append(fault)
    found, gone = [], []
    for entry in left:
        known = {field.name: entry[field.name] for field in fields(Fault)}
        old = Fault(**known | {"lines": tuple(entry["lines"])})
        found += there[old.identity]
        if not there[old.identity]:
            gone.append(str(old))
    return list(dict.fromkeys(found)), gone


def by_kind(source, folder):
    """All faults of the files in one folder of the package: lists by their kinds."""
    kinds = defaultdict(list)
    for path in sorted((source / "flexarm" / folder).glob("*.py")):
        for fault in faults(path.read_text(encoding="utf-8"), path.relative_to(source).as_posix()):
            kinds[fault.kind].append(fault)
    return kinds


def faults(text, file):
    """All faults of one file."""
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    content, tree = text.encode(), ast.parse(text)
    for node, function in computing(tree, ""):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = content[start:end].decode()
        for kind, changed in changes(node):
            after = ast.unparse(changed)
            if isinstance(changed, ast.expr) and not isinstance(changed, ast.Name | ast.Constant | ast.Call):
                after = f"({after})"
            fault = Fault(file, function, kind, (node.lineno, node.end_lineno), (start, end), before, after)
            if ast.dump(changed) != ast.dump(node):
                yield fault


def computing(node, function):
    """Nodes that compute, each with the name of the function that holds it."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, SILENT) or _is_message(child):
                continue
            inner = function
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{function}.{child.name}".lstrip(".")
            if isinstance(child, ast.expr | ast.stmt) and hasattr(child, "lineno"):
                yield child, inner
            yield from computing(child, inner)


def _is_message(node):
    """Whether a call warns or reports, or a function writes what people read."""
    if isinstance(node, ast.FunctionDef):
        return node.name in ("__repr__", "__str__")
    called = node.value if isinstance(node, ast.Expr) else node
    if not isinstance(called, ast.Call):
        return False
    name = called.func.attr if isinstance(called.func, ast.Attribute) else getattr(called.func, "id", "")
    return name in ("warn", "print", "isinstance", "issubclass", "TypeVar", "Once", "field", "said")


def changes(node):
    """Faults that can be made at a node: pairs of a kind and the node that takes its place."""
    match node:
        case ast.BinOp() if not _is_text(node):
            yield from _of_operation(node)
        case ast.UnaryOp(op=ast.USub()):
            yield "sign", node.operand
        case ast.AugAssign(op=ast.Add() | ast.Sub()) if not _is_text(node.value):
            yield "sign", _with(node, op=OTHER_SIGN[type(node.op)]())
            yield "term dropped", ast.Pass()
        case ast.Compare(ops=[op]) if type(op) in TURNED and not _is_text(node):
            yield "comparison turned", _with(node, ops=[TURNED[type(op)]()])
        case ast.Subscript():
            yield from _of_index(node)
        case ast.Call():
            yield from _of_call(node)


def _of_operation(node):
    op = type(node.op)
    if op in OTHER_SIGN and not _is_list(node):
        yield "sign", _with(node, op=OTHER_SIGN[op]())
        yield "term dropped", node.left
        yield "term dropped", node.right if op is ast.Add else ast.UnaryOp(ast.USub(), node.right)
    if op is ast.Mult and not _is_list(node):
        yield "factor dropped", node.left
        yield "factor dropped", node.right
    if op in ONE_SIDED:
        yield "operands exchanged", _with(node, left=node.right, right=node.left)
    if op in (ast.Mult, ast.Div, ast.Pow) and not _is_list(node):
        for side in ("left", "right"):
            operand = getattr(node, side)
            if isinstance(operand, ast.Constant) and type(operand.value) in (int, float):
                yield "factor changed", _with(node, **{side: ast.Constant(_other_factor(operand.value))})


def _other_factor(value):
    """0.5 and 2 become 1, others twice what they are, and 0 becomes 1."""
    return type(value)(1 if value in (0.5, 2, 0) else 2 * value)


def _of_index(node):
    """An index, or an end of a slice, that is one further or one less."""
    for sign in (ast.Add(), ast.Sub()):
        match node.slice:
            case ast.Name() | ast.BinOp() if not _is_type(node):
                yield "index", _with(node, slice=ast.BinOp(node.slice, sign, ast.Constant(1)))
            case ast.Constant(value=int(value)):
                yield "index", _with(node, slice=ast.Constant(value + (1 if isinstance(sign, ast.Add) else -1)))
            case ast.Slice(lower=lower, upper=upper, step=None):
                if upper is not None:
                    yield "index", _with(node, slice=ast.Slice(lower, ast.BinOp(upper, sign, ast.Constant(1))))
                elif lower is not None:
                    yield "index", _with(node, slice=ast.Slice(ast.BinOp(lower, sign, ast.Constant(1)), None))


def _of_call(node):
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if isinstance(node.func, ast.Name) and name in ("min", "max") and len(node.args) > 1:
        yield "min and max exchanged", _with(node, func=ast.Name("max" if name == "min" else "min"))
    if name == "range" and not node.keywords:
        *others, last = node.args[:2]
        for sign in (ast.Add(), ast.Sub()):
            yield "index", _with(node, args=[*others, ast.BinOp(last, sign, ast.Constant(1)), *node.args[2:]])
    if name not in SYMMETRIC:
        for i, pair in enumerate(zip(node.args[:-1], node.args[1:], strict=True)):
            if all(isinstance(one, ast.Name) for one in pair):
                exchanged = [*node.args[:i], *reversed(pair), *node.args[i + 2 :]]
                yield "arguments exchanged", _with(node, args=exchanged)


def _with(node, **fields):
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_text(node):
    return any(
        isinstance(each, ast.JoinedStr) or (isinstance(each, ast.Constant) and isinstance(each.value, str | bytes))
        for each in ast.walk(node)
    )


def _is_type(node):
    """Whether brackets hold the parameter of a type, which begins with a capital letter."""
    named = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
    return named[:1].isupper() and any(letter.islower() for letter in named)


def _is_list(node):
    """Whether an operand is written as a list or a tuple, so that the operation puts lists together."""
    kinds = (ast.List, ast.Tuple, ast.ListComp)
    return any(isinstance(side, kinds) or (isinstance(side, ast.BinOp) and _is_list(side)) for side in _sides(node))


def _sides(node):
    return node.left, node.right
