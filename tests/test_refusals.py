"""What is refused, and how: any value in any field, sizes, files; one line each, and no other exception."""

import itertools
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import flexarm as fa
from flexarm.checks import ANY_SIZE, LONGEST, SIZES, checked_number, shown
from flexarm.closed_forms.parts import ALL_PARTS as PARTS
from flexarm.description.arm import MOST_COORDINATES, MOST_LINKS
from flexarm.description.beams import MOST_PRODUCTS, MOST_SEGMENT_MODES, MOST_SHORTENING, THINNEST_BASE
from flexarm.description.bodies import MOST_MODES
from flexarm.description.load import MOST_BYTES, path_text, read_toml
from flexarm.errors import DescriptionError
from flexarm.model import QUANTITIES, Model
from flexarm.scenario import Initial, PrescribedMotionInput, RigidInverseDynamicsInput, Scenario, Solver
from flexarm.scenario.controllers import kinds
from flexarm.shapes import FAMILIES, NO_LOAD, ROD_FAMILIES, FreeForm, fitted, quadrature
from flexarm.shapes.freeform import FEWEST, NEAREST

RIGID = {"type": "rigid", "length": 1.0, "mass": 1.0}
BEAM = {"type": "beam", "length": 1.0, "mass": 1.0, "EI": 10.0}
ALUMINIUM = {"E": 70e9, "density": 2700.0, "poisson": 0.33}
LINK = {"name": "a", "body": RIGID}
ARM = {"name": "test", "links": [LINK]}
RUN = {"name": "test", "arm": "subudhi-morris", "until": 0.1}
FOLLOWING = {**RUN, "reference": {"type": "quintic", "start": [0, 0], "end": [1, 1], "duration": 1.0}}


def message(build, *args, **data):
    """The one line that the call raises."""
    with pytest.raises(DescriptionError) as caught:
        build(*args, **data)
    line = str(caught.value)
    assert line.isprintable() and len(line) < 2000, line
    assert "pydantic" not in line and "Value error" not in line
    return line


def nested(depth, inner=None):
    """A list in a list in a list."""
    for _ in range(depth):
        inner = [inner]
    return inner


# -- any value in any field --------------------------------------------------------------------------------------------


class Unspeakable:
    """An object that cannot say what it is."""

    def __repr__(self):
        raise RuntimeError("no")


VALUES = {
    "None": None,
    "true": True,
    "text": "a",
    "empty text": "",
    "surrogate": "\ud800",
    "escape": "\x1b[31m",
    "long text": "x" * 100_000,
    "zero": 0,
    "negative": -1,
    "one": 1,
    "huge": 1e308,
    "largest": 1.7976931348623157e308,
    "denormal": 5e-324,
    "tiny": -1e-308,
    "nan": math.nan,
    "infinity": -math.inf,
    "5000 digits": 10**5000,
    "-5000 digits": -(10**5000),
    "bytes": b"a",
    "complex": 1j,
    "object": object(),
    "unspeakable": Unspeakable(),
    "class": dict,
    "function": len,
    "set": {1},
    "list": [],
    "dict": {},
    "list of None": [None],
    "deep list": nested(3000),
    "list of huge": [1e308] * 3,
    "list of tiny": [5e-324] * 3,
    "list of digits": [10**5000] * 3,
    "list of texts": ["a"] * 3,
    "matrix of huge": [[1e308] * 3] * 3,
    "array": np.ones(3),
    "matrix": np.full((3, 3), 1e300),
    "scalar": np.array(1.0),
    "float32": np.float32(np.inf),
    "type": {"type": "rigid"},
    "type list": {"type": ["rigid"]},
    "type dict": {"type": {}},
    "cls": {"cls": 1},
    "keys of any kind": {1: 2, None: 3},
    "escaped key": {"\x1b[31m": 1.0},
    "time": np.datetime64("2020"),
}

SECTION, TUBE = {"type": "rod", "diameter": 0.1}, {"type": "tube", "outer_diameter": 0.1, "thickness": 0.01}
OBJECTS = {
    fa.Arm: {**ARM, "payload": {"mass": 1.0}, "gravity": [0, 0, -9.81], "description": "x"},
    fa.Link: {**LINK, "joint": {"type": "fixed"}, "placement": {}, "hub_mass": 1.0, "hub_inertia": 1.0},
    fa.Pose: {"xyz": [1, 2, 3], "rpy": [1, 2, 3]},
    fa.Payload: {"mass": 1.0, "inertia": 1.0},
    fa.Material: ALUMINIUM,
    fa.Rod: SECTION,
    fa.Tube: TUBE,
    fa.Box: {"width": 0.1, "height": 0.1, "thickness": 0.01},
    fa.Beam: {
        **BEAM,
        "GJ": 1.0,
        "EA": 1.0,
        "polar_inertia": 1.0,
        "modes": {"y": 1},
        "shapes": "polynomial",
        "damping": 0.1,
        "foreshortening": True,
        "next_joint": "slope",
    },
    fa.Rigid: {**RIGID, "com": [1, 2, 3], "inertia": 1.0},
    fa.Revolute: {
        "axis": [0, 0, 1],
        "rotor_inertia": 1.0,
        "gear_ratio": 1.0,
        "damping": 1.0,
        "stiffness": 1.0,
        "spring_damping": 1.0,
        "rotor": "relative",
    },
    fa.Prismatic: {"axis": [0, 0, 1], "rotor_inertia": 1.0, "stiffness": 1.0},
    fa.Telescope: {"total_length": 1.0, "free_length": 0.5, "convection": "paper", "wave_numbers": "solved"},
    fa.Fixed: {"type": "fixed"},
    Scenario: {
        **FOLLOWING,
        "samples": 2,
        "input": None,
        "controller": {"type": "joint-pd", "Kp": 1.0, "Kd": 1.0},
        "solver": {},
        "initial": {},
        "description": "x",
    },
    Solver: {"method": "rk4", "rtol": 1e-6, "atol": 1e-6, "step": 0.1},
    Initial: {"q": [1.0], "qd": {"a": 1.0}},
    FAMILIES["clamped-mass"]: {"mass": 1.0, "inertia": 1.0, "first_moment": 0.1, "tip": "auto"},
    FAMILIES["clamped-loaded"]: {"mass_ratio": 1.0},
    FAMILIES["hermite-modes"]: {"mass": 1.0, "inertia": 1.0, "first_moment": 0.1, "tip": "auto"},
    ROD_FAMILIES["fixed-loaded"]: {"load_ratio": 1.0},
    FreeForm: {
        "x": [0, 0.1, 0.2, 0.4, 0.6, 0.8, 1],
        "values": [[0, 0.01, 0.04, 0.16, 0.36, 0.64, 1]],
        "pinned": True,
        "scaled": True,
    },
}


@pytest.mark.parametrize("cls", OBJECTS, ids=lambda cls: cls.__name__)
def test_any_value_in_any_field_is_taken_or_refused_in_one_line(cls):
    """Nothing but a `DescriptionError`, and no warning; the field is named."""
    good = OBJECTS[cls]
    cls(**good)
    fields = [name for name in cls.model_fields if name not in ("type", "family")]
    refused = 0
    for field, (what, value) in itertools.product(fields, VALUES.items()):
        try:
            cls(**{**good, field: value})
        except DescriptionError as error:
            line = str(error)
            assert line.isprintable() and "\n" not in line and len(line) < 1000, (field, what, line)
            assert "pydantic" not in line and "too large to convert" not in line, (field, what, line)
            refused += 1
    assert refused >= len(fields), "every field refuses something"


@pytest.mark.parametrize("cls", OBJECTS, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize(
    "key", ["cls", "self", "data", "args", "model_config", "__class__", "__dict__", "", "\x1b[31m"]
)
def test_a_key_that_is_none(cls, key):
    line = message(cls, **{**OBJECTS[cls], key: 1})
    assert f"unknown key {key!r}; " in line


@pytest.mark.parametrize("key", ["cls", "self"])
def test_a_key_of_a_file_that_python_uses_itself(key, tmp_path):
    (tmp_path / "arm.toml").write_text(f"{key} = 1\nname = 'x'\nlinks = [{{name = 'a', body = {{}}}}]")
    assert f"arm.toml: unknown key '{key}'; allowed keys are name, " in message(fa.load, tmp_path / "arm.toml")
    (tmp_path / "run.toml").write_text(f"{key} = 1\nname = 'x'\narm = 'canadarm'\nuntil = 1.0")
    assert f"run.toml: unknown key '{key}'; allowed keys are name, " in message(fa.load_scenario, tmp_path / "run.toml")
    assert f"link 'a': unknown key '{key}'" in message(fa.Arm, name="x", links=[{**LINK, key: 1}])
    assert f"unknown key '{key}'" in message(fa.Rigid(length=1, mass=1).replace, **{key: 1})


def test_a_value_that_cannot_be_shown():
    assert shown(10**5000) == "a value of type int that cannot be shown"
    assert shown(nested(3000)) == "a value of type list that cannot be shown"
    assert shown(Unspeakable()) == "a value of type Unspeakable that cannot be shown"


# -- sizes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "line"),
    [
        (lambda: fa.Rigid(length=1, mass=1e41), "mass is 1e+41 kg; it must be at most 1e+40 kg in size"),
        (lambda: fa.Rigid(length=1, mass=1e-41), "mass is 1e-41 kg; it must be at least 1e-40 kg in size"),
        (lambda: fa.Rigid(length=1e16, mass=1), "length is 1e+16 m; it must be at most 1e+15 m in size"),
        (lambda: fa.Beam(**{**BEAM, "length": 1e-16}), "length is 1e-16 m; it must be at least 1e-15 m in size"),
        (lambda: fa.Pose(xyz=(0, -1e16, 0)), "xyz[1] is -1e+16 m; it must be at most 1e+15 m in size"),
        (lambda: fa.Revolute(gear_ratio=-1e-41), "gear_ratio is -1e-41; it must be at least 1e-40 in size"),
        (
            lambda: fa.Beam(length=10, mass_per_length=1e40, EI=1),
            "length leads to mass = 1e+41 kg; mass must be from 1e-40 to 1e+40 kg",
        ),
        (
            lambda: fa.Beam(length=1, material=ALUMINIUM, section={"type": "rod", "diameter": 1e-14}),
            "section leads to EI.y = 3.4",
        ),
        (
            lambda: fa.Beam(length=1, material=ALUMINIUM, section={**TUBE, "thickness": 1e-15, "outer_diameter": 1e3}),
            "section leads to EI.y = 0.0 N m^2; EI.y must be from 1e-40 to 1e+40 N m^2",
        ),
        (
            lambda: fa.Beam(
                length=1,
                material={**ALUMINIUM, "E": 1e40},
                section={"type": "rod", "diameter": 1e3},
                section_tip={"type": "rod", "diameter": 0.1},
            ),
            "section leads to EI.y = 4.9",
        ),
        (
            lambda: fa.Beam(
                length=1, material=ALUMINIUM, section=SECTION, section_tip={"type": "rod", "diameter": 11.0}
            ),
            "section_tip.diameter is 11.0 m; it must be at most 100 times section.diameter, 0.1 m",
        ),
        (
            lambda: fa.Beam(**BEAM, modes={"z": 13}, foreshortening=True),
            "modes.z is 13; with foreshortening it must be at most 12",
        ),
        (
            lambda: fa.Beam(**BEAM, GJ=1.0, modes={"y": 12, "z": 12, "torsion": 4}, foreshortening=True),
            "modes give 252 pairs of modes for foreshortening; at most 250 are allowed",
        ),
        (
            lambda: fa.Arm(name="x", links=[LINK] * (MOST_LINKS + 1)),
            f"links has {MOST_LINKS + 1} links; an arm can have at most ",
        ),
        (
            lambda: fa.Arm(
                name="x", links=[{"name": f"a{i}", "body": {**BEAM, "modes": {"y": 40}}} for i in range(60)]
            ),
            f"Arm has 2460 coordinates; it must have at most {MOST_COORDINATES}",
        ),
        (lambda: fa.Arm(name="x" * (LONGEST + 1), links=[LINK]), f"it must have at most {LONGEST} characters, not 201"),
        (lambda: fa.Link(name="x" * (LONGEST + 1), body=RIGID), f"it must have at most {LONGEST} characters, not 201"),
        (
            lambda: fa.Arm(**ARM, description="\ud800"),
            "it must be a text that can be written to a file, without lone surrogates",
        ),
    ],
)
def test_a_size_that_no_arm_has(build, line):
    assert line in message(build)


def test_zero_and_what_is_tiny_beside_it_are_the_same():
    """A turned vector of gravity has components such as 1e-49: they are no mistake."""
    arm = fa.Arm(**ARM, gravity=(1e-49, 5e-324, -9.81))
    assert arm.gravity[:2] == (1e-49, 5e-324) and fa.Revolute(damping=1e-49).damping == 1e-49
    assert checked_number(1e-40) == 1e-40 and checked_number(-1e40) == -1e40


LENGTHS, SIZE = (SIZES["m"][0], 1.0, SIZES["m"][1]), (ANY_SIZE[0], 1.0, ANY_SIZE[1])


def at_rest(arm):
    """Mass matrix and accelerations of an arm at rest, without a warning."""
    model = Model(arm)
    n, m = len(model.coordinates), len(model.inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        M = model.function("mass_matrix")(arm.rest)
        qdd = model.function("forward_dynamics")(arm.rest, np.zeros(n), np.zeros(m))
    return np.array(M), np.array(qdd).ravel()


@pytest.mark.filterwarnings("ignore:arm 'x'.*damping is 1 of critical")
@pytest.mark.parametrize(("length", "mass", "EI"), [*itertools.product(LENGTHS, SIZE, SIZE)])
@pytest.mark.parametrize("shapes", ["clamped-free", "clamped-mass", "hermite-modes"])
def test_beams_at_the_ends_of_what_is_allowed(length, mass, EI, shapes):
    beam = fa.Beam(
        length=length,
        mass=mass,
        EI=EI,
        GJ=EI,
        polar_inertia=mass,
        shapes=shapes,
        damping=1.0,
        modes={"y": 2, "torsion": 1},
    )
    arm = fa.Arm(name="x", links=[{"name": "a", "body": beam}], gravity=(0, -9.81, 0))
    M, qdd = at_rest(arm)
    assert np.isfinite(M).all() and np.isfinite(qdd).all()
    assert M[0, 0] == pytest.approx(mass * length**2 / 3, rel=1e-12)
    M, qdd = at_rest(arm.rigid())
    assert qdd == pytest.approx([-3 * 9.81 / (2 * length)], rel=1e-12), "a falling rod"


@pytest.mark.parametrize("section", ["rod", "box", "hollow box", "tube"])
@pytest.mark.parametrize("count", [1, 3, 10])
def test_a_beam_that_is_thin_at_its_base(section, count):
    """100 times as thick at the tip, the stiffness grows 1e8 times: two static shapes are nearly the same.

    Shapes are orthogonal in energy, and their lowest frequency is that of the fine model's own mode or a little above.
    """
    sides = {
        "rod": ("diameter",),
        "box": ("width", "height"),
        "hollow box": ("width", "height", "thickness"),
        "tube": ("outer_diameter", "thickness"),
    }[section]
    share = {"thickness": 0.1}
    base = {"type": section.split()[-1], **{side: 1e-3 * share.get(side, 1.0) for side in sides}}
    tip = {name: value if name == "type" else 100 * value for name, value in base.items()}
    beam = fa.Beam(length=1.0, material=ALUMINIUM, section=base, section_tip=tip, modes={"y": count})
    lowest = []
    for name in ("craig-bampton", "hermite-modes"):
        basis = fitted(name, beam, "y").basis(count)
        x, w = quadrature(basis)
        along, phi, curvature = beam.profile(x), basis.values(x), basis.values(x, 2)
        K, M = ((f.T * (w * weight)) @ f for f, weight in ((curvature, along.EI_y), (phi, along.m)))
        size = np.sqrt(np.outer(np.diag(K), np.diag(K)))
        assert np.abs(K / size - np.eye(count)).max() < 1e-5, "8 of 16 digits go to what is stiff"
        lowest.append(1 / np.linalg.eigvals(np.linalg.solve(K, M)).real.max())
    assert lowest[1] * (1 - 1e-6) < lowest[0] < lowest[1] * 1.02


# -- shapes of one's own -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1.001e-6])
def test_points_of_samples_may_be_near(gap, place):
    """x^2 of points in a cluster: its second derivative is 2."""
    cluster = place + gap * np.array([-1, 0, 1]) + (gap if place == 0 else -gap if place == 1 else 0)
    x = np.unique([0, 0.2, 0.6, 0.8, 1, *cluster])
    curvature = FreeForm(x=x, values=[x**2]).basis(1).values(np.linspace(0, 1, 50), 2)
    assert curvature == pytest.approx(np.full((50, 1), 2.0), rel=1e-2)


@pytest.mark.parametrize(
    ("x", "line"),
    [
        ([0, 0.2, 0.4, 0.4 + 1e-8, 0.6, 0.8, 1], "x[3] is 0.40000001, next to 0.4; points must be 1e-06 apart"),
        ([0, 1e-300, 0.2, 0.4, 0.6, 0.8, 1], "x[1] is 1e-300, next to 0.0; points must be 1e-06 apart"),
        (np.linspace(0, 1, 10_001), "x has 10001 points; it must have at most 10000"),
    ],
)
def test_points_of_samples_that_are_too_near_or_too_many(x, line):
    assert line in message(FreeForm, x=x, values=[np.square(x)])


@pytest.mark.parametrize("function", [lambda x: 1e41 * x**2, lambda x, n: 1e300 * x ** (2 - n) if n < 3 else 0 * x])
def test_a_function_that_is_too_large(function):
    line = message(FreeForm, functions=[function])
    assert line.endswith("functions[0] must give one finite number, at most 1e+40 in size, for every x of an array")


# -- scenarios ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [["joint-pd"], {"a": 1}, {"joint-pd"}, 1, 10**5000], ids=lambda x: type(x).__name__)
def test_a_controller_of_an_impossible_type(given):
    line = message(Scenario, **FOLLOWING, controller={"type": given, "Kp": 1.0, "Kd": 1.0})
    assert line == f"Scenario: controller.type is {shown(given)}; known types are {', '.join(kinds())}"


@pytest.mark.parametrize("key", ["\x1b[31mred", "a\nb", "x" * 5000, 1, None])
def test_a_name_that_a_terminal_must_not_get(key):
    law = {"type": "joint-pd", "Kp": 1.0, "Kd": 1.0}
    assert f"controller.{shown(key)} is unknown; allowed keys are " in message(
        Scenario, **FOLLOWING, controller={**law, key: 1}
    )
    if isinstance(key, str):
        wrong = {key: None}
        assert f"initial.q.{shown(key)} is None; it must be a number" in message(Scenario, **RUN, initial={"q": wrong})
        check = Scenario(**RUN, initial={"q": {key: 1.0}}).check
        assert f"initial.q: unknown coordinate {shown(key)}; the coordinates are " in message(
            check, fa.load("subudhi-morris")
        )


@pytest.mark.parametrize("key", ["cls", "self", "\x1b"])
def test_a_key_in_a_table_of_a_scenario(key):
    """Tables in tables are read by other code than the outermost one."""
    for name, table in (("solver", {}), ("initial", {}), ("reference", FOLLOWING["reference"])):
        assert f"unknown key {key!r}; allowed" in message(Scenario, **{**FOLLOWING, name: {**table, key: 1}})


def test_a_method_and_axes_of_any_length():
    assert message(Solver, method="x" * 10_000).startswith("Solver: method is 'xxxxx")
    line = {"type": "task-line", "start": [0, 0], "end": [1, 1], "duration": 1.0, "axes": "x" * 10_000}
    assert "reference.axes is 'xxxxx" in message(Scenario, **RUN, reference=line)


# -- files -------------------------------------------------------------------------------------------------------------


class Place:
    """A path of whatever it was given."""

    def __init__(self, place):
        self.place = place

    def __fspath__(self):
        return self.place


@pytest.mark.parametrize(
    "path", [None, 1, ["a"], b"a", Place(b"a"), 10**5000, {}, fa.Arm], ids=lambda x: type(x).__name__
)
def test_what_is_no_path(path):
    assert message(fa.load, path) == f"load: {shown(path)} is neither the name of an arm nor a path"
    assert message(fa.load_scenario, path).endswith(" is neither the name of a scenario nor a path")
    assert path_text("x", "y", Place("a/b")) == "a/b"


@pytest.mark.parametrize("load", [fa.load, fa.load_scenario])
@pytest.mark.parametrize("name", ["", "\x1b[31m", "a\nb", "x" * 100_000, "\ud800", "../x", "/", "."])
def test_a_name_of_no_file(load, name):
    message(load, name)


TOML = {
    "digits": (b"a = " + b"1" * 5000, "an integer has too many digits; at most 4300 are allowed"),
    "hexadecimal": (b"a = 0x" + b"f" * 5000, "unknown key 'a'; allowed keys are name, "),
    "dotted": (b"a." * 100_000 + b"b = 1", "not a TOML file: nested too deep"),
    "dotted, spaced": (b"a \t. " * 10_000 + b"b = 1", "not a TOML file: nested too deep"),
    "dotted, quoted": (b'\'a b\'."c\\"d".e.' * 10_000 + b"b = 1", "not a TOML file: nested too deep"),
    "header": (b"[" + b"a." * 5000 + b"b]", "not a TOML file: nested too deep"),
    "lists": (b"a = " + b"[" * 100_000, "not a TOML file: nested too deep"),
    "tables": (b"a = " + b"{a=" * 100_000, "not a TOML file: nested too deep"),
    "null": (b"a = '\x00'", "not a TOML file: "),
    "escape": (b"\x1b[31m = 1", "not a TOML file: "),
    "large": (b"#" * (MOST_BYTES + 1), "is larger than 4 MiB, the limit for arms and scenarios"),
    "long": (b"a" * 1_000_000 + b" = 1", "unknown key 'aaaa"),
}


@pytest.mark.parametrize("what", TOML)
@pytest.mark.parametrize("load", [fa.load, fa.load_scenario])
def test_a_file_that_was_made_to_harm(load, what, tmp_path):
    content, line = TOML[what]
    (tmp_path / "x.toml").write_bytes(content)
    assert message(load, tmp_path / "x.toml").startswith(f"{tmp_path / 'x.toml'}: {line}")


def test_a_key_of_some_parts_is_read(tmp_path):
    (tmp_path / "x.toml").write_text("a." * 31 + "b = '" + "It is. It was. " * 100 + "'")
    table = read_toml(tmp_path / "x.toml", "x.toml")
    for _ in range(31):
        table = table["a"]
    assert table["b"].startswith("It is. ")


def test_a_file_that_does_not_end():
    assert message(fa.load, "/dev/zero") == "/dev/zero: is larger than 4 MiB, the limit for arms and scenarios"


# -- arguments of functions --------------------------------------------------------------------------------------------

COUNTS = [
    None,
    True,
    "a",
    1.0,
    math.nan,
    -1,
    401,
    10**5000,
    [],
    {},
    np.array(1.0),
    np.array([1, 2]),
    np.datetime64("2020"),
]
TAPERED = fa.Beam(length=1, material=ALUMINIUM, section=SECTION, section_tip={**SECTION, "diameter": 0.05})
COUNTED = {
    **{
        name: FAMILIES[name]().basis
        for name in (
            "clamped-free",
            "pinned-pinned",
            "pinned-free",
            "clamped-pinned",
            "polynomial",
            "craig-bampton",
            "hermite",
        )
    },
    **{name: ROD_FAMILIES[name]().basis for name in ("fixed-free", "polynomial", "linear-elements")},
    "clamped-mass": FAMILIES["clamped-mass"](mass_ratio=1.0).basis,
    "its sensitivity": FAMILIES["clamped-mass"](mass_ratio=1.0).sensitivity,
    "its roots": FAMILIES["clamped-mass"](mass_ratio=1.0).roots,
    "clamped-loaded": FAMILIES["clamped-loaded"](mass_ratio=1.0).basis,
    "fixed-loaded": ROD_FAMILIES["fixed-loaded"](load_ratio=1.0).basis,
    "hermite-modes": fitted("hermite-modes", TAPERED, "y").basis,
    "craig-bampton, tapered": fitted("craig-bampton", TAPERED, "y").basis,
    "free-form": FreeForm(**OBJECTS[FreeForm]).basis,
    "roots": fa.shapes.roots,
    "pinned_roots": fa.shapes.pinned_roots,
    "loaded_roots": lambda count: fa.shapes.loaded_roots(count, 1.0),
    "rod_roots": lambda count: fa.shapes.rod_roots(count, 1.0),
    "constants": lambda count: fa.shapes.constants(FAMILIES["clamped-free"](), count),
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_number_of_shapes(name):
    for count in COUNTS:
        assert message(COUNTED[name], count) == f"count is {shown(count)}; it must be an integer from 0 to 400"


RIGID_TWO = fa.load("rigid-two-link")
TWO, SYMBOLS, ZERO = Model(RIGID_TWO), fa.equations(RIGID_TWO), np.zeros(2)
ENCODERS = [fa.Encoder(coordinate="upper.joint")]
PART = f"unknown part {{}}; known parts are {', '.join(PARTS)}"
PARTS_LIST = f"parts is {{}}; it must be a list of parts, out of {', '.join(PARTS)}"
QUANTITY = f"unknown quantity {{}}; known quantities are {', '.join(QUANTITIES)}"
QUINTIC = fa.Quintic([0.0], [0.1], 1.0)
NAMES = "a list of names of parameters"
BASIS, MASS = FAMILIES["clamped-free"]().basis(2), FAMILIES["clamped-mass"](mass_ratio=1.0)
CALLS = [
    (lambda: BASIS.values("a"), "x is not an array of numbers"),
    (lambda: BASIS.values([[1], [1, 2]]), "x is not an array of numbers"),
    (lambda: BASIS.values(math.nan), "x contains NaN or infinity"),
    (lambda: BASIS.values(0.5, 4), "derivative is 4; it must be an integer from 0 to 3"),
    (lambda: BASIS.turned("a"), "x is not an array of numbers"),
    (lambda: BASIS.turned(0.5, [1]), "derivative is [1]; it must be an integer from 0 to 2"),
    (lambda: BASIS.turned(0.5, True), "derivative is True; it must be an integer from 0 to 2"),
    (lambda: BASIS.turned(0.5, 3), "derivative is 3; it must be an integer from 0 to 2"),
    (
        lambda: fa.shapes.family(np.eye(2)),
        "unknown shapes of type ndarray; known families are "
        + ", ".join(map(repr, FAMILIES))
        + "; or give a table, or an object with basis(count)",
    ),
    (lambda: RIGID_TWO.number(np.eye(2)), f"Arm.number: name is {shown(np.eye(2))}; it must be a str"),
    (lambda: TAPERED.shears("x"), "Beam.shears: direction is 'x'; it must be y or z"),
    (lambda: TAPERED.shears(np.eye(2)), f"Beam.shears: direction is {shown(np.eye(2))}; it must be y or z"),
    (lambda: TWO.single("step", [1.0], ZERO), "name is [1.0]; it must be q, qd, v, qdd or u"),
    (lambda: TWO.single("step", np.eye(2), ZERO), f"name is {shown(np.eye(2))}; it must be q, qd, v, qdd or u"),
    (lambda: fa.MotorTorque(link="upper").names([1.0]), "MotorTorque: arm is [1.0]; it must be an Arm"),
    (lambda: fa.MotorTorque(link="upper").units([1.0]), "MotorTorque: arm is [1.0]; it must be an Arm"),
    (lambda: fa.JointTorque(link="upper").units(None), "JointTorque: arm is None; it must be an Arm"),
    (lambda: quadrature(BASIS, "a"), "'a' is not a Basis; use the result of a family's basis(count)"),
    (lambda: fa.shapes.scaled(1), "1 is not a Basis; use the result of a family's basis(count)"),
    (lambda: fa.shapes.loaded_roots(1, "a"), "mu is 'a'; it must be a number"),
    (lambda: fa.shapes.loaded_roots(1, 1.0, -1.0), "iota is -1.0; it must be zero or positive"),
    (lambda: fa.shapes.loaded_roots(1, 1.0, 1.0, math.inf), "sigma is inf; it must be finite"),
    (lambda: fa.shapes.rod_roots(1, -1.0), "mu is -1.0; it must be zero or positive"),
    (lambda: MASS.basis(2, "a"), "clamped-mass: beta is not an array of numbers"),
    (lambda: MASS.basis(2, [1.0]), "clamped-mass: beta has shape (1,); it must be a list of 2 wave numbers"),
    (lambda: MASS.basis(1, 1.0), "clamped-mass: beta has shape (); it must be a list of 1 wave numbers"),
    (lambda: MASS.basis(1, [1e150]), "clamped-mass: beta is [1e+150]; each must be from 0 to 10000"),
    (lambda: fa.shapes.rational("a"), "rational: value is 'a'; it must be a number"),
    (lambda: fa.shapes.rational(0.5, 0), "rational: largest is 0; it must be an integer of at least 1"),
    (lambda: fa.shapes.family("polynomial", ["y"]), "direction is ['y']; it must be 'y', 'z', 'torsion' or 'axial'"),
    (lambda: fitted("polynomial", None, "y"), "fitted: beam is None; it must be a Beam"),
    (lambda: fitted("polynomial", TAPERED, "y", 1.0), "fitted: load is 1.0; it must be a TipLoad"),
    (lambda: MASS.fitted(fa.Beam, "y", NO_LOAD), f"clamped-mass: beam is {fa.Beam}; it must be a Beam"),
    (lambda: FAMILIES["clamped-mass"]().fitted(1, "y", NO_LOAD), "clamped-mass: beam is 1; it must be a Beam"),
    (lambda: FAMILIES["clamped-loaded"]().fitted(TAPERED, "y", 1), "clamped-loaded: load is 1; it must be a TipLoad"),
    (lambda: FAMILIES["craig-bampton"]().fitted("x", "y", NO_LOAD), "craig-bampton: beam is 'x'; it must be a Beam"),
    (lambda: FAMILIES["hermite-modes"]().fitted(None, "y", NO_LOAD), "hermite-modes: beam is None; it must be a Beam"),
    (
        lambda: ROD_FAMILIES["fixed-loaded"]().fitted({}, "axial", NO_LOAD),
        "fixed-loaded: beam is {}; it must be a Beam",
    ),
    (lambda: TAPERED.profile("a"), "Beam: x is not an array of numbers"),
    (lambda: TAPERED.profile([0.5, 1.5]), "Beam: x must be a list of points from 0 to 1"),
    (lambda: fa.Revolute().rigid_body({}), "body is {}; it must be a Beam, a Rigid or another Body"),
    (lambda: fa.Telescope().rest(0.0), "body is 0.0; it must be a Beam, a Rigid or another Body"),
    (lambda: fa.Telescope().rigid_body(None), "body is None; it must be a Beam"),
    (lambda: SYMBOLS.regressor([1]), "parameter 1: it must be a name, a symbol or a pattern of them"),
    (lambda: SYMBOLS.regressor(None), f"names is None; it must be {NAMES}"),
    (lambda: SYMBOLS.regressor("m_1"), f"names is 'm_1'; it must be {NAMES}"),
    (lambda: fa.equations("rigid-two-link"), "equations: arm is 'rigid-two-link'; it must be an Arm"),
    (lambda: fa.equations(RIGID_TWO, 0.1), f"equations: numbers is 0.1; it must be {NAMES}, or a dict"),
    (lambda: fa.equations(RIGID_TWO, "m_1"), f"equations: numbers is 'm_1'; it must be {NAMES}, or a dict"),
    (lambda: fa.equations(RIGID_TWO, [{}]), "parameter {}: it must be a name, a symbol or a pattern of them"),
    (lambda: fa.equations(RIGID_TWO, {"m_1": "x"}), "parameter 'm_1' is 'x'; it must be a number"),
    (lambda: fa.equations(RIGID_TWO, {"m_1": 10**400}), "parameter 'm_1' is inf; it must be finite"),
    (lambda: fa.equations(RIGID_TWO, (), None), "equations: however_large is None; it must be true or false"),
    (lambda: SYMBOLS.text(0), PARTS_LIST.format(0)),
    (lambda: SYMBOLS.latex("tip"), PARTS_LIST.format("'tip'")),
    (lambda: SYMBOLS.markdown([{}]), PART.format("{}")),
    (lambda: SYMBOLS.python(0.1), PARTS_LIST.format(0.1)),
    (lambda: SYMBOLS.matlab(np.array([0.5])), PART.format("np.float64(0.5)")),
    (lambda: SYMBOLS.c(True), PARTS_LIST.format(True)),
    (lambda: SYMBOLS.elements(""), PART.format("''")),
    (lambda: SYMBOLS.derive(["M"]), PART.format("['M']")),
    (lambda: SYMBOLS.forms({}), PART.format("{}")),
    (lambda: SYMBOLS.forms("tips"), PART.format("'tips'").replace("known parts", "did you mean 'tip'? Known parts")),
    (lambda: SYMBOLS.explicit(0), "expression is 0; it must be a SymPy expression or matrix"),
    (lambda: SYMBOLS.rate({}), "expression is {}; it must be a SymPy expression or matrix"),
    (lambda: SYMBOLS.length_of([]), "function is []; it must be one of the equations' functions"),
    (lambda: Model(None), "Model: arm is None; it must be an Arm"),
    (lambda: TWO.function([]), QUANTITY.format("[]")),
    (lambda: TWO.kernel({}), QUANTITY.format("{}")),
    (lambda: TWO.kernel("x"), QUANTITY.format("'x'")),
    (lambda: TWO.evaluate(None, ZERO), QUANTITY.format("None")),
    (lambda: TWO.evaluate("bias", ZERO), "bias takes q, qd, not 1 value"),
    (lambda: TWO.slope({}, 0), QUANTITY.format("{}")),
    (lambda: TWO.slope("bias", 2), "slope of bias: argument is 2; it must be an integer from 0 to 1"),
    (lambda: TWO.slope("tip", 0.0), "slope of tip: argument is 0.0; it must be an integer from 0 to 0"),
    (lambda: TWO.slope("tip", "qd"), "slope of tip: argument is 'qd'; it must be q"),
    (lambda: TWO.slope("bias", "p"), "slope of bias: argument is 'p'; it must be q or qd"),
    (
        lambda: TWO.slope("tip", 10**400),
        f"slope of tip: argument is {shown(10**400)}; it must be an integer from 0 to 0",
    ),
    (lambda: TWO.argument({}, ZERO), "name is {}; it must be q, qd, v, qdd or u"),
    (lambda: TWO.argument("q\n", ZERO), "name is 'q\\n'; it must be q, qd, v, qdd or u"),
    (lambda: TWO.modes(ZERO, ZERO), "modes: locked is array([0., 0.]); it must be true or false"),
    (lambda: TWO.linearize([ZERO], ZERO, ZERO), "linearize: q has more than one axis; give one configuration"),
    (lambda: TWO.output_slopes(ENCODERS, ["0", "1"], ZERO, ZERO), "q is not an array of numbers"),
    (
        lambda: TWO.output_slopes(ENCODERS, ZERO, ZERO, [ZERO]),
        "output_slopes: qdd has more than one axis; give one state",
    ),
    (lambda: TWO.output_names([fa.Encoder]), f"outputs: {shown(fa.Encoder)} is not a sensor"),
    (lambda: TWO.output_names([SYMBOLS]), f"outputs: {shown(SYMBOLS)} is not a sensor"),
    (lambda: TWO.output_names([QUINTIC]), f"outputs: {shown(QUINTIC)} is not a sensor"),
    (lambda: FAMILIES["hermite-modes"]().load(math.inf), "beyond is inf; it must be a TipLoad"),
    (
        lambda: RigidInverseDynamicsInput().made(None),
        "reference is missing; the input 'rigid-inverse-dynamics' needs it",
    ),
    (lambda: PrescribedMotionInput().made(None), "reference is missing; the input 'prescribed-motion' needs it"),
    (lambda: Scenario(**RUN).check(None), "Scenario: arm is None; it must be an Arm"),
    (lambda: Scenario(**RUN).motion(np.eye(2)), f"Scenario: model is {shown(np.eye(2))}; it must be a Model"),
    (lambda: Scenario(**RUN).run(""), "Scenario: model is ''; it must be a Model"),
]


@pytest.mark.parametrize(("call", "line"), CALLS, ids=[line[:50] for _, line in CALLS])
def test_an_argument_that_is_wrong(call, line):
    assert message(call) == line


@pytest.mark.parametrize("value", [math.nan, math.inf, 10**400, math.pi])
def test_what_no_fraction_stands_for(value):
    assert fa.shapes.rational(value) is None


def test_what_does_not_move_has_no_direction():
    assert fa.Fixed().direction == (0.0, 0.0, 0.0)


def test_the_documented_bounds_are_those_that_hold():
    page = (Path(__file__).parents[1] / "docs" / "do" / "arms.md").read_text(encoding="utf-8")
    least, most = ANY_SIZE
    for row in (
        "| a length | {:g} m | {:g} m |".format(*SIZES["m"]).replace("e+", "e"),
        f"| an inertia | | {SIZES['kg m^2'][1]:g} kg m^2 |".replace("e+", "e"),
        f"| any other number that must not be zero | {least:g} | {most:g} |".replace("e+", "e"),
        f"| dimensions of `section_tip`, over those of `section` | | {THINNEST_BASE:g} |",
        f"| modes of a direction | | {MOST_MODES} |",
        f"| modes of a plane with `foreshortening` | | {MOST_SHORTENING} |",
        f"| modes of a direction of a segment | | {MOST_SEGMENT_MODES} |",
        f"| pairs of modes that `foreshortening` couples | | {MOST_PRODUCTS} |",
        f"| points of a sampled shape | {FEWEST} | 10 000 |",
        f"| distance between two of these points, over the length | {NEAREST:g} | |".replace("e-06", "e-6"),
        f"| links | 1 | {MOST_LINKS} |",
        f"| coordinates | 1 | {MOST_COORDINATES} |",
        f"| a name | 1 character | {LONGEST} characters |",
        f"| a file | | {MOST_BYTES // 1024**2} MiB, keys of 32 parts |",
    ):
        assert row in page


@pytest.mark.parametrize("names", [np.eye(2), [["upper"]], [None], [3.0]])
def test_what_is_not_a_name_in_a_list_of_names_is_one_line(names):
    """A matrix is iterable, too, and its rows cannot be compared with names."""
    model = fa.Model("rigid-two-link")
    law = fa.control.OnLinks(fa.control.JointPD((0.1, 0.2), Kp=2.0, Kd=0.3), names)
    with pytest.raises(fa.DescriptionError, match=r"^OnLinks: links has .*; links whose joints move are upper, fore$"):
        law.law(model)
    wheels = fa.control.AttitudePD(Kp=1.0, Kd=1.0, actuators=names)
    with pytest.raises(fa.DescriptionError, match=r"^AttitudePD: actuators has the unknown name .*; the inputs of"):
        wheels.law(fa.Model("satellite"))
    with pytest.raises(fa.DescriptionError, match=r"^SaveAt: keep has the unknown name .*; a result has "):
        fa.SaveAt(keep=names)
