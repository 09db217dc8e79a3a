"""Random trees, on bases that are fixed or free, in general position: one seed a case.

arm = random_tree(7)                             # links on links: at tips, stations and places, with payloads
arm = random_tree(7, free=True, elastic=True)    # the same tree on a free base with thrusters, its joints elastic
arm = laced(arm, 7)                              # with springs between points, coupled joints, and forces
q, qd, u = random_state(arm, 7)
"""

import numpy as np
from random_arms import numbers, random_arm, random_inertia, random_payload, random_pose, unit

import flexarm as fa

STATIONS = (0.0, 0.25, 0.5, 0.75, 1.0)


def random_tree(seed, *, free=False, links=None, stations=None, **options):
    """A tree of the links of `random_arm(seed, **options)`, three to five unless `links` says how many.

    Each hangs on one drawn from those before or, one in five, on the base: at its tip, at a station (of `stations`, if
    given) or at a place. They are listed in any order.
    """
    rng = np.random.default_rng([seed, 8192])
    count = links if links is not None else int(rng.integers(3, 6))
    arm = random_arm(seed, links=count, **options)
    made = []
    for i, link in enumerate(arm.links):
        parent = int(rng.integers(0, i)) if i and rng.random() < 0.8 else -1
        at = place(rng, stations) if parent >= 0 and arm.links[parent].joint.type != "telescope" else 1.0
        load = random_payload(rng, False) if rng.random() < 0.4 else None
        name = "base" if parent < 0 else arm.links[parent].name
        made.append(link.replace(parent=name, at=at, payload=load))
    made = [made[i] for i in rng.permutation(count)]
    tip = made[rng.integers(count)]
    if tip.payload is not None:
        arm = arm.replace(payload=None)
    return arm.replace(links=made, tip=tip.name, base=random_bus(rng) if free else None)


def place(rng, stations=None):
    """Where something hangs on a link."""
    draw = rng.random()
    if draw < 0.4:
        return 1.0
    if draw < 0.75:
        return float(rng.uniform(0.1, 0.9) if stations is None else rng.choice(stations))
    return random_pose(rng, False)


def random_bus(rng):
    """A free base with its centre of mass away from its origin, and a thruster of each kind."""
    mass = float(rng.uniform(2, 9))
    return fa.FreeBase(
        mass=mass,
        com=numbers(rng.uniform(-0.2, 0.2, 3)),
        inertia=random_inertia(rng, mass, False),
        thrusters=[
            fa.Thruster(name="jet", direction=numbers(unit(rng)), at=numbers(rng.uniform(-0.5, 0.5, 3))),
            fa.Thruster(name="gyro", direction=numbers(unit(rng)), kind="torque"),
        ],
    )


def laced(arm, seed):
    """The arm with two struts, its first two joints that can be coupled, and a force on every link."""
    rng = np.random.default_rng([seed, 512])

    def station(link):
        return 1.0 if link.joint.type == "telescope" else float(rng.choice(STATIONS))

    first, *_, last = arm.links
    struts = [
        fa.Strut(link=first.name, at=station(first), point=(1.5, -2.0, 0.7), stiffness=30.0, length=0.4),
        fa.Strut(link=first.name, at=station(first), to=last.name, to_at=station(last), stiffness=20.0),
    ]
    links, chosen = list(arm.links), []
    for i, link in enumerate(links):
        if link.joint.type not in ("fixed", "telescope") and len(chosen) < 2:
            links[i] = link.replace(
                joint=link.joint.replace(rotor_inertia=0.0, rotor="relative", stiffness=None, spring_damping=0.0)
            )
            chosen.append(link.name)
    couplings = [fa.Coupling(links=chosen, matrix=[[1.0, 0.5], [-0.3, 1.2]])] if len(chosen) == 2 else []
    kinds, axes = ("force", "moment", "wrench"), ("base", "link")
    forces = [
        fa.Force(name=f"push{i}", link=link.name, at=station(link), kind=kinds[(i + seed) % 3], axes=axes[i % 2])
        for i, link in enumerate(links)
    ]
    return arm.replace(links=links, struts=struts, couplings=couplings, forces=forces)
