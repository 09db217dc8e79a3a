"""Fused sums and products of a straight-line program.

A graphics processor computes a b + c in one instruction with one rounding. If a compiler chooses which sums it fuses,
the choice depends on the code around them, and two programs with the same operations can round differently. Here the
program itself has the fused operations, so that each value has the same bits in every program that computes it.
"""

from collections.abc import Sequence

import casadi as ca

from flexarm.native.program import OUTPUT, Instruction

FMA = "fma"
"""Kind of a fused instruction with arguments a, b and c. Its index is one of the signs below."""

PLUS, MINUS, FROM = 0, 1, 2
"""Forms of a fused instruction: a b + c, a b - c, c - a b."""


def fused(code: Sequence[Instruction]) -> list[Instruction]:
    """Return a program in which each sum with a product is one fused instruction. Unused instructions are removed.

    A product that several sums use is computed in each of them. That costs nothing, since each sum is one instruction
    in any case.
    """
    found = [_fused(code, instruction) for instruction in code]
    used: set[int] = set()
    for k in reversed(range(len(found))):
        if k in used or found[k].op == OUTPUT:
            used.update(a for a in found[k].args if not isinstance(a, float))
    places: dict[int, int] = {}
    kept: list[Instruction] = []
    for k, each in enumerate(found):
        if k in used or each.op == OUTPUT:
            places[k] = len(kept)
            args = tuple(a if isinstance(a, float) else places[a] for a in each.args)
            kept.append(Instruction(each.op, args, each.index))
    return kept


def _fused(code: Sequence[Instruction], instruction: Instruction) -> Instruction:
    """Return the fused form of a sum with a product, or the instruction itself."""
    if instruction.op not in (ca.OP_ADD, ca.OP_SUB):
        return instruction
    for j, a in enumerate(instruction.args):
        if isinstance(a, float) or code[a].op not in (ca.OP_MUL, ca.OP_SQ):
            continue
        factors = code[a].args if code[a].op == ca.OP_MUL else code[a].args * 2
        form = PLUS if instruction.op == ca.OP_ADD else FROM if j else MINUS
        return Instruction(FMA, (*factors, instruction.args[1 - j]), form)
    return instruction
