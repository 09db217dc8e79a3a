"""Quantities of an arm and whole runs for libraries that differentiate: what `flexarm.jax` and `flexarm.torch` share.

namespace : the operations of a library of arrays
program : a traced function as operations on arrays, for any device and any order of derivative
quantity : a quantity of a model, by array operations or by native code with its Jacobian
rollout : runs by fixed steps
"""
