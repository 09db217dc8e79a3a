"""Motion in time: inputs, closed loops, solvers, runs and their results.

- Runs: `run` (`simulate`) with its `integration`, `stepper` with `plants`, `options`, `layout` of the state,
  `parameters`, `watch` (progress and Ctrl-C) and `memory`.
- Blocks, which act on an arm: `block` is their interface. `inputs`, and `exogenous` with `disturbance` for w.
- Controllers: `law` is what they design. `feedback` evaluates it continuously. `sampled` calls a law or a Python
  function (`stepped`) once per period, and `sampled_calls` does it in machine code. `shown` has signals to record, and
  `closed_loop` the poles.
- Solvers: `methods` chooses one by name (`solvers`), and `race` chooses automatically. `rhs` evaluates the rates.
  `explicit` takes and rejects the steps (`stages`) of the tables in `butcher`. `steps`, which `implicit` calls, does so
  for the tables in `tableaus`; its slopes are finite differences. `decoupled` has the blocks of Newton's matrix.
  `advance` is their common interface.
- Parameters that change in a run: `changes` are sudden ones, and `varying` follows all of them.
- Events: `breakpoints`, `restarts` at fast inputs, `crossings`: sharp backlash and end stops, at which a run stops, and
  `touches`: contacts that are shorter than a step.
- SIMD batches: `lanes` takes and rejects their steps, `lanes_plan` has their data, `lanes_sampled` calls their sampled
  controllers, `lanes_closures` moves their states onto the closures of an arm, and `lanes_touches` has their contacts.
  `lanes_implicit` takes `steps`.
- Ensembles: `ensemble` (`simulate_many`), `ensemble_runs`, `ensemble_pool`, `ensemble_files`, `ensemble_dataset`,
  `ensemble_sensitivities`, and `gpu`, `gpu_loops` and `gpu_states` on a graphics processor, with `gpu_contacts` at
  sharp contacts, `gpu_implicit` and `gpu_implicit_loops` for implicit methods, and `gpu_cooperative` and
  `gpu_cooperative_loops` for large arms.
- Gradients: `gradient` of a scalar (`objective`) of a run, and `tuning` of its numbers by it. `gradient_start` records
  the steps, of `gradient_many` runs at once. `gradient_slopes` has the derivatives by the discrete `adjoint`, with
  `designs` of controllers. Its `sweep` passes all stages, which depend on each other in steps of implicit methods
  (`adjoint_implicit`). `sensitivities` of all samples are derivatives along `directions`, by a `forward` sweep
  over the steps, and `forward_implicit` for those of implicit methods.
- Checks: `balance` of energy, `divergence`, `diagnosis` of a failed run, `unstable` starts, `plausible` angles.
- Results: `dataset`, `common`, `labels`, `momenta`, `passed`, `performance`; `results`, `netcdf` and `rewrite` on disk.
"""
