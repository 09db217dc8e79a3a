"""Where exports go: never over a file that a robot's file names, and under the ending that its readers want."""

# ruff: noqa: E501  (files stand whole)

from pathlib import Path

import pytest
from command_line import caller

import flexarm as fa

BOX = '<geom size="0.1"/>'
PART = f"""<mujocoinclude><asset><mesh name="cup" file="cup.stl"/></asset>
<worldbody><body>{BOX}<joint name="k"/></body></worldbody></mujocoinclude>"""
MODEL = f"""<mujoco><compiler meshdir="shapes" texturedir="paint"/><include file="parts/arm.xml"/>
<asset><hfield name="h" file="hills.png" size="1 1 1 1"/><texture name="t" type="cube" fileright="right.png" file="all.png"/>
  <mesh name="m" file="deep/gone/lid.obj"/><model name="n" file="other.xml"/></asset>
<worldbody><body>{BOX}<joint name="j"/></body></worldbody></mujoco>"""
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
URDF = f"""<robot name="r"><link name="base"><visual><geometry><mesh filename="package://robot/meshes/base.xml"/></geometry>
</visual></link><link name="a">{INERTIAL}<visual><geometry><mesh filename="file://local.xml"/></geometry></visual>
<collision><geometry><mesh filename="meshes/hull.xml"/></geometry></collision></link>
<joint name="j" type="continuous"><parent link="base"/><child link="a"/></joint></robot>"""
NAMED = {
    "model.xml": [
        "parts/arm.xml", "shapes/cup.stl", "hills.png", "paint/right.png", "paint/all.png", "lid.obj", "other.xml",
        "inner.stl",
    ],
    "robot.urdf": ["meshes/base.xml", "local.xml", "meshes/hull.xml"],
}  # fmt: skip
"""Files of robots, and the files that are there of those they name."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    where = tmp_path / "robot"
    texts = {"model.xml": MODEL, "robot.urdf": URDF, "parts/arm.xml": PART}
    texts["other.xml"] = '<mujoco><asset><mesh name="i" file="inner.stl"/></asset></mujoco>'
    for name in (*texts, *(each for names in NAMED.values() for each in names)):
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text(texts.get(name, "precious"))
    monkeypatch.chdir(where)
    return where


@pytest.mark.parametrize("robot", NAMED)
def test_no_file_that_a_robots_file_names_is_written_over(robot, folder, monkeypatch, capsys):
    call = caller(monkeypatch, capsys)
    (folder / "run.toml").write_text(f'name = "run"\narm = "{robot}"\nuntil = 1.0\n')
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    for name in NAMED[robot]:
        for option in ("--mjcf", "--fmu"):
            ended = call("export", robot, option, name)
            assert ended.status == 2, name
            said = (
                f"flexarm: {option} {name}: {robot} refers to this file, so it is not overwritten; give another path\n"
            )
            assert ended.err.endswith(said)
    assert call("derive", robot, "--latex", name).err.endswith(
        f"--latex {name}: {robot} refers to this file, so it is not overwritten; give another path\n"
    )
    said = f"--latex {name}: {robot} refers to this file, so it is not overwritten; give another path\n"
    assert call("derive", robot, "--latex", name).err.endswith(said)
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_files_that_nothing_names_may_be_written(folder, monkeypatch, capsys):
    call = caller(monkeypatch, capsys)
    ended = call("export", "robot.urdf", "--mjcf", "meshes/new.xml")
    assert ended.status == 0, ended.err
    assert call("export", "robot.urdf", "--mjcf", "meshes/new.xml").status == 0  # again
    assert call("export", "meshes/new.xml", "--mjcf", "meshes/../meshes/new.xml").status == 2


def test_what_a_scenarios_robot_names_is_not_written_over(folder, monkeypatch, capsys):
    call = caller(monkeypatch, capsys)
    text = 'name = "run"\narm = "robot.urdf"\nuntil = 1.0\n[reference]\ntype = "quintic"\nstart = [0.0]\nend = [0.1]\nduration = 1.0\n[controller]\ntype = "joint-pd"\nKp = 1.0\nKd = 1.0\n'
    (folder / "run.toml").write_text(text)
    ended = call("export", "run.toml", "--law", "law", "--period", "0.01", "--mjcf", "local.xml")
    assert ended.status == 2 and "refers to this file, so it is not overwritten; give another path" in ended.err
    assert (folder / "local.xml").read_text() == "precious"


ENDINGS = {"--fmu": ".fmu", "--law-fmu": ".fmu", "--ssp": ".ssp", "--mjcf": ".xml", "--exudyn": ".py"}


@pytest.mark.parametrize("option", ENDINGS)
def test_a_target_has_the_ending_that_its_readers_want(option, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    call = caller(monkeypatch, capsys)
    for name in ("x.txt", "x", "x.fmu.zip", "fmu", f"x{ENDINGS[option]} "):
        ended = call("export", "canadarm-slew-pd", "--period", "0.01", option, name, "--law", "law")
        assert ended.status == 2 and not list(tmp_path.iterdir())
        assert ended.err == f"flexarm: {option} {name}: it must end with {ENDINGS[option]}\n".replace("  ", " ")


def test_functions_refuse_the_same(tmp_path):
    model = fa.Model(fa.load("rigid-two-link"))
    law = fa.control.Sampled(fa.control.JointPD([0.0, 0.0], Kp=1.0, Kd=1.0), 0.01)
    target = tmp_path / "x.txt"
    for write in (
        lambda: fa.export_fmu(model, target),
        lambda: fa.export_law_fmu(law, model, target),
        lambda: fa.export_ssp(law, model, target),
        lambda: fa.export_mjcf(model, target),
        lambda: fa.export_exudyn(model, target),
    ):
        with pytest.raises(fa.DescriptionError, match=r"x\.txt: it must end with \.(fmu|ssp|xml|py)$"):
            write()
    assert not list(Path(tmp_path).iterdir())
    assert fa.export_mjcf(model, tmp_path / "X.XML").exists()


# -- files that are known by what is in them ---------------------------------------------------------------------------

OLD_SDF = '<?xml version="1.0"?><gazebo version="1.0"><model name="m"><link name="a"/></model></gazebo>'
SRDF = (
    '<robot name="r"><group name="g"><chain base_link="a" tip_link="b"/></group><disable_collisions link1="a"/></robot>'
)
USD = '#usda 1.0\n(\n    defaultPrim = "arm"\n)\ndef Xform "arm" {}\n'
ONLY = "only URDF, MJCF and SDF files can be read"
FOREIGN = {
    "arm.sdf": (
        OLD_SDF,
        "line 1: the first element is <gazebo>; a URDF file begins with <robot>, an MJCF file begins with <mujoco>, an",
    ),
    "shop.world": ("\n" + OLD_SDF, f"line 2: the first element is <gazebo>; .*; this is an old SDF file .*; {ONLY}"),
    "arm.usda": (USD, f"this is a USD file; {ONLY}"),
    "arm.usdc": ("PXR-USDC\0\0", f"this is a USD file; {ONLY}"),
    "arm.srdf": (SRDF, "has no <link>; this is an SRDF file, which adds to the URDF file of a robot"),
    "arm.urdf": (SRDF, "has no <link>; this is an SRDF file"),
    "arm.xml": (USD, f"this is a USD file; {ONLY}"),
    "arm.toml": (OLD_SDF, "line 1: the first element is <gazebo>"),
    "arm": ("\ufeff  " + OLD_SDF, "line 1: the first element is <gazebo>"),
    "arm.dae": (
        '<?xml version="1.0"?><COLLADA/>',
        f"line 1: .*; this is a COLLADA file, which contains only shapes; {ONLY}",
    ),
    "part.xml": ("<mujocoinclude/>", f"line 1: .*; this is a part that another MJCF file includes; {ONLY}"),
    "page.html": ("<!-- a --><html></html>", "line 1: the first element is <html>"),
    "torn.sdf": (OLD_SDF[:50], "not an XML file: "),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_formats_are_known_by_what_is_in_them(name, tmp_path, monkeypatch, capsys):
    text, said = FOREIGN[name]
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    call = caller(monkeypatch, capsys)
    for path in (name, tmp_path / name):
        with pytest.raises(fa.DescriptionError, match=f"^{path}: {said}"):
            fa.load(path)
    for command in ("show", "play"):
        ended = call(command, name)
        assert ended.status == 2 and ended.err.startswith(f"flexarm: {name}: {said[:8]}") and "TOML" not in ended.err
    Path("run.toml").write_text(f'name = "run"\narm = "{name}"\nuntil = 1.0\n')
    ended = call("simulate", "run.toml")
    assert ended.status == 2 and "TOML" not in ended.err and "unknown arm" not in ended.err


def test_a_robots_file_may_have_any_name(tmp_path, monkeypatch):
    urdf = Path(__file__).parent / "data" / "urdf" / "ur5.urdf"
    monkeypatch.chdir(tmp_path)
    for name in ("robot.txt", "robot", "robot.urdf.bak"):
        Path(name).write_bytes(urdf.read_bytes())
        assert fa.load(name) == fa.load(urdf)
    Path("canadarm").write_bytes(urdf.read_bytes())
    assert fa.load("canadarm").name == "canadarm"  # what is bundled wins, as before
    with pytest.raises(
        fa.DescriptionError,
        match=r"robot\.txt: this is an arm, not a scenario; a scenario names its arm by the key 'arm'",
    ):
        fa.load_scenario("robot.txt")
