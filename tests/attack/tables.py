"""Mutations of tables and of the text of a file; a case has one to five."""

import copy
import math

from .values import key, number, text, toml, wrong


def mutated(rng, table, others):
    """A copy of the table with one to five things wrong or odd, and what they are; parts may come from the others."""
    table, done = copy.deepcopy(table), []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4, 5))):
        name = rng.choices([*OPERATIONS], SHARES)[0]
        place = OPERATIONS[name](rng, table, others)
        done.append(f"{name} at {place}")
    return table, done


def places(table):
    """Every place in a table or list: (container, key, path)."""
    found, stack = [], [(table, "")]
    while stack:
        container, path = stack.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        for each in keys:
            here = f"{path}.{each}" if isinstance(each, str) else f"{path}[{each}]"
            found.append((container, each, here))
            if isinstance(container[each], dict | list) and here.count(".") + here.count("[") < 12:
                stack.append((container[each], here))
    return found


def _replaced(rng, table, others):
    container, each, path = _somewhere(rng, table)
    container[each] = wrong(rng)
    return path


def _scaled(rng, table, others):
    """A number made larger or smaller: most of what comes out is still an arm."""
    numbers = [(c, k, p) for c, k, p in places(table) if isinstance(c[k], int | float) and not isinstance(c[k], bool)]
    if not numbers:
        return _replaced(rng, table, others)
    container, each, path = rng.choice(numbers)
    x, draw = container[each], rng.random()
    if draw < 0.5:
        factor = 10 ** rng.uniform(-3, 3)
    elif draw < 0.85:
        factor = 10 ** rng.uniform(-20, 20)
    else:
        factor = 10 ** rng.uniform(-300, 300)
    if isinstance(x, int) and draw < 0.7:
        container[each] = x + rng.choice((-2, -1, 1, 2, 5, 40))
    else:
        product = (x or 1.0) * factor if abs(x) < 1e300 else 1e308
        container[each] = product if math.isfinite(product) else 1e308
    return path


def _numbered(rng, table, others):
    container, each, path = _somewhere(rng, table)
    container[each] = number(rng)
    return path


def _worded(rng, table, others):
    texts = [(c, k, p) for c, k, p in places(table) if isinstance(c[k], str)]
    if not texts:
        return _replaced(rng, table, others)
    container, each, path = rng.choice(texts)
    container[each] = text(rng)
    return path


def _moved(rng, table, others):
    """A value of the same key from another file: "rod" for "tube", three joints for two."""
    container, each, path = _somewhere(rng, table)
    same = [c[k] for other in others for c, k, _ in places(other) if k == each and isinstance(each, str)]
    container[each] = copy.deepcopy(rng.choice(same) if same else wrong(rng))
    return path


def _crossed(rng, table, others):
    """A part of another file, wherever it comes."""
    container, each, path = _somewhere(rng, table)
    source, name, _ = _somewhere(rng, rng.choice(others))
    part = copy.deepcopy(source[name])
    if isinstance(container, dict) and isinstance(name, str) and rng.random() < 0.7:
        each = name
    container[each] = part
    return path


def _removed(rng, table, others):
    container, each, path = _somewhere(rng, table)
    del container[each]
    return path


def _added(rng, table, others):
    tables = [table, *(c[k] for c, k, _ in places(table) if isinstance(c[k], dict))]
    chosen = rng.choice(tables)
    name = key(rng)
    chosen[name] = wrong(rng)
    return repr(name)[:60]


def _renamed(rng, table, others):
    named = [(c, k, p) for c, k, p in places(table) if isinstance(c, dict)]
    if not named:
        return _replaced(rng, table, others)
    container, each, path = rng.choice(named)
    container[key(rng)] = container.pop(each)
    return path


def _repeated(rng, table, others):
    """A list with an item twice, with one less, turned round, or long."""
    lists = [(c, k, p) for c, k, p in places(table) if isinstance(c[k], list) and c[k]]
    if not lists:
        return _replaced(rng, table, others)
    container, each, path = rng.choice(lists)
    items, draw = container[each], rng.random()
    if draw < 0.35:
        items.append(copy.deepcopy(rng.choice(items)))
    elif draw < 0.65:
        items.pop(rng.randrange(len(items)))
    elif draw < 0.8:
        items.reverse()
    elif draw < 0.9:
        items.insert(rng.randrange(len(items) + 1), wrong(rng))
    else:
        container[each] = [copy.deepcopy(items[0]) for _ in range(rng.choice((10, 30, 200)))]
    return path


def _wrapped(rng, table, others):
    container, each, path = _somewhere(rng, table)
    value = container[each]
    container[each] = [value] if rng.random() < 0.5 else {rng.choice(("type", "y", "value", "family")): value}
    return path


OPERATIONS = {
    "replaced": _replaced,
    "scaled": _scaled,
    "number": _numbered,
    "text": _worded,
    "moved": _moved,
    "crossed": _crossed,
    "removed": _removed,
    "added": _added,
    "renamed": _renamed,
    "repeated": _repeated,
    "wrapped": _wrapped,
}
SHARES = [6 if name == "scaled" else 1 for name in OPERATIONS]
"""What is scaled is often accepted: only then more than the doors is attacked."""


def _somewhere(rng, table):
    """A place, the deeper ones no more likely than the others; an empty table gets something first."""
    if not places(table):
        table["name"] = "x"
    return rng.choice(places(table))


# -- the text of a file ------------------------------------------------------------------------------------------------


def content(rng, table, done):
    """The bytes of a file with the table in it; one in six is damaged as a text too."""
    raw = toml(table).encode("utf-8", "surrogatepass")
    if rng.random() > 0.16 or not raw:
        return raw
    kind = rng.choice(
        ("cut", "flipped", "noise", "line twice", "line gone", "control", "bom", "crlf", "deep", "random")
    )
    done.append(f"text: {kind}")
    at = rng.randrange(len(raw))
    lines = raw.split(b"\n")
    line = rng.randrange(len(lines))
    if kind == "cut":
        return raw[:at]
    if kind == "flipped":
        return raw[:at] + bytes([raw[at] ^ 1 << rng.randrange(8)]) + raw[at + 1 :]
    if kind == "noise":
        return raw[:at] + rng.randbytes(rng.choice((1, 4, 100))) + raw[at:]
    if kind == "line twice":
        return b"\n".join([*lines[: line + 1], *lines[line:]])
    if kind == "line gone":
        return b"\n".join([*lines[:line], *lines[line + 1 :]])
    if kind == "control":
        return raw[:at] + rng.choice((b"\0", b"\x1b[2J", b"\r", b"\x08", b"\x0b", b"\x85")) + raw[at:]
    if kind == "bom":
        return rng.choice((b"\xef\xbb\xbf", b"\xff\xfe")) + raw
    if kind == "crlf":
        return raw.replace(b"\n", b"\r\n")
    if kind == "deep":
        depth = rng.choice((50, 2000, 100_000))
        return raw + b"\nx = " + rng.choice((b"[" * depth, b"[" * depth + b"]" * depth, b"{a=" * depth))
    return rng.randbytes(rng.choice((0, 1, 20, 3000)))
