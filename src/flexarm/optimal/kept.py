"""Cache of optimal motions on disk. A motion is found once and then read in milliseconds.

A file's name is a digest of everything that the motion depends on. The files lie beside the machine code and are signed
in the same way (see `native.cache`), so a damaged file counts as missing.
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

from flexarm.arrays import Array
from flexarm.checks import plain
from flexarm.errors import InterruptedRun, NotReached
from flexarm.model import Model
from flexarm.native.cache import read, write
from flexarm.native.kernel import sources_digest
from flexarm.optimal import search
from flexarm.optimal.motion import OptimalMotion

Found = tuple[OptimalMotion, list[Warning]]
"""A motion, and the warnings of its search."""

SAID = "optimal_motion: "
"""Prefix of the warnings that belong to the motion and are cached with it."""

MOST = 16
"""Number of motions that a process remembers, so that a motion that the disk cannot store is not found twice."""

_known: dict[str, OptimalMotion] = {}


def kept(model: Model, start: Any, end: Any, **asked: Any) -> OptimalMotion:
    """Return `optimal_motion` of these arguments from the cache, or find the motion and store it.

    The arguments are numbers, strings, and lists and tables of these. The report's `seconds` is the time that the
    search took when the motion was found. Warnings of the search are issued again in every process. A motion that
    Ctrl-C has interrupted is not stored.
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
    """Find the motion and collect its warnings without issuing them."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.filterwarnings("error", "interrupted at", InterruptedRun)
        try:
            motion = search.optimal_motion(model, start, end, **asked)
        except InterruptedRun:  # a run that prepares the beginning of the search
            raise KeyboardInterrupt from None
    report = {**motion.report, "seconds": time.perf_counter() - began}
    return replace(motion, report=report), [each.message for each in said if isinstance(each.message, Warning)]


def _remember(name: str, motion: OptimalMotion) -> None:
    _known[name] = motion
    for old in list(_known)[:-MOST]:
        _known.pop(old, None)


def _name(model: Model, asked: Mapping[str, Any]) -> str:
    """Name of the file: a digest of all that the motion depends on, with our own sources and the solver's version."""
    key = json.dumps([*_circumstances(), model.fingerprint, plain(asked)], sort_keys=True)
    return hashlib.sha256(key.encode()).hexdigest() + ".motion"


@cache
def _circumstances() -> tuple[str, str]:
    from importlib import metadata  # late: it reads mail

    return sources_digest(Path(__file__).parents[1]), metadata.version("casadi")


# -- a file ------------------------------------------------------------------------------------------------------------


def _packed(motion: OptimalMotion, warned: list[str]) -> bytes:
    """Return a .npz file of all arrays, and of one text that says where each belongs."""
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
    """Return the motion that `_packed` has stored, or None if there is no valid file."""
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
    return OptimalMotion(**parts), [NotReached(text) for text in whole["warned"]]
