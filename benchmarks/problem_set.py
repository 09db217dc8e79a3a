"""The converged trajectories of the public set (`flexarm benchmark-set`), with their uncertainty, anew.

    python -m benchmarks.problem_set [NAME]...

Each problem is solved once as well as we can, and then with one thing changed at a time: the method and its tolerance,
the discretisation where the continuum is meant, and the code: Pinocchio with SciPy's DOP853 for rigid links, Exudyn's
geometrically exact cables for planar arms. The largest difference that a change makes is the uncertainty. Needs the
extras `peers` and `crosscheck`.
"""

import hashlib
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import flexarm as fa
from benchmarks import exudyn_models
from flexarm.description.arm import tensor
from flexarm.scenario import Scenario

Array = np.ndarray
SET = Path(fa.__file__).parent / "problems" / "set"

BEST = {"method": "dop853", "rtol": 1e-12, "solver": fa.Solver(atol=1e-13)}
OTHER = {"method": "rk45", "rtol": 1e-11, "solver": fa.Solver(atol=1e-13)}
STIFF = {"method": "radau9", "rtol": 1e-11, "solver": fa.Solver(atol=1e-12)}
OTHER_STIFF = {"method": "dop853", "rtol": 1e-9, "solver": fa.Solver(atol=1e-11)}
"""Ours: what counts, and what it is compared with."""


@dataclass(frozen=True)
class Refined:
    """Numbers of segments a beam, the finer ones count; of Exudyn's cables elements a link, steps, axial stiffness [N]
    and spectral radius."""

    finer: int
    coarser: int
    elements: int = 0
    steps: int = 0
    axial: float = 0.0
    radius: float = 1.0


REFINED = {
    "two-link-rigid-joints-small": Refined(4, 3, 24, 12000, 1e6),
    "two-link-large": Refined(6, 5, 24, 12000, 1e6),
    "two-link-absolute-rotors-small": Refined(4, 3, 24, 12000, 1e6),
    "two-link-absolute-rotors-large": Refined(6, 5, 24, 12000, 1e6),
    "canadarm-slew": Refined(4, 3, 16, 12000, 1e9),
    "spin-up-beam": Refined(8, 6, 32, 48000, 1e9, 0.9),
    "spatial-gravity": Refined(3, 2),
}
"""Of problems whose solution is that of the continuum."""


# -- ours --------------------------------------------------------------------------------------------------------------


def meshed(arm: fa.Arm, segments: int) -> fa.Arm:
    """The arm with so many segments for each beam."""
    links = [
        link.replace(body=link.body.replace(segments=segments)) if isinstance(link.body, fa.Beam) else link
        for link in arm.links
    ]
    return arm.replace(links=links)


def ours(scenario: Scenario, arm: fa.Arm, names: list[str], settings: dict[str, Any]) -> tuple[Array, Array]:
    """Times, and the columns that are asked for, (samples, columns)."""
    model = fa.Model(arm)
    run = fa.simulate(model, progress=False, **(scenario.arguments(model) | settings))
    return run.time.values, np.column_stack([column(run, name) for name in names])


def column(run: Any, name: str) -> Array:
    if name.startswith("tip."):
        return run.tip.values[:, "xyz".index(name[-1])]
    return run.q.sel(coordinate=name).values


def units(arm: fa.Arm, names: list[str]) -> list[str]:
    known = dict(zip(arm.coordinates, arm.units, strict=True))
    return ["m" if name.startswith("tip.") else known[name].replace("1", "") for name in names]


# -- Exudyn ------------------------------------------------------------------------------------------------------------


def exudyn(scenario: Scenario, arm: fa.Arm, refined: Refined) -> dict[str, Array]:
    """The tip by cables, at the times of the scenario, extrapolated to no stretch: what that does goes with 1/EA."""
    drives = exudyn_models.torques(fa.Model(arm), scenario.arguments(fa.Model(arm))["u"], scenario.until)
    tips = []
    for axial in (refined.axial / 4, refined.axial):
        peer = exudyn_models.cables(arm, [refined.elements] * len(arm.inputs), axial, drives, scenario.until)
        tolerance = 1e-6 if axial > 1e6 else 1e-8
        settings = exudyn_models.Settings(refined.steps, tolerance, tolerance * axial * 1e-5, refined.radius)
        _, tip = peer.run(settings, scenario.samples)
        if tip is None:
            raise SystemExit(f"{scenario.name}: Exudyn's Newton iteration gave up at EA = {axial:g} N")
        tips.append(tip)
    tip = tips[1] + (tips[1] - tips[0]) / 3
    return {"tip.x": tip[:, 0], "tip.y": tip[:, 1]}


# -- Pinocchio ---------------------------------------------------------------------------------------------------------


class Rigid:
    """An arm of rigid links, with springs and rotors that turn on their own, on a base that is fixed or free."""

    def __init__(self, arm: fa.Arm):
        import pinocchio as pin

        self.pin, self.arm, model = pin, arm, pin.Model()
        self.model = model
        self.free = arm.base is not None and arm.base.free
        model.gravity.linear = np.array(arm.gravity)
        parent, before = 0, pin.SE3.Identity()
        if self.free:
            parent = model.addJoint(0, pin.JointModelFreeFlyer(), before, "base")
            body = pin.Inertia(arm.base.mass, np.array(arm.base.com), tensor(arm.base.inertia))
            model.appendBodyToJoint(parent, body, pin.SE3.Identity())
        joints, rotors = [], []
        for link in arm.links:
            axis, body = np.array(link.joint.axis), link.body
            here = before * pin.SE3(pin.rpy.rpyToMatrix(*link.placement.rpy), np.array(link.placement.xyz))
            carrier = parent
            parent = model.addJoint(carrier, pin.JointModelRevoluteUnaligned(axis), here, link.name)
            model.appendBodyToJoint(
                parent,
                pin.Inertia(body.mass, np.array([body.length / 2, 0, 0]), tensor(body.inertia)),
                pin.SE3.Identity(),
            )
            joints.append(parent)
            if link.joint.stiffness is not None:
                rotor = model.addJoint(carrier, pin.JointModelRevoluteUnaligned(axis), here, f"{link.name}'s rotor")
                about = pin.Inertia(0.0, np.zeros(3), link.joint.rotor_inertia * np.outer(axis, axis))
                model.appendBodyToJoint(rotor, about, pin.SE3.Identity())
                rotors.append(rotor)
            before = pin.SE3(np.eye(3), np.array([body.length, 0, 0]))
        if arm.payload is not None:
            tip = pin.Inertia(arm.payload.mass, np.zeros(3), tensor(arm.payload.inertia))
            model.appendBodyToJoint(parent, tip, before)
        self.data, self.last, self.end = model.createData(), parent, before
        self.q_of = [model.joints[j].idx_q for j in joints]
        self.v_of = [model.joints[j].idx_v for j in joints]
        self.rotor_q = [model.joints[j].idx_q for j in rotors]
        self.rotor_v = [model.joints[j].idx_v for j in rotors]
        self.ratio, self.k, self.d = (
            np.array([getattr(link.joint, field) or 0.0 for link in arm.links])
            for field in ("gear_ratio", "stiffness", "spring_damping")
        )

    def rate(self, x: Array, u: Array) -> Array:
        """Of (q, v)."""
        q, v = x[: self.model.nq].copy(), x[self.model.nq :]
        qd, tau = np.zeros(self.model.nq), np.zeros(self.model.nv)
        qd[self.q_of] = v[self.v_of]
        if self.rotor_q:
            qd[self.rotor_q] = v[self.rotor_v]
            motor, rate = q[self.rotor_q] / self.ratio, v[self.rotor_v] / self.ratio
            spring = self.k * (motor - q[self.q_of]) + self.d * (rate - v[self.v_of])
            tau[self.v_of], tau[self.rotor_v] = spring, (u - spring) / self.ratio
        else:
            tau[self.v_of] = u
        if self.free:
            q[3:7] /= np.linalg.norm(q[3:7])
            turn = self.pin.Quaternion(q[3:7])
            qd[:3] = turn.toRotationMatrix() @ v[:3]
            half = self.pin.Quaternion(np.r_[v[3:6], 0.0] / 2)
            qd[3:7] = (turn * half).coeffs()
        return np.r_[qd, self.pin.aba(self.model, self.data, q, v, tau)]

    def columns(self, x: Array) -> dict[str, float]:
        q = x[: self.model.nq].copy()
        found: dict[str, float] = {}
        if self.free:
            q[3:7] /= np.linalg.norm(q[3:7])
            names = ("x", "y", "z", "qx", "qy", "qz", "qw")
            found |= {f"base.{name}": value for name, value in zip(names, q[:7], strict=True)}
        self.pin.forwardKinematics(self.model, self.data, q)
        place = (self.data.oMi[self.last] * self.end).translation
        found |= {f"tip.{axis}": value for axis, value in zip("xyz", place, strict=True)}
        names = [link.name for link in self.arm.links]
        found |= {f"{name}.joint": q[i] for name, i in zip(names, self.q_of, strict=True)}
        if self.rotor_q:
            angles = q[self.rotor_q] / self.ratio
            found |= {f"{name}.motor": angle for name, angle in zip(names, angles, strict=True)}
        return found


def pinocchio(scenario: Scenario, arm: fa.Arm) -> dict[str, Array]:
    """Every column, at the times of the scenario."""
    from scipy.integrate import solve_ivp

    peer = Rigid(arm)
    given = scenario.arguments(fa.Model(arm))
    begin = dict(zip(arm.coordinates, arm.rest if given["q0"] is None else given["q0"], strict=True))
    q = peer.pin.neutral(peer.model)
    q[peer.q_of] = [begin[f"{link.name}.joint"] for link in arm.links]
    x = np.r_[q, np.zeros(peer.model.nv)]
    times = np.linspace(0.0, scenario.until, scenario.samples)
    rows = [peer.columns(x)]
    for a, b, u in pieces(given["u"], scenario.until, len(arm.links)):
        inside = times[(times > a + 1e-12) & (times < b - 1e-12)]
        asked = np.r_[inside, b]
        way = solve_ivp(lambda _, x, u=u: peer.rate(x, u), (a, b), x, "DOP853", t_eval=asked, rtol=1e-12, atol=1e-13)
        x = way.y[:, -1]
        sampled = np.abs(times - b).min() < 1e-12
        rows += [peer.columns(each) for each in (way.y.T if sampled else way.y.T[:-1])]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def pieces(u: Any, until: float, width: int) -> Iterable[tuple[float, float, Array]]:
    """From when to when which torques act."""
    if u is None:
        yield 0.0, until, np.zeros(width)
        return
    edges = [*u.times, until]
    for a, b, value in zip(edges, edges[1:], u.values_, strict=False):
        if a < until:
            yield float(a), float(min(b, until)), np.array(value)


# -- both --------------------------------------------------------------------------------------------------------------


def converge(name: str) -> None:
    """Solve a problem and write its trajectory and uncertainty."""
    import tomllib

    here = SET / name
    names = tomllib.loads((here / "problem.toml").read_text())["columns"]
    scenario = fa.load_scenario(here / "scenario.toml")
    arm, refined = scenario.loaded_arm(), REFINED.get(name)
    # each change: what it is, and what then comes out
    changed: list[tuple[str, dict[str, Array]]] = []

    def by(arm: fa.Arm, settings: dict[str, Any]) -> Array:
        return ours(scenario, arm, names, settings)[1]

    if refined is None:
        times, best = ours(scenario, arm, names, BEST)
        found = f"flexarm: {told(BEST)}"
        changed.append((f"the method: {told(OTHER)}", columns_of(names, by(arm, OTHER))))
        changed.append((f"the code: {versions('pinocchio')}, SciPy's DOP853 with rtol 1e-12", pinocchio(scenario, arm)))
    else:
        finer, coarser = meshed(arm, refined.finer), meshed(arm, refined.coarser)
        times, best = ours(scenario, finer, names, STIFF)
        found = f"flexarm: {refined.finer} segments a beam, {told(STIFF)}"
        changed.append((f"the method: {told(OTHER_STIFF)}", columns_of(names, by(finer, OTHER_STIFF))))
        changed.append((f"the mesh: {refined.coarser} segments a beam", columns_of(names, by(coarser, STIFF))))
        if refined.elements:
            what = f"{refined.elements} ANCF cables a beam, {refined.steps} steps, extrapolated to no stretch"
            changed.append((f"the code: {versions('exudyn')}, {what}", exudyn(scenario, arm, refined)))
    write(here, times, names, units(arm, names), best, found, changed)


def columns_of(names: list[str], values: Array) -> dict[str, Array]:
    return dict(zip(names, values.T, strict=True))


def told(settings: dict[str, Any]) -> str:
    return f"{settings['method']} with rtol {settings['rtol']:g}"


def versions(package: str) -> str:
    from importlib.metadata import version

    return {"pinocchio": "Pinocchio {}", "exudyn": "Exudyn {}"}[package].format(
        version({"pinocchio": "pin"}.get(package, package))
    )


def write(
    here: Path,
    times: Array,
    names: list[str],
    units: list[str],
    best: Array,
    found: str,
    changed: list[tuple[str, dict[str, Array]]],
) -> None:
    heads = ["time [s]", *(f"{name} [{unit}]" for name, unit in zip(names, units, strict=True))]
    rows = (",".join(f"{x:.15g}" for x in row) for row in np.column_stack([times.round(12), best]))
    (here / "trajectory.csv").write_text("\n".join([",".join(heads), *rows]) + "\n", newline="\n")
    lines = [
        f"found_with = {json.dumps(found)}",
        f"changes = {json.dumps([what for what, _ in changed])}",
        "",
    ]
    for name, x in zip(names, best.T, strict=True):
        made = [float(np.abs(other[name] - x).max()) if name in other else -1.0 for _, other in changed]
        lines += [f"[columns.{json.dumps(name)}]", f"uncertainty = {max([*made, 1e-13]):.2e}"]
        lines += [f"changes = [{', '.join(f'{each:.2e}' if each >= 0.0 else 'nan' for each in made)}]", ""]
        print(f"  {name:14} {' '.join(f'{each:10.2e}' for each in made)}")
    (here / "converged.toml").write_text("\n".join(lines), newline="\n")


def sums() -> None:
    """The checksums of all files of the set, as `sha256sum` writes them."""
    paths = sorted(p.relative_to(SET).as_posix() for p in SET.rglob("*") if p.is_file() and p.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256((SET / path).read_bytes()).hexdigest()}  {path}\n" for path in paths]
    (SET / "SHA256SUMS").write_text("".join(lines), newline="\n")


def main(asked: list[str]) -> None:
    for name in asked or sorted(each.name for each in SET.iterdir() if each.is_dir()):
        print(name, flush=True)
        converge(name)
    sums()


if __name__ == "__main__":
    main(sys.argv[1:])
