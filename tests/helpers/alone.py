"""Models that trace by themselves, for a test that patches the package or counts how often something is traced."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from flexarm.model import tracing
from flexarm.native.once import Recent


@contextmanager
def alone() -> Iterator[None]:
    """Let no new model share its functions with another, neither during the block nor afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracing, "recent", Recent(0))
        yield
