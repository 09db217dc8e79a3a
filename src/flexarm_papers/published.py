"""Published numbers about beams, rotors and mechanisms, each computed again by a short program.

A program is a function without arguments that builds an arm with the public functions of `flexarm` and returns its
`Number`s. Programs choose lengths and masses that are not 1 where the source prints ratios.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, final

import numpy as np

import flexarm as fa
from flexarm import analysis
from flexarm.checks import unknown_name
from flexarm_papers.verdicts import Verdict, near

if TYPE_CHECKING:
    from flexarm.arrays import Array


@final
@dataclass(frozen=True)
class Number:
    """A printed number beside the number found here.

    Attributes
    ----------
    what : str
        Quantity, with its unit in brackets unless it is a ratio.
    printed : str
        Number as it is printed.
    found : float
    decimals : int, optional
        Decimals of the comparison, where the source prints more than can be compared. Default: all printed ones.
    note : str
        Plain sentence with the reason of a difference.
    """

    what: str
    printed: str
    found: float
    decimals: int | None = None
    note: str = ""

    @property
    def difference(self) -> float:
        """Number found minus number printed."""
        return self.found - float(self.printed)

    @property
    def compared(self) -> int:
        """Number of decimals that are compared."""
        exponent = Decimal(self.printed).as_tuple().exponent
        assert isinstance(exponent, int), "a printed number is finite"
        return -exponent if self.decimals is None else self.decimals

    @property
    def tolerance(self) -> float:
        """Half a unit of the last decimal that is compared."""
        return float(0.5 * 10.0**-self.compared)

    @property
    def shown(self) -> str:
        """Number found, with one decimal more than are compared."""
        return f"{self.found:.{max(self.compared + 1, 0)}f}"

    @property
    def verdict(self) -> Verdict:
        """`reproduced` if the number rounds to the printed digits."""
        rounding = 1e-12 * abs(float(self.printed))
        met = near(self.found, float(self.printed), self.tolerance + rounding).met
        return "reproduced" if met else "not reproduced"


@final
@dataclass(frozen=True)
class Program:
    """A source with the function that computes its numbers.

    Attributes
    ----------
    name : str
        Name in `flexarm published NAME`.
    source : str
    compute : () -> list of Number
    """

    name: str
    source: str
    compute: Callable[[], list[Number]]


L, MASS, EI = 3.0, 6.0, 50.0
"""Length [m], mass [kg] and bending stiffness [N m^2] of beams whose source prints ratios."""
PER_SECOND = float(np.sqrt(EI / (MASS * L**3)))
"""Unit of published spins and frequencies, sqrt(EI / (rho A L^4)) [rad/s]."""


def _column(name: str, body: fa.Beam, **more: Any) -> fa.Model:
    """Return the model of a beam that is clamped to the ground, or to a base that may turn."""
    return fa.Model(fa.Arm(name=name, links=[fa.Link(name="beam", joint=fa.Fixed(), body=body)], **more))


def wright_flap() -> list[Number]:
    """A rotating cantilever vibrates out of the plane of rotation."""
    blade = fa.Beam(length=L, mass=MASS, EI=EI, modes={"z": 4}, segments=6)
    model = _column("rotor", blade, base=fa.MovingBase())
    found = analysis.steady_modes(model, w={"base.wz": 12 * PER_SECOND}).frequency.values / PER_SECOND
    printed = ("13.1702", "37.6031", "79.6145")
    return [Number(f"flap frequency {i + 1}, spin 12", p, found[i]) for i, p in enumerate(printed)]


def yoo_shin_lag() -> list[Number]:
    """A rotating cantilever of slenderness 70 vibrates in the plane of rotation, where stretch couples by Coriolis."""
    blade = fa.Beam(length=L, mass=MASS, EI=EI, EA=70**2 * EI / L**2, modes={"y": 4, "axial": 2}, segments=4)
    hub = fa.Link(name="hub", joint=fa.Revolute(), body=fa.Frame(length=0.0))
    link = fa.Link(name="blade", joint=fa.Fixed(), placement=fa.Pose(xyz=(L, 0, 0)), body=blade)
    rotor = fa.Model(fa.Arm(name="rotor", links=[hub, link]), vary=["blade.placement.xyz.x"])
    q, qd = np.zeros((1, rotor.nv)), np.zeros((1, rotor.nv))
    qd[0, 0] = 2 * PER_SECOND

    def lowest(radius: float) -> float:
        s = analysis.frozen_eigenvalues(rotor.at([radius]), q, qd, qdd=0 * q)
        return float(s[0, 0].imag / PER_SECOND)

    note = (
        "As in the source, small motions are about the unstretched blade. About the stretched blade see steady_modes."
    )
    rows = ((0, "3.6196"), (1, "4.3978"), (5, "6.6430"))
    return [Number(f"lag frequency 1, spin 2, hub radius {d} L", p, lowest(d * L), note=note) for d, p in rows]


def _flutter(modes: Callable[[float], "Array"], low: float, high: float) -> tuple[float, float]:
    """Return the load at which two frequencies meet so that a vibration grows, and their mean there."""
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        growing = modes(middle).real.max() > 1e-5 * PER_SECOND
        low, high = (low, middle) if growing else (middle, high)
    return low, float(modes(low).imag[:2].mean())


def beck() -> list[Number]:
    """A column under a compressive force at its tip that turns with the tip flutters."""
    body = fa.Beam(length=L, mass=MASS, EI=EI, modes={"y": 4}, segments=3)
    model = _column("column", body, forces=[fa.Force(name="thrust", link="beam", axes="link")])

    def modes(load: float) -> "Array":
        return np.asarray(analysis.steady_modes(model, w={"thrust.fx": -load * EI / L**2}).pole)

    load, omega = _flutter(modes, 10.0, 30.0)
    note = "The exact value rounds to 11.02; the printed digits are those of 11.0156, cut off."
    return [
        Number("load of flutter, P L^2 / EI", "20.05", load),
        _noted("frequency", "11.01", omega / PER_SECOND, note),
    ]


def leipholz() -> list[Number]:
    """A column under a tangential force that is spread evenly over its length flutters."""
    body = fa.Beam(length=L, mass=MASS, EI=EI, modes={"y": 4}, segments=3)
    force = fa.Force(name="thrust", link="beam", axes="link", kind="distributed")
    model = _column("column", body, forces=[force])

    def modes(load: float) -> "Array":
        return np.asarray(analysis.steady_modes(model, w={"thrust.fx": -load * EI / L**2}).pole)

    return [Number("load of flutter, p L^3 / EI", "40.05", _flutter(modes, 20.0, 60.0)[0])]


def bathe_bolourchi() -> list[Number]:
    """A cantilever that is an eighth of a circle at rest bends out of its plane under a force of 600 lb at its tip."""
    radius, E, load = 100.0, 1e7, 600.0
    body = fa.Beam(
        length=radius * np.pi / 4, mass=1e-6, EI=E / 12, GJ=E / 12, modes={"y": 2, "z": 2, "torsion": 1}, segments=16,
        initial_angles={"y": np.pi / 4},
    )  # fmt: skip
    model, q = _hung(body), np.zeros(16 * 5)
    for share in np.linspace(0.2, 1.0, 5):
        q, _ = analysis.equilibrium(model.at([0.0, 0.0, share * load]), q)
    note = "The source has 8 straight elements. The exact rod has its tip at 47.151, 15.685, 53.469."
    printed = ("47.2", "15.9", "53.4")
    tip = model.tip(q)[:3, 3]
    return [_noted(f"{axis} of the tip [in]", p, x, note) for axis, p, x in zip("xyz", printed, tip, strict=True)]


def _hung(body: fa.Beam) -> fa.Model:
    """Return the model of a clamped beam whose gravity may vary, with 1 kg at its tip, so that gravity is the load."""
    link = fa.Link(name="beam", joint=fa.Fixed(), body=body)
    arm = fa.Arm(name="cantilever", links=[link], payload=fa.Payload(mass=1.0), gravity=(1.0, 1.0, 1.0))
    return fa.Model(arm, vary=["gravity*"])


def macneal_harder() -> list[Number]:
    """A cantilever that is twisted by 90 degrees at rest bends under a force of 1 lb at its tip."""
    length, width, thickness, E, poisson = 12.0, 1.1, 0.32, 29e6, 0.22
    EI = {"y": E * thickness * width**3 / 12, "z": E * width * thickness**3 / 12}
    GJ = E / (2 + 2 * poisson) * width * thickness**3 / 3 * (1 - 0.63 * thickness / width)
    body = fa.Beam(
        length=length, mass=1e-6, EI=EI, GJ=GJ, shear=5 / 6 * E / (2 + 2 * poisson) * width * thickness,
        modes={"y": 3, "z": 3, "torsion": 1}, segments=2, initial_angles={"torsion": np.pi / 2},
    )  # fmt: skip
    model, q0 = _hung(body), np.zeros(14)

    def deflection(axis: int) -> float:
        q, _ = analysis.equilibrium(model.at(np.eye(3)[axis]), q0)
        return float(model.deflections(q)[0, axis])

    note = "The integral over the sections of a beam with shear is {} in."
    rows = (("along the thickness of the root", "0.005424", 2, "0.0054293"), ("across", "0.001754", 1, "0.0017496"))
    return [_noted(f"deflection {name} [in]", p, deflection(axis), note.format(x)) for name, p, axis, x in rows]


def _noted(what: str, printed: str, found: float, note: str) -> Number:
    """Return a number with the reason why it misses its printed digits, if it does."""
    plain = Number(what, printed, found)
    return plain if plain.verdict == "reproduced" else Number(what, printed, found, note=note)


def simo_vu_quoc() -> list[Number]:
    """A beam that turns at 6 rad/s is stretched by its own centrifugal force."""
    body = fa.Beam(length=10.0, mass=12.0, EI=1.4e4, EA=2.8e7, modes={"y": 2, "axial": 2}, segments=2)
    model = fa.Model(fa.Arm(name="rotor", links=[fa.Link(name="beam", joint=fa.Revolute(), body=body)]))
    q, _ = analysis.equilibrium(model, [0.0], qd=[6.0])
    return [Number("steady stretch at 6 rad/s [m]", "5.14e-4", float(model.deflections(q)[0, 0]))]


def kimball() -> list[Number]:
    """Internal damping of a shaft with a mass at its free end feeds its whirl above the critical speed."""
    from scipy.optimize import brentq

    shaft = fa.Beam(length=L, mass=1e-7, EI=EI, modes={"y": 2, "z": 2}, shapes="polynomial", tau=0.05)
    joint = fa.Revolute(axis=(1, 0, 0))
    link = fa.Link(name="shaft", joint=joint, body=shaft)
    model = fa.Model(fa.Arm(name="shaft", links=[link], payload=fa.Payload(mass=MASS)))

    def growth(speed: float) -> float:
        return float(analysis.steady_modes(model, qd=[speed * PER_SECOND]).pole.values.real.max())

    found = brentq(growth, 1.5, 2.0, xtol=1e-9)
    return [Number("speed at which whirl begins, over sqrt(EI / m L^3): sqrt(3)", "1.73205", found)]


def smith() -> list[Number]:
    """Damping from outside, 0.7 times the internal one, raises the speed at which a uniform shaft begins to whirl."""
    from scipy.optimize import brentq

    tau, omega = 0.05, 1.8751040687119611**2 * PER_SECOND
    shaft = fa.Beam(length=L, mass=MASS, EI=EI, modes={"y": 2, "z": 2}, shapes="clamped-free", tau=tau)
    link = fa.Link(name="shaft", joint=fa.Revolute(axis=(1, 0, 0)), body=shaft)
    air = fa.Drag(link="shaft", coefficient=0.7 * MASS * tau * omega**2)
    model = fa.Model(fa.Arm(name="shaft", links=[link], drags=[air]))

    def growth(speed: float) -> float:
        return float(analysis.steady_modes(model, qd=[speed * omega]).pole.values.real.max())

    found = brentq(growth, 1.2, 2.0, xtol=1e-9)
    return [Number("speed at which whirl begins, over omega: 1 + 0.7", "1.70000", found)]


def papadopoulos_dubowsky() -> list[Number]:
    """An arm of two links on a free-floating satellite cannot move its tip in one direction, although it is bent."""
    from scipy.optimize import brentq

    bus = fa.FreeBase(mass=40.0, inertia=6.667)
    bodies = [fa.Rigid(length=1.0, mass=m, com=(0.5, 0, 0), inertia=I) for m, I in ((4.0, 0.333), (3.0, 0.250))]
    links = [
        fa.Link(name="upper", joint=fa.Revolute(), placement=fa.Pose(xyz=(0.5, 0, 0)), body=bodies[0]),
        fa.Link(name="fore", joint=fa.Revolute(), body=bodies[1]),
    ]
    model = fa.Model(fa.Arm(name="satellite", links=links, base=bus))

    def volume(degrees: float) -> float:
        return float(np.linalg.det(analysis.generalized_jacobian(model, np.radians([-65.0, degrees]))[:2]))

    return [Number("angle q2 of the singularity at q1 = -65 [degrees]", "-11.41", brentq(volume, -40.0, 20.0))]


SQUEEZED = (
    "15.81077119629904", "-15.75637105984298", "0.04082224013073101", "-0.5347301163226948", "0.5244099658805304",
    "0.5347301163226948", "1.048080741042263",
)  # fmt: skip
"""Angles of the squeezing mechanism at 0.03 s [rad]: beta, Theta, gamma, Phi, delta, Omega, epsilon."""
ANGLES = [0, 1, 2, 4, 3, 6, 5]
"""Indices of these angles in the coordinates."""


def squeezed() -> tuple[fa.Arm, Any]:
    """Return Andrews' squeezing mechanism, seven bodies with three loops, and its run of 0.03 s."""

    def body(
        name: str, parent: str, mass: float, com: Any, inertia: float, at: Any = None, place: Any = (0, 0, 0)
    ) -> Any:
        rigid = fa.Rigid(length=0.01, mass=mass, com=com, inertia=(1e-7, 1e-7, inertia))
        more = {} if at is None else {"at": fa.Pose(xyz=at)}
        placement = fa.Pose(xyz=place)
        return fa.Link(name=name, parent=parent, joint=fa.Revolute(), body=rigid, placement=placement, **more)

    a, b = (-0.06934, -0.00227, 0), (-0.03635, 0.03273, 0)
    links = [
        body("K1", "base", 0.04325, (92e-5, 0, 0), 2.194e-6),
        body("K2", "K1", 0.00365, (-115e-4, 0, 0), 4.410e-7, at=(7e-3, 0, 0)),
        body("K3", "base", 0.02373, (1043e-5, -1874e-5, 0), 5.255e-6, place=b),
        body("K5", "base", 0.07050, (2308e-5, 916e-5, 0), 1.169e-5, place=a),
        body("K4", "K5", 0.00706, (0, -(2e-2 - 1421e-5), 0), 5.667e-7, at=(4e-2, 0, 0)),
        body("K7", "base", 0.05498, (-449e-5, -1228e-5, 0), 1.912e-5, place=a),
        body("K6", "K7", 0.00706, (2e-2 - 1421e-5, 0, 0), 5.667e-7, at=(0, -4e-2, 0)),
        fa.Link(name="D", parent="K3", at=fa.Pose(xyz=(2e-2, -18e-3, 0)), joint=fa.Fixed(), body=fa.Frame()),
    ]
    ends = {"K3": (0, -35e-3, 0), "K4": (0, -2e-2, 0), "K6": (2e-2, 0, 0)}
    closures = [fa.Closure(name=f"E{k}", link="K2", at=(-28e-3, 0, 0), to=k, place=end) for k, end in ends.items()]
    spring = fa.Strut(link="D", point=(0.014, 0.072, 0), stiffness=4530.0, length=0.07785)
    arm = fa.Arm(name="squeezer", links=links, tip="K2", struts=[spring], closures=closures)
    beta, gamma, phi = -0.06171389001427650, 0.4552798191630704, 0.2226683901658859
    delta, epsilon = 0.4873649795438426, 1.2305474445498212
    q0 = [beta, 0.0, gamma, delta, phi, epsilon, -phi]
    solver = fa.Solver(method="vern8", rtol=1e-12, atol=1e-12)
    return arm, fa.simulate(arm, 0.03, u=[0.033, 0, 0, 0, 0, 0, 0], q0=q0, solver=solver, progress=False)


def andrews() -> list[Number]:
    """The squeezing mechanism of the test set turns through two revolutions and a half in 0.03 s."""
    found = squeezed()[1].q.values[-1][ANGLES]
    names = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
    return [Number(f"{n} at 0.03 s [rad]", p, x, decimals=8) for n, p, x in zip(names, SQUEEZED, found, strict=True)]


ROD, CRANK, SPEED = 0.3, 0.15, 150.0
"""Lengths of the slider-crank [m], and the rate of its crank [rad/s]."""


def slider_crank() -> list[Number]:
    """The rod of the test set's slider-crank bends after 2.4 turns of the crank, whose rate a flywheel keeps."""
    passive = fa.Revolute(passive=True)
    slide = fa.Prismatic(axis=(1.0, 0.0, 0.0), passive=True)
    rod = fa.Beam(length=ROD, mass=0.151104, EI=2e11 * 0.008**4 / 12, modes={"y": 2}, shapes="pinned-pinned")
    block, at = fa.Rigid(length=0.0, mass=0.075552), fa.Pose(xyz=(CRANK + ROD, 0.0, 0.0))
    links = [
        fa.Link(name="crank", joint=passive, body=fa.Rigid(length=CRANK, mass=0.36), hub_inertia=1e6),
        fa.Link(name="rod", joint=passive, body=rod),
        fa.Link(name="slider", joint=slide, body=block, parent="base", placement=at),
    ]
    pin = fa.Closure(name="pin", link="rod", to="slider")
    arm = fa.Arm(name="slider-crank", links=links, closures=[pin], gravity=(0.0, 0.0, 0.0))
    rates = [SPEED, -SPEED * (1.0 + CRANK / ROD), 0.0, 0.444896112581599, 0.004634339319238670]
    run = fa.simulate(arm, 0.1, q0=np.zeros(5), qd0=rates, method="dop853", rtol=1e-10, samples=2, progress=False)
    crank, turned, slid, first, second = run.q.values[-1]
    still = "the rod of the test set also stretches, by 0.008 mm; this one does not"
    return [
        Number("phi_2 at 0.1 s [rad]", "-0.3311734988256260", crank + turned, decimals=4, note=still),
        Number("x_3 at 0.1 s [m]", "0.1697373328427860", CRANK + ROD + slid, decimals=4, note=still),
        Number("q_1 at 0.1 s [m]", "0.0001893192899613509", first, decimals=6, note=still),
        Number("q_2 at 0.1 s [m]", "0.00002375751249879174", second, decimals=7, note=still),
    ]


PROGRAMS = (
    Program("wright", "Wright, Smith, Thresher & Wang 1982, J. Appl. Mech. 49: 197", wright_flap),
    Program("yoo-shin", "Yoo & Shin 1998, J. Sound Vib. 212: 807", yoo_shin_lag),
    Program("beck", "Beck 1952, Z. angew. Math. Phys. 3: 225", beck),
    Program("leipholz", "Leipholz 1962, Z. angew. Math. Phys. 13: 359", leipholz),
    Program("bathe-bolourchi", "Bathe & Bolourchi 1979, Int. J. Numer. Meth. Eng. 14: 961", bathe_bolourchi),
    Program("macneal-harder", "MacNeal & Harder 1985, Finite Elem. Anal. Des. 1: 3", macneal_harder),
    Program("simo-vu-quoc", "Simo & Vu-Quoc 1987, J. Sound Vib. 119: 487", simo_vu_quoc),
    Program("kimball", "Kimball 1924, General Electric Review 27: 244", kimball),
    Program("smith", "Smith 1933, Proc. R. Soc. A 142: 92", smith),
    Program("papadopoulos-dubowsky", "Papadopoulos & Dubowsky 1993, J. Dyn. Syst. Meas. Control 115: 44",
            papadopoulos_dubowsky),
    Program("andrews", "Mazzia & Magherini 2008, Test set for IVP solvers, release 2.4", andrews),
    Program("slider-crank", "Simeon 1996, Math. Modelling of Systems 2: 1; Test set for IVP solvers", slider_crank),
)  # fmt: skip
"""Programs in the order of their table."""


def programs(name: str | None = None) -> tuple[Program, ...]:
    """Return all programs, or the one with this name. Raises `DescriptionError` for an unknown name."""
    chosen = tuple(each for each in PROGRAMS if name in (None, each.name))
    if not chosen:
        known = [each.name for each in PROGRAMS]
        raise fa.DescriptionError(unknown_name("unknown program", name, known, "known programs are"))
    return chosen
