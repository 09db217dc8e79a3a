"""Values that do not belong where they are put, and their TOML."""

import datetime
import math

NUMBERS = (
    *(0, -1, 1, 2, 3, 7, 41, 1000, 10**6, 10**9, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 10**400),
    *(0.0, -0.0, 0.5, -0.5, 1e-3, 1e3, 1e-9, 1e9, 1e-15, 1e16, 1e-150, 1e150, 1e-300, 1e300, 5e-324, -5e-324),
    *(2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 1 + 1e-15, 0.1 + 0.2, math.pi),
    *(math.nan, math.inf, -math.inf),
)

TEXTS = (
    *("", " ", "\t", "a b", "a.b", ".", "..", "/", "a/b", "../../x", "/etc/passwd", "\\", "C:\\x", "~", "$HOME", "%s"),
    *(
        "{0}",
        "{q}",
        "a\nb",
        "a\rb",
        "\n",
        "\0",
        "a\0b",
        "\x1b[31mred\x1b[0m",
        "\x1b]0;title\x07",
        "\x07",
        "\x08",
        "\x7f",
    ),
    *("\u202eabc", "\u200b", "\ufeff", "\u2028", "é", "e\u0301", "链接", "🦾", "ß", "İ", "\U000e0041", "\u0000x"),
    *("'", '"', "'''", '"""', "`", "`x`", "#", "=", "[", "]]", "$x$", "\\input{x}", "\\end{document}", "a_b", "a__b"),
    *(
        "my__arm",
        "__init__",
        "_",
        "1",
        "1a",
        "nan",
        "inf",
        "None",
        "null",
        "true",
        "class",
        "def",
        "lambda",
        "self",
        "cls",
    ),
    *("import os", "__import__('os').system('true')", "int", "double", "main", "sin", "q", "end", "function", "M", "t"),
    *(
        "<script>alert(1)</script>",
        "<b>",
        "&amp;",
        "](x)",
        "![x](y)",
        "|",
        "a|b",
        "*/",
        "/*",
        "//",
        "??/",
        "% x",
        "--",
        "-x",
    ),
    *("auto", "x" * 61, "x" * 300, "x" * 5000, "é" * 200, "modes", "joint", "base", "upper.joint", "con", "aux.toml"),
    *("rigid-two-link", "canadarm", "beam", "revolute", "fixed", "telescope", "yes", "xyz", "yx", "xx", "w", "y", "z"),
)

DATES = (datetime.date(1979, 5, 27), datetime.time(7, 32), datetime.datetime(1979, 5, 27, 7, 32, tzinfo=datetime.UTC))

WORDS = (
    "cls",
    "self",
    "args",
    "kwargs",
    "data",
    "type",
    "name",
    "model_config",
    "model_fields",
    "__class__",
    "__dict__",
)
"""Keys that mean something to Python or to pydantic."""


def number(rng):
    """A number of any size."""
    draw = rng.random()
    if draw < 0.6:
        return rng.choice(NUMBERS)
    if draw < 0.8:
        return rng.choice((-1, 1, 1)) * 10 ** rng.uniform(-320, 308)
    if draw < 0.97:
        return rng.uniform(-3, 3)
    return 10 ** rng.choice((20, 308, 309, 4000, 5000)) + rng.randrange(10)


def text(rng):
    """A text that is no name."""
    draw = rng.random()
    if draw < 0.75:
        return rng.choice(TEXTS)
    if draw < 0.9:
        return rng.choice(TEXTS) + rng.choice(TEXTS)
    return "".join(chr(code(rng)) for _ in range(rng.randrange(1, 12)))


def code(rng):
    """A code point that UTF-8 can write."""
    while 0xD800 <= (point := rng.randrange(rng.choice((0x20, 0x80, 0x300, 0x3000, 0x11000)))) < 0xE000:
        pass
    return point


def key(rng):
    """A key of a table."""
    return rng.choice(WORDS) if rng.random() < 0.4 else text(rng)


def wrong(rng, depth=0):
    """A value of any type that TOML can write."""
    draw = rng.random()
    if draw < 0.40:
        return number(rng)
    if draw < 0.62:
        return text(rng)
    if draw < 0.70:
        return rng.choice((True, False))
    if draw < 0.73:
        return rng.choice(DATES)
    if draw < 0.76:
        return nested(rng.choice((2, 5, 40, 120)), rng.random() < 0.5)
    if depth > 2:
        return []
    if draw < 0.89:
        return [wrong(rng, depth + 1) for _ in range(rng.choice((0, 1, 2, 3, 3, 4, 9)))]
    return {key(rng): wrong(rng, depth + 1) for _ in range(rng.choice((0, 1, 1, 2, 5)))}


def nested(depth, tables):
    """A list in a list in a list, or tables."""
    value = {} if tables else []
    for _ in range(depth):
        value = {"a": value} if tables else [value]
    return value


# -- TOML --------------------------------------------------------------------------------------------------------------


def toml(table):
    """The table as a TOML text: a line for each key, what lies deeper on that line."""
    return "".join(f"{_key(name)} = {_value(value)}\n" for name, value in table.items())


def _value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return hex(value) if abs(value) > 10**4000 and value > 0 else str(value)
    if isinstance(value, float):
        return repr(value).replace("e+", "e")
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict | list):
        return _nest(value)
    return value.isoformat()


def _nest(value):
    """Without recursion: a value may be nested deeper than Python calls."""
    done, stack = [], [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Text):
            done.append(item.text)
        elif isinstance(item, dict):
            parts = [_Text("{")]
            for i, (name, each) in enumerate(item.items()):
                parts += [_Text(f"{', ' if i else ''}{_key(name)} = "), each]
            stack += reversed([*parts, _Text("}")])
        elif isinstance(item, list):
            parts = [_Text("[")]
            for i, each in enumerate(item):
                parts += [_Text(", " if i else ""), each]
            stack += reversed([*parts, _Text("]")])
        else:
            done.append(_value(item))
    return "".join(done)


class _Text:
    def __init__(self, text):
        self.text = text


def _key(name):
    return name if name and all((c.isalnum() and c.isascii()) or c in "_-" for c in name) else _quoted(name)


def _quoted(text):
    special = {'"': '\\"', "\\": "\\\\"}
    return '"' + "".join(special.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in text) + '"'
