"""An arm's equations as a program to be written out, and the numbers it must give."""

import re
from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from flexarm.closed_forms.formats import Program
from flexarm.closed_forms.traced import Traced
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.model import Model

MATRICES = ("M", "D", "damping", "U", "G", "B")
"""The matrices of the equations of motion; G is a column."""

Array = np.ndarray

NOTES = {
    "M": "inertia matrix",
    "D": "Coriolis matrix; D qd is the Coriolis and centrifugal force",
    "damping": "damping matrix",
    "U": "stiffness matrix",
    "G": "gravity force",
    "B": "input matrix",
    "bias": "Coriolis and centrifugal force",
    "stiffness_force": "force of strain and springs",
    "energy": "kinetic and potential energy [J]",
    "tip": "pose of the tip",
    "jacobian": "velocity and angular velocity of the tip, by the coordinates' rates",
}
"""What can be written out."""

LETTERS = {"damping": "C", "bias": "h", "stiffness_force": "f", "energy": "E", "tip": "T", "jacobian": "J"}


def program(traced: Traced, arm: Arm, parts: Sequence[str], numbers: Mapping[str, float]) -> Program:
    """A function of q, qd and the parameters that are no numbers, which gives the parts.

    Raises
    ------
    DescriptionError
        When there is no such part.
    """
    for part in parts:
        if part not in NOTES:
            raise DescriptionError(f"no part {part!r}; there are {', '.join(NOTES)}")
    kept = tuple(p for p in traced.parameters if p.symbol not in numbers)
    symbols = dict(zip((p.symbol for p in traced.named), ca.vertsplit(traced.p), strict=True))
    values = ca.vertcat(*(numbers.get(name, x) for name, x in symbols.items()))
    expressions = [traced.part(part) for part in parts]
    expressions = ca.substitute(expressions, [traced.s, traced.sd], [traced.tips, traced.tip_rates])
    expressions = ca.substitute(expressions, [traced.p], [ca.SX(values)])
    inputs = {"q": traced.q, "qd": traced.qd}
    if kept:
        inputs["p"] = ca.vertcat(*(symbols[p.symbol] for p in kept))
    names = [LETTERS.get(part, part) for part in parts]
    name = identifier(arm)
    results = ca.cse([ca.densify(x) for x in expressions])
    square = ("M", "D", "C", "U", "B", "T", "J")
    shapes: dict[str, tuple[int, ...]] = {
        n: x.shape if n in square else (x.shape[0],) for n, x in zip(names, results, strict=True)
    }
    return Program(
        name=name,
        title=f"Equations of motion of {arm.name}: M qdd + (D + C) qd + {'f' if _varies(arm) else 'U q'} + G = B u",
        function=ca.Function(name, list(inputs.values()), results, list(inputs), names),
        parameters=kept,
        entries={"q": arm.coordinates, "qd": arm.coordinates},
        notes={name: NOTES[part] for name, part in zip(names, parts, strict=True)},
        shapes=shapes,
    )


def matrices(arm: Arm) -> tuple[str, ...]:
    """What is written out if nothing else is asked for: of a telescope the force of strain too, which is not U q."""
    return (*MATRICES, "stiffness_force") if _varies(arm) else MATRICES


def _varies(arm: Arm) -> bool:
    return any(not link.joint.carries for link in arm.links if link.joint.moves)


def identifier(arm: Arm) -> str:
    """The arm's name as that of a function."""
    name = re.sub(r"\W+", "_", arm.name, flags=re.ASCII).strip("_")
    return name if name[:1].isalpha() else f"arm_{name}"


def check(
    traced: Traced, arm: Arm, parts: Sequence[str], numbers: Mapping[str, float]
) -> tuple[dict[str, list[float]], dict[str, list]]:
    """A random state, and the parts there: the native model's, or, where a parameter was changed, those traced."""
    rng = np.random.default_rng(1)
    n = len(arm.coordinates)
    state = {"q": np.array(arm.rest) + 0.1 * rng.normal(size=n), "qd": rng.normal(size=n)}
    if any(p.value != numbers.get(p.symbol, p.value) for p in traced.parameters):
        function = program(traced, arm, parts, numbers).function
        p = [p.value for p in traced.parameters if p.symbol not in numbers]
        found = function(**state, **({"p": p} if p else {}))
        values = [np.array(found[name]) for name in function.name_out()]
    else:
        model = Model(arm)
        values = [_native(model, part, **state) for part in parts]
    names = [LETTERS.get(part, part) for part in parts]
    expected = {name: x.tolist() for name, x in zip(names, values, strict=True)}
    return {name: x.tolist() for name, x in state.items()}, expected


def _native(model: Model, part: str, q: Array, qd: Array) -> Array:
    """The native model's numbers for a part; what it has no function for are slopes of those it has."""
    if part == "jacobian":
        return _jacobian(model, q)
    slopes = {"U": ("stiffness_force", 0, (q,)), "D": ("bias", 1, (q, qd)), "damping": ("damping_force", 1, (q, qd))}
    if part in slopes:
        quantity, argument, state = slopes[part]
        return np.array(model.slope(quantity, argument)(*state)) * (0.5 if part == "D" else 1.0)
    quantities = {"M": "mass_matrix", "G": "gravity_force", "B": "input_matrix"}
    state = (q, qd) if part in ("bias", "energy") else (q,)
    return np.array(getattr(model, quantities.get(part, part))(*state))


def _jacobian(model: Model, q: Array) -> Array:
    """From the slopes of the tip's pose, whose entries CasADi counts down columns."""
    slope = np.array(model.slope("tip", 0)(q)).reshape(4, 4, -1, order="F")
    R = model.tip(q)[:3, :3]
    turning = np.einsum("ijk,lj->ilk", slope[:3, :3], R)
    return np.vstack([slope[:3, 3], turning[2, 1], turning[0, 2], turning[1, 0]])
