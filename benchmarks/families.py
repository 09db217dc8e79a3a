"""What each family of mode shapes costs in accuracy: frequencies, static tips, a run; what `Beam`'s default rests on.

Two modes in each bending plane that has modes, one in torsion and stretch where there are some, against 20 functions
of `hermite` (10 elements) and 8 polynomials of a rod.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.report import Table
from flexarm.analysis import equilibrium

BEAMS = ("clamped-free", "clamped-mass", "polynomial", "craig-bampton")
RODS = ("fixed-free", "fixed-loaded", "polynomial")
FEW, MANY = {"y": 2, "z": 2, "torsion": 1, "axial": 1}, {"y": 20, "z": 20, "torsion": 8, "axial": 8}
FINE = {"y": "hermite", "z": "hermite", "torsion": "polynomial", "axial": "polynomial"}
BEND = (0.7, -1.1, 0.9, -0.5, 0.4, 0.8)
"""Angles of joints, so that no two links are in line."""
GRAVITY = (0.0, -0.0981, -0.04)
"""A hundredth of the earth's: the softest arms hold, and what is measured is linear."""


def measure(quick: bool) -> list[Table]:
    """Errors of frequencies, of the static tip, and of the tip over a run."""
    arms = dict(cases(quick))
    few = (2,) if quick else (2, 3)
    table = run(few, (1.0,) if quick else (0.0, 0.01, 1.0, 10.0))
    return [*frequencies(arms), statics(arms), table, torsion(), elbow()]


# -- the arms ----------------------------------------------------------------------------------------------------------


def cases(quick: bool) -> Iterator[tuple[str, fa.Arm]]:
    """Every bundled arm with flexible links, then two links with payloads, hubs and stiff neighbours of many sizes."""
    for name in fa.bundled():
        arm = fa.load(name)
        if any(isinstance(link.body, fa.Beam) for link in arm.links):
            yield name, arm
    for mass in (0.0, 1.0) if quick else (0.0, 0.01, 0.1, 1.0, 10.0, 100.0):
        yield f"two links, payload {mass:g} of a link", two_links(mass)
    yield "two links, elbow of 5 links' mass", two_links(0.1, hub=5.0)
    yield "two links, inner one stiff", two_links(1.0, soft=(False, True))
    yield "two links, outer one stiff", two_links(1.0, soft=(True, False))
    yield "two links, payload like a bar across", two_links(1.0, across=1.0)
    if not quick:
        yield "one link, payload 0.01 of it", one_link(0.01)
        yield "one link, payload 10 of it", one_link(10.0)
        yield "four links, payload 0.1 of a link", chain(4)


def link(name: str, soft: bool = True, hub: float = 0.0) -> fa.Link:
    """0.5 m, 0.1 kg, 1 N m^2; a hub in masses of the link."""
    kind: Any = fa.Beam if soft else fa.Rigid
    rest: Any = {"EI": 1.0, "modes": {"y": 2, "z": 2}} if soft else {}
    joint = fa.Revolute(axis=(0, 0, 1), rotor_inertia=0.02)
    body = kind(length=0.5, mass=0.1, **rest)
    return fa.Link(name=name, joint=joint, body=body, hub_mass=0.1 * hub, hub_inertia=1e-5)


def payload(mass: float, across: float = 0.0) -> fa.Payload | None:
    """In masses of a link; `across`: about its centre like a bar of so many metres."""
    return fa.Payload(mass=0.1 * mass, inertia=0.1 * mass * (0.02**2 + across**2 / 12)) if mass else None


def two_links(mass: float, soft: tuple[bool, bool] = (True, True), hub: float = 0.0, across: float = 0.0) -> fa.Arm:
    links = [link("inner", soft[0]), link("outer", soft[1], hub)]
    return fa.Arm(name="two links", links=links, payload=payload(mass, across))


def one_link(mass: float) -> fa.Arm:
    return fa.Arm(name="one link", links=[link("inner")], payload=payload(mass))


def chain(count: int) -> fa.Arm:
    return fa.Arm(name="chain", links=[link(f"link{i}") for i in range(count)], payload=payload(0.1))


def with_shapes(arm: fa.Arm, shapes: Any, modes: dict[str, int]) -> fa.Arm:
    """The arm with this family in every beam, and so many modes wherever it has some."""
    links = []
    for each in arm.links:
        if isinstance(each.body, fa.Beam):
            counts = {d: modes[d] for d, n in each.body.counts.items() if n}
            each = each.replace(body=each.body.replace(shapes=shapes, modes=counts, damping=0.0))
        links.append(each)
    return arm.replace(links=links)


def bent(model: fa.Model) -> np.ndarray:
    """A configuration with every turning joint at an angle."""
    q, arm = np.array(model.arm.rest), model.arm
    turning = [i for i in arm.joints if arm.layout[i].unit == "rad"]
    q[turning] = np.resize(BEND, len(turning))
    for joint, motor in arm.springs:
        q[motor] = q[joint]
    return q


# -- what is measured --------------------------------------------------------------------------------------------------


def first(arm: fa.Arm) -> np.ndarray:
    """The first three frequencies, (2, 3): with the drives locked, and free those that are not zero; else NaN."""
    model = fa.Model(arm)
    q = bent(model)
    found = np.full((2, 3), np.nan)
    for row, locked in zip(found, (True, False), strict=True):
        omega = model.frequencies(q, locked=locked)
        omega = omega[omega > 1e-6 * omega.max()][:3]
        row[: len(omega)] = omega
    return found


def static_tip(arm: fa.Arm) -> tuple[np.ndarray, float]:
    """Where the tip hangs under gravity with the drives locked, (3,), and how far from where it would be without."""
    model = fa.Model(arm.replace(gravity=GRAVITY))
    q = bent(model)
    tip = model.tip(equilibrium(model, q)[0])[:3, 3]
    return tip, float(np.linalg.norm(tip - model.tip(q)[:3, 3]))


def percent(x: float) -> str:
    return "-" if np.isnan(x) else f"{100 * x:.2g}"


def frequencies(arms: dict[str, fa.Arm]) -> list[Table]:
    """Errors of the first three, with the drives locked and free."""
    tables = [
        Table(f"Drives {drives}: error of the first, second, third frequency [percent]", ("arm", *BEAMS))
        for drives in ("locked", "free")
    ]
    worst = {name: np.full((2, 3), np.nan) for name in BEAMS}
    for label, arm in arms.items():
        exact = first(with_shapes(arm, FINE, MANY))
        errors = {name: np.abs(first(with_shapes(arm, by_plane(name), FEW)) / exact - 1) for name in BEAMS}
        worst = {name: np.fmax(worst[name], errors[name]) for name in BEAMS}
        for i, table in enumerate(tables):
            table.add(label, *(", ".join(map(percent, errors[name][i])) for name in BEAMS))
    for i, table in enumerate(tables):
        table.add("worst", *(", ".join(map(percent, worst[name][i])) for name in BEAMS))
        table.notes.append(
            "The arms have two modes in each plane and bent joints. The reference has 10 cubic elements in each plane."
        )
    return tables


def statics(arms: dict[str, fa.Arm]) -> Table:
    """Error of the tip under gravity over its sag."""
    table = Table("Static tip under gravity: error over the sag [percent]", ("arm", *BEAMS))
    worst = dict.fromkeys(BEAMS, 0.0)
    for label, arm in arms.items():
        exact, sag = static_tip(with_shapes(arm, FINE, MANY))
        errors = {
            name: float(np.linalg.norm(static_tip(with_shapes(arm, by_plane(name), FEW))[0] - exact)) / sag
            for name in BEAMS
        }
        worst = {name: max(worst[name], errors[name]) for name in BEAMS}
        table.add(label, *(percent(errors[name]) for name in BEAMS))
    table.add("worst", *(percent(worst[name]) for name in BEAMS))
    table.notes.append(f"Gravity is {list(GRAVITY)} m/s^2. The drives are locked and the joints are bent.")
    return table


def by_plane(bent: str, rod: str = "polynomial") -> dict[str, str]:
    """A family in both planes, another for rods."""
    return {"y": bent, "z": bent, "torsion": rod, "axial": rod}


def run(counts: tuple[int, ...], payloads: tuple[float, ...]) -> Table:
    """Error of the tip over 2 s of Subudhi & Morris's arm under 0.2 N m for 0.5 s, its opposite for 0.5 s, none."""
    table = Table(
        "Subudhi & Morris's arm, bang-bang of 0.2 N m, 2 s: largest error of the tip [m]",
        ("payload, modes per plane", *BEAMS),
    )
    u = fa.Piecewise([0.0, 0.5, 1.0], [[0.2, 0.2], [-0.2, -0.2], [0.0, 0.0]])

    @cache
    def tip(load: float, shapes: str, count: int) -> np.ndarray:
        arm = fa.load("subudhi-morris")
        given = arm.payload
        assert given is not None
        less = given.replace(mass=given.mass * load, inertia=given.inertia * load) if load else None
        model = fa.Model(with_shapes(arm.replace(payload=less), shapes, {"y": count}))
        return fa.simulate(model, 2.0, u=u, samples=201, rtol=1e-9, progress=False).tip.values

    for load in payloads:
        for count in counts:
            exact = tip(load, "clamped-mass", 10)
            errors = [np.linalg.norm(tip(load, name, count) - exact, axis=1).max() for name in BEAMS]
            table.add(f"{load:g} of the paper's, {count}", *(f"{error:.1e}" for error in errors))
    table.notes.append("The reference has ten clamped-mass modes.")
    return table


def torsion() -> Table:
    """Shafts with one torsion mode: error of the twist under a torque at the tip, and of the first frequency."""
    table = Table(
        "Torsion of a clamped shaft, one mode: error of the first frequency, of the twist under a torque [percent]",
        ("inertia at the tip over the shaft's own", *RODS),
    )

    def shaft(rod: str, count: int, ratio: float) -> tuple[float, float]:
        body = fa.Beam(length=1.0, mass=1.0, GJ=10.0, polar_inertia=0.01, modes={"torsion": count},
                       shapes={"torsion": rod})  # fmt: skip
        load = fa.Payload(mass=1.0, inertia=0.01 * ratio) if ratio else None
        model = fa.Model(fa.Arm(name="shaft", links=[fa.Link(name="a", joint=fa.Fixed(), body=body)], payload=load))
        q = np.zeros(count)
        unit = np.eye(count)
        K = np.array([model.stiffness_force(e) for e in unit])
        end = np.array([model.deflections(e)[0, 5] for e in unit])
        return float(model.frequencies(q)[0]), float(end @ np.linalg.solve(K, end))

    for ratio in (0.0, 0.1, 1.0, 10.0, 100.0):
        exact = np.array(shaft("polynomial", 8, ratio))
        errors = [np.abs(np.array(shaft(rod, 1, ratio)) / exact - 1) for rod in RODS]
        table.add(f"{ratio:g}", *(", ".join(map(percent, error)) for error in errors))
    return table


def elbow() -> Table:
    """A shaft that carries a forearm of 0.5 m on a joint across its axis: error of the first frequency."""
    table = Table(
        "Torsion of a shaft behind an elbow, one mode: error of the first frequency, straight, bent [percent]",
        (
            "forearm's inertia over the shaft's own",
            "polynomial",
            "fixed-loaded, load of the straight arm",
            "fixed-loaded",
        ),
    )

    def first(rod: Any, count: int, mass: float, angle: float) -> float:
        body = fa.Beam(length=1.0, mass=1.0, GJ=10.0, polar_inertia=0.01, modes={"torsion": count},
                       shapes={"torsion": rod})  # fmt: skip
        forearm = fa.Rigid(length=0.5, mass=mass, inertia=(1e-3 * mass, mass * 0.25 / 12, mass * 0.25 / 12))
        links = [
            fa.Link(name="shaft", joint=fa.Fixed(), body=body),
            fa.Link(name="forearm", joint=fa.Revolute(axis=(0, 0, 1)), body=forearm),
        ]
        model = fa.Model(fa.Arm(name="elbow", links=links))
        return float(model.frequencies([angle, *np.zeros(count)])[0])

    for mass in (0.01, 0.1, 1.0):
        straight = {"family": "fixed-loaded", "load": 1e-3 * mass}
        cells = [
            ", ".join(
                percent(abs(first(rod, 1, mass, angle) / first("polynomial", 8, mass, angle) - 1))
                for angle in (0.0, np.pi / 2)
            )
            for rod in ("polynomial", straight, "fixed-loaded")
        ]
        table.add(f"{mass * 0.25 / 3 / 0.01:.2g}", *cells)
    return table
