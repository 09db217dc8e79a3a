"""The files that a robot's file names: parts of it, meshes, height fields, textures."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from flexarm.checks import Fault
from flexarm.description.robots.xml import Element, read_xml

FOLDERS = ("meshdir", "texturedir", "assetdir")
"""Attributes of MJCF's <compiler> that name the folders of files."""
PACKAGE, FILE, MODEL = "package://", "file://", "model://"
"""Beginnings of file addresses in URDF and SDF."""
MODELS = "models"
"""Usual name of the folder that holds the models of SDF files."""


def named(path: Path, root: Element) -> Iterator[Path]:
    """Yield the existing files that a robot file names, in all folders where programs that read it may look.

    MJCF may remove the folders from names. Included MJCF and SDF files are searched and yielded, too. A file that
    cannot be read yields nothing.
    """
    parts, seen = _parts(path, root), set()
    for included, _ in parts[1:]:
        seen.add(included)
        yield included
    given = {x for _, part in parts for y in part.all() for key in FOLDERS if (x := y.attributes.get(key))}
    folders = [folder.parent / x for folder, _ in parts for x in ("", *sorted(given))]
    for folder, part in parts:
        for element in part.all():
            for text in _texts(element):
                places = (x / y for x in folders for y in {text, os.path.basename(text)})
                for each in (*addresses(folder.parent, text), *places):
                    if each not in seen and is_there(each):
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
                places = (path.parent / text, holder.parent / text, *addresses(holder.parent, text))
                for each in filter(None, map(model_file, places)):
                    if each.resolve() in seen:
                        continue
                    seen.add(each.resolve())
                    try:
                        found.append((each, read_xml(each)))
                    except Fault:
                        continue
    return found


def _texts(element: Element) -> list[str]:
    """Return the file names in an element.

    These are `file`, and for cubes `fileright` etc., in MJCF, `filename` in URDF, and the text of <uri> in SDF.
    """
    found = [value for key, value in element.attributes.items() if key.startswith("file")]
    uri = element.one("uri") if element.name == "include" else element if element.name == "uri" else None
    return [x for text in (*found, uri.text if uri is not None else "") if (x := text.strip())]


def addresses(folder: Path, text: str) -> list[Path]:
    """Return the places to which a file address in a file of this folder may refer.

    A package is a folder above the file. A model may also be a folder beside the file or beside its folder.
    """
    if text.startswith(FILE):
        return [folder / text.removeprefix(FILE)]
    kind = next((kind for kind in (PACKAGE, MODEL) if text.startswith(kind)), None)
    if kind is None:
        return []
    package, _, rest = text.removeprefix(kind).partition("/")
    above = folder.absolute()
    found = [each / rest for each in (above, *above.parents) if each.name == package]
    if kind == MODEL:
        beside = (above, above.parent, above / MODELS, above.parent / MODELS)
        found += [each / package / rest for each in beside]
    return found


def model_file(path: Path) -> Path | None:
    """Return a file, or the SDF file of a folder with a model, or None if there is neither.

    The file `model.config` in the folder names the SDF file of each version. The newest one counts.
    """
    if is_there(path):
        return path
    config, plain = path / "model.config", path / "model.sdf"
    if is_there(config):
        try:
            named = [x for x in read_xml(config).named("sdf") if x.text.strip()]
        except Fault:
            named = []
        for element in sorted(named, key=lambda x: _version(x.attributes.get("version", "")), reverse=True):
            if is_there(file := path / element.text.strip()):
                return file
    return plain if is_there(plain) else None


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,8}", text)[:3])


def is_there(path: Path) -> bool:
    """Return True if a path names a regular file. Devices and pipes are not read."""
    try:
        return os.path.isfile(path)
    except ValueError:  # a name with a null byte
        return False
