"""The versions of everything that a result may depend on, for a report of a fault."""

import platform
import re
import sys
from importlib import metadata

from flexarm.version import __version__

OPTIONAL = ("mujoco-core", "cuda-core", "cuda-bindings", "gymnasium", "dask", "distributed", "rerun-sdk")
"""Packages of the optional extras."""


def show_versions() -> None:
    """Print the versions of flexarm, Python, the system and the packages that flexarm uses.

    Paste the output into the report of a fault.
    """
    rows = {"flexarm": __version__, "Python": sys.version.split()[0], "system": platform.platform()}
    rows["processor"] = platform.machine()
    for name in (*_required(), *OPTIONAL):
        try:
            rows[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            rows[name] = "not installed"
    width = max(map(len, rows))
    print("\n".join(f"{name:{width}}  {version}" for name, version in rows.items()))


def _required() -> list[str]:
    """Return the names of the packages that every installation needs."""
    try:
        given = metadata.requires("flexarm") or []
    except metadata.PackageNotFoundError:  # a copy of the sources that is not installed
        return []
    return [re.split(r"[^\w-]", line, maxsplit=1)[0] for line in given if "extra ==" not in line]
