"""Models that trace by themselves, for a test that patches the package or counts how often something is traced."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from flexarm.model import tracing
from flexarm.native.once import Recent

TRACING = ("flexarm", "casadi", "llvmlite", "numpy", "scipy")
"""Packages on which traced functions and machine code depend."""
USERS = {"cli", "commands", "description.load", "files", "gymnasium", "optimal.kept", "optimal.search"}
USERS |= {"pictures", "plots", "scenario", "studies"}
"""Parts of flexarm that use models and trace nothing."""


@contextmanager
def alone() -> Iterator[None]:
    """Let no new model share its functions with another, neither during the block nor afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracing, "recent", Recent(0))
        yield


class Patches(pytest.MonkeyPatch):
    """A monkeypatch after whose first change of a package in `TRACING` no new model shares its functions.

    The environment, the current folder and other packages do not alter what is traced.
    """

    @classmethod
    @contextmanager
    def of_test(cls) -> Iterator["Patches"]:
        """Yield the patches of a test. Functions of models that it made before a change are not shared later."""
        shared, used = tracing.recent, set()

        def recent(key, make):
            used.add(key)
            return shared(key, make)

        tracing.recent = recent
        patches = cls()
        try:
            yield patches
        finally:
            patches.undo()
            if tracing.recent is not recent:
                for key in used:
                    shared._kept.pop(key, None)
            tracing.recent = shared

    def setattr(self, target, *given, **more):
        separate(target)
        super().setattr(target, *given, **more)

    def delattr(self, target, *given, **more):
        separate(target)
        super().delattr(target, *given, **more)

    def setitem(self, target, *given):
        separate(target)
        super().setitem(target, *given)

    def delitem(self, target, *given, **more):
        separate(target)
        super().delitem(target, *given, **more)

    def setenv(self, name, *given, **more):
        separate(name.lower().replace("_", "."))  # such as the folder of compiled programs, FLEXARM_CACHE
        super().setenv(name, *given, **more)

    def delenv(self, name, *given, **more):
        separate(name.lower().replace("_", "."))
        super().delenv(name, *given, **more)


def separate(target: object) -> None:
    """Let new models be alone if the target, or a dict, may belong to what is traced. The target may be a name."""
    if isinstance(target, dict):
        owner = "" if target is sys.modules else "flexarm"
    elif isinstance(target, str):
        owner = target
    else:
        owner = getattr(target, "__name__" if isinstance(target, ModuleType) else "__module__", None) or ""
    package, *parts = owner.split(".")
    if package in TRACING and not {".".join(parts[:1]), ".".join(parts[:2])} & USERS:
        tracing.recent = Recent(0)
