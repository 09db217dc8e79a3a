"""Random faults in the package's source, and which of them the tests catch.

`record` notes which test runs which line (`make coverage`), `faults` draws faults from a seed, `trial` runs the tests
of a fault in a copy of the source tree, and `__main__` is the command.
"""
