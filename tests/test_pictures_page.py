"""Pages: one file that opens from disk, asks for nothing and shows what a user wrote as text."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from flexarm import escape
from flexarm.errors import DescriptionError
from flexarm.pictures import page as pages
from flexarm.pictures.page import asset, page, written

HOSTILE = [
    "</script><script>hacked = 1</script>",
    "<img src=x onerror='hacked=1'>",
    '" onmouseover="hacked=1',
    "<!-- <script>",
    "a & b\u2028c\u2029d",
    "\ud800 half",
    "arm\x00\x1b[31m",
    "$array",
    "__proto__",
    "${hacked=1}`",
]


class Tags(HTMLParser):
    """The elements of a page and the text in them, as a browser would find them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.inside = [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append([tag, dict(attributes), ""])
        self.inside = True

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.found[-1][2] += data

    def of(self, tag):
        return [(attributes, text) for found, attributes, text in self.found if found == tag]


def restored(text):
    """The data as `flexarm.data()` makes them, in Python."""

    def revived(table):
        if "$array" in table:
            values = np.frombuffer(base64.b64decode(table["base64"]), dtype=f"<{table['$array']}")
            return values.reshape(table["shape"])
        return {key.removeprefix("$") if key.startswith("$$") else key: value for key, value in table.items()}

    return json.loads(text, object_hook=revived)


def test_it_is_one_file_without_addresses():
    """Nothing is loaded: no element has an address but the empty picture of its tab."""
    found = Tags(page("An arm", {}, [])).found
    addresses = [(tag, value) for tag, given, _ in found for name, value in given.items() if name in ("src", "href")]
    assert addresses == [("link", "data:,")]


def test_its_policy_allows_its_own_scripts_and_no_connection():
    tags = Tags(page("An arm", {"x": 1}, [], ["function f() { return 1; }"]))
    policy = next(given["content"] for given, _ in tags.of("meta") if "http-equiv" in given)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'" and "connect-src" not in rules
    assert "unsafe" not in policy
    scripts = [text for given, text in tags.of("script") if "type" not in given]
    assert scripts[-1] == "function f() { return 1; }" and len(scripts) == len(pages.COMMON) + 1
    for texts, rule in ((scripts, "script-src"), ([text for _, text in tags.of("style")], "style-src")):
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        assert rules[rule].split() == [f"'sha256-{digest}'" for digest in digests]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_stay_text(name):
    """As the title and in the data; there is no element more than on a page without it."""
    plain = Tags(page("An arm", {"name": ""}, []))
    tags = Tags(page(name, {"name": name, "results": {name: [name]}}, []))
    assert [tag for tag, _, _ in tags.found] == [tag for tag, _, _ in plain.found]
    assert [text for _, text in tags.of("title")] == [escape.line(name)]
    data = next(text for given, text in tags.of("script") if given.get("id") == "flexarm-data")
    assert data.isascii() and not set(data) & set("<>&")
    assert restored(data) == {"name": name, "results": {name: [name]}}


def test_a_program_does_not_end_its_element():
    """Nor begin another, which would hide the end: words in texts and comments, as a name might be one."""
    program = 'const s = "</script><!--<script>"; // </SCRIPT > <!-- a'
    tags = Tags(page("An arm", {}, [], [program, "last()"]))
    *_, text, last = [text for given, text in tags.of("script") if "type" not in given]
    assert last == "last()"
    assert text.replace(r"\x3c", "<") == program and text != program


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8"])
def test_arrays_keep_their_bits(dtype):
    given = np.random.default_rng(3).integers(0, 255, (4, 2, 3)).astype(dtype) / (7 if dtype[0] == "f" else 1)
    given = given.astype(dtype)
    back = restored(written({"a": [{"b": given.transpose(2, 0, 1)}]}))["a"][0]["b"]
    assert back.dtype == given.dtype and np.array_equal(back, given.transpose(2, 0, 1))


def test_arrays_of_other_kinds_and_numbers():
    data = {
        "long": np.array([1, -2], dtype="int64"),
        "longer": np.array([2**40]),
        "half": np.array([0.5], dtype="float16"),
        "flags": np.array([True, False]),
        "big": np.array([1.5, np.inf], dtype=">f8"),
        "none": np.zeros((0, 3), dtype="int64"),
        "scalar": np.array(2.5),
        "number": np.float32(0.5),
        "flag": np.bool_(True),
        "text": np.str_("a"),
        "nan": float("nan"),
        "pair": (1, None),
    }
    back = restored(written(data))
    assert back["long"].dtype == np.int32 and back["long"].tolist() == [1, -2]
    assert back["longer"].dtype == np.float64 and back["longer"].tolist() == [2**40]
    assert back["half"].dtype == np.float32 and back["half"].tolist() == [0.5]
    assert back["flags"].dtype == np.uint8 and back["flags"].tolist() == [1, 0]
    assert back["big"].tolist() == [1.5, np.inf]
    assert back["none"].shape == (0, 3)
    assert (back["scalar"], back["number"], back["flag"], back["text"]) == (2.5, 0.5, True, "a")
    assert back["nan"] is None and back["pair"] == [1, None]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": [1, {2: 3}]}, r"^page: data\['a'\]\[1\] has the key 2; keys must be texts$"),
        (
            {"a": {1}},
            r"^page: data\['a'\] is \{1\}; it must be one of texts, numbers, booleans, None, lists, dicts and arr",
        ),
        ({"a": 1j}, r"^page: data\['a'\] is 1j; it must be one of"),
        (
            {"a": np.array([1j])},
            r"^page: data\['a'\] is an array of complex128; it must be one of float64, float32, int",
        ),
        ({"a": np.array(["b"])}, r"^page: data\['a'\] is an array of <U1; it must be one of"),
    ],
)
def test_what_a_page_does_not_hold_is_refused(data, message):
    with pytest.raises(DescriptionError, match=message):
        page("An arm", data, [])


@pytest.mark.parametrize("name", ["none.js", "../page.py", "", "/etc/passwd"])
def test_scripts_are_assets(name):
    with pytest.raises(DescriptionError, match=r"^page: unknown asset .*; known assets are LICENSES.txt, .*data.js, "):
        page("An arm", {}, [name])


def test_what_comes_from_elsewhere_says_its_version_and_licence():
    wanted = json.loads((Path(__file__).parents[1] / "assets" / "package.json").read_text())["devDependencies"]
    for name in ("three", "uplot"):
        first, *_ = asset(f"{name}.min.js").splitlines()
        assert first == f"/*! {name} {wanted[name]}"
        assert f"{name} {wanted[name]}\n" in asset("LICENSES.txt")
        assert "Permission is hereby granted" in asset(f"{name}.min.js")
    assert not re.search("resolved|http", (Path(__file__).parents[1] / "assets" / "package-lock.json").read_text())
