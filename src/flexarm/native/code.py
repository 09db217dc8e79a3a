"""Machine code that is loaded into the process."""

from dataclasses import dataclass, field
from typing import Any, NoReturn, final

Address = int


@final
@dataclass(frozen=True)
class Code:
    """Loaded machine code: the address of each symbol, and the facts stored with the code.

    The code stays in memory as long as this object exists.
    """

    addresses: dict[str, Address]
    facts: dict[str, int]
    was_cached: bool
    _engine: Any = field(repr=False, compare=False)

    @property
    def operations(self) -> int:
        """Number of multiplications and additions of a kernel."""
        return self.facts["multiplications"] + self.facts["additions"]

    def __deepcopy__(self, _: Any) -> "Code":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("machine code belongs to its process; pickle the model")
