"""The public set of problems: what it says, whether its trajectories solve it, how files are scored against them."""

import hashlib
import json
import math
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from command_line import caller

import flexarm as fa
from benchmarks import problem_set
from flexarm.problems import export, names, problem, score, scoring

SET = Path(fa.__file__).parent / "problems" / "set"
PLANNED = """canadarm-slew elastic-joint-arm free-floating-arm rigid-chain-3 rigid-chain-30 rigid-chain-7
spatial-gravity spin-up-beam two-link-absolute-rotors-large two-link-absolute-rotors-small two-link-large
two-link-rigid-joints-small""".split()
CHAIN = "rigid-chain-3"
FINITE = [name for name in PLANNED if name not in problem_set.REFINED]


@pytest.fixture(scope="module")
def problems():
    return {name: problem(name) for name in names()}


def changed(path, change):
    """The chain's converged trajectory as lists of texts, changed and written."""
    rows = [line.split(",") for line in (SET / CHAIN / "trajectory.csv").read_text().splitlines()]
    rows = change(rows) or rows
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    return path


# -- what it says ------------------------------------------------------------------------------------------------------


def test_the_set_has_its_problems(problems):
    assert list(names()) == sorted(PLANNED) == [*problems]
    assert sum(file.stat().st_size for file in SET.rglob("*") if file.is_file()) < 500_000


@pytest.mark.parametrize("name", PLANNED)
def test_a_problem_is_whole(name, problems):
    each = problems[name]
    assert each.title and len(each.description) > 100 and len(each.conventions) >= 3
    assert each.solution == ("equations" if name in FINITE else "continuum")
    scenario = each.scenario
    assert scenario.loaded_arm() is each.arm
    np.testing.assert_allclose(each.times, np.linspace(0.0, scenario.until, scenario.samples), atol=1e-12)
    assert each.values.shape == (len(each.times), len(each.columns)) and np.isfinite(each.values).all()
    said = tomllib.loads((SET / name / "problem.toml").read_text())
    assert list(each.columns) == said["columns"] and list(each.units) == problem_set.units(each.arm, said["columns"])
    assert {"tip.x", "tip.y"} <= {*each.columns} <= {"tip.x", "tip.y", "tip.z", *each.arm.coordinates}


@pytest.mark.parametrize("name", PLANNED)
def test_uncertainty_is_the_largest_change_and_small(name, problems):
    each = problems[name]
    count = len(each.converged["changes"])
    assert count >= 2 and ("code: " in " ".join(each.converged["changes"]) or name == "spatial-gravity")
    moved = np.abs(each.values - each.values[0]).max(axis=0)
    for i, column in enumerate(each.columns):
        changes = each.converged["columns"][column]["changes"]
        known = [change for change in changes if not math.isnan(change)]
        assert len(changes) == count and each.uncertainty[i] == max(*known, 1e-13)
    share = each.uncertainty / np.maximum(moved, 1e-3)
    assert share.max() < (1e-8 if name in FINITE else 1e-2)


def test_checksums_are_those_of_the_files():
    """As `sha256sum -c` reads them; a file that is not listed would never be missed."""
    lines = [line.split("  ") for line in (SET / "SHA256SUMS").read_text().splitlines()]
    there = {file.relative_to(SET).as_posix() for file in SET.rglob("*") if file.is_file()} - {"SHA256SUMS"}
    assert {name for _, name in lines} == there
    wrong = [name for digest, name in lines if hashlib.sha256((SET / name).read_bytes()).hexdigest() != digest]
    assert wrong == [], "run python -m benchmarks.problem_set for what has changed"


# -- whether trajectories solve it -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FINITE)
def test_trajectories_solve_the_equations(name, problems):
    """The scenario as it stands in its file, by another method than the one that wrote it."""
    each = problems[name]
    settings = {"method": "rk45", "rtol": 1e-9, "solver": fa.Solver(atol=1e-11)}
    times, found = problem_set.ours(each.scenario, each.arm, list(each.columns), settings)
    np.testing.assert_allclose(times, each.times, atol=1e-12)
    np.testing.assert_allclose(found, each.values, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["elastic-joint-arm", "free-floating-arm", CHAIN])
def test_pinocchio_finds_the_same(name, problems):
    pytest.importorskip("pinocchio")
    each = problems[name]
    found = problem_set.pinocchio(each.scenario, each.arm)
    for i, column in enumerate(each.columns):
        assert np.abs(found[column] - each.values[:, i]).max() < 1e-10, column


def test_coarse_segments_come_near_the_continuum(problems):
    """One segment a link of the small two-link arm: a hundredth of the motion is what a beam in one piece may miss."""
    each = problems["two-link-rigid-joints-small"]
    arm = problem_set.meshed(each.arm, 1)
    settings = {"method": "dop853", "rtol": 1e-8, "solver": fa.Solver(atol=1e-10)}
    _, found = problem_set.ours(each.scenario, arm, list(each.columns), settings)
    size = np.abs(each.values - each.values[0]).max(axis=0)
    errors = np.abs(found - each.values).max(axis=0)
    assert (errors < 1e-2 * size + 1e-5).all() and (errors > each.uncertainty).all()


# -- how files are scored ----------------------------------------------------------------------------------------------


def test_the_converged_trajectory_has_no_error(problems):
    for name, each in problems.items():
        scored = score(name, SET / name / "trajectory.csv")
        assert [column.error for column in scored.columns] == [0.0] * len(each.columns)
        assert all(column.agrees for column in scored.columns) and scored.problem == name


def test_errors_are_what_was_added(tmp_path, problems):
    """0.01 everywhere and 0.02 more in row 10 of one column; another order of columns, and more times."""
    each = problems[CHAIN]
    k = each.columns.index("rod2.joint")
    wrong = each.values[:, k] + 0.01
    wrong[10] += 0.02
    x = each.values[:, each.columns.index("tip.x")]
    rows = [(a, t, b) for a, t, b in zip(wrong, each.times, x, strict=True)]
    between = [(9.0, t + 0.003, 9.0) for t in each.times]
    lines = [",".join(map(repr, map(float, row))) for row in sorted(rows + between, key=lambda row: row[1])]
    (tmp_path / "a.csv").write_text("\n".join(["rod2.joint [rad], time [s],tip.x [m]", *lines, ""]))
    scored = score(CHAIN, tmp_path / "a.csv")
    first, second = scored.columns
    count = len(each.times)
    assert (first.name, second.name, second.error) == ("rod2.joint", "tip.x", 0.0)
    assert math.isclose(first.error, 0.03, rel_tol=1e-9) and first.at == each.times[10]
    assert math.isclose(first.rms, math.sqrt((0.01**2 * (count - 1) + 0.03**2) / count), rel_tol=1e-9)
    size = np.abs(each.values[:, k] - each.values[0, k]).max()
    assert math.isclose(first.relative, 0.03 / size, rel_tol=1e-9)
    assert not first.agrees and second.agrees and scored.worst is first
    assert first.uncertainty == each.uncertainty[k]


def by_hand(values, wanted=(1.0, 3.0, 0.0), times=(0.0, 1.0, 2.0), unit="m", uncertainty=0.5):
    """A column x over three seconds against the one that is wanted."""
    converged = scoring.Table(("x",), (unit,), (0.0, 1.0, 2.0), (wanted,))
    (found,) = scoring.compare(converged, {"x": uncertainty}, scoring.Table(("x",), (unit,), times, (values,)))
    return found


def test_scores_worked_out_by_hand():
    """What is below counts as what is above; times are near enough where rounding has moved them."""
    found = by_hand((1.125, 2.5, 0.25))
    assert (found.error, found.at, found.size, found.relative) == (0.5, 1.0, 2.0, 0.25)
    assert found.rms == math.sqrt((0.125**2 + 0.5**2 + 0.25**2) / 3)
    assert found.agrees and not by_hand((1.125, 2.5, 0.25), uncertainty=0.499).agrees
    assert by_hand((1.0, 3.0, 0.0), times=(1e-7, 1.0 - 5e-7, 2.0 + 5e-7)).error == 0.0
    for times in ((0.0, 1.0 + 2e-6, 2.0), (0.0, 1.0 - 2e-6, 2.0)):
        with pytest.raises(scoring.Wrong, match="has no row for the time 1 s"):
            by_hand((1.0, 3.0, 0.0), times=times)


def test_a_column_that_rests_has_no_size():
    assert by_hand((1.0, 1.0, 1.0), wanted=(1.0,) * 3).relative == 0.0
    assert by_hand((1.0, 1.0, 1.1), wanted=(1.0,) * 3).relative == math.inf


@pytest.mark.parametrize(
    ("unit", "other", "factor"), [("m", "mm", 1e3), ("m", "cm", 1e2), ("rad", "deg", 180 / math.pi)]
)
def test_other_units_are_seen_in_numbers_that_are_not_exact(unit, other, factor):
    given = tuple(factor * x for x in (1.002, 3.001, 0.003))
    with pytest.raises(scoring.Wrong, match=rf"numbers that look like \[{other}\]; they must be in \[{unit}\]"):
        by_hand(given, unit=unit)


def test_of_a_quaternion_all_numbers_tell_its_sign():
    """After half a turn the first is near zero, and its sign is nobody's."""
    names, units = ("base.qw", "base.qx"), ("", "")
    times = (0.0, 1.0)
    wanted = scoring.Table(names, units, times, ((1e-3, -1e-3), (1.0, 1.0)))
    given = scoring.Table(names, units, times, ((-1e-3, -1e-3), (1.0, -1.0)))
    first, second = scoring.compare(wanted, dict.fromkeys(names, 0.0), given)
    assert (first.error, second.error) == (2e-3, 0.0)


def test_a_quaternion_is_its_negative(tmp_path, problems):
    each = problems["free-floating-arm"]
    turned = each.values.copy()
    at = [each.columns.index(f"base.q{x}") for x in "wxyz"]
    turned[30:, at] *= -1.0
    heads = ["time [s]", *(f"{n} [{u}]" for n, u in zip(each.columns, each.units, strict=True))]
    table = np.column_stack([each.times, turned])
    path = tmp_path / "turned.csv"
    some = [i for i, head in enumerate(heads) if not head.startswith(("base.qx", "base.qy"))]  # all, or a part
    for kept in (range(len(heads)), some):
        rows = [heads, *([repr(x) for x in row] for row in table.tolist())]
        path.write_text("\n".join(",".join(row[i] for i in kept) for row in rows))
        assert max(column.error for column in score(each.name, path).columns) < 1e-14


def scaled(name, factor):
    def change(rows):
        k = rows[0].index(name)
        for row in rows[1:]:
            row[k] = repr(float(row[k]) * factor)

    return change


def put(i, k, text):
    def change(rows):
        rows[i][k] = text

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: [["", ""]], "is empty"),
        (put(0, 0, "t [s]"), "has no column 'time [s]'; it has t [s], tip.x [m]"),
        (put(0, 0, "time [ms]"), "column 'time' is in [ms]; it must be in [s]"),
        (put(0, 1, "tip.x"), "has the column 'tip.x' without a unit; write columns like 'time [s]', 'tip.x [m]'"),
        (put(0, 0, "time"), "has the column 'time' without a unit; write columns like 'time [s]', 'tip.x [m]'"),
        (put(0, 1, "tipx [m]"), "has the column 'tipx'; the problem has tip.x, tip.y, tip.z, rod1.joint"),
        (put(0, 1, "tip.x [mm]"), "column 'tip.x' is in [mm]; it must be in [m]"),
        (put(0, 2, "tip.x [m]"), "has the column 'tip.x' 2 times"),
        (put(5, 2, "x"), "row 6, column 'tip.y [m]': 'x' is not a number"),
        (put(5, 2, "1_0"), "row 6, column 'tip.y [m]': '1_0' is not a number"),
        (put(5, 2, "\u0661"), "row 6, column 'tip.y [m]': '\u0661' is not a number"),
        (lambda rows: [[";".join(row)] for row in rows], "has the one column 'time [s];tip.x [m];"),
        (lambda rows: [["\t".join(row)] for row in rows], "has the one column 'time [s]"),
        (put(5, 2, "nan"), "row 6, column 'tip.y [m]': 'nan' is not finite"),
        (put(5, 2, "1,2"), "row 6 has 8 numbers; there are 7 columns"),
        (put(5, 0, "0.9"), "the time in row 7 is 0.1 s and in the one before 0.9 s; it must increase"),
        (put(5, 0, "0.06"), "the time in row 6 is 0.06 s and in the one before 0.06 s; it must increase"),
        (
            lambda rows: [*rows[:3], [], *rows[3:5], [], rows[4]],
            "the time in row 8 is 0.06 s and in the one before 0.06 s; it must increase",
        ),
        (put(5, 0, "0.0801"), "has no row for the time 0.08 s; it must have one every 0.02 s from 0 to 2 s"),
        (lambda rows: rows[:50], "has no row for the time 0.98 s; it ends at 0.96 s"),
        (lambda rows: rows[:1], "has no row for the time 0 s"),
        (lambda rows: [row[:1] for row in rows], "has only times; the problem has the columns tip.x"),
        (scaled("rod1.joint [rad]", 180 / math.pi), "column 'rod1.joint' has numbers that look like [deg]"),
        (scaled("tip.z [m]", 1000.0), "column 'tip.z' has numbers that look like [mm]; they must be in [m]"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(change, said, tmp_path):
    path = changed(tmp_path / "wrong.csv", change)
    with pytest.raises(fa.DescriptionError) as refused:
        score(CHAIN, path)
    assert str(refused.value).startswith(f"{path}: {said}") and str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("content", "said"), [(b"\xff\xfe", "is not UTF-8 text"), (None, "cannot be read: No such file or directory")]
)
def test_files_that_cannot_be_read(content, said, tmp_path):
    if content:
        (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(fa.DescriptionError, match=f"a.csv: {said}"):
        score(CHAIN, tmp_path / "a.csv")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="nothing endless is here")
def test_what_has_no_size_may_not_be_endless_either(monkeypatch):
    monkeypatch.setattr(scoring, "MOST_BYTES", 2**20)
    with pytest.raises(fa.DescriptionError, match="/dev/zero: is larger than 1 MiB"):
        score(CHAIN, "/dev/zero")


@pytest.mark.parametrize(
    "rewritten",
    [
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: raw.replace(b"\n", b"\n\n"),
        lambda raw: raw.replace(b",", b" , "),
        lambda raw: b'"' + raw.strip().replace(b",", b'","').replace(b"\n", b'"\n"') + b'"',
        lambda raw: b"\n".join(b",".join(line.split(b",")[::-1]) for line in raw.splitlines()),
    ],
    ids=["bom", "Windows", "empty lines", "spaces", "quotes", "the time last"],
)
def test_what_programs_make_of_a_file_is_read(rewritten, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(rewritten((SET / CHAIN / "trajectory.csv").read_bytes()))
    assert [column.error for column in score(CHAIN, path).columns] == [0.0] * 6


def test_a_file_may_not_be_endless(tmp_path, monkeypatch):
    monkeypatch.setattr(scoring, "MOST_BYTES", 2**20)
    path = changed(tmp_path / "long.csv", lambda rows: rows * 100)
    assert path.stat().st_size > 2**20
    with pytest.raises(fa.DescriptionError, match="is larger than 1 MiB"):
        score(CHAIN, path)


@pytest.mark.parametrize("call", [problem, lambda name: score(name, "x.csv")])
def test_names_that_none_has(call):
    with pytest.raises(
        fa.DescriptionError, match=r"unknown problem 'rigid-chain-4'; did you mean .* Known problems are "
    ):
        call("rigid-chain-4")
    with pytest.raises(fa.DescriptionError, match="unknown problem 3; known problems are canadarm-slew"):
        call(3)
    with pytest.raises(fa.DescriptionError, match="score: 3 is neither the name of a problem nor a path"):
        score(CHAIN, 3)


def test_the_command_tells_the_score(tmp_path, monkeypatch, capsys):
    call, path = caller(monkeypatch, capsys), changed(tmp_path / "mine.csv", scaled("tip.x [m]", 1.001))
    scored = score(CHAIN, path)
    told = json.loads(call("benchmark-set", "score", CHAIN, path, "--json").out)
    fields = ("name", "unit", "error", "rms", "at", "size", "relative", "uncertainty", "agrees")
    assert told["columns"] == [{field: getattr(each, field) for field in fields} for each in scored.columns]
    first, lines = told["columns"][0], call("benchmark-set", "score", CHAIN, path).out.splitlines()
    row = next(line for line in lines if "tip.x" in line).split()
    expected = [first[each] for each in ("error", "at", "rms", "relative", "uncertainty")]
    assert [float(x) for x in row[-5:]] == pytest.approx(expected, rel=5e-2)  # of one digit the last
    assert told["worst"] == "tip.x" and lines[-1].startswith(
        f"worst: tip.x, {first['relative']:.3g} of its size; 5 of 6"
    )


# -- as a folder -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["README.md", "LICENSE.md", "score.py"])
def test_a_folder_with_files_of_its_own_is_refused(name, tmp_path):
    (tmp_path / name).write_text("# My project\n")
    with pytest.raises(
        fa.DescriptionError, match=f"^export: .*{name} exists and is from something else; give another folder$"
    ):
        export(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == "# My project\n"


def test_a_folder_of_the_set_is_written_anew(tmp_path):
    export(tmp_path)
    (tmp_path / "score.py").write_text("older\n")
    export(tmp_path)
    assert (tmp_path / "score.py").read_text() != "older\n"


def test_the_folder_scores_without_flexarm(tmp_path):
    """Python alone, which knows of no package; what it prints are the package's numbers."""
    written = export(tmp_path / "set")
    assert {file.relative_to(tmp_path / "set").as_posix() for file in written} >= {
        "README.md",
        "score.py",
        "LICENSE.md",
    }
    path = changed(tmp_path / "mine.csv", scaled("tip.x [m]", 1.001))
    command = [sys.executable, "-I", "-S", "score.py", CHAIN, str(path)]
    done = subprocess.run(command, cwd=tmp_path / "set", capture_output=True, text=True, check=True)
    column = score(CHAIN, path).columns[0]
    assert done.stdout.splitlines()[1].split() == [
        "tip.x", "[m]", *(f"{x:.3g}" for x in (column.error, column.rms, column.relative, column.uncertainty))
    ]  # fmt: skip
    (tmp_path / "odd.csv").write_text("time [s],\x1b[31m [m]\n")
    (tmp_path / "set" / "hollow").mkdir()
    (tmp_path / "set" / "hollow" / "converged.toml").write_text("columns = [")
    odd = (
        ([CHAIN, "../odd.csv"], "../odd.csv: has the column '\\x1b[31m'"),
        (["hollow", "y"], "hollow: is no problem's"),
    )
    for words, said in (
        *odd,
        ([CHAIN], "usage"),
        (["x", "y"], "x: is no problem's folder"),
        ([CHAIN, "y"], "y: cannot be"),
    ):
        wrong = subprocess.run([*command[:4], *words], cwd=tmp_path / "set", capture_output=True, text=True)
        assert wrong.returncode == 2 and wrong.stderr.startswith(said), wrong.stderr


def test_the_folder_has_its_checksums_and_every_number(tmp_path):
    place = tmp_path / "set"
    written = {file.relative_to(place).as_posix(): file.read_bytes() for file in export(place)}
    listed = dict(reversed(line.split("  ")) for line in written.pop("SHA256SUMS").decode().splitlines())
    assert listed == {name: hashlib.sha256(content).hexdigest() for name, content in written.items()}
    for name in PLANNED:
        page = written[f"{name}/README.md"].decode()
        for file in ("arm.toml", "scenario.toml"):
            assert written[f"{name}/{file}"] == (SET / name / file).read_bytes()
            assert written[f"{name}/{file}"].decode().strip() in page
        assert f"({name}/README.md)" in written["README.md"].decode()
        each = problem(name)
        assert f"every {each.times[1]:g} s from 0 to {each.scenario.until:g} s." in page and " nan " not in page
        for column, unit, uncertainty in zip(each.columns, each.units, each.uncertainty, strict=True):
            assert f"| {column} | {unit or 1} | {uncertainty:.1e} |" in page
    with pytest.raises(fa.DescriptionError, match="cannot be written"):
        export(place / "README.md")
