"""Geometry of an arm at a configuration: positions of its links' sections, with actual or magnified deflections.

A deformed arm is the rigid arm with its bodies' tip functions inserted between the joints. With magnification s, the
differences of the tip functions from the undeformed body, and the deflections of elastic joints, are multiplied by s. s
= 0 is the rigid arm, with its joints at the angles of the drives.
"""

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca

from flexarm.mechanics import links as whole
from flexarm.mechanics.body import Body, undeformed
from flexarm.mechanics.chain import Chain, Frame, taken
from flexarm.mechanics.dynamics import frames
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, added, cos_sin, dot, product, scaled


def magnified(chain: Chain, s: Scalar) -> Chain:
    """Return the chain whose bodies deform s times as much. It is valid for frames, not for dynamics."""

    def larger(body: Body) -> Body:
        if not body.flexible:
            return body

        def outlet(x: float, eta: Vector) -> Vector:
            return _between(body.outlet(x, undeformed(body, eta)), body.outlet(x, eta), s)

        return replace(body, tip=lambda eta: outlet(1.0, eta), line=outlet)

    return replace(chain, bodies=tuple(larger(body) for body in chain.bodies))


def _between(still: Vector, now: Vector, s: Scalar) -> Vector:
    return added(still, scaled(s, added(now, scaled(-1.0, still))))


def relaxed(q: Vector, springs: Sequence[tuple[int, int]], s: Scalar) -> Vector:
    """Return q with elastic joints at s times their distance from the motors. Springs are (joint, motor) indices."""
    found = list(q)
    for joint, motor in springs:
        found[joint] = q[motor] + s * (q[joint] - q[motor])
    return found


def drawing(
    chain: Chain, q: Vector, springs: Sequence[tuple[int, int]], count: int, s: Scalar
) -> tuple[list[Matrix], list[Frame]]:
    """Return the sections of every link at `count` stations, evenly spaced, and the bodies' frames, the last the tip.

    A section's row contains its position (3) and its y axis (3) in the base frame, the bending moments in y and z (2),
    and the distance from the section of the undeformed body (1). The last three are not magnified.
    """
    moved = relaxed(q, springs, s)
    placed = frames(magnified(chain, s), moved)
    found = []
    for link, members in enumerate(chain.links):
        rows = []
        for k in range(count):
            x = k / (count - 1)
            member, station = whole.located(chain, link, x)
            i = members[member]
            body, frame, shown = chain.bodies[i], placed[i], taken(moved, chain.own[i])[1:]
            still, bent = body.section(station, undeformed(body, shown)), body.section(station, shown)
            *place, slope_y, slope_z, torsion = _between(still, bent, s)
            now, was = (whole.section(chain, link, x, q, deformed)[:3] for deformed in (True, False))
            away = added(now, scaled(-1.0, was))
            point = added(frame.p, product(frame.R, place))
            across = product(frame.R, _across(slope_y, slope_z, torsion))
            rows.append([*point, *across, *whole.bending_moment(chain, link, x, q), ca.sqrt(dot(away, away))])
        found.append(rows)
    return found, [*(placed[members[0]] for members in chain.links), placed[-1]]


def _across(slope_y: Scalar, slope_z: Scalar, torsion: Scalar) -> Vector:
    """Return a section's y axis: Rz(slope_y) Ry(-slope_z) Rx(torsion) e_y."""
    (cy, sy), (cz, sz), (ct, st) = cos_sin(slope_y), cos_sin(slope_z), cos_sin(torsion)
    return [-(cy * sz * st) - sy * ct, cy * ct - sy * sz * st, cz * st]
