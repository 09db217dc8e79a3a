"""What `make coverage` has measured, by the folders of the package.

Python sees no line of a function that runs as machine code. Such a function is counted apart: it is covered where a
test has used its machine code, and its lines and branches are left out of the percentages unless Python ran them too
(tests call many of these functions as Python, to compare).
"""

import ast
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

from .faults import FOLDERS

HEAD = "| folder | lines | reached | branches | reached | functions in machine code, used by a test |"


def main(folder):
    files = json.loads((folder / "report.json").read_text(encoding="utf-8"))["files"]
    uses = used(folder / "costs.jsonl")
    totals, missing = defaultdict(Counter), []
    for path, found in sorted(files.items()):
        name = path.rpartition("src/")[2]
        room = name.split("/")[1] if name.split("/")[1] in FOLDERS else "the rest"
        apart = native_lines(Path(path), name, uses, found)
        lines = [i for i in found["missing_lines"] if i not in apart]
        arcs = [arc for arc in found["missing_branches"] if arc[0] not in apart]
        left = len(found["missing_lines"]) - len(lines), len(found["missing_branches"]) - len(arcs)
        summary, total = found["summary"], totals[room]
        total["lines"] += summary["num_statements"] - left[0]
        total["missing lines"] += len(lines)
        total["branches"] += summary["num_branches"] - left[1]
        total["missing branches"] += len(arcs)
        total["functions"] += sum(function.startswith(f"{name}:") for function in uses)
        if room in FOLDERS and (lines or arcs):
            missing.append(f"{name}: lines {spans(lines)}; branches {' '.join(f'{a}->{b}' for a, b in arcs)}")
    print(HEAD, "| --- | ---: | ---: | ---: | ---: | ---: |", sep="\n")
    for room, total in totals.items():
        shares = [
            f"{total[kind]} | {100 * (1 - total[f'missing {kind}'] / max(total[kind], 1)):.1f} %"
            for kind in ("lines", "branches")
        ]
        print(f"| {room} | {' | '.join(shares)} | {total['functions']} |")
    print("", *missing, sep="\n")


def used(path):
    """Functions, `file:name`, whose machine code a test has used."""
    with path.open(encoding="utf-8") as file:
        return {function for entry in map(json.loads, file) for function in entry["translated"]}


def native_lines(path, name, uses, found):
    """Lines of the functions that tests have used as machine code alone."""
    executed, apart = set(found["executed_lines"]), set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and f"{name}:{node.name}" in uses:
            body = set(range(node.body[0].lineno, node.end_lineno + 1))
            if not body & executed:
                apart |= body
    return apart


def spans(lines):
    """Numbers as a text in which neighbours are put together: 3-5, 9."""
    found = []
    for line in lines:
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("build/coverage"))
