"""Commands of the command line, one file for each group. The module `cli` combines them."""
