"""Motors: torque or voltage input, current, limits, and gear losses, along the rate on which an actuator works."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import casadi as ca

from flexarm.description.motors import Motor, TorqueSpeed
from flexarm.description.parts import EFFORT, RATE
from flexarm.mechanics.elements import Along, Element, Push, Seen
from flexarm.mechanics.parameters import Name
from flexarm.mechanics.spatial import Scalar


@dataclass(frozen=True)
class Effort:
    """Output of a motor at a state, on the joint's side of the gear.

    Attributes
    ----------
    torque : scalar
        Torque of the motor, before gear losses [N m or N].
    output : scalar
        Torque after the gear.
    current : scalar
        [A]; 0 if the motor's electrical side is not described.
    current_rate : scalar
        [A/s]; nonzero only if the current is a state.
    supplied, lost : scalar
        Powers [W].
    """

    torque: Scalar
    output: Scalar
    current: Scalar
    current_rate: Scalar
    supplied: Scalar
    lost: Scalar


Drawn = Callable[[Scalar, Scalar, Scalar], Effort]
"""A function of the input, the current if it is a state (else any value), and the actuator's rate."""


def motor(description: Motor, rates: Along, gear_ratio: Scalar, place: int, name: Name) -> Element:
    """Return the element of a motor that acts along one rate in place of the input u[place]."""
    draws, states = drawn(description, gear_ratio, name), len(description.states)

    def push(seen: Seen) -> Push:
        if seen.u is None:  # without actuators, a current is constant
            return Push([0.0], [0.0] * states)
        done = draws(seen.u, seen.s[0] if states else 0.0, seen.v[0])
        return Push([done.output], [done.current_rate] * states, done.lost, done.supplied)

    def reads(seen: Seen) -> tuple[Scalar, Scalar]:
        done = draws(seen.u, seen.s[0] if states else 0.0, seen.v[0])
        return done.torque, done.current

    inductance = _inductance(description, name)
    return Element(
        rates,
        push,
        stored=lambda s: 0.5 * inductance * s[0] ** 2 if states else 0.0,
        states=states,
        input=place,
        takes_over=True,
        reads=reads,
    )


def drawn(description: Motor, gear_ratio: Scalar, name: Name) -> Drawn:
    """Return the motor's output as a function of input, current and rate."""
    efficient = _gear(description, name)
    if description.input == "torque":
        limited = _limited(description, name)
        kt = None if description.torque_constant is None else _torque_constant(description, name)

        def by_torque(u: Scalar, current: Scalar, v: Scalar) -> Effort:
            torque = limited(u, v)
            output, lost = efficient(torque, v)
            amperes = 0.0 if kt is None else torque / (kt * gear_ratio)
            return Effort(torque, output, amperes, 0.0, torque * v, lost)

        return by_torque

    kt = _torque_constant(description, name)
    R = name("Re", "drive.motor.resistance", description.resistance or 0.0, "ohm", "resistance of the winding")
    ke = kt
    if description.back_emf_constant is not None:
        value = description.back_emf_constant
        ke = name("ke", "drive.motor.back_emf_constant", value, "V s/rad", "back-EMF constant")
    L = _inductance(description, name)
    width = _width(description)
    top = _optional(description.voltage_limit, "Vmax", "voltage_limit", "V", "limit of the voltage", name)
    most = _optional(description.torque_limit, "taumax", "torque_limit", EFFORT, "limit of the torque", name)

    def by_voltage(u: Scalar, current: Scalar, v: Scalar) -> Effort:
        """Return the output of V = R i + L di/dt + k_e G v, with the torque k_t G i."""
        V = u if top is None else clipped(u, -top, top, width * top)
        emf, rate = ke * gear_ratio * v, 0.0
        if description.inductance is not None:
            i, rate = current, (V - R * current - emf) / L
        else:
            i = (V - emf) / R
            if most is not None:
                cut = most / ca.fabs(kt * gear_ratio)
                i = clipped(i, -cut, cut, width * cut)
                V = R * i + emf
        torque = kt * gear_ratio * i
        output, lost = efficient(torque, v)
        return Effort(torque, output, i, rate, V * i, R * i**2 + (emf * i - torque * v) + lost)

    return by_voltage


def clipped(x: Scalar, low: Scalar, high: Scalar, width: Scalar) -> Scalar:
    """Return x limited to a range, with a transition width at the limits (0: sharp).

    It deviates by at most width / 2.
    """
    return low + _beyond(x - low, width) - _beyond(x - high, width)


def _beyond(x: Scalar, width: Scalar) -> Scalar:
    """Return max(x, 0), rounded over a width: (x + sqrt(x^2 + width^2)) / 2."""
    sharp = isinstance(width, float) and width == 0.0
    return ca.fmax(x, 0.0) if sharp else 0.5 * (x + ca.sqrt(x**2 + width**2))


def _width(description: Motor) -> float:
    return description.saturation_width if description.saturation == "smooth" else 0.0


def _torque_constant(description: Motor, name: Name) -> Scalar:
    value = description.torque_constant or 0.0
    return name("kt", "drive.motor.torque_constant", value, "N m/A", "torque constant of the motor")


def _inductance(description: Motor, name: Name) -> Scalar:
    value = description.inductance
    return 0.0 if value is None else name("Le", "drive.motor.inductance", value, "H", "inductance of the winding")


def _optional(value: float | None, symbol: str, field: str, unit: str, meaning: str, name: Name) -> Scalar | None:
    return None if value is None else name(symbol, f"drive.motor.{field}", value, unit, meaning)


def _limited(description: Motor, name: Name) -> Callable[[Scalar, Scalar], Scalar]:
    """Return a function for the torque that a motor gives for a commanded one, at a rate."""
    most = _optional(description.torque_limit, "taumax", "torque_limit", EFFORT, "limit of the torque", name)
    share = _width(description)
    if description.torque_speed is not None:
        curve, first = description.torque_speed, description.torque_speed.torque[0]
        top: Scalar = first if most is None else most
        return lambda u, v: _within(u, v, lambda speed: _along(curve, speed), most, share, top)
    if description.speed_limit is not None:
        end = name("vmax", "drive.motor.speed_limit", description.speed_limit, RATE, "speed without load")
        stall = most if description.stall_torque is None else _stall(description, name)
        top = stall if most is None else most

        def line(speed: Scalar) -> Scalar:
            return stall * _beyond(1.0 - speed / end, share)

        return lambda u, v: _within(u, v, line, top, share, top)
    if most is not None:
        return lambda u, v: clipped(u, -most, most, share * most)
    return lambda u, v: u


def _stall(description: Motor, name: Name) -> Scalar:
    value = description.stall_torque or 0.0
    return name("taus", "drive.motor.stall_torque", value, EFFORT, "torque of the standing motor")


def _within(
    u: Scalar, v: Scalar, available: Callable[[Scalar], Scalar], most: Scalar | None, share: float, top: Scalar
) -> Scalar:
    """Limit u to the range from -T(-v) to T(v), and to a limit that does not depend on the rate."""
    width = share * top
    high, low = available(v), available(-v)
    if most is not None:
        high, low = (most - _beyond(most - each, width) for each in (high, low))
    return clipped(u, -low, high, width)


def _along(curve: TorqueSpeed, speed: Scalar) -> Scalar:
    """Interpolate linearly between the points, constant beyond, as a sum of ramps."""
    points = list(zip(curve.speed, curve.torque, strict=True))
    slopes = [0.0, *((b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(points)), 0.0]
    value: Scalar = points[0][1]
    for (at, _), (before, after) in zip(points, pairwise(slopes), strict=True):
        if after != before:
            value = value + (after - before) * ca.fmax(speed - at, 0.0)
    return value


def _gear(description: Motor, name: Name) -> Callable[[Scalar, Scalar], tuple[Scalar, Scalar]]:
    """Return a function for the torque after a gear, at a rate, and the power that the gear loses.

    A driving torque becomes e tau and a driven one tau / e', so that (1 - e) |tau| or (1 / e' - 1) |tau| acts against
    the motion. Both are sigma |tau| (c + d sign(tau) sigma), with sigma = tanh(v / v_e) for the sign of the rate.
    """
    eta = description.efficiency
    back = eta if description.back_efficiency is None else description.back_efficiency
    if eta == 1.0 and back == 1.0:
        return lambda torque, v: (torque, 0.0)
    e = name("eff", "drive.motor.efficiency", eta, "", "efficiency of the gear, driving", plain=True)
    if description.back_efficiency is None:
        e_back = e
    else:
        e_back = name("effb", "drive.motor.back_efficiency", back, "", "efficiency of the gear, driven", plain=True)
    onset = name("ve", "drive.motor.efficiency_rate", description.efficiency_rate, RATE, "onset of the loss")
    driving, driven = 1.0 - e, 1.0 / e_back - 1.0
    mean, half = 0.5 * (driving + driven), 0.5 * (driving - driven)

    def efficient(torque: Scalar, v: Scalar) -> tuple[Scalar, Scalar]:
        sigma = ca.tanh(v / onset)
        resisting = sigma * (mean * ca.fabs(torque) + half * torque * sigma)
        return torque - resisting, resisting * v

    return efficient
