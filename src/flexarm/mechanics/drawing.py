"""What an arm looks like at a configuration: where its links' sections stand, its deflections as they are or magnified.

A deformed arm is the rigid one with the motions that its bodies' tip functions say between the joints. Magnified by s,
the tip functions' deviations from the undeformed body are multiplied with s, and so is what the springs of elastic
joints give way; s = 0 is the rigid arm, whose joints stand where the drives are.
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
    """The chain whose bodies deform s times as much; for where its frames stand, not for its dynamics."""

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
    """q with joints that are s times as far from where their motors are; springs are (joint, motor) positions."""
    found = list(q)
    for joint, motor in springs:
        found[joint] = q[motor] + s * (q[joint] - q[motor])
    return found


def drawing(
    chain: Chain, q: Vector, springs: Sequence[tuple[int, int]], count: int, s: Scalar
) -> tuple[list[Matrix], list[Frame]]:
    """Sections of every link at `count` stations, even along its (free) length; the bodies' frames, the last the tip.

    A section's row: its place (3) and its own y axis (3) in the base frame; the bending moments in y and z (2), and the
    distance from where the undeformed body has it (1), both as they are, not magnified.
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
    """A section's y axis: Rz(slope_y) Ry(-slope_z) Rx(torsion) e_y."""
    (cy, sy), (cz, sz), (ct, st) = cos_sin(slope_y), cos_sin(slope_z), cos_sin(torsion)
    return [-(cy * sz * st) - sy * ct, cy * ct - sy * sz * st, cz * st]
