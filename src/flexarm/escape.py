"""A user's text made harmless for the place where it will stand; one function a place.

What is taken away is only what the place would not show as it is: a terminal obeys control characters, TeX and
Markdown have letters of their own, a comment ends with its line. Names of arms, links and files, keys, descriptions and
what other libraries say go through here wherever they leave the package. Messages of errors do so where they are made
(`errors.FlexarmError`) and not where they are shown, for they are shown by the command line, by Python's traceback, in
notebooks and in logs, of which only the first is ours.
"""

import html as entities
import re
import unicodedata

LONGEST_NAME = 200
"""Bytes of a file's name without its ending: file systems take 255 with it."""


def line(text: str) -> str:
    """One line for a terminal, a log or a message: white space is a space, what cannot be printed its code.

    So are terminal escapes, characters that turn the direction of writing, and bytes of a file name that are no text.
    Done twice it is as done once.
    """
    return text if text.isprintable() else "".join(map(_printed, text))


def _printed(c: str) -> str:
    if c.isprintable():
        return c
    return " " if c.isspace() else c.encode("unicode_escape").decode()


def lines(text: str) -> str:
    """The same of a text whose lines stay lines."""
    return "\n".join(map(line, text.split("\n")))


def comment(text: str) -> str:
    """A comment of C, Python or MATLAB to the end of its line, which neither ends early nor goes on in the next.

    A backslash at the end would take the next line into a comment of C, and so would the trigraph for one.
    """
    return re.sub(r"(\\|\?\?/|\s)+$", "", " ".join(line(text).split()))


def docstring(text: str) -> str:
    """Text between three double quotes in Python."""
    return text.replace("\\", "\\\\").replace('"', "'")


def quoted(text: str) -> str:
    """Text between double quotes in Modelica or C."""
    return line(text).replace("\\", "\\\\").replace('"', '\\"')


def label(text: str) -> str:
    """A title or a label in a figure: a dollar begins no formula, and a legend leaves none out.

    Matplotlib's legends skip labels that begin with an underscore; a space before it shows them.
    """
    text = line(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def attribute(text: str) -> str:
    """An attribute in a NetCDF file, which holds no NUL and no half of a surrogate pair; lines stay lines."""
    return re.sub("[\x00\ud800-\udfff]", lambda found: _printed(found[0]), text)


def html(text: str) -> str:
    """Text of an HTML file, between tags or in an attribute's quotes."""
    return entities.escape(line(text))


def file_name(text: str) -> str:
    """Return a file name without characters that lead to another folder or that some file systems reject.

    Names of dots only are folders, and file systems allow at most 255 bytes, endings included.
    """
    name = "".join("-" if c in '/\\:*?"<>|' else c for c in line(text))
    if not name.strip(". "):
        name = "-" * max(len(name), 1)
    return name.encode()[:LONGEST_NAME].decode(errors="ignore")


# -- Markdown ----------------------------------------------------------------------------------------------------------

MARKDOWN = {c: f"&#{ord(c)};" for c in "\\`[]{}|~#"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
MARKDOWN |= {"*": r"\*", "_": r"\_", "$": r"\$"}
"""Entities where readers of Markdown differ in what a backslash does: to some of them `\\[` begins a formula."""


def markdown(text: str) -> str:
    """Text in a paragraph, a heading or a cell of a table of Markdown: no HTML, no formula, no list, no second line."""
    escaped = "".join(MARKDOWN.get(c, c) for c in re.sub(" +", " ", line(text)))
    return re.sub(r"^( ?)([-+=]|\d(?=\d*[.)]))", lambda found: f"{found[1]}&#{ord(found[2])};", escaped)


# -- LaTeX -------------------------------------------------------------------------------------------------------------

LATEX = {
    "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "$": r"\$", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "`": "`{}",
    "µ": r"\ensuremath{\mu}", "°": r"\ensuremath{^\circ}", "·": r"\ensuremath{\cdot}", "±": r"\ensuremath{\pm}",
    "²": r"\ensuremath{^2}", "³": r"\ensuremath{^3}", "\N{MULTIPLICATION SIGN}": r"\ensuremath{\times}",
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}",
    "Ł": r"\L{}", "\N{EN DASH}": "--", "\N{EM DASH}": "---", "\N{HORIZONTAL ELLIPSIS}": r"\dots{}",
    "\N{LEFT SINGLE QUOTATION MARK}": "`{}", "\N{RIGHT SINGLE QUOTATION MARK}": "'{}",
    "\N{LEFT DOUBLE QUOTATION MARK}": "``", "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
}  # fmt: skip
ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip
"""Combining accents, and TeX's commands for them that every font of letters has."""


def latex(text: str) -> str:
    """Text of LaTeX, of letters that any TeX reads and the fonts of LaTeX have; of others the number, as in U+81C2."""
    return "".join(map(_tex, unicodedata.normalize("NFC", line(text))))


def _tex(c: str) -> str:
    if c in LATEX:
        return LATEX[c]
    if c.isascii():
        return c
    base, *accents = list(unicodedata.normalize("NFD", c))
    if len(accents) == 1 and accents[0] in ACCENTS and base.isascii():
        dotless = {"i": r"\i", "j": r"\j"} if accents[0] != "\u0327" else {}
        return rf"\{ACCENTS[accents[0]]}{{{dotless.get(base, base)}}}"
    name = unicodedata.name(c, "")
    if name.startswith("GREEK SMALL LETTER ") and name.split()[-1] in GREEK:
        return rf"\ensuremath{{\{name.split()[-1].lower()}}}"
    return rf"\texttt{{U+{ord(c):04X}}}"


GREEK = "ALPHA BETA GAMMA DELTA EPSILON ZETA ETA THETA IOTA KAPPA MU NU XI PI RHO SIGMA TAU PHI CHI PSI OMEGA".split()
