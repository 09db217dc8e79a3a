"""SoRoMoX: Cosserat rods by their strains (geometric variable strain, GVS) and rigid chains, on JAX, with diffrax.

A link is a revolute joint and a rod whose curvatures (and twist) are Legendre polynomials; it neither stretches nor
shears. A payload is a disc of no thickness behind the last rod. Rotors are added to the diagonal of its inertia matrix.
Everything is in double precision and compiled ahead; what compiling takes is set-up, once for an arm, a basis and a
method. A rigid first link that turns about its own axis is its inertia about that, and the place of the rest.
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
ORDERS = (2, 3, 4, 5)
"""Polynomials of each curvature, one rod a link."""
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
COARSE = (1e-2, 1e-3, 1e-4, 1e-5)
"""Of rods. Each run is a series of its own there: most take longer than what ends one."""
GAUSS = 5
"""Points of a rod where it is integrated: the fewest it takes; more changed no error here."""
STRAINS = {"torsion": "kappa_x", "z": "kappa_y", "y": "kappa_z"}
NOTHING = 1e-9
"""Length [m] of a payload, and of a link that is nothing but its joint."""
IDENTITY = (0.0, 0.0, 0.0, 1.0)
"""Quaternion, scalar last."""


def cannot(task: Task | Derivation) -> str:
    """Symbols, rotors that turn with their carrier, a base with mass."""
    if isinstance(task, Derivation):
        return "no equations in symbols"
    if task.arm.free:
        return "its floating base is a frame without mass of its own"
    if any(link.joint.moves and link.joint.rotor == "absolute" for link in task.arm.links[1:]):
        return "rotors whose energy has the carrier's rate too: armature is that of the joint alone"
    return ""


def settings(task: Task) -> Iterator[Setting]:
    """Polynomials, methods of diffrax, tolerances."""
    for order in ORDERS if task.continuum else (0,):
        each = f"{order} Legendre a strain, " if order else ""
        if task.feedback:
            yield from (Setting(f"{name}, a step a sample", name, (0, name, 0.0)) for name in ("Heun", *METHODS[:2]))
            yield Setting("Tsit5, a step a sample, again", "Tsit5 again", (0, "Tsit5", 0.0))
            return
        for method in METHODS if order else METHODS[:2]:
            for rtol in COARSE if order else TOLERANCES:
                name = f"{each}{method}, rtol {rtol:.0e}"
                yield Setting(name, name if order else method, (order, method, rtol))


METHODS = ("Tsit5", "Dopri8", "Kvaerno5")


def solve(task: Task, setting: Setting) -> Solution:
    """Build and compile (found again afterwards), integrate."""
    order, method, rtol = setting.numbers
    key = (task.name, order, method)
    if key not in COMPILED:
        began = perf_counter()
        run = compiled(task, order, method)
        COMPILED[key] = (run, perf_counter() - began)
    run, seconds = COMPILED[key]
    found = timed(task, lambda: run, lambda run: run(rtol), lines_of(rods if order else rigid, compiled))
    return replace(found, setup=seconds)


COMPILED: dict[Any, tuple[Callable[[float], Array], float]] = {}


def rods(task: Task, order: int) -> tuple[Any, Any, Array]:
    """Rates of a state under torques, the tip of one, and where it begins: GVS."""
    import jax.numpy as jnp
    from jax.scipy.linalg import cho_solve
    from soromox.systems.components import JointSpec, LinkSpec
    from soromox.systems.gvs import GVS, GVSSegment, StrainBasisSpec

    straight, segments, joints, rotors, n = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0], [], [], [], 0
    mount, R = np.zeros(3), np.eye(3)
    for link in task.arm.links:
        joint, body = link.joint, link.body
        R = R @ link.placement.rotation
        joints.append(n)
        rotors.append(joint.rotor_inertia * joint.gear_ratio**2)
        n += 1
        if isinstance(body, fa.Beam):
            L, along = body.length, body.profile(np.array([0.5]))
            mu, axis, bends = float(along.m[0]), np.array(joint.direction), [d for d in STRAINS if body.modes.get(d)]
            r = np.sqrt(2 * float(along.rho_Ip[0]) / mu) if "torsion" in bends else 1e-3 * L
            E = float(along.EI_y[0]) / (np.pi / 4 * r**4)
            G = float(along.GJ[0]) / (np.pi / 2 * r**4) if "torsion" in bends else E / 3
            strains = tuple(STRAINS[d] for d in bends)
            n += order * len(bends)
        else:  # stands on the base and turns about its own axis
            rotors[-1] += body.inertia_tensor[0, 0]
            mount, axis = mount + R @ [body.length, 0.0, 0.0], R @ np.array(joint.direction)
            L, r, mu, E, G, strains = NOTHING, 1e-3, 1e-6, 1.0, 0.4, ()
        spec = LinkSpec.circular(
            length=L, radius=r, density=mu / (np.pi * r**2), reference_strain=straight, young_modulus=E, shear_modulus=G
        )
        turning = JointSpec("revolute", axis="xyz"[int(np.argmax(axis))], damping=[[joint.damping]])
        segments.append(GVSSegment(spec, turning, basis(StrainBasisSpec, strains, order), GAUSS))
    if task.arm.payload is not None:
        mass, r = task.arm.payload.mass, 2 * np.sqrt(task.arm.payload.inertia / task.arm.payload.mass)
        spec = LinkSpec.circular(
            length=NOTHING, radius=r, density=mass / (np.pi * r**2 * NOTHING), reference_strain=straight,
            young_modulus=1.0, shear_modulus=0.4,
        )  # fmt: skip
        segments.append(GVSSegment(spec, JointSpec("fixed"), basis(StrainBasisSpec, (), order), GAUSS))
    robot = GVS.from_segments(
        segments, gravity=jnp.array(task.arm.gravity), base_pose=jnp.array([*IDENTITY, *mount]),
        scale_rotational_basis_by_length=True,
    )  # fmt: skip
    armature, s = jnp.zeros(n).at[np.array(joints)].set(jnp.array(rotors)), robot.length

    def rates(y: Any, u: Any) -> Any:
        q, v = y[:n], y[n:]
        M, Cv, G = robot.dynamics_terms(q, v)
        f = -Cv - G - robot.elastic_force(q) - robot.damping_matrix(q) @ v
        f = f.at[np.array(joints)].add(u)
        return jnp.concatenate([v, cho_solve((jnp.linalg.cholesky(M + jnp.diag(armature)), True), f)])

    y0 = np.zeros(2 * n)
    for name, values, first in (("joint", task.q0, 0), ("joint", task.qd0, n)):
        given = dict(zip(task.arm.coordinates, values, strict=True))
        y0[np.array(joints) + first] = [given[f"{link.name}.{name}"] for link in task.arm.links]
    return rates, lambda y: robot.forward_kinematics(y[:n], s)[:3, 3], y0


def basis(spec: Any, strains: tuple[str, ...], order: int) -> Any:
    """Of a rod; of a rigid one nothing."""
    return spec("legendre", strains or [0] * 6, order - 1)


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
            stepsize_controller=control, max_steps=None, throw=False,
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
