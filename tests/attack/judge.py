"""What a case has come to: fine, refused in one line, or a finding.

An error is the package's own if it is a `FlexarmError`, or a `ValueError` or `TypeError` that a `raise` in the
package's source has raised: the last frame of its traceback is there, and the instruction is that of `raise`. Its
message is one line that a terminal can show. A warning is the package's own if the package has issued it.
"""

import contextlib
import dis
import io
import os
import random
import sysconfig
import traceback
import warnings
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import flexarm
from flexarm.errors import FlexarmError

KINDS = {
    "arms": "arms",
    "scenarios": "scenarios",
    "results": "results",
    "caches": "caches",
    "calls": "calls",
    "commands": "commands",
    "scores": "scores",
    "parts": "parts",
    "robots": "robots",
    "studies": "studies",
    "references": "references",
    "names": "names",
    "drives": "drives",
    "pulses": "pulses",
    "forks": "forks",
    "traps": "traps",
}
"""Kinds of cases, and the modules of their `case(rng, folder, note)`; traps are for the tests of the attack alone."""

PACKAGE = str(Path(flexarm.__file__).parent)
HERE = str(Path(__file__).parent)
ROOTS = (Path(PACKAGE).parent, Path(HERE).parent, *(Path(sysconfig.get_path(name)) for name in ("purelib", "stdlib")))
"""What the names of files are told without."""
LONGEST = 2000
"""Characters of a message."""


class Chance(random.Random):
    """What a case is drawn from: all of it follows from the kind and the seed."""

    def __init__(self, kind, seed):
        super().__init__(f"{kind} {seed}")
        self.number = seed


class Found(Exception):
    """A finding that is no exception of the package: a NaN where a run has completed, a wrong exit status."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


@dataclass
class Finding:
    """Something that must not be.

    Attributes
    ----------
    kind : str
        "exception", "message", "warning", "noise", "crash", "hang", "memory", or that of a `Found`.
    where : str
        The package's innermost frame, and beyond it the innermost of all.
    what : str
        Type of the exception, or what is wrong in a few words: equal findings have the same.
    message, trace : str
    """

    kind: str
    where: str
    what: str
    message: str = ""
    trace: str = ""

    @property
    def signature(self):
        return f"{self.kind}: {self.what} at {self.where}"


@dataclass
class Verdict:
    """What one case has come to: in a word, how it is described, and what was found."""

    outcome: str
    example: str = ""
    findings: list[Finding] = field(default_factory=list)


def verdict(kind, seed, folder):
    """Run a case in an empty folder, as the current one."""
    module = import_module(f".{KINDS[kind]}", __package__)
    rng = Chance(kind, seed)
    notes, findings, said = [], [], []

    def note(text):
        """What the case is, kept in a file too: the process may not live to tell."""
        notes.append(text)
        (folder / "case.txt").write_text("\n".join(notes) + "\n", encoding="utf-8", errors="backslashreplace")

    os.chdir(folder)
    outcome = ""
    with _warnings(said), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            outcome = module.case(rng, folder, note)
        except Found as found:
            findings.append(
                Finding(found.kind, _at(found), str(found).partition("\n")[0][:80], str(found), _trace(found))
            )
        except FlexarmError as error:
            outcome = type(error).__name__
            findings += _of_message(str(error), error)
        except (KeyboardInterrupt, SystemExit) as error:
            findings.append(Finding("exception", _at(error), type(error).__name__, str(error), _trace(error)))
        except Exception as error:
            if _is_own(error):
                outcome = type(error).__name__
                findings += _of_message(str(error), error)
            elif _is_of_the_call(error):
                outcome = "no such call"
            elif _is_of_a_function(error):
                outcome = "a given function raised"
            else:
                findings.append(Finding("exception", _at(error), type(error).__name__, str(error), _trace(error)))
    findings += [each for issued in said for each in _of_warning(*issued)]
    findings = [*{each.signature: each for each in findings}.values()]  # of one kind at one place one
    return Verdict("finding" if findings else outcome, "\n".join(notes), findings)


# -- exceptions --------------------------------------------------------------------------------------------------------


def _is_own(error):
    """Whether a `raise` in the package's source has raised it."""
    if not isinstance(error, ValueError | TypeError):
        return False
    tb = error.__traceback__
    while tb.tb_next is not None:
        tb = tb.tb_next
    code = tb.tb_frame.f_code
    return code.co_filename.startswith(PACKAGE) and dis.opname[code.co_code[tb.tb_lasti]] == "RAISE_VARARGS"


def _is_of_the_call(error):
    """Return True if Python itself has refused the call, because an argument is missing or unknown.

    The function may be decorated by a context manager.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if frames and (frames[-1].filename, frames[-1].name) == (contextlib.__file__, "inner"):
        frames.pop()
    return isinstance(error, TypeError) and all(frame.filename.startswith(HERE) for frame in frames)


def _is_of_a_function(error):
    """Whether a function that was given, as an input or a controller, has raised it: that comes out as it is, noted."""
    return any(note.startswith("raised by the ") for note in getattr(error, "__notes__", ()))


def _of_message(message, error):
    where = _at(error)
    return [Finding("message", where, fault, message, _trace(error)) for fault in faults(message)]


def faults(message):
    """What is wrong with a line that a terminal shows."""
    found = []
    if not message.strip():
        found.append("empty")
    if "\n" in message or "\r" in message:
        found.append("several lines")
    elif not message.isprintable():
        found.append("control characters")
    if len(message) > LONGEST:
        found.append("very long")
    return found


def _trace(error):
    text = "".join(traceback.format_exception(error))
    return text if len(text) < 6000 else text[:2000] + "\n...\n" + text[-4000:]


def _at(error):
    return at(traceback.extract_tb(error.__traceback__))


def at(frames):
    """Where it was: the package's innermost frame, then the innermost of all."""
    frames = [frame for frame in frames if frame.name not in ("verdict", "heard")]
    own = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    names = [_named(own[-1])] if own else []
    if frames and (not own or frames[-1] is not own[-1]):
        names.append(_named(frames[-1]))
    return ", in ".join(names) or "nowhere"


def _named(frame):
    path = Path(frame.filename)
    for root in ROOTS:
        if path.is_relative_to(root):
            path = path.relative_to(root)
            break
    return f"{path}:{frame.name}"


# -- warnings ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _warnings(said):
    """Every warning in here, with the frames that led to it."""

    def heard(message, category, filename, lineno, file=None, line=None):
        frames = traceback.extract_stack()[:-1]
        while frames and (frames[-1].filename == warnings.__file__ or frames[-1].name in ("heard", "_showwarnmsg")):
            frames.pop()
        said.append((message, category, frames))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = heard
        yield


def _of_warning(message, category, frames):
    ours = issubclass(category, UserWarning) and frames and frames[-1].filename.startswith(PACKAGE)
    if ours:
        return [Finding("message", at(frames), fault, str(message)) for fault in faults(str(message))]
    trace = "".join(traceback.format_list(frames[-12:]))
    start = next((i for i, frame in enumerate(frames) if frame.name == "case"), 0)
    return [Finding("warning", at(frames[start:]), category.__name__, str(message), trace)]
