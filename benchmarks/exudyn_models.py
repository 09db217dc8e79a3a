"""Exudyn's models of two planar arms: geometrically exact cables (ANCF), and floating frames with our own shapes.

The floating frame gets this package's integrals of mass, stiffness and shapes: its equations of motion are then ours,
and what is compared is time and error of integration alone. Torques go in as Exudyn's symbolic user functions, which
run without Python. Nothing is written to files; the variant without range checks is used, one thread.
"""

import contextlib
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import process_time
from typing import Any

import numpy as np

import flexarm as fa

Array = np.ndarray
Torque = Callable[[Any], Any]
"""Of one actuator, [N m], at Exudyn's symbolic time."""

DEGREE = 30
"""Of the polynomial for a smooth torque; what it misses is below 1e-10 of the torque in the runs here."""


def missing() -> str:
    """What has to be installed, in a line; empty if nothing."""
    try:
        exudyn()
    except ImportError:
        return 'Exudyn is not installed: pip install -c constraints.txt ".[peers]"'
    return ""


def exudyn() -> Any:
    """The package, its quick variant."""
    sys.exudynFast = True  # type: ignore[attr-defined]
    with contextlib.redirect_stdout(io.StringIO()):  # it says that it is quick
        import exudyn

    exudyn.config.printToConsole = False
    return exudyn


@dataclass(frozen=True)
class Settings:
    """Of Exudyn's generalized-alpha method; Newton's tolerances are of the residual."""

    steps: int
    rtol: float = 1e-6
    atol: float = 1e-3
    radius: float = 1.0
    linear: str = "EigenSparse"
    index2: bool = False


@dataclass
class Peer:
    """An assembled system, the sensor at its tip, what must stay alive, and the end [s]."""

    container: Any
    system: Any
    sensor: int
    held: list[Any]
    until: float

    def run(self, settings: Settings, samples: int) -> tuple[float, Array | None]:
        """Seconds of the processor, one thread's, in the solver, and the tip (samples, 2); None if Newton gave up.

        On a busy machine these are fewer than those of the clock, which are what is counted of our own runs.
        """
        exu = exudyn()
        s = exu.SimulationSettings()
        time, newton = s.timeIntegration, s.timeIntegration.newton
        time.numberOfSteps, time.endTime, time.adaptiveStep = settings.steps, self.until, False
        newton.useModifiedNewton = True
        newton.relativeTolerance, newton.absoluteTolerance = settings.rtol, settings.atol
        time.generalizedAlpha.spectralRadius = settings.radius
        time.generalizedAlpha.useIndex2Constraints = time.generalizedAlpha.useNewmark = settings.index2
        s.solution.file.write = False
        s.solution.sensors.writePeriod = self.until / (samples - 1)
        s.linearSolver.solverType = getattr(exu.LinearSolverType, settings.linear)
        s.parallel.numberOfThreads = 1
        began = process_time()
        try:
            self.system.SolveDynamic(s, storeSolver=False, showCausingItems=False)
        except exu.SolverError:
            return process_time() - began, None
        seconds = process_time() - began
        tip = np.array(self.system.GetSensorStoredData(self.sensor))[:, 1:3]
        return seconds, tip if tip.shape == (samples, 2) else None


# -- torques -----------------------------------------------------------------------------------------------------------


def torques(model: fa.Model, u: Any, until: float) -> list[Torque]:
    """Of each actuator, from an input of time alone: steps as they are, all else a polynomial."""
    if isinstance(u, fa.Piecewise):
        return [steps(u.times, column) for column in u.values_.T]
    nodes = until / 2 * (1 - np.cos(np.pi * (np.arange(4 * DEGREE) + 0.5) / (4 * DEGREE)))
    none = np.zeros((len(nodes), 0))
    values = u.output(model, nodes, none, none, none)
    fit = np.polynomial.chebyshev.Chebyshev.fit
    return [
        _polynomial(np.polynomial.chebyshev.cheb2poly(fit(nodes, v, DEGREE, domain=(0.0, until)).coef), until)
        for v in values.T
    ]


def _polynomial(coefficients: Array, until: float) -> Torque:
    def torque(t: Any) -> Any:
        s, value = t * (2.0 / until) - 1.0, float(coefficients[-1])
        for c in coefficients[-2::-1]:
            value = s * value + float(c)
        return value

    return torque


def steps(times: Array, values: Array) -> Torque:
    """At a jump the mean of both sides: the trapezoidal rule, whose steps end there, then keeps its order."""
    small = 1e-9
    begun = int(np.searchsorted(times, 0.0, side="right"))  # what is in force at t = 0 has always been
    levels = [0.0, *values.tolist()][begun:]
    times = times[begun:]

    def torque(t: Any) -> Any:
        choose, real = exudyn().symbolic.IfThenElse, exudyn().symbolic.Real
        value = real(levels[-1])
        for a, before, after in reversed(list(zip(times.tolist(), levels[:-1], levels[1:], strict=True))):
            value = choose(t < a - small, real(before), choose(t < a + small, real((before + after) / 2), value))
        return value

    return torque


def _load(system: Any, held: list[Any], marker: int, torque: Torque, sign: float) -> None:
    from exudyn.advancedUtilities import CreateSymbolicUserFunction
    from exudyn.itemInterface import LoadTorqueVector

    def function(mbs: Any, t: Any, loadVector: Any) -> Any:
        return exudyn().symbolic.Vector([0, 0, torque(t) * sign])

    load = system.AddLoad(LoadTorqueVector(markerNumber=marker, loadVector=[0, 0, 0]))
    symbolic = CreateSymbolicUserFunction(system, function, "loadVectorUserFunction", load)
    system.SetLoadParameter(load, "loadVectorUserFunction", symbolic)
    held.append(symbolic)


# -- large deflections: cables -----------------------------------------------------------------------------------------


def cables(arm: fa.Arm, elements: Sequence[int], axial: float, drives: list[Torque], until: float) -> Peer:
    """Each link so many ANCF cables of axial stiffness `axial` [N] (ours do not stretch); joints, rotors, payload."""
    from exudyn import itemInterface as item

    exu = exudyn()
    container = exu.SystemContainer()
    system = container.AddSystem()
    held: list[Any] = []
    ground = system.AddNode(item.NodePointGround(referenceCoordinates=[0, 0, 0]))
    before: Any = None
    x = 0.0

    def tied(node: Any, other: Any) -> None:
        """x and y of a node are another's, or do not move."""
        for c in (0, 1):
            here = system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=c))
            fixed = (ground, 0) if other is None else (other, c)
            there = system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=fixed[0], coordinate=fixed[1]))
            system.AddObject(item.ObjectConnectorCoordinate(markerNumbers=[there, here]))

    def turning(node: int, at: float) -> int:
        """A massless frame that moves and turns with a cable's node."""
        frame = system.AddNode(item.NodeRigidBody2D(referenceCoordinates=[at, 0, 0]))
        markers = [system.AddMarker(item.MarkerNodeRigid(nodeNumber=n)) for n in (node, frame)]
        joint = item.ObjectJointGeneric(markerNumbers=markers, constrainedAxes=[1, 1, 0, 0, 0, 1])
        system.AddObject(joint)
        return frame

    def inertia(node: int, mass: float, about: float) -> None:
        """Of a node; its slope has unit length, so that what turns with it has |slope'|^2 = angle'^2."""
        M = np.diag([mass, mass, about, about])
        system.AddObject(item.ObjectGenericODE2(nodeNumbers=[node], massMatrix=M))

    counts, torque = iter(elements), iter(drives)
    for link in arm.links:
        if not link.joint.moves:  # a point of inertia on the end of the link before
            inertia(before, link.body.mass, _about(link.body.inertia))
            continue
        beam, joint, count, drive = link.body, link.joint, next(counts), next(torque)
        h = beam.length / count
        places = [x + h * i for i in range(count + 1)]
        nodes = [system.AddNode(item.NodePoint2DSlope1(referenceCoordinates=[at, 0, 1, 0])) for at in places]
        for pair in pairwise(nodes):
            cable = item.ObjectANCFCable2D(
                nodeNumbers=list(pair),
                length=h,
                massPerLength=beam.total_mass / beam.length,
                bendingStiffness=beam.stiffness["y"],
                bendingDamping=beam.tau * beam.stiffness["y"],
                axialStiffness=axial,
                useReducedOrderIntegration=1,
            )
            system.AddObject(cable)
        tied(nodes[0], before)
        _load(system, held, system.AddMarker(item.MarkerNodeRigid(nodeNumber=nodes[0])), drive, 1.0)
        carrier, own = rotor_rates(joint)
        if before is not None:
            _load(system, held, system.AddMarker(item.MarkerNodeRigid(nodeNumber=before)), drive, -1.0)
        if joint.rotor_inertia and before is None:
            inertia(nodes[0], 0.0, joint.rotor_inertia * own**2)
        elif joint.rotor_inertia:
            v = np.array([0, 0, carrier, 0, 0, own])
            frames = [turning(before, x), turning(nodes[0], x)]
            M = joint.rotor_inertia * np.outer(v, v)
            system.AddObject(item.ObjectGenericODE2(nodeNumbers=frames, massMatrix=M))
        before, x = nodes[-1], x + beam.length
    if arm.payload is not None:
        inertia(before, arm.payload.mass, _about(arm.payload.inertia))
    kind = exu.OutputVariableType.Position
    sensor = item.SensorNode(nodeNumber=before, outputVariableType=kind, storeInternal=True, writeToFile=False)
    sensor = system.AddSensor(sensor)
    system.Assemble()
    return Peer(container, system, sensor, held, until)


def rotor_rates(joint: Any) -> tuple[float, float]:
    """How fast a rotor turns, as shares of its carrier's and of its link's turning: G rate, and the carrier's where the
    rotor is absolute; the rate is the link's less the carrier's."""
    G = joint.gear_ratio
    return (1.0 - G if joint.rotor == "absolute" else -G), G


def _about(inertia: Any) -> float:
    """About z, of a number, three or nine of them."""
    values = np.atleast_1d(np.asarray(inertia, dtype=float))
    return float(values.reshape(-1)[-1])


# -- linear deflections: floating frames -------------------------------------------------------------------------------


def floating(model: fa.Model, drives: list[Torque], until: float) -> Peer:
    """Each link a modally reduced body in a floating frame, with the shapes and integrals of the model."""
    from exudyn import itemInterface as item

    exu = exudyn()
    container = exu.SystemContainer()
    system = container.AddSystem()
    held: list[Any] = []
    ground = system.AddObject(item.ObjectGround())
    end = system.AddMarker(item.MarkerBodyPosition(bodyNumber=ground, localPosition=[0, 0, 0]))
    spin = [0, 0, 0, 0, 0, 1.0]
    before: tuple[list[Any], list[float], Any] = ([], [], None)  # nodes, rate of turn of the tip over them, its marker
    e_x, e_y = np.eye(3)[0], np.eye(3)[1]
    x, carried = 0.0, np.array(model.chain.bodies[-1].inertia([]), dtype=float)
    for i, (link, drive) in enumerate(zip(model.arm.links, drives, strict=True)):
        body, length = model.chain.bodies[i], link.body.length
        k, last = body.size, i == len(model.arm.links) - 1
        ones = np.eye(k).tolist()
        tip = np.array([body.tip(e) for e in ones], dtype=float)
        deflection, slope = tip[:, 1], tip[:, 3]
        M = np.array(body.inertia([0.0] * k), dtype=float)
        strain = [[float(body.potential(0.0, (np.array(a) + b).tolist())) for b in ones] for a in ones]
        alone = np.array([float(body.potential(0.0, a)) for a in ones])
        K = np.array(strain) - alone[:, None] - alone
        mass, first, about = M[0, 0], M[1, 5], M[5, 5]
        a, b, S = M[1, 7:], M[5, 7:], M[7:, 7:]
        if last:  # what the tip carries is a point of this body
            m = carried[0, 0]
            mass, first, about = mass + m, first + m * length, about + m * length**2
            a, b = a + m * deflection, b + m * length * deflection
            S = S + m * np.outer(deflection, deflection)

        frame = system.AddNode(item.NodeRigidBodyRxyz(referenceCoordinates=[x, 0, 0, 0, 0, 0]))
        zero = [0.0] * k
        modal = system.AddNode(
            item.NodeGenericODE2(
                numberOfODE2Coordinates=k,
                referenceCoordinates=zero,
                initialCoordinates=zero,
                initialCoordinates_t=zero,
            )
        )
        width = 0.1  # four points about the tip, which show how it turns
        corners = [(length, width, 0.0), (length, -width, 0.0), (length, 0.0, width), (length, 0.0, -width)]
        shapes = np.array([[-y * slope, deflection, zero] for _, y, _ in corners]).reshape(12, k)
        skew_x, skew_y = (np.cross(e, np.eye(3)).T for e in (e_x, e_y))
        solid = item.ObjectFFRFreducedOrder(
            nodeNumbers=[frame, modal],
            massMatrixReduced=_matrix(exu, S),
            stiffnessMatrixReduced=_matrix(exu, K),
            dampingMatrixReduced=_matrix(exu, np.zeros((k, k))),
            modeBasis=shapes,
            outputVariableModeBasis=np.zeros((0, 0)),
            referencePositions=np.array(corners).ravel(),
            mass=mass,
            inertia=np.diag([1e-3 * about, about, about]),  # about its own axis nothing turns
            centerOfMass=[first / mass, 0, 0],
            mPsiTildePsi=np.zeros((3 * k, k)),
            mPsiTildePsiTilde=np.kron(S, skew_y.T @ skew_y),
            mPhitTPsi=np.outer(e_y, a),
            mPhitTPsiTilde=np.kron(a[None], skew_y),
            mXRefTildePsi=np.outer(skew_x.T @ e_y, b),
            mXRefTildePsiTilde=np.kron(b[None], skew_x.T @ skew_y),
        )
        solid = system.AddObject(solid)
        base = system.AddMarker(item.MarkerNodePosition(nodeNumber=frame))
        system.AddObject(item.ObjectJointSpherical(markerNumbers=[end, base], constrainedAxes=[1, 1, 0]))
        _load(system, held, system.AddMarker(item.MarkerNodeRigid(nodeNumber=frame)), drive, 1.0)
        if before[2] is not None:
            _load(system, held, before[2], drive, -1.0)
        if link.joint.rotor_inertia:
            carrier, own = rotor_rates(link.joint)
            v = np.array([*(carrier * np.array(before[1])), *(own * np.array(spin))])
            nodes = [*before[0], frame]
            M_rotor = link.joint.rotor_inertia * np.outer(v, v)
            system.AddObject(item.ObjectGenericODE2(nodeNumbers=nodes, massMatrix=M_rotor))
        turn = [*spin, *slope]
        if last and carried[5, 5]:
            M_turn = carried[5, 5] * np.outer(turn, turn)
            system.AddObject(item.ObjectGenericODE2(nodeNumbers=[frame, modal], massMatrix=M_turn))
        rigid = item.MarkerSuperElementRigid(
            bodyNumber=solid, meshNodeNumbers=[0, 1, 2, 3], weightingFactors=[0.25] * 4
        )
        before = ([frame, modal], turn, None if last else system.AddMarker(rigid))
        position = item.MarkerSuperElementPosition(bodyNumber=solid, meshNodeNumbers=[0, 1], weightingFactors=[0.5] * 2)
        end, x = system.AddMarker(position), x + length
    kind = exu.OutputVariableType.Position
    sensor = item.SensorMarker(markerNumber=end, outputVariableType=kind, storeInternal=True, writeToFile=False)
    sensor = system.AddSensor(sensor)
    system.Assemble()
    return Peer(container, system, sensor, held, until)


def _matrix(exu: Any, values: Array) -> Any:
    found = exu.MatrixContainer()
    found.SetWithDenseMatrix(np.array(values, dtype=float), useDenseMatrix=True)
    return found
