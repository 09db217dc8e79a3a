"""Measure everything: `python -m benchmarks`."""

import argparse
from pathlib import Path

from rich.console import Console

from benchmarks import (
    beside,
    boards,
    c_library,
    choice,
    closed_forms,
    closed_loops,
    control_laws,
    counts,
    drives,
    ensembles,
    environments,
    estimation,
    evaluation,
    families,
    following,
    gpu,
    motions,
    pages,
    parameters,
    predictive,
    report,
    robust,
    scaling,
    slew,
    start,
    stepping,
    trees,
    work_precision,
)

SUBJECTS = {
    "c": c_library.measure,
    "boards": boards.measure,
    "counts": counts.measure,
    "evaluation": evaluation.measure,
    "parameters": parameters.measure,
    "start": start.measure,
    "scaling": scaling.measure,
    "slew": slew.measure,
    "work_precision": work_precision.measure,
    "beside": beside.measure,
    "choice": choice.measure,
    "closed_forms": closed_forms.measure,
    "closed_loops": closed_loops.measure,
    "laws": control_laws.measure,
    "predictive": predictive.measure,
    "estimation": estimation.measure,
    "robust": robust.measure,
    "motions": motions.measure,
    "following": following.measure,
    "stepping": stepping.measure,
    "ensembles": ensembles.measure,
    "environments": environments.measure,
    "drives": drives.measure,
    "trees": trees.measure,
    "families": families.measure,
    "pages": pages.measure,
    "gpu": gpu.measure,
}


def main() -> None:
    """Run the subjects, print their tables, write a page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure what flexarm costs, and how exact it is."
    )
    parser.add_argument("--quick", action="store_true", help="few repeats, no long chains: a minute")
    parser.add_argument("--only", choices=SUBJECTS, nargs="+", help="these subjects alone")
    parser.add_argument(
        "--write", type=Path, default=report.ROOT / "out" / "benchmarks.md", help="the page, in Markdown"
    )
    options = parser.parse_args()
    console = Console()
    facts = report.circumstances()
    for name, value in facts:
        console.print(f"[bold]{name}[/] {value}", highlight=False)
    tables: list[report.Table] = []
    for name in options.only or SUBJECTS:
        with console.status(f"measuring: {name}"):
            found = SUBJECTS[name](options.quick)
        for table in found:
            console.print(table.rich())
        tables += found
    repeats = (
        "A time is the median of several repeats, with their range in brackets. Programs and settings that are "
        "compared ran alternately."
    )
    if options.quick:
        repeats += " This was a quick run: few repeats."
    options.write.parent.mkdir(parents=True, exist_ok=True)
    options.write.write_text(report.page(facts, tables, repeats), encoding="utf-8")
    for table in tables:
        if table.picture is not None:
            table.picture.save(options.write.parent / report.FIGURES)
    console.print(f"written: {options.write}", highlight=False)


if __name__ == "__main__":
    main()
