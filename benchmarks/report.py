"""Tables of measurements, on the terminal and in Markdown."""

import datetime
import os
import platform
import statistics
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FIGURES = "figures"
"""Folder beside the page."""
UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


@dataclass(frozen=True)
class Picture:
    """A diagram beside a page: its file's name, and how it is drawn."""

    name: str
    figure: Callable[[], Any]

    def save(self, folder: Path) -> None:
        """As SVG whose words are words, the same bytes for the same numbers."""
        from flexarm.plots import save_figure

        save_figure(self.figure(), folder / self.name)


@dataclass
class Table:
    """A subject: rows of texts, notes and perhaps a picture below."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    picture: Picture | None = None

    def add(self, *cells: Any) -> None:
        """A row."""
        self.rows.append(tuple(str(cell) for cell in cells))

    def compare(self, what: str, seconds: Sequence[float], limit: float | None = None) -> None:
        """A row (what, measured, target, met): the target is a limit on the median."""
        target, met = ("", "") if limit is None else judged(statistics.median(seconds), limit, time(limit))
        self.add(what, spread(seconds), target, met)

    def markdown(self) -> str:
        """As a section of a page; all columns but the first are set to the right."""
        lines = [f"## {self.title}", "", _line(self.columns), _line(("---", *["---:"] * (len(self.columns) - 1)))]
        lines += [_line(row) for row in self.rows]
        below = [*self.notes, *([f"![{self.title}]({FIGURES}/{self.picture.name})"] if self.picture else [])]
        return "\n".join([*lines, *(f"\n{text}" for text in below), ""])

    def rich(self) -> Any:
        """For the terminal."""
        import rich.box
        import rich.table

        table = rich.table.Table(title=self.title, title_justify="left", box=rich.box.SIMPLE, title_style="bold")
        for i, column in enumerate(self.columns):
            table.add_column(column, justify="right" if i else "left")
        for row in self.rows:
            table.add_row(*row)
        table.caption, table.caption_justify = "\n".join(self.notes) or None, "left"
        return table


def judged(value: float, limit: float, shown: str) -> tuple[str, str]:
    """A target and whether it is met."""
    return f"< {shown}", "yes" if value < limit else "**no**"


def time(seconds: float) -> str:
    """With the unit that suits it, three figures."""
    unit, size = next(((u, s) for u, s in UNITS if abs(seconds) >= s), UNITS[-1])
    value = f"{seconds / size:.3g}" if seconds < 100 * size else f"{seconds / size:.0f}"
    return f"{value} {unit}"


def spread(seconds: Sequence[float]) -> str:
    """Median and range."""
    if len(seconds) == 1:
        return time(seconds[0])
    return f"{time(statistics.median(seconds))} ({time(min(seconds))} .. {time(max(seconds))})"


def circumstances() -> list[tuple[str, str]]:
    """When, what and where: date, commit, versions, machine."""
    packages = ("flexarm", "casadi", "llvmlite", "numpy", "exudyn")
    versions = ", ".join(f"{name} {version}" for name in packages if (version := _version(name)))
    return [
        ("date", datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("commit", _commit()),
        ("versions", f"{versions}, Python {platform.python_version()}"),
        ("machine", f"{_processor()}, {os.cpu_count()} cores, {_memory()}, {platform.system()} {platform.machine()}"),
        ("load before", f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"),
    ]


def page(facts: list[tuple[str, str]], tables: list[Table], repeats: str) -> str:
    """The whole report in Markdown."""
    head = ["# Measurements", "", f"Written by `make bench`. {repeats}", "", "| | |", "| --- | --- |"]
    head += [_line(fact) for fact in facts]
    return "\n".join([*head, "", *(table.markdown() for table in tables)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _version(name: str) -> str:
    """Empty if it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        if name != "flexarm":
            return ""
        from flexarm import __version__  # run from the sources

        return __version__


def _commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        dirty = git("status", "--porcelain", "--untracked-files=no", "--", "src", "benchmarks")
        return git("rev-parse", "--short=12", "HEAD") + (" (dirty)" if dirty else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (AttributeError, OSError, ValueError):
        return "memory unknown"
