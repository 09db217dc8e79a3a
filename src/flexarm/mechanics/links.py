"""Complete links, which are one body or the segments of a beam: positions of sections, curvatures, moments."""

import casadi as ca

from flexarm.mechanics.body import undeformed
from flexarm.mechanics.chain import Chain, member_of, taken
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, added, cos_sin, dot, product, scaled


def tip(chain: Chain, link: int, q: Vector) -> Vector:
    """Return the six tip functions of a link, in its base frame."""
    return _placed(chain, link, len(chain.links[link]) - 1, 1.0, q, True)


def section(chain: Chain, link: int, x: float, q: Vector, deformed: bool = True) -> Vector:
    """Return position and angles of a section of a link at a station, in its base frame, like `Body.tip`."""
    member, station = located(chain, link, x)
    return _placed(chain, link, member, station, q, deformed)


def curvature(chain: Chain, link: int, x: float, q: Vector) -> Vector:
    """Return the curvature in y and z at a station of a link [1/m]."""
    member, station = located(chain, link, x)
    i = chain.links[link][member]
    return chain.bodies[i].curvature(station, taken(q, chain.own[i])[1:])


def bending_moment(chain: Chain, link: int, x: float, q: Vector) -> Vector:
    """Return the bending moment in y and z at a station of a link [N m]."""
    member, station = located(chain, link, x)
    i = chain.links[link][member]
    return chain.bodies[i].bending_moment(station, taken(q, chain.own[i])[1:])


def located(chain: Chain, link: int, x: float) -> tuple[int, float]:
    """Return the index of the link's body that contains the station x of the link, and the station on the body."""
    return member_of(len(chain.links[link]), x)


def _placed(chain: Chain, link: int, member: int, station: float, q: Vector, deformed: bool) -> Vector:
    """Return position and angles of a section of one of the link's bodies.

    For several bodies they are composed. The angles are those near the sums of the bodies' angles, so that a link may
    bend by more than half a turn.
    """
    before = []
    for i in chain.links[link][: member + 1]:
        body, eta = chain.bodies[i], taken(q, chain.own[i])[1:]
        eta = eta if deformed else undeformed(body, eta)
        last = i == chain.links[link][member]
        before.append(body.outlet(station if last else 1.0, eta))
    if len(before) == 1:
        return before[0]
    p: Vector = [0.0] * 3
    R: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    angles: Vector = [0.0] * 3
    for s in before:
        p = added(p, product(R, s[:3]))
        R = [product([list(column) for column in zip(*turned(*s[3:]), strict=True)], row) for row in R]
        angles = added(angles, s[3:])
    return [*p, *_angles(R, *angles)]


def turned(slope_y: Scalar, slope_z: Scalar, torsion: Scalar) -> Matrix:
    """Return Rz(slope_y) Ry(-slope_z) Rx(torsion)."""
    (cy, sy), (cz, sz), (ct, st) = cos_sin(slope_y), cos_sin(slope_z), cos_sin(torsion)
    return [
        [cy * cz, -(cy * sz * st) - sy * ct, sy * st - cy * sz * ct],
        [sy * cz, cy * ct - sy * sz * st, -(sy * sz * ct) - cy * st],
        [sz, cz * st, cz * ct],
    ]


def turn_of(R: Matrix) -> Vector:
    """Return the rotation vector of a matrix, its axis times its angle, which is smooth except at half a turn.

    Its slope at zero rotation is exact, because the size there is 1e-30 instead of 0.
    """
    sine = [0.5 * (R[2][1] - R[1][2]), 0.5 * (R[0][2] - R[2][0]), 0.5 * (R[1][0] - R[0][1])]
    size = ca.sqrt(dot(sine, sine) + 1e-60)
    return scaled(ca.atan2(size, 0.5 * (R[0][0] + R[1][1] + R[2][2] - 1.0)) / size, sine)


def _angles(R: Matrix, about_z: Scalar, about_y: Scalar, about_x: Scalar) -> Vector:
    """Return the angles of `turned`: of the two possible sets the one near three others, with complete turns added."""
    way = ca.if_else(ca.cos(about_y) < 0.0, -1.0, 1.0)
    level = ca.sqrt(R[0][0] * R[0][0] + R[1][0] * R[1][0])
    return [
        _near(about_z, way * R[1][0], way * R[0][0]),
        _near(about_y, R[2][0], way * level),
        _near(about_x, way * R[2][1], way * R[2][2]),
    ]


def _near(angle: Scalar, y: Scalar, x: Scalar) -> Scalar:
    """Return atan2(y, x) with complete turns added so that it is near an angle."""
    c, s = cos_sin(angle)
    return angle + ca.atan2(y * c - x * s, x * c + y * s)
