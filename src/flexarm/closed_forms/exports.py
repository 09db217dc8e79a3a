"""An arm's equations as a program to be exported, and numbers to test it."""

import re
from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from flexarm.attitude import configuration, local
from flexarm.closed_forms.formats import RESERVED, Program
from flexarm.closed_forms.parts import ALL_PARTS, known, motion_line
from flexarm.closed_forms.traced import Traced
from flexarm.description.arm import Arm
from flexarm.model import Model


def program(traced: Traced, arm: Arm, parts: Sequence[str], numbers: Mapping[str, float]) -> Program:
    """Return a function of q, qd and the remaining parameters that returns the parts.

    Raises
    ------
    DescriptionError
        If there is no such part.
    """
    parts = known(parts)
    kept = tuple(p for p in traced.parameters if p.symbol not in numbers)
    symbols = dict(zip((p.symbol for p in traced.named), ca.vertsplit(traced.p), strict=True))
    values = ca.vertcat(*(numbers.get(name, x) for name, x in symbols.items()))
    expressions = [traced.placed(ALL_PARTS[part].expression(traced)) for part in parts]
    tips = [traced.placed(traced.tips), traced.placed(traced.tip_rates)]
    expressions = ca.substitute(expressions, [traced.s, traced.sd], tips)
    expressions = ca.substitute(expressions, [traced.p, traced.f], [ca.SX(values), traced.function_values])
    inputs = {"q": traced.q, "qd": traced.qd}
    if kept:
        inputs["p"] = ca.vertcat(*(symbols[p.symbol] for p in kept))
    results = ca.cse([ca.densify(x) for x in expressions])
    made = {ALL_PARTS[part].letter: (ALL_PARTS[part], x) for part, x in zip(parts, results, strict=True)}
    shapes: dict[str, tuple[int, ...]] = {n: (x.shape[0],) if part.column else x.shape for n, (part, x) in made.items()}
    return Program(
        name=identifier(arm),
        title=f"Equations of motion of {arm.name}: {motion_line(arm)}",
        function=ca.Function("parts", list(inputs.values()), results, list(inputs), list(made)),
        parameters=kept,
        entries={"q": arm.coordinates, "qd": arm.velocities},
        notes={n: part.meaning for n, (part, _) in made.items()},
        shapes=shapes,
    )


def identifier(arm: Arm) -> str:
    """Return the arm's name as a valid name of a function and its file, in all languages."""
    name = re.sub(r"[\W_]+", "_", arm.name, flags=re.ASCII).strip("_")
    name = name if name[:1].isalpha() else f"arm_{name}"
    name = name[:LONGEST]
    return f"{name}_" if name in RESERVED | OURS else name


OURS = {"q", "qd", "p", *(part.letter for part in ALL_PARTS.values())}
"""Names of inputs and outputs, which do not change with the arm's name."""

LONGEST = 60
"""Largest length of a function's name; MATLAB accepts 63 letters."""


def check(
    traced: Traced, arm: Arm, parts: Sequence[str], numbers: Mapping[str, float]
) -> tuple[dict[str, list[float]], dict[str, list]]:
    """Return a random state, and the parts there: from the native model, or the traced one for changed parameters."""
    rng = np.random.default_rng(1)
    n = len(arm.velocities)
    state = {
        "q": configuration(arm, local(arm, np.array(arm.rest)) + 0.1 * rng.normal(size=n)),
        "qd": rng.normal(size=n),
    }
    if any(p.value != numbers.get(p.symbol, p.value) for p in traced.parameters):
        function = program(traced, arm, parts, numbers).function
        p = [p.value for p in traced.parameters if p.symbol not in numbers]
        found = function(**state, **({"p": p} if p else {}))
        values = [np.array(found[name]) for name in function.name_out()]
    else:
        model = Model(arm)
        values = [ALL_PARTS[part].native(model, state["q"], state["qd"]) for part in parts]
    expected = {ALL_PARTS[part].letter: x.tolist() for part, x in zip(parts, values, strict=True)}
    return {name: x.tolist() for name, x in state.items()}, expected
