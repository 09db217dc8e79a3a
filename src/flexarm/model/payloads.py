"""Payloads of a model: their inertia at its parameters, and the motion of the tips that carry them."""

from typing import TYPE_CHECKING

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import tensor
from flexarm.description import numbers
from flexarm.model.tracing import Traced

if TYPE_CHECKING:
    import casadi as ca


def owners(model: Traced) -> dict[str, int]:
    """Return the index of the link of each payload whose numbers vary, by the beginning of the numbers' names.

    That is "payload" for the payload of the arm and "upper.payload" for the payload of a link.
    """
    links = {f"{link.name}.payload": i for i, link in enumerate(model.arm.links)} | {"payload": model.arm.tip_link}
    return {name: i for name, i in links.items() if any(x.name.startswith(f"{name}.") for x in model.varied)}


def inertia(model: Traced, owner: str) -> Array:
    """Return the inertia (6, 6) of a payload for (v, w) of the tip that carries it, along the tip's axes."""
    nominal = model.arm.payloads[owners(model)[owner]]
    mass, turning = (0.0, tensor(0.0)) if nominal is None else (nominal.mass, tensor(nominal.inertia))
    names = [[numbers.entry_name(f"{owner}.inertia", turning, r, c) for c in range(3)] for r in range(3)]
    found = np.zeros((6, 6))
    found[:3, :3] = model.number(f"{owner}.mass", mass) * np.eye(3)
    found[3:, 3:] = [[model.number(names[r][c], turning[r, c]) for c in range(3)] for r in range(3)]
    return found


def tip_motion(model: Traced, link: int, q: Array) -> tuple[Array, Array]:
    """Return J (6, n), with (v, w) = J qd of a link's tip along its own axes, and its rotation R (3, 3) to the world.

    The frame of a fixed base is the world.
    """

    def trace() -> "ca.Function":
        import casadi as ca

        from flexarm.mechanics.outside import station
        from flexarm.mechanics.spatial import entries, matrix

        symbols = {"q": ca.SX.sym("q", model.nq), "qd": ca.SX.sym("qd", model.nv)}
        chain, local = model.posed(entries(symbols["q"]))
        here = station(chain, link, 1.0, local, entries(symbols["qd"]))
        J = ca.jacobian(ca.vertcat(*here.twist), symbols["qd"])
        return model.over_parameters("tip_motion", symbols, {"J": ca.densify(J), "R": ca.densify(matrix(here.frame.R))})

    function = model.with_numbers(model.traced(f"motion of the tip of link {link}", trace))
    J, R = function(q, np.zeros(model.nv))
    return np.array(J), np.array(R)
