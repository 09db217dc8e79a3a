"""Constants of a program as data of its machine code, which are written into the code when it is loaded.

Arms, controllers and inputs of one structure differ only in numbers: masses, gains, times. Their programs have the same
text and share one compilation. Code reads these data as fast as constants of its own.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from flexarm.errors import NativeCodeError
from flexarm.native.sincos import Numbers

MARK = bytes.fromhex("9b1f6c02d8e54a7730c5be918a64fd2e")
"""Beginning of every block of constants in an object file. Nothing else has these bytes."""

HEAD = struct.Struct("<qq")
"""The bytes after the mark: index of the block's first constant among those of the program, and their number."""

WORDS = (len(MARK) + HEAD.size) // 8
"""Length of a block before its constants, in doubles."""


@final
@dataclass
class Constants:
    """The constants of a program, and the IR that loads them for one state or for a SIMD batch of `lanes`.

    Attributes
    ----------
    values : list of float
        All constants, in the order of their blocks.
    """

    lanes: int
    values: list[float] = field(default_factory=list)

    def block(self, number: int) -> "Block":
        """Return an empty block for function `number`. It must be complete before the next one begins."""
        return Block(self, number, len(self.values))

    footer = "!0 = !{}"
    """The end of a module that loads constants."""


@final
@dataclass
class Block:
    """The constants of one function, `@constants<number>`.

    A constant that is used twice appears twice. Otherwise two arms would need different code if a length equals a mass
    in one of them. This costs 1 percent of the speed.
    """

    constants: Constants
    number: int
    start: int

    def load(self, values: Sequence[float], lines: list[str]) -> str:
        """Append the instructions that load a constant, or the one of several that `%round` selects.

        Return its name in the IR.
        """
        place = len(self.constants.values) - self.start
        self.constants.values += values
        label = f"%k{place}"
        lines.append(f"  {label}p = getelementptr double, ptr @constants{self.number}, i64 {WORDS + place}")
        pointer = f"{label}p"
        if len(values) > 1:
            lines.append(f"  {label}q = getelementptr double, ptr {label}p, i64 %round")
            pointer = f"{label}q"
        lanes, T = self.constants.lanes, Numbers(self.constants.lanes).T
        one = label if lanes == 1 else f"{label}s"
        lines.append(f"  {one} = load double, ptr {pointer}, align 8, !invariant.load !0")
        if lanes > 1:
            lines.append(f"  {label}i = insertelement {T} poison, double {one}, i64 0")
            lines.append(f"  {label} = shufflevector {T} {label}i, {T} poison, <{lanes} x i32> zeroinitializer")
        return label

    @property
    def definition(self) -> list[str]:
        """The IR that defines the block, or nothing if it has no constants.

        `externally_initialized` keeps LLVM from compiling its zeros into the code.
        """
        count = len(self.constants.values) - self.start
        if not count:
            return []
        first, second = struct.unpack("<qq", MARK)
        kind = f"<{{ [2 x i64], i64, i64, [{count} x double] }}>"
        value = (
            f"[2 x i64] [i64 {first}, i64 {second}], i64 {self.start}, i64 {count}, [{count} x double] zeroinitializer"
        )
        return [f"@constants{self.number} = internal externally_initialized constant {kind} <{{ {value} }}>, align 8"]


def with_constants(objects: Sequence[bytes], values: np.ndarray) -> list[bytes]:
    """Return the object files of a program with its constants (k,) in their places.

    Raises `NativeCodeError` if the object files do not have one place for each constant.
    """
    places, found = np.zeros(len(values), dtype=int), []
    for each in objects:
        made, at = bytearray(each), each.find(MARK)
        while at >= 0:
            start, count = HEAD.unpack_from(made, at + len(MARK))
            begin = at + 8 * WORDS
            made[begin : begin + 8 * count] = values[start : start + count].tobytes()
            places[start : start + count] += 1
            at = made.find(MARK, begin + 8 * count)
        if len(made) != len(each):
            raise NativeCodeError("the machine code has more constants than its program")
        found.append(bytes(made))
    if (places != 1).any():
        raise NativeCodeError("the machine code does not have one place for each constant of its program")
    return found
