"""Old name of the package `flexarm_papers`. It goes with the next version."""

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    import flexarm_papers

    if name not in flexarm_papers.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"flexarm.papers is now a package of its own: use flexarm_papers.{name}", DeprecationWarning, stacklevel=2
    )
    return getattr(flexarm_papers, name)
