"""Claims of Lin & Lewis, part by part, with the results of flexarm."""

import numpy as np

from flexarm_papers.lin_lewis import claims_beam as beam
from flexarm_papers.lin_lewis import claims_elastic as elastic
from flexarm_papers.lin_lewis import claims_rfr as rfr
from flexarm_papers.lin_lewis import compute, loaded
from flexarm_papers.lin_lewis.printed import ROUNDING, numbers
from flexarm_papers.verdicts import Claim, Part, above, below, holds


def parts() -> list[Part]:
    """Return the parts of the paper in its order, then two studies."""
    return [
        joint_angles(),
        elastic.turning(),
        elastic.strain(),
        input_matrix(),
        theorem_1(),
        elastic.cost(),
        example_41(),
        beam.blocks(),
        beam.eigenvalues(),
        beam.clamped_free(),
        beam.pinned_pinned(),
        beam.vibrations(),
        example_43(),
        rfr.boundary_conditions(),
        rfr.example_44(),
        conclusion(),
        rfr.appendix(),
        beam.outputs(),
        beam.halved(),
    ]


def joint_angles() -> Part:
    """Return the claims of section 2.2 about joint angles."""
    second, third = loaded.turned_by_the_chord()
    claim = Claim(
        "Figs. 2, 3",
        "After a rigid link a joint's angle counts from that link; after a flexible one from the chord, hub to tip.",
        "theta* = theta; theta* = theta + dz(L) / L",
        "links 2 and 3 of the arm of 4.4 turn by exactly these angles",
        [below(second, ROUNDING), below(third, ROUNDING)],
    )
    return Part("Figs. 2, 3", "From where a joint's angle counts after a link that bends.", [claim])


def input_matrix() -> Part:
    """Return the claims of section 2.4 about the input matrix."""
    pinned, free = (compute.at_rest(name, 15)[2][:, 0] for name in ("pinned-pinned", "clamped-free"))
    slopes = np.arange(1, 16) * np.pi / compute.LENGTH
    claim = Claim(
        "Section 2.4, B",
        "The torque works on the rigid coordinate and on the slope of each shape at the hub.",
        "B' = [1, phi_1'(0), ...]; not zero for pinned-pinned, zero for clamped-free",
        f"k pi / L for pinned-pinned, the first {pinned[1]:.4f} 1/m; 0 for clamped-free",
        [
            below(compute.apart(pinned, [1.0, *slopes]), ROUNDING),
            below(compute.apart(free, np.eye(1, 16)[0]), ROUNDING),
        ],
    )
    return Part("Section 2.4, B", "What the torque at the hub works on, for both families of shapes.", [claim])


def theorem_1() -> Part:
    """Return the claims of Theorem 1, each on the paper's arms at a random state."""
    names = ("rigid-two-link", "lin-lewis-beam", "lin-lewis-azimuth-elevation", "lin-lewis-rfr")
    found = [compute.theorem(name) for name in names]
    skew_26, skew_22 = max(t.skew_26 for t in found), min(t.skew_22 for t in found)
    claims = [
        Claim(
            "Theorem 1, eq. 25",
            "The inertia matrix is the slope of the torques to the accelerations.",
            "M = dQ/dqdd",
            "equal to the M of composite bodies, on the arms of 4.1 to 4.4",
            [below(t.off_M, ROUNDING) for t in found],
        ),
        Claim(
            "Theorem 1, eq. 26",
            "Half the slope of the torques to the rates is a D that makes dM/dt - 2 D skew.",
            "D = 1/2 dQ/dqd; skew",
            "skew on these arms; and D qd is what eq. 22 makes of M(q) alone",
            [below(skew_26, ROUNDING), *(below(t.off_D, ROUNDING) for t in found)],
        ),
        Claim(
            "Theorem 1, eqs. 22, 24",
            "The D that these equations define element by element is the same.",
            "dM/dt - 2 D skew",
            f"not skew, by {skew_22:.1f} times the largest entry of D or more; with the correction skew",
            [below(skew_22, ROUNDING)],
            "The D of eqs. 22 and 24 must be made symmetric in its last two indices: that is the D of eq. 26.",
            [below(skew_26, ROUNDING)],
            "Both give the same D qd. The proof uses the symmetric one.",
        ),
    ]
    return Part("Theorem 1", "How M and D follow from the torques, and that dM/dt - 2 D is skew.", claims)


def example_41() -> Part:
    """Return the claim of example 4.1, at random parameters."""
    claim = Claim(
        "Example 4.1",
        "The equations of a rigid two-link arm are those of Spong & Vidyasagar (1989).",
        "exactly the same",
        "M, D and G of three random arms are the same",
        [below(error, ROUNDING) for error in compute.two_rigid_links()],
    )
    return Part("Example 4.1", "The equations of two rigid links, compared with those of a textbook.", [claim])


def example_43() -> Part:
    """Return the claims of example 4.3, azimuth and elevation."""
    places = (compute.LEVEL, compute.RAISED)
    free = [compute.turret_zeros("clamped-free", q) for q in places]
    pinned = [compute.turret_zeros("pinned-pinned", q, driven) for driven in (False, True) for q in places]
    one_percent = int(np.argmin(np.abs(compute.AMPLITUDES - 0.01)))
    (in_M, in_h), (slow_M, slow_h) = (compute.influence(rate)[one_percent] for rate in compute.RATES)
    names = compute.turret("clamped-free").coordinates
    wanted = ("turret.joint", "barrel.joint", "barrel.y1", "barrel.y2", "barrel.z1", "barrel.z2")
    claims = [
        Claim(
            "4.3, coordinates",
            "Two angles, two modes in the horizontal and two in the vertical plane.",
            "th1, th2, u1, u2, v1, v2",
            ", ".join(names),
            [holds(names == wanted)],
        ),
        Claim(
            "4.3, clamped-free",
            "The zeros of both angles are marginally stable.",
            "marginally stable",
            f"+-({numbers(free[0])}) rad/s, level or raised by 0.6 rad",
            [
                *(below(each, 1e-8) for z in free for each in z.real / np.abs(z)),
                below(compute.apart(free[1].imag, free[0].imag), 1e-9),
            ],
            note="They are those of 4.2, once in each plane. The paper prints no numbers of this arm; here its barrel "
            "is the beam of 4.2.",
        ),
        Claim(
            "4.3, pinned-pinned",
            "The zeros of both angles are not minimum phase.",
            "nonminimum phase",
            f"level +-({numbers(pinned[0])}) rad/s; with the paper's B +-({numbers(pinned[2])})",
            [above(z.real.max(), 1.0) for z in pinned],
            note="In the paper's B the azimuth torque works on the horizontal slope at the hub too; in flexarm a joint "
            "drives the slope about its own axis alone. Neither is minimum phase, level or raised by 0.6 rad.",
        ),
        Claim(
            "4.3, influence",
            "Bending changes the Coriolis and centrifugal terms much and the inertia matrix little.",
            "significantly; little",
            f"a vibration of 1 percent of the length changes M by {100 * in_M:.2f} percent, the velocity terms by "
            f"{100 * in_h:.2f} percent with joints at 1 rad/s and by {100 * slow_h:.1f} percent at 0.1 rad/s",
            [above(in_h / in_M, 10.0)],
            "The sentence holds if the joints turn slowly relative to the vibration, not at any rate.",
            [above(slow_h / slow_M, 10.0)],
            "We take 'significantly' as ten times the change of M.",
        ),
    ]
    says = "A turret with a barrel that bends both ways: its zeros, and what the bending does to the equations."
    return Part("Example 4.3", says, claims, "lin-lewis-influence.svg")


def conclusion() -> Part:
    """Return the claim of section 5 about the zeros of all examples."""
    counts = (2, 5, 10, 15)
    pinned, free = ([compute.rigid_zeros(name, n) for n in counts] for name in ("pinned-pinned", "clamped-free"))
    pinned.append(compute.turret_zeros("pinned-pinned", compute.LEVEL))
    free.append(compute.turret_zeros("clamped-free", compute.LEVEL))
    claim = Claim(
        "Section 5",
        "In all examples the zeros are unstable with pinned-pinned and marginally stable with clamped-free shapes.",
        "unstable; marginally stable",
        "so in 4.2 with 2, 5, 10 and 15 modes and in 4.3: a zero to the right; all on the imaginary axis",
        [
            *(above(z.real.max(), 1.0) for z in pinned),
            *(below(float((np.abs(z.real) / np.abs(z)).max()), 1e-6) for z in free),
        ],
        note="But these are two outputs: with pinned-pinned shapes the rigid coordinate is the angle of the chord, "
        "with clamped-free shapes that of the hub. See the study of zeros.",
    )
    return Part("Section 5", "The conclusion: what the shapes do to the zeros.", [claim])
