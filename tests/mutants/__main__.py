"""Random faults in the package's source, and which of them the tests catch; see the package."""

import argparse
import json
import os
import sys
import tempfile
import tomllib
from collections import Counter
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))
os.environ["MUTANTS_ROOT"] = str(ROOT)
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy: what is forked has no threads
os.environ["MPLBACKEND"] = "agg"

from . import faults, tests_of, trial  # noqa: E402

FIRST = 12
"""Tests that are tried first, by themselves: most faults are caught by them, and few files are imported for them."""
CAUGHT = ("caught", "endless", "waiting", "crashed")


def main():
    options = _options()
    recorded = tests_of.Map(options.recorded, ROOT / "tests")
    source, known = ROOT / "src", equivalent()
    if options.again:
        drawn, gone = faults.again(source, options.again)
        print(*(f"no longer in the source: {each}" for each in gone), sep="\n")
    else:
        drawn = faults.drawn(source, options.seed, options.count, options.folder or faults.FOLDERS)
    if options.draw:
        print(*drawn, sep="\n")
        return 0
    trial.load_libraries()
    options.out.mkdir(parents=True, exist_ok=True)
    done = []
    with tempfile.TemporaryDirectory(prefix="flexarm-mutants-") as place, open(options.out / "log.jsonl", "a") as log:
        tree = trial.Tree(ROOT, Path(place))
        for number, fault in enumerate(drawn):
            if number < options.skip or (options.number and number not in options.number):
                continue
            if reason := known.get(fault.identity):
                outcome, way, count = trial.Outcome("equivalent", message=reason), "", 0
            else:
                outcome, way, count = tried(tree, fault, recorded, options.budget)
            done.append((fault, outcome))
            entry = {"number": number, **asdict(fault), **asdict(outcome), "found by": way, "tests": count}
            log.write(json.dumps(entry) + "\n")
            log.flush()
            test = outcome.test.rpartition("/")[2]
            print(f"{number:3} {outcome.verdict:10} {outcome.seconds:5.0f} s {fault}  {test or way}", flush=True)
        wrong = unfaulted(tree, done, recorded)
    text = report(done, wrong)
    print(text)
    (options.out / "report.md").write_text(text + "\n", encoding="utf-8")
    return any(outcome.verdict in ("survived", "not judged") for _, outcome in done) or bool(wrong)


def tried(tree, fault, recorded, budget):
    """The outcome of a fault: a few tests first, then as many as have taken `budget` seconds when recorded."""
    tests, way = recorded.of(fault, ROOT / "src")
    chosen, total = [], 0.0
    for test in tests:
        total += recorded.seconds.get(test, 0.0)
        if chosen and total > budget:
            break
        chosen.append(test)
    if not chosen:
        return trial.Outcome("survived", message="no test touches it"), way, 0
    outcome = trial.Outcome("survived")
    for part in (chosen[:FIRST], chosen[FIRST:]):
        if part and outcome.verdict == "survived":
            seconds = sum(recorded.seconds.get(test, 0.0) for test in part)
            outcome = tree.run(part, seconds, fault)
    return outcome, way, len(chosen)


def unfaulted(tree, done, recorded):
    """Tests that have caught something and fail without any fault, too: they have shown nothing."""
    tests = sorted({outcome.test for _, outcome in done if outcome.test})
    wrong = []
    while tests:
        outcome = tree.run(tests, sum(recorded.seconds.get(test, 0.0) for test in tests))
        if outcome.verdict == "survived":
            break
        wrong.append(outcome.test)
        if outcome.test not in tests:
            break
        tests.remove(outcome.test)
    return wrong


def report(done, wrong):
    """Counts as a table, and a line for each fault that was not caught."""
    folders = sorted({fault.folder for fault, _ in done})
    lines = ["| folder | drawn | caught | survived | equivalent | not judged |", "| --- " + "| ---: " * 5 + "|"]
    for folder in [*folders, "all"]:
        verdicts = Counter(
            "caught" if outcome.verdict in CAUGHT else outcome.verdict
            for fault, outcome in done
            if folder in (fault.folder, "all")
        )
        kinds = ("caught", "survived", "equivalent", "not judged")
        lines.append(f"| {folder} | {verdicts.total()} | {' | '.join(str(verdicts[kind]) for kind in kinds)} |")
    ends = Counter(outcome.verdict for _, outcome in done if outcome.verdict in CAUGHT)
    lines += ["", "Caught: " + ", ".join(f"{count} {verdict}" for verdict, count in ends.most_common())]
    for fault, outcome in done:
        if outcome.verdict not in CAUGHT:
            lines.append(f"- {outcome.verdict}: {fault}" + (f" ({outcome.message})" if outcome.message else ""))
    lines += [f"- fails without a fault: {test}" for test in wrong]
    return "\n".join(lines)


def equivalent():
    """Faults that change no result, by their identities, each with its reason."""
    file = Path(__file__).with_name("equivalent.toml")
    entries = tomllib.loads(file.read_text(encoding="utf-8")).get("fault", [])
    return {(e["file"], e["function"], e["before"], e["after"]): e["reason"] for e in entries}


def _options():
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300, help="faults to draw (300)")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first ones: an earlier run has had them")
    parser.add_argument("--number", type=int, action="append", help="only this one of those drawn; repeatable")
    parser.add_argument(
        "--again", type=Path, help="a log.jsonl of an earlier run: what survived there, in place of a draw"
    )
    parser.add_argument("--folder", action="append", choices=faults.FOLDERS, help="only these; repeatable")
    parser.add_argument("--budget", type=float, default=60.0, help="recorded seconds of tests for one fault (60)")
    parser.add_argument("--recorded", type=Path, default=Path("build/coverage"), help="what `make coverage` has left")
    parser.add_argument("--out", type=Path, default=Path("out/mutants"), help="folder for the report")
    parser.add_argument("--draw", action="store_true", help="show the faults, and run nothing")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
