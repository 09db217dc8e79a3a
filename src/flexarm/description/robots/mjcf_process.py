"""Program that has MuJoCo compile an MJCF file in a process of its own, and writes the model as JSON.

For a wrong file, `python mjcf_process.py FILE` ends with status 3 and one line with the reason. MuJoCo reads meshes,
writes logs into its working folder, and takes any amount of memory that a file demands. In this process that harms no
other. It imports MuJoCo alone, since the caller waits.

MuJoCo compiles the whole model, since sums over it must be MuJoCo's own: a tendon's inertia counts in a joint's
`springdamper`. Files of shapes are read only if a body's inertia follows from them. All others may be missing, and
small objects replace them. If MuJoCo rejects the model, elements that do not affect the motion are deleted and named.
The time for deleting elements grows with the square of their number, so nothing else is deleted.
"""

import contextlib
import json
import math
import os
import sys
from typing import Any

SECONDS, MEMORY = 20, 4 << 30
"""Limits of processor time [s] and of address space [bytes]."""

REFUSED = 3
"""Exit status for a wrong file. The reason is on standard output."""

OLDEST = 4_000_000
"""Version number of MuJoCo 4.0.0, the first with all attributes that are read here."""

MOVE_NOTHING = "keys sensors skins pairs excludes cameras lights texts numerics tuples tendons materials textures"
"""Elements that do not affect a model's motion, except tendons with inertia."""
CLOSING = ("connect", "weld")
"""Kinds of equality constraints that close loops."""
SMALLEST = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)), ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
"""Vertices and faces of a small mesh, a tetrahedron."""


def limit() -> None:
    """Set limits at which the system ends this process. They exceed the needs of any robot."""
    if sys.platform == "win32":
        return
    import resource

    for what, most in {resource.RLIMIT_CPU: SECONDS, resource.RLIMIT_AS: MEMORY, resource.RLIMIT_CORE: 0}.items():
        soft, hard = resource.getrlimit(what)
        lowest = min(x for x in (most, soft, hard) if x != resource.RLIM_INFINITY)
        with contextlib.suppress(ValueError, OSError):  # macOS rejects an address space below what is already reserved
            resource.setrlimit(what, (lowest, hard))


def said(path: str) -> dict[str, Any]:
    """Return the contents of a compiled file. Raises MuJoCo's errors, and `ValueError`."""
    import mujoco as mj

    if mj.mj_version() < OLDEST:
        raise ValueError(f"MuJoCo {mj.__version__} is installed; reading MJCF files needs MuJoCo 4.0 or newer")
    spec = read(mj, path)
    found: dict[str, Any] = {"name": spec.modelname, "strange": []}
    found["equalities"] = [
        {"kind": kind(each.type), "names": [each.name1, each.name2], "active": bool(each.active), "line": line(each)}
        | {"data": each.data[:5].tolist(), "name": each.name}
        for each in spec.equalities
    ]
    found["tendons"] = [tendon(each) for each in spec.tendons]
    found["elsewhere"] = [
        {"name": each.name, "line": line(each), "on": kind(each.trntype)}
        for each in spec.actuators
        if not is_read(mj, spec, each)
    ]
    found["flexes"], found["plugins"] = len(spec.flexes), len(spec.plugins) + bool(spec.hasImplicitPluginElem)
    simplify(mj, spec)
    try:
        model = spec.compile()
    except ValueError as error:
        spec = read(mj, path)
        if weighed_tendons(spec):
            raise
        simplify(mj, spec)
        strip(mj, spec)
        model = spec.compile()
        found["refused"] = str(error)
        found["closing"] = closing(mj, spec, model)
        return found | compiled(mj, spec, model) | {"ropes": [], "pulls": []}
    found["closing"] = closing(mj, spec, model)
    found["ropes"] = [rope(mj, model, each.id) for each in spec.tendons]
    found["pulls"] = [actuator(mj, model, each) for each in spec.actuators if each.trntype == mj.mjtTrn.mjTRN_TENDON]
    return found | compiled(mj, spec, model)


def read(mj: Any, path: str) -> Any:
    """Return the specification of a file with any ending. MuJoCo accepts only files that end in .xml as its own.

    A file with another ending is passed under a name that ends in .xml in the same folder, so that its includes are
    found.
    """
    if path.endswith(".xml"):
        return mj.MjSpec.from_file(path)
    with open(path, "rb") as file:
        return mj.MjSpec.from_file(f"{path}.xml", include={f"{path}.xml": file.read()})


def simplify(mj: Any, spec: Any) -> None:
    """Replace each file that does not affect the motion by a small object, and delete elements for simulators only."""
    meshes, fields = set(), set()
    for body in spec.bodies[1:]:  # the first is the world; a list of all shapes would take long
        for geom in body.geoms:
            if weighs(mj, spec, body, geom):
                meshes.add(geom.meshname)
                fields.add(geom.hfieldname)
    for mesh in spec.meshes:
        if mesh.file and called(mesh) not in meshes:
            mesh.file, mesh.scale, mesh.needsdf = "", (1, 1, 1), False
            mesh.usernormal, mesh.usertexcoord, mesh.userfacenormal, mesh.userfacetexcoord = [], [], [], []
            mesh.uservert, mesh.userface = ([x for row in rows for x in row] for rows in SMALLEST)
    for field in spec.hfields:
        if field.file and called(field) not in fields:
            field.file, field.nrow, field.ncol, field.userdata = "", 2, 2, [0, 0, 0, 1]
    for texture in spec.textures:
        if texture.file or any(texture.cubefiles):
            texture.file, texture.cubefiles = "", [""] * 6
            texture.builtin, texture.width, texture.height = mj.mjtBuiltin.mjBUILTIN_FLAT, 1, 1
    for skin in list(spec.skins):
        spec.delete(skin)
    spec.compiler.fusestatic, spec.compiler.discardvisual, spec.compiler.usethread = False, False, False
    spec.compiler.LRopt.mode = mj.mjtLRMode.mjLRMODE_NONE  # of muscles, which would need a simulation
    spec.memory, spec.nuserdata, spec.nkey = -1, 0, 0
    for what in "body jnt geom site cam tendon actuator sensor".split():
        setattr(spec, f"nuser_{what}", -1)


def called(asset: Any) -> str:
    """Return the name of an asset, or the name of its file if it has none."""
    return str(asset.name or os.path.splitext(os.path.basename(asset.file))[0])


def strip(mj: Any, spec: Any) -> None:
    """Delete the elements that do not affect the motion. Small spheres replace shapes without mass."""
    meshes, fields = set(), set()
    for body in spec.bodies:
        for geom in body.geoms:
            geom.material = ""
            if body.id and weighs(mj, spec, body, geom):
                meshes.add(geom.meshname)
                fields.add(geom.hfieldname)
            else:
                geom.type, geom.size, geom.fromto = mj.mjtGeom.mjGEOM_SPHERE, [1, 1, 1], [math.nan] * 6
                geom.mass, geom.meshname, geom.hfieldname = 0, "", ""
    for site in spec.sites:
        site.material, site.meshname = "", ""
        if site.type == mj.mjtGeom.mjGEOM_MESH:
            site.type = mj.mjtGeom.mjGEOM_SPHERE
    for actuator in list(spec.actuators):
        if not is_read(mj, spec, actuator):
            spec.delete(actuator)
    for each in list(spec.equalities):
        if kind(each.type) not in CLOSING:
            spec.delete(each)
    for kinds in MOVE_NOTHING.split():
        for each in list(getattr(spec, kinds)):
            spec.delete(each)
    for assets, used in ((spec.meshes, meshes), (spec.hfields, fields)):
        for each in list(assets):
            if called(each) not in used:
                spec.delete(each)
            elif hasattr(each, "material"):
                each.material = ""


def is_read(mj: Any, spec: Any, actuator: Any) -> bool:
    """Return whether an actuator acts on a joint, or on a site that exists."""
    if actuator.trntype == mj.mjtTrn.mjTRN_SITE:
        return spec.site(actuator.target) is not None
    return bool(actuator.trntype == mj.mjtTrn.mjTRN_JOINT)


def weighed_tendons(spec: Any) -> bool:
    """Return whether springs follow from the inertia of the whole model, which includes tendons."""
    return any(tendon.armature for tendon in spec.tendons) and any(any(joint.springdamper) for joint in spec.joints)


def weighs(mj: Any, spec: Any, body: Any, geom: Any) -> bool:
    """Return True if a body's inertia follows from a shape."""
    compiler = spec.compiler
    first, last = compiler.inertiagrouprange
    rule = mj.mjtInertiaFromGeom
    wanted = compiler.inertiafromgeom == rule.mjINERTIAFROMGEOM_TRUE or (
        compiler.inertiafromgeom == rule.mjINERTIAFROMGEOM_AUTO and not body.explicitinertial
    )
    heavy = geom.density != 0.0 if math.isnan(geom.mass) else geom.mass != 0.0
    return bool(wanted and first <= geom.group <= last and heavy)


def line(element: Any) -> int:
    """Return the line of an element in its file, or 0 if MuJoCo does not give it."""
    number = element.info.strip().removeprefix("line ").partition(" ")[0]
    return int(number) if number.isdigit() else 0


def kind(value: Any) -> str:
    """Return the name of a member of one of MuJoCo's enumerations, in lower case and without the common prefix."""
    return str(value.name).partition("_")[2].lower()


def tendon(each: Any) -> dict[str, Any]:
    """Return a tendon, with those of its properties that act on the motion."""
    acts = [
        name
        for name in ("stiffness", "damping", "frictionloss", "armature", "springyield", "limited")
        if any(np_list(getattr(each, name, 0.0)))
    ]
    if "limited" in acts and each.limited != 1:  # automatic: limited if a range is given
        acts = [*(x for x in acts if x != "limited"), *(["limited"] if any(each.range) else [])]
    return {"name": each.name, "line": line(each), "acts": acts}


def rope(mj: Any, m: Any, i: int) -> dict[str, Any]:
    """Return the path and the spring of a compiled tendon. `sites` are its sites, or None if it has other parts."""
    parts = range(m.tendon_adr[i], m.tendon_adr[i] + m.tendon_num[i])
    straight = all(m.wrap_type[k] == mj.mjtWrap.mjWRAP_SITE for k in parts)
    return {
        "id": int(i), "sites": [int(m.wrap_objid[k]) for k in parts] if straight and len(parts) > 1 else None,
        "stiffness": float(m.tendon_stiffness[i]), "damping": float(m.tendon_damping[i]),
        "spring": m.tendon_lengthspring[i].tolist(),
        "more": [
            f"{name} of higher order"
            for name in ("stiffness", "damping") if any(np_list(getattr(m, f"tendon_{name}poly")[i]))
        ],
    }  # fmt: skip


def closing(mj: Any, spec: Any, m: Any) -> list[list[dict[str, Any]]]:
    """Return the two ends of each equality constraint that closes a loop, in the order of the file.

    An end is a frame on a body. A <connect> joins only the origins of the frames.
    """
    return [
        [end(mj, m, each.id, side) for side in (0, 1)]
        for each in sorted(spec.equalities, key=lambda each: each.id)
        if kind(each.type) in CLOSING
    ]


def end(mj: Any, m: Any, i: int, side: int) -> dict[str, Any]:
    """Return the frame of a constraint on its first or second body. The data are those of `mj_instantiateEquality`."""
    at, data = int((m.eq_obj1id, m.eq_obj2id)[side][i]), m.eq_data[i]
    weld = m.eq_type[i] == mj.mjtEq.mjEQ_WELD
    found = {"still": bool(weld and data[10])}  # a weld without torque holds only the origins
    if m.eq_objtype[i] == mj.mjtObj.mjOBJ_SITE:
        pos, quat = m.site_pos[at].tolist(), m.site_quat[at].tolist()
        return found | {"body": int(m.site_bodyid[at]), "pos": pos, "quat": quat}
    first = 3 * (1 - side if weld else side)
    turned = weld and side == 0
    quat = data[6:10].tolist() if turned else [1.0, 0.0, 0.0, 0.0]
    return found | {"body": at, "pos": data[first : first + 3].tolist(), "quat": quat}


def np_list(value: Any) -> list[Any]:
    """Return a number, or an array of numbers, as a list."""
    flat = getattr(value, "tolist", lambda: value)()
    return flat if isinstance(flat, list) else [flat]


def compiled(mj: Any, spec: Any, m: Any) -> dict[str, Any]:
    """Return the bodies, joints, sites and actuators of a compiled model."""
    bodies = []
    for each in sorted(spec.bodies, key=lambda body: body.id):
        i = each.id
        bodies.append({"name": each.name, "line": line(each), "parent": int(m.body_parentid[i])} | {
            key: getattr(m, f"body_{key}")[i].tolist() for key in "pos quat mass ipos iquat inertia gravcomp".split()
        } | {"mocap": int(m.body_mocapid[i]) >= 0})  # fmt: skip
    joints = []
    for each in sorted(spec.joints, key=lambda joint: joint.id):
        j = each.id
        v, at = m.jnt_dofadr[j], m.jnt_qposadr[j]
        joints.append({
            "name": each.name, "line": line(each), "body": int(m.jnt_bodyid[j]), "kind": kind(m_joint(mj, m, j)),
            "pos": m.jnt_pos[j].tolist(), "axis": m.jnt_axis[j].tolist(), "ref": float(m.qpos0[at]),
            "range": m.jnt_range[j].tolist() if m.jnt_limited[j] else None,
            "effort": m.jnt_actfrcrange[j].tolist() if m.jnt_actfrclimited[j] else None,
            "stiffness": float(m.jnt_stiffness[j]), "rest": float(m.qpos_spring[at]),
            "armature": float(m.dof_armature[v]), "damping": float(m.dof_damping[v]),
            "frictionloss": float(m.dof_frictionloss[v]),
            "more": [
                name
                for name, value in {
                    "stiffness of higher order": m.jnt_stiffnesspoly[j],
                    "damping of higher order": m.dof_dampingpoly[v],
                    "springyield": m.jnt_springyield[j], "actuatorgravcomp": m.jnt_actgravcomp[j],
                }.items()
                if any(np_list(value))
            ],
        })  # fmt: skip
    actuators = []
    for each in sorted(spec.actuators, key=lambda actuator: actuator.id):
        if is_read(mj, spec, each):
            actuators.append(actuator(mj, m, each))
    sites = [
        {"name": mj.mj_id2name(m, mj.mjtObj.mjOBJ_SITE, i) or "", "body": int(m.site_bodyid[i])}
        | {"pos": m.site_pos[i].tolist(), "quat": m.site_quat[i].tolist()}
        for i in range(m.nsite)
    ]
    flags = int(m.opt.disableflags)
    off = [kind(flag) for name, flag in mj.mjtDisableBit.__members__.items() if "DSBL" in name and flags & int(flag)]
    option = {key: getattr(m.opt, key) for key in ("density", "viscosity")}
    option |= {key: getattr(m.opt, key).tolist() for key in ("gravity", "wind")}
    return {
        "bodies": bodies, "joints": joints, "actuators": actuators, "sites": sites, "option": option, "off": off,
    }  # fmt: skip


def actuator(mj: Any, m: Any, each: Any) -> dict[str, Any]:
    """Return an actuator of a compiled model."""
    i = each.id
    return {
        "name": each.name, "line": line(each), "on": kind(mj.mjtTrn(int(m.actuator_trntype[i]))),
        "at": int(m.actuator_trnid[i, 0]), "seen_from": int(m.actuator_trnid[i, 1]),
        "gear": m.actuator_gear[i].tolist(), "dynamics": kind(mj.mjtDyn(int(m.actuator_dyntype[i]))),
        "gain": kind(mj.mjtGain(int(m.actuator_gaintype[i]))), "gains": m.actuator_gainprm[i].tolist(),
        "bias": kind(mj.mjtBias(int(m.actuator_biastype[i]))), "biases": m.actuator_biasprm[i].tolist(),
        "force": m.actuator_forcerange[i].tolist() if m.actuator_forcelimited[i] else None,
        "ctrl": m.actuator_ctrlrange[int(m.actuator_ctrladr[i])].tolist()
        if m.actuator_ctrlnum[i] == 1 and m.actuator_ctrllimited[int(m.actuator_ctrladr[i])] else None,
        "armature": float(m.actuator_armature[i]), "damping": float(m.actuator_damping[i]),
        "more": [
            name
            for name, value in {
                "damping of higher order": m.actuator_dampingpoly[i], "delay": m.actuator_delay[i],
            }.items()
            if any(np_list(value))
        ],
    }  # fmt: skip


def m_joint(mj: Any, m: Any, j: int) -> Any:
    """Return the kind of a joint."""
    return mj.mjtJoint(int(m.jnt_type[j]))


def main(path: str) -> int:
    limit()
    try:
        content, status = json.dumps(said(path)), 0
    except MemoryError:
        content, status = "reading it takes too much memory", REFUSED
    except Exception as error:  # MuJoCo reports errors by several kinds of exception
        content, status = str(error), REFUSED
    sys.stdout.buffer.write(content.encode(errors="replace"))
    sys.stdout.buffer.flush()
    return status


if __name__ == "__main__":
    os._exit(main(sys.argv[1]))  # skips MuJoCo's cleanup
