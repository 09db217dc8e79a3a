"""The tally as a text: counts, and a paragraph for each kind of finding."""


def text(tally, seconds, kept):
    lines = [
        f"{tally.cases} cases in {seconds:.0f} s",
        "",
        "| kind | cases | s of the processor | came to |",
        "| --- | --- | --- | --- |",
    ]
    for kind, outcomes in sorted(tally.outcomes.items()):
        counts = ", ".join(f"{n} {outcome or 'nothing'}" for outcome, n in outcomes.most_common(14))
        lines.append(f"| {kind} | {sum(outcomes.values())} | {tally.seconds[kind]:.0f} | {counts} |")
    groups = sorted(tally.groups.values(), key=lambda group: -group.count)
    lines += ["", f"{len(groups)} kinds of findings" + (f", examples in {kept}" if groups else "")]
    for group in groups:
        lines += ["", f"## {group.count} x {group.finding.signature}"]
        alone = "" if group.repeats is not False else ", which alone does not come again"
        lines.append(f"again: `python -m tests.attack --kind {group.kind} --seed {group.seed}`{alone}")
        if group.finding.message:
            lines.append(f"says: {group.finding.message[:300]!a}")
        lines.append(f"case: {group.example[:600]!a}")
    return "\n".join(lines)
