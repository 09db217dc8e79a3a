"""Strain energy of a beam, as a matrix over its coordinates."""

from flexarm.description.arm import DIRECTIONS
from flexarm.mechanics.body import symmetric, without_rounding
from flexarm.mechanics.modal import named_curvature, named_shear, named_shearing, named_stiffness, shear_at_base
from flexarm.mechanics.parameters import Name
from flexarm.mechanics.shaped import Shaped
from flexarm.mechanics.spatial import Matrix, Scalar, zeros


def stiffness(beam: Shaped, name: Name, length: Scalar) -> Matrix:
    """Return the matrix of the strain energy over eta: bending by curvature, torsion and stretch by slope.

    With shear, the curvature is psi', and the shear strain is phi' - psi.
    """
    K = zeros(beam.size, beam.size)
    along, description = beam.along, beam.description
    for d, (values, order) in enumerate(zip((along.EI_y, along.EI_z, along.GJ, along.EA), (2, 2, 1, 1), strict=True)):
        here = range(beam.start[d], beam.start[d + 1])
        if not here:
            continue
        rigidity = named_stiffness(description, name, d)
        s = beam.bases[d].turned(beam.x, 1) if d < 2 else beam.bases[d].values(beam.x, 1)
        share = values / description.stiffness[DIRECTIONS[d]] * beam.weights
        for i, row in zip(here, without_rounding(symmetric((s.T * share) @ s)), strict=True):
            for j, value in zip(here, row, strict=True):
                one, other = beam.modes[i], beam.modes[j]
                K[i][j] = rigidity / length ** (2 * order - 1) * named_curvature(name, one, other, value, order)
    for d, kGA in enumerate((along.kGA_y, along.kGA_z)):
        here = range(beam.start[d], beam.start[d + 1])
        if not (here and kGA.any()):
            continue
        rigidity = named_shear(description, name, d)
        s = beam.bases[d].values(beam.x, 1) - beam.bases[d].turned(beam.x)
        share = kGA / shear_at_base(description, d) * beam.weights
        for i, row in zip(here, symmetric((s.T * share) @ s), strict=True):
            for j, value in zip(here, row, strict=True):
                K[i][j] = K[i][j] + rigidity / length * named_shearing(name, beam.modes[i], beam.modes[j], value)
    return K
