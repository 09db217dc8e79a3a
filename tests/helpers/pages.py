"""The README and the pages of the docs: their Python programs, their TOML files, the commands they show."""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))


@cache
def text(page):
    return page.read_text(encoding="utf-8")


def name(page):
    return str(page.relative_to(ROOT).with_suffix(""))


def blocks(language, page):
    """The fenced blocks of a page in a language, however deep they stand in a list."""
    found = re.findall(r"^( *)```([^\n`]*)\n(.*?)^\1```[^\S\n]*$", text(page), re.M | re.S)  # in pairs: no text between
    chosen = [(indent, code) for indent, kind, code in found if re.fullmatch(language, kind.strip())]
    return [re.sub(rf"^{indent}", "", code, flags=re.M) for indent, code in chosen]


def shown(page):
    """What a page says its programs print: text that stands directly below a Python block, in order."""
    found = re.findall(r"^```(\w*)\n(.*?)^```\n(?=(\n```text\n)?)", text(page), re.M | re.S)
    return [below for (language, _, over), (_, below, _) in pairwise(found) if language == "python" and over]


def figures(page):
    """The files of a page's own figures, beside it."""
    return re.findall(r"!\[[^]]*\]\((figures/[^)]+)\)", text(page))


def fences(page):
    """The languages of all fenced blocks of a page, in order."""
    return re.findall(r"^ *(?:```|~~~)[^\S\n]*([^\s`]+)", text(page), re.M)


def commands(page):
    """`flexarm ...` in a page, on a line of a block (fenced or indented), after a prompt or not."""
    indented = re.findall(r"^(?: {4}|\t)(.*)$", text(page), re.M)
    fenced = [line for block in blocks("|sh|bash|console|shell|text", page) for line in block.splitlines()]
    lines = [line.strip().removeprefix("$ ").removeprefix(".venv/bin/") for line in indented + fenced]
    return sorted({line.partition("#")[0].strip() for line in lines if line.startswith("flexarm ")})


def shell_lines(page):
    """All commands of a page: the lines of `sh` blocks, and of other blocks those that begin like one."""
    shell = [line for block in blocks("sh|bash|console|shell", page) for line in block.splitlines()]
    indented = re.findall(r"^(?: {4}|\t)(.*)$", re.sub(r"^( *)```.*?^\1```", "", text(page), flags=re.M | re.S), re.M)
    plain = [line for block in blocks("|text", page) for line in block.splitlines()] + indented
    known = re.compile(r"(\$ )?(\.venv/bin/)?(make|flexarm|pip|python)( [\w.-]|$)")
    lines = [*shell, *(line.strip() for line in plain if known.match(line.strip()))]
    stripped = (line.strip().removeprefix("$ ").removeprefix(".venv/bin/") for line in lines)
    return [line for line in stripped if line.partition("#")[0].strip()]


def write_files(page, folder):
    """The files that a reader would have made of the TOML blocks, and of URDF's, MJCF's and SDF's."""
    for xml in blocks("xml", page):
        (folder / re.match(r"<!-- (\S+\.(?:urdf|xml|sdf)) -->", xml)[1]).write_text(xml)
    for toml in blocks("toml", page):
        named = re.match(r"# (\S+\.toml)", toml)
        if named:
            (folder / named[1]).write_text(toml)


def assert_shown(outputs, printed):
    """What a page shows is what its programs print, in this order; `...` stands for anything."""
    at = 0
    for part in (part.strip() for output in outputs for part in output.split("...")):
        assert part in printed[at:], part
        at = printed.index(part, at) + len(part)
