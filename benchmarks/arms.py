"""The runs whose precision is weighed against their cost: arms soft and stiff, what drives them, for how long."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks.chains import chain

Array = np.ndarray

SLEW = fa.RigidInverseDynamics(fa.Cycloidal((0.075, 0.05, 0.1), (10, 5, 5)))
PUSH = fa.bang_bang((0.2, 0.2), 0.5)


@dataclass(frozen=True)
class Case:
    """A run: its arm, its input, its length [s]; `label` names its figure."""

    label: str
    title: str
    build: Callable[[], fa.Arm]
    until: float
    u: Any

    @cached_property
    def model(self) -> fa.Model:
        """The arm's model."""
        return fa.Model(self.build())


def segmented(arm: fa.Arm, segments: tuple[int, ...], modes: int) -> fa.Arm:
    """The arm for large deflections: each beam of so many segments, each of so many polynomials along y."""
    links = [
        link.replace(body=link.body.replace(segments=count, modes={"y": modes}, shapes="polynomial"))
        for link, count in zip(arm.links, segments, strict=True)
    ]
    return arm.replace(links=links)


def elastic_joints(stiffness: float) -> fa.Arm:
    """Six axes, rigid links, elastic joints: the bundled 6R with links that do not bend."""
    links = []
    for link in fa.load("spatial-6r").links:
        if isinstance(link.body, fa.Beam):
            tube = link.body
            across = tube.total_mass * tube.length**2 / 12
            inertia = (1e-2 * tube.total_mass, across, across)
            body = fa.Rigid(length=tube.length, mass=tube.total_mass, inertia=inertia)
            link = link.replace(body=body)
        joint = link.joint.replace(stiffness=stiffness)
        links.append(link.replace(joint=joint))
    return fa.load("spatial-6r").replace(links=links, name="six elastic joints")


def cases(quick: bool) -> list[Case]:
    """All of them; the two shortest alone if it is to be quick."""
    canadarm, subudhi, elastic = "canadarm", "subudhi-morris", "subudhi-morris-elastic"
    wave = fa.RigidInverseDynamics(fa.Cycloidal((0.8, 0.3, -0.5, 1.0, 0.6, 1.0), (0.5,) * 6))
    extension = fa.ParabolicBlends((0.0, 0.0, 0.3), (np.pi, -np.pi / 2, 1.0), 1.0, 0.1)
    few = [
        Case("subudhi-morris", "Subudhi & Morris's arm, 2 s of bang-bang", lambda: fa.load(subudhi), 2.0, PUSH),
        Case(
            "six-elastic-joints", "six rigid axes, joints of 1e5 N m/rad, 1 s", lambda: elastic_joints(1e5), 1.0, wave
        ),
    ]
    if quick:
        return few
    return [
        Case("canadarm", "the Canadarm's slew, 10 s", lambda: fa.load(canadarm), 10.0, SLEW),
        Case(
            "canadarm-large",
            "the Canadarm's slew with large deflections, 10 s, a segment of 3 polynomials a link",
            lambda: segmented(fa.load(canadarm), (1, 1, 1), 3),
            10.0,
            SLEW,
        ),
        few[0],
        Case(
            "subudhi-morris-large",
            "Subudhi & Morris's arm with large deflections, 2 s, 2 segments of 3 polynomials a link",
            lambda: segmented(fa.load(subudhi), (2, 2), 3),
            2.0,
            PUSH,
        ),
        Case(
            "subudhi-morris-elastic",
            "Subudhi & Morris's arm with elastic joints, 2 s",
            lambda: fa.load(elastic),
            2.0,
            PUSH,
        ),
        Case(
            "subudhi-morris-elastic-large",
            "Subudhi & Morris's arm with elastic joints and large deflections, 2 s, 2 segments of 3 polynomials a link",
            lambda: segmented(fa.load(elastic), (2, 2), 3),
            2.0,
            PUSH,
        ),
        Case(
            "spatial-6r", "a spatial arm of six axes, two flexible links, 1 s", lambda: fa.load("spatial-6r"), 1.0, wave
        ),
        few[1],
        Case("thirty-links", "thirty flexible links that fall, 0.5 s", lambda: chain(30, 1), 0.5, None),
        Case(
            "telescope",
            "Theodore & Ghosal's telescope, joints prescribed, 1.5 s",
            lambda: fa.load("theodore-ghosal"),
            1.5,
            fa.PrescribedMotion(extension),
        ),
    ]
