"""Friction and brakes of an arm, written down again from their equations: what the oracle says of drives.

    forces = rubbing(lagrangian, arm, q, qd, s, u, w)

One list of scalars in numpy; nothing of the package's mechanics. `random_drives` puts drives on a random arm.
"""

import math

import numpy as np

from flexarm.description import arm as fa
from flexarm.description.drives import Drive
from flexarm.description.friction import Brake, Friction, Resistance, Viscosity


def by_direction(value, v):
    if isinstance(value, float):
        return value
    return value.forward if v > 0 else value.backward


def steady(friction, v, load):
    """What resists sliding at a rate, without the viscous part."""
    Fc = by_direction(friction.coulomb, v)
    Fs = Fc if friction.static is None else by_direction(friction.static, v)
    return Fc + (Fs - Fc) * math.exp(-((v / friction.stribeck_rate) ** 2)) + friction.load * abs(load)


def blended(friction, name, v):
    """A number of the smooth model, which changes with the direction as smoothly as the sign does."""
    value = getattr(friction, name)
    if value is None:
        value = friction.coulomb
    if isinstance(value, float):
        return value
    share = 0.5 * (1 + math.tanh(v / friction.creep_rate))
    return value.backward + (value.forward - value.backward) * share


def of_friction(friction, v, s, load):
    """Force against the rate, rate of the state, power lost."""
    if friction.model == "smooth":
        Fc, Fs = blended(friction, "coulomb", v), blended(friction, "static", v)
        size = Fc + (Fs - Fc) * math.exp(-((v / friction.stribeck_rate) ** 2)) + friction.load * abs(load)
        F = size * math.tanh(v / friction.creep_rate) + blended(friction, "viscous", v) * v
        return F, [], F * v
    z = s[0] / friction.bristle_stiffness
    z_dot = v - friction.bristle_stiffness * abs(v) * z / steady(friction, v, load)
    F = friction.bristle_stiffness * z + friction.bristle_damping * z_dot + by_direction(friction.viscous, v) * v
    return F, [friction.bristle_stiffness * z_dot], F * v - friction.bristle_stiffness * z * z_dot


def of_brake(brake, v, s, e):
    stiffness = brake.bristle_stiffness or brake.holding / 1e-3
    damping = 0.005 * stiffness if brake.bristle_damping is None else brake.bristle_damping
    z = s[0] / stiffness
    z_dot = e * v - stiffness * abs(e * v) * z / brake.holding - (1 - e) * z / brake.release_time
    F = e * (stiffness * z + damping * z_dot)
    return F, [stiffness * z_dot], F * v - stiffness * z * z_dot


def rubbing(lagrangian, arm, q, qd, s=(), u=None, w=()):
    """Generalized force (n,), rates of the states, power lost, of all drives of an arm, in the order of its links.

    The equations are those of the arm without its drives, of which the oracle knows nothing.
    """
    force, rates, lost = np.zeros(len(q)), [], 0.0
    s, w = list(s), list(w)
    joints = [link.joint for link in arm.links if link.joint.type != "fixed"]
    for i, ((angle, motor), joint) in enumerate(zip(lagrangian.sides, joints, strict=True)):
        drive = joint.drive
        if drive is None:
            continue
        unknown = [name for name in drive.parts if name not in ("friction", "link_friction", "brake")]
        if unknown:
            raise NotImplementedError(f"the oracle has no {unknown[0]}")
        stiff = joint.stiffness is None
        load = (0.0 if u is None else u[i]) if stiff else joint.stiffness * float((motor - angle) @ q)
        for part, side in ((drive.friction, motor), (drive.link_friction, angle), (drive.brake, motor)):
            if part is None:
                continue
            v, mine = float(side @ qd), [s.pop(0) for _ in part.states]
            if isinstance(part, Brake):
                F, s_dot, gone = of_brake(part, v, mine, w.pop(0))
            else:
                F, s_dot, gone = of_friction(part, v, mine, load)
            force, rates, lost = force - side * F, rates + s_dot, lost + gone
    return force, np.array(rates), lost


def random_drives(arm, seed, brakes=True):
    """The arm with drives on all its joints: every kind of friction, on both sides; a few brakes."""
    rng = np.random.default_rng([seed, 512])

    def either(kind, low, high):
        if rng.random() < 0.5:
            return float(rng.uniform(low, high))
        return kind(forward=float(rng.uniform(low, high)), backward=float(rng.uniform(low, high)))

    def some():
        given = {"coulomb": either(Resistance, 0.1, 0.4), "viscous": either(Viscosity, 0.0, 0.3)}
        given |= {"stribeck_rate": float(rng.uniform(0.1, 0.5)), "load": float(rng.uniform(0, 0.3))}
        if rng.random() < 0.6:
            given["static"] = either(Resistance, 0.4, 0.8)
        if rng.random() < 0.5:
            bristles = {"bristle_stiffness": float(rng.uniform(20, 90)), "bristle_damping": float(rng.uniform(0, 2))}
            return Friction(model="lugre", **bristles, **given)
        return Friction(creep_rate=float(rng.uniform(0.02, 0.08)), **given)

    links = []
    for link in arm.links:
        if link.joint.type != "fixed":
            parts = {"friction": some(), "link_friction": some()}
            if brakes and rng.random() < 0.5:
                parts["brake"] = Brake(holding=float(rng.uniform(0.5, 2)), release_time=0.1, bristle_stiffness=60.0)
            keep = [name for name in parts if rng.random() < 0.8] or ["friction"]
            drive = Drive(**{name: parts[name] for name in keep})
            link = link.replace(joint=link.joint.replace(drive=drive))
        links.append(link)
    return fa.Arm(**{**dict(arm), "links": tuple(links)})


def random_signals(arm, seed):
    """States of the drives, and exogenous inputs from 0 to 1."""
    rng = np.random.default_rng([seed, 256])
    return rng.uniform(-0.5, 0.5, len(arm.states)), rng.uniform(0.1, 0.9, len(arm.exogenous))
