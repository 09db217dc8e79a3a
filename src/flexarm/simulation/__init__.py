"""Motion in time: inputs, closed loops, solvers, runs and their results."""
