"""Further elements that act on an arm: friction, motors, stops, contacts, external forces.

An `Element` acts along some rates of the arm. It may have states, which follow first-order equations, and exogenous
inputs. The energy balance uses its stored, lost and supplied energy. The recursions do not contain elements: their only
effect is a generalized force, B' f of the rates B qd along which a force f works.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import casadi as ca

from flexarm.mechanics.spatial import Scalar, Vector, added, dot, entries

Along = Callable[[Vector, Vector], Vector]
"""Rates v(q, qd) along which an element acts; linear in qd."""


@dataclass(frozen=True)
class Seen:
    """Arguments of an element at a state.

    Attributes
    ----------
    q : (n,)
        All coordinates.
    v : (k,)
        The rates along which it acts.
    s, w : (states,), (exogenous,)
        Its states, and its exogenous inputs.
    u : scalar or None
        Its input; None without actuators, when a prescribed motion determines their forces.
    """

    q: Vector
    v: Vector
    s: Vector
    w: Vector
    u: Scalar | None


@dataclass(frozen=True)
class Push:
    """Effect of an element.

    Attributes
    ----------
    force : (k,)
        Force along its rates [N m or N], in addition to that of its potential.
    s_dot : (states,)
    lost, supplied : scalar
        Powers [W]. force . v + lost + d stored / dt = supplied.
    """

    force: Sequence[Scalar] = ()
    s_dot: Sequence[Scalar] = ()
    lost: Scalar = 0.0
    supplied: Scalar = 0.0


def at_rest(seen: Seen) -> Push:
    """Return the effect of an element that has only a potential."""
    return Push([0.0] * len(seen.v))


def nowhere(q: Vector, qd: Vector) -> Vector:
    """Return the rates of an element that has only a potential."""
    return []


def no_crossings(q: Vector, qd: Vector) -> Vector:
    """Return no functions, for an element whose force is smooth or at which no solver stops."""
    return []


def no_touches(q: Vector, s: Vector) -> Vector:
    """Return no functions, for an element that always acts."""
    return []


@dataclass(frozen=True)
class Element:
    """An element that acts on an arm; see the module.

    Attributes
    ----------
    along : (q, qd) -> (k,)
    push : Seen -> Push
    potential : q -> scalar
        Energy that depends on the configuration alone [J]; its negative slope acts in addition to `push`.
    stored : s -> scalar
        Energy in the states [J].
    field : (q, s) -> scalar, optional
        Energy that depends on both [J], of a field that changes independently of the arm. `push` contains its complete
        effect. Neither inverse dynamics nor the static forces at rest include it.
    steady : Seen -> (states,)
        The states that are constant at these rates, by default zero; inverse dynamics uses them.
    states, exogenous : int
    input : int or None
        Index of the input on which it depends.
    takes_over : bool
        True if that input acts on the arm through this element alone, which supplies its power.
    crossings : (q, qd) -> (crossings,)
        Functions that change sign where the solver must stop.
    touches : (q, s) -> (touches,)
        Functions that change sign where a force begins or ends, whether a solver stops there or not.
    reads : Seen -> (torque, current), optional
        Sensor signals of a motor, before its gear.
    tension : Seen -> scalar, optional
        Tension of a cable [N].
    """

    along: Along = nowhere
    push: Callable[[Seen], Push] = at_rest
    potential: Callable[[Vector], Scalar] = lambda q: 0.0
    stored: Callable[[Vector], Scalar] = lambda s: 0.0
    field: Callable[[Vector, Vector], Scalar] | None = None
    steady: Callable[[Seen], Sequence[Scalar]] = lambda seen: [0.0] * len(seen.s)
    states: int = 0
    exogenous: int = 0
    input: int | None = None
    takes_over: bool = False
    crossings: Along = no_crossings
    touches: Along = no_touches
    reads: Callable[[Seen], tuple[Scalar, Scalar]] | None = None
    tension: Callable[[Seen], Scalar] | None = None


def along(*rows: Vector) -> Along:
    """Return rates in a fixed proportion to those of the coordinates, one per row (n,)."""
    return lambda q, qd: [dot(row, qd) for row in rows]


class Pushed(NamedTuple):
    """Combined effect of an arm's elements.

    Attributes
    ----------
    force : (n,)
        Generalized force, in addition to that of their potentials.
    s_dot : (states,)
    lost, supplied : scalar
        Powers [W].
    """

    force: Vector
    s_dot: Vector
    lost: Scalar
    supplied: Scalar


class _Acted(Protocol):
    """Part of a chain that this module needs."""

    @property
    def elements(self) -> tuple[Element, ...]: ...

    @property
    def size(self) -> int: ...


def pushed(chain: _Acted, q: Vector, qd: Vector, s: Vector, w: Vector, u: Vector | None) -> Pushed:
    """Return the effect of the elements at a state. u is None without actuators."""
    force: Vector = [0.0] * chain.size
    s_dot: Vector = []
    lost: Scalar = 0.0
    supplied: Scalar = 0.0
    for element, (mine, outside) in zip(chain.elements, _shares(chain.elements, s, w), strict=True):
        v = element.along(q, qd)
        given = None if u is None or element.input is None else u[element.input]
        done = element.push(Seen(q, v, mine, outside, given))
        force = added(force, generalized(element.along, q, done.force))
        s_dot += done.s_dot
        lost, supplied = lost + done.lost, supplied + done.supplied
    return Pushed(force, s_dot, lost, supplied)


def steady(chain: _Acted, q: Vector, qd: Vector) -> Vector:
    """Return the elements' states that are constant at these rates, without external loads and actuators."""
    return [
        x
        for e in chain.elements
        for x in e.steady(Seen(q, e.along(q, qd), [0.0] * e.states, [0.0] * e.exogenous, None))
    ]


def read(chain: _Acted, q: Vector, qd: Vector, s: Vector, w: Vector, u: Vector) -> list[list[Scalar]]:
    """Return torque and current of the motor of each input. A motor without a description gives its torque command."""
    found: list[list[Scalar]] = [[x, 0.0] for x in u]
    for element, (mine, outside) in zip(chain.elements, _shares(chain.elements, s, w), strict=True):
        if element.reads is not None and element.input is not None:
            v = element.along(q, qd)
            found[element.input] = [*element.reads(Seen(q, v, mine, outside, u[element.input]))]
    return found


def tensions(chain: _Acted, q: Vector, qd: Vector, s: Vector, w: Vector) -> Vector:
    """Return the tension of each cable [N]."""
    return [
        element.tension(Seen(q, element.along(q, qd), mine, outside, None))
        for element, (mine, outside) in zip(chain.elements, _shares(chain.elements, s, w), strict=True)
        if element.tension is not None
    ]


def _shares(elements: Iterable[Element], s: Vector, w: Vector) -> list[tuple[Vector, Vector]]:
    """Return the states and exogenous inputs of each element."""
    found, i, j = [], 0, 0
    for element in elements:
        found.append((s[i : i + element.states], w[j : j + element.exogenous]))
        i, j = i + element.states, j + element.exogenous
    return found


def generalized(rates: Along, q: Vector, force: Sequence[Scalar]) -> Vector:
    """Return the generalized force (n,) of a force along rates of the arm: the slope of its power in qd."""
    z = ca.SX.sym("qd", len(q))
    power = ca.SX(dot(rates(q, entries(z)), force))
    return entries(ca.densify(ca.gradient(power, z)))


def potential(chain: _Acted, q: Vector) -> Scalar:
    """Return the energy of all elements that depends on the configuration alone [J]."""
    return sum((element.potential(q) for element in chain.elements), 0.0)


def crossings(chain: _Acted, q: Vector, qd: Vector) -> Vector:
    """Return the functions of all elements that change sign where the solver must stop."""
    return [x for element in chain.elements for x in element.crossings(q, qd)]


def touches(chain: _Acted, q: Vector, s: Vector) -> Vector:
    """Return the functions of all elements that change sign where a force begins or ends."""
    found: Vector = []
    first = 0
    for element in chain.elements:
        found += element.touches(q, s[first : first + element.states])
        first += element.states
    return found


def stored(chain: _Acted, q: Vector, s: Vector) -> Scalar:
    """Return the energy in the states of all elements, and in fields [J]."""
    found: Scalar = 0.0
    for element, (mine, _) in zip(chain.elements, _shares(chain.elements, s, []), strict=True):
        found = found + element.stored(mine) + (0.0 if element.field is None else element.field(q, mine))
    return found


def potential_force(chain: _Acted, q: Vector) -> Vector:
    """Return dV/dq (n,) of the elements' potentials."""
    return gradient(lambda at: potential(chain, at), q) if chain.elements else [0.0] * chain.size


def gradient(energy: Callable[[Vector], Scalar], q: Vector) -> Vector:
    """Return the gradient (n,) of a potential at q."""
    z = ca.SX.sym("q", len(q))
    found = ca.densify(ca.gradient(ca.SX(energy(entries(z))), z))
    (at_q,) = ca.substitute([found], [z], [ca.SX(ca.vertcat(*q))])
    return entries(at_q)
