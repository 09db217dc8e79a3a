"""LLVM IR of a straight-line program that several threads of a graphics processor compute together.

Each thread executes one part of a `Partition`. The state is in shared memory, beside slots for values that one part
computes and others use. Both belong to the run of the thread: the numbers of the runs of a block lie side by side, so
that the threads of a warp access neighbouring memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from flexarm.native.exponential import exponential
from flexarm.native.language import Floats
from flexarm.native.nvptx import RUNS, STATIC, computed
from flexarm.native.partition import Partition
from flexarm.native.program import INPUT, OUTPUT, Instruction
from flexarm.native.sincos import Numbers, Real, sincos

BYTES = {"double": 8, "float": 4}
"""Size of a number in memory."""

ARGUMENTS = "ptr %state, ptr %slots, ptr %fed, ptr %own, i64 %apart, ptr %to"
"""Arguments of a part. None is `noalias`: other threads write to shared memory between two barriers."""


@final
@dataclass(frozen=True)
class Inputs:
    """Order of a program's inputs: the state, then `fed` numbers of each thread's own, then constants.

    The rates of the state and of quadrature states, `size` numbers, are the outputs.
    """

    states: int
    fed: int
    size: int


def room(inputs: Inputs, parts: int, real: Real, memory: Real) -> int:
    """Return the number of slots of a run in the shared memory, beside the time, the state and a flag for each part."""
    return (STATIC // RUNS - BYTES[memory] * (1 + inputs.states + parts)) // BYTES[real]


def cooperative(code: Sequence[Instruction], divided: Partition, inputs: Inputs, real: Real, memory: Real) -> str:
    """Return the IR of `evaluate(part, state, fed, own, apart, to)` and `place(part, j)`, see the functions below.

    `code` is a fused program. Raises `NotImplementedError` for an operation without an instruction.
    """
    parts, places = len(divided.phases), outputs(code, divided)
    numbers = Numbers(1, real)
    fma, exponentials = exponential(numbers).split("\n", 1)  # a function that both declare is declared once
    first = RUNS * BYTES[memory] * (1 + inputs.states + parts)
    size = first + RUNS * BYTES[real] * divided.size
    table = ", ".join(f"i64 {i}" for of in places for i in (*of, *[inputs.size] * (inputs.size - len(of))))
    calls = [f"part{p}:\n  call void @evaluate{p}({ARGUMENTS})\n  br label %done" for p in range(parts)]
    cases = " ".join(f"i64 {p}, label %part{p}" for p in range(1, parts))
    return "\n".join(
        [
            sincos(numbers),
            exponentials,
            f"@shared = internal addrspace(3) global [{size} x i8] undef, align 16",
            "define ptr @shared_memory() alwaysinline {",
            "  %memory = addrspacecast ptr addrspace(3) @shared to ptr",
            "  ret ptr %memory",
            "}",
            "declare i64 @thread()",
            "declare void @barrier()",
            *(_part(code, divided, p, places[p], inputs, numbers, memory) for p in range(parts)),
            f"@places = internal constant [{parts * inputs.size} x i64] [{table}]",
            "define i64 @place(i64 %part, i64 %j) alwaysinline {",
            f"  %row = mul i64 %part, {inputs.size}",
            "  %i = add i64 %row, %j",
            "  %at = getelementptr i64, ptr @places, i64 %i",
            "  %place = load i64, ptr %at",
            "  ret i64 %place",
            "}",
            "define ptr @numbers() alwaysinline {",
            "  %memory = call ptr @shared_memory()",
            "  %thread = call i64 @thread()",
            f"  %lane = and i64 %thread, {RUNS - 1}",
            f"  %numbers = getelementptr {memory}, ptr %memory, i64 %lane",
            "  ret ptr %numbers",
            "}",
            "define void @evaluate(i64 %part, ptr %state, ptr %fed, ptr %own, i64 %apart, ptr %to) alwaysinline {",
            "  %memory = call ptr @shared_memory()",
            "  %thread = call i64 @thread()",
            f"  %lane = and i64 %thread, {RUNS - 1}",
            f"  %first = getelementptr i8, ptr %memory, i64 {first}",
            f"  %slots = getelementptr {real}, ptr %first, i64 %lane",
            f"  switch i64 %part, label %part0 [{cases}]",
            *calls,
            "done:\n  ret void\n}",
        ]
    )


def outputs(code: Sequence[Instruction], divided: Partition) -> list[list[int]]:
    """Return the numbers of the state whose rates each part computes."""
    return [sorted(code[k].index for each in phases for k in each if code[k].op == OUTPUT) for phases in divided.phases]


def _part(
    code: Sequence[Instruction],
    divided: Partition,
    part: int,
    places: Sequence[int],
    inputs: Inputs,
    numbers: Numbers,
    memory: Real,
) -> str:
    """Return the IR of a part of a program, with a barrier between its phases."""
    T, real = numbers.T, numbers.real
    lines: list[str] = []
    loaded: dict[int, str] = {}
    total = len(divided.phases[part])

    def name(a: int | float) -> str:
        if isinstance(a, float):
            return numbers.constant(a)
        return given(a) if code[a].op == INPUT else f"%v{a}"

    def given(a: int) -> str:
        """Load an input, once in a phase: registers are fewer than inputs."""
        index = code[a].index
        if index not in loaded:
            label = loaded[index] = f"%l{len(lines)}"
            place, base = str(RUNS * index), "state"
            if index >= inputs.states + inputs.fed:
                lines.append(f"  {label}m = mul i64 %apart, {index - inputs.states - inputs.fed}")
                place, base = f"{label}m", "own"
            elif index >= inputs.states:
                place, base = str(index - inputs.states), "fed"
            lines.append(f"  {label}p = getelementptr {memory}, ptr %{base}, i64 {place}")
            lines.append(f"  {label}{'s' if memory != real else ''} = load {memory}, ptr {label}p")
            if memory != real:
                lines.append(f"  {label} = fptrunc {memory} {label}s to {T}")
        return loaded[index]

    for f in range(total):
        loaded.clear()
        for a in divided.loads[part][f]:
            lines.append(f"  %v{a}p = getelementptr {T}, ptr %slots, i64 {RUNS * divided.slots[a]}")
            lines.append(f"  %v{a} = load {T}, ptr %v{a}p")
        for k in divided.phases[part][f]:
            x = [name(a) for a in code[k].args]
            if code[k].op == OUTPUT:
                value = x[0]
                if memory != real:
                    value = f"%o{k}s"
                    lines.append(f"  {value} = fpext {T} {x[0]} to {memory}")
                lines.append(f"  %o{k} = getelementptr {memory}, ptr %to, i64 {places.index(code[k].index)}")
                lines.append(f"  store {memory} {value}, ptr %o{k}")
                continue
            lines += computed(k, code[k], x, numbers)
            if k in divided.slots:
                lines.append(f"  %s{k} = getelementptr {T}, ptr %slots, i64 {RUNS * divided.slots[k]}")
                lines.append(f"  store {T} %v{k}, ptr %s{k}")
        if f + 1 < total:
            lines.append("  call void @barrier()")
    return "\n".join([f"define void @evaluate{part}({ARGUMENTS}) alwaysinline {{", *lines, "  ret void", "}"])


# -- functions in the language that is translated; their code is above or belongs to the device -----------------------


def part() -> int:  # pragma: no cover
    """Return the part of a run that the thread computes."""
    raise NotImplementedError


def barrier() -> None:  # pragma: no cover
    """Wait for all threads of the block. What they wrote before is then visible to all."""
    raise NotImplementedError


def any_of(flag: int) -> int:  # pragma: no cover
    """Return 1 if the flag is not 0 in a thread of the block, else 0, after a barrier."""
    raise NotImplementedError


def numbers() -> Floats:  # pragma: no cover
    """Return the shared numbers of a run, `RUNS` apart: the time, the state, and a flag for each part."""
    raise NotImplementedError


def place(which: int, j: int) -> int:  # pragma: no cover
    """Return the number of the state whose rate is the j-th of a part, or the length of the state if there is none."""
    raise NotImplementedError


def evaluate(  # pragma: no cover
    which: int, state: Floats, fed: Floats, own: Floats, apart: int, to: Floats
) -> None:
    """Write the rates of a part, after all barriers of the program. `state` is in shared memory."""
    raise NotImplementedError
