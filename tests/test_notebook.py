"""What notebooks show: an arm and a model in place, quickly and harmless; a result as its page, where that is asked."""

import json
import os
import pickle
import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from io import BytesIO
from types import SimpleNamespace

import matplotlib.image as mpimg
import numpy as np
import pytest
import xarray as xr
from helpers.random_arms import random_arm

import flexarm as fa
from flexarm.checks import counted
from flexarm.figure import DPI
from flexarm.model.drawing import drawn
from flexarm.pictures import notebook
from flexarm.pictures.view import viewed
from flexarm.plots import draw

pytestmark = pytest.mark.usefixtures("interpreted")

EVIL = "<script>alert(1)</script>\"'&lt;<img src=x onerror=alert(1)>"


class Parts(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def svg(text):
    return ET.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("options", [{}, {"telescope": True}, {"planar": True}])
def test_the_picture_is_of_the_arm_at_rest(seed, options):
    """Where the model, traced and compiled, has its links' ends and their own axes."""
    arm = random_arm(seed, **options)
    stations, frames = notebook.rest(arm)
    expected, poses = drawn(fa.Model(arm), np.array(arm.rest))
    np.testing.assert_allclose(frames, poses, atol=1e-12)
    np.testing.assert_allclose(stations, expected[:, [0, -1], :6], atol=1e-12)


@pytest.mark.parametrize("name", fa.bundled())
def test_an_arm_shows_its_picture_and_a_row_for_each_link(name):
    arm = fa.load(name)
    text = arm._repr_html_()
    drawing, parts = svg(text), Parts(text)
    assert len(drawing) > 20 and len(text) < 60_000
    width, height = (float(drawing.get(part)) for part in ("width", "height"))
    for polygon in drawing.iter("{http://www.w3.org/2000/svg}polygon"):
        points = np.array([pair.split(",") for pair in polygon.get("points").split()], dtype=float)
        assert (points >= 0).all() and (points <= [width, height]).all()
    cells = [text for text in parts.text if text.strip()]
    for link in arm.links:
        assert {link.name, link.body.type, f"{link.body.length:.4g}", f"{link.body.total_mass:.4g}"} <= set(cells)
    assert sum(tag == "tr" for tag, _ in parts.tags) == 1 + len(arm.links)
    assert f"{counted(len(arm.coordinates), 'coordinate')}, {counted(len(arm.inputs), 'input')}" in text
    assert fa.Model(arm)._repr_html_().count("<svg") == 1


def test_a_model_says_what_varies():
    model = fa.Model(fa.load("rigid-two-link"), vary=["upper.length"]).at([2.0])
    assert "Model of <b>rigid-two-link</b>" in model._repr_html_()
    assert "; varies: upper.length = 2 m<br>" in model._repr_html_()
    assert "varies" not in fa.Model(fa.load("rigid-two-link"))._repr_html_()


def test_names_are_shown_as_text_and_never_run():
    link = fa.Link(name="<b>&\"'</b>", body=fa.Rigid(length=1.0, mass=1.0))
    arm = fa.Arm(name=EVIL, description=f"{EVIL} \x1b[31m\u202e", links=[link])
    for text in (arm._repr_html_(), fa.Model(arm)._repr_html_()):
        parts = Parts(text)
        assert {tag for tag, _ in parts.tags} <= set(
            "div p b br svg title polygon polyline table thead tbody tr th td".split()
        )
        assert not [value for _, attrs in parts.tags for value in attrs if value.startswith("on")]
        assert EVIL in parts.text and link.name in parts.text, "as it was given"
        assert svg(text).get("aria-label") == f"{EVIL} at rest, seen across the plane xy"
        assert "\x1b" not in text and "\u202e" not in text


def test_an_arm_of_very_many_links_stays_small():
    links = [fa.Link(name=f"l{i}", body=fa.Rigid(length=0.1, mass=1.0)) for i in range(200)]
    text = fa.Arm(name="chain", links=links)._repr_html_()
    assert len(text) < 30_000 and "and 160 more" in text
    assert [child.tag.rpartition("}")[2] for child in svg(text)] == ["title", "polyline"]


def test_what_does_not_move_has_a_table_and_no_picture():
    post = fa.Link(name="post", joint=fa.Fixed(), body=fa.Rigid(length=1.0, mass=1.0))
    text = fa.Arm(name="post", links=[post])._repr_html_()
    assert "<svg" not in text and "<td>post</td>" in text


def test_a_picture_compiles_and_imports_nothing(tmp_path):
    program = """
import sys, json
import flexarm as fa
assert "flexarm.pictures" not in sys.modules
assert "<svg" in fa.load("spatial-6r")._repr_html_()
assert "<svg" in fa.Model(fa.load("canadarm"))._repr_html_()
print(json.dumps([name.partition('.')[0] for name in sys.modules]))
"""
    environment = os.environ | {"FLEXARM_CACHE": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    long = {"casadi", "IPython", "matplotlib", "sympy", "xarray"}
    assert long & set(json.loads(done.stdout)) == set()
    assert not (tmp_path / "cache").exists()


# -- results -----------------------------------------------------------------------------------------------------------


class Formatter(dict):
    """What IPython's formatters do with types by name; checked against IPython where it is installed."""

    def for_type_by_name(self, module, name, function):
        self[f"{module}.{name}"] = function


@pytest.fixture
def ipython():
    return SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": Formatter()}))


@pytest.fixture(scope="module")
def result():
    return fa.simulate(fa.Model(fa.load("rigid-two-link")), 0.1, q0=[0.3, 0.4], samples=5, progress=False)


def test_the_extension_shows_a_result_as_its_page_above_its_table(ipython, result):
    fa.load_ipython_extension(ipython)
    formatter = ipython.display_formatter.formatters["text/html"]
    show = formatter[f"{xr.Dataset.__module__}.{xr.Dataset.__qualname__}"]
    text = show(result)
    page = viewed(result)._repr_html_()
    assert page.startswith("<iframe") and text.startswith(page) and "xr-wrap" in text[len(page) :]
    other = xr.Dataset({"x": ("y", [1, 2])})
    for own in (other, other.assign_attrs(arm="x"), result.drop_vars("q"), result.assign_attrs(arm="{")):
        assert "<iframe" not in show(own) and "xr-wrap" in show(own)
    fa.unload_ipython_extension(ipython)
    assert formatter == {}
    fa.unload_ipython_extension(ipython)


def test_in_ipython_itself(result):
    from IPython.core import interactiveshell as shell

    ipython = shell.InteractiveShell.instance()
    formatter = ipython.display_formatter.formatters["text/html"]
    ipython.run_line_magic("load_ext", "flexarm")
    assert formatter(result).startswith("<iframe")
    assert "<svg" in formatter(fa.load("canadarm"))
    ipython.run_line_magic("unload_ext", "flexarm")
    assert not formatter(result).startswith("<iframe")


def test_a_notebook_shows_a_figure_as_a_picture(result):
    figure = draw(result).figure
    png = figure._repr_png_()
    picture = mpimg.imread(BytesIO(png))
    height, width = picture.shape[:2]
    assert (width, height) == tuple((figure.get_size_inches() * DPI).round())
    colours = (255 * picture).round().astype(np.uint8).view(np.uint32)
    assert np.unique(colours).size > 100  # something is drawn
    assert pickle.loads(pickle.dumps(figure))._repr_png_() == png


def test_in_ipython_a_figure_is_a_picture(result):
    from IPython.core import interactiveshell as shell

    panels = draw(result)
    for shown in (panels.figure, panels, panels[0]):
        data, _ = shell.InteractiveShell.instance().display_formatter.format(shown)
        assert data["image/png"]
    assert pickle.loads(pickle.dumps(panels))._repr_png_() == panels._repr_png_()
    assert repr(panels) == "<4 axes of a figure>"


def test_without_the_extension_a_result_is_xarrays_own(result):
    assert "<iframe" not in result._repr_html_()
