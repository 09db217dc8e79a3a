"""Export to Exudyn: a script that builds and runs an arm's lumped equivalent as a kinematic tree in minimal
coordinates.

Joints turn about (or slide along) the z-axes of their frames. Springs and dampers of hinges are the tree's proportional
and derivative terms. Rotors, and the motors of elastic joints with their transmissions, are matrices over the
coordinates of the tree and of the motors. Joints that follow others are constraints on coordinates.
"""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.arrays import Array
from flexarm.checks import checked_instance, refused
from flexarm.description.arm import Arm
from flexarm.description.closures import refuse_closures
from flexarm.description.gears import Gear
from flexarm.description.joints import refuse_balls
from flexarm.errors import DescriptionError
from flexarm.exports.lumped import SEGMENTS, Lumped, lumped
from flexarm.files import check_ending, write_whole
from flexarm.model import ModelLike, as_model

ENDING = ".py"
"""Ending of the file name. Python imports no other."""

RUN = '''

def build(torques=None, start=START, rates=None):
    """The assembled system, its tip's sensor and the loads of INPUTS.

    torques, where given, is a list of functions f(mbs, t, load) -> [N m or N], one for each of INPUTS; start and rates
    are those of JOINTS, then of MOTORS.
    """
    container = exu.SystemContainer()
    system = container.AddSystem()
    n, m = len(JOINTS), len(MOTORS)
    rates = [0.0] * (n + m) if rates is None else list(rates)
    tree_node = system.AddNode(item.NodeGenericODE2(
        numberOfODE2Coordinates=n, referenceCoordinates=[0.0] * n,
        initialCoordinates=start[:n], initialCoordinates_t=rates[:n]))
    tree = system.AddObject(item.ObjectKinematicTree(
        nodeNumber=tree_node,
        jointTypes=[exu.JointType.RevoluteZ if turns else exu.JointType.PrismaticZ for turns in TURNS],
        linkParents=PARENTS,
        jointTransformations=exu.Matrix3DList([np.array(R) for R in ROTATIONS]),
        jointOffsets=exu.Vector3DList(OFFSETS),
        linkInertiasCOM=exu.Matrix3DList([np.array(I) for I in INERTIAS]),
        linkCOMs=exu.Vector3DList(CENTERS),
        linkMasses=MASSES,
        gravity=GRAVITY,
        jointPControlVector=STIFFNESS,
        jointDControlVector=DAMPING,
        jointPositionOffsetVector=REST,
        jointVelocityOffsetVector=[0.0] * n,
    ))
    turning = np.eye(n + m)
    for rotor, joint, share in CARRIED:
        turning[rotor, joint] = share
    M = turning.T @ np.diag([*ROTORS, *[rotor for _, rotor, _, _ in MOTORS]]) @ turning
    nodes, K, D = [tree_node], None, None
    if m:
        nodes.append(system.AddNode(item.NodeGenericODE2(
            numberOfODE2Coordinates=m, referenceCoordinates=[0.0] * m,
            initialCoordinates=start[n:], initialCoordinates_t=rates[n:])))
        K, D = np.zeros((n + m, n + m)), np.zeros((n + m, n + m))
        for i, (joint, _, k, d) in enumerate(MOTORS):
            pair = np.ix_([joint, n + i], [joint, n + i])
            K[pair] += k * np.array([[1.0, -1.0], [-1.0, 1.0]])
            D[pair] += d * np.array([[1.0, -1.0], [-1.0, 1.0]])
    if m or any(ROTORS):
        more = dict(stiffnessMatrix=K, dampingMatrix=D) if m else {}
        system.AddObject(item.ObjectGenericODE2(nodeNumbers=nodes, massMatrix=M, **more))
    if GEARS:
        ratios, offsets = np.zeros((len(GEARS), n)), [offset for _, _, offset in GEARS]
        for i, (joint, leaders, _) in enumerate(GEARS):
            ratios[i, joint] = 1.0
            for leader, ratio in leaders:
                ratios[i, leader] = -ratio
        ground = system.AddNode(item.NodePointGround())
        ends = [system.AddMarker(item.MarkerNodeCoordinates(nodeNumber=node)) for node in (ground, tree_node)]
        system.AddObject(item.ObjectConnectorCoordinateVector(
            markerNumbers=ends, scalingMarker0=np.zeros((len(GEARS), 0)), scalingMarker1=ratios, offset=offsets))
    loads = []
    for i, place in enumerate(DRIVEN):
        node, coordinate = (nodes[0], place) if place >= 0 else (nodes[1], -1 - place)
        marker = system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=coordinate))
        more = dict(loadUserFunction=torques[i]) if torques else {}
        loads.append(system.AddLoad(item.LoadCoordinate(markerNumber=marker, load=0.0, **more)))
    tip = system.AddSensor(item.SensorKinematicTree(
        objectNumber=tree, linkNumber=TIP_LINK, localPosition=TIP, storeInternal=True, writeToFile=False,
        outputVariableType=exu.OutputVariableType.Position))
    system.Assemble()
    return container, system, tip, loads


if __name__ == "__main__":
    container, system, tip, loads = build()
    values = system.ComputeODE2Eigenvalues()[0]
    print("natural frequencies, all drives free [rad/s]:", np.sqrt(np.abs(values)))
    settings = exu.SimulationSettings()
    settings.timeIntegration.endTime = 1.0
    settings.timeIntegration.numberOfSteps = 1000
    settings.solution.sensors.writePeriod = 0.01
    settings.solution.file.write = False
    system.SolveDynamic(settings)
    print("tip at the end [m]:", system.GetSensorStoredData(tip)[-1, 1:])
'''


def exudyn_script(arm: Arm, segments: int = SEGMENTS) -> str:
    """Return the arm's lumped equivalent as a script for Exudyn 1.8 or newer.

    The function `build(torques)` of the script returns the system container, the system, a sensor of the arm's tip and
    the loads of its inputs. The head of the script states the deviation of its natural frequencies from those of the
    arm.

    Parameters
    ----------
    arm : Arm
        Arm to export.
    segments : int
        Number of hinges of each flexible link in each direction in which it bends.

    Raises
    ------
    DescriptionError
        If the arm cannot be lumped (see `lumped`), if its base is free, or if it has an absolute rotor whose carrier
        turns about other axes.
    """
    with refused("export_exudyn"):
        checked_instance(arm, Arm, "arm")
    refuse_closures(arm, "export_exudyn")
    refuse_balls(arm, "export_exudyn")
    equivalent = lumped(arm.replace(cables=()), segments)
    left = ["cables are left out"] if arm.cables else []
    return written(replace(equivalent, left_out=(*equivalent.left_out, *left)))


def export_exudyn(model: ModelLike, path: str | PathLike[str], segments: int = SEGMENTS) -> Path:
    """Write an arm as a script for Exudyn, with rigid segments and springs as flexible links, and return its path.

    Varied parameters have the values of `model.at(p)`. The file states the deviation of its natural frequencies from
    those of the beams, and what it leaves out.

    Parameters
    ----------
    model : Model, Arm, str or path
        Model to export.
    path : path
        File to write.
    segments : int
        Number of hinges of each flexible link in each direction in which it bends.

    Raises
    ------
    DescriptionError
        As in `exudyn_script`, and if the file cannot be written or its name does not end with .py.
    """
    with refused("export_exudyn"):
        model = as_model(model)
    check_ending(path, ENDING)
    return write_whole(path, exudyn_script(model.arm_at(), segments).encode())


def written(equivalent: Lumped) -> str:
    """Return a lumped equivalent as a script."""
    arm = equivalent.arm
    if arm.free:
        raise DescriptionError(
            f"arm {equivalent.source.name!r}: the base is free, and the export to Exudyn needs a fixed base"
        )
    joints = equivalent.joints
    turned = [_to_z(joint.axis) for joint in joints]
    before = [np.eye(3) if joint.parent < 0 else turned[joint.parent] for joint in joints]
    motors = [(j, x.rotor, x.transmission, x.loss) for j, x in enumerate(joints) if x.transmission is not None]
    motor_of = {joints[j].name: -1 - i for i, (j, *_) in enumerate(motors)}
    row = {j: len(joints) + i for i, (j, *_) in enumerate(motors)}  # row of its rotor among the coordinates
    carried = [(row.get(j, j), k, share) for j in range(len(joints)) for k, share in equivalent.carried(j).items()]
    number = {joint.name: j for j, joint in enumerate(joints)}
    gears = [
        (
            number[link.name],
            [(number[leader], x) for leader, x in zip(gear.leaders, gear.ratios, strict=True)],
            gear.offset,
        )
        for link in arm.links
        if isinstance(gear := link.joint, Gear)
    ]
    links = [link.name for link in equivalent.source.links if link.joint.actuated]
    rest = dict(zip(arm.coordinates, arm.rest, strict=True))
    place, tip = equivalent.tip
    if place < 0:
        raise DescriptionError(f"arm {equivalent.source.name!r}: no joint moves its tip")
    values: dict[str, Any] = {
        "JOINTS": [joint.name for joint in joints],
        "TURNS": [joint.turns for joint in joints],
        "PARENTS": [joint.parent for joint in joints],
        "ROTATIONS": [A.T @ x.R @ B for x, A, B in zip(joints, before, turned, strict=True)],
        "OFFSETS": [A.T @ x.p for x, A in zip(joints, before, strict=True)],
        "MASSES": [joint.mass for joint in joints],
        "CENTERS": [A.T @ x.com for x, A in zip(joints, turned, strict=True)],
        "INERTIAS": [A.T @ x.inertia @ A for x, A in zip(joints, turned, strict=True)],
        "STIFFNESS": [joint.stiffness for joint in joints],
        "DAMPING": [joint.damping for joint in joints],
        "REST": [joint.rest for joint in joints],
        "ROTORS": [0.0 if joint.transmission is not None else joint.rotor for joint in joints],
        "MOTORS": motors,
        "CARRIED": carried,
        "GEARS": gears,
        "START": [
            *(equivalent.coordinate(x.name, arm.rest) for x in joints),
            *(rest[f"{joints[j].name}.motor"] for j, *_ in motors),
        ],
        "INPUTS": list(equivalent.source.inputs),
        "DRIVEN": [motor_of.get(name, number[name]) for name in links],
        "GRAVITY": list(arm.gravity),
        "TIP_LINK": place,
        "TIP": turned[place].T @ tip,
    }
    said = "\n".join(equivalent.statement).replace("\\", "/").replace('"""', "'")
    head = f'"""{said}\n\nMOTORS: joint, rotor, stiffness and damping of the transmission.\n'
    head += "CARRIED: a rotor (among JOINTS, then MOTORS), a joint that turns it too, and the share of its rate.\n"
    head += "GEARS: a joint that follows others, these with their ratios, and its position where they are zero.\n"
    head += 'DRIVEN: where inputs act, on a joint, or from -1 downwards on a motor.\n"""\n\n'
    head += "import exudyn as exu\nimport exudyn.itemInterface as item\nimport numpy as np\n\n"
    return head + "\n".join(f"{name} = {_literal(value)}" for name, value in values.items()) + "\n" + RUN


def _to_z(axis: Array) -> Array:
    """Return a rotation whose third column is the axis, which is the identity for z."""
    if axis[2] > 1.0 - 1e-12:
        return np.eye(3)
    x = np.cross([0.0, 1.0, 0.0] if abs(axis[1]) < 0.9 else [1.0, 0.0, 0.0], axis)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(axis, x), axis])


def _literal(value: Any) -> str:
    """Return a Python literal with all digits, and with one line for each entry of a list of lists."""
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, list) and any(isinstance(x, np.ndarray | tuple) for x in value):
        return "[\n" + "".join(f"    {_literal(x)},\n" for x in value) + "]"
    return repr(value)
