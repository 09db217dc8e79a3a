"""The contest: this package and its peers on the same problems, in turn, on one machine; `make contest`."""
