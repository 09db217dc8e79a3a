"""Subudhi & Morris 2002: the arms of Table 1, their runs under the torque of Fig. 4(a), and measures of the runs.

Coordinates are found through the arm's attributes: its joints, its amplitudes (`flexible`), its motors.
"""

from functools import cache
from typing import Any, Literal

import numpy as np

from flexarm import Arm, Fixed, Link, Model, Piecewise, Revolute, Rigid, Solver, load, simulate
from flexarm.arrays import Array

Rotor = Literal["none", "relative", "absolute"]
"""Model of a rotor's kinetic energy.

It follows from the rate of its joint (eqs. 7, 53), or from its rotation in space (eq. 47), or is left out (eq. 55).
"""

TORQUE, PULSE, UNTIL = 0.2, 0.5, 4.0
ROTORS: tuple[Rotor, Rotor] = ("relative", "absolute")
DAMPING = (0.01, 0.02)
"""Damping of each mode of a link, as a share of critical damping. The paper's d_ij are not printed."""
KS = 100.0
RIGID = load("subudhi-morris")
LINK: Any = RIGID.links[0].body
L, M, EI = LINK.length, LINK.total_mass, LINK.stiffness["y"]
M_P, I_P, J = 0.1, 0.005, 0.02
STILL = 1e9
"""Inertia of a rotor that does not move [kg m^2]."""


# -- arms --------------------------------------------------------------------------------------------------------------


def arm(rotor: Rotor = "relative", ks: float | None = None, shapes: tuple[Any, Any] | None = None, **body: Any) -> Arm:
    """Return the paper's arm.

    `ks` [N m/rad] makes its joints elastic, `shapes` has one entry per link, and `body` changes both links.
    """
    families = shapes or (LINK.shapes, LINK.shapes)
    inertia, kind = (0.0, "relative") if rotor == "none" else (J, rotor)
    links = [
        link.replace(
            joint=link.joint.replace(rotor=kind, rotor_inertia=inertia, stiffness=ks),
            body=link.body.replace(shapes=family, **body),
        )
        for link, family in zip(RIGID.links, families, strict=True)
    ]
    return RIGID.replace(links=links)


def chain(rotor: Rotor, pieces: int, ks: float | None = None) -> Arm:
    """Return the arm with each link cut into short beams, clamped to one another, so that angles may be large.

    A piece has two cubics and foreshortening.
    """
    beam = LINK.replace(length=L / pieces, modes={"y": 2}, shapes="polynomial", foreshortening=True)
    links = [
        Link(name=f"{link.name}{i}", joint=link.joint if i == 0 else Fixed(), body=beam)
        for link in arm(rotor, ks).links
        for i in range(pieces)
    ]
    return RIGID.replace(links=links)


def rods(rotor: Rotor, pieces: int) -> Arm:
    """Return the arm with each link as `pieces` rigid rods (the outer two halved) and elastic joints of EI / h.

    The motors of these joints are so heavy that they do not move.
    """
    h = L / pieces
    spring = Revolute(rotor_inertia=STILL, stiffness=EI / h)
    links = []
    for link in arm(rotor).links:
        for i in range(pieces + 1):
            length = h if 0 < i < pieces else h / 2
            joint = link.joint if i == 0 else spring
            links.append(Link(name=f"{link.name}{i}", joint=joint, body=Rigid(length=length, mass=M * length / L)))
    return RIGID.replace(links=links)


def model(of: Arm) -> Model:
    """Return the model of an arm. Each arm is traced once."""
    return _model(of.canonical())


@cache
def _model(written: str) -> Model:
    return Model(Arm.from_json(written))


# -- runs --------------------------------------------------------------------------------------------------------------


def run(arm: Arm, torque: float = TORQUE, samples: int = 201, until: float = 2.0, solver: Solver | None = None) -> Any:
    """Return the response to the torque of Fig. 4(a).

    It is `torque` on both rotors for 0.5 s, its opposite for 0.5 s, then none.
    """
    actuated: list[Any] = [link.joint for link in arm.links if not isinstance(link.joint, Fixed)]
    u = np.outer([torque, -torque, 0.0], [joint.rotor_inertia < STILL for joint in actuated])
    torques = Piecewise([0.0, PULSE, 2 * PULSE], u)
    return simulate(model(arm), until, torques, samples=samples, solver=solver, progress=False)


@cache
def response(rotor: Rotor, ks: float | None = None, damping: float = 0.0) -> Any:
    """Return the response with two clamped-mass modes per link, every ms for 4 s."""
    return run(arm(rotor, ks, damping=damping), samples=4001, until=UNTIL)


@cache
def chain_response(rotor: Rotor, ks: float | None = None, torque: float = TORQUE, pieces: int = 4) -> Any:
    """Return the response of a chain of short beams, for 2 s."""
    return run(chain(rotor, pieces, ks), torque)


def early(result: Any) -> Any:
    """Return the first 2 s of a run."""
    return result.sel(time=slice(0.0, 2.0 + 1e-9))


# -- measures ----------------------------------------------------------------------------------------------------------


def travel(result: Any) -> float:
    """Return the length of the tip's path [mm]."""
    return 1e3 * float(np.linalg.norm(np.diff(result.tip.values, axis=0), axis=1).sum())


def apart(a: Any, b: Any) -> Array:
    """Return the distance between the tips of two runs over time [mm]."""
    return 1e3 * np.linalg.norm(a.tip.values - b.tip.values, axis=1)


def spring(result: Any) -> Array:
    """Return the deflections of the elastic joints, link minus motor [rad]."""
    joints, motors = np.array(_model(result.attrs["arm"]).arm.springs).T
    return np.asarray(result.q.values[:, joints] - result.q.values[:, motors])


def rms(values: Array) -> Array:
    """Return the root mean square over time."""
    return np.sqrt(np.mean(values**2, axis=0))


def oscillation(result: Any) -> Array:
    """Return the rms deviation of the link angles from their mean drift, 1 s to 2 s, after the torque [rad]."""
    late = result.sel(time=slice(2 * PULSE + 1e-9, 2.0 + 1e-9))
    t, q = late.time.values, late.q.values[:, :2]
    return rms(q - np.column_stack([np.polyval(np.polyfit(t, y, 1), t) for y in q.T]))


def mode_amplitudes(result: Any) -> Array:
    """Return the largest amplitudes of the four modes within 2 s [m]."""
    flexible = list(_model(result.attrs["arm"]).arm.flexible)
    return np.abs(early(result).q.values[:, flexible]).max(axis=0)


def tip_deflections(result: Any, start: float = 0.0, end: float = 2.0) -> Array:
    """Return the largest deflections of the two links' tips within an interval [m]."""
    part = result.sel(time=slice(start - 1e-9, end + 1e-9))
    return np.abs(part.deflection.values[..., 1]).max(axis=0)


def chain_deflections(result: Any) -> Array:
    """Return the largest deflections of the two links' tips of a chain [m].

    The deflection is the position of a link's last frame across the direction in which the link leaves its joint.
    """
    chained = _model(result.attrs["arm"])
    F = chained.frames(result.q.values)
    n = len(chained.arm.links) // 2
    across = [np.einsum("ti,ti->t", F[:, a, :3, 1], F[:, a + n, :3, 3] - F[:, a, :3, 3]) for a in (0, n)]
    return np.array([np.abs(y).max() for y in across])


def remaining(result: Any) -> Array:
    """Return the tip deflections from 3 to 3.5 s over those of the first half second."""
    return tip_deflections(result, 3.0, 3.5) / tip_deflections(result, 0.0, PULSE)


def faded(result: Any) -> Array:
    """Return the tip deflections from 3 to 3.5 s over those of the half second after the torque."""
    return tip_deflections(result, 3.0, 3.5) / tip_deflections(result, 2 * PULSE, 3 * PULSE)


def grown(measure: Any, rigid: Any, elastic: Any) -> Array:
    """Return the increase of a measure from the first run to the second, in percent."""
    return np.asarray(100 * (measure(elastic) / measure(rigid) - 1))


# -- the linear arm ----------------------------------------------------------------------------------------------------


def after_pulse(arm: Arm) -> float:
    """Return the root mean square of link 1's first mode after the pulses, by the linear arm at q = 0 [m].

    Mode i, of M-norm 1 and shape V_i, is driven by b_i u with b_i the sum of its actuators' components. Two pulses of
    length T leave it with the amplitude 4 b_i u sin^2(omega_i T / 2) / omega_i^2.
    """
    q = np.zeros(len(arm.coordinates))
    omega, V = model(arm).modes(q, locked=False)
    b = (model(arm).input_matrix(q).T @ V).sum(axis=0)
    own = V[arm.flexible[0]]
    amplitude = [o * c * pulse(w) for o, c, w in zip(own, b, omega, strict=True) if w > 1]
    return TORQUE * float(np.sqrt(np.sum(np.square(amplitude)) / 2))


def pulse(omega: Any) -> Any:
    """Return the amplitude that two opposite unit pulses of 0.5 s leave in x'' + omega^2 x = u."""
    return 4 * np.sin(omega * PULSE / 2) ** 2 / omega**2


@cache
def frequencies_of(rotor: Rotor, ks: float | None = None) -> Array:
    """Return the frequencies of the straight arm with free motors, without the two zeros, ascending [rad/s]."""
    one = arm(rotor, ks)
    return np.asarray(model(one).frequencies(np.zeros(len(one.coordinates)), locked=False)[2:])


@cache
def damping_of(rotor: Rotor, damping: float) -> Array:
    """Return the damping ratios of the modes of `frequencies_of`, with rigid joints."""
    one = arm(rotor, damping=damping)
    q = np.zeros(len(one.coordinates))
    omega, V = model(one).modes(q, locked=False)
    D = model(one).damping_force(q, np.eye(len(q)))
    power = np.einsum("ri,rc,ci->i", V, D, V)
    return np.asarray(power[2:] / (2 * omega[2:]))


def starting(rotor: Rotor) -> Array:
    """Return the accelerations of the joints at rest under the first torque, with rigid links [rad/s^2]."""
    return model(arm(rotor).rigid()).forward_dynamics(np.zeros(2), np.zeros(2), np.full(2, TORQUE))


def starting_by_hand(rotor_inertia: float) -> Array:
    """Return the accelerations of `starting` from the inertia matrix of two rods and a payload in a line [rad/s^2]."""
    second = M * L**2 / 3 + I_P + M_P * L**2
    moment = M * L / 2 + M_P * L
    first = M * L**2 / 3 + (M + M_P) * L**2
    inertia = np.array([[first + second + 2 * L * moment, second + L * moment], [second + L * moment, second]])
    return np.linalg.solve(inertia + rotor_inertia * np.eye(2), np.full(2, TORQUE))


# -- identities --------------------------------------------------------------------------------------------------------


def somewhere(size: int) -> tuple[Array, Array]:
    """Return a bent, moving state of the elastic arm."""
    rng = np.random.default_rng(55)
    return rng.uniform(-1, 1, size) * 0.3, rng.uniform(-1, 1, size) * 3.0


def off_christoffel() -> float:
    """Return the relative error of the velocity terms against eq. 45 with the derivatives of M(q)."""
    ours = model(arm(ks=KS))
    n = len(ours.coordinates)
    q, qd = somewhere(n)
    slopes = np.array(ours.slope("mass_matrix", 0)(q)).reshape(n, n, n, order="F")  # dM_ij / dq_k
    c = np.einsum("ijk,j,k->i", slopes, qd, qd) - np.einsum("jki,j,k->i", slopes, qd, qd) / 2
    return float(np.abs(ours.bias(q, qd) - c).max() / np.abs(c).max())


def off_rotor_equation(rotor: Rotor) -> float:
    """Return the error of an arm's rotors in eq. 53, J alpha'' + k_s (alpha - theta) = tau, relative to tau."""
    one = arm(rotor, KS)
    q, qd = somewhere(len(one.coordinates))
    q[list(one.motors)] = q[list(one.joints)] + [0.003, -0.002]
    tau = np.array([TORQUE, -TORQUE])
    qdd = model(one).forward_dynamics(q, qd, tau)
    left = [J * qdd[motor] + KS * (q[motor] - q[joint]) for joint, motor in one.springs]
    return float(np.abs(left - tau).max() / TORQUE)
