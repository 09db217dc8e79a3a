"""The public set as a folder that can be used without flexarm."""

import hashlib
from math import isnan
from os import PathLike
from pathlib import Path

from flexarm.errors import DescriptionError
from flexarm.files import checked_path, write_whole
from flexarm.problems import scoring
from flexarm.problems.described import COMMON, FILES, SOLUTIONS, folder, names, reference, words

TITLE = "# Problems for programs that simulate manipulators"
"""First line of the folder's first page."""


def export(path: str | PathLike[str]) -> list[Path]:
    """Write the complete set into a new folder and return the files.

    Each problem has a page of words and numbers, the arm, the scenario, and the converged trajectory with its
    uncertainty. The folder also has the licence, `score.py`, which scores a CSV file with Python alone, and the
    checksums of all files (`sha256sum -c`).

    Raises `DescriptionError` if the folder is not writable, or if it has other files of these names.
    """
    place = Path(checked_path(path))
    contents = {"README.md": _overview().encode(), "score.py": _script(), "LICENSE.md": _bytes(COMMON[0])}
    for name in names():
        contents |= {f"{name}/{file}": _bytes(f"{name}/{file}") for file in FILES}
        contents[f"{name}/README.md"] = page(name).encode()
    contents["SHA256SUMS"] = checksums(contents).encode()
    first = place / "README.md"
    if not (first.is_file() and first.read_bytes().startswith(TITLE.encode())):
        for file in (place / name for name in contents if "/" not in name):
            if file.is_file():
                raise DescriptionError(f"export: {file} exists and is from something else; give another folder")
    return [write_whole(place / name, content) for name, content in contents.items()]


def checksums(contents: dict[str, bytes]) -> str:
    """Checksums of files by their names, in the format of `sha256sum`."""
    return "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(contents.items()))


def _bytes(name: str) -> bytes:
    return folder().joinpath(*name.split("/")).read_bytes()


def _script() -> bytes:
    with open(scoring.__file__, "rb") as file:
        return file.read()


def _overview() -> str:
    rows = "".join(f"| [{name}]({name}/README.md) | {words(name)['title']} |\n" for name in names())
    return f"""{TITLE}

Each folder has a problem in words and numbers, its converged trajectory and how uncertain that is.

| problem | what it is |
|---|---|
{rows}
Score a file: `python score.py PROBLEM FILE.csv` (Python 3.11 or newer, nothing else), or `flexarm benchmark-set score
PROBLEM FILE.csv`. The file's first line names the columns with their units, as in `trajectory.csv`.

`sha256sum -c SHA256SUMS` tells whether the files are as they were published. [Licence](LICENSE.md).
"""


def page(name: str) -> str:
    """Return a problem in words and numbers, in Markdown."""
    said = words(name)
    table, uncertainty, found = reference(name)
    step = table.times[1] - table.times[0]
    rows = "".join(
        f"| {each} | {unit or '1'} | {uncertainty[each]:.1e} | "
        + " | ".join("-" if isnan(change) else f"{change:.1e}" for change in found["columns"][each]["changes"])
        + " |\n"
        for each, unit in zip(table.names, table.units, strict=True)
    )
    changes = found["changes"]
    conventions = "".join(f"- {each}\n" for each in said["conventions"])
    return f"""# {said["title"]}

`{name}`

{said["description"].strip()}

## Conventions

{conventions}- SI units, radians.

## The arm

```toml
{_bytes(f"{name}/arm.toml").decode().strip()}
```

## The run

```toml
{_bytes(f"{name}/scenario.toml").decode().strip()}
```

## The converged trajectory

`trajectory.csv`: every {step:g} s from 0 to {table.times[-1]:g} s. It solves {SOLUTIONS[said["solution"]]}.

Found with {found["found_with"]}. The uncertainty is the largest difference at any time that one of these changes made:

{"".join(f"{i}. {change}{chr(10)}" for i, change in enumerate(changes, 1))}
| column | unit | uncertainty | {" | ".join(str(i) for i in range(1, len(changes) + 1))} |
|---|---|---:|{"---:|" * len(changes)}
{rows}"""
