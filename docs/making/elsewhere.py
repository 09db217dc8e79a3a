"""Names of other packages that our docstrings speak of lead to those packages' own sites.

intersphinx finds them in inventories, which it would fetch. A build that fetches nothing makes its own, of the
names that occur.
"""

import zlib
from pathlib import Path
from typing import Any

SITES = {
    "control": (
        "https://python-control.readthedocs.io/en/latest",
        {"generated/$.html#$": "control.StateSpace control.TransferFunction"},
    ),
    "python": (
        "https://docs.python.org/3",
        {"library/concurrent.futures.html#$": "concurrent.futures.Executor"},
    ),
    "xarray": ("https://docs.xarray.dev/en/stable", {"generated/$.html#$": "xarray.Dataset"}),
}
"""Of each project: its site, and places in it ($ is the name) with the names that stand there."""


def setup(app: Any) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.intersphinx")
    app.connect("config-inited", lambda app, config: _inventories(app, config), priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inventory(project: str) -> bytes:
    """The file that a site would have (version 2 of Sphinx's format)."""
    places = ((name, place) for place, names in SITES[project][1].items() for name in names.split())
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
    lines = "".join(f"{name} py:class 1 {place.replace('$', name)} -\n" for name, place in places)
    return f"{head}# The remainder of this file is compressed using zlib.\n".encode() + zlib.compress(lines.encode())


def _inventories(app: Any, config: Any) -> None:
    folder = Path(app.doctreedir) / "inventories"
    folder.mkdir(parents=True, exist_ok=True)
    for project, (site, _) in SITES.items():
        (folder / f"{project}.inv").write_bytes(inventory(project))
        config.intersphinx_mapping[project] = (site, str(folder / f"{project}.inv"))
