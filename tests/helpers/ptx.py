"""PTX computed line by line, a thread after the other, in the memory of this process: what the instructions are defined
as, without a compiler and without a graphics processor.

Registers hold bits. Fused operations round once; the approximate ones are computed to the last place.
"""

import ctypes
import math
import operator
import re
import struct
from fractions import Fraction

import numpy as np

from flexarm.native.nvptx import THREADS

MASK = {"32": 2**32 - 1, "64": 2**64 - 1}
FLOATS = {"f64": ("<d", "<Q"), "f32": ("<f", "<I")}
COMPARED = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
WORDS = {"32": ctypes.c_uint32, "64": ctypes.c_uint64}


def number(bits, kind):
    """What bits mean."""
    if kind in FLOATS:
        to, of = FLOATS[kind]
        return struct.unpack(to, struct.pack(of, bits & MASK[kind[1:]]))[0]
    bits &= MASK[kind[1:]]
    return bits - 2 ** int(kind[1:]) if kind[0] == "s" and bits >> (int(kind[1:]) - 1) else bits


def bits(value, kind):
    """The bits of a number, rounded to the nearest that there is."""
    if kind not in FLOATS:
        return value & MASK[kind[1:]]
    to, of = FLOATS[kind]
    with np.errstate(over="ignore"):
        value = float(np.float32(value)) if kind == "f32" else value
    return struct.unpack(of, struct.pack(to, value))[0]


def fused(x, y, z, kind):
    if not all(map(math.isfinite, (x, y, z))):
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(exact) if exact else x * y + z
    except OverflowError:
        return math.copysign(math.inf, exact)


def divided(x, y):
    with np.errstate(all="ignore"):
        return float(np.float64(x) / np.float64(y))


def largest(x, y, take):
    return y if x != x else x if y != y else take(x, y)


OF_FLOATS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "abs": abs,
    "min": lambda x, y: largest(x, y, min), "max": lambda x, y: largest(x, y, max),
    "div": divided, "rcp": lambda x: divided(1.0, x), "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
}  # fmt: skip
OF_INTEGERS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "not": operator.invert, "shl": operator.lshift, "shr": operator.rshift,
    "min": min, "max": max, "rem": lambda x, y: x - y * int(Fraction(x, y)), "div": lambda x, y: int(Fraction(x, y)),
    "mad": lambda x, y, z: x * y + z, "mov": lambda x: x, "cvt": lambda x: x, "cvta": lambda x: x,
}  # fmt: skip


BRANCHES = r"(\$\w+): \.branchtargets([^;]*);"
"""Table of the labels to which an instruction jumps, by an index."""


class Kernel:
    """One entry of a text; called with how many threads, and their arguments, words of 8 bytes."""

    def __init__(self, text, name):
        body = text[text.index(f".visible .entry {name}(") :]
        self.name, self.local, self.parameters = name, 0, body[: body.index(")")].count(".param")
        assert not re.search(r"\.func|\bcall\b|\.extern|\.shared", text)
        self.lines, self.labels, self.tables = [], {}, {}
        for table, targets in re.findall(BRANCHES, body):
            self.tables[table] = re.findall(r"\$\w+", targets)
        body = re.sub(BRANCHES, "", body)
        for raw in body[body.index("{") + 1 : body.index("\n}")].splitlines():
            line = raw.split("//")[0].strip().rstrip(";")
            if line.startswith(".local"):
                self.local += int(re.search(r"\[(\d+)\]", line)[1])
            elif line.endswith(":"):
                self.labels[line[:-1]] = len(self.lines)
            elif line and not line.startswith("."):
                self.lines.append(self.parsed(line))

    def parsed(self, line):
        """Predicate, operation in parts, and arguments."""
        found = re.fullmatch(r"(?:@(!?)(%p\d+)\s+)?([\w.:]+)(?:\s+(.*))?", line)
        arguments = [each.strip() for each in (found[4] or "").split(",")]
        return found[1] == "!", found[2], found[3].split("."), arguments

    def __call__(self, threads, words):
        for thread in range(threads):
            self.run(thread, words)

    def run(self, thread, words):
        block, place = divmod(thread, THREADS)
        own = (ctypes.c_uint8 * max(1, self.local))()
        registers = {"%tid.x": place, "%ctaid.x": block, "%ntid.x": THREADS}
        registers["__local_depot0"] = ctypes.addressof(own)

        def read(argument):
            if argument in registers:
                return registers[argument]
            if argument[:2] in ("0d", "0f"):
                return int(argument[2:], 16)
            return int(argument)

        def address(argument):
            base, _, offset = argument.strip("[]").partition("+")
            return registers[base] + int(offset or 0)

        k = 0
        while k < len(self.lines):
            refused, predicate, (op, *how), arguments = self.lines[k]
            k += 1
            if predicate and registers[predicate] == refused:
                continue
            kind = how[-1] if how else ""
            if op == "ret":
                return
            if op == "bra":
                k = self.labels[arguments[0]]
            elif op == "brx":
                k = self.labels[self.tables[arguments[1]][read(arguments[0])]]
            elif op == "ld" and how[0] == "param":
                place = int(re.search(r"_param_(\d+)\]$", arguments[1])[1])
                registers[arguments[0]] = int(words[place]) & MASK["64"]
            elif op == "ld":
                registers[arguments[0]] = WORDS[kind[1:]].from_address(address(arguments[1])).value
            elif op == "st":
                WORDS[kind[1:]].from_address(address(arguments[0])).value = read(arguments[1]) & MASK[kind[1:]]
            elif op == "setp":
                x, y = (number(read(a), kind) for a in arguments[1:])
                unordered = how[0].endswith("u") and kind in FLOATS
                name = how[0][:-1] if unordered else how[0]
                registers[arguments[0]] = (unordered and (x != x or y != y)) or (
                    COMPARED[name](x, y) and not (name == "ne" and not unordered and (x != x or y != y))
                )
            elif op == "selp":
                registers[arguments[0]] = read(arguments[1] if registers[arguments[3]] else arguments[2])
            elif kind == "pred":
                registers[arguments[0]] = bool(OF_INTEGERS[op](*map(bool, map(read, arguments[1:]))) & 1)
            elif op == "fma":
                x = [number(read(a), kind) for a in arguments[1:]]
                registers[arguments[0]] = bits(fused(*x, kind), kind)
            elif op == "cvt" and how[-2] in FLOATS:
                registers[arguments[0]] = bits(float(number(read(arguments[1]), kind)), how[-2])
            elif kind in FLOATS and op != "mov":
                x = [number(read(a), kind) for a in arguments[1:]]
                registers[arguments[0]] = bits(OF_FLOATS[op](*x), kind)
            else:
                wide = "wide" in how
                kinds = [kind] * (len(arguments) - 1)
                if op in ("shl", "shr"):
                    kinds[1] = "u32"
                x = [number(read(a), each) for a, each in zip(arguments[1:], kinds, strict=True)]
                registers[arguments[0]] = bits(OF_INTEGERS[op](*x), "u64" if wide or op == "cvt" else kind)
