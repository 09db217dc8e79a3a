"""JavaScript in Node: what the package writes, run."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from flexarm.closed_forms.formats import JAVASCRIPT
from flexarm.closed_forms.formats.javascript import javascript
from flexarm.closed_forms.formats.statements import source

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no Node")


def node(folder, script, *options, **files):
    """What a script prints as JSON; other scripts stand beside it, NAME.js each."""
    for name, text in files.items():
        (folder / f"{name}.js").write_text(text, encoding="utf-8")
    (folder / "main.js").write_text(script, encoding="utf-8")
    run = subprocess.run(
        [NODE, *options, "main.js"], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    return json.loads(run.stdout)


def in_javascript(program, states, folder):
    """The numbers of a program's JavaScript at each state, by output; states may have "p"."""
    made = source(program, JAVASCRIPT)
    given = [[list(s[x]) for x in (*program.inputs, "p") if x in s] for s in states]
    script = f"""
        const f = require("./program.js");
        const found = {json.dumps(given)}.map((x) => f(...x));
        console.log(JSON.stringify(found, (_, v) => v instanceof Float64Array ? Array.from(v, String) : v));
    """
    found = node(folder, script, program=javascript(program))
    shapes = program.outputs.items()
    return [{x: np.array(each[made.names[x]], dtype=float).reshape(shape) for x, shape in shapes} for each in found]
