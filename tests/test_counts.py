"""Messages say "1 input" and not "1 inputs", and every warning has a class of its own."""

import ast
import re
from pathlib import Path

import flexarm as fa
from flexarm.checks import counted

SOURCES = [each for each in Path(fa.__file__).parent.rglob("*.py") if "papers" not in each.parts]
TREES = {each: ast.parse(each.read_text(encoding="utf-8")) for each in SOURCES}

THINGS = (
    "actuators bodies columns contacts coordinates copies curves entries environments evaluations files hinges inputs "
    "intervals joints lines links lumps modes nodes numbers outputs pairs parameters periods pictures plants "
    "points poles rates readings records results runs seeds segments shapes signals states stations steps systems "
    "unknowns values zeros"
).split()

EXCEPTIONS = {
    ("scoring.py", "numbers"),  # a program that runs without the package
    ("scoring.py", "columns"),
}


def bare_counts(tree):
    """Values that stand before the name of several things in an f-string, with these things."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for value, text in zip(node.values, node.values[1:], strict=False):
                if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant):
                    found = re.match(r" ([a-z]+)\b", str(text.value))
                    if found and found[1] in THINGS and value.format_spec is None:
                        yield ast.unparse(value.value), found[1], node.lineno


def test_a_message_counts_things_by_one_function():
    """Constants in capital letters are larger than 1, and a name is no number."""
    found = [
        f"{file}:{line}: {value} {things}"
        for file, tree in TREES.items()
        for value, things, line in bare_counts(tree)
        if not re.search(r"\b[A-Z]{2}|[.]name$", value) and (file.name, things) not in EXCEPTIONS
    ]
    assert not found, found


def test_one_thing_is_singular():
    assert [counted(n, "input") for n in (0, 1, 2)] == ["0 inputs", "1 input", "2 inputs"]
    assert [counted(2, noun) for noun in ("body", "entry", "copy")] == ["2 bodies", "2 entries", "2 copies"]
    assert counted(1, "body") == "1 body"


def test_every_warning_has_a_class_that_a_user_can_filter():
    known = {
        name for name, each in vars(fa.errors).items() if isinstance(each, type) and issubclass(each, fa.FlexarmWarning)
    }
    for file, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                given = node.args[1:] or [each.value for each in node.keywords if each.arg == "category"]
                where = f"{file}:{node.lineno}"
                alone = ast.unparse(node.args[0]) == "each"  # warnings of a stored motion, which are objects
                assert alone or (given and ast.unparse(given[0]) in {*known, "DeprecationWarning"}), where
