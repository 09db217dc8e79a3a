"""Random arms and states in general position, one seed a case.

    arm = random_arm(7)                      # anything: beams, rigid links, all joints, hubs, payload, gravity, damping
    arm = random_arm(7, rigid=True)          # rigid links and rigid joints only
    arm = random_arm(7, telescope=True)      # the same arm, one link of which telescopes
    q, qd, u = random_state(arm, 7)

Every arm has a positive definite mass matrix: a link that turns about its own neutral axis has a hub, an elastic joint
a rotor.
"""

import numpy as np
from oracle import DIRECTIONS, free, names, thrusters

from flexarm.description import arm as fa
from flexarm.shapes import family

PLAIN = {"y": "clamped-free", "z": "clamped-free", "torsion": "fixed-free", "axial": "fixed-free"}
"""Shapes that the oracle works out by itself."""
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0))


def random_arm(
    seed,
    *,
    links=None,
    rigid=False,
    planar=False,
    elastic=None,
    damping=True,
    gravity=True,
    payload=None,
    rotor="relative",
    telescope=False,
    convection="material",
    families=None,
    tapered=False,
    foreshortening=False,
    chord=False,
    twisting=False,
):
    """A general arm drawn from `seed`. The options from `rotor` on change the arm they find and draw no other.

    links           how many (otherwise 2 to 4)
    rigid           no beams
    planar          revolute joints about z, bending along y, everything in the plane x y
    elastic         True: every joint elastic; False: none; None: some (none if `rigid`)
    damping         False: none anywhere
    gravity         False: none
    payload         True or False; None: most arms have one
    rotor           "absolute": every moving joint has a rotor, counted so
    telescope       True: one link telescopes
    convection      of that telescope
    families        what to draw the `shapes` of each beam from, a telescope's too; tables by direction as well; else
                    clamped-free and fixed-free modes
    tapered         True: every beam that does not telescope is tapered
    foreshortening  True: in every beam that does not telescope
    chord           True: on every beam
    twisting        True: the beam of the telescope twists and stretches too
    """
    rng = np.random.default_rng([seed, 2024])
    count = links if links is not None else int(rng.integers(2, 5))
    if elastic is None:
        share = 0.0 if rigid else 0.35
    else:
        share = 1.0 if elastic else 0.0
    kinds = [random_kind(rng, planar) for _ in range(count)]
    if all(kind == "fixed" for kind in kinds):
        kinds[-1] = "revolute"
    beams = [not rigid and rng.random() < 0.7 for _ in range(count)]
    if not rigid and not any(beams):
        beams[0] = True
    chain = []
    for i, (kind, beam) in enumerate(zip(kinds, beams, strict=True), start=1):
        joint = random_joint(rng, kind, planar, share, damping)
        body = random_beam(rng, planar, damping) if beam else random_rigid(rng, planar)
        turns_about_itself = kind == "revolute" and joint.axis[0] == 1
        hub = random_hub(rng, planar) if turns_about_itself or rng.random() < 0.7 else {}
        chain.append(fa.Link(name=f"link{i}", joint=joint, body=body, placement=random_pose(rng, planar), **hub))
    load = random_payload(rng, planar)
    g = 9.81 * unit(rng, planar) if gravity else np.zeros(3)
    carries = rng.random() < 0.75 if payload is None else payload
    rng = np.random.default_rng([seed, 1024])
    if telescope:
        i = int(rng.integers(count))
        chain[i] = telescoping(rng, chain[i], planar, rigid, share, damping, convection)
        if twisting:
            body = chain[i].body
            more = {"torsion": int(rng.integers(1, 3)), "axial": int(rng.integers(1, 3))}
            ratio = rng.uniform(0.005, 0.05) if damping else 0.0
            GJ, EA = rng.uniform(5, 40), rng.uniform(1e3, 1e4)
            body = body.replace(modes={**body.modes, **more}, GJ=GJ, EA=EA, damping={"torsion": ratio, "axial": ratio})
            chain[i] = chain[i].replace(body=body)
    for i, link in enumerate(chain):
        joint, body, slides = link.joint, link.body, link.joint.type == "telescope"
        if rotor == "absolute" and joint.type != "fixed":
            motor = {} if joint.rotor_inertia else {"rotor_inertia": rng.uniform(0.005, 0.05), "gear_ratio": 3.0}
            joint = joint.replace(rotor=rotor, **motor)
        if body.type == "beam":
            if tapered and not slides:
                body = taper(rng, body)
            if families is not None:
                body = of_family(body, families[rng.integers(len(families))])
            body = body.replace(foreshortening=foreshortening and not slides, next_joint="chord" if chord else "slope")
        chain[i] = link.replace(joint=joint, body=body)
    return fa.Arm(name=f"random {seed}", links=tuple(chain), payload=load if carries else None, gravity=numbers(g))


def random_state(arm, seed):
    """q, qd, u in general position: joint coordinates of 1, flexible ones of 0.05, rates and inputs of 1.

    A telescope is out by 0.35 to 0.9 of its length. A free base stands and turns somehow.
    """
    rng = np.random.default_rng([seed, 4096])
    coordinates = names(arm)[6 * free(arm) :]
    flexible = np.array([name.split(".")[-1].startswith(DIRECTIONS) for name in coordinates])
    size = np.where(flexible, 0.05, 1.0)
    q = size * rng.uniform(0.4, 1.3, len(size)) * rng.choice([-1, 1], len(size))
    for link in arm.links:
        if link.joint.type == "telescope":
            q[coordinates.index(f"{link.name}.joint")] = rng.uniform(0.35, 0.9) * link.body.length
    for i, name in enumerate(coordinates):  # a motor stays within reach of its joint
        if name.endswith(".motor"):
            q[i] = q[coordinates.index(name.replace(".motor", ".joint"))] + rng.uniform(0.05, 0.3)
    qd = rng.uniform(0.4, 1.3, len(size)) * rng.choice([-1, 1], len(size))
    u = rng.uniform(-2, 2, sum(link.joint.type not in ("fixed", "gear") for link in arm.links) + len(thrusters(arm)))
    if free(arm):
        q, qd = np.concatenate([rng.normal(size=3), unit(rng, size=4), q]), np.concatenate([rng.normal(size=6), qd])
    return q, qd, u


def random_kind(rng, planar):
    if planar:
        return "revolute"
    return str(rng.choice(["revolute", "prismatic", "fixed"], p=[0.7, 0.18, 0.12]))


def random_joint(rng, kind, planar, share, damping):
    if kind == "fixed":
        return fa.Fixed()
    joint = fa.Revolute if kind == "revolute" else fa.Prismatic
    if planar:
        axis = (0.0, 0.0, 1.0)
    else:
        axis = numbers(unit(rng)) if rng.random() < 0.6 else AXES[rng.integers(len(AXES))]
    is_elastic = rng.random() < share
    has_rotor = is_elastic or rng.random() < 0.5
    rotor = {"rotor_inertia": rng.uniform(0.005, 0.05), "gear_ratio": rng.uniform(1, 5)} if has_rotor else {}
    loss = {"damping": rng.uniform(0.05, 0.5)} if damping else {}
    spring = {"stiffness": rng.uniform(50, 200)} if is_elastic else {}
    if is_elastic and damping:
        spring["spring_damping"] = rng.uniform(0.1, 1)
    return joint(axis=axis, **rotor, **loss, **spring)


def random_beam(rng, planar, damping):
    most = {"y": 2, "z": 0, "torsion": 0, "axial": 0} if planar else {"y": 2, "z": 2, "torsion": 2, "axial": 2}
    modes = {d: int(rng.integers(0, n + 1)) for d, n in most.items()}
    if not any(modes.values()):
        modes["y"] = 1
    modes = {d: n for d, n in modes.items() if n}
    EI_y, EI_z = rng.uniform(5, 40, 2)
    given = {"EI": EI_y if set(modes) <= {"y"} and rng.random() < 0.5 else {"y": EI_y, "z": EI_z}}
    if "torsion" in modes:
        given["GJ"] = rng.uniform(5, 40)
    if "axial" in modes:
        given["EA"] = rng.uniform(1e3, 1e4)
    if "torsion" in modes or rng.random() < 0.3:
        given["polar_inertia"] = rng.uniform(1e-3, 1e-2)
    if damping and rng.random() < 0.8:
        ratios = tuple(rng.uniform(0.005, 0.05, sum(modes.values())).tolist())
        given["damping"] = ratios[0] if rng.random() < 0.5 else ratios
    given["shapes"] = PLAIN
    length = rng.uniform(0.4, 1.5)
    mass = rng.uniform(0.3, 3)
    given |= {"mass": mass} if rng.random() < 0.5 else {"mass_per_length": mass / length}
    return fa.Beam(length=length, modes=modes, **given)


def telescoping(rng, link, planar, rigid, share, damping, convection):
    """The link with a telescope for a joint and a beam that bends only, or not at all."""
    drive = dict(random_joint(rng, "prismatic", planar, share, damping))
    modes = {} if rigid else {"y": int(rng.integers(1, 3))} | ({} if planar else {"z": int(rng.integers(1, 3))})
    EI_y, EI_z = rng.uniform(5, 40, 2)
    given = {"EI": {"y": EI_y, "z": EI_z}, "mass": rng.uniform(0.3, 3), "polar_inertia": rng.uniform(1e-3, 1e-2)}
    if damping:
        given["damping"] = rng.uniform(0.005, 0.05)
    body = fa.Beam(length=rng.uniform(0.8, 1.5), modes=modes, shapes=PLAIN, **given)
    joint = {"free_length": rng.uniform(0.4, 0.7)} if rng.random() < 0.5 else {}
    joint |= {name: drive[name] for name in drive if name not in ("type", "axis")}
    return link.replace(joint=fa.Telescope(convection=convection, **joint), body=body)


def of_family(beam, shapes):
    """The beam with these shapes, and one mode more where the family cannot do without."""
    bare = beam.replace(shapes=shapes, modes={}, damping=0.0)
    made = {d: family(given, d) for d, given in bare.families.items()}
    modes = {d: n + bool(getattr(made[d], "refusal", lambda n: None)(n)) for d, n in beam.counts.items() if n}
    damping = beam.damping_ratios[0] if any(beam.damping_ratios) else 0.0
    if made["torsion"].name == "fixed-loaded" and not beam.rho_Ip:
        bare = bare.replace(polar_inertia=5e-3)
    return bare.replace(modes=modes, damping=damping)


def taper(rng, beam):
    """The beam with a section that narrows, one of three, hollow or not."""
    material = fa.Material(E=3e8, density=2700.0, poisson=0.35)
    form = rng.integers(3)
    if form == 0:
        base, tip = (fa.Rod(diameter=d) for d in rng.uniform(0.025, 0.04, 2))
    elif form == 1:
        base, tip = (fa.Tube(outer_diameter=d, thickness=0.2 * d) for d in rng.uniform(0.03, 0.04, 2))
    else:
        base, tip = (fa.Box(width=w, height=h) for w, h in rng.uniform(0.025, 0.04, (2, 2)))
    given = dict.fromkeys(("mass", "mass_per_length", "EI", "GJ", "EA", "polar_inertia"))
    return beam.replace(material=material, section=base, section_tip=tip, **given)


def random_rigid(rng, planar):
    length, mass = rng.uniform(0.3, 1.2), rng.uniform(0.5, 4)
    if rng.random() < 0.25:
        return fa.Rigid(length=length, mass=mass)
    com = rng.uniform(-0.2, 0.2, 3) + np.array([length / 2, 0, 0])
    if planar:
        com[2] = 0
    return fa.Rigid(length=length, mass=mass, com=numbers(com), inertia=random_inertia(rng, mass * length**2, planar))


def random_hub(rng, planar):
    mass = rng.uniform(0.1, 1)
    return {"hub_mass": mass, "hub_inertia": random_inertia(rng, 0.1 * mass, planar)}


def random_payload(rng, planar):
    mass = rng.uniform(0.1, 1)
    return fa.Payload(mass=mass, inertia=random_inertia(rng, 0.1 * mass, planar))


def random_inertia(rng, scale, planar):
    """One number, three principal values or a full tensor, always of a possible body."""
    form = rng.integers(2 if planar else 3)
    if form == 0:
        return float(scale * rng.uniform(0.1, 0.5))
    spread = rng.uniform(0.05, 0.3, 3)  # second moments along three axes
    principal = scale * (spread.sum() - spread)
    if form == 1:
        return numbers(principal)
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    I = Q @ np.diag(principal) @ Q.T
    return tuple(numbers(row) for row in (I + I.T) / 2)


def random_pose(rng, planar):
    xyz, rpy = rng.uniform(-0.3, 0.3, 3), rng.uniform(-1.2, 1.2, 3)
    if planar:
        xyz[2], rpy[:2] = 0, 0
    return fa.Pose(xyz=numbers(xyz), rpy=numbers(rpy))


def unit(rng, planar=False, size=3):
    v = rng.normal(size=size)
    if planar:
        v[2] = 0
    return v / np.linalg.norm(v)


def numbers(v):
    return tuple(float(x) for x in v)
