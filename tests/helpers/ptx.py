"""PTX computed line by line, a thread after the other, in the memory of this process: what the instructions are defined
as, without a compiler and without a graphics processor.

Registers hold bits. Fused operations round once; the approximate ones are computed to the last place. At a barrier, a
thread waits for all others of its block. Two threads that access one place between two barriers, where one of them
writes, are a race and raise an error.
"""

import bisect
import contextlib
import ctypes
import math
import operator
import re
import struct
from fractions import Fraction

import numpy as np

WARP = 32
ALLOCATED: dict[int, int] = {}
"""Sizes of the arrays in the device's memory, by address. If there are some, all other addresses are errors."""
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
        return math.inf if exact > 0 else -math.inf


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


class Race(AssertionError):
    """Two threads access one place without a barrier between, and one of them writes."""


class Accesses:
    """The accesses of a block's threads since its last barrier."""

    def __init__(self):
        self.readers, self.writers = {}, {}

    def clear(self):
        self.readers.clear()
        self.writers.clear()

    def read(self, place, thread):
        if self.writers.get(place, thread) != thread:
            raise Race(f"thread {thread} reads what thread {self.writers[place]} writes")
        self.readers.setdefault(place, set()).add(thread)

    def write(self, place, thread):
        if self.writers.setdefault(place, thread) != thread:
            raise Race(f"threads {thread} and {self.writers[place]} write one place")
        if others := self.readers.get(place, set()) - {thread}:
            raise Race(f"thread {thread} writes what thread {min(others)} reads")


class Kernel:
    """One entry of a text; called with how many threads, and their arguments, words of 8 bytes."""

    def __init__(self, text, name):
        body = text[text.index(f".visible .entry {name}(") :]
        self.name, self.local, self.parameters = name, 0, body[: body.index(")")].count(".param")
        assert not re.search(r"\.func|\bcall\b|\.extern", text)
        self.size = int(re.search(r"\.maxntid (\d+)", body)[1])
        self.together = "bar." in text
        self.arrays = {
            name: (ctypes.c_uint8 * int(size))(*map(int, (values or "0").split(",")))
            for name, size, values in re.findall(
                r"^\s*\.(?:global|shared) \.align \d+ \.b8 (\w+)\[(\d+)\](?: = \{(.*)\})?;", text, re.MULTILINE
            )
        }
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
        for first in range(0, threads, self.size):
            self.block(range(first, first + self.size), words)

    def block(self, threads, words):
        """Run the threads of a block from barrier to barrier."""
        accesses = Accesses() if self.together else None
        if self.together:  # what lay there before
            ctypes.memset(self.arrays["shared"], 255, len(self.arrays["shared"]))
        running = [self.run(each, words, accesses) for each in threads]
        found = dict.fromkeys(range(len(running)))
        while running:
            at = {}
            for i, each in enumerate(running):
                with contextlib.suppress(StopIteration):
                    at[i] = each.send(found[i])
            if not at:
                return
            assert len(at) == len(running), "a thread has ended while others wait for it"
            for first in range(0, len(running), WARP):
                assert len({at[i][0] for i in range(first, first + WARP)}) == 1, "a warp is at different barriers"
            assert len({flag is None for _, flag in at.values()}) == 1, "different kinds of barriers"
            found = dict.fromkeys(at, any(flag for _, flag in at.values()))
            accesses.clear()

    def run(self, thread, words, accesses):
        """Compute a thread. Yield the line and the flag of each barrier, and receive 1 if a thread's flag is set."""
        block, place = divmod(thread, self.size)
        own = (ctypes.c_uint8 * max(1, self.local))()
        registers = {"%tid.x": place, "%ctaid.x": block, "%ntid.x": self.size}
        registers |= {name: ctypes.addressof(array) for name, array in self.arrays.items()}
        registers["__local_depot0"] = ctypes.addressof(own)
        sizes = ALLOCATED | {ctypes.addressof(array): len(array) for array in (own, *self.arrays.values())}
        places = sorted(sizes)

        def read(argument):
            if argument in registers:
                return registers[argument]
            if argument[:2] in ("0d", "0f"):
                return int(argument[2:], 16)
            return int(argument)

        def address(argument, how):
            base, _, offset = argument.strip("[]").partition("+")
            found = registers[base] + int(offset or 0)
            if how[0] == "shared":
                array = self.arrays["shared"]
                assert 0 <= found - ctypes.addressof(array) < len(array), "beyond the shared memory"
            elif ALLOCATED and how[0] != "local":
                i = bisect.bisect(places, found) - 1
                assert i >= 0 and found < places[i] + sizes[places[i]], "beyond the device's arrays"
            return found

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
            elif op == "bar":
                flag = registers[arguments[2]] != (arguments[2][0] == "!") if how[0] == "red" else None
                any_set = yield k, flag
                if flag is not None:
                    assert how == ["red", "or", "pred"]
                    registers[arguments[0]] = any_set
            elif op == "ld":
                where = address(arguments[1], how)
                if accesses is not None and not 0 <= where - ctypes.addressof(own) < self.local:
                    accesses.read(where, thread)
                registers[arguments[0]] = WORDS[kind[1:]].from_address(where).value
            elif op == "st":
                where = address(arguments[0], how)
                if accesses is not None and not 0 <= where - ctypes.addressof(own) < self.local:
                    accesses.write(where, thread)
                WORDS[kind[1:]].from_address(where).value = read(arguments[1]) & MASK[kind[1:]]
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
