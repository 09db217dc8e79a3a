"""SoRoMoX: Cosserat rods by their strains (geometric variable strain, GVS) and rigid chains, on JAX, with diffrax.

A link is a revolute joint and a rod whose curvatures (and twist) are Legendre polynomials; it neither stretches nor
shears. A payload, and a body that is fixed between rods, is a disc of no thickness. Rotors are added to its inertia
matrix: a constant part, since those that turn with their carriers too are in the plane. A rigid first link that turns
about its own axis is its inertia about that, and the place of the rest. Everything is in double precision and compiled
ahead; what compiling takes is set-up, once for an arm, a basis and a method.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.peers.peer import Setting, Solution, lines_of, timed
from benchmarks.peers.tasks import GAINS, PERIOD, Array, Derivation, Task

NAME = "SoRoMoX"
PACKAGES = ("soromox", "diffrax")
ORDERS: dict[str, tuple[int, ...]] = {
    "two-link-rigid-joints-small": (2, 3),
    "two-link-large": (2, 3, 4),
    "two-link-absolute-rotors-small": (2, 3),
    "two-link-absolute-rotors-large": (2, 3, 4),
    "canadarm-slew": (2, 3),
    "spin-up-beam": (3, 4),
    "spatial-gravity": (2,),
}
"""Polynomials of each curvature, one rod a link; one of the spatial arm is not enough."""
METHODS = ("Tsit5", "Dopri8")
"""Of rods the first alone, as each takes half a minute to compile. Kvaerno5, implicit, took ten times as long at the
same error on rods, and minutes to compile."""
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
COARSE = (1e-2, 1e-3, 1e-4)
"""Of rods. Each run is a series of its own there: most take longer than what ends one."""
MOST = 20_000
"""Steps of a run; one that takes more, some seconds, is given up."""
GAUSS = 5
"""Points of a rod where it is integrated: the fewest it takes; more changed no error here."""
STRAINS = {"torsion": "kappa_x", "z": "kappa_y", "y": "kappa_z"}
NOTHING = 1e-9
"""Length [m] of a payload, and of a link that is nothing but its joint."""
IDENTITY = (0.0, 0.0, 0.0, 1.0)
"""Quaternion, scalar last."""


def cannot(task: Task | Derivation) -> str:
    """Symbols, rotors that turn with their carrier, a base with mass, closed loops, gears, cables, ball joints."""
    if isinstance(task, Derivation):
        return "no equations in symbols"
    if task.arm.free:
        return "its floating base is a frame without mass"
    if task.closed:
        return "its chains have no closed loops"
    if task.geared:
        return "its joints do not follow one another"
    if task.tied:
        return "its passive tendons also push, and their lengths are linear in the coordinates"
    if task.spherical:
        return "no model with its ball joints, whose coordinates are rotation vectors, was written"
    if any(joint.transmission is not None for joint in task.equivalent(1).joints):
        return "its chains have no motors with a rotor on one link and a spring to the next"
    return ""


def settings(task: Task) -> Iterator[Setting]:
    """Polynomials, methods of diffrax, tolerances."""
    for order in ORDERS.get(task.name, (2, 3)) if task.continuum else (0,):
        each = f"{order} Legendre a strain, " if order else ""
        if task.feedback:
            yield from (Setting(f"{name}, a step a sample", name, (0, name, 0.0)) for name in ("Heun", *METHODS))
            return
        for method in METHODS[:1] if order else METHODS:
            for rtol in COARSE if order else TOLERANCES:
                name = f"{each}{method}, rtol {rtol:.0e}"
                yield Setting(name, name if order else method, (order, method, rtol))


def solve(task: Task, setting: Setting) -> Solution:
    """Build and compile (found again afterwards), integrate."""
    order, method, rtol = setting.numbers
    key = (task.name, order, method)
    if key not in COMPILED:
        began = perf_counter()
        run = compiled(task, order, method)
        COMPILED[key] = (run, perf_counter() - began)
    run, seconds = COMPILED[key]
    found = timed(task, lambda: run, lambda run: run(rtol), lines_of(compiled))
    return replace(found, setup=seconds)


COMPILED: dict[Any, tuple[Callable[[float], Array], float]] = {}


def rods(task: Task, order: int) -> tuple[Any, Any, Array]:
    """Rates of a state under torques, the tip of one, and where it begins: GVS."""
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_solve
    from soromox.systems.components import JointSpec, LinkSpec
    from soromox.systems.gvs import GVS, GVSSegment, StrainBasisSpec

    segments, joints, names, n = [], [], [], 0
    mount, R, rotors, turns = np.zeros(3), np.eye(3), [], []

    def rod(length: float, r: float, mu: float, E: float, G: float, joint: Any, strains: tuple[str, ...]) -> None:
        spec = LinkSpec.circular(
            length=length, radius=r, density=mu / (np.pi * r**2), reference_strain=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            young_modulus=E, shear_modulus=G,
        )  # fmt: skip
        segments.append(GVSSegment(spec, joint, StrainBasisSpec("legendre", strains or [0] * 6, order - 1), GAUSS))

    def disc(mass: float, inertia: float) -> None:
        rod(NOTHING, 2 * np.sqrt(inertia / mass), mass / NOTHING, 1.0, 0.4, JointSpec("fixed"), ())

    for link in task.arm.links:
        joint, body = link.joint, link.body
        R = R @ link.placement.rotation
        if not joint.moves:
            disc(body.mass, body.inertia_tensor[2, 2])
            continue
        names.append(link.name)
        joints.append(n)
        share = 1.0 / joint.gear_ratio if joint.rotor == "absolute" else 0.0
        rotors.append((joint.rotor_inertia * joint.gear_ratio**2, n, share, list(turns)))
        turns.append(n)
        n += 1
        if isinstance(body, fa.Beam):
            along = body.profile(np.array([0.5]))
            mu, bends = float(along.m[0]), [d for d in STRAINS if body.modes.get(d)]
            r = np.sqrt(2 * float(along.rho_Ip[0]) / mu) if "torsion" in bends else 1e-3 * body.length
            E = float(along.EI_y[0]) / (np.pi / 4 * r**4)
            G = float(along.GJ[0]) / (np.pi / 2 * r**4) if "torsion" in bends else E / 3
            axis, shape = np.array(joint.direction), (body.length, r, mu, E, G)
            turns.append(n)  # the first polynomial of the curvature, times the length, is the rod's angle
            n += order * len(bends)
        else:  # stands on the base and turns about its own axis
            rotors[-1] = (rotors[-1][0] + body.inertia_tensor[0, 0], *rotors[-1][1:])
            mount, axis = mount + R @ [body.length, 0.0, 0.0], R @ np.array(joint.direction)
            bends, shape = [], (NOTHING, 1e-3, 1e-6, 1.0, 0.4)
        turning = JointSpec("revolute", axis="xyz"[int(np.argmax(axis))], damping=[[joint.damping]])
        rod(*shape, turning, tuple(STRAINS[d] for d in bends))
    if task.arm.payload is not None:
        disc(task.arm.payload.mass, task.arm.payload.inertia)
    inertia = np.zeros((n, n))
    for reflected, own, share, carriers in rotors:
        rate = np.zeros(n)
        rate[own], rate[carriers] = 1.0, share
        inertia += reflected * np.outer(rate, rate)
    robot = GVS.from_segments(
        segments, gravity=jnp.array(task.arm.gravity), base_pose=jnp.array([*IDENTITY, *mount]),
        scale_rotational_basis_by_length=True,
    )  # fmt: skip
    added, driven, s = jnp.array(inertia), np.array(joints), robot.length

    def rates(y: Any, u: Any) -> Any:
        q, v = y[:n], y[n:]
        M, Cv, G = robot.dynamics_terms(q, v)
        f = -Cv - G - robot.elastic_force(q) - robot.damping_matrix(q) @ v
        return jnp.concatenate([v, cho_solve((jnp.linalg.cholesky(M + added), True), f.at[driven].add(u))])

    y0 = np.zeros(2 * n)
    for first, values in ((0, task.q0), (n, task.qd0)):
        given = dict(zip(task.arm.coordinates, values, strict=True))
        y0[first + driven] = [given[f"{name}.joint"] for name in names]
    return rates, lambda y: robot.forward_kinematics(y[:n], s)[:3, 3], y0


def rigid(task: Task, order: int) -> tuple[Any, Any, Array]:
    """The same of a chain of rigid links: its articulated body algorithm."""
    import jax.numpy as jnp
    from soromox.systems.articulated import ArticulatedSoftRobot
    from soromox.systems.articulated.params import ArticulatedSoftRobotParams

    equivalent = task.equivalent(1)
    joints, n = equivalent.joints, len(equivalent.joints)
    places = np.tile(np.eye(4), (n, 1, 1))
    places[:, :3, :3] = [joint.R for joint in joints]
    places[0, :3, 3] = joints[0].p
    params = ArticulatedSoftRobotParams(
        joint_screw=np.array([[*joint.axis, 0.0, 0.0, 0.0] for joint in joints]), parent_to_joint_transform=places,
        tip_position=np.array([*(joint.p for joint in joints[1:]), equivalent.tip[1]]),
        center_of_mass_position=np.array([joint.com for joint in joints]),
        mass=np.array([joint.mass for joint in joints]),
        center_of_mass_inertia=np.array([joint.inertia for joint in joints]), gravity=np.array(task.arm.gravity),
        joint_stiffness=np.zeros((n, n)), joint_damping=np.diag([joint.damping for joint in joints]),
        joint_rest_configuration=np.zeros(n), radius=np.full(n, 0.01),
    )  # fmt: skip
    robot = ArticulatedSoftRobot(params, base_pose=jnp.array([*IDENTITY, 0.0, 0.0, 0.0]))

    def rates(y: Any, u: Any) -> Any:
        return robot.forward_dynamics(0.0, y, (None, u))

    return (
        rates,
        lambda y: robot.forward_kinematics_tips(y[:n])[-1, :3, 3],
        np.concatenate([np.atleast_2d(task.q0), np.atleast_2d(task.qd0)], axis=1).squeeze(),
    )


def compiled(task: Task, order: int, method: str) -> Callable[[float], Array]:
    """A run by a tolerance: places of the tip."""
    import jax

    jax.config.update("jax_enable_x64", True)
    import diffrax
    import jax.numpy as jnp

    rates, tip, y0 = (rods if order else rigid)(task, order)
    solver, inputs, n = getattr(diffrax, method)(), len(task.arm.inputs), y0.shape[-1] // 2
    jumps, torques, times = jnp.array(task.jumps), jnp.array(task.torques), jnp.array(task.times)

    def field(t: Any, y: Any, u: Any) -> Any:
        if len(task.jumps):
            u = torques[jnp.searchsorted(jumps, t, side="right") - 1]
        return rates(y, u)

    term = diffrax.ODETerm(field)

    def motion(y0: Any, rtol: Any) -> Any:
        control = diffrax.PIDController(rtol=rtol, atol=1e-2 * rtol)
        if len(task.jumps) > 1:
            control = diffrax.ClipStepSizeController(control, jump_ts=jumps[1:])
        found = diffrax.diffeqsolve(
            term, solver, 0.0, task.until, None, y0, jnp.zeros(inputs), saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=control, max_steps=MOST, throw=False,
        )  # fmt: skip
        return jax.vmap(tip)(found.ys)

    def held(y0: Any, rtol: Any) -> Any:
        def sample(y: Any, _: Any) -> tuple[Any, Any]:
            u = -GAINS[0] * y[:n] - GAINS[1] * y[n:]
            next_, *_ = solver.step(term, 0.0, PERIOD, y, u, solver.init(term, 0.0, PERIOD, y, u), made_jump=True)
            return next_, y

        samples = round(task.until / PERIOD)
        last, ys = jax.lax.scan(sample, y0, None, samples)
        return jax.vmap(tip)(jnp.vstack([ys[:: samples // task.intervals], last]))

    def many(y0: Any, rtol: Any) -> Any:
        return jax.vmap(lambda y: motion(y, rtol)[-1])(y0)

    run = held if task.feedback else many if task.many else motion
    start = jnp.array(y0)
    made = jax.jit(run).lower(start, 1e-3).compile()
    return lambda rtol: np.asarray(made(start, rtol))
