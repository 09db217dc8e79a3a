"""One house style: every figure of the package keeps it, and what does not is found."""

import ast
import re
from pathlib import Path

import control
import matplotlib.style
import numpy as np
import pytest
import xarray as xr
from figures import style_faults
from matplotlib.colors import to_rgb

import flexarm as fa
from flexarm import style
from flexarm.identification.comparison import InTime
from flexarm.pictures.animate import Options, Stage, film, strip
from flexarm.plots import (
    draw,
    draw_bode,
    draw_frequencies,
    draw_modes,
    draw_path,
    draw_poles,
    draw_runs,
    draw_stroboscope,
    save_figure,
)
from flexarm.plots.recorded import motions
from flexarm_papers import panels
from flexarm_papers.lin_lewis import figures as lin_lewis

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for room in ("src", "benchmarks", "examples") for path in (ROOT / room).rglob("*.py"))
HOUSE = ROOT / "src" / "flexarm" / "style.py"


# -- the style itself --------------------------------------------------------------------------------------------------


def luminance(colour):
    """Of sRGB, by WCAG 2."""
    shares = np.array(to_rgb(colour))
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def seen_without_red_or_green(colour, matrix):
    """What a reader without one kind of cones sees, in linear RGB (Vienot, Brettel & Mollon 1999)."""
    shares = np.array(to_rgb(colour))
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return matrix @ linear


PROTANOPE = np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]])
DEUTERANOPE = np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]])


def test_colours_stand_out_from_both_cards():
    """As WCAG 2 asks for graphics: 3 to 1; for letters 4.5 to 1, of which we want more."""
    for colour in (*style.COLOURS, style.SOFT):
        for card in (style.PAPER, style.DARK_PAPER):
            assert contrast(colour, card) >= 3.0, (colour, card)
    assert contrast(style.INK, style.PAPER) > 10 and contrast(style.DARK_INK, style.DARK_PAPER) > 10


@pytest.mark.parametrize("matrix", [PROTANOPE, DEUTERANOPE])
def test_the_first_colours_differ_for_readers_who_see_fewer(matrix):
    seen = [seen_without_red_or_green(colour, matrix) for colour in style.COLOURS[:4]]
    for i, one in enumerate(seen):
        for other in seen[:i]:
            assert np.linalg.norm(one - other) > 0.1, "in linear RGB, of which grey from black to white is 1.7"


def test_curves_are_told_apart_without_colour():
    for looks in ([style.curve(i) for i in range(24)], [style.points(i) for i in range(8)]):
        plain = {(str(look.get("linestyle")), look.get("marker"), look.get("linewidth")) for look in looks}
        assert len(plain) == len(looks)
    assert len({str(dashes) for dashes in style.DASHES}) == len(style.DASHES) == len(style.COLOURS)
    named = [style.WANTED, style.MEASURED, style.MODEL, style.RULE, style.curve(0)]
    assert len({(str(look["linestyle"]), look["linewidth"]) for look in named}) == len(named)
    assert len({style.bar(i)["hatch"] for i in range(4)}) == 4


def test_marks_are_a_dozen_however_many_samples():
    for samples in (100, 3001):
        start, every = style.marked(2, 3, samples)["markevery"]
        assert 11 <= len(range(start, samples, every)) <= 13
    assert style.marked(0, 3) == {}


# -- every figure ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def driven():
    model = fa.Model(fa.load("subudhi-morris-elastic"))
    reference = fa.Cycloidal([0.1, 0.2], [1, 1])
    return fa.simulate(model, 0.05, u=[0.1, -0.2], reference=reference, samples=6, name="a run", progress=False)


@pytest.fixture(scope="module")
def spatial():
    model = fa.Model(fa.load("spatial-6r"))
    return fa.simulate(model, 0.02, samples=5, progress=False)


def rigid():
    return fa.simulate(fa.Model(fa.load("rigid-two-link")), 0.2, q0=[0.3, 0.4], samples=5, progress=False)


def compared():
    """Four records' worth of noise about a sine."""
    t = np.linspace(0.0, 1.0, 200)
    y = np.column_stack([np.sin(6 * t), np.cos(9 * t)])
    noise = np.random.default_rng(1).normal(size=y.shape)
    return InTime(
        records=("one",), outputs=("a", "b"), units=("rad", "m"), times=(t,), measured=(y,), modelled=(y + noise,)
    )


SYSTEM = control.tf([1.0, 3.0], [1.0, 0.2, 4.0])


def measured():
    """The system's response at a few lines."""
    f, shares = np.linspace(0.1, 2.0, 12), np.linspace(1.0, 0.3, 12)
    data = {"response": ("frequency", SYSTEM(2j * np.pi * f)), "coherence": ("frequency", shares)}
    return xr.Dataset(data, coords={"frequency": f})


def panelled(monkeypatch):
    t = np.linspace(0.0, 1.0, 50)
    curves = [panels.Curve(t, t**i, style.curve(i), f"curve {i}") for i in range(4)]
    curves += [panels.Curve(t, t, style.WANTED, "wanted"), panels.Curve(t, t, style.MEASURED, "measured")]
    kept = []
    monkeypatch.setattr(panels, "save_figure", lambda figure, path: kept.append(figure))
    panels.draw(ROOT, "none", 1, (5, 4), [panels.Panel("one", "y [m]", curves)])
    return kept[0]


def staged(result, figure, **more):
    options = Options(**({"magnified": 2.0, "ghost": "rigid", "trace": True, "size": (300, 200), "dark": False} | more))
    stage = Stage(motions([result, result]), result.time.values[[0, -1]], options, None)
    return figure(stage)


@pytest.fixture
def figures(driven, spatial, monkeypatch):
    """By name what makes each."""
    model = fa.Model(fa.load("theodore-ghosal"))
    return {
        "a driven arm": lambda: draw(driven),
        "six joints": lambda: draw(spatial),
        "a rigid arm": lambda: draw(rigid()),
        "modes": lambda: draw_modes(fa.Model(fa.load("canadarm")), np.zeros(9), count=4),
        "frequencies": lambda: draw_frequencies(model, "slide.joint", [0.4, 0.8], count=9),
        "a Bode diagram": lambda: draw_bode([SYSTEM, SYSTEM * 2], measured()),
        "poles": lambda: draw_poles({"one": SYSTEM, "two": SYSTEM * SYSTEM}),
        "discrete poles": lambda: draw_poles(control.sample_system(SYSTEM, 0.1)),
        "runs": lambda: draw_runs(driven.tip.expand_dims(run=3)),
        "a stroboscope": lambda: draw_stroboscope(driven, 3, magnified=2.0),
        "a stroboscope in space": lambda: draw_stroboscope(spatial, 3, view="space"),
        "a path": lambda: draw_path(driven),
        "a comparison": lambda: compared().plot("title"),
        "panels": lambda: panelled(monkeypatch),
        "Lin & Lewis": lin_lewis.influence,
        "a strip": lambda: staged(driven, strip),
        "a strip in space": lambda: staged(spatial, strip),
        "a film": lambda: staged(spatial, film)[0],
        "a dark film": lambda: staged(driven, film, dark=True)[0],
        "a dark strip": lambda: staged(spatial, strip, dark=True),
    }


NAMES = (
    "a driven arm|six joints|a rigid arm|modes|frequencies|a Bode diagram|poles|discrete poles|runs|a stroboscope|"
    "a stroboscope in space|a path|a comparison|panels|Lin & Lewis|a strip|a strip in space|"
    "a film|a dark film|a dark strip"
).split("|")


OTHER = {"lines.linewidth": 9, "text.color": "red"}


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_keeps_the_style_whatever_the_user_has_set(figures, name):
    assert list(figures) == NAMES
    with matplotlib.rc_context(matplotlib.style.library["dark_background"] | OTHER):
        figure = figures[name]().figure
        figure.draw_without_rendering()
        assert style_faults(figure) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_keeps_the_style_and_can_be_vectors_alone(figures, name, tmp_path):
    figure = figures[name]().figure
    svg = save_figure(figure, tmp_path / "a.svg").read_bytes()
    assert b"<image" not in svg and b"<text" in svg, "letters are letters"
    if name in ("a driven arm", "a stroboscope in space"):
        again = save_figure(figures[name](), tmp_path / "b.svg").read_bytes()
        assert svg == again, "the same figure is the same file"
    assert style_faults(figure) == []
    if name in ("six joints", "a strip in space", "panels"):
        pdf = save_figure(figure, tmp_path / "a.pdf").read_bytes()
        assert b"/Subtype /Image" not in pdf and b"CreationDate" not in pdf


def test_an_svg_is_dark_where_the_pages_are(driven, tmp_path):
    """All that is ink or paper has its colour in a place that the rules turn; colours of curves stay."""
    text = save_figure(draw(driven), tmp_path / "a.svg").read_text()
    rules, body = text.split("</style>", 1)
    assert "@media (prefers-color-scheme: dark)" in rules and '<g id="flexarm">' in body
    turned = set(re.findall(r'\[style\*="([^"]+)"\] \{', rules))
    assert turned == {f"{what}: {c}" for what in ("fill", "stroke") for c in (style.PAPER, style.INK)}
    named = set(re.findall(r"(?:fill|stroke): #[0-9a-f]{6}", body))
    assert {c for _, c in (x.split(": ") for x in named)} <= {style.PAPER, style.INK, style.SOFT, *style.COLOURS}
    assert not re.search(r'(?:fill|stroke)="', body), "no colour stands where the rules do not look"
    for letters in re.findall(r"<text[^>]*>", body):
        assert f"fill: {style.INK}" in letters
    dark = staged(driven, strip, dark=True)
    assert "prefers-color-scheme" not in save_figure(dark, tmp_path / "b.svg").read_text()
    own = matplotlib.figure.Figure()
    own.subplots().plot([0, 1])
    assert "prefers-color-scheme" not in save_figure(own, tmp_path / "c.svg").read_text(), "a user's own stays"


def test_settings_are_the_users(driven, tmp_path):
    before = dict(matplotlib.rcParams)
    for name in ("a.svg", "a.pdf", "a.png"):
        save_figure(draw(driven), tmp_path / name)
    assert dict(matplotlib.rcParams) == before


# -- what does not keep it ---------------------------------------------------------------------------------------------


def spoiled(how):
    figure = style.figure(4, 3)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], **style.curve(0), label="one")
    axes.plot([0, 1], [1, 0], **(style.curve(1) | how.pop("second", {})), label="two")
    axes.legend()
    style.finished(figure)
    for name, value in how.items():
        getattr(axes, name)(*value)
    return figure


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ({"second": {"color": "C3"}}, "a line is #d62728"),
        ({"second": {"linewidth": 2.0}}, "a line is 2.0 points wide"),
        ({"second": {"linestyle": "solid"}}, "two and one differ in colour alone"),
        ({"set_xlabel": ("late",)}, None),
        ({"text": (0, 0, "late")}, "'late' is #000000"),
    ],
)
def test_what_does_not_keep_the_style_is_found(how, fault):
    found = style_faults(spoiled(dict(how)))
    assert (fault is None and found == []) or (len(found) == 1 and fault in found[0])


def test_a_figure_that_is_no_card_is_found():
    plain = matplotlib.figure.Figure(facecolor="yellow")
    plain.subplots().bar([1], [1])
    assert len(style_faults(plain)) == 3


LOOKS = {"color", "c", "colors", "linewidth", "lw", "linewidths", "linestyle", "ls", "linestyles", "markersize", "ms"}
LOOKS |= {"facecolor", "edgecolor", "fontsize", "labelsize", "marker"}


def own_looks(text):
    """Where a module says itself how something is drawn, or makes a figure that is no card of the house."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in ("Figure", "subplots") and not isinstance(node.func, ast.Attribute):
            found.append(f"line {node.lineno}: {called}(")
        for keyword in node.keywords:
            if keyword.arg in LOOKS and isinstance(keyword.value, ast.Constant) and keyword.value.value != "none":
                found.append(f"line {node.lineno}: {keyword.arg}={keyword.value.value!r}")
        if called in ("plot", "semilogx", "semilogy", "loglog", "errorbar"):
            drawn = [each for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            found += [f"line {node.lineno}: {each.value!r}" for each in drawn]
    return found


@pytest.mark.parametrize(
    "sin",
    [
        "axes.plot(x, y, 'k--')", "axes.axhline(0, color='0.6')", "axes.plot(x, y, lw=2)", "Figure(figsize=(3, 4))",
        "axes.set_title(title, fontsize='small')", "axes.semilogy(x, y, 'o')", "axes.bar(x, y, color=('C1'))",
    ],
)  # fmt: skip
def test_a_planted_look_is_found(sin):
    assert own_looks(sin)


DRAWING = ("style.py",)
"""The one module that says how things look."""


def test_only_the_house_says_how_things_look():
    looked = 0
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if "matplotlib" in text or "style." in text:
            looked += 1
            if path != HOUSE:
                assert own_looks(text) == [], path
    assert looked > 12
