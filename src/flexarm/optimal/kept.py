"""Optimal motions on disk, by what they are the answer to: found once, then read in milliseconds.

They lie where machine code does and are signed as it is (see `native.cache`), so what is damaged counts as not there.
"""

import hashlib
import io
import json
import time
import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from flexarm.checks import Described
from flexarm.errors import InterruptedRun
from flexarm.model import Model
from flexarm.native.cache import read, write
from flexarm.native.kernel import sources_digest
from flexarm.optimal import search
from flexarm.optimal.motion import OptimalMotion

Array = np.ndarray
Found = tuple[OptimalMotion, list[Warning]]
"""And what was warned of on the way."""

SAID = "optimal_motion: "
"""How warnings of the search begin, which belong to the motion."""

MOST = 16
"""Motions that a process remembers: what cannot be kept on disk is not found twice in it."""

_known: dict[str, OptimalMotion] = {}


def kept(model: Model, start: Any, end: Any, **asked: Any) -> OptimalMotion:
    """As `optimal_motion`, of numbers, words, and lists and tables of these; found anew where nobody has asked before.

    The report says in `seconds` what it took when it was found. What the search then warned of is said once more in
    every process, and what Ctrl-C has ended is not kept.
    """
    name = _name(model, {"start": start, "end": end, **asked})
    if (known := _known.get(name)) is not None:
        return known
    there = _read(name)
    motion, said = there or _found(model, start, end, asked)
    if not any(isinstance(each, InterruptedRun) for each in said):
        if there is None:
            write(name, _packed(motion, [text for text in map(str, said) if text.startswith(SAID)]))
        _remember(name, motion)
    for each in said:
        warnings.warn(each, stacklevel=2)
    return motion


def _found(model: Model, start: Any, end: Any, asked: Mapping[str, Any]) -> Found:
    """The motion; the warnings are not said yet."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.filterwarnings("error", "interrupted at", InterruptedRun)
        try:
            motion = search.optimal_motion(model, start, end, **asked)
        except InterruptedRun:  # a run on the way to where the search begins
            raise KeyboardInterrupt from None
    report = {**motion.report, "seconds": time.perf_counter() - began}
    return replace(motion, report=report), [each.message for each in said if isinstance(each.message, Warning)]


def _remember(name: str, motion: OptimalMotion) -> None:
    _known[name] = motion
    for old in list(_known)[:-MOST]:
        _known.pop(old, None)


def _name(model: Model, asked: Mapping[str, Any]) -> str:
    """Of the file: all that the motion depends on, our own sources and the solver's version among it."""
    key = json.dumps([*_circumstances(), model.fingerprint, _plain(asked)], sort_keys=True)
    return hashlib.sha256(key.encode()).hexdigest() + ".motion"


@cache
def _circumstances() -> tuple[str, str]:
    from importlib import metadata  # late: it reads mail

    return sources_digest(Path(__file__).parents[1]), metadata.version("casadi")


def _plain(value: Any) -> Any:
    """As JSON has it; what is left out is not there."""
    if isinstance(value, Described | Mapping):
        return {str(key): _plain(each) for key, each in dict(value).items() if each is not None}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


# -- a file ------------------------------------------------------------------------------------------------------------


def _packed(motion: OptimalMotion, warned: list[str]) -> bytes:
    """A .npz of all arrays, and of one text that says where they belong."""
    arrays: dict[str, Array] = {}

    def told(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays[f"a{len(arrays)}"] = value
            return {"array": f"a{len(arrays) - 1}"}
        if isinstance(value, Mapping):
            return {"table": {name: told(each) for name, each in value.items()}}
        if isinstance(value, list | tuple):
            return {"list": [told(each) for each in value]}
        return value.item() if isinstance(value, np.generic) else value

    parts = {field.name: told(getattr(motion, field.name)) for field in fields(motion)}
    file = io.BytesIO()
    np.savez(file, text=np.array(json.dumps({"parts": parts, "warned": warned})), **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _read(name: str) -> Found | None:
    """What `_packed` has made, if it is there."""
    content = read(name)
    if content is None:
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:  # noqa: TID251  (without objects)
        whole = json.loads(str(arrays["text"]))

        def made(value: Any) -> Any:
            if not isinstance(value, dict):
                return value
            (kind, inside), *_ = value.items()
            if kind == "array":
                return arrays[inside]
            return [made(x) for x in inside] if kind == "list" else {k: made(x) for k, x in inside.items()}

        parts = {field: made(value) for field, value in whole["parts"].items()}
    return OptimalMotion(**parts), [UserWarning(text) for text in whole["warned"]]
