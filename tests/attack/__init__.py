"""The attack: wrong, damaged and hostile input of every kind, in watched processes.

    python -m tests.attack                          # what `make attack` runs
    python -m tests.attack --kind arms --seed 17    # one case again

A case is a kind and a seed, and nothing else. What counts as a finding stands in `judge`, who watches in `pool`.
"""
