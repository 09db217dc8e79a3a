"""SDF files in MuJoCo, after a conversion that only the tests use, and random SDF models.

    PYTHONPATH=src:tests/helpers python tests/helpers/sdf_mujoco.py FILES...

prints for each file the difference between the accelerations of the arm and those of MuJoCo.

The conversion shares neither code nor methods with the package. All names are made absolute, such as
"world::robot::hand::palm". Poses are products of 4 x 4 matrices along the references between them.
"""

# ruff: noqa: E501  (elements of one line)

import re
import sys
import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco as mj
import numpy as np
from mjcf_mujoco import Theirs, frictionless
from robot_files import state
from scipy.spatial.transform import Rotation

import flexarm as fa

ROOT = "world"


def parsed(path):
    """The root element, also where tools that write SDF leave out what XML asks for."""
    text = Path(path).read_text(encoding="utf-8", errors="replace").replace("drake:", "").replace("gz:", "")
    return ET.fromstring(text[max(text.find("<sdf"), 0) :])


def main_file(folder):
    """The file of a model's folder that its model.config names last."""
    config = folder / "model.config"
    named = ET.parse(config).getroot().findall("sdf") if config.is_file() else []
    return named[-1].text.strip() if named else "model.sdf"


def number(holder, tag, default=0.0):
    text = holder.findtext(tag) if holder is not None else None
    return default if text is None else float(text)


def matrix(pose):
    """The 4 x 4 matrix of a <pose>."""
    X = np.eye(4)
    values = [float(x) for x in ("" if pose is None else pose.text or "").split()]
    if values:
        X[:3, 3] = values[:3]
        if pose.get("rotation_format") == "quat_xyzw":
            X[:3, :3] = Rotation.from_quat(values[3:]).as_matrix()
        else:
            X[:3, :3] = Rotation.from_euler("xyz", values[3:], degrees=pose.get("degrees") == "true").as_matrix()
    return X


class Flat:
    """Everything in an SDF file by absolute names: poses, links, joints."""

    def __init__(self, path):
        self.base = {ROOT: (None, np.eye(4), "")}  # the frame it is relative to, the pose, the frame of a model there
        self.on = {ROOT: ROOT}
        self.links, self.joints, self.frames, self.gravity = {}, {}, [], (0.0, 0.0, -9.81)
        root = parsed(path)
        self.minor, self.folder = int(root.get("version").split(".")[1]), Path(path).parent
        world, model = root.find("world"), root.find("model")
        if model is not None:
            self.model(model, ROOT, lambda name: ROOT, self.minor, self.folder)
        else:
            inner = world.findtext("gravity") or world.findtext("physics/gravity") or "0 0 -9.8"
            self.gravity = [float(x) for x in inner.split()]
            self.contents(world, ROOT, ROOT, self.minor, self.folder, False)
        for table in (self.base, self.on):  # a joint gives its name to its frame if no other element does
            for name in [*table]:
                table.setdefault(name.removesuffix(" (joint)"), table[name])
        self.resolved = {name: self.pose(name) for name in self.base}

    def pose(self, name, stop=None):
        """The pose of a frame in another one that lies on its way to the world."""
        X = np.eye(4)
        while name != stop and name is not None:
            base, raw, placed = self.base[name]
            X = raw @ (np.linalg.inv(self.pose(placed, name)) if placed else np.eye(4)) @ X
            name = base
        return X

    def model(self, element, scope, absolute, minor, folder, include=None):
        name = element.get("name")
        given = {} if include is None else {x.tag: (x.text or "").strip() for x in include}
        name = f"{scope}::{given.get('name', name)}"
        pose, placement = element.find("pose"), element.get("placement_frame", "")
        if include is not None and include.find("pose") is not None:
            pose, placement = include.find("pose"), given.get("placement_frame", placement)
        relative = "" if pose is None else pose.get("relative_to", "")
        merged = include is not None and include.get("merge") == "true"
        frame = f"{scope}::(merged {element.get('name')})" if merged else name
        inner = scope if merged else name
        static = (element.findtext("static") or "") in ("1", "true") or given.get("static") in ("1", "true")
        self.base[frame] = (absolute(relative), matrix(pose), f"{inner}::{placement}" if placement else "")
        self.contents(element, inner, frame, minor, folder, static)
        first = next((x.get("name") for x in element if x.tag in ("link", "model")), None)
        leader = element.get("canonical_link") or first
        self.on[frame] = ROOT if static else f"{inner}::{leader}"

    def contents(self, holder, scope, frame, minor, folder, static):
        def absolute(name):
            if name == "world" and holder.find("link[@name='world']") is None:
                return ROOT
            return frame if name in ("", "__model__") else f"{scope}::{name}"

        for element in holder:
            name, pose = f"{scope}::{element.get('name')}", element.find("pose")
            relative = "" if pose is None else pose.get("relative_to", pose.get("frame", "") if minor <= 6 else "")
            if element.tag == "model":
                self.model(element, scope, absolute, minor, folder)
            elif element.tag == "include":
                uri = element.findtext("uri").strip().replace("model://", "").replace("file://", "")
                places = [folder / uri, folder.parent / uri]
                places = [path / main_file(path) if path.is_dir() else path for path in places]
                path = next((path for path in places if path.is_file()), None)
                if path is None and holder.tag == "world":
                    continue
                root = parsed(path)
                inner = int(root.get("version").split(".")[1])
                self.model(root.find("model"), scope, absolute, inner, path.parent, element)
            elif element.tag == "link":
                self.base[name], self.on[name] = (absolute(relative), matrix(pose), ""), name
                self.links[name] = (element, scope, static)
            elif element.tag == "frame":
                attached = absolute(element.get("attached_to", ""))
                self.base[name] = (absolute(relative) if relative else attached, matrix(pose), "")
                self.on[name] = attached
                self.frames.append(name)
            elif element.tag == "joint":
                child = absolute(element.findtext("child").strip())
                key = f"{name} (joint)"
                self.base[key] = (absolute(relative) if relative else child, matrix(pose), "")
                self.on[key] = child
                axis = element.find("axis")
                xyz = None if axis is None else axis.find("xyz")
                expressed = "" if xyz is None else xyz.get("expressed_in", "")
                of_model = minor <= 4 or (
                    minor <= 6 and axis is not None and axis.findtext("use_parent_model_frame") in ("1", "true")
                )
                ends = absolute(element.findtext("parent").strip()), child
                self.joints[name] = (
                    element,
                    key,
                    ends,
                    frame if of_model else absolute(expressed) if expressed else key,
                )

    def link_of(self, name):
        while self.on[name] != name:
            name = self.on[name]
        return name


def called(name, flat):
    """A name as the report has it: without the world, and without the model if there is only one that moves."""
    parts = name.split("::")
    models = {link.split("::")[1] for link, (_, _, static) in flat.links.items() if not static}
    return "::".join(parts[2:] if models <= {parts[1]} else parts[1:])


def to_mjcf(path, base=None):
    """The MJCF text of an SDF file: a body for each link, and a site for each <frame>. `base` is the free base."""
    flat = Flat(path)
    X = flat.resolved
    on = {}
    for name, (_, _, ends, _) in flat.joints.items():
        parent, child = map(flat.link_of, ends)
        if all(link == ROOT or flat.links[link][2] for link in (parent, child)):
            continue  # in a static model
        on.setdefault(parent, []).append((name, child, 1.0))
        on.setdefault(child, []).append((name, parent, -1.0))
    done, used = set(), set()

    def body(link, carrier, joint, sign):
        done.add(link)
        element, _, _ = flat.links[link]
        here = np.linalg.inv(X[carrier]) @ X[link]
        text = f'<body name="{called(link, flat)}" {placed(here)}>'
        if joint == "free":
            text += f'<freejoint name="{called(link, flat)} (free)"/>'
        elif joint is not None:
            text += hinge(joint, link, sign)
        text += inertial(element.find("inertial"), link)
        for frame in flat.frames:
            if flat.link_of(frame) == link:
                text += f'<site name="{called(frame, flat)}" {placed(np.linalg.inv(X[link]) @ X[frame])}/>'
        return text + outward(link) + "</body>"

    def outward(link):
        text = ""
        for name, other, sign in on.get(link, ()):
            if other not in done and name not in used:
                used.add(name)
                text += body(other, link, name, sign)
        return text

    def hinge(name, link, sign):
        element, key, _, frame = flat.joints[name]
        kinds = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "ball": "ball"}
        kind = kinds.get(element.get("type"))
        if kind is None:
            assert element.get("type") == "fixed"
            return ""
        axis = element.find("axis")
        xyz = np.array([float(x) for x in (axis.findtext("xyz") or "0 0 1").split()])
        inward = np.linalg.inv(X[link])
        along = inward[:3, :3] @ X[frame][:3, :3] @ xyz * sign
        at = (inward @ X[key])[:3, 3]
        loss = axis.find("dynamics")
        numbers = f'damping="{number(loss, "damping")}" stiffness="{number(loss, "spring_stiffness")}"'
        rotor = number(element, "rotor_inertia") * number(element, "gear_ratio", 1.0) ** 2
        numbers += f' springref="{number(loss, "spring_reference")}" armature="{rotor}"'
        return (
            f'<joint name="{called(name, flat)}" type="{kind}" axis="{text_of(along)}" pos="{text_of(at)}" {numbers}/>'
        )

    def inertial(element, link):
        if element is None:
            return '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        pose, tensor = element.find("pose"), element.find("inertia")
        C = matrix(pose)
        if pose is not None and pose.get("relative_to"):
            scope = flat.links[link][1]
            C = np.linalg.inv(X[link]) @ X[f"{scope}::{pose.get('relative_to')}"] @ C
        entries = {key: number(tensor, key, float(key[1] == key[2])) for key in "ixx iyy izz ixy ixz iyz".split()}
        I = np.array([[entries["i" + "".join(sorted(r + c))] for c in "xyz"] for r in "xyz"])
        I = C[:3, :3] @ I @ C[:3, :3].T
        full = text_of([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
        return f'<inertial pos="{text_of(C[:3, 3])}" mass="{number(element, "mass", 1.0)}" fullinertia="{full}"/>'

    text = "".join(f'<site name="{called(x, flat)}" {placed(X[x])}/>' for x in flat.frames if flat.link_of(x) == ROOT)
    for link, (_, _, static) in flat.links.items():
        if static:
            text += body(link, ROOT, None, 1.0)
    text += outward(ROOT)
    children = {flat.link_of(ends[1]) for _, _, ends, _ in flat.joints.values()}
    for link in sorted(flat.links, key=lambda link: called(link, flat) != base):
        if link not in done and (link not in children or called(link, flat) == base):
            text += body(link, ROOT, "free", 1.0)
    assert done == set(flat.links)
    option = f'<compiler angle="radian" balanceinertia="false"/><option gravity="{text_of(flat.gravity)}"/>'
    return f"<mujoco>{option}<worldbody>{text}</worldbody></mujoco>"


def text_of(values):
    return " ".join(repr(float(x)) for x in np.ravel(values))


def placed(X):
    quat = Rotation.from_matrix(X[:3, :3]).as_quat(scalar_first=True)
    return f'pos="{text_of(X[:3, 3])}" quat="{text_of(quat)}"'


def theirs(path, report):
    """An SDF file in MuJoCo, asked and answering as the arm of the report."""
    notes = [re.match("link '(.*)' is the free base", note) for note in report.notes]
    base = next((found[1] for found in notes if found), None)
    return Theirs(mj.MjModel.from_xml_string(to_mjcf(path, base)), report)


# -- models at random --------------------------------------------------------------------------------------------------


def pose(rng, relative="", size=0.4):
    """A <pose> in any of its forms."""
    p, turn = rng.uniform(-size, size, 3), Rotation.random(random_state=int(rng.integers(2**31)))
    to = f' relative_to="{relative}"' if relative else ""
    kind = rng.choice(["rad", "deg", "quat"])
    if kind == "quat":
        return f'<pose{to} rotation_format="quat_xyzw">{text_of(p)} {text_of(turn.as_quat())}</pose>'
    angles = turn.as_euler("xyz", degrees=kind == "deg")
    return (
        f"<pose{to}{' degrees=' + chr(34) + 'true' + chr(34) if kind == 'deg' else ''}>{text_of([*p, *angles])}</pose>"
    )


def inertial(rng, relative=""):
    R = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
    a, b, c = rng.uniform(0.05, 0.3, 3)
    I = R @ np.diag([b + c, a + c, a + b]) @ R.T
    entries = "".join(
        f"<i{r}{c}>{float(I[i, j])!r}</i{r}{c}>" for i, r in enumerate("xyz") for j, c in enumerate("xyz") if i <= j
    )
    return f"<inertial>{pose(rng, relative)}<mass>{rng.uniform(0.5, 4)!r}</mass><inertia>{entries}</inertia></inertial>"


def random_sdf(seed, balls=False):
    """A tree of up to 10 links: frames on frames, every way to say a pose and an axis, nested models, joints to either
    side; on the world or free. Every third joint is a ball joint if `balls` is true."""
    rng = np.random.default_rng([seed, 902])
    count = int(rng.integers(5, 10))
    known, parts, links = ["__model__"], [], ["l0"]
    parts.append(f'<link name="l0">{pose(rng)}{inertial(rng)}</link>')
    known.append("l0")
    fixed = seed % 2 == 0
    if fixed:
        parts.append('<joint name="stand" type="fixed"><parent>world</parent><child>l0</child></joint>')
    for i in range(1, count):
        frame, link, joint = f"f{i}", f"l{i}", f"j{i}"
        on = str(rng.choice(known))
        parts.append(f'<frame name="{frame}" attached_to="{on}">{pose(rng, str(rng.choice(known)))}</frame>')
        known.append(frame)
        nested = rng.random() < 0.3
        inside = f'<link name="{link}">{pose(rng)}{inertial(rng)}</link><frame name="end">{pose(rng)}</frame>'
        to = str(rng.choice(known))
        if nested:
            place = rng.choice(["", ' placement_frame="end"'])
            parts.append(f'<model name="n{i}"{place}>{pose(rng, to)}{inside}</model>')
            link = f"n{i}::{link}"
            known.append(f"n{i}::end")
        else:
            parts.append(
                f'<link name="{link}">{pose(rng, to)}{inertial(rng, frame if rng.random() < 0.3 else "")}</link>'
            )
        known.append(link)
        carrier = str(rng.choice(links))
        links.append(link)
        kind = str(rng.choice(["revolute", "continuous", "prismatic", "fixed"], p=[0.4, 0.2, 0.25, 0.15]))
        kind = "ball" if balls and i % 3 == 1 else kind
        ends = (carrier, link) if rng.random() < 0.8 else (link, carrier)
        expressed = str(rng.choice(["", *known]))
        said = f' expressed_in="{expressed}"' if expressed else ""
        spring = f"<spring_stiffness>{rng.uniform(1, 9)!r}</spring_stiffness><spring_reference>{rng.uniform(-1, 1)!r}</spring_reference>"
        sprung = rng.random() < 0.5 and kind != "ball"
        loss = f"<dynamics><damping>{rng.uniform(0, 2)!r}</damping>{spring if sprung else ''}</dynamics>"
        axis = f"<axis><xyz{said}>{text_of(rng.normal(size=3))}</xyz>{loss}</axis>" if kind != "fixed" else ""
        where = pose(rng, str(rng.choice(["", *known])))
        parts.append(
            f'<joint name="{joint}" type="{kind}">{where}<parent>{ends[0]}</parent><child>{ends[1]}</child>{axis}</joint>'
        )
    order = rng.permutation(len(parts)) if seed % 3 else range(len(parts))
    text = "\n".join(parts[i] for i in order)
    return f'<sdf version="1.9"><model name="random">{pose(rng)}\n{text}\n<frame name="tool" attached_to="{links[-1]}"/></model></sdf>\n'


def main(paths):
    for path in paths:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = fa.robot_report(path)
        except fa.DescriptionError as error:
            print(path, "REFUSED", str(error).removeprefix(path)[:150], flush=True)
            continue
        if not report.joints:
            print(path, "nothing moves", flush=True)
            continue
        try:
            other = theirs(path, report)
        except Exception as error:  # of any kind: its message is reported
            print(path, "NOT CONVERTED", repr(error)[:100], flush=True)
            continue
        model, worst = fa.Model(frictionless(report.arm)), 0.0
        for seed in range(3):
            q, qd, u = state(report.arm, seed)
            mine = np.array(model.function("forward_dynamics")(q, qd, u)).squeeze(axis=1)
            expected = other.forward_dynamics(q, qd, u)
            worst = max(worst, np.abs(mine - expected).max() / max(1.0, np.abs(expected).max()))
        print(path, "free" if report.arm.free else "fixed", len(report.joints), f"mujoco {worst:.1e}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
