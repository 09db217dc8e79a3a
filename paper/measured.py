"""The paper's table, from the contest's page: `python paper/measured.py`, which `make contest` and `make paper` do.

For each task the largest required error: the time of flexarm and that of the fastest other program, by the clock and
by the processor, lost or won.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "paper" / "paper.md"
PAGE = ROOT / "docs" / "understand" / "contest.md"
WRITTEN = "<!-- end of what make contest wrote -->"
MEASURED = r"^Measured (\S+) .* at commit \w+ on (.+); load "
"""A line below each table."""
BEGIN, END = "<!-- from the contest's page -->\n", "<!-- end of it -->\n"
OURS = "flexarm"
GRADIENTS = "gradient-"
"""Tasks whose error is not one of the tip."""
WIDTHS = 28, 9, 9, 18, 11, 18
"""Of the columns, in proportion."""
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def tables(page: str) -> dict[str, list[dict[str, str]]]:
    """Rows of each section's table, by its columns' names."""
    found = {}
    for section in re.split(r"^## ", page, flags=re.M)[1:]:
        title, *lines = section.splitlines()
        rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines if line.startswith("|")]
        found[title] = [dict(zip(rows[0], row, strict=True)) for row in rows[2:]] if rows else []
    return found


def seconds(shown: str) -> float:
    """Of a time as pages show it; endless where there is none."""
    number, _, unit = shown.partition(" ")
    return float(number) * SECONDS[unit] if unit else float("inf")


def fastest(rows: list[dict[str, str]], clock: str) -> str:
    """Name and time of the fastest other program."""
    row = min((row for row in rows if row["program"] != OURS), key=lambda row: seconds(row[clock]))
    return f"{row['program']} {shown(row[clock])}" if row[clock] != "-" else "none reaches it"


def shown(time: str) -> str:
    return time.replace("us", "µs")


def table(page: str) -> str:
    """The paper's, of what the contest measured; sections behind it come from other runs."""
    page = page.partition(WRITTEN)[0]
    (programs,) = re.findall(r"^\| other programs \| (.+) \|$", page, re.M)
    dates, machines = (sorted({*found}) for found in zip(*re.findall(MEASURED, page, re.M), strict=True))
    lines = [
        "| Task | Error | flexarm | fastest other | flexarm, processor | fastest other, processor |",
        f"| :{WIDTHS[0] * '-'} | {' | '.join(width * '-' + ':' for width in WIDTHS[1:])} |",
    ]
    for title, rows in tables(page).items():
        if not rows or not {"program", "required error"} <= set(rows[0]) or title.startswith(GRADIENTS):
            continue
        asked = rows[0]["required error"]
        rows = [row for row in rows if row["required error"] == asked]
        ours = next(row for row in rows if row["program"] == OURS)
        cells = [title.partition(":")[0], asked]
        for clock in ("time", "processor"):
            cells += [shown(ours[clock]), fastest(rows, clock)]
        lines.append(f"| {' | '.join(cells)} |")
    days = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    caption = (
        f"Time of a run for an error of the tip, by the clock and by the processor; medians, {days}, "
        f"{' and '.join(machines)}. {programs}.\\label{{tab:contest}}"
    )
    return "\n".join(["", f"Table: {caption}", "", *lines, "", ""])


def renewed(paper: str, page: str) -> str:
    """The paper with the page's numbers."""
    before, rest = paper.split(BEGIN)
    return before + BEGIN + table(page) + END + rest.split(END)[1]


if __name__ == "__main__":
    PAPER.write_text(renewed(PAPER.read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
