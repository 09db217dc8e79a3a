"""The attack on the command line; see the package."""

import argparse
import itertools
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy: what is forked has no threads
os.environ["MPLBACKEND"] = "agg"

from . import guard, judge, pool, report

MIX = {"arms": 8, "scenarios": 6, "results": 3, "caches": 2, "calls": 9, "commands": 4, "scores": 1}
MIX |= {"parts": 4, "robots": 6, "studies": 2, "references": 3, "names": 2, "drives": 4, "pulses": 2, "forks": 1}
"""Of 57 cases: chosen so that none of them takes most of the time."""
MANY = 100
"""Cases from which on importing every module beforehand costs less than importing it where it is needed."""


def main():
    options = _options()
    with tempfile.TemporaryDirectory(prefix="flexarm-attack-cache-", ignore_cleanup_errors=True) as cache:
        os.environ["FLEXARM_CACHE"] = cache
        return _run(options)


def _run(options):
    if options.bare:
        with tempfile.TemporaryDirectory() as folder:
            pool.warmed(options.kind or MIX)
            guard.guarded(folder, os.environ["FLEXARM_CACHE"])
            came = judge.verdict(options.kind[0], options.seed, Path(folder))
        print(came.outcome, came.example, *(f"{f.signature}\n{f.message}\n{f.trace}" for f in came.findings), sep="\n")
        return bool(came.findings)
    if options.keep:
        from ..helpers import machine_code

        machine_code.keep_compiled_programs()
        pool.SHARED.append(machine_code.FOLDER)
    given = json.loads(options.cases.read_text(encoding="utf-8")) if options.cases else []
    count = len(given) or options.count or 20_000
    one = options.kind and len(options.kind) == 1 and options.seed is not None and options.count is None
    pool.warmed({kind for kind, _ in given} or options.kind or MIX, many=not one and count > MANY)
    if one:
        cases = [(options.kind[0], options.seed)]
    else:
        first = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9) * 1000
        cases = [(kind, seed) for kind, seed in given] or schedule(options.kind, first, count)
        print(f"{len(cases)} cases from seed {cases[0][1]}, {options.processes} processes", flush=True)
    began = time.monotonic()
    until = began + options.seconds if options.seconds else None

    def said(tally):
        found = len(tally.groups)
        print(f"{tally.cases} cases, {found} kinds of findings, {time.monotonic() - began:.0f} s", flush=True)

    tally = pool.attacked(cases, options.processes, options.limit, options.out, None if one else said, until)
    if not one:
        pool.repeated(tally, options.limit)
    text = report.text(tally, time.monotonic() - began, options.out)
    print(text)
    if not one:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "report.md").write_text(text + "\n", encoding="utf-8")
        facts = {"outcomes": tally.outcomes, "groups": [asdict(group) for group in tally.groups.values()]}
        (options.out / "findings.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")
    return bool(tally.groups)


def schedule(kinds, first, count):
    """Pairs (kind, seed) in the mix of the kinds, which are all by default."""
    mix = {kind: MIX.get(kind, 1) for kind in kinds or MIX}
    rounds = [kind for i in range(max(mix.values())) for kind, share in mix.items() if i < share]
    kinds = itertools.cycle(rounds)
    return [(kind, first + i) for i, kind in enumerate(itertools.islice(kinds, count))]


def _options():
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--kind", action="append", choices=judge.KINDS, help="only these; repeatable")
    parser.add_argument("--seed", type=int, help="of the first case; with one --kind and no --count: that case again")
    parser.add_argument("--count", type=int, help="cases (20000)")
    parser.add_argument("--cases", type=Path, help="a JSON file of pairs [kind, seed] in place of kinds and counts")
    parser.add_argument("--keep", action="store_true", help="use the compiled programs of earlier runs of the tests")
    parser.add_argument("--seconds", type=float, help="end after so long")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=pool.SECONDS, help="seconds of the processor for a case")
    parser.add_argument("--out", type=Path, default=Path("out/attack"), help="folder for what is found")
    parser.add_argument("--bare", action="store_true", help="the case in this process, unwatched")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
