"""Programs of the cookbook and of the course: this module runs them, and adds their output and pictures to the pages.

    cd docs && python -m making.cookbook ../build/cookbook

runs the programs of all pages of docs/cookbook and docs/course, or of those named behind the folder. The Python blocks
of a page are one program. A folder for each page then holds the output, the pictures and, for the course, the notebook.
Three directives put them on the site: `printed` shows the output, `drawn` a picture, and `recipes` a card for each
page. The tests run the same programs.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from making import notebooks

ROOT = Path(__file__).parents[2]
COURSE = "course"
"""Name of the folder whose pages are also notebooks."""
FOLDERS = (ROOT / "docs" / "cookbook", ROOT / "docs" / COURSE)
PICTURES = (".svg", ".png", ".gif")
OUTPUT = "printed.txt"

LOG = logging.getLogger(__name__)


# -- output and pictures -----------------------------------------------------------------------------------------------


def blocks(language: str, text: str) -> list[str]:
    """Return the fenced blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def run(page: Path, folder: Path) -> str:
    """Run the program of a page in an empty folder with the page's own files, and keep its output and pictures.

    Raises `RuntimeError` with the program's messages if the program fails.
    """
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        for file in blocks("toml", text) + blocks("xml", text):
            named = re.match(r"(?:# |<!-- )(\S+)", file)
            if named:
                Path(place, named[1]).write_text(file, encoding="utf-8")
        Path(place, "program.py").write_text("\n".join(blocks("python", text)), encoding="utf-8")
        environment = {**os.environ, "MPLBACKEND": "agg", "BROWSER": "true", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-W", "error", "program.py"]
        ended = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
        if ended.returncode or ended.stderr:
            raise RuntimeError(f"{page.name}:\n{ended.stdout}{ended.stderr}")
        target = folder / page.stem
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        (target / OUTPUT).write_text(ended.stdout, encoding="utf-8")
        for picture in sorted(Path(place).iterdir()):
            if picture.suffix in PICTURES:
                shutil.copy(picture, target)
    if page.parent.name == COURSE:
        notebooks.write(page, target)
    return ended.stdout


def main() -> int:
    folder, *named = sys.argv[1:]
    found = [page for home in FOLDERS for page in sorted(home.glob("*.md")) if page.stem != "index"]
    pages = [page for page in found if not named or page.stem in named]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for page, done in [(page, threads.submit(run, page, Path(folder))) for page in pages]:
            try:
                done.result()
                print(page.stem, flush=True)
            except RuntimeError as error:
                failed, _ = 1, print(error, file=sys.stderr)
    return failed


# -- on the site -------------------------------------------------------------------------------------------------------


def setup(app: Any) -> dict[str, bool]:
    app.add_config_value("cookbook_folder", str(ROOT / "build" / "cookbook"), "env")
    app.add_directive("printed", Printed)
    app.add_directive("drawn", Drawn)
    app.add_directive("recipes", Recipes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Outcome(SphinxDirective):
    """A file that a page's program has left."""

    def made(self, page: str, name: str) -> Path:
        """Return the file, and warn if it is missing."""
        path = Path(self.config.cookbook_folder, page, name)
        if not path.is_file():
            LOG.warning("%s is missing; `make cookbook` makes it", path, location=self.get_location())
        self.env.note_dependency(str(path))
        return path

    def picture(self, page: str, name: str, alt: str) -> str:
        """Return a picture in Markdown."""
        here = Path(self.env.doc2path(self.env.docname)).parent
        return f"![{' '.join(alt.split())}]({Path(os.path.relpath(self.made(page, name), here)).as_posix()})"

    @property
    def page(self) -> str:
        return Path(self.env.docname).name


class Printed(Outcome):
    """The output of the page's program."""

    def run(self) -> list[nodes.Node]:
        path = self.made(self.page, OUTPUT)
        text = path.read_text(encoding="utf-8").rstrip() if path.is_file() else ""
        return [nodes.literal_block(text, text, language="text")]


class Drawn(Outcome):
    """A picture of the page's program, with its description."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(self.picture(self.page, self.arguments[0], " ".join(self.content)))


class Recipes(Outcome):
    """Cards of the pages that are named, one a line, and their place in the navigation."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        names = [name.strip() for name in self.content if name.strip()]
        lines = ["::::{container} cards", *(line for name in names for line in self.card(name)), "::::", ""]
        return self.parse_text_to_nodes("\n".join([*lines, ":::{toctree}", ":hidden:", "", *names, ":::"]))

    def card(self, name: str) -> Iterator[str]:
        """Yield the lines of a card: the first picture of a page, its title and its first sentence."""
        text = Path(self.env.doc2path(self.env.docname)).with_name(f"{name}.md").read_text(encoding="utf-8")
        title, about = re.findall(r"\A# (.+)\n\n((?:.+\n)+)", text)[0]
        file, alt = re.findall(r"^:::\{drawn\} (\S+)\n(.+?)^:::$", text, re.M | re.S)[0]
        yield f"- [{self.picture(name, file, alt)}]({name}.md)"
        yield ""
        first = re.split(r"(?<=[.])\s", " ".join(about.split()))[0].removeprefix("This page ")
        yield f"  **[{title}]({name}.md)**"
        yield ""
        yield f"  {first[0].upper()}{first[1:]}"


if __name__ == "__main__":
    sys.exit(main())
