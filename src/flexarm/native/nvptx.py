"""Programs and loops as PTX, the assembler language that the drivers of NVIDIA's graphics processors compile.

The same emitter generates the same instructions as on the CPU, in one function without calls. Every thread has its own
state. Sines, exp and tanh are flexarm's own functions. Other CasADi operations without a PTX instruction (powers
other than squares, cubes and those with square roots, tangents) raise an error before LLVM sees them, because LLVM
would end the process. Sums and products round as on the CPU and are fused where possible. The inverse of a float uses
the approximate instruction, with an error of 1 in the last place; that of a double is correctly rounded.

Arrays are stored number by number: the same number of all states is contiguous. Neighbouring threads therefore access
neighbouring memory.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, final

import casadi as ca

from flexarm.native.exponential import exponential
from flexarm.native.fusion import FMA, FROM, PLUS, fused
from flexarm.native.language import Floats
from flexarm.native.llvm import INTRINSICS, operation
from flexarm.native.program import INPUT, OUTPUT, Instruction, operation_name
from flexarm.native.sincos import Numbers, Real, sincos

Precision = Literal["double", "float", "mixed"]
"""Precision of a computation: numbers of 64 or of 32 bits, or states and sums in double and rates in float."""

ARCH = "sm_80"
"""Oldest generation that runs the generated code (A100). Drivers compile the code for the actual device."""

THREADS, BLOCKS = 128, 2
"""Threads per block, and blocks per multiprocessor, which leave 255 registers to each thread.

Without the second number, which changes nothing else, ptxas fails on programs of 5000 operations with doubles: it
assembles them for 32 registers, with five times the spills.
"""

THERE = (ca.OP_SQRT, ca.OP_FLOOR, ca.OP_CEIL, ca.OP_FABS, ca.OP_FMIN, ca.OP_FMAX, ca.OP_OR, ca.OP_COPYSIGN)
"""Operations with a PTX instruction that LLVM knows by name."""

OWN = {ca.OP_EXP: "exp_", ca.OP_TANH: "tanh_"}
"""Operations with a function of flexarm."""

TRIPLE = "nvptx64-nvidia-cuda"

RUNS = 32
"""Runs of a block if several threads compute each run: one for each thread of a warp. The number of parts of a run is
that of the block's warps, so that all threads of a warp execute the same part."""

STATIC = 48 * 1024
"""Largest shared memory of a block whose size is known to ptxas [bytes]."""

THREAD = """
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define i64 @thread() alwaysinline {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %place = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block64 = zext i32 %block to i64
  %size64 = zext i32 %size to i64
  %place64 = zext i32 %place to i64
  %before = mul i64 %block64, %size64
  %thread = add i64 %before, %place64
  ret i64 %thread
}
"""
"""LLVM IR of a function that returns the index of the thread."""

SEVERAL = f"""
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent
declare i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32, i1) convergent
define i64 @thread() alwaysinline {{
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %place = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %place, {RUNS - 1}
  %before = mul i32 %block, {RUNS}
  %run = add i32 %before, %lane
  %run64 = zext i32 %run to i64
  ret i64 %run64
}}
define i64 @part() alwaysinline {{
  %place = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %part = udiv i32 %place, {RUNS}
  %part64 = zext i32 %part to i64
  ret i64 %part64
}}
define void @barrier() alwaysinline {{
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}}
define i64 @any_of(i64 %flag) alwaysinline {{
  %set = icmp ne i64 %flag, 0
  %any = call i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32 0, i1 %set)
  %any64 = zext i1 %any to i64
  ret i64 %any64
}}
"""
"""LLVM IR of the same and of functions of a block, if several threads compute a run: the index of the run, the part of
the thread, a barrier, and 1 if a flag is not 0 in any thread of the block."""


def stored(precision: Precision) -> Real:
    """Return the type of the numbers in memory: of states, sums and control laws."""
    return "float" if precision == "float" else "double"


def evaluated(precision: Precision) -> Real:
    """Return the type in which a program for the rates computes."""
    return "double" if precision == "double" else "float"


@final
@dataclass(frozen=True)
class Entry:
    """An entry point: one call of a function for each of `count` threads.

    Attributes
    ----------
    function : str
        `void function(<pointers>, i64 thread, <integers>, <ptr records>, <ptr work>)`.
    pointers, integers : int
        Numbers of arguments that the launch passes.
    records : tuple of types
        Records of each thread; see `language`.
    work : tuple of int
        Lengths of each thread's own arrays of numbers. An array that is only indexed by constants is in registers.
    blocks : int
        Least number of blocks that a multiprocessor runs at once, which limits the registers of a thread.
    parts : int
        Number of threads that compute one run. If there are several, idle threads also call the function, since all
        threads of a block must take part in its barriers.
    """

    name: str
    function: str
    pointers: int
    integers: int
    records: tuple[type, ...] = ()
    work: tuple[int, ...] = ()
    blocks: int = BLOCKS
    parts: int = 1

    @property
    def runs(self) -> int:
        """Number of runs of a block."""
        return THREADS if self.parts == 1 else RUNS

    @property
    def threads(self) -> int:
        """Number of threads of a block."""
        return self.runs * self.parts

    def ir(self, real: Real, kind: str = "ptx_kernel ") -> str:
        """Return the IR of `void name(<pointers>, <integers>, i64 count)`, with a calling convention."""
        pointers = [f"ptr %p{i}" for i in range(self.pointers)]
        integers = [f"i64 %n{i}" for i in range(self.integers)]
        kinds = [f"[{len(fields(each))} x i64]" for each in self.records]
        kinds += [f"[{max(1, length)} x {real}]" for length in self.work]
        allocated = "\n".join(f"  %work{i} = alloca {kind}, align 16" for i, kind in enumerate(kinds))
        taken = [*pointers, "i64 %thread", *integers, *(f"ptr %work{i}" for i in range(len(kinds)))]
        given = ["ptr noalias" + each.removeprefix("ptr") for each in pointers]
        head = f"define {kind}void @{self.name}({', '.join([*given, *integers, 'i64 %count'])})"
        call = f"call void @{self.function}({', '.join(taken)})"
        if self.parts == 1:
            call = f"""%there = icmp slt i64 %thread, %count
  br i1 %there, label %do, label %done
do:
  {call}
  br label %done
done:"""
        return f"""
declare void @{self.function}({", ".join(each.split()[0] for each in taken)})
declare i64 @thread()
{head} "nvvm.maxntid"="{self.threads}" "nvvm.minctasm"="{self.blocks}" {{
entry:
{allocated}
  %thread = call i64 @thread()
  {call}
  ret void
}}"""


def straight(
    code: Sequence[Instruction],
    known: int,
    real: Real,
    called: str = "evaluate",
    memory: Real | None = None,
    after: int | None = None,
) -> str:
    """Return the IR of `void evaluate(ptr in, i64 apart, ptr own, i64 apart, ptr out, i64 apart)`, or of another name.

    The program's first `known` inputs come from `in`, the others from `own`. Inputs from number `after` on, if it is
    given, follow the first ones in `in`. `apart` is the distance between two numbers. Those in memory have the type
    `memory`, by default that of the program. Raises `NotImplementedError` for an operation without an instruction.
    """
    numbers = Numbers(1, real)
    T, lines, loaded = numbers.T, [], dict[int, str]()
    S = memory or real

    def name(a: int | float) -> str:
        if isinstance(a, float):
            return numbers.constant(a)
        if code[a].op != INPUT:
            return f"%v{a}"
        index = code[a].index
        if index not in loaded:
            base, place = ("in", index) if index < known else ("own", index - known)
            if after is not None and index >= after:
                base, place = "in", known + index - after
            lines.append(f"  %l{index}m = mul i64 %{base}_apart, {place}")
            lines.append(f"  %l{index}p = getelementptr {S}, ptr %{base}, i64 %l{index}m")
            if real == S:
                lines.append(f"  %l{index} = load {T}, ptr %l{index}p")
            else:
                lines.append(f"  %l{index}s = load {S}, ptr %l{index}p")
                lines.append(f"  %l{index} = fptrunc {S} %l{index}s to {T}")
            loaded[index] = f"%l{index}"
        return loaded[index]

    code = fused(code)
    for k, instruction in enumerate(code):
        op = instruction.op
        if op == INPUT:
            continue
        x = [name(a) for a in instruction.args]
        if op == OUTPUT:
            lines.append(f"  %o{k}m = mul i64 %out_apart, {instruction.index}")
            lines.append(f"  %o{k}p = getelementptr {S}, ptr %out, i64 %o{k}m")
            value = x[0]
            if real != S:
                lines.append(f"  %o{k}s = fpext {T} {x[0]} to {S}")
                value = f"%o{k}s"
            lines.append(f"  store {S} {value}, ptr %o{k}p")
        else:
            lines += computed(k, instruction, x, numbers)
    arguments = ", ".join(f"ptr noalias %{base}, i64 %{base}_apart" for base in ("in", "own", "out"))
    head = f"define void @{called}({arguments}) alwaysinline {{"
    fma, exponentials = exponential(numbers).split("\n", 1)  # a function that both declare is declared once
    return "\n".join([sincos(numbers), exponentials, head, *lines, "  ret void", "}"])


def computed(k: int, instruction: Instruction, x: Sequence[str], numbers: Numbers) -> list[str]:
    """Return the IR of %v<k>, the value of an instruction of a fused program with the arguments x.

    Raises `NotImplementedError` for an operation without an instruction.
    """
    op, T = instruction.op, numbers.T
    if op == FMA:
        lines, given = [], list(x)
        if instruction.index != PLUS:
            place = 0 if instruction.index == FROM else 2
            lines, given[place] = [f"  %n{k} = fneg nsz {T} {x[place]}"], f"%n{k}"
        given = [f"{T} {each}" for each in given]
        return [*lines, f"  %v{k} = call nsz {T} @llvm.fma.{numbers.suffix}({', '.join(given)})"]
    if op in OWN:
        return [f"  %v{k} = call {T} @{OWN[op]}({T} {x[0]})"]
    if op == ca.OP_CONSTPOW and (halves := _halves(instruction.args[1])):
        return _power(f"%v{k}", x[0], halves, T, numbers.suffix)
    if op in INTRINSICS and op not in THERE:
        raise NotImplementedError(f"no instruction of a GPU for the CasADi operation {operation_name(op)}")
    # sums are fused already, and a compiler must not choose others
    return [operation(k, op, instruction.index, list(x), numbers).replace(" contract", "")]


def _halves(exponent: int | float) -> int:
    """Return twice an exponent of 0.5, 1.5 (a ball of Hertz), 2, 2.5 or 3, or 0 for others."""
    twice = 2.0 * exponent if isinstance(exponent, float) else 0.0
    return int(twice) if twice in (1, 3, 4, 5, 6) else 0


def _power(to: str, x: str, halves: int, T: str, suffix: str) -> list[str]:
    """Return the IR of a power of x with an exponent of so many halves, as products of x and its square root."""
    lines, last = [], x
    if halves % 2:
        last = f"{to}root" if halves > 1 else to
        lines.append(f"  {last} = call {T} @llvm.sqrt.{suffix}({T} {x})")
    factors = (halves - 1) // 2 if halves % 2 == 0 else halves // 2
    for i in range(factors):
        name = to if i == factors - 1 else f"{to}f{i}"
        lines.append(f"  {name} = fmul {T} {last}, {x}")
        last = name
    return lines


def joined(parts: Sequence[str], entries: Sequence[str], machine: Any) -> Any:
    """Return one module of parts in LLVM IR, in which only the entries remain, with all called functions inlined."""
    import llvmlite.binding as llvm

    head = f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n'
    module = llvm.parse_assembly(head)
    for part in parts:  # remove each part's own target
        module.link_in(llvm.parse_assembly(head + re.sub("^target .*$", "", part, flags=re.MULTILINE)))
    for function in module.functions:
        if not function.is_declaration and function.name not in entries:
            function.linkage = "internal"
            if all(b"noinline" not in each for each in function.attributes):
                function.add_function_attribute("alwaysinline")
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_loop_rotate_pass()
    passes.add_loop_unroll_pass()  # arrays of a thread that are indexed by constants then become registers
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    module.verify()
    return module


@cache
def target_machine(arch: str = ARCH) -> Any:
    """Return a compiler for a generation of graphics processors."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, opt=3)


def ptx(parts: Sequence[str], entries: Sequence[Entry], real: Real, arch: str = ARCH) -> str:
    """Return the PTX of these parts, which define the functions that the entries call."""
    machine = target_machine(arch)
    threads = {THREAD if entry.parts == 1 else SEVERAL for entry in entries}
    texts = [*parts, *threads, *(entry.ir(real) for entry in entries)]
    return str(machine.emit_assembly(joined(texts, [entry.name for entry in entries], machine)))


# -- loops, in the language that is translated -------------------------------------------------------------------------


def evaluate(  # pragma: no cover  (only its signature is used)
    x: Floats, x_apart: int, own: Floats, own_apart: int, y: Floats, y_apart: int
) -> None:
    """Evaluate the program, which is compiled separately, see `straight`."""
    raise NotImplementedError


def each(  # pragma: no cover  (runs as code for the GPU alone)
    x: Floats, own: Floats, y: Floats, thread: int, apart: int
) -> None:
    """Evaluate the program for one of many states: x (known, apart), own (others, apart), y (n_out, apart)."""
    evaluate(x[thread:], apart, own[thread:], apart, y[thread:], apart)


EACH = Entry("each_state", "each", pointers=3, integers=1)
