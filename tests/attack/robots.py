"""Robots in URDF, MJCF and SDF files, with and without a `flex.toml` beside them: numbers, names, attributes and
elements changed, gone, twice or moved, and damaged bytes; what is accepted is built, evaluated and moved."""

import re
import warnings
from pathlib import Path

import numpy as np

import flexarm as fa

from . import tables, values
from .arms import MOST, finite, whole
from .results import damaged
from .right import ROBOT

LIMITS = '<limit lower="-1" upper="1" effort="9" velocity="2"/><dynamics damping="0.1" friction="0.2"/>'
URDF = ROBOT.replace('type="continuous"', 'type="revolute"').replace("<axis", f"{LIMITS}<axis")
MJCF = """<mujoco model="arm"><option gravity="0 0 -9.81"/><worldbody>
<body name="upper" pos="0 0 0.1"><inertial pos="0.2 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
<joint name="shoulder" axis="0 0 1" damping="0.1" armature="0.01" range="-1 1" limited="true"/>
<body name="fore" pos="0.5 0 0" euler="0 10 0"><geom type="box" size="0.2 0.02 0.02" mass="0.5"/>
<joint name="elbow" axis="0 1 0" stiffness="2" frictionloss="0.1"/><site name="tip" pos="0.4 0 0"/></body></body>
</worldbody><actuator><motor name="m" joint="shoulder" gear="2"/></actuator></mujoco>
"""
SDF = """<sdf version="1.9"><world name="shop"><gravity>0 0 -9.8</gravity><model name="floor"><static>true</static>
<link name="plate"/></model><include><uri>part.sdf</uri><pose relative_to="floor">0 0 0.2 0 0 0.1</pose></include>
</world></sdf>
"""
BODY = """<inertial><pose>0.2 0 0 0 0 0</pose><mass>1</mass>
<inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"""
PART = f"""<sdf version="1.9"><model name="arm" canonical_link="upper" placement_frame="foot">
<frame name="foot" attached_to="upper"><pose relative_to="shoulder">0 0 -0.1 0 0 0</pose></frame>
<link name="upper"><pose degrees="true">0 0 0.1 0 10 0</pose>{BODY}</link>
<joint name="shoulder" type="revolute"><pose>0 0 0.1 0 0 0</pose><parent>world</parent><child>upper</child>
<axis><xyz expressed_in="foot">0 0 1</xyz><limit><lower>-1</lower><upper>1</upper><effort>9</effort></limit>
<dynamics><damping>0.1</damping><friction>0.2</friction></dynamics></axis></joint>
<model name="inner"><pose relative_to="upper" rotation_format="quat_xyzw">0.5 0 0 0 0 0.6 0.8</pose>
<link name="fore">{BODY}</link><frame name="tip"><pose>0.4 0 0 0 0 0</pose></frame></model>
<joint name="elbow" type="continuous"><parent>upper</parent><child>inner::fore</child><axis><xyz>0 1 0</xyz><dynamics>
<spring_stiffness>2</spring_stiffness><spring_reference>0.3</spring_reference></dynamics></axis></joint></model></sdf>
"""
FLEX = {
    "tip": "fore",
    "base": "fixed",
    "gravity": [0.0, 0.0, -9.81],
    "links": {"upper": {"EI": 10.0, "modes": {"y": 1}}},
    "joints": {"elbow": {"rotor_inertia": 0.1}},
}


def case(rng, folder, note):
    kind = rng.choice(("urdf", "urdf", "mjcf", "sdf", "included", "including"))
    text, done = {"urdf": URDF, "mjcf": MJCF, "including": SDF}.get(kind, PART), []
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        change = rng.choice(CHANGES)
        text, what = change(rng, text)
        done.append(what)
    raw = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.15:
        raw, what = damaged(rng, raw)
        done.append(what)
    path = folder / {"urdf": "robot.urdf", "mjcf": "robot.xml", "included": "part.sdf"}.get(kind, "robot.sdf")
    path.write_bytes(raw)
    if kind == "included":
        path = folder / "robot.sdf"
        path.write_text(SDF)
    elif kind == "including":
        (folder / "part.sdf").write_text(PART)
    if rng.random() < 0.4:
        table, more = tables.mutated(rng, FLEX, [FLEX])
        (folder / "robot.flex.toml").write_bytes(tables.content(rng, table, more))
        done += [f"flex.toml: {each}" for each in more]
    note(f"{kind}: {', '.join(done)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.NotUnderstood)
        arm = fa.load(path)
    if not arm.coordinates or len(arm.coordinates) > MOST:
        return "accepted but still or large"
    model = fa.Model(arm)
    finite("mass matrix", model.mass_matrix(np.array(arm.rest)))
    whole(fa.simulate(model, 1e-3, samples=3, progress=False))
    return "moved"


NUMBER = re.compile(r"(?<=[\" >])-?\d+\.?\d*(?=[\" <])")
ATTRIBUTE = re.compile(r"\s[\w]+=\"[^\"]*\"")
ELEMENT = re.compile(r"<(\w+)\b[^<>]*/>|<(\w+)\b[^<>]*>[^<>]*</\2>")
WORD = re.compile(r"(?<=[<>\s\"/:])[a-z_]{3,}(?=[<\s\"=>/:])")
ODD = (
    "1e308",
    "-1e308",
    "1e999",
    "nan",
    "inf",
    "1e-308",
    "0",
    "-1",
    "1,5",
    "0x10",
    "",
    "1 2",
    "1e40",
    "1_0",
    "٣",
    "+.5e-2",
)


def _at(rng, text, pattern):
    """A place where a pattern fits; the whole text where none does."""
    found = [*pattern.finditer(text)]
    one = rng.choice(found) if found else re.search(r"(?s).*", text)
    return one.start(), one.end(), one.group()


def _shown(number):
    """A number as a text; Python writes no integer of thousands of digits."""
    return repr(number) if abs(number) < 1e300 or isinstance(number, float) else "1" + 400 * "0"


def _number(rng, text):
    a, b, old = _at(rng, text, NUMBER)
    new = rng.choice(ODD) if rng.random() < 0.7 else _shown(values.number(rng))
    return text[:a] + new + text[b:], f"{old[:20]} -> {new[:20]}"


def _attribute(rng, text):
    a, b, old = _at(rng, text, ATTRIBUTE)
    new = rng.choice(("", old + old, old.replace('="', '="' + rng.choice(("&lt;", "&#0;", "&x;", "]]>", " ", "é")))))
    return text[:a] + new + text[b:], f"{old[:30].strip()} -> {new[:30].strip()!r}"


def _element(rng, text):
    a, b, old = _at(rng, text, ELEMENT)
    other = _at(rng, text, ELEMENT)[2]
    new = rng.choice(("", old + old, other, f"<!-- {old} -->", f"<deep>{old}</deep>", old.replace("/>", ">")))
    return text[:a] + new + text[b:], f"{old[:30]} -> {new[:30]!r}"


def _word(rng, text):
    a, b, old = _at(rng, text, WORD)
    new = _at(rng, text, WORD)[2] if rng.random() < 0.6 else values.text(rng)[:60].replace('"', "'").replace("<", "(")
    return text[:a] + new + text[b:], f"{old[:20]} -> {new[:20]!r}"


def _entity(rng, text):
    head = rng.choice(
        (
            '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
            '<!DOCTYPE x SYSTEM "/etc/passwd">',
            '<?xml version="1.0" encoding="utf-7"?>',
            '<?xml version="2.0"?>',
            "<?php x ?>",
            "\ufeff",
            "words first ",
        )
    )
    return head + text, f"begins with {head[:30]!r}"


CHANGES = (_number, _number, _number, _attribute, _element, _word, _entity)


def warm():
    """Load each once."""
    for text, name in ((URDF, "warm.urdf"), (MJCF, "warm.xml"), (PART, "warm.sdf")):
        Path(name).write_text(text)
        fa.load(name)
        Path(name).unlink()
