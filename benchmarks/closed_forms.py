"""Closed forms: how long they take and how long they are, beside SymPy's own mechanics on the same arms."""

from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import sympy as sp

import flexarm as fa
from benchmarks import lagrange
from benchmarks.report import Table, spread, time
from benchmarks.timing import timed
from flexarm.closed_forms.equations import Equations, equations
from flexarm.closed_forms.parts import PARTS
from flexarm.closed_forms.traced import trace

Modes = tuple[int, ...]
ARMS: dict[str, Modes] = {
    "2 links, 2 modes each": (2, 2),
    "3 links, rigid, flexible (2 modes), rigid": (0, 2, 0),
    "3 links, 2 modes each": (2, 2, 2),
}
CANONICAL = dict(zip(ARMS, (3.0, 3.0, 20.0), strict=True))  # targets [s]
FASTER = 20  # target: SymPy's time in units of ours
ENTRIES = {(0, 0): "M[0, 0], the first joint", (0, 2): "M[0, 2], the first joint with the first amplitude"}
SIZED: Modes = (2, 2)  # the arm of these entries
MATRICES = ("M", "D", "U", "G", "B", "damping")
FRESH = get_context("spawn")


def planar(modes: Modes) -> fa.Arm:
    """The arm of `lagrange`: links in a row with these numbers of modes, a payload, no gravity."""
    bodies = [
        fa.Beam(length=1.0, mass=1.5, EI=1000.0, modes={"y": n}, shapes="clamped-free")
        if n
        else fa.Rigid(length=1.0, mass=1.5)
        for n in modes
    ]
    joint = fa.Revolute(axis=(0.0, 0.0, 1.0))
    links = [fa.Link(name=f"link{i}", joint=joint, body=body) for i, body in enumerate(bodies, 1)]
    return fa.Arm(name="planar", links=links, payload=fa.Payload(mass=1.0, inertia=0.1))


# -- what is measured, each in a process of its own --------------------------------------------------------------------


def derivation(modes: Modes) -> float:
    """Seconds of flexarm's derivation, from the description to the traced matrices, before the canonical form."""
    arm = planar(modes)

    def derive() -> list[Any]:
        traced = trace(arm)
        return [traced.placed(PARTS[name].expression(traced)) for name in MATRICES]

    return timed(derive)


def matrices(modes: Modes) -> float:
    """Seconds of flexarm's `equations`, from the description to all matrices in their canonical form."""
    arm = planar(modes)
    return timed(lambda: canonical(arm))


def canonical(arm: fa.Arm) -> Equations:
    """The equations with all matrices put in order."""
    forms = equations(arm)
    for name in MATRICES:
        getattr(forms, name)
    return forms


def rival_plain(modes: Modes) -> float:
    """Seconds of SymPy's by plain symbols, to the same."""
    return timed(lambda: lagrange.plain(modes))


def rival(modes: Modes) -> float:
    """Seconds of SymPy's, from nothing to the inertia matrix and the forces."""

    def derive() -> tuple[sp.Matrix, sp.Matrix]:
        method = lagrange.equations(modes)
        return method.mass_matrix, method.forcing

    return timed(derive)


def writing(modes: Modes) -> float:
    """Seconds of flexarm's whole way: derivation, canonical form of all matrices, LaTeX."""
    arm = planar(modes)
    return timed(lambda: canonical(arm).latex())


def sizes(modes: Modes) -> list[tuple[int, int]]:
    """Operations of flexarm's entries: as they are, and with the abbreviations put in."""
    forms = equations(planar(modes))
    return [(sp.count_ops(forms.M[entry]), sp.count_ops(forms.explicit(forms.M[entry]))) for entry in ENTRIES]


def rival_size(modes: Modes, entry: tuple[int, int], named: bool) -> int:
    """Operations of SymPy's entry as it comes."""
    return sp.count_ops(_rival_entry(modes, entry, named))


def rival_simplified(modes: Modes, entry: tuple[int, int], named: bool) -> tuple[int, float]:
    """The same simplified, and the seconds of that."""
    raw, found = _rival_entry(modes, entry, named), []
    seconds = timed(lambda: found.append(sp.simplify(raw)))
    return sp.count_ops(found[0]), seconds


def _rival_entry(modes: Modes, entry: tuple[int, int], named: bool) -> sp.Expr:
    """SymPy's entry; the angle between the first two links, slope and joint, may be one symbol."""
    raw = lagrange.equations(modes).mass_matrix[entry]
    if not named:
        return raw
    angles = {x.args[0] for x in raw.atoms(sp.sin, sp.cos)}
    return raw.subs({angle: sp.Symbol(f"angle_{i}") for i, angle in enumerate(sorted(angles, key=str))})


def apart(call: Callable[..., Any], *arguments: Any, limit: float | None = None) -> Any:
    """What a call gives in a fresh process, where SymPy remembers nothing; None if that lasts longer than limit [s]."""
    here, there = FRESH.Pipe(duplex=False)
    process = FRESH.Process(target=_answer, args=(there, call, arguments))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(limit) else None
    except EOFError:
        raise RuntimeError(f"{call.__name__}{arguments} failed") from None
    finally:
        process.kill()
        process.join()


def _answer(there: Connection, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    there.send(call(*arguments))


# -- tables ------------------------------------------------------------------------------------------------------------


def measure(quick: bool) -> list[Table]:
    """Derivation against SymPy's, canonical forms, and sizes."""
    repeats, limit = (1, 120.0) if quick else (3, 600.0)
    return [_derivations(quick, repeats, limit), _forms(repeats), _sizes(quick, limit)]


def _derivations(quick: bool, repeats: int, limit: float) -> Table:
    table = Table(
        "Deriving the equations of motion in symbols",
        ("planar arm", "flexarm", "SymPy", "SymPy / flexarm", "target", "met"),
    )
    for name, modes in ARMS.items():
        if quick and sum(modes) > 4:
            continue
        ours, theirs = [], []
        for _ in range(repeats):
            ours.append(apart(derivation, modes))
            theirs.append(apart(rival, modes, limit=limit))
            if theirs[-1] is None:
                break
        if theirs[-1] is None:
            least = limit / ours[-1]
            shown, ratio = f"> {time(limit)}", f"> {least:.0f}"
        else:
            ratios = np.divide(theirs, ours)
            least = float(np.median(ratios))
            shown, ratio = spread(theirs), f"{least:.0f} ({ratios.min():.0f} .. {ratios.max():.0f})"
        table.add(name, spread(ours), shown, ratio, f">= {FASTER}", "yes" if least >= FASTER else "**no**")
    table.notes.append(
        "Each time is that from the description to the unsimplified equations, in a fresh process. SymPy uses "
        "`LagrangesMethod` on an energy with the same symbols, including the modal integrals, and with velocities "
        "along the axes of the links. If SymPy differentiates with respect to plain symbols instead, it needs a third "
        "of this time (see the contest). A ratio is the median of the ratios of two samples that were taken one after "
        "the other."
    )
    return table


def _forms(repeats: int) -> Table:
    table = Table("Closed forms", ("planar arm", "time", "target", "met"))
    for name, modes in ARMS.items():
        table.compare(name, [apart(writing, modes) for _ in range(repeats)], CANONICAL[name])
    table.notes.append(
        "The time includes the derivation, the canonical forms of inertia, Coriolis, stiffness, gravity, input and "
        "damping terms, and LaTeX, in a fresh process."
    )
    return table


def _sizes(quick: bool, limit: float) -> Table:
    table = Table(
        "Operations of single expressions, 2 links with 2 modes each",
        ("entry", "angles", "flexarm", "SymPy", "SymPy simplified", "time of simplify", "simplified / flexarm"),
    )
    for (entry, name), ours in zip(ENTRIES.items(), apart(sizes, SIZED), strict=True):
        for named, count in zip((True, False), ours, strict=True):
            raw = apart(rival_size, SIZED, entry, named)
            simplified = apart(rival_simplified, SIZED, entry, named, limit=limit)
            row = [name, "as one symbol" if named else "written out", count, raw]
            if simplified is None:
                table.add(*row, "", f"> {time(limit)}", "")
            else:
                least, seconds = simplified
                table.add(*row, least, time(seconds), f"{least / count:.2f}")
    table.notes.append(
        "The numbers are those of `sympy.count_ops`. SymPy's entry is the result of `LagrangesMethod`, and then of "
        "`sympy.simplify`. In the rows with one symbol, the slope and the deflection of a tip are abbreviated in "
        "flexarm's form, and the angle within each sine is one symbol in SymPy's form. In the other rows neither form "
        "has abbreviations."
    )
    return table
