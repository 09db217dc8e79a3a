"""What acts on an arm beside inertia, linear springs and linear dampers: friction, motors, stops, contacts, winds.

An `Element` acts along some rates of the arm. It may keep states of its own, which follow first-order equations, and be
acted upon from outside. The audit asks it for what it stores, loses and supplies. No recursion knows of elements: all
they do is a generalized force, B' f of the rates B qd that a force f works along.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import casadi as ca

from flexarm.mechanics.spatial import Scalar, Vector, added, dot, entries

Along = Callable[[Vector, Vector], Vector]
"""Rates v(q, qd) that an element acts along; linear in qd."""


@dataclass(frozen=True)
class Seen:
    """What an element sees at a moment.

    Attributes
    ----------
    q : (n,)
        All coordinates.
    v : (k,)
        The rates it acts along.
    s, w : (states,), (exogenous,)
        Its own states, and what is done to it from outside.
    u : scalar or None
        The input that it sees; None where the actuators are away, and do whatever a prescribed motion needs.
    """

    q: Vector
    v: Vector
    s: Vector
    w: Vector
    u: Scalar | None


@dataclass(frozen=True)
class Push:
    """What an element does.

    Attributes
    ----------
    force : (k,)
        Along its rates [N m or N], beside that of its potential.
    s_dot : (states,)
    lost, supplied : scalar
        Powers [W]. force . v + lost + d stored / dt = supplied.
    """

    force: Sequence[Scalar] = ()
    s_dot: Sequence[Scalar] = ()
    lost: Scalar = 0.0
    supplied: Scalar = 0.0


def at_rest(seen: Seen) -> Push:
    """What an element does that has a potential alone."""
    return Push([0.0] * len(seen.v))


def nowhere(q: Vector, qd: Vector) -> Vector:
    """The rates of an element that has a potential alone."""
    return []


def no_contacts(q: Vector, qd: Vector) -> Vector:
    """Of an element whose force is smooth, or that no solver stops for."""
    return []


@dataclass(frozen=True)
class Element:
    """Something that acts on an arm; see the module.

    Attributes
    ----------
    along : (q, qd) -> (k,)
    push : Seen -> Push
    potential : q -> scalar
        Energy that depends on the configuration alone [J]; its slope acts beside `push`.
    stored : s -> scalar
        Energy in the states [J].
    field : (q, s) -> scalar, optional
        Energy that depends on both [J], of something that changes whatever the arm does. All that it does stands in
        `push`; neither inverse dynamics nor what holds an arm at rest knows of it.
    steady : Seen -> (states,)
        The states that stay at these rates, zero where nothing else is said: inverse dynamics has no others.
    states, exogenous : int
    input : int or None
        The input that it sees.
    takes_over : bool
        Whether that input acts on the arm by this element alone, which supplies its power.
    contacts : (q, qd) -> (contacts,)
        What changes its sign where the solver is to stop.
    reads : Seen -> (torque, current), optional
        Of a motor, before its gear: what its sensors see.
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
    contacts: Along = no_contacts
    reads: Callable[[Seen], tuple[Scalar, Scalar]] | None = None


def along(*rows: Vector) -> Along:
    """Rates in a fixed proportion to those of the coordinates: one for each row (n,)."""
    return lambda q, qd: [dot(row, qd) for row in rows]


class Pushed(NamedTuple):
    """What the elements of an arm do together.

    Attributes
    ----------
    force : (n,)
        Generalized, beside that of their potentials.
    s_dot : (states,)
    lost, supplied : scalar
        Powers [W].
    """

    force: Vector
    s_dot: Vector
    lost: Scalar
    supplied: Scalar


class _Acted(Protocol):
    """What of a chain is asked for here."""

    @property
    def elements(self) -> tuple[Element, ...]: ...

    @property
    def size(self) -> int: ...


def pushed(chain: _Acted, q: Vector, qd: Vector, s: Vector, w: Vector, u: Vector | None) -> Pushed:
    """What the elements do at a state; without u the actuators are away."""
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
    """States of the elements that stay at these rates, with nothing from outside, the actuators away."""
    return [
        x
        for e in chain.elements
        for x in e.steady(Seen(q, e.along(q, qd), [0.0] * e.states, [0.0] * e.exogenous, None))
    ]


def read(chain: _Acted, q: Vector, qd: Vector, s: Vector, w: Vector, u: Vector) -> list[list[Scalar]]:
    """Torque and current of the motor of each input; one that is not described gives the torque that it is told."""
    found: list[list[Scalar]] = [[x, 0.0] for x in u]
    for element, (mine, outside) in zip(chain.elements, _shares(chain.elements, s, w), strict=True):
        if element.reads is not None and element.input is not None:
            v = element.along(q, qd)
            found[element.input] = [*element.reads(Seen(q, v, mine, outside, u[element.input]))]
    return found


def _shares(elements: Iterable[Element], s: Vector, w: Vector) -> list[tuple[Vector, Vector]]:
    """States and exogenous inputs of each."""
    found, i, j = [], 0, 0
    for element in elements:
        found.append((s[i : i + element.states], w[j : j + element.exogenous]))
        i, j = i + element.states, j + element.exogenous
    return found


def generalized(rates: Along, q: Vector, force: Sequence[Scalar]) -> Vector:
    """The generalized force (n,) of a force along rates of the arm: its power's slope in qd."""
    z = ca.SX.sym("qd", len(q))
    power = ca.SX(dot(rates(q, entries(z)), force))
    return entries(ca.densify(ca.gradient(power, z)))


def potential(chain: _Acted, q: Vector) -> Scalar:
    """Energy of all elements that depends on the configuration alone [J]."""
    return sum((element.potential(q) for element in chain.elements), 0.0)


def contacts(chain: _Acted, q: Vector, qd: Vector) -> Vector:
    """What changes its sign where the solver is to stop, of all elements."""
    return [x for element in chain.elements for x in element.contacts(q, qd)]


def stored(chain: _Acted, q: Vector, s: Vector) -> Scalar:
    """Energy in the states of all elements, and in fields [J]."""
    found: Scalar = 0.0
    for element, (mine, _) in zip(chain.elements, _shares(chain.elements, s, []), strict=True):
        found = found + element.stored(mine) + (0.0 if element.field is None else element.field(q, mine))
    return found


def potential_force(chain: _Acted, q: Vector) -> Vector:
    """dV/dq (n,) of the elements' potentials."""
    return slope(lambda at: potential(chain, at), q) if chain.elements else [0.0] * chain.size


def slope(energy: Callable[[Vector], Scalar], q: Vector) -> Vector:
    """Of a potential, at q: (n,)."""
    z = ca.SX.sym("q", len(q))
    found = ca.densify(ca.gradient(ca.SX(energy(entries(z))), z))
    (at_q,) = ca.substitute([found], [z], [ca.SX(ca.vertcat(*q))])
    return entries(at_q)
