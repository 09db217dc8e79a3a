"""Results and arms in the browser: the contents of the pages of `fa.view`, and their files."""

import html as entities
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from flexarm import escape
from flexarm.arrays import Array
from flexarm.attitude import configuration, local, local_names
from flexarm.checks import Fault, checked_flag, checked_names, checked_result, counted, refused, shown
from flexarm.closed_forms.formats.javascript import javascript
from flexarm.description.arm import Arm
from flexarm.files import check_ending, checked_path, write_whole
from flexarm.model import Model, closures
from flexarm.model.attitudes import unit_pose
from flexarm.model.drawing import LARGEST
from flexarm.model.faults import check_inertia, no_mode
from flexarm.pictures import sketch
from flexarm.pictures.curves import panels
from flexarm.pictures.drawing import drawing_program, drawn
from flexarm.pictures.page import page
from flexarm.pictures.solids import solids
from flexarm.plots.recorded import Motion, motions

if TYPE_CHECKING:
    from xarray import Dataset

SCRIPTS = (
    "view.css",
    "motion.js",
    "controls.js",
    "player.js",
    "plots.js",
    "view.js",
    "results.js",
    "modes.js",
    "start.js",
)

SUFFIXES = (".html", ".htm")

MOST_RESULTS = 8
"""Largest number of results on one page, so that they can be told apart."""

MOST_CASES = 12
"""Largest number of cases on one page, which shows one at a time."""

MOST_SAMPLES, MOST_NUMBERS, LEAST_SAMPLES = 4001, 400_000, 201
"""Largest number of samples of a result, largest number of values of all results of a page, and smallest number of
samples."""

SWING = 0.1
"""Amplitude of a mode, and range of a slider of an arm at rest, as a share of the arm's size."""

UNSEEN = 1e-3
"""Share of the largest coordinate's motion below which motion in a mode is not magnified to be visible."""

TWIST = 0.6
"""Largest twist of a link by a mode or a slider [rad]."""


@final
@dataclass(frozen=True)
class Page:
    """A page that is not yet written to a file. A notebook shows it in place.

    Attributes
    ----------
    title : str
        Title of the page.
    html : str
        Complete text of the page.
    """

    title: str
    html: str

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page as a whole or not at all, and return the path. Raises `DescriptionError` if this fails.

        The path must end with .html or .htm, so that a page never replaces a result or an arm's description.
        """
        check_suffix(path, f"page: path {shown(Path(checked_path(path)).name)}")
        return write_whole(path, self.html.encode())

    def delivered(self, path: str | PathLike[str] | None, show: bool) -> "Path | Page":
        """Return the page itself without a path. Otherwise write it, open it if wanted, and return the path."""
        if path is None:
            return self
        written = self.save(path)
        if show:
            opened(written)
        return written

    def __repr__(self) -> str:
        return f"Page({self.title!r}: {len(self.html) / 1e6:.2f} MB)"

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 640px; border: 0"
        title, content = escape.html(self.title), entities.escape(self.html)  # newlines are preserved
        return f'<iframe sandbox="allow-scripts" style="{style}" title="{title}" srcdoc="{content}"></iframe>'


def view(
    what: Any,
    path: str | PathLike[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    show: bool = True,
    modes: bool = False,
    q: Any = None,
    locked: bool = True,
    model: Model | None = None,
) -> Path | Page:
    """Show results or an arm in the browser: one HTML file that contains everything and needs no network.

    Results move, with a clock, magnified deflections, bending moments as colours, the reference as a ghost, and plots
    over time. An arm at rest has sliders for its coordinates, or swings in its natural modes.

    Parameters
    ----------
    what : xarray.Dataset, list or dict of them, Model or Arm
        Results or arm to show. Possible are a result of `simulate`, up to 8 results in one picture (a list, or a dict
        by name, of one arm or several), runs of an ensemble (`ensemble.isel(run=[0, 7])`), and an arm. A dict of up to
        12 such dicts has several cases, and the page shows the one that the reader selects.
    path : path, optional
        File to write. Without a path, a `Page` is returned, which a notebook shows.
    names : list of str, optional
        Names of the results. Default: their own names.
    show : bool
        True to open the file if there is a browser.
    modes : bool
        True to show an arm's natural modes with their frequencies.
    q : (n,), optional
        Configuration about which an arm's modes are computed, or at which it is shown. Default: at rest.
    locked : bool
        True to lock the drives in the modes, as in `Model.modes`.
    model : Model, optional
        Model of the results. It is needed if the arm has shapes or links of your own classes, which cannot be rebuilt.

    Returns
    -------
    pathlib.Path or Page

    Raises
    ------
    DescriptionError
        If a result lacks q or has no finite q, if its arm cannot be rebuilt from its attributes, if there are too many
        results, or if the file cannot be written.
    """
    with refused("view"):
        checked_flag(show, "show")
    if path is not None:
        check_suffix(path, f"view: path {shown(path)}")
    return viewed(what, names=names, modes=modes, q=q, locked=locked, model=model).delivered(path, show)


def viewed(
    what: Any, *, names: Any = None, modes: bool = False, q: Any = None, locked: bool = True, model: Any = None
) -> Page:
    """Return the page that `view` writes."""
    with refused("view"):
        checked_flag(modes, "modes")
        checked_flag(locked, "locked")
        if isinstance(what, Arm | Model):
            if names is not None or model is not None:
                raise Fault(
                    "names" if model is None else "model", "does not apply to an arm, only to results; leave it out"
                )
            model = Model(what) if isinstance(what, Arm) else what
            return _modes(model, q, locked) if modes else _still(model, q)
        if modes or q is not None:
            raise Fault("modes" if modes else "q", "does not apply to results, only to an Arm or a Model; leave it out")
        return _results(what, names, model)


def check_suffix(path: str | PathLike[str], where: str) -> None:
    """Raise `DescriptionError` if a browser would not accept a file of this name as a page."""
    check_ending(path, *SUFFIXES, where=where)


def has_windows() -> bool:
    """Return True if a graphical browser can open a window."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(x) for x in ("DISPLAY", "WAYLAND_DISPLAY"))


def opened(path: Path) -> bool:
    """Open a file in a graphical browser, and return True if one was started. Text browsers are not used."""
    if not has_windows():
        return False
    import webbrowser

    try:
        return webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        return False


# -- results -----------------------------------------------------------------------------------------------------------


def _named(what: Any, names: Any) -> tuple[list["Dataset"], list[str]]:
    """Return results, with each run of an ensemble separately, and their unique names. Raises `Fault`."""
    if _is_dict(what):
        if names is not None:
            raise Fault("names", "does not apply to a dict of results, which has names; leave it out")
        what, names = list(what.values()), list(what)
    given = list(what) if isinstance(what, list | tuple) else [what]
    if names is not None and len(checked_names(names, "names of the results", "names")) != len(given):
        raise Fault("names", f"has {counted(len(names), 'name')} for {counted(len(given), 'result')}")
    found: dict[str, Dataset] = {}
    for k, each in enumerate(given):
        checked_result(each, ("q", "role", "unit", "owner"), ("arm", "title"))
        called = str(each.attrs.get("name") or each.attrs["title"].partition(":")[0]) if names is None else names[k]
        for result, run in _runs(each):
            name = free = called if run is None else f"{called}, run {run}"
            count = 1
            while free in found:
                count += 1
                free = f"{name} ({count})"
            found[free] = result.assign_attrs(name=free)
    if not 1 <= len(found) <= MOST_RESULTS:
        raise Fault(
            "results", f"has {len(found)}; it must have 1 to {MOST_RESULTS} results, so that they can be distinguished"
        )
    return list(found.values()), list(found)


def _runs(given: "Dataset") -> list[tuple["Dataset", Any]]:
    """Return a result alone, or the runs of an ensemble with their numbers, each up to its last finite sample."""
    if "run" not in given.coords:
        return [(given, None)]
    if "run" not in given.dims:
        known = np.isfinite(given.q.values).all(axis=1)
        return [(given.isel(time=slice(0, len(known) if known.all() else int(np.argmin(known)))), given["run"].item())]
    if given.sizes["run"] > MOST_RESULTS:
        some = "choose some: ensemble.isel(run=[0, 7])"
        raise Fault("result", f"has {counted(given.sizes['run'], 'run')}; at most {MOST_RESULTS} are shown: {some}")
    return [pair for i in range(given.sizes["run"]) for pair in _runs(given.isel(run=i))]


def _results(what: Any, names: Any, model: Any) -> Page:
    """Return the page of results, or of cases with results."""
    cases = _cases(what, names)
    every = [result for results, _ in cases.values() for result in results]
    arms = _Arms()
    found = [
        {"name": case, **_case(results, called, model, arms, len(every))} for case, (results, called) in cases.items()
    ]
    called = next(iter(cases.values()))[1]
    data = {
        "kind": "results",
        "title": called[0] if len(called) == 1 else " and ".join(called),
        "about": _about(every, called),
        "arms": arms.described,
        **(found[0] if len(found) == 1 else {"cases": found}),
    }
    return _page(data, arms)


def _cases(what: Any, names: Any) -> dict[str, tuple[list["Dataset"], list[str]]]:
    """Return results and their names by case. Without cases, the only case has no name. Raises `Fault`."""
    if not (isinstance(what, Mapping) and what and all(_is_dict(each) for each in what.values())):
        return {"": _named(what, names)}
    if names is not None:
        raise Fault("names", "does not apply to a dict of cases, which has names; leave it out")
    if len(what) > MOST_CASES:
        raise Fault("cases", f"has {len(what)}; at most {MOST_CASES} fit on one page")
    if wrong := [case for case in what if not isinstance(case, str)]:
        raise Fault("cases", f"has the name {shown(wrong[0])}; it must be a text")
    return {case: _named(results, None) for case, results in what.items()}


def _is_dict(what: Any) -> bool:
    from xarray import Dataset

    return isinstance(what, Mapping) and not isinstance(what, Dataset)


def _case(results: list["Dataset"], called: list[str], model: Any, arms: "_Arms", together: int) -> dict[str, Any]:
    """Return the data of results in one picture, and of their plots. `together` is the number of results on the
    page."""
    rows, described = [], []
    for motion, result in zip(motions(results, called, model), results, strict=True):
        known, n = motion.q.shape
        most = max(LEAST_SAMPLES, min(MOST_SAMPLES, MOST_NUMBERS // (together * 3 * n)))
        i = np.arange(known) if known <= most else np.linspace(0, known - 1, most).round().astype(int)
        rows.append(i)
        each: dict[str, Any] = {
            "name": motion.name,
            "arm": arms.number(motion.model),
            "time": motion.t[i],
            "q": motion.q[i].astype(np.float32),
            "notes": _notes(result, motion, len(i)),
        }
        if motion.wanted is not None:
            each["reference"] = motion.wanted[i].astype(np.float32)
        described.append(each)
    return {"results": described, "panels": panels(results, rows)}


def _notes(result: "Dataset", motion: Motion, shown_: int) -> list[str]:
    """Return notes on a result: that it stopped early, and that the page has only some of its samples."""
    status = str(result["status"].values if "status" in result.variables else result.attrs.get("status", ""))
    notes = [] if status in ("completed", "") else [f"ends at {motion.t[-1]:.6g} s: {status}"]
    return notes + ([f"{shown_} of {counted(len(motion.t), 'sample')} are shown"] if shown_ < len(motion.t) else [])


def _about(results: list["Dataset"], called: list[str]) -> str:
    """Return the line below the title, which consists of the names of the results."""
    arms = dict.fromkeys(str(result.attrs["title"]).partition(":")[0] for result in results)
    if len(called) == 1:
        arms.pop(called[0], None)  # the title has it
    inputs = [str(result.attrs.get("input_description", "")) for result in results]
    return " \N{MIDDLE DOT} ".join(filter(None, (*arms, *(inputs if len(results) == 1 else ()))))


class _Arms:
    """Distinct arms of a page: the geometry of each, and the program that draws it."""

    def __init__(self) -> None:
        self.described: list[dict[str, Any]] = []
        self.programs: list[str] = []
        self._known: dict[tuple[str, tuple[str, ...], bytes], int] = {}

    def number(self, model: Model) -> int:
        """Return the index of a model's arm, after adding the arm if it is new."""
        key = model.arm.canonical(), tuple(x.name for x in model.varied), model.p.tobytes()
        if key not in self._known:
            self._known[key] = len(self.described)
            name = f"drawing_{len(self.described)}"
            self.programs.append(javascript(replace(drawing_program(model), name=name)))
            self.described.append({"description": solids(model), "program": name})
        return self._known[key]


def _page(data: dict[str, Any], arms: _Arms) -> Page:
    title = data["title"]
    return Page(title, page(f"{title} \N{EN DASH} flexarm", data, SCRIPTS, arms.programs))


# -- arms --------------------------------------------------------------------------------------------------------------


def _configuration(model: Model, q: Any) -> Array:
    found = model.single("view", "q", closures.rest(model) if q is None else q)
    if np.abs(found).max(initial=0.0) > LARGEST:
        raise Fault("q", f"has {np.abs(found).max():g}; it must be at most {LARGEST:g} in size to be drawn")
    return unit_pose("view: q", found, model.arm)


def _size(model: Model, q: Array) -> float:
    """Return the size of an arm, including its base [m]."""
    places = drawn(model, q)[0][..., :3].reshape(-1, 3)
    return float(np.ptp(np.vstack([places, sketch.pose(q, model.arm.free)[1]]), axis=0).max())


def _amplitude(model: Model, q: Array, direction: Array) -> float:
    """Return the amplitude along a direction of local coordinates: `SWING` of the arm's size, or `TWIST` of a link, if
    less.

    It is reduced further if the swing is no longer small, for example with shapes that shorten a link as they bend it.
    """
    arm, at, swing = model.arm, local(model.arm, q, q), SWING * _size(model, q)
    still = drawn(model, q)[0]
    largest = max(float(np.abs(direction).max()), 1e-300)

    def to(x: float) -> tuple[Array, Array]:
        """Return sections and frames at x and at -x along the direction."""
        return drawn(model, configuration(arm, at + np.outer([x, -x], direction), q))

    way, turning = (np.subtract(*both) / (2e-4 / largest) for both in to(1e-4 / largest))
    along = np.gradient(still[..., :3], axis=1)
    along /= np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-300)
    twist = np.abs(np.sum(np.cross(along, still[..., 3:6]) * way[..., 3:6], axis=-1)).max()
    rotors = [i for i, link in enumerate(arm.links) if not link.body.length > 0]
    spin = np.linalg.norm(turning[rotors, :, :3], axis=(1, 2)).max(initial=0.0) / np.sqrt(2)
    reach = np.linalg.norm(way[..., :3], axis=-1).max()
    found = float(min(swing / max(reach, 1e-300), TWIST / max(twist, spin, 1e-300), swing / UNSEEN / largest))
    while np.linalg.norm((to(found)[0] - still)[..., :3], axis=-1).max() > 1.5 * swing:
        found *= 0.7
    return found


def _modes(model: Model, q: Any, locked: bool) -> Page:
    """Return the page of an arm's natural modes about a configuration."""
    q = _configuration(model, q)
    check_inertia(model, q)
    omega, phi = model.modes(q, locked)
    if not len(omega):
        raise no_mode(model.arm, locked)
    arms, rows = _Arms(), []
    for w, shape in zip(omega, phi.T, strict=True):
        swinging = shape * _amplitude(model, q, shape)
        rows.append({"omega": float(w), "shape": swinging, "parts": _parts(model, shape)})
    data = {
        "kind": "modes",
        "title": f"{model.arm.name}: modes, drives {'held' if locked else 'free'}",
        "about": "Amplitudes and speeds are scaled so that the motion is visible.",
        "arms": arms.described,
        "arm": arms.number(model),
        "q": q,
        "free": model.arm.free,
        "modes": rows,
    }
    return _page(data, arms)


def _parts(model: Model, shape: Array) -> str:
    """Return the coordinates that move most in a mode, relative to the largest."""
    relative = shape / shape[np.argmax(np.abs(shape))]
    leading = [i for i in np.argsort(-np.abs(relative), kind="stable") if abs(relative[i]) >= 0.05][:4]
    names = local_names(model.arm)
    return ", ".join(f"{relative[i]:+.2f} {names[i]}" for i in leading)


def _still(model: Model, q: Any) -> Page:
    """Return the page of an arm at rest, with sliders."""
    q = _configuration(model, q)
    arms, size, sliders = _Arms(), _size(model, q), []
    motors, layout = dict(model.arm.springs), model.arm.layout
    behind = len(q) - len(layout)
    for i, coordinate in enumerate(layout):
        if coordinate.role in ("motor", "base", "ball"):
            continue
        low, high = -np.pi, np.pi
        if coordinate.role == "flexible":
            high = _amplitude(model, q, np.eye(len(layout))[i])
            low = -high
        elif coordinate.unit == "m":
            low, high = min(0.0, q[i + behind]), max(2 * q[i + behind], size, 1e-3)
        role = coordinate.role
        sliders.append(
            {
                "name": coordinate.name,
                "unit": coordinate.unit,
                "role": role,
                "low": low,
                "high": high,
                "moves": [k + behind for k in ((i, motors[i]) if i in motors else (i,))],
            }
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
    return _page(data, arms)
