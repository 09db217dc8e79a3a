"""Equations as source: each language gives the numbers of the model they were written from, and they read well."""

import ast
import math
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from javascript import NODE, in_javascript
from matlab_in_python import Matrix, translated

import flexarm as fa
from flexarm.closed_forms.formats import JAVASCRIPT, Program, c, matlab, python
from flexarm.closed_forms.formats.c import C
from flexarm.closed_forms.formats.matlab import MATLAB
from flexarm.closed_forms.formats.python import PYTHON
from flexarm.closed_forms.formats.statements import LONGEST, source
from flexarm.errors import FlexarmError
from flexarm.mechanics.parameters import Parameter
from flexarm.native.program import operations

CLOSE = 1e-12  # of an output's largest number: the same operations, rounded in another order
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wshadow", "-pedantic", "-Werror", "-O2"]
CC, CXX, OCTAVE = shutil.which("cc"), shutil.which("c++"), shutil.which("octave-cli")
ARMS = ("subudhi-morris-elastic", "canadarm", "rigid-two-link", "lin-lewis-azimuth-elevation", "theodore-ghosal")
QUANTITIES = {"M": "mass_matrix", "h": "bias", "G": "gravity_force", "K": "stiffness_force", "D": "damping_force"}


@cache
def arm_program(name):
    """An arm's equations: its numbers written in, and functions of its state."""
    model = fa.Model(fa.load(name))
    state = {x: ca.SX.sym(x, len(model.coordinates)) for x in ("q", "qd")}
    functions = [model.function(quantity) for quantity in QUANTITIES.values()]
    results = [function(*(state[x] for x in function.name_in())) for function in functions]
    function = ca.Function("f", list(state.values()), results, list(state), list(QUANTITIES))
    notes = {"q": "coordinates", "qd": "their rates", "M": "inertia matrix [SI], symmetric"}
    return model, Program("arm", f"The arm {name}.", function, (), {"q": model.coordinates}, notes)


def state_of(program, seed):
    rng = np.random.default_rng(seed)
    return {x: rng.uniform(0.2, 0.9, size) * rng.choice([-1, 1], size) for x, size in program.inputs.items()}


def expected_of(program, state):
    """The numbers as CasADi computes them."""
    values = [x.value for x in program.parameters]
    found = program.function.call([ca.DM(state.get(x, values)) for x in program.function.name_in()])
    shapes = program.outputs
    return {x: np.array(y).reshape(shapes[x], order="F") for x, y in zip(shapes, found, strict=True)}


def in_python(program):
    """State -> the numbers of the Python module."""
    names = {}
    exec(compile(python(program), "text", "exec"), names)
    function = names[source(program, PYTHON).name]

    def numbers(state):
        given = [dict(zip(program.symbols, state["p"], strict=True))] if "p" in state else []
        found = function(*(state[x].tolist() for x in program.inputs), *given)
        return dict(zip(program.outputs, found, strict=True))

    return numbers


PYTHON_NAMES = re.compile(r"\b(lambda|def)\b")  # given in tests; MATLAB may use them


def in_matlab(program):
    """State -> the numbers of the MATLAB file, by a stand-in for MATLAB: its statements, executed one by one."""
    functions = (
        "sqrt",
        "exp",
        "log",
        "sin",
        "cos",
        "tan",
        "sinh",
        "cosh",
        "tanh",
        "floor",
        "ceil",
        "power",
        "abs",
        "sign",
    )
    names = {x: getattr(np, x) for x in functions} | {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan}
    names |= {"atan2": np.arctan2, "min": np.fmin, "max": np.fmax, "SimpleNamespace": SimpleNamespace}
    names["double"] = lambda condition: float(bool(condition))
    names["zeros"] = lambda *shape: Matrix(np.zeros(shape))
    made = source(program, MATLAB)
    exec(translated(PYTHON_NAMES.sub(r"\1_", matlab(program))), names)

    def numbers(state):
        given = [Matrix(state[x]) for x in program.inputs]
        if "p" in state:
            fields = [PYTHON_NAMES.sub(r"\1_", made.fields[x]) for x in program.symbols]
            given.append(SimpleNamespace(**dict(zip(fields, state["p"], strict=True))))
        with np.errstate(all="ignore"):
            found = names[PYTHON_NAMES.sub(r"\1_", made.name)](*given)
        found = found if isinstance(found, tuple) else (found,)
        values = [getattr(value, "values", np.asarray(value)) for value in found]
        return {x: v.reshape(shape) for (x, shape), v in zip(program.outputs.items(), values, strict=True)}

    return numbers


def in_octave(folder, program):
    """State -> the numbers of the MATLAB file."""
    made = source(program, MATLAB)
    (folder / f"{made.name}.m").write_text(matlab(program))
    outputs = [f"out{i}" for i in range(len(program.outputs))]
    prints = [f"printf('%.17g ', {x}); printf('\\n');" for x in outputs]

    def numbers(state):
        arguments = ["[" + "; ".join(map(repr, state[x].tolist())) + "]" for x in program.inputs]
        if "p" in state:
            values = zip(program.symbols, state["p"].tolist(), strict=True)
            pairs = ", ".join(f"'{made.fields[x]}', {value!r}" for x, value in values)
            arguments.append(f"struct({pairs})")
        script = " ".join([f"[{', '.join(outputs)}] = {made.name}({', '.join(arguments)});", *prints])
        run = subprocess.run(
            [OCTAVE, "--norc", "--eval", script], cwd=folder, capture_output=True, text=True, check=True
        )
        assert "warning" not in run.stderr
        rows = [np.array(line.split(), dtype=float) for line in run.stdout.splitlines()]
        shapes = program.outputs.items()
        return {x: row.reshape(shape, order="F") for (x, shape), row in zip(shapes, rows, strict=True)}

    return numbers


def built(texts, folder):
    """Runs the C program that compares."""
    for file, text in texts.items():
        (folder / file).write_text(text)
    code = [file for file in texts if file.endswith(".c")]
    build = subprocess.run([CC, *STRICT, *code, "-o", "test", "-lm"], cwd=folder, capture_output=True, text=True)
    assert (build.returncode, build.stderr) == (0, "")
    return subprocess.run([folder / "test"], capture_output=True, text=True)


def check(language, program, states, expected, folder):
    """Numbers in one language against those expected, state by state."""
    if language == "C" and CC is None:
        pytest.skip("no C compiler")
    if language == "Octave" and OCTAVE is None:
        pytest.skip("no Octave")
    if language == "JavaScript" and NODE is None:
        pytest.skip("no Node")
    if language == "C":
        for state, right in zip(states, expected, strict=True):
            run = built(c(program, state, right, CLOSE), folder)
            assert run.returncode == 0, run.stdout
            assert len(run.stdout.splitlines()) == len(right)
        return
    if language == "JavaScript":
        numbers = iter(in_javascript(program, states, folder))
    else:
        ways = {"Python": in_python, "MATLAB": in_matlab, "Octave": partial(in_octave, folder)}
        numbers = map(ways[language](program), states)
    for found, right in zip(numbers, expected, strict=True):
        for x, values in right.items():
            assert found[x].shape == values.shape
            np.testing.assert_allclose(found[x], values, rtol=0, atol=CLOSE * (np.abs(values).max() or 1.0), err_msg=x)


LANGUAGES = ("Python", "C", "MATLAB", "Octave", "JavaScript")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ARMS)
def test_an_arm(name, language, tmp_path):
    """The numbers of native code at random states."""
    model, program = arm_program(name)
    seeds = (1, 2, 3, 4, 5) if language in ("Python", "MATLAB", "JavaScript") else (6,)
    states = [state_of(program, seed) for seed in seeds]
    for state in states:  # a free length is positive
        state["q"] = np.where(np.array(model.arm.rest) > 0, np.abs(state["q"]), state["q"])
    expected = [
        {
            x: getattr(model, quantity)(*([s["q"], s["qd"]] if x in "hD" else [s["q"]]))
            for x, quantity in QUANTITIES.items()
        }
        for s in states
    ]
    check(language, program, states, expected, tmp_path)


def pendulum(names=("q", "qd", "T", "M"), symbols=("m", "L", "J", "g"), name="pendulum"):
    """A rod with a point mass, whose equations need no tool: M = J + m L^2, h = m g L sin q."""
    q, qd, p = ca.SX.sym("q"), ca.SX.sym("qd"), ca.SX.sym("p", 4)
    m, L, J, g = ca.vertsplit(p)
    M = J + m * L**2
    results = [M * qd**2 / 2 - m * g * L * ca.cos(q), M]
    function = ca.Function("f", [q, qd, p], results, [*names[:2], "p"], list(names[2:]))
    units = (("kg", 2.0), ("m", 0.5), ("kg m^2", 0.25), ("m/s^2", 9.81))
    parameters = tuple(Parameter(s, f"rod.{s}", v, u, "a number") for s, (u, v) in zip(symbols, units, strict=True))
    return Program(name, "A pendulum", function, parameters, {names[0]: ("rod.joint",)}, {names[3]: "inertia [kg m^2]"})


@pytest.mark.parametrize("language", LANGUAGES)
def test_parameters(language, tmp_path):
    """Those given count, and without them those of the arm."""
    program = pendulum()
    usual = {"q": np.array([0.3]), "qd": np.array([2.0])}
    other = {**usual, "p": np.array([3.0, 1.0, 0.5, 1.62])}
    expected = [
        {"T": np.array(1.5 - 9.81 * math.cos(0.3)), "M": np.array(0.75)},
        {"T": np.array(7.0 - 4.86 * math.cos(0.3)), "M": np.array(3.5)},
    ]
    check(language, program, [usual, other], expected, tmp_path)


def test_parameters_can_be_read_and_changed():
    names = {}
    exec(python(pendulum()), names)
    assert names["PARAMETERS"] == {"m": 2.0, "L": 0.5, "J": 0.25, "g": 9.81}
    assert names["pendulum"]([0.0], [0.0], {**names["PARAMETERS"], "J": 1.0}).M == 1.5
    assert '"L": 0.5,  # rod.L [m]: a number' in python(pendulum())
    texts = c(pendulum(), {"q": [0.3], "qd": [2.0]}, {"T": [0.0], "M": [0.75]})
    assert "double L;  // rod.L [m]: a number" in texts["pendulum.h"]
    assert "p.L = 0.5;  % rod.L [m]: a number" in matlab(pendulum())


x, y, z = (ca.SX.sym(name) for name in "xyz")
OPERATIONS = {
    "ADD": ca.vertcat(x + y + (z - x * 3) + (-y * 2), y * z + (-2 * x - y), -x * y + (-z - y), -x + (y + z)),
    "SUB": ca.vertcat(x - (y - z) - (-x * y) - (-(x + y)), x - (-2 * y), -x - (-2 * y), -2 * x - (-2 * y - z)),
    "MUL": ca.vertcat(x * y * (y + z) * (-x) * (x / y) * 2.5 * (-(y + 1)), (-2 * x) * (-3 * y)),
    "DIV": ca.vertcat(x / y, (x - 3) / (y * z), -x / (y + z), x / 3, (x / y) / (1 / z), x / (y / z), z / -(x * y)),
    "INV": ca.vertcat(1 / x, -1 / (x * x + 2), 1 / (1 / x + 1 / y), 1 / -(x + y), 3 / (1 / x)),
    "NEG": ca.vertcat(-x, -(x - y), -(x * y), -(-2 * x * y), -x + -(y * z), x * -y, -ca.sin(-x)),
    "SQ": (x - y) ** 2 + x**2 - (x * z) ** 2,
    "TWICE": ca.vertcat(x + x, 2 * (x + y), -2 * x),
    "SQRT": ca.sqrt(x + 1),
    "EXP": ca.exp(-x),
    "LOG": ca.log(x),
    "POW": x ** (y - 1),
    "CONSTPOW": x**2.7 + x ** (-1.5),
    "SIN": ca.sin(x - y),
    "COS": ca.cos(x - y) * ca.cos(2 * z),
    "TAN": ca.tan(x),
    "ASIN": ca.asin(x / 4),
    "ACOS": ca.acos(x / 4),
    "ATAN": ca.atan(x),
    "ATAN2": ca.atan2(-x, y),
    "SINH": ca.sinh(x),
    "COSH": ca.cosh(x),
    "TANH": ca.tanh(x),
    "FLOOR": ca.floor(3 * x),
    "CEIL": ca.ceil(3 * x),
    "FABS": ca.fabs(y - x) - 1,
    "SIGN": ca.vertcat(ca.sign(x - y) * z, ca.sign(x - 1.1)),
    "FMIN": ca.fmin(x, y + 0.1),
    "FMAX": ca.fmax(x - y, 0),
    "LT": ca.vertcat(x < y, (x < y) / (x < 9), (x < y) - 2 * (y < z), -(x < y)),
    "LE": ca.vertcat(x <= y, x + 1 <= y * z),
    "EQ": ca.vertcat(x == y, ca.sqrt(x == y)),
    "NE": ca.vertcat(x != y, (x != y) * x),
    "NOT": ca.vertcat(ca.logic_not(x < y), ca.logic_not(x), ca.logic_not(ca.logic_and(x < y, y < z))),
    "AND": ca.vertcat(ca.logic_and(x < y, x < 1), ca.logic_and(x < y, x < 1) + 1, ca.logic_and(x, y)),
    "OR": ca.vertcat(ca.logic_or(x < y, x < 1), ca.logic_or(ca.logic_and(x < y, y < z), x < z)),
    "IF_ELSE_ZERO": ca.vertcat(ca.if_else(x < y, ca.sqrt(x), z - y), ca.if_else(x < y, y, 0) * z),
}
ROWS = np.array([[0.3, 1.9, 0.7], [2.3, 0.4, 1.7], [1.1, 1.1, 1.1], [0.6, 0.7, 0.8]])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_operation(language, tmp_path):
    expressions = {f"{name}_{i}": e for name, v in OPERATIONS.items() for i, e in enumerate(ca.vertsplit(v))}
    arguments = [ca.SX.sym("v", 3) for _ in expressions]  # each its own: nothing is shared, all that can be is folded
    alone = [ca.substitute(e, ca.vertcat(x, y, z), v) for e, v in zip(expressions.values(), arguments, strict=True)]
    function = ca.Function("f", [ca.vertcat(*arguments)], alone, ["v"], [*expressions])
    used = {function.instruction_id(k) for k in range(function.n_instructions())}
    assert used >= {getattr(ca, f"OP_{name}") for name in OPERATIONS}
    assert {*C.templates, *PYTHON.templates, *MATLAB.templates, *JAVASCRIPT.templates} - {ca.OP_COPYSIGN} <= used
    program = Program("everything", "All operations", function)
    states = [{"v": np.tile(row, len(expressions))} for row in ROWS]
    check(language, program, states, [expected_of(program, state) for state in states], tmp_path)


@pytest.mark.parametrize("language", ["Python", "C"])
def test_the_sign_of_another(language, tmp_path):
    program = Program("signed", "", ca.Function("f", [ca.vertcat(x, y)], [ca.copysign(x, -y)], ["v"], ["w"]))
    check(language, program, [{"v": np.array([2.0, 0.5])}], [{"w": np.array(-2.0)}], tmp_path)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("value", "sinc"), [(0.0, 1.0), (0.5, math.sin(0.5) / 0.5)])
def test_the_side_that_a_condition_leaves_out_may_have_no_value(value, sinc, language, tmp_path):
    program = Program("quotient", "", ca.Function("f", [x], [ca.if_else(x == 0, 1, ca.sin(x) / x)], ["x"], ["y"]))
    check(language, program, [{"x": np.array([value])}], [{"y": np.array(sinc)}], tmp_path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_results_without_arithmetic(language, tmp_path):
    """Zeros, constants, inputs, a row, an input that is not used, an entry that CasADi leaves out."""
    sparse = ca.SX(3, 2)
    sparse[2, 0] = x
    results = [ca.SX(0), ca.DM([3.5, -1.0]), ca.vertcat(z, z, z, x), ca.horzcat(x, -y), sparse, ca.SX(2, 2)]
    function = ca.Function("f", [ca.vertcat(x, z), y, ca.SX.sym("w", 2)], results, list("vyw"), list("abcdef"))
    program = Program("plain", "", function, shapes={"a": (1, 1)})
    state = state_of(program, 3)
    assert expected_of(program, state)["d"].shape == (1, 2)
    check(language, program, [state], [expected_of(program, state)], tmp_path)


# -- how it reads


def is_reciprocal(node):
    """Of a divisor that several numbers share: one division more, but those become multiplications."""
    return isinstance(node.op, ast.Div) and isinstance(node.left, ast.Constant) and node.left.value == 1.0


@pytest.mark.parametrize("name", ARMS)
def test_each_value_is_computed_once(name):
    """No more operations than the straight-line program has; a name for what is used again, or is too long."""
    program = arm_program(name)[1]
    function = program.function
    tidy = ca.Function("f", function.sx_in(), ca.cse(function(*function.sx_in())))
    tree = ast.parse(python(program)).body[-1]
    products = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and not is_reciprocal(node)]
    kinds = Counter(type(node.op).__name__ for node in products)
    multiplications, additions = operations(tidy)
    twice = sum(tidy.instruction_id(k) == ca.OP_TWICE for k in range(tidy.n_instructions()))
    assert kinds["Mult"] + kinds["Div"] <= multiplications + twice
    assert kinds["Add"] + kinds["Sub"] <= additions - twice
    calls = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls = [call for call in calls if "zeros" not in call]
    assert len(calls) == len(set(calls))

    made = source(program, PYTHON)
    texts = [statement.text for statement in made.statements if not statement.output]
    assert len(texts) == len(set(texts))
    words = Counter(word for statement in made.statements for word in re.findall(r"\b[tsc]\d+\b", statement.text))
    users = {word: statement for statement in made.statements for word in re.findall(r"\bt\d+\b", statement.text)}
    for statement in made.statements:
        if not statement.output and not statement.text.startswith("np."):
            (target,) = statement.targets
            longer = len(users[target].text) + len(statement.text) > LONGEST
            assert words[target] > 1 or users[target].output or longer


@pytest.mark.parametrize("name", ARMS)
def test_lines_are_short_and_zeros_not_computed(name):
    program = arm_program(name)[1]
    state = state_of(program, 1)
    texts = [python(program), matlab(program), c(program, state, expected_of(program, state))["arm.c"]]
    assert max(len(line) for text in texts for line in text.splitlines()) <= 110
    for statement in source(program, C).statements:
        assert not re.search(r"(?<![\w.])0\.0(?![\d])", statement.text)


def test_symmetric_entries_have_one_value():
    statements = [s for s in source(arm_program("canadarm")[1], PYTHON).statements if s.output == "M"]
    of = {target: k for k, statement in enumerate(statements) for target in statement.targets}
    pairs = [(i, j) for i in range(20) for j in range(i) if f"M[..., {i}, {j}]" in of]
    assert len(pairs) > 20
    assert all(of[f"M[..., {i}, {j}]"] == of[f"M[..., {j}, {i}]"] for i, j in pairs)


PAGES = {
    "pendulum": (pendulum(), ["t1 = J + m*L*L", "c1 = cos(q[0])", "*T = t1*qd[0]*qd[0]/2.0 - m*g*L*c1", "*M = t1"]),
    "reciprocals": (
        [x / (y * z), 1 / (x + y) * z, 1 / (x + 1 / y)],
        ["*a = x[0]/(y[0]*z[0])", "*b = z[0]/(x[0] + y[0])", "*c = 1.0/(x[0] + 1.0/y[0])"],
    ),
    "a shared divisor": (
        [x / (y + z), z / (y + z)],
        ["t1 = 1.0/(y[0] + z[0])", "*a = x[0]*t1", "*b = z[0]*t1"],
    ),
    "signs": (
        [x - (y - z), z + (-2 * x - y), -3 * y + z, -x * -y, -(x - 2 * y * z) * 3],
        [
            "*a = x[0] - (y[0] - z[0])",
            "*b = z[0] - 2.0*x[0] - y[0]",
            "*c = z[0] - 3.0*y[0]",
            "*d = x[0]*y[0]",
            "*e = -3.0*(x[0] - 2.0*y[0]*z[0])",
        ],
    ),
    "squares": ([x**2, (x - y) ** 2], ["*a = x[0]*x[0]", "t1 = x[0] - y[0]", "*b = t1*t1"]),
    "an angle": (
        [ca.sin(x + y) * z, ca.cos(x + y), ca.sin(z)],
        [
            "t1 = x[0] + y[0]",
            "s1 = sin(t1)",
            "c1 = cos(t1)",
            "*a = s1*z[0]",
            "*b = c1",
            "s2 = sin(z[0])",
            "*c = s2",
        ],
    ),
    "symmetry": (
        [ca.blockcat([[x, x * y], [x * y, 0]]), ca.vertcat(x * z, x * z, x * z), ca.vertcat(2.5, 0, 2.5, 2.5)],
        [
            "a[0][0] = x[0]",
            "a[1][0] = a[0][1] = x[0]*y[0]",
            "t1 = x[0]*z[0]",
            "b[0] = b[1] = t1",
            "b[2] = t1",
            "c[0] = c[2] = 2.5",
            "c[3] = 2.5",
        ],
    ),
    "conditions": (
        [ca.if_else(x < y, z, 0), ca.if_else(y < z, x, y + 1), (x <= z) * 2, ca.sqrt(z < x)],
        [
            "*a = (x[0] < y[0] ? z[0] : 0.0)",
            "t1 = (y[0] < z[0] ? 1.0 : 0.0)",
            "*b = (t1 ? x[0] : 0.0) + (!t1 ? y[0] + 1.0 : 0.0)",
            "*c = 2.0*(x[0] <= z[0] ? 1.0 : 0.0)",
            "*d = sqrt((z[0] < x[0] ? 1.0 : 0.0))",
        ],
    ),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page(page):
    """The whole of a small program, in C."""
    program, lines = PAGES[page]
    if isinstance(program, list):
        program = Program("f", "", ca.Function("f", [x, y, z], program, list("xyz"), list("abcde"[: len(program)])))
    assert [" = ".join([*s.targets, s.text]) for s in source(program, C).statements] == lines


# -- Python


def test_python_takes_many_states_at_once():
    model, program = arm_program("subudhi-morris-elastic")
    names = {}
    exec(python(program), names)
    rng = np.random.default_rng(4)
    q, qd = rng.uniform(-1, 1, (2, 3, 8)), rng.uniform(-1, 1, (3, 8))
    found = names["arm"](q, qd)
    assert found.M.shape == (2, 3, 8, 8)
    np.testing.assert_allclose(found.M, model.mass_matrix(q), rtol=0, atol=CLOSE)
    np.testing.assert_allclose(found.h, model.bias(q, qd), rtol=0, atol=CLOSE * np.abs(found.h).max())
    with pytest.raises(ValueError, match=r"^qd has 7 numbers; it must have 8$"):
        names["arm"](q, qd[:, :7])


# -- C


@pytest.mark.skipif(CC is None, reason="no C compiler")
@pytest.mark.parametrize("wrong", [1.0 + 1e-9, math.nextafter(1.0, 2.0)])
def test_the_c_test_fails_where_a_number_is_wrong(wrong, tmp_path):
    program = arm_program("rigid-two-link")[1]
    state = state_of(program, 9)
    expected = expected_of(program, state)
    expected["M"][1, 1] *= wrong
    run = built(c(program, state, expected, CLOSE), tmp_path)
    assert run.returncode == (1 if wrong > 1 + CLOSE else 0)
    assert re.search(r"^M: largest relative error [\d.e-]+$", run.stdout, re.MULTILINE)


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_the_c_test_fails_where_there_is_no_number(tmp_path):
    program = Program("root", "", ca.Function("f", [ca.vertcat(x, y)], [ca.sqrt(ca.vertcat(x, y))], ["v"], ["w"]))
    run = built(c(program, {"v": [-1.0, 4.0]}, {"w": [1.0, 2.0]}), tmp_path)
    assert (run.returncode, run.stdout) == (1, "w: largest relative error inf\n")
    small = built(c(program, {"v": [1e-8, 4e-8]}, {"w": [1e-4 * (1 + 1e-9), 2e-4]}), tmp_path)
    assert (small.returncode, small.stdout) == (1, "w: largest relative error 5e-10\n")


@pytest.mark.skipif(CXX is None, reason="no C++ compiler")
def test_the_header_is_read_by_cpp(tmp_path):
    program = pendulum(symbols=("class", "template", "int", "g"))
    texts = c(program, {"q": [0.3], "qd": [2.0]}, {"T": [0.0], "M": [0.75]})
    (tmp_path / "pendulum.h").write_text(texts["pendulum.h"])
    (tmp_path / "main.cpp").write_text('#include "pendulum.h"\nint main() { return pendulum_default.class_ > 3.0; }\n')
    subprocess.run([CXX, "-Wall", "-pedantic", "-fsyntax-only", "main.cpp"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("given", [[0.0, 1.0], [math.nan], []])
def test_the_c_test_needs_its_numbers(given):
    for state, right, named in (([0.3], given, "M"), (given, [0.75], "q")):
        with pytest.raises(
            FlexarmError, match=f"^program 'pendulum': the test in C needs 1 finite numbers for '{named}'$"
        ):
            c(pendulum(), {"q": state, "qd": [2.0]}, {"T": [0.0], "M": right})


# -- names and comments


CLASHES = [
    pendulum(names=("lambda", "t1", "s1", "c1"), symbols=("t2", "np", "double", "end")),
    pendulum(names=("sin", "cos", "np", "zeros"), symbols=("q", "c1", "p_", "cos"), name="memset"),
    pendulum(names=("float", "rows", "batch", "M"), symbols=("M", "float", "int", "def"), name="def"),
    pendulum(
        names=("nargin", "parameters", "failed", "expected"), symbols=("p", "choice", "failed", "t1"), name="main"
    ),
    pendulum(names=("q", "q_", "q__", "M"), symbols=("q", "q_", "M", "p"), name="function"),
    pendulum(names=("out", "w", "module", "Math"), symbols=("out", "w", "var", "let"), name="top"),
    pendulum(names=("f_part1", "f", "f_part2", "f_part_1"), symbols=("f_part1", "t1", "f_part2", "f"), name="f"),
]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("program", CLASHES, ids=range(len(CLASHES)))
def test_names_do_not_clash(program, language, tmp_path):
    state = state_of(program, 2) | {"p": np.array([3.0, 1.0, 0.5, 1.62])}
    check(language, program, [state], [expected_of(program, state)], tmp_path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_comments_stay_comments(language, tmp_path):
    nasty = "two\nlines */ \"\"\" ''' ${x} % // \\d \\"
    parameter = Parameter("m", nasty, 2.0, nasty, nasty)
    function = ca.Function("f", [x, y], [x * y], ["x", "p"], ["w"])
    program = Program("nasty", nasty, function, (parameter,), {"x": (nasty,)}, {"w": nasty, "x": nasty})
    check(language, program, [{"x": np.array([1.5])}], [{"w": np.array(3.0)}], tmp_path)


# -- errors


def refusal(language, expression):
    program = Program("f", "", ca.Function("f", [x, y], [expression], ["x", "y"], ["z"]))
    with pytest.raises(FlexarmError) as error:
        source(program, language)
    return str(error.value)


@pytest.mark.parametrize("language", [PYTHON, C, MATLAB, JAVASCRIPT], ids=lambda language: language.name)
def test_what_cannot_be_written_is_named(language):
    assert refusal(language, ca.erf(x)) == f"{language.name}: the CasADi operation OP_ERF is not supported"
    zero = f"{language.name}: the equations contain inf, as after a division by a constant zero"
    assert refusal(language, x / ca.SX(0)) == zero
    assert refusal(language, y + 1 / (x * 0)) == zero
    assert refusal(language, x * ca.log(ca.SX(-1))) == zero.replace("inf", "nan")


@pytest.mark.parametrize("language", [MATLAB, JAVASCRIPT], ids=lambda language: language.name)
def test_what_has_no_copysign(language):
    refused = f"{language.name}: the CasADi operation OP_COPYSIGN is not supported"
    assert refusal(language, ca.copysign(x, y)) == refused


def test_what_does_not_fit_is_refused():
    good = pendulum()
    wide = ca.Function("f", [ca.SX.sym("q", 2, 2)], [x * 0], ["q"], ["M"])
    empty = ca.Function("f", [ca.SX.sym("q", 0)], [x * 0], ["q"], ["M"])
    for changes, message in (
        ({"name": "two links"}, "'two links' is not an identifier; it must be a letter, then letters, digits and _"),
        ({"parameters": good.parameters[:3]}, "input 'p' has 4 numbers and 3 names"),
        ({"parameters": good.parameters[:1] * 4}, "two parameters have the symbol 'm'"),
        ({"entries": {"q": ("a", "b")}}, "input 'q' has 1 number and 2 names"),
        ({"entries": {"u": ("a",)}}, "unknown input or output 'u'; known names are q, qd, p, T, M"),
        ({"notes": {"D": "?"}}, "unknown input or output 'D'; known names are q, qd, p, T, M"),
        ({"shapes": {"M": (2,)}}, r"output 'M' is 1 x 1; it cannot have the shape \(2,\)"),
        ({"shapes": {"M": (1, 1, 1)}}, r"output 'M' is 1 x 1; it cannot have the shape \(1, 1, 1\)"),
        ({"function": wide, "parameters": ()}, "input 'q' is 2 x 2; it must be a column with some numbers"),
        ({"function": empty, "parameters": ()}, "input 'q' is 0 x 1; it must be a column with some numbers"),
        ({"function": wide}, "unknown input or output 'p'; known names are q, M"),
    ):
        with pytest.raises(FlexarmError, match=f"^program '{changes.get('name', 'pendulum')}': {message}$"):
            replace(good, **{"entries": {}, "notes": {}, **changes})
