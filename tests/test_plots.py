"""Pictures of results: every curve is the result's, and a reader is told which is which."""

import numpy as np
import pytest
from figures import assert_readable, drawn, lines

import flexarm as fa
from flexarm.plots import draw, draw_modes, save_figure

MILLIMETRES = 1e3


@pytest.fixture(scope="module")
def driven():
    """Two elastic joints, two beams, a reference, dampers."""
    model = fa.Model(fa.load("subudhi-morris-elastic"))
    reference = fa.Cycloidal([0.1, 0.2], [1, 1])
    return fa.simulate(model, 0.05, u=[0.1, -0.2], reference=reference, samples=6, name="a run", progress=False)


def by_place(result):
    tables = drawn(draw(result).figure)
    assert_readable(tables)
    return tables


def assert_curves(axes, expected, t):
    """The curves with names are these, in this order, over all of the time."""
    shown = lines(axes)
    assert list(shown) == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(shown[name][0], t)
        np.testing.assert_array_equal(shown[name][1], np.ravel(values))


def test_a_driven_arm(driven):
    joints, forces, tips, energies = by_place(driven)
    t = driven.time.values
    assert_curves(
        joints,
        {
            "upper.joint": driven.q.sel(coordinate="upper.joint"),
            "fore.joint": driven.q.sel(coordinate="fore.joint"),
            "upper.motor": driven.q.sel(coordinate="upper.motor"),
            "fore.motor": driven.q.sel(coordinate="fore.motor"),
            "reference": driven.q_ref[:, 0],
        },
        t,
    )
    nameless = [line for line in joints["lines"] if not line["label"]]  # the reference of the second joint
    np.testing.assert_array_equal([line["y"] for line in nameless], [driven.q_ref[:, 1]])
    assert_curves(forces, {"upper.motor": np.full(6, 0.1), "fore.motor": np.full(6, -0.2)}, t)
    bent = driven.deflection.sel(axis="y")
    assert_curves(tips, {f"{link}, y": MILLIMETRES * bent.sel(link=link) for link in ("upper", "fore")}, t)
    expected = {
        "kinetic": driven.kinetic,
        "change of potential": driven.potential - driven.potential[0],
        "work": driven.work,
        "dissipated": driven.dissipated,
    }
    assert_curves(energies, {name: values for name, values in expected.items() if np.abs(values).max() > 0}, t)
    assert [axes["y"] for axes in (joints, forces, tips, energies)] == [
        "joints [rad]", "inputs [N m]", "deflection of each link's tip [mm]", "energy [J]",
    ]  # fmt: skip
    assert all(axes["x"] == "time [s]" and axes["legend"] for axes in (joints, forces, tips, energies))
    assert all(axes["x limits"] == pytest.approx([-0.001, 0.051]) for axes in (joints, forces, tips, energies))
    assert f"{driven.attrs['energy_drift']:.1e}" in energies["title"]


def test_the_head_of_a_picture(driven):
    figure = draw(driven).figure
    assert figure.get_suptitle() == f"a run ({driven.attrs['method']})"
    assert [text.get_text() for text in figure.texts if text is not figure._suptitle] == [
        f"input: {driven.attrs['input_description']}"
    ]


def test_an_arm_that_nothing_drives_shows_its_rates_and_a_rigid_one_its_tip():
    model = fa.Model(fa.load("rigid-two-link"))
    free = fa.simulate(model, 0.2, q0=[0.3, 0.4], samples=5, progress=False)
    joints, rates, tip, _ = by_place(free)
    t, names = free.time.values, ["upper.joint", "fore.joint"]
    assert list(free.coordinate.values) == names
    assert_curves(joints, {name: free.q.sel(coordinate=name) for name in names}, t)
    assert_curves(rates, {name: free.qd.sel(coordinate=name) for name in names}, t)
    assert_curves(tip, {axis: free.tip.sel(axis=axis) for axis in "xyz"}, t)
    assert (rates["y"], tip["y"]) == ("joint rates [rad/s]", "position of the tip [m]")


def test_slides_are_in_metres_and_a_run_that_stops_says_when():
    rod = fa.Rigid(length=0.5, mass=1.0)
    links = [fa.Link(name="turn", body=rod), fa.Link(name="slide", joint=fa.Prismatic(axis=(1, 0, 0)), body=rod)]
    model = fa.Model(fa.Arm(name="both", links=links))
    with pytest.raises(fa.SimulationError) as stopped:
        fa.simulate(model, 1.0, u=lambda t: [1.0, 1.0 if t < 0.5 else np.nan], samples=11, progress=False)
    result = stopped.value.result
    joints, forces, _, _ = by_place(result)
    assert (joints["y"], forces["y"]) == ("joints [rad or m]", "inputs [N m or N]")
    assert draw(result).figure.get_suptitle().endswith(f"stopped at {float(result.time[-1]):.6g} s)")


def test_the_input_of_a_motor_with_a_voltage_is_in_volts():
    motor = fa.Motor(torque_constant=0.05, resistance=1.0, input="voltage")
    body = fa.Rigid(length=1.0, mass=1.0)
    links = [fa.Link(name="a", joint=fa.Revolute(rotor_inertia=1e-3, drive=fa.Drive(motor=motor)), body=body)]
    model = fa.Model(fa.Arm(name="driven", gravity=(0, 0, 0), links=[*links, fa.Link(name="b", body=body)]))
    _, forces, _, _ = by_place(fa.simulate(model, 0.01, u=[1.0, 0.0], samples=3, progress=False))
    assert forces["y"] == "inputs [V or N m]"


def test_a_mast_has_no_joints():
    body = fa.Beam(length=1.0, mass=1.0, EI=1.0, modes={"y": 1, "z": 1})
    mast = fa.Model(fa.Arm(name="mast", links=[fa.Link(name="mast", joint=fa.Fixed(), body=body)]))
    result = fa.simulate(mast, 0.1, q0=[0.01, -0.02], samples=3, progress=False)
    bends, energies = by_place(result)
    shown = {f"mast, {axis}": MILLIMETRES * result.deflection.sel(axis=axis, link="mast") for axis in "yz"}
    assert_curves(bends, shown, result.time.values)
    assert result.potential[0] > 0, "it starts bent"
    expected = {"kinetic": result.kinetic, "change of potential": result.potential - result.potential[0]}
    assert_curves(energies, expected, result.time.values)


def test_a_figure_is_written_in_the_format_of_its_name(driven, tmp_path):
    figure = draw(driven).figure
    heads = {"a.png": b"\x89PNG\r\n\x1a\n", "a.pdf": b"%PDF-", "a.svg": b"<?xml"}
    for name, head in heads.items():
        assert save_figure(figure, tmp_path / name).read_bytes().startswith(head)
    with pytest.raises(fa.DescriptionError, match=r"\A\S+a\.xyz: .*xyz.*\Z"):
        save_figure(figure, tmp_path / "a.xyz")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(heads)


def test_every_mode_of_a_picture_has_its_name():
    tables = drawn(draw_modes(fa.Model(fa.load("canadarm")), np.zeros(9), count=3).figure)
    assert_readable(tables)
    assert [axes["title"].partition(":")[0] for axes in tables] == ["mode 1", "mode 2", "mode 3"]


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1.0, 12345.678, 1e9])
def test_whatever_the_size_of_its_numbers_a_picture_shows_all_of_them(driven, size):
    """The panels have fixed places; what stands beside them stays in the picture and clear of the next one."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    scaled = driven.copy()
    for name in ("q", "q_ref", "u", "deflection", "kinetic", "potential", "work", "dissipated"):
        scaled[name] = -size * driven[name]
    figure = draw(scaled).figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [axes.get_tightbbox(renderer) for axes in figure.axes]
    boxes += [text.get_window_extent(renderer) for text in figure.texts]
    for i, box in enumerate(boxes):
        assert (box.min >= 0).all() and (box.max <= renderer.get_canvas_width_height()).all(), i
        assert not any(box.overlaps(other) for other in boxes[i + 1 :]), i
