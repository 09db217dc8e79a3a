"""What a joint adds to its link: hub, bearing, actuator, rotor, and the spring and motor of an elastic joint."""

from dataclasses import replace

import casadi as ca
import numpy as np

from flexarm.arm import Beam, Fixed, Link, Telescope, tensor
from flexarm.links import Body, Loads, beam, rigid, slopes_of
from flexarm.spatial import Matrix, Scalar, Vector, dot, zeros
from flexarm.telescope import telescope


def body(link: Link, loads: Loads) -> Body:
    """The mechanics of a described link: the body, its hub, its drive."""
    if isinstance(link.joint, Telescope) and isinstance(link.body, Beam):
        made = telescope(link.body, link.joint, loads)
    elif isinstance(link.body, Beam):
        made = beam(link.body, loads)
    else:
        made = rigid(link.body)
    return _with_drive(_with_hub(made, link.hub_mass, tensor(link.hub_inertia)), link)


def _with_hub(body: Body, mass: float, inertia: np.ndarray) -> Body:
    """The body with a hub: mass at the base frame's origin, inertia that turns with the root of the beam."""
    if not mass and not inertia.any():
        return body
    k = body.size

    def with_hub(eta: Vector) -> Matrix:
        M = [list(row) for row in body.inertia(eta)]
        alpha, beta = body.root(eta)
        cz, sz, cy, sy = ca.cos(alpha), ca.sin(alpha), ca.cos(beta), ca.sin(beta)
        R = [[cz * cy, -sz, -cz * sy], [sz * cy, cz, -sz * sy], [sy, 0.0, cy]]  # Rz(alpha) Ry(-beta)
        slopes = slopes_of(body.root, k)
        rate = [[sz * b for b in slopes[1]], [-cz * b for b in slopes[1]], list(slopes[0])]  # alpha' e_z - beta' Rz e_y
        W = [[float(r == c) for c in range(3)] + [0.0] + rate[r] for r in range(3)]
        W = [[dot([R[n][r] for n in range(3)], [W[n][c] for n in range(3)]) for c in range(4 + k)] for r in range(3)]
        IW = [[dot(inertia[r].tolist(), [W[n][c] for n in range(3)]) for c in range(4 + k)] for r in range(3)]
        for r in range(3):
            M[r][r] = M[r][r] + mass
        for r in range(4 + k):
            for c in range(4 + k):
                M[3 + r][3 + c] = M[3 + r][3 + c] + dot([W[n][r] for n in range(3)], [IW[n][c] for n in range(3)])
        return M

    return replace(body, inertia=with_hub)


def _with_drive(body: Body, link: Link) -> Body:
    """The body with what its joint adds: bearing, actuator, rotor, and the spring and motor of an elastic joint.

    The actuator works on the angle (or length) a . (q, eta): q, and the slopes at a hub that turns with the shapes
    (Lin & Lewis: B' = [1, phi_1'(0), ...]); for a telescope the length in eta. A rotor's kinetic energy is 1/2 I_r
    times the square of G times its rate (relative), plus the turning of what carries it (absolute; DESIGN section 4).
    An elastic joint (Subudhi & Morris) has a motor coordinate theta, last in eta, that the actuator works on.
    """
    joint = link.joint
    if isinstance(joint, Fixed):
        return body
    k = body.size
    a = body.drive.copy()
    carrier = np.zeros(7 + k)  # turning of the frame before the joint, about its axis, in terms of (v, w, r, eta_dot)
    axis = np.array([1.0, 0.0, 0.0] if isinstance(joint, Telescope) else joint.axis)
    carrier[3:6] = axis
    if not isinstance(joint, Telescope):
        a[0] = 1.0
    if joint.type == "revolute":
        carrier[6] = -1.0
        slopes = np.array(slopes_of(body.root, k)).reshape(2, k)
        a[1:] = axis[2] * slopes[0] - axis[1] * slopes[1]

    elastic = int(joint.stiffness is not None)
    n = k + elastic
    a, carrier = (np.append(v, np.zeros(elastic)) for v in (a, carrier))
    motor = np.zeros(1 + n)
    motor[-1] = 1.0
    driven = motor if elastic else a
    rate = np.concatenate([np.zeros(6), driven])
    turning = joint.gear_ratio * rate + (carrier if joint.rotor == "absolute" else 0.0)
    rotor = joint.rotor_inertia * np.outer(turning, turning)
    stretch = motor - a
    D = joint.damping * np.outer(a, a)
    D[: 1 + k, : 1 + k] += body.damping
    if elastic:
        D += joint.spring_damping * np.outer(stretch, stretch)

    def inertia(eta: Vector) -> Matrix:
        M = zeros(7 + n, 7 + n)
        for r, row in enumerate(body.inertia(eta[:k])):
            M[r][: 7 + k] = row
        for r, c in np.argwhere(rotor):
            M[r][c] = M[r][c] + float(rotor[r, c])
        return M

    def potential(q: Scalar, eta: Vector) -> Scalar:
        V = body.potential(q, eta[:k])
        return V + 0.5 * (joint.stiffness or 0.0) * dot(stretch.tolist(), [q, *eta]) ** 2

    return Body(
        size=n,
        inertia=inertia,
        potential=potential,
        damping=D,
        drive=driven,
        tip=lambda eta: body.tip(eta[:k]),
        rest=(*body.rest, *([body.rest[0] if joint.type == "telescope" else 0.0] * elastic)),
        flexible=body.flexible,
        limits=body.limits,
        convects=body.convects,
    )
