"""Equations as JavaScript: the native numbers, in parts that V8 optimizes, and nothing that runs but the equations.

What all languages have in common (operations, names, comments) is in test_formats.py.
"""

import fnmatch
import re
from functools import cache

import casadi as ca
import numpy as np
import pytest
from javascript import in_javascript, needs_node, node
from long_arms import long_arm
from random_arms import random_arm, random_state

import flexarm as fa
from flexarm.closed_forms.equations import equations
from flexarm.closed_forms.formats import RESERVED, Program
from flexarm.closed_forms.formats.javascript import LONGEST, javascript
from flexarm.mechanics.parameters import Parameter
from flexarm.model.varied import variable

CLOSE = 1e-12  # of an output's largest number: the same operations, rounded in another order
QUANTITIES = ("forward_dynamics", "mass_matrix", "energy", "tip", "deflections")
VARIED = ["payload.mass", "gravity*", "*.EI", "*.EIy", "*.EIz", "*.damping*", "*.length", "*.mass"]
pytestmark = needs_node


def patterns(arm):
    """Names in the arm that fit one of VARIED."""
    names = [x.name for x in variable(arm) if x.value]
    return [name for pattern in VARIED for name in fnmatch.filter(names, pattern)]


@cache
def model_of(seed, varied):
    arm = random_arm(seed, telescope=seed % 3 == 0, payload=True, elastic=None if seed % 2 else True)
    return fa.Model(arm, patterns(arm)) if varied else fa.Model(arm)


def program_of(model):
    """Several quantities as one function of q, qd, u and, where the model varies, p."""
    state = {x: ca.SX.sym(x, len(model.coordinates)) for x in ("q", "qd")}
    state["u"] = ca.SX.sym("u", len(model.inputs))
    if model.parameters:
        state["p"] = ca.SX.sym("p", len(model.parameters))
    functions = {name: model.function(name) for name in QUANTITIES}
    results = [function(*(state[x] for x in function.name_in())) for function in functions.values()]
    function = ca.Function("f", list(state.values()), results, list(state), [f"{name}_" for name in functions])
    return Program("arm", "A random arm.", function, model.parameters)


@pytest.mark.parametrize(("seed", "varied"), [(1, True), (2, False), (3, True), (6, False)])
def test_the_native_numbers(seed, varied, tmp_path):
    """Random arms in general positions; models that vary have other values than the arm's own, too.

    Of both kinds one has a telescope (3 and 6); all joints of the even ones are elastic.
    """
    model = model_of(seed, varied)
    program, rng = program_of(model), np.random.default_rng(seed)
    states = [dict(zip(("q", "qd", "u"), random_state(model.arm, 10 * seed + i), strict=True)) for i in range(5)]
    for state in states[1:] if varied else []:  # the first has the values by default
        state["p"] = model.p * rng.uniform(0.8, 1.2, len(model.p))
    for state, found in zip(states, in_javascript(program, states, tmp_path), strict=True):
        q, qd, u, p = state["q"], state["qd"], state["u"], state.get("p")
        for name in QUANTITIES:
            given = {"forward_dynamics": (q, qd, u), "energy": (q, qd)}.get(name, (q,))
            expected = np.array(getattr(model, name)(*given, p=p))
            # accelerations are as exact as the mass matrix is well conditioned
            loss = max(1.0, 1e-3 * np.linalg.cond(model.mass_matrix(q, p=p))) if name == "forward_dynamics" else 1.0
            gap = np.abs(found[f"{name}_"].reshape(expected.shape) - expected).max()
            assert gap <= CLOSE * loss * (np.abs(expected).max() or 1.0), name


def test_however_it_is_cut(tmp_path, monkeypatch):
    """What a later part needs is handed on; the numbers stay the same to the last bit."""
    model = model_of(3, True)
    program, state = program_of(model), dict(zip(("q", "qd", "u"), random_state(model.arm, 5), strict=True))
    whole = in_javascript(program, [state], tmp_path)[0]
    for longest, least in ((40, 500), (4000, 5)):
        monkeypatch.setitem(javascript.__globals__, "LONGEST", longest)
        found = in_javascript(program, [state], tmp_path)[0]
        assert (tmp_path / "program.js").read_text().count("function arm_part") > least
        for name, values in whole.items():
            assert (found[name] == values).all()


def test_no_part_is_too_long_for_v8():
    """A program of a hundred thousand characters; each part has its share."""
    f = long_arm(12).function("forward_dynamics")
    text = javascript(Program("chain", "", f))
    parts = re.split(r"function chain_part\d+", text)[1:]
    assert len(parts) >= 10
    statements = [re.sub(r"const \w+ = |w\[\d+\]( = \w+)?;|\s", "", part) for part in parts]
    assert max(map(len, statements)) < 1.3 * LONGEST  # the last statement and the names may pass it
    assert max(map(len, parts)) < 3 * LONGEST


@pytest.mark.parametrize("longest", [LONGEST, 10**9])
def test_v8_optimizes_every_part(longest, tmp_path, monkeypatch):
    """By its own account: the parts of a long program become its best code, and all in one function does not."""
    monkeypatch.setitem(javascript.__globals__, "LONGEST", longest)
    f = long_arm(12).function("forward_dynamics")
    text = javascript(Program("chain", "", f))
    parts = sorted({*re.findall(r"chain_part\d+", text)})
    asked = ", ".join(f"%GetOptimizationStatus({part})" for part in parts)
    text = text.replace("    chain.inputs = ", f"    chain.status = () => [{asked}];\n    chain.inputs = ")
    script = f"""
        const f = require("./chain.js");
        const q = new Float64Array({f.size1_in(0)}).fill(0.1), u = new Float64Array({f.size1_in(2)}), out = f.out();
        for (let i = 0; i < 3000; i++) f(q, q, u, out);
        console.log(JSON.stringify(f.status()));
    """
    found = node(tmp_path, script, "--allow-natives-syntax", "--no-concurrent-recompilation", chain=text)
    turbofanned = [bool(status & 64) for status in found]
    assert turbofanned == [longest == LONGEST] * len(parts)


def pair(inner, outer):
    x = ca.SX.sym("x", 2)
    sparse = ca.SX(2, 3)
    sparse[0, 2], sparse[1, 0] = x[0], x[1]
    return Program("pair", "", ca.Function("f", [x], [sparse, ca.sum1(x)], ["x"], [inner, outer]))


def test_what_the_function_says_of_itself(tmp_path):
    """Sizes, shapes, arrays for its results, cleared where entries are always zero; rows one after another."""
    script = """
        const f = require("./pair.js");
        const out = f.out();
        out.M.fill(9); out.s.fill(9);
        const same = f([3, 4], out) === out;
        const fresh = f(Float64Array.of(1, 2));
        const numbers = [out.M, out.s, fresh.M].map((x) => [...x]);
        console.log(JSON.stringify([f.inputs, f.shapes, same, f.p === undefined, ...numbers]));
    """
    inputs, shapes, same, plain, M, s, fresh = node(tmp_path, script, pair=javascript(pair("M", "s")))
    assert (inputs, shapes, same, plain) == ({"x": 2}, {"M": [2, 3], "s": []}, True, True)
    assert (M, s, fresh) == ([0, 0, 3, 4, 0, 0], [7], [0, 0, 1, 2, 0, 0])


def test_parameters_stand_behind_the_inputs(tmp_path):
    model = model_of(1, True)
    script = """
        const arm = require("./arm.js");
        const q = arm.inputs.q, x = (n) => new Float64Array(n).fill(0.2);
        const usual = arm(x(q), x(q), x(arm.inputs.u)), given = arm(x(q), x(q), x(arm.inputs.u), arm.p, arm.out());
        const other = arm(x(q), x(q), x(arm.inputs.u), arm.p.map((v) => 2 * v));
        const list = (o) => [...o.mass_matrix_];
        console.log(JSON.stringify([[...arm.p], arm.symbols, list(usual), list(given), list(other)]));
    """
    p, symbols, usual, given, other = node(tmp_path, script, arm=javascript(program_of(model)))
    assert p == model.p.tolist() and symbols == [x.symbol for x in model.parameters]
    assert usual == given != other


def test_it_is_a_classic_script(tmp_path):
    """It defines its function for other scripts of a page, without Node's `module`, in strict mode or not."""
    script = """
        const vm = require("vm"), fs = require("fs");
        const text = fs.readFileSync("pair.js", "utf8"), page = vm.createContext({});
        vm.runInContext(text, page);
        vm.runInContext('"use strict"; var found = pair([3, 4]).s[0];', page);
        console.log(JSON.stringify([page.found, typeof page.pair, Object.keys(page)]));
    """
    assert node(tmp_path, script, pair=javascript(pair("M", "s"))) == [7, "function", ["pair", "found"]]


HOSTILE = "</script><script>alert(1)</script><!-- */ alert(2) /* \u2028 alert(3) \u2029 ${alert(4)} ` \\"


def test_names_end_no_comment_and_no_script(tmp_path):
    x = ca.SX.sym("x")
    function = ca.Function("f", [x, ca.SX.sym("p")], [x + 1], ["x", "p"], ["y"])
    parameter = Parameter("m", HOSTILE, 2.0, HOSTILE, HOSTILE)
    text = javascript(Program("f", HOSTILE, function, (parameter,), {"x": (HOSTILE,)}, {"x": HOSTILE, "y": HOSTILE}))
    assert not re.search(r"<[/!a-zA-Z]|\u2028|\u2029", text)
    script = """
        globalThis.alert = (x) => { throw new Error(x); };
        console.log(JSON.stringify([...require("./f.js")([1]).y]));
    """
    assert node(tmp_path, script, f=text) == [2]


def test_no_function_has_a_name_that_javascript_keeps(tmp_path):
    """Neither the language's words, nor what a browser's window does not give away."""
    words = "await break case class const default enum eval export function import let new null package static super"
    words += " this true typeof var void with yield Math Float64Array undefined NaN Infinity top window location"
    assert {*words.split()} <= RESERVED
    for word in ("class", "Math", "top", "yield"):
        program = Program(word, "", ca.Function("f", [x := ca.SX.sym("x")], [ca.sin(x)], ["x"], ["frames"]))
        script = "console.log(JSON.stringify([...require('./f.js')([0.5]).frames]))"
        assert "var top " not in javascript(program)
        assert node(tmp_path, script, f=javascript(program)) == pytest.approx([np.sin(0.5)], rel=1e-15)


def test_the_equations_of_an_arm(tmp_path):
    """What `flexarm derive --javascript` writes: all matrices, their parameters inputs."""
    found = equations(fa.load("rigid-two-link"))
    model = fa.Model(fa.load("rigid-two-link"))
    name = found.identifier
    script = f"""
        const f = require("./{name}.js");
        const q = [0.3, -0.7], qd = [1.1, 0.4], m = f.symbols.indexOf("m_2");
        const heavy = f.p.slice();
        heavy[m] *= 3;
        const list = (o) => Object.fromEntries(Object.entries(o).map(([k, v]) => [k, [...v]]));
        console.log(JSON.stringify([list(f(q, qd)), list(f(q, qd, heavy))]));
    """
    usual, heavy = node(tmp_path, script, **{name: found.javascript()})
    assert np.reshape(usual["M"], (2, 2)) == pytest.approx(model.mass_matrix([0.3, -0.7]), rel=1e-13)
    assert usual["G"] == pytest.approx(model.gravity_force([0.3, -0.7]), rel=1e-13)
    names = {}
    exec(found.python(), names)
    expected = names[name]([0.3, -0.7], [1.1, 0.4], names["PARAMETERS"] | {"m_2": 3 * names["PARAMETERS"]["m_2"]})
    for part, values in heavy.items():
        assert values == pytest.approx(getattr(expected, part).ravel().tolist(), rel=1e-13)
    assert [*javascript_names(found.javascript(["G"]))] == ["G"]


def javascript_names(text):
    """The results that a text names in its shapes."""
    return re.findall(r'"(\w+)": \[', re.search(r"\.shapes = (.*);", text)[1])
