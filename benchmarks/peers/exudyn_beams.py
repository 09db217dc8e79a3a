"""Exudyn's beams for large deflections in a plane: cables of the absolute nodal coordinate formulation (ANCF).

Links are hinged by constraints on coordinates, torques act on the nodes' slopes. What turns with a joint, a rotor,
turns with massless frames that follow the nodes' slopes.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.exudyn_models import exudyn, rotor_rates
from benchmarks.peers.exudyn_run import Parts, beams
from benchmarks.peers.tasks import Task

REDUCED = 2


def cables(task: Task, count: int, axial: float) -> Parts:
    """Each link so many ANCF cables of axial stiffness `axial` [N]; ours do not stretch."""
    from exudyn import itemInterface as item

    exu, e_z = exudyn(), np.array([0.0, 0.0, 1.0])
    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddNode(item.NodePointGround(referenceCoordinates=[0, 0, 0]))
    loads: list[Any] = []
    before, x = ground, 0.0

    def coordinate(node: int, number: int) -> int:
        return system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=number))

    def rigid(node: int) -> int:
        return system.AddMarker(item.MarkerNodeRigid(nodeNumber=node))

    def frame(node: int, at: float) -> int:
        """A massless one that moves and turns with a cable's node."""
        made = system.AddNode(item.NodeRigidBody2D(referenceCoordinates=[at, 0, 0]))
        joint = item.ObjectJointGeneric(markerNumbers=[rigid(node), rigid(made)], constrainedAxes=[1, 1, 0, 0, 0, 1])
        system.AddObject(joint)
        return made

    def inertia(nodes: list[int], M: Any) -> None:
        system.AddObject(item.ObjectGenericODE2(nodeNumbers=nodes, massMatrix=np.array(M)))

    for i, (link, mass, about) in enumerate(beams(task)):
        beam, joint = link.body, link.joint
        h = beam.length / count
        places = [x + h * j for j in range(count + 1)]
        nodes = [system.AddNode(item.NodePoint2DSlope1(referenceCoordinates=[at, 0, 1, 0])) for at in places]
        for pair in pairwise(nodes):
            system.AddObject(
                item.ObjectANCFCable2D(
                    nodeNumbers=list(pair),
                    length=h,
                    massPerLength=beam.total_mass / beam.length,
                    bendingStiffness=beam.stiffness["y"],
                    axialStiffness=axial,
                    useReducedOrderIntegration=REDUCED,
                )
            )
        for c in (0, 1):
            markers = [coordinate(before, c), coordinate(nodes[0], c)]
            system.AddObject(item.ObjectConnectorCoordinate(markerNumbers=markers))
        for node, sign in ((nodes[0], 1.0), (before, -1.0)):
            if node != ground:
                load = system.AddLoad(item.LoadTorqueVector(markerNumber=rigid(node), loadVector=[0, 0, 0]))
                loads.append((i, load, "loadVector", sign * e_z))
        carrier, own = rotor_rates(joint)
        rotor = joint.rotor_inertia
        if rotor and before == ground:
            inertia([nodes[0]], rotor * own**2 * np.diag([0, 0, 1, 1]))  # of a slope of unit length: |slope'| = angle'
        elif rotor:
            v = np.array([0, 0, carrier, 0, 0, own])
            inertia([frame(before, x), frame(nodes[0], x)], rotor * np.outer(v, v))
        before, x = nodes[-1], x + beam.length
        if mass:
            inertia([before], np.diag([mass, mass, about, about]))
    kind = exu.OutputVariableType.Position
    tip = item.SensorNode(nodeNumber=before, outputVariableType=kind, storeInternal=True, writeToFile=False)
    tip = system.AddSensor(tip)
    system.Assemble()
    return Parts(container, system, None, tip, loads)
