"""C libraries of arms: compiled without a warning, and called; their numbers are the native model's."""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from command_line import caller
from compiled import CC, Library, built
from exported import telescope, with_currents
from part_files import beam_part
from random_arms import random_arm, random_state
from rubbing import random_drives

import flexarm as fa
from flexarm.attitude import configuration, local
from flexarm.cli import main
from flexarm.closed_forms.formats.program import Program
from flexarm.closed_forms.formats.statements import Statement
from flexarm.errors import FlexarmError
from flexarm.exports import source
from flexarm.exports.library import CLOSE, c_library, rk4_native, rounded
from flexarm.exports.pieces import pieces
from flexarm.exports.programs import library
from flexarm.exports.source import c_sources
from flexarm.mechanics.parameters import Parameter

needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler")


def rubbing_arm(seed=11, **options):
    """Friction with states, motors' rotors, a force from outside."""
    arm = random_drives(random_arm(seed, links=2, elastic=True, **options), 7, brakes=False)
    return arm.replace(forces=(fa.Force(name="push", link=arm.links[-1].name, at=1.0),))


ARMS = {
    "planar": lambda: fa.load("canadarm"),
    "elastic joints": lambda: fa.load("subudhi-morris-elastic"),
    "telescoping": telescope,
    "free base": lambda: fa.load("canadarm-free").replace(links=fa.load("canadarm-free").links[:2]),
    "motors with currents": with_currents,
    "friction and a push": lambda: rubbing_arm(1, rigid=True),
}
SENSED = {
    "planar": lambda: [
        fa.Encoder(coordinate="upper.joint"),
        fa.StrainGauge(link="fore"),
        fa.Accelerometer(link="hand"),
    ],
    "motors with currents": lambda: [fa.TipPosition(), fa.MotorCurrent(link="upper"), fa.MotorTorque(link="fore")],
}


@cache
def model_of(name):
    return fa.Model(ARMS[name]())


def sensors_of(name):
    return SENSED.get(name, lambda: [fa.TipPosition()])()


def state_of(model, seed):
    rng = np.random.default_rng([seed, 77])
    if model.arm.name.startswith("random"):
        q, qd, u = random_state(model.arm, seed)
    else:  # whose motors and telescopes stand near their places
        q = configuration(model.arm, local(model.arm, np.array(model.arm.rest)) + 0.05 * rng.normal(size=model.nv))
        qd, u = rng.normal(size=model.nv), rng.normal(size=len(model.inputs))
    more = {a: rng.normal(size=len(names)) for a, names in (("s", model.states), ("w", model.exogenous))}
    return {"q": q, "qd": qd, "u": u, "qdd": rng.normal(size=model.nv), **more}


def compiled(model, folder, real, sensors, level="-O0"):
    for file, text in c_library(model, real, sensors).items():
        (folder / file).write_text(text, encoding="utf-8")
    (source,) = (file.name for file in folder.glob("*.c") if not file.name.endswith("_test.c"))
    name = source.removesuffix(".c")
    return name, Library(built(folder, source, shared="arm.so", level=level), real)


def assert_close(found, expected, tolerance, what):
    expected = np.ravel(expected)
    scale = np.abs(expected).max(initial=0.0) or 1.0
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale, err_msg=what)


@needs_cc
@pytest.mark.parametrize(
    ("arm", "real"),
    [*((arm, "double") for arm in ARMS), ("planar", "float"), ("friction and a push", "float")],
)
def test_every_function_gives_the_native_models_numbers(arm, real, tmp_path):
    model, sensors = model_of(arm), sensors_of(arm)
    name, found = compiled(model, tmp_path, real, sensors)
    for seed in (1, 2):
        at = rounded(state_of(model, seed), real)
        for each in library(model, sensors):
            expected = each.native(at)
            given = [at[a] for a in each.program.inputs]
            results = found.call(f"{name}_{each.program.name}", given, *(np.size(y) for y in expected.values()))
            for (y, value), result in zip(expected.items(), results, strict=True):
                assert_close(result, value, CLOSE[real], f"{each.program.name} {y}")
        x = np.concatenate([at["q"], at["qd"], at["s"], [0.3, 0.2]])
        h = float(np.float32(1e-3))
        given = [x, *(at[a] for a in "uw" if len(at[a])), h]
        (after,) = found.call(f"{name}_rk4_step", given, len(x))
        end, error = rk4_native(model, x, at, h)
        assert_close(after, end, CLOSE[real], "RK4")
        again, estimate = found.call(f"{name}_rk4_error", given, len(x), len(x))
        assert np.array_equal(again, after)
        np.testing.assert_allclose(estimate, error, rtol=0, atol=CLOSE[real] * np.abs(end - x).max())
    if arm == "telescoping":  # beyond its range
        q = np.where(np.array(model.coordinates) == "slide.joint", 9.0, np.array(model.arm.rest))
        given = [q, np.ones(model.nv), np.zeros(len(model.inputs))]
        (rates,) = found.call(f"{name}_state_rate", given, len(x))
        expected = np.isnan(model.evaluate("state_rate", *given))
        assert expected.any() and np.isnan(rates).tolist() == expected.tolist()


@needs_cc
@pytest.mark.parametrize("real", ["double", "float"])
def test_what_comes_with_it_compiles_and_passes_and_can_fail(real, tmp_path):
    for file in fa.export_c(model_of("elastic joints"), tmp_path, real, sensors_of("elastic joints")):
        assert file.is_file()
    name = "subudhi_morris_elastic"
    sources = (f"{name}.c", f"{name}_test.c")
    done = subprocess.run([built(tmp_path, *sources, program="all")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 2 * 20 and sum("forward_dynamics qdd:" in line for line in lines) == 2
    code = (tmp_path / f"{name}.c").read_text(encoding="utf-8")
    wrong = re.sub(r"(qdd\[0\] = )", r"\1 1.01f*" if real == "float" else r"\1 1.01*", code, count=1)
    assert wrong != code
    (tmp_path / f"{name}.c").write_text(wrong, encoding="utf-8")
    assert subprocess.run([built(tmp_path, *sources, program="all")], capture_output=True).returncode == 1


@needs_cc
def test_floats_of_a_light_beam_with_a_heavy_payload_pass_their_test(tmp_path):
    """The condition of its mass matrix costs three digits of seven."""
    model = fa.Model(fa.load("lin-lewis-azimuth-elevation"))
    _, source, test, _ = (file.name for file in fa.export_c(model, tmp_path, "float"))
    done = subprocess.run([built(tmp_path, source, test, program="all")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(float(line.split()[-1]) for line in done.stdout.splitlines()) > 1e-5


@needs_cc
@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
def test_cmake_builds_and_tests_it(tmp_path):
    fa.export_c(fa.Model(fa.load("rigid-two-link")), tmp_path)
    for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]):
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    done = subprocess.run(["ctest"], cwd=tmp_path / "build", capture_output=True, text=True, check=True)
    assert "100% tests passed, 0 tests failed out of 1" in done.stdout


@needs_cc
@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_it_allocates_and_keeps_nothing(tmp_path):
    name, _ = compiled(model_of("planar"), tmp_path, "double", ())
    subprocess.run([CC, "-std=c99", "-c", f"{name}.c"], cwd=tmp_path, check=True)
    found = subprocess.run(["nm", f"{name}.o"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    kinds = {line.split()[-2]: line.split()[-1] for line in found.splitlines() if line.split()[-2] not in "TtUr"}
    assert kinds == {}  # no data that could be written
    needed = {line.split()[-1] for line in found.splitlines() if " U " in line}
    assert needed <= {"sin", "cos", "sqrt", "_GLOBAL_OFFSET_TABLE_"}


@needs_cc
@pytest.mark.parametrize("real", ["double", "float"])
def test_parameters_are_inputs(real, tmp_path):
    model = fa.Model(fa.load("subudhi-morris-elastic"), ["payload.mass", "upper.EI"])
    model = model.at({"payload.mass": 0.7})
    name, found = compiled(model, tmp_path, real, ())
    np.testing.assert_allclose(found.numbers(f"{name}_p_nominal", 2), model.p, rtol=1e-7)
    at = rounded(state_of(model, 1), real)
    p = np.float32(model.p * [2.0, 0.5]).astype(float)
    (qdd,) = found.call(f"{name}_forward_dynamics", [at["q"], at["qd"], at["u"], p], model.nv)
    assert_close(qdd, model.forward_dynamics(at["q"], at["qd"], at["u"], p=p), CLOSE[real], "other parameters")
    assert not np.allclose(qdd, model.forward_dynamics(at["q"], at["qd"], at["u"]), rtol=0.01)
    (after,) = found.call(
        f"{name}_rk4_step", [x := np.concatenate([at["q"], at["qd"], [0, 0]]), at["u"], p, 0.001], len(x)
    )
    h = float(np.float32(0.001)) if real == "float" else 0.001
    assert_close(after, rk4_native(model.at(p), x, at, h)[0], CLOSE[real], "a step")


@needs_cc
def test_a_step_may_be_taken_in_place(tmp_path):
    model = model_of("elastic joints")
    name, found = compiled(model, tmp_path, "double", ())
    at = state_of(model, 1)
    x = np.concatenate([at["q"], at["qd"], [0.0, 0.0]])
    (elsewhere,) = found.call(f"{name}_rk4_step", [x, at["u"], 1e-3], len(x))
    assert np.array_equal(found.in_place(f"{name}_rk4_step", x, [at["u"], 1e-3]), elsewhere)


def test_the_estimate_of_a_step_is_its_distance_from_third_order():
    """On a pendulum it falls with h^4, is above the error, and both agree with steps a hundred times as fine."""
    model = fa.Model(fa.load("rigid-two-link"))
    x, at = np.array([0.3, -0.4, 1.0, 2.0, 0.0, 0.0]), {"u": np.array([3.0, 1.0]), "w": np.empty(0)}
    found = []
    for h in (0.01, 0.005):
        end, error = rk4_native(model, x, at, h)
        fine = x
        for _ in range(50):
            fine, _ = rk4_native(model, fine, at, h / 50)
        assert (np.abs(end - fine)[:4] < 0.5 * np.abs(error)[:4].max()).all()
        found.append(np.abs(error)[:4].max())
    assert 13.0 < found[0] / found[1] < 19.0


def test_long_lists_in_pieces_are_the_list():
    """By running both: random sums, of which many are needed far behind."""
    rng = np.random.default_rng(1)
    count = 200
    texts = [
        f"q[{k % 3}] + {rng.integers(9)}.0" if k < 3 else f"t{rng.integers(k)} - 0.5*t{k - 1}" for k in range(count)
    ]
    statements = [Statement((f"t{k}",), text) for k, text in enumerate(texts)]
    statements += [Statement((f"y[{k}]",), f"t{7 * k} + t{count - 1 - k}", "y") for k in range(20)]

    def run(lines, names):
        for each in lines:
            exec(f"{each.targets[0]} = {each.text}", {}, names)
        return names

    start = {"q": np.array([0.3, 0.7, 1.1])}
    whole = run(statements, {**start, "y": np.zeros(20)})["y"]
    for most in (1, 7, 50):
        found, length = pieces(statements, "between", most)
        assert len(found) == -(-len(statements) // most) and length < count
        arrays = {**start, "y": np.zeros(20), "between": np.full(length, np.nan)}
        for piece in found:
            run(piece.statements, dict(arrays))  # a piece knows the arrays only
            assert {"between", "y", "q"} & piece.names
        assert np.array_equal(arrays["y"], whole)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda to: fa.export_c(3, to), "export_c: model is 3; it must be a Model"),
        (
            lambda to: fa.export_c(model_of("planar"), to, "half"),
            "export_c: real is 'half'; it must be double or float",
        ),
        (
            lambda to: fa.export_c(model_of("planar"), to, sensors=[fa.Encoder(coordinate="x")]),
            "unknown coordinate 'x'",
        ),
        (
            lambda to: fa.export_c(model_of("planar"), to, ["double"]),
            "export_c: real is ['double']; it must be double or float",
        ),
        (lambda to: fa.export_c(model_of("planar"), to, sensors=np.ones(2)), "export_c: sensors is "),
        (
            lambda to: fa.export_law(None, model_of("planar"), to),
            "export_law: controller is None; it must be a Sampled",
        ),
        (lambda to: fa.export_c(model_of("planar"), 7), "path is of type int; it must be the name of a file"),
        (
            lambda to: c_sources("int", []),
            "C: name is 'int'; it must be a letter, then letters, digits and _, and not a keyword",
        ),
        (lambda to: c_sources("two", [program("a"), program("a")]), "C: two programs have the name 'a'"),
        (lambda to: c_sources("two", [program("a", "m"), program("b", "k")]), "C: program 'b' has other parameters"),
        (lambda to: c_sources("big", [program("a", scale=1e300)], "float"), "1e+300, which is too large for float"),
    ],
)
def test_what_cannot_be_written_is_refused(wrong, message, tmp_path):
    with pytest.raises(FlexarmError, match=re.escape(message)):
        wrong(tmp_path)


def program(name, symbol=None, scale=2.0):
    """y = scale * q, or p * q."""
    q, p = ca.SX.sym("q"), ca.SX.sym("p")
    if symbol is None:
        return Program(name, name, ca.Function(name, [q], [scale * q], ["q"], ["y"]))
    described = (Parameter(symbol, symbol, 1.0, "", "a number"),)
    return Program(name, name, ca.Function(name, [q, p], [p * q], ["q", "p"], ["y"]), described)


@needs_cc
def test_numbers_too_small_for_float_are_zero_there(tmp_path):
    texts = c_sources("small", [program("a", scale=1e-60)], "float")
    assert "0.0f*q[0]" in texts["small.c"]
    (tmp_path / "small.c").write_text(texts["small.c"], encoding="utf-8")
    (tmp_path / "small.h").write_text(texts["small.h"], encoding="utf-8")
    assert Library(built(tmp_path, "small.c", shared="small.so"), "float").call("small_a", [[1.0]], 1)[0][0] == 0.0


@needs_cc
def test_a_matrix_is_written_row_by_row_in_one_piece_or_several(tmp_path, monkeypatch):
    """With parameters, which every piece that needs them is given."""
    q, p = ca.SX.sym("q", 3), ca.SX.sym("p", 2)
    Y = ca.vertcat(*(ca.horzcat(*(ca.sin(p[i] * q[j]) + p[1] * q[(i + j) % 3] for j in range(3))) for i in range(2)))
    described = tuple(Parameter(name, name, value, "", "a number") for name, value in (("k", 2.0), ("m", 3.0)))
    made = Program("f", "a matrix", ca.Function("f", [q, p], [Y], ["q", "p"], ["Y"]), described)
    given = np.array([0.3, 0.7, 1.1]), np.array([2.0, 3.0])
    expected = np.array(made.function(*given))
    for name in ("whole", "parts"):
        for file, text in c_sources(name, [made]).items():
            (tmp_path / file).write_text(text, encoding="utf-8")
        (found,) = Library(built(tmp_path, f"{name}.c", shared=f"{name}.so")).call(f"{name}_f", given, 6)
        assert_close(found, expected, 1e-15, name)
        monkeypatch.setattr(source, "WHOLE", 0)
        monkeypatch.setattr(source, "pieces", lambda statements, array: pieces(statements, array, 2))
    assert "static void parts_f_part_2(" in (tmp_path / "parts.c").read_text(encoding="utf-8")


def test_the_command_writes_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments, there in (
        (["rigid-two-link", "--c", "out", "--float"], "const float q[2]"),
        (["rigid-two-link", "--c", "out", "--vary", "payload.mass"], "rigid_two_link_p_nominal[1]"),
    ):
        monkeypatch.setattr("sys.argv", ["flexarm", "export", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0 and there in (tmp_path / "out" / "rigid_two_link.h").read_text(encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["flexarm", "export", "rigid-two-link"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "flexarm: export rigid-two-link: no format is given; give at least one of --c" in capsys.readouterr().err


def test_no_file_that_is_read_is_written_over(tmp_path, monkeypatch, capsys):
    """What lies beside a robot's file, the arm of a scenario and what lies beside that."""
    monkeypatch.chdir(tmp_path)
    call = caller(monkeypatch, capsys)
    shutil.copy(Path(__file__).parent / "data" / "urdf" / "ur5.urdf", "robot.urdf")
    Path("robot.flex.toml").write_text("[links]\n")
    Path("run.toml").write_text('name = "run"\narm = "robot.urdf"\nuntil = 1.0\n')
    np.savez("part.npz", **beam_part(1.0, 0.8, 20.0, 30.0, 9.0, 1e4, 0.002, 2))
    body = '{ type = "finite-element", file = "part.npz", modes = 1 }'
    Path("part.toml").write_text(
        f'name = "x"\n[[links]]\nname = "part"\njoint = {{ type = "revolute", axis = [0, 0, 1] }}\nbody = {body}\n'
    )
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    period = ["--period", "0.01"]
    for words, option, path in (
        (["export", "robot.urdf"], "--fmu", "robot.flex.toml"),
        (["export", "run.toml", *period], "--law-fmu", "robot.urdf"),
        (["export", "run.toml", *period], "--ssp", "robot.flex.toml"),
        (["export", "part.toml"], "--fmu", "part.npz"),
        (["derive", "robot.urdf"], "--python", "robot.urdf"),
        (["derive", "robot.urdf"], "--latex", "robot.flex.toml"),
    ):
        ended = call(*words, option, path)
        assert ended.status == 2 and ended.err.endswith(
            f"flexarm: {option} {path}: the command reads this file, so it is not overwritten; give another path\n"
        )
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_options_that_nothing_hears_and_files_written_twice_are_refused(tmp_path, monkeypatch, capsys):
    """Before anything is written."""
    monkeypatch.chdir(tmp_path)
    call = caller(monkeypatch, capsys)
    (tmp_path / "arm.toml").write_text('name = "x"\n')
    law = ("canadarm-slew-pd", "--period", "0.01")
    refusals = {
        (
            "canadarm",
            "--fmu",
            "a.fmu",
            "--float",
        ): "--float applies only to --c, --law or --controller; add one of them",
        ("canadarm", "--c", "out", "--fmi", "3.0"): "--fmi applies only to --fmu or --law-fmu; add one",
        ("canadarm", "--c", "out", "--segments", "8"): "--segments applies only to --mjcf or --exudyn; add one",
        (
            "canadarm",
            "--c",
            "out",
            "--period",
            "0.1",
        ): "--period applies only to --law, --controller, --law-fmu or --ssp;",
        ("canadarm", "--mjcf", "a.xml", "--vary", "payload.mass"): "--vary applies only to --c, --fmu, --simulink, ",
        ("canadarm", "--c", "out", "--mjcf", "a.xml", "--segments", "0"): "export canadarm: --segments is 0; it must",
        ("canadarm", "--c", "out", "--modelica", "model.mo"): "export_modelica: path is 'model.mo'; it must be NAME.mo",
        (
            "arm.toml",
            "--mjcf",
            "./arm.toml",
        ): "--mjcf arm.toml: the command reads this file, so it is not overwritten; give another path",
        (*law, "--fmu", "a.fmu", "--law-fmu", "./x/../a.fmu"): "--law-fmu x/../a.fmu: --fmu writes to this file too;",
        (
            *law,
            "--c",
            "out",
            "--law",
            "x/../out",
        ): "--law x/../out: --c writes to this folder too, both with a CMake",
        (*law, "--controller", "out", "--law", "out"): "--controller out: --law writes to this folder too, both with a",
        ("canadarm", "--simulink", "a", "--fmu", "a"): "--simulink a: --fmu writes to this file too; give another file",
    }
    for words, message in refusals.items():
        ended = call("export", *words)
        assert ended.status == 2 and ended.err.startswith(f"flexarm: {message}") and ended.err.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["arm.toml"]
    assert call("export", "rigid-two-link", "--c", "both", "--simulink", "both").status == 0
