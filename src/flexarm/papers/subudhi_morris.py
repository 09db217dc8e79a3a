"""Subudhi & Morris 2002, two flexible links with elastic joints: Table 1, the clamped-mass modes, Figs. 4 to 8.

The paper gives its responses as curves and what it says of them as words, so the claims here are those words, each put
beside numbers. How far its small deflections carry is measured on a chain of short beams, whose angles may be large.
The controller (Figs. 7, 8) is in `subudhi_control`.
"""

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from flexarm.description.arm import Arm, Fixed, Link, Revolute, Rigid
from flexarm.description.load import load
from flexarm.model import Model
from flexarm.papers.claims import Claim, Verdict
from flexarm.plots import save_figure
from flexarm.shapes import ClampedMass, TipLoad, quadrature
from flexarm.simulation.inputs import Piecewise
from flexarm.simulation.run import simulate

Array = np.ndarray
Rotor = Literal["relative", "absolute"]

TORQUE, PULSE, UNTIL = 0.2, 0.5, 2.0
ROTORS: tuple[Rotor, Rotor] = ("relative", "absolute")
KS = 100.0
RIGID = load("subudhi-morris")
LINK: Any = RIGID.links[0].body
L, M, EI = LINK.length, LINK.total_mass, LINK.stiffness["y"]
M_P, I_P, J = 0.1, 0.005, 0.02
LOADS = (TipLoad(M + M_P, M * L**2 / 3 + I_P + M_P * L**2, M * L / 2 + M_P * L), TipLoad(M_P, I_P, 0.0))
"""M_E, I_E and M_DE of eqs. 47, 48 at theta_2 = 0, without J_2 in I_E1 and without M_P l^2 in I_E2."""


def reproduce(folder: Path) -> list[Claim]:
    """Draw Figs. 4 to 8 and two of our own into the folder; check what the paper says."""
    from flexarm.papers.subudhi_control import control  # which is made of what is here

    model = [*table_1(), *modes(), *model_equations(), *responses(folder), *stiff_joints(), *validity(folder)]
    return [*model, *control(folder)]


# -- the arms ----------------------------------------------------------------------------------------------------------


def arm(rotor: Rotor = "relative", ks: float | None = None, shapes: tuple[Any, Any] | None = None, **body: Any) -> Arm:
    """The paper's arm; `ks` [N m/rad] makes its joints elastic, `shapes` is for each link, `body` changes both."""
    links = [link.replace(joint=link.joint.replace(rotor=rotor, stiffness=ks)) for link in RIGID.links]
    families = shapes or (LINK.shapes, LINK.shapes)
    links = [
        link.replace(body=link.body.replace(shapes=shape, **body)) for link, shape in zip(links, families, strict=True)
    ]
    return RIGID.replace(links=links)


def chain(rotor: Rotor, pieces: int, ks: float | None = None) -> Arm:
    """Each link cut into short beams, one finite element each and clamped to one another: angles may be large."""
    beam = LINK.replace(length=L / pieces, modes={"y": 2}, shapes="hermite")
    links = [
        Link(
            name=f"{link.name}{i}",
            joint=link.joint.replace(rotor=rotor, stiffness=ks) if i == 0 else Fixed(),
            body=beam,
        )
        for link in RIGID.links
        for i in range(pieces)
    ]
    return RIGID.replace(links=links)


def rods(rotor: Rotor, pieces: int) -> Arm:
    """Each link as `pieces` rigid rods (the outer two halved), between them elastic joints of EI / h.

    A joint's motor is so heavy that it stands still.
    """
    h = L / pieces
    spring = Revolute(rotor_inertia=1e9, stiffness=EI / h)
    links = []
    for link in RIGID.links:
        for i in range(pieces + 1):
            length = h if 0 < i < pieces else h / 2
            joint = link.joint.replace(rotor=rotor) if i == 0 else spring
            links.append(Link(name=f"{link.name}{i}", joint=joint, body=Rigid(length=length, mass=M * length / L)))
    return RIGID.replace(links=links)


def run(arm: Arm, torque: float = TORQUE, samples: int = 2001, until: float = UNTIL, **solver: Any) -> Any:
    """The response to the torque of Fig. 4(a): `torque` on both rotors for 0.5 s, its opposite for 0.5 s, then none."""
    model = Model(arm)
    rotors = [name.split(".")[0] in ("upper", "upper0", "fore", "fore0") for name in model.inputs]
    u = np.outer([torque, -torque, 0.0], rotors)
    return simulate(model, until, u=Piecewise([0.0, PULSE, 2 * PULSE], u), samples=samples, progress=False, **solver)


@cache
def response(rotor: Rotor, ks: float | None = None) -> Any:
    """The response with two clamped-mass modes a link."""
    return run(arm(rotor, ks))


@cache
def chain_response(rotor: Rotor, ks: float | None = None) -> Any:
    """The response of a chain of four short beams a link."""
    return run(chain(rotor, 4, ks), samples=201)


def travel(result: Any) -> float:
    """Length of the tip's way [mm]."""
    return 1e3 * float(np.linalg.norm(np.diff(result.tip.values, axis=0), axis=1).sum())


def apart(a: Any, b: Any) -> Array:
    """Distance of the tips over time [mm]."""
    return 1e3 * np.linalg.norm(a.tip.values - b.tip.values, axis=1)


# -- Table 1 and the modes ---------------------------------------------------------------------------------------------


def table_1() -> list[Claim]:
    """The bundled arms have the numbers of Table 1."""
    names = ("rho", "EI", "l", "I_r", "G", "k_s", "M_P", "I_P")
    printed = (0.2, 1.0, 0.5, 0.02, 1.0, 100.0, 0.1, 0.005)
    found = []
    for link in load("subudhi-morris-elastic").links:
        body: Any = link.body
        joint: Any = link.joint
        payload: Any = RIGID.payload
        drive = (joint.rotor_inertia, joint.gear_ratio, joint.stiffness)
        found.append((body.m, body.EI, body.length, *drive, payload.mass, payload.inertia))
    ours = " ".join(f"{name} {value:g}" for name, value in zip(names, found[0], strict=True))
    return [Claim("Table 1", "both links, SI units", numbers(printed), ours, verdict(found == [printed, printed]))]


def modes() -> list[Claim]:
    """Eqs. 27 to 41, 47, 48: shapes and frequencies of each link against finite elements."""
    rates = [frequencies(load) for load in LOADS]
    elements = [by_elements(load) for load in LOADS]
    error = max(np.abs(a / b - 1).max() for a, b in zip(rates, elements, strict=True))
    ends = max(boundary_errors(load) for load in LOADS)
    no_moment = frequencies(TipLoad(LOADS[0].mass, LOADS[0].inertia))
    wrong = frequencies(TipLoad(M_P, I_P + M_P * L**2))
    carried = {rotor: link_1_in_arm(rotor) for rotor in ROTORS}
    with_J = frequencies(TipLoad(LOADS[0].mass, LOADS[0].inertia + J, LOADS[0].first_moment))
    fit = max(np.abs(carried["relative"] / rates[0] - 1).max(), np.abs(carried["absolute"] / with_J - 1).max())
    turned, ways = turned_shapes(), [travel(response(rotor)) for rotor in ROTORS]
    return [
        Claim(
            *("Eqs. 29 to 31", "tip conditions", "M_DE times v'' in both; I_E = I_L / (m l), M_DE = M_D / (m l^2)"),
            f"moment I_E v' + M_DE v, force M_E v + M_DE v'; I_L / (m l^2), M_D / (m l): modes keep them to {ends:.0e}",
            "explained",
            "the printed terms have not the dimension of what they stand beside",
        ),
        Claim(
            *("Eqs. 37 to 39", "shapes and frequency equation", "not legible in the text we have"),
            f"derived from eqs. 27 to 30; frequencies agree with 12 finite elements to {error:.0e}",
            "explained" if error < 1e-5 else "not met",
            "in eq. 37 the pair is sin - sinh; eq. 38 is right; in eq. 39 the last term is 2 M_DE beta^2 sin sinh",
        ),
        Claim(
            *("Eq. 41", "frequencies of link 1; 2, clamped [rad/s]", "no numbers"),
            f"{numbers(rates[0])}; {numbers(rates[1])}",
            verdict(error < 1e-5),
            f"mu, iota, sigma = {numbers(ratios(LOADS[0]))}; {numbers(ratios(LOADS[1]))}",
        ),
        Claim(
            *("Eq. 47", "part of M_DE in the frequencies of link 1", "M_DE1 = (m_2 l_c2 + M_P l cos(theta_2))"),
            f"without it {numbers(no_moment)} rad/s instead of {numbers(rates[0])}",
            "explained",
            "the cosine belongs to the whole bracket: at theta_2 = 90 deg nothing of it is left, not m_2 l_c2",
        ),
        Claim(
            *("Eq. 47", "shapes of theta_2 = 0 serve for every theta_2", "little error"),
            f"with M_DE1 = 0 for M_DE1 at theta_2 = 0 the tip moves by at most {numbers(turned, 2)} mm "
            "(relative, absolute)",
            verdict(all(x < 0.01 * way for x, way in zip(turned, ways, strict=True))),
            f"out of {ways[0]:.0f} and {ways[1]:.0f} mm of travel: the two shapes of either load span nearly the same",
        ),
        Claim(
            *("Eq. 47", "I_E1 holds J_2", "I_b2 + J_2 + I_P + M_P l^2"),
            f"right for an absolute rotor ({numbers(carried['absolute'])} rad/s with joint 2 locked), wrong for a "
            f"relative one ({numbers(carried['relative'])})",
            "explained" if fit < 1e-5 else "not met",
            "a relative rotor has no kinetic energy while its joint stands still; eqs. 7, 53 are those of such a one",
        ),
        Claim(
            *("Eq. 48", "I_E2", "I_P + M_P l^2"),
            f"I_P: {numbers(rates[1])} rad/s (as printed it would be {numbers(wrong)})",
            "explained",
            "the payload sits at the tip itself; its mass counts in M_E2 already",
        ),
    ]


def ratios(load: TipLoad) -> tuple[float, float, float]:
    """mu, iota, sigma of a load on the paper's link."""
    return load.mass / M, load.inertia / (M * L**2), load.first_moment / (M * L)


def shapes_of(load: TipLoad) -> ClampedMass:
    """The clamped-mass family of the paper's link with this load."""
    mu, iota, sigma = ratios(load)
    return ClampedMass(mass_ratio=mu, inertia_ratio=iota, moment_ratio=sigma)


def frequencies(load: TipLoad, count: int = 2) -> Array:
    """Of the clamped link with this load, by the frequency equation and eq. 41 [rad/s]."""
    return shapes_of(load).roots(count) ** 2 * np.sqrt(EI / (M / L)) / L**2


def by_elements(load: TipLoad, count: int = 2) -> Array:
    """The same by 12 finite elements that hold a rigid body of this mass, centre of mass and inertia."""
    center = load.first_moment / load.mass
    body = Rigid(length=0.0, mass=load.mass, com=(center, 0.0, 0.0), inertia=load.inertia - load.mass * center**2)
    beam = LINK.replace(modes={"y": 24}, shapes="hermite")
    links = [Link(name="link", joint=Fixed(), body=beam), Link(name="load", joint=Fixed(), body=body)]
    return Model(Arm(name="clamped", links=links)).frequencies(np.zeros(24))[:count]


def boundary_errors(load: TipLoad) -> float:
    """How well two modes keep the tip's conditions, relative to their curvature at the hub."""
    mu, iota, sigma = ratios(load)
    family = shapes_of(load)
    beta, basis = family.roots(2), family.basis(2)
    phi, slope, moment, shear = (basis.values(1.0, n)[0] for n in range(4))
    size = np.abs(basis.values(0.0, 2)[0])
    bending = moment - beta**4 * (iota * slope + sigma * phi)
    force = shear + beta**4 * (mu * phi + sigma * slope)
    return float(max(np.abs(bending / size).max(), np.abs(force / size).max()))


def link_1_in_arm(rotor: Rotor) -> Array:
    """Frequencies of link 1 in the arm, both joints locked and link 2 rigid [rad/s]."""
    whole = arm(rotor, modes={"y": 2})
    first, second = whole.links
    beam = LINK.replace(modes={"y": 24}, shapes="hermite")
    stiff = whole.replace(links=[first.replace(body=beam), second.rigid()])
    return Model(stiff).frequencies(np.zeros(26))[:2]


def turned_shapes() -> list[float]:
    """Largest distance of tips computed with the shapes for theta_2 = 0 and 90 deg, relative and absolute [mm]."""
    straight, bent = (
        shapes_of(TipLoad(LOADS[0].mass, LOADS[0].inertia, part * LOADS[0].first_moment)) for part in (1, 0)
    )
    second = shapes_of(LOADS[1])
    arms = [[arm(rotor, shapes=(first, second)) for first in (straight, bent)] for rotor in ROTORS]
    return [float(apart(*(run(one, samples=201) for one in two)).max()) for two in arms]


# -- the equations of motion -------------------------------------------------------------------------------------------


def model_equations() -> list[Claim]:
    """Eqs. 19, 40, 46, 55 put to the test."""
    work = bending_work()
    factors = [stiffness_factors(load) for load in LOADS]
    start = {inertia: starting(inertia) for inertia in (J, 0.0)}
    return [
        Claim(
            *("Eq. 19", "energy of a bent link", "int EI (v'') dx"),
            f"1/2 int EI (v'')^2 dx = {work:.6f} times the work of the force that bends it",
            "explained" if abs(work - 1) < 1e-9 else "not met",
            "factor 1/2 and square are missing (eq. 20 has the factor)",
        ),
        Claim(
            *("Eqs. 40, 46", "stiffness of a mode", "omega^2 m, with int rho phi^2 = m"),
            f"omega^2 (int rho phi^2 + load): {numbers(factors[0], 2)} times as much for link 1, "
            f"{numbers(factors[1], 2)} for link 2",
            "explained",
            "of a clamped-mass mode the load is most of the modal mass; eq. 40 as printed lacks rho",
        ),
        Claim(
            *("Eq. 55", "inertia matrix with rigid joints", "M, without J"),
            f"M + diag(J) (as in eq. 66): the joints start with {numbers(start[J])} rad/s^2 at 0.2 N m",
            "explained",
            f"adding eqs. 53 and 54 puts J beside M_11; without it they would start with {numbers(start[0.0])} rad/s^2",
        ),
    ]


def bending_work() -> float:
    """Strain energy of a link bent by a tip force, over the work of that force."""
    beam = LINK.replace(modes={"y": 2}, shapes="hermite")
    model = Model(Arm(name="bent", links=[Link(name="link", joint=Fixed(), body=beam)]))
    force = 0.3
    deflection, slope = force * L**3 / (3 * EI), force * L**2 / (2 * EI)
    _, potential = model.energy(np.array([deflection, slope * L]), np.zeros(2))
    return float(potential) / (force * deflection / 2)


def stiffness_factors(load: TipLoad) -> Array:
    """EI int phi''^2 over omega^2 m of two modes that are normalised by int rho phi^2 = m."""
    basis = shapes_of(load).basis(2)
    x, w = quadrature(basis)
    k = EI / L**3 * (w @ basis.values(x, 2) ** 2)
    return k / (frequencies(load) ** 2 * M * (w @ basis.values(x) ** 2))


def starting(inertia: float) -> Array:
    """Accelerations of the joints at rest under the first torque [rad/s^2], links rigid, rotors of this inertia."""
    links = [link.replace(joint=link.joint.replace(rotor_inertia=inertia)) for link in RIGID.rigid().links]
    return Model(RIGID.replace(links=links)).forward_dynamics(np.zeros(2), np.zeros(2), np.full(2, TORQUE))


# -- Figs. 4 to 6 ------------------------------------------------------------------------------------------------------


def responses(folder: Path) -> list[Claim]:
    """What the paper says of Figs. 4 to 6."""
    runs = {(rotor, ks): response(rotor, ks) for rotor in ROTORS for ks in (None, KS)}
    figures_4_to_6(folder, runs)
    figure_pulse(folder)
    far = {rotor: [chain_deflections(chain_response(rotor, ks)) for ks in (None, KS)] for rotor in ROTORS}
    soft = run(arm(ks=2.0))

    def grown(measure: Any, a: Any, b: Any) -> Array:
        return 100 * (measure(b) / measure(a) - 1)

    def pairs(measure: Any) -> dict[Rotor, Array]:
        return {rotor: grown(measure, runs[rotor, None], runs[rotor, KS]) for rotor in ROTORS}

    angles, amplitudes, tips = pairs(oscillation), pairs(mode_amplitudes), pairs(tip_deflections)
    late = {rotor: runs[rotor, KS].time.values > 2 * PULSE for rotor in ROTORS}
    residual = {
        rotor: 100
        * (rms(runs[rotor, KS].q.values[late[rotor], 2]) / rms(runs[rotor, None].q.values[late[rotor], 2]) - 1)
        for rotor in ROTORS
    }
    expected = {rotor: 100 * (after_pulse(arm(rotor, KS)) / after_pulse(arm(rotor)) - 1) for rotor in ROTORS}
    chained = {rotor: 100 * (b / a - 1) for rotor, (a, b) in far.items()}
    joints = {rotor: 1e3 * np.abs(spring(runs[rotor, KS])).max(axis=0) for rotor in ROTORS}
    decay = {ks: damping_ratios(arm(ks=ks, damping=0.02)) for ks in (None, KS)}
    coarse = apart(run(arm(ks=KS), method="rk4", step=1e-3), runs["relative", KS]).max()
    ends = {rotor: runs[rotor, None] for rotor in ROTORS}
    between = apart(ends["relative"], ends["absolute"])[-1]
    why = "a joint is 50 times stiffer than a link (EI / l = 2 N m/rad): what changes is how the pulses meet the modes"

    def said(values: dict[Rotor, Array]) -> str:
        return "; ".join(f"{rotor} {signed(values[rotor])}" for rotor in ROTORS)

    def judged(values: dict[Rotor, Array]) -> Verdict:
        return "met" if all((v > 0).all() for v in values.values()) else "explained"

    return [
        Claim(
            *("Figs. 4(b), (c)", "link angles at 2 s, rigid joints [rad]", "curves"),
            "; ".join(f"{rotor} {numbers(ends[rotor].q.values[-1, :2])}" for rotor in ROTORS),
            "explained",
            f"eqs. 7, 53 are those of a relative rotor; with G = 1 an absolute one brings the tip {between:.0f} mm "
            "elsewhere",
        ),
        Claim(
            *("Figs. 4(b), (c)", "link angles oscillate more with elastic joints", "more oscillatory"),
            f"about their drift after 1 s, percent: {said(angles)}",
            judged(angles),
            why,
        ),
        Claim(
            *("Figs. 4(d), 5(a) to (c)", "modes 11, 12, 21, 22 grow with elastic joints", "greater"),
            f"largest amplitudes, percent: {said(amplitudes)}",
            judged(amplitudes),
            why,
        ),
        Claim(
            *("Figs. 5(d), 6(a)", "tip deflections grow with elastic joints", "greater"),
            f"largest, percent: {said(tips)}",
            judged(tips),
            f"chain of short beams, percent: {said(chained)}; with k_s = 2 (relative) it is "
            f"{signed(grown(tip_deflections, runs['relative', None], soft))}, joints "
            f"{numbers(1e3 * np.abs(spring(soft)).max(axis=0), 3)} mrad",
        ),
        Claim(
            *("Figs. 4 to 6", "why: vibration left after the pulses, mode 11", "greater"),
            f"simulated, percent: {said({r: np.array([residual[r]]) for r in ROTORS})}",
            "explained",
            "by (4 / omega^2) sin^2(omega T / 2) of each mode of the linear arm: "
            + said({r: np.array([expected[r]]) for r in ROTORS}),
        ),
        Claim(
            *("Fig. 6(b)", "joint deflections [mrad]", "visible"),
            "; ".join(f"{rotor} {numbers(joints[rotor], 2)}" for rotor in ROTORS),
            verdict(min(v.min() for v in joints.values()) > 1),
            "2 mrad would be the torque over k_s",
        ),
        Claim(
            *("Section 6", "decay of the vibrations", "with rigid joints only"),
            f"2 percent of damping in the links: modes 1, 2 have {numbers(100 * decay[None][:2])} percent with rigid, "
            f"{numbers(100 * decay[KS][:2])} percent with elastic joints",
            "explained",
            "the damping d_ij is not printed; with d_ij = 0 neither decays, with any other both do, as the joints "
            "hold a small part of the energy",
        ),
        Claim(
            *("Section 6", "RK4 with 1 ms serves", "used throughout"),
            f"tip within {coarse:.2g} mm (elastic joints, relative)",
            verdict(coarse < 5.0),
            f"just: omega h = {fastest(arm(ks=KS)) * 1e-3:.2f}, stable below 2.83",
        ),
    ]


def spring(result: Any) -> Array:
    """Deflections of the elastic joints, link less motor [rad]."""
    q = result.q.values
    return q[:, :2] - q[:, -2:]


def rms(values: Array) -> Array:
    """Root mean square over time."""
    return np.sqrt(np.mean(values**2, axis=0))


def oscillation(result: Any) -> Array:
    """Deviation of the link angles from their mean drift once the torque is gone, rms [rad]."""
    late = result.time.values > 2 * PULSE
    t, q = result.time.values[late], result.q.values[late, :2]
    return rms(q - np.column_stack([np.polyval(np.polyfit(t, y, 1), t) for y in q.T]))


def mode_amplitudes(result: Any) -> Array:
    """Largest amplitudes of the four modes [m]."""
    return np.abs(result.q.values[:, 2:6]).max(axis=0)


def tip_deflections(result: Any) -> Array:
    """Largest tip deflections of the two links [m]."""
    return np.abs(result.deflection.values[..., 1]).max(axis=0)


def chain_deflections(result: Any) -> Array:
    """The same of a chain: the place of a link's last frame across the direction in which it leaves its joint."""
    model = Model(Arm.from_json(result.attrs["arm"]))
    F = model.frames(result.q.values)
    n = len(model.arm.links) // 2
    across = [np.einsum("ti,ti->t", F[:, a, :3, 1], F[:, a + n, :3, 3] - F[:, a, :3, 3]) for a in (0, n)]
    return np.array([np.abs(y).max() for y in across])


def after_pulse(arm: Arm) -> float:
    """Root mean square of link 1's first mode after the pulses, by the linear arm at q = 0.

    Mode i, of M-norm 1 and shape V_i, is driven by b_i u with b_i the sum of its actuators' components; two pulses of
    length T leave it with the amplitude 4 b_i u sin^2(omega_i T / 2) / omega_i^2.
    """
    model = Model(arm)
    q = np.zeros(len(model.coordinates))
    omega, V = model.modes(q, locked=False)
    b = (model.input_matrix(q).T @ V).sum(axis=0)
    own = V[model.coordinates.index("upper.y1")]
    amplitude = [o * c * pulse(w) for o, c, w in zip(own, b, omega, strict=True) if w > 1]
    return TORQUE * float(np.sqrt(np.sum(np.square(amplitude)) / 2))


def pulse(omega: Any) -> Any:
    """Amplitude that two opposite unit pulses of 0.5 s leave in x'' + omega^2 x = u."""
    return 4 * np.sin(omega * PULSE / 2) ** 2 / omega**2


def damping_ratios(arm: Arm) -> Array:
    """Of the modes with free motors that vibrate, ascending in frequency."""
    model = Model(arm)
    q = np.zeros(len(model.coordinates))
    omega, V = model.modes(q, locked=False)
    D = model.damping_force(q, np.eye(len(q)))
    power = np.einsum("ri,rc,ci->i", V, D, V)
    return (power[omega > 1] / (2 * omega[omega > 1])).astype(float)


def fastest(arm: Arm) -> float:
    """Highest frequency [rad/s]."""
    return float(Model(arm).frequencies(np.zeros(len(arm.coordinates)), locked=False)[-1])


# -- stiff joints ------------------------------------------------------------------------------------------------------


def stiff_joints() -> list[Claim]:
    """As k_s grows, eqs. 53, 54 become 55 (with J): frequencies and tip, and the order in 1 / k_s."""
    springs = np.array([400.0, 1600.0, 6400.0])
    omega = {ks: vibrations(arm(ks=ks)) for ks in (None, *springs)}
    gaps = np.array([np.abs(omega[ks] / omega[None] - 1).max() for ks in springs])
    motion = partial(run, until=1.0, samples=1001)
    stiff = motion(arm())
    tips = np.array([apart(motion(arm(ks=ks)), stiff).max() for ks in springs])
    orders = [np.log(x[1] / x[2]) / np.log(springs[2] / springs[1]) for x in (gaps, tips)]
    return [
        Claim(
            *("Eq. 55", "limit of stiff joints", "eqs. 53, 54 reduce to it"),
            f"k_s = 400, 1600, 6400: four lowest frequencies differ by {numbers(100 * gaps, 2)} percent, the tip by "
            f"{numbers(tips, 2)} mm in 1 s",
            verdict(all(abs(order - 1) < 0.1 for order in orders)),
            f"order {numbers(np.array(orders))} in 1 / k_s",
        )
    ]


def vibrations(arm: Arm) -> Array:
    """The four lowest frequencies other than zero, motors free [rad/s]."""
    return Model(arm).frequencies(np.zeros(len(arm.coordinates)), locked=False)[2:6]


# -- how far small deflections carry -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """An arm of small-deflection theory."""

    label: str
    shapes: str
    modes: int
    foreshortening: bool

    def arm(self, rotor: Rotor) -> Arm:
        """The arm itself."""
        return arm(rotor, shapes=(self.shapes,) * 2, modes={"y": self.modes}, foreshortening=self.foreshortening)


TORQUES = (0.2, 0.06, 0.02)
VARIANTS = (
    Variant("2 clamped-free", "clamped-free", 2, False),
    Variant("4 clamped-free", "clamped-free", 4, False),
    Variant("2 clamped-mass", "clamped-mass", 2, False),
    Variant("4 clamped-mass", "clamped-mass", 4, False),
    Variant("2 clamped-mass, foreshortening", "clamped-mass", 2, True),
    Variant("4 clamped-mass, foreshortening", "clamped-mass", 4, True),
)


def validity(folder: Path) -> list[Claim]:
    """Small deflections against chains of short beams and of rigid rods."""
    best = {(rotor, torque): run(chain(rotor, 8), torque, samples=201) for rotor in ROTORS for torque in TORQUES}
    errors = {
        (rotor, variant.label): [
            float(apart(run(variant.arm(rotor), torque, samples=201), best[rotor, torque]).max()) for torque in TORQUES
        ]
        for rotor in ROTORS
        for variant in VARIANTS
    }
    rigid = {rotor: run(rods(rotor, 8), samples=201) for rotor in ROTORS}
    trust = {
        rotor: [apart(other, best[rotor, TORQUE]).max() for other in (chain_response(rotor), rigid[rotor])]
        for rotor in ROTORS
    }
    deflections = {rotor: 100 * chain_deflections(chain_response(rotor)) / L for rotor in ROTORS}
    ways = {rotor: travel(best[rotor, TORQUE]) for rotor in ROTORS}
    between = apart(best["relative", TORQUE], best["absolute", TORQUE])[-1]
    figure_validity(folder, errors)

    def said(label: str) -> str:
        return "; ".join(f"{rotor} {numbers(np.array(errors[rotor, label]), 2)}" for rotor in ROTORS)

    def orders(label: str) -> Array:
        return np.array(
            [np.log(e[0] / e[2]) / np.log(TORQUES[0] / TORQUES[2]) for e in (errors[r, label] for r in ROTORS)]
        )

    paper, short = errors["relative", "2 clamped-mass"], errors["relative", "2 clamped-mass, foreshortening"]
    return [
        Claim(
            *("Assumption (IV)", "largest deflections at 0.2 N m [percent of l]", "very small"),
            "; ".join(f"{rotor} {numbers(deflections[rotor], 2)}" for rotor in ROTORS),
            "explained",
            "not very small; the lines below say what that costs",
        ),
        Claim(
            *("(Reference)", "chain of 8 short beams a link, largest error of the tip [mm]", "-"),
            "; ".join(f"{rotor} {numbers(np.array(trust[rotor]), 2)}" for rotor in ROTORS),
            verdict(max(trust["relative"]) < 0.1 * paper[0] and max(trust["absolute"]) < 4),
            "against 4 short beams, and against 8 rigid rods with springs; both leave deflections and angles large",
        ),
        Claim(
            *("Figs. 4 to 6", "tips of the two rotor conventions after 2 s [mm]", "one figure"),
            f"{between:.0f} apart on the chain of short beams",
            "explained",
            f"travel of the tip {ways['relative']:.0f} (relative), {ways['absolute']:.0f} mm (absolute)",
        ),
        Claim(
            *("Assumption (IV)", "tip error at 0.2, 0.06, 0.02 N m, the paper's model [mm]", "small"),
            said("2 clamped-mass"),
            "explained",
            f"{100 * paper[0] / ways['relative']:.1f} and "
            f"{100 * errors['absolute', '2 clamped-mass'][0] / ways['absolute']:.1f} percent of the travel at 0.2 N m; "
            f"it falls with the power {numbers(orders('2 clamped-mass'), 2)} of the torque",
        ),
        Claim(
            *("Assumption (IV)", "the same with foreshortening", "-"),
            f"{said('2 clamped-mass, foreshortening')}; with 4 modes {said('4 clamped-mass, foreshortening')}",
            verdict(short[0] < 0.2 * paper[0]),
            "the missing second-order term is nearly all of the error (relative), with 4 modes half or more (absolute)",
        ),
        Claim(
            *("Section 3", "two modes give reasonable accuracy", "reasonable"),
            f"4 clamped-mass modes: {said('4 clamped-mass')} mm",
            verdict(abs(errors["relative", "4 clamped-mass"][0] / paper[0] - 1) < 0.1),
            "more modes do not help: what is left is geometry",
        ),
        Claim(
            *("Eqs. 27 to 39", "clamped-mass shapes are worth their trouble", "used"),
            f"clamped-free shapes, 2 modes: {said('2 clamped-free')}; 4 modes: {said('4 clamped-free')} mm",
            verdict(
                all(
                    errors[r, "2 clamped-free"][i] > 2 * errors[r, "2 clamped-mass"][i]
                    for r in ROTORS
                    for i in range(3)
                )
            ),
            "they carry no moment and no force at the tip, where the next link and the payload pull",
        ),
    ]


# -- words and pictures ------------------------------------------------------------------------------------------------


def numbers(values: Any, digits: int = 3) -> str:
    """Numbers in a row."""
    return ", ".join(f"{v:.{digits}g}" for v in values)


def signed(values: Array) -> str:
    """Changes in a row."""
    return ", ".join(f"{v:+.1f}" for v in values)


def verdict(fits: Any) -> Verdict:
    """Met, or not."""
    return "met" if fits else "not met"


STYLES: dict[tuple[Rotor, float | None], tuple[str, float]] = {
    ("relative", None): ("C0", 2.2),
    ("relative", KS): ("k", 0.7),
    ("absolute", None): ("C1", 2.2),
    ("absolute", KS): ("C3", 0.7),
}


def _panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for panel in panels:
        panel.grid(alpha=0.3)
    return figure, panels


def figures_4_to_6(folder: Path, runs: dict[tuple[Rotor, float | None], Any]) -> None:
    """The panels of the paper; thick curves are those of rigid joints."""

    def coordinate(n: int, scale: float = 1e3) -> Any:
        return lambda result: scale * result.q.values[:, n]

    def tip(link: int) -> Any:
        return lambda result: 1e3 * result.deflection.values[:, link, 1]

    pages: dict[str, list[tuple[str, Any]]] = {
        "fig4": [
            ("torque on each rotor [N m]", lambda result: result.u.values[:, 0]),
            ("angle of link 1 [rad]", coordinate(0, 1.0)),
            ("angle of link 2 [rad]", coordinate(1, 1.0)),
            ("link 1, mode 1 [mm]", coordinate(2)),
        ],
        "fig5": [
            ("link 1, mode 2 [mm]", coordinate(3)),
            ("link 2, mode 1 [mm]", coordinate(4)),
            ("link 2, mode 2 [mm]", coordinate(5)),
            ("tip of link 1 [mm]", tip(0)),
        ],
        "fig6": [
            ("tip of link 2 [mm]", tip(1)),
            ("joint 1, link less rotor [mrad]", lambda result: 1e3 * spring(result)[:, 0]),
            ("joint 2, link less rotor [mrad]", lambda result: 1e3 * spring(result)[:, 1]),
        ],
    }
    for page, found in pages.items():
        figure, panels = _panels(2, 2, (8, 5.6))
        for panel, (title, curve) in zip(panels, found, strict=False):
            for (rotor, ks), result in runs.items():
                if ks is None and "less rotor" in title:
                    continue
                color, width = STYLES[rotor, ks]
                label = f"{rotor} rotor, {'rigid' if ks is None else 'elastic'} joints"
                panel.plot(result.time[::2], curve(result)[::2], color=color, linewidth=width, label=label)
            panel.set_title(title, fontsize="medium")
            panel.set_xlabel("time [s]")
        for spare in panels[len(found) :]:
            spare.set_axis_off()
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="x-small")
        save_figure(figure, folder / f"subudhi-morris-{page}.png")


def figure_pulse(folder: Path) -> None:
    """What the pulses leave of a vibration, and where the arm's first two frequencies lie."""
    figure, (panel,) = _panels(1, 1, (7, 3.8))
    omega = np.linspace(8, 30, 400)
    panel.plot(omega, 1e3 * pulse(omega), color="0.6", label=r"$4\,\sin^2(\omega T/2)/\omega^2$")
    for (rotor, ks), (color, _) in STYLES.items():
        found = vibrations(arm(rotor, ks))[:2]
        label = f"{rotor} rotor, {'rigid' if ks is None else 'elastic'} joints"
        panel.plot(found, 1e3 * pulse(found), "o" if ks is None else "x", color=color, label=label)
    panel.set_xlabel(r"$\omega$ [rad/s]")
    panel.set_ylabel("vibration left [1e-3 s$^2$]")
    panel.legend(fontsize="small")
    save_figure(figure, folder / "subudhi-morris-pulse.png")


def figure_validity(folder: Path, errors: dict[tuple[Rotor, str], list[float]]) -> None:
    """Largest tip error over the torque."""
    figure, panels = _panels(1, 2, (10, 4.2))
    for panel, rotor in zip(panels, ROTORS, strict=True):
        for i, variant in enumerate(VARIANTS):
            style = "o-" if variant.modes == 2 else "s--"
            color = f"C{(0, 0, 1, 1, 2, 2)[i]}"
            panel.loglog(TORQUES, errors[rotor, variant.label], style, color=color, label=variant.label)
        panel.set_title(f"{rotor} rotor", fontsize="medium")
        panel.set_xlabel("torque [N m]")
        panel.set_ylabel("largest error of the tip [mm]")
        panel.set_ylim(3e-4, 100)
        panel.set_xticks(TORQUES, [f"{torque:g}" for torque in TORQUES])
        panel.minorticks_off()
    panels[0].legend(fontsize="x-small")
    save_figure(figure, folder / "subudhi-morris-validity.png")
