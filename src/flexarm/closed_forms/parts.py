"""The parts of an arm's equations: their names, their expressions and their values.

This table is the only one of its kind. Closed forms, documents and source code use it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import casadi as ca
import numpy as np

from flexarm.arrays import Array
from flexarm.checks import checked_names, refused, unknown_name
from flexarm.closed_forms.traced import Traced, coriolis
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.mechanics.chain import tangent
from flexarm.model import Model, closures
from flexarm.model.linear import tip_jacobian


@final
@dataclass(frozen=True)
class Part:
    """A matrix or column that users can select.

    Attributes
    ----------
    letter : in formulas and in source code
    title : in documents
    meaning : in source code
    expression : its entries, still to be `placed`
    native : (model, q, qd) -> its numbers, by the native model
    column : True for a column, False for a matrix that may happen to have one column
    symmetric : True if a document need not show its lower half
    of_motion : True if it is part of the equations of motion
    of_poses : number of the links' poses in each of its products, on which its size in a document depends
    """

    letter: str
    title: str
    meaning: str
    expression: Callable[[Traced], ca.SX]
    native: Callable[[Model, Array, Array], Array]
    column: bool = False
    symmetric: bool = False
    of_motion: bool = False
    of_poses: int = 0


def _coriolis(model: Model, q: Array, qd: Array) -> Array:
    slope = ca.DM(np.array(model.slope("bias", 1)(q, qd)))
    return np.array(coriolis(slope, ca.DM(model.mass_matrix(q)), ca.DM(qd), model.arm.free))


PARTS = {
    "M": Part(
        "M",
        "Inertia matrix",
        "inertia matrix",
        lambda traced: traced.inertia,
        lambda model, q, qd: model.mass_matrix(q),
        symmetric=True,
        of_motion=True,
        of_poses=2,
    ),
    "D": Part(
        "D",
        "Coriolis matrix",
        "Coriolis matrix; D qd is the Coriolis and centrifugal force",
        lambda traced: traced.coriolis,
        _coriolis,
        of_motion=True,
        of_poses=2,
    ),
    "damping": Part(
        "C",
        "Damping matrix",
        "damping matrix",
        lambda traced: traced.damping,
        lambda model, q, qd: np.array(model.slope("damping_force", 1)(q, qd)),
        symmetric=True,
        of_motion=True,
    ),
    "U": Part(
        "U",
        "Stiffness matrix",
        "stiffness matrix",
        lambda traced: traced.stiffness,
        lambda model, q, qd: np.array(model.slope("stiffness_force", 0)(q)),
        symmetric=True,
        of_motion=True,
    ),
    "G": Part(
        "G",
        "Gravity",
        "gravity force",
        lambda traced: traced.gravity,
        lambda model, q, qd: model.gravity_force(q),
        column=True,
        of_motion=True,
        of_poses=1,
    ),
    "B": Part(
        "B",
        "Input matrix",
        "input matrix",
        lambda traced: traced.input,
        lambda model, q, qd: model.input_matrix(q),
        of_motion=True,
    ),
    "bias": Part(
        "h",
        "Coriolis and centrifugal force",
        "Coriolis and centrifugal force",
        lambda traced: traced.bias,
        lambda model, q, qd: model.bias(q, qd),
        column=True,
        of_poses=2,
    ),
    "stiffness_force": Part(
        "f",
        "Force of strain and springs",
        "force of strain and springs",
        lambda traced: traced.stiffness_force,
        lambda model, q, qd: model.stiffness_force(q),
        column=True,
    ),
    "energy": Part(
        "E",
        "Energies",
        "kinetic and potential energy [J]",
        lambda traced: traced.energy,
        lambda model, q, qd: np.array(model.energy(q, qd)),
        column=True,
        of_poses=2,
    ),
    "tip": Part(
        "T",
        "Pose of the tip",
        "pose of the tip",
        lambda traced: traced.tip,
        lambda model, q, qd: model.tip(q),
        of_poses=1,
    ),
    "jacobian": Part(
        "J",
        "Jacobian of the tip",
        "velocity and angular velocity of the tip, by the rates",
        lambda traced: traced.jacobian,
        lambda model, q, qd: tip_jacobian(model, q),
        of_poses=1,
    ),
    "kinematics": Part(
        "N",
        "Rates of the coordinates",
        "rates of the coordinates are N qd",
        lambda traced: traced.kinematics,
        lambda model, q, qd: np.array(tangent(model.chain, q.tolist())),
    ),
}
"""Parts by the names of the attributes of `Equations`."""

CLOSURE_PARTS = {
    "closure_jacobian": Part(
        "A",
        "Jacobian of the closures",
        "Jacobian of the gaps of the closures: A qd = 0",
        lambda traced: traced.closure_jacobian,
        lambda model, q, qd: closures.jacobian(model, q)[closures.restricting(model)],
        of_motion=True,
        of_poses=1,
    ),
    "closure_bias": Part(
        "b",
        "Accelerations of the gaps without accelerations of the coordinates",
        "accelerations of the gaps are A qdd + b",
        lambda traced: traced.closure_bias,
        lambda model, q, qd: closures.bias(model, q, qd)[closures.restricting(model)],
        column=True,
        of_motion=True,
        of_poses=1,
    ),
    "closure_gaps": Part(
        "g",
        "Gaps of the closures",
        "gaps of the closures [m or 1]",
        lambda traced: traced.closure_gaps,
        lambda model, q, qd: closures.gaps(model, q)[closures.restricting(model)],
        column=True,
        of_motion=True,
        of_poses=1,
    ),
}
"""Further parts of arms with closures, without conditions that hold in every position."""

ALL_PARTS = {**PARTS, **CLOSURE_PARTS}


def known(names: Any) -> tuple[str, ...]:
    """Return names of parts, each once; raises `DescriptionError` if there is no such part."""
    with refused():
        given = checked_names(names, f"a list of parts, out of {', '.join(ALL_PARTS)}", "parts")
    for name in given:
        if not isinstance(name, str) or name not in ALL_PARTS:
            raise DescriptionError(unknown_name("unknown part", name, ALL_PARTS, "known parts are"))
    return tuple(dict.fromkeys(given))


def of_motion(arm: Arm) -> tuple[str, ...]:
    """Names of the parts of the equations of motion.

    They include the force of strain if it is not U q, for a free base the matrix of its coordinates' rates, and the
    parts of closures.
    """
    names = tuple(name for name, part in PARTS.items() if part.of_motion)
    more = [*["stiffness_force"] * strain_apart(arm), *["kinematics"] * arm.free]
    return (*names, *more, *(CLOSURE_PARTS if arm.closures else ()))


def strain_apart(arm: Arm) -> bool:
    """True if the force of strain and springs is not U q: if U varies, or if q has more numbers than qd."""
    return arm.free or stiffness_varies(arm)


def motion_line(arm: Arm) -> str:
    """Text of the equations of motion in one line."""
    line = f"M qdd + (D + C) qd + {'f' if strain_apart(arm) else 'U q'} + G = B u"
    line = f"{line} + A' lambda, A qdd + b = 0, g = 0" if arm.closures else line
    return f"{line}, q' = N qd" if arm.free else line


def stiffness_varies(arm: Arm) -> bool:
    """True if U depends on a telescope's length."""
    return any(not link.joint.carries for link in arm.links if link.joint.moves)
