"""Large programs on a graphics processor, with several threads for each run: see `gpu_cooperative_loops`.

The values of a large program do not fit into the registers of one thread. The local memory of all threads of a
multiprocessor is then larger than its caches. Several threads together have several times the registers.
"""

from collections.abc import Callable, Mapping

from flexarm.errors import DescriptionError
from flexarm.native import cooperative
from flexarm.native.cooperative import BYTES, Inputs
from flexarm.native.exponential import powers
from flexarm.native.fusion import fused
from flexarm.native.kernel import Kernel
from flexarm.native.nvptx import Entry, Precision, evaluated, stored
from flexarm.native.once import Recent
from flexarm.native.partition import Partition, partition
from flexarm.native.program import instructions
from flexarm.simulation import gpu_cooperative_loops, gpu_loops
from flexarm.simulation.butcher import METHODS, ButcherTableau
from flexarm.simulation.gpu_loops import HELD, LAW, TABLE, Form
from flexarm.simulation.gpu_states import beside
from flexarm.simulation.layout import Layout

RESIDENT = 256
"""Threads of a multiprocessor if each has 255 registers."""

SIZES = ((32_000, 4), (20_000, 2))
"""Operations of a program times bytes of a number, from which a run has so many threads.

The local memory of `RESIDENT` threads then fits into the cache of a multiprocessor, which has 192 to 256 kB, or is
close to that. By ptxas, it is 391 kB with one thread for 4 links with 2 + 2 modes in double (22.7 kB by this measure),
and 151 kB with two. For 5 links (32.3 kB) it is 573 kB, 324 kB with two and 203 kB with four."""

LEAST_ROOM = 64
"""Least number of shared values of a run beside its state. With fewer, the threads would wait at too many barriers."""

_partitions: "Recent[Partition]" = Recent(4)


def threads(rate: Kernel, layout: Layout, real: Precision, tableau: ButcherTableau) -> int:
    """Return the number of threads for each run of a method: several for a large program, else one.

    The method must have fixed steps, and each of its stages may depend only on the one before.
    """
    size, memory = BYTES[evaluated(real)], stored(real)
    parts = next((parts for least, parts in SIZES if size * rate.code.operations >= least), 1)
    if parts == 1 or tableau.adaptive or not tableau.chained:
        return 1
    return parts if cooperative.room(_inputs(layout), parts, evaluated(real), memory) >= LEAST_ROOM else 1


def _inputs(layout: Layout) -> Inputs:
    """Return the order of the inputs of a rate."""
    return Inputs(layout.states, layout.inputs + layout.memory, layout.size)


def program(
    rate: Kernel,
    layout: Layout,
    real: Precision,
    parts: int,
    tableau: ButcherTableau = METHODS["rk4"],
    law: Kernel | None = None,
    table: bool = False,
) -> tuple[str, Callable[[], list[str]], Entry]:
    """Return runs of a rate with several threads for each, as `gpu.program` returns runs with one.

    The method has fixed steps, and each of its stages depends only on the one before.
    """
    form, memory = Form.of(layout, tableau, TABLE if table else HELD if law is None else LAW), stored(real)

    def ir() -> list[str]:
        found = _rates(rate, layout, real, parts, gpu_cooperative_loops.cooperate, form.constants(memory))
        return [*found, beside(law, "law", memory), powers(memory)]

    key = f"cooperative runs\n{rate.key}" + ("" if law is None else f"\nunder\n{law.key}")
    work = (*[layout.size] * 4, layout.inputs + layout.memory)
    blocks = RESIDENT // (parts * cooperative.RUNS)
    entry = Entry("runs", "cooperate", pointers=1, integers=3, work=work, blocks=blocks, parts=parts)
    return f"{key}\n{form}\n{real}\n{parts}", ir, entry


def states_program(
    rate: Kernel, layout: Layout, real: Precision, parts: int
) -> tuple[str, Callable[[], list[str]], Entry]:
    """Return an evaluation of a rate for many states with several threads for each, as `gpu_states.program` does."""

    def ir() -> list[str]:
        constants = Form.of(layout, METHODS["rk4"]).constants(stored(real))
        return _rates(rate, layout, real, parts, gpu_cooperative_loops.each_of_many, constants)

    work = layout.size, layout.inputs + layout.memory
    blocks = RESIDENT // (parts * cooperative.RUNS)
    entry = Entry("each_state", "each_of_many", pointers=3, integers=1, work=work, blocks=blocks, parts=parts)
    return f"cooperative states\n{rate.key}\n{real}\n{parts}", ir, entry


def _rates(
    rate: Kernel,
    layout: Layout,
    real: Precision,
    parts: int,
    function: Callable[..., None],
    constants: Mapping[str, float],
) -> list[str]:
    """Return the code of the parts of a rate, and that of a function that calls them."""
    from flexarm.native.translate import ir_of

    memory, inputs = stored(real), _inputs(layout)
    code = fused(instructions(rate.trace()))
    room = cooperative.room(inputs, parts, evaluated(real), memory)
    try:
        divided = _partitions(f"{rate.key}\n{parts}\n{room}", lambda: partition(code, parts, room))
        found = cooperative.cooperative(code, divided, inputs, evaluated(real), memory)
    except NotImplementedError as error:
        raise DescriptionError(f"device is 'gpu'; {error}") from None
    more = {
        "PARTS": parts,
        "OWN": max(map(len, cooperative.outputs(code, divided))),
        "FED": inputs.fed,
        "KNOWN": inputs.states + inputs.fed,
    }
    elsewhere = (
        gpu_loops.law,
        *(getattr(cooperative, name) for name in ("part", "barrier", "any_of", "numbers", "place", "evaluate")),
    )
    return [found, ir_of(function, real=memory, elsewhere=elsewhere, scalar=True, constants={**constants, **more})]
