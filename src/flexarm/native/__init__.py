"""Compilation of CasADi programs to machine code, which is cached on disk.

- From a program to its code: `program`, `prologue` (what depends on parameters alone), `lifted` (constants as inputs),
  `llvm` with `sincos` and `exponential`, `kernel` and `constants`. `code` is loaded code, `calls` calls it with arrays.
- Derivatives: `adjoint` and `tangent`, the vector-Jacobian and the Jacobian-vector product of a kernel.
- Checks and storage: `verification` with `precise`, `cache`, and `once` for objects that threads share.
- Loops around programs: `language` is the part of Python that `translate` and `functions` compile, `batched` for
  several runs at once. `dense` is one use.
- Graphics processors: `nvptx` with `fusion`, `ptxas` and `cuda`. `partition` divides a program among several threads,
  and `cooperative` is their code.
"""
