"""Chunks on disk: one file each, complete or absent, named by its digest."""

import json
import os
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from flexarm.checks import called
from flexarm.errors import DescriptionError
from flexarm.files import checked_path, write_whole
from flexarm.simulation import netcdf
from flexarm.studies.work import Chunk

if TYPE_CHECKING:
    from xarray import Dataset

CONTENTS = "study.json"
LOCK = "lock"
MOST_BYTES = 1_000_000


@final
class Folder:
    """Folder with the chunks of one study.

    Parameters
    ----------
    path : str or path
        Path of the folder, which is created if it does not exist.
    study : str
        Digest that identifies the study, for any number of runs and any version of the code.
    name : str
        Name of the study.

    Raises
    ------
    DescriptionError
        If the folder belongs to another study, contains other files, or cannot be written.
    """

    def __init__(self, path: str | PathLike[str], study: str, name: str):
        self.path = Path(checked_path(path))
        whole = json.dumps({"flexarm study": study, "name": name}, indent=1).encode() + b"\n"
        there = self._contents()
        if there is None:
            write_whole(self.path / CONTENTS, whole, durable=True)
        elif there.get("flexarm study") != study:
            whose = called(there.get("name", "unknown"))
            raise DescriptionError(
                f"belongs to another study, or to {whose} with other parameters; give another folder, or remove "
                "this one",
                str(self.path),
            )

    @property
    def lock(self) -> Path:
        """Path of the file that is locked while a process works in the folder."""
        return self.path / LOCK

    def get(self, chunk: Chunk) -> "Dataset | None":
        """Return a computed chunk, or None if it is missing or its file is damaged."""
        path = self._file(chunk)
        if not path.is_file():
            return None
        try:
            found = netcdf.read(path)
        except DescriptionError:
            return None
        return found if found.attrs.get("chunk") == chunk.key and found.sizes.get("run") == chunk.runs else None

    def put(self, chunk: Chunk, part: "Dataset") -> None:
        """Store a chunk. Raises `DescriptionError` if it cannot be written."""
        content = netcdf.image(part.assign_attrs(chunk=chunk.key))
        write_whole(self._file(chunk), content, netcdf.seal(content), durable=True)

    def _file(self, chunk: Chunk) -> Path:
        return self.path / f"{chunk.key[:32]}.nc"

    def _contents(self) -> dict[str, Any] | None:
        """Return the description of the study in the folder, or None if the folder is new."""
        path = self.path / CONTENTS
        try:
            with open(path, "rb") as file:
                found = json.loads(file.read(MOST_BYTES))
        except FileNotFoundError:
            if self.path.is_dir() and (other := [name for name in os.listdir(self.path) if _foreign(name)]):
                raise DescriptionError(
                    f"is not the folder of a study, because it contains {called(other[0])}; give another or an "
                    "empty folder",
                    str(self.path),
                ) from None
            return None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "the file is damaged"
            raise DescriptionError(f"cannot be read: {reason}", str(path), sentence=True) from None
        return found if isinstance(found, dict) else {}


def _foreign(name: str) -> bool:
    return name != LOCK and not name.startswith(".")
