"""Program that serves the plots of a run in real time, in a process of its own: python serve.py FOLDER [open].

It uses the standard library only, so that it starts fast, and leaves the processor to the loop where it can.
"""

import ctypes  # noqa: TID251  (calls what was compiled for the run)
import json
import math
import mmap
import os
import sys
import threading
import time
import webbrowser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HEAD = 8
"""Words before the rows: the number of finished rows, and 1 after the last one."""

MOST_ROWS = 500
"""Rows of an answer. Between more than that, some are left out."""

PATIENCE = 3.0
"""Time after the end of the run for which a page may still ask for the last rows [s]."""


class Rows:
    """The rows of a run, read while another process writes them. A row does not change once it is counted."""

    def __init__(self, folder: Path):
        given = json.loads((folder / "layout.json").read_text(encoding="utf-8"))
        self.width, self.period, self.safe = given["width"], given["period"], given["safe"]
        with (folder / "rows").open("rb+") as file:
            self._memory = mmap.mmap(file.fileno(), 0)
        self._numbers = memoryview(self._memory).cast("d")
        self._load = ctypes.CDLL(str(folder / "bridge.so")).flexarm_load  # noqa: TID251
        self._load.argtypes, self._load.restype = [ctypes.c_void_p], ctypes.c_uint64
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._counted, self._counts, self._lock = 0, {"missed": 0, "overruns": 0, "safe": 0}, threading.Lock()

    @property
    def finished(self) -> bool:
        """True after the last row."""
        return bool(self._load(self._address + 8))

    def __getitem__(self, k: int) -> list[float]:
        return list(self._numbers[HEAD + k * self.width : HEAD + (k + 1) * self.width])

    def since(self, first: int) -> dict[str, Any]:
        """Return the rows from the first one on, at most `MOST_ROWS`, and the counts up to the last."""
        finished = self.finished  # before the count, so that a finished answer has the last row
        count = self._load(self._address)
        with self._lock:
            for k in range(self._counted, count):
                latency, late, status = self[k][-3:]
                self._counts["missed"] += math.isnan(latency)
                self._counts["overruns"] += late > self.period
                self._counts["safe"] += (int(status) & self.safe) > 0
            self._counted = max(self._counted, count)
            counts = dict(self._counts)
        stride = max(1, math.ceil((count - first) / MOST_ROWS))
        rows = [[k, *(x if math.isfinite(x) else None for x in self[k])] for k in range(first, count, stride)]
        return {"count": count, "finished": finished, **counts, "rows": rows}


def serve(folder: Path, opens: bool) -> None:
    """Serve until the run has ended and a page has its last rows, or until the process of the run has ended."""
    rows, page, parent = Rows(folder), (folder / "page.html").read_bytes(), os.getppid()
    asked, complete = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        timeout = 5.0

        def do_GET(self) -> None:
            if self.headers.get("Host") != f"127.0.0.1:{server.server_port}":  # no other site's name leads here
                self.send_error(403)
            elif self.path == "/":
                asked.set()
                self._send(page, "text/html; charset=utf-8")
            elif self.path.startswith("/rows?from=") and self.path[11:].isascii() and self.path[11:].isdigit():
                found = rows.since(int(self.path[11:]))
                self._send(json.dumps(found).encode(), "application/json")
                if found["finished"]:
                    complete.set()
            else:
                self.send_error(404)

        def _send(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    if opens:
        webbrowser.open(f"http://127.0.0.1:{server.server_port}/")
    while not rows.finished and os.getppid() == parent:
        time.sleep(0.1)
    end = time.monotonic() + PATIENCE
    while (opens or asked.is_set()) and not complete.is_set() and time.monotonic() < end:
        time.sleep(0.05)


def _yield() -> None:
    """Give up a priority that the loop's process was started with, since this process inherits it."""
    if hasattr(os, "sched_setscheduler"):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    if hasattr(os, "nice"):
        os.nice(10)


if __name__ == "__main__":
    _yield()
    serve(Path(sys.argv[1]), sys.argv[2:] == ["open"])
