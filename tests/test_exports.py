"""Source code of an arm's equations: the numbers of the native model, of the arm itself and of one changed later."""

import ast
import re
import subprocess
from functools import cache
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from exported import GCC, LETTERS, OCTAVE, in_matlab, in_python, run
from matlab_in_python import Matrix, translated
from random_arms import random_arm, random_state

import flexarm as fa
from flexarm.closed_forms.equations import equations
from flexarm.closed_forms.exports import LONGEST
from flexarm.closed_forms.formats import RESERVED
from flexarm.closed_forms.parts import ALL_PARTS, PARTS, of_motion
from flexarm.errors import DescriptionError

CLOSE = 1e-12  # of a part's largest number: the same operations, rounded in another order
MATRICES = ("M", "D", "damping", "U", "G", "B")
RANDOM = {
    "everything": random_arm(3, links=2, payload=True),
    "telescope": random_arm(4, links=2, telescope=True, payload=True),
    "foreshortened": random_arm(5, links=1, foreshortening=True, elastic=True),
    "one coordinate": fa.Arm(name="1 é", links=(fa.Link(name="a", body=fa.Rigid(length=1.0, mass=2.0)),)),
}
BUNDLED = ("rigid-two-link", "subudhi-morris-elastic", "lin-lewis-azimuth-elevation", "spatial-6r")
ARMS = (*BUNDLED, *RANDOM)


def arm_of(name):
    return RANDOM.get(name) or fa.load(name)


def state_of(arm, seed):
    return dict(zip(("q", "qd"), random_state(arm, seed), strict=False))


@cache
def slopes(name):
    """(q, qd) -> D, U, damping and the Jacobian of the tip, by differentiating the model's own quantities."""
    model = fa.Model(arm_of(name))
    n = len(model.coordinates)
    q, qd = ca.SX.sym("q", n), ca.SX.sym("qd", n)
    bias, damping, force, tip = (
        model.function(quantity) for quantity in ("bias", "damping_force", "stiffness_force", "tip")
    )
    pose = tip(q)
    p, R = pose[:3, 3], pose[:3, :3]
    turning = [ca.mtimes(ca.jacobian(R, q[i]).reshape((3, 3)), R.T) for i in range(n)]
    w = ca.horzcat(*(ca.vertcat(W[2, 1], W[0, 2], W[1, 0]) for W in turning))
    return ca.Function(
        "slopes",
        [q, qd],
        [
            ca.jacobian(bias(q, qd), qd) / 2,
            ca.jacobian(force(q), q),
            ca.jacobian(damping(q, qd), qd),
            ca.vertcat(ca.jacobian(p, q), w),
        ],
        ["q", "qd"],
        ["D", "U", "damping", "jacobian"],
    )


@cache
def model_of(name):
    return fa.Model(arm_of(name))


@cache
def equations_of(name):
    return equations(arm_of(name))


def native(name, q, qd, model=None):
    """Every part by the native model, and by slopes of its quantities where it has none."""
    model = model or model_of(name)
    found = {part: np.array(value) for part, value in slopes(name)(q=q, qd=qd).items()}
    found |= {"M": model.mass_matrix(q), "G": model.gravity_force(q), "B": model.input_matrix(q)}
    found |= {"bias": model.bias(q, qd), "stiffness_force": model.stiffness_force(q)}
    return found | {"energy": np.array(model.energy(q, qd)), "tip": model.tip(q), "kinematics": np.eye(len(q))}


LANGUAGES = {"Python": in_python, "MATLAB": in_matlab}


def assert_same(found, expected, parts):
    for part in parts:
        assert found[part].shape == expected[part].shape, part
        scale = np.abs(expected[part]).max() or 1.0
        np.testing.assert_allclose(found[part], expected[part], rtol=0, atol=CLOSE * scale, err_msg=part)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ARMS)
def test_every_part_is_the_native_models(name, language):
    parts = tuple(PARTS)
    numbers = LANGUAGES[language](equations_of(name), parts)
    for seed in (1, 2):
        state = state_of(arm_of(name), seed)
        assert_same(numbers(**state), native(name, **state), parts)


def test_parts_come_as_they_are_asked_for():
    found = equations(arm_of("rigid-two-link"))
    names = {}
    exec(found.python(), names)
    usual = names["rigid_two_link"]([0.1, 0.2], [0.3, 0.4])
    assert usual._fields == tuple(LETTERS.get(part, part) for part in MATRICES)
    names = {}
    exec(found.python(["tip", "bias"]), names)
    assert names["rigid_two_link"]([0.1, 0.2], [0.3, 0.4])._fields == ("T", "h")
    assert found.matlab(["tip", "bias"]).startswith("function [T, h] = rigid_two_link(q, qd, p)")
    assert "double T[4][4],\n    double h[2]);" in found.c(["tip", "bias"])["rigid_two_link.h"]


@pytest.mark.parametrize("form", ["python", "matlab", "c"])
def test_a_part_that_there_is_not(form):
    there = ", ".join(ALL_PARTS)
    with pytest.raises(DescriptionError, match=f"^unknown part 'K'; known parts are {there}$"):
        getattr(equations(arm_of("rigid-two-link")), form)(["M", "K"])


def test_a_part_asked_for_twice_stands_there_once():
    found = equations(arm_of("rigid-two-link"))
    for form in (found.text, found.latex, found.markdown, found.python, found.matlab, found.c):
        assert form(["G", "G"]) == form(["G"])


def test_what_is_the_same_for_one_coordinate():
    """A matrix has two axes and a force one, however many coordinates there are."""
    numbers = in_python(equations(arm_of("one coordinate")), tuple(PARTS))(np.array([0.3]), np.array([0.2]))
    matrices, forces = ("M", "D", "U", "damping", "B"), ("G", "bias", "stiffness_force")
    assert {part: numbers[part].shape for part in (*matrices, *forces)} == {
        **dict.fromkeys(matrices, (1, 1)),
        **dict.fromkeys(forces, (1,)),
    }
    assert numbers["M"][0, 0] == pytest.approx(2.0 / 3.0, rel=CLOSE)


# -- parameters --------------------------------------------------------------------------------------------------------

LOADED = fa.Arm(
    name="loaded",
    links=(
        fa.Link(name="upper", body=fa.Beam(length=0.8, mass=0.6, EI=20.0, modes={"y": 2}, shapes="clamped-free")),
        fa.Link(
            name="fore",
            joint=fa.Revolute(stiffness=80.0, rotor_inertia=0.01, gear_ratio=3.0, damping=0.1, spring_damping=0.2),
            body=fa.Beam(length=0.5, mass=0.4, EI=9.0, modes={"y": 1}, shapes="clamped-free"),
        ),
    ),
    payload=fa.Payload(mass=0.3, inertia=0.01),
    gravity=(0.0, -9.81, 0.0),
)
CHANGED = {"mP": 0.6, "IP": 0.02, "L_2": 0.7, "m_1": 0.9, "EI_1": 35.0, "G_2": 4.0, "ks_2": 20.0, "d_2": 0.3, "g": 1.6}


def changed_arm():
    """`LOADED` with the numbers of `CHANGED`; its shapes are those of beams without load and stay the same."""
    upper, fore = LOADED.links
    upper = upper.replace(body=upper.body.replace(mass=0.9, EI=35.0))
    fore = fore.replace(
        joint=fore.joint.replace(gear_ratio=4.0, stiffness=20.0, damping=0.3), body=fore.body.replace(length=0.7)
    )
    payload = LOADED.payload.replace(mass=0.6, inertia=0.02)
    return LOADED.replace(links=(upper, fore), payload=payload, gravity=(0.0, -1.6, 0.0))


RANDOM |= {"loaded": LOADED, "changed": changed_arm()}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("fixed", [{}, {"mP": 0.6, "upper.EI": 35.0}, {"L_*": None, "m_2": None}])
def test_parameters_may_change_later(language, fixed):
    """When the function is called, or when it is written: numbers that were set are no parameters any more."""
    changes = {x: value for x, value in CHANGED.items() if x not in ("mP", "EI_1") or not fixed.get("mP")}
    arm = arm_of("changed")
    if "L_*" in fixed:
        changes.pop("L_2")
        fore = arm.links[1]
        arm = arm.replace(links=(arm.links[0], fore.replace(body=fore.body.replace(length=0.5))))
    found = equations(LOADED, fixed)
    kept = {p.symbol for p in found.parameters}
    assert not kept & {*found.numbers} and {*changes} <= kept
    parts = ("M", "U", "G", "bias", "damping", "energy", "tip")
    numbers = LANGUAGES[language](found, parts)
    model, state = fa.Model(arm), state_of(arm, 7)
    expected = {"M": model.mass_matrix(state["q"]), "G": model.gravity_force(state["q"]), "tip": model.tip(state["q"])}
    expected |= {"bias": model.bias(**state), "energy": np.array(model.energy(**state))}
    n = len(model.coordinates)
    expected["U"] = np.transpose([model.stiffness_force(e) for e in np.eye(n)])
    expected["damping"] = np.transpose([model.damping_force(state["q"], e) for e in np.eye(n)])
    assert_same(numbers(**state, **changes), expected, parts)
    with pytest.raises(AssertionError, match="M"):  # and without the change they are others
        assert_same(numbers(**state), expected, ("M",))


def test_without_parameters_there_is_no_argument():
    found = equations(LOADED, ["*"])
    assert found.parameters == ()
    assert "def loaded(q, qd):" in found.python() and "PARAMETERS" not in found.python()
    assert found.matlab().splitlines()[0].endswith("= loaded(q, qd)")
    assert "parameters" not in "".join(found.c().values())
    state = state_of(LOADED, 1)
    assert_same(in_python(found, MATRICES)(**state), native("loaded", **state), MATRICES)


# -- C -----------------------------------------------------------------------------------------------------------------


def numbers_in(text):
    """The expected numbers of the C test, by the letters of the parts."""
    found = re.findall(r"expected\[\d+\] = \{(.*?)\};\n\s*failed \|= differs\(\"(\w+)\"", text, re.DOTALL)
    return {letter: np.array([float(x) for x in values.split(",")]) for values, letter in found}


@pytest.mark.skipif(GCC is None, reason="no C compiler")
@pytest.mark.parametrize("name", ["subudhi-morris-elastic", "spatial-6r", "everything", "telescope", "one coordinate"])
def test_c_passes_its_own_test(name, tmp_path):
    """And the numbers it is tested with are the native model's."""
    texts = equations_of(name).c(tuple(PARTS))
    done = run(texts, tmp_path)
    assert done.returncode == 0, done.stdout
    assert re.findall(r"^(\w+): largest relative error", done.stdout, re.M) == [LETTERS.get(x, x) for x in PARTS]
    test = texts[next(file for file in texts if file.endswith("_test.c"))]
    state = [
        np.array(
            [float(x) for x in re.search(rf"const double {x}\[\d+\] = \{{(.*?)\}};", test, re.DOTALL)[1].split(",")]
        )
        for x in ("q", "qd")
    ]
    right, told = native(name, *state), numbers_in(test)
    for part in PARTS:
        value = told[LETTERS.get(part, part)]
        np.testing.assert_allclose(value, right[part].ravel(), rtol=0, atol=CLOSE * (np.abs(value).max() or 1.0))


@pytest.mark.skipif(GCC is None, reason="no C compiler")
def test_a_telescope_that_follows_its_load_has_source_code(tmp_path):
    """Its modal integrals are series there, with their derivatives: all parts, against the native model."""
    done = run(equations_of("theodore-ghosal").c(tuple(PARTS)), tmp_path)
    assert done.returncode == 0, done.stdout


def test_an_arm_too_large_for_closed_forms_has_source_code():
    found = equations_of("spatial-6r")
    with pytest.raises(DescriptionError, match=r"^arm 'spatial-6r': M is too large as a closed form: "):
        found.text()
    assert "def spatial_6r(q, qd, p=PARAMETERS):" in found.python()


def test_the_table_of_parts_names_each_once():
    """Letters are what tells outputs of source code apart; of a telescope the force of strain is asked for too."""
    letters = [part.letter for part in PARTS.values()]
    assert sorted({*letters}) == sorted(letters)
    assert of_motion(arm_of("spatial-6r")) == MATRICES
    assert of_motion(arm_of("telescope")) == (*MATRICES, "stiffness_force")


@pytest.mark.skipif(GCC is None, reason="no C compiler")
def test_the_c_test_fails_where_a_number_is_wrong(tmp_path):
    texts = equations(LOADED).c()
    first = re.search(r"expected\[\d+\] = \{\s*([\d.]+)", texts["loaded_test.c"])
    wrong = f"{float(first[1]) * (1 + 1e-9):.17g}"
    head, tail = texts["loaded_test.c"][: first.start(1)], texts["loaded_test.c"][first.end(1) :]
    done = run({**texts, "loaded_test.c": head + wrong + tail}, tmp_path)
    assert done.returncode == 1
    assert run(texts, tmp_path).returncode == 0


@pytest.mark.skipif(GCC is None, reason="no C compiler")
def test_c_with_other_parameters_is_the_other_arm(tmp_path):
    """The function of one arm with the numbers of another in its defaults passes the other's test."""
    texts, other = equations(LOADED).c(), equations(arm_of("changed")).c()
    values = {p.symbol: p.value for p in equations(arm_of("changed")).parameters}
    defaults = re.sub(r"\.(\w+) = [\d.e-]+,", lambda x: f".{x[1]} = {values[x[1]]!r},", texts["loaded.c"])
    mixed = {"loaded.h": texts["loaded.h"], "loaded.c": texts["loaded.c"], "loaded_test.c": other["loaded_test.c"]}
    assert run(mixed, tmp_path).returncode == 1
    assert run({**mixed, "loaded.c": defaults}, tmp_path).returncode == 0


@pytest.mark.skipif(GCC is None, reason="no C compiler")
def test_c_with_numbers_set_to_others(tmp_path):
    """Its test then expects the numbers of the arm that has these values: the other arm's own."""
    found = equations(LOADED, CHANGED)
    texts, other = found.c(), equations(arm_of("changed")).c()
    assert run(texts, tmp_path).returncode == 0
    mine, theirs = numbers_in(texts["loaded_test.c"]), numbers_in(other["loaded_test.c"])
    assert mine.keys() == theirs.keys() == {"M", "D", "C", "U", "G", "B"}
    for letter, value in theirs.items():
        np.testing.assert_allclose(mine[letter], value, rtol=0, atol=CLOSE * np.abs(value).max())


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "identifier"),
    [("two links", "two_links"), ("1 é", "arm_1"), ("é", "arm_"), ("a--b/c", "a_b_c"), ("__x__", "x"), ("for", "for_"),
     ("my__arm", "my_arm"), ("null", "null_"), ("jac", "jac"), ("hess", "hess"), ("q", "q_"), ("M", "M_"),
     ("_", "arm_"),
     ("x" * 200, "x" * 60), ("M" + "é" * 199, "M_"), ("a" * 59 + " b", "a" * 59 + "_")]
    + [(name, f"{name}_") for name in ("math", "printf", "malloc", "linux", "NULL", "index", "ValueError", "def", "end",
                                       "ans", "parfor", "class", "None", "rows", "expected", "y0")],
)  # fmt: skip
def test_the_name_of_the_function(name, identifier, tmp_path):
    """That of its files too; every language reads the source and finds the function."""
    found = equations(arm_of("one coordinate").replace(name=name))
    assert found.identifier == identifier
    names = {}
    exec(found.python(("M",)), names)
    assert names[identifier]([0.1], [0.2]).M[0, 0] == pytest.approx(2.0 / 3.0, rel=CLOSE)
    texts = found.c(("M",))
    assert [*texts] == [f"{identifier}.h", f"{identifier}.c", f"{identifier}_test.c"]
    if GCC:
        assert run(texts, tmp_path).returncode == 0
    names = {"SimpleNamespace": SimpleNamespace, "zeros": lambda *shape: Matrix(np.zeros(shape))}
    exec(translated(found.matlab(("M",))), names)
    assert names[identifier](Matrix([0.1]), Matrix([0.2])).values[0, 0] == pytest.approx(2.0 / 3.0, rel=CLOSE)


@pytest.mark.skipif(GCC is None, reason="no C compiler")
@pytest.mark.parametrize("standard", [(), ("-std=c99",), ("-std=gnu17",)])
def test_no_function_has_a_name_that_the_headers_know(standard):
    """Every other word in the headers could be a function's name: the compiler says so."""
    headers = "".join(f"#include <{name}.h>\n" for name in ("math", "stdio", "string"))
    begun = [GCC, *standard, "-Wall", "-Wextra", "-Werror", "-x", "c", "-"]
    read = subprocess.run([*begun, "-E", "-dD"], input=headers, capture_output=True, text=True, check=True).stdout
    words = {*re.findall(r"(?<![\w.])[A-Za-z]\w*", re.sub(r'"[^"]*"', "", read))}
    assert {"index", "M_PI", "sin", "FILE", "printf"} & words <= RESERVED
    free = sorted(word for word in words - RESERVED if len(word) <= LONGEST)
    declared = headers + "\n".join(f"void {word}(const double (*q)[7]);" for word in free)
    done = subprocess.run([*begun, "-fsyntax-only"], input=declared, capture_output=True, text=True, check=False)
    assert done.stderr == "" and len(free) > 10


@pytest.mark.skipif(OCTAVE is None, reason="no Octave")
def test_no_function_has_a_name_that_octave_keeps():
    command = [OCTAVE, "--no-gui", "--eval", 'disp(strjoin(iskeyword(), " "))']
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert {"for", "unwind_protect"} <= {*told} and {word for word in told if word[0] != "_"} <= RESERVED


HOSTILE = (
    "*/ /* // ??/",
    "%{",
    "%}",
    "\\\\ \\",
    '"""',
    "#{",
    "...",
    "$(x) ${y}",
    "\\N{X} \\u1",
    "[red]",
    "臂é",
    "%d%s",
    "_",
)


def hostile_arm():
    """Names that would end a comment, or begin something, in one of the languages."""
    bodies = [fa.Rigid(length=1.0, mass=1.0 + i) for i in range(len(HOSTILE))]
    names = [f"{i}{text}".replace(" ", "") for i, text in enumerate(HOSTILE)]
    names = [name.replace(".", ":") for name in names]
    links = tuple(fa.Link(name=name[::-1], body=body) for name, body in zip(names, bodies, strict=True))
    return fa.Arm(name=" ".join(HOSTILE), links=links)


def test_names_in_comments_stay_there(tmp_path):
    """The source is read, and gives the native model's numbers, whatever the links are called."""
    arm = hostile_arm()
    found, n = equations(arm), len(HOSTILE)
    expected = fa.Model(arm).gravity_force(np.full(n, 0.1))
    tree = ast.parse(found.python(("G",)))
    assert len(tree.body) == 7  # title, two imports, parameters, a class, two functions
    names = {}
    exec(compile(tree, "text", "exec"), names)
    np.testing.assert_allclose(names[found.identifier]([0.1] * n, [0.0] * n).G, expected, rtol=0, atol=1e-12)
    if GCC:
        for standard in ("-std=c99", "-std=gnu17"):
            assert run(found.c(("G",)), tmp_path, standard).returncode == 0
    if OCTAVE:
        (tmp_path / f"{found.identifier}.m").write_text(found.matlab(("G",)), encoding="utf-8")
        state = f"G = {found.identifier}(0.1*ones({n}, 1), zeros({n}, 1)); printf('%.17g ', G)"
        done = subprocess.run([OCTAVE, "--no-gui", "--eval", state], cwd=tmp_path, capture_output=True, text=True)
        np.testing.assert_allclose([*map(float, done.stdout.split())], expected, rtol=0, atol=1e-12)
