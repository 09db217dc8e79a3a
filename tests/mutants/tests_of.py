"""Which tests run a line, and in which order to try them: from what `make coverage` has recorded."""

import ast
import json
import subprocess
import sys
from collections import defaultdict

import coverage

from .faults import FOLDERS


class Map:
    """The recorded tests: the lines that each runs, its processor time, the translated functions that it uses.

    Recorded tests that are no longer in the tree are left out. Tests that are newer than the record are in `unknown`.
    """

    def __init__(self, folder, tests):
        self.seconds, self.translated = {}, defaultdict(set)
        there = collected(tests)
        with (folder / "costs.jsonl").open(encoding="utf-8") as file:
            for entry in map(json.loads, file):
                if entry["passed"] and entry["test"] in there:
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
        self.unknown = there - self.seconds.keys()
        self.root, source = tests.parent, tests.parent / "src"
        self.package = {module_name(path, source): imported(path) for path in sorted(source.rglob("*.py"))}

    def of(self, fault, source):
        """Identifiers of tests for a fault, the most promising ones first, and how the first of them were found.

        First come the tests that run the lines of the fault, or its function as machine code, then those that run its
        function, then those that run its file, then those whose files import it. Among each, tests whose files import
        the module stand at the head. Tests that the record does not know come before all others if other tests of
        their files run the lines, or if their files import the module.
        """
        lines, native = self.lines[fault.file], self.translated.get(f"{fault.file}:{fault.function}", set())
        first, last = extent(source, fault)
        ways = {
            "machine code" if native else "lines": self._ordered(self._running(lines, *fault.lines) | native),
            "function": self._ordered(self._running(lines, first, last)),
            "file": self._ordered(self._running(lines, 0, max(lines, default=0))),
            "names": self._named(fault),
        }
        direct = self._importing({module_of(fault.file)})
        near = direct | {file_of(test) for test in next(filter(None, ways.values()), [])}
        tests = [test for test in sorted(self.unknown) if file_of(test) in near]
        for found in ways.values():
            tests += sorted(found, key=lambda test: file_of(test) not in direct)
        return list(dict.fromkeys(tests)), next((way for way, found in ways.items() if found), "nothing")

    def _importing(self, modules):
        """Files of tests, by their paths below the root, that import one of some modules."""
        return {path.relative_to(self.root).as_posix() for path, names in self.names.items() if names & modules}

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
        modules, seen = {module_of(fault.file)}, set()
        while modules:
            if whole := sorted(self._importing(modules)):
                known = [test for test in self.seconds if file_of(test) in whole]
                return self._ordered(known) + [file for file in whole if not any(t.startswith(file) for t in known)]
            seen |= modules
            modules = {name for name, names in self.package.items() if names & modules} - seen
        return []


def collected(tests):
    """The identifiers of all tests in a folder."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", str(tests)]
    found = subprocess.run(command, cwd=tests.parent, capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(f"the tests cannot be collected:\n{found.stdout[-2000:]}{found.stderr[-2000:]}")
    return {line for line in found.stdout.splitlines() if "::" in line}


def file_of(test):
    """The path of the file that holds a test."""
    return test.partition("::")[0]


def module_of(file):
    """The dotted name of the module in a file below the source folder."""
    return file.removesuffix(".py").replace("/", ".")


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
