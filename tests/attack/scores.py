"""Wrong, damaged and strange files of numbers over time, scored against the problems of the public set."""

from functools import cache

from flexarm.problems import names, score
from flexarm.problems.described import place

from . import values
from .judge import Found

DAMAGES = (
    "cell", "cell", "number", "head", "column gone", "column twice", "columns turned", "row gone", "row twice",
    "rows swapped", "cut", "noise", "separator", "lines", "bom", "quotes", "decimals", "long", "other problem", "empty",
)  # fmt: skip


def case(rng, folder, note):
    name = rng.choice(names())
    rows, done = [list(row) for row in _rows(name)], []
    asked = name
    raw = None
    for _ in range(rng.choice((1, 1, 2, 3))):
        damage = rng.choice(DAMAGES)
        done.append(damage)
        if damage == "other problem":
            asked = rng.choice((*names(), values.text(rng)))
        elif raw is None and damage in TABLES and rows and rows[0]:
            TABLES[damage](rng, rows)
        else:
            raw = "\n".join(",".join(row) for row in rows).encode("utf-8", "replace") if raw is None else raw
            raw = TEXTS.get(damage, _cut)(rng, raw)
    if raw is None:
        raw = "\n".join(",".join(row) for row in rows).encode("utf-8", "replace")
    file = folder / "given.csv"
    file.write_bytes(raw)
    path = rng.choice((file, file, file, file, str(file), folder, "/dev/null", values.text(rng)))
    note(f"{name}: {', '.join(done)}; score({asked!r}, {path!r:.80})")
    for column in score(asked, path).columns:
        if not (column.error >= 0.0 and column.rms >= 0.0 and column.rms <= column.error * (1 + 1e-12)):
            raise Found("not finite", f"a score\n{column}")
    return "accepted"


@cache
def _rows(name):
    text = (place(name) / "trajectory.csv").read_text(encoding="utf-8")
    return tuple(tuple(line.split(",")) for line in text.splitlines())


# -- of the table ------------------------------------------------------------------------------------------------------


def _cell(rng, rows):
    row = rng.choice(rows)
    if row:
        row[rng.randrange(len(row))] = values.text(rng)


def _number(rng, rows):
    row = rng.choice(rows[1:] or rows)
    if row:
        x = values.number(rng)
        row[rng.randrange(len(row))] = hex(x) if isinstance(x, int) and abs(x) > 10**4000 else str(x)


def _head(rng, rows):
    k = rng.randrange(len(rows[0]))
    name = rows[0][k]
    odd = (name.upper(), name.replace("[m]", "[mm]"), name.partition(" [")[0], " [m]", "[]", "a [b] [c]")
    rows[0][k] = rng.choice((*odd, f"{values.text(rng)} [m]", f"tip.x [{values.text(rng)}]", "tip.x [m]", "time [s]"))


def _column(rng, rows, count):
    k = rng.randrange(len(rows[0]))
    for row in rows:
        row[k : k + 1] = row[k : k + 1] * count


def _turned(rng, rows):
    for row in rows:
        row.reverse()


def _row(rng, rows, count):
    k = rng.randrange(len(rows))
    rows[k : k + 1] = [list(row) for row in rows[k : k + 1] * count]


def _swapped(rng, rows):
    i, k = (rng.randrange(len(rows)) for _ in range(2))
    rows[i], rows[k] = rows[k], rows[i]


TABLES = {
    "cell": _cell,
    "number": _number,
    "head": _head,
    "column gone": lambda rng, rows: _column(rng, rows, 0),
    "column twice": lambda rng, rows: _column(rng, rows, rng.choice((2, 300))),
    "columns turned": _turned,
    "row gone": lambda rng, rows: _row(rng, rows, 0),
    "row twice": lambda rng, rows: _row(rng, rows, 2),
    "rows swapped": _swapped,
}


# -- of the text -------------------------------------------------------------------------------------------------------


def _cut(rng, raw):
    return raw[: rng.randrange(len(raw) + 1)]


def _noise(rng, raw):
    at = rng.randrange(len(raw) + 1)
    return raw[:at] + rng.choice((b"\0", b"\x1b[2J", b'"', b"\xff", b"\xe2\x80\xa8", rng.randbytes(9))) + raw[at:]


TEXTS = {
    "cut": _cut,
    "noise": _noise,
    "separator": lambda rng, raw: raw.replace(b",", rng.choice((b";", b"\t", b" ", b" , ", b"|"))),
    "lines": lambda rng, raw: raw.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b"\n \n", b",\n", b"\x0b"))),
    "bom": lambda rng, raw: rng.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\xef\xbb\xbf" * 2)) + raw,
    "quotes": lambda rng, raw: b'"' + raw.replace(b",", b'","').replace(b"\n", b'"\n"'),
    "decimals": lambda rng, raw: raw.replace(b".", b","),
    "long": lambda rng, raw: raw + rng.choice((b"9", b"x", b",", b"\n")) * rng.choice((1000, 200_000)),
    "empty": lambda rng, raw: b"",
}

assert {*TABLES} | {*TEXTS} | {"other problem"} == {*DAMAGES}
