"""From a CasADi program to machine code, kept on disk."""
