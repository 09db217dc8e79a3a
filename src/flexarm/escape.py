"""Functions that make a user's text safe for the place where it will appear, one per place.

Only characters that the place would not show as they are get replaced: a terminal obeys control characters, TeX and
Markdown have special characters, a comment ends with its line. Names of arms, links and files, keys, descriptions and
messages of other libraries pass through this module wherever they leave the package. Error messages do so where they
are created (`errors.FlexarmError`) instead of where they are shown: the command line, Python's traceback, notebooks and
logs show them, and only the first is part of the package.
"""

import html as entities
import re
import unicodedata

LONGEST_NAME = 200
"""Largest length of a file's name without its ending [bytes]. File systems allow 255 with it."""


def line(text: str) -> str:
    """Return one line for a terminal, a log or a message.

    White space becomes a space, and unprintable characters codes.

    These include terminal escapes, characters that change the direction of writing, and bytes of a file name that are
    not text. A second call changes nothing.
    """
    return text if text.isprintable() else "".join(map(_printed, text))


def _printed(c: str) -> str:
    if c.isprintable():
        return c
    return " " if c.isspace() else c.encode("unicode_escape").decode()


def lines(text: str) -> str:
    """Return printable text whose lines stay lines."""
    return "\n".join(map(line, text.split("\n")))


def comment(text: str) -> str:
    """Return a comment of C, Python or MATLAB that neither ends before its line does nor continues on the next.

    A backslash at the end would continue a comment of C on the next line, and so would its trigraph.
    """
    return re.sub(r"(\\|\?\?/|\s)+$", "", " ".join(line(text).split()))


def docstring(text: str) -> str:
    """Return text for a place between three double quotes in Python."""
    return text.replace("\\", "\\\\").replace('"', "'")


def quoted(text: str) -> str:
    """Return text for a place between double quotes in Modelica or C."""
    return line(text).replace("\\", "\\\\").replace('"', '\\"')


def label(text: str) -> str:
    """Return a title or a label for a figure, in which a dollar begins no formula and which every legend shows.

    Matplotlib's legends skip labels that begin with an underscore. A space before it shows them.
    """
    text = line(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def attribute(text: str) -> str:
    """Return an attribute for a NetCDF file, without NUL and without surrogates; lines stay lines."""
    if text.isascii() and "\x00" not in text:
        return text
    return re.sub("[\x00\ud800-\udfff]", lambda found: _printed(found[0]), text)


def html(text: str) -> str:
    """Return text for an HTML file, between tags or in an attribute's quotes."""
    return entities.escape(line(text))


DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d) *(\.|$)", re.IGNORECASE)
"""Pattern of file names that are devices on Windows, with any ending."""


def file_name(text: str) -> str:
    """Return a file name without characters that lead to another folder or that some file systems reject.

    Names of dots only are folders, names of devices open the device on Windows, and file systems allow at most 255
    bytes, endings included.
    """
    name = "".join("-" if c in '/\\:*?"<>|' else c for c in line(text))
    if DEVICE.match(name):
        name = f"-{name}"
    if not name.strip(". "):
        name = "-" * max(len(name), 1)
    return name.encode()[:LONGEST_NAME].decode(errors="ignore")


# -- Markdown ----------------------------------------------------------------------------------------------------------

MARKDOWN = {c: f"&#{ord(c)};" for c in "\\`[]{}|~#"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
MARKDOWN |= {"*": r"\*", "_": r"\_", "$": r"\$"}
r"""HTML entities of characters for which readers of Markdown differ in the effect of a backslash: in some `\[` begins
a formula."""


def markdown(text: str) -> str:
    """Return text for a paragraph, a heading or a cell of Markdown, without HTML, formulas, lists and line breaks."""
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
"""Combining accents, and TeX's commands for them, which every text font has."""


def latex(text: str) -> str:
    """Return text for LaTeX, with letters that any TeX and its fonts have. Others become a code, as U+81C2."""
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
