"""The engine of a live arm in Node, without a page."""

import json
from functools import cache
from importlib.resources import files

import numpy as np
from javascript import node

from flexarm.closed_forms.formats.javascript import javascript
from flexarm.pictures.live import Live
from flexarm.pictures.play import numbers


def made(arm, q=None, target=None, **more):
    """An arm as a page runs it, by default at rest and there to stay."""
    q = np.array(arm.rest) if q is None else np.asarray(q, dtype=float)
    return Live(arm, q, q[list(arm.joints)] if target is None else target, **more)


@cache
def written(live):
    """Return the programs of a live arm as JavaScript by name, and its numbers as JSON."""
    programs = live.programs()
    given = json.dumps(numbers(live, programs), default=lambda x: x.tolist())
    return {program.name: javascript(program) for program in programs}, given


def run(live, script, folder):
    """Run a script of the live page and return its value. The script has the engine `live` and its numbers `given`."""
    programs, given = written(live)
    asset = (files("flexarm.pictures") / "assets" / "live.js").read_text(encoding="utf-8")
    text = "\n".join(
        [
            "globalThis.flexarm = {};",
            *(f"const {name} = require('./{name}.js');" for name in programs),
            asset,
            f"const given = {given};",
            f"const live = new flexarm.Live(given, {{ {', '.join(programs)} }});",
            f"const found = (() => {{ {script} }})();",
            "console.log(JSON.stringify(found, (_, v) => (ArrayBuffer.isView(v) ? Array.from(v) : v)));",
        ]
    )
    return node(folder, text, **programs)
