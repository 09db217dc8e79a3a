"""Count the habits of writing that `make words` rules out, in the pages and in the source.

    python docs/making/words.py           # counts beside their limits; status 1 where a limit is exceeded
    python docs/making/words.py --list    # and every place

Pages are read without their code, tables and generated parts. A sentence ends at a full stop, a question mark, or the
end of a paragraph or of a list item.
"""

import argparse
import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ("docs/understand/benchmarks.md", "docs/understand/contest.md", "docs/lookup/api/")
"""Pages that a program writes; the texts of the program are source."""

LONG = 30
"""Words in a sentence above which it is too long to be read once."""
BARE = re.compile(r"(Of|What|Whether|Which|Where|Who|How)\b")
"""Beginnings of a docstring that is no sentence and no noun phrase."""
PHRASES = re.compile(
    r"\b(is told|is said|are told|are said|as such|shall|hears of|what of it|of which)\b", re.IGNORECASE
)
LIMITS = {"bare docstrings": 0, "phrases": 0, "long sentences": 0.03, "semicolons": 100}
"""Largest counts; of long sentences, the share of all sentences."""


@dataclass(frozen=True)
class Place:
    """A finding: what it is, where, and its text."""

    kind: str
    where: str
    text: str


def main() -> int:
    parser = argparse.ArgumentParser(prog="words.py", description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print every place")
    parser.add_argument("paths", nargs="*", help="only these files")
    options = parser.parse_args()
    chosen = [Path(path).resolve() for path in options.paths]
    sources = [path for path in sorted((ROOT / "src").rglob("*.py")) if not chosen or path in chosen]
    texts = [path for path in pages() if not chosen or path in chosen]
    total, found = 0, [place for path in sources for place in of_source(path)]
    for path in texts:
        every = sentences(path.read_text(encoding="utf-8"))
        total += len(every)
        found += [place for line, sentence in every for place in of_sentence(f"{name(path)}:{line}", sentence)]
    exceeded = False
    for kind, limit in LIMITS.items():
        places = [place for place in found if place.kind == kind]
        count = len(places) if isinstance(limit, int) else len(places) / max(total, 1)
        exceeded |= count > limit
        share = "" if isinstance(limit, int) else f" of {total}: {100 * count:.1f} %, at most {100 * limit:g} %"
        print(f"{len(places):5d} {kind}{share or f', at most {limit}'}")
        for place in places if options.list else ():
            print(f"      {place.where}: {place.text}")
    return int(exceeded)


def name(path: Path) -> str:
    """A file's name from the root of the repository."""
    return path.relative_to(ROOT).as_posix()


def pages() -> list[Path]:
    """The texts that people write: pages, and files of the root folder."""
    found = sorted((ROOT / "docs").rglob("*.md")) + sorted(ROOT.glob("*.md"))
    return [path for path in found if not name(path).startswith(GENERATED)]


def sentences(text: str) -> list[tuple[int, str]]:
    """Sentences of a page with the lines on which they begin, without code, tables, comments and directives."""
    found, paragraph, first, fence = [], [], 1, ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        plain = line.strip()
        if mark := re.match(r"(`{3,}|~{3,}|:{3,}|\$\$)", plain):
            closes = bool(fence) and plain.startswith(fence) and (mark[0] == "$$" or not plain.strip("`~: "))
            opens = not fence and mark[0][0] != ":" and not (mark[0] == "$$" and plain.count("$$") > 1)
            fence = "" if closes else mark[0] if opens else fence
            plain = ""
        begins = re.match(r"([-*+]|\d+\.)\s", plain) is not None
        if line.startswith("    ") and not paragraph:  # a program that is indented
            plain = ""
        if fence or not plain or begins or plain.startswith(("|", "#", "<", ">", "[", "!", "---")):
            found += _split(first, " ".join(paragraph))
            paragraph, first = [], number
            if fence or not begins:
                plain = plain[2:] if plain.startswith("> ") else plain if plain.startswith("[") else ""
        if plain:
            first = first if paragraph else number
            paragraph.append(re.sub(r"^([-*+]|\d+\.)\s+", "", plain))
    return found


def _split(line: int, paragraph: str) -> Iterator[tuple[int, str]]:
    shown = re.sub(r"\]\([^)]*\)", "]", paragraph)
    shown = re.sub(r"`[^`]*`", "`x`", shown)
    shown = re.sub(r"\$[^$]*\$", "x", shown)
    for sentence in re.split(r"(?<=[.!?])[\"')*]*\s+(?=[A-Z0-9`*\[(\"$])", shown):
        if re.search(r"[a-z]{2}", sentence):
            yield line, sentence.strip()


def of_sentence(where: str, sentence: str) -> Iterator[Place]:
    """Yield the findings of a sentence."""
    if len(re.findall(r"[\w'-]*[A-Za-z][\w'-]*", sentence)) > LONG:
        yield Place("long sentences", where, sentence)
    for _ in range(sentence.count(";")):
        yield Place("semicolons", where, sentence)
    for phrase in PHRASES.findall(sentence):
        yield Place("phrases", where, f"{phrase}: {sentence}")


def of_source(path: Path) -> Iterator[Place]:
    """Docstrings and phrases of a file."""
    text = path.read_text(encoding="utf-8")
    for line, docstring in docstrings(ast.parse(text)):
        if BARE.match(docstring):
            yield Place("bare docstrings", f"{name(path)}:{line}", docstring.partition("\n")[0])
    for number, line in enumerate(text.splitlines(), 1):
        for phrase in PHRASES.findall(line):
            yield Place("phrases", f"{name(path)}:{number}", f"{phrase}: {line.strip()}")


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings of modules, classes, functions, and of the names that they follow."""
    for node in ast.walk(tree):
        for statement in getattr(node, "body", []) if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.lineno, value.value.strip()


if __name__ == "__main__":
    raise SystemExit(main())
