"""Which tests run a line, and in which order to try them: from what `make coverage` has recorded."""

import ast
import json
from collections import defaultdict

import coverage

from .faults import FOLDERS


class Map:
    """The recorded tests: the lines that each runs, its processor time, the translated functions that it uses."""

    def __init__(self, folder, tests):
        self.seconds, self.translated = {}, defaultdict(set)
        with (folder / "costs.jsonl").open(encoding="utf-8") as file:
            for entry in map(json.loads, file):
                if entry["passed"]:
                    self.seconds[entry["test"]] = entry["seconds"]
                    for function in entry["translated"]:
                        self.translated[function].add(entry["test"])
        self.lines = defaultdict(lambda: defaultdict(set))
        for path in sorted(folder.glob("data*")):
            data = coverage.CoverageData(basename=str(path))
            data.read()
            for file in data.measured_files():
                name = "flexarm/" + file.rpartition("/flexarm/")[2]
                if name.split("/")[1] not in FOLDERS:
                    continue
                for line, contexts in data.contexts_by_lineno(file).items():
                    self.lines[name][line] |= self.seconds.keys() & set(contexts)
        self.names = {path: imported(path) for path in sorted(tests.rglob("test_*.py"))}
        self.root, source = tests.parent, tests.parent / "src"
        self.package = {module_name(path, source): imported(path) for path in sorted(source.rglob("*.py"))}

    def of(self, fault, source):
        """Identifiers of tests for a fault, the most promising ones first, and how the first of them were found.

        First come the tests that run the lines of the fault, or its function as machine code, then those that run its
        function, then those that run its file, then those whose files import it.
        """
        lines, native = self.lines[fault.file], self.translated.get(f"{fault.file}:{fault.function}", set())
        first, last = extent(source, fault)
        ways = {
            "machine code" if native else "lines": self._ordered(self._running(lines, *fault.lines) | native),
            "function": self._ordered(self._running(lines, first, last)),
            "file": self._ordered(self._running(lines, 0, max(lines, default=0))),
            "names": self._named(fault),
        }
        tests = dict.fromkeys(test for found in ways.values() for test in found)
        return list(tests), next((way for way, found in ways.items() if found), "nothing")

    def _running(self, lines, first, last):
        return set().union(*(tests for line, tests in lines.items() if first <= line <= last))

    def _ordered(self, tests):
        """Cheap ones first; of the cases of one test function, the others stand behind those of other functions."""
        rank, by_function = {}, defaultdict(list)
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            cases = by_function[test.partition("[")[0]]
            rank[test] = len(cases)
            cases.append(test)
        return sorted(tests, key=lambda test: (rank[test], self.seconds[test], test))

    def _named(self, fault):
        """Tests of the files that import the module, or else of those that import what imports it, and so on.

        Recorded tests come first, the cheapest of them at the head; files without any follow as a whole.
        """
        modules, seen = {fault.file.removesuffix(".py").replace("/", ".")}, set()
        while modules:
            files = [path for path, names in self.names.items() if names & modules]
            if files:
                whole = [path.relative_to(self.root).as_posix() for path in files]
                known = [test for test in self.seconds if test.partition("::")[0] in whole]
                return self._ordered(known) + [file for file in whole if not any(t.startswith(file) for t in known)]
            seen |= modules
            modules = {name for name, names in self.package.items() if names & modules} - seen
        return []


def module_name(path, source):
    """The dotted name of a source file."""
    return ".".join(path.relative_to(source).with_suffix("").parts)


def imported(path):
    """Modules that a file imports anywhere; what it takes from them may be modules, too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def extent(source, fault):
    """First and last line of the function that holds a fault."""
    tree = ast.parse((source / fault.file).read_text(encoding="utf-8"))
    spans = [
        (node.lineno, node.end_lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= fault.lines[0] <= node.end_lineno
    ]
    return max(spans, default=fault.lines)
