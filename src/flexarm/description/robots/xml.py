"""XML as needed for robot files: elements, their attributes, and their lines in the file.

The parser is expat from the standard library. It is used directly, because `xml.etree` does not keep line numbers.
`xml.etree` also rejects names with undeclared prefixes, such as `drake:rotor_inertia`, which URDF files contain. The
dangers of XML, such as entities that expand, need a document type declaration, and files with one are rejected.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import Any
from xml.parsers import expat

from flexarm.checks import Fault, shown

MOST_BYTES = 32 * 1024**2
"""Largest size of a file in bytes. A humanoid with hands takes 0.3 MB."""
MOST_ELEMENTS, MOST_DEPTH = 200_000, 100
COMMENT = re.compile(rb"<!--(.*?)-->", re.DOTALL)


@dataclass
class Element:
    """An element: its name, attributes, line in the file, text and elements within."""

    name: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: "list[Element]" = field(default_factory=list)
    before: str = ""
    """Text in the file before the XML declaration or the root element. Only the root has it."""

    def named(self, name: str) -> "Iterator[Element]":
        """Return the child elements with this name."""
        return (child for child in self.children if child.name == name)

    def one(self, name: str) -> "Element | None":
        """Return the first child element with this name, or None."""
        return next(self.named(name), None)

    def all(self) -> "Iterator[Element]":
        """Yield the element and all its descendants in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.children)


def lines_of(found: dict[str, list[str]]) -> list[str]:
    """Return lines of findings, each with the place of its first occurrence and the number of occurrences."""
    return [f"{at[0]}: {what}{f', {len(at)} times' if len(at) > 1 else ''}" for what, at in found.items()]


def read_xml(path: Path) -> Element:
    """Return the root element of a file. Raises `Fault` with a sentence that names the error and its line."""
    try:
        with open(fspath(path), "rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise Fault("", f"cannot be read: {getattr(error, 'strerror', None) or error}", sentence=True) from None
    if len(content) > MOST_BYTES:
        raise Fault("", f"is larger than {MOST_BYTES // 1024**2} MiB, the limit for robot files", sentence=True)
    return parsed(content)


def parsed(content: bytes) -> Element:
    """Return the root element of a text. Raises `Fault`.

    Space, comments and other text before an XML declaration are not valid XML, but programs write them, and other
    parsers of URDF files skip them. Other parsers also accept "--" in comments, such as options of a command.
    """
    content, before = _declaration_first(COMMENT.sub(_plain_comment, content))
    parser = expat.ParserCreate()
    open_: list[Element] = []
    roots: list[Element] = []
    count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        line = parser.CurrentLineNumber
        if count > MOST_ELEMENTS:
            raise Fault(
                "", f"line {line}: more than {MOST_ELEMENTS} elements, the limit for robot files", sentence=True
            )
        if len(open_) >= MOST_DEPTH:
            raise Fault("", f"line {line}: <{name}> is nested deeper than {MOST_DEPTH} elements", sentence=True)
        element = Element(name, attributes, line)
        (open_[-1].children if open_ else roots).append(element)
        open_.append(element)

    def end(name: str) -> None:
        open_.pop()

    def text(data: str) -> None:
        open_[-1].text += data

    def refuse(*_: Any) -> None:
        why = "has a document type (<!DOCTYPE>), which is not allowed, because it could declare entities; remove it"
        raise Fault("", f"line {parser.CurrentLineNumber}: {why}", sentence=True)

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except Fault:  # `Fault` is a ValueError too
        raise
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise Fault("", f"not an XML file: {reason} on line {error.lineno}", sentence=True) from None
    except (LookupError, ValueError, UnicodeError) as error:  # an unknown encoding, or not one of text
        raise Fault("", f"not an XML file: {shown(str(error))}", sentence=True) from None
    roots[0].before = before
    return roots[0]


def _plain_comment(found: re.Match[bytes]) -> bytes:
    """Return a comment, or its lines without text if XML does not allow the text."""
    valid = b"--" not in found[1] and not found[1].endswith(b"-")
    return found[0] if valid else b"<!--" + b"\n" * found[1].count(b"\n") + b"-->"


def _declaration_first(content: bytes) -> tuple[bytes, str]:
    """Return the content with its XML declaration or root element first, and the text before it.

    Line numbers stay the same.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content, ""
    at, text = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0, []
    while (start := content.find(b"<", at)) >= 0:
        text.append(content[at:start].strip())
        if not content.startswith(b"<!--", start) or (end := content.find(b"-->", start)) < 0:
            break
        at = end + len(b"-->")
    before = b" ".join(filter(None, text))
    declared = re.compile(rb"<\?xml\s[^>]*\?>").match(content, max(start, 0))
    if start <= 0 or not (before or declared):
        return content, ""
    end = declared.end() if declared else start
    lines = b"\n" * content.count(b"\n", 0, start)
    return content[start:end] + lines + content[end:], before.decode(errors="replace")
