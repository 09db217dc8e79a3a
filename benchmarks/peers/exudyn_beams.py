"""Exudyn's beams for large deflections in a plane: geometrically exact ones (Simo & Vu-Quoc), and cables (ANCF).

Links are hinged by constraints on coordinates. A geometrically exact beam has angles at its nodes, where torques act
and rotors turn; it shears and has inertia of sections, both next to nothing. A cable has slopes: torques act on its
nodes, and rotors turn with massless frames that follow them.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.exudyn_models import exudyn, rotor_rates
from benchmarks.peers.exudyn_run import Parts, beams
from benchmarks.peers.tasks import Task

SHEAR = 1 / 3
"""GA over EA."""
SECTION = 1e-6
"""Inertia of a section over mass times length of its link. With none, accelerations of angles are undetermined."""


def coordinate(system: Any, node: int, number: int) -> int:
    """A marker on one coordinate of a node."""
    from exudyn import itemInterface as item

    return system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=number))


def inertia(system: Any, nodes: list[int], M: Any) -> None:
    """More mass matrix over the coordinates of these nodes."""
    from exudyn import itemInterface as item

    system.AddObject(item.ObjectGenericODE2(nodeNumbers=nodes, massMatrix=np.array(M)))


def assembled(system: Any, tip: int) -> int:
    """A sensor at the last node, with which the system is complete."""
    from exudyn import itemInterface as item

    kind = exudyn().OutputVariableType.Position
    sensor = item.SensorNode(nodeNumber=tip, outputVariableType=kind, storeInternal=True, writeToFile=False)
    sensor = system.AddSensor(sensor)
    system.Assemble()
    return sensor


def connected(system: Any, nodes: list[int], beam: Any, axial: float) -> None:
    """ANCF cables of one beam between its nodes, with axial stiffness `axial` [N]."""
    from exudyn import itemInterface as item

    for pair in pairwise(nodes):
        system.AddObject(
            item.ObjectANCFCable2D(
                nodeNumbers=list(pair),
                length=beam.length / (len(nodes) - 1),
                massPerLength=beam.total_mass / beam.length,
                bendingStiffness=beam.stiffness["y"],
                axialStiffness=axial,
                useReducedOrderIntegration=2,
            )
        )


def cables(task: Task, count: int, axial: float) -> Parts:
    """Each link so many ANCF cables of axial stiffness `axial` [N]; ours do not stretch."""
    from exudyn import itemInterface as item

    exu, e_z = exudyn(), np.array([0.0, 0.0, 1.0])
    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddNode(item.NodePointGround(referenceCoordinates=[0, 0, 0]))
    loads: list[Any] = []
    before, x = ground, 0.0

    def rigid(node: int) -> int:
        return system.AddMarker(item.MarkerNodeRigid(nodeNumber=node))

    def frame(node: int, at: float) -> int:
        """A massless one that moves and turns with a cable's node."""
        made = system.AddNode(item.NodeRigidBody2D(referenceCoordinates=[at, 0, 0]))
        joint = item.ObjectJointGeneric(markerNumbers=[rigid(node), rigid(made)], constrainedAxes=[1, 1, 0, 0, 0, 1])
        system.AddObject(joint)
        return made

    for i, (link, mass, about) in enumerate(beams(task)):
        beam, joint = link.body, link.joint
        h = beam.length / count
        places = [x + h * j for j in range(count + 1)]
        nodes = [system.AddNode(item.NodePoint2DSlope1(referenceCoordinates=[at, 0, 1, 0])) for at in places]
        connected(system, nodes, beam, axial)
        for c in (0, 1):
            markers = [coordinate(system, before, c), coordinate(system, nodes[0], c)]
            system.AddObject(item.ObjectConnectorCoordinate(markerNumbers=markers))
        for node, sign in ((nodes[0], 1.0), (before, -1.0)):
            if node != ground:
                load = system.AddLoad(item.LoadTorqueVector(markerNumber=rigid(node), loadVector=[0, 0, 0]))
                loads.append((i, load, "loadVector", sign * e_z))
        carrier, own = rotor_rates(joint)
        rotor = joint.rotor_inertia
        if rotor and before == ground:
            # of a slope of unit length: |slope'| = angle'
            inertia(system, [nodes[0]], rotor * own**2 * np.diag([0, 0, 1, 1]))
        elif rotor:
            v = np.array([0, 0, carrier, 0, 0, own])
            inertia(system, [frame(before, x), frame(nodes[0], x)], rotor * np.outer(v, v))
        before, x = nodes[-1], x + beam.length
        if mass:
            inertia(system, [before], np.diag([mass, mass, about, about]))
    return Parts(container, system, None, assembled(system, before), loads)


def exact(task: Task, count: int, axial: float) -> Parts:
    """Each link so many geometrically exact beams of three nodes."""
    from exudyn import itemInterface as item

    exu = exudyn()
    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddNode(item.NodePointGround(referenceCoordinates=[0, 0, 0]))
    loads: list[Any] = []
    before, x = ground, 0.0

    for i, (link, mass, about) in enumerate(beams(task)):
        beam, joint = link.body, link.joint
        places = x + np.linspace(0.0, beam.length, 2 * count + 1)
        nodes = [system.AddNode(item.NodeRigidBody2D(referenceCoordinates=[at, 0, 0])) for at in places]
        for j in range(0, 2 * count, 2):
            solid = item.ObjectBeamGeometricallyExact2D(
                nodeNumbers=nodes[j : j + 3],
                length=beam.length / count,
                massPerLength=beam.total_mass / beam.length,
                crossSectionInertia=SECTION * beam.total_mass * beam.length,
                bendingStiffness=beam.stiffness["y"],
                axialStiffness=axial,
                shearStiffness=SHEAR * axial,
            )
            system.AddObject(solid)
        for c in (0, 1):
            markers = [coordinate(system, before, c), coordinate(system, nodes[0], c)]
            system.AddObject(item.ObjectConnectorCoordinate(markerNumbers=markers))
        for node, sign in ((nodes[0], 1.0), (before, -1.0)):
            if node != ground:
                load = system.AddLoad(item.LoadCoordinate(markerNumber=coordinate(system, node, 2), load=0.0))
                loads.append((i, load, "load", sign))
        carrier, own = rotor_rates(joint)
        if before == ground:
            inertia(system, [nodes[0]], joint.rotor_inertia * np.diag([0, 0, own**2]))
        else:
            v = np.array([0, 0, carrier, 0, 0, own])
            inertia(system, [before, nodes[0]], joint.rotor_inertia * np.outer(v, v))
        before, x = nodes[-1], x + beam.length
        if mass:
            inertia(system, [before], np.diag([mass, mass, about]))
    return Parts(container, system, None, assembled(system, before), loads)
