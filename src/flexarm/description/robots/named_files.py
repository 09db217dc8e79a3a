"""The files that a robot's file names: parts of it, meshes, height fields, textures."""

import os
from collections.abc import Iterator
from pathlib import Path

from flexarm.checks import Fault
from flexarm.description.robots.xml import Element, read_xml

FOLDERS = ("meshdir", "texturedir", "assetdir")
"""Attributes of MJCF's <compiler> that name the folders of files."""
PACKAGE, FILE = "package://", "file://"
"""Beginnings of file addresses in URDF."""


def named(path: Path, root: Element) -> Iterator[Path]:
    """Yield the existing files that a robot file names, in all folders where programs that read it may look.

    MJCF may remove the folders from names. Included MJCF files are searched, too. A file that cannot be read yields
    nothing.
    """
    parts, seen = _parts(path, root), set()
    given = {x for _, part in parts for y in part.all() for key in FOLDERS if (x := y.attributes.get(key))}
    folders = [folder.parent / x for folder, _ in parts for x in ("", *sorted(given))]
    for folder, part in parts:
        for element in part.all():
            for text in _texts(element):
                places = (x / y for x in folders for y in {text, os.path.basename(text)})
                for each in (*_addresses(folder.parent, text), *places):
                    if each not in seen and _is_there(each):
                        seen.add(each)
                        yield each


def _parts(path: Path, root: Element) -> list[tuple[Path, Element]]:
    """Return a file and all files that it includes, each with its root element."""
    found, seen = [(path, root)], {path.resolve()}
    for holder, part in found:  # the list grows in the loop
        for element in part.all():
            if element.name not in ("include", "model"):
                continue
            for text in _texts(element):
                for each in (path.parent / text, holder.parent / text):
                    if not _is_there(each) or each.resolve() in seen:
                        continue
                    seen.add(each.resolve())
                    try:
                        found.append((each, read_xml(each)))
                    except Fault:
                        continue
    return found


def _texts(element: Element) -> list[str]:
    """Return the file names in an element: `file`, and for cubes `fileright` etc., in MJCF, and `filename` in URDF."""
    return [x for key, value in element.attributes.items() if key.startswith("file") and (x := value.strip())]


def _addresses(folder: Path, text: str) -> list[Path]:
    """Return the places to which a file address in URDF may refer. A package is a folder above the file."""
    if text.startswith(FILE):
        return [folder / text.removeprefix(FILE)]
    if not text.startswith(PACKAGE):
        return []
    package, _, rest = text.removeprefix(PACKAGE).partition("/")
    above = folder.absolute()
    return [each / rest for each in (above, *above.parents) if each.name == package]


def _is_there(path: Path) -> bool:
    try:
        return os.path.isfile(path)
    except ValueError:  # a name with a null byte
        return False
