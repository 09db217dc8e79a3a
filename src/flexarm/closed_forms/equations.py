"""Closed forms of an arm's equations of motion: matrices of SymPy expressions, ready to read, print and export.

    M(q) qdd + (D(q, qd) + C) qd + U q + G(q) = B u

If the base is free, q has one more number than the rates qd (the unit quaternion of its attitude). Then U q is the
`stiffness_force`, and the rates of q are N(q) qd.

The closed forms come from the model's own functions, traced with symbols (`traced`), brought to a canonical form
(`harmonics`) and collected (`forms`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, final

import casadi as ca

from flexarm.cached import cached_property
from flexarm.checks import checked_flag, checked_instance, checked_names, checked_number, counted, refused, shown
from flexarm.closed_forms.collect import Form, Writer, collected
from flexarm.closed_forms.exports import check, identifier, program
from flexarm.closed_forms.formats import Program, c, javascript, latex, markdown, matlab, python, text
from flexarm.closed_forms.parts import ALL_PARTS, known, of_motion
from flexarm.closed_forms.regressor import Regressor, base, chosen
from flexarm.closed_forms.ring import Element, Limit, Ring, Term, TooManyTerms, plus, times, translated
from flexarm.closed_forms.traced import PLACE, Traced, rate_of, trace
from flexarm.description.arm import Arm, Beam
from flexarm.description.joints import refuse_balls
from flexarm.errors import DescriptionError
from flexarm.mechanics.parameters import LengthFunction, Parameter, fitting
from flexarm.shapes import ClosedForm, closed_form, family

LARGEST = 50_000
"""Largest number of terms of one part (a sine or cosine counts as two); more fill some hundreds of pages."""
ON_THE_WAY = 10 * LARGEST
"""Largest number of terms of a sum before parameters are replaced by numbers, which merges many terms."""
PRODUCTS = 40 * LARGEST
"""Largest number of single terms multiplied or added in the derivation of one part, which takes a second or two."""
POSE = 5000
"""Largest number of terms in the tip's pose for parts with two poses in each product, which have about its square."""

STAND_INS: dict[str, Callable[[Traced], ca.SX]] = {
    "tips": lambda traced: traced.tips,
    "tip_rates": lambda traced: traced.tip_rates,
}
"""Sums that are represented by symbols. They are derived like the parts."""


def equations(
    arm: Arm, numbers: Iterable[str] | Mapping[str, float | None] = (), however_large: bool = False
) -> "Equations":
    """Return the closed forms of an arm's equations of motion.

    Parameters
    ----------
    arm : Arm
    numbers : names of parameters, or a dict of them
        Parameters that are numbers instead of symbols, with the arm's values or, in a dict, the given ones. A name is
        that of the symbol ("m_1") or of the field ("upper.mass"), or a pattern ("phi_*", "upper.*").
    however_large : bool
        True to derive parts that are too large to read.

    Raises
    ------
    DescriptionError
        If a name fits no parameter (the message lists them), or if a joint has a drive. Friction has no closed form;
        `arm.without_drives()` has the rest. Also if the arm has forces, contacts, struts, cables, bushings, drags, a
        moving base or an orbit.

        When a closed form is first used, if it is too large. Small parts of such an arm are still available: U, B and
        damping of any arm, gravity of most.
    """
    with refused("equations"):
        checked_instance(arm, Arm, "arm")
        refuse_balls(arm, "equations")
        large = checked_flag(however_large, "however_large")
        if isinstance(numbers, Mapping):
            given = [*numbers.items()]
        else:
            names = checked_names(numbers, "a list of names of parameters, or a dict", "numbers")
            given = [(name, None) for name in names]
    if not arm.coordinates:
        raise DescriptionError(f"arm {arm.name!r}: nothing moves; give it a joint or a link with modes")
    if driven := [link.name for link in arm.links if link.joint != link.joint.without_drive()]:
        named = f"link {driven[0]!r} has a drive (friction, a brake, ...)"
        message = f"{named}, which has no closed form; use arm.without_drives() for the other equations"
        raise DescriptionError(f"equations: arm {arm.name!r}: {message}")
    if arm.outside:
        instead = {"base": "base=None", "orbit": "base=arm.base.replace(orbit=None)"}
        without = ", ".join(instead.get(field, f"{field}=()") for field in arm.outside)
        message = f"closed forms do not include {', '.join(arm.outside)}; use arm.replace({without})"
        raise DescriptionError(f"equations: arm {arm.name!r}: {message}")
    traced = trace(arm)
    if traced.chain.elements:
        message = "a joint has a force element (mechanics.drive.elements), which has no closed form"
        raise DescriptionError(f"equations: arm {arm.name!r}: {message}; use a joint without one")
    return Equations(arm, traced, _chosen(traced.parameters, given), large)


def _chosen(parameters: Sequence[Parameter], given: Sequence[tuple[str, float | None]]) -> dict[str, float]:
    """Values by symbol of the parameters that match the names and patterns."""
    values: dict[str, float] = {}
    for pattern, value in given:
        found = fitting(parameters, pattern)
        with refused():
            own = None if value is None else checked_number(value, part=f"parameter {shown(pattern)}")
        values |= {p.symbol: p.value if own is None else own for p in found}
    return values


@final
class Equations:
    """The equations M(q) qdd + (D(q, qd) + C) qd + U q + G(q) = B u, in symbols. Made by `equations`.

    Every matrix is a SymPy matrix and is derived on first use. Angles and deflections at the tips of flexible links are
    symbols (alpha_1, w_1), and so are their rates (alphad_1). `definitions` has the sums that they stand for. Modal
    integrals of shapes that follow a telescope's load are functions of its free length, a_2_1(q_2), which SymPy can
    differentiate (a_2_1_l(q_2)) and evaluate. A free base's attitude is the matrix (R_xx, R_xy, ..) that turns vectors
    of its frame into the world's. `definitions` has its entries as functions of the unit quaternion.

    Attributes
    ----------
    arm : Arm
    coordinates, rates : tuple of str
        Symbols of the coordinates, in the order of `arm.coordinates`, and of the rates, in that of `arm.velocities`.
    parameters : tuple of Parameter
        The other symbols with their meanings and values, without those that are numbers.
    numbers : dict
        Values of the parameters that are numbers.
    """

    def __init__(self, arm: Arm, traced: Traced, numbers: dict[str, float], however_large: bool = False):
        self.arm = arm
        self.coordinates, self.rates = traced.coordinates, traced.rates
        self.numbers = numbers
        self.parameters = tuple(p for p in traced.parameters if p.symbol not in numbers)
        self._traced = traced
        turning = [p.symbol for p in traced.parameters if p.unit == "rad"]
        spare = [f"psi_{i}" for i in range(1, 2 * len(arm.links) + 1)]
        inside = traced.coordinates[len(PLACE) * arm.free :]
        angles = traced.stand_ins[: len(traced.stand_in_rates)]
        self._ring = Ring((*inside, *angles, *turning, *spare))
        self._writer = self.writer()
        self._however_large = however_large
        self._elements: dict[str, list[Element]] = {}
        self._forms: dict[str, list[Form]] = {}
        self._sums: dict[str, Form] = {}
        self._expressions: dict[Any, Any] = {}
        self._refused: dict[str, str] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        own = {p.symbol: p.value for p in self._traced.parameters}
        given = {symbol: None if x == own[symbol] else x for symbol, x in self.numbers.items()}
        return equations, (self.arm, given, self._however_large)  # derived again on demand

    def __repr__(self) -> str:
        return (
            f"Equations({self.arm.name!r}: {counted(len(self.coordinates), 'coordinate')}, "
            f"{counted(len(self.parameters), 'parameter')})"
        )

    # -- the matrices

    @cached_property
    def M(self) -> Any:
        """Inertia matrix M(q), (n, n), symmetric (Lin & Lewis, Theorem 1)."""
        return self._matrix("M")

    @cached_property
    def D(self) -> Any:
        """Coriolis matrix D(q, qd), (n, n): half the slope of the bias in qd, so that Mdot - 2 D is skew (Theorem 1).

        On a free base the terms that turn its momentum have another factorization, with which Mdot - 2 D is also skew.
        It is skew for telescopes with `convection = "paper"` too, but there 1/2 qd' M qd is not the particles' energy.
        """
        return self._matrix("D")

    @cached_property
    def U(self) -> Any:
        """Stiffness matrix, (n, n), the slope of `stiffness_force`, which is U q unless a telescope makes U vary."""
        return self._matrix("U")

    @cached_property
    def damping(self) -> Any:
        """Damping matrix C, (n, n): bearings, springs of joints, links."""
        return self._matrix("damping")

    @cached_property
    def G(self) -> Any:
        """Gravity force, (n, 1), the slope of the energy of gravity."""
        return self._matrix("G")

    @cached_property
    def B(self) -> Any:
        """Input matrix, (n, m)."""
        return self._matrix("B")

    @cached_property
    def bias(self) -> Any:
        """Coriolis and centrifugal force, (n, 1): D qd."""
        return self._matrix("bias")

    @cached_property
    def stiffness_force(self) -> Any:
        """Slope of the energy of strain and springs, (n, 1)."""
        return self._matrix("stiffness_force")

    @property
    def kinetic(self) -> Any:
        """Kinetic energy."""
        return self._energies[0]

    @property
    def potential(self) -> Any:
        """Potential energy: gravity (zero at the height of the world's origin), strain, springs."""
        return self._energies[1]

    @cached_property
    def _energies(self) -> Any:
        return self._matrix("energy")

    @cached_property
    def tip(self) -> Any:
        """Pose of the payload frame, (4, 4), in the world, which is the base frame if the base is not free."""
        return self._matrix("tip")

    @cached_property
    def jacobian(self) -> Any:
        """Jacobian of the payload frame: velocity and angular velocity, in the world's axes, by the rates, (6, n)."""
        return self._matrix("jacobian")

    @cached_property
    def closure_jacobian(self) -> Any:
        """Jacobian A of the gaps of the closures, (k, n): A qd = 0. Only for an arm with closures."""
        return self._matrix("closure_jacobian")

    @cached_property
    def closure_bias(self) -> Any:
        """Part b of the accelerations of the gaps, A qdd + b = 0, (k, 1)."""
        return self._matrix("closure_bias")

    @cached_property
    def closure_gaps(self) -> Any:
        """Gaps of the closures, (k, 1), without those that are zero in every position."""
        return self._matrix("closure_gaps")

    @cached_property
    def kinematics(self) -> Any:
        """N(q): the rates of the coordinates are N qd. It is the identity matrix unless the base is free."""
        return self._matrix("kinematics")

    @property
    def definitions(self) -> dict[Any, Any]:
        """Sums that the symbols of tip deflections and angles, and of their rates, stand for."""
        for name in ("M", "D", "G"):  # a sum within a sine gets its name where it first appears
            with suppress(DescriptionError):
                self.elements(name)
        return dict(self._definitions())

    def _definitions(self) -> dict[Any, Any]:
        """Return `definitions` of the symbols that have appeared so far. Each is written once."""
        for name, form in self.stand_ins().items():
            symbol = self._writer.symbol(name)
            if symbol not in self._expressions:
                self._expressions[symbol] = self._writer.expression(form)
        return self._expressions

    # -- evaluation

    def explicit(self, expression: Any) -> Any:
        """Replace the symbols of tip deflections and angles in an expression (or matrix) by the sums they stand for.

        Raises `DescriptionError` if the argument is no SymPy expression.
        """
        import sympy as sp

        if not isinstance(expression, sp.Basic | sp.MatrixBase):
            raise DescriptionError(f"expression is {shown(expression)}; it must be a SymPy expression or matrix")
        return expression.xreplace(self._definitions())

    def rate(self, expression: Any) -> Any:
        """Return the time derivative of an expression (or matrix) of the coordinates."""
        import sympy as sp

        explicit = self.explicit(expression)
        rates = self.kinematics.xreplace(self._definitions()) * sp.Matrix(sp.symbols(self.rates))
        moves = dict(zip(map(sp.Symbol, self.coordinates), rates, strict=True))

        def of_entry(entry: Any) -> Any:
            """Return the sum over the coordinates on which the entry depends."""
            there = entry.free_symbols
            return sp.Add(*(sp.diff(entry, q) * qd for q, qd in moves.items() if q in there))

        return explicit.applyfunc(of_entry) if isinstance(explicit, sp.MatrixBase) else of_entry(explicit)

    @property
    def values(self) -> dict[Any, float]:
        """Values of the parameters, by SymPy symbol, for `subs`."""
        return {self._writer.symbol(p.symbol): p.value for p in self.parameters}

    @property
    def stations(self) -> dict[str, float]:
        """Stations of sections that are no tips, by the suffix of their symbols ("2p1"), from 0 to 1 on the link."""
        return self._traced.stations

    @cached_property
    def functions(self) -> tuple[LengthFunction, ...]:
        """Modal integrals that change with a telescope's free length, and their derivatives in the length.

        Each is callable with lengths and returns its values. In the matrices it is a function of the coordinate.
        """
        return self._traced.met_functions

    def length_of(self, function: LengthFunction) -> str:
        """Return the symbol of the coordinate that is the free length of one of `functions`."""
        there = {f.symbol for f in self._traced.functions}
        if not isinstance(function, LengthFunction) or function.symbol not in there:
            raise DescriptionError(f"function is {shown(function)}; it must be one of the equations' functions")
        return self._traced.length_of(function)

    @cached_property
    def closed_forms(self) -> dict[str, ClosedForm]:
        """Closed forms of the modal integrals that have one, by symbol."""
        known = {p.symbol for p in self.parameters}
        return {symbol: form for symbol, form in _closed_forms(self.arm).items() if symbol in known}

    def regressor(self, names: Iterable[str] = ()) -> Regressor:
        """Return Y and p with M qdd + (D + C) qd + stiffness force + G = Y p + rest.

        Parameters
        ----------
        names : parameters, by symbol, field or pattern
            Parameters p, in which the equations must be linear. Without names p has the base parameters, which are the
            smallest set of combinations of all parameters that the motion determines, and there is no rest.

        Raises
        ------
        DescriptionError
            If a name fits no parameter, or if the equations are not linear in the chosen ones.
        """
        with refused():
            asked = checked_names(names, "a list of names of parameters", "names")
        meant = dict(zip(self._traced.stand_ins, self.elements("tips"), strict=True))
        meant |= zip(self._traced.stand_in_rates, self.elements("tip_rates"), strict=True)
        force = self._demand()
        for name, value in meant.items():
            force = [self._ring.substituted(x, name, value) for x in force]
        terms = [self._ring.terms(x) for x in force]
        meant |= {name: dict(rest) for rest, name in self._ring.named.items()}
        within = {
            name: {x for term in self._ring.terms(value) for x, _ in term.powers} for name, value in meant.items()
        }

        def collect(some: list[Term]) -> Form:
            return collected(some, (), self._order)

        if not asked:
            return base(terms, {p.symbol for p in self.parameters}, self._writer, collect)
        return chosen(terms, asked, self.parameters, within, self._writer, collect)

    def _demand(self) -> list[Element]:
        """Generalized force of a motion: (n,)."""
        n = len(self.rates)
        M, C = self.elements("M"), self.elements("damping")
        rates = [self._ring.symbol(name) for name in self.rates]
        accelerations = [self._ring.symbol(rate_of(name)) for name in self.rates]
        force = []
        for r in range(n):
            total = plus(plus(self.elements("bias")[r], self.elements("stiffness_force")[r]), self.elements("G")[r])
            for k in range(n):
                total = plus(total, times(M[k * n + r], accelerations[k]))
                total = plus(total, times(C[k * n + r], rates[k]))
            force.append(total)
        return force

    # -- formats

    @property
    def identifier(self) -> str:
        """Name of the function in source code."""
        return identifier(self.arm)

    @property
    def without_closed_forms(self) -> str:
        """A line about links whose modal integrals are numbers because their shapes have no closed forms; "" if there
        are none.
        """
        closed = self.closed_forms
        lone = {p.link for p in self.parameters if p.modal and p.symbol not in closed}
        links = [link for i, link in enumerate(self.arm.links, start=1) if i in lone]
        beams = [(link.name, link.body) for link in links if isinstance(link.body, Beam)]
        if not beams:
            return ""
        families = ", ".join(f"{name} ({_without(beam)})" for name, beam in beams)
        return f"no closed forms for the modal integrals of {families}: they are symbols with numeric values"

    def text(self, parts: Sequence[str] | None = None) -> str:
        """Return the matrices (or those in `parts`) entry by entry, for a terminal. SymPy reads right-hand sides."""
        return text(self, parts)

    def latex(self, parts: Sequence[str] | None = None) -> str:
        """Return a LaTeX document with all matrices, or with `parts`, ready to compile; it needs amsmath."""
        return latex(self, parts)

    def markdown(self, parts: Sequence[str] | None = None) -> str:
        """Return the document in Markdown, with formulas between dollars."""
        return markdown(self, parts)

    def writer(self) -> Writer:
        """Return a writer of forms as SymPy expressions."""
        return Writer({x.symbol: (x, self._traced.length_of(x)) for x in self._traced.functions})

    def python(self, parts: Sequence[str] | None = None) -> str:
        """Return a Python module that needs NumPy: a function of q, qd and the parameters that returns the matrices
        `parts`.

        Source code comes from the recursion's program, which shares common subexpressions, and not from the closed
        forms. It is short for any arm.
        """
        return python(self._program(self._asked(parts)))

    def matlab(self, parts: Sequence[str] | None = None) -> str:
        """Return a MATLAB or Octave function of q, qd and the parameters that returns the matrices `parts`."""
        return matlab(self._program(self._asked(parts)))

    def javascript(self, parts: Sequence[str] | None = None) -> str:
        """Return a JavaScript function without dependencies for browsers and Node; the parameters follow the state.

        Its results are arrays of numbers, matrices row by row.
        """
        return javascript(self._program(self._asked(parts)))

    def c(self, parts: Sequence[str] | None = None) -> dict[str, str]:
        """Return C sources by file name: a header, the function, and a program that tests it.

        The test compares the function with the native model at a random state.
        """
        asked = self._asked(parts)
        return c(self._program(asked), *check(self._traced, self.arm, asked, self.numbers))

    def _asked(self, parts: Sequence[str] | None) -> tuple[str, ...]:
        """Parts of source code: the given ones, or those of the equations of motion."""
        return (() if parts is None else known(parts)) or of_motion(self.arm)

    def _program(self, parts: Sequence[str]) -> Program:
        return program(self._traced, self.arm, parts, self.numbers)

    # -- printing and the regressor

    def forms(self, name: str) -> list[list[Form]]:
        """Return a matrix as collected sums, by rows; `name` is that of the attribute."""
        known([name])
        if name not in self._forms:
            self._forms[name] = [self._collected(x) for x in self.elements(name)]
        rows, columns = self._shape(name)
        return [self._forms[name][r::rows] for r in range(rows)]

    def derive(self, *names: str) -> None:
        """Derive matrices by name before any of them is collected and printed, which takes longer.

        Raises `DescriptionError` if one of them is too large.
        """
        for name in names:
            self.elements(name)

    def stand_ins(self) -> dict[str, Form]:
        """Sums that symbols stand for: tip deflections, angles, their rates, and sums within sines that have appeared
        so far.
        """
        meant: dict[str, Element] = dict(zip(self._traced.stand_ins, self.elements("tips"), strict=True))
        meant |= zip(self._traced.stand_in_rates, self.elements("tip_rates"), strict=True)
        for rest, name in self._ring.named.items():
            if name not in self._sums:
                meant[name] = self._ring.with_values(dict(rest), self.numbers)
        self._sums |= {name: self._collected(x) for name, x in meant.items() if name not in self._sums}
        return dict(self._sums)

    def elements(self, name: str) -> list[Element]:
        """Return the entries of a matrix, columns first, as exact sums over `ring`."""
        if not isinstance(name, str) or name not in STAND_INS:
            known([name])
        if name in self._refused:
            raise DescriptionError(self._refused[name])
        if name not in self._elements:
            self._elements[name] = self._derived(name)
        return self._elements[name]

    def _derived(self, name: str) -> list[Element]:
        """Return the entries, or raise an error if there are too many terms, which does not depend on the machine's
        speed.
        """
        if self._however_large:
            return [self._ring.with_values(x, self.numbers) for x in self._translated(name, None)]
        if name in ALL_PARTS and ALL_PARTS[name].of_poses == 2 and self._pose > POSE:
            self._refuse(name, f"the pose of the tip alone has more than {POSE} terms, and it has about their square")
        try:
            found = self._translated(name, Limit(ON_THE_WAY, PRODUCTS))
        except TooManyTerms:
            self._refuse(name, f"its derivation has sums of more than {ON_THE_WAY} terms or takes {PRODUCTS} products")
        found = [self._ring.with_values(x, self.numbers) for x in found]
        if sum(map(len, found)) > LARGEST:
            self._refuse(name, f"it has more than {LARGEST} terms", "numbers for parameters (numbers, --set), ")
        return found

    def _refuse(self, name: str, why: str, numbers: str = "") -> NoReturn:
        smaller = f"{numbers}fewer modes or links make it smaller"
        ways = "small parts can be had alone (--part G); source code is short; however_large = True (--yes) goes on"
        line = f"arm {self.arm.name!r}: {name} is too large as a closed form: {why}; {smaller}; {ways}"
        self._refused[name] = line
        raise DescriptionError(line) from None

    @cached_property
    def _pose(self) -> int:
        """Number of terms in the pose of the tip, up to `POSE` + 1."""
        try:
            return sum(map(len, self._translated("tip", Limit(POSE, PRODUCTS))))
        except TooManyTerms:
            return POSE + 1

    @property
    def ring(self) -> Ring:
        """The ring of `elements`."""
        return self._ring

    def _collected(self, element: Element) -> Form:
        return collected(self._ring.terms(element), self._leading, self._order)

    @cached_property
    def _order(self) -> dict[str, int]:
        """Order of symbols in a product: parameters, coordinates, rates."""
        t = self._traced
        known = [*(p.symbol for p in t.parameters), *(f.symbol for f in t.functions)]
        names = [*known, *t.coordinates, *t.stand_ins, *t.rates, *t.stand_in_rates]
        return {name: i for i, name in enumerate(names)}

    @cached_property
    def _leading(self) -> list[str]:
        """Masses, inertias, stiffnesses, dampings, by which a sum is grouped."""
        return [p.symbol for p in self.parameters if p.unit.startswith(("kg", "N"))]

    def _translated(self, name: str, limit: Limit | None) -> list[Element]:
        expression = ca.cse(ca.densify(self._expression(name)))
        function = ca.Function(name, list(self._traced.arguments), [expression])
        return translated(function, self._traced.names, self._ring, limit)

    def _expression(self, name: str) -> ca.SX:
        expression = STAND_INS[name] if name in STAND_INS else ALL_PARTS[name].expression
        return self._traced.placed(expression(self._traced))

    def _shape(self, name: str) -> tuple[int, int]:
        shape: tuple[int, int] = ALL_PARTS[name].expression(self._traced).shape
        return shape

    def _matrix(self, name: str) -> Any:
        import sympy

        rows = [[self._writer.expression(form) for form in row] for row in self.forms(name)]
        return sympy.Matrix(*self._shape(name), [x for row in rows for x in row])


def _closed_forms(arm: Arm) -> dict[str, ClosedForm]:
    """Closed forms of modal integrals by symbol, with planes named separately and together; none for non-classical
    beams.
    """
    found: dict[str, ClosedForm | None] = {}
    for i, link in enumerate(arm.links, start=1):
        beam = link.body
        if not isinstance(beam, Beam) or not beam.classical:
            continue
        count = beam.counts
        most = "y" if count["y"] >= count["z"] else "z"  # planes have one name if the shapes they share are equal
        for mark, d in (("", most), ("y", "y"), ("z", "z"), ("t", "torsion"), ("x", "axial")):
            shapes, n = family(beam.families[d], d), count[d]
            for j in range(1, n + 1):
                for letter, quantity in _OF_ONE.items():
                    found[f"{letter}_{i}_{mark}{j}"] = closed_form(shapes, quantity, n, j)
                for k in range(j, n + 1):
                    for letter, quantity in _OF_TWO.items():
                        found[f"{letter}_{i}_{mark}{j}_{mark}{k}"] = closed_form(shapes, quantity, n, j, k)
    return {symbol: form for symbol, form in found.items() if form is not None}


def _without(beam: Beam) -> str:
    """Reason why modal integrals of a beam have no closed forms: its taper, families, or a product of two of them."""
    if not beam.uniform:
        return "tapered"
    if not beam.one_factor:
        return "of a beam with lumps, shear, rotary inertia or initial angles"
    bent = [(family(shapes, d), beam.counts[d]) for d, shapes in beam.families.items() if beam.counts[d]]
    lone = [f for f, n in bent if closed_form(f, "mean", n, 1) is None]
    names = dict.fromkeys(getattr(f, "name", type(f).__name__) for f in lone)
    return ", ".join(names) or "products across directions"


_OF_ONE = {"a": "mean", "b": "moment", "phi": "tip", "dphi": "tip slope", "dphi0": "root slope"}
_OF_TWO = {"c": "product", "k": "curvature"}
