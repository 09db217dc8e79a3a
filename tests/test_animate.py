"""Moving pictures and strips of poses: what is drawn is the result's, files are whole, wrong arguments one line."""

import itertools
import json
import shutil
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from PIL import Image

import flexarm as fa
from flexarm import style
from flexarm.model.drawing import drawn
from flexarm.pictures import animate as module
from flexarm.pictures.animate import Options, Stage, film, strip
from flexarm.pictures.sketch import THINNEST, picture, round_outline, tube
from flexarm.pictures.solids import solids
from flexarm.plots.camera import plane_camera, space_camera
from flexarm.plots.recorded import motions

SMALL = (200, 140)
FFMPEG = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")


@pytest.fixture(scope="module")
def planar():
    """Two beams and elastic joints that follow a reference, in a plane."""
    model = fa.Model(fa.load("subudhi-morris-elastic"))
    reference = fa.Cycloidal([0.4, 0.8], [0.2, 0.2])
    return fa.simulate(model, 0.2, u=[0.3, -0.2], reference=reference, samples=11, name="planar", progress=False)


@pytest.fixture(scope="module")
def spatial():
    """A telescope on two joints."""
    model = fa.Model(fa.load("theodore-ghosal"))
    q0, n = np.array(model.arm.rest), len(model.coordinates)
    q0[:3] = [0.3, 0.7, 0.8]
    return fa.simulate(model, 0.1, q0=q0, qd0=[1.0, 0.5, 0.4] + [0.0] * (n - 3), samples=6, progress=False)


def stage(results, times=(0.0,), view=None, **more):
    options = {"magnified": 1.0, "ghost": "auto", "trace": True, "size": SMALL, "dark": False} | more
    return Stage(motions(results), np.array(times), Options(**options), view)


def bodies(figure):
    return [part for axes in figure.axes for part in axes.collections if isinstance(part, PolyCollection)]


# -- what is drawn -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["planar", "spatial"])
def test_the_tip_stands_where_the_result_has_it(name, request):
    result = request.getfixturevalue(name)
    seen = stage(result)
    figure, show = film(seen)
    path = figure.axes[0].lines[-2 if name == "planar" else -1]  # a reference lies above it
    for k, t in enumerate(result.time.values):
        show(t)
        expected = seen.camera.seen(result.tip.values[: k + 1])
        np.testing.assert_allclose(path.get_xydata(), expected, atol=1e-12)


def test_the_body_of_each_link_lies_about_its_neutral_axis(planar):
    """In a plane a round link's outline is half its width to either side of where `drawn` has the axis."""
    seen = stage(planar, ghost=None)
    t = float(planar.time[7])
    polygons, _ = seen.faces(t)
    stations, _ = drawn(seen.runs[0].model, planar.q.values[7])
    for line, link in zip(stations, solids(seen.runs[0].model)["links"], strict=True):
        half = max(link["base"][0], THINNEST * 1.0) / 2  # of an arm that reaches 1 m; its y axis lies in the plane
        middle, along = line[10, :2], line[11, :2] - line[9, :2]
        across = np.array([-along[1], along[0]]) / np.linalg.norm(along)
        near = np.abs((polygons.reshape(-1, 2) - middle) @ along) < 1e-6 * np.linalg.norm(along)
        offsets = (polygons.reshape(-1, 2)[near] - middle) @ across
        assert offsets.max() == pytest.approx(half, rel=1e-3)
        assert offsets.min() == pytest.approx(-half, rel=1e-3)


def test_between_samples_arms_stand_between_and_after_the_last_they_stand_still(planar):
    run = motions(planar)[0]
    middle = (planar.time.values[3] + planar.time.values[4]) / 2
    np.testing.assert_allclose(run.at(middle), (planar.q.values[3] + planar.q.values[4]) / 2, atol=1e-15)
    np.testing.assert_array_equal(run.at(9.0), planar.q.values[-1])
    np.testing.assert_array_equal(run.at(-9.0), planar.q.values[0])


def test_magnified_deflections_are_so_many_times_as_large(planar):
    """Of a tip whose joints stand still: its way from where the rigid arm has it."""
    t = float(planar.time[-1])
    rigid, true, fivefold = (stage(planar, magnified=s).tips(t)[0][-1] for s in (0.0, 1.0, 5.0))
    model = motions(planar)[0].model
    expected = [drawn(model, planar.q.values[-1], s)[1][-1, :2, 3] for s in (0.0, 1.0, 5.0)]
    np.testing.assert_allclose([rigid, true, fivefold], expected, atol=1e-12)
    assert np.linalg.norm(fivefold - rigid) > 3 * np.linalg.norm(true - rigid) > 0
    figure, _ = film(stage(planar, magnified=5.0))
    assert figure.axes[0].get_legend().get_title().get_text() == "deflections \N{MULTIPLICATION SIGN} 5"
    assert film(stage(planar, ghost=None))[0].axes[0].get_legend() is None


def test_a_ghost_is_the_arm_where_the_reference_has_it_or_undeformed(planar):
    model, t = motions(planar)[0].model, float(planar.time[6])
    wanted = np.zeros(len(model.coordinates))
    wanted[list(model.arm.joints)] = wanted[list(model.arm.motors)] = planar.q_ref.values[6]
    line = stage(planar).ghosts(t)[0]
    np.testing.assert_allclose(line[-1], model.tip(wanted)[:2, 3], atol=1e-12)
    rigid = stage(planar, ghost="rigid").ghosts(t)[0]
    np.testing.assert_allclose(rigid[-1], drawn(model, planar.q.values[6], 0.0)[1][-1, :2, 3], atol=1e-12)
    assert stage(planar, ghost=None).ghosts(t) == []
    assert stage(planar.drop_vars("q_ref")).ghosts(t) == []


def test_several_arms_have_a_colour_a_width_and_a_name_each(planar):
    results = {"one": planar, "a <b> & $x$": planar, "_three": planar}
    seen = stage(results, ghost=None)
    figure, show = film(seen)
    show(0.1)
    legend = figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["one", r"a <b> & \$x\$", " _three"]
    looks = [(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines]
    assert [color for color, _ in looks] == [style.colour(i) for i in range(3)]
    widths = [np.ptp(polygons[..., 1]) for polygons in np.split(seen.faces(0.0)[0], 3)]
    assert widths[0] > widths[1] > widths[2]


def test_the_picture_holds_all_that_is_drawn_in_it(planar, spatial):
    for result, view in itertools.product((planar, spatial), (None, "xy", "space", (0.3, 1.2))):
        seen = stage(result, magnified=4.0, view=view)
        figure, show = film(seen)
        figure.draw_without_rendering()
        axes = figure.axes[0]
        for t in result.time.values:
            show(t)
            points = np.concatenate([path.vertices for path in bodies(figure)[0].get_paths()])
            low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
            assert (points >= low).all() and (points <= high).all(), (view, t)


def test_the_ground_lies_below_all_that_is_drawn(spatial):
    seen = stage(spatial, view="space")
    axes = film(seen)[0].axes[0]
    (width,) = (text.get_text() for text in axes.texts if text.get_text().startswith("grid"))
    step = float(width.split()[1])
    grid = next(part for part in axes.collections if isinstance(part, LineCollection))
    points = np.concatenate(grid.get_segments())
    level = step * np.floor(seen.low[2] / step)
    ends = [(seen.low[i], seen.high[i]) for i in (0, 1)]
    below = seen.camera.seen(np.array([[x, y, level] for x in ends[0] for y in ends[1]]))
    assert (points.min(axis=0) <= below + 1e-12).all() and (below <= points.max(axis=0) + 1e-12).all()


# -- from where it is seen ---------------------------------------------------------------------------------------------


def turning(axis, **more):
    rod = fa.Rigid(length=0.5, mass=1.0)
    links = [fa.Link(name=name, joint=fa.Revolute(axis=axis), body=rod) for name in ("a", "b")]
    model = fa.Model(fa.Arm(name="turning", links=links, **more))
    return fa.simulate(model, 0.1, q0=[0.2, 0.4], qd0=[1.0, -1.0], samples=4, progress=False)


def test_a_planar_arm_is_seen_across_its_plane_and_another_from_all_around(planar, spatial):
    assert stage(planar).camera.axes == "xy"
    assert stage(turning((0.0, 0.0, 1.0))).camera.axes == "xy"
    assert stage(turning((0.0, 1.0, 0.0))).camera.axes == "xz"
    placed = fa.Pose(rpy=(0.0, 0.0, np.pi / 2))
    rod = fa.Rigid(length=0.5, mass=1.0)
    link = fa.Link(name="a", joint=fa.Revolute(axis=(0.0, 1.0, 0.0)), body=rod, placement=placed)
    across = fa.simulate(fa.Model(fa.Arm(name="x", links=[link])), 0.1, q0=[0.3], qd0=[1.0], samples=3, progress=False)
    assert stage(across).camera.axes == "yz"
    assert stage(spatial).camera.axes == ""
    assert stage([planar, spatial]).camera.axes == ""
    assert stage(spatial, view="xz").camera.axes == "xz"
    axes = film(stage(spatial, view="xz"))[0].axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x [m]", "z [m]")


@pytest.mark.parametrize("gravity", [(0.0, 0.0, 0.0), (0.0, 0.0, -9.81), (0.0, -9.81, 0.0), (4.0, 0.0, 3.0)])
def test_what_falls_falls_downwards_in_the_picture(gravity):
    camera = stage(turning((0.0, 0.0, 1.0), gravity=gravity), view="space").camera
    basis = np.array([camera.right, camera.up, camera.toward])
    np.testing.assert_allclose(basis @ basis.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(basis) == pytest.approx(1.0)
    along = camera.seen(np.array(gravity if any(gravity) else (0.0, 0.0, -1.0)))
    assert along[0] == pytest.approx(0.0, abs=1e-12) and along[1] < 0


def test_faces_that_are_turned_away_are_left_out_and_near_ones_lie_above():
    y = np.array([[0.0, 1.0, 0.0]] * 2)
    near, far = (tube(np.array([[0.0, 0.0, z], [1.0, 0.0, z]]), y, round_outline(0.1), c) for z, c in ((1, 0), (-1, 1)))
    polygons, colours = picture([near, far], plane_camera("xy"))
    assert len(polygons) == 20, "half of each side, no ends"
    assert (colours[:10] > colours[10:].max()).all(), "the far one is the white one, and drawn first"
    camera = space_camera(np.array([0.0, 0.0, 1.0]))
    above = picture([near], camera)[0]
    assert len(above) == 10 + 20, "half the sides, and one end"
    ends = above[(above[:, 2] == above[:, 3]).all(axis=1)]
    assert camera.toward[0] > 0, "so the end that is seen is that of larger x"
    np.testing.assert_allclose(ends[:, 3], np.tile(camera.seen(np.array([1.0, 0.0, 1.0])), (20, 1)), atol=1e-12)


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fps", "speed", "count"), [(30, 0.3, 21), (50, 0.5, 21), (7, 0.1, 15)])
def test_a_gif_has_as_many_pictures_as_it_should_and_lasts_as_long(planar, tmp_path, fps, speed, count):
    path = fa.animate(planar, tmp_path / "a.gif", fps=fps, speed=speed, size=SMALL)
    with Image.open(path) as image:
        assert image.n_frames == count and image.size == SMALL and image.info["loop"] == 0
        lasts = []
        for k in range(count):
            image.seek(k)
            lasts.append(image.info["duration"])
    assert sum(lasts) == pytest.approx(1000 * count / fps, abs=5)
    assert max(lasts) - min(lasts) <= 10, "as evenly as a GIF can"


@FFMPEG
def test_a_film_has_as_many_pictures_as_it_should_and_lasts_as_long(planar, tmp_path):
    path = fa.animate(planar, tmp_path / "a.mp4", fps=25, speed=0.1, size=(201, 141))
    words = ["ffprobe", "-v", "error", "-count_frames", "-show_streams", "-of", "json", str(path)]
    stream = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["streams"][0]
    assert int(stream["nb_read_frames"]) == 51
    assert float(stream["duration"]) == pytest.approx(51 / 25)
    assert (stream["width"], stream["height"]) == (202, 142), "even, as players need it"
    assert (stream["codec_name"], stream["pix_fmt"]) == ("h264", "yuv420p")


def test_a_strip_has_its_poses_at_their_times(planar, tmp_path):
    seen = stage(planar, np.linspace(0.0, 0.2, 5))
    figure = strip(seen)
    stamps = [axes.texts[0].get_text() for axes in figure.axes if axes.texts]
    assert stamps == [f"t = {t:.2f} s" for t in (0.0, 0.05, 0.1, 0.15, 0.2)]
    found = bodies(figure)
    assert len(found) == 5
    for part, t in zip(found, seen.times, strict=True):
        np.testing.assert_allclose([path.vertices[:4] for path in part.get_paths()], seen.faces(t)[0], atol=1e-12)
    heads = {"a.png": b"\x89PNG\r\n\x1a\n", "a.pdf": b"%PDF-", "a.svg": b"<?xml"}
    for name, head in heads.items():
        content = fa.animate(planar, tmp_path / name, poses=2).read_bytes()
        assert content.startswith(head)
        if not name.endswith(".png"):
            assert b"<image" not in content and b"/Subtype /Image" not in content, "vectors alone"
    with Image.open(tmp_path / "a.png") as image:
        assert image.size[0] == 2 * 2 * 280


@pytest.mark.parametrize("dark", [False, True])
def test_a_picture_has_its_card(planar, tmp_path, dark):
    path = fa.animate(planar, tmp_path / "a.gif", fps=10, speed=0.2, size=SMALL, dark=dark)
    with Image.open(path) as image:
        corner = image.convert("RGB").getpixel((1, 1))
    expected = matplotlib.colors.to_rgb(style.DARK_PAPER if dark else style.PAPER)
    np.testing.assert_allclose(np.array(corner) / 255, expected, atol=0.02)


def test_no_window_is_opened(planar, tmp_path):
    fa.save_result(planar, tmp_path / "a.nc")
    program = """
import sys
import flexarm as fa
fa.animate(fa.load_result("a.nc"), "a.gif", size=(200, 140), fps=10, speed=0.4)
assert not {"matplotlib.pyplot", "tkinter", "PyQt5", "PyQt6", "PySide6"} & {*sys.modules}
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("suffix", ["gif", pytest.param("mp4", marks=FFMPEG), "svg"])
def test_nothing_half_written_is_left(planar, tmp_path, monkeypatch, suffix):
    """Ctrl-C in the middle: the old file is as it was, and nothing stands beside it."""
    path, temporary = tmp_path / f"a.{suffix}", tmp_path / "temporary"
    temporary.mkdir()
    path.write_bytes(b"old")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    faces, calls = Stage.faces, []

    def interrupted(self, t):
        calls.append(t)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return faces(self, t)

    monkeypatch.setattr(Stage, "faces", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fa.animate(planar, path, size=SMALL)
    assert path.read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == [path, temporary] and not list(temporary.iterdir())


def test_without_ffmpeg_a_line_says_so(planar, tmp_path):
    with (
        matplotlib.rc_context({"animation.ffmpeg_path": "no-such-program"}),
        pytest.raises(fa.DescriptionError, match=r"\Aanimate: path is 'a\.mp4', which needs ffmpeg, .*\Z"),
    ):
        fa.animate(planar, tmp_path / "a.mp4")
    false = shutil.which("false")
    with (
        matplotlib.rc_context({"animation.ffmpeg_path": false}),
        pytest.raises(fa.DescriptionError, match=r"\Aanimate: ffmpeg failed[ :][^\n]*\Z"),
    ):
        fa.animate(planar, tmp_path / "a.mp4", size=SMALL)
    assert not list(tmp_path.iterdir())


WRONG = [
    ({"path": "a.avi"}, "path is 'a.avi'; it must end with .gif, .mp4, .png, .svg or .pdf"),
    ({"path": "a"}, "path is 'a'; it must end with"),
    ({"magnified": -1}, "magnified is -1.0; it must be zero or positive"),
    ({"magnified": "2"}, "magnified is '2'; it must be a number"),
    ({"ghost": "no"}, "ghost is 'no'; it must be auto, reference, rigid or None"),
    ({"ghost": []}, r"ghost is \[\]; it must be auto"),
    ({"trace": 1}, "trace is 1; it must be true or false"),
    ({"fps": 0}, "fps is 0.0 pictures per second; it must be positive"),
    ({"fps": 60}, "fps is 60 pictures per second; it must be at most 50 in a .gif"),
    ({"fps": 1e-3}, r"results need a film of 1\d{3} s; it may last 600 s: raise speed or fps"),
    (
        {"fps": 50, "speed": 1e-4},
        "results need 100001 pictures, and at most 3000 are allowed: raise speed or lower fps",
    ),
    ({"speed": 0}, "speed is 0.0; it must be positive"),
    ({"poses": 0}, "poses is 0"),
    ({"poses": 61}, "poses is 61; it must be at most 60"),
    ({"size": 300}, "size is 300; it must be a width and a height in pixels"),
    ({"size": (300, 20)}, r"size\[1\] is 20"),
    ({"size": (300, 5000)}, r"size is \(300, 5000\); it must be at most 4000"),
    ({"dark": None}, "dark is None; it must be true or false"),
    ({"view": "zx"}, r"view is 'zx'; it must be xy, xz, yz or space, or an azimuth and an elevation in rad"),
    ({"view": (0.1, "x")}, r"view\[1\] is 'x'; it must be a number in rad"),
    ({"names": "ab"}, "names is 'ab'; it must be a list of texts"),
    ({"names": ["a", "b"]}, "names has 2 names for 1 result"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_a_wrong_argument_is_one_line(planar, tmp_path, monkeypatch, wrong, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fa.DescriptionError, match=rf"\Aanimate: {message}[^\n]*\Z"):
        fa.animate(planar, **({"path": "a.gif"} | wrong))
    assert not list(tmp_path.iterdir())


def test_results_that_cannot_be_drawn_are_one_line(planar, spatial, tmp_path):
    several = planar.expand_dims("run")
    far, lost, other = planar.copy(deep=True), planar.copy(deep=True), planar.copy(deep=True)
    far.q.values[1, 0], lost.q.values[1, 0] = 1e13, np.nan
    other.attrs["arm"] = spatial.attrs["arm"]
    cases = [
        (None, "results is None; it must be a result, or a list or dict of them"),
        ([], r"results is \[\]; it must be a result"),
        ([1], "result is an int; it must be a Dataset"),
        (planar.drop_vars("q"), "result has no 'q'"),
        ([planar] * 7, "results has 7 results; at most 6 can be distinguished in one picture"),
        (several, r"result has q over run, time, coordinate; .* result\.isel\(run=0\)"),
        (planar.isel(time=slice(0)), "result has q over time, coordinate; .*it must be one run"),
        (
            planar.assign_attrs(arm="{"),
            "result has an arm that cannot be rebuilt \\(Arm: the text is not valid JSON",
        ),
        (planar.assign_attrs(arm='{"name": 1}'), "result has an arm that cannot be rebuilt \\("),
        (planar.assign_attrs(parameters="3"), "result has an arm that cannot be rebuilt \\(its parameters are 3"),
        (planar.assign_attrs(parameters="{"), "result has an arm that cannot be rebuilt \\("),
        (far, r"result has q of 1e\+13; it must be at most 1e\+12 in size to be drawn"),
        (lost, "result has a time or a coordinate that is not finite"),
        (other, "result has coordinates upper.joint, .*; its arm has "),
    ]
    for results, message in cases:
        with pytest.raises(fa.DescriptionError, match=rf"\Aanimate: {message}[^\n]*\Z"):
            fa.animate(results, tmp_path / "a.gif")
    with pytest.raises(fa.DescriptionError, match=r"\Aanimate: names does not apply to a dict"):
        fa.animate({"a": planar}, tmp_path / "a.gif", names=["b"])
    with pytest.raises(fa.DescriptionError, match=r"\Aanimate: ghost is 'reference', but no result has one\Z"):
        fa.animate(spatial, tmp_path / "a.gif", ghost="reference")
    with pytest.raises(fa.DescriptionError, match="cannot be written"):
        fa.animate(planar, tmp_path / "a.gif" / "b.gif") if (tmp_path / "a.gif").write_bytes(b"") == 0 else None
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]


def test_an_arm_whose_numbers_vary_is_drawn_with_those_of_its_run(tmp_path):
    model = fa.Model(fa.load("rigid-two-link"), vary=["upper.length"])
    longer = model.at([2.0 * model.p[0]])
    result = fa.simulate(longer, 0.1, q0=[0.3, 0.4], samples=3, progress=False)
    np.testing.assert_allclose(stage(result).tips(0.0)[0][-1], result.tip.values[0, :2], atol=1e-12)
    assert not np.allclose(model.tip(result.q.values[0])[:2, 3], result.tip.values[0, :2])


def test_a_still_arm_and_a_run_of_one_sample_are_drawn(tmp_path):
    model = fa.Model(fa.load("rigid-two-link"))
    still = fa.simulate(model, 0.1, samples=2, progress=False)
    assert fa.animate(still, tmp_path / "a.gif", size=SMALL).stat().st_size > 500
    assert fa.animate(still.isel(time=[0]), tmp_path / "b.gif", size=SMALL).stat().st_size > 500
    assert fa.animate(still.isel(time=[0]), tmp_path / "b.png", poses=1).stat().st_size > 500


def test_the_module_has_no_settings_of_its_own_left_behind(planar, tmp_path):
    before = dict(matplotlib.rcParams)
    fa.animate(planar, tmp_path / "a.svg", poses=2)
    assert dict(matplotlib.rcParams) == before
    assert module.MOST_PICTURES >= 60 * 30, "a minute"
