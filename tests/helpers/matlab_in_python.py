"""A stand-in for MATLAB: the statements that we write, executed one by one in Python."""

import re

import numpy as np


class Matrix:
    """A MATLAB array: indices in parentheses, from 1, in linear order down the columns where there is one."""

    def __init__(self, values):
        self.values = np.atleast_1d(values)

    def __call__(self, *index):
        return self.values.ravel("F")[index[0] - 1] if len(index) == 1 else self.values[tuple(i - 1 for i in index)]

    def __setitem__(self, index, value):
        self.values[(index - 1, 0) if isinstance(index, int) else tuple(i - 1 for i in index)] = value


def translated(text):
    """The functions of a MATLAB file, line for line in Python."""
    lines, results = [], ""
    for line in text.splitlines():
        code = line.partition("%")[0].rstrip()
        if head := re.fullmatch(r"function (?:\[(.*)\]|(\w+)) = (\w+)\((.*)\)", code):
            results = head[1] or head[2]
            arguments = ", ".join(f"{x}=None" for x in head[4].split(", ") if x)
            lines.append(f"def {head[3]}({arguments}):")
            lines += ["    p = SimpleNamespace()"] if head[3] == "parameters" else []
            lines += [f"    nargin = sum(x is not None for x in [{head[4]}])"]
        elif code == "end":
            lines.append(f"    return {results}")
        elif code.strip() == "return":
            lines.append(code + " " + results.partition(",")[0])
        elif code.strip().startswith("if "):
            lines.append(code + ":")
        elif code.strip() not in ("", "end"):
            assert code.endswith(";")
            code = re.sub(r"^( *\w+)\(([0-9, ]+)\) = ", r"\1[\2] = ", code[:-1]).replace("~=", "!=")
            lines.append(code.replace("~", "not ").replace(" & ", " and ").replace(" | ", " or "))
    return "\n".join(lines)
