"""Bodies without local coordinates: rigid links and the payload."""

from flexarm.description.arm import Payload, Rigid, tensor
from flexarm.description.bodies import Frame
from flexarm.description.free import FreeBase
from flexarm.mechanics.body import Body, frame_inertia
from flexarm.mechanics.lumps import on_rigid, riding
from flexarm.mechanics.parameters import Name, value_of
from flexarm.mechanics.spatial import Matrix, Scalar, Vector, added, scaled, zeros
from flexarm.mechanics.tensors import about_origin, named_tensor


def rigid(description: Rigid, name: Name = value_of) -> Body:
    """Return a rigid link; its tip is at (length, 0, 0)."""
    m = name("m", "mass", description.mass, "kg", "mass")
    length = name("L", "length", description.length, "m", "length")
    x, y, z = description.center
    middle = None if description.com is not None else lambda: 0.5 * length
    c = [
        name("lc", "com.x", x, "m", "centre of mass along x", middle),
        name("yc", "com.y", y, "m", "centre of mass along y"),
        name("zc", "com.z", z, "m", "centre of mass along z"),
    ]
    rod = None if description.inertia is not None else lambda r, s: m * length**2 / 12.0 if r == s != 0 else 0.0
    about = "moment of inertia about the centre of mass"
    I = named_tensor(description.inertia_tensor, name, "I", "inertia", about, rod)
    I, S = about_origin(I, m, c), scaled(m, c)
    if description.lumps:
        more, first, second = on_rigid(riding(description.lumps, name), length)
        m, S, I = m + more, added(S, first), [added(row, other) for row, other in zip(I, second, strict=True)]
    return _lump(m, S, I, length)


def frame(description: Frame, name: Name = value_of) -> Body:
    """Return a body without mass; its tip is at (length, 0, 0)."""
    return _lump(0.0, [0.0] * 3, zeros(3, 3), name("L", "length", description.length, "m", "length"))


def free_base(description: FreeBase, name: Name = value_of) -> Body:
    """Return the body of a free base; its frame is the base's."""
    m = name("m", "mass", description.mass, "kg", "mass of the base")
    c = [
        name(f"c{axis}", f"com.{axis}", value, "m", f"centre of mass of the base along {axis}")
        for axis, value in zip("xyz", description.com, strict=True)
    ]
    about = "moment of inertia of the base about its centre of mass"
    I = named_tensor(tensor(description.inertia), name, "I", "inertia", about)
    return _lump(m, scaled(m, c), about_origin(I, m, c), 0.0)


def payload(description: Payload | None, name: Name = value_of, field: str = "") -> Body:
    """Return the body of a payload at a tip, without mass if there is no payload.

    Its fields have the prefix `field`.
    """
    mass, inertia = (0.0, 0.0) if description is None else (description.mass, description.inertia)
    m = name("mP", f"{field}mass", mass, "kg", "mass of the payload")
    I = named_tensor(tensor(inertia), name, "IP", f"{field}inertia", "moment of inertia of the payload")
    return _lump(m, [0.0] * 3, I, 0.0)


def _lump(m: Scalar, S: Vector, J: Matrix, length: Scalar) -> Body:
    """Return a body without local coordinates, from mass, first moment and second moment about its base."""
    M = frame_inertia(m, S, J, 0)
    tip = [length, 0.0, 0.0, 0.0, 0.0, 0.0]
    return Body(0, lambda eta: M, lambda q, eta: 0.0, zeros(1, 1), [0.0], lambda eta: tip)
