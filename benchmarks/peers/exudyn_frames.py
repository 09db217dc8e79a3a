"""Exudyn's floating frames of reference: each link one modally reduced body, or several in a row (substructures).

The shapes are powers of the place along a segment, clamped at its beginning; its mass is a row of points, from which
the constant integrals of the formulation follow as in Exudyn's own `ObjectFFRFreducedOrderInterface`.
"""

from typing import Any

import numpy as np

from benchmarks.exudyn_models import exudyn, rotor_rates
from benchmarks.peers.exudyn_run import Parts, beams
from benchmarks.peers.tasks import Array, Task

GAUSS = np.polynomial.legendre.leggauss(8)
WIDTH = 0.1
"""[m] of the four points about a segment's end, which show how it turns."""


def shapes(x: Array, length: float, modes: int) -> tuple[Array, Array]:
    """Deflections and slopes of the shapes (x / length)^2, ^3, ..., (points, modes) each."""
    s, p = np.atleast_1d(x)[:, None] / length, np.arange(2, 2 + modes)
    return s**p, p * s ** (p - 1) / length


def shown(points: Array, x: Array, length: float, modes: int) -> Array:
    """Displacements of points that ride on the sections at x, (3 points, modes)."""
    w, slope = shapes(x, length, modes)
    return np.stack([-points[:, 1:2] * slope, w + (points[:, :1] - x[:, None]) * slope, 0 * w], axis=1).reshape(
        -1, modes
    )


def segment(
    system: Any, length: float, line: float, EI: float, modes: int, at: float, rider: tuple[float, float]
) -> tuple[Any, Any, Any]:
    """A segment in a floating frame: its body, the node of the frame, that of the modes."""
    from exudyn import itemInterface as item
    from exudyn.rigidBodyUtilities import ComputeSkewMatrix

    x, dx = length / 2 * (1 + GAUSS[0]), length / 2 * GAUSS[1]
    points, mass, section = np.outer(x, [1.0, 0, 0]), line * dx, x
    if rider[0]:  # six points with its mass and inertia
        r = np.sqrt(1.5 * rider[1] / rider[0])
        points = np.vstack([points, [length, 0, 0] + r * np.vstack([np.eye(3), -np.eye(3)])])
        mass, section = np.append(mass, [rider[0] / 6] * 6), np.append(x, [length] * 6)
    Psi = shown(points, section, length, modes)
    M = np.diag(np.repeat(mass, 3))
    p = np.arange(2, 2 + modes)
    K = EI / length**3 * np.outer(p * (p - 1), p * (p - 1)) / (p[:, None] + p - 3)
    R, D, N = ComputeSkewMatrix(points.ravel()), ComputeSkewMatrix(Psi), np.kron(np.ones(len(mass)), np.eye(3)).T
    zero = [0.0] * modes
    frame = system.AddNode(item.NodeRigidBodyRxyz(referenceCoordinates=[at, 0, 0, 0, 0, 0]))
    modal = system.AddNode(
        item.NodeGenericODE2(
            numberOfODE2Coordinates=modes, referenceCoordinates=zero, initialCoordinates=zero, initialCoordinates_t=zero
        )
    )
    corners = np.array([[length, WIDTH, 0], [length, -WIDTH, 0], [length, 0, WIDTH], [length, 0, -WIDTH]])
    body = system.AddObject(
        item.ObjectFFRFreducedOrder(
            nodeNumbers=[frame, modal],
            massMatrixReduced=dense(Psi.T @ M @ Psi),
            stiffnessMatrixReduced=dense(K),
            dampingMatrixReduced=dense(0 * K),
            modeBasis=shown(corners, corners[:, 0], length, modes),
            outputVariableModeBasis=np.zeros((0, 0)),
            referencePositions=corners.ravel(),
            mass=mass.sum(),
            inertia=R.T @ M @ R + np.diag([1e-3 * line * length**3, 0, 0]),
            centerOfMass=mass @ points / mass.sum(),
            mPsiTildePsi=D.T @ M @ Psi,
            mPsiTildePsiTilde=D.T @ M @ D,
            mPhitTPsi=N.T @ M @ Psi,
            mPhitTPsiTilde=N.T @ M @ D,
            mXRefTildePsi=R.T @ M @ Psi,
            mXRefTildePsiTilde=R.T @ M @ D,
        )
    )
    return body, frame, modal


def dense(values: Array) -> Any:
    """A matrix as Exudyn takes it."""
    found = exudyn().MatrixContainer()
    found.SetWithDenseMatrix(values, useDenseMatrix=True)
    return found


def frames(task: Task, count: int, modes: int) -> Parts:
    """Each link so many segments in a row."""
    from exudyn import itemInterface as item

    exu, e_z = exudyn(), np.array([0.0, 0.0, 1.0])
    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddObject(item.ObjectGround())
    end = system.AddMarker(item.MarkerBodyRigid(bodyNumber=ground))
    loads: list[Any] = []
    before: tuple[list[Any], list[float]] = (
        [],
        [],
    )  # nodes of the segment before, and the rate of turn of its end over them
    x = 0.0
    for i, (link, *rider) in enumerate(beams(task)):
        beam, joint = link.body, link.joint
        h = beam.length / count
        for j in range(count):
            body, frame, modal = segment(
                system,
                h,
                beam.total_mass / beam.length,
                beam.stiffness["y"],
                modes,
                x,
                rider if j == count - 1 else (0.0, 0.0),
            )
            base = system.AddMarker(item.MarkerNodeRigid(nodeNumber=frame))
            system.AddObject(
                item.ObjectJointGeneric(markerNumbers=[end, base], constrainedAxes=[1, 1, 0, 0, 0, int(j > 0)])
            )
            if j == 0:
                for marker, sign in ((base, 1.0), (end, -1.0))[: 1 + (i > 0)]:
                    load = system.AddLoad(item.LoadTorqueVector(markerNumber=marker, loadVector=[0, 0, 0]))
                    loads.append((i, load, "loadVector", sign * e_z))
                if joint.rotor_inertia:
                    carrier, own = rotor_rates(joint)
                    v = np.array([*(carrier * np.array(before[1])), 0, 0, 0, 0, 0, own])
                    M = joint.rotor_inertia * np.outer(v, v)
                    system.AddObject(item.ObjectGenericODE2(nodeNumbers=[*before[0], frame], massMatrix=M))
            x += h
            before = [frame, modal], [0, 0, 0, 0, 0, 1.0, *shapes(h, h, modes)[1][0]]
            end = system.AddMarker(
                item.MarkerSuperElementRigid(bodyNumber=body, meshNodeNumbers=[0, 1, 2, 3], weightingFactors=[0.25] * 4)
            )
    tip = system.AddSensor(
        item.SensorMarker(
            markerNumber=end, outputVariableType=exu.OutputVariableType.Position, storeInternal=True, writeToFile=False
        )
    )
    system.Assemble()
    return Parts(container, system, None, tip, loads)
