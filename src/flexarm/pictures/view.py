"""A result in the browser: what `fa.view` puts into a page, and where the page goes."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm import escape
from flexarm.checks import Fault, checked_flag, checked_instance, checked_names, checked_result, refused, shown
from flexarm.closed_forms.formats.javascript import javascript
from flexarm.description.arm import Arm
from flexarm.errors import DescriptionError
from flexarm.files import checked_path, write_whole
from flexarm.model import Model
from flexarm.model.linear import without_inertia
from flexarm.pictures.drawing import drawing_program, drawn
from flexarm.pictures.page import page
from flexarm.pictures.solids import solids

if TYPE_CHECKING:
    from xarray import Dataset

Array = np.ndarray

SCRIPTS = ("view.css", "motion.js", "controls.js", "player.js", "plots.js", "view.js", "results.js", "modes.js", "start.js")

SUFFIXES = (".html", ".htm")

MOST_RESULTS = 8
"""On one page, beyond which nobody tells them apart."""

MOST_SAMPLES, MOST_NUMBERS, LEAST_SAMPLES = 4001, 400_000, 201
"""Of a result that a page holds, of all its results together, and of a result that has very many coordinates."""

LARGEST = 1e12
"""Of a coordinate that can be drawn, in SI units."""

UNSEEN = 1e-3
"""Of the largest deflection: a component that stays below lies on the axis of its plot."""

SWING = 0.1
"""Of an arm's size: how far a mode swings, and how far the sliders of an arm at rest bend a link."""

PREFIXES = ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "\N{MICRO SIGN}"))


@final
@dataclass(frozen=True)
class Page:
    """A page that is not written yet. A notebook shows it in place.

    Attributes
    ----------
    title : str
    html : str
        All of it.
    """

    title: str
    html: str

    def save(self, path: str | PathLike[str]) -> Path:
        """Write it, whole or not at all; raises `DescriptionError` where that cannot be done."""
        return write_whole(path, self.html.encode())

    def __repr__(self) -> str:
        return f"Page({self.title!r}: {len(self.html) / 1e6:.2f} MB)"

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 640px; border: 0"
        frame = f'<iframe sandbox="allow-scripts" style="{style}" title="{escape.html(self.title)}" '
        return frame + f'srcdoc="{escape.html(self.html)}"></iframe>'


def view(
    what: Any,
    path: str | PathLike[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    show: bool = True,
    modes: bool = False,
    q: Any = None,
    locked: bool = True,
) -> Path | Page:
    """An arm in the browser: one HTML file that holds all it needs, and opens from disk without a network.

    Results move: with a clock, deflections magnified, bending moments as colours, the reference as a ghost, plots over
    time. An arm at rest has sliders for its coordinates, or swings in its natural modes.

    Parameters
    ----------
    what : xarray.Dataset, list or dict of them, Model or Arm
        A result of `simulate`; several in one picture, at most 8, of one arm or several, with their names as keys of
        a dict; runs of an ensemble, `ensemble.isel(run=[0, 7])`; or an arm.
    path : path, optional
        Of the file. Without one a `Page` is returned, which a notebook shows.
    names : list of str, optional
        What results are called; default their own names.
    show : bool
        Whether a file is opened, where there is a browser.
    modes : bool
        An arm's natural modes, with their frequencies.
    q : (n,), optional
        About which configuration, of an arm; default at rest.
    locked : bool
        Whether the drives are held in the modes, as in `Model.modes`.

    Returns
    -------
    pathlib.Path or Page

    Raises
    ------
    DescriptionError
        When a result lacks q, has none that is finite, or its arm cannot be built again from what it says of it; when
        there are too many results; where the file cannot be written.
    """
    with refused("view"):
        checked_flag(show, "show")
    if path is not None and Path(checked_path(path)).suffix.lower() not in SUFFIXES:
        raise DescriptionError(f"view: path is {shown(path)}; it must end with {' or '.join(SUFFIXES)}")
    made = viewed(what, names=names, modes=modes, q=q, locked=locked)
    if path is None:
        return made
    written = made.save(path)
    if show:
        opened(written)
    return written


def viewed(what: Any, *, names: Any = None, modes: bool = False, q: Any = None, locked: bool = True) -> Page:
    """The page that `view` writes."""
    with refused("view"):
        checked_flag(modes, "modes")
        checked_flag(locked, "locked")
        if isinstance(what, Arm | Model):
            if names is not None:
                raise Fault("names", "is given for an arm; results have names")
            model = Model(what) if isinstance(what, Arm) else what
            return _modes(model, q, locked) if modes else _still(model, q)
        if modes or q is not None:
            raise Fault("modes" if modes else "q", "is given for results; it belongs to an Arm or a Model")
        return _results(_named(what, names))


def opened(path: Path) -> bool:
    """Whether a browser with windows was asked to show a file. One that runs in a terminal would take it over."""
    windows = sys.platform in ("darwin", "win32") or any(os.environ.get(x) for x in ("DISPLAY", "WAYLAND_DISPLAY"))
    if not windows:
        return False
    import webbrowser

    try:
        return webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        return False


# -- results -----------------------------------------------------------------------------------------------------------


def _named(what: Any, names: Any) -> dict[str, "Dataset"]:
    """Results by their names, each its own; raises `Fault`."""
    from xarray import Dataset

    if isinstance(what, Mapping) and not isinstance(what, Dataset):
        if names is not None:
            raise Fault("names", "is given beside a dict; its keys are the names")
        given, names = [*what.values()], [*what]
    else:
        given = [*what] if isinstance(what, list | tuple) else [what]
    if not given:
        raise Fault("results", "is empty; give a result, or several")
    for each in given:
        if not isinstance(each, Dataset):
            known = "a result of simulate, a list or dict of them, a Model or an Arm"
            raise Fault("", f"what shall be shown is {shown(each)}; it must be {known}")
    called = given if names is None else checked_names(names, "names of the results", "names")
    if len(called) != len(given) or not all(isinstance(x, str) for x in called if names is not None):
        raise Fault("names", f"is {shown(names)}; it must have {len(given)} texts, one a result")
    found: dict[str, Dataset] = {}
    for each, name in zip(given, called, strict=True):
        for own, run in _runs(each):
            own_name = name if names is not None else str(own.attrs.get("name", "")) or _arm_name(own)
            _add(found, f"{own_name}, run {run}" if run is not None else own_name, own)
    return found


def _arm_name(result: "Dataset") -> str:
    return str(result.attrs.get("title", "")).partition(":")[0] or "result"


def _runs(given: "Dataset") -> list[tuple["Dataset", Any]]:
    """A result alone, or the runs of an ensemble with what they are called."""
    if "run" not in given.dims:
        return [(given, given["run"].item() if "run" in given.coords else None)]
    if given.sizes["run"] > MOST_RESULTS:
        some = "choose some, as in ensemble.isel(run=[0, 7])"
        raise Fault("", f"it is an ensemble of {given.sizes['run']} runs; at most {MOST_RESULTS} are shown: {some}")
    return [(given.isel(run=i), run) for i, run in enumerate(given["run"].values.tolist())]


def _add(found: dict[str, "Dataset"], name: str, result: "Dataset") -> None:
    if len(found) == MOST_RESULTS:
        raise Fault("results", f"has more than {MOST_RESULTS}; nobody tells more apart")
    count, free = 1, name
    while free in found:
        count += 1
        free = f"{name} ({count})"
    found[free] = result


def _results(results: dict[str, "Dataset"]) -> Page:
    """The page of results."""
    arms = _Arms()
    for name, result in results.items():
        with refused(f"result {name!r}" if len(results) > 1 else ""):
            checked_result(result, ("q", "role"))
    rows = [_row(name, result, arms, len(results)) for name, result in results.items()]
    panels = _panels(list(results.values()), [row.pop("rows") for row in rows])
    title = next(iter(results)) if len(results) == 1 else " and ".join(results)
    data = {
        "kind": "results",
        "title": title,
        "about": _about(list(results.values())),
        "arms": arms.described,
        "results": rows,
        "panels": panels,
    }
    return _page(title, data, arms)


def _about(results: list["Dataset"]) -> str:
    """One line below the title."""
    arms = dict.fromkeys(map(_arm_name, results))
    inputs = dict.fromkeys(str(result.attrs.get("input_description", "")) for result in results)
    return " \N{MIDDLE DOT} ".join(filter(None, (*arms, *(inputs if len(results) == 1 else ()))))


def model_of(result: "Dataset") -> Model:
    """The model of a result, built again from what the result says of its arm and of the numbers that varied.

    Raises `DescriptionError` where that does not suffice: shapes that are an object of the user's stand in a result by
    name alone.
    """
    try:
        arm = Arm.from_json(str(result.attrs.get("arm", "")))
        if "parameters" in result.attrs:
            values = json.loads(str(result.attrs["parameters"]))
        elif "p" in result.variables and "parameter" in result.coords:
            values = dict(zip(result["parameter"].values.tolist(), result["p"].values.tolist(), strict=True))
        else:
            return Model(arm)
        return Model(arm, list(values)).at(values)
    except (DescriptionError, ValueError, TypeError) as error:
        raise DescriptionError(f"the arm of the result cannot be built again: {error}") from None


def _row(name: str, result: "Dataset", arms: "_Arms", count: int) -> dict[str, Any]:
    """What a page holds of a result beside its plots."""
    where = "view" if count == 1 else f"view: result {name!r}"
    try:
        model = model_of(result)
    except DescriptionError as error:
        raise DescriptionError(f"{where}: {error}") from None
    q, t = np.asarray(result.q.values, dtype=float), np.asarray(result.time.values, dtype=float)
    if q.shape != (len(t), len(model.coordinates)) or result.coordinate.values.tolist() != [*model.coordinates]:
        raise DescriptionError(f"{where}: the coordinates of q are not those of its arm")
    seen = np.isfinite(q).all(axis=1) & (np.abs(q) < LARGEST).all(axis=1) & np.isfinite(t)
    known = len(t) if seen.all() else int(np.argmin(seen))
    if not known:
        raise DescriptionError(f"{where}: q is not finite, or beyond all sense")
    most = max(LEAST_SAMPLES, min(MOST_SAMPLES, MOST_NUMBERS // (count * 3 * q.shape[1])))
    rows = np.arange(known) if known <= most else np.unique(np.linspace(0, known - 1, most).round().astype(int))
    notes = []
    if len(rows) < known:
        notes.append(f"{len(rows)} of {known} samples are shown")
    status = str(result["status"].values if "status" in result.variables else result.attrs.get("status", ""))
    if known < len(t) or status not in ("completed", ""):
        end = t[known - 1]
        notes.append(f"ends at {end:.6g} s" + (f": {status}" if status not in ("completed", "") else ""))
    found: dict[str, Any] = {
        "name": name,
        "arm": arms.number(model),
        "time": t[rows],
        "q": q[rows].astype(np.float32),
        "notes": notes,
        "rows": rows,
    }
    if "q_ref" in result.variables:
        wanted = np.asarray(result.q_ref.values, dtype=float)[rows]
        if wanted.shape[1] == len(model.arm.joints) and np.isfinite(wanted).all():
            full = np.zeros((len(rows), q.shape[1]), dtype=np.float32)
            full[:, list(model.arm.joints)] = wanted
            for joint, motor in model.arm.springs:
                full[:, motor] = full[:, joint]
            found["reference"] = full
    return found


class _Arms:
    """The different arms of a page: what each looks like, and the program that draws it."""

    def __init__(self) -> None:
        self.described: list[dict[str, Any]] = []
        self.programs: list[str] = []
        self._known: dict[tuple[str, tuple[str, ...], bytes], int] = {}

    def number(self, model: Model) -> int:
        """Which of them it is."""
        key = model.arm.canonical(), tuple(x.name for x in model.varied), model.p.tobytes()
        if key not in self._known:
            self._known[key] = len(self.described)
            name = f"drawing_{len(self.described)}"
            self.programs.append(javascript(replace(drawing_program(model), name=name)))
            self.described.append({"description": solids(model), "program": name})
        return self._known[key]


def _page(title: str, data: dict[str, Any], arms: _Arms) -> Page:
    return Page(title, page(f"{title} \N{EN DASH} flexarm", data, SCRIPTS, arms.programs))


# -- plots -------------------------------------------------------------------------------------------------------------


def _panels(results: list["Dataset"], rows: list[Array]) -> list[dict[str, Any]]:
    """The plots: of each a title, a unit, and for every result its curves."""
    drawn_ = [_curves(result, i) for result, i in zip(results, rows, strict=True)]
    kinds = dict.fromkeys(kind for curves in drawn_ for kind in curves)
    found = []
    for title, unit in kinds:
        runs = [curves.get((title, unit), []) for curves in drawn_]
        largest = max((float(np.abs(x["values"]).max(initial=0.0)) for items in runs for x in items), default=0.0)
        factor, prefix = 1.0, ""
        if unit.partition("/")[0] != "rad":
            factor, prefix = next((p for p in PREFIXES if largest >= p[0]), PREFIXES[2])
        for items in runs:
            for item in items:
                for part in {"values", "reference"} & {*item}:
                    item[part] = (item[part] / factor).astype(np.float32)
        found.append({"title": title, "unit": prefix + unit, "runs": runs})
    return found


def _curves(result: "Dataset", rows: Array) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Curves of a result by title and unit of their plot, in the order of the plots."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}

    def add(title: str, unit: str, name: str, values: Array, reference: Array | None = None) -> None:
        item: dict[str, Any] = {"name": name, "values": np.nan_to_num(values)}
        if reference is not None:
            item["reference"] = np.nan_to_num(reference)
        found.setdefault((title, unit), []).append(item)

    def values(name: str) -> Array:
        return np.asarray(result[name].values, dtype=float)[rows]

    has = {*result.variables}
    names, units = result.coordinate.values.tolist(), dict(zip(result.coordinate.values.tolist(), result.unit.values.tolist(), strict=True))
    joints = np.flatnonzero(result.role.values == "joint").tolist()
    q = values("q")
    wanted = values("q_ref") if "q_ref" in has else None
    for k, i in enumerate(joints):
        title = "joints" if units[names[i]] == "rad" else "slides"
        reference = wanted[:, k] if wanted is not None and wanted.shape[1] == len(joints) else None
        add(title, units[names[i]], _short(names[i]), q[:, i], reference)
    u = values("u") if "u" in has else None
    if u is not None and np.abs(np.nan_to_num(u)).max(initial=0.0) > 0:
        for k, name in enumerate(result.input.values.tolist()):
            turns = units[name] == "rad"
            add("torques" if turns else "forces", "N m" if turns else "N", _short(name), u[:, k])
    elif "qd" in has:
        qd = values("qd")
        for i in joints:
            add("joint rates", f"{units[names[i]]}/s", _short(names[i]), qd[:, i])
    if "deflection" in has and (largest := np.abs(deflection := np.nan_to_num(values("deflection"))).max(initial=0.0)) > 0:
        for i, link in enumerate(result.link.values.tolist()):
            for c, axis in enumerate("xyz"):
                if np.abs(deflection[:, i, c]).max() > UNSEEN * largest:
                    add("deflection of tips", "m", f"{link} {axis}", deflection[:, i, c])
    elif "tip" in has:
        tip = values("tip")
        for c, axis in enumerate("xyz"):
            add("place of the tip", "m", axis, tip[:, c])
    energies = {"kinetic": "kinetic", "potential": "change of potential", "work": "work", "dissipated": "dissipated"}
    for name, label in energies.items():
        if name in has:
            energy = values(name)
            energy = energy - energy[0] if name == "potential" else energy
            if np.abs(np.nan_to_num(energy)).max(initial=0.0) > 0:
                add("energy", "J", label, energy)
    return found


def _short(name: str) -> str:
    """A coordinate by its link: all in a plot are joints, or drives."""
    return name.removesuffix(".joint").removesuffix(".motor")


# -- arms --------------------------------------------------------------------------------------------------------------


def _configuration(model: Model, q: Any) -> Array:
    found = model.single("view", "q", model.arm.rest if q is None else q)
    if np.abs(found).max(initial=0.0) > LARGEST:
        raise Fault("q", f"has {np.abs(found).max():g}; it must be at most {LARGEST:g} in size to be drawn")
    return found


def _size(model: Model, q: Array) -> float:
    """How large an arm is, from its base [m]."""
    places = drawn(model, q)[0][..., :3].reshape(-1, 3)
    return float(np.ptp(np.vstack([places, np.zeros(3)]), axis=0).max())


def _reach(model: Model, q: Array, direction: Array) -> float:
    """How far the arm's points move per unit along a direction of its coordinates [m]."""
    h = 1e-4 / max(float(np.abs(direction).max()), 1e-300)
    there, back = (drawn(model, q + sign * h * direction)[0][..., :3] for sign in (1, -1))
    return float(np.linalg.norm(there - back, axis=-1).max()) / (2 * h)


def _modes(model: Model, q: Any, locked: bool) -> Page:
    """The page of an arm's natural modes about a configuration."""
    q = _configuration(model, q)
    if fault := without_inertia(model, q):
        raise DescriptionError(f"arm {model.arm.name!r}: {fault}")
    omega, phi = model.modes(q, locked)
    if not len(omega):
        raise DescriptionError(f"arm {model.arm.name!r}: no mode vibrates" + " with the drives held" * locked)
    arms, swing = _Arms(), SWING * _size(model, q)
    rows = []
    for w, shape in zip(omega, phi.T, strict=True):
        amplitude = swing / max(_reach(model, q, shape), 1e-300)
        rows.append({"omega": float(w), "shape": shape * amplitude, "parts": _parts(model, shape)})
    held = "held" if locked else "free"
    title = f"{model.arm.name}: modes, drives {held}"
    data = {
        "kind": "modes",
        "title": title,
        "about": "Swings are drawn as large as they can be seen, and slower than they are.",
        "arms": arms.described,
        "arm": arms.number(model),
        "q": q,
        "modes": rows,
    }
    return _page(title, data, arms)


def _parts(model: Model, shape: Array) -> str:
    """The coordinates that move most in a mode, relative to the largest."""
    relative = shape / shape[np.argmax(np.abs(shape))]
    leading = [i for i in np.argsort(-np.abs(relative), kind="stable") if abs(relative[i]) >= 0.05][:4]
    return ", ".join(f"{relative[i]:+.2f} {model.coordinates[i]}" for i in leading)


def _still(model: Model, q: Any) -> Page:
    """The page of an arm at rest, with sliders."""
    q = _configuration(model, q)
    arms, size, sliders = _Arms(), _size(model, q), []
    motors = dict(model.arm.springs)
    for i, coordinate in enumerate(model.arm.layout):
        if coordinate.role == "motor":
            continue
        low, high = -np.pi, np.pi
        if coordinate.role == "flexible":
            high = SWING * size / max(_reach(model, q, np.eye(len(q))[i]), 1e-12)
            low = -high
        elif coordinate.unit == "m":
            low, high = min(0.0, q[i]), max(2 * q[i], size, 1e-3)
        role = coordinate.role
        sliders.append(
            {"name": coordinate.name, "unit": coordinate.unit, "role": role, "low": low, "high": high, "moves": [i, *([motors[i]] if i in motors else [])]}
        )
    data = {
        "kind": "still",
        "title": model.arm.name,
        "about": model.arm.description,
        "arms": arms.described,
        "arm": arms.number(model),
        "q": q,
        "sliders": sliders,
    }
    return _page(model.arm.name, data, arms)
