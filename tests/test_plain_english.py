"""`make words` finds docstrings that are no sentences, phrases, long sentences and semicolons, and only in prose."""

import sys
from importlib import import_module

import pytest
from pages import ROOT


@pytest.fixture(scope="module")
def words():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return import_module("making.words")
    finally:
        sys.path.remove(str(ROOT / "docs"))


LONG = "word " * 31 + "end."


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("The arm bends. It rings.", []),
        (LONG.capitalize(), ["long sentences"]),
        (f"Short.\n\n- {LONG.capitalize()}", ["long sentences"]),
        ("One; two; three.", ["semicolons", "semicolons"]),
        ("The solver shall stop.", ["phrases"]),
        (f"```python\nx = 1; y = 2  # {LONG}\n```", []),
        (f"| a; b | {LONG} |", []),
        ("Text `a; b` and $a; b$.", []),
        (f"    indented; {LONG}", []),
        (f":::{{note}}\nThis shall be seen.\n:::\n\n# {LONG}", ["phrases"]),
    ],
)
def test_what_is_found_in_a_page(words, text, kinds):
    found = [place.kind for _, sentence in words.sentences(text) for place in words.of_sentence("page", sentence)]
    assert found == kinds


def test_sentences_end_where_they_end(words):
    text = "The arm has $n$ links. 3 of them bend.\nWhy? See [the page](x.md).\n\n1. First item\n2. Second item"
    assert [sentence for _, sentence in words.sentences(text)] == [
        "The arm has x links.", "3 of them bend.", "Why?", "See [the page].", "First item", "Second item",
    ]  # fmt: skip


def test_what_is_found_in_the_source(words, tmp_path, monkeypatch):
    monkeypatch.setattr(words, "ROOT", tmp_path)
    file = tmp_path / "a.py"
    file.write_text(
        '"""Of an arm."""\nX = 1\n"""What it is."""\n\n\ndef f():\n    """Return what it is."""\n    # it shall be\n'
        '\n\nclass C:\n    """Whether."""\n\n    y: int\n    """Whatever is there."""\n'
    )
    found = [(place.kind, place.where) for place in words.of_source(file)]
    assert sorted(found) == [
        ("bare docstrings", "a.py:1"), ("bare docstrings", "a.py:12"), ("bare docstrings", "a.py:3"),
        ("phrases", "a.py:8"),
    ]  # fmt: skip


def test_a_limit_that_is_exceeded_is_an_error(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["words"])
    monkeypatch.setattr(words, "pages", list)
    monkeypatch.setattr(words, "LIMITS", words.LIMITS | {"semicolons": 0})
    assert words.main() == 0
    monkeypatch.setattr(words, "BARE", words.re.compile("Return"))
    assert words.main() == 1
    assert "bare docstrings, at most 0" in capsys.readouterr().out
