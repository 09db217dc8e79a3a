"""Gradients of a rollout in the contest: flexarm, and programs that users of JAX take for this.

- `task`: the arms, the scalar, its exact derivatives, and the equations of motion that a user of diffrax writes
- `flexarm_native`: `fa.gradient`
- `flexarm_arrays`: `flexarm.jax`
- `mjx_arm`: MJX, MuJoCo in JAX
- `diffrax_arm`: the written equations, integrated by diffrax
"""
