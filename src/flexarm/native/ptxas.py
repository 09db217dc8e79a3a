"""Register and spill counts of PTX from NVIDIA's assembler.

The assembler is a program in a package from the registry (`nvidia-cuda-nvcc-cu12`). It needs no graphics processor.
"""

import re
import subprocess  # noqa: TID251  (NVIDIA's assembler, installed by pip)
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import final

from flexarm.errors import DescriptionError

PACKAGES = ("nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc")
"""Packages that contain the assembler."""

REGISTERS, UNIT, WARP, MOST = 65536, 256, 32, 2048
"""Properties of a multiprocessor from sm_70 to sm_120: registers, their allocation unit, threads per warp, most
threads."""

REPORT = re.compile(
    r"Compiling entry function '(?P<name>\w+)' for '(?P<arch>\w+)'.*?(?P<stack>\d+) bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers",
    re.DOTALL,
)


@final
@dataclass(frozen=True)
class Resources:
    """Resources of a kernel's thread.

    Attributes
    ----------
    name, arch : str
        Name of the kernel, and the generation.
    registers : int
        Number of 32-bit registers, at most 255.
    stack : int
        Size of the thread's own memory, for arrays and spills [bytes].
    stores, loads : int
        Size of spills that the program text writes and reads [bytes].
    """

    name: str
    arch: str
    registers: int
    stack: int
    stores: int
    loads: int

    def resident(self, block: int) -> int:
        """Return how many threads a multiprocessor runs at once, in blocks of this size."""
        of_warp = -(-self.registers * WARP // UNIT) * UNIT
        warps = min(REGISTERS // of_warp, MOST // WARP)
        return warps // (block // WARP) * block


def resources(ptx: str, arch: str = "sm_90") -> list[Resources]:
    """Return the resources of every kernel in the text, assembled for a generation of processors.

    Raises
    ------
    DescriptionError
        The assembler is missing, or rejects the text.
    """
    with TemporaryDirectory() as folder:
        source = Path(folder) / "program.ptx"
        source.write_text(ptx, encoding="utf-8")
        command = [
            str(_assembler()),
            "--verbose",
            "--gpu-name",
            arch,
            "--output-file",
            f"{folder}/program",
            str(source),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        why = " ".join((done.stderr or done.stdout).split())
        raise DescriptionError(f"ptxas rejects the program: {why.replace(folder, '')[:300]}")
    found = [match.groupdict() for match in REPORT.finditer(done.stdout + done.stderr)]
    return [
        Resources(x["name"], x["arch"], *(int(x[key]) for key in ("registers", "stack", "stores", "loads")))
        for x in found
    ]


def _assembler() -> Path:
    """Return the path of the assembler. Raise `DescriptionError` if it is missing."""
    for package in PACKAGES:
        try:
            files = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name in ("ptxas", "ptxas.exe"):
                return Path(str(file.locate()))
    raise DescriptionError(f"ptxas is not installed: pip install {PACKAGES[0]}")
