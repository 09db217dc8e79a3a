"""The equations of motion as expressions to read and export.

`traced` runs the recursions with symbols. The expressions are exact sums of products of symbols and exp(i k theta)
(`ring`). `collect` collects their terms, `parts` and `regressor` derive further matrices, `equations` is what users
call, and `formats` with `exports` write documents and source code.
"""
